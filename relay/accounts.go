package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// Accounts is the directory of the customers of a product, in the bucket of a [Stream].
// An [AccountFollower] follows their logs. It is safe for concurrent use by several
// processes.
//
//	accounts := relay.Accounts{Stream: stream, Keys: oauth.StaticKey(key)}
//	err := accounts.Add(ctx, relay.Account{Name: "acme", APIKey: key})
//
// Credentials are encrypted with the name of the account as associated data: see
// [oauth.Seal]. To replace the key, give all programs the new one in OtherKeys first, then
// exchange the two. A running AccountFollower, or Reseal, encrypts everything again, after
// which the old key can go. A key that is not loaded within 5 seconds is an error.
type Accounts struct {
	Stream Stream
	Keys   oauth.KeyStore // required; the same key in all processes, for example oauth.StaticKey

	OtherKeys []oauth.KeyStore // which decrypt too, while the key is replaced
}

// Account is a customer: whose logs are followed, and with which credential.
type Account struct {
	// Name of the product's choice, at most 128 bytes. It is part of subjects: see
	// [Accounts.Subject]. The name of an account is the Account of its sign-in in
	// [oauth.Config], too. It must not be "epoch", "org", "workspace" or "share", which are
	// parts of other subjects, or [AllAccounts].
	Name string

	// APIKey is the credential. Zero means a sign-in: [Tokens] with the same Stream and Keys
	// is the Store of an [oauth.Login] whose Account is the name. Methods that return an
	// Account leave it zero.
	APIKey api.Secret

	// Profiles are the organizations, workspaces and shares to follow, by their IDs. None
	// means all organizations and workspaces that the account can see, found again every
	// hour.
	Profiles []api.Profile

	// Since is the creation of the first event of profiles without a checkpoint; default:
	// the beginning of the log.
	Since time.Time

	Paused bool // changed by [Accounts.Pause] and [Accounts.Resume] only
	SignIn bool // whether the credential is a sign-in; set by methods that return an Account
}

const (
	opAccounts    = "relay.Accounts"
	accountPrefix = "account."
)

// accountRecord is the value of an account in the bucket. It has the credential, so that no
// program sees one without the other.
type accountRecord struct {
	Version    int           `json:"v"`
	Name       string        `json:"name"`
	ID         string        `json:"id"` // random: differs from that of an account of the same name before
	Profiles   []api.Profile `json:"profiles,omitempty"`
	Since      time.Time     `json:"since,omitzero"`
	Paused     bool          `json:"paused,omitzero"`
	Credential string        `json:"credential"`       // random, changes with the credential
	Sealed     []byte        `json:"sealed,omitempty"` // the API key; none for a sign-in
}

const accountVersion = 1

// isSignIn reports whether the credential is a sign-in.
func (r *accountRecord) isSignIn() bool { return r.Sealed == nil }

// account returns what callers see of a record.
func (r *accountRecord) account() Account {
	return Account{Name: r.Name, Profiles: r.Profiles, Since: r.Since, Paused: r.Paused, SignIn: r.isSignIn()}
}

// accountKey returns the key of an account in the bucket.
func accountKey(name string) string { return accountPrefix + token(name) }

// Subject returns the subject of all events of an account: the prefix of the Stream, the
// name, and then the kind of the profile, its ID and the category of the event. In the name,
// other bytes than letters, digits, hyphens and underscores are written as =XX.
func (a Accounts) Subject(name string) string {
	return a.Stream.withDefaults().Prefix + "." + token(name) + ".>"
}

// Add adds an account. Replicas begin to follow it within seconds.
//
// Errors: [*api.InputError] for a field; [api.ErrConflict] if the name is taken; those of
// NATS and of the Keys.
func (a Accounts) Add(ctx context.Context, account Account) error {
	if err := account.check("Add"); err != nil {
		return err
	}
	kv, err := a.open(ctx)
	if err != nil {
		return err
	}
	r := accountRecord{
		Version: accountVersion, Name: account.Name, ID: rand.Text(), Profiles: account.Profiles,
		Since: account.Since.UTC(), Paused: account.Paused,
	}
	if err := a.setCredential(ctx, &r, account.APIKey); err != nil {
		return err
	}
	value, err := jsonv2.Marshal(r)
	if err != nil {
		return err
	}
	_, err = kv.Create(ctx, accountKey(r.Name), value)
	if err == nil {
		return nil
	}
	if held, _, failed := a.read(ctx, kv, r.Name); failed == nil && held.ID == r.ID {
		return nil // the record was created, but the response was lost
	}
	return a.wrap("adding", r.Name, err)
}

