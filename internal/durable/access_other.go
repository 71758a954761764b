//go:build !unix

package durable

import (
	"io/fs"
	"os"
)

func openToRead(path string) (*os.File, error) {
	return os.Open(path) //nolint:gosec // the path is the caller's
}

// check accepts every file: this system has no Unix owners and modes.
func (Access) check(*os.File, string, fs.FileInfo) error { return nil }
