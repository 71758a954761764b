package emulator

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Codes of notes, beside the published one of what is no note.
const (
	codeVersionGone = 199603
	codeNotCurrent  = 199604
)

const (
	noteMost     = 100 << 10 // bytes
	noteNameMost = 255
)

// noteRoutes is the part of the table that is about notes.
func (s *Server) noteRoutes() []*route {
	const get, post = "GET", "POST"
	const workspace, share = "/current/workspace/{workspace_id}/storage/", "/current/share/{share_id}/storage/"
	return []*route{
		{op: "ai.Notes.Create", method: post, pattern: workspace + "{parent_id}/createnote/", fields: "name content", handle: s.createNote},
		{op: "ai.Notes.Update", method: post, pattern: workspace + "{node_id}/updatenote/", fields: "name content if_version_id", handle: s.updateNote},
		{op: "ai.Notes.Read", method: get, pattern: workspace + "{node_id}/read/", query: "version_id", handle: s.readNode},
		{op: "ai.Notes.Get", method: get, pattern: workspace + "{node_id}/readnote/", query: "version_id", handle: s.readNote},
		{op: "ai.Notes.Get", method: get, pattern: share + "{node_id}/readnote/", visit: true, query: "version_id", handle: s.readNote},
	}
}

// mayStore refuses a caller who may look into a storage and not write there.
func (s *Server) mayStore(c *call, in store) *answer {
	st := &s.state
	switch {
	case st.covers(c.key, in.profile) < write:
		return c.key.refuseWrite()
	case !in.insider(st):
		return denied("you may not write here.")
	}
	return s.lacks(featureAI)
}

// createNote makes a note in a folder.
func (s *Server) createNote(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, refusal := s.storageOfPath(c)
	if refusal == nil {
		refusal = s.mayStore(c, in)
	}
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	parent := c.segment("parent_id")
	if parent != rootFolder && !isOpaque(plain(parent)) {
		c.check.mistyped("parent_id", "opaque_id or root")
	}
	name, content := c.noteName(true), c.noteContent(true)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if parent == rootFolder {
		parent = in.folder
	} else if folder := s.state.node(in.profile, plain(parent)); folder == nil {
		return *noSuch(codeNoNode, kindFolder)
	} else if folder.Kind != kindFolder {
		c.check.invalid("parent_id", "The id of a folder, or root.")
		return *c.check.refusal()
	}
	n := s.keepNode(node{
		Profile: in.owner, Parent: parent, Kind: kindNote, Name: name, Content: content, Creator: c.key.User,
	})
	s.tellNode(n, Event{Name: in.event(s, "file_added"), CallingUser: c.key.User, Actor: s.state.actorOf(c.key)})
	s.index(n, aiPending)
	return ok(member{"node", s.nodeObject(in, n, c.out.level)})
}

// event names what happened in a storage.
func (in store) event(s *Server, what string) string {
	return s.state.kind(in.owner) + "_storage_" + what
}

// noteName reads the name of a note.
func (c *call) noteName(required bool) string {
	name, given := c.field("name")
	switch {
	case !given && !required:
	case strings.TrimSpace(name) == "":
		c.check.missing("name", "A name that ends in .md.")
	case !strings.HasSuffix(name, ".md") || name == ".md" || strings.Contains(name, "/") || !utf8.ValidString(name):
		c.check.invalid("name", "A name that ends in .md.")
	case utf8.RuneCountInString(name) > noteNameMost:
		c.check.invalid("name", "At most 255 characters.")
	}
	return name
}

// noteContent reads the text of a note, without what a text has no use for.
func (c *call) noteContent(required bool) string {
	content, given := c.field("content")
	switch {
	case !given && !required:
	case !given:
		c.check.missing("content", "Markdown.")
	case strings.TrimSpace(content) == "":
		c.check.invalid("content", "Not blank.")
	case !utf8.ValidString(content):
		c.check.invalid("content", "UTF-8.")
	case len(content) > noteMost:
		c.check.invalid("content", "At most 100 KB.")
	}
	return sanitized(content)
}

