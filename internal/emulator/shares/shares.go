// Package shares emulates creating, changing, listing and opening shares.
package shares

import (
	"cmp"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/account"
	"github.com/fastio-go/fastio/internal/emulator/orgs"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	Account *account.Handlers

	storage        *storage.Handlers
	shareConflicts int // creations of shares rejected as concurrent so far
}

// New returns the handlers of a world.
func New(w *world.World, a *account.Handlers, s *storage.Handlers) *Handlers {
	return &Handlers{w: w, Account: a, storage: s}
}

// Codes of shares. Those from 199001 to 199999 are invented.
const (
	codeNoPublicView  = 183836
	codeNoConfirm     = 130987
	codeNameTaken     = 199801
	codeShareLimit    = 199802
	codeShareBusy     = 199803
	codeFolderShared  = 199804
	codeNotOwned      = 199805
	codeManyOwners    = 199806
	codeWrongPassword = 199807
)

const notifyNever = "never"

// Routes returns the routes of shares.
func (h *Handlers) Routes() []*wire.Route {
	const share, workspace = "/current/share/{share_id}/", "/current/workspace/{workspace_id}/"
	admin, none := h.shareOfPath(world.Admin), wire.BlankForm(wire.NoFields)
	return []*wire.Route{
		wire.Post("shares.Create", workspace+"create/share/", wire.With(h.workspaceOfPath(world.Member), h.createShare),
			wire.Form(shareFields+" storage_mode create_folder folder_node_id folder_name")),
		wire.Get("shares.Get", share+"details/", wire.With(h.readableShare(world.CodeNoView), h.shareDetails),
			wire.OptionalCredential, wire.ProfileParams("share_id")),
		wire.Get("shares.GetPublic", share+"public/details/",
			wire.With(h.readableShare(codeNoPublicView),
				h.publicDetails), wire.OptionalCredential, wire.ProfileParams("share_id")),
		wire.Post("shares.Update", share+"update/", wire.With(admin, h.updateShare),
			wire.Form(shareFields+" external_invites share_link_node_id")),
		wire.Delete("shares.Delete", share+"delete/", wire.With(admin, h.deleteShare), wire.Query("confirm")),
		wire.Post("shares.Archive", share+"archive/", h.setArchived(true, "share_archived"), none),
		wire.Post("shares.Unarchive", share+"unarchive/", h.setArchived(false, "share_unarchived"), none),
		wire.Post("shares.AuthPassword", share+"auth/password/", wire.With(h.shareForGuests, h.authPassword),
			wire.NoCredential,
			wire.BlankForm("password")),
		wire.Post("shares.AuthGuest", share+"auth/guest/", wire.With(h.shareForGuests, h.authGuest), wire.NoCredential, none),
		wire.Get("shares.List", "/current/shares/all/", h.sharesAll, wire.ListParams()),
		wire.Get("shares.ListAvailable", "/current/shares/available/", wire.RefuseInvalid(h.sharesAvailable),
			wire.Params(wire.OutputParam)),
		wire.Get("shares.ListByWorkspace", workspace+"list/shares/",
			wire.With(h.storage.ScopeOfPath, h.sharesOfWorkspace), wire.Query("archived"), wire.ListParams("workspace_id")),
		wire.Get("shares.ListOwned", "/current/user/me/list/shares/", h.sharesOfUser, wire.Query("archived"),
			wire.ListParams()),
		wire.Get("shares.CheckName", "/current/shares/check/name/{name}/", h.checkShareName),
		wire.Post("shares.Import", workspace+"import/share/{share_id}/",
			wire.With(h.workspaceOfPath(world.Member), h.importShare), none),
	}
}

// shareOfPath returns a function that finds the share in the path of a call. The caller
// must have at least the role least there, and a credential with write access.
func (h *Handlers) shareOfPath(least world.Role) func(*wire.Call) (*world.Share, error) {
	return func(c *wire.Call) (*world.Share, error) {
		if err := c.Check.Err(); err != nil {
			return nil, err
		}
		id := h.w.ShareNamed(c.Segment("share_id"))
		if id == "" {
			return nil, wire.NoSuch(wire.CodeNotFound, wire.KindShare)
		}
		if err := h.refuseForRole(c.Key, id, least); err != nil {
			return nil, err
		}
		return &h.w.Share(id).Value, nil
	}
}

