package storetest

import (
	"testing"
	"time"
)

// RunFor is Run with another longest wait of a test.
func RunFor(t *testing.T, open func(t *testing.T) Fixture, longest time.Duration) {
	t.Helper()
	runTests(t, open, longest)
}
