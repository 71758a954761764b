package rclone

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/accounting"
	"github.com/rclone/rclone/fs/fserrors"
	"github.com/rclone/rclone/lib/atexit"
	"github.com/rclone/rclone/lib/pool"
	"golang.org/x/sync/errgroup"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// OpenChunkWriter begins an upload in chunks. A file that exists at the path gets a new
// version, and the upload fails if that file is changed before it is complete.
func (f *Fs) OpenChunkWriter(
	ctx context.Context, remote string, src fs.ObjectInfo, options ...fs.OpenOption,
) (fs.ChunkWriterInfo, fs.ChunkWriter, error) {
	at, leaf, err := f.locateToWrite(ctx, remote)
	if err != nil {
		return fs.ChunkWriterInfo{}, nil, err
	}
	to := target{at: at, remote: remote, name: f.opt.Enc.FromStandardName(leaf)}
	n, err := f.node(ctx, at, leaf)
	if err != nil {
		return fs.ChunkWriterInfo{}, nil, f.changeFailure(err)
	}
	if n != nil && n.Type == storage.NodeTypeFile {
		to.replaces, to.src = f.object(at, remote, n), src // src: to recognize a new version with its content
	}
	if err := to.checkName(); err != nil {
		return fs.ChunkWriterInfo{}, nil, err
	}
	wanted, unchecked := f.opt.ChunkSize, fs.GetConfig(ctx).IgnoreChecksum
	if unchecked && wanted == defaultChunk { // chunks without checksums are not held in memory, and may be larger
		wanted = uncheckedChunk
	}
	info, w, err := f.startChunks(ctx, src.Size(), wanted, to, options)
	if err != nil {
		return info, nil, err
	}
	w.unchecked = unchecked
	return info, w, nil
}

// startChunks begins an upload on the platform, in chunks of the wanted size if possible. It
// returns its writer with the size of a chunk and the number of chunks that are sent at a
// time.
func (f *Fs) startChunks(
	ctx context.Context, size int64, wanted fs.SizeSuffix, to target, options []fs.OpenOption,
) (info fs.ChunkWriterInfo, w *chunkWriter, err error) {
	if size <= 0 {
		return info, nil, fmt.Errorf("%w: a size is required", fs.ErrorFileTooSmall)
	}
	info = fs.ChunkWriterInfo{ChunkSize: int64(wanted), Concurrency: f.opt.Concurrency}
	for _, option := range options {
		if byCaller, ok := option.(*fs.ChunkOption); ok {
			info.ChunkSize = max(byCaller.ChunkSize, int64(minChunk))
		}
	}
	limits, err := f.session.limits(ctx, to.at.in)
	if err != nil {
		return info, nil, failure(err)
	}
	info.ChunkSize, err = chunkSize(info.ChunkSize, size, limits)
	if err != nil {
		return info, nil, fserrors.NoRetryError(err)
	}
	request := uploads.StartRequest{Target: to.uploadTarget(), Name: to.name, Size: size}
	if to.replaces != nil {
		request.Target = uploads.Target{} // none: store uses storage.Update later, which compares the version
	}
	started, err := f.session.client.Uploads.Start(ctx, request)
	if err != nil {
		return info, nil, f.uploadFailure(to, err)
	}
	return info, &chunkWriter{f: f, to: to, upload: started.ID, buffers: f.session.buffers(info.ChunkSize)}, nil
}

// chunkSize returns the size of the chunks of a file: the wanted one, or the largest that
// the limits allow if that is smaller. A limit of the number of chunks may require larger
// ones, of whole MiB or of the largest size. It is an error if the file, or a chunk that it
// requires, is larger than the plan allows.
func chunkSize(wanted, size int64, limits *uploads.Limits) (int64, error) {
	if limits.Size > 0 && size > limits.Size {
		return 0, fmt.Errorf("%w: files of the plan have at most %d bytes, got %d", api.ErrLimit, limits.Size, size)
	}
	chunk := wanted
	if limits.ChunkSize > 0 {
		chunk = min(chunk, max(limits.ChunkSize, int64(minChunk))) // the last check refuses a limit below minChunk
	}
	if limits.Chunks > 0 {
		const unit = int64(minChunk)
		required := (size + limits.Chunks - 1) / limits.Chunks // size / Chunks, rounded up
		whole := (required + unit - 1) / unit * unit           // rounded up
		if required <= limits.ChunkSize {                      // then whole exceeds the limit at most by its rounding
			whole = min(whole, limits.ChunkSize)
		}
		chunk = max(chunk, whole)
	}
	if limits.ChunkSize > 0 && chunk > limits.ChunkSize {
		return 0, fmt.Errorf("%w: %d bytes need chunks of %d", api.ErrLimit, size, chunk)
	}
	return chunk, nil
}

