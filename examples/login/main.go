// Login signs a user in through the browser, prints the user and the granted scopes,
// and stores the tokens, so that the next run needs no browser.
//
//	go run ./examples/login             signs in, or uses the stored tokens
//	go run ./examples/login -headless   shows an address, and a code or a prompt for one,
//	                                    as it does where no browser can be started
//	go run ./examples/login -logout     signs out
//
// Without configuration it runs against an emulator of its own, whose user and password
// it prints, and runs three times in one process. With FASTIO_BASE_URL set, and
// FASTIO_CLIENT_ID if the program is registered, it runs against that service.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/keyring"
	"github.com/fastio-go/fastio/oauth"
)

func main() {
	headless := flag.Bool("headless", false, "do not open a browser: show an address for another device")
	logout := flag.Bool("logout", false, "sign out")
	flag.Parse()
	p := &program{in: os.Stdin, out: os.Stdout, headless: *headless}
	show.Main(func(ctx context.Context) error { return p.run(ctx, *logout) }, context.Canceled)
}

type program struct {
	in       io.Reader
	out      io.Writer
	headless bool
	config   oauth.Config
}

// run signs in or out at the service at FASTIO_BASE_URL or, if that is not set, shows
// both on the emulator.
func (p *program) run(ctx context.Context, logout bool) error {
	p.config.BaseURL, p.config.ClientID = os.Getenv("FASTIO_BASE_URL"), os.Getenv("FASTIO_CLIENT_ID")
	if p.config.BaseURL == "" {
		return p.demonstrate(ctx)
	}
	p.config.Store = p.store(ctx)
	if logout {
		return p.signOut(ctx)
	}
	return p.show(ctx)
}

// store returns an encrypted file. Its key is in the system's keyring or, if there is
// none, in a second file. Former is the other of the two places: an earlier run may have
// put its key there, and its tokens can still be read.
func (p *program) store(ctx context.Context) oauth.FileStore {
	store := oauth.UserStore("fastio-login-example") // its key is in a file
	ring := keyring.Open("fastio-login-example", "tokens")
	_, err := ring.LoadKey(ctx)
	if errors.Is(err, keyring.ErrUnavailable) {
		fmt.Fprintln(p.out, "This machine has no keyring: the key of the tokens is in a file.")
		store.Former = ring
	} else {
		store.Keys, store.Former = ring, store.Keys
	}
	return store
}

// show prints the signed-in user, who signs in first if necessary.
func (p *program) show(ctx context.Context) error {
	p.config.ClientName, p.config.DeviceName, p.config.DeviceType = "Login example", "login example", "cli"
	p.config.ShowURL = p.showURL
	p.config.Prompt, p.config.ShowDeviceCode = p.ask, p.showCode // where no browser can be started
	if p.headless {
		p.config.OpenMode = oauth.OpenModeNone
	}
	source, _, err := oauth.LoginIfNeeded(ctx, p.config)
	if errors.Is(err, oauth.ErrDenied) {
		return errors.New("you denied access; nothing was stored")
	}
	if err != nil {
		return err
	}
	client, err := fastio.New(fastio.WithTokenSource(source), fastio.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	me, err := client.Account.Me(ctx)
	if err != nil {
		return err
	}
	granted, err := client.OAuth.TokenScopes(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "\nSigned in as %s %s <%s>. The program may use:\n", me.FirstName, me.LastName, me.EmailAddress)
	if granted.FullAccess {
		fmt.Fprintln(p.out, "  everything")
	}
	for _, scope := range granted.Scopes {
		fmt.Fprintf(p.out, "  %-12s %-20s %s\n", scope.EntityType, scope.EntityID, scope.AccessMode)
	}
	return nil
}

// showURL prints the address that the browser opens, and what the program waits for.
func (p *program) showURL(_ context.Context, url string) {
	fmt.Fprintf(p.out, "\nSign in at\n  %s\n", url)
	fmt.Fprintln(
		p.out,
		"Waiting until you have answered in the browser, for ten minutes. Ctrl-C ends it; -headless needs no browser here.",
	)
}

// showCode is for a server with the device flow.
func (p *program) showCode(_ context.Context, d oauth.DeviceCode) error {
	fmt.Fprintf(p.out, "\nOpen this address on any device, and type the code %s:\n  %s\n", d.UserCode, d.VerificationURI)
	return nil
}

// ask prints the address and reads the code, on a machine without a browser. At the end of
// the input, the code needs no newline.
func (p *program) ask(_ context.Context, url string) (string, error) {
	fmt.Fprintf(p.out, "\nOpen this address in any browser:\n  %s\nThen type the code it shows: ", url)
	code, err := bufio.NewReader(p.in).ReadString('\n')
	if errors.Is(err, io.EOF) && strings.TrimSpace(code) != "" {
		err = nil
	}
	return code, err
}

// signOut revokes and deletes the stored tokens.
func (p *program) signOut(ctx context.Context) error {
	if err := oauth.SignOut(ctx, p.config); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "Signed out. The tokens are revoked and deleted.")
	return nil
}
