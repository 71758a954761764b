package transport_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
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
)

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
	var waiting sync.WaitGroup
	var closed atomic.Bool
	var conns sync.Map // by address, those that are closed when they bring a request
	server, _ := socket(t, func(w http.ResponseWriter, r *http.Request) {
		if !closed.Load() {
			conns.Store(r.RemoteAddr, true)
			waiting.Done()
			waiting.Wait()
		} else if _, stale := conns.Load(r.RemoteAddr); stale {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, `{"result":true}`)
	})
	client := closing(t, server)
	waiting.Add(idle)
	together(t, client, idle)
	closed.Store(true)
	var raw api.Response
	if err := client.Call(t.Context(), get(api.WithResponse(&raw)), nil); err != nil || raw.Attempts != 3 {
		t.Errorf("%d attempts, %v", raw.Attempts, err)
	}
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

// unwritable is a connection whose writes fail when it is told to.
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
			dialing(network, func(ctx context.Context, n, address string) (net.Conn, error) {
				c, err := dial(ctx, n, address)
				if dials++; dials == 1 {
					c = unwritable{c, &broken, written}
				}
				return c, err
			})
			client := newClient(t, network)
			succeed(t, client, post())
			broken.Store(true)
			var raw api.Response
			if err := client.Call(t.Context(), post(api.WithResponse(&raw)), nil); raw.Attempts != want ||
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
