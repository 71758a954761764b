package metadata

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// QueryMost is the length of a query, in characters.
const QueryMost = 1024

const (
	metadataResults = 100
	windowMost      = 10_000
	substringMost   = 64
	compoundResults = 25
	compoundMost    = 100
)

// FactHit is a node that a search found.
type FactHit struct {
	Node  *world.Node
	Score float64
}

// searchMetadata finds nodes by the values of their facts. The total counts what is in the trash, which is not shown.
func (h *Handlers) searchMetadata(c *wire.Call, id string) (wire.Object, error) {
	q := strings.TrimSpace(c.Value("q"))
	switch n := utf8.RuneCountInString(q); {
	case n == 0:
		c.Check.Missing("q", "1 to 1024 characters.")
	case n > QueryMost:
		c.Check.Invalid("q", "1 to 1024 characters.")
	}
	page := wire.Page{
		Limit: c.Integer("limit", metadataResults, 1, metadataResults), Offset: c.Integer("offset", 0, 0, windowMost),
	}
	c.Check.InvalidIf(page.Limit+page.Offset > windowMost,
		"offset", "Offset and limit together reach "+strconv.Itoa(windowMost)+" at most.")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	hits := h.FactHits(c, id, wire.InWords(q))
	shown := wire.Filter(wire.Cut(hits, page), func(match FactHit) bool { return !h.Gone(match.Node) })
	return wire.Object{
		{"results", wire.Rows(shown, func(match FactHit) wire.Object {
			n := match.Node
			return wire.Object{
				{"node_id", wire.Hyphenated(n.ID)}, {"score", match.Score}, {"node", h.factNode(n, c.Out.Level)},
			}
		})},
		{"pagination", page.Of(len(hits))},
	}, nil
}

// FactHits ranks the nodes whose facts hold all the words, by BM25.
func (h *Handlers) FactHits(c *wire.Call, workspaceID string, words []string) []FactHit {
	type document struct {
		node  *world.Node
		words []string
	}
	var all []document
	length := 0
	for _, id := range h.NodeList {
		n := h.Nodes[id]
		if n.Profile != workspaceID {
			continue
		}
		d := document{node: n}
		for _, f := range h.metadata.factsOf(n) {
			if f.indexed(h.Options.Metadata.Lag, c.Now) {
				d.words = append(d.words, wire.InWords(valueText(f.value))...)
			}
		}
		if len(d.words) > 0 {
			all = append(all, d)
			length += len(d.words)
		}
	}
	hits := []FactHit{}
	for _, d := range all {
		const k, b = 1.2, 0.75
		match := FactHit{Node: d.node}
		for _, word := range words {
			there := float64(timesIn(d.words, word))
			if there == 0 {
				match.Score = 0
				break
			}
			with := 0.0
			for _, other := range all {
				if timesIn(other.words, word) > 0 {
					with++
				}
			}
			rarity := math.Log(1 + (float64(len(all))-with+0.5)/(with+0.5))
			norm := k * (1 - b + b*float64(len(d.words))*float64(len(all))/float64(length))
			match.Score += rarity * there * (k + 1) / (there + norm)
		}
		if match.Score > 0 {
			hits = append(hits, match)
		}
	}
	slices.SortStableFunc(hits, func(a, b FactHit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// timesIn counts the words that a token is part of. One that is too long must be the whole word.
func timesIn(words []string, token string) int {
	found := 0
	for _, word := range words {
		if word == token || utf8.RuneCountInString(token) <= substringMost && strings.Contains(word, token) {
			found++
		}
	}
	return found
}

// searchCompound finds nodes by conditions on their facts and, with a content query, by what is in them.
func (h *Handlers) searchCompound(c *wire.Call, id string) (wire.Object, error) {
	if err := h.Lacks(world.FeatureAI); err != nil {
		return nil, err
	}
	if !h.Intelligent(id) {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeIntelligence, "Intelligence is off in this workspace.")
	}
	_ = c.ReadForm() // anything but a form has no filters
	text, _ := c.Field(ParamFilters)
	if text == "" {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeNoFilters, "Send filters in a form.")
	}
	clauses, usable := parseClauses(text)
	if !usable {
		return nil, wire.Refuse(http.StatusNotAcceptable, codePredicate, "The filters cannot be evaluated.")
	}
	query, _ := c.Field("content_query")
	c.Check.InvalidIf(utf8.RuneCountInString(query) > QueryMost, "content_query", "At most 1024 characters.")
	asked, limit := compoundLimit(c)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	return h.compound(c, id, clauses, wire.InWords(query), asked, limit)
}

// compoundLimit reads a limit that is cut, not refused, and what it was before.
func compoundLimit(c *wire.Call) (asked any, limit int) {
	text, sent := c.Field("limit")
	if !sent || text == "" {
		return nil, compoundResults
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		c.Check.Mistyped("limit", "integer")
		return nil, compoundResults
	}
	if limit = max(1, min(n, compoundMost)); limit != n {
		asked = n
	}
	return asked, limit
}

// compound answers with the nodes that meet the conditions. What is not indexed cannot be found by content, so the
// count is a lower bound then.
func (h *Handlers) compound(
	c *wire.Call, workspaceID string, clauses []clause, words []string, asked any, limit int,
) (wire.Object, error) {
	items, matched, missing := []wire.Object{}, 0, 0
	for _, n := range h.NodesOf(workspaceID) {
		if !n.HasContent() || !allHold(h, n, clauses) {
			continue
		}
		if len(words) > 0 && n.AIState != world.AIIndexed {
			missing++
			continue
		}
		inside := wire.InWords(n.Name + " " + n.Text())
		if slices.ContainsFunc(words, func(word string) bool { return timesIn(inside, word) == 0 }) {
			continue
		}
		matched++
		if len(items) < limit {
			items = append(items,
				append(wire.Object{{"node_id", wire.Hyphenated(n.ID)}}, h.factNode(n, c.Out.Level)[1:]...))
		}
	}
	relation, causes, unknown := "eq", []string{}, any(nil)
	if len(words) > 0 {
		unknown = missing
	}
	if missing > 0 {
		relation, causes = "gte", append(causes, "files_not_indexed")
	}
	scope := wire.Object{
		{"match_relation", relation}, {"causes", causes}, {"files_not_indexed", unknown}, {"match_count", matched},
	}
	if asked != nil {
		scope = append(scope, wire.Member{"limit_clamped_from", asked})
	}
	return wire.Object{{"items", items}, {"scope", scope}}, nil
}
