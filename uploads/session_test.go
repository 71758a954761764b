package uploads_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// interrupt uploads a file in chunks of 1 MiB with a store, until so many have arrived.
func (w *world) interrupt(t *testing.T, path string, store uploads.SessionStore, chunks int) uploads.Session {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := &uploads.FileOptions{
		ChunkSize: 1 << 20, Sessions: store,
		OnProgress: func(_ context.Context, p api.Progress) {
			if p.Done >= int64(chunks)<<20 {
				stop()
			}
		},
	}
	_, err := w.client.Uploads.File(ctx, w.to, path, o)
	failed, ok := errors.AsType[*uploads.Error](err)
	if !ok || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	time.Sleep(time.Minute) // until the server has closed the connections of the chunks under way
	return failed.Session
}

// sessions returns how many sessions the platform has.
func (w *world) sessions(t *testing.T) int {
	t.Helper()
	all, err := w.client.Uploads.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// localFile returns the path and content of a file of so many MiB.
func localFile(t *testing.T, size int) (path string, content []byte) {
	t.Helper()
	path, content = filepath.Join(t.TempDir(), "a.bin"), random(size<<20)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, content
}

// An upload that was interrupted continues in the next process, with the session of a store
// or of an error, and sends at most one chunk a lane again. A file that has changed, or whose
// session the platform does not have, is sent from its beginning. No session is left.
func TestInterruptedUploadContinues(t *testing.T) {
	t.Parallel()
	const chunks, arrived = 8, 4
	type row struct {
		change func(t *testing.T, w *world, path string, from uploads.Session)
		over   bool // it starts over
	}
	rewrite := func(t *testing.T, path string, change func(content []byte) []byte) {
		t.Helper()
		content, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := map[string]row{
		"the same file": {change: func(*testing.T, *world, string, uploads.Session) {}},
		"a longer file": {over: true, change: func(t *testing.T, _ *world, path string, _ uploads.Session) {
			t.Helper()
			rewrite(t, path, func(content []byte) []byte { return append(content, 1) })
		}},
		"a later file": {over: true, change: func(t *testing.T, _ *world, path string, _ uploads.Session) {
			t.Helper()
			touch(t, path)
		}},
		"other bytes of the same time": {over: true, change: func(t *testing.T, _ *world, path string, _ uploads.Session) {
			t.Helper()
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			rewrite(t, path, func(content []byte) []byte {
				for at := 0; at < len(content); at += 1 << 20 { // in every chunk, whichever have arrived
					content[at]++
				}
				return content
			})
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}},
		"no session": {over: true, change: func(t *testing.T, w *world, _ string, from uploads.Session) {
			t.Helper()
			if err := w.client.Uploads.Cancel(t.Context(), from.ID); err != nil {
				t.Fatal(err)
			}
		}},
	}
	ways := map[string]func(ctx context.Context, c *fastio.Client, to uploads.Target, path string, from uploads.Session,
		store uploads.SessionStore) (*storage.Node, error){
		"by a store": func(
			ctx context.Context, c *fastio.Client, to uploads.Target, path string, _ uploads.Session, store uploads.SessionStore,
		) (*storage.Node, error) {
			return c.Uploads.File(ctx, to, path, &uploads.FileOptions{ChunkSize: 1 << 20, Sessions: store})
		},
		"by its folder": func(
			ctx context.Context, c *fastio.Client, to uploads.Target, path string, _ uploads.Session, store uploads.SessionStore,
		) (*storage.Node, error) {
			r, err := c.Uploads.Dir(ctx, to, filepath.Dir(path), &uploads.DirOptions{ChunkSize: 1 << 20, Sessions: store})
			if err != nil {
				return nil, err
			}
			return &storage.Node{ID: r.Entries[0].Node}, nil
		},
		"by a path": func(
			ctx context.Context, c *fastio.Client, _ uploads.Target, path string, from uploads.Session, store uploads.SessionStore,
		) (*storage.Node, error) {
			return c.Uploads.ResumeFile(ctx, from, path, &uploads.FileOptions{ChunkSize: 1 << 20, Sessions: store})
		},
	}
	for way, send := range ways {
		for name, test := range rows {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				if test.over && name != "no session" {
					table.Large(t)
				}
				path, _ := localFile(t, chunks)
				store := uploads.FileStore(filepath.Join(t.TempDir(), "state"))
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					from := w.interrupt(t, path, store, arrived)
					test.change(t, w, path, from)
					w.Forget()
					next := w.Client(t, fastio.WithHTTPClient(w.network)) // of another process
					n, err := send(t.Context(), next, w.to, path, from, store)
					if err != nil {
						t.Fatal(err)
					}
					sent := w.count(op.UploadsChunksSend)
					content, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					w.holds(t, n, content)
					if most := chunks - arrived + 1; !test.over && sent > most || test.over && sent < chunks {
						t.Errorf("%d chunks were sent", sent)
					}
					if left := w.sessions(t); left > 0 {
						t.Errorf("%d sessions are left", left)
					}
					text, err := os.ReadFile(filepath.Join(string(store), "uploads.sessions"))
					if err != nil || string(text) != "{}" {
						t.Errorf("the store has %s, %v", text, err)
					}
				})
			})
		}
	}
}

