// Package journal appends events to a file, each exactly once, over any number of runs
// that may be killed at any moment. Only events without an ID may be in it twice.
//
//	j, err := journal.Open(path, nil)
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer j.Close()
//	err = j.Follow(ctx, client.Events, query, &events.FollowOptions{Until: time.Now()})
//
// The file is the caller's: it has one row for each event, in JSON, CSV or any other
// format. What the journal needs to go on is in the directory PATH.progress.
package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/durable"
)

// Options are the options of [Open]. Nil, and zero fields, mean the defaults.
type Options struct {
	// Format returns the row of an event. A newline is added if the row does not end with
	// one. The event of a nil row is left out. Default: [JSON].
	Format func(e *events.Event) []byte

	// Header is written at the beginning of a new file, with a newline if it does not end
	// with one. Default: nothing.
	Header []byte

	// OnAdd is called after the row of an event is written, in the goroutine of
	// [Journal.Follow]. For an event whose row [Open] has removed it is called again.
	OnAdd func(ctx context.Context, e *events.Event)
}

// JSON returns an event as JSON in the form of the platform, on one line.
func JSON(e *events.Event) []byte {
	row, err := jsonv2.Marshal(e, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		panic(err) // every event can be encoded
	}
	return row
}

// CSV returns a function for the Format of [Options] that writes comma-separated
// values: the fields of an event, quoted where needed.
func CSV(fields func(e *events.Event) []string) func(e *events.Event) []byte {
	return func(e *events.Event) []byte {
		var row bytes.Buffer
		w := csv.NewWriter(&row)
		_ = w.Write(fields(e)) // a buffer does not fail
		w.Flush()
		return row.Bytes()
	}
}

// ErrInUse reports that another Journal, of this or another process, has the file open.
var ErrInUse = errors.New("the journal is in use")

// A Journal is a file of events that is open for appending. Get one from [Open]. It is
// safe for concurrent use.
type Journal struct {
	o     Options
	path  string
	dir   string // of the progress
	lock  *os.File
	store events.FileStore

	saving sync.Mutex // held while a checkpoint is saved; locked before mu

	mu            sync.Mutex
	file          file
	index         file // the hash of the ID of each event in file; 0 for an event without one
	end           position
	unsynced      bool                // since file and index were flushed
	hasCheckpoint bool                // a checkpoint was saved
	known         map[uint64]struct{} // the events in the file, once one was followed
	stopped       chan struct{}
	err           error // why it has ended: Close, or a failed flush, after which the content of the disk is unknown
}

type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// position is the length of both files.
type position struct {
	Size int64 // of the file, in bytes
	Rows int64 // in the index
}

const (
	progressSuffix = ".progress"
	lockName       = "lock"
	indexName      = "index"
	begunName      = "begun"       // exists once a checkpoint was saved
	checkpoints    = ".checkpoint" // at the end of the names of an [events.FileStore]
	hashSize       = 8             // bytes of a row in the index
	positionFormat = "%d %d\n"
)

