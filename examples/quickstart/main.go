// Quickstart is a small backend job: it lists the workspaces, walks the event log of
// one, is interrupted and resumed, prints a summary, sees its own comment arrive, and
// then follows new events.
//
//	go run ./examples/quickstart
//
// Without configuration it runs against its own emulator, on a socket.
// With FASTIO_API_KEY set, and FASTIO_BASE_URL if need be, it runs against the
// real service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
)

func main() {
	follow := flag.Duration("follow", 6*time.Second, "how long to follow live events")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *follow)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil && !interrupted {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, follow time.Duration) error {
	expected := unknown
	client, err := fastio.FromEnv(fastio.WithHooks(waits()))
	if errors.Is(err, fastio.ErrNoToken) {
		demo := startDemo()
		defer demo.stop(out)
		fmt.Fprintf(out, "No FASTIO_API_KEY: running against an emulator at %s\n", demo.address)
		expected = walkedEvents
		client, err = fastio.New(fastio.WithBaseURL(demo.address), fastio.WithToken(demo.token),
			fastio.WithHooks(waits()))
	}
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()

	workspace, err := choose(ctx, out, client)
	if err != nil {
		return err
	}
	query := events.Query{Profile: api.Workspace(workspace.ID)}
	r, err := walk(ctx, out, client, query, expected)
	if err != nil {
		return err
	}
	r.print(out, workspace.Name)
	if err := converse(ctx, out, client, query.Profile); err != nil {
		return err
	}
	query.CreatedMin = r.newest
	return watch(ctx, out, client, query, follow)
}

// choose lists the workspaces and returns the first.
func choose(ctx context.Context, out io.Writer, client *fastio.Client) (*account.Workspace, error) {
	me, err := client.Account.Me(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "\nSigned in as %s %s. Workspaces:\n", me.FirstName, me.LastName)
	var first *account.Workspace
	for w, err := range client.Account.Workspaces.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "  %-24s %s\n", w.Name, w.ID)
		if first == nil {
			first = w
		}
	}
	if first == nil {
		return nil, errors.New("there is no workspace to look at")
	}
	return first, nil
}

// unknown is the length of a log that was not counted: the bar then only counts.
const unknown = -1

// interruptAt is the event at which the first half of the walk ends.
const interruptAt = 1100

// walk reads the whole log. It stops on the way, as a job does that is
// restarted, and goes on from what it has saved.
func walk(ctx context.Context, out io.Writer, client *fastio.Client, query events.Query, expected int,
) (*report, error) {
	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	checkpoint := filepath.Join(dir, "cursor")

	r := newReport()
	r.expected = expected
	fmt.Fprintln(out, "\nWalking the event log:")
	if err := walkSome(ctx, client, query, checkpoint, r, interruptAt); err != nil {
		return nil, err
	}
	if r.total == interruptAt {
		fmt.Fprintf(out, "  interrupted after %d events; going on from the checkpoint\n", r.total)
		if err := walkSome(ctx, client, query, checkpoint, r, 0); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// walkSome goes on from the checkpoint until the log ends or the report has seen
// most events, 0 for no bound.
func walkSome(ctx context.Context, client *fastio.Client, query events.Query, checkpoint string, r *report,
	most int,
) error {
	saved, err := os.ReadFile(checkpoint)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	bar := progressbar.NewOptions(r.expected,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("events"), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetDescription("  events"), progressbar.OptionClearOnFinish(),
	)
	defer func() { _ = bar.Finish() }()
	_ = bar.Set(r.total)

	pass := client.Events.Walk(query, string(saved))
	for event, err := range pass.Events(ctx) {
		if err != nil {
			return err
		}
		r.add(event)
		_ = bar.Add(1)
		if r.total == most {
			break
		}
	}
	return os.WriteFile(checkpoint, []byte(pass.Cursor()), 0o600)
}

// converse posts a comment, sees it arrive as everybody does who watches the
// workspace, and takes it back.
func converse(ctx context.Context, out io.Writer, client *fastio.Client, workspace api.Profile) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sub, err := client.Realtime.Subscribe(ctx, workspace, nil)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	hello := comments.CreateRequest{Body: "Hello from the quickstart."}
	posted, err := client.Comments.Create(ctx, comments.On(workspace), hello)
	if err != nil {
		return err
	}
	start := time.Now()
	for change, err := range sub.Changes() {
		if err != nil {
			return err
		}
		if change.Field.Name() != activity.NameComments && change.Resync == nil {
			continue
		}
		newest := &comments.ListOptions{NewestFirst: true, Limit: 20}
		latest, err := client.Comments.List(ctx, comments.On(workspace), newest)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(latest.Comments, func(c *comments.Comment) bool { return c.ID == posted.ID }) {
			fmt.Fprintf(out, "\nA comment arrived by %s, %v after it was posted.\n", sub.Status().Mode,
				time.Since(start).Round(time.Millisecond))
			break
		}
	}
	_, err = client.Comments.Delete(ctx, posted.ID)
	return err
}

// watch prints events as they happen.
func watch(ctx context.Context, out io.Writer, client *fastio.Client, query events.Query, d time.Duration) error {
	fmt.Fprintf(out, "\nFollowing live events for %v:\n", d)
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := client.Events.Follow(ctx, query, func(_ context.Context, e *events.Event) error {
		fmt.Fprintf(out, "  %s  %s\n", e.Created.Format(time.TimeOnly), e.Description)
		return nil
	}, &events.FollowOptions{Interval: 2 * time.Second})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // as planned
	}
	return err
}

// waits says why nothing seems to happen, once it takes a while.
func waits() api.Hooks {
	const noticeable = 3 * time.Second
	return api.Hooks{Wait: func(_ context.Context, w api.Wait) {
		if w.Wait >= noticeable {
			fmt.Fprintf(os.Stderr, "\n  waiting %v for room in the rate limit\n", w.Wait.Round(time.Second))
		}
	}}
}