// A process that is killed after its file was stored, and before it has noted that, does not
// send it again.
func TestStoredFileIsNotSentAgain(t *testing.T) {
	t.Parallel()
	path, content := localFile(t, 6)
	store := uploads.FileStore(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.to.Path = "2026/parts/"
		o := &uploads.FileOptions{Sessions: store}
		from := w.interrupt(t, path, store, 2)
		stored, err := w.client.Uploads.File(t.Context(), w.to, path, o)
		if err != nil {
			t.Fatal(err)
		}
		name := "workspace/" + string(w.to.Profile.ID) + "/folder/root/2026/parts/a.bin"
		if err := store.Save(t.Context(), name, from); err != nil { // as it was before the kill
			t.Fatal(err)
		}
		for _, send := range []func() (*storage.Node, error){
			func() (*storage.Node, error) { return w.client.Uploads.File(t.Context(), w.to, path, o) },
			func() (*storage.Node, error) { return w.client.Uploads.ResumeFile(t.Context(), from, path, nil) },
			func() (*storage.Node, error) {
				return w.client.Uploads.Resume(t.Context(), from, bytes.NewReader(content), nil)
			},
		} {
			w.Forget()
			n, err := send()
			if err != nil || !n.ID.Equal(stored.ID) || n.Version != stored.Version {
				t.Errorf("got %+v, %v", n, err)
			}
			if n := w.count(op.UploadsStart) + w.count(op.UploadsChunksSend); n > 0 {
				t.Errorf("%d calls sent the file again", n)
			}
		}
		if s, err := store.Load(t.Context(), name); err != nil || s.ID != "" {
			t.Errorf("the store has %+v, %v", s, err)
		}
	})
}

// The same of a file whose name the platform has shortened, and after a lost response.
func TestFileWithALongNameIsFound(t *testing.T) {
	t.Parallel()
	path, content := localFile(t, 6)
	store := uploads.FileStore(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := &uploads.FileOptions{Sessions: store, Name: strings.Repeat("n", 150) + ".bin"}
		var from uploads.Session
		o.OnSession = func(_ context.Context, s uploads.Session) error {
			from = s
			return nil
		}
		stored, err := w.client.Uploads.File(t.Context(), w.to, path, o)
		if err != nil {
			t.Fatal(err)
		}
		w.holds(t, stored, content)
		w.Forget()
		n, err := w.client.Uploads.ResumeFile(t.Context(), from, path, nil)
		if err != nil || n.Version != stored.Version || w.count(op.UploadsStart) > 0 {
			t.Errorf("got %+v, %v, want the stored version", n, err)
		}
		w.Fail(seed.Fault{Op: op.UploadsStart, Reset: seed.AfterHeader, Count: 1})
		n, err = w.client.Uploads.ReaderAt(t.Context(), w.to, o.Name, strings.NewReader("a"), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.holds(t, n, []byte("a"))
	})
}

