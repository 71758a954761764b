package oauth_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// guard is how long a test waits before it calls something stuck. Nothing is
// expected to come near it.
const guard = 30 * time.Second

// hostile are requests that must neither end a sign-in nor obtain any of its data.
// They use the address of the receiver; some even the state, which is secret.
var hostile = map[string]struct {
	request string
	status  int
}{
	"a wrong state":                   {get("code=x&state=wrong"), 400},
	"a state that is too long":        {get("code=x&state={state}0"), 400},
	"a state that is too short":       {get("code=x&state={short}"), 400},
	"an empty state":                  {get("code=x&state="), 400},
	"no state":                        {get("code=x"), 400},
	"an error without a state":        {get("error=server_error"), 400},
	"a denial without a state":        {get("error=access_denied&error_description=Gotcha"), 400},
	"a denial of a wrong state":       {get("error=access_denied&state=wrong"), 400},
	"two states":                      {get("code=x&state={state}&state={state}"), 400},
	"two codes":                       {get("code=x&code=x&state={state}"), 400},
	"two errors":                      {get("error=access_denied&error=access_denied&state={state}"), 400},
	"two issuers":                     {get("code=x&iss=a&iss=a&state={state}"), 400},
	"two descriptions":                {get("error=a&error_description=x&error_description=x&state={state}"), 400},
	"a code and an error":             {get("code=x&error=access_denied&state={state}"), 400},
	"a code and an empty error":       {get("code=x&error=&state={state}"), 400},
	"neither code nor error":          {get("state={state}"), 400},
	"an empty code":                   {get("code=&state={state}"), 400},
	"an empty error":                  {get("error=&state={state}"), 400},
	"an error of blanks":              {get("error=+%0a&state={state}"), 400},
	"another issuer's guess":          {get("code=x&state=wrong&iss=https://evil.test"), 400},
	"a broken query":                  {get("code=x&state={state}&%zz"), 400},
	"a semicolon":                     {get("code=x;state={state}"), 400},
	"nothing":                         {get(""), 400},
	"another host":                    {request("GET", "/callback?code=x&state={state}", "evil.test"), 421},
	"another port":                    {request("GET", "/callback?code=x&state={state}", "127.0.0.1:80"), 421},
	"a name of this machine":          {request("GET", "/callback?code=x&state={state}", "localhost:49152"), 421},
	"an absolute URL of another host": {request("GET", "http://evil.test/callback?code=x&state={state}", "{host}"), 421},
	"no host":                         {"GET /callback?code=x&state={state} HTTP/1.0\r\n\r\n", 421},
	"a HEAD":                          {request("HEAD", "/callback?code=x&state={state}", "{host}"), 405},
	"a POST":                          {request("POST", "/callback?code=x&state={state}", "{host}"), 405},
	"an OPTIONS":                      {request("OPTIONS", "/callback?code=x&state={state}", "{host}"), 405},
	"a made-up verb":                  {request("get", "/callback?code=x&state={state}", "{host}"), 405},
	"a prefetch":                      {ahead("Sec-Purpose: prefetch;prerender"), 503},
	"a preview":                       {ahead("X-Purpose: preview"), 503},
	"an icon":                         {request("GET", "/favicon.ico", "{host}"), 404},
	"the root":                        {request("GET", "/?code=x&state={state}", "{host}"), 404},
	"a path below":                    {request("GET", "/callback/?code=x&state={state}", "{host}"), 404},
	"a path above":                    {request("GET", "/x/../callback?code=x&state={state}", "{host}"), 404},
	"any path":                        {request("OPTIONS", "*", "{host}"), 404},
	"a huge query":                    {get("state={state}&code=" + strings.Repeat("x", 1<<20)), 431},
	"a query a byte too long":         {get("code=x&state={state}&pad={pad}"), 431},
	"huge headers":                    {ahead("X-Pad: " + strings.Repeat("x", 64<<10)), 431},
	"another protocol":                {"EHLO evil.test\r\n\r\n", 400},
}

func get(query string) string { return request("GET", "/callback?"+query, "{host}") }

func ahead(header string) string {
	return request("GET", "/callback?code=x&state={state}", "{host}", header+"\r\n")
}

func request(verb, target, host string, headers ...string) string {
	return verb + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(headers, "") + "\r\n"
}

