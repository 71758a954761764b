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
			r.chooseWatches() //nolint:contextcheck // a watch has the context of its profile
		}
	}
}

// chooseWatches sorts the profiles by their recent events, where rank prefers those that are
// watched. The first r.Sockets profiles get a socket. Of the others, the first of each account
// gets a long poll, until there are r.Polls. The sockets and long polls of all other profiles are
// closed. A profile without events can be among the first, too: it may have been busy while
// another replica had it, whose count of events is not known here.
func (r *accountReplica) chooseWatches() {
	r.mu.Lock()
	defer r.mu.Unlock()
	busiestFirst := make([]*followed, 0, len(r.following))
	for f := range r.following {
		f.countRecent()
		busiestFirst = append(busiestFirst, f)
	}
	slices.SortFunc(busiestFirst, func(a, b *followed) int { return cmp.Compare(b.rank(), a.rank()) })
	polled := map[*liveAccount]bool{} // accounts of which a profile gets a long poll
	for i, f := range busiestFirst {
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

// setWatch opens and closes what reports the changes of the profile. The caller holds f.mu, the mutex of the replica.
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
	f.goroutines.Go(func() {
		if want == watchSocket {
			f.steps.Watch(ctx)
		} else {
			f.poll(ctx)
		}
	})
}

// poll wakes the profile when a long poll reports a change, until ctx is done. When a subscription ends,
// poll begins another after a pause, which becomes longer while subscriptions end soon.
func (f *followed) poll(ctx context.Context) {
	for try := 1; ctx.Err() == nil; try++ {
		began := time.Now()
		changes, err := f.client.Realtime.Subscribe(ctx, f.profile, &realtime.SubscribeOptions{PollOnly: true})
		if err == nil {
			f.steps.Wake() // there may have been changes before the subscription
			for _, err := range changes.Changes() {
				if err == nil {
					f.steps.Wake()
				}
			}
			_ = changes.Close() // also after an error: the next try is a new subscription
		}
		if time.Since(began) > worstAccountPause {
			try = 1
		}
		_ = sleep(ctx, backoff{time.Second, worstAccountPause}.pause(try)) // the loop ends with ctx
	}
}

// countRecent halves the number of recent events, so that old ones count less, and adds the events since the
// last call. The caller holds f.mu, the mutex of the replica.
func (f *followed) countRecent() {
	published := f.pub.published.Load()
	f.recent = f.recent/2 + float64(published-f.publishedBefore)
	f.publishedBefore = published
}

// rank returns the number of recent events by which profiles are chosen. It doubles that of a profile that
// is watched: so the profile stays watched until another one has more than twice as many events.
// The caller holds f.mu, the mutex of the replica.
func (f *followed) rank() float64 {
	if f.watched != watchNone {
		return 2*f.recent + 0.5 // of the profiles without events, the watched ones come first
	}
	return f.recent
}
