package uploads

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/storage"
)

// FileOptions are the options of an upload. Nil and zero fields mean the defaults.
type FileOptions struct {
	ChunkSize int64  // bytes sent at a time and held in memory, three times; default 8 MiB, more for files that need it
	Creator   string // see [StartRequest]

	// OnProgress is called with the bytes that the server has received, or of a stream that
	// were sent.
	OnProgress func(ctx context.Context, p api.Progress)

	// OnSession is called when an upload in chunks has begun. [Service.Resume] continues
	// it, also in another process.
	OnSession func(ctx context.Context, s Session)
}

// Session is an upload in chunks that can be continued. It holds no secret, and can be
// saved as JSON.
type Session struct {
	ID        api.OpaqueID `json:"id"`
	Target    Target       `json:"target"`
	Name      string       `json:"name"`
	Size      int64        `json:"size"`
	ChunkSize int64        `json:"chunk_size"`
}

// Error is returned if an upload has failed, or its result is unknown.
type Error struct {
	Op     string
	Upload Upload // its last known state; without an ID if it may not have begun
	Err    error  // why the result is unknown; nil if the upload has failed
}

// Error returns the state of the upload.
func (e *Error) Error() string {
	text := "fastio: " + e.Op + ": "
	switch {
	case e.Err != nil:
		return text + "whether the file was stored is not known: " + e.Err.Error()
	case e.Upload.StatusMessage != "":
		return text + "the upload ended as " + string(e.Upload.Status) + ": " + e.Upload.StatusMessage
	}
	return text + "the upload ended as " + string(e.Upload.Status)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrChanged is returned if a file has changed while it was uploaded. Nothing was stored.
var ErrChanged = errors.New("the content has changed during the upload")

const opFile = "uploads.File"

// File uploads content of a size in bytes, waits until it is stored, and returns its node.
// A file of that name in the folder gets a new version; beside a folder of that name the
// new file is renamed.
//
// Content of up to [MaxSingle] bytes is sent in one call, which is not repeated after bytes
// may have been sent: that could store a second version. Other content is sent in chunks,
// three at a time, with the checksum of each and of the whole. A chunk is retried, and the
// upload starts over once if the server received other bytes. Content that is an
// [io/fs.File] must keep its size and modification time.
//
// Errors: those of [Service.Start]; [*api.VersionConflict] if Target.IfVersion is not
// the current version; [*Error] if the upload has failed, or with an Err if its result is
// unknown; [ErrChanged] if content has fewer or more bytes than size.
// [*api.InputError] if the file is larger than the plan allows.
func (s *Service) File(
	ctx context.Context, t Target, name string, content io.ReaderAt, size int64, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	f := s.newFile(content, o, opts)
	f.Target, f.Name, f.Size = t, name, size
	return f.run(ctx, f.upload)
}

// Assemble uploads content as [Service.File] does, but stores it nowhere. The ID of the
// result is a [storage.FromUpload] for storage.Service.AddFile and Update, also for several
// files. The caller removes it by [Service.Cancel].
//
// Errors: those of [Service.File].
func (s *Service) Assemble(
	ctx context.Context, name string, content io.ReaderAt, size int64, o *FileOptions, opts ...api.CallOption,
) (*Upload, error) {
	f := s.newFile(content, o, opts)
	f.Name, f.Size = name, size
	if err := f.transfer(ctx, f.upload); err != nil {
		return nil, err
	}
	return &f.state, nil
}

// FromPath is [Service.File] for a local file. Name is that of the local file.
func (s *Service) FromPath(
	ctx context.Context, t Target, path string, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	local, err := os.Open(path) //nolint:gosec // the path is the caller's
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	info, err := local.Stat()
	if err != nil {
		return nil, err
	}
	return s.File(ctx, t, filepath.Base(path), local, info.Size(), o, opts...)
}

// unchanged returns a function that reports whether a file is as it was.
func unchanged(f fs.File, was fs.FileInfo) func() bool {
	return func() bool {
		now, err := f.Stat()
		return err == nil && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime())
	}
}

