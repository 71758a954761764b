package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/fastio-go/fastio/fastiotest"
)

// demo is an emulator with three workspaces and 100,000 events, to which it keeps
// adding.
type demo struct {
	address, token string

	platform *fastiotest.Server
	server   *httptest.Server
	quit     chan struct{}
	live     sync.WaitGroup
}

const (
	walkedEvents = 2_500
	otherEvents  = 97_500
)

func startDemo() *demo {
	p := fastiotest.New()
	design := p.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	p.Generate(fastiotest.History{Workspace: design.ID, Events: walkedEvents, Seed: 1})
	for i, name := range []string{"Research", "Sales"} {
		w := p.AddWorkspace(fastiotest.Workspace{Name: name})
		p.Generate(fastiotest.History{Workspace: w.ID, Events: otherEvents / 2, Seed: uint64(i) + 2})
	}
	d := &demo{platform: p, server: httptest.NewServer(p), token: p.Token(), quit: make(chan struct{})}
	d.address = d.server.URL
	d.live.Go(func() { d.add(design) })
	return d
}

// add adds an event twice a second.
func (d *demo) add(w fastiotest.Workspace) {
	names := []string{
		"workspace_storage_file_added", "comment_created", "workspace_storage_file_updated",
		"ai_chat_new_message",
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-d.quit:
			return
		case <-tick.C:
			d.platform.AddEvent(fastiotest.Event{
				Name: names[i%len(names)], Workspace: w.ID, CallingUser: d.platform.User().ID,
				ObjectName: fmt.Sprintf("draft-%d.pdf", i),
			})
		}
	}
}

// stop closes the emulator and prints its statistics.
func (d *demo) stop(out io.Writer) {
	close(d.quit)
	d.live.Wait()
	_ = d.platform.Close()
	d.server.Close()
	fmt.Fprintf(out, "\nThe emulator received %d requests and answered %d with 429.\n", len(d.platform.Requests()),
		d.platform.Refusals())
}
