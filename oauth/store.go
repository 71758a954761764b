package oauth

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
)

// A Store keeps what sign-ins came to, a record for each profile. Records are
// secrets: a store that leaves the machine must encrypt them. It is safe for
// concurrent use, by several processes if it outlives one.
type Store interface {
	// Load returns the record of a profile, nil if there is none. It does not
	// wait for an Update.
	Load(ctx context.Context, profile string) ([]byte, error)

	// Update calls edit with the record of a profile, nil if there is none. Until
	// edit returns, nobody else edits the record. What edit gives to save is
	// durable when save returns; nil removes the record. The error of edit is
	// returned as it is, and what was saved before stays. Edit may take as long
	// as a request does; ctx bounds the wait for its turn alone.
	Update(ctx context.Context, profile string, edit func(record []byte, save func(record []byte) error) error) error
}

// checkProfile refuses what does not name a profile.
func checkProfile(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return &api.InputError{Field: "profile", Rule: "must not be blank", Got: strconv.Quote(name)}
	case !utf8.ValidString(name):
		return &api.InputError{Field: "profile", Rule: "must be UTF-8", Got: strconv.Quote(name)}
	}
	return checkName("", "profile", name)
}

// MemoryStore keeps records as long as the program runs. The zero value is ready
// for use, and safe for concurrent use. Nothing prints what it keeps.
type MemoryStore struct {
	mu       sync.Mutex
	profiles map[string]*memory
}

// memory is a profile of a [MemoryStore].
type memory struct {
	turn   chan struct{} // holds one value while somebody edits
	record *api.Secret   // nil without a record
	edits  uint64
}

// profile returns a profile. The caller holds the mutex.
func (s *MemoryStore) profile(name string) *memory {
	p := s.profiles[name]
	if p == nil {
		p = &memory{turn: make(chan struct{}, 1)}
		if s.profiles == nil {
			s.profiles = map[string]*memory{}
		}
		s.profiles[name] = p
	}
	return p
}

// Load returns the record of a profile, nil if there is none.
func (s *MemoryStore) Load(ctx context.Context, profile string) ([]byte, error) {
	if err := checkProfile(profile); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
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
	if err := checkProfile(profile); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	p := s.profile(profile)
	s.mu.Unlock()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
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
