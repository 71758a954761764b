package emulator

import (
	"cmp"
	"math"
	"slices"
)

const (
	bucketDefault = 25
	bucketMost    = 500
	countedMost   = 50 // hits by metadata, of which more are not counted
)

// bucket is one kind of hits of a unified search, with a page of its own.
type bucket struct {
	name          string
	limit, offset int
}

// bucket reads which page of a bucket a call asks for.
func (c *call) bucket(name string) bucket {
	return bucket{
		name:   name,
		limit:  c.integer(name+"_limit", bucketDefault, 1, bucketMost),
		offset: c.integer(name+"_offset", 0, 0, math.MaxInt32),
	}
}

// fill renders a bucket. One that failed is empty, and no worry of the others.
func (s *Server) fill(b bucket, rows []object) object {
	status := "ok"
	if slices.Contains(s.o.Search.DegradedBuckets, b.name) {
		status, rows = "degraded", nil
	}
	page := append([]object{}, cut(rows, b.limit, b.offset)...)
	total, relation := len(rows), "eq"
	if b.name == "metadata" && total > countedMost {
		total, relation = countedMost, "gte"
	}
	return object{
		{"items", page},
		{"offset", b.offset},
		{"limit", b.limit},
		{"total", total},
		{"total_relation", relation},
		{"has_more", b.offset+len(page) < len(rows)},
		{"status", status},
	}
}

// searchAll answers with what fits in files and in comments.
func (s *Server) searchAll(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	in, refusal := s.searchable(c, codeOrphanUnified)
	if refusal != nil {
		return *refusal
	}
	q := c.fileQuery(queryMost)
	files, comments, metadata := c.bucket("files"), c.bucket("comments"), c.bucket("metadata")
	facts := c.value("details") == "true" && s.state.kind(in.profile) == kindWorkspace
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	f := s.findFiles(in, &q)
	rows := []object{}
	for _, h := range f.hits {
		row := object{{"node_id", hyphenated(h.node.ID)}, {"name", h.node.Name}}
		row = append(row, member{"relevance_score", h.relevance}, member{"updated", stamp(h.node.Updated.Unix())})
		if facts && h.node.hasContent() {
			row = append(row, member{"metadata_facts", s.state.metadataFacts(h.node, c.out.level)})
		}
		rows = append(rows, row)
	}
	filled := s.fill(files, rows)
	if q.named {
		filled = append(filled, member{"search_metadata", f.metadata(&q)})
	}
	buckets := object{{files.name, filled}}
	if s.state.kind(in.profile) == kindWorkspace && s.lacks(featureMetadata) == nil {
		buckets = append(buckets, member{metadata.name, s.fill(metadata, s.findFacts(c, in, q.text))})
	}
	if h := s.state.shares[in.profile]; h == nil || !h.it.NoComments {
		buckets = append(buckets, member{comments.name, s.fill(comments, s.findComments(in, q.text))})
	}
	return ok(member{"buckets", buckets})
}

// findFacts ranks what has facts with the words.
func (s *Server) findFacts(c *call, in store, text string) []object {
	rows := []object{}
	best := 0.0
	for _, h := range s.factHits(c, in.profile, inWords(text)) {
		if s.state.gone(h.node) {
			continue
		}
		best = max(best, h.score)
		rows = append(rows, object{
			{"node_id", hyphenated(h.node.ID)},
			{"name", h.node.Name},
			{"relevance_score", h.score / best},
			{"updated", stamp(h.node.Updated.Unix())},
		})
	}
	return rows
}

// findComments ranks the comments of a profile that the caller sees, those of its File Shares as well.
func (s *Server) findComments(in store, text string) []object {
	st := &s.state
	type scored struct {
		*comment
		score float64
	}
	var all []scored
	for _, cm := range st.comments.list {
		if cm.Profile == in.profile && !cm.deleted() && st.sees(in.user, cm) {
			all = append(all, scored{comment: cm})
		}
	}
	best := 0.0
	for i, score := range newCorpus(len(all), func(i int) string { return all[i].Body }).rate(text) {
		all[i].score = score
		best = max(best, score)
	}
	all = slices.DeleteFunc(all, func(r scored) bool { return r.score == 0 })
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	rows := make([]object, 0, len(all))
	for _, r := range all {
		rows = append(rows, object{
			{"comment_id", hyphenated(r.ID)},
			{"snippet", trim(r.Body, terse)},
			{"relevance_score", r.score / best},
			{"updated", stamp(r.updated.Unix())},
		})
	}
	return rows
}
