package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

func Example() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	s.AddNode(seed.Node{Profile: room.ID, Name: "Drawings", Kind: "folder"})
	s.AddNode(seed.Node{Profile: room.ID, Name: "mill.md", Kind: "note", Content: "It grinds numbers."})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for node, err := range client.Storage.All(ctx, api.Workspace(design), api.Root, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(node.Type, node.Name)
	}
	// Output:
	// folder Drawings
	// note mill.md
}

// Change a file that others must not change at the same time.
func ExampleService_WithLock() {
	s := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = -1 }) // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	plan := s.AddNode(seed.Node{Profile: room.ID, Name: "plan.txt", Content: "Wheels: 24"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, in := context.Background(), api.Workspace(design)
	err = client.Storage.WithLock(ctx, in, api.OpaqueID(plan.ID), nil, func(ctx context.Context) error {
		_, err := client.Storage.Locks.Acquire(ctx, in, api.OpaqueID(plan.ID), nil) // as another client would
		fmt.Println(errors.Is(err, api.ErrLocked))

		target, text := uploads.Target{Profile: in, File: api.OpaqueID(plan.ID)}, strings.NewReader("Wheels: 25")
		_, err = client.Uploads.ReaderAt(ctx, target, "plan.txt", text, text.Size(), nil)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	versions, err := client.Storage.Versions.List(ctx, in, api.OpaqueID(plan.ID))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(versions), "versions")
	// Output:
	// true
	// 2 versions
}

// List a folder page by page. The cursor of a page leads to the next one, also in
// another process.
func ExampleService_Pages() {
	s := fastiotest.New() // a fake of the platform
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	for i := range 120 {
		s.AddNode(seed.Node{Profile: room.ID, Name: fmt.Sprintf("wheel %03d.svg", i)})
	}
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	list := &storage.ListOptions{PageSize: 100}
	for p, err := range client.Storage.Pages(context.Background(), api.Workspace(design), api.Root, list) {
		if err != nil {
			log.Fatal(err)
		}
		first, last := p.Nodes[0], p.Nodes[len(p.Nodes)-1]
		fmt.Printf(
			"%d: %s %s to %s %s, more: %t\n", len(p.Nodes), first.Type, first.Name, last.Type, last.Name, p.NextCursor != "",
		)
	}
	// Output:
	// 100: file wheel 000.svg to file wheel 099.svg, more: true
	// 20: file wheel 100.svg to file wheel 119.svg, more: false
}

// The result has an error for each missing node.
func ExampleService_GetMany() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	mill := s.AddNode(seed.Node{Profile: room.ID, Name: "mill.md", Kind: "note", Content: "It grinds numbers."})
	gone := api.OpaqueID("2g0n3g0n3g0n3g0n3g0n3g0n3g0n3")
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ids := []api.OpaqueID{gone, api.OpaqueID(mill.ID)}
	batch, err := client.Storage.GetMany(context.Background(), api.Workspace(design), ids, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.Node(api.OpaqueID(mill.ID)).Name, batch.Node(api.OpaqueID(mill.ID)).AI.State.Usable())
	fmt.Println(batch.Err(gone))
	// Output:
	// mill.md true
	// fastio: node 2g0n3g0n3g0n3g0n3g0n3g0n3g0n3: There is no such node here. (code 133123)
}

// Download a file, and check it, to a directory.
func ExampleService_DownloadFile() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	mill := s.AddNode(seed.Node{Profile: room.ID, Name: "mill.txt", Content: "It grinds numbers."})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "mill")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	workspace, file := api.Workspace(design), api.OpaqueID(mill.ID)
	got, err := client.Storage.DownloadFile(context.Background(), workspace, file, dir, nil)
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(filepath.Base(got.Path), got.Bytes)
	// Output:
	// mill.txt 18
}

// Create folders, move a file there, and walk through the workspace.
func ExampleService_Walk() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	mill := s.AddNode(seed.Node{Profile: room.ID, Name: "mill.txt", Content: "It grinds numbers."})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, in := context.Background(), api.Workspace(design)
	plans, err := client.Storage.EnsurePath(ctx, in, api.Root, "2026/plans")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Storage.Move(ctx, in, api.OpaqueID(mill.ID), plans.ID); err != nil {
		log.Fatal(err)
	}
	for e, err := range client.Storage.Walk(ctx, in, api.Root, nil) {
		if err != nil {
			log.Print(e.Path, ": ", err)
			continue
		}
		fmt.Println(e.Path)
	}
	// Output:
	// 2026
	// 2026/plans
	// 2026/plans/mill.txt
}

// Delete several nodes. The error lists those that could not be deleted.
func ExampleMany() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	mill := s.AddNode(seed.Node{Profile: room.ID, Name: "mill.txt"})
	gone := api.OpaqueID("2g0n3g0n3g0n3g0n3g0n3g0n3g0n3")
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	ids := []api.OpaqueID{gone, api.OpaqueID(mill.ID)}
	err = storage.Many(context.Background(), ids, func(ctx context.Context, id api.OpaqueID) error {
		return client.Storage.Delete(ctx, api.Workspace(design), id)
	})
	if failed, ok := errors.AsType[*storage.ManyError](err); ok {
		fmt.Println(len(failed.Failed), errors.Is(failed.Failed[gone], api.ErrNotFound))
	}
	// Output:
	// 1 true
}

// Read a folder with the packages that work on file systems.
func ExampleService_FS() {
	s := fastiotest.New()
	room := s.AddWorkspace(seed.Workspace{Name: "Design"})
	design := api.ID(room.ID)
	folder := s.AddNode(seed.Node{Profile: room.ID, Name: "plans", Kind: "folder"})
	s.AddNode(seed.Node{Profile: room.ID, Parent: folder.ID, Name: "mill.txt", Content: "It grinds numbers."})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		log.Fatal(err)
	}
	files := client.Storage.FS(context.Background(), api.Workspace(design), api.Root)
	names, err := fs.Glob(files, "plans/*.txt")
	if err != nil {
		log.Fatal(err)
	}
	text, err := fs.ReadFile(files, names[0])
	fmt.Println(names, string(text), err)
	// Output:
	// [plans/mill.txt] It grinds numbers. <nil>
}

// An update that is based on an outdated version is rejected.
func ExampleNotes_Update() {
	s := fastiotest.New()
	docks := s.AddWorkspace(seed.Workspace{Name: "Docks"})
	client, err := fastio.New(s.ClientOptions()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, notes := context.Background(), client.Storage.Notes
	plan, err := notes.Create(ctx, api.ID(docks.ID), api.Root, storage.CreateNoteRequest{Name: "Plan.md", Content: "# Plan"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, content := range []string{"# Plan B", "# Plan C"} {
		update := storage.UpdateNoteRequest{Content: content, IfVersion: plan.Version}
		_, err := notes.Update(ctx, api.ID(docks.ID), plan.ID, update)
		if _, conflict := errors.AsType[*api.VersionConflictError](err); conflict {
			fmt.Println("another user was first")
			continue
		}
		fmt.Println(content, err)
	}
	// Output:
	// # Plan B <nil>
	// another user was first
}
