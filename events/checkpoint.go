package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/durable"
)

// Checkpoint is the saved progress of a [Service.Follow].
type Checkpoint struct {
	Revision uint64 // number of saves; 0 means no checkpoint
	Data     []byte // opaque to a store
}

// ErrCheckpointTaken ends a [Service.Follow] whose checkpoint another program has
// saved: no two programs may share a name. It is an [api.ErrConflict].
var ErrCheckpointTaken error = takenError{}

type takenError struct{}

func (takenError) Error() string {
	return "another program saves the same checkpoint: stop one of them, or give each a FollowOptions.Name of its own"
}
func (takenError) Is(target error) bool { return target == api.ErrConflict }

// A CheckpointStore keeps checkpoints by name.
type CheckpointStore interface {
	// Load returns the checkpoint, or the zero value if there is none.
	Load(ctx context.Context, name string) (Checkpoint, error)

	// Save replaces the checkpoint if its revision is c.Revision, and returns the
	// new revision. Otherwise it fails with [ErrCheckpointTaken]. If it succeeds, c
	// must survive a crash.
	Save(ctx context.Context, name string, c Checkpoint) (revision uint64, err error)
}

// MemoryStore keeps checkpoints in memory. The zero value is ready to use, and safe
// for concurrent use.
type MemoryStore struct {
	mu  sync.Mutex
	all map[string]Checkpoint
}

// Load returns the checkpoint of that name, a zero Checkpoint if there is none.
func (s *MemoryStore) Load(ctx context.Context, name string) (Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.all[name]
	c.Data = slices.Clone(c.Data)
	return c, nil
}

// Save saves c under name, if the stored checkpoint has the Revision of c, and returns
// the next revision. Errors: [ErrCheckpointTaken] if it has another revision.
func (s *MemoryStore) Save(ctx context.Context, name string, c Checkpoint) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name].Revision != c.Revision {
		return 0, ErrCheckpointTaken
	}
	if s.all == nil {
		s.all = map[string]Checkpoint{}
	}
	s.all[name] = Checkpoint{c.Revision + 1, slices.Clone(c.Data)}
	return c.Revision + 1, nil
}

// FileStore keeps checkpoints in the directory of that path, one file each. It is
// safe for concurrent use by several processes. Files are replaced atomically and
// flushed to disk. They hold a checksum: Load and Save return an error for a damaged
// file and leave it unchanged.
type FileStore string

// file returns the file of a checkpoint. Names may hold any character; those that
// are special to a file system are escaped.
func (s FileStore) file(name string) *durable.File {
	return durable.Open(filepath.Join(string(s), url.QueryEscape(name)+".checkpoint"))
}

// Load returns the checkpoint of that name, a zero Checkpoint if there is none.
func (s FileStore) Load(ctx context.Context, name string) (Checkpoint, error) {
	b, err := s.file(name).Read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return Checkpoint{}, nil
	}
	if err != nil {
		return Checkpoint{}, err
	}
	return parseCheckpoint(b)
}

// Save saves c under name, if the stored checkpoint has the Revision of c, and returns
// the next revision. Errors: [ErrCheckpointTaken] if it has another revision.
func (s FileStore) Save(ctx context.Context, name string, c Checkpoint) (uint64, error) {
	next := Checkpoint{c.Revision + 1, c.Data}
	err := s.file(name).Update(ctx, func(old []byte) ([]byte, error) {
		held, err := parseCheckpoint(old)
		if err != nil {
			return nil, err
		}
		if held.Revision != c.Revision {
			return nil, ErrCheckpointTaken
		}
		return next.encode(), nil
	})
	return next.Revision, err
}

// fileVersion begins the first line of a file, before the revision and the
// checksum of the rest. The first version had the revision alone on that line.
const fileVersion = "v2"

// encode returns the content of a checkpoint file.
func (c Checkpoint) encode() []byte {
	return fmt.Appendf(nil, "%s %d %016x\n%s", fileVersion, c.Revision, c.checksum(), c.Data)
}

// checksum returns the CRC-64 of the revision and the data.
func (c Checkpoint) checksum() uint64 {
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	_, _ = fmt.Fprintf(sum, "%d\n%s", c.Revision, c.Data)
	return sum.Sum64()
}

// parseCheckpoint decodes the content of a checkpoint file: a line of version, revision
// and checksum, and the data. Nil is the zero Checkpoint. It verifies the checksum. In
// a file of the first version the line is the revision alone.
func parseCheckpoint(b []byte) (Checkpoint, error) {
	if b == nil { // never written
		return Checkpoint{}, nil
	}
	line, data, found := bytes.Cut(b, []byte("\n"))
	head := strings.Split(string(line), " ")
	revision, hasChecksum := head[0], len(head) > 1
	if hasChecksum {
		revision = head[1]
	}
	n, err := strconv.ParseUint(revision, 10, 64)
	c := Checkpoint{n, data}
	if err != nil || !found || hasChecksum && !bytes.Equal(c.encode(), b) {
		return Checkpoint{}, fmt.Errorf("the checkpoint is damaged or of a newer version: it starts with %.20q", b)
	}
	return c, nil
}
