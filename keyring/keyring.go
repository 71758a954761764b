// Package keyring keeps the key of an oauth.FileStore in the keyring of the
// system: Keychain on macOS, Credential Manager on Windows, the Secret Service
// (GNOME Keyring, KWallet) elsewhere.
//
//	store := oauth.FileStore{Path: path, Keys: keyring.Open("acme-sync", "tokens")}
//
// The keyring holds the key alone, because it may not take as much as a token.
// A machine without a keyring, such as a server nobody is logged in to, needs
// another oauth.KeyStore; none is taken behind the program's back.
package keyring

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"

	"github.com/fastio-go/fastio/oauth"
)

// ErrUnavailable is in the chain of every error of a keyring that is not there,
// is locked, or fails; its cause is too.
var ErrUnavailable = errors.New("the system keyring is unavailable")

// ErrForeign is in the chain of the error for an entry that holds no key: another
// program has it. It is not written over.
var ErrForeign = errors.New("the keyring entry holds something else")

// Open returns a key store in the system's keyring, under the name of a service
// and an account. Nothing is read before the first use. The system may ask the
// person at the machine to unlock the keyring; a call whose context ends leaves
// the question standing.
func Open(service, account string) oauth.KeyStore { return open(service, account, system{}) }

const keyLen = 32

// backend is a keyring whose calls take as long as they like.
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
	turn             chan struct{} // holds one value while a call is out: there is never more than one question
}

func open(service, account string, b backend) *entry {
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
			return errors.New("fastio: keyring: the entry holds a key already")
		}
		return unavailable(e.backend.Set(e.service, e.account, text))
	})
}

func (e *entry) load() ([]byte, error) {
	text, err := e.backend.Get(e.service, e.account)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != keyLen { // the error of the decoder may tell of the content
		return nil, fmt.Errorf("fastio: keyring: %w", ErrForeign)
	}
	return key, nil
}

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fastio: keyring: %w: %w", ErrUnavailable, err)
}

// aside runs a call of the keyring, which knows no context, and leaves it behind
// when ctx ends.
func (e *entry) aside(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-e.turn }()
		done <- call()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
