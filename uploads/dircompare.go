package uploads

import (
	"context"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/storage"
)

// compare finds the files that need not be sent because the target has them. It reads
// the folders of the target level by level, because reading a folder gives the IDs of its
// subfolders. Files that must be sent and whose names the platform would shorten fail.
func (d *dir) compare(ctx context.Context) error {
	if err := d.findTargetFolder(ctx, d.root); err != nil {
		return call.Failed(opDir, err)
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
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d.root.eachPending(func(e *entry) {
		if utf8.RuneCountInString(e.name()) > longestName {
			d.Fail(ctx, e.DirEntry, api.ErrName)
		}
	})
	return nil
}

// compareFolder reads the folder of the target that corresponds to f, if it exists (has
// an ID). It sets the IDs of the subfolders that exist, and ends the entries of files
// that are the same there or whose name is taken by a folder, note or link.
func (d *dir) compareFolder(ctx context.Context, f *folder) error {
	if f.id == "" {
		return nil
	}
	nodes, err := d.s.children(ctx, d.profile, f.id, d.opts)
	if err != nil {
		return err
	}
	for _, sub := range f.folders {
		switch n := nodes[path.Base(sub.target)]; {
		case n == nil:
		case n.Type == storage.NodeTypeFolder:
			sub.id = n.ID
		default:
			d.failNameTaken(ctx, sub)
		}
	}
	for _, e := range f.files {
		switch n := nodes[e.name()]; {
		case n == nil || e.State != api.DirPending:
		case !d.o.Overwrite && d.sameContent(ctx, e, n):
			e.Node = n.ID
			d.removeSession(ctx, e)
			d.End(ctx, e.DirEntry, api.DirUnchanged, nil)
		case n.Type != storage.NodeTypeFile: // the platform would give the file another name
			d.Fail(ctx, e.DirEntry, api.ErrNameTaken)
		}
	}
	return nil
}

// removeSession removes the saved session of a file that the target has already: an
// earlier process has uploaded it, and was killed before it could remove the session.
// If that fails, the session expires by itself.
func (d *dir) removeSession(ctx context.Context, e *entry) {
	f := d.newFile(e, nil)
	defer f.releaseClaims()
	from, err := f.claimSavedSession(ctx)
	if err == nil && from.ID != "" {
		f.Session = from
		f.discardSession(ctx)
	}
}

// failNameTaken marks the files of a folder, and the empty folders in it, as failed: a file of
// the target has the name of the folder, which the platform would create with another name.
func (d *dir) failNameTaken(ctx context.Context, f *folder) {
	f.eachPending(func(e *entry) { d.Fail(ctx, e.DirEntry, api.ErrNameTaken) })
	f.eachEmpty(func(f *folder) { d.addEnded(ctx, f, folderItself, api.DirFailed, api.ErrNameTaken) })
	f.nameTaken = true
}

// sameContent reports whether a local file has the content of a node, a file or note, by its
// size and, if the algorithm is known, its hash. It returns false when ctx is done, also if
// the file system blocks.
func (d *dir) sameContent(ctx context.Context, e *entry, n *storage.Node) bool {
	hasContent := n.Type == storage.NodeTypeFile || n.Type == storage.NodeTypeNote
	if !hasContent || n.Size != e.Size {
		return false
	}
	same, err := wait.Call(ctx, func() (bool, error) {
		return dirs.Same(n.Size, n.HashAlgo, n.Hash, func() (fs.File, error) { return d.open(e) }), nil
	})
	return err == nil && same
}

// findTargetFolder sets the ID of the folder on the platform that corresponds to f. The ID
// remains "" if that folder does not exist.
func (d *dir) findTargetFolder(ctx context.Context, f *folder) error {
	if f.id != "" {
		return nil
	}
	if err := d.findTargetFolder(ctx, f.parent); err != nil || f.parent.id == "" {
		return err
	}
	nodes, err := d.s.children(ctx, d.profile, f.parent.id, d.opts)
	if err != nil {
		return err
	}
	switch n := nodes[path.Base(f.target)]; {
	case n == nil:
	case n.Type == storage.NodeTypeFolder:
		f.id = n.ID
	default:
		return api.ErrNameTaken
	}
	return nil
}

// nodesOf returns the nodes in the folder of the target that corresponds to f, by their
// names; there are none if it does not exist. Results are kept in listed, so that each
// folder is listed once. A folder that was created meanwhile has no ID here: it is
// looked for in its parent.
func (d *dir) nodesOf(
	ctx context.Context, f *folder, listed map[*folder]map[string]*storage.Node,
) (map[string]*storage.Node, error) {
	nodes, ok := listed[f]
	if ok {
		return nodes, nil
	}
	id := f.id
	if id == "" {
		parent, err := d.nodesOf(ctx, f.parent, listed)
		if err != nil {
			return nil, err
		}
		if n := parent[path.Base(f.target)]; n != nil && n.Type == storage.NodeTypeFolder {
			id = n.ID
		}
	}
	if id != "" {
		var err error
		nodes, err = d.s.children(ctx, d.profile, id, d.opts)
		if err != nil {
			return nil, err
		}
	}
	listed[f] = nodes
	return nodes, nil
}
