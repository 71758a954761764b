package signin

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what authenticator apps compute
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const channelTOTP = "totp" // an authenticator app

const (
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpSecret = 20               // bytes
	codeLife   = 10 * time.Minute // of a code in a message, assumed
)

// factors are the second factor that guards a user's sign-ins and the one being set up, nil where there is none.
type factors struct{ Active, pending *factor }

type factor struct {
	channel string
	secret  []byte // shared with an authenticator app
	sent    string // code of the latest message, "" once it was used
	until   time.Time
}

func (h *Handlers) newFactor(channel string) *factor {
	secret := sha256.Sum256(fmt.Append(nil, "second factor ", h.Options.Seed, " ", h.NextSerial()))
	return &factor{channel: channel, secret: secret[:totpSecret]}
}

// SetFactor gives a user the second factor it was added with.
func (h *Handlers) SetFactor(u world.User) {
	delete(h.Auth.Factors, u.ID)
	if u.TwoFactor != "" {
		h.Auth.Factors[u.ID] = factors{Active: h.newFactor(u.TwoFactor)}
	}
}

func (h *Handlers) send(f *factor, now time.Time) {
	f.sent, f.until = fmt.Sprintf("%06d", world.Mix(h.NextSerial()^world.Mix(h.Options.Seed))%1_000_000), now.Add(codeLife)
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

func (f *factor) at(t time.Time) string { return TOTP(f.secret, t, totpDigits) }

// TOTP is the time-based one-time password of RFC 6238.
func TOTP(secret []byte, t time.Time, digits int) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:],
		uint64(t.Unix()/int64(totpStep/time.Second))) //nolint:gosec // a wrap is as good as any count
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
func (h *Handlers) OneTimeCode(userID string) string {
	h.RLock()
	defer h.RUnlock()
	now := h.Now()
	f := h.Auth.Factors[userID].latest()
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

func (f factors) latest() *factor { return cmp.Or(f.pending, f.Active) }

// twoFactorStatus answers with the state, of which "pending" is assumed.
func (h *Handlers) twoFactorStatus(c *wire.Call) (wire.Object, error) {
	f := h.Auth.Factors[c.Key.User]
	state := "disabled"
	switch {
	case f.Active != nil:
		state = "enabled"
	case f.pending != nil:
		state = "pending"
	}
	return wire.Object{{"state", state}, {"totp", f.Active != nil && f.Active.channel == channelTOTP}}, nil
}

// enableTwoFactor begins a setup, anew if one was under way. The active factor holds until the new one is verified.
func (h *Handlers) enableTwoFactor(c *wire.Call) (wire.Object, error) {
	channel := c.Channel(channelTOTP, "sms", "whatsapp")
	if err := c.MayWrite(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User]
	f.pending = h.newFactor(channel)
	h.Auth.Factors[c.Key.User] = f
	if channel != channelTOTP {
		h.send(f.pending, c.Now)
		return nil, nil
	}
	return wire.Object{{"binding_uri", f.pending.uri(h.Users[c.Key.User].Value.Email)}}, nil
}

func (f *factor) uri(account string) string {
	return "otpauth://totp/" + url.PathEscape("Fast.io:"+account) + "?" + url.Values{
		"secret":    {base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(f.secret)},
		"issuer":    {"Fast.io"},
		"algorithm": {"SHA1"},
		"digits":    {"6"},
		"period":    {"30"},
	}.Encode()
}

func (h *Handlers) verifyTwoFactor(c *wire.Call) (wire.Object, error) {
	code := c.OneTimeCode()
	if err := c.MayWrite(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User]
	switch {
	case f.pending == nil:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoFactor, "No second factor is being set up.")
	case !f.pending.accepts(code, c.Now):
		return nil, wrongCode()
	}
	h.Auth.Factors[c.Key.User] = factors{Active: f.pending}
	return nil, nil
}

// sendCode sends a message: to a sign-in the code of its factor, to a full token that of a setup under way first. Every
// channel delivers, whatever the factor's own: how a user gets at the phone is not the platform's question.
func (h *Handlers) sendCode(c *wire.Call) (wire.Object, error) {
	c.Channel("sms", "call", "whatsapp")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User].Active
	if c.Key.Kind != wire.LimitedToken {
		f = h.Auth.Factors[c.Key.User].latest()
	}
	if f == nil {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoFactor, "The account has no second factor.")
	}
	h.send(f, c.Now)
	return nil, nil
}

func (h *Handlers) completeSignIn(c *wire.Call) (wire.Object, error) {
	if c.Key.Kind != wire.LimitedToken {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeComplete, "The token needs no second factor.")
	}
	code := c.OneTimeCode()
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User].Active
	switch {
	case h.Credentials[c.Key.Token] != c.Key: // another call was quicker
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "The credential is unknown or has ended.")
	case f != nil && !f.accepts(code, c.Now):
		return nil, wrongCode()
	}
	delete(h.Credentials, c.Key.Token)
	return h.StartSession(c.Key.User, wire.SessionToken, c.Now), nil
}

// disableTwoFactor takes the second factor away, and a setup under way with it.
func (h *Handlers) disableTwoFactor(c *wire.Call) (wire.Object, error) {
	code := c.OneTimeCode()
	if err := c.MayWrite(); err != nil {
		return nil, err
	}
	f := h.Auth.Factors[c.Key.User].Active
	switch {
	case f == nil:
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoFactor, "The account has no second factor.")
	case !f.accepts(code, c.Now):
		return nil, wrongCode()
	}
	delete(h.Auth.Factors, c.Key.User)
	return nil, nil
}

// wrongCode is a failed authentication and so 401, yet with a code of its own: the token it came with lives on. The
// published answer is not known.
func wrongCode() error {
	return wire.Refuse(http.StatusUnauthorized, CodeWrongCode, "The one-time code is wrong or has ended.")
}
