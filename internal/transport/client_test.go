package transport_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// scriptedServer answers what its function returns.
type scriptedServer func(r *http.Request) (status int, header http.Header, body string)

func (f scriptedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, body := f(r)
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func (f scriptedServer) client(t *testing.T, opts ...fastio.Option) *fastio.Client {
	t.Helper()
	c, err := fastio.New(append([]fastio.Option{
		fastio.WithBaseURL("http://fastio.test"), fastio.WithToken("a-token-of-some-length"),
		fastio.WithHTTPClient(&http.Client{Transport: f}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tappedListener reports each connection it accepts.
type tappedListener struct {
	net.Listener
	tell func(net.Conn)
}

func (l tappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.tell(c)
	}
	return c, err
}

// A connection that breaks may have carried the request before.
func TestPostIsSentOnceOnABrokenConnection(t *testing.T) {
	t.Parallel()
	var handled atomic.Int64
	var lines sync.Map
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		handled.Add(1)
		if line, ok := lines.Load(r.RemoteAddr); ok {
			_, _ = line.(net.Conn).Write([]byte("<html>the gateway is lost\r\n"))
			_ = line.(net.Conn).Close()
		}
	}))
	s.Listener = tappedListener{s.Listener, func(c net.Conn) { lines.Store(c.RemoteAddr().String(), c) }}
	s.StartTLS()
	defer s.Close()
	c, err := fastio.New(fastio.WithBaseURL(s.URL), fastio.WithHTTPClient(s.Client()))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Call(t.Context(), &api.Request{
		Op: "comments.Create", Method: http.MethodPost, Path: api.Path("/current/comments/"), Body: api.JSON("x"),
	}, nil)
	if n := handled.Load(); err == nil || n != 1 {
		t.Errorf("handled %d times: %v", n, err)
	}
}

// An empty body is not of unknown length.
func TestEmptyBodiesHaveALengthOfZero(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heads := make(chan []string, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var head []string
			for in := bufio.NewScanner(c); in.Scan() && in.Text() != ""; {
				head = append(head, strings.ToLower(in.Text()))
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{\"result\":true}")
			_ = c.Close()
			heads <- head
		}
	}()
	c, err := fastio.New(fastio.WithBaseURL("http://" + l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method string
		body   api.Body
		length bool
	}{
		{http.MethodGet, nil, false},
		{http.MethodPost, nil, true},
		{http.MethodPatch, nil, true},
		{http.MethodDelete, nil, false},
		{http.MethodPost, api.Form{}, true},
	} {
		if err := c.Call(t.Context(), &api.Request{
			Op: "x.Y", Method: tt.method, Path: api.Path("/current/x/"), Body: tt.body,
		}, nil); err != nil {
			t.Fatal(err)
		}
		head := <-heads
		chunked := slices.ContainsFunc(head, func(s string) bool { return strings.HasPrefix(s, "transfer-encoding") })
		if chunked || slices.Contains(head, "content-length: 0") != tt.length {
			t.Errorf("%s with %v: %q", tt.method, tt.body, head)
		}
	}
}

// panicking is a source that panics at first.
type panicking struct{ left int }

func (p *panicking) Token(context.Context) (api.Token, error) {
	if p.left--; p.left >= 0 {
		panic("out of tokens")
	}
	return api.Token{AccessToken: api.NewSecret("fine")}, nil
}

// A panic during a call must release its slot of the rate limit.
func TestPanicReleasesTheRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const places = 5
		c := scriptedServer(func(*http.Request) (int, http.Header, string) {
			return http.StatusOK, nil, `{"events":[]}`
		}).client(t, fastio.WithTokenSource(&panicking{places}))
		search := func() (err error) {
			defer func() { _ = recover() }()
			_, err = c.Events.Search(t.Context(), events.Query{Profile: api.Workspace("1")}, api.Timeout(time.Minute))
			return err
		}
		for range places {
			_ = search()
		}
		if err := search(); err != nil {
			t.Error(err)
		}
	})
}

func TestInvalidHeadersAndMethodsAreNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		c := scriptedServer(func(*http.Request) (int, http.Header, string) {
			sent++
			return http.StatusServiceUnavailable, nil, ""
		}).client(t, fastio.WithRetry(fastio.Retry{Base: math.MaxInt64, Cap: math.MaxInt64}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Ping(ctx); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("pauses beyond reason: %v", err)
		}
		sent = 0
		_, header := c.Ping(ctx, api.Header("Bad Name", "x"))
		method := c.Call(ctx, &api.Request{Op: "x.Y", Method: "BAD METHOD", Path: api.Path("/current/x/")}, nil)
		for name, err := range map[string]error{"header": header, "method": method} {
			if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != name || sent > 0 {
				t.Errorf("%s: sent %d times: %v", name, sent, err)
			}
		}
	})
}

// The request of an opened answer does not show what it was signed with.
func TestOpenHidesCredentials(t *testing.T) {
	t.Parallel()
	c := scriptedServer(func(r *http.Request) (int, http.Header, string) {
		return http.StatusOK, nil, r.Header.Get("Authorization") + r.Header.Get("X-Ve-Password")
	}).client(t)
	resp, err := c.Open(t.Context(), &api.Request{
		Op: "x.Y", Method: http.MethodGet, Path: api.Path("/current/x/"), Password: api.NewSecret("open sesame"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	h := resp.Request.Header
	if h.Get("Authorization") != "" || h.Get("X-Ve-Password") != "" {
		t.Errorf("the request shows %v", h)
	}
	if sent, _ := io.ReadAll(resp.Body); !strings.Contains(string(sent), "open sesame") {
		t.Errorf("sent %q", sent)
	}
}

// Rate headers that arrive later do not shorten a Retry-After.
func TestRetryAfterOutlivesLaterHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		full := http.Header{
			"X-Ve-Limit-Max": {"60"}, "X-Ve-Limit-Avail": {"0"}, "X-Ve-Limit-Expires": {
				strconv.FormatInt(time.Now().Unix()+33, 10),
			},
			"Date": {time.Now().UTC().Format(http.TimeFormat)},
		}
		c := scriptedServer(func(*http.Request) (int, http.Header, string) {
			if n++; n == 1 { // arrives after the refusal
				time.Sleep(time.Second)
				return http.StatusOK, full, `{"result":true}`
			}
			return http.StatusTooManyRequests, http.Header{"Retry-After": {"30"}}, `{"result":false}`
		}).client(t, fastio.WithMaxWait(5*time.Second))
		var slow sync.WaitGroup
		slow.Go(func() { _, _ = c.Ping(t.Context()) })
		synctest.Wait()
		_, _ = c.Ping(t.Context())
		slow.Wait()
		start := time.Now()
		_, err := c.Ping(t.Context())
		if took := time.Since(start); !errors.Is(err, api.ErrRateLimited) || took > 0 {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// A small answer that is a large page of nothing is refused before it takes up
// memory.
func TestPageOfMillionsOfRowsIsTooLarge(t *testing.T) { //nolint:paralleltest // it measures all allocations
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, _ = io.WriteString(z, `{"result":true,"events":[`)
	for range 8 << 10 {
		_, _ = io.WriteString(z, strings.Repeat("{},", 341))
	}
	_, _ = io.WriteString(z, `{}],"pagination":{"has_more":false}}`)
	_ = z.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(body.Bytes())
	}))
	t.Cleanup(server.Close)
	client, err := fastio.New(fastio.WithBaseURL(server.URL), fastio.WithToken("token"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = client.Events.Search(t.Context(), events.Query{Profile: api.Workspace("4219876543210987654")})
	runtime.ReadMemStats(&after)
	if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, api.ErrTooLarge) || taken > 64 {
		t.Errorf("%d MiB were taken, %v", taken, err)
	}
}
