package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

	// Until ends Follow with nil once the events created before it are delivered, as far
	// as they are visible: time.Now() for a job that handles what is new since its last
	// run. Default: never.
	Until time.Time

	// An event must have one value of the set. Only one set can be used, and its field of
	// the query must be left out. Each value is searched by itself, with a checkpoint of
	// its own.
	Events        []Name
	Categories    []Category
	SubCategories []SubCategory

	// Gap is called when events may have been missed; its error ends Follow. Default: a
	// warning in the log of the client.
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

// Follow calls handle for every event that q finds, past ones first, then new ones,
// until ctx ends, handle fails, or the platform refuses. It returns nil only with
// [FollowOptions].Until.
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
	all, err := f.split()
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := one.load(ctx); err != nil {
			return fmt.Errorf("fastio: %s: %w", opFollow, err)
		}
	}
	if err = f.run(ctx, all); err != nil {
		err = fmt.Errorf("fastio: %s: %w", opFollow, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveGrace)
	defer cancel()
	for _, one := range all {
		err = errors.Join(err, one.save(ctx))
	}
	return err
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
	done  bool      // what was created before [FollowOptions].Until has been delivered
}

// split returns a follower for each value of the set, or f without one.
func (f *follower) split() ([]*follower, error) {
	var all []*follower
	var err error
	add := func(n int, field string, set func(q *Query, i int) (was, value string)) {
		taken := n > 0 && len(all) > 0
		for i := range n {
			one := *f
			was, value := set(&one.query, i)
			if taken || was != "" {
				const rule = "must be the only set, and its field of the query be left out"
				err = &api.InputError{Op: opFollow, Field: field, Rule: rule}
			}
			if f.o.Name != "" {
				one.o.Name += "-" + value
			}
			all = append(all, &one)
		}
	}
	add(len(f.o.Events), "events", func(q *Query, i int) (was, value string) {
		was, q.Event = string(q.Event), f.o.Events[i]
		return was, string(q.Event)
	})
	add(len(f.o.Categories), "categories", func(q *Query, i int) (was, value string) {
		was, q.Category = string(q.Category), f.o.Categories[i]
		return was, string(q.Category)
	})
	add(len(f.o.SubCategories), "subcategories", func(q *Query, i int) (was, value string) {
		was, q.SubCategory = string(q.SubCategory), f.o.SubCategories[i]
		return was, string(q.SubCategory)
	})
	if all == nil {
		all = []*follower{f}
	}
	for _, one := range all {
		if err == nil {
			err = one.check()
		}
	}
	return all, err
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

// run polls the log for all followers in turn.
func (f *follower) run(ctx context.Context, all []*follower) error {
	failed := func(_ int, err error, pause time.Duration) {
		if f.o.Retry != nil {
			f.o.Retry(ctx, err, pause)
		}
	}
	return wait.Poll{Final: final, Failed: failed}.Run(ctx, func() (bool, time.Duration, error) {
		done := true
		var failure error
		for _, one := range all {
			if err := one.look(ctx); err != nil {
				failure = err
			}
			if failure != nil && (final(failure) || ctx.Err() != nil) {
				break
			}
			done = done && one.done
		}
		return done, f.o.Interval, failure
	})
}

// final reports whether trying again would end the same way.
func final(err error) bool {
	if _, ok := errors.AsType[*handlerError](err); ok {
		return true
	}
	return errors.Is(err, ErrCheckpointTaken) || call.Final(err)
}

type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }
func (e *handlerError) Unwrap() error { return e.err }

// look hands over what is new, from where it was left to the end of the log.
func (f *follower) look(ctx context.Context) error {
	if f.done {
		return nil
	}
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
	done := !f.o.Until.IsZero() && !f.walk.mark.Max.Before(f.o.Until.Truncate(time.Second))
	f.finish()
	if done {
		if err := f.reportGaps(ctx); err != nil {
			return err
		}
	}
	err := f.save(ctx)
	f.done = done && err == nil
	return err
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
	f.walk.last = false // Follow goes back further
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
		if f.o.Gap == nil {
			f.warn(ctx, gap)
		} else if err := f.o.Gap(ctx, *gap); err != nil {
			return &handlerError{err}
		}
		*pending = nil
		f.unsaved++
	}
	return nil
}

// warn logs a gap, if the client has a logger.
func (f *follower) warn(ctx context.Context, g *Gap) {
	if c, ok := f.s.c.(interface{ Logger() *slog.Logger }); ok {
		c.Logger().LogAttrs(ctx, slog.LevelWarn, "events may have been missed", slog.String("op", opFollow),
			slog.String("reason", string(g.Reason)), slog.Time("from", g.From), slog.Time("to", g.To))
	}
}