// Open opens the journal at path. It creates the file, and missing directories, if they
// do not exist. It removes the rows that a killed run has written after its last
// checkpoint; the next Follow adds them again. Only the Journal may change the file.
//
// Errors: [ErrInUse] if another Journal has the file open; an error for a file that no
// Journal has begun, or that is shorter than its progress. Such a file is left
// unchanged.
func Open(path string, o *Options) (*Journal, error) {
	if path == "" {
		return nil, &api.InputError{Op: "journal.Open", Field: "path", Rule: "must not be empty"}
	}
	j := &Journal{path: path, dir: path + progressSuffix, stopped: make(chan struct{})}
	j.store = events.FileStore(j.dir)
	if o != nil {
		j.o = *o
	}
	if j.o.Format == nil {
		j.o.Format = JSON
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := durable.LockFile(filepath.Join(j.dir, lockName))
	if errors.Is(err, durable.ErrInUse) {
		return nil, fmt.Errorf("%w: %s", ErrInUse, path)
	}
	if err != nil {
		return nil, err
	}
	j.lock = lock
	if err := j.open(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// open opens the journal and its index, cut to the position of the last checkpoint, and
// writes the header of a new journal. It creates the index before it writes to the journal,
// because checkFiles takes a journal with content and without an index for a file of another
// program.
func (j *Journal) open() error {
	at, found, err := j.lastPosition()
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(j.dir, begunName))
	j.hasCheckpoint = err == nil
	if j.hasCheckpoint && !found {
		return fmt.Errorf("the checkpoints in %s are missing: restore them, or remove that directory and %s to begin again", j.dir, j.path)
	}
	index := filepath.Join(j.dir, indexName)
	if err := j.checkFiles(index, at); err != nil {
		return err
	}
	j.end = at
	j.file, err = openCut(j.path, at.Size)
	if err != nil {
		return err
	}
	j.index, err = openCut(index, at.Rows*hashSize)
	if err != nil {
		return err
	}
	if isNew := at.Size == 0; !isNew || len(j.o.Header) == 0 {
		return nil
	}
	header := line(j.o.Header)
	j.end.Size, j.unsynced = int64(len(header)), true
	_, err = j.file.WriteAt(header, 0)
	return err
}

// checkFiles returns an error if the journal or its index cannot be the files whose lengths
// a checkpoint has saved: one is shorter, or was written by another program.
func (j *Journal) checkFiles(index string, at position) error {
	info, err := statFile(j.path)
	if err != nil {
		return err
	}
	rows, err := statFile(index)
	if err != nil {
		return err
	}
	switch {
	case info != nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", j.path)
	case size(info) < at.Size:
		return fmt.Errorf("%s is shorter than its progress: restore it, or remove %s to begin again", j.path, j.dir)
	case size(rows) < at.Rows*hashSize:
		return fmt.Errorf("%s is damaged: it is shorter than its progress", index)
	case rows == nil && size(info) > 0:
		return fmt.Errorf("%s was not written by a journal, or %s is missing", j.path, j.dir)
	}
	return endsWithRow(j.path, at.Size)
}

// statFile returns the information on a file, nil if it does not exist.
func statFile(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // it does not exist
	}
	return info, err
}

// size returns the size of a file, 0 for nil, a file that does not exist.
func size(info fs.FileInfo) int64 {
	if info == nil {
		return 0
	}
	return info.Size()
}

// endsWithRow returns an error unless a row ends at the given size of a file, a byte
// count. If none does, the journal has not written the file.
func endsWithRow(path string, size int64) error {
	if size == 0 {
		return nil
	}
	f, err := os.Open(path) //nolint:gosec // the caller chooses the file
	if err != nil {
		return err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, size-1)
	if err == nil && last[0] != '\n' {
		err = fmt.Errorf("%s is not the file that its progress describes: no row ends at byte %d", path, size)
	}
	return errors.Join(err, f.Close())
}

// line returns a row with a newline at its end, added if it has none.
func line(row []byte) []byte {
	if bytes.HasSuffix(row, []byte("\n")) {
		return row
	}
	return append(bytes.Clone(row), '\n')
}

// openCut opens a file and cuts it to a size: what is behind that was not saved. It
// creates the file durably if it does not exist.
func openCut(path string, size int64) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller chooses the file
	if err != nil {
		return nil, err
	}
	err = f.Truncate(size)
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lastPosition returns the position in the file of the latest checkpoint in the
// directory, whichever log it is of, and whether there is a checkpoint.
func (j *Journal) lastPosition() (last position, found bool, err error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return position{}, false, err
	}
	for _, e := range entries {
		escaped, ok := strings.CutSuffix(e.Name(), checkpoints)
		name, err := url.QueryUnescape(escaped)
		if !ok || err != nil {
			continue
		}
		c, err := j.store.Load(context.Background(), name)
		if err != nil {
			return position{}, false, err
		}
		at, _, err := cutPosition(c.Data)
		if err != nil {
			return position{}, false, fmt.Errorf("checkpoint %q in %s: %w", name, j.dir, err)
		}
		found = true
		if at.Size > last.Size { // then it is later, because the file only grows
			last = at
		}
	}
	return last, found, nil
}

