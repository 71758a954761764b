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
	ctx context.Context, id api.ID, o *DownloadOptions, opts ...api.CallOption,
) (*api.Download, error) {
	return download.Open(ctx, s.c, endpoint.FileSharesDownload(id), download.Options{Range: orAll(o).Range}, opts)
}

// Received is a file that was downloaded.
type Received struct {
	Path    string       // of the local file; "" if written to an io.Writer
	Name    string       // on the server; not safe as the name of a local file
	Version api.OpaqueID // for [ReplaceRequest].IfVersion; "" if unknown
	Bytes   int64        // bytes written
}

// DownloadTo writes one version of the file, or a part of it, to w, and resumes
// broken connections. It makes at least two calls: it looks up the current version
// and reads that one. After an error w holds the first Received.Bytes bytes.
func (s *Service) DownloadTo(
	ctx context.Context, id api.ID, w io.Writer, o *DownloadOptions, opts ...api.CallOption,
) (Received, error) {
	if w == nil {
		return Received{}, &api.InputError{Op: "fileshares.DownloadTo", Field: "w", Rule: "must not be nil"}
	}
	d, got, err := s.receive(ctx, id, orAll(o), opts)
	if err != nil {
		return Received{}, err
	}
	got.Bytes, err = download.Copy(ctx, w, d, orAll(o).OnProgress)
	return got, err
}

// DownloadFile downloads the file to a path, as [Service.DownloadTo] does. The
// write is atomic: it goes to a temporary file in the same directory, with mode
// 0600, which is renamed when complete and removed on failure.
//
// If path is a file it is replaced. If it is a directory, or ends in a
// separator, the name comes from the server, reduced to a safe one, and an
// existing file is not replaced.
//
// Errors: those of [Service.Download]; [io/fs.ErrExist] if the file exists in
// the directory.
func (s *Service) DownloadFile(
	ctx context.Context, id api.ID, path string, o *DownloadOptions, opts ...api.CallOption,
) (Received, error) {
	d, got, err := s.receive(ctx, id, orAll(o), opts)
	if err != nil {
		return Received{}, err
	}
	got.Path, got.Bytes, err = download.Save(ctx, "fileshares.DownloadFile", path, d, got.Name, orAll(o).OnProgress)
	if err != nil {
		return Received{}, err
	}
	return got, nil
}

// receive opens the current version of the file.
func (s *Service) receive(
	ctx context.Context, id api.ID, o DownloadOptions, opts []api.CallOption,
) (*api.Download, Received, error) {
	f, err := s.Get(ctx, id, opts...)
	if err != nil {
		return nil, Received{}, err
	}
	var got Received
	if f.File != nil {
		got.Name, got.Version = f.File.Name, f.File.Version
	}
	var d *api.Download
	if got.Version == "" {
		d, err = s.Download(ctx, id, &o, opts...)
	} else {
		d, err = s.Versions.Read(ctx, id, got.Version, &o, opts...)
	}
	if err != nil {
		return nil, Received{}, err
	}
	got.Name = cmp.Or(got.Name, d.Name)
	return d, got, nil
}

// Preview returns a preview of the file; of a preview of several files the
// first. It requires the view capability. At most one redirect is followed,
// without credentials. The caller must close the result.
//
// Errors: those of [Service.Download]; [api.ErrNotFound] with the code
// [CodeNoPreview], or none, if the preview does not exist, yet or at all.
//
// It calls GET /current/fileshare/{fileshare_id}/storage/preview/{type}/read/.
func (s *Service) Preview(
	ctx context.Context, id api.ID, kind storage.PreviewType, opts ...api.CallOption,
) (*api.Download, error) {
	r := endpoint.FileSharesPreview(id, string(kind))
	r.Hop = true
	return download.Open(ctx, s.c, r, download.Options{}, opts)
}

// Versions reads the versions of the file of a link.
type Versions struct{ c api.Client }

// Version is one version of a file.
type Version = storage.Version

// List returns the versions of the file. It requires the view capability, and
// has the errors of [Service.Get].
//
// It calls GET /current/fileshare/{fileshare_id}/storage/versions/.
func (v *Versions) List(ctx context.Context, id api.ID, opts ...api.CallOption) ([]*Version, error) {
	return call.List[*Version](ctx, v.c, endpoint.FileSharesVersionsList(id), "versions", opts)
}

// Read returns one version of the file, or a part of it, and resumes broken
// connections. It requires the download capability, and has the errors of
// [Service.Download]. The caller must close the result.
//
// It calls GET /current/fileshare/{fileshare_id}/storage/versions/{version_id}/read/.
func (v *Versions) Read(
	ctx context.Context, id api.ID, version api.OpaqueID, o *DownloadOptions, opts ...api.CallOption,
) (*api.Download, error) {
	r := endpoint.FileSharesVersionsRead(id, version)
	return download.Open(ctx, v.c, r, download.Options{Range: orAll(o).Range, Fixed: true}, opts)
}
