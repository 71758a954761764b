package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 9000)
	var many []api.ParamError
	for i := range 12 {
		many = append(many, api.ParamError{Name: fmt.Sprint("f", i), Kind: api.ParamKindInvalid})
	}
	const ten = "f0 invalid, f1 invalid, f2 invalid, f3 invalid, f4 invalid, f5 invalid, f6 invalid, f7 invalid, " +
		"f8 invalid, f9 invalid"
	part := long[:800] + "…"
	for want, e := range map[string]api.Error{
		"events.Get: No such event. (status 404, code 10753)": {Status: 404, Code: 10753, Text: "No such event."},
		"events.Get: invalid_grant (status 400)":              {Status: 400, Name: "invalid_grant"},
		"events.Get: Bad Gateway (status 502)":                {Status: 502},
		"events.Get: refused (status 450)":                    {Status: 450},
		"events.Get: OK (status 200)":                         {Status: 200},
		"events.Get: No. (status 403, reason geo_restricted)": {Status: 403, Text: "No.", Reason: "geo_restricted"},
		"events.Get: No. (status 429, retry after 1h0m0s)": {
			Status: 429, Text: "No.", Rate: api.RateLimit{RetryAfter: time.Hour},
		},
		"events.Get: No. (status 429)": {Status: 429, Text: "No.", Rate: api.RateLimit{RetryAfter: time.Millisecond}},
		"events.Get: Bad. (status 406, limit invalid: Too many.)": {
			Status: 406, Text: "Bad.", Params: []api.ParamError{{Name: "limit", Kind: "invalid", Message: "Too many."}},
		},
		"events.Get: Bad. (status 406, limit, Too many.)": {
			Status: 406, Text: "Bad.", Params: []api.ParamError{{Name: "limit"}, {Message: "Too many."}},
		},
		"events.Get: Bad. (status 406, " + ten + ")":                           {Status: 406, Text: "Bad.", Params: many},
		"events.Get: " + long[:2*8192] + "… (status 500, reason " + part + ")": {Status: 500, Text: long, Reason: long},
		"events.Get: " + part + " (status 500)":                                {Status: 500, Name: long},
		"events.Get: Bad. (status 500, " + part + " " + part + ": " + part + ")": {
			Status: 500, Text: "Bad.", Params: []api.ParamError{{Name: long, Kind: api.ParamKind(long), Message: long}},
		},
	} {
		e.Op, e.Body, e.Details = "events.Get", []byte("secret body"), json.RawMessage(`{"secret":"details"}`)
		if diff := cmp.Diff("fastio: "+want, e.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, verb := range []string{"%v", "%+v", "%s", "%q", "%#v"} {
			if s := fmt.Sprintf(verb, &e); strings.Contains(s, "secret") || !strings.Contains(s, "fastio: ") {
				t.Errorf("%s prints %s", verb, s)
			}
		}
		var logged bytes.Buffer
		slog.New(slog.NewJSONHandler(&logged, nil)).Error("failed", slog.Any("err", &e))
		if s := logged.String(); strings.Contains(s, "secret") || !strings.Contains(s, `"op":"`+e.Op+`"`) {
			t.Errorf("it is logged as %s", s)
		}
	}
}

func TestInputErrorText(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]api.InputError{
		"fastio: events.Search: limit must be 1 to 250, got 500": {
			Op: "events.Search", Field: "limit", Rule: "must be 1 to 250", Got: "500",
		},
		"fastio: limit must be 1 to 250, got 500":    {Field: "limit", Rule: "must be 1 to 250", Got: "500"},
		"fastio: events.Search: profile must be set": {Op: "events.Search", Field: "profile", Rule: "must be set"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("it reads %q, want %q", got, want)
		}
		if wrapped := fmt.Errorf("search: %w", &err); !errors.Is(wrapped, api.ErrInvalid) ||
			errors.Is(wrapped, api.ErrNotFound) {
			t.Errorf("%v is not exactly invalid input", wrapped)
		}
	}
}

