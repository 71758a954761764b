package uploads

import (
	"context"
	"io/fs"
	"path"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/storage"
)

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

// same reports whether a file has the content of a node, as far as that is known.
func (d *dir) same(e *entry, n *storage.Node) bool {
	return n.Type == storage.NodeTypeFile && n.Size == e.Size &&
		dirs.Same(n.Size, n.HashAlgo, n.Hash, func() (fs.File, error) { return d.fsys.Open(e.Path) })
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
