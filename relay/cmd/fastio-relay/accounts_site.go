package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
	"github.com/fastio-go/fastio/relay"
)

// accountSite serves the state of a replica that follows accounts, and of all accounts. What a
// request costs does not depend on their number.
type accountSite struct {
	*program

	follower *relay.AccountFollower
	overview relay.Overview
	probe    prober
	free     chan struct{} // holds a value for each request for accounts that runs

	mu       sync.Mutex
	latest   accountsStatus
	numbers  relay.AccountStats
	failure  error // the latest one of the replica
	failedAt time.Time
}

// accountsStatus is the state of a replica that follows accounts, and of the others.
type accountsStatus struct {
	condition

	Facts     time.Time                  `json:"facts,omitzero"` // when NATS last said something about accounts and replicas
	Accounts  map[relay.AccountState]int `json:"accounts"`       // of all replicas
	Pending   int                        `json:"pending"`        // events that this replica has read and that are not stored
	Oldest    float64                    `json:"oldest"`         // seconds since the last successful search of the profile that is most behind
	Slots     int                        `json:"slots"`          // of this replica
	Following int                        `json:"following"`      // profiles of this replica
	Replicas  []replicaRow               `json:"replicas"`
}

// replicaRow is a replica.
type replicaRow struct {
	Name     string  `json:"name"`
	Slots    int     `json:"slots"`
	Accounts int     `json:"accounts"`
	Seen     float64 `json:"seen"`    // seconds since its heartbeat, negative if that has expired
	Waiting  bool    `json:"waiting"` // for others, or others for it
}

// accountRow is an account.
type accountRow struct {
	Name     string             `json:"name"`
	State    relay.AccountState `json:"state"`
	Reason   string             `json:"reason,omitzero"`
	Since    time.Time          `json:"since,omitzero"`
	Holder   string             `json:"holder"`
	Profiles int                `json:"profiles"`
	Age      float64            `json:"age"` // of the numbers in seconds, negative if the holder has none
	Oldest   float64            `json:"oldest"`
	Pending  int                `json:"pending"`
	Error    string             `json:"error,omitzero"` // why the holder does not answer
}

// profileRow is a profile of an account.
type profileRow struct {
	Profile  string  `json:"profile"`
	Followed bool    `json:"followed"`
	Age      float64 `json:"age"` // seconds since the last successful search
	Pending  int     `json:"pending"`
	Reason   string  `json:"reason,omitzero"`
}

// page is a page of rows.
type page[T any] struct {
	Replica string    `json:"replica"` // that has answered
	Time    time.Time `json:"time"`
	Rows    []T       `json:"rows"`
	Next    string    `json:"next"` // value of after for the next page, "" for the last one
}

// mostRequests is the number of requests for accounts that are answered at the same time.
const mostRequests = 8

// followAccounts serves the page and follows the accounts of the directory until ctx is done.
func (p *program) followAccounts(ctx context.Context, started func(url string)) error {
	keys, err := p.accountKeys()
	if err != nil {
		return err
	}
	if p.nats.server != nil { // the only replica is this one
		if err := deleteHeartbeats(ctx, p.stream); err != nil {
			return err
		}
	}
	s := &accountSite{program: p, probe: p.newProber(), free: make(chan struct{}, mostRequests)}
	s.follower, s.overview.Stream = s.newFollower(keys), p.stream
	s.collect(ctx) // so that the first request finds a status
	return p.serve(ctx, s, started)
}

// newFollower returns the follower, whose hooks log and count.
func (s *accountSite) newFollower(keys oauth.KeyStore) *relay.AccountFollower {
	options := s.observed()
	if s.baseURL != "" {
		options = append(options, fastio.WithBaseURL(s.baseURL))
	}
	if s.plain {
		options = append(options, fastio.WithPlainHTTP())
	}
	return &relay.AccountFollower{
		Accounts: relay.Accounts{Stream: s.stream, Keys: keys}, Name: s.name, Lease: s.lease, Sockets: s.sockets,
		SignIn: oauth.Config{BaseURL: s.baseURL, ClientID: s.clientID}, Options: options,
		OnError: s.logError, OnRetry: s.logRetry, OnDeadLetter: s.logDeadLetter, OnGap: s.logGap,
	}
}

