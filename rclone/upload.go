package rclone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"
	"unicode/utf8"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/fserrors"
	"github.com/rclone/rclone/fs/hash"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// Put uploads a file. A file that already has the path gets a new version.
func (f *Fs) Put(ctx context.Context, in io.Reader, src fs.ObjectInfo, options ...fs.OpenOption) (fs.Object, error) {
	at, leaf, err := f.locateToWrite(ctx, src.Remote())
	if err != nil {
		return nil, err
	}
	to := target{at: at, remote: src.Remote(), name: f.opt.Enc.FromStandardName(leaf)}
	n, err := f.upload(ctx, in, src, to, options)
	if err != nil {
		return nil, err
	}
	return f.object(at, src.Remote(), n), nil
}

// PutStream uploads a file of unknown size.
func (f *Fs) PutStream(
	ctx context.Context, in io.Reader, src fs.ObjectInfo, options ...fs.OpenOption,
) (fs.Object, error) {
	return f.Put(ctx, in, src, options...)
}

// Update uploads a new version of the file, if it has the version that was listed. If
// it has another version, the error is a [fserrors.NoRetryError].
func (o *Object) Update(ctx context.Context, in io.Reader, src fs.ObjectInfo, options ...fs.OpenOption) error {
	f := o.fs
	if err := f.writable(); err != nil {
		return err
	}
	if o.old {
		return errOldVersion
	}
	to := target{at: place{in: o.in, node: o.parent}, remote: o.remote, replaces: o, src: src}
	to.name = f.opt.Enc.FromStandardName(path.Base(o.remote))
	upload := f.upload
	if o.note {
		upload = f.updateNote
	}
	n, err := upload(ctx, in, src, to, options)
	if err != nil {
		return err
	}
	o.set(n)
	return nil
}

// target is where an upload is stored.
type target struct {
	at       place
	remote   string
	name     string        // on the platform
	replaces *Object       // that gets a version; nil means a new file, or any of the name
	src      fs.ObjectInfo // of the version
}

// uploadTarget returns the target for package uploads: the file that gets a version, if it still
// has the version that was listed, or else the folder of a new file.
func (t *target) uploadTarget() uploads.Target {
	if t.replaces != nil {
		return uploads.Target{Profile: t.at.in, File: t.replaces.id, IfVersion: t.replaces.version}
	}
	return uploads.Target{Profile: t.at.in, Folder: t.at.node}
}

// checkName returns an error for the name of a new file that the platform would shorten:
// the file would not have the name that rclone looks for, and could become a version of
// another file.
func (t *target) checkName() error {
	const most = 100 // characters
	if t.replaces != nil || utf8.RuneCountInString(t.name) <= most {
		return nil
	}
	const text = "%w: the platform shortens the name of an uploaded file to %d characters"
	return fserrors.NoRetryError(fmt.Errorf(text, api.ErrName, most))
}

// upload uploads a file, in the way that its size requires: as a stream if that is
// unknown (negative), in one request, or in chunks.
func (f *Fs) upload(
	ctx context.Context, in io.Reader, src fs.ObjectInfo, to target, options []fs.OpenOption,
) (n *storage.Node, err error) {
	if err := to.checkName(); err != nil {
		return nil, err
	}
	size := src.Size()
	switch {
	case size < 0:
		// Content has no Close, which Reader would call if it ends early: only rclone may close its reader.
		content := struct{ io.Reader }{in}
		n, err = f.session.client.Uploads.Reader(ctx, to.uploadTarget(), to.name, content, nil, nil)
	case size <= int64(f.opt.Cutoff):
		n, err = f.uploadSmall(ctx, in, size, to)
	default:
		return f.uploadChunks(ctx, in, src, to, options) // which does the steps below itself
	}
	if err != nil {
		return nil, f.uploadFailure(to, err)
	}
	return f.removeIfRenamed(ctx, to, n)
}

// uploadFailure returns the error of an upload for rclone. If the folder of a new file was
// not found, the cache of folders is emptied, and rclone tries again, which looks the folder
// up. A new version is not tried again: it is sent to the ID of the file, and another try
// would use the same ID.
func (f *Fs) uploadFailure(to target, err error) error {
	if to.replaces == nil {
		return f.changeFailure(err)
	}
	return failure(err)
}

// uploadSmall uploads content in one call.
func (f *Fs) uploadSmall(ctx context.Context, in io.Reader, size int64, to target) (*storage.Node, error) {
	content := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))         // ReadFrom need not grow it
	if _, err := content.ReadFrom(io.LimitReader(in, size+1)); err != nil { // one byte more shows longer content
		return nil, err
	}
	if int64(content.Len()) != size {
		return nil, fmt.Errorf("expected %d bytes, got %d: %w", size, content.Len(), io.ErrUnexpectedEOF)
	}
	return f.session.client.Uploads.ReaderAt(ctx, to.uploadTarget(), to.name, bytes.NewReader(content.Bytes()), size, nil)
}

// removeIfRenamed returns the node of an upload. If the name belongs to a folder or note,
// the platform has given the new file another one: then it is removed, and an error says
// so.
func (f *Fs) removeIfRenamed(ctx context.Context, to target, n *storage.Node) (*storage.Node, error) {
	if n.Name == to.name || to.replaces != nil {
		return n, nil
	}
	err := fmt.Errorf("%w: %q is no file, the upload became %q", api.ErrNameTaken, to.name, n.Name)
	return nil, failure(errors.Join(err, f.remove(ctx, to.at.in, n.ID)))
}

