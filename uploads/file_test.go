package uploads_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/crc"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// world is an emulator with a workspace, and a client on a network in memory.
type world struct {
	*fastiotest.Server
	client  *fastio.Client
	network *http.Client
	to      uploads.Target
}

func newWorld(t *testing.T, change ...func(o *seed.Options)) *world {
	t.Helper()
	w := &world{Server: fastiotest.New(change...)}
	w.network = w.StartInMemory(t)
	w.client = w.Client(t, fastio.WithHTTPClient(w.network))
	w.to = uploads.Target{Profile: api.Workspace(api.ID(w.AddWorkspace(seed.Workspace{Name: "Design"}).ID))}
	return w
}

// through sends the requests of the client through a function.
func (w *world) through(t *testing.T, f stub.Network, opts ...fastio.Option) {
	t.Helper()
	w.client = w.Client(t, append(opts, fastio.WithHTTPClient(&http.Client{Transport: f}))...)
}

// random returns content that is the same each time.
func random(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// holds requires that a node has the content, in one version.
func (w *world) holds(t *testing.T, node *storage.Node, content []byte) {
	t.Helper()
	d, err := w.client.Storage.Downloads.Read(t.Context(), w.to.Profile, node.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	got := bytes.NewBuffer(make([]byte, 0, len(content)+bytes.MinRead))
	if _, err := got.ReadFrom(d); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Fatalf("the node has %d bytes, want the %d that were sent: %v", got.Len(), len(content), err)
	}
	if n := w.count(op.EventsSearch); n > 0 {
		t.Errorf("%d searches", n)
	}
}

// count returns the number of requests of an operation.
func (w *world) count(op seed.Op) (n int) {
	for _, r := range w.Requests() {
		if r.Op == string(op) {
			n++
		}
	}
	return n
}

func TestFileOfAnySizeIsStored(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	table.Bubbles(t, map[string]int{
		"empty": 0, "a byte": 1, "the largest single call": uploads.MaxSingle, "a byte more": uploads.MaxSingle + 1,
		"whole chunks": 24 * mib, "a last byte": 16*mib + 1,
	}, func(t *testing.T, size int) {
		w := newWorld(t)
		content := random(size)
		var done []int64
		o := &uploads.FileOptions{OnProgress: func(_ context.Context, p api.Progress) { done = append(done, p.Done) }}
		n, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "plan.bin", bytes.NewReader(content), int64(size), o)
		if err != nil {
			t.Fatal(err)
		}
		w.holds(t, n, content)
		if len(done) == 0 || done[len(done)-1] != int64(size) || !slices.IsSorted(done) {
			t.Errorf("progress was %v", done)
		}
		if n := w.count(op.UploadsCancel); n != 1 {
			t.Errorf("the session was removed %d times", n)
		}
	})
}

// A call that stores a file is sent once, a chunk is sent again, and after a failed
// complete the state is read (P1).
func TestUploadsStoreOnce(t *testing.T) {
	t.Parallel()
	type row struct {
		size  int
		op    seed.Op
		fault seed.Fault
		fails bool
		sends int
	}
	lost := seed.Fault{Reset: seed.AfterHeader, Count: 1}
	refused := seed.Fault{Status: http.StatusServiceUnavailable, Count: 1}
	large := uploads.MaxSingle + 1
	table.Bubbles(t, map[string]row{
		"a lost response to a single call": {1, op.UploadsStart, lost, false, 1},
		"a single call that fails":         {1, op.UploadsStart, refused, true, 1},
		"a lost response to a start":       {large, op.UploadsStart, lost, false, 2},
		"a start that fails":               {large, op.UploadsStart, refused, false, 2},
		"a lost response to a chunk":       {large, op.UploadsChunksSend, lost, false, 2},
		"a chunk that fails":               {large, op.UploadsChunksSend, refused, false, 2},
		"a lost response to a complete":    {large, op.UploadsComplete, lost, false, 1},
		"a complete that fails":            {large, op.UploadsComplete, refused, false, 2},
		"each complete fails": {
			large, op.UploadsComplete, seed.Fault{Status: http.StatusServiceUnavailable}, true, 3,
		},
		"a lost response to a state": {large, op.UploadsGet, lost, false, 0},
		"a state that cannot be read a while": {
			large,
			op.UploadsGet,
			seed.Fault{Status: 502, Count: 9},
			false,
			0,
		},
	}, func(t *testing.T, test row) {
		w := newWorld(t)
		test.fault.Op = test.op
		w.Fail(test.fault)
		content := random(test.size)
		node, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", bytes.NewReader(content), int64(test.size), nil)
		if (err != nil) != test.fails {
			t.Fatalf("got %v", err)
		}
		if n := w.count(test.op); test.sends > 0 && n != test.sends+len(content)/(8<<20) &&
			test.op != op.UploadsChunksSend {
			t.Errorf("%d requests, want %d", n, test.sends)
		}
		if err == nil {
			w.holds(t, node, content)
		}
	})
}

