// Package fileshares emulates links to single files.
package fileshares

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	storage *storage.Handlers
}

// New returns the handlers of a world.
func New(w *world.World, s *storage.Handlers) *Handlers { return &Handlers{w: w, storage: s} }

// AddFileShare adds a File Share, or replaces the one with the same id. A missing
// workspace or title is taken from its file. It returns a copy that the caller may
// change.
func (h *Handlers) AddFileShare(f world.SeedFileShare) world.SeedFileShare {
	h.w.Lock()
	defer h.w.Unlock()
	f.Node = wire.Plain(f.Node)
	if n := h.w.AnyNode(f.Node); n != nil {
		f.Workspace = cmp.Or(f.Workspace, n.Profile)
		f.Title = cmp.Or(f.Title, n.Name)
	}
	kept := h.keepFileShare(f)
	h.w.MarkChanged(h.w.Now(), kept.ID, world.FieldSettings)
	f = kept.SeedFileShare
	f.Grants = slices.Clone(f.Grants)
	return f
}

// keepFileShare fills in the defaults of a File Share and stores it.
func (h *Handlers) keepFileShare(f world.SeedFileShare) *world.FileShare {
	f.ID = h.w.NewProfileID(f.ID)
	f.IDAlt = wire.Plain(f.IDAlt)
	if f.IDAlt == "" {
		f.IDAlt = world.Opaque('q', h.w.Options.Seed, h.w.NextSerial()) // the letter is assumed
	}
	f.Access = cmp.Or(f.Access, world.NamedPeople)
	f.Created = cmp.Or(f.Created, h.w.Now())
	f.Updated = cmp.Or(f.Updated, f.Created)
	given := f.Grants // addGrant completes each of them, and schedules its expiry
	f.Grants = nil
	kept := &world.FileShare{SeedFileShare: f}
	for _, g := range given {
		h.addGrant(kept, g)
	}
	h.w.KeepFileShare(kept)
	h.scheduleExpiry(kept)
	return kept
}

// scheduleExpiry schedules the expiry of a File Share, and its deletion at the next full
// hour, when the platform cleans up. Neither has an effect if the time of expiry is
// another by then; without one, a File Share does not expire.
func (h *Handlers) scheduleExpiry(f *world.FileShare) {
	ends := f.Expires
	f.Lapsed = false // it may have expired at an earlier time
	if ends.IsZero() {
		return
	}
	h.w.Schedule(ends, expiry{h: h, f: f, ends: ends})
	h.w.Schedule(ends.Truncate(time.Hour).Add(time.Hour), expiry{h: h, f: f, ends: ends, cleanup: true})
}

// expiry is the end of a File Share or, with cleanup, its deletion.
type expiry struct {
	h       *Handlers
	f       *world.FileShare
	ends    time.Time
	cleanup bool
}

// Do makes the File Share expire or, at the cleanup, deletes it, unless it was deleted or
// its expiry changed since.
func (t expiry) Do() {
	switch {
	case t.h.w.FileShare(t.f.ID) != t.f || !t.f.Expires.Equal(t.ends): // it was changed
	case t.cleanup:
		t.h.w.EndFileShare(t.f, world.Platform)
	default:
		t.f.Lapsed = true
	}
}

// addGrant adds a grant, or replaces that of the same person, whose time of creation
// stays. An e-mail address with an account becomes the user. The grant is removed when
// it expires, unless its expiry changes before.
func (h *Handlers) addGrant(f *world.FileShare, g world.Grant) world.Grant {
	g.Capability = cmp.Or(g.Capability, world.CanDownload.String())
	if u := h.w.UserWithEmail(g.Email); g.User == "" && u != "" {
		g.User = u
	}
	if g.User != "" {
		g.Email = ""
	}
	g.Created = cmp.Or(g.Created, h.w.Now())
	i := slices.IndexFunc(f.Grants, func(other world.Grant) bool { return world.GrantIsFor(&other, g.User, g.Email) })
	if i < 0 {
		f.Grants = append(f.Grants, g)
	} else {
		g.Created = f.Grants[i].Created
		f.Grants[i] = g
	}
	if !g.Expires.IsZero() {
		h.w.Schedule(g.Expires, grantExpiry{f, g})
	}
	return g
}

