package realtime

import (
	"context"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
)

// history is what of the event log is still to be read.
type history struct {
	mu   sync.Mutex
	from time.Time     // of the first event in question, by the server's clock
	more bool          // something is to be read
	due  chan struct{} // has something when there is; nil if nobody wants to know
	seen recent[api.OpaqueID]
}

const (
	late       = 2 * time.Minute  // how late an event may show up in the log
	secondLook = 15 * time.Second // after the first, for those that do
	maxBacklog = 5_000            // events worth reading; they take two minutes
	maxSeen    = 10_000
)

// owe notes that events since a moment may not have been told.
func (h *history) owe(from time.Time) {
	if h.due == nil || from.IsZero() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.more || from.Before(h.from) {
		h.from = from
	}
	h.more = true
	signal(h.due)
}

// owed returns since when events may not have been told, and whether any may.
func (h *history) owed() (from time.Time, owed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from, h.more
}

// paid notes that everything was read that was owed at a time.
func (h *history) paid(from time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.from.Equal(from) && len(h.due) == 0 {
		h.more = false
	}
}

// keepHistory reads the log whenever something is owed: twice, because the log
// lags behind.
func (s *Subscription) keepHistory(ctx context.Context) error {
	if !s.o.CatchUp {
		return nil
	}
	h := &s.history
	for {
		select {
		case <-h.due:
		case <-ctx.Done():
			return ctx.Err()
		}
		for look := range 2 {
			if look > 0 {
				if err := wait.Sleep(ctx, secondLook); err != nil {
					return err
				}
			}
			from, _ := h.owed()
			if err := s.readLog(ctx, from); err != nil {
				return err
			}
			if look > 0 {
				h.paid(from)
			}
		}
	}
}

// readLog hands over the events since a moment. It fails with the context alone.
func (s *Subscription) readLog(ctx context.Context, from time.Time) error {
	q := events.Query{Profile: s.profile, CreatedMin: from.Add(-late)}
	err := wait.Poll{Final: call.Final, Failed: s.pollFailed}.Run(ctx, func() (bool, time.Duration, error) {
		return true, 0, s.walkLog(ctx, q)
	})
	if err != nil && ctx.Err() == nil {
		s.pending.miss(ResyncReasonLog, err)
	}
	return ctx.Err()
}

// pollFailed shows a failure of a call that is repeated after a pause.
func (s *Subscription) pollFailed(failures int, err error, pause time.Duration) {
	s.tell(func(st *Status) { st.fail(true, failures, err, pause) })
}

func (s *Subscription) walkLog(ctx context.Context, q events.Query) error {
	n := 0
	for e, err := range s.s.log.Walk(q, "", s.opts...).Events(ctx) {
		if err != nil {
			return err
		}
		if n++; n > maxBacklog {
			s.pending.miss(ResyncReasonBacklog, nil)
			return nil
		}
		if id := api.OpaqueID(e.ID.Plain()); id != "" && !s.history.seen.add(id, maxSeen) {
			continue
		}
		if err := s.pending.entry(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// recent is a set that forgets its oldest members.
type recent[K comparable] struct {
	members map[K]bool
	ring    []K
	next    int
}

// add reports whether k was not among the latest.
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
