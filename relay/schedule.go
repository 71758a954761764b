package relay

import (
	"container/heap"
	"slices"
	"sync"
	"time"
)

// schedule runs tasks when they are due, some of them at a time. At rest it has one timer,
// and no goroutine. Tasks that were woken go first, and both kinds always have some room. A task
// that waits for a rate limit needs no place: see park.
type schedule struct {
	mu      sync.Mutex
	waiting taskHeap
	places  limits
	ready   [kinds][]*lane // with tasks that may run
	timer   *time.Timer

	resuming []resumption // parked tasks that wait for a place, the first one first
}

// lane is a share of a schedule: the tasks of an account do not take more.
type lane struct {
	places limits
	ready  [kinds][]*task
	queued [kinds]bool // the lane is in the ready ones of the schedule
}

// Kinds of tasks that are due.
const (
	woken = iota // within the last wokenTime
	quiet
	kinds
)

// wokenTime is how long a task counts as woken: a woken step is followed by a search
// seconds later, and that by another one.
const wokenTime = 10 * time.Second

// limits count running tasks.
type limits struct {
	most    int
	running [kinds]int
}

// admits reports whether another task of a kind may run. Woken tasks take up to three
// quarters of the places and quiet ones up to half, so that each kind always has some.
func (l *limits) admits(kind int) bool {
	most := max(1, l.most/2)
	if kind == woken {
		most = max(1, l.most-l.most/4)
	}
	return l.running[woken]+l.running[quiet] < l.most && l.running[kind] < most
}

// newSchedule returns a schedule that runs at most so many tasks at a time.
func newSchedule(most int) *schedule { return &schedule{places: limits{most: most}} }

// newLane returns a lane of which at most so many tasks run at a time.
func newLane(most int) *lane { return &lane{places: limits{most: most}} }

// task is a function that a schedule runs, by one goroutine at a time.
type task struct {
	*schedule
	lane *lane
	run  func() (next time.Time) // a zero time ends the task

	at         time.Time
	wokenUntil time.Time // until then, the task is of the kind woken when it is due
	index      int       // in waiting; -1 if it is not there
	kind       int       // of a task that is ready or runs
	state      taskState
	again      bool          // it was woken while it ran
	parked     bool          // it runs, and waits without a place in the schedule; that in its lane stays taken
	ended      chan struct{} // closed by runTask at the end of a run that stop waits for; nil before
}

type taskState uint8

const (
	taskNew taskState = iota // or it has ended by itself
	taskWaiting
	taskReady
	taskRuns
	taskStopped
)

// newTask returns a task that runs when it is woken first.
func (s *schedule) newTask(l *lane, run func() (next time.Time)) *task {
	return &task{schedule: s, lane: l, run: run, index: -1}
}

// wake makes the task due now. If it runs, it runs once more afterwards.
func (t *task) wake() { t.dueAt(time.Now(), woken) }

// startAt makes a new task due at a time.
func (t *task) startAt(at time.Time) { t.dueAt(at, quiet) }

// dueAt makes a task due at a time. A task that runs is due again when it has ended, and a stopped one
// is left alone. One that is ready stays ready; if it is quiet and now woken, it moves to the woken ones
// of its lane. A woken task counts as woken for wokenTime.
func (t *task) dueAt(at time.Time, kind int) {
	s := t.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == woken {
		t.wokenUntil = at.Add(wokenTime)
	}
	switch t.state {
	case taskRuns:
		t.again = true
	case taskNew, taskWaiting:
		s.putWaiting(t, at)
		s.advance()
	case taskReady:
		if kind == woken && t.kind == quiet {
			t.leaveLane()
			s.enterLane(t, woken)
			s.advance()
		}
	case taskStopped:
	}
}

// leaveLane removes a task that is ready from its lane. The caller holds the mutex.
func (t *task) leaveLane() {
	t.lane.ready[t.kind] = slices.DeleteFunc(t.lane.ready[t.kind], func(o *task) bool { return o == t })
}

// enterLane puts a task that is ready at the end of its lane. The caller holds s.mu.
func (s *schedule) enterLane(t *task, kind int) {
	t.state, t.kind = taskReady, kind
	t.lane.ready[kind] = append(t.lane.ready[kind], t)
	s.queueLane(t.lane)
}

// stop ends the task, and waits until it does not run.
func (t *task) stop() {
	t.mu.Lock()
	was := t.state
	t.state = taskStopped
	switch was {
	case taskWaiting:
		heap.Remove(&t.waiting, t.index)
		t.advance() // sets the timer for the next task
	case taskReady:
		t.leaveLane()
	case taskRuns:
		t.ended = make(chan struct{}) // runTask closes it
	case taskNew, taskStopped:
	}
	t.mu.Unlock()
	if t.ended != nil {
		<-t.ended
	}
}

