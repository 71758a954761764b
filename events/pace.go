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
	idleShare      = 0.3                     // of each rate window, for searches of logs at rest
	visibleAfter   = 1500 * time.Millisecond // from a change to its search, which ends at the second that has passed
	sameChange     = 100 * time.Millisecond  // reports of one change
	longGap        = 5 * time.Second         // for each round of a log that is woken again and again
	frequentRounds = 30 * time.Second
)

// idleEvery returns the time between two searches of all followers at rest together,
// with which these use no more than idleShare of any rate window of searches.
func idleEvery() (longest time.Duration) {
	for _, w := range api.RateWindows(searchGroup) {
		longest = max(longest, time.Duration(float64(w.Size)/(idleShare*float64(w.Max))))
	}
	return longest
}

// idlePace paces the searches at rest of all followers of a Service.
type idlePace struct {
	followers atomic.Int64  // counted by searches
	every     time.Duration // between two searches

	mu       sync.Mutex
	queue    []*pace   // whose rounds at rest are due, in the order of their turns
	nextTurn time.Time // the next turn
}

// add counts the followers of p, one for each search of a round, among those that share the
// searches at rest.
func (r *idlePace) add(p *pace) { r.followers.Add(int64(p.searches)) }

// remove undoes add, and takes p out of the queue, so that the others search more often.
func (r *idlePace) remove(p *pace) {
	r.leaveQueue(p)
	r.followers.Add(-int64(p.searches))
}

// interval returns the time between two searches of each follower at rest.
func (r *idlePace) interval() time.Duration {
	return time.Duration(max(1, r.followers.Load())) * r.every
}

// tryTurn takes the next turn for p if p is first in the queue, which it joins, and the
// time of the turn has come: then it returns true, p leaves the queue, and its new
// first is notified. Otherwise it returns when to ask again.
func (r *idlePace) tryTurn(p *pace, now time.Time) (at time.Time, ok bool) {
	r.mu.Lock()
	place := slices.Index(r.queue, p)
	if place < 0 {
		place = len(r.queue)
		r.queue = append(r.queue, p)
	}
	at = r.nextTurn.Add(time.Duration(place) * r.every)
	isFirst := place == 0
	if !isFirst { // it is notified when it is the first, and need not ask before that
		at = times.Later(at, now.Add(time.Second))
	}
	ok = isFirst && !at.After(now)
	if ok {
		r.nextTurn = now.Add(time.Duration(p.searches) * r.every)
	}
	r.mu.Unlock()
	if ok {
		r.leaveQueue(p)
	}
	return at, ok
}

