// Package oauth signs users in through their browser, refreshes their tokens, and
// manages sessions, API keys and scopes.
//
//	source, _, err := oauth.LoginIfNeeded(ctx, config)
//	if err != nil {
//		return nil, err
//	}
//	client, err := fastio.New(fastio.WithTokenSource(source))
//	if err != nil {
//		return nil, err
//	}
//	return client.Account.Me(ctx)
//
// A program on the machine of its user signs in with [LoginIfNeeded], which opens the
// browser only if the stored token cannot be used. The tokens are in the Store of a
// [Config], such as [UserStore]("acme-sync"). [Login] signs in again, for example as
// another user, [TokenSource] never opens a browser, and [SignOut] ends the access of the
// program. [Config] has what differs between programs: scopes, the store, the pages of
// the sign-in, a fixed port, machines without a browser.
//
// A program with its own redirect, such as a web application, calls [NewPKCE],
// [Service.StartAuthorization] and [Service.Exchange].
package oauth

import "github.com/fastio-go/fastio/api"

// Service calls the endpoints of the authorization server. It is the OAuth field of a
// fastio.Client, and safe for concurrent use.
type Service struct {
	c api.Client

	Sessions  *Sessions  // OAuth sessions of programs
	Keys      *Keys      // API keys
	TwoFactor *TwoFactor // the second factor of a sign-in with a password
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{c: c, Sessions: &Sessions{c}, Keys: &Keys{c}, TwoFactor: &TwoFactor{c}}
}

// Sessions manages OAuth sessions: one for each consent of the user.
type Sessions struct{ c api.Client }

// Keys manages API keys: long-lived tokens for unattended programs.
type Keys struct{ c api.Client }

// TwoFactor manages the second factor of a sign-in with a password.
type TwoFactor struct{ c api.Client }
