// Package servertime estimates the clock of a server from the Date headers of its
// responses. One wrong Date, of a cache or of a node whose clock is off, must not
// move what is taken for now beyond the truth.
package servertime

import (
	"net/http"
	"sync"
	"time"
)

// Clock is an estimate of a server's clock. The zero value knows no Date yet. It
// is safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	dates [2]date // the latest first
}

// date is the Date of a response and when it arrived, by the local clock.
type date struct{ server, local time.Time }

// localSlack is how far the local clock may be behind that of a server that sends
// no Date.
const localSlack = 24 * time.Hour

// Observe records the Date of a response, if it has one. The last two are kept.
func (c *Clock) Observe(h http.Header) {
	server, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dates = [2]date{{server, time.Now()}, c.dates[0]}
}

// Age returns how long ago the latest Date arrived. It reports false without one.
func (c *Clock) Age() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest := c.dates[0]
	return latest.age(), !latest.local.IsZero()
}

// Earliest returns the server's time by the latest two Dates, the earlier one
// where they differ. Without a Date it is the local time.
func (c *Clock) Earliest() time.Time {
	now, _ := c.earliest()
	return now
}

// Latest returns the latest time that a timestamp of the server can have now:
// slack beyond [Clock.Earliest], or a day beyond the local time if no response
// had a Date.
func (c *Clock) Latest(slack time.Duration) time.Time {
	now, known := c.earliest()
	if !known {
		return now.Add(localSlack)
	}
	return now.Add(slack)
}

// Until returns how long it is until at, a time that the response with the header h
// announces. The present time is taken from the Date of the response, else from the latest
// Date before, else from the local clock. A wrong Date must not cause a long wait: if the
// latest two Dates give other results, the shortest result counts. Results of zero or less
// count only if there are no others.
func (c *Clock) Until(at time.Time, h http.Header) time.Duration {
	const slack = 10 * time.Second // of Dates that agree
	c.mu.Lock()
	defer c.mu.Unlock()
	left := time.Until(at)
	if latest := c.dates[0]; !latest.local.IsZero() {
		left = latest.until(at)
	}
	server, err := http.ParseTime(h.Get("Date"))
	if err == nil {
		left = at.Sub(server)
	}
	for _, d := range c.dates {
		if d.local.IsZero() {
			continue
		}
		other := d.until(at)
		disagrees := (left - other).Abs() > slack
		isBetter := other > 0 && (other < left || left <= 0)
		if disagrees && isBetter {
			left = other
		}
	}
	return left
}

// until returns how long it is until at by the Date.
func (d date) until(at time.Time) time.Duration { return at.Sub(d.server.Add(d.age())) }

// earliest returns the server's present time by its latest two Dates, the earlier one where
// they differ: a single wrong Date must not move it beyond the truth. Without a Date it
// returns the local time, and false.
func (c *Clock) earliest() (now time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.dates {
		isUnused := d.local.IsZero() // as long as fewer than two responses had a Date
		if isUnused {
			continue
		}
		if at := d.server.Add(d.age()); !known || at.Before(now) {
			now, known = at, true
		}
	}
	if !known {
		now = time.Now()
	}
	return now.UTC().Round(0), known
}

// age returns the time since the Date arrived, by the wall clock if that is more:
// the monotonic one stops while a machine sleeps.
func (d date) age() time.Duration {
	now := time.Now()
	return max(now.Sub(d.local), now.Round(0).Sub(d.local.Round(0)))
}
