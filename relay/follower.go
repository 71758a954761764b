package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

const opRun = "relay.Follower.Run"

const (
	defaultLease = 15 * time.Second
	leastLease   = 10 * time.Second
	worstPause   = time.Minute // before a profile that failed is followed again
	maxSteps     = 128         // profiles that are searched or wait for a rate limit at the same time
	tickEvery    = time.Second // between two looks at the profiles that are due for another try
)

// Follower is a replica: it follows its share of the profiles and publishes their
// events. Replicas that share a [Stream] divide the profiles evenly. A profile is only
// given to replicas that have it in Profiles, so that replicas with different credentials
// can follow different profiles. A Follower must not be copied after its first use.
type Follower struct {
	Stream   Stream
	Events   *events.Service // of the client whose credential can read the logs
	Profiles []api.Profile   // organizations, workspaces and shares, by their IDs

	// Name of the replica in logs and in the bucket; default: random. Two replicas
	// that run at the same time must not have the same.
	Name string

	// Lease is the time after which the profiles of a lost replica are free; at least
	// 10 s. Default: 15 s.
	Lease time.Duration

	// Since is the creation of the first event of profiles without a checkpoint;
	// default: the beginning of the log.
	Since time.Time

	// Follow holds further options of [events.Service.Follow]; a Follower has a default
	// SaveInterval of 1 second. Store, Name, Until, the sets of values and the hooks must
	// be zero.
	Follow events.FollowOptions

	// OnError is called when a profile could not be followed, which is then tried again
	// after a random pause, at first of less than 1 second and later of up to 1 minute. The
	// profile is zero for errors that concern the replica.
	OnError func(ctx context.Context, profile api.Profile, err error)

	// OnRetry is called before a temporary failure is retried: of a search, or with
	// [OpPublish] of publishing, for example because the stream is full.
	OnRetry func(ctx context.Context, profile api.Profile, e api.RetryEvent)

	// OnDeadLetter is called when an event is stored in the stream of dead letters, without
	// its body, because it is larger than NATS accepts.
	OnDeadLetter func(ctx context.Context, profile api.Profile, err error)

	// OnGap is called when events may have been missed; its error ends the following of
	// the profile like any other. Default: that of [events.FollowOptions].
	OnGap func(ctx context.Context, profile api.Profile, g events.Gap) error

	shortLease bool // for tests

	mu       sync.Mutex
	sessions map[string]*session // by profileKey
	holders  map[string]string   // replica by profileKey
	progress map[string]progress // by profileKey
	past     Counts              // of sessions that have ended

	confirmed time.Time // the latest write
	err       error     // of the replica
	since     time.Time // the first of its errors
}

// Counts are numbers of messages since the start of a [Follower].
type Counts struct {
	Published  uint64 // stored by the stream
	Duplicates uint64 // dropped by the stream, which has stored the event before
}

// Held is a profile that a [Follower] holds.
type Held struct {
	Profile api.Profile
	Epoch   uint64
	Newest  time.Time // creation of the newest event read; zero means none yet
	Counts
}

// Stats is the state of a [Follower].
type Stats struct {
	Counts
	Held    []Held            // by kind and ID
	Holders map[string]string // names of replicas by profile, as of [api.Profile.String]

	// Confirmed is when NATS has last confirmed a write of the replica, zero before the
	// first. The replica writes three times in the time of a lease, also without events:
	// an older time means that it cannot reach NATS, may not write, or that the disk is full.
	Confirmed time.Time

	Err   error     // the latest that concerns the replica; nil if it is registered and watches the others
	Since time.Time // the first of these errors
}

// Stats returns the state of the replica. Holders are known while Run runs.
func (f *Follower) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Stats{
		Counts: f.past, Holders: make(map[string]string, len(f.holders)), Confirmed: f.confirmed, Err: f.err, Since: f.since,
	}
	for _, session := range f.sessions {
		if held, ok := session.held(); ok {
			if !session.released.Load() {
				s.Held = append(s.Held, held)
			}
			s.Published += held.Published
			s.Duplicates += held.Duplicates
		}
	}
	slices.SortFunc(s.Held, func(a, b Held) int {
		return cmp.Compare(profileKey(a.Profile), profileKey(b.Profile))
	})
	for _, p := range f.Profiles {
		if replica, ok := f.holders[profileKey(p)]; ok {
			s.Holders[p.String()] = replica
		}
	}
	return s
}

