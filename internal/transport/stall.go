package transport

import (
	"io"
	"sync"
	"time"
)

// watch closes bodies that take too long to arrive. All have the same time, so they run
// out in the order they began and one timer serves them all; one for each would
// be a thirtieth of a small call.
type watch struct {
	mu          sync.Mutex
	first, last *reading
	armed       bool
}

// reading is a body under watch. A call holds its own, so that watching takes no
// memory.
type reading struct {
	body       io.Closer
	until      time.Time
	prev, next *reading
	stalled    bool
}

// begin watches r until end.
func (w *watch) begin(r *reading, body io.Closer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*r = reading{body: body, until: time.Now().Add(bodyTimeout), prev: w.last}
	if w.last != nil {
		w.last.next = r
	} else {
		w.first = r
	}
	w.last = r
	if !w.armed {
		w.armed = true
		time.AfterFunc(bodyTimeout, w.expire)
	}
}

// end reports whether r ran out of time.
func (w *watch) end(r *reading) (stalled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.stalled {
		w.remove(r)
	}
	return r.stalled
}

func (w *watch) remove(r *reading) {
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		w.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		w.last = r.prev
	}
}

// expire closes what has run out of time and waits for what is next.
func (w *watch) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for r := w.first; r != nil && !r.until.After(now); r = r.next {
		w.remove(r)
		r.stalled = true
		go r.body.Close() //nolint:errcheck // the reader reports what comes of it
	}
	if w.armed = w.first != nil; w.armed {
		time.AfterFunc(w.first.until.Sub(now), w.expire)
	}
}
