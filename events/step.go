package events

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
)

// Stepper is a [Service.Follow] that its caller schedules, for programs that follow
// thousands of logs. Between two steps it has no goroutine and no timer, and about 2 KiB of
// memory besides the hashes of the events of the look-back, at 40 bytes each. Get one from
// [Service.Stepper].
//
// Step must be called when it is due, and by one goroutine at a time; Wake is safe for
// concurrent use.
type Stepper struct {
	waker     api.Waker // nil without one, and if the options do not admit it
	o         FollowOptions
	opts      []api.CallOption
	followers []*follower // one for each value of the set
	pace      *pace
	loaded    bool
	failures  int  // in a row
	inRound   bool // the last step has ended between two pages
	found     bool // events by the round
}

// stepPages is the number of pages after which a step ends if there are more. With one, a
// page that repeats the one before would not be recognized.
const stepPages = 2

// Stepper returns a Stepper that delivers what [Service.Follow] does with the same
// arguments. Call Close when it has ended.
//
// Errors: [*api.InputError] for a query and options that Follow refuses.
func (s *Service) Stepper(
	q Query, handle func(context.Context, *Event) error, o *FollowOptions, opts ...api.CallOption,
) (*Stepper, error) {
	options := withDefaults(o)
	pace := s.newPace(options.Interval)
	paced := &Service{c: pace, clock: s.clock} // as s, but its searches have the priority that the pace sets
	f := &follower{
		s: paced, logger: cmp.Or(s.o.Logger, slog.New(slog.DiscardHandler)),
		query: q, handle: handle, o: options, opts: opts, pauseAfter: stepPages, // then other logs have their turn
	}
	followers, err := f.perValue() // one for each value of Events, Categories or SubCategories
	if err != nil {
		return nil, err
	}
	pace.searches = len(followers) // one each in a round
	step := &Stepper{o: options, opts: opts, followers: followers, pace: pace}
	hasEnd := !options.Until.IsZero()
	if !options.PollOnly && !hasEnd { // a Follow that ends need not learn of later changes
		step.waker = s.o.Waker
	}
	return step, nil
}

// withDefaults returns the options, with the defaults in place of zero times.
func withDefaults(o *FollowOptions) FollowOptions {
	options := *cmp.Or(o, &FollowOptions{})
	options.Interval = cmp.Or(options.Interval, 10*time.Second)
	options.Overlap = cmp.Or(options.Overlap, 2*time.Minute)
	options.Sweep = cmp.Or(options.Sweep, 10*time.Minute)
	return options
}

// newPace returns the pace of a Stepper with an Interval. Rounds for reported changes may
// follow each other after half of it, and after longGap at most.
func (s *Service) newPace(interval time.Duration) *pace {
	return &pace{
		Client: s.c, group: s.group, idle: s.idle, interval: interval, gap: min(interval/2, longGap), notify: func() {},
	}
}

// Step searches the log if a search is due, and delivers its events. It returns when to
// call it again; a zero time means that Until is reached. Call it sooner if the function of
// [Stepper.Notify] was called. A call before a search is due costs nothing. Step blocks while
// a search waits for the rate limits and while the handler runs. After two pages of events it
// returns, and the next step is due at once, so that other logs can take their turn.
//
// A temporary failure is reported to OnRetry, and the returned time is that of the next
// try. The errors are those that end Follow, and that of ctx. After the error of ctx,
// Step may be called again.
func (s *Stepper) Step(ctx context.Context) (next time.Time, err error) {
	if err = s.load(ctx); err == nil {
		next, err = s.step(ctx)
	}
	if err != nil {
		return time.Time{}, call.Failed(opFollow, err)
	}
	return next, nil
}

// Notify sets what is called, by any goroutine, when the next step may have become due
// earlier than Step has returned: after Wake, a report to Watch, or when the turn of this
// log among those at rest has come. It must return soon, and not call the Stepper. Set it
// before the first step.
func (s *Stepper) Notify(due func()) { s.pace.notify = due }

// Wake reports that the log has changed: the next step is due when the change can be found.
func (s *Stepper) Wake() { s.pace.report(true) }

// Watch wakes the Stepper when the Waker of the [Options] reports a change, until ctx is
// done. A Waker that is refused is tried again after an hour. Without a Waker, and with
// PollOnly or Until, Watch returns at once.
func (s *Stepper) Watch(ctx context.Context) {
	if s.waker != nil {
		wait.Watch(ctx, s.waker, s.profile(), s.pace.onWake, call.Final, s.opts)
	}
}

// profile returns the profile of the log, which all followers read.
func (s *Stepper) profile() api.Profile { return s.followers[0].query.Profile }

// Close saves the checkpoint, also if ctx is done. With Events, Categories or SubCategories in
// the options there is one for each of the values. It takes 5 seconds at most. Step must not
// be called afterwards.
func (s *Stepper) Close(ctx context.Context) error {
	if !s.loaded {
		return nil
	}
	s.pace.stop()
	s.loaded = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	var err error
	for _, one := range s.followers {
		err = errors.Join(err, one.save(ctx))
	}
	return err
}

