// Package activity is the polls for what changed last, and the dashboard.
package activity

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/events"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	events *events.Handlers

	dismissals dismissals
}

// New returns the area of a world.
func New(w *world.World, events *events.Handlers) *Handlers {
	return &Handlers{World: w, events: events, dismissals: dismissals{}}
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

const codePollAccess = 199302

type poll struct {
	profile   string
	wait      time.Duration
	since     int64 // microseconds, 0 is the moment the poll begins
	updated   bool
	fields    []string
	inclusive bool
}

// wants reports whether a field is one of those asked for: by its key, or by the name before the id.
func (q *poll) wants(field string) bool {
	name, _, _ := strings.Cut(field, ":")
	return len(q.fields) == 0 || slices.Contains(q.fields, field) || slices.Contains(q.fields, name)
}

func (h *Handlers) pollSelf(c *wire.Call) (wire.Object, error) { return h.poll(c, c.Key.User) }

func (h *Handlers) pollProfile(c *wire.Call) (wire.Object, error) {
	h.RLock()
	id := h.ProfileOfPath(c)
	h.RUnlock()
	return h.poll(c, id)
}

func (h *Handlers) poll(c *wire.Call, profileID string) (wire.Object, error) {
	q := h.parsePoll(c)
	q.profile = profileID
	if err := c.Check.Refusal(); err != nil {
		wire.RefusalOf(err).Status = http.StatusBadRequest
		return nil, err
	}
	return h.hold(c, &q)
}

func (h *Handlers) parsePoll(c *wire.Call) poll {
	q := poll{
		wait:      time.Duration(c.Integer("wait", 0, 0, pollWait)) * time.Second,
		updated:   c.Value("updated") != "",
		inclusive: h.Options.Activity.InclusivePolls,
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
			name, id, _ := strings.Cut(name, ":")
			q.fields = append(q.fields, strings.TrimSuffix(world.Keyed(name, id), ":"))
		}
	}
	c.Check.InvalidIf(len(q.fields) > pollFields, "fields", "At most 30.")
	return q
}

func isField(s string) bool {
	name, id, qualified := strings.Cut(s, ":")
	isName := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == ""
	return isName && (!qualified || wire.IsOpaque(wire.Plain(id)) || wire.IsProfile(id))
}

// hold answers at once when there is something to tell, and otherwise when there is or the wait is over. It never
// waits with the lock in hand.
func (h *Handlers) hold(c *wire.Call, q *poll) (wire.Object, error) {
	wait, cut := q.wait, false
	if h.Options.Activity.PollCut > 0 && h.Options.Activity.PollCut < wait {
		wait, cut = h.Options.Activity.PollCut, true
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	for over := q.wait == 0; ; {
		payload, wait, err := h.pollOnce(c, q, over)
		if wait == nil {
			return payload, err
		}
		select {
		case <-wait.change:
		case <-wait.cut:
			return c.Send(h.cutPoll())
		case <-end.C:
			if cut {
				return c.Send(h.cutPoll())
			}
			over = true
		case <-c.Request.Context().Done():
			panic(http.ErrAbortHandler) // nobody is there to answer
		}
	}
}

type pollWaits struct{ change, cut <-chan struct{} }

// pollOnce returns the answer of a poll, or the channels that end its wait when there is nothing to tell yet. The
// caller's rights are looked at every time: they can end while a poll is held.
func (h *Handlers) pollOnce(c *wire.Call, q *poll, over bool) (payload wire.Object, wait *pollWaits, err error) {
	h.Lock()
	defer h.Unlock()
	if !h.MayPoll(c.Key, q.profile) {
		return nil, nil,
			wire.Refuse(http.StatusBadRequest, codePollAccess, "You may not see the activity of this profile.")
	}
	c.Now = h.Now()
	if q.since == 0 {
		q.since = h.Activity.Tick(c.Now)
	}
	rows, latest := changed(&h.Activity, q.profile, q)
	if latest == 0 {
		if !over {
			return nil, &pollWaits{h.Activity.Next(q.profile), h.Activity.Cut}, nil
		}
		latest = h.Activity.Tick(c.Now)
	}
	return wire.Object{
		{"results", len(rows)},
		{"activity", rows},
		{"lastactivity", wire.MicroStamp(latest)},
	}, nil, nil
}

// CutPolls ends every poll that is held now, as a proxy does that takes its time to be over: see
// [Options].PollCutReset.
func (h *Handlers) CutPolls() {
	h.Lock()
	defer h.Unlock()
	close(h.Activity.Cut)
	h.Activity.Cut = make(chan struct{})
}

// cutPoll is what a proxy makes of a hold that takes too long.
func (h *Handlers) cutPoll() *wire.Reply {
	if h.Options.Activity.PollCutReset {
		panic(http.ErrAbortHandler)
	}
	return wire.NewReply(http.StatusGatewayTimeout, "text/html; charset=UTF-8",
		[]byte("<html><head><title>504 Gateway Time-out</title></head></html>\n"))
}

func pollParams(path ...string) wire.RouteOption {
	return wire.Params(append(path,
		"wait:integer:0 to 95 seconds, default 0",
		"lastactivity:datetime:the previous lastactivity, default now",
		"updated:any:any value: only what changed since lastactivity",
		"fields:string:at most 30, name or name:id")...)
}

// Routes is the part of the table that is about what changed last.
func (h *Handlers) Routes() []*wire.Route {
	const card = "/current/workspace/{workspace_id}/dashboard/cards/{card_key}/dismiss/"
	return []*wire.Route{
		wire.Get(OpPoll, "/current/activity/poll/", h.pollSelf, wire.Unlocked, pollParams()),
		wire.Get(OpPollProfile, "/current/activity/poll/{profile_id}/", h.pollProfile, wire.Unlocked,
			pollParams("/profile_id:profile_id:organization, workspace, share, own user")),
		wire.Get("activity.Dashboard.List", "/current/workspace/{workspace_id}/dashboard/", h.dashboard,
			wire.Query("limit offset")),
		wire.Post("activity.Dashboard.Dismiss", card, wire.With(h.cardOfPath, h.dismissCard),
			wire.Fields("snooze_until")),
		wire.Delete("activity.Dashboard.Restore", card, wire.With(h.cardOfPath, h.restoreCard)),
	}
}

// changed lists the fields of a profile that a poll asks for, by name, and the moment of the latest. Without a change
// since the cursor there are none; with one, all of them unless the poll wants only what is new.
func changed(a *world.Activity, profileID string, q *poll) (rows wire.Object, latest int64) {
	all := a.Fields[profileID]
	for _, field := range slices.Sorted(maps.Keys(all)) {
		at := all[field]
		if !q.wants(field) {
			continue
		}
		isNew := at > q.since || at == q.since && q.inclusive
		if isNew {
			latest = max(latest, at)
		}
		if isNew || !q.updated {
			rows = append(rows, wire.Member{field, wire.MicroStamp(at)})
		}
	}
	if latest == 0 {
		return nil, 0
	}
	return rows, latest
}
