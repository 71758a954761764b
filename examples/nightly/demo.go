package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
func demonstrate(ctx context.Context, out io.Writer) error {
	platform := fastiotest.New()
	workspace := platform.AddWorkspace(seed.Workspace{Name: "Design"}).ID
	before := time.Now().AddDate(0, 0, -1)
	platform.Generate(seed.History{Workspace: workspace, Events: 500, To: before, Seed: 1})
	demo := show.Emulate(out, "FASTIO_API_KEY=... go run ./examples/nightly -workspace ID", platform)
	defer demo.Stop()
	dir, err := os.MkdirTemp("", "nightly")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	client, err := demo.Connect(platform.Token())
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()

	fmt.Fprint(out, "\nA run that is interrupted: ")
	interrupted, interrupt := context.WithCancel(ctx)
	err = appendEvents(interrupted, client, out, api.ID(workspace), dir, &journal.Options{
		OnAdd: interruptAfter(100, interrupt),
	})
	if !errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Fprint(out, "The next run: ")
	if err := appendEvents(ctx, client, out, api.ID(workspace), dir, nil); err != nil {
		return err
	}
	for range 3 {
		platform.AddEvent(seed.Event{Name: "comment_created", Workspace: workspace})
	}
	fmt.Fprint(out, "A run after three more events: ")
	return appendEvents(ctx, client, out, api.ID(workspace), dir, nil)
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
