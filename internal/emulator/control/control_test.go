package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/control"
	"github.com/fastio-go/fastio/internal/table"
)

const host = "http://127.0.0.1:8787"

// scene is an emulator with a user and a workspace, and its control API.
type scene struct {
	*control.Handler

	server    *emulator.Server
	key       string
	ada, room string
}

func newServer() *scene {
	s := emulator.New(seed.Options{OAuth: seed.OAuthOptions{DeviceFlow: true}})
	ada := s.AddUser(seed.User{Email: "ada@example.test", TwoFactor: "totp"})
	org := s.AddOrg(seed.Org{Domain: "acme", Owner: ada.ID})
	room := s.AddWorkspace(seed.Workspace{Org: org.ID, Name: "Design"})
	return &scene{server: s, key: s.AddKey(seed.Key{User: ada.ID}).Token, ada: ada.ID, room: room.ID}
}

func newScene(o control.Options) *scene {
	c := newServer()
	c.Handler = control.New(c.server, o)
	return c
}

// send sends a request and returns the status and the body of the response. Headers are
// pairs of a name and a value.
func (c *scene) send(ctx context.Context, method, path, body string, header ...string) (int, string) {
	r := httptest.NewRequestWithContext(ctx, method, host+path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// call sends a control request, which must have a status, and decodes its response.
func (c *scene) call(t *testing.T, method, path, body string, status int, into any) {
	t.Helper()
	got, text := c.send(t.Context(), method, path, body)
	if got != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

// get sends a request to the platform, as the user.
func (c *scene) get(t *testing.T, path string) int {
	t.Helper()
	status, _ := c.send(t.Context(), http.MethodGet, path, "", "Authorization", "Bearer "+c.key)
	return status
}

func TestRequestsNameTheRuleThatRefused(t *testing.T) {
	t.Parallel()
	outsider := seed.User{Email: "eve@example.test"}
	type row struct {
		method, path, body string
		header             []string
		rule               string
	}
	c := newScene(control.Options{})
	eve := c.server.AddKey(seed.Key{User: c.server.AddUser(outsider).ID}).Token
	narrow := c.server.AddKey(seed.Key{User: c.ada, Scopes: []string{"workspace:4000000000000000009:r"}}).Token
	details := "/api/current/workspace/" + c.room + "/details/"
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	c.server.Fail(seed.Fault{ID: "down", Op: "system.Ping", Status: 503, Text: "Down for now."})
	for _, tc := range []row{
		{method: "GET", path: details, header: bearer(c.key)},
		{method: "GET", path: "/api/current/nothing/", rule: "endpoint"},
		{method: "DELETE", path: "/api/current/user/auth/", header: bearer(c.key), rule: "method"},
		{method: "GET", path: details, rule: "credential"},
		{method: "GET", path: details, header: bearer("wrong"), rule: "credential"},
		{method: "GET", path: details, header: bearer(eve), rule: "member"},
		{method: "GET", path: details, header: bearer(narrow), rule: "scope"},
		{method: "GET", path: details + "?colour=red", header: bearer(c.key), rule: "undeclared"},
		{method: "GET", path: "/api/current/workspaces/all/?limit=0", header: bearer(c.key), rule: "parameter"},
		{method: "GET", path: "/api/current/workspace/4000000000000000009/details/", header: bearer(c.key), rule: "missing"},
		{method: "GET", path: "/api/current/ping/", rule: "fault"},
	} {
		c.send(t.Context(), tc.method, tc.path, tc.body, tc.header...)
		var got control.Requests
		c.call(t, "GET", "/_emulator/requests?limit=1", "", 200, &got)
		q := got.Requests[0]
		if q.Rule != tc.rule || (q.Message == "") != (tc.rule == "") || q.Number != got.Last {
			t.Errorf("%s %s: %d is refused by %q: %q, want %q", tc.method, tc.path, q.Status, q.Rule, q.Message, tc.rule)
		}
	}
	var got control.Requests
	c.call(t, "GET", "/_emulator/requests?rule=undeclared", "", 200, &got)
	if want := "colour: Undeclared: workspaces.Get has no query parameter of this name."; len(got.Requests) != 1 ||
		got.Requests[0].Message != want {
		t.Errorf("got %+v, want %q", got.Requests, want)
	}
	c.call(t, "GET", "/_emulator/requests?rule=fault", "", 200, &got)
	if q := got.Requests[0]; q.Fault != "down" || q.Message != "Down for now." || q.Status != 503 {
		t.Errorf("the fault is recorded as %+v", q)
	}
	c.call(t, "GET", "/_emulator/requests?rule=any", "", 200, &got)
	if len(got.Requests) != 10 {
		t.Errorf("%d requests were refused, want 10", len(got.Requests))
	}
}

// A misspelled filter selects nothing, and not everything.
func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	c.get(t, "/api/current/ping/")
	for path, want := range map[string]string{
		"requests?wiat=5s":           "wiat: the parameters are op, method, path, status, rule, after, limit, wait",
		"requests?op=comment.Create": `emulator: op must be an operation of the platform, got "comment.Create"`,
		"items?id=1":                 "id: the parameters are in, offset",
		"worlds?name=a":              "name: there are no parameters",
	} {
		var got control.Problem
		c.call(t, "GET", "/_emulator/"+path, "", 400, &got)
		if got.Message != want {
			t.Errorf("%s: %q, want %q", path, got.Message, want)
		}
	}
	for _, op := range []string{"realtime.Socket", "system.Introspect"} { // no route has them
		c.call(t, "GET", "/_emulator/requests?op="+op, "", 200, nil)
		c.call(t, "POST", "/_emulator/faults", `{"op":"`+op+`"}`, 201, nil)
	}
}

func TestRequestNamesTheLimit(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	for range 6 {
		c.get(t, "/api/current/events/search/?workspace_id="+c.room)
	}
	var got control.Requests
	c.call(t, "GET", "/_emulator/requests?rule=limit&status=429&op=events.Search", "", 200, &got)
	if len(got.Requests) != 1 || !strings.HasPrefix(got.Requests[0].Message, "events.Search: at most 5 calls") {
		t.Errorf("got %+v", got.Requests)
	}
}

func TestRequestsHideCredentials(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	c.send(t.Context(), "POST", "/api/current/oauth/token/?code=secret-1",
		"grant_type=refresh_token&refresh_token=secret-2&client_id=app&client_secret=secret-3",
		"Content-Type", "application/x-www-form-urlencoded", "Cookie", "session=secret-4", "X-Ve-Password", "secret-5",
		"Authorization", "Bearer "+strings.Repeat("x", 20)+"secret-6")
	user := `{"email":"eve@example.test","password":"secret-\"7","first_name":"Eve"}`
	c.send(t.Context(), "POST", "/api/current/user/", user,
		"Content-Type", "application/json", "Authorization", "secret-8")
	c.get(t, "/api/current/user/me/details/")
	c.send(t.Context(), "POST", "/api/current/user/auth/2factor/auth/secret-9/", "", "Authorization", "Bearer "+c.key)
	c.send(t.Context(), "DELETE", "/api/current/user/auth/2factor/secret-10/", "", "Authorization", "Bearer "+c.key)
	_, text := c.send(t.Context(), "GET", "/_emulator/requests", "")
	for _, path := range []string{"auth/2factor/auth/…/", "auth/2factor/…/"} {
		if !strings.Contains(text, path) {
			t.Errorf("no path is %s in %s", path, text)
		}
	}
	if strings.Contains(text, "secret-") {
		t.Errorf("a credential is shown in %s", text)
	}
	if strings.Contains(text, c.key) || !strings.Contains(text, "Bearer "+c.key[:8]+"…") ||
		!strings.Contains(text, "client_id=app") {
		t.Errorf("the key is not shortened, or too much is hidden: %s", text)
	}
}

func TestRequestBodiesAreShownUpTo16KiB(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	for _, tc := range []struct{ body, text, binary string }{
		{"short", "short", ""},
		{strings.Repeat("x", 16<<10-1) + "é", strings.Repeat("x", 16<<10-1), ""},
		{strings.Repeat("\xff", 3), "", "\xff\xff\xff"},
		{strings.Repeat("\xff", 16<<10+1), "", strings.Repeat("\xff", 16<<10)},
	} {
		c.send(t.Context(), "POST", "/api/current/user/", tc.body, "Content-Type", "text/plain")
		var got control.Requests
		c.call(t, "GET", "/_emulator/requests?limit=1", "", 200, &got)
		want := control.Body{Text: tc.text, Truncated: len(tc.body) > 16<<10}
		if tc.binary != "" {
			want.Binary = []byte(tc.binary)
		}
		q := got.Requests[0]
		if diff := cmp.Diff(want, q.RequestBody); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !strings.Contains(q.ResponseBody.Text, `"result"`) {
			t.Errorf("the response is %+v", q.ResponseBody)
		}
	}
}

func TestRequestsKeepTheLatestThousand(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	for range emulator.ResponsesKept + 5 {
		c.get(t, "/api/current/ping/")
	}
	var got control.Requests
	c.call(t, "GET", "/_emulator/requests?op=system.Ping", "", 200, &got)
	if n := len(got.Requests); n != emulator.ResponsesKept || got.Requests[0].Number != 6 ||
		got.Last != emulator.ResponsesKept+5 {
		t.Errorf("%d requests from %d to %d", n, got.Requests[0].Number, got.Last)
	}
	c.call(t, "GET", "/_emulator/requests/5", "", 404, nil)
	c.call(t, "GET", "/_emulator/requests/6", "", 200, nil)
	c.call(t, "DELETE", "/_emulator/requests", "", 204, nil)
	c.call(t, "GET", "/_emulator/requests", "", 200, &got)
	c.call(t, "GET", "/_emulator/requests/6", "", 404, nil)
	if len(got.Requests) != 0 {
		t.Errorf("%d requests after they were cleared", len(got.Requests))
	}
	if all := c.server.Requests(); len(all) != 0 {
		t.Errorf("the server keeps %d requests", len(all))
	}
}

func TestRequestsWaitForOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newScene(control.Options{})
		c.get(t, "/api/current/ping/")
		began := time.Now()
		time.AfterFunc(time.Second, func() { c.get(t, "/api/current/ping/") })
		time.AfterFunc(2*time.Second, func() { c.get(t, "/api/current/workspaces/all/") })
		var got control.Requests
		c.call(t, "GET", "/_emulator/requests?op=workspaces.List&wait=5s", "", 200, &got)
		if took := time.Since(began); len(got.Requests) != 1 || took != 2*time.Second {
			t.Errorf("%d requests after %v", len(got.Requests), took)
		}
		c.call(t, "GET", "/_emulator/requests?op=comments.Create&wait=5s", "", 200, &got)
		if took := time.Since(began); len(got.Requests) != 0 || took != 7*time.Second {
			t.Errorf("%d requests after %v", len(got.Requests), took)
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	var added control.ActiveFault
	fault := `{"op":"system.Ping","skip":1,"count":2,"status":503,"header":{"X-A":["b"]}}`
	c.call(t, "POST", "/_emulator/faults", fault, 201, &added)
	for i, want := range []int{200, 503, 503, 200} {
		if got := c.get(t, "/api/current/ping/"); got != want {
			t.Errorf("call %d: %d, want %d", i, got, want)
		}
	}
	var all control.Faults
	c.call(t, "GET", "/_emulator/faults", "", 200, &all)
	f := all.Faults[0]
	if len(all.Faults) != 1 || f.Hits != 2 || f.Matches != 3 || f.ID != added.ID || f.Header.Get("X-A") != "b" {
		t.Errorf("got %+v", all)
	}
	c.call(t, "POST", "/_emulator/faults", `{"id":"slow","delay":"1m","op":"events.Search"}`, 201, nil)
	c.call(t, "POST", "/_emulator/faults", `{"id":"slow","delay":"2m"}`, 201, nil)
	c.call(t, "GET", "/_emulator/faults", "", 200, &all)
	if len(all.Faults) != 2 || time.Duration(all.Faults[1].Delay) != 2*time.Minute || all.Faults[1].Op != "" {
		t.Errorf("the fault is not replaced: %+v", all)
	}
	c.call(t, "DELETE", "/_emulator/faults/slow", "", 204, nil)
	c.call(t, "DELETE", "/_emulator/faults/slow", "", 404, nil)
	c.call(t, "DELETE", "/_emulator/faults", "", 204, nil)
	c.call(t, "GET", "/_emulator/faults", "", 200, &all)
	if len(all.Faults) != 0 {
		t.Errorf("got %+v", all)
	}
	c.call(t, "POST", "/_emulator/disagreements", `{"op":"account.Me","edits":["rm /user/email_address"]}`, 201, nil)
	var socket control.ActiveSocketFault
	c.call(t, "POST", "/_emulator/socket-faults", `{"profile":"`+c.room+`","age":"1m","drop":true}`, 201, &socket)
	var sockets control.SocketFaults
	c.call(t, "GET", "/_emulator/socket-faults", "", 200, &sockets)
	if diff := cmp.Diff([]control.ActiveSocketFault{socket}, sockets.SocketFaults); diff != "" || socket.ID == "" || !socket.Drop {
		t.Errorf("added %+v (-added +listed):\n%s", socket, diff)
	}
	c.call(t, "POST", "/_emulator/socket-faults", `{"id":"`+socket.ID+`","lose":true}`, 201, nil)
	sockets = control.SocketFaults{}
	c.call(t, "GET", "/_emulator/socket-faults", "", 200, &sockets)
	if len(sockets.SocketFaults) != 1 || sockets.SocketFaults[0].Drop || !sockets.SocketFaults[0].Lose {
		t.Errorf("the fault is not replaced: %+v", sockets)
	}
	c.call(t, "DELETE", "/_emulator/faults/"+socket.ID, "", 204, nil)
	c.call(t, "GET", "/_emulator/socket-faults", "", 200, &sockets)
	if len(sockets.SocketFaults) != 0 {
		t.Errorf("the fault is not removed: %+v", sockets)
	}
	var rules control.Disagreements
	c.call(t, "GET", "/_emulator/disagreements", "", 200, &rules)
	if len(rules.Disagreements) != 1 || rules.Disagreements[0].Op != "account.Me" {
		t.Errorf("got %+v", rules)
	}
	me := func() string {
		_, text := c.send(t.Context(), "GET", "/api/current/user/me/details/", "", "Authorization", "Bearer "+c.key)
		return text
	}
	if got := me(); strings.Contains(got, "ada@") {
		t.Errorf("the disagreement has no effect: %s", got)
	}
	c.call(t, "DELETE", "/_emulator/faults/"+rules.Disagreements[0].ID, "", 204, nil)
	if got := me(); !strings.Contains(got, "ada@") {
		t.Errorf("the disagreement is not removed: %s", got)
	}
	c.call(t, "POST", "/_emulator/disagreements", `{"op":"no.Such"}`, 400, nil)
	c.call(t, "POST", "/_emulator/socket-faults", `{"junk":"mail"}`, 400, nil)
	for _, wrong := range []string{
		`{"op":"no.Such"}`, `{"colour":"red"}`, `{"delay":"soon"}`, `{"reset":"later"}`, `{"status":42}`, `{"status":101}`, `{`, `[]`,
		`{"count":-1}`, `{"delay":"-1s"}`, `{"stall":-1}`, `{"probability":1.5}`, `{"probability":-1}`,
		`{"status":500}{"status":500}`, `{"status":500}}`,
	} {
		c.call(t, "POST", "/_emulator/faults", wrong, 400, nil)
	}
	for _, wrong := range []string{`{"copies":1001}`, `{"copies":-1}`, `{"close":999}`, `{"close":5000}`, `{"age":"-1s"}`} {
		c.call(t, "POST", "/_emulator/socket-faults", wrong, 400, nil)
	}
}

// A fault of the control API has all that one of package seed has.
func TestFaultsHaveAllFields(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]reflect.Type{
		{reflect.TypeFor[seed.Fault](), reflect.TypeFor[control.Fault]()},
		{reflect.TypeFor[seed.StreamStyle](), reflect.TypeFor[control.StreamStyle]()},
		{reflect.TypeFor[seed.SocketFault](), reflect.TypeFor[control.SocketFault]()},
		{reflect.TypeFor[seed.Disagreement](), reflect.TypeFor[control.Disagreement]()},
	} {
		for field := range pair[0].Fields() {
			if _, found := pair[1].FieldByName(field.Name); !found {
				t.Errorf("%v has no %s", pair[1], field.Name)
			}
		}
	}
	c := newScene(control.Options{})
	const fault = `{"op":"ai.Turns.Stream","stream":{"newline":"\r\n","no_end":true,"retry":"1m0s"}}`
	var added, listed any
	c.call(t, "POST", "/_emulator/faults", fault, 201, &added)
	c.call(t, "GET", "/_emulator/faults", "", 200, &listed)
	if diff := cmp.Diff(map[string]any{"faults": []any{added}}, listed); diff != "" {
		t.Errorf("(-added +listed):\n%s", diff)
	}
	want := seed.StreamStyle{Newline: "\r\n", NoEnd: true, Retry: time.Minute}
	if got := c.server.Faults(); len(got) != 1 || got[0].Stream == nil || *got[0].Stream != want {
		t.Errorf("the server has %+v", got)
	}
}

func TestStateIsResetAndRestored(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	if err := c.server.MarkStart(); err != nil {
		t.Fatal(err)
	}
	names := func() string {
		var names []string
		for _, u := range c.server.Users() {
			names = append(names, u.Email)
		}
		return strings.Join(names, " ")
	}
	c.call(t, "POST", "/_emulator/users", `{"email":"eve@example.test"}`, 201, nil)
	c.call(t, "POST", "/_emulator/faults", `{"id":"down","op":"system.Ping","status":503}`, 201, nil)
	c.get(t, "/api/current/ping/")
	_, snapshot := c.send(t.Context(), "GET", "/_emulator/snapshot", "")
	c.call(t, "POST", "/_emulator/reset", "", 204, nil)
	if got, faults := names(), c.server.Faults(); got != "ada@example.test" || len(faults) > 0 {
		t.Errorf("after a reset: %s, %v", got, faults)
	}
	if requests := c.server.Requests(); len(requests) != 1 {
		t.Errorf("after a reset, the list of requests has %d, want 1", len(requests))
	}
	c.call(t, "POST", "/_emulator/restore", snapshot, 204, nil)
	if got := names(); got != "ada@example.test eve@example.test" {
		t.Errorf("after the restoration: %s", got)
	}
	if got := c.server.Faults(); len(got) != 1 || got[0].ID != "down" || got[0].Hits != 1 {
		t.Errorf("after the restoration, the faults are %+v", got)
	}
	c.call(t, "POST", "/_emulator/restore", "no snapshot", 400, nil)
	c.server.AddUser(seed.User{Created: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)})
	var problem control.Problem
	c.call(t, "GET", "/_emulator/snapshot", "", 500, &problem)
	if !strings.Contains(problem.Message, "year outside of range") {
		t.Errorf("a state that cannot be saved: %s", problem.Message)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newScene(control.Options{})
		at := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
		var clock control.Clock
		c.call(t, "POST", "/_emulator/clock/freeze", `{"at":"2030-01-31T12:00:00Z"}`, 200, nil)
		time.Sleep(time.Minute)
		c.call(t, "GET", "/_emulator/clock", "", 200, &clock)
		if !clock.Frozen || !clock.Now.Equal(at) {
			t.Errorf("frozen: %+v", clock)
		}
		c.call(t, "POST", "/_emulator/clock/advance", `{"by":"1h30m"}`, 200, &clock)
		if !clock.Frozen || !clock.Now.Equal(at.Add(90*time.Minute)) {
			t.Errorf("advanced: %+v", clock)
		}
		c.call(t, "POST", "/_emulator/clock/unfreeze", "", 200, nil)
		time.Sleep(time.Minute)
		c.call(t, "GET", "/_emulator/clock", "", 200, &clock)
		if clock.Frozen || !clock.Now.Equal(at.Add(91*time.Minute)) {
			t.Errorf("unfrozen: %+v", clock)
		}
		c.call(t, "POST", "/_emulator/clock/advance", `{"by":"-1h"}`, 400, nil)
		c.call(t, "POST", "/_emulator/clock/freeze", `{"at":"noon"}`, 400, nil)
		for _, far := range []string{"0001-01-01T00:00:01Z", "1969-12-31T23:59:59Z", "2262-01-01T00:00:00Z", "9999-12-31T23:59:59Z"} {
			c.call(t, "POST", "/_emulator/clock/freeze", `{"at":"`+far+`"}`, 400, nil)
		}
		c.call(t, "POST", "/_emulator/clock/advance", `{"by":"2562047h"}`, 400, nil)
		c.call(t, "POST", "/_emulator/clock/freeze", `{"at":"2261-12-31T23:59:59Z"}`, 200, nil)
		c.call(t, "POST", "/_emulator/clock/advance", `{"by":"1s"}`, 400, nil)
	})
}