func sanitized(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// updateNote renames a note or gives it another version.
func (s *Server) updateNote(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, n, refusal := s.noteOfPath(c)
	if refusal == nil {
		refusal = s.mayStore(c, in)
	}
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	_, renames := c.field("name")
	_, rewrites := c.field("content")
	expected, checks := c.field("if_version_id")
	name, content := c.noteName(false), c.noteContent(false)
	switch {
	case !renames && !rewrites:
		c.check.missing("content", "At least one of name and content.")
	case checks && !isOpaque(plain(expected)):
		c.check.mistyped("if_version_id", "opaque_id")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if current := n.current(); checks && plain(expected) != current.ID {
		return overtaken(current)
	}
	if renames {
		n.Name = name
	}
	n.Updated = s.now()
	if rewrites {
		s.addVersion(n, Version{Content: content, Creator: c.key.User, Created: n.Updated})
		n.Summary = ""
	}
	s.tellNode(n, Event{Name: in.event(s, "file_updated"), CallingUser: c.key.User, Actor: s.state.actorOf(c.key)})
	if rewrites {
		s.index(n, aiPending)
	}
	return ok(member{"node", s.nodeObject(in, n, c.out.level)})
}

// overtaken refuses a write to a version that is not the current one any more, and tells which is.
func overtaken(current Version) answer {
	a := refuse(http.StatusConflict, codeNotCurrent, "The note has another version by now.")
	sum := sha256.Sum256([]byte(current.Content))
	a.failure.params = object{{"current", object{
		{"version_id", hyphenated(current.ID)},
		{"hash", hex.EncodeToString(sum[:])},
	}}}
	return a
}

// nodeOfPath finds the node of a call that is not in the trash.
func (s *Server) nodeOfPath(c *call) (store, *node, *answer) {
	id := plain(c.segment("node_id"))
	if !isOpaque(id) {
		c.check.mistyped("node_id", "opaque_id")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return store{}, nil, refusal
	}
	in, refusal := s.storageOfPath(c)
	if refusal != nil {
		return store{}, nil, refusal
	}
	n := s.state.node(in.profile, id)
	if n == nil {
		return store{}, nil, noSuch(codeNoNode, "node")
	}
	return in, n, nil
}

func (s *Server) noteOfPath(c *call) (store, *node, *answer) {
	in, n, refusal := s.nodeOfPath(c)
	if refusal == nil && n.Kind != kindNote {
		a := refuse(http.StatusNotAcceptable, codeNotNote, "Node is not a note")
		refusal = &a
	}
	return in, n, refusal
}

// versionOfQuery is the version of a node that a call asks for.
func (c *call) versionOfQuery(n *node) (Version, *answer) {
	id := c.value("version_id")
	if id != "" && !isOpaque(plain(id)) {
		c.check.mistyped("version_id", "opaque_id")
		return Version{}, c.check.refusal()
	}
	v, found := n.version(id)
	if !found {
		return Version{}, noSuch(codeVersionGone, "version of this node")
	}
	return v, nil
}

// readNode answers with the bytes of a file or note.
func (s *Server) readNode(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, n, refusal := s.nodeOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if !n.hasContent() {
		return refuse(http.StatusNotAcceptable, codeNoContent, "A "+n.Kind+" has no content.")
	}
	v, refusal := c.versionOfQuery(n)
	if refusal != nil {
		return *refusal
	}
	return s.serveVersion(c, n, v)
}

// readNote answers with the text of a note and the note.
func (s *Server) readNote(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	in, n, refusal := s.noteOfPath(c)
	if refusal != nil {
		return *refusal
	}
	v, refusal := c.versionOfQuery(n)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"content", sanitized(v.Content)}, member{"note", s.nodeObject(in, n, c.out.level)})
}
