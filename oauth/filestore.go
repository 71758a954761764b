package oauth

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/durable"
)

// FileStore keeps the records of all profiles in one file, sealed with a key
// (AES-256-GCM). Several processes may use it at once, and it survives their
// crashes. The file has mode 0600, and a directory that is missing is made with
// mode 0700; a file Path.lock stands beside it. Windows has no such modes: there
// the access rights of the directory hold.
//
// The key is made when there is neither a file nor a key. What cannot be read
// with the key at hand, because it is another or the file is damaged, is a
// [*StoreError] and is never written over.
//
// While somebody edits one profile, edits of the others wait.
type FileStore struct {
	Path string
	Keys KeyStore // such as [KeyFile]
}

// StoreError says that a file of a [FileStore] cannot be used. It is left as it
// is; whoever removes it must sign in again.
type StoreError struct {
	Path   string
	Reason string
}

// Error names the file and the reason.
func (e *StoreError) Error() string { return "fastio: oauth: " + e.Path + ": " + e.Reason }

// Load returns the record of a profile, nil if there is none.
func (s FileStore) Load(ctx context.Context, profile string) ([]byte, error) {
	if err := s.check(profile); err != nil {
		return nil, err
	}
	sealed, err := durable.Open(s.Path).Read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key, err := s.key(ctx, sealed)
	if err != nil {
		return nil, err
	}
	records, err := s.unseal(key, sealed)
	return records[profile], err
}

// Update calls edit with the record of a profile.
func (s FileStore) Update(ctx context.Context, profile string, edit func(record []byte, save func(record []byte) error) error) error {
	if err := s.check(profile); err != nil {
		return err
	}
	return durable.Open(s.Path).Edit(ctx, func(sealed []byte, write func([]byte) error) error {
		key, err := s.key(ctx, sealed)
		if err != nil {
			return err
		}
		records, err := s.unseal(key, sealed)
		if err != nil {
			return err
		}
		return edit(bytes.Clone(records[profile]), func(record []byte) error {
			next := maps.Clone(records)
			if next[profile] = record; record == nil {
				delete(next, profile)
			}
			sealed, err := seal(key, next)
			if err == nil {
				err = write(sealed)
			}
			if err == nil {
				records = next
			}
			return err
		})
	})
}

func (s FileStore) check(profile string) error {
	if s.Path == "" {
		return &api.InputError{Field: "path", Rule: "must be given"}
	}
	if s.Keys == nil {
		return &api.InputError{Field: "keys", Rule: "must be given"}
	}
	if k, ok := s.Keys.(keyFile); ok && samePath(string(k), s.Path) {
		return &api.InputError{Field: "keys", Rule: "must be in a file of their own"}
	}
	return checkProfile(profile)
}

// samePath reports whether two paths, relative or not, name the same file. A file
// that waits for its own lock would wait for good.
func samePath(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// key returns the key of the file, and makes one for a file that is not there
// yet. Then the caller must hold its lock.
func (s FileStore) key(ctx context.Context, sealed []byte) ([]byte, error) {
	key, err := s.Keys.LoadKey(ctx)
	switch {
	case err != nil:
		return nil, err
	case key == nil && sealed != nil:
		return nil, &StoreError{s.Path, "the key it was sealed with is gone"}
	case key == nil:
		key = make([]byte, keyLen)
		_, _ = rand.Read(key) // it never fails
		return key, s.Keys.SaveKey(ctx, key)
	}
	return key, checkKey(key)
}

// header begins every file and is sealed along with the rest. Its number rises
// with the format.
const (
	headerName = "fastio tokens "
	header     = headerName + "1\n"
)

// seal returns the content of a file, under a nonce that is new each time.
func seal(key []byte, records map[string][]byte) ([]byte, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(records)
	if err != nil {
		return nil, err
	}
	return aead.Seal([]byte(header), nil, plain, []byte(header)), nil //nolint:gosec // it makes the nonce itself and takes none
}

// unseal returns the records of a file, none of one that is not there.
func (s FileStore) unseal(key, sealed []byte) (map[string][]byte, error) {
	records := map[string][]byte{}
	if sealed == nil {
		return records, nil
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutPrefix(sealed, []byte(header))
	if !ok && bytes.HasPrefix(sealed, []byte(headerName)) {
		return nil, &StoreError{s.Path, "it is damaged, or another version of this module wrote it"}
	}
	if !ok {
		return nil, &StoreError{s.Path, "it is damaged, or no file of this module"}
	}
	plain, err := aead.Open(nil, nil, body, []byte(header))
	if err != nil || json.Unmarshal(plain, &records) != nil {
		return nil, &StoreError{s.Path, "it was sealed with another key, or it is damaged"}
	}
	return records, nil
}

// newAEAD returns AES-256-GCM, which puts a random nonce before what it seals.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
