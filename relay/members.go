package relay

import (
	"bytes"
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
)

// Replicas that divide work are the members of a group. Each has a heartbeat, a key of the
// bucket that expires unless it is renewed, and all agree on views, which are the values of
// one key: the list of the members at its revision. In a view, each member computes what is
// its share. It stops what is not, then says so in its heartbeat, and begins what is new to
// its share when all members of the view have said so. So no two replicas hold the same at
// the same time, and nothing is written for what is held.
//
// A member that is lost is left out of the next view, after its heartbeat has expired or was
// deleted by the member that writes the view, which requires that it was not renewed. The
// member itself has stopped before, by its own clock.
const (
	renewals       = 3 // in the time of a lease
	requestTimeout = 5 * time.Second

	stopShare  = 4                      // fifths of the lease, after which a replica that cannot renew it stops
	viewAfter  = 100 * time.Millisecond // from a change of the members to the next view, which may have several
	viewBehind = 500 * time.Millisecond // later for each member that is to write the view before

	heartbeatPrefix = "replica." // of keys, before the group and the name of the replica
	viewPrefix      = "view."    // of keys, before the group
)

var (
	errLost       = errors.New("the lease was lost")
	errName       = errors.New("another replica has the same name, or one that was killed within the time of a lease")
	errWatchEnded = errors.New("the watch has ended: was the bucket deleted?")
)

// ledger is what members use of a bucket. The revision of each write is higher than all
// before it. The errors of writes whose condition is not met satisfy conflicts.
type ledger interface {
	// put writes a key, which expires after ttl unless that is 0. It requires that the revision
	// of the latest entry of the key is latest, 0 for no entry. It returns the new revision.
	put(ctx context.Context, key string, value []byte, latest uint64, ttl time.Duration) (revision uint64, err error)
	// remove deletes a key on the same condition.
	remove(ctx context.Context, key string, latest uint64) error
	// get returns the latest entry of a key, with revision 0 if there is none. It may be behind.
	get(ctx context.Context, key string) (*ledgerEntry, error)
	// watch calls changed with the latest entries of keys, then with nil, and then with each
	// change, in the order of their revisions. It may leave out entries that later ones have
	// replaced. It returns the error of ctx, or why it has ended.
	watch(ctx context.Context, keys []string, changed func(e *ledgerEntry)) error
}

// ledgerEntry is an entry of a key.
type ledgerEntry struct {
	key      string
	value    []byte // nil if the key was deleted or has expired
	revision uint64
}

// division is what a member holds.
type division interface {
	// release stops what the replica does not have in a view, and waits until that has
	// stopped. With nil it stops everything, and returns no error: it reads no lists of a view.
	// After an error it is called again.
	release(ctx context.Context, v *view) error
	// hold begins what the replica has in a view. It must not block.
	hold(v *view, h *holding)
}

// view is a list of members. Its number is a revision of the bucket.
type view struct {
	Version int    `json:"v"`
	Members []peer `json:"m"` // by name

	number uint64
}

// peer is a member of a view.
type peer struct {
	Name  string `json:"r"`
	Token string `json:"t"`          // of one life of the replica
	Seen  uint64 `json:"s"`          // revision of a heartbeat with the token
	List  string `json:"l,omitzero"` // of what it can follow: see listKey
}

// find returns the index of a member, -1 if there is none with that name and token.
func (v *view) find(name, token string) int {
	return slices.IndexFunc(v.Members, func(p peer) bool { return p.Name == name && p.Token == token })
}

// heartbeat is the value of a key of a replica, at most 100 bytes.
type heartbeat struct {
	Version int    `json:"v"`
	Token   string `json:"t"`
	View    uint64 `json:"n"` // outside of whose share it holds nothing; 0 for none yet
	List    string `json:"l,omitzero"`
}

// beat is the latest entry of the heartbeat of a replica.
type beat struct {
	heartbeat
	value    []byte // nil if it is deleted or has expired
	revision uint64
	heard    time.Time // when it arrived, by the local clock
}

// holding is the time for which a replica may hold its share.
type holding struct {
	*member
	alive context.Context //nolint:containedctx // until the lease is lost
	end   context.CancelCauseFunc
}

