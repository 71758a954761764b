package ai

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// createThread begins a conversation with its first question.
func (h *Handlers) createThread(c *wire.Call) (wire.Object, error) {
	place, err := h.aiPlace(c, wire.Write)
	if err == nil {
		err = h.mayAsk(place)
	}
	if err != nil {
		return nil, err
	}
	th := &thread{profile: place, creator: c.Key.User}
	q := readQuestion(c)
	public := threadFields(c, th)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if public {
		return nil, notPublic()
	}
	if err := h.resolve(c, place, &q); err != nil {
		return nil, err
	}
	key := askKey{c.Key.User, place, q.key}
	if t := h.chats.keys[key]; q.keyed && t != nil {
		if err := h.committing(t.thread); err != nil {
			return nil, err
		}
		return h.createdThread(t)
	}
	if h.Options.AI.ConversationLimit > 0 && len(q.text) > h.Options.AI.ConversationLimit {
		return nil, h.tooLarge(place, codeTooLargeCreate, codeTooLargeShareCreate)
	}
	h.keepThread(th, &q)
	t := h.keepTurn(th, &q, key)
	h.tellChat(th, "ai_chat_created")
	h.begin(t)
	return h.createdThread(t)
}

func (h *Handlers) createdThread(t *turn) (wire.Object, error) {
	return wire.Object{{"thread", h.threadObject(t.thread)}, {"turn", t.object()}}, nil
}

const generatedName = 60 // characters

func (h *Handlers) keepThread(th *thread, q *question) {
	th.id = world.Opaque('9', h.Options.Seed, h.NextSerial())
	th.created = h.Now()
	th.updated = th.created
	if th.name == "" {
		th.name = strings.Join(strings.Fields(q.text), " ")
		if runes := []rune(th.name); len(runes) > generatedName {
			th.name = string(runes[:generatedName-1]) + "…"
		}
	}
	chats := &h.chats
	chats.threads[th.id] = th
	chats.list = append(chats.list, th)
}

// keepTurn adds a question to a conversation. Without a key of the caller it gets one that nobody else knows.
func (h *Handlers) keepTurn(th *thread, q *question, key askKey) *turn {
	now := h.Now()
	t := &turn{
		thread: th, id: world.Opaque('9', h.Options.Seed, h.NextSerial()), status: turnPending, seq: len(th.turns) + 1,
		key: q.key, query: q.text, refs: q.refs, created: now, updated: now, change: make(chan struct{}),
	}
	if !q.keyed {
		t.key = h.Secret()[:22]
		key.key = t.key
	}
	h.chats.keys[key] = t
	th.turns = append(th.turns, t)
	th.updated = now
	return t
}

// sendTurn asks the next question of a conversation.
func (h *Handlers) sendTurn(c *wire.Call) (wire.Object, error) {
	place, err := h.aiPlace(c, wire.Write)
	if err == nil {
		err = h.mayAsk(place)
	}
	if err != nil {
		return nil, err
	}
	th, err := h.threadIn(c, place, http.StatusNotFound)
	if err != nil {
		return nil, err
	}
	q := readQuestion(c)
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	if err := h.resolve(c, th.profile, &q); err != nil {
		return nil, err
	}
	key := askKey{c.Key.User, th.id, q.key}
	if t := h.chats.keys[key]; q.keyed && t != nil {
		return t.object(), nil
	}
	if err := h.committing(th); err != nil {
		return nil, err
	}
	switch {
	case !th.last().ended():
		return nil, wire.Refuse(http.StatusNotAcceptable, codeChatLocked, "The chat is locked: a message is being answered.")
	case h.Options.AI.ConversationLimit > 0 && th.size()+len(q.text) > h.Options.AI.ConversationLimit:
		return nil, h.tooLarge(th.profile, codeTooLargeMessage, codeTooLargeShareMessage)
	}
	t := h.keepTurn(th, &q, key)
	h.tellChat(th, "ai_chat_new_message")
	h.begin(t)
	return t.object(), nil
}

// committing refuses whoever comes before the first turn of a conversation is stored for good.
func (h *Handlers) committing(th *thread) error {
	if h.Now().Sub(th.created) >= h.Options.AI.CommitTime {
		return nil
	}
	return wire.Refuse(http.StatusConflict, codeCommitting, "The chat is still being created. Send the same key again.")
}

func (h *Handlers) tooLarge(place string, code, onShare int64) error {
	if h.KindOf(place) == wire.KindShare {
		code = onShare
	}
	return wire.Refuse(http.StatusConflict, code, "The conversation is too large. Start a new chat.")
}

// updateThread renames a conversation.
func (h *Handlers) updateThread(c *wire.Call) (wire.Object, error) {
	th, err := h.threadOfPath(c, wire.Write, http.StatusNotAcceptable)
	if err != nil {
		return nil, err
	}
	name, given := c.Field("name")
	if !given {
		c.Check.Missing("name", "Name the chat.")
	} else {
		name = threadName(c, name)
	}
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	th.name, th.updated = name, h.Now()
	h.tellChat(th, "ai_chat_updated")
	return wire.Object{{"thread", h.threadObject(th)}}, nil
}

// deleteThread moves a conversation to the deleted ones. What is being answered is cancelled.
func (h *Handlers) deleteThread(c *wire.Call) (wire.Object, error) {
	th, err := h.threadOfPath(c, wire.Write, http.StatusNotFound)
	if err != nil {
		return nil, err
	}
	h.cancel(th.last())
	th.deleted, th.updated = true, h.Now()
	h.tellChat(th, "ai_chat_deleted")
	return nil, nil
}

// publishThread is off on the whole platform.
func (h *Handlers) publishThread(c *wire.Call) (wire.Object, error) {
	if _, err := h.threadOfPath(c, wire.Write, http.StatusNotAcceptable); err != nil {
		return nil, err
	}
	return nil, notPublic()
}

// cancelTurn cancels whatever a conversation is being answered. Nothing is no failure.
func (h *Handlers) cancelTurn(c *wire.Call) (wire.Object, error) {
	th, err := h.threadOfPath(c, wire.Write, http.StatusNotAcceptable)
	if err == nil && len(c.Body) > 0 {
		a := wire.Refuse(http.StatusNotAcceptable, codeChatBody, "The body must be empty.")
		err = a
	}
	switch {
	case err != nil && h.Options.AI.LegacyCancel && wire.RefusalOf(err).Status == http.StatusNotAcceptable:
		return c.PlainJSON(http.StatusNotAcceptable, wire.Object{
			{"result", false}, {"error_message", wire.RefusalOf(err).Text}, {"error_id", wire.RefusalOf(err).Code},
		})
	case err != nil:
		return nil, err
	}
	t := th.last()
	cancelled := h.cancel(t)
	switch {
	case !h.Options.AI.LegacyCancel:
		return nil, nil
	case cancelled:
		return c.PlainJSON(http.StatusOK,
			wire.Object{{"success", true}, {"message", wire.Object{{"id", wire.Hyphenated(t.id)}}}})
	}
	return c.PlainJSON(http.StatusOK, wire.Object{{"success", true}, {"no_pending_message", true}})
}

// tokensOf counts four characters as a token.
func tokensOf(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }
