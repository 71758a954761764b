package events

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/times"
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
	followers atomic.Int64  // counted by searches
	every     time.Duration // between two searches

	mu   sync.Mutex
	line []*pace   // whose rounds at rest are due, in the order of their turns
	free time.Time // the next turn
}

// newRests returns the shared pace of all followers at rest.
func newRests() *rests { return &rests{every: idleEvery()} }

// interval returns the time between two searches of each follower at rest.
func (r *rests) interval() time.Duration { return time.Duration(max(1, r.followers.Load())) * r.every }

// turn gives p the next turn if it is the first in the line, which it joins, and the
// turn has come: then it returns true, and p leaves the line, whose new first is
// notified. Otherwise it returns when to ask again.
func (r *rests) turn(p *pace, now time.Time) (at time.Time, ok bool) {
	r.mu.Lock()
	place := slices.Index(r.line, p)
	if place < 0 {
		place = len(r.line)
		r.line = append(r.line, p)
	}
	at = r.free.Add(time.Duration(place) * r.every)
	if place > 0 {
		at = times.Later(at, now.Add(time.Second)) // those before it may be late
	}
	ok = !at.After(now)
	if ok {
		r.free = now.Add(time.Duration(p.searches) * r.every)
	}
	r.mu.Unlock()
	if ok {
		r.leave(p)
	}
	return at, ok
}

// leave removes p from the line, and notifies the follower that is first then.
func (r *rests) leave(p *pace) {
	r.mu.Lock()
	var first *pace
	place := slices.Index(r.line, p)
	if place >= 0 {
		r.line = slices.Delete(r.line, place, place+1)
		if place == 0 && len(r.line) > 0 {
			first = r.line[0]
		}
	}
	r.mu.Unlock()
	if first != nil {
		first.notify()
	}
}

// FollowInterval returns the time between two searches of each [Service.Follow] at rest:
// 16.7 seconds for each log that is followed through this client. So they leave 70
// percent of the rate limits to others.
func (s *Service) FollowInterval() time.Duration { return s.rests.interval() }

// pace is the client of one [Stepper]. It decides when to search.
type pace struct {
	api.Client

	group    *ratelimit.Group // of the searches; nil for a client of another kind
	rests    *rests
	searches int           // of each round
	interval time.Duration // [FollowOptions].Interval
	gap      time.Duration // for each round that was woken; two may follow each other at once
	turn     ratelimit.Turn
	notify   func() // called when the next round may be due earlier than next has returned

	mu       sync.Mutex
	watched  bool      // by the Waker
	woken    bool      // a change that no round has covered
	called   bool      // the same, or the watch began
	first    time.Time // the first of these
	reported time.Time // the latest
	due      time.Time // the next round
	idle     bool      // which requires a turn of rests
	waits    bool      // for the next round: a change makes it due earlier

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
	known := watched && p.watched
	p.watched = watched
	p.mu.Unlock()
	if watched {
		p.report(known)
	}
}

// report makes the next round due soon: a change was reported, or else the watch began.
func (p *pace) report(change bool) {
	p.mu.Lock()
	p.woken = p.woken || change
	p.reported = time.Now()
	if !p.called {
		p.first = p.reported
	}
	p.called = true
	earlier := p.waits
	if earlier {
		p.hurry()
	}
	p.mu.Unlock()
	if earlier {
		p.rests.leave(p)
		p.notify()
	}
}

// hurry makes the next round due when the reported change can be found. Later reports do
// not delay it.
func (p *pace) hurry() {
	p.due, p.idle, p.waits = times.Later(p.reported.Add(settle), p.paid.Add(-p.gap)), false, false
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
	p.waits = false
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

// rest sets when the next round is due after one that has succeeded: when a change was
// reported, or when it is time to look for events that were not. Without a known change it
// is idle: it has a low priority, and requires a turn among all followers at rest.
func (p *pace) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = true
	switch {
	case p.called:
		p.hurry()
	case p.found && !p.watched:
		p.due, p.idle = p.ended.Add(p.interval), false
	case p.urgent && (!p.found || p.busy): // an event may become visible after the change
		p.again = !p.repeat
		p.due, p.idle = p.ended.Add(p.gap), p.repeat
	default:
		p.due, p.idle = p.ended.Add(max(p.interval, p.rests.interval())), true
	}
}

// delay sets when the next round is due after one that has failed. Changes do not make it
// earlier.
func (p *pace) delay(pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due, p.idle, p.waits = time.Now().Add(pause), false, false
}

// next returns when the next round may begin, or when to ask again. A round that may begin
// has taken its turn.
func (p *pace) next(now time.Time) time.Time {
	p.mu.Lock()
	at, idle := p.due, p.idle
	p.mu.Unlock()
	if at.After(now) || !idle {
		return at
	}
	at, ok := p.rests.turn(p, now)
	if !ok {
		return at
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due, p.idle = times.Earlier(p.due, now), false
	return p.due
}
