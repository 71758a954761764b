package conformance_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/control"
)

// exchange is a request to the control API and the status of its response.
type exchange struct {
	method, path, body string
	status             int
}

// exchanges has a success of each endpoint of the control API, and some failures. They
// are sent in this order.
func exchanges(org, room, user string) []exchange {
	const post, get, remove = http.MethodPost, http.MethodGet, http.MethodDelete
	return []exchange{
		{get, "health", "", 200},
		{get, "ready", "", 200},
		{get, "openapi.json", "", 200},
		{post, "faults", `{"id":"down","op":"system.Ping","status":503,"delay":"1ms","params":{"a":[1]},
			"header":{"X-A":["b"]}}`, 201},
		{post, "faults", `{"op":"events.Search","reset":"after","probability":0.5}`, 201},
		{post, "faults", `{"op":"no.Such"}`, 400},
		{post, "socket-faults", `{"age":"1m","junk":"huge","half_open":true}`, 201},
		{post, "socket-faults", `{"junk":"mail"}`, 400},
		{get, "socket-faults", "", 200},
		{post, "disagreements", `{"op":"account.Me","edits":["rm /user/first_name"],"names":{"a":"b"}}`, 201},
		{post, "disagreements", `{"op":"account.Me","edits":["burn /user"]}`, 400},
		{get, "disagreements", "", 200},
		{get, "../api/current/ping/", "", 503},
		{get, "../api/current/user/me/details/", "", 401},
		{get, "faults", "", 200},
		{get, "requests", "", 200},
		{get, "requests?op=system.Ping&status=503&rule=any&limit=5&wait=1ms", "", 200},
		{get, "requests/1", "", 200},
		{get, "requests/77", "", 404},
		{get, "requests?limit=-1", "", 400},
		{get, "stream?after=1", "", 200},
		{remove, "requests", "", 204},
		{remove, "faults/down", "", 204},
		{remove, "faults/down", "", 404},
		{remove, "faults", "", 204},
		{get, "users", "", 200},
		{post, "users", `{"email":"eve@example.test","two_factor":"totp"}`, 201},
		{get, "codes", "", 200},
		{get, "codes?user=" + user, "", 200},
		{post, "keys", `{"user_id":"` + user + `","scopes":["org:` + org + `:rw"]}`, 201},
		{get, "keys", "", 200},
		{post, "objects", `{"invitations":[{"profile_id":"` + room + `","email":"bob@example.test"}],
			"nodes":[{"profile_id":"` + room + `","name":"a.txt","content":"text"}]}`, 201},
		{post, "objects", `{"nodes":[{"profile_id":"nowhere"}]}`, 400},
		{get, "items", "", 200},
		{get, "items?in=" + room + "&offset=0", "", 200},
		{get, "mails?to=bob@example.test", "", 200},
		{get, "payments", "", 200},
		{post, "payments", `{"org":"` + org + `"}`, 204},
		{post, "payments", `{"org":"` + org + `"}`, 409},
		{get, "sign-ins", "", 200},
		{post, "sign-ins", `{"login_url":"LOGIN"}`, 200},
		{post, "sign-ins", `{"user_code":"AAAA-BBBB"}`, 409},
		{get, "clock", "", 200},
		{post, "clock/freeze", `{"at":"2030-01-01T00:00:00Z"}`, 200},
		{post, "clock/freeze", `{}`, 200},
		{post, "clock/advance", `{"by":"1h30m"}`, 200},
		{post, "clock/advance", `{"by":"-1h"}`, 400},
		{post, "clock/unfreeze", "", 200},
		{post, "worlds", `{"name":"other"}`, 201},
		{post, "worlds", `{"name":"a b"}`, 400},
		{post, "worlds", `{"name":"other","port":true}`, 404},
		{get, "worlds", "", 200},
		{post, "reset", "", 204},
		{post, "restore", "no snapshot", 400},
		{get, "snapshot", "", 200},
		{post, "restore", "SNAPSHOT", 204},
		{remove, "worlds/other", "", 204},
	}
}

// controlled is an emulator whose control API is compared with its document.
type controlled struct {
	*control.Handler

	server         *emulator.Server
	org, room, ada string
	check          validator.Validator
}

func newControlled(t *testing.T) *controlled {
	t.Helper()
	document, err := libopenapi.NewDocument(control.Document())
	if err != nil {
		t.Fatal(err)
	}
	check, problems := validator.NewValidator(document)
	for _, err := range problems {
		t.Fatal(err)
	}
	if valid, problems := check.ValidateDocument(); !valid {
		t.Fatalf("the document is not OpenAPI 3.1: %v", problems)
	}
	s := emulator.New(seed.Options{OAuth: seed.OAuthOptions{DeviceFlow: true}})
	ada := s.AddUser(seed.User{Email: "ada@example.test"})
	org := s.AddOrg(seed.Org{Owner: ada.ID, Unsubscribed: true})
	room := s.AddWorkspace(seed.Workspace{Org: org.ID})
	s.AddClient(seed.OAuthClient{ID: "app", RedirectURIs: []string{"http://127.0.0.1/callback"}})
	if err := s.MarkStart(); err != nil {
		t.Fatal(err)
	}
	create := func(string) (*emulator.Server, error) { return emulator.New(seed.Options{}), nil }
	return &controlled{control.New(s, control.Options{Create: create}), s, org.ID, room.ID, ada.ID, check}
}

