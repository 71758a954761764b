package realtime

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// pending holds the undelivered changes. They are a set of fields and not a queue,
// so that adding to it never blocks on the loop over Changes.
type pending struct {
	limit  int           // of undelivered changes; beyond, one Resync replaces them all
	room   int           // the same in bytes, without entries of the log
	window time.Duration // how long changes are collected before delivery

	mu      sync.Mutex
	waiting []*Change                  // in order of arrival
	fields  map[activity.Field]*Change // the fields of waiting, by plain spelling
	events  int                        // of the socket, in waiting
	bytes   int                        // in waiting, about
	entries int                        // of the log, in waiting or in the current batch
	resync  bool                       // a Resync is waiting that replaces every field
	due     time.Time                  // when the first of waiting is delivered
	seen    recent[eventKey]           // events of the socket
	retired uint64                     // the latest session whose frames are ignored

	reached activity.Cursor // cursor of the latest poll
	covered activity.Cursor // cursor up to which all changes were delivered
	looping bool            // the loop has a batch

	wake  chan struct{} // signaled when waiting is no longer empty
	space chan struct{} // signaled when the loop is done with entries
}

const (
	maxEvents  = 1000     // of the socket, waiting; further ones only set their field
	maxEntries = 1000     // of the log
	maxBytes   = 16 << 20 // waiting; at least one message
	maxKey     = 1 << 10  // bytes of a field or event that is deduplicated
)

// newPending returns an empty queue for limit fields and room bytes of
// messages, which delivers changes that come within the window together.
func newPending(limit int, room int64, window time.Duration) *pending {
	return &pending{
		limit: limit, room: int(max(maxBytes, room)), window: window, fields: map[activity.Field]*Change{},
		wake: make(chan struct{}, 1), space: make(chan struct{}, 1),
	}
}

// start sets the cursor from which changes are reported.
func (p *pending) start(at activity.Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reached, p.covered = at, at
}

// report queues the changes of a poll, and records the cursor that the poll has
// reached.
func (p *pending) report(fields map[activity.Field]api.Time, reached activity.Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	earlier := func(a, b activity.Field) int {
		return cmp.Or(fields[a].Compare(fields[b].Time), cmp.Compare(a, b))
	}
	for _, f := range slices.SortedFunc(maps.Keys(fields), earlier) {
		p.change(f, fields[f])
	}
	p.reached = reached
	if len(p.waiting) == 0 && !p.looping {
		p.covered = reached
	}
}

// frame queues the changes of a frame of the socket, unless the session of that
// socket was replaced.
func (p *pending) frame(session uint64, f frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session <= p.retired {
		return
	}
	for name, at := range f.fields {
		p.change(activity.Field(name), at)
	}
	switch {
	case f.raw != nil:
		p.add(&Change{Frame: f.raw})
	case f.event == nil || !p.fresh(f.event):
	case f.event.Field == "":
		p.add(&Change{Events: []*Event{f.event}})
	default:
		size := f.event.size()
		if c := p.change(f.event.Field, api.Time{}); c != nil && p.events < maxEvents && p.bytes+size <= p.room {
			c.Events = append(c.Events, f.event)
			p.events++
			p.bytes += size
		}
	}
}

// size returns the approximate variable size of a change in bytes.
func (c *Change) size() int {
	n := 2*len(c.Field) + len(c.Frame) // the field is a key as well
	for _, e := range c.Events {
		n += e.size()
	}
	return n
}

// size returns the approximate variable size of an event in bytes.
func (e *Event) size() int {
	const member = 128 // of a map, empty
	n := len(e.Name) + len(e.Category) + len(e.SubCategory) + len(e.ObjectID)
	n += len(e.CallingUserID) + len(e.Field) + len(e.Data)
	for name, value := range e.Extra {
		n += member + len(name) + len(value)
	}
	return n
}

// eventKey identifies an event to find duplicates: its frame has no ID.
type eventKey struct {
	name   events.Name
	object string
	at     int64
}

// fresh reports whether an event was not seen before, and remembers it. Events
// without a time, and very large ones, count as fresh.
func (p *pending) fresh(e *Event) bool {
	if e.Triggered.IsZero() || len(e.Name)+len(e.ObjectID) > maxKey {
		return true
	}
	return p.seen.add(eventKey{e.Name, e.ObjectID.Plain(), e.Triggered.UnixNano()}, maxEvents)
}

// retire makes the queue ignore later frames of a session, and of all sessions
// before it.
func (p *pending) retire(session uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = max(p.retired, session)
}

// change returns the queued change of a field and adds it if there is none. It
// returns nil if a Resync stands for all changes.
func (p *pending) change(f activity.Field, at api.Time) *Change {
	key := f.Plain()
	c := p.fields[key]
	if c == nil {
		c = &Change{Field: f}
		if !p.add(c) {
			return nil
		}
		p.fields[key] = c
	}
	c.Field = f
	if at.After(c.At.Time) {
		c.At = at
	}
	return c
}

