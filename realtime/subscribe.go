package realtime

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/wait"
)

// SubscribeOptions are the optional parameters of [Service.Subscribe]. Nil and zero fields
// mean the defaults.
type SubscribeOptions struct {
	Position   string        // of an earlier subscription to the same profile; "" starts now
	CatchUp    bool          // reads the event log of disconnected times; requires an ID, not of a File Share
	Coalesce   time.Duration // how long changes are collected before delivery; default 250 ms, [api.NoLimit]: none
	MaxPending int           // limit of undelivered changes, besides 16 MiB; default 10,000
	Sweep      time.Duration // interval of polls for changes that the socket missed; default 5 min
	Overlap    time.Duration // maximum delay until a change becomes visible; default 5 s

	// OnStatus is called when the mode changes, after a failure and after each sweep.
	// It must not block: while it runs, no connection is served.
	OnStatus func(ctx context.Context, s Status)

	PollOnly bool // opens no socket

	// Address of the socket: {ws} is ws or wss, {host} the host of the client, and
	// {token} the token in the form of Placement. Default: "{ws}://{host}/api/websocket/?{token}".
	Address         string
	Placement       TokenPlacement // default TokenPlacementBareQuery
	Origin          string         // header of the handshake; default: the origin of the client
	Dialer          Dialer         // opens sockets; nil uses the network of the client
	PingInterval    time.Duration  // default 20 s. A pong must arrive within half of it
	MaxMessageBytes int64          // limit of a message; default 1 MiB. A Dialer has its own
}

const (
	opSubscribe    = "realtime.Subscribe"
	defaultAddress = "{ws}://{host}/api/websocket/?{token}"
	longestTime    = 24 * time.Hour // maximum of an option
)

// Subscribe reports the changes of a user, organization, workspace, share or File
// Share from now on, or from [SubscribeOptions.Position] on, until ctx is done, Close is
// called, or the platform refuses. List the current state after it has returned: all later
// changes are reported, and maybe some that were just before.
//
// Changes are delivered at least once, in no order between fields. Changes of one
// field in quick succession are reported as one. A [Resync] is reported if changes
// may have been missed. So fetch each field that is reported, and all of them after
// a Resync. Some changes are never reported, such as files that a cloud sync
// removes: list everything periodically.
//
// Changes arrive over a socket when one is open, otherwise by polls. Subscribe returns
// when a socket is open, or with polls if that fails or takes two seconds. After every
// switch between the two, and every few minutes, a poll finds missed changes. A
// half-open socket is detected within 30 seconds; the idle connections of the client
// are then closed, because they may be broken as well.
//
// The subscriptions of a client share the platform's limit of 1,000 polls an hour. With
// open sockets they poll 225 times an hour at most, all together. Without sockets they take
// turns if many subscriptions, or many changes, would exceed the limit. [Status] has the
// interval. A client opens ten sockets a second, so that many subscriptions are best
// started concurrently.
//
// A refusal by the platform ends it with a [*RefusedError], also later, such as after
// the permission was revoked. Other failures are retried with backoff and shown in
// [Status]: failed connections, responses that cannot be decoded, refusals by a proxy.
// The call options apply to every call; [api.WithResponse] is not allowed.
func (s *Service) Subscribe(
	ctx context.Context, profile api.Profile, o *SubscribeOptions, opts ...api.CallOption,
) (*Subscription, error) {
	sub, err := s.newSubscription(ctx, profile, o, opts)
	if err != nil {
		return nil, err
	}
	s.open.Add(1)                                                  // until sub.end
	sub.connState.shared, sub.connState.loop = s.shared, &sub.loop // counts sub as polling while it has no socket
	tasks := []func(context.Context) error{sub.keepPolling}
	if sub.o.CatchUp {
		tasks = append(tasks, sub.keepHistory)
	}
	sub.run(tasks...) // run adds the task that keeps a socket open
	select {
	case <-sub.ready:
		return sub, nil
	case <-sub.ctx.Done():
		sub.wait()
		return nil, context.Cause(sub.ctx) //nolint:contextcheck // sub.ctx is derived from ctx
	}
}

