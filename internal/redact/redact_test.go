package redact_test

import (
	"cmp"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/internal/redact"
	"github.com/fastio-go/fastio/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "canary-0123456789"

// secretNames are the members and parameters that logs must not contain.
var secretNames = []string{
	"secret", "token", "auth_token", "access_token", "refresh_token", "registration_access_token", "signing_secret",
	"inbound_signing_key", "outbound_secret", "api_key", "apikey", "password", "password1", "password2",
	"current_password",
	"private_key", "public_key", "encryption_key", "client_secret", "client_info", "hosted_invoice_url", "invoice_pdf",
	"code", "code_verifier", "device_code", "user_code", "verification_uri_complete",
	"email_token", "lock_token", "downloadtoken", "download_token", "invitation_key", "invite_url", "binding_uri",
	"pin", "identity_hash", "x-ve-password",
	"authorization", "cookie", "set-cookie",
}

func TestJSON(t *testing.T) {
	t.Parallel()
	type row struct{ in, want string } // "" means unchanged, $ is the mask
	table.Each(t, map[string]row{
		"at the root": {`{"token":"s","id":1}`, `{"token":"$","id":1}`},
		"deep down":   {`{"a":[{"b":{"API_Key":"s"}}]}`, `{"a":[{"b":{"API_Key":"$"}}]}`},
		"in a list":   {`[{"password":"s"},{"password":"t"}]`, `[{"password":"$"},{"password":"$"}]`},
		"of any type": {
			`{"secret":{"a":"s"},"token":["s"],"apikey":7,"password":true}`,
			`{"secret":"$","token":"$","apikey":"$","password":"$"}`,
		},
		"not null":                     {`{"token":null}`, ""},
		"by an escaped name":           {`{"tok\u0065n":"s"}`, `{"token":"$"}`},
		"twice":                        {`{"token":"s","token":"t"}`, `{"token":"$","token":"$"}`},
		"not names that only resemble": {`{"tokens":1,"codes":["a"],"public":"k"}`, ""},
		"the code of a sign-in":        {`{"code":"s"}`, `{"code":"$"}`},
		"the address with the code": {
			`{"redirect_uri":"http://127.0.0.1/cb?code=s","redirect_uris":["http://127.0.0.1/cb"]}`,
			`{"redirect_uri":"$","redirect_uris":["http://127.0.0.1/cb"]}`,
		},
		"a code of digits":             {`{"code":"123456"}`, `{"code":"$"}`},
		"not the code of an error":     {`{"error":{"code":10011,"params":[{"code":"10022"}]}}`, ""},
		"not the codes of many errors": {`{"errors":[{"node_id":"2a","code":1654}]}`, ""},
		"a word in place of a code":    {`{"error":{"code":"s"}}`, `{"error":{"code":"$"}}`},
		"a code in a path": {
			`{"resource":"GET /current/user/password/s/details/"}`,
			`{"resource":"GET /current/user/password/$/details/"}`,
		},
		"a code in an escaped path": {
			`{"resource":"POST \/current\/user\/auth\/2factor\/verify\/s\/"}`,
			`{"resource":"POST /current/user/auth/2factor/verify/$/"}`,
		},
		"and keeps long numbers":     {`{"id":4012345678901234567890}`, ""},
		"and replaces invalid UTF-8": {"{\"a\":\"\xff\"}", `{"a":"` + "\ufffd" + `"}`},
		"of a text cut in a secret":  {`{"id":1,"token":"s`, `{"id":1,"token":null}`},
		"of a text cut behind one":   {`{"id":1,"token":"s"`, `{"id":1,"token":"$"}`},
		"of a text cut in a name":    {`{"id":1,"tok`, `{"id":1}`},
		"of a text cut in a list":    {`{"a":[{"token":"s"},{"b":[1,2`, `{"a":[{"token":"$"},{"b":[1,2]}]}`},
		"of a text cut at once":      {`{`, `{}`},
		"of a broken text":           {`{"token":"s" "b":1}`, `{"token":"$"}`},
		"and drops what follows":     {`{"token":"s"} token=t`, `{"token":"$"}`},
		"but leaves HTML alone":      {`<p>404</p>`, ""},
		"but leaves text alone":      {`404 page not found`, ""},
		"but leaves nothing alone":   {``, ""},
	}, func(t *testing.T, tc row) {
		want := strings.ReplaceAll(cmp.Or(tc.want, tc.in), "$", redact.Mask)
		if got := string(redact.JSON([]byte(tc.in))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestEverySecretNameIsKnown(t *testing.T) {
	t.Parallel()
	for _, name := range secretNames {
		for _, spelt := range []string{name, strings.ToUpper(name)} {
			in := `{"deep":[{"` + spelt + `":"` + canary + `"}]}`
			if out := redact.JSON([]byte(in)); strings.Contains(string(out), canary) {
				t.Errorf("%s is not masked in %s", spelt, out)
			}
			values := new(redact.Words).Values(url.Values{spelt: {canary, "other " + canary}, "limit": {"1"}})
			if diff := gocmp.Diff(url.Values{spelt: {"[redacted]", "[redacted]"}, "limit": {"1"}}, values); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
	for _, name := range []string{"Authorization", "proxy-authorization", "X-VE-Password", "Cookie", "set-cookie"} {
		if !redact.Header(name) {
			t.Errorf("the header %s is not masked", name)
		}
	}
	for _, name := range []string{"Content-Type", "X-Ve-Limit-Max", "Date"} {
		if redact.Header(name) {
			t.Errorf("the header %s is masked", name)
		}
	}
	if got := new(redact.Words).Values(url.Values{"state": {canary}}); got.Get("state") != "[redacted]" {
		t.Errorf("the state of a sign-in is %s", got.Get("state"))
	}
}

// The response about the support PIN is masked as a whole.
func TestConfidentialResponses(t *testing.T) {
	t.Parallel()
	if !redact.Confidential("/api/current/user/pin/") || redact.Confidential("/current/user/me/details/") {
		t.Error("only the support PIN is confidential")
	}
	w := redact.Words{All: true}
	in := `{"result":true,"a":"short","b":[7,null],"c":{"d":"x"}}`
	want := `{"result":true,"a":"$","b":["$",null],"c":{"d":"$"}}`
	if got := string(w.JSON([]byte(in))); got != strings.ReplaceAll(want, "$", redact.Mask) {
		t.Errorf("got %s", got)
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/current/user/password/s/details/":         "/current/user/password/[redacted]/details/",
		"/api/current/user/password/s/":             "/api/current/user/password/[redacted]/",
		"/current/user/password/":                   "/current/user/password/",
		"/current/user/phone/44-2079460000/":        "/current/user/phone/[redacted]/",
		"/current/user/auth/2factor/auth/123456/":   "/current/user/auth/2factor/auth/[redacted]/",
		"/current/user/auth/2factor/verify/123456/": "/current/user/auth/2factor/verify/[redacted]/",
		"/current/user/auth/2factor/123456/":        "/current/user/auth/2factor/[redacted]/",
		"/current/user/auth/2factor/sms/":           "/current/user/auth/2factor/sms/",
		"/current/user/auth/2factor/totp/":          "/current/user/auth/2factor/totp/",
		"/current/user/auth/2factor/whatsapp/":      "/current/user/auth/2factor/whatsapp/",
		"/current/user/auth/2factor/send/sms/":      "/current/user/auth/2factor/send/sms/",
		"/current/user/auth/2factor/":               "/current/user/auth/2factor/",
		"/current/workspace/1/members/join/s/":      "/current/workspace/1/members/join/[redacted]/",
		"/current/share/1/members/join/s/accept/":   "/current/share/1/members/join/[redacted]/accept/",
		"/current/share/1/members/join/":            "/current/share/1/members/join/",
		"/current/user/invitation/s/details/":       "/current/user/invitation/[redacted]/details/",
		"/current/user/invitations/list/":           "/current/user/invitations/list/",
		"/current/share/1/storage/2/preview/pdf/read/s/file/a": "" +
			"/current/share/1/storage/2/preview/pdf/read/[redacted]/file/a",
		"/current/fileshare/1/storage/preview/pdf/read/": "/current/fileshare/1/storage/preview/pdf/read/",
		"/current/ai/share/s/":                           "/current/ai/share/[redacted]/",
		"/current/user/me/details/":                      "/current/user/me/details/",
		"/current/events/search/":                        "/current/events/search/",
		"see /user/password/s for more/or less":          "see /user/password/[redacted] for more/or less",
		"POST /user/password/s\nhttps://docs.test/a":     "POST /user/password/[redacted]\nhttps://docs.test/a",
		"https://go.fast.io/user/password/s?x=1":         "https://go.fast.io/user/password/[redacted]?x=1",
		"no path at all, user and password and other":    "no path at all, user and password and other",
	} {
		if got := redact.Path(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
		if again := redact.Path(want); again != want {
			t.Errorf("%s becomes %s", want, again)
		}
	}
}

// Valid JSON stays valid, secret names have no value, and redacting again
// changes nothing.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"token":"s","error":{"code":1,"params":[{"code":"2"}]},"deep":[[{"password":{"a":[]}}]]}`,
		`[{"code":12},null,-1.5e9,"\u0000"]`,
		`{"a":"/user/password/x y/z"}`, `{"token":"`, `{"a":{"b":[1,{"tok`, ` {"cookie":1}{"cookie":2}`, "[\"\xff\"]",
		`"token"`, `[}`, `{"error":{"code":" 12 "}}`,
	} {
		f.Add(s, uint16(len(s)/2))
	}
	f.Fuzz(func(t *testing.T, s string, at uint16) {
		for _, in := range []string{s, s[:min(int(at), len(s))]} {
			out := redact.JSON([]byte(in))
			if again := redact.JSON(out); string(again) != string(out) {
				t.Errorf("%q becomes %q, then %q", in, out, again)
			}
			trimmed := strings.Trim(in, " \t\r\n") // JSON whitespace
			if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
				continue
			}
			valid := func(b []byte) bool {
				return jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
			}
			if len(out) > 0 && !valid(out) || valid([]byte(in)) && len(out) == 0 {
				t.Fatalf("%q becomes %q, which is not valid", in, out)
			}
			var v any
			if json.Unmarshal(out, &v) == nil {
				checkMasked(t, v, false)
			}
		}
	})
}

func checkMasked(t *testing.T, v any, fault bool) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, row := range v {
			checkMasked(t, row, fault)
		}
	case map[string]any:
		for key, member := range v {
			_, list := member.([]any)
			_, object := member.(map[string]any)
			isCode := strings.EqualFold(key, "code") && fault && !list && !object
			for _, name := range secretNames {
				if strings.ToLower(key) == name && member != nil && member != "[redacted]" && !isCode {
					t.Errorf("%s is %v", key, reflect.ValueOf(member))
				}
			}
			checkMasked(t, member, fault || strings.HasPrefix(key, "error"))
		}
	}
}
