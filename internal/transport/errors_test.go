package transport_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
)

// seen are the fields of an *api.Error in testdata/errors.txt.
type seen struct {
	Code                                                    int64
	Name, Text, DocumentationURL, Resource, Reason, Feature string
	Params                                                  []api.ParamError
	Details                                                 json.RawMessage
	RetryAfter                                              string
	Limit, Remaining                                        int
	Body                                                    *string // nil when it is the answer's as it came
}

func see(e *api.Error, body string) seen {
	s := seen{
		Code: e.Code, Name: e.Name, Text: e.Text, DocumentationURL: e.DocumentationURL, Resource: e.Resource,
		Reason: e.Reason, Feature: e.Feature, Params: e.Params, Details: e.Details,
		Limit: e.Rate.Limit, Remaining: e.Rate.Remaining,
	}
	if e.Rate.RetryAfter > 0 {
		s.RetryAfter = e.Rate.RetryAfter.String()
	}
	if kept := string(e.Body); kept != body {
		s.Body = &kept
	}
	return s
}

func kindsOf(err error) []string {
	var names []string
	for name, kind := range map[string]error{
		"ErrInvalid": api.ErrInvalid, "ErrUnauthenticated": api.ErrUnauthenticated, "ErrForbidden": api.ErrForbidden,
		"ErrPaymentRequired": api.ErrPaymentRequired, "ErrNotFound": api.ErrNotFound, "ErrConflict": api.ErrConflict,
		"ErrUnsupported": api.ErrUnsupported, "ErrLimit": api.ErrLimit, "ErrLocked": api.ErrLocked,
		"ErrRateLimited": api.ErrRateLimited, "ErrUnavailable": api.ErrUnavailable, "ErrServer": api.ErrServer,
	} {
		if errors.Is(err, kind) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// goldenError is an answer, and the error that it must become.
type goldenError struct {
	answer *answer
	text   string // its kinds and its text
	fields string // JSON of those that text does not hold, "" for none
}

var errorText = regexp.MustCompile(`^[^:]*: (.*) \(status \d+(?:, code (\d+))?(?:, reason (\w+))?`)

// want returns the fields of the error: text holds its message, code and reason.
func (g goldenError) want() (s seen, err error) {
	m := errorText.FindStringSubmatch(g.text)
	s.Text = m[1]
	if s.Text == cmp.Or(http.StatusText(g.answer.status), "refused") {
		s.Text = "" // the status stands for it
	}
	s.Reason = m[3]
	if m[2] != "" {
		s.Code, err = strconv.ParseInt(m[2], 10, 64)
	}
	fields := cmp.Or(g.fields, "{}")
	return s, errors.Join(err, json.Unmarshal([]byte(fields), &s)) //nolint:musttag // the file names the fields
}

// goldenErrors reads testdata/errors.txt: "== name: status | header | header", the body,
// "-> kinds: text" and the fields.
func goldenErrors(tb testing.TB) map[string]goldenError {
	tb.Helper()
	text, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]goldenError{}
	for golden := range strings.SplitSeq(strings.TrimPrefix(string(text), "== "), "\n== ") {
		head, rest, _ := strings.Cut(golden, "\n")
		name, head, _ := strings.Cut(head, ": ")
		headers := strings.Split(head, " | ")
		code, err := strconv.Atoi(headers[0])
		body, want, ok := strings.Cut("\n"+rest, "\n-> ")
		if err != nil || !ok {
			tb.Fatalf("%s cannot be read: %v", name, err)
		}
		a := reply(code, strings.TrimPrefix(body, "\n"))
		for _, h := range headers[1:] {
			key, value, _ := strings.Cut(h, ":")
			a.header = append(a.header, key, strings.TrimSpace(value))
		}
		text, fields, _ := strings.Cut(want, "\n")
		all[name] = goldenError{a, text, fields}
	}
	return all
}

func TestErrorsOfEveryForm(t *testing.T) {
	t.Parallel()
	table.Each(t, goldenErrors(t), func(t *testing.T, golden goldenError) { // with a token that cannot be refreshed
		want, err := golden.want()
		if err != nil {
			t.Fatal(err)
		}
		err = clientOf(t, answers(golden.answer)).Call(t.Context(), get(), new(thing))
		e, ok := err.(*api.Error) //nolint:errorlint // it must not be wrapped
		if !ok {
			t.Fatalf("the call ends with %T: %v", err, err)
		}
		text := strings.Join(kindsOf(e), ", ") + ": " + strings.TrimPrefix(e.Error(), "fastio: things.Get: ")
		if diff := gocmp.Diff(golden.text, text) + gocmp.Diff(want, see(e, golden.answer.body)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if e.Op != "things.Get" || e.Attempts != 1 || e.Status != golden.answer.status {
			t.Errorf("the error is of attempt %d of %s, with status %d", e.Attempts, e.Op, e.Status)
		}
	})
}

// The kind depends on the status, for any body. In a 2xx response the body can report
// a failure; its kind then depends on the refused fields.
func TestKinds(t *testing.T) {
	t.Parallel()
	check := func(status int, body, want string) {
		err := clientOf(t, answering(status, body)).Call(t.Context(), get(), new(thing))
		if e := refused(err); e.Status != status || e.Op != "things.Get" || e.Attempts != 1 {
			t.Errorf("%d with %q ends in %#v", status, body, err)
		}
		if got := strings.Join(kindsOf(err), " "); got != want {
			t.Errorf("%d with %q is %s, want %s", status, body, got, want)
		}
	}
	kinds := map[int]string{
		400: "ErrInvalid", 406: "ErrInvalid", 422: "ErrInvalid", 401: "ErrForbidden", 402: "ErrPaymentRequired",
		403: "ErrForbidden", 404: "ErrNotFound", 410: "ErrNotFound", 405: "ErrUnsupported", 501: "ErrUnsupported",
		409: "ErrConflict", 408: "ErrUnavailable", 412: "ErrLimit", 413: "ErrLimit", 450: "ErrLimit",
		423: "ErrLocked", 429: "ErrRateLimited", 502: "ErrUnavailable", 503: "ErrUnavailable", 504: "ErrUnavailable",
	}
	for status := 300; status < 600; status++ {
		want := kinds[status]
		if want == "" && status >= 500 {
			want = "ErrServer"
		}
		for _, body := range []string{
			"", "<html>", `{"result":true,"name":"a"}`, `{"result":false,"error":{"code":1605}}`,
		} {
			check(status, body, want)
		}
	}
	check(200, `{"result":false,"error":{"code":10022,"params":[{"name":"limit","kind":"invalid"}]}}`, "ErrInvalid")
	check(200, `{"result":false,"error":{"code":1605,"params":{"reason":"x"}}}`, "")
	check(200, `{"result":"no"}`, "")
	for _, status := range []int{200, 401, 404, 429, 500} {
		check(status, `{"result":false,"error":{"code":90211}}`, "ErrUnavailable")
		check(status, `{"result":false,"error":{"error_code":"errNoVeHeader"}}`, "ErrUnavailable")
	}
	check(409, `{"result":false,"error":{"code":1677}}`, "ErrConflict")
}

func TestFailureInASuccessSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const failure, neither = "the response reports a failure", "the result of the response is neither true nor false: got "
	for body, want := range map[string]string{
		`{"result":false}`:                     failure + " (status 200)",
		`{"result":"No","error":{"code":7}}`:   failure + " (status 200, code 7)",
		`{"result":0,"error":{}}`:              failure + " (status 200)",
		`{"result":null}`:                      neither + "null (status 200)",
		`{"result":"partial","name":"a"}`:      neither + `"partial" (status 200)`,
		`{"result":{"a":1}}`:                   neither + `{"a":1} (status 200)`,
		`{"result":"partial","error":"x"}`:     "x (status 200)",
		`{"result":null,"error":{"text":"x"}}`: "x (status 200)",
	} {
		for _, out := range []any{new(thing), new(map[string]any), nil} {
			err := clientOf(t, answering(200, body)).Call(t.Context(), get(), out)
			if got := fmt.Sprint(err); got != "fastio: things.Get: "+want {
				t.Errorf("%s ends in %q, want %q", body, got, want)
			}
		}
	}
	text, err := clientOf(t, answering(200, "**Result:** failure\n")).Markdown(t.Context(), get())
	if got := fmt.Sprint(err); got != "fastio: things.Get: "+failure+" (status 200)" || text != "" {
		t.Errorf("a failure in Markdown is %q and %q", text, got)
	}
}

// Only some refusals by 401 mean that signing in would help.
func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	fixed := func(v api.Token) func(*config) { // a source that cannot refresh
		token := func(context.Context) (api.Token, error) { return v, nil }
		return tokens(struct{ api.TokenSource }{&source{token: token}})
	}
	signed := func(left time.Duration) func(*config) {
		return fixed(api.Token{AccessToken: api.NewSecret("token-" + canary), Expiry: time.Now().Add(left)})
	}
	unsigned, expired, good := tokens(nil), signed(-time.Minute), signed(time.Hour)
	anonymous, basic, bearer := get(), get(), get()
	anonymous.Auth = api.AuthNone
	basic.Credential, bearer.Credential = api.NewSecret("Basic bWU6"+canary), api.NewSecret("Bearer "+canary)
	type row struct {
		client func(*config)
		r      *api.Request
		code   string // "" is an answer without an envelope
		want   bool
	}
	table.Each(t, map[string]row{
		"no token":                           {unsigned, get(), "", true},
		"no token and an access code":        {unsigned, get(), "10545", true},
		"no token in the source":             {fixed(api.Token{}), get(), "", true},
		"a call that sends none":             {good, anonymous, "", true},
		"a bearer that is no token":          {good, get(), "10001", true},
		"a dead bearer":                      {good, get(), "10011", true},
		"a dead bearer, as text":             {good, get(), `" 10011 "`, true},
		"an expired bearer":                  {expired, get(), "10545", true},
		"an expired bearer and no words":     {expired, get(), "", true},
		"a bearer of unknown expiry":         {fixed(token("token-" + canary)), get(), "", false},
		"a bearer that is still good":        {good, get(), "", false},
		"a bearer without the second factor": {good, get(), "10175", false},
		"another user":                       {good, get(), "10545", false},
		"a share not granted":                {good, get(), "115069", false},
		"a label of the documents":           {good, get(), "1650", false},
		"a wrong password":                   {good, basic, "10008", false},
		"a dead credential of its own":       {good, bearer, "10011", true},
	}, func(t *testing.T, tc row) {
		body := "<html>"
		if tc.code != "" {
			body = `{"result":false,"error":{"code":` + tc.code + `,"text":"No."}}`
		}
		err := clientOf(t, answering(401, body), tc.client).Call(t.Context(), tc.r, nil)
		if refused(err).Unauthenticated != tc.want || errors.Is(err, api.ErrUnauthenticated) != tc.want ||
			errors.Is(err, api.ErrForbidden) == tc.want {
			t.Errorf("Unauthenticated is not %t: %v, %v", tc.want, err, kindsOf(err))
		}
	})
}

