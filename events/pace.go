package events

import (
	"context"
	"sync"
	"sync/atomic"
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
	together  = 100 * time.Millisecond  // reports of one change
	longGap   = 5 * time.Second         // for each round of a log that is woken again and again
	soon      = 30 * time.Second
)

// idleEvery returns the time between two searches of all followers at rest
// together: a share of the rate limit.
func idleEvery() (longest time.Duration) {
	for _, w := range api.RateWindows(searchGroup) {
		longest = max(longest, time.Duration(float64(w.Size)/(idleShare*float64(w.Max))))
	}
	return longest
}

// rests paces the searches at rest of all followers of a Service.
type rests struct {
	group     *ratelimit.Group
	followers atomic.Int64 // counted by searches
}

// newRests returns the shared rate limit of all followers at rest.
func newRests() *rests {
	return &rests{group: ratelimit.New(api.RateWindow{Max: 1, Size: idleEvery()})}
}

// interval returns the time between two searches of each follower at rest.
func (r *rests) interval() time.Duration {
	return time.Duration(max(1, r.followers.Load())) * idleEvery()
}

// FollowInterval returns the time between two searches of each [Service.Follow] at rest:
// 16.7 seconds for each log that is followed through this client. So they leave 70
// percent of the rate limits to others.
func (s *Service) FollowInterval() time.Duration { return s.rests.interval() }

// pace is the client of one Follow. It decides when to search.
type pace struct {
	api.Client

	group    *ratelimit.Group // of the searches; nil for a client of another kind
	rests    *rests
	searches int           // of each round
	interval time.Duration // [FollowOptions].Interval
	gap      time.Duration // for each round that was woken; two may follow each other at once
	turn     ratelimit.Turn

	mu       sync.Mutex
	watched  bool      // by the Waker
	woken    bool      // a change that no round has covered
	called   bool      // the same, or the watch began
	first    time.Time // the first of these
	reported time.Time // the latest
	wake     func()    // ends the wait for the next round

	began  time.Time // the last round
	paid   time.Time // when the gaps of all rounds so far are over
	ended  time.Time
	found  bool // events
	urgent bool // the round was woken, or is again
	busy   bool // the round followed another one soon, or covers several changes
	again  bool // the next round repeats a woken one, for events that become visible late
	repeat bool // the round is such a one
}

// Call makes the calls of [Service.Search] wait for their turn among all
// searches; other calls do not wait.
func (p *pace) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	if r.Group == searchGroup {
		ctx = ratelimit.With(ctx, &p.turn)
	}
	return p.Client.Call(ctx, r, out, opts...)
}

// changed is called by the Waker: with true if the profile has changed, with
// false if it is not watched any more and may change without a report.
func (p *pace) changed(watched bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = p.woken || watched && p.watched
	p.watched = watched
	if watched {
		p.reported = time.Now()
		if !p.called {
			p.first = p.reported
		}
		p.called = true
	}
	if p.called && p.wake != nil {
		p.wake()
	}
}

// begin waits until the first search of a round may start, and records the
// time. A change that was reported less than settle before may not be visible
// to the searches yet: then woken stays set, and another round follows.
func (p *pace) begin(ctx context.Context) error {
	p.mu.Lock()
	p.urgent = p.woken || p.again
	p.mu.Unlock()
	p.turn.Set(ratelimit.Rest)
	if p.urgent {
		p.turn.Set(ratelimit.Woken)
	}
	if err := p.turn.Reserve(ctx, p.group); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urgent, p.repeat, p.again = p.woken || p.again, p.again && !p.woken, false
	now := time.Now()
	if now.Sub(p.reported) >= settle {
		p.woken, p.called = false, false
	}
	p.busy = now.Sub(p.began) < soon || p.reported.Sub(p.first) > together
	p.first = p.reported
	p.began, p.paid = now, times.Later(p.paid, now).Add(p.gap)
	return nil
}

// end records the end of a round.
func (p *pace) end(found bool) {
	p.ended, p.found = time.Now(), found
	p.turn.Cancel(p.group) // if there was no search
}

// await waits for the next round: until the profile has changed, or it is time to look
// for events that were not reported.
func (p *pace) await(ctx context.Context) error {
	uncalled, wake := context.WithCancel(ctx)
	defer wake()
	due, idle := p.next(wake)
	err := wait.Sleep(uncalled, time.Until(due))
	// Each search of a round at rest takes a turn among all followers.
	for n := 0; n < p.searches && err == nil && idle; n++ {
		err = p.rests.group.Wait(uncalled)
	}
	if err != nil { // woken, or ctx is done
		p.mu.Lock()
		at := times.Later(p.reported.Add(settle), p.paid.Add(-p.gap))
		p.mu.Unlock()
		err = wait.Sleep(ctx, time.Until(at))
	}
	return err
}

// next returns when the next round is due unless wake is called before, and
// whether the round is idle: without a known change, so that it has a low
// priority.
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
	return p.ended.Add(max(p.interval, p.rests.interval())), true
}
