package shares

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Token lets into one share. Its Secret goes where a call for a share or for what is
// in it has a Password.
type Token struct {
	Secret api.Secret
	Expiry time.Time // when the server will refuse it; zero when it did not tell
}

// Format hides the secret from every verb, also behind a pointer.
func (t Token) Format(f fmt.State, verb rune) {
	type plain Token
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), plain(t))
}

// AuthPassword exchanges the password of a share for a [Token]. It needs no sign-in
// and sends none; each call makes another token, so it is only repeated when it was
// never sent.
//
// A wrong password is [api.ErrForbidden], or [api.ErrUnauthenticated]: the account
// of the caller has nothing to do with it.
//
// It calls POST /current/share/{share_id}/auth/password/.
func (s *Service) AuthPassword(ctx context.Context, share api.ProfileID, password api.Secret, opts ...api.CallOption) (*Token, error) {
	const op = "shares.AuthPassword"
	if password == "" {
		return nil, &api.InputError{Op: op, Field: "password", Rule: "must not be empty"}
	}
	return s.mint(ctx, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/auth/password/", string(share)),
		Body: api.Form{"password": {string(password)}}, Auth: api.AuthNone, Replay: api.ReplayOnce,
	}, opts)
}

// AuthGuest returns a [Token] for somebody who is not signed in. What it lets do is
// not published. Each call makes another, so it is only repeated when it was never
// sent.
//
// It calls POST /current/share/{share_id}/auth/guest/.
func (s *Service) AuthGuest(ctx context.Context, share api.ProfileID, opts ...api.CallOption) (*Token, error) {
	return s.mint(ctx, &api.Request{
		Op: "shares.AuthGuest", Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/auth/guest/", string(share)),
		Body: api.Form{}, Auth: api.AuthNone, Replay: api.ReplayOnce,
	}, opts)
}

// mint sends a request for a token. What the answer calls it is not published, so
// all the names are tried that such tokens have elsewhere.
func (s *Service) mint(ctx context.Context, r *api.Request, opts []api.CallOption) (*Token, error) {
	a, err := call.Do[struct {
		AuthToken api.Secret `json:"auth_token"`
		Token     api.Secret `json:"token"`
		JWT       api.Secret `json:"jwt"`
		ExpiresIn float64    `json:"expires_in"` // seconds
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	for _, secret := range []api.Secret{a.AuthToken, a.Token, a.JWT} {
		if secret == "" {
			continue
		}
		t := &Token{Secret: secret}
		if a.ExpiresIn > 0 {
			t.Expiry = time.Now().Add(time.Duration(a.ExpiresIn * float64(time.Second)))
		}
		return t, nil
	}
	return nil, errors.New("fastio: " + r.Op + ": the answer holds no token")
}

// Public is what anyone may see of a share that is open to the public.
type Public struct {
	Share *Share
	Owner *account.User // nil if the answer left it out; its EmailAddress is told to members
	Nodes []*api.Node   // in the topmost folder
	Users []*account.User
	Org   *account.Org // nil if the answer left it out
}

// GetPublic returns what the public may see of a share. It takes no token, and tells
// more to members. A share with a password takes the Secret of a [Token].
//
// A share that is not public, and a token that is not good for it, are
// [api.ErrForbidden], or [api.ErrUnauthenticated] when nobody is signed in, with
// [CodeNoPublicView]. A failure of its storage is [api.ErrServer] with
// [CodeStorageFailure].
//
// It calls GET /current/share/{share_id}/public/details/.
func (s *Service) GetPublic(ctx context.Context, share api.ProfileID, get *GetOptions, opts ...api.CallOption) (*Public, error) {
	const op = "shares.GetPublic"
	a, err := call.Do[struct {
		Share    *Share             `json:"share"`
		Owner    *account.User      `json:"owner"`
		Nodes    rows[api.Node]     `json:"nodes"`
		Users    rows[account.User] `json:"users"`
		Org      *account.Org       `json:"org"`
		Comments json.RawMessage    `json:"comments"` // there for old clients, and always empty
	}](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/share/{share_id}/public/details/", string(share)),
		Auth: api.AuthOptional, Password: get.password(), Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	found, err := call.Found(op, "share", a.Share, opts)
	if err != nil {
		return nil, err
	}
	return &Public{Share: found, Owner: a.Owner, Nodes: a.Nodes, Users: a.Users, Org: a.Org}, nil
}
