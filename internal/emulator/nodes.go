package emulator

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a node as the platform keeps it.
type node Node

// Kinds of nodes.
const (
	kindFile   = "file"
	kindFolder = "folder"
	kindNote   = "note"
	kindLink   = "link"
)

// Places in storage that are no node.
const (
	rootFolder  = "root"
	trashFolder = "trash"
)

// nodeSpace keeps the serials of nodes apart from those of the things that histories invent.
const nodeSpace = 1 << 62

// AddNode adds a node, or replaces the one with the same id. Its ids are plain.
func (s *Server) AddNode(n Node) Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := n.AIState
	kept := s.keepNode(node(n))
	s.state.touch(s.now(), kept.Profile, keyed(fieldStorage, kept.ID), fieldStorage)
	s.index(kept, cmp.Or(given, s.goal(kept)))
	n = Node(*kept)
	n.Versions = slices.Clone(n.Versions)
	return n
}

// keepNode completes a node and puts it into the order of arrival.
func (s *Server) keepNode(n node) *node {
	st := &s.state
	n.ID = plain(n.ID)
	if n.ID == "" {
		st.serials++
		n.ID = opaque('2', s.o.Seed, nodeSpace+st.serials)
	}
	n.Parent = plain(n.Parent)
	if n.Parent == rootFolder {
		n.Parent = ""
	}
	n.Kind = cmp.Or(n.Kind, kindFile)
	n.Name = cmp.Or(n.Name, n.Kind+" "+strconv.Itoa(len(st.nodes)+1))
	if n.hasContent() {
		n.MimeType = cmp.Or(n.MimeType, mimeType(n.Kind, n.Name))
	}
	if n.Created.IsZero() {
		n.Created = s.now()
	}
	if n.Updated.IsZero() {
		n.Updated = n.Created
	}
	s.keepVersions(&n)
	if st.nodes[n.ID] == nil {
		st.nodeList = append(st.nodeList, n.ID)
	}
	st.nodes[n.ID] = &n
	return &n
}

// keepVersions completes the versions of a node. The content is that of the last one.
func (s *Server) keepVersions(n *node) {
	given := n.Versions
	n.Versions = nil
	if !n.hasContent() {
		return
	}
	for _, v := range given {
		if v.Created.IsZero() {
			v.Created = n.Created
		}
		v.Creator = cmp.Or(v.Creator, n.Creator)
		s.addVersion(n, v)
	}
	if last := len(given) - 1; last < 0 || n.Content != "" && n.Content != given[last].Content {
		s.addVersion(n, Version{Content: n.Content, Size: n.Size, Creator: n.Creator, Created: n.Updated})
	}
	current := n.current()
	n.Content, n.Size = current.Content, current.Size
}

// addVersion makes a version the current one.
func (s *Server) addVersion(n *node, v Version) {
	s.state.versions++
	v.ID = cmp.Or(plain(v.ID), opaque('3', s.o.Seed, s.state.versions))
	v.Size = cmp.Or(v.Size, int64(len(v.Content)))
	n.Versions = append(n.Versions, v)
	n.Content, n.Size = v.Content, v.Size
}

// hasContent tells whether a node has versions.
func (n *node) hasContent() bool { return n.Kind == kindFile || n.Kind == kindNote }

// current is the current version, the zero Version for what has none.
func (n *node) current() Version {
	if len(n.Versions) == 0 {
		return Version{}
	}
	return n.Versions[len(n.Versions)-1]
}

// version finds a version by its id; "" is the current one.
func (n *node) version(id string) (Version, bool) {
	if id == "" {
		return n.current(), len(n.Versions) > 0
	}
	i := slices.IndexFunc(n.Versions, func(v Version) bool { return v.ID == plain(id) })
	if i < 0 {
		return Version{}, false
	}
	return n.Versions[i], true
}

// storageOf is whose nodes the storage of a profile shows, and the folder they are in: a share can stand for a folder
// of its workspace.
func (st *state) storageOf(profileID string) (owner, folder string) {
	if h := st.shares[profileID]; h != nil && h.it.Folder != "" {
		return h.it.Workspace, h.it.Folder
	}
	return profileID, ""
}

// node finds what is in the storage of a profile and not in its trash.
func (st *state) node(profileID, id string) *node {
	n := st.nodeOrTrash(profileID, id)
	if n == nil || st.gone(n) {
		return nil
	}
	return n
}

// nodeOrTrash finds what is in the storage of a profile, trash included.
func (st *state) nodeOrTrash(profileID, id string) *node {
	n := st.nodes[id]
	owner, folder := st.storageOf(profileID)
	if n == nil || n.Profile != owner || folder != "" && n.ID != folder && !st.inFolder(n, folder) {
		return nil
	}
	return n
}

// nodesOf lists what is in the storage of a profile and not in its trash, by arrival.
func (st *state) nodesOf(profileID string) []*node {
	owner, folder := st.storageOf(profileID)
	var found []*node
	for _, id := range st.nodeList {
		n := st.nodes[id]
		if n.Profile == owner && !st.gone(n) && (folder == "" || st.inFolder(n, folder)) {
			found = append(found, n)
		}
	}
	return found
}

// ancestors lists the folders around a node, the nearest first.
func (st *state) ancestors(n *node) []*node {
	var found []*node
	for up := st.nodes[n.Parent]; up != nil && len(found) < len(st.nodes); up = st.nodes[up.Parent] {
		found = append(found, up)
	}
	return found
}

// inFolder tells whether a node is inside a folder, at any depth.
func (st *state) inFolder(n *node, folder string) bool {
	return slices.ContainsFunc(st.ancestors(n), func(up *node) bool { return up.ID == folder })
}

// gone tells whether a node is in the trash, by itself or with a folder around it.
func (st *state) gone(n *node) bool {
	return n.Trashed || slices.ContainsFunc(st.ancestors(n), func(up *node) bool { return up.Trashed })
}

// textOf is what there is to read in a node, "" when it is no text.
func (st *state) textOf(n *node) string {
	if !n.hasContent() || !utf8.ValidString(n.Content) {
		return ""
	}
	return n.Content
}

// summaryOf is what the platform's agent says of a node, "" before it has looked at it.
func (st *state) summaryOf(n *node) string {
	if !n.usable() {
		return ""
	}
	return cmp.Or(n.Summary, firstSentence(st.textOf(n)))
}

// firstSentence is how a text begins, without its heading.
func firstSentence(text string) string {
	for line := range strings.Lines(strings.ReplaceAll(text, "\f", "\n")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			if sentence, _, found := strings.Cut(line, ". "); found {
				return sentence + "."
			}
			return line
		}
	}
	return ""
}

// mimeType is the type of a file as its name tells it.
func mimeType(kind, name string) string {
	if kind == kindNote {
		return "text/markdown"
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".md":
		return "text/markdown"
	case ".txt":
		return "text/plain"
	case ".csv":
		return "text/csv"
	case ".html":
		return "text/html"
	case ".json":
		return "application/json"
	case ".pdf":
		return "application/pdf"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".png":
		return "image/png"
	case ".mp3":
		return "audio/mpeg"
	case ".mp4":
		return "video/mp4"
	}
	return "application/octet-stream"
}
