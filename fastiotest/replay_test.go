package fastiotest_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
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

// Hosts, prefixes, tokens and the order of parameters and members are ignored.
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

// A request that differs in anything else fails the test and the call. The failure
// names the closest fixture.
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
			t.Errorf("failures of the test (-want +got):\n%s", diff)
		}
		watched.end()
		c.request.Query = map[string][]string{"late": {"1"}}
		if err := client.Call(t.Context(), &c.request, nil); err == nil || strings.Contains(watched.errors, "late") {
			t.Errorf("after the end of the test: %v, with the failures %q", err, watched.errors)
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
			"account.Me.json is not a fixture",
		},
		"a file cut short": {fixtures("account.Me.json", me("Ada")[:50]), "account.Me.json is not a fixture"},
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
	if _, err := client.Account.Me(t.Context(), api.WithTimeout(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Account.Me(t.Context(), api.WithTimeout(time.Nanosecond)); err == nil ||
		errors.Is(err, api.ErrNotFound) {
		t.Errorf("got %v, want the deadline", err)
	}
}

// answering gives every request the same answer.
func answering(status int, header http.Header, body string) stub.Network {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
		return &http.Response{
			StatusCode: status, Header: header.Clone(),
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

const (
	origin   = "https://fastio.test/api/current/"
	formType = "application/x-www-form-urlencoded"
)

// send makes a request as any program may.
func send(t *testing.T, rt http.RoundTripper, method, address, contentType, body string, header ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return string(answer)
}

// recorded returns a client of s whose answers are recorded in dir.
func recorded(t *testing.T, s *fastiotest.Server, dir string) *fastio.Client {
	t.Helper()
	return s.Client(t, fastio.WithHTTPClient(&http.Client{Transport: fastiotest.Record(dir, s)}))
}

// files returns what a directory holds, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

func names(all map[string]string) []string { return slices.Sorted(maps.Keys(all)) }

func TestRecordedFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "on", "demand")
	header := http.Header{
		"Content-Type": {"application/json"}, "Date": {"Mon, 02 Mar 2026 09:30:00 GMT"},
		"Set-Cookie":       {"session=1234567890"},
		"X-Ve-Limit-Avail": {"4"}, "X-Rate-Limit-Max": {"5"}, "Retry-After": {"3"}, "Server": {"engine"},
		"Content-Length": {"61"},
	}
	body := `{"result":true, "id":4012345678901234567,"n":1.50,"list":[],"text":"a\/b \u00fc <&>"}`
	rt := fastiotest.Record(dir, answering(http.StatusOK, header, body))
	got := send(t, rt, http.MethodGet, "https://example.test/some/api/current/orgs/list/?limit=2&name=%C3%BC&a=2&a=1",
		"", "")
	if got != body {
		t.Errorf("the answer arrives as %s, want %s", got, body)
	}
	const want = `{
  "request": {
    "method": "GET",
    "path": "/current/orgs/list/",
    "query": [
      "a=2",
      "a=1",
      "limit=2",
      "name=%C3%BC"
    ]
  },
  "response": {
    "status": 200,
    "header": {
      "Content-Type": "application/json",
      "Date": "Mon, 02 Mar 2026 09:30:00 GMT",
      "Retry-After": "3",
      "X-Rate-Limit-Max": "5",
      "X-Ve-Limit-Avail": "4"
    },
    "body": {
      "result": true,
      "id": 4012345678901234567,
      "n": 1.50,
      "list": [],
      "text": "a/b ü <&>"
    }
  }
}
`
	if diff := cmp.Diff(map[string]string{"GET-current-orgs-list.json": want}, files(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Names follow the calls, an answer that repeats the last one is not kept, and
// one that repeats an older one is.
func TestRecordedNames(t *testing.T) {
	t.Parallel()
	dir, still := t.TempDir(), time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC)
	s := fastiotest.New(func(o *seed.Options) { o.Clock = func() time.Time { return still } })
	s.Fail(seed.Fault{Op: "system.Ping", Skip: 2, Count: 1, Status: http.StatusTeapot})
	client := recorded(t, s, dir)
	for range 5 {
		_, _ = client.System.Ping(t.Context())
	}
	for _, level := range []api.Output{api.Terse, api.Full} {
		if _, err := client.Account.Me(t.Context(), api.WithOutput(level)); err != nil {
			t.Fatal(err)
		}
	}
	err := client.Call(t.Context(), &api.Request{
		Op: "../up/and.away", Method: http.MethodGet,
		Path: api.Path("/current/ping/"), Auth: api.AuthNone,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"account.Me-2.json", "account.Me.json", "system.Ping-2.json", "system.Ping-3.json", "system.Ping.json",
		"up-and.away.json",
	}
	all := files(t, dir)
	if diff := cmp.Diff(want, names(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all["system.Ping.json"] != all["system.Ping-3.json"] || all["system.Ping.json"] == all["system.Ping-2.json"] {
		t.Error("the second file is not the one that differs")
	}
}

// No file holds a secret, however it was sent. Responses are not changed.
func TestNothingSecretIsRecorded(t *testing.T) {
	t.Parallel()
	const (
		bearer   = "canary-bearer/1+2=="
		password = `canary "link" pässword`
		account  = "canary-account-password"
		refresh  = "canary-refresh-0001"
		minted   = "canary-minted-token-0002"
		code     = "canary-code-0003"
		state    = "canary-state-0004"
		oneTime  = "canary-one-time-0005"
		cookie   = "canary-cookie-0006"
		wsToken  = "canary-ws-token-0007"
		baked    = "canary-baked-0009"
	)
	dir := t.TempDir()
	echo := stub.Network(func(r *http.Request) (*http.Response, error) {
		sent, _ := io.ReadAll(r.Body)
		text, _ := strconv.Unquote(`"` + strings.ReplaceAll(bearer, "/", `\u002f`) + `"`)
		_, known, _ := r.BasicAuth()
		body := `{"result":true,"access_token":"` + minted + `","note":"` + text + ` and ` + minted + `","` + bearer +
			`":1,` +
			`"path":"` + r.URL.Path + `","escaped":"` + url.QueryEscape(bearer) + `","slashed":"` +
			strings.ReplaceAll(bearer, "/", `\/`) + `",` +
			`"sent":` + strconv.Quote(string(sent)) + `,"deep":[{"token":"` + wsToken + `"}],"password":` +
			strconv.Quote(password) + `,` +
			`"said":` + strconv.Quote(password) + `,"error":{"code":10022,"text":"` + known + `"},` +
			`"baked":"` + baked + `","code":"not_acceptable","reason":"not_acceptable"}`
		if r.URL.Query().Has("text") {
			body = "# Page\n\n" + bearer + " " + minted + " " + refresh + " " + strconv.Quote(password) + "\n"
			return answering(http.StatusOK, http.Header{"Content-Type": {"text/markdown"}}, body).RoundTrip(r)
		}
		if r.URL.Query().Has("binary") {
			return answering(http.StatusOK, http.Header{}, "\xff\xfe"+bearer+"\x00").RoundTrip(r)
		}
		if r.URL.Query().Has("broken") {
			return answering(http.StatusOK, jsonHeader(), `{"a":1,"auth_token":"`+minted[:20]).RoundTrip(r)
		}
		header := jsonHeader()
		header.Set("Set-Cookie", "session="+baked+"; Path=/")
		header.Set("Retry-After", bearer)
		return answering(http.StatusOK, header, body).RoundTrip(r)
	})
	rt := fastiotest.Record(dir, echo)
	sign := []string{"Authorization", "Bearer " + bearer, "X-Ve-Password", password, "Cookie", "session=" + cookie}
	send(t, rt, http.MethodPost, origin+"oauth/token/", formType,
		"refresh_token="+refresh+"&code="+code+"&state="+state+"&early="+minted, sign...)
	send(t, rt, http.MethodGet,
		origin+"user/auth/2factor/auth/"+oneTime+"/?token="+wsToken+"&q="+url.QueryEscape(bearer), "", "", sign...)
	send(t, rt, http.MethodPost, origin+"json/", "application/json", `{"client_secret":"`+code+`","note":"`+code+`"}`,
		sign...)
	basic, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, origin, http.NoBody)
	basic.SetBasicAuth("ada@example.test", account)
	send(t, rt, http.MethodGet, origin+"user/auth/", "", "", "Authorization", basic.Header.Get("Authorization"))
	for _, kind := range []string{"text", "binary", "broken"} {
		answer := send(t, rt, http.MethodGet, origin+"page/?"+kind, "", "", sign...)
		if kind == "text" && !strings.Contains(answer, bearer) {
			t.Error("the live answer was touched")
		}
	}
	all := files(t, dir)
	if len(all) != 7 {
		t.Errorf("%d files, want 7: %v", len(all), names(all))
	}
	for name, text := range all {
		for _, secret := range []string{
			bearer, password, account, refresh, minted, code, state, oneTime, cookie, wsToken, baked, minted[:20],
			url.QueryEscape(bearer), strings.ReplaceAll(bearer, "/", `\/`), "pässword", "fastio.test", "Authorization",
		} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s:\n%s", name, secret, text)
			}
		}
		if strings.Contains(text, "base64") && strings.Contains(text, "Y2FuYXJ5") {
			t.Errorf("%s holds a secret in base64:\n%s", name, text)
		}
	}
	for _, plain := range []string{`"code": 10022`, `"reason": "not_acceptable"`} {
		if text := all["POST-current-json.json"]; !strings.Contains(text, plain) {
			t.Errorf("%s is masked, and no secret:\n%s", plain, text)
		}
	}
}

// An answer that breaks off arrives broken, and is not kept.
func TestBrokenAnswersAreNotRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, dir := fastiotest.New(), t.TempDir()
		s.Fail(seed.Fault{Op: "account.Me", Cut: 20})
		client := recorded(t, s, dir)
		if _, err := client.Account.Me(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v, want an unexpected EOF", err)
		}
		if all := files(t, dir); len(all) > 0 {
			t.Errorf("recorded %v", names(all))
		}
	})
}

