package events_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// platform replaces the real server. It has a workspace with a history.
func platform() (client *fastio.Client, room api.ID) {
	s := fastiotest.New()
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	s.Generate(seed.History{Workspace: w.ID, Events: 300, From: day, To: day.Add(24 * time.Hour), Seed: 1})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		panic(err)
	}
	return client, api.ID(w.ID)
}

// Count the events of a workspace by kind.
func Example() {
	client, room := platform()
	ctx, kinds := context.Background(), map[events.SubCategory]int{}
	query := events.Query{Profile: api.Workspace(room), Category: events.CategoryWorkspace}
	for event, err := range client.Events.All(ctx, query) {
		if err != nil {
			log.Fatal(err)
		}
		kinds[event.SubCategory]++
	}
	fmt.Println(kinds)
	// Output:
	// map[comments:77 members:4 quickshare:4 settings:3 storage:67 transfer:4]
}

// Resume an interrupted export after a restart.
func ExampleService_Walk() {
	client, room := platform()
	ctx := context.Background()
	q := events.Query{Profile: api.Workspace(room)}

	walk := client.Events.Walk(q, "")
	exported := 0
	for _, err := range walk.Events(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		exported++
		if exported == 100 {
			break // the process is interrupted
		}
	}
	saved := walk.Cursor() // keep it with the export

	walk = client.Events.Walk(q, saved)
	for _, err := range walk.Events(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		exported++
	}
	fmt.Println(exported, "events exported")
	// Output:
	// 300 events exported
}

// Count uploads across restarts.
func ExampleService_Follow() {
	client, room := platform()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	uploads := 0
	err := client.Events.Follow(ctx, events.Query{
		Profile: api.Workspace(room),
		Event:   events.NameWorkspaceStorageFileAdded,
	}, func(_ context.Context, _ *events.Event) error {
		uploads++
		if uploads == 10 {
			stop() // enough for an example
		}
		return nil
	}, &events.FollowOptions{
		Store: new(events.MemoryStore), // use an events.FileStore in programs
		OnGap: func(_ context.Context, g events.Gap) error {
			fmt.Println("count again from", g.From)
			return nil
		},
	})
	fmt.Println(uploads, "uploads, stopped on request:", errors.Is(err, context.Canceled))
	// Output:
	// 10 uploads, stopped on request: true
}
