package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/oauth"
)

// A replica that can follow nothing leaves its group, so that the others take over its share, and
// joins again when the reason is gone: a [Follower] whose credential the platform refuses, and an
// [AccountFollower] that cannot decrypt the credentials of the accounts.

const worstRejoin = 30 * time.Second // between two looks whether a replica can join again

var (
	errCredential = errors.New("the platform refuses the credential of the replica, which leaves its profiles to others")
	errKeys       = errors.New("the Keys do not decrypt the credentials of the accounts: the replica leaves them to others")

	errOldCredentials = errors.New("they decrypt only credentials from before the others had another key")
)

// isRefusal reports whether an error says that a credential is not valid.
func isRefusal(err error) bool {
	return errors.Is(err, api.ErrUnauthenticated) || errors.Is(err, oauth.ErrSignInAgain)
}

// joinWhileAble keeps a replica in its group until ctx is done, or the connection is closed. It waits until
// able returns nil. Then it calls join, which keeps the replica in the group until the context of join ends, or
// join fails. A call of leave ends that context: joinWhileAble reports the reason and begins again.
func joinWhileAble(
	ctx context.Context, conn *nats.Conn, report func(error), able func(ctx context.Context) error,
	join func(ctx context.Context, leave context.CancelCauseFunc) error,
) error {
	for {
		if err := awaitAble(ctx, conn, report, able); err != nil {
			return err
		}
		joined, leave := context.WithCancelCause(ctx)
		err := join(joined, leave)
		whyLeft := context.Cause(joined) // nil if it has not left
		leave(nil)
		if ctx.Err() != nil || whyLeft == nil {
			return err
		}
		report(whyLeft)
	}
}

// awaitAble calls able until it returns nil, with pauses, and reports its errors. It
// returns the error of ctx when that is done, and errClosed if the connection is closed.
func awaitAble(
	ctx context.Context, conn *nats.Conn, report func(error), able func(ctx context.Context) error,
) error {
	for try := 1; ; try++ {
		err := able(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			return nil
		case conn.IsClosed():
			return errClosed
		}
		report(err)
		_ = sleep(ctx, backoff{time.Second, worstRejoin}.pause(try)) // the loop ends with ctx
	}
}

