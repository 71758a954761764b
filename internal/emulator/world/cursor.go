package world

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// A cursor is a position and a seal over it and over what it is bound to, 25 bytes in all: in base 64 that gives
// the characters a careless client forgets to escape.
const (
	positionLen = 8 + 4
	SealLen     = 13
)

// Cursor is the opaque form of a position that is bound to a search.
func (w *Core) Cursor(p Position, binding string) string {
	b := binary.BigEndian.AppendUint64(nil, p.Key)
	b = binary.BigEndian.AppendUint32(b, p.Tie)
	return base64.StdEncoding.EncodeToString(append(b, w.Seal(b, binding)...))
}

// OpenCursor reads a cursor, if it was made for the same search.
func (w *Core) OpenCursor(text, binding string) (Position, bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != positionLen+SealLen || !bytes.Equal(b[positionLen:], w.Seal(b[:positionLen], binding)) {
		return Position{}, false
	}
	return Position{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}, true
}

// Seal proves that this server made b for what it is bound to.
func (w *Core) Seal(b []byte, binding string) []byte {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, w.Options.Seed))
	h.Write(b)
	h.Write([]byte(binding))
	return h.Sum(nil)[:SealLen]
}
