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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
)

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering gives every request the same answer.
func answering(status int, header http.Header, body string) roundTripper {
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

func signed(s *fastiotest.Server) []string { return []string{"Authorization", "Bearer " + s.Token()} }

// read returns an answer to the user of a Server.
func read(t *testing.T, s *fastiotest.Server, path string, header ...string) string {
	t.Helper()
	return send(t, s, http.MethodGet, origin+path, "", "", append(header, signed(s)...)...)
}

// send makes a request as any program may.
func send(t *testing.T, road http.RoundTripper, method, address, contentType, body string, header ...string) string {
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
	resp, err := road.RoundTrip(req)
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
	road := fastiotest.Record(dir, answering(http.StatusOK, header, body))
	got := send(t, road, http.MethodGet, "https://example.test/some/api/current/orgs/list/?limit=2&name=%C3%BC&a=2&a=1",
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
	s := fastiotest.New(func(o *fastiotest.Options) { o.Clock = func() time.Time { return still } })
	s.Fail(fastiotest.Fault{Op: "system.Ping", Skip: 2, Count: 1, Status: http.StatusTeapot})
	client := recorded(t, s, dir)
	for range 5 {
		_, _ = client.Ping(t.Context())
	}
	for _, level := range []api.Output{api.Terse, api.Full} {
		if _, err := client.Account.Me(t.Context(), level); err != nil {
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

// No file holds a secret, whatever way it went over the wire, and no answer is
// touched.
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
	echo := roundTripper(func(r *http.Request) (*http.Response, error) {
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
	road := fastiotest.Record(dir, echo)
	sign := []string{"Authorization", "Bearer " + bearer, "X-Ve-Password", password, "Cookie", "session=" + cookie}
	send(t, road, http.MethodPost, origin+"oauth/token/", formType,
		"refresh_token="+refresh+"&code="+code+"&state="+state+"&early="+minted, sign...)
	send(t, road, http.MethodGet,
		origin+"user/auth/2factor/auth/"+oneTime+"/?token="+wsToken+"&q="+url.QueryEscape(bearer), "", "", sign...)
	send(t, road, http.MethodPost, origin+"json/", "application/json", `{"client_secret":"`+code+`","note":"`+code+`"}`,
		sign...)
	basic, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, origin, http.NoBody)
	basic.SetBasicAuth("ada@example.test", account)
	send(t, road, http.MethodGet, origin+"user/auth/", "", "", "Authorization", basic.Header.Get("Authorization"))
	for _, kind := range []string{"text", "binary", "broken"} {
		answer := send(t, road, http.MethodGet, origin+"page/?"+kind, "", "", sign...)
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
		s.Fail(fastiotest.Fault{Op: "account.Me", Cut: 20})
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
	_, err := recorded(t, s, file).Ping(t.Context(), api.Attempts(1))
	if err == nil || !strings.Contains(err.Error(), "could not be recorded") {
		t.Errorf("got %v, want that the exchange could not be recorded", err)
	}
	down := errors.New("the line is down")
	fails := roundTripper(func(*http.Request) (*http.Response, error) { return nil, down })
	client := s.Client(t, fastio.WithHTTPClient(&http.Client{Transport: fastiotest.Record(t.TempDir(), fails)}))
	if _, err := client.Ping(t.Context(), api.Attempts(1)); !errors.Is(err, down) {
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

// Somebody below signs after the recorder has looked at the request, which only
// the answer then shows.
func TestRecordSeesCredentialsAddedBelow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const token = "canary-token-0008"
	road := fastiotest.Record(dir, roundTripper(func(r *http.Request) (*http.Response, error) {
		signed := r.Clone(r.Context())
		signed.Header.Set("Authorization", "Bearer "+token)
		resp, err := answering(http.StatusOK, jsonHeader(), `{"note":"`+token+`"}`).RoundTrip(signed)
		resp.Request = signed
		return resp, err
	}))
	if got := send(t, road, http.MethodGet, "https://example.test/current/thing/", "", ""); !strings.Contains(got,
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
			Query: url.Values{"a": {"1"}, "b": {"2"}}, Options: api.CallOptions{Response: &answer},
		}, &got)
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
