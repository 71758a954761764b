package events

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/times"
	"github.com/fastio-go/fastio/internal/wait"
)

// searchGroup is the rate group of searches.
const searchGroup = "events.search"

const (
	idleShare = 0.3                     // of each rate window, for searches of logs at rest
	settle    = 1500 * time.Millisecond // from a change to its search, which ends at the second that has passed
	longGap   = 5 * time.Second         // for each round of a log that is woken again and again
	soon      = 30 * time.Second
)

// idleEvery returns the time between two searches of logs at rest.
func idleEvery() (longest time.Duration) {
	for _, w := range api.RateWindows(searchGroup) {
		longest = max(longest, time.Duration(float64(w.Size)/(idleShare*float64(w.Max))))
	}
	return longest
}

// queue orders the searches of all followers of a Service. It admits two at a time, so
// that other searches, which wait for the same rate windows, do not wait for all
// followers. Those of woken followers come first.
type queue struct {
	mu        sync.Mutex
	searching int
	woken     []chan struct{} // closed when a search may start
	others    []chan struct{}
	ahead     int       // searches of woken followers since one of the others
	ended     time.Time // the latest search

	followers int              // counted by searches
	idle      *ratelimit.Group // for the searches of followers at rest
}

func newQueue() *queue {
	return &queue{idle: ratelimit.New(api.RateWindow{Max: 1, Size: idleEvery()})}
}

const (
	mostSearching = 2
	mostAhead     = 3
	longestSearch = time.Minute // after which a search does not delay others, if others end
)

// enter waits until a search may start. The caller must call leave when it has ended.
func (q *queue) enter(ctx context.Context, woken bool) (leave func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.searching < mostSearching {
		q.searching++
	} else if err := q.wait(ctx, woken); err != nil {
		return nil, err
	}
	s := &search{q: q}
	s.late = time.AfterFunc(longestSearch, s.skip)
	return s.leave, nil
}

// wait waits for the turn of a search. It is called, and returns, with the lock.
func (q *queue) wait(ctx context.Context, woken bool) error {
	waiting := &q.others
	if woken {
		waiting = &q.woken
	}
	turn := make(chan struct{})
	*waiting = append(*waiting, turn)
	q.mu.Unlock()
	select {
	case <-turn:
		q.mu.Lock()
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	if i := slices.Index(*waiting, turn); i >= 0 {
		*waiting = slices.Delete(*waiting, i, i+1)
	} else {
		q.next()
	}
	return ctx.Err()
}

// next starts another search in place of one that has ended.
func (q *queue) next() {
	waiting := &q.woken
	if len(q.woken) == 0 || len(q.others) > 0 && q.ahead >= mostAhead {
		waiting, q.ahead = &q.others, 0
	} else {
		q.ahead++
	}
	if len(*waiting) == 0 {
		q.searching--
		return
	}
	close((*waiting)[0])
	*waiting = slices.Delete(*waiting, 0, 1)
}

// search is one that has started.
type search struct {
	q    *queue
	late *time.Timer
	over bool // another search has started in its place
}

func (s *search) leave() {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	s.late.Stop()
	s.q.ended = time.Now()
	if !s.over {
		s.over = true
		s.q.next()
	}
}

// skip starts another search beside one that takes long. If no search has ended
// meanwhile, they wait for the rate limits.
func (s *search) skip() {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	switch {
	case s.over:
	case time.Since(s.q.ended) >= longestSearch:
		s.late.Reset(longestSearch)
	default:
		s.over = true
		s.q.next()
	}
}

func (q *queue) add(followers int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.followers += followers
}

// interval returns the time between two searches of each follower at rest.
func (q *queue) interval() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Duration(max(1, q.followers)) * idleEvery()
}

// rest waits until a follower at rest may send a number of searches.
func (q *queue) rest(ctx context.Context, searches int) error {
	for range searches {
		c, err := q.idle.Acquire(ctx, -1, nil)
		if err != nil {
			return err
		}
		q.idle.Release(c)
	}
	return nil
}

