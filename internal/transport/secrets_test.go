package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

// secret are the canaries of one call, each recognizable by itself. One of them has
// characters that every encoding writes in its own way.
var secret = struct{ token, password, credential, form, json, query, state, path string }{
	"canary-token-0123456789", `canary/pass "wörd" <&> ☃+%`, "canary-credential-0123456789", "canary-form-0123456789",
	"canary-json-0123456789", "canary-query/0123456789", "canary-state-0123456789", "canary-path-0123456789",
}

// watch collects what a program may print, and holds no canary when the test ends.
type watch struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func watching(t *testing.T) *watch {
	t.Helper()
	w := new(watch)
	t.Cleanup(func() { w.check(t) })
	return w
}

func (w *watch) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// print prints v in every way there is.
func (w *watch) print(v any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%d", "%x", "%X", "%T", "%t", "%e", "%U"} {
		fmt.Fprintf(w, verb+"\n", v)
	}
	if b, err := json.Marshal(v); err == nil {
		fmt.Fprintln(w, string(b))
	}
	slog.New(slog.NewTextHandler(w, nil)).Error("text", slog.Any("v", v))
	slog.New(slog.NewJSONHandler(w, nil)).Error("json", slog.Any("v", v))
}

// printError prints an error and all that it wraps.
func (w *watch) printError(err error) {
	if err == nil {
		return
	}
	w.print(err)
	if e, ok := err.(*api.Error); ok { //nolint:errorlint // it walks the chain itself
		w.print(*e)
		fmt.Fprintln(w, e.Text, e.Name, e.Resource, e.Reason, e.Feature, e.DocumentationURL, string(e.Details),
			string(e.Body), e.Params)
	}
	switch u := err.(type) { //nolint:errorlint // it walks the chain itself
	case interface{ Unwrap() error }:
		w.printError(u.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range u.Unwrap() {
			w.printError(inner)
		}
	}
}

func (w *watch) check(t *testing.T) {
	t.Helper()
	text := w.text.String()
	if len(text) < 100 {
		t.Errorf("only %d bytes were printed", len(text))
	}
	for _, c := range []string{
		secret.token, secret.password, secret.credential, secret.form, secret.json, secret.query, secret.state,
		secret.path,
	} {
		b := []byte(c)
		for _, form := range []string{
			c, url.QueryEscape(c), url.PathEscape(c), html.EscapeString(c), fmt.Sprintf("%x", c), fmt.Sprintf("%X", c),
			base64.StdEncoding.EncodeToString(b), strings.Trim(goString(c), `"`), strings.Trim(strconv.Quote(c), `"`),
			strings.Trim(fmt.Sprintf("%d", b), "[]"),
		} {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s shows: ...%s...", c, text[max(0, at-200):min(len(text), at+len(form)+20)])
			}
		}
	}
}

// client returns a client that signs with the token and reports everything to w.
func (w *watch) client(t *testing.T, network http.RoundTripper, change ...func(*config)) *transport.Client {
	t.Helper()
	return clientOf(t, network, append([]func(*config){signedBy(secret.token), func(c *config) {
		c.Logger = slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
		c.Hooks = []api.Hooks{{
			OnRetry:   func(_ context.Context, r api.RetryEvent) { w.print(r); w.printError(r.Err) },
			OnWait:    func(_ context.Context, r api.WaitEvent) { w.print(r) },
			OnRefresh: func(_ context.Context, r api.RefreshEvent) { w.print(r); w.printError(r.Err) },
		}}
	}}, change...)...)
}

// confidential are two calls with every secret a call can have, the second with a
// body of JSON and a credential of its own.
func confidential() []*optioned {
	form := &optioned{Request: &api.Request{
		Op: "oauth.Test", Method: http.MethodPost, Path: api.Path("/current/user/password/{code}/", secret.path),
		Query: url.Values{"token": {secret.query}, "state": {secret.state}, "limit": {"1"}},
		Body:  api.Form{"refresh_token": {secret.form}, "note": {"nothing"}}, Replay: api.ReplaySafe,
	}}
	form.withPassword(secret.password)
	other := *form.Request
	other.Credential = api.NewSecret("Basic " + secret.credential)
	other.Body = api.JSON(map[string]any{
		"deep": []any{map[string]any{"client_secret": secret.json}}, "token": []string{secret.json},
	})
	return []*optioned{form, {&other, form.opts}}
}

