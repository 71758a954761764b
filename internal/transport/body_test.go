package transport_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/table"
)

// Bubbles find what is left running inside them; this finds the rest.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// probe is a body that counts how often it is opened and closed.
type probe struct {
	counter

	size    int64
	content func() io.Reader
	once    bool  // it can be read only once
	gone    error // why, if not for what it is
}

func (*probe) ContentType() string { return "application/octet-stream" }

func (p *probe) Open() (io.ReadCloser, int64, error) {
	if p.once && p.opened.Load() > 0 {
		return nil, 0, cmp.Or(p.gone, api.ErrBodyUsed)
	}
	return p.watch(io.NopCloser(p.content())), p.size, nil
}

// counter counts bodies, and those of them that are closed.
type counter struct{ opened, closed atomic.Int64 }

func (c *counter) watch(body io.ReadCloser) io.ReadCloser {
	c.opened.Add(1)
	return &watchedBody{body, sync.OnceFunc(func() { c.closed.Add(1) })}
}

type watchedBody struct {
	io.ReadCloser
	closed func()
}

func (b *watchedBody) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}

// counted counts the bodies that pass through a transport.
type counted struct {
	counter

	next http.RoundTripper
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r = r.Clone(r.Context())
		r.Body = c.watch(r.Body)
	}
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		resp.Body = c.watch(resp.Body)
	}
	return resp, err
}

func sending(body api.Body, replay api.Replay) *api.Request {
	r := post()
	r.Body, r.Replay = body, replay
	return r
}

// A body is opened for each attempt, and every body is closed, whatever becomes of
// its call. One that can be read only once is sent once, whatever its replay class
// and the reason for a retry.
func TestBodiesAreOpenedForEachAttemptAndClosed(t *testing.T) {
	t.Parallel()
	type row struct {
		handler http.HandlerFunc
		config  func(*config)
		cancel  time.Duration
		opened  int64 // of a body that can be opened again
	}
	const dead = `{"result":false,"error":{"code":10011}}`
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/api/current/there/", http.StatusFound)
	}
	refusedRedirect := say(307, "", "Location", "https://elsewhere.test/")
	followed := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/there/") {
			io.WriteString(w, `{"result":true}`)
			return
		}
		redirect(w, r)
	}
	later := say(503, "", "Retry-After", "30")
	limited := say(429, "", "Retry-After", "30")
	lost := wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		return next.RoundTrip(r.Clone(context.Background())) //nolint:usetesting // it stands for a mistake
	})
	elsewhere := wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.URL.Host = "elsewhere.test"
		return next.RoundTrip(r)
	})
	table.Bubbles(t, map[string]row{
		"a success":                         {handler: say(200, `{"result":true}`), opened: 1},
		"a success without words":           {handler: say(204, ""), opened: 1},
		"a refusal":                         {handler: say(404, `{"result":false}`), opened: 1},
		"a long refusal":                    {handler: say(400, strings.Repeat("x", 1<<20)), opened: 1},
		"a refusal in a success":            {handler: say(200, `{"result":false}`), opened: 1},
		"broken JSON":                       {handler: say(200, `{"result":`), opened: 1},
		"three failures":                    {handler: say(503, ""), opened: 3},
		"one attempt alone":                 {handler: say(503, ""), config: attempts(1), opened: 1},
		"three refusals to wait":            {handler: say(429, ""), opened: 3},
		"a wait that is too long":           {handler: say(429, "", "Retry-After", "3600"), opened: 1},
		"three cut bodies":                  {handler: cutAfter(5), opened: 3},
		"three resets":                      {handler: abort, opened: 3},
		"an endless body":                   {handler: drip, opened: 3},
		"an answer too long":                {handler: say(200, "x", "Content-Length", "1000000000"), opened: 1},
		"a redirect that is followed":       {handler: followed, opened: 1},
		"redirects without end":             {handler: redirect, opened: 1},
		"a redirect that is refused":        {handler: refusedRedirect, opened: 1},
		"a refresh":                         {handler: say(401, dead), config: tokens(renewed()), opened: 2},
		"no token":                          {handler: say(200, ""), config: tokens(noToken()), opened: 1},
		"a cancelled wait for the header":   {handler: stall, cancel: time.Second, opened: 1},
		"a cancelled wait for the body":     {handler: drip, cancel: time.Second, opened: 1},
		"a cancelled pause":                 {handler: later, cancel: time.Second, opened: 2},
		"a cancelled wait for the limit":    {handler: limited, cancel: time.Second, opened: 2},
		"middleware that loses the context": {handler: say(200, ""), config: lost, opened: 1},
		"middleware that goes elsewhere":    {handler: say(200, ""), config: elsewhere, opened: 1},
	}, func(t *testing.T, test row) {
		for _, replay := range []api.Replay{api.ReplaySafe, api.ReplayOnce, api.ReplayKeyed} {
			for _, kind := range []string{"body", "body to be read once", "answer", "no body"} {
				body := &probe{size: 7, content: func() io.Reader { return strings.NewReader("content") }}
				body.once = kind == "body to be read once"
				wire, inside := &counted{next: serve(t, func(w http.ResponseWriter, r *http.Request) {
					if b, err := io.ReadAll(r.Body); kind != "no body" &&
						(err != nil || string(b) != "content" || r.ContentLength != 7) {
						t.Errorf("the server got %q of %d bytes, %v", b, r.ContentLength, err)
					}
					test.handler(w, r)
				})}, &counted{}
				client := newClient(t, wire, middleware(func(next http.RoundTripper) http.RoundTripper {
					inside.next = next
					return inside
				}), func(c *config) {
					if test.config != nil {
						test.config(c)
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				if test.cancel > 0 {
					time.AfterFunc(test.cancel, cancel)
				}
				r, send := sending(body, replay), ways()["called"]
				switch kind {
				case "no body":
					r = request(http.MethodGet, replay)
				case "answer":
					send = ways()["opened"]
				}
				err := send(client, ctx, &optioned{Request: r})
				synctest.Wait()
				cancel()
				if errors.Is(err, api.ErrBodyUsed) {
					t.Error(err)
				}
				for where, c := range map[string]*counter{
					"the network": &wire.counter, "middleware": &inside.counter, "the call": &body.counter,
				} {
					if opened, closed := c.opened.Load(), c.closed.Load(); opened != closed {
						t.Errorf("%s, replay %d: %s saw %d bodies and %d of them closed", kind, replay, where, opened, closed)
					}
				}
				want := test.opened
				if body.once {
					want = 1
				}
				if n := body.opened.Load(); replay != api.ReplayOnce && (kind == "body" || body.once) && n != want {
					t.Errorf("%s, replay %d: opened %d times, want %d", kind, replay, n, want)
				}
			}
		}
	})
}

func TestBodyThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the file is gone")
		body := &probe{size: 1, content: func() io.Reader { return strings.NewReader("x") }, once: true, gone: gone}
		network := answers(status(503))
		err := newClient(t, network).Call(t.Context(), sending(body, api.ReplaySafe), nil)
		if !errors.Is(err, gone) || !errors.Is(err, api.ErrUnavailable) || network.sent() != 1 {
			t.Errorf("%d requests, %v", network.sent(), err)
		}
	})
}

