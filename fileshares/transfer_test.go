package fileshares_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// post is a File Share with an owner and a guest who may edit, both connected
// in memory over connections that can fail.
type post struct {
	*fastiotest.Server
	network      *http.Client
	owner, guest *fileshares.Service
	writer       *uploads.Service // of the guest
	guestToken   string
	link         seed.FileShare
	id           api.ID // of link
	node         api.OpaqueID
}

func send(t *testing.T, file seed.Node, change ...func(*seed.Options)) *post {
	t.Helper()
	p := &post{Server: fastiotest.New(change...)}
	room := p.AddWorkspace(seed.Workspace{Name: "Design"})
	file.Profile, file.Name = room.ID, "q3.txt"
	p.node = api.OpaqueID(p.AddNode(file).ID)
	bo := p.AddUser(seed.User{FirstName: "Bo"})
	p.link = p.AddFileShare(seed.FileShare{
		Node: string(p.node), Owner: p.User().ID, Password: secret, Grants: []seed.Grant{{User: bo.ID, Capability: "edit"}},
	})
	p.id, p.network = api.ID(p.link.ID), p.StartInMemory(t)
	p.guestToken = p.AddKey(seed.Key{User: bo.ID}).Token
	guest := p.client(t, p.network.Transport, p.guestToken)
	p.owner, p.guest, p.writer = p.client(t, p.network.Transport, p.Token()).FileShares, guest.FileShares, guest.Uploads
	return p
}

func (p *post) client(t *testing.T, network http.RoundTripper, token string) *fastio.Client {
	t.Helper()
	c, err := fastio.New(
		fastio.WithBaseURL("http://fastio.localhost"), fastio.WithHTTPClient(&http.Client{Transport: network}),
		fastio.WithToken(token),
	)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func unlocked() api.CallOption { return api.WithLinkPassword(api.NewSecret(secret)) }

// versions returns the versions of the file, the latest first.
func (p *post) versions(t *testing.T) []*storage.Version {
	t.Helper()
	p.Heal()
	all, err := p.owner.Versions.List(t.Context(), p.id, unlocked())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (p *post) current(t *testing.T) api.OpaqueID {
	t.Helper()
	return p.versions(t)[0].ID
}

func (p *post) content(t *testing.T) string {
	t.Helper()
	p.Heal()
	var b bytes.Buffer
	if _, err := p.owner.DownloadTo(t.Context(), p.id, &b, nil, unlocked()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (p *post) sent(op string) int {
	n := 0
	for _, r := range p.Requests() {
		if r.Op == op {
			n++
		}
	}
	return n
}

const text = "The engine weaves patterns just as the loom weaves flowers and leaves."

// A download is complete, wherever its connections break, stall or are reset.
func TestDownloadsResume(t *testing.T) {
	t.Parallel()
	var faults []seed.Fault
	for at := 1; at < len(text); at += 5 {
		faults = append(faults, seed.Fault{Cut: int64(at), Count: 2}, seed.Fault{Stall: int64(at), Count: 1})
	}
	faults = append(faults,
		seed.Fault{Reset: seed.BeforeHeader, Count: 1},
		seed.Fault{Reset: seed.AfterHeader, Count: 1},
		seed.Fault{Status: 503, Count: 2},
		seed.Fault{Status: 429, Header: http.Header{"Retry-After": {"2"}}, Count: 1},
		seed.Fault{Cut: 5, Count: 12}, seed.Fault{Drip: time.Second, Count: 1},
	)
	for _, fault := range faults {
		synctest.Test(t, func(t *testing.T) {
			p := send(t, seed.Node{Content: text})
			for _, op := range []seed.Op{"fileshares.Download", "fileshares.Versions.Read"} {
				fault.Op = op
				p.Heal()
				p.Fail(fault)
				var got string
				var err error
				if op == "fileshares.Download" {
					got, err = all(p.guest.Download(t.Context(), p.id, nil, unlocked()))
				} else {
					var b bytes.Buffer
					_, err = p.guest.DownloadTo(t.Context(), p.id, &b, nil, unlocked())
					got = b.String()
				}
				if got != text || err != nil {
					t.Errorf("%+v: %q, %v", fault, got, err)
				}
				if p.sent(string(op)) < 2 && fault.Drip == 0 {
					t.Errorf("%+v had no effect", fault)
				}
			}
		})
	}
}

func all(d *api.Download, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer func() { _ = d.Close() }()
	b, err := io.ReadAll(d)
	return string(b), err
}

// A download has one version even if another is stored meanwhile.
func TestDownloadsAreOfOneVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, seed.Node{Content: text})
		dir := t.TempDir()
		replaced := false
		progress := func(ctx context.Context, got api.Progress) {
			if got.Total != int64(len(text)) {
				t.Errorf("%d of %d", got.Done, got.Total)
			}
			if !replaced {
				replaced = true
				other := overwrite(strings.ToUpper(text))
				if _, err := p.owner.Replace(ctx, p.id, other, unlocked()); err != nil {
					t.Error(err)
				}
			}
		}
		p.Fail(seed.Fault{Op: "fileshares.Versions.Read", Cut: 10, Count: 1})
		o := &fileshares.DownloadOptions{OnProgress: progress}
		got, err := p.guest.DownloadFile(t.Context(), p.id, dir, o, unlocked())
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(got.Path)
		if string(b) != text || err != nil || got.Path != filepath.Join(dir, "q3.txt") || got.Name != "q3.txt" ||
			got.Bytes != int64(len(text)) {
			t.Errorf("%+v: %q, %v", got, b, err)
		}
		versions := p.versions(t)
		if len(versions) != 2 || !got.Version.Equal(versions[1].ID) {
			t.Errorf("got version %s of %d", got.Version, len(versions))
		}
		var conflict *api.VersionConflictError
		_, err = p.guest.ReplaceFile(
			t.Context(), p.id, got.Path, fileshares.ReplaceRequest{IfVersion: got.Version}, unlocked(),
		)
		if !errors.As(err, &conflict) || !conflict.Current.Equal(versions[0].ID) || !errors.Is(err, api.ErrConflict) {
			t.Errorf("replacing the new version: %v", err)
		}
		if n := p.sent("uploads.Start"); n != 1 { // that of the other version
			t.Errorf("a conflicting file was uploaded: %d uploads", n)
		}
		if _, err := p.guest.DownloadFile(t.Context(), p.id, dir, nil, unlocked()); !errors.Is(err, fs.ErrExist) {
			t.Errorf("saved again under the server's name: %v", err)
		}
		part := &fileshares.DownloadOptions{Range: api.Range{Offset: 4, Length: 6}}
		d, err := p.guest.Download(t.Context(), p.id, part, unlocked())
		if got, err := all(d, err); got != strings.ToUpper(text)[4:10] || err != nil {
			t.Errorf("a part: %q, %v", got, err)
		}
	})
}