// add puts a change into the queue. If there is no room, one Resync replaces all
// changes but those that are events of the log (Entry), which have a limit of their
// own. It returns false if a Resync stands for the change. The first change of an empty
// queue is due after the window.
func (p *pending) add(c *Change) bool {
	if c.Entry == nil {
		if p.resync {
			return false
		}
		size := c.size()
		if len(p.waiting)-p.entries >= p.limit || p.bytes+size > p.room {
			p.collapse(ResyncReasonOverflow, nil)
			return false
		}
		p.bytes += size
	}
	if len(p.waiting) == 0 {
		p.due = time.Now().Add(p.window)
		signal(p.wake)
	}
	p.waiting = append(p.waiting, c)
	return true
}

// requestResync adds a Resync, unless one is pending.
func (p *pending) requestResync(reason ResyncReason, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.resync {
		p.collapse(reason, err)
	}
}

// collapse replaces all pending changes except log entries by one Resync.
func (p *pending) collapse(reason ResyncReason, err error) {
	p.waiting = slices.DeleteFunc(p.waiting, func(c *Change) bool { return c.Entry == nil })
	clear(p.fields)
	p.events, p.bytes = 0, 0
	p.add(&Change{Resync: &Resync{Reason: reason, Err: err}})
	p.resync = true
}

// entry queues an event of the log. It blocks while too many of them are
// pending.
func (p *pending) entry(ctx context.Context, e *events.Event) error {
	for !p.admit(e) {
		select {
		case <-p.space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// admit queues an event of the log and reports true, unless too many of them
// are pending.
func (p *pending) admit(e *events.Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries >= maxEntries {
		return false
	}
	p.add(&Change{Entry: e})
	p.entries++
	return true
}

// batch is a list of changes for the loop, and the cursor of the polls then.
type batch struct {
	changes []*Change
	reached activity.Cursor
}

// take waits until changes are due, and removes and returns them. When over is
// closed, it returns pending changes at once, or an empty batch.
func (p *pending) take(over <-chan struct{}) batch {
	for {
		b, wait := p.collect(over)
		if len(b.changes) > 0 || closed(over) {
			return b
		}
		p.await(wait, over)
	}
}

// await returns after wait, when a change arrives, or when over is closed.
func (p *pending) await(wait time.Duration, over <-chan struct{}) {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-due:
	case <-p.wake:
	case <-over:
	}
}

// collect removes and returns the changes that are due. If they are not due
// yet, it returns the time until then; 0 if there are none.
func (p *pending) collect(over <-chan struct{}) (b batch, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return batch{}, 0
	}
	wait = time.Until(p.due)
	if wait > 0 && !closed(over) {
		return batch{}, wait
	}
	b = batch{p.waiting, p.reached}
	p.waiting, p.events, p.bytes, p.resync, p.looping = nil, 0, 0, false, true
	clear(p.fields)
	return b, 0
}

// done records that the loop of the caller has finished a batch: its changes
// count as delivered.
func (p *pending) done(b batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looping = false
	p.release(b.changes)
	p.covered = b.reached
	if len(p.waiting) == 0 {
		p.covered = p.reached
	}
}

// requeue is called if the loop of the caller was left within a batch. The rest
// of the batch becomes pending again, before later changes.
func (p *pending) requeue(delivered, rest []*Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looping = false
	p.release(delivered)
	later := p.waiting
	p.waiting = nil
	for _, c := range rest {
		key := c.Field.Plain()
		switch again := p.fields[key]; {
		case p.resync && c.Entry == nil: // the Resync replaces this one too
		case again != nil && c.Field != "": // the field has changed again: one change has the events of both
			if size := c.size(); p.bytes+size <= p.room { // else its events are dropped
				again.Events = append(c.Events, again.Events...)
				p.events += len(c.Events)
				p.bytes += size
			}
		case p.add(c):
			if c.Field != "" {
				p.fields[key] = c
			}
			p.events += len(c.Events)
			p.resync = p.resync || c.Resync != nil
		}
	}
	if p.resync { // the Resync replaces later changes too
		later = slices.DeleteFunc(later, func(c *Change) bool { return c.Entry == nil && c.Resync == nil })
		clear(p.fields)
		p.events, p.bytes = 0, 0
	}
	p.waiting = append(p.waiting, later...)
}

// release makes room in the queue for as many events of the log as were
// delivered.
func (p *pending) release(delivered []*Change) {
	for _, c := range delivered {
		if c.Entry != nil {
			p.entries--
		}
	}
	signal(p.space)
}

// position returns the cursor up to which all changes were delivered, and whether
// entries of the log are pending.
func (p *pending) position() (covered activity.Cursor, entries bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.covered, p.entries > 0
}

// closed reports whether a channel, on which no values are sent, is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// signal sends on a channel unless that would block.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
