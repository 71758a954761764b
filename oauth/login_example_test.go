package oauth_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// Sign in once; from then on the store has a token. A test stands in for the
// platform, and for the person in the browser.
func ExampleLogin() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	platform := fastiotest.New(func(o *fastiotest.Options) { o.Prefix = "/" }) // as on api.fast.io
	store := new(oauth.MemoryStore)
	config := oauth.Config{
		ClientName: "Acme Sync", Store: store,

		// A program leaves these out.
		HTTPClient: &http.Client{Transport: platform},
		OpenBrowser: func(ctx context.Context, address string) error {
			outcome, err := platform.Approve(address, fastiotest.Decision{})
			if err != nil {
				return err
			}
			return open(ctx, outcome.Redirect)
		},
	}
	grant, err := oauth.Login(ctx, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(grant.Token.Scopes)

	client, err := fastio.New(
		fastio.WithTokenSource(oauth.TokenSource(store, config)), fastio.WithHTTPClient(config.HTTPClient),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	me, err := client.Account.Me(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(me.ID == platform.User().ID)
	// Output:
	// [user:*:rw]
	// true
}

// open visits an address as a browser does.
func open(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := new(http.Client).Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
