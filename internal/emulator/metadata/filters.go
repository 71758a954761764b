package metadata

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
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
	clausesMost         = 5 // of a search
	filterNameMost      = 100
	filterDescription   = 255
	filterListSize      = 100
	filterListMost      = 250
	paramFilterCategory = "category"
)

// Operators of conditions.
const (
	operatorEquals     = "="
	operatorNot        = "!="
	operatorLess       = "<"
	operatorAtMost     = "<="
	operatorGreater    = ">"
	operatorAtLeast    = ">="
	operatorIn         = "in"
	operatorExists     = "exists"
	operatorNotExists  = "not_exists"
	operatorConfidence = "confidence_gte"
)

// clause is a condition on the facts of a node. A node must meet all clauses of a
// filter.
type clause struct {
	field, operator string
	value           any
}

// readClauses reads conditions: objects of a field, an operator and a value. It returns
// false if one of them cannot be used.
func readClauses(list []any) ([]clause, bool) {
	clauses := make([]clause, 0, len(list))
	for _, entry := range list {
		o, _ := entry.(map[string]any)
		var cl clause
		cl.field, _ = o["field"].(string)
		cl.operator, _ = o["operator"].(string)
		cl.value = o["value"]
		if cl.field == "" || !cl.isUsable() {
			return nil, false
		}
		clauses = append(clauses, cl)
	}
	return clauses, true
}

// isUsable reports whether a condition has the value that its operator requires: none,
// a list of values, a degree of confidence, or one value.
func (cl clause) isUsable() bool {
	switch cl.operator {
	case operatorExists, operatorNotExists:
		return cl.value == nil
	case operatorIn:
		list, isList := cl.value.([]any)
		unusable := func(v any) bool { return v == nil || isStructure(v) }
		return isList && len(list) > 0 && !slices.ContainsFunc(list, unusable)
	case operatorConfidence:
		word, isText := cl.value.(string)
		return isText && slices.Contains(confidences(), word)
	case operatorEquals, operatorNot, operatorLess, operatorAtMost, operatorGreater, operatorAtLeast:
		return cl.value != nil && !isStructure(cl.value)
	}
	return false
}

// confidences returns the degrees of confidence, the lowest first.
func confidences() []string { return []string{"low", "medium", "high", "certain"} }

// parseClauses parses the conditions of a search, a JSON list of 1 to 5. It returns
// false for any other text.
func parseClauses(text string) ([]clause, bool) {
	var list []any
	if err := wire.Decode([]byte(text), &list); err != nil || len(list) == 0 || len(list) > clausesMost {
		return nil, false
	}
	return readClauses(list)
}

// isMetBy reports whether a node meets a condition. A node without any facts does not meet
// not_exists either, and a comparison requires a value of the field.
func (cl clause) isMetBy(h *Handlers, n *world.Node) bool {
	if len(h.metadata.facts[n.ID]) == 0 {
		return false
	}
	held := h.factsNamed(n, cl.field)
	if cl.operator == operatorNotExists {
		return len(held) == 0
	}
	return slices.ContainsFunc(held, cl.matches)
}

// factsNamed returns the facts of a node in a field. A name that was merged into
// another field stands for that field, with the facts of both.
func (h *Handlers) factsNamed(n *world.Node, field string) []*fact {
	v := h.metadata.vocabularies[n.Profile]
	if v == nil {
		return nil
	}
	var held []*fact
	for _, g := range v.withMerged(v.liveField(field)) {
		if found := h.metadata.fact(n, g); found != nil {
			held = append(held, found)
		}
	}
	return held
}

