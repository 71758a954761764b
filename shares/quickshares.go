package shares

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/storage"
)

// QuickShares reads and revokes links to single files, which File Shares have
// replaced. The server no longer creates or extends them: it returns
// [api.ErrForbidden] with codes.QuickShareClosed.
//
// Deprecated: use package fileshares for new links.
type QuickShares struct{ c api.Client }

// QuickShare is a link to a file.
type QuickShare struct {
	ID            api.OpaqueID  `json:"id"`
	Node          *storage.Node `json:"node"`
	CreatorID     api.ID        `json:"creator_uid"`
	LimitExceeded bool          `json:"limit_exceeded"` // its transfer limit is used up, permanently
	Expires       api.Time      `json:"expires,omitzero"`
	Created       api.Time      `json:"created,omitzero"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// URL returns the address of the QuickShare in the web app.
func (q *QuickShare) URL() string {
	return "https://go.fast.io/quickshare/" + url.PathEscape(string(q.ID))
}

// Get returns a QuickShare. It requires no token.
//
// Errors: [api.ErrNotFound] if it does not exist or was revoked.
//
// It calls GET /current/quickshare/{quickshare_id}/details/.
func (q *QuickShares) Get(ctx context.Context, quickshare api.OpaqueID, opts ...api.CallOption) (*QuickShare, error) {
	return call.One[QuickShare](ctx, q.c, endpoint.SharesQuickSharesGet(quickshare), "quickshare", opts)
}

// GetByNode returns the QuickShare of a file of a workspace.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/quickshare/.
func (q *QuickShares) GetByNode(
	ctx context.Context, workspace api.ID, node api.OpaqueID, opts ...api.CallOption,
) (*QuickShare, error) {
	return call.One[QuickShare](ctx, q.c, endpoint.SharesQuickSharesGetByNode(workspace, node), "quickshare", opts)
}

// Delete revokes the QuickShare of a file of a workspace: its link no longer works. The
// file is kept.
//
// It calls DELETE /current/workspace/{workspace_id}/storage/{node_id}/quickshare/.
func (q *QuickShares) Delete(ctx context.Context, workspace api.ID, node api.OpaqueID, opts ...api.CallOption) error {
	return call.Remove(ctx, q.c, endpoint.SharesQuickSharesDelete(workspace, node), opts)
}

// QuickSharePage is one page of QuickShares.
type QuickSharePage struct {
	QuickShares []*QuickShare   `json:"quickshares"`
	Pagination  *api.Pagination `json:"pagination"` // nil if not in the response
}

// QuickShareListOptions selects a page of QuickShares. Nil means the first.
type QuickShareListOptions struct {
	Limit  int // rows a page, 1 to 500; 0 means the default of the server, 100
	Offset int // rows to skip
}

// query returns the options as query parameters; nil has none.
func (o *QuickShareListOptions) query(op string) (url.Values, error) {
	if o == nil {
		return url.Values{}, nil
	}
	return page.Window(input.Fields[QuickShareListOptions](op), o.Limit, o.Offset)
}

// List returns one page of the QuickShares of a workspace.
//
// It calls GET /current/workspace/{workspace_id}/quickshares/.
func (q *QuickShares) List(
	ctx context.Context, workspace api.ID, list *QuickShareListOptions, opts ...api.CallOption,
) (*QuickSharePage, error) {
	return call.Page[QuickSharePage](ctx, q.c, endpoint.SharesQuickSharesList(workspace, nil), list.query, opts)
}

// All returns the QuickShares of all pages of [QuickShares.List], from list.Offset on.
// Default: pages of 500.
func (q *QuickShares) All(
	ctx context.Context, workspace api.ID, list *QuickShareListOptions, opts ...api.CallOption,
) iter.Seq2[*QuickShare, error] {
	o := *cmp.Or(list, &QuickShareListOptions{})
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*QuickSharePage, error) {
		return q.List(ctx, workspace, &QuickShareListOptions{limit, offset}, opts...)
	}
	rows := func(p *QuickSharePage) ([]*QuickShare, *api.Pagination) { return p.QuickShares, p.Pagination }
	return page.Rows(ctx, "shares.QuickShares.List", o.Limit, o.Offset, opts, fetch, rows)
}

// Download returns the file of a QuickShare, or a part of it; nil means all of
// it. The caller must close it.
//
// Downloads are limited to 10 GB in all and 100 times the size of the file,
// after which LimitExceeded is permanent. The path is assumed: no document of
// the platform names it.
//
// Errors: [api.ErrLimit] if the limit is used up; status 422 if the file is
// corrupt, permanently; [api.ErrUnsupported] if the server lacks the path.
//
// It calls GET /current/quickshare/{quickshare_id}/storage/read/.
func (q *QuickShares) Download(
	ctx context.Context, quickshare api.OpaqueID, part *api.Range, opts ...api.CallOption,
) (*api.Download, error) {
	o := download.Options{Field: "part"}
	if part != nil {
		o.Range = *part
	}
	return download.Open(ctx, q.c, endpoint.SharesQuickSharesDownload(quickshare), o, opts)
}

// Preview returns a preview of the file of a QuickShare. If a preview consists
// of several files, it returns the first of them. The server may redirect the
// request to another host, which gets no credentials. The caller must close
// the result.
//
// Previews are limited to 20 times the size of the file in all. The path is
// assumed: no document of the platform names it.
//
// Errors: [api.ErrUnauthenticated] if the limit is used up, which no sign-in
// changes; status 422 if the file is corrupt, permanently; [api.ErrUnsupported]
// if the server lacks the path.
//
// It calls GET /current/quickshare/{quickshare_id}/storage/preview/{type}/read/.
func (q *QuickShares) Preview(
	ctx context.Context, quickshare api.OpaqueID, kind storage.PreviewType, opts ...api.CallOption,
) (*api.Download, error) {
	r := endpoint.SharesQuickSharesPreview(quickshare, string(kind))
	r.Hop = true // Open follows one redirect of a Hop, also to another host
	return download.Open(ctx, q.c, r, download.Options{}, opts)
}

// ReadNote returns the note of a QuickShare with its content. The path is
// assumed: no document of the platform names it.
//
// Errors: [api.ErrInvalid] if the node is a file; [api.ErrUnsupported] if the
// server lacks the path.
//
// It calls GET /current/quickshare/{quickshare_id}/storage/readnote/.
func (q *QuickShares) ReadNote(ctx context.Context, quickshare api.OpaqueID, opts ...api.CallOption) (*storage.Note, error) {
	a, err := call.Payload[struct {
		Content *string       `json:"content"`
		Note    *storage.Node `json:"note"`
	}](ctx, q.c, endpoint.SharesQuickSharesReadNote(quickshare), opts)
	if err != nil {
		return nil, err
	}
	content, err := call.Found("shares.QuickShares.ReadNote", "content", a.Content)
	if err != nil {
		return nil, err
	}
	return &storage.Note{Content: *content, Node: a.Note}, nil
}
