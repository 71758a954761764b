package show

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
)

// Main runs a program, whose context ends at Ctrl-C. An error is printed and ends the
// process with status 1, unless it is one of quiet.
func Main(run func(ctx context.Context) error, quiet ...error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil && !slices.ContainsFunc(quiet, func(kind error) bool { return errors.Is(err, kind) }) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// First returns the first workspace of the user.
func First(ctx context.Context, client *fastio.Client) (api.ID, error) {
	for w, err := range client.Workspaces.All(ctx, nil) {
		if err != nil {
			return "", err
		}
		return w.ID, nil
	}
	return "", errors.New("the user has no workspace")
}

// Enter waits until a line is typed, the input ends or ctx is done.
func Enter(ctx context.Context, in io.Reader) error {
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		bufio.NewScanner(in).Scan()
	}()
	select {
	case <-typed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Visit opens an address as a browser does.
func Visit(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := new(http.Client).Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
