package emulator

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// Codes of search. Those that begin with 1010 are the emulator's own.
const (
	codeFolderBacked   = 139420
	codeOrphanUnified  = 142794
	codePatternTooLong = 144711
)

const (
	hitsMost         = 500
	hitsDefault      = 100
	detailsDefault   = 10
	patternMost      = 256
	storageQueryMost = 1000
	examinedMost     = 1000
)

// Where a search looks.
const (
	inNames   = "filename"
	inContent = "content"
	inBoth    = "both"
)

// fileQuery is what is searched for in a storage, with every parameter read.
type fileQuery struct {
	text   string
	in     string // filename, content or both
	named  bool   // the caller said where
	match  string // how names are compared
	cased  bool
	scope  *searchScope // nil is everywhere
	filter *nodeFilter  // nil lets everything pass
}

// searchRoutes is the part of the table that is about search.
func (s *Server) searchRoutes() []*route {
	const get = "GET"
	const workspace, share = "/current/workspace/{workspace_id}/", "/current/share/{share_id}/"
	return []*route{
		{op: "search.Storage", method: get, pattern: workspace + "storage/search/", query: storageQuery, handle: s.searchStorage},
		{op: "search.Storage", method: get, pattern: share + "storage/search/", query: storageQuery, handle: s.searchStorage},
		{op: "search.Unified", method: get, pattern: workspace + "search/", query: unifiedQuery, handle: s.searchAll},
		{op: "search.Unified", method: get, pattern: share + "search/", query: unifiedQuery, handle: s.searchAll},
	}
}

// searchable finds the storage of a search. A share without storage of its own is not searched.
func (s *Server) searchable(c *call, orphanCode int64) (store, *answer) {
	st := &s.state
	id, refusal := s.scopeOfPath(c)
	if refusal != nil {
		return store{}, refusal
	}
	in := st.storeOf(id, c)
	switch {
	case st.orphaned(in):
		return in, noSuch(orphanCode, "folder behind the share any more")
	case in.folder != "":
		a := refuse(http.StatusNotFound, codeFolderBacked, "The share shows a folder of its workspace. Search there.")
		return in, &a
	}
	return in, nil
}

// fileQuery reads what a search looks for.
func (c *call) fileQuery(most int) fileQuery {
	q := fileQuery{
		text:  c.value("search"),
		in:    cmp.Or(strings.ToLower(c.value("search_in")), inBoth),
		named: c.value("search_in") != "",
		match: cmp.Or(c.value("name_match"), matchAuto),
		cased: c.boolean("case_sensitive"),
	}
	if !slices.Contains([]string{inNames, inContent, inBoth}, q.in) {
		c.check.invalid("search_in", "filename, content or both.")
	}
	if q.in == inContent {
		q.match = matchAuto
	}
	switch n := utf8.RuneCountInString(q.text); {
	case strings.TrimSpace(q.text) == "":
		c.check.missing("search", "What to search for.")
	case !utf8.ValidString(q.text):
		c.check.invalid("search", "UTF-8.")
	case q.match != matchAuto && n > patternMost:
		c.check.add("search", "invalid", "At most 256 characters.", codePatternTooLong)
	case n > most:
		c.check.invalid("search", "The text is too long.")
	case q.match == matchGlob && strings.Trim(q.text, "*?") == "":
		c.check.invalid("search", "Not only wildcards.")
	}
	if !slices.Contains([]string{matchAuto, matchExact, matchPrefix, matchContains, matchGlob}, q.match) {
		c.check.invalid("name_match", "auto, exact, prefix, contains or glob.")
	}
	return q
}

// Query parameters of the two searches.
const (
	fileQueryParams = "search search_in name_match case_sensitive details"
	storageQuery    = fileQueryParams + " limit offset files_scope folders_scope filters category"
	unifiedQuery    = fileQueryParams + " files_limit files_offset comments_limit comments_offset metadata_limit metadata_offset"
)

