package shares

import (
	"context"
	"iter"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/members"
)

// Members manages the people and agents of a share. All calls but List and Get
// require the admin role.
type Members struct{ c api.Client }

// List returns one page of the members of a share.
//
// It calls GET /current/share/{share_id}/members/list/.
func (m *Members) List(
	ctx context.Context, share api.ID, list *ListOptions, opts ...api.CallOption,
) (*account.MemberPage, error) {
	return call.Page[account.MemberPage](ctx, m.c, endpoint.SharesMembersList(share, nil), list.unfiltered, opts)
}

// All returns the members of all pages of [Members.List], from list.Offset on. Default:
// pages of 500.
func (m *Members) All(
	ctx context.Context, share api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*account.Member, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*account.MemberPage, error) {
		return m.List(ctx, share, list, opts...)
	}
	return all(ctx, "shares.Members.List", list, opts, fetch, func(p *account.MemberPage) ([]*account.Member, *api.Pagination) {
		return p.Members, p.Pagination
	})
}

// Get returns one member of a share.
//
// It calls GET /current/share/{share_id}/member/{user_id}/details/.
func (m *Members) Get(ctx context.Context, share, user api.ID, opts ...api.CallOption) (*account.Member, error) {
	known := func(m *account.Member) bool { return m.ID != "" }
	return members.Get(ctx, m.c, endpoint.SharesMembersGet(share, user), known, opts)
}

// Add adds a person to a share: it invites an address and adds a user. The response
// does not distinguish a new member from a changed role: [Members.Get] returns the role
// beforehand. It may send an e-mail, so it is retried only if it was not processed.
//
// Errors: [api.ErrInvalid] if the role is above the caller's own, or the target
// is the owner or the caller; [api.ErrLimit] if the quota of invitations is
// used up; [api.ErrForbidden] if the caller may not edit members, or with
// [account.ReasonExternalInvitesDenied] or [account.ReasonExternalInvitesObjectDenied] if a
// policy denies external members.
//
// It calls POST /current/share/{share_id}/members/{email_or_user}/.
func (m *Members) Add(
	ctx context.Context, share api.ID, who account.Invitee, r account.AddMemberRequest, opts ...api.CallOption,
) (*account.AddedMember, error) {
	const op = "shares.Members.Add"
	ref, err := call.Invitee(op, who.User, who.Email)
	if err != nil {
		return nil, err
	}
	body, err := members.AddRequest[account.Role, account.MemberNotify](r).Form(op, members.Share)
	if err != nil {
		return nil, err
	}
	add := endpoint.SharesMembersAdd(share, ref, body)
	a, err := members.Add[account.AddState, account.Invitation](ctx, m.c, add, opts)
	return (*account.AddedMember)(a), err
}

// Update changes the role, the notifications or the expiry of a member. The role
// of owner is an [*api.InputError]: the platform ignores it and reports success.
//
// Errors: [api.ErrInvalid] if the role is above the caller's own;
// [api.ErrForbidden] with [account.ReasonExternalInvitesDenied] or
// [account.ReasonExternalInvitesObjectDenied] if the change gives more rights and a
// policy denies external members. A pure reduction of rights is always allowed.
//
// It calls POST /current/share/{share_id}/member/{user_id}/update/.
func (m *Members) Update(
	ctx context.Context, share, user api.ID, r account.UpdateMemberRequest, opts ...api.CallOption,
) error {
	const op = "shares.Members.Update"
	body, err := members.UpdateRequest[account.Role, account.MemberNotify](r).Form(op, members.Share)
	if err != nil {
		return err
	}
	return call.Do(ctx, m.c, endpoint.SharesMembersUpdate(share, user, body), opts)
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

// TransferOwnership makes a member the owner of a share, which the caller cannot undo:
// only the new owner can transfer it back. The caller must be the owner, and becomes
// an admin. No e-mail is sent. The result is empty if the response does not hold it.
//
// The call is idempotent for the same member: repeating it completes a transfer
// that ended with [api.ErrServer].
//
// Errors: [api.ErrInvalid] with [account.ReasonSuccessorIsSelf],
// [account.ReasonSuccessorNotMember] or [account.ReasonSuccessorUnavailable]; [api.ErrConflict]
// with [account.ReasonTransferInProgress] and [api.ErrUnavailable], after which the
// call may be repeated; [api.ErrForbidden] if the caller is not the owner, also
// after an earlier attempt whose response was lost, or with [api.ReasonScopeAdmin] if
// the token lacks the scope.
//
// It calls POST /current/share/{share_id}/member/{user_id}/transfer_ownership/.
func (m *Members) TransferOwnership(
	ctx context.Context, share, user api.ID, opts ...api.CallOption,
) (*account.Ownership, error) {
	return members.Transfer[account.Ownership](ctx, m.c, endpoint.SharesMembersTransferOwnership(share, user), opts)
}
