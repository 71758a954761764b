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

// pending is what waits for the loop over Changes: a set of fields and not a
// queue of news, so that whoever adds to it never waits for the loop.
type pending struct {
	limit  int           // changes that may wait; beyond, one Resync stands for all
	room   int           // the same in bytes, of what is not of the log
	window time.Duration // how long what comes is gathered before it is handed over

	mu      sync.Mutex
	waiting []*Change                  // in the order in which they came to wait
	fields  map[activity.Field]*Change // those of waiting that have one, by its plain spelling
	events  int                        // of the socket, in waiting
	bytes   int                        // in waiting, about
	entries int                        // of the log, in waiting or in the loop's hands
	resync  bool                       // a Resync is waiting that stands for every field
	due     time.Time                  // when the first of waiting is handed over
	told    recent[told]               // events of the socket
	retired uint64                     // the latest session whose frames no longer count

	reached activity.Cursor // what polls have told up to
	covered activity.Cursor // the same without what waits or is in the loop's hands
	looping bool            // the loop is at work on what it took

	wake  chan struct{} // has something when waiting is no longer empty
	space chan struct{} // has something when the loop is done with entries
}

const (
	maxEvents  = 1000     // of the socket, waiting; the rest is reported by their fields alone
	maxEntries = 1000     // of the log
	maxBytes   = 16 << 20 // that may wait, or one message if those may be longer
	maxKey     = 1 << 10  // bytes of what is remembered to recognize it: a field or an event
)

func newPending(limit int, room int64, window time.Duration) *pending {
	return &pending{
		limit: limit, room: int(max(maxBytes, room)), window: window, fields: map[activity.Field]*Change{},
		wake: make(chan struct{}, 1), space: make(chan struct{}, 1),
	}
}

// report adds what a poll told and how far it tells.
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

// frame adds what the socket of a session told.
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

// size returns about how many bytes a change takes beside what each one does.
func (c *Change) size() int {
	n := 2*len(c.Field) + len(c.Frame) // the field is a key as well
	for _, e := range c.Events {
		n += e.size()
	}
	return n
}

// size returns about how many bytes an event takes beside what each one does.
func (e *Event) size() int {
	const member = 128 // of a map, empty
	n := len(e.Name) + len(e.Category) + len(e.SubCategory) + len(e.ObjectID)
	n += len(e.CallingUserID) + len(e.Field) + len(e.Data)
	for name, value := range e.Extra {
		n += member + len(name) + len(value)
	}
	return n
}

// told is what is known of an event to tell it from others: its frame has no ID.
type told struct {
	name   events.Name
	object string
	at     int64
}

func (p *pending) fresh(e *Event) bool {
	if e.Triggered.IsZero() || len(e.Name)+len(e.ObjectID) > maxKey {
		return true
	}
	return p.told.add(told{e.Name, e.ObjectID.Plain(), e.Triggered.UnixNano()}, maxEvents)
}

// retire makes frames of a session and of all before it count for nothing.
func (p *pending) retire(session uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = max(p.retired, session)
}

// change returns what waits for a field, nil if a Resync stands for it.
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

// add puts something into the queue. It reports false if a Resync stands for it,
// now or before.
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

// miss tells the loop to list everything again.
func (p *pending) miss(reason ResyncReason, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.resync {
		p.collapse(reason, err)
	}
}

// collapse puts one Resync in the place of all that waits but the log.
func (p *pending) collapse(reason ResyncReason, err error) {
	p.waiting = slices.DeleteFunc(p.waiting, func(c *Change) bool { return c.Entry == nil })
	clear(p.fields)
	p.events, p.bytes = 0, 0
	p.add(&Change{Resync: &Resync{Reason: reason, Err: err}})
	p.resync = true
}

// entry adds an event of the log. It waits while too many wait already.
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

// batch is what the loop takes at once, and how far polls had told then.
type batch struct {
	changes []*Change
	reached activity.Cursor
}

// take waits for changes until over is closed; what waits then is returned
// without delay, and nothing after that.
func (p *pending) take(over <-chan struct{}) batch {
	for {
		b, wait := p.collect(over)
		if len(b.changes) > 0 || closed(over) {
			return b
		}
		p.await(wait, over)
	}
}

// await returns after wait, or when something comes to wait or all is over.
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

// collect takes what is due, or returns how long that takes; 0 when nothing
// waits.
func (p *pending) collect(over <-chan struct{}) (b batch, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return batch{}, 0
	}
	if wait = time.Until(p.due); wait > 0 && !closed(over) {
		return batch{}, wait
	}
	b = batch{p.waiting, p.reached}
	p.waiting, p.events, p.bytes, p.resync, p.looping = nil, 0, 0, false, true
	clear(p.fields)
	return b, 0
}

// done notes that the loop has finished with a batch.
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

// giveBack notes that the loop was left at a change of a batch: what comes after
// it waits again, before all else.
func (p *pending) giveBack(handed, rest []*Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looping = false
	p.release(handed)
	later := p.waiting
	p.waiting = nil
	for _, c := range rest {
		key := c.Field.Plain()
		switch again := p.fields[key]; {
		case p.resync && c.Entry == nil: // it stands for this one too
		case again != nil && c.Field != "":
			if size := c.size(); p.bytes+size <= p.room {
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
	if p.resync { // it stands for those that came later as well
		later = slices.DeleteFunc(later, func(c *Change) bool { return c.Entry == nil && c.Resync == nil })
		clear(p.fields)
		p.events, p.bytes = 0, 0
	}
	p.waiting = append(p.waiting, later...)
}

func (p *pending) release(handed []*Change) {
	for _, c := range handed {
		if c.Entry != nil {
			p.entries--
		}
	}
	signal(p.space)
}

// position returns up to where everything was handed over, and whether entries
// of the log still wait.
func (p *pending) position() (covered activity.Cursor, entries bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.covered, p.entries > 0
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