func TestUsersKeysAndCodes(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	var eve seed.User
	c.call(t, "POST", "/_emulator/users", `{"email":"eve@example.test","password":"analytical engine"}`, 201, &eve)
	var key seed.Key
	c.call(t, "POST", "/_emulator/keys", `{"user_id":"`+eve.ID+`","memo":"tests"}`, 201, &key)
	status, text := c.send(t.Context(), "GET", "/api/current/user/me/details/", "", "Authorization", "Bearer "+key.Token)
	if status != 200 || !strings.Contains(text, eve.ID) {
		t.Errorf("the new key gives %d %s", status, text)
	}
	c.call(t, "POST", "/_emulator/keys", `{}`, 201, &key)
	if key.User != c.ada {
		t.Errorf("a key without a user is that of %s", key.User)
	}
	c.call(t, "POST", "/_emulator/keys", `{"user_id":"4000000000000000009"}`, 400, nil)
	c.call(t, "POST", "/_emulator/users", `{"two_factor":"pigeon"}`, 400, nil)
	for _, path := range []string{"/_emulator/users", "/_emulator/keys"} {
		_, text := c.send(t.Context(), "GET", path, "")
		if !strings.Contains(text, eve.ID) || strings.Contains(text, "analytical") || strings.Contains(text, key.Token) {
			t.Errorf("%s returns %s", path, text)
		}
	}
	var codes control.Codes
	c.call(t, "GET", "/_emulator/codes?user=ada@example.test", "", 200, &codes)
	if len(codes.Codes) != 1 || codes.Codes[0].OneTime != c.server.OneTimeCode(c.ada) {
		t.Errorf("got %+v", codes)
	}
	var items control.Items
	var org control.Item
	c.call(t, "GET", "/_emulator/items", "", 200, &items)
	org = items.Items[0]
	c.call(t, "GET", "/_emulator/items?in="+org.ID, "", 200, &items)
	list := fmt.Sprint(items.Items)
	if org.Kind != "org" || !strings.Contains(list, c.room) || !strings.Contains(list, c.ada) {
		t.Errorf("%+v has %s", org, list)
	}
}

