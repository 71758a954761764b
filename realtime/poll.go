package realtime

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/times"
	"github.com/fastio-go/fastio/internal/wait"
)

// polled is the state of the polls. Only the polling goroutine uses it and
// advances the cursor, because frames have no times.
type polled struct {
	cursor            activity.Cursor
	seen              map[activity.Field]api.Time // the latest of each field, within the lookback of a sweep
	lastSweep         time.Time
	unconfirmed       start           // the start, if it is the Date of a response, until a sweep confirms it
	phase             float64         // place of the first sweep in its round, 0 to 1; 0 unless startAtServerTime sets it
	nextIsSecond      bool            // the next sweep is the second one, after a first one that has a phase
	beforeFirstSocket context.Context // canceled when a socket opens for the first time, or ctx is done
}

// startIsUnconfirmed reports whether the start is the Date of a response, and no sweep has
// confirmed it.
func (p *polled) startIsUnconfirmed() bool { return !p.unconfirmed.localTime.IsZero() }

// start is where the changes of a subscription start.
type start struct {
	cursor    activity.Cursor
	localTime time.Time // by the local clock, if the cursor is the Date of a response
}

const (
	grace         = 2 * time.Second // for a socket to open, before polls begin
	longAbsent    = 24 * time.Hour  // the platform does not publish how long it keeps activity
	longSilent    = 2 * time.Minute // longer than any long poll
	maxSeenFields = 10_000

	dateRounding = time.Second // a start is so much before the Date that it is from, which has whole seconds

	leastSlack = 3 * time.Second // for a short poll; doubled by each failure
	mostSlack  = 25 * time.Second
)

// keepPolling polls continuously while no socket is open. While one is open, it polls
// at intervals (sweeps) for changes that the socket missed. It returns only with an
// error.
//
// stateCtx is canceled when the socket opens or closes. After a socket has closed,
// polling begins after a short grace period, in which another may open; at once if
// there can be no socket.
func (s *Subscription) keepPolling(ctx context.Context) error {
	socketOpen, stateCtx, err := s.findStart(ctx) //nolint:contextcheck // stateCtx is derived from ctx
	if err != nil {
		return err
	}
	s.loop.SetClass(ratelimit.Rest) // from now on, its polls have the lowest priority
	close(s.ready)
	for {
		switch {
		case socketOpen:
			s.awaitSweep(stateCtx)
		case s.staysWithoutSocket(stateCtx):
			err = s.pollUntilSocket(ctx, stateCtx)
		} // else a socket has opened in the grace period: only the sweep below is due
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// The state is read before the sweep: if it changes during the sweep, the next
		// round notices and sweeps again.
		socketOpen, stateCtx = s.connState.state()
		if err := s.sweep(ctx); err != nil {
			return err
		}
	}
}

// staysWithoutSocket reports whether no socket opens within the grace period, which
// cancels stateCtx. It does not wait if there can be no socket.
func (s *Subscription) staysWithoutSocket(stateCtx context.Context) bool {
	return s.dial == nil || wait.Sleep(stateCtx, grace) == nil
}

// findStart sets the cursor from which changes are reported, unless a Position has set it.
// It waits for a socket. If none opens in time, polls find the cursor, until a socket opens.
// If the polls have not found it, the cursor is the server's time.
//
// It returns the state with which keepPolling begins: whether a socket is open, and a
// context that is canceled when that changes.
func (s *Subscription) findStart(ctx context.Context) (socketOpen bool, stateCtx context.Context, err error) {
	beforeFirstSocket := s.polled.beforeFirstSocket // canceled when the first socket opens
	if s.dial != nil {
		select {
		case <-beforeFirstSocket.Done():
		case <-s.waitedEnough:
		}
	}
	noSocketYet := beforeFirstSocket.Err() == nil
	if noSocketYet {
		err = s.pollForStart(beforeFirstSocket)
	}
	socketHasOpened := beforeFirstSocket.Err() != nil // which has canceled the polls: their error does not count
	switch {
	case ctx.Err() != nil:
		return false, nil, ctx.Err()
	case err != nil && !socketHasOpened:
		return false, nil, err
	}
	if s.polled.cursor != "" { // of a poll or a Position
		// If a socket has opened meanwhile, it has not reported the changes between the cursor and that moment. So
		// the result is still "no socket", with a context that is canceled: then keepPolling sweeps at once.
		return false, beforeFirstSocket, nil
	}
	s.startAtServerTime()
	socketOpen, stateCtx = s.connState.state()
	return socketOpen, stateCtx, nil
}

