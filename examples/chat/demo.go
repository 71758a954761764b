package main

import (
	"fmt"
	"io"
	"time"

	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// startDemo starts an emulator with a workspace.
func startDemo(out io.Writer) *show.Emulator {
	p := fastiotest.New(func(o *seed.Options) { o.AI.TurnPace = 120 * time.Millisecond })
	docks := p.AddWorkspace(seed.Workspace{Name: "Docks"})
	for _, file := range []struct{ name, content string }{
		{"Dock 4.txt", "The lease of Dock 4 ends on 31 May. The gates are of brass."},
		{"Dock 7.txt", "The lease of Dock 7 ends in the autumn of the year after. Its crane is new."},
	} {
		p.AddNode(seed.Node{Profile: docks.ID, Name: file.name, Content: file.content})
	}
	const plans = "# Plans\n\nWhen a lease ends, the dock is dredged."
	p.AddNode(seed.Node{Profile: docks.ID, Kind: "note", Name: "Plans.md", Content: plans})
	demo := show.Emulate(out, "FASTIO_API_KEY=... go run ./examples/chat", p)
	fmt.Fprint(out, "Ask it about the lease of a dock.\n\n")
	return demo
}
