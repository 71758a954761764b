package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/oauth"
)

// emulated is a sign-in to the emulator, whose user approves.
type emulated struct {
	*fastiotest.Server
	*place
	config oauth.Config
	pages  chan page
}

const platformAddress = "https://fastio.test"

// newEmulated must be called inside a bubble. The test opens the login address in the
// place of the user.
func newEmulated(address string, change ...func(*fastiotest.Options)) *emulated {
	e := &emulated{Server: fastiotest.New(change...), place: newPlace(nil), pages: make(chan page, 2)}
	e.config = oauth.Config{
		BaseURL: address, HTTPClient: &http.Client{Transport: e.Server}, ClientName: "Acme Sync",
		Store: new(oauth.MemoryStore), OpenBrowser: e.approve,
	}
	return e
}

func (e *emulated) approve(ctx context.Context, address string) error {
	outcome, err := e.Approve(address, fastiotest.Decision{})
	if err == nil {
		e.pages <- browse(ctx, e.client(), outcome.Redirect)
	}
	return err
}

func (e *emulated) login(ctx context.Context) (*oauth.Grant, error) {
	return oauth.LoginOn(ctx, e.config, e.listen)
}

// bare serves as a host does that has nothing but the API.
func bare(o *fastiotest.Options) { o.Prefix = "/" }

func TestLoginToTheEmulator(t *testing.T) {
	t.Parallel()
	const own = "https://api.fastio.test"
	type row struct {
		address string
		change  func(*fastiotest.Options)
		server  map[string]any
	}
	table.Bubbles(t, map[string]row{
		"on a host of its own": {own, bare, map[string]any{"issuer": own}},
		"on a shared host":     {platformAddress, func(*fastiotest.Options) {}, map[string]any{"issuer": platformAddress}},
		"with an issuer announced": {
			platformAddress, func(o *fastiotest.Options) { o.OAuth.AnnounceIssuer = true },
			map[string]any{"issuer": platformAddress, "names_issuer": true},
		},
	}, func(t *testing.T, tc row) {
		e := newEmulated(tc.address, tc.change)
		if _, err := e.login(t.Context()); err != nil {
			t.Fatal(err)
		}
		(<-e.pages).shows(t, 200, "Signed in")
		c, err := fastio.New(
			fastio.WithBaseURL(tc.address), fastio.WithHTTPClient(e.config.HTTPClient),
			fastio.WithTokenSource(oauth.TokenSource(e.config.Store, e.config)),
		)
		if err != nil {
			t.Fatal(err)
		}
		if me, err := c.Account.Me(t.Context()); err != nil || me.ID != e.User().ID {
			t.Errorf("the token is that of %v, %v", me, err)
		}
		if diff := cmp.Diff(tc.server, stored[members](t, e.config.Store)["server"]); diff != "" {
			t.Errorf("the server (-want +got):\n%s", diff)
		}

		e = newEmulated(tc.address, tc.change)
		g, err := oauth.LoginWithCode(t.Context(), e.config, func(_ context.Context, url string) (string, error) {
			outcome, err := e.Approve(url, fastiotest.Decision{})
			return " " + outcome.Code + "\r\n", err
		})
		if err != nil || g.Token.RefreshToken.IsZero() {
			t.Errorf("with a code: %v, %v", g, err)
		}
	})
}

// A program may be known by the document that describes it.
func TestDocumentOfTheProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const id = "https://acme.test/sync.json"
		e := newEmulated(platformAddress, func(o *fastiotest.Options) {
			o.OAuth.Fetch = &answering{body: `{"client_id":"` + id + `","client_name":"Acme Sync",
				"redirect_uris":["http://127.0.0.1/callback"],"grant_types":["authorization_code","refresh_token"],
				"response_types":["code"],"token_endpoint_auth_method":"none"}`}
		})
		e.config.ClientID = id
		g, err := e.login(t.Context())
		if err != nil || g.ClientID != id {
			t.Fatalf("got %v, %v", g, err)
		}
		if k := stored[kept](t, e.config.Store); k.Client.ID != "" || k.Token.ClientID != id {
			t.Errorf("the store holds the registration %q and a token of %q", k.Client.ID, k.Token.ClientID)
		}
	})
}

// Where the platform advertises its endpoints at another path than the client
// would look for them, the browser gets there by itself.
func TestEmulatorAtAnotherPath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEmulated("https://api.fastio.test") // which should have no prefix, and has
		e.config.AccessMode = oauth.AccessModeRead
		e.config.OpenBrowser = func(ctx context.Context, address string) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
			if err != nil {
				return err
			}
			resp, err := e.Server.RoundTrip(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			return e.approve(ctx, resp.Header.Get("Location"))
		}
		g, err := e.login(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []oauth.GrantedScope{{EntityType: oauth.EntityTypeUser, EntityID: "*", AccessMode: oauth.AccessModeRead}}
		if diff := cmp.Diff(want, g.Token.Scopes); diff != "" {
			t.Errorf("the mode that was asked for is lost (-want +got):\n%s", diff)
		}
	})
}

func signedIn(t *testing.T, change func(*fastiotest.Options)) *emulated {
	t.Helper()
	e := newEmulated(platformAddress, change)
	if _, err := e.login(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Forget()
	return e
}

// newClient returns the client of another process.
func (e *emulated) newClient(t *testing.T) *fastio.Client {
	t.Helper()
	return e.Client(t, fastio.WithTokenSource(oauth.TokenSource(e.config.Store, e.config)))
}

func (e *emulated) refreshes() (n int) {
	for _, r := range e.Requests() {
		if strings.HasSuffix(r.Path, "/oauth/token/") {
			n++
		}
	}
	return n
}

func TestClientsStaySignedIn(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]func(*fastiotest.Options){
		"while refresh tokens stay":         func(*fastiotest.Options) {},
		"while refresh tokens are replaced": func(o *fastiotest.Options) { o.OAuth.RotateRefreshTokens = true },
		"while refresh tokens are left out": func(o *fastiotest.Options) { o.OAuth.OmitRefreshToken = true },
	}, func(t *testing.T, change func(*fastiotest.Options)) {
		e := signedIn(t, change)
		clients := []*fastio.Client{e.newClient(t), e.newClient(t), e.newClient(t)}
		for hour := range 12 {
			var wg sync.WaitGroup
			for _, c := range clients {
				for range 10 {
					wg.Go(func() {
						if me, err := c.Account.Me(t.Context()); err != nil || me.ID != e.User().ID {
							t.Errorf("after %d hours: %v", hour, err)
						}
					})
				}
			}
			wg.Wait()
			if n := e.refreshes(); n != hour {
				t.Errorf("%d refreshes in %d hours", n, hour)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A session that was ended elsewhere shows at the next call, whatever is left of
// the access token's hour.
func TestClientsOfAnEndedSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := signedIn(t, func(*fastiotest.Options) {})
		c := e.newClient(t)
		if _, err := c.Account.Me(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.OAuth.Revoke(t.Context(), api.NewSecret(stored[kept](t, e.config.Store).Token.RefreshToken)); err != nil {
			t.Error(err)
		}
		for range 2 {
			if _, err := c.Account.Me(t.Context()); !errors.Is(err, oauth.ErrSignInAgain) {
				t.Errorf("got %v, want %v", err, oauth.ErrSignInAgain)
			}
		}
		if n := e.refreshes(); n != 1 || stored[kept](t, e.config.Store).Token == nil {
			t.Errorf("%d refreshes; the store holds %+v", n, stored[kept](t, e.config.Store))
		}
	})
}
