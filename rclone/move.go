package rclone

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/lib/random"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/storage"
)

// The calls that move and copy take a folder only, and put a file of the same name there
// in the trash. So a node gets a name that no other node has, is moved, and gets its own
// name, which the platform refuses if it is taken. A copy is made in a folder of our own.
//
// Names of nodes under way begin with reserved and say what must become of the node if
// this process ends: see transit. Listings leave them out, and finish what is older
// than abandonedAfter.
const (
	reserved       = ".rclone-fastio-"
	abandonedAfter = time.Hour
	undoTime       = time.Minute
	nameMost       = 255 // characters
)

// kind is what a reserved name is for.
type kind string

const (
	kindMove  kind = "move"  // a node that is moved
	kindCopy  kind = "copy"  // a copy, which can be made again
	kindStage kind = "stage" // a folder of copies
)

// transit is the content of a reserved name.
type transit struct {
	kind    kind
	started time.Time // to the second
	random  string
	from    string // the checksum of the folder of a move
	old     string // the name of a move, in that folder
	new     string // the name that it gets in the other one
}

// name returns the reserved name, by which a later run can end an interrupted move: the
// parts of the transit with "-" between them, the time in base 36. The last part of a move
// is its old and its new name, and the one before it says how long the old one is.
func (t *transit) name() string {
	part := []string{string(t.kind), strconv.FormatInt(t.started.Unix(), 36), t.random}
	if t.kind == kindMove {
		part = append(part, t.from, strconv.Itoa(len(t.old)), t.old+t.new)
	}
	return reserved + strings.Join(part, "-")
}

// parseTransit returns the content of a reserved name, nil for any other name. A reserved
// name is the prefix reserved and KIND-TIME-RANDOM, and for a move -FOLDER-LENGTH-NAMES behind
// that. FOLDER is the checksum of the old folder. NAMES is the old name and, directly behind
// it, the new one; LENGTH is the number of bytes of the old one. See [transit.name].
func parseTransit(name string) *transit {
	const partsOfMove, partsOfOthers = 6, 3
	text, ok := strings.CutPrefix(name, reserved)
	part := strings.SplitN(text, "-", partsOfMove)
	if !ok || len(part) < partsOfOthers {
		return nil
	}
	seconds, err := strconv.ParseInt(part[1], 36, 64)
	if err != nil {
		return nil
	}
	t := &transit{kind: kind(part[0]), started: time.Unix(seconds, 0), random: part[2]}
	switch t.kind {
	case kindCopy, kindStage:
		return t
	case kindMove:
	default:
		return nil
	}
	if len(part) < partsOfMove {
		return nil
	}
	from, oldLength, names := part[3], part[4], part[5]
	length, err := strconv.Atoi(oldLength)
	if err != nil || length < 1 || length >= len(names) {
		return nil
	}
	t.from, t.old, t.new = from, names[:length], names[length:]
	return t
}

// newTransit returns a name that no other node has.
func newTransit(k kind) *transit {
	return &transit{kind: k, started: time.Now(), random: random.String(8)}
}

// checksum returns a short text for a folder.
func checksum(folder api.OpaqueID) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(strings.ToLower(plain(folder)))))
}

// visibleNode returns a node of a folder as listings show it, nil for one that is moved or
// copied at this moment. What an earlier process has left is finished.
func (f *Fs) visibleNode(ctx context.Context, at place, n *storage.Node) *storage.Node {
	t := parseTransit(n.Name)
	if t == nil {
		return n
	}
	age := time.Since(t.started)
	if age < f.abandonedAfter && age > -f.abandonedAfter { // a start in the future is that of a wrong clock
		fs.Debugf(f, "%s is moved or copied at this moment", n.Name)
		return nil
	}
	if f.opt.VersionAt.IsSet() { // such a remote changes nothing
		return nil
	}
	left, err := f.finish(ctx, at, n, t)
	if err != nil {
		fs.Errorf(f, "%s was left by an interrupted move or copy, and stays: %v", n.Name, err)
		return n
	}
	return left
}

// finish ends a move or copy of a process that does not exist any more: a node that is
// still in its former folder gets its old name again, a node that is in the other folder
// its new name, and a copy is removed. It returns the node, nil for a copy.
func (f *Fs) finish(ctx context.Context, at place, n *storage.Node, t *transit) (*storage.Node, error) {
	client := f.session.client.Storage
	if t.kind != kindMove {
		return nil, client.Delete(ctx, at.in, n.ID)
	}
	name := t.new
	if checksum(at.node) == t.from { // it is still in its former folder
		name = t.old
	}
	if _, err := client.Rename(ctx, at.in, n.ID, name); err != nil {
		return nil, err
	}
	fs.Logf(f, "%s was left by an interrupted move, and has the name %s now", n.Name, name)
	renamed := *n
	renamed.Name = name
	return &renamed, nil
}

// moving is a node that is moved.
type moving struct {
	in       api.Profile
	id       api.OpaqueID
	from, to api.OpaqueID // folders
	old, new string       // names
}

// errTooLong means that the reserved name, which contains the old and the new name, would be
// longer than the platform allows (nameMost).
var errTooLong = errors.New("the names are too long to move a node under both")

