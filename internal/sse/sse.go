// Package sse reads event streams as the WHATWG defines them.
package sse

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/fastio-go/fastio/api"
)

// MaxEvent is how many bytes an event may have unless a limit says otherwise.
const MaxEvent = 16 << 20

// ErrTooLarge ends a stream with an event over the limit.
var ErrTooLarge = fmt.Errorf("an event of the stream outgrows its limit: %w", api.ErrTooLarge)

// Event is one event of a stream. Its slices are good until the next one is read.
type Event struct {
	ID   []byte // the last one the stream has set, by this event or an earlier one
	Type []byte // "message" if the stream does not say
	Data []byte // its lines, joined by line feeds
}

const (
	firstSize = 8 << 10
	keptSize  = 1 << 20 // a larger buffer goes with the event that needed it
	smallSize = 256 << 10
	leastRoom = 512 // to read into
	idleReads = 100 // reads in a row that may bring nothing
)

// Reader reads events.
//
// The data of an event stays in the buffer it arrived in: further lines of it move
// up to the first. No byte is searched twice, however small the reads are, and an
// event is returned with the first byte of the line end that completes it.
type Reader struct {
	src   io.Reader
	limit int
	err   error // of src, returned when the buffer is used up

	buf      []byte
	pos, end int // what is unread
	lf, cr   finder
	skipLF   bool // the line before ended in CR
	begun    bool // the first line, and with it a byte order mark, is read

	hasData  bool
	from, to int    // the data of the event so far, before pos
	kind     []byte // its type so far, as it arrived
	inEvent  bool   // there is a field that no blank line has followed yet

	lastID   []byte // the ID that was set before the last blank line, as it arrived
	newID    []byte // the one that was set since then
	hasNewID bool   // newID was set, perhaps to an empty ID
	retry    time.Duration
	event    Event // the last one

	kept struct{ kind, lastID, newID []byte } // where those are when what arrived is overwritten
}

// NewReader returns a Reader of events that have at most limit bytes, 0 for
// [MaxEvent]: in the data, the type, the ID and the line being read together.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxEvent
	}
	return &Reader{src: r, limit: limit, lf: finder{char: '\n'}, cr: finder{char: '\r'}}
}

// LastID returns the last ID that the stream has set, "" for none. One in an event
// that was cut off does not count.
func (r *Reader) LastID() string { return string(r.lastID) }

// Retry returns how long the server wants a client to wait before it connects
// anew, 0 if it does not say.
func (r *Reader) Retry() time.Duration { return r.retry }

// Next returns the next event, which overwrites the last. A stream ends in [io.EOF],
// one that is cut within an event in [io.ErrUnexpectedEOF].
func (r *Reader) Next() (*Event, error) {
	r.kind, r.hasData = nil, false
	r.shrink()
	if r.readPlain() { // as nearly every event can be read, in less time
		return &r.event, nil
	}
	for {
		line, err := r.nextLine()
		if err != nil {
			if err == io.EOF && (r.inEvent || r.pos < r.end) { //nolint:errorlint // as readers return it
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(line) > 0 {
			r.readField(line)
			continue
		}
		r.inEvent = false
		if r.hasNewID {
			r.lastID, r.newID, r.hasNewID = r.newID, nil, false
		}
		if !r.hasData { // then it is no event
			r.kind = nil
			continue
		}
		if len(r.kind) == 0 {
			r.kind = r.message()
		}
		r.event = Event{ID: r.lastID, Type: r.kind, Data: r.buf[r.from:r.to:r.to]}
		return &r.event, nil
	}
}

// readPlain reads an event of the simplest form, as nearly all are, faster than Next
// would line by line: the event is in the buffer to its last byte, without a CR, with
// one line of data, and with a blank before each value. For any other event, readPlain
// reads nothing and reports false.
func (r *Reader) readPlain() bool {
	mayHaveCR := r.cr.at < r.end // else the search for one (r.cr) has reached the end of the buffer
	if r.skipLF || mayHaveCR {
		return false
	}
	var id, kind []byte
	hasData, from, to := false, 0, 0
	pos := r.pos
	for {
		n := bytes.IndexByte(r.buf[pos:r.end], '\n')
		if n < 0 {
			return false
		}
		if n == 0 {
			break
		}
		switch line := r.buf[pos : pos+n]; {
		case !hasData && n >= len("data: ") && string(line[:len("data: ")]) == "data: ":
			hasData, from, to = true, pos+len("data: "), pos+n
		case n > len("event: ") && string(line[:len("event: ")]) == "event: ":
			kind = line[len("event: "):]
		case n > len("id: ") && string(line[:len("id: ")]) == "id: " && bytes.IndexByte(line, 0) < 0:
			id = line[len("id: "):]
		default: // such as a second line of data
			return false
		}
		pos += n + 1
	}
	if !hasData || pos-r.pos > r.limit {
		return false
	}
	if kind == nil {
		kind = r.message() // the default type
	}
	if id != nil {
		r.lastID = id // keepFields copies it before the buffer changes
	}
	r.pos, r.from, r.to = pos+1, from, to
	r.event = Event{ID: r.lastID, Type: kind, Data: r.buf[from:to:to]}
	return true
}

// message is the type of an event that has none.
func (r *Reader) message() []byte {
	r.kept.kind = append(r.kept.kind[:0], "message"...)
	return r.kept.kind
}

// readField reads one line of an event: data, event, id or retry. Other fields and
// comments are ignored, and so is an id with a NUL, as the standard requires.
func (r *Reader) readField(line []byte) {
	if line[0] == ':' { // a comment
		return
	}
	r.inEvent = true
	switch line[0] {
	case 'd':
		if value, ok := fieldValue(line, "data"); ok {
			r.data(value)
		}
	case 'e':
		if value, ok := fieldValue(line, "event"); ok {
			r.kind = value
		}
	case 'i':
		if value, ok := fieldValue(line, "id"); ok && bytes.IndexByte(value, 0) < 0 {
			r.newID, r.hasNewID = value, true
		}
	case 'r':
		if value, ok := fieldValue(line, "retry"); ok {
			r.setRetry(value)
		}
	}
}

// fieldValue returns the value of a line, and false if the line is not the field of that
// name. One blank after the colon does not belong to the value.
func fieldValue(line []byte, name string) (value []byte, ok bool) {
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return nil, false
	}
	value = line[len(name):]
	if len(value) == 0 {
		return value, true
	}
	if value[0] != ':' {
		return nil, false
	}
	value = value[1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return value, true
}

// data adds the value of a line to the data of the event, which are buf[from:to]. The line
// is the last that was read. Its end is the byte at pos-1: an LF, or a CR, whose LF is skipped
// later. The first value stays where it is in buf. A further one is copied behind the data,
// over bytes that are not needed any more.
func (r *Reader) data(line []byte) {
	if !r.hasData {
		end := r.pos - 1
		r.hasData, r.from, r.to = true, end-len(line), end
		return
	}
	r.keepFields() // the id and the type of the event may be among the bytes that are overwritten
	r.buf[r.to] = '\n'
	r.to += 1 + copy(r.buf[r.to+1:], line)
}

// setRetry sets the time to wait before a reconnect, if value is a number of
// milliseconds.
func (r *Reader) setRetry(value []byte) {
	const most = 9 // digits, or 11 days
	if len(value) == 0 || len(value) > most {
		return
	}
	n := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return
		}
		n = 10*n + int(c-'0')
	}
	r.retry = time.Duration(n) * time.Millisecond
}

