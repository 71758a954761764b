package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/realtime"
)

// wired is a platform with real sockets on a network in memory.
type wired struct {
	*platform
	client *http.Client
	serve  http.HandlerFunc

	mu   sync.Mutex
	seen []*http.Request
}

// newWired serves each socket by a function.
func newWired(t *testing.T, serve http.HandlerFunc) *wired {
	t.Helper()
	w := &wired{platform: newPlatform(), serve: serve}
	listener, dial := fastiotest.New().Listen()
	var handlers sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		w.mu.Lock()
		w.seen = append(w.seen, r)
		w.mu.Unlock()
		w.serve(rw, r)
	})}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(listener) })
	network := &http.Transport{DialContext: dial}
	w.client = &http.Client{Transport: network}
	t.Cleanup(func() {
		network.CloseIdleConnections()
		_ = server.Close()
		done.Wait()
		handlers.Wait()
	})
	return w
}

func (w *wired) subscribe(t *testing.T, o *realtime.SubscribeOptions) *consumer {
	t.Helper()
	return subscribed(t, realtime.New(w, network("http", w.client)), api.Workspace(room), o)
}

// accepted runs do with an accepted socket and then serves it to its end.
func accepted(t *testing.T, do func(ctx context.Context, ws *websocket.Conn)) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = ws.CloseNow() }()
		do(r.Context(), ws)
	}
}

func echoPings(ctx context.Context, ws *websocket.Conn) { _, _, _ = ws.Read(ctx) }

func TestHandshake(t *testing.T) {
	t.Parallel()
	const host, origin = "api.fastio.test", "http://api.fastio.test"
	type row struct {
		o    realtime.SubscribeOptions
		want []string // host, URI, origin, authorization
	}
	table.Bubbles(t, map[string]row{
		"by default": {realtime.SubscribeOptions{}, []string{host, "/api/websocket/?canary-token-1", origin, ""}},
		"with a named parameter": {
			realtime.SubscribeOptions{Placement: realtime.TokenPlacementNamedQuery},
			[]string{host, "/api/websocket/?token=canary-token-1", origin, ""},
		},
		"with a header": {
			realtime.SubscribeOptions{Placement: realtime.TokenPlacementHeader},
			[]string{host, "/api/websocket/", origin, "Bearer canary-token-1"},
		},
		"at another address": {
			realtime.SubscribeOptions{Address: "ws://live.test:81/{token}/x", Origin: "https://go.fast.io"},
			[]string{"live.test:81", "/canary-token-1/x", "https://go.fast.io", ""},
		},
	}, func(t *testing.T, test row) {
		w := newWired(t, accepted(t, echoPings))
		c := w.subscribe(t, &test.o)
		time.Sleep(time.Minute)
		if mode(c) != realtime.ModeSocket || len(w.seen) != 1 {
			t.Fatalf("%d handshakes, status %+v", len(w.seen), c.sub.Status())
		}
		r := w.seen[0]
		got := []string{r.Host, r.RequestURI, r.Header.Get("Origin"), r.Header.Get("Authorization")}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, field := range []string{"Sec-Websocket-Protocol", "Sec-Websocket-Extensions", "Cookie"} {
			if r.Header.Get(field) != "" {
				t.Errorf("the handshake has %v", r.Header)
			}
		}
	})
}

// A socket carries frames and pings for a day and is closed normally.
func TestRealSocket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan error, 1)
		w := newWired(t, nil)
		w.serve = accepted(t, func(ctx context.Context, ws *websocket.Conn) {
			for i := range 1000 {
				time.Sleep(time.Minute)
				text := fmt.Sprintf(`{"response":"activity","activity":["storage:2%d"]}`, i)
				if err := ws.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
					t.Error(err)
				}
			}
			_, _, err := ws.Read(ctx)
			end <- err
		})
		w.life = 100 * 24 * time.Hour
		c := w.subscribe(t, &realtime.SubscribeOptions{PingInterval: 24 * time.Hour})
		time.Sleep(1001 * time.Minute)
		if got := c.news(); len(got) != 1000 {
			t.Errorf("%d changes", len(got))
		}
		if err := c.stop(t); err != nil {
			t.Error(err)
		}
		if err := <-end; websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("the socket ended with %v", err)
		}
	})
}

// A peer that neither reads nor writes is detected within half a minute, and
// Close takes less than a second.
func TestSilentPeer(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]time.Duration{
		"closed by us": 10 * time.Second, "detected": 31 * time.Second,
	}, func(t *testing.T, after time.Duration) {
		over := make(chan struct{})
		defer close(over)
		w := newWired(t, accepted(t, func(context.Context, *websocket.Conn) { <-over }))
		c := w.subscribe(t, nil)
		time.Sleep(time.Second)
		if mode(c) != realtime.ModeSocket {
			t.Fatal("no socket")
		}
		time.Sleep(after - time.Second)
		st := c.sub.Status()
		if found := st.Sockets > 1 || st.Mode == realtime.ModePoll; found != (after > 30*time.Second) {
			t.Errorf("after %s the status is %+v", after, st)
		}
	})
}

