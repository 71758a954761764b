//go:build !soak

package relay_test

import "time"

// Sizes of tests in virtual time, which the long tests have larger.
const (
	fleetSize, fleetStep     = 60, 10
	longLogSize, longLogTime = 100_000, time.Hour
	orderRounds              = 20
)
