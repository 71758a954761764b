package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// socket serves handler on a real socket until the test ends, and counts the
// connections.
func socket(t *testing.T, handler http.HandlerFunc) (change func(*config), conns *atomic.Int64) {
	t.Helper()
	conns = new(atomic.Int64)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return base(mustBase(t, server.URL)), conns
}

// hasty repeats without a pause worth mentioning, for tests on a real clock.
func hasty(n int) func(*config) { return retry(transport.Retry{Attempts: n, Base: 1, Cap: 1}) }

// closing returns a road over sockets of its own.
func closing(t *testing.T, change ...func(*config)) *transport.Client {
	t.Helper()
	road := newRoad(t, nil, change...)
	t.Cleanup(road.CloseIdleConnections)
	return road
}

// A call that fails must not cost the next one its connection.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	const calls = 200
	tests := map[string]struct {
		spoil http.HandlerFunc // of the first attempts of every call
		times int
	}{
		"when all goes well":                {nil, 0},
		"after a retry":                     {say(503, `{"result":false}`), 1},
		"after the last attempt":            {say(503, `{"result":false}`), 3},
		"after a refusal":                   {say(404, `{"result":false}`), 3},
		"after a page of a proxy's":         {say(502, strings.Repeat("<p>Bad Gateway</p>", 1000)), 3},
		"after an error too long to keep":   {say(400, strings.Repeat("x", 200_000)), 3},
		"after an answer that says nothing": {say(204, ""), 3},
		"after an answer of broken JSON":    {say(200, `{"result":`), 3},
		"after a redirect that is refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.test/")
			w.WriteHeader(http.StatusFound)
		}, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, conns := socket(t, func(w http.ResponseWriter, r *http.Request) {
				var attempt int
				if _, err := fmt.Sscan(r.Header.Get("X-Attempt"), &attempt); err != nil {
					t.Error(err)
				}
				if attempt <= test.times {
					test.spoil(w, r)
					return
				}
				io.WriteString(w, `{"result":true}`)
			})
			road := closing(t, server, hasty(3), middleware(numbered))
			for range calls {
				_ = road.Call(t.Context(), get(), nil)
			}
			if n := conns.Load(); n > calls/100 {
				t.Errorf("%d connections for %d calls", n, calls)
			}
		})
	}
}

// numbered tells the server which attempt of its call a request is.
func numbered(next http.RoundTripper) http.RoundTripper {
	return roundTripFunc(func(r *http.Request) (*http.Response, error) {
		info, found := transport.InfoOf(r.Context())
		if !found {
			return nil, errors.New("the request belongs to no call")
		}
		r.Header.Set("X-Attempt", strconv.Itoa(info.Attempt))
		return next.RoundTrip(r)
	})
}

