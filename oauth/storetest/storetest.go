// Package storetest has the tests that every [oauth.Store] must pass.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Fixture {
//			path, keys := filepath.Join(t.TempDir(), "tokens"), oauth.StaticKey(make([]byte, 32))
//			open := func() oauth.Store { return oauth.FileStore{Path: path, Keys: keys} }
//			return storetest.Fixture{Store: open(), Other: open}
//		})
//	}
package storetest

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fastio-go/fastio/oauth"
)

// A Fixture is an empty store for one test, and what the test can do to it. Nil functions
// are for what the store cannot model: the tests with them are skipped.
type Fixture struct {
	Store oauth.Store

	// Other returns a store with the same records, as another process opens it. Nil means
	// Store itself.
	Other func() oauth.Store

	// Lose takes from Store the locks that it holds, as the loss of a connection does, and
	// keeps it from its records until restore is called.
	Lose func() (restore func())

	// Kill locks the record of an account in another process, and ends that process before
	// it unlocks or saves the record.
	Kill func(account string)
}

// Run tests that stores keep what [oauth.Store] and [oauth.Record] promise. It calls open
// for each of its tests, which run in parallel, with the T of that test. No test waits for
// a lock or a record for more than a minute.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	runTests(t, open, time.Minute)
}

// runTests runs the tests. Longest is how long a test may wait.
func runTests(t *testing.T, open func(t *testing.T) Fixture, longest time.Duration) {
	t.Helper()
	for name, test := range map[string]func(f *fixture){
		"records of all names and sizes":       testRecords,
		"saved data are copied":                testCopies,
		"a record is saved several times":      testSaves,
		"no update is lost":                    testContention,
		"load does not wait for a lock":        testLoadDuringLock,
		"a wait ends with its context":         testCanceledWait,
		"a context that is done":               testDoneContext,
		"a record is unlocked twice":           testUnlockTwice,
		"a record is not saved after unlock":   testSaveAfterUnlock,
		"a lost lock":                          testLostLock,
		"a process that is killed with a lock": testKill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			if f.Other == nil {
				f.Other = func() oauth.Store { return f.Store }
			}
			test(&fixture{t, f, longest})
		})
	}
}

const (
	account  = "default"
	shortest = 50 * time.Millisecond // that a test waits for a lock that it must not get
)

// fixture is a Fixture whose Other is never nil.
type fixture struct {
	*testing.T
	Fixture

	longest time.Duration // that a test waits
}

// lock locks a record, or ends the test. The lock ends with the test at the
// latest.
func (f *fixture) lock(store oauth.Store, account string) oauth.Record {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), f.longest)
	defer cancel()
	r, err := store.Lock(ctx, account)
	if err != nil {
		f.Fatalf("locking %q: %v", account, err)
	}
	f.Cleanup(r.Unlock)
	return r
}

// save locks a record, saves data in it, and unlocks it.
func (f *fixture) save(store oauth.Store, account string, data []byte) {
	f.Helper()
	r := f.lock(store, account)
	defer r.Unlock()
	f.saveRecord(r, data)
}

// saveRecord saves data in a locked record, or ends the test.
func (f *fixture) saveRecord(r oauth.Record, data []byte) {
	f.Helper()
	if err := r.Save(f.Context(), data); err != nil {
		f.Fatalf("saving: %v", err)
	}
}

// wants fails the test unless the record of an account is want, as this process
// and another one see it.
func (f *fixture) wants(account string, want []byte) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), f.longest)
	defer cancel()
	for where, store := range map[string]oauth.Store{"this process": f.Store, "another process": f.Other()} {
		got, err := store.Load(ctx, account)
		if err != nil {
			f.Fatalf("in %s, loading %q: %v", where, account, err)
		}
		if !equal(got, want) {
			f.Errorf("in %s, %q is %s, want %s", where, account, show(got), show(want))
		}
	}
}

// canLock fails the test unless the record can be locked and then has the data
// want.
func (f *fixture) canLock(store oauth.Store, want []byte) {
	f.Helper()
	r := f.lock(store, account)
	defer r.Unlock()
	if got := r.Data(); !equal(got, want) {
		f.Errorf("the locked record is %s, want %s", show(got), show(want))
	}
}

// isLocked fails the test unless the record is locked.
func (f *fixture) isLocked(store oauth.Store) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), shortest)
	defer cancel()
	r, err := store.Lock(ctx, account)
	if err == nil {
		defer r.Unlock()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("a lock of the locked %q: error %v, want %v", account, err, context.DeadlineExceeded)
	}
}

