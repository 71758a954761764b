//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package durable_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fastio-go/fastio/internal/durable"
)

// A process that is being started has copies of all descriptors for a moment.
func TestCloseLockedUnlocksCopiesOfTheDescriptor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	f, err := durable.LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(child) }()
	if err := durable.CloseLocked(f); err != nil {
		t.Fatal(err)
	}
	f, err = durable.LockFile(path)
	if err != nil {
		t.Fatal("it is still locked:", err)
	}
	if err := durable.CloseLocked(f); err != nil {
		t.Error(err)
	}
}
