package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/relay"
)

// site serves the state of a replica that follows profiles.
type site struct {
	*program

	follower *relay.Follower
	probe    prober

	mu      sync.Mutex
	latest  status
	history []sample // of the last minute
}

// condition is what every replica serves of itself.
type condition struct {
	Replica    string    `json:"replica"`
	Time       time.Time `json:"time"`
	Connected  bool      `json:"connected"` // to NATS
	Ready      bool      `json:"ready"`
	Reasons    []string  `json:"reasons"`    // why it is not ready
	Problems   []string  `json:"problems"`   // what an operator should know although it may be ready
	Platform   bool      `json:"platformUp"` // the latest request had a response
	Wait       float64   `json:"wait"`       // seconds until the last search that waits for a rate limit
	Published  uint64    `json:"published"`  // by this replica
	Duplicates uint64    `json:"duplicates"` // of this replica

	refused int           // see platformState
	offset  time.Duration // of the local clock from that of the platform
	stream  streamFigures
	view    relay.ViewStats
}

// status is the state of all profiles, as one replica knows it.
type status struct {
	condition

	Profiles []profile `json:"profiles"`

	interval time.Duration // of searches at rest
}

// profile is the state of one profile. Its messages are those of all replicas. Lag,
// LastSuccess, Pending and Error are known if this replica or none holds the profile.
type profile struct {
	Profile     string    `json:"profile"`
	Holder      string    `json:"holder"` // name of a replica; "" means none or unknown
	Here        bool      `json:"here"`
	Epoch       uint64    `json:"epoch,omitzero"`  // if Here
	Messages    uint64    `json:"messages"`        // in the stream
	Rate        float64   `json:"rate"`            // messages a second, of the last minute
	Newest      time.Time `json:"newest,omitzero"` // creation of the newest event in the stream
	Lag         float64   `json:"lag"`             // seconds since the stream had every visible event
	LastSuccess float64   `json:"lastSuccess"`     // seconds since a checkpoint, or no new event
	Pending     int       `json:"pending"`         // events that were read and are not stored
	DeadLetters uint64    `json:"deadLetters"`     // events that were too large for NATS
	Error       string    `json:"error"`           // why events are not stored; "" if nothing failed since LastSuccess

	hidden bool      // from the credential
	began  time.Time // since when mayBeOurs has held

	storedHere uint64 // messages that this replica has stored since it holds the profile
}

// mayBeOurs reports whether this replica holds the profile, or no replica is known to hold it.
func (p *profile) mayBeOurs() bool { return p.Here || p.Holder == "" }

// sample is the number of messages of each profile at a time.
type sample struct {
	time   time.Time
	counts []count
}

type count struct {
	here     bool
	messages uint64 // here: stored since the profile is held here; otherwise: in the stream
}

const (
	looks         = 15 // statuses that are collected in the time of patience
	watchTimeout  = 2 * time.Second
	ratePeriod    = time.Minute
	mostConsumers = 900 // of the stream, of 1,000 that NATS allows
	mostOffset    = 30 * time.Second
)

// statusInterval is the time after which a replica collects its status again.
func (p *program) statusInterval() time.Duration { return p.patience / looks }

