package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
)

const opLimits = "relay.NewLimits"

const (
	outageWait   = 5 * time.Second // without NATS, until calls start with the limits of their client alone
	writeTimeout = 2 * time.Second
	retryEvery   = time.Second // after a write that failed, or that conflicted with an unknown value
	longestFlush = time.Second // until ended calls are recorded, if nothing else is
	idleWait     = time.Hour
)

// LimitsOptions are the options of [NewLimits].
type LimitsOptions struct {
	Stream Stream // whose bucket holds the limits; the stream itself is not used

	// Name of the credential, the same in all processes that use it; required. It is part
	// of keys in the bucket: it must not be the credential itself.
	Name string

	// OnError is called when calls begin to start without NATS, because it cannot be
	// reached or a record in the bucket cannot be read.
	OnError func(ctx context.Context, err error)
}

// Limits is an [api.Limiter] for all processes, on any number of machines, that use the
// same credential. Together they keep the rate limits as one client does: the server
// refuses no call, unless others use the credential too.
//
//	limits, err := relay.NewLimits(ctx, relay.LimitsOptions{Stream: stream, Name: "indexer"})
//	...
//	defer limits.Close()
//	client, err := fastio.New(fastio.WithTokenSource(tokens), fastio.WithLimiter(limits))
//
// A group with published windows, see [api.RateWindows], has these. Calls of other groups
// start at once until a response announces a limit; one of at most 1,000 calls is kept from
// then on. After a response that refuses a call, or announces that others have used up a
// window, no process starts a call of the group until the time that the server requires, an
// hour at most.
//
// Processes whose calls wait are served in turn. A call costs about two writes to NATS. The
// running calls of a process that is lost count for 30 seconds. No clocks of machines are
// compared.
//
// When NATS cannot be reached, a call waits for 5 to 7 seconds. Calls then start at once,
// within the limits of their own client, until NATS is back.
type Limits struct {
	options   LimitsOptions
	kv        limitsBucket
	began     time.Time // by the clock of the server of NATS
	process   string
	prefix    string
	published func(group string) []api.RateWindow

	ctx    context.Context //nolint:containedctx // of the goroutines
	cancel context.CancelFunc
	groups sync.WaitGroup
	watch  sync.WaitGroup
	closed chan struct{}

	mu    sync.Mutex
	byKey map[string]*limitGroup
}

var _ api.Limiter = (*Limits)(nil)

var errLimitsClosed = errors.New("fastio: relay: the Limits are closed")

// NewLimits returns the limits of a credential, for fastio.WithLimiter. Call Close when
// the calls have ended. It needs ctx for the start only.
//
// Errors: [*api.InputError] for an option; the error of NATS if the bucket cannot be
// opened.
func NewLimits(ctx context.Context, o LimitsOptions) (*Limits, error) {
	if o.Name == "" {
		return nil, &api.InputError{Op: opLimits, Field: "LimitsOptions.Name", Rule: "must be given", Got: strconv.Quote(o.Name)}
	}
	kv, err := o.Stream.withDefaults().bucket(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := o.Stream.JetStream.Stream(ctx, "KV_"+kv.Bucket())
	if err != nil {
		return nil, fmt.Errorf("fastio: relay: bucket %s: %w", kv.Bucket(), err)
	}
	serverTime := stream.CachedInfo().TimeStamp
	return newLimits(ctx, kv, serverTime, api.RateWindows, o)
}

// limitsBucket is what Limits use of a bucket: see [jetstream.KeyValue].
type limitsBucket interface {
	Bucket() string
	Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error)
	Create(ctx context.Context, key string, value []byte, o ...jetstream.KVCreateOpt) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	Watch(ctx context.Context, keys string, o ...jetstream.WatchOpt) (jetstream.KeyWatcher, error)
}

