// Package activity emulates activity polls, the dashboard and intents.
package activity

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/events"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	events *events.Handlers

	dismissals dismissals
	intents    []*intent // by allocation
}

// New returns the handlers of a world.
func New(w *world.World, events *events.Handlers) *Handlers {
	return &Handlers{w: w, events: events, dismissals: dismissals{}}
}

// Operations whose rate is limited.
const (
	OpPoll        = "activity.Poll"
	OpPollProfile = "activity.PollProfile"
)

const (
	pollWait   = 95 // seconds
	pollFields = 30
)

const codePollAccess = 199302 // invented

// poll is a request for the changes of a profile.
type poll struct {
	profile   string
	wait      time.Duration
	since     int64    // microseconds, 0 is the moment the poll begins
	onlyNew   bool     // the response has only the fields that have changed since then
	fields    []string // to look at, none means all
	inclusive bool     // a change at since counts, too
}

// wants reports whether a poll selects a field, by its key or by its name without an
// id.
func (q *poll) wants(field string) bool {
	name, _, _ := strings.Cut(field, ":")
	return len(q.fields) == 0 || slices.Contains(q.fields, field) || slices.Contains(q.fields, name)
}

// pollSelf polls the changes of the caller.
func (h *Handlers) pollSelf(c *wire.Call) (wire.Object, error) { return h.poll(c, c.Key.User) }

// pollProfile polls the changes of the profile in the path. It holds the lock only to
// find that profile, because a poll waits.
func (h *Handlers) pollProfile(c *wire.Call) (wire.Object, error) {
	h.w.RLock()
	id := h.w.ProfileOfPath(c)
	h.w.RUnlock()
	return h.poll(c, id)
}

// poll returns the changes of a profile, and waits for one if the call requests that.
// The platform refuses invalid parameters of a poll with 400, unlike those of other calls (406).
func (h *Handlers) poll(c *wire.Call, profileID string) (wire.Object, error) {
	q := h.parsePoll(c)
	q.profile = profileID
	if err := c.Check.Err(); err != nil {
		wire.RefusalOf(err).Status = http.StatusBadRequest
		return nil, err
	}
	return h.awaitChange(c, &q)
}

// parsePoll reads the parameters of a poll: how long to wait, the time from which changes
// count, and the fields to look at. Ids in the fields may have hyphens; those in the log have none.
func (h *Handlers) parsePoll(c *wire.Call) poll {
	const noWait = 0
	q := poll{
		wait:      time.Duration(c.Integer("wait", noWait, 0, pollWait)) * time.Second,
		onlyNew:   c.Value("updated") != "",
		inclusive: h.w.Options.Activity.InclusivePolls, // a change at the time itself counts, too
	}
	if since := c.Moment("lastactivity"); !since.IsZero() {
		q.since = since.UnixMicro()
	}
	if names := c.Value("fields"); names != "" {
		for name := range strings.SplitSeq(names, ",") {
			if !isField(name) {
				c.Check.Invalid("fields", "Not the name of a field: name or name:id.")
				break
			}
			if kind, id, qualified := strings.Cut(name, ":"); qualified {
				name = world.FieldOf(kind, id) // with the id in its plain form
			}
			q.fields = append(q.fields, name)
		}
	}
	c.Check.InvalidIf(len(q.fields) > pollFields, "fields", "At most 30.")
	return q
}

// isField reports whether a text has the form of a field of a poll: name or name:id,
// with an opaque id or that of a profile.
func isField(s string) bool {
	name, id, qualified := strings.Cut(s, ":")
	isName := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == ""
	return isName && (!qualified || wire.IsOpaque(wire.Plain(id)) || wire.IsProfile(id))
}

// awaitChange responds at once if there are changes, and otherwise when there is a change,
// or the wait is over. It does not hold the lock while it waits. If the option PollCut is
// shorter than the wait, the poll is cut after that time, as by a proxy.
func (h *Handlers) awaitChange(c *wire.Call, q *poll) (wire.Object, error) {
	wait, cut := q.wait, false
	if h.w.Options.Activity.PollCut > 0 && h.w.Options.Activity.PollCut < wait {
		wait, cut = h.w.Options.Activity.PollCut, true
	}
	timeout, stop := h.w.After(wait)
	defer stop()
	over := q.wait == 0
	for {
		payload, waits, err := h.pollOnce(c, q, over)
		if waits == nil { // the poll has its response
			return payload, err
		}
		select {
		case <-waits.change:
		case <-waits.cut: // closed by CutPolls
			return c.Send(h.cutPoll())
		case <-timeout:
			if cut {
				return c.Send(h.cutPoll())
			}
			over, timeout = true, nil // the next pass responds without a change
		case <-c.Request.Context().Done():
			panic(http.ErrAbortHandler) // the caller is gone
		}
	}
}