// matches reports whether a fact meets a condition. The value of the condition is first
// converted to the type of the fact; if that fails, it is different from the fact, and
// neither less nor greater.
func (cl clause) matches(f *fact) bool {
	equals := func(value any) bool {
		wanted, fits := fitValue(f.stored, value)
		return fits && sameValue(wanted, f.value)
	}
	switch cl.operator {
	case operatorExists:
		return true
	case operatorConfidence:
		least, _ := cl.value.(string)
		degree := func(word string) int { return slices.Index(confidences(), word) } // they are in ascending order
		return degree(f.confidence) >= degree(least)
	case operatorIn:
		list, _ := cl.value.([]any)
		return slices.ContainsFunc(list, equals)
	case operatorEquals:
		return equals(cl.value)
	case operatorNot:
		return !equals(cl.value)
	}
	wanted, fits := fitValue(f.stored, cl.value)
	order, ordered := compareValues(f.value, wanted)
	if !fits || !ordered {
		return false
	}
	switch cl.operator {
	case operatorLess:
		return order < 0
	case operatorAtMost:
		return order <= 0
	case operatorGreater:
		return order > 0
	default:
		return order >= 0
	}
}

// compareValues compares two numbers or two texts; dates are texts whose order is that
// of time. It returns false for values that have no order.
func compareValues(a, b any) (order int, ordered bool) {
	switch x := a.(type) {
	case json.Number:
		y, _ := b.(json.Number)                            // "" if b is anything else, which fails below
		left, isLeft := new(big.Rat).SetString(x.String()) // fails for exponents above a million
		right, isRight := new(big.Rat).SetString(y.String())
		if isLeft && isRight {
			return left.Cmp(right), true
		}
	case string:
		y, isText := b.(string)
		return strings.Compare(x, y), isText
	}
	return 0, false
}

// allHold reports whether a node meets all conditions.
func allHold(h *Handlers, n *world.Node, clauses []clause) bool {
	return !slices.ContainsFunc(clauses, func(cl clause) bool { return !cl.isMetBy(h, n) })
}

// NodeFilter is a filter on the facts of nodes; nil passes all.
type NodeFilter struct {
	nodes     map[string]bool
	category  string
	truncated bool
}

// ReadFilter returns the filter that a call requests: by the parameter category, and
// by conditions in the parameter named param, if that is not "". It returns nil if the
// call has neither.
func (h *Handlers) ReadFilter(c *wire.Call, workspaceID, param string) *NodeFilter {
	var clauses []clause
	if text := c.Value(param); param != "" && text != "" {
		var usable bool
		clauses, usable = parseClauses(text)
		if !usable {
			c.Check.Invalid(param, "1 to 5 conditions of field, operator and value.")
		}
	}
	category := c.Value(paramFilterCategory)
	if category != "" {
		word, found := listedWord(categories(), category)
		c.Check.InvalidIf(!found, paramFilterCategory, "One of "+strings.Join(categories(), ", ")+".")
		clauses = append(clauses, clause{fieldCategory, operatorEquals, word})
		category = word
	}
	if len(clauses) == 0 {
		return nil
	}
	nodes, truncated := h.nodesMeeting(workspaceID, clauses)
	f := &NodeFilter{nodes: map[string]bool{}, category: category, truncated: truncated}
	for _, n := range nodes {
		f.nodes[n.ID] = true
	}
	return f
}

// nodesMeeting returns the files and notes that meet all conditions, up to a limit. If
// truncated, there are more.
func (h *Handlers) nodesMeeting(workspaceID string, clauses []clause) (nodes []*world.Node, truncated bool) {
	for _, id := range h.w.NodeIDs() {
		n := h.w.AnyNode(id)
		if n.Profile != workspaceID || !n.HasContent() || !allHold(h, n, clauses) {
			continue
		}
		if len(nodes) == poolMost {
			return nodes, true
		}
		nodes = append(nodes, n)
	}
	return nodes, false
}

// Passes reports whether a node passes the filter.
func (f *NodeFilter) Passes(n *world.Node) bool { return f == nil || f.nodes[n.ID] }

// Report returns a response with a member that says how many nodes the filter has found.
// Without a filter, it returns the response as it is.
func (f *NodeFilter) Report(o wire.Object) wire.Object {
	if f == nil {
		return o
	}
	return append(o,
		wire.Member{"metadata_filter", wire.Object{{"applied", true}, {"matched", len(f.nodes)}, {"truncated", f.truncated}}})
}

