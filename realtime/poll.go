package realtime

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/wait"
)

// polled is the state of the polls. Only the polling goroutine uses it and
// advances the cursor, because frames have no times.
type polled struct {
	cursor activity.Cursor
	seen   map[activity.Field]api.Time // the latest of each field, within the lookback of a sweep
	swept  time.Time
	now    context.Context // of the first connState: canceled when it changes
}

const (
	grace         = 2 * time.Second // for a socket to open, before polls begin
	longAbsent    = 24 * time.Hour  // the platform does not publish how long it keeps activity
	longSilent    = 2 * time.Minute // longer than any long poll
	maxSeenFields = 10_000

	leastSlack = 3 * time.Second // for a short poll; doubled by each failure
	mostSlack  = 25 * time.Second
)

// keepPolling polls continuously while no socket is open. Otherwise it polls for
// the changes that the socket missed.
func (s *Subscription) keepPolling(ctx context.Context) error {
	live, now := false, s.polled.now
	for {
		var err error
		switch {
		case live:
			_ = wait.Sleep(now, s.o.Sweep) //nolint:contextcheck // now is derived from ctx
		case s.dial == nil || wait.Sleep(now, grace) == nil: //nolint:contextcheck // as above
			err = s.follow(ctx, now)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		live, now = s.connState.state() // before the sweep, which covers the time until then
		if err := s.sweep(ctx); err != nil {
			return err
		}
	}
}

// baseline finds the start of a new subscription. Earlier changes are not
// reported: a list after Subscribe includes them.
func (s *Subscription) baseline(ctx context.Context) error {
	var answer api.Response
	for r, err := range s.s.polls.Watch(ctx, s.profile, s.watching(), s.with(&answer)...) {
		if err != nil {
			return err
		}
		s.polled.cursor = r.Cursor
		s.clock.answer(answer.Header)
		break
	}
	r, err := s.ask(ctx)
	if err != nil {
		return err
	}
	s.news(r)
	s.advance(r.Cursor)
	s.polled.swept = time.Now()
	s.pending.report(nil, s.polled.cursor)
	return nil
}

// with returns the call options and one that stores the response.
func (s *Subscription) with(answer *api.Response) []api.CallOption {
	return append(slices.Clip(s.opts), api.WithResponse(answer))
}

func (s *Subscription) watching() *activity.WatchOptions {
	return &activity.WatchOptions{
		Cursor: s.polled.cursor,
		OnRetry: func(_ context.Context, e api.RetryEvent) {
			s.suspect(e.Err)
			s.notify(func(st *Status) { st.fail(true, st.Failures+1, e.Err, e.Wait) })
		},
	}
}

func (s *Subscription) follow(ctx, now context.Context) error {
	var answer api.Response
	for r, err := range s.s.polls.Watch(now, s.profile, s.watching(), s.with(&answer)...) {
		if err != nil {
			if now.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		s.answered(answer.Header)
		s.accept(r)
		if time.Since(s.polled.swept) >= s.o.Sweep {
			if err := s.sweep(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// sweep polls from [Options.Overlap] before the cursor, for changes that were lost
// or became visible late.
func (s *Subscription) sweep(ctx context.Context) error {
	r, err := s.ask(ctx)
	if err != nil {
		return err
	}
	s.accept(r)
	s.polled.swept = time.Now()
	s.notify(func(*Status) {})
	return nil
}

func (s *Subscription) ask(ctx context.Context) (*activity.Report, error) {
	o := &activity.PollOptions{Cursor: s.polled.cursor.Back(s.o.Overlap), Updated: true, Slack: leastSlack}
	var report *activity.Report
	err := wait.Poll{Final: call.Final, Failed: s.pollFailed}.Run(ctx, func() (bool, time.Duration, error) {
		var answer api.Response
		r, err := s.s.polls.PollProfile(ctx, s.profile, o, append(s.with(&answer), api.Attempts(1))...)
		if err != nil {
			o.Slack = min(2*o.Slack, mostSlack)
			s.suspect(err)
			return false, 0, err
		}
		s.answered(answer.Header)
		report = r
		return true, 0, nil
	})
	return report, err
}

// suspect closes idle connections after a timeout: they may be broken too.
func (s *Subscription) suspect(err error) {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		s.s.closeIdle()
	}
}

// accept queues the changes of a response and advances the cursor.
func (s *Subscription) accept(r *activity.Report) {
	fresh := s.news(r)
	s.advance(r.Cursor)
	s.evict()
	s.pending.report(fresh, s.polled.cursor)
	var latest time.Time
	for _, at := range fresh {
		if at.After(latest) {
			latest = at.Time
		}
	}
	s.lag(latest)
}

// cursorSlack is how far a cursor may be ahead of the Date of its response, which
// is in whole seconds.
const cursorSlack = 5 * time.Second

// advance moves to the cursor of a response, or to the server's time if that is
// earlier.
func (s *Subscription) advance(next activity.Cursor) {
	s.polled.cursor = s.polled.cursor.Later(next.Until(s.clock.Latest(cursorSlack)))
}

// news returns the fields of a response that no response reported before.
func (s *Subscription) news(r *activity.Report) map[activity.Field]api.Time {
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

// evict removes the fields that no sweep will return again.
func (s *Subscription) evict() {
	oldest := s.polled.cursor.Back(2 * s.o.Overlap).Time()
	maps.DeleteFunc(s.polled.seen, func(_ activity.Field, at api.Time) bool { return at.Before(oldest) })
	if len(s.polled.seen) > maxSeenFields {
		clear(s.polled.seen)
	}
}

func (s *Subscription) lag(at time.Time) {
	if at.IsZero() {
		return
	}
	lag := s.clock.since(at)
	s.note(func(st *Status) { st.Lag = lag })
}

// answered records a response. After a long silence, changes or events may have
// been missed.
func (s *Subscription) answered(h http.Header) {
	if st := s.Status(); st.polling && st.Err != nil {
		s.notify(func(st *Status) { st.clearError(true) })
	}
	before := s.clock.last()
	silence := s.clock.answer(h)
	if silence > longAbsent {
		s.pending.requestResync(ResyncReasonAbsence, nil)
	}
	if silence > longSilent {
		s.history.enqueueGap(before)
	}
}

type position struct {
	Version int             `json:"v"`
	Profile string          `json:"profile"`
	Cursor  activity.Cursor `json:"cursor"`
	Heard   time.Time       `json:"heard,omitzero"` // the latest response or frame, by the server's clock
}

const positionVersion = 1

// Position returns a value for [Options.Position]. The current change of the loop
// over Changes, and maybe a few before it, are delivered again.
func (s *Subscription) Position() string {
	covered, entries := s.pending.position()
	p := position{Version: positionVersion, Profile: s.profile.String(), Cursor: covered, Heard: s.clock.last()}
	if from, missed := s.history.pendingGap(); missed || entries {
		p.Heard = from
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // a position can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// resume reads the position to start from; it is zero without one.
func (s *Subscription) resume() (position, error) {
	if s.o.Position == "" {
		return position{}, nil
	}
	var p position
	b, err := base64.RawURLEncoding.DecodeString(s.o.Position)
	if err != nil || json.Unmarshal(b, &p) != nil || p.Version != positionVersion || p.Cursor == "" || p.Profile == "" {
		return position{}, refuse("position", "must come from Subscription.Position")
	}
	return p, nil
}

// clock is the server's clock and the time of the latest response or frame.
type clock struct {
	servertime.Clock

	mu    sync.Mutex
	heard time.Time // the latest response or frame, by the server's clock
	local time.Time // the same by the local clock; zero if of an earlier subscription
}

// answer observes the Date of a response and returns the silence before it; 0 for
// the first response.
func (c *clock) answer(h http.Header) (silence time.Duration) {
	c.Observe(h)
	c.mu.Lock()
	defer c.mu.Unlock()
	before, local := c.heard, c.local
	c.heard, c.local = c.Earliest(), time.Now().Round(0)
	switch {
	case before.IsZero():
		return 0
	case local.IsZero():
		return c.heard.Sub(before)
	}
	return c.local.Sub(local)
}

// alive records a frame or a pong, which have no Date.
func (c *clock) alive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard, c.local = c.Earliest(), time.Now().Round(0)
}

func (c *clock) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// since returns the time since a moment of the server's clock, 0 if it is in the
// future.
func (c *clock) since(at time.Time) time.Duration { return max(0, c.Earliest().Sub(at)) }
