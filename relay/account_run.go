package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/oauth"
)

// accountRun is an account that a replica knows. Its task starts and stops the following of
// its profiles, so that each account changes by one goroutine at a time.
type accountRun struct {
	*accountReplica
	name   string
	slot   int
	lane   *lane // of its task and those of its profiles
	task   *task
	record *accountRecord // nil if it is removed; guarded by the mutex of the replica

	refused atomic.Pointer[refusal]             // why no request may be sent, nil if it may
	known   atomic.Pointer[accountStatusRecord] // latest state, for Stats; nil if it is not followed

	rows profileRows // guarded by the mutex of the replica

	turn     chan struct{}       // holds a value while a goroutine changes what follows, which waits for requests meanwhile
	live     *liveAccount        // nil while it is not followed
	written  accountStatusRecord // the latest state in the bucket
	revision uint64              // of written; 0 for none

	failures int // to begin, since it was followed
}

// refusal says that the platform has refused a credential.
type refusal struct {
	credential string
	err        error
}

// liveAccount is an account that is followed.
type liveAccount struct {
	*accountRun
	begun    *accountRecord // when it began: its ID and Credential stay the same
	record   *accountRecord // the latest; set by step
	shard    *shard
	client   *fastio.Client
	followed map[api.Profile]*followed
	failures map[api.Profile]failure
	profiles []api.Profile // that are to be followed
	nextFind time.Time     // when the platform is asked for them again; zero means at once

	findFailure failure // of asking
	err         error   // the latest of the account or one of its profiles; nil if none fails now
}

const worstAccountPause = 10 * time.Minute // before a profile that failed is followed again

// newAccountRun returns an account that is not followed yet. Its task starts to follow the
// account when the task is due.
func newAccountRun(r *accountReplica, name string) *accountRun {
	a := &accountRun{
		accountReplica: r, name: name, slot: slotOf(name), lane: newLane(accountWidth), turn: make(chan struct{}, 1),
	}
	a.task = r.steps.newTask(a.lane, a.step)
	return a
}

// signedIn is called when there is a new sign-in. If the one before was refused, the account is followed again.
func (a *accountRun) signedIn() {
	if a.refused.Swap(nil) != nil {
		a.task.wake()
	}
}

// refuse records that the credential was refused, after which no request is sent.
func (a *accountRun) refuse(credential string, err error) {
	if a.refused.CompareAndSwap(nil, &refusal{credential, err}) {
		a.task.wake()
	}
}

// stop stops the account, because its shard is not held any more.
func (a *accountRun) stop() {
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	a.stopLive()
}

// stopLive stops the profiles of the account, if it is followed. Checkpoints of an account
// that was removed are not saved. The caller holds a.turn.
func (a *accountRun) stopLive() {
	if a.live != nil {
		if a.isGone(a.name, a.live.begun.ID) {
			a.live.dropCheckpoints()
		}
		a.live.stopAll()
		a.live = nil
	}
	a.clearRows()
	a.known.Store(nil) // the state is not known while it is not followed
}

// onlyWhenWoken is the time at which a task is due that waits for a change, which wakes it.
func onlyWhenWoken() time.Time { return time.Now().Add(1000 * time.Hour) }

// step brings the account in line with its record in the directory: it starts and stops its
// profiles. It returns when step is due again.
func (a *accountRun) step() (next time.Time) {
	a.turn <- struct{}{} // stop does not run meanwhile
	defer func() { <-a.turn }()
	record, held := a.wanted() // held is the shard of its slot
	if a.live != nil && !a.live.isOf(record, held) {
		a.stopLive()
	}
	if record == nil { // the account is removed or paused, or this replica does not hold its slot
		if a.forget() { // it is removed
			return time.Time{} // ends the task
		}
		return onlyWhenWoken() // by the change after which the account is to be followed
	}
	if refused := a.refused.Load(); refused != nil {
		if refused.credential == record.Credential {
			a.stopLive()
			return a.save(held, record, AccountNeedsSignIn, refused.err)
		}
		a.refused.CompareAndSwap(refused, nil) // the account has a new credential
	}
	if a.live == nil {
		live, err := a.begin(held.ctx, record, held)
		if err != nil {
			return a.failedToBegin(held, record, err)
		}
		a.live, a.failures = live, 0
	}
	next = a.live.step(record)
	if a.refused.Load() != nil { // refuse has woken this task again, which then stops the account
		return next
	}
	state := AccountFollowing
	if a.live.err != nil {
		state = AccountFailing
	}
	return earliest(next, a.save(held, record, state, a.live.err))
}

