package transport_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
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
	return base(server.URL), conns
}

// closing returns a client over sockets of its own.
func closing(t *testing.T, change ...func(*config)) *transport.Client {
	t.Helper()
	client := newClient(t, nil, change...)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	const calls = 200
	type row struct {
		handler http.HandlerFunc
		most    int64 // connections
	}
	table.Each(t, map[string]row{
		"after a success":                     {say(200, `{"result":true}`), 2},
		"after attempts that fail":            {say(503, `{"result":false}`), 2},
		"after an error too long to keep":     {say(400, strings.Repeat("x", 200_000)), 2},
		"not after an error too long to read": {say(400, strings.Repeat("x", 1<<20)), calls},
	}, func(t *testing.T, test row) {
		server, conns := socket(t, test.handler)
		client := closing(t, server, hasty(3))
		for range calls {
			_ = client.Call(t.Context(), get(), nil)
		}
		if n := conns.Load(); n > test.most || test.most == calls && n < calls*9/10 {
			t.Errorf("%d connections for %d calls", n, calls)
		}
	})
}

// together makes n calls, which must succeed, whose handlers wait for each other.
func together(t *testing.T, client *transport.Client, waiting *sync.WaitGroup, n int) {
	t.Helper()
	waiting.Add(n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := client.Call(t.Context(), get(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

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
	for _, change := range [][]func(*config){{hasty(3)}, {hasty(3), wrap}, {hasty(3), tokens(noToken())}} {
		for _, a := range []*answer{status(503), status(404), broken(io.EOF), broken(dialError())} {
			if err := newClient(t, closer{answers(a), &closed}, change...).Call(t.Context(), get(), nil); err == nil {
				t.Error("succeeded")
			}
		}
	}
	if n := closed.Load(); n > 0 {
		t.Errorf("idle connections were closed %d times", n)
	}
}

// Closing idle connections is for a client's own. Those of the user's client may
// be in use elsewhere.
func TestCloseIdleConnectionsKeepsSharedOnes(t *testing.T) {
	t.Parallel()
	users := &http.Transport{}
	t.Cleanup(users.CloseIdleConnections)
	for want, network := range map[int64]http.RoundTripper{2: nil, 1: users} {
		server, conns := socket(t, say(200, `{"result":true}`))
		client := newClient(t, network, server)
		for range 2 {
			succeed(t, client, get())
			client.CloseIdleConnections()
		}
		if n := conns.Load(); n != want {
			t.Errorf("%d connections, want %d", n, want)
		}
	}
}

func TestManyConnectionsAreKept(t *testing.T) {
	t.Parallel()
	const goroutines, rounds = 64, 5
	var waiting sync.WaitGroup
	server, conns := socket(t, func(w http.ResponseWriter, _ *http.Request) {
		waiting.Done()
		waiting.Wait()
		io.WriteString(w, `{"result":true}`)
	})
	client := closing(t, server)
	for range rounds {
		together(t, client, &waiting, goroutines)
	}
	// A connection may come back to the pool a moment after its answer was read.
	if n := conns.Load(); n > goroutines*11/10 {
		t.Errorf("%d connections for %d goroutines", n, goroutines)
	}
}

// A request that cannot be repeated below the client looks like any other of
// net/http's: same lines, no chunks, a length where one is usual.
func TestRequestsLookLikeThoseOfNetHTTP(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last string
		plain := &http.Transport{DialContext: accept(t, func(c net.Conn) { record1(c, &last) })}
		defer plain.CloseIdleConnections()
		for _, network := range []http.RoundTripper{plain, wrapped{plain}} {
			client := newClient(t, network)
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
				for _, replay := range []api.Replay{api.ReplayOnce, api.ReplaySafe} {
					for _, body := range []api.Body{nil, api.Form{"a": {"b"}}, api.Form{}} {
						succeed(t, client, touch(method, replay, body))
						got := last
						var content io.Reader
						header := http.Header{"User-Agent": {"test"}}
						if form, ok := body.(api.Form); ok {
							content = strings.NewReader(url.Values(form).Encode())
							header.Set("Content-Type", "application/x-www-form-urlencoded")
						}
						const address = "http://fastio.test/api/current/things/t1/"
						r, err := http.NewRequestWithContext(t.Context(), method, address, content)
						if err != nil {
							t.Fatal(err)
						}
						r.Header = header
						resp, err := plain.RoundTrip(r)
						if err != nil {
							t.Fatal(err)
						}
						resp.Body.Close()
						if diff := cmp.Diff(last, got); diff != "" {
							t.Errorf("%s, replay %d, body %v (-want +got)\n%s", method, replay, body, diff)
						}
					}
				}
			}
		}
	})
}

