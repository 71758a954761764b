package fileshares

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/wait"
	"github.com/fastio-go/fastio/storage"
)

// ReplaceRequest is the new content of a file.
type ReplaceRequest struct {
	Content io.ReaderAt // read from 0 to Size, such as an os.File or bytes.Reader
	Size    int64       // in bytes
	Name    string      // default: the name of the file

	// IfVersion is the version that Content is based on: the one that was read, as
	// in [Received], not the current one. If the file has another version the call
	// returns a [*VersionConflict].
	IfVersion api.OpaqueID
	Overwrite bool // required without IfVersion: replaces any version

	ChunkSize int // bytes sent at a time and held in memory, beyond MaxSingle; default: 8 MiB

	// OnProgress is called with the bytes that the server has received.
	OnProgress func(ctx context.Context, p api.Progress)
}

const (
	defaultChunk = 8 << 20
	maxPolls     = 5 // polls of an upload that may not have been completed
)

// VersionConflict is the error of a file with another version than the expected one.
type VersionConflict = storage.VersionConflict //nolint:errname // as storage.VersionConflict

// UploadError is returned if an upload failed, or its result is unknown.
type UploadError struct {
	Op     string
	Upload Upload // its last known state; without an ID if it may not have begun
	Err    error  // why the result is unknown; nil if the upload failed
}

// Error returns the state of the upload.
func (e *UploadError) Error() string {
	s := "fastio: " + e.Op + ": "
	switch {
	case e.Err != nil:
		return s + "whether the file was replaced is not known: " + e.Err.Error()
	case e.Upload.StatusMessage != "":
		return s + "the upload ended as " + string(e.Upload.Status) + ": " + e.Upload.StatusMessage
	}
	return s + "the upload ended as " + string(e.Upload.Status)
}

// Unwrap returns Err.
func (e *UploadError) Unwrap() error { return e.Err }

// Replace uploads a new version of the file of a link and returns the file. It
// requires a grant of the edit capability, but no membership. It waits until
// the server has stored the file, for as long as ctx allows. The Version of the
// result is "" if it could not be read afterwards.
//
// It holds one chunk of the content in memory, twice while it is sent. A file
// of up to [MaxSingle] bytes is sent in one request, which is not retried once
// any byte may have been sent, because a retry could create a second version.
// The chunks of a larger file are retried.
//
// Errors: [*VersionConflict] if the file has another version; [*UploadError]
// with an Err if the result is unknown: the file may have been replaced, or may
// still be, and [Uploads.Get] reports it by the ID of the upload, if it has
// one. After any other error the file was not replaced. With IfVersion the call
// may be repeated after any error: if the file was replaced the result is a
// VersionConflict.
func (s *Service) Replace(
	ctx context.Context, id api.ID, r ReplaceRequest, opts ...api.CallOption,
) (*storage.Node, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	f, err := s.Get(ctx, id, opts...)
	if err != nil {
		return nil, err
	}
	if f.File == nil || f.File.ID == "" {
		return nil, errors.New("fastio: " + opReplace + ": the response holds no file to replace")
	}
	if have := f.File.Version; have != "" && r.IfVersion != "" && !have.Equal(r.IfVersion) {
		return nil, &VersionConflict{Op: opReplace, Current: have}
	}
	if r.Name == "" {
		r.Name = f.File.Name
	}
	w := writing{uploads: s.Uploads, request: &r, opts: opts}
	if err := w.write(ctx, f); err != nil {
		return nil, err
	}
	return s.replaced(ctx, id, f.File, &r, opts), nil
}

// ReplaceFile calls [Service.Replace] with the content and size of a local
// file. The name of the local file is not used.
func (s *Service) ReplaceFile(
	ctx context.Context, id api.ID, path string, r ReplaceRequest, opts ...api.CallOption,
) (*storage.Node, error) {
	file, err := os.Open(path) //nolint:gosec // the path is the caller's
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r.Content, r.Size = file, info.Size()
	return s.Replace(ctx, id, r, opts...)
}

const opReplace = "fileshares.Replace"

func (r ReplaceRequest) check() error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: opReplace, Field: field, Rule: rule, Got: got}
	}
	switch {
	case r.Content == nil:
		return refuse("chunk", "must have content", "")
	case r.Size < 0:
		return refuse("size", "must be 0 or more", strconv.FormatInt(r.Size, 10))
	case r.ChunkSize < 0:
		return refuse("chunk", "must be 1 byte or more", strconv.Itoa(r.ChunkSize))
	case (r.IfVersion.Plain() == "") != r.Overwrite:
		const rule = "must be set if and only if Overwrite is false"
		return refuse("if_version_id", rule, strconv.Quote(string(r.IfVersion)))
	}
	return nil
}

// replaced reads the file after its replacement. An error here is ignored: the
// file was replaced.
func (s *Service) replaced(
	ctx context.Context, id api.ID, was *storage.Node, r *ReplaceRequest, opts []api.CallOption,
) *storage.Node {
	f, err := s.Get(ctx, id, opts...)
	if err == nil && f.File != nil {
		return f.File
	}
	return &storage.Node{ID: was.ID, Name: r.Name, Type: was.Type, Size: r.Size}
}

