package api

import (
	"context"
	"time"
)

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