// The session that a lost start has left behind is cancelled if it is the only one like it.
func TestLostSessionIsCancelled(t *testing.T) {
	t.Parallel()
	type row struct {
		lost int // responses
		bare bool
		left int // sessions
		path string
	}
	table.Bubbles(t, map[string]row{
		"one":                      {lost: 1},
		"one in a folder":          {lost: 1, path: "2026/"},
		"two":                      {lost: 2, left: 2},
		"a list without the names": {lost: 1, bare: true, left: 1},
	}, func(t *testing.T, test row) {
		w := newWorld(t, func(o *seed.Options) { o.Uploads.BareRows = test.bare })
		size := int64(uploads.MaxSingle + 1)
		other, old := w.to, uploads.StartRequest{Target: w.to, Name: "a.bin", Size: size}
		other.Path = "other/"
		for _, r := range []uploads.StartRequest{old, {Target: other, Name: "a.bin", Size: size}} {
			if _, err := w.client.Uploads.Start(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // the first one was begun before
		}
		w.to.Path = test.path
		w.Fail(seed.Fault{Op: op.UploadsStart, Reset: seed.AfterHeader, Count: test.lost})
		content := bytes.NewReader(random(int(size)))
		if _, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", content, size, nil); err != nil {
			t.Fatal(err)
		}
		all, err := w.client.Uploads.List(t.Context())
		if err != nil || len(all) != test.left+2 {
			t.Errorf("%d sessions, %v", len(all), err)
		}
	})
}

// The session of another program is not cancelled in place of a lost one if the list does
// not say when the session that followed has begun.
func TestSessionOfUnknownTimeCancelsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		size := int64(uploads.MaxSingle + 1)
		other, err := w.client.Uploads.Start(t.Context(), uploads.StartRequest{Target: w.to, Name: "a.bin", Size: size})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		lost := false
		w.through(t, func(r *http.Request) (*http.Response, error) {
			if isStart := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/upload/"); isStart && !lost {
				lost = true
				return nil, io.ErrUnexpectedEOF
			}
			resp, err := w.network.Transport.RoundTrip(r)
			if err == nil && strings.HasSuffix(r.URL.Path, "/upload/details/") {
				list, readErr := io.ReadAll(resp.Body)
				latest := bytes.LastIndex(list, []byte(`"created"`))
				if readErr != nil || latest < 0 {
					return nil, fmt.Errorf("no sessions in %q, %w", list, readErr)
				}
				list = slices.Concat(list[:latest], []byte(`"other"`), list[latest+len(`"created"`):])
				resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(list)), int64(len(list))
			}
			return resp, err
		})
		content := bytes.NewReader(random(int(size)))
		if _, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", content, size, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := w.client.Uploads.Get(t.Context(), other.ID); err != nil || !lost {
			t.Errorf("the session of another program: %v; a response was lost: %v", err, lost)
		}
	})
}

// Content that has other bytes at the end than at the start is not stored.
func TestContentThatChangesIsNotStored(t *testing.T) {
	t.Parallel()
	table.Large(t)
	path := filepath.Join(t.TempDir(), "log.txt")
	write := func(t *testing.T, size int) {
		t.Helper()
		if err := os.WriteFile(path, random(size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range []int{100, uploads.MaxSingle * 5} {
		for name, change := range map[string]func(t *testing.T){
			"longer":  func(t *testing.T) { t.Helper(); write(t, size+1) },
			"shorter": func(t *testing.T) { t.Helper(); write(t, size-1) },
			"other":   func(t *testing.T) { t.Helper(); write(t, size); touch(t, path) },
		} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				write(t, size)
				first := true
				o := &uploads.FileOptions{OnProgress: func(context.Context, api.Progress) {
					if first {
						first = false
						change(t)
					}
				}}
				_, err := w.client.Uploads.File(t.Context(), w.to, path, o)
				if size > uploads.MaxSingle && !errors.Is(err, api.ErrChanged) {
					t.Errorf("%d bytes became %s: %v", size, name, err)
				}
				if size > uploads.MaxSingle && w.count(op.UploadsComplete) > 0 {
					t.Error("the upload was completed")
				}
			})
		}
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
}

// A session that was saved is resumed by another program, which sends the missing chunks.
func TestResumeSendsMissingChunks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		content := random(5<<20 + 5)
		ctx, crash := context.WithCancel(t.Context())
		var saved []byte
		o := &uploads.FileOptions{
			ChunkSize: 1 << 20,
			OnSession: func(_ context.Context, s uploads.Session) (err error) {
				saved, err = json.Marshal(s)
				return err
			},
			OnProgress: func(_ context.Context, p api.Progress) {
				if p.Done >= 2<<20 {
					crash()
				}
			},
		}
		_, err := w.client.Uploads.ReaderAt(ctx, w.to, "a.bin", bytes.NewReader(content), int64(len(content)), o)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if strings.Contains(string(saved), w.Token()) {
			t.Error("the session holds a credential")
		}
		synctest.Wait()
		before := w.count(op.UploadsChunksSend)
		var s uploads.Session
		if err := json.Unmarshal(saved, &s); err != nil {
			t.Fatal(err)
		}
		node, err := w.client.Uploads.Resume(t.Context(), s, bytes.NewReader(content), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.holds(t, node, content)
		if all := w.count(op.UploadsChunksSend); all-before > 4 || all > 6+3 {
			t.Errorf("%d chunks were sent after %d of 6", all-before, before)
		}
	})
}

