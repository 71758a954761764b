package emulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	factsMost  = 100 // of one write
	blockMost  = 100 // of the block in a listing
	sourceAI   = "ai"
	sourceUser = "user"

	eventFactsSet     = "metadata_kv_update"
	eventFactsDeleted = "metadata_kv_delete"
	eventExtracted    = "metadata_kv_extract"
)

// fact is what a node has under a field. The value is a string, a bool, a json.Number, a map or a list, and "" once
// it was emptied.
type fact struct {
	field                         *metaField // it is filed under, which may be retired
	value                         any
	stored                        string // its type, whatever the field claims
	source, confidence, rationale string
	updated                       time.Time
}

// factRevision is a change of the facts of a node.
type factRevision struct {
	event, user string
	fields      []string
	at          time.Time
}

// keepFact files a fact.
func (st *state) keepFact(n *node, f fact) {
	if st.metadata.facts[n.ID] == nil {
		st.metadata.facts[n.ID] = map[string]*fact{}
	}
	st.metadata.facts[n.ID][fieldKey(f.field.name)] = &f
}

// factsChanged remembers a change and tells of it.
func (s *Server) factsChanged(n *node, e Event, fields []string) {
	m := &s.state.metadata
	m.revisions[n.ID] = append(m.revisions[n.ID], factRevision{e.Name, e.CallingUser, fields, s.now()})
	s.tellNode(n, e)
}

// factsOf lists the facts of a node as the platform orders them: typed ones, identifiers, the rest.
func (st *state) factsOf(n *node) []*fact {
	group := func(f *fact) int {
		name := fieldKey(f.field.name)
		identifier := slices.ContainsFunc([]string{"_number", "_id", "_code", "_reference"}, func(end string) bool {
			return strings.HasSuffix(name, end)
		})
		switch {
		case f.field.kind != typeString:
			return 0
		case identifier:
			return 1
		}
		return 2
	}
	return slices.SortedFunc(maps.Values(st.metadata.facts[n.ID]), func(a, b *fact) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), strings.Compare(fieldKey(a.field.name), fieldKey(b.field.name)))
	})
}

// object is a fact under the key of its name that an answer uses. Only full shows where it is from, and only standard
// and full its value.
func (f *fact) object(nameKey string, lv level) object {
	r := row{level: lv}
	r.put(terse, nameKey, f.field.name)
	r.put(standard, "value", f.value)
	r.put(terse, "declared_type", f.field.kind)
	r.put(terse, "stored_type", f.stored)
	r.put(full, "source", f.source)
	r.put(full, "confidence", optional(f.confidence))
	r.put(full, "rationale", optional(f.rationale))
	r.put(full, "updated", stamp(f.updated.Unix()))
	return r.fields
}

// metadataFacts is the block in a listing of nodes. It is cut where a node has many facts.
func (st *state) metadataFacts(n *node, lv level) object {
	all := st.factsOf(n)
	shown := all[:min(len(all), blockMost)]
	o := object{{"count", len(shown)}, {"total", len(all)}, {"is_truncated", len(shown) < len(all)}}
	if lv == terse {
		names := make([]string, len(shown))
		for i, f := range shown {
			names[i] = f.field.name
		}
		return append(o, member{"fields", strings.Join(names, ", ")})
	}
	items := []object{}
	for _, f := range shown {
		items = append(items, f.object("name", lv))
	}
	return append(o, member{"items", items})
}

// readFacts answers with everything that is known about a file or note.
func (s *Server) readFacts(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, n, refusal := s.metadataNode(c, Guest, read)
	if refusal != nil {
		return *refusal
	}
	return s.factSet(c, n)
}

func (s *Server) factSet(c *call, n *node) answer {
	items := []object{}
	for _, f := range s.state.factsOf(n) {
		items = append(items, f.object("field", c.out.level))
	}
	return ok(member{"object_id", hyphenated(n.ID)}, member{"count", len(items)}, member{"items", items})
}

// written is one entry of a write of facts.
type written struct {
	name, kind string
	field      *metaField // nil for a name that becomes a field
	value      any
}

// writeFacts writes what a person says about a file or note, all of it or nothing. Names that nobody used before
// become fields.
func (s *Server) writeFacts(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, n, refusal := s.metadataNode(c, Member, write)
	if refusal != nil {
		return *refusal
	}
	v := s.state.vocabularyOf(id)
	entries, refusal := c.readFactEntries(v)
	if refusal == nil {
		refusal = s.vocabularyBusy()
	}
	if refusal != nil {
		return *refusal
	}
	if fresh := countFresh(entries); fresh > s.fieldRoom(v) {
		return fieldLimit()
	}
	var names []string
	for _, w := range entries {
		if w.field == nil {
			w.field = v.add(w.name, w.kind, originUser, c.now)
		}
		names = append(names, w.field.name)
		s.state.keepFact(n, fact{
			field: w.field, value: w.value, stored: storedType(w.field.kind, w.value), source: sourceUser, confidence: "certain", updated: c.now,
		})
	}
	if len(names) > 0 {
		s.factsChanged(n, Event{Name: eventFactsSet, CallingUser: c.key.User, Actor: s.state.actorOf(c.key)}, names)
	}
	return s.factSet(c, n)
}

