package transport_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/transport"
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

// heap returns the memory in use, all garbage collected.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

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
			body := new(flood)
			c := clientOf(t, stub(func(*http.Request) *http.Response {
				resp := newResponse(tc.status, "")
				resp.Body, resp.ContentLength = body, tc.length
				return resp
			}), func(c *transport.Config) { c.Retry.Attempts = 3 })
			before := heap()
			var out []byte
			r := reading()
			r.Replay = api.ReplayOnce
			err := c.Call(t.Context(), r, &out)
			if e, ok := errors.AsType[*api.Error](err); ok != tc.refused || ok && (e.Status != tc.status || len(e.Body) > 64<<10) {
				t.Errorf("the call ends with %v", err)
			}
			if !tc.refused && (!errors.Is(err, api.ErrTooLarge) || err.Error() != "fastio: things.Get: the answer is too large") {
				t.Errorf("the call ends with %v", err)
			}
			if body.read > tc.most || !body.closed {
				t.Errorf("%d bytes were read, closed: %t", body.read, body.closed)
			}
			if body.peak > before+mostHeap {
				t.Errorf("the heap grew by %d MiB", (body.peak-before)>>20)
			}
		})
	}
}

// Several answers without end take the memory of one.
func TestEndlessAnswersInARow(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	var body *flood
	c := clientOf(t, stub(func(*http.Request) *http.Response {
		resp := newResponse(200, "")
		body = new(flood)
		resp.Body, resp.ContentLength = body, -1
		return resp
	}))
	before := heap()
	for i := range 4 {
		var raw api.Answer
		if err := c.Call(t.Context(), reading(api.Raw(&raw)), nil); !errors.Is(err, api.ErrTooLarge) || raw.Body != nil {
			t.Errorf("call %d ends with %v and %d bytes", i, err, len(raw.Body))
		}
		if body.peak > before+mostHeap {
			t.Errorf("the heap grew by %d MiB", (body.peak-before)>>20)
		}
	}
}

