package storage

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of reads, all of them invented.
const (
	codeReadToken   = 199605
	codeTwoTokens   = 199606
	codeNotAnImage  = 199607
	codeNotAFolder  = 199608
	codeNoDownloads = 199609
)

// Scopes of the tokens of reads, and how long they last.
const (
	downloadScope  = "storage-download"
	previewScope   = "storage-preview"
	transformScope = "storage-transform"
	readTokenLife  = 2 * time.Hour
)

// readRoutes returns the routes of downloads, previews, transforms and texts. Those
// of shares admit callers without a credential.
func (h *contents) readRoutes() []*wire.Route {
	type handler = func(*wire.Call) (wire.Object, error)
	// both returns the routes for nodes of workspaces, and of shares also without a credential.
	both := func(op, rest string, handle handler, options ...wire.RouteOption) []*wire.Route {
		return withVisitors(onNodes(wire.Get, op, rest, handle, options...))
	}
	// onFile passes the file in the path to the handler, if the caller may read it.
	onFile := func(handle func(*wire.Call, world.Store, *world.Node) (wire.Object, error)) handler {
		return wire.WithTwo(h.fileToRead, handle)
	}
	const picture = "token output-format width height size rotate cropwidth cropheight cropx cropy"
	all := both("storage.Downloads.Read", "read/", h.serveVersion, wire.OptionalCredential, wire.Query("version_id token"))
	for _, more := range [][]*wire.Route{
		both("storage.Downloads.Token", "requestread/", onFile(h.newReadToken), wire.ChangesState, wire.Query("version_id")),
		both("storage.Downloads.Zip", "zip/", h.serveArchive, wire.ChangesState),
		both("storage.Texts.Get", "content/", onFile(h.readText),
			wire.Query("q page chunk_from chunk_to cursor limit max_bytes")),
		both("storage.Previews.Authorize", "preview/{type}/preauthorize/", onFile(h.newPreviewToken), wire.ChangesState),
		both("storage.Previews.Read", "preview/{type}/read/{download_token}/file/{filename}", h.readPreview,
			wire.NoCredential),
		both("storage.Transforms.Token", "transform/image/requestread/", onFile(h.newTransformToken), wire.ChangesState),
		both("storage.Transforms.Read", "transform/image/read/", h.readTransform, wire.NoCredential, wire.Query(picture)),
	} {
		all = append(all, more...)
	}
	return append(all, wire.Get("storage.Texts.Search", "/current/workspace/{workspace_id}/storage/content/",
		wire.With(h.tree.StorageOfPath, h.searchTexts), wire.Query("nodes q")))
}

// onNodes returns the two routes of an operation on the nodes of workspaces and of shares,
// whose paths end with rest.
func onNodes(
	route func(op, pattern string, handle func(*wire.Call) (wire.Object, error), options ...wire.RouteOption) *wire.Route,
	op, rest string, handle func(*wire.Call) (wire.Object, error), options ...wire.RouteOption,
) []*wire.Route {
	const node = "/storage/{node_id}/"
	return []*wire.Route{
		route(op, "/current/workspace/{workspace_id}"+node+rest, handle, options...),
		route(op, "/current/share/{share_id}"+node+rest, handle, options...),
	}
}

// withVisitors makes the credential optional in the routes of shares.
func withVisitors(routes []*wire.Route) []*wire.Route {
	wire.OptionalCredential(routes[1])
	return routes
}

// fileToRead returns the file or note in the path, with its storage. It refuses a caller
// who may not download it.
func (h *contents) fileToRead(c *wire.Call) (world.Store, *world.Node, error) {
	store, n, err := h.tree.NodeOfPath(c)
	if err == nil {
		err = h.checkReadable(store, n)
	}
	return store, n, err
}

// checkReadable returns why the caller, who has opened the storage, may not have the content
// of a node or previews of it, nil if the caller may.
func (h *contents) checkReadable(store world.Store, n *world.Node) error {
	if !n.HasContent() {
		return wire.Refuse(http.StatusNotAcceptable, CodeNoContent, "A "+n.Kind+" has no content.")
	}
	return cmp.Or(h.refuseGuest(store), n.RefuseServe())
}

// refuseGuest returns a refusal if the caller is a guest of a share from which guests may not
// download.
func (h *contents) refuseGuest(store world.Store) error {
	share := h.w.Share(store.Profile)
	if share != nil && share.Value.Security() == world.SecurityHigh && !store.Insider(h.w) {
		return wire.Refuse(http.StatusForbidden, codeNoDownloads, "The share does not allow downloads.")
	}
	return nil
}

// readToken returns a token that reads one node.
func (h *contents) readToken(c *wire.Call, store world.Store, n *world.Node, scope string) string {
	claims := world.Claims{Scope: scope, User: c.UserID(), Profile: store.Profile, Node: n.ID, Perm: c.Segment("type")}
	return h.w.SignClaims(claims, readTokenLife)
}

