package fastiotest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/facts"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/oauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// ways are the ways to reach a Server.
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
				fastio.WithBaseURL("http://any.localhost"), fastio.WithHTTPClient(s.StartInMemory(t)),
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
				fastio.WithBaseURL("http://any.localhost"), fastio.WithHTTPClient(&http.Client{Transport: network}),
				fastio.WithToken(s.Token()),
			}
		},
	}
}

func TestEveryTransportReachesTheServer(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	for name, options := range ways(s) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			me, err := newClient(t, options(t)...).Account.Me(t.Context())
			if err != nil || me.ID != api.ID(s.User().ID) {
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
				s.Generate(seed.History{Workspace: s.AddWorkspace(seed.Workspace{}).ID, Events: 1000})
				s.Fail(seed.Fault{Op: "events.Search", Count: 1, Delay: time.Minute})
				client := newClient(t, ways(s)[name](t)...)
				start := time.Now()
				all, err := stub.All(client.Events.All(t.Context(), inProfile(api.Org(api.ID(s.Org().ID)))))
				if err != nil || len(all) < 1000 || s.Refusals() != 0 { // those of the organization are more
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
	_, err := s.Client(t, fastio.WithToken("unknown")).Account.Me(t.Context())
	if !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("got %v, want ErrUnauthenticated", err)
	}
	wrong := &spy{TB: t}
	wrong.run(func(s *spy) { fastiotest.New().Client(s, fastio.WithToken("")) })
	if !strings.Contains(wrong.fatal, "WithToken") {
		t.Errorf("the test ended with %q, want what is wrong with the options", wrong.fatal)
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
	rooms, err := stub.All(s.Client(t, fastio.WithToken("the-key-of-grace")).Workspaces.All(t.Context(), nil))
	if err != nil || len(rooms) != 1 || rooms[0].Name != "Compilers" {
		t.Errorf("found %+v, %v", rooms, err)
	}
	if err := s.Load(strings.NewReader(`{"rooms": []}`)); err == nil {
		t.Error("a seed file with a slip was taken")
	}
}

// The user of a Server answers a login, or another one does.
func TestApprove(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	const back = "http://127.0.0.1:4711/callback"
	app := s.AddOAuthClient(seed.OAuthClient{Name: "App", RedirectURIs: []string{back}})
	guest := s.AddUser(seed.User{FirstName: "Guest"})
	org, pkce, signIn := "org:"+s.Org().ID+":r", oauth.NewPKCE(), s.Client(t).OAuth
	begin := func() string {
		login, err := signIn.StartAuthorization(t.Context(), oauth.AuthorizationRequest{
			ClientID: app.ID, RedirectURI: back, PKCE: pkce, AccessMode: oauth.AccessModeAdmin, AccountSettings: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return login.LoginURL
	}
	for scopes, decision := range map[string]seed.Decision{
		"user:*:rwa":                  {},
		"user:*:r":                    {User: guest.ID, Mode: "r"},
		"user:*:rwa userdetails:*:rw": {AccountSettings: true},
		org:                           {Scopes: []string{org}},
	} {
		outcome, err := s.SignIns.Approve(begin(), decision)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(outcome.Redirect, back+"?code=")
		code, _, _ = strings.Cut(code, "&")
		token, err := signIn.Exchange(t.Context(), oauth.ExchangeRequest{
			ClientID: app.ID, RedirectURI: back, Code: api.NewSecret(code), CodeVerifier: pkce.Verifier,
		})
		if err != nil {
			t.Fatal(err)
		}
		me, err := s.Client(t, fastio.WithToken(token.AccessToken.Reveal())).Account.Me(t.Context())
		user := cmp.Or(decision.User, s.User().ID)
		if err != nil || string(me.ID) != user || fmt.Sprint(token.Scopes) != "["+scopes+"]" {
			t.Errorf("granted %s to %+v, %v, want %s to %s", token.Scopes, me, err, scopes, user)
		}
	}
	denied := begin()
	outcome, err := s.SignIns.Deny(denied)
	if !strings.HasPrefix(outcome.Redirect, back+"?error=access_denied") || err != nil {
		t.Errorf("a denial leads to %+v, %v", outcome, err)
	}
	if _, err := s.SignIns.Approve(denied, seed.Decision{}); err == nil {
		t.Error("a login that was denied can be approved")
	}
}

// listen opens the WebSocket of a profile.
func listen(
	t *testing.T, s *fastiotest.Server, network *http.Client, base string, profile api.ID,
) *websocket.Conn {
	t.Helper()
	target := base + "/api/current/websocket/auth/" + string(profile)
	answer := send(t, network.Transport, http.MethodGet, target, "", "", "Authorization", "Bearer "+s.Token())
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
		s.FailSockets(seed.SocketFault{Count: 1, Junk: seed.BinaryJunk})
		room := s.AddWorkspace(seed.Workspace{})
		conn := listen(t, s, network, base, api.ID(room.ID))
		s.AddNode(seed.Node{Profile: room.ID})
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
		if _, _, err := conn.Read(t.Context()); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v, want a reset", err)
		}
		listen(t, s, network, base, api.ID(room.ID)) // left open for the test to end
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
			check(t, s, s.StartInMemory(t), "http://any.localhost")
		})
	})
}

func TestCutPollsAndClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		room := s.AddWorkspace(seed.Workspace{})
		conn := listen(t, s, s.StartInMemory(t), "http://any.localhost", api.ID(room.ID))
		time.AfterFunc(time.Minute, s.CutPolls)
		time.AfterFunc(2*time.Minute, func() { _ = s.Close() })
		begin := time.Now()
		ended := make(chan error, 1)
		go func() { // which answers pings, too
			_, _, err := conn.Read(context.Background()) //nolint:usetesting // a context that ends would end conn
			ended <- err
		}()
		poll := &activity.PollOptions{Cursor: "2126-01-01 00:00:00 UTC", Wait: 95 * time.Second}
		_, err := s.Client(t).Activity.PollProfile(t.Context(), api.Workspace(api.ID(room.ID)), poll, api.WithAttempts(1))
		e, _ := errors.AsType[*api.Error](err)
		if took := time.Since(begin); e == nil || e.Status != http.StatusGatewayTimeout || took != time.Minute {
			t.Errorf("a poll ended with %v after %v, want 504 after a minute", err, took)
		}
		err = <-ended
		if took := time.Since(begin); websocket.CloseStatus(err) != websocket.StatusGoingAway || took != 2*time.Minute {
			t.Errorf("the socket ended with %v after %v, want 1001 after two minutes", err, took)
		}
	})
}

// What a Server fills in is what its clients read.
func TestClientsReadSeededObjects(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	share := s.AddShare(seed.Share{Workspace: room.ID, Title: "Portal"})
	e := s.AddEvent(seed.Event{Name: "workspace_storage_file_added", Workspace: room.ID, ObjectName: "Mill.pdf"})
	if room.Org != s.Org().ID || share.Org != s.Org().ID {
		t.Errorf("the workspace is in %q and the share in %q, want %q", room.Org, share.Org, s.Org().ID)
	}
	elsewhere := s.AddWorkspace(seed.Workspace{Org: s.AddOrg(seed.Org{}).ID})
	if got := s.AddShare(seed.Share{Workspace: elsewhere.ID}).Org; got != elsewhere.Org {
		t.Errorf("a share is in %q, its workspace in %q", got, elsewhere.Org)
	}
	if got := s.AddShare(seed.Share{}).Org; got != s.Org().ID {
		t.Errorf("a share that stands alone is in %q, want %q", got, s.Org().ID)
	}
	guest := s.AddUser(seed.User{FirstName: "Guest"})
	s.SetMember(room.ID, guest.ID, seed.Member)
	key := s.AddKey(seed.Key{User: guest.ID})

	client := s.Client(t, fastio.WithToken(key.Token))
	me, err := client.Account.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if me.ID != api.ID(guest.ID) || me.FirstName != "Guest" || me.EmailAddress != guest.Email {
		t.Errorf("got %+v, want %+v", me, guest)
	}
	got, err := client.Events.Get(t.Context(), api.OpaqueID(e.ID))
	if err != nil {
		t.Fatal(err)
	}
	if !got.ID.Equal(api.OpaqueID(e.ID)) || string(got.WorkspaceID) != room.ID || string(got.OrgID) != e.Org ||
		string(got.Category) != e.Category {
		t.Errorf("got %+v, want %+v", got, e)
	}
	s.SetMember(room.ID, guest.ID, "")
	if _, err := client.Workspaces.Get(t.Context(), api.ID(room.ID)); err == nil {
		t.Error("who was taken out of a workspace can still read it")
	}
	s.Generate(seed.History{Workspace: room.ID, Events: 20})
	all, err := stub.All(s.Client(t).Events.All(t.Context(), inProfile(api.Workspace(api.ID(room.ID)))))
	if err != nil || len(all) != 21 { // with that of above
		t.Errorf("found %d events, want 21; %v", len(all), err)
	}
}