// store waits until a sent upload is stored, and returns its node. An upload for a new
// version of a file has no target: store updates the file from the upload, if the file
// still has the version that was listed, and removes the upload.
func (f *Fs) store(ctx context.Context, upload api.OpaqueID, to target) (*storage.Node, error) {
	becomesFile := to.replaces == nil // the platform stores it by itself, because the upload has a target
	session, err := f.await(ctx, upload, becomesFile)
	if err != nil {
		return nil, err
	}
	client := f.session.client
	if becomesFile {
		if session.Status == uploads.StatusStored { // before that, forget could cancel the upload
			f.forget(ctx, upload)
		}
		return client.Storage.Get(ctx, to.at.in, session.FileID)
	}
	change := storage.UpdateRequest{From: storage.FromUpload(upload)}
	if v := to.replaces.version; v != "" {
		change.IfVersion = api.Set(v)
	}
	_, err = client.Storage.Update(ctx, to.at.in, to.replaces.id, change)
	mayBeStored := ambiguous(err) || errors.Is(err, api.ErrConflict) // by this call, or by an earlier one
	if mayBeStored {
		now, failed := client.Storage.Get(ctx, to.at.in, to.replaces.id)
		if failed == nil && to.isContentOf(ctx, now) {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	f.forget(ctx, upload)
	return client.Storage.Get(ctx, to.at.in, to.replaces.id)
}

// storedSince returns the file that is to get a version, if it has got the content since it was
// listed: then the response to an earlier update was lost. It is an error if the file has got
// another version. The platform would refuse the update too, but only after all content was
// sent, and a mount repeats a refused update without end.
func (f *Fs) storedSince(ctx context.Context, to target) (*storage.Node, error) {
	if to.replaces == nil || to.replaces.version == "" {
		return nil, nil //nolint:nilnil // nothing is known
	}
	n, err := f.session.client.Storage.Get(ctx, to.at.in, to.replaces.id)
	switch {
	case err != nil:
		return nil, failure(err)
	case n.Version == "", n.Version.Equal(to.replaces.version):
		return nil, nil //nolint:nilnil // it is as it was listed
	case to.isContentOf(ctx, n):
		return n, nil
	}
	return nil, failure(&api.VersionConflictError{Op: "storage.Update", Current: n.Version})
}

// isContentOf reports whether a node has the content of the source, by its size and SHA-256. A
// local source is read for that.
func (t *target) isContentOf(ctx context.Context, n *storage.Node) bool {
	if n.Size != t.src.Size() {
		return false
	}
	want, err := t.src.Hash(ctx, hash.SHA256)
	return err == nil && want != "" && want == sha256Of(n.Hash, n.HashAlgo)
}

// forget removes an upload that has ended from the list of uploads.
func (f *Fs) forget(ctx context.Context, upload api.OpaqueID) {
	err := f.session.client.Uploads.Cancel(ctx, upload)
	if err != nil && !errors.Is(err, api.ErrNotFound) {
		fs.Debugf(f, "The session of the upload stays: %v", err)
	}
}

// await waits until an upload is stored or, if it does not become a file by itself, has
// its content complete. If it still accepts content, the call that completes it had no
// effect, and is repeated: its errors are ignored, as the state of the upload decides.
func (f *Fs) await(ctx context.Context, upload api.OpaqueID, becomesFile bool) (*uploads.Upload, error) {
	const (
		longestPause  = 5 * time.Second
		mostReads     = 15 // about a minute
		completeEvery = 3  // reads
	)
	var unanswered, open int // reads in a row without a response, or with an upload that accepts content
	client := f.session.client.Uploads
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, longestPause) {
		u, err := client.Get(ctx, upload)
		switch {
		case ambiguous(err) && unanswered < mostReads:
			unanswered++
		case err != nil:
			return nil, err
		case u.Status.Failed():
			return nil, fmt.Errorf("%w: upload %s: %s", api.ErrInvalid, u.Status, u.StatusMessage)
		case u.FileID != "", u.Status == uploads.StatusStored, u.Status == uploads.StatusComplete && !becomesFile:
			return u, nil
		case u.Status != uploads.StatusReady && u.Status != uploads.StatusUploading:
			unanswered, open = 0, 0
		case open == mostReads:
			return nil, fmt.Errorf("%w: the upload is %s, and cannot be completed", api.ErrUnavailable, u.Status)
		default:
			unanswered, open = 0, open+1
			if open%completeEvery == 0 {
				_ = client.Complete(ctx, upload)
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

const noteMost = 100_000 // bytes of a note

// updateNote replaces the text of a note, in one call and without an upload.
func (f *Fs) updateNote(
	ctx context.Context, in io.Reader, _ fs.ObjectInfo, to target, _ []fs.OpenOption,
) (*storage.Node, error) {
	if to.at.in.Kind != api.ProfileKindWorkspace { // the platform updates no note of a share
		return nil, errNote
	}
	text, err := io.ReadAll(io.LimitReader(in, noteMost+1))
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 || len(text) > noteMost {
		return nil, errNote
	}
	n, err := f.session.client.Storage.Notes.Update(ctx, to.at.in.ID, to.replaces.id, storage.UpdateNoteRequest{
		Content: string(text), IfVersion: to.replaces.version,
	})
	return n, failure(err)
}

var errNote = fserrors.NoRetryError(
	fmt.Errorf("a note of a workspace can be replaced by text of 1 to %d bytes, and by nothing else", noteMost))
