package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/uploads"
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

// session is an upload in chunks that has not ended.
type session struct {
	Upload uploads.Session `json:"upload"`
	Hash   string          `json:"hash"` // of the local file
}

// state is a JSON file that holds the last sync.
type state struct {
	Workspace api.ID             `json:"workspace"`
	Folder    api.OpaqueID       `json:"folder"`
	Files     map[string]base    `json:"files"`    // by path
	Sessions  map[string]session `json:"sessions"` // by path

	path string
	lock *flock.Flock
	mu   sync.Mutex // for Sessions, while files are sent
}

// openState reads a state file, or returns an empty state without one. It fails while
// another run uses it, or if it belongs to another folder.
func openState(path string, workspace api.ID, folder api.OpaqueID) (_ *state, err error) {
	s := &state{
		Workspace: workspace, Folder: folder, Files: map[string]base{}, Sessions: map[string]session{},
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
	s.mu.Lock()
	defer s.mu.Unlock()
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

func (s *state) close() error { return s.lock.Unlock() }

// begin saves the session of an upload.
func (s *state) begin(path string, started session) error {
	s.mu.Lock()
	s.Sessions[path] = started
	s.mu.Unlock()
	return s.save()
}

// end records the sync of a file.
func (s *state) end(path string, synced base) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Files[path] = synced
	delete(s.Sessions, path)
}

// resumable returns the sessions of the files that have not changed since, and forgets the
// others.
func (s *state) resumable(local map[string]file) map[string]uploads.Session {
	all := map[string]uploads.Session{}
	for path, started := range s.Sessions {
		if local[path].Hash == started.Hash {
			all[path] = started.Upload
		} else {
			delete(s.Sessions, path)
		}
	}
	return all
}
