package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/fastio-go/fastio/keyring"
	"github.com/fastio-go/fastio/oauth"
)

//nolint:testableexamples // it opens a browser
func Example() {
	ctx := context.Background()
	store := oauth.UserStore("acme-sync")
	store.Keys = keyring.Open("acme-sync", "tokens")
	source, _, err := oauth.LoginIfNeeded(ctx, oauth.Config{ClientName: "Acme Sync", Store: store})
	if errors.Is(err, keyring.ErrUnavailable) {
		log.Fatal("this machine has no keyring: use oauth.KeyFile")
	}
	fmt.Println(source != nil, err)
}
