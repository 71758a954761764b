package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
)

// canaries are the secrets of one call, each recognizable by itself. One of them
// has characters that every encoding writes in its own way.
func canaries() map[string]string {
	return map[string]string{
		"token": "canary-token-0123456789", "password": `canary/pass "wörd" <&> ☃+%`,
		"credential": "canary-credential-0123456789",
		"form":       "canary-form-0123456789", "json": "canary-json-0123456789", "query": "canary-query/0123456789",
		"state": "canary-state-0123456789", "path": "canary-path-0123456789",
	}
}

// watch collects what a program may print and searches it for canaries.
type watch struct {
	mu   sync.Mutex
	text bytes.Buffer
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
	slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})).Error("text", slog.Any("v", v))
	slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})).Error("json", slog.Any("v", v))
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
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text.String()
	if len(text) < 100 {
		t.Errorf("only %d bytes were printed", len(text))
	}
	for name, c := range canaries() {
		quoted, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		forms := []string{
			c, url.QueryEscape(c), url.PathEscape(c), html.EscapeString(c), hex.EncodeToString([]byte(c)),
			strings.ToUpper(hex.EncodeToString([]byte(c))),
			base64.StdEncoding.EncodeToString([]byte(c)), string(bytes.Trim(quoted,
				`"`)), strings.Trim(fmt.Sprintf("%q", c), `"`),
			strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%d", []byte(c)), "["), "]"),
		}
		for _, form := range slices.Compact(forms) {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("the %s shows: ...%s...", name, text[max(0, at-200):min(len(text), at+len(form)+20)])
			}
		}
	}
}

// confidential is a call with every secret a call can have.
func confidential() *api.Request {
	c := canaries()
	return &api.Request{
		Op: "oauth.Test", Method: http.MethodPost, Path: api.Path("/current/user/password/{code}/", c["path"]),
		Query:    url.Values{"token": {c["query"]}, "state": {c["state"]}, "limit": {"1"}},
		Body:     api.Form(url.Values{"refresh_token": {c["form"]}, "note": {"nothing"}}),
		Password: api.NewSecret(c["password"]), Replay: api.ReplaySafe,
	}
}

// confidentialJSON is confidential with a body of JSON and a credential of its own.
func confidentialJSON() *api.Request {
	c := canaries()
	r := confidential()
	r.Body = api.JSON(map[string]any{
		"deep":  []any{map[string]any{"client_secret": c["json"]}},
		"token": []string{c["json"]},
	})
	r.Credential = api.NewSecret("Basic " + c["credential"])
	return r
}

// spoken is everything that a server could repeat of a call.
func spoken(r *api.Request) string {
	c := canaries()
	if r.Credential.IsZero() {
		delete(c, "credential")
		delete(c, "json")
	} else {
		delete(c, "token")
		delete(c, "form")
	}
	return strings.Join(slices.Sorted(maps.Values(c)), " | ")
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
		return `{"result":false,"error":{"code":1,"text":` + s + `,"error_code":` + s + `,"documentation_url":` + s +
			`,"resource":` + s +
			`,"reason":` + s + `,"params":[{"name":` + s + `,"kind":` + s + `,"message":` + s + `,"expected_type":` +
			s + `}]},"more":` + s + `}`
	}
	return map[string]string{
		"platform":        fault(text),
		"platform as PHP": fault(php),
		"reasons": `{"result":false,"error":{"code":1,"params":{"reason":` + php + `,"feature":` +
			php + `,` + php + `:[` + php + `]}}}`,
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
		"text": what + " " + url.QueryEscape(canaries()["query"]) + " " +
			url.PathEscape(canaries()["query"]) + " " + url.QueryEscape(canaries()["password"]),
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
	table.Each(t, map[string]*api.Request{"form": confidential(), "JSON": confidentialJSON()},
		func(t *testing.T, r *api.Request) {
			header := []string{"Location", "https://evil.test/?token=" + canaries()["query"], "X-Echo", spoken(r)}
			table.Each(t, repeating(spoken(r)), func(t *testing.T, body string) {
				w := new(watch)
				for _, status := range []int{200, 302, 400, 401, 403, 406, 429, 500, 503} {
					c := clientOf(t, answering(status, body, header...), signedBy(canaries()["token"]), logged(w))
					err := c.Call(t.Context(), r, new(thing))
					success := status == 200 &&
						(strings.HasSuffix(t.Name(), "/OAuth") || strings.HasSuffix(t.Name(), "_in_a_name"))
					if err == nil && !success { // and names are where errors say they are
						t.Errorf("%d: the call succeeds", status)
					}
					if !success {
						w.printError(err)
					}
				}
				w.check(t)
			})
		})
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
		w := new(watch)
		network := &http.Transport{DialContext: accept(t, func(c net.Conn) {
			r, _ := http.ReadRequest(bufio.NewReader(c))
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprintf(c, head, r.Header.Get("Authorization")+" "+r.Header.Get("X-Ve-Password"))
		})}
		c := clientOf(t, network, base("http://fastio.test"), signedBy(canaries()["token"]), logged(w))
		r := confidential()
		r.Replay = api.ReplayOnce
		err := c.Call(t.Context(), r, nil)
		if err == nil || strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("the call ends with %v", err)
		}
		w.printError(err)
		w.check(t)
	})
}

