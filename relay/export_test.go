package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
)

// Pause returns a pause after consecutive failures, and its upper bound.
func Pause(first, longest time.Duration, failures int) (pause, bound time.Duration) {
	b := backoff{first, longest}
	return b.pause(failures), b.bound(failures)
}

// Sleep waits.
func Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }

// Partitions is the number of partitions of an ordered group.
const Partitions = partitions

// PartitionOf returns the partition of a profile, by the part of its subject before the category.
func PartitionOf(profile string) int { return partitionOf(profile) }

// ShortLease allows leases below the minimum.
func (f *Follower) ShortLease() { f.shortLease = true }

// Acquire acquires a lease.
func Acquire(
	ctx context.Context, js jetstream.JetStream, kv jetstream.KeyValue, key string, ttl time.Duration, late *sync.WaitGroup,
) error {
	return (&lease{js: js, kv: kv, key: key, value: newRecord(), ttl: ttl}).acquire(ctx, late)
}

// HoldLease acquires a lease, and holds it until stop is called or it calls lost.
func HoldLease(
	ctx context.Context, js jetstream.JetStream, kv jetstream.KeyValue, key string, ttl time.Duration, lost func(cause error),
) (stop func(), err error) {
	l := &lease{js: js, kv: kv, key: key, value: newRecord(), ttl: ttl}
	if err := l.create(ctx); err != nil {
		return nil, err
	}
	return l.hold(ctx, lost), nil
}

// LimitsBucket is what Limits use of a bucket.
type LimitsBucket = limitsBucket

// NewLimitsIn returns Limits with other windows, in a bucket that may be simulated.
func NewLimitsIn(
	ctx context.Context, kv LimitsBucket, began time.Time,
	published func(group string) []api.RateWindow, o LimitsOptions,
) (*Limits, error) {
	return newLimits(ctx, kv, began, published, o)
}

// Schedule, Lane and Task are those of sessions.
type (
	Schedule = schedule
	Lane     = lane
	Task     = task
)

// NewSchedule returns a schedule that runs at most so many tasks at a time.
func NewSchedule(most int) *Schedule { return newSchedule(most) }

// NewLane returns a lane of which at most so many tasks run at a time.
func NewLane(most int) *Lane { return newLane(most) }

// NewTask returns a task that runs when it is woken first.
func NewTask(s *Schedule, l *Lane, run func() time.Time) *Task { return s.newTask(l, run) }

// Wake makes the task due now.
func (t *task) Wake() { t.wake() }

// StartAt makes the task due at a time.
func (t *task) StartAt(at time.Time) { t.startAt(at) }

// Stop ends the task, and waits until it does not run.
func (t *task) Stop() { t.stop() }

// Context returns a context for the requests of the task.
func (t *task) Context(ctx context.Context) context.Context { return t.parkable(ctx) }

// ParkWaits are the hooks of a client whose tasks give their places to others while they wait.
func ParkWaits() api.Hooks { return parkWaits() }

// ParkingClient returns an HTTP client whose requests wait for a place of their task.
func ParkingClient(c *http.Client) *http.Client { return parkingClient(c) }

// AccountSteps is the number of places of the schedule of a replica with accounts.
const AccountSteps = accountSteps

// ImportAccounts begins a number of accounts at once, as a replica does whose schedule is s.
// Run is the task of one of them.
func ImportAccounts(s *Schedule, accounts int, run func(task *Task, account int) time.Time) {
	r := &accountReplica{steps: s}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range accounts {
		a := newAccountRun(r, strconv.Itoa(i))
		a.task.run = func() time.Time { return run(a.task, i) }
		r.startInTurn(a)
	}
}

// ShortLease allows leases below the minimum.
func (f *AccountFollower) ShortLease() { f.shortLease = true }

// ListID returns the name of a list of profiles.
func ListID(profiles []api.Profile) string {
	var keys []string
	for _, p := range profiles {
		keys = append(keys, profileKey(p))
	}
	slices.Sort(keys)
	return listID(keys)
}

// Slots is the number of slots.
const Slots = slots

// LedgerEntry is an entry of a ledger.
type LedgerEntry = ledgerEntry

// NewLedgerEntry returns an entry.
func NewLedgerEntry(key string, value []byte, revision uint64) LedgerEntry {
	return ledgerEntry{key, value, revision}
}