// record1 answers the requests of an HTTP/1 connection and keeps the last as text, its
// header lines in lower case and in order.
func record1(c net.Conn, last *string) {
	r := bufio.NewReader(c)
	for {
		head := ""
		for !strings.HasSuffix(head, "\r\n\r\n") {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			head += line
		}
		lines := strings.Split(strings.ToLower(head), "\r\n")
		slices.Sort(lines)
		body := make([]byte, 3)
		if !slices.Contains(lines, "content-length: 3") {
			body = nil
		}
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		*last = strings.Join(lines, "\n") + string(body)
		io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	}
}

// A pool of connections that the server has closed costs a call no more than its
// attempts: the last one does not try another of them.
func TestLastAttemptUsesANewConnection(t *testing.T) {
	t.Parallel()
	const idle = 8
	table.Each(t, map[string]http.RoundTripper{
		"of the client": nil, "of the caller": &http.Transport{MaxIdleConnsPerHost: idle},
	}, func(t *testing.T, network http.RoundTripper) {
		var waiting sync.WaitGroup
		var closed atomic.Bool
		var conns sync.Map // by address, those that are closed when they bring a request
		server, count := socket(t, func(w http.ResponseWriter, r *http.Request) {
			if !closed.Load() {
				conns.Store(r.RemoteAddr, true)
				waiting.Done()
				waiting.Wait()
			} else if _, stale := conns.Load(r.RemoteAddr); stale {
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, `{"result":true}`)
		})
		client := newClient(t, network, server)
		together(t, client, &waiting, idle)
		closed.Store(true)
		var raw api.Response
		err := client.Call(t.Context(), get(), nil, api.WithResponse(&raw))
		if n := count.Load(); err != nil || raw.Attempts != 3 || n != idle+1 {
			t.Errorf("%d attempts on %d connections, want 3 on %d: %v", raw.Attempts, n, idle+1, err)
		}
		client.CloseIdleConnections()
	})
}

// An outage of many connections at a time is not one of the server's: repeats on
// new ones do not wait for each other's budget.
func TestStaleConnectionsCostNoBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var conns sync.Map
		network := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if c, _ := conns.LoadOrStore(r.Context().Value(http.LocalAddrContextKey),
				new(atomic.Int64)); c.(*atomic.Int64).Add(1)%2 == 0 {
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, `{"result":true}`)
		})
		client := newClient(t, network)
		for range 200 {
			succeed(t, client, get())
		}
	})
}

// unwritable is a connection whose writes fail on demand.
type unwritable struct {
	net.Conn
	broken  *atomic.Bool
	written int // of a write that fails
}

func (c unwritable) Write(b []byte) (int, error) {
	if c.broken.Load() {
		n, _ := c.Conn.Write(b[:c.written])
		return n, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return c.Conn.Write(b)
}

// A request of which not a byte was written is sent again whatever a repeat would
// do; one that was written in part is not.
func TestUnwrittenRequestsAreSentAgain(t *testing.T) {
	t.Parallel()
	for written, want := range map[int]int{0: 2, 1: 1, 100: 1} {
		synctest.Test(t, func(t *testing.T) {
			var broken atomic.Bool
			network := serve(t, say(200, `{"result":true}`))
			dial, dials := network.DialContext, 0
			network.DialContext = func(ctx context.Context, n, address string) (net.Conn, error) {
				c, err := dial(ctx, n, address)
				dials++
				if dials == 1 {
					c = unwritable{c, &broken, written}
				}
				return c, err
			}
			client := newClient(t, network)
			succeed(t, client, post())
			broken.Store(true)
			var raw api.Response
			if err := client.Call(t.Context(), post(), nil, api.WithResponse(&raw)); raw.Attempts != want ||
				(err == nil) != (want > 1) {
				t.Errorf("%d bytes written: %d attempts, want %d; %v", written, raw.Attempts, want, err)
			}
		})
	}
}

// A connection that breaks may have carried the request before, even if what it
// breaks with is not TLS.
func TestPostIsSentOnceOnABrokenConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var handled atomic.Int64
		dial := accept(t, func(c net.Conn) {
			if r, err := http.ReadRequest(bufio.NewReader(tls.Server(c, serverTLS()))); err == nil {
				handled.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(c, "<html>the gateway is lost\r\n")
		})
		network := &http.Transport{DialContext: dial, TLSClientConfig: clientTLS()}
		err := newClient(t, network, base("https://fastio.test")).Call(t.Context(), post(), nil)
		if n := handled.Load(); err == nil || n != 1 {
			t.Errorf("handled %d times: %v", n, err)
		}
	})
}
