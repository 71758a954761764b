// Package search emulates the search for files, facts and comments.
package search

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/comments"
	"github.com/fastio-go/fastio/internal/emulator/metadata"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	comments *comments.Handlers
	metadata *metadata.Handlers
	storage  *storage.Handlers
}

// New returns the handlers of a world.
func New(w *world.World, c *comments.Handlers, m *metadata.Handlers, s *storage.Handlers) *Handlers {
	return &Handlers{w: w, comments: c, metadata: m, storage: s}
}

// Codes of search.
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

// Targets of a search.
const (
	inNames   = "filename"
	inContent = "content"
	inBoth    = "both"
)

// fileQuery is a parsed search for files.
type fileQuery struct {
	text        string
	in          string // filename, content or both
	targetGiven bool   // the caller has sent search_in
	match       string // how names are compared
	cased       bool
	scope       *searchScope         // nil is everywhere
	filter      *metadata.NodeFilter // nil lets everything pass
}

// Routes returns the routes of search.
func (h *Handlers) Routes() []*wire.Route {
	const workspace, share = "/current/workspace/{workspace_id}/", "/current/share/{share_id}/"
	return []*wire.Route{
		wire.Get("search.Files", workspace+"storage/search/",
			wire.With(h.storageToSearch(storage.CodeOrphaned), h.searchStorage), wire.Query(storageQuery)),
		wire.Get("search.Files", share+"storage/search/",
			wire.With(h.storageToSearch(storage.CodeOrphaned), h.searchStorage), wire.Query(storageQuery)),
		wire.Get("search.Unified", workspace+"search/", wire.With(h.storageToSearch(codeOrphanUnified), h.searchAll),
			wire.Query(unifiedQuery)),
		wire.Get("search.Unified", share+"search/", wire.With(h.storageToSearch(codeOrphanUnified), h.searchAll),
			wire.Query(unifiedQuery)),
	}
}

// storageToSearch returns a function that finds the storage of a search, that of the
// workspace or share in the path. It refuses a share that shows a folder of a
// workspace, with orphanCode if that folder is deleted.
func (h *Handlers) storageToSearch(orphanCode int64) func(*wire.Call) (world.Store, error) {
	return func(c *wire.Call) (world.Store, error) {
		id, err := h.storage.ScopeOfPath(c)
		if err != nil {
			return world.Store{}, err
		}
		store := h.w.StoreOf(id, c)
		switch {
		case h.w.Orphaned(store):
			return store, wire.NoSuch(orphanCode, "folder behind the share any more")
		case store.Folder != "":
			return store, wire.Refuse(http.StatusNotFound, codeFolderBacked,
				"The share shows a folder of its workspace. Search there.")
		}
		return store, nil
	}
}

// readFileQuery reads the parameters of a search for files, whose text has at most
// textMost characters. A search in contents has no name patterns.
func readFileQuery(c *wire.Call, textMost int) fileQuery {
	q := fileQuery{
		text:        c.Value("search"),
		in:          cmp.Or(strings.ToLower(c.Value("search_in")), inBoth),
		targetGiven: c.Value("search_in") != "",
		match:       cmp.Or(c.Value("name_match"), matchAuto),
		cased:       c.Boolean("case_sensitive"),
	}
	c.Check.InvalidIf(!slices.Contains([]string{inNames, inContent, inBoth}, q.in),
		"search_in", "filename, content or both.")
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
	case n > textMost:
		c.Check.Invalid("search", "The text is too long.")
	case q.match == matchGlob && strings.Trim(q.text, "*?") == "":
		c.Check.Invalid("search", "Not only wildcards.")
	}
	c.Check.InvalidIf(!slices.Contains([]string{matchAuto, matchExact, matchPrefix, matchContains, matchGlob}, q.match),
		"name_match", "auto, exact, prefix, contains or glob.")
	return q
}

