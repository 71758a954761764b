// Desktop is a program on the machine of its user: it signs the user in through the
// browser, lists the files of a workspace, and downloads one of them.
//
//	go run ./examples/desktop                          lists the first workspace
//	go run ./examples/desktop -workspace ID            lists another workspace
//	go run ./examples/desktop -get plan.pdf            downloads a file
//
// The tokens are stored, so that only the first run opens a browser. Without
// configuration the program runs against an emulator of its own, on a socket, and plays
// the browser as well. With FASTIO_BASE_URL set, it runs against that service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/keyring"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/storage"
)

func main() {
	p := &program{out: os.Stdout, screen: os.Stderr}
	flag.StringVar((*string)(&p.workspace), "workspace", "", "the ID of the workspace; default: the first one")
	flag.StringVar(&p.file, "get", "", "the name of a file to download from its root")
	flag.StringVar(&p.dir, "dir", ".", "the directory to download to")
	flag.Parse()
	show.Main(p.start)
}

type program struct {
	out, screen io.Writer // screen gets the progress
	workspace   api.ID
	file, dir   string
	client      *fastio.Client
}

// start runs the program with the service at FASTIO_BASE_URL or, if that is not set, on
// the emulator.
func (p *program) start(ctx context.Context) error {
	config := oauth.Config{
		BaseURL: os.Getenv("FASTIO_BASE_URL"), ClientName: "Desktop example",
		ShowURL: func(_ context.Context, url string) { fmt.Fprintf(p.out, "Sign in at %s\n", url) },
	}
	if config.BaseURL == "" {
		return p.demonstrate(ctx, config)
	}
	config.Store = tokenStore(ctx)
	return p.run(ctx, config)
}

// tokenStore returns an encrypted file, with its key in the keyring of the system or, if
// that is unavailable, in a second file. Former is the other of the two places: an earlier
// run may have put its key there, and its tokens can still be read.
func tokenStore(ctx context.Context) oauth.FileStore {
	store := oauth.UserStore("fastio-desktop-example")
	ring := keyring.Open("fastio-desktop-example", "tokens")
	_, err := ring.LoadKey(ctx)
	if errors.Is(err, keyring.ErrUnavailable) {
		store.Former = ring
	} else { // the sign-in will return any other error of the ring
		store.Keys, store.Former = ring, store.Keys
	}
	return store
}

// run signs the user in, if necessary, and lists the chosen workspace or the first one.
func (p *program) run(ctx context.Context, config oauth.Config) error {
	source, _, err := oauth.LoginIfNeeded(ctx, config)
	if err != nil {
		return err
	}
	p.client, err = fastio.New(fastio.WithTokenSource(source), fastio.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	me, err := p.client.Account.Me(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "Signed in as %s %s.\n", me.FirstName, me.LastName)
	workspace := p.workspace
	if workspace == "" {
		workspace, err = show.First(ctx, p.client)
		if err != nil {
			return err
		}
	}
	return p.list(ctx, workspace)
}

// list prints the root of a workspace, and downloads the file with the requested name.
func (p *program) list(ctx context.Context, workspace api.ID) error {
	var found *storage.Node
	for node, err := range p.client.Storage.All(ctx, api.Workspace(workspace), api.Root, nil) {
		if err != nil {
			return err
		}
		fmt.Fprintf(p.out, "  %-8s %10d  %s\n", node.Type, node.Size, node.Name)
		if node.Name == p.file {
			found = node
		}
	}
	switch {
	case p.file == "":
		return nil
	case found == nil:
		return fmt.Errorf("there is no file %q", p.file)
	}
	return p.download(ctx, workspace, found)
}

// download saves the file in the directory, under its name on the server. It does not
// replace an existing file.
func (p *program) download(ctx context.Context, workspace api.ID, node *storage.Node) error {
	bar := show.Bytes(p.screen, node.Name)
	file, err := p.client.Storage.DownloadFile(
		ctx, api.Workspace(workspace), node.ID, p.dir, &storage.DownloadOptions{OnProgress: bar.On},
	)
	bar.End()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "Saved %s.\n", file.Path)
	return nil
}
