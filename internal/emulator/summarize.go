package emulator

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	summaryScan  = 2000
	contextLimit = 64
	pillsShown   = 3
)

// summarize answers with a window of events and a text about them.
func (s *Server) summarize(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.parseSearch(c)
	if q.cursor != "" && q.parent == "" {
		c.check.invalid("cursor", "Summaries take limit and offset.")
	}
	checkContext(c)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	v := s.viewer(c, &q)
	if refusal := s.summaryGate(v, &q); refusal != nil {
		return *refusal
	}
	rows := s.summaryWindow(v, &q)
	events := make([]object, 0, len(rows))
	for _, n := range rows {
		events = append(events, v.row(n, full))
	}
	if s.o.Events.DenySummaries {
		return ok(member{"summary", nil}, member{"summary_reason", "ai_policy_denied"}, member{"events", events})
	}
	text := s.state.summaryText(rows, c.value("user_context"))
	s.bill(c, &q, text, len(rows))
	return ok(
		member{"summary", object{{"text", text}, {"metrics", s.state.metrics(rows)}}},
		member{"events", events},
	)
}

func checkContext(c *call) {
	text := c.value("user_context")
	if utf8.RuneCountInString(text) > contextLimit {
		c.check.invalid("user_context", "At most 64 characters.")
	}
	outside := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .,!?'-", r)
	}
	if strings.ContainsFunc(text, outside) {
		c.check.invalid("user_context", "Letters, digits, spaces and . , ! ? ' - only.")
	}
}

// summaryGate is the gate of search with membership on top.
func (s *Server) summaryGate(v *viewer, q *query) *answer {
	if q.profile != "" && s.state.kind(q.profile) == "" {
		a := refuse(http.StatusNotFound, codeNotFound, "There is no such profile.")
		return &a
	}
	if refusal := v.gate(q); refusal != nil {
		return refusal
	}
	if q.profile != "" && q.kind != kindUser && v.role(q.profile) == "" {
		a := notMember()
		return &a
	}
	if s.o.Events.SummaryPolicyDown {
		a := because(http.StatusServiceUnavailable, codePolicy, "access_policy_unavailable", "The policy cannot be read at the moment.")
		return &a
	}
	return nil
}

// summaryWindow is up to limit visible rows behind offset; the offset counts rows before visibility does.
func (s *Server) summaryWindow(v *viewer, q *query) []uint32 {
	m := v.matcher(q)
	var rows []uint32
	matched := 0
	for n := range s.state.log.candidates(q, nil) {
		if !m.matches(n) {
			continue
		}
		matched++
		if matched <= q.offset {
			continue
		}
		if matched-q.offset > summaryScan || len(rows) == q.limit {
			break
		}
		if v.sees(n) {
			rows = append(rows, n)
		}
	}
	return rows
}

// summaryText tells who did what where, with mention pills.
func (st *state) summaryText(rows []uint32, context string) string {
	if len(rows) == 0 {
		return "Nothing happened in this window."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d events.", len(rows))
	for _, n := range rows[:min(pillsShown, len(rows))] {
		fmt.Fprintf(&b, " %s.", st.pills(n))
	}
	if context != "" {
		fmt.Fprintf(&b, " Asked about: %s", context)
	}
	return b.String()
}

// pills renders the text of an event with its names as mentions.
func (st *state) pills(n uint32) string {
	e := &st.log.entries[n]
	text, names, values := st.templateOf(n)
	for i, name := range names {
		// Organizations have no pill.
		if kind, id := st.mentioned(e, name); id != "" && kind != "" && kind != kindOrg {
			values[i] = fmt.Sprintf("@[%s:%s:%s]", kind, id, values[i])
		}
	}
	return renderText(text, names, values)
}

// mentioned is what a placeholder of an event stands for.
func (st *state) mentioned(e *entry, token string) (kind, id string) {
	l := &st.log
	switch token {
	case "actor":
		return kindUser, l.names.values[e.caller]
	case "subject":
		return kindUser, l.names.values[e.user]
	case "object":
		return cmp.Or(l.kinds.values[e.kind].nodeType, "file"), l.objectID(e.object)
	default:
		id = l.profileID(e)
		return st.kind(id), id
	}
}

func (st *state) metrics(rows []uint32) object {
	l := &st.log
	actors := map[uint32]bool{}
	categories := map[string]int{}
	var first, last any
	times := make([]int64, 0, len(rows))
	for _, n := range rows {
		e := &l.entries[n]
		times = append(times, e.created)
		categories[l.kinds.values[e.kind].category]++
		if e.caller != 0 {
			actors[e.caller] = true
		}
	}
	if len(times) > 0 {
		first, last = stamp(slices.Min(times)), stamp(slices.Max(times))
	}
	counts := object{}
	for _, category := range slices.Sorted(maps.Keys(categories)) {
		counts = append(counts, member{category, categories[category]})
	}
	return object{
		{"total_events", len(rows)},
		{"unique_actors", len(actors)},
		{"date_range", object{{"start", first}, {"end", last}}},
		{"categories", counts},
	}
}

// bill charges a credit per hundred tokens, counting four characters as a token.
func (s *Server) bill(c *call, q *query, text string, rows int) {
	const perEvent, perToken, perCredit = 80, 4, 100
	tokens := (len(text) + rows*perEvent) / perToken
	payer := s.state.orgOf(q.profile)
	if payer == "" {
		payer = c.key.User
	}
	s.state.credits[payer] += (tokens + perCredit - 1) / perCredit
}

func summarizeParams() []parameter {
	params := slices.DeleteFunc(searchParams(), func(p parameter) bool { return p.name == "cursor" })
	return append(params, parameter{
		name: "user_context", source: "query", kind: "string", constraint: "at most 64 letters, digits, spaces and . , ! ? ' -",
	})
}
