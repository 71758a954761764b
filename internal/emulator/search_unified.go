package emulator

import (
	"cmp"
	"math"
	"slices"
)

const (
	unifiedMost   = 1024
	bucketDefault = 25
	bucketMost    = 500
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
	if slices.Contains(s.o.DegradedBuckets, b.name) {
		status, rows = "degraded", nil
	}
	page := append([]object{}, cut(rows, b.limit, b.offset)...)
	return object{
		{"items", page},
		{"offset", b.offset},
		{"limit", b.limit},
		{"total", len(rows)},
		{"total_relation", "eq"},
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
	q := c.fileQuery(unifiedMost)
	files, comments := c.bucket("files"), c.bucket("comments")
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	f := s.findFiles(in, &q)
	rows := []object{}
	for _, h := range f.hits {
		row := object{{"node_id", hyphenated(h.node.ID)}, {"name", h.node.Name}}
		rows = append(rows, append(row, member{"relevance_score", h.relevance}, member{"updated", stamp(h.node.Updated.Unix())}))
	}
	filled := s.fill(files, rows)
	if q.named {
		filled = append(filled, member{"search_metadata", f.metadata(&q)})
	}
	buckets := object{{files.name, filled}}
	if h := s.state.shares[in.profile]; h == nil || !h.it.NoComments {
		buckets = append(buckets, member{comments.name, s.fill(comments, s.findComments(in, q.text))})
	}
	return ok(member{"buckets", buckets})
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
		if cm.ProfileID == in.profile && !cm.deleted() && st.sees(in.user, cm) {
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
