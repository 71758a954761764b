package uploads

import "context"

// buffers hold the content of requests. They limit how many requests hold content at a
// time, and are reused.
type buffers chan []byte

// newBuffers returns a pool of n buffers, which are allocated when they are
// first used.
func newBuffers(n int) buffers {
	b := make(buffers, n)
	for range n {
		b <- nil
	}
	return b
}

// take waits for a free buffer and returns it with a length in bytes. A buffer that is
// too short is replaced.
func (b buffers) take(ctx context.Context, length int64) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case p := <-b:
		if int64(cap(p)) < length {
			p = make([]byte, length)
		}
		return p[:length], nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// give puts a buffer back after its request. After a failure (err), a read or the request
// may still use the buffer: nil takes its place, and the next take allocates another one.
func (b buffers) give(p []byte, err error) {
	if err != nil {
		p = nil
	}
	b <- p
}
