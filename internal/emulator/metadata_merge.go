package emulator

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
)

const (
	opMerge       = "metadata.Fields.Merge"
	proposalsPage = 10
)

// merging is the body of a merge.
type merging struct {
	source, target string
	confirm        bool
}

// mergeFields folds a field into another, or tells what that would do. What speaks against it is part of the answer,
// not an error.
func (s *Server) mergeFields(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.metadataOf(c, Admin, admin)
	if refusal != nil {
		return *refusal
	}
	m, refusal := c.readMerging()
	if refusal != nil {
		return *refusal
	}
	if refusal := s.vocabularyBusy(); refusal != nil {
		return *refusal
	}
	if s.o.Metadata.CountsUnreadable {
		return refuse(http.StatusServiceUnavailable, codeVocabulary, "Temporarily Unavailable: the counts cannot be read.")
	}
	return s.merge(c, id, m)
}

// readMerging reads the body, which is JSON or a form as its type says, and never the query. Names stay as they are.
func (c *call) readMerging() (merging, *answer) {
	var m merging
	if mediaType(c.r.Header) == formType {
		if !c.readForm() {
			a := noForm()
			return m, &a
		}
		m.source, _ = c.field("source")
		m.target, _ = c.field("target")
		if text, sent := c.field("confirm"); sent {
			m.confirm = c.check.yes("confirm", text)
		}
	} else {
		f, refusal := c.readJSON()
		if refusal != nil {
			return m, refusal
		}
		m.source, m.target = f.text(c, "source"), f.text(c, "target")
		if sent, given := f["confirm"]; given {
			confirm, isBool := sent.(bool)
			if !isBool {
				c.check.mistyped("confirm", "boolean")
			}
			m.confirm = confirm
		}
	}
	if len(c.check.failed) == 0 {
		c.check.nameOf("source", m.source)
		c.check.nameOf("target", m.target)
	}
	return m, c.check.refusal()
}

// yes reads a boolean of a form.
func (k *check) yes(name, text string) bool {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		return true
	case "false", "0", "no", "off":
		return false
	}
	k.mistyped(name, "boolean")
	return false
}

func (s *Server) merge(c *call, workspaceID string, m merging) answer {
	st := &s.state
	v := st.vocabularyOf(workspaceID)
	source, target := v.byKey[fieldKey(m.source)], v.governing(m.target)
	if source != nil && source == target {
		return refuse(http.StatusNotAcceptable, codeMergeItself, "A field cannot be merged into itself.")
	}
	done := source != nil && source.into != nil && v.governing(source.name) == target
	refused := st.refuseMerge(workspaceID, v, source, target)
	var affected, before, snapshot any = 0, 0, nil
	if source != nil {
		m.source = source.name
		affected = len(st.holders(workspaceID, v.group(source)...))
	}
	if target != nil {
		m.target = target.name
		before = len(st.holders(workspaceID, v.group(target)...))
	}
	if refused == nil && !done {
		snapshot = object{
			{"source_revision", source.revision},
			{"target_revision", target.revision},
			{"group_size", len(v.group(source)) + len(v.group(target))},
		}
	}
	merged := m.confirm && refused == nil && !done
	if merged {
		source.into = target
		source.revision++
		target.revision++
		source.updated, target.updated = c.now, c.now
		st.touch(s.now(), workspaceID, fieldMetadata)
	}
	return ok(
		member{"source", m.source},
		member{"target", m.target},
		member{"files_affected", affected},
		member{"target_files_before", before},
		member{"would_refuse", orNothing(refused)},
		member{"merged", merged},
		member{"already_merged", done},
		member{"snapshot", snapshot},
	)
}

func orNothing(o object) any {
	if o == nil {
		return nil
	}
	return o
}

// refuseMerge tells what speaks against a merge, nil when nothing does or it was done before.
func (st *state) refuseMerge(workspaceID string, v *vocabulary, source, target *metaField) object {
	reason := func(name, message string, more ...member) object {
		return append(object{{"reason", name}, {"message", message}}, more...)
	}
	switch {
	case source == nil:
		return reason("merge_source_unknown", "There is no such source field.")
	case source.into != nil && v.governing(source.name) != target:
		into := v.governing(source.name).name
		return reason("merge_source_already_merged", "The source was merged into "+into+" before.", member{"source_resolves_to", into})
	case source.into != nil:
		return nil
	case target == nil:
		return reason("merge_target_unknown", "There is no such target field.")
	case source.allowed != nil || target.allowed != nil:
		return reason("merge_refused_reserved_name", "category and sub_category belong to the platform.")
	case source.kind != target.kind:
		return reason("merge_refused_type_mismatch", "The source is "+source.kind+", the target "+target.kind+".")
	case st.hides(workspaceID, v.group(source), v.group(target)):
		return reason("merge_refused_user_authored", "People wrote different values under the two on the same file.")
	}
	return nil
}

// hides tells whether people gave a node different values under two groups of fields: one would hide the other.
func (st *state) hides(workspaceID string, a, b []*metaField) bool {
	for _, n := range st.holders(workspaceID, a...) {
		for _, f := range a {
			for _, g := range b {
				x, y := st.fact(n, f), st.fact(n, g)
				if x != nil && y != nil && x.source == sourceUser && y.source == sourceUser && !sameValue(x.value, y.value) {
					return true
				}
			}
		}
	}
	return false
}

// proposal is a pair of fields that look like one.
type proposal struct {
	source, target *metaField
	reason         string
	affected       int
}

// mergeCandidates answers with the pairs that can be merged among the next few that look alike, in a ranking that is
// made anew for every call.
func (s *Server) mergeCandidates(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, refusal := s.metadataOf(c, Admin, admin)
	offset := c.integer("offset", 0, 0, math.MaxInt32)
	if refusal == nil {
		refusal = c.check.refusal()
	}
	if refusal != nil {
		return *refusal
	}
	st := &s.state
	v := st.vocabularyOf(id)
	var all []proposal
	if !s.o.Metadata.VocabularyUnscanned {
		all = st.proposals(id, v)
	}
	last := min(offset+proposalsPage, len(all))
	items := []object{}
	for _, p := range all[min(offset, last):last] {
		if st.refuseMerge(id, v, p.source, p.target) == nil {
			items = append(items, object{{"source", p.source.name}, {"target", p.target.name}, {"reason", p.reason}})
		}
	}
	next := any(nil)
	if last < len(all) {
		next = last
	}
	return ok(
		member{"items", items},
		member{"next_offset", next},
		member{"vocabulary_scanned", !s.o.Metadata.VocabularyUnscanned},
		member{"proposals_examined", last},
		member{"proposals_total", len(all)},
	)
}

// proposals ranks the pairs that look alike, those that touch the fewest files first. The field with fewer files is
// the source, the younger of two with as many.
func (st *state) proposals(workspaceID string, v *vocabulary) []proposal {
	counts := map[*metaField]int{}
	for _, f := range v.fields {
		counts[f] = len(st.holders(workspaceID, v.group(f)...))
	}
	var found []proposal
	for i, target := range v.fields {
		for _, source := range v.fields[i+1:] {
			reason := alike(source.name, target.name)
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

// alike tells why two names may mean the same, "" when they do not seem to.
func alike(a, b string) string {
	switch {
	case foldName(a) == foldName(b):
		return "separator_or_case_variant"
	case concept(a) == concept(b):
		return "semantic_same_concept"
	}
	return ""
}

// foldName is the letters of a name.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// concept replaces the words of a name by those that mean the same.
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