// A body of unknown length is sent in chunks and arrives whole; one that fails in
// the middle fails the call, and the server knows that it is not whole.
func TestStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []byte
		var length int64
		var broken error
		client := newClient(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			got, broken = io.ReadAll(r.Body)
			length = r.ContentLength
			io.WriteString(w, `{"result":true}`)
		}))
		content := strings.Repeat("0123456789", 10_000)
		succeed(t, client, sending(api.Stream("text/plain", strings.NewReader(content), -1), api.ReplayOnce))
		if string(got) != content || length != -1 {
			t.Errorf("%d bytes arrived, of a length of %d", len(got), length)
		}
		for _, size := range []int64{-1, 100_000} {
			torn := errors.New("the disk is torn")
			body := &probe{size: size, once: true, content: func() io.Reader {
				return io.MultiReader(strings.NewReader(content[:50_000]), iotest.ErrReader(torn))
			}}
			err := client.Call(t.Context(), sending(body, api.ReplaySafe), nil)
			synctest.Wait()
			if opened, closed := body.opened.Load(), body.closed.Load(); !errors.Is(err, torn) || broken == nil ||
				opened != 1 || closed != 1 {
				t.Errorf("size %d: %v; the server got %v; opened %d times, closed %d times", size, err, broken, opened, closed)
			}
		}
	})
}