// pollForStart finds by polls the cursor from which the subscription reports changes. ctx
// ends when a socket opens, because then no polls are needed. Subscriptions beyond the first
// few send no polls if they have a cursor already, or if the server's time, from which they
// can start, is known.
func (s *Subscription) pollForStart(ctx context.Context) error {
	s.connState.setPolling(true)
	_, serverTimeKnown := s.clock.Age()
	startKnown := s.polled.cursor != "" || serverTimeKnown
	if s.s.crowded() && startKnown {
		return nil
	}
	return s.baseline(ctx)
}

// startAtServerTime starts the changes at the server's present time, as known from the
// Dates of the latest two responses, less a second because a Date is rounded. The first
// sweep confirms or corrects this start: see correctStart. The phase spreads the first sweeps of subscriptions that
// begin together.
func (s *Subscription) startAtServerTime() {
	now := time.Now()
	localTime := now.Round(0).UTC() // for trueStart; as a Position holds it
	s.from = start{cursor: activity.CursorAt(s.clock.Earliest().Add(-dateRounding)), localTime: localTime}
	s.polled.unconfirmed = s.from
	s.polled.cursor = s.from.cursor
	s.polled.lastSweep = now // the first sweep is due an interval later
	s.polled.phase = s.s.nextPhase()
	s.pending.start(s.from.cursor)
}

// awaitSweep sleeps until the next sweep is due, or until stateCtx is done because the
// socket has closed. It sleeps for at most Sweep at a time, because the interval
// changes with the number of subscriptions.
func (s *Subscription) awaitSweep(stateCtx context.Context) {
	for {
		pause := s.sweepInterval() - time.Since(s.polled.lastSweep)
		if pause <= 0 {
			return
		}
		if wait.Sleep(stateCtx, min(pause, s.o.Sweep)) != nil {
			return
		}
	}
}

// sweepInterval returns the time from one sweep to the next. That is [SubscribeOptions.Sweep]
// or, if many subscriptions share the rate limit of polls, a round: the time in which all of
// them can sweep once.
//
// A sweep that has to confirm the start of its subscription (the first one) is up to three
// polls, so that a round of such sweeps takes three times as long. The phase, 0 to 1, places
// the first sweep in that long round. The second sweep follows a whole long round after the
// first one: by then all subscriptions have had their first.
//
// With 100 subscriptions and a Sweep of 300 seconds, a round takes 1,600 seconds: the first
// sweep of each comes after 300 to 4,800 seconds, the second one 4,800 seconds after it,
// and every other one 1,600 seconds after the last.
func (s *Subscription) sweepInterval() time.Duration {
	const firstPolls = 3
	roundTime := s.s.sweepRound() // in which each subscription may sweep once
	firstRound := max(s.o.Sweep, firstPolls*roundTime)
	nextIsFirst := s.polled.startIsUnconfirmed() // the first sweep confirms the start
	switch {
	case nextIsFirst:
		return s.o.Sweep + time.Duration(s.polled.phase*float64(firstRound-s.o.Sweep))
	case s.polled.nextIsSecond:
		return firstRound
	}
	return max(s.o.Sweep, roundTime)
}

