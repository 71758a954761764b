package oauth

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
)

// signIns lets the sources of this process notice its sign-ins and sign-outs
// without asking their stores each time.
//
//nolint:gochecknoglobals // copies of a FileStore share it
var signIns = registry{seed: maphash.MakeSeed(), counters: map[uint64]*counter{}}

// registry counts the sign-ins and sign-outs of profiles that have a [Source].
type registry struct {
	seed maphash.Seed

	mu       sync.Mutex
	counters map[uint64]*counter
}

type counter struct {
	atomic.Uint64

	sources int // that use it
}

// key identifies a profile of a store.
func (r *registry) key(store Store, profile string) uint64 {
	id := struct {
		store   any
		profile string
	}{store, profile}
	if file, ok := store.(FileStore); ok {
		id.store = file.Path
	} else if !reflect.ValueOf(store).Comparable() {
		id.store = reflect.TypeOf(store)
	}
	return maphash.Comparable(r.seed, id)
}

// join returns the counter of a profile, for as long as s lives.
func (r *registry) join(s *Source) *counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.key(s.store, s.config.profile())
	c := r.counters[key]
	if c == nil {
		c = new(counter)
		r.counters[key] = c
	}
	c.sources++
	runtime.AddCleanup(s, r.leave, key)
	return c
}

func (r *registry) leave(key uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.counters[key]; c.sources > 1 {
		c.sources--
	} else {
		delete(r.counters, key)
	}
}

func (r *registry) count(store Store, profile string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.counters[r.key(store, profile)]; c != nil {
		c.Add(1)
	}
}

// signInto edits the profile on behalf of a sign-in or a sign-out.
func (c *Config) signInto(ctx context.Context, store Store, change func(r *record, save func() error) error) error {
	defer signIns.count(store, c.profile())
	return c.edit(ctx, store, change)
}

// versioned is a [Store] that reports at little cost whether it has changed.
type versioned interface {
	version(profile string) version
}

// version identifies the content of a store. The zero value is an unknown one.
type version struct {
	known bool
	edits uint64      // of a profile in memory
	file  fs.FileInfo // nil if there is no file
}

// same reports whether the content is known not to have changed between two
// versions.
func (v version) same(w version) bool {
	switch {
	case !v.known || !w.known:
		return false
	case v.file == nil || w.file == nil:
		return v.file == nil && w.file == nil && v.edits == w.edits
	}
	return os.SameFile(v.file, w.file) && v.file.ModTime().Equal(w.file.ModTime()) && v.file.Size() == w.file.Size()
}

// version identifies the file, which each edit replaces by a new one.
func (s FileStore) version(string) version {
	info, err := os.Stat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return version{known: true}
	}
	return version{known: err == nil, file: info}
}

func (s *MemoryStore) version(profile string) version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return version{known: true, edits: s.profile(profile).edits}
}
