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
	"slices"
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
	show.Main(func(ctx context.Context) error { return watchWorkspace(ctx, os.Stdin, os.Stdout, *workspace) }, context.Canceled)
}

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
	w := &watcher{client: client, room: api.Workspace(id), out: out, names: names, shown: map[api.OpaqueID]bool{}}
	return w.watch(ctx, in)
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

type watcher struct {
	client *fastio.Client
	room   api.Profile
	out    io.Writer
	names  map[api.ID]string     // of members
	since  time.Time             // creation of the latest known comment
	shown  map[api.OpaqueID]bool // known comments
}

func (w *watcher) watch(ctx context.Context, in io.Reader) error {
	sub, err := w.client.Realtime.Subscribe(ctx, w.room, &realtime.Options{OnStatus: w.observer()})
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	if err := w.latest(ctx); err != nil { // after Subscribe, so that no comment falls between
		return err
	}
	fmt.Fprintln(w.out, "Watching. Each line you type becomes a comment; Ctrl-C ends it.")
	go w.post(ctx, in) // reads until the program ends: a read of a terminal cannot be interrupted
	for change, err := range sub.Changes() {
		if err != nil {
			return err
		}
		if err := w.show(ctx, change); err != nil {
			return err
		}
	}
	return nil
}

// show prints a change, and the comments behind it.
func (w *watcher) show(ctx context.Context, c *realtime.Change) error {
	switch {
	case c.Resync != nil:
		fmt.Fprintln(w.out, "  changes may have been missed; reading the comments again")
		return w.catchUp(ctx)
	case c.Field.Name() == activity.NameComments:
		return w.catchUp(ctx)
	case c.Field != "":
		fmt.Fprintf(w.out, "%s  %s changed\n", clock(c.At.Time), c.Field)
	}
	return nil
}

// latest notes the newest comment: those after it are printed.
func (w *watcher) latest(ctx context.Context) error {
	page, err := w.client.Comments.List(ctx, comments.On(w.room), &comments.ListOptions{NewestFirst: true, Limit: 20})
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(page.Comments) {
		w.since, w.shown[c.ID] = c.Created.Time, true
	}
	return nil
}

// catchUp prints all comments that are new, also several behind one change.
func (w *watcher) catchUp(ctx context.Context) error {
	found, err := w.client.Comments.Since(ctx, comments.On(w.room), w.since)
	if err != nil {
		return err
	}
	for _, c := range found {
		if !w.shown[c.ID] {
			fmt.Fprintf(w.out, "%s  %s: %s\n", clock(c.Created.Time), cmp.Or(w.names[c.UserID], string(c.UserID)), c.Body)
		}
		w.since, w.shown[c.ID] = c.Created.Time, true
	}
	return nil
}

// post makes a comment of each line.
func (w *watcher) post(ctx context.Context, in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() == "" {
			continue
		}
		said := comments.CreateRequest{Body: lines.Text()}
		if _, err := w.client.Comments.Create(ctx, comments.On(w.room), said); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// observer prints how changes arrive, and why a connection cannot be opened.
func (w *watcher) observer() func(context.Context, realtime.Status) {
	var mode realtime.Mode
	return func(_ context.Context, s realtime.Status) {
		switch {
		case s.Mode != mode && s.Mode == realtime.ModeSocket:
			fmt.Fprintf(w.out, "  connected: changes arrive over a socket (number %d)\n", s.Sockets)
		case s.Mode != mode:
			fmt.Fprintln(w.out, "  no connection: changes are polled until a socket is open")
		case s.Err != nil && s.Failures > 1:
			fmt.Fprintf(w.out, "  %d failures in a row, trying again in %v: %v\n", s.Failures, s.Retry.Round(time.Second), s.Err)
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