// pollWaits are the channels that end the wait of a poll: change is closed with the next
// change, and cut by CutPolls.
type pollWaits struct{ change, cut <-chan struct{} }

// pollOnce returns the response of a poll or, if there are no changes and the wait is
// not over, the channels to wait for. It checks the permissions each time, because
// they may end during a poll. It takes the lock.
func (h *Handlers) pollOnce(c *wire.Call, q *poll, over bool) (payload wire.Object, waits *pollWaits, err error) {
	h.w.Lock()
	defer h.w.Unlock()
	if !h.w.MayPoll(c.Key, q.profile) {
		return nil, nil, wire.Refuse(http.StatusBadRequest, codePollAccess, "You may not see the activity of this profile.")
	}
	c.Now = h.w.Now() // the call may have waited since it began
	if q.since == 0 {
		q.since = h.w.Activity.Tick(c.Now) // a stamp before all later changes: only these count
	}
	rows, latest := selectChanges(&h.w.Activity, q.profile, q)
	if latest == 0 {
		if !over {
			return nil, &pollWaits{h.w.Activity.Next(q.profile), h.w.Activity.Cut}, nil
		}
		latest = h.w.Activity.Tick(c.Now) // the next poll goes on from this stamp
	}
	return wire.Object{{"results", len(rows)}, {"activity", rows}, {"lastactivity", wire.MicroStamp(latest)}}, nil, nil
}

// CutPolls ends all polls that wait, as a proxy does: with 504 or, by the option
// PollCutReset, with a dropped connection.
func (h *Handlers) CutPolls() {
	h.w.Lock()
	defer h.w.Unlock()
	close(h.w.Activity.Cut)
	h.w.Activity.Cut = make(chan struct{})
}

// cutPoll returns the response with which a proxy ends a poll: 504 with a page of HTML.
// By the option PollCutReset, it drops the connection instead.
func (h *Handlers) cutPoll() *wire.Reply {
	if h.w.Options.Activity.PollCutReset {
		panic(http.ErrAbortHandler)
	}
	return wire.NewReply(http.StatusGatewayTimeout, "text/html; charset=UTF-8",
		[]byte("<html><head><title>504 Gateway Time-out</title></head></html>\n"))
}

// pollParams describes the parameters of a poll, after those in the path, in the form of
// [wire.Params]: name:kind:rule.
func pollParams(path ...string) wire.RouteOption {
	return wire.Params(append(path,
		"wait:integer:0 to 95 seconds, default 0",
		"lastactivity:datetime:the previous lastactivity, default now",
		"updated:any:any value: only what changed since lastactivity",
		"fields:string:at most 30, name or name:id")...)
}

// Routes returns the routes of polls, the dashboard and intents.
func (h *Handlers) Routes() []*wire.Route {
	const profileInPath = "/profile_id:profile_id:organization, workspace, share, own user" // see [wire.Params]
	const card = "/current/workspace/{workspace_id}/dashboard/cards/{card_key}/dismiss/"
	return slices.Concat(h.intentRoutes(), []*wire.Route{
		wire.Get(OpPoll, "/current/activity/poll/", h.pollSelf, wire.TakesLock, pollParams()),
		wire.Get(OpPollProfile, "/current/activity/poll/{profile_id}/", h.pollProfile, wire.TakesLock,
			pollParams(profileInPath)),
		wire.Get("activity.Dashboard.List", "/current/workspace/{workspace_id}/dashboard/",
			wire.With(h.w.WorkspaceOfPath, h.dashboard), wire.Query("limit offset")),
		wire.Post("activity.Dashboard.Dismiss", card, wire.With(h.cardOfPath, h.dismissCard), wire.Fields("snooze_until"),
			wire.AllowArchived),
		wire.Delete("activity.Dashboard.Restore", card, wire.With(h.cardOfPath, h.restoreCard), wire.AllowArchived),
	})
}

// selectChanges returns the fields of a profile that a poll selects, and the time of the
// latest change after the cursor. Without a change, it returns no fields and 0. With
// one, it returns all fields or, if the poll says so, the changed ones.
func selectChanges(a *world.Activity, profileID string, q *poll) (rows wire.Object, latest int64) {
	all := a.Of(profileID)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		at := all[field]
		if !q.wants(field) {
			continue
		}
		isNew := at > q.since || at == q.since && q.inclusive
		if isNew {
			latest = max(latest, at)
		}
		rows = rows.With(isNew || !q.onlyNew, field, wire.MicroStamp(at))
	}
	if latest == 0 {
		return nil, 0
	}
	return rows, latest
}

