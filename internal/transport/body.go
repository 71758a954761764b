package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/wait"
)

const (
	maxJSON     = 32 << 20 // after decompression; decoding takes three times as much
	maxText     = 64 << 20
	maxError    = 64 << 10
	maxDrained  = 256 << 10 // read after an oversized error, to keep the connection
	bodyTimeout = 2 * time.Minute

	drainTimeout = time.Second // longer than a new connection takes
)

// inMemory reports whether content is in memory: then its Read neither blocks nor fails.
func inMemory(content io.ReadCloser) bool {
	m, ok := content.(interface{ InMemory() bool })
	return ok && m.InMemory()
}

// A reader is a body whose Read returns when its context ends or it is closed, even while
// the Read of content blocks: net/http would wait for that. The goroutine of a blocked Read
// remains until that returns. Close closes content also during a Read, as net/http requires
// of a body.
type reader struct {
	content io.ReadCloser
	ctx     context.Context         //nolint:containedctx // of the call
	end     context.CancelCauseFunc // of ctx
	buf     []byte                  // for a Read of content, which may end after the Read of the body
	unread  []byte                  // the part of buf that Read has not returned yet,
	err     error                   // and the error to return after it
	reading atomic.Bool             // content
	closed  atomic.Bool
}

// newReader returns a body of size bytes (-1 means unknown) that ends with ctx. Each Read of
// content needs a goroutine. So the buffer has room for what four Reads of net/http ask for
// (32 KiB each), if the body is that long: one goroutine fills it for all four.
func newReader(ctx context.Context, content io.ReadCloser, size int64) *reader {
	const most = 128 << 10
	if size < 0 || size > most {
		size = most
	}
	ctx, end := context.WithCancelCause(ctx)
	r := &reader{content: content, ctx: ctx, end: end, buf: make([]byte, max(size, bytes.MinRead))}
	context.AfterFunc(ctx, r.closeContent)
	return r
}

// Read reads content in a goroutine, and returns when ctx ends, even if the Read of content
// is still blocked. A blocked Read may write into its buffer later: so it gets r.buf, and not p.
func (r *reader) Read(p []byte) (n int, err error) {
	if r.ctx.Err() == nil && len(r.unread) == 0 && r.err == nil {
		r.reading.Store(true) // closeContent must not wait for this Read
		n, r.err = wait.Call(r.ctx, func() (int, error) {
			defer r.reading.Store(false)
			return r.content.Read(r.buf)
		})
		r.unread = r.buf[:n]
	}
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n = copy(p, r.unread)
	r.unread = r.unread[n:]
	if len(r.unread) > 0 {
		return n, nil
	}
	return n, r.err
}

// Close closes the content and ends a Read that is under way.
func (r *reader) Close() error {
	r.closeContent()
	r.end(io.ErrClosedPipe)
	return nil
}

// closeContent closes the content once. During a Read it closes it in a goroutine,
// because Close may block until that Read returns.
func (r *reader) closeContent() {
	switch {
	case r.closed.Swap(true):
	case r.reading.Load():
		go func() { _ = r.content.Close() }()
	default:
		_ = r.content.Close()
	}
}

var errStalled = fmt.Errorf("the response took too long to arrive: %w", os.ErrDeadlineExceeded)

// A watchdog closes a body that takes too long to arrive. Watchdogs are reused: a new
// one takes three allocations.
type watchdog struct {
	body  io.Closer
	timer *time.Timer
}

// newWatchdog returns a watchdog. The caller then sets the body and starts the timer again.
// When the timer fires, the body is closed.
func newWatchdog() *watchdog {
	w := new(watchdog)
	w.timer = time.AfterFunc(bodyTimeout, func() { _ = w.body.Close() })
	return w
}