// grantExpiry is the end of a grant, unless that was changed.
type grantExpiry struct {
	f *world.FileShare
	g world.Grant
}

// Do removes the grant, unless its expiry was changed since.
func (t grantExpiry) Do() {
	t.f.Grants = slices.DeleteFunc(t.f.Grants, func(other world.Grant) bool {
		return world.GrantIsFor(&other, t.g.User, t.g.Email) && other.Expires.Equal(t.g.Expires)
	})
}

// Codes of File Shares, all of them invented.
const (
	codeNotManager = 199702
	codePreviewHop = 199705
)

// openForRecipient returns a function that finds the File Share in the path of a call,
// and its file, for a caller who has the capability.
func (h *Handlers) openForRecipient(need world.Capability) func(*wire.Call) (*world.FileShare, *world.Node, error) {
	return func(c *wire.Call) (*world.FileShare, *world.Node, error) {
		return h.w.OpenForRecipient(c, c.Segment("fileshare_id"), need)
	}
}

// fileShareToManage returns a function that finds the File Share in the path of a call,
// expired or not, for a member of its workspace whose credential has at least the mode.
func (h *Handlers) fileShareToManage(need wire.Mode) func(*wire.Call) (*world.FileShare, error) {
	return func(c *wire.Call) (*world.FileShare, error) {
		f := h.w.FileShareNamed(c.Segment("fileshare_id"))
		if f == nil {
			return nil, wire.NoSuch(wire.CodeNotFound, "File Share")
		}
		return f, h.checkManager(c, f.Workspace, need)
	}
}

// checkManager returns a refusal if the caller may not manage the File Shares of a
// workspace, or the credential does not have the needed mode there.
func (h *Handlers) checkManager(c *wire.Call, workspaceID string, need wire.Mode) error {
	switch covered := h.w.AccessMode(c.Key, workspaceID); {
	case covered < wire.Read:
		return h.w.OutOfScopeRefusal(workspaceID)
	case !h.w.ManagesFileShares(workspaceID, c.Key.User):
		return wire.Refuse(http.StatusForbidden, codeNotManager, "Only members of the workspace manage its File Shares.")
	case covered < need:
		return c.Key.ReadOnlyRefusal()
	}
	return nil
}

// workspaceToManage returns a function that finds the id of the workspace in the path of
// a call. It refuses the call unless the caller may manage the File Shares of the workspace,
// with a credential that has at least the needed mode.
func (h *Handlers) workspaceToManage(need wire.Mode) func(*wire.Call) (string, error) {
	return func(c *wire.Call) (string, error) {
		id := h.w.WorkspaceNamed(c.Segment("workspace_id"), c.UserID())
		if id == "" {
			return "", wire.NoSuch(wire.CodeNotFound, wire.KindWorkspace)
		}
		return id, h.checkManager(c, id, need)
	}
}

const grantsMost = 1000 // of one list

func (h *Handlers) listGrants(c *wire.Call, f *world.FileShare) (wire.Object, error) {
	return wire.Object{{"grants", h.grantRows(f, grantsMost)}}, nil
}

func (h *Handlers) grantRows(f *world.FileShare, most int) []wire.Object {
	return wire.Rows(f.Grants[:min(most, len(f.Grants))], func(g world.Grant) wire.Object { return h.grantObject(f, &g) })
}

// grantObject renders a grant. It expires with its File Share at the latest, and is
// pending until its e-mail address has an account.
func (h *Handlers) grantObject(f *world.FileShare, g *world.Grant) wire.Object {
	ends := g.Expires
	if !f.Expires.IsZero() && (ends.IsZero() || ends.After(f.Expires)) {
		ends = f.Expires
	}
	email, state := g.Email, "pending"
	if u := h.w.User(g.User); u != nil {
		email, state = u.Value.Email, "active"
	}
	return wire.Object{
		{"user", wire.ProfileOrNull(g.User)},
		{"name", wire.TextOrNull(h.w.ProfileName(g.User))},
		{"email", email},
		{"capability", g.Capability},
		{"state", state},
		{"created", wire.Stamp(g.Created.Unix())},
		{"expires", wire.StampOrNull(ends)},
	}
}

