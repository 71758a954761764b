package emulator

import (
	"cmp"
	"slices"
	"time"
)

// Features of a plan.
const (
	featureAI        = "content_ai"
	featureAgent     = "ai_agent"
	featureAutoTitle = "ai_autotitle"
	featureAutoOG    = "ai_autoog"
)

// Script makes the agent take questions another way. The first script that matches and is not used up decides.
func (s *Server) Script(it Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it.Steps = slices.Clone(it.Steps)
	s.state.chats.scripts = append(s.state.chats.scripts, &script{Script: it})
}

// chatState is what the platform remembers of conversations with its agent.
type chatState struct {
	threads map[string]*thread
	list    []*thread // by creation
	keys    map[askKey]*turn
	scripts []*script
	costs   []transaction // oldest first
	exports map[string]*export
}

func newChats() chatState {
	return chatState{threads: map[string]*thread{}, keys: map[askKey]*turn{}, exports: map[string]*export{}}
}

type script struct {
	Script
	used int
}

// askKey tells a question that was sent again from a new one. A key counts for whoever sent it, where it was sent.
type askKey struct{ user, place, key string }

// thread is a conversation, which nobody but its creator can see.
type thread struct {
	id, profile, creator string
	name, kind           string
	created, updated     time.Time
	deleted              bool
	turns                []*turn
}

// turn is a question and what becomes of it.
type turn struct {
	thread           *thread
	id, status       string
	seq              int
	key, query       string
	created, updated time.Time

	script  Script
	sources []passage
	refs    []reference
	plan    []func(at time.Time) // what is still to happen
	change  chan struct{}        // closed when something happens next

	events  []streamEvent
	actions []*action
	text    string // of the answer so far
	cites   []object
	credits int
	tokens  int
}

// action is something the agent did on the way to its answer.
type action struct {
	label, state   string
	affected       []string
	started, ended time.Time
}

// transaction is what a turn cost.
type transaction struct {
	profile, user   string
	thread, turn    string
	credits, tokens int
	at              time.Time
}

// Statuses of a turn.
const (
	turnPending    = "pending"
	turnRunning    = "running"
	turnComplete   = "complete"
	turnFailed     = "failed"
	turnCancelled  = "cancelled"
	turnLost       = "lost"
	turnNeedsInput = "needs_input"
	turnErrored    = "errored"
)

// ended tells whether nothing more becomes of a turn.
func (t *turn) ended() bool {
	switch t.status {
	case turnComplete, turnFailed, turnCancelled, turnLost, turnNeedsInput, turnErrored:
		return true
	}
	return false
}

func (th *thread) last() *turn { return th.turns[len(th.turns)-1] }

// size is how much a conversation holds.
func (th *thread) size() int {
	n := 0
	for _, t := range th.turns {
		n += len(t.query) + len(t.text)
	}
	return n
}

// tellChat writes an event about a conversation.
func (s *Server) tellChat(th *thread, event string) {
	e := Event{Name: event, CallingUser: th.creator, Object: th.id, ObjectName: th.name}
	if s.state.kind(th.profile) == kindShare {
		e.Share = th.profile
	} else {
		e.Workspace = th.profile
	}
	s.write(e)
}

// planOf is what the organization of a profile has paid for and allows.
func (st *state) planOf(profileID string) Org {
	if o := st.orgs[st.orgOf(profileID)]; o != nil {
		return o.it
	}
	return Org{}
}

// payer is who is billed for what happens on a profile.
func (st *state) payer(profileID, userID string) string { return cmp.Or(st.orgOf(profileID), userID) }

// aiRoutes is the part of the table that is about the agent. Notes are storage.
func (s *Server) aiRoutes() []*route {
	const get, post, del = "GET", "POST", "DELETE"
	routes := []*route{
		{op: "ai.Transactions.List", method: get, pattern: "/current/workspace/{workspace_id}/ai/transactions/", handle: s.listTransactions},
		{op: "ai.Files.Read", method: get, pattern: "/current/ai/share/{token}/", open: true, bare: true, query: "file", handle: s.readExport},
		{op: "ai.Shares.AutoTitle", method: post, pattern: "/current/share/{share_id}/ai/autotitle/", fields: "user_context", handle: s.autoTitle},
		{op: "ai.Shares.OGImage", method: get, pattern: "/current/share/{share_id}/ai/autoog/", visit: true, handle: s.shareImage},
	}
	for _, scope := range []string{"/current/workspace/{workspace_id}/ai/", "/current/share/{share_id}/ai/"} {
		agent := scope + "agent/"
		chat := agent + "{chat_id}/"
		one := chat + "message/{message_id}/"
		routes = append(routes,
			&route{op: "ai.Threads.Create", method: post, pattern: agent, fields: questionFields + " kind privacy name", handle: s.createThread},
			&route{op: "ai.Threads.List", method: get, pattern: agent + "list/", query: "kind limit offset", handle: s.listThreads},
			&route{op: "ai.Threads.ListDeleted", method: get, pattern: agent + "list/deleted/", bare: true, query: "kind limit offset", handle: s.listDeletedThreads},
			&route{op: "ai.Threads.Get", method: get, pattern: chat + "details/", handle: s.threadDetails},
			&route{op: "ai.Threads.Update", method: post, pattern: chat + "update/", fields: "name", handle: s.updateThread},
			&route{op: "ai.Threads.Delete", method: del, pattern: chat, handle: s.deleteThread},
			&route{op: "ai.Threads.Publish", method: post, pattern: chat + "publish/", handle: s.publishThread},
			&route{op: "ai.Turns.Send", method: post, pattern: chat + "message/", fields: questionFields, handle: s.sendTurn},
			&route{op: "ai.Turns.Cancel", method: post, pattern: chat + "cancel/", handle: s.cancelTurn},
			&route{op: "ai.Turns.List", method: get, pattern: chat + "messages/list/", handle: s.listTurns},
			&route{op: "ai.Turns.List", method: get, pattern: chat + "messages/list/{offset}/", bare: true, handle: s.listTurns},
			&route{op: "ai.Turns.Get", method: get, pattern: one + "details/", handle: s.turnDetails},
			&route{op: "ai.Turns.Stream", method: get, pattern: one + "read/", handle: s.streamTurn},
			&route{op: "ai.Files.Share", method: post, pattern: scope + "share/", fields: "files", handle: s.exportFiles},
		)
	}
	return routes
}
