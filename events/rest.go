package events

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/fastio-go/fastio/api"
)

// rest is the part of a pass that is not yet searched, after a refused cursor. It is
// searched in slices of creation time, from Low up or from High down; the last slice is all
// that is left. An older part may follow, as a rest of its own. A slice that has ended is
// complete, whatever the order of its pages. The zero rest is all of the pass, in one slice.
// Times are Unix seconds.
type rest struct {
	Low   int64 `json:"low,omitzero"`   // the first second; 0 for the start of the pass
	High  int64 `json:"high,omitzero"`  // the last second; 0 for the end of the pass
	Older int64 `json:"older,omitzero"` // the last second of a part that is searched after this one; 0 for none
	Up    bool  `json:"up,omitzero"`    // slices follow each other from Low to High, and not from High to Low
	Width int64 `json:"width,omitzero"` // seconds of the current slice; 0 for all of the rest
	Fit   int   `json:"fit,omitzero"`   // events that a slice may have, as far as known
}

const wholeRest = 0 // the Width of a slice that is all of the rest

// slice returns the first and the last second of the current slice of time. A low of 0
// stands for the start of the pass, and a high of 0 for its end.
func (r *rest) slice() (low, high int64) {
	switch {
	case r.Width == wholeRest:
		return r.Low, r.High
	case r.Up:
		return r.Low, r.Low + r.Width - 1
	default:
		return r.High - r.Width + 1, r.High
	}
}

// shrink makes the current slice of time at most half as large, because the server has
// refused to read it to the end; s is what its pages have shown before that. If the slice is
// the whole rest, it becomes half of what these pages have covered. The pass lasts from the
// time from, which may be zero, to the time to. shrink returns false if the slice is a single
// second, and cannot be smaller.
func (r *rest) shrink(s seen, from, to time.Time) bool {
	isFirstRefusal := r.High == 0
	if isFirstRefusal {
		r.Low, r.High = max(unix(from), 0), unix(to)
	}
	isWhole := r.Width == wholeRest
	if isWhole { // there are no smaller slices yet: choose whether they will go up or down
		r.chooseOrder(s)
	}
	low, high := r.slice()
	width := (high - low + 1) / 2
	if width < 1 {
		return false
	}
	if isWhole {
		width = min(width, max(r.covered(s)/2, 1))
	}
	r.Width = width
	r.Fit = s.count // so many events were read before the refusal: a slice may have as many
	return true
}

// covered returns how many seconds of the rest, which is what a pass has still to search,
// were read before the server refused to read on: up from Low to the newest event, or down
// from High to the oldest one. The second of that event is not counted, because others of it
// may be on the next page.
func (r *rest) covered(s seen) int64 {
	switch {
	case r.Up:
		return s.newest - r.Low
	case s.oldest > 0:
		return r.High - s.oldest
	}
	return r.High - r.Low + 1 // no event had a time: count the whole rest, which shrink then halves
}

// chooseOrder chooses whether the slices of the rest, which is what a pass has still to
// search, go up from Low or down from High: up if the server has listed older events first
// before it refused to read on, else down. So the first slices find these events again while
// the walk still remembers their IDs, as it has just delivered them: they are not delivered
// twice. That only saves deliveries; either order is complete. Without an event inside the
// rest, the order stays as it is.
func (r *rest) chooseOrder(s seen) {
	isInside := s.oldest > r.Low && s.oldest < r.High
	if !isInside {
		return
	}
	r.Up = s.last > s.first
	hasBegin := r.Low > 0
	if r.Up && !hasBegin { // slices must not go up from 1970: they begin at the oldest listed event
		r.Older, r.Low = s.oldest-1, s.oldest // events older than that are searched after the slices
	}
}

