package storage_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
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
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

func TestInvalidChangesAreRejected(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := stub.Answer(`{}`)
	s := storage.New(client)
	room, share := api.Workspace(roomID), api.Share("5012345678901234567")
	named := func(name string) error { return stub.Err(s.Rename(ctx, room, nodeID, name)) }
	update := func(r storage.UpdateRequest) error { return stub.Err(s.Update(ctx, room, nodeID, r)) }
	add := func(in api.Profile, from storage.Source) error {
		return stub.Err(s.AddFile(ctx, in, api.Root, "mill.txt", from))
	}
	upload := storage.FromUpload("5up10ad")
	refused := map[string][]error{
		"name": {
			named(""), named("."), named("a/b"), named(`a\b`), named("a\x00"), named("a\u200b"), named("a "), named("a."),
			named("\xff"), named(strings.Repeat("ü", 256)),
			stub.Err(s.CreateFolder(ctx, room, api.Root, "..", nil)),
			stub.Err(s.EnsurePath(ctx, room, api.Root, "")), stub.Err(s.EnsurePath(ctx, room, api.Root, "a//b")),
			stub.Err(s.EnsurePath(ctx, room, api.Root, "/a")), stub.Err(s.EnsurePath(ctx, room, api.Root, "a/..")),
		},
		"UpdateRequest": {update(storage.UpdateRequest{})},
		"parent_id": {
			stub.Err(s.CreateFolder(ctx, room, api.Trash, "a", nil)), stub.Err(s.AddLink(ctx, roomID, "", roomID)),
			stub.Err(s.AddFile(ctx, room, "Trash", "a", upload)),
		},
		"parent": {stub.Err(s.Move(ctx, room, nodeID, "tra-sh")), stub.Err(s.Copy(ctx, room, nodeID, " "))},
		"share":  {stub.Err(s.AddLink(ctx, roomID, api.Root, "fair"))},
		"from": {
			add(share, storage.Source{}), add(room, storage.FromHash("md5", strings.Repeat("0", 32))),
			add(share, storage.FromHash("crc32c", "00000000")), add(share, storage.FromHash("md5", "00")),
			add(share, storage.FromHash("md5", strings.Repeat("g", 32))), add(room, storage.FromUpload("-")),
		},
		"metadata_title": {
			update(storage.UpdateRequest{Title: api.Set(strings.Repeat("x", 51))}),
			update(storage.UpdateRequest{Title: api.Set("")}), update(storage.UpdateRequest{Title: api.Set("null")}),
		},
		"metadata_short": {update(storage.UpdateRequest{Short: api.Set(strings.Repeat("x", 2049))})},
		"if_version_id": {
			update(storage.UpdateRequest{Name: "a", IfVersion: api.Set(nodeID)}),
			update(storage.UpdateRequest{From: upload, IfVersion: api.Set[api.OpaqueID]("")}),
			update(storage.UpdateRequest{From: upload, IfVersion: api.Null[api.OpaqueID]()}),
		},
	}
	for _, alias := range []api.OpaqueID{api.Root, api.Trash, " Trash", "ro-ot", ""} {
		refused["node"] = append(refused["node"],
			s.Delete(ctx, room, alias), s.Purge(ctx, share, alias), stub.Err(s.Move(ctx, room, alias, nodeID)),
			stub.Err(s.Copy(ctx, room, alias, nodeID)),
			stub.Err(s.Restore(ctx, room, alias)), stub.Err(s.Rename(ctx, room, alias, "a")),
			stub.Err(s.Update(ctx, room, alias, storage.UpdateRequest{Name: "a"})),
		)
	}
	stub.Refused(t, refused)
	if len(client.Got) > 0 {
		t.Errorf("%d requests were sent", len(client.Got))
	}
}

// A response without a node is a success: the result holds what is known without it.
func TestChangesWithBareResponses(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content}, func(o *seed.Options) { o.Storage.BareWrites = true })
	ctx, tree := t.Context(), s.client.Storage
	folder, err := tree.EnsurePath(ctx, s.room, api.Root, "2026/plans/")
	if err != nil || folder.Name != "plans" || folder.ID == "" {
		t.Fatalf("got %+v, %v", folder, err)
	}
	again, err := tree.EnsurePath(ctx, s.room, api.Root, "2026/plans")
	if err != nil || again.ID != folder.ID {
		t.Errorf("got %+v, %v, want %s", again, err, folder.ID)
	}
	moved, err := tree.Move(ctx, s.room, s.id, folder.ID)
	if diff := cmp.Diff(&storage.Node{ID: s.id, ParentID: folder.ID}, moved); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if _, err := tree.Find(ctx, s.room, folder.ID, "sketch.txt"); err != nil {
		t.Error(err)
	}
	if _, err := tree.Find(ctx, s.room, api.Root, "sketch.txt"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// A path through a file is an error, with and without a node in the responses.
func TestEnsurePathThroughFile(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		s := newShelf(t, seed.Node{}, func(o *seed.Options) { o.Storage.BareWrites = bare })
		_, err := s.client.Storage.EnsurePath(t.Context(), s.room, api.Root, "sketch.txt/plans")
		if !errors.Is(err, api.ErrNameTaken) {
			t.Errorf("bare %t: got %v", bare, err)
		}
	}
}