// Query parameters of the two searches.
const (
	fileQueryParams = "search search_in name_match case_sensitive details"
	storageQuery    = fileQueryParams + " limit offset files_scope folders_scope filters category"
	unifiedQuery    = fileQueryParams + " files_limit files_offset comments_limit comments_offset " +
		"metadata_limit metadata_offset"
)

// searchStorage returns a page of the files that match a search by name, content or both,
// by their ids; with details=true, each has its node. The page is smaller by default then.
func (h *Handlers) searchStorage(c *wire.Call, store world.Store) (wire.Object, error) {
	q := readFileQuery(c, storageQueryMost)
	detailed := c.Value("details") == "true"
	fallback := hitsDefault
	if detailed {
		fallback = detailsDefault
	}
	page := c.Page(fallback, hitsMost)
	if q.in != inNames {
		q.scope = h.scopeOf(c, store)
	}
	q.filter = h.filterOf(c, store)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	found := h.findFiles(store, &q)
	files := wire.Object{}
	for _, match := range wire.PageOf(found.hits, page) {
		row := found.renderHit(store, match, c.Out.Level)
		row = row.With(detailed, "node", h.storage.NodeObject(store, match.node, c.Out.Level))
		files = append(files, wire.Member{wire.Hyphenated(match.node.ID), row})
	}
	payload := wire.Object{
		{"response_code", http.StatusOK},
		{"files", files},
		{"pagination", page.Pagination(len(found.hits))},
	}
	// As on the platform, a caller who chooses what to search in is sent what was searched.
	payload = payload.With(q.targetGiven, "search_metadata", found.metadata(&q))
	return q.filter.Report(payload), nil
}

// filterOf returns the metadata filter of a search, nil without one. Shares have no
// metadata and ignore it.
func (h *Handlers) filterOf(c *wire.Call, store world.Store) *metadata.NodeFilter {
	if h.w.KindOf(store.Profile) != wire.KindWorkspace {
		return nil
	}
	c.Check.InvalidIf(c.Value(metadata.ParamFilters) != "" && c.Value("folders_scope") != "",
		metadata.ParamFilters, "Not with folders_scope.")
	return h.metadata.ReadFilter(c, store.Profile, metadata.ParamFilters)
}

// renderHit renders a hit. If the search was by words only, it has no scores, no media
// type, no place in the file, and null as the snippet.
func (f *found) renderHit(store world.Store, h *hit, lv wire.Level) wire.Object {
	n := h.node
	o := wire.Object{
		{"name", n.Name}, {"parent_id", storage.Parent(store, n)}, {"type", n.Kind}, {"best_chunk", h.bestChunk(lv)},
	}
	if !f.hybrid {
		return append(o, wire.Member{"content_snippet", nil}, wire.Member{"match_source", "keyword"})
	}
	o = append(o, wire.Member{"relevance_score", h.relevance})
	source, raw := h.scoreSource()
	o = append(o, wire.Member{"raw_score", raw}, wire.Member{"score_source", source})
	var snippet any
	if h.excerpt != nil {
		snippet = shorten(h.excerpt.Text, lv)
	}
	o = append(o, wire.Member{"content_snippet", snippet}, wire.Member{"match_source", h.matchSource()})
	o = o.With(n.HasContent(), "mimetype", n.MimeType)
	return append(o, h.whereabouts()...)
}

// bestChunk renders the part of the file from which the snippet of a hit is taken. The member
// same_as_snippet is true even if the snippet was shortened. The levels below full leave out
// the text of the part, because the snippet has its beginning.
func (h *hit) bestChunk(lv wire.Level) wire.Object {
	if h.excerpt == nil {
		return wire.Object{{"position", nil}, {"indexed_version_id", nil}, {"same_as_snippet", false}, {"text", nil}}
	}
	var text any
	if lv == wire.Full {
		text = h.excerpt.Text
	}
	return wire.Object{
		{"position", h.excerpt.Index},
		{"indexed_version_id", wire.Hyphenated(h.node.Current().ID)},
		{"same_as_snippet", true},
		{"text", text},
	}
}

