package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

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

	// Lease is the time after which others take over the profiles of a lost replica, which
	// has stopped after four fifths of it; at least 10 s. Default: 15 s.
	Lease time.Duration

	// Since is the creation of the first event of profiles without a checkpoint;
	// default: the beginning of the log.
	Since time.Time

	// Follow holds further options of [events.Service.Follow]; a Follower has a default
	// SaveInterval of 1 second. Store, Name, Until, Events, Categories, SubCategories and the
	// hooks must be zero.
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

	// Hooks observe searches, publications and, of [ConsumeOptions], handlers. The module
	// otelfastio has hooks that make spans of them.
	Hooks api.MessageHooks

	shortLease bool // for tests

	mu       sync.Mutex
	sessions map[string]*session // by profileKey
	shares   *shares             // in the latest view that all replicas have adopted
	next     *shares             // in the latest one that this replica has adopted
	self     string              // name of this replica
	progress map[string]progress // by profileKey
	past     Counts              // of sessions that have ended
	member   *member             // of the group of replicas; nil before the first
	term     uint64              // number of the latest view in which the replica holds its share

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
	Epoch   uint64    // grows when the profile gets another holder
	Newest  time.Time // creation of the newest event read; zero means none yet
	Counts
}

// Stats is the state of a [Follower].
type Stats struct {
	Counts
	Held    []Held            // by kind and ID
	Holders map[string]string // names of replicas by profile, as of [api.Profile.String]
	View    ViewStats

	// Confirmed is when NATS has last confirmed a write of the replica, zero before the
	// first. The replica writes three times in the time of a lease, also without events:
	// an older time means that it cannot reach NATS, may not write, or that the disk is full.
	Confirmed time.Time

	Err   error     // the latest that concerns the replica; nil if it is registered and watches the others
	Since time.Time // the first of these errors
}

// Stats returns the state of the replica. Its Holders are known only while Run runs.
func (f *Follower) Stats() Stats {
	// heldIn is the number of the view in which the replica holds its share.
	s, m, heldIn := f.stats()
	s.View = m.viewStats(heldIn) // without f.mu: a goroutine that locks both locks the member first
	return s
}

// stats returns the state without its View, and what Stats needs for that: the member, and the number
// of the view in which the replica holds its share.
func (f *Follower) stats() (s Stats, m *member, heldIn uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s = Stats{
		Counts: f.past, Holders: make(map[string]string, len(f.Profiles)), Confirmed: f.confirmed, Err: f.err, Since: f.since,
	}
	for _, session := range f.sessions {
		held := session.state()
		isHeld := !session.released.Load() // else it has ended, and removeSession adds its counts to f.past next
		if isHeld {
			s.Held = append(s.Held, held)
		}
		s.Published += held.Published
		s.Duplicates += held.Duplicates
	}
	slices.SortFunc(s.Held, func(a, b Held) int {
		return cmp.Compare(profileKey(a.Profile), profileKey(b.Profile))
	})
	for _, p := range f.Profiles {
		if holder := f.holder(profileKey(p)); holder != "" {
			s.Holders[p.String()] = holder
		}
	}
	return s, f.member, f.term
}

// Run follows the share of the replica until ctx is done. Then it saves the checkpoints
// and gives the profiles back, which takes 10 seconds at most, and returns the error of
// ctx. It must not be called while it runs.
//
// If the platform refuses the credential, the replica reports that to OnError without a profile,
// and others take over its profiles at once. It looks again within 30 seconds, and takes its
// share back when the credential is accepted.
//
// A lost connection is not an error: the profiles go to other replicas when the lease of the
// replica has expired, and come back later. A stream or bucket that is deleted is created again,
// which is reported to OnRetry or OnError; the events that were in the stream are gone.
//
// Errors: [*api.InputError] for a field that is not valid, or that differs from the setting of the
// stream or bucket that exists; the error of NATS if the connection was closed, or if stream and
// bucket cannot be opened for 30 seconds: until then, failures are reported to OnError.
func (f *Follower) Run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &replica{
		Follower: f, Stream: f.Stream.withDefaults(), ctx: ctx, name: cmp.Or(f.Name, rand.Text()),
		profiles: map[string]api.Profile{}, mine: map[string]bool{}, failures: map[string]failure{},
		lists: map[string][]string{}, reads: make(chan struct{}, maxReads),
		steps: newSchedule(maxSteps), lane: newLane(maxSteps),
	}
	f.mu.Lock() // of an earlier call of Run, only the Counts remain
	f.sessions, f.progress, f.shares, f.next = map[string]*session{}, map[string]progress{}, nil, nil
	f.self, f.member, f.term = r.name, nil, 0
	f.confirmed, f.err, f.since = time.Time{}, nil, time.Time{}
	f.mu.Unlock()
	for _, p := range f.Profiles {
		r.profiles[profileKey(p)] = p
	}
	keys := slices.Sorted(maps.Keys(r.profiles))
	r.list = listID(keys) // the name under which other replicas find the profiles
	r.lists[r.list] = keys
	defer r.goroutines.Wait()
	defer cancel() // ends the goroutines, also when Run returns an error
	if err := retryTemporary(ctx, r.reportOwn, func() error { return r.openAll(ctx) }); err != nil {
		return err
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
		return refuse("Follow", "must leave out Store, Name, Until, hooks, Events, Categories and SubCategories", "")
	}
	return nil
}