// chunkWriter is an upload in chunks.
type chunkWriter struct {
	f         *Fs
	to        target
	upload    api.OpaqueID
	buffers   *pool.Pool    // of chunks
	unchecked bool          // chunks are sent without checksums, which would precede the content
	node      *storage.Node // set by Close
}

// WriteChunk sends a chunk. One without a checksum is sent while it is read.
func (w *chunkWriter) WriteChunk(ctx context.Context, number int, reader io.ReadSeeker) (int64, error) {
	size, err := reader.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = reader.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, err
	}
	if w.unchecked {
		err = w.sendUnchecked(ctx, number, reader, size)
		if err != nil {
			return 0, failure(err)
		}
		return size, nil
	}
	c := &content{in: reader, left: size, number: number}
	_, err = w.sendNext(ctx, c)
	if err == nil && c.left > 0 {
		err = fserrors.NoRetryError(fmt.Errorf("chunk %d has %d bytes more than a chunk", number, c.left))
	}
	if err != nil {
		return 0, err
	}
	return size, nil
}

// sendUnchecked sends a chunk while it is read, and so without a checksum, which would precede
// the content. Number counts from 0, and the platform from 1.
func (w *chunkWriter) sendUnchecked(ctx context.Context, number int, content io.ReadSeeker, size int64) error {
	const slowest = 16 << 10 // bytes a second
	part := &api.FilePart{Field: "chunk", Name: "chunk", Content: &rereadBody{in: content, size: size}}
	r := api.Post("/current/upload/{upload_id}/chunk/", api.Multipart(nil, part), w.upload)
	r.Attempt = 2*time.Minute + time.Duration(size/slowest)*time.Second
	query := url.Values{"order": {strconv.Itoa(number + 1)}, "size": {strconv.FormatInt(size, 10)}}
	return w.f.session.client.Call(ctx, r, nil, api.WithQuery(query))
}

// rereadBody is a body that is read from its start for each attempt.
type rereadBody struct {
	in   io.ReadSeeker
	size int64

	mu    sync.Mutex
	opens int // attempts so far
}

func (*rereadBody) ContentType() string { return "" }

// Open returns the content for the next attempt.
func (b *rereadBody) Open() (io.ReadCloser, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opens++ // from now on, the readers of earlier attempts return errors
	_, err := b.in.Seek(0, io.SeekStart)
	return io.NopCloser(&attemptReader{b, b.opens}), b.size, err
}

// attemptReader is the content of a rereadBody for one attempt.
type attemptReader struct {
	body   *rereadBody
	number int
}

// Read fails once the body was opened for another attempt: a late Read for this attempt
// would take bytes from the content of the new one.
func (r *attemptReader) Read(p []byte) (int, error) {
	r.body.mu.Lock()
	defer r.body.mu.Unlock()
	if r.body.opens != r.number {
		return 0, io.ErrClosedPipe
	}
	return r.body.in.Read(p)
}

// sendNext sends the next chunk of the content. It reports whether there was one.
func (w *chunkWriter) sendNext(ctx context.Context, c *content) (sent bool, err error) {
	buffer := w.buffers.Get()
	defer func() {
		if err != nil { // a failed request may still read the buffer: the pool gets another one
			buffer = make([]byte, len(buffer))
		}
		w.buffers.Put(buffer)
	}()
	chunk, err := c.next(ctx, buffer)
	if err != nil || len(chunk.Content) == 0 {
		return false, err
	}
	err = w.f.session.client.Uploads.Chunks.Send(ctx, w.upload, chunk)
	if err != nil {
		return false, failure(err)
	}
	if c.account != nil {
		err = c.account.AccountRead(len(chunk.Content))
	}
	return true, err
}