// savedFilter is a filter that a user has saved in a workspace.
type savedFilter struct {
	id, workspace, user string
	name, description   string
	clauses             []clause
	predicate           []any          // the conditions as they were sent
	projection          map[string]any // nil means none
	template            string
	created, updated    time.Time
}

// object renders a saved filter.
func (f *savedFilter) object(lv wire.Level) wire.Object {
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.Hyphenated(f.id))
	r.Put(wire.Terse, "name", f.name)
	r.Put(wire.Terse, "description", wire.TextOrNull(f.description))
	r.Put(wire.Standard, "predicate", f.predicate)
	var projection any // nil is null in JSON; a nil map would be []
	if f.projection != nil {
		projection = f.projection
	}
	r.Put(wire.Standard, "projection", projection)
	r.Put(wire.Standard, "template_id", wire.TextOrNull(wire.Hyphenated(f.template)))
	r.Put(wire.Standard, "creator", wire.ProfileID(f.user))
	r.Put(wire.Standard, "created", wire.Stamp(f.created.Unix()))
	r.Put(wire.Standard, "updated", wire.Stamp(f.updated.Unix()))
	return r.Fields
}

// listFilters returns a page of the saved filters of a workspace. Deleted ones are nil in
// h.metadata.filters. The response does not have the member page_size, which other lists have.
func (h *Handlers) listFilters(c *wire.Call, id string) (wire.Object, error) {
	p := h.readPage(c, c.Integer("page_size", filterListSize, 1, filterListMost))
	shown := renderPage(h, p, h.metadata.filters, func(f *savedFilter) wire.Object {
		if f == nil || f.workspace != id {
			return nil
		}
		return f.object(c.Out.Level)
	})
	return slices.DeleteFunc(shown, func(m wire.Member) bool { return m.Key == "page_size" }), c.Check.Err()
}

// createFilter saves a filter, unless the workspace has as many as its plan allows (the
// option FilterLimit).
func (h *Handlers) createFilter(c *wire.Call, id string) (wire.Object, error) {
	var replaced *savedFilter // none
	f, err := h.readSavedFilter(c, id, replaced)
	if err != nil {
		return nil, err
	}
	m := &h.metadata
	here := wire.Filter(m.filters, func(f *savedFilter) bool {
		isDeleted := f == nil
		return !isDeleted && f.workspace == id
	})
	if most := h.w.Options.Metadata.FilterLimit; most > 0 && len(here) >= most {
		return nil, wire.Refuse(http.StatusUnauthorized, codeFilterLimit, "The plan allows no more saved filters.")
	}
	f.id = world.Opaque('c', h.w.Options.Seed, h.w.NextSerial()) // the letter is assumed
	f.workspace, f.user = id, c.Key.User
	f.created, f.updated = c.Now, c.Now
	m.filters = append(m.filters, f)
	h.w.MarkChanged(h.w.Now(), id, fieldMetadata)
	return h.getFilter(c, f)
}

// readSavedFilter reads a filter from the body of a call. It refuses a name that another
// filter of the workspace has. The filter that the call replaces (replaced, nil for a new
// one) may have it. The conditions are checked, but not whether their fields exist.
func (h *Handlers) readSavedFilter(c *wire.Call, workspaceID string, replaced *savedFilter) (*savedFilter, error) {
	body := c.JSON
	f := &savedFilter{
		name: strings.TrimSpace(body.Text(c, "name")), description: body.Text(c, "description"),
		projection: body.Object(c, "projection"), template: body.Opaque(c, "template_id"),
	}
	c.Check.MissingIf(f.name == "", "name", "1 to 100 characters.")
	c.Check.InvalidIf(utf8.RuneCountInString(f.name) > filterNameMost, "name", "At most 100 characters.")
	c.Check.InvalidIf(utf8.RuneCountInString(f.description) > filterDescription, "description", "At most 255 characters.")
	var isList, usable bool
	f.predicate, isList = body["predicate"].([]any)
	f.clauses, usable = readClauses(f.predicate)
	c.Check.InvalidIf(!isList || !usable, "predicate", "Conditions of field, operator and value.")
	if c.Check.Err() != nil { // whatever fails, the platform has one error without parameters for it
		return nil, wire.Refuse(http.StatusNotAcceptable, codeFilterInvalid, "The filter cannot be saved.")
	}
	if slices.ContainsFunc(h.metadata.filters, func(other *savedFilter) bool {
		return other != nil && other != replaced && other.workspace == workspaceID && other.name == f.name
	}) {
		return nil, wire.Refuse(http.StatusConflict, codeFilterName, "The workspace has a saved filter of that name.")
	}
	return f, nil
}

