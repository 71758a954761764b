package contract_test

import (
	"net/url"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// loginState is what the calls of package oauth learn.
type loginState struct {
	client, request, loginURL, code string
	refresh, management, limited    api.Secret
	session, key                    string
}

// approve is what a person does in the browser.
func (w *world) approve() {
	outcome, err := w.server.Approve(w.login.loginURL, fastiotest.Decision{})
	if err != nil {
		panic(err)
	}
	to, err := url.Parse(outcome.Redirect)
	if err != nil {
		panic(err)
	}
	w.login.code = to.Query().Get("code")
}

// readCode looks at the person's authenticator app.
func (w *world) readCode() { w.code = api.NewSecret(w.server.OneTimeCode(w.server.User().ID)) }

// keyEnd is when the key ends.
func keyEnd() time.Time { return time.Date(2027, time.March, 2, 9, 30, 0, 0, time.UTC) }

func oauthSteps() []step {
	const (
		redirect  = "http://127.0.0.1:49152/callback"
		verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // of RFC 7636, appendix B
		challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	)
	authorization := func(w *world) oauth.AuthorizationRequest {
		return oauth.AuthorizationRequest{
			ClientID: w.login.client, RedirectURI: redirect, PKCE: oauth.PKCE{
				Verifier: api.NewSecret(verifier), Challenge: challenge, State: api.NewSecret("state"),
			},
			Scopes: []oauth.Scope{oauth.ScopeAllOrgs}, AccessMode: oauth.AccessModeAdmin, AgentName: "Weaver",
		}
	}
	exchange := func(w *world, code string) oauth.ExchangeRequest {
		return oauth.ExchangeRequest{
			ClientID: w.login.client, RedirectURI: redirect, Code: api.NewSecret(code),
			CodeVerifier: api.NewSecret(verifier), DeviceName: "Mill", DeviceType: "cli",
		}
	}
	design := []oauth.GrantedScope{
		{EntityType: oauth.EntityTypeWorkspace, EntityID: workspaceID, AccessMode: oauth.AccessModeRead},
	}
	return []step{
		{"ServerMetadata", func(c call) (any, error) { return c.OAuth.ServerMetadata(c) }},
		{"ProtectedResource", func(c call) (any, error) { return c.OAuth.ProtectedResource(c) }},
		learning("Register",
			func(c call) (*oauth.Registration, error) {
				return c.OAuth.Register(c, oauth.RegisterRequest{
					ClientName: "Loom", RedirectURIs: []string{"http://127.0.0.1/callback"},
				})
			},
			func(w *world, r *oauth.Registration) { w.login.client, w.login.management = r.ClientID, r.AccessToken }),
		{"Register", func(c call) (any, error) {
			return c.OAuth.Register(c, oauth.RegisterRequest{
				ClientName: "Fast.io", RedirectURIs: []string{"https://loom.test/callback"},
			})
		}},
		{"UpdateRegistration", func(c call) (any, error) {
			return c.OAuth.UpdateRegistration(c, c.login.management, oauth.UpdateRegistrationRequest{
				ClientID: c.login.client, ClientName: "Power Loom",
			})
		}},
		{"UpdateRegistration", func(c call) (any, error) {
			return c.OAuth.UpdateRegistration(c, api.NewSecret("stolen"), oauth.UpdateRegistrationRequest{
				ClientID: "ffffffffffffffffffffffffffffffff", ClientName: "Loom",
			})
		}},
		learning("StartAuthorization",
			func(c call) (*oauth.Authorization, error) {
				return c.OAuth.StartAuthorization(c, authorization(c.world))
			},
			func(w *world, a *oauth.Authorization) { w.login.request, w.login.loginURL = a.ID, a.LoginURL }),
		{"StartAuthorization", func(c call) (any, error) {
			r := authorization(c.world)
			r.Scopes = []oauth.Scope{"everything"}
			return c.OAuth.StartAuthorization(c, r)
		}},
		{"AuthorizationInfo", func(c call) (any, error) { return c.OAuth.AuthorizationInfo(c, c.login.request) }},
		{"CompleteAuthorization", func(c call) (any, error) { // with an API key
			return c.OAuth.CompleteAuthorization(c, oauth.CompleteAuthorizationRequest{ID: c.login.request})
		}},
		between((*world).approve),
		learning("Exchange",
			func(c call) (*oauth.Token, error) { return c.OAuth.Exchange(c, exchange(c.world, c.login.code)) },
			func(w *world, t *oauth.Token) { w.login.refresh = t.RefreshToken }),
		{"Exchange", func(c call) (any, error) { return c.OAuth.Exchange(c, exchange(c.world, "unheard-of")) }},
		{"Refresh", func(c call) (any, error) {
			return c.OAuth.Refresh(c, oauth.RefreshRequest{ClientID: c.login.client, RefreshToken: c.login.refresh})
		}},
		{"TokenScopes", func(c call) (any, error) { return c.OAuth.TokenScopes(c) }},
		{"Sessions.List", func(c call) (any, error) {
			list, err := c.OAuth.Sessions.List(c)
			if err == nil && len(list) > 0 {
				c.login.session = list[0].ID
			}
			return list, err
		}},
		{"Sessions.Get", func(c call) (any, error) { return c.OAuth.Sessions.Get(c, c.login.session) }},
		{"Sessions.Get", func(c call) (any, error) { return c.OAuth.Sessions.Get(c, "nowhere") }},
		{"Sessions.Update", func(c call) (any, error) {
			return c.OAuth.Sessions.Update(c, c.login.session, oauth.UpdateSessionRequest{
				AgentName: api.Null[string](), Scopes: design,
			})
		}},
		{"Sessions.Update", func(c call) (any, error) {
			return c.OAuth.Sessions.Update(c, c.login.session, oauth.UpdateSessionRequest{Scopes: []oauth.GrantedScope{
				{EntityType: oauth.EntityTypeOrg, EntityID: "*", AccessMode: oauth.AccessModeAdmin},
			}})
		}},
		{"Sessions.RevokeAll", func(c call) (any, error) {
			return nil, c.OAuth.Sessions.RevokeAll(c, &oauth.RevokeAllOptions{Except: c.login.session})
		}},
		{"Sessions.Revoke", func(c call) (any, error) { return nil, c.OAuth.Sessions.Revoke(c, c.login.session) }},
		{"Revoke", func(c call) (any, error) { // of a session that has ended
			return nil, c.OAuth.Revoke(c, c.login.refresh)
		}},
		{"Refresh", func(c call) (any, error) {
			return c.OAuth.Refresh(c, oauth.RefreshRequest{ClientID: c.login.client, RefreshToken: c.login.refresh})
		}},

		learning("Keys.Create",
			func(c call) (*oauth.Key, error) {
				return c.OAuth.Keys.Create(c, oauth.KeyRequest{
					Memo: "Looms & more", Scopes: design, AgentName: "Weaver", Expires: keyEnd(),
				})
			},
			func(w *world, k *oauth.Key) { w.login.key = k.ID }),
		{"Keys.List", func(c call) (any, error) { return c.OAuth.Keys.List(c) }},
		{"Keys.Get", func(c call) (any, error) { return c.OAuth.Keys.Get(c, c.login.key) }},
		{"Keys.Get", func(c call) (any, error) { return c.OAuth.Keys.Get(c, "nowhere") }},
		{"Keys.Update", func(c call) (any, error) {
			return nil, c.OAuth.Keys.Update(c, c.login.key, oauth.UpdateKeyRequest{
				AgentName: api.Null[string](), Memo: api.Set("Looms"),
			})
		}},
		{"Keys.Delete", func(c call) (any, error) { return nil, c.OAuth.Keys.Delete(c, c.login.key, nil) }},

		{"CheckToken", func(c call) (any, error) { return c.OAuth.CheckToken(c) }},
		{"SignIn", func(c call) (any, error) {
			return c.OAuth.SignIn(c, "ada@example.test", api.NewSecret(fastiotest.DefaultPassword))
		}},
		{"SignIn", func(c call) (any, error) { return c.OAuth.SignIn(c, "ada@example.test", api.NewSecret("wrong")) }},
		{"TwoFactor.Status", func(c call) (any, error) { return c.OAuth.TwoFactor.Status(c) }},
		{"TwoFactor.Enable", func(c call) (any, error) { return c.OAuth.TwoFactor.Enable(c, oauth.ChannelTOTP) }},
		between((*world).readCode),
		{"TwoFactor.VerifySetup", func(c call) (any, error) { return nil, c.OAuth.TwoFactor.VerifySetup(c, c.code) }},
		learning("SignIn",
			func(c call) (*oauth.Token, error) {
				return c.OAuth.SignIn(c, "ada@example.test", api.NewSecret(fastiotest.DefaultPassword))
			},
			func(w *world, t *oauth.Token) { w.login.limited = t.AccessToken }),
		{"TwoFactor.Send", func(c call) (any, error) {
			return nil, c.OAuth.TwoFactor.Send(c, c.login.limited, oauth.ChannelSMS)
		}},
		between((*world).readCode),
		{"TwoFactor.Complete", func(c call) (any, error) {
			return c.OAuth.TwoFactor.Complete(c, c.login.limited, c.code)
		}},
		{"TwoFactor.Disable", func(c call) (any, error) {
			return nil, c.OAuth.TwoFactor.Disable(c, api.NewSecret("000000"))
		}},
		between((*world).readCode),
		{"TwoFactor.Disable", func(c call) (any, error) { return nil, c.OAuth.TwoFactor.Disable(c, c.code) }},
		{"InvalidateAll", func(c call) (any, error) { return nil, c.OAuth.InvalidateAll(c) }},
		{"SignOut", func(c call) (any, error) { return nil, c.OAuth.SignOut(c) }},
		{do: func(c call) (any, error) { // and sign in
			token, err := c.OAuth.SignIn(c, "ada@example.test", api.NewSecret(fastiotest.DefaultPassword))
			if err != nil {
				c.t.Fatal(err)
			}
			a, err := c.OAuth.StartAuthorization(c, authorization(c.world))
			if err != nil {
				c.t.Fatal(err)
			}
			c.token, c.login.request = token.AccessToken, a.ID
			return nil, nil
		}},
		{"CompleteAuthorization", func(c call) (any, error) {
			return c.OAuth.CompleteAuthorization(c, oauth.CompleteAuthorizationRequest{ID: c.login.request})
		}},
	}
}
