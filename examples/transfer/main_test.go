package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/examples/internal/kit"
)

// The test binary is the program too, whose processes have the address of the emulator.
func TestMain(m *testing.M) {
	if os.Getenv("FASTIO_BASE_URL") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Processes are killed within an upload and a download, which the next ones continue.
func TestTransferContinuesAfterKill(t *testing.T) {
	kit.Unconfigured(t)
	t.Setenv("TMPDIR", t.TempDir())
	var out, screen bytes.Buffer
	if err := demonstrate(t.Context(), &out, &screen); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), screen.String())
	}
	kit.Says(t, out.String(), "running against an emulator", "An upload that is killed", "A download that is killed",
		"The copy has the same SHA-256")
	sent := regexp.MustCompile(`8 chunks; (\d+) were sent`).FindStringSubmatch(out.String())
	if n, err := strconv.Atoi(sent[1]); err != nil || n < 8 || n > 11 { // three are under way when it is killed
		t.Errorf("%d chunks were sent: %v", n, err)
	}
	runs := strings.Split(strings.Trim(screen.String(), "\n"), "\n")
	first := regexp.MustCompile(`^\r  transfer +(\d+) %`).FindStringSubmatch(runs[len(runs)-1])
	if len(first) != 2 || len(first[1]) != 2 || first[1] < "35" { // 24 of 64 MiB
		t.Errorf("the second download begins at %q", first)
	}
}
