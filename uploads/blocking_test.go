package uploads_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/uploads"
)

// blocking is content that blocks from an offset on, until it is closed or released.
type blocking struct {
	content *bytes.Reader

	at       int64
	released chan struct{}
	release  func()
	reads    atomic.Int64 // that have blocked
	closed   atomic.Bool
}

func newBlocking(size int, at int64) *blocking {
	b := &blocking{content: bytes.NewReader(random(size)), at: at, released: make(chan struct{})}
	b.release = sync.OnceFunc(func() { close(b.released) })
	return b
}

func (b *blocking) wait(from, to int64) {
	if to > b.at && b.at >= 0 || from == b.content.Size() && b.at < 0 {
		b.reads.Add(1)
		<-b.released
	}
}

func (b *blocking) ReadAt(p []byte, at int64) (int, error) {
	b.wait(at, at+int64(len(p)))
	return b.content.ReadAt(p, at)
}

func (b *blocking) Read(p []byte) (int, error) {
	from := b.content.Size() - int64(b.content.Len())
	b.wait(from, from+int64(len(p)))
	return b.content.Read(p)
}

func (b *blocking) Close() error {
	b.closed.Store(true)
	b.release()
	return nil
}

// An upload ends with its context while its content blocks. A reader is closed then,
// and not read again. Content that can be read at an offset stays open: another upload
// may continue with it.
func TestUploadsEndWhileTheirContentBlocks(t *testing.T) {
	t.Parallel()
	file := func(ctx context.Context, w *world, b *blocking) error {
		_, err := w.client.Uploads.ReaderAt(ctx, w.to, "a.bin", b, b.content.Size(), nil)
		return err
	}
	reader := func(ctx context.Context, w *world, b *blocking) error {
		_, err := w.client.Uploads.Reader(ctx, w.to, "a.bin", b, nil, nil)
		return err
	}
	type row struct {
		size   int
		at     int64 // -1 is behind the end
		upload func(ctx context.Context, w *world, b *blocking) error
		reads  int64
		closes bool
	}
	table.Bubbles(t, map[string]row{
		"a file":                   {size: 100, upload: file, reads: 1},
		"behind the end of a file": {size: 100, at: -1, upload: file, reads: 1},
		"the chunks of a file":     {size: 40 << 20, upload: file, reads: 3},
		"the last chunk":           {size: 40 << 20, at: 39 << 20, upload: file, reads: 1},
		"behind the last chunk":    {size: 40 << 20, at: -1, upload: file, reads: 1},
		"a reader":                 {size: 100, upload: reader, reads: 1, closes: true},
		"a reader of a stream":     {size: 9 << 20, at: 5 << 20, upload: reader, reads: 1, closes: true},
		"a reader that cannot be closed": {
			size: 100, reads: 1, upload: func(ctx context.Context, w *world, b *blocking) error {
				_, err := w.client.Uploads.Reader(ctx, w.to, "a.bin", struct{ io.Reader }{b}, nil, nil)
				return err
			},
		},
		"a reader that is a stream": {
			size: 100, reads: 1, closes: true, upload: func(ctx context.Context, w *world, b *blocking) error {
				r := uploads.StartRequest{Target: w.to, Name: "a.bin", Size: uploads.SizeUnknown}
				u, err := w.client.Uploads.Start(ctx, r)
				if err != nil {
					return err
				}
				return w.client.Uploads.Stream(ctx, u.ID, b, nil)
			},
		},
	}, func(t *testing.T, test row) {
		w := newWorld(t)
		content := newBlocking(test.size, test.at)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		err := test.upload(ctx, w, content)
		if took := time.Since(start); took != time.Hour || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("returned after %s: %v", took, err)
		}
		synctest.Wait()
		if closed := content.closed.Load(); closed != test.closes {
			t.Errorf("closed is %t", closed)
		}
		content.release()
		synctest.Wait()
		if n := content.reads.Load(); n != test.reads {
			t.Errorf("read %d times, want %d", n, test.reads)
		}
	})
}

// A stream whose call ends early cannot be continued: its session is removed, also that of
// one that replaces a version, which has no target.
func TestInterruptedStreamIsRemoved(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]bool{"a file": false, "a version": true}, func(t *testing.T, isVersion bool) {
		w := newWorld(t)
		to := w.to
		if isVersion {
			to = replacing(to.Profile, w.AddNode(seed.Node{Profile: string(to.Profile.ID), Name: "a.bin", Content: "a"}))
		}
		content := newBlocking(9<<20, 5<<20)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.client.Uploads.Reader(ctx, to, "a.bin", content, nil, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if left := w.sessions(t); left > 0 {
			t.Errorf("%d sessions are left", left)
		}
	})
}

// A session that cannot be removed keeps no call whose context has ended.
func TestUploadsEndBeforeTheirSessionIsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Fail(seed.Fault{Op: op.UploadsCancel, Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := w.client.Uploads.Reader(ctx, w.to, "a.bin", newBlocking(9<<20, 5<<20), nil, nil)
		if took := time.Since(start); took > time.Minute+50*time.Millisecond {
			t.Errorf("returned after %s: %v", took, err)
		}
		time.Sleep(time.Minute) // the removal gives up
	})
}

// What removes a session after the end of its call does not write the response of that call.
func TestRemovalAfterTheCallStoresNoResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Fail(seed.Fault{Op: op.UploadsCancel, Delay: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var last api.Response
		_, err := w.client.Uploads.Reader(ctx, w.to, "a.bin", newBlocking(9<<20, 5<<20), nil, nil, api.WithResponse(&last))
		if err == nil {
			t.Fatal("the upload is stored")
		}
		before := last
		time.Sleep(time.Minute) // the session is removed
		if diff := cmp.Diff(before, last); diff != "" || w.sessions(t) > 0 {
			t.Errorf("the response has changed after the call (-before +after):\n%s", diff)
		}
	})
}

// A reader that has been read stays open.
func TestReaderStaysOpen(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, uploads.MaxSingle + 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			content := newBlocking(size, 1<<40)
			node, err := w.client.Uploads.Reader(t.Context(), w.to, "a.bin", content, nil, nil)
			if err != nil || content.closed.Load() {
				t.Fatalf("closed is %t, %v", content.closed.Load(), err)
			}
			w.holds(t, node, random(size))
		})
	}
}
