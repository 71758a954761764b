package oauth

import (
	"context"
	"errors"
	"net/http"

	"github.com/fastio-go/fastio/api"
)

// SignOut ends the session of the profile c names: it has the server revoke the
// refresh token and sign the user out as [Service.SignOut] does, on every device,
// and then removes the token from store, whatever the server answered. The
// registration of the program stays, for the next [Login].
//
// A ctx that ends cuts the requests short; the token is removed nevertheless,
// which takes up to half a minute if another process is refreshing it. The error
// tells what the server may not know, or why the token could not be removed. A
// profile without a token is no error.
func SignOut(ctx context.Context, store Store, c Config) error {
	if store == nil {
		return &api.InputError{Op: "oauth.SignOut", Field: "store", Rule: "must be given"}
	}
	turn, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightTime)
	defer cancel()
	return store.Update(turn, c.profile(), func(b []byte, save func([]byte) error) error {
		r, err := c.read(b)
		if err != nil || r.Token == nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, flightTime)
		defer cancel()
		err = errors.Join(c.revoke(ctx, r), c.signOut(ctx, r))
		r.Token, r.Server, r.Refresh = nil, server{}, refreshHistory{}
		return errors.Join(err, r.save(save))
	})
}

func (c *Config) revoke(ctx context.Context, r *record) error {
	if r.Token.RefreshToken == "" {
		return nil
	}
	service, road, err := c.at(r.Server.Revoke)
	if err != nil {
		return err
	}
	defer road.CloseIdleConnections()
	clientID := ""
	if r.Server.Revoke != "" {
		clientID = r.Token.ClientID
	}
	return service.revoke(ctx, api.Secret(r.Token.RefreshToken), clientID, nil)
}

// signOut ends the session at the server. A token that is dead already, or that
// may not end sessions, is no failure.
func (c *Config) signOut(ctx context.Context, r *record) error {
	base, err := c.base()
	if err != nil {
		return err
	}
	road := c.signedRoad(base, api.StaticToken(api.Secret(r.Token.AccessToken)))
	defer road.CloseIdleConnections()
	err = New(road).SignOut(ctx)
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	const codeReadOnly = 10770
	ended := e.Unauthenticated || e.Status == http.StatusUnauthorized && r.Token.api().Expired()
	if ended || e.Status == http.StatusForbidden && e.Code == codeReadOnly {
		return nil
	}
	return err
}
