package transport_test

import (
	"bufio"
	"context"
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
	"github.com/fastio-go/fastio/fastiotest"
)

// A request that cannot be repeated below the client looks like any other of
// net/http's: same lines, no chunks, a length where one is usual.
func TestRequestsLookLikeThoseOfNetHTTP(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan string, 1)
		plain := &http.Transport{DialContext: accept(t, func(c net.Conn) { record1(c, requests) })}
		defer plain.CloseIdleConnections()
		for _, network := range []http.RoundTripper{plain, wrapped{plain}} {
			client := newClient(t, network)
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
				for _, replay := range []api.Replay{api.ReplayOnce, api.ReplaySafe} {
					for _, body := range []api.Body{nil, api.Form{"a": {"b"}}, api.Form{}} {
						var content io.Reader
						if form, ok := body.(api.Form); ok {
							content = strings.NewReader(url.Values(form).Encode())
						}
						r, err := http.NewRequestWithContext(t.Context(), method,
							"http://fastio.test/api/current/things/t1/", content)
						if err != nil {
							t.Fatal(err)
						}
						r.Header.Set("User-Agent", "test")
						if body != nil {
							r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
						}
						resp, err := plain.RoundTrip(r)
						if err != nil {
							t.Fatal(err)
						}
						resp.Body.Close()
						want := <-requests
						succeed(t, client, touch(method, replay, body))
						if diff := cmp.Diff(want, <-requests); diff != "" {
							t.Errorf("%s, replay %d, body %v (-want +got)\n%s", method, replay, body, diff)
						}
					}
				}
			}
		}
	})
}

// record1 answers the requests of an HTTP/1 connection and sends each on as text,
// its header lines in lower case and in order.
func record1(c net.Conn, requests chan<- string) {
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
		requests <- strings.Join(lines, "\n") + string(body)
		io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	}
}

// Over HTTP/2 a request without a body ends with its header, as that of net/http
// does, unless it must be sent once; that one is followed by an empty frame. None
// announces a length that it does not have.
func TestHTTP2RequestsWithoutABody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &h2Server{fault: frames.answer}
		client := overHTTP2(t, s, h2Networks()["own transport"])
		for replay, open := range map[api.Replay]int64{api.ReplayOnce: 1, api.ReplaySafe: 0} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				s.open.Store(0)
				succeed(t, client, touch(method, replay, nil))
				if n := s.open.Load(); n != open {
					t.Errorf("%s, replay %d: %d headers were not the end of the request, want %d", method, replay, n,
						open)
				}
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		listener, dial := fastiotest.New().Listen()
		rt, address := h2Networks()["own transport"](dial)
		var got *http.Request
		server := &http.Server{
			Handler:   http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }),
			TLSConfig: serverTLS(),
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			server.ServeTLS(listener, "", "")
		}()
		defer func() { server.Close(); <-done }()
		client := newClient(t, rt, base(address))
		for _, replay := range []api.Replay{api.ReplayOnce, api.ReplaySafe} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				succeed(t, client, touch(method, replay, nil))
				length := got.Header.Get("Content-Length")
				if got.ProtoMajor != 2 || len(got.TransferEncoding) > 0 || length != "" && length != "0" {
					t.Errorf("%s, replay %d: %s, %v, length %q", method, replay, got.Proto, got.TransferEncoding,
						length)
				}
			}
		}
	})
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
	var raw api.Answer
	if err := client.Call(t.Context(), get(api.Raw(&raw)), nil); err != nil || raw.Attempts != 3 {
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
			var raw api.Answer
			if err := client.Call(t.Context(), post(api.Raw(&raw)), nil); raw.Attempts != want ||
				(err == nil) != (want > 1) {
				t.Errorf("%d bytes written: %d attempts, want %d; %v", written, raw.Attempts, want, err)
			}
		})
	}
}
