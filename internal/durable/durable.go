// Package durable writes small files atomically, shared by several processes: a token
// store, a checkpoint.
//
// A reader sees either the old or the new content. A writer holds a lock from its
// read to its last write, so that no update is lost. When [File.Update] returns nil,
// the new content is durable.
//
// A [Partial] is a large file that is written in several steps, or by several processes one
// after another.
package durable

import (
	"cmp"
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
	isOurs func(content []byte) bool
	disk   disk
	lock   chan struct{} // holds one value while a goroutine of this process updates
}

// Access is the required ownership of a file. It has no effect on systems without
// Unix owners and modes.
type Access int

// Values of an Access.
const (
	AnyAccess     Access = iota // any file
	OwnedAccess                 // not of another user; access of other users to what is ours is removed
	PrivateAccess               // not of another user, and without access of other users
)

// FileError reports a file that is rejected: not regular, too large, or excluded by
// the [Access].
type FileError struct {
	Path   string
	Reason string
}

// Error names the file and the reason.
func (e *FileError) Error() string { return "durable: " + e.Path + ": " + e.Reason }

const (
	lockSuffix  = ".lock" // of the lock file next to the file
	tempInfix   = ".tmp-" // between the name of the file and random digits
	lockRetry   = 5 * time.Millisecond
	maxSymlinks = 40       // as many as Linux follows
	maxSize     = 64 << 20 // of a file, in bytes
)

// Open returns the file at path without accessing it. Neither the file nor its
// directory need exist.
func Open(path string) *File {
	return &File{path: path, disk: osDisk{}, lock: make(chan struct{}, 1)}
}

// Restrict sets the access that reads require and returns f. Default: [AnyAccess]. With
// any other, a symbolic link of another user is rejected as well. IsOurs reports whether a
// content is of the program; only [OwnedAccess] uses it.
func (f *File) Restrict(a Access, isOurs func(content []byte) bool) *File {
	f.access, f.isOurs = a, isOurs
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

// read returns the content of a file of f. On Windows it retries while the file
// is in use.
func (f *File) read(ctx context.Context, path string) (content []byte, err error) {
	err = retryBusy(func() error {
		content, err = f.readOnce(ctx, path)
		return err
	})
	return content, err
}

// readOnce returns the content of a regular file of at most 64 MiB whose access is as f
// requires. With OwnedAccess it also removes the access of other users, but only to a
// file that the program has written: any other may be shared with them on purpose.
func (f *File) readOnce(ctx context.Context, path string) ([]byte, error) {
	if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		if err := f.access.checkLink(path, link); err != nil {
			return nil, err
		}
	}
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
	if err := f.access.check(path, info); err != nil {
		return nil, err
	}
	untilDone := readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return file.Read(p)
	})
	content, err := io.ReadAll(io.LimitReader(untilDone, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = &FileError{path, "it is larger than 64 MiB"}
	}
	if err == nil && f.access == OwnedAccess && f.isOurs(content) {
		removeOthersAccess(file, info)
	}
	return content, err
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Update replaces the content of the file by the result of fn. It is a [File.Edit]
// with one write: the error of fn is returned unchanged and the file is not changed;
// if fn returns nil and no error, the file is not changed either.
func (f *File) Update(ctx context.Context, fn func(old []byte) ([]byte, error)) error {
	return f.Edit(ctx, func(old []byte, save func([]byte) error) error {
		content, err := fn(old)
		if err != nil || content == nil {
			return err
		}
		return save(content)
	})
}

// Edit calls fn with the content of the file, nil if it does not exist. The file is
// locked for other processes and goroutines until fn returns; fn must not edit the
// same file.
//
// The argument of save replaces the content, with mode 0600, and is durable when save
// returns nil. Fn may call save several times, but not after it has returned. The
// error of fn is returned unchanged and does not undo a save.
//
// The context bounds only the wait for the lock. While fn runs, save writes even
// if the context is done: the content may be the only copy of a rotated token.
//
// A failed write keeps the old content, except for a failure to flush the directory:
// then the new content is visible, but a power failure may undo it.
func (f *File) Edit(ctx context.Context, fn func(old []byte, save func(content []byte) error) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.lock <- struct{}{}:
		defer func() { <-f.lock }()
	case <-ctx.Done():
		return notLocked(f.path, ctx.Err())
	}
	return f.withLock(ctx, contentLock, func(path string) error {
		old, err := f.read(ctx, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return fn(old, func(content []byte) error { return f.writeAndRename(path, content) })
	})
}

// Lock acquires the lock with a name, which must not be "", until unlock is called or the
// process ends; unlock is idempotent. The lock is associated with the file, but does not
// lock its content: the holder and others may read and edit it. Locks of other names are
// independent. The context bounds the wait for the lock.
func (f *File) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	_, lock, err := f.acquire(ctx, "."+name)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil // the garbage collector closes a file that cannot be unlocked
}