// A download of the current version notices that the version has changed.
func TestChangedDownloadsFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, seed.Node{Content: text})
		p.Fail(seed.Fault{Op: "fileshares.Download", Cut: 10, Count: 1})
		d, err := p.guest.Download(t.Context(), p.id, nil, unlocked())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.owner.Replace(t.Context(), p.id, overwrite(strings.ToUpper(text)), unlocked()); err != nil {
			t.Fatal(err)
		}
		if got, err := all(d, nil); got != text[:10] || !errors.Is(err, api.ErrChanged) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func overwrite(content string) fileshares.ReplaceRequest {
	return fileshares.ReplaceRequest{Content: strings.NewReader(content), Size: int64(len(content)), Overwrite: true}
}

// spoilt returns the failures of a call by name.
func spoilt() map[string]seed.Fault {
	return map[string]seed.Fault{
		"reset before anything was done":      {Reset: seed.BeforeHeader},
		"reset after all was done":            {Reset: seed.BeforeHeader, Processed: true},
		"reset within the answer":             {Reset: seed.AfterHeader, Processed: true},
		"cut within the answer":               {Cut: 9},
		"stalled within the answer":           {Stall: 9},
		"silent":                              {Delay: 10 * time.Minute},
		"failed before anything was done":     {Status: 500},
		"failed after all was done":           {Status: 500, Processed: true},
		"unavailable after all was done":      {Status: 503, Processed: true},
		"timed out at a proxy, done or not":   {Status: 504, Processed: true},
		"sent back unread":                    {Status: 429, Header: http.Header{"Retry-After": {"1"}}},
		"answered by a proxy in another form": {Status: 502, Body: "<html>", ContentType: "text/html"},
	}
}