// searchStorage answers with the files of a storage that fit best.
func (s *Server) searchStorage(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	in, refusal := s.searchable(c, codeOrphanSearch)
	if refusal != nil {
		return *refusal
	}
	q := c.fileQuery(storageQueryMost)
	detailed := c.value("details") == "true"
	fallback := hitsDefault
	if detailed {
		fallback = detailsDefault
	}
	limit := c.integer("limit", fallback, 1, hitsMost)
	offset := c.integer("offset", 0, 0, math.MaxInt32)
	if q.in != inNames {
		q.scope = s.scopeOf(c, in)
	}
	q.filter = s.filterOf(c, in)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	found := s.findFiles(in, &q)
	files := object{}
	for _, h := range cut(found.hits, limit, offset) {
		row := found.entry(in, h, c.out.level)
		if detailed {
			row = append(row, member{"node", s.nodeObject(in, h.node, c.out.level)})
		}
		files = append(files, member{h.node.ID, row})
	}
	total := len(found.hits)
	payload := object{
		{"response_code", http.StatusOK},
		{"files", files},
		{"pagination", object{
			{"total", total},
			{"limit", limit},
			{"offset", offset},
			{"has_more", offset+len(files) < total},
		}},
	}
	if q.named {
		payload = append(payload, member{"search_metadata", found.metadata(&q)})
	}
	return ok(q.filter.mark(payload)...)
}

// filterOf reads the conditions on the metadata of what is searched for. Shares ignore them.
func (s *Server) filterOf(c *call, in store) *nodeFilter {
	if s.state.kind(in.profile) != kindWorkspace {
		return nil
	}
	if c.value(paramFilters) != "" && c.value("folders_scope") != "" {
		c.check.invalid(paramFilters, "Not with folders_scope.")
	}
	return s.readFilter(c, in.profile, paramFilters)
}

// cut is one page of rows.
func cut[T any](rows []T, limit, offset int) []T {
	first := min(offset, len(rows))
	return rows[first:min(first+limit, len(rows))]
}

// entry renders a hit. What only the ranking by meaning knows is left out where it did not run.
func (f *found) entry(in store, h *hit, lv level) object {
	n := h.node
	o := object{{"name", n.Name}, {"parent_id", in.parent(n)}, {"type", n.Kind}}
	if !f.hybrid {
		return append(o, member{"content_snippet", nil}, member{"match_source", "keyword"})
	}
	o = append(o, member{"relevance_score", h.relevance})
	source, raw := h.source()
	o = append(o, member{"raw_score", raw}, member{"score_source", source})
	var snippet any
	if h.excerpt != nil {
		snippet = trim(h.excerpt.text, lv)
	}
	o = append(o, member{"content_snippet", snippet}, member{"match_source", h.matched()})
	if n.hasContent() {
		o = append(o, member{"mimetype", n.MimeType})
	}
	return append(o, h.whereabouts()...)
}

// whereabouts tell where in a file its best excerpt is.
func (h *hit) whereabouts() object {
	const seconds = 10 // of speech in a paragraph
	switch p := h.excerpt; {
	case p == nil:
		return nil
	case strings.HasPrefix(h.node.MimeType, "audio/"), strings.HasPrefix(h.node.MimeType, "video/"):
		return object{{"media_segment", object{{"start_seconds", p.number * seconds}, {"end_seconds", (p.number + 1) * seconds}}}}
	case h.node.MimeType == "application/pdf":
		return object{{"page", object{{"start_page", p.page}, {"end_page", p.page}}}}
	}
	return nil
}

// trim cuts a text for the levels below full, and shows that it did.
func trim(text string, lv level) string {
	most := len(text)
	switch lv {
	case terse:
		most = 200
	case standard:
		most = 600
	case full:
	}
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// metadata tells what a search could do.
func (f *found) metadata(q *fileQuery) object {
	o := object{
		{"intelligence_enabled", f.intelligence},
		{"semantic_available", f.semantic},
		{"scoped", q.scope != nil && f.semantic},
	}
	if q.scope != nil && q.scope.incomplete {
		o = append(o, member{"scope_incomplete", true})
	}
	if q.in != inNames {
		o = append(o, member{"content_search_available", f.reason == ""})
		if f.reason != "" {
			o = append(o, member{"reason", f.reason})
		}
	}
	return o
}
