package ai_test

import (
	"errors"
	"testing"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

func TestAIPolicyDenialsHaveReasonAndFeature(t *testing.T) {
	t.Parallel()
	other := []api.ProfileID{"4000000000000000009"}
	for name, tc := range map[string]struct {
		policy          fastiotest.AIPolicy
		noIntelligence  bool
		reason, feature string // "" if the thread is created
	}{
		"agent denied": {
			fastiotest.AIPolicy{DenyAgent: true, DenyIntelligence: true}, false, ai.ReasonPolicyDenied, ai.PolicyFeatureAgent,
		},
		"intelligence denied": {
			fastiotest.AIPolicy{DenyIntelligence: true}, false, ai.ReasonPolicyDenied, ai.PolicyFeatureIntelligence,
		},
		"intelligence denied here": {
			fastiotest.AIPolicy{IntelligenceIn: other}, false, ai.ReasonPolicyWorkspaceNotAllowed, ai.PolicyFeatureIntelligence,
		},
		"intelligence denied, but off": {fastiotest.AIPolicy{DenyIntelligence: true}, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fastiotest.New()
			org := s.AddOrg(fastiotest.Org{Domain: "docks", Owner: s.User().ID, AIPolicy: tc.policy})
			room := s.AddWorkspace(fastiotest.Workspace{Org: org.ID, Name: "Docks", NoIntelligence: tc.noIntelligence})
			_, err := s.Client(t).AI.Threads.Create(
				t.Context(), api.Workspace(room.ID), ai.CreateThreadRequest{Question: ai.Question{Text: "?"}},
			)
			e, _ := errors.AsType[*api.Error](err)
			switch {
			case tc.reason == "":
				if err != nil {
					t.Errorf("got %v, want a thread", err)
				}
			case e == nil || !errors.Is(err, api.ErrForbidden) || e.Reason != tc.reason || e.Feature != tc.feature:
				t.Errorf("got %v, want %s of %s", err, tc.reason, tc.feature)
			}
		})
	}
}
