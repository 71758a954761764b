package emulator_test

import (
	"encoding/base32"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

const twoFactor = "/user/auth/2factor/"

// guarded adds a user with a second factor.
func (w *world) guarded(channel string) emulator.User {
	return w.AddUser(emulator.User{Email: channel + "@example.test", TwoFactor: channel})
}

func (w *world) complete(t *testing.T, token, code string) reply {
	t.Helper()
	return w.form(t, token, http.MethodPost, twoFactor+"auth/"+code+"/")
}

// other is a code that differs from the one given.
func other(code string) string {
	n, _ := strconv.Atoi(code)
	return strconv.Itoa(1_000_000 + (n+1)%1_000_000)[1:]
}

// The vectors of RFC 6238, appendix B.
func TestTOTP(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "94287082", 1111111109: "07081804", 1111111111: "14050471",
		1234567890: "89005924", 2000000000: "69279037", 20000000000: "65353130",
	} {
		if got := emulator.TOTP(secret, time.Unix(at, 0), 8); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
		if got := emulator.TOTP(secret, time.Unix(at, 0), 6); got != want[2:] {
			t.Errorf("six digits at %d: %s, want %s", at, got, want[2:])
		}
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{"totp", "sms", "whatsapp"} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			w := unlimited()
			token := w.session(t, w.ada)
			status := func(state string, totp bool) {
				t.Helper()
				got := w.with(t, token, http.MethodGet, twoFactor)
				if got.get("state") != state || got.get("totp") != totp {
					t.Errorf("want %s %v: %s", state, totp, got.Body)
				}
			}
			status("disabled", false)
			w.form(t, token, http.MethodPost, twoFactor+channel+"/").is(t, 200, 0)
			status("pending", false)
			if got := w.signIn(t, w.ada.Email, w.ada.Password); got.get("2factor") != false {
				t.Errorf("a setup under way guards the sign-in: %s", got.Body)
			}
			code := w.OneTimeCode(w.ada.ID)
			w.form(t, token, http.MethodPost, twoFactor+"verify/"+other(code)+"/").is(t, 401, 199102)
			w.form(t, token, http.MethodPost, twoFactor+"verify/"+code+"/").is(t, 200, 0)
			status("enabled", channel == "totp")
			if me := w.with(t, token, http.MethodGet, "/user/me/details/"); me.get("user.two_factor") != true {
				t.Errorf("profile: %s", me.Body)
			}
			if got := w.signIn(t, w.ada.Email, w.ada.Password); got.get("2factor") != true {
				t.Errorf("nothing guards the sign-in: %s", got.Body)
			}
			w.with(t, token, http.MethodGet, twoFactor+"send/call/").is(t, 200, 0)
			code = w.OneTimeCode(w.ada.ID)
			w.with(t, token, http.MethodDelete, twoFactor+other(code)+"/").is(t, 401, 199102)
			w.with(t, token, http.MethodDelete, twoFactor+code+"/").is(t, 200, 0)
			status("disabled", false)
			if got := w.OneTimeCode(w.ada.ID); got != "" {
				t.Errorf("code %q of no second factor", got)
			}
		})
	}
}

func TestBindingURI(t *testing.T) {
	t.Parallel()
	w := unlimited()
	token := w.session(t, w.ada)
	bind := func() []byte {
		t.Helper()
		text, _ := w.form(t, token, http.MethodPost, twoFactor+"totp/").get("binding_uri").(string)
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Fast.io:ada@example.test" {
			t.Errorf("binding URI %s", text)
		}
		q := u.Query()
		secret, err := base32.StdEncoding.DecodeString(q.Get("secret"))
		if err != nil {
			t.Fatal(err)
		}
		q.Del("secret")
		if diff := cmp.Diff(url.Values{"issuer": {"Fast.io"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}, q); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return secret
	}
	first, second := bind(), bind()
	code := emulator.TOTP(second, epoch, 6)
	if code != w.OneTimeCode(w.ada.ID) {
		t.Errorf("an app shows %s, the emulator %s", code, w.OneTimeCode(w.ada.ID))
	}
	w.form(t, token, http.MethodPost, twoFactor+"verify/"+emulator.TOTP(first, epoch, 6)+"/").is(t, 401, 199102)
	w.form(t, token, http.MethodPost, twoFactor+"verify/"+code+"/").is(t, 200, 0)
	bind() // and never verified
	if w.CheckSecondFactor(w.ada.ID, other(code)) || !w.CheckSecondFactor(w.ada.ID, code) {
		t.Error("a new setup replaces the active factor before it is verified")
	}
}

func TestTOTPSteps(t *testing.T) {
	t.Parallel()
	w := newClockWorld(emulator.Options{})
	u := w.guarded("totp")
	code := w.OneTimeCode(u.ID) // epoch is the beginning of a step
	for offset, want := range map[time.Duration]bool{
		-31 * time.Second: false, -30 * time.Second: true, -1: true, 0: true, 29 * time.Second: true,
		30 * time.Second: true, 60*time.Second - 1: true, 60 * time.Second: false,
	} {
		w.now = epoch.Add(offset)
		if got := w.CheckSecondFactor(u.ID, code); got != want {
			t.Errorf("%v later: %v", offset, got)
		}
	}
}