// newSubscription checks the options and returns a subscription for which no
// goroutine runs yet.
func (s *Service) newSubscription(
	ctx context.Context, profile api.Profile, o *SubscribeOptions, opts []api.CallOption,
) (*Subscription, error) {
	if err := call.Check(ctx, s.c, opSubscribe); err != nil {
		return nil, err
	}
	sub := &Subscription{s: s, profile: profile, observe: make(chan struct{}, 1)}
	sub.done, sub.ready, sub.waitedEnough = make(chan struct{}), make(chan struct{}), make(chan struct{})
	sub.stopWaiting = sync.OnceFunc(func() { close(sub.waitedEnough) })
	sub.clock.Clock = &s.clock
	if o != nil {
		sub.o = *o
	}
	sub.o.fill()
	sub.opts = append(slices.Clip(opts), api.WithMaxWait(api.NoLimit)) // its calls wait for the rate limit
	if err := sub.check(opts); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	sub.ctx, sub.stop = ctx, stop
	if err := sub.prepare(ctx); err != nil {
		stop(err)
		return nil, err
	}
	return sub, nil
}

// fill sets the defaults of options that are zero.
func (o *SubscribeOptions) fill() {
	o.Coalesce = cmp.Or(o.Coalesce, 250*time.Millisecond)
	o.MaxPending = cmp.Or(o.MaxPending, 10_000)
	o.Sweep = cmp.Or(o.Sweep, 5*time.Minute)
	o.Overlap = cmp.Or(o.Overlap, 5*time.Second)
	o.Address = cmp.Or(o.Address, defaultAddress)
	o.PingInterval = cmp.Or(o.PingInterval, 20*time.Second)
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, 1<<20)
}

// Subscription is a stream of changes. One loop at a time may range over Changes;
// the other methods are safe for concurrent use.
type Subscription struct {
	s       *Service
	profile api.Profile
	o       SubscribeOptions
	opts    []api.CallOption
	dial    *dial              // nil without sockets
	wake    func(watched bool) // the callback of Wake, which reports no changes; nil for Subscribe

	ctx  context.Context // of all goroutines; its cause is the reason of the end
	stop context.CancelCauseFunc
	done chan struct{} // closed when all goroutines have returned

	pending      *pending
	connState    *connState
	stopWaiting  func()        // ends the wait for the first socket: polls begin
	waitedEnough chan struct{} // closed by stopWaiting
	ready        chan struct{} // closed when changes are reported
	polled       polled
	loop         ratelimit.Loop // of its polls
	from         start          // set before ready
	history      history
	noticing     sync.Mutex // held from a response until the silence before it is recorded: see Position

	clock   clock
	mu      sync.Mutex
	status  Status
	observe chan struct{} // full while OnStatus runs: one call at a time
}

// refuse returns the error of an option; "" stands for all of them.
func refuse(field, rule string) error {
	return input.Fields[SubscribeOptions](opSubscribe).Refuse(field, rule, "")
}

// check returns an error for options that a subscription cannot have. CatchUp requires
// an ID or [api.Me], because searches of the log accept no custom name.
func (s *Subscription) check(opts []api.CallOption) error {
	o := &s.o
	shortest := min(o.Sweep, o.Overlap, o.PingInterval) // Coalesce may be NoLimit, which is negative
	longest := max(o.Sweep, o.Overlap, o.PingInterval, o.Coalesce)
	switch resolved := api.Resolve(opts); {
	case resolved.Response != nil:
		return &api.InputError{Op: opSubscribe, Field: "WithResponse", Rule: "must be left out: there are many responses"}
	case resolved.Err != nil:
		return resolved.Err
	case o.MaxPending < 0, o.MaxMessageBytes < 0:
		return refuse("", "must have no negative number")
	case shortest < 0 || longest > longestTime:
		return refuse("", "must have times of 0 to 24 hours")
	case o.CatchUp && s.profile.Kind == api.ProfileKindFileShare:
		return refuse("CatchUp", "must be false for a File Share, which has no log of its own")
	}
	if err := s.profile.OneOf(opSubscribe, "profile", api.ProfileKindUser, api.ProfileKindOrg,
		api.ProfileKindWorkspace, api.ProfileKindShare, api.ProfileKindFileShare); err != nil {
		return err
	}
	if o.CatchUp && s.profile != api.User(api.Me) {
		return input.Parameters(opSubscribe).NumericID("profile_id", s.profile.ID)
	}
	return nil
}