// baseline finds the cursor to start from by two polls. The first one returns the cursor
// of the present. The second one goes back from it by [SubscribeOptions.Overlap], as each
// pollOnce does. Its changes are only remembered, so that no sweep reports them: a program
// that lists after Subscribe sees them. If there is a cursor already, from a Position,
// baseline sweeps from that.
func (s *Subscription) baseline(ctx context.Context) error {
	if s.polled.cursor != "" {
		return s.sweep(ctx)
	}
	var answer api.Response
	for r, err := range s.s.polls.Watch(ctx, s.profile, s.watchOptions(), s.optionsWith(&answer)...) {
		if err != nil {
			return err
		}
		s.noticeSilence(answer.Header) // it records when this response came: the next silence counts from then
		s.polled.cursor = r.Cursor
		break // after the first poll
	}
	r, err := s.pollOnce(ctx, s.polled.cursor)
	if err != nil {
		s.polled.cursor = "" // not a start, as the changes before it were not remembered
		return err
	}
	s.newChanges(r) // only to remember them
	s.advance(r.Cursor)
	s.polled.lastSweep = time.Now()
	s.pending.start(s.polled.cursor)
	return nil
}

// optionsWith returns the caller's options and one that stores the response in answer.
func (s *Subscription) optionsWith(answer *api.Response) []api.CallOption {
	return append(slices.Clip(s.opts), api.WithResponse(answer))
}

// watchOptions returns the options for polls that start at the current cursor.
func (s *Subscription) watchOptions() *activity.WatchOptions {
	return &activity.WatchOptions{
		Cursor: s.polled.cursor, Overlap: s.o.Overlap, Sweep: s.o.Sweep,
		OnRetry: func(_ context.Context, e api.RetryEvent) {
			s.closeIdleAfterTimeout(e.Err)
			s.notify(func(st *Status) { st.setError(ofPoll, st.Failures+1, e.Err, e.Wait) })
		},
	}
}