// nodeOfToken returns the node of a token of a scope, if the path names the same
// profile, node and kind of preview. The call must have no other credential.
func (h *contents) nodeOfToken(c *wire.Call, token, scope string) (*world.Node, error) {
	if c.Request.Header.Get("Authorization") != "" || c.Request.Header.Get("X-Ve-Password") != "" {
		return nil, wire.Refuse(http.StatusBadRequest, codeTwoTokens, "No credential but the token belongs here.")
	}
	t := h.w.OpenToken(token)
	profileID := h.w.ShareNamed(c.Segment("share_id"))
	if id := c.Segment("workspace_id"); id != "" {
		profileID = h.w.WorkspaceNamed(id, t.User)
	}
	n := h.w.Node(t.Profile, t.Node)
	// A token for a preview has the kind of the preview as its permission; other tokens have none.
	isForPath := t.Profile == profileID && t.Node == wire.Plain(c.Segment("node_id")) && t.Perm == c.Segment("type")
	if !t.Genuine || t.Scope != scope || !isForPath || n == nil {
		return nil, wire.Refuse(http.StatusUnauthorized, codeReadToken, "The token is forged, of another file, or has ended.")
	}
	return n, n.RefuseServe()
}

// newReadToken returns a token for the download of a node, also of an older version, and
// writes its event. The version is only checked here: the call with the token names it again.
func (h *contents) newReadToken(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	if _, err := versionOfQuery(c, n); err != nil {
		return nil, err
	}
	e := world.Event{Name: eventName(store, h.tree, "download_token_created"), CallingUser: c.UserID()}
	if c.Key != nil {
		e.Actor = h.w.ActorOf(c.Key)
	}
	h.w.NodeEvent(n, e)
	return wire.Object{{"token", h.readToken(c, store, n, downloadScope)}}, nil
}

// serveVersion serves a version of a file to the holder of a token, to a visitor of a
// share, or by the credential of the call.
func (h *contents) serveVersion(c *wire.Call) (wire.Object, error) {
	var n *world.Node
	var err error
	switch {
	case c.Value("token") != "":
		n, err = h.nodeOfToken(c, c.Value("token"), downloadScope)
	case c.Key == nil && c.Segment("workspace_id") != "":
		err = wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "The file asks for a credential or a token.")
	default:
		_, n, err = h.fileToRead(c)
	}
	if err != nil {
		return nil, err
	}
	v, err := versionOfQuery(c, n)
	if err != nil {
		return nil, err
	}
	if h.w.Options.Storage.NoRanges { // the whole file is sent instead of a part
		c.Request = c.Request.Clone(c.Request.Context())
		c.Request.Header.Del("Range")
	}
	return world.ServeVersion(c, n, v)
}

// serveArchive serves a folder as a zip file. The response is a stream, without a length,
// because the platform makes the archive while it sends it.
func (h *contents) serveArchive(c *wire.Call) (wire.Object, error) {
	if c.Key == nil {
		return nil, wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "An archive asks for a credential.")
	}
	store, err := h.tree.StorageOfPath(c)
	if err == nil {
		err = h.refuseGuest(store)
	}
	if err != nil {
		return nil, err
	}
	folder, name := store.Folder, "archive"
	if id := c.Segment("node_id"); id != world.RootFolder {
		var n *world.Node
		_, n, err = h.tree.NodeOfPath(c)
		if err != nil {
			return nil, err
		}
		if n.Kind != world.KindFolder {
			return nil, wire.Refuse(http.StatusNotAcceptable, codeNotAFolder, "Only folders become archives.")
		}
		folder, name = n.ID, n.Name
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	const archiveRoot = ""
	if err := h.addToArchive(w, store, folder, archiveRoot); err != nil {
		return nil, err
	}
	_ = w.Close() // it cannot fail to write to a buffer
	h.w.EventIn(store.Owner, world.Event{
		Name: eventName(store, h.tree,
			"zip_downloaded"), CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key), ObjectName: name,
	})
	return c.Send(&wire.Reply{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/zip"}},
		Stream: func(_ context.Context, write func(string) bool) { write(archive.String()) },
	})
}

// addToArchive adds the files and notes in a folder, and in the folders in it, to an
// archive. In the archive, their paths begin with parent. Files that may not be served are
// left out.
func (h *contents) addToArchive(w *zip.Writer, store world.Store, folder, parent string) error {
	for _, n := range h.tree.ChildrenOf(store.Owner, folder) {
		name := path.Join(parent, strings.ReplaceAll(n.Name, "/", "_"))
		if n.Kind == world.KindFolder {
			if err := h.addToArchive(w, store, n.ID, name); err != nil {
				return err
			}
			continue
		}
		if !n.HasContent() || n.RefuseServe() != nil {
			continue
		}
		entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Modified: n.Updated.UTC(), Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := io.Copy(entry, n.Current().Open()); err != nil {
			return err
		}
	}
	return nil
}
