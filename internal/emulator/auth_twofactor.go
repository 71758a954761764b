package emulator

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what authenticator apps compute
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

const channelTOTP = "totp" // an authenticator app

const (
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpSecret = 20               // bytes
	codeLife   = 10 * time.Minute // of a code in a message, assumed
)

// factors are the second factor that guards a user's sign-ins and the one being set up, nil where there is none.
type factors struct{ active, pending *factor }

// factor is a second factor.
type factor struct {
	channel string
	secret  []byte // shared with an authenticator app
	sent    string // code of the latest message, "" once it was used
	until   time.Time
}

func (s *Server) newFactor(channel string) *factor {
	secret := sha256.Sum256(fmt.Append(nil, "second factor ", s.o.Seed, " ", s.nextSerial()))
	return &factor{channel: channel, secret: secret[:totpSecret]}
}

// setFactor gives a user the second factor it was added with.
func (s *Server) setFactor(u User) {
	delete(s.state.auth.factors, u.ID)
	if u.TwoFactor != "" {
		s.state.auth.factors[u.ID] = factors{active: s.newFactor(u.TwoFactor)}
	}
}

// send puts a new code into a message to the user.
func (s *Server) send(f *factor, now time.Time) {
	f.sent, f.until = fmt.Sprintf("%06d", mix(s.nextSerial()^mix(s.o.Seed))%1_000_000), now.Add(codeLife)
}

// accepts takes the code of the latest message once, and of an app the code of the moment or of a step around it. An
// app's code works again within its time: a test under a stopped clock may sign in twice.
func (f *factor) accepts(code string, now time.Time) bool {
	if code != "" && code == f.sent && now.Before(f.until) {
		f.sent = ""
		return true
	}
	return f.channel == channelTOTP &&
		(code == f.at(now) || code == f.at(now.Add(-totpStep)) || code == f.at(now.Add(totpStep)))
}

func (f *factor) at(t time.Time) string { return totp(f.secret, t, totpDigits) }

// totp is the time-based one-time password of RFC 6238.
func totp(secret []byte, t time.Time, digits int) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(t.Unix()/int64(totpStep/time.Second))) //nolint:gosec // a wrap is as good as any count
	mac := hmac.New(sha1.New, secret)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	value := uint64(binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff)
	modulus := uint64(1)
	for range digits {
		modulus *= 10
	}
	return fmt.Sprintf("%0*d", digits, value%modulus)
}

// OneTimeCode returns what the user would type now: the code of the latest message that still counts, or else what an
// authenticator app shows. While a second factor is being set up it is that one's. It is "" when there is none.
func (s *Server) OneTimeCode(userID string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.now()
	f := s.state.auth.factors[userID].latest()
	switch {
	case f == nil:
		return ""
	case now.Before(f.until) && f.sent != "":
		return f.sent
	case f.channel == channelTOTP:
		return f.at(now)
	}
	return ""
}

// latest is the factor that is being set up, or else the active one.
func (f factors) latest() *factor {
	if f.pending != nil {
		return f.pending
	}
	return f.active
}

// twoFactorStatus answers with the state, of which "pending" is assumed.
func (s *Server) twoFactorStatus(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := s.state.auth.factors[c.key.User]
	state := "disabled"
	switch {
	case f.active != nil:
		state = "enabled"
	case f.pending != nil:
		state = "pending"
	}
	return ok(member{"state", state}, member{"totp", f.active != nil && f.active.channel == channelTOTP})
}

// enableTwoFactor begins a setup, anew if one was under way. The active factor holds until the new one is verified.
func (s *Server) enableTwoFactor(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.readForm() {
		return noForm()
	}
	channel := c.channel(channelTOTP, "sms", "whatsapp")
	if refusal := c.mayWrite(); refusal != nil {
		return *refusal
	}
	f := s.state.auth.factors[c.key.User]
	f.pending = s.newFactor(channel)
	s.state.auth.factors[c.key.User] = f
	if channel != channelTOTP {
		s.send(f.pending, c.now)
		return ok()
	}
	return ok(member{"binding_uri", f.pending.uri(s.state.users[c.key.User].it.Email)})
}

// uri is what an authenticator app scans.
func (f *factor) uri(account string) string {
	return "otpauth://totp/" + url.PathEscape("Fast.io:"+account) + "?" + url.Values{
		"secret":    {base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(f.secret)},
		"issuer":    {"Fast.io"},
		"algorithm": {"SHA1"},
		"digits":    {"6"},
		"period":    {"30"},
	}.Encode()
}

// verifyTwoFactor ends a setup with a code of the new factor.
func (s *Server) verifyTwoFactor(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.readForm() {
		return noForm()
	}
	code := c.oneTimeCode()
	if refusal := c.mayWrite(); refusal != nil {
		return *refusal
	}
	f := s.state.auth.factors[c.key.User]
	switch {
	case f.pending == nil:
		return refuse(http.StatusNotAcceptable, codeNoFactor, "No second factor is being set up.")
	case !f.pending.accepts(code, c.now):
		return wrongCode()
	}
	s.state.auth.factors[c.key.User] = factors{active: f.pending}
	return ok()
}

// sendCode sends a message: to a sign-in the code of its factor, to a full token that of a setup under way first. Every
// channel delivers, whatever the factor's own: how a user gets at the phone is not the platform's question.
func (s *Server) sendCode(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.channel("sms", "call", "whatsapp")
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	f := s.state.auth.factors[c.key.User].active
	if c.key.kind != limitedToken {
		f = s.state.auth.factors[c.key.User].latest()
	}
	if f == nil {
		return refuse(http.StatusNotAcceptable, codeNoFactor, "The account has no second factor.")
	}
	s.send(f, c.now)
	return ok()
}

// completeSignIn turns a limited token into a session.
func (s *Server) completeSignIn(c *call) answer {
	if c.key.kind != limitedToken {
		return refuse(http.StatusNotAcceptable, codeComplete, "The token needs no second factor.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.readForm() {
		return noForm()
	}
	code := c.oneTimeCode()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	f := s.state.auth.factors[c.key.User].active
	switch {
	case s.state.credentials[c.key.Token] != c.key: // another call was quicker
		return refuse(http.StatusUnauthorized, codeCredential, "The credential is unknown or has ended.")
	case f != nil && !f.accepts(code, c.now):
		return wrongCode()
	}
	delete(s.state.credentials, c.key.Token)
	return ok(s.startSession(c.key.User, sessionToken, c.now)...)
}

// disableTwoFactor takes the second factor away, and a setup under way with it.
func (s *Server) disableTwoFactor(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := c.oneTimeCode()
	if refusal := c.mayWrite(); refusal != nil {
		return *refusal
	}
	f := s.state.auth.factors[c.key.User].active
	switch {
	case f == nil:
		return refuse(http.StatusNotAcceptable, codeNoFactor, "The account has no second factor.")
	case !f.accepts(code, c.now):
		return wrongCode()
	}
	delete(s.state.auth.factors, c.key.User)
	return ok()
}

// wrongCode is a failed authentication and so 401, yet with a code of its own: the token it came with lives on. The
// published answer is not known.
func wrongCode() answer {
	return refuse(http.StatusUnauthorized, codeWrongCode, "The one-time code is wrong or has ended.")
}