func TestObjectsAreAdded(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	var added seed.File
	file := `{"nodes":[{"id":"plans","profile_id":"` + c.room + `","kind":"folder","name":"Plans"},
		{"profile_id":"` + c.room + `","parent_id":"plans","name":"a.txt","content":"text"}]}`
	c.call(t, "POST", "/_emulator/objects", file, 201, &added)
	for in, want := range map[string]string{c.room: "Plans", added.Nodes[0].ID: "a.txt"} {
		var items control.Items
		c.call(t, "GET", "/_emulator/items?in="+in, "", 200, &items)
		if len(items.Items) == 0 || items.Items[0].Name != want {
			t.Errorf("in %s is %+v, want %s", in, items, want)
		}
	}
	c.call(t, "POST", "/_emulator/objects", `{"nodes":[{"profile_id":"nowhere"}]}`, 400, nil)
}

func TestSignInIsDecided(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	c.server.AddClient(seed.OAuthClient{ID: "app", Name: "App", RedirectURIs: []string{"http://127.0.0.1/callback"}})
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	device := func() string {
		c.send(t.Context(), "POST", "/api/current/oauth/device_authorization/", "client_id=app", form...)
		var waiting control.SignIns
		c.call(t, "GET", "/_emulator/sign-ins", "", 200, &waiting)
		if len(waiting.SignIns) != 1 || waiting.SignIns[0].Client != "App" {
			t.Fatalf("waiting: %+v", waiting)
		}
		return waiting.SignIns[0].UserCode
	}
	first := device()
	c.call(t, "POST", "/_emulator/sign-ins", `{"user_code":"`+first+`","user":"ada@example.test"}`, 200, nil)
	c.call(t, "POST", "/_emulator/sign-ins", `{"user_code":"`+first+`"}`, 409, nil)
	c.call(t, "POST", "/_emulator/sign-ins", `{"user_code":"`+device()+`","deny":true}`, 200, nil)
	c.call(t, "POST", "/_emulator/sign-ins", `{"user_code":"`+device()+`","user":"4000000000000000009"}`, 409, nil)
}

