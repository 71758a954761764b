package emulator

import (
	"cmp"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"time"
)

// Scopes of the tokens that open a share.
const (
	passwordScope = "share-password"
	guestScope    = "share-guest"
)

// linkTokenLife is ours: the platform does not say how long such tokens live.
const linkTokenLife = time.Hour

// mayRead refuses a caller who may not look at the details of a share, with the code of that read. The password of the
// link is asked of whoever is no member, as the token it was exchanged for.
func (s *Server) mayRead(c *call, id string, code int64) *answer {
	st := &s.state
	h := &st.shares[id].it
	if c.key != nil && st.role(id, c.key.User) != "" && st.covers(c.key, id) >= read {
		if st.shutOut(id, c.key.User) {
			return unseen(code)
		}
		return nil
	}
	switch isOpen := st.open(h, c.userID()); {
	case c.key != nil && !isOpen && st.covers(c.key, id) < read:
		a := st.outOfScope(id)
		return &a
	case st.shut(id), !isOpen:
		if c.key == nil && code == codeNoView {
			a := refuse(http.StatusUnauthorized, codeCredential, "The share asks for a credential.")
			return &a
		}
		return unseen(code)
	case h.Password != "" && !s.opensLink(h, c.r.Header.Get("X-Ve-Password")):
		return wrongLinkPassword()
	}
	return nil
}

func unseen(code int64) *answer {
	a := refuse(http.StatusUnauthorized, code, "You may not look at this share.")
	return &a
}

func wrongLinkPassword() *answer {
	a := refuse(http.StatusUnauthorized, codeLinkPassword, "The password of the link is missing or wrong.")
	return &a
}

// opensLink tells whether a token was given for the password that a share has now.
func (s *Server) opensLink(h *share, token string) bool {
	t := s.open(token)
	return t.genuine && t.Scope == passwordScope && t.Profile == h.ID && t.Perm == s.passwordMark(h)
}

// passwordMark binds a token to a password without telling it.
func (s *Server) passwordMark(h *share) string {
	return hex.EncodeToString(s.sign("password of " + h.ID + " " + h.Password))[:16]
}

// linkToken makes a token for a share, and the answer that hands it out.
func (s *Server) linkToken(h *share, scope, mark string) answer {
	now := s.now()
	token := s.jwt(object{
		{"scope", scope},
		{"profile", h.ID},
		{"perm", mark},
		{"iat", now.Unix()},
		{"exp", now.Add(linkTokenLife + time.Second - 1).Unix()},
		{"jti", s.secret()[:8]},
	})
	payload := object{{cmp.Or(s.o.Shares.LinkTokenKey, "auth_token"), token}}
	if !s.o.Shares.NoLinkExpiry {
		payload = append(payload, member{"expires_in", int(linkTokenLife / time.Second)})
	}
	return answer{payload: payload}
}

// authPassword exchanges the password of a link for a token.
func (s *Server) authPassword(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, refusal := s.linkOfPath(c)
	if refusal != nil {
		return *refusal
	}
	password, _ := c.field("password")
	if password == "" {
		c.check.missing("password", "The password of the link.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if h.Password == "" || subtle.ConstantTimeCompare([]byte(h.Password), []byte(password)) == 0 {
		return refuse(http.StatusUnauthorized, codeWrongPassword, "The password is wrong.")
	}
	return s.linkToken(h, passwordScope, s.passwordMark(h))
}

// authGuest gives a visitor without an account a token. What it opens the platform does not say, so it opens nothing
// that is not open already.
func (s *Server) authGuest(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, refusal := s.linkOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if h.Access != accessAnyone {
		return *unseen(codeNoPublicView)
	}
	return s.linkToken(h, guestScope, "")
}

// linkOfPath finds the share that a visitor knocks at, with a form in hand.
func (s *Server) linkOfPath(c *call) (*share, *answer) {
	st := &s.state
	id := st.shareNamed(c.segment("share_id"))
	switch {
	case id == "":
		return nil, noSuch(codeNotFound, kindShare)
	case !c.readBlankForm():
		a := noForm()
		return nil, &a
	case st.shut(id):
		return nil, unseen(codeNoPublicView)
	}
	return &st.shares[id].it, nil
}
