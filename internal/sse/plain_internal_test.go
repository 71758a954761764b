package sse

import (
	"io"
	"strings"
	"testing"
)

// The fast path reads the events that nearly all streams consist of, and leaves every
// other to the slow one: what it left in place is read the same there.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"data: a\n\n": true, "data: \n\n": true, "event: e\ndata: a\nid: 7\n\n": true, "id: 7\nevent: e\ndata: a\n\n": true,
		"data: abcdefghijklmnopq\n\n": true, "data: abcdefghijklmnopqr\n\n": false, // over the limit with its line end
		"data: a\ndata: b\n\n": false, "data:a\n\n": false, "data\n\n": false, "event: \ndata: a\n\n": false,
		"id: \ndata: a\n\n": false, "id: a\x00\ndata: a\n\n": false, ": c\ndata: a\n\n": false,
		"retry: 1\ndata: a\n\n": false,
		"event: e\n\n":          false, "\n": false, "": false,
		"data: a\r\n\r\n": false, "data: a\n\r\n": false, "data: a\n": false, "data: a": false,
		"data: a\n\ndata: b\r\n\r\n": false,
	} {
		const first = "data: 0\n\n"
		const limit = 24
		fast, slow := NewReader(strings.NewReader(first+text), limit), NewReader(strings.NewReader(first+text), limit)
		if _, err := fast.Next(); err != nil {
			t.Fatal(err)
		}
		_, _ = slow.Next()
		pos := fast.pos
		if got := fast.readPlain(); got != want {
			t.Errorf("%q is plain: %t, want %t", text, got, want)
		}
		if !want {
			if fast.pos != pos || fast.lastID != nil {
				t.Errorf("%q: the reader is at %d with the ID %q", text, fast.pos, fast.lastID)
			}
			continue
		}
		slow.cr.at = -1 // so that there may be a CR
		e, err := slow.Next()
		if err != nil || string(e.ID) != string(fast.event.ID) || string(e.Type) != string(fast.event.Type) ||
			string(e.Data) != string(fast.event.Data) || slow.pos != fast.pos {
			t.Errorf("%q: %+v at %d, slowly %+v at %d, %v", text, fast.event, fast.pos, e, slow.pos, err)
		}
	}
}

func TestIDWithNULIsIgnored(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"\x00", "\x00a", "a\x00", "a\x00b"} {
		r := NewReader(strings.NewReader("id: 1\ndata: 0\n\nid: "+id+"\ndata: 1\n\nid:"+id+"\ndata: 2\n\n"), 0)
		for range 3 {
			if e, err := r.Next(); err != nil || string(e.ID) != "1" {
				t.Errorf("%q: %+v, %v", id, e, err)
			}
		}
	}
}

// A buffer that is full moves its content or doubles; one over a MiB shrinks again after
// a small event.
func TestBufferSize(t *testing.T) {
	t.Parallel()
	const frame = len("data: \n\n")
	for _, test := range []struct {
		sizes []int // of the data of each event
		want  int
	}{
		{[]int{leastRoom - frame, firstSize - frame}, firstSize},
		{[]int{leastRoom - frame - 1, firstSize - frame}, 2 * firstSize},
		{[]int{600 << 10, 1}, keptSize},
		{[]int{keptSize, 1}, smallSize},
		{[]int{keptSize, smallSize - 3}, smallSize},
		{[]int{keptSize, smallSize - 2}, 2 * keptSize},
	} {
		var stream strings.Builder
		for _, size := range test.sizes {
			stream.WriteString("data: " + strings.Repeat("x", size) + "\n\n")
		}
		r := NewReader(strings.NewReader(stream.String()), 0)
		for _, err := r.Next(); err == nil; {
			_, err = r.Next()
		}
		if len(r.buf) != test.want {
			t.Errorf("after events of %v bytes the buffer has %d bytes, want %d", test.sizes, len(r.buf), test.want)
		}
	}
}

func TestMovedBytesAreNotSearchedAgain(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader("data: a\ndata: b"), 0)
	if _, err := r.Next(); err != io.ErrUnexpectedEOF { //nolint:errorlint // as readers return it
		t.Fatal(err)
	}
	r.makeRoom()
	if r.lf.at != r.end || r.cr.at != r.end {
		t.Errorf("the search goes on at %d and %d of %d bytes", r.lf.at, r.cr.at, r.end)
	}
}
