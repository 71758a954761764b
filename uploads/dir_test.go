package uploads_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// tree returns a file system with the files.
func tree(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, content := range files {
		mode := fs.FileMode(0o644)
		if name, isFolder := strings.CutSuffix(name, "/"); isFolder {
			all[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			continue
		}
		all[name] = &fstest.MapFile{Data: []byte(content), Mode: mode}
	}
	return all
}

// holding returns the paths of all files and folders of the target with their content.
func (w *world) holding(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	var list func(folder api.OpaqueID, at string)
	list = func(folder api.OpaqueID, at string) {
		for n, err := range w.client.Storage.All(t.Context(), w.to.Profile, folder, nil) {
			switch {
			case err != nil:
				t.Fatal(err)
			case n.Type == storage.NodeTypeFolder:
				found[path.Join(at, n.Name)+"/"] = ""
				list(n.ID, path.Join(at, n.Name))
			default:
				var b bytes.Buffer
				if _, err := w.client.Storage.DownloadTo(t.Context(), w.to.Profile, n.ID, &b, nil); err != nil {
					t.Fatal(err)
				}
				found[path.Join(at, n.Name)] = b.String()
			}
		}
	}
	list(api.Root, "")
	return found
}

func TestDirSendsWhatTheTargetDoesNotHave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		large := string(random(uploads.MaxSingle + 1))
		local := map[string]string{
			"a.txt": "a", "empty.txt": "", "sub/b.txt": "b", "sub/deep/c.txt": "c", "large.bin": large, "none/": "",
		}
		var all api.Progress
		ended := map[string]bool{}
		o := &uploads.DirOptions{
			OnProgress: func(_ context.Context, p api.DirProgress) { all = p.All },
			OnEntry:    func(_ context.Context, e api.DirEntry) { ended[e.Path] = true },
		}
		result, err := w.client.Uploads.FS(t.Context(), w.to, tree(local), o)
		if err != nil || result.Done != 6 || len(ended) != 6 {
			t.Fatalf("got %+v, %v", result, err)
		}
		if size := int64(len(large)) + 3; all.Done != size || all.Total != size || result.Bytes != size {
			t.Errorf("the progress is %+v, %d bytes are done, want %d", all, result.Bytes, size)
		}
		want := maps.Clone(local)
		want["sub/"], want["sub/deep/"] = "", ""
		if diff := cmp.Diff(want, w.holding(t)); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		local["sub/b.txt"], local["sub/new.txt"] = "changed", "new"
		w.Forget()
		result, err = w.client.Uploads.FS(t.Context(), w.to, tree(local), nil)
		if err != nil || result.Done != 2 || result.Unchanged != 4 {
			t.Fatalf("got %v, %v", stub.States(result), err)
		}
		want["sub/b.txt"], want["sub/new.txt"] = "changed", "new"
		if diff := cmp.Diff(want, w.holding(t)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if n := w.count(op.UploadsBatch) + w.count(op.UploadsStart); n != 1 {
			t.Errorf("%d calls sent two small files", n)
		}
	})
}

