package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/gofrs/flock"
)

const (
	lockName  = "fastio-relay.lock"
	maxHolder = 500 // bytes of the text that says who holds the lock
)

// lockDir creates the directory of a NATS server and locks it: two servers on one
// directory delete each other's messages. The lock ends with the process.
func lockDir(dir, replica string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("-data: %w", err)
	}
	path := filepath.Join(dir, lockName)
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("-data %s cannot be locked: %w", dir, err)
	}
	if !locked {
		return nil, fmt.Errorf("-data %s is in use by %s: stop it, or use another directory", dir, holderOf(path))
	}
	host, _ := os.Hostname()
	holder := fmt.Sprintf("process %d on %s, replica %s, since %s",
		os.Getpid(), cmp.Or(host, "an unnamed machine"), replica, time.Now().UTC().Format(time.RFC3339))
	if err := os.WriteFile(path, []byte(holder), 0o600); err != nil {
		return nil, fmt.Errorf("-data %s cannot be written: %w", dir, errors.Join(err, lock.Unlock()))
	}
	return lock, nil
}

// holderOf returns the text that the holder of a lock has written.
func holderOf(path string) string {
	text, err := os.ReadFile(path)                             //nolint:gosec // in the directory that the user names
	if err != nil || len(text) == 0 || len(text) > maxHolder { // on Windows a locked file cannot be read
		return "another process"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, string(text))
}