// A search of the workspace by its owner finds as many events as were asked for, also
// where the owner is one of the people in them.
func TestGenerateMakesAsManyEventsAsAskedFor(t *testing.T) {
	t.Parallel()
	for _, owned := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			for events := 1; events <= 1000; events *= 10 {
				s := fastiotest.New()
				room := s.AddWorkspace(seed.Workspace{Name: "Design"})
				if owned {
					ben := s.AddUser(seed.User{FirstName: "Ben"})
					s.SetMember(room.ID, s.User().ID, seed.Owner)
					s.SetMember(room.ID, ben.ID, seed.Member)
				}
				s.Generate(seed.History{Workspace: room.ID, Events: events, Seed: uint64(events)})
				all, err := stub.All(s.Client(t).Events.All(t.Context(), inProfile(api.Workspace(api.ID(room.ID)))))
				if len(all) != events || err != nil {
					t.Errorf("found %d events, want %d; %v", len(all), events, err)
				}
			}
		})
	}
}

// What a test adds to a share is what its members see, and mail goes out.
func TestMembersAndInvitations(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	s := fastiotest.New(func(o *seed.Options) { o.Clock = func() time.Time { return now } })
	portal := s.AddShare(seed.Share{Title: "Portal"})
	eve := s.AddUser(seed.User{Email: "eve@example.test"})
	member := s.AddMembership(seed.Membership{Profile: portal.ID, User: eve.ID, Role: seed.View})
	v := s.AddInvitation(seed.Invitation{
		Profile: portal.ID, Email: "New@example.test", Inviter: eve.ID, Message: "Come and see.",
	})
	if v.Role != seed.Member || v.State != "pending" || v.Created != now || member.Added != now {
		t.Errorf("filled in %+v, %+v", v, member)
	}
	mail := seed.Mail{
		To: "new@example.test", Profile: portal.ID, Invitation: v.ID, Key: v.Key, Message: "Come and see.", At: now,
	}
	if got := s.Mails("NEW@example.test"); v.Key == "" || !slices.Equal(got, []seed.Mail{mail}) {
		t.Errorf("mails %+v, want %+v", got, mail)
	}
	members, err := stub.All(s.Client(t).Members.All(t.Context(), api.Share(api.ID(portal.ID)), nil))
	roles := map[string]string{}
	for _, m := range members {
		roles[string(m.Role)] = string(m.Status)
	}
	if err != nil || !maps.Equal(roles, map[string]string{"view": "active", "member": "pending"}) {
		t.Errorf("members %v, %v", roles, err)
	}
}