// check returns an error for a field that is not valid.
func (a Account) check(method string) error {
	op := opAccounts + "." + method
	if err := checkAccountName(op, a.Name); err != nil {
		return err
	}
	// Consume takes this name for all accounts. Delete does not call check, and so accepts the name: an account
	// that got it before it was refused can be deleted.
	if a.Name == AllAccounts {
		return &api.InputError{Op: op, Field: "Account.Name", Rule: "must not be AllAccounts", Got: strconv.Quote(a.Name)}
	}
	for i, p := range a.Profiles {
		field := fmt.Sprintf("Account.Profiles[%d]", i)
		err := p.OneOf(op, field, api.ProfileKindOrg, api.ProfileKindWorkspace, api.ProfileKindShare)
		if err != nil {
			return err
		}
		if slices.Contains(a.Profiles[:i], p) {
			return &api.InputError{Op: op, Field: field, Rule: "must not be repeated", Got: p.String()}
		}
	}
	return nil
}

// checkAccountName returns an error for a name that no account can have. Subjects of events of an
// account have its name behind the prefix. Other subjects of the stream have "epoch" or a kind of
// profile there: the name must differ from these.
func checkAccountName(op, name string) error {
	refuse := func(rule string) error {
		return &api.InputError{Op: op, Field: "Account.Name", Rule: rule, Got: strconv.Quote(name)}
	}
	switch name {
	case "epoch", string(api.ProfileKindOrg), string(api.ProfileKindWorkspace), string(api.ProfileKindShare):
		return refuse("must not be part of other subjects")
	}
	if strings.TrimSpace(name) == "" || len(name) > maxToken {
		return refuse("must be 1 to " + strconv.Itoa(maxToken) + " bytes, and not blank")
	}
	return nil
}

// Update replaces the Profiles and Since of an account, and its credential:
//   - An APIKey is the new credential.
//   - SignIn without an APIKey selects the sign-in of [Tokens], which must be stored before.
//   - With neither, the credential stays as it is.
//
// A new credential ends [AccountNeedsSignIn], also when it is the same key again. When the customer of
// an account with a sign-in has signed in again, Update is not needed. Since has no effect on profiles
// with a checkpoint.
//
// Errors: [*api.InputError] for a field; [api.ErrNotFound] if there is no such account;
// those of NATS and of the Keys.
func (a Accounts) Update(ctx context.Context, account Account) error {
	if err := account.check("Update"); err != nil {
		return err
	}
	return a.change(ctx, account.Name, func(r *accountRecord) error {
		r.Profiles, r.Since = account.Profiles, account.Since.UTC()
		if account.APIKey.IsZero() && !account.SignIn {
			return nil
		}
		return a.setCredential(ctx, r, account.APIKey)
	})
}

// Pause stops the following of an account until Resume.
//
// Errors: [api.ErrNotFound] if there is no such account; those of NATS.
func (a Accounts) Pause(ctx context.Context, name string) error {
	return a.change(ctx, name, func(r *accountRecord) error { r.Paused = true; return nil })
}

// Resume goes on with a paused account from its checkpoints.
//
// Errors: [api.ErrNotFound] if there is no such account; those of NATS.
func (a Accounts) Resume(ctx context.Context, name string) error {
	return a.change(ctx, name, func(r *accountRecord) error { r.Paused = false; return nil })
}

// change changes the record of an account, again if another program has changed it
// meanwhile.
func (a Accounts) change(ctx context.Context, name string, change func(r *accountRecord) error) error {
	kv, err := a.open(ctx)
	if err != nil {
		return err
	}
	for {
		r, revision, err := a.read(ctx, kv, name)
		if err == nil {
			err = change(r)
		}
		if err != nil {
			return err
		}
		value, err := jsonv2.Marshal(r)
		if err != nil {
			return err
		}
		_, err = kv.Update(ctx, accountKey(name), value, revision)
		if !conflicts(err) { // else it is read again: another program has changed it, or a response was lost
			return a.wrap("changing", name, err)
		}
	}
}

