package events

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/internal/times"
)

// FollowOptions are the options of [Service.Follow]. Nil, and zero fields, mean
// the defaults.
type FollowOptions struct {
	Store CheckpointStore // where progress is saved; nil starts from the beginning each time

	// Name is that of the checkpoint in Store. Default: derived from the query, which is the
	// same for every account: accounts with the same Store and query need a Name each, such as
	// the ID of the user. With a Store and api.User(api.Me) it is required.
	Name string

	Interval time.Duration // pause at the end of the log; default 10 s, at rest at least [Service.FollowInterval]
	Overlap  time.Duration // greatest delay with which events become visible; default 2 min
	Sweep    time.Duration // interval of rescans for events up to ten overlaps late; default 10 min

	// SaveInterval is the least time between two checkpoints, except for the last one of a
	// search. After a crash, the events handled since the last checkpoint are delivered
	// again. Default: zero, which saves one after every 250 events.
	SaveInterval time.Duration

	// Until ends Follow with nil once the visible events created before it are
	// delivered: time.Now() for a job that handles the events since its last run.
	// It is a time of the server's clock: if the local one is fast, Follow ends that
	// much later. Default: never.
	Until time.Time

	// An event must have one value of the set. Only one set can be used, and the query
	// must not set its field. Each value is searched separately, with its own
	// checkpoint.
	Events        []Name
	Categories    []Category
	SubCategories []SubCategory

	// PollOnly searches at intervals only, and opens no socket.
	PollOnly bool

	// OnGap is called when events may have been missed; its error ends Follow. Default:
	// log a warning to the Logger of [Options], in a fastio.Client to that of the client.
	OnGap func(ctx context.Context, g Gap) error

	// OnRetry is called before Follow retries after a temporary failure.
	OnRetry func(ctx context.Context, e api.RetryEvent)

	// OnCaughtUp is called each time Follow has handled every visible event and saved its
	// checkpoint, at rest once an Interval.
	OnCaughtUp func(ctx context.Context)
}

const (
	opFollow    = "events.Follow"
	rescanDepth = 10       // overlaps that a rescan goes back
	saveEvery   = maxLimit // greatest number of handled events between two checkpoints
	maxDuration = 30 * 24 * time.Hour
	saveTimeout = 5 * time.Second // of the last checkpoint, when the context has ended
)

// Gap is a range of time in which events may have been missed.
type Gap struct {
	Reason GapReason `json:"reason"`
	From   time.Time `json:"from,omitzero"` // creation of the first event; zero for the beginning of the log
	To     time.Time `json:"to"`            // creation of the last

	// Value is the value of Events, Categories or SubCategories of the [FollowOptions]
	// that the gap is about; "" without such a set.
	Value string `json:"value,omitzero"`
}

// GapReason says why events may have been missed.
type GapReason string

// Reasons of gaps.
const (
	GapReasonLate  GapReason = "late"  // events became visible after the overlap; others may be missing
	GapReasonQuery GapReason = "query" // the checkpoint is of another query: older events may match this one
	GapReasonClock GapReason = "clock" // events were created outside the searched time, such as in the future

	GapReasonCursor GapReason = "cursor" // the server refuses to continue a search for the events of a second
)