// fill puts the values into a request that it does not know: pad makes it a byte too
// long.
func fill(request, host, state string) string {
	short := state[:max(0, len(state)-1)]
	request = strings.NewReplacer("{host}", host, "{state}", state, "{short}", short).Replace(request)
	pad := 8<<10 + 1 + len("{pad}") - len(request)
	return strings.Replace(request, "{pad}", strings.Repeat("x", max(0, pad)), 1)
}

// send writes a request to a connection and reads what comes back.
func send(conn net.Conn, request string) page {
	defer conn.Close()
	go io.WriteString(conn, request) // what refuses a long one does not read it to the end
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: strings.Fields(request)[0]})
	if err != nil {
		return page{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if !resp.Close {
		err = errors.New("the connection stays open")
	}
	return page{resp.StatusCode, resp.Header, string(body), err}
}

func TestHostileRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range hostile {
		inBubble(t, name, func(t *testing.T) {
			u := startLogin(t, newScene())
			p := u.send(t, tc.request)
			if p.status != tc.status {
				t.Errorf("the answer is %d, want %d", p.status, tc.status)
			}
			if allow := p.header.Get("Allow"); (tc.status == 405) != (allow == "GET") {
				t.Errorf("Allow is %q", allow)
			}
			for _, sent := range []string{u.state(), "Gotcha", "evil.test"} {
				if strings.Contains(p.body, sent) {
					t.Errorf("the answer repeats %q:\n%s", sent, p.body)
				}
			}
			u.finish(t)
		})
	}
}

// An answer with the right state that does not name the server that was asked ends
// the sign-in: RFC 9207 forbids to use it, and another is not to be expected.
func TestAnswerOfAnotherIssuerEndsTheSignIn(t *testing.T) {
	t.Parallel()
	plainly := func(*seed.Options) {}
	type row struct {
		change func(*seed.Options)
		query  string // after the state
		named  string
	}
	table.Bubbles(t, map[string]row{
		"a code without a name":             {announced, "&code=x", ""},
		"a code of another":                 {announced, "&code=x&iss=https://evil.test", "https://evil.test"},
		"a code of another, unannounced":    {plainly, "&code=x&iss=https://evil.test", "https://evil.test"},
		"a code of a name with a slash":     {announced, "&code=x&iss=" + origin + "/", origin + "/"},
		"a denial of another":               {announced, "&error=access_denied&iss=https://evil.test", "https://evil.test"},
		"a name that a terminal would obey": {announced, "&code=x&iss=%1b[2J", "[2J"},
	}, func(t *testing.T, tc row) {
		u := startLogin(t, newScene(tc.change))
		p := u.send(t, get("state={state}"+tc.query))
		p.shows(t, 200, "Sign-in failed")
		if !strings.Contains(p.body, "does not come from the server") {
			t.Errorf("the person sees\n%s", p.body)
		}
		err := <-u.done
		want := oauth.IssuerError{Asked: origin, Named: tc.named}
		if e, ok := errors.AsType[*oauth.IssuerError](err); !ok || *e != want || len(u.tokenForms()) > 0 {
			t.Errorf("got %v after %d exchanges", err, len(u.tokenForms()))
		}
	})
}

// One person's answer counts, and only the first.
func TestOnlyTheFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, fault := newScene(), refusal("oauth.Token", 400, "invalid_grant")
		fault.Delay = time.Second
		s.Fail(fault)
		u := startLogin(t, s)
		var wg sync.WaitGroup
		var conns [3]net.Conn
		var statuses [3]int
		for i := range conns {
			conns[i] = u.connect(t, "")
		}
		for i, query := range []string{"code=x&state={state}", "error=access_denied&state={state}", "code=y&state={state}"} {
			wg.Go(func() { statuses[i] = send(conns[i], fill(get(query), receiverHost, u.state())).status })
			synctest.Wait()
		}
		wg.Wait()
		if err := <-u.done; codeOf(err) != oauth.CodeInvalidGrant || statuses != [3]int{200, 410, 410} {
			t.Errorf("got %v and the answers %v", err, statuses)
		}
	})
}

