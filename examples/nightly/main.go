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
	"os"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/examples/internal/show"
)

func main() {
	p := &program{out: os.Stdout}
	flag.StringVar((*string)(&p.workspace), "workspace", "", "the ID of the workspace; required with a key")
	flag.StringVar(&p.dir, "dir", ".", "the directory of the file and its checkpoint")
	flag.Parse()
	show.Main(p.start)
}

type program struct {
	out       io.Writer
	client    *fastio.Client
	workspace api.ID
	dir       string
	added     func(n int) // is called after each new event; may be nil
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
	if p.workspace == "" {
		return errors.New("set -workspace: the ID of the workspace")
	}
	return p.run(ctx)
}

// run appends the events since the last run. Follow delivers an event again if it was
// interrupted before it saved its checkpoint; the journal skips those that it has.
func (p *program) run(ctx context.Context) (err error) {
	journal, err := openJournal(filepath.Join(p.dir, "events.jsonl"))
	if err != nil {
		return err
	}
	journal.onAdd = p.added
	defer func() { err = errors.Join(err, journal.close()) }()
	query := events.Query{Profile: api.Workspace(p.workspace)}
	err = p.client.Events.Follow(ctx, query, journal.add, &events.FollowOptions{
		Store: checkpoints{events.FileStore(filepath.Join(p.dir, "checkpoints")), journal},
		Until: time.Now(),
		OnGap: func(_ context.Context, g events.Gap) error {
			fmt.Fprintf(p.out, "events from %v to %v may be missing: %s\n", g.From, g.To, g.Reason)
			return nil
		},
	})
	fmt.Fprintf(p.out, "%d events added, %d in all\n", journal.added, len(journal.known))
	return err
}