// FromReader is [Service.File] for content of unknown size. Up to [MaxSingle] bytes are
// sent in one call, more as a stream, which is sent once: after a failure the content must
// be read again by another call. Hash is that of the content, checked by the server; nil
// means none. The server ends a stream that exceeds the limit of the plan.
//
// Errors: those of [Service.File], and that of content.
func (s *Service) FromReader(
	ctx context.Context, t Target, name string, content io.Reader, hash *Hash, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	if content == nil {
		return nil, &api.InputError{Op: opFile, Field: "content", Rule: "must not be nil"}
	}
	head, err := io.ReadAll(io.LimitReader(content, MaxSingle+1))
	if err != nil {
		return nil, fmt.Errorf("fastio: %s: reading the content: %w", opFile, err)
	}
	f := s.newFile(bytes.NewReader(head), o, opts)
	f.Target, f.Name, f.Size = t, name, int64(len(head))
	if f.Size <= MaxSingle {
		return f.run(ctx, f.upload)
	}
	f.Size = SizeUnknown
	return f.run(ctx, func(ctx context.Context) error {
		return f.stream(ctx, &counted{r: io.MultiReader(bytes.NewReader(head), content), f: f, ctx: ctx}, hash)
	})
}

// Resume continues an upload with the same content. Chunks that have arrived are not sent
// again; the checksum of the whole file proves that they are the same.
//
// Errors: those of [Service.File]; [api.ErrNotFound] if the upload does not exist any more.
func (s *Service) Resume(
	ctx context.Context, from Session, content io.ReaderAt, o *FileOptions, opts ...api.CallOption,
) (*storage.Node, error) {
	f := s.newFile(content, o, opts)
	f.Session = from
	switch {
	case from.ID == "":
		return nil, &api.InputError{Op: opFile, Field: "session", Rule: "must be one of OnSession"}
	case from.ChunkSize < 1 || from.Size < 1:
		got := strconv.FormatInt(from.ChunkSize, 10)
		return nil, &api.InputError{Op: opFile, Field: "session", Rule: "must have a size and chunks", Got: got}
	}
	return f.run(ctx, f.resume)
}

// file is one upload.
type file struct {
	Session

	s         *Service
	content   io.ReaderAt
	unchanged func() bool
	pace      func(ctx context.Context, bytes int) error // waits until so many bytes may be sent
	o         FileOptions
	opts      []api.CallOption

	mu    sync.Mutex
	done  int64 // bytes that have arrived
	state Upload
}

func (s *Service) newFile(content io.ReaderAt, o *FileOptions, opts []api.CallOption) *file {
	f := &file{
		s: s, content: content, opts: opts,
		unchanged: func() bool { return true },
		pace:      func(context.Context, int) error { return nil },
	}
	if local, ok := content.(fs.File); ok {
		if info, err := local.Stat(); err == nil {
			f.unchanged = unchanged(local, info)
		}
	}
	if o != nil {
		f.o = *o
	}
	return f
}

// run uploads the content and returns the node.
func (f *file) run(ctx context.Context, upload func(context.Context) error) (*storage.Node, error) {
	switch {
	case f.Target.Profile == api.Profile{}:
		return nil, &api.InputError{Op: opFile, Field: "instance_id", Rule: "must be a workspace, share or File Share"}
	case f.swaps() && f.Target.File.Plain() == "":
		return nil, &api.InputError{Op: opFile, Field: "file_id", Rule: "must be a file, to compare its version"}
	}
	if err := f.transfer(ctx, upload); err != nil {
		return nil, err
	}
	if f.swaps() {
		return f.swap(ctx)
	}
	return f.node(ctx), nil
}

// swaps reports whether the upload replaces a version of a file that is not behind a File
// Share. It is assembled without a target then.
func (f *file) swaps() bool {
	return f.Target.IfVersion != "" && f.Target.Profile.Kind != api.ProfileKindFileShare
}

// swap makes the assembled upload the content of the file.
func (f *file) swap(ctx context.Context) (*storage.Node, error) {
	r := storage.UpdateRequest{From: storage.FromUpload(f.ID), IfVersion: api.Set(f.Target.IfVersion)}
	n, err := f.s.nodes.Update(ctx, f.Target.Profile, f.Target.File, r, f.opts...)
	if err != nil && ambiguous(err) {
		return nil, &Error{Op: opFile, Upload: f.state, Err: err}
	}
	_ = f.s.Cancel(context.WithoutCancel(ctx), f.ID, f.opts...) // it is of no more use
	return n, err
}

