package journal_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/events/journal"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// A job that runs every night adds the events since its last run to a CSV file. Here the
// platform is an emulator, with two events.
func Example() {
	platform := fastiotest.New()
	design := platform.AddWorkspace(seed.Workspace{Name: "Design"}).ID
	for _, name := range []string{"workspace_created", "comment_created"} {
		platform.AddEvent(seed.Event{Name: name, Workspace: design, ObjectName: "mill.pdf"})
	}
	client, err := fastio.New(platform.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "events")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	path := filepath.Join(dir, "events.csv")
	query := events.Query{Profile: api.Workspace(api.ID(design))}
	o := &journal.Options{
		Header: []byte("category,event\n"),
		Format: journal.CSV(func(e *events.Event) []string { return []string{string(e.Category), string(e.Name)} }),
	}
	for range 2 {
		file, err := journal.Open(path, o)
		if err != nil {
			fmt.Println(err)
			return
		}
		err = file.Follow(ctx, client.Events, query, &events.FollowOptions{Until: time.Now()})
		fmt.Println(file.Rows(), "events", err)
		if err := file.Close(); err != nil {
			fmt.Println(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(string(content))
	// Output:
	// 2 events <nil>
	// 2 events <nil>
	// category,event
	// workspace,workspace_created
	// workspace,comment_created
}

// A file of JSON lines. Another run continues behind the last event.
func ExampleJournal_Follow() {
	platform := fastiotest.New()
	design := platform.AddWorkspace(seed.Workspace{Name: "Design"}).ID
	platform.AddEvent(seed.Event{Name: "comment_created", Workspace: design})
	client, err := fastio.New(platform.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "events")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	path := filepath.Join(dir, "events.jsonl")
	query := events.Query{Profile: api.Workspace(api.ID(design))}
	j, err := journal.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer j.Close()
	err = j.Follow(ctx, client.Events, query, &events.FollowOptions{Until: time.Now()})
	fmt.Println(j.Rows(), "event", err)
	// Output:
	// 1 event <nil>
}
