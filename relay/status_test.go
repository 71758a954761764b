package relay_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/relay"
)

func TestFollowerStatusSaysWhyNothingMoves(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 10)
	var away atomic.Bool
	var retried, searched atomic.Int64
	f := p.start(t, ns, func(f *relay.Follower) {
		down := func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if relay.ProfileOf(r.Context()) == p.profiles[0] {
					searched.Add(1)
				}
				if away.Load() {
					return nil, errors.New("the platform is away")
				}
				return next.RoundTrip(r)
			})
		}
		client := p.Client(t, fastio.WithMiddleware(down), fastio.WithRetry(fastio.RetryPolicy{Attempts: 1}))
		f.Events = events.New(unlimited{client}, &events.Options{Waker: p})
		f.OnRetry = func(_ context.Context, profile api.Profile, e api.RetryEvent) {
			if profile == p.profiles[0] && e.Op == "events.Follow" {
				retried.Add(1)
			}
		}
	})
	var caughtUp relay.ProfileStatus
	eventually(t, "the end of the log", func() bool {
		caughtUp = f.Status()[0]
		return caughtUp.Held && !caughtUp.CaughtUp.IsZero() && count(t, f.js) == 10
	})
	if caughtUp.Err != nil || caughtUp.Pending != 0 || caughtUp.LastSuccess.Before(caughtUp.CaughtUp) {
		t.Errorf("the status is %+v", caughtUp)
	}
	away.Store(true)
	p.add(p.profiles[0], 1)
	var failing relay.ProfileStatus
	eventually(t, "a failed search", func() bool { failing = f.Status()[0]; return failing.Err != nil && retried.Load() > 1 })
	if failing.Since.Before(failing.LastSuccess) || failing.LastSuccess.IsZero() || failing.Op != "events.Follow" ||
		failing.Failures == 0 {
		t.Errorf("the status is %+v", failing)
	}
	away.Store(false)
	eventually(t, "another success", func() bool {
		s := f.Status()[0]
		return s.Err == nil && s.Op == "" && s.Since.IsZero() && s.CaughtUp.After(failing.CaughtUp) && s.Failures > 0
	})
	if searched.Load() == 0 || relay.ProfileOf(t.Context()) != (api.Profile{}) {
		t.Errorf("%d requests have the profile in their context", searched.Load())
	}
}

func TestFollowerStatsTellWhetherNATSConfirmsWrites(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	f := p.start(t, ns, func(f *relay.Follower) { f.Lease = time.Second })
	var first time.Time
	eventually(t, "a write", func() bool { first = f.Stats().Confirmed; return !first.IsZero() })
	eventually(t, "another write", func() bool { return f.Stats().Confirmed.After(first) })
	f.link.Cut()
	eventually(t, "an error of the replica", func() bool {
		s := f.Stats()
		first = s.Confirmed
		return s.Err != nil && s.Since.After(s.Confirmed)
	})
	f.link.Restore()
	eventually(t, "no error and another write", func() bool {
		s := f.Stats()
		return s.Err == nil && s.Since.IsZero() && s.Confirmed.After(first)
	})
}

func TestFollowerStatusCountsEventsThatAreNotStored(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(1), startServer(t)
	p.add(p.profiles[0], 40)
	f := p.start(t, ns, func(f *relay.Follower) { f.Stream.MaxMsgs = 21 }) // with the epoch
	eventually(t, "a full stream", func() bool {
		s := f.Status()[0]
		return s.Pending == 20 && s.Err != nil && s.CaughtUp.IsZero()
	})
}

func TestFollowerStatusForgetsProfilesOfOthers(t *testing.T) {
	t.Parallel()
	p, ns := newPlatform(8), startServer(t)
	a := p.start(t, ns, nil)
	held := func(f *follower) (n int) {
		for _, s := range f.Status() {
			if s.Held && !s.CaughtUp.IsZero() {
				n++
			}
		}
		return n
	}
	eventually(t, "all profiles", func() bool { return held(a) == 8 })
	b := p.start(t, ns, nil)
	eventually(t, "half of them each", func() bool { return held(a) == 4 && held(b) == 4 })
	eventually(t, "nothing about the others", func() bool {
		return !slices.ContainsFunc(a.Status(), func(s relay.ProfileStatus) bool { return !s.Held && !s.CaughtUp.IsZero() })
	})
}
