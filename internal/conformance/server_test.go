package conformance_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

const resource = "https://api.example.test/" // the one the other server knows

// setUp starts the other server and returns how to sign in there.
func setUp(t *testing.T) (oauth.Config, *visitor, *wire) {
	t.Helper()
	server, v, w := startPeer(t), newVisitor(t), newWire(t)
	return oauth.Config{
		BaseURL: server, HTTPClient: &http.Client{Transport: w}, ClientName: "Conformance",
		Scopes: []oauth.Scope{oauth.ScopeUser}, Resource: resource,
		Store: new(oauth.MemoryStore), OpenBrowser: v.open,
	}, v, w
}

func TestServerLogin(t *testing.T) {
	t.Parallel()
	c, v, w := setUp(t)
	grant := mustLogin(t, c)
	if page := <-v.landed; !strings.Contains(page, "Signed in") {
		t.Errorf("the browser ends at %s", page)
	}
	if got := audience(t, grant.Token.AccessToken); got != resource {
		t.Errorf("the token is for %q", got)
	}

	random := cmpopts.IgnoreMapEntries(func(name string, _ []string) bool {
		return name == "code" || name == "code_verifier" || name == "redirect_uri"
	})
	want := []url.Values{{"grant_type": {"authorization_code"}, "client_id": {grant.ClientID}, "resource": {resource}}}
	if diff := cmp.Diff(want, w.forms("/token"), random); diff != "" {
		t.Errorf("token requests (-want +got):\n%s", diff)
	}

	again := mustLogin(t, c)
	if n := len(w.forms("/reg")); n != 1 || again.ClientID != grant.ClientID {
		t.Errorf("two logins registered %d times, as %q and %q", n, grant.ClientID, again.ClientID)
	}

	form := w.forms("/token")[0]
	_, err := byHand(t, c.BaseURL, "/token").Exchange(t.Context(), oauth.ExchangeRequest{
		ClientID: grant.ClientID, RedirectURI: form.Get("redirect_uri"), Resource: resource,
		Code: api.NewSecret(form.Get("code")), CodeVerifier: api.NewSecret(form.Get("code_verifier")),
	})
	wantRefusal(t, "a second use of a code", err, oauth.CodeInvalidGrant)
}

