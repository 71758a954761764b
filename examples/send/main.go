// Send shares a file with a guest who changes it: the sender creates a File Share with
// a password and a grant; the guest downloads the file, changes it and uploads it as a
// new version. An upload based on the first version then fails with a version
// conflict. At the end the link is deleted; the file stays, with all of its
// versions.
//
//	go run ./examples/send -workspace ID -node ID
//
// Without configuration the program runs against an emulator of its own, on a socket.
// With FASTIO_API_KEY set to the key of the sender and FASTIO_SECOND_KEY to that of
// the guest, and FASTIO_BASE_URL if need be, it runs against the real service.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
)

func main() {
	p := &program{in: os.Stdin, out: os.Stdout, screen: os.Stderr, password: api.NewSecret(rand.Text())}
	flag.StringVar((*string)(&p.workspace), "workspace", "", "the ID of the workspace")
	flag.StringVar((*string)(&p.node), "node", "", "the ID of the file to share")
	flag.Parse()
	show.Main(p.start)
}

type program struct {
	in          io.Reader
	out, screen io.Writer // screen gets the progress

	sender, guest *fastio.Client
	workspace     api.ID
	node          api.OpaqueID
	password      api.Secret // is given to the guest separately from the link

	edit func(ctx context.Context, path string) error // changes the file that the guest has downloaded
}

// start shares the file of the user with the guest or, without a token, shows that on
// the emulator.
func (p *program) start(ctx context.Context) error {
	var err error
	p.sender, err = fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		return p.demonstrate(ctx)
	}
	if err != nil {
		return err
	}
	defer p.sender.CloseIdleConnections()
	key := os.Getenv("FASTIO_SECOND_KEY")
	if key == "" || p.workspace == "" || p.node == "" {
		return errors.New("set FASTIO_SECOND_KEY, -workspace and -node: the guest, and the file to share")
	}
	p.guest, err = fastio.FromEnv(fastio.WithToken(key), fastio.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	defer p.guest.CloseIdleConnections()
	p.edit = p.prompt // the user edits the file in place of the guest
	return p.run(ctx)
}

// prompt waits until the user has changed the file.
func (p *program) prompt(ctx context.Context, path string) error {
	fmt.Fprintf(p.out, "Change %s as you like, then press Enter. ", path)
	if err := show.Enter(ctx, p.in); err != nil {
		return err
	}
	fmt.Fprintln(p.out)
	return nil
}
