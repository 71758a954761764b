package comments

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/times"
	"github.com/fastio-go/fastio/internal/wait"
)

// WatchOptions are the options of [Service.Watch]. Nil, and zero fields, mean the
// defaults.
type WatchOptions struct {
	// Since is the time from which on comments are new, to the second. Default: the
	// comments are new that are not listed yet when Watch begins.
	Since time.Time

	Replies bool // include replies; default: only comments that begin a thread

	// OnBegin is called once, when the first list is known: each comment that is created
	// from then on is new.
	OnBegin func(ctx context.Context)

	// OnRetry is called before Watch retries after a temporary failure.
	OnRetry func(ctx context.Context, e api.RetryEvent)
}

const (
	opWatch  = "comments.Watch"
	lateness = 2 * time.Minute // of a comment that becomes visible after its creation
	slack    = 5 * time.Minute // of the clocks of the servers
	pageSize = 50

	settleTime = 2 * time.Second // from a change to the list, so that one list has several changes
	mostSettle = 4               // settle times before a list, while changes come that are no comments

	pauseWatched   = time.Minute      // between lists while changes are reported
	pauseUnwatched = 15 * time.Second // the same while they are not
	pauseRepeat    = 5 * time.Second  // after the list for a change, if it had no new comment

	keepListed = time.Hour // for which a listed comment is known as such, even if it is too old to be listed again
	oldRows    = 10        // in a row, behind which nothing is new: a few may be new ones with a wrong time
)

// Watch yields each new comment on a Target until ctx ends or the platform refuses, such
// as after a permission was revoked. Within one Watch no comment comes twice. Several that
// are found at once come in the order of their creation. Edits and deletions are not
// reported, and a comment that is deleted at once may not be.
//
// Watch lists the comments two seconds after a change of the workspace or share, which a
// socket or a long poll reports, and every minute. Without either, and on a File Share, it
// lists them every 15 seconds. A comment that becomes visible up to two minutes after its
// creation is found.
//
// To continue in another process, pass a time two minutes before the Created of the newest
// comment as Since, and skip the known comments.
//
// Failed connections, responses that cannot be decoded, rate limits and refusals of a
// proxy are retried with a backoff.
//
// Errors: those of [Service.List]; the error of ctx. The requests are those of
// [Service.All].
func (s *Service) Watch(
	ctx context.Context, on Target, o *WatchOptions, opts ...api.CallOption,
) iter.Seq2[*Comment, error] {
	return func(yield func(*Comment, error) bool) {
		w := watch{s: s, on: on, opts: opts, woken: make(chan struct{}, 1), seen: map[string]seen{}, start: time.Now()}
		if o != nil {
			w.o = *o
		}
		if err := w.run(ctx, yield); err != nil && !errors.Is(err, errStopped) {
			yield(nil, call.Failed(opWatch, err))
		}
	}
}

// errStopped means that the caller has left the loop: an iteration ends without an error.
var errStopped = errors.New("the loop was left")

// watch is one run of [Service.Watch].
type watch struct {
	s    *Service
	on   Target
	o    WatchOptions
	opts []api.CallOption

	woken      chan struct{} // has a value after a change
	watched    atomic.Bool
	wasWoken   bool // the current list follows a change
	emptyWakes int  // such lists in a row without a new comment

	clock           servertime.Clock
	observed        string          // the Date of the latest response: one response counts once
	start           time.Time       // by the local clock
	firstListFailed bool            // an attempt to get the first list has failed
	hasListed       bool            // the comments that are not new are known
	newest          time.Time       // creation of the newest comment that was listed
	seen            map[string]seen // listed comments that may be listed again
}

// seen is when a listed comment was created, and, by the local clock, listed.
type seen struct{ created, listed time.Time }