// content is read in chunks.
type content struct {
	in      io.Reader
	account *accounting.Account // of bytes that were sent; nil if those that are read are accounted

	mu     sync.Mutex
	left   int64
	number int // of the next chunk, from 0
}

// next reads the next chunk into a buffer, for one goroutine at a time. After the last
// chunk of the content, it returns a chunk without bytes. The checksum is computed piece by
// piece, while each is still in the cache of the processor.
func (c *content) next(ctx context.Context, buffer []byte) (chunk uploads.Chunk, err error) {
	const piece = 128 << 10
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return chunk, ctx.Err()
	}
	all := buffer[:min(c.left, int64(len(buffer)))]
	table, sum := crc32.MakeTable(crc32.Castagnoli), uint32(0) // MakeTable makes this table only once
	for part := range slices.Chunk(all, piece) {
		if _, err = io.ReadFull(c.in, part); err != nil {
			return chunk, fmt.Errorf("reading the content: %w", err)
		}
		sum = crc32.Update(sum, table, part)
	}
	c.number, c.left = c.number+1, c.left-int64(len(all))
	return uploads.Chunk{Order: c.number, Content: all, CRC: &sum}, nil
}

// ended returns an error if there is more to read.
func (c *content) ended() error {
	var more [1]byte
	if n, _ := io.ReadFull(c.in, more[:]); n > 0 {
		return errors.New("the content is longer than its size")
	}
	return nil
}

// uploadChunks uploads content in chunks, several at a time, and returns the stored file.
func (f *Fs) uploadChunks(
	ctx context.Context, in io.Reader, src fs.ObjectInfo, to target, options []fs.OpenOption,
) (n *storage.Node, err error) {
	n, err = f.storedSince(ctx, to) // an earlier attempt may have stored the content
	if n != nil || err != nil {
		return n, err
	}
	info, w, err := f.startChunks(ctx, src.Size(), f.opt.ChunkSize, to, options)
	if err != nil {
		return nil, err
	}
	sendCtx, cancel := context.WithCancel(ctx)
	defer atexit.OnError(&err, func() {
		cancel()
		_ = w.Abort(ctx) // if that fails, the platform ends the upload later
	})()
	defer cancel()
	c := &content{left: src.Size()}
	c.in, c.account = accounting.UnWrapAccounting(in) // bytes count as transferred when they are sent
	sending, sendCtx := errgroup.WithContext(sendCtx)
	for range info.Concurrency {
		sending.Go(func() error {
			for {
				sent, err := w.sendNext(sendCtx, c)
				if err != nil || !sent {
					return err
				}
			}
		})
	}
	err = sending.Wait()
	if err == nil {
		err = c.ended()
	}
	if err != nil {
		return nil, f.uploadFailure(to, err)
	}
	if err = w.Close(ctx); err != nil {
		return nil, err
	}
	return w.node, nil
}

// Close completes the upload, and stores it as a file or as a version of one. If the
// response of Complete is lost, the state of the upload, which store reads, says whether the
// upload is complete. If the name belongs to a folder or note, the platform stores the file
// under another name: then removeIfRenamed removes the file and returns an error for rclone.
func (w *chunkWriter) Close(ctx context.Context) error {
	err := w.f.session.client.Uploads.Complete(ctx, w.upload)
	if err != nil && !ambiguous(err) {
		return w.f.uploadFailure(w.to, err)
	}
	w.node, err = w.f.store(ctx, w.upload, w.to)
	if err != nil {
		return w.f.uploadFailure(w.to, err)
	}
	w.node, err = w.f.removeIfRenamed(ctx, w.to, w.node)
	return err
}

// Abort removes what has arrived, also if ctx is done. It waits for at most undoTime, and not
// for a rate limit of an hour, as other calls do: rclone may be about to end.
func (w *chunkWriter) Abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	return w.f.session.client.Uploads.Cancel(ctx, w.upload)
}
