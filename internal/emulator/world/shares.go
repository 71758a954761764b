package world

import (
	"cmp"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Wire values of share fields.
const (
	ShareSend       = "send"
	ShareReceive    = "receive"
	ShareExchange   = "exchange"
	ModeIndependent = "independent"
	ModeFolder      = "workspace_folder"
	AccessMembers   = "Only members of the Share or Workspace"
	SecurityHigh    = "high"
	SecurityMedium  = "medium"
	SecurityOff     = "off"
)

// Share is a stored share.
type Share SeedShare

// ShowsFolder reports whether a share shows a folder of its workspace.
func (s *Share) ShowsFolder() bool { return s.Folder != "" }

// Mode returns the storage mode of a share: the folder of its workspace that it shows, or
// files of its own.
func (s *Share) Mode() string {
	if s.ShowsFolder() {
		return ModeFolder
	}
	return ModeIndependent
}

// Category returns the name of the storage mode in the member share_category.
func (s *Share) Category() string {
	if s.ShowsFolder() {
		return "shared_folder"
	}
	return "portal"
}

// Kind returns the type of a share. By default a share of a folder is of type exchange,
// and one with files of its own of type send.
func (s *Share) Kind() string {
	switch {
	case s.Type != "":
		return s.Type
	case s.ShowsFolder():
		return ShareExchange
	}
	return ShareSend
}

// AccessOption returns the access option of a share.
func (s *Share) AccessOption() string { return cmp.Or(s.Access, AccessMembers) }

// Security returns the download security of a share, which is high if guests may not
// download.
func (s *Share) Security() string {
	if s.NoGuestDownloads {
		return SecurityHigh
	}
	return cmp.Or(s.DownloadSecurity, SecurityOff)
}

// ClosedToGuests reports whether a share is closed to guests: archived, expired, or of
// a closed organization.
func (w *Directory) ClosedToGuests(id string) bool {
	share := w.shares[id]
	if share == nil {
		return false
	}
	expired := !share.Value.Expires.IsZero() && wire.Past(share.Value.Expires, w.Now())
	return share.Value.Archived || expired || w.OrgClosed(id)
}

// ClosedTo reports whether a share is closed to a user, who is at most a guest.
func (w *Directory) ClosedTo(id, userID string) bool {
	return w.ClosedToGuests(id) && !w.AtLeast(id, userID, Member)
}

// ScheduleExpiry makes polls and sockets report a change of the settings of a share when the
// share expires; the report also closes the sockets of guests. ScheduleExpiry does nothing
// if the share has expired, or never expires.
func (w *World) ScheduleExpiry(share *Share) {
	if expires := share.Expires; expires.After(w.Now()) {
		w.Schedule(expires, lapse{w, share.ID, expires})
	}
}

// lapse reports the expiry of a share, unless it was changed.
type lapse struct {
	w       *World
	share   string
	expires time.Time
}

// Do reports the expiry of the share as a change of its settings, unless the expiry was
// changed since.
func (t lapse) Do() {
	if share := t.w.shares[t.share]; share != nil && share.Value.Expires.Equal(t.expires) {
		t.w.MarkChanged(t.w.Now(), t.share, FieldSettings)
	}
}

// AllowsSharing reports whether the policies allow new shares of a workspace.
func (w *Directory) AllowsSharing(workspaceID string) bool {
	workspace := w.workspaces[workspaceID].Value
	o := w.orgs[workspace.Org]
	return !workspace.NoSharing && (o == nil || !o.Value.NoSharing)
}

// Scopes of the tokens that open a share.
const (
	PasswordScope = "share-password"
	GuestScope    = "share-guest"
)

// NoShareAccess returns the error of a caller without access to a share.
func NoShareAccess(code int64) error {
	return wire.Refuse(http.StatusUnauthorized, code, "You may not look at this share.")
}

// WrongLinkPassword returns the error of a missing or wrong link password.
func WrongLinkPassword() error {
	return wire.Refuse(http.StatusUnauthorized, codeLinkPassword, "The password of the link is missing or wrong.")
}

// IsLinkToken reports whether a token is of the current password of a share.
func (w *Core) IsLinkToken(share *Share, token string) bool {
	t := w.OpenToken(token)
	return t.Genuine && t.Scope == PasswordScope && t.Profile == share.ID && t.Perm == w.PasswordMark(share)
}

// PasswordMark returns a MAC of a password, which binds a token to it.
func (w *Core) PasswordMark(share *Share) string {
	return hex.EncodeToString(w.Sign("password of " + share.ID + " " + share.Password))[:16]
}

// RootOf returns the id of the root folder of a share: the folder that it shows, or
// else one derived from its id.
func (w *Core) RootOf(share *Share) string {
	if share.ShowsFolder() {
		return share.Folder
	}
	n, err := strconv.ParseUint(share.ID, 10, 64)
	if err != nil {
		panic(err) // ids have nineteen digits
	}
	return Opaque('2', w.Options.Seed, n) // 2 begins the ids of nodes
}

// FileShare is a stored File Share.
type FileShare struct {
	SeedFileShare
	Lapsed bool // expired, and not cleaned up yet
}

// Tiers of access to a File Share.
const (
	AnyoneWithLink = "anyone_with_link"
	AnyRegistered  = "any_registered"
	NamedPeople    = "named_people"
)

// Capability is what a user may do with a File Share.
type Capability int

// Capabilities, the least first.
const (
	NoCapability Capability = iota
	CanView
	CanDownload
	CanEdit
)

func capabilities() []string { return []string{"view", "download", "edit"} }

// ParseCapability reads the name of a capability, NoCapability for none.
func ParseCapability(s string) Capability {
	return Capability(slices.Index(capabilities(), s) + 1)
}

// String returns the name of the capability in responses.
func (m Capability) String() string {
	if m == NoCapability {
		return "none"
	}
	return capabilities()[m-1]
}

// FileShareEvent writes an event whose object is the file of a File Share.
func (w *World) FileShareEvent(f *FileShare, e Event) {
	e.Workspace, e.Object = f.Workspace, f.Node
	if n := w.nodes[f.Node]; n != nil {
		e.ObjectName = n.Name
	}
	w.WriteEvent(e)
}

// EndFileShare deletes a File Share and its grants, but not the file.
func (w *World) EndFileShare(f *FileShare, caller string) {
	w.FileShareEvent(f, Event{Name: "file_share_deleted", CallingUser: caller})
	w.MarkChanged(w.Now(), f.ID, FieldSettings)
	w.DropFileShare(f.ID)
}

// GrantIsFor reports whether a grant belongs to a user or, if neither has an account, to an
// e-mail address.
func GrantIsFor(g *Grant, userID, email string) bool {
	if g.User != "" || userID != "" {
		return g.User == userID
	}
	return strings.EqualFold(g.Email, email)
}

// activateGrants turns the grants to an e-mail address into grants to its new account.
func (w *Directory) activateGrants(u User) {
	for _, f := range w.fileShares {
		for i, g := range f.Grants {
			if g.User == "" && strings.EqualFold(g.Email, u.Email) {
				f.Grants[i].User, f.Grants[i].Email = u.ID, ""
			}
		}
	}
}

// FileShareNamed returns the File Share with an id or IDAlt, nil if there is none.
func (w *Directory) FileShareNamed(name string) *FileShare {
	for id, f := range w.fileShares {
		if id == name || f.IDAlt == wire.Plain(name) {
			return f
		}
	}
	return nil
}

// FileOfShare returns the file of a link, nil if it is deleted or in the trash.
func (w *World) FileOfShare(f *FileShare) *Node { return w.Node(f.Workspace, f.Node) }

// IsUsable reports whether a link is valid.
func (f *FileShare) IsUsable(w *World) bool { return f != nil && !f.Lapsed && w.FileOfShare(f) != nil }

// personalCapability returns what a user may do with a File Share by a role in the
// workspace, as its owner or by a grant. The access option, which is for everyone, is not
// considered.
func (w *Directory) personalCapability(f *FileShare, userID string) Capability {
	if userID == "" {
		return NoCapability
	}
	most := NoCapability
	switch role := w.Role(f.Workspace, userID); {
	case Rank(role) >= Rank(Member), f.Owner == userID:
		most = CanEdit
	case role == Guest:
		most = CanView
	}
	for _, g := range f.Grants {
		if g.User == userID {
			most = max(most, ParseCapability(g.Capability))
		}
	}
	return most
}

// AdmitsTo reports whether a user, "" for a caller without an account, may open a File
// Share. If the File Share has expired, only managers of its workspace may; otherwise its
// access option, a role or a grant decides.
func (w *Directory) AdmitsTo(f *FileShare, userID string) bool {
	switch {
	case f.Lapsed:
		return w.ManagesFileShares(f.Workspace, userID)
	case f.Access == AnyoneWithLink:
		return true
	case f.Access == AnyRegistered:
		return userID != ""
	}
	return w.personalCapability(f, userID) > NoCapability
}

// Capability returns what a user may do with a File Share. Everyone whom the access
// option admits may do what the option TierCapability says, by default download; a role
// or grant can allow more.
func (w *Directory) Capability(f *FileShare, userID string) Capability {
	most := w.personalCapability(f, userID)
	hasAccount := userID != ""
	isAdmitted := f.Access == AnyoneWithLink || (f.Access == AnyRegistered && hasAccount)
	if isAdmitted {
		most = max(most, ParseCapability(cmp.Or(w.Options.FileShares.TierCapability, CanDownload.String())))
	}
	return most
}

// TakesComments reports whether recipients may comment, never on open links.
func (f *FileShare) TakesComments() bool { return f.CommentsEnabled && f.Access != AnyoneWithLink }

// OpenForRecipient returns the File Share with an id, and its file, for a caller whose
// capability is need or more. If the File Share is unknown or has expired, or if its file is
// deleted, the error is always the same, so as to reveal nothing.
func (w *World) OpenForRecipient(c *wire.Call, name string, need Capability) (*FileShare, *Node, error) {
	f := w.FileShareNamed(name) // nil if it is unknown: then it is not usable
	if !f.IsUsable(w) {
		return nil, nil, wire.NoSuch(wire.CodeNotFound, "File Share")
	}
	if err := w.refuseRecipient(c, f); err != nil {
		return nil, nil, err
	}
	if w.Capability(f, c.UserID()) < need {
		return nil, nil, wire.Refuse(http.StatusForbidden, CodeLowCapability,
			"The File Share does not let you "+need.String()+".")
	}
	return f, w.FileOfShare(f), nil
}

// refuseRecipient returns a refusal for a caller whom a File Share does not admit, or who
// does not send its password. With the option Hidden, a File Share that does not admit
// the caller seems not to exist.
func (w *Directory) refuseRecipient(c *wire.Call, f *FileShare) error {
	switch {
	case c.Key != nil && w.AccessMode(c.Key, f.ID) < wire.Read:
		return w.OutOfScopeRefusal(f.ID)
	case w.AdmitsTo(f, c.UserID()):
		return f.RefuseWrongPassword(c)
	case w.Options.FileShares.Hidden:
		return wire.NoSuch(wire.CodeNotFound, "File Share")
	case c.Key == nil:
		return wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "The File Share asks for a credential.")
	default:
		return wire.Refuse(http.StatusUnauthorized, CodeNotGranted, "The File Share was not given to you.")
	}
}

// RefuseWrongPassword returns a refusal if a File Share has a password that the header of
// the call does not repeat. It compares in constant time, so that the time says nothing
// about the password.
func (f *FileShare) RefuseWrongPassword(c *wire.Call) error {
	sent := c.Request.Header.Get("X-Ve-Password")
	isEqual := subtle.ConstantTimeCompare([]byte(f.Password), []byte(sent)) == 1
	if f.Password == "" || isEqual {
		return nil
	}
	return WrongLinkPassword()
}

// RefuseServe returns a refusal if the content of a node must not be served, because it is
// restricted, taken down, locked or infected.
func (n *Node) RefuseServe() error {
	if n.Withheld == "" {
		return nil
	}
	return wire.Refuse(http.StatusForbidden, codeWithheld, "The file is not served: "+n.Withheld+".")
}

// ManagesFileShares reports whether a user manages the File Shares of a workspace.
func (w *Directory) ManagesFileShares(workspaceID, userID string) bool {
	return w.AtLeast(workspaceID, userID, Member)
}
