package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/internal/wait"
)

// FollowOptions changes how [Service.Follow] works. Nil, and zero fields, mean
// the defaults.
type FollowOptions struct {
	Store    CheckpointStore // where to go on after a restart; nil starts from the beginning each time
	Name     string          // of the checkpoint in Store; "" takes one that follows from the query
	Interval time.Duration   // pause at the end of the log; default 10 s
	Overlap  time.Duration   // how late events may show up without being missed; default 2 min
	Sweep    time.Duration   // how often to look further back, for events up to ten overlaps late; default 10 min

	// Gap is called when events may have been missed. Follow goes on if it returns
	// nil. Without it, a gap ends Follow with a [*GapError], unless its reason is
	// [GapReasonClock].
	Gap func(ctx context.Context, g Gap) error

	// Retry is called before Follow tries again after a failure that may pass.
	Retry func(ctx context.Context, err error, wait time.Duration)
}

const (
	opFollow   = "events.Follow"
	sweepDepth = 10       // overlaps by which an event may be late to be found by a sweep
	saveEvery  = maxLimit // events handled between two checkpoints, at most
	longest    = 30 * 24 * time.Hour
	saveGrace  = 5 * time.Second // for the last checkpoint, when the context has ended
)

// Gap is a range of time in which events may have been missed.
type Gap struct {
	Reason GapReason `json:"reason"`
	From   time.Time `json:"from,omitzero"` // creation of the first event; zero for the beginning of the log
	To     time.Time `json:"to"`            // creation of the last
}

// GapReason says why events may have been missed.
type GapReason string

// Reasons of gaps.
const (
	GapReasonLate  GapReason = "late"  // events came later than the overlap; others may be missing
	GapReasonQuery GapReason = "query" // the checkpoint is of another query: older events may match this one
	GapReasonClock GapReason = "clock" // events have a time that was not searched, such as the future
)

// GapError is a gap without a [FollowOptions].Gap hook.
type GapError struct{ Gap Gap }

// Error says why events may have been missed.
func (e *GapError) Error() string {
	return fmt.Sprintf("events created until %s may have been missed: %s", stamp(e.Gap.To), e.Gap.Reason)
}

// Follow calls handle for every event that q finds, past ones first, then new ones,
// until ctx ends, handle fails, or the platform refuses. It never returns nil.
//
// Delivery is at least once: after a crash, the events handled since the last
// checkpoint come again, at most 250, or more of a backlog if the server then rejects
// the cursor. An event counts as handled when handle has returned nil. Events come in
// no particular order, one at a time. When Follow returns, its checkpoint is saved.
//
// Events become visible with some delay. Each poll of the end of the log goes back by
// the overlap and leaves out what was delivered; every Sweep, one goes back by ten
// overlaps. What is found only then is delivered, and a [Gap] is reported, because
// others may have been later still.
//
// Refusals of the platform end Follow: a query it rejects, a profile out of reach, a
// credential that is not valid. Rate limits, failed connections, responses that cannot
// be decoded and refusals of a proxy are retried with a backoff.
//
// Q.CreatedMin is the start without a checkpoint; zero is the beginning of the log.
// CreatedMax, Cursor, Offset and ParentEventID must be left out.
func (s *Service) Follow(
	ctx context.Context, q Query, handle func(context.Context, *Event) error, o *FollowOptions, opts ...api.CallOption,
) error {
	f := &follower{s: s, query: q, handle: handle, opts: opts}
	if o != nil {
		f.o = *o
	}
	f.o.Interval = cmp.Or(f.o.Interval, 10*time.Second)
	f.o.Overlap = cmp.Or(f.o.Overlap, 2*time.Minute)
	f.o.Sweep = cmp.Or(f.o.Sweep, 10*time.Minute)
	if err := f.check(); err != nil {
		return err
	}
	if err := f.load(ctx); err != nil {
		return fmt.Errorf("fastio: %s: %w", opFollow, err)
	}
	err := f.run(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveGrace)
	defer cancel()
	return errors.Join(fmt.Errorf("fastio: %s: %w", opFollow, err), f.save(ctx))
}

type follower struct {
	s      *Service
	query  Query
	handle func(context.Context, *Event) error
	o      FollowOptions
	opts   []api.CallOption

	progress
	revision uint64 // of the checkpoint this progress was saved as
	unsaved  int    // events handled since
	skipped  int    // events met since that were handled before

	walk  *Walk     // the look under way, nil between two
	swept time.Time // when the last sweep began, by the local clock
}

