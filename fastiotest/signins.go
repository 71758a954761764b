package fastiotest

import (
	"cmp"
	"context"
	"net/http"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// SignIns are the logins and devices of a [Server] that wait for the decision of a user,
// and the decisions.
type SignIns struct {
	platform *emulator.Server
	user     string // the initial user
}

// List returns the logins and devices that wait for a decision, the oldest first.
func (s SignIns) List() []seed.SignIn { return s.platform.SignIns() }

// Approve grants an application access, instead of a user at loginURL; of d, User is by
// default the initial user. A request to the Redirect completes the login, as a browser
// would. It is an error if no such login is pending, or if d exceeds the requested access.
func (s SignIns) Approve(loginURL string, d seed.Decision) (seed.Outcome, error) {
	d.User = cmp.Or(d.User, s.user)
	return s.platform.Decide(loginURL, d)
}

// Deny denies an application access, instead of the initial user at loginURL.
func (s SignIns) Deny(loginURL string) (seed.Outcome, error) {
	return s.Approve(loginURL, seed.Decision{Deny: true})
}

// OpenBrowser is the OpenBrowser of an oauth.Config in a test: it plays the initial user,
// who grants everything requested, and the browser, which is then redirected to the
// application.
func (s SignIns) OpenBrowser(ctx context.Context, loginURL string) error {
	outcome, err := s.Approve(loginURL, seed.Decision{})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, outcome.Redirect, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
