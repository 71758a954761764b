package relay

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fastio-go/fastio/realtime"
)

// watchKind is how the changes of a profile are reported.
type watchKind uint8

const (
	watchNone watchKind = iota // by searches at rest only
	watchSocket
	watchPoll
)

// keepWatches chooses at an interval which profiles have a socket or a long poll, until ctx is done.
func (r *accountReplica) keepWatches(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.chooseWatches() //nolint:contextcheck // watches have that of the profile
		}
	}
}

// chooseWatches opens sockets for the profiles with the most events, and then a long poll for each
// account with the most, and closes those of others. A profile that has one keeps it unless
// another one has more than twice its events. Profiles without events have those that are left:
// one that was busy on another replica has none yet.
func (r *accountReplica) chooseWatches() {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := make([]*followed, 0, len(r.following))
	for f := range r.following {
		published := f.pub.published.Load()
		f.recent = f.recent/2 + float64(published-f.publishedBefore) // older events count half as much each time
		f.publishedBefore = published
		busy = append(busy, f)
	}
	slices.SortFunc(busy, func(a, b *followed) int { return cmp.Compare(b.rank(), a.rank()) })
	polled := map[*liveAccount]bool{}
	for i, f := range busy {
		want := watchNone
		switch {
		case i < r.Sockets:
			want = watchSocket
		case len(polled) < r.Polls && !polled[f.liveAccount]:
			want = watchPoll
			polled[f.liveAccount] = true
		}
		f.setWatch(want)
	}
}

// setWatch opens and closes what reports the changes of the profile. The caller holds r.mu.
func (f *followed) setWatch(want watchKind) {
	if f.watched == want || f.ctx.Err() != nil {
		return
	}
	if f.watched != watchNone {
		f.closeWatch()
	}
	f.watched = want
	if want == watchNone {
		return
	}
	var ctx context.Context
	ctx, f.closeWatch = context.WithCancel(f.ctx)
	f.watches.Go(func() {
		if want == watchSocket {
			f.steps.Watch(ctx)
		} else {
			f.poll(ctx)
		}
	})
}

// poll wakes the profile when a long poll reports a change, until ctx is done.
func (f *followed) poll(ctx context.Context) {
	for tries := 1; ctx.Err() == nil; tries++ {
		changes, err := f.client.Realtime.Subscribe(ctx, f.profile, &realtime.SubscribeOptions{PollOnly: true})
		if err == nil {
			f.steps.Wake() // there may have been changes before
			for _, err := range changes.Changes() {
				if err == nil {
					f.steps.Wake()
				}
			}
			_ = changes.Close() // after an error, too, the next try is a new subscription
		}
		_ = sleep(ctx, backoff{time.Second, worstAccountPause}.pause(tries)) // the loop ends with ctx
	}
}

// rank returns the number of recent events by which profiles are chosen. That of a profile that is
// watched is doubled, so that it stays watched unless another one has more than twice its events.
// The caller holds r.mu.
func (f *followed) rank() float64 {
	if f.watched != watchNone {
		return 2*f.recent + 0.5 // without events, it stays before those that have none and are not watched
	}
	return f.recent
}
