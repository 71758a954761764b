package main

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/fastiotest/op"
	"github.com/fastio-go/fastio/fastiotest/seed"
)

// A test inside a synctest bubble does not wait for retries and rate limits.
func TestReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := fastiotest.New()
		design := server.AddWorkspace(seed.Workspace{Name: "Design"})
		server.AddEvent(seed.Event{Name: "comment_created", Workspace: design.ID})
		server.Fail(seed.Fault{Op: op.EventsSearch, Count: 2, Status: http.StatusServiceUnavailable})
		text, err := report(t.Context(), server.Client(t))
		if err != nil || text != "Design: 1\n" {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

// A refusal because of a rate limit is waited for.
func TestReportWaitsForTheRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, start := fastiotest.New(), time.Now()
		full := seed.Fault{Op: op.WorkspacesList, Count: 1, Status: http.StatusTooManyRequests}
		full.Header = http.Header{"Retry-After": {"20"}}
		server.Fail(full)
		text, err := report(t.Context(), server.Client(t))
		if err != nil || text != "" || time.Since(start) < 20*time.Second {
			t.Errorf("got %q, %v after %s", text, err, time.Since(start))
		}
	})
}

// Responses are recorded once, here of the emulator, and replayed without it.
func TestReportReplayed(t *testing.T) {
	t.Parallel()
	server, dir := fastiotest.New(), t.TempDir()
	server.AddWorkspace(seed.Workspace{Name: "Design"})
	transport := &http.Client{Transport: fastiotest.Record(dir, server)}
	recorded, err := report(t.Context(), server.Client(t, fastio.WithHTTPClient(transport)))
	if err != nil {
		t.Fatal(err)
	}
	client, err := fastio.New(fastiotest.Replay(t, dir)...)
	if err != nil {
		t.Fatal(err)
	}
	replayed, err := report(t.Context(), client)
	if err != nil || replayed != recorded {
		t.Errorf("got %q, %v, want %q", replayed, err, recorded)
	}
}

// The responses are those of the test, not of the emulator.
func TestReportOfFakeResponses(t *testing.T) {
	t.Parallel()
	server := fastiotest.New()
	server.Fail(seed.Fault{Op: op.WorkspacesList, Body: `{"result": true, "workspaces": [
		{"id": "4012345678901234567", "name": "Odd, 2026"}]}`})
	server.Fail(seed.Fault{Op: op.EventsSearch, Body: `{"result": true, "pagination": {"has_more": false},
		"events": [{"event_id": "a"}, {"event_id": "b"}]}`})
	text, err := report(t.Context(), server.Client(t))
	if err != nil || text != "Odd, 2026: 2\n" {
		t.Errorf("got %q, %v", text, err)
	}
}
