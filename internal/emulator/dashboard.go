package emulator

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	cardsMost    = 200
	cardsDefault = 50
	cardsAge     = 30 * 24 * time.Hour

	codeCardKey  = 128636
	codeCardBody = 149351
)

// dismissal takes a card off one user's dashboard, until a time or for good.
type dismissal struct{ at, until time.Time }

func (d dismissal) holds(now time.Time) bool {
	return !d.at.IsZero() && (d.until.IsZero() || now.Before(d.until))
}

// dismissals are by user and card.
type dismissals map[[2]string]dismissal

// cardTypes are the events that become cards.
func cardTypes() map[string]string {
	return map[string]string{
		"comment_mentioned":              "mention",
		"workspace_storage_file_added":   "file_added",
		"workspace_storage_file_updated": "file_version",
	}
}

// cardKey names the card of a row, "" when it makes none.
func (st *state) cardKey(n uint32) string {
	l := &st.log
	kind := cardTypes()[l.kinds.values[l.entries[n].kind].event]
	if kind == "" {
		return ""
	}
	return kind + ":" + l.id(n)
}

// dashboard answers with what calls for the caller's attention in a workspace, youngest first.
func (s *Server) dashboard(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	limit := c.integer("limit", cardsDefault, 1, cardsMost)
	offset := c.integer("offset", 0, 0, math.MaxInt32)
	id, refusal := s.workspaceOfPath(c)
	if refusal == nil {
		refusal = c.check.refusal()
	}
	if refusal != nil {
		return *refusal
	}
	st, dismissed := &s.state, 0
	var rows []uint32
	for _, n := range s.cardsOf(c, id) {
		if st.dismissals[[2]string{c.key.User, st.cardKey(n)}].holds(c.now) {
			dismissed++
		} else {
			rows = append(rows, n)
		}
	}
	first := min(offset, len(rows))
	last := min(first+limit, len(rows))
	cards := []object{}
	for _, n := range rows[first:last] {
		cards = append(cards, st.card(n))
	}
	return ok(
		member{"cards", cards},
		member{"pagination", object{{"total", len(rows)}, {"limit", limit}, {"offset", offset}, {"has_more", last < len(rows)}}},
		member{"dismissed_recent_count", dismissed},
	)
}

// cardsOf lists the rows of the log that are cards for the caller.
func (s *Server) cardsOf(c *call, workspaceID string) []uint32 {
	l := &s.state.log
	v := s.viewer(c, &query{})
	var rows []uint32
	for _, n := range l.index[workspaceID] {
		e := &l.entries[n]
		recent := e.shown <= c.now.UnixNano() && e.created > c.now.Add(-cardsAge).Unix()
		if recent && s.state.cardKey(n) != "" && v.sees(n) {
			rows = append(rows, n)
		}
	}
	slices.SortFunc(rows, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(l.entries[b].created, l.entries[a].created), cmp.Compare(b, a))
	})
	return rows
}

func (st *state) card(n uint32) object {
	l := &st.log
	e := &l.entries[n]
	key := st.cardKey(n)
	kind, _, _ := strings.Cut(key, ":")
	text, names, values := st.templateOf(n)
	name, objectID := l.objectName(n, e.object), l.objectID(e.object)
	return object{
		{"card_key", key},
		{"type", kind},
		{"source", "event"},
		{"blocking", false},
		{"due_at", nil},
		{"ai_summary", renderText(text, names, values)},
		{"urgency", map[string]int{"mention": 80, "file_version": 40}[kind]},
		{"suggested_action", nil},
		{"ripley_seed", object{
			{"question", "What changed in " + name + "?"},
			{"subjects", []object{{{"type", "file"}, {"id", objectID}, {"display_text", name}}}},
		}},
		{"dismissible", true},
		{"primary_action", object{
			{"kind", "open"},
			{"method", http.MethodGet},
			{"endpoint", "/current/event/" + l.id(n) + "/details/"},
			{"payload_template", nil},
		}},
	}
}

// cardOfPath finds the key of a card that is, or was, on the caller's dashboard.
func (s *Server) cardOfPath(c *call) (string, *answer) {
	id, refusal := s.workspaceOfPath(c)
	if refusal != nil {
		return "", refusal
	}
	kind, event, _ := strings.Cut(c.segment("card_key"), ":")
	key := kind + ":" + plain(event)
	for _, n := range s.cardsOf(c, id) {
		if s.state.cardKey(n) == key {
			return key, nil
		}
	}
	a := refuse(http.StatusNotAcceptable, codeCardKey, "There is no such card.")
	return "", &a
}

// dismissCard takes a card off the caller's dashboard: for good, or with a body until a time to come.
func (s *Server) dismissCard(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, refusal := s.cardOfPath(c)
	if refusal != nil {
		return *refusal
	}
	d := dismissal{at: c.now}
	if len(c.body) > 0 {
		f, refusal := c.readJSON()
		if refusal != nil {
			refusal.failure.code = codeCardBody
			return *refusal
		}
		d.until = c.readDateTime("snooze_until", f.text(c, "snooze_until"))
		if refusal := c.check.refusal(); refusal != nil {
			return *refusal
		}
		if !d.until.After(c.now) {
			c.check.invalid("snooze_until", "A time to come.")
			return *c.check.refusal()
		}
	}
	s.state.dismissals[[2]string{c.key.User, key}] = d
	return ok(member{"card_dismiss", object{
		{"card_key", key},
		{"dismissed_at", stamp(d.at.Unix())},
		{"snooze_until", when(d.until)},
	}})
}

// restoreCard puts a card back. One that is there already stays.
func (s *Server) restoreCard(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, refusal := s.cardOfPath(c)
	if refusal != nil {
		return *refusal
	}
	delete(s.state.dismissals, [2]string{c.key.User, key})
	return ok()
}

// workspaceOfPath finds the workspace that a path names, if the caller may look at it.
func (s *Server) workspaceOfPath(c *call) (string, *answer) {
	st := &s.state
	id := st.workspaceNamed(c.segment("workspace_id"), c.key.User)
	if id == "" {
		a := noProfile()
		return "", &a
	}
	return id, st.mayLook(c.key, venue{profile: id})
}
