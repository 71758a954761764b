package emulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"iter"
	"slices"
)

// A cursor is a position and a seal over it and over what it is bound to, 25 bytes in all: in base 64 that gives
// the characters a careless client forgets to escape.
const (
	positionLen = 8 + 4
	sealLen     = 13
)

func (s *Server) cursor(p position, binding string) string {
	b := binary.BigEndian.AppendUint64(nil, p.key)
	b = binary.BigEndian.AppendUint32(b, p.tie)
	return base64.StdEncoding.EncodeToString(append(b, s.seal(b, binding)...))
}

func (s *Server) openCursor(text, binding string) (position, bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != positionLen+sealLen || !bytes.Equal(b[positionLen:], s.seal(b[:positionLen], binding)) {
		return position{}, false
	}
	return position{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}, true
}

func (s *Server) seal(b []byte, binding string) []byte {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, s.o.Seed))
	h.Write(b)
	h.Write([]byte(binding))
	return h.Sum(nil)[:sealLen]
}

// candidates walks the indexed rows of a query from behind start, within the positions its times allow.
func (l *eventLog) candidates(q *query, start *position) iter.Seq[uint32] {
	rows := l.rows(q)
	first, last := l.span(q.from, q.to)
	at := func(n uint32, p position) int { return l.position(n).compare(p) }
	from, _ := slices.BinarySearchFunc(rows, first, at)
	if start != nil {
		behind, found := slices.BinarySearchFunc(rows, *start, at)
		if found {
			behind++
		}
		from = max(from, behind)
	}
	return func(yield func(uint32) bool) {
		for _, n := range rows[from:] {
			if l.position(n).compare(last) > 0 || !yield(n) {
				return
			}
		}
	}
}