func mustLogin(t *testing.T, c oauth.Config) *oauth.Grant {
	t.Helper()
	grant, err := oauth.Login(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// audience is whom a JWT is for.
func audience(t *testing.T, token api.Secret) string {
	t.Helper()
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		t.Fatalf("the access token has %d parts", len(parts))
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Audience string `json:"aud"`
	}
	if err := errors.Join(err, json.Unmarshal(b, &claims)); err != nil {
		t.Fatal(err)
	}
	return claims.Audience
}

// Every refresh token is used once, each by a source that finds it in the store.
func TestServerRotation(t *testing.T) {
	t.Parallel()
	c, _, w := setUp(t)
	grant := mustLogin(t, c)
	last := grant.Token.API()
	for range 3 {
		token, err := oauth.TokenSource(c).Refresh(t.Context(), last)
		if err != nil {
			t.Fatal(err)
		}
		if aud := audience(t, token.AccessToken); token.AccessToken == last.AccessToken || aud != resource {
			t.Errorf("a refresh gives the old token, or one for %q", aud)
		}
		last = token
	}

	spent := map[string]bool{}
	for _, form := range w.forms("/token")[1:] {
		spent[form.Get("refresh_token")] = true
		form.Del("refresh_token")
		want := url.Values{"grant_type": {"refresh_token"}, "client_id": {grant.ClientID}, "resource": {resource}}
		if diff := cmp.Diff(want, form); diff != "" {
			t.Errorf("refresh (-want +got):\n%s", diff)
		}
	}
	if len(spent) != 3 || !spent[grant.Token.RefreshToken.Reveal()] {
		t.Errorf("three refreshes took %d refresh tokens", len(spent))
	}

	wantEnded(t, "a second use of a refresh token", c, grant)
	if _, err := oauth.TokenSource(c).Refresh(t.Context(), last); !errors.Is(err, oauth.ErrSignInAgain) {
		t.Errorf("the family of a refresh token that was used twice gives %v", err)
	}
}

// wantEnded sends the refresh token of a login.
func wantEnded(t *testing.T, what string, c oauth.Config, grant *oauth.Grant) {
	t.Helper()
	_, err := byHand(t, c.BaseURL, "/token").Refresh(t.Context(), oauth.RefreshRequest{
		ClientID: grant.ClientID, RefreshToken: grant.Token.RefreshToken, Resource: resource,
	})
	wantRefusal(t, what, err, oauth.CodeInvalidGrant)
}

func TestServerSignOut(t *testing.T) {
	t.Parallel()
	c, _, w := setUp(t)
	grant := mustLogin(t, c)
	if err := oauth.SignOut(t.Context(), c); err != nil {
		t.Error(err)
	}
	want := []url.Values{{"token": {grant.Token.RefreshToken.Reveal()}, "client_id": {grant.ClientID}}}
	if diff := cmp.Diff(want, w.forms("/token/revocation")); diff != "" {
		t.Errorf("revocations (-want +got):\n%s", diff)
	}
	wantEnded(t, "a refresh after the end", c, grant)
	// The other server is not the platform, and has no sign-ins with a password.
	mustLogin(t, c)
	err := oauth.SignOutEverywhere(t.Context(), c)
	if !errors.Is(err, api.ErrNotFound) || strings.Contains(err.Error(), "oauth.Revoke") || len(w.forms("/token/revocation")) != 2 {
		t.Errorf("signing out everywhere ends with %v, want a refusal of oauth.SignOut alone", err)
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code string
		trip func(c *oauth.Config, v *visitor, w *wire)
	}{
		"what the person denies": {
			oauth.CodeAccessDenied, func(c *oauth.Config, v *visitor, _ *wire) { v.refuse(c.BaseURL) },
		},
		"a resource it does not know": {oauth.CodeInvalidTarget, func(c *oauth.Config, _ *visitor, _ *wire) {
			c.Resource = "https://other.example.test/"
		}},
		"another verifier": {oauth.CodeInvalidGrant, func(_ *oauth.Config, _ *visitor, w *wire) {
			w.meddle = func(_ string, form url.Values) { form.Set("code_verifier", oauth.NewPKCE().Verifier.Reveal()) }
		}},
		"another redirect": {oauth.CodeInvalidGrant, func(_ *oauth.Config, _ *visitor, w *wire) {
			w.meddle = func(_ string, form url.Values) { form.Set("redirect_uri", "http://127.0.0.1:9/callback") }
		}},
		"a client it does not know": {oauth.CodeInvalidClient, func(_ *oauth.Config, _ *visitor, w *wire) {
			w.meddle = func(_ string, form url.Values) { form.Set("client_id", "unknown") }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, v, w := setUp(t)
			test.trip(&c, v, w)
			_, err := oauth.Login(t.Context(), c)
			wantRefusal(t, "the login", err, test.code)
			if page := <-v.landed; strings.Contains(page, "Signed in") {
				t.Errorf("the browser ends at %s", page)
			}
			if _, err := oauth.TokenSource(c).Token(t.Context()); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("the store gives %v", err)
			}
		})
	}
}

// A server that gives itself another name than it was asked by is not trusted,
// unless the program knows that name.
func TestServerOfAnotherName(t *testing.T) {
	t.Parallel()
	c, v, w := setUp(t)
	issuer := c.BaseURL
	c.BaseURL = strings.Replace(issuer, "127.0.0.1", "localhost", 1)
	if _, err := oauth.Login(t.Context(), c); err == nil || !strings.Contains(err.Error(), issuer) {
		t.Errorf("the login ends with %v", err)
	}
	if n := len(w.forms("/reg")); n != 0 || len(v.landed) != 0 {
		t.Errorf("%d registrations and %d pages", n, len(v.landed))
	}
	c.Issuer = issuer
	if _, err := oauth.Login(t.Context(), c); err != nil {
		t.Error(err)
	}
}

// An answer in another server's name, or in none where the server announces its
// name, is not used and ends the login.
func TestServerMustAnswerInItsName(t *testing.T) {
	t.Parallel()
	for name, issuers := range map[string][]string{"no name": nil, "another name": {"https://other.example.test"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, v, w := setUp(t)
			v.meet = func(callback *url.URL) {
				q := callback.Query()
				if q.Get("iss") != c.BaseURL {
					t.Errorf("the answer is from %q", q.Get("iss"))
				}
				q["iss"] = issuers
				callback.RawQuery = q.Encode()
			}
			_, err := oauth.Login(t.Context(), c)
			if e, ok := errors.AsType[*oauth.IssuerError](err); !ok || e.Asked != c.BaseURL || len(w.forms("/token")) > 0 {
				t.Errorf("the login ends with %v", err)
			}
			if page := <-v.landed; !strings.Contains(page, "Sign-in failed") {
				t.Errorf("the browser ends at %s", page)
			}
		})
	}
}

func wantRefusal(t *testing.T, what string, err error, code string) {
	t.Helper()
	if refusal, ok := errors.AsType[*oauth.Error](err); !ok || refusal.Code != code {
		t.Errorf("%s ends with %v, not with %s", what, err, code)
	}
}
