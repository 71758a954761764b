// Package members has the members of organizations, workspaces and shares: their roles,
// the invitations to them, joining, leaving, and the transfer of ownership.
//
//	room := api.Workspace("4012345678901234567")
//	added, err := client.Members.Add(ctx, room, "bo@example.com", members.AddRequest{
//		Role: members.RoleGuest,
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(added.State) // invited, by e-mail
//	for member, err := range client.Members.All(ctx, room, nil) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(member.EmailAddress, member.Role, member.Status)
//	}
//
// The profile of every call is an [api.Org], [api.Workspace] or [api.Share]; another one
// is an [*api.InputError]. An organization may be named by its domain, a workspace by its
// folder name, a share by its custom name. The kinds differ:
//
//   - A member of an organization has a role only: [RoleAdmin] or [RoleMember]. Invitations
//     are listed in pages. Who manages members is a setting of the organization.
//   - A member of a workspace may be a [RoleGuest] too, and has notifications and, if it is
//     to end, an end of the membership. Who manages members is a setting of the workspace.
//   - A member of a share may also have [RoleView], and has what a member of a workspace
//     has. Administrators manage members.
//
// The invitations that the caller has received are in package account.
package members

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Service reads and changes members. It is the Members field of a fastio.Client, and safe
// for concurrent use.
type Service struct {
	c api.Client

	Invitations *Invitations // to a profile; those that the caller has received are in package account
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c, &Invitations{c}} }

// Reasons of errors of members and invitations, in [api.Error].Reason.
const (
	ReasonExternalInvitesDenied       = "external_invites_denied"        // the organization denies external members
	ReasonExternalInvitesObjectDenied = "external_invites_object_denied" // the share or workspace denies them
	ReasonSuccessorIsSelf             = "successor_is_self"              // the successor is the owner
	ReasonSuccessorNotMember          = "successor_not_member"           // the successor must be a member first
	ReasonSuccessorUnavailable        = "successor_unavailable"          // the account of the successor is not enabled
	ReasonTransferInProgress          = "transfer_in_progress"           // another transfer is in progress; try again
)

// ListOptions selects a page of members. Nil means the first.
type ListOptions struct {
	Limit  int // rows a page, 1 to 500; 0 means the default of the server, 100
	Offset int // rows to skip
}

// query returns the options as query parameters; nil has none.
func (o *ListOptions) query(op string) (url.Values, error) {
	if o == nil {
		return url.Values{}, nil
	}
	return page.Window(input.Fields[ListOptions](op), o.Limit, o.Offset)
}

