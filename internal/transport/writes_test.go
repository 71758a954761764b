package transport_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

// A layer is code of the program's between a client and the network up. No host is at
// down.
type layer struct {
	network    func(up, down http.RoundTripper) http.RoundTripper // nil is up
	middleware func(up http.RoundTripper) func(*config)
}

func (l layer) client(t *testing.T, up *http.Transport, change ...func(*config)) *transport.Client {
	t.Helper()
	down := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, dialError()
	}}
	if l.middleware != nil {
		change = append(change, l.middleware(up))
	}
	if l.network == nil {
		return newClient(t, up, change...)
	}
	return newClient(t, l.network(up, down), change...)
}

// layers are programs that send requests again, or whose errors look as if nothing had
// been sent.
func layers() map[string]layer {
	return map[string]layer{
		"none":                        {},
		"a transport of another kind": {network: func(up, _ http.RoundTripper) http.RoundTripper { return wrapped{up} }},
		"a protocol of its own":       {network: registered},
		"a transport with a dial error": {network: func(up, _ http.RoundTripper) http.RoundTripper {
			return stub.Network(func(r *http.Request) (*http.Response, error) { return failingAfter(r, up) })
		}},
		"a transport that fails over": {network: func(up, down http.RoundTripper) http.RoundTripper {
			return failover{down, up}
		}},
		"a transport that fails over to no host": {network: func(up, down http.RoundTripper) http.RoundTripper {
			return failover{up, down}
		}},
		"middleware with a dial error": {middleware: func(http.RoundTripper) func(*config) { return wrap(failingAfter) }},
		"middleware that retries":      {middleware: func(http.RoundTripper) func(*config) { return wrap(resending) }},
		"middleware that returns its first error": {middleware: func(http.RoundTripper) func(*config) {
			return wrap(resendingInVain)
		}},
		"middleware that fails over": {
			network: func(_, down http.RoundTripper) http.RoundTripper { return down },
			middleware: func(up http.RoundTripper) func(*config) {
				return middleware(func(next http.RoundTripper) http.RoundTripper { return failover{next, up} })
			},
		},
	}
}

// registered returns a transport of net/http that does not send requests itself.
func registered(up, _ http.RoundTripper) http.RoundTripper {
	quiet := stub.Network(func(r *http.Request) (*http.Response, error) {
		return up.RoundTrip(r.WithContext(untraced{r.Context()}))
	})
	t := &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}} // without HTTP/2
	t.RegisterProtocol("http", quiet)
	t.RegisterProtocol("https", quiet)
	return t
}

// untraced is a context without the values of another one.
type untraced struct{ context.Context }

func (untraced) Value(any) any { return nil }

// failingAfter returns a dial error after it has sent a request.
func failingAfter(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err == nil {
		resp.Body.Close()
	}
	return nil, fmt.Errorf("%w after %w", dialError(), cmp.Or(err, io.EOF))
}

// resending sends a request up to three times.
func resending(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	again := replays(r)
	for n := 1; ; n++ {
		resp, err := next.RoundTrip(again())
		switch {
		case n == 3, err == nil && resp.StatusCode < http.StatusInternalServerError:
			return resp, err
		case err == nil:
			resp.Body.Close()
		}
	}
}

// resendingInVain sends a request twice if the first one fails, whose error it returns.
func resendingInVain(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	again := replays(r)
	resp, err := next.RoundTrip(again())
	if err == nil {
		return resp, nil
	}
	if resp, _ := next.RoundTrip(again()); resp != nil {
		resp.Body.Close()
	}
	return nil, err
}

// replays returns a function that returns r with a body of its own.
func replays(r *http.Request) func() *http.Request {
	var content []byte
	if r.Body != nil {
		content, _ = io.ReadAll(r.Body)
	}
	return func() *http.Request {
		again := r.Clone(r.Context())
		if r.Body != nil {
			again.Body = io.NopCloser(bytes.NewReader(content))
		}
		return again
	}
}

// failover sends a request to the second host if the first fails.
type failover struct{ first, second http.RoundTripper }

func (f failover) RoundTrip(r *http.Request) (*http.Response, error) {
	again := replays(r)
	resp, first := f.first.RoundTrip(again())
	if first == nil {
		return resp, nil
	}
	resp, second := f.second.RoundTrip(again())
	if second != nil {
		return nil, fmt.Errorf("%w, then %w", first, second)
	}
	return resp, nil
}

// Whatever code of the program is around the network, a call that must be sent once
// reaches the server once, unless that has refused it.
func TestWritesReachTheServerOnce(t *testing.T) {
	t.Parallel()
	table.Each(t, layers(), func(t *testing.T, l layer) {
		table.Bubbles(t, spoils(), func(t *testing.T, s spoil) {
			for name, c := range classes() {
				if c.replay != api.ReplayOnce {
					continue
				}
				for _, times := range []int64{1, 9} {
					network, address, arrived := s.network(t, times)
					err := l.client(t, network, base(address)).Call(t.Context(), c.request(), nil, api.WithTimeout(s.timeout))
					if n := arrived.Load(); n > 1 && s.status != http.StatusTooManyRequests {
						t.Errorf("%s that fails %d times arrived %d times: %v", name, times, n, err)
					}
				}
			}
		})
	})
}