// Rows returns the number of events in the file.
func (j *Journal) Rows() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int(j.end.Rows)
}

// Close closes the file, without rows that are not complete. A Follow that is running
// ends with [os.ErrClosed].
func (j *Journal) Close() error {
	j.saving.Lock()
	defer j.saving.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.file != nil {
		err = errors.Join(j.file.Truncate(j.end.Size), j.file.Close())
	}
	if j.index != nil {
		err = errors.Join(err, j.index.Close())
	}
	j.fail(os.ErrClosed)
	return errors.Join(err, durable.CloseLocked(j.lock))
}

// Follow appends each event that q finds to the file, past ones first, then new ones, as
// [events.Service.Follow] delivers them. With o.Until it ends when the events created before
// that time are in the file. o.Store must be nil: the Journal keeps the checkpoints. For the
// log of api.User(api.Me), o.Name is required.
//
// Each event is in the file once, also if Follow or the process was ended at any moment,
// or if events are delivered again. Several logs can be followed into one file, side by
// side or one after the other: an event that two of them have is in the file once, too. Only
// events without an ID may be in it twice.
//
// The hash of each event of the file is in memory, about 20 bytes, until the Journal is
// closed.
//
// Errors: those of [events.Service.Follow]; those of the file. After a failed write Follow
// can be called again. After a failed flush the Journal must be closed and opened again.
func (j *Journal) Follow(
	ctx context.Context, log *events.Service, q events.Query, o *events.FollowOptions, opts ...api.CallOption,
) error {
	var own events.FollowOptions
	if o != nil {
		own = *o
	}
	if log == nil || own.Store != nil {
		field, rule := "FollowOptions.Store", "must be left out: the journal keeps the checkpoints"
		if log == nil {
			field, rule = "log", "must not be nil"
		}
		return &api.InputError{Op: "journal.Follow", Field: field, Rule: rule}
	}
	own.Store = store{j}
	if err := j.load(); err != nil {
		return err
	}
	add := func(ctx context.Context, e *events.Event) error {
		added, err := j.add(e)
		if added && j.o.OnAdd != nil {
			j.o.OnAdd(ctx, e)
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-j.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := log.Follow(ctx, q, add, &own, opts...)
	return cmp.Or(j.reason(), err)
}

// fail makes the journal write nothing more, for a reason. The first reason is kept.
// The caller holds the mutex.
func (j *Journal) fail(reason error) {
	if j.err == nil {
		j.err = reason
		close(j.stopped)
	}
}

// reason returns why j has ended, nil if it has not.
func (j *Journal) reason() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// load reads the index, once: the hash of each event that the journal has, by which it
// recognizes an event that is delivered again.
func (j *Journal) load() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.known != nil || j.err != nil {
		return j.err
	}
	b, err := io.ReadAll(io.NewSectionReader(j.index, 0, j.end.Rows*hashSize))
	if err != nil {
		return err
	}
	if int64(len(b)) < j.end.Rows*hashSize {
		return fmt.Errorf("the index in %s is damaged", j.dir)
	}
	j.known = make(map[uint64]struct{}, j.end.Rows)
	for ; len(b) > 0; b = b[hashSize:] {
		j.known[binary.LittleEndian.Uint64(b)] = struct{}{}
	}
	return nil
}

// add writes the row of an event, and reports whether it did: not for an event that the
// file has, or one that Format leaves out by returning nil. Calls may be concurrent: write
// checks again, under the lock, whether the file has the event.
func (j *Journal) add(e *events.Event) (bool, error) {
	id := hash(e.ID)
	if j.isKnown(id) {
		return false, nil
	}
	row := j.o.Format(e)
	if row == nil {
		return false, nil
	}
	return j.write(id, line(row))
}

// isKnown reports whether the event of a hash is in the file. It is false for 0, the hash
// of an event without an ID.
func (j *Journal) isKnown(id uint64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, known := j.known[id]
	return known && id != 0
}

// write appends a row and the hash of its event, and reports whether it did: not if the
// event has a row already. A hash of 0, of an event without an ID, is never a
// duplicate. A row that could not be written as a whole is removed, or else overwritten
// by the next one.
func (j *Journal) write(id uint64, row []byte) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, known := j.known[id]
	if j.err != nil || known && id != 0 {
		return false, j.err
	}
	_, err := j.file.WriteAt(row, j.end.Size)
	if err == nil {
		_, err = j.index.WriteAt(binary.LittleEndian.AppendUint64(nil, id), j.end.Rows*hashSize)
	}
	if err != nil {
		return false, errors.Join(err, j.file.Truncate(j.end.Size))
	}
	j.end.Size += int64(len(row))
	j.end.Rows++
	j.unsynced = true
	j.known[id] = struct{}{}
	return true, nil
}

