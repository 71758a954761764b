package world

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Record is a profile and its creation time.
type Record[T any] struct {
	Value   T
	Created int64 // Unix seconds
}

// AddUser adds or replaces a user and returns it with defaults.
func (w *World) AddUser(u User) User {
	w.Lock()
	defer w.Unlock()
	u.FirstName = cmp.Or(u.FirstName, "User")
	return w.NewUser(u)
}

// NewUser stores a user, with defaults for what is not set. The caller holds the lock.
func (w *World) NewUser(u User) User {
	u.ID = w.NewProfileID(u.ID)
	u.AccountType = cmp.Or(u.AccountType, "human")
	u.Email = cmp.Or(u.Email, "user"+strconv.Itoa(len(w.users)+1)+"@example.test")
	u.Password = cmp.Or(u.Password, seed.DefaultPassword)
	u.Created = cmp.Or(u.Created, w.Now())
	if w.users[u.ID] == nil {
		w.userList = append(w.userList, u.ID)
	}
	w.users[u.ID] = &Record[User]{Value: u, Created: u.Created.Unix()}
	w.MarkChanged(w.Now(), u.ID, FieldSettings)
	w.activateGrants(u)
	w.OnUser(u)
	return u
}

// AddOrg adds an organization, or replaces the one with the same id. Its owner becomes
// a member.
func (w *World) AddOrg(o Org) Org {
	w.Lock()
	defer w.Unlock()
	return w.NewOrg(o)
}

// NewOrg stores an organization, with defaults for what is not set, and makes its owner
// a member. The caller holds the lock.
func (w *World) NewOrg(o Org) Org {
	o.ID = w.NewProfileID(o.ID)
	o.Domain = cmp.Or(o.Domain, "org"+strconv.Itoa(len(w.orgs)+1))
	o.Name = cmp.Or(o.Name, o.Domain)
	o.Auditors = slices.Clone(o.Auditors)
	o.AIPolicy.IntelligenceIn = slices.Clone(o.AIPolicy.IntelligenceIn)
	if w.orgs[o.ID] == nil {
		w.orgList = append(w.orgList, o.ID)
	}
	o.Created = cmp.Or(o.Created, w.Now())
	w.orgs[o.ID] = &Record[Org]{Value: o, Created: o.Created.Unix()}
	w.MarkChanged(w.Now(), o.ID, FieldSettings)
	if o.Owner != "" {
		w.PutMember(o.ID, o.Owner, Owner)
	}
	return o
}

// AddWorkspace adds a workspace, or replaces the one with the same id, and returns it with
// defaults. It takes the lock.
func (w *World) AddWorkspace(workspace Workspace) Workspace {
	w.Lock()
	defer w.Unlock()
	return w.NewWorkspace(workspace)
}

// NewWorkspace adds a workspace, or replaces the one with the same id. The caller
// holds the lock.
func (w *World) NewWorkspace(workspace Workspace) Workspace {
	workspace.ID = w.NewProfileID(workspace.ID)
	workspace.Name = cmp.Or(workspace.Name, "Workspace "+strconv.Itoa(len(w.workspaces)+1))
	workspace.FolderName = cmp.Or(workspace.FolderName, Slug(workspace.Name))
	if w.workspaces[workspace.ID] == nil {
		w.workspaceList = append(w.workspaceList, workspace.ID)
	}
	workspace.Created = cmp.Or(workspace.Created, w.Now())
	w.workspaces[workspace.ID] = &Record[Workspace]{Value: workspace, Created: workspace.Created.Unix()}
	w.MarkChanged(w.Now(), workspace.ID, FieldSettings)
	return workspace
}

// AddShare adds a share, or replaces the one with the same id. Its organization is
// that of its workspace. Its creator becomes the owner.
func (w *World) AddShare(share SeedShare) SeedShare {
	w.Lock()
	defer w.Unlock()
	share.ID = w.NewProfileID(share.ID)
	share.Folder, share.Link = wire.Plain(share.Folder), wire.Plain(share.Link)
	share.NoGuestDownloads = share.NoGuestDownloads || share.DownloadSecurity == SecurityHigh // which forbids them
	if workspace := w.workspaces[share.Workspace]; workspace != nil && share.Org == "" {
		share.Org = workspace.Value.Org
	}
	share.Title = cmp.Or(share.Title, "Share "+strconv.Itoa(len(w.shares)+1))
	share.CustomName = cmp.Or(share.CustomName, strings.ReplaceAll(Slug(share.Title), "-", ""))
	if w.shares[share.ID] == nil {
		w.shareList = append(w.shareList, share.ID)
	}
	share.Created = cmp.Or(share.Created, w.Now())
	w.shares[share.ID] = &Record[Share]{Value: Share(share), Created: share.Created.Unix()}
	w.MarkChanged(w.Now(), share.ID, FieldSettings)
	if share.Creator != "" {
		w.PutMember(share.ID, share.Creator, Owner)
	}
	w.ScheduleExpiry((*Share)(&share))
	return share
}