// errors.Is finds the kind through any wrapping, and depends on more than the
// status. The kind of each status is tested with the client.
func TestErrorKinds(t *testing.T) {
	t.Parallel()
	kinds := []error{
		api.ErrInvalid, api.ErrUnauthenticated, api.ErrForbidden, api.ErrPaymentRequired, api.ErrNotFound, api.ErrUnsupported,
		api.ErrConflict, api.ErrLimit, api.ErrLocked, api.ErrRateLimited, api.ErrUnavailable, api.ErrServer, api.ErrTooLarge,
	}
	limit := []api.ParamError{{Name: "limit"}}
	for name, tc := range map[string]struct {
		err  api.Error
		want []error
	}{
		"401 of no token":                {api.Error{Status: 401, Unauthenticated: true}, []error{api.ErrUnauthenticated}},
		"401 of another user":            {api.Error{Status: 401}, []error{api.ErrForbidden}},
		"401, whatever its label":        {api.Error{Status: 401, Code: 1650}, []error{api.ErrForbidden}},
		"403, though called signed out":  {api.Error{Status: 403, Unauthenticated: true}, []error{api.ErrForbidden}},
		"403 with refused fields":        {api.Error{Status: 403, Params: limit}, []error{api.ErrForbidden}},
		"404 of the router":              {api.Error{Status: 404, Code: 9992}, []error{api.ErrNotFound, api.ErrUnsupported}},
		"403 with the code of 404":       {api.Error{Status: 403, Code: 9992}, []error{api.ErrForbidden}},
		"a redirect":                     {api.Error{Status: 302}, nil},
		"another refusal":                {api.Error{Status: 418}, nil},
		"another refusal, with fields":   {api.Error{Status: 418, Params: limit}, []error{api.ErrInvalid}},
		"a refusal in a success":         {api.Error{Status: 200}, nil},
		"refused fields in a success":    {api.Error{Status: 200, Params: limit}, []error{api.ErrInvalid}},
		"a refusal without any response": {api.Error{}, nil},
	} {
		var got []error
		for _, kind := range kinds {
			if errors.Is(fmt.Errorf("a: %w", errors.Join(errors.New("b"), &tc.err)), kind) {
				got = append(got, kind)
			}
		}
		if diff := cmp.Diff(fmt.Sprint(tc.want), fmt.Sprint(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The text of an error is one line of visible characters, whatever the server
// sends.
func TestErrorIsOneVisibleLine(t *testing.T) {
	t.Parallel()
	const hidden = "a\x1b[31m\r\nFAKE\x00\u202e\u2066\u2028\u2029\u200f\ufeff\u0085\xff \"é\\ \u00a0日本🙂"
	const shown = `a\x1b[31m\r\nFAKE\x00\u202e\u2066\u2028\u2029\u200f\ufeff\u0085\xff "é\ ` + "\u00a0日本🙂"
	for want, err := range map[string]error{
		"fastio: things.Get: " + shown + " (status 500, reason " + shown + ", name: " + shown + ")": &api.Error{
			Op: "things.Get", Status: 500, Text: hidden, Reason: hidden,
			Params: []api.ParamError{{Name: "name", Message: hidden}},
		},
		"fastio: things.Get: " + shown + " (status 400)": &api.Error{Op: "things.Get", Status: 400, Name: hidden},
		"fastio: name must be short, got " + shown:       &api.InputError{Field: "name", Rule: "must be short", Got: hidden},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		token := api.Token{AccessToken: api.NewSecret("t"), Expiry: time.Now().Add(time.Minute)}
		time.Sleep(time.Minute - 1)
		if token.Expired() {
			t.Error("the token expires too early")
		}
		time.Sleep(time.Nanosecond)
		if !token.Expired() {
			t.Error("the token does not expire in time")
		}
		if (api.Token{AccessToken: api.NewSecret("t")}).Expired() {
			t.Error("a token of unknown expiry expires")
		}
	})
}

func TestStaticToken(t *testing.T) {
	t.Parallel()
	source := api.StaticToken(api.NewSecret("canary"))
	for range 2 {
		if token, err := source.Token(t.Context()); err != nil || token != (api.Token{AccessToken: api.NewSecret("canary")}) {
			t.Errorf("the token is %v, %v", token, err)
		}
	}
	held := struct{ source api.TokenSource }{source}
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%d", "%x"} {
		if s := fmt.Sprintf(verb+verb, source, held); strings.Contains(s, "canary") || strings.Contains(s, "63616e") {
			t.Errorf("%s prints %s", verb, s)
		}
	}
}
