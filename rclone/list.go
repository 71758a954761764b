package rclone

import (
	"context"
	"errors"
	"iter"
	"path"
	"sync"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/list"

	"github.com/fastio-go/fastio/storage"
)

// pages returns the files, notes and folders of a folder. Links are left out, and so
// is what belongs to a move or copy under way.
func (f *Fs) pages(ctx context.Context, at place) iter.Seq2[[]*storage.Node, error] {
	return func(yield func([]*storage.Node, error) bool) {
		for page, err := range f.session.client.Storage.Pages(ctx, at.in, at.node, nil) {
			if err != nil {
				yield(nil, err)
				return
			}
			var shown []*storage.Node
			for _, n := range page.Nodes {
				if n.Type == storage.NodeTypeLink {
					continue
				}
				visible := f.visibleNode(ctx, at, n)
				if visible != nil {
					shown = append(shown, visible)
				}
			}
			if !yield(shown, nil) {
				return
			}
		}
	}
}

// List returns the entries of a folder.
func (f *Fs) List(ctx context.Context, dir string) (fs.DirEntries, error) {
	return list.WithListP(ctx, dir, f)
}

// ListP lists a folder by pages.
func (f *Fs) ListP(ctx context.Context, dir string, callback fs.ListRCallback) error {
	at, err := f.folder(ctx, dir)
	if err != nil {
		return err
	}
	_, err = f.list(ctx, at, dir, callback)
	return err
}

// located is a folder of a listing.
type located struct {
	at     place
	remote string
}

// list lists a folder by pages, and returns the folders in it.
func (f *Fs) list(ctx context.Context, at place, dir string, callback fs.ListRCallback) (below []located, err error) {
	if at.aboveProfiles() {
		return f.listLevel(ctx, at, dir, callback)
	}
	for nodes, err := range f.pages(ctx, at) {
		if err != nil {
			return below, f.folderFailure(dir, err)
		}
		var entries fs.DirEntries
		for _, n := range nodes {
			found, err := f.entries(ctx, at, dir, n)
			if err != nil {
				return below, err
			}
			if n.Type == storage.NodeTypeFolder {
				entry := found[0] // the only one: only a file can have several, its versions
				below = append(below, located{at: at.inside(n.ID), remote: entry.Remote()})
			}
			entries = append(entries, found...)
		}
		if err = callback(entries); err != nil {
			return below, err
		}
	}
	return below, nil
}

// entries returns a node of a folder as entries of a listing: with the option versions
// a file has several.
func (f *Fs) entries(ctx context.Context, at place, dir string, n *storage.Node) (fs.DirEntries, error) {
	remote := path.Join(dir, f.leaf(n))
	if n.Type == storage.NodeTypeFolder {
		f.folders.Put(remote, at.inside(n.ID).id())
		return fs.DirEntries{fs.NewDir(remote, n.Updated.Time).SetID(plain(n.ID)).SetParentID(plain(n.ParentID))}, nil
	}
	return f.versionEntries(ctx, f.object(at, remote, n))
}

// listLevel lists a level above workspaces and shares, such as the workspaces of an
// organization. Elements that share a name are listed by their IDs.
func (f *Fs) listLevel(ctx context.Context, at place, dir string, callback fs.ListRCallback) ([]located, error) {
	all, err := f.members(ctx, at)
	if err != nil {
		return nil, err
	}
	named := map[string]int{}
	for _, m := range all {
		named[m.name]++
	}
	var entries fs.DirEntries
	var below []located
	for _, m := range all {
		if named[m.name] > 1 && m.id != "" {
			m.name = string(m.id)
		}
		remote := path.Join(dir, m.name)
		f.folders.Put(remote, m.place.id())
		entries = append(entries, fs.NewDir(remote, m.time.Time).SetID(string(m.id)))
		below = append(below, located{at: m.place, remote: remote})
	}
	return below, callback(entries)
}

// ListR lists a folder with all that is in it, several folders at a time. One that is
// deleted meanwhile is empty.
func (f *Fs) ListR(ctx context.Context, start string, callback fs.ListRCallback) error {
	at, err := f.folder(ctx, start)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu      sync.Mutex // of callback
		pending sync.WaitGroup
		slots   = make(chan struct{}, max(1, fs.GetConfig(ctx).Checkers)) // one for each folder that is listed now
		visit   func(at place, dir string)
	)
	serial := func(entries fs.DirEntries) error {
		mu.Lock()
		defer mu.Unlock()
		return callback(entries)
	}
	visit = func(at place, dir string) {
		slots <- struct{}{}
		below, err := f.list(ctx, at, dir, serial)
		<-slots
		wasDeleted := dir != start && errors.Is(err, fs.ErrorDirNotFound) // the start must exist
		if err != nil && !wasDeleted {
			cancel(err)
			return
		}
		for _, folder := range below {
			pending.Go(func() { visit(folder.at, folder.remote) })
		}
	}
	pending.Go(func() { visit(at, start) })
	pending.Wait()
	return context.Cause(ctx)
}

// NewObject returns the file or note of a path, also an earlier version if the option
// versions is set and the name has its time. A folder is [fs.ErrorIsDir].
func (f *Fs) NewObject(ctx context.Context, remote string) (fs.Object, error) {
	const create = false
	at, leaf, err := f.locate(ctx, remote, create)
	switch {
	case errors.Is(err, fs.ErrorDirNotFound):
		return nil, fs.ErrorObjectNotFound
	case err != nil:
		return nil, err
	case at.aboveProfiles(): // no file is above workspaces and shares
		return nil, fs.ErrorObjectNotFound
	}
	n, err := f.node(ctx, at, leaf)
	if err != nil {
		err = f.folderFailure(path.Dir(remote), err)
	}
	switch {
	case errors.Is(err, fs.ErrorDirNotFound): // the folder is gone
		return nil, fs.ErrorObjectNotFound
	case err != nil:
		return nil, err
	case n == nil:
		return f.oldObject(ctx, at, remote, leaf)
	case n.Type == storage.NodeTypeFolder:
		return nil, fs.ErrorIsDir
	}
	return f.objectAt(ctx, f.object(at, remote, n))
}
