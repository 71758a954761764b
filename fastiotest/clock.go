package fastiotest

import (
	"time"

	"github.com/fastio-go/fastio/internal/emulator"
)

// Clock is the clock of a [Server]. It runs with the clock of [seed.Options], by default
// the system's, until it is frozen or advanced.
type Clock struct{ platform *emulator.Server }

// Now returns the time of the platform.
func (c Clock) Now() time.Time {
	now, _ := c.platform.Clock()
	return now
}

// Frozen reports whether the clock stands still.
func (c Clock) Frozen() bool {
	_, frozen := c.platform.Clock()
	return frozen
}

// Freeze sets the clock and stops it; the zero time means now. What is due until then
// happens. The clock may be set back.
func (c Clock) Freeze(at time.Time) { c.platform.Freeze(at) }

// Unfreeze lets the clock go on from where it is.
func (c Clock) Unfreeze() { c.platform.Unfreeze() }

// Advance moves the clock forward, whether it is frozen or not: indexing, uploads,
// turns of the agent and expiries happen in the order of time, each at its own time,
// and held polls, and sockets whose token expires, end. It does nothing if d is not
// positive.
func (c Clock) Advance(d time.Duration) { c.platform.Advance(d) }
