package members

import (
	"context"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// JoinOptions are the options of [Service.Join]. Nil means no options.
type JoinOptions struct {
	Notify Notify `wire:"notify_options"` // of a share only; "" means the default of the server
}

// Join makes the caller a member of a profile that is open to it, or to which it is
// invited:
//
//   - an organization that has invited the caller, or is open to the domain of the
//     caller's e-mail address; List of package orgs lists these with ScopeAvailable;
//   - a workspace that is open to the members of its organization; List of package
//     workspaces lists these with ScopeAvailable;
//   - a share that is open to the members of its workspace or organization. The caller
//     becomes a [RoleMember].
//
// It may not be idempotent, so it is retried only if it was not processed.
//
// Errors: [*api.InputError] if Notify is set and the profile is not a share;
// [api.ErrForbidden] if the profile is not open to the caller, or with
// [ReasonExternalInvitesDenied] or [ReasonExternalInvitesObjectDenied] if a policy denies
// external members; [api.ErrPaymentRequired] if the plan has no seat left.
//
// It calls POST /current/org/{org_id}/members/join/.
// It calls POST /current/workspace/{workspace_id}/members/join/.
// It calls POST /current/share/{share_id}/members/join/.
func (s *Service) Join(ctx context.Context, in api.Profile, o *JoinOptions, opts ...api.CallOption) error {
	r := endpoint.MembersJoin(in, nil)
	f := form.New(input.Fields[JoinOptions](r.Op))
	if o != nil {
		if o.Notify != "" && in.Kind != api.ProfileKindShare {
			f.Refuse(fieldNotify, "must be left out unless the profile is a share", "")
		}
		form.Word(&f, fieldNotify, o.Notify)
	}
	if err := f.Err(); err != nil {
		return err
	}
	r.Body = f.Form
	return call.Do(ctx, s.c, r, opts)
}

// Decision accepts or declines an invitation.
type Decision string

// Decisions on an invitation.
const (
	DecisionAccept  Decision = "accept"
	DecisionDecline Decision = "decline"
)

// JoinWithKey accepts or declines an invitation to a profile by the key in its link. An
// invitation that the caller finds in its account is answered by its ID with Accept and
// Decline of account.Invitations. It is retried only if it was not processed.
//
// Errors: [api.ErrNotFound] if there is no such invitation; [api.ErrInvalid] if it has
// been answered or has expired; [api.ErrForbidden] with [ReasonExternalInvitesDenied] or
// [ReasonExternalInvitesObjectDenied] if a policy denies external members, which leaves
// the invitation pending.
//
// It calls POST /current/org/{org_id}/members/join/{invitation_key}/{answer}/.
// It calls POST /current/workspace/{workspace_id}/members/join/{invitation_key}/{answer}/.
// It calls POST /current/share/{share_id}/members/join/{invitation_key}/{answer}/.
func (s *Service) JoinWithKey(
	ctx context.Context, in api.Profile, key api.Secret, answer Decision, opts ...api.CallOption,
) error {
	r := endpoint.MembersJoinWithKey(in, key.Reveal(), string(answer))
	if err := input.Parameters(r.Op, "invitation_key", "key").Key("invitation_key", key); err != nil {
		return err
	}
	if answer != DecisionAccept && answer != DecisionDecline {
		return input.Parameters(r.Op).Refuse("answer", "must be accept or decline", string(answer))
	}
	return call.Do(ctx, s.c, r, opts)
}

// Leave removes the caller from a profile. Memberships of the workspaces and shares of
// an organization are not removed. Afterwards calls for the profile fail with
// [api.ErrForbidden], status 401 or 403, unless the caller has access to a workspace
// through the organization.
//
// Errors: [api.ErrInvalid] if the caller is the owner, who must transfer the ownership
// or delete the profile; [api.ErrForbidden] if the caller is not a member, also if an
// earlier attempt removed them and its response was lost.
//
// It calls DELETE /current/org/{org_id}/member/.
// It calls DELETE /current/workspace/{workspace_id}/member/.
// It calls DELETE /current/share/{share_id}/member/.
func (s *Service) Leave(ctx context.Context, in api.Profile, opts ...api.CallOption) error {
	return call.Remove(ctx, s.c, endpoint.MembersLeave(in), opts)
}
