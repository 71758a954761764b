package activity_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// watch calls refresh for each field that changes.
func watch(
	ctx context.Context, client *fastio.Client, workspace api.Profile,
	save func(activity.Cursor), refresh func(activity.Field),
) error {
	for report, err := range client.Activity.Watch(ctx, workspace, nil) {
		if err != nil {
			return err
		}
		save(report.Cursor) // a later watch continues here
		for field := range report.Activity {
			refresh(activity.Field(field))
		}
	}
	return nil
}

func Example() {
	s := fastiotest.New() // a fake of the platform
	w := s.AddWorkspace(seed.Workspace{Name: "Design"})
	drawing := s.AddNode(seed.Node{Profile: w.ID, Name: "Mill.pdf"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var saved activity.Cursor
	save := func(c activity.Cursor) {
		if saved == "" { // the watch has begun: another user changes the file
			s.AddEvent(seed.Event{Name: "workspace_storage_file_updated", Workspace: w.ID, Object: drawing.ID})
		}
		saved = c
	}
	err = watch(ctx, client, api.Workspace(api.ID(w.ID)), save, func(f activity.Field) {
		if f == activity.FieldOf(activity.NameStorage, api.OpaqueID(drawing.ID).Plain()) {
			fmt.Println("the drawing has changed")
			stop()
		}
	})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// the drawing has changed
	// true
}
