//go:build !windows

package durable

import (
	"errors"
	"os"
	"syscall"
)

// retryBusy calls f once: files are never busy on this system.
func retryBusy(f func() error) error { return f() }

func rename(from, to string) error { return os.Rename(from, to) }

// moveOpen renames or removes an open file and closes it: its lock ends last.
func moveOpen(f *os.File, move func() error) error {
	return errors.Join(move(), f.Close())
}

// syncDir makes the entries of a directory durable. File systems that do not support
// it are ignored.
func syncDir(open func(string) (*os.File, error), dir string) error {
	d, err := open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // nothing was written through it
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