func TestCompleteSignIn(t *testing.T) {
	t.Parallel()
	w := newClockWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
	u := w.guarded("totp")
	limited := w.session(t, u)
	w.complete(t, limited, other(w.OneTimeCode(u.ID))).is(t, 401, 199102)
	got := w.complete(t, limited, w.OneTimeCode(u.ID))
	got.is(t, 200, 0)
	token, _ := got.get("auth_token").(string)
	if !w.works(t, token) || got.get("expires_in") != 2592000.0 {
		t.Errorf("answer %s", got.Body)
	}
	w.complete(t, limited, w.OneTimeCode(u.ID)).is(t, 401, 10011)
	w.complete(t, token, w.OneTimeCode(u.ID)).is(t, 406, 199104)
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{"sms", "call", "whatsapp"} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			w := newClockWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
			u := w.guarded("sms")
			limited := w.session(t, u)
			if code := w.OneTimeCode(u.ID); code != "" {
				t.Errorf("code %q before a message", code)
			}
			send := func() string {
				t.Helper()
				w.with(t, limited, http.MethodGet, twoFactor+"send/"+channel+"/").is(t, 200, 0)
				return w.OneTimeCode(u.ID)
			}
			first := send()
			second := send()
			if len(first) != 6 || len(second) != 6 || first == second {
				t.Errorf("codes %q and %q", first, second)
			}
			w.complete(t, limited, first).is(t, 401, 199102)
			w.now = epoch.Add(9 * time.Minute)
			w.complete(t, limited, second).is(t, 200, 0)
			if code := w.OneTimeCode(u.ID); code != "" {
				t.Errorf("code %q is used up", code)
			}
			limited = w.session(t, u)
			w.complete(t, limited, second).is(t, 401, 199102)
			third := send()
			w.now = w.now.Add(5 * time.Minute)
			limited = w.session(t, u)
			w.now = w.now.Add(5 * time.Minute)
			w.complete(t, limited, third).is(t, 401, 199102)
		})
	}
}

// A message can stand in for an app that is out of reach, and a setup under way does not catch what a sign-in asks for.
func TestMessageForAnApp(t *testing.T) {
	t.Parallel()
	w := unlimited()
	u := w.guarded("totp")
	full := w.complete(t, w.session(t, u), w.OneTimeCode(u.ID)).get("auth_token").(string)
	w.form(t, full, http.MethodPost, twoFactor+"sms/").is(t, 200, 0)
	setup := w.OneTimeCode(u.ID)
	limited := w.session(t, u)
	w.with(t, limited, http.MethodGet, twoFactor+"send/sms/").is(t, 200, 0)
	if w.OneTimeCode(u.ID) != setup {
		t.Error("the message of a sign-in replaced that of the setup")
	}
	w.complete(t, limited, setup).is(t, 401, 199102)
	w.form(t, full, http.MethodPost, twoFactor+"verify/"+setup+"/").is(t, 200, 0)
	w.with(t, limited, http.MethodGet, twoFactor+"send/sms/").is(t, 200, 0)
	w.complete(t, limited, w.OneTimeCode(u.ID)).is(t, 200, 0)
}

func TestTwoFactorRefusals(t *testing.T) {
	t.Parallel()
	w := unlimited()
	on := w.guarded("totp")
	key := w.AddKey(emulator.Key{User: on.ID}).Token
	limited := w.session(t, on)
	reader := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:*:r"}}).Token
	off := w.session(t, w.ben)
	code := w.OneTimeCode(on.ID)
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	for name, test := range map[string]struct {
		token, method, path string
		status, code        int
	}{
		"a channel nobody knows":       {off, post, "email/", 406, 10022},
		"a call for a setup":           {off, post, "call/", 406, 10022},
		"a setup by a reader":          {reader, post, "totp/", 403, 10770},
		"verifying by a reader":        {reader, post, "verify/123456/", 403, 10770},
		"verifying nothing":            {off, post, "verify/123456/", 406, 199103},
		"verifying what is active":     {key, post, "verify/" + code + "/", 406, 199103},
		"verifying without a code":     {off, post, "verify//", 406, 10021},
		"completing without a code":    {limited, post, "auth//", 406, 10021},
		"disabling without a code":     {key, del, "/", 406, 10021},
		"disabling by a reader":        {reader, del, "123456/", 403, 10770},
		"disabling nothing":            {off, del, "123456/", 406, 199103},
		"a message through the app":    {limited, get, "send/totp/", 406, 10022},
		"a message for nothing":        {off, get, "send/sms/", 406, 199103},
		"a message for nobody":         {"", get, "send/sms/", 401, 10011},
		"the wrong method for sending": {limited, post, "send/sms/", 405, 10003},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.method == post {
				w.form(t, test.token, post, twoFactor+test.path).is(t, test.status, test.code)
			} else {
				w.with(t, test.token, test.method, twoFactor+test.path).is(t, test.status, test.code)
			}
		})
	}
	for _, call := range []struct{ token, path string }{
		{off, "totp/"}, {off, "verify/123456/"}, {limited, "auth/" + code + "/"},
	} {
		w.with(t, call.token, post, twoFactor+call.path).is(t, 406, 199101)
		w.body(t, call.token, post, twoFactor+call.path, "application/json", "{}").is(t, 406, 199101)
	}
}

// However many calls complete a sign-in at once, one session comes of it.
func TestOneSessionForALimitedToken(t *testing.T) {
	t.Parallel()
	w := unlimited()
	u := w.guarded("totp")
	limited, code := w.session(t, u), w.OneTimeCode(u.ID)
	var done atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := w.complete(t, limited, code); got.Status == http.StatusOK {
				done.Add(1)
			} else {
				got.is(t, 401, 10011)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 {
		t.Errorf("%d sessions", done.Load())
	}
}
