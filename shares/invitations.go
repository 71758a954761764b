package shares

import (
	"context"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/members"
)

// Invitations reads and changes invitations. [Members.Add] creates them. The
// calls for the invitations of a share require its admin role.
type Invitations struct{ c api.Client }

// List returns the invitations of a share in the given state; "" means all.
//
// It calls GET /current/share/{share_id}/members/invitations/list/.
// It calls GET /current/share/{share_id}/members/invitations/list/{state}/.
func (i *Invitations) List(
	ctx context.Context, share api.ID, state account.InvitationState, opts ...api.CallOption,
) ([]*account.Invitation, error) {
	r := endpoint.SharesInvitationsList(share)
	if state != "" {
		r = endpoint.SharesInvitationsListByState(share, string(state))
	}
	return call.List[*account.Invitation](ctx, i.c, r, "invitations", opts) // or at the root (assumed name)
}

// Update changes an invitation, named by its ID or by the invited address. It may send
// an e-mail, so it is retried only if it was not processed.
//
// The State accepted or declined is the answer to exactly one invitation: of an
// administrator on behalf of the invited person, who uses Accept and Decline of
// [account.Invitations].
//
// Errors: [api.ErrInvalid] with [account.CodeInvitationRole] if the role is above the
// caller's own; [api.ErrForbidden] if the caller may not change the invitation,
// and with [account.ReasonExternalInvitesDenied] or [account.ReasonExternalInvitesObjectDenied]
// if the change gives more rights and a policy denies external members.
//
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Update(
	ctx context.Context, share api.ID, invitation string, r account.UpdateInvitationRequest, opts ...api.CallOption,
) error {
	const op = "shares.Invitations.Update"
	type request = members.InvitationRequest[account.InvitationState, account.Role, account.MemberNotify]
	body, err := request(r).Form(op, members.Share)
	if err != nil {
		return err
	}
	return call.Do(ctx, i.c, endpoint.SharesInvitationsUpdate(share, invitation, body), opts)
}

// Resend sends the e-mail of a pending invitation again, by an update to the state
// pending, whose effect is assumed. It has the errors of [Invitations.Update]. For
// a user with an account use [Members.Add] with Renotify.
//
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Resend(ctx context.Context, share api.ID, invitation string, opts ...api.CallOption) error {
	return call.Do(ctx, i.c, endpoint.SharesInvitationsResend(share, invitation, members.Resend()), opts)
}

// Delete revokes an invitation, named by its ID or by the invited address, and
// removes the pending member.
//
// It calls DELETE /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Delete(ctx context.Context, share api.ID, invitation string, opts ...api.CallOption) error {
	return call.Remove(ctx, i.c, endpoint.SharesInvitationsDelete(share, invitation), opts)
}
