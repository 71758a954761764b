// Chat asks the agent of a workspace questions: answers are printed while they are
// written, followed by their sources.
//
//	go run ./examples/chat                  begins a thread
//	go run ./examples/chat -thread ID       continues one
//
// Ctrl-C cancels the current answer, and ends the program when there is none.
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
	"log/slog"
	"os"
	"os/signal"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
)

func main() {
	workspace := flag.String("workspace", "", "the ID of the workspace, or its folder name; default: the first one")
	thread := flag.String("thread", "", "the ID of the thread to continue")
	flag.Parse()
	err := converse(context.Background(), os.Stdin, os.Stdout, api.ID(*workspace), api.OpaqueID(*thread))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// converse answers questions about a workspace or, without a token, about one of the
// emulator.
func converse(ctx context.Context, in io.Reader, out io.Writer, workspace api.ID, thread api.OpaqueID) error {
	client, err := fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		demo := startDemo(out)
		defer demo.Stop()
		client, err = demo.Connect(demo.Token())
	}
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	if workspace == "" {
		workspace, err = show.First(ctx, client)
		if err != nil {
			return err
		}
	}
	c := &chat{
		client: client, scope: api.Workspace(workspace), thread: thread, in: in, out: out,
		interruptible: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return signal.NotifyContext(ctx, os.Interrupt) // only during an answer: at the prompt, Ctrl-C ends the program
		},
	}
	return c.run(ctx)
}