// logError counts and logs a failure of the replica, of an account or of a profile.
func (s *accountSite) logError(ctx context.Context, account string, profile api.Profile, err error) {
	failure := slog.Any("error", err)
	switch {
	case account == "":
		s.mu.Lock()
		s.failure, s.failedAt = err, time.Now()
		s.mu.Unlock()
		s.metrics.errors.WithLabelValues(ofReplica).Inc()
		s.logger.WarnContext(ctx, "the replica has failed", failure)
	case profile == (api.Profile{}):
		s.metrics.errors.WithLabelValues(ofAccount).Inc()
		s.logger.WarnContext(ctx, "an account is not followed", slog.String("account", account), failure)
	default:
		s.metrics.errors.WithLabelValues(ofProfile).Inc()
		s.logger.WarnContext(ctx, "a profile is not followed", profileAttrs(account, profile), failure)
	}
}

// run follows the accounts until ctx is done.
func (s *accountSite) run(ctx context.Context) error { return s.follower.Run(ctx) }

// background returns the functions that collect the status and read the directory, until ctx is done.
func (s *accountSite) background() []func(ctx context.Context) {
	return []func(ctx context.Context){s.watch, func(ctx context.Context) {
		for ctx.Err() == nil {
			err := s.overview.Run(ctx)
			if ctx.Err() == nil {
				s.logger.WarnContext(ctx, "the accounts cannot be read", slog.Any("error", err))
				select {
				case <-ctx.Done():
				case <-time.After(s.patience):
				}
			}
		}
	}}
}

// watch collects the status again and again until ctx is done.
func (s *accountSite) watch(ctx context.Context) {
	tick := time.NewTicker(s.statusInterval())
	defer tick.Stop()
	for {
		s.collect(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// collect replaces the latest status. Its Reasons say why the replica cannot write to NATS; with one,
// the replica is not ready. Its Problems are only shown. A present failure of the replica is always a
// problem. A reason may name it as the cause too, or a recent failure if nothing fails at present.
func (s *accountSite) collect(ctx context.Context) {
	stats, now := s.follower.Stats(), time.Now().UTC()
	s.probe.run(ctx, stats.Confirmed, now) // a write to NATS, if the last one of the follower was long ago
	next := s.localStatus(stats, s.overview.Stats(), now)
	next.stream = s.status().stream // for the case that NATS does not respond
	measuring, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	if err := next.stream.read(measuring, s.stream); err != nil && ctx.Err() == nil {
		s.logger.DebugContext(ctx, "the stream is not known", slog.Any("error", err))
	}
	presentFailure := stats.Err
	follower := confirmation{stats.Confirmed, cmp.Or(presentFailure, s.recentFailure(now))}
	next.Reasons = append(next.Reasons, s.reasons(&s.probe, follower, now)...)
	unpublished := s.metrics.publishFailure(now.Add(-s.patience))
	next.Problems = append(next.Problems, next.problems(s.nats.latestRefusal(), unpublished, presentFailure)...)
	next.Ready = len(next.Reasons) == 0
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest, s.numbers = next, stats
}

// recentFailure returns the latest failure of the replica, nil if it is older than the time of patience.
func (s *accountSite) recentFailure(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.failedAt) > s.patience {
		return nil
	}
	return s.failure
}

// localStatus returns the status as far as this replica knows it without a request.
func (s *accountSite) localStatus(stats relay.AccountStats, all relay.OverviewStats, now time.Time) accountsStatus {
	platform := s.metrics.platform.state(s.patience)
	next := accountsStatus{
		condition: condition{
			Replica: s.name, Time: now, Connected: s.nats.IsConnected(), Platform: platform.up, Published: stats.Published,
			Duplicates: stats.Duplicates, offset: platform.offset, view: stats.View,
			Wait: max(0, s.metrics.latestWait().Sub(now).Seconds()), Reasons: []string{}, Problems: []string{},
		},
		Facts: all.At, Accounts: all.Accounts, Pending: stats.Pending, Oldest: stats.Searches.Oldest.Seconds(),
		Slots: stats.Slots, Following: stats.Profiles, Replicas: []replicaRow{},
	}
	const expired = -1 // of Seen: there is no heartbeat
	for _, r := range all.Replicas {
		row := replicaRow{Name: r.Name, Slots: r.Slots, Accounts: r.Accounts, Seen: expired, Waiting: r.Waiting}
		if !r.Seen.IsZero() {
			row.Seen = now.Sub(r.Seen).Seconds()
		}
		next.Replicas = append(next.Replicas, row)
	}
	return next
}

// notReady returns why the replica is not ready.
func (s *accountSite) notReady() []string { return s.status().Reasons }

// status returns the latest status.
func (s *accountSite) status() accountsStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

// figures returns the numbers of the latest status.
func (s *accountSite) figures() *figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, n := s.latest, s.numbers
	f := &figures{
		ready: now.Ready, connected: now.Connected, platform: now.Platform, offset: now.offset, wait: seconds(now.Wait),
		stream: now.stream, counts: n.Counts, pending: n.Pending, searches: n.Searches, view: n.View, followed: n.Profiles,
		ofAccounts: &accountFigures{slots: n.Slots, moves: n.Moves, states: n.Accounts},
	}
	// Counts has numbers of profiles by the time since their last search. The last one is the number of all profiles
	// that this replica is to follow. n.Profiles is the number of those that it follows.
	if counts := n.Searches.Counts; len(counts) > 0 {
		toFollow := counts[len(counts)-1]
		f.unfollowed = max(0, toFollow-n.Profiles)
	}
	return f
}

// routes adds the page and the data that it fetches.
func (s *accountSite) routes(mux *http.ServeMux) {
	mux.Handle("GET /{$}", file("text/html", accountsHTML))
	mux.Handle("GET /accounts.js", file("text/javascript", accountsJS))
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.status()) })
	mux.HandleFunc("GET /accounts", bounded(s.free, s.findAccounts))
	mux.HandleFunc("GET /accounts/profiles", bounded(s.free, s.findProfiles))
}

