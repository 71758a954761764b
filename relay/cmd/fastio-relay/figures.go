package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fastio-go/fastio/relay"
)

// figures are the numbers of the latest status of a replica.
type figures struct {
	ready, connected, platform bool

	offset, wait time.Duration
	stream       streamFigures
	counts       relay.Counts
	pending      int
	searches     relay.SearchAges
	view         relay.ViewStats

	followed, unfollowed int

	ofProfiles *profileFigures // with -profiles
	ofAccounts *accountFigures // without
}

// profileFigures are those of a replica that follows profiles.
type profileFigures struct {
	refused  bool
	hidden   int
	lag      time.Duration
	interval time.Duration // of searches at rest
}

// accountFigures are those of a replica that follows accounts.
type accountFigures struct {
	slots  int
	moves  relay.SlotMoves
	states map[relay.AccountState]int
}

// accountStates returns all states of accounts.
func accountStates() []relay.AccountState {
	return []relay.AccountState{
		relay.AccountNew, relay.AccountFollowing, relay.AccountPaused, relay.AccountNeedsSignIn, relay.AccountFailing,
	}
}

// streamFigures are what NATS says about the stream.
type streamFigures struct {
	consumers int
	bytes     uint64
	messages  uint64
	full      float64 // fraction of the room that is taken, 0 if there is no limit
	dead      uint64  // dead letters
}

// read reads the figures of a stream.
func (f *streamFigures) read(ctx context.Context, s relay.Stream) error {
	stream, err := s.JetStream.Stream(ctx, s.Name)
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	f.consumers, f.bytes, f.messages = info.State.Consumers, info.State.Bytes, info.State.Msgs
	f.full = fractionOf(info.State.Bytes, info.Config.MaxBytes)
	f.full = max(f.full, fractionOf(info.State.Msgs, info.Config.MaxMsgs))
	if info.Config.Discard == jetstream.DiscardOld { // such a stream always has room
		f.full = 0
	}
	if account, err := s.JetStream.AccountInfo(ctx); err == nil {
		f.full = max(f.full, fractionOf(account.Store, account.Limits.MaxStore))
	}
	dead, err := s.JetStream.Stream(ctx, s.Name+"-DEAD")
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err == nil {
		f.dead = dead.CachedInfo().State.Msgs
	}
	return err
}

// fractionOf returns n as a fraction of a limit, 0 if there is none.
func fractionOf(n uint64, limit int64) float64 {
	if limit <= 0 {
		return 0
	}
	return float64(n) / float64(limit)
}

// sender sends the value of a metric, with those of its labels.
type sender func(value float64, labels ...string)

// figure is a metric of the latest status.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	send func(f *figures, send sender)
}