// run lists comments whenever something may have changed, and yields those that are new.
func (w *watch) run(ctx context.Context, yield func(*Comment, error) bool) error {
	if err := cmp.Or(call.Check(ctx, w.s.c, opWatch), w.on.check(opWatch)); err != nil {
		return err
	}
	waker := w.s.waker
	if waker == nil {
		waker = poller{activity.New(w.s.c)}
	}
	stopWaker := wait.Wake(ctx, waker, w.on.in, w.changed, call.Final, w.opts)
	defer stopWaker()
	failed := func(n int, err error, pause time.Duration) {
		if w.o.OnRetry != nil {
			w.o.OnRetry(ctx, api.RetryEvent{Op: opWatch, Attempt: n, Wait: pause, Err: err})
		}
	}
	hasSucceeded := false // the last list; the first list, and one after a backoff, do not wait for a change
	return wait.Poll{Final: final, Failed: failed}.Run(ctx, func() (done bool, pause time.Duration, err error) {
		if hasSucceeded {
			err = w.await(ctx)
		}
		if err == nil {
			err = w.listOnce(ctx, yield)
		}
		hasSucceeded = err == nil
		return false, 0, err
	})
}

// listOnce lists the comments and yields the new ones. It counts the wakes without a new comment
// (emptyWakes), after which await waits longer. Usually the first list only shows which comments
// existed before the watch. If an attempt to get it has failed, it can have comments that came
// after the watch began: firstListFailed makes newOf look for them.
func (w *watch) listOnce(ctx context.Context, yield func(*Comment, error) bool) error {
	isFirst := !w.hasListed
	found, err := w.listNew(ctx)
	if err != nil {
		w.firstListFailed = w.firstListFailed || isFirst
		return err
	}
	if isFirst && w.o.OnBegin != nil {
		w.o.OnBegin(ctx)
	}
	for _, c := range found {
		if !yield(c, nil) {
			return errStopped
		}
	}
	if w.wasWoken && len(found) == 0 {
		w.emptyWakes++
	} else {
		w.emptyWakes = 0
	}
	return nil
}

func final(err error) bool { return errors.Is(err, errStopped) || call.Final(err) }