func TestControlIsSafe(t *testing.T) {
	t.Parallel()
	type row struct {
		options control.Options
		method  string // GET if empty
		path    string // health if empty
		body    string
		header  []string
		want    int
	}
	token, named := control.Options{Token: "open sesame"}, control.Options{Hosts: []string{"emulator"}}
	foreign := []string{"Origin", "http://127.0.0.1:9000"}
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	table.Each(t, map[string]row{
		"by address":                  {want: 200},
		"as localhost":                {header: []string{"Host", "localhost:8787"}, want: 200},
		"by IPv6":                     {header: []string{"Host", "[::1]:8787"}, want: 200},
		"by a name of localhost":      {header: []string{"Host", "emulator.localhost"}, want: 200},
		"by another name":             {header: []string{"Host", "attacker.example:8787"}, want: 403},
		"by a similar name":           {header: []string{"Host", "localhost.attacker.example"}, want: 403},
		"by an allowed name":          {options: named, header: []string{"Host", "emulator:8787"}, want: 200},
		"off":                         {options: control.Options{Off: true}, want: 403},
		"the page of it, off":         {options: control.Options{Off: true}, path: control.Root, want: 403},
		"without the token":           {options: token, want: 401},
		"the page without a token":    {options: token, path: control.Root, want: 401},
		"with a wrong token":          {options: token, header: []string{"Authorization", "Bearer open"}, want: 401},
		"with the token":              {options: token, header: []string{"Authorization", "Bearer open sesame"}, want: 200},
		"with a scheme in lower case": {options: token, header: []string{"Authorization", "bearer open sesame"}, want: 200},
		"with another scheme":         {options: token, header: []string{"Authorization", "Token open sesame"}, want: 401},
		"with the password":           {options: token, header: []string{"Authorization", "Basic eDpvcGVuIHNlc2FtZQ=="}, want: 200},
		"from its page":               {header: []string{"Sec-Fetch-Site", "same-origin", "Origin", host}, want: 200},
		"from another origin":         {header: []string{"Sec-Fetch-Site", "cross-site"}, want: 403},
		"from another port":           {header: []string{"Sec-Fetch-Site", "same-site"}, want: 403},
		"from an old browser":         {method: "POST", path: "/_emulator/worlds", header: foreign, want: 403},
		"changed by another one":      {method: "DELETE", path: "/_emulator/faults", header: []string{"Origin", "null"}, want: 403},
		"by a link to the page":       {path: control.Root, header: link, want: 200},
		"by a link to the rest":       {header: link, want: 403},
		"without the last slash":      {path: "/_emulator", want: 303},
		"no such path":                {path: "/_emulator/nothing", want: 404},
		"no such method":              {method: "PUT", want: 405},
		"a large body":                {method: "POST", path: "/_emulator/faults", body: `{"text":"` + strings.Repeat("a", 1<<20) + `"}`, want: 413},
	}, func(t *testing.T, tc row) {
		c := newScene(tc.options)
		method, path := tc.method, tc.path
		if method == "" {
			method = http.MethodGet
		}
		if path == "" {
			path = "/_emulator/health"
		}
		r := httptest.NewRequestWithContext(t.Context(), method, host+path, strings.NewReader(tc.body))
		for i := 0; i < len(tc.header); i += 2 {
			r.Header.Set(tc.header[i], tc.header[i+1])
		}
		if host := r.Header.Get("Host"); host != "" {
			r.Host = host
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code != tc.want {
			t.Errorf("%d %s, want %d", w.Code, w.Body, tc.want)
		}
		for name := range w.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("the response has %s", name)
			}
		}
		h := w.Header()
		if h.Get("Cross-Origin-Resource-Policy") != "same-origin" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the response has the header %v", h)
		}
	})
}

func TestWorldsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{Create: func(string) (*emulator.Server, error) { return newServer().server, nil }})
	c.call(t, "POST", "/_emulator/faults", `{"op":"system.Ping","status":503}`, 201, nil)
	ping := func(world string) int {
		status, _ := c.send(t.Context(), "GET", "/api/current/ping/", "", control.WorldHeader, world)
		return status
	}
	if a, b := ping(""), ping("other"); a != 503 || b != 200 {
		t.Errorf("the fault of the main world: %d there, %d in another one", a, b)
	}
	var list control.WorldList
	c.call(t, "GET", "/_emulator/worlds", "", 200, &list)
	if diff := cmp.Diff([]control.World{{Name: "other"}}, list.Worlds); diff != "" {
		t.Error(diff)
	}
	_, text := c.send(t.Context(), "GET", "/_emulator/requests", "", control.WorldHeader, "other")
	if strings.Count(text, "system.Ping") != 1 || strings.Contains(text, `"status":503`) {
		t.Errorf("the requests of the other world: %s", text)
	}
	for _, name := range []string{"a b", ".", "..", "../a", "a/b", "<script>", "a\x00", strings.Repeat("a", 65)} {
		if got := ping(name); got != 400 {
			t.Errorf("the name %q: %d", name, got)
		}
	}
	c.call(t, "DELETE", "/_emulator/worlds/other", "", 204, nil)
	c.call(t, "DELETE", "/_emulator/worlds/other", "", 404, nil)
	for i := range 64 {
		if got := ping(fmt.Sprint("w", i)); got != 200 {
			t.Fatalf("world %d: %d", i, got)
		}
	}
	if got := ping("one-more"); got != 429 {
		t.Errorf("world 65: %d", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ping("one-more"); got != 200 {
		t.Errorf("after all were closed: %d", got)
	}
	single := newScene(control.Options{})
	if got, _ := single.send(t.Context(), "GET", "/api/current/ping/", "", control.WorldHeader, "x"); got != 404 {
		t.Errorf("an emulator with one world: %d", got)
	}
}

// Only what may use the control API makes a world by its name: no page that has bound its
// name to this machine, and no other machine.
func TestWorldsAreNotMadeByOthers(t *testing.T) {
	t.Parallel()
	create := func(string) (*emulator.Server, error) { return newServer().server, nil }
	for name, row := range map[string]struct {
		options control.Options
		header  []string
	}{
		"by another name":   {header: []string{"Host", "attacker.example"}},
		"by another origin": {header: []string{"Sec-Fetch-Site", "cross-site"}},
		"off":               {options: control.Options{Off: true}},
		"without the token": {options: control.Options{Token: "sesame"}, header: []string{"Authorization", "Bearer fio_key"}},
	} {
		row.options.Create, row.options.Worlds = create, map[string]*emulator.Server{"old": newServer().server}
		c := newScene(row.options)
		for world, want := range map[string]int{"old": 200, "new": 403, "": 200} {
			got, text := c.send(t.Context(), "GET", "/api/current/ping/", "", append(row.header, control.WorldHeader, world)...)
			if got != want {
				t.Errorf("%s: the world %q: %d %s, want %d", name, world, got, text, want)
			}
		}
	}
}

// stream opens the stream of requests over a connection in memory, and returns a function
// that returns the next line that is not empty.
func (c *scene) stream(t *testing.T, query string) func() string {
	t.Helper()
	l := c.server.Listen()
	server := &http.Server{Handler: c}
	go func() { _ = server.Serve(l) }()
	network := &http.Transport{DialContext: l.DialContext}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/_emulator/stream"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := network.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Body.Close()
		network.CloseIdleConnections()
		server.Close()
	})
	lines := bufio.NewReader(p.Body)
	return func() string {
		for {
			line, err := lines.ReadString('\n')
			if err != nil && err != io.EOF {
				t.Fatal(err)
			}
			text := strings.TrimSpace(line)
			if text != "" || err == io.EOF {
				return text
			}
		}
	}
}

func TestStreamDropsRatherThanWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newScene(control.Options{})
		c.get(t, "/api/current/ping/") // before the stream
		next := c.stream(t, "")
		if got := next(); got != ": requests follow" {
			t.Errorf("the stream begins with %q", got)
		}
		c.get(t, "/api/current/workspaces/all/")
		got := []string{next(), next(), next()}
		if got[0] != "event: request" || got[1] != "id: 2" || !strings.Contains(got[2], `"operation":"workspaces.List"`) {
			t.Errorf("got %q", got)
		}
		for range emulator.ResponsesKept + 7 { // while the stream pauses
			c.get(t, "/api/current/ping/")
		}
		got = []string{next(), next(), next(), next()}
		if got[0] != "event: dropped" || got[1] != `data: {"count":7}` || got[3] != "id: 10" {
			t.Errorf("got %q", got)
		}
	})
}

func TestStreamResumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newScene(control.Options{})
		for range 3 {
			c.get(t, "/api/current/ping/")
		}
		next := c.stream(t, "?after=1")
		next()
		if got := []string{next(), next()}; got[1] != "id: 2" {
			t.Errorf("got %q", got)
		}
	})
}

// A browser that opens a file of a world gives its scripts no origin, so that they cannot use
// the control API.
func TestScriptsOfFilesHaveNoOrigin(t *testing.T) {
	t.Parallel()
	c := newScene(control.Options{})
	file := c.server.AddNode(seed.Node{Profile: c.room, Name: "a.html", Content: "<script></script>"})
	for path, sandboxed := range map[string]bool{
		"/api/current/workspace/" + c.room + "/storage/" + file.ID + "/read/": true,
		"/api/current/ping/": true,
		"/_emulator/":        false,
		"/connect/device":    false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, host+path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+c.key)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != http.StatusOK || policy == "" || (policy == "sandbox") != sandboxed {
			t.Errorf("%s: status %d with the policy %q", path, w.Code, policy)
		}
	}
}
