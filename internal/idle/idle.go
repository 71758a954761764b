// Package idle limits the time in which a response body brings no bytes.
package idle

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// ErrSilent is returned by reads of a body that brought no bytes for too long.
var ErrSilent = fmt.Errorf("idle timeout of the connection: %w", os.ErrDeadlineExceeded)

// Body returns body with a limit on how long a read may block. The time between
// reads does not count. A read that takes longer returns [ErrSilent], and the
// body is closed.
func Body(body io.ReadCloser, after time.Duration) io.ReadCloser {
	b := &bounded{ReadCloser: body, after: after}
	b.timer = time.AfterFunc(after, func() {
		b.silent.Store(true)
		_ = body.Close() // ends the read
	})
	b.timer.Stop() // until a read starts it
	return b
}

type bounded struct {
	io.ReadCloser
	after  time.Duration
	timer  *time.Timer
	silent atomic.Bool
}

// Read reads, and returns ErrSilent if that was ended because no byte came in
// time.
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