// A web page with the status 404, such as one of a proxy, does not say that an earlier attempt
// has deleted a node.
func TestDeletionIsNotDoneByAWebPage(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	page := seed.Fault{
		Op: op.StorageDelete, Skip: 1, Status: http.StatusNotFound, ContentType: "text/html", Body: "<html>Not Found</html>",
	}
	s.Fail(page)
	s.Fail(seed.Fault{Op: op.StorageDelete, Status: http.StatusServiceUnavailable, Count: 1})
	if err := s.Client(t).Storage.Delete(t.Context(), s.room, s.id); err == nil {
		t.Error("a page of a proxy counts as a deletion")
	}
}

// Only a folder that can be created twice without harm is created by a retry.
func TestForcedFolderIsNotCreatedTwice(t *testing.T) {
	t.Parallel()
	for force, want := range map[bool]api.Replay{true: api.ReplayOnce, false: api.ReplaySafe} {
		c := stub.Answer(`{"node":{"id":"2a"}}`)
		s, o := storage.New(c), &storage.CreateFolderOptions{Force: force}
		if _, err := s.CreateFolder(t.Context(), api.Workspace(roomID), api.Root, "a", o); err != nil ||
			c.Got[0].Replay != want {
			t.Errorf("force %t: %v, %v", force, c.Got[0].Replay, err)
		}
	}
}

// Every node is tried, four at a time. What would fail for all of them ends the call.
func TestMany(t *testing.T) {
	t.Parallel()
	ids := make([]api.OpaqueID, 10)
	for i := range ids {
		ids[i] = api.OpaqueID(fmt.Sprintf("2node%d", i))
	}
	gone := &api.Error{Op: "storage.Delete", Status: 404}
	for name, tc := range map[string]struct {
		err             error // of 2node4
		failed, skipped int
		cancel          bool
	}{
		"all succeed":     {},
		"one is missing":  {err: gone, failed: 1},
		"credits used up": {err: &api.Error{Status: 402}, failed: 1, skipped: 2},
		"not signed in":   {err: api.ErrUnauthenticated, failed: 1, skipped: 2},
		"cancelled":       {cancel: true, skipped: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var mu sync.Mutex
			var done []api.OpaqueID
			running, most := 0, 0
			err := storage.Many(ctx, append(slices.Clone(ids), "2NODE-0"), func(_ context.Context, id api.OpaqueID) error {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				if id == "2node4" { // it ends before the others that were begun with it
					time.Sleep(time.Millisecond)
				} else {
					time.Sleep(time.Second)
				}
				if id == "2node4" && tc.cancel {
					cancel()
				}
				mu.Lock()
				defer mu.Unlock()
				running--
				done = append(done, id)
				if id == "2node4" {
					return tc.err
				}
				return nil
			})
			e, refused := errors.AsType[*storage.ManyError](err)
			if errors.Is(tc.err, gone) && err.Error() !=
				"fastio: storage.Many: 1 nodes failed, 0 were skipped: storage.Delete: Not Found (status 404)" {
				t.Errorf("got %v", err)
			}
			if refused != (tc.failed+tc.skipped > 0) || most != 4 {
				t.Fatalf("%s: %v, %d at a time", name, err, most)
			}
			if !refused {
				return
			}
			if len(e.Failed) != tc.failed || len(e.Skipped) != tc.skipped || len(done)+len(e.Skipped) != len(ids) ||
				tc.err != nil && !errors.Is(err, tc.err) || tc.cancel && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v; %d are done, %v skipped", name, err, len(done), e.Skipped)
			}
		})
	}
}

