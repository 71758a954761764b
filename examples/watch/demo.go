package main

import (
	"fmt"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/fastio-go/fastio/fastiotest"
)

// demo is an emulator with one workspace, a colleague who works in it, and a network
// that fails now and then.
type demo struct {
	address, token string

	platform *fastiotest.Server
	server   *httptest.Server
	quit     chan struct{}
	live     sync.WaitGroup
}

func startDemo() *demo {
	p := fastiotest.New()
	room := p.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	grace := p.AddUser(fastiotest.User{FirstName: "Grace", LastName: "Hopper"})
	p.SetMember(room.ID, grace.ID, fastiotest.Member)
	d := &demo{platform: p, server: httptest.NewServer(p), token: p.Token(), quit: make(chan struct{})}
	d.address = d.server.URL
	d.live.Go(func() { d.act(room, grace) })
	return d
}

// act makes a change by the colleague every second; every tenth second it drops the
// sockets instead.
func (d *demo) act(room fastiotest.Workspace, colleague fastiotest.User) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := 1; ; i++ {
		select {
		case <-d.quit:
			return
		case <-tick.C:
		}
		switch {
		case i%10 == 0:
			d.platform.DropSockets(room.ID)
		case i%3 == 0:
			d.platform.AddComment(fastiotest.Comment{
				Profile: room.ID, User: colleague.ID,
				Body: fmt.Sprintf("Thought number %d.", i/3),
			})
		default:
			d.platform.AddEvent(fastiotest.Event{
				Name: "workspace_storage_file_updated", Workspace: room.ID, CallingUser: colleague.ID,
				ObjectName: "mill.pdf",
			})
		}
	}
}

func (d *demo) stop() {
	close(d.quit)
	d.live.Wait()
	_ = d.platform.Close()
	d.server.Close()
}
