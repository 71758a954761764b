package uploads_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/uploads"
)

// Each upload of a long sequence takes half a second more than the platform at most, whether
// or not there are polls left in the hour.
func TestSequenceOfUploadsWaitsForThePlatformOnly(t *testing.T) {
	t.Parallel()
	table.Bubbles(t, map[string]time.Duration{ // for which an upload is assembled, and then stored
		"at once": 100 * time.Millisecond, "soon": 600 * time.Millisecond, "in seconds": 2 * time.Second,
	}, func(t *testing.T, pace time.Duration) {
		s := fastiotest.New(func(o *seed.Options) { o.Uploads.Pace = pace })
		client := s.Client(t)
		room := api.Workspace(api.ID(s.AddWorkspace(seed.Workspace{Name: "Design"}).ID))
		for i := range table.Rounds(700, 700) {
			start := time.Now()
			_, err := client.Uploads.ReaderAt(
				t.Context(), uploads.Target{Profile: room}, fmt.Sprint(i, ".txt"), strings.NewReader("content"), 7, nil)
			if took := time.Since(start); err != nil || took > 2*pace+time.Second/2 {
				t.Fatalf("upload %d took %s: %v", i, took, err)
			}
		}
		polls := 0
		for _, r := range s.Requests() {
			if r.Op == "activity.Poll" {
				polls++
			}
		}
		if pace < time.Second && polls > 0 {
			t.Errorf("%d polls", polls)
		}
	})
}
