package emulator

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// Codes of metadata. Those below a million are published.
const (
	codeNoFilters     = 119701
	codeTooManyIDs    = 109184
	codeNotExtracted  = 150183 // neither file nor note
	codeTemplates     = 179390
	codePredicate     = 179646
	codeNodeID        = 147196
	codeNodeRoot      = 196136
	codeNodeUnknown   = 191049
	codeFieldLimit    = 199501
	codeVocabulary    = 199502
	codeMergeItself   = 199503
	codeNoFilter      = 199504
	codeFilterLimit   = 199505
	codeIntelligence  = 199506
	codeNothingToRead = 199507
)

// featureMetadata is the part of a plan that metadata belong to.
const featureMetadata = "metadata"

const fieldMetadata = "metadata" // of activity

// metadataState is what is known about the nodes of workspaces, and in which words.
type metadataState struct {
	vocabularies map[string]*vocabulary      // by workspace
	facts        map[string]map[string]*fact // by node and key of the field they are filed under
	revisions    map[string][]factRevision   // by node, oldest first
	extractions  []*extraction
	filters      []*savedFilter
	busy         int // writes refused so far because the vocabulary was in use
}

func newMetadataState() metadataState {
	return metadataState{
		vocabularies: map[string]*vocabulary{},
		facts:        map[string]map[string]*fact{},
		revisions:    map[string][]factRevision{},
	}
}

// metadataRoutes is the part of the table that is about metadata.
func (s *Server) metadataRoutes() []*route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	const workspace = "/current/workspace/{workspace_id}/"
	const fields, filters, one = workspace + "metadata/fields/", workspace + "metadata/filters/", workspace + "metadata/filters/{filter_id}/"
	const node = workspace + "storage/{node_id}/metadata/"
	return []*route{
		{op: "metadata.Fields.List", method: get, pattern: fields, query: "page_size cursor field", handle: s.listFields},
		{op: "metadata.Fields.Declare", method: post, pattern: fields, fields: "name declared_type constraints", handle: s.declareField},
		{op: opMerge, method: post, pattern: fields + "merge/", fields: "source target confirm", handle: s.mergeFields},
		{op: "metadata.Fields.MergeCandidates", method: get, pattern: fields + "merge-candidates/", query: "offset", handle: s.mergeCandidates},
		{op: "metadata.Facts.Get", method: get, pattern: node + "facts/", handle: s.readFacts},
		{op: "metadata.Facts.Set", method: post, pattern: node + "facts/", fields: "facts template_id", handle: s.writeFacts},
		{op: "metadata.Facts.Delete", method: del, pattern: node, query: "keys", handle: s.deleteFacts},
		{op: "metadata.Eligible", method: get, pattern: workspace + "metadata/eligible/", query: "page_size cursor mimetype extension parent_id category", handle: s.eligible},
		{op: "metadata.Details", method: get, pattern: node + "details/", handle: s.metadataDetails},
		{op: "metadata.Versions", method: get, pattern: node + "versions/", handle: s.metadataVersions},
		{op: "metadata.Extract", method: post, pattern: node + "extract/", fields: "fields template_id", handle: s.extract},
		{op: "metadata.ExtractAll", method: post, pattern: node + "extract-all/", handle: s.extractAll},
		{op: "metadata.Jobs", method: get, pattern: workspace + "jobs/status/", handle: s.jobs},
		{op: "metadata.Filters.List", method: get, pattern: filters, query: "page_size cursor", handle: s.listFilters},
		{op: "metadata.Filters.Create", method: post, pattern: filters, fields: "name description filters projection", handle: s.createFilter},
		{op: "metadata.Filters.Get", method: get, pattern: one, handle: s.getFilter},
		{op: "metadata.Filters.Update", method: put, pattern: one, fields: "name description filters projection", handle: s.updateFilter},
		{op: "metadata.Filters.Delete", method: del, pattern: one, handle: s.deleteFilter},
		{op: "metadata.Filters.Nodes", method: get, pattern: one + "nodes/", query: "page_size cursor", handle: s.filterNodes},
		{op: "search.Metadata", method: get, pattern: workspace + "metadata/search/", query: "q limit offset", handle: s.searchMetadata},
		{op: "search.Compound", method: post, pattern: workspace + "metadata/compound-search/", fields: "filters content_query limit", handle: s.searchCompound},
	}
}

