package graph_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/blob"
	"github.com/fastio-go/fastio/internal/emulator/graph"
)

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * s.side }

type key struct {
	name string
	n    [2]uint8
}

// world has a value of each kind.
type world struct {
	Mu      sync.Mutex
	wiring  func()
	text    string
	numbers []int8
	none    []string
	empty   []string
	array   [3]bool
	bytes   []byte
	ratio   float64
	at      time.Time
	next    *world
	same    *world
	shared  map[string]int
	again   map[string]int
	by      map[key]*square
	shapes  []shape
	any     any
	content *blob.Blob
}

func newCodec() *graph.Codec {
	return graph.New([]any{square{}}, map[string]string{
		"sync.Mutex": "no state", "graph_test.world.wiring": "New sets it",
	}, &world{})
}

// full returns a world without a zero field.
func full(tb testing.TB) *world {
	tb.Helper()
	content, err := blob.New(1 << 20).Keep([]byte("content"))
	if err != nil {
		tb.Fatal(err)
	}
	shared := map[string]int{"b": 2, "a": 1}
	w := &world{
		text: "plain", numbers: []int8{-128, 0, 127}, empty: []string{}, array: [3]bool{true, false, true},
		bytes: []byte{0, 255}, ratio: math.Pi, at: time.Date(2026, 1, 31, 12, 0, 0, 1, time.UTC),
		shared: shared, again: shared, by: map[key]*square{{"b", [2]uint8{1, 2}}: {3}, {"b", [2]uint8{1, 1}}: nil},
		shapes: []shape{square{4}, nil},
		any: map[string]any{
			"list": []any{1.5, "plain", nil, true}, "quoted": "\"\\\n\u2028ü<", "long": strings.Repeat("long ", 1000),
			"broken": "\xff",
		},
		content: content,
	}
	w.next = &world{same: w, text: "plain", at: w.at}
	w.next.next = w.next
	w.same = w
	return w
}

// encode returns the encoded value, and a function that returns its contents.
func encode(tb testing.TB, w *world) (text []byte, open func(name string) (*blob.Blob, error)) {
	tb.Helper()
	var b bytes.Buffer
	contents, err := newCodec().Encode(&b, w)
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes(), func(name string) (*blob.Blob, error) {
		c := contents[name]
		if c == nil {
			return nil, errors.New("there is no such content")
		}
		return blob.New(1 << 20).Read(io.NewSectionReader(c, 0, c.Size()))
	}
}

func TestDecodedGraphIsEqual(t *testing.T) {
	t.Parallel()
	if problems := newCodec().Check(); problems != nil {
		t.Error(problems)
	}
	w := full(t)
	text, open := encode(t, w)
	got := &world{wiring: func() {}, text: "old"}
	_, commit, err := newCodec().Decode(bufio.NewReader(bytes.NewReader(text)), open, got)
	if err != nil {
		t.Fatal(err)
	}
	if got.text != "old" {
		t.Error("it was changed before commit")
	}
	commit()
	if got.wiring == nil {
		t.Error("commit has changed an excluded field")
	}
	if got.same != got || got.next.same != got || got.next.next != got.next {
		t.Error("a pointer leads elsewhere")
	}
	got.again["c"] = 3
	if got.shared["c"] != 3 || got.none != nil || got.empty == nil {
		t.Errorf("maps %v and %v, lists %#v and %#v", got.shared, got.again, got.none, got.empty)
	}
	delete(got.again, "c")
	got.wiring = nil
	if again, _ := encode(t, got); !bytes.Equal(again, text) {
		t.Errorf("got  %s\nwant %s", again, text)
	}
	for _, pair := range [][2]any{
		{got.text, w.text},
		{got.numbers, w.numbers},
		{got.array, w.array},
		{got.bytes, w.bytes},
		{got.ratio, w.ratio},
		{got.at, w.at},
		{got.shared, w.shared},
		{got.by, w.by},
		{got.shapes, w.shapes},
		{got.any, w.any},
		{got.content.Sum(), w.content.Sum()},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("got %#v, want %#v", pair[0], pair[1])
		}
	}
}

func TestTornGraphIsAnError(t *testing.T) {
	t.Parallel()
	text, open := encode(t, full(t))
	for n := range text {
		_, _, err := newCodec().Decode(bufio.NewReader(bytes.NewReader(text[:n])), open, &world{})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

func TestWhatCannotBeHeldIsAnError(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]*world{
		"graph_test.world.any: the interface holds the type struct {}, which is not registered": {any: struct{}{}},
		"graph_test.world.ratio: json: unsupported value: NaN":                                  {ratio: math.NaN()},
		"graph_test.world.at: Time.MarshalText: year outside of range [0,9999]": {
			at: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		},
	} {
		if _, err := newCodec().Encode(io.Discard, w); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

type odd struct {
	Call    func()
	Live    chan int
	Word    uintptr
	ByShape map[shape]int
	List    []square
	One     *square
	Foreign bytes.Buffer
}

func TestCheckNamesWhatCannotBeHeld(t *testing.T) {
	t.Parallel()
	want := []string{
		"graph_test.odd.ByShape has keys of type graph_test.shape",
		"graph_test.odd.Call is of type func()",
		"graph_test.odd.Foreign is of type bytes.Buffer of another module",
		"graph_test.odd.Live is of type chan int",
		"graph_test.odd.One leads to a graph_test.square, which graph_test.odd.List contains",
		"graph_test.odd.Word is of type uintptr",
		"graph_test.world.gone is excluded and does not occur",
	}
	got := graph.New(nil, map[string]string{"graph_test.world.gone": "it does not exist"}, &odd{}).Check()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestVersionFollowsFromTheEncodedFields(t *testing.T) {
	t.Parallel()
	own := newCodec().Version()
	if again := newCodec().Version(); again != own {
		t.Errorf("%s, then %s", own, again)
	}
	less := graph.New([]any{square{}}, map[string]string{
		"sync.Mutex": "no state", "graph_test.world.wiring": "New sets it", "graph_test.world.text": "another version",
	}, &world{})
	if less.Version() == own {
		t.Error("a graph with another field has the same version")
	}
}

func FuzzDecode(f *testing.F) {
	text, open := encode(f, full(f))
	f.Add(text)
	f.Add([]byte("[\n[[1]]]"))
	c := newCodec()
	f.Fuzz(func(t *testing.T, text []byte) {
		w := &world{}
		_, commit, err := c.Decode(bufio.NewReader(bytes.NewReader(text)), open, w)
		if err != nil {
			return
		}
		commit()
		if _, err := c.Encode(io.Discard, w); err != nil {
			t.Errorf("what was decoded cannot be encoded: %v", err)
		}
	})
}
