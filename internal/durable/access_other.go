//go:build !unix

package durable

import (
	"io/fs"
	"os"
)

func openToRead(path string) (*os.File, error) {
	return os.Open(path) //nolint:gosec // the path is the caller's
}

// This system has no Unix owners and modes.

func (Access) check(string, fs.FileInfo) error     { return nil }
func (Access) checkLink(string, fs.FileInfo) error { return nil }

func removeOthersAccess(*os.File, fs.FileInfo) {}

func onlyOurs(fs.FileInfo) bool { return true }