// hash returns the hash of an ID, the same with and without hyphens; 0 without an ID.
func hash(id api.OpaqueID) uint64 {
	if id == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, id.Plain())
	return h.Sum64()
}

// store keeps checkpoints, each behind the position that the file had. What a
// checkpoint counts as handled is on the disk before it.
type store struct{ j *Journal }

// Load returns a checkpoint of Follow, without the position in the file that Save puts
// before its data.
func (s store) Load(ctx context.Context, name string) (events.Checkpoint, error) {
	c, err := s.j.store.Load(ctx, name)
	if err != nil || c.Revision == 0 {
		return events.Checkpoint{}, err
	}
	_, c.Data, err = cutPosition(c.Data)
	return c, err
}

// Save makes the rows durable, and then saves the checkpoint: so no checkpoint covers an event
// whose row could be lost. In the checkpoint, the position of the end of the rows stands before
// the data of c.
func (s store) Save(ctx context.Context, name string, c events.Checkpoint) (uint64, error) {
	s.j.saving.Lock()
	defer s.j.saving.Unlock()
	at, err := s.j.flush()
	if err != nil {
		return 0, err
	}
	revision, err := s.j.store.Save(ctx, name, events.Checkpoint{Revision: c.Revision, Data: at.before(c.Data)})
	if err == nil && !s.j.hasCheckpoint {
		err = s.j.markHasCheckpoint()
	}
	return revision, err
}

// markHasCheckpoint creates a file from which [Open] knows that there must be a
// checkpoint, so that it does not cut the journal to nothing if the checkpoints were
// deleted.
func (j *Journal) markHasCheckpoint() error {
	err := os.WriteFile(filepath.Join(j.dir, begunName), nil, 0o600)
	if err == nil {
		err = durable.SyncDir(j.dir)
	}
	j.hasCheckpoint = err == nil
	return err
}

// flush syncs the rows written so far to the disk, and returns the position behind
// them. After a failed sync nothing can be known about the file, so that the journal
// fails.
func (j *Journal) flush() (position, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unsynced && j.err == nil {
		j.unsynced = false
		if err := errors.Join(j.file.Sync(), j.index.Sync()); err != nil {
			j.fail(err)
		}
	}
	return j.end, j.err
}

// before returns data behind a line with the position.
func (p position) before(data []byte) []byte {
	return append(fmt.Appendf(nil, positionFormat, p.Size, p.Rows), data...)
}

// cutPosition divides the data of a checkpoint into its first line, the position that
// [position.before] puts there, and the data of Follow behind it.
func cutPosition(b []byte) (p position, data []byte, err error) {
	head, data, _ := bytes.Cut(b, []byte("\n"))
	if n, _ := fmt.Sscanf(string(head)+"\n", positionFormat, &p.Size, &p.Rows); n < 2 || p.Size < 0 || p.Rows < 0 {
		return position{}, nil, errors.New("it is not of a journal")
	}
	return p, data, nil
}
