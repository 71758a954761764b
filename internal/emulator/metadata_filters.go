package emulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	clausesMost         = 5
	filterNameMost      = 100
	filterDescription   = 500
	operatorEquals      = "="
	operatorExists      = "exists"
	operatorNotExists   = "not_exists"
	filterListSize      = 100
	filterListMost      = 250
	paramFilters        = "filters"
	paramFilterCategory = "category"
)

// clause is one condition on the facts of a node. Several must all hold.
type clause struct {
	field, operator string
	value           any
}

// readClauses reads conditions. It tells apart only whether they can be used.
func readClauses(list []any) ([]clause, bool) {
	var clauses []clause
	for _, entry := range list {
		o, isObject := entry.(map[string]any)
		if !isObject {
			return nil, false
		}
		var cl clause
		cl.field, _ = o["field"].(string)
		cl.operator, _ = o["operator"].(string)
		cl.value = o["value"]
		compares := cl.operator == operatorEquals && cl.value != nil && !isStructure(cl.value)
		asks := (cl.operator == operatorExists || cl.operator == operatorNotExists) && cl.value == nil
		if cl.field == "" || !compares && !asks {
			return nil, false
		}
		clauses = append(clauses, cl)
	}
	return clauses, len(clauses) > 0 && len(clauses) <= clausesMost
}

func parseClauses(text string) ([]clause, bool) {
	var list []any
	if err := decode([]byte(text), &list); err != nil {
		return nil, false
	}
	return readClauses(list)
}

// holds tells whether a node meets a condition. A retired name stands for the field it was merged into, with all that
// is filed under either.
func (cl clause) holds(st *state, n *node) bool {
	v := st.metadata.vocabularies[n.Profile]
	var held []*fact
	if v != nil {
		if f := v.governing(cl.field); f != nil {
			for _, g := range v.group(f) {
				if found := st.fact(n, g); found != nil {
					held = append(held, found)
				}
			}
		}
	}
	switch cl.operator {
	case operatorExists:
		return len(held) > 0
	case operatorNotExists:
		return len(held) == 0
	}
	return slices.ContainsFunc(held, func(f *fact) bool {
		wanted, fits := fitValue(f.stored, cl.value)
		return fits && sameValue(wanted, f.value)
	})
}

func allHold(st *state, n *node, clauses []clause) bool {
	return !slices.ContainsFunc(clauses, func(cl clause) bool { return !cl.holds(st, n) })
}

// nodeFilter is what a search or listing asks of the facts of nodes. One that asks nothing is nil.
type nodeFilter struct {
	nodes     map[string]bool
	category  string
	truncated bool
}

// readFilter reads the category of a call and the conditions in one of its parameters, "" for none.
func (s *Server) readFilter(c *call, workspaceID, param string) *nodeFilter {
	st := &s.state
	var clauses []clause
	if text := c.value(param); param != "" && text != "" {
		var usable bool
		if clauses, usable = parseClauses(text); !usable {
			c.check.invalid(param, "1 to 5 conditions of field, operator and value.")
		}
	}
	category := c.value(paramFilterCategory)
	if category != "" {
		word, found := listed(categories(), category)
		if !found {
			c.check.invalid(paramFilterCategory, "One of "+strings.Join(categories(), ", ")+".")
		}
		clauses = append(clauses, clause{fieldCategory, operatorEquals, word})
		category = word
	}
	if len(clauses) == 0 {
		return nil
	}
	f := st.filter(workspaceID, clauses)
	f.category = category
	return f
}

// filter finds the files and notes of a workspace that meet conditions. It looks no further than the pool reaches.
func (st *state) filter(workspaceID string, clauses []clause) *nodeFilter {
	f := &nodeFilter{nodes: map[string]bool{}}
	for _, id := range st.nodeList {
		n := st.nodes[id]
		if n.Profile != workspaceID || !n.hasContent() || !allHold(st, n, clauses) {
			continue
		}
		if len(f.nodes) == poolMost {
			f.truncated = true
			break
		}
		f.nodes[id] = true
	}
	return f
}

func (f *nodeFilter) passes(n *node) bool { return f == nil || f.nodes[n.ID] }

// mark acknowledges a filter that ran.
func (f *nodeFilter) mark(o object) object {
	if f == nil {
		return o
	}
	return append(o, member{"metadata_filter", object{{"applied", true}, {"matched", len(f.nodes)}, {"truncated", f.truncated}}})
}

// savedFilter is conditions that a workspace keeps.
type savedFilter struct {
	id, workspace, user string
	name, description   string
	clauses             []clause
	raw                 []any // the conditions as they were sent
	projection          []string
	created, updated    time.Time
}

func (f *savedFilter) object() object {
	projection := any(nil)
	if f.projection != nil {
		projection = f.projection
	}
	return object{
		{"filter_id", hyphenated(f.id)},
		{"name", f.name},
		{"description", optional(f.description)},
		{"filters", f.raw},
		{"projection", projection},
		{"creator", profileID(f.user)},
		{"created", stamp(f.created.Unix())},
		{"updated", stamp(f.updated.Unix())},
	}
}