// putWaiting puts a task among those that wait, or changes its time. The caller holds s.mu.
func (s *schedule) putWaiting(t *task, at time.Time) {
	t.at = at
	if t.state == taskWaiting {
		heap.Fix(&s.waiting, t.index)
		return
	}
	t.state = taskWaiting
	heap.Push(&s.waiting, t)
}

// advance puts each task that is due into its lane, as a task of the kind woken if it was woken within the last
// wokenTime, or else quiet. Free places then go to parked tasks that wait for one, and after these to ready
// tasks, which start. It sets the timer for the next due task. The caller holds s.mu.
func (s *schedule) advance() {
	now := time.Now()
	for len(s.waiting) > 0 && !s.waiting[0].at.After(now) {
		t, _ := heap.Pop(&s.waiting).(*task)
		kind := quiet
		if now.Before(t.wokenUntil) {
			kind = woken
		}
		s.enterLane(t, kind)
	}
	s.resumeParked()
	for t := s.takeNext(); t != nil; t = s.takeNext() {
		t.state, t.again = taskRuns, false
		s.places.running[t.kind]++
		t.lane.places.running[t.kind]++
		s.queueLane(t.lane) // for its next task
		go s.runTask(t)
	}
	s.setTimer()
}

// setTimer lets advance be called when the first of the tasks that wait is due. The caller holds s.mu.
func (s *schedule) setTimer() {
	if len(s.waiting) == 0 {
		if s.timer != nil {
			s.timer.Stop()
		}
		return
	}
	wait := time.Until(s.waiting[0].at)
	if s.timer != nil {
		s.timer.Reset(wait)
		return
	}
	s.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.advance()
	})
}

// queueLane puts a lane at the end of s.ready, if one of its tasks may run and the lane is not there
// already. The caller holds s.mu.
func (s *schedule) queueLane(l *lane) {
	for kind := range kinds {
		if len(l.ready[kind]) > 0 && !l.queued[kind] && l.places.admits(kind) {
			l.queued[kind] = true
			s.ready[kind] = append(s.ready[kind], l)
		}
	}
}

// takeNext removes the next task that may run from its lane, and returns it, nil if there is none. Lanes
// take turns: at its turn, a lane leaves s.ready. After a task of the lane is taken, the caller calls
// queueLane, which puts the lane at the end of s.ready if another of its tasks may run. If none may, the
// lane is queued when that changes.
func (s *schedule) takeNext() *task {
	for kind := range kinds {
		for s.places.admits(kind) && len(s.ready[kind]) > 0 {
			l := s.ready[kind][0]
			s.ready[kind] = s.ready[kind][1:]
			l.queued[kind] = false
			mayRunOne := len(l.ready[kind]) > 0 && l.places.admits(kind)
			if mayRunOne {
				t := l.ready[kind][0]
				l.ready[kind] = l.ready[kind][1:]
				return t
			}
		}
	}
	return nil
}

// runTask runs a task once, gives its places back, and puts it among those that wait. A task that runs
// has two places, one in the schedule and one in its lane. A parked task has given the first one away.
func (s *schedule) runTask(t *task) {
	next := t.run()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.lane.places.running[t.kind]--
	if !t.parked {
		s.places.running[t.kind]--
	}
	t.parked = false
	switch {
	case t.state == taskStopped:
		close(t.ended)
	case next.IsZero(): // it has ended by itself: a wake during the run does not matter, a later one starts it anew
		t.state = taskNew
	case t.again: // it was woken while it ran
		s.putWaiting(t, time.Now())
	default:
		s.putWaiting(t, next)
	}
	s.queueLane(t.lane)
	s.advance()
}

// taskHeap are tasks by their time.
type taskHeap []*task

func (h *taskHeap) Len() int           { return len(*h) }
func (h *taskHeap) Less(i, j int) bool { return (*h)[i].at.Before((*h)[j].at) }

// Swap exchanges two tasks and keeps their indexes.
func (h *taskHeap) Swap(i, j int) {
	all := *h
	all[i], all[j] = all[j], all[i]
	all[i].index, all[j].index = i, j
}

// Push adds a task.
func (h *taskHeap) Push(x any) {
	t, _ := x.(*task)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop removes the last task.
func (h *taskHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h, t.index = (*h)[:last], -1
	return t
}
