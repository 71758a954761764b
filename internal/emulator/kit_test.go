package emulator_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the clock of a platform starts.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// newScript returns the platform of the scripts for a test in Go, after the first scenario of a file if there is one.
func newScript(tb testing.TB, file string, change ...func(*seed.Options)) *scripted {
	tb.Helper()
	steps, err := readWorld("world.txt", nil)
	if err != nil {
		tb.Fatal(err)
	}
	if file != "" {
		steps = readScripts(tb, "testdata/scripts/"+file)[0].steps
	}
	p, err := newScripted(tb.Context(), steps, change...)
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range steps {
		p.must(tb, s.text)
	}
	tb.Cleanup(func() {
		if p.net == nil {
			return
		}
		p.net.stop()
		if p.Sockets() != 0 {
			tb.Errorf("%d sockets outlive their server", p.Sockets())
		}
	})
	return p
}

func (p *scripted) must(tb testing.TB, steps ...string) {
	tb.Helper()
	for _, step := range steps {
		if err := p.do(step); err != nil {
			tb.Errorf("%.200s: %v", step, err)
		}
	}
}

// fork has names of its own.
func (p *scripted) fork() *scripted {
	q := *p
	q.names, q.macros = maps.Clone(p.names), maps.Clone(p.macros)
	q.added, q.keys = maps.Clone(p.added), maps.Clone(p.keys)
	return &q
}

// within returns p with requests that are given up after a while.
func (p *scripted) within(d time.Duration) (q *scripted, cancel context.CancelFunc) {
	q = p.fork()
	q.ctx, cancel = context.WithTimeout(p.ctx, d)
	return q, cancel
}

// id returns the id of what was added by a name.
func (p *scripted) id(name string) string { return p.names[name].(string) }

// raw returns a request of a script.
func (p *scripted) raw(ctx context.Context, tb testing.TB, text string) *http.Request {
	tb.Helper()
	r, err := p.request(p.asked(tb, text))
	if err != nil {
		tb.Fatal(err)
	}
	return r.WithContext(ctx)
}

func (p *scripted) asked(tb testing.TB, text string) *asked {
	tb.Helper()
	asked, err := p.parse(p.macro(text))
	if err != nil {
		tb.Fatal(err)
	}
	return asked
}

// reply sends a request of a script.
func (p *scripted) reply(tb testing.TB, text string) answer {
	tb.Helper()
	a, err := p.send(p.asked(tb, text))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// page is a page of a search, or of the change feed.
type page struct {
	Events     []map[string]any `json:"events"`
	Changes    []map[string]any `json:"changes"`
	HasMore    bool             `json:"has_more"`
	Cursor     string           `json:"cursor"`
	Pagination struct {
		HasMore    bool   `json:"has_more"`
		NextCursor string `json:"next_cursor"`
	} `json:"pagination"`
}

// list sends a request of a script, which must succeed.
func (p *scripted) list(tb testing.TB, text string) (found page) {
	tb.Helper()
	a := p.reply(tb, text)
	if err := json.Unmarshal(a.json, &found); err != nil || a.status != http.StatusOK {
		tb.Fatalf("%s: %d %s", text, a.status, a.body)
	}
	return found
}

// search returns a page of a search of Ada's.
func (p *scripted) search(tb testing.TB, query string) page {
	tb.Helper()
	return p.list(tb, "ada GET /events/search/?limit=250&"+query)
}

// idsOf returns the ids of events.
func idsOf(events []map[string]any) (ids []string) {
	for _, e := range events {
		ids = append(ids, e["event_id"].(string))
	}
	return ids
}

// serve serves a platform over connections in memory until stop.
func serve(ctx context.Context, s *emulator.Server) (client *http.Client, stop func()) {
	listener, server := s.Listen(), &http.Server{Handler: s}
	end := s.Attach(ctx, server)
	go server.Serve(listener)
	network := &http.Transport{DialContext: listener.DialContext}
	return &http.Client{Transport: network}, func() {
		network.CloseIdleConnections()
		end()
	}
}
