package rclone

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/lib/version"

	"github.com/fastio-go/fastio/storage"
)

// versionEntries returns a file as entries of a listing: the file and, with the option
// versions, its earlier versions; with version_at the version of that time, if there
// was one.
func (f *Fs) versionEntries(ctx context.Context, o *Object) (fs.DirEntries, error) {
	switch {
	case f.opt.VersionAt.IsSet():
		if err := o.goBack(ctx); err != nil || o.id == "" {
			return nil, err
		}
	case f.opt.Versions && !o.note:
		old, err := o.earlier(ctx)
		if err != nil {
			return nil, err
		}
		return append(fs.DirEntries{o}, old...), nil
	}
	return fs.DirEntries{o}, nil
}

// objectAt returns a file as it was at the time of the option version_at.
func (f *Fs) objectAt(ctx context.Context, o *Object) (fs.Object, error) {
	if f.opt.VersionAt.IsSet() {
		if err := o.goBack(ctx); err != nil {
			return nil, err
		}
		if o.id == "" {
			return nil, fs.ErrorObjectNotFound
		}
	}
	return o, nil
}

// oldObject returns the earlier version of a file that a path with a time names.
func (f *Fs) oldObject(ctx context.Context, at place, remote, leaf string) (fs.Object, error) {
	if !f.opt.Versions || !version.Match(leaf) {
		return nil, fs.ErrorObjectNotFound
	}
	_, leaf = version.Remove(leaf)
	n, err := f.node(ctx, at, leaf)
	if err != nil {
		return nil, failure(err)
	}
	if n == nil || n.Type != storage.NodeTypeFile {
		return nil, fs.ErrorObjectNotFound
	}
	old, err := f.object(at, path.Join(path.Dir(remote), leaf), n).earlier(ctx)
	if err != nil {
		return nil, err
	}
	for _, entry := range old {
		if entry.Remote() == remote {
			return entry.(*Object), nil //nolint:forcetypeassert // as earlier made it
		}
	}
	return nil, fs.ErrorObjectNotFound
}

// versions returns the versions of a file, latest first.
func (o *Object) versions(ctx context.Context) ([]*storage.Version, error) {
	all, err := o.fs.session.client.Storage.Versions.List(ctx, o.in, o.id)
	if err != nil {
		return nil, failure(err)
	}
	slices.SortStableFunc(all, func(a, b *storage.Version) int { return b.Created.Compare(a.Created.Time) })
	return all, nil
}

// earlier returns the versions before the current one, with their time in the name.
func (o *Object) earlier(ctx context.Context) (fs.DirEntries, error) {
	all, err := o.versions(ctx)
	if err != nil {
		return nil, err
	}
	var entries fs.DirEntries
	for _, v := range all {
		if v.ID.Equal(o.version) {
			continue
		}
		old := o.atVersion(v)
		old.remote = version.Add(o.remote, v.Created.Time)
		entries = append(entries, old)
	}
	return entries, nil
}

// atVersion returns the file as it was in a version; its size is -1 if that is not known.
func (o *Object) atVersion(v *storage.Version) *Object {
	old := *o
	old.old, old.version, old.updated = true, v.ID, v.Created.Time
	old.sha256, old.size = sha256Of(v.Hash, v.HashAlgo), -1
	if v.Size != nil {
		old.size = *v.Size
	}
	return &old
}

// goBack sets the object to the version that it had at the time version_at, or its ID to ""
// if it did not exist then. A note has no versions: if it has changed since, it is left out.
func (o *Object) goBack(ctx context.Context) error {
	at := time.Time(o.fs.opt.VersionAt)
	if !o.updated.After(at) {
		return nil
	}
	if !o.note {
		all, err := o.versions(ctx)
		if err != nil {
			return err
		}
		for _, v := range all { // the latest first
			if !v.Created.After(at) {
				*o = *o.atVersion(v)
				return nil
			}
		}
	}
	o.id = ""
	return nil
}
