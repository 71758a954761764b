package realtime

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/wait"
)

// Options changes how [Service.Subscribe] works. Nil, and zero fields, mean the
// defaults.
type Options struct {
	Position   string        // of an earlier subscription to the same profile; "" starts now
	CatchUp    bool          // also reads the event log of times without a connection; needs an ID, not of a File Share
	Coalesce   time.Duration // how long changes are gathered, [api.NoLimit] not at all; default 250 ms
	MaxPending int           // changes that may wait for the loop over Changes; default 10,000. At most 16 MiB wait
	Sweep      time.Duration // how often to poll for what the socket missed; default 5 min
	Overlap    time.Duration // how much later than it happened a change may become visible; default 5 s

	// Observe is called when the mode changes, after a failure and after each sweep.
	// It must return soon: while it runs, no connection is served.
	Observe func(s Status)

	PollOnly bool // opens no socket

	// Address of the socket: {ws} is ws or wss, {host} the host of the client, and
	// {token} the token as Placement says. Default: "{ws}://{host}/api/websocket/?{token}".
	Address         string
	Placement       TokenPlacement // default TokenPlacementBareQuery
	Origin          string         // header of the handshake; default that of the client's address
	Dialer          Dialer         // opens sockets; nil uses the network of the client
	PingInterval    time.Duration  // between pings; default 20 s. Each must be answered within half of that
	MaxMessageBytes int64          // longer messages end the socket; default 1 MiB. A Dialer has its own limit
}

const (
	opSubscribe    = "realtime.Subscribe"
	defaultAddress = "{ws}://{host}/api/websocket/?{token}"
	longestTime    = 24 * time.Hour // an option may name
)

// Subscribe reports what changes about a user, organization, workspace, share or File
// Share from now on, or from [Options.Position] on, until ctx ends, Close is called,
// or the platform refuses them. List what there is after it has returned: what happens
// in between is reported as a change.
//
// Delivery is at least once for each change, with no order between fields. Changes of
// one field that come close together are reported as one. A [Resync] is reported if
// changes may have been missed. So a program fetches each field that is reported, and
// all of them after a Resync. Some changes are never reported, such as files that a
// cloud sync removes: list everything from time to time.
//
// Changes arrive over a socket as soon as there is one, otherwise by polls. After
// every change between the two, and every few minutes, a poll finds what was lost. A
// half-open socket is detected within 30 seconds; the idle connections of the client
// are then closed, because they may be lost as well.
//
// A refusal of the platform ends it with a [*RefusedError], also later, such as after
// the permission was revoked. Other failures are retried with a backoff and shown in
// [Status]: failed connections, responses that cannot be decoded, refusals of a proxy.
// The call options apply to every call; [api.WithResponse] is not allowed.
func (s *Service) Subscribe(
	ctx context.Context, profile api.Profile, o *Options, opts ...api.CallOption,
) (*Subscription, error) {
	if err := call.Check(ctx, s.c, opSubscribe); err != nil {
		return nil, err
	}
	sub := &Subscription{s: s, profile: profile, done: make(chan struct{}), observe: make(chan struct{}, 1)}
	if o != nil {
		sub.o = *o
	}
	sub.o.fill()
	sub.opts = append(slices.Clip(opts), api.MaxWait(api.NoLimit))
	if err := sub.check(opts); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	sub.ctx, sub.stop = ctx, stop
	if err := sub.begin(ctx); err != nil {
		stop(err)
		return nil, err
	}
	sub.run()
	return sub, nil
}

func (o *Options) fill() {
	o.Coalesce = cmp.Or(o.Coalesce, 250*time.Millisecond)
	o.MaxPending = cmp.Or(o.MaxPending, 10_000)
	o.Sweep = cmp.Or(o.Sweep, 5*time.Minute)
	o.Overlap = cmp.Or(o.Overlap, 5*time.Second)
	o.Address = cmp.Or(o.Address, defaultAddress)
	o.PingInterval = cmp.Or(o.PingInterval, 20*time.Second)
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, 1<<20)
}

