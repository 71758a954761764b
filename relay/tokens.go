package relay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/oauth"
)

// lockTime is the time of a lease of a record, which is renewed while the record is locked.
const lockTime = 15 * time.Second

// Tokens is an [oauth.Store] in the bucket of a [Stream]. The token sources of all
// processes that use the same account, on any number of machines, refresh its token once.
//
//	source := oauth.TokenSource(oauth.Config{Store: relay.Tokens{Stream: stream, Keys: keys}, ClientID: id})
//
// The name of an [Account] of a directory is the account of its record. Records are
// encrypted: see [oauth.Seal]. The lock of a record is a lease, which expires
// 15 seconds after its process was lost. A process that has lost the lock cannot overwrite
// what others have saved.
type Tokens struct {
	Stream Stream
	Keys   oauth.KeyStore // required; the same key in all processes, for example oauth.StaticKey

	OtherKeys []oauth.KeyStore // which decrypt too, while the key is replaced: see [Accounts]
}

var _ oauth.Store = Tokens{}

// Load returns the record of an account, nil if there is none.
//
// Errors: [*oauth.StoreError] if it was sealed with another key; the errors of NATS and of
// the Keys.
func (s Tokens) Load(ctx context.Context, account string) ([]byte, error) {
	kv, err := s.open(ctx, account)
	if err != nil {
		return nil, err
	}
	record, _, err := s.read(ctx, kv, account)
	return record, err
}

// Lock locks the record of an account.
//
// Errors: those of Load. Save fails if the lock was lost.
func (s Tokens) Lock(ctx context.Context, account string) (oauth.Record, error) {
	kv, err := s.open(ctx, account)
	if err != nil {
		return nil, err
	}
	l := &lease{
		js: s.Stream.JetStream, kv: kv, key: "token-lock." + token(account), value: newRecord(), ttl: lockTime,
	}
	if err := l.acquireWhenFree(ctx); err != nil {
		return nil, fmt.Errorf("fastio: relay: the lock of account %q: %w", account, err)
	}
	r := &lockedRecord{tokens: s, kv: kv, account: account}
	r.hold(ctx, l)
	r.data, r.revision, err = s.read(ctx, kv, account)
	if err != nil {
		r.Unlock()
		return nil, err
	}
	return r, nil
}

// lockedRecord is a record under a lease, which timers keep until Unlock.
type lockedRecord struct {
	tokens   Tokens
	kv       jetstream.KeyValue
	account  string
	data     []byte
	revision uint64
	leaseErr func() error // returns why the lease has ended, nil while it is held
	release  func()
}

// errUnlocked is the cause of the end of a lease by Unlock.
var errUnlocked = errors.New("the record is not locked any more")

// hold keeps the lease until Unlock, and sets leaseErr and release.
func (r *lockedRecord) hold(ctx context.Context, l *lease) {
	detached := context.WithoutCancel(ctx)
	alive, lost := context.WithCancelCause(detached)
	stop := l.hold(alive, lost)
	r.leaseErr = func() error {
		err := context.Cause(alive)
		if err == nil && !l.valid() { // the timers did not fire yet: the process was suspended
			err = errLost
		}
		return err
	}
	r.release = sync.OnceFunc(func() {
		lost(errUnlocked)
		stop()
		_ = l.release(detached) // after an error, the lease expires
	})
}

// Data returns the record as it was when it was locked.
func (r *lockedRecord) Data() []byte { return r.data }