// newTree returns a workspace with folders in folders.
func newTree(t *testing.T, change ...func(*seed.Options)) (s *shelf, folders map[string]api.OpaqueID) {
	t.Helper()
	s = newShelf(t, seed.Node{Content: content}, change...)
	folders = map[string]api.OpaqueID{".": ""}
	for _, name := range []string{"a/", "a/b/", "a/b/deep.txt", "a/note.txt", "c/", "c/last.txt", "empty/"} {
		at := strings.TrimSuffix(name, "/")
		n := seed.Node{Profile: string(s.room.ID), Parent: string(folders[path.Dir(at)]), Name: path.Base(at), Content: name}
		if at != name {
			n.Kind, n.Content = "folder", ""
		}
		folders[at] = api.OpaqueID(s.AddNode(n).ID)
	}
	return s, folders
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options *storage.WalkOptions
		fault   seed.Fault // of the folder a, which is listed second
		want    []string
		is      error
	}{
		"all": {
			want: []string{"a", "c", "empty", "sketch.txt", "a/b", "a/note.txt", "a/b/deep.txt", "c/last.txt"},
		},
		"without a folder": {
			options: &storage.WalkOptions{Enter: func(e *storage.WalkEntry) bool { return e.Path != "a/b" }},
			want:    []string{"a", "c", "empty", "sketch.txt", "a/b", "a/note.txt", "c/last.txt"},
		},
		"a vanished folder": {
			fault: seed.Fault{Status: 404},
			want:  []string{"a", "c", "empty", "sketch.txt", "a: error", "c/last.txt"}, is: api.ErrNotFound,
		},
		"an expired cursor": {
			fault: seed.Fault{Status: 406},
			want:  []string{"a", "c", "empty", "sketch.txt", "a: error", "c/last.txt"}, is: api.ErrInvalid,
		},
		"no credits": {
			fault: seed.Fault{Status: 402},
			want:  []string{"a", "c", "empty", "sketch.txt", "a: error"}, is: api.ErrPaymentRequired,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newTree(t)
			var got []string
			for e, err := range s.client.Storage.Walk(t.Context(), s.room, api.Root, tc.options) {
				if err != nil {
					got = append(got, e.Path+": error")
					if !errors.Is(err, tc.is) {
						t.Errorf("%s: %v", e.Path, err)
					}
					continue
				}
				got = append(got, e.Path)
				if len(got) == 4 && tc.fault.Status != 0 {
					tc.fault.Op, tc.fault.Count = op.StorageList, 1
					s.Fail(tc.fault)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A folder that the server lists below itself is listed once.
func TestWalkEndsInCycle(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"nodes":[{"id":"2A","type":"folder","name":"a"},{"id":"2b","type":"folder","name":"b"}]}`)
	walk := storage.New(c).Walk(t.Context(), api.Workspace(roomID), "2a", nil)
	n := 0
	for _, err := range walk {
		n++
		if err != nil {
			t.Fatal(err)
		}
	}
	if n != 4 || len(c.Got) != 2 {
		t.Errorf("%d nodes of %d lists", n, len(c.Got))
	}
}

// The end of its context ends a walk, with one error.
func TestWalkEndsWithContext(t *testing.T) {
	t.Parallel()
	s, _ := newTree(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := 0
	for e, err := range s.client.Storage.Walk(ctx, s.room, api.Root, nil) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err != nil {
			errs++
		}
		if e.Path == "sketch.txt" {
			cancel()
		}
	}
	if errs != 1 {
		t.Errorf("%d errors", errs)
	}
}

func TestFS(t *testing.T) {
	t.Parallel()
	s, folders := newTree(t)
	s.AddNode(seed.Node{Profile: string(s.room.ID), Name: "with/slash.txt", Content: "x"})
	s.AddNode(seed.Node{Profile: string(s.room.ID), Name: "elsewhere", Kind: "link"})
	s.AddNode(seed.Node{Profile: string(s.room.ID), Name: "sketch.txt", Content: "a second one"})
	files := s.client.Storage.FS(t.Context(), s.room, api.Root)
	if err := fstest.TestFS(files, "a/b/deep.txt", "a/note.txt", "c/last.txt", "sketch.txt"); err != nil {
		t.Error(err)
	}
	entries, err := fs.ReadDir(files, ".")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"a", "c", "empty", "sketch.txt"}) || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	inner := s.client.Storage.FS(t.Context(), s.room, folders["a"])
	if b, err := fs.ReadFile(inner, "b/deep.txt"); err != nil || string(b) != "a/b/deep.txt" {
		t.Errorf("%q, %v", b, err)
	}
	if sent := s.Requests(); !strings.Contains(sent[len(sent)-1].Query, "version_id=") {
		t.Errorf("the version that was opened is not the one that is read: %q", sent[len(sent)-1].Query)
	}
	for name, want := range map[string]error{
		"nothing": fs.ErrNotExist, "sketch.txt/x": fs.ErrNotExist, "/a": fs.ErrInvalid, "with/slash.txt": fs.ErrNotExist,
	} {
		_, opened := files.Open(name)
		_, described := fs.Stat(files, name)
		_, listed := fs.ReadDir(files, name)
		for _, err := range []error{opened, described, listed} {
			if _, ok := errors.AsType[*fs.PathError](err); !ok || !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := fs.ReadDir(files, "sketch.txt"); err == nil {
		t.Error("a file is listed")
	}
	if _, err := fs.ReadFile(files, "a"); err == nil {
		t.Error("a folder is read")
	}
	info, err := fs.Stat(files, "a")
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := info.Sys().(*storage.Node); !ok || !n.ID.Equal(folders["a"]) {
		t.Errorf("got %v", info.Sys())
	}
}

// The errors of the platform are those of a file system as well.
func TestFSErrors(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][]error{
		404: {fs.ErrNotExist, api.ErrNotFound}, 403: {fs.ErrPermission, api.ErrForbidden}, 423: {api.ErrLocked},
	} {
		s := newShelf(t, seed.Node{Content: content})
		files := s.client.Storage.FS(t.Context(), s.room, api.Root)
		f, err := files.Open("sketch.txt")
		if err != nil {
			t.Fatal(err)
		}
		s.Fail(seed.Fault{Op: opRead, Status: status})
		_, read := f.Read(make([]byte, 1))
		s.Fail(seed.Fault{Op: op.StorageList, Status: status})
		_, listed := fs.ReadDir(files, ".")
		for _, is := range want {
			if !errors.Is(read, is) || !errors.Is(listed, is) {
				t.Errorf("%d: %v and %v", status, read, listed)
			}
		}
		if err := f.Close(); err != nil || !errors.Is(f.Close(), fs.ErrClosed) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A web page with the status 404, such as one of a proxy, does not say that a file does not
// exist.
func TestFSErrorOfAWebPage(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	s.Fail(seed.Fault{
		Op: op.StorageList, Status: http.StatusNotFound, ContentType: "text/html", Body: "<html>Not Found</html>",
	})
	_, err := fs.Stat(s.client.Storage.FS(t.Context(), s.room, api.Root), "sketch.txt")
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A file is replaced only if it has the expected version. The error has the current one.
func TestUpdateOfAnotherVersion(t *testing.T) {
	t.Parallel()
	versions := []seed.Version{{Content: "draft"}, {Content: content}}
	s := newShelf(t, seed.Node{Versions: versions}, func(o *seed.Options) { o.Uploads.AssembleAtOnce = true })
	u, err := s.client.Uploads.Put(t.Context(), uploads.StartRequest{Name: "new.txt"}, []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	r := storage.UpdateRequest{From: storage.FromUpload(u.ID), IfVersion: api.Set(api.OpaqueID(s.file.Versions[0].ID))}
	_, err = s.client.Storage.Update(t.Context(), s.room, s.id, r)
	conflict, ok := errors.AsType[*api.VersionConflictError](err)
	if !ok || !errors.Is(err, api.ErrConflict) || !conflict.Current.Equal(api.OpaqueID(s.file.Versions[1].ID)) {
		t.Fatalf("got %v", err)
	}
	r.IfVersion = api.Set(conflict.Current)
	n, err := s.client.Storage.Update(t.Context(), s.room, s.id, r)
	if err != nil || n.Size != 3 || !n.ID.Equal(s.id) || n.Version.Equal(conflict.Current) {
		t.Errorf("got %+v, %v", n, err)
	}
}

// A name that another node of the folder has is distinguishable from one that the platform
// refuses for another reason. The words of the platform stay in the error.
func TestRenameOntoATakenName(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: "draft"})
	other := s.AddNode(seed.Node{Profile: s.file.Profile, Name: "final.txt", Content: content})
	rename := func(name string) error {
		return stub.Err(s.client.Storage.Rename(t.Context(), s.room, s.id, name))
	}
	err := rename(other.Name)
	refusal, ok := errors.AsType[*api.Error](err)
	if !errors.Is(err, api.ErrNameTaken) || !errors.Is(err, api.ErrInvalid) || !ok || refusal.Text == "" {
		t.Errorf("got %v", err)
	}
	s.Fail(seed.Fault{Op: op.StorageUpdate, Status: http.StatusNotAcceptable})
	for _, name := range []string{"free.txt", s.file.Name} {
		if err := rename(name); !errors.Is(err, api.ErrInvalid) || errors.Is(err, api.ErrNameTaken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A folder cannot be created under the name of a file if the platform refuses that. A
// folder of the name would have been returned: it is not the reason.
func TestFolderUnderATakenName(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{})
	if _, err := s.client.Storage.CreateFolder(t.Context(), s.room, api.Root, "plans", nil); err != nil {
		t.Fatal(err)
	}
	s.Fail(seed.Fault{Op: op.StorageCreateFolder, Status: http.StatusBadRequest, Text: "No."})
	for name, taken := range map[string]bool{s.file.Name: true, "plans": false, "free": false} {
		for force, want := range map[bool]bool{false: taken, true: false} { // with Force the platform finds a name
			o := &storage.CreateFolderOptions{Force: force}
			_, err := s.client.Storage.CreateFolder(t.Context(), s.room, api.Root, name, o)
			refusal, ok := errors.AsType[*api.Error](err)
			if errors.Is(err, api.ErrNameTaken) != want || !ok || refusal.Text != "No." || !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s, force %t: got %v", name, force, err)
			}
		}
	}
}

// The name is read only after a refusal that may be about it, and a failure to read it
// leaves the refusal.
func TestNameIsReadAfterItsRefusalOnly(t *testing.T) {
	t.Parallel()
	field := func(name string) string {
		return `{"result":false,"error":{"code":10022,"text":"No.","params":[{"name":"` + name + `","kind":"invalid"}]}}`
	}
	for name, tc := range map[string]struct {
		first, read seed.Fault
		reads       bool
		taken       bool
	}{
		"the field of the name": {first: seed.Fault{Status: 406, Body: field("name")}, reads: true, taken: true},
		"another field":         {first: seed.Fault{Status: 406, Body: field("force")}},
		"the edge":              {first: seed.Fault{Status: 406, Code: 90211}},
		"409":                   {first: seed.Fault{Status: http.StatusConflict}},
		"412":                   {first: seed.Fault{Status: http.StatusPreconditionFailed}},
		"422":                   {first: seed.Fault{Status: http.StatusUnprocessableEntity}},
		"403":                   {first: seed.Fault{Status: http.StatusForbidden}},
		"500":                   {first: seed.Fault{Status: http.StatusInternalServerError}},
		"a failed list": {
			first: seed.Fault{Status: 400}, read: seed.Fault{Op: op.StorageList, Status: http.StatusForbidden}, reads: true,
		},
		"a list that is no list": {
			first: seed.Fault{Status: 400}, read: seed.Fault{Op: op.StorageList, Status: 200, Body: "{"}, reads: true,
		},
	} {
		s := newShelf(t, seed.Node{Content: "draft"})
		s.AddNode(seed.Node{Profile: s.file.Profile, Name: "final.txt"})
		calls := map[seed.Op]func() error{
			op.StorageUpdate: func() error {
				return stub.Err(s.client.Storage.Rename(t.Context(), s.room, s.id, "final.txt"))
			},
			op.StorageCreateFolder: func() error {
				return stub.Err(s.client.Storage.CreateFolder(t.Context(), s.room, api.Root, "final.txt", nil))
			},
		}
		if tc.read.Op != "" {
			s.Fail(tc.read)
		}
		for called, send := range calls {
			tc.first.Op = called
			s.Fail(tc.first)
			s.Forget()
			err := send()
			refusal, ok := errors.AsType[*api.Error](err)
			if !ok || refusal.Status != tc.first.Status || errors.Is(err, api.ErrNameTaken) != tc.taken {
				t.Errorf("%s, %s: got %v", name, called, err)
			}
			if got := len(s.ops()) > 1; got != tc.reads {
				t.Errorf("%s, %s: the requests were %v", name, called, s.ops())
			}
		}
	}
}

// A workspace takes the hash of content in an update, and no other call.
func TestUpdateTakesAHash(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: "draft"})
	s.AddNode(seed.Node{Profile: string(s.room.ID), Name: "final.txt", Content: content})
	sum := sha256.Sum256([]byte(content))
	r := storage.UpdateRequest{From: storage.FromHash("sha256", hex.EncodeToString(sum[:]))}
	n, err := s.client.Storage.Update(t.Context(), s.room, s.id, r)
	if err != nil || n.Hash != r.From.Hash || n.HashAlgo != r.From.HashAlgo || !n.ID.Equal(s.id) {
		t.Fatalf("got %+v, %v", n, err)
	}
	if n.Origin == nil || n.Origin.UploadID != "" || n.Origin.Creator != api.ID(s.User().ID) {
		t.Errorf("the origin is %+v", n.Origin)
	}
}
