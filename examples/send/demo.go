package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// demoSize is the size of the file: more than one chunk.
const demoSize = 12 << 20

// demonstrate runs the program against an emulator; the guest appends a line to the
// file. The emulator takes a while to store a file, so that there is progress to see.
func (p *program) demonstrate(ctx context.Context) error {
	platform := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = 300 * time.Millisecond })
	p.workspace = api.ID(platform.AddWorkspace(seed.Workspace{Name: "Design"}).ID)
	p.node = api.OpaqueID(platform.AddNode(seed.Node{
		Profile: string(p.workspace), Name: "mill.dat",
		Versions: []seed.Version{{Size: demoSize, Creator: platform.User().ID}},
	}).ID)
	bo := platform.AddUser(seed.User{Email: "bo@example.com"})
	demo := show.Emulate(
		p.out, "FASTIO_API_KEY=... FASTIO_SECOND_KEY=... go run ./examples/send -workspace ID -node ID", platform,
	)
	defer demo.Stop()
	fmt.Fprintln(p.out)
	var err error
	p.sender, err = demo.Connect(platform.Token())
	if err != nil {
		return err
	}
	defer p.sender.CloseIdleConnections()
	p.guest, err = demo.Connect(platform.AddKey(seed.Key{User: bo.ID}).Token)
	if err != nil {
		return err
	}
	defer p.guest.CloseIdleConnections()
	p.edit = appendLine
	return p.run(ctx)
}

// appendLine is the edit of the guest in the demo.
func appendLine(_ context.Context, path string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, "Read and approved.")
	return cmp.Or(err, file.Close())
}