// RevisionOf returns the revision of an entry.
func RevisionOf(e LedgerEntry) uint64 { return e.revision }

// View is a list of members.
type View struct{ *view }

// NewView returns a view of replicas.
func NewView(names ...string) View {
	v := &view{}
	for _, name := range names {
		v.Members = append(v.Members, peer{Name: name, List: "1"})
	}
	return View{v}
}

// Number returns the number of the view.
func (v View) Number() uint64 { return v.number }

// Name returns the name of a member.
func (v View) Name(member int) string { return v.Members[member].Name }

// Divide returns the index of the member of each slot.
func (v View) Divide() []int { return v.divideSlots() }

// Ledger is what members use of a bucket.
type Ledger interface {
	Put(ctx context.Context, key string, value []byte, after uint64, ttl time.Duration) (revision uint64, err error)
	Get(ctx context.Context, key string) (LedgerEntry, error)
	Watch(ctx context.Context, keys []string, changed func(e *LedgerEntry)) error
}

type testLedger struct{ Ledger }

func (l testLedger) put(ctx context.Context, key string, value []byte, after uint64, ttl time.Duration) (uint64, error) {
	return l.Put(ctx, key, value, after, ttl)
}

func (l testLedger) remove(ctx context.Context, key string, after uint64) error {
	_, err := l.Put(ctx, key, nil, after, 0)
	return err
}

func (l testLedger) get(ctx context.Context, key string) (*ledgerEntry, error) {
	e, err := l.Get(ctx, key)
	return &e, err
}

func (l testLedger) watch(ctx context.Context, keys []string, changed func(e *ledgerEntry)) error {
	return l.Watch(ctx, keys, changed)
}

// Division is what a member holds.
type Division interface {
	Release(v *View)
	Hold(alive context.Context, v View)
}

type testDivision struct{ Division }

func (d testDivision) release(_ context.Context, v *view) error {
	if v == nil {
		d.Release(nil)
	} else {
		d.Release(&View{v})
	}
	return nil
}

func (d testDivision) hold(v *view, h *holding) { d.Hold(h.alive, View{v}) }

// RunMember keeps a replica in a group until ctx is done.
func RunMember(ctx context.Context, l Ledger, name string, ttl time.Duration, d Division) {
	m := newMember(testLedger{l}, "test", name, ttl)
	m.division = testDivision{d}
	_ = m.run(ctx)
}

// Shares divides profiles that all members can follow.
func (v View) Shares(profiles []string) { v.divideProfiles(map[string][]string{"1": profiles}) }

// DivideProfiles returns the name of the member of each profile, which all can follow.
func (v View) DivideProfiles(profiles []string) []string {
	return v.DivideLists(map[string][]string{"1": profiles}, nil, profiles)
}

// DivideLists returns the name of the member of each profile, given the list of each member.
func (v View) DivideLists(lists map[string][]string, of map[string]string, profiles []string) (holders []string) {
	for i := range v.Members {
		v.Members[i].List = cmp.Or(of[v.Members[i].Name], "1")
	}
	s := v.divideProfiles(lists)
	for _, p := range profiles {
		holders = append(holders, s.holder(p))
	}
	return holders
}

// PackList returns the value of a list of profiles.
func PackList(profiles []string) []byte { return packList(profiles) }

// UnpackList returns the list of a value.
func UnpackList(value []byte) ([]string, error) { return unpackList(value) }

// BucketLedger returns the ledger of a bucket.
func BucketLedger(ctx context.Context, s Stream) (Ledger, error) {
	l, err := s.withDefaults().ledger(ctx)
	return bucketLedger{l}, err
}

type bucketLedger struct{ kvLedger }

func (l bucketLedger) Put(ctx context.Context, key string, value []byte, after uint64, ttl time.Duration) (uint64, error) {
	if value != nil {
		return l.put(ctx, key, value, after, ttl)
	}
	err := l.remove(ctx, key, after)
	e, failed := l.get(ctx, key)
	return e.revision, errors.Join(err, failed)
}

func (l bucketLedger) Get(ctx context.Context, key string) (LedgerEntry, error) {
	e, err := l.get(ctx, key)
	return *e, err
}