// listFilters lists the saved filters of a workspace.
func (s *Server) listFilters(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.metadataOf(c, Guest, read)
	if refusal != nil {
		return *refusal
	}
	p := s.flatPage(c, c.integer("page_size", filterListSize, 1, filterListMost))
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	page := s.members(p, func(yield func(uint64, object) bool) {
		for i, f := range s.state.metadata.filters {
			at := uint64(i)
			if at >= p.start && f != nil && f.workspace == id && !yield(at, f.object()) {
				return
			}
		}
	})
	return ok(slices.DeleteFunc(page, func(m member) bool { return m.key == "page_size" })...)
}

// createFilter saves a filter.
func (s *Server) createFilter(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.metadataOf(c, Member, write)
	if refusal != nil {
		return *refusal
	}
	f, refusal := c.readSavedFilter()
	if refusal != nil {
		return *refusal
	}
	m := &s.state.metadata
	here := 0
	for _, other := range m.filters {
		if other != nil && other.workspace == id {
			here++
		}
	}
	if s.o.Metadata.FilterLimit > 0 && here >= s.o.Metadata.FilterLimit {
		return refuse(http.StatusUnauthorized, codeFilterLimit, "The plan allows no more saved filters.")
	}
	s.state.serials++
	f.id, f.workspace, f.user = opaque('c', s.o.Seed, s.state.serials), id, c.key.User
	f.created, f.updated = c.now, c.now
	m.filters = append(m.filters, f)
	s.state.touch(s.now(), id, fieldMetadata)
	return ok(member{"filter", f.object()})
}

// readSavedFilter reads the body that makes or replaces a filter.
func (c *call) readSavedFilter() (*savedFilter, *answer) {
	body, refusal := c.readJSON()
	if refusal != nil {
		return nil, refusal
	}
	f := &savedFilter{name: strings.TrimSpace(body.text(c, "name")), description: body.text(c, "description")}
	switch {
	case f.name == "":
		c.check.missing("name", "1 to 100 characters.")
	case utf8.RuneCountInString(f.name) > filterNameMost:
		c.check.invalid("name", "At most 100 characters.")
	}
	if utf8.RuneCountInString(f.description) > filterDescription {
		c.check.invalid("description", "At most 500 characters.")
	}
	var usable bool
	f.raw, _ = body[paramFilters].([]any)
	if f.clauses, usable = readClauses(f.raw); !usable {
		c.check.invalid(paramFilters, "1 to 5 conditions of field, operator and value.")
	}
	if body.has("projection") {
		f.projection = body.texts(c, "projection", factsMost)
	}
	return f, c.check.refusal()
}

// filterOfPath finds the saved filter of a call.
func (s *Server) filterOfPath(c *call, role Role, needed mode) (*savedFilter, *answer) {
	workspace, refusal := s.metadataOf(c, role, needed)
	if refusal != nil {
		return nil, refusal
	}
	id := plain(c.segment("filter_id"))
	if !isOpaque(id) {
		c.check.mistyped("filter_id", "opaque_id")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return nil, refusal
	}
	for _, f := range s.state.metadata.filters {
		if f != nil && f.id == id && f.workspace == workspace {
			return f, nil
		}
	}
	return nil, noSuch(codeNoFilter, "saved filter")
}

func (s *Server) getFilter(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, refusal := s.filterOfPath(c, Guest, read)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"filter", f.object()})
}

// updateFilter replaces a saved filter. What the body leaves out is cleared.
func (s *Server) updateFilter(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, refusal := s.filterOfPath(c, Member, write)
	if refusal != nil {
		return *refusal
	}
	sent, refusal := c.readSavedFilter()
	if refusal != nil {
		return *refusal
	}
	f.name, f.description, f.clauses, f.raw, f.projection = sent.name, sent.description, sent.clauses, sent.raw, sent.projection
	f.updated = c.now
	s.state.touch(s.now(), f.workspace, fieldMetadata)
	return ok(member{"filter", f.object()})
}

// deleteFilter deletes a saved filter. One that is gone already is deleted as well.
func (s *Server) deleteFilter(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, refusal := s.filterOfPath(c, Member, write)
	switch {
	case refusal != nil && refusal.failure.code != codeNoFilter:
		return *refusal
	case refusal != nil:
		return ok()
	}
	filters := s.state.metadata.filters
	filters[slices.Index(filters, f)] = nil // its place stays taken, so that cursors keep theirs
	s.state.touch(s.now(), f.workspace, fieldMetadata)
	return ok()
}

// filterNodes lists the files and notes that a saved filter finds.
func (s *Server) filterNodes(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, refusal := s.filterOfPath(c, Guest, read)
	if refusal != nil {
		return *refusal
	}
	p := s.flatPage(c, c.pageSize())
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	found := s.state.filter(f.workspace, f.clauses)
	return ok(found.mark(s.listNodes(c, f.workspace, p, found.passes))...)
}

// jsonTexts reads a list of strings that stands as JSON in a form.
func (c *call) jsonTexts(name string, most int) []string {
	text, sent := c.field(name)
	if !sent {
		return nil
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		c.check.mistyped(name, "array of string")
		return nil
	}
	if len(list) == 0 || len(list) > most {
		c.check.invalid(name, cmp.Or(map[bool]string{true: "Not empty."}[len(list) == 0], "Too many."))
	}
	return list
}
