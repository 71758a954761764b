package activity

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/events"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
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

type dismissals map[[2]string]dismissal

func cardTypes() map[string]string {
	return map[string]string{
		"comment_mentioned":              "mention",
		"workspace_storage_file_added":   "file_added",
		"workspace_storage_file_updated": "file_version",
	}
}

// cardKey names the card of a row, "" when it makes none.
func (h *Handlers) cardKey(n uint32) string {
	l := &h.Log
	kind := cardTypes()[l.Kinds.Values[l.Entries[n].Kind].Event]
	if kind == "" {
		return ""
	}
	return kind + ":" + l.ID(n)
}

// dashboard answers with what calls for the caller's attention in a workspace, youngest first.
func (h *Handlers) dashboard(c *wire.Call) (wire.Object, error) {
	page := c.Page(cardsDefault, cardsMost)
	id, err := h.WorkspaceOfPath(c)
	if err == nil {
		err = c.Check.Refusal()
	}
	if err != nil {
		return nil, err
	}
	all := h.cardsOf(c, id)
	rows := wire.Filter(all, func(n uint32) bool {
		return !h.dismissals[[2]string{c.Key.User, h.cardKey(n)}].holds(c.Now)
	})
	return wire.Object{
		{"cards", wire.Rows(wire.Cut(rows, page), h.card)},
		{"pagination", page.Of(len(rows))},
		{"dismissed_recent_count", len(all) - len(rows)},
	}, nil
}

func (h *Handlers) cardsOf(c *wire.Call, workspaceID string) []uint32 {
	l := &h.Log
	v := h.events.Viewer(c, &events.Query{})
	var rows []uint32
	for _, n := range l.Index[workspaceID] {
		e := &l.Entries[n]
		recent := e.Shown <= c.Now.UnixNano() && e.Created > c.Now.Add(-cardsAge).Unix()
		if recent && h.cardKey(n) != "" && v.Sees(n) {
			rows = append(rows, n)
		}
	}
	slices.SortFunc(rows, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(l.Entries[b].Created, l.Entries[a].Created), cmp.Compare(b, a))
	})
	return rows
}

func (h *Handlers) card(n uint32) wire.Object {
	l := &h.Log
	e := &l.Entries[n]
	key := h.cardKey(n)
	kind, _, _ := strings.Cut(key, ":")
	text, names, values := h.TemplateOf(n)
	name, objectID := l.ObjectName(n, e.Object), l.ObjectID(e.Object)
	return wire.Object{
		{"card_key", key},
		{"type", kind},
		{"source", "event"},
		{"blocking", false},
		{"due_at", nil},
		{"ai_summary", world.RenderText(text, names, values)},
		{"urgency", map[string]int{"mention": 80, "file_version": 40}[kind]},
		{"suggested_action", nil},
		{"ripley_seed", wire.Object{
			{"question", "What changed in " + name + "?"},
			{"subjects", []wire.Object{{{"type", "file"}, {"id", objectID}, {"display_text", name}}}},
		}},
		{"dismissible", true},
		{"primary_action", wire.Object{
			{"kind", "open"},
			{"method", http.MethodGet},
			{"endpoint", "/current/event/" + l.ID(n) + "/details/"},
			{"payload_template", nil},
		}},
	}
}

// cardOfPath finds the key of a card that is, or was, on the caller's dashboard.
func (h *Handlers) cardOfPath(c *wire.Call) (string, error) {
	id, err := h.WorkspaceOfPath(c)
	if err != nil {
		return "", err
	}
	kind, event, _ := strings.Cut(c.Segment("card_key"), ":")
	key := kind + ":" + wire.Plain(event)
	for _, n := range h.cardsOf(c, id) {
		if h.cardKey(n) == key {
			return key, nil
		}
	}
	return "", wire.Refuse(http.StatusNotAcceptable, codeCardKey, "There is no such card.")
}

// dismissCard takes a card off the caller's dashboard: for good, or with a body until a time to come.
func (h *Handlers) dismissCard(c *wire.Call, key string) (wire.Object, error) {
	d := dismissal{at: c.Now}
	if len(c.Body) > 0 {
		f, err := c.ReadJSON()
		if err != nil {
			wire.RefusalOf(err).Code = codeCardBody
			return nil, err
		}
		d.until = c.ReadDateTime("snooze_until", f.Text(c, "snooze_until"))
		if err := c.Check.Refusal(); err != nil {
			return nil, err
		}
		if !d.until.After(c.Now) {
			c.Check.Invalid("snooze_until", "A time to come.")
			return nil, c.Check.Refusal()
		}
	}
	h.dismissals[[2]string{c.Key.User, key}] = d
	return wire.Object{{"card_dismiss", wire.Object{
		{"card_key", key},
		{"dismissed_at", wire.Stamp(d.at.Unix())},
		{"snooze_until", wire.When(d.until)},
	}}}, nil
}

// restoreCard puts a card back. One that is there already stays.
func (h *Handlers) restoreCard(c *wire.Call, key string) (wire.Object, error) {
	delete(h.dismissals, [2]string{c.Key.User, key})
	return nil, nil
}