// move gives a node another folder and name. It returns [api.ErrNameTaken] and leaves the
// node where it was if the name is taken. The node has a reserved name while it is moved,
// because the call that moves would put a node of the same name in the trash.
func (f *Fs) move(ctx context.Context, m moving) error {
	client := f.session.client.Storage
	if m.from.Equal(m.to) {
		_, err := client.Rename(ctx, m.in, m.id, m.new)
		if ambiguous(err) {
			return f.undo(ctx, m, err)
		}
		return err
	}
	t := newTransit(kindMove)
	t.from, t.old, t.new = checksum(m.from), m.old, m.new // the ID would take more of the name
	if utf8.RuneCountInString(t.name()) > nameMost {
		return errTooLong
	}
	_, err := client.Rename(ctx, m.in, m.id, t.name())
	if err != nil && !ambiguous(err) {
		return err
	}
	if err == nil {
		_, err = client.Move(ctx, m.in, m.id, m.to)
	}
	if err == nil {
		_, err = client.Rename(ctx, m.in, m.id, m.new)
	}
	if err == nil {
		return nil
	}
	return f.undo(ctx, m, err)
}

// undo moves a node under a reserved name back to its old folder and name, after a move that
// failed with cause. It returns cause, or nil if the node has its new folder and name: then
// only the last response was lost. A node under any other name is left where it is, because
// a move could put a node of that name in the trash.
func (f *Fs) undo(ctx context.Context, m moving, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	client := f.session.client.Storage
	n, err := client.Get(ctx, m.in, m.id)
	switch {
	case err != nil && m.from.Equal(m.to): // a rename alone: the node has its old or its new name
		return errors.Join(cause, err)
	case err != nil: // reported below
	case n.ParentID.Equal(m.to) && n.Name == m.new:
		return nil
	case !strings.HasPrefix(n.Name, reserved):
		return cause
	case !n.ParentID.Equal(m.from):
		_, err = client.Move(ctx, m.in, m.id, m.from)
	}
	if err == nil {
		_, err = client.Rename(ctx, m.in, m.id, m.old)
	}
	if err != nil {
		const text = "the move could not be undone, and is finished by a listing after %v: %w"
		err = fmt.Errorf(text, f.abandonedAfter, err)
	}
	return errors.Join(cause, err)
}

// Move moves a file of the same workspace or share.
func (f *Fs) Move(ctx context.Context, src fs.Object, remote string) (fs.Object, error) {
	from, ok := src.(*Object)
	if !ok || from.old { // an earlier version of a file cannot be moved
		return nil, fs.ErrorCantMove
	}
	at, leaf, err := f.locateToWrite(ctx, remote)
	if err != nil {
		return nil, err
	}
	if from.in != at.in || from.fs.session != f.session {
		return nil, fs.ErrorCantMove
	}
	err = f.move(ctx, moving{
		in: at.in, id: from.id, from: from.parent, to: at.node,
		old: f.opt.Enc.FromStandardName(path.Base(from.remote)), new: f.opt.Enc.FromStandardName(leaf),
	})
	if errors.Is(err, errTooLong) { // of the two names: rclone copies the file, and deletes the old one
		return nil, fs.ErrorCantMove
	}
	if err != nil {
		return nil, f.changeFailure(err)
	}
	return f.reread(ctx, at, from.id, remote)
}

// reread returns the file with an ID as it is on the platform after a change.
func (f *Fs) reread(ctx context.Context, at place, id api.OpaqueID, remote string) (fs.Object, error) {
	n, err := f.session.client.Storage.Get(ctx, at.in, id)
	if err != nil {
		return nil, failure(err)
	}
	return f.object(at, remote, n), nil
}

// DirMove moves the folder srcRemote of src, with what is in it, to dstRemote of f. It returns
// fs.ErrorCantDirMove, after which rclone moves file by file, if src is another remote, if the
// folder would come into another workspace or share, or if its old and its new name do not both
// fit into the reserved name that it has while it is moved.
func (f *Fs) DirMove(ctx context.Context, src fs.Fs, srcRemote, dstRemote string) error {
	from, ok := src.(*Fs)
	if !ok || from.session != f.session {
		return fs.ErrorCantDirMove
	}
	if err := f.writable(); err != nil {
		return err
	}
	// DirMove of the cache only looks up the three folders.
	id, parent, oldLeaf, to, leaf, err := f.folders.DirMove(ctx, from.folders, from.root, srcRemote, f.root, dstRemote)
	if err != nil {
		return f.changeFailure(err)
	}
	folder, oldParent, newParent := placeOf(id), placeOf(parent), placeOf(to)
	if oldParent.aboveProfiles() || newParent.aboveProfiles() { // the folder is, or would be, a workspace or share
		return errAbove
	}
	if folder.in != newParent.in {
		return fs.ErrorCantDirMove
	}
	err = f.move(ctx, moving{
		in: folder.in, id: folder.node, from: oldParent.node, to: newParent.node,
		old: f.opt.Enc.FromStandardName(oldLeaf), new: f.opt.Enc.FromStandardName(leaf),
	})
	switch {
	case errors.Is(err, api.ErrNameTaken):
		return fs.ErrorDirExists
	case errors.Is(err, errTooLong):
		return fs.ErrorCantDirMove
	case err != nil:
		from.DirCacheFlush()
		return f.changeFailure(err)
	}
	from.folders.FlushDir(srcRemote)
	return nil
}
