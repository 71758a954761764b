// Package orgs has organizations, their billing, and the tokens that transfer them.
//
//	for org, err := range client.Orgs.All(ctx, nil) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(org.Name, org.Plan)
//	}
//
// An organization may be named by its domain in place of its ID. Its members are in
// package members, its workspaces in package workspaces.
package orgs

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Service reads and changes organizations. It is the Orgs field of a fastio.Client, and
// safe for concurrent use. Their members are in package members.
type Service struct {
	c api.Client

	Billing        *Billing        // plans, credits and usage
	TransferTokens *TransferTokens // with which an agent hands an organization to a person
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c, &Billing{c}, &TransferTokens{c}} }

// Org is an organization. Which fields are set depends on the level of output, and on
// the role of the caller.
type Org struct {
	ID          api.ID `json:"id"`
	Domain      string `json:"domain"` // accepted in place of ID
	Name        string `json:"name"`
	Description string `json:"description"`
	Logo        string `json:"logo"`            // a URL; "" means none
	Member      bool   `json:"member"`          // false if the account only has access to one of its workspaces
	UserStatus  string `json:"user_status"`     // the caller's relation to it
	UserRole    Role   `json:"user_permission"` // of the caller; "" means none or unknown
	Owner       api.ID `json:"owner"`           // "" means unknown (assumed name)
	Plan        Plan   `json:"plan"`            // "" until one is chosen, or unknown
	Subscriber  *bool  `json:"subscriber"`      // false until a plan is chosen; nil means unknown
	Closed      bool   `json:"closed"`          // see [Service.Delete]
	Locked      *bool  `json:"locked"`          // nil means unknown
	Suspended   *bool  `json:"suspended"`       // nil means unknown

	// What the caller may do, by names that are not documented. A missing key means
	// unknown: a value that is not a boolean is in Extra.
	Capabilities api.Map[bool] `json:"capabilities"`

	Homepage       string         `json:"homepage"`        // a URL; "" means none
	Facebook       string         `json:"facebook"`        // as Homepage (assumed name)
	Twitter        string         `json:"twitter"`         // as Homepage (assumed name)
	Instagram      string         `json:"instagram"`       // as Homepage (assumed name)
	YouTube        string         `json:"youtube"`         // as Homepage (assumed name)
	Industry       Industry       `json:"industry"`        // (assumed name)
	BackgroundMode BackgroundMode `json:"background_mode"` // (assumed name)
	UseBackground  *bool          `json:"use_background"`  // nil means unknown (assumed name)

	// For administrators only. Who may manage its members, and the domain of the e-mail
	// addresses whose owners may join, "" for none.
	BillingEmail  string     `json:"billing_email"`
	ManageMembers Permission `json:"perm_member_manage"`                               // (assumed name)
	AuthDomain    string     `json:"perm_auth_domains" also:"perm_authorized_domains"` // (assumed name)

	EncryptionKey api.Secret `json:"encryption_key"` // for the owner only; "" means unknown
	Created       api.Time   `json:"created,omitzero"`
	Updated       api.Time   `json:"updated,omitzero"`

	// In undocumented forms.
	Parent          json.RawMessage `json:"parent,omitzero"`
	CustomDomain    json.RawMessage `json:"custom_domain,omitzero"`
	AccentColor     json.RawMessage `json:"accent_color,omitzero"`
	BackgroundColor json.RawMessage `json:"background_color,omitzero"` // (assumed name)
	OwnerDefined    json.RawMessage `json:"owner_defined,omitzero"`
	DMCA            json.RawMessage `json:"dmca,omitzero"`
	Platform        json.RawMessage `json:"platform,omitzero"`
	Storage         json.RawMessage `json:"storage,omitzero"` // for the owner only
	TrialCredits    json.RawMessage `json:"subscriber_trial_credits,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Page is one page of organizations.
type Page struct {
	Orgs       []*Org          `json:"orgs"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

func (p *Page) rows() ([]*Org, *api.Pagination) { return p.Orgs, p.Pagination }

// Role is the role of a member of an organization. Unknown values are kept.
type Role string

// Roles in an organization, highest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
)

// Scope selects organizations by their relation to the caller.
type Scope string

// Scopes of a list of organizations.
const (
	ScopeMember    Scope = ""          // the caller is a member
	ScopeExternal  Scope = "external"  // the caller is not a member, but has access to a workspace
	ScopeInvited   Scope = "invited"   // the caller is a member, or is invited
	ScopeAvailable Scope = "available" // the caller may join them
)