// spoken is everything that a server could repeat of a call.
func spoken(r *optioned) string {
	c := []string{secret.password, secret.path, secret.query, secret.state, secret.token, secret.form}
	if !r.Credential.IsZero() {
		c = append(c[:4], secret.credential, secret.json)
	}
	return strings.Join(c, " | ")
}

// phpString writes a JSON string as the platform's encoder does.
func phpString(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '/':
			b.WriteString(`\` + string(r))
		case r > '~':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// phpHTML writes a text as htmlspecialchars does.
func phpHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#039;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// goString writes a JSON string that is safe in HTML.
func goString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// repeating are answers of every form that hold what.
func repeating(what string) map[string]string {
	text, php := `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(what)+`"`, phpString(what)
	fault := func(s string) string {
		return strings.ReplaceAll(`{"result":false,"error":{"code":1,"text":$,"error_code":$,"documentation_url":$,`+
			`"resource":$,"reason":$,"params":[{"name":$,"kind":$,"message":$,"expected_type":$}]},"more":$}`, "$", s)
	}
	return map[string]string{
		"platform":        fault(text),
		"platform as PHP": fault(php),
		"reasons": strings.ReplaceAll(
			`{"result":false,"error":{"code":1,"params":{"reason":$,"feature":$,$:[$]}}}`, "$", php),
		"flat":    `{"result":false,"error_message":` + php + `,"error_id":1}`,
		"OAuth":   `{"error":` + php + `,"error_description":` + php + `}`,
		"wrapped": `{"result":"no","response":` + fault(php) + `}`,
		"Markdown": "# Error\n\n- **text:** " + what +
			"\n\n| name | kind | message |\n|---|---|---|\n| a | b | " + what + " |\n",
		"HTML":                   "<html>" + html.EscapeString(what) + "</html>",
		"HTML as PHP":            "<html>" + phpHTML(what) + "</html>",
		"HTML of JSON":           "<pre>" + phpHTML(php) + "</pre>",
		"HTML with JSON":         "<script>let a = " + goString(what) + "</script>",
		"JSON with HTML of JSON": fault(goString("<pre>" + phpHTML(php) + "</pre>")),
		"text": strings.Join([]string{
			what, url.QueryEscape(secret.query), url.PathEscape(secret.query), url.QueryEscape(secret.password),
		}, " "),
		"a list":                   `[` + php + `]`,
		"a word":                   text,
		"broken off":               strings.TrimSuffix(fault(php), `"}`),
		"broken off at once":       `{"token":` + php,
		"broken off in a name":     `{` + php,
		"another type":             `{"name":` + php + `,"size":` + php + `}`,
		"another type in envelope": `{"result":true,"response":{"size":` + php + `}}`,
		"as a name":                `{"result":false,"error":{` + php + `:1}}`,
	}
}

// A server that repeats what it was sent does not make it known.
func TestSecretsInAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range confidential() {
		header := []string{"Location", "https://evil.test/?token=" + secret.query, "X-Echo", spoken(r)}
		for form, body := range repeating(spoken(r)) {
			t.Run(form, func(t *testing.T) {
				t.Parallel()
				w := watching(t)
				for _, status := range []int{200, 302, 400, 401, 403, 406, 429, 500, 503} {
					err := w.client(t, answering(status, body, header...)).Call(t.Context(), r.Request, new(thing), r.opts...)
					success := status == 200 && (form == "OAuth" || form == "broken off in a name")
					if err == nil && !success { // and names are where errors say they are
						t.Errorf("%d: the call succeeds", status)
					}
					if !success {
						w.printError(err)
					}
				}
			})
		}
	}
}

