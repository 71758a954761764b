package orgs

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Invoice is a bill for the subscription of an organization. Amounts are in cents.
type Invoice struct {
	ID          string   `json:"id"`
	AmountDue   int64    `json:"amount_due"`
	AmountPaid  int64    `json:"amount_paid"`
	Subtotal    int64    `json:"subtotal"`
	Total       int64    `json:"total"`
	PeriodStart api.Time `json:"period_start,omitzero"` // (assumed name)
	PeriodEnd   api.Time `json:"period_end,omitzero"`   // (assumed name)
	Created     api.Time `json:"created,omitzero"`

	// Addresses that show the invoice without sign-in.
	HostedURL api.Secret `json:"hosted_invoice_url"` // a page; "" if not in the response (assumed name)
	PDF       api.Secret `json:"invoice_pdf"`        // a file; "" if not in the response (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// InvoicePage is one page of invoices.
type InvoicePage struct {
	Invoices []*Invoice `json:"invoices"`
	HasMore  bool       `json:"has_more"` // there are more after the last
}

// InvoiceListOptions selects a page of invoices. Nil means the first.
type InvoiceListOptions struct {
	Limit int    // rows a page; 0 means the default of the server
	After string // the ID of the invoice before the page; "" means the first page
}

// query checks the options and returns them as query parameters; nil has none.
func (o *InvoiceListOptions) query(op string) (url.Values, error) {
	q := url.Values{}
	switch {
	case o == nil:
		return q, nil
	case o.Limit < 0:
		return nil, input.Fields[InvoiceListOptions](op).Refuse("limit", "must be 1 or more", strconv.Itoa(o.Limit))
	case o.Limit > 0:
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	if o.After != "" {
		q.Set("starting_after", o.After)
	}
	return q, nil
}

// Invoices returns one page of the invoices of an organization.
//
// Errors: [api.ErrNotFound] if the organization does not exist; [api.ErrForbidden] if the
// caller is not an administrator; [api.ErrInvalid] if the server rejects an option.
//
// It calls GET /current/org/{org_id}/billing/invoices/.
func (b *Billing) Invoices(
	ctx context.Context, org api.ID, o *InvoiceListOptions, opts ...api.CallOption,
) (*InvoicePage, error) {
	return call.Page[InvoicePage](ctx, b.c, endpoint.OrgsBillingInvoices(org, nil), o.query, opts)
}

// AllInvoices returns the invoices of all pages of [Billing.Invoices], from o.After on.
func (b *Billing) AllInvoices(
	ctx context.Context, org api.ID, o *InvoiceListOptions, opts ...api.CallOption,
) iter.Seq2[*Invoice, error] {
	const op = "orgs.Billing.Invoices"
	var from InvoiceListOptions
	if o != nil {
		from = *o
	}
	fetch := func(ctx context.Context, after string, opts []api.CallOption) (*InvoicePage, string, error) {
		p, err := b.Invoices(ctx, org, &InvoiceListOptions{Limit: from.Limit, After: after}, opts...)
		if err != nil {
			return nil, "", err
		}
		last := ""
		if n := len(p.Invoices); n > 0 {
			last = p.Invoices[n-1].ID
		}
		next, err := page.Next(op, p.HasMore, last)
		return p, next, err
	}
	list := page.List[*InvoicePage, *Invoice]{
		Op: op, Start: from.After, Fetch: fetch, Rows: func(p *InvoicePage) []*Invoice { return p.Invoices },
	}
	return list.All(ctx, opts)
}