// Bytes that arrive as others, or have another checksum than before, start the upload over,
// once.
func TestMismatchStartsOverOnce(t *testing.T) {
	t.Parallel()
	table.Large(t)
	for _, fault := range []seed.Fault{
		{Op: op.UploadsComplete, Status: http.StatusNotAcceptable, Code: 10778, Count: 1},
		{Op: op.UploadsComplete, Status: http.StatusNotAcceptable, Code: 10778, Count: 2},
		{Op: op.UploadsChunksSend, Status: http.StatusConflict, Code: 10779, Count: 1, Skip: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Fail(fault)
			content := random(9 << 20)
			node, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", bytes.NewReader(content), int64(len(content)), nil)
			if fault.Count == 1 {
				if err != nil {
					t.Fatal(err)
				}
				w.holds(t, node, content)
			}
			if e, ok := errors.AsType[*api.Error](err); fault.Count == 2 && (!ok || e.Code != 10778) {
				t.Errorf("got %v", err)
			}
			if n := w.count(op.UploadsStart); n != 2 {
				t.Errorf("%d uploads", n)
			}
			if all, err := w.client.Uploads.List(t.Context()); fault.Count == 1 && (err != nil || len(all) > 0) {
				t.Errorf("%d uploads are left: %v", len(all), err)
			}
		})
	}
}

// A response to one chunk that says something of the whole file starts the upload over
// only if the checksum of the file was sent with that chunk.
func TestRefusalOfAChunkDoesNotStartOver(t *testing.T) {
	t.Parallel()
	table.Large(t)
	const chunks = 3
	for refused, starts := range map[int]int{0: 1, chunks - 1: 2} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Fail(seed.Fault{
				Op: op.UploadsChunksSend, Skip: refused, Count: 1, Status: http.StatusNotAcceptable, Code: 10778,
			})
			content := random(chunks * 2 << 20)
			o := &uploads.FileOptions{ChunkSize: 2 << 20}
			_, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", bytes.NewReader(content), int64(len(content)), o)
			if over := starts == 2; (err == nil) != over || !over && !errors.Is(err, api.ErrInvalid) {
				t.Errorf("chunk %d: %v", refused, err)
			}
			if n := w.count(op.UploadsStart); n != starts {
				t.Errorf("chunk %d: %d uploads, want %d", refused, n, starts)
			}
			time.Sleep(time.Minute) // until the server has closed the connections of chunks that it did not read
		})
	}
}

// A failure to store is an [uploads.Error], and no session is removed as complete.
func TestUploadWaitsUntilStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *seed.Options) { o.Uploads.Pace, o.Uploads.FailStoring = time.Hour, "bad" })
		start := time.Now()
		for range 3 {
			go func() {
				_, _ = w.client.Uploads.ReaderAt(t.Context(), w.to, "c.txt", strings.NewReader("c"), 1, nil)
			}()
		}
		node, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.txt", strings.NewReader("a"), 1, nil)
		if err != nil || node.ID == "" || time.Since(start) < 2*time.Hour || time.Since(start) > 2*time.Hour+time.Second {
			t.Errorf("got %v, %v after %s", node, err, time.Since(start))
		}
		_, err = w.client.Uploads.ReaderAt(t.Context(), w.to, "bad.txt", strings.NewReader("a"), 1, nil)
		e, ok := errors.AsType[*uploads.Error](err)
		if !ok || e.Upload.Status != uploads.StatusStoreFailed || e.Err != nil {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if n := w.count(op.ActivityPoll) + w.count(op.ActivityPollProfile); n > 400 {
			t.Errorf("%d polls", n)
		}
	})
}

