//go:build !soak

package relay_test

import "time"

// Sizes of tests in virtual time, which the long tests have larger.
const (
	fleetSize, fleetStep     = 60, 10
	longLogSize, longLogTime = 100_000, time.Hour
	orderRounds              = 20

	hourTime                                  = 10 * time.Minute
	hourReplicas, hourCustomers, hourProfiles = 3, 20, 4
	hourEvents                                = 2_000

	modelScripts = 200
)