// pollUntilSocket polls until a socket opens, which cancels stateCtx, and then returns
// nil. It returns an error if ctx is done or the platform refuses. If the start of the
// subscription is unconfirmed, it sweeps first, which confirms it.
func (s *Subscription) pollUntilSocket(ctx, stateCtx context.Context) error {
	if s.polled.startIsUnconfirmed() {
		if err := s.sweep(ctx); err != nil {
			return err
		}
	}
	var answer api.Response
	pollCtx := ratelimit.With(stateCtx, &s.loop) // the rate limit counts the polls as calls of this loop
	for r, err := range s.s.polls.Watch(pollCtx, s.profile, s.watchOptions(), s.optionsWith(&answer)...) {
		if err != nil {
			if stateCtx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		s.pollSucceeded(answer.Header)
		s.deliverReport(r)
		watchHasSwept := time.Since(s.polled.lastSweep) >= s.o.Sweep // as watchOptions requires
		if watchHasSwept {
			s.polled.lastSweep = time.Now()
			s.reportStatus()
		}
	}
	return ctx.Err()
}

// reportStatus calls OnStatus after a sweep: [Status.Interval] may have changed.
func (s *Subscription) reportStatus() { s.notify(func(*Status) {}) }

// sweep polls once for changes that were lost or became visible late, from
// [SubscribeOptions.Overlap] before the cursor on. The first sweep also confirms where
// the subscription starts, if that is the server's time and not the result of a poll.
func (s *Subscription) sweep(ctx context.Context) error {
	confirmsStart := s.polled.startIsUnconfirmed()
	r, err := s.pollOnce(ctx, s.polled.cursor)
	if err == nil && confirmsStart {
		r, err = s.correctStart(ctx, r)
	}
	if err != nil {
		return err
	}
	s.deliverReport(r)
	s.polled.lastSweep, s.polled.unconfirmed = time.Now(), (start{})
	// The phase is the place of a first sweep in a long round of first sweeps, which the second sweep follows a whole
	// long round later: see sweepInterval. Only a subscription that has started at the server's time has a phase.
	isFirst, hasPhase := confirmsStart, s.polled.phase > 0
	s.polled.nextIsSecond = isFirst && hasPhase
	s.reportStatus()
	return nil
}

// correctStart returns the first report of a subscription, which is r if the assumed start
// of the subscription is early enough. The assumed start is a time of the clock of the Date
// headers. If that clock is ahead of the clock that dates activity, changes after the true
// start are dated before the assumed start, and r does not have them: then correctStart
// moves the cursor back to the true start, which s.trueStart computes, and polls again.
func (s *Subscription) correctStart(ctx context.Context, r *activity.Report) (*activity.Report, error) {
	s.loop.SetClass(ratelimit.Program) // a higher priority: the program waits for the change
	defer s.loop.SetClass(ratelimit.Rest)
	present := r.Cursor
	if len(r.Activity) > 0 { // then r.Cursor may be the time of the latest change, and not the present
		empty, err := s.pollOnce(ctx, noCursor)
		if err != nil {
			return nil, err
		}
		present = empty.Cursor
	}
	assumedStart, trueStart := s.polled.unconfirmed.cursor.Time(), s.trueStart(present.Time())
	const rounding = 2 * time.Second // a Date and a cursor have whole seconds
	earlyEnough := trueStart.After(assumedStart.Add(-rounding))
	if earlyEnough {
		return r, nil
	}
	s.polled.cursor = activity.CursorAt(trueStart)
	return s.pollOnce(ctx, s.polled.cursor)
}

// trueStart returns when a subscription has started, by the clock that dates activity: the
// time that this clock shows now, less the age of the subscription. Example: the subscription
// has assumed that it starts at 12:00:30. When it is ten seconds old, the clock of activity
// shows 12:00:20. So the true start is 12:00:10.
//
// A start that is too early only repeats changes. So of two values for the present time, by the
// clock of activity (nowOfActivity, zero if it is not known) and by the Date headers, the
// earlier one is used; and of two ages, by the local clock and by the Date headers, the greater one.
func (s *Subscription) trueStart(nowOfActivity time.Time) time.Time {
	assumed, nowByDates := s.polled.unconfirmed, s.clock.Earliest()
	age := max(0, time.Since(assumed.localTime), nowByDates.Sub(assumed.cursor.Time()))
	now := nowByDates
	if !nowOfActivity.IsZero() {
		now = times.Earlier(now, nowOfActivity)
	}
	return now.Add(-age - dateRounding)
}

const noCursor = ""

// pollOnce sends a short poll for changes from [SubscribeOptions.Overlap] before the
// cursor on. With noCursor, changes count from the time of the call on: the report has none,
// only the cursor of the present. Failures that are not final are retried, each time with
// twice the time for the attempt (Slack): the connection may be slow.
func (s *Subscription) pollOnce(ctx context.Context, cursor activity.Cursor) (*activity.Report, error) {
	onlyChanged := cursor != noCursor // the report leaves out unchanged fields; with noCursor it has no field anyway
	o := &activity.PollOptions{Cursor: cursor.Back(s.o.Overlap), Updated: onlyChanged, Slack: leastSlack}
	var report *activity.Report
	err := wait.Poll{Final: call.Final, Failed: s.pollFailed}.Run(ctx, func() (done bool, pause time.Duration, err error) {
		var answer api.Response
		opts := append(s.optionsWith(&answer), api.WithAttempts(1))
		r, err := s.s.polls.PollProfile(ratelimit.With(ctx, &s.loop), s.profile, o, opts...)
		if err != nil {
			o.Slack = min(2*o.Slack, mostSlack)
			s.closeIdleAfterTimeout(err)
			return false, 0, err
		}
		s.pollSucceeded(answer.Header)
		report = r
		return true, 0, nil
	})
	return report, err
}

// closeIdleAfterTimeout closes the idle connections of the client if err is a timeout: they
// may be broken, too.
func (s *Subscription) closeIdleAfterTimeout(err error) {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		s.s.closeIdle()
	}
}

