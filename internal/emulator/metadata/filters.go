package metadata

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
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

// readClauses reads conditions. It tells apart only whether they can be used.
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

// holds reports whether a node meets a condition. A retired name stands for the field it was merged into, with all that
// is filed under either.
func (cl clause) holds(h *Handlers, n *world.Node) bool {
	v := h.metadata.vocabularies[n.Profile]
	var held []*fact
	if v != nil {
		if f := v.governing(cl.field); f != nil {
			for _, g := range v.group(f) {
				if found := h.metadata.fact(n, g); found != nil {
					held = append(held, found)
				}
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

// NodeFilter is what a search or listing asks of the facts of nodes. One that asks nothing is nil.
type NodeFilter struct {
	nodes     map[string]bool
	category  string
	truncated bool
}

// ReadFilter reads the category of a call and the conditions in one of its parameters, "" for none.
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

// filter finds the files and notes of a workspace that meet conditions. It looks no further than the pool reaches.
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

// Mark acknowledges a filter that ran.
func (f *NodeFilter) Mark(o wire.Object) wire.Object {
	if f == nil {
		return o
	}
	return append(o,
		wire.Member{
			"metadata_filter",
			wire.Object{{"applied", true}, {"matched", len(f.nodes)}, {"truncated", f.truncated}},
		})
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
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	shown := page(h, p, h.metadata.filters, func(f *savedFilter) wire.Object {
		if f == nil || f.workspace != id {
			return nil
		}
		return f.object()
	})
	return slices.DeleteFunc(shown, func(m wire.Member) bool { return m.Key == "page_size" }), nil
}

func (h *Handlers) createFilter(c *wire.Call, id string) (wire.Object, error) {
	f, err := readSavedFilter(c)
	if err != nil {
		return nil, err
	}
	m := &h.metadata
	here := 0
	for _, other := range m.filters {
		if other != nil && other.workspace == id {
			here++
		}
	}
	if h.Options.Metadata.FilterLimit > 0 && here >= h.Options.Metadata.FilterLimit {
		return nil, wire.Refuse(http.StatusUnauthorized, codeFilterLimit, "The plan allows no more saved filters.")
	}
	h.Serials++
	f.id, f.workspace, f.user = world.Opaque('c', h.Options.Seed, h.Serials), id, c.Key.User
	f.created, f.updated = c.Now, c.Now
	m.filters = append(m.filters, f)
	h.Touch(h.Now(), id, fieldMetadata)
	return wire.Object{{"filter", f.object()}}, nil
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
	c.Check.InvalidIf(utf8.RuneCountInString(f.description) > filterDescription,
		"description", "At most 500 characters.")
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

func (h *Handlers) filterOfPath(role world.Role, needed wire.Mode) func(*wire.Call) (*savedFilter, error) {
	return func(c *wire.Call) (*savedFilter, error) {
		workspace, err := h.metadataOf(role, needed)(c)
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

func (h *Handlers) getFilter(c *wire.Call, f *savedFilter) (wire.Object, error) {
	return wire.Object{{"filter", f.object()}}, nil
}

// updateFilter replaces a saved filter. What the body leaves out is cleared.
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

// deleteFilter deletes a saved filter. One that is gone already is deleted as well.
func (h *Handlers) deleteFilter(c *wire.Call) (wire.Object, error) {
	f, err := h.filterOfPath(world.Member, wire.Write)(c)
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
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	found := h.filter(f.workspace, f.clauses)
	return found.Mark(h.listNodes(c, f.workspace, p, found.Passes)), nil
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
	c.Check.InvalidIf(len(list) == 0 || len(list) > most,
		name, cmp.Or(map[bool]string{true: "Not empty."}[len(list) == 0], "Too many."))
	return list
}
