package world

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Task is scheduled work. It is data, which a snapshot can hold: a struct of a
// registered type, whose Do does the work with the lock held.
type Task interface{ Do() }

// scheduled is a task and its time.
type scheduled struct {
	at    time.Time
	task  Task
	alarm *time.Timer // runs RunDueTasks in time, nil while the clock is frozen
}

// clock is the time of the platform: that of a source, which may be shifted, or a
// time at which it is frozen.
type clock struct {
	mu     sync.Mutex // not held while tasks run
	source func() time.Time
	ahead  time.Duration // of the source
	frozen bool
	at     time.Time // while frozen, or of a snapshot
	sleeps map[*sleep]bool
}

// sleep is a wait for a time of the platform.
type sleep struct {
	until time.Time
	end   context.CancelFunc
}

// Now returns the time of the platform.
func (w *Core) Now() time.Time {
	now, _ := w.clock.read()
	return now
}

// Clock returns the time of the platform, and whether it is frozen.
func (w *Core) Clock() (now time.Time, frozen bool) { return w.clock.read() }

// read returns the time of the clock, and whether it stands still. A clock that runs is
// ahead of its source by a constant.
func (c *clock) read() (now time.Time, frozen bool) {
	c.mu.Lock()
	at, ahead, frozen := c.at, c.ahead, c.frozen
	c.mu.Unlock()
	if frozen {
		return at, true
	}
	return c.source().Add(ahead), false
}

// Freeze sets the clock to a time and stops it; the zero time means now. The tasks that are
// due by that time are done, as by [Core.Advance]. The clock may be set back.
func (w *Core) Freeze(at time.Time) {
	w.Lock()
	defer w.Unlock()
	now := w.Now()
	if at.IsZero() {
		at = now
	}
	w.runUntil(at)
	w.clock.freeze(at)
	w.clockChanged()
}

// Unfreeze lets the clock go on from where it is.
func (w *Core) Unfreeze() {
	w.Lock()
	defer w.Unlock()
	if now, frozen := w.Clock(); frozen {
		w.clock.run(now.Sub(w.clock.source()))
		w.clockChanged()
	}
}

// Advance moves the clock forward by d, whether it is frozen or not. The tasks that are due
// by the new time are done in the order of time, with the clock at the time of each. Calls
// that wait for a time up to the new one return. Advance does nothing if d is not positive.
func (w *Core) Advance(d time.Duration) {
	w.Lock()
	defer w.Unlock()
	if d <= 0 {
		return
	}
	ahead := w.clock.ahead // runUntil freezes the clock, which sets ahead to 0
	now, frozen := w.Clock()
	w.runUntil(now.Add(d))
	if frozen {
		w.clock.freeze(now.Add(d))
	} else {
		w.clock.run(ahead + d)
	}
	w.clockChanged()
}

// freeze stops the clock at a time.
func (c *clock) freeze(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen, c.at, c.ahead = true, at, 0
}

// run lets the clock run, so much ahead of its source.
func (c *clock) run(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen, c.at, c.ahead = false, time.Time{}, ahead
}

// runUntil runs the tasks that are due until a time, with the clock frozen at the time
// of each.
func (w *Core) runUntil(end time.Time) {
	at := w.Now()
	for len(w.due) > 0 && !w.due[0].at.After(end) {
		if w.due[0].at.After(at) {
			at = w.due[0].at
		}
		w.clock.freeze(at)
		w.runFirst()
	}
}

// clockChanged ends the waits whose time has come by a change of the clock, and sets
// the alarms of the tasks anew; a frozen clock has none.
func (w *Core) clockChanged() {
	now, frozen := w.Clock()
	c := &w.clock
	c.mu.Lock()
	for s := range c.sleeps {
		if !s.until.After(now) {
			s.end()
		}
	}
	c.mu.Unlock()
	for i := range w.due {
		w.due[i].stopAlarm()
		if !frozen {
			w.due[i].alarm = time.AfterFunc(w.due[i].at.Sub(now), w.RunDueTasks)
		}
	}
}

