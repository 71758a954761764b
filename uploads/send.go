package uploads

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/crc"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/wait"
)

// upload continues the session that an earlier upload has saved, or begins one.
func (f *file) upload(ctx context.Context) error {
	from, err := f.claimSavedSession(ctx)
	if err != nil {
		return err
	}
	if from.ID == "" {
		return f.begin(ctx)
	}
	return f.resume(ctx, from)
}

// begin begins an upload: it sends the content in one call if it is small, else it
// starts a session, saves it, and sends chunks.
func (f *file) begin(ctx context.Context) error {
	r := f.request()
	if r.Size < 0 {
		return f.args.Refuse("size", "must be 0 or more", strconv.FormatInt(r.Size, 10))
	}
	if err := r.check(f.args, input.Fields[Target](f.op)); err != nil {
		return err
	}
	if f.Size <= MaxSingle {
		return f.sendSingle(ctx, r)
	}
	limits := &Limits{}
	if f.Target.Profile.Kind != api.ProfileKindFileShare { // its limits cannot be read
		var err error
		limits, err = f.s.limits.get(ctx, f.Target, f.opts)
		if err != nil {
			return err
		}
	}
	var err error
	f.ChunkSize, err = limits.chunkSize(f.args, f.Size, f.o.ChunkSize)
	if err != nil {
		return err
	}
	u, err := f.startSession(ctx, r)
	if err != nil {
		return f.fromRefusal(err) // such as a conflict of versions
	}
	f.ID = u.ID
	if f.ID == "" {
		return errors.New("fastio: " + f.op + ": the response has no upload")
	}
	if err := f.saveSession(ctx); err != nil {
		f.discardSession(ctx) // nothing was sent that could be continued
		return call.FailedWith(f.op, "saving the session", err)
	}
	return f.sendRest(ctx, nil) // no chunk has arrived
}

// startSession begins a session, with up to maxTries calls. The client itself repeats a
// call that was certainly not processed. A call that may have begun a session is repeated
// here, although it is not idempotent: a session without content is harmless, and
// cancelLost cancels the one that a lost response has left behind. Any other error is
// returned.
func (f *file) startSession(ctx context.Context, r StartRequest) (*Upload, error) {
	firstCall := time.Now()
	for try := 1; ; try++ {
		u, err := f.s.Start(ctx, r, f.opts...)
		if err == nil {
			if try > 1 {
				f.s.cancelLost(ctx, r, u.ID, time.Since(firstCall), f.opts)
			}
			return u, nil
		}
		mayHaveBegun := ambiguous(err) && !call.Final(err)
		if !mayHaveBegun || try == maxTries {
			return nil, err
		}
		if wait.Sleep(ctx, wait.For(try, wait.RetryAfterOf(err))) != nil {
			return nil, err
		}
	}
}

// mayBeFrom reports whether an upload may be the one that the request r began, and has
// no content yet. The size of a stream is 0 in the upload, and SizeUnknown in r.
func (u *Upload) mayBeFrom(r *StartRequest) bool {
	t := &r.Target
	return u.Status == StatusReady && len(u.Chunks) == 0 && u.Name == r.Name && u.Size == max(r.Size, 0) &&
		u.Profile == t.Profile.ID && cmp.Or(u.Folder, api.Root).Equal(cmp.Or(t.Folder, api.Root)) &&
		u.Path == t.Path && u.Replaces.Equal(t.File)
}

// cancelLost cancels the session that a lost response to r has left behind. Begun is the
// session of the later call that succeeded, whose response came sinceFirstCall after the
// first call. It cancels only if exactly one other upload in the list fits r and was created
// since the first call, by the server's clock; in doubt the session expires by itself.
func (s *Service) cancelLost(
	ctx context.Context, r StartRequest, begun api.OpaqueID, sinceFirstCall time.Duration, opts []api.CallOption,
) {
	all, err := s.List(ctx, opts...)
	if err != nil {
		return
	}
	fitting := slices.DeleteFunc(all, func(u *Upload) bool { return u == nil || !u.mayBeFrom(&r) })
	i := slices.IndexFunc(fitting, func(u *Upload) bool { return u.ID.Equal(begun) })
	if i < 0 || fitting[i].Created.IsZero() {
		return
	}
	const rounding = time.Second // of Created
	firstCall := fitting[i].Created.Add(-sinceFirstCall - rounding)
	lost := slices.DeleteFunc(fitting, func(u *Upload) bool { return u.ID.Equal(begun) || u.Created.Before(firstCall) })
	if len(lost) == 1 {
		_ = s.Cancel(ctx, lost[0].ID, opts...)
	}
}

