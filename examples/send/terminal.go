package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// bar shows how far a file has come, until finish.
func (p *program) bar(what string) (progress func(done, total int64), finish func()) {
	const unknown = 0 // until the first bytes
	bar := progressbar.NewOptions64(unknown,
		progressbar.OptionSetWriter(p.screen), progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
	)
	progress = func(done, total int64) {
		if bar.GetMax64() != total {
			bar.ChangeMax64(total) // -1, an unknown size, makes it a spinner
		}
		_ = bar.Set64(done)
	}
	return progress, func() { _ = bar.Finish() }
}

// prompt has the user change the file.
func (p *program) prompt(ctx context.Context, path string) error {
	fmt.Fprintf(p.out, "Change %s as you like, then press Enter. ", path)
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		bufio.NewScanner(p.in).Scan()
	}()
	select {
	case <-typed:
		fmt.Fprintln(p.out)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
