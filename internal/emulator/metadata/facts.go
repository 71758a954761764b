package metadata

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
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

// fact is a value of a node: string, bool, json.Number, map or list, "" if emptied.
type fact struct {
	field                         *metaField // it is filed under, which may be retired
	value                         any
	stored                        string // its type, whatever the field claims
	source, confidence, rationale string
	updated                       time.Time
}

// factRevision is a change of the facts of a node, by a user.
type factRevision struct {
	event, user string
	fields      []string
	at          time.Time
}

// keepFact adds a fact to a node, or replaces the one in the same field.
func (h *Handlers) keepFact(n *world.Node, f fact) {
	if h.metadata.facts[n.ID] == nil {
		h.metadata.facts[n.ID] = map[string]*fact{}
	}
	h.metadata.facts[n.ID][fieldKey(f.field.name)] = &f
}

// factsChanged records a change of the facts of a node, and writes an event.
func (h *Handlers) factsChanged(n *world.Node, e world.Event, fields []string) {
	m := &h.metadata
	m.revisions[n.ID] = append(m.revisions[n.ID], factRevision{e.Name, e.CallingUser, fields, h.w.Now()})
	h.w.NodeEvent(n, e)
}

// factsOf returns the facts of a node in the order of the platform: first those in
// fields that are not text, then identifiers, then the rest.
func (m *metadataState) factsOf(n *world.Node) []*fact {
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
	return slices.SortedFunc(maps.Values(m.facts[n.ID]), func(a, b *fact) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), strings.Compare(fieldKey(a.field.name), fieldKey(b.field.name)))
	})
}

// object renders a fact, with the name of its field as the member nameKey. Only the
// level full has its source.
func (f *fact) object(nameKey string, lv wire.Level) wire.Object {
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, nameKey, f.field.name)
	r.Put(wire.Standard, "value", f.value)
	r.Put(wire.Terse, "declared_type", f.field.kind)
	r.Put(wire.Terse, "stored_type", f.stored)
	r.Put(wire.Full, "source", f.source)
	r.Put(wire.Full, "confidence", wire.TextOrNull(f.confidence))
	r.Put(wire.Full, "rationale", wire.TextOrNull(f.rationale))
	r.Put(wire.Full, "updated", wire.Stamp(f.updated.Unix()))
	return r.Fields
}

// Facts renders the facts of a node in a listing, up to a limit.
func (h *Handlers) Facts(n *world.Node, lv wire.Level) wire.Object {
	all := h.metadata.factsOf(n)
	shown := all[:min(len(all), blockMost)]
	o := wire.Object{{"count", len(shown)}, {"total", len(all)}, {"is_truncated", len(shown) < len(all)}}
	if lv == wire.Terse {
		names := make([]string, len(shown))
		for i, f := range shown {
			names[i] = f.field.name
		}
		return append(o, wire.Member{"fields", strings.Join(names, ", ")})
	}
	items := wire.Rows(shown, func(f *fact) wire.Object { return f.object("name", lv) })
	return append(o, wire.Member{"items", items})
}

// readFacts returns the facts of a node.
func (h *Handlers) readFacts(c *wire.Call, _ string, n *world.Node) (wire.Object, error) {
	items := wire.Rows(h.metadata.factsOf(n), func(f *fact) wire.Object { return f.object("field", c.Out.Level) })
	return wire.Object{{"object_id", wire.Hyphenated(n.ID)}, {"count", len(items)}, {"items", items}}, nil
}

// written is a fact that a call writes.
type written struct {
	name, kind string
	field      *metaField // nil for a name that becomes a field
	value      any
}

// writeFacts writes the facts of a node, all or none. It creates fields for new names,
// if the plan allows so many more.
func (h *Handlers) writeFacts(c *wire.Call, id string, n *world.Node) (wire.Object, error) {
	v := h.vocabularyOf(id)
	entries, err := readFactEntries(c, v)
	if err == nil {
		err = h.refuseBusyVocabulary()
	}
	if err != nil {
		return nil, err
	}
	if fresh := wire.Filter(entries, func(w written) bool { return w.field == nil }); len(fresh) > h.fieldsLeft(v) {
		return nil, fieldLimit()
	}
	var names []string
	for _, w := range entries {
		if w.field == nil {
			w.field = v.addField(w.name, w.kind, originUser, c.Now)
		}
		names = append(names, w.field.name)
		h.keepFact(n, fact{
			field: w.field, value: w.value, stored: storedType(w.field.kind, w.value), source: sourceUser,
			confidence: "certain",
			updated:    c.Now,
		})
	}
	if len(names) > 0 {
		h.factsChanged(n, world.Event{Name: eventFactsSet, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)}, names)
	}
	return h.readFacts(c, id, n)
}

// storedType returns the type of a value in a field of a kind: an empty text is a
// string in any field.
func storedType(kind string, value any) string {
	if value == "" {
		return typeString
	}
	return kind
}

