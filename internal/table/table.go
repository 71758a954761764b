// Package table runs the rows of a test as parallel subtests, and determines how often
// long tests repeat and which of them are left out.
package table

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
)

// Each runs test for every row.
func Each[T any](t *testing.T, rows map[string]T, test func(t *testing.T, row T)) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, row)
		})
	}
}

// Bubbles runs test for every row, each in its own synctest bubble.
func Bubbles[T any](t *testing.T, rows map[string]T, test func(t *testing.T, row T)) {
	t.Helper()
	Each(t, rows, func(t *testing.T, row T) { //nolint:thelper // it is a test
		synctest.Test(t, func(t *testing.T) { test(t, row) })
	})
}

// Rounds returns how often a long test repeats: long with the build tag soak, else
// short, or a quarter of that under the race detector and with -short.
func Rounds[N int | int64](short, long N) N {
	switch {
	case isSoak():
		return long
	case reduced():
		return max(short/4, 1)
	}
	return short
}

// Large skips a test under the race detector and with -short, unless the build tag soak is
// set. It is for a test that takes long because of its size. Smaller tests must start the
// same goroutines, so that the race detector sees them.
func Large(t *testing.T) {
	t.Helper()
	if reduced() && !isSoak() {
		t.Skip("left out under the race detector and with -short because of its size")
	}
}

func isSoak() bool { return setting("-tags") == "soak" }

// reduced reports whether tests are to be short.
func reduced() bool { return setting("-race") == "true" || testing.Short() }

// setting returns a setting of the build, "" if it is not known.
func setting(key string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}
