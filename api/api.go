// Package api is the vocabulary that every area of the client shares: the
// request a method builds, the error a call returns, the options a call takes,
// the credential it is signed with, and the values that travel in the answers
// of more than one area.
//
// A program needs it to tell failures apart and to name things:
//
//	_, err := client.Account.Workspaces.Get(ctx, "marketing")
//	if errors.Is(err, api.ErrNotFound) {
//		...
//	}
//
// An area's Service is built on [Caller], one method wide, so that a test can
// be the server without HTTP.
package api

import (
	"context"
	"net/http"
	"time"
)

// A Caller sends a request and decodes the answer into out.
//
// Out is nil for a response that is not needed, a *string or *[]byte for one that is
// not JSON, and otherwise a value that [encoding/json] can decode into. A
// fastio.Client is the usual Caller. It is safe for concurrent use.
type Caller interface {
	Call(ctx context.Context, r *Request, out any) error
}

// An Opener sends a request and returns an answer that reports success, its
// body unread: what a stream or a download needs. The caller closes the body.
type Opener interface {
	Open(ctx context.Context, r *Request) (*http.Response, error)
}

// Token is a credential: an access token or an API key.
type Token struct {
	AccessToken Secret
	Expiry      time.Time // when the server will refuse it; zero when unknown
}

// Expired reports whether the token's known expiry has passed.
func (t Token) Expired() bool { return !t.Expiry.IsZero() && !time.Now().Before(t.Expiry) }

// A TokenSource supplies the token of each attempt. It is called often and from
// many goroutines: it should answer from memory, refresh at most once at a time,
// and return when ctx ends.
type TokenSource interface {
	Token(ctx context.Context) (Token, error)
}

// A Refresher is a [TokenSource] that can replace a token the server has
// refused. A client calls Refresh at most once a call, only after an answer
// that proves the token dead, and sends the request again with the new one.
type Refresher interface {
	TokenSource
	Refresh(ctx context.Context, refused Token) (Token, error)
}

// StaticToken returns a source of one token that never changes.
func StaticToken(token Secret) TokenSource {
	return staticToken{Token{AccessToken: token}}
}

type staticToken struct{ token Token }

func (s staticToken) Token(context.Context) (Token, error) { return s.token, nil }

// Pagination is the position of a page in an offset list.
type Pagination struct {
	Total   int  `json:"total"`
	Limit   int  `json:"limit"` // rows asked for; a page may hold fewer
	Offset  int  `json:"offset"`
	HasMore bool `json:"has_more"` // the one sign that there is another page
}