func TestLimitsDecideTheChunks(t *testing.T) {
	t.Parallel()
	table.Large(t)
	const mib = 1 << 20
	for name, test := range map[string]struct {
		chunks int
		chunk  int64
		size   int
		want   int // chunks; 0 for too large
	}{
		"few chunks":         {4, 100 * mib, 40 * mib, 4},
		"small chunks":       {100, 2 * mib, 9 * mib, 5},
		"too many for chunk": {2, 4 * mib, 9 * mib, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(o *seed.Options) {
				o.Uploads.MaxChunks, o.Uploads.MaxChunk, o.Uploads.NestedLimits = test.chunks, test.chunk, test.want == 4
			})
			_, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a", bytes.NewReader(random(test.size)), int64(test.size), nil)
			if n := w.count(op.UploadsChunksSend); n != test.want || (err != nil) != (test.want == 0) {
				t.Errorf("%s: %d chunks, %v", name, n, err)
			}
			if test.want == 0 && w.count(op.UploadsStart) > 0 {
				t.Errorf("%s: an upload was started", name)
			}
		})
	}
}

func TestInvalidUploadsAreRejected(t *testing.T) {
	t.Parallel()
	s := uploads.New(stub.Fail(errors.New("the call was sent")))
	room := uploads.Target{Profile: api.Workspace("4012345678901234567")}
	link := uploads.Target{Profile: api.FileShare("6012345678901234567")}
	with := func(change func(r *uploads.StartRequest)) error {
		r := uploads.StartRequest{Target: room, Name: "a", Size: 1}
		change(&r)
		return stub.Err(s.Start(t.Context(), r))
	}
	type request = uploads.StartRequest
	stub.Refused(t, map[string][]error{
		"name": {
			with(func(r *request) { r.Name = " " }), with(func(r *request) { r.Name = strings.Repeat("é", 256) }),
		},
		"size": {
			with(func(r *request) { r.Size = -2 }),
			stub.Err(s.ReaderAt(t.Context(), room, "a", strings.NewReader(""), -1, nil)),
		},
		"max_size": {with(func(r *request) { r.MaxSize = 5 })},
		"relative_path": {
			with(func(r *request) { r.Target.Path = "a" }), with(func(r *request) { r.Target.Path = "/a/" }),
			with(func(r *request) { r.Target.Path = "../" }), with(func(r *request) { r.Target.Path = "a//b/" }),
		},
		"file_id":       {with(func(r *request) { r.Target = link })},
		"if_version_id": {with(func(r *request) { r.Target.IfVersion = "3abc" })},
		"instance_id": {
			with(func(r *request) { r.Target = uploads.Target{Folder: "2abc"} }),
			with(func(r *request) { r.Target.Profile = api.Org("1") }),
		},
		"chunk": {
			stub.Err(s.Put(t.Context(), request{Target: room, Name: "a"}, make([]byte, uploads.MaxSingle+1))),
			s.Chunks.Send(t.Context(), "u", uploads.Chunk{Order: 1}),
		},
		"order":      {s.Chunks.Send(t.Context(), "u", uploads.Chunk{}), s.Chunks.Delete(t.Context(), "u", 0)},
		"content":    {s.Stream(t.Context(), "u", nil, nil), stub.Err(s.ReaderAt(t.Context(), room, "a", nil, 1, nil))},
		"hash":       {s.Stream(t.Context(), "u", strings.NewReader(""), &uploads.Hash{Value: "a"})},
		"Session.ID": {stub.Err(s.Resume(t.Context(), uploads.Session{}, strings.NewReader(""), nil))},
		"files": {
			stub.Err(s.Batch(t.Context(), room, nil, "")),
		},
		"files[0].Content": {
			stub.Err(
				s.Batch(t.Context(), room, []uploads.BatchFile{{Name: "a", Content: make([]byte, uploads.MaxSingle+1)}}, ""),
			),
		},
	})
}