// refuseForRole returns a refusal unless a user has at least the role in a profile and the
// credential may change it.
func (h *Handlers) refuseForRole(k *wire.Credential, id string, least world.Role) error {
	if err := h.w.RefuseUnreadable(k, world.Venue{Profile: id}); err != nil {
		return err
	}
	switch {
	case h.w.AccessMode(k, id) < wire.Write:
		return k.ReadOnlyRefusal()
	case !h.w.AtLeast(id, k.User, least):
		return wire.Denied("your role is not enough.")
	}
	return nil
}

// workspaceOfPath returns a function that finds the id of the workspace in the path of a
// call. The user must have at least the role least there, and a credential with write access.
func (h *Handlers) workspaceOfPath(least world.Role) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id := h.w.WorkspaceNamed(c.Segment("workspace_id"), c.Key.User)
		if id == "" {
			return "", wire.NoSuch(wire.CodeNotFound, wire.KindWorkspace)
		}
		return id, h.refuseForRole(c.Key, id, least)
	}
}

// writeShareEvent writes an event of a share by the caller.
func (h *Handlers) writeShareEvent(c *wire.Call, share *world.Share, event string) {
	h.w.WriteEvent(world.Event{
		Name: event, Share: share.ID, Workspace: share.Workspace, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key),
	})
}

// deleteShare deletes a share. The query parameter confirm must repeat its id or custom
// name. The platform refuses a missing confirm with a code of its own.
func (h *Handlers) deleteShare(c *wire.Call, share *world.Share) (wire.Object, error) {
	switch confirm := c.Value("confirm"); {
	case confirm == "":
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoConfirm,
			"The query parameter confirm must be the id or the custom name of the share.")
	case confirm != share.ID && !strings.EqualFold(confirm, share.CustomName):
		c.Check.Invalid("confirm", "The id or the custom name of the share.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	h.writeShareEvent(c, share, "share_deleted")
	h.w.DeleteProfile(share.ID)
	return nil, nil
}

// setArchived returns the handler that archives a share or, with false, makes it active
// again, and writes the event if that changes anything.
func (h *Handlers) setArchived(archived bool, event string) func(*wire.Call) (wire.Object, error) {
	return wire.With(h.shareOfPath(world.Admin), func(c *wire.Call, share *world.Share) (wire.Object, error) {
		if share.ShowsFolder() {
			c.Check.Invalid("share_id", "A share of a folder of its workspace cannot be archived.")
			return nil, c.Check.Err()
		}
		if share.Archived != archived {
			share.Archived = archived
			h.writeShareEvent(c, share, event)
		}
		return nil, nil
	})
}

// importShare moves a share that the caller owns alone, and that is in no workspace,
// into a workspace. An archived share becomes active.
func (h *Handlers) importShare(c *wire.Call, workspaceID string) (wire.Object, error) {
	share, err := h.shareOfPath("")(c) // no least role: the owners are checked below
	if err != nil {
		return nil, err
	}
	owners := h.ownersOf(share.ID)
	switch {
	case share.Workspace != "" || !slices.Contains(owners, c.Key.User):
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNotOwned, "The share is not yours alone.")
	case len(owners) > 1:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeManyOwners, "The share has several owners.")
	case !h.w.AllowsSharing(workspaceID):
		return nil, sharingDisabled()
	}
	if err := h.refuseBeyondQuota(workspaceID); err != nil {
		return nil, err
	}
	share.Workspace, share.Org, share.Archived = workspaceID, h.w.OrgOf(workspaceID), false
	h.writeShareEvent(c, share, "share_imported_to_workspace")
	return nil, nil
}

func (h *Handlers) ownersOf(profileID string) []string {
	return slices.DeleteFunc(h.w.MembersOf(profileID),
		func(user string) bool { return h.w.DirectRole(profileID, user) != world.Owner })
}

func sharingDisabled() error {
	return wire.RefuseWithReason(http.StatusForbidden, wire.CodePolicy, "policy_sharing_disabled",
		"The policy allows no new shares.")
}

// refuseBeyondQuota returns a refusal if the organization of a workspace may have no more
// shares: by an option, or else by its plan. Without both it may have any number.
func (h *Handlers) refuseBeyondQuota(workspaceID string) error {
	org, n := h.w.OrgOf(workspaceID), 0
	for _, share := range h.w.AllShares() {
		if share.Value.Workspace != "" && share.Value.Org == org {
			n++
		}
	}
	var most int
	if o := h.w.Org(org); o != nil {
		most = orgs.PlanNamed(o.Value.Plan).Shares
	}
	unlimited := n + 1 // more than there are
	if n < cmp.Or(h.w.Options.Shares.Limit, most, unlimited) {
		return nil
	}
	return wire.Refuse(http.StatusPreconditionFailed, codeShareLimit, "Feature Limit: the plan has no more shares.")
}

