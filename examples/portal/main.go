// Portal creates a portal that expires and whose files can be downloaded only through
// short-lived links, invites a guest, and prints the link. When Enter is pressed it
// deletes the invitation and the portal.
//
//	go run ./examples/portal -guest bo@example.com
//	go run ./examples/portal -guest bo@example.com -title "Q4 pack" -days 30
//
// Ctrl-C deletes them as well. Without configuration the program runs against an
// emulator of its own, on a socket. With FASTIO_API_KEY set, and FASTIO_BASE_URL if
// need be, it runs against the real service.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
)

func main() {
	p := &program{in: os.Stdin, out: os.Stdout}
	flag.StringVar((*string)(&p.workspace), "workspace", "",
		"the ID of the workspace, or its folder name; default: the first one")
	flag.StringVar(&p.title, "title", "Q4 pack", "the title of the portal")
	flag.StringVar(&p.guest, "guest", "", "the e-mail address of the guest")
	flag.IntVar(&p.days, "days", 14, "the days until the portal expires")
	flag.Parse()
	show.Main(p.start)
}

type program struct {
	in        io.Reader
	out       io.Writer
	client    *fastio.Client
	workspace api.ID
	title     string
	guest     string
	days      int
}

// start creates the portal in the chosen workspace of the user, or in the first one.
// Without a token, it shows that on the emulator.
func (p *program) start(ctx context.Context) error {
	var err error
	p.client, err = fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		return p.demonstrate(ctx)
	}
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	if p.guest == "" {
		return errors.New("set -guest: the e-mail address of the guest")
	}
	if p.workspace == "" {
		p.workspace, err = show.First(ctx, p.client)
		if err != nil {
			return err
		}
	}
	return p.run(ctx)
}
