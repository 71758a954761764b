package main

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/relay"
)

// metrics are the counters, which change as things happen. The metrics of the latest
// status are those of state.
type metrics struct {
	platform  platform
	responses *prometheus.CounterVec
	waits     *prometheus.CounterVec
	errors    *prometheus.CounterVec
	searches  *prometheus.CounterVec
	retries   *prometheus.CounterVec
	gaps      *prometheus.CounterVec

	mu      sync.Mutex
	waiting map[api.Profile]time.Time // until when, for the rate limits of searches
}

const namespace = "fastio_relay"

// newMetrics returns counters that begin at 0 for every profile.
func newMetrics(profiles []api.Profile) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := &metrics{
		responses: counter("api_responses_total",
			"Responses of the platform by status; 429 are refusals of its rate limits, 0 means none arrived.", "status"),
		waits: counter("rate_limit_waits_total", "Calls that have waited for a rate limit.", "group"),
		errors: counter("errors_total",
			"Failures after which a profile was not followed for some time; without a profile, those of the replica.", "profile"),
		searches: counter("search_failures_total", "Searches that have failed, and are retried.", "profile"),
		retries:  counter("publish_retries_total", "Batches of events published again.", "profile"),
		gaps:     counter("gaps_total", "Parts of logs in which events may have been missed.", "profile"),
		waiting:  map[api.Profile]time.Time{},
	}
	m.responses.WithLabelValues("429") // so that the rate of refusals is 0 and not unknown
	m.errors.WithLabelValues("")
	for _, p := range profiles {
		for _, vec := range []*prometheus.CounterVec{m.errors, m.searches, m.retries, m.gaps} {
			vec.WithLabelValues(nameOf(p))
		}
	}
	return m
}

// nameOf returns the name of a profile as in -profiles, "" for none.
func nameOf(p api.Profile) string {
	if p == (api.Profile{}) {
		return ""
	}
	return string(p.Kind) + ":" + string(p.ID)
}

// countResponses is a middleware of the client that counts responses by status, and
// observes the platform.
func (m *metrics) countResponses(next http.RoundTripper) http.RoundTripper {
	observed := m.platform.observe(next)
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := observed.RoundTrip(r)
		status := 0
		if resp != nil {
			status = resp.StatusCode
		}
		m.responses.WithLabelValues(strconv.Itoa(status)).Inc()
		return resp, err
	})
}

// searchGroup is the rate group of searches.
const searchGroup = "events.search"

// hooks returns the hooks of the client, which count the calls that wait for a rate
// limit, and record until when searches wait.
func (m *metrics) hooks() api.Hooks {
	return api.Hooks{OnWait: func(ctx context.Context, e api.WaitEvent) {
		if e.Reason == api.WaitReasonBackoff {
			return
		}
		m.waits.WithLabelValues(e.Group).Inc()
		if e.Group == searchGroup {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.waiting[relay.ProfileOf(ctx)] = time.Now().Add(e.Wait)
		}
	}}
}

// countedLimits counts the calls that wait for shared limits.
type countedLimits struct {
	*relay.Limits

	metrics *metrics
}

// noWait is how long a call takes that does not wait: it writes to NATS.
const noWait = 500 * time.Millisecond

// Acquire waits until a request of a rate group may be sent, and counts the wait unless
// it was shorter than noWait.
func (l *countedLimits) Acquire(ctx context.Context, group string) error {
	began := time.Now()
	err := l.Limits.Acquire(ctx, group)
	if time.Since(began) > noWait {
		l.metrics.waits.WithLabelValues(group).Inc()
	}
	return err
}

// waitingUntil returns until when the search of a profile waits for a rate limit.
func (m *metrics) waitingUntil(p api.Profile) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting[p]
}

