package emulator

import (
	"crypto/hmac"
	"crypto/sha256"
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
	Node    string `json:"node,omitempty"`
	Perm    string `json:"perm,omitempty"`
	Issued  int64  `json:"iat"` // Unix seconds
	Expires int64  `json:"exp"`
	Serial  string `json:"jti"`
}

// opened is a token as far as it could be read.
type opened struct {
	claims
	shaped   bool // three parts in base64url
	readable bool // the middle one holds claims
	genuine  bool // signed here and not expired
}

const jwtHeader = `{"alg":"HS256","typ":"JWT"}`

// encodeClaims makes a token. It takes the lock on state.
func (s *Server) encodeClaims(c claims, life time.Duration) string {
	now := s.now()
	s.state.serials++
	c.Serial = strconv.FormatUint(s.state.serials, 36)
	c.Issued = now.Unix()
	c.Expires = now.Add(life + time.Second - 1).Unix() // never earlier than it was promised
	payload, err := json.Marshal(c)
	if err != nil {
		panic("emulator: claims are plain strings and numbers: " + err.Error())
	}
	text := part([]byte(jwtHeader)) + "." + part(payload)
	return text + "." + part(s.signature(text))
}

func part(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (s *Server) signature(text string) []byte {
	mac := hmac.New(sha256.New, []byte("realtime "+strconv.FormatUint(s.o.Seed, 10)))
	mac.Write([]byte(text))
	return mac.Sum(nil)
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
	isSigned := hmac.Equal(raw[2], s.signature(parts[0]+"."+parts[1]))
	t.genuine = t.readable && isSigned && s.now().Before(t.ends())
	return t
}

func (c *claims) ends() time.Time { return time.Unix(c.Expires, 0) }