// prepare sets up the state before any goroutine runs: the settings of the socket, the
// ID of the caller, and the start that a Position gives.
func (s *Subscription) prepare(ctx context.Context) error {
	at, err := s.decodePosition()
	if err != nil {
		return err
	}
	s.dial, err = s.dialSettings()
	if err != nil {
		return err
	}
	s.pending = newPending(s.o.MaxPending, s.o.MaxMessageBytes, max(0, s.o.Coalesce))
	s.connState = newConnState(ctx)
	_, s.polled.beforeFirstSocket = s.connState.state() // canceled by the first change, when a socket opens
	s.status = Status{Mode: ModePoll, Since: time.Now()}
	if s.o.CatchUp {
		s.history.gapSignal = make(chan struct{}, 1)
	}
	if err := s.identify(ctx); err != nil {
		return s.asRefusal(err)
	}
	switch at.Profile {
	case "": // no Position
	case s.profile.String():
		s.resume(at)
	default:
		return refuse("Position", "must come from a subscription to the same profile")
	}
	return nil
}

// resume starts the changes where a Position of an earlier subscription has ended.
func (s *Subscription) resume(at position) {
	s.from = start{cursor: at.Cursor, localTime: at.Began}
	s.polled.cursor = at.Cursor
	s.polled.unconfirmed = s.from // the first sweep confirms it if it is the Date of a response (Began is set)
	s.pending.start(at.Cursor)
	s.clock.lastHeard = at.Heard   // the silence since then may require a Resync
	s.history.enqueueGap(at.Heard) // events since then are in the log only
}

// identify replaces the profile "me" by the ID of the caller, which the socket requires.
// If the response has no ID, the profile stays "me", which the polls accept.
func (s *Subscription) identify(ctx context.Context) error {
	if s.profile != api.User(api.Me) {
		return nil
	}
	me, err := call.Payload[struct {
		User struct {
			ID api.ID `json:"id"`
		} `json:"user"`
	}](ctx, s.s.c, endpoint.AccountMe(nil), s.opts)
	if err == nil && me.User.ID != "" {
		s.profile.ID = me.User.ID
	}
	return err
}

// run starts a goroutine for each task, and one that keeps a socket open if there may
// be one. The first error ends all of them. The last goroutine ends the subscription.
func (s *Subscription) run(tasks ...func(context.Context) error) {
	if s.dial != nil {
		tasks = append(tasks, s.keepSocket)
	}
	var left atomic.Int32
	left.Store(int32(len(tasks))) //nolint:gosec // at most three
	for _, work := range tasks {
		go func() {
			if err := work(s.ctx); err != nil {
				s.stop(s.asRefusal(err)) // only the first call sets the cause
			}
			if left.Add(-1) == 0 {
				s.end()
			}
		}()
	}
}

// end marks the subscription as ended, after the last of its goroutines. It no longer counts
// as open or as polling. A subscription of Wake never counts as open, and pollToWake itself
// counts it as polling.
func (s *Subscription) end() {
	isOfWake := s.wake != nil
	if !isOfWake {
		s.connState.setPolling(false)
		s.s.open.Add(-1)
	}
	close(s.done)
}

// asRefusal returns err as a [*RefusedError] if the platform refuses the subscription for good,
// else as it is.
func (s *Subscription) asRefusal(err error) error {
	_, isRefusal := errors.AsType[*RefusedError](err)
	hasEnded := s.ctx.Err() != nil // which may be the reason of err
	if err == nil || isRefusal || hasEnded || !call.Final(err) {
		return err
	}
	return &RefusedError{Profile: s.profile, Err: err}
}

// Changes returns the changes as they arrive. It ends with an error when the context is
// done or the platform refuses, and without one after Close. A loop that was left can
// be followed by another, which goes on where it ended.
func (s *Subscription) Changes() iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) {
		for {
			b := s.pending.take(s.ctx.Done()) // empty if the context is done and no change is left
			if len(b.changes) > 0 && !s.isStopped() {
				if s.deliver(b, yield) {
					return
				}
				continue
			}
			var noneDelivered []*Change
			s.pending.requeue(noneDelivered, b.changes) // Position stays before them
			if err := s.result(); !errors.Is(err, errClosed) {
				yield(nil, err)
			}
			return
		}
	}
}

