package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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
) (int64, error) {
	return copyFrom(ctx, w, d, 0, report)
}

// copyFrom copies d to w and closes d. The file has some bytes already (there), which
// the reported progress includes.
func copyFrom(
	ctx context.Context, w io.Writer, d *api.Download, there int64, report func(context.Context, api.Progress),
) (n int64, err error) {
	defer func() { _ = d.Close() }()
	size, total := int64(bufferSize), d.Length
	if total >= 0 {
		size = min(size, total+1) // one byte more, to read the end at once
		total += there
	}
	if report != nil {
		w = &reporter{w, func(p api.Progress) { report(ctx, p) }, api.Progress{Done: there, Total: total}}
	}
	// The structs hide methods of w and d that CopyBuffer would use instead of the buffer.
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

// Write writes p and reports the progress.
func (t *reporter) Write(p []byte) (int, error) {
	n, err := t.Writer.Write(p)
	t.p.Done += int64(n)
	t.report(t.p)
	return n, err
}

// Source is content to be saved as a file.
type Source struct {
	Op   string // that errors name
	Name string // on the server; if "", Save asks for it where it needs it
	ID   string // of the content, the same only for the same bytes; "" if unknown

	// Open opens the content from an offset on, unchecked. The offset is 0 unless Size and
	// Hash are known.
	Open func(ctx context.Context, offset int64) (*api.Download, error)

	Size     int64  // in bytes; not checked if it is 0 or less
	HashAlgo string // that of [Hash]
	Hash     string // in hexadecimal; not checked if it is "", or if HashAlgo is unknown

	Report func(context.Context, api.Progress) // as in [Copy]; with the bytes of earlier calls

	keepsFile bool // SaveIn replaces no file that exists
}

// Save writes s to a file. If path is a directory or ends in a separator, the file is
// called s.Name in that directory, made safe by [Name], and must not exist: the name is
// the server's choice. A file at any other path is replaced. It returns the path of the
// file and its size in bytes. Errors name the operation.
func (s *Source) Save(ctx context.Context, path string) (saved string, n int64, err error) {
	path, err = s.target(ctx, path)
	if err != nil {
		return "", 0, call.Failed(s.Op, err)
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", 0, call.Failed(s.Op, err)
	}
	defer func() { _ = dir.Close() }() // the Close of a directory loses no data
	n, err = s.SaveIn(ctx, dir, filepath.Base(path), durable.Partials)
	if err != nil {
		return "", 0, call.Failed(s.Op, err)
	}
	return path, n, nil
}

// SaveIn writes s to a file of a directory, and returns its size in bytes. It is atomic:
// it writes the whole file or none.
//
// Until the file is complete it is a [durable.Partial], which stays if the process or the
// call is interrupted and is continued by the next call, if Size and Hash are known. If
// the result is not intact, SaveIn starts over once. List returns the names of the partials
// in the directory: SaveIn removes those of the same file that are of other contents.
//
// Errors: [api.ErrInUse] if another call, also of another process, writes the same file.
func (s *Source) SaveIn(
	ctx context.Context, dir *os.Root, name string, list func(*os.Root) ([]string, error),
) (n int64, err error) {
	p, err := durable.OpenPartial(dir, name, s.key(name))
	if err != nil {
		return 0, inUse(name, err)
	}
	defer func() { _ = p.Close() }() // if s.Report panics; else Commit, Keep or Remove has closed it
	others, err := list(dir)
	if err == nil {
		err = p.RemoveOthers(others)
	}
	if err == nil {
		n, err = s.receive(ctx, p)
	}
	if err == nil && s.keepsFile { // a file of that name may have appeared meanwhile
		err = checkFree(name, dir.Lstat)
	}
	switch { // p must be ended after any error: it stays, to be continued, or is removed
	case err == nil:
		return n, p.Commit()
	case s.resumable() && (ctx.Err() != nil || temporary(err)):
		_ = p.Keep() // if that fails, the next call starts over
	default:
		_ = p.Remove() // if that fails, the next call does it
	}
	return 0, inUse(name, err)
}

// key returns what a partial of the file stands for.
func (s *Source) key(name string) string {
	size := strconv.FormatInt(s.Size, 10)
	return strings.Join([]string{s.ID, size, strings.ToLower(s.HashAlgo), strings.ToLower(s.Hash), name}, "\x00")
}

// inUse translates the error of a file that another process writes to
// [api.ErrInUse].
func inUse(name string, err error) error {
	if errors.Is(err, durable.ErrInUse) {
		return fmt.Errorf("%s: %w", name, api.ErrInUse)
	}
	return err
}

// resumable reports whether continued content can be checked.
func (s *Source) resumable() bool {
	return s.ID != "" && s.Size > 0 && s.Hash != "" && Hash(s.HashAlgo) != nil
}

// temporary reports whether a download that failed with err can be continued later.
func temporary(err error) bool {
	_, local := errors.AsType[*fs.PathError](err)
	return !local && !errors.Is(err, fs.ErrExist) && !mayMixContents(err) && (call.EndsAll(err) || !call.Final(err))
}

// mayMixContents reports whether err may mean that the bytes received before are those
// of another content.
func mayMixContents(err error) bool {
	e, refused := errors.AsType[*api.Error](err)
	return errors.Is(err, api.ErrCorrupt) || errors.Is(err, api.ErrChanged) ||
		refused && e.Status == http.StatusRequestedRangeNotSatisfiable
}

// receive completes a partial file and returns its size. A check hashes the bytes that the
// file has, and then those that arrive. If the two are parts of different contents, because
// the file on the server has changed meanwhile, receive starts again with an empty file.
func (s *Source) receive(ctx context.Context, p *durable.Partial) (int64, error) {
	check, err := s.resume(ctx, p)
	if err != nil {
		return 0, err
	}
	continued := check.n > 0 // the file had bytes, which the check has read
	err = s.fill(ctx, p, check)
	if continued && mayMixContents(err) {
		check = s.startCheck()
		err = p.Restart()
		if err == nil {
			err = s.fill(ctx, p, check)
		}
	}
	return check.n, err
}

// startCheck returns a check of the size and the hash of the content, which has read
// nothing yet.
func (s *Source) startCheck() *checked { return newChecked(s.Op, s.Size, s.HashAlgo, s.Hash) }

// resume returns a check that has read the content of the partial file so far.
// If the download cannot be resumed, it empties the file.
func (s *Source) resume(ctx context.Context, p *durable.Partial) (*checked, error) {
	c := s.startCheck()
	info, err := p.Stat()
	if err != nil {
		return nil, err
	}
	if !s.resumable() || info.Size() > s.Size {
		return c, p.Restart()
	}
	buffer := make([]byte, min(bufferSize, info.Size()))
	for c.n < info.Size() && ctx.Err() == nil {
		n, err := p.Read(buffer)
		if err != nil {
			return nil, err
		}
		c.add(buffer[:n])
	}
	return c, ctx.Err()
}

// fill appends to the partial file what it lacks. C has checked the part that
// is there, and checks the rest.
func (s *Source) fill(ctx context.Context, p *durable.Partial, c *checked) error {
	there := c.n
	if there > 0 && there == s.Size {
		if s.Report != nil {
			s.Report(ctx, api.Progress{Done: there, Total: there})
		}
		return c.verify()
	}
	d, err := s.Open(ctx, there)
	if err != nil {
		return err
	}
	c.wrap(d)
	_, err = copyFrom(ctx, p, d, there, s.Report)
	return err
}

// CheckPath rejects an empty path.
func CheckPath(op, path string) error {
	if path == "" {
		return &api.InputError{Op: op, Field: "path", Rule: "must not be empty"}
	}
	return nil
}

// target returns the path of the file to write. A path that is a directory, or
// ends with a separator, gets the name that the server gives the file; then an
// existing file is an error.
func (s *Source) target(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	directory := err == nil && info.IsDir()
	if !directory && !os.IsPathSeparator(path[len(path)-1]) {
		return path, nil
	}
	if s.Name == "" {
		d, err := s.Open(ctx, 0)
		if err != nil {
			return "", err
		}
		_ = d.Close() // it is opened again
		s.Name = d.Name
	}
	path, s.keepsFile = filepath.Join(path, Name(s.Name)), true
	return path, checkFree(path, os.Lstat)
}

// checkFree returns [fs.ErrExist] if a file has the path, which lstat looks up.
func checkFree(path string, lstat func(string) (fs.FileInfo, error)) error {
	_, err := lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s is not replaced, for the server chose the name: %w", path, fs.ErrExist)
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
	name = strings.TrimRight(cut(strings.Trim(name, ". ")), ". ")
	if name == "" {
		return nameless
	}
	if device.MatchString(name) {
		return "_" + name
	}
	return name
}

// cut returns a name of at most maxName bytes, cut before its extension. If the extension is longer
// than half of maxName, the name is cut at its end.
func cut(name string) string {
	if len(name) <= maxName {
		return name
	}
	extension := filepath.Ext(name)
	if len(extension) > maxName/2 {
		extension = ""
	}
	base := name[:maxName-len(extension)]
	return strings.ToValidUTF8(base, "") + extension // without a truncated character
}

// device matches the names that Windows reserves for devices, with any extension.
var device = regexp.MustCompile(`(?i)^(CON|PRN|AUX|NUL|(COM|LPT)[0-9¹²³]) *(\.|$)`)
