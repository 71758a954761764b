package emulator_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func TestPagesAskForTheSecondFactor(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	guarded := p.AddUser(emulator.User{Email: "guarded@example.test", TwoFactor: "totp"})
	v := p.visit(t, p.login(t))
	if v.signIn(t, guarded.Email, seed.DefaultPassword); v.title(t) != "One-time code" {
		t.Fatalf("%s", v.page.Body)
	}
	for _, code := range []string{"", "000", "12345"} {
		if got := v.submit(t, "step", "code", "code", code); got.Status != http.StatusUnauthorized || v.title(t) != "One-time code" || v.problem() == "" {
			t.Errorf("%q: %d %s", code, got.Status, got.Body)
		}
	}
	if got := v.submit(t, "step", "decide", "decision", "approve"); got.Status != http.StatusUnauthorized || got.Header.Get("Location") != "" {
		t.Errorf("deciding without the code: %d %s", got.Status, got.Body)
	}
	v.submit(t, "step", "code", "code", " "+p.OneTimeCode(guarded.ID)+" ")
	if v.title(t) != "Allow access?" {
		t.Fatalf("%d %s", v.page.Status, v.page.Body)
	}
	got := v.submit(t, "decision", "approve", "access_mode", "r")
	access, _ := tokens(t, p.exchange(t, parameter(t, got.Header.Get("Location"), "code")))
	if me := p.with(t, access, http.MethodGet, "/user/me/details/"); me.get("user.id") != guarded.ID {
		t.Errorf("signed in as %s", me.Body)
	}
}

func TestPagesLockAccounts(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	v := p.visit(t, p.login(t))
	for range 5 {
		v.signIn(t, p.ada.Email, "guess")
	}
	if got := v.signIn(t, p.ada.Email, seed.DefaultPassword); got.Status != http.StatusTooManyRequests || v.title(t) != "Sign in" || v.problem() == "" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	p.clock.forward(30 * time.Minute)
	v.login = p.login(t)
	v.open(t)
	if v.signIn(t, p.ada.Email, seed.DefaultPassword); v.title(t) != "Allow access?" {
		t.Errorf("after the lock: %s", v.page.Body)
	}
}

// Who signed in with a password can consent, once the second factor is there.
func TestSignedInUsersConsent(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	guarded := p.AddUser(emulator.User{Email: "guarded@example.test", TwoFactor: "totp"})
	id := parameter(t, p.login(t), "auth_request_id")
	limited, _ := p.signIn(t, guarded.Email, seed.DefaultPassword).get("auth_token").(string)
	if got := p.complete(t, limited, "auth_request_id", id); got.Status != http.StatusForbidden || got.code() != 10175 {
		t.Errorf("without the second factor: %d %s", got.Status, got.Body)
	}
	if got := p.complete(t, p.session(t, p.ada), "auth_request_id", id); got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
