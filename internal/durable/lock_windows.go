package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOpen locks an open file until it is closed. Only the byte at the largest offset is
// locked, because a locked byte can be neither read nor written.
func lockOpen(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	last := &windows.Overlapped{Offset: 0xfffffffe, OffsetHigh: 0x7fffffff}
	const reserved, bytesLow, bytesHigh = 0, 1, 0
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, reserved, bytesLow, bytesHigh, last)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	return err
}

// unlockOpen does nothing: a started process has no copy of the handle, and closing unlocks.
func unlockOpen(*os.File) error { return nil }
