package emulator

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
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
		"Contract", "Agreement", "Invoice", "Receipt", "Statement", "Report", "Proposal", "Specification", "Policy", "Plan",
		"Correspondence", "Presentation", "Record", "Resume", "Identifier", "Image", "Video", "Audio", "Dataset", categoryOther,
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
func (st *state) vocabularyOf(workspaceID string) *vocabulary {
	v := st.metadata.vocabularies[workspaceID]
	if v == nil {
		v = &vocabulary{byKey: map[string]*metaField{}}
		st.metadata.vocabularies[workspaceID] = v
		var created time.Time
		if w := st.workspaces[workspaceID]; w != nil {
			created = time.Unix(w.created, 0)
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
	var group []*metaField
	for _, g := range v.fields {
		if v.governing(g.name) == f {
			group = append(group, g)
		}
	}
	return group
}

// fieldRoom is how many more fields a workspace may have.
func (s *Server) fieldRoom(v *vocabulary) int {
	if s.o.Metadata.FieldLimit == 0 {
		return math.MaxInt32
	}
	return max(0, s.o.Metadata.FieldLimit-len(v.fields))
}

func fieldLimit() answer {
	return refuse(http.StatusRequestEntityTooLarge, codeFieldLimit, "The workspace has as many fields as it may have.")
}

// holders are the files and notes, in the trash or not, that have a value under one of the fields.
func (st *state) holders(workspaceID string, group ...*metaField) []*node {
	var found []*node
	for _, id := range st.nodeList {
		n := st.nodes[id]
		if n.Profile == workspaceID && slices.ContainsFunc(group, func(f *metaField) bool { return st.fact(n, f) != nil }) {
			found = append(found, n)
		}
	}
	return found
}

// fact is the value a node has under exactly this field, nil when there is none or it was emptied.
func (st *state) fact(n *node, f *metaField) *fact {
	found := st.metadata.facts[n.ID][fieldKey(f.name)]
	if found == nil || found.value == "" {
		return nil
	}
	return found
}

func (s *Server) fieldObject(workspaceID string, v *vocabulary, f *metaField, lv level) object {
	aliases, constraints := []string{}, any(nil)
	group := v.group(f)
	for _, g := range group {
		if g != f {
			aliases = append(aliases, g.name)
		}
	}
	if f.allowed != nil {
		constraints = object{{"allowed", f.allowed}}
	}
	r := row{level: lv}
	r.put(terse, "name", f.name)
	r.put(terse, "declared_type", f.kind)
	r.put(terse, "constraints", constraints)
	r.put(terse, "aliases", aliases)
	r.put(terse, "provisional", false)
	r.put(terse, "origin", f.origin)
	r.put(terse, "revision", f.revision)
	if !s.o.Metadata.CountsUnreadable {
		r.put(standard, "file_count", len(s.state.holders(workspaceID, group...)))
	}
	r.put(terse, "created", stamp(f.created.Unix()))
	r.put(terse, "updated", stamp(f.updated.Unix()))
	return r.fields
}

// listFields answers with the live fields of a workspace, or with the values of the one that the call names.
func (s *Server) listFields(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.metadataOf(c, Member, read)
	if refusal != nil {
		return *refusal
	}
	v := s.state.vocabularyOf(id)
	p := s.flatPage(c, c.integer("page_size", fieldPage, 1, fieldPageMost), "field")
	var named *metaField
	if name := c.value("field"); name != "" {
		if named = v.governing(name); named == nil {
			c.check.invalid("field", "There is no such field.")
		}
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if named != nil {
		return ok(s.members(p, s.state.observed(id, v.group(named), p.start))...)
	}
	return ok(s.members(p, func(yield func(uint64, object) bool) {
		for i, f := range v.fields {
			at := uint64(i)
			if at >= p.start && f.into == nil && !yield(at, s.fieldObject(id, v, f, c.out.level)) {
				return
			}
		}
	})...)
}

// observed lists the values of a field with how often they occur, the frequent ones first.
func (st *state) observed(workspaceID string, group []*metaField, start uint64) func(yield func(uint64, object) bool) {
	type value struct {
		value any
		count int
	}
	var values []*value
	for _, n := range st.holders(workspaceID, group...) {
		for _, f := range group {
			held := st.fact(n, f)
			if held == nil {
				continue
			}
			i := slices.IndexFunc(values, func(v *value) bool { return sameValue(v.value, held.value) })
			if i < 0 {
				i = len(values)
				values = append(values, &value{value: held.value})
			}
			values[i].count++
		}
	}
	slices.SortStableFunc(values, func(a, b *value) int { return cmp.Compare(b.count, a.count) })
	return func(yield func(uint64, object) bool) {
		for i, v := range values {
			at := uint64(i)
			if at >= start && !yield(at, object{{"value", v.value}, {"count", v.count}}) {
				return
			}
		}
	}
}

// declareField makes a field, or answers with the one that the name stands for already.
func (s *Server) declareField(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.metadataOf(c, Admin, admin)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	name, _ := c.field("name")
	name = strings.TrimSpace(name)
	kind, _ := c.field("declared_type")
	c.check.nameOf("name", name)
	if !isFieldName(name) {
		c.check.invalid("name", "Not acceptable as the name of a field.")
	}
	switch {
	case kind == "":
		c.check.missing("declared_type", "One of "+strings.Join(fieldTypes(), ", ")+".")
	case !slices.Contains(fieldTypes(), kind):
		c.check.invalid("declared_type", "One of "+strings.Join(fieldTypes(), ", ")+".")
	}
	if _, sent := c.field("constraints"); sent {
		c.check.invalid("constraints", "Constraints cannot be set.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	v := s.state.vocabularyOf(id)
	f := v.governing(name)
	created := f == nil
	if created {
		if s.fieldRoom(v) == 0 {
			return fieldLimit()
		}
		f = v.add(name, kind, originUser, c.now)
		s.state.touch(s.now(), id, fieldMetadata)
	}
	return ok(member{"field", s.fieldObject(id, v, f, c.out.level)}, member{"field_created", created})
}

// isFieldName is the policy for names of fields.
func isFieldName(name string) bool {
	return !strings.ContainsFunc(name, unicode.IsControl) && !strings.ContainsAny(name, forbiddenInName)
}

// AddField adds a field. A name that is taken stays what it is.
func (s *Server) AddField(it Field) Field {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.state.vocabularyOf(it.Workspace)
	it.Name = cmp.Or(it.Name, "field "+strconv.Itoa(len(v.fields)+1))
	it.Type, it.Origin = cmp.Or(it.Type, typeString), cmp.Or(it.Origin, originAI)
	if it.Created.IsZero() {
		it.Created = s.now()
	}
	f := v.byKey[fieldKey(it.Name)]
	if f == nil {
		f = v.add(it.Name, it.Type, it.Origin, it.Created)
	}
	if into := v.governing(it.MergedInto); into != nil && into != f {
		f.into = into
	}
	s.state.touch(s.now(), it.Workspace, fieldMetadata)
	return it
}
