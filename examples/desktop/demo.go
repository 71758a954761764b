package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
)

// demonstrate runs the program twice against an emulator. The second run downloads a
// file, without a browser.
func (p *program) demonstrate(ctx context.Context, config oauth.Config) error {
	platform := fastiotest.New()
	design := platform.AddWorkspace(seed.Workspace{Name: "Design"})
	platform.AddNode(seed.Node{Profile: design.ID, Name: "Drawings", Kind: "folder"})
	platform.AddNode(seed.Node{
		Profile: design.ID, Name: "mill.txt", Content: strings.Repeat("A mill of brass.\n", 100_000),
	})
	var err error
	p.dir, err = os.MkdirTemp("", "desktop")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(p.dir) }()
	demo := show.Emulate(p.out, "FASTIO_BASE_URL=https://api.fast.io go run ./examples/desktop", platform)
	defer demo.Stop()
	fmt.Fprint(p.out, "The demo plays the browser too, and deletes what it has saved when it ends.\n\n")
	config.BaseURL = demo.URL
	config.Store = oauth.FileStore{Path: filepath.Join(p.dir, "tokens"), Keys: oauth.KeyFile(filepath.Join(p.dir, "key"))}
	config.OpenBrowser = platform.SignIns.OpenBrowser
	if err := p.run(ctx, config); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "\nA second run, with the stored tokens:")
	p.file = "mill.txt"
	return p.run(ctx, config)
}
