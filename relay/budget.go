package relay

import (
	"cmp"
	"errors"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

const (
	maxCounted   = 1000             // calls of a window; larger ones are not counted
	longestPause = time.Hour        // a wrong Retry-After must not stop a group for a day
	lostAfter    = 30 * time.Second // after its last write a process is lost, and its calls have ended
	turn         = 2 * time.Second  // after which the next process of the queue may take the calls of one before it
	learnedWait  = time.Minute      // for a learned window; then one call verifies it
	announceUnit = 2 * time.Second  // ends of windows are announced in whole seconds, of two clocks
)

// budget is the state of a rate group that processes share, by the local clock.
//
// In each window, the calls that run, and those that have ended within its size, are at
// most its maximum. A call is counted from before its request is sent until after its
// response has arrived. So this holds for the calls that the server counts too, however
// it aligns its windows.
type budget struct {
	published []api.RateWindow
	learned   learnedWindow
	ends      []time.Time // of the latest calls, in the order of their numbers
	next      int64       // number of the end that follows
	running   []runningCalls
	queue     []string  // processes with calls that wait, in the order in which they may start them
	pause     time.Time // ordered by the server: no call starts before
}

// runningCalls are the calls of a process that run.
type runningCalls struct {
	process string
	calls   int
	write   uint64 // revision before the write that is meant by since
	since   time.Time
}

// processCalls is what a process knows about its own calls.
type processCalls struct {
	process  string
	running  int
	ended    []endedCall // that are not recorded yet
	waiting  int
	since    time.Time // when the first of them became the first
	revision uint64    // of the budget
}

type endedCall struct {
	started, at time.Time // started is early rather than late
	limit       api.RateLimit
}

// clone returns a copy that shares no list with b.
func (b *budget) clone() budget {
	c := *b
	c.ends, c.running, c.queue = slices.Clone(b.ends), slices.Clone(b.running), slices.Clone(b.queue)
	return c
}

// expire counts the running calls of lost processes as ended, and drops ends that no
// window counts any more.
func (b *budget) expire(now time.Time) {
	b.running = slices.DeleteFunc(b.running, func(r runningCalls) bool {
		lost := !r.since.Add(lostAfter).After(now)
		if lost {
			b.addEnds(r.since.Add(lostAfter), r.calls)
		}
		return lost
	})
	// A window needs as many of the latest ends as its maximum. Twice as many are kept, because the
	// list is in the order of the numbers of the ends, and an end with a lower number can be later.
	most, longest := 0, time.Duration(0)
	for w := range b.windows {
		most, longest = max(most, w.Max), max(longest, w.Size)
	}
	b.ends = b.ends[max(0, len(b.ends)-2*most):]
	// An end is kept for longer than the longest window: by a thousandth of it, because the clock of
	// the server may be slower, and by lostAfter, because observe counts what was used at the start
	// of a call, which was lostAfter before its end at the earliest.
	old := now.Add(-longest - longest/1000 - lostAfter)
	for len(b.ends) > 0 && b.ends[0].Before(old) {
		b.ends = b.ends[1:]
	}
}

// windows yields the windows that are counted.
func (b *budget) windows(yield func(api.RateWindow) bool) {
	for _, w := range b.published {
		if !yield(w) {
			return
		}
	}
	if b.learned.Max > 0 {
		yield(b.learned.RateWindow)
	}
}

// hasWindows reports whether there is a window to count the calls in.
func (b *budget) hasWindows() bool { return len(b.published) > 0 || b.learned.Max > 0 }

// addEnds records that so many calls ended at a time. Ends are numbered, and next is the
// number of the next one.
func (b *budget) addEnds(at time.Time, calls int) {
	for range calls {
		b.ends = append(b.ends, at)
		b.next++
	}
}

// runningOf returns the running calls of a process, zero if it has none.
func (b *budget) runningOf(process string) runningCalls {
	for _, r := range b.running {
		if r.process == process {
			return r
		}
	}
	return runningCalls{}
}

// countRunning returns the number of running calls of all processes.
func (b *budget) countRunning() (n int) {
	for _, r := range b.running {
		n += r.calls
	}
	return n
}

// used returns the number of calls that the server may have counted in w at a time.
func (b *budget) used(w api.RateWindow, at time.Time) int {
	n := b.countRunning()
	for _, end := range b.ends {
		if end.Add(w.Size).After(at) {
			n++
		}
	}
	return n
}

// record writes into the budget which calls of a process run, and which have ended.
func (b *budget) record(c processCalls, now time.Time) {
	for _, e := range c.ended {
		b.addEnds(e.at, 1)
	}
	b.setRunning(c, c.running, now)
	for _, e := range c.ended {
		b.observe(e)
	}
	if !b.hasWindows() { // no window limits the calls
		b.ends, b.running = nil, nil
	}
}

// setRunning sets the number of running calls of a process.
func (b *budget) setRunning(c processCalls, calls int, now time.Time) {
	b.running = slices.DeleteFunc(b.running, func(r runningCalls) bool { return r.process == c.process })
	if calls > 0 {
		b.running = append(b.running, runningCalls{c.process, calls, c.revision, now})
	}
}

// observe records what the response to an ended call announces: a pause that the server
// requires, or a window that others have used up with calls that no process counts.
func (b *budget) observe(e endedCall) {
	l := e.limit
	if l.RetryAfter > 0 {
		b.pauseUntil(e.at.Add(min(l.RetryAfter, longestPause)))
		return
	}
	announcesWindow := l.Limit > 0 && l.Reset.After(e.at)
	if !announcesWindow {
		return
	}
	counted := 0 // calls of the processes in the window; 0 if it is too large to count
	if w, ok := b.announced(e); ok {
		counted = b.used(w, e.started)
	}
	usedUpByOthers := l.Remaining == 0 && counted < l.Limit
	if usedUpByOthers {
		b.pauseUntil(earliest(l.Reset, e.at.Add(longestPause)))
	}
}

// pauseUntil lets no call start before t, or before a later time that is already set.
func (b *budget) pauseUntil(t time.Time) {
	if t.After(b.pause) {
		b.pause = t
	}
}

// announced returns the window of the limit that a response announces: a published one
// with the same maximum, or else the learned one, which it creates or corrects. It returns
// false if the limit is too large to count.
func (b *budget) announced(e endedCall) (api.RateWindow, bool) {
	for _, w := range b.published {
		if w.Max == e.limit.Limit {
			return w, true
		}
	}
	if e.limit.Limit > maxCounted {
		return api.RateWindow{}, false
	}
	if w := &b.learned; w.Max == e.limit.Limit {
		w.learn(e.limit.Reset, e.at)
		return w.RateWindow, true
	}
	w := api.RateWindow{Max: e.limit.Limit, Size: sizeOf(e.limit.Reset.Sub(e.at))}
	b.learned = learnedWindow{RateWindow: w, until: e.limit.Reset}
	usedByServer := e.limit.Limit - e.limit.Remaining
	b.addEnds(e.at, usedByServer-b.used(w, e.at)) // calls before the window was known are taken as ended now
	return w, true
}

// opening returns the time from which a call may start and, if that is not after now, how
// many calls have room. A learned window may be too long: it lets one call start, whose response
// verifies it, at the latest learnedWait after since, when the wait of the process began.
func (b *budget) opening(now, since time.Time) (at time.Time, room int) {
	at, room = b.pause, maxCounted
	running := b.countRunning()
	ends := slices.SortedFunc(slices.Values(b.ends), time.Time.Compare)
	for w := range b.windows {
		opens, free := opensAt(w, running, ends), w.Max-running
		for _, end := range slices.Backward(ends) { // those that the window still counts
			if !expiry(w, end).After(now) {
				break
			}
			free--
		}
		if running >= w.Max {
			opens = now.Add(lostAfter) // by then a call has ended, or its process is lost
		}
		if w == b.learned.RateWindow {
			opens = earliest(opens, since.Add(learnedWait))
			free = max(1, free)
		}
		if opens.After(at) {
			at = opens
		}
		room = min(room, free)
	}
	return at, room
}

// opensAt returns when a window has room for one more call, given the number of running
// calls and the sorted ends of others. It returns the zero time if there is room already.
func opensAt(w api.RateWindow, running int, ends []time.Time) time.Time {
	places := w.Max - running // for calls that have ended and the new one
	if last := len(ends) - places; 0 <= last && last < len(ends) {
		return expiry(w, ends[last]) // then the later ends take all places but one
	}
	return time.Time{}
}

// expiry returns when a call that has ended does not count any more. A thousandth is
// added because the clock of the server may be slower.
func expiry(w api.RateWindow, end time.Time) time.Time { return end.Add(w.Size + w.Size/1000) }

// admit records as running as many of the waiting calls of a process as have room, and
// returns their number. If none has room, the process waits in the queue, and next is
// when to try again; it is zero if no call waits. Without a known window all calls
// start once a pause is over, and none is recorded.
//
// The processes of the queue start their calls in order. Each place in it adds the time
// turn. A process that starts a call removes those before it, which have started
// nothing; they enter the queue again when they ask.
func (b *budget) admit(c processCalls, now time.Time) (n int, next time.Time) {
	switch {
	case c.waiting == 0:
		b.queue = slices.DeleteFunc(b.queue, func(process string) bool { return process == c.process })
		return 0, time.Time{}
	case !b.hasWindows() && b.pause.After(now):
		return 0, b.pause
	case !b.hasWindows():
		return c.waiting, time.Time{}
	}
	place := slices.Index(b.queue, c.process)
	queued := place >= 0
	if !queued {
		place = len(b.queue)
	}
	at, room := b.opening(now, c.since)
	at = at.Add(time.Duration(place) * turn)
	if at.After(now) {
		if !queued {
			b.queue = append(b.queue, c.process)
		}
		return 0, at
	}
	n = min(room, c.waiting)
	b.queue = b.queue[min(place+1, len(b.queue)):]
	if n < c.waiting {
		b.queue = append(b.queue, c.process)
	}
	b.setRunning(c, c.running+n, now)
	return n, time.Time{}
}

// earliest returns the earlier one of two times.
func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// learnedWindow is a window whose size is the longest time until an announced end.
type learnedWindow struct {
	api.RateWindow

	until      time.Time // the announced end that Size was learned from
	earlierEnd time.Time // the first earlier end that was announced since; zero means none
}

// sizeOf returns the time that is left in a window, rounded up to whole seconds: the size
// of the window if it has just begun.
func sizeOf(left time.Duration) time.Duration { return (left + time.Second - 1).Truncate(time.Second) }

// learn corrects the size of the window by an end that a response announces. An end that
// was announced wrongly can have made the window too long; other responses then announce
// an earlier end. As responses may arrive out of order, the earlier end counts only if no
// response announces the later one again, or at once if the window is longer than
// learnedWait.
func (w *learnedWindow) learn(reset, now time.Time) {
	left, laterBy := sizeOf(reset.Sub(now)), reset.Sub(w.until) // laterBy is negative for an earlier end
	replaces := false                                           // the known size and end
	switch {
	case left > w.Size: // the window is longer than was known
		replaces = true
	case laterBy.Abs() <= announceUnit: // the known end again, which refutes an earlier one
		w.earlierEnd = time.Time{}
	case laterBy > 0: // the end of the next window, which corrects a size that may be too long
		replaces = !w.earlierEnd.IsZero() || w.Size > learnedWait
	case w.Size > learnedWait: // an earlier end, which counts at once
		replaces = true
	case w.earlierEnd.IsZero(): // the first response with an earlier end
		w.earlierEnd = reset
	default: // another one: until then, a response with the later end may still come
		replaces = !now.Before(w.earlierEnd.Add(announceUnit))
	}
	if replaces {
		w.Size, w.until, w.earlierEnd = left, reset, time.Time{}
	}
}

// budgetRecord is the value of a budget in the bucket. Times are milliseconds before or
// after the write: no clocks are compared.
type budgetRecord struct {
	Version int             `json:"v"`
	Learned *learnedRecord  `json:"learned,omitzero"`
	Next    int64           `json:"next,omitzero"`
	Ends    []int64         `json:"ends,omitzero"` // ages
	Running []runningRecord `json:"running,omitzero"`
	Queue   []string        `json:"queue,omitzero"`
	Pause   int64           `json:"pause,omitzero"` // that is left
}

type learnedRecord struct {
	Max    int   `json:"max"`
	Size   int64 `json:"size"`
	Until  int64 `json:"until"`            // from the write on
	Denied int64 `json:"denied,omitempty"` // from the write on
}

type runningRecord struct {
	Process string `json:"process"`
	Calls   int    `json:"calls"`
	Write   uint64 `json:"write"`
	Age     int64  `json:"age"`
}

// encode returns the value of the budget in the bucket, for a write that begins now.
func (b *budget) encode(now time.Time) ([]byte, error) {
	r := budgetRecord{Version: 1, Next: b.next, Queue: b.queue}
	for _, end := range b.ends {
		r.Ends = append(r.Ends, now.Sub(end).Milliseconds()) // rounded down: the end is believed to be later
	}
	for _, c := range b.running {
		age := now.Sub(c.since).Milliseconds()
		r.Running = append(r.Running, runningRecord{c.process, c.calls, c.write, age})
	}
	if w := b.learned; w.Max > 0 {
		r.Learned = &learnedRecord{Max: w.Max, Size: w.Size.Milliseconds(), Until: w.until.Sub(now).Milliseconds()}
		if !w.earlierEnd.IsZero() {
			r.Learned.Denied = cmp.Or(w.earlierEnd.Sub(now).Milliseconds(), 1) // 0 means none
		}
	}
	if b.pause.After(now) {
		r.Pause = b.pause.Sub(now).Milliseconds() + 1 // rounded up
	}
	return jsonv2.Marshal(r)
}

var errFormat = errors.New("the record has an unknown format")

// decodeBudget returns the budget of a value of the bucket, without a value an empty one.
// Times in the value are relative to written. If it was in truth written earlier, all times
// of the budget are too late: calls wait longer than necessary, but none starts too early.
func decodeBudget(value []byte, published []api.RateWindow, written time.Time) (budget, error) {
	b := budget{published: published}
	if len(value) == 0 {
		return b, nil
	}
	var r budgetRecord
	if err := jsonv2.Unmarshal(value, &r); err != nil {
		return b, err
	}
	if r.Version != 1 {
		return b, errFormat
	}
	at := func(ms int64) time.Time { return written.Add(time.Duration(ms) * time.Millisecond) }
	b.next, b.queue = r.Next, r.Queue
	for _, age := range r.Ends {
		b.ends = append(b.ends, at(-age))
	}
	for _, c := range r.Running {
		b.running = append(b.running, runningCalls{c.Process, c.Calls, c.Write, at(-c.Age)})
	}
	if l := r.Learned; l != nil && l.Max > 0 {
		b.learned = learnedWindow{until: at(l.Until)}
		b.learned.RateWindow = api.RateWindow{Max: l.Max, Size: time.Duration(l.Size) * time.Millisecond}
		if l.Denied != 0 {
			b.learned.earlierEnd = at(l.Denied)
		}
	}
	if r.Pause > 0 {
		b.pause = at(r.Pause)
	}
	return b, nil
}

// refine replaces the ends of calls and the times of running calls by earlier ones that
// another record has for the same calls. A value that arrived late has times that are too
// late, and each process that writes them again would add to that.
func (b *budget) refine(known *budget) {
	// Ends are numbered, and next is the number after the last: offset is the index in
	// known of the first end of b.
	offset := b.next - int64(len(b.ends)) - (known.next - int64(len(known.ends)))
	for i := range b.ends {
		if k := int64(i) + offset; 0 <= k && k < int64(len(known.ends)) {
			b.ends[i] = earliest(b.ends[i], known.ends[k])
		}
	}
	for i := range b.running {
		for _, k := range known.running {
			if r := &b.running[i]; r.process == k.process && r.write == k.write {
				r.since = earliest(r.since, k.since)
			}
		}
	}
}
