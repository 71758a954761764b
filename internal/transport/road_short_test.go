//go:build !soak

package transport_test

const (
	faultSchedules = 10_000
	walkHours      = 1
)
