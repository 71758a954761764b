package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/oauth"
)

const (
	opRunAccounts = "relay.AccountFollower.Run"
	accountsGroup = "accounts" // of replicas

	accountSteps = 1024                 // searches and lists at the same time, of all accounts
	accountWidth = 4                    // the same of one account, with those that wait for a rate limit
	startEvery   = 5 * time.Millisecond // between the starts of two accounts
	findEvery    = time.Hour            // between two searches for the profiles of an account
	resealEvery  = time.Hour
	stopAtOnce   = 32 // accounts whose checkpoints are saved at the same time
)

// AccountFollower is a replica that follows the logs of its share of the [Accounts], each
// with a client of its own, and publishes their events. Replicas that share a [Stream] divide
// the accounts evenly: an account belongs to one of 4,096 slots, and a slot to one replica.
// Each profile of an account has its own checkpoint, epoch and dead letters, and two accounts
// that see one profile have two copies of its events, with the subjects of
// [Accounts.Subject].
//
// Of one account, four searches at most are on their way, or wait for a rate limit, so that
// no account delays others. Accounts that are added together begin one after the other, 200 a
// second. When a credential is revoked or has expired, the account is in the state
// [AccountNeedsSignIn]: no request is sent until it has a new one, and then it goes on from
// its checkpoints. Sockets and
// long polls are opened for the busiest profiles, if asked.
//
// An AccountFollower must not be copied after its first use.
type AccountFollower struct {
	Accounts Accounts

	// Name of the replica in logs and in the bucket; default: random. Two replicas
	// that run at the same time must not have the same.
	Name string

	// Lease is the time after which others take over the accounts of a lost replica, which
	// has stopped after four fifths of it; at least 10 s. Default: 15 s.
	Lease time.Duration

	// Follow holds further options of [events.Service.Follow], as in [Follower].
	Follow events.FollowOptions

	// Sockets is the number of profiles for which the platform reports changes to a socket:
	// those with the most events of late, chosen again in each time of a lease. Their events
	// arrive within seconds, and those of the others after the intervals of searches at rest.
	// Default: none.
	Sockets int

	// Polls is the number of accounts with one long poll each, for their busiest profile that has no
	// socket: those with the most events of late. A change is found within seconds, or after the
	// interval of the 1,000 polls an hour of the account's user if there are more changes. A long
	// poll keeps a connection, or a stream of HTTP/2, and some goroutines. Default: none.
	Polls int

	// SignIn is how the tokens of accounts without an API key are refreshed, such as the
	// ClientID of their [oauth.Login]. Its Store and Account are set for each.
	SignIn oauth.Config

	// HTTPClient is shared by all accounts. Default: a new one.
	HTTPClient *http.Client

	// Options are further options of the client of each account, such as fastio.WithBaseURL.
	Options []fastio.Option

	// OnError is called when a profile of an account could not be followed, which is then
	// tried again after a random pause of up to 10 minutes. The profile is zero for errors of
	// the account, and the account is "" for those of the replica.
	OnError func(ctx context.Context, account string, profile api.Profile, err error)

	// OnRetry, OnDeadLetter and OnGap are as in [Follower].
	OnRetry      func(ctx context.Context, account string, profile api.Profile, e api.RetryEvent)
	OnDeadLetter func(ctx context.Context, account string, profile api.Profile, err error)
	OnGap        func(ctx context.Context, account string, profile api.Profile, g events.Gap) error

	Hooks api.MessageHooks // as in [Follower]

	shortLease bool // for tests

	running atomic.Pointer[accountReplica]
}