func (l bucketLedger) Watch(ctx context.Context, keys []string, changed func(e *LedgerEntry)) error {
	return l.watch(ctx, keys, changed)
}

// Conflicts reports whether a write was refused because of its condition.
func Conflicts(err error) bool { return conflicts(err) }

// KeyOf returns the key of an entry.
func KeyOf(e LedgerEntry) string { return e.key }

// ValueOf returns the value of an entry.
func ValueOf(e LedgerEntry) []byte { return e.value }

// NewOverview returns an overview of so many accounts, each of which is followed by one of two
// replicas, apart from every hundredth, which needs a new sign-in.
func NewOverview(tb testing.TB, accounts int) *Overview {
	tb.Helper()
	b := newBoard()
	put := func(key string, value any) {
		text, err := jsonv2.Marshal(value)
		if err != nil {
			tb.Fatal(err)
		}
		b.apply(&ledgerEntry{key: key, value: text, revision: uint64(len(b.names.names) + 1)})
	}
	for i := range accounts {
		name := fmt.Sprintf("customer-%06d", i)
		put(accountKey(name), accountRecord{Version: accountVersion, Name: name, ID: name, Credential: "c"})
		state := AccountFollowing
		if i%100 == 99 {
			state = AccountNeedsSignIn
		}
		put(accountStatusKey(name), accountStatusRecord{Version: 1, ID: name, Credential: "c", State: state, Replica: "a"})
	}
	put("view.accounts", view{Version: 1, Members: []peer{{Name: "a", Token: "a"}, {Name: "b", Token: "b"}}})
	return &Overview{board: b}
}

// FindHere is Find without the numbers that replicas know.
func (o *Overview) FindHere(q AccountQuery) *AccountPage { return o.board.find(q) }

// AllocsWithoutHooks returns the allocations for a search, a message and a call of a handler.
func AllocsWithoutHooks(ctx context.Context) float64 {
	var hooks api.MessageHooks
	var o ConsumeOptions
	var m message
	batch := make([]handled[string], 2)
	return testing.AllocsPerRun(100, func() {
		ctx, searched := observeSearch(ctx, &hooks, "FASTIO")
		m.observePublish(ctx, &hooks, "FASTIO")
		reportEnd([]message{m}, nil)
		_, called := observeHandle(ctx, &o, func() []http.Header { return headersOf(batch) })
		called(nil)
		searched(nil)
	})
}

// ReportAccountError reports an error of an account, which is in the directory or not, to
// OnError of f as a replica does.
func ReportAccountError(ctx context.Context, f *AccountFollower, account string, isListed bool, err error) {
	r := &accountReplica{AccountFollower: f, accounts: map[string]*accountRun{account: {name: account}}}
	if isListed {
		r.accounts[account].record = &accountRecord{Name: account}
	}
	r.report(ctx, account, api.Profile{}, err)
}

// ErrLost is the error of a lost lease.
var ErrLost = errLost

// RemovedError returns the error of an account that was removed.
func RemovedError(account string) error { return &removedError{account, ""} }

// EndWatches begins and ends n watches of a replica one after the other, each of which also ends with watches.
func EndWatches(ctx, watches context.Context, n int) {
	r := &accountReplica{watches: watches}
	for range n {
		_, end := r.newWatch(ctx)
		end()
	}
}

// ReadListsWhileWriting lets a replica read the lists of so many new members, as it does for a view, while
// it writes its own list, as it does from time to time.
func ReadListsWhileWriting(ctx context.Context, js jetstream.JetStream, members int) error {
	s := Stream{JetStream: js}.withDefaults()
	kv, err := s.bucket(ctx)
	if err != nil {
		return err
	}
	r := &replica{Follower: &Follower{}, Stream: s, kv: kv, list: "own", lists: map[string][]string{"own": nil}}
	v := &view{}
	for i := range members {
		v.Members = append(v.Members, peer{List: strconv.Itoa(i)})
		if _, err := kv.Put(ctx, listKey(strconv.Itoa(i)), packList(nil)); err != nil {
			return err
		}
	}
	read := make(chan error)
	go func() { read <- r.readLists(ctx, v) }()
	for {
		_, err := r.writeList(ctx)
		if err != nil {
			return err
		}
		select {
		case err := <-read:
			return err
		default:
		}
	}
}
