package rclone_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/fserrors"
	"github.com/rclone/rclone/fs/hash"
	"github.com/rclone/rclone/fs/object"
	"golang.org/x/sync/errgroup"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/api/codes"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	fastio "github.com/fastio-go/fastio/rclone"
)

func TestPathsNameWorkspacesAndShares(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	share := p.AddShare(seed.Share{Title: "Portal", CustomName: "portal", Workspace: p.room.ID, Creator: p.User().ID})
	p.AddNode(seed.Node{Profile: share.ID, Name: "shared.txt", Content: "x"})
	p.add("", "a.txt", "x")
	org := p.Org()
	wantNames(t, p.remote(t, ""), "", "design/", "shares/")
	wantNames(t, p.remote(t, "shares"), "", "portal/")
	for _, root := range []string{
		"design", p.room.ID, org.Domain + "/design", org.ID + "/" + p.room.ID,
	} {
		wantNames(t, p.remote(t, root), "", "a.txt")
	}
	for _, root := range []string{"shares/portal", "shares/" + share.ID} {
		wantNames(t, p.remote(t, root), "", "shared.txt")
	}
	other := p.AddOrg(seed.Org{Name: "Other", Domain: "other", Owner: p.User().ID})
	p.AddWorkspace(seed.Workspace{Org: other.ID, Name: "Else", FolderName: "else"})
	wantNames(t, p.remote(t, ""), "", org.Domain+"/", "other/", "shares/")
	wantNames(t, p.remote(t, org.Domain), "", "design/")
	wantNames(t, p.remote(t, "", "org=other"), "", "else/", "shares/")
	wantNames(t, p.remote(t, "else", "org="+other.ID), "")
}

// With a second organization, a path that begins with a workspace is an error that says what
// to write, also for calls that would create the folder.
func TestWorkspacesOfSeveralOrganizationsNeedTheirOrganization(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	wantNames(t, p.remote(t, "design"), "")
	other := p.AddOrg(seed.Org{Name: "Other", Domain: "other", Owner: p.User().ID})
	p.AddWorkspace(seed.Workspace{Org: other.ID, Name: "Else", FolderName: "else"})
	_, atRoot := p.newFs(t, "design/plans")
	top := p.remote(t, "")
	_, put := put(t.Context(), top, "else/file", "x")
	for name, tc := range map[string]struct {
		err  error
		path string
	}{
		"NewFs": {atRoot, p.Org().Domain + "/design"},
		"Mkdir": {top.Mkdir(t.Context(), "else/new"), "other/else"},
		"Put":   {put, "other/else"},
	} {
		want := "name the workspace " + tc.path + ", or set the option org to "
		if tc.err == nil || !strings.Contains(tc.err.Error(), want) || !fserrors.IsNoRetryError(tc.err) {
			t.Errorf("%s: %v, want %q, not retried", name, tc.err, want)
		}
	}
	if _, err := p.newFs(t, "missing"); err != nil {
		t.Errorf("a path that names nothing: %v, want none, as before", err)
	}
}

func TestAmbiguousNamesListTheIDs(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	var ids []string
	for range 2 {
		ids = append(ids, p.AddShare(seed.Share{Title: "Portal", Workspace: p.room.ID, Creator: p.User().ID}).ID)
	}
	p.Disagree(seed.Disagreement{Op: op.SharesList, Edits: []string{"rm /shares/*/custom_name"}})
	_, err := p.newFs(t, "shares/Portal")
	if err == nil || !strings.Contains(err.Error(), ids[0]) || !strings.Contains(err.Error(), ids[1]) {
		t.Errorf("got %v, want an error with %v", err, ids)
	}
	wantNames(t, p.remote(t, "shares/"+ids[0]), "")
}

