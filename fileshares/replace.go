package fileshares

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/dirs"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/uploads"
)

// ReplaceRequest is the new content of a file.
type ReplaceRequest struct {
	Content io.ReaderAt `wire:"chunk"` // read from 0 to Size, such as an os.File or bytes.Reader
	Size    int64       // in bytes
	Name    string      // default: the name of the file

	// IfVersion is the version that Content is based on: the one that was read, as
	// in [Received], not the current one. If the file has another version the call
	// returns an [*api.VersionConflictError].
	IfVersion api.OpaqueID `wire:"if_version_id"`
	Overwrite bool         // required without IfVersion: replaces any version

	Options uploads.FileOptions // of the upload
}

// Replace uploads a new version of the file of a link, as uploads.Service.ReaderAt does,
// and returns the file. It requires a grant of the edit capability, but no membership. The
// Version of the result is "" if it could not be read afterwards. If ctx ends during a
// ReadAt, Content must not be closed or changed before that has returned.
//
// Errors: [*api.VersionConflictError] if the file has another version; those of
// uploads.Service.ReaderAt. With IfVersion the call may be repeated after any error: if the
// file was replaced the result is a VersionConflictError.
func (s *Service) Replace(
	ctx context.Context, fileshare api.ID, r ReplaceRequest, opts ...api.CallOption,
) (*storage.Node, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	f, err := s.Get(ctx, fileshare, opts...)
	if err != nil {
		return nil, err
	}
	if f.File == nil || f.File.ID == "" {
		return nil, errors.New("fastio: " + opReplace + ": the response holds no file to replace")
	}
	if have := f.File.Version; have != "" && r.IfVersion != "" && !have.Equal(r.IfVersion) {
		return nil, &api.VersionConflictError{Op: opReplace, Current: have}
	}
	if r.Name == "" {
		r.Name = f.File.Name
	}
	target := uploads.Target{Profile: api.FileShare(f.ID), File: f.File.ID, IfVersion: r.IfVersion}
	n, err := s.uploads.ReaderAt(ctx, target, r.Name, r.Content, r.Size, &r.Options, opts...)
	if err != nil {
		return nil, err
	}
	if now, err := s.Get(ctx, fileshare, opts...); err == nil && now.File != nil { // else n: the file was replaced
		return now.File, nil
	}
	return n, nil
}

// ReplaceFile calls [Service.Replace] with the content and size of a local file, in
// place of those of r. The name of the local file is not used.
//
// Errors: those of Replace, and those of [os.Open]. [*api.InputError] if path is not a
// regular file.
func (s *Service) ReplaceFile(
	ctx context.Context, fileshare api.ID, path string, r ReplaceRequest, opts ...api.CallOption,
) (*storage.Node, error) {
	file, size, err := dirs.OpenFile(opReplace, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	r.Content, r.Size = file, size
	return s.Replace(ctx, fileshare, r, opts...)
}

const opReplace = "fileshares.Replace"

// check returns an error for a request that the platform would reject.
// IfVersion and Overwrite exclude each other, and one of them is required.
func (r ReplaceRequest) check() error {
	args := input.Fields[ReplaceRequest](opReplace)
	hasVersion := r.IfVersion.Plain() != ""
	switch {
	case r.Content == nil:
		return args.Refuse("chunk", "must not be nil", "")
	case r.Size < 0:
		return args.Refuse("size", "must be 0 or more", strconv.FormatInt(r.Size, 10))
	case hasVersion == r.Overwrite:
		const rule = "must be set if and only if Overwrite is false"
		return args.Refuse("if_version_id", rule, strconv.Quote(string(r.IfVersion)))
	}
	return nil
}
