package uploads

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/wait"
)

// rootFS is a local folder. Its names need not be UTF-8, as those of [os.Root.FS] must be.
type rootFS struct{ root *os.Root }

// Open opens a file or folder. For a named pipe it does not wait for a writer.
func (r rootFS) Open(name string) (fs.File, error) {
	f, err := r.root.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, err // not f: a nil *os.File in an interface is not equal to nil
	}
	return f, nil
}

func (r rootFS) Stat(name string) (fs.FileInfo, error) { return r.root.Stat(name) }

// ReadDir returns the entries of a folder, sorted by name.
func (r rootFS) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := r.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// found is an entry of a local folder.
type found struct {
	name   string
	folder bool
	info   fs.FileInfo // of a link: that of its file
	err    error       // why it cannot be sent
}

// list reads a local folder, and returns the entries that the filter selects, and
// whether the filter leaves out any. If the file system blocks, list returns when ctx is done.
func (d *dir) list(ctx context.Context, folder string) (selected []found, filtered bool, err error) {
	type listing struct {
		selected []found
		filtered bool
	}
	l, err := wait.Call(ctx, func() (l listing, err error) {
		entries, err := fs.ReadDir(d.fsys, path.Join(".", folder))
		l.selected = make([]found, 0, len(entries))
		for _, e := range entries {
			at := path.Join(folder, e.Name())
			if !d.o.Filter.Selects(at, e.IsDir()) {
				l.filtered = true
				continue
			}
			info, err := d.stat(e, at)
			l.selected = append(l.selected, found{e.Name(), e.IsDir(), info, err})
		}
		return l, err
	})
	return l.selected, l.filtered, err
}

// stat returns the information on a file or folder. For a link it is that of the linked
// file. It returns [api.ErrNotFile] for anything else, such as a pipe, a broken link or one
// to a folder.
func (d *dir) stat(e fs.DirEntry, at string) (fs.FileInfo, error) {
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = fs.Stat(d.fsys, at)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			err = api.ErrNotFile
		}
	}
	if err == nil && !e.IsDir() && !info.Mode().IsRegular() {
		err = api.ErrNotFile
	}
	return info, err
}

// open opens a local file. It returns [api.ErrChanged] if the file has changed
// since its folder was read.
func (d *dir) open(e *entry) (fs.File, error) {
	local, err := d.fsys.Open(e.Path)
	if err != nil {
		return nil, err
	}
	if !isUnchanged(local, e.info) {
		_ = local.Close()
		return nil, api.ErrChanged
	}
	return local, nil
}

// openContent returns a reader of the content of a local file. A small file is read
// into memory, a large one is opened.
func (d *dir) openContent(ctx context.Context, e *entry) (io.ReadCloser, error) {
	return wait.Call(ctx, func() (io.ReadCloser, error) {
		if e.Size <= MaxSingle {
			content, err := d.readContent(e, make([]byte, e.Size+1)) // the last byte is for a file that has grown
			return memory{bytes.NewReader(content)}, err
		}
		local, err := d.open(e)
		if err == nil && ctx.Err() != nil { // wait.Call may have returned before, without the file
			err = errors.Join(ctx.Err(), local.Close())
		}
		return local, err
	})
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// exact is content that must have a number of bytes.
type exact struct {
	io.Reader
	left int64
}

// Read returns [api.ErrChanged] if the content is longer or shorter than expected; left
// is what is still to be read.
func (c *exact) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.left -= int64(n)
	if c.left < 0 || c.left > 0 && errors.Is(err, io.EOF) {
		return 0, api.ErrChanged
	}
	return n, err
}

// readContent reads a small file into p, and returns the part with the content. To
// notice a file that has grown, p must be at least a byte longer than its known size.
func (d *dir) readContent(e *entry, p []byte) ([]byte, error) {
	local, err := d.open(e)
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	n, err := io.ReadFull(local, p[:e.Size+1])
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	case int64(n) != e.Size || !isUnchanged(local, e.info):
		return nil, api.ErrChanged
	}
	return p[:n], nil
}

// readFiles reads small files into a buffer, and returns the content and the entries of
// those that it could read; the entries of the others fail. The buffer must have room for
// all files and for a byte more of each, by which a file that has grown is noticed. The
// error is that of ctx.
func (d *dir) readFiles(ctx context.Context, buffer []byte, entries []*entry) (files []BatchFile, read []*entry, err error) {
	type content struct {
		bytes []byte
		err   error
	}
	all, err := wait.Call(ctx, func() ([]content, error) {
		all := make([]content, len(entries))
		for i, e := range entries {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			all[i].bytes, all[i].err = d.readContent(e, buffer)
			buffer = buffer[len(all[i].bytes):]
		}
		return all, nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i, e := range entries {
		if err := all[i].err; err != nil {
			d.endFailed(ctx, e, err)
			continue
		}
		files = append(files, BatchFile{Name: e.name(), Path: e.in.pathWithSlash(), Content: all[i].bytes})
		read = append(read, e)
	}
	return files, read, nil
}
