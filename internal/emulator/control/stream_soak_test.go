//go:build soak

package control_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/control"
)

// A reader of the stream costs at most a tenth of the requests a second: 64 clients take
// turns with and without it, for two minutes in all.
func TestStreamCostsLittle(t *testing.T) { //nolint:paralleltest // it measures
	const clients, turns, turn = 64, 120, time.Second
	c := newScene(control.Options{})
	server := httptest.NewServer(c)
	network := &http.Transport{MaxIdleConnsPerHost: clients + 1}
	t.Cleanup(func() {
		network.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	get := func(path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+c.key)
		return network.RoundTrip(r)
	}
	count := func() int64 {
		var done atomic.Int64
		var all sync.WaitGroup
		end := time.Now().Add(turn)
		for range clients {
			all.Go(func() {
				for time.Now().Before(end) {
					p, err := get("/api/current/workspace/" + c.room + "/details/")
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, p.Body)
					p.Body.Close()
					done.Add(1)
				}
			})
		}
		all.Wait()
		return done.Load()
	}
	countRead := func() (requests, bytes int64) {
		p, err := get("/_emulator/stream")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan int64)
		go func() {
			n, _ := io.Copy(io.Discard, p.Body)
			ended <- n
		}()
		requests = count()
		p.Body.Close()
		return requests, <-ended
	}
	var plain, read, bytes int64
	for i := range turns {
		if i%4 == 0 || i%4 == 3 { // so that what was before is the same for both
			plain += count()
			continue
		}
		requests, n := countRead()
		read, bytes = read+requests, bytes+n
	}
	ratio := float64(read) / float64(plain)
	t.Logf("%d requests without a reader, %d with one, which has read %d bytes: %.3f", plain, read, bytes, ratio)
	if ratio < 0.9 || bytes < 1<<20 {
		t.Errorf("a reader leaves %.3f of the requests, want at least 0.9; it has read %d bytes", ratio, bytes)
	}
}