// errRefusedBefore means that another replica has tried the credential of an account, and that it was
// refused: the account needs a new one.
var errRefusedBefore = errors.New("the credential was refused")

// begin makes the client of an account. If another replica has recorded that the credential is
// refused, begin calls refuse, too, and returns errRefusedBefore. It returns a removedError if the
// account was removed.
func (a *accountRun) begin(ctx context.Context, record *accountRecord, s *shard) (*liveAccount, error) {
	if err := a.readStatus(ctx, record); err != nil {
		return nil, err
	}
	status := a.written // which readStatus has set
	wasRefused := status.State == AccountNeedsSignIn && status.Credential == record.Credential
	if wasRefused && !record.isSignIn() { // with a sign-in, the customer may have signed in again since then
		a.refuse(record.Credential, reasonError(status.Reason))
		return nil, errRefusedBefore
	}
	// parkWaits: a task whose request waits for a rate limit gives its place in the schedule to others meanwhile.
	options := append([]fastio.Option{fastio.WithHTTPClient(a.client), fastio.WithHooks(parkWaits())}, a.Options...)
	if record.isSignIn() {
		c := a.SignIn
		c.Store, c.Account = a.Accounts.tokens(), record.Name
		c.HTTPClient = cmp.Or(c.HTTPClient, a.client)
		options = append(options, fastio.WithTokenSource(oauth.TokenSource(c)))
	} else {
		key, _, err := a.Accounts.unseal(ctx, record)
		if err != nil {
			return nil, err
		}
		options = append(options, fastio.WithToken(key.Reveal()))
	}
	client, err := fastio.New(options...)
	if err != nil {
		return nil, err
	}
	return &liveAccount{
		accountRun: a, begun: record, shard: s, client: client,
		followed: map[api.Profile]*followed{}, failures: map[api.Profile]failure{}, profiles: record.Profiles,
	}, nil
}

// reasonError is the text of an error that another replica has seen.
type reasonError string

func (e reasonError) Error() string { return string(e) }

// failedToBegin reports why an account has no client, and returns when to try again.
func (a *accountRun) failedToBegin(s *shard, record *accountRecord, err error) time.Time {
	if errors.Is(err, errRefusedBefore) {
		return onlyWhenWoken() // begin has called refuse, which wakes the task: step runs again and saves the state
	}
	if a.dropIfRemoved(record, err) {
		return time.Now() // step then calls forget
	}
	a.report(s.ctx, a.name, api.Profile{}, err)
	if isUndecryptable(err) { // other failures may be over soon, and do not change the state
		_ = a.save(s, record, AccountFailing, err) // the next try to begin saves it again
	}
	a.failures++
	return time.Now().Add(backoff{time.Second, worstAccountPause}.pause(a.failures))
}

// save writes the state of the account, if it has changed, for [Accounts.Status]. It returns when to call
// it again: soon if the state could not be written.
func (a *accountRun) save(s *shard, record *accountRecord, state AccountState, err error) (next time.Time) {
	status := accountStatusRecord{
		Version: 1, ID: record.ID, Credential: record.Credential, State: state, Replica: a.accountReplica.name,
		Since: a.written.Since,
	}
	if a.live != nil {
		status.Profiles = len(a.live.followed)
	}
	if err != nil {
		status.Reason = err.Error()
	}
	if state != a.written.State {
		status.Since = time.Now().UTC()
	}
	a.known.Store(&status)
	if status == a.written {
		return onlyWhenWoken()
	}
	err = a.writeStatus(s.ctx, record, status)
	switch {
	case err == nil:
		a.written = status
		return onlyWhenWoken()
	case a.dropIfRemoved(record, err):
		return time.Now() // step then calls forget
	case conflicts(err): // another replica has written: one of the two has lost the account, and will soon know it
		return time.Now().Add(requestTimeout)
	default:
		a.report(s.ctx, a.name, api.Profile{}, fmt.Errorf("writing the status: %w", err))
		pause := backoff{worstPause, worstPause}.pause(1) // a random one, up to worstPause: replicas fail together
		return time.Now().Add(pause)
	}
}