// transfer uploads the content. It starts over once if the server received other bytes.
func (f *file) transfer(ctx context.Context, upload func(context.Context) error) error {
	if f.content == nil || f.o.ChunkSize < 0 {
		return &api.InputError{Op: opFile, Field: "content", Rule: "must not be nil, and ChunkSize not be negative"}
	}
	err := upload(ctx)
	if mismatch, ok := errors.AsType[*mismatchError](err); ok && !mismatch.again {
		f.ID, f.done, f.state = "", 0, Upload{}
		if err = f.upload(ctx); errors.As(err, &mismatch) {
			err = mismatch.err
		}
	}
	if errors.Is(err, ErrChanged) && f.ID != "" {
		_ = f.s.Cancel(context.WithoutCancel(ctx), f.ID, f.opts...) // it cannot be continued
	}
	return err
}

// mismatchError is a failure after which an upload starts over, once.
type mismatchError struct {
	err   error
	again bool
}

func (e *mismatchError) Error() string { return e.err.Error() }
func (e *mismatchError) Unwrap() error { return e.err }

// node reads the stored file. An error here is ignored: the file is stored.
func (f *file) node(ctx context.Context) *storage.Node {
	n := &storage.Node{ID: cmp.Or(f.state.FileID, f.Target.File), Name: f.Name, Type: storage.NodeTypeFile, Size: f.Size}
	if p := f.Target.Profile.Kind; n.ID != "" && (p == api.ProfileKindWorkspace || p == api.ProfileKindShare) {
		if read, err := f.s.nodes.Get(ctx, f.Target.Profile, n.ID, f.opts...); err == nil {
			return read
		}
	}
	return n
}

func (f *file) request() StartRequest {
	r := StartRequest{Target: f.Target, Name: f.Name, Size: f.Size, Creator: f.o.Creator}
	if f.swaps() {
		r.Target = Target{}
	}
	return r
}

func (f *file) upload(ctx context.Context) error {
	r := f.request()
	if r.Size < 0 {
		got := strconv.FormatInt(r.Size, 10)
		return &api.InputError{Op: opFile, Field: "size", Rule: "must be 0 or more", Got: got}
	}
	if err := r.check(opFile); err != nil {
		return err
	}
	if f.Size <= MaxSingle {
		return f.single(ctx, r)
	}
	limits := &Limits{}
	if f.Target.Profile.Kind != api.ProfileKindFileShare {
		var err error
		if limits, err = f.s.Limits(ctx, f.Target, f.opts...); err != nil {
			return err
		}
	}
	var err error
	if f.ChunkSize, err = limits.chunkSize(opFile, f.Size, f.o.ChunkSize); err != nil {
		return err
	}
	u, err := f.s.Start(ctx, r, f.opts...)
	if err != nil {
		return f.refusal(err)
	}
	if f.ID = u.ID; f.ID == "" {
		return errors.New("fastio: " + opFile + ": the response has no upload")
	}
	if f.o.OnSession != nil {
		f.o.OnSession(ctx, f.Session)
	}
	return f.send(ctx, nil)
}

// single sends the content in one call.
func (f *file) single(ctx context.Context, r StartRequest) error {
	content := make([]byte, f.Size)
	if err := f.read(content, 0); err != nil {
		return err
	}
	if err := f.verify(); err != nil {
		return err
	}
	if err := f.pace(ctx, len(content)); err != nil {
		return err
	}
	u, err := f.s.Put(ctx, r, content, f.opts...)
	if err != nil {
		if ambiguous(err) {
			return &Error{Op: opFile, Err: err}
		}
		return f.refusal(err)
	}
	f.state, f.ID = *u, u.ID
	f.report(ctx, f.Size)
	if u.FileID != "" && !u.Status.Failed() {
		return nil
	}
	return f.end(ctx, nil)
}

