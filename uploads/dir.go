package uploads

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/storage"
)

// DirOptions are the options of the upload of a folder. Nil and zero fields mean the
// defaults.
type DirOptions struct {
	Filter api.DirFilter // default: all

	// Rename gives another name to a file or folder whose name the platform does not allow,
	// or differs from another one only by case or Unicode form. Default: it fails.
	Rename bool

	// Overwrite sends all files, also those that the target has with the same content, and
	// does not list the target.
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
	OnSession  func(ctx context.Context, path string, s Session)
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
// Files that the target has with the same size and hash are not sent. Up to 200 files of
// at most [MaxSingle] bytes are sent in one call; those that are refused are sent once
// more. If the result of a call is unknown, the target is read, and only what it does not
// have is sent again. A file that is larger than the plan allows fails before any is sent.
//
// The result has an entry for each file, also with an error. Errors: [*api.DirError] if
// entries have failed. The status 401, 402 and 429, and [api.ErrUnauthenticated], end the
// call early, as do [api.ErrNotFound] and [api.ErrForbidden] for the target.
func (s *Service) Dir(
	ctx context.Context, t Target, folder string, o *DirOptions, opts ...api.CallOption,
) (*api.DirResult, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
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

	ids sync.Mutex // of folders
}

// folder is a local folder.
type folder struct {
	path   string // below the source
	target string // below dir.base
	parent *folder
	id     api.OpaqueID // on the platform; "" if unknown

	files   []*entry
	folders []*folder
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
	switch target := path.Join(f.target, name); {
	case errors.Is(err, api.ErrNotFile):
		d.ended(ctx, f, found.Name(), api.DirSkipped, err)
	case err != nil:
		d.ended(ctx, f, found.Name(), api.DirFailed, err)
	case found.IsDir():
		sub := &folder{path: at, target: target, parent: f}
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

// compare finds the files that need not be sent, level by level.
func (d *dir) compare(ctx context.Context) error {
	if d.o.Overwrite {
		return nil
	}
	if _, err := d.folderID(ctx, d.root); err != nil {
		return err
	}
	for level := []*folder{d.root}; len(level) > 0 && ctx.Err() == nil; {
		dirs.Each(ctx, d.o.Parallel, level, func(f *folder) {
			if err := d.compareFolder(ctx, f); err != nil {
				d.Stop(err)
			}
		})
		var next []*folder
		for _, f := range level {
			next = append(next, f.folders...)
		}
		level = next
	}
	return nil
}

func (d *dir) compareFolder(ctx context.Context, f *folder) error {
	if f.id == "" {
		return nil
	}
	there := map[string]*storage.Node{}
	for n, err := range d.s.nodes.All(ctx, d.in, f.id, nil, d.opts...) {
		if err != nil {
			return err
		}
		there[n.Name] = n
	}
	for _, sub := range f.folders {
		if n := there[path.Base(sub.target)]; n != nil && n.Type == storage.NodeTypeFolder {
			sub.id = n.ID
		}
	}
	for _, e := range f.files {
		switch n := there[e.name()]; {
		case n == nil || e.State != api.DirPending:
		case n.Type == storage.NodeTypeFolder:
			d.Fail(ctx, e.DirEntry, api.ErrNameTaken)
		case d.same(e, n):
			e.Node = n.ID
			d.End(ctx, e.DirEntry, api.DirUnchanged, nil)
		}
	}
	return nil
}

// same reports whether a file has the content of a node. Without a known hash it is false,
// but for empty files.
func (d *dir) same(e *entry, n *storage.Node) bool {
	hash := download.Hash(n.HashAlgo)
	switch {
	case n.Type != storage.NodeTypeFile || n.Size != e.Size:
		return false
	case hash == nil:
		return e.Size == 0
	}
	local, err := d.fsys.Open(e.Path)
	if err != nil {
		return false
	}
	defer func() { _ = local.Close() }()
	_, err = io.Copy(hash, local)
	return err == nil && strings.EqualFold(hex.EncodeToString(hash.Sum(nil)), n.Hash)
}

// child returns the entry of a folder with a name; without an ID if there is none.
func (d *dir) child(ctx context.Context, folder api.OpaqueID, name string) (*storage.Node, error) {
	for n, err := range d.s.nodes.All(ctx, d.in, folder, nil, d.opts...) {
		if err != nil || n.Name == name {
			return n, err
		}
	}
	return &storage.Node{}, nil
}

// folderID returns the ID of a folder on the platform, "" if it does not exist.
func (d *dir) folderID(ctx context.Context, f *folder) (api.OpaqueID, error) {
	d.ids.Lock()
	defer d.ids.Unlock()
	return d.resolve(ctx, f)
}

func (d *dir) resolve(ctx context.Context, f *folder) (api.OpaqueID, error) {
	if f.id != "" {
		return f.id, nil
	}
	parent, err := d.resolve(ctx, f.parent)
	if err != nil || parent == "" {
		return "", err
	}
	n, err := d.child(ctx, parent, path.Base(f.target))
	if err == nil && n.Type == storage.NodeTypeFolder {
		f.id = n.ID
	}
	return f.id, err
}

// send sends the files, and creates the folders that hold none.
func (d *dir) send(ctx context.Context) error {
	most := int64(batchBytes)
	if d.o.BytesPerSecond > 0 {
		most = min(most, max(d.o.BytesPerSecond, MaxSingle))
	}
	var calls []func()
	var batch []*entry
	bytes := int64(0)
	flush := func() {
		if files := batch; len(files) > 0 {
			calls = append(calls, func() { d.batch(ctx, files, true) })
		}
		batch, bytes = nil, 0
	}
	d.root.pending(func(e *entry) {
		if e.Size > MaxSingle {
			calls = append(calls, func() { d.one(ctx, e) })
			return
		}
		if len(batch) == MaxBatch || bytes+e.Size > most {
			flush()
		}
		batch = append(batch, e)
		bytes += e.Size
	})
	flush()
	d.root.empty(func(f *folder) { calls = append(calls, func() { d.create(ctx, f) }) })
	dirs.Each(ctx, d.o.Parallel, calls, func(call func()) { call() })
	return nil
}

// empty calls visit for each folder that holds nothing and may not exist on the platform.
func (f *folder) empty(visit func(f *folder)) {
	if f.id == "" && f.path != "" && len(f.files) == 0 && len(f.folders) == 0 {
		visit(f)
	}
	for _, sub := range f.folders {
		sub.empty(visit)
	}
}

// create creates an empty folder.
func (d *dir) create(ctx context.Context, f *folder) {
	e := &api.DirEntry{Path: f.path, Target: f.target}
	d.Add(e)
	n, err := d.s.nodes.EnsurePath(ctx, d.in, d.base, f.target, d.opts...)
	if err != nil {
		d.Fail(ctx, e, err)
		return
	}
	e.Node = n.ID
	d.End(ctx, e, api.DirDone, nil)
}

// one sends a file. If the result is unknown and the platform does not have it, it is sent
// once more.
func (d *dir) one(ctx context.Context, e *entry) {
	n, err := d.file(ctx, e)
	if unknown, ok := errors.AsType[*Error](err); ok && unknown.Err != nil && e.Size <= MaxSingle {
		if d.stored(ctx, e) {
			return
		}
		if ctx.Err() == nil {
			n, err = d.file(ctx, e)
		}
	}
	if err != nil {
		d.Fail(ctx, e.DirEntry, err)
		return
	}
	e.Node = n.ID
	d.End(ctx, e.DirEntry, api.DirDone, nil)
}

// file sends a file in one call or in chunks.
func (d *dir) file(ctx context.Context, e *entry) (*storage.Node, error) {
	local, err := d.open(e)
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	content, random := local.(io.ReaderAt)
	if !random && e.Size <= MaxSingle {
		all, err := d.content(local, e)
		if err != nil {
			return nil, err
		}
		content, random = bytes.NewReader(all), true
	}
	f := d.s.newFile(content, d.fileOptions(e), d.opts)
	f.Target = Target{Profile: d.in, Folder: d.base, Path: e.in.relative()}
	f.Name, f.Size = e.name(), e.Size
	f.pace = d.Pace
	if !random {
		f.Size, f.content = SizeUnknown, bytes.NewReader(nil)
		return f.run(ctx, func(ctx context.Context) error {
			return f.stream(ctx, &counted{r: local, f: f, ctx: ctx}, nil)
		})
	}
	if from := d.o.Sessions[e.Path]; from.Target == f.Target && from.Name == f.Name && from.Size == f.Size {
		fresh := f.Session
		f.Session = from
		n, err := f.run(ctx, f.resume)
		if !errors.Is(err, api.ErrNotFound) {
			return n, err
		}
		f.Session, f.done, f.state = fresh, 0, Upload{}
	}
	return f.run(ctx, f.upload)
}

func (d *dir) fileOptions(e *entry) *FileOptions {
	o := &FileOptions{ChunkSize: d.o.ChunkSize, Creator: d.o.Creator}
	if o.ChunkSize == 0 && d.o.BytesPerSecond > 0 {
		o.ChunkSize = min(defaultChunk, d.o.BytesPerSecond)
	}
	var done int64
	o.OnProgress = func(ctx context.Context, p api.Progress) {
		d.Progress(ctx, e.DirEntry, p.Done-done, api.Progress{Done: p.Done, Total: e.Size})
		done = p.Done
	}
	if d.o.OnSession != nil {
		o.OnSession = func(ctx context.Context, s Session) { d.o.OnSession(ctx, e.Path, s) }
	}
	return o
}

// open opens a file that has not changed since the folder was read.
func (d *dir) open(e *entry) (fs.File, error) {
	local, err := d.fsys.Open(e.Path)
	if err != nil {
		return nil, err
	}
	if !unchanged(local, e.info)() {
		_ = local.Close()
		return nil, ErrChanged
	}
	return local, nil
}

// content returns the content of a small file.
func (d *dir) content(local fs.File, e *entry) ([]byte, error) {
	content := make([]byte, e.Size+1)
	n, err := io.ReadFull(local, content)
	switch {
	case err == nil, int64(n) < e.Size && errors.Is(err, io.ErrUnexpectedEOF), e.Size > 0 && errors.Is(err, io.EOF):
		return nil, ErrChanged
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return content[:n], nil
	}
	return nil, err
}

// stored waits some seconds until the platform has a file, and ends its entry if it has.
func (d *dir) stored(ctx context.Context, e *entry) bool {
	const looks = 6 // within 7 seconds
	var interval wait.Interval
	for range looks {
		if id, err := d.folderID(ctx, e.in); err == nil && id != "" {
			if n, err := d.child(ctx, id, e.name()); err == nil && d.same(e, n) {
				e.Node = n.ID
				d.End(ctx, e.DirEntry, api.DirDone, nil)
				return true
			}
		}
		if wait.Sleep(ctx, interval.Next()) != nil {
			return false
		}
	}
	return false
}

// batch sends small files in one call. Those that are refused are sent once more.
func (d *dir) batch(ctx context.Context, entries []*entry, again bool) {
	files, entries := d.read(ctx, entries)
	bytes := 0
	for _, f := range files {
		bytes += len(f.Content)
	}
	if len(files) == 0 || d.Pace(ctx, bytes) != nil {
		return
	}
	result, err := d.s.Batch(ctx, Target{Profile: d.in, Folder: d.base}, files, d.o.Creator, d.opts...)
	refusal, refused := errors.AsType[*api.Error](err)
	switch half := len(entries) / 2; {
	case err == nil:
	case refused && refusal.Status == http.StatusRequestEntityTooLarge && half > 0:
		d.batch(ctx, entries[:half], again)
		d.batch(ctx, entries[half:], again)
		return
	case refused && errors.Is(err, api.ErrInvalid): // one of the files may be the reason
		for _, e := range entries {
			d.one(ctx, e)
		}
		return
	case !ambiguous(err):
		for _, e := range entries {
			d.Fail(ctx, e.DirEntry, err)
		}
		return
	}
	unknown, failed := d.results(ctx, entries, result)
	if err == nil {
		err = errors.New("the response has no result of the file")
	}
	for _, e := range unknown {
		switch {
		case d.stored(ctx, e):
		case again:
			failed = append(failed, e)
		default:
			d.Fail(ctx, e.DirEntry, &Error{Op: opDir, Err: err})
		}
	}
	if again && len(failed) > 0 && ctx.Err() == nil {
		d.batch(ctx, failed, false)
		return
	}
	for _, e := range failed {
		d.Fail(ctx, e.DirEntry, e.Err)
	}
}

// read reads small files. Those that cannot be read, or have changed, fail.
func (d *dir) read(ctx context.Context, entries []*entry) (files []BatchFile, read []*entry) {
	for _, e := range entries {
		local, err := d.open(e)
		var content []byte
		if err == nil {
			content, err = d.content(local, e)
			_ = local.Close()
		}
		if err != nil {
			d.Fail(ctx, e.DirEntry, err)
			continue
		}
		files = append(files, BatchFile{Name: e.name(), Path: e.in.relative(), Content: content})
		read = append(read, e)
	}
	return files, read
}

// results ends the entries that were accepted, and returns those without a result and
// those that were refused, which hold the reason.
func (d *dir) results(ctx context.Context, entries []*entry, result *BatchResult) (unknown, failed []*entry) {
	found := map[int]*BatchUpload{}
	if result != nil {
		for _, u := range result.Results {
			if u != nil {
				found[u.Index] = u
			}
		}
	}
	for i, e := range entries {
		switch u := found[i]; {
		case u == nil:
			unknown = append(unknown, e)
		case u.OK():
			e.Node = u.Node
			d.Progress(ctx, e.DirEntry, e.Size, api.Progress{Done: e.Size, Total: e.Size})
			d.End(ctx, e.DirEntry, api.DirDone, nil)
		default:
			e.Err = u.Err()
			failed = append(failed, e)
		}
	}
	return unknown, failed
}
