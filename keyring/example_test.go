package keyring_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fastio-go/fastio/keyring"
	"github.com/fastio-go/fastio/oauth"
)

// tokenStore keeps the key in the keyring or, on a machine without one, in a file.
func tokenStore(ctx context.Context) oauth.FileStore {
	store := oauth.UserStore("acme-sync") // its key is in a file
	ring := keyring.Open("acme-sync", "tokens")
	_, err := ring.LoadKey(ctx)
	if errors.Is(err, keyring.ErrUnavailable) {
		store.Former = ring
	} else {
		store.Keys, store.Former = ring, store.Keys
	}
	return store
}

//nolint:testableexamples // it opens a browser
func Example() {
	ctx := context.Background()
	source, _, err := oauth.LoginIfNeeded(ctx, oauth.Config{ClientName: "Acme Sync", Store: tokenStore(ctx)})
	if errors.Is(err, keyring.ErrUnavailable) {
		fmt.Println("Unlock the keyring: it has the key of the stored tokens.")
	}
	fmt.Println(source != nil, err)
}

func ExampleOpen() {
	store := oauth.FileStore{Path: "tokens", Keys: keyring.Open("acme-sync", "tokens")}
	record, err := store.Load(context.Background(), "default")
	fmt.Println(len(record), err) // no sign-in yet
	// Output: 0 <nil>
}
