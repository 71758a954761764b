// Package uploads sends files to workspaces and shares.
//
//	target := uploads.Target{Profile: api.Workspace(design), Path: "2026/parts/"}
//	node, err := client.Uploads.ReaderAt(ctx, target, "mill.txt", content, content.Size(), nil)
//
// [Service.ReaderAt], and [Service.File] for a local file, choose the way by the size: one
// call, or chunks. A file of the same name in the same folder gets a new version.
package uploads

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/activity"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/storage"
)

// Service uploads files. It is the Uploads field of a fastio.Client, and safe for
// concurrent use.
type Service struct {
	c       api.Client
	nodes   *storage.Service
	changes *changeWatch
	limits  *limitsCache

	sending sync.Map // IDs of sessions that uploads continue

	Chunks *Chunks // of an upload
	Web    *Web    // imports of files from addresses
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	s := &Service{c: c, nodes: storage.New(c), changes: newChangeWatch(activity.New(c)), Chunks: &Chunks{c}, Web: &Web{c}}
	s.limits = &limitsCache{read: s.Limits, all: map[Target]*cachedLimits{}}
	return s
}

// MaxSingle is the largest file that is sent in one request: 4 MiB.
const MaxSingle = 4 << 20

// Status is the state of an upload. Unknown values are kept, and mean that it has not
// ended.
type Status string

// States of an upload. After [StatusComplete] a file is assembled, but can only be read
// when it is stored. A file that is stored in a folder synchronized with another provider
// is written there later: see [storage.ImportState].
const (
	StatusReady          Status = "ready"
	StatusUploading      Status = "uploading"
	StatusAssemble       Status = "assemble"   // queued for assembly
	StatusAssembling     Status = "assembling" // being assembled
	StatusComplete       Status = "complete"
	StatusStore          Status = "store"   // queued for storage
	StatusStoring        Status = "storing" // being stored
	StatusStored         Status = "stored"
	StatusAssemblyFailed Status = "assembly_failed"
	StatusStoreFailed    Status = "store_failed"
)

// Failed reports whether the upload has failed.
func (s Status) Failed() bool { return s == StatusAssemblyFailed || s == StatusStoreFailed }