// Content of unknown size is stored, whether it fits one call or not. A stream is sent
// once.
func TestReaderIsStored(t *testing.T) {
	t.Parallel()
	lost := seed.Fault{Op: op.UploadsStream, Reset: seed.AfterHeader, Count: 1}
	cut := seed.Fault{Op: op.UploadsStream, Reset: seed.BeforeHeader, Count: 1}
	type row struct {
		size  int
		fault *seed.Fault
		err   error // of the reader
		fails bool
	}
	table.Bubbles(t, map[string]row{
		"nothing":                   {size: 0},
		"one call":                  {size: uploads.MaxSingle},
		"a stream":                  {size: uploads.MaxSingle + 1},
		"a stream without response": {size: 9 << 20, fault: &lost},
		"a stream that is cut":      {size: 9 << 20, fault: &cut, fails: true},
		"a reader that fails":       {size: 9 << 20, err: os.ErrClosed, fails: true},
	}, func(t *testing.T, test row) {
		w := newWorld(t)
		if test.fault != nil {
			w.Fail(*test.fault)
		}
		content := random(test.size)
		r := io.Reader(bytes.NewReader(content))
		if test.err != nil {
			r = io.MultiReader(r, iotest.ErrReader(test.err))
		}
		hash := &uploads.Hash{Algorithm: "crc32c", Value: fmt.Sprintf("%08x", crc.Sum(content))}
		node, err := w.client.Uploads.Reader(t.Context(), w.to, "a.bin", r, hash, nil)
		if (err != nil) != test.fails || test.err != nil && !errors.Is(err, test.err) {
			t.Fatalf("got %v", err)
		}
		if err == nil {
			w.holds(t, node, content)
		}
		if n := w.count(op.UploadsStream); n > 1 {
			t.Errorf("%d streams", n)
		}
		if left := w.sessions(t); left > 0 {
			t.Errorf("%d sessions are left", left)
		}
	})
}

// Content with another hash than the caller has given is not stored, however it is sent. A
// hash without a value is refused.
func TestReaderHasTheGivenHash(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]int{
		"nothing": 0, "one call": 1000, "a stream": uploads.MaxSingle + 1,
	}, func(t *testing.T, size int) {
		w := newWorld(t)
		send := func(hash uploads.Hash) error {
			_, err := w.client.Uploads.Reader(t.Context(), w.to, "a.bin", bytes.NewReader(random(size)), &hash, nil)
			return err
		}
		err := send(uploads.Hash{Algorithm: "sha256"})
		if _, ok := errors.AsType[*api.InputError](err); !ok || len(w.Requests()) > 0 {
			t.Errorf("without a value: %v", err)
		}
		if err := send(uploads.Hash{Algorithm: "sha256", Value: strings.Repeat("0", 64)}); err == nil {
			t.Error("content with another hash is stored")
		}
		if got := w.holding(t); len(got) > 0 {
			t.Errorf("the target has %d files", len(got))
		}
		if left := w.sessions(t); left > 0 {
			t.Errorf("%d sessions are left", left)
		}
	})
}

// The content of a stream cannot be read again: the integrity failure is the error.
func TestStreamDoesNotStartOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Fail(seed.Fault{Op: op.UploadsStream, Status: http.StatusBadGateway, Processed: true, Count: 1})
		wrong := &uploads.Hash{Algorithm: "crc32c", Value: "00000000"}
		content := bytes.NewReader(random(uploads.MaxSingle + 1))
		_, err := w.client.Uploads.Reader(t.Context(), w.to, "a.bin", content, wrong, nil)
		failed, ok := errors.AsType[*uploads.Error](err)
		if !ok || failed.Upload.Integrity.Computed == "" || errors.Is(err, api.ErrChanged) {
			t.Errorf("got %v", err)
		}
		if n := w.count(op.UploadsStart); n != 1 {
			t.Errorf("%d uploads", n)
		}
	})
}

// A file is replaced only if it has the expected version. The error has the current one.
func TestFileOfAnotherVersion(t *testing.T) {
	t.Parallel()
	type row struct {
		link   bool // to a File Share
		size   int
		reason uploads.Status // of the conflict
	}
	table.Bubbles(t, map[string]row{
		"a File Share":            {true, 1, uploads.StatusAssemblyFailed},
		"a workspace":             {false, 1, ""},
		"a workspace, in chunks":  {false, uploads.MaxSingle + 1, ""},
		"a File Share, in chunks": {true, uploads.MaxSingle + 1, uploads.StatusAssemblyFailed},
	}, func(t *testing.T, test row) {
		w := newWorld(t)
		file := w.AddNode(seed.Node{
			Profile: string(w.to.Profile.ID), Name: "mill.txt", Versions: []seed.Version{{Content: "a"}, {Content: "b"}},
		})
		target := replacing(w.to.Profile, file)
		if test.link {
			target.Profile = api.FileShare(api.ID(w.AddFileShare(seed.FileShare{Node: file.ID, Owner: w.User().ID}).ID))
		}
		content := random(test.size)
		_, err := w.client.Uploads.ReaderAt(t.Context(), target, "mill.txt", bytes.NewReader(content), int64(test.size), nil)
		conflict, ok := errors.AsType[*api.VersionConflictError](err)
		failed, _ := errors.AsType[*uploads.Error](err)
		current := api.OpaqueID(file.Versions[1].ID)
		if !ok || !conflict.Current.Equal(current) || failed != nil && failed.Upload.Status != test.reason {
			t.Errorf("got %v", err)
		}
		target.IfVersion = current
		n, err := w.client.Uploads.ReaderAt(t.Context(), target, "mill.txt", bytes.NewReader(content), int64(test.size), nil)
		if err != nil || !n.ID.Equal(api.OpaqueID(file.ID)) {
			t.Fatalf("got %+v, %v", n, err)
		}
		w.holds(t, n, content)
		if left, err := w.client.Uploads.List(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("%d uploads are left, %v", len(left), err)
		}
	})
}