// roundTripFunc is a network made of a function that looks after the body.
type roundTripFunc func(r *http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The connection a call was cancelled on is lost. The idle ones are not.
func TestOtherConnectionsAreKept(t *testing.T) {
	t.Parallel()
	const idle = 8
	tests := map[string]struct {
		spoil func(t *testing.T, road *transport.Client, here <-chan struct{})
		lost  int64
	}{
		"when a call is cancelled on its way": {func(t *testing.T, road *transport.Client, here <-chan struct{}) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-here; cancel() }()
			if err := road.Call(ctx, of("any", api.Header("X-Do", "stall")), nil); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}, 1},
		"when a call is cancelled between attempts": {func(t *testing.T, road *transport.Client, _ <-chan struct{}) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := of("any", api.Header("X-Do", "fail"), api.Header("X-Cancel", "yes"))
			if err := road.Call(context.WithValue(ctx, cancelKey{}, cancel), r, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}, 0},
		"when a connection breaks": {func(t *testing.T, road *transport.Client, _ <-chan struct{}) {
			t.Helper()
			r := post(api.Header("X-Do", "reset"))
			if err := road.Call(t.Context(), r, nil); err == nil {
				t.Error("succeeded")
			}
		}, 1},
		"when a body breaks off": {func(t *testing.T, road *transport.Client, _ <-chan struct{}) {
			t.Helper()
			r := post(api.Header("X-Do", "cut"))
			if err := road.Call(t.Context(), r, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %v", err)
			}
		}, 1},
		"when there is no token": {func(t *testing.T, road *transport.Client, _ <-chan struct{}) {
			t.Helper()
			ctx := context.WithValue(t.Context(), noTokenKey{}, true)
			if err := road.Call(ctx, get(), nil); err == nil {
				t.Error("succeeded")
			}
		}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := make(chan struct{})
			var together sync.WaitGroup // holds the first calls until all have a connection
			together.Add(idle)
			server, conns := socket(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				switch r.Header.Get("X-Do") {
				case "together":
					together.Done()
					together.Wait()
				case "stall":
					close(here)
					<-r.Context().Done()
					return
				case "fail":
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				case "reset":
					panic(http.ErrAbortHandler)
				case "cut":
					cutAfter(5)(w, r)
				}
				io.WriteString(w, `{"result":true}`)
			})
			source := &source{token: func(ctx context.Context) (api.Token, error) {
				if ctx.Value(noTokenKey{}) != nil {
					return api.Token{}, errors.New("no token")
				}
				return api.Token{}, nil
			}}
			road := closing(t, server, hasty(3), tokens(source), hooks(api.Hooks{Retry: func(ctx context.Context, _ api.Retry) {
				if cancel, found := ctx.Value(cancelKey{}).(context.CancelFunc); found {
					cancel()
				}
			}}))
			burst := func(do string) {
				var wg sync.WaitGroup
				for range idle {
					wg.Go(func() {
						if err := road.Call(t.Context(), get(api.Header("X-Do", do)), nil); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
			}
			burst("together")
			if n := conns.Load(); n != idle {
				t.Fatalf("%d connections, want %d", n, idle)
			}
			test.spoil(t, road, here)
			for range 100 { // one after the other finds an idle one
				if err := road.Call(t.Context(), get(), nil); err != nil {
					t.Fatal(err)
				}
			}
			together.Add(int(idle - test.lost))
			var wg sync.WaitGroup
			for range idle - test.lost {
				wg.Go(func() {
					if err := road.Call(t.Context(), get(api.Header("X-Do", "together")), nil); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			// The last connection may come back to the pool a moment after its answer was read.
			if n := conns.Load(); n > idle+1 {
				t.Errorf("%d new connections", n-idle)
			}
		})
	}
}

type (
	cancelKey  struct{}
	noTokenKey struct{}
)

// closer is middleware that could empty a pool.
type closer struct {
	http.RoundTripper
	closed *atomic.Int64
}

func (c closer) CloseIdleConnections() { c.closed.Add(1) }

// The library below asks to have the pool emptied after every failure. The
// request must not find anybody who does.
func TestFailuresEmptyNoPool(t *testing.T) {
	t.Parallel()
	var closed atomic.Int64
	wrap := middleware(func(next http.RoundTripper) http.RoundTripper { return closer{next, &closed} })
	for _, a := range []*answer{status(503), status(404), broken(io.EOF), broken(dialError())} {
		network := through(closer{answers(a), &closed})
		if err := newRoad(t, network, wrap, hasty(3)).Call(t.Context(), get(), nil); err == nil {
			t.Error("succeeded")
		}
	}
	if n := closed.Load(); n > 0 {
		t.Errorf("idle connections were closed %d times", n)
	}
}

// Closing idle connections is for a client's own. Those of the user's client may
// be in use elsewhere.
func TestWhoseIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"closes the client's own": true, "leaves the user's alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, conns := socket(t, say(200, `{"result":true}`))
			var network *http.Client
			want := int64(2)
			if !own {
				users := &http.Transport{}
				t.Cleanup(users.CloseIdleConnections)
				network, want = &http.Client{Transport: users}, 1
			}
			road := newRoad(t, network, server)
			for range 2 {
				if err := road.Call(t.Context(), get(), nil); err != nil {
					t.Fatal(err)
				}
				road.CloseIdleConnections()
			}
			if n := conns.Load(); n != want {
				t.Errorf("%d connections, want %d", n, want)
			}
		})
	}
}

// A program with many goroutines keeps a connection for each.
func TestManyConnectionsAreKept(t *testing.T) {
	t.Parallel()
	const goroutines, rounds = 64, 5
	var together sync.WaitGroup
	server, conns := socket(t, func(w http.ResponseWriter, _ *http.Request) {
		together.Done()
		together.Wait()
		io.WriteString(w, `{"result":true}`)
	})
	road := closing(t, server)
	for range rounds {
		together.Add(goroutines)
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				if err := road.Call(t.Context(), get(), nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	// A connection may come back to the pool a moment after its answer was read.
	if n := conns.Load(); n > goroutines*11/10 {
		t.Errorf("%d connections for %d goroutines", n, goroutines)
	}
}
