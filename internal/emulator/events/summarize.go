package events

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// OpSummarize is an operation whose rate is limited.
const OpSummarize = "events.Summarize"

const (
	summaryScan  = 2000
	contextLimit = 64
	pillsShown   = 3
)

// summarize returns the events that match the filters of a call, with a text about
// them, which costs credits. By an option, the policy denies summaries: the response then has
// the reason in place of the text.
func (h *Handlers) summarize(c *wire.Call) (wire.Object, error) {
	q := h.parseSearch(c)
	if q.parent == "" { // parseSearch has rejected a cursor beside a parent
		c.Check.InvalidIf(q.cursor != "", "cursor", "Summaries take limit and offset.")
	}
	checkContext(c)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	v := h.Viewer(c, &q)
	if err := h.refuseSummary(v, &q); err != nil {
		return nil, err
	}
	rows := h.summaryWindow(v, &q)
	events := wire.Rows(rows, func(n uint32) wire.Object { return v.row(n, wire.Full) })
	if h.w.Options.Events.DenySummaries {
		return wire.Object{{"summary", nil}, {"summary_reason", "ai_policy_denied"}, {"events", events}}, nil
	}
	text := h.summaryText(rows, c.Value("user_context"))
	h.chargeSummary(c, &q, text, len(rows))
	return wire.Object{{"summary", wire.Object{{"text", text}, {"metrics", h.metrics(rows)}}}, {"events", events}}, nil
}

// checkContext checks the text with which the caller says what the summary is for.
func checkContext(c *wire.Call) {
	text := c.Value("user_context")
	c.Check.InvalidIf(utf8.RuneCountInString(text) > contextLimit, "user_context", "At most 64 characters.")
	outside := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .,!?'-", r)
	}
	c.Check.InvalidIf(strings.ContainsFunc(text, outside), "user_context", "Letters, digits, spaces and . , ! ? ' - only.")
}

// refuseSummary refuses a summary that the caller may not have. It requires what a search
// requires, and a role on the profile. By an option, it fails because the policy cannot be read.
func (h *Handlers) refuseSummary(v *Viewer, q *Query) error {
	if q.profile != "" && h.w.KindOf(q.profile) == "" {
		return wire.Refuse(http.StatusNotFound, wire.CodeNotFound, "There is no such profile.")
	}
	if err := v.refuseSearch(q); err != nil {
		return err
	}
	if q.profile != "" && q.kind != wire.KindUser && v.role(q.profile) == "" {
		return wire.NotMember()
	}
	if h.w.Options.Events.SummaryPolicyDown {
		return wire.RefuseWithReason(http.StatusServiceUnavailable, wire.CodePolicy, "access_policy_unavailable",
			"The policy cannot be read at the moment.")
	}
	return nil
}

// summaryWindow returns the rows of a summary: those that the caller sees, up to the
// limit, among the summaryScan matching rows behind the offset. The offset counts also
// rows that the caller does not see.
func (h *Handlers) summaryWindow(v *Viewer, q *Query) []uint32 {
	m := v.matcher(q)
	var rows []uint32
	matched := 0
	var start *world.Position // nil for the beginning of the log
	for n := range candidates(&h.w.Log, q, start) {
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
		if v.Sees(n) {
			rows = append(rows, n)
		}
	}
	return rows
}

// summaryText returns an invented summary of events: their number, and the first ones
// as sentences.
func (h *Handlers) summaryText(rows []uint32, context string) string {
	if len(rows) == 0 {
		return "Nothing happened in this window."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d events.", len(rows))
	for _, n := range rows[:min(pillsShown, len(rows))] {
		fmt.Fprintf(&b, " %s.", h.sentence(n))
	}
	if context != "" {
		fmt.Fprintf(&b, " Asked about: %s", context)
	}
	return b.String()
}

// sentence describes an event. Persons, files and profiles in it are written as
// mentions, which clients show as buttons.
func (h *Handlers) sentence(n uint32) string {
	e := &h.w.Log.Entries[n]
	text, names, values := h.w.Log.TemplateOf(n)
	for i, name := range names {
		// Clients have no button for an organization.
		if kind, id := h.mentioned(e, name); id != "" && kind != "" && kind != wire.KindOrg {
			values[i] = fmt.Sprintf("@[%s:%s:%s]", kind, id, values[i])
		}
	}
	return world.RenderText(text, names, values)
}

// mentioned returns the kind and the id of what a placeholder of a template stands for
// in an event.
func (h *Handlers) mentioned(e *world.Entry, token string) (kind, id string) {
	l := &h.w.Log
	switch token {
	case "actor":
		return wire.KindUser, l.Names.Values[e.Caller]
	case "subject":
		return wire.KindUser, l.Names.Values[e.User]
	case "object":
		return cmp.Or(l.Kinds.Values[e.Kind].NodeType, "file"), l.ObjectID(e.Object)
	default:
		id = l.ProfileID(e)
		return h.w.KindOf(id), id
	}
}

// metrics returns how many events, persons and categories the rows have, and their
// first and last times.
func (h *Handlers) metrics(rows []uint32) wire.Object {
	l := &h.w.Log
	actors := map[uint32]bool{}
	categories := map[string]any{}
	var first, last any
	times := make([]int64, 0, len(rows))
	for _, n := range rows {
		e := &l.Entries[n]
		times = append(times, e.Created)
		category := l.Kinds.Values[e.Kind].Category
		count, _ := categories[category].(int)
		categories[category] = count + 1
		if e.Caller != 0 {
			actors[e.Caller] = true
		}
	}
	if len(times) > 0 {
		first, last = wire.Stamp(slices.Min(times)), wire.Stamp(slices.Max(times))
	}
	return wire.Object{
		{"total_events", len(rows)},
		{"unique_actors", len(actors)},
		{"date_range", wire.Object{{"start", first}, {"end", last}}},
		{"categories", wire.FromMap(categories)},
	}
}

// chargeSummary charges the payer for a summary: one credit per 100 tokens, rounded up. A token
// is four characters, and an event counts as 80 characters.
func (h *Handlers) chargeSummary(c *wire.Call, q *Query, text string, rows int) {
	const perEvent, perToken, perCredit = 80, 4, 100
	tokens := (len(text) + rows*perEvent) / perToken
	h.w.Charge(h.w.PayerOf(q.profile, c.Key.User), (tokens+perCredit-1)/perCredit)
}
