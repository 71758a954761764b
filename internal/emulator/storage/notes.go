package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of notes, all of them invented.
const (
	CodeVersionGone = 199603
	codeNotCurrent  = 199604
)

const (
	noteMost     = 100 << 10 // bytes
	noteNameMost = 255
)

// noteRoutes returns the routes of notes.
func (h *notes) noteRoutes() []*wire.Route {
	const workspace, share = "/current/workspace/{workspace_id}/storage/", "/current/share/{share_id}/storage/"
	return []*wire.Route{
		wire.Post("storage.Notes.Create", workspace+"{parent_id}/createnote/", wire.With(h.tree.StorageOfPath, h.createNote),
			wire.Form("name content")),
		wire.Post("storage.Notes.Update", workspace+"{node_id}/updatenote/", wire.WithTwo(h.noteOfPath, h.updateNote),
			wire.Form("name content if_version_id")),
		wire.Get("storage.Notes.Get", workspace+"{node_id}/readnote/", wire.WithTwo(h.noteOfPath, h.readNote),
			wire.Query("version_id")),
		wire.Get("storage.Notes.Get", share+"{node_id}/readnote/", wire.WithTwo(h.noteOfPath, h.readNote),
			wire.OptionalCredential,
			wire.Query("version_id")),
	}
}

// refuseNoteWrite returns a refusal if the caller may not write in a storage, or the plan
// has no AI, which notes are a part of.
func (h *Handlers) refuseNoteWrite(c *wire.Call, store world.Store) error {
	switch {
	case h.w.AccessMode(c.Key, store.Profile) < wire.Write:
		return c.Key.ReadOnlyRefusal()
	case !store.Insider(h.w):
		return wire.Denied("you may not write here.")
	}
	return h.w.RefuseWithout(world.FeatureAI)
}

// createNote creates a note in a folder.
func (h *notes) createNote(c *wire.Call, store world.Store) (wire.Object, error) {
	if err := h.tree.refuseNoteWrite(c, store); err != nil {
		return nil, err
	}
	parent := c.Segment("parent_id")
	c.Check.MistypedIf(parent != world.RootFolder && !wire.IsOpaque(wire.Plain(parent)), "parent_id", "opaque_id or root")
	name, content := noteName(c, required), noteContent(c, required)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if parent == world.RootFolder {
		parent = store.Folder
	} else if folder := h.w.Node(store.Profile, wire.Plain(parent)); folder == nil {
		return nil, wire.NoSuch(CodeNoNode, world.KindFolder)
	} else if folder.Kind != world.KindFolder {
		c.Check.Invalid("parent_id", "The id of a folder, or root.")
		return nil, c.Check.Err()
	}
	n := h.w.KeepNode(world.Node{ // which stores the plain form of Parent
		Profile: store.Owner, Parent: parent, Kind: world.KindNote, Name: name, Content: content, Creator: c.Key.User,
	})
	h.w.NodeEvent(n, world.Event{
		Name: eventName(store, h.tree, "file_added"), CallingUser: c.Key.User,
		Actor: h.w.ActorOf(c.Key),
	})
	h.w.Index(n, world.AIPending)
	return wire.Object{{"node", h.tree.NodeObject(store, n, c.Out.Level)}}, nil
}

// eventName returns the name of a storage event, which begins with the kind of the profile
// that owns the nodes.
func eventName(store world.Store, h *Handlers, what string) string {
	return h.w.KindOf(store.Owner) + "_storage_" + what
}

// noteName returns the field with the name of a note, which must end in .md; "" if it is
// missing and not required.
func noteName(c *wire.Call, isRequired bool) string {
	name, given := c.Field("name")
	switch {
	case !given && !isRequired: // it stays ""
	case strings.TrimSpace(name) == "":
		c.Check.Missing("name", "A name that ends in .md.")
	case !strings.HasSuffix(name, ".md") || name == ".md" || strings.Contains(name, "/") || !utf8.ValidString(name):
		c.Check.Invalid("name", "A name that ends in .md.")
	case utf8.RuneCountInString(name) > noteNameMost:
		c.Check.Invalid("name", "At most 255 characters.")
	}
	return name
}

