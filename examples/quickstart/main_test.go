package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/examples/internal/kit"
)

// The program as a whole, on a real socket and at the published rates.
func TestQuickstartRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out, screen bytes.Buffer
	if err := (&program{out: &out, screen: &screen}).start(t.Context(), 3*time.Second); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "Signed in as Ada Lovelace", "Design", "Research", "Sales",
		"interrupted after 1100 events", "By category", "By day", "Most active", " (human) ", "A comment arrived by",
		"Following live events", "answered 0 with 429")
	_, most, _ := strings.Cut(out.String(), "Most active")
	most, _, _ = strings.Cut(most, "A comment arrived")
	if ids := regexp.MustCompile(`\d{19}`).FindAllString(most, -1); len(ids) > 0 {
		t.Errorf("IDs are printed in place of names: %v", ids)
	}
	_, resumed, _ := strings.Cut(screen.String(), "\n")
	if !strings.HasPrefix(resumed, "\r  read 1101 events") {
		t.Errorf("the resumed progress begins with %.40q", resumed)
	}
	if live := strings.Count(out.String(), "Ada Lovelace "); live < 2 {
		t.Errorf("%d live events were printed, want some:\n%s", live, out.String())
	}
}
