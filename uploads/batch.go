package uploads

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/crc"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
)

// Limits of [Service.Batch].
const (
	MaxBatch      = 200        // files
	MaxBatchBytes = 90_000_000 // of all files
)

// BatchFile is a small file.
type BatchFile struct {
	Name    string `wire:"filename"`
	Path    string `wire:"relative_path"` // of folders below that of the target, "2026/plans/"; missing ones are created
	Content []byte // at most [MaxSingle] bytes
}

// BatchResult has the result of each file.
type BatchResult struct {
	ID        string         `json:"batch_id"`
	Total     int            `json:"count_total"`
	Succeeded int            `json:"count_succeeded"`
	Failed    int            `json:"count_errored"`
	Creator   string         `json:"creator"` // as it was sent
	Results   []*BatchUpload `json:"results"`
}

// BatchUpload is the result of one file.
type BatchUpload struct {
	Index   int          `json:"index"` // of the file in the call
	Name    string       `json:"filename"`
	Status  string       `json:"status"` // "ok" or "error"
	Upload  api.OpaqueID `json:"upload_id"`
	Node    api.OpaqueID `json:"node_id"` // "" if the file is not stored yet
	Code    int64        `json:"error_code"`
	Message string       `json:"error_message"` // why it was refused

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// OK reports whether the platform has accepted the file.
func (u *BatchUpload) OK() bool { return u.Status == "ok" }

// Err returns why the platform has refused the file, an [*api.Error], or nil.
func (u *BatchUpload) Err() error {
	if u.OK() {
		return nil
	}
	return &api.Error{Op: "uploads.Batch", Status: http.StatusOK, Code: u.Code, Text: u.Message}
}

// Batch uploads up to [MaxBatch] small files in one request. Each has its own result,
// also in a response without error: Results are matched by Index, because several files
// can have one name. A repeated call could store second versions, so it is retried only
// if it was not processed.
//
// T has a Profile, a workspace or share, and may have a Folder; its other fields must be
// zero. Creator is that of a [StartRequest].
//
// Errors: [api.ErrNotFound] for a missing folder; [api.ErrForbidden] without the right
// to add files; [api.ErrLimit] and [api.ErrPaymentRequired] for a limit of the plan. A
// name that the platform refuses is in the result of its file.
//
// It calls POST /current/upload/batch/.
func (s *Service) Batch(
	ctx context.Context, t Target, files []BatchFile, creator string, opts ...api.CallOption,
) (*BatchResult, error) {
	total, err := checkBatch(t, files)
	if err != nil {
		return nil, err
	}
	type entry struct {
		Index     int    `json:"index"`
		Name      string `json:"filename"`
		Path      string `json:"relative_path,omitzero"`
		Algorithm string `json:"hash_algo"`
		Hash      string `json:"hash"`
	}
	var manifest []entry
	var parts []*api.FilePart
	for i, f := range files {
		manifest = append(manifest, entry{i, f.Name, f.Path, "crc32c", hexadecimal(crc.Sum(f.Content))})
		parts = append(parts, &api.FilePart{
			Field: "file_" + strconv.Itoa(i), Name: f.Name, Content: api.Bytes("", f.Content),
		})
	}
	text, err := jsonv2.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	form := url.Values{"instance_id": {string(t.Profile.ID)}, "manifest": {string(text)}}
	if t.Folder != "" {
		form.Set("folder_id", t.Folder.Plain())
	}
	if creator != "" {
		form.Set("creator", creator)
	}
	r := endpoint.UploadsBatch(api.Multipart(form, parts...))
	r.Attempt = attemptTimeout(total)
	return call.Payload[BatchResult](ctx, s.c, r, opts)
}

// checkBatch returns the bytes of all files, or an error for arguments that Batch does not
// accept.
func checkBatch(t Target, files []BatchFile) (total int, err error) {
	const op = "uploads.Batch"
	target := input.Fields[Target](op)
	if t != (Target{Profile: t.Profile, Folder: t.Folder}) {
		return 0, target.Refuse("folder_id", "must be the only field besides Profile", "")
	}
	if err := target.OneOf("instance_id", t.Profile, api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return 0, err
	}
	for i, f := range files {
		r := StartRequest{Target: Target{Profile: t.Profile, Path: f.Path}, Name: f.Name}
		element := input.Element[BatchFile](op, "files", i)
		forName, forPath := element, element // errors of both name a field of the BatchFile
		if err := r.check(forName, forPath); err != nil {
			return 0, err
		}
		if len(f.Content) > MaxSingle {
			return 0, element.Refuse("Content", "must be at most 4194304 bytes", strconv.Itoa(len(f.Content)))
		}
		total += len(f.Content)
	}
	args := input.Parameters(op)
	switch {
	case len(files) == 0 || len(files) > MaxBatch:
		return 0, args.Refuse("files", "must be 1 to 200", strconv.Itoa(len(files)))
	case total > MaxBatchBytes:
		return 0, args.Refuse("files", "must have at most 90000000 bytes together", strconv.Itoa(total))
	}
	return total, nil
}