// newLimits watches the bucket, and returns when its present values are known. Began is the present
// time by the clock of the server of NATS. Published returns the published windows of a group.
func newLimits(
	ctx context.Context, kv limitsBucket, began time.Time,
	published func(string) []api.RateWindow, o LimitsOptions,
) (*Limits, error) {
	l := &Limits{
		options: o, kv: kv, began: began, process: rand.Text()[:13] /* 65 bits */, prefix: "limit." + token(o.Name) + ".",
		published: published, closed: make(chan struct{}), byKey: map[string]*limitGroup{},
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.ctx, l.cancel = life, cancel
	watcher, err := kv.Watch(life, l.prefix+">")
	if err != nil {
		cancel()
		return nil, fmt.Errorf("fastio: relay: bucket %s: %w", kv.Bucket(), err)
	}
	known := make(chan struct{})
	l.watch.Go(func() { l.keepListening(watcher, sync.OnceFunc(func() { close(known) })) })
	select {
	case <-known:
		return l, nil
	case <-ctx.Done():
		l.Close()
		return nil, ctx.Err()
	}
}

// keepListening applies changes of the bucket until the context of l is done. When a watch has ended, it
// opens another one. It calls known whenever a watch has delivered the values that exist.
func (l *Limits) keepListening(watcher jetstream.KeyWatcher, known func()) {
	for failures := 0; ; {
		if watcher != nil {
			l.listen(watcher, known)
			unwatch(watcher)
			failures = 0
		}
		failures++
		if sleep(l.ctx, backoff{tickEvery, maxPause}.pause(failures)) != nil {
			return
		}
		var err error
		watcher, err = l.kv.Watch(l.ctx, l.prefix+">")
		if err != nil {
			watcher = nil
		}
	}
}

// listen applies changes of the bucket until the context of l is done or the watch has ended. The watcher
// first delivers the values that exist, which may be those of a new bucket, and then a nil entry, at which
// listen calls known.
func (l *Limits) listen(watcher jetstream.KeyWatcher, known func()) {
	arrival := requested          // until the nil entry: apply takes also a value with a lower revision
	existing := map[string]bool{} // the keys of these values
	for {
		select {
		case <-l.ctx.Done():
			return
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return
			case entry == nil:
				l.forgetOthers(existing)
				arrival, existing = watched, nil
				known()
			default:
				if existing != nil {
					existing[entry.Key()] = true
				}
				l.group(entry.Key()).apply(entry, arrival)
			}
		}
	}
}

// forgetOthers forgets the values of all groups whose keys do not exist: they were in a bucket that was
// deleted.
func (l *Limits) forgetOthers(existing map[string]bool) {
	l.mu.Lock()
	groups := maps.Clone(l.byKey)
	l.mu.Unlock()
	for key, g := range groups {
		if !existing[key] {
			g.forget()
		}
	}
}

// group returns the group of a key of the bucket, which it creates if necessary.
func (l *Limits) group(key string) *limitGroup {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.byKey[key]
	if g == nil {
		g = &limitGroup{Limits: l, key: key, wake: make(chan struct{}, 1)}
		l.byKey[key] = g
	}
	return g
}

// Acquire waits until a call of a group may start.
func (l *Limits) Acquire(ctx context.Context, group string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g := l.group(l.prefix + token(group))
	waiting, err := g.enqueue(group, l.published(group))
	if waiting == nil { // without an error, the call may start
		return err
	}
	select {
	case <-waiting.admitted:
		return nil
	case <-l.closed:
		err = errLimitsClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	g.abandon(waiting)
	return err
}

// Observe records that a call has ended, and what its response announces.
func (l *Limits) Observe(group string, limit api.RateLimit) {
	l.group(l.prefix + token(group)).observe(limit)
}

// LimitWait is a rate group whose calls wait.
type LimitWait struct {
	Group string
	Calls int       // of this process that wait
	Since time.Time // when the first of them became the first
	Until time.Time // when it is expected to start, if no other process is before this one
}

// Waits returns the groups in which calls of this process wait, by name.
func (l *Limits) Waits() []LimitWait {
	l.mu.Lock()
	groups := slices.Collect(maps.Values(l.byKey))
	l.mu.Unlock()
	now := time.Now()
	var all []LimitWait
	for _, g := range groups {
		g.mu.Lock()
		if n := len(g.waiters); n > 0 {
			until, _ := g.budget.opening(now, g.since)
			all = append(all, LimitWait{Group: g.name, Calls: n, Since: g.since, Until: until})
		}
		g.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b LimitWait) int { return strings.Compare(a.Group, b.Group) })
	return all
}

