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
	"github.com/fastio-go/fastio/internal/pace"
)

// ReplaceRequest is what a file is to become.
type ReplaceRequest struct {
	Content io.ReaderAt // read once, from 0 to Size; a file, or a bytes.Reader
	Size    int64       // bytes
	Name    string      // "" keeps the one that the file has

	// IfVersion is the version that Content was made from: what was really read, as
	// in [Received], rather than what is current. If the file has another one by
	// now, it keeps that, and the call is a [*VersionConflict].
	IfVersion api.OpaqueID
	Overwrite bool // confirms that IfVersion is left out: whatever the file has by now is replaced

	ChunkSize int                     // bytes that are held and sent at a time, of a file over MaxSingle; 0 is 8 MiB
	Password  api.Secret              // of the link, as in [GetOptions]; "" for none
	Progress  func(done, total int64) // is told how many bytes the server has, and will have; may be nil
}

const (
	defaultChunk  = 8 << 20
	shortestPause = 500 * time.Millisecond
	longestPause  = 10 * time.Second
	failurePause  = 2 * time.Second
	maxLooks      = 5 // at an upload that may not have been completed
)

// VersionConflict is a file that was not replaced, for it has another version than
// the one that was to be followed. It is an [api.ErrConflict].
type VersionConflict struct { //nolint:errname // it says what happened, and the file is all right
	Op      string
	Current api.OpaqueID // the version that the file has
	Err     error        // the refusal; nil if the server had the file and put it away
}

// Error says which version the file has.
func (e *VersionConflict) Error() string {
	return "fastio: " + e.Op + ": the file has another version by now, " + string(e.Current)
}

// Is reports whether target is [api.ErrConflict].
func (e *VersionConflict) Is(target error) bool { return target == api.ErrConflict }

// Unwrap returns Err.
func (e *VersionConflict) Unwrap() error { return e.Err }

// UploadError is an upload that did not come to its end, or whose end nobody saw.
type UploadError struct {
	Op     string
	Upload Upload // as last seen; without an ID if it may never have begun
	Err    error  // what kept the end from being seen; nil where the upload itself has failed
}

// Error says what became of the upload.
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

// Replace gives the file behind a link another version, and returns the file as it is
// then. Where that could not be looked up any more its Version is "", but the file was
// replaced. It takes a grant with the capability to edit, and no membership.
//
// What it holds in memory is one piece of the content, twice while it is sent. A file of
// up to [MaxSingle] bytes is sent at once, and never again once a byte of it may have
// left, for that could make a second version; the pieces of a larger one are sent again
// until they have arrived.
//
// A [*VersionConflict] replaced nothing, and nor did any other error but an
// [*UploadError] with an Err: after that one the file may have been replaced, or may
// still be, and [Uploads.Get] tells by the ID of the upload, if it has one. With
// IfVersion the call may be repeated in any case: if the file was replaced after all,
// that is a VersionConflict then.
//
// It waits until the platform has put the file together, for as long as ctx allows.
func (s *Service) Replace(ctx context.Context, id api.ProfileID, r ReplaceRequest, opts ...api.CallOption) (*api.Node, error) {
	if err := r.check(opts); err != nil {
		return nil, err
	}
	f, err := s.Get(ctx, id, opening(r.Password), opts...)
	if err != nil {
		return nil, err
	}
	if f.File == nil || f.File.ID == "" {
		return nil, errors.New("fastio: " + opReplace + ": the File Share tells no file to replace")
	}
	if have := f.File.Version; have != "" && r.IfVersion != "" && !have.Equal(r.IfVersion) {
		return nil, &VersionConflict{Op: opReplace, Current: have}
	}
	if r.Name == "" {
		r.Name = f.File.Name
	}
	w := writing{uploads: s.Uploads, request: &r, get: opening(r.Password), opts: opts}
	if err := w.write(ctx, f); err != nil {
		return nil, err
	}
	return s.replaced(ctx, id, f.File, &r, opts), nil
}