// A thousand small files take at most eight requests.
func TestDirSendsSmallFilesTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, n := newWorld(t), table.Rounds(1000, 1000)
		local := map[string]string{}
		for i := range n {
			local[fmt.Sprintf("%d/%d.txt", i%10, i)] = strconv.Itoa(i)
		}
		result, err := w.client.Uploads.FS(t.Context(), w.to, tree(local), nil)
		if err != nil || result.Done != n {
			t.Fatalf("%+v, %v", result, err)
		}
		if n := len(w.Requests()); n > 8 {
			t.Errorf("%d requests", n)
		}
		found := w.holding(t)
		maps.DeleteFunc(found, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
		if diff := cmp.Diff(local, found); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestDirReportsEachEntry(t *testing.T) {
	t.Parallel()
	type row struct {
		local  map[string]string
		nodes  map[string]string // in the target before
		o      uploads.DirOptions
		change func(o *seed.Options)
		fault  seed.Fault
		want   map[string]string
		failed []error
		calls  int // that send files
	}
	two := map[string]string{"a.txt": "a", "b.txt": "b"}
	done := map[string]string{"a.txt": "done", "b.txt": "done"}
	lost := seed.Fault{Op: op.UploadsBatch, Reset: seed.AfterHeader, Count: 1}
	lostUnread := seed.Fault{Op: op.UploadsBatch, Status: http.StatusServiceUnavailable, Count: 1}
	unknown := "failed: fastio: uploads.Dir: whether the file was stored is not known: " +
		"uploads.Batch: Service Unavailable (status 503)"
	forbidden := "failed: fastio: uploads.Batch: Forbidden (status 403)"
	n100 := strings.Repeat("n", 100)
	long := path.Join(slices.Repeat([]string{strings.Repeat("n", 249)}, 33)...)
	refusal := "failed: fastio: uploads.Batch: extension not allowed (status 200, code 1605)"
	table.Bubbles(t, map[string]row{
		"filters": {
			local: map[string]string{"a.txt": "a", "a.go": "a", "b/a.txt": "a", "b/c.txt": "c", "git/x.txt": "x", "b/c.go": ""},
			o:     uploads.DirOptions{Filter: api.DirFilter{Include: []string{"*.txt"}, Exclude: []string{"git", "b/c*"}}},
			want:  map[string]string{"a.txt": "done", "b/a.txt": "done"}, calls: 1,
		},
		"names that are refused or collide": {
			local: map[string]string{"a ": "a", "b/A": "A", "b/a": "a", "c\\d/e": "e"},
			want: map[string]string{
				"a ":  "failed: the name is not allowed",
				"b/A": "done",
				"b/a": "failed: the name is taken",
				`c\d`: "failed: the name is not allowed",
			},
			failed: []error{api.ErrName, api.ErrNameTaken}, calls: 1,
		},
		"names that are changed": {
			local: map[string]string{"a ": "a", "b/A": "A", "b/a": "a", "c\\d/e": "e"},
			o:     uploads.DirOptions{Rename: true},
			want: map[string]string{
				"a ":    "done to a_",
				"b/A":   "done",
				"b/a":   "done to b/a (2)",
				`c\d/e`: "done to c_d/e",
			}, calls: 1,
		},
		"names that the platform would shorten": {
			local: map[string]string{n100 + "1": "1", n100 + "2": "2", n100: "n"},
			want: map[string]string{
				n100 + "1": "failed: the name is not allowed", n100 + "2": "failed: the name is not allowed", n100: "done",
			},
			failed: []error{api.ErrName}, calls: 1,
		},
		"a name that was made longer on the platform": {
			local: map[string]string{n100 + "1": "1", n100 + "2": "2"}, nodes: map[string]string{n100 + "1": "1", n100 + "2": "old"},
			want:   map[string]string{n100 + "1": "unchanged", n100 + "2": "failed: the name is not allowed"},
			failed: []error{api.ErrName},
		},
		"names that are shortened": {
			local: map[string]string{n100 + "1.txt": "1", n100 + "2.txt": "2", "a": "a"},
			o:     uploads.DirOptions{Rename: true},
			want: map[string]string{
				n100 + "1.txt": "done to " + n100[:96] + ".txt", n100 + "2.txt": "done to " + n100[:92] + " (2).txt", "a": "done",
			}, calls: 1,
		},
		"a result without nodes": {
			local: two, change: func(o *seed.Options) { o.Uploads.LateBatches = true }, want: done, calls: 1,
		},
		"a file that is accepted and not stored": {
			local: map[string]string{"a.txt": "a", "bad.txt": "b"},
			change: func(o *seed.Options) {
				o.Uploads.LateBatches, o.Uploads.FailStoring = true, "bad"
			},
			want: map[string]string{
				"a.txt":   "done",
				"bad.txt": "failed: fastio: uploads.Dir: the upload ended as store_failed: The file could not be stored.",
			}, calls: 1,
		},
		"a folder with a path that is too long": {
			local: map[string]string{"a": "a", long + "/a": "a"},
			want:  map[string]string{"a": "done", path.Dir(long): "done", long: "failed: the name is not allowed"}, calls: 1,
		},
		"a lost response after the files were stored": {local: two, fault: lost, want: done, calls: 1},
		"a failure before the files were stored": {
			local: two, fault: lostUnread, calls: 1, want: map[string]string{"a.txt": unknown, "b.txt": unknown},
		},
		"an extension that is refused": {
			local:  map[string]string{"a.txt": "a", "b.exe": "b"},
			change: func(o *seed.Options) { o.Uploads.Blocked = "exe" },
			want:   map[string]string{"a.txt": "done", "b.exe": refusal}, calls: 2,
		},
		"a file that is larger than the plan allows": {
			local:  map[string]string{"a.txt": "a", "b.txt": strings.Repeat("b", 11)},
			change: func(o *seed.Options) { o.Uploads.MaxSize = 10 },
			want: map[string]string{
				"a.txt": "done", "b.txt": "failed: " +
					"fastio: uploads.Dir: size must be at most 10 bytes, the limit of the plan, got 11",
			},
			failed: []error{api.ErrInvalid}, calls: 1,
		},
		"a body that is too large for the server": {
			local: map[string]string{"a": "a", "b": "b", "c": "c"},
			fault: seed.Fault{Op: op.UploadsBatch, Status: http.StatusRequestEntityTooLarge, Count: 1},
			want:  map[string]string{"a": "done", "b": "done", "c": "done"}, calls: 3,
		},
		"a batch whose response the edge rejects": {
			local: two, calls: 1, want: done,
			fault: seed.Fault{
				Op: op.UploadsBatch, Status: http.StatusRequestEntityTooLarge, Code: 90211, Count: 1, Processed: true,
			},
		},
		"a batch that is refused as a whole": {
			local: two, fault: seed.Fault{Op: op.UploadsBatch, Status: http.StatusNotAcceptable, Count: 1},
			want: done, calls: 3,
		},
		"a file that is refused alone, too": {
			local: map[string]string{"a.txt": "a"}, fault: seed.Fault{Op: op.UploadsBatch, Status: http.StatusNotAcceptable},
			want: map[string]string{"a.txt": "done"}, calls: 2,
		},
		"no right to add files": {
			local: two, fault: seed.Fault{Op: op.UploadsBatch, Status: http.StatusForbidden},
			want: map[string]string{
				"a.txt": forbidden, "b.txt": forbidden,
			},
			failed: []error{api.ErrForbidden}, calls: 1,
		},
	}, func(t *testing.T, test row) {
		change := test.change
		if change == nil {
			change = func(*seed.Options) {}
		}
		w := newWorld(t, change)
		for name, content := range test.nodes {
			versions := []seed.Version{{Content: content}}
			w.AddNode(seed.Node{Profile: string(w.to.Profile.ID), Name: name, Versions: versions})
		}
		if test.fault.Op != "" {
			w.Fail(test.fault)
		}
		result, err := w.client.Uploads.FS(t.Context(), w.to, tree(test.local), &test.o)
		if diff := cmp.Diff(test.want, stub.States(result)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if failed, ok := errors.AsType[*api.DirError](err); ok != (result.Failed > 0) ||
			ok && len(failed.Entries) != result.Failed {
			t.Errorf("got %v", err)
		}
		for _, want := range test.failed {
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if n := w.count(op.UploadsBatch) + w.count(op.UploadsStart); n != test.calls {
			t.Errorf("%d calls sent files, want %d", n, test.calls)
		}
		time.Sleep(time.Minute)
		stored := w.holding(t)
		for _, e := range result.Entries {
			if e.State == api.DirDone && stored[e.Target] != test.local[e.Path] {
				t.Errorf("%s has the content %q", e.Target, stored[e.Target])
			}
		}
	})
}

// What ends the call leaves the other entries pending.
func TestDirEndsEarly(t *testing.T) {
	t.Parallel()
	type row struct {
		fault seed.Fault
		want  error
	}
	table.Bubbles(t, map[string]row{
		"without credits": {
			seed.Fault{Op: op.UploadsBatch, Status: http.StatusPaymentRequired},
			api.ErrPaymentRequired,
		},
		"without the target": {seed.Fault{Op: op.StorageList, Status: http.StatusNotFound}, api.ErrNotFound},
		"canceled":           {seed.Fault{Op: op.UploadsBatch, Delay: time.Hour}, context.DeadlineExceeded},
	}, func(t *testing.T, test row) {
		w := newWorld(t)
		w.Fail(test.fault)
		local := map[string]string{}
		for i := range 900 {
			local[strconv.Itoa(i)] = "x"
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		result, err := w.client.Uploads.FS(ctx, w.to, tree(local), &uploads.DirOptions{Parallel: 1})
		if !errors.Is(err, test.want) || len(result.Entries) != 900 {
			t.Fatalf("got %v, %d entries", err, len(result.Entries))
		}
		if n := w.count(op.UploadsBatch); n > 1 || result.Done > 0 {
			t.Errorf("%d calls, %+v", n, result)
		}
	})
}

func TestDirKeepsToTheBandwidth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *seed.Options) { o.Uploads.Pace = -1 })
		const size = 12 << 20
		local := map[string]string{"large": string(random(size))}
		for i := range 8 {
			local[strconv.Itoa(i)] = string(random(1 << 20))
		}
		begun := time.Now()
		o := &uploads.DirOptions{BytesPerSecond: 1 << 20}
		if _, err := w.client.Uploads.FS(t.Context(), w.to, tree(local), o); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < 16*time.Second || took > 30*time.Second {
			t.Errorf("20 MiB took %s", took)
		}
	})
}