// linkTokenLife is ours: the lifetime of such tokens is not published.
const linkTokenLife = time.Hour

// refuseRead returns a refusal with the given code if the caller may not see the details of a
// share. A user with a role and a credential for the share may, unless the share is closed
// to that role. All others need its link, see refuseByLink.
func (h *Handlers) refuseRead(c *wire.Call, id string, code int64) error {
	isCovered := c.Key != nil && h.w.AccessMode(c.Key, id) >= wire.Read // by the credential
	hasRole := isCovered && h.w.Role(id, c.Key.User) != ""
	switch {
	case !hasRole:
		return h.refuseByLink(c, id, isCovered, code)
	case h.w.ClosedTo(id, c.Key.User):
		return world.NoShareAccess(code)
	}
	return nil
}

// refuseByLink returns a refusal with the given code if the link of a share is not open to the
// caller, or has a password and X-Ve-Password has no token for it. IsCovered says whether the
// caller has a credential for the share. An open link requires no credential. A link is closed
// if the access option of the share does not admit the caller (!isOpen), or if the share is
// closed to all guests, such as an expired one. At a closed link, a caller without a credential
// is asked for one, except in the public view, which has a code of its own for the refusal.
func (h *Handlers) refuseByLink(c *wire.Call, id string, isCovered bool, code int64) error {
	share := &h.w.Share(id).Value
	isOpen := h.storage.AdmitsWithoutRole(share, c.UserID())
	isClosed := !isOpen || h.w.ClosedToGuests(id)
	isPublicView := code == codeNoPublicView
	switch {
	case !isOpen && c.Key != nil && !isCovered: // another credential could help
		return h.w.OutOfScopeRefusal(id)
	case isClosed && c.Key == nil && !isPublicView: // a credential could help
		return wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "The share asks for a credential.")
	case isClosed:
		return world.NoShareAccess(code)
	case share.Password != "" && !h.w.IsLinkToken(share, c.Request.Header.Get("X-Ve-Password")):
		return world.WrongLinkPassword()
	}
	return nil
}

// linkToken returns the response with a token for the link of a share. The token has a
// mark of the password that the caller has sent: it is no longer valid when the share gets
// another password. What the token is called, and whether the response says how long it is
// valid, are options.
func (h *Handlers) linkToken(share *world.Share, scope, passwordMark string) (wire.Object, error) {
	now := h.w.Now()
	token := h.w.JWT(wire.Object{
		{"scope", scope},
		{"profile", share.ID},
		{"perm", passwordMark},
		{"iat", now.Unix()},
		{"exp", now.Add(linkTokenLife + time.Second - 1).Unix()}, // rounded up
		{"jti", h.w.Secret()[:8]},
	})
	payload := wire.Object{{cmp.Or(h.w.Options.Shares.LinkTokenKey, "auth_token"), token}}
	payload = payload.With(!h.w.Options.Shares.NoLinkExpiry, "expires_in", int(linkTokenLife/time.Second))
	return payload, nil
}

// authPassword exchanges the password of a link for a token.
func (h *Handlers) authPassword(c *wire.Call, share *world.Share) (wire.Object, error) {
	password, _ := c.Field("password")
	c.Check.MissingIf(password == "", "password", "The password of the link.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if share.Password == "" || subtle.ConstantTimeCompare([]byte(share.Password), []byte(password)) == 0 {
		return nil, wire.Refuse(http.StatusUnauthorized, codeWrongPassword, "The password is wrong.")
	}
	return h.linkToken(share, world.PasswordScope, h.w.PasswordMark(share))
}

// authGuest returns a token for a link that is open to anyone, without an account. The
// token opens what is public (assumed).
func (h *Handlers) authGuest(c *wire.Call, share *world.Share) (wire.Object, error) {
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if share.Access != world.AccessAnyone {
		return nil, world.NoShareAccess(codeNoPublicView)
	}
	const noPassword = ""
	return h.linkToken(share, world.GuestScope, noPassword)
}

// shareForGuests returns the share in the path of a call, for which no credential is
// needed, unless the share is closed to guests.
func (h *Handlers) shareForGuests(c *wire.Call) (*world.Share, error) {
	id := h.w.ShareNamed(c.Segment("share_id"))
	switch {
	case id == "":
		return nil, wire.NoSuch(wire.CodeNotFound, wire.KindShare)
	case h.w.ClosedToGuests(id):
		return nil, world.NoShareAccess(codeNoPublicView)
	}
	return &h.w.Share(id).Value, nil
}