// bounded lets a handler answer as many requests at a time as free has room for, and writes its
// result as JSON.
func bounded[T any](free chan struct{}, answer func(ctx context.Context, query url.Values) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
		case <-r.Context().Done():
			return
		}
		result, err := answer(r.Context(), r.URL.Query())
		_, invalid := errors.AsType[*api.InputError](err)
		switch {
		case err == nil:
			writeJSON(w, result)
		case invalid:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case errors.Is(err, api.ErrNotFound):
			http.Error(w, "there is no such account", http.StatusNotFound)
		default:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}
}

const mostQuery = 128 // bytes of a value in a query, as of the name of an account

// parseQuery returns the values of a query, or an [*api.InputError]. It checks the length of "account",
// which findProfiles reads itself.
func parseQuery(query url.Values) (q relay.AccountQuery, err error) {
	refuse := func(field, rule string) error {
		return &api.InputError{Op: "page", Field: field, Rule: rule, Got: query.Get(field)}
	}
	q = relay.AccountQuery{
		Text: query.Get("text"), State: relay.AccountState(query.Get("state")), After: query.Get("after"), Limit: 50,
	}
	for _, field := range []string{"text", "after", "account"} {
		if len(query.Get(field)) > mostQuery { // the error does not repeat the value, which refuse would do
			return q, &api.InputError{Op: "page", Field: field, Rule: fmt.Sprintf("must have at most %d bytes", mostQuery)}
		}
	}
	if q.State != "" && !slices.Contains(accountStates(), q.State) {
		return q, refuse("state", "must be one of the states of accounts")
	}
	if text := query.Get("limit"); text != "" {
		q.Limit, err = strconv.Atoi(text)
		if err != nil || q.Limit == 0 { // 0 would mean the default; the Overview refuses other wrong numbers
			return q, refuse("limit", "must be a number of accounts")
		}
	}
	return q, nil
}

// findAccounts returns a page of accounts.
func (s *accountSite) findAccounts(ctx context.Context, query url.Values) (*page[accountRow], error) {
	q, err := parseQuery(query)
	if err != nil {
		return nil, err
	}
	found, err := s.overview.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	const unknownAge = -1 // of the numbers: the holder has not answered
	now := time.Now().UTC()
	result := &page[accountRow]{Replica: s.name, Time: now, Next: found.Next, Rows: []accountRow{}}
	for _, a := range found.Accounts {
		row := accountRow{
			Name: a.Account.Name, State: a.State, Reason: a.Reason, Since: a.Since, Holder: a.Holder, Profiles: a.Profiles,
			Age: unknownAge, Oldest: a.Oldest.Seconds(), Pending: a.Pending,
		}
		if !a.At.IsZero() {
			row.Age = max(0, now.Sub(a.At).Seconds())
		}
		if a.Err != nil {
			row.Error = a.Err.Error()
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

// findProfiles returns a page of the profiles of an account.
func (s *accountSite) findProfiles(ctx context.Context, query url.Values) (*page[profileRow], error) {
	q, err := parseQuery(query)
	if err != nil {
		return nil, err
	}
	found, err := s.overview.Profiles(ctx, query.Get("account"), q.After, q.Limit)
	if err != nil {
		return nil, err
	}
	result := &page[profileRow]{Replica: s.name, Time: time.Now().UTC(), Next: found.Next, Rows: []profileRow{}}
	for _, p := range found.Profiles {
		result.Rows = append(result.Rows, profileRow{nameOf(p.Profile), p.Followed, p.Age.Seconds(), p.Pending, p.Reason})
	}
	return result, nil
}