// Subscription is a stream of changes. One loop at a time may range over Changes;
// all else may be called at any time.
type Subscription struct {
	s       *Service
	profile api.Profile
	o       Options
	opts    []api.CallOption
	dial    *dial // nil without sockets

	ctx  context.Context // of all that runs; its cause says why it ended
	stop context.CancelCauseFunc
	done chan struct{} // closed when nothing runs anymore

	pending *pending
	link    *link
	polled  polled
	history history

	clock   clock
	mu      sync.Mutex
	status  Status
	observe chan struct{} // full while Observe runs: one call at a time
}

func refuse(field, rule string) error {
	return &api.InputError{Op: opSubscribe, Field: field, Rule: rule}
}

func (s *Subscription) check(opts []api.CallOption) error {
	o := &s.o
	shortest, longest := min(o.Sweep, o.Overlap, o.PingInterval), max(o.Sweep, o.Overlap, o.PingInterval, o.Coalesce)
	switch resolved := api.Resolve(opts); {
	case resolved.Response != nil:
		return refuse("raw", "must be left out: there are many answers")
	case resolved.Err != nil:
		return resolved.Err
	case o.MaxPending < 0, o.MaxMessageBytes < 0:
		return refuse("options", "must not be negative")
	case shortest < 0 || longest > longestTime:
		return refuse("options", "must be times of 0 to 24 hours")
	case o.CatchUp && s.profile.Kind == api.ProfileKindFileShare:
		return refuse("profile", "must not be a File Share to catch up: it has no log of its own")
	}
	if err := s.profile.OneOf(opSubscribe, "profile_id", api.ProfileKindUser, api.ProfileKindOrg,
		api.ProfileKindWorkspace, api.ProfileKindShare, api.ProfileKindFileShare); err != nil {
		return err
	}
	if o.CatchUp && s.profile != api.User(api.Me) { // searches of the log accept no custom name
		return call.NumericID(opSubscribe, "profile_id", s.profile.ID)
	}
	return nil
}

// begin finds out where changes begin. Nothing runs yet.
func (s *Subscription) begin(ctx context.Context) error {
	at, err := s.resume()
	if err != nil {
		return err
	}
	if s.dial, err = s.dialing(); err != nil {
		return err
	}
	s.pending = newPending(s.o.MaxPending, s.o.MaxMessageBytes, max(0, s.o.Coalesce))
	s.link = newLink(ctx)
	_, s.polled.now = s.link.state()
	s.status = Status{Mode: ModePoll, Since: time.Now()}
	if s.o.CatchUp {
		s.history.due = make(chan struct{}, 1)
	}
	if err := s.identify(ctx); err != nil {
		return s.refused(err)
	}
	switch at.Profile {
	case "":
		return s.refused(s.baseline(ctx))
	case s.profile.String():
	default:
		return refuse("position", "must come from a subscription to the same profile")
	}
	s.polled.cursor, s.pending.covered, s.clock.heard = at.Cursor, at.Cursor, at.Heard
	s.history.owe(at.Heard)
	return s.refused(s.sweep(ctx))
}

// identify finds the caller's own ID, under which the socket goes.
func (s *Subscription) identify(ctx context.Context) error {
	if s.profile != api.User(api.Me) {
		return nil
	}
	me, err := call.One[struct {
		User struct {
			ID api.ProfileID `json:"id"`
		} `json:"user"`
	}](ctx, s.s.c, endpoint.AccountMe(nil), "", s.opts)
	if err == nil && me.User.ID != "" {
		s.profile.ID = me.User.ID
	}
	return err
}

func (s *Subscription) run() {
	var all sync.WaitGroup
	for _, work := range []func(context.Context) error{s.keepPolling, s.keepSocket, s.keepHistory} {
		all.Go(func() {
			if err := work(s.ctx); err != nil {
				s.stop(s.refused(err)) // the first one counts
			}
		})
	}
	go func() {
		all.Wait()
		close(s.done)
	}()
}

