package events_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/table"
)

//nolint:thelper // its rows are tests
func TestCheckpointStores(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]func(t *testing.T) events.CheckpointStore{
		"memory": func(*testing.T) events.CheckpointStore { return new(events.MemoryStore) },
		"files": func(t *testing.T) events.CheckpointStore {
			t.Helper()
			return events.FileStore(filepath.Join(t.TempDir(), "new", "state"))
		},
	}, func(t *testing.T, open func(t *testing.T) events.CheckpointStore) {
		table.Each(t, map[string]func(t *testing.T, s events.CheckpointStore){
			"nothing is there at first": func(t *testing.T, s events.CheckpointStore) {
				holds(t, s, "mine", events.Checkpoint{})
			},
			"a save replaces the revision it knows of": func(t *testing.T, s events.CheckpointStore) {
				for n := range uint64(3) {
					data := []byte{byte(n), '\n', 0xff}
					save(t, s, "mine", events.Checkpoint{Revision: n, Data: data})
					holds(t, s, "mine", events.Checkpoint{Revision: n + 1, Data: data})
				}
			},
			"a save of another revision fails": func(t *testing.T, s events.CheckpointStore) {
				save(t, s, "mine", events.Checkpoint{Data: []byte("a")})
				save(t, s, "mine", events.Checkpoint{Revision: 1, Data: []byte("b")})
				for _, revision := range []uint64{0, 1, 3} {
					_, err := s.Save(t.Context(), "mine", events.Checkpoint{Revision: revision, Data: []byte("c")})
					if !errors.Is(err, events.ErrCheckpointTaken) || !errors.Is(err, api.ErrConflict) {
						t.Errorf("revision %d: %v", revision, err)
					}
				}
				_, err := s.Save(t.Context(), "yours", events.Checkpoint{Revision: 1})
				if !errors.Is(err, events.ErrCheckpointTaken) {
					t.Errorf("a revision without a checkpoint: %v", err)
				}
				holds(t, s, "mine", events.Checkpoint{Revision: 2, Data: []byte("b")})
			},
			"no data is data": func(t *testing.T, s events.CheckpointStore) {
				save(t, s, "mine", events.Checkpoint{})
				c, err := s.Load(t.Context(), "mine")
				if err != nil || c.Revision != 1 || len(c.Data) != 0 {
					t.Errorf("%+v, %v", c, err)
				}
			},
			"what a caller does to its bytes later has no effect": func(t *testing.T, s events.CheckpointStore) {
				data := []byte("abc")
				save(t, s, "mine", events.Checkpoint{Data: data})
				data[0] = 'x'
				c, err := s.Load(t.Context(), "mine")
				if err != nil {
					t.Fatal(err)
				}
				c.Data[1] = 'x'
				holds(t, s, "mine", events.Checkpoint{Revision: 1, Data: []byte("abc")})
			},
			"any name is a name of its own": func(t *testing.T, s events.CheckpointStore) {
				names := []string{
					"", ".", "..", "/", "a/b", "a\\b", "../up", "a b", "a+b", "a%20b", "ünï¢ødé", "a:b", "a*b?",
					"line\nbreak", "nul\x00", "x.checkpoint", "x.checkpoint.lock", "x.checkpoint.tmp-1", "x",
					"workspace-4012345678901234567-1f2e", "-rf", "~",
				}
				for _, name := range names {
					save(t, s, name, events.Checkpoint{Data: []byte(name)})
				}
				for _, name := range names {
					holds(t, s, name, events.Checkpoint{Revision: 1, Data: []byte(name)})
				}
			},
			"of those who save at once, one wins": func(t *testing.T, s events.CheckpointStore) {
				for revision := range uint64(5) {
					var won atomic.Int32
					var all sync.WaitGroup
					for range 8 {
						all.Go(func() {
							switch _, err := s.Save(t.Context(), "mine", events.Checkpoint{Revision: revision}); {
							case err == nil:
								won.Add(1)
							case !errors.Is(err, events.ErrCheckpointTaken):
								t.Error(err)
							}
						})
					}
					all.Wait()
					if won.Load() != 1 {
						t.Fatalf("revision %d: %d saves succeeded", revision, won.Load())
					}
				}
			},
		}, func(t *testing.T, test func(t *testing.T, s events.CheckpointStore)) { test(t, open(t)) })
	})
}

func save(t *testing.T, s events.CheckpointStore, name string, c events.Checkpoint) {
	t.Helper()
	if got, err := s.Save(t.Context(), name, c); err != nil || got != c.Revision+1 {
		t.Fatalf("Save(%q, revision %d): %d, %v", name, c.Revision, got, err)
	}
}

func holds(t *testing.T, s events.CheckpointStore, name string, want events.Checkpoint) {
	t.Helper()
	got, err := s.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q holds (-want +got):\n%s", name, diff)
	}
}

func TestFileStoreUsesOneFilePerCheckpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := events.FileStore(dir)
	save(t, s, "../a/b c", events.Checkpoint{Data: []byte("data")})
	b, err := os.ReadFile(filepath.Join(dir, "..%2Fa%2Fb+c.checkpoint"))
	if err != nil || !strings.HasSuffix(string(b), "\ndata") {
		t.Errorf("%q, %v", b, err)
	}
}

// A file with one wrong byte is an error and is kept. It is not treated as a
// missing checkpoint.
func TestFileStoreDetectsDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mine.checkpoint")
	s := events.FileStore(filepath.Dir(path))
	save(t, s, "mine", events.Checkpoint{Data: []byte(`{"mark":"2026-09-01T10:00:00Z"}`)})
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := []string{
		"", "\n", "1", "x\ndata", "-1\ndata", "\x00\x00\x00", "99999999999999999999\n{}", " 1\n{}", "1 \n{}",
		string(sound[:len(sound)-1]), string(sound) + "\n", "v3" + string(sound[2:]),
	}
	for i := range sound {
		for _, c := range []byte("0189 av\n\x00") {
			if c != sound[i] {
				damaged = append(damaged, string(sound[:i])+string(c)+string(sound[i+1:]))
			}
		}
	}
	for _, content := range damaged {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := s.Load(t.Context(), "mine"); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: Load: %+v, %v", content, c, err)
		}
		_, err := s.Save(t.Context(), "mine", events.Checkpoint{Revision: 1})
		if err == nil || errors.Is(err, events.ErrCheckpointTaken) {
			t.Errorf("%q: Save: %v", content, err)
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != content {
			t.Errorf("%q: the file is now %q, %v", content, kept, err)
		}
	}
}

func TestFileStoreReadsCheckpointsWithoutAChecksum(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mine.checkpoint")
	s := events.FileStore(filepath.Dir(path))
	if err := os.WriteFile(path, []byte("7\ndata\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, s, "mine", events.Checkpoint{Revision: 7, Data: []byte("data\n")})
	save(t, s, "mine", events.Checkpoint{Revision: 7, Data: []byte("more")})
	holds(t, s, "mine", events.Checkpoint{Revision: 8, Data: []byte("more")})
}
