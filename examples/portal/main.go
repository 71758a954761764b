// Portal opens a portal for a client: it makes one that ends by itself and whose files
// are downloaded through short-lived links alone, invites a guest, and shows the link.
// When Enter is pressed it takes all of that back.
//
//	go run ./examples/portal -guest bo@example.com
//	go run ./examples/portal -guest bo@example.com -title "Q4 pack" -days 30
//
// Ctrl-C takes it back, too. Without configuration the program runs against an
// emulator of its own, on a socket. With FASTIO_API_KEY set, and FASTIO_BASE_URL if
// need be, it runs against the real service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
)

func main() {
	p := &program{in: os.Stdin, out: os.Stdout}
	flag.StringVar((*string)(&p.workspace), "workspace", "",
		"the ID of the workspace, or its folder name; the first one unless it is given")
	flag.StringVar(&p.title, "title", "Q4 pack", "what the portal is called")
	flag.StringVar(&p.guest, "guest", "", "the e-mail address of the guest")
	flag.IntVar(&p.days, "days", 14, "how long the portal is open")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := p.start(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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

func (p *program) start(ctx context.Context) error {
	var err error
	p.client, err = fastio.FromEnv()
	if errors.Is(err, fastio.ErrNoToken) {
		return p.demonstrate(ctx)
	}
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	if p.guest == "" {
		return errors.New("who is invited? Give an address with -guest")
	}
	if p.workspace == "" {
		if p.workspace, err = first(ctx, p.client); err != nil {
			return err
		}
	}
	return p.run(ctx)
}

// first returns the first workspace there is.
func first(ctx context.Context, client *fastio.Client) (api.ID, error) {
	for w, err := range client.Account.Workspaces.All(ctx, nil) {
		if err != nil {
			return "", err
		}
		return w.ID, nil
	}
	return "", errors.New("there is no workspace to make a portal in")
}
