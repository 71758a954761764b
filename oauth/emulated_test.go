package oauth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// emulated is a sign-in to the emulator, whose user decides as the test wants.
type emulated struct {
	*fastiotest.Server
	*place
	config oauth.Config
	pages  chan page
}

// newEmulated must be called inside a bubble. decide is the user, in whose place
// the test opens the login address.
func newEmulated(address string, decide func(*fastiotest.Server, string) (fastiotest.Outcome, error), change ...func(*fastiotest.Options)) *emulated {
	e := &emulated{Server: fastiotest.New(change...), place: newPlace(nil), pages: make(chan page, 1)}
	e.config = oauth.Config{
		BaseURL: address, HTTPClient: &http.Client{Transport: e.Server}, ClientName: "Acme Sync", Store: new(oauth.MemoryStore),
		OpenBrowser: func(ctx context.Context, address string) error {
			outcome, err := decide(e.Server, address)
			if err != nil {
				return err
			}
			e.pages <- browse(ctx, e.client(), outcome.Redirect)
			return nil
		},
	}
	return e
}

func (e *emulated) login(ctx context.Context) (*oauth.Grant, error) {
	return oauth.LoginOn(ctx, e.config, e.listen)
}

// bare serves as a host does that has nothing but the API.
func bare(o *fastiotest.Options) { o.Prefix = "/" }

func approve(d fastiotest.Decision) func(*fastiotest.Server, string) (fastiotest.Outcome, error) {
	return func(s *fastiotest.Server, address string) (fastiotest.Outcome, error) { return s.Approve(address, d) }
}

func TestLoginToTheEmulator(t *testing.T) {
	t.Parallel()
	everything := fastiotest.Decision{Mode: "rwa", AccountSettings: true}
	for name, tc := range map[string]struct {
		address  string
		decision fastiotest.Decision
		change   func(*fastiotest.Options)
		ask      func(c *oauth.Config)
		withheld [2]bool // administration, settings
	}{
		"on a host of its own":     {"https://api.fastio.test", fastiotest.Decision{}, bare, nil, [2]bool{}},
		"on a shared host":         {"https://fastio.test", fastiotest.Decision{}, nil, nil, [2]bool{}},
		"with an issuer announced": {"https://fastio.test", fastiotest.Decision{}, func(o *fastiotest.Options) { o.OAuth.AnnounceIssuer = true }, nil, [2]bool{}},
		"with scopes in a list":    {"https://fastio.test", fastiotest.Decision{}, func(o *fastiotest.Options) { o.OAuth.ScopesAsArray = true }, nil, [2]bool{}},
		"with everything granted": {
			"https://fastio.test", everything, nil,
			func(c *oauth.Config) { c.AccessMode, c.AccountSettings = oauth.AccessModeAdmin, true },
			[2]bool{},
		},
		"with much withheld": {
			"https://fastio.test",
			fastiotest.Decision{Mode: "rw"},
			nil,
			func(c *oauth.Config) { c.AccessMode, c.AccountSettings = oauth.AccessModeAdmin, true },
			[2]bool{true, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var options []func(*fastiotest.Options)
				if tc.change != nil {
					options = append(options, tc.change)
				}
				e := newEmulated(tc.address, approve(tc.decision), options...)
				if tc.ask != nil {
					tc.ask(&e.config)
				}
				g, err := e.login(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := [2]bool{g.AdminWithheld, g.AccountSettingsWithheld}; got != tc.withheld {
					t.Errorf("withheld is %v, want %v: %v", got, tc.withheld, g.Token.Scopes)
				}
				if p := <-e.pages; p.err != nil || !strings.Contains(p.body, "<h1>Signed in</h1>") {
					t.Errorf("the user sees %v\n%s", p.err, p.body)
				}
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
				server := load(t, e.config.Store)["server"].(map[string]any)
				want := map[string]any{"issuer": tc.address}
				if strings.Contains(name, "announced") {
					want["names_issuer"] = true
				}
				if diff := cmp.Diff(want, server); diff != "" {
					t.Errorf("the server (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDenialByTheEmulator(t *testing.T) {
	t.Parallel()
	deny := (*fastiotest.Server).Deny
	t.Run("with a state", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newEmulated("https://fastio.test", deny)
			start := time.Now()
			if _, err := e.login(t.Context()); codeOf(err) != oauth.CodeAccessDenied || time.Since(start) > time.Second {
				t.Errorf("got %v after %s", err, time.Since(start))
			}
			if p := <-e.pages; !strings.Contains(p.body, "<h1>Access denied</h1>") {
				t.Errorf("the user sees\n%s", p.body)
			}
		})
	})
	t.Run("without a state", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newEmulated("https://fastio.test", deny, func(o *fastiotest.Options) { o.OAuth.DenialWithoutState = true })
			start := time.Now()
			_, err := e.login(t.Context())
			if codeOf(err) != oauth.CodeAccessDenied || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Minute {
				t.Errorf("got %v after %s", err, time.Since(start))
			}
			if p := <-e.pages; !strings.Contains(p.body, "<h1>Access denied</h1>") {
				t.Errorf("the user sees\n%s", p.body)
			}
		})
	})
}

