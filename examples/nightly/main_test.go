package main

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

func TestNightlyRunsWithoutConfiguration(t *testing.T) { //nolint:paralleltest // it empties the environment
	kit.Unconfigured(t)
	var out bytes.Buffer
	if err := runNightly(t.Context(), &out, "", ""); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	kit.Says(t, out.String(), "running against an emulator", "A run that is interrupted: 100 events added, 100 in all",
		"The next run: 400 events added, 500 in all", "A run after three more events: 3 events added")
}

// A run over a long log shows on stderr why it does not go on.
func TestNightlyShowsLongWaits(t *testing.T) { //nolint:paralleltest // it replaces the default logger
	var stderr bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&stderr, nil)))
	synctest.Test(t, func(t *testing.T) {
		platform := fastiotest.New()
		room := platform.AddWorkspace(seed.Workspace{Name: "Design"})
		platform.Generate(seed.History{Workspace: room.ID, Events: 4100, Seed: 1}) // 17 searches of 15 in 30 s
		client := platform.Client(t, fastio.WithLogger(slog.Default()))
		if err := appendEvents(t.Context(), client, io.Discard, api.ID(room.ID), t.TempDir(), nil); err != nil {
			t.Fatal(err)
		}
	})
	kit.Says(t, stderr.String(), "level=INFO", "fastio wait", "op=events.Search", "reason=pace", "wait=24.024s")
	if lines := strings.Count(stderr.String(), "\n"); lines > 3 {
		t.Errorf("%d lines are too many:\n%s", lines, stderr.String())
	}
}

func TestWorkspaceRequired(t *testing.T) {
	t.Setenv("FASTIO_API_KEY", "key")
	if err := runNightly(t.Context(), io.Discard, "", ""); err == nil || !strings.Contains(err.Error(), "-workspace") {
		t.Errorf("got %v", err)
	}
}