// bit returns 1 for true and 0 for false, as metrics show them.
func bit(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// newFigure describes a metric with labels, which are those of a fixed list.
func newFigure(name, help string, kind prometheus.ValueType, send func(f *figures, send sender), labels ...string) figure {
	return figure{prometheus.NewDesc(namespace+"_"+name, help, labels, nil), kind, send}
}

// gauge describes a metric that may fall.
func gauge(name, help string, value func(f *figures) float64) figure {
	return newFigure(name, help, prometheus.GaugeValue, func(f *figures, send sender) { send(value(f)) })
}

// counter describes a metric that does not fall.
func counter(name, help string, value func(f *figures) float64) figure {
	return newFigure(name, help, prometheus.CounterValue, func(f *figures, send sender) { send(value(f)) })
}

// ofProfiles describes a metric of replicas with -profiles.
func ofProfiles(name, help string, value func(f *profileFigures) float64) figure {
	return newFigure(name, help, prometheus.GaugeValue, func(f *figures, send sender) {
		if f.ofProfiles != nil {
			send(value(f.ofProfiles))
		}
	})
}

// ofAccounts describes a metric of replicas that follow accounts.
func ofAccounts(name, help string, kind prometheus.ValueType, values func(f *accountFigures, send sender), labels ...string) figure {
	return newFigure(name, help, kind, func(f *figures, send sender) {
		if f.ofAccounts != nil {
			values(f.ofAccounts, send)
		}
	}, labels...)
}

// allFigures returns the metrics of the latest status, apart from search_age_seconds.
func allFigures() []figure {
	return slices.Concat(figuresOfReplica(), figuresOfStream(), figuresOfViews(), figuresOfProfiles(), figuresOfAccounts())
}

func figuresOfReplica() []figure {
	return []figure{
		gauge("ready", "1 if this replica can publish; /readyz and /status say why not.", func(f *figures) float64 { return bit(f.ready) }),
		gauge("nats_connected", "1 if NATS is connected.", func(f *figures) float64 { return bit(f.connected) }),
		gauge("platform_up", "1 if the latest request had a response of the platform, 0 also if there is none for 30 seconds.",
			func(f *figures) float64 { return bit(f.platform) }),
		gauge("clock_offset_seconds", "Local clock minus that of the platform, to about a second.",
			func(f *figures) float64 { return f.offset.Seconds() }),
		counter("events_published_total", "Events that this replica has stored.", func(f *figures) float64 { return float64(f.counts.Published) }),
		counter("events_duplicate_total", "Events that the stream has dropped because it had them.",
			func(f *figures) float64 { return float64(f.counts.Duplicates) }),
		gauge("events_pending", "Events that this replica has read and that are not stored.", func(f *figures) float64 { return float64(f.pending) }),
		gauge("oldest_search_seconds", "Largest time since the last successful search of a profile that this replica follows, or should.",
			func(f *figures) float64 { return f.searches.Oldest.Seconds() }),
		gauge("profiles_followed", "Profiles that this replica follows.", func(f *figures) float64 { return float64(f.followed) }),
		gauge("profiles_unfollowed", "Profiles that are not followed although they should be: with -profiles, those that no replica has.",
			func(f *figures) float64 { return float64(f.unfollowed) }),
		gauge("rate_limit_wait_seconds", "Time until the last of the searches that wait for a rate limit is expected to start.",
			func(f *figures) float64 { return f.wait.Seconds() }),
	}
}

func figuresOfStream() []figure {
	return []figure{
		gauge("stream_consumers", "Consumers of the stream; NATS allows 1,000 unless it is configured otherwise.",
			func(f *figures) float64 { return float64(f.stream.consumers) }),
		gauge("stream_messages", "Messages in the stream.", func(f *figures) float64 { return float64(f.stream.messages) }),
		gauge("stream_bytes", "Size of the stream.", func(f *figures) float64 { return float64(f.stream.bytes) }),
		gauge("stream_full_ratio", "Part of the room for the stream that is taken, of its limits and of those of the account of NATS; 0 without a limit.",
			func(f *figures) float64 { return f.stream.full }),
		gauge("dead_letter_messages", "Messages in the stream of dead letters, of replicas and of consumers.",
			func(f *figures) float64 { return float64(f.stream.dead) }),
	}
}

func figuresOfViews() []figure {
	return []figure{
		gauge("replicas", "Replicas in the latest list of them that this replica knows.", func(f *figures) float64 { return float64(f.view.Replicas) }),
		gauge("view_number", "Number of the latest list of the replicas, which grows with each change.", func(f *figures) float64 { return float64(f.view.Number) }),
		gauge("view_age_seconds", "Time since the latest list of the replicas arrived.", func(f *figures) float64 { return viewAge(f.view) }),
		gauge("view_waiting_seconds", "Time for which this replica waits for others before it begins its share of the latest list; 0 if it has begun.",
			func(f *figures) float64 {
				if !f.view.Waiting {
					return 0
				}
				return viewAge(f.view)
			}),
	}
}

// viewAge returns the time since a view arrived, 0 without one.
func viewAge(v relay.ViewStats) float64 {
	if v.Since.IsZero() {
		return 0
	}
	return time.Since(v.Since).Seconds()
}

// figuresOfProfiles returns the metrics that only replicas with -profiles have.
func figuresOfProfiles() []figure {
	return []figure{
		ofProfiles("credential_refused", "With -profiles: 1 from a response with 401 or 403 until a search succeeds.",
			func(f *profileFigures) float64 { return bit(f.refused) }),
		ofProfiles("profiles_hidden", "With -profiles: those that the platform does not show to the credential: searches find nothing.",
			func(f *profileFigures) float64 { return float64(f.hidden) }),
		ofProfiles("lag_seconds", "With -profiles: largest time since the stream had every visible event of a profile.",
			func(f *profileFigures) float64 { return f.lag.Seconds() }),
		ofProfiles("search_interval_seconds", "With -profiles: time between two searches of each profile of this replica at rest.",
			func(f *profileFigures) float64 { return f.interval.Seconds() }),
	}
}

// figuresOfAccounts returns the metrics that only replicas without -profiles have.
func figuresOfAccounts() []figure {
	return []figure{
		ofAccounts("accounts", "Without -profiles: accounts in the share of this replica, by state.", prometheus.GaugeValue,
			func(f *accountFigures, send sender) {
				for _, state := range accountStates() {
					send(float64(f.states[state]), string(state))
				}
			}, "state"),
		ofAccounts("slots", "Without -profiles: slots in the share of this replica, of 4,096.", prometheus.GaugeValue,
			func(f *accountFigures, send sender) { send(float64(f.slots)) }),
		ofAccounts("slot_moves_total", "Without -profiles: slots that this replica has taken and given.", prometheus.CounterValue,
			func(f *accountFigures, send sender) {
				send(float64(f.moves.Taken), "taken")
				send(float64(f.moves.Given), "given")
			}, "direction"),
	}
}

// figuresCollector sends the figures that now returns.
type figuresCollector struct {
	now       func() *figures
	all       []figure
	searchAge *prometheus.Desc
}

// newFiguresCollector returns a collector that sends the figures that now returns.
func newFiguresCollector(now func() *figures) *figuresCollector {
	const help = "Time since the last successful search of each profile that this replica follows or should follow. " +
		"The buckets count the profiles of this moment, not of a period: do not use rate()."
	return &figuresCollector{now, allFigures(), prometheus.NewDesc(namespace+"_search_age_seconds", help, nil, nil)}
}

// Describe sends the descriptions.
func (c *figuresCollector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.all {
		out <- m.desc
	}
	out <- c.searchAge
}

// Collect sends the values.
func (c *figuresCollector) Collect(out chan<- prometheus.Metric) {
	now := c.now()
	for _, m := range c.all {
		m.send(now, func(value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
		})
	}
	// Counts has the number of profiles up to each bound, then that of all.
	buckets, total := map[float64]uint64{}, uint64(0)
	for i, bound := range relay.SearchAgeBounds() {
		buckets[bound.Seconds()] = 0
		if now.searches.Counts != nil {
			buckets[bound.Seconds()] = uint64(now.searches.Counts[i]) //nolint:gosec // not negative
		}
	}
	if n := len(now.searches.Counts); n > 0 {
		total = uint64(now.searches.Counts[n-1]) //nolint:gosec // not negative
	}
	out <- prometheus.MustNewConstHistogram(c.searchAge, total, now.searches.Sum.Seconds(), buckets)
}
