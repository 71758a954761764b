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

// categories returns the values that the standard field category can have.
func categories() []string {
	return []string{
		"Legal", "Finance", "Sales", "Marketing", "Engineering", "Product", "Operations", "People", "Research", "Media",
		"Personal", categoryOther,
	}
}

// subCategories returns the values that the standard field sub_category can have.
func subCategories() []string {
	return []string{
		"Contract", "Agreement", "Invoice", "Receipt", "Statement", "Report", "Proposal", "Specification", "Policy",
		"Plan",
		"Correspondence", "Presentation", "Record", "Resume", "Identifier", "Image", "Video", "Audio", "Dataset",
		categoryOther,
	}
}

// metaField is a field of a vocabulary. It is never deleted; a merge retires it.
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

// fieldKey returns the key of a field: names that differ only in case are the same.
func fieldKey(name string) string { return strings.ToLower(name) }

// vocabularyOf returns the metadata fields of a workspace, the two standard ones first,
// which the first call for a workspace creates.
func (h *Handlers) vocabularyOf(workspaceID string) *vocabulary {
	v := h.metadata.vocabularies[workspaceID]
	if v == nil {
		v = &vocabulary{byKey: map[string]*metaField{}}
		h.metadata.vocabularies[workspaceID] = v
		var created time.Time
		if w := h.w.Workspace(workspaceID); w != nil {
			created = time.Unix(w.Created, 0)
		}
		v.addField(fieldCategory, typeString, originAI, created).allowed = categories()
		v.addField(fieldSub, typeString, originAI, created).allowed = subCategories()
	}
	return v
}

// addField adds a live field, which is one that is not merged into another.
func (v *vocabulary) addField(name, kind, origin string, created time.Time) *metaField {
	f := &metaField{name: name, kind: kind, origin: origin, revision: 1, created: created, updated: created}
	v.fields = append(v.fields, f)
	v.byKey[fieldKey(name)] = f
	return f
}

// liveField returns the live field of a name: the field itself or, after a merge, the
// one that it was merged into. It returns nil if there is none.
func (v *vocabulary) liveField(name string) *metaField {
	f := v.byKey[fieldKey(name)]
	for f != nil && f.into != nil {
		f = f.into
	}
	return f
}

// withMerged returns a live field and the fields that were merged into it.
func (v *vocabulary) withMerged(f *metaField) []*metaField {
	return wire.Filter(v.fields, func(g *metaField) bool { return v.liveField(g.name) == f })
}

// fieldsLeft returns how many more fields a vocabulary may have. The limit is an option, of
// which 0 allows any number.
func (h *Handlers) fieldsLeft(v *vocabulary) int {
	if h.w.Options.Metadata.FieldLimit == 0 {
		return math.MaxInt32
	}
	return max(0, h.w.Options.Metadata.FieldLimit-len(v.fields))
}

// fieldLimit returns the refusal of one field too many.
func fieldLimit() error {
	return wire.Refuse(http.StatusRequestEntityTooLarge, codeFieldLimit,
		"The workspace has as many fields as it may have.")
}

// nodesWithValue returns the nodes that have a value of one of the fields, nodes in the
// trash included.
func (h *Handlers) nodesWithValue(workspaceID string, group ...*metaField) []*world.Node {
	var found []*world.Node
	for _, id := range h.w.NodeIDs() {
		n := h.w.AnyNode(id)
		if n.Profile == workspaceID && slices.ContainsFunc(group,
			func(f *metaField) bool { return h.metadata.fact(n, f) != nil }) {
			found = append(found, n)
		}
	}
	return found
}

// fact returns the fact of a node in exactly this field, without those merged into it;
// nil if there is none or its value is empty.
func (m *metadataState) fact(n *world.Node, f *metaField) *fact {
	found := m.facts[n.ID][fieldKey(f.name)]
	if found == nil || found.value == "" {
		return nil
	}
	return found
}

// fieldObject renders a live field. The names of the fields that were merged into it are its
// aliases. By an option, the number of its files cannot be read and is left out.
func (h *Handlers) fieldObject(workspaceID string, v *vocabulary, f *metaField, lv wire.Level) wire.Object {
	aliases, constraints := []string{}, any(nil)
	group := v.withMerged(f)
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
	r.PutIf(!h.w.Options.Metadata.CountsUnreadable, wire.Standard, "file_count",
		len(h.nodesWithValue(workspaceID, group...)))
	r.Put(wire.Terse, "created", wire.Stamp(f.created.Unix()))
	r.Put(wire.Terse, "updated", wire.Stamp(f.updated.Unix()))
	return r.Fields
}

