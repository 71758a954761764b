package shares

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
)

// Members manages the people and agents of a share. All calls but List and Get
// require the admin role.
type Members struct{ c api.Client }

// MemberPage is one page of members.
type MemberPage struct {
	Members    []*account.Member `json:"users"`
	Pagination *api.Pagination   `json:"pagination"` // nil if not in the response
}

// List returns one page of the members of a share.
//
// It calls GET /current/share/{share_id}/members/list/.
func (m *Members) List(
	ctx context.Context, share api.ID, list *ListOptions, opts ...api.CallOption,
) (*MemberPage, error) {
	return call.Page[MemberPage](ctx, m.c, endpoint.SharesMembersList(share, nil), list.unfiltered, opts)
}

// All returns the members of all pages of [Members.List], from list.Offset on. Default:
// pages of 500.
func (m *Members) All(
	ctx context.Context, share api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*account.Member, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*MemberPage, error) {
		return m.List(ctx, share, list, opts...)
	}
	return all(ctx, "shares.Members.List", list, opts, fetch, func(p *MemberPage) ([]*account.Member, *api.Pagination) {
		return p.Members, p.Pagination
	})
}

// Get returns one member of a share.
//
// It calls GET /current/share/{share_id}/member/{user_id}/details/.
func (m *Members) Get(ctx context.Context, share, user api.ID, opts ...api.CallOption) (*account.Member, error) {
	a, err := call.One[struct {
		Member *account.Member `json:"member"` // (assumed name)
		User   *account.Member `json:"user"`   // (assumed name)
		Root   account.Member  `json:",embed,inline"`
	}](ctx, m.c, endpoint.SharesMembersGet(share, user), "", opts)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Member != nil:
		return a.Member, nil
	case a.User != nil:
		return a.User, nil
	case a.Root.ID != "":
		return &a.Root, nil
	}
	return call.Found[account.Member]("shares.Members.Get", "member", nil)
}

// AddRequest holds the options for adding a member to a share. A zero field leaves the
// default to the server.
type AddRequest struct {
	Role account.Role // default: account.RoleMember. Not above the caller's own, nor account.RoleOwner

	// Of an invitation by e-mail.
	Message  string    // in one or more lines; the server accepts 10 to 255 characters (assumed)
	AcceptBy time.Time // when the invitation expires, to the second

	// Of a user with an account.
	Notify   account.MemberNotify
	Expires  time.Time // when the membership ends, to the second
	Renotify bool      // sends the e-mail of the membership again
}

// AddState is the result of adding a person to a share.
type AddState string

// The states.
const (
	AddStateInvited  AddState = "invited"  // an invitation was sent
	AddStateAccepted AddState = "accepted" // the user was added, or was a member and got the role
)

// Added is the result of [Members.Add].
type Added struct {
	State      AddState
	Invitation *Invitation // with AddStateInvited only
}

// Add adds a person to a share: it invites an address and adds a user. The response does
// not distinguish a new member from a changed role: [Members.Get] returns the role
// beforehand. It may send an e-mail, so it is retried only if it was not sent.
//
// Errors: [api.ErrInvalid] if the role is above the caller's own, or the target
// is the owner or the caller; [api.ErrLimit] if the quota of invitations is
// used up; [api.ErrForbidden] if the caller may not edit members, or with
// [ReasonExternalInvitesDenied] or [ReasonExternalInvitesObjectDenied] if a
// policy denies external members.
//
// It calls POST /current/share/{share_id}/members/{email_or_user}/.
func (m *Members) Add(
	ctx context.Context, share api.ID, who account.Invitee, r AddRequest, opts ...api.CallOption,
) (*Added, error) {
	const op = "shares.Members.Add"
	ref, err := call.Invitee(op, who.User, who.Email)
	if err != nil {
		return nil, err
	}
	f := newFields(op)
	f.role(r.Role)
	form.Given("message", r.Message, f.message)
	form.Given("invitation_expires", r.AcceptBy, f.Time(form.Zone))
	word(f, "notify_options", r.Notify)
	form.Given("expires", r.Expires, f.Time(form.Zone))
	if r.Renotify {
		f.Set("notification", "force")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	a, err := call.One[struct {
		Invitation *Invitation `json:"invitation"`
	}](ctx, m.c, endpoint.SharesMembersAdd(share, ref, f.Form), "", opts)
	switch {
	case err != nil:
		return nil, err
	case a.Invitation == nil:
		return &Added{State: AddStateAccepted}, nil
	}
	return &Added{AddStateInvited, a.Invitation}, nil
}

// role sets the role of a member.
func (f *fields) role(role account.Role) {
	if role == account.RoleOwner {
		f.Refuse("permissions", "must not be owner: ownership is transferred", string(role))
	}
	word(f, "permissions", role)
}

// UpdateMemberRequest is a change of a member. A zero field leaves the value
// unchanged.
type UpdateMemberRequest struct {
	Role    account.Role // not above the caller's own, nor account.RoleOwner
	Notify  account.MemberNotify
	Expires api.Opt[time.Time] // to the second; [api.Null] means never
}

// Update changes the role, the notifications or the expiry of a member. The role
// of owner is an [*api.InputError]: the platform ignores it and reports success.
//
// Errors: [api.ErrInvalid] if the role is above the caller's own;
// [api.ErrForbidden] with [ReasonExternalInvitesDenied] or
// [ReasonExternalInvitesObjectDenied] if the change gives more rights and a
// policy denies external members. A pure reduction of rights is always allowed.
//
// It calls POST /current/share/{share_id}/member/{user_id}/update/.
func (m *Members) Update(ctx context.Context, share, user api.ID, r UpdateMemberRequest, opts ...api.CallOption) error {
	f := newFields("shares.Members.Update")
	f.role(r.Role)
	word(f, "notify_options", r.Notify)
	optional(f, "expires", r.Expires, f.Time(form.Zone))
	if err := f.Changed(); err != nil {
		return err
	}
	return call.Do(ctx, m.c, endpoint.SharesMembersUpdate(share, user, f.Form), opts)
}

// Remove removes a member from a share. For a pending member delete the
// invitation.
//
// Errors: [api.ErrInvalid] if the member is the owner.
//
// It calls DELETE /current/share/{share_id}/members/{user_id}/.
func (m *Members) Remove(ctx context.Context, share, user api.ID, opts ...api.CallOption) error {
	return call.Remove(ctx, m.c, endpoint.SharesMembersRemove(share, user), opts)
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

// TransferOwnership makes a member the owner of a share, and the caller, who
// must be its owner, an admin. No e-mail is sent.
//
// The call is idempotent for the same member: repeating it completes a transfer
// that ended with [api.ErrServer].
//
// Errors: [api.ErrInvalid] with [ReasonSuccessorIsSelf],
// [ReasonSuccessorNotMember] or [ReasonSuccessorUnavailable]; [api.ErrConflict]
// with [ReasonTransferInProgress] and [api.ErrUnavailable], after which the
// call may be repeated; [api.ErrForbidden] if the caller is not the owner, also
// after an earlier attempt whose response was lost, or with [api.ReasonScopeAdmin] if
// the token lacks the scope.
//
// It calls POST /current/share/{share_id}/member/{user_id}/transfer_ownership/.
func (m *Members) TransferOwnership(
	ctx context.Context, share, user api.ID, opts ...api.CallOption,
) (*Ownership, error) {
	return call.One[Ownership](ctx, m.c, endpoint.SharesMembersTransferOwnership(share, user), "ownership", opts)
}
