package oauth

import (
	"context"

	"github.com/fastio-go/fastio/api"
)

// Save keeps the token of a program with a sign-in of its own, by
// [Service.Exchange] or [Service.SignIn], in store, where [TokenSource] finds it.
// It replaces the profile's last token. One with a RefreshToken needs the
// ClientID it was issued to, and the Resource if it was asked for with one.
func Save(ctx context.Context, store Store, c Config, t *Token) error {
	const op = "oauth.Save"
	switch {
	case store == nil:
		return &api.InputError{Op: op, Field: "store", Rule: "must be given"}
	case t == nil || t.AccessToken.IsZero():
		return &api.InputError{Op: op, Field: "access_token", Rule: "must be given"}
	case t.TwoFactor:
		return &api.InputError{Op: op, Field: "access_token", Rule: "must not be one that waits for a second factor"}
	case !t.RefreshToken.IsZero() && c.ClientID == "":
		return &api.InputError{Op: op, Field: "client_id", Rule: "must be given along with a refresh token"}
	}
	if err := checkResource(op, c.Resource); err != nil {
		return err
	}
	base, err := c.base()
	if err != nil {
		return err
	}
	return c.signInto(ctx, store, func(r *record, save func() error) error {
		r.issuedBy(base.String(), server{}, newTokenRecord(t, c.ClientID, c.Resource))
		return save()
	})
}
