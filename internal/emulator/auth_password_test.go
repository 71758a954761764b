package emulator_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// clockWorld is a world whose time moves on request.
type clockWorld struct {
	*world
	now time.Time
}

func newClockWorld(o emulator.Options) *clockWorld {
	w := &clockWorld{now: epoch}
	o.Clock = func() time.Time { return w.now }
	w.world = newWorld(o)
	return w
}

// authorized sends a request with a header of the test's own and no body.
func (w *world) authorized(t *testing.T, header, path string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://emulator.test/api/current"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	return w.send(t, r)
}

func basic(email, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(email+":"+password))
}

func (w *world) signIn(t *testing.T, email, password string) reply {
	t.Helper()
	return w.authorized(t, basic(email, password), "/user/auth/")
}

// session signs a user in and returns the token, limited or full.
func (w *world) session(t *testing.T, u emulator.User) string {
	t.Helper()
	got := w.signIn(t, u.Email, u.Password)
	token, found := got.get("auth_token").(string)
	if !found {
		t.Fatalf("sign-in: %d %s", got.Status, got.Body)
	}
	return token
}

// form sends pairs of names and values as a form.
func (w *world) form(t *testing.T, token, method, path string, fields ...string) reply {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return w.body(t, token, method, path, "application/x-www-form-urlencoded", values.Encode())
}

func (w *world) body(t *testing.T, token, method, path, contentType, body string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://emulator.test/api/current"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Content-Type", contentType)
	return w.send(t, r)
}

// is fails the test unless an answer has a status and an error code, 0 for a success.
func (p reply) is(t *testing.T, status, code int) {
	t.Helper()
	if p.Status != status || p.code() != code {
		t.Errorf("got %d %d, want %d %d: %s", p.Status, p.code(), status, code, p.Body)
	}
}

