package durable

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Windows refuses to rename over a file that another process is reading, and to read
// one that is being replaced. Both end within milliseconds; a virus scanner may take
// longer.
const (
	busyRetry   = 5 * time.Millisecond
	busyAtMost  = 2 * time.Second
	errSharing  = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	errDeleting = syscall.Errno(5)  // ERROR_ACCESS_DENIED, while the old file goes away
)

// retryBusy retries f while its file is busy.
func retryBusy(f func() error) error {
	for end := time.Now().Add(busyAtMost); ; {
		err := f()
		if !errors.Is(err, errSharing) && !errors.Is(err, errDeleting) || time.Now().After(end) {
			return err
		}
		time.Sleep(busyRetry) //nolint:forbidigo // must not be canceled, see File.Edit
	}
}

func rename(from, to string) error {
	return retryBusy(func() error { return os.Rename(from, to) })
}

// moveOpen closes a file and renames or removes it: Windows refuses both while it is open.
func moveOpen(f *os.File, move func() error) error {
	return errors.Join(f.Close(), retryBusy(move))
}

// syncDir does nothing: Windows has no way to flush a directory.
func syncDir(func(string) (*os.File, error), string) error { return nil }
