package fastio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// scriptedPlatform answers what its function says.
type scriptedPlatform func(r *http.Request) (status int, header http.Header, body string)

func (f scriptedPlatform) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, body := f(r)
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func (f scriptedPlatform) client(t *testing.T, opts ...fastio.Option) *fastio.Client {
	t.Helper()
	c, err := fastio.New(append([]fastio.Option{
		fastio.WithBaseURL("http://fastio.test"), fastio.WithToken("a-token-of-some-length"), fastio.WithHTTPClient(&http.Client{Transport: f}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// isPing answers the question for the server's time.
func isPing(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/ping/") }

// tapped tells of each connection it accepts.
type tapped struct {
	net.Listener
	tell func(net.Conn)
}

func (l tapped) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.tell(c)
	}
	return c, err
}

// A line that stops speaking TLS may have carried the request before.
func TestAPostIsSentOnceOverALineThatBreaks(t *testing.T) {
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
	s.Listener = tapped{s.Listener, func(c net.Conn) { lines.Store(c.RemoteAddr().String(), c) }}
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

// Nothing to send is no body, not one of unknown length.
func TestEmptyBodies(t *testing.T) {
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
		if err := c.Call(t.Context(), &api.Request{Op: "x.Y", Method: tt.method, Path: api.Path("/current/x/"), Body: tt.body}, nil); err != nil {
			t.Fatal(err)
		}
		head := <-heads
		chunked := slices.ContainsFunc(head, func(s string) bool { return strings.HasPrefix(s, "transfer-encoding") })
		if chunked || slices.Contains(head, "content-length: 0") != tt.length {
			t.Errorf("%s with %v: %q", tt.method, tt.body, head)
		}
	}
}

// The raw answer is that of the page the loop is at, though the next is under
// way.
func TestRawWhileIterating(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := scriptedPlatform(func(*http.Request) (int, http.Header, string) {
			n++
			return http.StatusOK, nil, fmt.Sprintf(`{"events":[{"event_id":"e%d"}],"pagination":{"has_more":%t,"next_cursor":"c%d"}}`, n, n < 4, n)
		}).client(t)
		var raw api.Answer
		pages := 0
		for e, err := range c.Events.All(t.Context(), events.Query{Profile: api.Workspace("1")}, api.Raw(&raw)) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // the next page comes
			if pages++; !strings.Contains(string(raw.Body), string(e.ID)) {
				t.Errorf("at %s the answer is %s", e.ID, raw.Body)
			}
		}
		if pages != 4 {
			t.Errorf("%d pages", pages)
		}
	})
}

// A call's own bound ends the patience of a walk.
func TestWalkWithATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		c := scriptedPlatform(func(r *http.Request) (int, http.Header, string) {
			if isPing(r) {
				return http.StatusOK, nil, `{"result":true}`
			}
			attempts++
			return http.StatusTooManyRequests, http.Header{"Retry-After": {"3"}}, `{"result":false}`
		}).client(t)
		var last error
		for _, err := range c.Events.Walk(events.Query{Profile: api.Workspace("1")}, "", api.Timeout(time.Second)).Events(t.Context()) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) || !errors.Is(last, api.ErrRateLimited) || attempts != 1 {
			t.Errorf("after %d attempts: %v", attempts, last)
		}
	})
}

// An event that moves to a later page while a walk is left comes once, however
// the walk is taken up.
func TestWalkTakenUpInPlace(t *testing.T) {
	t.Parallel()
	for _, byCursor := range []bool{true, false} {
		one, two := `{"event_id":"a"},{"event_id":"b"}`, `{"event_id":"c"}`
		c := scriptedPlatform(func(r *http.Request) (int, http.Header, string) {
			switch {
			case isPing(r):
				return http.StatusOK, nil, `{"result":true}`
			case r.URL.Query().Get("cursor") == "2":
				return http.StatusOK, nil, `{"events":[` + two + `],"pagination":{"has_more":false}}`
			}
			return http.StatusOK, nil, `{"events":[` + one + `],"pagination":{"has_more":true,"next_cursor":"2"}}`
		}).client(t)
		q := events.Query{Profile: api.Workspace("1")}
		var got []string
		take := func(w *events.Walk, n int) {
			for e, err := range w.Events(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, string(e.ID)); len(got) == n {
					break
				}
			}
		}
		w := c.Events.Walk(q, "")
		take(w, 1)
		one, two = `{"event_id":"b"},{"event_id":"n"}`, `{"event_id":"c"},{"event_id":"a"}`
		if byCursor {
			w = c.Events.Walk(q, w.Cursor())
		}
		take(w, 4)
		take(c.Events.Walk(q, w.Cursor()), math.MaxInt)
		if diff := cmp.Diff([]string{"a", "b", "n", "c"}, got); diff != "" {
			t.Errorf("by cursor %t (-want +got):\n%s", byCursor, diff)
		}
	}
}

