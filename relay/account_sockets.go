package relay

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// keepSockets chooses, each time of a lease, which profiles have a socket, until ctx is done.
func (r *accountReplica) keepSockets(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.chooseSockets() //nolint:contextcheck // sockets have that of the profile
		}
	}
}

// chooseSockets opens sockets for the profiles with the most events, and closes those of
// others. One that has a socket keeps it unless another one has more than twice its events.
// Profiles without events have those that are left: one that was busy on another replica has
// none yet.
func (r *accountReplica) chooseSockets() {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := make([]*followed, 0, len(r.following))
	for f := range r.following {
		published := f.pub.published.Load()
		f.recent = f.recent/2 + float64(published-f.counted)
		f.counted = published
		busy = append(busy, f)
	}
	slices.SortFunc(busy, func(a, b *followed) int { return cmp.Compare(b.rank(), a.rank()) })
	chosen := min(r.Sockets, len(busy))
	for _, f := range busy[chosen:] {
		if f.closeSocket != nil {
			f.closeSocket()
			f.closeSocket = nil
		}
	}
	for _, f := range busy[:chosen] {
		if f.closeSocket == nil && f.ctx.Err() == nil {
			var ctx context.Context
			ctx, f.closeSocket = context.WithCancel(f.ctx)
			r.sockets.Go(func() { f.steps.Watch(ctx) })
		}
	}
}

// rank returns what decides whether the profile has a socket. The caller holds r.mu.
func (f *followed) rank() float64 {
	if f.closeSocket != nil {
		return 2*f.recent + 0.5
	}
	return f.recent
}
