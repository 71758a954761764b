// Mirror keeps a local folder and a folder of a workspace in sync, in both directions,
// until Ctrl-C:
//
//	go run ./examples/mirror -dir plans -workspace ID
//
// A file that changed on one side is copied to the other one, one that was deleted is
// deleted there. If both changed, the local file becomes the next version; the remote one
// stays as the version before. Deleted remote files are in the trash of the workspace,
// deleted local ones in .mirror/trash below the folder. Empty folders are not mirrored,
// links and special files are skipped.
//
// A run may be killed at any moment: the next one continues, also within a large file.
//
// Without configuration the program runs against an emulator of its own, on a socket.
// With FASTIO_API_KEY set, and FASTIO_BASE_URL if need be, it runs against the real
// service.
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
	"github.com/fastio-go/fastio/examples/internal/show"
)

func main() {
	p := &program{out: os.Stdout, screen: os.Stderr}
	flag.StringVar((*string)(&p.workspace), "workspace", "", "the ID of the workspace; required with a key")
	flag.StringVar((*string)(&p.folder), "folder", string(api.Root), "the ID of its folder")
	flag.StringVar(&p.dir, "dir", "", "the local folder; required with a key")
	flag.StringVar(&p.state, "state", "", "the state file (default: beside the folder, its name with .mirror.json)")
	flag.DurationVar(&p.interval, "interval", 2*time.Second, "time between two scans of the local folder")
	flag.DurationVar(&p.full, "full", 10*time.Minute, "time between two complete comparisons")
	flag.BoolVar(&p.once, "once", false, "end when both sides are the same")
	flag.Parse()
	show.Main(p.start)
}

type program struct {
	out, screen io.Writer // screen gets the progress
	client      *fastio.Client
	workspace   api.ID
	folder      api.OpaqueID
	dir, state  string

	interval, full time.Duration
	once           bool
	chunk          int64          // bytes sent at a time; 0 means the default
	synced         func(*summary) // is called when both sides are the same; may be nil
}

// start mirrors a folder or, without a token, shows it on the emulator.
func (p *program) start(ctx context.Context) error {
	var err error
	p.client, err = fastio.FromEnv(fastio.WithLogger(slog.Default()))
	if errors.Is(err, fastio.ErrNoToken) {
		return p.demonstrate(ctx)
	}
	if err != nil {
		return err
	}
	defer p.client.CloseIdleConnections()
	if p.workspace == "" || p.dir == "" {
		return errors.New("set -workspace and -dir: the ID of the workspace, and the local folder")
	}
	return p.run(ctx)
}

// run mirrors until ctx is done, or until both sides are the same, and prints a summary.
func (p *program) run(ctx context.Context) (err error) {
	if p.state == "" {
		p.state = filepath.Clean(p.dir) + ".mirror.json"
	}
	m := &mirror{program: p, in: api.Workspace(p.workspace), sum: summary{failed: map[string]error{}}}
	m.root, err = os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.root.Close()) }()
	m.state, err = openState(p.state, p.workspace, p.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.state.close()) }()
	if len(m.state.Files) == 0 {
		if err := m.root.MkdirAll(work, 0o700); err != nil {
			return err
		}
	}
	if p.once {
		err = m.once(ctx)
	} else {
		err = m.watch(ctx)
	}
	m.sum.print(p.out)
	switch failed := len(m.sum.failed); {
	case ctx.Err() != nil: // Ctrl-C is how it ends
		return nil
	case err == nil && failed > 0:
		return fmt.Errorf("%d files have failed", failed)
	}
	return err
}

// summary is what a run has done.
type summary struct {
	sent, received, deleted, unchanged int
	conflicts                          []string
	failed                             map[string]error // at the latest comparison
}

// print writes the summary, with the conflicts and failures.
func (s *summary) print(out io.Writer) {
	fmt.Fprintf(out, "%d files sent, %d received, %d deleted, %d unchanged, %d conflicts, %d failed\n",
		s.sent, s.received, s.deleted, s.unchanged, len(s.conflicts), len(s.failed))
	for _, path := range s.conflicts {
		fmt.Fprintf(out, "  conflict: %s: the local file is the current version, the remote one the version before\n", path)
	}
	for path, err := range s.failed {
		fmt.Fprintf(out, "  failed: %s: %v\n", path, err)
	}
}
