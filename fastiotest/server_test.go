package fastiotest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fastioToken(token string) fastio.Option { return fastio.WithToken(token) }

func inProfile(p api.Profile) events.Query { return events.Query{Profile: p} }

// spy is a test that fails without failing this one.
type spy struct {
	testing.TB

	errors, fatal string
	cleanups      []func()
}

func (s *spy) Helper()           {}
func (s *spy) Cleanup(f func())  { s.cleanups = append(s.cleanups, f) }
func (s *spy) Error(args ...any) { s.errors += join(args) }
func (s *spy) Fatal(args ...any) { s.fatal += join(args); runtime.Goexit() }
func (s *spy) run(f func(*spy))  { done := make(chan struct{}); go s.start(f, done); <-done }
func (s *spy) start(f func(*spy), done chan struct{}) {
	defer close(done)
	f(s)
}

func (s *spy) end() {
	for _, f := range s.cleanups {
		f()
	}
}

func join(args []any) string {
	var b strings.Builder
	for _, a := range args {
		switch a := a.(type) {
		case error:
			b.WriteString(a.Error())
		case string:
			b.WriteString(a)
		}
	}
	return b.String() + "\n"
}

// ways reach a Server, each on another road.
func ways(s *fastiotest.Server) map[string]func(t *testing.T) []fastio.Option {
	return map[string]func(t *testing.T) []fastio.Option{
		"as a round tripper": func(*testing.T) []fastio.Option { return s.ClientOptions() },
		"over a socket": func(t *testing.T) []fastio.Option {
			t.Helper()
			return []fastio.Option{fastio.WithBaseURL(s.Start(t)), fastio.WithToken(s.Token())}
		},
		"over connections in memory": func(t *testing.T) []fastio.Option {
			t.Helper()
			return []fastio.Option{
				fastio.WithBaseURL("http://any.test"), fastio.WithHTTPClient(s.StartInMemory(t)),
				fastio.WithToken(s.Token()),
			}
		},
		"over a listener": func(t *testing.T) []fastio.Option {
			t.Helper()
			listener, dial := s.Listen()
			server := &http.Server{Handler: s}
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = server.Serve(listener)
			}()
			network := &http.Transport{DialContext: dial}
			t.Cleanup(func() {
				network.CloseIdleConnections()
				_ = server.Close()
				<-done
			})
			return []fastio.Option{
				fastio.WithBaseURL("http://any.test"), fastio.WithHTTPClient(&http.Client{Transport: network}),
				fastio.WithToken(s.Token()),
			}
		},
	}
}

func TestEveryWayLeadsToTheServer(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	for name, options := range ways(s) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := fastio.New(options(t)...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.CloseIdleConnections)
			me, err := client.Account.Me(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if me.ID != s.User().ID {
				t.Errorf("signed in as %q, want %q", me.ID, s.User().ID)
			}
		})
	}
}

// Minutes pass in no time, and nothing is left behind.
func TestInVirtualTime(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"as a round tripper", "over connections in memory", "over a listener"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := fastiotest.New()
				s.Generate(fastiotest.History{Workspace: s.AddWorkspace(fastiotest.Workspace{}).ID, Events: 1000})
				s.Fail(fastiotest.Fault{Op: "events.Search", Count: 1, Delay: time.Minute})
				client, err := fastio.New(ways(s)[name](t)...)
				if err != nil {
					t.Fatal(err)
				}
				start, n := time.Now(), 0
				for _, err := range client.Events.All(t.Context(),
					events.Query{Profile: api.Org(s.Org().ID), Limit: 100}) {
					if err != nil {
						t.Fatal(err)
					}
					n++
				}
				if n < 900 || s.Refusals() != 0 { // some are nobody's to read
					t.Errorf("read %d events of 1000 with %d refusals, want none", n, s.Refusals())
				}
				if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
					t.Errorf("took %v, want the delay of a minute and a little", took)
				}
				client.CloseIdleConnections()
			})
		})
	}
}