// writeStatus writes the state of the account. If another replica has written one since this replica has read
// it, writeStatus reads that state instead, and returns the conflict: this replica may have lost the account,
// and its late write must not replace the state that the new holder has written. If the account was removed
// meanwhile, writeStatus deletes what it has written, and returns a removedError.
func (a *accountRun) writeStatus(ctx context.Context, record *accountRecord, status accountStatusRecord) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	value, err := jsonv2.Marshal(status)
	if err != nil {
		return err
	}
	var revision uint64
	key := accountStatusKey(a.name)
	if a.revision == 0 {
		revision, err = a.kv.Create(ctx, key, value)
	} else {
		revision, err = a.kv.Update(ctx, key, value, a.revision)
	}
	switch {
	case conflicts(err):
		return errors.Join(err, a.readStatus(ctx, record))
	case err != nil:
		return err
	}
	a.revision = revision
	err = a.checkRecord(ctx, record)
	if _, isRemoved := errors.AsType[*removedError](err); isRemoved {
		err = errors.Join(err, a.kv.Purge(ctx, key, jetstream.LastRevision(revision), jetstream.PurgeTTL(removalTTL)))
	}
	return err
}

// readStatus reads the latest state of the account in the bucket. It returns a removedError if the account was
// removed.
func (a *accountRun) readStatus(ctx context.Context, record *accountRecord) error {
	if err := a.checkRecord(ctx, record); err != nil { // the directory may have changed while this replica was cut off
		return err
	}
	status, revision, err := readAccountStatus(ctx, a.kv, record)
	if err == nil {
		a.written, a.revision = status, revision
	}
	return err
}

// isOf reports whether l is of this record and shard, so that it can go on.
func (l *liveAccount) isOf(record *accountRecord, s *shard) bool {
	return record != nil && l.shard == s && l.begun.ID == record.ID && l.begun.Credential == record.Credential
}

// step finds the profiles that are to be followed, stops the others, and starts those that are not
// followed yet. A profile that has failed pauses before it is started again. The next step is due when
// such a pause ends, or when the profiles are to be found again.
func (l *liveAccount) step(record *accountRecord) (next time.Time) {
	l.record = record // its Profiles and Since may have changed
	l.removeEnded()
	next = l.findProfiles()
	l.removeUnwanted()
	if len(l.failures) == 0 && l.findFailure.count == 0 { // nothing fails any more
		l.err = nil
	}
	for _, p := range l.profiles {
		isPausing := l.failures[p].until.After(time.Now())
		if l.followed[p] == nil && !isPausing {
			l.follow(p)
		}
		if l.followed[p] == nil { // it pauses, also if follow has failed
			next = earliest(next, l.failures[p].until)
		}
	}
	return next
}

// removeUnwanted stops the profiles that are not to be followed any more, and forgets their failures.
func (l *liveAccount) removeUnwanted() {
	for p, f := range l.followed {
		if !slices.Contains(l.profiles, p) {
			_ = f.stop() // if it cannot save, the next follower of the profile begins with an older checkpoint
			delete(l.followed, p)
			l.removeRow(f.key)
		}
	}
	for p := range l.failures {
		if !slices.Contains(l.profiles, p) {
			delete(l.failures, p)
			l.removeRow(profileKey(p))
		}
	}
}

// removeEnded removes profiles whose following has failed, and forgets the earlier failures of those
// that have succeeded.
func (l *liveAccount) removeEnded() {
	for p, f := range l.followed {
		if isFollowed := f.ctx.Err() == nil; isFollowed {
			if f.succeeded.Load() {
				delete(l.failures, p)
			}
			continue
		}
		err := f.stop()
		delete(l.followed, p)
		isStopping := l.shard.ctx.Err() != nil || l.refused.Load() != nil // the whole account
		if !isStopping {
			l.failed(p, err)
		}
	}
}

// failed records and reports a failure of a profile, which then pauses. The removal of the account is
// not a failure: the profile only pauses, and the account ends when the directory reports the removal.
func (l *liveAccount) failed(p api.Profile, err error) {
	failed := l.failures[p]
	failed.count++
	failed.until = time.Now().Add(backoff{time.Second, worstAccountPause}.pause(failed.count))
	l.failures[p] = failed
	if l.isRemoval(l.name, err) {
		return
	}
	l.err = err
	l.setFailed(p, err)
	l.report(l.shard.ctx, l.name, p, err)
}

