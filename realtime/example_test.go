package realtime_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/realtime"
)

// start returns what stands in for the platform, on a network of its own.
func start() (s *fastiotest.Server, client *fastio.Client, stop func()) {
	s = fastiotest.New()
	server := httptest.NewServer(s)
	client, err := fastio.New(fastio.WithBaseURL(server.URL), fastio.WithToken(s.Token()))
	if err != nil {
		panic(err)
	}
	return s, client, func() {
		_ = s.Close()
		client.CloseIdleConnections()
		server.Close()
	}
}

// A program shows what is in a workspace and keeps it up to date.
func Example() {
	s, client, stop := start()
	defer stop()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	drawing := s.AddNode(fastiotest.Node{Profile: w.ID, Name: "Mill.pdf"})

	sub, err := client.Realtime.Subscribe(context.Background(), api.Workspace(w.ID), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sub.Close() }()

	fmt.Println("list everything") // after Subscribe, so that nothing is missed in between
	s.AddComment(fastiotest.Comment{Profile: w.ID, Node: drawing.ID, User: s.User().ID, Body: "Is that brass?"})

	for change, err := range sub.Changes() {
		switch {
		case err != nil:
			fmt.Println(err)
			return
		case change.Resync != nil:
			fmt.Println("list everything again")
		case change.Field == activity.FieldOf(activity.NameComments, drawing.ID.Plain()):
			fmt.Println("read the comments on the drawing")
			return
		}
	}
	// Output:
	// list everything
	// read the comments on the drawing
}

// A program that was away learns what changed in the meantime.
func ExampleSubscription_Position() {
	s, client, stop := start()
	defer stop()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	ctx := context.Background()

	sub, err := client.Realtime.Subscribe(ctx, api.Workspace(w.ID), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = sub.Close()
	saved := sub.Position() // keep it with what was fetched

	s.AddEvent(fastiotest.Event{Name: "workspace_updated", Workspace: w.ID})

	sub, err = client.Realtime.Subscribe(ctx, api.Workspace(w.ID), &realtime.Options{Position: saved})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sub.Close() }()
	for change, err := range sub.Changes() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("changed:", change.Field)
		break
	}
	// Output:
	// changed: settings
}
