package transport

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// A reader is a body whose Read returns when its context ends, also while that of its
// content blocks, for which net/http would wait. Content is read by a goroutine, which
// remains until that Read returns. Close closes content also during a Read, as net/http
// requires of a body.
type reader struct {
	*io.PipeReader // of what the goroutine reads

	ctx     context.Context //nolint:containedctx // of the call
	content io.ReadCloser
	writer  *io.PipeWriter
	begin   sync.Once
	reading atomic.Bool // the goroutine runs
	closed  atomic.Bool
	release func() bool // ctx
}

func newReader(ctx context.Context, content io.ReadCloser) *reader {
	pipe, writer := io.Pipe()
	r := &reader{PipeReader: pipe, ctx: ctx, content: content, writer: writer}
	r.release = r.endWith(ctx)
	return r
}

// endWith ends the body with another context, too. It returns how to undo that.
func (r *reader) endWith(ctx context.Context) (undo func() bool) {
	return context.AfterFunc(ctx, func() {
		_ = r.writer.CloseWithError(ctx.Err())
		r.closeContent()
	})
}

func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	r.begin.Do(func() {
		r.reading.Store(true)
		go r.readContent()
	})
	return r.PipeReader.Read(p)
}

func (r *reader) readContent() {
	_, err := io.Copy(r.writer, r.content)
	r.reading.Store(false)
	_ = r.writer.CloseWithError(err)
}

func (r *reader) Close() error {
	r.release()
	_ = r.PipeReader.Close()
	r.closeContent()
	return nil
}

// closeContent does not wait for a Close during a Read, which may block as well.
func (r *reader) closeContent() {
	switch {
	case r.closed.Swap(true):
	case r.reading.Load():
		go func() { _ = r.content.Close() }()
	default:
		_ = r.content.Close()
	}
}