// FollowInterval returns the time between two searches of each [Service.Follow] at rest:
// 16.7 seconds for each log that is followed through this client. So they leave 70
// percent of the rate limits to others.
func (s *Service) FollowInterval() time.Duration { return s.queue.interval() }

// pace is the client of one Follow. It decides when to search.
type pace struct {
	api.Client

	queue    *queue
	searches int           // of each round
	interval time.Duration // [FollowOptions].Interval
	gap      time.Duration // for each round that was woken; two may follow each other at once

	mu       sync.Mutex
	watched  bool      // by the Waker
	woken    bool      // a change that no round has covered
	called   bool      // the same, or the watch began
	reported time.Time // the latest of these
	wake     func()    // ends the wait for the next round

	began  time.Time // the last round
	paid   time.Time // until then the rounds so far have used their gaps
	ended  time.Time
	found  bool   // events
	urgent bool   // the round was woken, or is again
	busy   bool   // the round followed another one soon
	again  bool   // the next round repeats a woken one
	repeat bool   // the round is such a one
	leave  func() // of the first search of the round, before it
}

func (p *pace) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	if r.Group != searchGroup {
		return p.Client.Call(ctx, r, out, opts...)
	}
	leave := p.leave
	p.leave = nil
	if leave == nil {
		var err error
		leave, err = p.queue.enter(ctx, p.urgent)
		if err != nil {
			return err
		}
	}
	defer leave()
	return p.Client.Call(ctx, r, out, opts...)
}

func (p *pace) changed(watched bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = p.woken || watched && p.watched
	p.watched = watched
	p.called = p.called || watched
	if watched {
		p.reported = time.Now()
	}
	if p.called && p.wake != nil {
		p.wake()
	}
}

// begin waits for the first search of a round, and records its beginning. The round covers
// the reports before it, except for those of the last seconds: another one follows them.
func (p *pace) begin(ctx context.Context) (err error) {
	p.mu.Lock()
	p.urgent = p.woken || p.again
	p.mu.Unlock()
	p.leave, err = p.queue.enter(ctx, p.urgent)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urgent, p.repeat = p.woken || p.again, p.again && !p.woken
	p.again = false
	now := time.Now()
	if now.Sub(p.reported) >= settle {
		p.woken, p.called = false, false
	}
	p.busy = now.Sub(p.began) < soon
	p.began, p.paid = now, times.Later(p.paid, now).Add(p.gap)
	return nil
}

// end records the end of a round.
func (p *pace) end(found bool) {
	p.ended, p.found = time.Now(), found
	if p.leave != nil {
		p.leave() // there was no search
		p.leave = nil
	}
}

// await waits for the next round: until the profile has changed, or it is time to look
// for events that were not reported.
func (p *pace) await(ctx context.Context) error {
	uncalled, wake := context.WithCancel(ctx)
	defer wake()
	due, idle := p.next(wake)
	err := wait.Sleep(uncalled, time.Until(due))
	if err == nil && idle {
		err = p.queue.rest(uncalled, p.searches)
	}
	if err != nil {
		err = wait.Sleep(ctx, time.Until(p.wakeAt()))
	}
	return err
}

// wakeAt returns when the round after a report begins.
func (p *pace) wakeAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return times.Later(p.reported.Add(settle), p.paid.Add(-p.gap))
}

// next returns when the next round is due unless wake is called, and whether it counts
// as one at rest.
func (p *pace) next(wake func()) (due time.Time, idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake = wake
	if p.called {
		wake()
	}
	switch {
	case p.found && !p.watched:
		return p.ended.Add(p.interval), false
	case p.urgent && (!p.found || p.busy): // an event may become visible after the change
		p.again = !p.repeat
		return p.ended.Add(p.gap), p.repeat
	}
	return p.ended.Add(max(p.interval, p.queue.interval())), true
}
