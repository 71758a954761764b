// Nightly appends the events of a workspace to a file, one line of JSON each. A
// scheduler such as cron runs it every night:
//
//	go run ./examples/nightly -dir /var/lib/acme -workspace ID
//
// Each run adds the events since the last one and ends. A run may be killed at any
// moment: the next one completes the file, with each event once.
//
// Without configuration it makes three runs against an emulator of its own, on a socket.
// With FASTIO_API_KEY set, and FASTIO_BASE_URL if need be, it makes one run against the
// real service.
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
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/events/journal"
	"github.com/fastio-go/fastio/examples/internal/show"
)

func main() {
	p := &program{out: os.Stdout}
	flag.StringVar((*string)(&p.workspace), "workspace", "", "the ID of the workspace; required with a key")
	flag.StringVar(&p.dir, "dir", ".", "the directory of the file")
	flag.Parse()
	show.Main(p.start)
}

type program struct {
	out       io.Writer
	workspace api.ID
	dir       string
}

func (p *program) start(ctx context.Context) error {
	client, err := fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		return p.demonstrate(ctx)
	}
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	if p.workspace == "" {
		return errors.New("set -workspace: the ID of the workspace")
	}
	return p.run(ctx, client, nil)
}

// run appends the events since the last run.
func (p *program) run(ctx context.Context, client *fastio.Client, o *journal.Options) (err error) {
	file, err := journal.Open(filepath.Join(p.dir, "events.jsonl"), o) //nolint:contextcheck // the files are local
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	before := file.Rows()
	err = file.Follow(ctx, client.Events, events.Query{Profile: api.Workspace(p.workspace)}, &events.FollowOptions{
		Until: time.Now(),
		OnGap: func(_ context.Context, g events.Gap) error {
			fmt.Fprintf(p.out, "events from %v to %v may be missing: %s\n", g.From, g.To, g.Reason)
			return nil
		},
	})
	fmt.Fprintf(p.out, "%d events added, %d in all\n", file.Rows()-before, file.Rows())
	return err
}
