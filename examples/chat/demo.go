package main

import (
	"net/http/httptest"
	"time"

	"github.com/fastio-go/fastio/fastiotest"
)

// demo is an emulator with a workspace.
type demo struct {
	platform *fastiotest.Server
	server   *httptest.Server
}

func startDemo() *demo {
	p := fastiotest.New(func(o *fastiotest.Options) { o.AI.TurnPace = 120 * time.Millisecond })
	docks := p.AddWorkspace(fastiotest.Workspace{Name: "Docks"})
	for _, file := range [][2]string{
		{"Dock 4.txt", "The lease of Dock 4 ends on 31 May. The gates are of brass."},
		{"Dock 7.txt", "The lease of Dock 7 ends in the autumn of the year after. Its crane is new."},
	} {
		p.AddNode(fastiotest.Node{Profile: docks.ID, Name: file[0], Content: file[1]})
	}
	p.AddNode(fastiotest.Node{
		Profile: docks.ID, Kind: "note", Name: "Plans.md",
		Content: "# Plans\n\nWhen a lease ends, the dock is dredged.",
	})
	return &demo{p, httptest.NewServer(p)}
}
