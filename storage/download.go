package storage

import (
	"context"
	"io"
	"net/url"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/download"
	"github.com/fastio-go/fastio/internal/endpoint"
)

// Downloads reads the bytes of files, notes and folders.
// [Service.DownloadFile] and [Service.DownloadTo] take all the steps.
type Downloads struct{ c api.Client }

// Token returns a token that reads one file or note of a workspace or share, in the
// given version; "" means the current one. A program without a credential can use it,
// for about two hours. Each call creates a token and an event, so it is retried only if
// it was not processed.
//
// Errors: [api.ErrNotFound] if the node is not in that workspace or share;
// [api.ErrForbidden] without access to it, or if the share does not allow
// downloads.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/requestread/.
// It calls GET /current/share/{share_id}/storage/{node_id}/requestread/.
func (d *Downloads) Token(
	ctx context.Context, in api.Profile, node, version api.OpaqueID, opts ...api.CallOption,
) (api.Secret, error) {
	return token(ctx, d.c, endpoint.StorageDownloadsToken(in, node, readQuery(version, api.Secret{})), "token", opts)
}

// token returns the token in the member of a response.
func token(
	ctx context.Context, c api.Client, r *api.Request, member string, opts []api.CallOption,
) (api.Secret, error) {
	t, err := call.One[api.Secret](ctx, c, r, member, opts)
	if err != nil {
		return api.Secret{}, err
	}
	if t.IsZero() {
		t = nil
	}
	if t, err = call.Found(r.Op, member, t); err != nil {
		return api.Secret{}, err
	}
	return *t, nil
}

// DownloadOptions are the options of a download. Nil means the whole current
// version.
type DownloadOptions struct {
	Range   api.Range    // a part of the file; zero means all of it
	Version api.OpaqueID // "" means the current version
	Token   api.Secret   // of [Downloads.Token] for that version; zero means that of the client

	// Hash makes DownloadTo compare the hash of the content with that of the node, which
	// takes more CPU time than the transfer. DownloadFile always does.
	Hash bool

	// OnProgress is called by DownloadTo and DownloadFile after each write.
	OnProgress func(ctx context.Context, p api.Progress)
}

func orAll(o *DownloadOptions) DownloadOptions {
	if o == nil {
		return DownloadOptions{}
	}
	return *o
}

// Read returns the content of a file or note of a workspace or share, or a part
// of it. With o.Token it sends no other credential. The caller must close the
// result.
//
// A broken connection is resumed if o.Version is set or the server names the
// version that it sends. [Service.DownloadTo] and [Service.DownloadFile] resume
// in any case, and check the content.
//
// Errors: those of [Downloads.Token]; [api.ErrForbidden] also if the file is
// locked, infected or taken down, and if the token has expired.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/read/.
// It calls GET /current/share/{share_id}/storage/{node_id}/read/.
func (d *Downloads) Read(
	ctx context.Context, in api.Profile, node api.OpaqueID, o *DownloadOptions, opts ...api.CallOption,
) (*api.Download, error) {
	options := orAll(o)
	r := readRequest(in, node, options.Version, options.Token)
	return download.Open(ctx, d.c, r, download.Options{Range: options.Range, Fixed: options.Version != ""}, opts)
}

// readRequest returns the request for the content of a node. A token replaces
// the credential of the client and the token of a link.
func readRequest(in api.Profile, node, version api.OpaqueID, token api.Secret) *api.Request {
	r := endpoint.StorageDownloadsRead(in, node, readQuery(version, token))
	if !token.IsZero() {
		r.Auth, r.Link = api.AuthNone, api.LinkNone
	}
	return r
}

func readQuery(version api.OpaqueID, token api.Secret) url.Values {
	q := url.Values{}
	if v := version.Plain(); v != "" {
		q.Set("version_id", v)
	}
	if !token.IsZero() {
		q.Set("token", token.Reveal())
	}
	return q
}

// unlinked returns the options of a call, without the token of a link.
func unlinked(opts []api.CallOption) api.CallOptions {
	o := api.Resolve(opts)
	o.Token = api.Secret{}
	return o
}

