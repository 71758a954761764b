package events_test

import (
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// Whether a search finds events of the seconds that bound it is not published.
func TestBoundsMayBeExclusive(t *testing.T) {
	t.Parallel()
	exclusive := func(o *fastiotest.Options) { o.Events.ExclusiveBounds = true }
	for _, in := range orders {
		bubble(t, in.name, func(t *testing.T) {
			w := newWorld(ordered(in.order), exclusive)
			want := w.fill(700)
			time.Sleep(2 * time.Second) // a pass may leave out the second it begins in
			sameSet(t, want, collect(t, w.log.Walk(w.query(), "")))

			var box inbox
			f := w.follow(box.handle, &events.FollowOptions{Store: new(events.MemoryStore)})
			for i := range 300 {
				time.Sleep(time.Second)
				want = append(want, w.add(time.Now(), time.Duration(i%2)*time.Minute))
			}
			time.Sleep(3 * time.Minute)
			f.end(t)
			sameSet(t, want, box.all())
		})
	}
}

// What is up to ten overlaps late is found, whenever the next rescan begins.
func TestFollowFindsWhatIsTenOverlapsLate(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, w *world) {
		var box inbox
		var gaps []events.Gap
		f := w.follow(box.handle, &events.FollowOptions{
			Store: new(events.MemoryStore), Gap: into(&gaps),
		})
		var want []api.OpaqueID
		for i := range 6 * 60 { // six hours of an event a minute, and late ones between
			time.Sleep(time.Minute)
			want = append(want, w.add(time.Now(), 0))
			if i%7 == 0 {
				want = append(want, w.add(time.Now(), 19*time.Minute+50*time.Second))
			}
		}
		for range 40 {
			time.Sleep(time.Minute)
			want = append(want, w.add(time.Now(), 0))
		}
		time.Sleep(time.Minute)
		f.end(t)
		if sameSet(t, want, box.all()); len(gaps) == 0 || w.Refusals() > 0 {
			t.Errorf("%d gaps, %d searches refused", len(gaps), w.Refusals())
		}
	})
}
