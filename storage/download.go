package storage

import (
	"cmp"
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
	return requestToken(ctx, d.c, endpoint.StorageDownloadsToken(in, node, readQuery(version, api.Secret{})), "token", opts)
}

// requestToken sends a request and returns the token in a member of its response.
func requestToken(
	ctx context.Context, c api.Client, r *api.Request, member string, opts []api.CallOption,
) (api.Secret, error) {
	t, err := call.One[api.Secret](ctx, c, r, member, opts)
	if err != nil {
		return api.Secret{}, err
	}
	if t.IsZero() {
		t = nil // an empty token is as good as none
	}
	t, err = call.Found(r.Op, member, t)
	if err != nil {
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

// orAll returns the options, or for nil those of a download of the whole file.
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
// Errors: [api.ErrNotFound] if the node is not in that workspace or share;
// [api.ErrForbidden] without access to it, if the share does not allow downloads, if the
// file is locked, infected or taken down, and if the token has expired.
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

// readQuery returns the query parameters of a download; "" and the zero token
// are left out.
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

// unlinked returns the options of a call without the token of a link, for a request that is
// authorized by a token of its own.
func unlinked(opts []api.CallOption) []api.CallOption {
	o := api.Resolve(opts)
	o.Token = api.Secret{}
	return []api.CallOption{api.WithOptions(o)}
}

// Zip returns a folder of a workspace or share as a zip archive, with its
// subfolders; [api.Root] is the top folder. It requires a token of the client,
// also in a public share. The size is unknown, and a broken connection is not
// resumed. Each call is billed and creates an event. The caller must close the
// result.
//
// Errors: [api.ErrNotFound] if the folder is not in that workspace or share;
// [api.ErrForbidden] without access to it, or if the share does not allow downloads;
// [io.ErrUnexpectedEOF] from Read if the archive is not complete.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/zip/.
// It calls GET /current/share/{share_id}/storage/{node_id}/zip/.
func (d *Downloads) Zip(
	ctx context.Context, in api.Profile, node api.OpaqueID, opts ...api.CallOption,
) (*api.Download, error) {
	return download.Open(ctx, d.c, endpoint.StorageDownloadsZip(in, node), download.Options{}, opts)
}

// Received is a file that was downloaded.
type Received struct {
	Path    string       // of the local file; "" if written to an io.Writer
	Name    string       // on the server; not safe as the name of a local file
	Version api.OpaqueID // "" if unknown
	Bytes   int64        // bytes written; of a file, its size
}

// DownloadTo writes one version of a file or note, or a part of it, to w, and
// resumes broken connections. It looks up the node, creates a token for the
// version, and reads that with the token alone. A token that expires meanwhile
// is replaced. After an error w holds the first Received.Bytes bytes.
//
// Errors: those of [Downloads.Read]; [api.ErrChanged] if the server sends
// another version after a broken connection, or if the last 64 bytes before the
// break differ when they are read again; [api.ErrCorrupt] if a whole current
// version has another size than the node or, with o.Hash, another hash.
func (s *Service) DownloadTo(
	ctx context.Context, in api.Profile, node api.OpaqueID, w io.Writer, o *DownloadOptions, opts ...api.CallOption,
) (Received, error) {
	const op = "storage.DownloadTo"
	if w == nil {
		return Received{}, &api.InputError{Op: op, Field: "w", Rule: "must not be nil"}
	}
	options := orAll(o)
	n, err := s.node(ctx, in, node, opts)
	if err != nil {
		return Received{}, err
	}
	src := s.source(op, in, n, options, opts)
	if !options.Hash {
		src.Hash = ""
	}
	d, err := src.Open(ctx, 0)
	if err != nil {
		return Received{}, err
	}
	download.Check(op, d, src.Size, src.HashAlgo, src.Hash)
	size, err := download.Copy(ctx, w, d, options.OnProgress)
	return Received{Name: n.Name, Version: options.version(n), Bytes: size}, err
}

// DownloadFile downloads a file or note to a path, as [Service.DownloadTo] does, and
// always checks the hash. The write is atomic: until the file is complete it is a partial
// file with mode 0600 in the same directory, called ".", the name of the file, ".", 12
// letters and ".fastio-partial".
//
// If path is a file it is replaced. If it is a directory, or ends in a
// separator, the name comes from the server, reduced to a safe one, and an
// existing file is not replaced.
//
// A download that was interrupted, also by the end of the process, is continued by the
// next call for the same path, if node, version, size and hash are the same; progress then
// begins with the bytes that are there. If the result is not intact, the download starts
// over once. The partial file is removed after an error with which the next call would
// fail as well, and partial files of other versions are removed by any call for the path.
//
// Errors: those of [Service.DownloadTo]; [api.ErrInUse] if another call, also of another
// process, writes the same file; [io/fs.ErrExist] if the file exists in the directory.
func (s *Service) DownloadFile(
	ctx context.Context, in api.Profile, node api.OpaqueID, path string, o *DownloadOptions, opts ...api.CallOption,
) (Received, error) {
	const op = "storage.DownloadFile"
	if err := download.CheckPath(op, path); err != nil {
		return Received{}, err
	}
	options := orAll(o)
	n, err := s.node(ctx, in, node, opts)
	if err != nil {
		return Received{}, err
	}
	src := s.source(op, in, n, options, opts)
	src.Report = options.OnProgress
	path, size, err := src.Save(ctx, path)
	if err != nil {
		return Received{}, err
	}
	return Received{Path: path, Name: n.Name, Version: options.version(n), Bytes: size}, nil
}

// node returns a node, whose ID is the argument instead of that of the response: the same ID
// may be spelled in two ways, and the following requests have the spelling of the caller.
func (s *Service) node(
	ctx context.Context, in api.Profile, node api.OpaqueID, opts []api.CallOption,
) (*Node, error) {
	n, err := s.Get(ctx, in, node, opts...)
	if err != nil {
		return nil, err
	}
	n.ID = node
	return n, nil
}

// version returns the version of a node to be downloaded, "" if it is unknown.
func (o *DownloadOptions) version(n *Node) api.OpaqueID { return cmp.Or(o.Version, n.Version) }

// source returns the source for a download of one version of a node. For the whole current
// version it has the size and hash of the node, so that the content can be checked. The ID of
// the source marks partial files. It is "" if the version is not known: a partial file is not
// continued then.
func (s *Service) source(
	op string, in api.Profile, n *Node, o DownloadOptions, opts []api.CallOption,
) *download.Source {
	version := o.version(n)
	src := &download.Source{Op: op, Name: n.Name, Open: func(ctx context.Context, offset int64) (*api.Download, error) {
		part := o
		part.Range.Offset += offset // the offset is 0 for a range, as only a whole version is continued
		return s.open(ctx, in, n.ID, version, part, opts)
	}}
	if o.Range == (api.Range{}) && version.Equal(n.Version) {
		src.Size, src.HashAlgo, src.Hash = n.Size, n.HashAlgo, n.Hash
	}
	if version != "" {
		src.ID = n.ID.Plain() + " " + version.Plain()
	}
	return src
}

// open opens one version of a node, or a part of it, with the token of o. Without that,
// it creates a token, and replaces the token when it expires. The download itself is
// authorized by that token alone, and not by the token of a link in opts.
func (s *Service) open(
	ctx context.Context, in api.Profile, node, version api.OpaqueID, o DownloadOptions, opts []api.CallOption,
) (*api.Download, error) {
	requestWithNewToken := func(ctx context.Context) (*api.Request, error) {
		t, err := s.Downloads.Token(ctx, in, node, version, opts...)
		return readRequest(in, node, version, t), err
	}
	options := download.Options{Range: o.Range, Fixed: version != ""}
	r := readRequest(in, node, version, o.Token)
	if o.Token.IsZero() {
		var err error
		r, err = requestWithNewToken(ctx)
		if err != nil {
			return nil, err
		}
		options.Renew = requestWithNewToken
	}
	return download.Open(ctx, s.c, r, options, unlinked(opts))
}
