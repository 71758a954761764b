package metadata

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	fieldNameMost   = 64
	fieldPage       = 100
	fieldPageMost   = 250
	fieldCategory   = "category"
	fieldSub        = "sub_category"
	categoryOther   = "Other"
	originAI        = "ai"
	originUser      = "user"
	fieldSpacers    = " _-."
	forbiddenInName = `<>"\{}[]`
)

func categories() []string {
	return []string{
		"Legal", "Finance", "Sales", "Marketing", "Engineering", "Product", "Operations", "People", "Research", "Media",
		"Personal", categoryOther,
	}
}

func subCategories() []string {
	return []string{
		"Contract", "Agreement", "Invoice", "Receipt", "Statement", "Report", "Proposal", "Specification", "Policy",
		"Plan",
		"Correspondence", "Presentation", "Record", "Resume", "Identifier", "Image", "Video", "Audio", "Dataset",
		categoryOther,
	}
}

// metaField is a field of a vocabulary. Nothing renames or deletes one; a merge retires it.
type metaField struct {
	name, kind, origin string
	allowed            []string
	revision           int
	created, updated   time.Time
	into               *metaField // the field it was merged into, nil while it is live
}

// vocabulary is the fields of a workspace, in the order of their creation.
type vocabulary struct {
	fields []*metaField
	byKey  map[string]*metaField
}

// fieldKey is what fields are compared by.
func fieldKey(name string) string { return strings.ToLower(name) }

// vocabularyOf is the vocabulary of a workspace, which begins with the fields the platform itself sorts files by.
func (h *Handlers) vocabularyOf(workspaceID string) *vocabulary {
	v := h.metadata.vocabularies[workspaceID]
	if v == nil {
		v = &vocabulary{byKey: map[string]*metaField{}}
		h.metadata.vocabularies[workspaceID] = v
		var created time.Time
		if w := h.Workspaces[workspaceID]; w != nil {
			created = time.Unix(w.Created, 0)
		}
		v.add(fieldCategory, typeString, originAI, created).allowed = categories()
		v.add(fieldSub, typeString, originAI, created).allowed = subCategories()
	}
	return v
}

func (v *vocabulary) add(name, kind, origin string, created time.Time) *metaField {
	f := &metaField{name: name, kind: kind, origin: origin, revision: 1, created: created, updated: created}
	v.fields = append(v.fields, f)
	v.byKey[fieldKey(name)] = f
	return f
}

// governing is the live field that a name stands for, nil when nobody has named one so.
func (v *vocabulary) governing(name string) *metaField {
	f := v.byKey[fieldKey(name)]
	for f != nil && f.into != nil {
		f = f.into
	}
	return f
}

// group is a field and all that were merged into it.
func (v *vocabulary) group(f *metaField) []*metaField {
	return wire.Filter(v.fields, func(g *metaField) bool { return v.governing(g.name) == f })
}

func (h *Handlers) fieldRoom(v *vocabulary) int {
	if h.Options.Metadata.FieldLimit == 0 {
		return math.MaxInt32
	}
	return max(0, h.Options.Metadata.FieldLimit-len(v.fields))
}

func fieldLimit() error {
	return wire.Refuse(http.StatusRequestEntityTooLarge, codeFieldLimit,
		"The workspace has as many fields as it may have.")
}

// holders are the files and notes, in the trash or not, that have a value under one of the fields.
func (h *Handlers) holders(workspaceID string, group ...*metaField) []*world.Node {
	var found []*world.Node
	for _, id := range h.NodeList {
		n := h.Nodes[id]
		if n.Profile == workspaceID && slices.ContainsFunc(group,
			func(f *metaField) bool { return h.metadata.fact(n, f) != nil }) {
			found = append(found, n)
		}
	}
	return found
}

// fact is the value a node has under exactly this field, nil when there is none or it was emptied.
func (m *metadataState) fact(n *world.Node, f *metaField) *fact {
	found := m.facts[n.ID][fieldKey(f.name)]
	if found == nil || found.value == "" {
		return nil
	}
	return found
}

