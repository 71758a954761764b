package world

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Covers is the best a credential may do on a profile: a scope reaches down from an organization to its workspaces
// and shares. A credential without scopes is the whole account.
func (w *Directory) Covers(k *wire.Credential, profileID string) wire.Mode {
	if len(k.Scopes) == 0 {
		return wire.Admin
	}
	best := wire.NoAccess
	for _, scope := range k.Scopes {
		entity, id, access := wire.SplitScope(scope)
		if w.Within(k, profileID, entity, id) {
			best = max(best, wire.ParseMode(access))
		}
	}
	return best
}

// Within reports whether a profile lies under the entity of a scope.
func (w *Directory) Within(k *wire.Credential, profileID, entity, id string) bool {
	named := func(profile string) bool { return profile != "" && (id == "*" || id == profile) }
	kind := w.KindOf(profileID)
	switch entity {
	case wire.KindUser:
		return id == "*" || id == k.User
	case wire.KindOrg:
		return named(w.OrgOf(profileID))
	case wire.KindWorkspace:
		if kind == wire.KindShare {
			return named(w.Shares[profileID].Value.Workspace)
		}
		if kind == wire.KindFileShare {
			return named(w.FileShares[profileID].Workspace)
		}
		return kind == wire.KindWorkspace && named(profileID)
	case wire.KindShare:
		return kind == wire.KindShare && named(profileID)
	}
	return false
}

// Enabled reports whether a user has an account that is not switched off.
func (w *Directory) Enabled(userID string) bool {
	u := w.Users[userID]
	return u != nil && !u.Value.Disabled
}

// OutOfScope refuses a credential that does not reach a profile.
func (w *Directory) OutOfScope(profileID string) error {
	code := int64(wire.CodeScope)
	if kind := w.KindOf(profileID); kind == wire.KindOrg || kind == wire.KindUser {
		code = wire.CodeEntity
	}
	return wire.Refuse(http.StatusForbidden, code, "The credential does not cover this profile.")
}

// UserDetails is the scope of the settings of the account.
const UserDetails = "userdetails:*:rw" // the account's own settings, which no other scope reaches

// Touches reports whether a credential reaches an organization or anything in it.
func (w *Directory) Touches(k *wire.Credential, orgID string) bool {
	return w.Covers(k, orgID) != wire.NoAccess ||
		slices.ContainsFunc(slices.Concat(w.WorkspaceList, w.ShareList), func(id string) bool {
			return w.OrgOf(id) == orgID && w.Covers(k, id) != wire.NoAccess
		})
}

// Venue is where comments are exchanged: people in one cannot reply to those in another.
type Venue struct {
	Profile   string
	FileShare string
	Node      string // "" for the profile as a whole
}

// Reached is the profile whose scopes decide about a venue.
func (at Venue) Reached() string { return cmp.Or(at.FileShare, at.Profile) }

// MayLook refuses a credential that does not reach a venue.
func (w *Directory) MayLook(k *wire.Credential, at Venue) error {
	switch f := w.FileShares[at.FileShare]; {
	case w.Covers(k, at.Reached()) < wire.Read:
		return w.OutOfScope(at.Reached())
	case f != nil && !w.Admits(f, k.User):
		return wire.Refuse(http.StatusUnauthorized, CodeNotGranted, "The File Share was not given to you.")
	case f == nil && w.Role(at.Profile, k.User) == "":
		return wire.NotMember()
	case f == nil && w.ShutOut(at.Profile, k.User):
		return Unseen(CodeNoView)
	}
	return nil
}

// Features of a plan.
const (
	FeatureAI        = "content_ai"
	FeatureAgent     = "ai_agent"
	FeatureAutoTitle = "ai_autotitle"
	FeatureAutoOG    = "ai_autoog"
)

// PlanOf is what the organization of a profile has paid for and allows.
func (w *Directory) PlanOf(profileID string) Org {
	if o := w.Orgs[w.OrgOf(profileID)]; o != nil {
		return o.Value
	}
	return Org{}
}

// Payer is who is billed for what happens on a profile.
func (w *Directory) Payer(profileID, userID string) string { return cmp.Or(w.OrgOf(profileID), userID) }

// Lacks refuses what the plan does not have.
func (w *Directory) Lacks(feature string) error {
	if !slices.Contains(w.Options.Lacks, feature) {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codePlan, "Upgrade Required: the plan does not have "+feature+".")
}

// IntelligenceDenied is the policy about the index. Where there is none the agent answers without it.
func (w *Directory) IntelligenceDenied(profileID string) error {
	policy := w.PlanOf(profileID).AIPolicy
	workspace := profileID
	if h := w.Shares[profileID]; h != nil {
		workspace = h.Value.Workspace
	}
	switch {
	case !w.Intelligent(profileID):
		return nil
	case policy.DenyIntelligence:
		return Forbidden("ai_policy_denied", "intelligence")
	case policy.IntelligenceIn != nil && !slices.Contains(policy.IntelligenceIn, workspace):
		return Forbidden("ai_policy_workspace_not_allowed", "intelligence")
	}
	return nil
}

// Forbidden refuses what the policy of an organization forbids.
func Forbidden(reason, feature string) error {
	return wire.Because(http.StatusForbidden, codeAIPolicy, reason, "The organization does not allow this.",
		wire.Member{"feature", feature})
}

// Access options of a share, as they go over the wire. Any other value is for members only.
const (
	AccessOrg        = "Members of the Share, Workspace or Org"
	AccessRegistered = "Anyone with a registered account"
	AccessAnyone     = "Anyone with the link"
)

// Store is the storage a call is about.
type Store struct {
	Profile string // the workspace or share that was named
	Owner   string // whose nodes it shows
	Folder  string // the folder it shows, "" is all
	User    string // the caller, "" without a credential
}

// StoreOf is the storage of a profile for the caller.
func (w *Directory) StoreOf(profileID string, c *wire.Call) Store {
	return w.StoreFor(profileID, c.UserID())
}

// StoreFor is the storage of a profile for a user.
func (w *Directory) StoreFor(profileID, userID string) Store {
	in := Store{Profile: profileID, User: userID}
	in.Owner, in.Folder = w.storageOf(profileID)
	return in
}

// Insider reports whether the caller is a member of what was named, or more.
func (in Store) Insider(w *World) bool { return w.AtLeast(in.Profile, in.User, Member) }

// Orphaned reports whether a share lost the folder it stands for.
func (w *World) Orphaned(in Store) bool {
	return in.Folder != "" && w.Node(in.Owner, in.Folder) == nil
}

// ShareNamed finds a share by id or custom name.
func (w *Directory) ShareNamed(name string) string {
	for _, id := range w.ShareList {
		if id == name || strings.EqualFold(w.Shares[id].Value.CustomName, name) {
			return id
		}
	}
	return ""
}

// Codes of what several areas refuse. The platform publishes those below 190000; the others are the emulator's own.
const (
	CodeNotGranted = 115069
	CodeNoView     = 144499

	codeLinkPassword      = 199312
	codePlan              = 199401
	codeAIPolicy          = 199403
	CodeExport            = 199412
	CodeTokenEnded        = 199424
	codeRange             = 199701
	CodeTooLittle         = 199703
	codeWithheld          = 199704
	codeOutsiders         = 199906
	codeOutsidersObject   = 199907
	codeInvitationPast    = 199909
	codeInvitationSettled = 199910
)