func TestCodeOfTheEmulator(t *testing.T) {
	t.Parallel()
	for address, change := range map[string]func(*fastiotest.Options){
		"https://api.fastio.test": bare, "https://fastio.test": func(*fastiotest.Options) {},
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newEmulated(address, nil, change)
				g, err := oauth.LoginWithCode(t.Context(), e.config, func(_ context.Context, address string) (string, error) {
					outcome, err := e.Approve(address, fastiotest.Decision{})
					return " " + outcome.Code + "\r\n", err
				})
				if err != nil || g.Token.RefreshToken.IsZero() {
					t.Errorf("got %v, %v", g, err)
				}
			})
		})
	}
}

// A program may be known by the document that describes it.
func TestDocumentOfTheProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const id = "https://acme.test/sync.json"
		e := newEmulated("https://fastio.test", approve(fastiotest.Decision{}), func(o *fastiotest.Options) {
			o.OAuth.Fetch = document(`{"client_id":"` + id + `","client_name":"Acme Sync","redirect_uris":["http://127.0.0.1/callback"],
				"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`)
		})
		e.config.ClientID = id
		g, err := e.login(t.Context())
		if err != nil || g.ClientID != id {
			t.Fatalf("got %v, %v", g, err)
		}
		if client := load(t, e.config.Store)["client"].(map[string]any); len(client) > 0 {
			t.Errorf("something was registered: %v", client)
		}
		if token := load(t, e.config.Store)["token"].(map[string]any); token["client_id"] != id {
			t.Errorf("the token belongs to %v", token["client_id"])
		}
	})
}

// document is a web of one document.
type document string

func (d document) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(string(d))),
	}, nil
}

// The emulator restarts, and with it goes what it knew of the program.
func TestForgottenByTheEmulator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEmulated("https://fastio.test", approve(fastiotest.Decision{}))
		if _, err := e.login(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := newEmulated("https://fastio.test", approve(fastiotest.Decision{}))
		again.config.Store = e.config.Store
		if _, err := again.login(t.Context()); err != nil {
			t.Error(err)
		}
		registered := 0
		for _, r := range again.Requests() {
			if r.Op == "oauth.Register" {
				registered++
			}
		}
		if registered != 1 {
			t.Errorf("the program was registered %d times", registered)
		}
	})
}

// Where the platform advertises its endpoints at another path than the client
// would look for them, the browser gets there by itself.
func TestEmulatorAtAnotherPath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEmulated("https://api.fastio.test", nil) // which should have no prefix, and has
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
			outcome, err := e.Approve(resp.Header.Get("Location"), fastiotest.Decision{})
			e.pages <- browse(ctx, e.client(), outcome.Redirect)
			return err
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

// The whole way over sockets, as a program on a desk does it.
func TestLoginOverSockets(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	address := s.Start(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	pages := make(chan page, 1)
	g, err := oauth.Login(t.Context(), oauth.Config{
		BaseURL: address, Store: new(oauth.MemoryStore),
		OpenBrowser: func(ctx context.Context, address string) error {
			outcome, err := s.Approve(address, fastiotest.Decision{})
			if err != nil {
				return err
			}
			pages <- browse(ctx, client, outcome.Redirect)
			return nil
		},
	})
	if err != nil || g.Token.AccessToken.IsZero() {
		t.Fatalf("got %v, %v", g, err)
	}
	if p := <-pages; p.err != nil || !strings.Contains(p.body, "<h1>Signed in</h1>") {
		t.Errorf("the user sees %v\n%s", p.err, p.body)
	}
}
