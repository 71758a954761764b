package emulator

import (
	"net/http"
	"path"
	"strings"
)

// nodeObject renders a node as the storage of a workspace or share shows it.
func (s *Server) nodeObject(in store, n *node, lv level) object {
	st := &s.state
	r := row{level: lv}
	r.put(terse, "id", hyphenated(n.ID))
	r.put(terse, "name", n.Name)
	r.put(terse, "type", n.Kind)
	r.put(terse, "parent", in.parent(n))
	if n.hasContent() {
		r.put(terse, "size", n.Size)
		r.put(terse, "mimetype", n.MimeType)
		r.put(standard, "version", hyphenated(n.current().ID))
	}
	r.put(standard, "created", stamp(n.Created.Unix()))
	r.put(terse, "modified", stamp(n.Updated.Unix()))
	if !n.hasContent() {
		return r.fields
	}
	ai := row{level: lv}
	ai.put(standard, "state", n.AIState)
	ai.put(full, "attach", n.usable())
	if st.showsSummaries(in) {
		ai.put(full, "summary", st.summaryOf(n) != "")
		r.put(terse, "summary", st.summaryObject(n, lv))
	}
	r.put(standard, "ai", ai.fields)
	if st.kind(in.profile) == kindWorkspace {
		r.put(full, "metadata_facts", st.metadataFacts(n, lv))
	}
	r.put(terse, "previews", object{{"thumbnail", n.previewObject(lv)}})
	return r.fields
}

// summaryObject is what the agent says of a file, nil without a summary. Its title is the name of the file without its
// extension (assumed).
func (st *state) summaryObject(n *node, lv level) any {
	text := st.summaryOf(n)
	if text == "" {
		return nil
	}
	r := row{level: lv}
	r.put(terse, "title", strings.TrimSuffix(n.Name, path.Ext(n.Name)))
	r.put(full, "short", text)
	r.put(full, "long", text)
	return r.fields
}

// previewObject says whether a preview is there; at terse output it has another form.
func (n *node) previewObject(lv level) object {
	switch {
	case lv == terse:
		return object{{"ready", n.usable()}}
	case n.usable():
		return object{{"state", "ready"}}
	}
	return object{{"state", "not generated"}}
}

// parent is the folder of a node, or the place that is none.
func (in store) parent(n *node) string {
	switch {
	case n.Trashed:
		return trashFolder
	case n.Parent == in.folder:
		return rootFolder
	}
	return hyphenated(n.Parent)
}

// nodeDetails answers with one node, or with each of several that can be had.
func (s *Server) nodeDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ids := c.segments("node_id")
	if len(ids) > detailsMost {
		return refuse(http.StatusBadRequest, codeBulkMost, "At most 25 nodes at once.")
	}
	if id := plain(ids[0]); len(ids) == 1 && !isOpaque(id) {
		c.check.mistyped("node_id", "opaque_id")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	in, refusal := s.storageOfPath(c)
	if refusal != nil {
		return *refusal
	}
	if len(ids) > 1 {
		return s.manyDetails(c, in, ids)
	}
	n := s.state.visibleNode(in, ids[0])
	if n == nil {
		return *noSuch(codeNoNode, "node")
	}
	return ok(member{"format", "single"}, member{"node", s.nodeObject(in, n, c.out.level)})
}

// visibleNode finds a node for a user. What is in the trash is there for members.
func (st *state) visibleNode(in store, id string) *node {
	if in.insider(st) {
		return st.nodeOrTrash(in.profile, plain(id))
	}
	return st.node(in.profile, plain(id))
}

// manyDetails answers for several nodes. It is not found when none of them is.
func (s *Server) manyDetails(c *call, in store, ids []string) answer {
	rows, failed := []object{}, []object{}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[plain(id)] {
			continue
		}
		seen[plain(id)] = true
		n := s.state.visibleNode(in, id)
		switch {
		case n != nil:
			rows = append(rows, s.nodeObject(in, n, c.out.level))
		case !isOpaque(plain(id)):
			failed = append(failed, nodeError(id, codeBadNode, "Not the id of a node."))
		default:
			failed = append(failed, nodeError(id, codeNoNode, "There is no such node here."))
		}
	}
	return manyNodes("nodes", rows, failed)
}

// manyNodes answers a call for several nodes: with 404 when none of them was found.
func manyNodes(key string, rows, failed []object) answer {
	a := ok(member{"format", "multi"}, member{key, rows}, member{"errors", failed})
	if len(rows) == 0 {
		a.status = http.StatusNotFound
	}
	return a
}

// nodeError names a node as the caller wrote it.
func nodeError(id string, code int64, message string) object {
	return object{{"node_id", id}, {"code", code}, {"message", message}}
}