// checkCredential returns an error if the platform has refused the credential in a search, and
// refuses it in a second search, too. The second search is of another profile if the replica has one:
// a refusal of one profile alone is not an error.
func (r *replica) checkCredential(ctx context.Context) error {
	r.mu.Lock()
	refused := r.refusedFor
	r.mu.Unlock()
	if refused == (api.Profile{}) {
		return nil
	}
	profile := refused
	if other := slices.IndexFunc(r.Profiles, func(p api.Profile) bool { return p != refused }); other >= 0 {
		profile = r.Profiles[other]
	}
	_, err := r.Events.Search(ctx, events.Query{Profile: profile, Limit: 1})
	if isRefusal(err) {
		return fmt.Errorf("%w: %w", errCredential, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusedFor = api.Profile{}
	return nil
}

// suspectCredential is called when the platform has refused the credential in a search. If
// checkCredential confirms that, the replica leaves its group. Otherwise checkCredential ends the
// suspicion: it sets refusedFor to zero.
func (r *replica) suspectCredential(p api.Profile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	isChecking := r.refusedFor != (api.Profile{})
	if isChecking {
		return
	}
	r.refusedFor = p
	leave := r.leave // of its present membership: it may leave and join again during the check
	r.goroutines.Go(func() {
		if err := r.checkCredential(r.ctx); err != nil {
			leave(err)
		}
	})
}

// keysCheck is the key of a record in the bucket that is encrypted as the credentials are, so that
// a replica knows whether its keys are those of the others.
const keysCheck = "accounts-check"

// checkKeys returns nil if the Keys or OtherKeys decrypt what other programs have encrypted: the record in the
// bucket or, without one, the credentials. It returns errKeys if they do not, and the error of NATS or of a key
// if it cannot find out. A record that one of the OtherKeys decrypts is encrypted again with the Keys.
//
// A record that no key decrypts is replaced if a key decrypts a credential that was written after it, or if
// there are no credentials: the record is of a key that was lost, or of a replica that had a wrong key before
// there were credentials. An older credential proves nothing: the record may be of a new key, with which other
// programs have not encrypted that credential yet.
func (a Accounts) checkKeys(ctx context.Context) error {
	kv, record, err := a.readKeysCheck(ctx)
	if err != nil {
		return err
	}
	isStale, revision := false, uint64(0) // of the record; credentials written after it have a greater revision
	if record != nil {
		revision = record.Revision()
		_, isStale, err = unsealAny(ctx, a.Keys, a.OtherKeys, keysCheck, record.Value())
		switch {
		case err == nil && !isStale:
			return nil
		case err != nil && !isUndecryptable(err):
			return err
		}
	}
	if !isStale {
		if err := a.decryptAny(ctx, kv, revision); err != nil { // nil also without credentials
			return err
		}
	}
	return a.writeKeysCheck(ctx, kv, revision)
}

// readKeysCheck returns the bucket and the record of the keys, nil if there is none.
func (a Accounts) readKeysCheck(ctx context.Context) (jetstream.KeyValue, jetstream.KeyValueEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	kv, err := a.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	record, err := kv.Get(ctx, keysCheck)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return kv, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("fastio: relay: bucket %s: %w", kv.Bucket(), err)
	}
	return kv, record, nil
}

// isUndecryptable reports whether an error says that a key does not decrypt what is encrypted. Other errors
// say nothing about that: the key could not be loaded, or NATS has failed.
func isUndecryptable(err error) bool {
	_, is := errors.AsType[*oauth.StoreError](err)
	return is
}

// writeKeysCheck writes the record that checkKeys decrypts, if the record still has the given revision,
// 0 if there is none.
func (a Accounts) writeKeysCheck(ctx context.Context, kv jetstream.KeyValue, revision uint64) error {
	sealed, err := seal(ctx, a.Keys, keysCheck, []byte("{}"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if revision == 0 {
		_, err = kv.Create(ctx, keysCheck, sealed)
	} else {
		_, err = kv.Update(ctx, keysCheck, sealed, revision)
	}
	if conflicts(err) { // another replica was faster; suspectKeys reads its record if need be
		err = nil
	}
	return err
}

// decryptAny returns nil if the keys decrypt a credential that was written after a revision, or if there are no
// credentials, and otherwise errKeys. It returns the error of NATS or of a key if it cannot find that out. There
// may be many credentials: so only the time without an answer is limited.
func (a Accounts) decryptAny(ctx context.Context, kv jetstream.KeyValue, after uint64) error {
	watching, end := context.WithCancel(ctx)
	defer end()
	silent := time.AfterFunc(requestTimeout, end) // ends the watch if no entry arrives for this time
	defer silent.Stop()
	var failure error // of a credential
	var lastErr error // of the last round: why the watch has failed, nil if it is complete
	for e, err := range a.changes(watching, jetstream.IgnoreDeletes()) {
		silent.Stop()
		lastErr = err               // a record that cannot be read is an error too, but its round is not the last
		if e == nil && err == nil { // all accounts are known
			break
		}
		if err == nil && e.record != nil {
			revision, decryptErr := a.decrypt(ctx, kv, e)
			switch {
			case isUndecryptable(decryptErr):
				failure = decryptErr
			case decryptErr != nil:
				return decryptErr
			case revision > after:
				return nil
			case revision > 0:
				failure = cmp.Or(failure, errOldCredentials)
			}
		}
		silent.Reset(requestTimeout)
	}
	wasSilent := ctx.Err() == nil && watching.Err() != nil // silent has ended the watch
	switch {
	case lastErr != nil && wasSilent:
		return fmt.Errorf("fastio: relay: the accounts: %w", context.DeadlineExceeded)
	case lastErr != nil:
		return lastErr
	case failure != nil:
		return fmt.Errorf("%w: %w", errKeys, failure)
	}
	return nil
}

// decrypt finds out whether the credential of an account can be decrypted, and returns its revision, which is 0
// without a credential: a sign-in may not be stored yet.
func (a Accounts) decrypt(ctx context.Context, kv jetstream.KeyValue, e *accountEntry) (revision uint64, err error) {
	if !e.record.isSignIn() {
		_, _, err = a.unseal(ctx, e.record)
		return e.revision, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout) // one for NATS, one for the KeyStore
	defer cancel()
	tokens, revision, err := a.tokens().read(ctx, kv, e.name)
	if tokens == nil {
		revision = 0
	}
	return revision, err
}

// suspectKeys is called when a credential cannot be decrypted. If the reason is that the other programs
// have other Keys, the replica leaves its group.
func (r *accountReplica) suspectKeys() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checking || r.leave == nil {
		return
	}
	r.checking = true
	leave := r.leave // of its present membership: it may leave and join again during the check
	r.goroutines.Go(func() {
		err := r.Accounts.checkKeys(r.ctx)
		r.mu.Lock()
		r.checking = false
		r.mu.Unlock()
		if errors.Is(err, errKeys) {
			leave(err)
		}
	})
}
