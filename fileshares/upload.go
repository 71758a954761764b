package fileshares

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// MaxSingle is the largest file that is sent in one request: 4 MiB.
const MaxSingle = 4 << 20

// Uploads uploads a new version of the file of a link step by step. It requires
// a grant of the edit capability, but no membership. [Service.Replace] takes
// all the steps.
//
// A file of up to [MaxSingle] bytes is sent by Create alone. For a larger one
// Create starts an upload, Chunk sends its chunks, and Complete assembles them.
// [Uploads.Get] returns the result of either.
type Uploads struct{ c api.Client }

// UploadStatus is the state of an upload.
type UploadStatus string

// The final states. Any other state means that the upload has not ended.
const (
	UploadStatusComplete       UploadStatus = "complete"
	UploadStatusStored         UploadStatus = "stored"
	UploadStatusAssemblyFailed UploadStatus = "assembly_failed"
	UploadStatusStoreFailed    UploadStatus = "store_failed"
)

// Done reports whether the new version was stored.
func (s UploadStatus) Done() bool { return s == UploadStatusComplete || s == UploadStatusStored }

// Failed reports whether the upload has failed.
func (s UploadStatus) Failed() bool {
	return s == UploadStatusAssemblyFailed || s == UploadStatusStoreFailed
}

// Upload is an upload of a new version.
type Upload struct {
	ID            api.OpaqueID `json:"id"`
	Status        UploadStatus `json:"status"`
	StatusMessage string       `json:"status_message"` // why it failed

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members without a field
}

// conflicting begins the status message of a version conflict. The current
// version follows.
const conflicting = "CONFLICT_VERSION_MISMATCH:"

// Conflict returns the current version of the file if the upload failed because
// that is not the expected one, else "".
func (u *Upload) Conflict() api.OpaqueID {
	current, ok := strings.CutPrefix(strings.TrimSpace(u.StatusMessage), conflicting)
	if !ok || u.Status != UploadStatusAssemblyFailed {
		return ""
	}
	return api.OpaqueID(strings.TrimSpace(current))
}

// uploadAnswer is a response with an Upload: under session, or at the root.
type uploadAnswer struct {
	Session *Upload `json:"session"`
	Bare    Upload  `json:",embed,inline"`
}

func (a *uploadAnswer) upload() *Upload {
	if a.Session != nil {
		return a.Session
	}
	return &a.Bare
}

// CreateUploadRequest is a new version of the file of a link.
type CreateUploadRequest struct {
	FileShareID api.ID       // FileShare.ID, the numeric one
	FileID      api.OpaqueID // FileShare.File.ID
	Name        string       // of the file
	Size        int64        // in bytes

	// IfVersion is the version that the upload replaces. If the file has another
	// version the upload fails. "" replaces any version.
	IfVersion api.OpaqueID

	Content []byte // the whole file of up to MaxSingle bytes; nil starts an upload in chunks
}

func (r CreateUploadRequest) check(op string) error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: op, Field: field, Rule: rule, Got: got}
	}
	switch {
	case strings.TrimSpace(string(r.FileShareID)) == "":
		return refuse("instance_id", "must be the ID of a File Share", "")
	case r.FileID.Plain() == "":
		return refuse("file_id", "must be the ID of its file", "")
	case strings.TrimSpace(r.Name) == "":
		return refuse("name", "must not be blank", strconv.Quote(r.Name))
	case r.Size < 0:
		return refuse("size", "must be 0 or more", strconv.FormatInt(r.Size, 10))
	case r.Content != nil && int64(len(r.Content)) != r.Size:
		return refuse("size", "must be the length of Content", strconv.FormatInt(r.Size, 10))
	case len(r.Content) > MaxSingle:
		return refuse("chunk", "must be at most 4194304 bytes in one request", strconv.Itoa(len(r.Content)))
	}
	return nil
}

// body returns the form, with the content as a part if there is one.
func (r CreateUploadRequest) body() api.Body {
	form := url.Values{
		"name": {r.Name}, "size": {strconv.FormatInt(r.Size, 10)}, "action": {"update"},
		"instance_id": {string(r.FileShareID)}, "file_id": {r.FileID.Plain()},
	}
	if v := r.IfVersion.Plain(); v != "" {
		form.Set("if_version_id", v)
	}
	if r.Content == nil {
		return api.Form(form)
	}
	return api.Multipart(form, &api.FilePart{Field: "chunk", Name: r.Name, Content: api.Bytes("", r.Content)})
}

// Create uploads a file of up to [MaxSingle] bytes, or starts the upload of a
// larger one. A retry could create a second version, so it is retried only
// after status 429, or if it was not sent. After any other failure of an upload
// with content the result is unknown.
//
// Errors: [api.ErrForbidden] if the caller has no grant of the edit capability;
// [api.ErrNotFound] if FileID is not the file of the File Share.
//
// It calls POST /current/upload/.
func (u *Uploads) Create(ctx context.Context, r CreateUploadRequest, opts ...api.CallOption) (*Upload, error) {
	if err := r.check("fileshares.Uploads.Create"); err != nil {
		return nil, err
	}
	req := endpoint.UploadsStart(r.body())
	req.Attempt = sending(len(r.Content))
	a, err := call.One[uploadAnswer](ctx, u.c, req, "", opts)
	if err != nil {
		return nil, err
	}
	return a.upload(), nil
}

// Chunk sends a chunk of the file. The order of the first is 1, and all but the
// last have the same size. It is idempotent, and is retried.
//
// It calls POST /current/upload/{upload_id}/chunk/.
func (u *Uploads) Chunk(
	ctx context.Context, upload api.OpaqueID, order int, content []byte, opts ...api.CallOption,
) error {
	const op = "fileshares.Uploads.Chunk"
	switch {
	case order < 1:
		return &api.InputError{Op: op, Field: "order", Rule: "must be 1 or more", Got: strconv.Itoa(order)}
	case len(content) == 0:
		return &api.InputError{Op: op, Field: "chunk", Rule: "must not be empty"}
	}
	file := &api.FilePart{Field: "chunk", Name: "chunk", Content: api.Bytes("", content)}
	r := endpoint.UploadsChunksSend(upload, api.Multipart(nil, file))
	r.Query = url.Values{"order": {strconv.Itoa(order)}, "size": {strconv.Itoa(len(content))}}
	r.Attempt = sending(len(content))
	return call.Do(ctx, u.c, r, opts)
}

// sending returns the timeout of an attempt that sends so many bytes; 0 means
// the default. A connection that accepts no bytes must not block forever.
func sending(bytes int) time.Duration {
	const (
		answer  = 2 * time.Minute
		slowest = 16 << 10 // bytes a second
	)
	if bytes == 0 {
		return 0
	}
	return answer + time.Duration(bytes/slowest)*time.Second
}

// Complete assembles the chunks after all were sent. [Uploads.Get] reports when
// that has ended. It is retried only if it was not sent.
//
// It calls POST /current/upload/{upload_id}/complete/.
func (u *Uploads) Complete(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, u.c, endpoint.UploadsComplete(upload), opts)
}

// Get returns the current state of an upload.
//
// It calls GET /current/upload/{upload_id}/details/.
func (u *Uploads) Get(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) (*Upload, error) {
	a, err := call.One[uploadAnswer](ctx, u.c, endpoint.UploadsGet(upload), "", opts)
	if err != nil {
		return nil, err
	}
	return a.upload(), nil
}