// Rule 11: however a call of Replace fails, its result is correct, and the file
// is written completely and at most once. A file sent in one request is retried
// only if the server did not read it.
func TestReplaceWritesOnce(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", uploads.MaxSingle/16+1)
	for name, fault := range spoilt() {
		for op, content := range map[string]string{
			"uploads.Start": text, "uploads.Get": text, "fileshares.Get": text,
			"uploads.Start of many": large, "uploads.Chunks.Send of many": large,
			"uploads.Complete of many": large,
		} {
			t.Run(op+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					writeBack(t, strings.TrimSuffix(op, " of many"), content, fault)
				})
			})
		}
	}
}

func writeBack(t *testing.T, op, content string, fault seed.Fault) {
	t.Helper()
	p := send(t, seed.Node{Content: "before"})
	was := p.current(t)
	fault.Op, fault.Count = seed.Op(op), 1
	p.Fail(fault)
	node, err := p.guest.Replace(t.Context(), p.id, fileshares.ReplaceRequest{
		Content: strings.NewReader(content), Size: int64(len(content)), IfVersion: was,
		Options: uploads.FileOptions{ChunkSize: 1 << 20},
	}, unlocked(), api.WithTimeout(5*time.Minute))
	time.Sleep(time.Minute) // until calls in progress end
	most := 1
	if len(content) > uploads.MaxSingle {
		most = 2 // a second session is harmless
	}
	if n := p.sent("uploads.Start"); n > most && fault.Status != http.StatusTooManyRequests {
		t.Errorf("%d uploads were created", n)
	}
	versions := p.versions(t)
	lost, unsure := errors.AsType[*uploads.Error](err)
	switch {
	case err == nil && len(versions) == 2:
		if node.Version != "" && !node.Version.Equal(versions[0].ID) {
			t.Errorf("the version is %s, not %s", node.Version, versions[0].ID)
		}
	case unsure && lost.Err != nil && len(versions) <= 2:
	case err != nil && !unsure && len(versions) == 1:
	default:
		t.Fatalf("%v, and the file has %d versions", err, len(versions))
	}
	if len(versions) == 2 && p.content(t) != content {
		t.Error("the stored content is not the content sent")
	}
	// Repeating the call writes nothing twice.
	_, again := p.guest.Replace(t.Context(), p.id, fileshares.ReplaceRequest{
		Content: strings.NewReader(text), Size: int64(len(text)), IfVersion: was,
	}, unlocked())
	if landed := len(versions) == 2; landed != errors.Is(again, api.ErrConflict) {
		t.Errorf("repeated: %v", again)
	}
	if n := len(p.versions(t)); n != 2 {
		t.Errorf("repeated, the file has %d versions", n)
	}
	// After the server has processed a call, only the call that completes the
	// upload may fail.
	done := fault.Processed || fault.Cut > 0 || fault.Stall > 0
	switch {
	case err == nil, op == "uploads.Start", op == "uploads.Complete" && !done,
		op == "fileshares.Get" && fault.Delay > 0:
	default:
		t.Errorf("got %v, want a retry that succeeds", err)
	}
}

// Retry-After is honored before the state of an upload is polled.
func TestReplaceWaitsBeforePolling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, seed.Node{Content: "before"})
		content := strings.Repeat("x", uploads.MaxSingle+1)
		p.Fail(seed.Fault{Op: "uploads.Complete", Status: 500, Processed: true, Count: 1})
		p.Fail(seed.Fault{
			Op: "uploads.Get", Status: 429, Header: http.Header{"Retry-After": {"300"}}, Count: 1,
		})
		if _, err := p.guest.Replace(t.Context(), p.id, overwrite(content), unlocked()); err != nil ||
			p.content(t) != content {
			t.Error(err)
		}
	})
}