// A slow connection is closed after five seconds and does not delay others.
func TestSlowConnections(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]string{
		"that say nothing":     "",
		"that stop in a line":  "GET /callb",
		"that stop in a field": "GET /callback HTTP/1.1\r\nHost: 127",
	}, func(t *testing.T, part string) {
		u := startLogin(t, newScene())
		conn := u.connect(t, part)
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		var err error
		if d := took(func() { _, err = io.Copy(io.Discard, conn) }); err != nil || d != 5*time.Second {
			t.Errorf("the connection ended after %s with %v", d, err)
		}
		u.connect(t, part)
		if d := took(func() { u.finish(t) }); d > time.Second {
			t.Errorf("the sign-in waited %s", d)
		}
	})
	inBubble(t, "that drip", func(t *testing.T) {
		u := startLogin(t, newScene())
		conn := u.connect(t, "GET /callback HTTP/1.1\r\n")
		go io.Copy(io.Discard, conn)
		start := time.Now()
		for err := error(nil); err == nil; time.Sleep(100 * time.Millisecond) {
			_, err = io.WriteString(conn, "x")
		}
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("the connection was served for %s", took)
		}
		u.finish(t)
	})
	inBubble(t, "that do not read", func(t *testing.T) {
		u := startLogin(t, newScene())
		conn := u.connect(t, get("code=x"))
		time.Sleep(time.Minute)
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Error("the connection is still served")
		}
		u.finish(t)
	})
}

// A reload of the page gets another, until the port is closed a second later.
func TestReloadIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := startLogin(t, newScene())
		request := get("code=x&state={state}")
		answers("oauth.Token", `{"access_token":"a"}`)(u.scene)
		u.send(t, request).shows(t, 200, "Signed in")
		start := time.Now()
		if err := <-u.done; err != nil || time.Since(start) > 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		time.Sleep(500 * time.Millisecond)
		u.send(t, request).shows(t, http.StatusGone, "Already answered")
		u.closed(t, time.Second)
	})
}

