//go:build !unix

package durable

import (
	"io/fs"
	"os"
)

func openToRead(path string) (*os.File, error) {
	return os.Open(path) //nolint:gosec // the caller chose the file
}

// check accepts every file: this system has no Unix owners and modes.
func (Access) check(*os.File, string, fs.FileInfo) error { return nil }