// followable reports whether the options leave out what a replica sets.
func followable(o events.FollowOptions) bool {
	return o.Store == nil && o.Name == "" && o.Until.IsZero() && o.OnRetry == nil && o.OnGap == nil && o.OnCaughtUp == nil &&
		len(o.Events)+len(o.Categories)+len(o.SubCategories) == 0
}

// replica is a Follower that runs.
type replica struct {
	*Follower
	Stream
	ctx      context.Context //nolint:containedctx // of Run
	name     string
	profiles map[string]api.Profile // by profileKey
	messages jetstream.Stream
	kv       jetstream.KeyValue
	reads    chan struct{} // holds a value for each part of the stream that is being read
	steps    *schedule     // of all sessions
	lane     *lane
	list     string              // listID of the profiles
	lists    map[string][]string // that are known, by listID

	// Guarded by the mutex of the Follower.
	held     *holding
	mine     map[string]bool // profiles that it may hold now, by profileKey
	failures map[string]failure

	refusedFor api.Profile             // for which the credential was refused; zero if it is not known to be
	leave      context.CancelCauseFunc // makes the replica leave its group

	goroutines sync.WaitGroup // Run waits for them; they end with ctx, or before
}

// failure is why a profile is not followed for some time.
type failure struct {
	count int       // failures in a row
	until time.Time // no session starts before
}

// keepShare keeps the replica in its group and follows its share of the profiles until ctx is
// done. While the platform refuses the credential, the replica is not in the group.
func (r *replica) keepShare(ctx context.Context) error {
	r.goroutines.Go(func() { r.restart(ctx) })
	return joinWhileAble(ctx, r.JetStream.Conn(), r.reportOwn, r.checkCredential, r.joinGroup)
}

// joinGroup keeps the replica in its group until ctx is done. It keeps leave, which ends ctx, for
// suspectCredential.
func (r *replica) joinGroup(ctx context.Context, leave context.CancelCauseFunc) error {
	r.mu.Lock()
	r.leave = leave
	r.mu.Unlock()
	openBucket := func() (kvLedger, error) { return r.writeList(ctx) }
	return join(ctx, r.reportOwn, openBucket, r.newMember)
}

// newMember returns the replica as a member of its group, whose entries are in the bucket of the ledger l. If it
// was deleted, join calls newMember again with the new bucket.
func (r *replica) newMember(l ledger) *member {
	m := newMember(l, "profiles", r.name, cmp.Or(r.Lease, defaultLease))
	m.list, m.division = r.list, r
	m.onError, m.onHealthy, m.onWrite = r.reportOwn, r.recovered, r.recordWrite
	r.mu.Lock()
	defer r.mu.Unlock()
	r.member = m
	return m
}

// writeList writes the profiles of this replica, so that replicas with other profiles know which
// ones it can follow, and returns the bucket.
func (r *replica) writeList(ctx context.Context) (kvLedger, error) {
	l, err := r.ledger(ctx)
	if err != nil {
		return l, err
	}
	// The map r.lists has this list too, but must not be read here: release may write other lists to it meanwhile.
	value := packList(slices.Sorted(maps.Keys(r.profiles)))
	most := r.JetStream.Conn().MaxPayload() - 1024 // the headers take less
	if most > 0 && int64(len(value)) > most {
		const rule = "must fit into a message of the NATS server: raise its max_payload, or divide them"
		return l, &api.InputError{Op: opRun, Field: "Follower.Profiles", Rule: rule, Got: strconv.Itoa(len(r.profiles))}
	}
	key := listKey(r.list)
	e, err := l.get(ctx, key)
	if err != nil {
		return l, err
	}
	_, err = l.put(ctx, key, value, e.revision, listTTL)
	if conflicts(err) { // another replica has written the same list
		err = nil
	}
	return l, err
}

// listTTL is the time for which the list of a replica is kept, which writes it again
// before.
const listTTL = 24 * time.Hour

