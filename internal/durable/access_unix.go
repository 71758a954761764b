//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// openToRead does not block on a named pipe.
func openToRead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the path is the caller's
}

const othersMode fs.FileMode = 0o077

// check returns an error for a file that belongs to another user or, with PrivateAccess,
// to which another user has access. With AnyAccess it checks nothing.
func (a Access) check(path string, info fs.FileInfo) error {
	if a == AnyAccess {
		return nil
	}
	const subject = "it"
	if err := belongsTo(path, subject, info, os.Geteuid()); err != nil {
		return err
	}
	if mode := info.Mode().Perm(); a == PrivateAccess && mode&othersMode != 0 {
		const reason = "other users have access to it (mode %#o): make sure that none has used it, then chmod 600"
		return &FileError{path, fmt.Sprintf(reason, mode)}
	}
	return nil
}

// checkLink returns an error for a symbolic link of another user, who could
// choose where it leads.
func (a Access) checkLink(path string, info fs.FileInfo) error {
	if a == AnyAccess {
		return nil
	}
	const subject, root = "it is a symbolic link that", 0
	return belongsTo(path, subject, info, os.Geteuid(), root)
}

// belongsTo returns an error unless the file belongs to the user self, or to one of the
// others. The text of the error begins with subject: "it", or what the file is.
func belongsTo(path, subject string, info fs.FileInfo, self int, others ...int) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(s.Uid) == self || slices.Contains(others, int(s.Uid)) {
		return nil
	}
	return &FileError{path, fmt.Sprintf("%s belongs to another user (uid %d, not %d)", subject, s.Uid, self)}
}

// removeOthersAccess removes the access of other users to a file.
func removeOthersAccess(file *os.File, info fs.FileInfo) {
	if mode := info.Mode().Perm(); mode&othersMode != 0 {
		_ = file.Chmod(mode &^ othersMode) // may fail on a read-only file system
	}
}

// onlyOurs reports whether a file belongs to this user and has one name, so that no other
// user can change it.
func onlyOurs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(s.Uid) == os.Geteuid() && s.Nlink == 1
}