// replacing is a target that replaces the first version of a file.
func replacing(in api.Profile, file seed.Node) uploads.Target {
	return uploads.Target{Profile: in, File: api.OpaqueID(file.ID), IfVersion: api.OpaqueID(file.Versions[0].ID)}
}

// An update whose result is unknown is not repeated. If it was carried out, the file has
// the content: then a lost response, and the conflict of a later call with that version,
// are no errors.
func TestSwapIsSentOnce(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]bool{"carried out": true, "not carried out": false}, func(t *testing.T, landed bool) {
		w := newWorld(t)
		content := random(uploads.MaxSingle + 1)
		file := w.AddNode(seed.Node{Profile: string(w.to.Profile.ID), Name: "mill.txt", Content: "a"})
		w.Fail(seed.Fault{Op: op.StorageUpdate, Status: http.StatusBadGateway, Processed: landed, Count: 1})
		target := replacing(w.to.Profile, file)
		send := func() (*storage.Node, error) {
			return w.client.Uploads.ReaderAt(t.Context(), target, "mill.txt", bytes.NewReader(content), int64(len(content)), nil)
		}
		_, err := send()
		unknown, ok := errors.AsType[*uploads.Error](err)
		if n := w.count(op.StorageUpdate); n != 1 || landed != (err == nil) ||
			!landed && (!ok || unknown.Err == nil || unknown.Upload.ID == "") {
			t.Errorf("got %v after %d calls", err, n)
		}
		n, err := send()
		if err != nil {
			t.Fatal(err)
		}
		w.holds(t, n, content)
		versions, err := w.client.Storage.Versions.List(t.Context(), w.to.Profile, target.File)
		if err != nil || len(versions) != 2 {
			t.Errorf("%d versions, %v", len(versions), err)
		}
	})
}

// A visitor without a credential adds a file to a share that accepts that, and to no other.
func TestVisitorUploads(t *testing.T) {
	t.Parallel()
	type row struct {
		share   seed.Share
		refused error
	}
	anyone := "Anyone with the link"
	table.Bubbles(t, map[string]row{
		"accepted":       {seed.Share{Type: "receive", Access: anyone, AnonymousUploads: true}, nil},
		"not accepted":   {seed.Share{Type: "receive", Access: anyone}, api.ErrUnauthenticated},
		"of a send type": {seed.Share{Type: "send", Access: anyone, AnonymousUploads: true}, api.ErrUnauthenticated},
		"archived": {
			seed.Share{Type: "receive", Access: anyone, AnonymousUploads: true, Archived: true}, api.ErrUnauthenticated,
		},
	}, func(t *testing.T, test row) {
		w := newWorld(t)
		test.share.Title, test.share.Workspace = "Plans", string(w.to.Profile.ID)
		share := api.Share(api.ID(w.AddShare(test.share).ID))
		visitor, err := fastio.New(
			fastio.WithBaseURL("http://fastio.localhost"), fastio.WithHTTPClient(w.network))
		if err != nil {
			t.Fatal(err)
		}
		r := uploads.StartRequest{Target: uploads.Target{Profile: share}, Name: "plan.txt"}
		_, err = visitor.Uploads.Put(t.Context(), r, []byte("A mill."))
		if !errors.Is(err, test.refused) {
			t.Errorf("got %v, want %v", err, test.refused)
		}
		time.Sleep(time.Minute)
		names := 0
		for n, err := range w.client.Storage.All(t.Context(), share, api.Root, nil) {
			if err != nil || n.Name != "plan.txt" {
				t.Errorf("got %+v, %v", n, err)
			}
			names++
		}
		if (names == 1) != (test.refused == nil) {
			t.Errorf("the share has %d files", names)
		}
	})
}

