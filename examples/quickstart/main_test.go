package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
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

var update = flag.Bool("update", false, "write the output in the README")

// The README shows what the program prints about the event log, but for the days. The clock of
// the test is that of no machine.
func TestReadmeShowsTheOutput(t *testing.T) { //nolint:paralleltest // it may write the README
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, time.November, 27, 12, 0, 0, 0, time.UTC)))
		server, _ := platform()
		p := &program{out: &out, screen: io.Discard}
		p.client = server.Client(t, fastio.WithHTTPClient(server.StartInMemory(t)))
		if err := p.run(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	})
	_, walk, walked := strings.Cut(out.String(), "\nWalking")
	log, rest, counted := strings.Cut(walk, "\nBy day")
	_, rest, listed := strings.Cut(rest, "\nMost active")
	active, _, ended := strings.Cut(rest, "\nA comment")
	if !walked || !counted || !listed || !ended {
		t.Fatalf("the output has other parts:\n%s", out.String())
	}
	const begin, end = "<!-- output of examples/quickstart -->\n", "<!-- end of output -->\n"
	file := filepath.Join("..", "..", "README.md")
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, shown, opened := strings.Cut(string(readme), begin)
	shown, after, closed := strings.Cut(shown, end)
	if !opened || !closed {
		t.Fatalf("README.md has no output between %q and %q", begin, end)
	}
	want := "```\nWalking" + log + "\nMost active" + active + "```\n"
	switch {
	case shown == want:
	case !*update:
		t.Errorf("README.md has an old output: go -C examples test ./quickstart -run Readme -update\n%s", want)
	case os.WriteFile(file, []byte(before+begin+want+end+after), 0o600) != nil:
		t.Error("README.md cannot be written")
	}
}
