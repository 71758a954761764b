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
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/wait"
)

// WatchOptions changes how [Service.Watch] works. Nil, and zero fields, mean the
// defaults.
type WatchOptions struct {
	Cursor Cursor        // of the last report of an earlier watch; "" starts now
	Fields []Field       // the only ones to report, 30 at most; none reports all
	Wait   time.Duration // longest time a poll may be held: whole seconds, 1 to 95; default 95 s

	// OnRetry is called before a poll is retried after a temporary failure.
	OnRetry func(ctx context.Context, e api.RetryEvent)
}

const opWatch = "activity.Watch"

// Watch polls without end and yields each report, also those without changes. It
// ends with ctx, or when the platform refuses a poll: invalid options, a profile
// out of reach, a credential that is not valid.
//
// Without a cursor the first report comes at once and holds the cursor that the
// watch begins at. List what there is after it, so that no change in between is
// missed. A later watch resumes at the Cursor of any report.
//
// A report leaves out what the one before it reported. A field may be reported
// again all the same, and one that changed twice is reported once.
//
// Polls are a second apart, and up to 3.6 seconds while changes go on, which is
// the rate limit of an hour. Where a proxy cuts long polls, they become shorter,
// 55 and 25 seconds, and longer again when that passes. All other failures are
// waited out with a backoff of up to half a minute: failed connections, responses
// that cannot be decoded, refusals of a proxy. Waits that the server orders are
// followed, for an hour at most.
func (s *Service) Watch(
	ctx context.Context, profile api.Profile, o *WatchOptions, opts ...api.CallOption,
) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		w, err := s.newWatch(profile, o, opts)
		if err == nil {
			err = call.Check(ctx, s.c, opWatch)
		}
		for err == nil {
			var r *Report
			if r, err = w.next(ctx); err == nil && !yield(r, nil) {
				return
			}
		}
		yield(nil, err)
	}
}

type watch struct {
	s       *Service
	profile api.Profile
	o       WatchOptions
	opts    []api.CallOption
	answer  *api.Response

	cursor   Cursor
	clock    servertime.Clock
	reported api.Map[api.Time] // by the last answer
	hold     hold
	tempo    tempo
	failures int
	pause    time.Duration // before the next poll
}

func (s *Service) newWatch(profile api.Profile, o *WatchOptions, opts []api.CallOption) (*watch, error) {
	w := &watch{s: s, profile: profile}
	if o != nil {
		w.o = *o
	}
	if w.answer = api.Resolve(opts).Response; w.answer == nil {
		w.answer = new(api.Response)
	}
	w.opts = append(slices.Clip(opts), api.Attempts(1), api.MaxWait(api.NoLimit), api.WithResponse(w.answer))
	w.cursor, w.hold = w.o.Cursor, newHold(cmp.Or(w.o.Wait, maxWait))
	if w.o.Wait < 0 || w.o.Wait > maxWait || w.o.Wait%time.Second != 0 {
		return nil, &api.InputError{Op: opWatch, Field: "wait", Rule: "must be 1 to 95 whole seconds", Got: w.o.Wait.String()}
	}
	if err := profile.OneOf(opWatch, "profile_id"); err != nil {
		return nil, err
	}
	if _, err := joinFields(opWatch, w.o.Fields); err != nil {
		return nil, err
	}
	return w, nil
}

// next polls until there is an answer.
func (w *watch) next(ctx context.Context) (*Report, error) {
	for {
		if err := wait.Sleep(ctx, w.pause); err != nil {
			return nil, err
		}
		began := time.Now()
		r, err := w.poll(ctx)
		held := time.Since(began)
		switch {
		case err == nil:
			w.take(r, held)
			return r, nil
		case ctx.Err() != nil || call.Final(err):
			return nil, err
		}
		w.endure(ctx, err, held)
	}
}

// poll asks for what is new; the first poll of all asks where to begin.
func (w *watch) poll(ctx context.Context) (*Report, error) {
	o := &PollOptions{Fields: w.o.Fields}
	if w.cursor != "" {
		o.Cursor, o.Updated, o.Wait = w.cursor, true, w.hold.wait
	}
	if w.profile == api.User(api.Me) {
		return w.s.Poll(ctx, o, w.opts...)
	}
	return w.s.PollProfile(ctx, w.profile, o, w.opts...)
}