// A file that was interrupted continues its session; another one starts anew.
func TestDirContinuesSessions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(content []byte) []byte{
		"the same file":  func(content []byte) []byte { return content },
		"a changed file": func(content []byte) []byte { content[0]++; return content },
		"a longer file":  func(content []byte) []byte { return append(content, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				content := random(5 << 20)
				sessions := uploads.FileStore(t.TempDir())
				ctx, cancel := context.WithCancel(t.Context())
				o := &uploads.DirOptions{
					ChunkSize: 1 << 20, Sessions: sessions,
					OnProgress: func(_ context.Context, p api.DirProgress) {
						if p.File.Done >= 3<<20 {
							cancel()
						}
					},
				}
				if _, err := w.client.Uploads.FS(ctx, w.to, tree(map[string]string{"a": string(content)}), o); err == nil {
					t.Fatal("was not interrupted")
				}
				w.Forget()
				content = change(content)
				o = &uploads.DirOptions{ChunkSize: 1 << 20, Sessions: sessions}
				_, err := w.client.Uploads.FS(t.Context(), w.to, tree(map[string]string{"a": string(content)}), o)
				if err != nil {
					t.Fatal(err)
				}
				if got := w.holding(t); got["a"] != string(content) {
					t.Errorf("stored %d bytes", len(got["a"]))
				}
				if n := w.count(op.UploadsChunksSend); name == "the same file" && n > 3 || n > 8 {
					t.Errorf("%d chunks were sent", n)
				}
				if left, err := w.client.Uploads.List(t.Context()); err != nil || len(left) > 0 {
					t.Errorf("%d sessions are left, %v", len(left), err)
				}
			})
		})
	}
}