// Run follows the share of the replica until ctx is done. Then it saves the checkpoints
// and gives the profiles back, which takes 10 seconds at most, and returns the error of
// ctx. It must not be called while it runs.
//
// A lost connection is not an error: the profiles go to other replicas when their leases
// have expired, and come back later. A stream or bucket that is deleted is created again,
// which is reported to OnRetry or OnError; the events that were in the stream are gone.
//
// Errors: [*api.InputError] for a field, also for a setting that the existing stream does not
// have; the error of NATS if the connection was closed, or if stream and bucket cannot be
// opened for 30 seconds: failures before are reported to OnError.
func (f *Follower) Run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.run(ctx, nil)
}

// run is Run without a check of the fields. Hold, unless it is nil, is called with what is
// held, and returns when ctx is done; otherwise profiles are held and followed.
func (f *Follower) run(ctx context.Context, hold func(ctx context.Context, what api.Profile, pub *publisher)) error {
	r := &replica{
		Follower: f, hold: hold, Stream: f.Stream.withDefaults(), name: cmp.Or(f.Name, rand.Text()),
		ttl: cmp.Or(f.Lease, defaultLease), profiles: map[string]api.Profile{},
		marks: map[string]mark{}, failures: map[string]failure{}, ended: make(chan *session),
		reads: make(chan struct{}, maxReads), steps: newSchedule(maxSteps), lane: newLane(maxSteps),
	}
	f.mu.Lock()
	f.sessions, f.progress = map[string]*session{}, map[string]progress{}
	f.confirmed, f.err, f.since = time.Time{}, nil, time.Time{}
	f.mu.Unlock()
	failed := func(err error) { r.report(ctx, api.Profile{}, err) }
	if err := persist(ctx, failed, func() error { return r.openAll(ctx) }); err != nil {
		return err
	}
	for _, p := range f.Profiles {
		r.profiles[profileKey(p)] = p
	}
	return r.keepShare(ctx)
}

// openAll opens the stream, the stream of dead letters and the bucket, which it creates if
// necessary, and returns an error if those that exist have other settings.
func (r *replica) openAll(ctx context.Context) (err error) {
	r.messages, err = r.open(ctx)
	if err != nil {
		return err
	}
	if err := r.Follower.Stream.verify(r.messages.CachedInfo().Config); err != nil {
		return err
	}
	if err := r.openDead(ctx); err != nil {
		return err
	}
	r.kv, err = r.bucket(ctx)
	if err != nil {
		return err
	}
	return r.Follower.Stream.verifyBucket(ctx, r.kv)
}

// check returns an [*api.InputError] for the first field that is not valid.
func (f *Follower) check() error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: opRun, Field: "Follower." + field, Rule: rule, Got: got}
	}
	if f.Events == nil {
		return refuse("Events", "must not be nil", "")
	}
	seen := map[api.Profile]bool{}
	for i, p := range f.Profiles {
		err := p.OneOf(opRun, fmt.Sprintf("Follower.Profiles[%d]", i), api.ProfileKindOrg, api.ProfileKindWorkspace, api.ProfileKindShare)
		if err != nil {
			return err
		}
		if seen[p] {
			return refuse(fmt.Sprintf("Profiles[%d]", i), "must not be repeated", p.String())
		}
		seen[p] = true
	}
	if f.Lease != 0 && f.Lease < leastLease && !f.shortLease {
		return refuse("Lease", "must be at least 10s", f.Lease.String())
	}
	if !followable(f.Follow) {
		return refuse("Follow", "must leave out Store, Name, Until, hooks and sets of values", "")
	}
	return nil
}

// followable reports whether the options leave out what a replica sets.
func followable(o events.FollowOptions) bool {
	return o.Store == nil && o.Name == "" && o.Until.IsZero() && o.OnRetry == nil && o.OnGap == nil && o.OnCaughtUp == nil &&
		len(o.Events)+len(o.Categories)+len(o.SubCategories) == 0
}

// replica is a Follower that runs. Its fields are used by one goroutine.
type replica struct {
	*Follower
	Stream
	name     string
	ttl      time.Duration
	profiles map[string]api.Profile // by profileKey
	messages jetstream.Stream
	kv       jetstream.KeyValue

	marks    map[string]mark    // of other replicas and of profiles, by the keys of the bucket
	failures map[string]failure // by profileKey
	ended    chan *session
	reads    chan struct{}  // holds a value for each part of the stream that is being read
	late     sync.WaitGroup // requests for leases whose session has ended
	hold     func(ctx context.Context, what api.Profile, pub *publisher)
	steps    *schedule // of all sessions
	lane     *lane
}

