package account

import (
	"context"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Delete deletes a workspace with all its files, which cannot be undone. The workspace
// is named by its ID or folder name. The call requires the owner. It is idempotent over
// retries: a workspace that is gone after a lost response is a success. Afterwards
// calls for the workspace fail with [api.ErrNotFound], and those for its shares as
// well.
//
// Errors: [api.ErrForbidden] if the caller is not the owner, or with
// [api.ReasonScopeAdmin] if the token lacks the scope; [api.ErrNotFound] if the
// workspace does not exist.
//
// It calls DELETE /current/workspace/{workspace_id}/delete/.
func (w *Workspaces) Delete(ctx context.Context, id api.ID, opts ...api.CallOption) error {
	confirm := url.Values{"confirm": {string(id)}}
	return call.Remove(ctx, w.c, endpoint.AccountWorkspacesDelete(id, confirm), opts)
}

// Archive makes a workspace, named by its ID or folder name, read-only until
// [Workspaces.Unarchive]. Its files and members are kept, and changes of them fail with
// [api.ErrForbidden], status 401 or 403. [Workspaces.ListByOrg] lists it only with
// Archived. It requires an administrator. It is idempotent.
//
// Errors: [api.ErrForbidden] if the caller is not an administrator, or with
// [api.ReasonScopeAdmin] if the token lacks the scope; [api.ErrNotFound] if the
// workspace does not exist.
//
// It calls POST /current/workspace/{workspace_id}/archive/.
func (w *Workspaces) Archive(ctx context.Context, id api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, w.c, endpoint.AccountWorkspacesArchive(id), opts)
}

// Unarchive reverses [Workspaces.Archive]. It has the same requirements and errors.
//
// It calls POST /current/workspace/{workspace_id}/unarchive/.
func (w *Workspaces) Unarchive(ctx context.Context, id api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, w.c, endpoint.AccountWorkspacesUnarchive(id), opts)
}

// Limits returns the limits of a workspace and what it uses of them. The members of the
// response are not documented: all of them are in Extra.
//
// Errors: [api.ErrNotFound] if the workspace does not exist; [api.ErrForbidden] without
// access to it.
//
// It calls GET /current/workspace/{workspace_id}/limits/.
func (w *Workspaces) Limits(ctx context.Context, id api.ID, opts ...api.CallOption) (*Report, error) {
	return call.One[Report](ctx, w.c, endpoint.AccountWorkspacesLimits(id), "", opts)
}
