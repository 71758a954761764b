package fileshares

import (
	"cmp"
	"context"
	"io"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/storage"
)

// DownloadOptions are the options of a download. Nil means the whole file.
type DownloadOptions struct {
	Range api.Range // a part of the file; zero means all of it

	// OnProgress is called by DownloadTo and DownloadFile after each write.
	OnProgress func(ctx context.Context, p api.Progress)
}

// orAll returns the options, or for nil those of a download of the whole file.
func orAll(o *DownloadOptions) DownloadOptions {
	if o == nil {
		return DownloadOptions{}
	}
	return *o
}

// Download returns the current file, or a part of it. It requires the download
// capability. The caller must close the result.
//
// A broken connection is resumed if the server names the version that it sends.
// [Service.DownloadTo] and [Service.DownloadFile] resume in any case.
//
// Errors: those of [Service.Get]; [api.ErrForbidden] also if the capability is
// too low, or the file is locked, infected or taken down.
//
// It calls GET /current/fileshare/{fileshare_id}/storage/read/.
func (s *Service) Download(
	ctx context.Context, fileshare api.ID, o *DownloadOptions, opts ...api.CallOption,
) (*api.Download, error) {
	return download.Open(ctx, s.c, endpoint.FileSharesDownload(fileshare), download.Options{Range: orAll(o).Range}, opts)
}

// Received is a file that was downloaded.
type Received struct {
	Path    string       // of the local file; "" if written to an io.Writer
	Name    string       // on the server; not safe as the name of a local file
	Version api.OpaqueID // for [ReplaceRequest].IfVersion; "" if unknown
	Bytes   int64        // bytes written; of a file, its size
}

// DownloadTo writes one version of the file, or a part of it, to w, and resumes
// broken connections. It makes at least two calls: it looks up the current version
// and reads that one. After an error w holds the first Received.Bytes bytes.
//
// Errors: those of [Service.Download]; [api.ErrCorrupt] if the whole file has another size.
func (s *Service) DownloadTo(
	ctx context.Context, fileshare api.ID, w io.Writer, o *DownloadOptions, opts ...api.CallOption,
) (Received, error) {
	const op = "fileshares.DownloadTo"
	if w == nil {
		return Received{}, &api.InputError{Op: op, Field: "w", Rule: "must not be nil"}
	}
	src, got, err := s.source(ctx, op, fileshare, orAll(o), opts)
	if err != nil {
		return Received{}, err
	}
	d, err := src.Open(ctx, 0)
	if err != nil {
		return Received{}, err
	}
	const algorithm, noHash = "", "" // only the size is checked
	download.Check(op, d, src.Size, algorithm, noHash)
	got.Name = cmp.Or(got.Name, d.Name)
	got.Bytes, err = download.Copy(ctx, w, d, src.Report)
	return got, err
}

// DownloadFile downloads the file to a path, as [Service.DownloadTo] does, and checks its
// size and hash if the share has them. The write is atomic: until the file is complete it is
// a partial file with mode 0600 in the same directory, called ".", the name of the file,
// ".", 12 letters and ".fastio-partial". With the hash, an interrupted download is
// continued as by [storage.Service.DownloadFile].
//
// If path is a file it is replaced. If it is a directory, or ends in a
// separator, the name comes from the server, reduced to a safe one, and an
// existing file is not replaced.
//
// Errors: those of [Service.Download]; [api.ErrCorrupt] if the content has another size or
// hash; [api.ErrInUse] if another call, also of another process, writes the same file;
// [io/fs.ErrExist] if the file exists in the directory.
func (s *Service) DownloadFile(
	ctx context.Context, fileshare api.ID, path string, o *DownloadOptions, opts ...api.CallOption,
) (Received, error) {
	const op = "fileshares.DownloadFile"
	if err := download.CheckPath(op, path); err != nil {
		return Received{}, err
	}
	src, got, err := s.source(ctx, op, fileshare, orAll(o), opts)
	if err != nil {
		return Received{}, err
	}
	got.Path, got.Bytes, err = src.Save(ctx, path)
	if err != nil {
		return Received{}, err
	}
	got.Name = src.Name
	return got, nil
}

// source returns the source for a download of the current version of the file.
// For the whole file it has the size and the hash, if the platform knows them,
// so that the content can be checked.
func (s *Service) source(
	ctx context.Context, op string, fileshare api.ID, o DownloadOptions, opts []api.CallOption,
) (*download.Source, Received, error) {
	f, err := s.Get(ctx, fileshare, opts...)
	if err != nil {
		return nil, Received{}, err
	}
	var file storage.Node
	if f.File != nil {
		file = *f.File
	}
	src := &download.Source{Op: op, Name: file.Name, Report: o.OnProgress}
	src.Open = func(ctx context.Context, offset int64) (*api.Download, error) {
		part := o
		part.Range.Offset += offset // the offset is 0 for a range, as only a whole version is continued
		if file.Version == "" {
			return s.Download(ctx, fileshare, &part, opts...)
		}
		return s.Versions.Read(ctx, fileshare, file.Version, &part, opts...)
	}
	if file.Version != "" { // by which an interrupted download of the same content is recognized
		src.ID = file.ID.Plain() + " " + file.Version.Plain()
	}
	if file.Version != "" && o.Range == (api.Range{}) {
		src.Size, src.HashAlgo, src.Hash = file.Size, file.HashAlgo, file.Hash
	}
	return src, Received{Name: file.Name, Version: file.Version}, nil
}

// Preview returns a preview of the file. If the preview consists of several files,
// as [storage.PreviewTypeHLS] does, it returns the first. It requires the view
// capability. At most one redirect is followed, without credentials. The caller must
// close the result.
//
// Errors: those of [Service.Download]; [api.ErrNotFound] also if the preview does not exist,
// yet or at all.
//
// It calls GET /current/fileshare/{fileshare_id}/storage/preview/{type}/read/.
func (s *Service) Preview(
	ctx context.Context, fileshare api.ID, kind storage.PreviewType, opts ...api.CallOption,
) (*api.Download, error) {
	r := endpoint.FileSharesPreview(fileshare, string(kind))
	r.Hop = true
	return download.Open(ctx, s.c, r, download.Options{}, opts)
}

// Versions reads the versions of the file of a link.
type Versions struct{ c api.Client }

// List returns all versions of the file: no document has pages of them. It requires the
// view capability, and has the errors of [Service.Get].
//
// It calls GET /current/fileshare/{fileshare_id}/storage/versions/.
func (v *Versions) List(ctx context.Context, fileshare api.ID, opts ...api.CallOption) ([]*storage.Version, error) {
	return call.List[*storage.Version](ctx, v.c, endpoint.FileSharesVersionsList(fileshare), "versions", opts)
}

// Read returns one version of the file, or a part of it, and resumes broken
// connections. It requires the download capability, and has the errors of
// [Service.Download]. The caller must close the result.
//
// It calls GET /current/fileshare/{fileshare_id}/storage/versions/{version_id}/read/.
func (v *Versions) Read(
	ctx context.Context, fileshare api.ID, version api.OpaqueID, o *DownloadOptions, opts ...api.CallOption,
) (*api.Download, error) {
	r := endpoint.FileSharesVersionsRead(fileshare, version)
	return download.Open(ctx, v.c, r, download.Options{Range: orAll(o).Range, Fixed: true}, opts)
}
