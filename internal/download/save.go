package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/durable"
)

// Copy writes all of d to w and closes d. It returns the number of bytes
// written, also with an error. It calls report, if that is not nil, after each
// write.
func Copy(
	ctx context.Context, w io.Writer, d *api.Download, report func(context.Context, api.Progress),
) (n int64, err error) {
	defer func() { _ = d.Close() }()
	if report != nil {
		w = &reporter{w, func(p api.Progress) { report(ctx, p) }, api.Progress{Total: d.Length}}
	}
	size := int64(bufferSize)
	if d.Length >= 0 {
		size = min(size, d.Length+1) // one byte more, to read the end at once
	}
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{d}, make([]byte, size))
}

// bufferSize is that of the buffer between connection and file. Four times that of
// [io.Copy] takes less CPU time.
const bufferSize = 128 << 10

type reporter struct {
	io.Writer
	report func(api.Progress)
	p      api.Progress
}

func (t *reporter) Write(p []byte) (int, error) {
	n, err := t.Writer.Write(p)
	t.p.Done += int64(n)
	t.report(t.p)
	return n, err
}

// Save writes all of d to a file, as Copy does. If path is a directory or ends
// in a separator, the file is called name in that directory, made safe by
// [Name], and must not exist: the name is the server's choice. A file at any
// other path is replaced. Save is atomic: it writes the whole file or none. It
// returns the path of the file and its size in bytes. Errors name the operation.
func Save(
	ctx context.Context, op, path string, d *api.Download, name string, report func(context.Context, api.Progress),
) (saved string, n int64, err error) {
	defer func() { _ = d.Close() }() // if nothing was read
	path, err = target(path, name)
	if err != nil {
		return "", 0, call.Failed(op, "", err)
	}
	err = durable.Write(path, func(w io.Writer) error {
		n, err = Copy(ctx, w, d, report)
		return err
	})
	if err != nil {
		return "", 0, call.Failed(op, "", err)
	}
	return path, n, nil
}

func target(path, name string) (string, error) {
	info, err := os.Stat(path)
	directory := err == nil && info.IsDir()
	if !directory && (path == "" || !os.IsPathSeparator(path[len(path)-1])) {
		return path, nil
	}
	path = filepath.Join(path, Name(name))
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not replaced, for the server chose the name: %w", path, fs.ErrExist)
	}
	return path, nil
}

const (
	nameless = "download"
	maxName  = 200 // bytes; file systems allow 255, and a temporary name needs some more
)

// Name returns a safe file name made from name: one path element, not hidden,
// that means the same on every system.
func Name(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case !unicode.IsPrint(r): // control characters, also those that change the text direction
			return -1
		case strings.ContainsRune(`<>:"|?*`, r): // special on Windows
			return '_'
		}
		return r
	}, name)
	name = strings.TrimLeft(name, ". ")
	name = strings.ToValidUTF8(name[:min(len(name), maxName)], "") // drop a truncated character
	name = strings.TrimRight(name, ". ")
	if name == "" {
		return nameless
	}
	if device.MatchString(name) {
		return "_" + name
	}
	return name
}

// device matches the names that Windows reserves for devices, with any extension.
var device = regexp.MustCompile(`(?i)^(CON|PRN|AUX|NUL|(COM|LPT)[0-9¹²³]) *(\.|$)`)
