//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openToRead does not block on a named pipe.
func openToRead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the path is the caller's
}

const othersMode fs.FileMode = 0o077

// check rejects a file that another user may have written or read.
func (a Access) check(file *os.File, path string, info fs.FileInfo) error {
	if a == AnyAccess {
		return nil
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return &FileError{path, fmt.Sprintf("it belongs to another user (uid %d, not %d)", s.Uid, os.Geteuid())}
	}
	mode := info.Mode().Perm()
	switch {
	case mode&othersMode == 0:
	case a == OwnedAccess:
		_ = file.Chmod(mode &^ othersMode) // may fail on a read-only file system
	default:
		const reason = "other users have access to it (mode %#o): make sure that none has used it, then chmod 600"
		return &FileError{path, fmt.Sprintf(reason, mode)}
	}
	return nil
}
