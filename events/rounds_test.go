//go:build !soak

package events_test

// How often the long tests repeat; many times more under the tag soak.
const (
	crashSchedules = 400
	shortDay       = 3 // hours
	kills          = 10
)
