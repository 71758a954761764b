package activity

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/times"
	"github.com/fastio-go/fastio/internal/wait"
)

// WatchOptions are the options of [Service.Watch]. Nil and zero fields mean the
// defaults.
type WatchOptions struct {
	Cursor Cursor        // of the last report of an earlier watch; "" means now
	Fields []Field       // only these fields, at most 30; nil means all
	Wait   time.Duration // the longest wait of a poll: whole seconds, 1 to 95; default: 95 s

	// Overlap is the greatest delay with which changes become visible. Every Sweep, a poll
	// goes back by the Overlap for those that were late. Default: none does.
	Overlap time.Duration
	Sweep   time.Duration // default: 5 min

	// OnRetry is called before a poll is retried after a temporary failure.
	OnRetry func(ctx context.Context, e api.RetryEvent)
}

const opWatch = "activity.Watch"

// Watch polls until ctx is done and yields each report, also those without
// changes. It also ends with an error if the platform rejects a poll: invalid
// options, no access to the profile, an invalid credential.
//
// Without a cursor the first report comes at once and holds the cursor at which
// the watch starts. List the existing objects after it, so that no change is
// missed. A later watch can resume at the Cursor of any report.
//
// A report leaves out the changes that the previous report had. A report after that may have
// them again. Two changes of a field may be reported as one.
//
// Polls are at least a second apart, during frequent changes up to 3.6 seconds. All
// watches and subscriptions of a client share an hourly rate limit. If it does not suffice,
// those with frequent changes get three quarters of the polls, and the others a quarter.
// What one group does not use goes to the other.
//
// If a proxy cuts long polls, they are shortened to 55 or 25 seconds and later lengthened
// again. Other temporary failures are retried with a backoff of at most half a minute:
// failed connections, responses that cannot be decoded, errors of a proxy. A Retry-After is
// followed, for an hour at most.
func (s *Service) Watch(
	ctx context.Context, profile api.Profile, o *WatchOptions, opts ...api.CallOption,
) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		w, err := s.newWatch(profile, o, opts)
		if err == nil {
			err = call.Check(ctx, s.c, opWatch)
		}
		if err == nil {
			w.loop = cmp.Or(ratelimit.LoopOf(ctx), new(ratelimit.Loop)) // shares the rate limit with other loops
		}
		for err == nil {
			var r *Report
			r, err = w.next(ctx)
			if err == nil && !yield(r, nil) {
				return
			}
		}
		yield(nil, err)
	}
}

const defaultSweep = 5 * time.Minute

type watch struct {
	s       *Service
	profile api.Profile
	o       WatchOptions
	opts    []api.CallOption
	answer  *api.Response

	loop        *ratelimit.Loop // of ctx, or its own
	score       int             // of changes in the last responses
	lastSweep   time.Time       // when the latest sweep, a poll that went back, was sent
	cursorMoved time.Time       // when the cursor last changed
	sweptCursor Cursor          // while it is the cursor, no sweep is needed: the last one has found all late changes
	wentBack    bool            // the latest poll was a sweep
	skipEqual   bool            // the next poll leaves out changes with the time of the cursor
	cursor      Cursor
	clock       servertime.Clock
	reported    api.Map[api.Time] // by the last response
	hold        hold
	tempo       tempo
	failures    int
	pause       time.Duration // before the next poll
}

// newWatch checks the options and returns a watch that has not polled yet. Its polls make
// one attempt each, because the watch retries them itself, and wait for the rate limit as
// long as it takes. It needs the header of their responses (answer) for the server's time.
func (s *Service) newWatch(profile api.Profile, o *WatchOptions, opts []api.CallOption) (*watch, error) {
	w := &watch{s: s, profile: profile, lastSweep: time.Now(), cursorMoved: time.Now()}
	if o != nil {
		w.o = *o
	}
	w.o.Sweep = cmp.Or(w.o.Sweep, defaultSweep)
	w.answer = api.Resolve(opts).Response
	if w.answer == nil {
		w.answer = new(api.Response)
	}
	w.opts = append(slices.Clip(opts), api.WithAttempts(1), api.WithMaxWait(api.NoLimit), api.WithResponse(w.answer))
	w.cursor, w.hold = w.o.Cursor, newHold(cmp.Or(w.o.Wait, maxWait))
	args := input.Fields[WatchOptions](opWatch)
	if w.o.Wait < 0 || w.o.Wait > maxWait || w.o.Wait%time.Second != 0 {
		return nil, args.Refuse("wait", "must be 1 to 95 whole seconds", w.o.Wait.String())
	}
	if w.o.Overlap < 0 {
		return nil, args.Refuse("Overlap", "must not be negative", w.o.Overlap.String())
	}
	if w.o.Sweep < 0 {
		return nil, args.Refuse("Sweep", "must not be negative", w.o.Sweep.String())
	}
	if err := profile.OneOf(opWatch, "profile"); err != nil {
		return nil, err
	}
	if _, err := joinFields(args, w.o.Fields); err != nil {
		return nil, err
	}
	return w, nil
}

