package world

import (
	"slices"
	"time"
)

// timer is something that happens by itself when its time has come.
type timer struct {
	at time.Time
	do func()
}

// Later lets do happen at a moment of the platform's clock, while the lock is held, as the caller holds it
// already. Whatever the clock is, every call finds done what was due before it.
func (w *Core) Later(at time.Time, do func()) {
	wait := at.Sub(w.Now())
	if wait <= 0 {
		do()
		return
	}
	due := &w.due
	i, _ := slices.BinarySearchFunc(*due, at, func(a timer, at time.Time) int {
		if a.at.After(at) {
			return 1
		}
		return -1 // behind those of the same moment
	})
	*due = slices.Insert(*due, i, timer{at, do})
	time.AfterFunc(wait, w.Settle)
}

// Settle does what is due.
func (w *Core) Settle() {
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
		next := w.due[0]
		w.due = w.due[1:]
		next.do()
	}
}