// unsound is a file system whose files are not as the folder said.
type unsound struct {
	fs.FS
	open func(name string, f fs.File) fs.File
}

func (u unsound) Open(name string) (fs.File, error) {
	f, err := u.FS.Open(name)
	if err == nil && name != "." {
		f = u.open(name, f)
	}
	return f, err
}

type shortFile struct{ fs.File }

func (shortFile) Read([]byte) (int, error) { return 0, io.EOF }

func TestDirRefusesFilesThatChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		local := tree(map[string]string{"a": "abc", "large": string(random(uploads.MaxSingle + 1)), "same": "x"})
		fsys := unsound{local, func(name string, f fs.File) fs.File {
			if name == "same" {
				return f
			}
			return shortFile{f} // no io.ReaderAt either
		}}
		result, err := w.client.Uploads.FS(t.Context(), w.to, fsys, nil)
		if !errors.Is(err, api.ErrChanged) || result.Failed < 1 {
			t.Fatalf("got %v, %v", stub.States(result), err)
		}
		if diff := cmp.Diff("x", w.holding(t)["same"]); diff != "" {
			t.Error(diff)
		}
		if _, stored := w.holding(t)["a"]; stored {
			t.Error("a file that had changed was stored")
		}
	})
}

// A lost batch costs one wait and one listing of each folder. It is sent once, whenever
// the platform stores it.
func TestLostBatchIsSentOnce(t *testing.T) {
	t.Parallel()
	type row struct {
		late time.Duration // after which the platform stores it; 0 is never
		done int
	}
	table.Bubbles(t, map[string]row{
		"stored at once":           {time.Nanosecond, uploads.MaxBatch},
		"stored after 5 seconds":   {5 * time.Second, uploads.MaxBatch},
		"stored after a minute":    {time.Minute, 0},
		"stored after ten minutes": {10 * time.Minute, 0},
		"never stored":             {0, 0},
	}, func(t *testing.T, test row) {
		w := newWorld(t, func(o *seed.Options) { o.Uploads.IdenticalVersions = true })
		var late sync.WaitGroup
		batches := 0
		w.through(t, func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/upload/batch/") || batches > 0 {
				return w.network.Transport.RoundTrip(r)
			}
			batches++
			body, err := io.ReadAll(r.Body)
			if err == nil && test.late > 0 {
				late.Go(func() {
					time.Sleep(test.late)
					r := r.Clone(context.WithoutCancel(r.Context()))
					r.Body = io.NopCloser(bytes.NewReader(body))
					resp, err := w.network.Transport.RoundTrip(r)
					if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
						t.Errorf("the late batch: %v", err)
					}
				})
			}
			return nil, errors.Join(err, io.ErrUnexpectedEOF)
		})
		local := map[string]string{}
		for i := range uploads.MaxBatch {
			local[fmt.Sprintf("%d/%d.txt", i%4, i)] = strconv.Itoa(i)
		}
		begun := time.Now()
		result, err := w.client.Uploads.FS(t.Context(), w.to, tree(local), nil)
		if took := time.Since(begun); result.Done != test.done || took > 30*time.Second {
			t.Errorf("%d files are done after %s, %v", result.Done, took, err)
		}
		if unknown, ok := errors.AsType[*uploads.Error](err); ok != (test.done == 0) || ok && unknown.Err == nil {
			t.Errorf("got %v", err)
		}
		if n := w.count(op.StorageList); n > 1+5 {
			t.Errorf("%d lists", n)
		}
		late.Wait()
		want := len(local)
		if again, err := w.client.Uploads.FS(t.Context(), w.to, tree(local), nil); err != nil ||
			test.late > 0 && again.Unchanged != want || test.late == 0 && again.Done != want {
			t.Errorf("another call: %+v, %v", again, err)
		}
		for e, err := range w.client.Storage.Walk(t.Context(), w.to.Profile, api.Root, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Node.Type == storage.NodeTypeFolder {
				continue
			}
			versions, err := w.client.Storage.Versions.List(t.Context(), w.to.Profile, e.Node.ID)
			want--
			if err != nil || len(versions) != 1 {
				t.Fatalf("%s has %d versions, %v", e.Path, len(versions), err)
			}
		}
		if want != 0 {
			t.Errorf("%d files are missing", want)
		}
	})
}