func countFresh(entries []written) int {
	fresh := 0
	for _, w := range entries {
		if w.field == nil {
			fresh++
		}
	}
	return fresh
}

// storedType is the type of a value that fits a field; emptied fields hold an empty text.
func storedType(kind string, value any) string {
	if value == "" {
		return typeString
	}
	return kind
}

// readFactEntries reads the body of a write, with the fields its names stand for. What is null is left out.
func (c *call) readFactEntries(v *vocabulary) ([]written, *answer) {
	f, refusal := c.readJSON()
	if refusal != nil {
		return nil, refusal
	}
	if f.has("template_id") {
		a := refuse(http.StatusNotAcceptable, codeTemplates, "There are no templates any more.")
		return nil, &a
	}
	facts, isObject := f["facts"].(map[string]any)
	switch {
	case f["facts"] == nil:
		c.check.missing("facts", "1 to 100 values by name.")
	case !isObject:
		c.check.mistyped("facts", "object")
	case len(facts) == 0 || len(facts) > factsMost:
		c.check.invalid("facts", "1 to 100 values by name.")
	}
	var entries []written
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		w, use := c.readFact(v, name, facts[name])
		key := fieldKey(w.name)
		if taken[key] {
			c.check.invalid(name, "Two names of one field.")
		}
		if use {
			taken[key] = true
			entries = append(entries, w)
		}
	}
	return entries, c.check.refusal()
}

// readFact reads one entry and tells whether there is anything to write.
func (c *call) readFact(v *vocabulary, name string, value any) (written, bool) {
	w := written{name: name, field: v.governing(name)}
	switch {
	case name != strings.TrimSpace(name) || name == "":
		c.check.add(name, "field_name_not_canonical", "Names have no blanks around them.", codeInvalid)
		return w, false
	case utf8.RuneCountInString(name) > fieldNameMost || !isFieldName(name):
		c.check.invalid(name, "Not acceptable as the name of a field.")
		return w, false
	case value == nil:
		return w, false
	}
	w.kind = typeOf(value)
	if w.field != nil {
		w.name, w.kind = w.field.name, w.field.kind
	}
	var fits bool
	if w.value, fits = fitValue(w.kind, value); !fits {
		c.check.mistyped(name, w.kind)
		return w, false
	}
	if w.field != nil && w.field.allowed != nil && w.value != "" {
		w.value = orOther(w.field, w.value)
	}
	return w, true
}

// orOther puts what is not on the list of a field under Other.
func orOther(f *metaField, value any) string {
	if word, found := listed(f.allowed, value); found {
		return word
	}
	return categoryOther
}

// deleteFacts deletes values of a file or note: those the keys name, all of them without keys.
func (s *Server) deleteFacts(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.metadataOf(c, Member, write)
	if refusal != nil {
		return *refusal
	}
	var keys []string
	if _, sent := c.query["keys"]; sent {
		if err := json.Unmarshal([]byte(c.value("keys")), &keys); err != nil || keys == nil {
			c.check.mistyped("keys", "array of string")
		}
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	n, refusal := s.nodeWithFacts(c, id)
	if refusal != nil {
		return *refusal
	}
	var deleted []string
	for _, f := range s.state.factsOf(n) {
		named := slices.ContainsFunc(keys, func(key string) bool { return fieldKey(key) == fieldKey(f.field.name) })
		if named || len(keys) == 0 {
			delete(s.state.metadata.facts[n.ID], fieldKey(f.field.name))
			deleted = append(deleted, f.field.name)
		}
	}
	if len(deleted) > 0 {
		s.factsChanged(n, Event{Name: eventFactsDeleted, CallingUser: c.key.User, Actor: s.state.actorOf(c.key)}, deleted)
	}
	return ok(member{"object_id", hyphenated(n.ID)}, member{"deleted", len(deleted)})
}

// AddFact adds a fact, or replaces the one under the same field. A field that does not exist yet takes its type from
// the value. The node must exist.
func (s *Server) AddFact(it Fact) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.state.nodes[plain(it.Node)]
	if n == nil || !n.hasContent() {
		return fmt.Errorf("emulator: there is no file or note %q", it.Node)
	}
	text, err := json.Marshal(it.Value)
	if err != nil {
		return fmt.Errorf("emulator: the value of %q: %w", it.Field, err)
	}
	var value any
	if err := decode(text, &value); err != nil {
		return fmt.Errorf("emulator: the value of %q: %w", it.Field, err)
	}
	now := s.now()
	v := s.state.vocabularyOf(n.Profile)
	f := v.governing(it.Field)
	if f == nil {
		f = v.add(it.Field, typeOf(value), originAI, now)
	}
	if it.Updated.IsZero() {
		it.Updated = now
	}
	kept := fact{
		field: f, value: value, stored: typeOf(value), source: cmp.Or(it.Source, sourceAI),
		confidence: it.Confidence, rationale: it.Rationale, updated: it.Updated,
	}
	if fitted, fits := fitValue(f.kind, value); fits {
		kept.value, kept.stored = fitted, storedType(f.kind, fitted)
	}
	s.state.keepFact(n, kept)
	s.state.touch(now, n.Profile, fieldMetadata)
	return nil
}