// A version stored before the upload is assembled is not overwritten. The
// response to a single request may already report the conflict.
func TestReplaceReportsConflicts(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", uploads.MaxSingle+1)
	type row struct {
		content  string
		answered bool // in the response to the upload
	}
	table.Bubbles(t, map[string]row{
		"at once": {content: text}, "in pieces": {content: large}, "in the answer to the upload": {text, true},
	}, func(t *testing.T, tc row) {
		p := send(t, seed.Node{Content: "before"},
			func(o *seed.Options) { o.Uploads.AssembleAtOnce = tc.answered })
		was := p.current(t)
		overtaken := false
		guest := p.client(t, stub.Network(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && !overtaken {
				overtaken = true
				if _, err := p.owner.Replace(r.Context(), p.id, overwrite("between"), unlocked()); err != nil {
					t.Error(err)
				}
				p.Forget()
			}
			return p.network.Transport.RoundTrip(r)
		}), p.guestToken).FileShares
		_, err := guest.Replace(t.Context(), p.id, fileshares.ReplaceRequest{
			Content: strings.NewReader(tc.content), Size: int64(len(tc.content)), IfVersion: was,
		}, unlocked())
		polls := p.sent("uploads.Get")
		conflict, ok := errors.AsType[*api.VersionConflictError](err)
		if !ok || !conflict.Current.Equal(p.current(t)) || p.content(t) != "between" || tc.answered != (polls == 0) {
			t.Errorf("%v after %d polls, and the file is %q", err, polls, p.content(t))
		}
	})
}

func TestRejectedUploadReportsConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, seed.Node{Content: "before"})
		p.Fail(seed.Fault{Op: "uploads.Start", Status: 409, Params: map[string]any{"current": "v9xq2"}})
		_, err := p.guest.Replace(t.Context(), p.id, overwrite(text), unlocked())
		conflict, ok := errors.AsType[*api.VersionConflictError](err)
		refusal, answered := errors.AsType[*api.Error](err)
		if !ok || conflict.Current != "v9xq2" || !answered || refusal.Status != http.StatusConflict {
			t.Errorf("%v", err)
		}
	})
}

func TestReplaceReportsFailedUploads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, seed.Node{Content: "before"}, func(o *seed.Options) { o.Uploads.FailStoring = "q3" })
		_, err := p.guest.Replace(t.Context(), p.id, overwrite(text), unlocked())
		e, ok := errors.AsType[*uploads.Error](err)
		if !ok || e.Err != nil || !e.Upload.Status.Failed() || e.Upload.ID == "" || p.content(t) != "before" {
			t.Errorf("%v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the wait is cancelled
		p := send(t, seed.Node{Content: "before"}, func(o *seed.Options) { o.Uploads.Pace = time.Hour })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := p.guest.Replace(ctx, p.id, overwrite(text), unlocked())
		e, ok := errors.AsType[*uploads.Error](err)
		if !ok || !errors.Is(err, context.DeadlineExceeded) || e.Upload.ID == "" {
			t.Fatalf("%v", err)
		}
		time.Sleep(3 * time.Hour)
		u, err := p.writer.Get(t.Context(), e.Upload.ID, unlocked())
		if err != nil || u.Status != uploads.StatusStored {
			t.Errorf("polled later: %+v, %v", u, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the content is shorter than Size
		p := send(t, seed.Node{Content: "before"})
		for _, size := range []int64{10, uploads.MaxSingle + 10} {
			r := overwrite("short")
			r.Size = size
			if _, err := p.guest.Replace(t.Context(), p.id, r, unlocked()); !errors.Is(err, api.ErrChanged) ||
				len(p.versions(t)) != 1 {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
	})
}

// Progress is reported after every chunk.
func TestReplaceReportsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, seed.Node{Content: "before"})
		for content, want := range map[string][]string{
			"":                         {"0/0"},
			text:                       {"70/70"},
			strings.Repeat("x", 5<<20): {"2097152/5242880", "4194304/5242880", "5242880/5242880"},
		} {
			var got []string
			r := overwrite(content)
			r.Options.ChunkSize = 2 << 20
			r.Options.OnProgress = func(_ context.Context, p api.Progress) {
				got = append(got, fmt.Sprintf("%d/%d", p.Done, p.Total))
			}
			node, err := p.guest.Replace(t.Context(), p.id, r, unlocked())
			if diff := cmp.Diff(want, got); diff != "" || err != nil || node.Size != int64(len(content)) ||
				node.Name != "q3.txt" {
				t.Errorf("%v, %+v (-want +got)\n%s", err, node, diff)
			}
		}
	})
}

