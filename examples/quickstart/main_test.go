package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/examples/internal/kit"
)

// The program as a whole, on a real socket and at the published rates.
func TestQuickstartRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out bytes.Buffer
	if err := run(t.Context(), &out, 3*time.Second); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "Signed in as Ada Lovelace", "Design", "Research", "Sales",
		"interrupted after 1100 events", "By category", "By day", "Most active", "A comment arrived by",
		"Following live events", "refused 0 for their rate")
	if live := strings.Count(out.String(), "Ada Lovelace "); live < 2 {
		t.Errorf("%d live events were printed, want some:\n%s", live, out.String())
	}
}