// noteContent returns the field with the text of a note, without invalid characters; "" if
// it is missing and not required.
func noteContent(c *wire.Call, isRequired bool) string {
	content, given := c.Field("content")
	switch {
	case !given && !isRequired: // it stays ""
	case !given:
		c.Check.Missing("content", "Markdown.")
	case strings.TrimSpace(content) == "":
		c.Check.Invalid("content", "Not blank.")
	case !utf8.ValidString(content):
		c.Check.Invalid("content", "UTF-8.")
	case len(content) > noteMost:
		c.Check.Invalid("content", "At most 100 KB.")
	}
	return Sanitized(content)
}

// Sanitized returns a text without control characters, except for tabs and line ends.
func Sanitized(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// updateNote changes the name or the text of a note. With the field if_version_id, it
// refuses a note that has another current version. A new text is a new version, which is
// indexed again.
func (h *notes) updateNote(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	if err := h.tree.refuseNoteWrite(c, store); err != nil {
		return nil, err
	}
	_, renames := c.Field("name")
	_, rewrites := c.Field("content")
	expected, compares := c.Field("if_version_id")
	name, content := noteName(c, optional), noteContent(c, optional)
	switch {
	case !renames && !rewrites:
		c.Check.Missing("content", "At least one of name and content.")
	case compares && !wire.IsOpaque(wire.Plain(expected)):
		c.Check.Mistyped("if_version_id", "opaque_id")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if err := h.tree.RefuseLocked(c, n); err != nil {
		return nil, err
	}
	if current := n.Current(); compares && wire.Plain(expected) != current.ID {
		return nil, notCurrentRefusal(current)
	}
	if renames {
		n.Name = name
	}
	n.Updated = h.w.Now()
	if rewrites {
		h.w.AddVersion(n, world.Version{Content: content, Creator: c.Key.User, Created: n.Updated})
		n.Summary = ""
	}
	h.w.NodeEvent(n, world.Event{
		Name: eventName(store, h.tree, "file_updated"), CallingUser: c.Key.User,
		Actor: h.w.ActorOf(c.Key),
	})
	if rewrites {
		h.w.Index(n, world.AIPending)
	}
	return wire.Object{{"node", h.tree.NodeObject(store, n, c.Out.Level)}}, nil
}

// notCurrentRefusal returns the refusal of a write that expects a version other than the
// current one. It describes the current version.
func notCurrentRefusal(current world.Version) error {
	refusal := wire.Refuse(http.StatusConflict, codeNotCurrent, "The note has another version by now.")
	sum := sha256.Sum256([]byte(current.Content))
	refusal.Params = wire.Object{{"current", wire.Object{
		{"version_id", wire.Hyphenated(current.ID)},
		{"hash", hex.EncodeToString(sum[:])},
	}}}
	return refusal
}

// NodeOfPath returns the node in the path, with its storage. A node in the trash is
// refused as missing.
func (h *Handlers) NodeOfPath(c *wire.Call) (world.Store, *world.Node, error) {
	id := c.OpaqueSegment("node_id")
	if err := c.Check.Err(); err != nil {
		return world.Store{}, nil, err
	}
	store, err := h.StorageOfPath(c)
	if err != nil {
		return world.Store{}, nil, err
	}
	n := h.w.Node(store.Profile, id)
	if n == nil {
		return world.Store{}, nil, wire.NoSuch(CodeNoNode, "node")
	}
	return store, n, nil
}

// noteOfPath returns the note in the path, with its storage.
func (h *notes) noteOfPath(c *wire.Call) (world.Store, *world.Node, error) {
	store, n, err := h.tree.NodeOfPath(c)
	if err == nil && n.Kind != world.KindNote {
		err = wire.Refuse(http.StatusNotAcceptable, CodeNotNote, "Node is not a note")
	}
	return store, n, err
}

// versionOfQuery returns the version of a node that the query names, the current one
// by default.
func versionOfQuery(c *wire.Call, n *world.Node) (world.Version, error) {
	id := c.Value("version_id")
	if id != "" && !wire.IsOpaque(wire.Plain(id)) {
		c.Check.Mistyped("version_id", "opaque_id")
		return world.Version{}, c.Check.Err()
	}
	v, found := n.Version(id)
	if !found {
		return world.Version{}, wire.NoSuch(CodeVersionGone, "version of this node")
	}
	return v, nil
}

// readNote returns the text of a note.
func (h *notes) readNote(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	v, err := versionOfQuery(c, n)
	if err != nil {
		return nil, err
	}
	return wire.Object{{"content", Sanitized(v.Content)}, {"note", h.tree.NodeObject(store, n, c.Out.Level)}}, nil
}
