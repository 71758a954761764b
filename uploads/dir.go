package uploads

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/input"
)

// DirOptions are the options of the upload of a folder. Nil and zero fields mean the
// defaults.
type DirOptions struct {
	Filter api.DirFilter // default: all

	// Rename gives another name to a file or folder whose name the platform does not allow,
	// or differs from another one only by case or Unicode form, and to a file whose name has
	// more than 100 characters. Default: it fails.
	Rename bool

	// Overwrite sends all files, also those that the target has with the same content.
	Overwrite bool

	// Parallel is how many requests hold content at a time. Each takes 8 MiB of memory, or a
	// chunk if that is larger. Default: 4.
	Parallel int

	BytesPerSecond int64  // of all files together; default: no limit
	ChunkSize      int64  // see [FileOptions]
	Creator        string // see [StartRequest]

	Sessions SessionStore // see [FileOptions]

	// OnProgress is called when the server has received bytes, OnEntry when an entry has
	// ended. Their calls do not overlap.
	OnProgress func(ctx context.Context, p api.DirProgress)
	OnEntry    func(ctx context.Context, e api.DirEntry)
}

const (
	opDir           = "uploads.Dir"
	batchBytes      = 8 << 20 // of files sent in one call
	defaultParallel = 4
)

// Dir uploads the files of a local folder with its subfolders, also empty ones, to a
// folder of a workspace or share. Links to files in the local folder are followed. Links
// out of it, links to folders, special files and partial files of downloads are skipped.
//
// A file whose name has more than 100 characters fails with [api.ErrName], unless the target
// has it: the platform would shorten the name, and the file could become a version of another
// one. See [DirOptions].
//
// A folder whose content is left out by the filter is not created. With Include or Paths,
// empty folders are not created either. If a file of the target is in the way of a folder, the
// files of that folder fail with [api.ErrNameTaken]. So does a file that has the name of a
// folder or link of the target, or of a note with other content.
//
// Files that the target has with the same size and hash are not sent. Up to 200 files of
// at most [MaxSingle] bytes are sent in one call; those that are refused are sent once
// more. A file is done when the platform has stored it. A file that is larger than the plan
// allows fails before any is sent.
//
// If the response to a call is lost, its files are not sent again, which could store a
// second version. After ten seconds Dir looks for them in the target. Those that it does not
// find fail with an [*Error]; another Dir sends them if they were not stored.
//
// The result has an entry for each file; it is returned with an error, too. Errors:
// [*api.DirError] if entries have failed. The status 401 and 429, and
// [api.ErrUnauthenticated], end the call early, as do [api.ErrNotFound] and
// [api.ErrForbidden] for the target. After the status 402 or 412 nothing more is sent;
// calls under way end, and the other files are skipped with that error.
func (s *Service) Dir(
	ctx context.Context, t Target, folder string, o *DirOptions, opts ...api.CallOption,
) (*api.DirResult, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, call.Failed(opDir, err)
	}
	defer func() { _ = root.Close() }()
	return s.FS(ctx, t, rootFS{root}, o, opts...)
}

// FS is [Service.Dir] for a file system, such as one in memory. Its files that are larger
// than [MaxSingle] must be an [io.ReaderAt], or are sent as streams.
func (s *Service) FS(
	ctx context.Context, t Target, fsys fs.FS, o *DirOptions, opts ...api.CallOption,
) (*api.DirResult, error) {
	if err := call.Check(ctx, s.c, opDir); err != nil {
		return nil, err
	}
	d := &dir{s: s, profile: t.Profile, base: t.Folder, fsys: fsys, opts: opts, rules: dirs.Rules{Allowed: dirs.Allowed}}
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
	d.buffers = newBuffers(d.o.Parallel)
	d.Transfer = dirs.Transfer{BytesPerSecond: d.o.BytesPerSecond, OnProgress: d.o.OnProgress, OnEntry: d.o.OnEntry}
	d.root = folderAt(t.Path, &folder{id: d.base})
	return d.Run(
		ctx,
		d.scan, // makes no call that a quota could refuse
		d.skipRestIfExhausted(d.applyLimits), d.skipRestIfExhausted(d.compare), d.skipRestIfExhausted(d.send),
	)
}

