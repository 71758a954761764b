package main

import (
	"bufio"
	"context"
	"fmt"
)

// prompt waits until the user has changed the file.
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