// Close records the calls that have ended, which takes some seconds at most if NATS cannot
// be reached. Calls that wait and later ones fail.
func (l *Limits) Close() {
	l.mu.Lock()
	if !l.isClosed() {
		close(l.closed)
	}
	l.mu.Unlock()
	l.groups.Wait()
	l.cancel()
	l.watch.Wait()
}

// isClosed reports whether Close was called.
func (l *Limits) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// limitGroup is a rate group. Its goroutine writes the changes of its budget.
type limitGroup struct {
	*Limits

	key  string
	wake chan struct{}

	mu          sync.Mutex
	name        string
	runs        bool // its goroutine
	budget      budget
	revision    uint64      // of budget; 0 without one
	broken      error       // why the latest value cannot be used
	started     []time.Time // of the calls of this process that run
	ended       []endedCall // of this process, that are not recorded
	waiters     []*waiter
	since       time.Time // when the first waiter became the first
	unsaved     time.Time // since when there are changes that can wait
	stale       time.Time // when a write conflicted with a value that has not arrived yet; zero means none
	failed      time.Time // the first of the writes that have failed since one succeeded
	retry       time.Time // no write before
	withoutNATS bool      // requests to NATS have failed for outageWait: calls start at once, until a write succeeds
}

type waiter struct {
	admitted   chan struct{} // closed when the call may start
	isAdmitted bool
}

// enqueue starts a call at once and returns nil, or returns a waiter whose admitted is
// closed when the call may start. The name of the rate group is for [LimitWait].
func (g *limitGroup) enqueue(name string, published []api.RateWindow) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.name = name
	if g.isClosed() {
		return nil, errLimitsClosed
	}
	g.budget.published = published
	now := time.Now()
	isUnlimited := !g.budget.hasWindows() && !g.budget.pause.After(now)
	startsAtOnce := g.withoutNATS || isUnlimited // without NATS, the client of the call keeps its own limits
	if startsAtOnce {
		g.started = append(g.started, now) // observe removes it
		return nil, nil
	}
	w := &waiter{admitted: make(chan struct{})}
	if len(g.waiters) == 0 {
		g.since = now // w is the first waiter
	}
	g.waiters = append(g.waiters, w)
	g.notify()
	return w, nil
}

// abandon ends the wait of a call whose context is done. If the call was admitted
// meanwhile, it does not count as started any more.
func (g *limitGroup) abandon(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.isAdmitted {
		// Which start is that of w is not known. The latest is removed: a start that is too early for its
		// call does no harm in observe, one that is too late does.
		g.started = g.started[:len(g.started)-1]
	}
	g.waiters = slices.DeleteFunc(g.waiters, func(o *waiter) bool { return o == w })
	g.notify()
}

// observe records that a call of this process has ended, for the next write of the budget. Which call
// that was is not known. So observe takes the oldest start of all running calls: a later start could
// leave out calls that the server has counted.
func (g *limitGroup) observe(limit api.RateLimit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.started) == 0 {
		return
	}
	e := endedCall{started: g.started[0], at: time.Now(), limit: limit}
	g.started = g.started[1:]
	announcesLimit := limit.RetryAfter > 0 || limit.Limit > 0
	if !announcesLimit && !g.budget.hasWindows() { // no window counts the call, and none is learned from it
		return
	}
	g.ended = append(g.ended, e)
	g.ended = g.ended[max(0, len(g.ended)-maxCounted):]
	g.notify()
}

