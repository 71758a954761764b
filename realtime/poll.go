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

// polled is what polls have told. It belongs to the goroutine that polls: the
// only one that knows how far the stream has come, because frames tell no time.
type polled struct {
	cursor activity.Cursor
	told   map[activity.Field]api.Time // the latest of each field, as far back as a sweep looks
	swept  time.Time
	now    context.Context // of the state of the link at the start: it ends with that
}

const (
	grace      = 2 * time.Second // for a socket to open, before polls take over
	longAbsent = 24 * time.Hour  // for how long the platform keeps activity is not published
	longSilent = 2 * time.Minute // longer than any poll is held
	maxTold    = 10_000

	leastSlack = 3 * time.Second // for a poll without a wait; doubled by each failure
	mostSlack  = 25 * time.Second
)

// keepPolling asks for everything while there is no socket, and for what it did
// not tell when there is one.
func (s *Subscription) keepPolling(ctx context.Context) error {
	live, now := false, s.polled.now
	for {
		var err error
		switch {
		case live:
			_ = wait.Sleep(now, s.o.Sweep) //nolint:contextcheck // a state of the link lasts no longer than ctx
		case s.dial == nil || wait.Sleep(now, grace) == nil: //nolint:contextcheck // as above
			err = s.follow(ctx, now)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		live, now = s.link.state() // before the sweep, which is for what went on until then
		if err := s.sweep(ctx); err != nil {
			return err
		}
	}
}

// baseline finds out where a new subscription begins. What changed shortly before
// is listed by whoever lists after it, and not told.
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

// with returns the call options and one that keeps the answer.
func (s *Subscription) with(answer *api.Response) []api.CallOption {
	return append(slices.Clip(s.opts), api.WithResponse(answer))
}

func (s *Subscription) watching() *activity.WatchOptions {
	return &activity.WatchOptions{
		Cursor: s.polled.cursor,
		Retry: func(_ context.Context, err error, wait time.Duration) {
			s.suspect(err)
			s.tell(func(st *Status) { st.fail(true, st.Failures+1, err, wait) })
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
		s.take(r)
		if time.Since(s.polled.swept) >= s.o.Sweep {
			if err := s.sweep(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// sweep asks for everything since a little before the cursor: what was told to
// nobody, and what became visible late.
func (s *Subscription) sweep(ctx context.Context) error {
	r, err := s.ask(ctx)
	if err != nil {
		return err
	}
	s.take(r)
	s.polled.swept = time.Now()
	s.tell(func(*Status) {})
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

// suspect closes idle connections after a poll that timed out: its own was lost.
func (s *Subscription) suspect(err error) {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		s.s.closeIdle()
	}
}

// take hands over what an answer tells, and goes on from there.
func (s *Subscription) take(r *activity.Report) {
	fresh := s.news(r)
	s.advance(r.Cursor)
	s.forget()
	s.pending.report(fresh, s.polled.cursor)
	var latest time.Time
	for _, at := range fresh {
		if at.After(latest) {
			latest = at.Time
		}
	}
	s.lag(latest)
}

// cursorSlack is how far a cursor may be later than the Date of the response that
// it came with, which is in whole seconds.
const cursorSlack = 5 * time.Second

// advance goes on from the cursor of an answer, or from the server's time if that
// is earlier.
func (s *Subscription) advance(next activity.Cursor) {
	s.polled.cursor = s.polled.cursor.Later(next.Until(s.clock.Latest(cursorSlack)))
}

// news returns the fields of an answer that no answer told before.
func (s *Subscription) news(r *activity.Report) map[activity.Field]api.Time {
	fresh := make(map[activity.Field]api.Time, len(r.Activity))
	if s.polled.told == nil {
		s.polled.told = map[activity.Field]api.Time{}
	}
	for name, at := range r.Activity {
		f := activity.Field(name)
		if told, ok := s.polled.told[f.Plain()]; ok && told.Equal(at.Time) && !at.IsZero() {
			continue
		}
		if len(f) <= maxKey {
			s.polled.told[f.Plain()] = at
		}
		fresh[f] = at
	}
	return fresh
}

// forget drops what no sweep will be told again.
func (s *Subscription) forget() {
	oldest := s.polled.cursor.Back(2 * s.o.Overlap).Time()
	maps.DeleteFunc(s.polled.told, func(_ activity.Field, at api.Time) bool { return at.Before(oldest) })
	if len(s.polled.told) > maxTold {
		clear(s.polled.told)
	}
}

func (s *Subscription) lag(at time.Time) {
	if at.IsZero() {
		return
	}
	lag := s.clock.since(at)
	s.note(func(st *Status) { st.Lag = lag })
}

// answered notes that the server answers, and what it means if it did not for
// long.
func (s *Subscription) answered(h http.Header) {
	if st := s.Status(); st.polling && st.Err != nil {
		s.tell(func(st *Status) { st.mend(true) })
	}
	before := s.clock.last()
	silence := s.clock.answer(h)
	if silence > longAbsent {
		s.pending.miss(ResyncReasonAbsence, nil)
	}
	if silence > longSilent {
		s.history.owe(before)
	}
}

type position struct {
	Version int             `json:"v"`
	Profile string          `json:"profile"`
	Cursor  activity.Cursor `json:"cursor"`
	Heard   time.Time       `json:"heard,omitzero"` // the latest sign of life, by the server's clock
}

const positionVersion = 1

// Position returns what [Options.Position] resumes at. The change that the loop over
// Changes is at, and maybe a few before it, come again.
func (s *Subscription) Position() string {
	covered, entries := s.pending.position()
	p := position{Version: positionVersion, Profile: s.profile.String(), Cursor: covered, Heard: s.clock.last()}
	if from, owed := s.history.owed(); owed || entries {
		p.Heard = from
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // a position holds nothing that fails to encode
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

// clock is the server's clock and the latest sign of life.
type clock struct {
	servertime.Clock

	mu    sync.Mutex
	heard time.Time // the latest sign of life, by the server's clock
	local time.Time // the same by the local one; zero for one of an earlier subscription
}

// answer observes the Date of a response and returns how long nothing was heard
// before it; 0 for the first.
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

// alive records a sign of life without a Date.
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

// since returns how long ago a moment of the server's is, 0 if it is still to
// come.
func (c *clock) since(at time.Time) time.Duration { return max(0, c.Earliest().Sub(at)) }
