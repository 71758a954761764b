package rclone_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rclone/rclone/fs"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	fastio "github.com/fastio-go/fastio/rclone"
)

// relocation is an operation that is killed after each of its requests.
type relocation struct {
	name string
	do   func(ctx context.Context, t *testing.T, f *fastio.Fs) error

	// The files of ours, before and after it, and whether those of before stay.
	before, after map[string]string
	stays         bool
}

// In both folders others have files of the old and the new name, as far as the operation
// leaves these free.
var relocations = []relocation{{
	name: "Move", before: map[string]string{"from/old": "ours"}, after: map[string]string{"to/new": "ours"},
	do: func(ctx context.Context, t *testing.T, f *fastio.Fs) error {
		t.Helper()
		o, err := f.NewObject(ctx, "from/old")
		if err == nil {
			_, err = f.Move(ctx, o, "to/new")
		}
		return err
	},
}, {
	name: "Copy", before: map[string]string{"from/old": "ours"}, after: map[string]string{"to/new": "ours"}, stays: true,
	do: func(ctx context.Context, t *testing.T, f *fastio.Fs) error {
		t.Helper()
		o, err := f.NewObject(ctx, "from/old")
		if err == nil {
			_, err = f.Copy(ctx, o, "to/new")
		}
		return err
	},
}, {
	name: "DirMove", before: map[string]string{"from/old/a": "ours"}, after: map[string]string{"to/new/a": "ours"},
	do: func(ctx context.Context, t *testing.T, f *fastio.Fs) error {
		t.Helper()
		return f.DirMove(ctx, f, "from/old", "to/new")
	},
}}

// others adds the files of others, and ours.
func (r *relocation) others(p *platform) map[string]string {
	from, to := p.folder("from"), p.folder("to")
	if r.name == "DirMove" {
		old := p.AddNode(seed.Node{Profile: p.room.ID, Kind: "folder", Parent: from.ID, Name: "old"})
		p.add(old.ID, "a", "ours")
	} else {
		p.add(from.ID, "old", "ours")
	}
	p.add(from.ID, "new", "1")
	p.add(to.ID, "old", "2")
	p.add("", "old", "3")
	p.add("", "new", "4")
	return map[string]string{"from/new": "1", "to/old": "2", "old": "3", "new": "4"}
}

func TestFilesOfOthersSurviveKilledMoves(t *testing.T) {
	t.Parallel()
	for _, r := range relocations {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for requests := int64(0); ; requests++ {
				if r.killed(t, requests) {
					return
				}
			}
		})
	}
}

// killed runs the operation with a number of requests, and then a cleanup as a later
// process does it. It reports whether the operation has succeeded.
func (r *relocation) killed(t *testing.T, requests int64) (succeeded bool) {
	t.Helper()
	p := newPlatform(t)
	others := r.others(p)
	f := p.remote(t, "design")
	p.gate.Store(requests)
	err := r.do(t.Context(), t, f)
	p.gate.Store(open)
	for name, want := range others {
		if got := p.tree(t)[name]; got != want {
			t.Errorf("after %d requests %s has %q, want %q", requests, name, got, want)
		}
	}
	later := p.remote(t, "design")
	later.SetAbandoned(0)
	if err := later.CleanUp(t.Context()); err != nil {
		t.Fatalf("after %d requests: %v", requests, err)
	}
	before, after := maps.Clone(others), maps.Clone(others)
	maps.Copy(before, r.before)
	maps.Copy(after, r.after)
	if r.stays {
		maps.Copy(after, r.before)
	}
	tree := p.tree(t)
	if !maps.Equal(tree, before) && !maps.Equal(tree, after) {
		t.Errorf("after %d requests and a cleanup the workspace has %v", requests, tree)
	}
	if err == nil && !maps.Equal(tree, after) {
		t.Errorf("%s has done nothing: %v", r.name, tree)
	}
	return err == nil
}

// A response that is lost, whether the call had an effect or not, moves nothing of others,
// and hides nothing. The result is that of the error, or of none.
func TestLostResponsesOfMoves(t *testing.T) {
	t.Parallel()
	for _, r := range relocations {
		for _, call := range []seed.Op{op.StorageUpdate, op.StorageMove, op.StorageCopy} {
			for _, processed := range []bool{true, false} {
				t.Run(fmt.Sprint(r.name, call, processed), func(t *testing.T) {
					t.Parallel()
					for skip := range 2 {
						r.loses(t, seed.Fault{Op: call, Skip: skip, Count: 1, Status: 503, Processed: processed})
					}
				})
			}
		}
	}
}

// loses runs the operation with a response that is lost.
func (r *relocation) loses(t *testing.T, lost seed.Fault) {
	t.Helper()
	p := newPlatform(t)
	want := r.others(p)
	f := p.remote(t, "design")
	p.Fail(lost)
	err := r.do(t.Context(), t, f)
	if shutdownErr := f.Shutdown(t.Context()); shutdownErr != nil {
		t.Fatal(shutdownErr)
	}
	if err != nil || r.stays {
		maps.Copy(want, r.before)
	}
	if err == nil {
		maps.Copy(want, r.after)
	}
	tree := p.tree(t)
	if !maps.Equal(tree, want) {
		t.Errorf("call %d was lost, %s returned %v, and the workspace has\n%v, want\n%v", lost.Skip+1, r.name, err, tree, want)
	}
}

