package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fastio-go/fastio/api"
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
	p.client, err = demo.Connect(platform.Token())
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()

	fmt.Fprint(p.out, "\nA run that is interrupted: ")
	interrupted, interrupt := context.WithCancel(ctx)
	p.added = func(n int) {
		if n == 100 {
			interrupt()
		}
	}
	if err := p.run(interrupted); !errors.Is(err, context.Canceled) {
		return err
	}
	p.added = nil
	fmt.Fprint(p.out, "The next run: ")
	if err := p.run(ctx); err != nil {
		return err
	}
	for range 3 {
		platform.AddEvent(seed.Event{Name: "comment_created", Workspace: string(p.workspace)})
	}
	fmt.Fprint(p.out, "A run after three more events: ")
	return p.run(ctx)
}
