package rclone

import (
	"context"
	"io"
	"time"

	"github.com/rclone/rclone/fs"

	"github.com/fastio-go/fastio/api"
)

// SetAbandoned sets after which time the reserved names of other processes are finished.
func (f *Fs) SetAbandoned(d time.Duration) { f.abandonedAfter = d }

// SetUploadChunkSize sets the size of chunks, for the tests of rclone.
func (f *Fs) SetUploadChunkSize(size fs.SizeSuffix) (fs.SizeSuffix, error) {
	return set(f, &f.opt.ChunkSize, size)
}

// SetUploadCutoff sets the size above which files are sent in chunks, for the tests of
// rclone.
func (f *Fs) SetUploadCutoff(size fs.SizeSuffix) (fs.SizeSuffix, error) {
	return set(f, &f.opt.Cutoff, size)
}

// set sets an option, unless it is not valid, and returns its former value.
func set(f *Fs, option *fs.SizeSuffix, value fs.SizeSuffix) (old fs.SizeSuffix, err error) {
	old, *option = *option, value
	err = f.opt.check()
	if err != nil {
		*option = old
	}
	return old, err
}

// Noticed reports whether the notice about comparisons by size was logged.
func (f *Fs) Noticed() bool { return f.session.noticed.Load() }

// Report reports a change of a node as ChangeNotify does.
func (f *Fs) Report(ctx context.Context, id api.OpaqueID, notify func(remote string, kind fs.EntryType)) error {
	root, err := f.folder(ctx, "")
	if err != nil {
		return err
	}
	w := watch{f: f, root: root, notify: notify}
	w.report(ctx, []api.OpaqueID{id})
	return nil
}

// Watch reports changes as ChangeNotify does until stop is called. A watch that is refused is
// tried again after a pause.
func (f *Fs) Watch(
	ctx context.Context, pause time.Duration, notify func(remote string, kind fs.EntryType),
) (stop func()) {
	w := &watch{f: f, notify: notify, refusedPause: pause}
	return w.start(ctx)
}

// NewRereadBody returns the body of a chunk that is sent while it is read.
func NewRereadBody(in io.ReadSeeker, size int64) api.Body { return &rereadBody{in: in, size: size} }