// Run follows the share of the replica until ctx is done. Then it saves the checkpoints
// and gives the accounts back, and returns the error of ctx. It must not be called while it
// runs.
//
// Run checks whether the Keys and OtherKeys decrypt what the other programs have encrypted. They do
// not if, for example, a key was replaced in the other programs only. The replica then takes no
// slots, and others take over at once those that it has. It reports that to OnError without an
// account, and checks again within 30 seconds.
//
// Errors: those of [Follower.Run], and of the Keys of the Accounts.
func (f *AccountFollower) Run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &accountReplica{
		AccountFollower: f, steps: newSchedule(accountSteps), reads: make(chan struct{}, maxReads),
		accounts: map[string]*accountRun{}, held: map[int]*shard{}, client: f.HTTPClient,
		following: map[*followed]bool{}, ctx: ctx, name: cmp.Or(f.Name, rand.Text()),
	}
	if r.client == nil {
		transport := newTransport()
		r.client = &http.Client{Transport: transport}
		defer transport.CloseIdleConnections()
	}
	// A task that waits for a rate limit gives its place in r.steps to another. This client sends the
	// request of the task when it has a place again.
	r.client = parkingClient(r.client)
	f.running.Store(r) // for Stats
	defer f.running.Store(nil)
	defer r.goroutines.Wait()
	defer cancel() // ends the goroutines, also when Run returns an error
	if err := retryTemporary(ctx, r.reportOwn, func() error { return r.openAll(ctx) }); err != nil {
		return err
	}
	answers, err := r.answerStates()
	if err != nil {
		return err
	}
	defer func() { _ = answers.Unsubscribe() }() // it fails if the connection is closed
	r.goroutines.Go(func() { r.watch(ctx) })
	r.goroutines.Go(func() { r.watchTokens(ctx) })
	if f.Sockets+f.Polls > 0 {
		r.goroutines.Go(func() { r.keepWatches(ctx, cmp.Or(f.Lease, defaultLease)) })
	}
	return r.keepShare(ctx) // which checks the Keys before the replica joins its group
}

// newTransport returns a transport like the default one of net/http, with more idle connections: one
// for each request that is sent at the same time.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: accountSteps,
		MaxIdleConnsPerHost: accountSteps, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	}
}

// keepShare keeps the replica in its group and follows its share of the accounts until ctx is
// done. The replica joins the group only when its Keys are known to decrypt the credentials.
func (r *accountReplica) keepShare(ctx context.Context) error {
	return joinWhileAble(ctx, r.stream.JetStream.Conn(), r.reportOwn, r.Accounts.checkKeys, r.joinGroup)
}

// joinGroup keeps the replica in its group until ctx is done, and encrypts credentials again meanwhile. It
// keeps leave, which ends ctx, for suspectKeys.
func (r *accountReplica) joinGroup(ctx context.Context, leave context.CancelCauseFunc) error {
	r.mu.Lock()
	r.leave = leave
	r.err, r.since = nil, time.Time{} // what kept the replica from joining is over
	r.mu.Unlock()
	r.goroutines.Go(func() { r.reseal(ctx) })
	openBucket := func() (kvLedger, error) {
		l, err := r.stream.ledger(ctx)
		if err == nil {
			r.noteBucket(l)
		}
		return l, err
	}
	return join(ctx, r.reportOwn, openBucket, r.newMember)
}

// noteBucket is called with the bucket that the replica uses. If it is another one than before, the watches
// begin again. The library would resume them after the last revision of the old bucket, but the revisions of
// the new one are lower for a long time.
func (r *accountReplica) noteBucket(l kvLedger) {
	created := l.stream.CachedInfo().Created
	if !created.Equal(r.created) {
		r.created = created
		r.watchAgain()
	}
}

// watchAgain ends the watches of the directory and of the sign-ins, which then begin again.
func (r *accountReplica) watchAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endWatches != nil {
		r.endWatches()
	}
	r.watches, r.endWatches = context.WithCancel(r.ctx)
	r.isDoubtful = false // the new watches read the whole directory again
}

// newWatch returns the context of a watch that begins. It ends with ctx, and when watchAgain is called.
func (r *accountReplica) newWatch(ctx context.Context) (watching context.Context, end context.CancelFunc) {
	watching, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	forget := context.AfterFunc(r.watches, cancel)
	return watching, func() {
		forget() // else r.watches would keep a reference to cancel
		cancel()
	}
}

// newMember returns the replica as a member of its group, whose entries are in the bucket l. If the bucket
// was deleted, join calls newMember again with the new bucket.
func (r *accountReplica) newMember(l ledger) *member {
	m := newMember(l, accountsGroup, r.name, cmp.Or(r.Lease, defaultLease))
	m.division, m.onError, m.onHealthy, m.onWrite = r, r.reportOwn, r.recovered, r.recordWrite
	r.member.Store(m)
	return m
}

// reportOwn reports an error of the replica itself.
func (r *accountReplica) reportOwn(err error) { r.report(r.ctx, "", api.Profile{}, err) }

