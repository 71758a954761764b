package main

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestServerInTheProcessGoesOnWhenItsDiskHasRoom(t *testing.T) {
	t.Parallel()
	s, profile := newPlatform(10)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("a file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := startRelay(t, s, "-data", filepath.Join(dir, "data"), "-profiles", profile)
	waitFor(t, r.url, r.log, func(now status) bool { return now.Profiles[0].Messages == 10 })
	full := filepath.Join(dir, "full")
	if err := fill(full); err != nil {
		t.Fatal(err)
	}
	addEvents(s, profile, 500)
	waitForPage(t, r, "/healthz", http.StatusServiceUnavailable, "no space left")
	waitForPage(t, r, "/readyz", http.StatusServiceUnavailable, "no space left")
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	waitFor(t, r.url, r.log, func(now status) bool { return now.Profiles[0].Messages == 510 })
	waitForPage(t, r, "/healthz", http.StatusOK, "ok")
	waitForPage(t, r, "/readyz", http.StatusOK, "ready")
}

// fill writes a file until its disk is full.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for size := 1 << 16; size > 0; { // to the last byte
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return nil
}