// The socket is replaced after a message over the limit and after any kind of end.
func TestBrokenSockets(t *testing.T) {
	t.Parallel()
	written := func(n int) func(ctx context.Context, ws *websocket.Conn) {
		return func(ctx context.Context, ws *websocket.Conn) {
			_ = ws.Write(ctx, websocket.MessageText, []byte(`{"response":"`+strings.Repeat("x", n)+`"}`))
			_, _, _ = ws.Read(ctx)
		}
	}
	closed := func(code websocket.StatusCode) func(ctx context.Context, ws *websocket.Conn) {
		return func(_ context.Context, ws *websocket.Conn) { _ = ws.Close(code, "the end") }
	}
	type row struct {
		do     func(ctx context.Context, ws *websocket.Conn)
		breaks bool
	}
	table.Bubbles(t, map[string]row{
		"a message of the largest size": {written(1<<20 - 15), false},
		"a larger one":                  {written(1 << 20), true},
		"an end without a close frame":  {func(context.Context, *websocket.Conn) {}, true},
		"an end with a code":            {closed(4001), true},
		"a normal end":                  {closed(websocket.StatusNormalClosure), true},
	}, func(t *testing.T, test row) {
		w := newWired(t, accepted(t, test.do))
		c := w.subscribe(t, nil)
		time.Sleep(3 * time.Minute)
		if n := c.sub.Status().Sockets; test.breaks != (n > 1) || n > 30 {
			t.Errorf("%d sockets in three minutes", n)
		}
		w.stamp("members")
		time.Sleep(4 * time.Minute)
		if got := c.news(); test.breaks && (len(got) == 0 || got[0] != "members") {
			t.Errorf("reported %v", got)
		}
	})
}

// The error of a rejected handshake has the status and Retry-After, but no
// address.
func TestRejectedHandshake(t *testing.T) {
	t.Parallel()
	const forbidden, unavailable = http.StatusForbidden, http.StatusServiceUnavailable
	type row struct {
		serve      http.HandlerFunc
		status     int
		retryAfter time.Duration
	}
	table.Bubbles(t, map[string]row{
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(forbidden) }, forbidden, 0},
		"with Retry-After": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(unavailable)
		}, unavailable, 90 * time.Second},
		"redirected": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://foreign.test/", http.StatusFound)
		}, 302, 0},
		"with a page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, 200, 0},
	}, func(t *testing.T, test row) {
		w := newWired(t, test.serve)
		c := w.subscribe(t, nil)
		time.Sleep(time.Second / 2)
		st := c.sub.Status()
		e, ok := errors.AsType[*realtime.HandshakeError](st.Err)
		if !ok || e.Status != test.status || e.RetryAfter != test.retryAfter || st.Retry < test.retryAfter {
			t.Errorf("the status is %+v", st)
		}
		for _, r := range w.seen {
			if r.Host != "api.fastio.test" {
				t.Errorf("the request has the host %s", r.Host)
			}
		}
	})
}

// No error of a dial contains the token (P11).
func TestDialErrorsHideTheToken(t *testing.T) {
	t.Parallel()
	refused := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route")}
	}
	type row struct {
		spoil func(w *wired, o *realtime.SubscribeOptions)
		says  string
	}
	table.Bubbles(t, map[string]row{
		"of the network": {func(w *wired, _ *realtime.SubscribeOptions) {
			w.client = &http.Client{Transport: &http.Transport{DialContext: refused}}
		}, "dial tcp: no route"},
		"of a dialer": {func(_ *wired, o *realtime.SubscribeOptions) { o.Dialer = leakingDialer{} }, "could not be opened"},
		"of a transport": {func(w *wired, _ *realtime.SubscribeOptions) {
			w.client = &http.Client{Transport: leakingTransport{}}
		}, "could not be opened"},
	}, func(t *testing.T, test row) {
		w := newWired(t, nil)
		var seen strings.Builder // written by one goroutine at a time, and not after the end
		o := &realtime.SubscribeOptions{OnStatus: func(_ context.Context, s realtime.Status) {
			fmt.Fprintf(&seen, "%v %+v %#v\n", s.Err, s, s)
		}}
		test.spoil(w, o)
		c := w.subscribe(t, o)
		time.Sleep(time.Minute)
		_ = c.stop(t)
		if got := seen.String(); strings.Contains(got, "canary") || !strings.Contains(got, test.says) {
			t.Errorf("reported %s", got)
		}
	})
}

type leakingDialer struct{}

func (leakingDialer) Dial(_ context.Context, address string, _ http.Header) (realtime.Conn, error) {
	return nil, fmt.Errorf("cannot dial: %w", &url.Error{Op: "GET", URL: address, Err: errors.New("bad " + address)})
}

type leakingTransport struct{}

func (leakingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("no way to " + r.URL.String())
}

