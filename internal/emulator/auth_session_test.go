package emulator_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	const signOut, invalidateAll = "/user/auth/sign-out/", "/user/auth/invalidate-all/"
	tests := map[string]struct {
		path      string
		permanent bool
		caller    string
		live      map[string]bool
	}{
		"sign-out": {signOut, false, "session", map[string]bool{"limited": true, "key": true, "stranger": true}},
		"sign-out by a key": {
			signOut, false, "key", map[string]bool{"limited": true, "key": true, "stranger": true},
		},
		"sign-out of permanent sessions": {
			signOut, true, "session", map[string]bool{"session": true, "second": true, "limited": true, "key": true, "stranger": true},
		},
		"invalidate-all":          {invalidateAll, false, "session", map[string]bool{"key": true, "stranger": true}},
		"invalidate-all by a key": {invalidateAll, false, "key", map[string]bool{"key": true, "stranger": true}},
		"invalidate-all of permanent sessions": {
			invalidateAll, true, "session", map[string]bool{"key": true, "stranger": true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(emulator.Options{OAuth: seed.OAuthOptions{PermanentSessions: test.permanent}})
			u := w.AddUser(emulator.User{Email: "guarded@example.test"})
			tokens := map[string]string{
				"session": w.session(t, u), "second": w.session(t, u), "stranger": w.session(t, w.ada),
				"key": w.AddKey(emulator.Key{User: u.ID}).Token,
			}
			u.TwoFactor = "totp"
			u = w.AddUser(u)
			tokens["limited"] = w.session(t, u)
			w.with(t, tokens[test.caller], http.MethodPost, test.path).is(t, 200, 0)
			live := map[string]bool{}
			for kind, token := range tokens {
				got := w.with(t, token, http.MethodGet, "/user/auth/check/")
				if got.Status == http.StatusOK || got.code() == 10175 {
					live[kind] = true
				} else {
					got.is(t, 401, 10011)
				}
			}
			if diff := cmp.Diff(test.live, live); diff != "" {
				t.Errorf("live tokens (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndingRefusals(t *testing.T) {
	t.Parallel()
	w := unlimited()
	bot := w.AddUser(emulator.User{Email: "bot@example.test", AccountType: "agent"})
	botKey := w.AddKey(emulator.Key{User: bot.ID}).Token
	reader := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"user:*:r"}}).Token
	guarded := w.session(t, w.AddUser(emulator.User{Email: "guarded@example.test", TwoFactor: "totp"}))
	botSession := w.session(t, bot)
	for name, test := range map[string]struct {
		token, path, reason string
		status, code        int
	}{
		"sign-out by a reader":           {reader, "sign-out", "scope_write_required", 403, 10770},
		"invalidate-all by a reader":     {reader, "invalidate-all", "scope_write_required", 403, 10770},
		"sign-out by an agent's key":     {botKey, "sign-out", "", 401, 261844},
		"sign-out by an agent's session": {botSession, "sign-out", "", 200, 0},
		"sign-out before the code":       {guarded, "sign-out", "", 403, 10175},
		"invalidate-all before the code": {guarded, "invalidate-all", "", 403, 10175},
		"sign-out by nobody":             {"", "sign-out", "", 401, 10011},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.with(t, test.token, http.MethodPost, "/user/auth/"+test.path+"/")
			got.is(t, test.status, test.code)
			if got.reason() != test.reason || test.reason != "" && got.get("error.params.credential_type") != "api_key" {
				t.Errorf("reason %q: %s", got.reason(), got.Body)
			}
		})
	}
	if !w.works(t, botKey) {
		t.Error("the refused key has ended")
	}
}

func TestLimitedToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ option, want int }{
		"now": {0, 403}, "on an older server": {401, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClockWorld(emulator.Options{OAuth: seed.OAuthOptions{LimitedStatus: test.option}, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
			u := w.AddUser(emulator.User{Email: "guarded@example.test", TwoFactor: "totp"})
			got := w.signIn(t, u.Email, u.Password)
			if got.get("2factor") != true || got.get("expires_in") != 600.0 {
				t.Errorf("sign-in: %s", got.Body)
			}
			token := got.get("auth_token").(string)
			for _, call := range [][2]string{
				{http.MethodGet, "/user/auth/check/"},
				{http.MethodGet, "/user/me/details/"},
				{http.MethodGet, "/events/search/"},
				{http.MethodGet, "/user/auth/keys/"},
				{http.MethodPost, "/user/auth/key/"},
				{http.MethodGet, "/user/auth/2factor/"},
				{http.MethodPost, "/user/auth/2factor/totp/"},
				{http.MethodPost, "/user/auth/2factor/verify/" + w.OneTimeCode(u.ID) + "/"},
				{http.MethodDelete, "/user/auth/2factor/" + w.OneTimeCode(u.ID) + "/"},
			} {
				w.with(t, token, call[0], call[1]).is(t, test.want, 10175)
			}
			w.now = epoch.Add(10 * time.Minute)
			w.with(t, token, http.MethodGet, "/user/auth/check/").is(t, 401, 10011)
			w.form(t, token, http.MethodPost, "/user/auth/2factor/auth/"+w.OneTimeCode(u.ID)+"/").is(t, 401, 10011)
		})
	}
}

// Whoever signs in stands in the audit log of the organizations, whichever way it
// was.
func TestSignInsAreLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
	if got := w.signIn(t, w.ada.Email, seed.DefaultPassword); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	audit := w.search(t, w.ada, "org_id", w.org.ID, "visibility", "external_audit_log", "event", "user_login")
	got := []any{audit.get("events.0.calling_user"), audit.get("events.0.method"), audit.get("events.0.mfa"), audit.get("events.1")}
	if diff := cmp.Diff([]any{w.ada.ID, "password", false, nil}, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, audit.Body)
	}
}
