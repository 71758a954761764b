package orgs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/redact"
)

// Billing reads and changes the plans of organizations, which may be named by their
// domains. It requires an administrator. Amounts of money are in cents.
type Billing struct{ c api.Client }

// Plan is the plan of an organization, as in [Org]. Unknown values are kept.
// [Billing.ChangePlan] requires a [PlanID].
type Plan string

// Plans of an organization. All of them have the features content_ai, ai_agent and signing.
const (
	PlanStarter  Plan = "starter"  // stops when its credits are used up
	PlanBusiness Plan = "business" // charges for additional credits
	PlanGrowth   Plan = "growth"   // also allows more than 50 users
)

// PlanID identifies a plan and its billing period. The IDs change: use those of
// [Billing.Plans].
type PlanID string

// PlanOffer is a plan to subscribe to.
type PlanOffer struct {
	ID     PlanID `json:"id"`
	Name   string `json:"name"`
	Amount int64  `json:"amount"` // cents

	Extra map[string]json.RawMessage `json:",embed,unknown"` // such as features and limits: undecoded, no document shows their form
}

// String returns the plan on one line: its ID, its name in quotes and its price in cents.
func (p *PlanOffer) String() string {
	if p == nil {
		return "<nil>"
	}
	return fmt.Sprintf("plan %s %q %d cents", p.ID, p.Name, p.Amount)
}

// Plans returns the plans that an organization can subscribe to.
//
// It calls GET /current/org/billing/plan/list/.
func (b *Billing) Plans(ctx context.Context, opts ...api.CallOption) ([]*PlanOffer, error) {
	return call.List[*PlanOffer](ctx, b.c, endpoint.OrgsBillingPlans(), "plans", opts)
}

// Subscription is the result of [Billing.ChangePlan]. It must still be paid for if
// PaymentURL() returns an address.
type Subscription struct {
	SetupIntent *SetupIntent `json:"setup_intent"` // how to pay for a new subscription; nil if there is nothing to pay
	Active      *bool        `json:"is_active"`    // nil if not in the response
	PublicKey   api.Secret   `json:"public_key"`   // of the payment provider, for its own client libraries

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for; without secrets
}

// NeedsPayment reports whether a person must complete the payment, at PaymentURL(),
// before the subscription starts.
func (s *Subscription) NeedsPayment() bool {
	return s.SetupIntent != nil && (s.Active == nil || !*s.Active)
}

// PaymentURL returns the address where a person completes the payment, "" if there is
// nothing to pay.
func (s *Subscription) PaymentURL() string {
	if !s.NeedsPayment() {
		return ""
	}
	return "https://go.fast.io/onboarding"
}