// member is a replica in a group.
type member struct {
	ledger    ledger
	group     string
	name      string
	list      string
	ttl       time.Duration
	division  division
	onError   func(err error)
	onHealthy func() // called after each confirmed heartbeat, and when the others are known
	onWrite   func() // called after each confirmed write

	changed chan struct{} // holds a value if adopt must look again
	due     chan struct{} // holds a value if a heartbeat is due

	mu       sync.Mutex
	complete bool            // the watch has delivered all entries
	beats    map[string]beat // by name of the replica
	view     *view           // the latest; nil before the first
	viewAt   uint64          // revision of its key
	viewed   time.Time       // when it arrived
	missing  map[string]bool // keys that were found to have no entry, after the latest one that is known
	token    string          // of the heartbeat; "" before the first, and after it was deleted or replaced
	adopted  uint64          // number of the view that the next heartbeat names
	holding  *holding        // nil without a valid lease
	began    time.Time       // of the latest confirmed write
	expiry   *time.Timer
	renewed  chan struct{} // closed at the next confirmed write
}

// newMember returns a member. The caller sets division and the callbacks.
func newMember(l ledger, group, name string, ttl time.Duration) *member {
	return &member{
		ledger: l, group: group, name: name, ttl: ttl, onError: func(error) {}, onHealthy: func() {}, onWrite: func() {},
		changed: make(chan struct{}, 1), due: make(chan struct{}, 1),
		beats: map[string]beat{}, missing: map[string]bool{}, renewed: make(chan struct{}),
	}
}

// beatKey returns the key of the heartbeat of a replica.
func (m *member) beatKey(name string) string { return heartbeatPrefix + m.group + "." + token(name) }

// viewKey returns the key of the views.
func (m *member) viewKey() string { return viewPrefix + m.group }

// run keeps the replica in its group until ctx is done or the watch has ended. Then it stops
// what is held, deletes the heartbeat, and returns the error of ctx or that of the watch.
func (m *member) run(ctx context.Context) error {
	detached := context.WithoutCancel(ctx)
	beating, stopBeating := context.WithCancel(detached) // heartbeats go on while adopt stops what is held
	defer stopBeating()
	watching, endWatching := context.WithCancelCause(ctx) // also done when the watch has ended
	defer endWatching(nil)
	var watch, beats sync.WaitGroup
	watch.Go(func() {
		keys := []string{heartbeatPrefix + m.group + ".*", m.viewKey()}
		endWatching(m.ledger.watch(watching, keys, m.apply))
	})
	beats.Go(func() { m.keepBeating(beating) })
	m.adopt(watching)
	stopBeating()
	beats.Wait()
	m.leave(detached) // when no heartbeat is being written any more
	watch.Wait()      // not before leave: while NATS does not respond, a watch takes seconds to end
	return context.Cause(watching)
}

// join keeps a replica in its group until ctx is done. Open returns the bucket. If the
// bucket is deleted, join opens it again, and the replica goes on as another member.
func join(ctx context.Context, report func(error), open func() (kvLedger, error), newMember func(l ledger) *member) error {
	for {
		var l kvLedger
		err := retryTemporary(ctx, report, func() (err error) { l, err = open(); return err })
		if err != nil {
			return err
		}
		err = newMember(l).run(ctx)
		if !errors.Is(err, errWatchEnded) || l.js.Conn().IsClosed() {
			return err
		}
		report(err)
	}
}

// leave ends the holding and deletes the heartbeat. If that fails, the heartbeat expires.
func (m *member) leave(ctx context.Context) {
	m.lose()
	m.mu.Lock()
	latest, token := m.beats[m.name], m.token
	m.mu.Unlock()
	hasHeartbeat := token != ""                               // false before the first, or if it was deleted or replaced
	isForeign := latest.value != nil && latest.Token != token // another replica has the name
	if !hasHeartbeat || isForeign {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// The revision is 0, which stands for no heartbeat, if no write of a heartbeat was confirmed.
	err := m.remove(ctx, m.name, latest.revision)
	if err != nil {
		m.onError(fmt.Errorf("deleting the heartbeat: %w", err))
	}
}

// put writes a key, unless it has a later revision than after.
func (m *member) put(ctx context.Context, key string, value []byte, after uint64, ttl time.Duration) (uint64, error) {
	revision, err := m.ledger.put(ctx, key, value, m.requiredRevision(key, after), ttl)
	if conflicts(err) {
		m.refresh(ctx, key)
	}
	return revision, err
}

// remove deletes the heartbeat of a replica if after is the revision of its latest entry. If there
// is a later entry, the replica is alive, and remove returns nil.
func (m *member) remove(ctx context.Context, name string, after uint64) error {
	key := m.beatKey(name)
	err := m.ledger.remove(ctx, key, m.requiredRevision(key, after))
	if conflicts(err) { // by such an entry, or because another replica has deleted the heartbeat
		m.refresh(ctx, key)
		return nil
	}
	return err
}

// requiredRevision returns the revision that a key must have for a write: after, the revision of the latest
// known entry, or 0 if that entry is gone.
func (m *member) requiredRevision(key string, after uint64) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.missing[key] {
		return 0
	}
	return after
}

