package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
)

// Bubbles find what is left running inside them; this finds the rest.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every body that passes along the road is closed, whatever becomes of its call.
func TestBodiesAreClosed(t *testing.T) {
	t.Parallel()
	there := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/there/") }
	tests := map[string]struct {
		handler http.HandlerFunc
		change  []func(*config)
		request *api.Request
		cancel  time.Duration
	}{
		"a success":               {handler: say(200, `{"result":true}`)},
		"a success without words": {handler: say(204, "")},
		"a refusal":               {handler: say(404, `{"result":false}`)},
		"a long refusal":          {handler: say(400, strings.Repeat("x", 1<<20))},
		"a refusal in a success":  {handler: say(200, `{"result":false}`)},
		"broken JSON":             {handler: say(200, `{"result":`)},
		"three failures":          {handler: say(503, "")},
		"three refusals to wait":  {handler: say(429, "")},
		"a wait that is too long": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}},
		"three cut bodies": {handler: cutAfter(5)},
		"three resets":     {handler: abort},
		"an endless body":  {handler: drip},
		"an answer too long": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
			io.WriteString(w, "x")
		}},
		"a redirect that is followed": {handler: func(w http.ResponseWriter, r *http.Request) {
			if !there(r) {
				http.Redirect(w, r, "/api/current/there/", http.StatusFound)
				return
			}
			io.WriteString(w, `{"result":true}`)
		}},
		"redirects without end": {handler: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/api/current/there/", http.StatusFound)
		}},
		"a redirect that is refused": {handler: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.test/", http.StatusTemporaryRedirect)
		}},
		"a refresh": {handler: func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer first-token" {
				w.WriteHeader(http.StatusUnauthorized)
				io.WriteString(w, `{"result":false,"error":{"code":10011}}`)
				return
			}
			io.WriteString(w, `{"result":true}`)
		}, change: []func(*config){tokens(renewed())}},
		"no token": {handler: say(200, `{"result":true}`), change: []func(*config){
			tokens(&source{token: func(context.Context) (api.Token, error) { return api.Token{}, errors.New("no token") }}),
		}},
		"a cancelled wait for the header": {handler: stall, cancel: time.Second},
		"a cancelled wait for the body":   {handler: drip, cancel: time.Second},
		"a cancelled pause": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, cancel: time.Second},
		"a cancelled wait for the server": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		}, cancel: time.Second},
		"middleware that loses the context": {handler: say(200, `{"result":true}`), change: []func(*config){
			middleware(func(next http.RoundTripper) http.RoundTripper {
				return roundTripFunc(func(r *http.Request) (*http.Response, error) {
					return next.RoundTrip(r.Clone(context.Background())) //nolint:usetesting // it stands for a mistake
				})
			}),
		}},
		"middleware that goes elsewhere": {handler: say(200, `{"result":true}`), change: []func(*config){
			middleware(func(next http.RoundTripper) http.RoundTripper {
				return roundTripFunc(func(r *http.Request) (*http.Response, error) {
					r = r.Clone(r.Context())
					r.URL = &url.URL{Scheme: "https", Host: "elsewhere.test", Path: "/"}
					return next.RoundTrip(r)
				})
			}),
		}},
	}
	for name, test := range tests {
		for _, kind := range []string{"GET safe", "POST once", "POST keyed"} {
			for _, stream := range []bool{false, true} {
				what := kind + ", " + name
				if stream {
					what += ", as a stream"
				}
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						network := serve(t, func(w http.ResponseWriter, r *http.Request) {
							io.Copy(io.Discard, r.Body)
							test.handler(w, r)
						})
						wire := &counted{next: network.Transport}
						network.Transport = wire
						inside := &counted{}
						watched := middleware(func(next http.RoundTripper) http.RoundTripper {
							inside.next = next
							return inside
						})
						road := newRoad(t, network, append([]func(*config){watched}, test.change...)...)
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if test.cancel > 0 {
							time.AfterFunc(test.cancel, cancel)
						}
						r := classes()[kind].request()
						if stream {
							if resp, err := road.Open(ctx, r); err == nil {
								io.CopyN(io.Discard, resp.Body, 100)
								resp.Body.Close()
							}
						} else {
							_ = road.Call(ctx, r, nil)
						}
						synctest.Wait()
						for where, c := range map[string]*counted{"the network": wire, "middleware": inside} {
							if opened, closed := c.opened.Load(), c.closed.Load(); opened != closed {
								t.Errorf("%s saw %d bodies and %d of them closed", where, opened, closed)
							}
						}
						if inside.opened.Load() == 0 && kind != "GET safe" {
							t.Error("no body was seen")
						}
					})
				})
			}
		}
	}
}

// renewed is a source whose token can be exchanged for one that works.
func renewed() *source {
	var second atomic.Bool
	return &source{
		token: func(context.Context) (api.Token, error) {
			if second.Load() {
				return api.Token{AccessToken: api.NewSecret("second-token")}, nil
			}
			return api.Token{AccessToken: api.NewSecret("first-token")}, nil
		},
		refresh: func(context.Context) (api.Token, error) {
			second.Store(true)
			return api.Token{AccessToken: api.NewSecret("second-token")}, nil
		},
	}
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
func TestCallsLeaveNothingAtTheirContext(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]api.CallOption{nil, {api.Timeout(time.Minute)}} {
		for name, reply := range map[string]*answer{"a success": ok(), "a refusal": status(404)} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx := &parent{Context: context.WithoutCancel(t.Context()), done: make(chan struct{})}
					network := through(answers(reply))
					network.Timeout = time.Hour
					road := newRoad(t, network)
					_ = road.Call(ctx, get(opts...), nil)
					if n := ctx.waiting.Load(); n != 0 {
						t.Errorf("Call left %d behind", n)
					}
					resp, err := road.Open(ctx, get(opts...))
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
			})
		}
	}
}

// What a client remembers does not grow with its calls.
//
//nolint:paralleltest // it measures the memory of the whole process
func TestMemoryDoesNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := []*answer{ok(), status(503), status(404), limited("1"), broken(io.ErrUnexpectedEOF), ok(), ok()}
		n := 0
		road := newRoad(t, through(roundTrip(func(r *http.Request) (*http.Response, error) {
			n++
			a := replies[n%len(replies)]
			if a.err != nil {
				return nil, a.err
			}
			return a.response(r), nil
		})))
		heap := func(calls int) float64 {
			for range calls {
				_ = road.Call(t.Context(), of("events.search"), nil)
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return float64(m.HeapAlloc)
		}
		before := heap(1000)
		after := heap(memoryCalls)
		if growth := after/before - 1; growth > 0.05 {
			t.Errorf("the heap grew by %.1f %%", 100*growth)
		}
	})
}
