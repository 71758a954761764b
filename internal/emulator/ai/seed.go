package ai

import (
	"cmp"
	"strings"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// AddThread adds a conversation whose questions are answered, with its events, and
// returns it with its name, by default the beginning of the first question. Citations of
// unknown nodes are left out. A conversation without turns is not added.
func (h *Handlers) AddThread(it world.SeedThread) world.SeedThread {
	h.w.Lock()
	defer h.w.Unlock()
	if len(it.Turns) == 0 {
		return it
	}
	th := &thread{profile: it.Profile, creator: it.User, name: it.Name, kind: "user"}
	h.addThread(th, &question{text: it.Turns[0].Question})
	th.created = cmp.Or(it.Turns[0].Created, th.created)
	for i, given := range it.Turns {
		// The askKey gets the random idempotency key of the turn in addTurn.
		t := h.addTurn(th, &question{text: given.Question}, askKey{user: it.User, place: th.id})
		t.created = cmp.Or(given.Created, t.created)
		for _, c := range given.Citations {
			if n := h.w.AnyNode(wire.Plain(c.Node)); n != nil {
				t.sources = append(t.sources, passage{
					node: n, version: n.Current().ID, text: c.Snippet, page: max(1, c.Page),
				})
			}
		}
		t.planSteps(strings.TrimSpace(given.Answer), h.w.ProfileName(it.Profile))
		for _, next := range t.plan {
			t.applyStep(next, t.created)
		}
		event := "ai_chat_new_message"
		if i == 0 {
			event = "ai_chat_created"
		}
		h.w.EventIn(it.Profile, world.Event{
			Name: event, CallingUser: it.User, Object: th.id, ObjectName: th.name, Created: t.created,
		})
	}
	it.Name = th.name
	return it
}

// Export adds the conversations that are not deleted to a seed file, with the turns that
// are complete. A conversation without such turns is left out. The caller holds the lock.
func (h *Handlers) Export(f *world.SeedFile) {
	for _, th := range h.chats.list {
		it := world.SeedThread{Profile: th.profile, User: th.creator, Name: th.name}
		for _, t := range th.turns {
			if t.status != turnComplete || t.text == "" {
				continue
			}
			turn := seed.Turn{Question: t.query, Answer: t.text, Created: t.created}
			for _, src := range t.sources {
				turn.Citations = append(turn.Citations, seed.Citation{Node: src.node.ID, Snippet: src.text, Page: src.page})
			}
			it.Turns = append(it.Turns, turn)
		}
		if len(it.Turns) > 0 && !th.deleted {
			f.Threads = append(f.Threads, it)
		}
	}
}
