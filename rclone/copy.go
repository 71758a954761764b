package rclone

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"github.com/rclone/rclone/fs"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

// Copy copies a file of the same workspace or share on the platform. A file that already
// has the path gets the content as a new version.
func (f *Fs) Copy(ctx context.Context, src fs.Object, remote string) (fs.Object, error) {
	from, ok := src.(*Object)
	if !ok || from.old || from.note {
		return nil, fs.ErrorCantCopy
	}
	at, leaf, err := f.locateToWrite(ctx, remote)
	if err != nil {
		return nil, err
	}
	if from.in != at.in || from.fs.session != f.session {
		return nil, fs.ErrorCantCopy
	}
	n, err := f.node(ctx, at, leaf)
	switch {
	case err != nil:
		return nil, f.changeFailure(err)
	case n != nil && n.Type != storage.NodeTypeFile:
		return nil, fs.ErrorCantCopy // Put reports that the name is taken
	case n != nil:
		return f.copyOver(ctx, from, f.object(at, remote, n))
	}
	id, err := f.copyNew(ctx, from, at, f.opt.Enc.FromStandardName(leaf))
	if err != nil {
		return nil, f.changeFailure(err)
	}
	return f.reread(ctx, at, id, remote)
}

// copyOver gives a file the content of another one, which the platform finds by its
// SHA-256. If that is not possible, [fs.ErrorCantCopy] makes rclone upload the content.
func (f *Fs) copyOver(ctx context.Context, from, to *Object) (fs.Object, error) {
	if from.sha256 == "" || from.id.Equal(to.id) {
		return nil, fs.ErrorCantCopy
	}
	change := storage.UpdateRequest{From: storage.FromHash("sha256", from.sha256)}
	if to.version != "" {
		change.IfVersion = api.Set(to.version)
	}
	_, err := f.session.client.Storage.Update(ctx, to.in, to.id, change)
	if errors.Is(err, api.ErrNotFound) { // the platform has no such content
		return nil, fs.ErrorCantCopy
	}
	if err != nil {
		return nil, failure(err)
	}
	return f.reread(ctx, place{in: to.in, node: to.parent}, to.id, to.remote)
}

// copyNew makes a copy in the staging folder, and moves it from there, because the call
// that copies takes no name, and would put a file of the same name in the trash. It
// returns the ID of the copy.
func (f *Fs) copyNew(ctx context.Context, from *Object, at place, name string) (api.OpaqueID, error) {
	client := f.session.client.Storage
	made, err := f.stage(ctx, from)
	if err != nil {
		return "", err
	}
	_, err = client.Move(ctx, at.in, made, at.node)
	if err == nil {
		_, err = client.Rename(ctx, at.in, made, name)
	}
	if err != nil {
		return "", errors.Join(err, f.discard(ctx, at.in, made))
	}
	return made, nil
}

// discard removes a copy or a staging folder, also if ctx is done.
func (f *Fs) discard(ctx context.Context, in api.Profile, id api.OpaqueID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	return f.remove(ctx, in, id)
}

// staging is the folder of an Fs in which copies are made.
type staging struct {
	mu      sync.Mutex // copies of one name are not in it at a time
	in      api.Profile
	folder  api.OpaqueID // "" if there is none
	created time.Time
}

// stage copies a file to the staging folder, and gives the copy a reserved name.
func (f *Fs) stage(ctx context.Context, from *Object) (api.OpaqueID, error) {
	s, client := f.staging, f.session.client.Storage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := f.openStaging(ctx, from.in); err != nil {
		return "", err
	}
	made, err := client.Copy(ctx, from.in, from.id, s.folder)
	if err != nil {
		return "", err
	}
	if made.ID == "" { // the response has no node
		made, err = client.Find(ctx, from.in, s.folder, f.opt.Enc.FromStandardName(path.Base(from.remote)))
		if err != nil {
			return "", err
		}
	}
	if _, err = client.Rename(ctx, from.in, made.ID, newTransit(kindCopy).name()); err != nil {
		return "", errors.Join(err, f.discard(ctx, from.in, made.ID))
	}
	return made.ID, nil
}

// openStaging makes sure that there is a staging folder of the profile. It replaces an old
// one, well before other processes would remove that as abandoned. The caller holds the lock
// of the staging folder.
func (f *Fs) openStaging(ctx context.Context, in api.Profile) error {
	s := f.staging
	if s.folder != "" && s.in == in && time.Since(s.created) < abandonedAfter/4 {
		return nil
	}
	f.closeStaging(ctx)
	name := newTransit(kindStage).name()
	client := f.session.client.Storage
	folder, err := client.CreateFolder(ctx, in, api.Root, name, &storage.CreateFolderOptions{Force: true})
	if err != nil {
		return err
	}
	if folder.ID == "" { // the response has no node
		folder, err = client.Find(ctx, in, api.Root, name)
		if err != nil {
			return err
		}
	}
	s.in, s.folder, s.created = in, folder.ID, time.Now()
	return nil
}

// removeStaging removes the staging folder.
func (f *Fs) removeStaging(ctx context.Context) {
	f.staging.mu.Lock()
	defer f.staging.mu.Unlock()
	f.closeStaging(ctx)
}

// closeStaging removes the staging folder, if there is one. If that fails, a later listing
// of the root removes it. The caller holds the lock of the staging folder.
func (f *Fs) closeStaging(ctx context.Context) {
	if f.staging.folder == "" {
		return
	}
	if err := f.discard(ctx, f.staging.in, f.staging.folder); err != nil {
		fs.Debugf(f, "The folder of copies stays: %v", err)
	}
	f.staging.folder = ""
}
