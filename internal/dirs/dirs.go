// Package dirs implements what uploads and downloads of folders have in common.
package dirs

import (
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/wait"
)

// Transfer is an upload or download of a folder.
type Transfer struct {
	BytesPerSecond int64 // 0 means no limit
	OnProgress     func(ctx context.Context, p api.DirProgress)
	OnEntry        func(ctx context.Context, e api.DirEntry)

	stop context.CancelCauseFunc

	mu     sync.Mutex
	result api.DirResult
	all    api.Progress
	next   time.Time // when bytes may be transferred again
}

// Run calls the steps of a transfer one after another, until one fails or the transfer is
// stopped, and returns the result.
func (t *Transfer) Run(ctx context.Context, steps ...func(context.Context) error) (*api.DirResult, error) {
	ctx, t.stop = context.WithCancelCause(ctx)
	defer t.stop(nil)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			t.stop(err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	err := context.Cause(ctx)
	if failed := t.summarize(); err == nil && len(failed) > 0 {
		err = &api.DirError{Entries: failed}
	}
	return &t.result, err
}

// summarize sorts the entries by path, counts them by state, and returns those
// that have failed.
func (t *Transfer) summarize() (failed []*api.DirEntry) {
	r := &t.result
	slices.SortFunc(r.Entries, func(a, b *api.DirEntry) int { return cmp.Compare(a.Path, b.Path) })
	for _, e := range r.Entries {
		switch e.State {
		case api.DirDone:
			r.Done++
			r.Bytes += e.Size
		case api.DirUnchanged:
			r.Unchanged++
		case api.DirSkipped:
			r.Skipped++
		case api.DirFailed:
			r.Failed++
			failed = append(failed, e)
		case api.DirPending:
			r.Pending++
		}
	}
	return failed
}

// Stop ends the transfer with an error.
func (t *Transfer) Stop(err error) { t.stop(err) }

// Add adds an entry to the result.
func (t *Transfer) Add(e *api.DirEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Entries = append(t.result.Entries, e)
	t.all.Total += e.Size
}

// End sets the result of an entry.
func (t *Transfer) End(ctx context.Context, e *api.DirEntry, state api.DirState, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.State, e.Err = state, err
	if state == api.DirUnchanged {
		t.all.Done += e.Size
	}
	if t.OnEntry != nil {
		t.OnEntry(ctx, *e)
	}
}

// Fail sets the error of an entry. An error that the other entries would get as well stops
// the transfer. Once the transfer has stopped, the entry remains pending.
func (t *Transfer) Fail(ctx context.Context, e *api.DirEntry, err error) {
	if ctx.Err() != nil {
		return
	}
	t.End(ctx, e, api.DirFailed, err)
	if call.EndsAll(err) {
		t.stop(err)
	}
}

// Progress reports n more bytes of an entry.
func (t *Transfer) Progress(ctx context.Context, e *api.DirEntry, n int64, file api.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.Done += n
	if t.OnProgress != nil {
		t.OnProgress(ctx, api.DirProgress{Path: e.Path, File: file, All: t.all})
	}
}

// Pace waits until n bytes may be transferred: until the bytes of earlier calls have had their
// time at the allowed rate.
func (t *Transfer) Pace(ctx context.Context, n int) error {
	if t.BytesPerSecond == 0 {
		return nil
	}
	t.mu.Lock()
	at := time.Now()
	if t.next.After(at) {
		at = t.next
	}
	t.next = at.Add(time.Duration(float64(n) / float64(t.BytesPerSecond) * float64(time.Second)))
	t.mu.Unlock()
	return wait.Sleep(ctx, time.Until(at))
}

// Same reports whether the content that open returns has the hash sum, in hexadecimal. The
// caller has compared the sizes: size is that of both contents. With an unknown algorithm
// only empty contents are the same.
func Same(size int64, algorithm, sum string, open func() (fs.File, error)) bool {
	hash := download.Hash(algorithm)
	if hash == nil {
		return size == 0
	}
	f, err := open()
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(hash, f)
	return err == nil && strings.EqualFold(hex.EncodeToString(hash.Sum(nil)), sum)
}

// Each calls f for each item, n at a time, and waits for all. Once the context has
// ended, it skips the rest.
func Each[T any](ctx context.Context, n int, items []T, f func(T)) {
	var group sync.WaitGroup
	queue := make(chan T)
	for range min(n, len(items)) {
		group.Go(func() {
			for item := range queue {
				if ctx.Err() == nil {
					f(item)
				}
			}
		})
	}
	for _, item := range items {
		queue <- item
	}
	close(queue)
	group.Wait()
}

// CheckFilter returns an [*api.InputError] if a pattern of the filter is malformed.
func CheckFilter(args input.Args, f *api.DirFilter) error {
	for _, pattern := range slices.Concat(f.Include, f.Exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return args.Refuse("Filter", "must have patterns of path.Match", pattern)
		}
	}
	return nil
}