// Nobody can say whether an event without an id was there before.
func TestEventsWithoutAnID(t *testing.T) {
	t.Parallel()
	c := scriptedPlatform(func(*http.Request) (int, http.Header, string) {
		return http.StatusOK, nil, `{"events":[{"event":"x"},{"event":"y"},{"event":"z"}],"pagination":{"has_more":false}}`
	}).client(t)
	n := 0
	for range c.Events.Walk(events.Query{Profile: api.Workspace("1")}, "").Events(t.Context()) {
		n++
	}
	if n != 3 {
		t.Errorf("%d events were handed out, want 3", n)
	}
}

// A cursor that leads to a page without a way on must not lead back.
func TestACursorThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	c := scriptedPlatform(func(r *http.Request) (int, http.Header, string) {
		next := `"next_cursor":"1",`
		if r.URL.Query().Get("cursor") == "1" {
			next = ""
		}
		return http.StatusOK, nil, `{"events":[{"event_id":"e"}],"pagination":{` + next + `"has_more":true}}`
	}).client(t)
	var last error
	n := 0
	for _, err := range c.Events.All(t.Context(), events.Query{Profile: api.Workspace("1")}) {
		n, last = n+1, err
	}
	if last == nil || n != 2 {
		t.Errorf("%d rows, then %v", n, last)
	}
}

// panicking is a source that has seen better days.
type panicking struct{ left int }

func (p *panicking) Token(context.Context) (api.Token, error) {
	if p.left--; p.left >= 0 {
		panic("out of tokens")
	}
	return api.Token{AccessToken: api.NewSecret("fine")}, nil
}

// A panic on the road must not take a place in the rate windows with it.
func TestPanicsKeepNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const places = 5
		c := scriptedPlatform(func(*http.Request) (int, http.Header, string) {
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

func TestOddCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		c := scriptedPlatform(func(*http.Request) (int, http.Header, string) {
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

// An opened answer tells of its request, but not what it was signed with.
func TestOpenHidesCredentials(t *testing.T) {
	t.Parallel()
	c := scriptedPlatform(func(r *http.Request) (int, http.Header, string) {
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

// A refusal of an introspection is one, whatever its status.
func TestIntrospectRefused(t *testing.T) {
	t.Parallel()
	c := scriptedPlatform(func(*http.Request) (int, http.Header, string) {
		return http.StatusOK, nil, `{"result":"no","error":{"code":10175,"text":"No."}}`
	}).client(t)
	_, err := c.Introspect(t.Context(), api.Path("/current/events/search/"))
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != 10175 {
		t.Errorf("got %v", err)
	}
}

// What others use up does not undo what the server has ordered.
func TestARefusalOutlivesAnAnnouncement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		full := http.Header{
			"X-Ve-Limit-Max": {"60"}, "X-Ve-Limit-Avail": {"0"}, "X-Ve-Limit-Expires": {strconv.FormatInt(time.Now().Unix()+33, 10)},
			"Date": {time.Now().UTC().Format(http.TimeFormat)},
		}
		c := scriptedPlatform(func(*http.Request) (int, http.Header, string) {
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

// The platform answers 404 if it finds none of several nodes, with the reason of each.
func TestBulkDetailsReturnsTheErrorOfEachNodeIfAllFail(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	folder := s.AddNode(fastiotest.Node{Profile: room.ID, Kind: "folder", Name: "Old"})
	const missing = api.OpaqueID("2m1ss1ngm1ss1ngm1ss1ngm1ss1ng")
	c := s.Client(t)
	stored, err := c.Storage.GetMany(t.Context(), api.Workspace(room.ID), []api.OpaqueID{missing, "nonsense"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	known, err := c.Metadata.Details(t.Context(), room.ID, []api.OpaqueID{missing, "nonsense", api.Root, folder.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		call string
		got  []*api.NodeError
		want []error
	}{
		{"storage", stored.Errors, []error{api.ErrNotFound, api.ErrInvalid}},
		{"metadata", known.Errors, []error{api.ErrNotFound, api.ErrInvalid, api.ErrInvalid, api.ErrInvalid}},
	} {
		if len(tc.got) != len(tc.want) {
			t.Errorf("%s: %v", tc.call, tc.got)
			continue
		}
		for i, e := range tc.got {
			if !errors.Is(e, tc.want[i]) || e.Code == 0 {
				t.Errorf("%s: %v, want %v", tc.call, e, tc.want[i])
			}
		}
	}
}