// setGrant adds or changes a grant of a File Share, and writes an event if that changes
// anything. Its response is empty if the request names the user, has the user if it
// names the address of an account, and else has the pending grant.
func (h *Handlers) setGrant(c *wire.Call, f *world.FileShare) (wire.Object, error) {
	user, _ := c.Field("user")
	email, _ := c.Field("email")
	h.checkGrantee(c, user, email)
	level, _ := c.Field("capability")
	switch {
	case level == "":
		c.Check.Missing("capability", "view, download or edit.")
	case world.ParseCapability(level) == world.NoCapability:
		c.Check.Invalid("capability", "view, download or edit.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if user != "" && h.w.User(user) == nil {
		return nil, wire.NoSuch(wire.CodeNotFound, wire.KindUser)
	}
	before := slices.Clone(f.Grants)
	g := h.addGrant(f, world.Grant{User: user, Email: email, Capability: level})
	if !slices.Equal(before, f.Grants) {
		h.writeGrantEvent(f, "file_share_access_granted", g.User, c)
	}
	switch {
	case user != "":
		return nil, nil
	case g.User != "":
		return wire.Object{{"user", wire.Object{{"id", wire.ProfileID(g.User)}}}}, nil
	}
	return wire.Object{{"grant", h.grantObject(f, &g)}}, nil
}

// checkGrantee checks the fields that name the person of a grant: exactly one of them.
func (h *Handlers) checkGrantee(c *wire.Call, user, email string) {
	c.Check.Status = h.w.Options.FileShares.InvalidStatus // of the refusal, 400 or 406
	givesOne := (user == "") != (email == "")
	switch {
	case !givesOne:
		c.Check.Invalid("user", "Exactly one of user and email.")
	case user != "" && !wire.IsProfile(user):
		c.Check.Mistyped("user", "profile_id")
	case email != "" && !wire.IsEmail(email):
		c.Check.Invalid("email", "An e-mail address.")
	}
}

// writeGrantEvent writes an event of a grant and stamps the activity of the File Share.
// The user is "" if the person has no account.
func (h *Handlers) writeGrantEvent(f *world.FileShare, event, user string, c *wire.Call) {
	h.w.FileShareEvent(f, world.Event{Name: event, User: user, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)})
	h.w.MarkChanged(h.w.Now(), f.ID, world.FieldsFor(world.FieldMembers, user)...)
}

// revokeGrant removes the grant of the user or e-mail address in the query. Without
// such a grant it does nothing.
func (h *Handlers) revokeGrant(c *wire.Call, f *world.FileShare) (wire.Object, error) {
	user, email := c.Value("user"), c.Value("email")
	h.checkGrantee(c, user, email)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	user = cmp.Or(user, h.w.UserWithEmail(email))
	had := len(f.Grants)
	f.Grants = slices.DeleteFunc(f.Grants, func(g world.Grant) bool { return world.GrantIsFor(&g, user, email) })
	if len(f.Grants) < had {
		h.writeGrantEvent(f, "file_share_access_revoked", user, c)
	}
	return nil, nil
}

const (
	opPreviewHop     = "fileshares.PreviewFile" // is reached by redirects alone
	previewScope     = "fileshare-preview"
	previewTokenLife = time.Minute
)

// downloadFileShare serves the current version of the file, unless the file is blocked.
func (h *Handlers) downloadFileShare(c *wire.Call, _ *world.FileShare, n *world.Node) (wire.Object, error) {
	if err := n.RefuseServe(); err != nil {
		return nil, err
	}
	return world.ServeVersion(c, n, n.Current())
}

// listVersions returns the versions of the file. Their ids are called id or, by an
// option, version_id.
func (h *Handlers) listVersions(c *wire.Call, _ *world.FileShare, n *world.Node) (wire.Object, error) {
	key := "id"
	if h.w.Options.FileShares.VersionIDKey {
		key = "version_id"
	}
	return storage.VersionRows(n, key), nil
}