// The same of a file that had a certain version: its new content is there, and the session
// is not.
func TestStoredVersionIsNotSentAgain(t *testing.T) {
	t.Parallel()
	path, content := localFile(t, 6)
	store := uploads.FileStore(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		file := w.AddNode(seed.Node{Profile: string(w.to.Profile.ID), Name: "a.bin", Versions: []seed.Version{{Content: "a"}}})
		w.to = replacing(w.to.Profile, file)
		from := w.interrupt(t, path, store, 2)
		o := &uploads.FileOptions{Sessions: store}
		stored, err := w.client.Uploads.File(t.Context(), w.to, path, o)
		if err != nil {
			t.Fatal(err)
		}
		name := "workspace/" + string(w.to.Profile.ID) + "/file/" + w.to.File.Plain()
		if err := store.Save(t.Context(), name, from); err != nil { // as it was before the kill
			t.Fatal(err)
		}
		for _, send := range []func() (*storage.Node, error){
			func() (*storage.Node, error) { return w.client.Uploads.ResumeFile(t.Context(), from, path, nil) },
			func() (*storage.Node, error) { return w.client.Uploads.File(t.Context(), w.to, path, o) },
		} {
			if n, err := send(); err != nil || n.Version != stored.Version {
				t.Errorf("got %+v, %v", n, err)
			}
		}
		w.holds(t, stored, content)
		if s, err := store.Load(t.Context(), name); err != nil || s.ID != "" {
			t.Errorf("the store has %+v, %v", s, err)
		}
	})
}

// A folder whose upload was killed after a file was stored leaves no session of it.
func TestUnchangedFileHasNoSession(t *testing.T) {
	t.Parallel()
	path, content := localFile(t, 6)
	store := uploads.FileStore(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.interrupt(t, path, store, 2)
		if _, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", bytes.NewReader(content), 6<<20, nil); err != nil {
			t.Fatal(err)
		}
		next := w.Client(t, fastio.WithHTTPClient(w.network)) // of another process
		r, err := next.Uploads.Dir(t.Context(), w.to, filepath.Dir(path), &uploads.DirOptions{Sessions: store})
		if err != nil || r.Unchanged != 1 {
			t.Fatalf("got %+v, %v", r, err)
		}
		text, err := os.ReadFile(filepath.Join(string(store), "uploads.sessions"))
		if err != nil || string(text) != "{}" {
			t.Errorf("the store has %s, %v", text, err)
		}
		if left := w.sessions(t); left > 0 {
			t.Errorf("%d sessions are left", left)
		}
	})
}

// A target that cannot be read for the moment is no reason to send the file again.
func TestResumeKeepsTheSessionWhileTheTargetCannotBeRead(t *testing.T) {
	t.Parallel()
	path, _ := localFile(t, 6)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		from := w.interrupt(t, path, nil, 2)
		if err := w.client.Uploads.Cancel(t.Context(), from.ID); err != nil {
			t.Fatal(err)
		}
		w.Forget()
		w.Fail(seed.Fault{Op: op.StorageList, Status: http.StatusServiceUnavailable})
		_, err := w.client.Uploads.ResumeFile(t.Context(), from, path, nil)
		failed, ok := errors.AsType[*uploads.Error](err)
		if !ok || failed.Session != from || w.count(op.UploadsStart) > 0 {
			t.Errorf("got %v", err)
		}
	})
}

