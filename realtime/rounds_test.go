//go:build !soak

package realtime_test

// How often the long tests repeat; many times more under the tag soak.
const (
	schedules = 300
	crowd     = 500
)