// next polls until there is a response. It repeats a poll that fails, after the pause
// that retryLater sets, unless the failure is permanent.
func (w *watch) next(ctx context.Context) (*Report, error) {
	for {
		if err := wait.Sleep(ctx, w.pause); err != nil {
			return nil, err
		}
		began := time.Now()
		r, err := w.poll(ratelimit.With(ctx, w.loop))
		held := time.Since(times.Later(began, w.loop.State().Started)) // since it was sent: without the wait for the rate limit
		switch {
		case err == nil:
			w.accept(r, held)
			return r, nil
		case ctx.Err() != nil || call.Final(err):
			return nil, err
		}
		w.retryLater(ctx, err, held)
	}
}

// poll requests the changes since the cursor or, in a sweep (wentBack), since an Overlap
// before it, for changes that became visible late. The first poll has no cursor; its
// response gives the one to start from.
func (w *watch) poll(ctx context.Context) (*Report, error) {
	o := &PollOptions{Fields: w.o.Fields}
	if w.cursor != "" {
		o.Cursor = w.cursor
		w.wentBack = w.startsSweep()
		switch {
		case w.wentBack:
			o.Cursor = w.cursor.Back(w.o.Overlap)
		case w.skipEqual: // else a change with the time of the cursor would end each poll at once
			o.Cursor = CursorAt(w.cursor.Time().Add(time.Microsecond))
		}
		o.Updated, o.Wait = true, w.hold.wait
	}
	if w.profile == api.User(api.Me) {
		return w.s.Poll(ctx, o, w.opts...)
	}
	return w.s.PollProfile(ctx, w.profile, o, w.opts...)
}

// startsSweep reports whether the next poll is a sweep, and notes that. A sweep starts an
// Overlap before the cursor, for changes that became visible late. One is due every Sweep.
// After the cursor has stayed the same for an Overlap, all changes from before it are
// visible. So the next sweep is the last one (sweptCursor) until the cursor moves.
func (w *watch) startsSweep() bool {
	if w.o.Overlap == 0 || w.cursor == w.sweptCursor || time.Since(w.lastSweep) < w.o.Sweep {
		return false
	}
	w.lastSweep = time.Now()
	allAreVisible := time.Since(w.cursorMoved) >= w.o.Overlap
	if allAreVisible {
		w.sweptCursor = w.cursor
	}
	return true
}

// hasLater reports whether a response has changes after the cursor, which no earlier
// response can have had. A change whose time could not be read may be one of them.
func (w *watch) hasLater(r *Report) bool {
	for _, at := range r.Activity {
		isUnknown := at.IsZero()
		if isUnknown || at.After(w.cursor.Time()) {
			return true
		}
	}
	return false
}

// setPriority sets the priority of the next poll: Woken if several of the last polls
// had new changes, else Rest. Held is how long the last one took.
func (w *watch) setPriority(hasNew bool, held time.Duration) {
	const most, busy = 4, 3 // one change scores 2: it is not yet busy
	switch {
	case hasNew:
		w.score = min(w.score+2, most)
	case held >= longHold: // for so long nothing has changed
		w.score = 0
	default:
		w.score = max(w.score-1, 0)
	}
	w.loop.SetClass(ratelimit.Rest)
	if w.score >= busy {
		w.loop.SetClass(ratelimit.Woken)
	}
}

// accept processes a response: it moves the cursor, sets the pause before the next poll,
// and removes from the response the changes that the previous one had as well. Held is
// how long the server took to respond.
func (w *watch) accept(r *Report, held time.Duration) {
	hasChanges, hasLater := len(r.Activity) > 0, w.hasLater(r)
	w.removeReported(r)
	hasUnreported := len(r.Activity) > 0 // that the previous response did not have
	w.failures = 0
	w.setPriority(hasLater, held)
	if isFirstPoll := w.cursor == ""; !isFirstPoll { // the server does not hold the first one
		w.hold.lengthenAfter(held)
		w.pause = w.tempo.pauseAfter(held, hasUnreported)
	}
	moved := w.moveCursor(r)
	wentBack := w.wentBack                               // then the changes may be from before the cursor
	hasOnlyEqual := hasChanges && !hasLater && !wentBack // all have the time of the cursor
	if hasOnlyEqual && !moved {
		w.skipEqual = true // else these changes would end the next poll at once
	}
}

// moveCursor moves the cursor to that of a response, if it is later, and sets it in the
// response. It reports whether the cursor has changed.
func (w *watch) moveCursor(r *Report) (moved bool) {
	w.clock.Observe(w.answer.Header)
	before := w.cursor
	next := r.Cursor.Until(w.clock.Latest(cursorSlack)) // from a future cursor, polls would report nothing for a while
	if before == "" {
		w.cursor = w.startCursor(next, Cursor(r.ServerDate))
	} else {
		w.cursor = before.Later(next)
	}
	r.Cursor = w.cursor
	moved = w.cursor != before
	if moved {
		w.cursorMoved = time.Now()
		w.skipEqual = false // changes with the time of the new cursor may not have been reported
	}
	return moved
}

