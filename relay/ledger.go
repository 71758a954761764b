package relay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// kvLedger is a bucket, and the stream in which it is.
type kvLedger struct {
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	stream jetstream.Stream

	mayBeGone *atomic.Bool // a write has failed as if the bucket was deleted
}

// ledger returns the ledger of the bucket. It creates the bucket if that does not exist. NATS keeps a
// bucket in a stream, whose name has the prefix KV_.
func (s Stream) ledger(ctx context.Context) (l kvLedger, err error) {
	l = kvLedger{js: s.JetStream, mayBeGone: new(atomic.Bool)}
	l.kv, err = s.bucket(ctx)
	if err != nil {
		return l, err
	}
	l.stream, err = s.JetStream.Stream(ctx, "KV_"+s.Bucket)
	if err != nil {
		err = fmt.Errorf("fastio: relay: bucket %s: %w", s.Bucket, err)
	}
	return l, err
}

// put writes a key, which expires after ttl unless that is 0. It requires that the revision
// of the latest entry of the key is latest, 0 for no entry. It returns the new revision.
func (l kvLedger) put(
	ctx context.Context, key string, value []byte, latest uint64, ttl time.Duration,
) (revision uint64, err error) {
	msg := &nats.Msg{Subject: l.subject(key), Header: nats.Header{}, Data: value}
	return l.publish(ctx, msg, latest, ttl)
}

// remove deletes a key as [jetstream.KeyValue.Purge] does: by a message that replaces all
// entries of the key (a rollup) and expires after markerTTL. It requires that the revision of
// the latest entry of the key is latest.
func (l kvLedger) remove(ctx context.Context, key string, latest uint64) error {
	msg := &nats.Msg{Subject: l.subject(key), Header: nats.Header{
		jetstream.MsgRollup: {jetstream.MsgRollupSubject},
		operationHeader:     {"PURGE"},
	}}
	_, err := l.publish(ctx, msg, latest, markerTTL)
	return err
}

// get returns the latest entry of a key, with revision 0 if there is none, and without a
// value if it was deleted or has expired.
func (l kvLedger) get(ctx context.Context, key string) (*ledgerEntry, error) {
	msg, err := l.stream.GetLastMsgForSubject(ctx, l.subject(key)) // unlike kv.Get, also for a deleted or expired key
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return &ledgerEntry{key: key}, nil
	}
	if err != nil {
		return nil, err
	}
	e := &ledgerEntry{key: key, revision: msg.Sequence}
	isDeleted, hasExpired := msg.Header.Get(operationHeader) != "", msg.Header.Get(jetstream.MarkerReasonHeader) != ""
	if !isDeleted && !hasExpired {
		e.value = msg.Data
	}
	return e, nil
}

// watch calls changed with the latest entries of keys, then with nil, and then with each
// change, until ctx is done, or the bucket or the connection is gone.
func (l kvLedger) watch(ctx context.Context, keys []string, changed func(e *ledgerEntry)) error {
	var watcher jetstream.KeyWatcher
	err := retryTemporary(ctx, func(error) {}, func() (err error) { watcher, err = l.kv.WatchFiltered(ctx, keys); return err })
	if err != nil {
		return fmt.Errorf("fastio: relay: bucket %s: %w", l.kv.Bucket(), err)
	}
	defer unwatch(watcher)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if err := l.check(ctx); err != nil {
				return err
			}
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return fmt.Errorf("fastio: relay: bucket %s: %w", l.kv.Bucket(), errWatchEnded)
			case entry == nil:
				changed(nil)
			default:
				changed(newLedgerEntry(entry))
			}
		}
	}
}

// unwatch ends a watch. It receives the entries that the watch has not delivered yet: else the
// library would wait for a receiver forever.
func unwatch(w jetstream.KeyWatcher) {
	_ = w.Stop() // an error means that the watch has ended already
	go func() {
		for range w.Updates() {
		}
	}()
}

// operationHeader is the header of an entry that ends a key.
const operationHeader = "KV-Operation"

// newLedgerEntry returns an entry of the bucket.
func newLedgerEntry(entry jetstream.KeyValueEntry) *ledgerEntry {
	e := &ledgerEntry{key: entry.Key(), revision: entry.Revision()}
	if entry.Operation() == jetstream.KeyValuePut {
		e.value = entry.Value()
	}
	return e
}

// subject returns the subject of a key.
func (l kvLedger) subject(key string) string { return "$KV." + l.kv.Bucket() + "." + key }

// publish stores an entry of a key, which expires after ttl unless that is 0. It requires that the
// revision of the latest entry of the key is latest, 0 for no entry. The library has no method that
// writes a key with this condition and an expiry.
func (l kvLedger) publish(ctx context.Context, msg *nats.Msg, latest uint64, ttl time.Duration) (uint64, error) {
	o := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(latest)}
	if ttl != 0 {
		o = append(o, jetstream.WithMsgTTL(ttl))
	}
	ack, err := l.js.PublishMsg(ctx, msg, o...)
	// A write conflicts, too, in a bucket that was deleted and created again: its revisions have begun anew.
	if conflicts(err) || errors.Is(err, jetstream.ErrNoStreamResponse) {
		l.mayBeGone.Store(true) // check looks whether the bucket was deleted
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// errClosed ends a replica whose connection was closed.
var errClosed = fmt.Errorf("fastio: relay: %w", nats.ErrConnectionClosed)

// check returns an error if the connection is closed, or the bucket was deleted, also if it
// was created again: the revisions of the new one have begun anew. It looks at the bucket
// only if a write has failed in a way that this could explain.
func (l kvLedger) check(ctx context.Context) error {
	if l.js.Conn().IsClosed() {
		return errClosed
	}
	if !l.mayBeGone.Swap(false) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	before := l.stream.CachedInfo()
	stream, err := l.js.Stream(ctx, before.Config.Name)
	isDeleted := errors.Is(err, jetstream.ErrStreamNotFound)
	isAnother := err == nil && !stream.CachedInfo().Created.Equal(before.Created)
	switch {
	case isDeleted || isAnother:
		return fmt.Errorf("fastio: relay: bucket %s: %w", l.kv.Bucket(), errWatchEnded)
	case err != nil: // the next check looks again
		l.mayBeGone.Store(true)
	}
	return nil
}