// findProfiles finds the organizations and workspaces that the account can see, unless its
// profiles are given, and returns when to do that again.
func (l *liveAccount) findProfiles() (next time.Time) {
	if len(l.record.Profiles) > 0 {
		l.profiles, l.findFailure, l.nextFind = l.record.Profiles, failure{}, time.Time{}
		return onlyWhenWoken()
	}
	if l.nextFind.After(time.Now()) {
		return l.nextFind
	}
	found, err := l.visible(l.task.parkable(l.shard.ctx))
	switch {
	case err == nil:
		l.profiles, l.findFailure = found, failure{}
		l.nextFind = time.Now().Add(findEvery)
	case l.shard.ctx.Err() != nil: // the account is being stopped
	case l.recordRefusal(err):
		l.nextFind = time.Now().Add(worstPause)
	default:
		l.findFailure.count++
		l.nextFind = time.Now().Add(backoff{time.Second, worstAccountPause}.pause(l.findFailure.count))
		l.err = err
		l.report(l.shard.ctx, l.name, api.Profile{}, err)
	}
	return l.nextFind
}

// visible returns the organizations and workspaces that the account can see.
func (l *liveAccount) visible(ctx context.Context) (found []api.Profile, err error) {
	for org, err := range l.client.Orgs.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		found = append(found, api.Org(org.ID))
	}
	for workspace, err := range l.client.Workspaces.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		found = append(found, api.Workspace(workspace.ID))
	}
	return found, nil
}

// recordRefusal reports whether err says that the account needs a new sign-in, and records that.
func (l *liveAccount) recordRefusal(err error) bool {
	if !isRefusal(err) {
		return false
	}
	l.refuse(l.begun.Credential, err)
	return true
}

// dropCheckpoints makes stopAll save no checkpoint: it ends the publishers, as the loss of the lease does,
// and sessionStore.Save saves nothing after the end of its publisher.
func (l *liveAccount) dropCheckpoints() {
	for _, f := range l.followed {
		f.endPub(errLost)
	}
}

// stopAll stops all profiles and saves their checkpoints.
func (l *liveAccount) stopAll() {
	for _, f := range l.followed { // all end while the first is waited for
		f.end(nil)
	}
	for p, f := range l.followed {
		_ = f.stop() // if it cannot save, the next follower of the profile begins with an older checkpoint
		delete(l.followed, p)
	}
}

// followed is a profile of an account that is followed.
type followed struct {
	*liveAccount
	profile api.Profile
	key     string
	ctx     context.Context //nolint:containedctx // of the following
	end     context.CancelCauseFunc
	endPub  context.CancelCauseFunc
	pub     *publisher
	steps   *events.Stepper
	task    *task

	hasFailed bool                   // when it was followed before
	succeeded atomic.Bool            // since it is followed
	success   atomic.Int64           // the latest search or saved checkpoint, in Unix nanoseconds; 0 before the first
	failure   atomic.Pointer[string] // text of the latest failure after that; nil if there is none

	// Guarded by the mutex of the replica.
	publishedBefore uint64  // events, when recent was computed
	recent          float64 // events of late
	watched         watchKind
	closeWatch      context.CancelFunc
}

// follow starts to follow a profile, and records a failure to do so. The steps, which read the events,
// end with f.ctx: when the replica gives the slot of the account away. The publisher ends with
// f.pub.alive: after stop has saved the checkpoint, or when the replica loses its lease.
func (l *liveAccount) follow(p api.Profile) {
	f := &followed{liveAccount: l, profile: p, key: profileKey(p), hasFailed: l.failures[p].count > 0}
	f.ctx, f.end = context.WithCancelCause(context.WithValue(l.shard.ctx, profileContext{}, p))
	f.pub = f.newPublisher()
	f.pub.alive, f.endPub = context.WithCancelCause(l.shard.held.alive)
	f.pub.onLost = func(err error) { f.endPub(err); f.end(err); l.task.wake() } // the task of the account removes it
	err := f.start()
	if err != nil {
		f.end(err)
		f.endPub(err)
		l.failed(p, err)
		return
	}
	l.followed[p] = f
}