// A file that is sent is not held in memory.
//
//nolint:paralleltest // it measures the memory of the process
func TestStreamsAreNotHeldInMemory(t *testing.T) {
	table.Large(t)
	const size = 256 << 20
	server, _ := socket(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n < size {
			t.Errorf("%d bytes arrived, %v", n, err)
		}
		io.WriteString(w, `{"result":true}`)
	})
	client := closing(t, server)
	file := func() api.Body { return api.Stream("", io.LimitReader(new(flood), size), size) }
	if taken := allocated(func() {
		succeed(t, client, sending(file(), api.ReplayOnce))
		succeed(t, client,
			sending(api.Multipart(nil, &api.FilePart{Field: "chunk", Name: "zeros", Content: file()}), api.ReplayOnce))
	}); taken > 8<<20 {
		t.Errorf("%d MiB were allocated", taken>>20)
	}
}

// allocated returns how many bytes the process allocates while f runs.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// parent is a context that counts who waits for it to end.
type parent struct {
	context.Context
	done    chan struct{}
	waiting atomic.Int64
}

func (p *parent) Done() <-chan struct{} { return p.done }

// AfterFunc is how package context registers what ends with p.
func (p *parent) AfterFunc(func()) (stop func() bool) {
	p.waiting.Add(1)
	return sync.OnceValue(func() bool { p.waiting.Add(-1); return true })
}

// A program may make calls with one context for years.
func TestCallsLeakNothingInTheirContext(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]api.CallOption{nil, {api.WithTimeout(time.Minute)}} {
		table.Bubbles(t, map[string]*answer{"a success": ok(), "a refusal": status(404)},
			func(t *testing.T, reply *answer) {
				ctx := &parent{Context: context.WithoutCancel(t.Context()), done: make(chan struct{})}
				client := newClient(t, answers(reply), timeout(time.Hour))
				_ = client.Call(ctx, get(), nil, opts...)
				if n := ctx.waiting.Load(); n != 0 {
					t.Errorf("Call left %d behind", n)
				}
				resp, err := client.Open(ctx, get(), opts...)
				if err == nil {
					if ctx.waiting.Load() == 0 {
						t.Error("the stream does not end with its context")
					}
					resp.Body.Close()
				}
				if n := ctx.waiting.Load(); n != 0 {
					t.Errorf("Open left %d behind", n)
				}
			})
	}
}

// What a client remembers does not grow with its calls.
//
//nolint:paralleltest // it measures the memory of the whole process
func TestMemoryDoesNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := []*answer{ok(), status(503), status(404), limited("1"), broken(io.ErrUnexpectedEOF), ok(), ok()}
		n := 0
		client := newClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			n++
			return replies[n%len(replies)].response(r)
		}))
		after := func(calls int) float64 {
			for range calls {
				_ = client.Call(t.Context(), of("events.search"), nil)
			}
			return float64(heap())
		}
		before := after(1000)
		if growth := after(table.Rounds(5000, 100_000))/before - 1; growth > 0.05 {
			t.Errorf("the heap grew by %.1f %%", 100*growth)
		}
	})
}

// heap returns the memory in use, all garbage collected.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

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
	mostHeap = 128 << 20
	mostJSON = 32 << 20
	mostText = 64 << 20
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
	table.Large(t)
	type row struct {
		status  int
		length  int64
		most    int64 // bytes to be read
		refused bool
	}
	for kind, limit := range map[string]int64{"JSON": mostJSON, "text": mostText} { //nolint:paralleltest // as above
		for name, tc := range map[string]row{
			"without a length":            {200, -1, limit + 1, false},
			"that lies about its length":  {200, 1000, limit + 1, false},
			"that owns up to 10 GiB":      {200, 10 << 30, 0, false},
			"in an error":                 {503, -1, 512 << 10, true},
			"in an error that owns up":    {406, 10 << 30, 512 << 10, true},
			"in a redirect that owns up":  {302, 10 << 30, 512 << 10, true},
			"of a size just beyond limit": {200, limit + 1, 0, false},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				var body *flood
				network := flooding(tc.status, tc.length, func() io.ReadCloser { body = new(flood); return body })
				c, before := clientOf(t, network, attempts(3)), heap()
				for range 3 {
					var raw api.Response
					var out any = new(struct{})
					if kind == "text" {
						out = new([]byte)
					}
					err := c.Call(t.Context(), request(http.MethodGet, api.ReplayOnce), out, api.WithResponse(&raw))
					tooLarge(t, err, tc.status, tc.refused)
					if !tc.refused && (err.Error() != "fastio: things.Get: the response is too large" || raw.Body != nil) {
						t.Errorf("the call ends with %v and %d bytes", err, len(raw.Body))
					}
					if body.read > tc.most || !body.closed || body.peak > before+mostHeap {
						t.Errorf(
							"%d bytes were read, closed: %t; the heap grew by %d MiB", body.read, body.closed, (body.peak-before)>>20,
						)
					}
				}
			})
		}
	}
}