// NewProfileID returns an ID for a profile: the given text if it has the form of an ID of a
// profile, and otherwise a new ID.
func (w *Directory) NewProfileID(given string) string {
	for given == "" || !wire.IsProfile(given) {
		if id := profile(w.Options.Seed, w.NextSerial()); w.KindOf(id) == "" {
			given = id
		}
	}
	return given
}

// KindOf returns the kind of a profile id, "" if it is unknown.
func (w *Directory) KindOf(id string) string {
	switch {
	case w.users[id] != nil:
		return wire.KindUser
	case w.orgs[id] != nil:
		return wire.KindOrg
	case w.workspaces[id] != nil:
		return wire.KindWorkspace
	case w.shares[id] != nil:
		return wire.KindShare
	case w.fileShares[id] != nil:
		return wire.KindFileShare
	}
	return ""
}

// ProfileNamed returns the ID of a profile by its ID, its custom name, the email address of
// a user, or me, which stands for the user userID; "" if there is none. A File Share has no
// custom name.
func (w *Directory) ProfileNamed(name, userID string) string {
	switch {
	case name == "":
		return ""
	case name == "me":
		return userID
	case w.KindOf(name) != "":
		return name
	}
	return cmp.Or(w.orgNamed(name), w.WorkspaceNamed(name, userID), w.ShareNamed(name), w.UserWithEmail(name))
}

// OrgOf returns the organization of a profile, "" for a user and an unknown id.
func (w *Directory) OrgOf(id string) string {
	switch w.KindOf(id) {
	case wire.KindOrg:
		return id
	case wire.KindWorkspace:
		return w.workspaces[id].Value.Org
	case wire.KindShare:
		return w.shares[id].Value.Org
	case wire.KindFileShare:
		return w.OrgOf(w.fileShares[id].Workspace)
	}
	return ""
}

// Rank returns the rank of a role: 1 for the lowest one, 5 for the owner, and 0 for
// none.
func Rank(r Role) int { return 1 + slices.Index([]Role{View, Guest, Member, Admin, Owner}, r) }

// Role returns the role of a user on a profile: the higher one of the user's own role and
// of an inherited one. Owners and admins of an organization are admins of its profiles; the
// roles of a workspace, from member up, hold for its shares and File Shares. What belongs
// to a closed organization has no members.
func (w *Directory) Role(profileID, userID string) Role {
	direct := w.DirectRole(profileID, userID)
	kind := w.KindOf(profileID)
	if kind != wire.KindOrg && w.OrgClosed(profileID) {
		return ""
	}
	switch kind {
	case wire.KindUser:
		if profileID == userID {
			return Owner
		}
	case wire.KindWorkspace:
		if w.AtLeast(w.workspaces[profileID].Value.Org, userID, Admin) {
			return higher(direct, Admin)
		}
	case wire.KindFileShare: // no user has a role of its own on it
		if inherited := w.Role(w.fileShares[profileID].Workspace, userID); Rank(inherited) >= Rank(Member) {
			return inherited
		}
	case wire.KindShare:
		share := w.shares[profileID].Value
		if share.Workspace != "" {
			if inherited := w.Role(share.Workspace, userID); Rank(inherited) >= Rank(Member) {
				return higher(direct, inherited)
			}
		} else if w.AtLeast(share.Org, userID, Admin) {
			return higher(direct, Admin)
		}
	}
	return direct
}

// AtLeast reports whether a user has a role or a higher one.
func (w *Directory) AtLeast(profileID, userID string, least Role) bool {
	return Rank(w.Role(profileID, userID)) >= Rank(least)
}

// higher returns the higher one of two roles.
func higher(a, b Role) Role {
	if Rank(a) > Rank(b) {
		return a
	}
	return b
}

// Auditor reports whether a user is a compliance auditor of an organization.
func (w *Directory) Auditor(orgID, userID string) bool {
	o := w.orgs[orgID]
	return o != nil && slices.Contains(o.Value.Auditors, userID)
}

