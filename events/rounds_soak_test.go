//go:build soak

package events_test

const (
	crashSchedules = 10_000
	shortDay       = 24 // hours
	kills          = 500
)