// A Service without a network uses polls only.
func TestServiceWithoutANetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		c := subscribed(t, realtime.New(p, nil), api.User(api.Me), nil)
		time.Sleep(time.Minute)
		p.stamp("upload:1")
		time.Sleep(2 * time.Second)
		c.want(t, "by polls", "upload:1")
		if len(p.minted) > 0 || mode(c) != realtime.ModePoll {
			t.Errorf("%d tokens, mode %s", len(p.minted), mode(c))
		}
	})
}

func TestEveryKindOfProfile(t *testing.T) {
	t.Parallel()
	for _, m := range []realtime.Mode{realtime.ModeSocket, realtime.ModePoll} {
		synctest.Test(t, func(t *testing.T) {
			s := fastiotest.New()
			w := s.AddWorkspace(seed.Workspace{Name: "Design"})
			share := s.AddShare(seed.Share{Workspace: w.ID, Title: "Portal"})
			file := s.AddNode(seed.Node{Profile: w.ID, Name: "Mill.pdf"})
			fileShare := s.AddFileShare(seed.FileShare{
				Workspace: w.ID, Node: file.ID, Owner: s.User().ID, CommentsEnabled: true,
			})
			client := s.Client(t, fastio.WithHTTPClient(s.StartInMemory(t)))
			event := func(e seed.Event) func() { return func() { s.AddEvent(e) } }
			comment := func(c seed.Comment) func() {
				c.Node, c.User, c.Body = file.ID, s.User().ID, "Brass?"
				return func() { s.AddComment(c) }
			}
			me, onFile := s.User().ID, activity.FieldOf(activity.NameComments, api.OpaqueID(file.ID).Plain())
			for _, test := range []struct {
				profile api.Profile
				change  func()
				field   activity.Field
			}{
				{api.User(api.Me), event(seed.Event{Name: "user_updated", User: me, CallingUser: me}), "settings"},
				{api.Org(api.ID(s.Org().ID)), event(seed.Event{Name: "org_updated", Org: s.Org().ID}), "settings"},
				{api.Workspace(api.ID(w.ID)), comment(seed.Comment{Profile: w.ID}), onFile},
				{api.Workspace(api.ID(w.FolderName)), func() { s.AddNode(seed.Node{Profile: w.ID}) }, "storage"},
				{api.Share(api.ID(share.ID)), event(seed.Event{Name: "share_updated", Share: share.ID}), "settings"},
				{api.FileShare(api.ID(fileShare.ID)), comment(seed.Comment{FileShare: fileShare.ID}), onFile},
			} {
				o := &realtime.SubscribeOptions{PollOnly: m == realtime.ModePoll}
				c := subscribed(t, client.Realtime, test.profile, o)
				time.Sleep(10 * time.Second)
				if mode(c) != m || len(c.news()) > 0 {
					t.Fatalf("%v: the status is %+v", test.profile, c.sub.Status())
				}
				test.change()
				time.Sleep(2 * time.Second)
				if !slices.ContainsFunc(c.all(), func(change *realtime.Change) bool {
					return change.Field.Plain() == test.field.Plain()
				}) {
					t.Errorf("%v by %s: reported %v, want %s", test.profile, m, c.news(), test.field)
				}
				_ = c.stop(t)
			}
		})
	}
}

// With a custom RoundTripper there are no sockets, and changes are reported by
// polls.
func TestRoundTripper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		w := s.AddWorkspace(seed.Workspace{Name: "Design"})
		c := subscribed(t, s.Client(t).Realtime, api.Workspace(api.ID(w.ID)), nil)
		time.Sleep(time.Minute)
		s.AddEvent(seed.Event{Name: "workspace_updated", Workspace: w.ID})
		time.Sleep(2 * time.Second)
		c.want(t, "by polls", "settings")
		if e, ok := errors.AsType[*realtime.HandshakeError](c.sub.Status().Err); !ok || e.Status != 501 {
			t.Errorf("the status is %+v", c.sub.Status())
		}
	})
}

// Sockets also work with a server that uses HTTP/2 and TLS.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(func() { _ = s.Close() })
	network := server.Client()
	network.Timeout = time.Second // does not apply to the socket
	client, err := fastio.New(fastio.WithBaseURL(server.URL), fastio.WithToken(s.Token()), fastio.WithHTTPClient(network))
	if err != nil {
		t.Fatal(err)
	}
	live := make(chan struct{})
	var once sync.Once
	o := &realtime.SubscribeOptions{OnStatus: func(_ context.Context, st realtime.Status) {
		if st.Mode == realtime.ModeSocket {
			once.Do(func() { close(live) })
		}
	}}
	sub, err := client.Realtime.Subscribe(t.Context(), api.Workspace(api.ID(w.ID)), o)
	if err != nil {
		t.Fatal(err)
	}
	<-live
	time.Sleep(1500 * time.Millisecond)
	s.AddEvent(seed.Event{Name: "workspace_updated", Workspace: w.ID})
	for change, err := range sub.Changes() {
		if err != nil || change.Field != "settings" {
			t.Errorf("got %+v, %v", change, err)
		}
		break
	}
	if st := sub.Status(); st.Mode != realtime.ModeSocket || st.Sockets != 1 {
		t.Errorf("the status is %+v", st)
	}
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
}
