package storage_test

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// hostileNames returns names of files that a server or a file system should not have.
func hostileNames(n int) []string {
	parts := []string{
		"..", ".", "/", `\`, "a", "A", "é", "e\u0301", "\x00", "\n", "\u202e", "\u200b", "\ufeff", " ", ":", "*", "?",
		"<", "|", `"`, "%2f", "%00", "CON", "nul.", "~", "$HOME", "-rf", ".git", "etc", "passwd", "\xff", "𝕏",
		strings.Repeat("x", 90),
	}
	dice := rand.New(rand.NewPCG(3, 4))
	seen := map[string]bool{"": true}
	var names []string
	for len(names) < n {
		var b strings.Builder
		for range 1 + dice.IntN(5) {
			b.WriteString(parts[dice.IntN(len(parts))])
		}
		if name := b.String(); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// Hostile names write nothing outside of the folder: each file is downloaded
// with its bytes, under its own name or another one, or reported.
func TestHostileNamesOfTheServer(t *testing.T) {
	t.Parallel()
	for _, o := range []storage.DownloadDirOptions{{}, {Rename: true}, {Hidden: true}, {Rename: true, Hidden: true}} {
		s := newShelf(t, seed.Node{Name: "plain", Content: "plain"})
		names := hostileNames(table.Rounds(1000, 1000))
		contents := map[api.OpaqueID]string{api.OpaqueID(s.id.Plain()): "plain"}
		for i, name := range names {
			id := api.OpaqueID(s.AddNode(seed.Node{Profile: string(s.room.ID), Name: name, Content: strconv.Itoa(i)}).ID)
			contents[api.OpaqueID(id.Plain())] = strconv.Itoa(i)
		}
		parent := t.TempDir()
		local := filepath.Join(parent, "target")
		result, err := s.client.Storage.DownloadDir(t.Context(), s.room, api.Root, local, &o)
		if result == nil || (err != nil) != (result.Failed > 0) {
			t.Fatalf("got %v", err)
		}
		if o.Rename && result.Failed > 0 {
			t.Errorf("%d files failed: %v", result.Failed, err)
		}
		done := 0
		for _, e := range result.Entries {
			content, err := os.ReadFile(filepath.Join(local, e.Target))
			if want := contents[api.OpaqueID(e.Node.Plain())]; e.State == api.DirDone &&
				(err != nil || string(content) != want) {
				t.Errorf("%q as %q holds %q, %v", e.Path, e.Target, content, err)
			}
			if e.State == api.DirDone {
				done++
			}
		}
		entries, _ := os.ReadDir(local)
		outside, _ := os.ReadDir(parent)
		if len(entries) != done || len(outside) != 1 || len(result.Entries) != len(names)+1 {
			t.Errorf("%d of %d files are there, %d beside the folder", len(entries), done, len(outside)-1)
		}
	}
}

// Local names that the platform does not allow are reported or changed, and no file is lost.
func TestHostileLocalNames(t *testing.T) {
	t.Parallel()
	local := fstest.MapFS{}
	for _, name := range hostileNames(1000) {
		name = strings.ReplaceAll(name, "/", "")
		if fs.ValidPath(name) && name != "." {
			local[name] = &fstest.MapFile{Data: []byte("content of " + name)}
		}
	}
	for _, rename := range []bool{false, true} {
		s := newShelf(t, seed.Node{}, func(o *seed.Options) { o.Uploads.Pace = -1 })
		target := uploads.Target{Profile: s.room, Path: "names/"}
		result, err := s.client.Uploads.FS(t.Context(), target, local, &uploads.DirOptions{Rename: rename})
		if result == nil || (err != nil) != (result.Failed > 0) || rename && err != nil {
			t.Fatalf("got %v", err)
		}
		there := map[string]*storage.Node{}
		for e, err := range s.client.Storage.Walk(t.Context(), s.room, api.Root, nil) {
			if err != nil {
				t.Fatal(err)
			}
			there["names/"+e.Node.Name] = e.Node
		}
		for _, e := range result.Entries {
			var b bytes.Buffer
			n := there[e.Target]
			if e.State != api.DirDone {
				continue
			}
			if n == nil {
				t.Errorf("%q is not there as %q", e.Path, e.Target)
			} else if _, err := s.client.Storage.DownloadTo(t.Context(), s.room, n.ID, &b, nil); err != nil ||
				b.String() != string(local[e.Path].Data) {
				t.Errorf("%q as %q holds %q, %v", e.Path, e.Target, b.String(), err)
			}
		}
		if len(result.Entries) != len(local) || result.Done+result.Failed != len(local) {
			t.Errorf("%d of %d files have a result", len(result.Entries), len(local))
		}
	}
}