func (h *Handlers) fieldObject(workspaceID string, v *vocabulary, f *metaField, lv wire.Level) wire.Object {
	aliases, constraints := []string{}, any(nil)
	group := v.group(f)
	for _, g := range group {
		if g != f {
			aliases = append(aliases, g.name)
		}
	}
	if f.allowed != nil {
		constraints = wire.Object{{"allowed", f.allowed}}
	}
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "name", f.name)
	r.Put(wire.Terse, "declared_type", f.kind)
	r.Put(wire.Terse, "constraints", constraints)
	r.Put(wire.Terse, "aliases", aliases)
	r.Put(wire.Terse, "provisional", false)
	r.Put(wire.Terse, "origin", f.origin)
	r.Put(wire.Terse, "revision", f.revision)
	if !h.Options.Metadata.CountsUnreadable {
		r.Put(wire.Standard, "file_count", len(h.holders(workspaceID, group...)))
	}
	r.Put(wire.Terse, "created", wire.Stamp(f.created.Unix()))
	r.Put(wire.Terse, "updated", wire.Stamp(f.updated.Unix()))
	return r.Fields
}

// listFields answers with the live fields of a workspace, or with the values of the one that the call names.
func (h *Handlers) listFields(c *wire.Call, id string) (wire.Object, error) {
	v := h.vocabularyOf(id)
	p := h.flatPage(c, c.Integer("page_size", fieldPage, 1, fieldPageMost), "field")
	var named *metaField
	if name := c.Value("field"); name != "" {
		if named = v.governing(name); named == nil {
			c.Check.Invalid("field", "There is no such field.")
		}
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if named != nil {
		return page(h, p, h.observed(id, v.group(named)), func(v *observation) wire.Object {
			return wire.Object{{"value", v.value}, {"count", v.count}}
		}), nil
	}
	return page(h, p, v.fields, func(f *metaField) wire.Object {
		if f.into != nil {
			return nil
		}
		return h.fieldObject(id, v, f, c.Out.Level)
	}), nil
}

type observation struct {
	value any
	count int
}

// observed lists the values of a field with how often they occur, the frequent ones first.
func (h *Handlers) observed(workspaceID string, group []*metaField) []*observation {
	var values []*observation
	for _, n := range h.holders(workspaceID, group...) {
		for _, f := range group {
			held := h.metadata.fact(n, f)
			if held == nil {
				continue
			}
			i := slices.IndexFunc(values, func(v *observation) bool { return sameValue(v.value, held.value) })
			if i < 0 {
				i = len(values)
				values = append(values, &observation{value: held.value})
			}
			values[i].count++
		}
	}
	slices.SortStableFunc(values, func(a, b *observation) int { return cmp.Compare(b.count, a.count) })
	return values
}

// declareField makes a field, or answers with the one that the name stands for already.
func (h *Handlers) declareField(c *wire.Call, id string) (wire.Object, error) {
	name, _ := c.Field("name")
	name = strings.TrimSpace(name)
	kind, _ := c.Field("declared_type")
	nameOf(&c.Check, "name", name)
	c.Check.InvalidIf(!isFieldName(name), "name", "Not acceptable as the name of a field.")
	switch {
	case kind == "":
		c.Check.Missing("declared_type", "One of "+strings.Join(fieldTypes(), ", ")+".")
	case !slices.Contains(fieldTypes(), kind):
		c.Check.Invalid("declared_type", "One of "+strings.Join(fieldTypes(), ", ")+".")
	}
	if _, sent := c.Field("constraints"); sent {
		c.Check.Invalid("constraints", "Constraints cannot be set.")
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	v := h.vocabularyOf(id)
	f := v.governing(name)
	created := f == nil
	if created {
		if h.fieldRoom(v) == 0 {
			return nil, fieldLimit()
		}
		f = v.add(name, kind, originUser, c.Now)
		h.Touch(h.Now(), id, fieldMetadata)
	}
	return wire.Object{{"field", h.fieldObject(id, v, f, c.Out.Level)}, {"field_created", created}}, nil
}

func isFieldName(name string) bool {
	return !strings.ContainsFunc(name, unicode.IsControl) && !strings.ContainsAny(name, forbiddenInName)
}

// AddField adds a field. A name that is taken stays what it is.
func (h *Handlers) AddField(it world.Field) world.Field {
	h.Lock()
	defer h.Unlock()
	v := h.vocabularyOf(it.Workspace)
	it.Name = cmp.Or(it.Name, "field "+strconv.Itoa(len(v.fields)+1))
	it.Type, it.Origin = cmp.Or(it.Type, typeString), cmp.Or(it.Origin, originAI)
	it.Created = cmp.Or(it.Created, h.Now())
	f := v.byKey[fieldKey(it.Name)]
	if f == nil {
		f = v.add(it.Name, it.Type, it.Origin, it.Created)
	}
	if into := v.governing(it.MergedInto); into != nil && into != f {
		f.into = into
	}
	h.Touch(h.Now(), it.Workspace, fieldMetadata)
	return it
}