// An assembled upload can become several files.
func TestAssemble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		content := random(uploads.MaxSingle + 1)
		u, err := w.client.Uploads.Assemble(t.Context(), "a", bytes.NewReader(content), int64(len(content)), nil)
		if err != nil || u.Status != uploads.StatusComplete {
			t.Fatalf("got %+v, %v", u, err)
		}
		for _, name := range []string{"a", "b"} {
			n, err := w.client.Storage.AddFile(t.Context(), w.to.Profile, api.Root, name, storage.FromUpload(u.ID))
			if err != nil {
				t.Fatal(err)
			}
			w.holds(t, n, content)
		}
		if err := w.client.Uploads.Cancel(t.Context(), u.ID); err != nil {
			t.Error(err)
		}
	})
}

// An upload without a target that is interrupted cannot be continued: its session is removed.
func TestInterruptedAssemblyIsRemoved(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]seed.Fault{
		"by its context": {Op: op.UploadsChunksSend, Skip: 1, Delay: time.Hour},
		"by a refusal":   {Op: op.UploadsChunksSend, Skip: 1, Status: http.StatusForbidden},
		"at its end":     {Op: op.UploadsComplete, Status: http.StatusForbidden},
	}, func(t *testing.T, fault seed.Fault) {
		w := newWorld(t)
		w.Fail(fault)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		u, err := w.client.Uploads.Assemble(ctx, "a", bytes.NewReader(random(20<<20)), 20<<20, nil)
		if err == nil {
			t.Fatalf("got %+v", u)
		}
		if left := w.sessions(t); left > 0 {
			t.Errorf("%d sessions are left after %v", left, err)
		}
	})
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]api.OpaqueID{
		"CONFLICT_VERSION_MISMATCH:v9xq2": "v9xq2", " CONFLICT_VERSION_MISMATCH: v9xq2 \n": "v9xq2",
		"CONFLICT_VERSION_MISMATCH:": "", "CONFLICT_VERSION_MISMATCH: ": "", "CONFLICT": "", "": "",
		"no CONFLICT_VERSION_MISMATCH:v": "",
	} {
		u := uploads.Upload{Status: uploads.StatusAssemblyFailed, StatusMessage: message}
		if got := u.Conflict(); got != want {
			t.Errorf("%q is a conflict with %q, want %q", message, got, want)
		}
	}
	u := uploads.Upload{Status: uploads.StatusStoreFailed, StatusMessage: "CONFLICT_VERSION_MISMATCH:v9xq2"}
	if u.Conflict() != "" || !u.Status.Failed() {
		t.Error("a file that could not be stored is reported as a conflict")
	}
}

// The checksum of a chunk is computed unless the caller has it.
func TestChunkHasAChecksum(t *testing.T) {
	t.Parallel()
	content := []byte("123456789")
	for want, sum := range map[string]*uint32{"e3069283": nil, "0000002a": new(uint32(42))} {
		c := stub.Answer(`{"result":true}`)
		err := uploads.New(c).Chunks.Send(t.Context(), "u", uploads.Chunk{Order: 1, Content: content, CRC: sum})
		if got := c.Got[0].Query.Get("hash"); err != nil || got != want {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	}
}

// The timeout of an attempt depends on the bytes that it sends.
func TestTimeoutDependsOnSize(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]time.Duration{
		0: 0, 1: 2 * time.Minute, uploads.MaxSingle: 2*time.Minute + 256*time.Second,
	} {
		c := stub.Answer(`{"result":true}`)
		s, content := uploads.New(c), make([]byte, size)
		_, err := s.Put(t.Context(), uploads.StartRequest{Name: "q3.pdf"}, content)
		if size > 0 {
			err = errors.Join(err, s.Chunks.Send(t.Context(), "u", uploads.Chunk{Order: 1, Content: content}))
		}
		for _, r := range c.Got {
			if err != nil || r.Attempt != want {
				t.Errorf("%s of %d bytes: %s, %v", r.Op, size, r.Attempt, err)
			}
		}
	}
}

// The name of a local file is the last element of its path, unless the options have one.
// Errors name the operation and the path.
func TestFileByPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.txt")
	if err := os.WriteFile(path, []byte("A mill."), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for name, o := range map[string]*uploads.FileOptions{"plan.txt": nil, "mill.txt": {Name: "mill.txt"}} {
			n, err := w.client.Uploads.File(t.Context(), w.to, path, o)
			if err != nil || n.Name != name {
				t.Errorf("got %v, %v, want %s", n, err, name)
			}
		}
		missing := filepath.Join(path, "missing")
		_, err := w.client.Uploads.File(t.Context(), w.to, missing, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "fastio: uploads.File: ") || !strings.Contains(err.Error(), missing) {
			t.Errorf("a missing file: %v", err)
		}
		_, err = w.client.Uploads.File(t.Context(), w.to, filepath.Dir(path), nil)
		if bad, ok := errors.AsType[*api.InputError](err); !ok || bad.Field != "path" {
			t.Errorf("a folder: %v", err)
		}
	})
}

