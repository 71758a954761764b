package shares

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Delete ends a share for ever. Confirm is its ID or its custom name
// once more: there is no way back.
//
// It takes the owner or an administrator of the share; others are
// [api.ErrForbidden]. A confirmation that is not the share's is [api.ErrInvalid].
// When an attempt was carried out whose answer was lost, the next one no longer finds
// the share, which is no error.
//
// It calls DELETE /current/share/{share_id}/delete/.
func (s *Service) Delete(ctx context.Context, share, confirm api.ProfileID, opts ...api.CallOption) error {
	const op = "shares.Delete"
	if strings.TrimSpace(string(confirm)) == "" {
		return &api.InputError{Op: op, Field: "confirm", Rule: "must be the ID or the custom name of the share"}
	}
	return call.Remove(ctx, s.c, &api.Request{
		Op: op, Method: http.MethodDelete, Path: api.Path("/current/share/{share_id}/delete/", string(share)),
		Query: url.Values{"confirm": {string(confirm)}}, // and in the body: it is not known which of them is read
		Body:  api.Form{"confirm": {string(confirm)}}, Replay: api.ReplaySafe,
	}, opts)
}

// Archive keeps guests out of a share, and most changes, until [Service.Unarchive].
// [Service.Update] still works. It takes the owner or an administrator; one of a
// folder cannot be archived, which is [api.ErrInvalid].
//
// It calls POST /current/share/{share_id}/archive/.
func (s *Service) Archive(ctx context.Context, share api.ProfileID, opts ...api.CallOption) error {
	return call.Send(ctx, s.c, &api.Request{
		Op: "shares.Archive", Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/archive/", string(share)),
		Body: api.Form{}, Replay: api.ReplaySafe,
	}, opts)
}

// Unarchive opens a share again that [Service.Archive] has closed, with its rules.
//
// It calls POST /current/share/{share_id}/unarchive/.
func (s *Service) Unarchive(ctx context.Context, share api.ProfileID, opts ...api.CallOption) error {
	return call.Send(ctx, s.c, &api.Request{
		Op: "shares.Unarchive", Method: http.MethodPost, Path: api.Path("/current/share/{share_id}/unarchive/", string(share)),
		Body: api.Form{}, Replay: api.ReplaySafe,
	}, opts)
}

// Import moves a share that belongs to a user into a workspace, and unarchives it.
// It takes the caller to be its only owner, which is [api.ErrInvalid] otherwise, and
// also when it was imported before: it is only repeated when it was never sent. A
// workspace that has as many shares as it may have is [api.ErrLimit].
//
// It calls POST /current/workspace/{workspace_id}/import/share/{share_id}/.
func (s *Service) Import(ctx context.Context, workspace, share api.ProfileID, opts ...api.CallOption) error {
	return call.Send(ctx, s.c, &api.Request{
		Op: "shares.Import", Method: http.MethodPost,
		Path: api.Path("/current/workspace/{workspace_id}/import/share/{share_id}/", string(workspace), string(share)),
		Body: api.Form{}, Replay: api.ReplayOnce,
	}, opts)
}
