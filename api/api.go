// Package api holds the types that all areas of the client share: requests, errors,
// call options, credentials, and the values in the responses of more than one area.
// A program uses it to distinguish errors, and for identifiers:
//
//	_, err := client.Workspaces.Get(ctx, "marketing")
//	if errors.Is(err, api.ErrNotFound) {
//		fmt.Println("there is no such workspace")
//	}
//	if refusal, ok := errors.AsType[*api.Error](err); ok {
//		fmt.Println("status", refusal.Status, "of", refusal.Op)
//	}
//
// The areas have no interfaces to fake. Each Service depends only on the two methods of
// [Client]: a test makes one over a Client of its own (see the example), or a fastio.Client
// over the emulator of package fastiotest, which behaves like the platform.
//
// # Extra
//
// The field Extra of a result has the members of the response that this version has no
// field for. In a later minor version such a member may be a field, and is then no longer
// in Extra.
//
// # Assumed names
//
// The words "assumed name" in the comment of a field or parameter mean that the platform
// has the value, but has not published its name in JSON or in a form. If such a field stays
// zero, look for the value in the Extra beside it, and please report its name.
package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// A Caller sends a request and decodes the response into out.
//
// Out is nil to ignore the response, a *string or *[]byte for a response that is not
// JSON, and otherwise a value that [encoding/json] can decode into. An implementation
// that needs the options reads them with [Resolve], and one that forwards a call passes
// them on, or others with [WithOptions]. It must be safe for concurrent use.
type Caller interface {
	Call(ctx context.Context, r *Request, out any, opts ...CallOption) error
}

// An Opener sends a request and returns a successful response with an unread body,
// for streams and downloads. The caller must close the body.
type Opener interface {
	Open(ctx context.Context, r *Request, opts ...CallOption) (*http.Response, error)
}

// Client is what each Service sends its requests through. A fastio.Client is a
// Client.
type Client interface {
	Caller
	Opener
}

// Token is a credential: an access token or an API key.
type Token struct {
	AccessToken Secret
	Expiry      time.Time // zero if unknown
}

// Expired reports whether the token's known expiry has passed.
func (t Token) Expired() bool { return !t.Expiry.IsZero() && !time.Now().Before(t.Expiry) }

// A TokenSource supplies the token of each attempt. It must be safe for concurrent
// use. It should cache tokens, refresh at most once at a time, and return when ctx
// is done.
type TokenSource interface {
	Token(ctx context.Context) (Token, error)
}

// A Refresher is a [TokenSource] that can replace a refused token. A client calls
// Refresh at most once per call, only after a response that proves the token
// invalid, and retries the request with the new token.
type Refresher interface {
	TokenSource
	Refresh(ctx context.Context, refused Token) (Token, error)
}

// StaticToken returns a source that always returns token.
func StaticToken(token Secret) TokenSource {
	return staticToken{Token{AccessToken: token}}
}

type staticToken struct{ token Token }

func (s staticToken) Token(context.Context) (Token, error) { return s.token, nil }

// Pagination is the position of a page in an offset list.
type Pagination struct {
	Total   int  `json:"total"`
	Limit   int  `json:"limit"` // requested rows; a page may have fewer
	Offset  int  `json:"offset"`
	HasMore bool `json:"has_more"` // reports whether there is another page

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}
