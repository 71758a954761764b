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
	exchange := func(w *world) oauth.ExchangeRequest {
		return oauth.ExchangeRequest{
			ClientID: w.login.client, RedirectURI: redirect, Code: api.NewSecret(w.login.code),
			CodeVerifier: api.NewSecret(verifier), DeviceName: "Mill", DeviceType: "cli",
		}
	}
	refresh := func(w *world) oauth.RefreshRequest {
		return oauth.RefreshRequest{ClientID: w.login.client, RefreshToken: w.login.refresh}
	}
	complete := func(w *world) oauth.CompleteAuthorizationRequest {
		return oauth.CompleteAuthorizationRequest{ID: w.login.request}
	}
	management := func(w *world) api.Secret { return w.login.management }
	limited := func(w *world) api.Secret { return w.login.limited }
	code := func(w *world) api.Secret { return w.code }
	session := func(w *world) string { return w.login.session }
	key := func(w *world) string { return w.login.key }
	signIn := makes("SignIn", "ada@example.test", api.NewSecret(fastiotest.DefaultPassword))
	design := []oauth.GrantedScope{
		{EntityType: oauth.EntityTypeWorkspace, EntityID: workspaceID, AccessMode: oauth.AccessModeRead},
	}
	return []step{
		makes("ServerMetadata"),
		makes("ProtectedResource"),
		learns(makes("Register", oauth.RegisterRequest{
			ClientName: "Loom", RedirectURIs: []string{"http://127.0.0.1/callback"},
		}), func(w *world, r *oauth.Registration) { w.login.client, w.login.management = r.ClientID, r.AccessToken }),
		makes("Register", oauth.RegisterRequest{
			ClientName: "Fast.io", RedirectURIs: []string{"https://loom.test/callback"},
		}),
		makes("UpdateRegistration", management, func(w *world) oauth.UpdateRegistrationRequest {
			return oauth.UpdateRegistrationRequest{ClientID: w.login.client, ClientName: "Power Loom"}
		}),
		makes("UpdateRegistration", api.NewSecret("stolen"), oauth.UpdateRegistrationRequest{
			ClientID: "ffffffffffffffffffffffffffffffff", ClientName: "Loom",
		}),
		learns(makes("StartAuthorization", authorization), func(w *world, a *oauth.Authorization) {
			w.login.request, w.login.loginURL = a.ID, a.LoginURL
		}),
		makes("StartAuthorization", func(w *world) oauth.AuthorizationRequest {
			r := authorization(w)
			r.Scopes = []oauth.Scope{"everything"}
			return r
		}),
		makes("AuthorizationInfo", func(w *world) string { return w.login.request }),
		makes("CompleteAuthorization", complete), // with an API key
		between((*world).approve),
		learns(makes("Exchange", exchange), func(w *world, t *oauth.Token) { w.login.refresh = t.RefreshToken }),
		makes("Exchange", func(w *world) oauth.ExchangeRequest {
			r := exchange(w)
			r.Code = api.NewSecret("unheard-of")
			return r
		}),
		makes("Refresh", refresh),
		makes("TokenScopes"),
		{"Sessions.List", func(c call) (any, error) {
			list, err := c.OAuth.Sessions.List(c)
			if err == nil && len(list) > 0 {
				c.login.session = list[0].ID
			}
			return list, err
		}},
		makes("Sessions.Get", session),
		makes("Sessions.Get", "nowhere"),
		makes("Sessions.Update", session, oauth.UpdateSessionRequest{AgentName: api.Null[string](), Scopes: design}),
		makes("Sessions.Update", session, oauth.UpdateSessionRequest{Scopes: []oauth.GrantedScope{
			{EntityType: oauth.EntityTypeOrg, EntityID: "*", AccessMode: oauth.AccessModeAdmin},
		}}),
		makes("Sessions.RevokeAll", func(w *world) *oauth.RevokeAllOptions {
			return &oauth.RevokeAllOptions{Except: w.login.session}
		}),
		makes("Sessions.Revoke", session),
		makes("Revoke", func(w *world) api.Secret { return w.login.refresh }), // of a session that has ended
		makes("Refresh", refresh),

		learns(makes("Keys.Create", oauth.KeyRequest{
			Memo: "Looms & more", Scopes: design, AgentName: "Weaver", Expires: keyEnd(),
		}), func(w *world, k *oauth.Key) { w.login.key = k.ID }),
		makes("Keys.List"),
		makes("Keys.Get", key),
		makes("Keys.Get", "nowhere"),
		makes("Keys.Update", key, oauth.UpdateKeyRequest{AgentName: api.Null[string](), Memo: api.Set("Looms")}),
		makes("Keys.Delete", key, nil),

		makes("CheckToken"),
		signIn,
		makes("SignIn", "ada@example.test", api.NewSecret("wrong")),
		makes("TwoFactor.Status"),
		makes("TwoFactor.Enable", oauth.ChannelTOTP),
		between((*world).readCode),
		makes("TwoFactor.VerifySetup", code),
		learns(signIn, func(w *world, t *oauth.Token) { w.login.limited = t.AccessToken }),
		makes("TwoFactor.Send", limited, oauth.ChannelSMS),
		between((*world).readCode),
		makes("TwoFactor.Complete", limited, code),
		makes("TwoFactor.Disable", api.NewSecret("000000")),
		between((*world).readCode),
		makes("TwoFactor.Disable", code),
		makes("InvalidateAll"),
		makes("SignOut"),
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
		makes("CompleteAuthorization", complete),
	}
}