// filterOfPath returns a function that finds the saved filter in the path, in the
// workspace that find returns.
func (h *Handlers) filterOfPath(find finder) func(*wire.Call) (*savedFilter, error) {
	return func(c *wire.Call) (*savedFilter, error) {
		workspace, err := find(c)
		if err != nil {
			return nil, err
		}
		id := c.OpaqueSegment("filter_id")
		if err := c.Check.Err(); err != nil {
			return nil, err
		}
		for _, f := range h.metadata.filters {
			if f != nil && f.id == id && f.workspace == workspace { // nil: a deleted filter
				return f, nil
			}
		}
		return nil, wire.NoSuch(codeNoFilter, "saved filter")
	}
}

// getFilter returns a saved filter.
func (h *Handlers) getFilter(c *wire.Call, f *savedFilter) (wire.Object, error) {
	return wire.Object{{"filter", f.object(c.Out.Level)}}, nil
}

// updateFilter replaces what a saved filter has by what the call sends, where a field that
// is left out is empty. The filter keeps its ID and its template.
func (h *Handlers) updateFilter(c *wire.Call, f *savedFilter) (wire.Object, error) {
	sent, err := h.readSavedFilter(c, f.workspace, f)
	if err != nil {
		return nil, err
	}
	f.name, f.description, f.projection = sent.name, sent.description, sent.projection
	f.clauses, f.predicate = sent.clauses, sent.predicate
	f.updated = c.Now
	h.w.MarkChanged(h.w.Now(), f.workspace, fieldMetadata)
	return h.getFilter(c, f)
}

// deleteFilter deletes a saved filter. It also succeeds if there is none.
func (h *Handlers) deleteFilter(c *wire.Call) (wire.Object, error) {
	f, err := h.filterOfPath(h.workspaceForMetadata(world.Member, wire.Write))(c)
	if err != nil {
		if wire.RefusalOf(err).Code == codeNoFilter {
			err = nil
		}
		return nil, err
	}
	filters := h.metadata.filters
	filters[slices.Index(filters, f)] = nil // not removed, so that the indexes in cursors stay valid
	h.w.MarkChanged(h.w.Now(), f.workspace, fieldMetadata)
	return nil, nil
}