// refresh reads a key after a write has conflicted: the entry that is known here is not the latest one.
// If it was deleted or has expired during a disconnection, the watch may never deliver that. A key
// without an entry is recorded as missing, so that the next write requires that there is none: see
// requiredRevision. If the key cannot be read, the next write conflicts, too, and refresh is called again.
func (m *member) refresh(ctx context.Context, key string) {
	e, err := m.ledger.get(ctx, key)
	switch {
	case err != nil:
	case e.revision == 0:
		m.mu.Lock()
		m.missing[key] = true
		m.mu.Unlock()
	default:
		m.apply(e)
	}
}

// apply records an entry of the ledger, a view or a heartbeat, if it is newer than the known one of its
// key. Then it wakes adopt with m.changed, except after a renewal, which does not change the members.
//
// The watch begins with the entries that exist, and calls apply with nil after the last of them. From
// then on all members are known: the replica may write heartbeats, the first one now (m.due), and apply
// wakes adopt.
func (m *member) apply(e *ledgerEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e != nil {
		delete(m.missing, e.key) // the key has an entry
	}
	switch {
	case e == nil:
		m.complete = true
		m.onHealthy()
		signal(m.due)
	case e.key == m.viewKey():
		isNew := e.revision > m.viewAt
		if isNew { // else it is known: after a conflict, refresh and the watch both deliver it
			m.setView(e)
		}
	default:
		name, err := untoken(e.key[strings.LastIndexByte(e.key, '.')+1:])
		isOfAnotherProgram, isNew := err != nil, e.revision > m.beats[name].revision
		if isOfAnotherProgram || !isNew {
			return
		}
		if isRenewal := m.setBeat(name, e); isRenewal {
			return
		}
	}
	if m.complete {
		signal(m.changed)
	}
}

// setView records a view. The caller holds m.mu.
func (m *member) setView(e *ledgerEntry) {
	v := &view{number: e.revision}
	if e.value != nil && jsonv2.Unmarshal(e.value, v) != nil {
		v = nil // propose writes it again
	}
	m.view, m.viewAt, m.viewed = v, e.revision, time.Now()
}

// setBeat records a heartbeat of the replica with a name, and reports whether it is only a renewal: the
// same value again. If another replica has deleted or replaced the heartbeat of m, m loses its lease, and
// must write a heartbeat with a new token, by which it becomes another member. The caller holds m.mu.
func (m *member) setBeat(name string, e *ledgerEntry) (isRenewal bool) {
	before := m.beats[name]
	b := beat{value: e.value, revision: e.revision, heard: time.Now()}
	isRenewal = before.value != nil && bytes.Equal(before.value, e.value)
	if isRenewal {
		b.heartbeat = before.heartbeat // with its Token: the same value need not be decoded again
	} else if b.value != nil && jsonv2.Unmarshal(b.value, &b.heartbeat) != nil {
		b.value = nil // without a known Token it belongs to no member: it counts as deleted
	}
	m.beats[name] = b
	isOurs := b.value != nil && b.Token == m.token
	if name == m.name && m.token != "" && !isOurs {
		m.token = ""
		m.loseLocked()
		signal(m.due)
	}
	return isRenewal
}

// keepBeating writes heartbeats until ctx is done.
func (m *member) keepBeating(ctx context.Context) {
	timer := time.NewTimer(m.ttl / renewals)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.due:
		case <-timer.C:
		}
		timer.Reset(m.renew(ctx))
	}
}

