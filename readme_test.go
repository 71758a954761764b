package fastio_test

import (
	"context"
	"errors"
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/members"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/uploads"
)

// Every Go snippet of the README and the pages in docs is in a file that is compiled and run.
// Those with a title are written from their source by internal/pages.
func TestSnippetsOfThePagesAreCompiled(t *testing.T) {
	t.Parallel()
	var compiled []string
	for _, file := range []string{
		"example_test.go", "readme_test.go", "fastiotest/example_test.go", "examples/hello/main.go",
		"events/journal/example_test.go", "keyring/example_test.go", "oauth/example_desktop_test.go",
		"relay/example_test.go", "fastiotest/control_test.go",
	} {
		compiled = append(compiled, unindented(readFile(t, file)))
	}
	var snippets []string
	for _, page := range pages(t) {
		snippets = append(snippets, strings.Split(readFile(t, page), "```go\n")[1:]...)
	}
	const fewest = 8
	if len(snippets) < fewest {
		t.Fatalf("found %d snippets, want %d or more", len(snippets), fewest)
	}
	for _, s := range snippets {
		s, _, _ = strings.Cut(s, "```")
		found := false
		for _, c := range compiled {
			found = found || strings.Contains(c, unindented(s))
		}
		if !found {
			t.Errorf("this snippet is compiled nowhere:\n%s", s)
		}
	}
}

