//go:build soak

package transport_test

const (
	faultSchedules = 200_000
	walkHours      = 24
)
