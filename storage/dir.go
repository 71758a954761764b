package storage

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/input"
)

// DownloadDirOptions are the options of the download of a folder. Nil and zero fields mean
// the defaults.
type DownloadDirOptions struct {
	Filter api.DirFilter // default: all

	// Rename gives another name to a file or folder whose name is not safe as a local one, or
	// differs from another one only by case or Unicode form. Default: it fails.
	Rename bool

	// Hidden accepts names that begin with a dot. Such a file can change how other programs
	// work, such as a file .bashrc in a home directory.
	Hidden bool

	Parallel       int   // files at a time; default 4
	BytesPerSecond int64 // of all files together; default: no limit

	// OnProgress is called when bytes were received, OnEntry when an entry has ended. Calls
	// do not overlap.
	OnProgress func(ctx context.Context, p api.DirProgress)
	OnEntry    func(ctx context.Context, e api.DirEntry)
}

const (
	opDownloadDir   = "storage.DownloadDir"
	defaultParallel = 4
	mostDepth       = 255 // of folders
)

// DownloadDir downloads the files and notes of a folder, with its subfolders, also empty
// ones, to a local folder, which is created if it does not exist. Links to shares are
// skipped.
//
// Local files with the same size and hash are not downloaded; others of the same name are
// replaced, each atomically, as by [Service.DownloadFile], which also continues interrupted
// downloads. Other local files are kept. No name of a node and no link in the local folder
// lets a file be written outside of it.
//
// A node whose name is not safe as a local one, or is that of a partial file, is a failed entry,
// unless Rename is set. A name on the platform may contain a slash, so two nodes may have the
// same path: one of them is downloaded, and the other one is a failed entry.
//
// A folder whose content is left out by the filter is not created. With Include or Paths,
// empty folders are not created either. If a local file is in the way of a folder, the files of
// that folder fail with [api.ErrNameTaken]; if a local folder is in the way of a file, the
// file fails.
//
// The result has an entry for each file; it is returned with an error, too. Errors:
// [*api.DirError] if entries have failed. The status 401, 402 and 429, and
// [api.ErrUnauthenticated], end the call early, as do [api.ErrNotFound] and
// [api.ErrForbidden] for the folder.
func (s *Service) DownloadDir(
	ctx context.Context, in api.Profile, parent api.OpaqueID, local string, o *DownloadDirOptions, opts ...api.CallOption,
) (*api.DirResult, error) {
	if err := call.Check(ctx, s.c, opDownloadDir); err != nil {
		return nil, err
	}
	d := &dir{
		s: s, in: in, opts: opts, seenFolders: map[api.OpaqueID]bool{parent: true},
		usedPaths: map[string]bool{}, leftPartials: map[string][]string{},
	}
	if o != nil {
		d.o = *o
	}
	args := input.Fields[DownloadDirOptions](opDownloadDir)
	if d.o.Parallel < 0 || d.o.BytesPerSecond < 0 {
		return nil, args.Refuse("", "must have no negative number", "")
	}
	if err := dirs.CheckFilter(args, &d.o.Filter); err != nil {
		return nil, err
	}
	if d.o.Parallel == 0 {
		d.o.Parallel = defaultParallel
	}
	// A name is allowed if download.Name, which makes names safe, would not change it. With Hidden, the dot of a
	// hidden file is allowed too: checkedName leaves it out.
	d.rules.Allowed = func(name string) bool {
		return download.Name(d.checkedName(name)) == d.checkedName(name) && !durable.IsPartial(name)
	}
	if d.o.Rename {
		d.rules.Clean = d.clean
	}
	if err := os.MkdirAll(local, 0o750); err != nil {
		return nil, call.Failed(opDownloadDir, err)
	}
	var err error
	d.local, err = os.OpenRoot(local)
	if err != nil {
		return nil, call.Failed(opDownloadDir, err)
	}
	defer func() { _ = d.local.Close() }()
	d.Transfer = dirs.Transfer{BytesPerSecond: d.o.BytesPerSecond, OnProgress: d.o.OnProgress, OnEntry: d.o.OnEntry}
	root := &remoteFolder{id: parent}
	return d.Run(ctx,
		func(ctx context.Context) error { return d.listFolder(ctx, root) },
		func(ctx context.Context) error {
			dirs.Each(ctx, d.o.Parallel, d.files, func(f *remoteFile) { d.downloadFile(ctx, f) })
			return nil
		})
}