// check returns an [*api.InputError] for the first field that is not valid.
func (f *AccountFollower) check() error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: opRunAccounts, Field: "AccountFollower." + field, Rule: rule, Got: got}
	}
	switch {
	case f.Accounts.Keys == nil:
		return refuse("Accounts.Keys", "must not be nil", "")
	case f.Lease != 0 && f.Lease < leastLease && !f.shortLease:
		return refuse("Lease", "must be at least 10s", f.Lease.String())
	case !followable(f.Follow):
		return refuse("Follow", "must leave out Store, Name, Until, hooks, Events, Categories and SubCategories", "")
	}
	return nil
}

// accountReplica is an AccountFollower that runs.
type accountReplica struct {
	*AccountFollower
	stream   Stream
	messages jetstream.Stream
	kv       jetstream.KeyValue
	created  time.Time // the bucket, when it was opened last
	client   *http.Client
	steps    *schedule
	reads    chan struct{}
	ctx      context.Context //nolint:containedctx // of Run
	name     string
	total    counters
	member   atomic.Pointer[member]
	surveyed latestSurvey

	goroutines sync.WaitGroup // Run waits for them; they end with ctx, or before

	mu        sync.Mutex
	accounts  map[string]*accountRun // by name
	held      map[int]*shard         // by slot
	following map[*followed]bool
	confirmed time.Time // the latest write
	nextStart time.Time // of an account that begins
	view      uint64    // number of the latest view in which the replica holds its share
	moves     SlotMoves
	leave     context.CancelCauseFunc // makes the replica leave its group
	checking  bool                    // the keys

	watches    context.Context //nolint:containedctx // of the watches of the directory and of the sign-ins
	endWatches context.CancelFunc
	isDoubtful bool // whether the directory is as the replica knows it: watchAgain is called soon

	err   error     // of the replica
	since time.Time // the first of its errors
}

// shard is a slot of accounts that this replica holds.
type shard struct {
	ctx  context.Context //nolint:containedctx // of the time for which it is held
	stop context.CancelFunc
	held *holding
	term uint64 // number of the view in which it began to be held
}

// newShard returns a slot that this replica begins to hold in a view. Its accounts are followed until
// ctx is done or stop is called. Nothing is published for them after the end of h, the time for which
// the lease of the replica is valid.
func newShard(ctx context.Context, v *view, h *holding) *shard {
	s := &shard{held: h, term: v.number}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

// recordWrite records when NATS has last confirmed a write of the replica, for Stats.
func (r *accountReplica) recordWrite() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.confirmed = time.Now()
}

// openAll opens the stream, the stream of dead letters and the bucket, which it creates if
// necessary, and returns an error if those that exist have other settings.
func (r *accountReplica) openAll(ctx context.Context) (err error) {
	r.stream = r.Accounts.Stream.withDefaults()
	r.messages, err = r.stream.open(ctx)
	if err == nil {
		err = r.Accounts.Stream.verify(r.messages.CachedInfo().Config)
	}
	if err == nil {
		err = r.stream.openDead(ctx)
	}
	var l kvLedger
	if err == nil {
		l, err = r.stream.ledger(ctx)
	}
	if err == nil {
		err = r.Accounts.Stream.verifyBucket(ctx, l.kv)
	}
	if err != nil {
		return err
	}
	r.kv = l.kv
	r.noteBucket(l)
	return nil
}

// recovered clears the error of the replica: it is registered.
func (r *accountReplica) recovered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.since = nil, time.Time{}
}

// report calls OnError with an error of a profile. If p is zero, it is an error of the account; if
// account is "", one of the replica, which Stats returns too. The end of ctx and the removal of an
// account are not reported. A credential that cannot be decrypted makes the replica check its keys.
func (r *accountReplica) report(ctx context.Context, account string, p api.Profile, err error) {
	wasStopped := ctx.Err() != nil && errors.Is(err, ctx.Err())
	if wasStopped || account != "" && r.isRemoval(account, err) {
		return
	}
	if account == "" {
		r.mu.Lock()
		if r.err == nil {
			r.since = time.Now()
		}
		r.err = err
		r.mu.Unlock()
	}
	isOfCheck := errors.Is(err, errKeys) // the keys were just checked
	if isUndecryptable(err) && !isOfCheck {
		r.suspectKeys()
	}
	if r.OnError != nil {
		r.OnError(ctx, account, p, err)
	}
}