// DeleteOptions are the options of [Accounts.Delete]. Nil means no options.
type DeleteOptions struct {
	// Purge deletes the events of the account too: from the stream, from its copy for Ordered groups,
	// and from the stream of dead letters, all of whose messages are looked at.
	Purge bool
}

// Delete deletes an account with its credential, its sign-in and its checkpoints. Replicas
// stop at once. It does not revoke the sign-in at the platform: call [oauth.SignOut] before, with
// the Config of the sign-in. An account of the same name that is added later begins anew.
//
// After an error, a part may be left: call Delete again. If the account does not exist, that is
// not an error.
//
// Events that a replica sends at this moment may still be stored.
//
// Errors: those of NATS.
func (a Accounts) Delete(ctx context.Context, name string, o *DeleteOptions) error {
	if err := checkAccountName(opAccounts+".Delete", name); err != nil {
		return err
	}
	kv, err := a.open(ctx)
	if err != nil {
		return err
	}
	for _, key := range []string{accountKey(name), tokensKey(name), accountStatusKey(name)} {
		if err := kv.Purge(ctx, key, jetstream.PurgeTTL(removalTTL)); err != nil {
			return a.wrap("deleting", name, err)
		}
	}
	checkpoints, err := kv.ListKeysFiltered(ctx, checkpointPrefix+token(name)+".>")
	if err != nil {
		return a.wrap("deleting", name, err)
	}
	for key := range checkpoints.Keys() { // all, also after an error: the library blocks until they are received
		if err == nil {
			err = kv.Purge(ctx, key, jetstream.PurgeTTL(markerTTL))
		}
	}
	if err != nil {
		return a.wrap("deleting", name, err)
	}
	alsoEvents := o != nil && o.Purge // else only the epochs, without which no replica can store events
	return a.wrap("deleting", name, a.purge(ctx, name, alsoEvents))
}

// removalTTL is how long the bucket keeps the information that an account was removed: longer than the
// lease of a replica, which may be cut off for that time and still follow the account.
const removalTTL = time.Hour

// accountEpochs returns the beginning of the subjects with the epochs of the profiles of an
// account. These subjects have more parts than those of events.
func (s Stream) accountEpochs(name string) string { return s.Prefix + ".epoch.account." + token(name) }

// Get returns an account, without its credential.
//
// Errors: [api.ErrNotFound] if there is no such account; those of NATS.
func (a Accounts) Get(ctx context.Context, name string) (*Account, error) {
	kv, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	r, _, err := a.read(ctx, kv, name)
	if err != nil {
		return nil, err
	}
	account := r.account()
	return &account, nil
}

// All returns the accounts, in no particular order and without their credentials. It yields an
// error for a record that cannot be read, and goes on.
func (a Accounts) All(ctx context.Context) iter.Seq2[*Account, error] {
	return func(yield func(*Account, error) bool) {
		for c, err := range a.changes(ctx, jetstream.IgnoreDeletes()) {
			if c == nil && err == nil { // all accounts were yielded
				return
			}
			var account *Account
			if err == nil {
				account = new(c.record.account())
			}
			if !yield(account, err) {
				return
			}
		}
	}
}

// AccountChange is an account that was added, changed or removed.
type AccountChange struct {
	Name    string
	Account *Account // without its credential; nil if it is removed
}

// Watch yields all accounts, and then each change; if an account changes twice at short intervals, perhaps
// only the last change. It yields an error for a record that cannot be read, and goes on. When ctx is done,
// it yields the error of ctx and ends.
func (a Accounts) Watch(ctx context.Context) iter.Seq2[AccountChange, error] {
	return func(yield func(AccountChange, error) bool) {
		for c, err := range a.changes(ctx) {
			var change AccountChange
			switch {
			case err != nil:
			case c == nil: // the accounts that exist are yielded, and changes follow
				continue
			case c.record == nil:
				change.Name = c.name
			default:
				change = AccountChange{Name: c.name, Account: new(c.record.account())}
			}
			if !yield(change, err) {
				return
			}
		}
	}
}

// accountEntry is a value of the directory, as a watch has delivered it.
type accountEntry struct {
	name     string
	revision uint64
	record   *accountRecord // nil if the account is removed
}

// changes returns the entries of the directory: those that exist, then nil, then each
// change until ctx is done.
func (a Accounts) changes(ctx context.Context, o ...jetstream.WatchOpt) iter.Seq2[*accountEntry, error] {
	return func(yield func(*accountEntry, error) bool) {
		kv, err := a.open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		watcher, err := kv.Watch(ctx, accountPrefix+"*", o...)
		if err != nil {
			yield(nil, fmt.Errorf("fastio: relay: the accounts: %w", err))
			return
		}
		defer unwatch(watcher)
		for {
			var entry jetstream.KeyValueEntry
			var ok bool
			select {
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			case entry, ok = <-watcher.Updates():
			}
			if !ok {
				yield(nil, cmp.Or(ctx.Err(), errWatchEnded))
				return
			}
			var goOn bool
			if entry == nil { // all entries that exist are delivered
				goOn = yield(nil, nil)
			} else {
				goOn = yield(decodeAccount(entry))
			}
			if !goOn {
				return
			}
		}
	}
}

// decodeAccount decodes an entry of the bucket.
func decodeAccount(entry jetstream.KeyValueEntry) (*accountEntry, error) {
	var value []byte
	if entry.Operation() == jetstream.KeyValuePut {
		value = entry.Value()
	}
	name, record, err := decodeRecord(entry.Key(), value)
	if err != nil {
		return nil, err
	}
	return &accountEntry{name: name, revision: entry.Revision(), record: record}, nil
}

// decodeRecord decodes the value of a key of the directory. The record is nil if the value is:
// the account was removed.
func decodeRecord(key string, value []byte) (name string, r *accountRecord, err error) {
	name, err = untoken(strings.TrimPrefix(key, accountPrefix))
	if err == nil && value != nil {
		r = new(accountRecord)
		err = jsonv2.Unmarshal(value, r)
		switch {
		case err != nil:
		case r.Version != accountVersion:
			err = fmt.Errorf("it has the unknown version %d", r.Version)
		case r.Name != name:
			err = errors.New("it is of another account")
		}
	}
	if err != nil {
		return name, nil, fmt.Errorf("fastio: relay: the record of account %q: %w", name, err)
	}
	return name, r, nil
}

// Reseal encrypts again, with the key of Keys, what is encrypted with one of the OtherKeys:
// the credentials and the sign-ins of all accounts. It returns how many it has encrypted. An
// [AccountFollower] calls it when it begins to take accounts, and every hour.
//
// Errors: those of NATS and of the Keys. What cannot be decrypted with any key is left, and
// is an [*oauth.StoreError].
func (a Accounts) Reseal(ctx context.Context) (changed int, err error) {
	if len(a.OtherKeys) == 0 {
		return 0, nil
	}
	note := func(done bool, failure error) {
		if done {
			changed++
		}
		if !errors.Is(failure, api.ErrNotFound) { // an account that was removed meanwhile is not a failure
			err = errors.Join(err, failure)
		}
	}
	for account, failure := range a.All(ctx) {
		if failure != nil {
			note(false, failure)
			continue
		}
		// An account with an API key may have a stored sign-in too, which Update can select again.
		note(a.tokens().reseal(ctx, account.Name))
		if !account.SignIn {
			note(a.resealKey(ctx, account.Name))
		}
	}
	return changed, err
}

// resealKey encrypts the API key of an account again if it is encrypted with one of OtherKeys, and
// reports whether it did.
func (a Accounts) resealKey(ctx context.Context, name string) (done bool, err error) {
	err = a.change(ctx, name, func(r *accountRecord) error {
		key, stale, err := a.unseal(ctx, r)
		if err != nil {
			return err
		}
		if !stale {
			return errFresh // nothing is written
		}
		r.Sealed, err = a.sealKey(ctx, r.Name, key)
		return err
	})
	if errors.Is(err, errFresh) {
		return false, nil
	}
	return err == nil, err
}

// errFresh says that a record is encrypted with the present key.
var errFresh = errors.New("it is encrypted with the present key")

// tokens returns the store of the sign-ins.
func (a Accounts) tokens() Tokens {
	return Tokens(a)
}

