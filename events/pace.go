package events

import (
	"cmp"
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

// idleEvery returns the time between two searches of logs at rest (without changes), by any
// follower of a Service: all of them together use no more than idleShare of any rate window.
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

// interval returns the time between two searches of each follower at rest.
func (r *idlePace) interval() time.Duration {
	return time.Duration(max(1, r.followers.Load())) * r.every
}

// tryTurn appends p to the queue, unless it is queued already. If p is the first and the time
// of the next turn has come, p has taken the turn, and must leave the queue. Otherwise tryTurn
// returns when to ask again.
func (r *idlePace) tryTurn(p *pace, now time.Time) (at time.Time, taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := slices.Index(r.queue, p)
	if place < 0 {
		place = len(r.queue)
		r.queue = append(r.queue, p)
	}
	at = r.nextTurn.Add(time.Duration(place) * r.every)
	isFirst := place == 0
	if !isFirst { // leaveQueue notifies p when it is the first, so that it need not ask often
		return times.Later(at, now.Add(time.Second)), false
	}
	if at.After(now) {
		return at, false
	}
	r.nextTurn = now.Add(time.Duration(p.searches) * r.every)
	return now, true
}

// leaveQueue removes p from the queue, and notifies the follower that is first then,
// whose turn may have come nearer.
func (r *idlePace) leaveQueue(p *pace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := slices.Index(r.queue, p)
	if place < 0 {
		return
	}
	r.queue = slices.Delete(r.queue, place, place+1)
	if place == 0 && len(r.queue) > 0 {
		r.queue[0].notify() // with r.mu locked: Stepper.Notify forbids its function to call the Stepper
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

	mu      sync.Mutex
	watched bool // by the Waker

	// A report says that the log has changed, or that the watch began. A round that begins
	// visibleAfter later covers it: its searches find the change.
	uncoveredChange bool      // a change was reported that no round has covered
	firstReport     time.Time // that no round has covered; zero without one
	lastReport      time.Time

	last        round     // the current or last one
	gapsUntil   time.Time // when the gaps of all rounds so far are over
	due         time.Time // the next round
	needsTurn   bool      // the next round requires a turn of idlePace
	awaitsRound bool      // a report makes the next round due earlier
	repeatNext  bool      // the next round repeats a woken one, for events that become visible late
}

// round is one search of a log by each of its followers.
type round struct {
	began, ended time.Time
	foundEvents  bool
	isWoken      bool // it is for a reported change, or repeats such a round
	isRepeat     bool // it repeats a woken round, and is for no other change
	isFrequent   bool // it followed another round soon, or is for several changes
}

// start counts the searches of each round among those that all followers at rest share.
func (p *pace) start() { p.idle.followers.Add(int64(p.searches)) }

// stop undoes start, so that the other followers search more often.
func (p *pace) stop() {
	p.idle.leaveQueue(p)
	p.idle.followers.Add(-int64(p.searches))
}

// Call makes a call through the client. The class of p.loop decides whether a search waits
// for the rate limit before or after the searches of other loops.
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
	if watched { // also at the begin of a watch: the log may have changed before
		p.report(isChange)
	}
}

// report makes the next round due soon, because a change was reported or, if change is
// false, because the watch began. A follower that awaits its next round leaves the queue of
// those at rest: it needs no turn any more. During a round the report is recorded only, and
// setNextRound takes it into account.
func (p *pace) report(change bool) {
	p.mu.Lock()
	p.uncoveredChange = p.uncoveredChange || change
	p.lastReport = time.Now()
	p.firstReport = cmp.Or(p.firstReport, p.lastReport)
	isDueEarlier := p.awaitsRound
	if isDueEarlier {
		p.dueForReport()
	}
	p.mu.Unlock()
	if isDueEarlier { // without the lock: both call back followers
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

// beginRound waits until the first search of a round may start, and records that it
// begins. The searches of a woken round, which is one for a reported change, start before
// those at rest.
func (p *pace) beginRound(ctx context.Context) error {
	p.mu.Lock()
	isWoken := p.nextIsWoken()
	p.mu.Unlock()
	p.loop.SetClass(ratelimit.Rest)
	if isWoken {
		p.loop.SetClass(ratelimit.Woken)
	}
	if err := p.loop.Reserve(ctx, p.group); err != nil {
		return err
	}
	p.recordBegin()
	return nil
}

// nextIsWoken reports whether the next round is for a reported change, or repeats a round
// that was. p.mu is held.
func (p *pace) nextIsWoken() bool { return p.uncoveredChange || p.repeatNext }

// recordBegin records when a round begins and what it is for: all reports so far, also
// those during the wait for the rate limit. Each round adds a gap to gapsUntil, for which
// dueForReport waits: so frequent reports cannot make more than one round in a gap on average.
// IsRepeat and isFrequent serve setNextRound, which decides whether to repeat this round.
func (p *pace) recordBegin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	isSoonAgain := now.Sub(p.last.began) < frequentRounds
	hasSeveralChanges := !p.firstReport.IsZero() && p.lastReport.Sub(p.firstReport) > sameChange
	p.last = round{
		began:      now,
		isWoken:    p.nextIsWoken(),
		isRepeat:   p.repeatNext && !p.uncoveredChange,
		isFrequent: isSoonAgain || hasSeveralChanges,
	}
	p.repeatNext, p.awaitsRound = false, false
	p.gapsUntil = times.Later(p.gapsUntil, now).Add(p.gap)
	p.coverReports(now)
}

// coverReports records that the round that begins now is for the reports so far. If the
// last one came less than visibleAfter ago, the searches of this round may not find its
// change yet: then it stays uncovered, and the next round is for it as well. p.mu is held.
func (p *pace) coverReports(now time.Time) {
	isVisible := now.Sub(p.lastReport) >= visibleAfter // the latest change
	if isVisible {
		p.uncoveredChange, p.firstReport = false, time.Time{}
	} else {
		p.firstReport = p.lastReport // recordBegin looks for several changes from firstReport on
	}
}

// end records the end of a round.
func (p *pace) end(found bool) {
	p.last.ended, p.last.foundEvents = time.Now(), found
	p.loop.Cancel(p.group) // gives the reserved search back, if the round has sent none
}

// setNextRound returns when the next round is due after one that has succeeded, and sets
// whether it needs a turn among all followers at rest (needsTurn). A report before that
// time makes it due earlier (awaitsRound).
//
// Events of a reported change may become visible after its round. So the round is repeated
// once if it has found no events. A frequent round is also repeated if it has found some:
// they may be only those of another change.
func (p *pace) setNextRound() (due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaitsRound = true
	mayMissEvents := p.last.isWoken && (!p.last.foundEvents || p.last.isFrequent)
	switch {
	case !p.firstReport.IsZero(): // the last round came too early for the report
		p.dueForReport()
	case p.last.foundEvents && !p.watched: // there may be more, which nothing reports
		p.due, p.needsTurn = p.last.ended.Add(p.interval), false
	case mayMissEvents: // the round is repeated once; after the repetition, the log is at rest
		p.due, p.needsTurn = p.last.ended.Add(p.gap), p.last.isRepeat
		p.repeatNext = !p.last.isRepeat
	default: // the log is at rest
		p.due, p.needsTurn = p.last.ended.Add(max(p.interval, p.idle.interval())), true
	}
	return p.due
}

// delay makes the next round due after a pause, because the last round has failed. It returns
// when it is due.
func (p *pace) delay(pause time.Duration) (due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = time.Now().Add(pause)
	p.needsTurn = false   // a retry needs no turn of idlePace: if the failed round needed one, it has taken it
	p.awaitsRound = false // a change that is reported meanwhile must not shorten the pause
	return p.due
}

// nextRound returns when the next round may begin, or when to ask again. A round
// without a reported change needs a turn among all followers at rest. If a turn is free,
// nextRound takes it, and the round begins now.
func (p *pace) nextRound(now time.Time) time.Time {
	p.mu.Lock()
	at, needsTurn := p.due, p.needsTurn
	p.mu.Unlock()
	if at.After(now) || !needsTurn {
		return at
	}
	at, taken := p.idle.tryTurn(p, now)
	if !taken {
		return at
	}
	p.idle.leaveQueue(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	// While p.mu was not held, a report may have set p.due to a time after now (dueForReport).
	// But the turn is taken: so the round begins now. A p.due that has come is kept.
	p.due, p.needsTurn = times.Earlier(p.due, now), false
	return p.due
}
