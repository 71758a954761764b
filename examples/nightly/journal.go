package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gofrs/flock"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

// journal is a file with one event per line.
type journal struct {
	file  *os.File
	lock  *flock.Flock
	known map[api.OpaqueID]bool // events in the file
	added int                   // by this run
	onAdd func(n int)           // may be nil
}

// openJournal opens or creates a journal, and removes the incomplete line of a run that
// was killed. It fails while another run has the journal open.
func openJournal(path string) (*journal, error) {
	lock := flock.New(path + ".lock")
	locked, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !locked {
		return nil, fmt.Errorf("%s is in use by another run", path)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	j := &journal{file: file, lock: lock, known: map[api.OpaqueID]bool{}}
	if err := j.read(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (j *journal) read() error {
	var size int64
	for lines := bufio.NewReader(j.file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var event events.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("%s: %w", j.file.Name(), err)
		}
		j.known[event.ID] = true
		size += int64(len(line))
	}
	if err := j.file.Truncate(size); err != nil {
		return err
	}
	_, err := j.file.Seek(size, io.SeekStart)
	return err
}

// add appends an event unless the file has it.
func (j *journal) add(_ context.Context, e *events.Event) error {
	if j.known[e.ID] {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	j.known[e.ID] = true
	j.added++
	if j.onAdd != nil {
		j.onAdd(j.added)
	}
	return nil
}

func (j *journal) close() error { return errors.Join(j.file.Close(), j.lock.Unlock()) }

// checkpoints flushes the journal to disk before it saves a checkpoint, so that the
// file is never behind.
type checkpoints struct {
	events.FileStore
	journal *journal
}

func (c checkpoints) Save(ctx context.Context, name string, next events.Checkpoint) (uint64, error) {
	if err := c.journal.file.Sync(); err != nil {
		return 0, err
	}
	return c.FileStore.Save(ctx, name, next)
}
