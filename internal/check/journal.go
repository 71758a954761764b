package check

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/durable"
)

// markerPrefix begins the names of the workspaces of all runs.
const markerPrefix = "fastio-check-"

// journalSuffix ends the names of journals, which begin with the marker of the run.
const journalSuffix = ".journal"

// Kinds of objects in a journal.
const (
	kindIntent    = "intent" // the marker of a run that is about to create its workspace
	kindOrg       = "org"    // in which the run creates the workspace
	kindPlatform  = "platform"
	kindWorkspace = "workspace"
	kindShare     = "share"
	kindFileShare = "fileshare"
	kindUpload    = "upload"
	kindComment   = "comment"
	kindExport    = "export" // the token of a link to files
	kindPerson    = "person" // the second one, of -second-key
	kindMe        = "me"
)

// A Journal is what a run owns: the objects that the platform has created for it. Each
// is in a file before it is used, so that another process can delete what a killed one has
// left. A Journal is locked as long as it is open.
type Journal struct {
	Marker string // in the name of the workspace

	mu     sync.Mutex
	file   *os.File
	closed bool
	path   string
	owned  kindsOfIDs
	seen   kindsOfIDs // values of the responses that may have an ID of a kind
}

// kindsOfIDs are IDs by kind and by the form in which they are compared.
type kindsOfIDs map[string]map[string]string

// add adds an ID of a kind, under its plain form, by which IDs are compared.
func (k kindsOfIDs) add(kind, id string) {
	if k[kind] == nil {
		k[kind] = map[string]string{}
	}
	k[kind][plain(id)] = id
}

func (k kindsOfIDs) has(kind, id string) bool {
	_, has := k[kind][plain(id)]
	return has && id != ""
}

// NewJournal creates the journal of a run that is going to create a workspace in org, with
// the intent to do that.
func NewJournal(dir, platform string, org api.ID) (*Journal, error) {
	return newJournal(dir, markerPrefix+strings.ToLower(rand.Text())[:12], platform, org)
}

// newJournal creates the journal of a run in a directory, with the platform, the
// organization and the marker, before anything is created on the platform.
func newJournal(dir, marker, platform string, org api.ID) (*Journal, error) {
	j, err := openJournal(filepath.Join(dir, marker+journalSuffix))
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		j.write(kindPlatform, platform), j.write(kindOrg, string(org)), j.write(kindIntent, marker),
		durable.SyncDir(dir),
	)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// openJournal opens and locks a journal, and reads it. Errors: [durable.ErrInUse]
// if the program that writes it is still running.
func openJournal(path string) (*Journal, error) {
	file, err := durable.LockFile(path)
	if err != nil {
		return nil, err
	}
	j := &Journal{
		Marker: strings.TrimSuffix(filepath.Base(path), journalSuffix), file: file, path: path,
		owned: kindsOfIDs{}, seen: kindsOfIDs{},
	}
	if err := j.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("the journal: %w", err), j.Close())
	}
	return j, nil
}

// read adds the objects of the file, and removes an incomplete last line: the run was killed
// before it used that object (see write). Then the next object is written at the end of the file.
func (j *Journal) read() error {
	content, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	for line := range strings.Lines(string(whole)) {
		if kind, id, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			j.owned.add(kind, id)
		}
	}
	if err := j.file.Truncate(int64(len(whole))); err != nil {
		return err
	}
	_, err = j.file.Seek(int64(len(whole)), io.SeekStart)
	return err
}

// journals returns the paths of the journals of a directory.
func journals(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, markerPrefix+"*"+journalSuffix))
	return found
}

// write appends an object to the file and waits until that is durable. Then the
// run owns it.
func (j *Journal) write(kind, id string) error {
	if strings.ContainsAny(id, "\n\r") || id == "" {
		return fmt.Errorf("the %s cannot be journalled", kind)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.owned.has(kind, id) {
		return nil
	}
	_, err := j.file.WriteString(kind + " " + id + "\n")
	if err = errors.Join(err, j.file.Sync()); err != nil {
		return fmt.Errorf("the journal: %w", err)
	}
	j.owned.add(kind, id)
	return nil
}

// Own records that an object is one of the run, so that its ID may be used. Errors: a
// [*RefusedError] if no response to a create of an object of that kind had the ID.
func (j *Journal) Own(kind, id string) error {
	j.mu.Lock()
	seen := j.seen.has(kind, id)
	j.mu.Unlock()
	if !seen {
		return &RefusedError{"ID", "no create of this run has returned it as a " + kind}
	}
	return j.write(kind, id)
}

// addSeen adds the values of a response that may be IDs of a kind. The ID of an export is the
// token in its link.
func (j *Journal) addSeen(kind string, fields []field) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range fields {
		if kind == kindExport {
			f.value = exportToken(f.value)
		}
		j.seen.add(kind, f.value)
	}
}

// exportToken returns the token of the first link to exported files in a text, "" without
// one.
func exportToken(text string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	_, link, _ := strings.Cut(text, "/ai/share/")
	behindToken := strings.TrimLeft(link, letters)
	return strings.TrimSuffix(link, behindToken)
}

// owns reports whether the run owns an object.
func (j *Journal) owns(kind, id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.owned.has(kind, id)
}

// address is the one that a run invites. It does not exist.
func (j *Journal) address() string { return j.Marker + "@example.invalid" }

// isOfOther reports whether the run was one on another platform. Nothing is known of a journal without
// the intent, which is written after the platform.
func (j *Journal) isOfOther(platform string) bool {
	return j.owns(kindIntent, j.Marker) && !j.owns(kindPlatform, platform)
}

// all returns the IDs of a kind that the run owns, sorted.
func (j *Journal) all(kind string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Sorted(maps.Values(j.owned[kind]))
}

// Close unlocks and closes the journal. Its file stays. Another Close does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	return durable.CloseLocked(j.file)
}

// remove deletes the file: nothing of the run is left.
func (j *Journal) remove() error { return errors.Join(j.Close(), os.Remove(j.path)) }

// plain returns the form in which IDs are compared: the platform returns the same one with
// and without hyphens.
func plain(id string) string { return api.OpaqueID(id).Plain() }
