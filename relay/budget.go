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
	write   uint64    // which write has set calls and since: the revision of the bucket before it
	since   time.Time // of that write
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

// endLost counts the running calls of lost processes as ended.
func (b *budget) endLost(now time.Time) {
	b.running = slices.DeleteFunc(b.running, func(r runningCalls) bool {
		lost := !r.since.Add(lostAfter).After(now)
		if lost {
			b.addEnds(r.since.Add(lostAfter), r.calls)
		}
		return lost
	})
}

// dropEnds drops the ends of calls that are not needed any more.
//
// A window needs as many of the latest ends as its maximum. Twice as many are kept, because the ends
// are only roughly in the order of their times: a process records an end some time later.
//
// A window counts an end until its expiry. The end is kept for lostAfter longer: if the response to a
// call that began 20 seconds ago arrives now, observe counts the ends that had not expired then.
func (b *budget) dropEnds(now time.Time) {
	most, longest := 0, api.RateWindow{}
	for w := range b.windows {
		most = max(most, w.Max)
		if w.Size > longest.Size {
			longest = w
		}
	}
	b.ends = b.ends[max(0, len(b.ends)-2*most):]
	for len(b.ends) > 0 && expiry(longest, b.ends[0]).Before(now.Add(-lostAfter)) {
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

// record writes into the budget which calls of a process run, and which have ended. All are counted
// before observe compares their number with what the server has counted.
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

// setRunning sets the number of running calls of a process, from now on. It records which write sets
// that, by the revision of the budget before the write (c.revision). Other processes read the number back
// with a later time: refine takes the earliest time that is known for the same write.
func (b *budget) setRunning(c processCalls, calls int, now time.Time) {
	b.running = slices.DeleteFunc(b.running, func(r runningCalls) bool { return r.process == c.process })
	if calls > 0 {
		b.running = append(b.running, runningCalls{process: c.process, calls: calls, write: c.revision, since: now})
	}
}

// observe records what the response to an ended call announces: a pause that the server
// requires, or a window that other programs have used up with calls that no process counts.
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
	w, isCounted := b.windowOf(e)
	usedUpByOurs := isCounted && b.used(w, e.started) >= l.Limit // then the method opening delays the next call
	if l.Remaining == 0 && !usedUpByOurs {
		b.pauseUntil(earliest(l.Reset, e.at.Add(longestPause)))
	}
}

// pauseUntil lets no call start before t, or before a later time that is already set.
func (b *budget) pauseUntil(t time.Time) {
	if t.After(b.pause) {
		b.pause = t
	}
}

// windowOf returns the window of the limit that a response announces: a published one
// with the same maximum, or else the learned one, which it creates or corrects. It returns
// false if the limit is too large to count.
func (b *budget) windowOf(e endedCall) (api.RateWindow, bool) {
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
	countedByServer := e.limit.Limit - e.limit.Remaining
	uncounted := countedByServer - b.used(w, e.at) // calls that only the server has counted, at times unknown here
	b.addEnds(e.at, uncounted)                     // the latest possible time, so that none expires here too early
	return w, true
}

// opening returns the time from which a call may start and, if that is not after now, how
// many calls have room. Since is when the wait of the process began.
func (b *budget) opening(now, since time.Time) (at time.Time, room int) {
	at, room = b.pause, maxCounted
	running := b.countRunning()
	ends := slices.SortedFunc(slices.Values(b.ends), time.Time.Compare)
	for w := range b.windows {
		opens, free := opensAt(w, running, ends, now), w.Max-running-countUnexpired(w, ends, now)
		isLearned := w == b.learned.RateWindow
		if isLearned {
			// Its Size may be longer than that of the server's window. So a process that has waited for learnedWait
			// may start one call to verify it, also without a free place. Until then opens is after now.
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

// opensAt returns when a window has room for one more call, given the number of running calls
// and the sorted ends of finished ones. It returns the zero time if there is room already.
func opensAt(w api.RateWindow, running int, ends []time.Time, now time.Time) time.Time {
	places := w.Max - running // for the new call, and for the ends that the window still counts
	switch {
	case places <= 0:
		return now.Add(lostAfter) // by then a call has ended, or its process is lost
	case len(ends) < places:
		return time.Time{}
	default: // the latest ends take all places but one: the new call may start when the end before them expires
		return expiry(w, ends[len(ends)-places])
	}
}

// countUnexpired returns how many of the calls that have ended at these times a window
// still counts.
func countUnexpired(w api.RateWindow, ends []time.Time, now time.Time) (n int) {
	for _, end := range ends {
		if expiry(w, end).After(now) {
			n++
		}
	}
	return n
}

// expiry returns when a call that has ended does not count any more. A thousandth is
// added because the clock of the server may be slower.
func expiry(w api.RateWindow, end time.Time) time.Time { return end.Add(w.Size + w.Size/1000) }

// admit records as running as many of the waiting calls of a process as have room, and
// returns their number. If none has room, the process waits in the queue, and next is
// when to try again; otherwise next is zero. Without a known window all calls start
// once a pause is over, and no call is recorded.
//
// The processes of the queue start their calls in order: each must wait longer than the process
// before it, by the duration of a turn. When a process starts a call, those before it have not used
// their turns. They lose their places, and enter the queue again when they ask.
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
	if !slices.Contains(b.queue, c.process) {
		b.queue = append(b.queue, c.process)
	}
	place := slices.Index(b.queue, c.process)
	at, room := b.opening(now, c.since)
	at = at.Add(time.Duration(place) * turn)
	if at.After(now) {
		return 0, at
	}
	n = min(room, c.waiting)
	b.queue = b.queue[place+1:]
	if n < c.waiting { // the other calls of the process wait behind those of other processes
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

// learn corrects the size of the window by an end that a response announces. The size is the most
// time that was left until an end: when a window is not new, less is left.
//
// If a response has announced a wrong end, the size is too long. For example, at 12:00:00 it has
// announced 12:00:50, but the window ends at 12:00:10, as the next response announces. That response may
// also be an old one, which arrives late. So its end only makes the size doubtful (earlierEnd). If no
// response announces 12:00:50 again, the first response from 12:00:12 on, announceUnit later, replaces
// the size. If that becomes too short, later responses make it longer again. A size of more than
// learnedWait is replaced at once, by the first response with another end.
func (w *learnedWindow) learn(reset, now time.Time) {
	left, laterBy := sizeOf(reset.Sub(now)), reset.Sub(w.until)
	isLonger, isSameEnd, isEarlierEnd := left > w.Size, laterBy.Abs() <= announceUnit, laterBy < 0
	isVeryLong, isDoubtful := w.Size > learnedWait, !w.earlierEnd.IsZero()
	mayBeOld := isEarlierEnd && now.Before(w.earlierEnd.Add(announceUnit)) // if the size is doubtful
	switch {
	case isLonger: // the size was too short
		w.Size, w.until, w.earlierEnd = left, reset, time.Time{}
	case isSameEnd: // the size is right
		w.earlierEnd = time.Time{}
	case isVeryLong, isDoubtful && !mayBeOld: // the size was too long
		w.Size, w.until, w.earlierEnd = left, reset, time.Time{}
	case isEarlierEnd && !isDoubtful: // the size becomes doubtful
		w.earlierEnd = reset
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
	Max   int   `json:"max"`
	Size  int64 `json:"size"`
	Until int64 `json:"until"` // from the write on

	EarlierEnd int64 `json:"denied,omitempty"` // from the write on; 0 means none
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
		r.Running = append(r.Running, runningRecord{Process: c.process, Calls: c.calls, Write: c.write, Age: age})
	}
	if w := b.learned; w.Max > 0 {
		r.Learned = &learnedRecord{Max: w.Max, Size: w.Size.Milliseconds(), Until: w.until.Sub(now).Milliseconds()}
		if !w.earlierEnd.IsZero() {
			r.Learned.EarlierEnd = cmp.Or(w.earlierEnd.Sub(now).Milliseconds(), 1) // 0 would mean none
		}
	}
	if b.pause.After(now) {
		r.Pause = b.pause.Sub(now).Milliseconds() + 1 // rounded up
	}
	return jsonv2.Marshal(r)
}

var errFormat = errors.New("the record has an unknown format")

// decodeBudget returns the budget of a value of the bucket, without a value an empty one.
// Times in the value are relative to its write, which was at latestWrite or before. If it was before,
// all times of the budget are too late: calls wait longer than necessary, but none starts too early.
func decodeBudget(value []byte, published []api.RateWindow, latestWrite time.Time) (budget, error) {
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
	at := func(ms int64) time.Time { return latestWrite.Add(time.Duration(ms) * time.Millisecond) }
	b.next, b.queue = r.Next, r.Queue
	for _, age := range r.Ends {
		b.ends = append(b.ends, at(-age))
	}
	for _, c := range r.Running {
		b.running = append(b.running, runningCalls{process: c.Process, calls: c.Calls, write: c.Write, since: at(-c.Age)})
	}
	if l := r.Learned; l != nil && l.Max > 0 {
		b.learned = learnedWindow{until: at(l.Until)}
		b.learned.RateWindow = api.RateWindow{Max: l.Max, Size: time.Duration(l.Size) * time.Millisecond}
		if l.EarlierEnd != 0 {
			b.learned.earlierEnd = at(l.EarlierEnd)
		}
	}
	if r.Pause > 0 {
		b.pause = at(r.Pause)
	}
	return b, nil
}

// refine replaces the ends of calls and the times of running calls by earlier ones that
// another record has for the same calls.
//
// The values in the bucket have ages instead of times. If a value arrives 2 seconds after its write,
// all its times are taken as 2 seconds too late. Without refine, each process that writes these times
// again would add its own delay.
func (b *budget) refine(known *budget) {
	// The numbers of b.ends[0] and known.ends[0]: the last end has the number before next.
	firstEnd, firstKnown := b.next-int64(len(b.ends)), known.next-int64(len(known.ends))
	for i := range b.ends {
		k := firstEnd + int64(i) - firstKnown // index in known.ends of the end with the same number
		if 0 <= k && k < int64(len(known.ends)) {
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