// readFactEntries returns the facts that a call writes, without those whose value is
// null, which leaves a fact as it is. Two names of the same field are an error.
func readFactEntries(c *wire.Call, v *vocabulary) ([]written, error) {
	f := c.JSON
	if f.Has("template_id") {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeTemplates, "There are no templates any more.")
	}
	facts, isObject := f["facts"].(map[string]any)
	switch {
	case f["facts"] == nil:
		c.Check.Missing("facts", "1 to 100 values by name.")
	case !isObject:
		c.Check.Mistyped("facts", "object")
	case len(facts) == 0 || len(facts) > factsMost:
		c.Check.Invalid("facts", "1 to 100 values by name.")
	}
	var entries []written
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		w, isToWrite := readFact(c, v, name, facts[name])
		key := fieldKey(w.name)
		c.Check.InvalidIf(taken[key], name, "Two names of one field.")
		if isToWrite {
			taken[key] = true
			entries = append(entries, w)
		}
	}
	return entries, c.Check.Err()
}

// readFact returns one fact that a call writes, and false if there is nothing to
// write: the value is null or not valid.
func readFact(c *wire.Call, v *vocabulary, name string, value any) (written, bool) {
	w := written{name: name, field: v.liveField(name)}
	switch {
	case name != strings.TrimSpace(name) || name == "":
		c.Check.Add(name, "field_name_not_canonical", "Names have no blanks around them.", wire.CodeInvalid)
		return w, false
	case utf8.RuneCountInString(name) > fieldNameMost || !isFieldName(name):
		c.Check.Invalid(name, "Not acceptable as the name of a field.")
		return w, false
	case value == nil:
		return w, false
	}
	w.kind = typeOf(value)
	if w.field != nil {
		w.name, w.kind = w.field.name, w.field.kind
	}
	var fits bool
	w.value, fits = fitValue(w.kind, value)
	if !fits {
		c.Check.Mistyped(name, w.kind)
		return w, false
	}
	if w.field != nil && w.field.allowed != nil && w.value != "" { // a value that is not in the list becomes Other
		word, _ := listedWord(w.field.allowed, w.value)
		w.value = cmp.Or(word, categoryOther)
	}
	return w, true
}

// deleteFacts deletes facts of a node: those of the fields in the parameter keys, a JSON
// list of names, or all facts if keys is left out or empty.
func (h *Handlers) deleteFacts(c *wire.Call, id string) (wire.Object, error) {
	var keys []string
	if _, sent := c.Query["keys"]; sent {
		if err := json.Unmarshal([]byte(c.Value("keys")), &keys); err != nil || keys == nil { // nil: the JSON is null
			c.Check.Mistyped("keys", "array of string")
		}
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	n, err := h.nodeWithFacts(c, id)
	if err != nil {
		return nil, err
	}
	var deleted []string
	for _, f := range h.metadata.factsOf(n) {
		isNamed := slices.ContainsFunc(keys, func(key string) bool { return fieldKey(key) == fieldKey(f.field.name) })
		if isNamed || len(keys) == 0 {
			delete(h.metadata.facts[n.ID], fieldKey(f.field.name))
			deleted = append(deleted, f.field.name)
		}
	}
	if len(deleted) > 0 {
		h.factsChanged(n, world.Event{Name: eventFactsDeleted, CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key)}, deleted)
	}
	return wire.Object{{"object_id", wire.Hyphenated(n.ID)}, {"deleted", len(deleted)}}, nil
}

// AddFact adds a fact, or replaces that of the same field. A new field gets the
// type of the value. The node must exist.
func (h *Handlers) AddFact(it world.Fact) error {
	h.w.Lock()
	defer h.w.Unlock()
	n := h.w.AnyNode(wire.Plain(it.Node))
	if n == nil || !n.HasContent() {
		return fmt.Errorf("emulator: there is no file or note %q", it.Node)
	}
	text, err := json.Marshal(it.Value)
	if err != nil {
		return fmt.Errorf("emulator: the value of %q: %w", it.Field, err)
	}
	var value any // of the types that a value in a request has, such as json.Number
	if err := wire.Decode(text, &value); err != nil {
		return fmt.Errorf("emulator: the value of %q: %w", it.Field, err)
	}
	now := h.w.Now()
	v := h.vocabularyOf(n.Profile)
	f := v.liveField(it.Field)
	if f == nil {
		f = v.addField(it.Field, typeOf(value), originAI, now)
	}
	it.Updated = cmp.Or(it.Updated, now)
	kept := fact{
		field: f, value: value, stored: typeOf(value), source: cmp.Or(it.Source, sourceAI),
		confidence: it.Confidence, rationale: it.Rationale, updated: it.Updated,
	}
	if fitted, fits := fitValue(f.kind, value); fits {
		kept.value, kept.stored = fitted, storedType(f.kind, fitted)
	}
	h.keepFact(n, kept)
	h.w.MarkChanged(now, n.Profile, fieldMetadata)
	return nil
}

