package fastiotest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/workspaces"
)

// Outside of a test, ClientOptions takes the place of Client.
func Example() {
	s := fastiotest.New()
	design := s.AddWorkspace(seed.Workspace{Name: "Design"})
	s.AddWorkspace(seed.Workspace{Name: "Empty"})
	for _, name := range []string{"mill.pdf", "store.pdf"} {
		s.AddEvent(seed.Event{Name: "workspace_storage_file_added", Workspace: design.ID, ObjectName: name})
	}
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := report(context.Background(), client)
	fmt.Print(text)
	fmt.Println(err, len(s.Requests()), "requests")
	// Output:
	// Design: 2
	// Empty: 0
	// <nil> 3 requests
}

// GenerateWorld fills a Server with an organization whose parts agree with each other.
func ExampleServer_GenerateWorld() {
	s := fastiotest.New()
	world := s.GenerateWorld(seed.World{Size: seed.Small, Number: 7})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, project := context.Background(), world.Workspaces[1]
	in := api.Workspace(api.ID(project.ID))
	found, err := client.Search.Files(ctx, in, search.Query{Text: "who prints it, and on which material?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(world.Nodes), "files and folders;", project.Name)
	fmt.Println(found.Hits[0].Name)
	// Output:
	// 50 files and folders; Tamberlin Spices
	// Print specification.pdf
}

// A Server injects failures.
func ExampleServer_Fail() {
	s := fastiotest.New()
	s.Fail(seed.Fault{Op: op.WorkspacesList, Status: http.StatusForbidden, Text: "Not today."})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = report(context.Background(), client)
	fmt.Println(err)
	// Output: fastio: workspaces.List: Not today. (status 403)
}

// A Server may differ from what the SDK believes.
func ExampleServer_Disagree() {
	s := fastiotest.New()
	s.AddWorkspace(seed.Workspace{Name: "Design"})
	s.Disagree(seed.Disagreement{Op: op.WorkspacesList, Edits: []string{"mv /workspaces/*/name /workspaces/*/title"}})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := client.Workspaces.List(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	first := page.Workspaces[0]
	fmt.Printf("%q %s\n", first.Name, first.Extra["title"])
	// Output: "" "Design"
}

// Responses are recorded once, without secrets. Here a Server stands in for the
// platform.
func ExampleRecord() {
	dir, err := os.MkdirTemp("", "fixtures")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	s := fastiotest.New()
	recorded := &http.Client{Transport: fastiotest.Record(dir, s)}
	client, err := fastio.New(append(s.ClientOptions(), fastio.WithHTTPClient(recorded))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := client.Account.Me(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	names, err := fs.Glob(os.DirFS(dir), "*")
	fmt.Println(names, err)
	// Output: [account.Me.json] <nil>
}

// Recorded responses replace the platform. A test passes its t.
func ExampleReplay() {
	var t testing.TB = noTest{}
	client, err := fastio.New(fastiotest.Replay(t, "testdata/app")...)
	if err != nil {
		fmt.Println(err)
		return
	}
	me, err := client.Account.Me(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(me.FirstName, me.LastName)
	// Output: Ada Lovelace
}

// noTest replaces the test that an example does not have.
type noTest struct{ testing.TB }

func (noTest) Helper()        {}
func (noTest) Cleanup(func()) {}

// What takes time on the platform happens at once when its clock is advanced.
func ExampleClock_Advance() {
	s := fastiotest.New()
	s.Clock.Freeze(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	design := s.AddWorkspace(seed.Workspace{Name: "Design"})
	plan := s.AddNode(seed.Node{Profile: design.ID, Name: "plan.md", Content: "Two looms.", AIState: "pending"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, in := context.Background(), api.Workspace(api.ID(design.ID))
	for range 3 {
		node, err := client.Storage.Get(ctx, in, api.OpaqueID(plan.ID))
		if err != nil {
			fmt.Println(err)
			return
		}
		now := s.Clock.Now()
		fmt.Println(now.Format(time.TimeOnly), node.AI.State)
		s.Clock.Advance(4 * time.Second)
	}
	s.Clock.Unfreeze()
	// Output:
	// 12:00:00 pending
	// 12:00:04 ready
	// 12:00:08 indexed
}

// A snapshot takes the state to another Server, and Reset returns to it.
func ExampleServer_Snapshot() {
	first, second := fastiotest.New(), fastiotest.New()
	first.AddWorkspace(seed.Workspace{Name: "Design"})
	var file bytes.Buffer
	err := first.Snapshot(&file)
	if err == nil {
		err = second.Restore(&file)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := fastio.New(second.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	second.AddWorkspace(seed.Workspace{Name: "Sales"})
	for range 2 {
		text, err := report(context.Background(), client)
		fmt.Print(text)
		fmt.Println(err, second.Reset())
	}
	// Output:
	// Design: 0
	// Sales: 0
	// <nil> <nil>
	// Design: 0
	// <nil> <nil>
}

// fake is an [api.Client] whose responses are those of a function.
type fake func(r *api.Request, out any) error

func (f fake) Call(_ context.Context, r *api.Request, out any, _ ...api.CallOption) error {
	return f(r, out)
}

func (f fake) Open(context.Context, *api.Request, ...api.CallOption) (*http.Response, error) {
	return nil, errors.ErrUnsupported // of downloads and streams
}

// Without an emulator, a Service calls a function of the test.
func Example_withoutEmulator() {
	service := workspaces.New(fake(func(_ *api.Request, out any) error {
		return json.Unmarshal([]byte(`{"workspaces": [{"id": "1", "name": "Odd, 2026"}]}`), out)
	}))
	page, err := service.List(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Workspaces[0].Name)
	// Output: Odd, 2026
}
