package uploads

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/internal/wait"
)

// Web imports files from addresses, which the server downloads.
type Web struct{ c api.Client }

// WebStatus is the state of an import. Unknown values are kept, and mean that it has not
// ended.
type WebStatus string

// States of an import.
const (
	WebStatusPending     WebStatus = "pending"
	WebStatusQueued      WebStatus = "queued"
	WebStatusDownloading WebStatus = "downloading"
	WebStatusUploading   WebStatus = "uploading"
	WebStatusComplete    WebStatus = "complete"
	WebStatusFailed      WebStatus = "failed"
	WebStatusCanceled    WebStatus = "canceled"
)

// Failed reports whether the import has ended without a file.
func (s WebStatus) Failed() bool { return s == WebStatusFailed || s == WebStatusCanceled }

// WebImport is an import. No document shows its members: others are in Extra.
type WebImport struct {
	ID     api.OpaqueID `json:"id" also:"upload_id"`        // (assumed name)
	Status WebStatus    `json:"status"`                     // (assumed name)
	FileID api.OpaqueID `json:"new_file_id" also:"node_id"` // of the stored file; "" if not in the response (assumed name)
	Source api.Secret   `json:"source_url"`                 // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// webAnswer is a response with a WebImport: in a member, or at the root.
type webAnswer struct {
	Import *WebImport `json:"web_upload"` // (assumed name)
	Bare   WebImport  `json:",embed,inline"`
}

// webImport returns the import of a response: its member, or else the whole payload. The
// payload can hold the status of the envelope, which is not that of the import.
func (a *webAnswer) webImport() *WebImport {
	w := a.Import
	if w == nil {
		w = &a.Bare
	}
	if w.Status == "ok" { // of the envelope
		w.Status = ""
	}
	return w
}

// requestImport calls r and returns the import in its response.
func (w *Web) requestImport(ctx context.Context, r *api.Request, opts []api.CallOption) (*WebImport, error) {
	a, err := call.Payload[webAnswer](ctx, w.c, r, opts)
	if err != nil {
		return nil, err
	}
	return a.webImport(), nil
}

// WebRequest begins an import.
type WebRequest struct {
	Source  api.Secret   `wire:"source_url"` // the address: public, http or https, or of a connected cloud drive; it may hold a signature
	Profile api.Profile  `wire:"profile_id"` // a workspace or share
	Folder  api.OpaqueID `wire:"folder_id"`  // default: the root
	Name    string       `wire:"file_name"`  // of the file, as in storage.Service.CreateFolder; default: the last segment of the address
}

// form checks the request and returns it as a form. The default name is the last
// element of the path of the source.
func (r *WebRequest) form(op string) (api.Body, error) {
	args := input.Fields[WebRequest](op)
	source, err := url.Parse(r.Source.Reveal())
	if err != nil || source.Scheme != "http" && source.Scheme != "https" || source.Host == "" {
		return nil, args.Refuse("source_url", "must be an http or https address", "")
	}
	name := r.Name
	if name == "" {
		escaped := source.EscapedPath()
		name, err = url.PathUnescape(escaped[strings.LastIndexByte(escaped, '/')+1:])
		if err != nil || !dirs.Allowed(name) {
			return nil, args.Refuse("file_name", "must be set, because the path of the address ends in no valid name", "")
		}
	}
	if rule := dirs.Rule(name); rule != "" {
		return nil, args.Refuse("file_name", rule, strconv.QuoteToASCII(name))
	}
	if err := args.OneOf("profile_id", r.Profile, api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return nil, err
	}
	form := url.Values{
		"source_url": {r.Source.Reveal()}, "profile_id": {string(r.Profile.ID)}, "profile_type": {string(r.Profile.Kind)},
		"folder_id": {cmp.Or(r.Folder.Plain(), "root")}, "file_name": {name},
	}
	return api.Form(form), nil
}

// Start begins an import. [Web.Wait] waits for its end. A repeated call would import
// the file twice, so it is retried only if it was not processed.
//
// Errors: [api.ErrNotFound] for a missing folder; [api.ErrForbidden] without the
// right to add files; [api.ErrInvalid] for a name that the platform refuses; [api.ErrLimit]
// and [api.ErrPaymentRequired] for a limit of the plan.
//
// It calls POST /current/web_upload/.
func (w *Web) Start(ctx context.Context, r WebRequest, opts ...api.CallOption) (*WebImport, error) {
	form, err := r.form("uploads.Web.Start")
	if err != nil {
		return nil, err
	}
	return w.requestImport(ctx, endpoint.UploadsWebStart(form), opts)
}

// Get returns the current state of an import.
//
// Errors: [api.ErrNotFound] if there is none.
//
// It calls GET /current/web_upload/{upload_id}/details/.
func (w *Web) Get(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) (*WebImport, error) {
	return w.requestImport(ctx, endpoint.UploadsWebGet(upload), opts)
}

// WebError is returned if an import has ended without a file.
type WebError struct {
	Op     string
	Import *WebImport
}

// Error returns the state of the import, without its source.
func (e *WebError) Error() string {
	return "fastio: " + e.Op + ": the import ended as " + string(e.Import.Status)
}

// Wait waits until an import has stored its file, and returns its last state. It reads
// the state at growing intervals of up to 10 seconds, and retries temporary failures. Bound
// the wait with ctx or [api.WithTimeout].
//
// Errors: [*WebError] if the import has failed or was canceled; those of [Web.Get].
func (w *Web) Wait(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) (*WebImport, error) {
	const op = "uploads.Web.Wait"
	ctx, stop, err := call.Bounded(ctx, w.c, op, opts)
	if err != nil {
		return nil, err
	}
	defer stop()
	var interval wait.Interval
	var last *WebImport
	err = wait.Poll{Final: call.Final}.Run(ctx, func() (done bool, pause time.Duration, err error) {
		last, err = w.Get(ctx, upload, opts...)
		if err != nil {
			return false, 0, err
		}
		return last.Status == WebStatusComplete || last.Status.Failed(), interval.Next(), nil
	})
	switch {
	case err != nil:
		return nil, err
	case last.Status.Failed():
		return nil, &WebError{Op: op, Import: last}
	}
	return last, nil
}

// Cancel cancels an import.
//
// Errors: [api.ErrNotFound] if there is none.
//
// It calls DELETE /current/web_upload/.
func (w *Web) Cancel(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) error {
	if upload.Plain() == "" { // the call would concern all imports
		args := input.Parameters("uploads.Web.Cancel", "id", "upload")
		return args.Refuse("id", "must not be blank", strconv.Quote(string(upload)))
	}
	return call.Do(ctx, w.c, endpoint.UploadsWebCancel(url.Values{"id": {upload.Plain()}}), opts)
}

// WebListOptions selects a page of imports. Nil means the first.
type WebListOptions struct {
	Status WebStatus // only imports in this state; "" means all
	Limit  int       // imports a page, 1 to 500; 0 means the default of the server
	Offset int       // imports to skip
}

// query checks the options and returns them as query parameters; nil has none.
func (o *WebListOptions) query(op string) (url.Values, error) {
	if o == nil {
		return url.Values{}, nil
	}
	q, err := page.Window(input.Fields[WebListOptions](op), o.Limit, o.Offset)
	if err == nil && o.Status != "" {
		q.Set("status", string(o.Status))
	}
	return q, err
}

// WebPage is one page of imports.
type WebPage struct {
	Imports    []*WebImport    `json:"web_uploads"` // (assumed name)
	Pagination *api.Pagination `json:"pagination"`  // nil if not in the response (assumed name)
}

// List returns one page of the imports of the caller.
//
// It calls GET /current/web_upload/.
func (w *Web) List(ctx context.Context, list *WebListOptions, opts ...api.CallOption) (*WebPage, error) {
	return call.Page[WebPage](ctx, w.c, endpoint.UploadsWebList(nil), list.query, opts)
}

// All returns the imports of the pages of [Web.List] from list.Offset on.
func (w *Web) All(ctx context.Context, list *WebListOptions, opts ...api.CallOption) iter.Seq2[*WebImport, error] {
	var o WebListOptions
	if list != nil {
		o = *list
	}
	next := func(ctx context.Context, offset int, opts []api.CallOption) (*WebPage, error) {
		at := o
		at.Offset = offset
		return w.List(ctx, &at, opts...)
	}
	rows := func(p *WebPage) ([]*WebImport, *api.Pagination) { return p.Imports, p.Pagination }
	return page.Offsets("uploads.Web.List", o.Offset, next, rows).All(ctx, opts)
}