// resume sends the chunks that have not arrived.
func (f *file) resume(ctx context.Context) error {
	u, err := f.s.Get(ctx, f.ID, f.opts...)
	if err != nil {
		return err
	}
	f.state = *u
	if u.Status != StatusReady && u.Status != StatusUploading {
		return f.end(ctx, nil)
	}
	return f.send(ctx, u.Chunks)
}

// stream sends content of unknown size.
func (f *file) stream(ctx context.Context, content *counted, hash *Hash) error {
	r := f.request()
	if err := r.check(opFile); err != nil {
		return err
	}
	u, err := f.s.Start(ctx, r, f.opts...)
	if err != nil {
		return f.refusal(err)
	}
	if f.ID = u.ID; f.ID == "" {
		return errors.New("fastio: " + opFile + ": the response has no upload")
	}
	err = f.s.Stream(ctx, f.ID, content, hash, f.opts...)
	f.mu.Lock() // the connection may still read
	failed := content.err
	f.Size = f.done
	f.mu.Unlock()
	switch {
	case failed != nil, err != nil && !ambiguous(err):
		_ = f.s.Cancel(context.WithoutCancel(ctx), f.ID, f.opts...) // it cannot be continued
		return errors.Join(failed, err)
	case err != nil && ctx.Err() != nil:
		return &Error{Op: opFile, Upload: f.state, Err: err}
	}
	return f.end(ctx, err)
}

// counted reads content and reports the bytes.
type counted struct {
	r   io.Reader
	f   *file
	ctx context.Context //nolint:containedctx // of OnProgress
	err error           // of r
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err == nil {
		err = c.f.pace(c.ctx, n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.f.mu.Lock()
		c.err = err
		c.f.mu.Unlock()
	}
	if n > 0 {
		c.f.report(c.ctx, int64(n))
	}
	return n, err
}

// chunks returns the number of chunks.
func (f *file) chunks() int { return int((f.Size + f.ChunkSize - 1) / f.ChunkSize) }

// length returns the bytes of a chunk.
func (f *file) length(order int) int64 { return min(f.ChunkSize, f.Size-int64(order-1)*f.ChunkSize) }

// lanes is how many chunks are sent at a time.
const lanes = 3

// send sends all chunks but those that have arrived, the last one alone with the checksum
// of the file, and completes the upload.
func (f *file) send(ctx context.Context, arrived api.Map[int64]) error {
	last := f.chunks()
	sums := make([]uint32, last)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var sending sync.WaitGroup
	orders := make(chan int)
	buffer := make([]byte, f.ChunkSize) // of the first lane, then of the last chunk
	for lane := range min(lanes, last-1) {
		buffer := buffer
		if lane > 0 {
			buffer = make([]byte, f.ChunkSize)
		}
		sending.Go(func() {
			for order := range orders {
				has := arrived[strconv.Itoa(order)] == f.length(order)
				if err := f.chunk(ctx, buffer, order, has, sums, nil); err != nil {
					stop(err)
				}
			}
		})
	}
	for order := 1; order < last && ctx.Err() == nil; order++ {
		select {
		case orders <- order:
		case <-ctx.Done():
		}
	}
	close(orders)
	sending.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := f.chunk(ctx, buffer, last, false, sums, f.verify); err != nil {
		return err
	}
	return f.complete(ctx)
}

// chunk reads a chunk and sends it unless the server has it. The last one has a check of
// the content, and is sent with the checksum of the file.
func (f *file) chunk(
	ctx context.Context, buffer []byte, order int, has bool, sums []uint32, check func() error,
) error {
	c := Chunk{Order: order, Content: buffer[:f.length(order)]}
	if err := f.read(c.Content, int64(order-1)*f.ChunkSize); err != nil {
		return err
	}
	sums[order-1] = CRC(c.Content)
	if check != nil {
		if err := check(); err != nil {
			return err
		}
		whole := sums[0]
		for i, sum := range sums[1:] {
			whole = CombineCRC(whole, sum, f.length(i+2))
		}
		c.FileCRC = &whole
	}
	if !has {
		if err := f.pace(ctx, len(c.Content)); err != nil {
			return err
		}
		if err := f.s.Chunks.send(ctx, f.ID, c, sums[order-1], f.opts); err != nil {
			return f.refusal(err)
		}
	}
	f.report(ctx, int64(len(c.Content)))
	return nil
}

// codes of the responses to an upload whose bytes are not those that were sent.
const (
	codeSizeDiffers = 10522
	codeCRCDiffers  = 10778
)

// refusal returns err, as a mismatchError if the upload is to start over, or as an
// [*api.VersionConflict].
func (f *file) refusal(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok && (e.Code == codeSizeDiffers || e.Code == codeCRCDiffers) {
		return &mismatchError{err: err}
	}
	return call.Conflict(opFile, err)
}

func (f *file) complete(ctx context.Context) error {
	err := f.s.Complete(ctx, f.ID, f.opts...)
	if err == nil {
		return f.end(ctx, nil)
	}
	if ambiguous(err) {
		return f.end(ctx, err)
	}
	return f.refusal(err)
}

// read fills p with the content at offset at.
func (f *file) read(p []byte, at int64) error {
	n, err := f.content.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil, errors.Is(err, io.EOF):
		err = ErrChanged
	}
	return fmt.Errorf("fastio: %s: reading the content: %w", opFile, err)
}