// mark is the latest value of the lease of a profile or of a replica, in the bucket.
type mark struct {
	record
	revision uint64
	heard    time.Time // when the value arrived, by the local clock
}

// failure is why a profile is not followed for some time.
type failure struct {
	count int       // failures in a row
	until time.Time // no session starts before
}

const (
	replicaPrefix = "replica."
	leasePrefix   = "lease."
)

// keepShare keeps the replica registered and follows its share of the profiles until ctx is
// done. If the bucket was deleted, it creates the bucket again and goes on.
func (r *replica) keepShare(ctx context.Context) error {
	defer r.late.Wait()
	var wg sync.WaitGroup
	defer wg.Wait()
	registration, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	wg.Go(func() { r.register(registration) })
	err := r.watch(ctx)
	for errors.Is(err, errWatchEnded) && !r.JetStream.Conn().IsClosed() {
		r.report(ctx, api.Profile{}, err)
		failed := func(err error) { r.report(ctx, api.Profile{}, err) }
		err = persist(ctx, failed, func() error { _, err := r.bucket(ctx); return err }) // creates a deleted bucket
		if err == nil {
			err = r.watch(ctx)
		}
	}
	cancel() // first, so that other replicas divide the profiles before their leases are free
	r.stop(ctx)
	return err
}

var errWatchEnded = errors.New("the watch has ended: was the bucket deleted?")

// register keeps a key with the name and the profiles of the replica in the bucket until
// ctx is done. The other replicas watch these keys to divide the profiles.
func (r *replica) register(ctx context.Context) {
	keys := make([]string, 0, len(r.profiles))
	for key := range r.profiles {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	value := newRecord(r.name, keys) // one value for all tries: find recognizes a key of a try before by it
	for ctx.Err() == nil {
		l := &lease{
			js: r.JetStream, kv: r.kv, key: replicaPrefix + token(r.name), ttl: r.ttl, value: value, confirmed: r.confirm,
		}
		err := l.acquire(ctx, &r.late)
		if err == nil {
			r.recovered()
			err = l.keep(ctx)
			if e := l.release(context.WithoutCancel(ctx)); e != nil {
				r.report(ctx, api.Profile{}, e)
			}
		}
		if errors.Is(err, errHeld) {
			err = errName
		}
		if ctx.Err() == nil {
			r.report(ctx, api.Profile{}, fmt.Errorf("replica %s: %w", r.name, err))
			_ = sleep(ctx, r.ttl/renewals) // the loop ends with ctx
		}
	}
}

var errName = errors.New("another replica has the same name, or one that was killed within the time of a lease")

// confirm records that a write was confirmed.
func (f *Follower) confirm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.confirmed = time.Now()
}

// recovered clears the error of the replica: it is registered, or watches the bucket,
// again. If the other one of the two still fails, that is reported again.
func (f *Follower) recovered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.since = nil, time.Time{}
}

// report reports an error of a profile or, if that is zero, of the replica.
func (r *replica) report(ctx context.Context, p api.Profile, err error) {
	if p == (api.Profile{}) {
		r.mu.Lock()
		if r.err == nil {
			r.since = time.Now()
		}
		r.err = err
		r.mu.Unlock()
	}
	if r.OnError != nil {
		r.OnError(ctx, p, err)
	}
}

// watch reads the leases of all replicas from the bucket and, when one changes or a
// session ends, starts and stops sessions. It returns the error of ctx when that is done,
// and otherwise why the watch has ended.
func (r *replica) watch(ctx context.Context) error {
	clear(r.marks)
	watcher, err := r.kv.WatchFiltered(ctx, []string{replicaPrefix + ">", leasePrefix + ">"})
	if err != nil {
		return fmt.Errorf("fastio: relay: bucket %s: %w", r.Bucket, err)
	}
	defer func() { _ = watcher.Stop() }()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	complete, changed := false, false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-watcher.Updates():
			if !ok {
				return fmt.Errorf("fastio: relay: bucket %s: %w", r.Bucket, errWatchEnded)
			}
			if entry == nil {
				complete, changed = true, true // all keys are known
				r.recovered()
			} else {
				changed = r.apply(entry) || changed
			}
			if len(watcher.Updates()) > 0 {
				continue
			}
		case s := <-r.ended:
			r.removeSession(ctx, s)
			changed = true
		case <-tick.C:
			changed = true
			if r.JetStream.Conn().IsClosed() {
				return errors.New("fastio: relay: the connection to NATS is closed")
			}
		}
		if complete && changed {
			r.balance(ctx)
			changed = false
		}
	}
}

