package relay_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/relay"
)

// Tasks run at their times, each by one goroutine at a time, and at rest there is none.
func TestScheduleRunsTasksWhenTheyAreDue(t *testing.T) { //nolint:paralleltest // it counts goroutines
	synctest.Test(t, func(t *testing.T) {
		const n, runs = 1000, 10
		s, l := relay.NewSchedule(16), relay.NewLane(16)
		var late, all atomic.Int64
		goroutines := runtime.NumGoroutine()
		for i := range n {
			due, left := time.Now(), runs
			relay.NewTask(s, l, func() time.Time {
				if time.Since(due) > 0 {
					late.Add(1)
				}
				all.Add(1)
				left--
				if left == 0 {
					return time.Time{}
				}
				due = time.Now().Add(time.Duration(1+i%7) * time.Second)
				return due
			}).Wake()
		}
		time.Sleep(500 * time.Millisecond)
		if more := runtime.NumGoroutine() - goroutines; more > 0 {
			t.Errorf("%d goroutines at rest", more)
		}
		time.Sleep(time.Hour)
		if all.Load() != n*runs || late.Load() != 0 {
			t.Errorf("%d of %d runs, %d late", all.Load(), n*runs, late.Load())
		}
	})
}

// A lane whose tasks never end does not delay others, and tasks at rest that fill the
// schedule do not delay those that were woken.
func TestScheduleKeepsRoomForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := relay.NewSchedule(8)
		release := make(chan struct{})
		stuck := func() time.Time { <-release; return time.Time{} }
		var tasks []*relay.Task
		start := func(l *relay.Lane, woken bool, run func() time.Time) {
			task := relay.NewTask(s, l, run)
			tasks = append(tasks, task)
			if woken {
				task.Wake()
			} else {
				task.StartAt(time.Now())
			}
		}
		bad := relay.NewLane(2)
		for range 100 {
			start(bad, true, stuck)
			start(bad, false, stuck)
		}
		var done sync.WaitGroup
		done.Add(100)
		for i := range 100 {
			start(relay.NewLane(2), i%2 == 0, func() time.Time { time.Sleep(time.Second); done.Done(); return time.Time{} })
		}
		begun := time.Now()
		done.Wait()
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("100 tasks of a second took %s beside a lane that is stuck", took)
		}
		for range 100 { // at rest
			start(relay.NewLane(2), false, stuck)
		}
		synctest.Wait()
		done.Add(1)
		begun = time.Now()
		start(relay.NewLane(2), true, func() time.Time { done.Done(); return time.Time{} })
		done.Wait()
		if time.Since(begun) != 0 {
			t.Errorf("a woken task has waited for %s", time.Since(begun))
		}
		close(release)
		for _, task := range tasks {
			task.Stop()
		}
	})
}

// A task that waits behind others of its lane at rest passes them when it is woken.
func TestScheduleLetsWokenTasksPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, l := relay.NewSchedule(8), relay.NewLane(2)
		release, ran := make(chan struct{}), false
		stuck := relay.NewTask(s, l, func() time.Time { <-release; return time.Time{} })
		stuck.StartAt(time.Now())
		task := relay.NewTask(s, l, func() time.Time { ran = true; return time.Time{} })
		task.StartAt(time.Now())
		synctest.Wait()
		if ran {
			t.Fatal("the task does not wait for the other one")
		}
		task.Wake()
		synctest.Wait()
		if !ran {
			t.Error("the task that was woken waits")
		}
		close(release)
		stuck.Stop()
	})
}

// A task that is woken while it runs is called again, and one that was stopped is not.
func TestScheduleStopsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, l := relay.NewSchedule(4), relay.NewLane(4)
		var runs atomic.Int64
		task := relay.NewTask(s, l, func() time.Time {
			runs.Add(1)
			time.Sleep(time.Minute)
			return time.Now().Add(time.Hour)
		})
		task.Wake()
		time.Sleep(time.Second)
		task.Wake()
		time.Sleep(2 * time.Minute)
		if runs.Load() != 2 {
			t.Errorf("%d runs", runs.Load())
		}
		task.Wake()
		time.Sleep(time.Second)
		begun := time.Now()
		task.Stop()
		if took := time.Since(begun); took != 59*time.Second {
			t.Errorf("stop has waited for %s of the minute of a run", took)
		}
		task.Wake()
		time.Sleep(10 * time.Hour)
		if runs.Load() != 3 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}
