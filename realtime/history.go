package realtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/times"
	"github.com/fastio-go/fastio/internal/wait"
)

// history is the unread range of the event log: the part that is being read, and the gap
// that has begun since.
type history struct {
	mu        sync.Mutex
	reading   time.Time     // where the part that is being read starts, by the server's clock; zero if none is
	gapStart  time.Time     // start of the gap
	gapOpen   bool          // there is a gap
	gapSignal chan struct{} // signaled by enqueueGap; nil without CatchUp
	seen      recent[api.OpaqueID]
}

const (
	appearsLate = 2 * time.Minute  // maximum delay of an event in the log
	secondRead  = 15 * time.Second // after the first read, for delayed events
	maxBacklog  = 5_000            // events that are read at most; they take two minutes
	maxSeen     = 10_000           // IDs of events that are remembered, so that none is sent twice
)

// enqueueGap records that events since a time may have been missed, and starts the read
// of the log. It does nothing without CatchUp, or if the time is not known (zero).
func (h *history) enqueueGap(from time.Time) {
	if h.gapSignal == nil || from.IsZero() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gapOpen || from.Before(h.gapStart) {
		h.gapStart = from
	}
	h.gapOpen = true
	signal(h.gapSignal)
}

// pendingGap returns the time from which on the log must still be read, and
// whether there is one.
func (h *history) pendingGap() (from time.Time, pending bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	isReading := !h.reading.IsZero()
	switch {
	case isReading && h.gapOpen:
		return times.Earlier(h.reading, h.gapStart), true
	case isReading:
		return h.reading, true
	}
	return h.gapStart, h.gapOpen
}

// takeGap returns where the gap starts, for a read of the log. A gap that is noticed later
// is read separately. pendingGap returns this gap, too, until ackGap is called. Without a
// gap, found is false.
func (h *history) takeGap() (from time.Time, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gapOpen {
		return time.Time{}, false
	}
	h.reading, h.gapOpen = h.gapStart, false
	return h.reading, true
}

// ackGap records that the log was read for the gap that takeGap has returned: no gap is
// being read any more.
func (h *history) ackGap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading = time.Time{}
}

// keepHistory reads the event log for each period in which events may have been
// missed. It reads the log twice, because events appear late in it.
func (s *Subscription) keepHistory(ctx context.Context) error {
	h := &s.history
	for {
		select {
		case <-h.gapSignal:
		case <-ctx.Done():
			return ctx.Err()
		}
		from, found := h.takeGap()
		if !found {
			continue
		}
		if err := s.readLog(ctx, from); err != nil {
			return err
		}
		if err := wait.Sleep(ctx, secondRead); err != nil {
			return err
		}
		if err := s.readLog(ctx, from); err != nil {
			return err
		}
		h.ackGap()
	}
}

// readLog queues the events that were created after the time from, or shortly before it (by at
// most appearsLate), because events appear late in the log. If the log cannot be read to the
// end, it requests a resync. It returns an error only if ctx is done.
func (s *Subscription) readLog(ctx context.Context, from time.Time) error {
	s.pending.expectEntries(from)
	q := events.Query{Profile: s.profile, CreatedMin: from.Add(-appearsLate)}
	final := func(err error) bool { // another walk would end at the same page
		return call.Final(err) || errors.Is(err, api.ErrNoProgress)
	}
	err := wait.Poll{Final: final, Failed: s.pollFailed}.Run(ctx, func() (bool, time.Duration, error) {
		const done, pause = true, 0 // only a failure is repeated
		return done, pause, s.walkLog(ctx, q, from)
	})
	if err != nil && ctx.Err() == nil {
		s.pending.requestResync(ResyncReasonLog, from, err)
	}
	return ctx.Err()
}

// pollFailed shows a failure of a call that is retried after a pause.
func (s *Subscription) pollFailed(failures int, err error, pause time.Duration) {
	s.notify(func(st *Status) { st.setError(ofPoll, failures, err, pause) })
}

// walkLog queues the events that a query finds and that were not queued before. After
// maxBacklog events it stops, and requests a resync for the changes since the time from.
func (s *Subscription) walkLog(ctx context.Context, q events.Query, from time.Time) error {
	n := 0
	for e, err := range s.s.log.Walk(q, noCursor, s.opts...).Events(ctx) {
		if err != nil {
			return err
		}
		n++
		if n > maxBacklog {
			s.pending.requestResync(ResyncReasonBacklog, from, nil) // without an error
			return nil
		}
		if id := api.OpaqueID(e.ID.Plain()); id != "" && !s.history.seen.add(id, maxSeen) {
			continue
		}
		if err := s.pending.enqueueEntry(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// recent is a bounded set that evicts its oldest members.
type recent[K comparable] struct {
	members map[K]bool
	ring    []K
	next    int
}

// add adds k to the set and reports whether it was new. If the set then has
// more than limit members, the oldest is removed. The limit must be the same in
// each call.
func (r *recent[K]) add(k K, limit int) bool {
	if r.members[k] {
		return false
	}
	if r.members == nil {
		r.members = map[K]bool{}
	}
	if len(r.ring) < limit {
		r.ring = append(r.ring, k)
	} else {
		delete(r.members, r.ring[r.next])
		r.ring[r.next] = k
		r.next = (r.next + 1) % limit
	}
	r.members[k] = true
	return true
}
