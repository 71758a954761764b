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
	limit    int           // of undelivered changes; beyond, one Resync replaces them all
	maxBytes int           // the same in bytes, without entries of the log
	window   time.Duration // how long changes are collected before delivery

	mu          sync.Mutex
	waiting     []*Change                  // in order of arrival
	fields      map[activity.Field]*Change // the fields of waiting, by plain spelling
	events      int                        // of the socket, in waiting
	bytes       int                        // in waiting, about
	entries     int                        // of the log, in waiting or in the current batch
	entriesFrom time.Time                  // the earliest time from which on the log was read for these
	resync      bool                       // a Resync is waiting that replaces every field
	resyncFrom  time.Time                  // the earliest time from which on the undelivered Resync counts
	due         time.Time                  // when the first of waiting is delivered
	seen        recent[eventKey]           // events of the socket
	lastRetired uint64                     // the latest session whose frames are ignored

	polledTo    activity.Cursor // cursor of the latest poll
	deliveredTo activity.Cursor // cursor up to which all changes were delivered
	delivering  bool            // the loop has a batch

	wake  chan struct{} // signaled when waiting is no longer empty
	space chan struct{} // signaled when the loop is done with entries
}

const (
	maxEvents  = 1000     // of the socket, waiting; further ones only set their field
	maxEntries = 1000     // of the log
	usualBytes = 16 << 20 // waiting
	maxKey     = 1 << 10  // bytes of a field or event that is deduplicated
)

// newPending returns an empty queue for limit fields and usualBytes of messages, or more
// if one message may have more. It delivers changes that come within the window together.
func newPending(limit int, maxMessage int64, window time.Duration) *pending {
	return &pending{
		limit: limit, maxBytes: int(max(usualBytes, maxMessage)), window: window, fields: map[activity.Field]*Change{},
		wake: make(chan struct{}, 1), space: make(chan struct{}, 1),
	}
}

// start sets the cursor from which changes are reported.
func (p *pending) start(at activity.Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.polledTo, p.deliveredTo = at, at
}

// enqueuePoll queues the changes of a poll, the earliest first, and records the cursor
// that the poll has reached.
func (p *pending) enqueuePoll(fields map[activity.Field]api.Time, cursor activity.Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	byTime := func(a, b activity.Field) int {
		return cmp.Or(fields[a].Compare(fields[b].Time), cmp.Compare(a, b))
	}
	for _, f := range slices.SortedFunc(maps.Keys(fields), byTime) {
		p.changeOf(f, fields[f])
	}
	p.polledTo = cursor
	if len(p.waiting) == 0 && !p.delivering {
		p.deliveredTo = cursor
	}
}