// whereabouts returns where in a file the excerpt of a hit is: a page of a PDF, or a
// time of a recording.
func (h *hit) whereabouts() wire.Object {
	const seconds = 10 // of speech in a paragraph
	switch p := h.excerpt; {
	case p == nil:
		return nil
	case strings.HasPrefix(h.node.MimeType, "audio/"), strings.HasPrefix(h.node.MimeType, "video/"):
		return wire.Object{{
			"media_segment",
			wire.Object{{"start_seconds", p.Index * seconds}, {"end_seconds", (p.Index + 1) * seconds}},
		}}
	case h.node.MimeType == "application/pdf":
		return wire.Object{{"page", wire.Object{{"start_page", p.Page}, {"end_page", p.Page}}}}
	}
	return nil
}

// shorten shortens a text to the bytes that a level of detail allows, without cutting a
// character.
func shorten(text string, lv wire.Level) string {
	most := len(text)
	switch lv {
	case wire.Terse:
		most = 200
	case wire.Standard:
		most = 600
	case wire.Full: // all of it
	}
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// metadata renders which parts of a search were done, and why contents were not searched.
func (f *found) metadata(q *fileQuery) wire.Object {
	o := wire.Object{
		{"intelligence_enabled", f.intelligence},
		{"semantic_available", f.semantic},
		{"scoped", q.scope != nil && f.semantic},
	}
	o = o.With(q.scope != nil && q.scope.incomplete, "scope_incomplete", true)
	if q.in != inNames {
		o = append(o, wire.Member{"content_search_available", f.reason == ""})
		o = o.With(f.reason != "", "reason", f.reason)
	}
	return o
}

const (
	bucketDefault = 25
	bucketMost    = 500
	countedMost   = 50 // hits by metadata, of which more are not counted
)

// bucket is the page of one kind of results, of a search for several.
type bucket struct {
	wire.Page
	name string
}

// readBucket reads the page of one kind of results: "files", "comments" or "metadata".
func readBucket(c *wire.Call, name string) bucket {
	limit := c.Integer(name+"_limit", bucketDefault, 1, bucketMost)
	return bucket{wire.Page{Limit: limit, Offset: c.Integer(name+"_offset", 0, 0, math.MaxInt32)}, name}
}

// renderBucket renders the page of one kind of results (bucket). If the options make
// this kind fail, its page is empty and has the status degraded; the others are not
// affected.
func (h *Handlers) renderBucket(b bucket, rows []wire.Object) wire.Object {
	status := "ok"
	if slices.Contains(h.w.Options.Search.DegradedBuckets, b.name) {
		status, rows = "degraded", nil
	}
	page := append([]wire.Object{}, wire.PageOf(rows, b.Page)...)
	total, relation := len(rows), "eq"
	if b.name == "metadata" && total > countedMost {
		total, relation = countedMost, "gte"
	}
	return wire.Object{
		{"items", page},
		{"offset", b.Offset},
		{"limit", b.Limit},
		{"total", total},
		{"total_relation", relation},
		{"has_more", b.Offset+len(page) < len(rows)},
		{"status", status},
	}
}

// searchAll searches files, comments and facts, and returns a page of each (bucket).
// Only workspaces have facts, and some shares have no comments.
func (h *Handlers) searchAll(c *wire.Call, store world.Store) (wire.Object, error) {
	q := readFileQuery(c, metadata.QueryMost)
	filesPage, commentsPage, factsPage := readBucket(c, "files"), readBucket(c, "comments"), readBucket(c, "metadata")
	isWorkspace := h.w.KindOf(store.Profile) == wire.KindWorkspace
	filesHaveFacts := c.Value("details") == "true" && isWorkspace
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	f := h.findFiles(store, &q)
	rows := []wire.Object{}
	for _, match := range f.hits {
		row := wire.Object{
			{"node_id", wire.Hyphenated(match.node.ID)},
			{"name", match.node.Name},
			{"relevance_score", match.relevance},
			{"updated", wire.Stamp(match.node.Updated.Unix())},
		}
		row = row.With(filesHaveFacts && match.node.HasContent(), "metadata_facts", h.metadata.Facts(match.node, c.Out.Level))
		rows = append(rows, row)
	}
	files := h.renderBucket(filesPage, rows).With(q.targetGiven, "search_metadata", f.metadata(&q))
	hasFacts := isWorkspace && h.w.RefuseWithout(metadata.FeatureMetadata) == nil
	buckets := wire.Object{{filesPage.name, files}}.
		With(hasFacts, factsPage.name, h.renderBucket(factsPage, h.findFacts(c, store, q.text)))
	if share := h.w.Share(store.Profile); share == nil || !share.Value.NoComments {
		found := h.findComments(store, q.text)
		buckets = append(buckets, wire.Member{commentsPage.name, h.renderBucket(commentsPage, found)})
	}
	return wire.Object{{"buckets", buckets}}, nil
}

// findFacts returns the nodes whose facts have the words of a text, the best first.
// Scores are relative to the best one.
func (h *Handlers) findFacts(c *wire.Call, store world.Store, text string) []wire.Object {
	rows := []wire.Object{}
	best := 0.0
	for _, match := range h.metadata.FactHits(c, store.Profile, wire.InWords(text)) {
		if h.w.InTrash(match.Node) {
			continue
		}
		best = max(best, match.Score) // the score of the first hit, as they are sorted
		rows = append(rows, wire.Object{
			{"node_id", wire.Hyphenated(match.Node.ID)},
			{"name", match.Node.Name},
			{"relevance_score", match.Score / best},
			{"updated", wire.Stamp(match.Node.Updated.Unix())},
		})
	}
	return rows
}

// findComments returns the comments that the caller sees and that have words of a
// text, the best first. Scores are relative to the best one.
func (h *Handlers) findComments(store world.Store, text string) []wire.Object {
	type scored struct {
		*comments.Comment
		score float64
	}
	var all []scored
	for _, cm := range h.comments.Comments.List {
		if cm.Profile == store.Profile && !cm.IsDeleted() && h.comments.Sees(store.User, cm) {
			all = append(all, scored{Comment: cm})
		}
	}
	best := 0.0
	for i, score := range newCorpus(len(all), func(i int) string { return all[i].Body }).scoreTexts(text) {
		all[i].score = score
		best = max(best, score)
	}
	all = slices.DeleteFunc(all, func(r scored) bool { return r.score == 0 })
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return wire.Rows(all, func(r scored) wire.Object {
		return wire.Object{
			{"comment_id", wire.Hyphenated(r.ID)},
			{"snippet", shorten(r.Body, wire.Terse)},
			{"relevance_score", r.score / best},
			{"updated", wire.Stamp(r.Updated.Unix())},
		}
	})
}

const (
	scopeMost      = 100 // references: files, folders and the folders in these
	scopeDepthMost = 10
)

// searchScope limits a search by meaning to files and folders.
type searchScope struct {
	versions   map[string][]string // of files, by node
	folders    map[string]bool     // their files, without what is in folders inside
	references int
	incomplete bool // some folders are left out
}

// has reports whether a node is in the scope; nil has all nodes.
func (sc *searchScope) has(n *world.Node) bool {
	return sc == nil || sc.folders[n.Parent] || slices.Contains(sc.versions[n.ID], n.Current().ID)
}

// addUnlessFull adds a folder, if the scope does not have it yet. If the scope is full, it
// marks the scope as incomplete and returns false.
func (sc *searchScope) addUnlessFull(folder string) bool {
	if sc.folders[folder] {
		return true
	}
	if sc.references >= scopeMost || sc.incomplete {
		sc.incomplete = true
		return false
	}
	sc.references++
	sc.folders[folder] = true
	return true
}

// scopeOf returns the files and folders to which a search is limited, nil for all.
// Deleted files and folders match nothing, and are no error. By an option, the folders
// inside the named ones are left out, and the scope is marked as incomplete.
func (h *Handlers) scopeOf(c *wire.Call, store world.Store) *searchScope {
	files, folders := scopeEntries(c, "files_scope"), scopeEntries(c, "folders_scope")
	if len(files)+len(folders) == 0 {
		return nil
	}
	sc := &searchScope{versions: map[string][]string{}, folders: map[string]bool{}, references: len(files)}
	if len(files) > scopeMost {
		c.Check.Invalid("files_scope", "At most 100 files.")
		return sc
	}
	for _, e := range files {
		h.addFile(c, store, sc, e)
	}
	var level []string
	depths := map[string]int{}
	for _, e := range folders {
		if id, depth := h.folderOf(c, store, e); id != "" && sc.addUnlessFull(id) {
			level = append(level, id)
			depths[id] = max(depths[id], depth)
		}
	}
	if h.w.Options.Search.ScopeIncomplete {
		sc.incomplete = true
		return sc
	}
	h.addSubfolders(store, sc, level, depths)
	return sc
}

// scopeEntries returns the entries of the query parameter of a scope, which are
// separated by commas; the parameter may be repeated.
func scopeEntries(c *wire.Call, name string) []string {
	text := strings.Join(c.Query[name], ",")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// addFile adds a version of a file to a scope, from an entry "node:version". A deleted file
// is left out; an entry that is not valid is an error of the call.
func (h *Handlers) addFile(c *wire.Call, store world.Store, sc *searchScope, entry string) {
	id, version, paired := strings.Cut(entry, ":")
	id, version = wire.Plain(strings.TrimSpace(id)), wire.Plain(strings.TrimSpace(version))
	if !paired || !wire.IsOpaque(id) || !wire.IsOpaque(version) {
		c.Check.Invalid("files_scope", "Not node:version: "+entry)
		return
	}
	n := h.w.Node(store.Profile, id)
	if n == nil {
		return
	}
	if !n.HasContent() {
		c.Check.Invalid("files_scope", "Neither file nor note: "+entry)
		return
	}
	if _, found := n.Version(version); !found {
		c.Check.Invalid("files_scope", "The version is not one of the file: "+entry)
		return
	}
	sc.versions[id] = append(sc.versions[id], version)
}

// folderOf returns the folder and the depth (number of levels) of an entry "folder:depth". It
// returns "" for a deleted folder, and for an entry that is not valid, which is an error of the
// call.
func (h *Handlers) folderOf(c *wire.Call, store world.Store, entry string) (string, int) {
	id, levels, paired := strings.Cut(entry, ":")
	id = wire.Plain(strings.TrimSpace(id))
	depth, err := strconv.Atoi(strings.TrimSpace(levels))
	if !paired || !wire.IsOpaque(id) || err != nil || depth < 1 || depth > scopeDepthMost {
		c.Check.Invalid("folders_scope", "Not folder:depth with a depth of 1 to 10: "+entry)
		return "", 0
	}
	n := h.w.Node(store.Profile, id)
	if n == nil {
		return "", 0
	}
	if n.Kind != world.KindFolder {
		c.Check.Invalid("folders_scope", "Not a folder: "+entry)
		return "", 0
	}
	return id, depth
}

// addSubfolders adds the subfolders of the folders of a level to a scope, level by level.
// Depths has, for each folder in the scope, how many levels are in the scope: 1 for the
// folder alone, 2 with its subfolders. A caller can name a folder and one above it, so a
// folder can be reached twice. It is visited again only if it has more levels then.
func (h *Handlers) addSubfolders(store world.Store, sc *searchScope, level []string, depths map[string]int) {
	for len(level) > 0 {
		var next []string
		for _, id := range level {
			left := depths[id] - 1 // levels for its subfolders
			if left == 0 {
				continue
			}
			for _, n := range h.storage.ChildrenOf(store.Owner, id) {
				isDeepEnough := depths[n.ID] >= left // by an earlier visit
				if n.Kind != world.KindFolder || isDeepEnough {
					continue
				}
				if sc.addUnlessFull(n.ID) {
					depths[n.ID] = left
					next = append(next, n.ID)
				}
			}
		}
		level = next
	}
}