// A file whose result has an unknown status may be stored: it is looked for and not sent
// again, which could store a second version.
func TestUnknownResultOfABatchIsSentOnce(t *testing.T) {
	t.Parallel()
	for status, calls := range map[string]int{`"status":"accepted"`: 1, `"status":null`: 1, `"status":"error"`: 2} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(o *seed.Options) { o.Uploads.IdenticalVersions = true })
			w.through(t, func(r *http.Request) (*http.Response, error) {
				resp, err := w.network.Transport.RoundTrip(r)
				if err != nil || !strings.HasSuffix(r.URL.Path, "/upload/batch/") || w.count(op.UploadsBatch) > 1 {
					return resp, err
				}
				text, err := io.ReadAll(resp.Body)
				text = bytes.ReplaceAll(text, []byte(`"status":"ok"`), []byte(status))
				resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
				return resp, err
			})
			result, err := w.client.Uploads.FS(t.Context(), w.to, tree(map[string]string{"a.txt": "a", "b.txt": "b"}), nil)
			if err != nil || result.Done != 2 || w.count(op.UploadsBatch) != calls {
				t.Errorf("%s: %d files are done after %d calls, want %d, %v", status, result.Done, w.count(op.UploadsBatch), calls, err)
			}
		})
	}
}

// A file that makes the platform refuse a whole batch is found with few calls. The others
// are sent together.
func TestRefusedBatchIsSplit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.through(t, func(r *http.Request) (*http.Response, error) {
			body := []byte{}
			if r.Body != nil {
				var err error
				body, err = io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			if strings.HasSuffix(r.URL.Path, "/upload/batch/") && bytes.Contains(body, []byte("100.txt")) {
				return &http.Response{StatusCode: http.StatusNotAcceptable, Request: r, Body: http.NoBody}, nil
			}
			return w.network.Transport.RoundTrip(r)
		})
		local := map[string]string{}
		for i := range uploads.MaxBatch {
			local[fmt.Sprintf("%d.txt", i)] = strconv.Itoa(i)
		}
		begun := time.Now()
		result, err := w.client.Uploads.FS(t.Context(), w.to, tree(local), nil)
		if took := time.Since(begun); err != nil || result.Done != len(local) || took > 30*time.Second {
			t.Errorf("%d files are done after %s, %v", result.Done, took, err)
		}
		if batches, single := w.count(op.UploadsBatch), w.count(op.UploadsStart); batches > 8 || single != 1 {
			t.Errorf("%d batches were accepted, %d files were sent alone", batches, single)
		}
	})
}