// apply records a change of a lease in the bucket. It returns false for a renewal, which
// has the token of the value before.
func (r *replica) apply(entry jetstream.KeyValueEntry) bool {
	before := r.marks[entry.Key()]
	m := mark{revision: entry.Revision(), heard: time.Now()}
	if entry.Operation() != jetstream.KeyValuePut || jsonv2.Unmarshal(entry.Value(), &m.record) != nil {
		delete(r.marks, entry.Key())
	} else {
		r.marks[entry.Key()] = m
	}
	return m.Token != before.Token
}

// balance starts sessions for the profiles that assign gives to this replica and that no
// other one holds, and stops the sessions of the other profiles.
func (r *replica) balance(ctx context.Context) {
	alive := map[string][]string{}
	for key, m := range r.marks {
		if strings.HasPrefix(key, replicaPrefix) && !r.hasExpired(m) {
			alive[m.Replica] = m.Profiles
		}
	}
	if _, ok := alive[r.name]; !ok {
		return // not registered: what is held stays until its lease is lost
	}
	assigned := assign(alive)
	holders := map[string]string{}
	for key, p := range r.profiles {
		m, held := r.marks[leasePrefix+key]
		held = held && !r.hasExpired(m)
		if held {
			holders[key] = m.Replica
		}
		switch s := r.sessions[key]; {
		case s != nil && assigned[key] != r.name:
			s.stop()
		case s == nil && assigned[key] == r.name && !held && time.Now().After(r.failures[key].until):
			r.start(ctx, key, p, m.revision)
		}
	}
	r.setHolders(holders)
}

// setHolders records which replica holds which profile, by profileKey. Of profiles that
// other replicas hold, only the counters of the progress are kept.
func (r *replica) setHolders(holders map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holders = holders
	for key, holder := range holders {
		if holder != r.name {
			p := r.progress[key]
			p.forget()
			r.progress[key] = p
		}
	}
}

// hasExpired reports whether a lease must have expired, even if the bucket did not say so.
func (r *replica) hasExpired(m mark) bool { return time.Since(m.heard) > r.ttl+r.ttl/renewals }

// start starts a session, which is sent to r.ended when it has ended. Expired is the
// revision of the expired lease of the profile, 0 if there is none.
func (r *replica) start(ctx context.Context, key string, p api.Profile, expired uint64) {
	ctx, stop := context.WithCancel(ctx)
	s := &session{replica: r, key: key, profile: p, expired: expired, began: time.Now(), stop: stop}
	r.mu.Lock()
	r.sessions[key] = s
	r.mu.Unlock()
	go func() {
		s.err = s.run(ctx)
		stop()
		r.ended <- s
	}()
}

// removeSession removes a session that has ended. If it has failed, the profile is left
// alone for some time: briefly if another replica holds it, and otherwise with a backoff.
func (r *replica) removeSession(ctx context.Context, s *session) {
	held, ok := s.held()
	r.mu.Lock()
	delete(r.sessions, s.key)
	if ok {
		r.past.Published += held.Published
		r.past.Duplicates += held.Duplicates
	}
	r.mu.Unlock()
	if s.err != nil {
		r.failed(s.key, opRun, s.err)
	}
	switch {
	case s.err == nil:
		delete(r.failures, s.key)
	case errors.Is(s.err, errHeld):
		r.failures[s.key] = failure{until: time.Now().Add(tickEvery)}
	default:
		f, pauses := r.failures[s.key], backoff{time.Second, worstPause}
		if !ok { // the profile was never held: NATS has failed, and not the platform
			pauses.longest = r.ttl / renewals
		}
		if time.Since(s.began) > worstPause {
			f.count = 0
		}
		f.count++
		f.until = time.Now().Add(pauses.pause(f.count))
		r.failures[s.key] = f
		r.report(ctx, s.profile, s.err)
	}
}

// stop ends all sessions and waits for them.
func (r *replica) stop(ctx context.Context) {
	for _, s := range r.sessions {
		s.stop()
	}
	for len(r.sessions) > 0 {
		r.removeSession(ctx, <-r.ended)
	}
}
