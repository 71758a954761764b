package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/fastio-go/fastio/api"
)

// file is a local file.
type file struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"` // in UTC
	Hash     string    `json:"hash"`     // SHA-256 in hexadecimal
}

// base is a file at the last sync.
type base struct {
	file

	Version api.OpaqueID `json:"version,omitempty"` // of the node; "" until a listing has shown the upload
	Sent    time.Time    `json:"sent,omitzero"`     // time of that upload
}

// state is a JSON file that holds the last sync.
type state struct {
	Workspace api.ID          `json:"workspace"`
	Folder    api.OpaqueID    `json:"folder"`
	Files     map[string]base `json:"files"` // by path

	path string
	lock *flock.Flock
}

// openState reads a state file, or returns an empty state without one. It fails while
// another run uses it, or if it belongs to another folder.
func openState(path string, workspace api.ID, folder api.OpaqueID) (_ *state, err error) {
	s := &state{
		Workspace: workspace, Folder: folder, Files: map[string]base{},
		path: path, lock: flock.New(path + ".lock"),
	}
	locked, err := s.lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !locked {
		return nil, fmt.Errorf("%s is in use by another run", path)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if s.Workspace != workspace || s.Folder != folder {
		return nil, fmt.Errorf("%s is the state of folder %s of workspace %s", path, s.Folder, s.Workspace)
	}
	return s, nil
}

// save replaces the file atomically.
func (s *state) save() error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), s.path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}

// close lets another run use the state.
func (s *state) close() error { return s.lock.Unlock() }

// record records the state of a file after its sync.
func (s *state) record(path string, synced base) { s.Files[path] = synced }
