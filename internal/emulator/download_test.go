package emulator_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"testing/iotest"
	"time"

	"github.com/fastio-go/fastio/internal/emulator"
)

// read asks for the bytes of a node, with the header given.
func (b *board) read(t *testing.T, n emulator.Node, header ...string) reply {
	t.Helper()
	return b.call(t, b.ben, http.MethodGet, "/workspace/"+b.room.ID+"/storage/"+n.ID+"/read/", nil, header...)
}

func TestBytesAreServedByRange(t *testing.T) {
	t.Parallel()
	b := newBoard()
	n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "Плат \"1\".txt", Content: "0123456789"})
	tag := `"` + n.Versions[0].ID + `"`
	tests := map[string]struct {
		header     []string
		status     int
		body, part string
	}{
		"everything":                  {nil, 200, "0123456789", ""},
		"a range":                     {[]string{"Range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		"a range to the end":          {[]string{"Range", "bytes=7-"}, 206, "789", "bytes 7-9/10"},
		"a range from the end":        {[]string{"Range", "bytes=-3"}, 206, "789", "bytes 7-9/10"},
		"a range beyond the end":      {[]string{"Range", "bytes=8-99"}, 206, "89", "bytes 8-9/10"},
		"a range behind the end":      {[]string{"Range", "bytes=10-"}, 416, "", "bytes */10"},
		"a range nobody understands":  {[]string{"Range", "lines=1-2"}, 416, "", ""},
		"two ranges":                  {[]string{"Range", "bytes=0-1,4-5"}, 200, "0123456789", ""},
		"a range of the same version": {[]string{"Range", "bytes=7-", "If-Range", tag}, 206, "789", "bytes 7-9/10"},
		"a range of another version":  {[]string{"Range", "bytes=7-", "If-Range", `"other"`}, 200, "0123456789", ""},
		"what the caller has":         {[]string{"If-None-Match", tag}, 304, "", ""},
		"what has to be another's":    {[]string{"If-Match", `"other"`}, 412, "", ""},
	}
	for name, test := range tests {
		p := b.read(t, n, test.header...)
		if p.Status != test.status || p.Header.Get("Content-Range") != test.part {
			t.Errorf("%s: %d %v", name, p.Status, p.Header)
		}
		if test.status < 300 && (p.Body != test.body || p.Header.Get("Content-Length") != strconv.Itoa(len(test.body))) {
			t.Errorf("%s: %q %v", name, p.Body, p.Header)
		}
		if test.status == 416 && p.code() != 199701 {
			t.Errorf("%s: %s", name, p.Body)
		}
	}
	p := b.read(t, n)
	for name, want := range map[string]string{
		"Etag": tag, "Accept-Ranges": "bytes", "Content-Type": "text/plain",
		"Content-Disposition": `attachment; filename*=utf-8''%D0%9F%D0%BB%D0%B0%D1%82%20%221%22.txt`,
	} {
		if got := p.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestBytesAreGenerated(t *testing.T) {
	t.Parallel()
	b := newBoard()
	n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "film.mp4", Versions: []emulator.Version{{Size: 5000}, {Size: 1 << 17}}})
	now, before := n.Versions[1], n.Versions[0]
	whole, err := io.ReadAll(now.Open())
	if err != nil || len(whole) != 1<<17 {
		t.Fatal(len(whole), err)
	}
	for range 3 {
		if err := iotest.TestReader(now.Open(), whole); err != nil {
			t.Error(err)
		}
	}
	older, err := io.ReadAll(before.Open())
	if err != nil || len(older) != 5000 || bytes.Equal(older, whole[:5000]) {
		t.Error("versions share their bytes", err)
	}
	if p := b.read(t, n); p.Body != string(whole) {
		t.Errorf("%d bytes of others were served", len(p.Body))
	}
	if p := b.read(t, n, "Range", "bytes=70001-70013"); p.Body != string(whole[70001:70014]) {
		t.Errorf("%x, want %x", p.Body, whole[70001:70014])
	}
	if p := b.as(t, b.ben, http.MethodGet, "/workspace/"+b.room.ID+"/storage/"+n.ID+"/read/", "version_id", before.ID); p.Body != string(older) {
		t.Error("the older version has other bytes")
	}
}

//nolint:paralleltest // the memory of the whole process is looked at
func TestHugeFilesTakeNoMemory(t *testing.T) {
	const size, part, most = 10 << 30, 64 << 20, 8 << 20
	b := newBoard()
	n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "film.mp4", Size: size})
	r := request(t.Context(), b.world, http.MethodGet, "/workspace/"+b.room.ID+"/storage/"+n.ID+"/read/")
	r.Header.Set("Range", "bytes=-"+strconv.Itoa(part))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := &counter{}
	b.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; w.n != part || taken > most {
		t.Errorf("%d bytes were served, and took %d of memory", w.n, taken)
	}
}

// counter is an answer that nobody keeps.
type counter struct {
	header http.Header
	n      int64
}

func (w *counter) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *counter) WriteHeader(int) {}

func (w *counter) Write(b []byte) (int, error) {
	w.n += int64(len(b))
	return len(b), nil
}

func TestDownloadsBreakOffAnywhere(t *testing.T) {
	t.Parallel()
	roads(t, emulator.Options{}, func(t *testing.T, w *world, c doer) {
		t.Helper()
		const size = 300_000
		n := w.AddNode(emulator.Node{Profile: w.room.ID, Name: "film.mp4", Size: size})
		whole, err := io.ReadAll(n.Versions[0].Open())
		if err != nil {
			t.Fatal(err)
		}
		path := "/workspace/" + w.room.ID + "/storage/" + n.ID + "/read/"
		for _, from := range []int{0, 70_001} {
			for _, after := range []int{1, 65535, 65536, 65537, size - from - 1} {
				for name, fault := range map[string]emulator.Fault{"cut": {Cut: int64(after)}, "truncated": {Truncate: int64(after)}, "stalled": {Stall: int64(after)}} {
					fault.Op, fault.Count = "ai.Notes.Read", 1
					w.Fail(fault)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					r := request(ctx, w, http.MethodGet, path)
					r.Header.Set("Range", "bytes="+strconv.Itoa(from)+"-")
					r.Close = true
					want := map[string]error{"cut": io.ErrUnexpectedEOF, "stalled": context.DeadlineExceeded}[name]
					_, body, err := fetch(c, r)
					if !errors.Is(err, want) || body != string(whole[from:from+after]) {
						t.Errorf("%s %d bytes behind %d: %d bytes, %v", name, after, from, len(body), err)
					}
					cancel()
				}
			}
		}
	})
}
