package transport_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
)

// flood is a body that never ends, and notes the most memory there was while it
// was read.
type flood struct {
	read   int64
	peak   uint64
	closed bool
}

func (f *flood) Read(p []byte) (int, error) {
	const step = 4 << 20
	if before := f.read / step; (f.read+int64(len(p)))/step != before {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		f.peak = max(f.peak, m.HeapAlloc)
	}
	for i := range p {
		p[i] = ' '
	}
	f.read += int64(len(p))
	return len(p), nil
}

func (f *flood) Close() error {
	f.closed = true
	return nil
}

const (
	mostHeap   = 128 << 20
	mostAnswer = 64 << 20
)

// flooding returns a network whose answers are what flood returns, under a length
// that need not be true.
func flooding(status int, length int64, flood func() io.ReadCloser) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := reply(status, "").response(r)
		resp.Body, resp.ContentLength = flood(), length
		return resp, err
	}
}

// Several answers without end take the memory of one.
func TestEndlessAnswer(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	for name, tc := range map[string]struct { //nolint:paralleltest // as above
		status  int
		length  int64
		most    int64 // bytes to be read
		refused bool
	}{
		"without a length":            {200, -1, mostAnswer + 1, false},
		"that lies about its length":  {200, 1000, mostAnswer + 1, false},
		"that owns up to 10 GiB":      {200, 10 << 30, 0, false},
		"in an error":                 {503, -1, 512 << 10, true},
		"in an error that owns up":    {406, 10 << 30, 512 << 10, true},
		"in a redirect that owns up":  {302, 10 << 30, 512 << 10, true},
		"of a size just beyond limit": {200, mostAnswer + 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var body *flood
			network := flooding(tc.status, tc.length, func() io.ReadCloser { body = new(flood); return body })
			c, before := clientOf(t, network, attempts(3)), heap()
			for range 3 {
				var raw api.Response
				err := c.Call(t.Context(), request(http.MethodGet, api.ReplayOnce, api.WithResponse(&raw)), new([]byte))
				tooLarge(t, err, tc.status, tc.refused)
				if !tc.refused && (err.Error() != "fastio: things.Get: the answer is too large" || raw.Body != nil) {
					t.Errorf("the call ends with %v and %d bytes", err, len(raw.Body))
				}
				if body.read > tc.most || !body.closed || body.peak > before+mostHeap {
					t.Errorf("%d bytes were read, closed: %t; the heap grew by %d MiB", body.read, body.closed,
						(body.peak-before)>>20)
				}
			}
		})
	}
}

// tooLarge requires the error of an answer that is, or a refusal that is cut.
func tooLarge(t *testing.T, err error, status int, refusal bool) {
	t.Helper()
	if e := refused(err); refusal && (e.Status != status || len(e.Body) > 64<<10) ||
		!refusal && !errors.Is(err, api.ErrTooLarge) {
		t.Errorf("the call ends with %v", err)
	}
}

// A large answer without a length is read whole, into memory of its own.
func TestLargeAnswersShareNoMemory(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	next := byte('a')
	c := clientOf(t, flooding(200, -1, func() io.ReadCloser {
		next++
		return io.NopCloser(strings.NewReader(strings.Repeat(string(next-1), size)))
	}))
	var bodies [3][]byte
	for i := range bodies {
		if err := c.Call(t.Context(), get(), &bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, b := range bodies {
		if len(b) != size || bytes.Count(b, []byte{byte('a' + i)}) != size {
			t.Errorf("answer %d holds %d bytes that are not all its own", i, len(b))
		}
	}
}

// A refusal that is nested as deep as it is long is read once, not once a level.
func TestNestedRefusal(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	c := clientOf(t, answering(500, strings.Repeat(`{"response":`, 5400)+"1"+strings.Repeat("}", 5400)))
	grown := allocated(func() {
		if err := c.Call(t.Context(), get(), nil); !errors.Is(err, api.ErrServer) {
			t.Errorf("the call ends with %v", err)
		}
	})
	if grown > 96<<20 { // once a level is 170 MiB
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}

// A GiB of nothing takes a MiB to send.
func TestGzipBomb(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	for _, status := range []int{200, 500} { //nolint:paralleltest // as above
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			var most atomic.Uint64
			network := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(status)
				for i := range 1 << 10 { // members of one stream
					if i%4 == 0 {
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						most.Store(max(most.Load(), m.HeapAlloc))
					}
					if _, err := w.Write(member.Bytes()); err != nil {
						return
					}
				}
			})
			before := heap()
			err := newClient(t, network, attempts(1)).Call(t.Context(), get(), new([]byte))
			network.CloseIdleConnections()
			tooLarge(t, err, status, status == 500)
			if peak := most.Load(); peak > before+mostHeap {
				t.Errorf("the heap grew by %d MiB", (peak-before)>>20)
			}
		})
	}
}

// An opened answer is as long as it likes.
func TestOpenedAnswerHasNoBound(t *testing.T) {
	t.Parallel()
	body := new(flood)
	c := clientOf(t, flooding(200, 10<<30, func() io.ReadCloser { return body }))
	resp, err := c.Open(t.Context(), get())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, resp.Body, 100<<20); n != 100<<20 {
		t.Errorf("%d bytes could be read, then %v", n, err)
	}
	if err := resp.Body.Close(); err != nil || !body.closed {
		t.Errorf("the body closes with %v", err)
	}
}

// Headers are no promise that a body follows.
func TestStalledAnswer(t *testing.T) {
	t.Parallel()
	type row struct {
		status int
		begin  string
		want   time.Duration
	}
	const refusal = `{"result":false,"error":{"code":1605,`
	table.Bubbles(t, map[string]row{
		"at once":                      {200, "", 2 * time.Minute},
		"after a while":                {200, `{"result":true,`, 2 * time.Minute},
		"in an error":                  {500, refusal, 2 * time.Minute},
		"in an error, at once":         {500, ``, 2 * time.Minute},
		"in an error that is too long": {500, refusal + `"text":"` + strings.Repeat("x", 64<<10), time.Second},
	}, func(t *testing.T, tc row) {
		network := serve(t, func(w http.ResponseWriter, r *http.Request) {
			say(tc.status, tc.begin)(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		start := time.Now()
		err := newClient(t, network, attempts(1)).Call(t.Context(), get(), nil)
		if took := time.Since(start); took != tc.want {
			t.Errorf("the call ends after %v, want %v", took, tc.want)
		}
		const text = "the answer took too long to arrive"
		late := errors.Is(err, os.ErrDeadlineExceeded) && strings.Contains(err.Error(), text)
		if e := refused(err); tc.status == 200 && (!late || e.Status != 0) || tc.status == 500 && e.Status != 500 ||
			strings.HasPrefix(tc.begin, refusal) && e.Code != 1605 {
			t.Errorf("the call ends with %v", err)
		}
	})
}
