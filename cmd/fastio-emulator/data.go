package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/emulator"
)

// saveEach is how often a world that changes is saved.
const saveEach = 10 * time.Second

// folder keeps a world between runs. Only one process has it open.
type folder struct {
	dir  string
	lock *os.File // nil once it is closed
}

// openFolder opens a folder, which it creates if it does not exist.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := durable.LockFile(filepath.Join(dir, "lock"))
	if errors.Is(err, durable.ErrInUse) {
		return nil, fmt.Errorf("-data: another process uses %s", dir)
	}
	if err != nil {
		return nil, err
	}
	return &folder{dir, lock}, nil
}

// file returns the path of the snapshot.
func (f *folder) file() string { return filepath.Join(f.dir, "world.zip") }

// load restores the world in the folder, whose clock then goes on from now. It returns
// false if there is none yet.
func (f *folder) load(s *emulator.Server) (found bool, err error) {
	today, _ := s.Clock()
	err = restore(s, f.file())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.file(), err)
	}
	if now, frozen := s.Clock(); !frozen {
		s.Advance(today.Sub(now))
	}
	return true, nil
}

// restore restores the world of a snapshot.
func restore(s *emulator.Server, name string) error {
	in, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return s.Restore(in)
}

// save replaces the snapshot in the folder. It is durable when save returns nil; before
// that, the folder has the old one.
func (f *folder) save(s *emulator.Server) error {
	return replaceFile(f.file(), func(w io.Writer) error { return s.Snapshot(w) })
}

// replaceFile replaces a file atomically and durably by what write writes.
func replaceFile(name string, write func(w io.Writer) error) error {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	p, err := durable.OpenPartial(dir, filepath.Base(name), "")
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(p, 1<<20)
	err = p.Restart() // a killed process may have left a part
	if err == nil {
		err = write(buffered)
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return errors.Join(err, p.Remove())
	}
	return p.Commit()
}

// keep saves the world when it has changed, at most every 10 seconds, until ctx is done,
// and then once more. It logs errors, apart from that of the last time.
func (f *folder) keep(ctx context.Context, s *emulator.Server, log io.Writer) error {
	saved := s.Changes()
	save := func() error {
		changes := s.Changes()
		if changes == saved {
			return nil
		}
		err := f.save(s)
		if err == nil {
			saved = changes
		}
		return err
	}
	t := time.NewTicker(saveEach)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if err := save(); err != nil {
				_, _ = fmt.Fprintln(log, "fastio-emulator: the world is not saved:", err)
			}
		case <-ctx.Done():
			return save()
		}
	}
}

// close lets other processes use the folder.
func (f *folder) close() error { return f.lock.Close() }
