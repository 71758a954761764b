package orgs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// Permission is the set of users who may manage the members of an organization. The
// phrases differ from those of a workspace. Unknown values are kept.
type Permission string

// Permissions to manage members, narrowest first.
const (
	PermissionOwner   Permission = "Owner only"
	PermissionAdmins  Permission = "Admin or above"
	PermissionMembers Permission = "Member or above"
)

// Industry is the industry of an organization, such as "technology".
// [Service.Industries] returns those of the server.
type Industry string

// CreateRequest describes a new organization.
type CreateRequest struct {
	Domain       string   // 2 to 63 of a-z, 0-9 and hyphens, none at the ends; unique; accepted in place of the ID
	Name         string   // 3 to 100 characters
	Description  string   // 10 to 1000 characters; "" means none
	Industry     Industry // default: "unspecified"
	BillingEmail string   // default: the address of the caller
}

// Create creates an organization, whose owner is the caller, and returns the fields in
// the response. It has no plan yet: calls for its workspaces and members fail with
// [api.ErrPaymentRequired] before [Billing.ChangePlan]. It is not idempotent and is
// retried only if it was not processed; after a lost response, [Service.Get] with the
// domain shows whether it was created.
//
// Errors: [*api.InputError] for an invalid field; [api.ErrInvalid] if the domain is in
// use or reserved ([Service.CheckDomain] reports it); [api.ErrLimit] or
// [api.ErrPaymentRequired] if the caller may own no more organizations;
// [api.ErrForbidden] where the platform does not serve the country of the caller.
//
// It calls POST /current/org/create/.
func (s *Service) Create(ctx context.Context, r CreateRequest, opts ...api.CallOption) (*Org, error) {
	f := fields{form.New(input.Fields[CreateRequest]("orgs.Create"))}
	f.domain("domain", r.Domain)
	f.Name(minName, maxName)("name", r.Name)
	form.Given("description", r.Description, f.Line(minDescription, maxDescription))
	form.Word(&f.Fields, "industry", r.Industry)
	form.Given("billing_email", r.BillingEmail, f.address)
	if err := f.Err(); err != nil {
		return nil, err
	}
	return s.get(ctx, endpoint.OrgsCreate(f.Form), opts)
}

// UpdateRequest changes an organization. Unset fields are kept; at least one is
// required.
type UpdateRequest struct {
	Domain       api.Opt[string]   // as of [CreateRequest]; it is in every address of the organization; cannot be cleared
	Name         api.Opt[string]   // as of [CreateRequest]; cannot be cleared
	Description  api.Opt[string]   // 10 to 1000 characters; null clears it, "" is rejected
	Industry     api.Opt[Industry] // cannot be cleared
	BillingEmail api.Opt[string]   // cannot be cleared

	// Addresses that begin with http:// or https://; null clears one.
	Homepage, Facebook, Twitter, Instagram, YouTube api.Opt[string]

	AccentColor     api.Opt[json.RawMessage] // an undocumented color as JSON; null clears it
	BackgroundColor api.Opt[json.RawMessage] // as AccentColor
	BackgroundMode  api.Opt[BackgroundMode]  // null clears it
	UseBackground   api.Opt[bool]            // cannot be cleared

	ManageMembers api.Opt[Permission]      `wire:"perm_member_manage"` // who may manage its members; cannot be cleared
	AuthDomain    api.Opt[string]          `wire:"perm_auth_domains"`  // the domain of e-mail addresses whose owners may join; null clears it
	OwnerDefined  api.Opt[json.RawMessage] // any JSON, for use by the owner; null clears it
}

// BackgroundMode is how the background of an organization is shown. Unknown values are
// kept.
type BackgroundMode string

// Modes of a background.
const (
	BackgroundModeStretched BackgroundMode = "stretched"
	BackgroundModeFixed     BackgroundMode = "fixed"
)

// Update changes an organization, named by its ID or domain. It requires an
// administrator. It is idempotent. A change of the domain changes the addresses of all
// workspaces and shares: links to them break.
//
// Errors: [*api.InputError] for an invalid field or an empty request; [api.ErrInvalid]
// if the domain is in use or reserved ([Service.CheckDomain] reports it);
// [api.ErrNotFound] if the organization does not exist; [api.ErrForbidden] if the
// caller may not change it, or with [api.ReasonScopeAdmin] if the token lacks the
// scope.
//
// It calls POST /current/org/{org_id}/update/.
func (s *Service) Update(ctx context.Context, org api.ID, r UpdateRequest, opts ...api.CallOption) error {
	f := fields{form.New(input.Fields[UpdateRequest]("orgs.Update"))}
	form.Change(&f.Fields, "domain", r.Domain, f.domain)
	form.Change(&f.Fields, "name", r.Name, f.Name(minName, maxName))
	form.Clearable(&f.Fields, "description", r.Description, f.Line(minDescription, maxDescription))
	form.Change(&f.Fields, "industry", r.Industry, func(field string, value Industry) { f.word(field, string(value)) })
	form.Change(&f.Fields, "billing_email", r.BillingEmail, f.address)
	form.Clearable(&f.Fields, "homepage", r.Homepage, f.link)
	form.Clearable(&f.Fields, "facebook", r.Facebook, f.link)
	form.Clearable(&f.Fields, "twitter", r.Twitter, f.link)
	form.Clearable(&f.Fields, "instagram", r.Instagram, f.link)
	form.Clearable(&f.Fields, "youtube", r.YouTube, f.link)
	form.Clearable(&f.Fields, "accent_color", r.AccentColor, f.JSON)
	form.Clearable(&f.Fields, "background_color", r.BackgroundColor, f.JSON)
	form.Clearable(&f.Fields, "owner_defined", r.OwnerDefined, f.JSON)
	form.Clearable(&f.Fields, "background_mode", r.BackgroundMode,
		func(field string, value BackgroundMode) { f.word(field, string(value)) })
	form.Change(&f.Fields, "use_background", r.UseBackground, f.Bool)
	form.Change(&f.Fields, "perm_member_manage", r.ManageMembers,
		func(field string, value Permission) { f.word(field, string(value)) })
	form.Clearable(&f.Fields, "perm_auth_domains", r.AuthDomain, f.word)
	if err := f.UpdateErr(); err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.OrgsUpdate(org, f.Form), opts)
}

