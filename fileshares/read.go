package fileshares

import (
	"cmp"
	"context"
	"encoding/json"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
)

// DownloadOptions goes along with a download. Nil is fine for all of the file of a
// link without a password.
type DownloadOptions struct {
	Password api.Secret // of the link, as in [GetOptions]; "" for none
	Range    api.Range  // a part of the file; the zero one is all of it

	// Progress is told how many bytes have come, and how many will, -1 if the server
	// does not tell: by DownloadTo and DownloadFile alone, in the goroutine of the
	// call.
	Progress func(done, total int64)
}

func orAll(o *DownloadOptions) DownloadOptions {
	if o == nil {
		return DownloadOptions{}
	}
	return *o
}

// Download returns the file, or a part of it, as it is at the moment. It takes the
// capability to download. The caller closes it.
//
// A connection that breaks is replaced by another where the server names the version
// that it sends; [Service.DownloadTo] and [Service.DownloadFile] need no such name.
//
// Beside the errors of [Service.Get], [api.ErrForbidden] is too little capability, or a
// file that is not served: one that is locked, infected or taken down.
//
// It calls GET /current/fileshare/{fileshare_id}/storage/read/.
func (s *Service) Download(ctx context.Context, id api.ProfileID, o *DownloadOptions, opts ...api.CallOption) (*api.Download, error) {
	const op = "fileshares.Download"
	r := recipient(op, api.Path("/current/fileshare/{fileshare_id}/storage/read/", string(id)), orAll(o).Password)
	return download.Open(ctx, s.c, r, download.Options{Range: orAll(o).Range}, opts)
}

// Received is a file that has arrived.
type Received struct {
	Path    string       // where it is; "" if it went to a writer
	Name    string       // as the File Share calls it; not safe as the name of a local file
	Version api.OpaqueID // which it is: for [ReplaceRequest].IfVersion; "" if the server did not tell
	Bytes   int64        // how many
}

// DownloadTo writes the file, or a part of it, to w: all of one version, also over
// connections that break. It looks up the version and reads that one, so it makes two
// calls, at least. What a failure leaves in w is a beginning, of Received.Bytes.
func (s *Service) DownloadTo(ctx context.Context, id api.ProfileID, w io.Writer, o *DownloadOptions, opts ...api.CallOption) (Received, error) {
	d, got, err := s.receive(ctx, id, orAll(o), opts)
	if err != nil {
		return Received{}, err
	}
	got.Bytes, err = download.Copy(w, d, orAll(o).Progress)
	return got, err
}

// DownloadFile does for a file what [Service.DownloadTo] does for a writer. The file
// is there as a whole or not at all: until then it has another name in the same
// directory, which nothing is left of when anything fails. It has mode 0600.
//
// A path to a file names it, and one that exists is replaced. A path to a directory,
// or one that ends in a separator, has the server choose the name: of that no more is
// taken than is safe, and a file that exists is not replaced, which is
// [io/fs.ErrExist].
func (s *Service) DownloadFile(ctx context.Context, id api.ProfileID, path string, o *DownloadOptions, opts ...api.CallOption) (Received, error) {
	d, got, err := s.receive(ctx, id, orAll(o), opts)
	if err != nil {
		return Received{}, err
	}
	count := func(done, total int64) {
		got.Bytes = done
		if told := orAll(o).Progress; told != nil {
			told(done, total)
		}
	}
	got.Path, err = download.Save(path, d, got.Name, count)
	if err != nil {
		return Received{}, err
	}
	return got, nil
}

// receive opens the version that the file has at the moment.
func (s *Service) receive(ctx context.Context, id api.ProfileID, o DownloadOptions, opts []api.CallOption) (*api.Download, Received, error) {
	f, err := s.Get(ctx, id, opening(o.Password), opts...)
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

// Preview returns a preview of the file, of one that is several files the first. The
// caller closes it. It takes the capability to view.
//
// The server may send the client elsewhere for it: there it goes once, and with
// nothing of the call.
//
// A preview that is not there, yet or ever, is [api.ErrNotFound] with the code
// [CodeNoPreview] or none. All other errors are those of [Service.Download].
//
// It calls GET /current/fileshare/{fileshare_id}/storage/preview/{type}/read/.
func (s *Service) Preview(ctx context.Context, id api.ProfileID, kind api.PreviewType, get *GetOptions, opts ...api.CallOption) (*api.Download, error) {
	const op = "fileshares.Preview"
	password, err := passwordOf(op, get)
	if err != nil {
		return nil, err
	}
	path := api.Path("/current/fileshare/{fileshare_id}/storage/preview/{type}/read/", string(id), string(kind))
	return download.OpenHop(ctx, s.c, recipient(op, path, password), opts)
}

// Versions reads the versions of the file behind a link.
type Versions struct{ c Client }

// Version is one version of a file.
type Version struct {
	ID      api.OpaqueID `json:"id"`
	Size    *int64       `json:"size"` // bytes; nil when the answer did not tell, as the next one
	Current *bool        `json:"current"`
	Created api.Time     `json:"created"` // zero when the answer did not tell

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

type plainVersion Version

// UnmarshalJSONFrom reads the ID from id, else version_id: the form of a version is
// not published.
func (v *Version) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	w := struct {
		Version   *plainVersion `json:",embed,inline"`
		VersionID api.OpaqueID  `json:"version_id"`
	}{Version: (*plainVersion)(v)}
	err := jsonv2.UnmarshalDecode(dec, &w)
	if v.ID == "" {
		v.ID = w.VersionID
	}
	return err
}

// List returns the versions of the file. It takes the capability to view; the errors
// are those of [Service.Get].
//
// It calls GET /current/fileshare/{fileshare_id}/storage/versions/.
func (v *Versions) List(ctx context.Context, id api.ProfileID, get *GetOptions, opts ...api.CallOption) ([]*Version, error) {
	const op = "fileshares.Versions.List"
	password, err := passwordOf(op, get)
	if err != nil {
		return nil, err
	}
	a, err := call.Do[struct {
		Versions []*Version `json:"versions"`
	}](ctx, v.c, recipient(op, api.Path("/current/fileshare/{fileshare_id}/storage/versions/", string(id)), password), opts)
	if err != nil {
		return nil, err
	}
	return a.Versions, nil
}

// Read returns one version of the file, or a part of it. It takes the capability to
// download; the errors are those of [Service.Download]. The caller closes it.
//
// A version never changes, so a connection that breaks is always replaced by another.
//
// It calls GET /current/fileshare/{fileshare_id}/storage/versions/{version_id}/read/.
func (v *Versions) Read(ctx context.Context, id api.ProfileID, version api.OpaqueID, o *DownloadOptions, opts ...api.CallOption) (*api.Download, error) {
	const op = "fileshares.Versions.Read"
	path := api.Path("/current/fileshare/{fileshare_id}/storage/versions/{version_id}/read/", string(id), version.Plain())
	return download.Open(ctx, v.c, recipient(op, path, orAll(o).Password), download.Options{Range: orAll(o).Range, Fixed: true}, opts)
}
