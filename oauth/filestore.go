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
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/durable"
)

// FileStore keeps the records of all profiles in one file, encrypted with a key
// (AES-256-GCM). It is safe for concurrent use by several processes and survives
// their crashes. The file has mode 0600, and a missing directory is created with
// mode 0700; lock files with names from Path to .lock are in the same directory. On
// Windows, which has no such modes, the access rights of the directory protect it.
//
// The key is created if neither file nor key exists. A file that cannot be
// decrypted, because it is damaged or of another key, is a [*StoreError] and is
// never overwritten; [FileStore.Reset] removes it. So is a file of another user, or
// one that is not a regular file of at most 64 MiB.
//
// An Update of one profile does not wait for the Update of another.
type FileStore struct {
	Path string
	Keys KeyStore // such as [KeyFile]
}

// UserStore returns a store in the configuration directory of the user: the files
// tokens and key ([KeyFile]) in a directory with the name of the program, which must
// be a single element of a path. If there is no such directory, all calls fail.
func UserStore(program string) FileStore {
	const op = "oauth.UserStore"
	if program != filepath.Base(program) || !filepath.IsLocal(program) || program == "." {
		return FileStore{Keys: noKeys{err: invalid(op, "program", "must be a name of a directory", program)}}
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return FileStore{Keys: noKeys{err: fmt.Errorf("fastio: %s: %w", op, err)}}
	}
	dir = filepath.Join(dir, program)
	return FileStore{Path: filepath.Join(dir, "tokens"), Keys: KeyFile(filepath.Join(dir, "key"))}
}

// noKeys are the keys of a store without a directory.
type noKeys struct {
	KeyStore
	err error
}

// StoreError reports that a file of a [FileStore] cannot be used. The file is not
// changed.
type StoreError struct {
	Path   string
	Reason string
}

// Error names the file and the reason.
func (e *StoreError) Error() string { return "fastio: oauth: " + e.Path + ": " + e.Reason }

// startAfresh is the end of a reason that a Reset resolves.
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

// saveTime is the timeout of the lock of the file, which other saves hold for
// milliseconds.
const saveTime = 10 * time.Second

// Update calls edit with the record of a profile. Other profiles can be updated
// concurrently: the file itself is only locked while it is written.
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

// lockName returns the lock file of a profile. The name of the profile is encoded,
// because it may contain characters that file names must not.
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
		//nolint:gosec // the AEAD generates the nonce
		return newAEAD(key).Seal([]byte(header), nil, plain, []byte(header)), nil
	}))
}

// Reset removes the records of all profiles. It is for a file that is damaged or
// whose key is lost; each profile then requires a new [Login]. It removes the file,
// and a [KeyFile] that is invalid or that other users have access to; other keys
// stay. No session is ended at the server.
func (s FileStore) Reset(ctx context.Context) error {
	if k, ok := s.Keys.(noKeys); ok {
		return k.err
	}
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
	if k, ok := s.Keys.(noKeys); ok {
		return k.err
	}
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

// samePath reports whether two paths, relative or not, name the same file, which
// would deadlock on its own lock.
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
// that another process has created concurrently.
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

// header begins every file and is authenticated. Its number is the version of the
// format.
const (
	headerName = "fastio tokens "
	header     = headerName + "1\n"
)

// unseal returns the records of a file, none if it does not exist.
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

// newAEAD returns AES-256-GCM, which prepends a random nonce. The key must have
// passed checkKey.
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

// A KeyStore keeps the key of a [FileStore]: 32 random bytes. Package keyring uses
// the keyring of the system. It must be safe for concurrent use.
type KeyStore interface {
	// LoadKey returns the key, nil if there is none yet.
	LoadKey(ctx context.Context) ([]byte, error)

	// SaveKey stores a new key. It is called after LoadKey has returned nil, and
	// must not replace a key that was stored since.
	SaveKey(ctx context.Context, key []byte) error
}

const keyLen = 32

func checkKey(key []byte) error {
	if n := len(key); n != keyLen {
		return &api.InputError{Field: "key", Rule: "must be 32 bytes long", Got: strconv.Itoa(n)}
	}
	return nil
}

// StaticKey returns a KeyStore with a given key, for example from a secret manager.
// A key that is not 32 bytes long fails on use.
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

// KeyFile keeps the key in a file with mode 0600. It is for machines without a
// keyring. On Unix, a file that another user owns or has access to is a
// [*StoreError]: the key may be compromised.
//
// It protects tokens if only one of the two files is copied: in a backup, an image
// or a synchronized directory. It does not protect them from programs that can read
// both files, which are all programs of the same user, and of root.
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
