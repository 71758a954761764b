package fastio_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// coverSignIn is what the drivers of package oauth find on their way.
type coverSignIn struct {
	user          api.ProfileID // with a second factor
	limited       api.Secret
	registration  *oauth.Registration
	authorization *oauth.Authorization
	pkce          oauth.PKCE
	code          string
	granted       *oauth.Token
	session       string
	key           *oauth.Key
}

const coverRedirect = "http://127.0.0.1:49152/callback"

// register makes a program known that may update itself.
func (w *coverWorld) register(ctx context.Context) (err error) {
	s := &w.signIn
	s.registration, err = w.aside.OAuth.Register(ctx, oauth.RegisterRequest{
		ClientName: "Loom", RedirectURIs: []string{"http://127.0.0.1/callback"},
	})
	if err == nil {
		w.credential = "Bearer " + s.registration.AccessToken.Reveal()
	}
	return err
}

func (w *coverWorld) authorizationRequest() oauth.AuthorizationRequest {
	w.signIn.pkce = oauth.NewPKCE()
	return oauth.AuthorizationRequest{
		ClientID: w.signIn.registration.ClientID, RedirectURI: coverRedirect, PKCE: w.signIn.pkce, AgentName: "Weaver",
	}
}

// start asks for consent.
func (w *coverWorld) start(ctx context.Context) (err error) {
	if err = w.register(ctx); err != nil {
		return err
	}
	w.signIn.authorization, err = w.aside.OAuth.StartAuthorization(ctx, w.authorizationRequest())
	return err
}

// approve gets a code.
func (w *coverWorld) approve(ctx context.Context) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	outcome, err := w.server.Approve(w.signIn.authorization.LoginURL, fastiotest.Decision{})
	if err != nil {
		return err
	}
	to, err := url.Parse(outcome.Redirect)
	if err != nil {
		return err
	}
	w.signIn.code = to.Query().Get("code")
	return nil
}

func (w *coverWorld) exchange(ctx context.Context, c *fastio.Client) (*oauth.Token, error) {
	s := &w.signIn
	return c.OAuth.Exchange(ctx, oauth.ExchangeRequest{
		ClientID: s.registration.ClientID, RedirectURI: coverRedirect, Code: api.NewSecret(s.code), CodeVerifier: s.pkce.Verifier,
		DeviceName: "Mill", DeviceType: "cli",
	})
}

// grant lets a program in.
func (w *coverWorld) grant(ctx context.Context) (err error) {
	if err = w.approve(ctx); err != nil {
		return err
	}
	w.signIn.granted, err = w.exchange(ctx, w.aside)
	return err
}

func (w *coverWorld) refresh(ctx context.Context, c *fastio.Client) (*oauth.Token, error) {
	s := &w.signIn
	return c.OAuth.Refresh(ctx, oauth.RefreshRequest{ClientID: s.registration.ClientID, RefreshToken: s.granted.RefreshToken})
}

// session is grant, and finds the session that it began.
func (w *coverWorld) session(ctx context.Context) error {
	if err := w.grant(ctx); err != nil {
		return err
	}
	sessions, err := w.aside.OAuth.Sessions.List(ctx)
	if err != nil {
		return err
	}
	w.signIn.session = sessions[0].ID
	return nil
}

func (w *coverWorld) sessionInPath(ctx context.Context) error {
	err := w.session(ctx)
	w.segments = []string{w.signIn.session}
	return err
}

// signedIn makes the client sign with the token of a sign-in with a password.
func (w *coverWorld) signedIn(ctx context.Context) error {
	token, err := w.aside.OAuth.SignIn(ctx, "ada@example.test", api.NewSecret(fastiotest.DefaultPassword))
	if err == nil {
		w.token = token.AccessToken.Reveal()
	}
	return err
}

// half is a sign-in that waits for its second factor.
func (w *coverWorld) half(ctx context.Context) error {
	s := &w.signIn
	grace := w.server.AddUser(fastiotest.User{Email: "grace@example.test", FirstName: "Grace", TwoFactor: "sms"})
	token, err := w.aside.OAuth.SignIn(ctx, "grace@example.test", api.NewSecret(fastiotest.DefaultPassword))
	if err != nil {
		return err
	}
	s.user, s.limited, w.credential = grace.ID, token.AccessToken, "Bearer "+token.AccessToken.Reveal()
	return nil
}

// sent is half, with the code on the phone.
func (w *coverWorld) sent(ctx context.Context) error {
	if err := w.half(ctx); err != nil {
		return err
	}
	err := w.aside.OAuth.TwoFactor.Send(ctx, w.signIn.limited, oauth.ChannelSMS)
	w.segments = []string{w.server.OneTimeCode(w.signIn.user)}
	return err
}