// take advances to an answer and leaves in it what has changed.
func (w *watch) take(r *Report, held time.Duration) {
	reported := maps.Clone(r.Activity)
	maps.DeleteFunc(r.Activity, func(field string, at api.Time) bool {
		before, ok := w.reported[field]
		return ok && before.Equal(at.Time) && !at.IsZero() // a time that cannot be read is zero
	})
	w.failures, w.reported = 0, reported
	w.clock.Observe(w.answer.Header)
	next := r.Cursor.Until(w.clock.Latest(cursorSlack))
	if w.cursor == "" {
		w.cursor = w.first(next, Cursor(r.ServerDate))
	} else {
		w.hold.kept(held)
		w.pause = w.tempo.after(held, len(r.Activity) > 0)
		w.cursor = w.cursor.Later(next)
	}
	r.Cursor = w.cursor
}

// cursorSlack is how far a cursor may be later than the Date of the response that
// it came with, which is in whole seconds.
const cursorSlack = 5 * time.Second

// first returns where a watch begins: at the cursor of the response, at the
// server's date, whose layout is not published, or else at the Date header, less
// the fraction of a second that it leaves out.
func (w *watch) first(cursor, date Cursor) Cursor {
	if cursor.Time().IsZero() {
		cursor = ""
	}
	return cmp.Or(cursor, date.Until(w.clock.Latest(cursorSlack)), cursorAt(w.clock.Earliest().Add(-time.Second)))
}

// endure decides when to retry after a failure that may pass. A poll that failed
// after it had been held for long was cut on the way: a shorter one is sent at once.
func (w *watch) endure(ctx context.Context, err error, held time.Duration) {
	_, answered := errors.AsType[*api.Error](err)
	if held >= longHold && w.cursor != "" && (!answered || errors.Is(err, api.ErrUnavailable)) {
		w.hold.cut(held)
		w.failures = 0
	} else {
		w.failures++
	}
	w.pause = wait.For(w.failures, wait.Ordered(err))
	if w.o.OnRetry != nil {
		w.o.OnRetry(ctx, api.RetryEvent{Op: opWatch, Attempt: w.failures, Wait: w.pause, Err: err})
	}
}

// longHold is how long a poll must have been held for its failure to be a cut.
const longHold = 10 * time.Second

// hold adapts how long polls are held.
type hold struct {
	most, wait time.Duration
	full       int // polls in a row that were held to their end
	enough     int // how many of them it takes to try a longer one
}

func newHold(most time.Duration) hold { return hold{most: most, wait: most, enough: 1 << 3} }

// steps are the waits between the longest and the shortest, downwards.
func (h *hold) steps() []time.Duration {
	steps := []time.Duration{h.most}
	for _, s := range []time.Duration{55 * time.Second, 25 * time.Second} {
		if s < h.most {
			steps = append(steps, s)
		}
	}
	return steps
}

// cut makes the wait shorter than a poll that was cut.
func (h *hold) cut(after time.Duration) {
	const most = 1 << 7
	limit := min(after, h.wait)
	h.full, h.enough = 0, min(2*h.enough, most)
	for _, h.wait = range h.steps() {
		if h.wait < limit {
			return
		}
	}
}

// kept lengthens the wait when enough polls were held to their end.
func (h *hold) kept(held time.Duration) {
	if h.wait == h.most || held < h.wait {
		return
	}
	if h.full++; h.full < h.enough {
		return
	}
	h.full = 0
	steps := h.steps()
	h.wait = steps[max(0, slices.Index(steps, h.wait)-1)]
}

// tempo keeps polls apart that would follow one another too fast.
type tempo struct{ gap time.Duration }

const (
	shortestGap = time.Second
	steadyGap   = 3600 * time.Millisecond // an hour's worth of polls
	longestGap  = 10 * time.Second        // for a server that answers at once without changes
)

// after returns the pause after a poll.
func (t *tempo) after(held time.Duration, news bool) time.Duration {
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