// A server that is broken may repeat what it was sent where HTTP has no room for
// it, and net/http repeats that.
func TestSecretsInBrokenHTTP(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]string{
		"a status line":       "HTTP/1.1 200%[1]s\r\n\r\n",
		"no status line":      "%[1]s\r\n\r\n",
		"a version":           "HTTP/%[1]s 200 OK\r\n\r\n",
		"a header line":       "HTTP/1.1 200 OK\r\n%[1]s\r\n\r\n",
		"a header, continued": "HTTP/1.1 200 OK\r\n \x1b[31m%[1]s\r\n\r\n",
		"a length":            "HTTP/1.1 200 OK\r\nContent-Length: %[1]s\r\n\r\n",
		"an encoding":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: %[1]s\r\n\r\n",
		"a redirect":          "HTTP/1.1 302 Found\r\nLocation: ht tp://%[1]s\r\nContent-Length: 0\r\n\r\n",
	}, func(t *testing.T, head string) {
		w := watching(t)
		network := &http.Transport{DialContext: accept(t, func(c net.Conn) {
			r, _ := http.ReadRequest(bufio.NewReader(c))
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprintf(c, head, r.Header.Get("Authorization")+" "+r.Header.Get("X-Ve-Password"))
		})}
		r := confidential()[0]
		r.Replay = api.ReplayOnce
		err := w.client(t, network, base("http://fastio.test")).Call(t.Context(), r.Request, nil, r.opts...)
		if err == nil || strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("the call ends with %v", err)
		}
		w.printError(err)
	})
}

// Names of an answer are part of it: an error that says where a value stands
// repeats none that looks like a secret.
func TestSecretsInNames(t *testing.T) {
	t.Parallel()
	w := watching(t)
	for _, body := range []string{
		`{"items":{"Bearer $":{"size":"large"}}}`, `{"items":{"$":{"size":"large"}}}`, `{"items":{"$":{"size":tru}}}`,
		`{"items":{"` + strings.Repeat("x", 95) + `$":{"size":[]}}}`,
	} {
		var out struct {
			Items map[string]struct {
				Size int `json:"size"`
			} `json:"items"`
		}
		network := answering(200, strings.ReplaceAll(body, "$", secret.token))
		err := w.client(t, network, signedBy("another-token")).Call(t.Context(), get(), &out)
		if err == nil || !strings.Contains(err.Error(), "/items/*/size") {
			t.Errorf("%s ends with %v", body, err)
		}
		w.printError(err)
	}
}

// What a server knows and the client does not is found by its name, also behind
// other text and however it is escaped.
func TestSecretsBehindText(t *testing.T) {
	t.Parallel()
	w := watching(t)
	for _, dump := range []string{
		`{"access_token":"$","code":1605}`, `{"access_token" : "$"`, `refresh_token=$&scope=all`,
		`{\"refresh_token\":\"$\"}`, `{&quot;token&quot;:&quot;$&quot;}`,
		`{"a":{"Api_Key":["` + secret.token[:4] + `"],"secret":$}}`,
	} {
		dump = strings.ReplaceAll(dump, "$", secret.token)
		for _, body := range []string{
			"Warning: " + dump, "<pre>" + phpHTML(dump) + "</pre>",
			`{"error":{"code":1605,"text":` + goString("dump: "+dump) + `}}`,
		} {
			w.printError(clientOf(t, answering(500, body)).Call(t.Context(), get(), nil))
		}
	}
	err := clientOf(t, answering(500, `Warning: {"code":1605,"status":"code=1605"}`)).Call(t.Context(), get(), nil)
	if e := refused(err); string(e.Body) != `Warning: {"code":1605,"status":"code=1605"}` {
		t.Errorf("the numbers of errors are masked: %v, %s", err, e.Body)
	}
}

// An answer that is cut off where a secret begins shows no part of it.
func TestSecretsAtTheEndOfALongAnswer(t *testing.T) {
	t.Parallel()
	token := secret.token
	for shown := 4; shown < len(token); shown++ {
		body := strings.Repeat("x", 64<<10-shown) + token + strings.Repeat("x", 100)
		err := clientOf(t, answering(500, body), signedBy(token)).Call(t.Context(), get(), nil)
		if e := refused(err); len(e.Body) == 0 || strings.Contains(string(e.Body), token[:4]) || len(e.Body) > 64<<10 {
			t.Errorf("%d bytes: the error is %T, its body ends with %s", shown, err, e.Body[len(e.Body)-40:])
		}
	}
}

