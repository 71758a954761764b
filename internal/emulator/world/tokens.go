package world

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Scopes of realtime tokens.
const (
	NoteScope = "realtime-note"
)

// Claims are what a realtime token says. Nothing about it is kept: whoever signed it needs no list.
type Claims struct {
	Scope   string `json:"scope"`
	User    string `json:"sub"`
	Profile string `json:"profile"`
	Node    string `json:"node"`
	Perm    string `json:"perm"`
	Expires int64  `json:"exp"` // Unix seconds
}

// Token is a token as far as it could be read.
type Token struct {
	Claims
	Shaped   bool // three parts in base64url
	Readable bool // the middle one holds claims
	Genuine  bool // signed here and not expired
}

// SignClaims makes a token. The caller holds the lock.
func (w *Core) SignClaims(c Claims, life time.Duration) string {
	now := w.Now()
	ends := now.Add(life + time.Second - 1) // never earlier than it was promised
	payload := wire.Object{{"scope", c.Scope}, {"sub", c.User}, {"profile", c.Profile}}
	if c.Scope == NoteScope {
		payload = append(payload, wire.Member{"node", c.Node}, wire.Member{"perm", c.Perm})
	}
	return w.JWT(append(payload,
		wire.Member{
			"iat", now.Unix(),
		}, wire.Member{"exp", ends.Unix()}, wire.Member{"jti", strconv.FormatUint(w.NextSerial(), 36)}))
}

// OpenToken reads a token and says how far it is to be trusted.
func (w *Core) OpenToken(token string) (t Token) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return t
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil || len(b) == 0 {
			return t
		}
		raw[i] = b
	}
	t.Shaped = true
	t.Readable = json.Unmarshal(raw[1], &t.Claims) == nil
	isSigned := hmac.Equal(raw[2], w.Sign(parts[0]+"."+parts[1]))
	t.Genuine = t.Readable && isSigned && w.Now().Before(t.Ends())
	return t
}

// Ends is when a token ends.
func (c *Claims) Ends() time.Time { return time.Unix(c.Expires, 0) }
