package emulator

import (
	"net/http"
	"slices"
)

// Codes of the agent. The first four are published; the others are the emulator's own.
const (
	codeTooLargeMessage      = 168116 // on a workspace
	codeTooLargeCreate       = 153795
	codeTooLargeShareMessage = 148135
	codeTooLargeShareCreate  = 144657

	codePlan          = 199401
	codeNoCredits     = 199402
	codeAIPolicy      = 199403
	codePublic        = 199404
	codeNoChat        = 199405
	codeNoTurn        = 199406
	codeCommitting    = 199407
	codeChatLocked    = 199408
	codeNoReference   = 199409
	codeChatBody      = 199410
	codeNotStreamed   = 199411
	codeExport        = 199412
	codeExportMissing = 199413
)

// aiPlace finds the workspace or share of a call whose plan has the agent's surface, and checks that the caller has
// the rights.
func (s *Server) aiPlace(c *call, least mode) (string, *answer) {
	id, refusal := s.aiProfile(c, least)
	if refusal != nil {
		return "", refusal
	}
	if h := s.state.shares[id]; h != nil && h.it.NoGuestChat && rank(s.state.role(id, c.key.User)) < rank(Member) {
		return "", denied("guests may not chat here.")
	}
	return id, s.lacks(featureAI)
}

// aiProfile finds the workspace or share of a call that the caller may look at, or change with its credential.
func (s *Server) aiProfile(c *call, least mode) (string, *answer) {
	if refusal := c.check.refusal(); refusal != nil {
		return "", refusal
	}
	st := &s.state
	kind, id := kindWorkspace, st.workspaceNamed(c.segment("workspace_id"), c.key.User)
	if share := c.segment("share_id"); share != "" {
		kind, id = kindShare, st.shareNamed(share)
	}
	var a answer
	switch {
	case id == "":
		return "", noSuch(codeNotFound, kind)
	case st.covers(c.key, id) < read:
		a = st.outOfScope(id)
	case st.role(id, c.key.User) == "":
		a = notMember()
	case st.shutOut(id, c.key.User):
		return "", unseen(codeNoView)
	case st.covers(c.key, id) < least:
		return "", c.key.refuseWrite()
	default:
		return id, nil
	}
	return "", &a
}

// lacks refuses what the plan does not have.
func (s *Server) lacks(feature string) *answer {
	if !slices.Contains(s.o.Lacks, feature) {
		return nil
	}
	a := refuse(http.StatusPaymentRequired, codePlan, "Upgrade Required: the plan does not have "+feature+".")
	return &a
}

// mayAsk refuses a question that the plan, the credits or the policy of the organization stand against.
func (s *Server) mayAsk(profileID string) *answer {
	st := &s.state
	if refusal := s.lacks(featureAgent); refusal != nil {
		return refusal
	}
	if st.planOf(profileID).OutOfCredits {
		a := refuse(http.StatusPaymentRequired, codeNoCredits, "Credit Limit Exceeded: none are left.")
		return &a
	}
	if refusal := st.agentDenied(profileID); refusal != nil {
		return refusal
	}
	return st.intelligenceDenied(profileID)
}

// agentDenied is the policy about the agent, which goes before the one about its index.
func (st *state) agentDenied(profileID string) *answer {
	if !st.planOf(profileID).AIPolicy.DenyAgent {
		return nil
	}
	return forbidden("ai_policy_denied", "agent")
}

// intelligenceDenied is the policy about the index. Where there is none the agent answers without it.
func (st *state) intelligenceDenied(profileID string) *answer {
	policy := st.planOf(profileID).AIPolicy
	workspace := profileID
	if h := st.shares[profileID]; h != nil {
		workspace = h.it.Workspace
	}
	switch {
	case !st.intelligent(profileID):
		return nil
	case policy.DenyIntelligence:
		return forbidden("ai_policy_denied", "intelligence")
	case policy.IntelligenceIn != nil && !slices.Contains(policy.IntelligenceIn, workspace):
		return forbidden("ai_policy_workspace_not_allowed", "intelligence")
	}
	return nil
}

func forbidden(reason, feature string) *answer {
	a := because(http.StatusForbidden, codeAIPolicy, reason, "The organization does not allow this.", member{"feature", feature})
	return &a
}

// threadOfPath finds the conversation of a call, for its creator alone. Reads miss it with 404, changes with 406.
func (s *Server) threadOfPath(c *call, least mode, status int) (*thread, *answer) {
	place, refusal := s.aiPlace(c, least)
	if refusal != nil {
		return nil, refusal
	}
	return s.threadIn(c, place, status)
}

func (s *Server) threadIn(c *call, place string, status int) (*thread, *answer) {
	id := plain(c.segment("chat_id"))
	if !isOpaque(id) {
		c.check.mistyped("chat_id", "opaque_id")
		return nil, c.check.refusal()
	}
	th := s.state.chats.threads[id]
	if th == nil || th.deleted || th.profile != place || th.creator != c.key.User {
		a := refuse(status, codeNoChat, "There is no such chat.")
		return nil, &a
	}
	return th, nil
}

// turnOfPath finds the turn of a call.
func (s *Server) turnOfPath(c *call) (*turn, *answer) {
	th, refusal := s.threadOfPath(c, read, http.StatusNotFound)
	if refusal != nil {
		return nil, refusal
	}
	id := plain(c.segment("message_id"))
	if !isOpaque(id) {
		c.check.mistyped("message_id", "opaque_id")
		return nil, c.check.refusal()
	}
	for _, t := range th.turns {
		if t.id == id {
			return t, nil
		}
	}
	return nil, noSuch(codeNoTurn, "message")
}
