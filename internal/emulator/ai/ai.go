// Package ai emulates conversations with the platform's agent.
package ai

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	chats chatState
}

// New returns the handlers of the agent, which keep its conversations.
func New(w *world.World) *Handlers {
	return &Handlers{w: w, chats: chatState{
		threads: map[string]*thread{}, keys: map[askKey]*turn{}, exports: map[string]*export{},
	}}
}

// Script adds a scripted answer of the agent. The first script that matches a question
// and has uses left applies.
func (h *Handlers) Script(it world.Script) {
	h.w.Lock()
	defer h.w.Unlock()
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

// askKey identifies a retried question, by key, caller and place.
type askKey struct{ user, place, key string }

// thread is a conversation, which only its creator can see.
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
	plan    []step       // what is still to happen
	change  world.Signal // something has happened

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

// ended reports whether the status of a turn is final.
func (t *turn) ended() bool {
	final := []string{turnComplete, turnFailed, turnCancelled, turnLost, turnNeedsInput, turnErrored}
	return slices.Contains(final, t.status)
}

// last returns the latest turn.
func (th *thread) last() *turn { return th.turns[len(th.turns)-1] }

// size returns the length of all questions and answers of a conversation, in bytes.
func (th *thread) size() int {
	n := 0
	for _, t := range th.turns {
		n += len(t.query) + len(t.text)
	}
	return n
}

// logThread writes an event about a conversation to the event log.
func (h *Handlers) logThread(th *thread, event string) {
	h.w.EventIn(th.profile, world.Event{Name: event, CallingUser: th.creator, Object: th.id, ObjectName: th.name})
}

// Routes returns the routes of the agent.
func (h *Handlers) Routes() []*wire.Route {
	reader, writer := h.chatProfile(wire.Read), h.chatProfile(wire.Write)
	routes := []*wire.Route{
		wire.Get("ai.Transactions.List", "/current/workspace/{workspace_id}/ai/transactions/",
			wire.With(reader, h.listTransactions)),
		wire.Get("ai.ReadExport", "/current/ai/share/{token}/", h.readExport, wire.NoCredential, wire.SlashOptional,
			wire.ChangesState,
			wire.Query("file")),
		wire.Post("ai.AutoTitle", "/current/share/{share_id}/ai/autotitle/",
			wire.With(h.aiProfile(wire.Write), h.autoTitle), wire.Form("user_context")),
		wire.Get("ai.OGImage", "/current/share/{share_id}/ai/autoog/", h.shareImage, wire.OptionalCredential),
	}
	toRead, toDelete := h.threadOfPath(reader, statusNoThread), h.threadOfPath(writer, statusNoThread)
	toChange := h.threadOfPath(writer, statusNoThreadToChange)
	for _, scope := range []string{"/current/workspace/{workspace_id}/ai/", "/current/share/{share_id}/ai/"} {
		agent := scope + "agent/"
		chat := agent + "{chat_id}/"
		one := chat + "message/{message_id}/"
		routes = append(routes,
			wire.Post("ai.Threads.Create", agent, wire.With(writer, h.createThread),
				wire.Form(questionFields+" kind privacy name")),
			wire.Get("ai.Threads.List", agent+"list/", wire.With(reader, h.threads(liveThreads)), wire.Query("kind limit offset")),
			wire.Get("ai.Threads.ListDeleted", agent+"list/deleted/", wire.With(reader, h.threads(deletedThreads)),
				wire.SlashOptional,
				wire.Query("kind limit offset")),
			wire.Get("ai.Threads.Get", chat+"details/", wire.With(toRead, h.threadDetails)),
			wire.Post("ai.Threads.Update", chat+"update/", wire.With(toChange, h.updateThread), wire.Form("name")),
			wire.Delete("ai.Threads.Delete", chat, wire.With(toDelete, h.deleteThread)),
			wire.Post("ai.Threads.Publish", chat+"publish/", wire.With(toChange, publishThread),
				wire.BlankForm(wire.NoFields)), // an empty form, or {}
			wire.Post("ai.Turns.Send", chat+"message/", wire.With(writer, h.sendTurn), wire.Form(questionFields)),
			wire.Post("ai.Turns.Cancel", chat+"cancel/", h.cancelTurn),
			wire.Get("ai.Turns.List", chat+"messages/list/", wire.With(toRead, h.listTurns)),
			wire.Get("ai.Turns.List", chat+"messages/list/{offset}/", wire.With(toRead, h.listTurns), wire.SlashOptional),
			wire.Get("ai.Turns.Get", one+"details/", wire.With(h.turnOfPath, h.turnDetails)),
			wire.Get("ai.Turns.Stream", one+"read/", wire.With(h.turnOfPath, h.streamTurn)),
			wire.Post("ai.ExportFiles", scope+"share/", wire.With(h.aiProfile(wire.Write), h.exportFiles), wire.Form("files")),
		)
	}
	return routes
}

// Codes of the agent. Those from 199001 to 199999 are invented.
const (
	codeTooLargeMessage      = 168116 // on a workspace
	codeTooLargeCreate       = 153795
	codeTooLargeShareMessage = 148135
	codeTooLargeShareCreate  = 144657
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

// guestShare returns the share that a user visits as a guest. For a member, and in a
// workspace, it returns the zero share, which limits nothing.
func (h *Handlers) guestShare(profileID, userID string) world.Share {
	share := h.w.Share(profileID)
	if share == nil || h.w.AtLeast(profileID, userID, world.Member) {
		return world.Share{}
	}
	return share.Value
}

// chatProfile returns a finder like aiProfile, which also refuses a guest who may not
// chat, and all callers if the plan of the organization does not include AI.
func (h *Handlers) chatProfile(least wire.Mode) finder {
	return func(c *wire.Call) (string, error) {
		id, err := h.aiProfile(least)(c)
		if err != nil {
			return "", err
		}
		if h.guestShare(id, c.Key.User).NoGuestChat {
			return "", wire.Denied("guests may not chat here.")
		}
		return id, h.w.RefuseWithout(world.FeatureAI)
	}
}

// aiProfile returns a finder of the workspace or share in the path. It refuses a
// caller who is not in it, or whose credential does not grant the mode least.
func (h *Handlers) aiProfile(least wire.Mode) finder {
	return func(c *wire.Call) (string, error) {
		if err := c.Check.Err(); err != nil {
			return "", err
		}
		kind, id := wire.KindWorkspace, h.w.WorkspaceNamed(c.Segment("workspace_id"), c.Key.User)
		if share := c.Segment("share_id"); share != "" {
			kind, id = wire.KindShare, h.w.ShareNamed(share)
		}
		switch {
		case id == "":
			return "", wire.NoSuch(wire.CodeNotFound, kind)
		case h.w.AccessMode(c.Key, id) < wire.Read:
			return "", h.w.OutOfScopeRefusal(id)
		case h.w.Role(id, c.Key.User) == "":
			return "", wire.NotMember()
		case h.w.ClosedTo(id, c.Key.User):
			return "", world.NoShareAccess(world.CodeNoView)
		case h.w.AccessMode(c.Key, id) < least:
			return "", c.Key.ReadOnlyRefusal()
		default:
			return id, nil
		}
	}
}

// refuseQuestion returns a refusal if the agent answers no questions in a profile: by
// its plan, its credits, its policy, or because its files are not indexed.
func (h *Handlers) refuseQuestion(profileID string) error {
	if err := cmp.Or(h.w.RefuseWithout(world.FeatureAgent), h.w.RefuseWithoutCredits(profileID)); err != nil {
		return err
	}
	return cmp.Or(h.refuseDeniedAgent(profileID), h.w.RefuseIntelligence(profileID))
}

// refuseDeniedAgent returns a refusal if the policy of the organization of a profile
// denies the agent.
func (h *Handlers) refuseDeniedAgent(profileID string) error {
	if !h.w.PlanOf(profileID).AIPolicy.DenyAgent {
		return nil
	}
	return world.PolicyRefusal("ai_policy_denied", "agent")
}

// Statuses of the refusal of a conversation that does not exist.
const (
	statusNoThread         = http.StatusNotFound      // of calls that read or delete it, or ask in it
	statusNoThreadToChange = http.StatusNotAcceptable // of calls that rename or publish it, or cancel its turn
)

// threadOfPath returns a function that finds the conversation in the path. For one that
// the caller did not create, it returns a refusal with this status: the platform responds
// with 404 to reads and deletes, and with 406 to other changes.
func (h *Handlers) threadOfPath(find finder, status int) func(*wire.Call) (*thread, error) {
	return func(c *wire.Call) (*thread, error) {
		profileID, err := find(c)
		if err != nil {
			return nil, err
		}
		return h.threadIn(c, profileID, status)
	}
}

// threadIn returns the conversation in the path, if the caller has created it in this
// workspace or share, and not deleted it. Otherwise it returns a refusal with the status.
func (h *Handlers) threadIn(c *wire.Call, profileID string, status int) (*thread, error) {
	id := c.OpaqueSegment("chat_id")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	th := h.chats.threads[id]
	if th == nil || th.deleted || th.profile != profileID || th.creator != c.Key.User {
		return nil, wire.Refuse(status, codeNoChat, "There is no such chat.")
	}
	return th, nil
}

// turnOfPath returns the turn in the path, of a conversation of the caller.
func (h *Handlers) turnOfPath(c *wire.Call) (*turn, error) {
	th, err := h.threadOfPath(h.chatProfile(wire.Read), statusNoThread)(c)
	if err != nil {
		return nil, err
	}
	id := c.OpaqueSegment("message_id")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	for _, t := range th.turns {
		if t.id == id {
			return t, nil
		}
	}
	return nil, wire.NoSuch(codeNoTurn, "message")
}

const transactionsMost = 40

const (
	liveThreads    = false
	deletedThreads = true
)

// threads returns a handler that lists the caller's conversations, either the deleted
// or the other ones, the last updated first. By an option, the list has pages.
func (h *Handlers) threads(deleted bool) func(*wire.Call, string) (wire.Object, error) {
	return func(c *wire.Call, profileID string) (wire.Object, error) {
		kind := cmp.Or(c.Value("kind"), "user")
		c.Check.InvalidIf(kind != "user" && kind != "agent" && kind != "all", "kind", "user, agent or all.")
		page := c.Page(wire.ListLimit, wire.ListLimit)
		found := wire.Filter(h.chats.list, func(th *thread) bool {
			return th.profile == profileID && th.creator == c.Key.User && th.deleted == deleted &&
				(kind == "all" || kind == th.kind)
		})
		slices.Reverse(found) // the last created first, of those that were updated at the same time
		slices.SortStableFunc(found, func(a, b *thread) int { return b.updated.Compare(a.updated) })
		if h.w.Options.AI.PagedThreads {
			found = wire.PageOf(found, page)
		}
		return wire.Object{{"chats", countedList(wire.Rows(found, func(th *thread) wire.Object {
			return append(h.countedThread(th), wire.Member{"latest_message", th.last().object()})
		}))}}, c.Check.Err()
	}
}

// countedList returns a list as the members count and items.
func countedList(items []wire.Object) wire.Object {
	return wire.Object{{"count", len(items)}, {"items", items}}
}

// threadDetails returns a conversation with all its turns.
func (h *Handlers) threadDetails(c *wire.Call, th *thread) (wire.Object, error) {
	return wire.Object{{"thread", h.countedThread(th)}, {"turns", countedList(wire.Rows(th.turns, (*turn).object))}}, nil
}

// listTurns returns turns, the oldest first, from the offset in the path on: all of them
// or, by the option TurnPage, at most so many.
func (h *Handlers) listTurns(c *wire.Call, th *thread) (wire.Object, error) {
	offset := 0
	if given := c.Segment("offset"); given != "" {
		var err error
		offset, err = strconv.Atoi(given)
		if err != nil || offset < 0 {
			c.Check.Mistyped("offset", "integer")
			return nil, c.Check.Err()
		}
	}
	turns := th.turns[min(offset, len(th.turns)):]
	if h.w.Options.AI.TurnPage > 0 {
		turns = turns[:min(h.w.Options.AI.TurnPage, len(turns))]
	}
	return wire.Object{{"messages", countedList(wire.Rows(turns, (*turn).object))}}, nil
}

// turnDetails returns a turn, in the member "message" in a workspace and "turn" in a
// share.
func (h *Handlers) turnDetails(_ *wire.Call, t *turn) (wire.Object, error) {
	key := "message"
	if h.w.KindOf(t.thread.profile) == wire.KindShare {
		key = "turn"
	}
	return wire.Object{{key, t.objectWithResult()}}, nil
}

// listTransactions returns what the latest turns in a workspace have cost, the latest
// first.
func (h *Handlers) listTransactions(c *wire.Call, profileID string) (wire.Object, error) {
	rows := []wire.Object{}
	for _, cost := range slices.Backward(h.chats.costs) {
		if cost.profile != profileID || len(rows) == transactionsMost {
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
	return wire.Object{{"transactions", wire.Object{{"items", rows}}}}, nil
}

// threadObject renders a conversation.
func (h *Handlers) threadObject(th *thread) wire.Object {
	credits, tokens := 0, 0
	for _, t := range th.turns {
		credits, tokens = credits+t.credits, tokens+t.tokens
	}
	creator := wire.Object{{"type", wire.KindUser}, {"id", wire.ProfileID(th.creator)}}
	return wire.Object{
		{"thread_id", wire.Hyphenated(th.id)},
		{"creator", creator},
		{"scope", wire.Object{{"type", h.w.KindOf(th.profile)}, {"id", wire.ProfileID(th.profile)}}},
		{"name", th.name},
		{"status", "active"},
		{"kind", th.kind},
		{"cost", costObject(credits, tokens)},
		{"privacy", wire.Object{{"visibility", "private"}, {"owner", creator}}},
		{"created_at", wire.Stamp(th.created.Unix())},
		{"updated_at", wire.Stamp(th.updated.Unix())},
	}
}

// countedThread renders a conversation with the number of its turns.
func (h *Handlers) countedThread(th *thread) wire.Object {
	return append(h.threadObject(th), wire.Member{"message_count", len(th.turns)}, wire.Member{"continuable", !th.deleted})
}

func costObject(credits, tokens int) wire.Object {
	return wire.Object{{"credits", credits}, {"tokens", tokens}}
}

// object renders a turn without its answer.
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

// failure returns why a turn has failed, nil for one that has not.
func (t *turn) failure() any {
	switch t.status {
	case turnFailed, turnErrored:
		return wire.Object{{"message", cmp.Or(t.script.Error, "The answer could not be generated.")}}
	case turnLost:
		return wire.Object{{"message", "The worker was lost."}}
	}
	return nil
}

// objectWithResult renders a turn with its result and actions.
func (t *turn) objectWithResult() wire.Object {
	actions := make([]wire.Object, 0, len(t.actions))
	for i, a := range t.actions {
		actions = append(actions, a.object(i+1))
	}
	return append(t.object(), wire.Member{"result", t.result()}, wire.Member{"actions", actions})
}

// result renders the answer of a turn, or its question to the user; nil while there is
// neither.
func (t *turn) result() any {
	switch t.status {
	case turnComplete:
		return wire.Object{
			{"answer", t.text},
			{"references", wire.Rows(t.refs, reference.object)},
			{"citations", slices.Concat([]wire.Object{}, t.cites)}, // [] without any, not null
			{"truncated", t.script.Truncated},
		}
	case turnNeedsInput:
		return wire.Object{{"clarification", t.clarification()}}
	}
	return nil
}

// clarification renders the question to the user.
func (t *turn) clarification() wire.Object {
	return wire.Object{{"type", "question"}, {"question", cmp.Or(t.script.Question, "What exactly do you mean?")}}
}

// object renders a file or folder that a question refers to.
func (r reference) object() wire.Object {
	kind := world.KindFile
	if r.folder {
		kind = world.KindFolder
	}
	details := wire.Object{{"node_id", wire.Hyphenated(r.id)}}
	details = details.With(r.version != "", "version_id", wire.Hyphenated(r.version))
	return wire.Object{{"type", kind}, {"id", wire.Hyphenated(r.id)}, {kind + "_details", details}}
}

// object renders an action of the agent, with seq as its number in the turn.
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
		{"ended_at", wire.StampOrNull(a.ended)},
	}
}
