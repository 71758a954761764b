package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fastio-go/fastio/events"
)

// CheckpointStore keeps checkpoints in a key-value bucket, one key each. It is an
// [events.CheckpointStore], safe for concurrent use by several processes.
//
// Load claims a checkpoint for the Epoch: afterwards, stores of a lower epoch can
// neither load nor save it.
type CheckpointStore struct {
	Bucket jetstream.KeyValue
	Epoch  uint64 // of the lease of the caller; 0 without leases

	scope       string // part of the keys: of an account
	claimOnSave bool   // Save claims the checkpoint, and Load writes nothing: all that was saved is stored
}

// checkpointVersion begins the first line of a checkpoint, before its epoch.
const checkpointVersion = "fastio-checkpoint-1 "

const checkpointPrefix = "checkpoint."

var errCheckpointFormat = errors.New("has an unknown format")

func (s CheckpointStore) key(name string) string { return checkpointPrefix + s.scope + token(name) }

// Load returns the checkpoint of that name.
//
// Errors: [events.ErrCheckpointTaken] if it was claimed for a higher epoch.
func (s CheckpointStore) Load(ctx context.Context, name string) (events.Checkpoint, error) {
	for {
		c, epoch, revision, err := s.read(ctx, name)
		if err != nil || epoch == s.Epoch {
			return c, err
		}
		if epoch > s.Epoch {
			return events.Checkpoint{}, events.ErrCheckpointTaken
		}
		if s.claimOnSave {
			return c, nil
		}
		claimed, err := s.write(ctx, name, c.Data, revision) // the same data with the Epoch claims the checkpoint
		if conflicts(err) {                                  // an earlier holder has saved meanwhile: read again
			continue
		}
		isOnlyClaimed := c.Revision == 0 // there is no checkpoint, which callers recognize by Revision 0
		if err == nil && !isOnlyClaimed {
			c.Revision = claimed
		}
		return c, err
	}
}

// Save saves c under name.
//
// Errors: [events.ErrCheckpointTaken] if another process has saved it, or it was claimed
// for a higher epoch.
func (s CheckpointStore) Save(ctx context.Context, name string, c events.Checkpoint) (uint64, error) {
	revision := c.Revision
	if revision == 0 { // c is the first checkpoint: there is no key, or it was only claimed
		saved, epoch, claimed, err := s.read(ctx, name)
		if err != nil {
			return 0, err
		}
		if saved.Revision != 0 || epoch > s.Epoch {
			return 0, events.ErrCheckpointTaken
		}
		revision = claimed
	}
	for {
		saved, err := s.write(ctx, name, c.Data, revision)
		if !conflicts(err) {
			return saved, err
		}
		meanwhile, epoch, latest, failed := s.read(ctx, name)
		wasSaved := meanwhile.Revision != 0 && latest > revision
		// With claimOnSave, Load has not claimed the key for s.Epoch. So a holder with a lower epoch may have saved a
		// checkpoint since Load: c replaces that. After any other write, Save returns ErrCheckpointTaken.
		mayReplace := s.claimOnSave && wasSaved && epoch < s.Epoch
		if failed == nil && !mayReplace {
			failed = events.ErrCheckpointTaken
		}
		if failed != nil {
			return 0, fmt.Errorf("%w: %w", failed, err)
		}
		revision = latest
	}
}

// read returns a checkpoint, the epoch that has claimed or saved it, and the revision of
// its key, all zero if there is no key. A key that was only claimed has an epoch and a
// revision, but no checkpoint.
func (s CheckpointStore) read(
	ctx context.Context, name string,
) (c events.Checkpoint, epoch, revision uint64, err error) {
	entry, err := s.Bucket.Get(ctx, s.key(name))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return c, 0, 0, nil
	}
	if err != nil {
		return c, 0, 0, err
	}
	line, data, ok := bytes.Cut(entry.Value(), []byte("\n"))
	number, known := bytes.CutPrefix(line, []byte(checkpointVersion))
	epoch, err = strconv.ParseUint(string(number), 10, 64)
	if !ok || !known || err != nil {
		return c, 0, 0, fmt.Errorf("fastio: relay: checkpoint %q %w", name, errCheckpointFormat)
	}
	if len(data) > 0 {
		c = events.Checkpoint{Revision: entry.Revision(), Data: data}
	}
	return c, epoch, entry.Revision(), nil
}

// write replaces the value of the key if the key still has the given revision, or creates the
// key if the revision is 0. It returns the new revision.
func (s CheckpointStore) write(ctx context.Context, name string, data []byte, revision uint64) (uint64, error) {
	value := append([]byte(checkpointVersion+formatEpoch(s.Epoch)+"\n"), data...)
	if revision == 0 {
		return s.Bucket.Create(ctx, s.key(name), value)
	}
	return s.Bucket.Update(ctx, s.key(name), value, revision)
}