// closedFS has a folder that cannot be read.
type closedFS struct{ fs.FS }

func (f closedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "closed" {
		return nil, fs.ErrPermission
	}
	return fs.ReadDir(f.FS, name)
}

// A folder that cannot be read is a failed entry. It is not created, as an empty one is.
func TestDirReportsFoldersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	local := closedFS{tree(map[string]string{"a.txt": "a", "closed/b.txt": "b"})}
	result, err := w.client.Uploads.FS(t.Context(), w.to, local, nil)
	want := map[string]string{"a.txt": "done", "closed": "failed: permission denied"}
	if diff := cmp.Diff(want, stub.States(result)); diff != "" || len(result.Entries) != len(want) {
		t.Errorf("%d entries, %v (-want +got)\n%s", len(result.Entries), err, diff)
	}
	if n := w.count(op.StorageCreateFolder); n > 0 {
		t.Errorf("%d folders were created", n)
	}
}

// Folders are created if they hold a file that is sent, or nothing without a filter.
func TestDirCreatesNoFilteredFolders(t *testing.T) {
	t.Parallel()
	local := map[string]string{"docs/a.md": "a", "src/deep/a.go": "a", "none/": ""}
	for name, test := range map[string]struct {
		filter api.DirFilter
		want   map[string]string
	}{
		"include": {api.DirFilter{Include: []string{"*.md"}}, map[string]string{"docs/": "", "docs/a.md": "a"}},
		"paths": {
			api.DirFilter{Paths: map[string]bool{"docs/a.md": true}}, map[string]string{"docs/": "", "docs/a.md": "a"},
		},
		"exclude": {
			api.DirFilter{Exclude: []string{"*.go"}}, map[string]string{"docs/": "", "docs/a.md": "a", "none/": ""},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.client.Uploads.FS(t.Context(), w.to, tree(local), &uploads.DirOptions{Filter: test.filter})
			if diff := cmp.Diff(test.want, w.holding(t)); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
			}
		})
	}
}