// deliverReport queues the new changes of a report for delivery, advances the cursor, and
// records in the status how late the latest of them is.
func (s *Subscription) deliverReport(r *activity.Report) {
	fresh := s.newChanges(r)
	s.advance(r.Cursor)
	s.forgetSeen() // those that are too old for the new cursor
	s.pending.enqueuePoll(fresh, s.polled.cursor)
	var latest time.Time
	for _, at := range fresh {
		if at.After(latest) {
			latest = at.Time
		}
	}
	s.recordLag(latest)
}

// cursorSlack is how far a cursor may be ahead of the Date of its response, which
// is in whole seconds.
const cursorSlack = 5 * time.Second

// advance moves the cursor of the subscription forward to next, the cursor of a
// response, or to the server's time if that is earlier. It never moves backward.
func (s *Subscription) advance(next activity.Cursor) {
	s.polled.cursor = s.polled.cursor.Later(next.Until(s.clock.Latest(cursorSlack)))
}

// newChanges returns the fields of a report that no earlier report had with the same
// time, and remembers them unless their name is very long. A field without a time always
// counts as new, because it may have changed again.
func (s *Subscription) newChanges(r *activity.Report) map[activity.Field]api.Time {
	fresh := make(map[activity.Field]api.Time, len(r.Activity))
	if s.polled.seen == nil {
		s.polled.seen = map[activity.Field]api.Time{}
	}
	for name, at := range r.Activity {
		f := activity.Field(name)
		if seen, ok := s.polled.seen[f.Plain()]; ok && seen.Equal(at.Time) && !at.IsZero() {
			continue
		}
		if len(f) <= maxKey {
			s.polled.seen[f.Plain()] = at
		}
		fresh[f] = at
	}
	return fresh
}

// forgetSeen forgets the fields whose changes are so old that no sweep will return them
// again: a sweep goes back by Overlap, and twice that is kept. If there are still too
// many, it forgets all, and the next sweep reports some of them again.
func (s *Subscription) forgetSeen() {
	oldest := s.polled.cursor.Back(2 * s.o.Overlap).Time()
	maps.DeleteFunc(s.polled.seen, func(_ activity.Field, at api.Time) bool { return at.Before(oldest) })
	if len(s.polled.seen) > maxSeenFields {
		clear(s.polled.seen)
	}
}

// recordLag puts the time since a change into the status, unless it is not known (zero).
func (s *Subscription) recordLag(at time.Time) {
	if at.IsZero() {
		return
	}
	lag := s.clock.since(at)
	s.changeStatus(func(st *Status) { st.Lag = lag })
}

// pollSucceeded records a response to a poll: it clears the error of earlier polls. If the
// response before it was long ago, noticeSilence requests what may have been missed.
func (s *Subscription) pollSucceeded(h http.Header) {
	if st := s.Status(); st.polling && st.Err != nil {
		s.notify(func(st *Status) { st.clearError(ofPoll) })
	}
	s.noticeSilence(h)
}

// noticeSilence records a response of the server; a nil header has no Date. If the response
// or frame before it was long ago, changes or events may have been missed: it requests a
// resync after longAbsent, and a read of the event log after longSilent, or two intervals of
// polls if these are longer.
func (s *Subscription) noticeSilence(h http.Header) {
	s.noticing.Lock()
	defer s.noticing.Unlock()
	before, silence := s.clock.observeResponse(h)
	if silence > longAbsent {
		s.pending.requestResync(ResyncReasonAbsence, before, nil) // without an error
	}
	if silence > max(longSilent, 2*s.Status().Interval) {
		s.history.enqueueGap(before)
	}
}

