package orgs

import (
	"cmp"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const codeEnded = 199977 // the subscription has ended; the number is invented

// Numbers of rows of a page of invoices, which are assumed.
const (
	invoiceLimit   = 100
	invoiceDefault = 10
)

// billingRoutes returns the routes of plans, subscriptions and invoices.
func (h *Handlers) billingRoutes() []*wire.Route {
	const billing = "/current/org/{org_id}/billing/"
	return []*wire.Route{
		wire.Get("orgs.Billing.Plans", "/current/org/billing/plan/list/", wire.RefuseInvalid(listPlans)),
		wire.Get("orgs.Billing.Details", billing+"details/", wire.With(h.orgForBilling, h.billingDetails)),
		wire.Get("orgs.Billing.Invoices", billing+"invoices/", wire.With(h.orgForBilling, h.invoices),
			wire.Query("limit starting_after")),
		wire.Get("orgs.Billing.Members", billing+"usage/members/list/", wire.With(h.orgForBilling, h.billableMembers),
			wire.ListParams("org_id")),
		wire.Delete("orgs.Billing.Cancel", billing, wire.With(h.orgWithSubscription, h.cancelPlan)),
		wire.Put("orgs.Billing.Reactivate", billing, wire.With(h.orgWithSubscription, h.reactivatePlan),
			wire.JSON(wire.NoFields)),
	}
}

// listPlans returns each plan twice: with its price for a month and for a year. The
// prices are invented.
func listPlans(*wire.Call) (wire.Object, error) {
	var rows []wire.Object
	for _, p := range plans() {
		for _, period := range [...]string{"monthly", "annual"} {
			rows = append(rows, wire.Object{
				{"id", p.periodID(period)},
				{"name", p.name},
				{"amount", p.price(period)},
			})
		}
	}
	return wire.Object{{"plans", rows}}, nil
}

// periodID returns the ID of the plan with a period, such as "solo_monthly". planByID
// is the inverse.
func (p Plan) periodID(period string) string {
	return map[string]string{"starter": "solo_", "business": "business_v2_", "growth": "growth_"}[p.name] + period
}

// price returns the price of a "monthly" or "annual" period, in cents. A year costs as
// much as ten months (invented).
func (p Plan) price(period string) int {
	month := map[string]int{"starter": 2900, "business": 9900, "growth": 29900}[p.name]
	if period == "annual" {
		return 10 * month
	}
	return month
}

// paidMonths returns when each paid month of an organization began, the latest first. The
// first month began when the organization was created. The period of every plan is
// assumed to be a month.
func (h *Handlers) paidMonths(id string) []time.Time {
	var starts []time.Time
	begun := time.Unix(h.w.Org(id).Created, 0).UTC()
	for n := 0; !begun.AddDate(0, n, 0).After(h.w.Now()); n++ {
		starts = append(starts, begun.AddDate(0, n, 0))
	}
	slices.Reverse(starts)
	return starts
}

// periodEnd returns the end of the latest paid month of an organization.
func (h *Handlers) periodEnd(id string) time.Time {
	return time.Unix(h.w.Org(id).Created, 0).UTC().AddDate(0, len(h.paidMonths(id)), 0)
}

// orgWithSubscription returns the organization of a call. It refuses a caller who does
// not own the organization, and an organization without a subscription.
func (h *Handlers) orgWithSubscription(c *wire.Call) (string, error) {
	id, err := h.OrgForRole(world.Owner, wire.Admin)(c)
	if err := cmp.Or(err, c.Check.Err()); err != nil {
		return "", err
	}
	if h.w.Org(id).Value.Unsubscribed {
		return "", wire.Refuse(http.StatusNotFound, codeEnded, "There is no subscription, or it has ended.")
	}
	return id, nil
}

// publicKey returns the invented key with which a browser would call the payment
// provider.
func (h *Handlers) publicKey() string { return "pk_" + hex.EncodeToString(h.w.Sign("payments"))[:16] }

// billingDetails returns the subscription of an organization or, without one, the payment
// that was started and is not made yet (setup_intent). Of the members of a subscription,
// only those of the current period are documented; the others are assumed.
func (h *Handlers) billingDetails(_ *wire.Call, id string) (wire.Object, error) {
	intent := h.intents[id]
	if h.w.Org(id).Value.Unsubscribed {
		return wire.Object{{"subscription", nil}}.With(intent != nil, "setup_intent", intent).
			With(intent != nil, "public_key", h.publicKey()), nil
	}
	return wire.Object{{"subscription", wire.Object{
		{"id", "sub_" + id},
		{"status", "active"},
		{"current_period_start", h.paidMonths(id)[0].Unix()},
		{"current_period_end", h.periodEnd(id).Unix()},
		{"cancel_at", unixOrNull(h.cancelled[id])},
	}}}, nil
}

// unixOrNull returns a time in Unix seconds, and nil for the zero time.
func unixOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

// Unpaid returns the organizations whose payment for a plan was started and not
// completed.
func (h *Handlers) Unpaid() []string {
	h.w.RLock()
	defer h.w.RUnlock()
	return wire.Filter(h.w.OrgIDs(), func(id string) bool { return h.intents[id] != nil })
}

// Pay completes the payment for the plan of an organization, as the payment provider
// does. It returns false if no payment was started.
func (h *Handlers) Pay(id string) bool {
	h.w.Lock()
	defer h.w.Unlock()
	if h.intents[id] == nil {
		return false
	}
	delete(h.intents, id)
	o := h.w.Org(id)
	o.Value.Unsubscribed = false
	h.w.MarkChanged(h.w.Now(), id, world.FieldSettings)
	h.w.EventIn(id, world.Event{Name: "subscription_created", CallingUser: o.Value.Owner, Actor: h.w.Actor(o.Value.Owner)})
	return true
}

// cancelPlan ends the subscription of an organization at the end of the paid month. A
// second call changes nothing.
func (h *Handlers) cancelPlan(_ *wire.Call, id string) (wire.Object, error) {
	end := h.periodEnd(id)
	if h.cancelled[id].IsZero() {
		h.cancelled[id] = end
		h.w.MarkChanged(h.w.Now(), id, world.FieldSettings)
		h.w.Schedule(end, endPlan{h, id, end})
	}
	return wire.Object{
		{"status", "scheduled_cancellation"}, {"cancel_at", end.Unix()}, {"cancel_at_period_end", true},
	}, nil
}

// endPlan ends a cancelled subscription, unless it was reactivated.
type endPlan struct {
	h   *Handlers
	org string
	end time.Time
}

// Do ends the subscription, unless its cancellation was taken back or repeated since.
func (t endPlan) Do() {
	if t.h.cancelled[t.org].Equal(t.end) {
		t.h.w.Org(t.org).Value.Unsubscribed = true
		delete(t.h.cancelled, t.org)
	}
}

// reactivatePlan takes back the cancellation of a subscription that has not ended yet.
func (h *Handlers) reactivatePlan(_ *wire.Call, id string) (wire.Object, error) {
	delete(h.cancelled, id)
	h.w.MarkChanged(h.w.Now(), id, world.FieldSettings)
	return wire.Object{
		{"status", "reactivated"}, {"current_period_end", h.periodEnd(id).Unix()}, {"cancel_at_period_end", false},
	}, nil
}

// invoices returns a page of invoices, one for each paid month, the latest first. The
// page begins behind the invoice with the id starting_after.
func (h *Handlers) invoices(c *wire.Call, id string) (wire.Object, error) {
	limit := c.Integer("limit", invoiceDefault, 1, invoiceLimit)
	months, amount := h.paidMonths(id), PlanNamed(h.w.Org(id).Value.Plan).price("monthly")
	idOf := func(begun time.Time) string { return "in_" + hex.EncodeToString(h.w.Sign(id + begun.String()))[:16] }
	if after := c.Value("starting_after"); after != "" {
		at := slices.IndexFunc(months, func(begun time.Time) bool { return idOf(begun) == after })
		c.Check.InvalidIf(at < 0, "starting_after", "The id of an invoice.")
		months = months[at+1:] // all of them for an unknown id, which is an error of the call
	}
	rows := wire.Rows(months[:min(limit, len(months))], func(begun time.Time) wire.Object {
		return wire.Object{
			{"id", idOf(begun)},
			{"amount_due", amount},
			{"amount_paid", amount},
			{"subtotal", amount},
			{"total", amount},
			{"period_start", begun.Unix()},
			{"period_end", begun.AddDate(0, 1, 0).Unix()},
			{"created", wire.Stamp(begun.Unix())},
			{"hosted_invoice_url", "https://pay.fast.test/" + idOf(begun)},
		}
	})
	return wire.Object{{"invoices", rows}, {"has_more", len(rows) < len(months)}}, c.Check.Err()
}

// billableMembers returns a page of the users who are at least members of the
// organization or of one of its workspaces, with these workspaces. The names in
// a row are assumed.
func (h *Handlers) billableMembers(c *wire.Call, id string) (wire.Object, error) {
	workspaces := wire.Filter(h.w.WorkspaceIDs(), func(workspace string) bool { return h.w.OrgOf(workspace) == id })
	workspacesOf := map[string][]wire.Object{} // of each user; none for a member of the organization alone
	for _, profile := range append([]string{id}, workspaces...) {
		var workspace []wire.Object // stays empty for the organization itself
		if profile != id {
			workspace = []wire.Object{{{"id", wire.ProfileID(profile)}, {"name", h.w.ProfileName(profile)}}}
		}
		for _, user := range h.w.MembersOf(profile) {
			if h.w.AtLeast(profile, user, world.Member) {
				workspacesOf[user] = append(workspacesOf[user], workspace...)
			}
		}
	}
	users := slices.Sorted(maps.Keys(workspacesOf))
	return h.w.List(c, "billable_members", users, func(user, _ string, _ wire.Level) wire.Object {
		u := h.w.User(user).Value
		return wire.Object{
			{"id", wire.ProfileID(user)},
			{"email_address", u.Email},
			{"first_name", u.FirstName},
			{"last_name", u.LastName},
			{"workspaces", workspacesOf[user]},
		}
	})
}

// Tasks returns a task of each kind.
func Tasks() []world.Task { return []world.Task{endPlan{}} }
