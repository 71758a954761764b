package search

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/metadata"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
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
	scope  *searchScope         // nil is everywhere
	filter *metadata.NodeFilter // nil lets everything pass
}

// Routes is the part of the table that is about search.
func (h *Handlers) Routes() []*wire.Route {
	const workspace, share = "/current/workspace/{workspace_id}/", "/current/share/{share_id}/"
	return []*wire.Route{
		wire.Get("search.Storage", workspace+"storage/search/", h.searchStorage, wire.Query(storageQuery)),
		wire.Get("search.Storage", share+"storage/search/", h.searchStorage, wire.Query(storageQuery)),
		wire.Get("search.Unified", workspace+"search/", h.searchAll, wire.Query(unifiedQuery)),
		wire.Get("search.Unified", share+"search/", h.searchAll, wire.Query(unifiedQuery)),
	}
}

// searchable finds the storage of a search. A share without storage of its own is not searched.
func (h *Handlers) searchable(c *wire.Call, orphanCode int64) (world.Store, error) {
	id, err := h.storage.ScopeOfPath(c)
	if err != nil {
		return world.Store{}, err
	}
	in := h.StoreOf(id, c)
	switch {
	case h.Orphaned(in):
		return in, wire.NoSuch(orphanCode, "folder behind the share any more")
	case in.Folder != "":
		return in, wire.Refuse(http.StatusNotFound, codeFolderBacked,
			"The share shows a folder of its workspace. Search there.")
	}
	return in, nil
}

// readFileQuery reads what a search looks for.
func readFileQuery(c *wire.Call, most int) fileQuery {
	q := fileQuery{
		text:  c.Value("search"),
		in:    cmp.Or(strings.ToLower(c.Value("search_in")), inBoth),
		named: c.Value("search_in") != "",
		match: cmp.Or(c.Value("name_match"), matchAuto),
		cased: c.Boolean("case_sensitive"),
	}
	if !slices.Contains([]string{inNames, inContent, inBoth}, q.in) {
		c.Check.Invalid("search_in", "filename, content or both.")
	}
	if q.in == inContent {
		q.match = matchAuto
	}
	switch n := utf8.RuneCountInString(q.text); {
	case strings.TrimSpace(q.text) == "":
		c.Check.Missing("search", "What to search for.")
	case !utf8.ValidString(q.text):
		c.Check.Invalid("search", "UTF-8.")
	case q.match != matchAuto && n > patternMost:
		c.Check.Add("search", "invalid", "At most 256 characters.", codePatternTooLong)
	case n > most:
		c.Check.Invalid("search", "The text is too long.")
	case q.match == matchGlob && strings.Trim(q.text, "*?") == "":
		c.Check.Invalid("search", "Not only wildcards.")
	}
	if !slices.Contains([]string{matchAuto, matchExact, matchPrefix, matchContains, matchGlob}, q.match) {
		c.Check.Invalid("name_match", "auto, exact, prefix, contains or glob.")
	}
	return q
}

// Query parameters of the two searches.
const (
	fileQueryParams = "search search_in name_match case_sensitive details"
	storageQuery    = fileQueryParams + " limit offset files_scope folders_scope filters category"
	unifiedQuery    = fileQueryParams + " files_limit files_offset comments_limit comments_offset " +
		"metadata_limit metadata_offset"
)

