package emulator

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
)

const transactionsMost = 40

// listThreads answers with the caller's conversations, the latest change first.
func (s *Server) listThreads(c *call) answer { return s.threads(c, false) }

// listDeletedThreads answers with those the caller deleted.
func (s *Server) listDeletedThreads(c *call) answer { return s.threads(c, true) }

func (s *Server) threads(c *call, deleted bool) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	place, refusal := s.aiPlace(c, read)
	if refusal != nil {
		return *refusal
	}
	kind := cmp.Or(c.value("kind"), "user")
	if kind != "user" && kind != "agent" && kind != "all" {
		c.check.invalid("kind", "user, agent or all.")
	}
	limit := c.integer("limit", listLimit, 1, listLimit)
	offset := c.integer("offset", 0, 0, math.MaxInt32)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	var found []*thread
	for _, th := range slices.Backward(s.state.chats.list) {
		if th.profile == place && th.creator == c.key.User && th.deleted == deleted && (kind == "all" || kind == th.kind) {
			found = append(found, th)
		}
	}
	slices.SortStableFunc(found, func(a, b *thread) int { return b.updated.Compare(a.updated) })
	if s.o.AI.PagedChats {
		found = found[min(offset, len(found)):]
		found = found[:min(limit, len(found))]
	}
	items := make([]object, 0, len(found))
	for _, th := range found {
		items = append(items, append(s.countedThread(th), member{"latest_message", th.last().object()}))
	}
	return ok(member{"chats", counted(items)})
}

func counted(items []object) object { return object{{"count", len(items)}, {"items", items}} }

// threadDetails answers with a conversation and its turns, without their answers.
func (s *Server) threadDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	th, refusal := s.threadOfPath(c, read, http.StatusNotFound)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"thread", s.countedThread(th)}, member{"turns", counted(turnObjects(th.turns))})
}

// listTurns answers with the turns of a conversation, oldest first. The path says where to begin; a query says nothing.
func (s *Server) listTurns(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	th, refusal := s.threadOfPath(c, read, http.StatusNotFound)
	if refusal != nil {
		return *refusal
	}
	offset := 0
	if given := c.segment("offset"); given != "" {
		var err error
		if offset, err = strconv.Atoi(given); err != nil || offset < 0 {
			c.check.mistyped("offset", "integer")
			return *c.check.refusal()
		}
	}
	turns := th.turns[min(offset, len(th.turns)):]
	if s.o.AI.MessagePage > 0 {
		turns = turns[:min(s.o.AI.MessagePage, len(turns))]
	}
	return ok(member{"messages", counted(turnObjects(turns))})
}

// turnDetails answers with a turn and what became of it.
func (s *Server) turnDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, refusal := s.turnOfPath(c)
	if refusal != nil {
		return *refusal
	}
	return s.details(t)
}

func (s *Server) details(t *turn) answer {
	key := "message"
	if s.state.kind(t.thread.profile) == kindShare {
		key = "turn"
	}
	return ok(member{key, t.detailed()})
}

// listTransactions answers with what the latest turns of a workspace cost.
func (s *Server) listTransactions(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	place, refusal := s.aiPlace(c, read)
	if refusal != nil {
		return *refusal
	}
	rows := []object{}
	for _, cost := range slices.Backward(s.state.chats.costs) {
		if cost.profile != place || len(rows) == transactionsMost {
			continue
		}
		rows = append(rows, object{
			{"thread_id", hyphenated(cost.thread)},
			{"turn_id", hyphenated(cost.turn)},
			{"user_id", profileID(cost.user)},
			{"cost", costObject(cost.credits, cost.tokens)},
			{"created_at", stamp(cost.at.Unix())},
		})
	}
	return ok(member{"transactions", counted(rows)})
}

func (s *Server) threadObject(th *thread) object {
	credits, tokens := 0, 0
	for _, t := range th.turns {
		credits, tokens = credits+t.credits, tokens+t.tokens
	}
	creator := object{{"type", kindUser}, {"id", profileID(th.creator)}}
	return object{
		{"thread_id", hyphenated(th.id)},
		{"creator", creator},
		{"scope", object{{"type", s.state.kind(th.profile)}, {"id", profileID(th.profile)}}},
		{"name", th.name},
		{"status", "active"},
		{"kind", th.kind},
		{"cost", costObject(credits, tokens)},
		{"privacy", object{{"visibility", "private"}, {"owner", creator}}},
		{"created_at", stamp(th.created.Unix())},
		{"updated_at", stamp(th.updated.Unix())},
	}
}

func (s *Server) countedThread(th *thread) object {
	return append(s.threadObject(th), member{"message_count", len(th.turns)}, member{"continuable", !th.deleted})
}

func costObject(credits, tokens int) object { return object{{"credits", credits}, {"tokens", tokens}} }

func turnObjects(turns []*turn) []object {
	rows := make([]object, 0, len(turns))
	for _, t := range turns {
		rows = append(rows, t.object())
	}
	return rows
}

// object is a turn without its answer.
func (t *turn) object() object {
	return object{
		{"turn_id", hyphenated(t.id)},
		{"thread_id", hyphenated(t.thread.id)},
		{"seq", t.seq},
		{"status", t.status},
		{"idempotency_key", t.key},
		{"query", object{{"text", t.query}}},
		{"error", t.failure()},
		{"cost", costObject(t.credits, t.tokens)},
		{"created_at", stamp(t.created.Unix())},
		{"updated_at", stamp(t.updated.Unix())},
	}
}

func (t *turn) failure() any {
	switch t.status {
	case turnFailed, turnErrored:
		return object{{"message", cmp.Or(t.script.Error, "The answer could not be generated.")}}
	case turnLost:
		return object{{"message", "The worker was lost."}}
	}
	return nil
}

// detailed is a turn with its result and the record of what was done for it.
func (t *turn) detailed() object {
	actions := make([]object, 0, len(t.actions))
	for i, a := range t.actions {
		actions = append(actions, a.object(i+1))
	}
	return append(t.object(), member{"result", t.result()}, member{"actions", actions})
}

func (t *turn) result() any {
	switch t.status {
	case turnComplete:
		refs := make([]object, 0, len(t.refs))
		for _, ref := range t.refs {
			refs = append(refs, ref.object())
		}
		return object{
			{"answer", t.text}, {"references", refs}, {"citations", slices.Concat([]object{}, t.cites)}, {"truncated", t.script.Truncated},
		}
	case turnNeedsInput:
		return object{{"clarification", t.clarification()}}
	}
	return nil
}

func (t *turn) clarification() object {
	return object{{"type", "question"}, {"question", cmp.Or(t.script.Question, "What exactly do you mean?")}}
}

func (r reference) object() object {
	kind := kindFile
	if r.folder {
		kind = kindFolder
	}
	details := object{{"node_id", hyphenated(r.id)}}
	if r.version != "" {
		details = append(details, member{"version_id", hyphenated(r.version)})
	}
	return object{{"type", kind}, {"id", hyphenated(r.id)}, {kind + "_details", details}}
}

func (a *action) object(seq int) object {
	affected := []string{}
	for _, id := range a.affected {
		affected = append(affected, hyphenated(id))
	}
	var ended any
	if !a.ended.IsZero() {
		ended = stamp(a.ended.Unix())
	}
	return object{
		{"seq", seq},
		{"label", a.label},
		{"state", a.state},
		{"affected_refs", affected},
		{"started_at", stamp(a.started.Unix())},
		{"ended_at", ended},
	}
}
