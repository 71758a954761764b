package shares

import (
	"cmp"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// linkTokenLife is ours: the platform does not say how long such tokens live.
const linkTokenLife = time.Hour

// mayRead refuses a caller who may not look at the details of a share, with the code of that read. The password of the
// link is asked of whoever is no member, as the token it was exchanged for.
func (h *Handlers) mayRead(c *wire.Call, id string, code int64) error {
	share := &h.Shares[id].Value
	if c.Key != nil && h.Role(id, c.Key.User) != "" && h.Covers(c.Key, id) >= wire.Read {
		if h.ShutOut(id, c.Key.User) {
			return world.Unseen(code)
		}
		return nil
	}
	switch isOpen := h.storage.Open(share, c.UserID()); {
	case c.Key != nil && !isOpen && h.Covers(c.Key, id) < wire.Read:
		return h.OutOfScope(id)
	case h.Shut(id), !isOpen:
		if c.Key == nil && code == world.CodeNoView {
			return wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "The share asks for a credential.")
		}
		return world.Unseen(code)
	case share.Password != "" && !h.OpensLink(share, c.Request.Header.Get("X-Ve-Password")):
		return world.WrongLinkPassword()
	}
	return nil
}

// linkToken makes a token for a share, and the answer that hands it out.
func (h *Handlers) linkToken(it *world.Share, scope, mark string) (wire.Object, error) {
	now := h.Now()
	token := h.JWT(wire.Object{
		{"scope", scope},
		{"profile", it.ID},
		{"perm", mark},
		{"iat", now.Unix()},
		{"exp", now.Add(linkTokenLife + time.Second - 1).Unix()},
		{"jti", h.Secret()[:8]},
	})
	payload := wire.Object{{cmp.Or(h.Options.Shares.LinkTokenKey, "auth_token"), token}}
	if !h.Options.Shares.NoLinkExpiry {
		payload = append(payload, wire.Member{"expires_in", int(linkTokenLife / time.Second)})
	}
	return payload, nil
}

// authPassword exchanges the password of a link for a token.
func (h *Handlers) authPassword(c *wire.Call) (wire.Object, error) {
	share, err := h.linkOfPath(c)
	if err != nil {
		return nil, err
	}
	password, _ := c.Field("password")
	if password == "" {
		c.Check.Missing("password", "The password of the link.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if share.Password == "" || subtle.ConstantTimeCompare([]byte(share.Password), []byte(password)) == 0 {
		return nil, wire.Refuse(http.StatusUnauthorized, codeWrongPassword, "The password is wrong.")
	}
	return h.linkToken(share, world.PasswordScope, h.PasswordMark(share))
}

// authGuest gives a visitor without an account a token. What it opens the platform does not say, so it opens nothing
// that is not open already.
func (h *Handlers) authGuest(c *wire.Call) (wire.Object, error) {
	share, err := h.linkOfPath(c)
	if err != nil {
		return nil, err
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if share.Access != world.AccessAnyone {
		return nil, world.Unseen(codeNoPublicView)
	}
	return h.linkToken(share, world.GuestScope, "")
}

// linkOfPath finds the share that a visitor knocks at, with a form in hand.
func (h *Handlers) linkOfPath(c *wire.Call) (*world.Share, error) {
	id := h.ShareNamed(c.Segment("share_id"))
	switch {
	case id == "":
		return nil, wire.NoSuch(wire.CodeNotFound, wire.KindShare)
	case h.Shut(id):
		return nil, world.Unseen(codeNoPublicView)
	}
	return &h.Shares[id].Value, nil
}