// renew writes a heartbeat, and returns the time until the next one is due. It is called by one
// goroutine at a time. When ctx is done, the write goes on: leave requires that it has ended.
func (m *member) renew(ctx context.Context) (wait time.Duration) {
	usual := m.ttl / renewals
	soon := usual / 10
	record, after, err := m.nextHeartbeat()
	if err != nil {
		m.onError(fmt.Errorf("replica %s: %w", m.name, err))
		return usual
	}
	if record == nil { // the heartbeats of the others are not known yet
		return usual
	}
	value, err := jsonv2.Marshal(record)
	if err != nil {
		panic("fastio: relay: " + err.Error()) // impossible
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(requestTimeout, usual))
	defer cancel()
	began := time.Now()
	revision, err := m.put(ctx, m.beatKey(m.name), value, after, m.ttl)
	switch {
	case err == nil:
		m.confirm(*record, value, revision, began)
		return usual
	case conflicts(err): // put has read the latest entry, which is ours if a response was lost
	default:
		m.onError(fmt.Errorf("replica %s: %w", m.name, err))
	}
	return soon
}

// nextHeartbeat returns the heartbeat to write, and the revision of the latest one of this name, which
// it replaces. It returns nil while the heartbeats of the others are not known yet, and errName if
// another replica that runs has the same name.
func (m *member) nextHeartbeat() (next *heartbeat, after uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.complete {
		return nil, 0, nil
	}
	latest := m.beats[m.name]
	isForeign := latest.value != nil && latest.Token != m.token
	if isForeign && !m.isSilent(latest) {
		return nil, 0, errName
	}
	if m.token == "" { // the first heartbeat, or ours was deleted or replaced: the replica becomes another member
		m.token, m.adopted = rand.Text()[:16], 0
	}
	return &heartbeat{Version: 1, Token: m.token, View: m.adopted, List: m.list}, latest.revision, nil
}

// confirm records a heartbeat that NATS has confirmed, and extends the lease, unless the heartbeat was
// deleted or replaced meanwhile. Began is when its write began.
func (m *member) confirm(record heartbeat, value []byte, revision uint64, began time.Time) {
	m.onWrite()
	m.onHealthy()
	m.mu.Lock()
	defer m.mu.Unlock()
	isLost := m.token != record.Token // setBeat has seen that another replica deleted or replaced it
	if isLost {
		return
	}
	if revision > m.beats[m.name].revision { // else the watch was faster, and may have delivered a later one
		m.beats[m.name] = beat{heartbeat: record, value: value, revision: revision, heard: time.Now()}
	}
	m.extendLease(began)
	if m.adopted != record.View { // a view was adopted meanwhile, which the next heartbeat must name
		signal(m.due)
	}
	signal(m.changed)
}

// extendLease makes the lease begin at began. A holding is the time for which the replica may hold its
// share. If there is none, as the previous lease was lost or this is the first, a new one begins, unless the lease
// that began at began is over already. The caller holds m.mu.
func (m *member) extendLease(began time.Time) {
	m.began = began
	close(m.renewed) // wakes holding.check
	m.renewed = make(chan struct{})
	if m.holding == nil && m.valid() {
		m.holding = &holding{member: m}
		m.holding.alive, m.holding.end = context.WithCancelCause(context.Background())
	}
	if m.expiry == nil {
		m.expiry = time.AfterFunc(m.remains(), m.expire)
	} else {
		m.expiry.Reset(m.remains())
	}
}

// remains is the time for which the lease is valid. The caller holds m.mu.
func (m *member) remains() time.Duration { return time.Until(m.began.Add(m.ttl / 5 * stopShare)) }

// valid reports whether the lease is. The caller holds m.mu.
func (m *member) valid() bool { return m.remains() > 0 }

// expire is called by m.expiry, the timer of the lease. It ends the holding, unless the lease was renewed
// since the timer was set.
func (m *member) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.valid() {
		m.expiry.Reset(m.remains())
		return
	}
	m.loseLocked()
}

// lose ends the holding, the time for which the replica may hold its share.
func (m *member) lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loseLocked()
}

// loseLocked is lose for a caller that holds m.mu.
func (m *member) loseLocked() {
	if m.holding != nil {
		m.holding.end(errLost)
		m.holding = nil
		signal(m.changed)
	}
}

