package emulator

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

// createThread begins a conversation with its first question.
func (s *Server) createThread(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, refusal := s.aiPlace(c, write)
	if refusal == nil {
		refusal = s.mayAsk(place)
	}
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	th := &thread{profile: place, creator: c.key.User}
	q := c.readQuestion()
	public := c.threadFields(th)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if public {
		return notPublic()
	}
	if refusal := s.resolve(c, place, &q); refusal != nil {
		return *refusal
	}
	key := askKey{c.key.User, place, q.key}
	if t := s.state.chats.keys[key]; q.keyed && t != nil {
		if refusal := s.committing(t.thread); refusal != nil {
			return *refusal
		}
		return s.createdThread(t)
	}
	if s.o.AI.ConversationLimit > 0 && len(q.text) > s.o.AI.ConversationLimit {
		return s.tooLarge(place, codeTooLargeCreate, codeTooLargeShareCreate)
	}
	s.keepThread(th, &q)
	t := s.keepTurn(th, &q, key)
	s.tellChat(th, "ai_chat_created")
	s.begin(t)
	return s.createdThread(t)
}

func (s *Server) createdThread(t *turn) answer {
	return ok(member{"thread", s.threadObject(t.thread)}, member{"turn", t.object()})
}

const generatedName = 60 // characters

func (s *Server) keepThread(th *thread, q *question) {
	th.id = opaque('9', s.o.Seed, s.nextSerial())
	th.created = s.now()
	th.updated = th.created
	if th.name == "" {
		th.name = strings.Join(strings.Fields(q.text), " ")
		if runes := []rune(th.name); len(runes) > generatedName {
			th.name = string(runes[:generatedName-1]) + "…"
		}
	}
	chats := &s.state.chats
	chats.threads[th.id] = th
	chats.list = append(chats.list, th)
}

// keepTurn adds a question to a conversation. Without a key of the caller it gets one that nobody else knows.
func (s *Server) keepTurn(th *thread, q *question, key askKey) *turn {
	now := s.now()
	t := &turn{
		thread: th, id: opaque('9', s.o.Seed, s.nextSerial()), status: turnPending, seq: len(th.turns) + 1,
		key: q.key, query: q.text, refs: q.refs, created: now, updated: now, change: make(chan struct{}),
	}
	if !q.keyed {
		t.key = s.secret()[:22]
		key.key = t.key
	}
	s.state.chats.keys[key] = t
	th.turns = append(th.turns, t)
	th.updated = now
	return t
}

// sendTurn asks the next question of a conversation.
func (s *Server) sendTurn(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, refusal := s.aiPlace(c, write)
	if refusal == nil {
		refusal = s.mayAsk(place)
	}
	if refusal != nil {
		return *refusal
	}
	th, refusal := s.threadIn(c, place, http.StatusNotFound)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	q := c.readQuestion()
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if refusal := s.resolve(c, th.profile, &q); refusal != nil {
		return *refusal
	}
	key := askKey{c.key.User, th.id, q.key}
	if t := s.state.chats.keys[key]; q.keyed && t != nil {
		return ok(t.object()...)
	}
	if refusal := s.committing(th); refusal != nil {
		return *refusal
	}
	switch {
	case !th.last().ended():
		return refuse(http.StatusNotAcceptable, codeChatLocked, "The chat is locked: a message is being answered.")
	case s.o.AI.ConversationLimit > 0 && th.size()+len(q.text) > s.o.AI.ConversationLimit:
		return s.tooLarge(th.profile, codeTooLargeMessage, codeTooLargeShareMessage)
	}
	t := s.keepTurn(th, &q, key)
	s.tellChat(th, "ai_chat_new_message")
	s.begin(t)
	return ok(t.object()...)
}

// committing refuses whoever comes before the first turn of a conversation is stored for good.
func (s *Server) committing(th *thread) *answer {
	if s.now().Sub(th.created) >= s.o.AI.CommitTime {
		return nil
	}
	a := refuse(http.StatusConflict, codeCommitting, "The chat is still being created. Send the same key again.")
	return &a
}

func (s *Server) tooLarge(place string, code, onShare int64) answer {
	if s.state.kind(place) == kindShare {
		code = onShare
	}
	return refuse(http.StatusConflict, code, "The conversation is too large. Start a new chat.")
}

// updateThread renames a conversation.
func (s *Server) updateThread(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	th, refusal := s.threadOfPath(c, write, http.StatusNotAcceptable)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	name, given := c.field("name")
	if !given {
		c.check.missing("name", "Name the chat.")
	} else {
		name = c.threadName(name)
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	th.name, th.updated = name, s.now()
	s.tellChat(th, "ai_chat_updated")
	return ok(member{"thread", s.threadObject(th)})
}

// deleteThread moves a conversation to the deleted ones. What is being answered is cancelled.
func (s *Server) deleteThread(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	th, refusal := s.threadOfPath(c, write, http.StatusNotFound)
	if refusal != nil {
		return *refusal
	}
	s.cancel(th.last())
	th.deleted, th.updated = true, s.now()
	s.tellChat(th, "ai_chat_deleted")
	return ok()
}

// publishThread is off on the whole platform.
func (s *Server) publishThread(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, refusal := s.threadOfPath(c, write, http.StatusNotAcceptable); refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	return notPublic()
}

// cancelTurn cancels whatever a conversation is being answered. Nothing is no failure.
func (s *Server) cancelTurn(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	th, refusal := s.threadOfPath(c, write, http.StatusNotAcceptable)
	if refusal == nil && len(c.body) > 0 {
		a := refuse(http.StatusNotAcceptable, codeChatBody, "The body must be empty.")
		refusal = &a
	}
	switch {
	case refusal != nil && s.o.AI.LegacyCancel && refusal.failure.status == http.StatusNotAcceptable:
		return plainJSON(http.StatusNotAcceptable, object{
			{"result", false}, {"error_message", refusal.failure.text}, {"error_id", refusal.failure.code},
		})
	case refusal != nil:
		return *refusal
	}
	t := th.last()
	cancelled := s.cancel(t)
	switch {
	case !s.o.AI.LegacyCancel:
		return ok()
	case cancelled:
		return plainJSON(http.StatusOK, object{{"success", true}, {"message", object{{"id", hyphenated(t.id)}}}})
	}
	return plainJSON(http.StatusOK, object{{"success", true}, {"no_pending_message", true}})
}

// tokensOf counts four characters as a token.
func tokensOf(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }
