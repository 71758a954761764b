package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
)

// AccountState is what a replica does with an account.
type AccountState string

// States of accounts. In [AccountNeedsSignIn], no request is sent until [Accounts.Update] brings
// a new credential or, for a sign-in, the customer has signed in again with [Tokens]. Then the
// account goes on from its checkpoints. It is so for an API key too, which Update replaces.
const (
	AccountNew         AccountState = "new"           // no replica has begun to follow it
	AccountFollowing   AccountState = "following"     // all its profiles are followed
	AccountPaused      AccountState = "paused"        // by Pause
	AccountNeedsSignIn AccountState = "needs sign-in" // the platform has refused the credential: see below
	AccountFailing     AccountState = "failing"       // some of its profiles are not followed, and are tried again
)

// AccountStatus is the state of an account.
type AccountStatus struct {
	Account  Account // without its credential
	State    AccountState
	Reason   string    // of [AccountFailing] and [AccountNeedsSignIn]: the text of an error
	Since    time.Time // by the clock of the replica that has set the state; zero for AccountNew
	Replica  string    // that has set it
	Profiles int       // that are followed
}

// accountStatusRecord is the value of the status of an account in the bucket.
type accountStatusRecord struct {
	Version    int          `json:"v"`
	ID         string       `json:"id"`         // of the account, so that a status of an earlier one does not count
	Credential string       `json:"credential"` // with which the state was found
	State      AccountState `json:"state"`
	Reason     string       `json:"reason,omitzero"`
	Since      time.Time    `json:"since"`
	Replica    string       `json:"replica"`
	Profiles   int          `json:"profiles"`
}

// accountStatusKey returns the key of the status of an account in the bucket.
func accountStatusKey(name string) string { return accountStatusPrefix + token(name) }

const accountStatusPrefix = "account-status."

// Status returns the state of an account.
//
// Errors: [api.ErrNotFound] if there is no such account; those of NATS.
func (a Accounts) Status(ctx context.Context, name string) (*AccountStatus, error) {
	kv, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	r, _, err := a.read(ctx, kv, name)
	if err != nil {
		return nil, err
	}
	found, _, err := readAccountStatus(ctx, kv, r)
	if err != nil {
		return nil, err
	}
	return new(r.status(found)), nil
}

// status returns the state of the account, given the one that a replica has written: zero if none
// has.
func (r *accountRecord) status(found accountStatusRecord) AccountStatus {
	s := AccountStatus{Account: r.account(), State: AccountNew}
	if found.ID == r.ID && found.State != "" {
		s.State, s.Reason, s.Since = found.State, found.Reason, found.Since
		s.Replica, s.Profiles = found.Replica, found.Profiles
	}
	isNewKey := !r.isSignIn() && found.Credential != r.Credential // which no replica has tried yet
	if s.State == AccountNeedsSignIn && isNewKey {
		s.State, s.Reason = AccountNew, ""
	}
	if r.Paused {
		s.State, s.Reason = AccountPaused, ""
	}
	return s
}

// readAccountStatus returns the status that a replica has written for an account, a zero one
// if there is none, and the revision of its key, 0 without one.
func readAccountStatus(
	ctx context.Context, kv jetstream.KeyValue, r *accountRecord,
) (s accountStatusRecord, revision uint64, err error) {
	entry, err := kv.Get(ctx, accountStatusKey(r.Name))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return s, 0, nil
	}
	if err == nil {
		err = jsonv2.Unmarshal(entry.Value(), &s)
	}
	if err != nil {
		return s, 0, fmt.Errorf("fastio: relay: the status of account %q: %w", r.Name, err)
	}
	if s.ID != r.ID { // of a removed account that had the same name
		s = accountStatusRecord{}
	}
	return s, entry.Revision(), nil
}
