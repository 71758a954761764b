package oauth_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// A desktop program opens the browser in its first run only.
func ExampleLoginIfNeeded() {
	platform := fastiotest.New() // a fake of the platform, its user and the browser
	server := httptest.NewServer(platform)
	defer server.Close()
	dir, err := os.MkdirTemp("", "login")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	config := oauth.Config{BaseURL: fastio.DefaultBaseURL, ClientName: "Acme Sync", Store: oauth.UserStore("acme-sync")}

	// A program leaves these out.
	config.BaseURL = server.URL
	config.Store = oauth.FileStore{Path: filepath.Join(dir, "tokens"), Keys: oauth.KeyFile(filepath.Join(dir, "key"))}
	config.OpenBrowser = func(ctx context.Context, address string) error {
		fmt.Println("the browser opens")
		return platform.SignIns.OpenBrowser(ctx, address)
	}
	for run := range 2 {
		me, err := whoAmI(ctx, config)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("run", run+1, "of", me.FirstName)
	}
	// Output:
	// the browser opens
	// run 1 of Ada
	// run 2 of Ada
}

func whoAmI(ctx context.Context, config oauth.Config) (*account.User, error) {
	source, _, err := oauth.LoginIfNeeded(ctx, config)
	if err != nil {
		return nil, err
	}
	client, err := fastio.New(fastio.WithTokenSource(source))
	if err != nil {
		return nil, err
	}
	return client.Account.Me(ctx)
}
