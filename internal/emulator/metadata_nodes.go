package emulator

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	detailsMost = 25
	poolMost    = 1000 // files a filter looks at
)

// factNode is a file or note as the listings of metadata show it.
func (st *state) factNode(n *node, lv level) object {
	return append(st.identity(n, lv), member{"metadata_facts", st.metadataFacts(n, lv)})
}

// parentOf is where a node shows up.
func (st *state) parentOf(n *node) string {
	if st.gone(n) {
		return trashFolder
	}
	return cmp.Or(hyphenated(n.Parent), rootFolder)
}

func (st *state) identity(n *node, lv level) object {
	r := row{level: lv}
	r.put(terse, "id", hyphenated(n.ID))
	r.put(terse, "name", n.Name)
	r.put(terse, "type", n.Kind)
	r.put(terse, "parent_id", st.parentOf(n))
	r.put(standard, "size", n.Size)
	r.put(standard, "mimetype", n.MimeType)
	r.put(standard, "version", hyphenated(n.current().ID))
	r.put(standard, "ai", object{{"state", n.AIState}})
	r.put(standard, "created", stamp(n.Created.Unix()))
	r.put(standard, "updated", stamp(n.Updated.Unix()))
	return r.fields
}

// eligible lists the files and notes of a workspace, those in the trash as well, with their facts.
func (s *Server) eligible(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.metadataOf(c, Guest, read)
	if refusal != nil {
		return *refusal
	}
	parent := plain(c.value("parent_id"))
	if parent != "" && parent != rootFolder && parent != trashFolder && !isOpaque(parent) {
		c.check.mistyped("parent_id", "opaque_id")
	}
	filter := s.readFilter(c, id, "")
	p := s.flatPage(c, c.pageSize(), "mimetype", "extension", "parent_id", "category")
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	fits := func(n *node) bool {
		extension := strings.TrimPrefix(path.Ext(n.Name), ".")
		return n.hasContent() && filter.passes(n) &&
			(c.value("mimetype") == "" || n.MimeType == c.value("mimetype")) &&
			(c.value("extension") == "" || strings.EqualFold(extension, strings.TrimPrefix(c.value("extension"), "."))) &&
			(parent == "" || plain(s.state.parentOf(n)) == parent)
	}
	return ok(filter.mark(s.listNodes(c, id, p, fits))...)
}

// listNodes is a page of the files and notes of a workspace, in the order of their arrival.
func (s *Server) listNodes(c *call, workspaceID string, p flatPage, fits func(*node) bool) object {
	st := &s.state
	return s.members(p, func(yield func(uint64, object) bool) {
		for i := min(p.start, uint64(len(st.nodeList))); i < uint64(len(st.nodeList)); i++ {
			n := st.nodes[st.nodeList[i]]
			if n.Profile == workspaceID && fits(n) && !yield(i, st.factNode(n, c.out.level)) {
				return
			}
		}
	})
}

// metadataDetails answers with the metadata of one node, or of up to 25 whose ids stand in the path with commas in
// between.
func (s *Server) metadataDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.metadataOf(c, Guest, read)
	if refusal == nil {
		refusal = c.check.refusal()
	}
	if refusal != nil {
		return *refusal
	}
	ids := c.segments("node_id")
	switch {
	case len(ids) == 1:
		n, refusal := s.nodeWithFacts(c, id)
		if refusal != nil {
			return *refusal
		}
		return ok(s.detailsObject(n, c.out.level)...)
	case len(ids) > detailsMost:
		return refuse(http.StatusNotAcceptable, codeTooManyIDs, "At most 25 ids.")
	}
	objects, failed := []object{}, []object{}
	seen := map[string]bool{}
	for _, given := range ids {
		if seen[plain(given)] {
			continue
		}
		seen[plain(given)] = true
		n := s.state.nodeOrTrash(id, plain(given))
		switch {
		case given == rootFolder:
			failed = append(failed, nodeError(given, codeNodeRoot, "The root has no metadata."))
		case !isOpaque(plain(given)):
			failed = append(failed, nodeError(given, codeNodeID, "Not the id of a node."))
		case n == nil:
			failed = append(failed, nodeError(given, codeNodeUnknown, "There is no such node here."))
		case !n.hasContent():
			failed = append(failed, nodeError(given, codeNotExtracted, "Only files and notes have metadata."))
		default:
			objects = append(objects, s.detailsObject(n, c.out.level))
		}
	}
	return manyNodes("objects", objects, failed)
}

func (s *Server) detailsObject(n *node, lv level) object {
	st := &s.state
	return object{
		{"metadata_facts", st.metadataFacts(n, lv)},
		{"node_id", st.factNode(n, lv)},
		{"autoextractable", st.extractable(n)},
	}
}

// extractable tells whether metadata can be read out of a node.
func (st *state) extractable(n *node) bool {
	return st.textOf(n) != "" && n.AIState != aiDisabled && n.AIState != aiFailed
}

// metadataVersions lists the changes of the metadata of a node, the latest first.
func (s *Server) metadataVersions(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, n, refusal := s.metadataNode(c, Guest, read)
	if refusal != nil {
		return *refusal
	}
	versions := []object{}
	revisions := s.state.metadata.revisions[n.ID]
	for i, r := range slices.Backward(revisions) {
		versions = append(versions, object{
			{"version", i + 1},
			{"event", r.event},
			{"user_id", optionalProfile(r.user)},
			{"fields", r.fields},
			{"created", stamp(r.at.Unix())},
		})
	}
	return ok(member{"object_id", hyphenated(n.ID)}, member{"count", len(versions)}, member{"versions", versions})
}

// indexed tells whether a search finds a fact: what was written just now is not there yet.
func (s *Server) indexed(f *fact, now time.Time) bool { return now.Sub(f.updated) >= s.o.Metadata.Lag }