// dir is a download of a folder.
type dir struct {
	dirs.Transfer

	s     *Service
	in    api.Profile
	o     DownloadDirOptions
	opts  []api.CallOption
	rules dirs.Rules
	local *os.Root
	files []*remoteFile

	seenFolders map[api.OpaqueID]bool
	usedPaths   map[string]bool // of entries

	leftMu       sync.Mutex
	leftPartials map[string][]string // the partial files that earlier downloads left, by local folder
}

type remoteFolder struct {
	id    api.OpaqueID
	path  string // below the source
	local string // below the target
	depth int
}

type remoteFile struct {
	*api.DirEntry

	node *Node
}

// checkedName returns the part of a name to which the rules for names apply: without
// the dot of a hidden file, if hidden files are downloaded. The dot of "." and those of
// names such as ".." and "..." stay, and the rules refuse them.
func (d *dir) checkedName(name string) string {
	rest, isHidden := strings.CutPrefix(name, ".")
	hasOneDot := isHidden && rest != "" && rest[0] != '.'
	if hasOneDot && d.o.Hidden {
		return rest
	}
	return name
}

// clean returns a name that is safe on this system for the server's name of a node. A
// hidden file keeps its dot if hidden files are downloaded. The name of a partial file loses
// its dot, so that no download takes the file for its own partial file.
func (d *dir) clean(name string) string {
	if durable.IsPartial(name) {
		return download.Name(name)
	}
	afterDot := d.checkedName(name)
	keepsDot := afterDot != name
	if keepsDot {
		return "." + download.Name(afterDot)
	}
	return download.Name(name)
}