type writing struct {
	uploads *Uploads
	request *ReplaceRequest
	opts    []api.CallOption

	upload Upload // its last known state
}

func (w *writing) write(ctx context.Context, f *FileShare) error {
	r := CreateUploadRequest{
		FileShareID: f.ID, FileID: f.File.ID, Name: w.request.Name, Size: w.request.Size, IfVersion: w.request.IfVersion,
	}
	if w.request.Size <= MaxSingle {
		return w.single(ctx, r)
	}
	return w.chunked(ctx, r)
}

// single sends the file in one request, after which the server assembles it.
func (w *writing) single(ctx context.Context, r CreateUploadRequest) error {
	r.Content = make([]byte, r.Size)
	if err := w.read(r.Content, 0); err != nil {
		return err
	}
	u, err := w.uploads.Create(ctx, r, w.opts...)
	if err != nil {
		return w.indeterminate(err)
	}
	w.upload = *u
	w.report(ctx, r.Size)
	return w.end(ctx, nil)
}

// chunked sends the file in chunks. The file is not replaced before the upload
// is completed.
func (w *writing) chunked(ctx context.Context, r CreateUploadRequest) error {
	u, err := w.uploads.Create(ctx, r, w.opts...)
	if err != nil {
		return refusal(err)
	}
	w.upload = *u
	if u.ID == "" {
		return errors.New("fastio: " + opReplace + ": the response holds no upload")
	}
	size := w.request.ChunkSize
	if size == 0 {
		size = defaultChunk
	}
	buf := make([]byte, min(int64(size), r.Size))
	for at, order := int64(0), 1; at < r.Size; order++ {
		piece := buf[:min(int64(len(buf)), r.Size-at)]
		if err := w.read(piece, at); err != nil {
			return err
		}
		if err := w.uploads.Chunk(ctx, u.ID, order, piece, w.opts...); err != nil {
			return refusal(err)
		}
		at += int64(len(piece))
		w.report(ctx, at)
	}
	if err := w.uploads.Complete(ctx, u.ID, w.opts...); err != nil {
		if !ambiguous(err) {
			return refusal(err)
		}
		return w.end(ctx, err)
	}
	return w.end(ctx, nil)
}

// read fills p with the content at offset at.
func (w *writing) read(p []byte, at int64) error {
	n, err := w.request.Content.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == io.EOF || err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("fastio: %s: reading the content: %w", opReplace, err)
}

func (w *writing) report(ctx context.Context, done int64) {
	if w.request.OnProgress != nil {
		w.request.OnProgress(ctx, api.Progress{Done: done, Total: w.request.Size})
	}
}

// end waits until the upload has ended. Cause is why it may not have been
// completed; such an upload is polled a few times only.
func (w *writing) end(ctx context.Context, cause error) error {
	ended := func() bool { return w.upload.Status.Done() || w.upload.Status.Failed() }
	var interval wait.Interval
	polls := 0
	step := func() (bool, time.Duration, error) {
		if polls++; cause != nil && polls > maxPolls {
			return true, 0, nil
		}
		u, err := w.uploads.Get(ctx, w.upload.ID, w.opts...)
		if err == nil {
			u.ID = w.upload.ID
			w.upload = *u
		}
		return ended(), interval.Next(), err
	}
	if !ended() {
		if w.upload.ID == "" {
			return w.indeterminate(errors.New("the response holds no upload"))
		}
		if err := (wait.Poll{Final: call.Final}).Run(ctx, step); err != nil {
			return w.indeterminate(errors.Join(cause, err))
		}
	}
	switch current := w.upload.Conflict(); {
	case w.upload.Status.Done():
		return nil
	case !w.upload.Status.Failed():
		return w.indeterminate(cause)
	case current != "":
		return &VersionConflict{Op: opReplace, Current: current}
	}
	return &UploadError{Op: opReplace, Upload: w.upload}
}

// indeterminate returns an error after which the result is unknown, unless err
// shows that the server did nothing.
func (w *writing) indeterminate(err error) error {
	if _, bad := errors.AsType[*api.InputError](err); bad || w.upload.ID == "" && !ambiguous(err) {
		return refusal(err)
	}
	return &UploadError{Op: opReplace, Upload: w.upload, Err: err}
}

// ambiguous reports whether the server may have carried out a call that failed
// with err.
func ambiguous(err error) bool {
	if _, bad := errors.AsType[*api.InputError](err); bad {
		return false
	}
	e, answered := errors.AsType[*api.Error](err)
	return !answered || e.Status >= 500 || e.Is(api.ErrUnavailable)
}

// refusal returns err, as a [*VersionConflict] if it holds the current version
// of the file.
func refusal(err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	var details struct {
		Current api.OpaqueID `json:"current"`
	}
	if json.Unmarshal(e.Details, &details) == nil && details.Current != "" {
		return &VersionConflict{Op: opReplace, Current: details.Current, Err: err}
	}
	return err
}