// ProfileName returns the display name of a profile, "" if it is unknown.
func (w *Directory) ProfileName(id string) string {
	switch w.KindOf(id) {
	case wire.KindUser:
		u := w.users[id].Value
		return strings.TrimSpace(u.FirstName + " " + u.LastName)
	case wire.KindOrg:
		return w.orgs[id].Value.Name
	case wire.KindWorkspace:
		return w.workspaces[id].Value.Name
	case wire.KindShare:
		return w.shares[id].Value.Title
	case wire.KindFileShare:
		return w.fileShares[id].Title
	}
	return ""
}

// AssetKey names a picture of a profile.
type AssetKey struct{ Profile, Name string }

// Asset is a picture of a profile, such as a logo.
type Asset struct {
	*Node

	Address string
}

// AssetAddress renders the address of the picture of a profile with a name such as
// "logo", null if there is none.
func (w *Tree) AssetAddress(profileID, name string) any {
	if p := w.assets[AssetKey{profileID, name}]; p != nil {
		return p.Address
	}
	return nil
}

// Slug returns a name as the name of a folder: letters in lower case, digits, and hyphens
// for all else. A name with less than four bytes gets "-room" appended.
func Slug(name string) string {
	folded := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name)
	for len(folded) < 4 {
		folded += "-room"
	}
	return folded
}

// Prefix begins every path of the API.
func (w *Core) Prefix() string {
	return strings.TrimSuffix(cmp.Or(w.Options.Prefix, "/api"), "/")
}

// OrgOfPath finds the organization of a path by id or domain.
func (w *Directory) OrgOfPath(c *wire.Call) (string, error) {
	if id := w.orgNamed(c.Segment("org_id")); id != "" {
		return id, nil
	}
	return "", wire.NoProfile()
}

// orgNamed returns the id of the organization with an id or a domain, "" if there is none.
func (w *Directory) orgNamed(name string) string {
	for _, id := range w.orgList {
		if id == name || strings.EqualFold(w.orgs[id].Value.Domain, name) {
			return id
		}
	}
	return ""
}

// WorkspaceNamed returns the ID of a workspace by its ID or folder name, "" if there is
// none. Of several with the name, it prefers one in which the user has a role.
func (w *Directory) WorkspaceNamed(name, userID string) string {
	found := ""
	for _, id := range w.workspaceList {
		if id != name && !strings.EqualFold(w.workspaces[id].Value.FolderName, name) {
			continue
		}
		if w.Role(id, userID) != "" {
			return id
		}
		found = id
	}
	return found
}

// UserWithEmail returns the id of the user with an e-mail address, "" if there is none. If a
// test has given several users the same address, it is the user who was added last.
func (w *Directory) UserWithEmail(email string) string {
	for _, id := range slices.Backward(w.userList) {
		if strings.EqualFold(w.users[id].Value.Email, email) {
			return id
		}
	}
	return ""
}

// WorkspaceOfPath returns the workspace in the path, and an error if the caller has no
// access to it.
func (w *Directory) WorkspaceOfPath(c *wire.Call) (string, error) {
	id := w.WorkspaceNamed(c.Segment("workspace_id"), c.Key.User)
	if id == "" {
		return "", wire.NoProfile()
	}
	return id, w.RefuseUnreadable(c.Key, Venue{Profile: id})
}

// ProfileOfPath returns the id of a profile in the path: given as an id, a custom name or
// me. Any other text is returned as it is, and is an error of the call unless it has the
// form of an id.
func (w *Directory) ProfileOfPath(c *wire.Call) string {
	if id := w.ProfileNamed(c.Segment("profile_id"), c.Key.User); id != "" {
		return id
	}
	return c.ProfileSegment("profile_id")
}

// List returns the page of ids that the call requests, as the member key, with its
// pagination. Render renders the object of one id for the caller, at a level of detail.
func (w *Directory) List(
	c *wire.Call, key string, ids []string, render func(id, viewer string, lv wire.Level) wire.Object,
) (wire.Object, error) {
	page := c.Page(wire.ListDefault, wire.ListLimit)
	rows := wire.Rows(wire.PageOf(ids, page), func(id string) wire.Object { return render(id, c.Key.User, c.Out.Level) })
	return wire.Object{{key, rows}, {"pagination", page.Pagination(len(ids))}}, c.Check.Err()
}

