package orgs

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Credits are the credits of an organization. The members of the response are not
// documented: all of them are in Extra, including those of the envelope.
type Credits struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Credits returns the credits that an organization has used and those its plan
// includes. The organization may be named by its domain.
//
// Errors: [api.ErrNotFound] if it does not exist; [api.ErrForbidden] if the
// caller may not see its usage.
//
// It calls GET /current/org/{org_id}/billing/usage/limits/credits/.
func (b *Billing) Credits(ctx context.Context, org api.ID, opts ...api.CallOption) (*Credits, error) {
	return call.Payload[Credits](ctx, b.c, endpoint.OrgsBillingCredits(org), opts)
}

// Meter is a kind of usage. Unknown values are kept.
type Meter string

// Known meters.
const (
	MeterStorage   Meter = "storage_bytes"
	MeterBandwidth Meter = "bandwidth_bytes"
	MeterAITokens  Meter = "ai_tokens"
)

// MeterQuery selects the usage that [Billing.Meters] returns.
type MeterQuery struct {
	Meter Meter // required

	// The period, to the second. Default: the last 30 days.
	Start time.Time `wire:"start_time"`
	End   time.Time `wire:"end_time"`

	WorkspaceID api.ID // only usage of this workspace
	ShareID     api.ID // only usage of this share, instead of WorkspaceID
}

// values checks the query and returns it as query parameters.
func (q MeterQuery) values(op string) (url.Values, error) {
	f := form.New(input.Fields[MeterQuery](op))
	switch {
	case strings.TrimSpace(string(q.Meter)) == "":
		f.Refuse("meter", "must be given", "")
	case q.WorkspaceID != "" && q.ShareID != "":
		f.Refuse("share_id", "must be left out with WorkspaceID", string(q.ShareID))
	case !q.End.IsZero() && !q.End.After(q.Start):
		f.Refuse("end_time", "must be after Start", q.End.UTC().Format(form.Bare))
	}
	f.Set("meter", string(q.Meter))
	form.Given("start_time", q.Start, f.Time(form.Bare))
	form.Given("end_time", q.End, f.Time(form.Bare))
	form.Given("workspace_id", string(q.WorkspaceID), f.Set)
	form.Given("share_id", string(q.ShareID), f.Set)
	return url.Values(f.Form), f.Err()
}

// Usage is the usage of an organization over time, for one meter. Most of its form is not
// documented: what is not recognized is in Extra.
type Usage struct {
	Meter  Meter         `json:"meter"`                          // (assumed name)
	Points []*UsagePoint `json:"usage" also:"data,points,items"` // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // other members, including those of the envelope
}

// UsagePoint is the usage in one part of the time. A number that is not in the response
// is 0.
type UsagePoint struct {
	Start   api.Time `json:"time,omitzero" also:"start_time,timestamp,date"` // (assumed name)
	Value   float64  `json:"value"`                                          // in the unit of the meter (assumed name)
	Credits float64  `json:"credits"`                                        // (assumed name)
	Cost    float64  `json:"cost"`                                           // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Meters returns the usage of an organization over time, for one meter.
//
// Errors: [api.ErrNotFound] if the organization does not exist, [api.ErrForbidden] if
// the caller may not see its usage, [api.ErrInvalid] if q is not valid.
//
// It calls GET /current/org/{org_id}/billing/usage/meters/list/.
func (b *Billing) Meters(ctx context.Context, org api.ID, q MeterQuery, opts ...api.CallOption) (*Usage, error) {
	query, err := q.values("orgs.Billing.Meters")
	if err != nil {
		return nil, err
	}
	return call.Payload[Usage](ctx, b.c, endpoint.OrgsBillingMeters(org, query), opts)
}

// BillableMember is a user for whom an organization pays.
type BillableMember struct {
	ID           api.ID `json:"id" also:"user_id"`          // (assumed name)
	EmailAddress string `json:"email_address" also:"email"` // (assumed name)
	FirstName    string `json:"first_name"`                 // (assumed name)
	LastName     string `json:"last_name"`                  // (assumed name)

	Workspaces json.RawMessage `json:"workspaces"` // those of the user, in an undocumented form (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// BillableMemberPage is one page of billable members.
type BillableMemberPage struct {
	Members    []*BillableMember `json:"billable_members"`
	Pagination *api.Pagination   `json:"pagination"` // nil if not in the response
}

func (p *BillableMemberPage) rows() ([]*BillableMember, *api.Pagination) {
	return p.Members, page.OrLast(p.Pagination)
}

// Members returns one page of the users for whom an organization pays.
//
// Errors: [api.ErrNotFound] if the organization does not exist; [api.ErrForbidden] if the
// caller is not an administrator; [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/org/{org_id}/billing/usage/members/list/.
func (b *Billing) Members(
	ctx context.Context, org api.ID, list *PageOptions, opts ...api.CallOption,
) (*BillableMemberPage, error) {
	return call.Page[BillableMemberPage](ctx, b.c, endpoint.OrgsBillingMembers(org, nil), list.query, opts)
}

// AllMembers returns the users of all pages of [Billing.Members], from list.Offset on.
// Default: pages of 500.
func (b *Billing) AllMembers(
	ctx context.Context, org api.ID, list *PageOptions, opts ...api.CallOption,
) iter.Seq2[*BillableMember, error] {
	o := *cmp.Or(list, &PageOptions{})
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*BillableMemberPage, error) {
		return b.Members(ctx, org, &PageOptions{limit, offset}, opts...)
	}
	return page.Rows(ctx, "orgs.Billing.Members", o.Limit, o.Offset, opts, fetch, (*BillableMemberPage).rows)
}
