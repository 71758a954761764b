package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/oauth"
)

// lockTime is the time of a lease of a record, which is renewed while the record is edited.
const lockTime = 15 * time.Second

// Tokens is an [oauth.Store] in the bucket of a [Stream]. The token sources of all
// processes that use the same profile, on any number of machines, refresh its token once.
//
//	source := oauth.TokenSource(oauth.Config{Store: relay.Tokens{Stream: stream, Keys: keys}, ClientID: id})
//
// Records are encrypted: see [oauth.Seal]. The lock of a record is a lease, which expires
// 15 seconds after its process was lost. A process that has lost the lock cannot overwrite
// what others have saved.
type Tokens struct {
	Stream Stream
	Keys   oauth.KeyStore // required; the same key in all processes, for example oauth.StaticKey
}

var _ oauth.Store = Tokens{}

// Load returns the record of a profile, nil if there is none.
//
// Errors: [oauth.StoreError] if it was sealed with another key; the errors of NATS and of
// the Keys.
func (s Tokens) Load(ctx context.Context, profile string) ([]byte, error) {
	kv, err := s.open(ctx, profile)
	if err != nil {
		return nil, err
	}
	record, _, err := s.read(ctx, kv, profile)
	return record, err
}

// Update calls edit with the record of a profile.
//
// Errors: those of Load; the error of edit; the function save fails if the lock was lost.
func (s Tokens) Update(
	ctx context.Context, profile string, edit func(record []byte, save func(record []byte) error) error,
) error {
	kv, err := s.open(ctx, profile)
	if err != nil {
		return err
	}
	l := &lease{
		js: s.Stream.JetStream, kv: kv, key: "token-lock." + token(profile), value: newRecord("", nil), ttl: lockTime,
	}
	if err := lock(ctx, l); err != nil {
		return fmt.Errorf("fastio: relay: the lock of profile %q: %w", profile, err)
	}
	detached := context.WithoutCancel(ctx)
	alive, lost := context.WithCancelCause(detached)
	var wg sync.WaitGroup
	wg.Go(func() { lost(l.keep(alive)) })
	wg.Go(func() { lost(l.expire(alive)) })
	defer func() {
		lost(nil)
		wg.Wait()
		_ = l.release(detached) // it expires
	}()
	record, revision, err := s.read(ctx, kv, profile)
	if err != nil {
		return err
	}
	return edit(record, func(record []byte) error {
		if err := context.Cause(alive); err != nil {
			return fmt.Errorf("fastio: relay: profile %q is not saved: %w", profile, err)
		}
		ctx, cancel := context.WithTimeout(detached, requestTimeout)
		defer cancel()
		saved, err := s.write(ctx, kv, profile, record, revision)
		if err != nil {
			return fmt.Errorf("fastio: relay: saving profile %q: %w", profile, err)
		}
		revision = saved
		return nil
	})
}

// open returns the bucket. It checks the profile and the keys.
func (s Tokens) open(ctx context.Context, profile string) (jetstream.KeyValue, error) {
	if _, err := oauth.Unseal(ctx, s.Keys, profile, nil); err != nil {
		return nil, err
	}
	return s.Stream.withDefaults().bucket(ctx)
}

func tokensKey(profile string) string { return "token." + token(profile) }

// read returns a record and the revision of its key, 0 if there is none.
func (s Tokens) read(ctx context.Context, kv jetstream.KeyValue, profile string) ([]byte, uint64, error) {
	entry, err := kv.Get(ctx, tokensKey(profile))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("fastio: relay: loading profile %q: %w", profile, err)
	}
	record, err := oauth.Unseal(ctx, s.Keys, profile, entry.Value())
	if err == nil && record == nil {
		record = []byte{} // which is not the same as none
	}
	return record, entry.Revision(), err
}

// write replaces or, if record is nil, removes the record that has a revision, and returns
// the new revision.
func (s Tokens) write(
	ctx context.Context, kv jetstream.KeyValue, profile string, record []byte, revision uint64,
) (uint64, error) {
	key := tokensKey(profile)
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
	sealed, err := oauth.Seal(ctx, s.Keys, profile, record)
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

// lock acquires a lease, and waits while others hold it.
func lock(ctx context.Context, l *lease) error {
	for {
		var late sync.WaitGroup // which deletes what is created after ctx is done, within seconds
		err := l.acquire(ctx, &late)
		if !errors.Is(err, errHeld) {
			return err
		}
		if err := l.freed(ctx); err != nil {
			return err
		}
	}
}

// freed waits until the key of a lease is deleted or has expired.
func (l *lease) freed(ctx context.Context) error {
	watcher, err := l.kv.Watch(ctx, l.key)
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Stop() }()
	expiry := time.NewTimer(l.ttl + l.ttl/renewals) // a bucket of others may not report an expiry
	defer expiry.Stop()
	held := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-expiry.C:
			return nil
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return errors.New("the watch has ended")
			case entry == nil && held:
			case entry == nil || entry.Operation() != jetstream.KeyValuePut:
				return nil
			default:
				held = true
				expiry.Reset(l.ttl + l.ttl/renewals)
			}
		}
	}
}
