package rclone

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/gofrs/flock"
	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/config"
	"github.com/rclone/rclone/fs/config/configmap"

	"github.com/fastio-go/fastio/oauth"
)

// configStore is an [oauth.Store] in the configuration of rclone, which has no locks
// between processes: so a file beside that of the configuration is locked while a token
// is refreshed. The configuration reads its file again after another process has written it.
type configStore struct {
	m    configmap.Mapper
	lock chan struct{} // of this process
	path string        // of the file that processes lock; "" for a configuration without a file
}

// newConfigStore returns the store that keeps the token of a remote in the configuration
// of rclone. Processes lock a file beside that, if the configuration is a file.
func newConfigStore(m configmap.Mapper) *configStore {
	s := &configStore{m: m, lock: make(chan struct{}, 1)}
	if path := config.GetConfigPath(); path != "" {
		s.path = path + ".fastio-lock"
	}
	return s
}

// Load returns the token of the configuration, nil if there is none.
func (s *configStore) Load(context.Context, string) ([]byte, error) {
	text, _ := s.m.Get(keyToken)
	if text == "" {
		return nil, nil
	}
	return []byte(text), nil
}

// Lock locks the token, in this process and if possible between processes, and loads it.
// It ignores the account, because the store has the token of one remote only.
func (s *configStore) Lock(ctx context.Context, account string) (oauth.Record, error) {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r := &configRecord{store: s, forProcesses: s.lockBetweenProcesses(ctx)}
	var err error
	r.data, err = s.Load(ctx, account)
	err = cmp.Or(err, ctx.Err()) // at the end of ctx, lockBetweenProcesses returns without the lock
	if err != nil {
		r.Unlock()
		return nil, err
	}
	return r, nil
}

// lockBetweenProcesses locks the record for other processes, and returns the lock, nil if
// that is not possible: then two processes may refresh a token at once.
func (s *configStore) lockBetweenProcesses(ctx context.Context) *flock.Flock {
	if s.path == "" {
		return nil
	}
	const pause = 50 * time.Millisecond // between attempts
	lock := flock.New(s.path)
	if _, err := lock.TryLockContext(ctx, pause); err != nil {
		fs.Debugf(nil, "The token of Fast.io is not locked: %v", err)
		return nil
	}
	return lock
}

// configRecord is the locked record of a [configStore].
type configRecord struct {
	store        *configStore
	data         []byte
	forProcesses *flock.Flock // locked for other processes; nil if that is not possible
	unlocked     bool
}

// Data returns the record as it was when it was locked.
func (r *configRecord) Data() []byte { return r.data }

// Save writes the token to the configuration.
func (r *configRecord) Save(ctx context.Context, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.unlocked {
		return errors.New("the record is not locked any more")
	}
	r.store.m.Set(keyToken, string(data))
	return nil
}

// Unlock releases the locks.
func (r *configRecord) Unlock() {
	if r.unlocked {
		return
	}
	r.unlocked = true
	if r.forProcesses != nil {
		_ = r.forProcesses.Unlock() // the end of the process unlocks it as well
	}
	<-r.store.lock
}