// open returns the bucket. It returns an error if Keys, which encrypt the credentials, are nil.
func (a Accounts) open(ctx context.Context) (jetstream.KeyValue, error) {
	if a.Keys == nil {
		return nil, &api.InputError{Op: opAccounts, Field: "Accounts.Keys", Rule: "must not be nil"}
	}
	return a.Stream.withDefaults().bucket(ctx)
}

// read returns the record of an account and its revision.
func (a Accounts) read(ctx context.Context, kv jetstream.KeyValue, name string) (*accountRecord, uint64, error) {
	entry, err := kv.Get(ctx, accountKey(name))
	if err != nil {
		return nil, 0, a.wrap("reading", name, err)
	}
	e, err := decodeAccount(entry)
	if err != nil {
		return nil, 0, err
	}
	return e.record, e.revision, nil
}

// wrap returns an error with the name of the account, nil for nil.
func (a Accounts) wrap(doing, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		err = fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case conflicts(err):
		err = fmt.Errorf("%w: %w", api.ErrConflict, err)
	}
	return fmt.Errorf("fastio: relay: %s account %q: %w", doing, name, err)
}

// accountSecret is what is sealed of an account.
type accountSecret struct {
	APIKey string `json:"api_key"`
}

// setCredential gives a record another credential: an API key, which it encrypts, or a sign-in if the
// key is zero. The new Credential, a random text, makes replicas begin again with it.
func (a Accounts) setCredential(ctx context.Context, r *accountRecord, key api.Secret) (err error) {
	r.Credential, r.Sealed = rand.Text(), nil
	if isSignIn := key.IsZero(); !isSignIn {
		r.Sealed, err = a.sealKey(ctx, r.Name, key)
	}
	return err
}

// sealKey returns the encrypted API key of an account.
func (a Accounts) sealKey(ctx context.Context, name string, key api.Secret) ([]byte, error) {
	plain, err := jsonv2.Marshal(accountSecret{key.Reveal()})
	if err != nil {
		return nil, err
	}
	return seal(ctx, a.Keys, name, plain)
}

// unseal returns the API key of a record. It is stale if it is encrypted with one of OtherKeys.
func (a Accounts) unseal(ctx context.Context, r *accountRecord) (key api.Secret, stale bool, err error) {
	plain, stale, err := unsealAny(ctx, a.Keys, a.OtherKeys, r.Name, r.Sealed)
	if err != nil {
		return key, false, err
	}
	var s accountSecret
	if err := jsonv2.Unmarshal(plain, &s); err != nil || s.APIKey == "" {
		return key, false, &oauth.StoreError{Path: strconv.Quote(r.Name), Reason: "it is no API key"}
	}
	return api.NewSecret(s.APIKey), stale, nil
}

// unsealAny decrypts a record with the current key, or else with one of the others: then the record is
// stale, and to be encrypted again. If no key decrypts it, the error is that of the current key, or that of
// another key that could not be loaded.
func unsealAny(
	ctx context.Context, current oauth.KeyStore, others []oauth.KeyStore, account string, sealed []byte,
) (plain []byte, stale bool, err error) {
	plain, err = unseal(ctx, current, account, sealed)
	if err == nil {
		return plain, false, nil
	}
	for _, other := range others {
		plain, otherErr := unseal(ctx, other, account, sealed)
		if otherErr == nil {
			return plain, true, nil
		}
		if !isUndecryptable(otherErr) {
			err = otherErr
		}
	}
	return nil, false, err
}

// unseal is [oauth.Unseal] with a timeout, as a KeyStore may hang.
func unseal(ctx context.Context, keys oauth.KeyStore, account string, sealed []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	plain, err := oauth.Unseal(ctx, keys, account, sealed)
	return plain, explainKey(ctx, err)
}

// seal is [oauth.Seal] with a timeout, as a KeyStore may hang.
func seal(ctx context.Context, keys oauth.KeyStore, account string, plain []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	sealed, err := oauth.Seal(ctx, keys, account, plain)
	return sealed, explainKey(ctx, err)
}

// explainKey adds to err, if ctx is done, that the key could not be loaded. Only the KeyStore can take so long
// that ctx is done meanwhile: seal and unseal wait for nothing else.
func explainKey(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("fastio: relay: the key that encrypts credentials cannot be loaded: %w", err)
	}
	return err
}