// AccessMode returns the access that a credential has to a profile by its scopes: the
// highest mode of the scopes that cover the profile. A credential without scopes has all
// access of the account.
func (w *Directory) AccessMode(k *wire.Credential, profileID string) wire.Mode {
	if len(k.Scopes) == 0 {
		return wire.Admin
	}
	best := wire.NoAccess
	for _, scope := range k.Scopes {
		entity, id, access := wire.SplitScope(scope)
		if w.ScopeCovers(k, profileID, entity, id) {
			best = max(best, wire.ParseMode(access))
		}
	}
	return best
}

// ScopeCovers reports whether a scope, a kind of entity and an id, covers a profile.
// The id * means all of that kind. A scope of an organization or a workspace also
// covers what is in it; one of the credential's user covers all profiles.
func (w *Directory) ScopeCovers(k *wire.Credential, profileID, entity, id string) bool {
	named := func(profile string) bool { return profile != "" && (id == "*" || id == profile) }
	kind := w.KindOf(profileID)
	switch entity {
	case wire.KindUser:
		return id == "*" || id == k.User
	case wire.KindOrg:
		return named(w.OrgOf(profileID))
	case wire.KindWorkspace:
		if kind == wire.KindShare {
			return named(w.shares[profileID].Value.Workspace)
		}
		if kind == wire.KindFileShare {
			return named(w.fileShares[profileID].Workspace)
		}
		return kind == wire.KindWorkspace && named(profileID)
	case wire.KindShare:
		return kind == wire.KindShare && named(profileID)
	}
	return false
}

// Enabled reports whether a user has an enabled account.
func (w *Directory) Enabled(userID string) bool {
	u := w.users[userID]
	return u != nil && !u.Value.Disabled
}

// OutOfScopeRefusal returns the refusal of a credential whose scopes leave out a
// profile. The platform has another code for organizations and users.
func (w *Directory) OutOfScopeRefusal(profileID string) error {
	code := int64(wire.CodeScope)
	if kind := w.KindOf(profileID); kind == wire.KindOrg || kind == wire.KindUser {
		code = wire.CodeEntity
	}
	return wire.Refuse(http.StatusForbidden, code, "The credential does not cover this profile.")
}

// UserDetails is the scope of account settings.
const UserDetails = "userdetails:*:rw" // the account's own settings, which no other scope reaches

// CoversPartOf reports whether a credential covers an organization, or a workspace or
// share of it.
func (w *Directory) CoversPartOf(k *wire.Credential, orgID string) bool {
	return w.AccessMode(k, orgID) != wire.NoAccess ||
		slices.ContainsFunc(slices.Concat(w.workspaceList, w.shareList), func(id string) bool {
			return w.OrgOf(id) == orgID && w.AccessMode(k, id) != wire.NoAccess
		})
}

// Venue is the place of a comment thread: users of one cannot reply in another.
type Venue struct {
	Profile   string
	FileShare string
	Node      string // "" for the profile as a whole
}

// ScopeProfile returns the profile whose scopes apply to a venue.
func (at Venue) ScopeProfile() string { return cmp.Or(at.FileShare, at.Profile) }

