package main

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are those that are counted as things happen.
type metrics struct {
	responses *prometheus.CounterVec
	errors    prometheus.Counter
	retries   prometheus.Counter
	gaps      prometheus.Counter
}

const namespace = "fastio_relay"

func newMetrics() *metrics {
	m := &metrics{
		responses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "api_responses_total",
			Help: "Responses of the platform by status; 429 are refusals of its rate limits, 0 means none arrived.",
		}, []string{"status"}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "errors_total", Help: "Failures to follow a profile.",
		}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "publish_retries_total", Help: "Batches of events published again.",
		}),
		gaps: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "gaps_total", Help: "Parts of logs in which events may have been missed.",
		}),
	}
	m.responses.WithLabelValues("429") // so that the rate of refusals is 0 and not unknown
	return m
}

// countResponses is a middleware of the client.
func (m *metrics) countResponses(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		status := 0
		if resp != nil {
			status = resp.StatusCode
		}
		m.responses.WithLabelValues(strconv.Itoa(status)).Inc()
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// registry returns all metrics of a replica.
func (m *metrics) registry(s *site) *prometheus.Registry {
	all := prometheus.NewRegistry()
	all.MustRegister(m.responses, m.errors, m.retries, m.gaps, newState(s),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return all
}

// state are the metrics of the latest status.
type state struct {
	site *site

	published, duplicates, connected, held, epoch, messages, newest, lag *prometheus.Desc
}

func newState(s *site) *state {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &state{
		site:       s,
		published:  desc("events_published_total", "Events that this replica has stored."),
		duplicates: desc("events_duplicate_total", "Events that the stream has dropped because it had them."),
		connected:  desc("nats_connected", "1 if NATS is connected."),
		held:       desc("lease_held", "1 if this replica holds the profile.", "profile"),
		epoch:      desc("lease_epoch", "Epoch of the lease of a profile that this replica holds.", "profile"),
		messages:   desc("profile_messages", "Events of a profile in the stream, of all replicas.", "profile"),
		newest: desc("profile_newest_event_timestamp_seconds", "Creation of the newest event of a profile in the stream.",
			"profile"),
		lag: desc("profile_lag_seconds", "Time from the creation of that event until the stream had it.", "profile"),
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
	send(s.published, prometheus.CounterValue, float64(now.Published))
	send(s.duplicates, prometheus.CounterValue, float64(now.Duplicates))
	send(s.connected, prometheus.GaugeValue, flag(s.site.nc.IsConnected()))
	for _, p := range now.Profiles {
		send(s.held, prometheus.GaugeValue, flag(p.Here), p.Profile)
		send(s.messages, prometheus.GaugeValue, float64(p.Messages), p.Profile)
		if p.Here {
			send(s.epoch, prometheus.GaugeValue, float64(p.Epoch), p.Profile)
		}
		if !p.Newest.IsZero() {
			send(s.newest, prometheus.GaugeValue, float64(p.Newest.Unix()), p.Profile)
			send(s.lag, prometheus.GaugeValue, p.Lag, p.Profile)
		}
	}
}