// Save replaces the record, unless the lease was lost.
func (r *lockedRecord) Save(ctx context.Context, data []byte) error {
	err := cmp.Or(r.leaseErr(), ctx.Err())
	if err != nil {
		return fmt.Errorf("fastio: relay: account %q is not saved: %w", r.account, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r.revision, err = r.tokens.write(ctx, r.kv, r.account, data, r.revision)
	if err != nil {
		return fmt.Errorf("fastio: relay: saving account %q: %w", r.account, err)
	}
	return nil
}

// Unlock releases the lease.
func (r *lockedRecord) Unlock() { r.release() }

// open checks that the account and the keys are valid, and returns the bucket.
func (s Tokens) open(ctx context.Context, account string) (jetstream.KeyValue, error) {
	var noData []byte // for which Unseal checks the account and the keys, and decrypts nothing
	if _, err := unseal(ctx, s.Keys, account, noData); err != nil {
		return nil, err
	}
	return s.Stream.withDefaults().bucket(ctx)
}

// tokensKey returns the key of an account's record in the bucket.
func tokensKey(account string) string { return tokensPrefix + token(account) }

const tokensPrefix = "token."

// read returns the decrypted record of an account, nil if there is none, and the
// revision of its key, 0 if there is none.
func (s Tokens) read(ctx context.Context, kv jetstream.KeyValue, account string) ([]byte, uint64, error) {
	entry, err := kv.Get(ctx, tokensKey(account))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("fastio: relay: loading account %q: %w", account, err)
	}
	record, _, err := unsealAny(ctx, s.Keys, s.OtherKeys, account, entry.Value())
	if err == nil && record == nil {
		record = []byte{} // an empty record: nil would mean that there is none
	}
	return record, entry.Revision(), err
}

// write replaces the record if it still has the given revision, 0 if there is none. If
// record is nil, it removes the stored one. It returns the new revision. A write whose
// response was lost counts as done.
func (s Tokens) write(
	ctx context.Context, kv jetstream.KeyValue, account string, record []byte, revision uint64,
) (uint64, error) {
	key := tokensKey(account)
	if record == nil {
		if revision == 0 {
			return 0, nil
		}
		err := kv.Purge(ctx, key, jetstream.LastRevision(revision), jetstream.PurgeTTL(markerTTL))
		if err == nil {
			return 0, nil
		}
		if _, missing := kv.Get(ctx, key); errors.Is(missing, jetstream.ErrKeyNotFound) {
			return 0, nil // the response was lost
		}
		return revision, err
	}
	sealed, err := seal(ctx, s.Keys, account, record)
	if err != nil {
		return revision, err
	}
	var next uint64
	if revision == 0 {
		next, err = kv.Create(ctx, key, sealed)
	} else {
		next, err = kv.Update(ctx, key, sealed, revision)
	}
	if err == nil {
		return next, nil
	}
	if entry, failed := kv.Get(ctx, key); failed == nil && bytes.Equal(entry.Value(), sealed) {
		return entry.Revision(), nil // the response was lost
	}
	return revision, err
}

// reseal encrypts the record of an account again if it is encrypted with one of OtherKeys,
// and reports whether it did.
func (s Tokens) reseal(ctx context.Context, account string) (done bool, err error) {
	kv, err := s.open(ctx, account)
	if err != nil {
		return false, err
	}
	entry, err := kv.Get(ctx, tokensKey(account))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("fastio: relay: loading account %q: %w", account, err)
	}
	_, stale, err := unsealAny(ctx, s.Keys, s.OtherKeys, account, entry.Value())
	if err != nil || !stale {
		return false, err
	}
	r, err := s.Lock(ctx, account) // else a refresh at the same time could fail to save its tokens
	if err != nil {
		return false, err
	}
	defer r.Unlock()
	return true, r.Save(ctx, r.Data())
}

// acquireWhenFree acquires the lease, and waits while others hold it.
func (l *lease) acquireWhenFree(ctx context.Context) error {
	for {
		// A goroutine of acquire may outlive ctx by seconds, to delete a key that is created late. Nothing
		// here waits for it.
		var late sync.WaitGroup
		err := l.acquire(ctx, &late)
		if !errors.Is(err, errHeld) {
			return err
		}
		if err := l.waitUntilFree(ctx); err != nil {
			return err
		}
	}
}

// waitUntilFree waits until the key of the lease is deleted, or was not renewed for
// the time of a lease. It returns an error if ctx is done or the watch has ended.
func (l *lease) waitUntilFree(ctx context.Context) error {
	watcher, err := l.kv.Watch(ctx, l.key)
	if err != nil {
		return err
	}
	defer unwatch(watcher)
	// A bucket that another program has created may not report that a key has expired.
	certainlyExpired := l.ttl + l.ttl/renewals
	expiry := time.NewTimer(certainlyExpired)
	defer expiry.Stop()
	isHeld := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-expiry.C:
			return nil
		case entry, ok := <-watcher.Updates():
			isMark := entry == nil // comes after the entry of the key, if there is one, and before all changes
			switch {
			case !ok:
				return errors.New("the watch has ended")
			case isMark && isHeld:
			case isMark, entry.Operation() != jetstream.KeyValuePut: // there is no key, or it was deleted
				return nil
			default:
				isHeld = true
				expiry.Reset(certainlyExpired)
			}
		}
	}
}
