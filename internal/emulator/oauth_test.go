package emulator_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/stub"
)

// newOAuth returns the platform of the scripts of tokens, where Ada has given the app access. Its macros start, allow
// and exchange do it again.
func newOAuth(t *testing.T, change ...func(*seed.Options)) *scripted {
	t.Helper()
	return newScript(t, "oauth_tokens.txt", change...)
}

func TestConcurrentLogins(t *testing.T) {
	t.Parallel()
	p := newOAuth(t, func(o *seed.Options) { o.OAuth.RotateRefreshTokens = true })
	p.must(t, "{start}", "{allow}",
		"ada@example.test:correct+horse+battery+staple GET /user/auth/ -> 200 auth_token>session")
	var good atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		for _, work := range []func(p *scripted){
			func(p *scripted) {
				if p.do("{exchange} -> 200") == nil {
					good.Add(1)
				}
			},
			func(p *scripted) {
				p.must(t, "{start}", "{allow}", "{exchange} {token}", "{renew}={refresh} {token}",
					"{access} GET /workspaces/all/ -> 200", "{session} {list} -> 200",
					"anon POST /oauth/revoke/ token={refresh} -> 200")
			},
			func(p *scripted) {
				p.must(t, "{session} {list} -> 200")
				if p.do("{session} {list} -> 200 sessions.0.session_id>id") == nil {
					_ = p.do(`{session} PATCH {one} scopes=["org:*:r"] -> 200`) // which may have ended
				}
			},
			func(p *scripted) {
				const form = `body~"_id\" value=\"(?<id>\\w+)[^!]*proof\" value=\"(?<proof>\\w+)"`
				p.must(t, "{start}", `anon GET {login} -> 200 @Set-Cookie~"^(?<cookie>connect=[^;]+)" `+form)
				p.must(t, "anon POST {site}/connect @Cookie={cookie} auth_request_id={id}&proof={proof}&step=sign-in"+
					"&email=ada@example.test&password=correct+horse+battery+staple -> 303")
			},
		} {
			q := p.fork()
			all.Go(func() { work(q) })
		}
	}
	all.Wait()
	if good.Load() != 1 {
		t.Errorf("a code was exchanged %d times", good.Load())
	}
}

// A slow document holds up its own request, for five seconds, and no other.
func TestSlowMetadataDocument(t *testing.T) {
	t.Parallel()
	const document = `{"client_id":"https://app.test/client.json","redirect_uris":["http://127.0.0.1/callback"],` +
		`"grant_types":["authorization_code"],"response_types":["code"],"token_endpoint_auth_method":"none"}`
	for wait, inTime := range map[time.Duration]bool{
		5*time.Second - time.Millisecond: true,
		5*time.Second + time.Millisecond: false,
	} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newOAuth(t, func(o *seed.Options) {
					o.OAuth.Fetch = stub.Network(func(r *http.Request) (*http.Response, error) {
						select {
						case <-time.After(wait):
						case <-r.Context().Done():
							return nil, r.Context().Err()
						}
						out := httptest.NewRecorder()
						out.Header().Set("Content-Type", "application/json")
						_, err := out.WriteString(document)
						return out.Result(), err
					})
				})
				slow, done := p.fork(), make(chan error)
				slow.must(t, "let with &client_id=https://app.test/client.json")
				go func() { done <- slow.do("{start}") }()
				synctest.Wait()
				start := time.Now()
				p.must(t, "{start}", "{allow}", "{exchange} {token}")
				if waited := time.Since(start); waited != 0 {
					t.Errorf("others waited %v", waited)
				}
				if err := <-done; (err == nil) != inTime {
					t.Error(err)
				}
				if waited := time.Since(start); waited > 5*time.Second {
					t.Errorf("waited %v", waited)
				}
			})
		})
	}
}

// Without a Fetch the network itself is asked, and a request that its caller gives up is given up.
func TestMetadataDocumentFromTheNetwork(t *testing.T) {
	t.Parallel()
	p := newScript(t, "")
	p.Server = emulator.New(seed.Options{})
	p.client = p.Server
	const authorize = "anon GET /oauth/authorize/?client_id=https://127.0.0.1:1/client.json&response_type=code&state=x" +
		"&redirect_uri=http://127.0.0.1:4711/callback&code_challenge_method=S256&response_format=json&code_challenge="
	p.must(t, authorize+strings.Repeat("x", 43)+" -> 406 10571 client_id:invalid")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.ctx = ctx
	if !errors.Is(p.reply(t, authorize).err, context.Canceled) {
		t.Error("a request that was given up is answered")
	}
}