// sendSingle sends a small content in one call. If the response is lost, it looks for
// the file in the target.
func (f *file) sendSingle(ctx context.Context, r StartRequest) error {
	content := make([]byte, f.Size)
	if err := f.read(ctx, content, 0); err != nil {
		return err
	}
	if err := f.checkUnchanged(ctx); err != nil {
		return err
	}
	if err := f.waitForRate(ctx, len(content)); err != nil {
		return err
	}
	u, err := f.s.put(ctx, r, content, f.givenHash, f.opts)
	if err != nil {
		if ambiguous(err) {
			return f.lookAfterLostResponse(ctx, err)
		}
		return f.fromRefusal(err)
	}
	f.state, f.ID = *u, u.ID
	f.addProgress(ctx, f.Size)
	if u.FileID != "" && !u.Status.Failed() {
		return nil
	}
	return f.awaitEnd(ctx)
}

// lookAfterLostResponse waits after a single call that has failed with cause, and may
// have been successful all the same. It returns an error unless the target then has the
// file.
func (f *file) lookAfterLostResponse(ctx context.Context, cause error) error {
	if err := wait.Sleep(ctx, lostWait); err != nil {
		return &Error{Op: f.op, Err: errors.Join(cause, err)}
	}
	found, err := f.targetHasFile(ctx)
	if !found {
		return &Error{Op: f.op, Err: errors.Join(cause, err)}
	}
	return nil
}

// sendStream sends content of unknown size, which cannot be repeated. If the response
// is lost, it reads the state of the upload.
func (f *file) sendStream(ctx context.Context, content *counted) error {
	r := f.request()
	if err := r.check(f.args, input.Fields[Target](f.op)); err != nil {
		return err
	}
	u, err := f.startSession(ctx, r)
	if err != nil {
		return f.fromRefusal(err)
	}
	f.ID = u.ID
	if f.ID == "" {
		return errors.New("fastio: " + f.op + ": the response has no upload")
	}
	err = f.s.Stream(ctx, f.ID, content, f.givenHash, f.opts...)
	f.mu.Lock() // the connection may still read
	contentErr := content.err
	f.Size = f.sentBytes
	f.mu.Unlock()
	sentAll := errors.Is(contentErr, io.EOF)
	if sentAll {
		contentErr = nil
	}
	switch {
	case contentErr != nil, err != nil && !ambiguous(err):
		f.discardSession(ctx) // it cannot be continued
		return errors.Join(contentErr, err)
	case err != nil:
		return f.afterLostStreamResponse(ctx, err, sentAll)
	}
	return f.awaitEnd(ctx)
}

// afterLostStreamResponse returns the result of a stream whose call has failed with cause, but
// may have been successful. A session that still waits for content is removed, because a stream
// cannot be sent again. The result is then unknown all the same: the platform may still be at
// work on the call.
func (f *file) afterLostStreamResponse(ctx context.Context, cause error, sentAll bool) error {
	if ctx.Err() != nil {
		if !sentAll { // else the platform may be storing the file
			f.discardSession(ctx)
		}
		return f.unknownResult(cause)
	}
	completed, readErr := f.wasCompleted(ctx)
	if completed {
		return f.awaitEnd(ctx)
	}
	result := f.unknownResult(cause, readErr)
	if readErr == nil { // the session still waits for content
		f.discardSession(ctx)
	}
	return result
}

// source is content of the caller. Close interrupts a Read if the content is an
// io.Closer; after it there is no other one.
type source struct {
	io.Reader

	mu              sync.Mutex
	reading, closed bool
}

// Read reads from the source, or returns io.ErrClosedPipe after Close. It records when a Read
// is under way, which Close then interrupts.
func (s *source) Read(p []byte) (int, error) {
	if !s.beginRead() {
		return 0, io.ErrClosedPipe
	}
	defer s.endRead()
	return s.Reader.Read(p)
}

// beginRead reports whether a Read may begin: the source is not closed.
func (s *source) beginRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = !s.closed
	return s.reading
}

// endRead records that a Read has returned.
func (s *source) endRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = false
}

// Close interrupts a waiting Read by closing the content, if that can be closed. Otherwise
// the content stays open, for the caller to close. No Read begins afterwards.
func (s *source) Close() error {
	s.mu.Lock()
	s.closed = true
	content, ok := s.Reader.(io.Closer)
	interrupt := s.reading && ok
	s.mu.Unlock()
	if interrupt {
		return content.Close()
	}
	return nil
}

// counted reads content and reports the bytes.
type counted struct {
	io.Closer

	r   io.Reader
	f   *file
	ctx context.Context //nolint:containedctx // of OnProgress
	err error           // of r; io.EOF after all content
}