// leaveQueue removes p from the queue, and notifies the follower that is first then,
// whose turn may have come nearer.
func (r *idlePace) leaveQueue(p *pace) {
	r.mu.Lock()
	var first *pace
	place := slices.Index(r.queue, p)
	if place >= 0 {
		r.queue = slices.Delete(r.queue, place, place+1)
		if place == 0 && len(r.queue) > 0 {
			first = r.queue[0]
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
func (s *Service) FollowInterval() time.Duration { return s.idle.interval() }

// pace is the client of one [Stepper]. It decides when to search.
type pace struct {
	api.Client

	group    *ratelimit.Group // of the searches; nil for a client of another kind
	idle     *idlePace
	searches int           // of each round
	interval time.Duration // [FollowOptions].Interval
	gap      time.Duration // for each round that was woken; two may follow each other at once
	loop     ratelimit.Loop
	notify   func() // called when the next round may be due earlier than nextRound has returned

	mu              sync.Mutex
	watched         bool      // by the Waker
	uncoveredChange bool      // a change was reported after the last round began, or just before
	uncoveredReport bool      // the same, or the watch began
	firstReport     time.Time // the first of these
	lastReport      time.Time // the latest
	due             time.Time // the next round
	needsTurn       bool      // which requires a turn of idlePace
	awaitsRound     bool      // for the next round: a change makes it due earlier

	lastBegan   time.Time // the last round
	gapsUntil   time.Time // when the gaps of all rounds so far are over
	ended       time.Time
	foundEvents bool // events
	wokenRound  bool // the round was woken, or is again
	frequent    bool // the round followed another one soon, or covers several changes
	repeatNext  bool // the next round repeats a woken one, for events that become visible late
	isRepeat    bool // the round is such a one
}

// Call makes a call through the client. A search waits for the rate limit in the class
// of the loop: before or after the searches of other loops.
func (p *pace) Call(ctx context.Context, r *api.Request, out any, opts ...api.CallOption) error {
	if r.Group == searchGroup {
		ctx = ratelimit.With(ctx, &p.loop)
	}
	return p.Client.Call(ctx, r, out, opts...)
}

// onWake is called by the Waker: with true if the profile has changed, or when the
// watch begins; with false if it is not watched any more and may change without a
// report.
func (p *pace) onWake(watched bool) {
	p.mu.Lock()
	isChange := watched && p.watched
	p.watched = watched
	p.mu.Unlock()
	if watched {
		p.report(isChange)
	}
}

// report makes the next round due soon, because a change was reported or, with change
// false, because the watch began. A follower that awaits its next round leaves the
// queue of those at rest.
func (p *pace) report(change bool) {
	p.mu.Lock()
	p.uncoveredChange = p.uncoveredChange || change
	p.lastReport = time.Now()
	if !p.uncoveredReport {
		p.firstReport = p.lastReport
	}
	p.uncoveredReport = true
	isDueEarlier := p.awaitsRound
	if isDueEarlier {
		p.dueForReport()
	}
	p.mu.Unlock()
	if isDueEarlier {
		p.idle.leaveQueue(p)
		p.notify()
	}
}

// dueForReport makes the next round due when the reported change can be found, and the
// gaps of the rounds before are over, except for one: two rounds may follow each other at
// once. Later reports do not delay it. p.mu is held.
func (p *pace) dueForReport() {
	p.due = times.Later(p.lastReport.Add(visibleAfter), p.gapsUntil.Add(-p.gap))
	p.needsTurn, p.awaitsRound = false, false
}

// beginRound waits until the first search of a round may start, and records why and when
// it begins. A change during the wait makes it a woken round, and not just a repeat. Each
// round adds a gap to gapsUntil, by which dueForReport limits the rounds of a busy log.
func (p *pace) beginRound(ctx context.Context) error {
	p.mu.Lock()
	woken := p.uncoveredChange || p.repeatNext
	p.mu.Unlock()
	p.loop.SetClass(ratelimit.Rest)
	if woken {
		p.loop.SetClass(ratelimit.Woken)
	}
	if err := p.loop.Reserve(ctx, p.group); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaitsRound = false
	p.wokenRound = p.uncoveredChange || p.repeatNext
	p.isRepeat = p.repeatNext && !p.uncoveredChange
	p.repeatNext = false
	now := time.Now()
	soonAgain, severalChanges := now.Sub(p.lastBegan) < frequentRounds, p.lastReport.Sub(p.firstReport) > sameChange
	p.frequent = soonAgain || severalChanges
	p.lastBegan = now
	p.gapsUntil = times.Later(p.gapsUntil, now).Add(p.gap)
	p.coverReports(now)
	return nil
}

// coverReports records that the round that begins now covers the reports so far. If the
// last one came less than visibleAfter before, its change may not be visible to searches
// yet: then they stay uncovered, and another round follows. p.mu is held.
func (p *pace) coverReports(now time.Time) {
	if now.Sub(p.lastReport) >= visibleAfter {
		p.uncoveredChange, p.uncoveredReport = false, false
	}
	p.firstReport = p.lastReport // of those that the next round covers
}

// end records the end of a round.
func (p *pace) end(found bool) {
	p.ended, p.foundEvents = time.Now(), found
	p.loop.Cancel(p.group) // if there was no search
}

// setNextRound sets when the next round is due after one that has succeeded: when a
// change was reported, or when it is time to look for events that were not. Without a
// known change it has a low priority, and needs a turn among all followers at rest.
//
// A woken round that has found nothing, or one of a log that changes often, is repeated
// once, because an event may become visible after its report.
func (p *pace) setNextRound() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaitsRound = true
	switch {
	case p.uncoveredReport:
		p.dueForReport()
	case p.foundEvents && !p.watched: // there may be more, which nothing reports
		p.due, p.needsTurn = p.ended.Add(p.interval), false
	case p.wokenRound && (!p.foundEvents || p.frequent):
		p.repeatNext = !p.isRepeat
		p.due, p.needsTurn = p.ended.Add(p.gap), p.isRepeat // after the repeat the log is at rest
	default:
		p.due, p.needsTurn = p.ended.Add(max(p.interval, p.idle.interval())), true
	}
}

// delay sets when the next round is due after one that has failed. Changes do not make it
// earlier.
func (p *pace) delay(pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due, p.needsTurn, p.awaitsRound = time.Now().Add(pause), false, false
}

// nextRound returns when the next round may begin, or when to ask again. A round
// without a reported change needs a turn among all followers at rest; if it is returned
// as due, it has taken that turn.
func (p *pace) nextRound(now time.Time) time.Time {
	p.mu.Lock()
	at, idle := p.due, p.needsTurn
	p.mu.Unlock()
	if at.After(now) || !idle {
		return at
	}
	at, ok := p.idle.tryTurn(p, now)
	if !ok {
		return at
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due, p.needsTurn = times.Earlier(p.due, now), false // now, if a report has just set a later time: the turn is taken
	return p.due
}
