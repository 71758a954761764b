package fileshares

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// MaxSingle is how many bytes a file may have that is sent in one call: 4 MiB.
const MaxSingle = 4 << 20

// Uploads makes another version of the file behind a link, step by step, which takes
// a grant with the capability to edit, and no membership. [Service.Replace] takes all
// the steps.
//
// A file of up to [MaxSingle] bytes is sent by Create, and that is that. A larger one
// has an upload made by Create, is sent in pieces by Chunk, and put together by
// Complete. Either way [Uploads.Get] tells what came of it.
type Uploads struct{ c api.Caller }

// UploadStatus says how far an upload has come.
type UploadStatus string

// How an upload ends. Any other status says that it has not ended.
const (
	UploadStatusComplete       UploadStatus = "complete"
	UploadStatusStored         UploadStatus = "stored"
	UploadStatusAssemblyFailed UploadStatus = "assembly_failed"
	UploadStatusStoreFailed    UploadStatus = "store_failed"
)

// Done reports whether the file has its new version.
func (s UploadStatus) Done() bool { return s == UploadStatusComplete || s == UploadStatusStored }

// Failed reports whether it never will, by this upload.
func (s UploadStatus) Failed() bool {
	return s == UploadStatusAssemblyFailed || s == UploadStatusStoreFailed
}

// Upload is a version on its way.
type Upload struct {
	ID            api.OpaqueID `json:"id"`
	Status        UploadStatus `json:"status"`
	StatusMessage string       `json:"status_message"` // why it failed

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// conflicting begins the message of an upload that came too late. The version that
// the file has follows.
const conflicting = "CONFLICT_VERSION_MISMATCH:"

// Conflict returns the version that the file has, if that is why the upload failed:
// it is not the one that the upload was to follow. Else it returns "".
func (u *Upload) Conflict() api.OpaqueID {
	current, ok := strings.CutPrefix(strings.TrimSpace(u.StatusMessage), conflicting)
	if !ok || u.Status != UploadStatusAssemblyFailed {
		return ""
	}
	return api.OpaqueID(strings.TrimSpace(current))
}

// uploadAnswer is an Upload as it arrives: under session, or by itself.
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

// CreateUploadRequest is another version of the file behind a link.
type CreateUploadRequest struct {
	FileShareID api.ProfileID // the number: FileShare.ID
	FileID      api.OpaqueID  // FileShare.File.ID
	Name        string        // of the file
	Size        int64         // of it, in bytes

	// IfVersion is the version that the new one is to follow. Where the file has
	// another one by now, the upload fails. "" overwrites what it has.
	IfVersion api.OpaqueID

	Content  []byte     // all of it, up to MaxSingle bytes, to be sent at once; nil begins an upload in pieces
	Password api.Secret // of the link, as in [GetOptions]; "" for none
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
		return refuse("size", "must be that of the content", strconv.FormatInt(r.Size, 10))
	case len(r.Content) > MaxSingle:
		return refuse("chunk", "must be at most 4194304 bytes to be sent at once", strconv.Itoa(len(r.Content)))
	}
	return nil
}

// body returns the form, with the content beside it if there is one.
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
	return api.Multipart{Fields: form, File: &api.FilePart{Field: "chunk", Name: r.Name, Content: r.Content}}
}

// Create sends a file of up to [MaxSingle] bytes, or begins to send a larger one. A
// repeat could make a second version, so it is only repeated when the server refused
// it unread, with 429, or was never reached. Any other failure of a file that is sent
// at once leaves open whether it has arrived.
//
// It takes a grant with the capability to edit: less is [api.ErrForbidden]. A file
// that is not the File Share's is [api.ErrNotFound].
//
// It calls POST /current/upload/.
func (u *Uploads) Create(ctx context.Context, r CreateUploadRequest, opts ...api.CallOption) (*Upload, error) {
	const op = "fileshares.Uploads.Create"
	if err := r.check(op); err != nil {
		return nil, err
	}
	a, err := call.Do[uploadAnswer](ctx, u.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/upload/"), Body: r.body(),
		Replay: api.ReplayOnce, Password: r.Password, Attempt: sending(len(r.Content)),
	}, opts)
	if err != nil {
		return nil, err
	}
	return a.upload(), nil
}

// Chunk sends a piece of the file: the first is 1, and all but the last are of one
// size. The same one may be sent again, and is, when its answer gets lost.
//
// It calls POST /current/upload/{upload_id}/chunk/.
func (u *Uploads) Chunk(ctx context.Context, upload api.OpaqueID, order int, content []byte, get *GetOptions, opts ...api.CallOption) error {
	const op = "fileshares.Uploads.Chunk"
	password, err := passwordOf(op, get)
	switch {
	case err != nil:
		return err
	case order < 1:
		return &api.InputError{Op: op, Field: "order", Rule: "must be 1 or more", Got: strconv.Itoa(order)}
	case len(content) == 0:
		return &api.InputError{Op: op, Field: "chunk", Rule: "must not be empty"}
	}
	return call.Send(ctx, u.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/upload/{upload_id}/chunk/", upload.Plain()),
		Query:  url.Values{"order": {strconv.Itoa(order)}, "size": {strconv.Itoa(len(content))}},
		Body:   api.Multipart{File: &api.FilePart{Field: "chunk", Name: "chunk", Content: content}},
		Replay: api.ReplaySafe, Password: password, Attempt: sending(len(content)),
	}, opts)
}

// sending is how long an attempt may take that sends so many bytes, 0 for as long as
// any other: a connection that takes none must not hold it up for ever.
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

// Complete has the pieces put together, once all were sent. That is over when
// [Uploads.Get] says so. It is only repeated when it was never sent.
//
// It calls POST /current/upload/{upload_id}/complete/.
func (u *Uploads) Complete(ctx context.Context, upload api.OpaqueID, get *GetOptions, opts ...api.CallOption) error {
	const op = "fileshares.Uploads.Complete"
	password, err := passwordOf(op, get)
	if err != nil {
		return err
	}
	return call.Send(ctx, u.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/upload/{upload_id}/complete/", upload.Plain()),
		Body: api.Form{}, Replay: api.ReplayOnce, Password: password,
	}, opts)
}

// Get returns an upload as it is at the moment.
//
// It calls GET /current/upload/{upload_id}/details/.
func (u *Uploads) Get(ctx context.Context, upload api.OpaqueID, get *GetOptions, opts ...api.CallOption) (*Upload, error) {
	const op = "fileshares.Uploads.Get"
	password, err := passwordOf(op, get)
	if err != nil {
		return nil, err
	}
	a, err := call.Do[uploadAnswer](ctx, u.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/upload/{upload_id}/details/", upload.Plain()),
		Replay: api.ReplaySafe, Password: password,
	}, opts)
	if err != nil {
		return nil, err
	}
	return a.upload(), nil
}
