// Package durable keeps small files that several processes share and that must
// survive a crash: a token store, a checkpoint.
//
// A reader sees the old content or the new content, never a mixture. A writer
// holds a lock from its read to its last write, so that no change is lost. When
// [File.Update] returns nil the new content is on the disk.
package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A File is one shared file. It is safe for concurrent use.
type File struct {
	path string
	disk disk
	turn chan struct{} // holds one value while a goroutine of this process updates
}

const (
	lockSuffix  = ".lock" // the file beside ours that carries the lock
	tempInfix   = ".tmp-" // stands between the name of the file and random digits
	lockRetry   = 5 * time.Millisecond
	maxSymlinks = 40 // as many as Linux follows
)

// Open returns the file at path. It touches nothing: neither the file nor its
// directory need exist.
func Open(path string) *File {
	return &File{path: path, disk: osDisk{}, turn: make(chan struct{}, 1)}
}

// Read returns the content of the file. It does not wait for writers. The error
// of a file that was never written is [fs.ErrNotExist].
func (f *File) Read(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return readFile(f.path)
}

// Update replaces the content of the file by what fn makes of it. It is an
// [File.Edit] with one write: fn's error is returned as it is and the file stays
// as it was; if fn returns nil and no error, the file stays as well.
func (f *File) Update(ctx context.Context, fn func(old []byte) ([]byte, error)) error {
	return f.Edit(ctx, func(old []byte, save func([]byte) error) error {
		content, err := fn(old)
		if err != nil || content == nil {
			return err
		}
		return save(content)
	})
}

// Edit calls fn with the content of the file, nil if it does not exist. No other
// process and no other goroutine edits the file meanwhile; fn may therefore take
// its time, but must not edit the same file itself.
//
// What fn gives to save replaces the content, with mode 0600, and is on the disk
// when save returns nil. Fn may save as often as it likes, but not after it has
// returned. Its error is returned as it is, and what was saved before stays.
//
// The context bounds the wait for the lock. Once fn runs, what it saves is
// written whether or not the context still stands: it may be the only copy of a
// rotated token.
//
// A failed write leaves the old content. The exception is a failure to flush
// the directory: then the new content is in place, and a power cut may undo it.
func (f *File) Edit(ctx context.Context, fn func(old []byte, save func(content []byte) error) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return notLocked(f.path, ctx.Err())
	}

	if err := f.makeDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	path, err := follow(f.path)
	if err != nil {
		return err
	}
	// The lock has a file of its own, because ours is replaced, and that file is
	// never deleted: a lock on a deleted file excludes nobody.
	lock := flock.New(path+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return notLocked(path, err)
	}
	defer func() {
		if e := lock.Unlock(); err == nil {
			err = e
		}
	}()

	old, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fn(old, func(content []byte) error { return f.replace(path, content) })
}

func notLocked(path string, err error) error {
	return fmt.Errorf("durable: no lock on %s: %w", path, err)
}

// replace writes a sibling and renames it over the file. The caller holds the
// lock.
func (f *File) replace(path string, content []byte) error {
	dir, name := split(path)
	sweep(dir, name)
	return put(f.disk, path, name+tempInfix+"*", func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// Write makes a file, or replaces one, by what fn writes. Until all of it is on the
// disk it has another name in the same directory, ".name.", random digits and
// ".partial"; nothing is left of it when anything fails, but for what a process
// leaves that is killed. The file has mode 0600. There is no lock: who comes last
// wins.
func Write(path string, fn func(w io.Writer) error) error {
	_, name := split(path)
	return put(osDisk{}, path, "."+name+".*.partial", fn)
}

// put writes a sibling, named after a pattern, and renames it over the file.
func put(d disk, path, pattern string, fn func(w io.Writer) error) error {
	dir, _ := split(path)
	tmp, err := d.create(dir, pattern)
	if err != nil {
		return err
	}
	err = fn(tmp)
	if err == nil {
		err = tmp.Sync() // before the rename, or a power cut may leave an empty file under the name
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = d.rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // if that fails, too, the next to hold a lock sweeps it
		return err
	}
	return d.syncDir(dir)
}

// split returns the directory of a path, never "", and the name in it.
func split(path string) (dir, name string) {
	dir, name = filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	return dir, name
}

// sweep removes the siblings that killed writers left. The caller holds the
// lock, so none of them is in use. What cannot be removed now can be later.
func sweep(dir, name string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), name+tempInfix)
		if ok && digits != "" && strings.Trim(digits, "0123456789") == "" && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// makeDir creates a directory that is missing, and makes its entry in the
// parent as durable as the file it is for.
func (f *File) makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := f.makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was faster
		}
		return err
	}
	return f.disk.syncDir(parent)
}

// follow returns the file that path leads to through symbolic links, which need
// not exist, so that the links stay and every name of a file shares one lock.
func follow(path string) (string, error) {
	for range maxSymlinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("durable: %s: too many symbolic links", path)
}

// disk is the part of the operating system that a test lets fail.
type disk interface {
	create(dir, pattern string) (output, error)
	rename(from, to string) error
	syncDir(dir string) error
}

type output interface {
	io.WriteCloser
	Name() string
	Sync() error
}

type osDisk struct{}

// create opens a new file with mode 0600; it never opens one that exists.
func (osDisk) create(dir, pattern string) (output, error) { return os.CreateTemp(dir, pattern) }
func (osDisk) rename(from, to string) error               { return rename(from, to) }
func (osDisk) syncDir(dir string) error                   { return syncDir(dir) }