// Remove deletes the file. It is idempotent. The context bounds the wait for the
// lock.
func (f *File) Remove(ctx context.Context) error {
	return f.withLock(ctx, contentLock, func(path string) error {
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

const contentLock = "" // the name of the lock of the file itself

// withLock calls fn with the resolved path while it holds the lock with the given name.
func (f *File) withLock(ctx context.Context, name string, fn func(path string) error) (err error) {
	path, lock, err := f.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer func() {
		unlockErr := lock.Unlock()
		if err == nil {
			err = unlockErr
		}
	}()
	return fn(path)
}

// acquire waits for a lock of the file and returns the resolved path and the
// lock. The lock is on a separate file, because the file itself is replaced.
// The lock file is never deleted: a lock on a deleted file would exclude no
// other process.
func (f *File) acquire(ctx context.Context, name string) (path string, lock *flock.Flock, err error) {
	path, err = f.resolve()
	if err != nil {
		return "", nil, err
	}
	lock = flock.New(path+name+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return "", nil, notLocked(path, err)
	}
	return path, lock, nil
}

func notLocked(path string, err error) error {
	return fmt.Errorf("no lock on %s: %w", path, err)
}

// writeAndRename writes a temporary file and renames it over the file. The caller must hold
// the lock.
func (f *File) writeAndRename(path string, content []byte) error {
	if len(content) > maxSize { // Read would reject it
		return &FileError{path, "its content would be larger than 64 MiB"}
	}
	name := filepath.Base(path)
	removeTemporary(filepath.Dir(path), name)
	tmp, err := f.disk.create(filepath.Dir(path), name+tempInfix+"*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Sync() // before the rename, or a power failure may leave an empty file
	}
	closeErr := tmp.Close()
	if err == nil {
		err = closeErr
	}
	if err == nil {
		err = f.disk.rename(tmp.Name(), path)
	}
	if err != nil {
		_ = f.disk.remove(tmp.Name()) // if that fails, a later write removes it
		return err
	}
	return f.disk.syncDir(filepath.Dir(path))
}

// removeTemporary removes the temporary files of killed writers. The caller must hold the lock,
// so that none of them is in use. Errors are ignored: the next call retries.
func removeTemporary(dir, name string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), name+tempInfix)
		if ok && digits != "" && strings.Trim(digits, "0123456789") == "" && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// makeDir creates a missing directory durably. For a symbolic link to a missing
// directory it creates the target.
func (f *File) makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if link, err := os.Lstat(dir); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(dir)
		if err := cmp.Or(f.access.checkLink(dir, link), err); err != nil {
			return err
		}
		return f.makeDir(target(dir, to))
	}
	parent := filepath.Dir(dir)
	if err := f.makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // created by another process
		}
		return err
	}
	return f.disk.syncDir(parent)
}

// target returns the path that the symbolic link at path leads to. Its content may be
// relative to the directory of the link.
func target(path, content string) string {
	if filepath.IsAbs(content) {
		return content
	}
	return filepath.Join(filepath.Dir(path), content)
}

// resolve resolves symbolic links, so that the links are kept and all names of a
// file share one lock. The file need not exist; missing directories are created.
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
		if err := cmp.Or(f.access.checkLink(path, info), err); err != nil {
			return "", err
		}
		path = target(path, to)
	}
	return "", fmt.Errorf("durable: %s: too many symbolic links", path)
}

// disk abstracts the file system, so that tests can inject failures.
type disk interface {
	create(dir, pattern string) (output, error)
	rename(from, to string) error
	remove(path string) error
	syncDir(dir string) error
}

type output interface {
	io.WriteCloser
	Name() string
	Sync() error
}

type osDisk struct{}

// create creates a new file with mode 0600; it never opens an existing one.
func (osDisk) create(dir, pattern string) (output, error) { return os.CreateTemp(dir, pattern) }
func (osDisk) rename(from, to string) error               { return rename(from, to) }
func (osDisk) remove(path string) error                   { return os.Remove(path) }
func (osDisk) syncDir(dir string) error                   { return syncDir(os.Open, dir) }
