//go:build soak

package emulator_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// A large world takes 600 MB at most, also while it is made.
func TestLargeWorldFitsIntoMemory(t *testing.T) { //nolint:paralleltest // it measures the memory
	const most = 600 << 20
	begin := time.Now()
	s := emulator.New(seed.Options{})
	w := s.GenerateWorld(seed.World{Size: seed.Large})
	made := time.Since(begin)
	extent{seed.Large, 100_000, 25, 1_000_000, 4000, 15_000, 70}.check(t, s, &w)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	sys := m.Sys
	w = seed.File{}
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("made in %v, %d MB from the system, %d MB held", made, sys>>20, m.HeapAlloc>>20)
	if sys > most {
		t.Errorf("%d MB from the system, %d MB held", sys>>20, m.HeapAlloc>>20)
	}
	runtime.KeepAlive(s)
}