// removeReported removes from a response the changes that the previous one had as well.
func (w *watch) removeReported(r *Report) {
	previous := w.reported
	w.reported = maps.Clone(r.Activity)
	maps.DeleteFunc(r.Activity, func(field string, at api.Time) bool {
		before, ok := previous[field]
		return ok && before.Equal(at.Time) && !at.IsZero() // an invalid time is zero
	})
}

// cursorSlack is the maximum time of a cursor after the Date of its response,
// which is in whole seconds.
const cursorSlack = 5 * time.Second

// startCursor returns the start of a watch: the cursor of the first response if it holds a
// time, else the server_date of the response, else the time of its Date header.
func (w *watch) startCursor(cursor, serverDate Cursor) Cursor {
	if !cursor.Time().IsZero() {
		return cursor
	}
	if serverDate != "" { // limited, because its format is not documented: it could be read as a future time
		return serverDate.Until(w.clock.Latest(cursorSlack))
	}
	const mostRounded = time.Second // the Date header has whole seconds, and may be rounded up
	return CursorAt(w.clock.Earliest().Add(-mostRounded))
}

// retryLater schedules the retry after a temporary failure. If a poll failed after it
// was held for long, a proxy has probably cut it. That does not count as a failure, so that
// a shorter poll is sent without a backoff. The first poll, without a cursor, is not held.
func (w *watch) retryLater(ctx context.Context, err error, held time.Duration) {
	_, answered := errors.AsType[*api.Error](err)
	isCut := held >= longHold && (!answered || errors.Is(err, api.ErrUnavailable))
	if isCut && w.cursor != "" {
		w.hold.shortenBelow(held)
		w.failures = 0
	} else {
		w.failures++
	}
	w.sweptCursor = "" // the failed poll may have been the last sweep from this cursor: another one is needed
	w.pause = wait.For(w.failures, wait.RetryAfterOf(err))
	if w.o.OnRetry != nil {
		w.o.OnRetry(ctx, api.RetryEvent{Op: opWatch, Attempt: w.failures, Wait: w.pause, Err: err})
	}
}

// longHold is the wait after which a failed poll counts as cut.
const longHold = 10 * time.Second

// hold adapts the wait of polls.
type hold struct {
	longest, wait time.Duration
	fullCount     int // completed polls in a row
	fullNeeded    int // completed polls before a longer one is tried
}

func newHold(most time.Duration) hold { return hold{longest: most, wait: most, fullNeeded: 1 << 3} }

// steps returns the possible waits of a long poll in descending order: the requested one,
// and those below the usual timeouts of proxies, 60 and 30 seconds.
func (h *hold) steps() []time.Duration {
	steps := []time.Duration{h.longest}
	for _, s := range []time.Duration{55 * time.Second, 25 * time.Second} {
		if s < h.longest {
			steps = append(steps, s)
		}
	}
	return steps
}

// shortenBelow makes the following long polls shorter than one that was cut off,
// probably by a proxy, after the given time. Each cut doubles how many full polls are
// needed before they become longer again.
func (h *hold) shortenBelow(after time.Duration) {
	const most = 1 << 7
	limit := min(after, h.wait)
	h.fullCount, h.fullNeeded = 0, min(2*h.fullNeeded, most)
	for _, step := range h.steps() { // from the longest to the shortest, which is used if none is below the limit
		h.wait = step
		if step < limit {
			return
		}
	}
}

// lengthenAfter makes long polls a step longer after fullNeeded of them have lasted as
// long as requested. Held is how long the last one took. The steps are from the longest
// to the shortest.
func (h *hold) lengthenAfter(held time.Duration) {
	if h.wait == h.longest || held < h.wait {
		return
	}
	h.fullCount++
	if h.fullCount < h.fullNeeded {
		return
	}
	h.fullCount = 0
	steps := h.steps()
	h.wait = steps[max(0, slices.Index(steps, h.wait)-1)]
}

// tempo limits the rate of polls.
type tempo struct{ gap time.Duration }

const (
	shortestGap = time.Second
	steadyGap   = 3600 * time.Millisecond // the hourly rate limit
	longestGap  = 10 * time.Second        // for a server that responds at once without changes
)

// pauseAfter returns the pause after a poll that the server held for some time. While
// polls return at once, the gap between them grows, slowly if they have changes (news);
// after a poll that was held long enough the gap is the shortest again. The gap
// includes the time of the poll.
func (t *tempo) pauseAfter(held time.Duration, news bool) time.Duration {
	switch {
	case held >= steadyGap:
		t.gap = shortestGap
	case news:
		t.gap = min(max(t.gap+t.gap/4, shortestGap), steadyGap)
	default:
		t.gap = min(max(2*t.gap, shortestGap), longestGap)
	}
	return max(0, t.gap-held)
}
