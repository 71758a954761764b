// Package ai asks the agent of a workspace or share questions, and reads its answers
// and citations. It also exports files for other AIs.
//
//	turn, err := client.AI.Ask(ctx, workspace, ai.Question{Text: "When does the lease end?"}, nil)
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(turn.Answer)
//	for i, citation := range turn.Citations {
//		fmt.Printf("[%d] %s\n", i+1, citation.Name)
//	}
//
// A [Thread] is a list of turns, each a question and its answer. [Service.Ask]
// asks a question and waits for the answer. The methods of [Threads] and [Turns] are
// its steps.
package ai

import (
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
)

// Service is the AI field of a fastio.Client. It is safe for concurrent use.
type Service struct {
	Threads      *Threads      // conversations of the caller with the agent
	Turns        *Turns        // their questions and answers
	Transactions *Transactions // what AI has cost a workspace

	c api.Client
}

// Reasons of an [api.ErrForbidden], in [api.Error].Reason. The AI policy of the
// organization denies the call; [api.Error].Feature says what part of it: one of
// the PolicyFeature constants.
//
// [PolicyFeatureAgent] is checked first. [PolicyFeatureIntelligence] is denied in
// [Threads.Create] and [Turns.Send] alone, and only where the intelligence of the
// workspace or share is on: with it off they proceed.
const (
	ReasonPolicyDenied              = "ai_policy_denied"                // for the caller
	ReasonPolicyWorkspaceNotAllowed = "ai_policy_workspace_not_allowed" // for the workspace; of the intelligence
)

// Features of an AI policy, in [api.Error].Feature.
const (
	PolicyFeatureAgent        = "agent"        // the agent: [Threads.Create], [Turns.Send] and [Service.ExportFiles]
	PolicyFeatureIntelligence = "intelligence" // retrieval from indexed files: [Threads.Create] and [Turns.Send]
)

// Features of a plan. A plan without the one that a call requires is
// [api.ErrPaymentRequired].
const (
	PlanFeatureContentAI = "content_ai"   // all of Threads and Turns; [storage.Notes.Create] and Update
	PlanFeatureAgent     = "ai_agent"     // [Threads.Create] and [Turns.Send]; intelligence of workspaces and shares
	PlanFeatureAutoTitle = "ai_autotitle" // [Service.AutoTitle]
	PlanFeatureAutoOG    = "ai_autoog"    // [Service.OGImage] of private shares, which is a default picture without it
)

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{
		Threads: &Threads{c}, Turns: &Turns{c, activity.New(c)}, Transactions: &Transactions{c}, c: c,
	}
}

// checkLength returns an error for a text that is not UTF-8, or has fewer
// characters than least or more than most. A blank text counts as empty.
func checkLength(args input.Args, field, text string, least, most int, rule string) error {
	n := utf8.RuneCountInString(text)
	if strings.TrimSpace(text) == "" && n <= most { // a longer one is too long, although it is blank
		n = 0
	}
	switch {
	case !utf8.ValidString(text):
		return args.Refuse(field, "must be UTF-8", "")
	case n < least || n > most:
		return args.Refuse(field, rule, count(n, "character"))
	}
	return nil
}
