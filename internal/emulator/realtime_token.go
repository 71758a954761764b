package emulator

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Scopes of realtime tokens.
const (
	socketScope = "websocket"
	roomScope   = "realtime"
	noteScope   = "realtime-note"
)

// claims are what a realtime token says. Nothing about it is kept: whoever signed it needs no list.
type claims struct {
	Scope   string `json:"scope"`
	User    string `json:"sub"`
	Profile string `json:"profile"`
	Node    string `json:"node"`
	Perm    string `json:"perm"`
	Expires int64  `json:"exp"` // Unix seconds
}

// opened is a token as far as it could be read.
type opened struct {
	claims
	shaped   bool // three parts in base64url
	readable bool // the middle one holds claims
	genuine  bool // signed here and not expired
}

// signClaims makes a token. It wants the lock.
func (s *Server) signClaims(c claims, life time.Duration) string {
	now := s.now()
	ends := now.Add(life + time.Second - 1) // never earlier than it was promised
	payload := object{{"scope", c.Scope}, {"sub", c.User}, {"profile", c.Profile}}
	if c.Scope == noteScope {
		payload = append(payload, member{"node", c.Node}, member{"perm", c.Perm})
	}
	return s.jwt(append(payload,
		member{"iat", now.Unix()}, member{"exp", ends.Unix()}, member{"jti", strconv.FormatUint(s.nextSerial(), 36)}))
}

// open reads a token and says how far it is to be trusted.
func (s *Server) open(token string) (t opened) {
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
	t.shaped = true
	t.readable = json.Unmarshal(raw[1], &t.claims) == nil
	isSigned := hmac.Equal(raw[2], s.sign(parts[0]+"."+parts[1]))
	t.genuine = t.readable && isSigned && s.now().Before(t.ends())
	return t
}

func (c *claims) ends() time.Time { return time.Unix(c.Expires, 0) }
