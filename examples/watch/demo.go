package main

import (
	"fmt"
	"io"
	"time"

	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// startDemo starts an emulator with one workspace, in which a colleague makes a change
// every second; every tenth second the sockets are dropped as well.
func startDemo(out io.Writer) *show.Emulator {
	p := fastiotest.New()
	work := colleague(p)
	demo := show.Emulate(out, "FASTIO_API_KEY=... go run ./examples/watch", p)
	fmt.Fprintln(out, "It cuts the connection every ten seconds on purpose.")
	demo.Every(time.Second, work)
	return demo
}

// colleague returns a function that does step n of a colleague in the emulator: every
// third step is a comment, the others change a file, and every tenth also breaks the
// sockets.
func colleague(p *fastiotest.Server) func(step int) {
	room := p.AddWorkspace(seed.Workspace{Name: "Design"})
	grace := p.AddUser(seed.User{FirstName: "Grace", LastName: "Hopper"})
	p.SetMember(room.ID, grace.ID, seed.Member)
	return func(step int) {
		if step%10 == 0 {
			p.DropSockets(room.ID)
		}
		if step%3 == 0 {
			thought := fmt.Sprintf("Thought number %d.", step/3)
			p.AddComment(seed.Comment{Profile: room.ID, User: grace.ID, Body: thought})
			return
		}
		p.AddEvent(seed.Event{
			Name: "workspace_storage_file_updated", Workspace: room.ID, CallingUser: grace.ID, ObjectName: "mill.pdf",
		})
	}
}
