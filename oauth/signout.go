package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
)

// SignOut ends the session of the profile c names: it has the server revoke the
// refresh token and sign the user out as [Service.SignOut] does, on every device,
// and then removes the token from store, whatever the server answered. The
// registration of the program stays, for the next [Login].
//
// If another process is refreshing the token, SignOut waits for that, up to half a
// minute. A ctx that ends cuts the requests short; the token is removed
// nevertheless if the store can be locked within a second. A store that cannot be
// written does not keep the server from ending the session. The error says what
// the server may not know, and why the token could not be removed. A profile
// without a token is no error.
func SignOut(ctx context.Context, store Store, c Config) error {
	if store == nil {
		return &api.InputError{Op: "oauth.SignOut", Field: "store", Rule: "must be given"}
	}
	locking, cancel := lockContext(ctx)
	defer cancel()
	locked := false
	err := c.signInto(locking, store, func(r *record, save func() error) error {
		locked = true
		if err := c.owns(r); err != nil || r.Token == nil {
			return err
		}
		err := c.end(ctx, r)
		r.Token, r.Refresh = nil, r.Refresh.server()
		return errors.Join(err, save())
	})
	if err == nil || locked {
		return err
	}
	err = fmt.Errorf("fastio: oauth.SignOut: the token was not removed from the store: %w", errors.Join(err, ctx.Err()))
	b, loadErr := store.Load(ctx, c.profile())
	if loadErr != nil {
		return err
	}
	switch r, readErr := c.read(b); {
	case readErr != nil:
		return errors.Join(err, readErr)
	case r.Token == nil:
		return nil
	default:
		return errors.Join(err, c.end(ctx, r))
	}
}

// lockContext bounds the wait for the lock of a profile: by [requestTime], and by a
// second once ctx has ended.
func lockContext(ctx context.Context) (context.Context, context.CancelFunc) {
	const grace = time.Second
	locking, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(locking, func() { timer.Stop() })
	})
	return locking, func() { stop(); cancel() }
}

// end has the server end the session of a token.
func (c *Config) end(ctx context.Context, r *record) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return errors.Join(c.revoke(ctx, r), c.signOut(ctx, r))
}

func (c *Config) revoke(ctx context.Context, r *record) error {
	if r.Token.RefreshToken.IsZero() {
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
	return service.revoke(ctx, r.Token.RefreshToken.Secret, clientID, nil)
}

// signOut ends the session at the server. A token that is dead already, or that
// may not end sessions, is no failure.
func (c *Config) signOut(ctx context.Context, r *record) error {
	base, err := c.base()
	if err != nil {
		return err
	}
	road := c.signedRoad(base, api.StaticToken(r.Token.AccessToken.Secret))
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