// Follow calls handle for every event that q finds, past ones first, then new ones,
// until ctx ends, handle fails, or the platform rejects a request. It returns nil
// only with [FollowOptions].Until.
//
// Delivery is at least once. An event is handled when handle has returned nil. After a
// crash, the events handled since the last checkpoint are delivered again: without a
// SaveInterval at most 250, and more only if the server refuses the cursor in a backlog.
// Follow saves its checkpoint before it returns, with the 50,000 newest events that it has
// delivered. If more were created in the last half hour (ten overlaps, the Sweep and the
// Interval together), the next Follow may deliver some of them again. Events are delivered in
// no particular order, one at a time.
//
// Follow searches when a socket, or a long poll, reports a change of the profile, and at
// intervals for events that neither reports. While there are no reports, a client searches the
// logs that it follows in turn, each once in a [Service.FollowInterval]. Without sockets,
// the profiles of the first 13 logs are polled; Follow with Until or PollOnly searches
// at intervals only. In which order searches wait for the rate limits, and what these mean
// for 1, 30 and 100 logs, is in docs/limits.md of the repository:
// https://github.com/fastio-go/fastio/blob/main/docs/limits.md
//
// Events become visible with some delay. Each poll goes back by the overlap and
// skips delivered events; every Sweep, a rescan goes back by ten overlaps. An event
// found only by a rescan is delivered, and a [Gap] is reported, because others may
// have become visible even later.
//
// Permanent errors end Follow: an invalid query, a profile outside the scope of the
// credential, an invalid credential. Rate limits, failed connections, responses that cannot
// be decoded and refusals of a proxy are retried with a backoff. After a refused cursor,
// Follow goes on as [Service.Walk] does; events of a second that cannot be read to the
// end are a [Gap].
//
// A profile that the caller cannot see, or that does not exist, is not an error: see
// [Service.Search]. Follow then finds nothing. If the platform refuses to report changes of
// the profile, Follow logs a warning to the Logger of [Options]; with Until or PollOnly, it
// does not ask for these reports.
//
// Without a checkpoint, Follow starts at q.CreatedMin; zero is the beginning of the
// log. CreatedMax, Cursor, Offset and ParentEventID must be zero.
func (s *Service) Follow(
	ctx context.Context, q Query, handle func(context.Context, *Event) error, o *FollowOptions, opts ...api.CallOption,
) error {
	f, err := s.Stepper(q, handle, o, opts...)
	if err != nil {
		return err
	}
	if err := f.load(ctx); err != nil {
		return call.Failed(opFollow, err)
	}
	defer func() {
		hasPanicked := f.loaded // else Close was called, which sets it to false
		if hasPanicked {
			f.pace.stop()
		}
	}()
	err, closeErr := f.run(ctx), f.Close(ctx)
	if errors.Is(err, ErrCheckpointTaken) && errors.Is(closeErr, ErrCheckpointTaken) {
		closeErr = nil // the last save failed for the same reason
	}
	err = errors.Join(err, closeErr)
	if err != nil {
		return call.Failed(opFollow, err)
	}
	return nil
}

type follower struct {
	s      *Service
	query  Query
	logger *slog.Logger
	value  string // of the set, in query
	handle func(context.Context, *Event) error
	o      FollowOptions
	opts   []api.CallOption

	progress
	revision     uint64 // of the last saved checkpoint
	unsettled    error  // of settle, before the current round
	unsaved      int    // events handled since
	lastSave     time.Time
	duplicates   int  // duplicates found since
	foundInRound bool // events by the current round

	pauseAfter      int       // pages of a poll after which it pauses; 0 means that it does not
	walk            *Walk     // the current poll, nil between two
	deliveredInPoll bool      // an event by the current poll
	lastRescan      time.Time // when the last rescan began, by the local clock
	reachedUntil    bool      // the events created before [FollowOptions].Until are delivered
}