// Connections that never end what they began do not keep the answer of the person
// out, however many there are, and even if they come back whenever they are closed.
func TestCrowdsOfSlowConnectionsDoNotDelayTheAnswer(t *testing.T) {
	t.Parallel()
	const toReceiver = " HTTP/1.1\r\nHost: " + receiverHost + "\r\n"
	table.Bubbles(t, map[string]string{
		"that say nothing":               "",
		"that stop in a field":           "GET /callback HTTP/1.1\r\nHost: 127",
		"that stop in a TLS handshake":   "\x16\x03\x01\x02\x00\x01\x00",
		"that owe a body":                "GET /" + toReceiver + "Content-Length: 1\r\n\r\n",
		"that owe a body to the answer":  "GET /callback?code=x" + toReceiver + "Content-Length: 1\r\n\r\n",
		"that post a body":               "POST /" + toReceiver + "Content-Length: 1000\r\n\r\nhalf",
		"that owe a chunk":               "POST /" + toReceiver + "Transfer-Encoding: chunked\r\n\r\n",
		"that owe the rest of a chunk":   "POST /" + toReceiver + "Transfer-Encoding: chunked\r\n\r\nff\r\n",
		"that wait to be asked for more": "POST /" + toReceiver + "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
	}, func(t *testing.T, part string) {
		const exchange = 200 * time.Millisecond
		s := newScene()
		s.Fail(seed.Fault{Op: "oauth.Token", Delay: exchange})
		u := startLogin(t, s)
		ctx, stop := context.WithCancel(t.Context())
		var attackers sync.WaitGroup
		for range table.Rounds(1000, 1000) {
			attackers.Go(func() {
				for ctx.Err() == nil {
					conn, err := u.dial(ctx, "tcp", receiverHost)
					if err != nil {
						return
					}
					go io.WriteString(conn, part)
					io.Copy(io.Discard, conn) // until it is closed
					conn.Close()
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		synctest.Wait()
		var p page
		d := took(func() { p = browse(t.Context(), u.client(), <-u.address) }) - exchange
		p.shows(t, 200, "Signed in")
		if err := <-u.done; err != nil || d > time.Second {
			t.Errorf("got %v, and the answer was delayed by %v", err, d)
		}
		stop()
		time.Sleep(time.Second) // until the port is closed
		attackers.Wait()
	})
}

// Many requests of every hostile kind, on real sockets and at once, do not keep
// out the answer of the person: its code is sent once, and the port is closed.
func TestHostileRequestsInParallel(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	addresses := make(chan string, 1)
	c := oauth.Config{BaseURL: s.Start(t)}
	c.OpenBrowser = func(_ context.Context, address string) error { addresses <- address; return nil }
	done := ends(func() (*oauth.Grant, error) { return oauth.Login(t.Context(), c) })
	address := ""
	select {
	case address = <-addresses:
	case err := <-done:
		t.Fatal(err)
	}
	started := sent(s, "oauth.StartAuthorization")[0]
	redirect, _ := url.Parse(started.Get("redirect_uri"))
	state := started.Get("state")
	dial := func() net.Conn {
		conn, _ := new(net.Dialer).DialContext(t.Context(), "tcp", redirect.Host)
		return conn
	}
	var slow []net.Conn
	for range 16 { // that never end their request
		conn := dial()
		defer conn.Close()
		io.WriteString(conn, "GET /callback?code=x&state="+state)
		slow = append(slow, conn)
	}

	requests, total := make(chan string), table.Rounds(200, 1000)
	go func() {
		defer close(requests)
		for sent := 0; sent < total; {
			for _, kind := range hostile {
				requests <- fill(kind.request, redirect.Host, state)
				sent++
			}
		}
	}()
	var wg sync.WaitGroup
	var answered atomic.Int64
	for range 16 {
		wg.Go(func() {
			for request := range requests {
				p := send(dial(), request)
				if p.err != nil {
					continue // a huge one may be cut off before its answer is read
				}
				answered.Add(1)
				if p.status/100 != 4 && p.status != 503 {
					t.Errorf("%.80q is answered %d", request, p.status)
				}
			}
		})
	}
	wg.Wait()
	if n := answered.Load(); n < int64(total)*9/10 || len(done) > 0 {
		t.Fatalf("%d of the requests were answered; the sign-in has ended %d times", n, len(done))
	}

	outcome, err := s.SignIns.Approve(address, seed.Decision{})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: guard}
	browse(t.Context(), client, outcome.Redirect).shows(t, 200, "Signed in")
	if err := <-done; err != nil || len(sent(s, "oauth.Token")) != 1 {
		t.Errorf("got %v; the code was sent %d times", err, len(sent(s, "oauth.Token")))
	}
	for end := time.Now().Add(guard); ; { // it lingers for a second
		conn := dial()
		if conn == nil {
			break
		}
		conn.Close()
		if time.Now().After(end) {
			t.Fatal("the port is still open")
		}
	}
	for _, conn := range slow {
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, net.ErrClosed) {
			t.Error("a connection is still open")
		}
	}
}

// Only who knows the state is genuine, whatever else the query holds.
func FuzzCallback(f *testing.F) {
	const state, issuer = "the-state-of-this-sign-in", "https://platform.test"
	for _, query := range []string{
		"code=x&state=" + state, "code=x&state=" + state + "&iss=" + issuer, "error=access_denied", "error=a&state=" + state,
		"code=x&code=y&state=" + state, "state=" + state, "code=x;state=" + state, "code=%zz",
		"error=%1b[2J&state=" + state, "",
	} {
		f.Add(query, true)
		f.Add(query, false)
	}
	f.Fuzz(func(t *testing.T, query string, named bool) {
		code, refusal, genuine, stateless := oauth.ReadCallback(query, state, issuer, named)
		q, err := url.ParseQuery(query)
		if !genuine {
			if stateless && q.Get("state") != "" {
				t.Errorf("%q is said to hold no state", query)
			}
			return
		}
		switch {
		case err != nil, len(q["state"]) != 1, q.Get("state") != state:
			t.Errorf("%q passes for genuine", query)
		case (code == "") == (refusal == nil), code != "" && (len(q["code"]) != 1 || q.Get("code") != code):
			t.Errorf("%q is read as code %q and error %v", query, code, refusal)
		case named && q.Get("iss") != issuer, q.Get("iss") != "" && q.Get("iss") != issuer:
			t.Errorf("%q names another issuer", query)
		case refusal != nil && (refusal.Code == "" || strings.ContainsFunc(refusal.Error(), unicode.IsControl)):
			t.Errorf("%q shows %q", query, refusal.Error())
		}
	})
}

var updatePages = flag.Bool("update-pages", false, "write the pages of testdata anew")

func TestPages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ program, state, code, description string }{
		"success":          {"Acme Sync", "success", "", ""},
		"success-unnamed":  {"", "success", "", ""},
		"denied":           {"Acme Sync", "denied", "access_denied", "The person said no."},
		"denied-plainly":   {"Acme Sync", "denied", "access_denied", ""},
		"failed":           {"Acme Sync", "failed", "", ""},
		"failed-refused":   {"Acme Sync", "failed", "invalid_scope", ""},
		"failed-issuer":    {"Acme Sync", "failed", "iss", ""},
		"pending":          {"Acme Sync", "pending", "", ""},
		"over":             {"Acme Sync", "over", "", ""},
		"opened":           {"Acme Sync", "opened", "", ""},
		"stray":            {"Acme Sync", "stray", "", ""},
		"denied-to-attack": {`<b>"Acme"</b>`, "denied", "access_denied", `"><img src=x onerror=alert(1)>`},
		"failed-to-attack": {`<b>"Acme"</b>`, "failed", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			oauth.ShowPage(w, oauth.Config{ClientName: tc.program}, tc.state, tc.code, tc.description)
			_, got, _ := strings.Cut(w.Body.String(), "<body>\n") // the head is the same for all, and so is the end
			got, ends := strings.CutSuffix(got, "</main>\n</body>\n</html>\n")
			if !ends {
				t.Error("the page does not end")
			}
			file := filepath.Join("testdata", "pages", name+".html")
			if *updatePages {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkPage(t, w)
		})
	}
}

