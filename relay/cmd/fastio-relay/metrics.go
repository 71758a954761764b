package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/relay"
)

// metrics are the counters, which change as things happen. The metrics of the latest status are
// those of figures. Their number does not depend on profiles and accounts: no label names one.
type metrics struct {
	platform  platform
	responses *prometheus.CounterVec
	waits     *prometheus.CounterVec
	errors    *prometheus.CounterVec
	searches  *prometheus.CounterVec
	retries   prometheus.Counter
	gaps      prometheus.Counter
	dead      prometheus.Counter

	mu        sync.Mutex
	waiting   map[api.Profile]time.Time // until when, for the rate limits of searches; of the profiles of -profiles only
	waitUntil time.Time                 // the latest one, of all profiles
	unstored  error                     // the latest failure to publish
	failedAt  time.Time                 // its time
}

const namespace = "fastio_relay"

// What an error is of.
const (
	ofReplica = "replica"
	ofAccount = "account"
	ofProfile = "profile"
)

// Why a search has failed.
const (
	failedPlatform  = "platform" // the platform has failed or is overloaded
	failedLimit     = "rate limit"
	failedAccess    = "access" // the credential was refused, or may not see the profile
	failedTimeout   = "timeout"
	failedNetwork   = "network"
	failedOtherwise = "other"
)

// newMetrics returns counters that begin at 0, for the profiles of -profiles.
func newMetrics(profiles []api.Profile) *metrics {
	options := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}
	}
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		vec := prometheus.NewCounterVec(options(name, help), []string{label})
		for _, value := range values { // so that the rate is 0 and not unknown
			vec.WithLabelValues(value)
		}
		return vec
	}
	m := &metrics{
		responses: counters("api_responses_total",
			"Responses of the platform by HTTP status; 429 are refusals of its rate limits, 0 means that none arrived.", "status", "0", "200", "429"),
		waits: counters("rate_limit_waits_total", "Calls that have waited for a rate limit, by its group.", "group", searchGroup),
		errors: counters("errors_total", "Failures after which a profile or an account was not followed for some time, or of the replica.",
			"of", ofReplica, ofAccount, ofProfile),
		searches: counters("search_failures_total", "Searches that have failed and are retried, by reason.", "reason",
			failedPlatform, failedLimit, failedAccess, failedTimeout, failedNetwork, failedOtherwise),
		retries: prometheus.NewCounter(options("publish_retries_total", "Batches of events that NATS has not stored, and that are published again.")),
		gaps:    prometheus.NewCounter(options("gaps_total", "Parts of logs in which events may have been missed.")),
		dead:    prometheus.NewCounter(options("dead_letters_total", "Events that were too large for NATS, and are stored without their body.")),
		waiting: map[api.Profile]time.Time{},
	}
	for _, p := range profiles {
		m.waiting[p] = time.Time{}
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
		status := "0"
		if resp != nil {
			status = strconv.Itoa(resp.StatusCode)
			if http.StatusText(resp.StatusCode) == "" { // one label for all numbers that HTTP does not define
				status = "other"
			}
		}
		m.responses.WithLabelValues(status).Inc()
		return resp, err
	})
}

// searchGroup is the rate group of searches.
const searchGroup = "events.search"

// hooks returns the hooks of the client, which count the calls that wait for a rate
// limit, and record until when searches wait.
func (m *metrics) hooks() api.Hooks {
	return api.Hooks{OnWait: func(ctx context.Context, e api.WaitEvent) {
		if e.Reason == api.WaitReasonBackoff { // before a retry, and not for a rate limit
			return
		}
		m.waits.WithLabelValues(e.Group).Inc()
		if e.Group != searchGroup {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		until, profile := time.Now().Add(e.Wait), relay.ProfileOf(ctx)
		m.waitUntil = later(m.waitUntil, until)
		if _, listed := m.waiting[profile]; listed { // of -profiles
			m.waiting[profile] = until
		}
	}}
}

// countRetry counts a temporary failure: of a search by its reason, or of publishing. It keeps the
// latest failure to publish, and its time, for publishFailure.
func (m *metrics) countRetry(e api.RetryEvent) {
	if e.Op != relay.OpPublish {
		m.searches.WithLabelValues(reasonOf(e.Err)).Inc()
		return
	}
	m.retries.Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unstored, m.failedAt = e.Err, time.Now()
}

// publishFailure returns the latest failure to publish, nil if there was none after a time.
func (m *metrics) publishFailure(after time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failedAt.Before(after) {
		return nil
	}
	return m.unstored
}

// reasonOf returns why a search has failed.
func reasonOf(err error) string {
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, api.ErrRateLimited):
		return failedLimit
	case errors.Is(err, api.ErrUnauthenticated), errors.Is(err, api.ErrForbidden), errors.Is(err, api.ErrNotFound):
		return failedAccess
	case errors.Is(err, api.ErrUnavailable), errors.Is(err, api.ErrServer):
		return failedPlatform
	case errors.Is(err, context.DeadlineExceeded), isNetwork && network.Timeout():
		return failedTimeout
	case isNetwork, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return failedNetwork
	}
	return failedOtherwise
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

// waitingUntil returns until when the search of a profile of -profiles waits for a rate limit.
func (m *metrics) waitingUntil(p api.Profile) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting[p]
}

// latestWait returns when the last of the searches that wait for a rate limit may start. If none
// waits, that is zero or in the past.
func (m *metrics) latestWait() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waitUntil
}

// registry returns all metrics of a replica. Now returns the latest figures.
func (m *metrics) registry(now func() *figures) *prometheus.Registry {
	all := prometheus.NewRegistry()
	all.MustRegister(m.responses, m.waits, m.errors, m.searches, m.retries, m.gaps, m.dead, newFiguresCollector(now),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return all
}