// newPublisher returns the publisher of a profile. The name of the account is in the subjects of its
// events, its epoch and its dead letters, and in the IDs of its messages. The IDs also have a part of the random
// ID of the account: if it is removed and added again, the stream does not drop its events as duplicates.
func (f *followed) newPublisher() *publisher {
	epoch := f.stream.accountEpochs(f.name) + "." + f.key
	pub := newPublisher(&fence{stream: f.stream, messages: f.messages, term: f.shard.term, subject: epoch}, f.shard.held)
	pub.replica, pub.profile = f.accountReplica.name, f.profile
	pub.scope, pub.checkAccount = token(f.name)+".", f.checkAccount
	pub.idPrefix = token(f.name) + "-" + f.begun.ID[:min(len(f.begun.ID), 8)] + "-"
	pub.reads, pub.total = f.reads, &f.total // which all profiles of the replica share
	pub.onRetry, pub.onDeadLetter, pub.hooks = f.reportRetry, f.reportDeadLetter, &f.Hooks
	return pub
}

// start makes the Stepper of a profile, and a task that runs its steps. The first step is due now.
func (f *followed) start() (err error) {
	o := f.Follow
	o.Store = &sessionStore{
		// The keys have the name of the account and its ID: one that is added again has another ID, and begins
		// without checkpoints.
		CheckpointStore: CheckpointStore{
			Bucket: f.kv, Epoch: f.shard.term, claimOnSave: true, scope: token(f.name) + "." + f.begun.ID + ".",
		},
		pub: f.pub, saved: f.recordSuccess,
	}
	o.Name = f.key
	o.SaveInterval = cmp.Or(o.SaveInterval, time.Second)
	o.PollOnly = o.PollOnly || f.Sockets == 0
	o.OnRetry = f.reportRetry
	o.OnCaughtUp = func(context.Context) {
		f.recordSuccess()
		isFirst := !f.succeeded.Swap(true)
		if isFirst && f.hasFailed {
			f.liveAccount.task.wake() // its step forgets the failures of the profile, and saves the account's state
		}
	}
	if f.OnGap != nil {
		o.OnGap = func(ctx context.Context, g events.Gap) error { return f.OnGap(ctx, f.name, f.profile, g) }
	}
	query := events.Query{Profile: f.profile, CreatedMin: f.record.Since, Limit: maxBatch}
	f.steps, err = f.client.Events.Stepper(query, f.pub.add, &o)
	if err != nil {
		return err
	}
	f.task = f.accountReplica.steps.newTask(f.lane, f.step)
	f.steps.Notify(f.task.wake)
	f.setFollowing(true)
	f.task.startAt(time.Now())
	return nil
}

// step searches the log if that is due, and returns when the next step is. After a failure it ends the
// following of the profile and wakes the task of the account, which removes the profile.
func (f *followed) step() time.Time {
	if f.refused.Load() != nil { // in a search of another profile: the task of the account stops this one, too
		return time.Now().Add(worstPause)
	}
	ctx, ended := observeSearch(f.task.parkable(f.ctx), &f.Hooks, f.stream.Name)
	next, err := f.steps.Step(ctx)
	ended(err)
	if err == nil {
		return next
	}
	f.recordRefusal(err)
	f.end(err)
	f.liveAccount.task.wake()
	noNextStep := time.Time{}
	return noNextStep
}

// reportRetry reports a temporary failure. If the credential is refused, recordRefusal stops the account instead.
func (f *followed) reportRetry(ctx context.Context, e api.RetryEvent) {
	if f.recordRefusal(e.Err) {
		return
	}
	f.failure.Store(new(e.Err.Error()))
	if f.OnRetry != nil {
		f.OnRetry(ctx, f.name, f.profile, e)
	}
}

// reportDeadLetter reports a dead letter.
func (f *followed) reportDeadLetter(ctx context.Context, err error) {
	if f.OnDeadLetter != nil {
		f.OnDeadLetter(ctx, f.name, f.profile, err)
	}
}

// checkAccount returns a removedError if the account was removed.
func (f *followed) checkAccount(ctx context.Context) error {
	return f.checkRecord(ctx, f.begun)
}

// stop ends f: it waits for the step that runs, saves the checkpoint while the publisher still
// stores events, and then ends the publisher. It returns why f has ended: the cause of its
// context, which is context.Canceled unless something else has ended it before.
func (f *followed) stop() error {
	f.end(nil)
	cause := context.Cause(f.ctx)
	f.setFollowing(false)
	f.task.stop()               // waits for the step
	err := f.steps.Close(f.ctx) // saves the checkpoint, although the context has ended
	f.endPub(nil)
	f.pub.running.Wait()
	return errors.Join(cause, err)
}
