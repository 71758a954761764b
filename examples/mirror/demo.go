package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// demonstrate mirrors a temporary folder with an emulator, changes both sides once they
// are the same, and ends when they are the same again.
func (p *program) demonstrate(ctx context.Context) error {
	platform := fastiotest.New()
	p.workspace, p.folder = api.ID(platform.AddWorkspace(seed.Workspace{Name: "Design"}).ID), api.Root
	platform.AddNode(seed.Node{Profile: string(p.workspace), Name: "plan.txt", Content: "A mill of brass.\n"})
	demo := show.Emulate(p.out, "FASTIO_API_KEY", platform)
	defer demo.Stop()
	dir, err := os.MkdirTemp("", "mirror")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p.dir, p.state = filepath.Join(dir, "design"), ""
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "mill.dat"), bytes.Repeat([]byte("mill"), 3<<20), 0o600); err != nil {
		return err
	}
	p.client, err = demo.Connect(platform.Token())
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	p.interval, p.full = 200*time.Millisecond, time.Minute
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	edited := false
	p.synced = func(s *summary) {
		switch {
		case !edited:
			edited = true
			fmt.Fprintln(p.out, "Both sides are the same. Each gets another file.")
			platform.AddNode(seed.Node{Profile: string(p.workspace), Name: "remote.txt", Content: "Written by a colleague.\n"})
			platform.AddEvent(seed.Event{Name: "workspace_storage_file_added", Workspace: string(p.workspace)})
			err = os.WriteFile(filepath.Join(p.dir, "local.txt"), []byte("Written here.\n"), 0o600)
		case s.sent == 2 && s.received == 2:
			fmt.Fprintln(p.out, "They are the same again.")
			cancel()
		}
	}
	if failed := p.run(ctx); failed != nil {
		return failed
	}
	return err
}
