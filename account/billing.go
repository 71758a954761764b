package account

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Billing reads and changes what organizations pay for. The platform's documents name
// its endpoints and show no answer of theirs: what they return is kept as it came.
type Billing struct{ c api.Caller }

// Plan is what an organization subscribes to. Unknown ones pass through.
type Plan string

// Plans that a new organization chooses from. All of them have the features
// content_ai, ai_agent and signing.
const (
	PlanStarter  Plan = "starter"  // stops when its credits run out
	PlanBusiness Plan = "business" // pays for more credits as it goes
	PlanGrowth   Plan = "growth"   // and for more than 50 users
)

// Period says how often a plan is paid. Unknown ones pass through.
type Period string

// Periods of a plan.
const (
	PeriodMonthly Period = "monthly"
	PeriodYearly  Period = "yearly"
)

// PlanRequest asks for a plan.
type PlanRequest struct {
	Plan   Plan
	Period Period // "" leaves it to the server
}

// Report is an answer about billing. None of its members are published, so all of
// them are in Extra, those of the envelope too.
type Report struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// The fields of a change of plan. That they are called so is assumed.
const (
	fieldPlan   = "plan"
	fieldPeriod = "period"
)

// ChangePlan moves an organization to another plan, which may be charged at once. The
// organization may be named by its domain. The names of the fields it sends are
// assumed; if the platform disagrees, it is [api.ErrInvalid]. It is only repeated when
// it was never sent.
//
// Who may not is [api.ErrForbidden].
//
// It calls POST /current/org/{org_id}/billing/.
func (b *Billing) ChangePlan(ctx context.Context, org api.ProfileID, r PlanRequest, opts ...api.CallOption) (*Report, error) {
	const op = "account.Billing.ChangePlan"
	if r.Plan == "" {
		return nil, &api.InputError{Op: op, Field: fieldPlan, Rule: "must be given"}
	}
	form := api.Form{fieldPlan: {string(r.Plan)}}
	if r.Period != "" {
		form[fieldPeriod] = []string{string(r.Period)}
	}
	return call.Do[Report](ctx, b.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/org/{org_id}/billing/", string(org)), Body: form,
		Replay: api.ReplayOnce,
	}, opts)
}

// Credits tells how many credits an organization has used and how many its plan
// includes. The organization may be named by its domain; one that does not exist is
// [api.ErrNotFound]. Who may not is [api.ErrForbidden].
//
// It calls GET /current/org/{org_id}/billing/usage/limits/credits/.
func (b *Billing) Credits(ctx context.Context, org api.ProfileID, opts ...api.CallOption) (*Report, error) {
	return call.Do[Report](ctx, b.c, &api.Request{
		Op: "account.Billing.Credits", Method: http.MethodGet,
		Path: api.Path("/current/org/{org_id}/billing/usage/limits/credits/", string(org)), Replay: api.ReplaySafe,
	}, opts)
}

// Meters tells what an organization has used of everything that is counted. The
// organization may be named by its domain; one that does not exist is
// [api.ErrNotFound]. Who may not is [api.ErrForbidden].
//
// It calls GET /current/org/{org_id}/billing/usage/meters/list/.
func (b *Billing) Meters(ctx context.Context, org api.ProfileID, opts ...api.CallOption) (*Report, error) {
	return call.Do[Report](ctx, b.c, &api.Request{
		Op: "account.Billing.Meters", Method: http.MethodGet,
		Path: api.Path("/current/org/{org_id}/billing/usage/meters/list/", string(org)), Replay: api.ReplaySafe,
	}, opts)
}