// A session that could not be saved ends the upload before a chunk is sent.
func TestSessionThatIsNotSavedEndsTheUpload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := &uploads.FileOptions{OnSession: func(context.Context, uploads.Session) error { return io.ErrShortWrite }}
		content := random(uploads.MaxSingle + 1)
		_, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", bytes.NewReader(content), int64(len(content)), o)
		if !errors.Is(err, io.ErrShortWrite) || w.count(op.UploadsChunksSend) > 0 {
			t.Errorf("%v after %d chunks", err, w.count(op.UploadsChunksSend))
		}
		if left, err := w.client.Uploads.List(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("%d uploads are left, %v", len(left), err)
		}
	})
}

// The error of an upload in chunks that can be continued has its session.
func TestErrorsHaveTheSession(t *testing.T) {
	t.Parallel()
	const chunks = 5
	type row struct {
		fault seed.Fault
		sent  int // chunks that are sent after the failure
	}
	table.Bubbles(t, map[string]row{
		"chunks that fail": {
			seed.Fault{Op: op.UploadsChunksSend, Skip: 2, Status: http.StatusServiceUnavailable}, chunks - 2,
		},
		"chunks that are refused": {
			seed.Fault{Op: op.UploadsChunksSend, Skip: 4, Status: http.StatusForbidden}, 1,
		},
		"a complete that fails": {
			seed.Fault{Op: op.UploadsComplete, Status: http.StatusServiceUnavailable}, 1,
		},
		"a timeout before it is stored": {seed.Fault{Op: op.UploadsGet, Delay: 2 * time.Hour}, 0},
	}, func(t *testing.T, test row) {
		w := newWorld(t)
		w.Fail(test.fault)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		content := random(chunks << 20)
		_, err := w.client.Uploads.ReaderAt(
			ctx, w.to, "a.bin", bytes.NewReader(content), chunks<<20, &uploads.FileOptions{ChunkSize: 1 << 20})
		failed, ok := errors.AsType[*uploads.Error](err)
		if !ok || failed.Upload.ID == "" || failed.Session.ID == "" {
			t.Fatalf("got %v", err)
		}
		synctest.Wait()
		w.Heal()
		w.Forget()
		n, err := w.client.Uploads.Resume(t.Context(), failed.Session, bytes.NewReader(content), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.holds(t, n, content)
		if n := w.count(op.UploadsChunksSend); n != test.sent {
			t.Errorf("%d chunks were sent again, want %d", n, test.sent)
		}
	})
}

// The node of an upload has the content, or no version: another upload of the same name may
// have replaced it.
func TestNodeIsThatOfTheUpload(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]int{"one call": 1000, "chunks": uploads.MaxSingle + 1}, func(t *testing.T, size int) {
		w := newWorld(t)
		var sending sync.WaitGroup
		for i := range 6 {
			sending.Go(func() {
				content := random(size)
				content[0] = byte(i)
				n, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", bytes.NewReader(content), int64(size), nil)
				if err != nil {
					t.Error(err)
					return
				}
				sum := sha256.Sum256(content)
				if n.ID == "" || n.Name != "a.bin" || n.Size != int64(size) || n.Hash != hex.EncodeToString(sum[:]) {
					t.Errorf("upload %d: got %+v", i, n)
				}
				var got bytes.Buffer
				o := &storage.DownloadOptions{Version: n.Version}
				_, err = w.client.Storage.DownloadTo(t.Context(), w.to.Profile, n.ID, &got, o)
				if n.Version != "" && (err != nil || !bytes.Equal(got.Bytes(), content)) {
					t.Errorf("upload %d: version %s has another content, %v", i, n.Version, err)
				}
			})
		}
		sending.Wait()
	})
}

// The node of content that the file had already has its version.
func TestNodeOfIdenticalContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var before *storage.Node
		for range 2 {
			n, err := w.client.Uploads.ReaderAt(t.Context(), w.to, "a.bin", strings.NewReader("A mill."), 7, nil)
			if err != nil || n.Version == "" || before != nil && n.Version != before.Version {
				t.Errorf("got %+v after %+v, %v", n, before, err)
			}
			before = n
		}
	})
}