// A refusal proves that a write was not carried out, whichever transport returns it.
func TestRefusedWritesAreSentAgain(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]*answer{
		"for a rate limit":     status(429, "Retry-After", "3"),
		"for an expired token": failed(401, 10011),
	}, func(t *testing.T, refusal *answer) {
		for _, own := range []bool{true, false} {
			var arrived atomic.Int64
			var rt http.RoundTripper
			network := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if arrived.Add(1) == 1 {
					say(refusal.status, refusal.body, refusal.header...)(w, r)
					return
				}
				io.WriteString(w, `{"result":true}`)
			})
			rt = network
			if !own {
				rt = wrapped{network}
			}
			succeed(t, newClient(t, rt, tokens(renewed())), post())
			if n := arrived.Load(); n != 2 {
				t.Errorf("own %t: %d requests", own, n)
			}
		}
	})
}

// A redirect is followed, also of a call that must be sent once. If that fails nothing
// proves that the server has done nothing.
func TestRedirectedOnceIsFollowedOnce(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]bool{"to the server": true, "to a refused dial": false}, func(t *testing.T, up bool) {
		var dials, began, ended int
		network := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/end/" {
				ended++
				return
			}
			began++
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, "/end/", http.StatusFound)
		})
		dial := network.DialContext
		network.DialContext = func(ctx context.Context, n, address string) (net.Conn, error) {
			dials++
			if dials == 2 && !up {
				return nil, dialError()
			}
			return dial(ctx, n, address)
		}
		err := newClient(t, network).Call(t.Context(), request(http.MethodGet, api.ReplayOnce), nil)
		if began != 1 || (ended == 1) != up || !up && !errors.Is(err, syscall.ECONNREFUSED) || up && err != nil {
			t.Errorf("%d and %d requests, %v", began, ended, err)
		}
	})
}

// A request of middleware that is refused, because another one is under way, was not sent:
// if that one was not sent either, the call is sent again.
func TestRefusedSecondRequestDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var dials, arrived int
		network := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			arrived++
			io.WriteString(w, `{"result":true}`)
		})
		dial := network.DialContext
		network.DialContext = func(ctx context.Context, n, address string) (net.Conn, error) {
			dials++
			if dials == 1 {
				time.Sleep(time.Second)
				return nil, dialError()
			}
			return dial(ctx, n, address)
		}
		hedge := wrap(func(r *http.Request, next http.RoundTripper) (resp *http.Response, err error) {
			again := replays(r)
			first, done := again(), make(chan struct{})
			go func() {
				defer close(done)
				resp, err = next.RoundTrip(first) //nolint:bodyclose // the client closes it
			}()
			synctest.Wait() // until it dials, or has its response
			if second, err := next.RoundTrip(again()); err == nil {
				second.Body.Close()
				t.Error("a second request was sent")
			}
			<-done
			return resp, err
		})
		succeed(t, newClient(t, network, hedge), post())
		if dials != 2 || arrived != 1 {
			t.Errorf("%d requests after %d dials", arrived, dials)
		}
	})
}

// failing is a body whose content is followed by an error.
type failing struct {
	content string
	err     error
}

func (failing) ContentType() string { return "text/plain" }
func (b failing) Open() (io.ReadCloser, int64, error) {
	return io.NopCloser(io.MultiReader(bytes.NewReader([]byte(b.content)), errorReader{b.err})), -1, nil
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) {
	synctest.Wait() // until what came before has arrived
	return 0, r.err
}

// The error of a body does not prove that nothing of it was sent.
func TestFailingBodiesAreSentOnce(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]error{
		"of a dial":                      dialError(),
		"of a name":                      &net.DNSError{Err: "no such host", Name: "elsewhere.test"},
		"of a write":                     &net.OpError{Op: "write", Net: "tcp", Err: io.ErrClosedPipe},
		"as of a closed idle connection": errors.New("http: server closed idle connection"),
	}, func(t *testing.T, cause error) {
		var arrived atomic.Int64
		network := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			arrived.Add(1)
			io.Copy(io.Discard, r.Body)
		})
		r := post()
		r.Body = failing{"content", cause}
		if err := newClient(t, network).Call(t.Context(), r, nil); !errors.Is(err, cause) || arrived.Load() != 1 {
			t.Errorf("%d requests, %v", arrived.Load(), err)
		}
	})
}

// The network and the code around it may fail in any order.
func TestRandomWritesReachTheServerOnce(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, layers(), func(t *testing.T, l layer) {
		network := newUnreliable(t, rand.New(rand.NewPCG(uint64(len(t.Name())), 7)))
		client := l.client(t, network.transport)
		arrived := 0
		for i := range table.Rounds(500, 12_000) {
			id := strconv.Itoa(i)
			_ = client.Call(t.Context(), post(), nil, api.WithHeader("X-Call", id))
			n := network.carriedOut(id)
			arrived += n
			if n > 1 {
				t.Fatalf("write %d was carried out %d times", i, n)
			}
		}
		if arrived == 0 {
			t.Error("no write was carried out")
		}
	})
}