// forDrain starts the timer again, for the rest of a body that is not needed. If the timer has
// fired, its function may still run and close w.body later, so w must not get another body.
// Then forDrain returns a new watchdog of this body.
func (w *watchdog) forDrain() *watchdog {
	if w.timer.Reset(drainTimeout) {
		return w
	}
	w.timer.Stop()
	next := newWatchdog()
	next.body = w.body
	next.timer.Reset(drainTimeout)
	return next
}

// readAll reads a body into one buffer of the right size. For a body over the limit it
// returns the beginning and api.ErrTooLarge. If a text leaves half of a buffer of the
// largest size empty, it is copied, and the buffer is kept for a later call.
func (c *Client) readAll(resp *http.Response, limit int64) ([]byte, error) {
	size := int64(4 << 10)
	if resp.ContentLength >= 0 {
		size = min(resp.ContentLength, limit)
	}
	buf := make([]byte, 0, size+1) // one more, to read EOF without growing
	for {
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf[:limit], api.ErrTooLarge
		case err != nil:
			isLargest := int64(cap(buf)) > limit
			if isLargest && len(buf) <= cap(buf)/2 {
				text := bytes.Clone(buf)
				c.keepBuffer(buf)
				buf = text
			}
			if err == io.EOF {
				err = nil
			}
			return buf, err
		case len(buf) == cap(buf):
			buf = c.growBuffer(buf, limit)
		}
	}
}

// growBuffer returns the content of a full buffer in a larger one. Buffers for the
// longest texts are reused, so that consecutive oversized responses need the memory of
// one.
func (c *Client) growBuffer(buf []byte, limit int64) []byte {
	size := largerSize(int64(cap(buf)), limit)
	if size > maxText {
		if kept := c.takeBuffer(); kept != nil {
			return append(kept[:0], buf...)
		}
	}
	return append(make([]byte, 0, size), buf...)
}

// largerSize returns the size of the buffer that replaces a full one of the given size:
// twice that, or four times if that is more than half a MiB. Large buffers grow faster
// because each growth copies the text, and the part that is never written takes no
// memory. If a buffer of that size could pass the limit when it grows again, the size is
// limit+1 instead, so that the buffer need not grow again.
func largerSize(size, limit int64) int64 {
	const large = 512 << 10
	if size > large {
		size *= 2
	}
	size *= 2
	nextMayPassLimit := size > limit/4 // the next growth is by four at most
	if nextMayPassLimit {
		return limit + 1
	}
	return size
}

// textBuffer is a buffer for the longest text.
type textBuffer [maxText + 1]byte

// takeBuffer returns the buffer that keepBuffer has kept, for this call alone. It
// returns nil if there is none, or if garbage collection has freed it.
func (c *Client) takeBuffer() *textBuffer {
	kept := c.keptBuffer.Load()
	if kept == nil || !c.keptBuffer.CompareAndSwap(kept, nil) { // another call has taken it
		return nil
	}
	return kept.Value()
}

// keepBuffer lets growBuffer reuse a buffer that can hold the longest text, until the
// next garbage collection.
func (c *Client) keepBuffer(buf []byte) {
	if cap(buf) > maxText {
		reusable := weak.Make((*textBuffer)(buf[:maxText+1]))
		c.keptBuffer.Store(&reusable)
	}
}

// stream is the body of a response with something to end: the timeout of its attempt, or
// the call that has opened it. It calls end once, with the error of a Read, or nil at its
// end and when it is closed.
type stream struct {
	io.ReadCloser
	once sync.Once // Close may be called during a Read
	end  func(error)
}

// Read reads the body. After its last byte, and after an error, it calls end, once.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	switch err {
	case nil:
	case io.EOF:
		s.once.Do(func() { s.end(nil) })
	default:
		s.once.Do(func() { s.end(err) })
	}
	return n, err
}

// Close ends the attempt or call first, and with it a Read that is under way: see closeWaitsForRead.
func (s *stream) Close() error {
	s.once.Do(func() { s.end(nil) })
	return s.ReadCloser.Close()
}
