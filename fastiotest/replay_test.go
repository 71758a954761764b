package fastiotest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
)

// fixtures is a folder of them: name, content, name, content...
func fixtures(texts ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for i := 0; i < len(texts); i += 2 {
		all[texts[i]] = &fstest.MapFile{Data: []byte(texts[i+1])}
	}
	return all
}

func me(name string) string {
	return `{"request": {"method": "GET", "path": "/current/user/me/details/"},
		"response": {"status": 200, "body": {"result": true, "user": {"first_name": "` + name + `"}}}}`
}

func replayed(tb testing.TB, all fstest.MapFS, more ...fastio.Option) *fastio.Client {
	tb.Helper()
	client, err := fastio.New(append(fastiotest.ReplayFS(tb, all), more...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func TestReplayInOrder(t *testing.T) {
	t.Parallel()
	all := fixtures()
	for _, n := range []string{"", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9", "-10", "-11"} {
		all["account.Me"+n+".json"] = &fstest.MapFile{Data: []byte(me("answer" + n))}
	}
	client := replayed(t, all)
	var got []string
	for range 13 {
		u, err := client.Account.Me(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimPrefix(u.FirstName, "answer"))
	}
	want := []string{"", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9", "-10", "-11", "-11", "-11"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Hosts, prefixes, tokens and the order of parameters and members make no
// difference.
func TestReplayMatchesWhatMatters(t *testing.T) {
	t.Parallel()
	all := fixtures(
		"query.json", `{"request": {"method": "GET", "path": "/current/thing/", "query": ["b=2", "b=1", "a=%C3%BC"]},
			"response": {"status": 200, "text": ["query"]}}`,
		"json.json", `{"request": {"method": "POST", "path": "/current/thing/",
			"body": {"b": [1, 2], "a": {"d": 4012345678901234567, "c": 3}}},
			"response": {"status": 200, "text": ["json"]}}`,
		"form.json", `{"request": {"method": "POST", "path": "/current/thing/", "form": ["b=2", "a=1 2"]},
			"response": {"status": 200, "text": ["form"]}}`,
		"masked.json", `{"request": {"method": "POST", "path": "/current/user/password/[redacted]/",
			"form": ["password1=%5Bredacted%5D"]},
			"response": {"status": 200, "text": ["masked"]}}`,
		"learned.json", `{"request": {"method": "GET", "path": "/current/user/invitation/[redacted]/details/",
			"query": ["key=%5Bredacted%5D"]},
			"response": {"status": 200, "text": ["learned"]}}`,
		"known.json",
		`{"request": {"method": "GET", "path": "/.well-known/thing/"}, "response": {"status": 200, "text": ["known"]}}`,
	)
	do := func(client *fastio.Client, r api.Request) string {
		var got string
		if err := client.Call(t.Context(), &r, &got); err != nil {
			t.Error(err)
		}
		return got
	}
	thing := api.Path("/current/thing/")
	for _, opts := range [][]fastio.Option{
		nil,
		{fastio.WithBaseURL("https://api.fast.io"), fastio.WithToken("another-token-altogether")},
		{fastio.WithBaseURL("http://localhost:8080/behind/a/proxy")},
	} {
		client := replayed(t, all, opts...)
		post := func(path api.Route, body api.Body) string {
			return do(client, api.Request{Method: http.MethodPost, Path: path, Body: body})
		}
		get := func(path api.Route, query map[string][]string) string {
			return do(client, api.Request{Method: http.MethodGet, Path: path, Query: query})
		}
		got := []string{
			get(thing, map[string][]string{"a": {"ü"}, "b": {"2", "1"}}),
			post(thing, api.JSON(struct {
				A map[string]int64 `json:"a"`
				B []int            `json:"b"`
			}{map[string]int64{"c": 3, "d": 4012345678901234567}, []int{1, 2}})),
			post(thing, api.Form{"a": {"1 2"}, "b": {"2"}}),
			post(api.Path("/current/user/password/{code}/", "one-time"), api.Form{"password1": {"a new password"}}),
			get(
				api.Path("/current/user/invitation/{id}/details/", "any-key"),
				map[string][]string{"key": {"any-key"}},
			),
			get(api.Path("/.well-known/thing/"), nil),
		}
		if diff := cmp.Diff([]string{"query", "json", "form", "masked", "learned", "known"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A request that differs in anything else fails the test and the call, and the
// test is told what comes closest.
func TestReplayFailsForOtherRequests(t *testing.T) {
	t.Parallel()
	all := fixtures(
		"account.Me.json", me("Ada"),
		"thing.json", `{"request": {"method": "POST", "path": "/current/thing/",
			"query": ["a=1"], "body": {"a": 4012345678901234567}},
			"response": {"status": 200}}`,
	)
	big := func(n int64) api.Body { return api.JSON(map[string]int64{"a": n}) }
	one := map[string][]string{"a": {"1"}}
	me, thing := api.Path("/current/user/me/details/"), api.Path("/current/thing/")
	output := map[string][]string{"output": {"terse"}, "token": {"s3cret-token"}}
	type row struct {
		request api.Request
		want    string
	}
	const noneFor, otherBody = "no fixture answers ", "; that of thing.json has another body"
	table.Bubbles(t, map[string]row{
		"another path": {
			api.Request{Method: http.MethodGet, Path: api.Path("/current/user/him/details/")},
			"GET /current/user/him/details/; the closest is account.Me.json with GET /current/user/me/details/",
		},
		"another query": {
			api.Request{Method: http.MethodGet, Path: me, Query: output},
			"GET /current/user/me/details/?output=terse&token=%5Bredacted%5D; the closest is " +
				"account.Me.json with GET /current/user/me/details/",
		},
		"another method": {
			api.Request{Method: http.MethodPut, Path: thing, Query: one, Body: big(4012345678901234567)},
			"PUT /current/thing/?a=1; the closest is thing.json with POST /current/thing/?a=1",
		},
		"another number in the body": {
			api.Request{Method: http.MethodPost, Path: thing, Query: one, Body: big(4012345678901234568)},
			"POST /current/thing/?a=1" + otherBody,
		},
		"no body": {
			api.Request{Method: http.MethodPost, Path: thing, Query: one},
			"POST /current/thing/?a=1" + otherBody,
		},
	}, func(t *testing.T, c row) {
		c.want = noneFor + c.want
		watched := &spy{TB: t}
		client := replayed(watched, all)
		c.request.Replay = api.ReplaySafe // it is sent again, and reported once
		err := client.Call(t.Context(), &c.request, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the call ended with %v, want %q", err, c.want)
		}
		if diff := cmp.Diff("fastiotest: "+c.want+"\n", watched.errors); diff != "" {
			t.Errorf("the test is told (-want +got):\n%s", diff)
		}
		watched.end()
		c.request.Query = map[string][]string{"late": {"1"}}
		if err := client.Call(t.Context(), &c.request, nil); err == nil || strings.Contains(watched.errors, "late") {
			t.Errorf("after the end of the test: %v, and it is told %q", err, watched.errors)
		}
	})
}

func TestReplayRefusesWhatIsNoFixture(t *testing.T) {
	t.Parallel()
	type row struct {
		all  fstest.MapFS
		want string
	}
	table.Each(t, map[string]row{
		"nothing":     {fixtures(), "no fixture to replay"},
		"only deeper": {fixtures("variants/account.Me.json", me("Ada")), "no fixture to replay"},
		"a slip": {
			fixtures("account.Me.json", `{"request": {"methd": "GET"}}`),
			"account.Me.json is no fixture",
		},
		"a file cut short": {fixtures("account.Me.json", me("Ada")[:50]), "account.Me.json is no fixture"},
	}, func(t *testing.T, c row) {
		watched := &spy{TB: t}
		watched.run(func(s *spy) { fastiotest.ReplayFS(s, c.all) })
		if !strings.Contains(watched.fatal, c.want) {
			t.Errorf("the test ended with %q, want %q", watched.fatal, c.want)
		}
	})
	watched := &spy{TB: t}
	watched.run(func(s *spy) { fastiotest.Replay(s, "no/such/directory") })
	if !strings.Contains(watched.fatal, "no/such/directory") {
		t.Errorf("the test ended with %q, want the missing directory", watched.fatal)
	}
}

// A refusal is replayed with its headers, so that a client waits as it did.
func TestReplayInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := replayed(t, fixtures(
			"account.Me.json", `{"request": {"method": "GET", "path": "/current/user/me/details/"},
				"response": {"status": 429, "header": {"Retry-After": "30"}}}`,
			"account.Me-2.json", me("Ada"),
			"unused.json", `{"request": {"method": "GET", "path": "/current/unused/"}, "response": {"status": 500}}`,
		))
		start := time.Now()
		u, err := client.Account.Me(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); u.FirstName != "Ada" || took < 30*time.Second || took > 31*time.Second {
			t.Errorf("got %q after %v, want Ada after 30s", u.FirstName, took)
		}
	})
}

func TestReplayEndsWithTheContext(t *testing.T) {
	t.Parallel()
	client := replayed(t, fixtures("account.Me.json", me("Ada")))
	if _, err := client.Account.Me(t.Context(), api.Timeout(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Account.Me(t.Context(), api.Timeout(time.Nanosecond)); err == nil ||
		errors.Is(err, api.ErrNotFound) {
		t.Errorf("got %v, want the deadline", err)
	}
}
