package account

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Orgs lists, reads, creates, changes and closes organizations.
type Orgs struct {
	c api.Client

	Members        *OrgMembers     // members; [Orgs.ListMembers] lists them
	Invitations    *OrgInvitations // invitations of members
	TransferTokens *TransferTokens // with which an agent hands an organization to a person
}

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
	Closed      bool   `json:"closed"`          // see [Orgs.Close]
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
	BillingEmail  string        `json:"billing_email"`
	ManageMembers OrgPermission `json:"perm_member_manage"`                               // (assumed name)
	AuthDomain    string        `json:"perm_auth_domains" also:"perm_authorized_domains"` // (assumed name)

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

// OrgPage is one page of organizations.
type OrgPage struct {
	Orgs       []*Org          `json:"orgs"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

func (p *OrgPage) rows() ([]*Org, *api.Pagination) { return p.Orgs, p.Pagination }

// MemberPage is one page of the members of an organization or workspace.
type MemberPage struct {
	Members    []*Member       `json:"users"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

func (p *MemberPage) rows() ([]*Member, *api.Pagination) { return p.Members, p.Pagination }

// List returns one page of the organizations of which the account is a member.
// [Orgs.ListExternal] returns those with access to a workspace only. Errors:
// [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/orgs/list/.
func (o *Orgs) List(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*OrgPage, error) {
	return call.Page[OrgPage](ctx, o.c, endpoint.AccountOrgsList(nil), list.query, opts)
}

// ListExternal returns one page of the organizations in which the account only has
// access to a workspace. Errors: [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/orgs/list/external/.
func (o *Orgs) ListExternal(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*OrgPage, error) {
	return call.Page[OrgPage](ctx, o.c, endpoint.AccountOrgsListExternal(nil), list.query, opts)
}

// ListJoinedOrInvited returns one page of the organizations of which the
// account is a member or an invited one. Errors: as [Orgs.List].
//
// It calls GET /current/orgs/all/.
func (o *Orgs) ListJoinedOrInvited(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*OrgPage, error) {
	return call.Page[OrgPage](ctx, o.c, endpoint.AccountOrgsListJoinedOrInvited(nil), list.query, opts)
}

// ListAvailable returns organizations that the account may join: one page, or all
// if Pagination is nil. Errors: [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/orgs/available/.
func (o *Orgs) ListAvailable(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*OrgPage, error) {
	return call.Page[OrgPage](ctx, o.c, endpoint.AccountOrgsListAvailable(nil), list.query, opts)
}

// Get returns one organization by ID or domain. Errors: [api.ErrNotFound] if it
// does not exist; [api.ErrForbidden] without access to it.
//
// It calls GET /current/org/{org_id}/details/.
func (o *Orgs) Get(ctx context.Context, id api.ID, opts ...api.CallOption) (*Org, error) {
	return o.get(ctx, endpoint.AccountOrgsGet(id, nil), opts)
}

// GetPublic returns the public fields of an organization by ID or domain. It
// requires no token, and sends the client's token if there is one. Errors:
// [api.ErrNotFound] if it does not exist.
//
// It calls GET /current/org/{org_id}/public/details/.
func (o *Orgs) GetPublic(ctx context.Context, id api.ID, opts ...api.CallOption) (*Org, error) {
	return o.get(ctx, endpoint.AccountOrgsGetPublic(id, nil), opts)
}

// get reads an organization, which stands under either of two names.
func (o *Orgs) get(ctx context.Context, r *api.Request, opts []api.CallOption) (*Org, error) {
	a, err := call.One[struct {
		Org          *Org `json:"org"`          // (assumed name)
		Organization *Org `json:"organization"` // (assumed name)
	}](ctx, o.c, r, "", opts)
	if err != nil {
		return nil, err
	}
	return call.Found(r.Op, "organization", cmp.Or(a.Org, a.Organization))
}

// ListMembers returns one page of the members of an organization, including
// invited ones. The organization may be named by its domain. Errors:
// [api.ErrNotFound] if it does not exist; [api.ErrForbidden] if the account is
// not a member; [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/org/{org_id}/members/list/.
func (o *Orgs) ListMembers(
	ctx context.Context, org api.ID, list *ListOptions, opts ...api.CallOption,
) (*MemberPage, error) {
	return call.Page[MemberPage](ctx, o.c, endpoint.AccountOrgsListMembers(org, nil), list.query, opts)
}

// All returns the organizations of all pages of [Orgs.List], from list.Offset on.
// Default: pages of 500.
func (o *Orgs) All(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Org, error] {
	return rows(ctx, "account.Orgs.List", list, opts, o.List, (*OrgPage).rows)
}

// AllExternal returns the organizations of all pages of [Orgs.ListExternal], from
// list.Offset on. Default: pages of 500.
func (o *Orgs) AllExternal(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Org, error] {
	return rows(ctx, "account.Orgs.ListExternal", list, opts, o.ListExternal, (*OrgPage).rows)
}

// AllJoinedOrInvited returns the organizations of all pages of
// [Orgs.ListJoinedOrInvited], from list.Offset on. Default: pages of 500.
func (o *Orgs) AllJoinedOrInvited(
	ctx context.Context, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Org, error] {
	return rows(ctx, "account.Orgs.ListJoinedOrInvited", list, opts, o.ListJoinedOrInvited, (*OrgPage).rows)
}

// AllAvailable returns the organizations of all pages of [Orgs.ListAvailable], from
// list.Offset on. Default: pages of 500.
func (o *Orgs) AllAvailable(ctx context.Context, list *ListOptions, opts ...api.CallOption) iter.Seq2[*Org, error] {
	of := func(p *OrgPage) ([]*Org, *api.Pagination) { return p.Orgs, orLast(p.Pagination) }
	return rows(ctx, "account.Orgs.ListAvailable", list, opts, o.ListAvailable, of)
}

// AllMembers returns the members of all pages of [Orgs.ListMembers], from
// list.Offset on. Default: pages of 500.
func (o *Orgs) AllMembers(
	ctx context.Context, org api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Member, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*MemberPage, error) {
		return o.ListMembers(ctx, org, list, opts...)
	}
	return rows(ctx, "account.Orgs.ListMembers", list, opts, fetch, (*MemberPage).rows)
}