// folderAt returns the folder at a path of names below base; the path "" is base itself. The
// folder and those on the path need not exist on the platform.
func folderAt(names string, base *folder) *folder {
	f := base
	for name := range strings.SplitSeq(names, "/") {
		if name != "" { // as behind the last slash
			f = &folder{target: path.Join(f.target, name), parent: f}
		}
	}
	return f
}

// dir is an upload of a folder.
type dir struct {
	dirs.Transfer

	s       *Service
	profile api.Profile
	base    api.OpaqueID // the folder of the target
	root    *folder
	fsys    fs.FS
	o       DirOptions
	opts    []api.CallOption
	rules   dirs.Rules

	buffers  buffers
	sessions chan struct{} // has a value for each file that may be sent in chunks at a time

	quotaError atomic.Pointer[api.Error] // by a quota or a limit of the plan, after which nothing more is sent
}

// folder is a local folder.
type folder struct {
	path   string // below the source
	target string // below dir.base
	parent *folder
	id     api.OpaqueID // on the platform; "" if unknown

	files       []*entry
	folders     []*folder
	skipIfEmpty bool // it is not created without a file: the filter, or an error, has left out what it holds
	nameTaken   bool // the name is in use for a file
}

// entry is a local file.
type entry struct {
	*api.DirEntry

	in   *folder
	info fs.FileInfo
}

// name returns the name of the file on the platform.
func (e *entry) name() string { return path.Base(e.Target) }

// pathWithSlash returns the path of a folder below the target of the upload, with a
// slash behind it as the platform requires; "" for the target itself.
func (f *folder) pathWithSlash() string {
	if f.target == "" {
		return ""
	}
	return f.target + "/"
}

// check returns an error for options or a target that an upload of a folder
// cannot have.
func (d *dir) check(t Target) error {
	args, target := input.Fields[DirOptions](opDir), input.Fields[Target](opDir)
	switch {
	case d.fsys == nil:
		return &api.InputError{Op: opDir, Field: "fsys", Rule: "must not be nil"}
	case t != Target{Profile: t.Profile, Folder: t.Folder, Path: t.Path}:
		return target.Refuse("", "must be a folder", "")
	case t.Path != "" && !isFolderPath(t.Path):
		return target.Refuse("relative_path", "must be names of folders, each with a slash behind it", strconv.Quote(t.Path))
	case d.o.Parallel < 0, d.o.BytesPerSecond < 0, d.o.ChunkSize < 0:
		return args.Refuse("", "must have no negative number", "")
	}
	if err := dirs.CheckFilter(args, &d.o.Filter); err != nil {
		return err
	}
	return target.OneOf("instance_id", t.Profile, api.ProfileKindWorkspace, api.ProfileKindShare)
}

// scan reads the local folder.
func (d *dir) scan(ctx context.Context) error {
	return d.scanFolder(ctx, d.root)
}

// scanFolder adds all files and folders below f to the tree of what is to be sent. A
// folder that cannot be read becomes a failed entry; for the root it is an error. A
// folder with content that is not sent is not created as an empty one.
func (d *dir) scanFolder(ctx context.Context, f *folder) error {
	entries, filtered, err := d.list(ctx, f.path)
	f.skipIfEmpty = f.skipIfEmpty || filtered || err != nil
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && f == d.root:
		return err
	case err != nil: // what was listed before the error is sent
		d.addEnded(ctx, f, folderItself, api.DirFailed, err)
	}
	used := dirs.Names{}
	for _, e := range entries {
		if err := d.scanEntry(ctx, f, e, used); err != nil {
			return err
		}
	}
	return nil
}