// Zip returns a folder of a workspace or share as a zip archive, with its
// subfolders; [api.Root] is the top folder. It requires a token of the client,
// also in a public share. The size is unknown, and a broken connection is not
// resumed. Each call is billed and creates an event. The caller must close the
// result.
//
// Errors: [api.ErrNotFound] if the folder is not in that workspace or share;
// [api.ErrForbidden] without access to it; [io.ErrUnexpectedEOF] from Read if
// the archive is not complete.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/zip/.
// It calls GET /current/share/{share_id}/storage/{node_id}/zip/.
func (d *Downloads) Zip(
	ctx context.Context, in api.Profile, folder api.OpaqueID, opts ...api.CallOption,
) (*api.Download, error) {
	return download.Open(ctx, d.c, endpoint.StorageDownloadsZip(in, folder), download.Options{}, opts)
}

// Received is a file that was downloaded.
type Received struct {
	Path    string       // of the local file; "" if written to an io.Writer
	Name    string       // on the server; not safe as the name of a local file
	Version api.OpaqueID // "" if unknown
	Bytes   int64        // bytes written
}

// DownloadTo writes one version of a file or note, or a part of it, to w, and
// resumes broken connections. It looks up the node, creates a token for the
// version, and reads that with the token alone. A token that expires meanwhile
// is replaced. After an error w holds the first Received.Bytes bytes.
//
// Errors: those of [Downloads.Read]; [api.ErrChanged] if the server sends
// another version after a broken connection; [api.ErrCorrupt] if a whole current
// version has another size than the node or, with o.Hash, another hash.
func (s *Service) DownloadTo(
	ctx context.Context, in api.Profile, node api.OpaqueID, w io.Writer, o *DownloadOptions, opts ...api.CallOption,
) (Received, error) {
	if w == nil {
		return Received{}, &api.InputError{Op: "storage.DownloadTo", Field: "w", Rule: "must not be nil"}
	}
	d, got, err := s.receive(ctx, in, node, orAll(o), opts)
	if err != nil {
		return Received{}, err
	}
	got.Bytes, err = download.Copy(ctx, w, d, orAll(o).OnProgress)
	return got, err
}

// DownloadFile downloads a file or note to a path, as [Service.DownloadTo] does.
// The write is atomic: it goes to a temporary file in the same directory, with
// mode 0600, which is renamed when complete and removed on failure.
//
// If path is a file it is replaced. If it is a directory, or ends in a
// separator, the name comes from the server, reduced to a safe one, and an
// existing file is not replaced.
//
// Errors: those of [Service.DownloadTo]; [io/fs.ErrExist] if the file exists in
// the directory.
func (s *Service) DownloadFile(
	ctx context.Context, in api.Profile, node api.OpaqueID, path string, o *DownloadOptions, opts ...api.CallOption,
) (Received, error) {
	options := orAll(o)
	options.Hash = true
	d, got, err := s.receive(ctx, in, node, options, opts)
	if err != nil {
		return Received{}, err
	}
	got.Path, got.Bytes, err = download.Save(ctx, "storage.DownloadFile", path, d, got.Name, orAll(o).OnProgress)
	if err != nil {
		return Received{}, err
	}
	return got, nil
}

// receive opens one version of a node.
func (s *Service) receive(
	ctx context.Context, in api.Profile, node api.OpaqueID, o DownloadOptions, opts []api.CallOption,
) (*api.Download, Received, error) {
	n, err := s.Get(ctx, in, node, opts...)
	if err != nil {
		return nil, Received{}, err
	}
	n.ID = node
	return s.open(ctx, in, n, o, opts)
}

// open opens one version of a node that was read before.
func (s *Service) open(
	ctx context.Context, in api.Profile, n *Node, o DownloadOptions, opts []api.CallOption,
) (*api.Download, Received, error) {
	got := Received{Name: n.Name, Version: n.Version}
	if o.Version != "" {
		got.Version = o.Version
	}
	request := func(ctx context.Context) (*api.Request, error) {
		t, err := s.Downloads.Token(ctx, in, n.ID, got.Version, opts...)
		return readRequest(in, n.ID, got.Version, t), err
	}
	options := download.Options{Range: o.Range, Fixed: got.Version != ""}
	r := readRequest(in, n.ID, got.Version, o.Token)
	if o.Token.IsZero() {
		var err error
		if r, err = request(ctx); err != nil {
			return nil, Received{}, err
		}
		options.Renew = request
	}
	r.Options = unlinked(opts)
	d, err := download.Open(ctx, s.c, r, options, nil)
	if err != nil {
		return nil, Received{}, err
	}
	if o.Range == (api.Range{}) && got.Version.Equal(n.Version) {
		hash := n.Hash
		if !o.Hash {
			hash = ""
		}
		download.Check(r.Op, d, n.Size, n.HashAlgo, hash)
	}
	return d, got, nil
}
