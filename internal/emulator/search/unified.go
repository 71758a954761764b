package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/comments"
	"github.com/fastio-go/fastio/internal/emulator/metadata"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
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

// readBucket reads which page of a bucket a call asks for.
func readBucket(c *wire.Call, name string) bucket {
	return bucket{
		name:   name,
		limit:  c.Integer(name+"_limit", bucketDefault, 1, bucketMost),
		offset: c.Integer(name+"_offset", 0, 0, math.MaxInt32),
	}
}

// fill renders a bucket. One that failed is empty, and no worry of the others.
func (h *Handlers) fill(b bucket, rows []wire.Object) wire.Object {
	status := "ok"
	if slices.Contains(h.Options.Search.DegradedBuckets, b.name) {
		status, rows = "degraded", nil
	}
	page := append([]wire.Object{}, cut(rows, b.limit, b.offset)...)
	total, relation := len(rows), "eq"
	if b.name == "metadata" && total > countedMost {
		total, relation = countedMost, "gte"
	}
	return wire.Object{
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
func (h *Handlers) searchAll(c *wire.Call) (wire.Object, error) {
	in, err := h.searchable(c, codeOrphanUnified)
	if err != nil {
		return nil, err
	}
	q := readFileQuery(c, metadata.QueryMost)
	byFiles, byComments, byFacts := readBucket(c, "files"), readBucket(c, "comments"), readBucket(c, "metadata")
	facts := c.Value("details") == "true" && h.KindOf(in.Profile) == wire.KindWorkspace
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	f := h.findFiles(in, &q)
	rows := []wire.Object{}
	for _, match := range f.hits {
		row := wire.Object{{"node_id", wire.Hyphenated(match.node.ID)}, {"name", match.node.Name}}
		row = append(row, wire.Member{"relevance_score", match.relevance},
			wire.Member{"updated", wire.Stamp(match.node.Updated.Unix())})
		if facts && match.node.HasContent() {
			row = append(row, wire.Member{"metadata_facts", h.metadata.Facts(match.node, c.Out.Level)})
		}
		rows = append(rows, row)
	}
	filled := h.fill(byFiles, rows)
	if q.named {
		filled = append(filled, wire.Member{"search_metadata", f.metadata(&q)})
	}
	buckets := wire.Object{{byFiles.name, filled}}
	if h.KindOf(in.Profile) == wire.KindWorkspace && h.Lacks(metadata.FeatureMetadata) == nil {
		buckets = append(buckets, wire.Member{byFacts.name, h.fill(byFacts, h.findFacts(c, in, q.text))})
	}
	if share := h.Shares[in.Profile]; share == nil || !share.Value.NoComments {
		buckets = append(buckets, wire.Member{byComments.name, h.fill(byComments, h.findComments(in, q.text))})
	}
	return wire.Object{{"buckets", buckets}}, nil
}

// findFacts ranks what has facts with the words.
func (h *Handlers) findFacts(c *wire.Call, in world.Store, text string) []wire.Object {
	rows := []wire.Object{}
	best := 0.0
	for _, match := range h.metadata.FactHits(c, in.Profile, wire.InWords(text)) {
		if h.Gone(match.Node) {
			continue
		}
		best = max(best, match.Score)
		rows = append(rows, wire.Object{
			{"node_id", wire.Hyphenated(match.Node.ID)},
			{"name", match.Node.Name},
			{"relevance_score", match.Score / best},
			{"updated", wire.Stamp(match.Node.Updated.Unix())},
		})
	}
	return rows
}

// findComments ranks the comments of a profile that the caller sees, those of its File Shares as well.
func (h *Handlers) findComments(in world.Store, text string) []wire.Object {
	type scored struct {
		*comments.Comment
		score float64
	}
	var all []scored
	for _, cm := range h.comments.Comments.List {
		if cm.Profile == in.Profile && !cm.IsDeleted() && h.comments.Sees(in.User, cm) {
			all = append(all, scored{Comment: cm})
		}
	}
	best := 0.0
	for i, score := range newCorpus(len(all), func(i int) string { return all[i].Body }).rate(text) {
		all[i].score = score
		best = max(best, score)
	}
	all = slices.DeleteFunc(all, func(r scored) bool { return r.score == 0 })
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	rows := make([]wire.Object, 0, len(all))
	for _, r := range all {
		rows = append(rows, wire.Object{
			{"comment_id", wire.Hyphenated(r.ID)},
			{"snippet", trim(r.Body, wire.Terse)},
			{"relevance_score", r.score / best},
			{"updated", wire.Stamp(r.Updated.Unix())},
		})
	}
	return rows
}
