package oauth

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/durable"
)

// A KeyStore keeps the key a [FileStore] seals its file with: 32 random bytes.
// Package keyring has one in the system's keyring. It is safe for concurrent use.
type KeyStore interface {
	// LoadKey returns the key, nil if there is none yet.
	LoadKey(ctx context.Context) ([]byte, error)

	// SaveKey keeps a new key. It is called when LoadKey has said that there is
	// none, and must not replace a key that somebody saved since.
	SaveKey(ctx context.Context, key []byte) error
}

const keyLen = 32

func checkKey(key []byte) error {
	if n := len(key); n != keyLen {
		return &api.InputError{Field: "key", Rule: "must be 32 bytes long", Got: strconv.Itoa(n)}
	}
	return nil
}

// StaticKey returns a key the program has from elsewhere, such as a secret
// manager. A key that is not 32 bytes long fails when it is used.
func StaticKey(key []byte) KeyStore {
	return staticKey{api.NewSecret(string(key))}
}

type staticKey struct{ key api.Secret }

func (k staticKey) LoadKey(context.Context) ([]byte, error) {
	key := []byte(k.key.Reveal())
	return key, checkKey(key)
}

func (staticKey) SaveKey(context.Context, []byte) error {
	return errors.New("fastio: oauth: a static key cannot be replaced")
}

// KeyFile keeps the key in a file of that path, with mode 0600. It is for
// machines without a keyring. On Unix, a file that another user owns or that other
// users have access to is a [*StoreError]: they may know the key.
//
// It protects tokens where the two files are separated: in a backup, an image or a
// synchronized directory that holds one of them. It does not protect them from
// programs that can read both, which are all those of the same user, and of root.
func KeyFile(path string) KeyStore { return keyFile(path) }

type keyFile string

func (k keyFile) file() *durable.File { return durable.Open(string(k)).Restrict(durable.PrivateAccess) }

// LoadKey reads the key from its file.
func (k keyFile) LoadKey(ctx context.Context) ([]byte, error) {
	text, err := k.file().Read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError(err)
	}
	key, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keyLen {
		return nil, &StoreError{string(k), "it does not hold a key" + startAfresh}
	}
	return key, nil
}

// SaveKey writes the key to its file unless that exists.
func (k keyFile) SaveKey(ctx context.Context, key []byte) error {
	return storeError(k.file().Update(ctx, func(old []byte) ([]byte, error) {
		if old != nil {
			return nil, &StoreError{string(k), "it holds a key already, or something else"}
		}
		return append(base64.StdEncoding.AppendEncode(nil, key), '\n'), nil
	}))
}
