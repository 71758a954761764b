package oauth

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/durable"
)

// FileStore keeps the records of all profiles in one file, sealed with a key
// (AES-256-GCM). It may be used by several processes at once and survives their
// crashes. The file has mode 0600, and a directory that is missing is created with
// mode 0700; lock files whose names begin with Path and end in .lock stand beside
// it. On Windows, which has no such modes, the access rights of the directory
// protect it.
//
// The key is created when there is neither a file nor a key. What cannot be read
// with the key at hand, because the file is damaged or was sealed with another, is
// a [*StoreError] and is never overwritten; [FileStore.Reset] discards it. So is a
// file of another user, or one that is not a regular file of at most 64 MiB.
//
// An Update of one profile does not wait for the Update of another.
type FileStore struct {
	Path string
	Keys KeyStore // such as [KeyFile]
}

// StoreError says that a file of a [FileStore] cannot be used. The file stays as
// it is.
type StoreError struct {
	Path   string
	Reason string
}

// Error names the file and the reason.
func (e *StoreError) Error() string { return "fastio: oauth: " + e.Path + ": " + e.Reason }

// startAfresh ends the reasons that a Reset helps with.
const startAfresh = "; FileStore.Reset discards it, and all profiles must sign in again"

func storeError(err error) error {
	if e, ok := errors.AsType[*durable.FileError](err); ok {
		return &StoreError{e.Path, e.Reason}
	}
	return err
}

func (s FileStore) file() *durable.File { return durable.Open(s.Path).Restrict(durable.OwnedAccess) }

// Load returns the record of a profile, nil if there is none.
func (s FileStore) Load(ctx context.Context, profile string) ([]byte, error) {
	if err := s.check(profile); err != nil {
		return nil, err
	}
	sealed, err := s.read(ctx)
	if err != nil || sealed == nil {
		return nil, err
	}
	key, err := s.key(ctx, sealed)
	if err != nil {
		return nil, err
	}
	records, err := s.unseal(key, sealed)
	return records[profile], err
}

// read returns the content of the file, nil if there is none.
func (s FileStore) read(ctx context.Context) ([]byte, error) {
	sealed, err := s.file().Read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return sealed, storeError(err)
}

// saveTime is how long a save waits for the saves of other profiles, which take
// milliseconds.
const saveTime = 10 * time.Second

// Update calls edit with the record of a profile. Other profiles can be updated
// meanwhile: the file itself is only locked while it is written.
func (s FileStore) Update(
	ctx context.Context, profile string, edit func(record []byte, save func(record []byte) error) error,
) error {
	if err := s.check(profile); err != nil {
		return err
	}
	return s.file().Lock(ctx, lockName(profile), func() error {
		sealed, err := s.read(ctx)
		if err != nil {
			return err
		}
		key, err := s.key(ctx, sealed)
		if err != nil {
			return err
		}
		if key == nil {
			if key, err = s.newKey(ctx); err != nil {
				return err
			}
		}
		records, err := s.unseal(key, sealed)
		if err != nil {
			return err
		}
		return edit(records[profile], func(record []byte) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
			defer cancel()
			return s.save(ctx, key, profile, record)
		})
	})
}

// lockName is where the lock of a profile stands: its name may hold what a file
// name must not.
func lockName(profile string) string {
	digest := sha256.Sum256([]byte(profile))
	return hex.EncodeToString(digest[:8])
}

func (s FileStore) save(ctx context.Context, key []byte, profile string, record []byte) error {
	return storeError(s.file().Update(ctx, func(sealed []byte) ([]byte, error) {
		records, err := s.unseal(key, sealed)
		if err != nil {
			return nil, err
		}
		if records[profile] = record; record == nil {
			delete(records, profile)
		}
		plain, err := json.Marshal(records)
		if err != nil {
			return nil, err
		}
		//nolint:gosec // it makes the nonce itself
		return newAEAD(key).Seal([]byte(header), nil, plain, []byte(header)), nil
	}))
}

// Reset discards the records of all profiles, so that the next [Login] starts
// afresh: it is for a file that is damaged or whose key is lost. It removes the
// file, and a [KeyFile] that holds no key or that other users have access to; other
// keys stay. The server is not asked to end any session.
func (s FileStore) Reset(ctx context.Context) error {
	if s.Path == "" {
		return &api.InputError{Op: "oauth.FileStore.Reset", Field: "path", Rule: "must be given"}
	}
	if err := s.file().Remove(ctx); err != nil {
		return storeError(err)
	}
	if k, ok := s.Keys.(keyFile); ok {
		if _, err := k.LoadKey(ctx); err != nil {
			if _, unusable := errors.AsType[*StoreError](err); !unusable {
				return err
			}
			return storeError(durable.Open(string(k)).Remove(ctx))
		}
	}
	return nil
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

// key returns the key of the file, nil if there is neither a key nor a file.
func (s FileStore) key(ctx context.Context, sealed []byte) ([]byte, error) {
	key, err := s.Keys.LoadKey(ctx)
	switch {
	case err != nil:
		return nil, err
	case key == nil && sealed != nil:
		return nil, &StoreError{s.Path, "the key it was sealed with is gone" + startAfresh}
	case key == nil:
		return nil, nil
	}
	return key, checkKey(key)
}

// newKey creates the key of a file that does not exist yet, or returns the one
// that another process has created meanwhile.
func (s FileStore) newKey(ctx context.Context) (key []byte, err error) {
	err = s.file().Edit(ctx, func(sealed []byte, _ func([]byte) error) error {
		if key, err = s.key(ctx, sealed); err != nil || key != nil {
			return err
		}
		key = make([]byte, keyLen)
		_, _ = rand.Read(key) // it never fails
		return s.Keys.SaveKey(ctx, key)
	})
	return key, storeError(err)
}

// header begins every file and is sealed along with the rest. Its number rises
// with the format.
const (
	headerName = "fastio tokens "
	header     = headerName + "1\n"
)

// unseal returns the records of a file, none of one that is not there.
func (s FileStore) unseal(key, sealed []byte) (map[string][]byte, error) {
	records := map[string][]byte{}
	if sealed == nil {
		return records, nil
	}
	body, ok := bytes.CutPrefix(sealed, []byte(header))
	if !ok && bytes.HasPrefix(sealed, []byte(headerName)) {
		return nil, &StoreError{s.Path, "it is damaged, or another version of this module wrote it" + startAfresh}
	}
	if !ok {
		return nil, &StoreError{s.Path, "it is damaged, or not a file of this module" + startAfresh}
	}
	plain, err := newAEAD(key).Open(nil, nil, body, []byte(header))
	if err != nil || json.Unmarshal(plain, &records) != nil {
		return nil, &StoreError{s.Path, "it was sealed with another key, or it is damaged" + startAfresh}
	}
	return records, nil
}

// newAEAD returns AES-256-GCM, which puts a new random nonce before what it seals. The
// key has passed checkKey.
func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}

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
