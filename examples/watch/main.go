// Watch shows what changes in a workspace while it runs, and posts a comment for
// each line that is typed.
//
//	go run ./examples/watch
//
// Without configuration it runs against an emulator of its own, in which a colleague is
// at work. This emulator cuts the connection every ten seconds, to show that no change is
// lost: the comments of the colleague are numbered. To see the comments of one terminal
// arrive in another, run the emulator in a third and set the variables that it prints:
//
//	go run ./cmd/fastio-emulator
//	FASTIO_BASE_URL=... FASTIO_API_KEY=... go run ./examples/watch
//
// With FASTIO_API_KEY alone it runs against the real service; -workspace chooses the
// workspace.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/realtime"
)

func main() {
	workspace := flag.String("workspace", "", "ID or folder name of the workspace; default: the first one")
	flag.Parse()
	show.Main(
		func(ctx context.Context) error { return watchWorkspace(ctx, os.Stdin, os.Stdout, *workspace) }, context.Canceled,
	)
}

// watchWorkspace watches a workspace of the user or, without a token, one of the
// emulator.
func watchWorkspace(ctx context.Context, in io.Reader, out io.Writer, workspace string) error {
	client, err := fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		demo := startDemo(out)
		defer demo.Stop()
		client, err = demo.Connect(demo.Token())
		workspace = ""
	}
	if err != nil {
		return err
	}
	return watch(ctx, client, in, out, workspace)
}

// watch prints the changes and the comments of a workspace, side by side, until one of
// the two fails, which ends the other.
func watch(ctx context.Context, client *fastio.Client, in io.Reader, out io.Writer, workspace string) error {
	defer client.CloseIdleConnections()
	id, err := choose(ctx, client, workspace)
	if err != nil {
		return err
	}
	names, err := show.Names(ctx, client, id)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	room, ended := api.Workspace(id), make(chan error)
	go func() { ended <- showChanges(ctx, client, out, room) }()
	go func() { ended <- showComments(ctx, client, in, out, room, names) }()
	first := <-ended
	stop()
	return cmp.Or(first, <-ended)
}

// choose returns the workspace with that ID or folder name; "" means the first.
func choose(ctx context.Context, client *fastio.Client, name string) (api.ID, error) {
	if name == "" {
		return show.First(ctx, client)
	}
	w, err := client.Workspaces.Get(ctx, api.ID(name))
	if err != nil {
		return "", err
	}
	return w.ID, nil
}

// showChanges prints what has changed. It leaves out comments, and changes of single objects:
// the change of a file, for example, also arrives as a change of the whole storage.
func showChanges(ctx context.Context, client *fastio.Client, out io.Writer, room api.Profile) error {
	sub, err := client.Realtime.Subscribe(ctx, room, &realtime.SubscribeOptions{OnStatus: statusTo(out)})
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	for change, err := range sub.Changes() {
		switch {
		case err != nil:
			return err
		case change.Resync != nil:
			fmt.Fprintln(out, "  changes other than comments may have been missed")
		case change.Field != "" && change.Field.ID() == "" && change.Field.Name() != activity.NameComments:
			fmt.Fprintf(out, "%s  %s changed\n", clock(change.At.Time), change.Field)
		}
	}
	return nil
}

// showComments prints each new comment once, also those that were made while there was no
// connection.
func showComments(
	ctx context.Context, client *fastio.Client, in io.Reader, out io.Writer, room api.Profile, names map[api.ID]string,
) error {
	begin := func(context.Context) {
		fmt.Fprintln(out, "Watching. Each line you type becomes a comment; Ctrl-C ends it.")
		go post(ctx, client, room, in) // reads until the program ends: a read of a terminal cannot be interrupted
	}
	for c, err := range client.Comments.Watch(ctx, comments.On(room), &comments.WatchOptions{OnBegin: begin}) {
		if err != nil {
			return err
		}
		body := comments.PlainText(c.Body)
		fmt.Fprintf(out, "%s  %s: %s\n", clock(c.Created.Time), cmp.Or(names[c.UserID], string(c.UserID)), body)
	}
	return nil
}

// post makes a comment of each line.
func post(ctx context.Context, client *fastio.Client, room api.Profile, in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() == "" {
			continue
		}
		said := comments.CreateRequest{Body: lines.Text()}
		if _, err := client.Comments.Create(ctx, comments.On(room), said); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// statusTo returns a callback that prints how changes arrive, when that changes, and
// why a connection cannot be opened.
func statusTo(out io.Writer) func(context.Context, realtime.Status) {
	var mode realtime.Mode
	return func(_ context.Context, s realtime.Status) {
		switch {
		case s.Mode != mode && s.Mode == realtime.ModeSocket:
			fmt.Fprintf(out, "  connected: changes arrive over a socket (number %d)\n", s.Sockets)
		case s.Mode != mode:
			fmt.Fprintln(out, "  no connection: changes are polled until a socket is open")
		case s.Err != nil && s.Failures > 2: // one or two failures are usual when a connection breaks
			fmt.Fprintf(out, "  %d failures in a row, trying again in %v: %v\n", s.Failures, s.Retry.Round(time.Second), s.Err)
		}
		mode = s.Mode
	}
}

// clock is the time of day of t, or of now if t is unknown.
func clock(t time.Time) string {
	if t.IsZero() {
		t = time.Now()
	}
	return t.Local().Format(time.TimeOnly)
}