func (f *follower) check() error {
	refuse := func(field, rule string) error { return &api.InputError{Op: opFollow, Field: field, Rule: rule} }
	switch {
	case f.handle == nil:
		return refuse("handle", "must not be nil")
	case min(f.o.Interval, f.o.Overlap, f.o.Sweep) < 0 || max(f.o.Interval, f.o.Overlap, f.o.Sweep) > longest:
		return refuse("options", "must be times of 0 to 30 days")
	case !f.query.CreatedMax.IsZero():
		return refuse("created-max", "must be left out: there is no end")
	case f.query.Cursor != "" || f.query.Offset != 0:
		return refuse("cursor", "must be left out: the checkpoint says where to go on")
	case f.query.ParentEventID != "":
		return refuse("parent_event_id", "must be left out: a batch is over; walk it")
	}
	return f.query.check(opFollow)
}

// run looks at the log again and again.
func (f *follower) run(ctx context.Context) error {
	failed := func(_ int, err error, pause time.Duration) {
		if f.o.Retry != nil {
			f.o.Retry(ctx, err, pause)
		}
	}
	return wait.Poll{Final: final, Failed: failed}.Run(ctx, func() (bool, time.Duration, error) {
		return false, f.o.Interval, f.look(ctx)
	})
}

// final reports whether trying again would end the same way.
func final(err error) bool {
	if _, ok := errors.AsType[*handlerError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*GapError](err); ok {
		return true
	}
	return errors.Is(err, ErrCheckpointTaken) || call.Final(err)
}

type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }
func (e *handlerError) Unwrap() error { return e.err }

// look hands over what is new, from where it was left to the end of the log.
func (f *follower) look(ctx context.Context) error {
	if err := f.saveDue(ctx); err != nil { // the last try may have failed
		return err
	}
	if err := f.reportGaps(ctx); err != nil {
		return err
	}
	if err := f.checkWatermark(ctx); err != nil {
		return err
	}
	if f.walk == nil {
		f.begin()
	}
	for e, err := range f.walk.Events(ctx) {
		if errors.Is(err, errNoCursor) || errors.Is(err, page.ErrRepeated) {
			f.walk.rewind() // the cursor it is at may lead nowhere
		}
		if err != nil {
			return err
		}
		if err := f.deliver(ctx, e); err != nil {
			return err
		}
	}
	f.finish()
	return f.save(ctx)
}

// begin prepares a poll, or resumes the one in the checkpoint.
func (f *follower) begin() {
	if f.Cursor == "" {
		back := f.o.Overlap
		if time.Since(f.swept) >= f.o.Sweep {
			back, f.swept = f.reach, time.Now()
		}
		f.From = f.lookFrom(back, f.o.Overlap)
	}
	q := f.query
	q.CreatedMin = f.From
	f.walk = f.s.Walk(q, f.Cursor, f.opts...)
	if e, ok := errors.AsType[*api.InputError](f.walk.err); ok && e.Field == "cursor" { // of another version
		f.From = f.lookFrom(f.o.Overlap, f.o.Overlap)
		q.CreatedMin = f.From
		f.walk = f.s.Walk(q, "", f.opts...)
	}
}

// deliver hands one event over unless it was before.
func (f *follower) deliver(ctx context.Context, e *Event) error {
	if f.has(e.ID) {
		f.renew(e)
		f.skipped++
		return f.saveDue(ctx)
	}
	err := ctx.Err()
	if err == nil {
		if err = f.handle(ctx, e); err != nil {
			err = &handlerError{err}
		}
	}
	if err != nil {
		f.walk.giveBack(e.ID)
		return err
	}
	f.note(e)
	f.unsaved++
	return f.saveDue(ctx)
}

// saveDue saves when as many events were handled as may come again, or met as may be
// read again, so that short runs of a program reach the end of a poll.
func (f *follower) saveDue(ctx context.Context) error {
	if f.unsaved+f.skipped < saveEvery {
		return nil
	}
	return f.save(ctx)
}

// finish ends a look that came to the end of the log.
func (f *follower) finish() {
	if f.Newest.After(f.Watermark) {
		f.Watermark = f.Newest
		f.unsaved++ // the watermark
	}
	f.walk, f.Cursor, f.From, f.skipped = nil, "", time.Time{}, 0
}

func (f *follower) reportGaps(ctx context.Context) error {
	for _, pending := range []**Gap{&f.Gap, &f.Doubt} {
		gap := *pending
		if gap == nil {
			continue
		}
		if f.o.Gap != nil {
			if err := f.o.Gap(ctx, *gap); err != nil {
				return &handlerError{err}
			}
		}
		*pending = nil
		f.unsaved++
		if f.o.Gap == nil && gap.Reason != GapReasonClock {
			return &GapError{*gap}
		}
	}
	return nil
}