// Upload is the state of an upload.
type Upload struct {
	ID            api.OpaqueID     `json:"id"`
	Status        Status           `json:"status"`
	StatusMessage string           `json:"status_message"` // why it failed
	FileID        api.OpaqueID     `json:"new_file_id"`    // of the stored file; "" before
	Chunks        api.Map[int64]   `json:"chunks"`         // bytes of each that has arrived, by its order
	Integrity     IntegrityFailure `json:"integrity_failure"`

	// In a list, as far as the platform shows them.
	Name     string       `json:"name"`          // (assumed name)
	Size     int64        `json:"size"`          // in bytes; 0 for a stream (assumed name)
	Profile  api.ID       `json:"instance_id"`   // (assumed name)
	Folder   api.OpaqueID `json:"folder_id"`     // "" for the root (assumed name)
	Path     string       `json:"relative_path"` // (assumed name)
	Replaces api.OpaqueID `json:"file_id"`       // the file that gets the content (assumed name)
	Created  api.Time     `json:"created"`       // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// IntegrityFailure holds the checksums of a file that arrived with other bytes.
type IntegrityFailure struct {
	Expected string `json:"expected_crc32c"` // as it was sent
	Computed string `json:"computed_crc32c"` // of what has arrived

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// conflicting begins the status message of a version conflict. The current version
// follows.
const conflicting = "CONFLICT_VERSION_MISMATCH:"

// Conflict returns the current version of the file if the upload failed because that is
// not the expected one, else "". The status message of the platform has the version.
func (u *Upload) Conflict() api.OpaqueID {
	current, ok := strings.CutPrefix(strings.TrimSpace(u.StatusMessage), conflicting)
	if !ok || u.Status != StatusAssemblyFailed {
		return ""
	}
	return api.OpaqueID(strings.TrimSpace(current))
}

// answer is a response with an Upload: under session, or at the root.
type answer struct {
	Session *Upload `json:"session"`
	Bare    Upload  `json:",embed,inline"`
}

// upload returns the upload of a response: its member session, or else the whole
// payload. The payload can hold the status of the envelope, which is not that of the
// upload.
func (a *answer) upload() *Upload {
	if a.Session != nil {
		return a.Session
	}
	if a.Bare.Status == "ok" { // of the envelope
		a.Bare.Status = ""
	}
	return &a.Bare
}

// Target is where a file is stored. The zero Target of [Service.Start] and [Service.Put]
// stores it nowhere: its upload ends as [StatusComplete].
//
// A visitor without a credential can add files of at most [MaxSingle] bytes to a share
// that accepts anonymous uploads, by Put. Chunks and the state of an upload require a
// credential. The Profile is named by its ID, not by a custom name.
type Target struct {
	Profile api.Profile  `json:"profile" wire:"instance_id"`         // a workspace, share or File Share, by its ID
	Folder  api.OpaqueID `json:"folder,omitzero" wire:"folder_id"`   // default: the root
	Path    string       `json:"path,omitzero" wire:"relative_path"` // of folders below it, "2026/plans/"; missing ones are created

	// File is the file whose content is replaced; it keeps its name. A File Share requires it.
	File api.OpaqueID `json:"file,omitzero" wire:"file_id"`

	// IfVersion is the version that the upload replaces, "" for any: the one that the content
	// is based on. In a workspace or share it requires File, and [Service.ReaderAt] or
	// [Service.File], which assemble the upload and then call storage.Service.Update.
	IfVersion api.OpaqueID `json:"if_version,omitzero" wire:"if_version_id"`
}

// StartRequest begins an upload.
type StartRequest struct {
	Target Target
	Name   string // 1 to 255 characters; the server shortens more than 100

	// Size in bytes; [SizeUnknown] begins a stream.
	Size    int64
	MaxSize int64  // of a stream; default: the limit of the plan
	Creator string // a tag: up to 150 letters, digits and hyphens
}

// SizeUnknown is the size of a stream.
const SizeUnknown = -1

const (
	longestPath = 8192 // characters
	longestName = 100  // characters of the name of a file that the server does not shorten
)

// check returns an error for a field that no call accepts. Args and target name the
// fields of the request and of its target in the error.
func (r *StartRequest) check(args, target input.Args) error {
	switch {
	case strings.TrimSpace(r.Name) == "" || utf8.RuneCountInString(r.Name) > 255:
		return args.Refuse("name", "must be 1 to 255 characters", strconv.Quote(r.Name))
	case r.Size < SizeUnknown:
		return args.Refuse("size", "must be 0 or more, or SizeUnknown", strconv.FormatInt(r.Size, 10))
	case r.MaxSize < 0, r.MaxSize > 0 && r.Size != SizeUnknown:
		return args.Refuse("max_size", "must be 0, or positive with a stream", strconv.FormatInt(r.MaxSize, 10))
	case r.Target.Profile.Kind == api.ProfileKindFileShare && r.Size == SizeUnknown:
		return args.Refuse("size", "must be known for a File Share", strconv.FormatInt(r.Size, 10))
	}
	return r.Target.check(target)
}

// check returns an error for a combination of fields that no call accepts. The argument
// target names the fields in the error.
func (t *Target) check(target input.Args) error {
	isFileShare := t.Profile.Kind == api.ProfileKindFileShare
	switch {
	case t.Path != "" && !isFolderPath(t.Path):
		return target.Refuse("relative_path", "must be names of folders, each with a slash behind it", strconv.Quote(t.Path))
	case t.Path != "" && t.File != "":
		return target.Refuse("relative_path", "must be left out with a file to replace", strconv.Quote(t.Path))
	case isFileShare && t.File.Plain() == "":
		return target.Refuse("file_id", "must be the ID of the file of the File Share", "")
	case isFileShare && (t.Folder != "" || t.Path != ""):
		return target.Refuse("folder_id", "must be left out, as Path, for a File Share", string(t.Folder))
	case !isFileShare && t.IfVersion != "":
		const rule = "must be left out, unless the target is a File Share; see Service.File"
		return target.Refuse("if_version_id", rule, string(t.IfVersion))
	case t.Profile == api.Profile{}:
		if *t != (Target{}) {
			return target.Refuse("instance_id", "must be a workspace, share or File Share", "")
		}
		return nil
	}
	return target.OneOf("instance_id", t.Profile, api.ProfileKindWorkspace, api.ProfileKindShare, api.ProfileKindFileShare)
}

// isFolderPath reports whether a path is names of folders, each with a slash behind it,
// as the platform requires.
func isFolderPath(path string) bool {
	if utf8.RuneCountInString(path) > longestPath || !strings.HasSuffix(path, "/") {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// form returns the request as a form, without empty fields. The action is update for a
// file to replace, else create.
func (r *StartRequest) form() url.Values {
	t := &r.Target
	form := url.Values{"name": {r.Name}, "action": {"create"}}
	set := func(name, value string) {
		if value != "" {
			form.Set(name, value)
		}
	}
	if r.Size == SizeUnknown {
		form.Set("stream", "true")
	} else {
		form.Set("size", strconv.FormatInt(r.Size, 10))
	}
	if r.MaxSize > 0 {
		form.Set("max_size", strconv.FormatInt(r.MaxSize, 10))
	}
	if t.File != "" {
		form.Set("action", "update")
	}
	set("creator", r.Creator)
	set("instance_id", string(t.Profile.ID))
	set("file_id", t.File.Plain())
	set("if_version_id", t.IfVersion.Plain())
	set("relative_path", t.Path)
	if kind := t.Profile.Kind; kind == api.ProfileKindWorkspace || kind == api.ProfileKindShare {
		form.Set("profile_type", string(kind))
		if t.File == "" {
			form.Set("folder_id", "root")
			set("folder_id", t.Folder.Plain())
		}
	}
	return form
}

// Start begins an upload whose content is sent by [Chunks.Send] or [Service.Stream]. It
// is retried only if it was not processed.
//
// Errors: [api.ErrNotFound] for a missing folder or file, [api.ErrForbidden] without
// the right to add files, [api.ErrInvalid] for a name that the platform refuses, also
// by its extension (see [Service.Extensions]), [api.ErrLimit] and
// [api.ErrPaymentRequired] for a limit of the plan.
//
// It calls POST /current/upload/.
func (s *Service) Start(ctx context.Context, r StartRequest, opts ...api.CallOption) (*Upload, error) {
	const op = "uploads.Start"
	if err := r.check(input.Fields[StartRequest](op), input.Fields[Target](op)); err != nil {
		return nil, err
	}
	return s.start(ctx, endpoint.UploadsStart(api.Form(r.form())), opts)
}

// Put uploads a file of at most [MaxSingle] bytes in one request. The file is stored
// when the result has a FileID, or when [Service.Get] reports [StatusStored]. A
// repeated call could store a second version, so it is retried only if it was not
// processed; after any other failure, the file may or may not be stored.
//
// Errors: [api.ErrNotFound] for a missing folder or file; [api.ErrForbidden] without the
// right to add files; [api.ErrInvalid] for a name that the platform refuses; [api.ErrLimit]
// and [api.ErrPaymentRequired] for a limit of the plan.
//
// It calls POST /current/upload/.
func (s *Service) Put(ctx context.Context, r StartRequest, content []byte, opts ...api.CallOption) (*Upload, error) {
	const op = "uploads.Put"
	r.Size = int64(len(content))
	if r.Size > MaxSingle {
		args := input.Parameters(op, "chunk", "content")
		return nil, args.Refuse("chunk", "must be at most 4194304 bytes", strconv.Itoa(len(content)))
	}
	if err := r.check(input.Fields[StartRequest](op), input.Fields[Target](op)); err != nil {
		return nil, err
	}
	return s.put(ctx, r, content, nil, opts)
}

// put uploads a small file in one request. The server compares the content with hash,
// unless that is nil.
func (s *Service) put(
	ctx context.Context, r StartRequest, content []byte, hash *Hash, opts []api.CallOption,
) (*Upload, error) {
	form := r.form()
	hash.set(form)
	file := &api.FilePart{Field: "chunk", Name: r.Name, Content: api.Bytes("", content)}
	q := endpoint.UploadsPut(api.Multipart(form, file))
	q.Attempt = attemptTimeout(len(content))
	return s.start(ctx, q, opts)
}

// start calls r and returns the upload in its response.
func (s *Service) start(ctx context.Context, r *api.Request, opts []api.CallOption) (*Upload, error) {
	a, err := call.Payload[answer](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	return a.upload(), nil
}

// attemptTimeout returns the timeout of an attempt that sends so many bytes; 0 means
// the default. A connection that accepts no bytes must not block forever.
func attemptTimeout(bytes int) time.Duration {
	const (
		response = 2 * time.Minute
		slowest  = 16 << 10 // bytes a second
	)
	if bytes == 0 {
		return 0
	}
	return response + time.Duration(bytes/slowest)*time.Second
}

// Complete assembles the chunks after all were sent. [Service.Get] reports when the
// file is stored. It is retried only if it was not processed.
//
// Errors: [api.ErrInvalid] if the chunks have another size than the file, which ends the
// upload.
//
// It calls POST /current/upload/{upload_id}/complete/.
func (s *Service) Complete(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.UploadsComplete(upload), opts)
}

// Get returns the current state of an upload.
//
// Errors: [api.ErrNotFound] if there is none.
//
// It calls GET /current/upload/{upload_id}/details/.
func (s *Service) Get(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) (*Upload, error) {
	a, err := call.Payload[answer](ctx, s.c, endpoint.UploadsGet(upload), opts)
	if err != nil {
		return nil, err
	}
	return a.upload(), nil
}

// Cancel ends an upload, or removes one that has ended. An upload with a target must not
// be removed as [StatusComplete]: it may not be stored yet.
//
// Errors: [api.ErrNotFound] if there is none, as after a retry that was not needed.
//
// It calls DELETE /current/upload/{upload_id}/.
func (s *Service) Cancel(ctx context.Context, upload api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.UploadsCancel(upload), opts)
}

// CancelAll ends all uploads of the caller, also those of other programs.
//
// It calls DELETE /current/upload/.
func (s *Service) CancelAll(ctx context.Context, opts ...api.CallOption) error {
	return call.Do(ctx, s.c, endpoint.UploadsCancelAll(), opts)
}

// List returns all uploads of the caller that were not removed.
//
// It calls GET /current/upload/details/.
func (s *Service) List(ctx context.Context, opts ...api.CallOption) ([]*Upload, error) {
	const member = "sessions" // (assumed name)
	return call.List[*Upload](ctx, s.c, endpoint.UploadsList(), member, opts)
}
