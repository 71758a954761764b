package emulator

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Codes of storage. Those that begin with 1010 are the emulator's own.
const (
	codeBulkMost     = 115519
	codeBadNode      = 191878
	codeNoNode       = 133123
	codeNotNote      = 153548
	codeOrphanSearch = 179101
	codeStale        = 199601
	codeNoContent    = 199602
)

// storageRoutes is the part of the table that is about what is stored.
func (s *Server) storageRoutes() []*route {
	const get = "GET"
	const workspace, share = "/current/workspace/{workspace_id}/storage/", "/current/share/{share_id}/storage/"
	return []*route{
		{op: "storage.List", method: get, pattern: workspace + "{parent_id}/list/", query: keysetQuery, handle: s.listFolder},
		{op: "storage.List", method: get, pattern: share + "{parent_id}/list/", visit: true, query: keysetQuery, handle: s.listFolder},
		{op: "storage.Get", method: get, pattern: workspace + "{node_id}/details/", handle: s.nodeDetails},
		{op: "storage.Get", method: get, pattern: share + "{node_id}/details/", visit: true, handle: s.nodeDetails},
		{op: "storage.Recent", method: get, pattern: workspace + "recent/", query: "type page_size cursor", handle: s.recentNodes},
	}
}

// listFolder answers with what is in a folder, in the root or in the trash.
func (s *Server) listFolder(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	q := c.keyset()
	parent := c.segment("parent_id")
	if parent != rootFolder && parent != trashFolder && !isOpaque(plain(parent)) {
		c.check.mistyped("parent_id", "opaque_id, root or trash")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	in, refusal := s.storageOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if h := st.shares[in.profile]; h != nil && plain(parent) == s.rootOf(&h.it) {
		parent = rootFolder
	}
	var found []*node
	switch parent {
	case trashFolder:
		if !in.insider(st) {
			return *denied("the trash is for members.")
		}
		found = st.trashOf(in)
	case rootFolder:
		found = st.childrenOf(in.owner, in.folder)
	default:
		folder := st.node(in.profile, plain(parent))
		if folder == nil {
			return *noSuch(codeNoNode, kindFolder)
		}
		if folder.Kind != kindFolder {
			c.check.invalid("parent_id", "The id of a folder, root or trash.")
			return *c.check.refusal()
		}
		found = st.childrenOf(in.owner, folder.ID)
	}
	return s.nodePage(c, in, q, found, "list "+in.profile+" "+plain(parent))
}

// childrenOf lists what lies in a folder, and nothing below.
func (st *state) childrenOf(profileID, folder string) []*node {
	return slices.DeleteFunc(st.nodesOf(profileID), func(n *node) bool { return n.Parent != folder })
}

// trashOf lists what was thrown away, and not what lies in thrown folders.
func (st *state) trashOf(in store) []*node {
	var found []*node
	for _, id := range st.nodeList {
		if n := st.nodes[id]; n.Trashed && st.nodeOrTrash(in.profile, id) == n {
			found = append(found, n)
		}
	}
	return found
}

// recentNodes answers with what changed last.
func (s *Server) recentNodes(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q := keyset{by: "updated", descending: true, size: c.nodePageSize(), cursor: c.value("cursor")}
	kind := c.value("type")
	if kind != "" && !slices.Contains([]string{kindFile, kindFolder, kindNote, kindLink}, kind) {
		c.check.invalid("type", "file, folder, link or note.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	in, refusal := s.storageOfPath(c)
	if refusal != nil {
		return *refusal
	}
	found := slices.DeleteFunc(s.state.nodesOf(in.profile), func(n *node) bool { return kind != "" && n.Kind != kind })
	return s.nodePage(c, in, q, found, "recent "+in.profile+" "+kind)
}

// keyset is how a list of nodes is sorted and cut into pages.
type keyset struct {
	by         string
	descending bool
	size       int
	cursor     string
}

// keysetQuery are the query parameters of such a list.
const keysetQuery = "sort_by sort_dir page_size cursor"

func (c *call) keyset() keyset {
	q := keyset{by: cmp.Or(c.value("sort_by"), "name"), size: c.nodePageSize(), cursor: c.value("cursor")}
	if !slices.Contains([]string{"name", "updated", "created", "type"}, q.by) {
		c.check.invalid("sort_by", "name, updated, created or type.")
	}
	switch c.value("sort_dir") {
	case "", "asc":
	case "desc":
		q.descending = true
	default:
		c.check.invalid("sort_dir", "asc or desc.")
	}
	return q
}

func (c *call) nodePageSize() int {
	switch size := c.integer("page_size", 100, 0, 500); size {
	case 100, 250, 500:
		return size
	default:
		c.check.invalid("page_size", "100, 250 or 500.")
		return 100
	}
}

// key is what a node is sorted by. Nodes with the same key follow their ids.
func (q *keyset) key(n *node) string {
	moment := func(t time.Time) string { return fmt.Sprintf("%020d", t.UnixMicro()) }
	switch q.by {
	case "updated":
		return moment(n.Updated)
	case "created":
		return moment(n.Created)
	case "type":
		return n.Kind + " " + strings.ToLower(n.Name)
	}
	return strings.ToLower(n.Name)
}

// place is where a node stands in the order; a cursor holds that of the last node of its page.
func (q *keyset) place(n *node) keysetPlace { return keysetPlace{q.key(n), n.ID} }

type keysetPlace struct{ key, id string }

func (q *keyset) compare(a, b keysetPlace) int {
	way := cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.id, b.id))
	if q.descending {
		return -way
	}
	return way
}

// nodePage answers with one page of nodes.
func (s *Server) nodePage(c *call, in store, q keyset, found []*node, about string) answer {
	binding := fmt.Sprint("keyset ", s.state.cursors, " ", in.user, " ", q.by, " ", q.descending, " ", q.size, " ", about)
	slices.SortFunc(found, func(a, b *node) int { return q.compare(q.place(a), q.place(b)) })
	if q.cursor != "" {
		after, valid := s.openKeyset(q.cursor, binding)
		if !valid {
			c.check.add("cursor", "invalid", "Not a cursor of this list.", codeStale)
			return *c.check.refusal()
		}
		found = slices.DeleteFunc(found, func(n *node) bool { return q.compare(q.place(n), after) <= 0 })
	}
	page := found[:min(q.size, len(found))]
	more := len(page) < len(found)
	var next any
	rows := make([]object, 0, len(page))
	for _, n := range page {
		rows = append(rows, s.nodeObject(in, n, c.out.level))
	}
	if more {
		next = s.sealKeyset(q.place(page[len(page)-1]), binding)
	}
	return ok(
		member{"nodes", object{{"count", len(rows)}, {"items", rows}}},
		member{"pagination", object{{"has_more", more}, {"next_cursor", next}, {"page_size", q.size}}},
	)
}

func (s *Server) sealKeyset(p keysetPlace, binding string) string {
	b := []byte(strconv.Itoa(len(p.id)) + " " + p.id + p.key)
	return base64.StdEncoding.EncodeToString(append(b, s.seal(b, binding)...))
}

func (s *Server) openKeyset(text, binding string) (keysetPlace, bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) < sealLen {
		return keysetPlace{}, false
	}
	b, sealed := b[:len(b)-sealLen], string(b[len(b)-sealLen:])
	if sealed != string(s.seal(b, binding)) {
		return keysetPlace{}, false
	}
	length, rest, _ := strings.Cut(string(b), " ")
	n, err := strconv.Atoi(length)
	if err != nil || n > len(rest) {
		return keysetPlace{}, false
	}
	return keysetPlace{key: rest[n:], id: rest[:n]}, true
}
