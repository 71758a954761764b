package pace_test

import (
	"math"
	"testing"
	"time"

	"github.com/fastio-go/fastio/internal/pace"
)

// Pauses fill what they may take evenly, so that many clients that fail together
// come back apart.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for failures, limit := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 5: 16 * time.Second,
		6: 30 * time.Second, 7: 30 * time.Second, 10_000: 30 * time.Second, math.MaxInt: 30 * time.Second,
	} {
		const draws = 10_000
		var quarters [4]int
		for range draws {
			d := pace.Backoff(failures)
			if d < 0 || d >= limit {
				t.Fatalf("%d failures: %s, want less than %s", failures, d, limit)
			}
			quarters[4*d/limit]++
		}
		for _, n := range quarters {
			if n < draws/4-400 || n > draws/4+400 { // nine standard deviations
				t.Errorf("%d failures: the quarters got %v", failures, quarters)
			}
		}
	}
}