// A preview is fetched from the address of a redirect, absolute or relative; a
// missing preview has its own code.
func TestPreviews(t *testing.T) {
	t.Parallel()
	for _, absolute := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := send(t, seed.Node{MimeType: "video/mp4", Content: text}, func(o *seed.Options) {
				o.FileShares.AbsoluteRedirects = absolute
			})
			got, err := all(p.guest.Preview(t.Context(), p.id, storage.PreviewTypeHLS, unlocked()))
			if err != nil || !strings.HasPrefix(got, "#EXTM3U") {
				t.Errorf("absolute %t: %q, %v", absolute, got, err)
			}
			got, err = all(p.guest.Preview(t.Context(), p.id, storage.PreviewTypeMP4, unlocked()))
			if got != text || err != nil {
				t.Errorf("without a redirect: %q, %v", got, err)
			}
			_, err = p.guest.Preview(t.Context(), p.id, storage.PreviewTypeSpreadsheet, unlocked())
			if !errors.Is(err, api.ErrNotFound) {
				t.Errorf("missing preview: %v", err)
			}
		})
	}
}

type heap struct{ before, most uint64 }

func newHeap() *heap {
	runtime.GC()
	h := &heap{}
	h.look()
	h.before = h.most
	return h
}

func (h *heap) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.most = max(h.most, m.HeapAlloc)
}

// check requires that little memory was used and that the whole file has arrived.
func (h *heap) check(t *testing.T, arrived hash.Hash, file seed.Version) {
	t.Helper()
	grown := h.most - h.before
	t.Logf("%d MiB in use at most", grown>>20)
	if grown > held {
		t.Errorf("%d bytes were in use", grown)
	}
	want := sha256.New()
	if _, err := io.Copy(want, file.Open()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(arrived.Sum(nil), want.Sum(nil)) {
		t.Error("the wrong content has arrived")
	}
}

const (
	held  = 64 << 20 // allowed memory use in bytes, including garbage
	looks = 64       // measurements of memory
)

// largeFile returns the size of a large file.
func largeFile() int64 { return table.Rounds[int64](128<<20, 10<<30) }

// Downloads of any size need the memory of a small one, also over connections
// that break.
func TestDownloadMemoryIsConstant(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	table.Large(t)
	p := send(t, seed.Node{Size: largeFile()})
	p.Fail(seed.Fault{Op: "fileshares.Versions.Read", Cut: largeFile() / 3, Count: 2})
	sum := sha256.New()
	h := newHeap()
	next := int64(0)
	got, err := p.guest.DownloadTo(t.Context(), p.id, sum, &fileshares.DownloadOptions{
		OnProgress: func(_ context.Context, p api.Progress) {
			if p.Done >= next {
				h.look()
				next += p.Total / looks
			}
		},
	}, unlocked())
	if err != nil || got.Bytes != largeFile() || p.sent("fileshares.Versions.Read") != 3 {
		t.Fatalf("%+v, %v after %d requests", got, err, p.sent("fileshares.Versions.Read"))
	}
	h.check(t, sum, seed.Version{ID: got.Version.Plain(), Size: largeFile()})
}

func clientOf(t *testing.T, network http.RoundTripper) *fastio.Client {
	t.Helper()
	c, err := fastio.New(fastio.WithHTTPClient(&http.Client{Transport: network}), fastio.WithToken("token"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answered(body string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}

// slowContent is content whose ReadAt takes an hour.
type slowContent struct{ io.ReaderAt }

func (c slowContent) ReadAt(p []byte, at int64) (int, error) {
	time.Sleep(time.Hour)
	return c.ReaderAt.ReadAt(p, at)
}

func TestReplaceEndsWhileItsContentBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := send(t, seed.Node{Content: "before"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := p.guest.Replace(ctx, p.id, fileshares.ReplaceRequest{
			Content: slowContent{strings.NewReader("after")}, Size: 5, Overwrite: true,
		}, unlocked())
		if took := time.Since(start); took != time.Minute || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("returned after %s: %v", took, err)
		}
		time.Sleep(time.Hour)
		if got := p.content(t); got != "before" {
			t.Errorf("the file has %q", got)
		}
	})
}