// position is the decoded form of [SubscribeOptions.Position].
type position struct {
	Version int             `json:"v"`
	Profile string          `json:"profile"`
	Cursor  activity.Cursor `json:"cursor"`
	Began   time.Time       `json:"began,omitzero"` // see start
	Heard   time.Time       `json:"heard,omitzero"` // the latest response or frame, by the server's clock
}

const positionVersion = 1

// Position returns a value for [SubscribeOptions.Position]. With it, the current change
// of the loop over Changes, and maybe a few before it, are delivered again.
func (s *Subscription) Position() string {
	// The next subscription reads the log from p.Heard on: from the last response or frame, or earlier if changes are
	// not delivered yet. These are in a gap, for which the log must still be read, or are pending.
	s.noticing.Lock() // so that heard and gapStart are both from before, or both from after, the end of a silence
	heard := s.clock.last()
	gapStart, hasGap := s.history.pendingGap()
	s.noticing.Unlock()
	// This is called last: a change of the gap that is read from the log meanwhile becomes pending.
	deliveredTo, pendingFrom := s.pending.position()
	p := position{Version: positionVersion, Profile: s.profile.String(), Cursor: deliveredTo, Heard: heard}
	if deliveredTo == s.from.cursor { // nothing was delivered yet: the next subscription must confirm the start
		p.Began = s.from.localTime
	}
	hasPending := !pendingFrom.IsZero()
	switch {
	case hasGap && hasPending:
		p.Heard = times.Earlier(gapStart, pendingFrom)
	case hasGap:
		p.Heard = gapStart
	case hasPending:
		p.Heard = pendingFrom
	}
	b, err := jsonv2.Marshal(p)
	if err != nil {
		panic(err) // a position can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodePosition decodes the position of the options to start from; it is zero without
// one.
func (s *Subscription) decodePosition() (position, error) {
	if s.o.Position == "" {
		return position{}, nil
	}
	var p position
	b, err := base64.RawURLEncoding.DecodeString(s.o.Position)
	decoded := err == nil && jsonv2.Unmarshal(b, &p) == nil
	if !decoded || p.Version != positionVersion || p.Cursor == "" || p.Profile == "" {
		return position{}, refuse("Position", "must come from Subscription.Position")
	}
	return p, nil
}

// clock is the server's clock and the time of the latest response or frame.
type clock struct {
	*servertime.Clock // of the Service

	mu             sync.Mutex
	lastHeard      time.Time // the latest response or frame, by the server's clock
	lastHeardLocal time.Time // the same by the local clock; zero if of an earlier subscription
}

// observeResponse observes the Date of a response. It returns the server's time of the
// response or frame before it, and how long ago that was; 0 for the first response.
func (c *clock) observeResponse(h http.Header) (previous time.Time, silence time.Duration) {
	c.Observe(h)
	c.mu.Lock()
	defer c.mu.Unlock()
	previous, previousLocal := c.lastHeard, c.lastHeardLocal
	c.heardNow()
	switch {
	case previous.IsZero():
		return previous, 0
	case previousLocal.IsZero(): // of an earlier subscription: only the server's clock can tell
		return previous, c.lastHeard.Sub(previous)
	}
	return previous, c.lastHeardLocal.Sub(previousLocal)
}

// alive records that a frame or a pong has come.
func (c *clock) alive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heardNow()
}

// heardNow sets the time of the latest response or frame to the present: by the latest
// Dates, as a frame has none, and by the local clock, as it shows it (a monotonic reading
// would leave out the time in which the computer sleeps). c.mu is held.
func (c *clock) heardNow() { c.lastHeard, c.lastHeardLocal = c.Earliest(), time.Now().Round(0) }

// last returns when the latest response or frame came, by the server's clock.
func (c *clock) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastHeard
}

// since returns the time since a moment of the server's clock, 0 if it is in the
// future.
func (c *clock) since(at time.Time) time.Duration { return max(0, c.Earliest().Sub(at)) }
