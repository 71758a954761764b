//go:build soak

package relay_test

import "time"

const (
	fleetSize, fleetStep     = 200, 20
	longLogSize, longLogTime = 1_000_000, 9 * time.Hour
	orderRounds              = 400

	hourTime                                  = time.Hour
	hourReplicas, hourCustomers, hourProfiles = 20, 500, 10
	hourEvents                                = 100_000

	modelScripts = 10_000
)