// RefuseUnreadable returns a refusal if a credential may not read a venue: by its
// scopes, or because its user has no access.
func (w *Directory) RefuseUnreadable(k *wire.Credential, at Venue) error {
	switch f := w.fileShares[at.FileShare]; {
	case w.AccessMode(k, at.ScopeProfile()) < wire.Read:
		return w.OutOfScopeRefusal(at.ScopeProfile())
	case f != nil && !w.AdmitsTo(f, k.User):
		return wire.Refuse(http.StatusUnauthorized, CodeNotGranted, "The File Share was not given to you.")
	case f == nil && w.Role(at.Profile, k.User) == "":
		return wire.NotMember()
	case f == nil && w.ClosedTo(at.Profile, k.User):
		return NoShareAccess(CodeNoView)
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

// PlanOf returns the organization of a profile, for its plan and policy, and the zero one,
// which limits nothing, if there is none.
func (w *Directory) PlanOf(profileID string) Org {
	if o := w.orgs[w.OrgOf(profileID)]; o != nil {
		return o.Value
	}
	return Org{}
}

// OrgClosed reports whether the organization of a profile is closed.
func (w *Directory) OrgClosed(profileID string) bool {
	o := w.orgs[w.OrgOf(profileID)]
	return o != nil && o.Value.Closed
}

// ClosedOrgRefusal returns the refusal of a call for a closed organization.
func ClosedOrgRefusal() error {
	return accessRestricted(codeClosed, "the organization is closed.")
}

// accessRestricted returns the refusal of access, with the reason.
func accessRestricted(code int64, why string) error {
	return wire.Refuse(http.StatusForbidden, code, "Access Restricted: "+why)
}

// PayerOf returns the profile that is billed for a profile.
func (w *Directory) PayerOf(profileID, userID string) string {
	return cmp.Or(w.OrgOf(profileID), userID)
}

// RefuseWithout returns a refusal (402) if the plan does not have a feature. The features
// that plans lack are an option, the same for all organizations.
func (w *Directory) RefuseWithout(feature string) error {
	if !slices.Contains(w.Options.Lacks, feature) {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codePlan, "Upgrade Required: the plan does not have "+feature+".")
}

// RefuseWithoutCredits returns a refusal (402) if the organization of a profile has no
// credits left, for calls that cost some.
func (w *Directory) RefuseWithoutCredits(profileID string) error {
	if !w.PlanOf(profileID).OutOfCredits {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codeNoCredits, "Credit Limit Exceeded: none are left.")
}

// LacksIntelligence reports whether the plan lacks a feature that needs the index.
func (w *Core) LacksIntelligence() bool {
	return slices.Contains(w.Options.Lacks, FeatureAI) || slices.Contains(w.Options.Lacks, FeatureAgent)
}

// RefuseIntelligence returns a refusal if a profile has an index that the policy of
// its organization does not allow.
func (w *Directory) RefuseIntelligence(profileID string) error {
	policy := w.PlanOf(profileID).AIPolicy
	workspace := profileID
	if share := w.shares[profileID]; share != nil {
		workspace = share.Value.Workspace
	}
	switch {
	case !w.IsIndexed(profileID):
		return nil
	case policy.DenyIntelligence:
		return PolicyRefusal("ai_policy_denied", "intelligence")
	case policy.IntelligenceIn != nil && !slices.Contains(policy.IntelligenceIn, workspace):
		return PolicyRefusal("ai_policy_workspace_not_allowed", "intelligence")
	}
	return nil
}

// PolicyRefusal returns the error of a policy of an organization.
func PolicyRefusal(reason, feature string) error {
	return wire.RefuseWithReason(http.StatusForbidden, codeAIPolicy, reason, "The organization does not allow this.",
		wire.Member{"feature", feature})
}

// Access options of a share. Any other value means members only.
const (
	AccessOrg        = "Members of the Share, Workspace or Org"
	AccessRegistered = "Anyone with a registered account"
	AccessAnyone     = "Anyone with the link"
)

// Store is the storage of a call.
type Store struct {
	Profile string // the workspace or share that was named
	Owner   string // whose nodes it shows
	Folder  string // the folder it shows, "" is all
	User    string // the caller, "" without a credential
}

// StoreOf returns the storage of a profile for the caller.
func (w *Directory) StoreOf(profileID string, c *wire.Call) Store {
	return w.StoreFor(profileID, c.UserID())
}

// StoreFor returns the storage of a workspace or share as a user sees it: with the
// profile that owns its nodes and, for a share of a folder, that folder.
func (w *Directory) StoreFor(profileID, userID string) Store {
	store := Store{Profile: profileID, User: userID}
	store.Owner, store.Folder = w.storageOf(profileID)
	return store
}

// Insider reports whether the caller has at least the role member on the profile.
func (store Store) Insider(w *World) bool { return w.AtLeast(store.Profile, store.User, Member) }

// Orphaned reports whether the folder that a share shows is deleted.
func (w *World) Orphaned(store Store) bool {
	return store.Folder != "" && w.Node(store.Owner, store.Folder) == nil
}

// ShareNamed returns the id of the share with an id or custom name, "" if there is none.
func (w *Directory) ShareNamed(name string) string {
	for _, id := range w.shareList {
		if id == name || strings.EqualFold(w.shares[id].Value.CustomName, name) {
			return id
		}
	}
	return ""
}

// Codes used by several areas. Those from 199001 to 199999 are invented.
const (
	CodeNotGranted = 115069
	CodeNoView     = 144499

	codeLinkPassword         = 199312
	codePlan                 = 199401
	codeNoCredits            = 199402
	codeAIPolicy             = 199403
	CodeExport               = 199412
	CodeTokenEnded           = 199424
	codeRange                = 199701
	CodeLowCapability        = 199703
	codeWithheld             = 199704
	codeOrgDeniesOutsiders   = 199906
	codeShareDeniesOutsiders = 199907
	codeInvitationPast       = 199909
	codeInvitationSettled    = 199910
	codeClosed               = 199918
	codeArchived             = 199919
)
