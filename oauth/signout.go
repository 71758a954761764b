package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/input"
)

// SignOut ends the access of this program for the account of c: it revokes the refresh
// token, and then removes the token from c.Store, even if the request failed. Other
// programs and the user's sessions in browsers are not affected. A token of
// [Service.SignIn] cannot be revoked on its own and is only removed: see
// [SignOutEverywhere]. The registration of the program stays, for the next [Login].
//
// If another process is refreshing the token, SignOut waits for it, up to half a
// minute. The end of ctx cancels the request, and SignOut returns; the token is still
// removed, unless another process uses it.
//
// If the store cannot be written, the token is revoked all the same. It stays in the store,
// but the sources of this process return it no more.
//
// The error names the failed request, and why the token could not be removed. An account
// without a token is not an error. A token of another platform than c.BaseURL is revoked
// there.
func SignOut(ctx context.Context, c Config) error {
	return c.endSession(ctx, "oauth.SignOut", func(ctx context.Context, own *Config, r *record) error {
		return own.revoke(ctx, r)
	})
}

// SignOutEverywhere is [SignOut], and also ends the user's sign-ins with a password on
// every device, those in browsers included, like [Service.SignOut]. Other programs keep
// their access: see [Sessions.RevokeAll].
//
// Errors: those of SignOut; [api.ErrNotFound] from a server that has no such sign-ins.
func SignOutEverywhere(ctx context.Context, c Config) error {
	return c.endSession(ctx, "oauth.SignOutEverywhere", func(ctx context.Context, own *Config, r *record) error {
		return errors.Join(own.revoke(ctx, r), own.signOutDevices(ctx, r))
	})
}

// endRequest sends the request that ends the session of a record, with the Config of its
// platform.
type endRequest func(ctx context.Context, own *Config, r *record) error

// endSession ends the session of the account at the platform, by the given request, and
// removes its token from the store. It returns soon after the end of ctx, even if the store
// still blocks.
func (c *Config) endSession(ctx context.Context, op string, request endRequest) error {
	if c.Store == nil {
		return input.Fields[Config](op).Refuse("Store", "must not be nil", "")
	}
	return runUntilAbandoned(ctx, func() error { return c.endStored(ctx, op, request) })
}

// endStored ends the session of the stored token at the platform, and removes
// the token from the store even if that fails.
func (c *Config) endStored(ctx context.Context, op string, request endRequest) error {
	locking, cancel := lockContext(ctx)
	defer cancel()
	// It runs after the unlock, also after an error: the sources of this process then read the record again.
	defer signIns.countEdit(c.Store, c.account())
	r, err := c.lock(locking)
	if err != nil {
		return c.endWithoutLock(ctx, op, request, err)
	}
	defer r.Unlock()
	if r.Token == nil {
		return nil
	}
	err = c.endAtPlatform(ctx, r.record, request)
	r.Token = nil
	r.Refresh = r.Refresh.ofServer() // kept for the next sign-in: whether the server rotates refresh tokens
	saveErr := r.save(ctx)
	if saveErr == nil {
		noToken := api.Secret{}
		// It ends what noteSignedOut began: the token is not in the store any more, so a new Source does not get it.
		signIns.noteReplaced(c.Store, c.account(), noToken)
	}
	return errors.Join(err, saveErr)
}

// endWithoutLock ends the session of the stored token when the record could not be
// locked, because of lockErr. The token then stays in the store, which is an error. If the
// store holds no token, there is nothing to end and no error.
func (c *Config) endWithoutLock(ctx context.Context, op string, request endRequest, lockErr error) error {
	ctxErr := ctx.Err()
	lacksCause := ctxErr != nil && !errors.Is(lockErr, ctxErr) // the context of lockContext has an error of its own
	if lacksCause {
		lockErr = fmt.Errorf("%w (%w)", lockErr, ctxErr)
	}
	err := call.FailedWith(op, "the token was not removed from the store", lockErr)
	b, loadErr := c.Store.Load(ctx, c.account())
	if loadErr != nil {
		return err
	}
	switch r, readErr := readRecord(b); {
	case readErr != nil:
		return errors.Join(err, readErr)
	case r.Token == nil:
		return nil
	default:
		return errors.Join(err, c.endAtPlatform(ctx, r, request))
	}
}

// endAtPlatform calls request, which ends the session, for the platform that has issued
// the token of r, with a timeout. Sources in this process stop using the token at once.
func (c *Config) endAtPlatform(ctx context.Context, r *record, request endRequest) error {
	signIns.noteSignedOut(c.Store, c.account(), r.Token.AccessToken.Secret)
	u, err := url.Parse(r.Address)
	if err != nil {
		return errRecord
	}
	own := *c
	own.BaseURL, own.APIPrefix = u.Scheme+"://"+u.Host, &u.Path
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return request(ctx, &own, r)
}

// lockContext returns the context for locking the record of an account: it ends
// after requestTime, or afterContext after ctx. So a record that is free can be
// locked even if ctx is done.
func lockContext(ctx context.Context) (context.Context, context.CancelFunc) {
	locking, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(afterContext, cancel) })
	return locking, func() { stop(); cancel() }
}

// revoke ends the session of a record at the server, if it has a refresh token.
// Only servers with a revocation endpoint of their own get the client id; the platform
// does not require it.
func (c *Config) revoke(ctx context.Context, r *record) error {
	if r.Token.RefreshToken.IsZero() {
		return nil
	}
	service, done, err := c.serviceAt(r.Server.Revoke)
	if err != nil {
		return err
	}
	defer done()
	clientID := ""
	if r.Server.Revoke != "" {
		clientID = r.Token.ClientID
	}
	return service.revoke(ctx, r.Token.RefreshToken.Secret, clientID, nil)
}

// signOutDevices ends the sign-ins of the user at the server. A token that is invalid,
// or that may not end them, is ignored: there is nothing that it could end.
func (c *Config) signOutDevices(ctx context.Context, r *record) error {
	base, err := c.baseOfTokens("oauth.SignOutEverywhere")
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
	// Unauthenticated is a 401 because of the token. Any other 401 can refuse a valid token, unless it has expired.
	isInvalid := e.Unauthenticated || e.Status == http.StatusUnauthorized && r.Token.api().Expired()
	isReadOnly := e.Status == http.StatusForbidden && e.Code == codes.ScopeReadOnly
	if isInvalid || isReadOnly {
		return nil
	}
	return err
}
