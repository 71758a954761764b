package fastiotest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
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

// The vector of RFC 7636, appendix B.
const (
	codeVerifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	codeChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	redirectURI   = "http://127.0.0.1:4711/callback"
)

// fields sends a request and returns the members of the answer.
func fields(t *testing.T, s *fastiotest.Server, method, path string, values url.Values) map[string]any {
	t.Helper()
	body := values.Encode()
	if method == http.MethodGet {
		path, body = path+"?"+body, ""
	}
	text := send(t, s, method, origin+path, formType, body)
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer
}

// ask starts a login for everything and returns where its user decides.
func ask(t *testing.T, s *fastiotest.Server, clientID string, more ...string) string {
	t.Helper()
	query := url.Values{
		"client_id": {clientID}, "redirect_uri": {redirectURI}, "state": {"st4te"}, "code_challenge": {codeChallenge},
		"code_challenge_method": {"S256"}, "access_mode": {"rwa"}, "account_settings": {"1"},
		"response_format": {"json"},
	}
	for i := 0; i < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	login, _ := fields(t, s, http.MethodGet, "oauth/authorize/", query)["login_url"].(string)
	if login == "" {
		t.Fatal("no login URL")
	}
	return login
}

func exchange(t *testing.T, s *fastiotest.Server, clientID, code string) map[string]any {
	t.Helper()
	return fields(t, s, http.MethodPost, "oauth/token/", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {clientID}, "redirect_uri": {redirectURI}, "code": {code},
		"code_verifier": {codeVerifier},
	})
}

func parameterOf(t *testing.T, target, name string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

func TestApprove(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	app := s.AddOAuthClient(fastiotest.OAuthClient{Name: "App", RedirectURIs: []string{"http://127.0.0.1/callback"}})
	guest := s.AddUser(fastiotest.User{FirstName: "Guest"})
	org := "org:" + string(s.Org().ID) + ":r"
	type row struct {
		decision fastiotest.Decision
		user     fastiotest.User
		scopes   string
	}
	table.Each(t, map[string]row{
		"all that was asked for": {fastiotest.Decision{}, s.User(), `["user:*:rwa"]`},
		"account settings too": {
			fastiotest.Decision{AccountSettings: true},
			s.User(),
			`["user:*:rwa","userdetails:*:rw"]`,
		},
		"less":             {fastiotest.Decision{Mode: "r"}, s.User(), `["user:*:r"]`},
		"one organization": {fastiotest.Decision{Scopes: []string{org}}, s.User(), `["` + org + `"]`},
		"for another user": {fastiotest.Decision{User: guest.ID}, guest, `["user:*:rwa"]`},
	}, func(t *testing.T, test row) {
		outcome, err := s.Approve(ask(t, s, app.ID), test.decision)
		if err != nil {
			t.Fatal(err)
		}
		if parameterOf(t, outcome.Redirect, "state") != "st4te" ||
			!strings.HasPrefix(outcome.Redirect, redirectURI+"?") {
			t.Errorf("leads to %s", outcome.Redirect)
		}
		granted := exchange(t, s, app.ID, parameterOf(t, outcome.Redirect, "code"))
		if granted["scopes"] != test.scopes {
			t.Errorf("granted %v", granted)
		}
		me, err := s.Client(t, fastioToken(granted["access_token"].(string))).Account.Me(t.Context())
		if err != nil || me.ID != test.user.ID {
			t.Errorf("signed in as %v, %v", me, err)
		}
	})
}

func TestApproveWhereTheCodeIsShown(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	app := s.AddOAuthClient(fastiotest.OAuthClient{RedirectURIs: []string{redirectURI}})
	outcome, err := s.Approve(ask(t, s, app.ID, "display_code", "true"), fastiotest.Decision{})
	if err != nil || outcome.Redirect != "" {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if granted := exchange(t, s, app.ID, outcome.Code); granted["access_token"] == nil {
		t.Errorf("%v", granted)
	}
}

func TestDeny(t *testing.T) {
	t.Parallel()
	s := fastiotest.New(func(o *fastiotest.Options) { o.OAuth.DenialWithoutState = true })
	app := s.AddOAuthClient(fastiotest.OAuthClient{RedirectURIs: []string{redirectURI}})
	login := ask(t, s, app.ID)
	outcome, err := s.Deny(login)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fastiotest.Outcome{Redirect: redirectURI + "?error=access_denied"}, outcome); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := s.Approve(login, fastiotest.Decision{}); err == nil {
		t.Error("what was denied can be approved")
	}
}

// listen opens the WebSocket of a profile.
func listen(
	t *testing.T, s *fastiotest.Server, network *http.Client, base string, profile api.ProfileID,
) *websocket.Conn {
	t.Helper()
	target := base + "/api/current/websocket/auth/" + string(profile)
	answer := send(t, network.Transport, http.MethodGet, target, "", "", signed(s)...)
	_, token, _ := strings.Cut(answer, `"auth_token":"`)
	token, _, _ = strings.Cut(token, `"`)
	address := "ws" + strings.TrimPrefix(base, "http") + "/api/websocket/?" + token
	opts := &websocket.DialOptions{HTTPClient: network}
	conn, _, err := websocket.Dial(t.Context(), address, opts) //nolint:bodyclose // it leaves none
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// Sockets are there over every network, break on request and end with the test.
func TestSockets(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, s *fastiotest.Server, network *http.Client, base string) {
		t.Helper()
		s.FailSockets(fastiotest.SocketFault{Count: 1, Junk: fastiotest.BinaryJunk})
		room := s.AddWorkspace(fastiotest.Workspace{})
		conn := listen(t, s, network, base, room.ID)
		s.AddNode(fastiotest.Node{Profile: room.ID})
		var kinds []websocket.MessageType
		for range 2 {
			kind, _, err := conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, kind)
		}
		if kinds[0] != websocket.MessageBinary || kinds[1] != websocket.MessageText {
			t.Errorf("got messages of the kinds %v, want junk ahead of text", kinds)
		}
		if n := s.Sockets(); n != 1 {
			t.Errorf("%d sockets, want 1", n)
		}
		if n := s.DropSockets(room.ID); n != 1 || s.Sockets() != 0 {
			t.Errorf("%d dropped and %d left, want 1 and none", n, s.Sockets())
		}
		if _, _, err := conn.Read(t.Context()); err == nil || websocket.CloseStatus(err) != -1 {
			t.Errorf("got %v, want a reset", err)
		}
		listen(t, s, network, base, room.ID) // left open for the test to end
	}
	t.Run("over a socket", func(t *testing.T) {
		t.Parallel()
		s := fastiotest.New()
		base := s.Start(t)
		network := &http.Transport{}
		t.Cleanup(network.CloseIdleConnections)
		check(t, s, &http.Client{Transport: network}, base)
	})
	t.Run("over connections in memory", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := fastiotest.New()
			check(t, s, s.StartInMemory(t), "http://any.test")
		})
	})
}

func TestCutPollsAndClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		network := s.StartInMemory(t)
		room := s.AddWorkspace(fastiotest.Workspace{})
		conn := listen(t, s, network, "http://any.test", room.ID)
		time.AfterFunc(time.Minute, s.CutPolls)
		time.AfterFunc(2*time.Minute, func() { _ = s.Close() })
		begin := time.Now()
		ended := make(chan error, 1)
		go func() { // which answers pings, too
			_, _, err := conn.Read(context.Background()) //nolint:usetesting // a context that ends would end conn
			ended <- err
		}()
		poll := "http://any.test/api/current/activity/poll/" + string(room.ID) + "/?wait=95"
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, poll, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Token())
		resp, err := network.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if took := time.Since(begin); resp.StatusCode != http.StatusGatewayTimeout || took != time.Minute {
			t.Errorf("a poll was answered with %s after %v, want 504 after a minute", resp.Status, took)
		}
		err = <-ended
		if took := time.Since(begin); websocket.CloseStatus(err) != websocket.StatusGoingAway || took != 2*time.Minute {
			t.Errorf("the socket ended with %v after %v, want 1001 after two minutes", err, took)
		}
	})
}

// What a Server fills in is what its clients read.
func TestTheWorldIsWhatClientsRead(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	share := s.AddShare(fastiotest.Share{Workspace: room.ID, Title: "Portal"})
	e := s.AddEvent(fastiotest.Event{Name: "workspace_storage_file_added", Workspace: room.ID, ObjectName: "Mill.pdf"})
	if room.Org != s.Org().ID || share.Org != s.Org().ID {
		t.Errorf("the workspace is in %q and the share in %q, want %q", room.Org, share.Org, s.Org().ID)
	}
	elsewhere := s.AddWorkspace(fastiotest.Workspace{Org: s.AddOrg(fastiotest.Org{}).ID})
	if got := s.AddShare(fastiotest.Share{Workspace: elsewhere.ID}).Org; got != elsewhere.Org {
		t.Errorf("a share is in %q, its workspace in %q", got, elsewhere.Org)
	}
	if got := s.AddShare(fastiotest.Share{}).Org; got != s.Org().ID {
		t.Errorf("a share that stands alone is in %q, want %q", got, s.Org().ID)
	}
	guest := s.AddUser(fastiotest.User{FirstName: "Guest"})
	s.SetMember(room.ID, guest.ID, fastiotest.Member)
	key := s.AddKey(fastiotest.Key{User: guest.ID})

	client := s.Client(t, fastioToken(key.Token))
	me, err := client.Account.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if me.ID != guest.ID || me.FirstName != "Guest" || me.EmailAddress != guest.Email {
		t.Errorf("got %+v, want %+v", me, guest)
	}
	got, err := client.Events.Get(t.Context(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !got.ID.Equal(e.ID) || got.WorkspaceID != room.ID || got.OrgID != e.Org || string(got.Category) != e.Category {
		t.Errorf("got %+v, want %+v", got, e)
	}
	s.SetMember(room.ID, guest.ID, "")
	if _, err := client.Account.Workspaces.Get(t.Context(), room.ID); err == nil {
		t.Error("who was taken out of a workspace can still read it")
	}
	s.Generate(fastiotest.History{Workspace: room.ID, Events: 20})
	all, err := stub.All(s.Client(t).Events.All(t.Context(), inProfile(api.Workspace(room.ID))))
	if err != nil || len(all) < 15 { // some events are internal
		t.Errorf("found %d events of 20, %v", len(all), err)
	}
}

// What is added for comments and polls is what answers hold.
func TestCommentsAndActivity(t *testing.T) {
	t.Parallel()
	s := fastiotest.New(func(o *fastiotest.Options) { o.Comments.Limit = 5 })
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	plan := s.AddNode(fastiotest.Node{Profile: room.ID, Name: "Mill.pdf"})
	link := s.AddFileShare(fastiotest.FileShare{Node: plan.ID, CommentsEnabled: true})
	first := s.AddComment(fastiotest.Comment{Profile: room.ID, Node: plan.ID, User: s.User().ID, Body: "Taller"})
	s.AddComment(fastiotest.Comment{FileShare: link.ID, User: s.User().ID, Body: "Wider"})
	if link.Workspace != room.ID || link.Access != "named_people" || plan.Kind != "file" || first.Created.IsZero() {
		t.Errorf("filled in %+v, %+v, %+v", link, plan, first)
	}
	const since = "/?lastactivity=2000-01-01+00:00:00"
	commented := `comments:` + string(plan.ID) + `":"`
	for path, want := range map[string]string{
		"comments/workspace/" + string(room.ID) + "/" + string(plan.ID) + "/": `"remaining":4`,
		"comments/" + string(first.ID) + "/details/":                          `"body":"Taller"`,
		"activity/poll/" + string(room.ID) + since:                            commented,
		"activity/poll/" + string(link.ID) + since:                            commented,
	} {
		if body := read(t, s, path); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
}

func TestTheAgentFollowsItsScript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New(func(o *fastiotest.Options) { o.AI.Stream.Newline = "\r" })
		room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
		s.Script(fastiotest.Script{Match: "answer", Text: "It is 42.", NoCitations: true})
		s.Fail(fastiotest.Fault{Op: "ai.Turns.Stream", Stream: &fastiotest.StreamStyle{Newline: "\r\n"}})
		agent := "workspace/" + string(room.ID) + "/ai/agent/"
		created := send(t, s, http.MethodPost, origin+agent, formType, "question=What+is+the+answer%3F", signed(s)...)
		id := func(name string) string {
			_, rest, _ := strings.Cut(created, `"`+name+`":"`)
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		got := read(t, s, agent+id("thread_id")+"/message/"+id("turn_id")+"/read/", "Accept", "text/event-stream")
		if !strings.Contains(got, "event: delta\r\ndata: {\"delta\":\"It is 42.\"}\r\n\r\n") {
			t.Errorf("%q", got)
		}
	})
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	plan := s.AddNode(fastiotest.Node{Profile: room.ID, Name: "plan.pdf"})
	field := s.AddField(fastiotest.Field{Workspace: room.ID, Name: "pages", Type: "int"})
	if field.Origin != "ai" || field.Created.IsZero() {
		t.Errorf("what was empty was not filled in: %+v", field)
	}
	if err := s.AddFact(fastiotest.Fact{Node: plan.ID, Field: "pages", Value: 12, Confidence: "high"}); err != nil {
		t.Fatal(err)
	}
	body := read(t, s, "workspace/"+string(room.ID)+"/storage/"+string(plan.ID)+"/metadata/facts/")
	const want = `"field":"pages","value":12,"declared_type":"int","stored_type":"int","source":"ai",` +
		`"confidence":"high"`
	if !strings.Contains(body, want) {
		t.Errorf("%s", body)
	}
}

// A test puts members and invitations there, and reads the mail that goes out.
func TestMembersAndInvitations(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	s := fastiotest.New(func(o *fastiotest.Options) { o.Clock = func() time.Time { return now } })
	portal := s.AddShare(fastiotest.Share{Org: s.Org().ID, Title: "Portal"})
	eve := s.AddUser(fastiotest.User{FirstName: "Eve", Email: "eve@example.test"})
	member := s.AddMembership(fastiotest.Membership{
		Profile: portal.ID, User: eve.ID, Role: fastiotest.View, Notify: "Do not notify me",
		Expires: now.Add(time.Hour),
	})
	if !member.Added.Equal(now) || member.Role != fastiotest.View {
		t.Errorf("membership %+v", member)
	}
	v := s.AddInvitation(fastiotest.Invitation{
		Profile: portal.ID, Email: "New@example.test", Inviter: eve.ID,
		Message: "Come and see.",
	})
	if v.ID == "" || v.Key == "" || v.Email != "new@example.test" || v.Role != fastiotest.Member ||
		v.State != "pending" || !v.Created.Equal(now) {
		t.Errorf("invitation %+v", v)
	}
	want := []fastiotest.Mail{{
		To: "new@example.test", Profile: portal.ID, Invitation: v.ID, Key: v.Key,
		Message: "Come and see.", At: now,
	}}
	if diff := cmp.Diff(want, s.Mails("NEW@example.test")); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
	body := read(t, s, "share/"+string(portal.ID)+"/members/list/")
	var list struct {
		Users []struct {
			Permissions string `json:"permissions"`
			Status      string `json:"status"`
		} `json:"users"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, u := range list.Users {
		rows[u.Permissions] = u.Status
	}
	if diff := cmp.Diff(map[string]string{"view": "active", "member": "pending"}, rows); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// Faults and limits are of operations that exist: those of the constants.
func TestUnknownOperations(t *testing.T) {
	t.Parallel()
	panics := func(f func()) (with any) {
		defer func() { with = recover() }()
		f()
		return nil
	}
	for _, op := range operations(t) {
		if with := panics(func() { fastiotest.New().Fail(fastiotest.Fault{Op: op}) }); with != nil {
			t.Errorf("%s: %v", op, with)
		}
	}
	const want = `emulator: %s must be an operation of the platform, got "account.Workspaces.All"`
	unknown := fastiotest.Op("account.Workspaces.All")
	fault := panics(func() { fastiotest.New().Fail(fastiotest.Fault{Op: unknown}) })
	limit := panics(func() {
		fastiotest.New(func(o *fastiotest.Options) {
			o.Limits.Rules = []fastiotest.Limit{{Ops: []fastiotest.Op{unknown}, Max: 1, Size: time.Second}}
		})
	})
	if fmt.Sprint(fault) != fmt.Sprintf(want, "Fault.Op") || fmt.Sprint(limit) != fmt.Sprintf(want, "Limits.Rules") {
		t.Errorf("a fault ends with %v, a limit with %v", fault, limit)
	}
}

// operations returns the values of the constants of operations.
func operations(t *testing.T) []fastiotest.Op {
	t.Helper()
	source, err := os.ReadFile("ops.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []fastiotest.Op
	for _, m := range regexp.MustCompile(`Op = "(.*)"`).FindAllSubmatch(source, -1) {
		all = append(all, fastiotest.Op(m[1]))
	}
	if len(all) < 190 {
		t.Fatalf("found %d constants", len(all))
	}
	return all
}