// equal reports whether two records are the same. An empty one is not the same as none.
func equal(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// show describes data in the text of a failure.
func show(data []byte) string {
	const most = 40
	switch {
	case data == nil:
		return "no record"
	case len(data) > most:
		return strconv.Itoa(len(data)) + " bytes"
	}
	return strconv.Quote(string(data))
}

// names returns names of accounts that a store may confuse, or take for
// something else.
func names() []string {
	return []string{
		"default", "Default", "default ", "default.", "a b", "a/b", `a\b`, "../../etc/passwd", "CON", "a:b", "%41", "*", ">", "$1",
		"' OR 1=1 --", "ünï 日本", "e\u0301", "\u00e9", "\u2028<&>\x00\"", "-", strings.Repeat("é", 128), strings.Repeat("\U0001f511", 128),
	}
}

// testRecords tests that each account has its own record, of any bytes, which
// both stores see.
func testRecords(f *fixture) {
	for i, name := range names() {
		f.wants(name, nil)
		f.save([]oauth.Store{f.Store, f.Other()}[i%2], name, []byte("record of "+name))
	}
	for _, name := range names() {
		f.wants(name, []byte("record of "+name))
	}
	all := make([]byte, 64<<10)
	for i := range all { // every value of a byte; each 256 bytes begin with another one
		all[i] = byte(i + i>>8)
	}
	for _, data := range [][]byte{{}, all, []byte("short"), nil} {
		f.save(f.Store, account, data)
		f.wants(account, data)
		f.canLock(f.Other(), data)
	}
	f.save(f.Store, account, nil)           // also if there is no record
	f.wants("a b", []byte("record of a b")) // not changed by the saves of another account
}

// testCopies tests that a store keeps and returns copies: changes of the
// caller's bytes must not change a record.
func testCopies(f *fixture) {
	data := []byte("a record")
	f.save(f.Store, account, data)
	clear(data)
	f.wants(account, []byte("a record"))
	loaded, err := f.Store.Load(f.Context(), account)
	if err != nil {
		f.Fatal(err)
	}
	clear(loaded)
	f.wants(account, []byte("a record"))
	r := f.lock(f.Store, account)
	defer r.Unlock()
	clear(r.Data())
	f.wants(account, []byte("a record"))
	next := []byte("the next")
	f.saveRecord(r, next)
	clear(next)
	f.saveRecord(r, []byte("the last")) // fails if the store compares the file with next
	f.wants(account, []byte("the last"))
}

// testSaves tests several saves under one lock. Data stays what it was at the
// time of the lock.
func testSaves(f *fixture) {
	f.save(f.Other(), account, []byte("before"))
	r := f.lock(f.Store, account)
	defer r.Unlock()
	for _, data := range [][]byte{[]byte("one"), []byte("two"), nil, nil, []byte("three")} {
		f.saveRecord(r, data)
		f.wants(account, data)
		if got := r.Data(); !equal(got, []byte("before")) {
			f.Errorf("after a save the data are %s, want those at the time of the lock", show(got))
		}
	}
	r.Unlock() // before the deferred one, which is for a failed test: Unlock is idempotent
	f.wants(account, []byte("three"))
}

// testContention increments counters concurrently; no increment may be lost.
func testContention(f *fixture) {
	const workers, rounds = 8, 5
	accounts := []string{"one", "two"}
	var wg sync.WaitGroup
	for i := range workers {
		store := []oauth.Store{f.Store, f.Other()}[i%2]
		wg.Go(func() {
			for range rounds {
				if err := f.increment(f.Context(), store, accounts[i/2%2]); err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, name := range accounts {
		f.wants(name, []byte(strconv.Itoa(workers*rounds/len(accounts))))
	}
}

// increment adds one to the number in the record of an account.
func (f *fixture) increment(ctx context.Context, store oauth.Store, account string) error {
	ctx, cancel := context.WithTimeout(ctx, f.longest)
	defer cancel()
	r, err := store.Lock(ctx, account)
	if err != nil {
		return err
	}
	defer r.Unlock()
	n := 0
	if r.Data() != nil {
		n, err = strconv.Atoi(string(r.Data()))
	}
	if err != nil {
		return err
	}
	<-time.After(time.Millisecond) // in which a goroutine that must not have the lock would read the same number
	return r.Save(ctx, []byte(strconv.Itoa(n+1)))
}

// testLoadDuringLock tests that a lock stops neither reads of its record nor
// changes of another account.
func testLoadDuringLock(f *fixture) {
	f.save(f.Store, account, []byte("before"))
	r := f.lock(f.Store, account)
	defer r.Unlock()
	f.wants(account, []byte("before"))
	f.save(f.Store, "other", []byte("not locked"))
	f.save(f.Other(), "other", []byte("not locked either"))
	f.saveRecord(r, []byte("saved"))
	f.wants(account, []byte("saved"))
	f.wants("other", []byte("not locked either"))
}

// testCanceledWait tests that a wait for a lock ends with its context and
// leaves no lock.
func testCanceledWait(f *fixture) {
	r := f.lock(f.Store, account)
	defer r.Unlock()
	stores := []oauth.Store{f.Store, f.Other()}
	for _, store := range stores {
		f.isLocked(store)
		ctx, cancel := context.WithCancel(f.Context())
		time.AfterFunc(shortest, cancel)
		f.cannotLock(ctx, store)
	}
	f.saveRecord(r, []byte("mine"))
	r.Unlock()
	for _, store := range stores { // a wait that has ended holds no lock
		f.canLock(store, []byte("mine"))
	}
}

// cannotLock fails the test unless locking ends because ctx is canceled.
func (f *fixture) cannotLock(ctx context.Context, store oauth.Store) {
	f.Helper()
	r, err := store.Lock(ctx, account)
	if err == nil {
		defer r.Unlock()
	}
	if !errors.Is(err, context.Canceled) {
		f.Errorf("a lock whose context is canceled: error %v, want %v", err, context.Canceled)
	}
}

// testDoneContext tests that a context that is done fails each method that it
// is passed to, and does not affect a lock that it was passed to before.
func testDoneContext(f *fixture) {
	done, cancel := context.WithCancel(f.Context())
	defer cancel()
	r, err := f.Store.Lock(done, account)
	if err != nil {
		f.Fatal(err)
	}
	defer r.Unlock()
	cancel() // after the wait, which is all that it limits
	f.saveRecord(r, []byte("saved late"))
	if err := r.Save(done, []byte("canceled")); !errors.Is(err, context.Canceled) {
		f.Errorf("saving with a context that is done: error %v", err)
	}
	f.wants(account, []byte("saved late"))
	r.Unlock()
	for name, store := range map[string]oauth.Store{"Store": f.Store, "Other": f.Other()} {
		if _, err := store.Load(done, account); !errors.Is(err, context.Canceled) {
			f.Errorf("%s: loading with a context that is done: error %v", name, err)
		}
		f.cannotLock(done, store)
	}
}

// testUnlockTwice tests that a second Unlock does not release the lock of
// another caller.
func testUnlockTwice(f *fixture) {
	first := f.lock(f.Store, account)
	defer first.Unlock()
	f.saveRecord(first, []byte("first"))
	first.Unlock()
	first.Unlock()
	second := f.lock(f.Other(), account)
	defer second.Unlock()
	first.Unlock()
	f.isLocked(f.Store)
	f.isLocked(f.Other())
	second.Unlock()
	third := f.lock(f.Store, account)
	defer third.Unlock()
	first.Unlock()
	second.Unlock()
	f.isLocked(f.Store)
	f.saveRecord(third, []byte("third"))
	f.wants(account, []byte("third"))
}

// testSaveAfterUnlock tests that Save fails after Unlock and changes nothing.
func testSaveAfterUnlock(f *fixture) {
	r := f.lock(f.Store, account)
	defer r.Unlock()
	f.saveRecord(r, []byte("saved"))
	r.Unlock()
	for _, data := range [][]byte{[]byte("late"), nil} {
		if r.Save(f.Context(), data) == nil {
			f.Errorf("%s was saved after Unlock", show(data))
		}
	}
	f.wants(account, []byte("saved"))
}

// testLostLock tests that after a lock was lost, its Save and Unlock do not
// affect the next owner of the lock.
func testLostLock(f *fixture) {
	if f.Lose == nil {
		f.Skip("locks of this store cannot be lost")
	}
	lost := f.lock(f.Store, account)
	defer lost.Unlock()
	f.saveRecord(lost, []byte("mine"))
	restore := f.Lose() // the store is cut off from its locks and records until restore
	f.canLock(f.Other(), []byte("mine"))
	other := f.lock(f.Other(), account)
	defer other.Unlock()
	f.saveRecord(other, []byte("theirs"))
	restore()
	for _, data := range [][]byte{[]byte("late"), nil} {
		if lost.Save(f.Context(), data) == nil {
			f.Errorf("%s was saved after the lock was lost", show(data))
		}
	}
	f.wants(account, []byte("theirs"))
	lost.Unlock()
	f.isLocked(f.Store)
	other.Unlock()
	next := f.lock(f.Store, account)
	defer next.Unlock()
	f.saveRecord(next, []byte("later"))
	f.wants(account, []byte("later"))
}

// testKill tests that a process that is killed while it holds a lock leaves the
// record intact and not locked.
func testKill(f *fixture) {
	if f.Kill == nil {
		f.Skip("this store has no other processes that can be killed")
	}
	f.save(f.Store, account, []byte("before"))
	f.Kill(account)
	f.wants(account, []byte("before"))
	f.canLock(f.Store, []byte("before"))
	f.save(f.Store, account, []byte("after"))
	f.wants(account, []byte("after"))
}