// prepare starts a login and a payment for the exchanges.
func (c *controlled) prepare(t *testing.T) (loginURL string) {
	t.Helper()
	key := c.server.AddKey(seed.Key{User: c.ada}).Token
	for path, form := range map[string]string{
		"oauth/device_authorization/": "client_id=app",
		"org/" + c.org + "/billing/":  "billing_plan=business_monthly",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/current/"+path, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if strings.HasPrefix(path, "org") {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code >= 300 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	return c.server.SignIns()[0].LoginURL
}

// Each endpoint takes and returns what the document says, which a validator of another
// project decides.
func TestControlAPIMatchesItsDocument(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	login := c.prepare(t)
	seen, snapshot := map[string]bool{}, ""
	for _, x := range exchanges(c.org, c.room, c.ada) {
		target := "http://localhost" + control.Root + x.path
		if path, isPlatform := strings.CutPrefix(x.path, "../"); isPlatform {
			target = "http://localhost/" + path
		}
		body := strings.ReplaceAll(x.body, "LOGIN", login)
		if body == "SNAPSHOT" {
			body = snapshot
		}
		r := httptest.NewRequestWithContext(t.Context(), x.method, target, strings.NewReader(body))
		switch {
		case x.path == "restore":
			r.Header.Set("Content-Type", "application/zip")
		case body != "":
			r.Header.Set("Content-Type", "application/json")
		}
		w := c.send(r, body)
		if x.path == "snapshot" {
			snapshot = w.Body.String()
		}
		if w.Code != x.status {
			t.Errorf("%s %s: %d %s, want %d", x.method, x.path, w.Code, w.Body, x.status)
		}
		if strings.HasPrefix(x.path, "../") {
			continue
		}
		c.wantDocumented(t, r, w, x)
		if x.status < 300 {
			path, _, _ := strings.Cut(x.path, "?")
			seen[x.method+" "+path] = true
		}
	}
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(control.Document(), &document); err != nil {
		t.Fatal(err)
	}
	for path, item := range document.Paths {
		for method := range item {
			example := strings.NewReplacer("{number}", "1", "{id}", "down", "{name}", "other", control.Root, "").Replace(path)
			if name := strings.ToUpper(method) + " " + example; !seen[name] {
				t.Errorf("%s is documented, and no exchange has it", name)
			}
		}
	}
}

// send sends a request whose body can be read again. A stream ends after its first write.
func (c *controlled) send(r *http.Request, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	if strings.Contains(r.URL.Path, "/stream") {
		c.ServeHTTP(once{w}, r)
	} else {
		c.ServeHTTP(w, r)
	}
	r.Body = io.NopCloser(strings.NewReader(body))
	return w
}

// once is a writer whose reader is gone after the first write.
type once struct{ *httptest.ResponseRecorder }

func (w once) FlushError() error { return http.ErrAbortHandler }

// wantDocumented checks a request that succeeded, and any response, with the validator.
func (c *controlled) wantDocumented(t *testing.T, r *http.Request, w *httptest.ResponseRecorder, x exchange) {
	t.Helper()
	if x.status < 300 {
		if valid, problems := c.check.ValidateHttpRequest(r); !valid {
			t.Errorf("the request %s %s: %v", x.method, x.path, problems)
		}
	}
	if valid, problems := c.check.ValidateHttpResponse(r, w.Result()); !valid {
		t.Errorf("the response of %s %s: %v\n%s", x.method, x.path, problems, w.Body)
	}
}

// The handler refuses the bodies that the document does not allow, and reads all others.
func TestControlAPIRefusesWhatItsDocumentDoes(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	tried := 0
	for path, sample := range map[string]string{
		"faults": `{"id":"x","op":"system.Ping","skip":1,"count":1,"probability":0.5,"seed":1,"delay":"1s","status":503,
			"code":1,"text":"t","params":{"a":1},"header":{"A":["b"]},"body":"b","content_type":"c","processed":true,"cut":1,"truncate":1,
			"gzip":true,"drip":"1s","stall":1,"reset":"after"}`,
		"socket-faults": `{"id":"x","profile":"p","age":"1s","skip":1,"count":1,"probability":0.5,"seed":1,"delay":"1s",
			"junk":"text","overtake":true,"lose":true,"copies":1,"half_open":true,"close":4001,"drop":true}`,
		"disagreements": `{"id":"x","op":"account.Me","edits":["rm /user/first_name"],"names":{"a":"b"},"path":"/current/u/"}`,
		"clock/advance": `{"by":"1s"}`,
		"payments":      `{"org":"` + c.org + `"}`,
		"sign-ins": `{"login_url":"u","user_code":"c","user":"u","deny":true,"scopes":["a"],"mode":"r",
			"account_settings":true}`,
		"worlds": `{"name":"x","port":true}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(sample), &v); err != nil {
			t.Fatal(err)
		}
		for _, broken := range breaks(v) {
			body, err := json.Marshal(broken)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(body, []byte("null")) || path == "faults" && bytes.Contains(body, []byte(`"status":-1`)) {
				continue // null is as if the member were left out; the range of a status is in no schema
			}
			tried++
			target := "http://localhost" + control.Root + path
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := c.send(r, string(body))
			valid, problems := c.check.ValidateHttpRequest(r)
			isMalformed := w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "the body: ")
			if valid && isMalformed || !valid && w.Code < 300 {
				t.Errorf("%s %s: %d %s\nthe document: %v", path, body, w.Code, w.Body, problems)
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d bodies were tried", tried)
	}
}
