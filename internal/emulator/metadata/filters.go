package metadata

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// ParamFilters is the parameter and the member that hold filters.
const ParamFilters = "filters"

const (
	clausesMost         = 5
	filterNameMost      = 100
	filterDescription   = 500
	operatorEquals      = "="
	operatorExists      = "exists"
	operatorNotExists   = "not_exists"
	filterListSize      = 100
	filterListMost      = 250
	paramFilterCategory = "category"
)

// clause is one condition on the facts of a node. Several must all hold.
type clause struct {
	field, operator string
	value           any
}

// readClauses reads conditions and checks that they can be used.
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
	if err := wire.Decode([]byte(text), &list); err != nil {
		return nil, false
	}
	return readClauses(list)
}

// holds reports whether a node meets a condition. A retired name means the field
// it was merged into, with the facts of both.
func (cl clause) holds(h *Handlers, n *world.Node) bool {
	var held []*fact
	if v := h.metadata.vocabularies[n.Profile]; v != nil {
		for _, g := range v.group(v.governing(cl.field)) {
			if found := h.metadata.fact(n, g); found != nil {
				held = append(held, found)
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

func allHold(h *Handlers, n *world.Node, clauses []clause) bool {
	return !slices.ContainsFunc(clauses, func(cl clause) bool { return !cl.holds(h, n) })
}

// NodeFilter is a filter on the facts of nodes; nil passes all.
type NodeFilter struct {
	nodes     map[string]bool
	category  string
	truncated bool
}

// ReadFilter reads the category of a call and the conditions in one of its parameters, "" if there is none.
func (h *Handlers) ReadFilter(c *wire.Call, workspaceID, param string) *NodeFilter {
	var clauses []clause
	if text := c.Value(param); param != "" && text != "" {
		var usable bool
		if clauses, usable = parseClauses(text); !usable {
			c.Check.Invalid(param, "1 to 5 conditions of field, operator and value.")
		}
	}
	category := c.Value(paramFilterCategory)
	if category != "" {
		word, found := listed(categories(), category)
		c.Check.InvalidIf(!found, paramFilterCategory, "One of "+strings.Join(categories(), ", ")+".")
		clauses = append(clauses, clause{fieldCategory, operatorEquals, word})
		category = word
	}
	if len(clauses) == 0 {
		return nil
	}
	f := h.filter(workspaceID, clauses)
	f.category = category
	return f
}

func (h *Handlers) filter(workspaceID string, clauses []clause) *NodeFilter {
	f := &NodeFilter{nodes: map[string]bool{}}
	for _, id := range h.NodeList {
		n := h.Nodes[id]
		if n.Profile != workspaceID || !n.HasContent() || !allHold(h, n, clauses) {
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

// Passes reports whether a node passes the filter.
func (f *NodeFilter) Passes(n *world.Node) bool { return f == nil || f.nodes[n.ID] }

// Mark reports an applied filter in the response.
func (f *NodeFilter) Mark(o wire.Object) wire.Object {
	if f == nil {
		return o
	}
	return append(o,
		wire.Member{"metadata_filter", wire.Object{{"applied", true}, {"matched", len(f.nodes)}, {"truncated", f.truncated}}})
}

type savedFilter struct {
	id, workspace, user string
	name, description   string
	clauses             []clause
	raw                 []any // the conditions as they were sent
	projection          []string
	created, updated    time.Time
}

func (f *savedFilter) object() wire.Object {
	projection := any(nil)
	if f.projection != nil {
		projection = f.projection
	}
	return wire.Object{
		{"filter_id", wire.Hyphenated(f.id)},
		{"name", f.name},
		{"description", wire.Optional(f.description)},
		{"filters", f.raw},
		{"projection", projection},
		{"creator", wire.ProfileID(f.user)},
		{"created", wire.Stamp(f.created.Unix())},
		{"updated", wire.Stamp(f.updated.Unix())},
	}
}

func (h *Handlers) listFilters(c *wire.Call, id string) (wire.Object, error) {
	p := h.flatPage(c, c.Integer("page_size", filterListSize, 1, filterListMost))
	shown := page(h, p, h.metadata.filters, func(f *savedFilter) wire.Object {
		if f == nil || f.workspace != id {
			return nil
		}
		return f.object()
	})
	return slices.DeleteFunc(shown, func(m wire.Member) bool { return m.Key == "page_size" }), c.Check.Refusal()
}

func (h *Handlers) createFilter(c *wire.Call, id string) (wire.Object, error) {
	f, err := readSavedFilter(c)
	if err != nil {
		return nil, err
	}
	m := &h.metadata
	here := wire.Filter(m.filters, func(f *savedFilter) bool { return f != nil && f.workspace == id })
	if h.Options.Metadata.FilterLimit > 0 && len(here) >= h.Options.Metadata.FilterLimit {
		return nil, wire.Refuse(http.StatusUnauthorized, codeFilterLimit, "The plan allows no more saved filters.")
	}
	f.id, f.workspace, f.user = world.Opaque('c', h.Options.Seed, h.NextSerial()), id, c.Key.User
	f.created, f.updated = c.Now, c.Now
	m.filters = append(m.filters, f)
	h.Touch(h.Now(), id, fieldMetadata)
	return h.getFilter(c, f)
}

func readSavedFilter(c *wire.Call) (*savedFilter, error) {
	body := c.JSON
	f := &savedFilter{name: strings.TrimSpace(body.Text(c, "name")), description: body.Text(c, "description")}
	switch {
	case f.name == "":
		c.Check.Missing("name", "1 to 100 characters.")
	case utf8.RuneCountInString(f.name) > filterNameMost:
		c.Check.Invalid("name", "At most 100 characters.")
	}
	c.Check.InvalidIf(utf8.RuneCountInString(f.description) > filterDescription, "description", "At most 500 characters.")
	var usable bool
	f.raw, _ = body[ParamFilters].([]any)
	if f.clauses, usable = readClauses(f.raw); !usable {
		c.Check.Invalid(ParamFilters, "1 to 5 conditions of field, operator and value.")
	}
	if body.Has("projection") {
		f.projection = body.Texts(c, "projection", factsMost)
	}
	return f, c.Check.Refusal()
}

func (h *Handlers) filterOfPath(find finder) func(*wire.Call) (*savedFilter, error) {
	return func(c *wire.Call) (*savedFilter, error) {
		workspace, err := find(c)
		if err != nil {
			return nil, err
		}
		id := c.OpaqueSegment("filter_id")
		if err := c.Check.Refusal(); err != nil {
			return nil, err
		}
		for _, f := range h.metadata.filters {
			if f != nil && f.id == id && f.workspace == workspace {
				return f, nil
			}
		}
		return nil, wire.NoSuch(codeNoFilter, "saved filter")
	}
}

func (h *Handlers) getFilter(_ *wire.Call, f *savedFilter) (wire.Object, error) {
	return wire.Object{{"filter", f.object()}}, nil
}

// updateFilter replaces a saved filter. Omitted fields are cleared.
func (h *Handlers) updateFilter(c *wire.Call, f *savedFilter) (wire.Object, error) {
	sent, err := readSavedFilter(c)
	if err != nil {
		return nil, err
	}
	f.name, f.description, f.projection = sent.name, sent.description, sent.projection
	f.clauses, f.raw = sent.clauses, sent.raw
	f.updated = c.Now
	h.Touch(h.Now(), f.workspace, fieldMetadata)
	return wire.Object{{"filter", f.object()}}, nil
}

// deleteFilter deletes a saved filter. It is idempotent.
func (h *Handlers) deleteFilter(c *wire.Call) (wire.Object, error) {
	f, err := h.filterOfPath(h.metadataOf(world.Member, wire.Write))(c)
	if err != nil {
		if wire.RefusalOf(err).Code == codeNoFilter {
			err = nil
		}
		return nil, err
	}
	filters := h.metadata.filters
	filters[slices.Index(filters, f)] = nil // its place stays taken, so that cursors keep theirs
	h.Touch(h.Now(), f.workspace, fieldMetadata)
	return nil, nil
}

func (h *Handlers) filterNodes(c *wire.Call, f *savedFilter) (wire.Object, error) {
	p := h.flatPage(c, pageSize(c))
	found := h.filter(f.workspace, f.clauses)
	return found.Mark(h.listNodes(c, f.workspace, p, found.Passes)), c.Check.Refusal()
}

func jsonTexts(c *wire.Call, name string, most int) []string {
	text, sent := c.Field(name)
	if !sent {
		return nil
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		c.Check.Mistyped(name, "array of string")
		return nil
	}
	c.Check.InvalidIf(len(list) == 0, name, "Not empty.")
	c.Check.InvalidIf(len(list) > most, name, "Too many.")
	return list
}

// QueryMost is the greatest length of a query, in characters.
const QueryMost = 1024

const (
	metadataResults = 100
	windowMost      = 10_000
	substringMost   = 64
	compoundResults = 25
	compoundMost    = 100
)

// FactHit is a node in the result of a search.
type FactHit struct {
	Node  *world.Node
	Score float64
}

// searchMetadata finds nodes by facts. The total includes nodes in the trash.
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
	hits := h.FactHits(c, id, wire.InWords(q))
	shown := wire.Filter(wire.Cut(hits, page), func(match FactHit) bool { return !h.Gone(match.Node) })
	return wire.Object{
		{"results", wire.Rows(shown, func(match FactHit) wire.Object {
			n := match.Node
			return wire.Object{{"node_id", wire.Hyphenated(n.ID)}, {"score", match.Score}, {"node", h.factNode(n, c.Out.Level)}}
		})},
		{"pagination", page.Of(len(hits))},
	}, c.Check.Refusal()
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
			if c.Now.Sub(f.updated) >= h.Options.Metadata.Lag { // what was written just now is not found yet
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

// timesIn counts the words that contain a token, or equal a long one.
func timesIn(words []string, token string) int {
	found := 0
	for _, word := range words {
		if word == token || utf8.RuneCountInString(token) <= substringMost && strings.Contains(word, token) {
			found++
		}
	}
	return found
}

// searchCompound finds nodes by conditions and an optional content query.
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

// compoundLimit reads a limit, clamps it, and returns both values.
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

// compound returns the nodes that meet the conditions. With a content query the
// count is a lower bound: it finds indexed nodes only.
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
			items = append(items, append(wire.Object{{"node_id", wire.Hyphenated(n.ID)}}, h.factNode(n, c.Out.Level)[1:]...))
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
	scope = scope.With(asked != nil, "limit_clamped_from", asked)
	return wire.Object{{"items", items}, {"scope", scope}}, nil
}