// A folder is not stored under another name beside a file of its name.
func TestDirReportsFilesInTheWay(t *testing.T) {
	t.Parallel()
	for _, overwrite := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			there := map[string]string{"x": "file", "y": "file"}
			if _, err := w.client.Uploads.FS(t.Context(), w.to, tree(there), nil); err != nil {
				t.Fatal(err)
			}
			local := tree(map[string]string{"x/deep/a.txt": "a", "y/": "", "z.txt": "z"})
			result, err := w.client.Uploads.FS(t.Context(), w.to, local, &uploads.DirOptions{Overwrite: overwrite})
			want := map[string]string{
				"x/deep/a.txt": "failed: the name is taken", "y": "failed: the name is taken", "z.txt": "done",
			}
			if diff := cmp.Diff(want, stub.States(result)); diff != "" || !errors.Is(err, api.ErrNameTaken) {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			there["z.txt"] = "z"
			if diff := cmp.Diff(there, w.holding(t)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			below := w.to
			below.Path = "x/"
			_, err = w.client.Uploads.FS(t.Context(), below, tree(map[string]string{"a": "a"}), nil)
			if !errors.Is(err, api.ErrNameTaken) {
				t.Errorf("a file as the target: %v", err)
			}
		})
	}
}

// A file is not stored under another name beside a note or link of its name, at each call
// again. A note with the content of the file is as good as the file.
func TestDirReportsNotesInTheWay(t *testing.T) {
	t.Parallel()
	for _, overwrite := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			in := string(w.to.Profile.ID)
			w.AddNode(seed.Node{Profile: in, Kind: "note", Name: "same.md", Content: "# Mills"})
			w.AddNode(seed.Node{Profile: in, Kind: "note", Name: "other.md", Content: "# Wheels"})
			w.AddNode(seed.Node{Profile: in, Kind: "link", Name: "link"})
			local := tree(map[string]string{"same.md": "# Mills", "other.md": "# Brass wheels", "link": "x"})
			result, err := w.client.Uploads.FS(t.Context(), w.to, local, &uploads.DirOptions{Overwrite: overwrite})
			want := map[string]string{
				"same.md": "unchanged", "other.md": "failed: the name is taken", "link": "failed: the name is taken",
			}
			if overwrite {
				want["same.md"] = "failed: the name is taken"
			}
			if diff := cmp.Diff(want, stub.States(result)); diff != "" || !errors.Is(err, api.ErrNameTaken) {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			page, err := w.client.Storage.List(t.Context(), w.to.Profile, api.Root, nil)
			if err != nil || len(page.Nodes) != 3 {
				t.Errorf("the folder has %v, %v", page, err)
			}
		})
	}
}

// A large file of a folder that is interrupted has no session to continue, unless the caller
// keeps sessions: else it is removed.
func TestInterruptedDirLeavesNoSession(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Fail(seed.Fault{Op: op.UploadsChunksSend, Skip: 1, Delay: time.Hour})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			o, want := &uploads.DirOptions{}, 0
			if keep {
				o.Sessions, want = uploads.FileStore(t.TempDir()), 1
			}
			local := tree(map[string]string{"a.bin": string(random(20 << 20))})
			result, err := w.client.Uploads.FS(ctx, w.to, local, o)
			if !errors.Is(err, context.DeadlineExceeded) || result.Pending != 1 {
				t.Errorf("%+v, %v", result, err)
			}
			if left := w.sessions(t); left != want {
				t.Errorf("%d sessions are left, want %d", left, want)
			}
		})
	}
}

// Files that the target is found to have after a lost response count in the progress.
func TestProgressOfALostBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Fail(seed.Fault{Op: op.UploadsBatch, Status: http.StatusBadGateway, Processed: true, Count: 1})
		var all api.Progress
		result, err := w.client.Uploads.FS(t.Context(), w.to, tree(map[string]string{"a": "aa", "b": "b"}), &uploads.DirOptions{
			OnProgress: func(_ context.Context, p api.DirProgress) { all = p.All },
		})
		if err != nil || result.Done != 2 || all != (api.Progress{Done: 3, Total: 3}) {
			t.Errorf("%v, %v, the progress is %+v", stub.States(result), err, all)
		}
	})
}
