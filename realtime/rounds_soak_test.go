//go:build soak

package realtime_test

const (
	schedules = 10_000
	crowd     = 10_000
)