// filterNodes returns the nodes that meet a saved filter, up to a limit. The platform
// sorts them after the limit is applied, so nodes that would come first may be missing.
func (h *Handlers) filterNodes(c *wire.Call, f *savedFilter) (wire.Object, error) {
	by, fact, descending := c.Value("sort_field"), c.Value("sort_metadata_field"), c.Value("sort_dir") == "desc"
	c.Check.InvalidIf(by != "" && fact != "", "sort_field", "Not with sort_metadata_field.")
	c.Check.InvalidIf(!slices.Contains([]string{"", "name", "updated", "created", "type"}, by),
		"sort_field", "name, updated, created or type.")
	c.Check.InvalidIf(!slices.Contains([]string{"", "asc", "desc"}, c.Value("sort_dir")), "sort_dir", "asc or desc.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	nodes, truncated := h.nodesMeeting(f.workspace, f.clauses)
	if by != "" || fact != "" {
		slices.SortStableFunc(nodes, func(a, b *world.Node) int {
			order := compareNodes(by, a, b)
			if fact != "" {
				order = h.compareFacts(fact, a, b)
			}
			if descending {
				return -order
			}
			return order
		})
	}
	relation := "eq"
	if truncated {
		relation = "gte"
	}
	return wire.Object{
		{"items", wire.Rows(nodes, func(n *world.Node) wire.Object { return h.factNode(n, c.Out.Level) })},
		{"scope", wire.Object{
			{"scope_truncated", truncated},
			{"match_relation", relation},
			{"causes", h.causes()},
			{"files_not_indexed", nil},
			{"match_count", len(nodes)},
		}},
	}, nil
}

// causes returns why a result may be incomplete, as the options say.
func (h *Handlers) causes() []string { return append([]string{}, h.w.Options.Metadata.Causes...) }

// compareNodes compares nodes by "updated", "created", "type" or, for any other word,
// their names without case.
func compareNodes(by string, a, b *world.Node) int {
	switch by {
	case "updated":
		return a.Updated.Compare(b.Updated)
	case "created":
		return a.Created.Compare(b.Created)
	case "type":
		return strings.Compare(a.Kind, b.Kind)
	}
	return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
}

// compareFacts compares nodes by their values of a field. A node without a value comes
// first.
func (h *Handlers) compareFacts(field string, a, b *world.Node) int {
	value := func(n *world.Node) any {
		if held := h.factsNamed(n, field); len(held) > 0 {
			return held[0].value
		}
		return ""
	}
	x, y := value(a), value(b)
	if order, ordered := compareValues(x, y); ordered {
		return order
	}
	return strings.Compare(valueText(x), valueText(y))
}

// jsonTexts returns the texts of a field that holds a JSON list of 1 to most texts,
// nil if it is left out.
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

// searchMetadata returns the nodes whose facts have the words of a query. The total
// includes nodes in the trash, which are not returned.
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
	shown := wire.Filter(wire.PageOf(hits, page), func(match FactHit) bool { return !h.w.InTrash(match.Node) })
	return wire.Object{
		{"results", wire.Rows(shown, func(match FactHit) wire.Object {
			n := match.Node
			return wire.Object{{"node_id", wire.Hyphenated(n.ID)}, {"score", match.Score}, {"node", h.factNode(n, c.Out.Level)}}
		})},
		{"pagination", page.Pagination(len(hits))},
	}, c.Check.Err()
}