func TestLevelsAboveWorkspacesAreReadOnly(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	top := p.remote(t, "")
	_, put := put(t.Context(), top, "file", "x")
	for name, err := range map[string]error{
		"Put": put, "Mkdir": top.Mkdir(t.Context(), "new"), "Mkdir in shares": top.Mkdir(t.Context(), "shares/new"),
		"Rmdir": top.Rmdir(t.Context(), "design"), "Rmdir of the shares": top.Rmdir(t.Context(), "shares"),
		"Purge": top.Purge(t.Context(), "shares"), "DirMove": top.DirMove(t.Context(), top, "design", "moved"),
		"CleanUp": top.CleanUp(t.Context()),
	} {
		if !errors.Is(err, fs.ErrorPermissionDenied) || !fserrors.IsNoRetryError(err) {
			t.Errorf("%s: %v, want %v, not retried", name, err, fs.ErrorPermissionDenied)
		}
	}
	_, err := top.About(t.Context())
	if err == nil || !strings.Contains(err.Error(), "must name a workspace or share") {
		t.Errorf("About: %v", err)
	}
	if err := top.Purge(t.Context(), "design"); !errors.Is(err, fs.ErrorCantPurge) {
		t.Errorf("Purge of a workspace: %v, want %v", err, fs.ErrorCantPurge)
	}
	if err := top.Mkdir(t.Context(), "design/new"); err != nil {
		t.Errorf("Mkdir in a workspace: %v", err)
	}
}

// A change of another user between the listing and the update is not overwritten.
func TestUpdateRefusesAChangedFile(t *testing.T) {
	t.Parallel()
	const unknown, few, many = -1, 10, 5 << 20
	for name, test := range map[string]struct{ announced, size int }{
		"in one call": {few, few}, "in chunks": {many, many}, "of unknown size": {unknown, few}, "as a stream": {unknown, many},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(t)
			p.add("", "a.txt", "first")
			f := p.remote(t, "design")
			listed := get(t, f, "a.txt")
			text := strings.Repeat("x", test.size)
			src := object.NewStaticObjectInfo("a.txt", time.Now(), int64(test.announced), true, nil, nil)
			if err := get(t, f, "a.txt").Update(t.Context(), strings.NewReader(text), src); err != nil {
				t.Fatal(err)
			}
			p.Forget()
			other := strings.NewReader(strings.Repeat("y", test.size))
			err := listed.Update(t.Context(), other, src)
			if !fserrors.IsNoRetryError(err) {
				t.Errorf("got %v, want an error that is not retried", err)
			}
			for _, r := range p.Requests() {
				if r.Op == string(op.UploadsChunksSend) {
					t.Error("content was sent that cannot be stored")
				}
			}
			p.wantTree(t, map[string]string{"a.txt": text})
		})
	}
}

// An upload whose chunks have arrived is stored if responses are lost, and leaves no session.
func TestUploadIsCompletedAfterLostResponses(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 5<<20)
	src := object.NewStaticObjectInfo("a.txt", time.Now(), int64(len(text)), true, nil, nil)
	sends := map[string]func(t *testing.T, f fs.Fs) error{
		"Put": func(t *testing.T, f fs.Fs) error {
			t.Helper()
			_, err := f.Put(t.Context(), strings.NewReader(text), src)
			return err
		},
		"Update": func(t *testing.T, f fs.Fs) error {
			t.Helper()
			return get(t, f, "a.txt").Update(t.Context(), strings.NewReader(text), src)
		},
	}
	for name, send := range sends {
		for call, failures := range map[seed.Op]int{op.UploadsComplete: 1, op.UploadsGet: 4} { // more than the client retries
			for _, processed := range []bool{true, false} {
				t.Run(fmt.Sprint(name, call, processed), func(t *testing.T) {
					t.Parallel()
					p := newPlatform(t)
					if name == "Update" {
						p.add("", "a.txt", "first")
					}
					f := p.remote(t, "design")
					p.Fail(seed.Fault{Op: call, Count: failures, Status: http.StatusServiceUnavailable, Processed: processed})
					if err := send(t, f); err != nil {
						t.Fatal(err)
					}
					p.wantTree(t, map[string]string{"a.txt": text})
					left, err := p.Client(t).Uploads.List(t.Context())
					if err != nil || len(left) > 0 {
						t.Errorf("%d sessions are left, %v", len(left), err)
					}
				})
			}
		}
	}
}

