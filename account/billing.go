package account

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
)

// Billing reads and changes the plans of organizations. Most responses are not
// documented; they are in the Extra of a [Report].
type Billing struct{ c api.Client }

// Plan is the plan of an organization, as in [Org]. Unknown values are kept.
// [Billing.ChangePlan] requires a [PlanID].
type Plan string

// The plans. All of them have the features content_ai, ai_agent and signing.
const (
	PlanStarter  Plan = "starter"  // stops when its credits are used up
	PlanBusiness Plan = "business" // charges for additional credits
	PlanGrowth   Plan = "growth"   // also allows more than 50 users
)

// PlanID identifies a plan and its billing period. The IDs change: use those of
// the platform's list of plans, GET /current/org/billing/plan/list/.
type PlanID string

// Report is an undocumented response. All members are in Extra, including those of
// the envelope.
type Report struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Subscription is the result of [Billing.ChangePlan].
type Subscription struct {
	SetupIntent *SetupIntent `json:"setup_intent"` // how to pay for a new subscription; nil if there is nothing to pay
	Active      *bool        `json:"is_active"`    // nil if not in the response
	PublicKey   api.Secret   `json:"public_key"`   // of the payment provider, for its own client libraries

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// NeedsPayment reports whether a person must complete the payment, at
// https://go.fast.io/onboarding, before the subscription starts.
func (s *Subscription) NeedsPayment() bool {
	return s.SetupIntent != nil && (s.Active == nil || !*s.Active)
}

// SetupIntent is a payment method to set up with the payment provider.
type SetupIntent struct {
	ID           string     `json:"id"`
	Status       string     `json:"status"`        // such as "requires_payment_method"
	ClientSecret api.Secret `json:"client_secret"` // completes the setup once

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ChangePlan subscribes an organization to a plan, or changes the plan of its
// subscription, which may be charged at once. The organization may be named by
// its domain. The call is retried only if it was not sent.
//
// A new subscription must still be paid for if [Subscription.NeedsPayment]
// reports true.
//
// Errors: [api.ErrInvalid] if there is no such plan, [api.ErrForbidden] if the caller
// may not change it.
//
// It calls POST /current/org/{org_id}/billing/.
func (b *Billing) ChangePlan(
	ctx context.Context, org api.ID, plan PlanID, opts ...api.CallOption,
) (*Subscription, error) {
	const op, field = "account.Billing.ChangePlan", "billing_plan"
	if strings.TrimSpace(string(plan)) == "" {
		return nil, &api.InputError{Op: op, Field: field, Rule: "must be given"}
	}
	return call.One[Subscription](
		ctx, b.c, endpoint.AccountBillingChangePlan(org, api.Form{field: {string(plan)}}), "", opts,
	)
}

// Credits returns the credits that an organization has used and those its plan
// includes. The organization may be named by its domain.
//
// Errors: [api.ErrNotFound] if it does not exist; [api.ErrForbidden] if the
// caller may not see its usage.
//
// It calls GET /current/org/{org_id}/billing/usage/limits/credits/.
func (b *Billing) Credits(ctx context.Context, org api.ID, opts ...api.CallOption) (*Report, error) {
	return call.One[Report](ctx, b.c, endpoint.AccountBillingCredits(org), "", opts)
}

// Meter is a kind of usage. Unknown values are kept.
type Meter string

// The known meters.
const (
	MeterStorage   Meter = "storage_bytes"
	MeterBandwidth Meter = "bandwidth_bytes"
	MeterAITokens  Meter = "ai_tokens"
)

// MeterQuery selects the usage that [Billing.Meters] returns.
type MeterQuery struct {
	Meter      Meter     // required
	Start, End time.Time // to the second. Default: the last 30 days

	WorkspaceID api.ID // only usage of this workspace
	ShareID     api.ID // only usage of this share, instead of WorkspaceID
}

func (q MeterQuery) values(op string) (url.Values, error) {
	f := form.New(op)
	switch {
	case strings.TrimSpace(string(q.Meter)) == "":
		f.Refuse("meter", "must be given", "")
	case q.WorkspaceID != "" && q.ShareID != "":
		f.Refuse("share_id", "must be left out with workspace_id", string(q.ShareID))
	}
	f.Set("meter", string(q.Meter))
	form.Given("start_time", q.Start, f.Time(form.Bare))
	form.Given("end_time", q.End, f.Time(form.Bare))
	form.Given("workspace_id", string(q.WorkspaceID), f.Set)
	form.Given("share_id", string(q.ShareID), f.Set)
	return url.Values(f.Form), f.Err()
}

// Meters returns the usage of an organization over time, for one meter. The
// organization may be named by its domain. The members of the response are not
// documented: all of them are in Extra.
//
// Errors: [api.ErrNotFound] if the organization does not exist, [api.ErrForbidden] if
// the caller may not see its usage, [api.ErrInvalid] if q is not valid.
//
// It calls GET /current/org/{org_id}/billing/usage/meters/list/.
func (b *Billing) Meters(ctx context.Context, org api.ID, q MeterQuery, opts ...api.CallOption) (*Report, error) {
	query, err := q.values("account.Billing.Meters")
	if err != nil {
		return nil, err
	}
	return call.One[Report](ctx, b.c, endpoint.AccountBillingMeters(org, query), "", opts)
}