func TestRecordReportsItsErrors(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := recorded(t, s, file).System.Ping(t.Context(), api.WithAttempts(1))
	if err == nil || !strings.Contains(err.Error(), "could not be recorded") {
		t.Errorf("got %v, want that the exchange could not be recorded", err)
	}
	down := errors.New("the line is down")
	fails := stub.Network(func(*http.Request) (*http.Response, error) { return nil, down })
	client := s.Client(t, fastio.WithHTTPClient(&http.Client{Transport: fastiotest.Record(t.TempDir(), fails)}))
	if _, err := client.System.Ping(t.Context(), api.WithAttempts(1)); !errors.Is(err, down) {
		t.Errorf("got %v, want %v", err, down)
	}
}

// Without a transport to go on to, it uses one of its own.
func TestRecordOverTheNetwork(t *testing.T) {
	t.Parallel()
	s, dir := fastiotest.New(), t.TempDir()
	client := newClient(
		t, fastio.WithBaseURL(s.Start(t)), fastio.WithToken(s.Token()),
		fastio.WithHTTPClient(&http.Client{Transport: fastiotest.Record(dir, nil)}),
	)
	if _, err := client.Account.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := files(t, dir)["account.Me.json"]
	if !strings.Contains(text, s.User().Email) || strings.Contains(text, s.Token()) ||
		strings.Contains(text, "127.0.0.1") {
		t.Errorf("recorded %s", text)
	}
}

