package fastiotest_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// report is the program under test: it counts what happened where.
func report(ctx context.Context, client *fastio.Client) (string, error) {
	var b strings.Builder
	for workspace, err := range client.Account.Workspaces.All(ctx, nil) {
		if err != nil {
			return "", err
		}
		n := 0
		for _, err := range client.Events.All(ctx, events.Query{Profile: api.Workspace(workspace.ID)}) {
			if err != nil {
				return "", err
			}
			n++
		}
		fmt.Fprintf(&b, "%s: %d\n", workspace.Name, n)
	}
	return b.String(), nil
}

// A program is tested against a Server, which has the platform's rules. Inside a
// test, client := s.Client(t) does what the options do here.
func Example() {
	s := fastiotest.New()
	design := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	s.AddWorkspace(fastiotest.Workspace{Name: "Empty"})
	for _, name := range []string{"mill.pdf", "store.pdf"} {
		s.AddEvent(fastiotest.Event{Name: "workspace_storage_file_added", Workspace: design.ID, ObjectName: name})
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

// A Server fails on request, for programs that must cope.
func ExampleServer_Fail() {
	s := fastiotest.New()
	s.Fail(fastiotest.Fault{Op: "account.Workspaces.List", Status: http.StatusForbidden, Text: "Not today."})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = report(context.Background(), client)
	fmt.Println(err)
	// Output: fastio: account.Workspaces.List: Not today. (status 403)
}

// What the platform answers is recorded once and replayed ever after. Here a
// Server plays the platform.
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

// Answers recorded earlier stand in for the platform. Inside a test, t goes
// where this example has a stand-in.
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

// noTest is what an example has for a test.
type noTest struct{ testing.TB }

func (noTest) Helper()        {}
func (noTest) Cleanup(func()) {}
