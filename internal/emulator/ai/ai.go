// Package ai is the conversations with the platform's agent.
package ai

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers answers the calls of the area.
type Handlers struct {
	*world.World

	chats chatState
}

// New returns the area of a world.
func New(w *world.World) *Handlers {
	return &Handlers{World: w, chats: chatState{
		threads: map[string]*thread{}, keys: map[askKey]*turn{}, exports: map[string]*export{},
	}}
}

// Script makes the agent take questions another way. The first script that matches and is not used up decides.
func (h *Handlers) Script(it world.Script) {
	h.Lock()
	defer h.Unlock()
	it.Steps = slices.Clone(it.Steps)
	h.chats.scripts = append(h.chats.scripts, &script{Script: it})
}

type chatState struct {
	threads map[string]*thread
	list    []*thread // by creation
	keys    map[askKey]*turn
	scripts []*script
	costs   []transaction // oldest first
	exports map[string]*export
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

type action struct {
	label, state   string
	affected       []string
	started, ended time.Time
}

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

func (t *turn) ended() bool {
	final := []string{turnComplete, turnFailed, turnCancelled, turnLost, turnNeedsInput, turnErrored}
	return slices.Contains(final, t.status)
}

func (th *thread) last() *turn { return th.turns[len(th.turns)-1] }

func (th *thread) size() int {
	n := 0
	for _, t := range th.turns {
		n += len(t.query) + len(t.text)
	}
	return n
}

func (h *Handlers) tellChat(th *thread, event string) {
	h.EventIn(th.profile, world.Event{Name: event, CallingUser: th.creator, Object: th.id, ObjectName: th.name})
}

// Routes is the part of the table that is about the agent. Notes are storage.
func (h *Handlers) Routes() []*wire.Route {
	reader, writer := h.aiPlace(wire.Read), h.aiPlace(wire.Write)
	routes := []*wire.Route{
		wire.Get("ai.Transactions.List", "/current/workspace/{workspace_id}/ai/transactions/",
			wire.With(reader, h.listTransactions)),
		wire.Get("ai.Files.Read", "/current/ai/share/{token}/", h.readExport, wire.Open, wire.Bare, wire.Writes,
			wire.Query("file")),
		wire.Post("ai.Shares.AutoTitle", "/current/share/{share_id}/ai/autotitle/",
			wire.With(h.aiProfile(wire.Write), h.autoTitle), wire.Form("user_context")),
		wire.Get("ai.Shares.OGImage", "/current/share/{share_id}/ai/autoog/", h.shareImage, wire.Visit),
	}
	read, deleted := h.threadOfPath(reader, http.StatusNotFound), h.threadOfPath(writer, http.StatusNotFound)
	changed := h.threadOfPath(writer, http.StatusNotAcceptable)
	for _, scope := range []string{"/current/workspace/{workspace_id}/ai/", "/current/share/{share_id}/ai/"} {
		agent := scope + "agent/"
		chat := agent + "{chat_id}/"
		one := chat + "message/{message_id}/"
		routes = append(routes,
			wire.Post("ai.Threads.Create", agent, wire.With(writer, h.createThread),
				wire.Form(questionFields+" kind privacy name")),
			wire.Get("ai.Threads.List", agent+"list/", wire.With(reader, h.threads(false)), wire.Query("kind limit offset")),
			wire.Get("ai.Threads.ListDeleted", agent+"list/deleted/", wire.With(reader, h.threads(true)), wire.Bare,
				wire.Query("kind limit offset")),
			wire.Get("ai.Threads.Get", chat+"details/", wire.With(read, h.threadDetails)),
			wire.Post("ai.Threads.Update", chat+"update/", wire.With(changed, h.updateThread), wire.Form("name")),
			wire.Delete("ai.Threads.Delete", chat, wire.With(deleted, h.deleteThread)),
			wire.Post("ai.Threads.Publish", chat+"publish/", wire.With(changed, publishThread), wire.Form("")),
			wire.Post("ai.Turns.Send", chat+"message/", wire.With(writer, h.sendTurn), wire.Form(questionFields)),
			wire.Post("ai.Turns.Cancel", chat+"cancel/", h.cancelTurn),
			wire.Get("ai.Turns.List", chat+"messages/list/", wire.With(read, h.listTurns)),
			wire.Get("ai.Turns.List", chat+"messages/list/{offset}/", wire.With(read, h.listTurns), wire.Bare),
			wire.Get("ai.Turns.Get", one+"details/", wire.With(h.turnOfPath, h.turnDetails)),
			wire.Get("ai.Turns.Stream", one+"read/", wire.With(h.turnOfPath, h.streamTurn)),
			wire.Post("ai.Files.Share", scope+"share/", wire.With(h.aiProfile(wire.Write), h.exportFiles), wire.Form("files")),
		)
	}
	return routes
}

// Codes of the agent. The first four are published; the others are the emulator's own.
const (
	codeTooLargeMessage      = 168116 // on a workspace
	codeTooLargeCreate       = 153795
	codeTooLargeShareMessage = 148135
	codeTooLargeShareCreate  = 144657
	codeNoCredits            = 199402
	codePublic               = 199404
	codeNoChat               = 199405
	codeNoTurn               = 199406
	codeCommitting           = 199407
	codeChatLocked           = 199408
	codeNoReference          = 199409
	codeChatBody             = 199410
	codeNotStreamed          = 199411
	codeExportMissing        = 199413
)

// finder finds the workspace or share of a call.
type finder = func(*wire.Call) (string, error)

// visited is the share that a user visits as a guest, one that forbids nothing for members and in workspaces.
func (h *Handlers) visited(place, userID string) world.Share {
	share := h.Shares[place]
	if share == nil || h.AtLeast(place, userID, world.Member) {
		return world.Share{}
	}
	return share.Value
}

// aiPlace finds the workspace or share of a call whose plan has the agent's surface, and checks that the caller has
// the rights.
func (h *Handlers) aiPlace(least wire.Mode) finder {
	return func(c *wire.Call) (string, error) {
		id, err := h.aiProfile(least)(c)
		if err != nil {
			return "", err
		}
		if h.visited(id, c.Key.User).NoGuestChat {
			return "", wire.Denied("guests may not chat here.")
		}
		return id, h.Lacks(world.FeatureAI)
	}
}

// aiProfile finds the workspace or share of a call that the caller may look at, or change with its credential.
func (h *Handlers) aiProfile(least wire.Mode) finder {
	return func(c *wire.Call) (string, error) {
		if err := c.Check.Refusal(); err != nil {
			return "", err
		}
		kind, id := wire.KindWorkspace, h.WorkspaceNamed(c.Segment("workspace_id"), c.Key.User)
		if share := c.Segment("share_id"); share != "" {
			kind, id = wire.KindShare, h.ShareNamed(share)
		}
		switch {
		case id == "":
			return "", wire.NoSuch(wire.CodeNotFound, kind)
		case h.Covers(c.Key, id) < wire.Read:
			return "", h.OutOfScope(id)
		case h.Role(id, c.Key.User) == "":
			return "", wire.NotMember()
		case h.ShutOut(id, c.Key.User):
			return "", world.Unseen(world.CodeNoView)
		case h.Covers(c.Key, id) < least:
			return "", c.Key.RefuseWrite()
		default:
			return id, nil
		}
	}
}

func (h *Handlers) mayAsk(profileID string) error {
	if err := h.Lacks(world.FeatureAgent); err != nil {
		return err
	}
	if h.PlanOf(profileID).OutOfCredits {
		return wire.Refuse(http.StatusPaymentRequired, codeNoCredits, "Credit Limit Exceeded: none are left.")
	}
	return cmp.Or(h.agentDenied(profileID), h.IntelligenceDenied(profileID))
}

// agentDenied is the policy about the agent, which goes before the one about its index.
func (h *Handlers) agentDenied(profileID string) error {
	if !h.PlanOf(profileID).AIPolicy.DenyAgent {
		return nil
	}
	return world.Forbidden("ai_policy_denied", "agent")
}

// threadOfPath finds the conversation of a call, for its creator alone. Reads miss it with 404, changes with 406.
func (h *Handlers) threadOfPath(find finder, status int) func(*wire.Call) (*thread, error) {
	return func(c *wire.Call) (*thread, error) {
		place, err := find(c)
		if err != nil {
			return nil, err
		}
		return h.threadIn(c, place, status)
	}
}

func (h *Handlers) threadIn(c *wire.Call, place string, status int) (*thread, error) {
	id := c.OpaqueSegment("chat_id")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	th := h.chats.threads[id]
	if th == nil || th.deleted || th.profile != place || th.creator != c.Key.User {
		return nil, wire.Refuse(status, codeNoChat, "There is no such chat.")
	}
	return th, nil
}

func (h *Handlers) turnOfPath(c *wire.Call) (*turn, error) {
	th, err := h.threadOfPath(h.aiPlace(wire.Read), http.StatusNotFound)(c)
	if err != nil {
		return nil, err
	}
	id := c.OpaqueSegment("message_id")
	if err := c.Check.Refusal(); err != nil {
		return nil, err
	}
	for _, t := range th.turns {
		if t.id == id {
			return t, nil
		}
	}
	return nil, wire.NoSuch(codeNoTurn, "message")
}