func TestClientTakesOptionsThatWin(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	_, err := s.Client(t, fastio.WithToken("nobody")).Account.Me(t.Context())
	if !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("got %v, want ErrUnauthenticated", err)
	}
	wrong := &spy{TB: t}
	wrong.run(func(s *spy) { fastiotest.New().Client(s, fastio.WithToken("")) })
	if !strings.Contains(wrong.fatal, "WithToken") {
		t.Errorf("the test ended with %q, want what is wrong with the options", wrong.fatal)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	client := s.Client(t)
	if _, err := client.Account.Me(t.Context(), api.Terse); err != nil {
		t.Fatal(err)
	}
	if err := client.Events.Ack(t.Context(), "en0wh3r3t0b3f0und123456789xyz"); !errors.Is(err, api.ErrNotFound) {
		t.Fatal(err)
	}
	type seen struct {
		Op, Method, Path, Query, Body, Credential string
		Status                                    int
	}
	var got []seen
	for _, r := range s.Requests() {
		got = append(got,
			seen{r.Op, r.Method, r.Path, r.Query, string(r.Body), r.Header.Get("Authorization"), r.Status})
	}
	bearer := "Bearer " + s.Token()
	want := []seen{
		{"account.Me", "GET", "/api/current/user/me/details/", "output=terse", "", bearer, http.StatusOK},
		{
			"events.Ack", "POST", "/api/current/event/en0wh3r3t0b3f0und123456789xyz/ack/", "",
			"event_id=en0wh3r3t0b3f0und123456789xyz", bearer, http.StatusNotFound,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	s.Fail(fastiotest.Fault{
		Op: "account.Me", Skip: 1, Count: 1, Status: http.StatusForbidden, Code: 10767, Text: "Too narrow.",
		Params: map[string]any{"reason": "scope_admin_required"},
	})
	client := s.Client(t)
	var got []string
	for range 3 {
		_, err := client.Account.Me(t.Context())
		if e, refused := errors.AsType[*api.Error](err); refused {
			got = append(got, e.Reason)
			continue
		}
		got = append(got, "fine")
	}
	if diff := cmp.Diff([]string{"fine", "scope_admin_required", "fine"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvalidateCursors(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{})
	s.Generate(fastiotest.History{Workspace: room.ID, Events: 10})
	client := s.Client(t)
	q := events.Query{Profile: api.Workspace(room.ID), Limit: 2}
	p, err := client.Events.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	q.Cursor = p.Pagination.NextCursor
	if _, err := client.Events.Search(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	s.InvalidateCursors()
	if _, err := client.Events.Search(t.Context(), q); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	err := s.Load(strings.NewReader(`{
		"users": [{"id": "grace", "first_name": "Grace"}],
		"orgs": [{"id": "navy", "domain": "navy", "owner": "grace"}],
		"workspaces": [{"id": "compilers", "org_id": "navy", "name": "Compilers"}],
		"keys": [{"token": "the-key-of-grace", "user_id": "grace"}]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for w, err := range s.Client(t, fastio.WithToken("the-key-of-grace")).Account.Workspaces.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, w.Name)
	}
	if diff := cmp.Diff([]string{"Compilers"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := s.Load(strings.NewReader(`{"rooms": []}`)); err == nil {
		t.Error("a seed file with a slip was taken")
	}
}

func TestRoundTripEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		s.Fail(fastiotest.Fault{Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://fastio.test/api/current/ping/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.RoundTrip(req)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

func TestSameSeedSameWorld(t *testing.T) {
	t.Parallel()
	world := func(seed uint64) []any {
		s := fastiotest.New(func(o *fastiotest.Options) { o.Seed = seed })
		return []any{s.User(), s.Org(), s.Token(), s.AddWorkspace(fastiotest.Workspace{})}
	}
	if diff := cmp.Diff(world(7), world(7)); diff != "" {
		t.Errorf("two worlds of one seed differ:\n%s", diff)
	}
	if cmp.Equal(world(7), world(8)) {
		t.Error("two seeds make the same world")
	}
}

func TestSignInOfAUserInTheServer(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	signIn := func(u fastiotest.User) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://fastio.test/api/current/user/auth/",
			http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(u.Email, u.Password)
		p, err := s.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Body.Close()
		body, err := io.ReadAll(p.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	ada := s.User()
	if ada.Password != fastiotest.DefaultPassword || !strings.Contains(signIn(ada), `"2factor":false`) {
		t.Errorf("the first user cannot sign in with %q", ada.Password)
	}
	if code := s.OneTimeCode(ada.ID); code != "" {
		t.Errorf("code %q without a second factor", code)
	}
	guarded := s.AddUser(fastiotest.User{Email: "grace@example.test", Password: "nanosecond", TwoFactor: "totp"})
	if !strings.Contains(signIn(guarded), `"2factor":true`) || len(s.OneTimeCode(guarded.ID)) != 6 {
		t.Errorf("no second factor: %s, code %q", signIn(guarded), s.OneTimeCode(guarded.ID))
	}
}
