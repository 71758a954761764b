package shares

import (
	"context"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Delete closes a share, named by its ID or custom name: its link, members and invitations
// are lost, and the files of a portal with them; a folder of a workspace stays (assumed). It
// cannot be undone. It requires the owner or admin role in the share. It is idempotent over
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
// Errors: [api.ErrInvalid] if the share is of a workspace folder; [api.ErrForbidden] if
// the caller lacks the role; [api.ErrNotFound] if the share does not exist.
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
