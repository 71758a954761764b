package oauth

import (
	"bytes"
	"cmp"
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
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/durable"
	"github.com/fastio-go/fastio/internal/input"
)

// A Store persists the results of sign-ins, one record per account: the Account of a
// [Config], any text of 1 to 128 characters. Records are secrets: a store outside the
// machine must encrypt them, for example with [Seal]. It must be safe for concurrent use,
// by several processes if it is persistent. Package storetest has the tests that every
// store must pass.
type Store interface {
	// Load returns the record of an account, nil if there is none. It must not wait for
	// a lock: it is called much more often than Lock.
	Load(ctx context.Context, account string) ([]byte, error)

	// Lock locks the record of an account for all processes, until Unlock is called or this
	// process ends. It waits while the record is locked, which may take as long as a request;
	// ctx limits the wait only. Other accounts are not locked.
	Lock(ctx context.Context, account string) (Record, error)
}

// A Record is the locked record of an account in a [Store]. It is used by one goroutine.
type Record interface {
	// Data returns the record as it was when it was locked, nil if there was none.
	Data() []byte

	// Save replaces the record, and nil removes it. That is durable when Save returns nil. It
	// may be called several times. It fails, and changes nothing, after the lock was lost or
	// Unlock was called, or if ctx is done. If ctx ends meanwhile, either record may be stored.
	Save(ctx context.Context, data []byte) error

	// Unlock releases the lock, and does not undo a Save. It must be called, is idempotent
	// and never fails: a lock that cannot be released must end by itself.
	Unlock()
}

// errUnlocked is the error of Save after Unlock.
var errUnlocked = errors.New("fastio: oauth: the record is not locked any more")

// checkAccount returns an error for a text that cannot be the name of an
// account.
func checkAccount(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return &api.InputError{Field: "account", Rule: "must not be blank", Got: strconv.Quote(name)}
	case !utf8.ValidString(name):
		return &api.InputError{Field: "account", Rule: "must be UTF-8", Got: strconv.Quote(name)}
	}
	return checkName(input.Parameters(""), "account", name)
}

// MemoryStore keeps records in memory. The zero value is ready for use. It is safe
// for concurrent use and does not print its records.
type MemoryStore struct {
	mu       sync.Mutex
	accounts map[string]*memory
}

// memory is an account of a [MemoryStore].
type memory struct {
	lock   chan struct{} // holds one value while the record is edited
	record *api.Secret   // nil without a record
	edits  uint64
}

// account returns the entry of an account, a new one if there is none. The
// caller holds the mutex.
func (s *MemoryStore) account(name string) *memory {
	p := s.accounts[name]
	if p == nil {
		p = &memory{lock: make(chan struct{}, 1)}
		if s.accounts == nil {
			s.accounts = map[string]*memory{}
		}
		s.accounts[name] = p
	}
	return p
}