// isSilent reports whether no heartbeat of a replica has arrived for so long that its lease
// must have expired, even if the bucket has not reported that.
func (m *member) isSilent(b beat) bool { return time.Since(b.heard) > m.ttl+m.ttl/renewals }

// check returns nil when a heartbeat is confirmed whose write began after check was called. That proves
// that no other replica has begun what this one holds: another one begins only when this heartbeat was
// deleted or has expired, and then NATS refuses to renew it. If the lease is lost first, check returns
// errLost, and if ctx is done, its error.
func (h *holding) check(ctx context.Context) error {
	m, called := h.member, time.Now()
	for {
		m.mu.Lock()
		current, latestBegan, renewed := m.holding, m.began, m.renewed
		m.mu.Unlock()
		if current != h {
			return errLost
		}
		if !latestBegan.Before(called) {
			return nil
		}
		signal(m.due) // the next heartbeat is written now
		select {
		case <-renewed:
		case <-h.alive.Done():
			return errLost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// adopt follows the views until ctx is done, and then stops what is held. A view is a list of the members
// of the group, from which each member computes its share of the work: what it is to hold.
func (m *member) adopt(ctx context.Context) {
	var a adoption
	for {
		wait := m.adoptLatest(ctx, &a)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			_ = m.division.release(ctx, nil) // nil stops everything, which cannot fail: it reads nothing from NATS
			return
		case <-m.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// adoption is how far a member has adopted the latest view.
type adoption struct {
	holding   *holding  // to which the rest belongs; nil without a valid lease
	stoppedIn uint64    // number of the view in which all is stopped that is not in the share
	begunIn   uint64    // number of the view in which the share has begun
	proposeAt time.Time // when the next view is written; zero if the members are those of the present one
}

// adoptLatest adopts the latest view, and writes the next one if that is due. Without a valid lease the
// replica holds nothing and does neither. It returns when to look again.
func (m *member) adoptLatest(ctx context.Context, a *adoption) (wait time.Duration) {
	usual := m.ttl / renewals
	m.mu.Lock()
	current, v := m.holding, m.view
	m.mu.Unlock()
	isOtherLease := current != a.holding // the lease was lost, or is a new one
	if isOtherLease {
		_ = m.division.release(ctx, nil) // nil stops everything, which cannot fail
		*a = adoption{holding: current}
	}
	hasLease := current != nil
	if !hasLease {
		return usual
	}
	if v != nil {
		if err := m.adoptView(ctx, a, v); err != nil {
			m.onError(err)
			return tickEvery
		}
	}
	return min(usual, m.propose(ctx, a))
}

// adoptView adopts a view in two steps. First the replica stops what is not in its share. When all
// members have done so, it begins its share. The caller repeats adoptView until both are done.
func (m *member) adoptView(ctx context.Context, a *adoption, v *view) error {
	if a.stoppedIn != v.number {
		if err := m.stopOthers(ctx, v); err != nil {
			return err
		}
		a.stoppedIn = v.number
		a.proposeAt = time.Time{} // propose computes it again, because the rank of this replica may differ in v
	}
	if a.begunIn != v.number && m.agreed(v, a.holding) { // a.holding: the share is held while the present lease lasts
		a.begunIn = v.number
		m.division.hold(v, a.holding)
	}
	return nil
}

// stopOthers stops what is not in the share of this replica in a view. Then it makes the next
// heartbeat, which names the view, due at once.
func (m *member) stopOthers(ctx context.Context, v *view) error {
	if err := m.division.release(ctx, v); err != nil {
		return err
	}
	m.mu.Lock()
	m.adopted = v.number
	m.mu.Unlock()
	signal(m.due)
	return nil
}

// agreed reports whether all members of the view, which must be the latest, hold nothing outside of
// their shares, and this replica still has the lease of h. When the heartbeat of a member names a view,
// the member has stopped what is not in its share of that view.
func (m *member) agreed(v *view, h *holding) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	isLatest, isMember := m.view == v, v.find(m.name, m.token) >= 0
	hasLease := m.holding == h && m.valid()
	if !isLatest || !isMember || !hasLease {
		return false
	}
	for _, p := range v.Members {
		b := m.beats[p.Name]
		hasAdopted := b.value != nil && b.Token == p.Token && b.View == v.number
		if !hasAdopted {
			return false
		}
	}
	return true
}

// propose brings the next view about if the members have changed. It returns after which time it is to be
// called again. The replicas take turns: each waits longer, by its rank, so that usually one of them acts.
//
// The next view takes one or two steps. If heartbeats of members are overdue (doubts), the first step deletes
// these heartbeats; remove leaves those that were renewed meanwhile. The watch then delivers the deletions, and
// propose is called again. Without doubts, propose writes the view. Errors go to onError, but not once ctx is
// done: then this replica leaves.
func (m *member) propose(ctx context.Context, a *adoption) (wait time.Duration) {
	m.mu.Lock()
	next, viewAt := m.nextView(), m.viewAt
	m.mu.Unlock()
	if !next.differs && len(next.doubts) == 0 {
		a.proposeAt = time.Time{}
		return m.ttl
	}
	if a.proposeAt.IsZero() {
		a.proposeAt = time.Now().Add(viewAfter + time.Duration(next.rank)*viewBehind)
	}
	if wait := time.Until(a.proposeAt); wait > 0 {
		return wait
	}
	a.proposeAt = time.Time{}
	requests, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for name, revision := range next.doubts {
		if err := m.remove(requests, name, revision); unlessDone(ctx, err) != nil {
			m.onError(err)
		}
	}
	if len(next.doubts) > 0 {
		return m.ttl / renewals
	}
	value, err := jsonv2.Marshal(view{Version: 1, Members: next.members})
	if err == nil {
		const noExpiry = 0
		_, err = m.put(requests, m.viewKey(), value, viewAt, noExpiry)
	}
	if unlessDone(ctx, err) != nil && !conflicts(err) { // in a conflict, another replica has written the view
		m.onError(fmt.Errorf("the list of the replicas: %w", err))
	}
	return m.ttl / renewals
}

// proposal is the next view, as far as this replica knows the heartbeats.
type proposal struct {
	members []peer            // by name
	differs bool              // from the members of the present view
	doubts  map[string]uint64 // members that may be lost, by name, with the revisions of their heartbeats
	rank    int               // number of members that may write the view before this replica
}

// nextView returns the next view: the members of the present one whose heartbeats have not ended, and
// the replicas with new heartbeats. A member that may be lost is in doubt, and stays until its heartbeat
// is gone. The caller holds m.mu.
func (m *member) nextView() proposal {
	next := proposal{doubts: map[string]uint64{}}
	stays := map[string]bool{}
	for _, p := range m.present() {
		b := m.beats[p.Name]
		if b.hasEnded(p) {
			next.differs = true
			continue
		}
		isUnknown := b.value == nil && b.revision < p.Seen // the heartbeat that made p a member has not arrived here
		if isUnknown || m.isSilent(b) {
			next.doubts[p.Name] = b.revision // propose deletes the heartbeat if that is still its revision
		}
		stays[p.Name] = true
		next.members = append(next.members, p)
	}
	for name, b := range m.beats {
		isNew := b.value != nil && !stays[name] && !m.isSilent(b)
		if isNew {
			next.differs = true
			next.members = append(next.members, peer{Name: name, Token: b.Token, Seen: b.revision, List: b.List})
		}
	}
	slices.SortFunc(next.members, func(a, b peer) int { return cmp.Compare(a.Name, b.Name) })
	next.rank = m.rank(next)
	return next
}

// rank returns how many members have their turn to write the next view before this replica. Those in
// doubt do not count: perhaps they have ended. The caller holds m.mu.
func (m *member) rank(next proposal) (before int) {
	for _, p := range next.members {
		_, isInDoubt := next.doubts[p.Name]
		if !isInDoubt && m.turn(p.Name) < m.turn(m.name) {
			before++
		}
	}
	return before
}

// present returns the members of the present view. The caller holds m.mu.
func (m *member) present() []peer {
	if m.view == nil {
		return nil
	}
	return m.view.Members
}

// hasEnded reports whether b shows that the member p has ended: after p.Seen, the revision
// of one of its heartbeats, its key was deleted, has expired or has another token.
func (b beat) hasEnded(p peer) bool {
	return b.revision > p.Seen && (b.value == nil || b.Token != p.Token)
}

// turn orders the replicas, in each view otherwise. The caller holds m.mu.
func (m *member) turn(name string) uint64 { return mix(hash64(name) ^ m.viewAt) }
