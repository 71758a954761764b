// Package idle bounds how long an answer may bring nothing.
package idle

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// ErrSilent ends a body that brought nothing for too long.
var ErrSilent = fmt.Errorf("the connection has gone silent: %w", os.ErrDeadlineExceeded)

// Body returns body with a bound on how long a read may bring nothing. What passes
// between two reads does not count. A read that takes longer ends in [ErrSilent],
// and the body is closed.
func Body(body io.ReadCloser, after time.Duration) io.ReadCloser {
	b := &bounded{ReadCloser: body, after: after}
	b.timer = time.AfterFunc(after, func() {
		b.silent.Store(true)
		_ = body.Close() // which ends the read
	})
	b.timer.Stop()
	return b
}

type bounded struct {
	io.ReadCloser
	after  time.Duration
	timer  *time.Timer
	silent atomic.Bool
}

func (b *bounded) Read(p []byte) (int, error) {
	b.timer.Reset(b.after)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && b.silent.Load() {
		err = ErrSilent
	}
	return n, err
}

func (b *bounded) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}
