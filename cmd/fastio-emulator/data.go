package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/emulator"
	"github.com/fastio-go/fastio/internal/emulator/control"
)

// saveEach is how often worlds that change are saved.
const saveEach = 10 * time.Second

// mainWorld is the name of the world of requests that name none.
const mainWorld = ""

// folder keeps worlds between runs, each in a file. Only one process has it open.
type folder struct {
	dir  string
	lock *os.File // nil once it is closed

	mu      sync.Mutex            // guards what follows
	worlds  map[string]*keptWorld // by name
	deleted map[string]bool       // names whose files are to be removed
}

// keptWorld is a world and what its file has of it.
type keptWorld struct {
	server *emulator.Server
	saved  uint64 // changes that the file has
	isNew  bool   // it has no file yet
}

// openFolder opens a folder, which it creates if it does not exist.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("-data: %w", err)
	}
	lock, err := durable.LockFile(filepath.Join(dir, "lock"))
	if errors.Is(err, durable.ErrInUse) {
		return nil, fmt.Errorf("-data: another process uses %s", dir)
	}
	if err != nil {
		return nil, err
	}
	return &folder{dir: dir, lock: lock, worlds: map[string]*keptWorld{}, deleted: map[string]bool{}}, nil
}

var capital = regexp.MustCompile(`[A-Z]`)

// fileOf returns the name of the file of a world. A "+" stands before each capital letter:
// two worlds have two files also where the case of letters does not matter. No file is
// outside the folder, because the name of a world has no slash ([control.IsWorldName]). With
// the prefix, none is a device, as "con" is on Windows.
func fileOf(world string) string {
	if world == mainWorld {
		return "world.zip"
	}
	return "world-" + capital.ReplaceAllString(world, "+$0") + ".zip"
}

// worldOf returns the world whose file has a name (see fileOf), and false if no world has
// such a file.
func worldOf(file string) (world string, found bool) {
	if file == fileOf(mainWorld) {
		return mainWorld, true
	}
	world = strings.TrimSuffix(strings.TrimPrefix(file, "world-"), ".zip")
	world = strings.ReplaceAll(world, "+", "") // which fileOf adds before capital letters
	return world, control.IsWorldName(world) && fileOf(world) == file
}

// file returns the path of the file of a world.
func (f *folder) file(world string) string { return filepath.Join(f.dir, fileOf(world)) }

// load restores the worlds in the folder, into servers that create returns. A clock that
// is not frozen goes on from now.
func (f *folder) load(create func() *emulator.Server) error {
	files, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		world, found := worldOf(file.Name())
		if !found {
			continue
		}
		s := create()
		today, _ := s.Clock() // before the snapshot sets it back
		if err := restore(s, f.file(world)); err != nil {
			return fmt.Errorf("%s: %w", f.file(world), err)
		}
		if now, frozen := s.Clock(); !frozen {
			s.Advance(today.Sub(now))
		}
		f.worlds[world] = &keptWorld{server: s, saved: s.Changes()}
	}
	return nil
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

// others returns the worlds beside the main one. Without a folder there are none.
func (f *folder) others() map[string]*emulator.Server {
	others := map[string]*emulator.Server{}
	if f == nil {
		return others
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, w := range f.worlds {
		if name != mainWorld {
			others[name] = w.server
		}
	}
	return others
}

// add keeps a new world, whose file replaces that of a deleted one with its name. Without
// a folder it does nothing.
func (f *folder) add(name string, s *emulator.Server) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.worlds[name] = &keptWorld{server: s, isNew: true}
	delete(f.deleted, name)
}

// remove forgets a deleted world. The next save removes its file, or a later one if that fails.
// Without a folder (f is nil) it does nothing.
func (f *folder) remove(name string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.worlds, name)
	f.deleted[name] = true
}

// save removes the files of deleted worlds, and replaces those of worlds that have changed.
// A new file is durable when save returns; until it is complete, the folder has the old one.
// What fails is tried again with the next save. Only one goroutine may call save.
func (f *folder) save() error {
	f.mu.Lock()
	worlds, deleted := maps.Clone(f.worlds), maps.Clone(f.deleted)
	f.mu.Unlock()
	var failed error
	for name := range deleted {
		if err := os.Remove(f.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
			continue
		}
		f.mu.Lock()
		delete(f.deleted, name)
		f.mu.Unlock()
	}
	for _, name := range slices.Sorted(maps.Keys(worlds)) {
		w := worlds[name]
		changes := w.server.Changes() // read before the snapshot: a later change is saved the next time
		if changes == w.saved && !w.isNew {
			continue
		}
		if err := replaceFile(f.file(name), w.server.Snapshot); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", f.file(name), err))
			continue
		}
		w.saved, w.isNew = changes, false
	}
	return failed
}

// replaceFile replaces a file atomically and durably by what write writes.
func replaceFile(name string, write func(w io.Writer) error) error {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	const anyContent = "" // the key only says whether a Partial can be continued, and Restart empties it
	p, err := durable.OpenPartial(dir, filepath.Base(name), anyContent)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(p, 1<<20) // few large writes
	err = p.Restart()
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

// keep saves the worlds at once and, while they change, every 10 seconds until ctx is
// done, and then once more. It returns the error of the last save, and logs the others.
func (f *folder) keep(ctx context.Context, log io.Writer) error {
	t := time.NewTicker(saveEach)
	defer t.Stop()
	for ctx.Err() == nil {
		if err := f.save(); err != nil {
			_, _ = fmt.Fprintln(log, "fastio-emulator: a world is not saved:", err)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return f.save()
}

// close lets other processes use the folder.
func (f *folder) close() error { return durable.CloseLocked(f.lock) }
