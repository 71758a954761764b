// Package keyring keeps the key of an [oauth.FileStore] in the keyring of the system:
// Keychain on macOS, Credential Manager on Windows, the Secret Service (GNOME Keyring,
// KWallet) elsewhere.
//
//	store := oauth.UserStore("acme-sync") // its key is in a file
//	ring := keyring.Open("acme-sync", "tokens")
//	_, err := ring.LoadKey(ctx)
//	if errors.Is(err, keyring.ErrUnavailable) {
//		store.Former = ring
//	} else {
//		store.Keys, store.Former = ring, store.Keys
//	}
//
// The keyring holds only the key, because the size of entries is limited. A machine may
// have no keyring, as a server without a login session: the example then keeps the key in
// a file. The other key is Former, so that a run that finds another machine than the last
// reads the same tokens: the next refresh or sign-in encrypts them with the key of
// this run, and the old key stays where it is, unused.
//
// If the tokens need the key of a keyring that is locked or gone, Login and the
// token source fail with [ErrUnavailable], and nothing is changed: the user unlocks the
// keyring, or the program discards the tokens with Reset of the FileStore and signs in
// again.
package keyring

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"

	"github.com/fastio-go/fastio/oauth"
)

// ErrUnavailable reports that the keyring does not exist, is locked, or failed.
// The error also wraps the cause.
var ErrUnavailable = errors.New("the system keyring is unavailable")

// ErrForeign reports that the entry belongs to another program. It is not
// overwritten.
var ErrForeign = errors.New("the keyring entry holds no key of this program")

// Open returns a key store in the keyring of the system, for a service and an
// account. Nothing is read before the first use. The system may ask the user to
// unlock the keyring; a call returns when its context is done, but the prompt stays
// open.
func Open(service, account string) oauth.KeyStore { return newEntry(service, account, system{}) }

const keyLen = 32

// backend is a keyring whose calls may block.
type backend interface {
	Get(service, account string) (string, error)
	Set(service, account, secret string) error
}

type system struct{}

func (system) Get(service, account string) (string, error) { return keyring.Get(service, account) }
func (system) Set(service, account, secret string) error {
	return keyring.Set(service, account, secret)
}

type entry struct {
	service, account string
	backend          backend
	lock             chan struct{} // holds one value during a call, so that at most one prompt is open
}

func newEntry(service, account string, b backend) *entry {
	return &entry{service, account, b, make(chan struct{}, 1)}
}

// LoadKey reads the key, nil if there is none.
func (e *entry) LoadKey(ctx context.Context) ([]byte, error) {
	var key []byte
	err := e.aside(ctx, func() (err error) {
		key, err = e.load()
		return err
	})
	if err != nil {
		return nil, err
	}
	return key, nil
}

// SaveKey writes the key unless the entry holds one.
func (e *entry) SaveKey(ctx context.Context, key []byte) error {
	text := base64.StdEncoding.EncodeToString(key)
	return e.aside(ctx, func() error {
		switch held, err := e.load(); {
		case err != nil:
			return err
		case held != nil:
			return errors.New("fastio: keyring: the entry already holds a key")
		}
		return unavailable(e.backend.Set(e.service, e.account, text))
	})
}

// load returns the key in the keyring, nil if there is none.
func (e *entry) load() ([]byte, error) {
	text, err := e.backend.Get(e.service, e.account)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != keyLen { // the error of the decoder may contain the content
		return nil, fmt.Errorf("fastio: keyring: %w", ErrForeign)
	}
	return key, nil
}

// unavailable wraps an error of the keyring in ErrUnavailable; nil stays nil.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fastio: keyring: %w: %w", ErrUnavailable, err)
}

// unanswered returns the error for a call whose context has ended. After a timeout, such as
// that of a token source, it is an ErrUnavailable: the system may be asking for a password.
func unanswered(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return unavailable(fmt.Errorf("it has not answered, and may wait for the user to unlock it: %w", err))
}

// aside runs a call of the keyring in a goroutine and returns its error, or
// that of ctx if ctx is done first: then the call is abandoned, and the next
// one waits for its end.
func (e *entry) aside(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.lock <- struct{}{}: // held until call has returned
	case <-ctx.Done():
		return unanswered(ctx.Err())
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-e.lock }()
		done <- call()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return unanswered(ctx.Err())
	}
}