// After answers without end at the same time, one garbage collection frees all their memory.
func TestEndlessAnswersLeaveNoMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	table.Large(t)
	c := clientOf(t, flooding(200, -1, func() io.ReadCloser { return new(flood) }), attempts(1))
	before := heap()
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			err := c.Call(t.Context(), request(http.MethodGet, api.ReplayOnce), new([]byte))
			if !errors.Is(err, api.ErrTooLarge) {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if grown := int64(m.HeapAlloc) - int64(before); grown > mostText/2 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
}

// What an answer holds does not take more memory than its size allows.
//
//nolint:paralleltest // it measures the memory of the process
func TestLargestAnswersAreDecodedWithin128MiB(t *testing.T) {
	table.Large(t)
	const event = `{"result":true,"events":[{"event_id":"e1","created":"2026-01-01 00:00:00 UTC"`
	fill := func(begin, part, end string) string {
		return begin + strings.Repeat(part, (mostJSON-len(begin)-len(end))/len(part)) + end
	}
	row := `{"event_id":"e1","created":"2026-01-01 00:00:00 UTC","description":"` + strings.Repeat("b", 50_000) + `"},`
	for name, answer := range map[string]string{ //nolint:paralleltest // as above
		"a string":        fill(event+`,"description":"`, "a", `"}]}`),
		"escapes":         fill(event+`,"description":"`, `\u00e4`, `"}]}`),
		"a name":          fill(event+`,"`, "a", `":1}]}`),
		"an outer name":   fill(`{"result":true,"`, "a", `":1,"events":[]}`),
		"rows":            fill(`{"result":true,"events":[`, row, `{}]}`),
		"an unread value": fill(event+`,"description":`, "[]", `}]}`),
		"a refusal":       fill(`{"result":false,"error":{"code":1605,"text":"`, "a", `"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, flooding(200, -1, func() io.ReadCloser { return io.NopCloser(strings.NewReader(answer)) }))
			search := events.New(c, nil)
			query := events.Query{Profile: api.Workspace("4611686018427387904")}
			if taken := allocated(func() { _, _ = search.Search(t.Context(), query) }); taken > mostHeap {
				t.Errorf("%d MiB were allocated", taken>>20)
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
	table.Large(t)
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

// A response gets a buffer of its announced length, or one that grows with it. A large
// buffer that is filled by half at most is not returned.
func TestResponseBuffers(t *testing.T) {
	t.Parallel()
	type row struct {
		status, length, size int
		buffers              []int // that it is read into
		returned             int   // capacity
	}
	const kib, mib = 1 << 10, 1 << 20
	growing := []int{4097, 8194, 16388, 32776, 65552, 131104, 262208, 524416, 2097664, 8390656, mostText + 1}
	table.Each(t, map[string]row{
		"no content":                 {200, 0, 0, []int{1}, 1},
		"the announced length":       {200, 100, 100, []int{101}, 101},
		"a short one":                {200, -1, 100, []int{4097}, 4097},
		"a large one":                {200, -1, mostText / 2, growing, mostText / 2},
		"a larger one":               {200, -1, mostText/2 + 1, growing, mostText + 1},
		"the limit":                  {200, mostText, mostText, []int{mostText + 1}, mostText + 1},
		"less than the announced":    {200, mostText - 1, 1, []int{mostText}, mostText},
		"more than 512 KiB":          {200, 512*kib - 1, 512 * kib, []int{512 * kib, mib}, mib},
		"more than 4 MiB":            {200, 4*mib - 1, 4 * mib, []int{4 * mib, 16 * mib}, 16 * mib},
		"an error":                   {500, -1, 64 * kib, []int{4097, 8194, 64*kib + 1}, 64*kib + 1},
		"an error that announces it": {500, mostText, 64 * kib, []int{64*kib + 1}, 64*kib + 1},
	}, func(t *testing.T, tc row) {
		body := &buffers{left: tc.size}
		network := flooding(tc.status, int64(tc.length), func() io.ReadCloser { return io.NopCloser(body) })
		var raw api.Response
		_ = clientOf(t, network).Call(t.Context(), get(), new([]byte), api.WithResponse(&raw))
		if !slices.Equal(body.sizes, tc.buffers) || len(raw.Body) != tc.size || cap(raw.Body) != tc.returned {
			t.Errorf("%d of %d bytes, after buffers of %d bytes", len(raw.Body), cap(raw.Body), body.sizes)
		}
	})
}

// buffers is a body that notes the sizes of the buffers it is read into.
type buffers struct {
	sizes      []int
	read, left int
	ended      bool
}

func (b *buffers) Read(p []byte) (int, error) {
	if size := b.read + len(p); !b.ended && !slices.Contains(b.sizes, size) {
		b.sizes = append(b.sizes, size)
	}
	b.ended = b.left == 0
	if b.ended {
		return 0, io.EOF
	}
	n := min(len(p), b.left)
	b.read, b.left = b.read+n, b.left-n
	return n, nil
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
		late := errors.Is(err, os.ErrDeadlineExceeded) &&
			strings.Contains(err.Error(), "the response took too long to arrive")
		if e := refused(err); tc.status == 200 && (!late || e.Status != 0) || tc.status == 500 && e.Status != 500 ||
			strings.HasPrefix(tc.begin, refusal) && e.Code != 1605 {
			t.Errorf("the call ends with %v", err)
		}
	})
}

// lateFlood is a body whose first Read ends after the watchdog has closed the body.
type lateFlood struct{ flood }

func (f *lateFlood) Read(p []byte) (int, error) {
	if f.read == 0 {
		time.Sleep(3 * time.Minute)
	}
	return f.flood.Read(p)
}

// Another attempt would not help, and the next call may reuse the buffer of the body.
func TestAnswerThatIsLateAndTooLarge(t *testing.T) {
	t.Parallel()
	table.Large(t)
	synctest.Test(t, func(t *testing.T) {
		var body *lateFlood
		c := newClient(t, flooding(200, -1, func() io.ReadCloser { body = new(lateFlood); return body }), attempts(3))
		var raw api.Response
		err := c.Call(t.Context(), get(), new([]byte), api.WithResponse(&raw))
		if !errors.Is(err, api.ErrTooLarge) || raw.Attempts != 1 || raw.Body != nil || !body.closed {
			t.Errorf("the call ends after %d attempts with %v and %d bytes", raw.Attempts, err, len(raw.Body))
		}
	})
}

// nothing is a body that opens no content.
type nothing struct{ size int64 }

func (nothing) ContentType() string { return "application/json" }

func (b nothing) Open() (io.ReadCloser, int64, error) { return nil, b.size, nil }

// A body of the program without content is an empty one, or an error.
func TestBodyWithoutContent(t *testing.T) {
	t.Parallel()
	r := post()
	r.Body = nothing{0}
	network := answers(ok(), failed(400, 1605))
	client := clientOf(t, network)
	succeed(t, client, r)
	if err := client.Call(t.Context(), r, nil); refused(err).Status != 400 { // whose secrets are masked
		t.Error(err)
	}
	r.Body = nothing{3}
	const want = "fastio: things.Create: Request.Body must open content that is not nil"
	if err := client.Call(t.Context(), r, nil); err == nil || err.Error() != want || network.sent() != 2 {
		t.Errorf("got %v after %d requests", err, network.sent())
	}
}

// late is a body that ends at a time.
type late struct {
	end    chan struct{}
	closed atomic.Int32
}

func (b *late) Read([]byte) (int, error) {
	<-b.end
	return 0, io.EOF
}

func (b *late) Close() error {
	b.closed.Add(1)
	return nil
}

// A watchdog that closes the body of one response closes that of no other, also if the body
// of a refusal ends at the same time.
func TestWatchdogsCloseNoOtherBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bodies []*late
		client := clientOf(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := status(404).response(r)
			b := &late{end: make(chan struct{})}
			time.AfterFunc(2*time.Minute, func() { close(b.end) })
			bodies = append(bodies, b)
			resp.Body, resp.ContentLength = b, -1
			return resp, err
		}))
		for range 200 {
			if err := client.Call(t.Context(), get(), nil); refused(err).Status != 404 {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for i, b := range bodies {
			if n := b.closed.Load(); n > 3 {
				t.Errorf("body %d was closed %d times", i, n)
			}
		}
	})
}