// A new version whose response is lost is stored: neither that call fails, nor a later one
// that finds the file changed by it.
func TestUpdateIsStoredAfterLostResponses(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 5<<20)
	src := object.NewMemoryObject("a.txt", time.Now(), []byte(text))
	for call, unreadable := range map[seed.Op]bool{op.StorageUpdate: false, op.StorageGet: true} {
		t.Run(string(call), func(t *testing.T) {
			t.Parallel()
			skip := 0
			if unreadable {
				skip = 1 // the version is read before
			}
			p := newPlatform(t)
			p.add("", "a.txt", "first")
			listed := get(t, p.remote(t, "design"), "a.txt")
			p.Fail(seed.Fault{Op: call, Skip: skip, Count: 4, Status: http.StatusServiceUnavailable, Processed: true})
			if err := listed.Update(t.Context(), strings.NewReader(text), src); (err != nil) != unreadable {
				t.Errorf("the response of %s is lost: %v", call, err)
			}
			if unreadable {
				if err := listed.Update(t.Context(), strings.NewReader(text), src); err != nil {
					t.Errorf("the update again: %v", err)
				}
			}
			p.wantTree(t, map[string]string{"a.txt": text})
		})
	}
}

// One odd response shows no folder as empty, which a sync would then empty as well. A page
// without nodes before another one does not make a folder empty either.
func TestOddListsAreNotEmptyFolders(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	folder := p.folder("plans")
	p.add(folder.ID, "a.txt", "kept")
	f := p.remote(t, "design/plans")
	list := seed.Fault{Op: op.StorageList, Count: 1, ContentType: "application/json", Body: `{"result":true}`}
	p.Fail(list)
	if entries, err := f.List(t.Context(), ""); err == nil {
		t.Errorf("the folder has %v", entries)
	}
	list.Body = `{"result":true,"nodes":{"count":0,"items":[]},"pagination":{"has_more":true,"next_cursor":"n"}}`
	p.Fail(list)
	if err := f.Rmdir(t.Context(), ""); err == nil {
		t.Error("a folder with a file was removed")
	}
	p.Heal()
	p.wantTree(t, map[string]string{"plans/a.txt": "kept"})
}

// A web page with the status 404, such as one of a proxy, shows no folder as empty either, nor
// as one that does not exist.
func TestWebPagesAreNotEmptyFolders(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add(p.folder("plans").ID, "a.txt", "kept")
	f := p.remote(t, "design")
	fail := func(skip int) {
		p.Fail(seed.Fault{
			Op: op.StorageList, Skip: skip, Count: 1, Status: http.StatusNotFound, ContentType: "text/html", Body: "<html></html>",
		})
	}
	fail(1) // the list of the folder plans
	err := f.ListR(t.Context(), "", func(fs.DirEntries) error { return nil })
	if err == nil || errors.Is(err, fs.ErrorDirNotFound) {
		t.Errorf("ListR: %v", err)
	}
	fail(0)
	if _, err = f.List(t.Context(), "plans"); errors.Is(err, fs.ErrorDirNotFound) {
		t.Errorf("List: %v", err)
	}
	fail(0)
	if _, err = f.NewObject(t.Context(), "plans/a.txt"); err == nil || errors.Is(err, fs.ErrorObjectNotFound) {
		t.Errorf("NewObject: %v", err)
	}
}