// A transport below signs after the recorder has read the request. Only the response
// shows the credential.
func TestRecordSeesCredentialsAddedBelow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const token = "canary-token-0008"
	rt := fastiotest.Record(dir, stub.Network(func(r *http.Request) (*http.Response, error) {
		signed := r.Clone(r.Context())
		signed.Header.Set("Authorization", "Bearer "+token)
		resp, err := answering(http.StatusOK, jsonHeader(), `{"note":"`+token+`"}`).RoundTrip(signed)
		resp.Request = signed
		return resp, err
	}))
	if got := send(t, rt, http.MethodGet, "https://example.test/current/thing/", "", ""); !strings.Contains(got,
		token) {
		t.Errorf("the live answer is %q", got)
	}
	if text := files(t, dir)["GET-current-thing.json"]; strings.Contains(text, token) || text == "" {
		t.Errorf("recorded %s", text)
	}
}

// What is recorded is replayed byte for byte, but for the blanks in JSON.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	type row struct{ contentType, body string }
	table.Each(t, map[string]row{
		"an object":         {"application/json", `{"result":true,"a":[1.0,12345678901234567890,"ü\n"],"b":{}}`},
		"a list":            {"application/json", `[{"a":null},[]]`},
		"a JSON word":       {"application/json", `"yes"`},
		"markdown":          {"text/markdown", "# Title\n\n- [a](b)\n  no end of line"},
		"a Markdown link":   {"text/markdown", "[a](b)\r\n\r\n{not: json}\n"},
		"JSON without type": {"", `{"a":1,"a":2}`},
		"bytes":             {"application/octet-stream", "\x00\xff\xfe"},
		"nothing":           {"", ""},
		"broken JSON":       {"application/json", `{"a":1,"b":`},
	}, func(t *testing.T, b row) {
		dir := t.TempDir()
		const address = "https://api.example.test/current/thing/?b=2&a=1"
		header := http.Header{}
		if b.contentType != "" {
			header.Set("Content-Type", b.contentType)
		}
		live := send(t, fastiotest.Record(dir, answering(http.StatusOK, header, b.body)), http.MethodGet, address,
			"", "")
		if live != b.body {
			t.Errorf("live: got %q, want %q", live, b.body)
		}
		var got []byte
		var answer api.Response
		err := newClient(t, fastiotest.Replay(t, dir)...).Call(t.Context(), &api.Request{
			Op: "some.Thing", Method: http.MethodGet, Path: api.Path("/current/thing/"),
			Query: url.Values{"a": {"1"}, "b": {"2"}},
		}, &got, api.WithResponse(&answer))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(b.body, `"b":`) { // as far as it goes, and as broken
			if !bytes.HasPrefix(got, []byte(`{"a":1,"b":`)) || bytes.HasSuffix(got, []byte("}")) {
				t.Errorf("got %q, want it broken like %q", got, b.body)
			}
		} else if string(got) != b.body {
			t.Errorf("got %q, want %q", got, b.body)
		}
		if answer.Header.Get("Content-Type") != b.contentType {
			t.Errorf("Content-Type is %q, want %q", answer.Header.Get("Content-Type"), b.contentType)
		}
	})
}

// A parameter that depends on the clock may differ, and the others may not.
func TestReplayIgnoresParameters(t *testing.T) {
	t.Parallel()
	all := fixtures("events.Search.json", `{"request": {"method": "GET", "path": "/current/events/search/",
		"query": ["created-min=2026-01-01+00:00:00", "limit=5", "user_id=me"]},
		"response": {"status": 200, "body": {"result": true, "events": []}}}`)
	search := func(tb testing.TB, limit int, o ...fastiotest.ReplayOption) error {
		tb.Helper()
		client := newClient(t, fastiotest.ReplayFS(tb, all, o...)...)
		_, err := client.Events.Search(t.Context(), events.Query{
			Profile: api.User(api.Me), CreatedMin: time.Now(), Limit: limit,
		})
		return err
	}
	ignored := fastiotest.IgnoreQuery("created-min", "offset")
	if err := search(t, 5, ignored); err != nil {
		t.Error(err)
	}
	for limit, o := range map[int][]fastiotest.ReplayOption{5: nil, 6: {ignored}} {
		s := &spy{TB: t}
		s.run(func(s *spy) {
			if err := search(s, limit, o...); err == nil {
				t.Errorf("limit %d with %d options is answered", limit, len(o))
			}
		})
	}
}
