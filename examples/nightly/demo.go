package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/events/journal"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// demonstrate makes three runs against an emulator: one that is interrupted, one that
// completes the file, and one after more events.
func (p *program) demonstrate(ctx context.Context) error {
	platform := fastiotest.New()
	p.workspace = api.ID(platform.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
	before := time.Now().AddDate(0, 0, -1)
	platform.Generate(seed.History{Workspace: string(p.workspace), Events: 500, To: before, Seed: 1})
	demo := show.Emulate(p.out, "FASTIO_API_KEY", platform)
	defer demo.Stop()
	var err error
	p.dir, err = os.MkdirTemp("", "nightly")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(p.dir) }()
	client, err := demo.Connect(platform.Token())
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()

	fmt.Fprint(p.out, "\nA run that is interrupted: ")
	interrupted, interrupt := context.WithCancel(ctx)
	err = p.run(interrupted, client, &journal.Options{OnAdd: interruptAfter(100, interrupt)})
	if !errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Fprint(p.out, "The next run: ")
	if err := p.run(ctx, client, nil); err != nil {
		return err
	}
	for range 3 {
		platform.AddEvent(seed.Event{Name: "comment_created", Workspace: string(p.workspace)})
	}
	fmt.Fprint(p.out, "A run after three more events: ")
	return p.run(ctx, client, nil)
}

// interruptAfter returns a callback that calls interrupt for the nth new event.
func interruptAfter(n int, interrupt func()) func(context.Context, *events.Event) {
	return func(context.Context, *events.Event) {
		n--
		if n == 0 {
			interrupt()
		}
	}
}
