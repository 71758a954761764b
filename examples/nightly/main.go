// Nightly appends the events of a workspace to a file, one line of JSON each. A
// scheduler such as cron runs it every night:
//
//	go run ./examples/nightly -dir /var/lib/acme -workspace ID
//
// Each run adds the events since the last one and ends. A run may be killed at any
// moment: the next one completes the file, with each event once.
//
// Without configuration it makes three runs against an emulator of its own, on a socket.
// With FASTIO_API_KEY set, and FASTIO_BASE_URL if need be, it makes one run against the
// real service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/events/journal"
	"github.com/fastio-go/fastio/examples/internal/show"
)

func main() {
	workspace := flag.String("workspace", "", "the ID of the workspace; required with a key")
	dir := flag.String("dir", ".", "the directory of the file")
	flag.Parse()
	show.Main(func(ctx context.Context) error { return runNightly(ctx, os.Stdout, api.ID(*workspace), *dir) })
}

// runNightly appends the events of a workspace to the file in a directory or, without a
// token, shows that on the emulator.
func runNightly(ctx context.Context, out io.Writer, workspace api.ID, dir string) error {
	client, err := fastio.FromEnv(fastio.WithLogger(slog.Default()))
	switch {
	case errors.Is(err, fastio.ErrNoToken):
		return demonstrate(ctx, out)
	case err != nil:
		return err
	case workspace == "":
		return errors.New("set -workspace: the ID of the workspace")
	}
	defer client.CloseIdleConnections()
	return appendEvents(ctx, client, out, workspace, dir, nil)
}

// appendEvents appends the events since the last run. If some may be missing, the logger of
// the client gets a warning.
func appendEvents(
	ctx context.Context, client *fastio.Client, out io.Writer, workspace api.ID, dir string, o *journal.Options,
) (err error) {
	file, err := journal.Open(filepath.Join(dir, "events.jsonl"), o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	before, query := file.Rows(), events.Query{Profile: api.Workspace(workspace)}
	err = file.Follow(ctx, client.Events, query, &events.FollowOptions{Until: time.Now()})
	fmt.Fprintf(out, "%d events added, %d in all\n", file.Rows()-before, file.Rows())
	return err
}
