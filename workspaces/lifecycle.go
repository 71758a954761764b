package workspaces

import (
	"context"
	"encoding/json"
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
func (s *Service) Delete(ctx context.Context, workspace api.ID, opts ...api.CallOption) error {
	confirm := url.Values{"confirm": {string(workspace)}}
	return call.Remove(ctx, s.c, endpoint.WorkspacesDelete(workspace, confirm), opts)
}

// Archive makes a workspace, named by its ID or folder name, read-only until
// [Service.Unarchive]. Its files and members are kept, and changes of them fail with
// [api.ErrForbidden], status 401 or 403. [Service.ListByOrg] lists it only if
// [ByOrgOptions].Archived says so. It requires an administrator. It is idempotent.
//
// Errors: [api.ErrForbidden] if the caller is not an administrator, or with
// [api.ReasonScopeAdmin] if the token lacks the scope; [api.ErrNotFound] if the
// workspace does not exist.
//
// It calls POST /current/workspace/{workspace_id}/archive/.
func (s *Service) Archive(ctx context.Context, workspace api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.WorkspacesArchive(workspace), opts)
}

// Unarchive reverses [Service.Archive]. It has the same requirements and errors.
//
// It calls POST /current/workspace/{workspace_id}/unarchive/.
func (s *Service) Unarchive(ctx context.Context, workspace api.ID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.WorkspacesUnarchive(workspace), opts)
}

// Limits are the limits of a workspace and what it uses of them. The members of the
// response are not documented: all of them are in Extra, including those of the envelope.
type Limits struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

// Limits returns the limits of a workspace and what it uses of them.
//
// Errors: [api.ErrNotFound] if the workspace does not exist; [api.ErrForbidden] without
// access to it.
//
// It calls GET /current/workspace/{workspace_id}/limits/.
func (s *Service) Limits(ctx context.Context, workspace api.ID, opts ...api.CallOption) (*Limits, error) {
	return call.Payload[Limits](ctx, s.c, endpoint.WorkspacesLimits(workspace), opts)
}
