package realtime

import (
	"context"
	"slices"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/ratelimit"
)

var _ api.Waker = (*Service)(nil)

// Wake watches a profile until ctx is done, and calls changed(true) when the watch begins
// and after each change. It is for loops that find the changes themselves, such as
// events.Service.Follow; [Service.Subscribe] reports them.
//
// The watch uses a socket. Without one it polls, for up to 13 profiles of a client at a
// time: while nothing changes, these 13 together need half of the platform's limit of
// 1,000 polls an hour. While it can do neither, Wake calls changed(false); changes before the
// next changed(true) are not reported.
//
// It returns an error when ctx is done or the platform refuses: a [*RefusedError]. The call
// options apply to every call.
func (s *Service) Wake(
	ctx context.Context, profile api.Profile, changed func(watched bool), opts ...api.CallOption,
) error {
	if changed == nil {
		return &api.InputError{Op: "realtime.Wake", Field: "changed", Rule: "must not be nil"}
	}
	opts = append(slices.Clip(opts), api.WithResponse(nil)) // one response cannot hold those of many calls
	sub, err := s.newSubscription(ctx, profile, nil, opts)
	if err != nil {
		return err
	}
	sub.wake = changed
	sub.run(sub.keepWaking)
	<-sub.done
	return sub.result()
}

// Whether the profile is being watched: what the program learns when something may have changed.
const (
	watched   = true
	unwatched = false
)

// keepWaking reports to the callback of Wake whether the profile is watched. A socket
// watches it while it is open. Without one, polls do: pollToWake reports that. keepWaking
// returns only with an error. stateCtx is canceled when the socket opens or closes.
func (s *Subscription) keepWaking(ctx context.Context) error {
	socketOpen, stateCtx := false, s.polled.beforeFirstSocket
	for {
		switch {
		case socketOpen:
			s.wake(watched)
			<-stateCtx.Done()
		case s.staysWithoutSocket(stateCtx): //nolint:contextcheck // stateCtx is derived from ctx
			err := s.pollToWake(stateCtx)            //nolint:contextcheck // it is derived from ctx
			socketHasOpened := stateCtx.Err() != nil // which has ended the polls
			if err != nil && !socketHasOpened {
				return err
			}
		default: // a socket has opened in the grace period, or ctx has ended
		}
		s.wake(unwatched)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		socketOpen, stateCtx = s.connState.state()
	}
}

// pollToWake polls until stateCtx is done because a socket opens, or until the platform
// refuses. It reports the profile as watched after the first poll, because changes before
// that are not noticed, and after each poll with a change. Only mostWatched profiles of a
// client poll at a time: it waits for a place among them.
func (s *Subscription) pollToWake(stateCtx context.Context) error {
	select {
	case s.s.wakePolls <- struct{}{}:
		defer func() { <-s.s.wakePolls }()
	case <-stateCtx.Done():
		return stateCtx.Err()
	}
	s.s.setPolling(&s.loop, true)
	defer s.s.setPolling(&s.loop, false)
	first := true
	loopCtx := ratelimit.With(stateCtx, &s.loop) // Watch sets the priority of its polls in s.loop
	for r, err := range s.s.polls.Watch(loopCtx, s.profile, nil, s.opts...) {
		if err != nil {
			return err
		}
		if first || len(r.Activity) > 0 {
			s.wake(watched)
		}
		first = false
	}
	return stateCtx.Err()
}