// StopAlarms stops the timers of the scheduled tasks: until a timer fires, it keeps the whole
// state in memory. Calls still do the tasks that are due.
func (w *Core) StopAlarms() {
	w.LockUncounted() // not counted as a change of the state: timers are not part of a snapshot
	defer w.Unlock()
	for i := range w.due {
		w.due[i].stopAlarm()
	}
}

// stopAlarm stops the alarm of a task.
func (t *scheduled) stopAlarm() {
	if t.alarm != nil {
		t.alarm.Stop()
	}
	t.alarm = nil
}

// After returns a channel that is closed after d, or when the clock is advanced by as
// much. Stop must be called when the channel is not needed any more.
func (w *Core) After(d time.Duration) (done <-chan struct{}, stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	s := &sleep{until: w.Now().Add(d), end: cancel}
	c := &w.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleeps[s] = true
	return ctx.Done(), func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sleeps, s)
	}
}

// Schedule does a task at a time of the platform's clock, at once if that has passed. The
// caller holds the lock; the task is done under the lock, too. Every call sees the effects
// of the tasks that were due before it.
func (w *Core) Schedule(at time.Time, task Task) {
	now, frozen := w.Clock()
	if !at.After(now) {
		task.Do()
		return
	}
	i, _ := slices.BinarySearchFunc(w.due, at, func(t scheduled, at time.Time) int {
		if t.at.After(at) {
			return 1
		}
		return -1 // behind those of the same moment
	})
	next := scheduled{at: at, task: task}
	if !frozen { // when a frozen clock runs again, clockChanged sets the alarms
		next.alarm = time.AfterFunc(at.Sub(now), w.RunDueTasks)
	}
	w.due = slices.Insert(w.due, i, next)
}

// RunDueTasks does the tasks whose time has come. It takes the write lock only if there
// is such a task.
func (w *Core) RunDueTasks() {
	now := w.Now()
	w.RLock()
	idle := len(w.due) == 0 || w.due[0].at.After(now)
	w.RUnlock()
	if idle {
		return
	}
	w.Lock()
	defer w.Unlock()
	for len(w.due) > 0 && !w.due[0].at.After(now) {
		w.runFirst()
	}
}

// runFirst removes the next task from the list and does it.
func (w *Core) runFirst() {
	next := w.due[0]
	next.stopAlarm()
	w.due[0] = scheduled{} // the array below the list would keep the task in memory
	w.due = w.due[1:]
	next.task.Do()
}

// SaveClock stores the present time in the state, for a snapshot. Otherwise the state of a
// running clock only says how far it is ahead of its source. The caller holds the lock.
func (w *Core) SaveClock() {
	now := w.Now()
	w.clock.mu.Lock()
	defer w.clock.mu.Unlock()
	w.clock.at = now
}

// ReplaceState calls replace, which replaces the state by that of a snapshot. The clock
// then continues from the time of the snapshot, and all waits end, because they belong
// to the former state. The caller holds the lock.
func (w *Core) ReplaceState(replace func()) {
	for i := range w.due {
		w.due[i].stopAlarm()
	}
	c := &w.clock
	c.mu.Lock()
	replace()
	c.ahead = c.at.Sub(c.source()) // c.at is the time of the snapshot; a frozen clock ignores ahead
	for s := range c.sleeps {
		s.end()
	}
	c.mu.Unlock()
	w.clockChanged()
}

// Signal wakes the calls that wait for a change. Its zero value is ready for use.
type Signal struct {
	mu   sync.Mutex
	next chan struct{}
}

// Next returns a channel that is closed by the next call of Fire.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// Fire reports a change: it closes the channel that Next has returned, if there is one.
func (s *Signal) Fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

// Tasks returns a task of each kind.
func Tasks() []Task { return []Task{lapse{}, endMembership{}, indexing{}} }