// A network or a token source that fails says no more than that.
func TestSecretsInFailures(t *testing.T) {
	t.Parallel()
	failed := func(op string, err error) error {
		return &url.Error{Op: op, URL: home + "/current/?token=" + url.QueryEscape(secret.query), Err: err}
	}
	table.Each(t, map[string]error{
		"a dial":             &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")},
		"a name":             &net.DNSError{Err: "no such host", Name: "api.fast.io"},
		"net/http":           failed("Post", io.ErrUnexpectedEOF),
		"net/http, deeper":   fmt.Errorf("proxy: %w", failed("Post", io.ErrUnexpectedEOF)),
		"net/http, twice":    failed("Post", failed("Get", io.EOF)),
		"net/http, together": errors.Join(errors.New("first"), failed("Post", io.EOF)),
	}, func(t *testing.T, cause error) {
		w := watching(t)
		noToken := tokens(&source{token: func(context.Context) (api.Token, error) { return api.Token{}, cause }})
		for _, c := range []*transport.Client{
			w.client(t, answers(broken(cause)), hasty(3)), w.client(t, answers(ok()), noToken),
		} {
			for _, r := range confidential() {
				for way, send := range ways() {
					err := send(c, t.Context(), r)
					if _, found := errors.AsType[*url.Error](err); err == nil && r.Credential.IsZero() || found {
						t.Errorf("%s: the call ends with %v, whose chain holds the address", way, err)
					}
					w.printError(err)
				}
			}
		}
	})
}

// Nor do input that is rejected, or a context that ends.
func TestSecretsInWhatIsNotSent(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	w := watching(t)
	c := w.client(t, answers(ok()))
	for _, change := range []func(r *optioned){
		func(*optioned) {},
		func(r *optioned) { r.withPassword(secret.password + "\n") },
		func(r *optioned) { r.Link = api.LinkNone },
		func(r *optioned) { r.opts = append(r.opts, api.WithHeader("Authorization", secret.token)) },
		func(r *optioned) { r.opts = append(r.opts, api.WithOutput(api.Terse), api.WithOutput(api.Full)) },
		func(r *optioned) { r.Path = api.Path("/current/{code}/", "..") },
		func(r *optioned) { r.Body = api.JSON(map[string]any{"token": secret.json, "bad": func() {}}) },
	} {
		for _, r := range confidential() {
			change(r)
			err := c.Call(over, r.Request, nil, r.opts...)
			if err == nil {
				t.Error("the call succeeds")
			}
			w.printError(err)
		}
	}
}

// What a program holds of a call or a client prints no secret either, and
// middleware holds nothing that was signed.
func TestSecretsInWhatIsHeld(t *testing.T) {
	t.Parallel()
	w := watching(t)
	c := w.client(t, answers(ok()), wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		held := func(r *http.Request) {
			w.print([]any{r.Header, r.Context(), next})
			fmt.Fprintln(w, r.Context(), context.WithValue(r.Context(), &struct{}{}, 1))
			fmt.Fprintf(w, "%+v %#v", next, next)
		}
		held(r)
		resp, err := next.RoundTrip(r)
		held(r)
		held(resp.Request)
		return resp, err
	}))
	for _, r := range confidential() {
		succeed(t, c, r.Request, r.opts...)
		resp, err := c.Open(t.Context(), r.Request, r.opts...)
		if err != nil {
			t.Fatal(err)
		}
		w.print(resp.Request.Header)
		_ = resp.Body.Close()
	}
	static, password := api.StaticToken(api.NewSecret(secret.token)), api.NewSecret(secret.password)
	for _, v := range []any{
		c, static,
		struct{ Source api.TokenSource }{static},
		struct{ source api.TokenSource }{static},
		token(secret.token),
		[]any{password},
		map[string]api.Secret{"a": password},
	} {
		w.print(v)
	}
}

// A panic of middleware ends the program like any panic. Its trace contains no
// secret.
func TestSecretsInPanics(t *testing.T) {
	t.Parallel()
	w := watching(t)
	c := w.client(t, answers(ok()), wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		panic(fmt.Sprint("lost the answer ", resp.Request.Header, r.Header, r.Context(), err))
	}))
	defer func() {
		p := recover()
		if p == nil {
			t.Error("the panic is swallowed")
		}
		w.print(p)
	}()
	r := confidential()[1]
	_ = c.Call(t.Context(), r.Request, nil, r.opts...)
}
