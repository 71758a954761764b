//go:build !unix

package durable

import (
	"io/fs"
	"os"
)

func openToRead(path string) (*os.File, error) {
	return os.Open(path) //nolint:gosec // the caller chose the file
}

// check accepts every file: there are no Unix owners and modes here.
func (Access) check(*os.File, string, fs.FileInfo) error { return nil }
