//go:build soak

package events_test

const (
	crashSchedules = 10_000
	kills          = 500
)