// watch follows the directory until ctx is done, also after the bucket was deleted. Each watch
// delivers the accounts that exist, then nil, then changes.
func (r *accountReplica) watch(ctx context.Context) {
	failures := 0 // watches in a row that have ended before all accounts were delivered
	for ctx.Err() == nil {
		failures++
		existing, complete := map[string]bool{}, false // names of accounts
		watching, end := r.newWatch(ctx)
		for e, err := range r.Accounts.changes(watching) {
			switch {
			case watching.Err() != nil: // not a failure: changes ends with its context
			case err != nil:
				r.report(ctx, "", api.Profile{}, err) // as an error of the replica
			case e == nil:
				complete, failures = true, 0
				r.forgetOthers(existing)
			default:
				if !complete {
					existing[e.name] = true
				}
				r.apply(e)
			}
		}
		end()
		_ = sleep(ctx, backoff{tickEvery, maxPause}.pause(failures)) // the loop ends with ctx
	}
}

// forgetOthers stops the accounts that a new watch has not delivered: they were removed while
// no watch was open.
func (r *accountReplica) forgetOthers(existing map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, a := range r.accounts {
		if !existing[name] {
			a.record = nil
			a.task.wake()
		}
	}
}

// apply records a change of the directory. The task of an account that is known then follows the
// change, or ends the account if it was removed. A new account is started if the replica holds its
// slot.
func (r *accountReplica) apply(e *accountEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, isRemoved := r.accounts[e.name], e.record == nil
	switch {
	case known != nil:
		known.record = e.record
		known.task.wake()
	case isRemoved: // before this replica knew it
	default:
		a := newAccountRun(r, e.name)
		a.record = e.record
		r.accounts[e.name] = a
		if r.held[a.slot] != nil {
			r.startInTurn(a)
		}
	}
}

// startInTurn makes the task of an account due: accounts that are added together begin one after the
// other, startEvery apart. The caller holds r.mu.
func (r *accountReplica) startInTurn(a *accountRun) {
	now := time.Now()
	if r.nextStart.Before(now) {
		r.nextStart = now
	}
	a.task.startAt(r.nextStart)
	r.nextStart = r.nextStart.Add(startEvery)
}

// watchTokens lets an account whose sign-in was refused try again when there is a new one. A watch first
// delivers all sign-ins that exist: so when the watch has ended and begins again, all these accounts try again.
func (r *accountReplica) watchTokens(ctx context.Context) {
	failures := 0 // to open the watch, in a row
	for ctx.Err() == nil {
		watching, end := r.newWatch(ctx)
		watcher, err := r.kv.Watch(watching, tokensPrefix+"*", jetstream.MetaOnly())
		if err != nil {
			end()
			failures++
			_ = sleep(ctx, backoff{tickEvery, maxPause}.pause(failures)) // the loop ends with ctx
			continue
		}
		failures = 0
		for r.nextSignIn(watching, watcher.Updates()) {
		}
		unwatch(watcher)
		end()
	}
}

// nextSignIn waits for a change of a sign-in, and notifies the account that has it. It returns
// false if ctx is done or the watch has ended.
func (r *accountReplica) nextSignIn(ctx context.Context, changes <-chan jetstream.KeyValueEntry) bool {
	var entry jetstream.KeyValueEntry
	var ok bool
	select {
	case <-ctx.Done():
		return false
	case entry, ok = <-changes:
	}
	isEndOrMark := entry == nil // if ok, the mark after the entries that exist; else the end
	if isEndOrMark {
		return ok
	}
	name, err := untoken(strings.TrimPrefix(entry.Key(), tokensPrefix))
	r.mu.Lock()
	a := r.accounts[name]
	r.mu.Unlock()
	if err == nil && a != nil {
		a.signedIn()
	}
	return true
}

// reseal encrypts again what is encrypted with another key, now and from time to time.
func (r *accountReplica) reseal(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := r.Accounts.Reseal(ctx)
		if err != nil && ctx.Err() == nil {
			r.report(ctx, "", api.Profile{}, err) // as an error of the replica
		}
		_ = sleep(ctx, resealEvery) // the loop ends with ctx
	}
}