// notify makes the goroutine of the group call step, and starts the goroutine if it does
// not run. The caller holds g.mu.
func (g *limitGroup) notify() {
	if !g.runs {
		g.Limits.mu.Lock() // Close either waits for the goroutine, or was called before: then none is started
		if !g.isClosed() {
			g.runs = true
			g.groups.Go(g.run)
		}
		g.Limits.mu.Unlock()
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// How a value of the bucket has arrived, for apply.
const (
	watched   = false
	requested = true
)

// apply replaces the budget by a value of the bucket. IsRequested says that refresh has read the value,
// or that a new watch has begun with it. Then the value counts even if its revision is not newer: the
// bucket may be a new one, whose revisions begin again. Any other value that is not newer is ignored.
func (g *limitGroup) apply(entry jetstream.KeyValueEntry, isRequested bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	isNewer := entry.Revision() > g.revision
	isKnown := entry.Revision() == g.revision && g.stale.IsZero() // then g.budget has the value, with better times
	if isKnown || !isNewer && !isRequested {
		return
	}
	value := entry.Value()
	isDeleted := entry.Operation() != jetstream.KeyValuePut
	if isDeleted {
		value = nil
	}
	// A value that was written before these Limits began (g.began) is that much older than now: both times are by
	// the clock of the server. Any other value is taken as written now.
	written := time.Now().Add(-max(0, g.began.Sub(entry.Created())))
	b, err := decodeBudget(value, g.budget.published, written)
	// The budget lists when calls ended. These are numbered, and next is the number of the next one: it never falls
	// while the record exists. After the record was deleted, a new one begins again: its numbers are those of other
	// calls, whose times refine must not mix.
	isSameRecord := isNewer && b.next >= g.budget.next
	if isSameRecord {
		b.refine(&g.budget) // with the times that this process knows better
	}
	g.budget, g.revision, g.stale = b, entry.Revision(), time.Time{}
	g.broken = err // nothing is written over a value that cannot be decoded: see put
	if g.runs {
		g.notify()
	}
}

// forget forgets the value, because the key does not exist. It keeps the published windows, which are not in the value.
func (g *limitGroup) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.budget, g.revision, g.stale = budget{published: g.budget.published}, 0, time.Time{}
}

// run writes changes until the Limits are closed, and then the last ones. step returns
// when it must be called next.
func (g *limitGroup) run() {
	timer := time.NewTimer(idleWait)
	defer timer.Stop()
	for !g.isClosed() {
		timer.Reset(g.step())
		select {
		case <-g.closed:
		case <-g.wake:
		case <-timer.C:
		}
	}
	const closingTries = 3 // a write fails if another process has written since
	for range closingTries {
		if g.step() == idleWait { // nothing is left to write
			return
		}
	}
}

// step starts the calls that may start, with one write of the budget at most: plan starts those
// that need no write, and write, once it has succeeded, those that the change admits. It returns
// how long to wait before it is called again, idleWait if nothing is left to write.
func (g *limitGroup) step() time.Duration {
	if wait := g.refresh(); wait > 0 {
		return wait
	}
	due, wait := g.plan(time.Now())
	if due == nil {
		return wait
	}
	return g.write(due)
}

// refresh makes sure that the latest value is known after a write has conflicted with it. If the
// watcher does not deliver the value within retryEvery, refresh requests it. It does so at once if
// the group is closed, as the few last steps cannot wait. It returns 0 if the value is known, and
// otherwise how long step must wait.
func (g *limitGroup) refresh() time.Duration {
	g.mu.Lock()
	staleSince := g.stale
	g.mu.Unlock()
	if staleSince.IsZero() {
		return 0
	}
	if wait := time.Until(staleSince.Add(retryEvery)); wait > 0 && !g.isClosed() {
		return wait
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(g.ctx, writeTimeout)
	defer cancel()
	entry, err := g.kv.Get(ctx, g.key)
	switch {
	case err == nil:
		g.apply(entry, requested)
	case errors.Is(err, jetstream.ErrKeyNotFound):
		g.forget()
	default:
		return g.fail(err, began)
	}
	return 0
}

// change is a write of a budget.
type change struct {
	budget

	now      time.Time
	revision uint64 // before
	ended    int    // calls that it records
	admitted int    // calls that may start when it is written
}

// plan returns the write of the budget that is due, or nil and how long to wait until
// plan must be called again. The write records which calls have ended, and admits
// waiting calls, which start once the write has succeeded. If no window counts calls,
// plan starts them without a write.
func (g *limitGroup) plan(now time.Time) (*change, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isClosed() {
		g.waiters = nil // Acquire returns errLimitsClosed for them
	}
	own := processCalls{
		process: g.process, running: len(g.started), ended: g.ended, waiting: len(g.waiters), since: g.since,
		revision: g.revision,
	}
	b := g.budget.clone() // what is written; g.budget stays as the bucket has it
	b.endLost(now)
	b.dropEnds(now)
	b.record(own, now)
	admitted, nextTry := b.admit(own, now)
	if admitted > 0 && !b.hasWindows() { // they start without a write: no window counts them
		g.start(admitted, now)
		admitted = 0
	}
	untilTry := idleWait
	if nextTry.After(now) {
		untilTry = nextTry.Sub(now)
	}
	untilRetry := g.retry.Sub(now) // positive after a write that has failed a short time ago
	untilWrite, changed := g.untilWrite(&b, now)
	isLastChange := changed && g.isClosed()
	mustWrite := admitted > 0 || untilWrite <= 0 || isLastChange
	switch {
	case untilRetry > 0 && !g.isClosed():
		return nil, untilRetry
	case mustWrite:
		g.unsaved = time.Time{}
		return &change{budget: b, now: now, revision: g.revision, ended: len(g.ended), admitted: admitted}, 0
	default:
		return nil, min(untilTry, untilWrite)
	}
}

// untilWrite returns how long the write of b can wait, and whether b has a change by this process. The
// wait is 0 or less if b must be written now: other processes need to know at once of a pause, a learned
// window and an entry in the queue. Other changes are collected for a short time (flushTime) from the
// first of them, which was at g.unsaved. Without a change, b is only written to renew the running calls of
// this process (untilRenewal). The caller holds g.mu.
func (g *limitGroup) untilWrite(b *budget, now time.Time) (wait time.Duration, changed bool) {
	before := &g.budget
	isUrgent := b.pause != before.pause || b.learned != before.learned || len(b.queue) > len(before.queue)
	if isUrgent {
		return 0, true
	}
	recorded, present := before.runningOf(g.process), b.runningOf(g.process)
	wait = untilRenewal(recorded, present, now)
	ownHaveEnded := len(g.ended) > 0 && b.hasWindows() // without a window, no ends are recorded
	changed = recorded.calls != present.calls || ownHaveEnded || len(b.queue) != len(before.queue)
	if !changed {
		g.ended, g.unsaved = nil, time.Time{} // ended calls, if any, were without a window: nothing counts them
		return wait, false
	}
	if g.unsaved.IsZero() {
		g.unsaved = now
	}
	return min(wait, g.unsaved.Add(b.flushTime()).Sub(now)), true
}

// untilRenewal returns after which time the running calls of a process are written again, so that they
// do not count as lost, also if two writes fail. The calls of recorded were written into the budget at its time
// since; those of present run now. It returns idleWait if one of the two has no calls: then there is nothing to renew, and
// untilWrite itself notices that their numbers differ.
func untilRenewal(recorded, present runningCalls, now time.Time) time.Duration {
	if recorded.calls == 0 || present.calls == 0 {
		return idleWait
	}
	return recorded.since.Add(lostAfter / 3).Sub(now)
}

// flushTime returns how long changes are collected before they are written: at most a twentieth of the
// shortest window. A window counts a call until its Size after the end of the call. Other processes must
// know of the end long before that: until they do, they count the call as one that still runs.
func (b *budget) flushTime() time.Duration {
	flush := longestFlush
	for w := range b.windows {
		flush = min(flush, w.Size/20)
	}
	return flush
}

// start admits the first n waiting calls, or all if fewer wait. The caller holds g.mu.
func (g *limitGroup) start(n int, now time.Time) {
	n = min(n, len(g.waiters)) // some were canceled
	for _, w := range g.waiters[:n] {
		w.isAdmitted = true
		close(w.admitted)
		g.started = append(g.started, now)
	}
	g.waiters, g.since = g.waiters[n:], now // from now on, another waiter is the first
}

// write writes a budget and starts the calls that it admits. If another process has written
// the budget since the plan, nothing is started: the next step plans again with that value.
// The result is how long to wait before the next step: 0, unless NATS has failed.
func (g *limitGroup) write(c *change) time.Duration {
	began := time.Now()
	revision, err := g.put(c)
	switch {
	case err == nil:
		g.recordWritten(c, revision)
	case conflicts(err):
		g.recordConflict(c)
	default:
		return g.fail(err, began)
	}
	return 0
}

// recordWritten records that a budget is written, and starts the calls that it admits.
func (g *limitGroup) recordWritten(c *change, revision uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed, g.retry, g.withoutNATS = time.Time{}, time.Time{}, false
	g.ended = g.ended[min(c.ended, len(g.ended)):] // the first c.ended calls are recorded now
	g.start(c.admitted, time.Now())
	isOutdated := revision < g.revision // another process has written after this write, and the watcher was faster
	if isOutdated {                     // the later budget stays; refine takes earlier times from c
		g.budget.refine(&c.budget)
		return
	}
	g.budget, g.revision = c.budget, revision
}

// recordConflict records in g.stale when the write of c has conflicted with one of another process.
// As long as g.stale is set, refresh makes step wait for the value of that process. It is not set if
// the watcher has already delivered a newer value than the one from which c was made.
func (g *limitGroup) recordConflict(c *change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	isDelivered := g.revision != c.revision
	if !isDelivered {
		g.stale = time.Now()
	}
}

// put writes a budget and returns the new revision. If another process has written the budget
// since it was read, conflicts returns true for the error.
func (g *limitGroup) put(c *change) (uint64, error) {
	g.mu.Lock()
	broken := g.broken
	g.mu.Unlock()
	if broken != nil {
		return 0, broken
	}
	value, err := c.encode(c.now)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(g.ctx, writeTimeout)
	defer cancel()
	if c.revision == 0 {
		return g.kv.Create(ctx, g.key, value)
	}
	return g.kv.Update(ctx, g.key, value, c.revision)
}

// fail records that a request to NATS that began at a time has failed, and returns how
// long to wait until the next try. When requests have failed for outageWait, all waiting
// calls start, and OnError is called once.
func (g *limitGroup) fail(err error, began time.Time) time.Duration {
	g.mu.Lock()
	now := time.Now()
	g.retry = now.Add(retryEvery)
	if g.failed.IsZero() {
		g.failed = began
	}
	left := g.failed.Add(outageWait).Sub(now)
	first := left <= 0 && !g.withoutNATS
	if left <= 0 {
		g.withoutNATS = true
		g.start(len(g.waiters), now)
	}
	g.mu.Unlock()
	if first && g.options.OnError != nil {
		g.options.OnError(g.ctx, fmt.Errorf("fastio: relay: %s: %w", g.key, err))
	}
	return retryEvery
}