// Read reads at the allowed rate, and adds to the progress. It keeps its error in c.err,
// because the caller of the request gets it from net/http in another form.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err == nil {
		err = c.f.waitForRate(c.ctx, n)
	}
	if err != nil {
		c.f.mu.Lock()
		c.err = err
		c.f.mu.Unlock()
	}
	if n > 0 {
		c.f.addProgress(c.ctx, int64(n))
	}
	return n, err
}

// chunks returns the number of chunks.
func (f *file) chunks() int { return int((f.Size + f.ChunkSize - 1) / f.ChunkSize) }

// length returns the bytes of a chunk.
func (f *file) length(order int) int64 { return min(f.ChunkSize, f.Size-int64(order-1)*f.ChunkSize) }

// parallelChunks is how many chunks are sent at a time.
const parallelChunks = 3

// sendRest sends the chunks that have not arrived, and completes the upload. If the
// platform refuses a chunk or the completion, and not because the bytes differ, another
// process may have completed the same session before: then the upload has ended, or the
// target has the file.
func (f *file) sendRest(ctx context.Context, arrived api.Map[int64]) error {
	err := f.sendAndComplete(ctx, arrived)
	// The session is removed (404), or has ended and takes no chunk (406, for a File Share 409).
	statusesOfEnded := []int{http.StatusNotFound, http.StatusNotAcceptable, http.StatusConflict}
	refusal, refused := errors.AsType[*api.Error](err)
	mayHaveEnded := refused && slices.Contains(statusesOfEnded, refusal.Status) && !bytesDiffer(err)
	if !mayHaveEnded {
		return err
	}
	stateErr := f.readState(ctx)
	if stateErr == nil && !f.acceptsContent() {
		return f.awaitEnd(ctx)
	}
	if errors.Is(stateErr, api.ErrNotFound) {
		if found, _ := f.targetHasFile(ctx); found {
			return nil
		}
	}
	return err
}

