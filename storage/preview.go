package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Previews reads the previews of files: images and renderings that the server
// makes. [Node].Previews has their states.
type Previews struct{ c api.Client }

// PreviewAccess gives access to one preview of a file, without a credential.
type PreviewAccess struct {
	Token api.Secret `json:"downloadToken"`
	Path  api.Secret `json:"path"`            // of the first file; it contains the token
	File  string     `json:"primaryFilename"` // name of the first file

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Authorize returns access to a preview of a file of a workspace or share. Each call
// creates a token, so it is retried only if it was not processed.
//
// Errors: [api.ErrNotFound] if the file is not in that workspace or share, or if
// the preview does not exist, yet or at all; [api.ErrForbidden] without access
// to the file.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/preview/{type}/preauthorize/.
// It calls GET /current/share/{share_id}/storage/{node_id}/preview/{type}/preauthorize/.
func (p *Previews) Authorize(
	ctx context.Context, in api.Profile, node api.OpaqueID, kind PreviewType, opts ...api.CallOption,
) (*PreviewAccess, error) {
	return call.Payload[PreviewAccess](ctx, p.c, endpoint.StoragePreviewsAuthorize(in, node, string(kind)), opts)
}

// Read returns a file of a preview; "" means the first one. [PreviewTypeHLS] and previews of
// several pages have further files, whose names are in the content of the first file. Read
// sends the token of the access and no credential, and follows at most one redirect. The
// caller must close the result.
//
// Errors: [api.ErrNotFound] if the preview is not ready or has no such file;
// [api.ErrForbidden] if the token has expired; [api.ErrInvalid] if the source is
// corrupt; [api.ErrLimit] if the bandwidth is used up.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/preview/{type}/read/{download_token}/file/{filename}.
// It calls GET /current/share/{share_id}/storage/{node_id}/preview/{type}/read/{download_token}/file/{filename}.
func (p *Previews) Read(
	ctx context.Context, access *PreviewAccess, file string, opts ...api.CallOption,
) (*api.Download, error) {
	return p.open(ctx, access, file, opts)
}

// Get returns the first file of a preview of a file of a workspace or share, as
// [Previews.Authorize] and [Previews.Read] do. The caller must close the result.
func (p *Previews) Get(
	ctx context.Context, in api.Profile, node api.OpaqueID, kind PreviewType, opts ...api.CallOption,
) (*api.Download, error) {
	access, err := p.Authorize(ctx, in, node, kind, opts...)
	if err != nil {
		return nil, err
	}
	withoutLink := unlinked(opts) // access has a token of its own, in place of that of a link
	return p.open(ctx, access, mainFile, withoutLink)
}

const mainFile = "" // of a preview of several files

// open starts the download of a file of a preview. It may follow one redirect.
func (p *Previews) open(
	ctx context.Context, access *PreviewAccess, file string, opts []api.CallOption,
) (*api.Download, error) {
	r, err := access.request(file)
	if err != nil {
		return nil, err
	}
	r.Hop = true
	return download.Open(ctx, p.c, r, download.Options{}, opts)
}

// previewPath matches the path of a file of a preview. It begins with /current or
// with the prefix of the API, and is resolved against the host of the client.
var previewPath = regexp.MustCompile(
	`^(?:/[\w-]+)*?/current/(workspace|share)/([^/?#]+)/storage/([^/?#]+)` +
		`/preview/([^/?#]+)/read/([^/?#]+)/file/([^/?#]+)$`,
)

// request returns the request for a file of the preview, "" for the first one. The path
// of the access has all that the request needs: kind and ID of the profile, node, type
// of preview, token and file.
func (a *PreviewAccess) request(filename string) (*api.Request, error) {
	const op = "storage.Previews.Read"
	if a == nil {
		return nil, &api.InputError{Op: op, Field: "access", Rule: "must not be nil"}
	}
	part := previewPath.FindStringSubmatch(a.Path.Reveal())
	for i := range part {
		var err error
		part[i], err = url.PathUnescape(part[i])
		if err != nil {
			part = nil
			break
		}
	}
	if part == nil {
		return nil, errors.New("fastio: " + op + ": the access has no valid path of a preview")
	}
	kind, id, node, preview, token, first := part[1], part[2], part[3], part[4], part[5], part[6] // see previewPath
	in := api.Profile{Kind: api.ProfileKind(kind), ID: api.ID(id)}
	return endpoint.StoragePreviewsRead(in, api.OpaqueID(node), preview, token, cmp.Or(filename, first)), nil
}
