package account

import (
	"context"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/members"
)

// Join makes the caller a member of an organization, which may be named by its domain.
// It requires an invitation of the caller, or an organization that is open to the
// domain of the caller's e-mail address. [Orgs.ListAvailable] lists these. It may not
// be idempotent, so it is retried only if it was not processed.
//
// Errors: [api.ErrForbidden] if the organization is not open to the caller;
// [api.ErrPaymentRequired] if its plan has no seat left.
//
// It calls POST /current/org/{org_id}/members/join/.
func (o *Orgs) Join(ctx context.Context, org api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, o.c, endpoint.AccountOrgsJoin(org), opts)
}

// JoinWithKey accepts or declines an invitation to an organization by the key in its
// link.
//
// Errors: [api.ErrNotFound] if there is no such invitation; [api.ErrInvalid] if it has
// been answered or has expired; [api.ErrForbidden] with [ReasonExternalInvitesDenied]
// if a policy denies external members, which leaves the invitation pending.
//
// It calls POST /current/org/{org_id}/members/join/{invitation_key}/{answer}/.
func (o *Orgs) JoinWithKey(
	ctx context.Context, org api.ID, key api.Secret, answer InvitationDecision, opts ...api.CallOption,
) error {
	r := endpoint.AccountOrgsJoinWithKey(org, key.Reveal(), string(answer))
	return members.Answer(ctx, o.c, r, key, string(answer), opts)
}

// Leave removes the caller from an organization. Memberships of its workspaces and
// shares are not removed. Afterwards calls for the organization fail with
// [api.ErrForbidden], status 401 or 403.
//
// Errors: [api.ErrInvalid] if the caller is the owner, who must transfer the ownership
// or close the organization; [api.ErrForbidden] if the caller is not a member, also if
// an earlier attempt removed them and its response was lost.
//
// It calls DELETE /current/org/{org_id}/member/.
func (o *Orgs) Leave(ctx context.Context, org api.ID, opts ...api.CallOption) error {
	return call.Remove(ctx, o.c, endpoint.AccountOrgsLeave(org), opts)
}

// Join makes the caller a member of a workspace that is open to the members of its
// organization by [Workspace].Join. [Workspaces.ListAvailable] lists these. It may not
// be idempotent, so it is retried only if it was not processed.
//
// Errors: [api.ErrForbidden] if the workspace is not open to the caller.
//
// It calls POST /current/workspace/{workspace_id}/members/join/.
func (w *Workspaces) Join(ctx context.Context, workspace api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, w.c, endpoint.AccountWorkspacesJoin(workspace), opts)
}

// JoinWithKey accepts or declines an invitation to a workspace by the key in its link.
// It has the errors of [Orgs.JoinWithKey].
//
// It calls POST /current/workspace/{workspace_id}/members/join/{invitation_key}/{answer}/.
func (w *Workspaces) JoinWithKey(
	ctx context.Context, workspace api.ID, key api.Secret, answer InvitationDecision, opts ...api.CallOption,
) error {
	r := endpoint.AccountWorkspacesJoinWithKey(workspace, key.Reveal(), string(answer))
	return members.Answer(ctx, w.c, r, key, string(answer), opts)
}

// Leave removes the caller from a workspace. Afterwards calls for the workspace fail
// with [api.ErrForbidden], status 401 or 403, unless the caller has access by the
// organization.
//
// Errors: [api.ErrInvalid] if the caller is the owner, who must transfer the ownership
// first; [api.ErrForbidden] if the caller is not a member, also if an earlier attempt
// removed them and its response was lost.
//
// It calls DELETE /current/workspace/{workspace_id}/member/.
func (w *Workspaces) Leave(ctx context.Context, workspace api.ID, opts ...api.CallOption) error {
	return call.Remove(ctx, w.c, endpoint.AccountWorkspacesLeave(workspace), opts)
}
