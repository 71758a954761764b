package download

import (
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
	"github.com/fastio-go/fastio/internal/durable"
)

// Progress is called with the number of bytes received and their total, -1 if it is
// unknown. It may be nil.
type Progress func(done, total int64)

// Copy writes all of d to w and closes d. It returns how many bytes were written,
// also when it fails.
func Copy(w io.Writer, d *api.Download, progress Progress) (n int64, err error) {
	defer func() { _ = d.Close() }()
	if progress != nil {
		w = &reporter{w, progress, 0, d.Length}
	}
	return io.Copy(w, d)
}

type reporter struct {
	io.Writer
	progress    Progress
	done, total int64
}

func (t *reporter) Write(p []byte) (int, error) {
	n, err := t.Writer.Write(p)
	t.done += int64(n)
	t.progress(t.done, t.total)
	return n, err
}

// Save writes all of d to a file and closes d. A path that is a directory, or ends
// in a separator, gets a file called name in it, as far as that is safe; it must
// be new, for the name is the server's. A path of any other kind is replaced. The
// file is there as a whole or not at all. Save returns its path.
func Save(path string, d *api.Download, name string, progress Progress) (string, error) {
	path, err := target(path, name)
	if err != nil {
		_ = d.Close()
		return "", err
	}
	err = durable.Write(path, func(w io.Writer) error {
		_, err := Copy(w, d, progress)
		return err
	})
	_ = d.Close() // if it was never begun
	if err != nil {
		return "", err
	}
	return path, nil
}

func target(path, name string) (string, error) {
	info, err := os.Stat(path)
	directory := err == nil && info.IsDir()
	if !directory && (path == "" || !os.IsPathSeparator(path[len(path)-1])) {
		return path, nil
	}
	path = filepath.Join(path, Name(name))
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("fastio: %s is not replaced, for the server chose the name: %w", path, fs.ErrExist)
	}
	return path, nil
}

const (
	nameless = "download"
	maxName  = 200 // bytes; file systems take 255, and a name for the time before needs some more
)

// Name returns what a file may be called here that a server calls name: one element
// of a path, not hidden, that means the same on every system.
func Name(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case !unicode.IsPrint(r): // control characters, and those that turn the direction
			return -1
		case strings.ContainsRune(`<>:"|?*`, r): // which Windows takes for something else
			return '_'
		}
		return r
	}, name)
	name = strings.TrimLeft(name, ". ")
	name = strings.ToValidUTF8(name[:min(len(name), maxName)], "") // without what is left of a character
	name = strings.TrimRight(name, ". ")
	if name == "" {
		return nameless
	}
	if device.MatchString(name) {
		return "_" + name
	}
	return name
}

// device is a name that Windows takes, whatever its extension, for a device.
var device = regexp.MustCompile(`(?i)^(CON|PRN|AUX|NUL|(COM|LPT)[0-9¹²³]) *(\.|$)`)
