package sse

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// ErrIdle ends a stream that brought nothing for too long.
var ErrIdle = fmt.Errorf("the stream has gone silent: %w", os.ErrDeadlineExceeded)

// Idle returns body with a bound on how long a read may bring nothing. What passes
// between two reads does not count. A read that takes longer ends in [ErrIdle],
// and the body is closed.
func Idle(body io.ReadCloser, after time.Duration) io.ReadCloser {
	b := &idle{ReadCloser: body, after: after}
	b.timer = time.AfterFunc(after, func() {
		b.silent.Store(true)
		_ = body.Close() // which ends the read
	})
	b.timer.Stop()
	return b
}

type idle struct {
	io.ReadCloser
	after  time.Duration
	timer  *time.Timer
	silent atomic.Bool
}

func (b *idle) Read(p []byte) (int, error) {
	b.timer.Reset(b.after)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && b.silent.Load() {
		err = ErrIdle
	}
	return n, err
}

func (b *idle) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}
