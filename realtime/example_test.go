package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/realtime"
)

// startServer returns an emulator of the platform on a socket, and its client.
func startServer() (s *fastiotest.Server, client *fastio.Client, stop func()) {
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

// keepUpToDate calls list at the beginning and after missed changes, and refresh for
// each change.
func keepUpToDate(
	ctx context.Context, client *fastio.Client, workspace api.Profile, list func(), refresh func(activity.Field),
) error {
	sub, err := client.Realtime.Subscribe(ctx, workspace, nil)
	if err != nil {
		return err
	}
	defer sub.Close()
	list() // later changes are reported
	for change, err := range sub.Changes() {
		switch {
		case err != nil:
			return err
		case change.Resync != nil: // changes may have been missed
			list()
		default:
			refresh(change.Field)
		}
	}
	return nil
}

func Example() {
	s, client, stop := startServer()
	defer stop()
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	drawing := s.AddNode(seed.Node{Profile: w.ID, Name: "Mill.pdf"})
	ctx, cancel := context.WithCancel(context.Background())
	err := keepUpToDate(ctx, client, api.Workspace(api.ID(w.ID)), func() {
		fmt.Println("list everything")
		s.AddComment(seed.Comment{Profile: w.ID, Node: drawing.ID, User: s.User().ID, Body: "Is that brass?"})
	}, func(changed activity.Field) {
		if changed == activity.FieldOf(activity.NameComments, api.OpaqueID(drawing.ID).Plain()) {
			fmt.Println("read the comments on the drawing")
			cancel()
		}
	})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// list everything
	// read the comments on the drawing
	// true
}

// A Position continues a Subscription of an earlier run.
func ExampleSubscription_Position() {
	s, client, stop := startServer()
	defer stop()
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	ctx := context.Background()

	sub, err := client.Realtime.Subscribe(ctx, api.Workspace(api.ID(w.ID)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = sub.Close()
	saved := sub.Position() // keep it with what was fetched

	s.AddEvent(seed.Event{Name: "workspace_updated", Workspace: w.ID})

	sub, err = client.Realtime.Subscribe(ctx, api.Workspace(api.ID(w.ID)), &realtime.SubscribeOptions{Position: saved})
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
