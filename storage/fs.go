package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// FS returns a folder of a workspace or share, or [api.Root], as a read-only file system. It
// implements [fs.ReadDirFS] and [fs.StatFS].
//
// Each operation lists the folders of its path; nothing is kept between operations. Open
// sends no request for the content: the first Read does, and reads the version that was
// current at Open, as [Downloads.Read] does. A file that was opened must be closed. All
// requests use ctx and opts.
//
// Notes are files. Links are left out, and so are nodes whose names are not valid in a path,
// such as those with a slash, and all but one of several nodes of the same name. The Sys
// method of a [fs.FileInfo] returns the [*Node].
//
// Errors are of the type [*fs.PathError]: [fs.ErrNotExist] with [api.ErrNotFound],
// [fs.ErrPermission] with [api.ErrForbidden] or [api.ErrUnauthenticated], and others of
// [Service.List] and [Downloads.Read].
func (s *Service) FS(ctx context.Context, in api.Profile, parent api.OpaqueID, opts ...api.CallOption) fs.FS {
	return &tree{ctx, s, in, parent, opts}
}

type tree struct {
	ctx  context.Context //nolint:containedctx // the methods of a file system have none
	s    *Service
	in   api.Profile
	root api.OpaqueID
	opts []api.CallOption
}

// Open opens a file or folder.
func (t *tree) Open(name string) (fs.File, error) {
	n, err := t.nodeAt("open", name)
	if err != nil {
		return nil, err
	}
	if n.IsDir() {
		return &openFolder{entry: n, t: t, path: name}, nil
	}
	return &openFile{entry: n, t: t, path: name}, nil
}

// Stat describes a file or folder.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.nodeAt("stat", name)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ReadDir lists a folder by name.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.nodeAt("readdir", name)
	if err == nil && !n.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	return t.list("readdir", name, n.node.ID)
}

// nodeAt returns the node of a path, or an error with [fs.ErrNotExist].
func (t *tree) nodeAt(op, name string) (*entry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	at := &entry{&Node{ID: t.root, Name: ".", Type: NodeTypeFolder}}
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		var children []fs.DirEntry // none of a file
		if at.IsDir() {
			var err error
			children, err = t.list(op, name, at.node.ID)
			if err != nil {
				return nil, err
			}
		}
		i := slices.IndexFunc(children, func(e fs.DirEntry) bool { return e.Name() == part })
		if i < 0 {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		at, _ = children[i].(*entry)
	}
	return at, nil
}

// list returns the nodes of a folder by name, without links and those that a path of
// package fs cannot name. Of nodes with the same name it returns the first.
func (t *tree) list(op, name string, folder api.OpaqueID) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	for n, err := range t.s.All(t.ctx, t.in, folder, nil, t.opts...) {
		if err != nil {
			return nil, pathError(op, name, err)
		}
		valid := fs.ValidPath(n.Name) && n.Name != "." && !strings.Contains(n.Name, "/")
		if valid && n.Type != NodeTypeLink {
			all = append(all, &entry{n})
		}
	}
	slices.SortStableFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.CompactFunc(all, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() }), nil
}

// pathError returns err as an [*fs.PathError] that matches the errors of
// package fs.
func pathError(op, name string, err error) error {
	switch {
	case call.NotFound(err):
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case errors.Is(err, api.ErrForbidden), errors.Is(err, api.ErrUnauthenticated):
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// entry describes a node.
type entry struct{ node *Node }

func (e *entry) Name() string               { return e.node.Name }
func (e *entry) Size() int64                { return e.node.Size }
func (e *entry) ModTime() time.Time         { return e.node.Updated.Time }
func (e *entry) IsDir() bool                { return e.node.Type == NodeTypeFolder }
func (e *entry) Sys() any                   { return e.node }
func (e *entry) Type() fs.FileMode          { return e.Mode().Type() }
func (e *entry) Info() (fs.FileInfo, error) { return e, nil }
func (e *entry) Stat() (fs.FileInfo, error) { return e, nil }

// Mode returns the type of the node, and that it can only be read.
func (e *entry) Mode() fs.FileMode {
	if e.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// openFile is a file whose content is requested by the first Read.
type openFile struct {
	*entry

	t      *tree
	path   string
	body   *api.Download
	closed bool
}

// Read reads the content, which the first Read opens.
func (f *openFile) Read(p []byte) (int, error) {
	switch {
	case f.closed:
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrClosed}
	case len(p) == 0:
		return 0, nil
	case f.body == nil:
		var err error
		o := &DownloadOptions{Version: f.node.Version}
		f.body, err = f.t.s.Downloads.Read(f.t.ctx, f.t.in, f.node.ID, o, f.t.opts...)
		if err != nil {
			return 0, pathError("read", f.path, err)
		}
	}
	n, err := f.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = pathError("read", f.path, err)
	}
	return n, err
}

// Close closes the content, if a Read has opened it.
func (f *openFile) Close() error {
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.path, Err: fs.ErrClosed}
	}
	f.closed = true
	if f.body == nil {
		return nil
	}
	return f.body.Close()
}

// openFolder is a folder that is listed by the first ReadDir.
type openFolder struct {
	*entry

	t      *tree
	path   string
	rest   []fs.DirEntry // not returned yet
	listed bool
}

// Read fails.
func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.path, Err: errors.New("is a directory")}
}

// Close does nothing.
func (f *openFolder) Close() error { return nil }

// ReadDir returns the next n entries, all of them if n is 0 or less.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.listed {
		var err error
		f.rest, err = f.t.list("readdir", f.path, f.node.ID)
		if err != nil {
			return nil, err
		}
		f.listed = true
	}
	if n > 0 && len(f.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.rest) {
		n = len(f.rest)
	}
	var next []fs.DirEntry
	next, f.rest = f.rest[:n], f.rest[n:]
	return next, nil
}