// Delete closes an organization: it and all its workspaces and shares are lost, which
// cannot be undone. It cancels the subscription. The organization is named by its ID or
// domain. The call requires the owner. It is retried only if it was not processed;
// after a lost response, [Org].Closed shows whether it was closed. Afterwards calls for
// the organization and for what belongs to it fail with [api.ErrForbidden], status 401
// or 403.
//
// Errors: [api.ErrForbidden] if the caller is not the owner, or with
// [api.ReasonScopeAdmin] if the token lacks the scope; [api.ErrNotFound] if the
// organization does not exist.
//
// It calls POST /current/org/{org_id}/close/.
func (s *Service) Delete(ctx context.Context, org api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.OrgsDelete(org, api.Form{"confirm": {string(org)}}), opts)
}

// CheckDomain reports whether a domain is available for an organization: false if it
// is in use or reserved. A domain that breaks the rule of [CreateRequest] is an
// [*api.InputError]. The check does not reserve the domain.
//
// It calls GET /current/orgs/check/domain/{domain}/.
func (s *Service) CheckDomain(ctx context.Context, domain string, opts ...api.CallOption) (bool, error) {
	f := fields{form.New(input.Parameters("orgs.CheckDomain"))}
	f.domain("domain", domain)
	if f.Err() != nil {
		return false, f.Err()
	}
	err := call.Do(ctx, s.c, endpoint.OrgsCheckDomain(domain), opts)
	e, refused := errors.AsType[*api.Error](err)
	// A domain that is taken is refused as invalid, with no other invalid parameter.
	isOther := func(p api.ParamError) bool { return p.Name != "domain" }
	isInvalid := refused && e.Status == http.StatusNotAcceptable && errors.Is(e, api.ErrInvalid)
	if isTaken := isInvalid && !slices.ContainsFunc(e.Params, isOther); isTaken {
		return false, nil
	}
	return err == nil, err
}

// IndustryList is the result of [Service.Industries].
type IndustryList struct {
	Industries []Industry      // sorted; nil if Raw has a form that this version does not know
	Raw        json.RawMessage // the list of the server, whose form is not documented

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Industries returns the industries of organizations. The form of the response is not
// documented: it may be a list, or a map with the industries as its keys.
//
// It calls GET /current/orgs/industries/.
func (s *Service) Industries(ctx context.Context, opts ...api.CallOption) (*IndustryList, error) {
	a, err := call.Payload[struct {
		Industries json.RawMessage            `json:"industries"` // (assumed name)
		Beside     map[string]json.RawMessage `json:",embed,unknown"`
	}](ctx, s.c, endpoint.OrgsIndustries(), opts)
	if err != nil {
		return nil, err
	}
	var list []Industry
	var byKey map[Industry]json.RawMessage
	isMap, isList := json.Unmarshal(a.Industries, &byKey) == nil, json.Unmarshal(a.Industries, &list) == nil
	switch {
	case isMap:
		list = slices.Collect(maps.Keys(byKey))
	case !isList: // any other form is in Raw only
		list = nil
	}
	slices.Sort(list)
	return &IndustryList{list, a.Industries, a.Beside}, nil
}

// The limits of an organization, in characters.
const (
	minDomain, maxDomain           = 2, 63
	minName, maxName               = 3, 100
	minDescription, maxDescription = 10, 1000
)

type fields struct{ form.Fields }

// domain checks the domain of an organization and sets the field. It refuses reserved
// words, such as create: in a path, they mean another endpoint than an organization.
func (f *fields) domain(field, domain string) {
	f.Line(minDomain, maxDomain)(field, domain)
	other := func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	switch {
	case strings.ContainsFunc(domain, other):
		f.Refuse(field, "must hold only a-z, 0-9 and hyphens", strconv.Quote(domain))
	case strings.Trim(domain, "-") != domain:
		f.Refuse(field, "must not begin or end with a hyphen", strconv.Quote(domain))
	}
	f.NotNull(field, domain)
	inPath := api.Path("/org/{org_id}/", domain).Err()
	if e, reserved := errors.AsType[*api.InputError](inPath); reserved {
		f.Refuse(field, e.Rule, e.Got)
	}
}

// address checks an e-mail address and sets the field.
func (f *fields) address(field, address string) {
	if !input.IsAddress(address) {
		f.Refuse(field, "must be an e-mail address", "")
	}
	f.Set(field, address)
}

// link checks the address of a page and sets the field.
func (f *fields) link(field, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		f.Refuse(field, "must be an address that begins with http:// or https://", strconv.Quote(address))
	}
	f.Set(field, address)
}

// word sets a field whose value must not be blank.
func (f *fields) word(field, value string) {
	if strings.TrimSpace(value) == "" {
		f.Refuse(field, "must not be blank", strconv.Quote(value))
	}
	form.Word(&f.Fields, field, value)
}
