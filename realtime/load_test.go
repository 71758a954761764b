package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/realtime"
	"github.com/fastio-go/fastio/uploads"
)

// A user is a subscription of a crowd that waits for the report of a change.
type user struct {
	*consumer
	changed  time.Time     // the first change that is not reported; zero if there is none
	interval time.Duration // the longest since then
	worst    time.Duration // wait
}

func (u *user) change() {
	if u.changed.IsZero() {
		u.changed, u.interval = time.Now(), 0
	}
}

// check requires that the change does not wait longer than twice the interval.
func (u *user) check(t *testing.T) {
	t.Helper()
	if u.changed.IsZero() {
		return
	}
	const atOnce = 5 * time.Second // with an interval of 0
	u.interval = max(u.interval, u.sub.Status().Interval)
	waits := time.Since(u.changed)
	u.mu.Lock()
	if n := len(u.at); n > 0 && !u.at[n-1].Before(u.changed) {
		waits, u.changed = u.at[n-1].Sub(u.changed), time.Time{}
	}
	u.mu.Unlock()
	u.worst = max(u.worst, waits)
	if waits > max(2*u.interval, atOnce) {
		t.Errorf("a change waits for %s, the interval is %s", waits, u.interval)
	}
}

// Without sockets the polls of an hour are divided by use: no change waits longer than twice
// the interval, however many workspaces are busy, and one that is busy among 14 that are not
// is polled every 5 seconds (P38).
func TestPollsAreDividedByUse(t *testing.T) {
	t.Parallel()
	type row struct {
		n, busy int
		each    time.Duration // time between two changes of a busy one
		beside  bool          // uploads and turns
		worst   time.Duration // wait of a busy one
		polls   int           // of a busy one in an hour, at least
		logs    int           // that are followed beside
	}
	table.Bubbles(t, map[string]row{
		"2 busy":                       {2, 2, 4 * time.Second, false, 9 * time.Second, 480, 0},
		"15 busy":                      {15, 15, 15 * time.Second, false, time.Minute, 63, 0},
		"50 busy":                      {50, 50, time.Minute, false, 7 * time.Minute, 18, 0},
		"100 busy":                     {100, 100, 2 * time.Minute, false, 12 * time.Minute, 9, 0},
		"1 of 15 busy":                 {15, 1, 2 * time.Second, false, 8 * time.Second, 720, 0},
		"50 busy, 10 followed logs":    {50, 50, time.Minute, false, 9 * time.Minute, 12, 10},
		"15 busy, uploads and turns":   {15, 15, 15 * time.Second, true, 150 * time.Second, 42, 0},
		"1 of 15 busy, uploads, turns": {15, 1, 2 * time.Second, true, 12 * time.Second, 600, 0},
	}, func(t *testing.T, test row) {
		if test.n > 2 && (!test.beside || test.busy == 1) {
			table.Large(t)
		}
		s := fastiotest.New(func(o *seed.Options) { o.AI.TurnPace = 10 * time.Second })
		w := newCrowd(t, s, test.n, &realtime.SubscribeOptions{PollOnly: true})
		var users []*user
		for _, c := range w.all {
			users = append(users, &user{consumer: c})
		}
		if test.beside {
			workBeside(t, w)
		}
		followLogs(t, w, test.logs)
		time.Sleep(10 * time.Minute)
		tick := max(time.Second, test.each/20)
		const rare = 29 * time.Minute
		long := time.Duration(table.Rounds(2, 3)) * time.Hour
		for start, n := time.Now(), 0; time.Since(start) < long; n++ {
			time.Sleep(tick)
			for i, u := range users {
				u.check(t)
				each := int(rare / tick)
				if i < test.busy {
					each = int(test.each / tick)
				}
				if (n+7*i)%each == 0 {
					update(s, w.rooms[i], n)
					u.change()
				}
			}
		}
		busiest := busiest(w.polls(), time.Hour)
		polls := make([]int, test.n)
		for _, r := range s.Requests() {
			for i, room := range w.rooms {
				if strings.Contains(r.Path, string(room)) && time.Since(r.At) < time.Hour {
					polls[i]++
				}
			}
		}
		for i, u := range users[:test.busy] {
			if u.worst > test.worst || polls[i] < test.polls {
				t.Errorf("a change waited for %s, %d polls in an hour", u.worst, polls[i])
			}
		}
		t.Logf("waits %s to %s, %d polls of the first, %d of all in an hour",
			users[0].worst, users[test.n-1].worst, polls[0], busiest)
		if busiest > 1000 || s.Refusals() > 0 {
			t.Errorf("%d polls in an hour, %d refused", busiest, s.Refusals())
		}
	})
}

// followLogs follows logs in which nothing happens, without sockets.
func followLogs(t *testing.T, w *crowd, n int) {
	t.Helper()
	w.server.Fail(seed.Fault{Op: op.RealtimeSocket, Status: http.StatusNotFound})
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		following.Wait()
	})
	for i := range n {
		room := api.Workspace(api.ID(w.server.AddWorkspace(seed.Workspace{Name: fmt.Sprint("Log ", i)}).ID))
		following.Go(func() {
			err := w.client.Events.Follow(ctx, events.Query{Profile: room}, func(context.Context, *events.Event) error { return nil }, nil)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// workBeside uploads a file twice a minute, and waits for a turn most of the time.
func workBeside(t *testing.T, w *crowd) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		working.Wait()
	})
	repeat := func(pause time.Duration, work func(n int) error) {
		working.Go(func() {
			for n := 0; wait.Sleep(ctx, pause) == nil; n++ {
				if err := work(n); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	room := api.Workspace(api.ID(w.server.AddWorkspace(seed.Workspace{Name: "Beside"}).ID))
	repeat(30*time.Second, func(n int) error {
		content, to := strings.NewReader("content"), uploads.Target{Profile: room}
		_, err := w.client.Uploads.ReaderAt(ctx, to, fmt.Sprint(n, ".txt"), content, 7, nil)
		return err
	})
	repeat(time.Minute, func(int) error {
		c, err := w.client.AI.Threads.Create(ctx, room, ai.CreateThreadRequest{Question: ai.Question{Text: "Why?"}})
		if err == nil {
			_, err = w.client.AI.Turns.Wait(ctx, room, c.Thread.ID, c.Turns[0].ID)
		}
		return err
	})
}