// enabled begins a second factor of the client's own account.
func (w *coverWorld) enabled(ctx context.Context) error {
	_, err := w.aside.OAuth.TwoFactor.Enable(ctx, oauth.ChannelTOTP)
	w.segments = []string{w.server.OneTimeCode(w.server.User().ID)}
	return err
}

// guarded ends it.
func (w *coverWorld) guarded(ctx context.Context) error {
	if err := w.enabled(ctx); err != nil {
		return err
	}
	return w.aside.OAuth.TwoFactor.VerifySetup(ctx, w.oneTimeCode())
}

func (w *coverWorld) oneTimeCode() api.Secret { return api.NewSecret(w.segments[0]) }

func (w *coverWorld) twoFactorState(ctx context.Context, before error) (any, error) {
	if before != nil {
		return nil, before
	}
	status, err := w.aside.OAuth.TwoFactor.Status(ctx)
	if err != nil {
		return nil, err
	}
	return status.State, nil
}

// madeKey makes a key to work on.
func (w *coverWorld) madeKey(ctx context.Context) (err error) {
	w.signIn.key, err = w.aside.OAuth.Keys.Create(ctx, oauth.KeyRequest{Memo: "loom"})
	if err == nil {
		w.segments = []string{w.signIn.key.ID}
	}
	return err
}

// ended turns the refusal of a dead token into true.
func ended(err error) (any, error) {
	if errors.Is(err, api.ErrUnauthenticated) {
		return true, nil
	}
	return nil, errors.Join(errors.New("the token still works"), err)
}

func oauthDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	prepared := func(by func(world, ctx) error) func(ctx, world) error {
		return func(ctx ctx, w world) error { return by(w, ctx) }
	}
	return []driver{
		{"oauth.ServerMetadata", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.OAuth.ServerMetadata(ctx) }, nil},
		{"oauth.ProtectedResource", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.OAuth.ProtectedResource(ctx) }, nil},
		{"oauth.Register", nil, func(ctx ctx, c cl, _ world) (any, error) {
			return c.OAuth.Register(ctx, oauth.RegisterRequest{ClientName: "Loom", RedirectURIs: []string{"http://127.0.0.1/callback"}})
		}, nil},
		{"oauth.UpdateRegistration", nil, func(ctx ctx, c cl, w world) (any, error) {
			r := w.signIn.registration
			return c.OAuth.UpdateRegistration(ctx, r.AccessToken, oauth.UpdateRegistrationRequest{ClientID: r.ClientID, ClientName: "Loom 2"})
		}, prepared(world.register)},
		{"oauth.StartAuthorization", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.OAuth.StartAuthorization(ctx, w.authorizationRequest())
		}, prepared(world.register)},
		{"oauth.AuthorizationInfo", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.OAuth.AuthorizationInfo(ctx, w.signIn.authorization.ID)
		}, prepared(world.start)},
		{"oauth.CompleteAuthorization", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.OAuth.CompleteAuthorization(ctx, oauth.CompleteAuthorizationRequest{ID: w.signIn.authorization.ID})
		}, func(ctx ctx, w world) error { return errors.Join(w.start(ctx), w.signedIn(ctx)) }},
		{"oauth.Exchange", nil, func(ctx ctx, c cl, w world) (any, error) { return w.exchange(ctx, c) }, prepared(world.approve)},
		{"oauth.Refresh", nil, func(ctx ctx, c cl, w world) (any, error) {
			return w.refresh(ctx, c)
		}, prepared(world.grant)},
		{"oauth.Revoke", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.OAuth.Revoke(ctx, w.signIn.granted.RefreshToken); err != nil {
				return nil, err
			}
			_, err := w.refresh(ctx, w.aside)
			refusal, _ := errors.AsType[*oauth.Error](err)
			return refusal != nil && refusal.Code == oauth.CodeInvalidGrant, nil
		}, prepared(world.grant)},
		{"oauth.TokenScopes", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.OAuth.TokenScopes(ctx) }, nil},

		{"oauth.Sessions.List", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.OAuth.Sessions.List(ctx) }, prepared(world.session)},
		{"oauth.Sessions.Get", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.OAuth.Sessions.Get(ctx, w.signIn.session)
		}, prepared(world.sessionInPath)},
		{"oauth.Sessions.Update", nil, func(ctx ctx, c cl, w world) (any, error) {
			s, err := c.OAuth.Sessions.Update(ctx, w.signIn.session, oauth.UpdateSessionRequest{AgentName: api.Set("Spinner")})
			if err == nil && s.AgentName != "Spinner" {
				return nil, errors.New("the session kept its name")
			}
			return s, err
		}, prepared(world.sessionInPath)},
		{"oauth.Sessions.Revoke", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.OAuth.Sessions.Revoke(ctx, w.signIn.session); err != nil {
				return nil, err
			}
			_, err := w.aside.OAuth.Sessions.Get(ctx, w.signIn.session)
			return errors.Is(err, api.ErrNotFound), nil
		}, prepared(world.sessionInPath)},
		{"oauth.Sessions.RevokeAll", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.OAuth.Sessions.RevokeAll(ctx, &oauth.RevokeAllOptions{Except: w.signIn.session}); err != nil {
				return nil, err
			}
			left, err := w.aside.OAuth.Sessions.List(ctx)
			return len(left) == 1 && left[0].ID == w.signIn.session, err
		}, func(ctx ctx, w world) error { return errors.Join(w.grant(ctx), w.session(ctx)) }},

		{"oauth.SignIn", nil, func(ctx ctx, c cl, w world) (any, error) {
			pair := "ada@example.test:" + fastiotest.DefaultPassword
			w.credential = "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
			return c.OAuth.SignIn(ctx, "ada@example.test", api.NewSecret(fastiotest.DefaultPassword))
		}, nil},
		{"oauth.CheckToken", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.OAuth.CheckToken(ctx) }, nil},
		{"oauth.SignOut", nil, func(ctx ctx, c cl, _ world) (any, error) {
			if err := c.OAuth.SignOut(ctx); err != nil {
				return nil, err
			}
			_, err := c.OAuth.CheckToken(ctx)
			return ended(err)
		}, prepared(world.signedIn)},
		{"oauth.InvalidateAll", nil, func(ctx ctx, c cl, _ world) (any, error) {
			if err := c.OAuth.InvalidateAll(ctx); err != nil {
				return nil, err
			}
			_, err := c.OAuth.CheckToken(ctx)
			return ended(err)
		}, prepared(world.signedIn)},

		{"oauth.Keys.Create", nil, func(ctx ctx, c cl, _ world) (any, error) {
			return c.OAuth.Keys.Create(ctx, oauth.KeyRequest{
				Memo: "loom", Scopes: []oauth.GrantedScope{{EntityType: oauth.EntityTypeOrg, EntityID: coverOrg, AccessMode: oauth.AccessModeRead}},
			})
		}, nil},
		{"oauth.Keys.List", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.OAuth.Keys.List(ctx) }, nil},
		{"oauth.Keys.Get", nil, func(ctx ctx, c cl, w world) (any, error) { return c.OAuth.Keys.Get(ctx, w.signIn.key.ID) }, prepared(world.madeKey)},
		{"oauth.Keys.Update", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.OAuth.Keys.Update(ctx, w.signIn.key.ID, oauth.UpdateKeyRequest{Memo: api.Set("spindle")}); err != nil {
				return nil, err
			}
			k, err := w.aside.OAuth.Keys.Get(ctx, w.signIn.key.ID)
			return k.Memo == "spindle", err
		}, prepared(world.madeKey)},
		{"oauth.Keys.Delete", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.OAuth.Keys.Delete(ctx, w.signIn.key.ID, nil); err != nil {
				return nil, err
			}
			_, err := w.aside.OAuth.Keys.Get(ctx, w.signIn.key.ID)
			return errors.Is(err, api.ErrNotFound), nil
		}, prepared(world.madeKey)},

		{"oauth.TwoFactor.Status", nil, func(ctx ctx, c cl, _ world) (any, error) { return c.OAuth.TwoFactor.Status(ctx) }, nil},
		{"oauth.TwoFactor.Enable", []string{"totp"}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.OAuth.TwoFactor.Enable(ctx, oauth.ChannelTOTP)
		}, nil},
		{"oauth.TwoFactor.VerifySetup", nil, func(ctx ctx, c cl, w world) (any, error) {
			state, err := w.twoFactorState(ctx, c.OAuth.TwoFactor.VerifySetup(ctx, w.oneTimeCode()))
			return state == oauth.TwoFactorStateEnabled, err
		}, prepared(world.enabled)},
		{"oauth.TwoFactor.Send", []string{"sms"}, func(ctx ctx, c cl, w world) (any, error) {
			err := c.OAuth.TwoFactor.Send(ctx, w.signIn.limited, oauth.ChannelSMS)
			return w.server.OneTimeCode(w.signIn.user), err
		}, prepared(world.half)},
		{"oauth.TwoFactor.Complete", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.OAuth.TwoFactor.Complete(ctx, w.signIn.limited, w.oneTimeCode())
		}, prepared(world.sent)},
		{"oauth.TwoFactor.Disable", nil, func(ctx ctx, c cl, w world) (any, error) {
			state, err := w.twoFactorState(ctx, c.OAuth.TwoFactor.Disable(ctx, w.oneTimeCode()))
			return state == oauth.TwoFactorStateDisabled, err
		}, prepared(world.guarded)},
	}
}
