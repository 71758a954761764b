package emulator

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	queryMost       = 1024
	metadataResults = 100
	windowMost      = 10_000
	substringMost   = 64
	compoundResults = 25
	compoundMost    = 100
)

// factHit is a node that a search found.
type factHit struct {
	node  *node
	score float64
}

// searchMetadata finds nodes by the values of their facts. The total counts what is in the trash, which is not shown.
func (s *Server) searchMetadata(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.metadataOf(c, Guest, read)
	if refusal != nil {
		return *refusal
	}
	q := strings.TrimSpace(c.value("q"))
	switch n := utf8.RuneCountInString(q); {
	case n == 0:
		c.check.missing("q", "1 to 1024 characters.")
	case n > queryMost:
		c.check.invalid("q", "1 to 1024 characters.")
	}
	limit := c.integer("limit", metadataResults, 1, metadataResults)
	offset := c.integer("offset", 0, 0, windowMost)
	if limit+offset > windowMost {
		c.check.invalid("offset", "Offset and limit together reach "+strconv.Itoa(windowMost)+" at most.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	hits := s.factHits(c, id, inWords(q))
	last := min(offset+limit, len(hits))
	results := []object{}
	for _, h := range hits[min(offset, last):last] {
		if !s.state.gone(h.node) {
			results = append(results, object{
				{"node_id", hyphenated(h.node.ID)}, {"score", h.score}, {"node", s.state.factNode(h.node, c.out.level)},
			})
		}
	}
	return ok(
		member{"results", results},
		member{"pagination", object{{"total", len(hits)}, {"limit", limit}, {"offset", offset}, {"has_more", last < len(hits)}}},
	)
}

// inWords takes a text apart into its words, in lower case.
func inWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// factHits ranks the nodes whose facts hold all the words, by BM25.
func (s *Server) factHits(c *call, workspaceID string, words []string) []factHit {
	type document struct {
		node  *node
		words []string
	}
	st := &s.state
	var all []document
	length := 0
	for _, id := range st.nodeList {
		n := st.nodes[id]
		if n.Profile != workspaceID {
			continue
		}
		d := document{node: n}
		for _, f := range st.factsOf(n) {
			if s.indexed(f, c.now) {
				d.words = append(d.words, inWords(valueText(f.value))...)
			}
		}
		if len(d.words) > 0 {
			all = append(all, d)
			length += len(d.words)
		}
	}
	hits := []factHit{}
	for _, d := range all {
		const k, b = 1.2, 0.75
		h := factHit{node: d.node}
		for _, word := range words {
			there := float64(timesIn(d.words, word))
			if there == 0 {
				h.score = 0
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
			h.score += rarity * there * (k + 1) / (there + norm)
		}
		if h.score > 0 {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b factHit) int { return cmp.Compare(b.score, a.score) })
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
func (s *Server) searchCompound(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id, refusal := s.metadataOf(c, Guest, read)
	if refusal == nil {
		refusal = s.lacks(featureAI)
	}
	if refusal != nil {
		return *refusal
	}
	if !s.state.intelligent(id) {
		return refuse(http.StatusNotAcceptable, codeIntelligence, "Intelligence is off in this workspace.")
	}
	c.readForm() // anything but a form has no filters
	text, _ := c.field(paramFilters)
	if text == "" {
		return refuse(http.StatusNotAcceptable, codeNoFilters, "Send filters in a form.")
	}
	clauses, usable := parseClauses(text)
	if !usable {
		return refuse(http.StatusNotAcceptable, codePredicate, "The filters cannot be evaluated.")
	}
	query, _ := c.field("content_query")
	if utf8.RuneCountInString(query) > queryMost {
		c.check.invalid("content_query", "At most 1024 characters.")
	}
	asked, limit := c.compoundLimit()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	return s.compound(c, id, clauses, inWords(query), asked, limit)
}

// compoundLimit reads a limit that is cut, not refused, and what it was before.
func (c *call) compoundLimit() (asked any, limit int) {
	text, sent := c.field("limit")
	if !sent || text == "" {
		return nil, compoundResults
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		c.check.mistyped("limit", "integer")
		return nil, compoundResults
	}
	if limit = max(1, min(n, compoundMost)); limit != n {
		asked = n
	}
	return asked, limit
}

// compound answers with the nodes that meet the conditions. What is not indexed cannot be found by content, so the
// count is a lower bound then.
func (s *Server) compound(c *call, workspaceID string, clauses []clause, words []string, asked any, limit int) answer {
	st := &s.state
	items, matched, missing := []object{}, 0, 0
	for _, n := range st.nodesOf(workspaceID) {
		if !n.hasContent() || !allHold(st, n, clauses) {
			continue
		}
		if len(words) > 0 && n.AIState != aiIndexed {
			missing++
			continue
		}
		inside := inWords(n.Name + " " + st.textOf(n))
		if slices.ContainsFunc(words, func(word string) bool { return timesIn(inside, word) == 0 }) {
			continue
		}
		matched++
		if len(items) < limit {
			items = append(items, append(object{{"node_id", hyphenated(n.ID)}}, st.factNode(n, c.out.level)[1:]...))
		}
	}
	relation, causes, unknown := "eq", []string{}, any(nil)
	if len(words) > 0 {
		unknown = missing
	}
	if missing > 0 {
		relation, causes = "gte", append(causes, "files_not_indexed")
	}
	scope := object{
		{"match_relation", relation}, {"causes", causes}, {"files_not_indexed", unknown}, {"match_count", matched},
	}
	if asked != nil {
		scope = append(scope, member{"limit_clamped_from", asked})
	}
	return ok(member{"items", items}, member{"scope", scope})
}
