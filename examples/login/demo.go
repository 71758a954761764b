package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fastio-go/fastio/examples/internal/show"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/oauth"
)

// demonstrate runs the program three times against an emulator: it signs in, uses the
// stored tokens, and signs out.
func (p *program) demonstrate(ctx context.Context) error {
	return p.demonstrateOn(ctx, fastiotest.New())
}

// demonstrateOn signs in to an emulator, starts again with the stored tokens, and signs
// out.
func (p *program) demonstrateOn(ctx context.Context, platform *fastiotest.Server) error {
	demo := show.Emulate(p.out, "FASTIO_BASE_URL=https://api.fast.io go run ./examples/login", platform)
	defer demo.Stop()
	fmt.Fprintf(p.out, "Its only user is %s, password %q\n", platform.User().Email, seed.DefaultPassword)
	dir, err := os.MkdirTemp("", "login")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p.config.BaseURL = demo.URL
	p.config.Store = oauth.FileStore{Path: filepath.Join(dir, "tokens"), Keys: oauth.KeyFile(filepath.Join(dir, "key"))}
	if err := p.show(ctx); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "\nStarting again, with nothing but what was stored:")
	if err := p.show(ctx); err != nil {
		return err
	}
	fmt.Fprintln(p.out)
	return p.signOut(ctx)
}
