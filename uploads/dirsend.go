package uploads

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/storage"
)

// send sends the files, and creates the folders that hold none.
func (d *dir) send(ctx context.Context) error {
	most := int64(batchBytes)
	if d.o.BytesPerSecond > 0 {
		most = min(most, max(d.o.BytesPerSecond, MaxSingle))
	}
	var calls []func()
	var batch []*entry
	bytes := int64(0)
	flush := func() {
		if files := batch; len(files) > 0 {
			calls = append(calls, func() { d.batch(ctx, files, true) })
		}
		batch, bytes = nil, 0
	}
	d.root.pending(func(e *entry) {
		if e.Size > MaxSingle {
			calls = append(calls, func() { d.one(ctx, e) })
			return
		}
		if len(batch) == MaxBatch || bytes+e.Size > most {
			flush()
		}
		batch = append(batch, e)
		bytes += e.Size
	})
	flush()
	d.root.empty(func(f *folder) { calls = append(calls, func() { d.create(ctx, f) }) })
	dirs.Each(ctx, d.o.Parallel, calls, func(do func()) { do() })
	return nil
}

// empty calls visit for each folder that holds nothing, also without the filter, and may
// not exist on the platform.
func (f *folder) empty(visit func(f *folder)) {
	if f.taken {
		return
	}
	if f.id == "" && f.path != "" && !f.filtered && len(f.files) == 0 && len(f.folders) == 0 {
		visit(f)
	}
	for _, sub := range f.folders {
		sub.empty(visit)
	}
}

// create creates an empty folder.
func (d *dir) create(ctx context.Context, f *folder) {
	e := &api.DirEntry{Path: f.path, Target: f.target}
	d.Add(e)
	n, err := d.s.nodes.EnsurePath(ctx, d.in, d.base, f.target, d.opts...)
	if err != nil {
		d.Fail(ctx, e, err)
		return
	}
	e.Node = n.ID
	d.End(ctx, e, api.DirDone, nil)
}

// one sends a file. If the result is unknown and the platform does not have it, it is sent
// once more.
func (d *dir) one(ctx context.Context, e *entry) {
	n, err := d.file(ctx, e)
	if unknown, ok := errors.AsType[*Error](err); ok && unknown.absent && ctx.Err() == nil {
		n, err = d.file(ctx, e)
	}
	if err != nil {
		d.Fail(ctx, e.DirEntry, err)
		return
	}
	d.done(ctx, e, n.ID)
}

// file sends a file in one call or in chunks.
func (d *dir) file(ctx context.Context, e *entry) (*storage.Node, error) {
	local, err := d.open(e)
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	content, random := local.(io.ReaderAt)
	if !random && e.Size <= MaxSingle {
		all, err := d.content(local, e)
		if err != nil {
			return nil, err
		}
		content, random = bytes.NewReader(all), true
	}
	f := d.s.newFile(opDir, content, d.fileOptions(e), d.opts)
	f.Target = Target{Profile: d.in, Folder: d.base, Path: e.in.relative()}
	f.Name, f.Size = e.name(), e.Size
	f.pace = d.Pace
	if !random {
		f.Size, f.content = SizeUnknown, nil
		return f.run(ctx, func(ctx context.Context) error {
			in := &source{Reader: local}
			return f.stream(ctx, &counted{Closer: in, r: in, f: f, ctx: ctx}, nil)
		})
	}
	if from := d.o.Sessions[e.Path]; from.Target == f.Target && from.Name == f.Name && from.Size == f.Size {
		fresh := f.Session
		f.Session = from
		n, err := f.run(ctx, f.resume)
		if !errors.Is(err, api.ErrNotFound) {
			return n, err
		}
		f.Session, f.done, f.state = fresh, 0, Upload{}
	}
	return f.run(ctx, f.upload)
}

func (d *dir) fileOptions(e *entry) *FileOptions {
	o := &FileOptions{ChunkSize: d.o.ChunkSize, Creator: d.o.Creator}
	if o.ChunkSize == 0 && d.o.BytesPerSecond > 0 {
		o.ChunkSize = min(defaultChunk, d.o.BytesPerSecond)
	}
	var done int64
	o.OnProgress = func(ctx context.Context, p api.Progress) {
		d.Progress(ctx, e.DirEntry, p.Done-done, api.Progress{Done: p.Done, Total: e.Size})
		done = p.Done
	}
	if d.o.OnSession != nil {
		o.OnSession = func(ctx context.Context, s Session) error { return d.o.OnSession(ctx, e.Path, s) }
	}
	return o
}

// open opens a file that has not changed since the folder was read.
func (d *dir) open(e *entry) (fs.File, error) {
	local, err := d.fsys.Open(e.Path)
	if err != nil {
		return nil, err
	}
	if !unchanged(local, e.info)() {
		_ = local.Close()
		return nil, ErrChanged
	}
	return local, nil
}

// content returns the content of a small file.
func (d *dir) content(local fs.File, e *entry) ([]byte, error) {
	content := make([]byte, e.Size+1)
	n, err := io.ReadFull(local, content)
	switch {
	case err == nil, int64(n) < e.Size && errors.Is(err, io.ErrUnexpectedEOF), e.Size > 0 && errors.Is(err, io.EOF):
		return nil, ErrChanged
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return content[:n], nil
	}
	return nil, err
}

