package durable

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	partialSuffix  = ".fastio-partial"
	partialLetters = 12  // of the key, between the name of the file and the suffix
	longNameMark   = "~" // between a shortened name and the letters that stand for the whole of it
	longestName    = 255 // bytes of a file name
)

// ErrInUse reports that another process or goroutine writes the same file.
var ErrInUse = errors.New("the file is being written")

// errMoved reports that a file was renamed or removed before it was locked. The caller
// creates or opens the file again.
var errMoved = errors.New("the file was moved")

// IsPartial reports whether name, a path element, is that of a [Partial]: ".", the name
// of the file, ".", 12 letters and ".fastio-partial".
func IsPartial(name string) bool {
	rest, ok := strings.CutSuffix(name, partialSuffix)
	if !ok || len(rest) < len(".x.")+partialLetters || rest[0] != '.' {
		return false
	}
	name, key := rest[:len(rest)-partialLetters], rest[len(rest)-partialLetters:]
	return strings.HasSuffix(name, ".") && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz") == ""
}

// partialPrefix returns how the names of all partials of a file begin: with the name of the
// file or, if that is too long, its beginning and letters that stand for the whole name.
func partialPrefix(name string) string {
	longest := longestName - len("..") - partialLetters - len(partialSuffix)
	if len(name) <= longest {
		return "." + name + "."
	}
	short := strings.ToValidUTF8(name[:longest-len(longNameMark)-partialLetters], "")
	return "." + short + longNameMark + letters(name) + "."
}

// letters returns 12 letters that identify a text, from its hash.
func letters(text string) string {
	sum := sha256.Sum256([]byte(text))
	for i := range sum {
		sum[i] = 'a' + sum[i]%26
	}
	return string(sum[:partialLetters])
}

// A Partial is the incomplete content of a file, in the same directory, until it
// replaces the file. It is locked: no other process or goroutine has it open. The lock
// ends with the process, and the Partial stays for the next one. It has mode 0600. A
// system or file system without locks does not lock it.
type Partial struct {
	*os.File // at its start when it is opened

	dir  *os.Root
	name string // of the Partial
	file string // that it replaces
}

// OpenPartial opens the Partial of a file for the content that key stands for, and
// creates it if it does not exist. Links do not lead out of dir. The caller ends it with
// Commit, Keep or Remove.
//
// Errors: [ErrInUse] if it is open elsewhere; a [*FileError] if what has its name is not a
// regular file.
func OpenPartial(dir *os.Root, file, key string) (*Partial, error) {
	p := &Partial{dir: dir, name: partialPrefix(file) + letters(key) + partialSuffix, file: file}
	for {
		err := p.create()
		if errors.Is(err, fs.ErrExist) {
			err = p.reopen()
		}
		if !errors.Is(err, errMoved) { // else another process has renamed or removed the file before it was locked here
			return p, err
		}
	}
}

// create creates and locks the file. It fails if the file exists.
func (p *Partial) create() (err error) {
	p.File, err = p.dir.OpenFile(p.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return p.lock()
}

// reopen opens and locks a Partial that exists, and returns errMoved if it does not. It
// removes one that another user can change, and returns errMoved for it as well.
func (p *Partial) reopen() error {
	info, err := p.dir.Lstat(p.name)
	if err == nil && !info.Mode().IsRegular() {
		return &FileError{p.name, "it is not a regular file"}
	}
	if err == nil {
		p.File, err = p.dir.OpenFile(p.name, os.O_RDWR, 0)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	if err == nil {
		err = p.lock()
	}
	if err != nil {
		return err
	}
	info, err = p.Stat()
	if err != nil {
		return errors.Join(err, p.Close())
	}
	if othersCanChange := !onlyOurs(info); othersCanChange {
		return cmp.Or(p.Remove(), errMoved)
	}
	return nil
}

// lock locks the Partial, and closes it after an error. Before it was locked, another
// process may have renamed or removed it: then the error is errMoved.
func (p *Partial) lock() error {
	err := lockOpen(p.File)
	if err == nil {
		err = p.checkName()
	}
	if err != nil {
		_ = p.Close()
	}
	return err
}

// checkName returns errMoved unless the open file still has its name: another process
// may have renamed or removed it.
func (p *Partial) checkName() error {
	opened, err := p.Stat()
	if err != nil {
		return err
	}
	named, err := p.dir.Lstat(p.name)
	if err != nil || !os.SameFile(opened, named) {
		return errMoved
	}
	return nil
}

// Partials returns the names of all partials in a directory.
func Partials(dir *os.Root) (names []string, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	for {
		some, err := f.Readdirnames(1024)
		for _, name := range some {
			if IsPartial(name) {
				names = append(names, name)
			}
		}
		switch {
		case err == io.EOF:
			return names, nil
		case err != nil:
			return nil, err
		}
	}
}

// RemovePartials removes those of the named partials that belong to a file and are not
// open. Errors: [ErrInUse] if one is open elsewhere.
func RemovePartials(dir *os.Root, file string, names []string) error {
	return removePartials(dir, file, names, noneKept)
}

// RemoveOthers is [RemovePartials] for the file of p, without p.
func (p *Partial) RemoveOthers(names []string) error {
	return removePartials(p.dir, p.file, names, p.name)
}

const noneKept = "" // in removePartials

// removePartials removes the partials of a file whose names are in names, but not the one
// named except. It returns ErrInUse if one of them is open elsewhere. Other failures are
// ignored: the next call tries again.
func removePartials(dir *os.Root, file string, names []string, except string) error {
	prefix := partialPrefix(file)
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || len(rest) != partialLetters+len(partialSuffix) || name == except {
			continue
		}
		p := &Partial{dir: dir, name: name, file: file}
		err := p.reopen()
		switch {
		case err == nil:
			_ = p.Remove() // the next call retries
		case errors.Is(err, ErrInUse):
			return err
		}
	}
	return nil
}

// Restart removes the content.
func (p *Partial) Restart() error {
	_, err := p.Seek(0, io.SeekStart)
	return errors.Join(err, p.Truncate(0))
}

// Commit renames the Partial to the file that it replaces, atomically and durably. After a
// failure the Partial is removed, except for a failure to flush the directory: then the new
// file is visible, but a power failure may undo it.
func (p *Partial) Commit() error {
	err := p.Sync() // before the rename, or a power failure may leave an empty file
	if err == nil {
		err = p.checkName() // else the rename could move a file of another process
	}
	if err == nil {
		err = moveOpen(p.File, func() error { return p.dir.Rename(p.name, p.file) })
	}
	if err != nil {
		_ = p.Remove() // if it stays, OpenPartial finds it again
		return err
	}
	return syncDir(p.dir.Open, ".")
}

// Keep closes the Partial, which can be opened again. An empty one is removed.
func (p *Partial) Keep() error {
	info, err := p.Stat()
	if err == nil && info.Size() == 0 {
		return p.Remove()
	}
	return errors.Join(err, p.Close())
}

// Remove closes and removes the Partial.
func (p *Partial) Remove() error {
	return moveOpen(p.File, func() error { return p.dir.Remove(p.name) })
}