// ListOptions selects organizations, and a page of them. Nil means the first page of
// those of which the caller is a member.
type ListOptions struct {
	Scope  Scope
	Limit  int // rows a page, 1 to 500; 0 means the default of the server, 100
	Offset int // rows to skip
}

// List returns one page of organizations. A caller may have access to a workspace without
// being a member of its organization: only [ScopeExternal] has such organizations.
// [ScopeMember] has one without a plan only if the caller administers it. For
// [ScopeAvailable] the server may return all organizations at once: then Pagination is nil.
//
// Errors: [*api.InputError] for another scope; [api.ErrInvalid] if a bound is out of
// range.
//
// It calls GET /current/orgs/list/.
// It calls GET /current/orgs/list/external/.
// It calls GET /current/orgs/all/.
// It calls GET /current/orgs/available/.
func (s *Service) List(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	o := *cmp.Or(list, &ListOptions{})
	r, err := o.request()
	if err != nil {
		return nil, err
	}
	window := func(op string) (url.Values, error) {
		return page.Window(input.Fields[ListOptions](op), o.Limit, o.Offset)
	}
	return call.Page[Page](ctx, s.c, r, window, opts)
}

// All returns the organizations of all pages of [Service.List], from list.Offset on.
// Default: pages of 500.
func (s *Service) All(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Org, error] {
	o := *cmp.Or(list, &ListOptions{})
	rows := (*Page).rows
	if o.Scope == ScopeAvailable { // the server may send all of them, without pagination
		rows = func(p *Page) ([]*Org, *api.Pagination) { return p.Orgs, page.OrLast(p.Pagination) }
	}
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*Page, error) {
		return s.List(ctx, &ListOptions{o.Scope, limit, offset}, opts...)
	}
	return page.Rows(ctx, "orgs.List", o.Limit, o.Offset, opts, fetch, rows)
}

// request returns the request for the scope of the options, which has an
// endpoint of its own.
func (o ListOptions) request() (*api.Request, error) {
	switch o.Scope {
	case ScopeMember:
		return endpoint.OrgsList(nil), nil
	case ScopeExternal:
		return endpoint.OrgsListExternal(nil), nil
	case ScopeInvited:
		return endpoint.OrgsListJoinedOrInvited(nil), nil
	case ScopeAvailable:
		return endpoint.OrgsListAvailable(nil), nil
	}
	const rule = "must be external, invited, available or empty"
	return nil, input.Fields[ListOptions]("orgs.List").Refuse("Scope", rule, string(o.Scope))
}

// PageOptions selects a page of a list. Nil means the first.
type PageOptions struct {
	Limit  int // rows a page, 1 to 500; 0 means the default of the server, 100
	Offset int // rows to skip
}

// query returns the options as query parameters; nil has none.
func (o *PageOptions) query(op string) (url.Values, error) {
	if o == nil {
		return url.Values{}, nil
	}
	return page.Window(input.Fields[PageOptions](op), o.Limit, o.Offset)
}

// Get returns one organization by ID or domain. Errors: [api.ErrNotFound] if it
// does not exist; [api.ErrForbidden] without access to it.
//
// It calls GET /current/org/{org_id}/details/.
func (s *Service) Get(ctx context.Context, org api.ID, opts ...api.CallOption) (*Org, error) {
	return s.get(ctx, endpoint.OrgsGet(org, nil), opts)
}

// GetPublic returns the public fields of an organization by ID or domain. It
// requires no token, and sends the client's token if there is one. Errors:
// [api.ErrNotFound] if it does not exist.
//
// It calls GET /current/org/{org_id}/public/details/.
func (s *Service) GetPublic(ctx context.Context, org api.ID, opts ...api.CallOption) (*Org, error) {
	return s.get(ctx, endpoint.OrgsGetPublic(org, nil), opts)
}

// get sends a request and returns the organization in its response, which is
// under either of two names.
func (s *Service) get(ctx context.Context, r *api.Request, opts []api.CallOption) (*Org, error) {
	a, err := call.Payload[struct {
		Org          *Org `json:"org"`          // (assumed name)
		Organization *Org `json:"organization"` // (assumed name)
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	return call.Found(r.Op, "organization", cmp.Or(a.Org, a.Organization))
}