// enqueueFrame queues the changes of a frame of the socket, unless the session of that
// socket has ended (retire). A duplicate event is dropped. If an event has no room,
// only the change of its field is queued.
func (p *pending) enqueueFrame(session uint64, f frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session <= p.lastRetired {
		return
	}
	for name, at := range f.fields {
		p.changeOf(activity.Field(name), at)
	}
	switch {
	case f.raw != nil: // a frame of an unknown kind
		p.add(&Change{Frame: f.raw})
	case f.event == nil || !p.isNew(f.event): // only fields, or a duplicate
	case f.event.Field == "": // an event of no field
		p.add(&Change{Events: []*Event{f.event}})
	default:
		size := f.event.size()
		c := p.changeOf(f.event.Field, api.Time{})
		hasRoom := p.events < maxEvents && p.bytes+size <= p.maxBytes
		if c != nil && hasRoom {
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

// size returns the approximate size of the variable parts of an event, in bytes.
func (e *Event) size() int {
	const member = 128 // an entry of a map without its content, about
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

// isNew reports whether an event of the socket was not seen before, and remembers it.
// Events without a time, and very large ones, always count as new.
func (p *pending) isNew(e *Event) bool {
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
	p.lastRetired = max(p.lastRetired, session)
}

// changeOf returns the queued change of a field, and sets its time to at if that is later. If
// none is queued, it adds one. It returns nil if a Resync replaces all changes. p.mu is held.
func (p *pending) changeOf(f activity.Field, at api.Time) *Change {
	key := f.Plain()
	c := p.fields[key]
	if c == nil {
		c = &Change{Field: f}
		if !p.add(c) {
			return nil
		}
		p.fields[key] = c
	}
	c.Field = f // in the latest spelling, which may differ from that of the same key before
	if at.After(c.At.Time) {
		c.At = at
	}
	return c
}

// add appends a change to the queue. When the queue is full, one Resync replaces all
// changes except events of the log (Entry), which have a limit of their own. It returns
// false if a Resync replaces the change. The first change of an empty queue is due
// after the window of Coalesce. p.mu is held.
func (p *pending) add(c *Change) bool {
	if c.Entry == nil { // tryEnqueue limits and counts the others
		if p.resync {
			return false
		}
		size := c.size()
		if len(p.waiting)-p.entries >= p.limit || p.bytes+size > p.maxBytes {
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

// requestResync queues a Resync, because changes since the time from may be missing. It
// replaces all queued changes except events of the log. If a Resync is pending already, only
// its time is changed, to the earlier of both.
func (p *pending) requestResync(reason ResyncReason, from time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resyncFrom.IsZero() || from.Before(p.resyncFrom) {
		p.resyncFrom = from
	}
	if !p.resync {
		p.collapse(reason, err)
	}
}

// collapse replaces all pending changes except log entries by one Resync. p.mu is held.
func (p *pending) collapse(reason ResyncReason, err error) {
	p.waiting = slices.DeleteFunc(p.waiting, func(c *Change) bool { return c.Entry == nil })
	clear(p.fields)
	p.events, p.bytes = 0, 0 // neither counts log entries
	p.add(&Change{Resync: &Resync{Reason: reason, Err: err}})
	p.resync = true // only now, because add then refuses all but log entries
}

// enqueueEntry queues an event of the log. It blocks while too many of them are
// pending.
func (p *pending) enqueueEntry(ctx context.Context, e *events.Event) error {
	for !p.tryEnqueue(e) {
		select {
		case <-p.space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// tryEnqueue queues an event of the log, unless maxEntries of them are pending. It
// reports whether it did.
func (p *pending) tryEnqueue(e *events.Event) bool {
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
	changes  []*Change
	polledTo activity.Cursor
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

// await returns after a wait (0 means no limit), when the first change arrives in an
// empty queue, or when over is closed.
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

// collect removes and returns the changes if they are due, or if over is closed.
// Otherwise it returns the time until they are due, 0 if there are none.
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
	b = batch{p.waiting, p.polledTo}
	p.waiting, p.events, p.bytes, p.resync, p.delivering = nil, 0, 0, false, true
	clear(p.fields)
	return b, 0
}

// markDelivered records that the loop of the caller has finished a batch. All changes
// count as delivered up to the cursor that the polls had reached when the batch was taken,
// or up to the latest cursor if nothing is queued.
func (p *pending) markDelivered(b batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delivering = false
	p.release(b.changes)
	p.deliveredTo = b.polledTo
	if len(p.waiting) == 0 {
		p.deliveredTo = p.polledTo
	}
}

// requeue queues the rest of a batch again, before later changes, if the loop of the
// caller was left within the batch. The delivered events of the log make room for others.
// If a Resync is pending then, only it and events of the log stay in the queue.
func (p *pending) requeue(delivered, rest []*Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delivering = false
	p.release(delivered)
	later := p.waiting
	p.waiting = nil
	for _, c := range rest {
		p.requeueChange(c)
	}
	p.waiting = append(p.waiting, later...)
	if p.resync { // a Resync was in rest or in later, or add has made one because the queue became full
		p.waiting = slices.DeleteFunc(p.waiting, func(c *Change) bool { return c.Entry == nil && c.Resync == nil })
		clear(p.fields)
		p.events, p.bytes = 0, 0 // neither counts what is left: the Resync, and events of the log
	}
}

// requeueChange queues a change again. If a change of the same field is queued, it adds the
// events of c to that if there is room for all. If a Resync is pending, it drops c, except for
// an entry of the log. p.mu is held.
func (p *pending) requeueChange(c *Change) {
	if p.resync && c.Entry == nil {
		return
	}
	key, size := c.Field.Plain(), c.size()
	if again := p.fields[key]; again != nil && c.Field != "" {
		if p.bytes+size <= p.maxBytes {
			again.Events = append(c.Events, again.Events...)
			p.events += len(c.Events)
			p.bytes += size
		}
		return
	}
	if !p.add(c) {
		return
	}
	if c.Field != "" {
		p.fields[key] = c
	}
	p.events += len(c.Events)
	p.resync = p.resync || c.Resync != nil
}

// release makes room in the queue for as many events of the log as were delivered. The time
// of a delivered Resync is not needed any more, unless another one is pending. p.mu is held.
func (p *pending) release(delivered []*Change) {
	for _, c := range delivered {
		if c.Entry != nil {
			p.entries--
		}
		if c.Resync != nil && !p.resync {
			p.resyncFrom = time.Time{}
		}
	}
	signal(p.space)
}

// expectEntries records that entries of the log are read from a time on. As long as entries
// are undelivered, it keeps the earliest of these times, which position needs.
func (p *pending) expectEntries(from time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	allDelivered := p.entries == 0 // so that position does not need the recorded time
	if allDelivered || from.Before(p.entriesFrom) {
		p.entriesFrom = from
	}
}

// position returns the cursor up to which all changes were delivered, and the time from
// which on entries of the log, or the changes that a Resync replaces, are pending, zero if
// none are.
func (p *pending) position() (covered activity.Cursor, pendingFrom time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pendingFrom = p.resyncFrom
	if p.entries > 0 && (pendingFrom.IsZero() || p.entriesFrom.Before(pendingFrom)) {
		pendingFrom = p.entriesFrom
	}
	return p.deliveredTo, pendingFrom
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
