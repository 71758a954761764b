package ai

import (
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Script makes the agent take questions another way. The first script that matches and is not used up decides.
func (h *Handlers) Script(it world.Script) {
	h.Lock()
	defer h.Unlock()
	it.Steps = slices.Clone(it.Steps)
	h.chats.scripts = append(h.chats.scripts, &script{Script: it})
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
	world.Script
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

	script  world.Script
	sources []passage
	refs    []reference
	plan    []func(at time.Time) // what is still to happen
	change  chan struct{}        // closed when something happens next

	events  []streamEvent
	actions []*action
	text    string // of the answer so far
	cites   []wire.Object
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

// ended reports whether nothing more becomes of a turn.
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
func (h *Handlers) tellChat(th *thread, event string) {
	e := world.Event{Name: event, CallingUser: th.creator, Object: th.id, ObjectName: th.name}
	if h.KindOf(th.profile) == wire.KindShare {
		e.Share = th.profile
	} else {
		e.Workspace = th.profile
	}
	h.WriteEvent(e)
}

// Routes is the part of the table that is about the agent. Notes are storage.
func (h *Handlers) Routes() []*wire.Route {
	routes := []*wire.Route{
		wire.Get("ai.Transactions.List", "/current/workspace/{workspace_id}/ai/transactions/", h.listTransactions),
		wire.Get("ai.Files.Read", "/current/ai/share/{token}/", h.readExport, wire.Open, wire.Bare, wire.Writes,
			wire.Query("file")),
		wire.Post("ai.Shares.AutoTitle", "/current/share/{share_id}/ai/autotitle/", h.autoTitle, wire.Form("user_context")),
		wire.Get("ai.Shares.OGImage", "/current/share/{share_id}/ai/autoog/", h.shareImage, wire.Visit),
	}
	for _, scope := range []string{"/current/workspace/{workspace_id}/ai/", "/current/share/{share_id}/ai/"} {
		agent := scope + "agent/"
		chat := agent + "{chat_id}/"
		one := chat + "message/{message_id}/"
		routes = append(routes,
			wire.Post("ai.Threads.Create", agent, h.createThread, wire.Form(questionFields+" kind privacy name")),
			wire.Get("ai.Threads.List", agent+"list/", h.listThreads, wire.Query("kind limit offset")),
			wire.Get("ai.Threads.ListDeleted", agent+"list/deleted/", h.listDeletedThreads, wire.Bare,
				wire.Query("kind limit offset")),
			wire.Get("ai.Threads.Get", chat+"details/", h.threadDetails),
			wire.Post("ai.Threads.Update", chat+"update/", h.updateThread, wire.Form("name")),
			wire.Delete("ai.Threads.Delete", chat, h.deleteThread),
			wire.Post("ai.Threads.Publish", chat+"publish/", h.publishThread, wire.Form("")),
			wire.Post("ai.Turns.Send", chat+"message/", h.sendTurn, wire.Form(questionFields)),
			wire.Post("ai.Turns.Cancel", chat+"cancel/", h.cancelTurn),
			wire.Get("ai.Turns.List", chat+"messages/list/", h.listTurns),
			wire.Get("ai.Turns.List", chat+"messages/list/{offset}/", h.listTurns, wire.Bare),
			wire.Get("ai.Turns.Get", one+"details/", h.turnDetails),
			wire.Get("ai.Turns.Stream", one+"read/", h.streamTurn),
			wire.Post("ai.Files.Share", scope+"share/", h.exportFiles, wire.Form("files")),
		)
	}
	return routes
}