// refused marks an error as one that ends the subscription for good, if it does.
func (s *Subscription) refused(err error) error {
	_, marked := errors.AsType[*RefusedError](err)
	if err == nil || marked || s.ctx != nil && s.ctx.Err() != nil || !call.Final(err) {
		return err
	}
	return &RefusedError{Profile: s.profile, Err: err}
}

// Changes returns the changes as they come. It ends with an error when the context
// ends or the platform refuses, and without one after Close. It can be resumed.
func (s *Subscription) Changes() iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) {
		for {
			b := s.pending.take(s.ctx.Done())
			if len(b.changes) > 0 && !s.interrupted() {
				if s.hand(b, yield) {
					return
				}
				continue
			}
			s.pending.giveBack(nil, b.changes)
			if err := s.over(); !errors.Is(err, errClosed) {
				yield(nil, err)
			}
			return
		}
	}
}

// hand passes a batch to the loop and reports whether the loop was left. What
// the loop does not get to stays.
func (s *Subscription) hand(b batch, yield func(*Change, error) bool) (left bool) {
	handed := 0
	defer func() {
		if handed == len(b.changes) && !left {
			s.pending.done(b)
		} else {
			s.pending.giveBack(b.changes[:handed], b.changes[handed:])
		}
	}()
	left = true // should the loop panic
	for handed < len(b.changes) && !s.interrupted() {
		handed++
		if !yield(b.changes[handed-1], nil) {
			return true
		}
	}
	return false
}

// interrupted reports whether the program has ended the stream, so that nothing
// more is handed over. After a refusal, what had arrived before still is.
func (s *Subscription) interrupted() bool {
	_, refused := errors.AsType[*RefusedError](s.over())
	return s.ctx.Err() != nil && !refused
}

var errClosed = errors.New("fastio: the subscription was closed")

// over returns why the stream has ended, nil while it goes on.
func (s *Subscription) over() error {
	if s.ctx.Err() == nil {
		return nil
	}
	return context.Cause(s.ctx)
}

// closeTime is how long Close waits at most.
const closeTime = time.Second

// Close ends the stream. It returns when nothing runs anymore, or after a second
// if Observe keeps it.
func (s *Subscription) Close() error {
	s.stop(errClosed)
	t := time.NewTimer(closeTime)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
	}
	return nil
}

// Status returns how the subscription is doing.
func (s *Subscription) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// tell changes the status and lets the program see it.
func (s *Subscription) tell(change func(*Status)) {
	s.note(change)
	if s.o.Observe == nil {
		return
	}
	select {
	case s.observe <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	defer func() {
		<-s.observe
		_ = recover() // a stream must not end because somebody watches it
	}()
	s.o.Observe(s.Status())
}

func (s *Subscription) note(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}

func (s *Subscription) switchTo(mode Mode, change func(*Status)) {
	s.tell(func(st *Status) {
		if st.Mode != mode {
			st.Mode, st.Since = mode, time.Now()
		}
		change(st)
	})
}

// link tells the one who polls whether there is a socket.
type link struct {
	ctx context.Context

	mu   sync.Mutex
	live bool
	now  context.Context // ends when that changes
	end  context.CancelFunc
}

func newLink(ctx context.Context) *link {
	l := &link{ctx: ctx}
	l.now, l.end = context.WithCancel(ctx)
	return l
}

// set notes a change. That of one socket for another is one too.
func (l *link) set(live bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = live
	l.end()
	l.now, l.end = context.WithCancel(l.ctx)
}

// state returns whether there is a socket, and a context that lasts as long as
// that stays.
func (l *link) state() (bool, context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live, l.now
}

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*HandshakeError](err); ok {
		return e.RetryAfter
	}
	return wait.Ordered(err)
}