func checkPage(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	body := w.Body.String()
	for _, forbidden := range []string{
		"<script", "<img", "<link", "<form", "<iframe", "javascript:", "http:", "https:", "@import", "url(", "style=",
	} {
		if strings.Contains(strings.ToLower(body), forbidden) {
			t.Errorf("the page holds %s", forbidden)
		}
	}
	for _, wanted := range []string{
		`<html lang="en">`, `<meta charset="utf-8">`, `<meta name="viewport" content="width=device-width, initial-scale=1">`,
		"<title>", "<main", "<h1>", "prefers-color-scheme: dark",
	} {
		if strings.Count(body, wanted) != 1 {
			t.Errorf("the page holds %s not once", wanted)
		}
	}
	_, style, _ := strings.Cut(body, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	digest := sha256.Sum256([]byte(style))
	want := map[string]string{
		"Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
			"'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
		"Content-Type":                 "text/html; charset=utf-8",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Connection":                   "close",
	}
	got := map[string]string{}
	for name := range w.Header() {
		got[name] = w.Header().Get(name)
	}
	delete(got, "Content-Length")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the headers (-want +got):\n%s", diff)
	}
}

// Pages of the program replace those of the package, and are as restricted: they load
// nothing, and what is from a request cannot change them.
func TestPagesOfTheProgram(t *testing.T) {
	t.Parallel()
	const name, reason = `Acme "Sync"`, `<img src=x>`
	const style = "<style>p{}</style>"
	some := oauth.Config{SuccessPage: style + "<p>Done, {{.Program}}", FailurePage: "<p>No: {{.Reason}}"}
	all := oauth.Config{
		SuccessPage: "<p>Fertig", FailurePage: "<p>Nein", DeniedPage: "<p>Abgelehnt: {{.Reason}}", PendingPage: "<p>Gleich",
		OtherPage: `<meta http-equiv="refresh" content="3; url=https://acme.test/"><p>{{.Program}}`,
	}
	own := map[string]string{"over": all.OtherPage, "opened": all.OtherPage, "stray": all.OtherPage}
	for key := range own {
		own[key] = strings.Replace(all.OtherPage, "{{.Program}}", "Acme &#34;Sync&#34;", 1)
	}
	for what, tc := range map[string]struct {
		config oauth.Config
		want   map[string]string // "" for the page of the package
	}{
		"some": {some, map[string]string{
			"success": style + "<p>Done, Acme &#34;Sync&#34;", "denied": "<p>No: &lt;img src=x&gt;",
			"failed": "<p>No: &lt;img src=x&gt;", "pending": "", "over": "", "opened": "", "stray": "",
		}},
		"all": {all, map[string]string{
			"success": "<p>Fertig", "denied": "<p>Abgelehnt: &lt;img src=x&gt;", "failed": "<p>Nein", "pending": "<p>Gleich",
			"over": own["over"], "opened": own["opened"], "stray": own["stray"],
		}},
	} {
		for state, want := range tc.want {
			w, plain := httptest.NewRecorder(), httptest.NewRecorder()
			tc.config.ClientName = name
			oauth.ShowPage(w, tc.config, state, "code", reason)
			oauth.ShowPage(plain, oauth.Config{ClientName: name}, state, "code", reason)
			policy := plain.Header().Get("Content-Security-Policy")
			if want == "" {
				want = plain.Body.String()
			} else {
				style, rest, _ := strings.Cut(strings.TrimPrefix(policy, "default-src 'none'; style-src "), ";")
				if !strings.HasPrefix(style, "'sha256-") {
					t.Errorf("the policy of the own page is %s", policy)
				}
				policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:;" + rest
			}
			header := plain.Header().Clone()
			header.Set("Content-Length", strconv.Itoa(len(want)))
			header.Set("Content-Security-Policy", policy)
			if diff := cmp.Diff(header, w.Header()); diff != "" || w.Body.String() != want {
				t.Errorf("%s pages: %s shows %q, headers (-want +got):\n%s", what, state, w.Body, diff)
			}
		}
	}
}