// deliver yields a batch of changes to the loop of the caller, and reports whether the
// loop was left. If the batch is not finished, the undelivered changes are queued again.
func (s *Subscription) deliver(b batch, yield func(*Change, error) bool) (left bool) {
	delivered, finished := 0, false
	defer func() { // also if the loop of the caller panics
		if finished {
			s.pending.markDelivered(b)
		} else {
			s.pending.requeue(b.changes[:delivered], b.changes[delivered:])
		}
	}()
	for delivered < len(b.changes) && !s.isStopped() {
		delivered++
		if !yield(b.changes[delivered-1], nil) {
			return true
		}
	}
	finished = delivered == len(b.changes)
	return false
}

// isStopped reports whether the program has ended the stream, which stops
// delivery. After a refusal, earlier changes are still delivered.
func (s *Subscription) isStopped() bool {
	_, refused := errors.AsType[*RefusedError](s.result())
	return s.ctx.Err() != nil && !refused
}

var errClosed = errors.New("fastio: the subscription was closed")

// result returns why the stream has ended, nil while it is open.
func (s *Subscription) result() error {
	if s.ctx.Err() == nil {
		return nil
	}
	return context.Cause(s.ctx)
}

// closeWait is the longest time that Close waits.
const closeWait = time.Second

// Close ends the stream. It returns when all goroutines have ended, or after a
// second if OnStatus blocks.
func (s *Subscription) Close() error {
	s.stop(errClosed)
	s.wait()
	return nil
}

// wait returns when all goroutines have ended, after closeWait at the latest.
func (s *Subscription) wait() {
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
	}
}

// Status returns the current state of the subscription.
func (s *Subscription) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	if st.Mode == ModeSocket {
		st.Interval = max(s.o.Sweep, s.s.sweepRound())
	} else {
		st.Interval = s.s.interval(&s.loop)
	}
	return st
}

// notify changes the status and calls OnStatus, one call at a time.
func (s *Subscription) notify(change func(*Status)) {
	s.changeStatus(change)
	if s.o.OnStatus == nil {
		return
	}
	select {
	case s.observe <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	defer func() {
		<-s.observe
		_ = recover() // a panic of OnStatus must not end the stream
	}()
	s.o.OnStatus(s.ctx, s.Status())
}

// changeStatus changes the status without calling OnStatus.
func (s *Subscription) changeStatus(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}

// switchTo sets the mode of the status and the time of the switch, applies another
// change to it, and calls OnStatus.
func (s *Subscription) switchTo(mode Mode, change func(*Status)) {
	s.notify(func(st *Status) {
		if st.Mode != mode {
			st.Mode, st.Since = mode, time.Now()
		}
		change(st)
	})
}

// connState records whether a socket is open, for the polling goroutine.
type connState struct {
	ctx    context.Context
	shared *shared         // counts the polling subscriptions; nil for Wake
	loop   *ratelimit.Loop // of its polls

	mu          sync.Mutex
	live        bool            // whether a socket is open
	stateCtx    context.Context // canceled when live is set
	cancelState context.CancelFunc
}

// newConnState returns a connState without an open socket.
func newConnState(ctx context.Context) *connState {
	l := &connState{ctx: ctx}
	l.stateCtx, l.cancelState = context.WithCancel(ctx)
	return l
}

// setLive records whether a socket is open, and cancels the context that state returned
// before, also if one open socket replaces another. A subscription without a socket is
// counted among those that poll.
func (l *connState) setLive(live bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = live
	l.countAsPolling(!live)
	l.cancelState()
	l.stateCtx, l.cancelState = context.WithCancel(l.ctx)
}

// setPolling records whether the subscription polls because it has no socket.
func (l *connState) setPolling(polling bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countAsPolling(polling && !l.live)
}

// countAsPolling adds the subscription to those of the Service that poll because they
// have no socket, or removes it: they share the rate of the polls. l.mu is held.
func (l *connState) countAsPolling(polling bool) {
	if l.shared != nil {
		l.shared.setPolling(l.loop, polling)
	}
}

// state returns whether a socket is open, and a context that is canceled by the
// next change of that.
func (l *connState) state() (socketOpen bool, stateCtx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live, l.stateCtx
}

// retryAfter returns the Retry-After of a refused handshake or call, 0 without one.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*HandshakeError](err); ok {
		return e.RetryAfter
	}
	return wait.RetryAfterOf(err)
}
