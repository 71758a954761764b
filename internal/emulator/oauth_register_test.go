package emulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

const (
	registerPath = "/api/current/oauth/register/"
	local        = `["http://127.0.0.1:1/cb"]`
)

func TestRegister(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 64) // 128 bytes
	for name, test := range map[string]struct {
		kind, body string
		want       map[string]any
	}{
		"from JSON": {
			"application/json; charset=utf-8",
			`{"client_name": " Sync ", "redirect_uris": ["https://a.test/cb?x=1", "http://localhost/cb", "http://127.0.0.1:9/cb"], "grant_types": ["password"], "response_types": ["token"], "token_endpoint_auth_method": "none"}`,
			map[string]any{
				"client_name": "Sync", "redirect_uris": []any{"https://a.test/cb?x=1", "http://localhost/cb", "http://127.0.0.1:9/cb"},
				"grant_types": []any{"password"}, "response_types": []any{"token"},
			},
		},
		"from a form": {
			formType, pairs("client_name", "Sync", "redirect_uris", `["https://a.test/cb"]`, "grant_types", `["authorization_code"]`).Encode(),
			map[string]any{
				"client_name": "Sync", "redirect_uris": []any{"https://a.test/cb"},
				"grant_types": []any{"authorization_code"}, "response_types": []any{"code"},
			},
		},
		"with the defaults": {
			"application/json", `{"redirect_uris": ` + local + `}`,
			map[string]any{
				"client_name": "Unknown Client", "redirect_uris": []any{"http://127.0.0.1:1/cb"},
				"grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"},
			},
		},
		"with a name of 128 bytes after trimming": {
			"application/json", `{"client_name": "  ` + long + `  ", "redirect_uris": ` + local + `}`,
			map[string]any{
				"client_name": long, "redirect_uris": []any{"http://127.0.0.1:1/cb"},
				"grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := unlimited().raw(t, http.MethodPost, registerPath, test.body, "Content-Type", test.kind)
			id, _ := got.get("client_id").(string)
			token, _ := got.get("registration_access_token").(string)
			if !isHex(id, 32) || !isHex(token, 64) {
				t.Errorf("client_id %q, registration_access_token %q", id, token)
			}
			delete(got.JSON, "client_id")
			delete(got.JSON, "registration_access_token")
			test.want["result"] = true
			test.want["token_endpoint_auth_method"] = "none"
			test.want["registration_client_uri"] = host + "/api/current/oauth/register"
			if diff := cmp.Diff(test.want, got.JSON); diff != "" || got.Status != http.StatusOK {
				t.Errorf("%d (-want +got):\n%s", got.Status, diff)
			}
		})
	}
}

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