// load reads the checkpoints before the first step, and starts the pace.
func (s *Stepper) load(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	for _, one := range s.followers {
		if err := one.load(ctx); err != nil {
			return err
		}
	}
	s.loaded = true
	s.pace.start()
	return nil
}

// run steps until Until is reached, a failure is permanent, or ctx is done: at the time
// that the step before returned, or when the waker notifies of a change.
func (s *Stepper) run(ctx context.Context) error {
	const never = 0
	for _, f := range s.followers {
		f.pauseAfter = never // this goroutine has no steps of other logs to do
	}
	notified := make(chan struct{}, 1)
	s.Notify(func() {
		select {
		case notified <- struct{}{}:
		default:
		}
	})
	if s.waker != nil {
		isFinal := func(err error) bool {
			if call.Final(err) {
				s.logRefusal(ctx, err)
			}
			return call.Final(err)
		}
		stopWaker := wait.Wake(ctx, s.waker, s.profile(), s.pace.onWake, isFinal, s.opts)
		defer stopWaker()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-notified:
		case <-ctx.Done():
			return ctx.Err()
		}
		next, err := s.step(ctx)
		if err != nil || next.IsZero() {
			return err
		}
		timer.Reset(time.Until(next))
	}
}

// logRefusal writes a warning that the platform refuses to report changes of the event log.
// Nothing else shows that the caller cannot see it. The platform is asked again after an hour.
func (s *Stepper) logRefusal(ctx context.Context, err error) {
	p := s.profile()
	logger := s.followers[0].logger // that of all followers
	logger.LogAttrs(ctx, slog.LevelWarn, "the platform refuses to report changes of the log",
		slog.String("op", opFollow), slog.String(string(p.Kind), string(p.ID)), slog.Any("error", err), slog.String("advice",
			"check that the caller has access: a search in a log that it cannot see finds nothing, without an error"))
}

// step does a round if one is due, or continues the one that has paused. It returns when
// the next step is due, or a zero time if the events created before Until are delivered.
func (s *Stepper) step(ctx context.Context) (next time.Time, err error) {
	began := time.Now()
	if !s.inRound {
		if at := s.pace.nextRound(began); at.After(began) {
			return at, ctx.Err()
		}
	}
	done, err := s.doRound(ctx)
	if hasPaused := s.inRound; hasPaused { // the next step is due at once; those of other logs may come before it
		return began, nil
	}
	if err == nil && s.o.OnCaughtUp != nil {
		s.o.OnCaughtUp(ctx)
	}
	return s.afterRound(ctx, done, err)
}

// afterRound returns when the next round is due after one that has ended with err. The time
// is zero after the last round (done), after a permanent failure, and if ctx is done.
func (s *Stepper) afterRound(ctx context.Context, done bool, err error) (next time.Time, failure error) {
	switch {
	case err == nil && done:
		return time.Time{}, nil
	case err != nil && final(err):
		return time.Time{}, err
	case ctx.Err() != nil:
		const atOnce = 0 // the next step does the round again
		s.pace.delay(atOnce)
		return time.Time{}, ctx.Err()
	case err == nil:
		s.failures = 0
		return s.pace.setNextRound(), nil
	}
	s.failures++
	pause := wait.For(s.failures, wait.RetryAfterOf(err))
	s.followers[0].callOnRetry(ctx, s.failures, pause, err) // once: all followers have the OnRetry of the Stepper
	return s.pace.delay(pause), nil
}

// doRound begins a round, or continues the one that has paused, and reports whether all
// followers have reached Until. If the round pauses between two pages, inRound stays set.
func (s *Stepper) doRound(ctx context.Context) (done bool, err error) {
	resumed := s.inRound
	if !resumed {
		// beginRound reserves a search. OnGap, which settle may call, must come before: a search that the program
		// makes in OnGap would wait behind the reserved one.
		for _, one := range s.followers {
			one.unsettled = one.settle(ctx) // an error, which poll returns
		}
		if err := s.pace.beginRound(ctx); err != nil {
			return false, err
		}
		s.inRound, s.found = true, false
	}
	done, err = s.pollAll(ctx, resumed)
	if err == nil && s.hasMore() {
		return false, nil
	}
	s.inRound = false
	s.pace.end(s.found)
	return done, err
}

// hasMore reports whether a poll has ended between two pages.
func (s *Stepper) hasMore() bool {
	return slices.ContainsFunc(s.followers, func(f *follower) bool { return f.walk != nil })
}

// pollAll polls the log for each follower, one after the other. If the round is resumed, the
// followers without a paused walk have polled in it already, and are left out. It reports
// whether all have reached Until, and sets found if the round has found events. After a temporary failure of one the
// others poll nevertheless, and the last such failure is returned. A permanent failure ends
// the loop.
func (s *Stepper) pollAll(ctx context.Context, resumed bool) (done bool, failure error) {
	done = true
	for _, one := range s.followers {
		hasPolled := resumed && one.walk == nil
		if hasPolled {
			done = done && one.reachedUntil
			continue
		}
		if err := one.poll(ctx); err != nil {
			failure = err
		}
		if failure != nil && (final(failure) || ctx.Err() != nil) {
			break
		}
		done, s.found = done && one.reachedUntil, s.found || one.foundInRound
		one.foundInRound = false
	}
	return done, failure
}