// perValue returns a follower for each value of Events, Categories or SubCategories, of
// which only one may be set, or f itself if none is. It checks them all.
func (f *follower) perValue() ([]*follower, error) {
	all, err := addFollowers(nil, f, "Events", f.o.Events, func(q *Query) *Name { return &q.Event })
	if err == nil {
		all, err = addFollowers(all, f, "Categories", f.o.Categories, func(q *Query) *Category { return &q.Category })
	}
	if err == nil {
		all, err = addFollowers(all, f, "SubCategories", f.o.SubCategories, func(q *Query) *SubCategory { return &q.SubCategory })
	}
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = []*follower{f}
	}
	for _, one := range all {
		if err := one.check(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addFollowers adds a copy of f to all for each of the values, which are those of the field
// list of FollowOptions, such as "Events". The copy has its value in the query, in the field
// that fieldOf returns, and at the end of the name of its checkpoint, if that has one. Errors:
// if all has followers of another list already, if f has a value in that field of the query,
// and for a blank or repeated value.
func addFollowers[T ~string](
	all []*follower, f *follower, list string, values []T, fieldOf func(*Query) *T,
) ([]*follower, error) {
	args := input.Fields[FollowOptions](opFollow)
	if len(values) > 0 && (len(all) > 0 || *fieldOf(&f.query) != "") {
		return nil, args.Refuse(list, "must be the only list, and its field of Query be left out", "")
	}
	for i, value := range values {
		if value == "" || slices.Contains(values[:i], value) {
			return nil, args.Refuse(list, "must hold no blank and no repeated value", strconv.Quote(string(value)))
		}
		one := *f
		*fieldOf(&one.query), one.value = value, string(value)
		if f.o.Name != "" {
			one.o.Name += "-" + string(value)
		}
		all = append(all, &one)
	}
	return all, nil
}

// check returns an error for options of Follow or parts of a Query that Follow
// cannot have.
func (f *follower) check() error {
	args := input.Fields[Query](opFollow)
	switch {
	case f.handle == nil:
		return &api.InputError{Op: opFollow, Field: "handle", Rule: "must not be nil"}
	case min(f.o.Interval, f.o.Overlap, f.o.Sweep, f.o.SaveInterval) < 0,
		max(f.o.Interval, f.o.Overlap, f.o.Sweep, f.o.SaveInterval) > maxDuration:
		return input.Fields[FollowOptions](opFollow).Refuse("", "must have times of 0 to 30 days", "")
	case !f.query.CreatedMax.IsZero():
		return args.Refuse("created-max", "must be left out: Follow has no end", "")
	case f.query.Cursor != "":
		return args.Refuse("cursor", "must be left out: the checkpoint says where to go on", "")
	case f.query.Offset != 0:
		return args.Refuse("offset", "must be left out: the checkpoint says where to go on", "")
	case f.query.ParentEventID != "":
		return args.Refuse("parent_event_id", "must be left out: a batch is over; walk it", "")
	case f.o.Store != nil && f.o.Name == "" && f.query.Profile == api.User(api.Me):
		const rule = "must be set for a checkpoint of api.Me, such as to the ID of the user: each user has one"
		return input.Fields[FollowOptions](opFollow).Refuse("Name", rule, "")
	}
	return f.query.check(opFollow)
}

// callOnRetry calls OnRetry, if it is set: attempt n has failed with err and is
// repeated after a pause.
func (f *follower) callOnRetry(ctx context.Context, n int, pause time.Duration, err error) {
	if f.o.OnRetry != nil {
		f.o.OnRetry(ctx, api.RetryEvent{Op: opFollow, Attempt: n, Wait: pause, Err: err})
	}
}

// final reports whether err is permanent, and must not be retried.
func final(err error) bool {
	if _, ok := errors.AsType[*handlerError](err); ok {
		return true
	}
	return errors.Is(err, ErrCheckpointTaken) || call.Final(err)
}

type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }
func (e *handlerError) Unwrap() error { return e.err }

// settle does what is due before a poll: it saves the checkpoint if that is due, as after a
// failed save, reports gaps, and moves the end of the last poll back if it is in the future.
func (f *follower) settle(ctx context.Context) error {
	if err := f.saveDue(ctx); err != nil {
		return err
	}
	if err := f.reportGaps(ctx); err != nil {
		return err
	}
	return f.moveBackFromFuture(ctx)
}

// poll delivers new events up to the end of the log, or until its walk pauses. If the
// checkpoint holds an unfinished poll, poll first finishes that one, up to the end time
// that it had, and then polls again.
func (f *follower) poll(ctx context.Context) error {
	err := f.unsettled // the error of settle, which is called before the poll
	for err == nil && !f.reachedUntil {
		isResumed := f.walk != nil || f.Cursor != ""
		if f.walk == nil {
			f.startWalk()
		}
		err = f.deliverPoll(ctx)
		hasPaused := f.walk != nil
		if err != nil || hasPaused || !isResumed {
			return err
		}
		// The resumed poll has ended at the time when it first began: another one goes on from there.
		err = f.settle(ctx)
	}
	return err
}

// deliverPoll delivers the events of the current poll and saves that it has ended. A
// time whose events cannot be read is skipped and reported as a gap. With Until, a poll
// that covers all before it is the last one.
func (f *follower) deliverPoll(ctx context.Context) error {
	for !f.walk.state.Done {
		err := f.deliverAll(ctx)
		if s, ok := errors.AsType[*unreadableError](err); ok {
			f.addGap(GapReasonCursor, s.From, s.To)
			f.unsaved++
			f.walk.skip()
			err = f.reportGaps(ctx)
		}
		if err != nil || f.walk.paused {
			return err
		}
	}
	isLast := !f.o.Until.IsZero() && !f.walk.state.Max.Before(f.o.Until.Truncate(time.Second))
	f.endPoll()
	if isLast { // else settle reports them before the next poll
		if err := f.reportGaps(ctx); err != nil {
			return err
		}
	}
	err := f.save(ctx)
	f.reachedUntil = isLast && err == nil
	return err
}

// deliverAll delivers the remaining events of the current poll. If the server says that there
// are more pages, but sends no cursor or one that it has sent before, that is an error. The
// retry continues with a smaller slice of time, because the current cursor may be
// unusable; an [unreadableError] says that the slice cannot be smaller.
func (f *follower) deliverAll(ctx context.Context) error {
	for e, err := range f.walk.Events(ctx) {
		if errors.Is(err, page.ErrNoCursor) || errors.Is(err, page.ErrRepeated) {
			if unreadable := f.walk.shrinkSlice(err); unreadable != nil {
				return unreadable
			}
			return err
		}
		if err != nil {
			return err
		}
		if err := f.deliver(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// startWalk resumes the poll in the checkpoint, or starts one. A poll starts an overlap
// before the end of the last one, and every Sweep much earlier (a rescan), for events that
// became visible late.
func (f *follower) startWalk() {
	if f.Cursor != "" {
		f.walk = f.newWalk()
		if e, ok := errors.AsType[*api.InputError](f.walk.err); ok && e.Field == "cursor" {
			f.Cursor = "" // another version of the package has saved it: the poll starts anew
		}
	}
	if f.Cursor == "" {
		back := f.o.Overlap
		if isRescan := time.Since(f.lastRescan) >= f.o.Sweep; isRescan {
			back, f.lastRescan = f.lookback, time.Now()
		}
		f.From = f.pollStart(back)
		f.walk = f.newWalk()
	}
	f.walk.keepLast = false // the checkpoint remembers more events than a walk does
	f.walk.onRefusal, f.walk.pauseAfter = f.onRefusal, f.pauseAfter
}

// newWalk returns a walk over the events since From, at the position of the Cursor.
func (f *follower) newWalk() *Walk {
	q := f.query
	q.CreatedMin = f.From
	return f.s.Walk(q, f.Cursor, f.opts...)
}

// deliver calls the handler with an event unless it is a duplicate, remembers it, and
// saves the checkpoint if that is due. An event whose handler fails is not marked as
// delivered, so that it comes again.
func (f *follower) deliver(ctx context.Context, e *Event) error {
	if f.isDelivered(e.ID) {
		f.rememberAgain(e)
		f.duplicates++
		return f.saveDue(ctx)
	}
	err := ctx.Err()
	if err == nil {
		if err = f.handle(ctx, e); err != nil {
			err = &handlerError{err}
		}
	}
	if err != nil {
		f.walk.nack(e.ID)
		return err
	}
	f.remember(e)
	f.unsaved++
	f.foundInRound, f.deliveredInPoll = true, true
	return f.saveDue(ctx)
}

// saveDue saves the checkpoint if at least saveEvery events have come and
// SaveInterval has passed since the last save. Duplicates count: without a save, each
// short run of a program would read the same ones again, and never get beyond them.
func (f *follower) saveDue(ctx context.Context) error {
	if f.unsaved+f.duplicates < saveEvery || time.Since(f.lastSave) < f.o.SaveInterval {
		return nil
	}
	return f.save(ctx)
}

// endPoll records that the current poll has reached the end of the log, so that the
// next one starts from there (Searched). A poll without events proves nothing, because an
// empty response may be wrong: then the next one starts where this one has started.
func (f *follower) endPoll() {
	if f.hasFoundEvents() {
		f.Searched = times.Later(f.Searched, f.walk.state.Max)
		f.unsaved++
	}
	f.forgetPoll()
}

// hasFoundEvents reports whether the current poll has found events: new ones, or so many that
// there were several pages, also if the caller may see none of them.
func (f *follower) hasFoundEvents() bool {
	wasSaved := f.Cursor != "" // save does that only after events
	return f.deliveredInPoll || wasSaved || f.walk.foundMore
}

// forgetPoll lets the next poll start anew.
func (f *follower) forgetPoll() {
	f.walk, f.Cursor, f.From = nil, "", time.Time{}
	f.deliveredInPoll, f.duplicates = false, 0
}

// onRefusal reports the n-th refusal of the server to continue a search: to
// OnRetry, and after quickRefusals also to the log.
func (f *follower) onRefusal(ctx context.Context, n int, pause time.Duration, err error) {
	f.callOnRetry(ctx, n, pause, err)
	if n > quickRefusals {
		f.logger.LogAttrs(ctx, slog.LevelWarn, "a search cannot be continued", slog.String("op", opFollow),
			slog.Int("refusals", n), slog.Any("error", err))
	}
}

// reportGaps passes each gap, a time whose events may have been missed, to
// OnGap or else to the log, and forgets it.
func (f *follower) reportGaps(ctx context.Context) error {
	for len(f.Gaps) > 0 {
		g := f.Gaps[0]
		g.Value = f.value // f searches only events with this value of Events, Categories or SubCategories
		if f.o.OnGap == nil {
			f.logger.LogAttrs(ctx, slog.LevelWarn, "events of the log may have been missed", f.gapAttrs(g)...)
		} else if err := f.o.OnGap(ctx, g); err != nil {
			return &handlerError{err}
		}
		f.Gaps = f.Gaps[1:]
		f.unsaved++
	}
	return nil
}

// describeGap returns what happened to a log when a gap of this reason is reported.
func (f *follower) describeGap(reason GapReason) string {
	switch reason {
	case GapReasonLate:
		return "events of the log came more than " + f.o.Overlap.String() + " late"
	case GapReasonQuery:
		return "the checkpoint is of another query"
	case GapReasonClock:
		return "events of the log have times that were not searched"
	case GapReasonCursor:
		return "a search of the log could not be continued"
	}
	return ""
}

// gapAttrs returns which log a gap is in, where, and what to do about it.
func (f *follower) gapAttrs(g Gap) []slog.Attr {
	p := f.query.Profile
	attrs := []slog.Attr{
		slog.String("op", opFollow), slog.String("reason", string(g.Reason)), slog.String(string(p.Kind), string(p.ID)),
		slog.String("cause", f.describeGap(g.Reason)),
	}
	if g.Value != "" {
		attrs = append(attrs, slog.String("value", g.Value))
	}
	if !g.From.IsZero() {
		attrs = append(attrs, slog.Time("from", g.From))
	}
	return append(attrs, slog.Time("to", g.To),
		slog.String("advice", "compare the handled events with those of events.Service.Walk for this time"))
}
