package uploads

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/storage"
)

// send sends the files: small ones in common calls, then the folders without files, and
// last the large ones in chunks. It returns the refusal of the platform if a quota or a
// limit of the plan is exhausted.
func (d *dir) send(ctx context.Context) error {
	var calls []func()
	for _, files := range d.batches() {
		calls = append(calls, func() { d.sendSmall(ctx, files, resendFailed) })
	}
	d.root.eachEmpty(func(f *folder) { calls = append(calls, func() { d.createFolder(ctx, f) }) })
	d.root.eachPending(func(e *entry) {
		if e.Size > MaxSingle {
			calls = append(calls, func() { d.sendLarge(ctx, e) })
		}
	})
	dirs.Each(ctx, d.o.Parallel, calls, func(run func()) { run() })
	if refusal := d.quotaError.Load(); refusal != nil {
		return refusal
	}
	return nil
}

// batches divides the small files into batches, each for one call. With a limited rate,
// a call has at most the bytes that the rate allows in a second, or MaxSingle if that is
// more, so that each file fits.
func (d *dir) batches() (all [][]*entry) {
	most := int64(batchBytes)
	if d.o.BytesPerSecond > 0 {
		most = min(most, max(d.o.BytesPerSecond, MaxSingle))
	}
	bytes := int64(0)
	d.root.eachPending(func(e *entry) {
		last := len(all) - 1
		switch {
		case e.Size > MaxSingle: // sendLarge sends it
		case last < 0 || len(all[last]) == MaxBatch || bytes+e.Size > most:
			all, bytes = append(all, []*entry{e}), e.Size
		default:
			all[last] = append(all[last], e)
			bytes += e.Size
		}
	})
	return all
}

// eachEmpty calls visit for each folder that must be created by itself: it is empty, and
// not because its content was left out, and is not known to exist on the platform. A folder
// whose name a file has there (nameTaken) is left out with all that is in it.
func (f *folder) eachEmpty(visit func(f *folder)) {
	if f.nameTaken {
		return
	}
	isEmpty := len(f.files) == 0 && len(f.folders) == 0
	isRoot := f.path == ""
	mayBeMissing := f.id == ""
	if isEmpty && !f.skipIfEmpty && !isRoot && mayBeMissing {
		visit(f)
	}
	for _, sub := range f.folders {
		sub.eachEmpty(visit)
	}
}

// createFolder creates an empty folder on the platform and adds an entry for it. Once a
// quota is exhausted it does nothing.
func (d *dir) createFolder(ctx context.Context, f *folder) {
	if d.quotaError.Load() != nil {
		return
	}
	e := &api.DirEntry{Path: f.path, Target: f.target}
	d.Add(e)
	n, err := d.s.nodes.EnsurePath(ctx, d.profile, d.base, f.target, d.opts...)
	if err != nil {
		d.endFailed(ctx, &entry{DirEntry: e}, err)
		return
	}
	e.Node = n.ID
	d.End(ctx, e, api.DirDone, nil)
}

// endFailed ends the entry of a file with an error. If that says that a quota or a limit
// of the plan is exhausted, it is kept in quotaError, and no further call begins. Calls
// that are under way end as usual, because the platform may have stored their files.
func (d *dir) endFailed(ctx context.Context, e *entry, err error) {
	refusal := quotaErrorIn(err)
	if refusal == nil {
		d.Fail(ctx, e.DirEntry, err)
		return
	}
	d.End(ctx, e.DirEntry, api.DirFailed, err) // Fail could cancel the calls under way
	d.quotaError.CompareAndSwap(nil, refusal)
}

// sendLarge sends a file in chunks, as soon as fewer sessions are open than the plan
// allows at a time.
func (d *dir) sendLarge(ctx context.Context, e *entry) {
	select {
	case d.sessions <- struct{}{}:
		d.sendOne(ctx, e)
		<-d.sessions
	case <-ctx.Done():
	}
}

