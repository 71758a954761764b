package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
)

// A Store persists the results of sign-ins, one record per profile. Records are
// secrets: a store outside the machine must encrypt them, for example with [Seal].
// It must be safe for concurrent use, by several processes if it is persistent.
type Store interface {
	// Load returns the record of a profile, nil if there is none. It does not
	// wait for an Update.
	Load(ctx context.Context, profile string) ([]byte, error)

	// Update calls edit with the record of a profile, nil if there is none. The
	// record is locked until edit returns, which may take as long as a request; ctx
	// limits the wait for the lock only. A record passed to save is durable when
	// save returns; nil removes the record. Update returns the error of edit
	// unchanged; it does not undo a save.
	Update(ctx context.Context, profile string, edit func(record []byte, save func(record []byte) error) error) error
}

// checkProfile rejects an invalid name of a profile.
func checkProfile(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return &api.InputError{Field: "profile", Rule: "must not be blank", Got: strconv.Quote(name)}
	case !utf8.ValidString(name):
		return &api.InputError{Field: "profile", Rule: "must be UTF-8", Got: strconv.Quote(name)}
	}
	return checkName("", "profile", name)
}

// MemoryStore keeps records in memory. The zero value is ready for use. It is safe
// for concurrent use and does not print its records.
type MemoryStore struct {
	mu       sync.Mutex
	profiles map[string]*memory
}

// memory is a profile of a [MemoryStore].
type memory struct {
	lock   chan struct{} // holds one value while the record is edited
	record *api.Secret   // nil without a record
	edits  uint64
}

// profile returns a profile. The caller holds the mutex.
func (s *MemoryStore) profile(name string) *memory {
	p := s.profiles[name]
	if p == nil {
		p = &memory{lock: make(chan struct{}, 1)}
		if s.profiles == nil {
			s.profiles = map[string]*memory{}
		}
		s.profiles[name] = p
	}
	return p
}

// Load returns the record of a profile, nil if there is none.
func (s *MemoryStore) Load(ctx context.Context, profile string) ([]byte, error) {
	if err := cmp.Or(checkProfile(profile), ctx.Err()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profile(profile).load(), nil
}

// Update calls edit with the record of a profile.
func (s *MemoryStore) Update(
	ctx context.Context, profile string, edit func(record []byte, save func(record []byte) error) error,
) error {
	if err := cmp.Or(checkProfile(profile), ctx.Err()); err != nil {
		return err
	}
	s.mu.Lock()
	p := s.profile(profile)
	s.mu.Unlock()
	select {
	case p.lock <- struct{}{}:
		defer func() { <-p.lock }()
	case <-ctx.Done():
		return fmt.Errorf("fastio: oauth: the profile is busy: %w", ctx.Err())
	}
	s.mu.Lock()
	record := p.load()
	s.mu.Unlock()
	return edit(record, func(record []byte) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.save(record)
		return nil
	})
}

func (p *memory) load() []byte {
	if p.record == nil {
		return nil
	}
	return []byte(p.record.Reveal())
}

func (p *memory) save(record []byte) {
	p.edits++
	if p.record = nil; record != nil {
		p.record = new(api.NewSecret(string(record)))
	}
}

// signIns lets the sources of this process detect its sign-ins and sign-outs
// without reading their stores each time.
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

// join returns the counter of a profile for the lifetime of s.
func (r *registry) join(s *Source) *counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.key(s.config.Store, s.config.profile())
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

// signInto edits the profile for a sign-in or a sign-out.
func (c *Config) signInto(ctx context.Context, change func(r *record, save func() error) error) error {
	defer signIns.count(c.Store, c.profile())
	return c.edit(ctx, change)
}

// versioned is a [Store] with a cheap check for changes.
type versioned interface {
	version(profile string) version
}

// version identifies the content of a store. The zero value means unknown.
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