// scanEntry adds a found file to the folder f, or a folder and all below it. Used holds
// the names that f has already. What cannot be sent becomes a skipped entry (not a
// file, or a partial download) or a failed one.
func (d *dir) scanEntry(ctx context.Context, f *folder, item found, used dirs.Names) error {
	name, err := d.targetName(f, item, used)
	at, target := path.Join(f.path, item.name), path.Join(f.target, name)
	switch {
	case errors.Is(err, api.ErrNotFile), errors.Is(err, api.ErrPartial):
		d.addEnded(ctx, f, item.name, api.DirSkipped, err)
	case err != nil:
		d.addEnded(ctx, f, item.name, api.DirFailed, err)
	case item.folder:
		namesFiles := len(d.o.Filter.Include) > 0 || d.o.Filter.Paths != nil // then an empty folder is not wanted
		sub := &folder{path: at, target: target, parent: f, skipIfEmpty: namesFiles}
		f.folders = append(f.folders, sub)
		return d.scanFolder(ctx, sub)
	default:
		e := &entry{DirEntry: &api.DirEntry{Path: at, Target: target, Size: item.info.Size()}, in: f, info: item.info}
		f.files = append(f.files, e)
		d.Add(e.DirEntry)
	}
	return nil
}

// targetName returns the name that an item found in the folder f gets on the platform, and
// adds the name to used. The error says why the item cannot be sent.
func (d *dir) targetName(f *folder, item found, used dirs.Names) (string, error) {
	if item.err != nil {
		return "", item.err
	}
	if !item.folder && durable.IsPartial(item.name) {
		return "", api.ErrPartial
	}
	rules := d.rules
	if !item.folder && d.o.Rename { // without Rename, compare refuses longer names of files that must be sent
		rules.Longest = longestName
	}
	name, err := used.Add(item.name, rules)
	if err == nil && item.folder && utf8.RuneCountInString(path.Join(f.target, name)) >= longestPath {
		err = api.ErrName // the path leaves no room for the name of a file
	}
	return name, err
}

const folderItself = ""

// addEnded adds an entry for a name in a local folder that is not sent, or for the folder
// itself, with its final state.
func (d *dir) addEnded(ctx context.Context, f *folder, name string, state api.DirState, err error) {
	e := &api.DirEntry{Path: path.Join(f.path, name), Target: path.Join(f.target, name)}
	d.Add(e)
	d.End(ctx, e, state, err)
}

// eachPending calls visit for each file in the folder and below it whose entry has not
// ended.
func (f *folder) eachPending(visit func(e *entry)) {
	for _, e := range f.files {
		if e.State == api.DirPending {
			visit(e)
		}
	}
	for _, sub := range f.folders {
		sub.eachPending(visit)
	}
}

// applyLimits marks files that are larger than the plan allows as failed, and makes
// room for as many sessions of uploads as may be open at a time. The plan may limit the
// bytes of all open sessions: if each has the largest file, these must still be allowed.
func (d *dir) applyLimits(ctx context.Context) error {
	limits, err := d.s.limits.get(ctx, Target{Profile: d.profile, Folder: d.base}, d.opts)
	if err != nil {
		return err
	}
	largest := int64(0)
	d.root.eachPending(func(e *entry) {
		_, err := limits.chunkSize(input.Parameters(opDir), e.Size, d.o.ChunkSize)
		if err != nil { // the file is too large
			d.End(ctx, e.DirEntry, api.DirFailed, err)
			return
		}
		largest = max(largest, e.Size)
	})
	d.sessions = make(chan struct{}, limits.parallel(d.o.Parallel, largest))
	return nil
}

// skipRestIfExhausted returns a step that runs the given one. If that fails because a
// quota or a limit of the plan is exhausted, all files that are still pending end with
// the state skipped.
func (d *dir) skipRestIfExhausted(step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := step(ctx)
		if quotaErrorIn(err) != nil {
			d.root.eachPending(func(e *entry) { d.End(ctx, e.DirEntry, api.DirSkipped, err) })
		}
		return err
	}
}

// quotaErrorIn returns the error in err that says that a quota or a limit of the plan
// is exhausted (status 402 or 412), else nil.
func quotaErrorIn(err error) *api.Error {
	e, refused := errors.AsType[*api.Error](err)
	if refused && (e.Status == http.StatusPaymentRequired || e.Status == http.StatusPreconditionFailed) {
		return e
	}
	return nil
}