// sendOne sends a single file and ends its entry. Once a quota is exhausted it does
// nothing.
func (d *dir) sendOne(ctx context.Context, e *entry) {
	if d.quotaError.Load() != nil {
		return
	}
	n, err := d.sendFile(ctx, e)
	if err != nil {
		d.endFailed(ctx, e, err)
		return
	}
	d.endStored(ctx, e, n.ID)
}

// sendFile sends one file and returns its node: in chunks, or in one call if it is
// small. A large file that can only be read from its start (not an [io.ReaderAt]) is
// sent as a stream. A small one is always an io.ReaderAt: openContent reads it into memory.
func (d *dir) sendFile(ctx context.Context, e *entry) (*storage.Node, error) {
	local, err := d.openContent(ctx, e)
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	content, readsAnywhere := local.(io.ReaderAt)
	f := d.newFile(e, content)
	if readsAnywhere {
		n, err := f.run(ctx, f.upload)
		failed, isError := errors.AsType[*Error](err)
		wasInterrupted := isError && failed.interrupted
		// The caller finds the session in the store or in the error of the entry; but once ctx is done, entries
		// get no error.
		callerHasSession := d.o.Sessions != nil || ctx.Err() == nil
		if wasInterrupted && !callerHasSession {
			f.discardSession(ctx)
		}
		return n, err
	}
	f.Size = SizeUnknown // the request of a stream has no size: exact checks that it is e.Size
	return f.run(ctx, func(ctx context.Context) error {
		in := &source{Reader: &exact{local, e.Size}}
		withProgress := &counted{Closer: in, r: in, f: f, ctx: ctx}
		return f.sendStream(ctx, withProgress)
	})
}

// newFile returns the upload of a file.
func (d *dir) newFile(e *entry, content io.ReaderAt) *file {
	f := d.s.newFile(opDir, content, d.fileOptions(e), d.opts)
	f.Target = Target{Profile: d.profile, Folder: d.base, Path: e.in.pathWithSlash()}
	f.Name, f.Size = e.name(), e.Size
	f.waitForRate, f.buffers = d.Pace, d.buffers
	return f
}

// fileOptions returns the options for the upload of one file. Its progress is added to
// the entry and to the folder. With a limited rate, a chunk has at most the bytes that
// the rate allows in a second.
func (d *dir) fileOptions(e *entry) *FileOptions {
	o := &FileOptions{ChunkSize: d.o.ChunkSize, Creator: d.o.Creator, Sessions: d.o.Sessions}
	if o.ChunkSize == 0 && d.o.BytesPerSecond > 0 {
		o.ChunkSize = min(defaultChunk, d.o.BytesPerSecond)
	}
	var reported int64 // Progress takes the bytes since the last report
	o.OnProgress = func(ctx context.Context, p api.Progress) {
		d.Progress(ctx, e.DirEntry, p.Done-reported, api.Progress{Done: p.Done, Total: e.Size})
		reported = p.Done
	}
	return o
}

// endUnknown ends the entries of files whose result is unknown because of cause: after
// a while, those that the target has are done and the others fail. It lists each folder
// once. No file is sent again: the platform may store what it has received at any later
// time, which would make that a second version.
func (d *dir) endUnknown(ctx context.Context, entries []*entry, cause error) {
	if len(entries) == 0 || wait.Sleep(ctx, lostWait) != nil {
		return
	}
	listed := map[*folder]map[string]*storage.Node{}
	for _, e := range entries {
		nodes, err := d.nodesOf(ctx, e.in, listed)
		switch n := nodes[e.name()]; {
		case err != nil:
			d.endFailed(ctx, e, &Error{Op: opDir, Err: errors.Join(cause, err)})
		case n != nil && d.sameContent(ctx, e, n):
			d.Progress(ctx, e.DirEntry, e.Size, api.Progress{Done: e.Size, Total: e.Size})
			d.endStored(ctx, e, n.ID)
		default:
			d.endFailed(ctx, e, &Error{Op: opDir, Err: cause})
		}
	}
}

// endStored ends the entry of a file that is stored.
func (d *dir) endStored(ctx context.Context, e *entry, node api.OpaqueID) {
	e.Node = node
	d.End(ctx, e.DirEntry, api.DirDone, nil)
}

