package oauth_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// platform is the emulator with somebody signed in to it.
type platform struct {
	*fastiotest.Server

	config oauth.Config
	store  *oauth.MemoryStore
}

const platformAddress = "https://fastio.test"

func signedIn(t *testing.T, change func(*fastiotest.Options)) platform {
	t.Helper()
	s := fastiotest.New(change)
	const redirect = "http://127.0.0.1/callback"
	program := s.AddOAuthClient(fastiotest.OAuthClient{Name: "Acme Sync", RedirectURIs: []string{redirect}})
	p := platform{s, oauth.Config{
		BaseURL: platformAddress, HTTPClient: &http.Client{Transport: s}, ClientID: program.ID,
	}, new(oauth.MemoryStore)}
	pkce := oauth.NewPKCE()
	service := s.Client(t).OAuth
	reader, err := service.ProtectedResource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.config.Resource = reader.Resource
	a, err := service.StartAuthorization(t.Context(), oauth.AuthorizationRequest{
		ClientID: program.ID, RedirectURI: redirect, PKCE: pkce, Resource: p.config.Resource, AccessMode: oauth.AccessModeAdmin,
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := s.Approve(a.LoginURL, fastiotest.Decision{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := url.Parse(outcome.Redirect)
	if err != nil {
		t.Fatal(err)
	}
	token, err := service.Exchange(t.Context(), oauth.ExchangeRequest{
		ClientID: program.ID, RedirectURI: redirect, Code: api.NewSecret(answer.Query().Get("code")), CodeVerifier: pkce.Verifier,
		Resource: p.config.Resource,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := oauth.Save(t.Context(), p.store, p.config, token); err != nil {
		t.Fatal(err)
	}
	s.Forget()
	return p
}

// client returns the client of another process.
func (p platform) client(t *testing.T) *fastio.Client {
	t.Helper()
	return p.Client(t, fastio.WithTokenSource(oauth.TokenSource(p.store, p.config)))
}

func (p platform) refreshes() int {
	n := 0
	for _, r := range p.Requests() {
		if strings.HasSuffix(r.Path, "/oauth/token/") {
			n++
		}
	}
	return n
}

func TestClientsStaySignedIn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fastiotest.Options){
		"while refresh tokens stay":         func(*fastiotest.Options) {},
		"while refresh tokens are replaced": func(o *fastiotest.Options) { o.OAuth.RotateRefreshTokens = true },
		"while refresh tokens are left out": func(o *fastiotest.Options) { o.OAuth.OmitRefreshToken = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := signedIn(t, change)
				clients := []*fastio.Client{p.client(t), p.client(t), p.client(t)}
				for hour := range 12 {
					var wg sync.WaitGroup
					for _, c := range clients {
						for range 10 {
							wg.Go(func() {
								if me, err := c.Account.Me(t.Context()); err != nil || me.ID != p.User().ID {
									t.Errorf("after %d hours: %v", hour, err)
								}
							})
						}
					}
					wg.Wait()
					if n := p.refreshes(); n != hour {
						t.Errorf("%d refreshes in %d hours", n, hour)
					}
					time.Sleep(time.Hour)
				}
			})
		})
	}
}

// A session that was ended elsewhere shows at the next call, whatever is left of
// the access token's hour.
func TestClientsOfAnEndedSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := signedIn(t, func(*fastiotest.Options) {})
		c := p.client(t)
		if _, err := c.Account.Me(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.OAuth.Revoke(t.Context(), api.NewSecret(peek(t, p.store).Token.RefreshToken)); err != nil {
			t.Error(err)
		}
		for range 2 {
			if _, err := c.Account.Me(t.Context()); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v, want %v", err, oauth.ErrSignInAgain)
			}
		}
		if n := p.refreshes(); n != 1 || peek(t, p.store).Token == nil {
			t.Errorf("%d refreshes; the store holds %+v", n, peek(t, p.store))
		}
	})
}

// The answer to a refresh is lost between the platform and the program.
func TestClientsWhoseRefreshIsLost(t *testing.T) {
	t.Parallel()
	for name, rotate := range map[string]bool{"while refresh tokens stay": false, "while they are replaced": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := signedIn(t, func(o *fastiotest.Options) { o.OAuth.RotateRefreshTokens = rotate })
				lose := false
				p.config.HTTPClient = &http.Client{Transport: transportFunc(func(req *http.Request) (*http.Response, error) {
					resp, err := p.RoundTrip(req)
					if lose && err == nil {
						lose = false
						resp.Body.Close()
						return nil, errors.New("connection reset")
					}
					return resp, err
				})}
				c := p.client(t)
				me := func() error { _, err := c.Account.Me(t.Context()); return err }
				for range 2 { // the second shows whether refresh tokens stay
					if err := me(); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Hour)
				}
				if err := me(); err != nil {
					t.Error(err)
				}
				lose = true
				time.Sleep(56 * time.Minute)
				if err := me(); err != nil {
					t.Error(err)
				}
				time.Sleep(4 * time.Minute)
				if err := me(); errors.Is(err, oauth.ErrSignInAgain) != rotate {
					t.Errorf("got %v", err)
				}
				if n, want := p.refreshes(), map[bool]int{false: 4, true: 3}[rotate]; n != want {
					t.Errorf("%d refreshes, want %d", n, want)
				}
			})
		})
	}
}

func TestClientsAfterASignOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := signedIn(t, func(o *fastiotest.Options) { o.OAuth.RotateRefreshTokens = true })
		c, other := p.client(t), p.client(t)
		for _, c := range []*fastio.Client{c, other} {
			if _, err := c.Account.Me(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := oauth.SignOut(t.Context(), p.store, p.config); err != nil {
			t.Error(err)
		}
		for _, c := range []*fastio.Client{c, other, p.client(t)} {
			if _, err := c.Account.Me(t.Context()); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v, want %v", err, oauth.ErrSignInAgain)
			}
		}
		if n := p.refreshes(); n != 0 {
			t.Errorf("%d refreshes", n)
		}
	})
}
