package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
)

// fill adds files, and folders whose paths end in a slash, to the workspace.
func (s *shelf) fill(files map[string]string) {
	folders := map[string]api.OpaqueID{".": ""}
	var folder func(at string) api.OpaqueID
	folder = func(at string) api.OpaqueID {
		id, ok := folders[at]
		if !ok {
			id = api.OpaqueID(s.AddNode(seed.Node{
				Profile: string(s.room.ID), Parent: string(folder(path.Dir(at))), Name: path.Base(at), Kind: "folder",
			}).ID)
			folders[at] = id
		}
		return id
	}
	for name, content := range files {
		if at, ok := strings.CutSuffix(name, "/"); ok {
			folder(at)
			continue
		}
		s.AddNode(seed.Node{
			Profile: string(s.room.ID), Parent: string(folder(path.Dir(name))), Name: path.Base(name), Content: content,
		})
	}
}

// contents returns the content of each file below a folder, and its empty folders.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == folder {
			return err
		}
		rel, _ := filepath.Rel(folder, name)
		if e.IsDir() {
			if entries, _ := os.ReadDir(name); len(entries) == 0 {
				found[filepath.ToSlash(rel)+"/"] = ""
			}
			return nil
		}
		content, err := os.ReadFile(name)
		found[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDownloadDirReceivesWhatTheTargetDoesNotHave(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	s.fill(map[string]string{"a/b/c.txt": "c", "a/d.txt": "d", "empty/": "", "zero.txt": ""})
	local := filepath.Join(t.TempDir(), "new")
	var all api.Progress
	result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, &storage.DownloadDirOptions{
		OnProgress: func(_ context.Context, p api.DirProgress) { all = p.All },
	})
	want := map[string]string{"sketch.txt": content, "a/b/c.txt": "c", "a/d.txt": "d", "empty/": "", "zero.txt": ""}
	if diff := cmp.Diff(want, contents(t, local)); err != nil || diff != "" {
		t.Fatalf("%v (-want +got)\n%s", err, diff)
	}
	if size := int64(len(content) + 2); all.Done != size || all.Total != size || result.Bytes != size || result.Done != 4 {
		t.Errorf("the progress is %+v, the result %+v", all, result)
	}
	want["a/d.txt"], want["own.txt"] = "D", "own"
	for name, changed := range map[string]string{"a/d.txt": "x", "own.txt": "own"} {
		if err := os.WriteFile(filepath.Join(local, name), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want["a/d.txt"] = "d"
	s.Forget()
	result, err = s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, nil)
	if diff := cmp.Diff(want, contents(t, local)); err != nil || diff != "" || result.Done != 1 || result.Unchanged != 3 {
		t.Errorf("%+v, %v (-want +got)\n%s", result, err, diff)
	}
}

// Names of the server never lead out of the folder, and are reported or changed.
func TestDownloadDirNames(t *testing.T) {
	t.Parallel()
	type row struct {
		o    storage.DownloadDirOptions
		want map[string]string // results
		has  map[string]string // local files
	}
	remote := map[string]string{
		".bashrc": "1", "..a": "2", `..\x`: "3", "CON": "4", "nul.txt": "5", "a:b": "6", "same/A": "7", "same/a": "8",
		".git/hook": "9", "fine": "f",
	}
	refused, taken := "failed: the name is not allowed", "failed: the name is taken"
	table.Each(t, map[string]row{
		"reported": {
			want: map[string]string{
				".bashrc": refused, "..a": refused, `..\x`: refused, "CON": refused, "nul.txt": refused, "a:b": refused,
				"same/A": "done", "same/a": taken, ".git": refused, "fine": "done",
			},
			has: map[string]string{"same/A": "7", "fine": "f"},
		},
		"changed": {
			o: storage.DownloadDirOptions{Rename: true},
			want: map[string]string{
				".bashrc": "done to bashrc", "..a": "done to a", `..\x`: "done to x", "CON": "done to _CON",
				"nul.txt": "done to _nul.txt", "a:b": "done to a_b", "same/A": "done", "same/a": "done to same/a (2)",
				".git/hook": "done to git/hook", "fine": "done",
			},
			has: map[string]string{
				"bashrc": "1", "a": "2", "x": "3", "_CON": "4", "_nul.txt": "5", "a_b": "6", "same/A": "7", "same/a (2)": "8",
				"git/hook": "9", "fine": "f",
			},
		},
		"hidden ones are accepted": {
			o: storage.DownloadDirOptions{Hidden: true},
			want: map[string]string{
				".bashrc": "done", "..a": refused, `..\x`: refused, "CON": refused, "nul.txt": refused, "a:b": refused,
				"same/A": "done", "same/a": taken, ".git/hook": "done", "fine": "done",
			},
			has: map[string]string{".bashrc": "1", "same/A": "7", ".git/hook": "9", "fine": "f"},
		},
	}, func(t *testing.T, test row) {
		s := newShelf(t, seed.Node{Name: "fine", Content: "f"})
		files := map[string]string{}
		for name, content := range remote {
			if name != "fine" {
				files[name] = content
			}
		}
		s.fill(files)
		parent := t.TempDir()
		local := filepath.Join(parent, "target")
		result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, &test.o)
		if diff := cmp.Diff(test.want, stub.States(result)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(test.has, contents(t, local)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if entries, _ := os.ReadDir(parent); len(entries) != 1 {
			t.Errorf("the parent holds %v", entries)
		}
		if _, ok := errors.AsType[*api.DirError](err); ok != (result.Failed > 0) {
			t.Errorf("got %v", err)
		}
	})
}

// Links of the local folder do not lead out of it.
func TestDownloadDirStaysInTheFolder(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	s.fill(map[string]string{"out/a.txt": "a", "b.txt": "b"})
	outside, local := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := errors.Join(
		os.WriteFile(victim, []byte("intact"), 0o600),
		os.Symlink(outside, filepath.Join(local, "out")), os.Symlink(victim, filepath.Join(local, "b.txt")),
	); err != nil {
		t.Fatal(err)
	}
	result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, nil)
	if result.Failed != 1 || result.Done != 2 || err == nil {
		t.Errorf("got %v, %v", stub.States(result), err)
	}
	if diff := cmp.Diff(map[string]string{"victim": "intact"}, contents(t, outside)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if content, err := os.ReadFile(filepath.Join(local, "b.txt")); err != nil || string(content) != "b" {
		t.Errorf("b.txt is %q, %v", content, err)
	}
}

func TestDownloadDirReportsFailures(t *testing.T) {
	t.Parallel()
	type row struct {
		fault  seed.Fault
		want   error
		states map[string]string
	}
	table.Each(t, map[string]row{
		"a file that cannot be read": {
			seed.Fault{Op: opRead, Status: http.StatusForbidden}, api.ErrForbidden, nil,
		},
		"other bytes": {
			seed.Fault{Op: opRead, Status: http.StatusOK, Body: strings.Repeat("x", len(content))}, api.ErrCorrupt, nil,
		},
		"no folder": {
			seed.Fault{Op: op.StorageList, Status: http.StatusNotFound},
			api.ErrNotFound,
			map[string]string{},
		},
		"a subfolder that is gone": {
			seed.Fault{Op: op.StorageList, Skip: 1, Status: http.StatusNotFound},
			api.ErrNotFound,
			map[string]string{"sketch.txt": "done", "sub": "failed: fastio: storage.List: Not Found (status 404)"},
		},
		"without credits": {
			seed.Fault{Op: opRead, Status: http.StatusPaymentRequired}, api.ErrPaymentRequired, nil,
		},
	}, func(t *testing.T, test row) {
		s := newShelf(t, seed.Node{Content: content})
		s.fill(map[string]string{"sub/": ""})
		s.Fail(test.fault)
		local := t.TempDir()
		result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, nil)
		if !errors.Is(err, test.want) {
			t.Errorf("got %v, want %v", err, test.want)
		}
		if diff := cmp.Diff(test.states, stub.States(result)); test.states != nil && diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		has := contents(t, local)
		delete(has, "sub/")
		if len(has) != result.Done {
			t.Errorf("the folder holds %v", has)
		}
	})
}

// A refusal that all folders would get ends the listing of a folder, too.
func TestDownloadDirEndsEarly(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusTooManyRequests} {
		s := newShelf(t, seed.Node{Content: content})
		s.fill(map[string]string{"a/1": "1", "b/2": "2", "c/3": "3"})
		s.Fail(seed.Fault{Op: op.StorageList, Skip: 1, Status: status})
		result, err := s.client.Storage.DownloadDir(
			t.Context(), s.room, api.Root, t.TempDir(), nil, api.WithAttempts(1))
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Status != status {
			t.Errorf("%d: %v, %v", status, stub.States(result), err)
		}
		lists := 0
		for _, r := range s.Requests() {
			if r.Op == string(op.StorageList) {
				lists++
			}
		}
		if lists != 2 {
			t.Errorf("%d: %d folders were listed, want 2", status, lists)
		}
	}
}