// await waits until the uploads of a batch have stored their files or failed, and ends
// the entries of these. Waiting has the entries by upload ID. Entries whose upload has
// not ended when the wait fails end with its error.
func (d *dir) await(ctx context.Context, waiting map[string]*entry) {
	if len(waiting) == 0 {
		return
	}
	var ids []api.OpaqueID
	for id := range waiting {
		ids = append(ids, api.OpaqueID(id))
	}
	err := d.s.await(ctx, ids, func() (bool, error) {
		all, err := d.s.List(ctx, d.opts...)
		if err != nil && !call.Final(err) {
			return false, err
		}
		// After a final error nothing is listed, and endIfDone reads each upload.
		listed := map[string]*Upload{}
		for _, u := range all {
			if u != nil {
				listed[u.ID.Plain()] = u
			}
		}
		for id, e := range waiting {
			ended, err := d.endIfDone(ctx, api.OpaqueID(id), listed[id], e)
			if err != nil {
				return false, err
			}
			if ended {
				delete(waiting, id)
			}
		}
		return len(waiting) == 0, nil
	})
	for id, e := range waiting {
		d.endFailed(ctx, e, &Error{Op: opDir, Upload: Upload{ID: api.OpaqueID(id)}, Err: err})
	}
}

// endIfDone reads an upload, unless the caller has read it as u, and ends the entry of
// its file if the upload has stored the file or failed. It reports whether the entry
// has ended. Errors that are temporary or concern all files are returned.
func (d *dir) endIfDone(ctx context.Context, id api.OpaqueID, u *Upload, e *entry) (ended bool, err error) {
	if u == nil {
		u, err = d.s.Get(ctx, id, d.opts...)
	}
	switch {
	case err != nil && (!call.Final(err) || call.EndsAll(err) || ctx.Err() != nil):
		return false, err
	case err != nil:
		d.endFailed(ctx, e, &Error{Op: opDir, Upload: Upload{ID: id}, Err: err})
	case !u.hasEnded():
		return false, nil
	case u.Status.Failed():
		d.endFailed(ctx, e, &Error{Op: opDir, Upload: *u})
	default:
		d.endStored(ctx, e, u.FileID)
	}
	return true, nil
}

var errNoResult = errors.New("the response has no result of the file")

// Whether sendSmall sends files that fail once more.
const (
	resendFailed = true
	resendNone   = false
)

// sendSmall sends a batch of small files and sets the result of each (ends its entry);
// sendBatch does so for files that it cannot read. A batch that the platform refuses is
// split, because one file may be the reason. With resend, files that fail are sent once
// more. Files with an unknown result, because the response was lost or does not list them,
// may have been stored: endUnknown looks for them in the target.
func (d *dir) sendSmall(ctx context.Context, entries []*entry, resend bool) {
	sent, result, err := d.sendBatch(ctx, entries)
	if len(sent) == 0 {
		return // no call was made: err, if any, means that ctx is done, which ends the whole upload
	}
	isRefused := err != nil && !ambiguous(err)
	if isRefused {
		d.splitRefused(ctx, sent, resend, err)
		return
	}
	unknown, failed := d.endResults(ctx, sent, result) // result is nil if the response was lost
	d.endUnknown(ctx, unknown, cmp.Or(err, errNoResult))
	if resend && len(failed) > 0 && d.quotaError.Load() == nil {
		d.sendSmall(ctx, failed, resendNone)
		return
	}
	for _, e := range failed {
		d.endFailed(ctx, e, e.Err)
	}
}

// splitRefused handles a batch that was refused: it sends the files again in two
// smaller calls of sendSmall if one of the files, or the size of the batch, may be the
// reason. Otherwise all of them fail.
func (d *dir) splitRefused(ctx context.Context, entries []*entry, resend bool, err error) {
	refusal, refused := errors.AsType[*api.Error](err)
	tooLarge := refused && refusal.Status == http.StatusRequestEntityTooLarge // by the platform: a proxy's is ambiguous
	invalid := refused && errors.Is(err, api.ErrInvalid)
	switch half := len(entries) / 2; {
	case half > 0 && (tooLarge || invalid):
		d.sendSmall(ctx, entries[:half], resend)
		d.sendSmall(ctx, entries[half:], resend)
	case invalid: // one file is left: by itself it gets an error of its own
		d.sendOne(ctx, entries[0])
	default:
		for _, e := range entries {
			d.endFailed(ctx, e, err)
		}
	}
}

