package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/examples/internal/kit"
)

func TestNightlyRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out bytes.Buffer
	if err := (&program{out: &out}).start(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "running against an emulator", "A run that is interrupted: 100 events added, 100 in all",
		"The next run: 400 events added, 500 in all", "A run after three more events: 3 events added")
}

func TestWorkspaceRequired(t *testing.T) {
	t.Setenv("FASTIO_API_KEY", "key")
	if err := (&program{out: io.Discard}).start(t.Context()); err == nil || !strings.Contains(err.Error(), "-workspace") {
		t.Errorf("got %v", err)
	}
}
