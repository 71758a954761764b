//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package durable

import "os"

// lockOpen does nothing: this system has no locks that belong to an open file.
func lockOpen(*os.File) error { return nil }

// unlockOpen does nothing either.
func unlockOpen(*os.File) error { return nil }