// FactHits returns the nodes whose facts have all the words, the best match first.
func (h *Handlers) FactHits(c *wire.Call, workspaceID string, words []string) []FactHit {
	all := h.factDocuments(workspaceID, c.Now)
	hits := []FactHit{}
	for _, d := range all {
		if score := d.score(words, all); score > 0 {
			hits = append(hits, FactHit{Node: d.node, Score: score})
		}
	}
	slices.SortStableFunc(hits, func(a, b FactHit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// factDocument is a node with the words of its facts.
type factDocument struct {
	node  *world.Node
	words []string
}

// factDocuments returns the nodes of a workspace that have facts. A fact is left out until
// the time of the option Metadata.Lag has passed since it was written.
func (h *Handlers) factDocuments(workspaceID string, now time.Time) (all []factDocument) {
	for _, id := range h.w.NodeIDs() {
		n := h.w.AnyNode(id)
		if n.Profile != workspaceID {
			continue
		}
		d := factDocument{node: n}
		for _, f := range h.metadata.factsOf(n) {
			if now.Sub(f.updated) >= h.w.Options.Metadata.Lag {
				d.words = append(d.words, wire.InWords(valueText(f.value))...)
			}
		}
		if len(d.words) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// score returns how well the document matches the words, by the formula BM25: a word counts
// more the oftener the document has it, the fewer of all documents have it and the fewer
// words the document has. It returns 0 if the document lacks one of the words.
func (d factDocument) score(words []string, all []factDocument) (score float64) {
	const k, b = 1.2, 0.75 // the usual parameters of BM25
	totalLength := 0
	for _, other := range all {
		totalLength += len(other.words)
	}
	// norm is greater for a document with more words than the average.
	norm := k * (1 - b + b*float64(len(d.words))*float64(len(all))/float64(totalLength))
	for _, word := range words {
		times := float64(timesIn(d.words, word))
		if times == 0 {
			return 0
		}
		having := 0.0 // documents
		for _, other := range all {
			if timesIn(other.words, word) > 0 {
				having++
			}
		}
		rarity := math.Log(1 + (float64(len(all))-having+0.5)/(having+0.5))
		score += rarity * times * (k + 1) / (times + norm)
	}
	return score
}

// timesIn returns how many words contain a token. A token of more than 64 characters
// must equal the word.
func timesIn(words []string, token string) int {
	found := 0
	for _, word := range words {
		if word == token || utf8.RuneCountInString(token) <= substringMost && strings.Contains(word, token) {
			found++
		}
	}
	return found
}

// searchCompound returns the nodes that meet the conditions in a form and, if there is
// a content query, have its words. The plan must include AI, and the workspace an index.
func (h *Handlers) searchCompound(c *wire.Call, id string) (wire.Object, error) {
	if err := h.w.RefuseWithout(world.FeatureAI); err != nil {
		return nil, err
	}
	if !h.w.IsIndexed(id) {
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
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	return h.compoundSearch(c, id, clauses, wire.InWords(query), asked, limit)
}

// compoundLimit returns the limit of a call within 1 to 100, and the limit that was
// asked for, nil if it is the same.
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
	limit = max(1, min(n, compoundMost))
	if limit != n {
		asked = n
	}
	return asked, limit
}

// compoundSearch returns the nodes that meet the conditions and have all words in their names
// or contents. With words, nodes that are not indexed are not found: if there are any, the
// count is a lower bound. asked is the requested limit if it was out of range, else nil.
func (h *Handlers) compoundSearch(
	c *wire.Call, workspaceID string, clauses []clause, words []string, asked any, limit int,
) (wire.Object, error) {
	items, matched, notIndexed := []wire.Object{}, 0, 0
	for _, n := range h.w.NodesOf(workspaceID) {
		if !n.HasContent() || !allHold(h, n, clauses) {
			continue
		}
		if len(words) > 0 && n.AIState != world.AIIndexed {
			notIndexed++
			continue
		}
		inside := wire.InWords(n.Name + " " + n.Text())
		if slices.ContainsFunc(words, func(word string) bool { return timesIn(inside, word) == 0 }) {
			continue
		}
		matched++
		if len(items) < limit {
			items = append(items, h.compoundHit(n, c.Out.Level))
		}
	}
	relation, causes, filesNotIndexed := "eq", h.causes(), any(nil)
	if len(words) > 0 {
		filesNotIndexed = notIndexed
	}
	if notIndexed > 0 {
		relation, causes = "gte", append(causes, "files_not_indexed")
	}
	scope := wire.Object{
		{"match_relation", relation}, {"causes", causes}, {"files_not_indexed", filesNotIndexed}, {"match_count", matched},
	}
	scope = scope.With(asked != nil, "limit_clamped_from", asked)
	return wire.Object{{"items", items}, {"scope", scope}}, nil
}

// compoundHit renders a node that a compound search has found. The platform does not
// document the members of such a hit. They are assumed to be those of the hits of other
// searches, and the facts.
func (h *Handlers) compoundHit(n *world.Node, lv wire.Level) wire.Object {
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "node_id", wire.Hyphenated(n.ID))
	r.Put(wire.Terse, "name", n.Name)
	r.Put(wire.Terse, "type", n.Kind)
	r.Put(wire.Terse, "parent_id", h.parentOf(n))
	r.Put(wire.Standard, "mimetype", n.MimeType)
	r.Put(wire.Standard, "updated", wire.Stamp(n.Updated.Unix()))
	r.Put(wire.Terse, "metadata_facts", h.Facts(n, lv))
	return r.Fields
}
