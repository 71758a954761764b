package sse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/sse"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type vector struct {
	Name   string  `json:"name"`
	Stream string  `json:"stream"`
	Limit  int     `json:"limit,omitzero"` // 0 for none
	Events []event `json:"events"`
	End    string  `json:"end"`     // how it ends: "end", "cut" or "too large"
	LastID string  `json:"last_id"` // to connect anew with
	Retry  int     `json:"retry"`   // milliseconds
}

type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data string `json:"data"`
}

func vectors(tb testing.TB) []vector {
	tb.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		tb.Fatal(err)
	}
	var all []vector
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		tb.Fatal(err)
	}
	return all
}

func readVector(r io.Reader, limit int) vector {
	s := sse.NewReader(r, limit)
	v := vector{Limit: limit, Events: []event{}}
	for {
		e, err := s.Next()
		if err != nil {
			v.End = ending(err)
			break
		}
		v.Events = append(v.Events, event{string(e.ID), string(e.Type), string(e.Data)})
	}
	v.LastID, v.Retry = s.LastID(), int(s.Retry()/time.Millisecond)
	return v
}

func ending(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "end"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut"
	case errors.Is(err, sse.ErrTooLarge) && errors.Is(err, api.ErrTooLarge):
		return "too large"
	}
	return err.Error()
}

// pieces reads a text in pieces that end at the cuts.
func pieces(text string, cuts ...int) io.Reader {
	readers := make([]io.Reader, 0, len(cuts)+1)
	from := 0
	for _, to := range cuts {
		readers = append(readers, strings.NewReader(text[from:to]))
		from = to
	}
	return io.MultiReader(append(readers, strings.NewReader(text[from:]))...)
}

// A stream is read the same wherever the network cuts it into pieces.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			check := func(how string, r io.Reader) {
				got := readVector(r, v.Limit)
				got.Name, got.Stream = v.Name, v.Stream
				if diff := cmp.Diff(v, got); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", how, diff)
				}
			}
			check("whole", strings.NewReader(v.Stream))
			check("byte by byte", iotest.OneByteReader(strings.NewReader(v.Stream)))
			check("with the end in the last read", iotest.DataErrReader(strings.NewReader(v.Stream)))
			for i := range len(v.Stream) + 1 {
				for j := i; j <= len(v.Stream); j++ {
					check(fmt.Sprintf("cut at %d and %d", i, j), pieces(v.Stream, i, j))
				}
			}
		})
	}
}

// Lines in any order are read the same at once, where most events are found in the
// buffer whole, as byte by byte, where none is.
func TestLinesInEveryOrder(t *testing.T) {
	t.Parallel()
	lines := []string{
		"", "data: a", "data:b", "data", "data:  c", "event: e", "event:f", "event: ", "id: 1", "id:2", "id: ",
		"id: \x00",
		"retry: 5", ": c", "x: y",
	}
	for _, end := range []string{"\n", "\r\n"} {
		for _, limit := range []int{0, 9} {
			all := len(lines)
			for n := range all * all * all {
				stream := "data: z\n\n" + lines[n%all] + end + lines[n/all%all] + end + lines[n/all/all] + end +
					"\ndata: y\n\n"
				want := readVector(iotest.OneByteReader(strings.NewReader(stream)), limit)
				if diff := cmp.Diff(want, readVector(strings.NewReader(stream), limit)); diff != "" {
					t.Fatalf("%q, limit %d (-byte by byte +at once):\n%s", stream, limit, diff)
				}
			}
		}
	}
}

// An event is returned with the last byte it needs, before the next arrives.
func TestEventIsReturnedAtItsLastByte(t *testing.T) {
	t.Parallel()
	for _, texts := range [][]string{
		{"data: a\n\n", "data: b\n\n"},
		{"data: a\r\r", "data: b\r\r"},
		{"data: a\r\n\r", "\ndata: b\r\n\r"}, // the last LF comes late
	} {
		r, w := io.Pipe()
		s := sse.NewReader(r, 0)
		for i, text := range texts {
			go io.WriteString(w, text)
			if e, err := s.Next(); err != nil || string(e.Data) != "ab"[i:i+1] {
				t.Errorf("%q: got %q, %v", text, e.Data, err)
			}
		}
		_ = w.Close()
	}
}

func TestAllocations(t *testing.T) { //nolint:paralleltest // counts what the process allocates
	for name, text := range map[string]string{
		"with a type": "id: 1\nevent: delta\ndata: a\n\n", "without": "data: a\n\n",
		"in lines": "data: a\ndata: b\n\n", "with CR": "id: 1\r\ndata: a\r\n\r\n",
	} {
		s := sse.NewReader(&endless{text: text}, 0)
		thousand := func() { // for a run counts whole allocations only
			for range 1000 {
				if _, err := s.Next(); err != nil {
					t.Fatal(err)
				}
			}
		}
		thousand()
		if n := testing.AllocsPerRun(10, thousand); n != 0 {
			t.Errorf("%s: %v allocations in a thousand events", name, n)
		}
	}
}