// A session is continued after a web page with the status 404, such as one of a proxy.
func TestResumeKeepsTheSessionAfterAWebPage(t *testing.T) {
	t.Parallel()
	path, _ := localFile(t, 6)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		from := w.interrupt(t, path, nil, 2)
		w.Forget()
		w.Fail(seed.Fault{
			Op: op.UploadsGet, Count: 1, Status: http.StatusNotFound, ContentType: "text/html", Body: "<html>Not Found</html>",
		})
		_, err := w.client.Uploads.ResumeFile(t.Context(), from, path, nil)
		if failed, ok := errors.AsType[*uploads.Error](err); !ok || failed.Session != from {
			t.Errorf("got %v", err)
		}
		if _, err := w.client.Uploads.ResumeFile(t.Context(), from, path, nil); err != nil {
			t.Error(err)
		}
		if n := w.count(op.UploadsStart); n > 0 {
			t.Errorf("%d uploads were started", n)
		}
	})
}

// Uploads of one name at the same time do not continue the sessions of each other.
func TestParallelUploadsHaveTheirOwnSessions(t *testing.T) {
	t.Parallel()
	store := uploads.FileStore(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var sending sync.WaitGroup
		for i := range 4 {
			sending.Go(func() {
				content := random(5 << 20)
				content[0] = byte(i)
				o := &uploads.FileOptions{ChunkSize: 1 << 20, Sessions: store}
				n, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", bytes.NewReader(content), int64(len(content)), o)
				if err != nil || n.ID == "" {
					t.Errorf("got %v, %v", n, err)
				}
			})
		}
		sending.Wait()
		if chunks, left := w.count(op.UploadsChunksSend), w.sessions(t); chunks != 4*5 || left > 0 {
			t.Errorf("%d chunks were sent, %d sessions are left", chunks, left)
		}
	})
}

// slowFile is a file whose reads take a time.
type slowFile struct {
	*os.File
	takes time.Duration
}

func (f slowFile) ReadAt(p []byte, at int64) (int, error) {
	time.Sleep(f.takes)
	return f.File.ReadAt(p, at)
}

// Processes that upload the same file at the same time can continue one session. Each of
// them succeeds.
func TestProcessesShareASession(t *testing.T) {
	t.Parallel()
	path, _ := localFile(t, 10)
	store := uploads.FileStore(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.interrupt(t, path, store, 3)
		var sending sync.WaitGroup
		for i := range 4 {
			c := w.Client(t, fastio.WithHTTPClient(w.network))
			sending.Go(func() {
				local, err := os.Open(path)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = local.Close() }()
				content := slowFile{local, time.Duration(i) * 700 * time.Millisecond}
				o := &uploads.FileOptions{Sessions: store}
				n, err := c.Uploads.ReaderAt(t.Context(), w.to, "a.bin", content, 10<<20, o)
				if err != nil || n.Version == "" {
					t.Errorf("got %+v, %v", n, err)
				}
			})
		}
		sending.Wait()
		time.Sleep(time.Minute) // reads that were under way when another process was done
		if starts, left := w.count(op.UploadsStart), w.sessions(t); starts != 1 || left > 0 {
			t.Errorf("%d sessions were started, %d are left", starts, left)
		}
	})
}

// A session that another process removes after the file was stored is no failure.
func TestRemovedSessionOfAStoredFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Fail(seed.Fault{Op: op.UploadsGet, Delay: 20 * time.Second, Count: 1})
		o := &uploads.FileOptions{OnSession: func(ctx context.Context, s uploads.Session) error {
			time.AfterFunc(10*time.Second, func() {
				if err := w.client.Uploads.Cancel(ctx, s.ID); err != nil {
					t.Error(err)
				}
			})
			return nil
		}}
		content := random(5 << 20)
		n, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", bytes.NewReader(content), 5<<20, o)
		if err != nil {
			t.Fatal(err)
		}
		w.holds(t, n, content)
	})
}

// A session for another version of the file starts over.
func TestSessionOfAnotherVersionStartsOver(t *testing.T) {
	t.Parallel()
	path, content := localFile(t, 6)
	store := uploads.FileStore(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		file := w.AddNode(seed.Node{
			Profile: string(w.to.Profile.ID), Name: "a.bin", Versions: []seed.Version{{Content: "a"}, {Content: "b"}},
		})
		share := w.AddFileShare(seed.FileShare{Node: file.ID, Owner: w.User().ID})
		w.to = replacing(api.FileShare(api.ID(share.ID)), file)
		w.interrupt(t, path, store, 2)
		w.to.IfVersion = api.OpaqueID(file.Versions[1].ID)
		_, err := w.client.Uploads.File(t.Context(), w.to, path, &uploads.FileOptions{Sessions: store})
		if err != nil {
			t.Fatal(err)
		}
		w.to.Profile = api.Workspace(api.ID(file.Profile))
		w.holds(t, &storage.Node{ID: api.OpaqueID(file.ID)}, content)
	})
}