// changed is called by the Waker. True means that the profile is watched and may have
// changed, false that it is not watched any more.
func (w *watch) changed(watched bool) {
	w.watched.Store(watched)
	if watched {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

// await waits until it is time for the next list: settleTime after a change, or after a
// pause without a change. If the lists after the last changes had no new comment
// (emptyWakes), the changes are probably of other kinds, and the settleTime is multiplied.
func (w *watch) await(ctx context.Context) error {
	pause := pauseUnwatched
	switch {
	case w.emptyWakes > 0: // the change may be a comment that becomes visible late
		pause = pauseRepeat
	case w.watched.Load(): // a change would end the pause
		pause = pauseWatched
	}
	due := time.NewTimer(pause)
	defer due.Stop()
	select {
	case <-w.woken:
		w.wasWoken = true
		return wait.Sleep(ctx, settleTime*time.Duration(min(1+w.emptyWakes, mostSettle)))
	case <-due.C:
		w.wasWoken = false
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listNew returns the new comments, oldest first. It reads the comments from the
// newest on, until oldRows comments in succession are older than any new comment
// can be (oldestNew).
func (w *watch) listNew(ctx context.Context) ([]*Comment, error) {
	from := w.oldestNew()
	answer := api.Resolve(w.opts).Response
	if answer == nil {
		answer = new(api.Response)
	}
	opts := append(slices.Clip(w.opts), api.WithResponse(answer), api.WithoutPrefetch()) // most lists have one page
	newest := &ListOptions{NewestFirst: true, Limit: pageSize}
	var listed []*Comment
	oldInRow := 0
	for c, err := range w.s.All(ctx, w.on, newest, opts...) {
		if err != nil {
			return nil, err
		}
		w.observeTime(answer.Header)
		if from.IsZero() && !w.hasListed { // the first list, without Since: c is the newest comment
			from = w.startOfFirstList(c)
		}
		isOld := !c.Created.IsZero() && c.Created.Before(from) // one without a time may be new
		if !isOld {
			listed = append(listed, c)
			oldInRow = 0
			continue
		}
		oldInRow++
		if oldInRow == oldRows {
			break
		}
	}
	slices.Reverse(listed) // comments of one second keep this order
	slices.SortStableFunc(listed, func(a, b *Comment) int { return a.Created.Compare(b.Created.Time) })
	return w.newOf(listed), nil
}

// observeTime sets the clock by a response. It is called for each comment of a response,
// but a response counts once.
func (w *watch) observeTime(header http.Header) {
	if date := header.Get("Date"); date != w.observed {
		w.observed = date
		w.clock.Observe(header)
	}
}

// startOfFirstList returns how far back the first list of a watch without Since goes: to two
// minutes (lateness) before the newest comment. That list only records these comments, so that
// later lists do not report them as new. Later lists do not go back further (oldestNew), because
// older comments are visible by now. Zero means that the time of the newest comment is wrong:
// listNew then takes the next comment as the newest.
func (w *watch) startOfFirstList(newest *Comment) time.Time {
	at := w.plausibleTime(newest)
	if at.IsZero() {
		return at
	}
	return at.Add(-lateness)
}

// oldestNew returns the time of creation from which on comments may be new and are listed:
// two minutes (lateness) before the newest comment that was listed, but not before Since.
// A newest comment that is dated after the present server time counts as one of the present.
// Before the first list it is Since. If that is zero, the first list uses startOfFirstList.
func (w *watch) oldestNew() time.Time {
	since := w.o.Since.Truncate(time.Second)
	if w.newest.IsZero() {
		return since
	}
	newest := times.Earlier(w.newest, w.clock.Earliest()) // the server may have corrected its clock
	return times.Later(since, newest.Add(-lateness))
}

// plausibleTime returns when a comment was created. If that is in the future, it returns the
// present time or, if it is in the future by more than the slack between clocks, zero: a wrong
// time must not hide the comments that follow.
func (w *watch) plausibleTime(c *Comment) time.Time {
	now := w.clock.Earliest() // by the server's clock
	isWrong := c.Created.After(now.Add(slack))
	if isWrong {
		return time.Time{}
	}
	return times.Earlier(c.Created.Time, now)
}

// newOf records listed comments and returns those that are new. The first list of a
// watch without Since only records what was there before; but if an earlier attempt to
// get it has failed, comments that were created after the watch began are new.
func (w *watch) newOf(listed []*Comment) []*Comment {
	onlyRecords := !w.hasListed && w.o.Since.IsZero()
	sinceStart := time.Since(w.start)
	start := w.clock.Earliest().Add(-sinceStart) // of the watch, by the server's clock: rather too early than too late
	w.hasListed = true
	var found []*Comment
	for _, c := range listed {
		w.newest = times.Later(w.newest, w.plausibleTime(c))
		id := c.ID.Plain()
		_, known := w.seen[id]
		w.seen[id] = seen{created: c.Created.Time, listed: time.Now()}
		wasThere := onlyRecords && (!w.firstListFailed || c.Created.Before(start)) // before the watch
		if !known && !wasThere && (w.o.Replies || c.ParentID == "") {
			found = append(found, c)
		}
	}
	w.forgetOld()
	return found
}

// forgetOld removes from seen the comments that are not listed again, because they are
// older than any new one can be (oldestNew). A wrong clock of the server makes that time too
// late; when the clock is corrected, that time goes back, and older comments are listed again.
// So each comment stays for keepListed.
func (w *watch) forgetOld() {
	from := w.oldestNew()
	for id, c := range w.seen {
		isOld := !c.created.IsZero() && c.created.Before(from)
		if isOld && time.Since(c.listed) > keepListed {
			delete(w.seen, id)
		}
	}
}

// poller is a Waker for a program that has none: it polls the activity of a profile.
type poller struct{ s *activity.Service }

// Wake implements [api.Waker] with long polls: it calls changed(true) when they
// begin, and after each change.
func (p poller) Wake(ctx context.Context, profile api.Profile, changed func(bool), opts ...api.CallOption) error {
	began := false
	opts = append(slices.Clip(opts), api.WithResponse(nil)) // that of the caller is for the lists of comments
	for report, err := range p.s.Watch(ctx, profile, nil, opts...) {
		if err != nil {
			return err
		}
		if !began || len(report.Activity) > 0 {
			changed(true)
		}
		began = true
	}
	return ctx.Err()
}
