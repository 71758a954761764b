package realtime

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
	"github.com/fastio-go/fastio/internal/servertime"
	"github.com/fastio-go/fastio/internal/wait"
)

// shared is what the subscriptions of a Service share: the load of their polls, and the
// queue of their new sockets.
type shared struct {
	clock     servertime.Clock
	open      atomic.Int64 // subscriptions
	dials     *ratelimit.Group
	probeLock chan struct{} // held by the subscription that dials while the network is broken
	wakePolls chan struct{} // has an element for each call of Wake that polls

	mu        sync.Mutex
	polling   map[*ratelimit.Loop]bool // of subscriptions and Wake that poll for lack of a socket
	phase     float64                  // 0 to 1
	retryTime time.Time                // of a dial while the network is broken; zero if it is not
	probes    int                      // dials of all subscriptions since it is broken
}

// The platform accepts 1,000 polls an hour.
const (
	few         = 20               // subscriptions that begin with polls of their own
	mostWatched = 13               // by polls of Wake: half of those of an hour, while nothing changes
	pollEvery   = 4 * time.Second  // 900 polls an hour for those without a socket
	longPoll    = 96 * time.Second // without a change, and to the next one
	sweepEvery  = 16 * time.Second // 225
	slowSweep   = 40 * time.Second // 90, besides 900
	restEvery   = 4                // one in so many polls is for those at rest, at most
	dialsSecond = 10
)

// newShared returns the state that the subscriptions of a Service share, before there
// are any.
func newShared() *shared {
	return &shared{
		dials:     ratelimit.New(api.RateWindow{Max: dialsSecond, Size: time.Second}),
		probeLock: make(chan struct{}, 1),
		wakePolls: make(chan struct{}, mostWatched),
		polling:   map[*ratelimit.Loop]bool{},
		phase:     rand.Float64(), //nolint:gosec // spreading load needs no secrecy
	}
}

// setPolling records whether a subscription polls for lack of a socket.
func (s *shared) setPolling(loop *ratelimit.Loop, polling bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if polling {
		s.polling[loop] = true
	} else {
		delete(s.polling, loop)
	}
}

// crowded reports whether more than a few subscriptions poll for lack of a socket.
func (s *shared) crowded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.polling) > few
}

// sweepRound returns the shortest time in which all subscriptions of the Service
// may sweep once, within the rate limit of polls.
func (s *shared) sweepRound() time.Duration {
	each := sweepEvery
	if s.crowded() {
		each = slowSweep
	}
	return time.Duration(s.open.Load()) * each
}

// nextPhase returns a number above 0, up to 1, which places the first sweep of a new
// subscription in the round of first sweeps (see sweepInterval). Steps of the golden ratio spread
// these numbers evenly, however many there will be. As s.phase is below 1, 1 - s.phase is never 0.
func (s *shared) nextPhase() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, s.phase = math.Modf(s.phase + 1/math.Phi)
	return 1 - s.phase
}

// interval returns the time between two polls of a subscription without a socket, for
// [Status.Interval]: 0 if it is at rest and polls as fast as it wants. The polls of all
// subscriptions share one rate: one poll in each `every`.
//
// If all are at rest, they have equal shares, and so the same interval. Those that changes have
// woken go before those at rest, as [ratelimit.Class] says. Then the interval of those at rest is
// longer than with equal shares, and the interval of the woken ones shorter, each by at most
// [ratelimit.Patience].
//
// Example: 100 subscriptions have one poll in 4 seconds. In equal shares, the interval of each
// is 400 seconds. If 60 of them are woken, they share three quarters of the polls: 320 seconds.
// The 40 at rest share a quarter. That is 640 seconds, which Patience limits to 400 + 200.
func (s *shared) interval(loop *ratelimit.Loop) time.Duration {
	own := loop.State()
	every := max(own.Every, pollEvery)
	// At rest, a poll lasts until a change: if the latest one waited for less than `every`, the rate limit hardly
	// matters. Polls of a woken subscription find changes at once, so that the rate limit always sets their interval.
	if own.Class != ratelimit.Woken && own.Waited < every {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	woken := 0
	for other := range s.polling {
		if other.State().Class == ratelimit.Woken {
			woken++
		}
	}
	resting, equal := len(s.polling)-woken, time.Duration(len(s.polling))*every
	switch {
	case woken == 0:
		return equal
	case own.Class == ratelimit.Woken:
		return max(wokenInterval(woken, resting, every), equal-ratelimit.Patience)
	}
	ofResting := restEvery * time.Duration(resting) * every // those at rest share one in restEvery polls
	return min(ofResting, equal+ratelimit.Patience)
}

// wokenInterval returns the time between two polls of each of the woken subscriptions, if one
// poll of any subscription may start in each time every. Each subscription at rest needs a poll
// in each longPoll, but all of them get at most 1/restEvery of the polls. The woken ones share
// the other polls.
func wokenInterval(woken, resting int, every time.Duration) time.Duration {
	restNeeds := float64(resting) * every.Seconds() / longPoll.Seconds() // a share of all polls
	wokenShare := 1 - min(1./restEvery, restNeeds)
	return time.Duration(float64(woken) * float64(every) / wokenShare)
}

// dial waits until the rate limit of dials admits the caller, calls began, and then open.
// While the network is broken, only one subscription at a time calls open; the others wait
// until the network works again or it is their turn to try.
func (s *shared) dial(ctx context.Context, began func(), open func(context.Context) error) error {
	for {
		if err := s.dials.Wait(ctx); err != nil {
			return err
		}
		began()
		if s.retryAt().IsZero() {
			return s.noteAnswer(open(ctx))
		}
		if tried, err := s.probeAlone(ctx, open); tried || err != nil {
			return err
		}
	}
}

// probeAlone waits until the caller is the one subscription that may dial while the
// network is broken, and then calls open. If the network is not broken any more, it
// returns tried as false without calling open.
func (s *shared) probeAlone(ctx context.Context, open func(context.Context) error) (tried bool, err error) {
	select {
	case s.probeLock <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-s.probeLock }()
	retry := s.retryAt()
	if retry.IsZero() {
		return false, nil
	}
	if err := wait.Sleep(ctx, time.Until(retry)); err != nil {
		return false, err
	}
	if err := s.dials.Wait(ctx); err != nil { // again: the admission that dial got is from before both waits
		return false, err
	}
	s.mu.Lock()
	s.probes++
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, mintTimeout+dialTime) // other subscriptions wait for the probeLock
	defer cancel()
	return true, s.noteAnswer(open(ctx))
}

// retryAt returns when to dial again while the network is broken, zero if it is
// not.
func (s *shared) retryAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retryTime
}

// noteAnswer takes err, the result of a dial, and returns it. If it shows that the server
// has responded, if only by a refusal, noteAnswer records that the network is not broken.
func (s *shared) noteAnswer(err error) error {
	if err == nil || !brokenNetwork(err) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.retryTime, s.probes = time.Time{}, 0
	}
	return err
}

// networkBroken records that the network is broken. It returns the pause before the next
// dial, which grows with the failures in a row of the subscription that calls it, or with
// the dials of all subscriptions since the network broke, if these are more.
func (s *shared) networkBroken(failures int) (pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const noRetryAfter = 0 // the server has not responded
	pause = wait.For(max(failures, s.probes), noRetryAfter)
	s.retryTime = time.Now().Add(pause)
	return pause
}
