package api

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Errors of entries of a folder that is uploaded or downloaded, and of names.
var (
	// ErrName is returned for an entry of a folder that is uploaded or downloaded, if the
	// target does not allow its name.
	ErrName = errors.New("the name is not allowed")

	// ErrNameTaken is returned for an entry whose name differs from another one in the
	// folder only by case or Unicode form, or is the name of a folder where a file is to
	// be stored. A method for a single file, such as that of package uploads, does not check
	// that.
	//
	// Methods whose comment names it also return it if the name of a new or renamed object
	// is in use. The platform has no code for that: after a refusal they read whether the
	// name exists. All other methods return [ErrInvalid].
	ErrNameTaken = errors.New("the name is taken")

	// ErrNotFile is returned for an entry that is skipped because it is neither a file nor a
	// folder: a symbolic link out of the folder or to a folder, a device, or a link to a share.
	ErrNotFile = errors.New("neither a file nor a folder")

	// ErrPartial is returned for an entry that is skipped because it is the incomplete content
	// of a download, a file called .NAME.KEY.fastio-partial with a KEY of 12 letters.
	ErrPartial = errors.New("the partial file of a download")
)

// DirState is the result of an entry of a folder.
type DirState string

// States of an entry.
const (
	DirPending   DirState = ""          // the call ended before its result was known
	DirDone      DirState = "done"      // transferred
	DirUnchanged DirState = "unchanged" // the target has the same content
	DirSkipped   DirState = "skipped"   // see Err: ErrNotFile, ErrPartial, or what ended an upload
	DirFailed    DirState = "failed"    // see Err
)

// DirEntry is a file of a folder that is uploaded or downloaded, or an empty folder that an
// upload has created.
type DirEntry struct {
	Path   string   // below the source folder, with slashes
	Target string   // below the target folder; differs from Path if renamed
	State  DirState // the result
	Size   int64    // in bytes
	Node   OpaqueID // "" if unknown, as of a file that was accepted and is not stored yet
	Err    error    // why it was skipped or has failed
}

// DirResult is the result of a folder that was uploaded or downloaded.
type DirResult struct {
	Entries                                   []*DirEntry // by Path
	Done, Unchanged, Skipped, Failed, Pending int         // numbers of entries in each state
	Bytes                                     int64       // of the entries that are done
}

// DirError is returned if entries of a folder have failed. It matches the errors of all
// of them.
type DirError struct {
	Entries []*DirEntry
}

// Error describes the first five entries.
func (e *DirError) Error() string {
	const shown = 5
	var b strings.Builder
	fmt.Fprintf(&b, "fastio: %d entries have failed", len(e.Entries))
	for _, entry := range e.Entries[:min(len(e.Entries), shown)] {
		fmt.Fprintf(&b, "; %q: %s", entry.Path, strings.TrimPrefix(entry.Err.Error(), "fastio: "))
	}
	return b.String()
}

// Unwrap returns the errors of the entries.
func (e *DirError) Unwrap() []error {
	var all []error
	for _, entry := range e.Entries {
		all = append(all, entry.Err)
	}
	return all
}

// DirProgress is the progress of a folder.
type DirProgress struct {
	Path string   // of the file, below the source folder
	File Progress // of that file
	All  Progress // of all files, also those that are unchanged; Total grows while folders are listed
}

// DirFilter selects the entries of a folder. A pattern has the syntax of [path.Match]. It
// is matched with the name of an entry or, if it contains a slash, with its path below
// the folder, which may have a slash before it: "/a.txt" is only the file in the folder
// itself.
type DirFilter struct {
	Include []string        // files; none means all
	Exclude []string        // files, and folders with all that is in them
	Paths   map[string]bool // the only files, by their paths; nil means all
}

// Selects reports whether the filter selects an entry, which is a path below the
// folder. Exclude wins over Include and Paths, which select files only: every folder
// that is not excluded is selected.
func (f *DirFilter) Selects(entry string, folder bool) bool {
	matches := func(pattern string) bool { // a pattern with a slash is for the whole path, any other for the name
		subject := path.Base(entry)
		if strings.Contains(pattern, "/") {
			subject, pattern = entry, strings.TrimPrefix(pattern, "/")
		}
		ok, _ := path.Match(pattern, subject)
		return ok
	}
	isNotInPaths := f.Paths != nil && !folder && !f.Paths[entry]
	if isNotInPaths || slices.ContainsFunc(f.Exclude, matches) {
		return false
	}
	return folder || len(f.Include) == 0 || slices.ContainsFunc(f.Include, matches)
}
