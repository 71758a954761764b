package ai

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const transactionsMost = 40

// threads answers with the caller's conversations, the latest change first.
func (h *Handlers) threads(deleted bool) func(*wire.Call, string) (wire.Object, error) {
	return func(c *wire.Call, place string) (wire.Object, error) {
		kind := cmp.Or(c.Value("kind"), "user")
		c.Check.InvalidIf(kind != "user" && kind != "agent" && kind != "all", "kind", "user, agent or all.")
		page := c.Page(wire.ListLimit, wire.ListLimit)
		if err := c.Check.Refusal(); err != nil {
			return nil, err
		}
		found := wire.Filter(h.chats.list, func(th *thread) bool {
			return th.profile == place && th.creator == c.Key.User && th.deleted == deleted && (kind == "all" || kind == th.kind)
		})
		slices.Reverse(found)
		slices.SortStableFunc(found, func(a, b *thread) int { return b.updated.Compare(a.updated) })
		if h.Options.AI.PagedChats {
			found = wire.Cut(found, page)
		}
		return wire.Object{{"chats", counted(wire.Rows(found, func(th *thread) wire.Object {
			return append(h.countedThread(th), wire.Member{"latest_message", th.last().object()})
		}))}}, nil
	}
}

func counted(items []wire.Object) wire.Object {
	return wire.Object{{"count", len(items)}, {"items", items}}
}

func (h *Handlers) threadDetails(c *wire.Call, th *thread) (wire.Object, error) {
	return wire.Object{{"thread", h.countedThread(th)}, {"turns", counted(wire.Rows(th.turns, (*turn).object))}}, nil
}

// listTurns answers with the turns of a conversation, oldest first. The path says where to begin; a query says nothing.
func (h *Handlers) listTurns(c *wire.Call, th *thread) (wire.Object, error) {
	offset := 0
	if given := c.Segment("offset"); given != "" {
		var err error
		if offset, err = strconv.Atoi(given); err != nil || offset < 0 {
			c.Check.Mistyped("offset", "integer")
			return nil, c.Check.Refusal()
		}
	}
	turns := th.turns[min(offset, len(th.turns)):]
	if h.Options.AI.MessagePage > 0 {
		turns = turns[:min(h.Options.AI.MessagePage, len(turns))]
	}
	return wire.Object{{"messages", counted(wire.Rows(turns, (*turn).object))}}, nil
}

func (h *Handlers) turnDetails(_ *wire.Call, t *turn) (wire.Object, error) {
	key := "message"
	if h.KindOf(t.thread.profile) == wire.KindShare {
		key = "turn"
	}
	return wire.Object{{key, t.detailed()}}, nil
}

func (h *Handlers) listTransactions(c *wire.Call, place string) (wire.Object, error) {
	rows := []wire.Object{}
	for _, cost := range slices.Backward(h.chats.costs) {
		if cost.profile != place || len(rows) == transactionsMost {
			continue
		}
		rows = append(rows, wire.Object{
			{"thread_id", wire.Hyphenated(cost.thread)},
			{"turn_id", wire.Hyphenated(cost.turn)},
			{"user_id", wire.ProfileID(cost.user)},
			{"cost", costObject(cost.credits, cost.tokens)},
			{"created_at", wire.Stamp(cost.at.Unix())},
		})
	}
	return wire.Object{{"transactions", counted(rows)}}, nil
}

func (h *Handlers) threadObject(th *thread) wire.Object {
	credits, tokens := 0, 0
	for _, t := range th.turns {
		credits, tokens = credits+t.credits, tokens+t.tokens
	}
	creator := wire.Object{{"type", wire.KindUser}, {"id", wire.ProfileID(th.creator)}}
	return wire.Object{
		{"thread_id", wire.Hyphenated(th.id)},
		{"creator", creator},
		{"scope", wire.Object{{"type", h.KindOf(th.profile)}, {"id", wire.ProfileID(th.profile)}}},
		{"name", th.name},
		{"status", "active"},
		{"kind", th.kind},
		{"cost", costObject(credits, tokens)},
		{"privacy", wire.Object{{"visibility", "private"}, {"owner", creator}}},
		{"created_at", wire.Stamp(th.created.Unix())},
		{"updated_at", wire.Stamp(th.updated.Unix())},
	}
}

func (h *Handlers) countedThread(th *thread) wire.Object {
	return append(h.threadObject(th), wire.Member{"message_count", len(th.turns)}, wire.Member{"continuable", !th.deleted})
}

func costObject(credits, tokens int) wire.Object {
	return wire.Object{{"credits", credits}, {"tokens", tokens}}
}

// object is a turn without its answer.
func (t *turn) object() wire.Object {
	return wire.Object{
		{"turn_id", wire.Hyphenated(t.id)},
		{"thread_id", wire.Hyphenated(t.thread.id)},
		{"seq", t.seq},
		{"status", t.status},
		{"idempotency_key", t.key},
		{"query", wire.Object{{"text", t.query}}},
		{"error", t.failure()},
		{"cost", costObject(t.credits, t.tokens)},
		{"created_at", wire.Stamp(t.created.Unix())},
		{"updated_at", wire.Stamp(t.updated.Unix())},
	}
}

func (t *turn) failure() any {
	switch t.status {
	case turnFailed, turnErrored:
		return wire.Object{{"message", cmp.Or(t.script.Error, "The answer could not be generated.")}}
	case turnLost:
		return wire.Object{{"message", "The worker was lost."}}
	}
	return nil
}

// detailed is a turn with its result and the record of what was done for it.
func (t *turn) detailed() wire.Object {
	actions := make([]wire.Object, 0, len(t.actions))
	for i, a := range t.actions {
		actions = append(actions, a.object(i+1))
	}
	return append(t.object(), wire.Member{"result", t.result()}, wire.Member{"actions", actions})
}

func (t *turn) result() any {
	switch t.status {
	case turnComplete:
		return wire.Object{
			{"answer", t.text},
			{"references", wire.Rows(t.refs, reference.object)},
			{"citations", slices.Concat([]wire.Object{}, t.cites)},
			{"truncated", t.script.Truncated},
		}
	case turnNeedsInput:
		return wire.Object{{"clarification", t.clarification()}}
	}
	return nil
}

func (t *turn) clarification() wire.Object {
	return wire.Object{{"type", "question"}, {"question", cmp.Or(t.script.Question, "What exactly do you mean?")}}
}

func (r reference) object() wire.Object {
	kind := world.KindFile
	if r.folder {
		kind = world.KindFolder
	}
	details := wire.Object{{"node_id", wire.Hyphenated(r.id)}}
	details = details.With(r.version != "", "version_id", wire.Hyphenated(r.version))
	return wire.Object{{"type", kind}, {"id", wire.Hyphenated(r.id)}, {kind + "_details", details}}
}

func (a *action) object(seq int) wire.Object {
	affected := []string{}
	for _, id := range a.affected {
		affected = append(affected, wire.Hyphenated(id))
	}
	return wire.Object{
		{"seq", seq},
		{"label", a.label},
		{"state", a.state},
		{"affected_refs", affected},
		{"started_at", wire.Stamp(a.started.Unix())},
		{"ended_at", wire.When(a.ended)},
	}
}
