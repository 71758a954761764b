package uploads

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
)

// DirOptions are the options of the upload of a folder. Nil and zero fields mean the
// defaults.
type DirOptions struct {
	Filter api.DirFilter // default: all

	// Rename gives another name to a file or folder whose name the platform does not allow,
	// or differs from another one only by case or Unicode form. Default: it fails.
	Rename bool

	// Overwrite sends all files, also those that the target has with the same content.
	Overwrite bool

	Parallel       int    // requests at a time, of up to 32 MiB each; default 4
	BytesPerSecond int64  // of all files together; default: no limit
	ChunkSize      int64  // see [FileOptions]
	Creator        string // see [StartRequest]

	// Sessions are those of an earlier call that did not complete, by the path of the file. A
	// file of the same size continues its session.
	Sessions map[string]Session

	// OnSession is called when a file is sent in chunks, OnProgress when the server has
	// received bytes, OnEntry when an entry has ended. Calls of the last two do not overlap.
	OnSession  func(ctx context.Context, path string, s Session) error
	OnProgress func(ctx context.Context, p api.DirProgress)
	OnEntry    func(ctx context.Context, e api.DirEntry)
}

const (
	opDir           = "uploads.Dir"
	batchBytes      = 32 << 20 // of files sent in one call
	defaultParallel = 4
)

// Dir uploads the files of a local folder with its subfolders, also empty ones, to a
// folder of a workspace or share. Links to files in the local folder are followed. Links
// out of it, links to folders and special files are skipped.
//
// The filter leaves out folders without a file that it selects; with Include or Paths also
// empty ones. A file of the target in the way of a folder fails the files of that folder with
// [api.ErrNameTaken].
//
// Files that the target has with the same size and hash are not sent. Up to 200 files of
// at most [MaxSingle] bytes are sent in one call; those that are refused are sent once
// more. If the result of a call is unknown, the target is read, and only what it does not
// have is sent again. A file is done when the platform has stored it. A file that is larger than the plan allows fails before any is sent.
//
// The result has an entry for each file, also with an error. Errors: [*api.DirError] if
// entries have failed. The status 401, 402 and 429, and [api.ErrUnauthenticated], end the
// call early, as do [api.ErrNotFound] and [api.ErrForbidden] for the target.
func (s *Service) Dir(
	ctx context.Context, t Target, folder string, o *DirOptions, opts ...api.CallOption,
) (*api.DirResult, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, call.Failed(opDir, "", err)
	}
	defer func() { _ = root.Close() }()
	return s.FS(ctx, t, root.FS(), o, opts...)
}

// FS is [Service.Dir] for a file system, such as one in memory. Its files that are larger
// than [MaxSingle] must be an [io.ReaderAt], or are sent as streams.
func (s *Service) FS(
	ctx context.Context, t Target, fsys fs.FS, o *DirOptions, opts ...api.CallOption,
) (*api.DirResult, error) {
	if err := call.Check(ctx, s.c, opDir); err != nil {
		return nil, err
	}
	d := &dir{s: s, in: t.Profile, base: t.Folder, fsys: fsys, opts: opts, rules: dirs.Rules{Allowed: dirs.Allowed}}
	if o != nil {
		d.o = *o
	}
	if err := d.check(t); err != nil {
		return nil, err
	}
	if d.base == "" {
		d.base = api.Root
	}
	if d.o.Parallel == 0 {
		d.o.Parallel = defaultParallel
	}
	if d.o.Rename {
		d.rules.Clean = dirs.Clean
	}
	d.Transfer = dirs.Transfer{BytesPerSecond: d.o.BytesPerSecond, OnProgress: d.o.OnProgress, OnEntry: d.o.OnEntry}
	d.root = &folder{id: d.base}
	for name := range strings.SplitSeq(strings.TrimSuffix(t.Path, "/"), "/") {
		if name != "" {
			d.root = &folder{target: path.Join(d.root.target, name), parent: d.root}
		}
	}
	return d.Run(ctx, d.scan, d.limit, d.compare, d.send)
}

// dir is an upload of a folder.
type dir struct {
	dirs.Transfer

	s     *Service
	in    api.Profile
	base  api.OpaqueID // the folder of the target
	root  *folder
	fsys  fs.FS
	o     DirOptions
	opts  []api.CallOption
	rules dirs.Rules
}

// folder is a local folder.
type folder struct {
	path   string // below the source
	target string // below dir.base
	parent *folder
	id     api.OpaqueID // on the platform; "" if unknown

	files    []*entry
	folders  []*folder
	filtered bool // it is left out if it holds no file: the filter may be the reason
	taken    bool // the name is in use for a file
}