// badRedirects are refused by both calls.
var badRedirects = map[string]struct{ list, want string }{
	"text instead of a list":       {`"http://127.0.0.1/cb"`, "invalid_client_metadata"},
	"an object instead of a list":  {`{}`, "invalid_client_metadata"},
	"no entry":                     {`[]`, "invalid_redirect_uri"},
	"eleven entries":               {`[` + strings.Repeat(`"http://127.0.0.1/cb",`, 10) + `"http://127.0.0.1/cb"]`, "invalid_redirect_uri"},
	"an empty entry":               {`["http://127.0.0.1/cb", ""]`, "invalid_redirect_uri"},
	"an entry that is a number":    {`[4]`, "invalid_redirect_uri"},
	"an entry that is no URL":      {`["http://[::1/cb"]`, "invalid_redirect_uri"},
	"a relative entry":             {`["/cb"]`, "invalid_redirect_uri"},
	"an entry without a host":      {`["https:///cb"]`, "invalid_redirect_uri"},
	"a fragment":                   {`["https://a.test/cb#x"]`, "invalid_redirect_uri"},
	"an empty fragment":            {`["http://127.0.0.1/cb#"]`, "invalid_redirect_uri"},
	"http elsewhere":               {`["http://a.test/cb"]`, "invalid_redirect_uri"},
	"http on a name like a number": {`["http://127.0.0.1.a.test/cb"]`, "invalid_redirect_uri"},
	"a scheme of its own":          {`["app://callback"]`, "invalid_redirect_uri"},
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	w := unlimited()
	type test struct{ kind, body, want string }
	tests := map[string]test{
		"no redirect URIs":            {"application/json", `{"client_name": "x"}`, "invalid_request"},
		"redirect URIs that are null": {"application/json", `{"redirect_uris": null}`, "invalid_request"},
		"a form without them":         {formType, "client_name=x", "invalid_request"},
		"no JSON":                     {"application/json", `{`, "invalid_request"},
		"JSON that is a list":         {"application/json", `[]`, "invalid_request"},
		"JSON that is null":           {"application/json", `null`, "invalid_request"},
		"a body over 64 KB":           {"application/json", `{"redirect_uris": ` + local + `, "client_name": "` + strings.Repeat("x", 64<<10) + `"}`, "invalid_request"},
		"another type":                {"text/plain", `{"redirect_uris": ` + local + `}`, "invalid_request"},
		"no type":                     {"", `{"redirect_uris": ` + local + `}`, "invalid_request"},
		"a broken form":               {formType, `redirect_uris=%zz`, "invalid_request"},
		"a form with a plain URI":     {formType, "redirect_uris=http%3A%2F%2F127.0.0.1%2Fcb", "invalid_client_metadata"},
		"a long name":                 {"application/json", `{"client_name": "` + strings.Repeat("é", 64) + `x", "redirect_uris": ` + local + `}`, "invalid_client_metadata"},
		"a reserved name":             {"application/json", `{"client_name": " FastIO ", "redirect_uris": ` + local + `}`, "invalid_client_metadata"},
		"another reserved name":       {formType, pairs("client_name", "fast.io", "redirect_uris", local).Encode(), "invalid_client_metadata"},
		"a name that is a number":     {"application/json", `{"client_name": 4, "redirect_uris": ` + local + `}`, "invalid_client_metadata"},
		"a client with a secret":      {"application/json", `{"token_endpoint_auth_method": "client_secret_basic", "redirect_uris": ` + local + `}`, "invalid_client_metadata"},
	}
	for name, bad := range badRedirects {
		tests[name] = test{"application/json", `{"redirect_uris": ` + bad.list + `}`, bad.want}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.raw(t, http.MethodPost, registerPath, test.body, "Content-Type", test.kind)
			if got.Status != http.StatusBadRequest || got.get("error") != test.want || got.get("error_description") == "" || len(got.JSON) != 2 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
}

// registered registers a client and returns its id and registration access token.
func (w *world) registered(t *testing.T, redirects string) (id, token string) {
	t.Helper()
	got := w.raw(t, http.MethodPost, registerPath, `{"client_name": "Old", "redirect_uris": `+redirects+`}`, "Content-Type", "application/json")
	if got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return got.get("client_id").(string), got.get("registration_access_token").(string)
}

func (w *world) update(t *testing.T, token string, fields map[string]any) reply {
	t.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	header := []string{"Content-Type", "application/json"}
	if token != "" {
		header = append(header, "Authorization", "Bearer "+token)
	}
	return w.raw(t, http.MethodPut, registerPath, string(body), header...)
}

func TestUpdateRegistration(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	id, token := p.registered(t, `["http://localhost/a", "http://127.0.0.1/b"]`)
	want := map[string]any{
		"result": true, "client_id": id, "client_name": "New", "redirect_uris": []any{"http://localhost/a", "http://127.0.0.1/b"},
		"token_endpoint_auth_method": "none", "grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"},
	}
	got := p.update(t, token, map[string]any{"client_id": id, "client_name": "New", "grant_types": []string{"password"}})
	if diff := cmp.Diff(want, got.JSON); diff != "" || got.Status != http.StatusOK {
		t.Errorf("a name: %d (-want +got):\n%s", got.Status, diff)
	}
	long := strings.Repeat("é", 128)
	want["client_name"], want["redirect_uris"] = long, []any{redirect}
	got = p.raw(t, http.MethodPut, registerPath, pairs("client_id", id, "client_name", long, "redirect_uris", `["`+redirect+`"]`).Encode(),
		"Content-Type", formType, "Authorization", "Bearer "+token)
	if diff := cmp.Diff(want, got.JSON); diff != "" || got.Status != http.StatusOK {
		t.Errorf("redirect URIs: %d (-want +got):\n%s", got.Status, diff)
	}
	if got := p.start(t, "client_id", id); got.get("client_name") != long {
		t.Errorf("the new redirect URI: %d %s", got.Status, got.Body)
	}
	if got := p.start(t, "client_id", id, "redirect_uri", "http://localhost/a"); got.Status != http.StatusNotAcceptable {
		t.Errorf("an old redirect URI: %d %s", got.Status, got.Body)
	}
}

func TestUpdateRegistrationRefuses(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	id, token := p.registered(t, local)
	remote, remoteToken := p.registered(t, `["http://127.0.0.1/cb", "https://a.test/cb"]`)
	type fields = map[string]any
	type test struct {
		token  string
		fields fields
		status int
		want   string
	}
	tests := map[string]test{
		"a blank name alone":            {token, fields{"client_id": id, "client_name": "  "}, 400, "invalid_request"},
		"a client on another host":      {remoteToken, fields{"client_id": remote, "client_name": "x"}, 400, "invalid_request"},
		"an API key":                    {p.keys[p.ada.ID], fields{"client_id": id, "client_name": "x"}, 401, "invalid_request"},
		"a client without registration": {token, fields{"client_id": "app", "client_name": "x"}, 401, "invalid_request"},
		"an unknown client":             {token, fields{"client_id": "nobody", "client_name": "x"}, 404, "invalid_client"},
	}
	for name, bad := range badRedirects {
		tests[name] = test{token, fields{"client_id": id, "redirect_uris": json.RawMessage(bad.list)}, 400, bad.want}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := p.update(t, test.token, test.fields)
			if got.Status != test.status || got.get("error") != test.want || len(got.JSON) != 2 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
}
