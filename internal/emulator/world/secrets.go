package world

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Secret makes a value of 64 hex digits that no one guesses from the ones before. The caller holds the lock.
func (w *Core) Secret() string {
	return hex.EncodeToString(w.Sign(fmt.Sprintf("secret %d", w.NextSerial())))
}

// NextSerial counts the things made so far. The caller holds the lock.
func (w *Core) NextSerial() uint64 {
	w.Serials++
	return w.Serials
}

// Sign authenticates a text with a key of this server's own.
func (w *Core) Sign(text string) []byte {
	mac := hmac.New(sha256.New, fmt.Appendf(nil, "emulator %d", w.Options.Seed))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// JWT is a signed token in the compact form.
func (w *Core) JWT(claims wire.Object) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(wire.AppendValue(nil, claims, false))
	return text + "." + encode(w.Sign(text))
}