// searchStorage answers with the files of a storage that fit best.
func (h *Handlers) searchStorage(c *wire.Call) (wire.Object, error) {
	in, err := h.searchable(c, storage.CodeOrphanSearch)
	if err != nil {
		return nil, err
	}
	q := readFileQuery(c, storageQueryMost)
	detailed := c.Value("details") == "true"
	fallback := hitsDefault
	if detailed {
		fallback = detailsDefault
	}
	limit := c.Integer("limit", fallback, 1, hitsMost)
	offset := c.Integer("offset", 0, 0, math.MaxInt32)
	if q.in != inNames {
		q.scope = h.scopeOf(c, in)
	}
	q.filter = h.filterOf(c, in)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	found := h.findFiles(in, &q)
	files := wire.Object{}
	for _, match := range cut(found.hits, limit, offset) {
		row := found.entry(in, match, c.Out.Level)
		if detailed {
			row = append(row, wire.Member{"node", h.storage.NodeObject(in, match.node, c.Out.Level)})
		}
		files = append(files, wire.Member{match.node.ID, row})
	}
	total := len(found.hits)
	payload := wire.Object{
		{"response_code", http.StatusOK},
		{"files", files},
		{"pagination", wire.Object{
			{"total", total},
			{"limit", limit},
			{"offset", offset},
			{"has_more", offset+len(files) < total},
		}},
	}
	if q.named {
		payload = append(payload, wire.Member{"search_metadata", found.metadata(&q)})
	}
	return q.filter.Mark(payload), nil
}

// filterOf reads the conditions on the metadata of what is searched for. Shares ignore them.
func (h *Handlers) filterOf(c *wire.Call, in world.Store) *metadata.NodeFilter {
	if h.KindOf(in.Profile) != wire.KindWorkspace {
		return nil
	}
	if c.Value(metadata.ParamFilters) != "" && c.Value("folders_scope") != "" {
		c.Check.Invalid(metadata.ParamFilters, "Not with folders_scope.")
	}
	return h.metadata.ReadFilter(c, in.Profile, metadata.ParamFilters)
}

// cut is one page of rows.
func cut[T any](rows []T, limit, offset int) []T {
	first := min(offset, len(rows))
	return rows[first:min(first+limit, len(rows))]
}

// entry renders a hit. What only the ranking by meaning knows is left out where it did not run.
func (f *found) entry(in world.Store, h *hit, lv wire.Level) wire.Object {
	n := h.node
	o := wire.Object{{"name", n.Name}, {"parent_id", storage.Parent(in, n)}, {"type", n.Kind}}
	if !f.hybrid {
		return append(o, wire.Member{"content_snippet", nil}, wire.Member{"match_source", "keyword"})
	}
	o = append(o, wire.Member{"relevance_score", h.relevance})
	source, raw := h.source()
	o = append(o, wire.Member{"raw_score", raw}, wire.Member{"score_source", source})
	var snippet any
	if h.excerpt != nil {
		snippet = trim(h.excerpt.text, lv)
	}
	o = append(o, wire.Member{"content_snippet", snippet}, wire.Member{"match_source", h.matched()})
	if n.HasContent() {
		o = append(o, wire.Member{"mimetype", n.MimeType})
	}
	return append(o, h.whereabouts()...)
}

// whereabouts tell where in a file its best excerpt is.
func (h *hit) whereabouts() wire.Object {
	const seconds = 10 // of speech in a paragraph
	switch p := h.excerpt; {
	case p == nil:
		return nil
	case strings.HasPrefix(h.node.MimeType, "audio/"), strings.HasPrefix(h.node.MimeType, "video/"):
		return wire.Object{{
			"media_segment",
			wire.Object{{"start_seconds", p.number * seconds}, {"end_seconds", (p.number + 1) * seconds}},
		}}
	case h.node.MimeType == "application/pdf":
		return wire.Object{{"page", wire.Object{{"start_page", p.page}, {"end_page", p.page}}}}
	}
	return nil
}

// trim cuts a text for the levels below full, and shows that it did.
func trim(text string, lv wire.Level) string {
	most := len(text)
	switch lv {
	case wire.Terse:
		most = 200
	case wire.Standard:
		most = 600
	case wire.Full:
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
func (f *found) metadata(q *fileQuery) wire.Object {
	o := wire.Object{
		{"intelligence_enabled", f.intelligence},
		{"semantic_available", f.semantic},
		{"scoped", q.scope != nil && f.semantic},
	}
	if q.scope != nil && q.scope.incomplete {
		o = append(o, wire.Member{"scope_incomplete", true})
	}
	if q.in != inNames {
		o = append(o, wire.Member{"content_search_available", f.reason == ""})
		if f.reason != "" {
			o = append(o, wire.Member{"reason", f.reason})
		}
	}
	return o
}