// Faults and limits are of operations that exist: those of the constants.
func TestUnknownOperations(t *testing.T) {
	t.Parallel()
	for _, name := range operations(t) {
		if with := panicOf(func() { fastiotest.New().Fail(seed.Fault{Op: name}) }); with != nil {
			t.Errorf("%s: %v", name, with)
		}
	}
	const want = `emulator: %s must be an operation of the platform, got "workspaces.All"`
	unknown := seed.Op("workspaces.All")
	fault := panicOf(func() { fastiotest.New().Fail(seed.Fault{Op: unknown}) })
	limit := panicOf(func() { newWithLimits(seed.Limit{Ops: []seed.Op{unknown}, Max: 1, Size: time.Second}) })
	if fmt.Sprint(fault) != fmt.Sprintf(want, "Fault.Op") || fmt.Sprint(limit) != fmt.Sprintf(want, "Limits.Rules") {
		t.Errorf("a fault ends with %v, a limit with %v", fault, limit)
	}
}

// A limit that counts no request, allows no call or has no duration is an error that names
// the field.
func TestLimitsWithoutEffect(t *testing.T) {
	t.Parallel()
	valid := seed.Limit{Ops: []seed.Op{op.AccountMe}, Max: 1, Size: time.Nanosecond}
	if with := panicOf(func() { newWithLimits(valid) }); with != nil {
		t.Errorf("the least limit: %v", with)
	}
	for want, second := range map[string]seed.Limit{
		"Max must be 1 or more, got 0":        {Ops: valid.Ops, Max: 0, Size: time.Second},
		"Max must be 1 or more, got -1":       {Ops: valid.Ops, Max: -1, Size: time.Second},
		"Size must be more than 0s, got 0s":   {Ops: valid.Ops, Max: 1},
		"Size must be more than 0s, got -1ns": {Ops: valid.Ops, Max: 1, Size: -1},

		"Ops must name an operation other than realtime.Socket, got []":   {Max: 1, Size: time.Second},
		`Ops must name an operation other than realtime.Socket, got [""]`: {Ops: []seed.Op{""}, Max: 1, Size: 1},
	} {
		with := panicOf(func() { newWithLimits(valid, second) })
		if got := fmt.Sprint(with); got != "emulator: Limits.Rules[1]."+want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// panicOf returns the value with which f panics, nil if it returns.
func panicOf(f func()) (with any) {
	defer func() { with = recover() }()
	f()
	return nil
}

// newWithLimits returns a server with these limits only.
func newWithLimits(rules ...seed.Limit) *fastiotest.Server {
	return fastiotest.New(func(o *seed.Options) { o.Limits.Rules = rules })
}

// Every endpoint can have another path, with the parameters that the SDK knows.
func TestDisagreementsMoveEveryEndpoint(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	for _, e := range facts.Endpoints() {
		if e.Op == "system.Introspect" || e.Op == "account.CheckPhone" { // any path, and two parameters in one segment
			continue
		}
		s.Disagree(seed.Disagreement{Op: seed.Op(e.Op), Path: strings.Replace(e.Path, "/current/", "/current/moved/", 1)})
	}
	client := s.Client(t)
	if _, err := client.Account.Me(t.Context()); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("the old path: %v", err)
	}
	var got struct{ User struct{ ID api.ID } }
	me := api.Get("/current/moved/user/{user_id}/details/", "me")
	if err := client.Call(t.Context(), me, &got); err != nil || string(got.User.ID) != s.User().ID {
		t.Errorf("the new path: %+v, %v", got, err)
	}
}

func TestDisagreementsAreChecked(t *testing.T) {
	t.Parallel()
	for _, d := range []seed.Disagreement{
		{Op: "workspaces.All"},
		{Edits: []string{"turn /user"}},
		{Path: "/current/user/{user_id}/"},
		{Op: op.AccountMe, Path: "/current/user/{id}/"},
		{Op: op.WorkspacesList, Path: "current/rooms/"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is taken", d)
				}
			}()
			fastiotest.New().Disagree(d)
		}()
	}
}

// operations returns the values of the constants of operations.
func operations(t *testing.T) []seed.Op {
	t.Helper()
	source, err := os.ReadFile("op/op.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []seed.Op
	for _, m := range regexp.MustCompile(`Op = "(.*)"`).FindAllSubmatch(source, -1) {
		all = append(all, seed.Op(m[1]))
	}
	if len(all) < 190 {
		t.Fatalf("found %d constants", len(all))
	}
	return all
}
