package emulator_test

import (
	"encoding/base32"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

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
	synctest.Test(t, func(t *testing.T) {
		p := newScript(t, "auth.txt")
		bind := func() []byte {
			t.Helper()
			p.must(t, `{token} POST {two}/totp/ form -> 200 binding_uri~`+
				`"^otpauth://totp/Fast.io:ada@example.test\\?algorithm=SHA1&digits=6&issuer=Fast.io&period=30`+
				`&secret=(?<secret>[A-Z2-7]+)$"`)
			secret, err := base32.StdEncoding.DecodeString(p.id("secret"))
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		p.must(t, "{adas}>token")
		first, second := bind(), bind()
		p.names["first"], p.names["second"] = emulator.TOTP(first, noon, 6), emulator.TOTP(second, noon, 6)
		p.must(t, "code onetime {ada} code",
			"{token} POST {two}/verify/{first}/ form -> 401 199102",
			"{token} POST {two}/verify/{second}/ form -> 200")
		if p.id("code") != p.id("second") {
			t.Errorf("an app shows %s, the emulator %s", p.id("second"), p.id("code"))
		}
		bind() // and never verified
		if p.CheckSecondFactor(p.id("ada"), p.id("first")) || !p.CheckSecondFactor(p.id("ada"), p.id("code")) {
			t.Error("a new setup replaces the active factor before it is verified")
		}
	})
}

func TestTOTPSteps(t *testing.T) {
	t.Parallel()
	now := noon
	p := newScript(t, "", func(o *seed.Options) { o.Clock = func() time.Time { return now } })
	p.must(t, `user guarded {"two_factor":"totp"}`)
	user := p.id("guarded")
	code := p.OneTimeCode(user) // noon is the beginning of a step
	for offset, want := range map[time.Duration]bool{
		-31 * time.Second: false, -30 * time.Second: true, -1: true, 0: true, 29 * time.Second: true,
		30 * time.Second: true, 60*time.Second - 1: true, 60 * time.Second: false,
	} {
		now = noon.Add(offset)
		if got := p.CheckSecondFactor(user, code); got != want {
			t.Errorf("%v later: %v", offset, got)
		}
	}
}

// However many calls complete a sign-in at once, one session comes of it.
func TestOneSessionForALimitedToken(t *testing.T) {
	t.Parallel()
	p := newScript(t, "auth.txt")
	p.must(t, `user guarded {"email":"guarded@example.test","two_factor":"totp"}`,
		"guarded@example.test:{default} GET /user/auth/ -> 200 auth_token>token", "code onetime {guarded} code")
	var done atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		q := p.fork()
		all.Go(func() {
			if q.do("{token} POST {two}/auth/{code}/ form -> 200") == nil {
				done.Add(1)
			} else {
				q.must(t, "{token} POST {two}/auth/{code}/ form -> 401 10011")
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
	p := newScript(t, "auth.txt")
	p.must(t, `user guarded {"email":"guarded@example.test","two_factor":"totp"}`, "key bens {\"user_id\":\"{ben}\"}",
		"ada GET /user/auth/keys/ -> 200 api_keys.0.id>id")
	var all sync.WaitGroup
	for _, steps := range [][]string{
		{"ben@example.test:{default} GET /user/auth/ -> 200"},
		{"eve@example.test:guess GET /user/auth/ -> any"},
		{
			"guarded@example.test:{default} GET /user/auth/ -> 200 auth_token>token", "code onetime {guarded} code",
			"{token} POST {two}/auth/{code}/ form -> any",
		},
		{"ben POST /user/auth/sign-out/ -> 200"},
		{"ben POST /user/auth/invalidate-all/ -> 200"},
		{`ada POST /user/auth/key/{id}/ scopes=["org:*:rwa"] -> 200`},
		{"ada GET /events/search/?org_id={acme} -> 200"},
		{"ada GET /user/auth/keys/ -> 200"},
		{"cleo POST /user/auth/key/ form -> 200 id>id", "cleo DELETE /user/auth/key/{id}/ -> 200"},
		{`key {"user_id":"{dora}"}`},
		{"dora POST {two}/sms/ form -> 200"},
		{"cleo@example.test:{default} GET /user/auth/ -> 200"},
	} {
		q := p.fork()
		all.Go(func() {
			for range 20 {
				q.must(t, steps...)
			}
		})
	}
	all.Go(func() {
		for range 20 {
			p.OneTimeCode(p.id("dora"))
		}
	})
	all.Wait()
}
