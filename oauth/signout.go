package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
)

// SignOut ends the session of the profile of c: it revokes the refresh token, signs
// the user out on every device like [Service.SignOut], and then removes the token
// from c.Store, even if the requests failed. The registration of the program stays,
// for the next [Login].
//
// If another process is refreshing the token, SignOut waits for it, up to half a
// minute. The end of ctx cancels the requests; the token is still removed if the
// store can be locked within a second. The session is ended even if the store
// cannot be written. The error names the failed requests, and why the token could
// not be removed. A profile without a token is not an error.
func SignOut(ctx context.Context, c Config) error {
	if c.Store == nil {
		return &api.InputError{Op: "oauth.SignOut", Field: "store", Rule: "must be given"}
	}
	locking, cancel := lockContext(ctx)
	defer cancel()
	locked := false
	err := c.signInto(locking, func(r *record, save func() error) error {
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
	b, loadErr := c.Store.Load(ctx, c.profile())
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
// second after the end of ctx.
func lockContext(ctx context.Context) (context.Context, context.CancelFunc) {
	const grace = time.Second
	locking, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(locking, func() { timer.Stop() })
	})
	return locking, func() { stop(); cancel() }
}

// end ends the session of a token at the server.
func (c *Config) end(ctx context.Context, r *record) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return errors.Join(c.revoke(ctx, r), c.signOut(ctx, r))
}

func (c *Config) revoke(ctx context.Context, r *record) error {
	if r.Token.RefreshToken.IsZero() {
		return nil
	}
	service, pipeline, err := c.at(r.Server.Revoke)
	if err != nil {
		return err
	}
	defer pipeline.CloseIdleConnections()
	clientID := ""
	if r.Server.Revoke != "" {
		clientID = r.Token.ClientID
	}
	return service.revoke(ctx, r.Token.RefreshToken.Secret, clientID, nil)
}

// signOut signs the user out at the server. A token that is invalid, or that may
// not end sessions, is not a failure.
func (c *Config) signOut(ctx context.Context, r *record) error {
	base, err := c.base()
	if err != nil {
		return err
	}
	pipeline := c.signedPipeline(base, api.StaticToken(r.Token.AccessToken.Secret))
	defer pipeline.CloseIdleConnections()
	err = New(pipeline).SignOut(ctx)
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