// nextLine returns the next line without its end, which is LF, CR or both, and without a
// byte order mark before the first one. An LF after a CR is skipped later, so that a
// line does not wait for the next byte.
func (r *Reader) nextLine() ([]byte, error) {
	for {
		if r.skipLF && r.pos < r.end {
			if r.buf[r.pos] == '\n' {
				r.pos++
			}
			r.skipLF = false
		}
		at := min(r.lf.find(r.buf, r.pos, r.end), r.cr.find(r.buf, r.pos, r.end))
		if at-r.pos+r.held() > r.limit {
			return nil, ErrTooLarge
		}
		if at < r.end {
			line := r.buf[r.pos:at]
			r.skipLF = r.buf[at] == '\r'
			r.pos = at + 1
			if !r.begun {
				r.begun = true
				line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
			}
			return line, nil
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// held returns the size of what has been read of the current event.
func (r *Reader) held() int {
	n := len(r.kind) + len(r.newID)
	if r.hasData {
		n += r.to - r.from
	}
	return n
}

// fill reads more from the source into the buffer. An error that comes with bytes is
// returned by the next call; a source that returns neither for idleReads times has
// failed.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.end == len(r.buf) {
		r.makeRoom()
	}
	for range idleReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// makeRoom moves what is still needed to the front of the buffer. If less than leastRoom
// would then be free, it takes a buffer that is twice as large: in a nearly full one, an
// event would be moved again for every few bytes.
func (r *Reader) makeRoom() {
	var data []byte
	if r.hasData {
		data = r.buf[r.from:r.to]
	}
	to := r.buf
	if need := len(data) + r.end - r.pos; need > len(r.buf)-leastRoom {
		to = make([]byte, max(firstSize, 2*len(r.buf)))
	}
	r.moveTo(to, data)
}

// shrink replaces a large buffer by a small one when events are small again: when the data of
// the last event, from r.from on, and the unread bytes behind them would fit into it. The data
// themselves are no longer needed.
func (r *Reader) shrink() {
	if len(r.buf) > keptSize && r.end-r.from < smallSize {
		var noData []byte
		r.moveTo(make([]byte, smallSize), noData)
	}
}

// moveTo copies the data of the event, then the unread bytes, to the front of buf, which
// becomes the buffer. If buf is the buffer already, nothing is overwritten before it is
// copied, because the data are before the unread bytes.
func (r *Reader) moveTo(buf, data []byte) {
	r.keepFields() // they may be in the buffer that is overwritten or given up
	n := copy(buf, data)
	m := copy(buf[n:], r.buf[r.pos:r.end])
	shift := r.pos - n // the unread bytes, and the places where their search goes on, move to the front by so much
	r.lf.at -= shift
	r.cr.at -= shift
	r.buf = buf
	r.from, r.to = 0, n   // the data
	r.pos, r.end = n, n+m // the unread bytes
}

// keepFields copies the type and the IDs, which may be in the buffer, before the buffer
// changes. The order matters: lastID may still be in the memory of kept.newID, so it is
// copied before the copy of newID overwrites that.
func (r *Reader) keepFields() {
	r.kept.kind = append(r.kept.kind[:0], r.kind...)
	r.kept.lastID = append(r.kept.lastID[:0], r.lastID...)
	r.kept.newID = append(r.kept.newID[:0], r.newID...)
	r.kind, r.lastID, r.newID = r.kept.kind, r.kept.lastID, r.kept.newID
}

// finder remembers where it has looked for a character.
type finder struct {
	char byte
	at   int // where the character is or, as long as it is not found, where to go on
}

// find returns the first place of the character in buf[from:to], or to if there is none. It
// searches no byte twice: earlier calls have found the character nowhere before f.at.
func (f *finder) find(buf []byte, from, to int) int {
	f.at = max(f.at, from)
	if i := bytes.IndexByte(buf[f.at:to], f.char); i >= 0 {
		f.at += i
	} else {
		f.at = to
	}
	return f.at
}
