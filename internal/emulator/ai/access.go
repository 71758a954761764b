package ai

import (
	"net/http"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

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

// aiPlace finds the workspace or share of a call whose plan has the agent's surface, and checks that the caller has
// the rights.
func (h *Handlers) aiPlace(c *wire.Call, least wire.Mode) (string, error) {
	id, err := h.aiProfile(c, least)
	if err != nil {
		return "", err
	}
	if share := h.Shares[id]; share != nil && share.Value.NoGuestChat &&
		world.Rank(h.Role(id, c.Key.User)) < world.Rank(world.Member) {
		return "", wire.Denied("guests may not chat here.")
	}
	return id, h.Lacks(world.FeatureAI)
}

// aiProfile finds the workspace or share of a call that the caller may look at, or change with its credential.
func (h *Handlers) aiProfile(c *wire.Call, least wire.Mode) (string, error) {
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

// mayAsk refuses a question that the plan, the credits or the policy of the organization stand against.
func (h *Handlers) mayAsk(profileID string) error {
	if err := h.Lacks(world.FeatureAgent); err != nil {
		return err
	}
	if h.PlanOf(profileID).OutOfCredits {
		return wire.Refuse(http.StatusPaymentRequired, codeNoCredits, "Credit Limit Exceeded: none are left.")
	}
	if err := h.agentDenied(profileID); err != nil {
		return err
	}
	return h.IntelligenceDenied(profileID)
}

// agentDenied is the policy about the agent, which goes before the one about its index.
func (h *Handlers) agentDenied(profileID string) error {
	if !h.PlanOf(profileID).AIPolicy.DenyAgent {
		return nil
	}
	return world.Forbidden("ai_policy_denied", "agent")
}

// threadOfPath finds the conversation of a call, for its creator alone. Reads miss it with 404, changes with 406.
func (h *Handlers) threadOfPath(c *wire.Call, least wire.Mode, status int) (*thread, error) {
	place, err := h.aiPlace(c, least)
	if err != nil {
		return nil, err
	}
	return h.threadIn(c, place, status)
}

func (h *Handlers) threadIn(c *wire.Call, place string, status int) (*thread, error) {
	id := wire.Plain(c.Segment("chat_id"))
	if !wire.IsOpaque(id) {
		c.Check.Mistyped("chat_id", "opaque_id")
		return nil, c.Check.Refusal()
	}
	th := h.chats.threads[id]
	if th == nil || th.deleted || th.profile != place || th.creator != c.Key.User {
		return nil, wire.Refuse(status, codeNoChat, "There is no such chat.")
	}
	return th, nil
}

// turnOfPath finds the turn of a call.
func (h *Handlers) turnOfPath(c *wire.Call) (*turn, error) {
	th, err := h.threadOfPath(c, wire.Read, http.StatusNotFound)
	if err != nil {
		return nil, err
	}
	id := wire.Plain(c.Segment("message_id"))
	if !wire.IsOpaque(id) {
		c.Check.Mistyped("message_id", "opaque_id")
		return nil, c.Check.Refusal()
	}
	for _, t := range th.turns {
		if t.id == id {
			return t, nil
		}
	}
	return nil, wire.NoSuch(codeNoTurn, "message")
}
