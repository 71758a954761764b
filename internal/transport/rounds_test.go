//go:build !soak

package transport_test

const (
	faultSchedules = 10_000
	walkHours      = 3
	cancelRounds   = 20
	memoryCalls    = 5000
	pauseDraws     = 2000
)
