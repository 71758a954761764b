package shares

import (
	"context"
	"net/url"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/members"
)

// JoinOptions are the options of [Service.Join]. Nil means no options.
type JoinOptions struct {
	Notify account.MemberNotify
}

// Join makes the caller a member, with [account.RoleMember], of a share that is open to
// the members of its workspace ([AccessMembers]) or of its organization ([AccessOrg]).
// It may not be idempotent, so it is retried only if it was not processed.
//
// Errors: [api.ErrForbidden] if the share is not open to the caller, or with
// [account.ReasonExternalInvitesDenied] or [account.ReasonExternalInvitesObjectDenied] if a
// policy denies external members.
//
// It calls POST /current/share/{share_id}/members/join/.
func (s *Service) Join(ctx context.Context, share api.ID, join *JoinOptions, opts ...api.CallOption) error {
	f := newFields("shares.Join")
	if join != nil {
		word(f, "notify_options", join.Notify)
	}
	if err := f.Err(); err != nil {
		return err
	}
	return call.Do(ctx, s.c, endpoint.SharesJoin(share, f.Form), opts)
}

// JoinWithKey accepts or declines an invitation by the key in its link.
//
// Errors: [api.ErrForbidden] with [account.ReasonExternalInvitesDenied] or
// [account.ReasonExternalInvitesObjectDenied] if a policy denies external members,
// which leaves the invitation pending.
//
// It calls POST /current/share/{share_id}/members/join/{invitation_key}/{answer}/.
func (s *Service) JoinWithKey(
	ctx context.Context, share api.ID, key api.Secret, answer account.InvitationDecision, opts ...api.CallOption,
) error {
	r := endpoint.SharesJoinWithKey(share, key.Reveal(), string(answer))
	return members.Answer(ctx, s.c, r, key, string(answer), opts)
}

// Leave removes the caller from a share.
//
// Errors: [api.ErrInvalid] if the caller is the owner, who must transfer the
// share first; [api.ErrForbidden] if the caller is not a member, also if an
// earlier attempt removed them and its response was lost.
//
// It calls DELETE /current/share/{share_id}/member/.
func (s *Service) Leave(ctx context.Context, share api.ID, opts ...api.CallOption) error {
	return call.Remove(ctx, s.c, endpoint.SharesLeave(share), opts)
}

// Delete deletes a share, named by its ID or custom name. It cannot be undone.
// It requires the owner or admin role in the share. It is idempotent over
// retries: a share that is gone after a lost response is a success.
//
// Errors: [api.ErrForbidden] if the caller lacks the role; [api.ErrNotFound] if
// the share does not exist.
//
// It calls DELETE /current/share/{share_id}/delete/.
func (s *Service) Delete(ctx context.Context, share api.ID, opts ...api.CallOption) error {
	return call.Remove(ctx, s.c, endpoint.SharesDelete(share, url.Values{"confirm": {string(share)}}), opts)
}

// Archive blocks guests and most changes of a share until [Service.Unarchive].
// [Service.Update] still works. It requires the owner or admin role.
//
// Errors: [api.ErrInvalid] if the share is of a workspace folder.
//
// It calls POST /current/share/{share_id}/archive/.
func (s *Service) Archive(ctx context.Context, share api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.SharesArchive(share), opts)
}

// Unarchive reverses [Service.Archive]. It has the same requirements and errors.
//
// It calls POST /current/share/{share_id}/unarchive/.
func (s *Service) Unarchive(ctx context.Context, share api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.SharesUnarchive(share), opts)
}

// Import moves a share that a user owns into a workspace, and unarchives it. It
// requires the caller to be the only owner. It is retried only if it was not processed.
//
// Errors: [api.ErrInvalid] if the caller is not the only owner, also after an
// earlier import; [api.ErrLimit] if the workspace allows no more shares.
//
// It calls POST /current/workspace/{workspace_id}/import/share/{share_id}/.
func (s *Service) Import(ctx context.Context, workspace, share api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.SharesImport(workspace, share), opts)
}
