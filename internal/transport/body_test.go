package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
)

// probe is a body that counts how often it is opened and closed.
type probe struct {
	size           int64
	content        func() io.Reader
	once           bool // it can be read only once
	opened, closed atomic.Int64
}

func (*probe) ContentType() string { return "application/octet-stream" }

func (p *probe) Open() (io.ReadCloser, int64, error) {
	if p.opened.Add(1) > 1 && p.once {
		p.opened.Add(-1)
		return nil, 0, api.ErrBodyUsed
	}
	var closed atomic.Bool
	return &probed{p.content(), func() {
		if !closed.Swap(true) {
			p.closed.Add(1)
		}
	}}, p.size, nil
}

type probed struct {
	io.Reader
	closed func()
}

func (r *probed) Close() error { r.closed(); return nil }

func sending(body api.Body, replay api.Replay, opts ...api.CallOption) *api.Request {
	r := post(opts...)
	r.Body, r.Replay = body, replay
	return r
}

// A body is opened for each attempt and closed each time. One that can be read
// only once is sent once, whatever its replay class and the reason for a retry.
func TestBodiesAreOpenedForEachAttempt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		change  []func(*config)
		call    []api.CallOption
		cancel  time.Duration
		opened  int64 // of one that can be opened again
	}{
		"a success":         {handler: say(200, `{"result":true}`), opened: 1},
		"a refusal":         {handler: say(404, ""), opened: 1},
		"three failures":    {handler: say(503, ""), opened: 3},
		"three refusals":    {handler: say(429, ""), opened: 3},
		"three resets":      {handler: abort, opened: 3},
		"one attempt alone": {handler: say(503, ""), call: []api.CallOption{api.Attempts(1)}, opened: 1},
		"a refresh":         {handler: say(401, `{"result":false,"error":{"code":10011}}`), change: []func(*config){tokens(renewed())}, opened: 2},
		"no token": {handler: say(200, ""), change: []func(*config){
			tokens(&source{token: func(context.Context) (api.Token, error) { return api.Token{}, errors.New("no token") }}),
		}, opened: 1},
		"a cancelled pause": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, cancel: time.Second, opened: 2},
		"a cancelled wait for the limit": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		}, cancel: time.Second, opened: 2},
	} {
		for _, once := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					network := serve(t, func(w http.ResponseWriter, r *http.Request) {
						if b, err := io.ReadAll(r.Body); err != nil || string(b) != "content" || r.ContentLength != 7 {
							t.Errorf("the server got %q of %d bytes, %v", b, r.ContentLength, err)
						}
						test.handler(w, r)
					})
					body := &probe{size: 7, once: once, content: func() io.Reader { return strings.NewReader("content") }}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if test.cancel > 0 {
						time.AfterFunc(test.cancel, cancel)
					}
					err := newRoad(t, network, test.change...).Call(ctx, sending(body, api.ReplaySafe, test.call...), nil)
					if errors.Is(err, api.ErrBodyUsed) {
						t.Error(err)
					}
					synctest.Wait()
					want := test.opened
					if once {
						want = 1
					}
					if opened, closed := body.opened.Load(), body.closed.Load(); opened != want || closed != opened {
						t.Errorf("opened %d times, want %d; closed %d times", opened, want, closed)
					}
				})
			})
		}
	}
}

// A body that cannot be opened again ends the call; the last answer is in the
// error.
func TestBodyThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the file is gone")
		n := 0
		body := opener(func() (io.ReadCloser, int64, error) {
			if n++; n > 1 {
				return nil, 0, gone
			}
			return io.NopCloser(strings.NewReader("x")), 1, nil
		})
		network := answers(status(503))
		err := newRoad(t, through(network)).Call(t.Context(), sending(body, api.ReplaySafe), nil)
		if !errors.Is(err, gone) || !errors.Is(err, api.ErrUnavailable) || len(network.requests()) != 1 {
			t.Errorf("%d requests, %v", len(network.requests()), err)
		}
	})
}

type opener func() (io.ReadCloser, int64, error)

func (opener) ContentType() string                   { return "application/octet-stream" }
func (o opener) Open() (io.ReadCloser, int64, error) { return o() }

// A body of unknown length is sent in chunks and arrives whole; one that fails in
// the middle fails the call, and the server knows that it is not whole.
func TestStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []byte
		var length int64
		var broken error
		network := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got, broken = io.ReadAll(r.Body)
			length = r.ContentLength
			io.WriteString(w, `{"result":true}`)
		})
		road := newRoad(t, network)
		content := strings.Repeat("0123456789", 10_000)
		if err := road.Call(t.Context(), sending(api.Stream("text/plain", strings.NewReader(content), -1), api.ReplayOnce), nil); err != nil {
			t.Fatal(err)
		}
		if string(got) != content || length != -1 {
			t.Errorf("%d bytes arrived, of a length of %d", len(got), length)
		}
		for _, size := range []int64{-1, 100_000} {
			torn := errors.New("the disk is torn")
			body := &probe{size: size, once: true, content: func() io.Reader {
				return io.MultiReader(strings.NewReader(content[:50_000]), &failing{torn})
			}}
			err := road.Call(t.Context(), sending(body, api.ReplaySafe), nil)
			synctest.Wait()
			if !errors.Is(err, torn) || broken == nil || body.opened.Load() != 1 || body.closed.Load() != 1 {
				t.Errorf("size %d: %v; the server got %v; opened %d times, closed %d times", size, err, broken, body.opened.Load(), body.closed.Load())
			}
		}
	})
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// A file that is sent is not held in memory.
//
//nolint:paralleltest // it measures the memory of the process
func TestStreamsAreNotHeldInMemory(t *testing.T) {
	const size = 256 << 20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n < size {
			t.Errorf("%d bytes arrived, %v", n, err)
		}
		io.WriteString(w, `{"result":true}`)
	}))
	defer server.Close()
	road := closing(t, base(mustBase(t, server.URL)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	file := api.Stream("", io.LimitReader(zeros{}, size), size)
	for name, body := range map[string]api.Body{
		"raw":       api.Stream("", io.LimitReader(zeros{}, size), size),
		"multipart": api.Multipart(nil, &api.FilePart{Field: "chunk", Name: "zeros", Content: file}),
	} {
		if err := road.Call(t.Context(), sending(body, api.ReplayOnce), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	runtime.ReadMemStats(&after)
	if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 8 {
		t.Errorf("%d MiB were allocated", taken)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