// brokenStore fails to load or save.
type brokenStore struct {
	uploads.SessionStore
	load, save error
}

func (s brokenStore) Load(context.Context, string) (uploads.Session, error) {
	return uploads.Session{}, s.load
}
func (s brokenStore) Save(context.Context, string, uploads.Session) error { return s.save }
func (brokenStore) Delete(context.Context, string, api.OpaqueID) error    { return io.ErrClosedPipe }

// A store that fails ends the upload before a chunk is sent. A session that it does not
// delete is no error.
func TestSessionStoreThatFails(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]brokenStore{
		"to load": {load: io.ErrUnexpectedEOF}, "to save": {save: io.ErrUnexpectedEOF}, "to delete": {},
	}, func(t *testing.T, store brokenStore) {
		w := newWorld(t)
		content := random(5 << 20)
		_, err := w.client.Uploads.ReaderAt(
			t.Context(), w.to, "a.bin", bytes.NewReader(content), 5<<20, &uploads.FileOptions{Sessions: store})
		fails := store.load != nil || store.save != nil
		if errors.Is(err, io.ErrUnexpectedEOF) != fails || fails == (w.count(op.UploadsChunksSend) > 0) {
			t.Errorf("got %v", err)
		}
		if left := w.sessions(t); left > 0 {
			t.Errorf("%d sessions are left", left)
		}
	})
}

func TestFileStore(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "state")
	store := uploads.FileStore(dir)
	session := func(i int) uploads.Session {
		return uploads.Session{
			ID: api.OpaqueID(fmt.Sprintf("5abc%d", i)), Target: uploads.Target{Profile: api.Workspace("4219876543210987654")},
			Name: "mill.txt", Size: 5 << 20, ChunkSize: 1 << 20, Modified: time.Now().UTC(),
		}
	}
	if s, err := store.Load(ctx, "a"); err != nil || s != (uploads.Session{}) {
		t.Errorf("without a file: %+v, %v", s, err)
	}
	var saving sync.WaitGroup
	want := session(7)
	for i := range 10 {
		saving.Go(func() {
			s := session(i)
			if i == 7 {
				s = want
			}
			if err := uploads.FileStore(dir).Save(ctx, fmt.Sprintf("name %d/é", i), s); err != nil {
				t.Error(err)
			}
		})
	}
	saving.Wait()
	for _, id := range []api.OpaqueID{"5other", ""} {
		if err := store.Delete(ctx, "name 7/é", id); err != nil {
			t.Error(err)
		}
	}
	got, err := store.Load(ctx, "name 7/é")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for range 2 {
		if err := store.Delete(ctx, "name 7/é", "5abc-7"); err != nil {
			t.Error(err)
		}
	}
	if s, err := store.Load(ctx, "name 7/é"); err != nil || s.ID != "" {
		t.Errorf("after its deletion: %+v, %v", s, err)
	}
	if s, err := store.Load(ctx, "name 8/é"); err != nil || s.ID != "5abc8" {
		t.Errorf("another session: %+v, %v", s, err)
	}
	path := filepath.Join(dir, "uploads.sessions")
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	damaged := []byte(`{"a":{"id":`)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	_, loadErr := store.Load(ctx, "a")
	for _, err := range []error{loadErr, store.Save(ctx, "a", want), store.Delete(ctx, "a", want.ID)} {
		if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), path) {
			t.Errorf("a damaged file: %v", err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, damaged) {
		t.Errorf("the file has become %s, %v", text, err)
	}
}