const (
	cardsMost    = 200
	cardsDefault = 50
	cardsAge     = 30 * 24 * time.Hour

	codeCardKey  = 128636
	codeCardBody = 149351
)

// dismissal hides a card of a user until a time, or permanently.
type dismissal struct{ at, until time.Time }

// holds reports whether the card is hidden at a time.
func (d dismissal) holds(now time.Time) bool {
	return !d.at.IsZero() && (d.until.IsZero() || now.Before(d.until))
}

// dismissals are the hidden cards, by user and key.
type dismissals map[[2]string]dismissal

// cardTypes returns the types of cards by the names of events. Other events have no
// card.
func cardTypes() map[string]string {
	return map[string]string{
		"comment_mentioned":              "mention",
		"workspace_storage_file_added":   "file_added",
		"workspace_storage_file_updated": "file_version",
	}
}

// cardKey returns the key of the card for row n of the log, "" if its event has none.
func (h *Handlers) cardKey(n uint32) string {
	l := &h.w.Log
	kind := cardTypes()[l.Kinds.Values[l.Entries[n].Kind].Event]
	if kind == "" {
		return ""
	}
	return kind + ":" + l.ID(n)
}

// dashboard returns a page of the cards that the caller has in a workspace and has not
// dismissed, the latest first. A card is an event that concerns the caller.
func (h *Handlers) dashboard(c *wire.Call, id string) (wire.Object, error) {
	page := c.Page(cardsDefault, cardsMost)
	all := h.cardsOf(c, id)
	rows := wire.Filter(all, func(n uint32) bool {
		return !h.dismissals[[2]string{c.Key.User, h.cardKey(n)}].holds(c.Now)
	})
	return wire.Object{
		{"cards", wire.Rows(wire.PageOf(rows, page), h.card)},
		{"pagination", page.Pagination(len(rows))},
		{"dismissed_recent_count", len(all) - len(rows)},
	}, c.Check.Err()
}

// cardsOf returns the rows of the log that the caller sees as cards of a workspace,
// the latest first: those of the last 30 days that have become visible (Shown, which may
// be later than Created) and whose event has a card.
func (h *Handlers) cardsOf(c *wire.Call, workspaceID string) []uint32 {
	l := &h.w.Log
	v := h.events.Viewer(c, &events.Query{})
	var rows []uint32
	for _, n := range l.RowsOf(workspaceID) {
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

// card renders the card for row n of the log. Its urgency is assumed; ripley_seed is a
// question that the user can ask the agent.
func (h *Handlers) card(n uint32) wire.Object {
	l := &h.w.Log
	e := &l.Entries[n]
	key := h.cardKey(n)
	kind, _, _ := strings.Cut(key, ":")
	text, names, values := h.w.Log.TemplateOf(n)
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

// cardOfPath returns the key of the card in the path. If the caller has no such card, it
// refuses the call with 406, as the platform does for a bad key.
func (h *Handlers) cardOfPath(c *wire.Call) (string, error) {
	id, err := h.w.WorkspaceOfPath(c)
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

// dismissCard hides a card from the caller: permanently if the call has no body, or
// until the time in its JSON body.
func (h *Handlers) dismissCard(c *wire.Call, key string) (wire.Object, error) {
	d := dismissal{at: c.Now}
	if len(c.Body) > 0 {
		f, err := c.ReadJSON()
		if err != nil {
			wire.RefusalOf(err).Code = codeCardBody
			return nil, err
		}
		d.until = c.ReadDateTime("snooze_until", f.Text(c, "snooze_until"))
		if err := c.Check.Err(); err != nil {
			return nil, err
		}
		if !d.until.After(c.Now) {
			c.Check.Invalid("snooze_until", "A time to come.")
			return nil, c.Check.Err()
		}
	}
	h.dismissals[[2]string{c.Key.User, key}] = d
	return wire.Object{{"card_dismiss", wire.Object{
		{"card_key", key},
		{"dismissed_at", wire.Stamp(d.at.Unix())},
		{"snooze_until", wire.StampOrNull(d.until)},
	}}}, nil
}

// restoreCard shows a hidden card again. It also succeeds if the card is not hidden.
func (h *Handlers) restoreCard(c *wire.Call, key string) (wire.Object, error) {
	delete(h.dismissals, [2]string{c.Key.User, key})
	return nil, nil
}