// A file that gets another name in its folder never has a reserved one: no error says that a
// listing will change it.
func TestRenamesWithoutResponses(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "old", "ours")
	f := p.remote(t, "design")
	o := get(t, f, "old")
	p.Fail(seed.Fault{Op: op.StorageUpdate, Count: 1, Status: 503, Processed: true})
	p.Fail(seed.Fault{Op: op.StorageGet, Status: 503})
	_, err := f.Move(t.Context(), o, "new")
	if !errors.Is(err, api.ErrUnavailable) || strings.Contains(err.Error(), "listing") {
		t.Errorf("got %v", err)
	}
}

// A taken name is refused, and the node stays where it was.
func TestMovesKeepTakenNames(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	from, to := p.folder("from"), p.folder("to")
	p.add(from.ID, "old", "ours")
	p.add(to.ID, "new", "theirs")
	f := p.remote(t, "design")
	if _, err := f.Move(t.Context(), get(t, f, "from/old"), "to/new"); err == nil {
		t.Error("a file was moved over another one")
	}
	p.wantTree(t, map[string]string{"from/old": "ours", "to/new": "theirs"})
}

// A copy over a file is a version of that.
func TestCopyOverAFileMakesAVersion(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "from", "new content")
	to := p.add("", "to", "old content")
	f := p.remote(t, "design")
	o, err := f.Copy(t.Context(), get(t, f, "from"), "to")
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, o); got != "new content" || o.(fs.IDer).ID() != strings.ReplaceAll(to.ID, "-", "") {
		t.Errorf("the copy has %q and the ID %s, want that of %s", got, o.(fs.IDer).ID(), to.ID)
	}
	wantNames(t, f, "", "from", "to")
}

// A copy does not replace a folder: rclone then uploads the file, which is refused.
func TestCopyRefusesTheNameOfAFolder(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.add("", "from", "content")
	p.folder("to")
	f := p.remote(t, "design")
	from := get(t, f, "from")
	if _, err := f.Copy(t.Context(), from, "to"); !errors.Is(err, fs.ErrorCantCopy) {
		t.Errorf("Copy returned %v, want %v", err, fs.ErrorCantCopy)
	}
	if _, err := put(t.Context(), f, "to", "content"); !errors.Is(err, api.ErrNameTaken) {
		t.Errorf("Put returned %v, want %v", err, api.ErrNameTaken)
	}
	wantNames(t, f, "", "from", "to/")
}

// A node that another process moves is not shown, and stays as it is.
func TestNodesUnderWayAreHidden(t *testing.T) {
	t.Parallel()
	r, hidden := relocations[0], 0
	for requests := range int64(10) {
		p := newPlatform(t)
		r.others(p)
		f := p.remote(t, "design")
		p.gate.Store(requests)
		_ = r.do(t.Context(), t, f)
		p.gate.Store(open)
		before := p.tree(t)
		other := p.remote(t, "design")
		shown := len(names(t, other, "from")) + len(names(t, other, "to"))
		if shown == 2 {
			hidden++
		}
		p.wantTree(t, before)
	}
	if hidden != 2 {
		t.Errorf("the file was hidden after %d requests, want 2: in each folder", hidden)
	}
}

// A move of a process whose clock was years ahead is finished as well: its node would be
// hidden until then.
func TestMovesOfTheFutureAreFinished(t *testing.T) {
	t.Parallel()
	for hours, want := range map[int]string{-2: "new", 0: "", 2: "new", 50_000: "new"} {
		p := newPlatform(t)
		started := strconv.FormatInt(time.Now().Add(time.Duration(hours)*time.Hour).Unix(), 36)
		p.add("", ".rclone-fastio-move-"+started+"-abcdefgh-12345678-3-oldnew", "ours")
		if got := strings.Join(names(t, p.remote(t, "design"), ""), ","); got != want {
			t.Errorf("started in %d hours: the listing has %q, want %q", hours, got, want)
		}
	}
}

// Responses of changes may have no node.
func TestMovesWithoutNodesInResponses(t *testing.T) {
	t.Parallel()
	for _, r := range relocations {
		p := newPlatform(t, func(o *seed.Options) { o.Storage.BareWrites = true })
		want := r.others(p)
		f := p.remote(t, "design")
		if err := r.do(t.Context(), t, f); err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if err := f.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		maps.Copy(want, r.after)
		if r.stays {
			maps.Copy(want, r.before)
		}
		p.wantTree(t, want)
		page, err := p.Client(t).Storage.List(t.Context(), api.Workspace(api.ID(p.room.ID)), api.Root, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page.Nodes {
			if strings.HasPrefix(n.Name, ".") {
				t.Errorf("%s leaves %s", r.name, n.Name)
			}
		}
	}
}