// release stops the accounts in the slots that the replica does not have in a view, in all slots if v
// is nil, and saves their checkpoints. When it has returned, the next heartbeat of the replica names
// the view. The other replicas wait for that heartbeat before they take the slots.
func (r *accountReplica) release(_ context.Context, v *view) error {
	kept, gone := v.slotsOf(r.name), map[int]bool{}
	var stopping []*accountRun
	r.mu.Lock()
	for slot, s := range r.held {
		if !kept[slot] {
			s.stop() // ends the searches of its accounts
			delete(r.held, slot)
			gone[slot] = true
		}
	}
	if len(r.held) == 0 { // no account waits for its turn to start any more: see startInTurn
		r.nextStart = time.Time{}
	}
	r.moves.Given += uint64(len(gone))
	for _, a := range r.accounts {
		if gone[a.slot] {
			stopping = append(stopping, a)
		}
	}
	r.mu.Unlock()
	var wg sync.WaitGroup
	places := make(chan struct{}, stopAtOnce)
	for _, a := range stopping {
		places <- struct{}{}
		wg.Go(func() {
			a.stop() // which saves the checkpoints
			<-places
		})
	}
	wg.Wait()
	return nil
}

// hold begins the accounts in slots that are new to the share of the replica.
func (r *accountReplica) hold(v *view, h *holding) {
	fresh := map[int]bool{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for slot := range v.slotsOf(r.name) {
		if r.held[slot] == nil {
			r.held[slot], fresh[slot] = newShard(r.ctx, v, h), true
		}
	}
	r.view = v.number
	r.moves.Taken += uint64(len(fresh))
	for _, a := range r.accounts {
		if fresh[a.slot] {
			r.startInTurn(a)
		}
	}
}

// wanted returns the record and the shard of the account if this replica must follow it now, and nil
// if it must not: its slot is not held, or it is removed or paused.
func (a *accountRun) wanted() (*accountRecord, *shard) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.held[a.slot]
	if s == nil || s.ctx.Err() != nil || a.record == nil || a.record.Paused {
		return nil, nil
	}
	return a.record, s
}

// isGone reports whether the account with that ID was removed from the directory.
func (r *accountReplica) isGone(name, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.accounts[name]
	return a == nil || a.record == nil || a.record.ID != id
}

// isRemoval reports whether err, an error of an account, is due to its removal: the directory does
// not have the account any more, or err says so before the directory does.
func (r *accountReplica) isRemoval(name string, err error) bool {
	if _, removed := errors.AsType[*removedError](err); removed {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.accounts[name]
	return a == nil || a.record == nil
}

// dropIfRemoved reports whether err says that the account of a record was removed. Then it drops the record,
// unless the watch of the directory has delivered a later one. The watch may never deliver the removal: NATS
// keeps it only for some time, in which the replica may be cut off. The error may also be wrong: a server of
// NATS that is behind does not know the account yet. The directory is read again soon, which restores the record.
func (a *accountRun) dropIfRemoved(record *accountRecord, err error) bool {
	if _, isRemoved := errors.AsType[*removedError](err); !isRemoved {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.record == record {
		a.record = nil
		if !a.isDoubtful {
			a.isDoubtful = true
			time.AfterFunc(worstPause, a.watchAgain)
		}
	}
	return true
}

// forget removes the account from the replica if it was removed from the directory, and reports
// whether it did.
func (a *accountRun) forget() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.record != nil || a.accounts[a.name] != a {
		return false
	}
	delete(a.accounts, a.name)
	return true
}

// removedError says that an account was removed, and maybe added again, which ends its
// following as it should.
type removedError struct{ account, how string }

func (e *removedError) Error() string {
	return fmt.Sprintf("account %q was removed%s", e.account, e.how)
}

// Is makes removedError match errLost.
func (e *removedError) Is(target error) bool { return target == errLost }

// checkRecord returns a removedError if the account of a record was removed, or removed and added
// again.
func (r *accountReplica) checkRecord(ctx context.Context, record *accountRecord) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now, _, err := r.Accounts.read(ctx, r.kv, record.Name)
	switch {
	case errors.Is(err, api.ErrNotFound):
		return &removedError{account: record.Name}
	case err == nil && now.ID != record.ID:
		return &removedError{account: record.Name, how: " and added again"}
	}
	return err
}