// readVersion serves the version in the path of a call, unless the file is blocked.
func (h *Handlers) readVersion(c *wire.Call, _ *world.FileShare, n *world.Node) (wire.Object, error) {
	if err := n.RefuseServe(); err != nil {
		return nil, err
	}
	v, found := n.Version(c.Segment("version_id"))
	if !found {
		return nil, wire.NoSuch(storage.CodeVersionGone, "version of this file")
	}
	return world.ServeVersion(c, n, v)
}

// previewFileShare returns a preview of the file or, if the preview consists of several
// files, a redirect to the first.
func (h *Handlers) previewFileShare(c *wire.Call) (wire.Object, error) {
	kind := c.Segment("type")
	f, n, err := h.openForRecipient(world.CanView)(c)
	if err == nil {
		err = n.RefuseServe()
	}
	if err != nil {
		return nil, err
	}
	c.Check.Status = h.w.Options.FileShares.InvalidStatus // of invalid parameters, 400 or 406
	return h.Preview(c, n, kind, "fileshare/"+f.ID, f.ID)
}

// Preview returns a preview of a file, of the given kind. A preview that consists of
// several files is a redirect to the first: link is the start of the path of that file, and
// id the id of the File Share or QuickShare.
func (h *Handlers) Preview(c *wire.Call, n *world.Node, kind, link, id string) (wire.Object, error) {
	if err := storage.CheckPreview(c, n, kind); err != nil {
		return nil, err
	}
	switch kind {
	case "hlsstream", "spreadsheet":
		return h.redirectToPreview(c, kind, link, id)
	case "thumbnail", "image":
		return world.SendPicture(c, n.Name)
	}
	return world.ServeVersion(c, n, n.Current())
}

// redirectToPreview redirects to the first file of a preview: link is the start of the path
// of that file. The token in the address is valid for a minute, and for the File Share or
// QuickShare with this id only. By an option, the address has a scheme and a host.
func (h *Handlers) redirectToPreview(c *wire.Call, kind, link, id string) (wire.Object, error) {
	token := h.w.SignClaims(world.Claims{Scope: previewScope, User: c.UserID(), Profile: id}, previewTokenLife)
	target := h.w.Prefix() + "/current/" + link + "/storage/preview/" + kind + "/file/?download_token=" +
		url.QueryEscape(token)
	if h.w.Options.FileShares.AbsoluteRedirects {
		target = wire.Issuer(c.Request) + target
	}
	out := wire.Reply{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {target}}}
	return c.Send(&out)
}

// previewFile serves the first file of a preview, to which a preview redirects. It
// requires the token in the query, and no other credential.
func (h *Handlers) previewFile(c *wire.Call) (wire.Object, error) {
	f := h.w.FileShareNamed(c.Segment("fileshare_id"))
	if !f.IsUsable(h.w) {
		return nil, tokenEnded()
	}
	return h.FirstFile(c, f.ID) // it checks the token
}

// FirstFile returns the first file of a preview of the File Share or QuickShare with this
// id. The token of the redirect is the only credential that it accepts: clients must not
// send others to an address that they were redirected to.
func (h *Handlers) FirstFile(c *wire.Call, id string) (wire.Object, error) {
	if c.Request.Header.Get("Authorization") != "" || c.Request.Header.Get("X-Ve-Password") != "" {
		return nil, wire.Refuse(http.StatusBadRequest, codePreviewHop, "No credential but the token belongs here.")
	}
	if t := h.w.OpenToken(c.Value("download_token")); !t.Genuine || t.Scope != previewScope || t.Profile != id {
		return nil, tokenEnded()
	}
	return storage.FirstFile(c, c.Segment("type"))
}

func tokenEnded() error {
	return wire.Refuse(http.StatusUnauthorized, world.CodeTokenEnded, "The token is forged or has ended.")
}

// Tasks returns a task of each kind.
func Tasks() []world.Task { return []world.Task{expiry{}, grantExpiry{}} }