// ReplaceFile is [Service.Replace] with the content of a file, whose name is of no
// matter. It sets Content and Size.
func (s *Service) ReplaceFile(ctx context.Context, id api.ProfileID, path string, r ReplaceRequest, opts ...api.CallOption) (*api.Node, error) {
	file, err := os.Open(path) //nolint:gosec // the caller's own
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

func (r ReplaceRequest) check(opts []api.CallOption) error {
	refuse := func(field, rule, got string) error {
		return &api.InputError{Op: opReplace, Field: field, Rule: rule, Got: got}
	}
	switch {
	case r.Content == nil:
		return refuse("chunk", "must have content", "")
	case r.Size < 0:
		return refuse("size", "must be 0 or more", strconv.FormatInt(r.Size, 10))
	case r.ChunkSize < 0:
		return refuse("chunk", "must be pieces of 1 byte or more", strconv.Itoa(r.ChunkSize))
	case (r.IfVersion.Plain() == "") != r.Overwrite:
		return refuse("if_version_id", "must be given, or else Overwrite be true, and not both", strconv.Quote(string(r.IfVersion)))
	case api.Resolve(opts).Markdown != nil:
		return refuse("output", "must not be markdown: the answers are acted on", "")
	}
	return nil
}

// replaced looks up the file as it is after the fact. Nothing that goes wrong here
// undoes it.
func (s *Service) replaced(ctx context.Context, id api.ProfileID, was *api.Node, r *ReplaceRequest, opts []api.CallOption) *api.Node {
	f, err := s.Get(ctx, id, opening(r.Password), opts...)
	if err == nil && f.File != nil {
		return f.File
	}
	return &api.Node{ID: was.ID, Name: r.Name, Type: was.Type, Size: r.Size}
}

// writing is a file on its way.
type writing struct {
	uploads *Uploads
	request *ReplaceRequest
	get     *GetOptions
	opts    []api.CallOption

	upload Upload // as last seen
}

func (w *writing) write(ctx context.Context, f *FileShare) error {
	r := CreateUploadRequest{
		FileShareID: f.ID, FileID: f.File.ID, Name: w.request.Name, Size: w.request.Size,
		IfVersion: w.request.IfVersion, Password: w.request.Password,
	}
	if w.request.Size <= MaxSingle {
		return w.single(ctx, r)
	}
	return w.chunked(ctx, r)
}

// single sends the file in one call, which the server puts together by itself.
func (w *writing) single(ctx context.Context, r CreateUploadRequest) error {
	r.Content = make([]byte, r.Size)
	if err := w.read(r.Content, 0); err != nil {
		return err
	}
	u, err := w.uploads.Create(ctx, r, w.opts...)
	if err != nil {
		return w.lost(err)
	}
	w.upload = *u
	w.told(r.Size)
	return w.end(ctx, nil)
}

// chunked sends the file in pieces. Until they are completed nothing has happened.
func (w *writing) chunked(ctx context.Context, r CreateUploadRequest) error {
	u, err := w.uploads.Create(ctx, r, w.opts...)
	if err != nil {
		return refusal(err)
	}
	w.upload = *u
	if u.ID == "" {
		return errors.New("fastio: " + opReplace + ": the answer names no upload")
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
		if err := w.uploads.Chunk(ctx, u.ID, order, piece, w.get, w.opts...); err != nil {
			return refusal(err)
		}
		at += int64(len(piece))
		w.told(at)
	}
	if err := w.uploads.Complete(ctx, u.ID, w.get, w.opts...); err != nil {
		if !doubtful(err) {
			return refusal(err)
		}
		return w.end(ctx, err)
	}
	return w.end(ctx, nil)
}

// read fills p with the content from at on.
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

func (w *writing) told(done int64) {
	if w.request.Progress != nil {
		w.request.Progress(done, w.request.Size)
	}
}

// end waits until the upload has ended. Cause is why it may not have been completed;
// such a one is looked at a few times.
func (w *writing) end(ctx context.Context, cause error) error {
	pause := shortestPause
	for looks := 1; ; looks++ {
		switch status := w.upload.Status; {
		case status.Done():
			return nil
		case status.Failed():
			if current := w.upload.Conflict(); current != "" {
				return &VersionConflict{Op: opReplace, Current: current}
			}
			return &UploadError{Op: opReplace, Upload: w.upload}
		case w.upload.ID == "":
			return w.lost(errors.New("the answer names no upload"))
		case cause != nil && looks > maxLooks:
			return w.lost(cause)
		}
		u, err := w.uploads.Get(ctx, w.upload.ID, w.get, w.opts...)
		wait := pause
		switch {
		case err == nil:
			id := w.upload.ID
			w.upload = *u
			w.upload.ID = id
			pause = min(pause+pause/2, longestPause)
			if u.Status.Done() || u.Status.Failed() {
				continue
			}
		case ctx.Err() != nil, call.Final(err):
			return w.lost(errors.Join(cause, err))
		default:
			wait = failurePause
			if e, ok := errors.AsType[*api.Error](err); ok {
				wait = max(wait, e.Rate.RetryAfter)
			}
		}
		if ended := pace.Sleep(ctx, wait); ended != nil {
			return w.lost(errors.Join(cause, ended))
		}
	}
}

// lost is a failure that leaves open what became of the file, unless it shows that
// the server did nothing.
func (w *writing) lost(err error) error {
	if _, bad := errors.AsType[*api.InputError](err); bad || w.upload.ID == "" && !doubtful(err) {
		return refusal(err)
	}
	return &UploadError{Op: opReplace, Upload: w.upload, Err: err}
}

// doubtful reports whether the server may have done what a call failed to report: any
// failure but a refusal.
func doubtful(err error) bool {
	if _, bad := errors.AsType[*api.InputError](err); bad {
		return false
	}
	e, answered := errors.AsType[*api.Error](err)
	return !answered || e.Status >= 500 || e.Is(api.ErrUnavailable)
}

// refusal returns an error as it is, unless it tells which version the file has.
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
