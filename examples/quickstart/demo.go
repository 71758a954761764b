package main

import (
	"fmt"
	"io"
	"time"

	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

const (
	walkedEvents = 2_500
	otherEvents  = 97_500
)

// platform returns an emulator with three workspaces and 100,000 events, and the workspace
// whose log the tour reads.
func platform() (p *fastiotest.Server, design seed.Workspace) {
	p = fastiotest.New()
	design = p.AddWorkspace(seed.Workspace{Name: "Design"})
	p.Generate(seed.History{Workspace: design.ID, Events: walkedEvents, Seed: 1})
	for i, name := range []string{"Research", "Sales"} {
		w := p.AddWorkspace(seed.Workspace{Name: name})
		p.Generate(seed.History{Workspace: w.ID, Events: otherEvents / 2, Seed: uint64(i) + 2})
	}
	return p, design
}

// startDemo starts an emulator, to which it adds an event twice a second.
func startDemo(out io.Writer) *show.Emulator {
	p, design := platform()
	demo := show.Emulate(out, "FASTIO_API_KEY=... go run ./examples/quickstart", p)
	names := []string{
		"workspace_storage_file_added", "comment_created", "workspace_storage_file_updated", "ai_chat_new_message",
	}
	demo.Every(500*time.Millisecond, func(i int) {
		p.AddEvent(seed.Event{
			Name: names[i%len(names)], Workspace: design.ID, CallingUser: p.User().ID,
			ObjectName: fmt.Sprintf("draft-%d.pdf", i),
		})
	})
	return demo
}

// stop closes the emulator and prints its statistics.
func stop(out io.Writer, demo *show.Emulator) {
	demo.Stop()
	fmt.Fprintf(out, "\nThe emulator received %d requests and answered %d with 429.\n", len(demo.Requests()),
		demo.Refusals())
}