// An Error is kept small, however long the answer.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"text": strings.Repeat("x", 1<<20),
		"JSON": `{"result":false,"error":{"code":10022,"text":"` + strings.Repeat("é", 20<<10) + `","more":"` +
			strings.Repeat("x", 1<<20) + `"}}`,
		"masks": `{"result":false,"error":{"code":10022,"list":[` + strings.Repeat(`{"token":1},`, 1<<14) + `1]}}`,
		"a list": `{"result":false,"error":{"code":10022,"params":[` +
			strings.Repeat(`{"name":"n","kind":"invalid","message":"m"},`, 1<<15) + `{}]}}`,
		"deep":       strings.Repeat(`{"response":`, 5000) + "1" + strings.Repeat("}", 5000),
		"too deep":   strings.Repeat(`[`, 60<<10),
		"a success":  `{"result":false,"error":{"code":10022},"more":["` + strings.Repeat(`x","`, 1<<18) + `"]}`,
		"empty rows": `{"result":false,"error":{"code":10022,"params":[` + strings.Repeat(`{},`, 1<<12) + `{}]}}`,
	} {
		status := 406
		if name == "a success" {
			status = 200
		}
		err := clientOf(t, answering(status, body)).Call(t.Context(), get(), nil)
		e := refused(err)
		if e.Status != status || len(e.Body) > 64<<10 || len(e.Error()) > 32<<10 || !utf8.ValidString(e.Error()) {
			t.Errorf("%s: the body of %d is of %d bytes, the text of %d", name, e.Status, len(e.Body), len(e.Error()))
		}
		if strings.HasPrefix(body, `{"result"`) && e.Code != 10022 {
			t.Errorf("%s: the code is %d", name, e.Code)
		}
		if name == "empty rows" && e.Params != nil {
			t.Errorf("%d fields are said to be refused", len(e.Params))
		}
	}
}

// Whatever a server answers, a refusal becomes an Error of its status, bounded
// and without the token.
func FuzzParseError(f *testing.F) {
	for _, golden := range goldenErrors(f) {
		body := golden.answer.body
		f.Add(uint16(406), "text/markdown", body)
		f.Add(uint16(401), "application/json", strings.Replace(body, "text", "token-"+canary, 1))
	}
	f.Fuzz(func(t *testing.T, status uint16, contentType, body string) {
		want := 300 + int(status)%300
		err := clientOf(t, answering(want, body, "Content-Type", contentType)).Call(t.Context(), get(), nil)
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Status != want || e.Op != "things.Get" || e.Attempts != 1 || len(e.Body) > 64<<10 {
			t.Fatalf("%d %q ends in %#v", want, body, err)
		}
		text, merr := json.Marshal(e) //nolint:musttag // as a program might
		if merr != nil {
			t.Errorf("the error cannot be written: %v", merr)
		}
		for _, s := range []string{e.Error(), string(text), string(e.Body), string(e.Details)} {
			if strings.Contains(s, canary) && !strings.Contains(strings.ReplaceAll(body, "token-"+canary, ""), canary) {
				t.Errorf("the token shows in %s", s)
			}
		}
	})
}
