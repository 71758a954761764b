package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/relay"
)

// site serves the state of a replica.
type site struct {
	follower *relay.Follower
	stream   relay.Stream
	nc       *nats.Conn
	name     string
	profiles []api.Profile
	metrics  *metrics

	mu     sync.Mutex
	latest status
}

// status is the state of all profiles, as one replica knows it.
type status struct {
	Replica    string    `json:"replica"`
	Time       time.Time `json:"time"`
	Connected  bool      `json:"connected"` // to NATS
	Ready      bool      `json:"ready"`
	Published  uint64    `json:"published"`  // by this replica
	Duplicates uint64    `json:"duplicates"` // of this replica
	Profiles   []profile `json:"profiles"`
}

// profile is the state of one profile. Its messages are those of all replicas.
type profile struct {
	Profile  string    `json:"profile"`
	Holder   string    `json:"holder"` // name of a replica; "" means none or unknown
	Here     bool      `json:"here"`
	Epoch    uint64    `json:"epoch,omitzero"`  // if Here
	Messages uint64    `json:"messages"`        // in the stream
	Rate     float64   `json:"rate"`            // messages a second
	Newest   time.Time `json:"newest,omitzero"` // creation of the newest event in the stream
	Lag      float64   `json:"lag"`             // seconds from then until the stream had it
}

const watchInterval = 2 * time.Second

// watch collects the status until ctx is done.
func (s *site) watch(ctx context.Context, logger *slog.Logger) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		if err := s.collect(ctx); err != nil && ctx.Err() == nil {
			logger.DebugContext(ctx, "the status is not known", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// collect replaces the latest status. What NATS does not tell is left as it was.
func (s *site) collect(ctx context.Context) error {
	stats := s.follower.Stats()
	before := s.status()
	now := status{
		Replica: s.name, Time: time.Now().UTC(), Connected: s.nc.IsConnected(), Published: stats.Published,
		Duplicates: stats.Duplicates,
	}
	now.Ready = now.Connected && len(stats.Holders) > 0
	held := map[api.Profile]relay.Held{}
	for _, h := range stats.Held {
		held[h.Profile] = h
	}
	for i, p := range s.profiles {
		row := profile{Profile: string(p.Kind) + ":" + string(p.ID), Holder: stats.Holders[p.String()]}
		if len(before.Profiles) > 0 {
			was := before.Profiles[i]
			row.Messages, row.Newest, row.Lag = was.Messages, was.Newest, was.Lag
		}
		if h, here := held[p]; here {
			row.Here, row.Epoch, row.Holder = true, h.Epoch, s.name
		}
		now.Profiles = append(now.Profiles, row)
	}
	err := s.measure(ctx, before, &now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = now
	return err
}

// measure reads the numbers of messages and the newest ones from the stream.
func (s *site) measure(ctx context.Context, before status, now *status) error {
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	stream, err := s.stream.JetStream.Stream(ctx, s.stream.Name)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(s.stream.Prefix+".>"))
	if err != nil {
		return err
	}
	counts := map[string]uint64{}
	for subject, n := range info.State.Subjects {
		if parts := strings.Split(strings.TrimPrefix(subject, s.stream.Prefix+"."), "."); len(parts) == 3 {
			counts[parts[0]+":"+parts[1]] += n
		}
	}
	for i := range now.Profiles {
		row := &now.Profiles[i]
		was := row.Messages
		row.Messages = counts[row.Profile]
		if passed := now.Time.Sub(before.Time).Seconds(); len(before.Profiles) > 0 && row.Messages > was {
			row.Rate = float64(row.Messages-was) / passed
		}
		if row.Messages == 0 || row.Messages == was && !row.Newest.IsZero() {
			continue
		}
		msg, err := stream.GetLastMsgForSubject(ctx, s.stream.Prefix+"."+strings.Replace(row.Profile, ":", ".", 1)+".>")
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		var event struct {
			Created api.Time `json:"created"`
		}
		if err := json.Unmarshal(msg.Data, &event); err != nil {
			return err
		}
		row.Newest, row.Lag = event.Created.Time, max(0, msg.Time.Sub(event.Created.Time).Seconds())
	}
	return nil
}

func (s *site) status() status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

var (
	//go:embed page.html
	pageHTML []byte
	//go:embed page.css
	pageCSS []byte
	//go:embed page.js
	pageJS []byte
	//go:embed page.svg
	pageSVG []byte
)

func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	file := func(kind string, content []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			_, _ = w.Write(content)
		}
	}
	mux.Handle("GET /{$}", file("text/html", pageHTML))
	mux.Handle("GET /page.css", file("text/css", pageCSS))
	mux.Handle("GET /page.js", file("text/javascript", pageJS))
	mux.Handle("GET /page.svg", file("image/svg+xml", pageSVG))
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.status())
	})
	mux.Handle("GET /healthz", file("text/plain", []byte("ok\n")))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if now := s.status(); !now.Ready || !s.nc.IsConnected() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready\n"))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry(s), promhttp.HandlerOpts{}))
	return secure(mux)
}

// secure lets pages load nothing from elsewhere, and be part of no other page.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
			"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
