package world

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Values of share fields, as they go over the wire.
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

// Share is a share as the platform keeps it.
type Share SeedShare

// ShowsFolder reports whether the storage of a share is a folder of its workspace.
func (s *Share) ShowsFolder() bool { return s.Folder != "" }

// Mode says whether a share has storage of its own.
func (s *Share) Mode() string {
	if s.ShowsFolder() {
		return ModeFolder
	}
	return ModeIndependent
}

// Category is how answers call a share.
func (s *Share) Category() string {
	if s.ShowsFolder() {
		return "shared_folder"
	}
	return "portal"
}

// Kind is what a share is for.
func (s *Share) Kind() string {
	switch {
	case s.Type != "":
		return s.Type
	case s.ShowsFolder():
		return ShareExchange
	}
	return ShareSend
}

// AccessOption says who is let in.
func (s *Share) AccessOption() string { return cmp.Or(s.Access, AccessMembers) }

// Security says how far downloads are allowed.
func (s *Share) Security() string {
	if s.NoGuestDownloads {
		return SecurityHigh
	}
	return cmp.Or(s.DownloadSecurity, SecurityOff)
}

// Shut reports whether a share keeps its guests out: it is archived or its time is over.
func (w *Directory) Shut(id string) bool {
	h := w.Shares[id]
	return h != nil && (h.Value.Archived || !h.Value.Expires.IsZero() && wire.Past(h.Value.Expires, w.Clock()))
}

// ShutOut reports whether a share is shut and the user no more than a guest.
func (w *Directory) ShutOut(id, userID string) bool {
	return w.Shut(id) && Rank(w.Role(id, userID)) < Rank(Member)
}

// Lapse ends the sockets of guests when the time of a share is over.
func (w *Directory) Lapse(h *Share) {
	if expires := h.Expires; expires.After(w.Now()) {
		w.Later(expires, func() {
			if now := w.Shares[h.ID]; now != nil && now.Value.Expires.Equal(expires) {
				w.Touch(w.Now(), h.ID, FieldSettings)
			}
		})
	}
}

// Sharing reports whether the policies of a workspace and of its organization allow new shares.
func (w *Directory) Sharing(workspaceID string) bool {
	workspace := w.Workspaces[workspaceID].Value
	o := w.Orgs[workspace.Org]
	return !workspace.NoSharing && (o == nil || !o.Value.NoSharing)
}

// Scopes of the tokens that open a share.
const (
	PasswordScope = "share-password"
	GuestScope    = "share-guest"
)

// Unseen refuses a caller who may not look at a share.
func Unseen(code int64) error {
	return wire.Refuse(http.StatusUnauthorized, code, "You may not look at this share.")
}

// WrongLinkPassword refuses a caller without the password of a link.
func WrongLinkPassword() error {
	return wire.Refuse(http.StatusUnauthorized, codeLinkPassword, "The password of the link is missing or wrong.")
}

// OpensLink reports whether a token was given for the password that a share has now.
func (w *Core) OpensLink(h *Share, token string) bool {
	t := w.OpenToken(token)
	return t.Genuine && t.Scope == PasswordScope && t.Profile == h.ID && t.Perm == w.PasswordMark(h)
}

// PasswordMark binds a token to a password without telling it.
func (w *Core) PasswordMark(h *Share) string {
	return hex.EncodeToString(w.Sign("password of " + h.ID + " " + h.Password))[:16]
}

// RootOf is the id of the root of the storage of a share.
func (w *Core) RootOf(h *Share) string {
	if h.ShowsFolder() {
		return h.Folder
	}
	n, err := strconv.ParseUint(h.ID, 10, 64)
	if err != nil {
		panic(err) // ids have nineteen digits
	}
	return Opaque('2', w.Options.Seed, n)
}
