//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package durable

import (
	"errors"
	"os"
	"syscall"
)

// lockOpen locks an open file until it is closed. File systems that do not support it
// are ignored.
func lockOpen(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrInUse
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EINVAL):
		return nil
	}
	return err
}

// unlockOpen unlocks a file that lockOpen has locked, and all copies of its descriptor.
func unlockOpen(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EINVAL):
		return nil
	}
	return err
}
