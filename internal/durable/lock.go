package durable

import (
	"errors"
	"fmt"
	"os"
)

// LockFile opens the file at path, which it creates if it does not exist, and locks it
// until it is closed or the process ends. A system or file system without locks does not
// lock it. Errors: [ErrInUse] if it is locked elsewhere.
func LockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller chooses the file
	if err != nil {
		return nil, err
	}
	if err := lockOpen(f); err != nil {
		_ = f.Close() // nothing was written through it
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// CloseLocked unlocks and closes a file of [LockFile]. [os.File.Close] alone would leave it
// locked as long as a process that this one is starting has a copy of its descriptor.
func CloseLocked(f *os.File) error { return errors.Join(unlockOpen(f), f.Close()) }

// SyncDir makes the entries of a directory durable.
func SyncDir(dir string) error { return osDisk{}.syncDir(dir) }