// A server whose folders have no end, or contain themselves, does not keep the call busy.
func TestDownloadDirEndsInEndlessFolders(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]func(n int) int{
		"itself":      func(int) int { return 1 },
		"always more": func(n int) int { return n },
	}, func(t *testing.T, id func(int) int) {
		n := 0
		client := stub.Caller(func(ctx context.Context, r *api.Request, out any) error {
			n++
			page := fmt.Sprintf(`{"nodes":[{"id":"2folder%023d","name":"a","type":"folder"}],"pagination":{}}`, id(n))
			return stub.Answer(page).Call(ctx, r, out)
		})
		result, err := storage.New(client).DownloadDir(
			t.Context(), api.Workspace("1234567890123456789"), api.Root, t.TempDir(), nil)
		if err == nil || len(result.Entries) != 1 || n > 300 {
			t.Errorf("%v, %v after %d calls", stub.States(result), err, n)
		}
	})
}

// A filter makes no folders that hold nothing.
func TestDownloadDirCreatesNoFilteredFolders(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	s.fill(map[string]string{"docs/a.md": "a", "src/deep/a.go": "a", "none/": ""})
	for name, test := range map[string]struct {
		filter api.DirFilter
		want   map[string]string
	}{
		"include": {api.DirFilter{Include: []string{"*.md"}}, map[string]string{"docs/a.md": "a"}},
		"exclude": {api.DirFilter{Exclude: []string{"*.go", "a.txt"}}, map[string]string{"docs/a.md": "a", "none/": ""}},
	} {
		local := t.TempDir()
		o := &storage.DownloadDirOptions{Filter: test.filter}
		_, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, o)
		got := contents(t, local)
		for file := range got {
			if !strings.Contains(file, "/") {
				delete(got, file) // those of the shelf
			}
		}
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

func TestDownloadDirReportsNamesInTheWay(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	s.fill(map[string]string{"x/deep/a.txt": "a", "y/": "", "z": "z"})
	local := t.TempDir()
	if err := os.Mkdir(filepath.Join(local, "z"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y"} {
		if err := os.WriteFile(filepath.Join(local, name), []byte("file"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, nil)
	states := stub.States(result)
	for _, name := range []string{"x/deep/a.txt", "y", "z"} {
		if states[name] != "failed: the name is taken" || !errors.Is(err, api.ErrNameTaken) {
			t.Errorf("%s: %s, %v", name, states[name], err)
		}
	}
}

// Two nodes with equal paths are one file, and partial files of a server are none.
func TestDownloadDirWithAmbiguousNames(t *testing.T) {
	t.Parallel()
	for _, rename := range []bool{false, true} {
		s := newShelf(t, seed.Node{Name: "ok.txt", Content: "ok"})
		s.fill(map[string]string{"sub/a.txt": "a"})
		for _, name := range []string{"sub/a.txt", "sub/../ok.txt", ".ok.txt.abcdefghijkl.fastio-partial"} {
			s.AddNode(seed.Node{Profile: string(s.room.ID), Name: name, Content: "another"})
		}
		local := t.TempDir()
		result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local,
			&storage.DownloadDirOptions{Rename: rename, Hidden: true})
		refused, taken := "failed: the name is not allowed", "failed: the name is taken"
		want := []string{
			".ok.txt.abcdefghijkl.fastio-partial " + refused, "ok.txt done", "sub/../ok.txt " + refused,
			"sub/a.txt done", "sub/a.txt " + refused,
		}
		has := map[string]string{"ok.txt": "ok", "sub/a.txt": "a"}
		if rename {
			partial := "ok.txt.abcdefghijkl.fastio-partial"
			want = []string{"." + partial + " done", "ok.txt done", "sub/../ok.txt done", "sub/a.txt done", "sub/a.txt " + taken}
			has["ok (2).txt"], has[partial] = "another", "another"
		}
		var got []string
		for _, e := range result.Entries {
			line := e.Path + " " + string(e.State)
			if e.Err != nil {
				line += ": " + e.Err.Error()
			}
			got = append(got, line)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		if diff := cmp.Diff(has, contents(t, local)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// What an interrupted download of an earlier version has left is removed, whether or not
// the file is downloaded again.
func TestDownloadDirRemovesPartials(t *testing.T) {
	t.Parallel()
	s := newShelf(t, seed.Node{Content: content})
	s.fill(map[string]string{"a/new.txt": "new"})
	local := t.TempDir()
	own := map[string]string{".other.txt.abcdefghijkl.fastio-partial": "x", "sketch.txt": content}
	for name, content := range own {
		write(t, local, name, content)
	}
	write(t, local, ".sketch.txt.abcdefghijkl.fastio-partial", "x")
	write(t, local, "a/.new.txt.abcdefghijkl.fastio-partial", "x")
	result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, nil)
	own["a/new.txt"] = "new"
	if diff := cmp.Diff(own, contents(t, local)); err != nil || diff != "" || result.Unchanged != 1 {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func write(t *testing.T, local, name, content string) {
	t.Helper()
	path := filepath.Join(local, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}
