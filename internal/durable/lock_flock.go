//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package durable

import (
	"errors"
	"os"
	"syscall"
)

// lockOpen locks an open file until it is closed. On a file system without locks it does
// nothing.
func lockOpen(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return ignoreNoLocks(err)
}

// unlockOpen unlocks a file that lockOpen has locked, and all copies of its descriptor. On
// a file system without locks it does nothing.
func unlockOpen(f *os.File) error { return ignoreNoLocks(syscall.Flock(int(f.Fd()), syscall.LOCK_UN)) }

// ignoreNoLocks returns nil for the errors of a file system without locks, else err.
func ignoreNoLocks(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