// The reason is the text of the server or, of a failure, its code. A page that cannot show
// it gives way to that of the package.
func TestReasonOnAPageOfTheProgram(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ page, state, code, description, want string }{
		{"<p>{{.Reason}}", "failed", "invalid_scope", "No such scope.", "<p>No such scope."},
		{"<p>{{.Reason}}", "failed", "invalid_scope", "", "<p>invalid_scope"},
		{"<p>{{.Reason}}", "failed", "", "", "<p>"},
		{"<p>{{.Reason}}", "denied", "access_denied", "", "<p>"},
		{`<p>{{if eq .Code "iss"}}Falscher Server{{end}}`, "failed", "iss", "", "<p>Falscher Server"},
		{`{{if eq .Reason "x"}}{{template "missing"}}{{end}}`, "failed", "x", "", "<h1>Sign-in failed</h1>"},
	} {
		w := httptest.NewRecorder()
		oauth.ShowPage(w, oauth.Config{FailurePage: tc.page}, tc.state, tc.code, tc.description)
		if body := w.Body.String(); body != tc.want && !strings.Contains(tc.want, "h1") || !strings.Contains(body, tc.want) {
			t.Errorf("%+v shows %q", tc, body)
		}
	}
}

func TestLongRefusalIsCut(t *testing.T) {
	t.Parallel()
	query := "state=s&error=e&error_description=" + strings.Repeat("%F0%9F%99%82", 700)
	_, refusal, genuine, _ := oauth.ReadCallback(query, "s", "", false)
	if !genuine || len([]rune(refusal.Description)) != 301 || !strings.HasSuffix(refusal.Description, "…") {
		t.Errorf("the description is %d characters long", len([]rune(refusal.Description)))
	}
}

// A fixed port is the one of the redirect and of the registration. It is free again
// after each login.
func TestRedirectPort(t *testing.T) { //nolint:paralleltest // another test could take the port
	blocker, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := fastiotest.New()
	c := oauth.Config{
		BaseURL: origin, Store: new(oauth.MemoryStore), HTTPClient: &http.Client{Transport: s},
		RedirectPort: blocker.Addr().(*net.TCPAddr).Port,
		OpenBrowser:  s.SignIns.OpenBrowser,
	}
	_, err = oauth.Login(t.Context(), c)
	busy, ok := errors.AsType[*oauth.PortError](err)
	if !ok || busy.Port != c.RedirectPort || !errors.Is(err, syscall.EADDRINUSE) || len(s.Requests()) > 0 {
		t.Errorf("got %v after %v", err, s.Requests())
	}
	blocker.Close()
	for range 2 {
		if _, err := oauth.Login(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var redirects []string
	for _, q := range sent(s, "oauth.StartAuthorization") {
		redirects = append(redirects, q.Get("redirect_uri"))
	}
	want := "http://" + blocker.Addr().String() + "/callback"
	if len(redirects) != 2 || redirects[0] != want || redirects[1] != want {
		t.Errorf("the redirects are %q, want %s", redirects, want)
	}
	if client := clientOf(t, c.Store); client["redirect_uri"] != want || len(sent(s, "oauth.Register")) != 1 {
		t.Errorf("registered as %v", client)
	}
}