// Load returns the record of an account, nil if there is none.
func (s *MemoryStore) Load(ctx context.Context, account string) ([]byte, error) {
	if err := cmp.Or(checkAccount(account), ctx.Err()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(account).load(), nil
}

// Lock waits for the lock of an account, and returns its record. It fails when ctx
// ends.
func (s *MemoryStore) Lock(ctx context.Context, account string) (Record, error) {
	if err := cmp.Or(checkAccount(account), ctx.Err()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	m := s.account(account)
	s.mu.Unlock()
	select {
	case m.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("fastio: oauth: the account is busy: %w", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &memoryRecord{store: s, memory: m, data: m.load()}, nil
}

// memoryRecord is a locked record of a [MemoryStore].
type memoryRecord struct {
	store  *MemoryStore
	memory *memory // nil after Unlock
	data   []byte
}

func (r *memoryRecord) Data() []byte { return r.data }

// Save replaces the record in memory. It fails after Unlock and if ctx is done.
func (r *memoryRecord) Save(ctx context.Context, data []byte) error {
	switch {
	case r.memory == nil:
		return errUnlocked
	case ctx.Err() != nil:
		return ctx.Err()
	}
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.memory.save(data)
	return nil
}

// Unlock releases the lock, once.
func (r *memoryRecord) Unlock() {
	if r.memory != nil {
		<-r.memory.lock
		r.memory = nil
	}
}

// load returns a copy of the record, nil if there is none.
func (p *memory) load() []byte {
	if p.record == nil {
		return nil
	}
	return []byte(p.record.Reveal())
}

// save replaces the record with a copy of the given one; nil removes it.
func (p *memory) save(record []byte) {
	p.edits++ // so that a Source reads the record again
	p.record = nil
	if record != nil {
		p.record = new(api.NewSecret(string(record)))
	}
}

// signIns lets the sources of this process detect its sign-ins and sign-outs
// without reading their stores each time.
//
//nolint:gochecknoglobals // copies of a FileStore share it
var signIns = registry{seed: maphash.MakeSeed(), counters: map[uint64]*counter{}}

// registry counts the sign-ins and sign-outs of accounts that have a [Source].
type registry struct {
	seed maphash.Seed

	mu       sync.Mutex
	counters map[uint64]*counter
}

type counter struct {
	atomic.Uint64

	sources           int                        // that use it
	signedOut         atomic.Pointer[api.Secret] // the access token that was signed out last
	signedOutIsStored atomic.Bool                // that token is in the store, as far as this process knows
}

// isSignedOut reports whether the token of a record was signed out.
func (c *counter) isSignedOut(r *record) bool {
	token := c.signedOut.Load()
	return token != nil && r.Token != nil && r.Token.AccessToken.Secret == *token
}

// key returns the key of an account of a store: a hash, so that the registry refers to no
// store, which may have secrets. Accounts of different stores may have the same key, and so
// the same counter. Then after a sign-in or sign-out in one store, the sources of the others
// read their records again too, which is not necessary.
func (r *registry) key(store Store, account string) uint64 {
	id := struct {
		store   any
		account string
	}{store, account}
	if file, ok := store.(FileStore); ok {
		id.store = file.Path // the same for all copies of the store
	} else if !reflect.ValueOf(store).Comparable() {
		id.store = reflect.TypeOf(store) // the same for all stores of the type, as this one cannot be hashed
	}
	return maphash.Comparable(r.seed, id)
}

// register returns the counter of an account, which exists until s is garbage.
func (r *registry) register(s *Source) *counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.key(s.config.Store, s.config.account())
	c := r.counter(key)
	c.sources++
	runtime.AddCleanup(s, r.unregister, key)
	return c
}

// counter returns the counter for a key, a new one if there is none. The caller
// holds the mutex.
func (r *registry) counter(key uint64) *counter {
	c := r.counters[key]
	if c == nil {
		c = new(counter)
		r.counters[key] = c
	}
	return c
}

// unregister counts one source less for a key, and drops its counter with the last
// one.
func (r *registry) unregister(key uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counters[key].sources--
	r.dropUnused(key)
}

// dropUnused removes the counter for a key if no source uses it. The counter also knows which
// token was signed out. While that token is still stored, the counter stays, so that sources
// that are created later refuse the token. The caller holds the mutex.
func (r *registry) dropUnused(key uint64) {
	if c := r.counters[key]; c.sources == 0 && !c.signedOutIsStored.Load() {
		delete(r.counters, key)
	}
}

// countEdit counts an edit of the record of an account, so that the sources that have
// registered for it read it again.
func (r *registry) countEdit(store Store, account string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.counters[r.key(store, account)]; c != nil {
		c.Add(1)
	}
}

// noteSignedOut makes all sources of an account stop returning a token, also sources that
// are created before the token is removed from the store.
func (r *registry) noteSignedOut(store Store, account string, token api.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counter(r.key(store, account))
	c.signedOut.Store(&token)
	c.signedOutIsStored.Store(true) // until noteReplaced, a Source that reads the token from the store refuses it too
}

// noteReplaced records that the stored token of an account was replaced by the current
// one, or was removed if that is zero. A token that was signed out may be saved again: then
// it counts as signed out no more.
func (r *registry) noteReplaced(store Store, account string, current api.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.key(store, account)
	c := r.counters[key]
	if c == nil {
		return
	}
	if token := c.signedOut.Load(); token != nil && *token == current {
		c.signedOut.Store(nil)
	}
	c.signedOutIsStored.Store(false) // the store now holds current or no token: neither is signed out
	r.dropUnused(key)
}

// versioned is a [Store] with a cheap check for changes.
type versioned interface {
	version(account string) version
}

// version identifies the content of a store. The zero value means unknown.
type version struct {
	known bool
	edits uint64      // of an account in memory
	file  fs.FileInfo // nil if there is no file
}

// provesUnchanged reports whether two versions prove that the record has not changed
// between them. A store in memory counts its edits. In a FileStore each edit replaces the
// file by a new one; edits is always 0.
func (v version) provesUnchanged(w version) bool {
	switch {
	case !v.known || !w.known:
		return false
	case v.file == nil && w.file == nil:
		return v.edits == w.edits
	case v.file == nil || w.file == nil: // the file was created or removed
		return false
	}
	return os.SameFile(v.file, w.file) && v.file.ModTime().Equal(w.file.ModTime()) && v.file.Size() == w.file.Size()
}

// version returns the version of the file: each edit replaces the file by a new
// one.
func (s FileStore) version(string) version {
	info, err := os.Stat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return version{known: true}
	}
	return version{known: err == nil, file: info}
}

// version returns the number of edits of the record of an account.
func (s *MemoryStore) version(account string) version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return version{known: true, edits: s.account(account).edits}
}

// FileStore keeps the records of all accounts in one file, encrypted with a key
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
// A program that changes its KeyStore, for example from a [KeyFile] to the keyring of the
// system, sets Former to the one before. A file that the key of Keys does not decrypt is
// decrypted with the key of Former, and the next save encrypts it with the key of Keys:
// so the tokens move, and Former is not used any more. Until then an error of Former, for
// example of a keyring that is locked, is an error of the store.
//
// The lock of one account does not lock another.
type FileStore struct {
	Path   string
	Keys   KeyStore // such as [KeyFile]
	Former KeyStore // of earlier runs of the program; nil means none
}

// UserStore returns a store in the configuration directory of the user: the files
// tokens and key ([KeyFile]) in a directory with the name of the program, which must
// be a single element of a path. If the user has no configuration directory, all calls of
// the store fail.
func UserStore(program string) FileStore {
	const op = "oauth.UserStore"
	if program != filepath.Base(program) || !filepath.IsLocal(program) || program == "." {
		return FileStore{Keys: noKeys{err: invalid(input.Parameters(op), "program", "must be a name of a directory", program)}}
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return FileStore{Keys: noKeys{err: call.Failed(op, err)}}
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
const startAfresh = "; FileStore.Reset discards it, and all accounts must sign in again"

// otherKey is startAfresh for a file that another key may decrypt.
const otherKey = "; if an earlier run had another KeyStore, set FileStore.Former to it; FileStore.Reset discards " +
	"the file, and all accounts must sign in again"

// storeError converts an error of a [durable.File] to one of this package.
func storeError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*durable.FileError](err); ok {
		return &StoreError{e.Path, e.Reason}
	}
	if _, converted := errors.AsType[*StoreError](err); converted {
		return err
	}
	return fmt.Errorf("fastio: oauth: %w", err)
}

// file returns the file of the store. A file that another user owns is
// rejected. If others have access to a file of this user that begins as a store
// does, reading removes that access.
func (s FileStore) file() *durable.File {
	return durable.Open(s.Path).Restrict(durable.OwnedAccess, func(content []byte) bool {
		return bytes.HasPrefix(content, []byte(headerName))
	})
}

// Load returns the record of an account, nil if there is none.
func (s FileStore) Load(ctx context.Context, account string) ([]byte, error) {
	if err := s.check(account); err != nil {
		return nil, err
	}
	sealed, err := s.read(ctx)
	if err != nil || sealed == nil {
		return nil, err
	}
	keys, err := s.keys(ctx, sealed)
	if err != nil {
		return nil, err
	}
	records, err := s.unseal(keys, sealed)
	return records[account], err
}

// read returns the content of the file, nil if there is none.
func (s FileStore) read(ctx context.Context) ([]byte, error) {
	sealed, err := s.file().Read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return sealed, storeError(err)
}

// Lock locks the record of an account. Other accounts can be saved meanwhile: the file
// itself is only locked while it is written.
func (s FileStore) Lock(ctx context.Context, account string) (Record, error) {
	if err := s.check(account); err != nil {
		return nil, err
	}
	unlock, err := s.file().Lock(ctx, lockName(account))
	if err != nil {
		return nil, storeError(err)
	}
	keys, records, err := s.open(ctx)
	if err != nil {
		unlock()
		return nil, err
	}
	data := records[account] // for the caller, who may change it; Save compares last
	return &fileRecord{store: s, account: account, keys: keys, data: data, last: bytes.Clone(data), unlock: unlock}, nil
}

// open reads the file, and returns its keys, created if there are none, and its records.
func (s FileStore) open(ctx context.Context) (keys fileKeys, records map[string][]byte, err error) {
	sealed, err := s.read(ctx)
	if err != nil {
		return keys, nil, err
	}
	keys, err = s.keys(ctx, sealed)
	if err != nil {
		return keys, nil, err
	}
	if keys.own == nil {
		keys.own, err = s.newKey(ctx)
		if err != nil {
			return keys, nil, err
		}
	}
	records, err = s.unseal(keys, sealed)
	return keys, records, err
}

// fileRecord is a locked record of a [FileStore].
type fileRecord struct {
	store   FileStore
	account string
	keys    fileKeys
	data    []byte
	last    []byte // the record as it was saved or read last: another one in the file is a change by others
	unlock  func() // nil after Unlock
}

func (r *fileRecord) Data() []byte { return r.data }

// Save replaces the record in the file. It fails after Unlock, and if the
// record was changed by others.
func (r *fileRecord) Save(ctx context.Context, data []byte) error {
	if r.unlock == nil {
		return errUnlocked
	}
	err := r.store.save(ctx, r.keys, r.account, r.last, data)
	if err == nil {
		r.last = bytes.Clone(data)
	}
	return err
}

// Unlock releases the lock, once.
func (r *fileRecord) Unlock() {
	if r.unlock != nil {
		r.unlock()
		r.unlock = nil
	}
}

// lockName returns the lock file of an account. The name of the account is encoded,
// because it may contain characters that file names must not.
func lockName(account string) string {
	digest := sha256.Sum256([]byte(account))
	return hex.EncodeToString(digest[:8])
}

// save replaces the record of an account. Known is the record as the caller has last read or
// saved it. If the stored one differs, as after a Reset or the removal of the lock file, save
// fails: the change must not be undone.
func (s FileStore) save(ctx context.Context, keys fileKeys, account string, known, record []byte) error {
	var contentErr error // kept, because storeError is only for the errors of the file itself
	err := s.file().Update(ctx, func(sealed []byte) (b []byte, _ error) {
		var records map[string][]byte
		records, contentErr = s.unseal(keys, sealed)
		if contentErr == nil && !bytes.Equal(records[account], known) {
			contentErr = &StoreError{s.Path, recordOf(account) + " was removed or replaced while it was locked"}
		}
		if contentErr == nil {
			b, contentErr = seal(keys.own, records, account, record)
		}
		return b, contentErr
	})
	return cmp.Or(contentErr, storeError(err))
}

// seal returns the encrypted content of the file, with the record of one
// account replaced, or removed if record is nil.
func seal(key []byte, records map[string][]byte, account string, record []byte) ([]byte, error) {
	records[account] = record
	if record == nil {
		delete(records, account)
	}
	plain, err := json.Marshal(records)
	if err != nil {
		return nil, err
	}
	//nolint:gosec // the AEAD generates the nonce
	return newAEAD(key).Seal([]byte(header), nil, plain, []byte(header)), nil
}

// Reset removes the records of all accounts. It is for a file that is damaged or
// whose key is lost; each account then requires a new [Login]. It removes the file,
// and a [KeyFile] that is invalid or that other users have access to; other keys
// stay. No session is ended at the server.
func (s FileStore) Reset(ctx context.Context) error {
	if k, ok := s.Keys.(noKeys); ok { // UserStore has failed
		return k.err
	}
	if s.Path == "" {
		return input.Fields[FileStore]("oauth.FileStore.Reset").Refuse("Path", "must not be empty", "")
	}
	if err := s.file().Remove(ctx); err != nil {
		return storeError(err)
	}
	k, isKeyFile := s.Keys.(keyFile)
	if !isKeyFile {
		return nil
	}
	_, err := k.LoadKey(ctx)
	_, isUnusable := errors.AsType[*StoreError](err) // the key is invalid, or other users have access to it
	if isUnusable {
		return storeError(durable.Open(string(k)).Remove(ctx))
	}
	return err
}

// check returns an error for settings of the store, or an account, that cannot
// be used.
func (s FileStore) check(account string) error {
	args := input.Fields[FileStore]("")
	for _, keys := range []KeyStore{s.Keys, s.Former} {
		if k, ok := keys.(noKeys); ok { // UserStore has failed
			return k.err
		}
		if k, ok := keys.(keyFile); ok && s.Path != "" && samePath(string(k), s.Path) {
			return args.Refuse("Keys", "must be in a file of their own", "")
		}
	}
	if s.Path == "" {
		return args.Refuse("Path", "must not be empty", "")
	}
	if s.Keys == nil {
		return args.Refuse("Keys", "must not be nil", "")
	}
	return checkAccount(account)
}

// samePath reports whether two paths, relative or not, name the same file. A
// store whose key is in the file itself would wait for its own lock forever.
func samePath(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// fileKeys are the key that encrypts a file, nil if there is none yet, and the former
// one, nil if it is not needed.
type fileKeys struct{ own, former []byte }

// keys returns the keys for unseal. Sealed is the content of the file, nil without a file.
// The own key is nil if there is none. The former key is loaded only if the own one does not
// decrypt the content. Whether the former one does, the caller finds out by unseal.
func (s FileStore) keys(ctx context.Context, sealed []byte) (k fileKeys, err error) {
	k.own, err = loadKey(ctx, s.Keys)
	if err != nil || sealed == nil {
		return k, err
	}
	_, ownErr := s.unseal(k, sealed)                     // with the own key alone
	hasHeader := bytes.HasPrefix(sealed, []byte(header)) // without it unseal fails with every key
	if ownErr != nil && hasHeader && s.Former != nil {
		k.former, err = loadKey(ctx, s.Former)
		if err != nil {
			return k, call.FailedWith("oauth", s.Path+" has another key, and FileStore.Former fails", err)
		}
	}
	if k.own == nil && k.former == nil {
		return k, &StoreError{s.Path, "the key it was sealed with is gone" + otherKey}
	}
	return k, nil
}

// loadKey returns the key of a KeyStore, nil if there is none. It fails for a key that
// does not have the length of one.
func loadKey(ctx context.Context, keys KeyStore) ([]byte, error) {
	key, err := keys.LoadKey(ctx)
	if err != nil || key == nil {
		return nil, err
	}
	return key, checkKey(key)
}

// newKey creates the key of the store, or returns the one that another process has
// created at the same time. The lock of the file keeps two from creating one each.
func (s FileStore) newKey(ctx context.Context) (key []byte, err error) {
	var failed error // of Keys
	err = s.file().Edit(ctx, func(_ []byte, _ func(content []byte) error) error {
		// The content of the file is neither read nor saved.
		key, failed = loadKey(ctx, s.Keys)
		if failed != nil || key != nil {
			return failed
		}
		key = make([]byte, keyLen)
		_, _ = rand.Read(key) // it never fails
		failed = s.Keys.SaveKey(ctx, key)
		return failed
	})
	return key, cmp.Or(failed, storeError(err))
}

// header begins every file and is authenticated. Its number is the version of the
// format.
const (
	headerName = "fastio tokens "
	header     = headerName + "1\n"
)

// unseal decrypts the content of the file with one of the keys and returns the
// records by account, none if sealed is nil.
func (s FileStore) unseal(keys fileKeys, sealed []byte) (map[string][]byte, error) {
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
	for _, key := range [][]byte{keys.own, keys.former} {
		if key == nil {
			continue
		}
		plain, err := newAEAD(key).Open(nil, nil, body, []byte(header))
		if err == nil && json.Unmarshal(plain, &records) == nil {
			return records, nil
		}
	}
	return nil, &StoreError{s.Path, "it was sealed with another key, or it is damaged" + otherKey}
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

// checkKey returns an error for a key that is not 32 bytes long.
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

func (k keyFile) file() *durable.File {
	return durable.Open(string(k)).Restrict(durable.PrivateAccess, nil)
}

// LoadKey reads the key from its file. It returns nil if there is no file.
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

// sealedRecord begins every sealed record. Its number rises with the format.
const sealedRecord = "fastio record 1\n"

// Seal encrypts a record for a [Store] of the program's own, with AES-256-GCM and the key
// of keys, which it creates if there is none. [Unseal] requires the same account. Programs
// that create the key at the same moment need a KeyStore whose SaveKey keeps the first.
//
// Errors: [*api.InputError] for a blank account and a key that is not 32 bytes long,
// and those of keys.
func Seal(ctx context.Context, keys KeyStore, account string, record []byte) ([]byte, error) {
	key, err := checkAndLoadKey(ctx, keys, account)
	if err != nil {
		return nil, err
	}
	if key == nil {
		fresh := make([]byte, keyLen)
		_, _ = rand.Read(fresh) // it never fails
		saveErr := keys.SaveKey(ctx, fresh)
		// Another program may have saved a key before: the stored one is used.
		key, err = checkAndLoadKey(ctx, keys, account)
		if err != nil {
			return nil, err
		}
		if key == nil {
			return nil, errors.Join(&StoreError{recordOf(account), "the new key was not saved"}, saveErr)
		}
	}
	//nolint:gosec // it makes the nonce itself
	return newAEAD(key).Seal([]byte(sealedRecord), nil, record, []byte(sealedRecord+account)), nil
}

// Unseal decrypts a record of [Seal]. It returns nil for nil, as a Store has no record
// before the first sign-in.
//
// Errors: [*StoreError] if the record was sealed with another key or for another
// account, or is damaged; [*api.InputError] and the errors of keys, as for [Seal].
func Unseal(ctx context.Context, keys KeyStore, account string, sealed []byte) ([]byte, error) {
	key, err := checkAndLoadKey(ctx, keys, account)
	if err != nil || sealed == nil {
		return nil, err
	}
	body, ok := bytes.CutPrefix(sealed, []byte(sealedRecord))
	switch {
	case key == nil:
		return nil, &StoreError{recordOf(account), "the key of the record is gone"}
	case !ok:
		return nil, &StoreError{recordOf(account), "it is not a sealed record"}
	}
	record, err := newAEAD(key).Open(nil, nil, body, []byte(sealedRecord+account))
	if err != nil {
		return nil, &StoreError{recordOf(account), "it was sealed with another key or for another account, or it is damaged"}
	}
	return record, nil
}

func recordOf(account string) string { return "the record of " + strconv.Quote(account) }

// checkAndLoadKey checks the arguments of [Seal] and [Unseal] and returns the key that
// keys holds, nil if there is none. One key encrypts the records of all accounts.
func checkAndLoadKey(ctx context.Context, keys KeyStore, account string) ([]byte, error) {
	switch {
	case keys == nil:
		return nil, &api.InputError{Field: "keys", Rule: "must not be nil"}
	case checkAccount(account) != nil:
		return nil, checkAccount(account)
	}
	key, err := keys.LoadKey(ctx)
	if err != nil || key == nil {
		return nil, err
	}
	return key, checkKey(key)
}