// metadataOf finds the workspace of a call. The caller must have the role in it, the credential the mode on it, and the
// plan the feature.
func (s *Server) metadataOf(c *call, role Role, needed mode) (string, *answer) {
	id, refusal := s.workspaceOfPath(c)
	if refusal != nil {
		return "", refusal
	}
	st := &s.state
	switch reach := st.covers(c.key, id); {
	case needed == admin && reach < admin:
		a := because(http.StatusForbidden, codeScopeAdmin, "scope_admin_required",
			"The credential must be able to administer this workspace.", member{"credential_type", c.key.typeName()})
		return "", &a
	case reach < needed:
		return "", c.key.refuseWrite()
	case rank(st.role(id, c.key.User)) < rank(role):
		a := refuse(http.StatusUnauthorized, codeEntity, "Your role in this workspace does not allow this.")
		return "", &a
	}
	return id, s.lacks(featureMetadata)
}

// vocabularyBusy refuses as many writes of vocabulary and facts as the options say.
func (s *Server) vocabularyBusy() *answer {
	if s.state.metadata.busy >= s.o.Metadata.VocabularyBusy {
		return nil
	}
	s.state.metadata.busy++
	a := refuse(http.StatusServiceUnavailable, codeVocabulary, "Temporarily Unavailable: the vocabulary is in use.")
	return &a
}

// metadataNode finds the workspace of a path and the file or note in it, for who may do as much there.
func (s *Server) metadataNode(c *call, role Role, needed mode) (workspaceID string, n *node, refusal *answer) {
	if workspaceID, refusal = s.metadataOf(c, role, needed); refusal != nil {
		return "", nil, refusal
	}
	if refusal = c.check.refusal(); refusal != nil {
		return "", nil, refusal
	}
	n, refusal = s.nodeWithFacts(c, workspaceID)
	return workspaceID, n, refusal
}

// nodeWithFacts finds the file or note of a call, which may be in the trash.
func (s *Server) nodeWithFacts(c *call, workspaceID string) (*node, *answer) {
	id := plain(c.segment("node_id"))
	if !isOpaque(id) {
		c.check.mistyped("node_id", "opaque_id")
		return nil, c.check.refusal()
	}
	n := s.state.nodeOrTrash(workspaceID, id)
	switch {
	case n == nil:
		return nil, noSuch(codeNotFound, "node")
	case !n.hasContent():
		a := refuse(http.StatusNotAcceptable, codeNotExtracted, "Only files and notes have metadata.")
		return nil, &a
	}
	return n, nil
}

// flatPage is a page of a listing whose members stand at the root of the answer.
type flatPage struct {
	size    int
	binding string
	start   uint64
}

// flatPage reads the cursor of a call. It belongs to the caller, the path and what the call asks for.
func (s *Server) flatPage(c *call, size int, params ...string) flatPage {
	p := flatPage{size: size}
	p.binding = fmt.Sprint("flat ", s.state.cursors, " ", c.key.User, " ", c.r.URL.Path)
	for _, name := range params {
		p.binding += fmt.Sprintf(" %s=%q", name, c.value(name))
	}
	if _, given := c.query["cursor"]; given {
		at, opened := s.openCursor(c.value("cursor"), p.binding)
		if !opened {
			c.check.invalid("cursor", "Not a cursor of this listing. Leave it out for the first page.")
		}
		p.start = at.key
	}
	return p
}

// members lays a page out. Rows are walked from the start of the page, with their places in the listing; they end when
// yield says so.
func (s *Server) members(p flatPage, rows func(yield func(at uint64, row object) bool)) object {
	items, cursor := []object{}, any(nil)
	rows(func(at uint64, row object) bool {
		if len(items) == p.size {
			cursor = s.cursor(position{key: at}, p.binding)
			return false
		}
		items = append(items, row)
		return true
	})
	return object{
		{"count", len(items)},
		{"page_size", p.size},
		{"cursor", cursor},
		{"has_more", cursor != nil},
		{"items", items},
	}
}

// pageSize reads a page size that is cut to its bounds and then snapped to one of three.
func (c *call) pageSize() int {
	const few, some, many = 25, 100, 250
	switch n := c.clamped("page_size", some, many); {
	case n <= 62:
		return few
	case n < 176:
		return some
	default:
		return many
	}
}

// clamped reads a number that is cut to its bounds instead of refused.
func (c *call) clamped(name string, fallback, most int) int {
	const unbounded = 1<<31 - 1
	return max(1, min(c.integer(name, fallback, -unbounded, unbounded), most))
}

// nameOf reads the name of a field from a form. It is as long as the sender made it.
func (k *check) nameOf(param, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		k.missing(param, "1 to 64 characters.")
	case utf8.RuneCountInString(name) > fieldNameMost:
		k.invalid(param, "At most 64 characters.")
	}
}

// isoStamp is the stored form of a moment in a fact.
func isoStamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