// Names of an answer are part of it: an error that says where a value stands
// repeats none that looks like a secret.
func TestSecretsInNames(t *testing.T) {
	t.Parallel()
	w := new(watch)
	token := canaries()["token"]
	for _, body := range []string{
		`{"items":{"Bearer ` + token + `":{"size":"large"}}}`, `{"items":{"` + token + `":{"size":"large"}}}`,
		`{"items":{"` + token + `":{"size":tru}}}`, `{"items":{"` + strings.Repeat("x", 95) + token + `":{"size":[]}}}`,
	} {
		var out struct {
			Items map[string]struct {
				Size int `json:"size"`
			} `json:"items"`
		}
		err := clientOf(t, answering(200, body), logged(w)).Call(t.Context(), get(), &out)
		if err == nil || !strings.Contains(err.Error(), "/items/*/size") {
			t.Errorf("%s ends with %v", body, err)
		}
		w.printError(err)
	}
	w.check(t)
}

// What a server knows and the client does not is found by its name, also behind
// other text and however it is escaped.
func TestSecretsBehindText(t *testing.T) {
	t.Parallel()
	token := canaries()["token"]
	for _, dump := range []string{
		`{"access_token":"` + token + `","code":1605}`, `{"access_token" : "` + token + `"`, `refresh_token=` + token +
			`&scope=all`,
		`{\"refresh_token\":\"` + token + `\"}`, `{&quot;token&quot;:&quot;` + token + `&quot;}`, `{"a":{"Api_Key":["` +
			token[:4] + `"],"secret":` + token + `}}`,
	} {
		for _, body := range []string{
			"Warning: " + dump, "<pre>" + phpHTML(dump) + "</pre>",
			`{"error":{"code":1605,"text":` + goString("dump: "+dump) + `}}`,
		} {
			w := new(watch)
			err := clientOf(t, answering(500, body)).Call(t.Context(), get(), nil)
			w.printError(err)
			w.check(t)
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
	token := canaries()["token"]
	for shown := 4; shown < len(token); shown++ {
		body := strings.Repeat("x", 64<<10-shown) + token + strings.Repeat("x", 100)
		err := clientOf(t, answering(500, body), signedBy(token)).Call(t.Context(), get(), nil)
		if e := refused(err); len(e.Body) == 0 || strings.Contains(string(e.Body), token[:4]) || len(e.Body) > 64<<10 {
			t.Errorf("%d bytes: the error is %T, its body ends with %s", shown, err, e.Body[len(e.Body)-40:])
		}
	}
}

// logged has a client tell everything it tells to w.
func logged(w *watch) func(*config) {
	return func(c *config) {
		c.Logger = slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
		c.Hooks = api.Hooks{
			Retry:   func(_ context.Context, r api.Retry) { w.print(r); w.printError(r.Err) },
			Wait:    func(_ context.Context, r api.Wait) { w.print(r) },
			Refresh: func(_ context.Context, r api.Refresh) { w.print(r); w.printError(r.Err) },
		}
	}
}

// A network that fails says no more than that.
func TestSecretsInFailures(t *testing.T) {
	t.Parallel()
	address := "https://api.fast.io/current/?token=" + url.QueryEscape(canaries()["query"])
	for name, cause := range map[string]error{
		"a dial":           &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")},
		"a name":           &net.DNSError{Err: "no such host", Name: "api.fast.io"},
		"net/http":         &url.Error{Op: "Post", URL: address, Err: io.ErrUnexpectedEOF},
		"net/http, deeper": fmt.Errorf("proxy: %w", &url.Error{Op: "Post", URL: address, Err: io.ErrUnexpectedEOF}),
		"net/http, twice": &url.Error{
			Op: "Post", URL: address,
			Err: &url.Error{Op: "Get", URL: address, Err: io.EOF},
		},
		"net/http, together": errors.Join(errors.New("first"), &url.Error{Op: "Post", URL: address, Err: io.EOF}),
	} {
		w := new(watch)
		c := clientOf(t, answers(broken(cause)), signedBy(canaries()["token"]), logged(w), hasty(3))
		for _, r := range []*api.Request{confidential(), confidentialJSON()} {
			err := c.Call(t.Context(), r, nil)
			if _, ok := errors.AsType[*url.Error](err); ok || err == nil {
				t.Errorf("%s: the call ends with %v, whose chain holds the address", name, err)
			}
			w.printError(err)
			resp, err := c.Open(t.Context(), r)
			if err == nil {
				_ = resp.Body.Close()
			}
			w.printError(err)
		}
		w.check(t)
	}
	w := new(watch)
	fail := &source{token: func(context.Context) (api.Token, error) {
		return api.Token{}, &url.Error{Op: "Post", URL: address, Err: io.EOF}
	}}
	w.printError(clientOf(t, answers(ok()), logged(w), tokens(fail)).Call(t.Context(), confidential(), nil))
	w.check(t)
}

// Nor do input that is rejected, or a context that ends.
func TestSecretsInWhatIsNotSent(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	w := new(watch)
	c := clientOf(t, answers(ok()), signedBy(canaries()["token"]), logged(w))
	for _, change := range []func(r *api.Request){
		nil,
		func(r *api.Request) { r.Password = api.NewSecret(r.Password.Reveal() + "\n") },
		func(r *api.Request) {
			r.Options = api.Resolve([]api.CallOption{api.Header("Authorization", canaries()["token"])})
		},
		func(r *api.Request) { r.Options = api.Resolve([]api.CallOption{api.Terse, api.Full}) },
		func(r *api.Request) { r.Path = api.Path("/current/{code}/", "..") },
		func(r *api.Request) { r.Body = api.JSON(map[string]any{"token": canaries()["json"], "bad": func() {}}) },
	} {
		for _, r := range []*api.Request{confidential(), confidentialJSON()} {
			ctx := t.Context()
			if change != nil {
				change(r)
			} else {
				ctx = over
			}
			err := c.Call(ctx, r, nil)
			if err == nil {
				t.Error("the call succeeds")
			}
			w.printError(err)
		}
	}
	w.check(t)
}

// What a program holds of a call or a client prints no secret either, and
// middleware holds nothing that was signed.
func TestSecretsInWhatIsHeld(t *testing.T) {
	t.Parallel()
	w := new(watch)
	dump := wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		held := func() {
			w.print(r.Header)
			w.print(r.Context())
			fmt.Fprintln(w, r.Context(), context.WithValue(r.Context(), &struct{}{}, 1))
			fmt.Fprintf(w, "%+v %#v", next, next)
		}
		held()
		resp, err := next.RoundTrip(r)
		held()
		if err == nil {
			w.print(resp.Request.Header)
			w.print(resp.Request.Context())
		}
		return resp, err
	})
	c := clientOf(t, answers(ok()), signedBy(canaries()["token"]), logged(w), dump)
	for _, r := range []*api.Request{confidential(), confidentialJSON()} {
		succeed(t, c, r)
		resp, err := c.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		w.print(resp.Request.Header)
		_ = resp.Body.Close()
	}
	w.print(c)
	static, r := api.StaticToken(api.NewSecret(canaries()["token"])), confidentialJSON()
	w.print(static)
	w.print(struct{ Source api.TokenSource }{static})
	w.print(struct{ source api.TokenSource }{static})
	w.print(token(canaries()["token"]))
	w.print([]any{r.Password, r.Credential})
	w.print(map[string]api.Secret{"a": r.Password})
	w.check(t)
}

// Middleware that panics takes the program down as any panic does, and the trace
// of it tells no secret.
func TestSecretsInPanics(t *testing.T) {
	t.Parallel()
	w := new(watch)
	c := clientOf(t, answers(ok()), signedBy(canaries()["token"]),
		wrap(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			panic(fmt.Sprint("lost the answer ", resp.Request.Header, r.Header, r.Context(), err))
		}))
	func() {
		defer func() {
			p := recover()
			if p == nil {
				t.Error("the panic is swallowed")
			}
			w.print(p)
		}()
		_ = c.Call(t.Context(), confidentialJSON(), nil)
	}()
	w.check(t)
}
