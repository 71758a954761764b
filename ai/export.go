package ai

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

const maxShared = 25

// ExportFiles returns Markdown that describes 1 to 25 files of a workspace or share to
// an AI, with a link to each. It is a secret: a link needs no sign-in, expires after 5
// minutes and works at most 3 times. The server limits a file to 50 MB and all of them to
// 100 MB, and gives titles only for more than 5 files.
//
// Each call creates new links, so it is retried only if it was not processed.
//
// Errors: [api.ErrForbidden] if the caller may not download the files, or with
// [ReasonPolicyDenied] and [PolicyFeatureAgent] if the AI policy of the
// organization denies it.
//
// It calls POST /current/workspace/{workspace_id}/ai/share/.
// It calls POST /current/share/{share_id}/ai/share/.
func (s *Service) ExportFiles(
	ctx context.Context, in api.Profile, files []api.OpaqueID, opts ...api.CallOption,
) (api.Secret, error) {
	args := input.Parameters("ai.ExportFiles")
	if len(files) == 0 || len(files) > maxShared {
		return api.Secret{}, args.Refuse("files", "must be 1 to 25", strconv.Itoa(len(files)))
	}
	plain, err := args.PlainIDs("files", files)
	if err != nil {
		return api.Secret{}, err
	}
	list, err := json.Marshal(plain)
	if err != nil {
		return api.Secret{}, err
	}
	r := endpoint.AIExportFiles(in, api.Form{"files": {string(list)}})
	markdown, err := call.One[api.Secret](ctx, s.c, r, "markdown", opts)
	if err != nil {
		return api.Secret{}, err
	}
	return *markdown, nil
}

// ReadExport returns a file by a link of [Service.ExportFiles]: by its token, and by the
// index of the file, from 0. It sends no credential. Part selects a part of the
// file; nil means all of it. The caller must close the result.
//
// Each call uses one of the three reads of a link, so it is retried only if it was not
// processed, and a broken connection is not resumed.
//
// Errors: [api.ErrNotFound] if the link is not valid, has expired or is used
// up.
//
// It calls GET /current/ai/share/{token}.
func (s *Service) ReadExport(
	ctx context.Context, token api.Secret, file int, part *api.Range, opts ...api.CallOption,
) (*api.Download, error) {
	if file < 0 {
		return nil, input.Parameters("ai.ReadExport").Refuse("file", "must be 0 or more", strconv.Itoa(file))
	}
	o := download.Options{Field: "part"}
	if part != nil {
		o.Range = *part
	}
	r := endpoint.AIReadExport(token.Reveal(), url.Values{"file": {strconv.Itoa(file)}})
	return download.Open(ctx, s.c, r, o, opts)
}