// watch collects the status again and again until ctx is done.
func (s *site) watch(ctx context.Context) {
	tick := time.NewTicker(s.statusInterval())
	defer tick.Stop()
	for {
		if err := s.collect(ctx); err != nil && ctx.Err() == nil {
			s.logger.DebugContext(ctx, "the status is not known", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// collect replaces the latest status twice: first with what this replica knows, and then with the
// new numbers from NATS, too. If NATS cannot be reached, the numbers of the previous status stay,
// and collect returns an error.
func (s *site) collect(ctx context.Context) error {
	before := s.status()
	now := s.localStatus(before)
	s.mu.Lock()
	s.latest = now
	s.mu.Unlock()
	// The probe tests whether NATS can be written, if the follower has not written for some time. As that may take
	// seconds, the first status does not wait for it: the result is among the reasons of the next call.
	s.probe.run(ctx, s.follower.Stats().Confirmed, now.Time)
	now.Profiles = slices.Clone(now.Profiles) // those in latest, which is being served, must not change
	err := s.measure(ctx, &now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = now
	return err
}

// localStatus returns the status as far as this replica knows it without a request. The figures of
// the stream are those of the status before. If there are Reasons, the replica is not ready; Problems
// are only shown.
func (s *site) localStatus(before status) status {
	stats, states := s.follower.Stats(), s.follower.Status()
	platform := s.metrics.platform.state(s.patience)
	now := status{interval: s.logs.FollowInterval()}
	now.condition = condition{
		Replica: s.name, Time: time.Now().UTC(), Connected: s.nats.IsConnected(), Platform: platform.up,
		Published: stats.Published, Duplicates: stats.Duplicates, refused: platform.refused, offset: platform.offset,
		stream: before.stream, view: stats.View, Reasons: []string{}, Problems: []string{},
	}
	now.Profiles = s.localProfiles(stats, states, before.Profiles, now.Time)
	now.Wait = max(0, s.latestWait().Sub(now.Time).Seconds())
	now.Reasons = append(now.Reasons, s.whyNotReady(stats, states, platform, now.Time)...)
	now.Problems = append(now.Problems, now.problems(stats.Err, s.nats.latestRefusal())...)
	now.Ready = len(now.Reasons) == 0
	return now
}

// whyNotReady returns why the replica is not ready: it cannot write to NATS, stores no events, or its
// credential is refused.
func (s *site) whyNotReady(
	stats relay.Stats, states []relay.ProfileStatus, platform platformState, now time.Time,
) []string {
	all := s.reasons(&s.probe, confirmation{stats.Confirmed, stats.Err}, now)
	if err := unpublished(states, now.Add(-s.patience)); err != nil {
		all = append(all, err.Error())
	}
	if !platform.accepted && platform.refused != 0 {
		const text = "the platform refuses the credential, or access to all profiles, with status %d"
		all = append(all, fmt.Sprintf(text, platform.refused))
	}
	return all
}

// localProfiles returns the profiles for localStatus, in the order of states. The argument before has the
// profiles of the previous status, nil if there was none. They have the same order, because the profiles
// of a Follower do not change.
func (s *site) localProfiles(
	stats relay.Stats, states []relay.ProfileStatus, before []profile, now time.Time,
) (all []profile) {
	held := map[api.Profile]relay.Held{}
	for _, h := range stats.Held {
		held[h.Profile] = h
	}
	for i, state := range states {
		var was profile
		if len(before) > 0 {
			was = before[i]
		}
		p := profile{
			Profile: nameOf(state.Profile), Holder: stats.Holders[state.Profile.String()], DeadLetters: state.DeadLetters,
			Messages: was.Messages, Newest: was.Newest, Rate: was.Rate,
		}
		if h, here := held[state.Profile]; here {
			p.Here, p.Epoch, p.Holder, p.storedHere = true, h.Epoch, s.name, h.Published
		}
		if p.mayBeOurs() { // else only the other holder knows its progress
			p.began = cmp.Or(was.began, now)
			p.setProgress(state, s.metrics.waitingUntil(state.Profile), now)
		}
		if err := s.visible.err(state.Profile); err != nil && p.Here {
			p.hidden, p.Error = true, "the platform does not show it to the credential: "+err.Error()
		}
		all = append(all, p)
	}
	return all
}

// held returns the profiles that this replica holds.
func (s *site) held() (all []api.Profile) {
	for _, h := range s.follower.Stats().Held {
		all = append(all, h.Profile)
	}
	return all
}

// setProgress sets how far behind the profile is, and why its events are not stored now: the
// latest failure, or that its searches wait for a rate limit until a time.
func (p *profile) setProgress(s relay.ProfileStatus, waitsUntil, now time.Time) {
	since := func(t time.Time) float64 {
		if t.IsZero() {
			t = p.began
		}
		return max(0, now.Sub(t).Seconds())
	}
	p.Lag, p.LastSuccess, p.Pending = since(s.CaughtUp), since(s.LastSuccess), s.Pending
	switch {
	case s.Err != nil:
		p.Error = s.Err.Error()
	case waitsUntil.After(now):
		p.Error = "waits for the rate limit of searches"
	}
}

// latestWait returns when the last of the searches that wait for a rate limit may start. If none
// waits, that is zero or in the past.
func (s *site) latestWait() (latest time.Time) {
	for _, p := range s.profiles {
		latest = later(latest, s.metrics.waitingUntil(p))
	}
	if s.limits == nil {
		return latest
	}
	for _, w := range s.limits.Waits() {
		if w.Group == searchGroup {
			latest = later(latest, w.Until)
		}
	}
	return latest
}

// measure adds to a status what the stream holds: of each profile, the number of messages,
// the newest one and the rate.
func (s *site) measure(ctx context.Context, now *status) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	if err := now.stream.read(ctx, s.stream); err != nil {
		return err
	}
	stream, err := s.stream.JetStream.Stream(ctx, s.stream.Name)
	if err != nil {
		return err
	}
	messages, err := s.countMessages(ctx, stream)
	if err != nil {
		return err
	}
	counts := make([]count, len(now.Profiles))
	for i := range now.Profiles {
		row := &now.Profiles[i]
		was := row.Messages
		row.Messages = messages[row.Profile]
		counts[i] = count{messages: row.Messages}
		if row.Here {
			counts[i] = count{here: true, messages: row.storedHere} // which does not fall when messages expire
		}
		// An equal number is taken as no change. If one message has expired and another was stored, that is
		// wrong until the number changes.
		isUnchanged := row.Messages == was && !row.Newest.IsZero()
		if row.Messages == 0 || isUnchanged {
			continue
		}
		if err := s.readNewest(ctx, stream, row); err != nil {
			return err
		}
	}
	s.rates(now, counts)
	return nil
}

// countMessages returns the numbers of messages in the stream, by profile.
func (s *site) countMessages(ctx context.Context, stream jetstream.Stream) (map[string]uint64, error) {
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(s.stream.Prefix+".>"))
	if err != nil {
		return nil, err
	}
	messages := map[string]uint64{}
	for subject, n := range info.State.Subjects {
		parts := strings.Split(strings.TrimPrefix(subject, s.stream.Prefix+"."), ".")
		if len(parts) == 3 { // kind, ID and category of an event
			messages[parts[0]+":"+parts[1]] += n
		}
	}
	return messages, nil
}

// readNewest sets Newest of a profile to the creation of its newest event in the
// stream.
func (s *site) readNewest(ctx context.Context, stream jetstream.Stream, row *profile) error {
	msg, err := stream.GetLastMsgForSubject(ctx, s.stream.Prefix+"."+strings.Replace(row.Profile, ":", ".", 1)+".>")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var event struct {
		Created api.Time `json:"created"`
	}
	err = json.Unmarshal(msg.Data, &event)
	row.Newest = event.Created.Time
	return err
}

// rates adds counts to the history, and computes the rate of each profile in the last minute: its
// growth since the oldest count that can be compared with the present one. Counts of what this replica
// has stored are not compared with counts of the messages in the stream. If the earlier count is the
// larger one, messages have expired since: it is left out, too.
func (s *site) rates(now *status, counts []count) {
	s.history = append(s.history, sample{now.Time, counts})
	historyPeriod := ratePeriod + s.statusInterval() // so that the oldest sample is at least ratePeriod old
	for now.Time.Sub(s.history[0].time) > historyPeriod {
		s.history = s.history[1:]
	}
	for i := range now.Profiles {
		row := &now.Profiles[i]
		row.Rate = 0
		for _, old := range s.history {
			was, is := old.counts[i], counts[i]
			isComparable := was.here == is.here && was.messages <= is.messages
			isEarlier := old.time.Before(now.Time) // not the sample of now itself
			if isComparable && isEarlier {
				row.Rate = float64(is.messages-was.messages) / now.Time.Sub(old.time).Seconds()
				break
			}
		}
	}
}

// status returns the latest status.
func (s *site) status() status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

// figures returns the numbers of the latest status.
func (s *site) figures() *figures {
	now := s.status()
	f := &figures{
		ready: now.Ready, connected: now.Connected, platform: now.Platform, offset: now.offset,
		wait: seconds(now.Wait), stream: now.stream, view: now.view, counts: relay.Counts{Published: now.Published, Duplicates: now.Duplicates},
		ofProfiles: &profileFigures{refused: now.refused != 0, interval: now.interval},
	}
	for _, p := range now.Profiles {
		switch {
		case p.Here:
			f.followed++
		case p.Holder == "":
			f.unfollowed++
		}
		if p.hidden { // the platform does not show it to the credential
			f.ofProfiles.hidden++
		}
		if p.mayBeOurs() { // if another replica holds it, only that one knows its progress
			f.pending += p.Pending
			f.searches.Add(seconds(p.LastSuccess))
			f.ofProfiles.lag = max(f.ofProfiles.lag, seconds(p.Lag))
		}
	}
	return f
}

// seconds returns a number of seconds as a duration.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// notReady returns why the replica is not ready.
func (s *site) notReady() []string { return s.status().Reasons }

// routes adds the page and the status.
func (s *site) routes(mux *http.ServeMux) {
	mux.Handle("GET /{$}", file("text/html", pageHTML))
	mux.Handle("GET /page.js", file("text/javascript", pageJS))
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.status()) })
}

// run follows the profiles until ctx is done.
func (s *site) run(ctx context.Context) error { return s.follower.Run(ctx) }

// background returns the functions that collect the status and check which profiles the credential
// may see, until ctx is done.
func (s *site) background() []func(ctx context.Context) {
	return []func(ctx context.Context){s.watch, func(ctx context.Context) { s.visible.run(ctx, s.patience, s.held) }}
}