// verify returns an error if the content is longer than the upload, or has changed.
func (f *file) verify() error {
	var more [1]byte
	if n, _ := f.content.ReadAt(more[:], f.Size); n > 0 || !f.unchanged() {
		return fmt.Errorf("fastio: %s: %w", opFile, ErrChanged)
	}
	return nil
}

func (f *file) report(ctx context.Context, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done += n; f.o.OnProgress != nil {
		f.o.OnProgress(ctx, api.Progress{Done: f.done, Total: f.Size}) // of a stream: SizeUnknown
	}
}

// mostLooks is how often an upload is read that may not have been completed.
const mostLooks = 5

// end waits until the upload has ended, and removes it. Cause is why it may not have been
// completed.
func (f *file) end(ctx context.Context, cause error) error {
	if f.ID == "" {
		return &Error{Op: opFile, Upload: f.state, Err: errors.New("the response has no upload")}
	}
	if !f.over() {
		if err := f.await(ctx, cause); err != nil {
			return &Error{Op: opFile, Upload: f.state, Err: err}
		}
	}
	if f.state.Status != StatusComplete {
		_ = f.s.Cancel(ctx, f.ID, f.opts...) // it has ended; another program may have removed it
	}
	if !f.state.Status.Failed() {
		return nil
	}
	failure := &Error{Op: opFile, Upload: f.state}
	if f.state.Integrity.Computed != "" {
		return &mismatchError{err: failure}
	}
	if current := f.state.Conflict(); current != "" {
		return &api.VersionConflict{Op: opFile, Current: current, Err: failure}
	}
	return failure
}

// await reads the state of the upload until it has ended. It returns cause if the upload
// was not completed.
func (f *file) await(ctx context.Context, cause error) error {
	changed, remove := f.s.ended.add(f.ID) //nolint:contextcheck // all uploads share its poll
	defer remove()
	var interval wait.Interval
	looks := 0
	err := wait.Poll{Final: call.Final}.Run(ctx, func() (bool, time.Duration, error) {
		u, err := f.s.Get(ctx, f.ID, f.opts...)
		if err != nil {
			return false, 0, err
		}
		u.ID, f.state = f.ID, *u
		if u.Status != StatusReady && u.Status != StatusUploading {
			cause = nil // it was completed
		}
		if looks++; f.over() || cause != nil && looks >= mostLooks {
			return true, 0, nil
		}
		pause := f.s.ended.pause(&interval)
		if cause != nil {
			pause = interval.Next()
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-time.After(pause):
		}
		return false, 0, nil
	})
	return errors.Join(cause, err)
}

// over reports whether the upload has ended: with a target it must be stored.
func (f *file) over() bool {
	s := f.state.Status
	return s == StatusStored || s.Failed() || s == StatusComplete && f.request().Target == Target{}
}

// ambiguous reports whether the server may have carried out a call that failed with err.
func ambiguous(err error) bool {
	if _, bad := errors.AsType[*api.InputError](err); bad {
		return false
	}
	e, answered := errors.AsType[*api.Error](err)
	return !answered || e.Status >= 500 || e.Is(api.ErrUnavailable)
}