// Beside the largest event there is at most twice its size: the buffer it has
// outgrown, and the room it has not yet filled.
func TestMemory(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string][]int{
		"of one size":                      {2<<20 - 20, 2<<20 - 20, 2<<20 - 20},
		"that fill a buffer":               {2<<20 - 8, 1, 2<<20 + 1},
		"that begin within a buffer":       {3 << 20, 1800 << 10, 2300 << 10, 3 << 20},
		"that end close behind a buffer's": {4<<20 - 100, 50, 4<<20 + 100},
	}, func(t *testing.T, sizes []int) {
		var b strings.Builder
		for _, size := range sizes {
			b.WriteString("data: " + strings.Repeat("x", size) + "\n\n")
		}
		src := &measured{Reader: strings.NewReader(b.String()), sizes: sizes}
		if got := readVector(src, 0); len(got.Events) != len(sizes) || got.End != "end" {
			t.Errorf("%d events, then %s", len(got.Events), got.End)
		}
		const slack = 1 << 10
		if most := src.largest + src.outgrown; most > 3*slices.Max(sizes)+slack {
			t.Errorf("events up to %d bytes take %d", slices.Max(sizes), most)
		}
	})
}

// measured finds how large the buffer is that a stream is read into.
type measured struct {
	io.Reader
	sizes             []int // of the events
	read              int   // bytes of the first of them
	largest, outgrown int
}

func (m *measured) Read(p []byte) (int, error) {
	const frame = len("data: \n\n")
	for len(m.sizes) > 0 && m.read >= m.sizes[0]+frame {
		m.read -= m.sizes[0] + frame
		m.sizes = m.sizes[1:]
	}
	if size := m.read + len(p); size > m.largest {
		m.largest, m.outgrown = size, m.largest
	}
	n, err := m.Reader.Read(p[:min(len(p), 1400)])
	m.read += n
	return n, err
}

type packets struct {
	io.Reader
	size int
}

func (p *packets) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }

func TestLimit(t *testing.T) {
	t.Parallel()
	for over, end := range []string{"end", "too large"} {
		text := "data: " + strings.Repeat("x", sse.MaxEvent-len("data: ")+over) + "\n\n"
		if got := readVector(strings.NewReader(text), 0); len(got.Events) != 1-over || got.End != end {
			t.Errorf("%d bytes over the limit: %d events, then %s", over, len(got.Events), got.End)
		}
	}
	for name, text := range map[string]string{"a line": "x", "lines": "data: x\n", "a comment": ":x", "an ID": "id"} {
		if got := readVector(&endless{text: text}, 1<<16); got.End != "too large" || len(got.Events) != 0 {
			t.Errorf("%s without end ends with %s after %d events", name, got.End, len(got.Events))
		}
	}
}

type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		copied := copy(p[n:], e.text[e.at:])
		n, e.at = n+copied, (e.at+copied)%len(e.text)
	}
	return len(p), nil
}

// Streams that are longer than any buffer are read the same with every line end, and
// heartbeats do not count for the limit.
func TestLongStreams(t *testing.T) {
	t.Parallel()
	type row struct {
		stream string
		limit  int
		want   []event
	}
	big, beats := strings.Repeat("answer, ", 128<<10), strings.Repeat(": still there\n", 1<<17)
	tests := map[string]row{
		"big events": {strings.Repeat("data: "+big+"\n\n", 4), 0, slices.Repeat([]event{{"", "message", big}}, 4)},
		"heartbeats": {
			beats + "data: a\n" + beats + "data: b\n" + beats + "\n" + beats, 1 << 10, []event{{"", "message", "a\nb"}},
		},
	}
	for _, end := range []string{"\n", "\r", "\r\n"} {
		var b strings.Builder
		var want []event
		for i := range 5000 {
			data := strings.Repeat("x", i%97)
			fmt.Fprintf(&b, "data: %d%sdata: %s%s%s", i, end, data, end, end)
			want = append(want, event{"", "message", fmt.Sprintf("%d\n%s", i, data)})
		}
		tests[fmt.Sprintf("with %q", end)] = row{b.String(), 0, want}
	}
	table.Each(t, tests, func(t *testing.T, test row) {
		got := readVector(&packets{strings.NewReader(test.stream), 1400}, test.limit)
		if got.End != "end" || !slices.Equal(got.Events, test.want) {
			t.Errorf("%d events, then %s", len(got.Events), got.End)
		}
	})
}

// An error of the network is returned unchanged, after the events before it.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken))
	s := sse.NewReader(r, 0)
	if e, err := s.Next(); err != nil || string(e.Data) != "a" {
		t.Errorf("got %q, %v", e.Data, err)
	}
	for range 2 {
		if _, err := s.Next(); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := sse.NewReader(lazy{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("of a reader that reads nothing: %v", err)
	}
}

type lazy struct{}

func (lazy) Read([]byte) (int, error) { return 0, nil }

// Any input is read without a panic, and the same however it is cut.
func FuzzReader(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Stream, len(v.Stream)/2, len(v.Stream)/3)
	}
	f.Fuzz(func(t *testing.T, stream string, i, j int) {
		const limit = 64
		want := readVector(strings.NewReader(stream), limit)
		if want.End != "end" && want.End != "cut" && want.End != "too large" {
			t.Fatal(want.End)
		}
		n := len(stream) + 1
		i, j = (i%n+n)%n, (j%n+n)%n
		for how, r := range map[string]io.Reader{
			"byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
			"in pieces":    pieces(stream, min(i, j), max(i, j)),
		} {
			if diff := cmp.Diff(want, readVector(r, limit)); diff != "" {
				t.Fatalf("%s (-whole +got):\n%s", how, diff)
			}
		}
		for _, e := range want.Events {
			if len(e.Data) > limit || e.Type == "" || strings.ContainsAny(e.ID, "\r\n\x00") ||
				strings.ContainsAny(e.Type, "\r\n") {
				t.Fatalf("an impossible event: %q", e)
			}
		}
	})
}