// nextSlice moves on from a slice of time that has ended after count events, and reports
// whether there is another slice. The last slice is all that is left of the rest; after it
// comes the older part, if there is one, as one slice. If a slice had at most a quarter of
// the events that fit, the following ones are twice as wide.
func (r *rest) nextSlice(count int) bool {
	if r.Width == wholeRest {
		*r = rest{High: r.Older, Fit: r.Fit} // one slice, because Width is zero (wholeRest)
		hasOlder := r.High > 0
		return hasOlder
	}
	if r.Up {
		r.Low += r.Width
	} else {
		r.High -= r.Width
	}
	if 4*count <= r.Fit {
		r.Width *= 2
	}
	r.Fit += r.Fit/8 + 1 // more may fit: it began as the number of events that were read before a refusal
	secondsLeft := r.High - r.Low + 1
	if r.Width >= secondsLeft {
		r.Width = wholeRest
	}
	return true
}

var errRest = errors.New("invalid rest of a pass")

// checkDecoded returns an error if r, decoded from a cursor, has impossible values: the cursor
// was changed.
func (r *rest) checkDecoded() error {
	const latest = 1 << 40 // about the year 36000, so that no sum overflows
	low, high := r.slice()
	badSlice := low < 0 || high < low || high > latest
	badOlder := r.Older < 0 || r.Older > latest
	badWidth := r.Width < 0 || r.Width > r.High-r.Low+1 // the slice is wider than the rest
	badFit := r.Fit < 0
	if badSlice || badOlder || badWidth || badFit {
		return errRest
	}
	return nil
}

// seen is what the pages of a slice have shown. Times are Unix seconds.
type seen struct {
	pages, count                int
	first, last, oldest, newest int64 // creation of events
}

// add counts an event and notes its time of creation.
func (s *seen) add(e *Event) {
	at := unix(e.Created.Time)
	s.count++
	if s.count == 1 {
		s.first, s.oldest, s.newest = at, at, at
	}
	s.last, s.oldest, s.newest = at, min(s.oldest, at), max(s.newest, at)
}

// unix returns t in Unix seconds, 0 for the zero time.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// hash returns the FNV-1a hash of an event ID, which is the same for all its spellings and
// in all processes.
func hash(id api.OpaqueID) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(id.Plain()) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// hashes are those of event IDs. As JSON they are base64.
type hashes []uint64

// MarshalText encodes the hashes as base64 of 8 bytes each.
func (h hashes) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 8*len(h))
	for _, one := range h {
		b = binary.LittleEndian.AppendUint64(b, one)
	}
	return base64.RawStdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText decodes what MarshalText encodes: hashes of 8 bytes each, in base64.
func (h *hashes) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil || len(b)%8 != 0 {
		return errors.Join(err, errHashes)
	}
	for *h = nil; len(b) > 0; b = b[8:] {
		*h = append(*h, binary.LittleEndian.Uint64(b))
	}
	return nil
}

var errHashes = errors.New("invalid hashes of event IDs")

// remembered is the number of events in a set. Each takes about 30 bytes.
const remembered = 20_000

// ids is a set of the last events that were added, by the hashes of their IDs.
type ids struct {
	set  map[uint64]struct{}
	ring hashes
	next int // index of the oldest in a full ring
}

// newIDs returns a set of the given hashes.
func newIDs(all hashes) ids {
	s := ids{set: map[uint64]struct{}{}}
	for _, id := range all {
		s.add(id)
	}
	return s
}

// add adds an ID to the set, in place of the oldest one if the set is full, and
// reports whether it is new.
func (s *ids) add(id uint64) bool {
	if _, known := s.set[id]; known {
		return false
	}
	s.set[id] = struct{}{}
	if len(s.ring) < remembered {
		s.ring = append(s.ring, id)
		return true
	}
	delete(s.set, s.ring[s.next])
	s.ring[s.next] = id
	s.next = (s.next + 1) % remembered
	return true
}

// removeLast removes the ID that was added last.
func (s *ids) removeLast(id uint64) {
	delete(s.set, id)
	// If next is 0, the ID is at the end of the ring: add has appended it to a ring that is not full, or has put it in
	// the last place of a full one. If not, the place of the ID stays in use until another ID overwrites it.
	isAtEnd := s.next == 0 && len(s.ring) > 0
	if isAtEnd {
		s.ring = s.ring[:len(s.ring)-1]
	}
}
