package world

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/fastio-go/fastio/internal/emulator/wire"
)

// Features of a plan.
const (
	FeatureAI        = "content_ai"
	FeatureAgent     = "ai_agent"
	FeatureAutoTitle = "ai_autotitle"
	FeatureAutoOG    = "ai_autoog"
)

// PlanOf is what the organization of a profile has paid for and allows.
func (w *Directory) PlanOf(profileID string) Org {
	if o := w.Orgs[w.OrgOf(profileID)]; o != nil {
		return o.Value
	}
	return Org{}
}

// Payer is who is billed for what happens on a profile.
func (w *Directory) Payer(profileID, userID string) string { return cmp.Or(w.OrgOf(profileID), userID) }

// Lacks refuses what the plan does not have.
func (w *Directory) Lacks(feature string) error {
	if !slices.Contains(w.Options.Lacks, feature) {
		return nil
	}
	return wire.Refuse(http.StatusPaymentRequired, codePlan, "Upgrade Required: the plan does not have "+feature+".")
}

// IntelligenceDenied is the policy about the index. Where there is none the agent answers without it.
func (w *Directory) IntelligenceDenied(profileID string) error {
	policy := w.PlanOf(profileID).AIPolicy
	workspace := profileID
	if h := w.Shares[profileID]; h != nil {
		workspace = h.Value.Workspace
	}
	switch {
	case !w.Intelligent(profileID):
		return nil
	case policy.DenyIntelligence:
		return Forbidden("ai_policy_denied", "intelligence")
	case policy.IntelligenceIn != nil && !slices.Contains(policy.IntelligenceIn, workspace):
		return Forbidden("ai_policy_workspace_not_allowed", "intelligence")
	}
	return nil
}

// Forbidden refuses what the policy of an organization forbids.
func Forbidden(reason, feature string) error {
	return wire.Because(http.StatusForbidden, codeAIPolicy, reason, "The organization does not allow this.",
		wire.Member{"feature", feature})
}
