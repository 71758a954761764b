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
)

// A Caller sends a request and decodes the answer into out.
//
// Out is nil for an answer nobody reads, a *string or *[]byte for one that is
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
