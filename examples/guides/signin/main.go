// Signin signs its user in, with a browser or over SSH, and lists the workspaces of the user.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/keyring"
	"github.com/fastio-go/fastio/oauth"
)

func main() {
	headless := flag.Bool("headless", false, "open no browser, as over SSH")
	logout := flag.Bool("logout", false, "revoke and delete the tokens")
	flag.Parse()
	ctx := context.Background()
	config := oauth.Config{
		BaseURL: os.Getenv("FASTIO_BASE_URL"), ClientName: "Acme Sync", Store: tokenStore(ctx), Prompt: askForCode,
	}
	if *headless {
		config.OpenMode = oauth.OpenModeNone
	}
	run := list
	if *logout {
		run = oauth.SignOut
	}
	if err := run(ctx, config); err != nil {
		log.Fatal(err)
	}
}

// tokenStore returns an encrypted file, with its key in the keyring of the system or, on a
// machine without one, in a second file. Former is the other place, where an earlier run may
// have put the key: its tokens can still be read.
func tokenStore(ctx context.Context) oauth.FileStore {
	store := oauth.UserStore("acme-sync")
	ring := keyring.Open("acme-sync", "tokens")
	_, err := ring.LoadKey(ctx)
	if errors.Is(err, keyring.ErrUnavailable) {
		store.Former = ring
	} else {
		store.Keys, store.Former = ring, store.Keys
	}
	return store
}

// askForCode is called where no browser can be started, or would not be seen.
func askForCode(_ context.Context, url string) (string, error) {
	fmt.Fprintf(os.Stderr, "Open %s\non any machine, and type the code that it shows: ", url)
	return bufio.NewReader(os.Stdin).ReadString('\n')
}

// list signs the user in, unless the tokens of an earlier run are stored.
func list(ctx context.Context, config oauth.Config) error {
	source, _, err := oauth.LoginIfNeeded(ctx, config)
	if err != nil {
		return err
	}
	client, err := fastio.New(fastio.WithTokenSource(source))
	if err != nil {
		return err
	}
	me, err := client.Account.Me(ctx)
	if err != nil {
		return err
	}
	fmt.Println("Signed in as", me.FirstName, me.LastName)
	for workspace, err := range client.Workspaces.All(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Println(" ", workspace.Name)
	}
	return nil
}
