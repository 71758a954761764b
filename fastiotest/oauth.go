package fastiotest

import (
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/emulator"
)

// OAuthClient is an application that may ask users for access.
type OAuthClient struct {
	ID           string // "" makes one up
	Name         string
	RedirectURIs []string // "http://127.0.0.1/callback" stands for every port
	Disabled     bool     // switched off: as if it did not exist
}

// Decision is a user's answer to an application that asks for access. The zero
// value grants all that was asked for, account settings aside, in the name of
// the Server's first user.
type Decision struct {
	User            api.ProfileID
	Scopes          []string // to grant: "org:4012345678901234567:rw"; nil is all that was asked for
	Mode            string   // "r", "rw" or "rwa", if Scopes is nil; "" is the most that may be granted
	AccountSettings bool     // grants them too, if they were asked for
}

// Outcome is what follows from a decision.
type Outcome struct {
	Redirect string // where the browser goes, with a code or an error; "" when it stays
	Code     string // that the browser shows; "" when it goes or access was denied
}

// AddOAuthClient makes an application known without registration and returns
// it with what was empty filled in.
func (s *Server) AddOAuthClient(c OAuthClient) OAuthClient {
	return OAuthClient(s.platform.AddClient(emulator.Client(c)))
}

// Approve grants an application access, in place of a user who signs in at
// loginURL and approves. Visit the Redirect to finish the login as a browser
// would. An error means that no such request waits, or that it did not ask for
// as much: it can then be decided again.
func (s *Server) Approve(loginURL string, d Decision) (Outcome, error) {
	if d.User == "" {
		d.User = s.user.ID
	}
	return s.decide(loginURL, d.emulator())
}

// Deny refuses an application access, in place of a user who denies it at
// loginURL.
func (s *Server) Deny(loginURL string) (Outcome, error) {
	return s.decide(loginURL, emulator.Decision{UserID: string(s.user.ID), Deny: true})
}

func (s *Server) decide(loginURL string, d emulator.Decision) (Outcome, error) {
	outcome, err := s.platform.Decide(loginURL, d)
	return Outcome(outcome), err
}

func (d Decision) emulator() emulator.Decision {
	return emulator.Decision{UserID: string(d.User), Scopes: d.Scopes, Mode: d.Mode, AccountSettings: d.AccountSettings}
}
