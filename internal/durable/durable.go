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
	path   string
	access Access
	disk   disk
	turn   chan struct{} // holds one value while a goroutine of this process updates
}

// Access says whose files are read. It has no effect on systems without Unix
// owners and modes.
type Access int

// Values of an Access.
const (
	AnyAccess     Access = iota // any file
	OwnedAccess                 // not one of another user; other users lose the access they have to it
	PrivateAccess               // not one of another user, nor one that other users have access to
)

// FileError is a file that is not read because of what it is: not a regular file,
// too large, or one that the [Access] excludes.
type FileError struct {
	Path   string
	Reason string
}

// Error names the file and the reason.
func (e *FileError) Error() string { return "durable: " + e.Path + ": " + e.Reason }

const (
	lockSuffix  = ".lock" // the file beside ours that carries the lock
	tempInfix   = ".tmp-" // stands between the name of the file and random digits
	lockRetry   = 5 * time.Millisecond
	maxSymlinks = 40       // as many as Linux follows
	maxSize     = 64 << 20 // of a file, in bytes
)

// Open returns the file at path. It touches nothing: neither the file nor its
// directory need exist.
func Open(path string) *File {
	return &File{path: path, disk: osDisk{}, turn: make(chan struct{}, 1)}
}

// Restrict sets the access that reads require and returns f. Default: [AnyAccess].
func (f *File) Restrict(a Access) *File {
	f.access = a
	return f
}

// Read returns the content of the file. It does not wait for writers. Errors:
// [fs.ErrNotExist] for a file that was never written, a [*FileError] for one that
// is not regular, larger than 64 MiB or excluded by the [Access].
func (f *File) Read(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.read(ctx, f.path)
}

func (f *File) read(ctx context.Context, path string) (content []byte, err error) {
	err = retryBusy(func() error {
		content, err = f.readOnce(ctx, path)
		return err
	})
	return content, err
}

func (f *File) readOnce(ctx context.Context, path string) ([]byte, error) {
	file, err := openToRead(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written through it
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &FileError{path, "it is not a regular file"}
	case info.Size() > maxSize:
		return nil, &FileError{path, "it is larger than 64 MiB"}
	}
	if err := f.access.check(file, path, info); err != nil {
		return nil, err
	}
	until := readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return file.Read(p)
	})
	content, err := io.ReadAll(io.LimitReader(until, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = &FileError{path, "it is larger than 64 MiB"}
	}
	return content, err
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

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
func (f *File) Edit(ctx context.Context, fn func(old []byte, save func(content []byte) error) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return notLocked(f.path, ctx.Err())
	}
	return f.locked(ctx, "", func(path string) error {
		old, err := f.read(ctx, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return fn(old, func(content []byte) error { return f.replace(path, content) })
	})
}

// Lock calls fn while it holds a lock of that name, which must not be "". The lock
// belongs to the file, but does not keep others from reading and editing it; fn
// may do both. Locks of other names are independent. The context bounds the wait
// for the lock.
func (f *File) Lock(ctx context.Context, name string, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.locked(ctx, "."+name, func(string) error { return fn() })
}

// Remove deletes the file. One that does not exist is no error. The context bounds
// the wait for the lock.
func (f *File) Remove(ctx context.Context) error {
	return f.locked(ctx, "", func(path string) error {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return &FileError{path, "it is not a regular file"}
		}
		if err := retryBusy(func() error { return os.Remove(path) }); err != nil {
			return err
		}
		return f.disk.syncDir(filepath.Dir(path))
	})
}

// locked calls fn with the file that the path leads to. The lock has a file of its
// own, because ours is replaced, and that file is never deleted: a lock on a
// deleted file excludes no other process.
func (f *File) locked(ctx context.Context, name string, fn func(path string) error) (err error) {
	path, err := f.resolve()
	if err != nil {
		return err
	}
	lock := flock.New(path+name+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return notLocked(path, err)
	}
	defer func() {
		if e := lock.Unlock(); err == nil {
			err = e
		}
	}()
	return fn(path)
}

func notLocked(path string, err error) error {
	return fmt.Errorf("durable: no lock on %s: %w", path, err)
}

// replace writes a sibling and renames it over the file. The caller holds the
// lock.
func (f *File) replace(path string, content []byte) error {
	if len(content) > maxSize { // which Read would refuse
		return &FileError{path, "its content would be larger than 64 MiB"}
	}
	name := filepath.Base(path)
	sweep(filepath.Dir(path), name)
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
	return put(osDisk{}, path, "."+filepath.Base(path)+".*.partial", fn)
}

// put writes a sibling, named after a pattern, and renames it over the file.
func put(d disk, path, pattern string, fn func(w io.Writer) error) error {
	dir := filepath.Dir(path)
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
// parent as durable as the file it is for. For a symbolic link that leads to a
// missing directory it creates that one.
func (f *File) makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if to, err := os.Readlink(dir); err == nil {
		return f.makeDir(target(dir, to))
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

// target is where a symbolic link leads.
func target(link, to string) string {
	if filepath.IsAbs(to) {
		return to
	}
	return filepath.Join(filepath.Dir(link), to)
}

// resolve returns the file that the path leads to through symbolic links, so that
// the links stay and every name of a file shares one lock. The file need not
// exist; directories that are missing are created.
func (f *File) resolve() (string, error) {
	path := f.path
	for range maxSymlinks {
		if err := f.makeDir(filepath.Dir(path)); err != nil {
			return "", err
		}
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
		path = target(path, to)
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
