// Chat talks to the agent of a workspace: answers appear while they are written,
// with their sources as footnotes.
//
//	go run ./examples/chat                  begins a conversation
//	go run ./examples/chat -thread ID       goes on with one
//
// Ctrl-C cancels the answer under way, and ends the program when there is none.
//
// Without configuration it runs against an emulator of its own, on a socket, which
// forgets everything when the program ends. With FASTIO_API_KEY set, and
// FASTIO_BASE_URL if need be, it runs against the real service.
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
	workspace := flag.String("workspace", "",
		"the ID of the workspace, or its folder name; the first one unless it is given")
	thread := flag.String("thread", "", "the conversation to go on with")
	flag.Parse()
	err := run(context.Background(), os.Stdin, os.Stdout, api.ID(*workspace), api.OpaqueID(*thread))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer, workspace api.ID, thread api.OpaqueID) error {
	client, err := fastio.FromEnv()
	if errors.Is(err, fastio.ErrNoToken) {
		demo := startDemo()
		defer demo.server.Close()
		fmt.Fprintf(out, "No FASTIO_API_KEY: running against an emulator at %s\nAsk it about the lease of a dock.\n\n",
			demo.server.URL)
		client, err = fastio.New(fastio.WithBaseURL(demo.server.URL), fastio.WithToken(demo.platform.Token()))
	}
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	if workspace == "" {
		if workspace, err = first(ctx, client); err != nil {
			return err
		}
	}
	c := &chat{
		client: client, scope: api.Workspace(workspace), thread: thread, in: in, out: out,
		interruptible: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return signal.NotifyContext(ctx, os.Interrupt) // at the prompt, Ctrl-C does what it always does
		},
	}
	return c.run(ctx)
}

// first returns the first workspace there is.
func first(ctx context.Context, client *fastio.Client) (api.ID, error) {
	for w, err := range client.Account.Workspaces.All(ctx, nil) {
		if err != nil {
			return "", err
		}
		return w.ID, nil
	}
	return "", errors.New("there is no workspace to talk to")
}
