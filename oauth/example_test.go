package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
)

// A web application sends people to the platform and gets a code back.
func Example() {
	platform := fastiotest.New() // a fake of the platform
	client, err := fastio.New(platform.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	const home = "https://loom.test/signed-in"

	app, err := client.OAuth.Register(ctx, oauth.RegisterRequest{ClientName: "Loom", RedirectURIs: []string{home}}) // once
	if err != nil {
		fmt.Println(err)
		return
	}
	pkce := oauth.NewPKCE() // kept in the visitor's session
	consent, err := client.OAuth.StartAuthorization(ctx, oauth.AuthorizationRequest{
		ClientID: app.ClientID, RedirectURI: home, PKCE: pkce, Scopes: []oauth.Scope{oauth.ScopeAllWorkspaces},
		AccessMode: oauth.AccessModeRead,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	back := visit(platform, consent.LoginURL) // what the browser does

	if back.Get("state") != pkce.State.Reveal() {
		fmt.Println("the state of another sign-in")
		return
	}
	token, err := client.OAuth.Exchange(ctx, oauth.ExchangeRequest{
		ClientID: app.ClientID, RedirectURI: home, Code: api.NewSecret(back.Get("code")), CodeVerifier: pkce.Verifier,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(token.AccessToken, token.Scopes)
	// Output: [redacted] [workspace:*:r]
}

// visit approves of a login in the name of the platform's user and returns what
// comes back to the application.
func visit(platform *fastiotest.Server, loginURL string) url.Values {
	outcome, err := platform.SignIns.Approve(loginURL, seed.Decision{})
	if err != nil {
		return url.Values{"error": {err.Error()}}
	}
	to, err := url.Parse(outcome.Redirect)
	if err != nil {
		return url.Values{"error": {err.Error()}}
	}
	return to.Query()
}

// A sign-in with a password may ask for a code.
func ExampleService_SignIn() {
	platform := fastiotest.New() // a fake of the platform
	grace := platform.AddUser(seed.User{Email: "grace@example.test", TwoFactor: "sms"})
	client, err := fastio.New(platform.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()

	token, err := client.OAuth.SignIn(ctx, "grace@example.test", api.NewSecret(seed.DefaultPassword))
	if refusal, ok := errors.AsType[*api.Error](err); ok && errors.Is(err, api.ErrRateLimited) {
		fmt.Println("locked for", refusal.Rate.RetryAfter)
		return
	}
	if err == nil && token.TwoFactor {
		limited := token.AccessToken
		if err = client.OAuth.TwoFactor.Send(ctx, limited, oauth.ChannelSMS); err == nil {
			code := platform.OneTimeCode(grace.ID) // what the person types
			token, err = client.OAuth.TwoFactor.Complete(ctx, limited, api.NewSecret(code))
		}
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(token.AccessToken, token.TwoFactor)
	// Output: [redacted] false
}

// A key for an unattended program has minimal scopes and an expiry.
func ExampleKeys_Create() {
	platform := fastiotest.New() // a fake of the platform
	room := platform.AddWorkspace(seed.Workspace{Name: "Drawings"})
	client, err := fastio.New(platform.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}

	key, err := client.OAuth.Keys.Create(context.Background(), oauth.CreateKeyRequest{
		Memo: "nightly backup",
		Scopes: []oauth.GrantedScope{
			{EntityType: oauth.EntityTypeWorkspace, EntityID: api.ID(room.ID), AccessMode: oauth.AccessModeRead},
		},
		Expires: time.Now().AddDate(1, 0, 0),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(key.Memo, key.Secret, len(key.Scopes)) // key.Secret.Reveal() is the key
	// Output: nightly backup [redacted] 1
}

// A program that has tokens of golang.org/x/oauth2 already keeps them.
func ExampleFromOAuth2() {
	platform := fastiotest.New() // a fake of the platform
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: platform.Token()})

	client, err := fastio.New(append(platform.ClientOptions(), fastio.WithTokenSource(oauth.FromOAuth2(source)))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	user, err := client.Account.Me(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(user.FirstName)
	// Output: Ada
}
