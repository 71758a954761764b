package uploads_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

// alike returns n files of a size.
func alike(n, size int) map[string]string {
	files, content := map[string]string{}, string(random(size))
	for i := range n {
		files[fmt.Sprintf("%03d", i)] = content
	}
	return files
}

// Files and folders for a target share one request for its limits.
func TestLimitsAreReadOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *seed.Options) { o.Uploads.Pace = -1 })
		o := &uploads.DirOptions{Overwrite: true}
		for minute := 1; minute <= 2; minute++ {
			if _, err := w.client.Uploads.FS(t.Context(), w.to, tree(alike(5, uploads.MaxSingle+1)), o); err != nil {
				t.Fatal(err)
			}
			if n := w.count(op.UploadsLimits); n != minute {
				t.Errorf("%d requests in minute %d", n, minute)
			}
			time.Sleep(time.Minute)
		}
	})
}

// The sessions of a folder stay within those of the plan, and a file that no session can
// hold fails before any is sent.
func TestDirKeepsToTheSessionsOfThePlan(t *testing.T) {
	t.Parallel()
	const size = uploads.MaxSingle + 1
	type row struct {
		change func(o *seed.Options)
		err    error
	}
	table.Bubbles(t, map[string]row{
		"number":          {func(o *seed.Options) { o.Uploads.MaxSessions = 1 }, nil},
		"bytes":           {func(o *seed.Options) { o.Uploads.MaxSessionBytes = 3*size - 1 }, nil},
		"bytes of a file": {func(o *seed.Options) { o.Uploads.MaxSessionBytes = size - 1 }, api.ErrInvalid},
	}, func(t *testing.T, test row) {
		w := newWorld(t, func(o *seed.Options) { test.change(o) })
		result, err := w.client.Uploads.FS(t.Context(), w.to, tree(alike(6, size)), nil)
		if !errors.Is(err, test.err) || test.err == nil && (err != nil || result.Done != 6) {
			t.Errorf("%+v, %v", result, err)
		}
		if n := w.count(op.UploadsStart); test.err != nil && n > 0 {
			t.Errorf("%d starts", n)
		}
	})
}

// After a refusal by a quota or the plan nothing more is sent. The files say what became
// of them.
func TestDirEndsAtTheQuota(t *testing.T) {
	t.Parallel()
	const paid = http.StatusPaymentRequired
	type row struct {
		size, stored  int // bytes of a file, and files that have room; -1 is no limit
		fault         seed.Fault
		done, skipped int // of 450 files, or of 10 large ones
		want          error
	}
	table.Bubbles(t, map[string]row{
		"large files without credits": {size: 5 << 20, stored: 4, done: 4, skipped: 5, want: api.ErrPaymentRequired},
		"batches without credits":     {size: 10, stored: 400, done: 400, want: api.ErrPaymentRequired},
		"batches over the plan": {
			size: 10, stored: -1, skipped: 250, want: api.ErrLimit,
			fault: seed.Fault{Op: op.UploadsBatch, Status: http.StatusPreconditionFailed, Count: 1},
		},
		"limits": {
			size: 10, stored: -1, skipped: 450, want: api.ErrPaymentRequired,
			fault: seed.Fault{Op: op.UploadsLimits, Status: paid},
		},
		"a list": {
			size: 10, stored: -1, skipped: 450, want: api.ErrPaymentRequired,
			fault: seed.Fault{Op: op.StorageList, Status: paid},
		},
	}, func(t *testing.T, test row) {
		w := newWorld(t, func(o *seed.Options) {
			o.Uploads.MaxStored = int64(max(test.stored, 0) * test.size)
			o.Uploads.Pace = -1
		})
		if test.fault.Op != "" {
			w.Fail(test.fault)
		}
		n := 450
		if test.size > uploads.MaxSingle {
			n = 10
		}
		local := t.TempDir()
		for name, content := range alike(n, test.size) {
			if err := os.WriteFile(filepath.Join(local, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		result, err := w.client.Uploads.Dir(t.Context(), w.to, local, &uploads.DirOptions{Parallel: 1})
		if !errors.Is(err, test.want) {
			t.Errorf("got %v", err)
		}
		got := [4]int{result.Done, result.Skipped, result.Failed, result.Pending}
		want := [4]int{test.done, test.skipped, n - test.done - test.skipped, 0}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("done, skipped, failed, pending (-want +got)\n%s", diff)
		}
		for _, e := range result.Entries {
			if e.State != api.DirDone && !errors.Is(e.Err, test.want) {
				t.Errorf("%s %s: %v", e.Path, e.State, e.Err)
			}
		}
		w.Heal()
		if stored := w.holding(t); len(stored) != test.done {
			t.Errorf("%d files are stored", len(stored))
		}
	})
}

// Requests that are under way at the refusal end as they would without it.
func TestDirReportsWhatIsSentAtTheQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Fail(seed.Fault{Op: op.UploadsBatch, Status: http.StatusPaymentRequired, Count: 1})
		var batches atomic.Int32
		w.through(t, func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/upload/batch/") {
				time.Sleep(time.Duration(batches.Add(1)) * time.Second)
			}
			return w.network.Transport.RoundTrip(r)
		})
		result, err := w.client.Uploads.FS(t.Context(), w.to, tree(alike(1000, 1)), &uploads.DirOptions{Parallel: 2})
		if !errors.Is(err, api.ErrPaymentRequired) || result.Done != 200 || result.Failed != 200 || result.Skipped != 600 {
			t.Errorf("done %d, failed %d, skipped %d, pending %d: %v", result.Done, result.Failed, result.Skipped, result.Pending, err)
		}
		if n := len(w.holding(t)); n != 200 {
			t.Errorf("%d files are stored", n)
		}
	})
}
