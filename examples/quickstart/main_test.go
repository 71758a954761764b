package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The program as a whole, on a real socket and at the published rates.
func TestQuickstartRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	for _, name := range []string{"FASTIO_TOKEN", "FASTIO_API_KEY", "FASTIO_BASE_URL"} {
		t.Setenv(name, "")
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, 3*time.Second); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"Signed in as Ada Lovelace", "Design", "Research", "Sales",
		"interrupted after 1100 events", "By category", "By day", "Most active", "A comment arrived by",
		"Following live events", "refused 0 for their rate",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	if live := strings.Count(out.String(), "Ada Lovelace "); live < 2 {
		t.Errorf("%d live events were printed, want some:\n%s", live, out.String())
	}
}