// listFields returns a page of the live fields of a workspace or, with the parameter
// field, of the values of that field.
func (h *Handlers) listFields(c *wire.Call, id string) (wire.Object, error) {
	v := h.vocabularyOf(id)
	p := h.readPage(c, c.Integer("page_size", fieldPage, 1, fieldPageMost), "field")
	var named *metaField
	if name := c.Value("field"); name != "" {
		named = v.liveField(name)
		if named == nil {
			c.Check.Invalid("field", "There is no such field.")
		}
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if named != nil {
		return renderPage(h, p, h.observedValues(id, v.withMerged(named)), func(o *observation) wire.Object {
			return wire.Object{{"value", o.value}, {"count", o.count}}
		}), nil
	}
	return renderPage(h, p, v.fields, func(f *metaField) wire.Object {
		if f.into != nil {
			return nil
		}
		return h.fieldObject(id, v, f, c.Out.Level)
	}), nil
}

// observation is a value of a field, and how many facts have it.
type observation struct {
	value any
	count int
}

// observedValues returns the values that nodes have in a group of fields (one and those
// merged into it), with their numbers of nodes, the most frequent first.
func (h *Handlers) observedValues(workspaceID string, group []*metaField) []*observation {
	var values []*observation
	for _, n := range h.nodesWithValue(workspaceID, group...) {
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

// declareField creates a field with a name and a type, or returns the field that has the
// name, whatever its type. The response says whether it was created.
func (h *Handlers) declareField(c *wire.Call, id string) (wire.Object, error) {
	name, _ := c.Field("name")
	name = strings.TrimSpace(name)
	kind, _ := c.Field("declared_type")
	checkFieldName(&c.Check, "name", name) // only its length; isFieldName checks the characters
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
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	v := h.vocabularyOf(id)
	f := v.liveField(name)
	created := f == nil
	if created {
		if h.fieldsLeft(v) == 0 {
			return nil, fieldLimit()
		}
		f = v.addField(name, kind, originUser, c.Now)
		h.w.MarkChanged(h.w.Now(), id, fieldMetadata)
	}
	return wire.Object{{"field", h.fieldObject(id, v, f, c.Out.Level)}, {"field_created", created}}, nil
}

// isFieldName reports whether a name has only characters that a field may have.
func isFieldName(name string) bool {
	return !strings.ContainsFunc(name, unicode.IsControl) && !strings.ContainsAny(name, forbiddenInName)
}

// AddField adds a field to its workspace, unless that has a field of the name already. If
// MergedInto names another field, the new or existing field is marked as merged into that.
// It returns the given field with defaults.
func (h *Handlers) AddField(it world.Field) world.Field {
	h.w.Lock()
	defer h.w.Unlock()
	v := h.vocabularyOf(it.Workspace)
	it.Name = cmp.Or(it.Name, "field "+strconv.Itoa(len(v.fields)+1))
	it.Type, it.Origin = cmp.Or(it.Type, typeString), cmp.Or(it.Origin, originAI)
	it.Created = cmp.Or(it.Created, h.w.Now())
	f := v.byKey[fieldKey(it.Name)]
	if f == nil {
		f = v.addField(it.Name, it.Type, it.Origin, it.Created)
	}
	if into := v.liveField(it.MergedInto); into != nil && into != f {
		f.into = into
	}
	h.w.MarkChanged(h.w.Now(), it.Workspace, fieldMetadata)
	return it
}

// OpMerge is an operation whose rate is limited.
const OpMerge = "metadata.Fields.Merge"

const proposalsPage = 10

// merging is a request to merge one field into another.
type merging struct {
	source, target string
	confirm        bool
}

// mergeFields merges a field into another one or, without confirmation, returns what
// that would do. If the merge is not allowed, the call succeeds and the response says
// why. It fails if fields are being written, or the numbers of files cannot be read;
// both happen by options.
func (h *Handlers) mergeFields(c *wire.Call, id string) (wire.Object, error) {
	m, err := readMerging(c)
	if err != nil {
		return nil, err
	}
	if err := h.refuseBusyVocabulary(); err != nil {
		return nil, err
	}
	if h.w.Options.Metadata.CountsUnreadable {
		return nil, wire.Refuse(http.StatusServiceUnavailable, codeVocabulary,
			"Temporarily Unavailable: the counts cannot be read.")
	}
	return h.mergeOrPreview(c, id, m)
}

// readMerging reads the names of two fields, and whether the merge is confirmed, from a
// body that is JSON or a form.
func readMerging(c *wire.Call) (merging, error) {
	var m merging
	if wire.MediaType(c.Request.Header) == wire.FormType {
		if err := c.ReadForm(); err != nil {
			return m, err
		}
		m.source, _ = c.Field("source")
		m.target, _ = c.Field("target")
		if text, sent := c.Field("confirm"); sent {
			m.confirm = c.Check.ReadBoolean("confirm", text)
		}
	} else {
		f, err := c.ReadJSON()
		if err != nil {
			return m, err
		}
		m.source, m.target = f.Text(c, "source"), f.Text(c, "target")
		if sent, given := f["confirm"]; given {
			confirm, isBool := sent.(bool)
			c.Check.MistypedIf(!isBool, "confirm", "boolean")
			m.confirm = confirm
		}
	}
	if len(c.Check.Failed) == 0 {
		checkFieldName(&c.Check, "source", m.source)
		checkFieldName(&c.Check, "target", m.target)
	}
	return m, c.Check.Err()
}

// mergeOrPreview merges a field into another one, if m is confirmed and nothing forbids it.
// It returns what was done, or would be: how many files have had each field before, and why
// the platform would refuse.
func (h *Handlers) mergeOrPreview(c *wire.Call, workspaceID string, m merging) (wire.Object, error) {
	v := h.vocabularyOf(workspaceID)
	source, target := v.byKey[fieldKey(m.source)], v.liveField(m.target) // the source may be merged already
	if source != nil && source == target {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeMergeItself, "A field cannot be merged into itself.")
	}
	isMerged := source != nil && source.into != nil
	alreadyMerged := isMerged && v.liveField(source.name) == target // directly, or through other fields
	refused := h.refuseMerge(workspaceID, v, source, target)        // also if one of them does not exist
	sourceFiles, targetFiles, snapshot := 0, 0, any(nil)
	if source != nil {
		m.source = source.name // in the response, with its upper and lower case
		sourceFiles = len(h.nodesWithValue(workspaceID, v.withMerged(source)...))
	}
	if target != nil {
		m.target = target.name
		targetFiles = len(h.nodesWithValue(workspaceID, v.withMerged(target)...))
	}
	if refused == nil && !alreadyMerged {
		snapshot = wire.Object{
			{"source_revision", source.revision},
			{"target_revision", target.revision},
			// Its meaning is assumed: the fields that the target then stands for.
			{"group_size", len(v.withMerged(source)) + len(v.withMerged(target))},
		}
	}
	mergesNow := m.confirm && refused == nil && !alreadyMerged
	if mergesNow {
		source.into = target
		source.revision++
		target.revision++
		source.updated, target.updated = c.Now, c.Now
		h.w.MarkChanged(h.w.Now(), workspaceID, fieldMetadata)
	}
	return wire.Object{
		{"source", m.source},
		{"target", m.target},
		{"files_affected", sourceFiles},
		{"target_files_before", targetFiles},
		{"would_refuse", orNothing(refused)},
		{"merged", mergesNow},
		{"already_merged", alreadyMerged},
		{"snapshot", snapshot},
	}, nil
}

// orNothing returns an object, or an untyped nil for a nil one, so that JSON has null.
func orNothing(o wire.Object) any {
	if o == nil {
		return nil
	}
	return o
}

// refuseMerge returns the reason why two fields cannot be merged, nil if they can be
// or already are.
func (h *Handlers) refuseMerge(workspaceID string, v *vocabulary, source, target *metaField) wire.Object {
	reason := func(name, message string, more ...wire.Member) wire.Object {
		return append(wire.Object{{"reason", name}, {"message", message}}, more...)
	}
	if source == nil {
		return reason("merge_source_unknown", "There is no such source field.")
	}
	live := v.liveField(source.name)
	wasMerged := live != source
	switch {
	case wasMerged && live != target:
		return reason("merge_source_already_merged", "The source was merged into "+live.name+" before.",
			wire.Member{"source_resolves_to", live.name})
	case wasMerged: // into the target
		return nil
	case target == nil:
		return reason("merge_target_unknown", "There is no such target field.")
	case source.allowed != nil || target.allowed != nil: // only fields of the platform have a list of values
		return reason("merge_refused_reserved_name", "category and sub_category belong to the platform.")
	case source.kind != target.kind:
		return reason("merge_refused_type_mismatch", "The source is "+source.kind+", the target "+target.kind+".")
	case h.wouldHide(workspaceID, v.withMerged(source), v.withMerged(target)):
		return reason("merge_refused_user_authored", "People wrote different values under the two on the same file.")
	}
	return nil
}

// wouldHide reports whether a merge of two groups of fields would hide a value: users have
// written different values for both on one node.
func (h *Handlers) wouldHide(workspaceID string, sources, targets []*metaField) bool {
	fromUser := func(f *fact) bool { return f != nil && f.source == sourceUser }
	for _, n := range h.nodesWithValue(workspaceID, sources...) {
		for _, source := range sources {
			for _, target := range targets {
				a, b := h.metadata.fact(n, source), h.metadata.fact(n, target)
				if fromUser(a) && fromUser(b) && !sameValue(a.value, b.value) {
					return true
				}
			}
		}
	}
	return false
}

// proposal is a pair of fields that may mean the same.
type proposal struct {
	source, target *metaField
	reason         string
	affected       int
}

// mergeCandidates returns a page of the pairs of similar fields that can be merged. The
// offset counts all similar pairs, so that a page can have less than its size. With the
// option VocabularyUnscanned there are none, as before the platform has looked for them.
func (h *Handlers) mergeCandidates(c *wire.Call, id string) (wire.Object, error) {
	offset := c.Integer("offset", 0, 0, math.MaxInt32)
	v := h.vocabularyOf(id)
	var all []proposal
	if !h.w.Options.Metadata.VocabularyUnscanned {
		all = h.proposals(id, v)
	}
	end := min(offset+proposalsPage, len(all))
	fit := wire.Filter(all[min(offset, end):end],
		func(p proposal) bool { return h.refuseMerge(id, v, p.source, p.target) == nil })
	items := wire.Rows(fit, func(p proposal) wire.Object {
		return wire.Object{{"source", p.source.name}, {"target", p.target.name}, {"reason", p.reason}}
	})
	next := any(nil)
	if end < len(all) {
		next = end
	}
	return wire.Object{
		{"items", items},
		{"next_offset", next},
		{"vocabulary_scanned", !h.w.Options.Metadata.VocabularyUnscanned},
		{"proposals_examined", end},
		{"proposals_total", len(all)},
	}, c.Check.Err()
}

// proposals returns the pairs of similar fields, those with the fewest files first.
// The source of a pair is the field with fewer files or, if both have equally many, the
// younger one.
func (h *Handlers) proposals(workspaceID string, v *vocabulary) []proposal {
	counts := map[*metaField]int{}
	for _, f := range v.fields {
		counts[f] = len(h.nodesWithValue(workspaceID, v.withMerged(f)...))
	}
	var found []proposal
	for i, target := range v.fields {
		for _, source := range v.fields[i+1:] {
			reason := similarity(source.name, target.name)
			if reason == "" || source.into != nil || target.into != nil {
				continue
			}
			p := proposal{source, target, reason, counts[source]}
			if counts[source] > counts[target] {
				p = proposal{target, source, reason, counts[target]}
			}
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b proposal) int { return cmp.Compare(a.affected, b.affected) })
	return found
}

// similarity returns the reason why two names may mean the same, "" if there is none.
func similarity(a, b string) string {
	switch {
	case foldName(a) == foldName(b):
		return "separator_or_case_variant"
	case concept(a) == concept(b):
		return "semantic_same_concept"
	}
	return ""
}

// foldName returns a name in lower case without blanks, underscores and hyphens.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// concept returns a name in which synonyms are replaced by the same word (amount and sum by
// total), so that it is equal for names that mean the same.
func concept(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(fieldSpacers, r) })
	for i, word := range words {
		for _, same := range [...][]string{
			{"total", "amount", "sum"},
			{"vendor", "supplier", "seller"},
			{"customer", "client", "buyer"},
			{"number", "no", "num"},
			{"due", "deadline"},
			{"start", "begin"},
			{"end", "expiry", "expiration"},
		} {
			if slices.Contains(same, word) {
				words[i] = same[0]
			}
		}
	}
	return strings.Join(words, " ")
}