// sendBatch sends small files in one call, and returns the entries of those that it
// could read and has sent. There are none if the call was not made: ctx has ended, a
// quota is exhausted, or no file could be read.
func (d *dir) sendBatch(ctx context.Context, entries []*entry) (sent []*entry, _ *BatchResult, err error) {
	room := int64(len(entries)) // a byte more for each, by which readFiles notices that a file has grown
	for _, e := range entries {
		room += e.Size
	}
	buffer, err := d.buffers.take(ctx, room)
	if err != nil {
		return nil, nil, err
	}
	defer func() { d.buffers.give(buffer, err) }() // after an error, a read or request may still use it
	if d.quotaError.Load() != nil {
		return nil, nil, nil
	}
	files, sent, err := d.readFiles(ctx, buffer, entries)
	if err != nil || len(files) == 0 {
		return nil, nil, err
	}
	bytes := 0
	for _, f := range files {
		bytes += len(f.Content)
	}
	if err := d.Pace(ctx, bytes); err != nil {
		return nil, nil, err
	}
	result, err := d.s.Batch(ctx, Target{Profile: d.profile, Folder: d.base}, files, d.o.Creator, d.opts...)
	return sent, result, err
}

// endResults ends the entries of files that are stored according to the result of their
// call, after waiting for those that are still being stored. It returns the files
// without a clear result, and those that were refused, whose Err is the reason.
func (d *dir) endResults(ctx context.Context, entries []*entry, result *BatchResult) (unknown, failed []*entry) {
	found := result.byIndex(entries)
	waiting := map[string]*entry{} // by the ID of the upload
	for i, e := range entries {
		switch u := found[i]; {
		case u == nil:
			unknown = append(unknown, e)
		case u.OK():
			d.Progress(ctx, e.DirEntry, e.Size, api.Progress{Done: e.Size, Total: e.Size})
			if u.Node == "" {
				waiting[u.Upload.Plain()] = e
			} else {
				d.endStored(ctx, e, u.Node)
			}
		default:
			e.Err = u.Err()
			failed = append(failed, e)
		}
	}
	d.await(ctx, waiting)
	return unknown, failed
}

// byIndex returns the results of a batch by their index in entries, without results
// that contradict each other or the request: several with one index, one with the name of
// another file, a success without an ID or with that of another result, or an unknown status
// without the reason of a refusal.
func (r *BatchResult) byIndex(entries []*entry) map[int]*BatchUpload {
	valid := map[int]*BatchUpload{}
	if r == nil {
		return valid
	}
	names, indexes, ids := map[string]bool{}, map[int]int{}, map[string]int{}
	for _, e := range entries {
		names[e.name()] = true
	}
	for _, u := range r.Results {
		if u != nil {
			indexes[u.Index]++
			ids[u.id()]++
		}
	}
	for _, u := range r.Results {
		if u == nil || u.Index < 0 || u.Index >= len(entries) || indexes[u.Index] > 1 {
			continue
		}
		ofOtherFile := u.Name != entries[u.Index].name() && names[u.Name]
		hasOwnID := u.id() != "" && ids[u.id()] == 1
		if !ofOtherFile && u.isClear(hasOwnID) {
			valid[u.Index] = u
		}
	}
	return valid
}

// isClear reports whether the result says that the file was accepted, which requires an
// ID that no other result has (hasOwnID), or that it was refused.
func (u *BatchUpload) isClear(hasOwnID bool) bool {
	if u.OK() {
		return hasOwnID
	}
	return u.Status == "error" || u.Code != 0 || u.Message != ""
}

// id returns the ID of the file that is stored, else of the upload.
func (u *BatchUpload) id() string { return cmp.Or(u.Node, u.Upload).Plain() }