// sendAndComplete sends all chunks except those that have arrived, parallelChunks at a time,
// and the last one alone with the checksum of the file. Then it completes the upload.
// Arrived has the sizes of chunks by their number.
func (f *file) sendAndComplete(ctx context.Context, arrived api.Map[int64]) error {
	last := f.chunks() // the number of the last chunk; the first is 1
	sums := make([]uint32, last)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var sending sync.WaitGroup
	orders := make(chan int)
	parallel := min(parallelChunks, last-1) // without the last one, which is sent alone
	if f.buffers == nil {
		f.buffers = newBuffers(max(parallel, 1))
	}
	for range parallel {
		sending.Go(func() {
			for order := range orders {
				serverHas := arrived[strconv.Itoa(order)] == f.length(order)
				if err := f.readAndSend(ctx, order, serverHas, sums); err != nil {
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
	const serverHas = false // the last one is sent in any case
	if err := f.readAndSend(ctx, last, serverHas, sums); err != nil {
		return err
	}
	return f.complete(ctx)
}

// readAndSend reads chunk number order (from 1), and sends it unless the server has it.
// Its checksum goes into sums, which has one for each chunk. The last chunk is sent only if
// the content is unchanged, and with the checksum of the whole file.
func (f *file) readAndSend(ctx context.Context, order int, serverHas bool, sums []uint32) (err error) {
	buffer, err := f.buffers.take(ctx, f.ChunkSize)
	if err != nil {
		return err
	}
	defer func() { f.buffers.give(buffer, err) }()
	c := Chunk{Order: order, Content: buffer[:f.length(order)]}
	if err := f.read(ctx, c.Content, int64(order-1)*f.ChunkSize); err != nil {
		return err
	}
	sums[order-1] = crc.Sum(c.Content)
	c.CRC = &sums[order-1]
	isLast := order == len(sums)
	if isLast {
		if err := f.checkUnchanged(ctx); err != nil {
			return err
		}
		c.FileCRC = new(f.combine(sums))
	}
	if !serverHas {
		if err := f.waitForRate(ctx, len(c.Content)); err != nil {
			return err
		}
		err := f.sendChunk(ctx, c)
		if err != nil && isLast { // the server may have received other bytes: then the upload starts over
			return f.fromRefusal(err)
		}
		if err != nil {
			return call.Conflict(f.op, err) // err itself, unless it is a conflict of versions
		}
	}
	f.addProgress(ctx, int64(len(c.Content)))
	return nil
}

// combine returns the checksum of the file, from those of all its chunks.
func (f *file) combine(sums []uint32) uint32 {
	whole := sums[0]
	for order := 2; order <= len(sums); order++ { // chunk 1 is sums[0]
		whole = crc.Combine(whole, sums[order-1], f.length(order))
	}
	return whole
}

// maxTries is how often the call that begins a session or that sends a chunk is made, each
// with the retries of the client.
const maxTries = 5

// sendChunk sends a chunk with its checksum, in up to maxTries calls if these fail for a
// reason that may be temporary. The retries of the client do not suffice, because it
// has a budget for them.
func (f *file) sendChunk(ctx context.Context, c Chunk) error {
	for try := 1; ; try++ {
		err := f.s.Chunks.Send(ctx, f.ID, c, f.opts...)
		isConflict := errors.Is(err, api.ErrConflict) // the session has ended, or had another checksum before
		if err == nil || call.Final(err) || isConflict || try == maxTries {
			return err
		}
		if wait.Sleep(ctx, wait.For(try, wait.RetryAfterOf(err))) != nil {
			return err
		}
	}
}

// bytesDiffer reports whether an upload is to start over after err: the file arrived with other
// bytes than were sent, or has another checksum than in an earlier call.
func bytesDiffer(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && slices.Contains([]int64{codes.SizeDiffers, codes.FileDiffers, codes.ChecksumChanged}, e.Code)
}

// fromRefusal returns the error for a refused call that concerns the whole file: a
// lostError if the upload must start over because the server has other bytes, an
// [*api.VersionConflictError] if the version is not the expected one.
func (f *file) fromRefusal(err error) error {
	if bytesDiffer(err) {
		return &lostError{err: err}
	}
	return call.Conflict(f.op, err)
}

// mostCompletes is how often an upload is completed.
const mostCompletes = 3

// errOpen is returned for an upload that still accepts content, so that it was not
// completed.
var errOpen = errors.New("the upload was not completed")

// complete completes the upload, and waits for its end. It repeats the call if the upload
// still accepts content afterwards: then the call had no effect, even if its response said
// otherwise.
func (f *file) complete(ctx context.Context) error {
	for try := 1; ; try++ {
		isFirst := try == 1
		err := f.completeOnce(ctx, isFirst)
		if !errors.Is(err, errOpen) || try == mostCompletes {
			return err
		}
	}
}

// completeOnce completes the upload with one call. If that fails without a response, the
// state of the upload says whether it had an effect. A repeated call is also refused if an
// earlier one was successful: so the state decides then, too.
func (f *file) completeOnce(ctx context.Context, isFirst bool) error {
	err := f.s.Complete(ctx, f.ID, f.opts...)
	if err == nil {
		return f.awaitEnd(ctx)
	}
	refused := !ambiguous(err)
	if refused && (isFirst || bytesDiffer(err)) {
		return f.fromRefusal(err)
	}
	completed, readErr := f.wasCompleted(ctx)
	switch {
	case completed:
		return f.awaitEnd(ctx)
	case readErr != nil:
		return f.unknownResult(err, readErr)
	case refused:
		return f.fromRefusal(err)
	}
	return f.unknownResult(err, errOpen)
}

// read fills p with the content at an offset. If ctx ends first, the content may still
// write to p afterwards.
func (f *file) read(ctx context.Context, p []byte, at int64) error {
	n, err := wait.Call(ctx, func() (int, error) { return f.content.ReadAt(p, at) })
	switch {
	case n == len(p):
		return nil
	case err == nil, errors.Is(err, io.EOF):
		err = api.ErrChanged
	}
	return call.FailedWith(f.op, "reading the content", err)
}

// checkUnchanged returns [api.ErrChanged] if the content is longer than the upload, or
// is a file that has changed.
func (f *file) checkUnchanged(ctx context.Context) error {
	same, err := wait.Call(ctx, func() (bool, error) {
		var more [1]byte
		n, _ := f.content.ReadAt(more[:], f.Size)
		return n == 0 && f.unchanged(), nil
	})
	if err == nil && !same {
		return call.Failed(f.op, api.ErrChanged)
	}
	return err
}

// addProgress adds n bytes to the progress of the upload and reports it.
func (f *file) addProgress(ctx context.Context, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sentBytes += n
	if f.o.OnProgress != nil {
		f.o.OnProgress(ctx, api.Progress{Done: f.sentBytes, Total: f.Size}) // of a stream: SizeUnknown
	}
}

// ambiguous reports whether the server may have carried out a call that failed with err.
func ambiguous(err error) bool {
	if _, bad := errors.AsType[*api.InputError](err); bad {
		return false
	}
	e, answered := errors.AsType[*api.Error](err)
	return !answered || e.Status >= 500 || e.Is(api.ErrUnavailable)
}
