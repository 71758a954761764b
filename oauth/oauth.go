// Package oauth signs people in through their browser, keeps their tokens fresh,
// and manages what those tokens may do.
//
// A program that runs where its user sits needs three calls: [Login] once,
// [TokenSource] ever after, [SignOut] in the end.
//
//	store := oauth.FileStore{Path: path, Keys: oauth.KeyFile(keyPath)}
//	config := oauth.Config{ClientName: "Acme Sync", Store: store}
//	if _, err := oauth.Login(ctx, config); err != nil {
//		return err
//	}
//	client, err := fastio.New(fastio.WithTokenSource(oauth.TokenSource(store, config)))
//
// A program with a redirect of its own, such as a web application, calls
// [NewPKCE], [Service.StartAuthorization] and [Service.Exchange].
package oauth

import "github.com/fastio-go/fastio/api"

// Service is the part of the authorization server that speaks to programs. Get
// one from the OAuth field of a fastio.Client. It is safe for concurrent use.
type Service struct {
	c api.Caller

	Sessions  *Sessions  // the programs that were let in
	Keys      *Keys      // API keys
	TwoFactor *TwoFactor // the second factor of a sign-in with a password
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service {
	return &Service{c: c, Sessions: &Sessions{c}, Keys: &Keys{c}, TwoFactor: &TwoFactor{c}}
}

// Sessions are the programs a person has let in, one each time.
type Sessions struct{ c api.Caller }

// Keys are API keys: tokens without an end, for programs nobody watches.
type Keys struct{ c api.Caller }

// TwoFactor is the second factor of a sign-in with a password.
type TwoFactor struct{ c api.Caller }