// A large answer without a length is read whole, into memory of its own.
func TestLargeAnswersShareNoMemory(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	next := byte('a')
	c := clientOf(t, stub(func(*http.Request) *http.Response {
		resp := newResponse(200, strings.Repeat(string(next), size))
		next++
		resp.ContentLength = -1
		return resp
	}))
	var bodies [3][]byte
	for i := range bodies {
		if err := c.Call(t.Context(), reading(), &bodies[i]); err != nil {
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
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := c.Call(t.Context(), reading(), nil); !errors.Is(err, api.ErrServer) {
		t.Errorf("the call ends with %v", err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 96<<20 { // once a level is 170 MiB
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}

// pipes serves handler over connections in memory.
func pipes(t *testing.T, handler http.HandlerFunc) *http.Transport {
	t.Helper()
	l, dial := fastiotest.New().Listen()
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	network := &http.Transport{DialContext: dial}
	t.Cleanup(func() {
		network.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	return network
}

func plainHTTP(c *transport.Config) { c.Base.Scheme = "http" }

// A GiB of nothing takes a MiB to send.
func TestGzipBomb(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	for _, status := range []int{200, 500} { //nolint:paralleltest // as above
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			var most atomic.Uint64
			network := pipes(t, func(w http.ResponseWriter, _ *http.Request) {
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
			err := clientOf(t, network, plainHTTP).Call(t.Context(), reading(), new([]byte))
			network.CloseIdleConnections()
			e, refused := errors.AsType[*api.Error](err)
			if refused != (status == http.StatusInternalServerError) || !refused && !errors.Is(err, api.ErrTooLarge) || refused && len(e.Body) > 64<<10 {
				t.Errorf("the call ends with %v", err)
			}
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
	c := clientOf(t, stub(func(*http.Request) *http.Response {
		resp := newResponse(200, "")
		resp.Body, resp.ContentLength = body, 10<<30
		return resp
	}))
	resp, err := c.Open(t.Context(), reading())
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

// An answer that breaks off is asked for again where that is safe, and never
// taken for a whole one.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fastiotest.Fault{
		"cut off":                {Cut: 20},
		"cut off at once":        {Reset: fastiotest.AfterHeader},
		"dropped":                {Reset: fastiotest.BeforeHeader},
		"compressed by nobody":   {Gzip: true},
		"cut off in the failure": {Status: 503, Cut: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := fastiotest.New()
				c := s.Client(t)
				overSocket, err := transport.ParseBase("http://fastio.test")
				if err != nil {
					t.Fatal(err)
				}
				road := clientOf(t, s.StartInMemory(t).Transport, signedBy(s.Token()), func(c *transport.Config) {
					c.Base, c.Retry.Attempts = overSocket, 3
				})
				f.Count = 1
				for where, caller := range map[string]api.Caller{"without a socket": c, "over connections": road} {
					for _, f.Op = range []string{"account.Me", "events.Summarize"} {
						s.Fail(f)
					}
					before := len(s.Requests())
					var raw api.Answer
					user, err := account.New(caller).Me(t.Context(), api.Raw(&raw))
					if err != nil || user.ID != s.User().ID {
						t.Errorf("%s: the user is %v, %v", where, user, err)
					}
					_, err = events.New(caller).Summarize(t.Context(), events.Query{Profile: api.User(api.Me)}, "")
					if err == nil {
						t.Errorf("%s: a summary that broke off passes for whole", where)
					}
					if n := len(s.Requests()) - before; n != 3 {
						t.Errorf("%s: %d requests, want two for the user and one for the summary", where, n)
					}
				}
			})
		})
	}
}

// Headers are no promise that a body follows.
func TestStalledAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		begin  string
		want   time.Duration
	}{
		"at once":                      {200, "", 2 * time.Minute},
		"after a while":                {200, `{"result":true,`, 2 * time.Minute},
		"in an error":                  {500, `{"result":false,"error":{"code":1605,`, 2 * time.Minute},
		"in an error, at once":         {500, ``, 2 * time.Minute},
		"in an error that is too long": {500, `{"result":false,"error":{"code":1605,"text":"` + strings.Repeat("x", 64<<10), time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := pipes(t, func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(tc.status)
					_, _ = io.WriteString(w, tc.begin)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				})
				start := time.Now()
				err := clientOf(t, network, plainHTTP).Call(t.Context(), reading(), nil)
				if took := time.Since(start); took != tc.want {
					t.Errorf("the call ends after %v, want %v", took, tc.want)
				}
				e, refused := errors.AsType[*api.Error](err)
				switch {
				case refused != (tc.status == http.StatusInternalServerError):
					t.Errorf("the call ends with %v", err)
				case !refused && (!errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "the answer took too long to arrive")):
					t.Errorf("the call ends with %v", err)
				case refused && tc.begin != "" && e.Code != 1605:
					t.Errorf("the code is lost: %v", err)
				}
			})
		})
	}
}

// A connection is used again after an error, unless too much of it is left.
func TestConnectionsOutliveErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ size, dials int }{
		"an error of the usual size":  {1 << 10, 1},
		"an error that is not read":   {200 << 10, 1},
		"an error that never matters": {1 << 20, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dials := 0
				network := pipes(t, func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = io.WriteString(w, strings.Repeat("x", tc.size))
				})
				dial := network.DialContext
				network.DialContext = func(ctx context.Context, n, a string) (net.Conn, error) {
					dials++
					return dial(ctx, n, a)
				}
				c := clientOf(t, network, plainHTTP)
				for range 3 {
					if err := c.Call(t.Context(), reading(), nil); !errors.Is(err, api.ErrServer) {
						t.Errorf("the call ends with %v", err)
					}
					synctest.Wait()
				}
				if dials != tc.dials {
					t.Errorf("%d connections for three calls, want %d", dials, tc.dials)
				}
			})
		})
	}
}