// registry returns all metrics of a replica.
func (m *metrics) registry(s *site) *prometheus.Registry {
	all := prometheus.NewRegistry()
	all.MustRegister(m.responses, m.waits, m.errors, m.searches, m.retries, m.gaps, newState(s),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return all
}

// state are the metrics of the latest status.
type state struct {
	site *site

	ready, connected, up, refused, offset, published, duplicates, wait, interval, consumers *prometheus.Desc

	held, epoch, visible, messages, newest, lag, success, pending, dead *prometheus.Desc // of a profile
}

// newState describes the metrics of the latest status of a site.
func newState(s *site) *state {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, nil, nil)
	}
	ofProfile := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, []string{"profile"}, nil)
	}
	return &state{
		site:       s,
		ready:      desc("ready", "1 if this replica can publish; /readyz and /status say why not."),
		connected:  desc("nats_connected", "1 if NATS is connected."),
		up:         desc("platform_up", "1 if the latest request had a response of the platform, 0 also if there is none for 30 seconds."),
		refused:    desc("credential_refused", "1 if a request was refused with 401 or 403 since the latest search that was not."),
		offset:     desc("clock_offset_seconds", "Local clock minus that of the platform, to about a second."),
		published:  desc("events_published_total", "Events that this replica has stored."),
		duplicates: desc("events_duplicate_total", "Events that the stream has dropped because it had them."),
		wait:       desc("rate_limit_wait_seconds", "Time until the last of the searches that wait for a rate limit is expected to start."),
		interval:   desc("search_interval_seconds", "Time between two searches of each profile of this replica at rest."),
		consumers:  desc("stream_consumers", "Consumers of the stream; NATS allows 1,000 unless it is configured otherwise."),
		held:       ofProfile("lease_held", "1 if this replica holds the profile."),
		epoch:      ofProfile("lease_epoch", "Epoch of the lease of a profile that this replica holds."),
		visible: ofProfile("profile_visible",
			"0 if the platform does not show a profile that this replica holds to the credential: searches find nothing."),
		messages: ofProfile("profile_messages", "Events of a profile in the stream, of all replicas."),
		newest:   ofProfile("profile_newest_event_timestamp_seconds", "Creation of the newest event of a profile in the stream."),
		lag: ofProfile("profile_lag_seconds",
			"Time since the stream had every visible event of a profile that this replica holds, or that has no holder."),
		success: ofProfile("profile_last_success_seconds", "Time since this replica has saved a checkpoint of such a profile, or found no new event."),
		pending: ofProfile("profile_pending_events", "Events of such a profile that were read and are not stored."),
		dead:    ofProfile("dead_letters_total", "Events that were too large for NATS."),
	}
}

// Describe sends the descriptions.
func (s *state) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, out) }

// Collect sends the values.
func (s *state) Collect(out chan<- prometheus.Metric) {
	now := s.site.status()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	flag := func(on bool) float64 {
		if on {
			return 1
		}
		return 0
	}
	send(s.ready, prometheus.GaugeValue, flag(now.Ready))
	send(s.connected, prometheus.GaugeValue, flag(now.Connected))
	send(s.up, prometheus.GaugeValue, flag(now.Platform))
	send(s.refused, prometheus.GaugeValue, flag(now.refused != 0))
	send(s.offset, prometheus.GaugeValue, now.offset.Seconds())
	send(s.published, prometheus.CounterValue, float64(now.Published))
	send(s.duplicates, prometheus.CounterValue, float64(now.Duplicates))
	send(s.wait, prometheus.GaugeValue, now.Wait)
	send(s.interval, prometheus.GaugeValue, now.interval.Seconds())
	send(s.consumers, prometheus.GaugeValue, float64(now.consumers))
	for _, p := range now.Profiles {
		send(s.held, prometheus.GaugeValue, flag(p.Here), p.Profile)
		send(s.messages, prometheus.GaugeValue, float64(p.Messages), p.Profile)
		send(s.dead, prometheus.CounterValue, float64(p.DeadLetters), p.Profile)
		if p.Here {
			send(s.visible, prometheus.GaugeValue, flag(!p.hidden), p.Profile)
			send(s.epoch, prometheus.GaugeValue, float64(p.Epoch), p.Profile)
		}
		if !p.Newest.IsZero() {
			send(s.newest, prometheus.GaugeValue, float64(p.Newest.Unix()), p.Profile)
		}
		if p.ours() {
			send(s.lag, prometheus.GaugeValue, p.Lag, p.Profile)
			send(s.success, prometheus.GaugeValue, p.LastSuccess, p.Profile)
			send(s.pending, prometheus.GaugeValue, float64(p.Pending), p.Profile)
		}
	}
}