// The end of an interrupted upload does not wait for a rate limit.
func TestAbortEndsAtARateLimit(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	src := object.NewStaticObjectInfo("a", time.Now(), 5<<20, true, nil, nil)
	_, w, err := p.remote(t, "design").OpenChunkWriter(t.Context(), "a", src)
	if err != nil {
		t.Fatal(err)
	}
	p.Fail(seed.Fault{
		Op: op.UploadsCancel, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3600"}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Abort(ctx); !errors.Is(err, api.ErrRateLimited) {
		t.Errorf("got %v", err)
	}
}

// Content of another length than was announced is not stored, in one call or in chunks.
func TestPutRefusesOtherLengths(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	f := p.remote(t, "design", "chunk_size=1M")
	for _, size := range []int{10, 5 << 20} {
		for _, announced := range []int{size - 1, size + 1} {
			src := object.NewStaticObjectInfo("a", time.Now(), int64(announced), true, nil, nil)
			if _, err := f.Put(t.Context(), strings.NewReader(strings.Repeat("x", size)), src); err == nil {
				t.Errorf("%d bytes in place of %d were stored", size, announced)
			}
		}
	}
	wantNames(t, f, "")
	uploads, err := p.Client(t).Uploads.List(t.Context())
	if err != nil || len(uploads) > 0 {
		t.Errorf("%d uploads are left, %v", len(uploads), err)
	}
}

// Chunks that are sent while they are read arrive whole after attempts that the server ended
// early, and have no checksum.
func TestUncheckedChunksAreReadAgain(t *testing.T) {
	t.Parallel()
	const chunk = 2 << 20
	p := newPlatform(t)
	refuse := atomic.Int64{}
	refuse.Store(2) // a chunk is sent three times
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chunk/") && refuse.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable) // the content may still be read
			return
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	all := make([]byte, 3*chunk-1)
	_, _ = rand.NewChaCha8([32]byte{}).Read(all)

	ctx, config := fs.AddConfig(t.Context())
	config.IgnoreChecksum = true
	src := object.NewStaticObjectInfo("a", time.Now(), int64(len(all)), true, nil, nil)
	info, w, err := p.remote(t, "design", "chunk_size=2M").OpenChunkWriter(ctx, "a", src)
	if err != nil || info.ChunkSize != chunk {
		t.Fatalf("chunks of %d bytes, %v", info.ChunkSize, err)
	}
	var sending errgroup.Group
	for number, part := range slices.Collect(slices.Chunk(all, chunk)) {
		sending.Go(func() error {
			_, err := w.WriteChunk(ctx, number, slowFile{bytes.NewReader(part)})
			return err
		})
	}
	if err := sending.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
	p.wantTree(t, map[string]string{"a": string(all)})
	for _, r := range p.Requests() {
		if r.Op == string(op.UploadsChunksSend) && strings.Contains(r.Query, "hash") {
			t.Errorf("the query is %s", r.Query)
		}
	}
}

// The largest chunk need not have whole MiB: a file that fits into such chunks is uploaded.
func TestRequiredChunksFitTheLimit(t *testing.T) {
	t.Parallel()
	const mebi, largest = 1 << 20, 5 << 19 // bytes
	f := newPlatform(t, func(o *seed.Options) {
		o.Uploads.MaxChunk, o.Uploads.MaxChunks = largest, 4
	}).remote(t, "design", "chunk_size=1M")
	for size, want := range map[int64]int64{
		4 * mebi:      mebi,
		4*mebi + 1:    2 * mebi,
		8 * mebi:      2 * mebi,
		8*mebi + 1:    largest,
		4 * largest:   largest,
		4*largest + 1: 0, // refused
	} {
		src := object.NewStaticObjectInfo("a", time.Now(), size, true, nil, nil)
		info, w, err := f.OpenChunkWriter(t.Context(), "a", src)
		if want == 0 && errors.Is(err, api.ErrLimit) {
			continue
		}
		if err != nil || info.ChunkSize != want {
			t.Errorf("%d bytes: chunks of %d bytes, %v, want %d", size, info.ChunkSize, err, want)
			continue
		}
		if err := w.Abort(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A Read of an attempt that has ended takes nothing from the next one.
func TestEndedAttemptsDoNotRead(t *testing.T) {
	t.Parallel()
	body := fastio.NewRereadBody(strings.NewReader("content"), 7)
	first, _, err := body.Open()
	if err != nil {
		t.Fatal(err)
	}
	second, size, err := body.Open()
	if err != nil || size != 7 {
		t.Fatal(size, err)
	}
	if n, err := first.Read(make([]byte, 4)); n > 0 || err == nil {
		t.Errorf("the first attempt read %d bytes, %v", n, err)
	}
	if text, err := io.ReadAll(second); string(text) != "content" {
		t.Errorf("the second attempt read %q, %v", text, err)
	}
}

// slowFile is a file whose Read takes a while.
type slowFile struct{ *bytes.Reader }

func (f slowFile) Read(p []byte) (int, error) {
	time.Sleep(rand.N(time.Millisecond))
	return f.Reader.Read(p)
}

// Many files in chunks ask once for the limits of the plan.
func TestLimitsAreReadOnce(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	f := p.remote(t, "design", "chunk_size=1M")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if _, err := put(t.Context(), f, strconv.Itoa(i), strings.Repeat("x", 5<<20)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	reads := 0
	for _, r := range p.Requests() {
		if r.Op == string(op.UploadsLimits) {
			reads++
		}
	}
	if reads != 1 {
		t.Errorf("%d calls for the limits, want 1", reads)
	}
}

func TestPutKeepsFoldersOfTheName(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.folder("a")
	f := p.remote(t, "design")
	if _, err := put(t.Context(), f, "a", "x"); err == nil {
		t.Error("no error")
	}
	wantNames(t, f, "", "a/")
}

// The platform would shorten the name, and make the file a version of the one that has it.
func TestPutRefusesNamesThatWouldBeShortened(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	n100 := strings.Repeat("n", 100)
	p.add("", n100, "theirs")
	f := p.remote(t, "design")
	_, inOneCall := put(t.Context(), f, n100+"2", "ours")
	src := object.NewStaticObjectInfo(n100+"2", time.Now(), 5<<20, true, nil, nil)
	_, _, inChunks := f.OpenChunkWriter(t.Context(), n100+"2", src)
	for _, err := range []error{inOneCall, inChunks} {
		if !fserrors.IsNoRetryError(err) || !errors.Is(err, api.ErrName) {
			t.Errorf("got %v, want %v, not retried", err, api.ErrName)
		}
	}
	p.wantTree(t, map[string]string{n100: "theirs"})
	if _, err := put(t.Context(), f, n100, "ours"); err != nil {
		t.Error(err)
	}
}

// The platform gives a folder another name if a file has it.
func TestMkdirKeepsFilesOfTheName(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		p := newPlatform(t, func(o *seed.Options) { o.Storage.BareWrites = bare })
		p.add("", "name", "theirs")
		f := p.remote(t, "design")
		if err := f.Mkdir(t.Context(), "name"); !errors.Is(err, api.ErrNameTaken) {
			t.Errorf("a folder in place of a file: %v, want %v", err, api.ErrNameTaken)
		}
		if _, err := put(t.Context(), f, "name/inside", "ours"); !errors.Is(err, api.ErrNameTaken) {
			t.Errorf("a file below a file: %v, want %v", err, api.ErrNameTaken)
		}
		if !bare {
			wantNames(t, f, "", "name")
		}
		p.wantTree(t, map[string]string{"name": "theirs"})
	}
}

func TestOpenSkipsWithoutRanges(t *testing.T) {
	t.Parallel()
	for _, ignored := range []bool{false, true} {
		p := newPlatform(t, func(o *seed.Options) { o.Storage.NoRanges = ignored })
		p.add("", "a.txt", "0123456789")
		o := get(t, p.remote(t, "design"), "a.txt")
		for want, option := range map[string]fs.OpenOption{
			"345": &fs.RangeOption{Start: 3, End: 5}, "789": &fs.RangeOption{Start: -1, End: 3},
			"89": &fs.SeekOption{Offset: 8}, "9": &fs.RangeOption{Start: 9, End: 20}, "": &fs.SeekOption{Offset: 10},
		} {
			if got := content(t, o, option); got != want {
				t.Errorf("%v: got %q, want %q", option, got, want)
			}
		}
	}
}

func TestHashIsEmptyForOtherAlgorithms(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "a.txt", "x")
	p.Disagree(seed.Disagreement{Op: op.StorageList, Edits: []string{`set /nodes/items/*/hash_algo "md5"`}})
	o := get(t, p.remote(t, "design"), "a.txt")
	sum, err := o.Hash(t.Context(), hash.SHA256)
	if sum != "" || err != nil {
		t.Errorf("got %q, %v, want none", sum, err)
	}
}

func TestNotesAreReplacedByText(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.AddNode(seed.Node{Profile: p.room.ID, Kind: "note", Name: "a.md", Content: "old"})
	f := p.remote(t, "design")
	update := func(text string) error {
		src := object.NewStaticObjectInfo("a.md", time.Now(), int64(len(text)), true, nil, nil)
		return get(t, f, "a.md").Update(t.Context(), strings.NewReader(text), src)
	}
	if err := update("new"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, get(t, f, "a.md")); got != "new" {
		t.Errorf("got %q", got)
	}
	if err := update(""); !fserrors.IsNoRetryError(err) {
		t.Errorf("an empty note: %v, want an error that is not retried", err)
	}
}

func TestVersionsAreRead(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	first, second := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	p.AddNode(seed.Node{
		Profile: p.room.ID, Name: "a.txt", Created: first, Updated: second,
		Versions: []seed.Version{{Content: "one", Created: first}, {Content: "two", Created: second}},
	})
	f := p.remote(t, "design", "versions=true")
	old := "a-v2026-01-02-030405-000.txt"
	wantNames(t, f, "", old, "a.txt")
	if got := content(t, get(t, f, old)); got != "one" {
		t.Errorf("the earlier version has %q", got)
	}
	if err := get(t, f, old).Remove(t.Context()); err == nil {
		t.Error("an earlier version was removed")
	}
	at := func(at time.Time) string { return fmt.Sprintf("version_at='%s'", at.Format(time.RFC3339)) }
	f = p.remote(t, "design", at(second.Add(-time.Hour)))
	if got := content(t, get(t, f, "a.txt")); got != "one" {
		t.Errorf("the file had %q at that time", got)
	}
	if _, err := put(t.Context(), f, "b.txt", "x"); err == nil {
		t.Error("a file was added to the past")
	}
	wantNames(t, p.remote(t, "design", at(first.Add(-time.Hour))), "")
	wantNames(t, p.remote(t, "design", at(second)), "", "a.txt")
}

func TestRemoveUsesTheTrash(t *testing.T) {
	t.Parallel()
	for _, hard := range []string{"false", "true"} {
		p := newPlatform(t)
		p.add("", "a.txt", "x")
		f := p.remote(t, "design", "hard_delete="+hard)
		if err := get(t, f, "a.txt").Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
		trash, err := f.Command(t.Context(), "trash", nil, nil)
		if kept := strings.Contains(fmt.Sprint(trash), "a.txt"); err != nil || kept == (hard == "true") {
			t.Errorf("hard_delete=%s: the trash has %v, %v", hard, trash, err)
		}
	}
}

func TestComparisonsBySizeAreNoticed(t *testing.T) {
	t.Parallel()
	f := newPlatform(t).remote(t, "design")
	f.Precision()
	if f.Noticed() {
		t.Error("a listing was taken for a comparison")
	}
	fs.GetModifyWindow(t.Context(), f)
	if !f.Noticed() {
		t.Error("no notice")
	}
}

// A folder that another user has deleted and created again has another ID: what rclone
// repeats finds it.
func TestFolderThatWasReplacedIsFoundAgain(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("x", 5<<20)
	for name, write := range map[string]func(ctx context.Context, f *fastio.Fs, file fs.Object) error{
		"Put": func(ctx context.Context, f *fastio.Fs, _ fs.Object) error {
			_, err := put(ctx, f, "dir/new", "x")
			return err
		},
		"Put in chunks": func(ctx context.Context, f *fastio.Fs, _ fs.Object) error {
			_, err := put(ctx, f, "dir/new", content)
			return err
		},
		"OpenChunkWriter": func(ctx context.Context, f *fastio.Fs, _ fs.Object) error {
			src := object.NewStaticObjectInfo("dir/new", time.Now(), int64(len(content)), true, nil, nil)
			_, w, err := f.OpenChunkWriter(ctx, "dir/new", src)
			if err != nil {
				return err
			}
			return w.Abort(ctx)
		},
		"Mkdir": func(ctx context.Context, f *fastio.Fs, _ fs.Object) error { return f.Mkdir(ctx, "dir/new") },
		"Copy": func(ctx context.Context, f *fastio.Fs, file fs.Object) error {
			_, err := f.Copy(ctx, file, "dir/new")
			return err
		},
		"Move": func(ctx context.Context, f *fastio.Fs, file fs.Object) error {
			_, err := f.Move(ctx, file, "dir/new")
			return err
		},
		"DirMove": func(ctx context.Context, f *fastio.Fs, _ fs.Object) error {
			return f.DirMove(ctx, f, "source", "dir/new")
		},
		"List": func(ctx context.Context, f *fastio.Fs, _ fs.Object) error {
			_, err := f.List(ctx, "dir")
			return err
		},
		"NewObject": func(ctx context.Context, f *fastio.Fs, _ fs.Object) error {
			_, err := f.NewObject(ctx, "dir/old")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(t)
			p.add("", "a.txt", "x")
			p.folder("source")
			first := p.folder("dir")
			f := p.remote(t, "design")
			file := get(t, f, "a.txt")
			wantNames(t, f, "dir")
			in := api.Workspace(api.ID(p.room.ID))
			if err := p.Client(t).Storage.Delete(t.Context(), in, api.OpaqueID(first.ID)); err != nil {
				t.Fatal(err)
			}
			p.add(p.folder("dir").ID, "old", "x")
			err := write(t.Context(), f, file)
			if err != nil {
				t.Logf("first: %v", err)
				err = write(t.Context(), f, file)
			}
			if err != nil {
				t.Errorf("second: %v", err)
			}
		})
	}
}

// A folder that is deleted during a recursive listing is empty in it.
func TestListRWithoutDeletedFolder(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add(p.folder("kept").ID, "a.txt", "x")
	gone := p.folder("gone")
	f := p.remote(t, "design")
	in := api.Workspace(api.ID(p.room.ID))
	var found []string
	err := f.ListR(t.Context(), "", func(entries fs.DirEntries) error {
		for _, e := range entries {
			found = append(found, e.Remote())
			if e.Remote() == "gone" {
				return p.Client(t).Storage.Delete(t.Context(), in, api.OpaqueID(gone.ID))
			}
		}
		return nil
	})
	if err != nil || !slices.Contains(found, "kept/a.txt") {
		t.Errorf("%v, %v", found, err)
	}
}

// A recursive listing is complete although the cache of folders is emptied meanwhile.
func TestListRWithoutCache(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add(p.folder("dir").ID, "a.txt", "x")
	f := p.remote(t, "")
	var found []string
	err := f.ListR(t.Context(), "", func(entries fs.DirEntries) error {
		for _, e := range entries {
			found = append(found, e.Remote())
		}
		f.DirCacheFlush()
		return nil
	})
	if err != nil || !slices.Contains(found, "design/dir/a.txt") {
		t.Errorf("%v, %v", found, err)
	}
}

// A change in a folder whose path is not known any more is reported as one of anything.
func TestChangesAreReportedWithoutCache(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	id := api.OpaqueID(p.add(p.folder("dir").ID, "a.txt", "x").ID)
	f := p.remote(t, "design")
	var got []string
	report := func() {
		t.Helper()
		err := f.Report(t.Context(), id, func(remote string, _ fs.EntryType) { got = append(got, remote) })
		if err != nil {
			t.Fatal(err)
		}
	}
	report() // of a folder that was not listed
	wantNames(t, f, "", "dir/")
	report()
	f.DirCacheFlush()
	report()
	report()
	if want := []string{"dir/a.txt", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Changes are reported again after one odd response, also if that is the first one.
func TestChangesAreReportedAfterRefusals(t *testing.T) {
	t.Parallel()
	for name, skip := range map[string]int{"the first poll": 0, "a later poll": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(t)
			f := p.remote(t, "design")
			wantNames(t, f, "")
			p.Fail(seed.Fault{Op: op.ActivityPollProfile, Skip: skip, Count: 1, Status: http.StatusForbidden})
			changed := make(chan string, 100)
			defer f.Watch(t.Context(), time.Millisecond, func(remote string, _ fs.EntryType) { changed <- remote })()
			if got := <-changed; got != "" {
				t.Errorf("the watch begins with %q", got)
			}
			in := api.Workspace(api.ID(p.room.ID))
			if _, err := p.Client(t).Storage.CreateFolder(t.Context(), in, api.Root, "dir", nil); err != nil {
				t.Fatal(err)
			}
			if got := <-changed; got != "dir" {
				t.Errorf("the change is one of %q", got)
			}
		})
	}
}

// A credential that is revoked ends all that rclone does.
func TestRevokedCredentialIsFatal(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "a.txt", "x")
	f := p.remote(t, "design")
	o := get(t, f, "a.txt")
	p.Fail(seed.Fault{Status: http.StatusUnauthorized, Code: codes.DeadToken})
	_, opened := o.Open(t.Context())
	_, small := put(t.Context(), f, "small", "x")
	_, large := put(t.Context(), f, "large", strings.Repeat("x", 5<<20))
	_, copied := f.Copy(t.Context(), o, "copy")
	_, listed := f.List(t.Context(), "")
	src := object.NewStaticObjectInfo("a.txt", time.Now(), 1, true, nil, nil)
	for name, err := range map[string]error{
		"Open": opened, "Put": small, "Put in chunks": large, "Copy": copied, "List": listed, "Remove": o.Remove(t.Context()),
		"Update": o.Update(t.Context(), strings.NewReader("y"), src), "Mkdir": f.Mkdir(t.Context(), "dir"),
	} {
		if !fserrors.IsFatalError(err) {
			t.Errorf("%s: %v, want a fatal error", name, err)
		} else if !strings.Contains(err.Error(), "set api_key") {
			t.Errorf("%s: %v, without what to do about the key", name, err)
		}
	}
}
