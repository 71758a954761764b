package fastiotest_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fastioToken(token string) fastio.Option { return fastio.WithToken(token) }

func inProfile(p api.Profile) events.Query { return events.Query{Profile: p, Limit: 100} }

// spy is a test that fails without failing this one.
type spy struct {
	testing.TB

	errors, fatal string
	cleanups      []func()
}

func (s *spy) Helper()           {}
func (s *spy) Cleanup(f func())  { s.cleanups = append(s.cleanups, f) }
func (s *spy) Error(args ...any) { s.errors += fmt.Sprintln(args...) }
func (s *spy) Fatal(args ...any) { s.fatal += fmt.Sprintln(args...); runtime.Goexit() }

// run lets f fail s.
func (s *spy) run(f func(*spy)) {
	var running sync.WaitGroup
	running.Go(func() { f(s) })
	running.Wait()
}

func (s *spy) end() {
	for _, f := range s.cleanups {
		f()
	}
}

func newClient(t *testing.T, opts ...fastio.Option) *fastio.Client {
	t.Helper()
	client, err := fastio.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
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
			var serving sync.WaitGroup
			serving.Go(func() { _ = server.Serve(listener) })
			network := &http.Transport{DialContext: dial}
			t.Cleanup(func() {
				network.CloseIdleConnections()
				_ = server.Close()
				serving.Wait()
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
			me, err := newClient(t, options(t)...).Account.Me(t.Context())
			if err != nil || me.ID != s.User().ID {
				t.Errorf("signed in as %v, want %q; %v", me, s.User().ID, err)
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
				client := newClient(t, ways(s)[name](t)...)
				start := time.Now()
				all, err := stub.All(client.Events.All(t.Context(), inProfile(api.Org(s.Org().ID))))
				if err != nil || len(all) < 900 || s.Refusals() != 0 { // some events are internal
					t.Errorf("read %d events of 1000 with %d refusals, want none; %v", len(all), s.Refusals(), err)
				}
				if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
					t.Errorf("took %v, want the delay of a minute and a little", took)
				}
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
	var got []string
	for _, r := range s.Requests() {
		got = append(got, fmt.Sprint(r.Op, " ", r.Method, " ", r.Path, "?", r.Query, " ", string(r.Body), " ",
			r.Header.Get("Authorization"), " ", r.Status))
	}
	bearer := "Bearer " + s.Token()
	if diff := cmp.Diff([]string{
		"account.Me GET /api/current/user/me/details/?output=terse  " + bearer + " 200",
		"events.Ack POST /api/current/event/en0wh3r3t0b3f0und123456789xyz/ack/? " +
			"event_id=en0wh3r3t0b3f0und123456789xyz " + bearer + " 404",
	}, got); diff != "" {
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
	for i, want := range []string{"", "scope_admin_required", ""} {
		_, err := client.Account.Me(t.Context())
		if e, refused := errors.AsType[*api.Error](err); refused != (want != "") || refused && e.Reason != want {
			t.Errorf("call %d ended with %v, want %q", i, err, want)
		}
	}
}

func TestInvalidateCursors(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{})
	s.Generate(fastiotest.History{Workspace: room.ID, Events: 10})
	log := s.Client(t).Events
	q := events.Query{Profile: api.Workspace(room.ID), Limit: 2}
	p, err := log.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	q.Cursor = p.Pagination.NextCursor
	if _, err := log.Search(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	s.InvalidateCursors()
	if _, err := log.Search(t.Context(), q); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	const seed = `{
		"users": [{"id": "grace", "first_name": "Grace"}],
		"orgs": [{"id": "navy", "domain": "navy", "owner": "grace"}],
		"workspaces": [{"id": "compilers", "org_id": "navy", "name": "Compilers"}],
		"keys": [{"token": "the-key-of-grace", "user_id": "grace"}]
	}`
	if err := s.Load(strings.NewReader(seed)); err != nil {
		t.Fatal(err)
	}
	rooms, err := stub.All(s.Client(t, fastio.WithToken("the-key-of-grace")).Account.Workspaces.All(t.Context()))
	if err != nil || len(rooms) != 1 || rooms[0].Name != "Compilers" {
		t.Errorf("found %+v, %v", rooms, err)
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
		if _, err := s.Client(t).Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
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
		basic := base64.StdEncoding.EncodeToString([]byte(u.Email + ":" + u.Password))
		return send(t, s, http.MethodGet, origin+"user/auth/", "", "", "Authorization", "Basic "+basic)
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