// works tells whether a token opens an ordinary endpoint.
func (w *world) works(t *testing.T, token string) bool {
	t.Helper()
	return w.with(t, token, http.MethodGet, "/user/me/details/").Status == http.StatusOK
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := unlimited()
	colons := w.AddUser(emulator.User{Email: "colons@example.test", Password: "a:b:ü"})
	tests := map[string]struct {
		header string
		status int
		code   int
		params any
	}{
		"the default password":          {basic(w.ada.Email, seed.DefaultPassword), 200, 0, nil},
		"an address in capitals":        {basic("ADA@example.test", seed.DefaultPassword), 200, 0, nil},
		"a password with colons":        {basic(colons.Email, "a:b:ü"), 200, 0, nil},
		"the scheme in capitals":        {"BASIC " + strings.TrimPrefix(basic(w.ada.Email, seed.DefaultPassword), "Basic "), 200, 0, nil},
		"a wrong password":              {basic(w.ben.Email, "guess"), 401, 10008, map[string]any{"attempts_remaining": 4.0, "attempts_max": 5.0}},
		"no password":                   {basic(w.cleo.Email, ""), 401, 10008, map[string]any{"attempts_remaining": 4.0, "attempts_max": 5.0}},
		"an address of nobody":          {basic("nobody@example.test", seed.DefaultPassword), 401, 10008, map[string]any{"attempts_remaining": 4.0, "attempts_max": 5.0}},
		"no header":                     {"", 401, 10008, nil},
		"no base64":                     {"Basic ada@example.test:secret", 401, 10008, nil},
		"no colon":                      {"Basic " + base64.StdEncoding.EncodeToString([]byte(w.ada.Email)), 401, 10008, nil},
		"a key in place of a password":  {"Bearer " + w.keys[w.ada.ID], 401, 10008, nil},
		"another user's password, once": {basic(w.dora.Email, colons.Password), 401, 10008, map[string]any{"attempts_remaining": 4.0, "attempts_max": 5.0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.authorized(t, test.header, "/user/auth/")
			got.is(t, test.status, test.code)
			if diff := cmp.Diff(test.params, got.get("error.params")); diff != "" {
				t.Errorf("params (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSessionToken(t *testing.T) {
	t.Parallel()
	w := newClockWorld(emulator.Options{})
	got := w.signIn(t, w.ada.Email, w.ada.Password)
	if got.get("expires_in") != 2592000.0 || got.get("2factor") != false {
		t.Errorf("answer %s", got.Body)
	}
	token := got.get("auth_token").(string)
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no JWT", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	if claims["sub"] != w.ada.ID || claims["exp"] != float64(epoch.Unix()+2592000) {
		t.Errorf("claims %s", text)
	}
	if again := w.session(t, w.ada); again == token || !w.works(t, again) || !w.works(t, token) {
		t.Error("a second sign-in does not have a token of its own beside the first")
	}
	if other := newWorld(emulator.Options{Seed: 1}).session(t, w.ada); other == token {
		t.Error("two servers issue the same token")
	}
	w.now = epoch.Add(30*24*time.Hour - time.Second)
	if !w.works(t, token) {
		t.Error("the token ends early")
	}
	w.now = epoch.Add(30 * 24 * time.Hour)
	w.with(t, token, http.MethodGet, "/user/auth/check/").is(t, 401, 10011)
}

func TestLockout(t *testing.T) {
	t.Parallel()
	w := newClockWorld(emulator.Options{Limits: seed.LimitOptions{RetryAfter: true, BodyRetryAfter: true}})
	for left := 4.0; left >= 0; left-- {
		got := w.signIn(t, w.ada.Email, "guess")
		got.is(t, 401, 10008)
		if got.get("error.params.attempts_remaining") != left {
			t.Errorf("want %v attempts left: %s", left, got.Body)
		}
	}
	w.now = epoch.Add(10*time.Second + time.Millisecond)
	got := w.signIn(t, "ADA@example.test", w.ada.Password)
	got.is(t, 429, 10760)
	if diff := cmp.Diff(map[string]any{"retry_after_seconds": 1790.0}, got.get("error.params")); diff != "" {
		t.Errorf("params (-want +got):\n%s", diff)
	}
	for _, name := range []string{"X-Ve-Limit-Avail", "X-Ve-Limit-Max", "X-Ve-Limit-Expires", "Retry-After"} {
		if got.Header.Get(name) != "" {
			t.Errorf("a locked account has the header %s", name)
		}
	}
	if w.Refusals() != 1 {
		t.Errorf("%d refusals", w.Refusals())
	}
	w.signIn(t, w.ben.Email, w.ben.Password).is(t, 200, 0) // the lock is the account's alone
	if !w.works(t, w.keys[w.ada.ID]) {
		t.Error("the lock stops a key")
	}
	w.now = epoch.Add(30*time.Minute - time.Nanosecond)
	got = w.signIn(t, w.ada.Email, w.ada.Password)
	got.is(t, 429, 10760)
	if got.get("error.params.retry_after_seconds") != 1.0 {
		t.Errorf("the last moment: %s", got.Body)
	}
	w.now = epoch.Add(30 * time.Minute)
	got = w.signIn(t, w.ada.Email, "guess")
	got.is(t, 401, 10008)
	if got.get("error.params.attempts_remaining") != 4.0 {
		t.Errorf("after the lock: %s", got.Body)
	}
	w.signIn(t, w.ada.Email, w.ada.Password).is(t, 200, 0)
}

func TestSuccessForgivesFailures(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for range 3 {
		for range 4 {
			w.signIn(t, w.ada.Email, "guess").is(t, 401, 10008)
		}
		w.signIn(t, w.ada.Email, w.ada.Password).is(t, 200, 0)
	}
}

func TestSignInPage(t *testing.T) {
	t.Parallel()
	w := unlimited()
	guarded := w.AddUser(emulator.User{Email: "guarded@example.test", TwoFactor: "totp"})
	if id, refused := w.CheckPassword(w.ada.Email, w.ada.Password); id != w.ada.ID || refused {
		t.Errorf("the right password: %q %v", id, refused)
	}
	if id, refused := w.CheckPassword(w.ada.Email, "guess"); id != "" || !refused {
		t.Errorf("a wrong password: %q %v", id, refused)
	}
	for name, test := range map[string]struct {
		user, code string
		want       bool
	}{
		"the code":                {guarded.ID, w.OneTimeCode(guarded.ID), true},
		"no code":                 {guarded.ID, "", false},
		"a wrong code":            {guarded.ID, "12345", false},
		"no second factor to ask": {w.ada.ID, "", true},
	} {
		if got := w.CheckSecondFactor(test.user, test.code); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLoadSignIns(t *testing.T) {
	t.Parallel()
	w := unlimited()
	if err := w.Load(strings.NewReader(`{"users": [
		{"id": "4000000000000000001", "email": "a@example.test", "password": "difference engine", "two_factor": "totp"},
		{"id": "4000000000000000002", "email": "b@example.test", "unverified": true}]}`)); err != nil {
		t.Fatal(err)
	}
	w.signIn(t, "a@example.test", seed.DefaultPassword).is(t, 401, 10008)
	if got := w.signIn(t, "a@example.test", "difference engine"); got.get("2factor") != true || w.OneTimeCode("4000000000000000001") == "" {
		t.Errorf("no second factor: %s", got.Body)
	}
	got := w.signIn(t, "b@example.test", seed.DefaultPassword)
	if got.get("2factor") != false {
		t.Errorf("a second factor: %s", got.Body)
	}
	w.with(t, got.get("auth_token").(string), http.MethodGet, "/user/auth/check/").is(t, 403, 10587)
}

func TestCheckToken(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{NumericIDs: true, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
	plain := unlimited()
	fresh := w.AddUser(emulator.User{Email: "fresh@example.test", Unverified: true})
	guarded := w.AddUser(emulator.User{Email: "guarded@example.test", TwoFactor: "sms"})
	reader := w.AddKey(emulator.Key{User: w.ben.ID, Scopes: []string{"user:*:r"}}).Token
	ended := w.AddKey(emulator.Key{User: w.ben.ID, Expires: epoch}).Token
	tests := map[string]struct {
		world  *world
		token  string
		status int
		code   int
		member string
	}{
		"a key":                      {plain, plain.keys[plain.ada.ID], 200, 0, `"id":"` + plain.ada.ID + `"`},
		"a session":                  {plain, plain.session(t, plain.ada), 200, 0, `"id":"` + plain.ada.ID + `"`},
		"a number for an id":         {w, w.session(t, w.ada), 200, 0, `"id":` + w.ada.ID},
		"a key that may only read":   {w, reader, 200, 0, `"id":` + w.ben.ID},
		"an unverified address":      {w, w.session(t, fresh), 403, 10587, ""},
		"a missing second factor":    {w, w.session(t, guarded), 403, 10175, ""},
		"an unknown token":           {w, "fio_unknown", 401, 10011, ""},
		"a key that has ended":       {w, ended, 401, 10011, ""},
		"something that is no token": {w, "two words", 401, 10001, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.world.with(t, test.token, http.MethodGet, "/user/auth/check/")
			got.is(t, test.status, test.code)
			if !strings.Contains(got.Body, test.member) {
				t.Errorf("no %s in %s", test.member, got.Body)
			}
		})
	}
}