// SetupIntent is a payment method to set up, or a payment to make, with the payment
// provider.
type SetupIntent struct {
	ID           string     `json:"id"`
	Status       string     `json:"status"`        // such as "requires_payment_method"
	ClientSecret api.Secret `json:"client_secret"` // completes it once

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// ChangePlan subscribes an organization to a plan, or changes the plan of its
// subscription, which may be charged at once. The organization may be named by its
// domain. The call is retried only if it was not processed.
//
// A new subscription starts when it is paid for, at PaymentURL() of the result.
//
// Errors: [api.ErrInvalid] if there is no such plan, [api.ErrForbidden] if the caller
// may not change the plan of the organization.
//
// It calls POST /current/org/{org_id}/billing/.
func (b *Billing) ChangePlan(
	ctx context.Context, org api.ID, plan PlanID, opts ...api.CallOption,
) (*Subscription, error) {
	const field = "billing_plan"
	if strings.TrimSpace(string(plan)) == "" {
		return nil, input.Parameters("orgs.Billing.ChangePlan", field, "plan").Refuse(field, "must be given", "")
	}
	return call.Payload[Subscription](ctx, b.c, endpoint.OrgsBillingChangePlan(org, api.Form{field: {string(plan)}}), opts)
}

// BillingDetails are the subscription of an organization and its open payments. Extra
// has the members this version has no field for, such as the customer and the plan;
// secrets in them are masked.
type BillingDetails struct {
	Subscription  *Term        `json:"subscription"`   // nil if there is none
	SetupIntent   *SetupIntent `json:"setup_intent"`   // nil if there is nothing to set up
	PaymentIntent *SetupIntent `json:"payment_intent"` // nil if there is nothing to pay (assumed name)
	PublicKey     api.Secret   `json:"public_key"`     // of the payment provider, for its own client libraries

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Term is the paid period of a subscription.
type Term struct {
	ID       string   `json:"id"`     // of the subscription; "" if not in the response
	Status   string   `json:"status"` // of the subscription; "" if not in the response (assumed name)
	Start    api.Time `json:"current_period_start,omitzero"`
	End      api.Time `json:"current_period_end,omitzero"`
	CancelAt api.Time `json:"cancel_at,omitzero"` // when the subscription ends; zero means it is renewed

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// The period is in the subscription, or beside it.
var _ = decode.Fix(func(d *BillingDetails) {
	var t Term
	beside := decode.Members(d.Extra)
	decode.Take(beside, &t.Start, "current_period_start")
	decode.Take(beside, &t.End, "current_period_end")
	decode.Take(beside, &t.CancelAt, "cancel_at")
	if d.Subscription == nil && !t.End.IsZero() {
		d.Subscription = new(Term)
	}
	if of := d.Subscription; of != nil {
		of.Start, of.End, of.CancelAt = cmp.Or(of.Start, t.Start), cmp.Or(of.End, t.End), cmp.Or(of.CancelAt, t.CancelAt)
		of.Extra = masked(of.Extra)
	}
	d.Extra = masked(d.Extra)
})

var _ = decode.Fix(func(s *Subscription) { s.Extra = masked(s.Extra) })

// masked returns the members that no field of their struct has, with the secrets in them
// masked at any depth.
func masked(extra map[string]json.RawMessage) map[string]json.RawMessage {
	text, err := json.Marshal(extra)
	var shown map[string]json.RawMessage
	if err != nil || json.Unmarshal(redact.JSON(text), &shown) != nil {
		return nil
	}
	return shown
}

// Details returns the subscription of an organization, and what is left to pay for it.
//
// Errors: [api.ErrNotFound] if the organization does not exist; [api.ErrForbidden] if the
// caller is not an administrator.
//
// It calls GET /current/org/{org_id}/billing/details/.
func (b *Billing) Details(ctx context.Context, org api.ID, opts ...api.CallOption) (*BillingDetails, error) {
	return call.Payload[BillingDetails](ctx, b.c, endpoint.OrgsBillingDetails(org), opts)
}

// Renewal reports whether a subscription is renewed or ends with its period.
type Renewal struct {
	Status            string   `json:"status"`                      // "scheduled_cancellation" or "reactivated"
	CancelAt          api.Time `json:"cancel_at,omitzero"`          // when it ends; zero means it is renewed
	End               api.Time `json:"current_period_end,omitzero"` // of the paid period; zero if not in the response
	CancelAtPeriodEnd *bool    `json:"cancel_at_period_end"`        // nil if not in the response

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Cancel ends the subscription of an organization at the end of the paid period. Until
// then [Billing.Reactivate] undoes it. It requires the owner. It is idempotent.
//
// Errors: [api.ErrNotFound] if the organization or its subscription does not exist;
// [api.ErrForbidden] if the caller is not the owner.
//
// It calls DELETE /current/org/{org_id}/billing/.
func (b *Billing) Cancel(ctx context.Context, org api.ID, opts ...api.CallOption) (*Renewal, error) {
	return call.Payload[Renewal](ctx, b.c, endpoint.OrgsBillingCancel(org), opts)
}

// Reactivate undoes [Billing.Cancel] before the end of the paid period. It requires the
// owner. It is idempotent: without a cancellation it has no effect.
//
// Errors: [api.ErrNotFound] if the organization does not exist, or its subscription has
// ended: call [Billing.ChangePlan] for a new one; [api.ErrForbidden] if the caller is not
// the owner.
//
// It calls PUT /current/org/{org_id}/billing/.
func (b *Billing) Reactivate(ctx context.Context, org api.ID, opts ...api.CallOption) (*Renewal, error) {
	return call.Payload[Renewal](ctx, b.c, endpoint.OrgsBillingReactivate(org), opts)
}
