package dirs

import (
	"os"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// OpenFile opens a regular file, and returns it with its size in bytes. It refuses any other
// file, such as a pipe, because to open that could block. Errors name the operation.
func OpenFile(op, path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, 0, &api.InputError{Op: op, Field: "path", Rule: "must be a regular file", Got: strconv.Quote(path)}
	}
	var local *os.File
	if err == nil {
		local, err = os.Open(path) //nolint:gosec // the path is the caller's
	}
	if err != nil {
		return nil, 0, call.Failed(op, err)
	}
	info, err = local.Stat()
	if err != nil {
		_ = local.Close()
		return nil, 0, call.Failed(op, err)
	}
	return local, info.Size(), nil
}
