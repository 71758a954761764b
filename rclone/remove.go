package rclone

import (
	"context"
	"errors"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/fserrors"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

// Mkdir creates a folder.
func (f *Fs) Mkdir(ctx context.Context, dir string) error {
	if err := f.writable(); err != nil {
		return err
	}
	return f.retryWithoutCache(func() error {
		const create = true
		_, err := f.folders.FindDir(ctx, dir, create)
		return err
	})
}

// Rmdir removes an empty folder.
func (f *Fs) Rmdir(ctx context.Context, dir string) error {
	const onlyIfEmpty = true
	return f.removeFolder(ctx, dir, onlyIfEmpty)
}

// Purge removes a folder with all that is in it.
func (f *Fs) Purge(ctx context.Context, dir string) error {
	const onlyIfEmpty = false
	return f.removeFolder(ctx, dir, onlyIfEmpty)
}

// removeFolder removes a folder with all that is in it or, with onlyIfEmpty, refuses one
// with anything in it. A workspace or share is not removed.
func (f *Fs) removeFolder(ctx context.Context, dir string, onlyIfEmpty bool) error {
	if err := f.writable(); err != nil {
		return err
	}
	at, err := f.folder(ctx, dir)
	switch {
	case err != nil:
		return err
	case at.aboveProfiles():
		return errAbove
	case at.node.Equal(api.Root) && !onlyIfEmpty:
		return fs.ErrorCantPurge // rclone then removes what is in it
	}
	if onlyIfEmpty {
		for _, err := range f.session.client.Storage.All(ctx, at.in, at.node, nil) { // the first page may have no nodes
			if err != nil {
				return f.folderFailure(dir, err)
			}
			return fserrors.NoRetryError(fs.ErrorDirectoryNotEmpty)
		}
	}
	if at.node.Equal(api.Root) {
		return errAbove // an empty workspace or share
	}
	if err = f.remove(ctx, at.in, at.node); err != nil {
		return f.folderFailure(dir, err)
	}
	f.folders.FlushDir(dir)
	return nil
}

// remove moves a node to the trash and, with the option hard_delete, deletes it there.
func (f *Fs) remove(ctx context.Context, in api.Profile, id api.OpaqueID) error {
	client := f.session.client.Storage
	err := client.Delete(ctx, in, id)
	if err == nil && f.opt.HardDelete {
		err = client.Purge(ctx, in, id)
	}
	return failure(err)
}

// CleanUp finishes what interrupted moves and copies have left, and empties the trash of
// the workspace or share, also of what others have deleted.
func (f *Fs) CleanUp(ctx context.Context) error {
	if err := f.writable(); err != nil {
		return err
	}
	in, err := f.profile(ctx)
	if err != nil {
		return err
	}
	// A listing finishes the moves and copies in its folders.
	if err = f.ListR(ctx, "", func(fs.DirEntries) error { return nil }); err != nil {
		return err
	}
	// A listing of the root, which f may be below, removes the staging folders.
	for _, err := range f.pages(ctx, place{in: in, node: api.Root}) {
		if err != nil {
			return failure(err)
		}
	}
	client := f.session.client.Storage
	err = client.EmptyTrash(ctx, in)
	serverHasCall := !errors.Is(err, api.ErrUnsupported)
	if serverHasCall {
		return failure(err)
	}
	var nodes []api.OpaqueID
	for n, err := range client.All(ctx, in, api.Trash, nil) {
		if err != nil {
			return failure(err)
		}
		nodes = append(nodes, n.ID)
	}
	return failure(storage.Many(ctx, nodes, func(ctx context.Context, id api.OpaqueID) error {
		return client.Purge(ctx, in, id)
	}))
}