// Types of metadata fields.
const (
	typeString   = "string"
	typeBool     = "bool"
	typeInt      = "int"
	typeFloat    = "float"
	typeJSON     = "json"
	typeURL      = "url"
	typeDatetime = "datetime"
)

// fieldTypes returns the types that a field can have.
func fieldTypes() []string {
	return []string{typeString, typeBool, typeInt, typeFloat, typeJSON, typeURL, typeDatetime}
}

const valueMost = 4096 // characters of a string

// fitValue converts a value to the form in which a field of a type stores it: a
// string, a bool, a json.Number, a map or a list. It returns false for a value that
// does not fit. An empty text fits every type.
func fitValue(kind string, value any) (any, bool) {
	text, isText := value.(string)
	if isText && text == "" {
		return "", true
	}
	switch kind {
	case typeString:
		return value, isText && utf8.RuneCountInString(text) <= valueMost
	case typeBool:
		if b, isBool := value.(bool); isBool {
			return b, true
		}
		return text == "true", text == "true" || text == "false"
	case typeInt, typeFloat:
		return fitNumber(kind, value)
	case typeDatetime:
		t, isTime := readISO(text)
		return t.UTC().Format(time.RFC3339), isTime
	case typeURL:
		return text, isWebAddress(text)
	default:
		return value, isStructure(value)
	}
}

// fitNumber converts a number, or a text that is one without separators or currency. It
// returns false for any other value, and for a fraction if the type is int.
func fitNumber(kind string, value any) (any, bool) {
	n, isNumber := value.(json.Number)
	if text, isText := value.(string); isText {
		n, isNumber = json.Number(text), plainNumber().MatchString(text)
	}
	if kind == typeInt && strings.ContainsAny(n.String(), ".eE") {
		return nil, false
	}
	_, err := n.Float64() // fails beyond its range
	return n, isNumber && err == nil
}

// plainNumber matches a decimal number as JSON writes it, without an exponent.
func plainNumber() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`) }

// readISO parses a time or date of ISO 8601. It returns false for any other text.
func readISO(text string) (time.Time, bool) {
	for _, layout := range [...]string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// isWebAddress reports whether a text is a URL with http or https and a host, and not
// longer than a value may be.
func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		utf8.RuneCountInString(text) <= valueMost
}

// isStructure reports whether a value is a JSON object or list.
func isStructure(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// typeOf returns the type that a new field gets from its first value.
func typeOf(value any) string {
	switch v := value.(type) {
	case bool:
		return typeBool
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return typeFloat
		}
		return typeInt
	case string:
		if _, isTime := readISO(v); isTime {
			return typeDatetime
		}
		if isWebAddress(v) {
			return typeURL
		}
		return typeString
	default:
		return typeJSON
	}
}

// typedValue returns the bool or number that a text stands for, and otherwise the text.
func typedValue(text string) any {
	switch {
	case text == "true", text == "false":
		return text == "true"
	case plainNumber().MatchString(text):
		return json.Number(text)
	}
	return text
}

// sameValue reports whether two stored values are equal; numbers are compared as
// numbers.
func sameValue(a, b any) bool { return valueText(a) == valueText(b) }

// valueText returns a value as text for searches and comparisons. A number with a
// fraction or an exponent has its shortest form.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		f, err := v.Float64()
		if err != nil || !strings.ContainsAny(v.String(), ".eE") {
			return v.String()
		}
		value = f
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// listedWord returns the word of a list that equals a value except for case. It returns
// false if there is none.
func listedWord(allowed []string, value any) (string, bool) {
	text, isText := value.(string)
	i := slices.IndexFunc(allowed, func(word string) bool { return isText && strings.EqualFold(word, text) })
	if i < 0 {
		return "", false
	}
	return allowed[i], true
}

// Export adds the fields and facts to a seed file. The caller holds the lock.
func (h *Handlers) Export(f *world.SeedFile) {
	for _, id := range slices.Sorted(maps.Keys(h.metadata.vocabularies)) {
		for _, field := range h.metadata.vocabularies[id].fields {
			it := world.Field{Workspace: id, Name: field.name, Type: field.kind, Origin: field.origin, Created: field.created}
			if field.into != nil {
				it.MergedInto = field.into.name
			}
			f.Fields = append(f.Fields, it)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.metadata.facts)) {
		for _, key := range slices.Sorted(maps.Keys(h.metadata.facts[id])) {
			it := h.metadata.facts[id][key]
			f.Facts = append(f.Facts, world.Fact{
				Node: id, Field: it.field.name, Value: it.value, Source: it.source, Confidence: it.confidence,
				Rationale: it.rationale, Updated: it.updated,
			})
		}
	}
}