// pages returns the README and the pages in docs.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// Every link of the pages to a file, and to a heading of a page, has a target.
func TestLinksOfThePages(t *testing.T) {
	t.Parallel()
	link, code := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`), regexp.MustCompile("(?ms)^```.*?^```|^    .*?$")
	checked := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(readFile(t, page), ""), -1) {
			checked++
			target := filepath.Join(filepath.Dir(page), m[1])
			if m[1] == "" {
				target = page
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if m[2] != "" && !slices.Contains(headings(readFile(t, target)), m[2]) {
				t.Errorf("%s: %s has no heading %q", page, target, m[2])
			}
		}
	}
	if checked < 50 {
		t.Errorf("found %d links", checked)
	}
}

// headings returns the headings of a page as they are in links.
func headings(page string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

// The comment of every public package begins with its purpose and an example, which
// an example of the package compiles.
func TestPackageCommentsBeginWithAnExample(t *testing.T) {
	t.Parallel()
	const packages = 36
	private := []string{"internal", "examples", "tools", "gen", "testdata", ".bin", ".git"}
	found := 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(private, filepath.Base(name)):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		if checkPackageComment(t, name) {
			found++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found != packages {
		t.Errorf("found %d public packages, want %d", found, packages)
	}
}

// checkPackageComment checks the package comment of a file, if it has one, which it
// reports.
func checkPackageComment(t *testing.T, name string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if file.Doc.Text() == "" {
		return false
	}
	content := new(comment.Parser).Parse(file.Doc.Text()).Content
	kind, of := "Package", file.Name.Name
	if of == "main" {
		kind, of = "Command", filepath.Base(filepath.Dir(name))
	}
	if !strings.HasPrefix(file.Doc.Text(), kind+" "+of+" ") {
		t.Errorf("%s: the comment does not begin with its name", name)
	}
	code, ok := content[1].(*comment.Code)
	if !ok {
		t.Errorf("%s: the second paragraph is no example", name)
		return true
	}
	compiled := filepath.Join(filepath.Dir(name), "example_test.go")
	switch of {
	case "fastio":
		compiled = "examples/hello/main.go"
	case "oauth":
		compiled = "oauth/example_desktop_test.go"
	case "fastiotest":
		compiled = "examples/guides/testing/main_test.go"
	}
	if kind == "Package" && !strings.Contains(unindented(readFile(t, compiled)), unindented(code.Text)) {
		t.Errorf("%s: %s does not have the example:\n%s", name, compiled, code.Text)
	}
	return true
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// unindented removes the indentation of each line.
func unindented(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}

// must returns the value of a call that must not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// office returns a fake of the platform with some data.
func office() (server *fastiotest.Server, design seed.Workspace) {
	server = fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = -1 })
	design = server.AddWorkspace(seed.Workspace{Name: "Design", FolderName: "design"})
	for _, name := range []string{"workspace_storage_file_added", "comment_created", "workspace_storage_file_updated"} {
		server.AddEvent(seed.Event{
			Name: name, Workspace: design.ID, CallingUser: server.User().ID, ObjectName: "mill.pdf",
		})
	}
	return server, design
}

// A client has configurable limits on waiting, and reports its waits.
func Example_patience() {
	server, design := office()
	server.Fail(seed.Fault{Op: "events.Search", Count: 1, Status: 503})
	client, err := fastio.New(append(server.ClientOptions(),
		fastio.WithMaxWait(5*time.Second),
		fastio.WithRetry(fastio.RetryPolicy{Attempts: 5, Base: time.Millisecond}),
		fastio.WithHooks(api.Hooks{
			OnWait: func(_ context.Context, w api.WaitEvent) { fmt.Println(w.Op, "waits:", w.Reason) },
		}),
	)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	page := must(client.Events.Search(context.Background(), events.Query{Profile: api.Workspace(api.ID(design.ID))}))
	fmt.Println(len(page.Events), "events")
	// Output:
	// events.Search waits: backoff
	// 3 events
}

// Options of a call override those of the client.
func Example_options() {
	server, design := office()
	client := must(fastio.New(server.ClientOptions()...))
	ctx, query := context.Background(), events.Query{Profile: api.Workspace(api.ID(design.ID))}
	page, err := client.Events.Search(ctx, query, api.WithOutput(api.Terse), api.WithTimeout(5*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %q\n", page.Events[0].Name, page.Events[0].Description)
	// Output: workspace_storage_file_added ""
}

func Example_lists() {
	server, _ := office()
	server.AddWorkspace(seed.Workspace{Name: "Research"})
	client := must(fastio.New(server.ClientOptions()...))
	list := func(ctx context.Context) error {
		for workspace, err := range client.Workspaces.All(ctx, nil) {
			if err != nil {
				return err
			}
			fmt.Println(workspace.Name)
		}
		return nil
	}
	fmt.Println(list(context.Background()))
	// Output:
	// Design
	// Research
	// <nil>
}

// A walk resumes at its saved cursor: the second run finds the new event.
func Example_walk() {
	server, design := office()
	client := must(fastio.New(server.ClientOptions()...))
	query, saved := events.Query{Profile: api.Workspace(api.ID(design.ID))}, ""
	run := func(ctx context.Context) error {
		walk := client.Events.Walk(query, saved)
		for event, err := range walk.Events(ctx) {
			if err != nil {
				return err
			}
			fmt.Println(event.Name)
			saved = walk.Cursor() // keep it somewhere safe
		}
		saved = walk.Cursor() // of the finished walk
		return nil
	}
	fmt.Println(run(context.Background()))
	server.AddEvent(seed.Event{Name: "workspace_updated", Workspace: design.ID})
	fmt.Println(run(context.Background()))
	// Output:
	// workspace_storage_file_added
	// comment_created
	// workspace_storage_file_updated
	// <nil>
	// workspace_updated
	// <nil>
}

func Example_follow() {
	server, design := office()
	client := must(fastio.New(server.ClientOptions()...))
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(context.Background())
	left := 3
	index := func(_ context.Context, e *events.Event) error {
		fmt.Println(e.Name)
		left--
		if left == 0 {
			stop() // an example has to end
		}
		return nil
	}
	fmt.Println(errors.Is(follow(ctx, client, api.ID(design.ID), index, dir), context.Canceled))
	// Output:
	// workspace_storage_file_added
	// comment_created
	// workspace_storage_file_updated
	// true
}

// follow calls index with each event of a workspace, and keeps its checkpoint in a folder.
func follow(
	ctx context.Context, client *fastio.Client, workspace api.ID,
	index func(context.Context, *events.Event) error, dir string,
) error {
	query := events.Query{Profile: api.Workspace(workspace)}
	handle := func(ctx context.Context, event *events.Event) error {
		return index(ctx, event) // after an error, the next run gets this event again
	}
	store := events.FileStore(dir)
	return client.Events.Follow(ctx, query, handle, &events.FollowOptions{Store: store})
}

// A program lists events although the server fails twice.
func TestProgramSurvivesServerErrors(t *testing.T) {
	t.Parallel()
	server := fastiotest.New()
	design := server.AddWorkspace(seed.Workspace{Name: "Design"})
	server.Generate(seed.History{Workspace: design.ID, Events: 500})
	server.Fail(seed.Fault{Op: op.EventsSearch, Count: 2, Status: 503})
	client := server.Client(t)

	n := 0
	for _, err := range client.Events.All(t.Context(), events.Query{Profile: api.Workspace(api.ID(design.ID))}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Error("no events after the failures")
	}
}

// A comment is printed, and the change that it is.
func TestReadmeShowsChanges(t *testing.T) { //nolint:paralleltest // it replaces stdout
	screen, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = screen
	defer func() { os.Stdout = stdout }()
	synctest.Test(t, func(t *testing.T) {
		server, design := office()
		client := server.Client(t, fastio.WithHTTPClient(server.StartInMemory(t)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var both sync.WaitGroup
		for _, show := range []func(context.Context, *fastio.Client, api.Profile) error{see, hear} {
			both.Go(func() {
				if err := show(ctx, client, api.Workspace(api.ID(design.ID))); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		time.Sleep(10 * time.Second)
		server.AddComment(seed.Comment{Profile: design.ID, User: server.User().ID, Body: "Is that brass?"})
		both.Wait()
	})
	if err := screen.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "changed: comments missed: false\nIs that brass?\n"
	if got := readFile(t, screen.Name()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func hear(ctx context.Context, client *fastio.Client, workspace api.Profile) error {
	for comment, err := range client.Comments.Watch(ctx, comments.On(workspace), nil) {
		if err != nil {
			return err
		}
		fmt.Println(comments.PlainText(comment.Body))
	}
	return nil
}

func see(ctx context.Context, client *fastio.Client, workspace api.Profile) error {
	sub, err := client.Realtime.Subscribe(ctx, workspace, nil)
	if err != nil {
		return err
	}
	defer sub.Close()
	for change, err := range sub.Changes() {
		if err != nil {
			return err
		}
		fmt.Println("changed:", change.Field, "missed:", change.Resync != nil)
	}
	return nil
}

// The agent answers from the files of a workspace.
func Example_agent() {
	server := fastiotest.New()
	docks := server.AddWorkspace(seed.Workspace{Name: "Docks"})
	server.AddNode(seed.Node{
		Profile: docks.ID, Name: "lease.txt", Content: "The lease of Dock 4 ends on 31 May.",
	})
	client := must(fastio.New(server.ClientOptions()...))
	ctx, workspace := context.Background(), api.Workspace(api.ID(docks.ID))
	ask := func() error {
		turn, err := client.AI.Ask(ctx, workspace, ai.Question{Text: "When does the lease end?"}, nil)
		if err != nil {
			return err
		}
		fmt.Println(turn.Answer)
		return nil
	}
	if err := ask(); err != nil {
		fmt.Println(err)
	}

	// Output:
	// From the files of Docks:
	//
	// The lease of Dock 4 ends on 31 May. [1]
}

// Files are found by their words, and their facts are read.
func Example_search() {
	server, design := office()
	for _, name := range []string{"invoice 7.txt", "plan.txt"} {
		node := server.AddNode(seed.Node{Profile: design.ID, Name: name, Content: "About a mill of brass."})
		if err := server.AddFact(seed.Fact{Node: node.ID, Field: "total", Value: 1250.5}); err != nil {
			fmt.Println(err)
		}
	}
	client := must(fastio.New(server.ClientOptions()...))
	ctx, workspace := context.Background(), api.ID(design.ID)
	totals := func() error {
		result, err := client.Search.Files(ctx, api.Workspace(workspace), search.Query{Text: "invoice"})
		if err != nil {
			return err
		}
		for _, hit := range result.Hits {
			facts, err := client.Metadata.Facts.Get(ctx, workspace, hit.ID)
			if err != nil {
				return err
			}
			if total := facts.Fact("total"); total != nil {
				fmt.Printf("%s: %s, by %s\n", hit.Name, total.Value, total.Source)
			}
		}
		return nil
	}
	fmt.Println(totals())
	// Output:
	// invoice 7.txt: 1250.5, by ai
	// <nil>
}

// A guest is invited to a portal, which is then deleted.
func Example_portal() {
	server, design := office()
	client := must(fastio.New(server.ClientOptions()...))
	ctx, workspace := context.Background(), api.ID(design.ID)
	invite := func() error {
		portal, err := client.Shares.Create(ctx, workspace, shares.CreateRequest{
			Title: "Q4 pack", CustomName: "q4pack", Expires: time.Now().AddDate(0, 1, 0),
		})
		if err != nil {
			return err
		}
		_, err = client.Members.Add(ctx, api.Share(portal.ID), "bo@example.com",
			members.AddRequest{Role: members.RoleGuest})
		if err != nil {
			return err
		}
		fmt.Println(portal.URL())
		return client.Shares.Delete(ctx, portal.ID)
	}
	fmt.Println(invite())
	fmt.Println(len(server.Mails("bo@example.com")), "mail")
	// Output:
	// https://go.fast.io/shared/q4pack
	// <nil>
	// 1 mail
}

// A guest downloads a shared file and uploads a change.
func Example_fileShare() {
	server, design := office()
	file := api.OpaqueID(server.AddNode(seed.Node{Profile: design.ID, Name: "plan.txt", Content: "A mill of brass."}).ID)
	bo := server.AddUser(seed.User{Email: "bo@example.com"})
	client := must(fastio.New(server.ClientOptions()...))
	key := server.AddKey(seed.Key{User: bo.ID})
	guest := must(fastio.New(append(server.ClientOptions(), fastio.WithToken(key.Token))...))
	dir := must(os.MkdirTemp("", "shared"))
	defer func() { _ = os.RemoveAll(dir) }()
	mine, theirs := filepath.Join(dir, "plan.txt"), filepath.Join(dir, "copy.txt")
	ctx, password := context.Background(), api.NewSecret("correct horse")
	link := must(share(ctx, client, api.ID(design.ID), file, password))
	fmt.Println(edit(ctx, guest, link.ID, password, mine, func() error {
		return os.WriteFile(mine, []byte("A mill of iron."), 0o600)
	}))
	err := edit(ctx, guest, link.ID, password, mine, func() error { // another user is faster
		return edit(ctx, guest, link.ID, password, theirs, func() error {
			return os.WriteFile(theirs, []byte("A mill of steel."), 0o600)
		})
	})
	fmt.Println(errors.Is(err, api.ErrConflict))
	// Output:
	// <nil>
	// true
}

func share(
	ctx context.Context, client *fastio.Client, workspace api.ID, file api.OpaqueID, password api.Secret,
) (*fileshares.FileShare, error) {
	link, err := client.FileShares.Create(ctx, workspace, fileshares.CreateRequest{
		NodeID: file, Password: password,
	})
	if err != nil {
		return nil, err
	}
	_, err = client.FileShares.Grants.Set(ctx, link.ID, "bo@example.com", fileshares.CapabilityEdit)
	return link, err
}

func edit(
	ctx context.Context, guest *fastio.Client, link api.ID, password api.Secret, path string, work func() error,
) error {
	unlock := api.WithLinkPassword(password)
	got, err := guest.FileShares.DownloadFile(ctx, link, path, nil, unlock)
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err = guest.FileShares.ReplaceFile(ctx, link, path, fileshares.ReplaceRequest{IfVersion: got.Version}, unlock)
	return err
}

// A program uploads a file and a folder, renames the file and replaces it.
func Example_files() {
	server, design := office()
	client := must(fastio.New(server.ClientOptions()...))
	ctx, dir := context.Background(), must(os.MkdirTemp("", "files"))
	defer func() { _ = os.RemoveAll(dir) }()
	path, photos := filepath.Join(dir, "mill.txt"), filepath.Join(dir, "photos")
	fmt.Println(errors.Join(
		os.WriteFile(path, []byte("A mill."), 0o600),
		os.Mkdir(photos, 0o700),
		os.WriteFile(filepath.Join(photos, "wheel.jpg"), []byte("a wheel"), 0o600),
	))
	fmt.Println(files(ctx, client, api.ID(design.ID), path, dir, photos))
	for e, err := range client.Storage.Walk(ctx, api.Workspace(api.ID(design.ID)), api.Root, nil) {
		fmt.Println(e.Path, err)
	}
	// Output:
	// <nil>
	// <nil>
	// 2026 <nil>
	// photos <nil>
	// 2026/plans <nil>
	// 2026/plans/mill of brass.txt <nil>
	// photos/wheel.jpg <nil>
}

func files(ctx context.Context, client *fastio.Client, workspace api.ID, path, dir, local string) error {
	room := api.Workspace(workspace)
	folder, err := client.Storage.EnsurePath(ctx, room, api.Root, "2026/plans")
	if err != nil {
		return err
	}
	plan, err := client.Uploads.File(ctx, uploads.Target{Profile: room, Folder: folder.ID}, path, nil)
	if err != nil {
		return err
	}
	if _, err := client.Storage.Rename(ctx, room, plan.ID, "mill of brass.txt"); err != nil {
		return err
	}
	got, err := client.Storage.DownloadFile(ctx, room, plan.ID, dir, nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(got.Path, []byte("A mill of brass."), 0o600); err != nil {
		return err
	}
	target := uploads.Target{Profile: room, File: plan.ID, IfVersion: got.Version}
	_, err = client.Uploads.File(ctx, target, got.Path, nil)
	if conflict, ok := errors.AsType[*api.VersionConflictError](err); ok {
		return fmt.Errorf("repeat the change on %s: %w", conflict.Current, err)
	}
	if err != nil {
		return err
	}
	result, err := client.Uploads.Dir(ctx, uploads.Target{Profile: room, Path: "photos/"}, local, nil)
	if failed, ok := errors.AsType[*api.DirError](err); ok {
		for _, e := range failed.Entries {
			fmt.Println(e.Path, e.Err)
		}
	}
	if err == nil && result.Done != 1 {
		err = fmt.Errorf("%d files were uploaded", result.Done)
	}
	return err
}
