//go:build soak

package events_test

const (
	crashSchedules = 30_000 // 10,000 in each order
	shortDay       = 24     // hours
	kills          = 500
)