// readLists reads the lists of the members of a view, except those that are already in r.lists: the list
// of this replica always is.
func (r *replica) readLists(ctx context.Context, v *view) error {
	for _, p := range v.Members {
		if _, known := r.lists[p.List]; known {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		entry, err := r.kv.Get(ctx, listKey(p.List))
		cancel()
		if err == nil {
			r.lists[p.List], err = unpackList(entry.Value())
		}
		if err != nil {
			return fmt.Errorf("the list of the profiles of replica %s: %w", p.Name, err)
		}
	}
	return nil
}

// release ends the sessions of profiles that the replica does not have in a view, and waits
// for that.
func (r *replica) release(ctx context.Context, v *view) error {
	var next *shares // nil without a view: then the replica keeps no profile
	if v != nil {
		if err := r.readLists(ctx, v); err != nil {
			return err
		}
		next = v.divideProfiles(r.lists)
	}
	var ending []*session
	r.mu.Lock()
	r.next = next
	for key := range r.mine {
		if next.holder(key) == r.name {
			continue
		}
		delete(r.mine, key)
		if s := r.sessions[key]; s != nil {
			s.stop()
			ending = append(ending, s)
		}
	}
	r.mu.Unlock()
	for _, s := range ending {
		<-s.ended
	}
	return nil
}

// hold starts sessions for the profiles that the replica has in a view, and forgets the progress of
// the others.
func (r *replica) hold(v *view, h *holding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shares = r.next // the division of v, by which release has removed profiles from r.mine
	r.held, r.term = h, v.number
	for key := range r.profiles {
		if r.shares.holder(key) == r.name {
			r.mine[key] = true
			continue
		}
		p := r.progress[key]
		p.forget() // all but the counters
		r.progress[key] = p
	}
	r.startDue()
}

// holder returns the name of the replica that follows a profile, as far as this one knows.
// While replicas adopt another view, profiles that move have no holder. The caller holds f.mu.
func (f *Follower) holder(key string) string {
	holder := f.shares.holder(key)
	isMoving := f.next != f.shares && f.next.holder(key) != holder
	hasFailed := holder == f.self && f.sessions[key] == nil // this replica waits before it tries again
	if isMoving || hasFailed {
		return ""
	}
	return holder
}

// startDue starts the sessions of the profiles that the replica holds, unless they failed a
// short time ago. The caller holds r.mu.
func (r *replica) startDue() {
	now := time.Now()
	for key := range r.mine {
		if r.sessions[key] == nil && r.held.alive.Err() == nil && now.After(r.failures[key].until) {
			r.start(key)
		}
	}
}

// restart starts sessions again that have failed, until ctx is done. From time to time it also
// writes the list of profiles again, before the entry in the bucket expires.
func (r *replica) restart(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for written := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		r.startDue() //nolint:contextcheck // sessions have the context of Run
		r.mu.Unlock()
		if time.Since(written) > listTTL/4 {
			written = time.Now()
			if _, err := r.writeList(ctx); err != nil {
				r.reportOwn(err)
			}
		}
	}
}

// recordWrite records when NATS has last confirmed a write of the replica, for Stats.
func (f *Follower) recordWrite() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.confirmed = time.Now()
}

// recovered clears the error of the replica, because a heartbeat was written, or the watch of the
// bucket has begun. If the other of the two has failed before, its error is cleared too, until it fails again.
func (f *Follower) recovered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.since = nil, time.Time{}
}

// reportOwn reports an error of the replica itself.
func (r *replica) reportOwn(err error) { r.report(r.ctx, api.Profile{}, err) }

// report reports an error of a profile or, if that is zero, of the replica.
func (r *replica) report(ctx context.Context, p api.Profile, err error) {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) { // it was stopped: this is not a failure
		return
	}
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

// start starts a session. The caller holds r.mu.
func (r *replica) start(key string) {
	s := r.newSession(key, r.held, r.term)
	var ctx context.Context
	ctx, s.stop = context.WithCancel(r.ctx)
	r.sessions[key] = s
	r.goroutines.Go(func() {
		err := s.run(ctx)
		s.stop()
		r.removeSession(ctx, s, err)
		close(s.ended)
	})
}

// removeSession removes a session that has ended. If it has failed, the profile is left
// alone for some time.
func (r *replica) removeSession(ctx context.Context, s *session, err error) {
	held := s.state()
	r.mu.Lock()
	delete(r.sessions, s.key)
	r.past.Published += held.Published
	r.past.Duplicates += held.Duplicates
	lostLease := errors.Is(err, errLost) && s.pub.held.alive.Err() != nil // not a failure of the profile
	if err == nil || lostLease {
		delete(r.failures, s.key)
	} else {
		f := r.failures[s.key]
		if time.Since(s.began) > worstPause { // it has worked for a while: failures are counted anew
			f.count = 0
		}
		f.count++
		f.until = time.Now().Add(backoff{time.Second, worstPause}.pause(f.count))
		r.failures[s.key] = f
	}
	r.mu.Unlock()
	if err != nil {
		if isRefusal(err) {
			r.suspectCredential(s.profile)
		}
		r.failed(s.key, opRun, err)
		r.report(ctx, s.profile, err)
	}
}
