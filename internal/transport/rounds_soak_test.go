//go:build soak

package transport_test

const (
	faultSchedules = 200_000
	walkHours      = 7 * 24
	cancelRounds   = 1000
	memoryCalls    = 100_000
	pauseDraws     = 10_000
)
