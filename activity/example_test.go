package activity_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// Wait for a preview without polling it.
func Example() {
	s := fastiotest.New() // a fake of the platform
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	drawing := s.AddNode(fastiotest.Node{Profile: w.ID, Name: "Mill.pdf"})

	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	begun := false
	for report, err := range client.Activity.Watch(context.Background(), api.Workspace(w.ID), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if !begun { // no change is missed from here on
			begun = true
			s.AddEvent(fastiotest.Event{Name: "workspace_storage_file_updated", Workspace: w.ID, Object: drawing.ID})
			continue
		}
		for _, field := range slices.Sorted(maps.Keys(report.Activity)) {
			f := activity.Field(field)
			fmt.Println(f.Name(), f.ID() == drawing.ID.Plain())
		}
		break
	}
	// Output:
	// storage false
	// storage true
}
