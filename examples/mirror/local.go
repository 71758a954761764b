package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/fastio-go/fastio/api"
)

// Folders below the local one that are not mirrored. They are in it so that files can be
// moved from and to them.
const (
	work     = ".mirror"
	incoming = work + "/incoming" // downloads
	trash    = work + "/trash"    // deleted files, by the time of the deletion
)

var errBusy = errors.New("the file changed during the sync")

// scan returns the local files by path. What cannot be mirrored, such as a symbolic
// link, is in skipped with the reason.
func (m *mirror) scan() (files map[string]file, skipped map[string]error, err error) {
	if _, err := m.root.Stat(work); err != nil { // not the folder of the state, such as before it is mounted
		return nil, nil, fmt.Errorf("the local folder lacks what an earlier run left there: %w", err)
	}
	files, skipped = map[string]file{}, map[string]error{}
	err = fs.WalkDir(m.root.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
		switch {
		case at == work:
			return fs.SkipDir
		case at == "." || err == nil && entry.IsDir():
			return err
		case err == nil && !entry.Type().IsRegular():
			err = api.ErrNotFile
		}
		var found file
		if err == nil {
			found, err = m.read(at)
		}
		switch {
		case err == nil:
			files[at] = found
		case !errors.Is(err, fs.ErrNotExist):
			skipped[at] = err
		}
		return nil
	})
	return files, skipped, err
}

// read returns the size, time and hash of a local file. The hash is computed only if
// the size or time has changed.
func (m *mirror) read(at string) (file, error) {
	info, err := m.root.Lstat(at)
	if err != nil {
		return file{}, err
	}
	now := file{Size: info.Size(), Modified: info.ModTime().UTC()}
	for _, known := range []file{m.last[at], m.state.Files[at].file} {
		now.Hash = known.Hash
		if now == known {
			return now, nil
		}
	}
	content, err := m.root.Open(at)
	if err != nil {
		return file{}, err
	}
	defer func() { _ = content.Close() }()
	hash := sha256.New()
	_, err = io.Copy(hash, content)
	now.Hash = hex.EncodeToString(hash.Sum(nil))
	return now, err
}

// untouched reports whether a file is as the scan found it. If was is nil, there must
// be none.
func (m *mirror) untouched(at string, was *file) bool {
	info, err := m.root.Lstat(at)
	if was == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && info.Mode().IsRegular() && info.Size() == was.Size && info.ModTime().Equal(was.Modified)
}

// accept moves a download to its place, unless the local file there has changed since
// the scan.
func (m *mirror) accept(at string, was *file) (file, error) {
	got, err := m.read(path.Join(incoming, at))
	if err != nil {
		return file{}, err
	}
	if err := m.root.MkdirAll(path.Dir(at), 0o750); err != nil {
		return file{}, err
	}
	if !m.untouched(at, was) {
		return file{}, errBusy
	}
	return got, m.root.Rename(path.Join(incoming, at), at)
}

// discard moves a file to the trash, and removes the folders that become empty.
func (m *mirror) discard(at string, was *file) error {
	if !m.untouched(at, was) {
		return errBusy
	}
	target := path.Join(trash, time.Now().UTC().Format("20060102T150405.000000000"), at)
	if err := m.root.MkdirAll(path.Dir(target), 0o750); err != nil {
		return err
	}
	if err := m.root.Rename(at, target); err != nil {
		return err
	}
	for dir := path.Dir(at); dir != "." && m.root.Remove(dir) == nil; {
		dir = path.Dir(dir)
	}
	return nil
}
