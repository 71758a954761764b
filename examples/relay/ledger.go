package main

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

// ledger compares the events that were added with those that the stream has stored.
type ledger struct {
	mu      sync.Mutex
	waiting map[string]entry  // events that are not stored yet, by their IDs
	stored  map[string]uint64 // sequences in the stream, by the IDs of events
	counts  map[api.ID]int    // of stored events, by workspace
	twice   int               // messages of events that the stream had stored before, under another sequence
	unknown int               // stored events that were never added
}

type entry struct {
	workspace api.ID
	added     time.Time
}

// newLedger returns an empty ledger.
func newLedger() *ledger {
	return &ledger{waiting: map[string]entry{}, stored: map[string]uint64{}, counts: map[api.ID]int{}}
}

// add calls f, which adds an event to a workspace, and records the event as waiting.
func (l *ledger) add(workspace api.ID, f func() api.OpaqueID) {
	l.mu.Lock() // before f: the stream may store the event before it is recorded as waiting
	defer l.mu.Unlock()
	l.waiting[f().Plain()] = entry{workspace, time.Now()}
}

// read reads the events of the stream until ctx is done, and moves each from waiting to
// stored. It counts events that are stored more than once, or were never added. A
// message that is delivered again has the same sequence, and counts once.
func (l *ledger) read(ctx context.Context, js jetstream.JetStream) error {
	o := relay.ConsumeOptions{Stream: relay.Stream{JetStream: js}, Name: "ledger"}
	return relay.Consume(ctx, o, func(_ context.Context, m relay.Message[events.Event]) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		id := m.Value.ID.Plain()
		_, added := l.waiting[id]
		sequence, stored := l.stored[id]
		switch {
		case stored && sequence == m.Sequence: // delivered again
		case stored:
			l.twice++
		case !added:
			l.unknown++
		default:
			l.stored[id] = m.Sequence
			l.counts[m.Value.WorkspaceID]++
			delete(l.waiting, id)
		}
		return nil
	})
}

// balance is the state of a ledger.
type balance struct {
	stored, waiting int
	twice, unknown  int                      // events that are stored more than once, or were never added; both must be 0
	counts          map[api.ID]int           // stored events by workspace
	lag             map[api.ID]time.Duration // age of the oldest event that waits, by workspace
	oldest          time.Duration            // the largest lag
}

// balance returns how many events are stored, still wait, are stored more than once or
// are unknown, and for how long the oldest event of each workspace has waited.
func (l *ledger) balance(now time.Time) balance {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := balance{
		stored: len(l.stored), waiting: len(l.waiting), twice: l.twice, unknown: l.unknown,
		counts: maps.Clone(l.counts), lag: map[api.ID]time.Duration{},
	}
	for _, e := range l.waiting {
		age := now.Sub(e.added)
		b.lag[e.workspace] = max(b.lag[e.workspace], age)
		b.oldest = max(b.oldest, age)
	}
	return b
}
