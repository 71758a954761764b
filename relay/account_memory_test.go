package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/relay"
)

// oneEvent is a platform whose logs have one old event each. It keeps nothing.
func oneEvent(r *http.Request) (*http.Response, error) {
	body := `{"result": true, "events": [], "pagination": {"has_more": false}}`
	if id := r.URL.Query().Get("workspace_id"); id != "" && !r.URL.Query().Has("created-min") {
		body = fmt.Sprintf(`{"result": true, "events": [{"event_id": "e%s", "event": "workspace_storage_file_added",
			"category": "workspace", "created": "2026-01-01 00:00:00 UTC"}], "pagination": {"has_more": false}}`, id)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}, "Content-Type": {"application/json"}},
	}, nil
}

// atRest is what a replica with accounts at rest takes.
type atRest struct {
	bytes      float64 // of an account, with its profiles
	goroutines int
	cpu        float64 // of a core
	searches   float64 // a second
	writes     float64 // to the bucket, a second
}

// restAccounts follows accounts with some profiles each, and measures that at rest for a time,
// after another.
func restAccounts(tb testing.TB, accounts, profiles int, settle, rest time.Duration) atRest {
	tb.Helper()
	js, _ := connect(tb, startServer(tb))
	a := relay.Accounts{Stream: relay.Stream{JetStream: js}, Keys: newKeys()}
	for i := range accounts {
		account := relay.Account{Name: fmt.Sprint("customer", i), APIKey: api.NewSecret(secretKey)}
		for j := range profiles {
			account.Profiles = append(account.Profiles, api.Workspace(api.ID(fmt.Sprintf("%019d", i*profiles+j))))
		}
		if err := a.Add(tb.Context(), account); err != nil {
			tb.Fatal(err)
		}
	}
	before := runtime.NumGoroutine()
	var searches atomic.Int64
	written := func() float64 {
		bucket, err := js.Stream(tb.Context(), "KV_fastio-relay")
		if err != nil {
			tb.Fatal(err)
		}
		return float64(bucket.CachedInfo().State.LastSeq)
	}
	f := &relay.AccountFollower{
		Accounts: a, HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			searches.Add(1)
			return oneEvent(r)
		})},
		Options: []fastio.Option{fastio.WithBaseURL("http://fastio.localhost")},
		OnError: func(_ context.Context, account string, _ api.Profile, err error) { tb.Error(account, err) },
	}
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	for stored := 0; stored < accounts*profiles; time.Sleep(100 * time.Millisecond) {
		stream, err := js.Stream(tb.Context(), "FASTIO")
		if err != nil {
			continue // it is being created
		}
		info, err := stream.Info(tb.Context(), jetstream.WithSubjectFilter("fastio.events.*.workspace.*.*"))
		if err != nil {
			tb.Fatal(err)
		}
		stored = len(info.State.Subjects)
	}
	time.Sleep(settle)
	r := atRest{searches: -float64(searches.Load()), writes: -written(), cpu: -cpuTime()}
	began := time.Now()
	time.Sleep(rest)
	seconds := time.Since(began).Seconds()
	r.searches = (r.searches + float64(searches.Load())) / seconds
	r.writes = (r.writes + written()) / seconds
	r.cpu = (r.cpu + cpuTime()) / seconds
	running := memory()
	r.goroutines = runtime.NumGoroutine() - before
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		tb.Error(err)
	}
	r.bytes = float64(running-memory()) / float64(accounts)
	return r
}

// An account at rest takes at most 24 KiB, and each of its profiles 8 KiB. The goroutines are
// those of the replica.
func TestMemoryOfAccountsAtRest(t *testing.T) { //nolint:paralleltest // it measures the heap
	const accounts, profiles = 150, 4
	r := restAccounts(t, accounts, profiles, 2*time.Second, 4*time.Second)
	t.Logf("%.1f KiB an account with %d profiles, %d goroutines", r.bytes/1024, profiles, r.goroutines)
	if r.bytes > (24+8*profiles)<<10 || r.goroutines > 50 {
		t.Errorf("%.1f KiB an account, %d goroutines", r.bytes/1024, r.goroutines)
	}
}

// What 10,000 profiles at rest take, of accounts with five profiles each; with -short, 500.
func BenchmarkAccountsAtRest(b *testing.B) {
	const profiles = 5
	accounts, settle, rest := 2000, profiles*17*time.Second, 20*time.Second
	if testing.Short() {
		accounts, settle, rest = 100, 0, time.Second
	}
	for range b.N {
		r := restAccounts(b, accounts, profiles, settle, rest)
		b.ReportMetric(r.bytes/1024, "KiB/account")
		b.ReportMetric(r.bytes*float64(accounts)/(1<<20), "MiB")
		b.ReportMetric(100*r.cpu, "cpu-%")
		b.ReportMetric(r.searches, "searches/s")
		b.ReportMetric(r.writes, "writes/s")
		b.ReportMetric(float64(r.goroutines), "goroutines")
	}
}
