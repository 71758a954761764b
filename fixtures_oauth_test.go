package fastio_test

import (
	"context"
	"net/url"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// loginScene is what the calls of package oauth find on their way. The secrets
// among them are masked in a fixture, so on replay any will do.
type loginScene struct {
	client, request, loginURL, code string
	refresh, management, limited    api.Secret
	session, key                    string
}

// approve is what a person does in the browser.
func (s *scene) approve() {
	if s.server == nil {
		s.login.code = "replayed"
		return
	}
	outcome, err := s.server.Approve(s.login.loginURL, fastiotest.Decision{})
	if err != nil {
		panic(err)
	}
	to, err := url.Parse(outcome.Redirect)
	if err != nil {
		panic(err)
	}
	s.login.code = to.Query().Get("code")
}

// oneTimeCode is what the person's authenticator app shows.
func (s *scene) oneTimeCode() api.Secret {
	if s.server == nil {
		return api.NewSecret("123456")
	}
	return api.NewSecret(s.server.OneTimeCode(s.server.User().ID))
}

// sceneEnd is when the key of the scene ends.
func sceneEnd() time.Time { return time.Date(2027, time.March, 2, 9, 30, 0, 0, time.UTC) }

func oauthRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	const (
		redirect  = "http://127.0.0.1:49152/callback"
		verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // of RFC 7636, appendix B
		challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	)
	authorization := func(s sc) oauth.AuthorizationRequest {
		return oauth.AuthorizationRequest{
			ClientID: s.login.client, RedirectURI: redirect, PKCE: oauth.PKCE{Verifier: api.NewSecret(verifier), Challenge: challenge, State: api.NewSecret("state")},
			Scopes: []oauth.Scope{oauth.ScopeAllOrgs}, AccessMode: oauth.AccessModeAdmin, AgentName: "Weaver",
		}
	}
	exchange := func(s sc, code string) oauth.ExchangeRequest {
		return oauth.ExchangeRequest{
			ClientID: s.login.client, RedirectURI: redirect, Code: api.NewSecret(code), CodeVerifier: api.NewSecret(verifier), DeviceName: "Mill", DeviceType: "cli",
		}
	}
	design := []oauth.GrantedScope{{EntityType: oauth.EntityTypeWorkspace, EntityID: sceneWorkspace, AccessMode: oauth.AccessModeRead}}
	return []recording{
		{"oauth.ServerMetadata", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.OAuth.ServerMetadata(ctx, raw) }},
		{"oauth.ProtectedResource", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.OAuth.ProtectedResource(ctx, raw) }},
		{"oauth.Register", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			r, err := c.OAuth.Register(ctx, oauth.RegisterRequest{ClientName: "Loom", RedirectURIs: []string{"http://127.0.0.1/callback"}}, raw)
			if err == nil {
				s.login.client, s.login.management = r.ClientID, r.AccessToken
			}
			return r, err
		}},
		{"oauth.Register", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.OAuth.Register(ctx, oauth.RegisterRequest{ClientName: "Fast.io", RedirectURIs: []string{"https://loom.test/callback"}}, raw)
		}},
		{"oauth.UpdateRegistration", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.OAuth.UpdateRegistration(ctx, s.login.management, oauth.UpdateRegistrationRequest{ClientID: s.login.client, ClientName: "Power Loom"}, raw)
		}},
		{"oauth.UpdateRegistration", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.OAuth.UpdateRegistration(ctx, api.NewSecret("stolen"), oauth.UpdateRegistrationRequest{ClientID: "ffffffffffffffffffffffffffffffff", ClientName: "Loom"}, raw)
		}},
		{"oauth.StartAuthorization", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			a, err := c.OAuth.StartAuthorization(ctx, authorization(s), raw)
			if err == nil {
				s.login.request, s.login.loginURL = a.ID, a.LoginURL
			}
			return a, err
		}},
		{"oauth.StartAuthorization", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			r := authorization(s)
			r.Scopes = []oauth.Scope{"everything"}
			return c.OAuth.StartAuthorization(ctx, r, raw)
		}},
		{"oauth.AuthorizationInfo", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.OAuth.AuthorizationInfo(ctx, s.login.request, raw)
		}},
		{"oauth.CompleteAuthorization", func(ctx ctx, c cl, s sc, raw opt) (any, error) { // with an API key
			return c.OAuth.CompleteAuthorization(ctx, oauth.CompleteAuthorizationRequest{ID: s.login.request}, raw)
		}},
		{"oauth.Exchange", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.approve()
			t, err := c.OAuth.Exchange(ctx, exchange(s, s.login.code), raw)
			if err == nil {
				s.login.refresh = t.RefreshToken
			}
			return t, err
		}},
		{"oauth.Exchange", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.OAuth.Exchange(ctx, exchange(s, "unheard-of"), raw)
		}},
		{"oauth.Refresh", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.OAuth.Refresh(ctx, oauth.RefreshRequest{ClientID: s.login.client, RefreshToken: s.login.refresh}, raw)
		}},
		{"oauth.TokenScopes", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.OAuth.TokenScopes(ctx, raw) }},
		{"oauth.Sessions.List", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			list, err := c.OAuth.Sessions.List(ctx, raw)
			if err == nil && len(list) > 0 {
				s.login.session = list[0].ID
			}
			return list, err
		}},
		{"oauth.Sessions.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.OAuth.Sessions.Get(ctx, s.login.session, raw)
		}},
		{"oauth.Sessions.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.OAuth.Sessions.Get(ctx, "nowhere", raw) }},
		{"oauth.Sessions.Update", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.OAuth.Sessions.Update(ctx, s.login.session, oauth.UpdateSessionRequest{AgentName: api.Null[string](), Scopes: design}, raw)
		}},
		{"oauth.Sessions.Update", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			wider := []oauth.GrantedScope{{EntityType: oauth.EntityTypeOrg, EntityID: "*", AccessMode: oauth.AccessModeAdmin}}
			return c.OAuth.Sessions.Update(ctx, s.login.session, oauth.UpdateSessionRequest{Scopes: wider}, raw)
		}},
		{"oauth.Sessions.RevokeAll", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.OAuth.Sessions.RevokeAll(ctx, &oauth.RevokeAllOptions{Except: s.login.session}, raw)
		}},
		{"oauth.Sessions.Revoke", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.OAuth.Sessions.Revoke(ctx, s.login.session, raw)
		}},
		{"oauth.Revoke", func(ctx ctx, c cl, s sc, raw opt) (any, error) { // of a session that has ended
			return nil, c.OAuth.Revoke(ctx, s.login.refresh, raw)
		}},
		{"oauth.Refresh", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.OAuth.Refresh(ctx, oauth.RefreshRequest{ClientID: s.login.client, RefreshToken: s.login.refresh}, raw)
		}},

		{"oauth.Keys.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			k, err := c.OAuth.Keys.Create(ctx, oauth.KeyRequest{Memo: "Looms & more", Scopes: design, AgentName: "Weaver", Expires: sceneEnd()}, raw)
			if err == nil {
				s.login.key = k.ID
			}
			return k, err
		}},
		{"oauth.Keys.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.OAuth.Keys.List(ctx, raw) }},
		{"oauth.Keys.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) { return c.OAuth.Keys.Get(ctx, s.login.key, raw) }},
		{"oauth.Keys.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.OAuth.Keys.Get(ctx, "nowhere", raw) }},
		{"oauth.Keys.Update", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.OAuth.Keys.Update(ctx, s.login.key, oauth.UpdateKeyRequest{AgentName: api.Null[string](), Memo: api.Set("Looms")}, raw)
		}},
		{"oauth.Keys.Delete", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.OAuth.Keys.Delete(ctx, s.login.key, nil, raw)
		}},

		{"oauth.CheckToken", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.OAuth.CheckToken(ctx, raw) }},
		{"oauth.SignIn", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.OAuth.SignIn(ctx, "ada@example.test", api.NewSecret(fastiotest.DefaultPassword), raw)
		}},
		{"oauth.SignIn", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.OAuth.SignIn(ctx, "ada@example.test", api.NewSecret("wrong"), raw)
		}},
		{"oauth.TwoFactor.Status", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.OAuth.TwoFactor.Status(ctx, raw) }},
		{"oauth.TwoFactor.Enable", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.OAuth.TwoFactor.Enable(ctx, oauth.ChannelTOTP, raw)
		}},
		{"oauth.TwoFactor.VerifySetup", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.OAuth.TwoFactor.VerifySetup(ctx, s.oneTimeCode(), raw)
		}},
		{"oauth.SignIn", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			t, err := c.OAuth.SignIn(ctx, "ada@example.test", api.NewSecret(fastiotest.DefaultPassword), raw)
			if err == nil {
				s.login.limited = t.AccessToken
			}
			return t, err
		}},
		{"oauth.TwoFactor.Send", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.OAuth.TwoFactor.Send(ctx, s.login.limited, oauth.ChannelSMS, raw)
		}},
		{"oauth.TwoFactor.Complete", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.OAuth.TwoFactor.Complete(ctx, s.login.limited, s.oneTimeCode(), raw)
		}},
		{"oauth.TwoFactor.Disable", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.OAuth.TwoFactor.Disable(ctx, api.NewSecret("000000"), raw)
		}},
		{"oauth.TwoFactor.Disable", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.OAuth.TwoFactor.Disable(ctx, s.oneTimeCode(), raw)
		}},
		{"oauth.InvalidateAll", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return nil, c.OAuth.InvalidateAll(ctx, raw) }},
		{"oauth.SignOut", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return nil, c.OAuth.SignOut(ctx, raw) }},
	}
}
