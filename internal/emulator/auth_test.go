package emulator_test

import (
	"encoding/base32"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const twoFactor = "/user/auth/2factor/"

func (w *platform) signIn(t *testing.T, email, password string) reply {
	t.Helper()
	r := request(t.Context(), w, http.MethodGet, "/user/auth/")
	r.SetBasicAuth(email, password)
	return w.send(t, r)
}

// session signs a user in and returns the token, limited or full.
func (w *platform) session(t *testing.T, u world.User) string {
	t.Helper()
	got := w.signIn(t, u.Email, u.Password)
	token, found := got.get("auth_token").(string)
	if !found {
		t.Fatalf("sign-in: %d %s", got.Status, got.Body)
	}
	return token
}

// form sends pairs of names and values as a form.
func (w *platform) form(t *testing.T, token, method, path string, fields ...string) reply {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return w.body(t, token, method, path, "application/x-www-form-urlencoded", values.Encode())
}

func (w *platform) body(t *testing.T, token, method, path, contentType, body string) reply {
	t.Helper()
	address := "http://emulator.test/api/current" + path
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": contentType} {
		if value != "" && value != "Bearer " {
			r.Header.Set(name, value)
		}
	}
	return w.send(t, r)
}

// is fails the test unless a response has a status and an error code, 0 for a success.
func (p reply) is(t *testing.T, status, code int) {
	t.Helper()
	if p.Status != status || p.code() != code {
		t.Errorf("got %d %d, want %d %d: %s", p.Status, p.code(), status, code, p.Body)
	}
}

// guarded adds a user with a second factor.
func (w *platform) guarded(channel string) world.User {
	return w.AddUser(world.User{Email: channel + "@example.test", TwoFactor: channel})
}

func (w *platform) complete(t *testing.T, token, code string) reply {
	t.Helper()
	return w.form(t, token, http.MethodPost, twoFactor+"auth/"+code+"/")
}

// other returns a code that differs from the one given.
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
		want := url.Values{"issuer": {"Fast.io"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}
		if diff := cmp.Diff(want, q); diff != "" {
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
	now := epoch
	w := newWorld(seed.Options{Clock: func() time.Time { return now }})
	u := w.guarded("totp")
	code := w.OneTimeCode(u.ID) // epoch is the beginning of a step
	for offset, want := range map[time.Duration]bool{
		-31 * time.Second: false, -30 * time.Second: true, -1: true, 0: true, 29 * time.Second: true,
		30 * time.Second: true, 60*time.Second - 1: true, 60 * time.Second: false,
	} {
		now = epoch.Add(offset)
		if got := w.CheckSecondFactor(u.ID, code); got != want {
			t.Errorf("%v later: %v", offset, got)
		}
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

func TestConcurrentAuth(t *testing.T) {
	t.Parallel()
	w := newWorld(seed.Options{Limits: seed.LimitOptions{Rules: []seed.Limit{}}})
	u := w.guarded("totp")
	ada := w.keys[w.ada.ID]
	id := w.as(t, w.ada, http.MethodGet, "/user/auth/keys/").get("api_keys.0.id").(string)
	var all sync.WaitGroup
	for _, work := range []func(){
		func() { w.signIn(t, w.ben.Email, w.ben.Password).is(t, 200, 0) },
		func() { w.signIn(t, w.eve.Email, "guess") },
		func() { w.complete(t, w.session(t, u), w.OneTimeCode(u.ID)) },
		func() { w.as(t, w.ben, http.MethodPost, "/user/auth/sign-out/").is(t, 200, 0) },
		func() { w.as(t, w.ben, http.MethodPost, "/user/auth/invalidate-all/").is(t, 200, 0) },
		func() {
			w.form(t, ada, http.MethodPost, "/user/auth/key/"+id+"/", "scopes", `["org:*:rwa"]`).is(t, 200, 0)
		},
		func() { w.search(t, w.ada, "org_id", w.org.ID).is(t, 200, 0) },
		func() { w.as(t, w.ada, http.MethodGet, "/user/auth/keys/").is(t, 200, 0) },
		func() {
			made := w.form(t, w.keys[w.cleo.ID], http.MethodPost, "/user/auth/key/")
			w.as(t, w.cleo, http.MethodDelete, "/user/auth/key/"+made.get("id").(string)+"/").is(t, 200, 0)
		},
		func() { w.AddKey(world.Key{User: w.dora.ID}) },
		func() { w.form(t, w.keys[w.dora.ID], http.MethodPost, twoFactor+"sms/").is(t, 200, 0) },
		func() { w.OneTimeCode(w.dora.ID) },
		func() { w.signIn(t, w.cleo.Email, w.cleo.Password).is(t, 200, 0) },
	} {
		all.Go(func() {
			for range 20 {
				work()
			}
		})
	}
	all.Wait()
}