// listFolder adds the files of a folder and its subfolders to those to download, and
// creates local folders for those without content, unless the filter names files. Links
// are no content, because they are not downloaded. A folder that cannot be listed is a
// failed entry; for the root it is an error.
func (d *dir) listFolder(ctx context.Context, f *remoteFolder) error {
	var nodes []*Node
	for n, err := range d.s.All(ctx, d.in, f.id, nil, d.opts...) {
		switch {
		case err == nil:
			nodes = append(nodes, n)
		case f.depth == 0 || ctx.Err() != nil:
			return err
		default:
			d.addFailed(ctx, f, err)
			return nil
		}
	}
	slices.SortFunc(nodes, func(a, b *Node) int { // of nodes with equal names, always the same one keeps the name
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	used := dirs.Names{}
	for _, n := range nodes {
		if !d.o.Filter.Selects(below(f.path, n.Name), n.Type == NodeTypeFolder) {
			continue
		}
		if err := d.addNode(ctx, f, n, used); err != nil {
			return err
		}
	}
	isRoot := f.depth == 0
	hasContent := slices.ContainsFunc(nodes, func(n *Node) bool { return n.Type != NodeTypeLink })
	namesFiles := len(d.o.Filter.Include) > 0 || d.o.Filter.Paths != nil
	if !isRoot && !hasContent && !namesFiles {
		if err := d.makeFolder(f.local); err != nil {
			d.addFailed(ctx, f, err)
		}
	}
	return nil
}

// makeFolder creates a local folder and those above it. If a file is in the way, it
// returns [api.ErrNameTaken].
func (d *dir) makeFolder(local string) error {
	err := d.local.MkdirAll(filepath.FromSlash(local), 0o750)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return api.ErrNameTaken
	}
	return err
}

// addNode adds a node of the folder f to the files to download or, if it is a folder,
// what it contains. Used holds the local names in the folder. A link is skipped; a name
// that is taken, and a folder that contains itself or is too deep, fail.
func (d *dir) addNode(ctx context.Context, f *remoteFolder, n *Node, used dirs.Names) error {
	if n.Type == NodeTypeLink {
		d.addEnded(ctx, f, n, api.DirSkipped, api.ErrNotFile)
		return nil
	}
	name, err := used.Add(n.Name, d.rules)
	at, local := below(f.path, n.Name), path.Join(f.local, name)
	if err == nil && d.usedPaths[at] { // the name "a/b" has the path of the file b in the folder a
		err = api.ErrNameTaken
	}
	if err != nil {
		d.addEnded(ctx, f, n, api.DirFailed, err)
		return nil
	}
	d.usedPaths[at] = true
	if n.Type != NodeTypeFolder {
		file := &remoteFile{&api.DirEntry{Path: at, Target: local, Size: n.Size, Node: n.ID}, n}
		d.Add(file.DirEntry)
		d.files = append(d.files, file)
		return nil
	}
	switch {
	case d.seenFolders[n.ID]:
		err = errors.New("the folder contains itself")
	case f.depth == mostDepth:
		err = errors.New("the folder is too deep")
	}
	if err != nil {
		d.addEnded(ctx, f, n, api.DirFailed, err)
		return nil
	}
	d.seenFolders[n.ID] = true
	return d.listFolder(ctx, &remoteFolder{n.ID, at, local, f.depth + 1})
}

// addFailed adds a failed entry for the folder f itself. An error that other folders would
// get as well ends the download.
func (d *dir) addFailed(ctx context.Context, f *remoteFolder, err error) {
	e := &api.DirEntry{Path: f.path, Target: f.local}
	d.Add(e)
	d.Fail(ctx, e, err)
}

// addEnded adds an entry for a node of the folder f that is not downloaded, with its final
// state.
func (d *dir) addEnded(ctx context.Context, f *remoteFolder, n *Node, state api.DirState, err error) {
	e := &api.DirEntry{Path: below(f.path, n.Name), Target: path.Join(f.local, n.Name), Node: n.ID}
	d.Add(e)
	d.End(ctx, e, state, err)
}

// downloadFile downloads a file, unless the local one is the same, and ends its entry.
func (d *dir) downloadFile(ctx context.Context, f *remoteFile) {
	local := filepath.FromSlash(f.Target)
	if d.hasContent(local, f.node) {
		_ = d.removePartials(local) // the next download of the file removes those that remain
		d.End(ctx, f.DirEntry, api.DirUnchanged, nil)
		return
	}
	err := d.makeFolder(path.Dir(f.Target))
	info, statErr := d.local.Lstat(local)
	if err == nil && statErr == nil && info.IsDir() {
		err = api.ErrNameTaken
	}
	if err == nil {
		err = d.download(ctx, f, local)
	}
	if err != nil {
		d.Fail(ctx, f.DirEntry, err)
		return
	}
	d.End(ctx, f.DirEntry, api.DirDone, nil)
}

// download downloads a file. All downloads of the folder together do not exceed
// the allowed rate.
func (d *dir) download(ctx context.Context, f *remoteFile, local string) error {
	folder, err := d.local.OpenRoot(filepath.Dir(local))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // the Close of a directory loses no data
	src := d.s.source(opDownloadDir, d.in, f.node, DownloadOptions{}, d.opts)
	open := src.Open
	src.Open = func(ctx context.Context, offset int64) (*api.Download, error) {
		content, err := open(ctx, offset)
		if err == nil {
			content.ReadCloser = &paced{content.ReadCloser, ctx, d}
		}
		return content, err
	}
	var done int64
	src.Report = func(ctx context.Context, p api.Progress) {
		d.Progress(ctx, f.DirEntry, p.Done-done, p)
		done = p.Done
	}
	_, err = src.SaveIn(ctx, folder, filepath.Base(local), d.partials) // d.partials finds what earlier downloads left
	return err
}

// removePartials removes the partial files that interrupted downloads of a file
// have left.
func (d *dir) removePartials(local string) error {
	folder, err := d.local.OpenRoot(filepath.Dir(local))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // the Close of a directory loses no data
	names, err := d.partials(folder)
	if err != nil {
		return err
	}
	return durable.RemovePartials(folder, filepath.Base(local), names)
}

// partials returns the partial files in a local folder, which earlier downloads have
// left. It reads a folder once, and not for each of its files.
func (d *dir) partials(folder *os.Root) ([]string, error) {
	d.leftMu.Lock()
	defer d.leftMu.Unlock()
	names, ok := d.leftPartials[folder.Name()]
	if ok {
		return names, nil
	}
	names, err := durable.Partials(folder)
	if err == nil {
		d.leftPartials[folder.Name()] = names
	}
	return names, err
}

// paced limits the bytes per second.
type paced struct {
	io.ReadCloser

	ctx context.Context //nolint:containedctx // Read has no context
	d   *dir
}

// Read reads from the download, and waits so that the rate of all downloads is
// not exceeded.
func (p *paced) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	return n, cmp.Or(p.d.Pace(p.ctx, n), err)
}

// hasContent reports whether a local file has the content of a node, by its size and,
// if the algorithm is known, its hash.
func (d *dir) hasContent(local string, n *Node) bool {
	info, err := d.local.Stat(local)
	return err == nil && info.Mode().IsRegular() && info.Size() == n.Size &&
		dirs.Same(n.Size, n.HashAlgo, n.Hash, func() (fs.File, error) { return d.local.Open(local) })
}