// find ends the entries of files whose call failed with cause and that the platform has all
// the same, and returns the others. It lists each folder once. Entries of a folder that
// cannot be listed fail.
func (d *dir) find(ctx context.Context, entries []*entry, cause error) (missing []*entry) {
	if len(entries) == 0 || wait.Sleep(ctx, lostWait) != nil {
		return nil
	}
	listed := map[*folder]map[string]*storage.Node{}
	for _, e := range entries {
		there, err := d.nodesOf(ctx, e.in, listed)
		switch n := there[e.name()]; {
		case err != nil:
			d.Fail(ctx, e.DirEntry, &Error{Op: opDir, Err: errors.Join(cause, err)})
		case n != nil && d.same(e, n):
			d.done(ctx, e, n.ID)
		default:
			missing = append(missing, e)
		}
	}
	return missing
}

// done ends the entry of a file that is stored.
func (d *dir) done(ctx context.Context, e *entry, node api.OpaqueID) {
	e.Node = node
	d.End(ctx, e.DirEntry, api.DirDone, nil)
}

// await waits until the files of a batch are stored or have failed, and ends their
// entries.
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
		listed := map[string]*Upload{}
		for _, u := range all {
			if u != nil {
				listed[u.ID.Plain()] = u
			}
		}
		for id, e := range waiting {
			u, err := listed[id], error(nil)
			if u == nil {
				u, err = d.s.Get(ctx, api.OpaqueID(id), d.opts...)
			}
			switch {
			case err != nil && (!call.Final(err) || call.EndsAll(err) || ctx.Err() != nil):
				return false, err
			case err != nil:
				d.Fail(ctx, e.DirEntry, &Error{Op: opDir, Upload: Upload{ID: api.OpaqueID(id)}, Err: err})
			case !u.stored():
				continue
			case u.Status.Failed():
				d.Fail(ctx, e.DirEntry, &Error{Op: opDir, Upload: *u})
			default:
				d.done(ctx, e, u.FileID)
			}
			delete(waiting, id)
		}
		return len(waiting) == 0, nil
	})
	for id, e := range waiting {
		d.Fail(ctx, e.DirEntry, &Error{Op: opDir, Upload: Upload{ID: api.OpaqueID(id)}, Err: err})
	}
}

// batch sends small files in one call. Those that are refused are sent once more.
func (d *dir) batch(ctx context.Context, entries []*entry, again bool) {
	files, entries := d.read(ctx, entries)
	bytes := 0
	for _, f := range files {
		bytes += len(f.Content)
	}
	if len(files) == 0 || d.Pace(ctx, bytes) != nil {
		return
	}
	result, err := d.s.Batch(ctx, Target{Profile: d.in, Folder: d.base}, files, d.o.Creator, d.opts...)
	refusal, refused := errors.AsType[*api.Error](err)
	switch half := len(entries) / 2; {
	case err == nil:
	case refused && refusal.Status == http.StatusRequestEntityTooLarge && errors.Is(err, api.ErrLimit) && half > 0:
		d.batch(ctx, entries[:half], again)
		d.batch(ctx, entries[half:], again)
		return
	case refused && errors.Is(err, api.ErrInvalid): // one of the files may be the reason
		for _, e := range entries {
			d.one(ctx, e)
		}
		return
	case !ambiguous(err):
		for _, e := range entries {
			d.Fail(ctx, e.DirEntry, err)
		}
		return
	}
	if err == nil {
		err = errors.New("the response has no result of the file")
	}
	unknown, failed := d.results(ctx, entries, result)
	for _, e := range d.find(ctx, unknown, err) {
		e.Err = &Error{Op: opDir, Err: err}
		failed = append(failed, e)
	}
	if again && len(failed) > 0 && ctx.Err() == nil {
		d.batch(ctx, failed, false)
		return
	}
	for _, e := range failed {
		d.Fail(ctx, e.DirEntry, e.Err)
	}
}

// read reads small files. Those that cannot be read, or have changed, fail.
func (d *dir) read(ctx context.Context, entries []*entry) (files []BatchFile, read []*entry) {
	for _, e := range entries {
		local, err := d.open(e)
		var content []byte
		if err == nil {
			content, err = d.content(local, e)
			_ = local.Close()
		}
		if err != nil {
			d.Fail(ctx, e.DirEntry, err)
			continue
		}
		files = append(files, BatchFile{Name: e.name(), Path: e.in.relative(), Content: content})
		read = append(read, e)
	}
	return files, read
}

// results ends the entries that are stored, and returns those without a result and those
// that were refused, which hold the reason.
func (d *dir) results(ctx context.Context, entries []*entry, result *BatchResult) (unknown, failed []*entry) {
	found := map[int]*BatchUpload{}
	if result != nil {
		for _, u := range result.Results {
			if u != nil {
				found[u.Index] = u
			}
		}
	}
	waiting := map[string]*entry{} // by upload
	for i, e := range entries {
		switch u := found[i]; {
		case u == nil, u.OK() && u.Node == "" && u.Upload == "":
			unknown = append(unknown, e)
		case u.OK():
			d.Progress(ctx, e.DirEntry, e.Size, api.Progress{Done: e.Size, Total: e.Size})
			if u.Node == "" {
				waiting[u.Upload.Plain()] = e
			} else {
				d.done(ctx, e, u.Node)
			}
		default:
			e.Err = u.Err()
			failed = append(failed, e)
		}
	}
	d.await(ctx, waiting)
	return unknown, failed
}