// entry is a local file.
type entry struct {
	*api.DirEntry

	in   *folder
	info fs.FileInfo
}

// name returns the name of the file on the platform.
func (e *entry) name() string { return path.Base(e.Target) }

// relative returns the path of a folder below the base, with a slash behind it.
func (f *folder) relative() string {
	if f.target == "" {
		return ""
	}
	return f.target + "/"
}

func (d *dir) check(t Target) error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: opDir, Field: field, Rule: rule, Got: got}
	}
	switch {
	case d.fsys == nil:
		return refuse("fsys", "must not be nil", "")
	case t != Target{Profile: t.Profile, Folder: t.Folder, Path: t.Path}:
		return refuse("target", "must be a folder", "")
	case t.Path != "" && !relative(t.Path):
		return refuse("relative_path", "must be names of folders, each with a slash behind it", strconv.Quote(t.Path))
	case d.o.Parallel < 0, d.o.BytesPerSecond < 0, d.o.ChunkSize < 0:
		return refuse("options", "must have no negative number", "")
	}
	if err := d.o.Filter.Check(opDir); err != nil {
		return err
	}
	return t.Profile.OneOf(opDir, "instance_id", api.ProfileKindWorkspace, api.ProfileKindShare)
}

// scan reads the local folder.
func (d *dir) scan(ctx context.Context) error {
	return d.scanFolder(ctx, d.root)
}

func (d *dir) scanFolder(ctx context.Context, f *folder) error {
	entries, err := fs.ReadDir(d.fsys, path.Join(".", f.path))
	switch {
	case err != nil && f == d.root:
		return err
	case err != nil:
		d.ended(ctx, f, "", api.DirFailed, err)
	}
	used := dirs.Names{}
	for _, found := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.scanEntry(ctx, f, found, used); err != nil {
			return err
		}
	}
	return nil
}

func (d *dir) scanEntry(ctx context.Context, f *folder, found fs.DirEntry, used dirs.Names) error {
	at := path.Join(f.path, found.Name())
	if !d.o.Filter.Selects(at, found.IsDir()) {
		f.filtered = true
		return nil
	}
	info, err := found.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if info, err = fs.Stat(d.fsys, at); err != nil {
			err = api.ErrNotFile
		}
	}
	if err == nil && !found.IsDir() && !info.Mode().IsRegular() {
		err = api.ErrNotFile
	}
	name := found.Name()
	if err == nil {
		name, err = used.Add(name, d.rules)
	}
	target := path.Join(f.target, name)
	if err == nil && found.IsDir() && utf8.RuneCountInString(target) >= longestPath {
		err = api.ErrName
	}
	switch {
	case errors.Is(err, api.ErrNotFile):
		d.ended(ctx, f, found.Name(), api.DirSkipped, err)
	case err != nil:
		d.ended(ctx, f, found.Name(), api.DirFailed, err)
	case found.IsDir():
		selects := len(d.o.Filter.Include) > 0 || d.o.Filter.Paths != nil
		sub := &folder{path: at, target: target, parent: f, filtered: selects}
		f.folders = append(f.folders, sub)
		return d.scanFolder(ctx, sub)
	default:
		e := &entry{DirEntry: &api.DirEntry{Path: at, Target: target, Size: info.Size()}, in: f, info: info}
		f.files = append(f.files, e)
		d.Add(e.DirEntry)
	}
	return nil
}

// ended adds an entry that is not sent.
func (d *dir) ended(ctx context.Context, f *folder, name string, state api.DirState, err error) {
	e := &api.DirEntry{Path: path.Join(f.path, name), Target: path.Join(f.target, name)}
	d.Add(e)
	d.End(ctx, e, state, err)
}

// pending calls visit for each file that has not ended.
func (f *folder) pending(visit func(e *entry)) {
	for _, e := range f.files {
		if e.State == api.DirPending {
			visit(e)
		}
	}
	for _, sub := range f.folders {
		sub.pending(visit)
	}
}

// limit fails the files that are larger than the plan allows.
func (d *dir) limit(ctx context.Context) error {
	limits, err := d.s.Limits(ctx, Target{Profile: d.in, Folder: d.base}, d.opts...)
	if err != nil {
		return err
	}
	d.root.pending(func(e *entry) {
		if _, err := limits.chunkSize(opDir, e.Size, d.o.ChunkSize); err != nil {
			d.End(ctx, e.DirEntry, api.DirFailed, err)
		}
	})
	return nil
}
