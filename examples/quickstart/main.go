// Quickstart is a small backend job: it lists the workspaces, walks the event log of
// one, is interrupted and resumed, prints a summary, sees its own comment arrive, and
// then follows new events.
//
//	go run ./examples/quickstart
//
// Without configuration it runs against its own emulator, on a socket.
// With FASTIO_API_KEY set, and FASTIO_BASE_URL if need be, it runs against the
// real service, where it posts a comment in the first workspace and deletes it again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/workspaces"
)

func main() {
	follow := flag.Duration("follow", 6*time.Second, "how long to follow live events")
	flag.Parse()
	p := &program{out: os.Stdout, screen: os.Stderr}
	quiet := context.Canceled // after Ctrl-C: it is not printed as a failure
	show.Main(func(ctx context.Context) error { return p.start(ctx, *follow) }, quiet)
}

type program struct {
	out, screen io.Writer // screen gets the progress
	client      *fastio.Client
}

// start runs the tour with the token of the environment or, without one, on an
// emulator.
func (p *program) start(ctx context.Context, follow time.Duration) error {
	var err error
	p.client, err = fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		demo := startDemo(p.out)
		defer stop(p.out, demo)
		p.client, err = demo.Connect(demo.Token())
	}
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	return p.run(ctx, follow)
}

// run reads the event log of the first workspace and prints a report of it, posts a
// comment, and follows the events that come after those of the report.
func (p *program) run(ctx context.Context, follow time.Duration) error {
	workspace, err := p.choose(ctx)
	if err != nil {
		return err
	}
	names, err := show.Names(ctx, p.client, workspace.ID)
	if err != nil {
		return err
	}
	query := events.Query{Profile: api.Workspace(workspace.ID)}
	r := newReport(names)
	if err := p.walk(ctx, query, r); err != nil {
		return err
	}
	r.print(p.out, workspace.Name)
	if err := p.converse(ctx, query.Profile); err != nil {
		return err
	}
	query.CreatedMin = r.newest
	return p.follow(ctx, query, follow)
}

// choose lists the workspaces and returns the first.
func (p *program) choose(ctx context.Context) (*workspaces.Workspace, error) {
	me, err := p.client.Account.Me(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(p.out, "\nSigned in as %s %s. Workspaces:\n", me.FirstName, me.LastName)
	var first *workspaces.Workspace
	for w, err := range p.client.Workspaces.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(p.out, "  %-24s %s\n", w.Name, w.ID)
		if first == nil {
			first = w
		}
	}
	if first == nil {
		return nil, errors.New("the user has no workspace")
	}
	return first, nil
}

// interruptAt is the event at which the first half of the walk ends.
const interruptAt = 1100

// walk reads the whole log. It stops once, like a job that is restarted, and resumes
// from the saved cursor.
func (p *program) walk(ctx context.Context, query events.Query, r *report) error {
	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	checkpoint := filepath.Join(dir, "cursor")

	fmt.Fprintln(p.out, "\nWalking the event log:")
	if err := p.walkSome(ctx, query, checkpoint, r, interruptAt); err != nil {
		return err
	}
	if r.total < interruptAt {
		return nil
	}
	fmt.Fprintf(p.out, "  interrupted after %d events; resuming from the checkpoint\n", r.total)
	const toTheEnd = 0
	return p.walkSome(ctx, query, checkpoint, r, toTheEnd)
}

// walkSome resumes from the checkpoint, until the log ends or the report has limit
// events; 0 means no limit.
func (p *program) walkSome(ctx context.Context, query events.Query, checkpoint string, r *report, limit int) error {
	saved, err := os.ReadFile(checkpoint)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	bar := show.Count(p.screen, "read", "events", int64(r.total))
	defer bar.End()
	pass := p.client.Events.Walk(query, string(saved))
	for event, err := range pass.Events(ctx) {
		if err != nil {
			return err
		}
		r.add(event)
		bar.Set(int64(r.total), -1)      // the length of the log is not known
		limitReached := r.total == limit // never if limit is 0, as r has an event here
		if limitReached {
			break
		}
	}
	return os.WriteFile(checkpoint, []byte(pass.Cursor()), 0o600)
}

// converse posts a comment, waits until it arrives, and deletes it, also when ctx is done.
// The subscription reports that comments have changed, but not which. So converse then lists
// the newest ones and looks for its own.
func (p *program) converse(ctx context.Context, workspace api.Profile) (err error) {
	const limit = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	sub, err := p.client.Realtime.Subscribe(ctx, workspace, nil)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	hello := comments.CreateRequest{Body: "Hello from the quickstart."}
	posted, err := p.client.Comments.Create(ctx, comments.On(workspace), hello)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		_, deleted := p.client.Comments.Delete(ctx, posted.ID)
		err = errors.Join(err, deleted)
	}()
	start := time.Now()
	for change, err := range sub.Changes() {
		if err != nil {
			return err
		}
		changed := change.Field.Name() == activity.NameComments
		mayHaveChanged := change.Resync != nil // changes were missed
		if !changed && !mayHaveChanged {
			continue
		}
		newest := &comments.ListOptions{NewestFirst: true, Limit: 20}
		latest, err := p.client.Comments.List(ctx, comments.On(workspace), newest)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(latest.Comments, func(c *comments.Comment) bool { return c.ID == posted.ID }) {
			fmt.Fprintf(p.out, "\nA comment arrived by %s, %v after it was posted.\n", sub.Status().Mode,
				time.Since(start).Round(time.Millisecond))
			break
		}
	}
	return nil
}

// follow prints events as they happen.
func (p *program) follow(ctx context.Context, query events.Query, d time.Duration) error {
	fmt.Fprintf(p.out, "\nFollowing live events for %v:\n", d)
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := p.client.Events.Follow(ctx, query, func(_ context.Context, e *events.Event) error {
		fmt.Fprintf(p.out, "  %s  %s\n", e.Created.Format(time.TimeOnly), e.Description)
		return nil
	}, &events.FollowOptions{Interval: 2 * time.Second})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // as planned
	}
	return err
}
