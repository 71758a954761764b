package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/examples/internal/kit"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/seed"
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

// The file has each event once, after runs that ended at any moment.
func TestEachEventOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fastiotest.New()
		room := s.AddWorkspace(seed.Workspace{Name: "Design"})
		s.Generate(seed.History{Workspace: room.ID, Events: 900, To: time.Now().Add(-time.Hour), Seed: 1})
		p := &program{out: io.Discard, client: s.Client(t), workspace: api.ID(room.ID), dir: t.TempDir()}
		file := filepath.Join(p.dir, "events.jsonl")
		for _, after := range []int{1, 249, 250, 251} {
			ctx, interrupt := context.WithCancel(t.Context())
			p.added = func(n int) {
				if n == after {
					interrupt()
				}
			}
			if err := p.run(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("the run that is interrupted after %d events ends with %v", after, err)
			}
			appendText(t, file, `{"description": "`+strings.Repeat("x", 1<<20)) // as a killed process leaves it
		}
		p.added = nil
		complete := func() {
			t.Helper()
			if err := p.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			requireAll(t, p, file)
		}
		complete()
		if err := os.RemoveAll(filepath.Join(p.dir, "checkpoints")); err != nil { // the file is ahead of its checkpoint
			t.Fatal(err)
		}
		complete()
		time.Sleep(24 * time.Hour)
		s.AddEvent(seed.Event{Name: "comment_created", Workspace: room.ID})
		time.Sleep(time.Minute)
		complete()
	})
}

func appendText(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(file, text)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// requireAll requires that the file has each event of the log once.
func requireAll(t *testing.T, p *program, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[api.OpaqueID]int{}
	for line := range strings.Lines(string(text)) {
		var e events.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		lines[e.ID]++
	}
	total := 0
	for e, err := range p.client.Events.All(t.Context(), events.Query{Profile: api.Workspace(p.workspace)}) {
		if err != nil {
			t.Fatal(err)
		}
		total++
		if lines[e.ID] != 1 {
			t.Errorf("event %s is in the file %d times", e.ID, lines[e.ID])
		}
	}
	if total != len(lines) || total < 900 {
		t.Errorf("the log has %d events, the file %d", total, len(lines))
	}
}

// A run while another one writes would corrupt the file.
func TestSecondRunFails(t *testing.T) {
	t.Parallel()
	p := &program{out: io.Discard, dir: t.TempDir()}
	first, err := openJournal(filepath.Join(p.dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.run(t.Context()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
	if err := first.close(); err != nil {
		t.Error(err)
	}
}

func TestWorkspaceRequired(t *testing.T) {
	t.Setenv("FASTIO_API_KEY", "key")
	if err := (&program{out: io.Discard}).start(t.Context()); err == nil || !strings.Contains(err.Error(), "-workspace") {
		t.Errorf("got %v", err)
	}
}