// Page is one page of members.
type Page struct {
	Members    []*Member       `json:"users"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

func (p *Page) rows() ([]*Member, *api.Pagination) { return p.Members, p.Pagination }

// List returns one page of the members of a profile, including invited ones.
//
// Errors: [api.ErrNotFound] if the profile does not exist; [api.ErrForbidden] without
// access to it; [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/org/{org_id}/members/list/.
// It calls GET /current/workspace/{workspace_id}/members/list/.
// It calls GET /current/share/{share_id}/members/list/.
func (s *Service) List(
	ctx context.Context, in api.Profile, list *ListOptions, opts ...api.CallOption,
) (*Page, error) {
	return call.Page[Page](ctx, s.c, endpoint.MembersList(in, nil), list.query, opts)
}

// All returns the members of all pages of [Service.List], from list.Offset on. Default:
// pages of 500.
func (s *Service) All(
	ctx context.Context, in api.Profile, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Member, error] {
	o := *cmp.Or(list, &ListOptions{})
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*Page, error) {
		return s.List(ctx, in, &ListOptions{limit, offset}, opts...)
	}
	return page.Rows(ctx, "members.List", o.Limit, o.Offset, opts, fetch, (*Page).rows)
}

// Get returns one member of a profile.
//
// Errors: [api.ErrNotFound] if the person is not a member; [api.ErrForbidden] if the
// caller is not.
//
// It calls GET /current/org/{org_id}/member/{user_id}/details/.
// It calls GET /current/workspace/{workspace_id}/member/{user_id}/details/.
// It calls GET /current/share/{share_id}/member/{user_id}/details/.
func (s *Service) Get(
	ctx context.Context, in api.Profile, person api.Person, opts ...api.CallOption,
) (*Member, error) {
	r := endpoint.MembersGet(in, api.ID(person))
	if err := input.Parameters(r.Op, "user_id", "person").Person("user_id", person); err != nil {
		return nil, err
	}
	a, err := call.Payload[struct {
		Member *Member `json:"member"` // (assumed name)
		User   *Member `json:"user"`   // (assumed name)
		Root   Member  `json:",embed,inline"`
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	found := cmp.Or(a.Member, a.User)
	if found == nil && a.Root.ID != "" {
		return &a.Root, nil
	}
	return call.Found(r.Op, "member", found)
}

// AddRequest is how a person is added to a profile. A member of an organization has only a
// Role and a Message.
type AddRequest struct {
	// Role must not be above the caller's own, nor RoleOwner. Default: RoleMember; of a
	// share the default of the server. Organizations have no RoleGuest, and only shares
	// have RoleView.
	Role Role `wire:"permissions"`

	// Only for an invitation by e-mail.
	Message  string    // one or more lines of 10 to 255 characters in all; "" means none
	AcceptBy time.Time `wire:"invitation_expires"` // when the invitation expires, to the second; zero means the default of the server

	// Only for a user with an account.
	Notify   Notify    `wire:"notify_options,notifications"` // "" means the default of the server
	Expires  time.Time // when the membership ends, to the second; zero means never
	Renotify bool      `wire:"notification"` // sends the e-mail of the membership again
}

// AddState is the result of adding a person.
type AddState string

// Results of adding a person.
const (
	AddStateInvited  AddState = "invited"  // an invitation was sent
	AddStateAccepted AddState = "accepted" // the user was added, or was a member and got the role
)

// Added is a person who was added or invited.
type Added struct {
	State      AddState
	Invitation *Invitation // with AddStateInvited only
}

// Add adds a person to a profile. A user named by the ID is added at once. A person
// named by an e-mail address is invited to a workspace or share. An organization invites
// only an address without an account, and adds the user of any other address at once. A
// person who is already a member gets the role. The result does not distinguish that from
// an addition: call [Service.Get] before, if it matters. A member of a workspace or share
// does not become one of the organization.
// The call may send an e-mail, so it is retried only if it was not processed.
//
// Errors: [*api.InputError] for a field that members of this kind of profile do not have;
// [api.ErrInvalid] if the role is above the caller's own, or the target is the owner or
// the caller; [api.ErrPaymentRequired] if the plan has no seat left; [api.ErrLimit] if
// the quota of invitations is used up; [api.ErrForbidden] if the caller may not add
// members, or with [ReasonExternalInvitesDenied] or [ReasonExternalInvitesObjectDenied]
// if a policy denies external ones.
//
// It calls POST /current/org/{org_id}/members/{email_or_user}/.
// It calls POST /current/workspace/{workspace_id}/members/{email_or_user}/.
// It calls POST /current/share/{share_id}/members/{email_or_user}/.
func (s *Service) Add(
	ctx context.Context, in api.Profile, person api.Person, r AddRequest, opts ...api.CallOption,
) (*Added, error) {
	request := endpoint.MembersAdd(in, string(person), nil)
	body, err := r.form(request.Op, in)
	err = cmp.Or(input.Parameters(request.Op, "email_or_user", "person").Person("email_or_user", person), err)
	if err != nil {
		return nil, err
	}
	request.Body = body
	a, err := call.Payload[struct {
		Invitation *Invitation `json:"invitation"`
	}](ctx, s.c, request, opts)
	switch {
	case err != nil:
		return nil, err
	case a.Invitation == nil:
		return &Added{State: AddStateAccepted}, nil
	}
	return &Added{AddStateInvited, a.Invitation}, nil
}

// UpdateRequest is a change of a member. A zero field leaves the value unchanged; at least
// one is required. A member of an organization has only a Role.
type UpdateRequest struct {
	Role    Role               `wire:"permissions"` // as of [AddRequest], without a default
	Notify  Notify             `wire:"notify_options,notifications"`
	Expires api.Opt[time.Time] // when the membership ends, to the second; [api.Null] means never
}

// Update changes the role, the notifications or the expiry of a member. It is idempotent.
// A member may change its own notifications.
//
// Errors: [*api.InputError] for an empty request, for RoleOwner, and for a field that
// members of this kind of profile do not have; [api.ErrInvalid] if the role is above the
// caller's own, or the member is the owner; [api.ErrForbidden] if the caller may not
// change the member, or with [ReasonExternalInvitesDenied] or
// [ReasonExternalInvitesObjectDenied] if the change gives more rights and a policy denies
// external members; [api.ErrNotFound] if the person is not a member.
//
// It calls POST /current/org/{org_id}/member/{user_id}/update/.
// It calls POST /current/workspace/{workspace_id}/member/{user_id}/update/.
// It calls POST /current/share/{share_id}/member/{user_id}/update/.
func (s *Service) Update(
	ctx context.Context, in api.Profile, person api.Person, r UpdateRequest, opts ...api.CallOption,
) error {
	request := endpoint.MembersUpdate(in, api.ID(person), nil)
	body, err := r.form(request.Op, in)
	err = cmp.Or(input.Parameters(request.Op, "user_id", "person").Person("user_id", person), err)
	if err != nil {
		return err
	}
	request.Body = body
	return call.Do(ctx, s.c, request, opts)
}

// Remove removes a member from a profile. A user who is removed from an organization stays
// a member of its workspaces and shares. For a pending member delete the
// invitation. It is idempotent over retries: a member who is gone after a lost response is
// a success. For the caller use [Service.Leave].
//
// Errors: [*api.InputError] for an empty person; [api.ErrInvalid] if the member is the
// owner; [api.ErrForbidden] if the caller may not remove the member; [api.ErrNotFound] if
// the person is not a member.
//
// It calls DELETE /current/org/{org_id}/members/{user_id}/.
// It calls DELETE /current/workspace/{workspace_id}/members/{user_id}/.
// It calls DELETE /current/share/{share_id}/members/{user_id}/.
func (s *Service) Remove(ctx context.Context, in api.Profile, person api.Person, opts ...api.CallOption) error {
	r := endpoint.MembersRemove(in, api.ID(person))
	if err := input.Parameters(r.Op, "user_id", "person").Person("user_id", person); err != nil {
		return err
	}
	return call.Remove(ctx, s.c, r, opts)
}

// Ownership is a change of owner.
type Ownership struct {
	ProfileID     api.ID          `json:"profile_id"`
	ProfileType   api.ProfileKind `json:"profile_type"`
	PreviousOwner api.ID          `json:"previous_owner"` // an admin from now on
	NewOwner      api.ID          `json:"new_owner"`
	Transferred   api.Time        `json:"transferred_at,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// TransferOwnership makes a member the owner of a profile, which the caller cannot undo:
// only the new owner can transfer it back. The caller must be the owner, and becomes an
// admin. The member is named by its ID. No e-mail is sent. The result is empty if the
// response has no ownership.
//
// The call is idempotent for the same member: repeating it completes a transfer that
// ended with [api.ErrServer]. A repeat after a completed transfer changes nothing and is
// refused with [api.ErrForbidden], because the caller is no longer the owner; that
// includes the retry of an attempt whose response was lost.
//
// Errors: [*api.InputError] for anything but an ID of 19 digits; [api.ErrInvalid] with
// [ReasonSuccessorIsSelf], [ReasonSuccessorNotMember] or [ReasonSuccessorUnavailable];
// [api.ErrConflict] with [ReasonTransferInProgress] and [api.ErrUnavailable], after which
// the call may be repeated; [api.ErrForbidden] if the caller is not the owner, or with
// [api.ReasonScopeAdmin] if the token lacks the scope.
//
// It calls POST /current/org/{org_id}/member/{user_id}/transfer_ownership/.
// It calls POST /current/workspace/{workspace_id}/member/{user_id}/transfer_ownership/.
// It calls POST /current/share/{share_id}/member/{user_id}/transfer_ownership/.
func (s *Service) TransferOwnership(
	ctx context.Context, in api.Profile, user api.ID, opts ...api.CallOption,
) (*Ownership, error) {
	r := endpoint.MembersTransferOwnership(in, user)
	if err := input.Parameters(r.Op).NumericID("user_id", user); err != nil {
		return nil, err
	}
	a, err := call.Payload[struct {
		Ownership *Ownership `json:"ownership"` // documented for a share only (assumed name)
	}](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	return cmp.Or(a.Ownership, &Ownership{}), nil
}
