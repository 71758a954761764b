// Package quickshares emulates the deprecated links to single files.
package quickshares

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/fileshares"
	"github.com/fastio-go/fastio/internal/emulator/storage"
	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	fileshares *fileshares.Handlers
	storage    *storage.Handlers

	quickShares quickShares
}

// New returns the handlers of QuickShares, of which there are none yet.
func New(w *world.World, fileshares *fileshares.Handlers, storage *storage.Handlers) *Handlers {
	return &Handlers{
		w: w, fileshares: fileshares, storage: storage,
		quickShares: quickShares{byID: map[string]*world.QuickShare{}},
	}
}

// Codes of QuickShares, all of them invented.
const (
	codeNoQuickShare = 199851
	codeBandwidth    = 199852
	codePreviewLimit = 199853
	codeCorrupt      = 199854
)

const opQuickPreviewHop = "shares.QuickShares.PreviewFile" // is reached by redirects alone

// statusBandwidth is a status of the platform.
const statusBandwidth = 450

// Transfer limits of a QuickShare.
const (
	downloadBytesMost = 10 << 30
	downloadSizesMost = 100 // times the size of the file
	previewSizesMost  = 20  // times the size of the file
)

type quickShares struct {
	byID map[string]*world.QuickShare
	list []string
}

// AddQuickShare adds a QuickShare, or replaces the one with the same id. A missing id
// and creation time are made, a missing workspace and creator are those of its node.
func (h *Handlers) AddQuickShare(q world.QuickShare) world.QuickShare {
	h.w.Lock()
	defer h.w.Unlock()
	q.ID = wire.Plain(q.ID)
	if q.ID == "" {
		q.ID = world.Opaque('k', h.w.Options.Seed, h.w.NextSerial()) // the letter is assumed
	}
	q.Node = wire.Plain(q.Node)
	if n := h.w.AnyNode(q.Node); n != nil {
		q.Workspace = cmp.Or(q.Workspace, n.Profile)
		q.Creator = cmp.Or(q.Creator, n.Creator)
	}
	q.Created = cmp.Or(q.Created, h.w.Now())
	if h.quickShares.byID[q.ID] == nil {
		h.quickShares.list = append(h.quickShares.list, q.ID)
	}
	h.quickShares.byID[q.ID] = new(q)
	return q
}

// Routes returns the routes of QuickShares. The paths below storage/ are assumed. A download and a
// preview change the state, because their bytes are counted.
func (h *Handlers) Routes() []*wire.Route {
	const open = "/current/quickshare/{quickshare_id}/"
	const node = "/current/workspace/{workspace_id}/storage/{node_id}/quickshare/"
	return []*wire.Route{
		wire.Get("shares.QuickShares.Get", open+"details/", wire.WithTwo(h.quickShareOfPath, h.quickShareDetails),
			wire.NoCredential),
		wire.Get("shares.QuickShares.Download", open+"storage/read/",
			wire.WithTwo(h.quickShareToRead, h.downloadQuickShare), wire.NoCredential, wire.ChangesState),
		wire.Get("shares.QuickShares.ReadNote", open+"storage/readnote/",
			wire.WithTwo(h.quickShareToRead, h.readQuickNote), wire.NoCredential),
		wire.Get("shares.QuickShares.Preview", open+"storage/preview/{type}/read/", h.previewQuickShare, wire.NoCredential,
			wire.ChangesState),
		wire.Get(opQuickPreviewHop, open+"storage/preview/{type}/file/", h.previewQuickFile, wire.NoCredential,
			wire.ChangesState,
			wire.Query("download_token")),
		wire.Get("shares.QuickShares.GetByNode", node, wire.With(h.quickShareToManage, h.quickShareOfNode)),
		wire.Delete("shares.QuickShares.Delete", node, wire.With(h.quickShareToManage, h.revokeQuickShare)),
		wire.Get("shares.QuickShares.List", "/current/workspace/{workspace_id}/quickshares/",
			wire.With(h.storage.StorageOfPath, h.listQuickShares),
			wire.ListParams("workspace_id")),
		wire.Post("shares.QuickShares.Create", node, h.createQuickShare),
	}
}

func (h *Handlers) createQuickShare(*wire.Call) (wire.Object, error) {
	return nil, wire.Refuse(http.StatusForbidden, codeNoQuickShares, "Quickshare Deprecated: make a File Share.")
}

// quickFile returns the file or note of a QuickShare, nil if the QuickShare is nil or has
// expired, or the file is deleted.
func (h *Handlers) quickFile(q *world.QuickShare) *world.Node {
	if q == nil || !q.Expires.IsZero() && wire.Past(q.Expires, h.w.Now()) {
		return nil
	}
	return h.w.Node(q.Workspace, q.Node)
}

// quickShareOfPath returns the QuickShare in the path of a call, and its file.
func (h *Handlers) quickShareOfPath(c *wire.Call) (*world.QuickShare, *world.Node, error) {
	id := c.OpaqueSegment("quickshare_id")
	if err := c.Check.Err(); err != nil {
		return nil, nil, err
	}
	q := h.quickShares.byID[id]
	n := h.quickFile(q)
	if n == nil {
		return nil, nil, wire.NoSuch(codeNoQuickShare, "QuickShare")
	}
	return q, n, nil
}

// refuseCorrupt returns the refusal of a file whose content is corrupt, nil for others.
// A file is corrupt if its name contains the option CorruptSource.
func (h *Handlers) refuseCorrupt(n *world.Node) error {
	if h.w.Options.Shares.CorruptSource == "" || !strings.Contains(n.Name, h.w.Options.Shares.CorruptSource) {
		return nil
	}
	return wire.Refuse(http.StatusUnprocessableEntity, codeCorrupt, "The source is corrupt.")
}

// quickShareToRead returns the QuickShare in the path and its file. It refuses a file that
// is corrupt or blocked.
func (h *Handlers) quickShareToRead(c *wire.Call) (*world.QuickShare, *world.Node, error) {
	q, n, err := h.quickShareOfPath(c)
	if err == nil {
		err = cmp.Or(h.refuseCorrupt(n), n.RefuseServe())
	}
	return q, n, err
}

func (h *Handlers) quickShareDetails(c *wire.Call, q *world.QuickShare, _ *world.Node) (wire.Object, error) {
	return wire.Object{{"quickshare", h.quickShareObject(q.ID, "", c.Out.Level)}}, nil
}

// quickShareObject renders a QuickShare with its node, of which it shows the fields of the
// level standard at most.
func (h *Handlers) quickShareObject(id, _ string, lv wire.Level) wire.Object {
	q := h.quickShares.byID[id]
	var node any
	if n := h.w.Node(q.Workspace, q.Node); n != nil {
		level := max(lv, wire.Standard) // the less detailed of both
		node = h.storage.NodeObject(world.Store{Profile: q.Workspace, Owner: q.Workspace}, n, level)
	}
	return wire.Object{
		{"id", wire.Hyphenated(q.ID)},
		{"node", node},
		{"creator_uid", wire.ProfileOrNull(q.Creator)},
		{"limit_exceeded", q.LimitExceeded},
		{"expires", wire.StampOrNull(q.Expires)},
		{"created", wire.Stamp(q.Created.Unix())},
	}
}

// downloadQuickShare serves the file of a QuickShare, and counts its bytes. When a
// QuickShare has transferred 100 times the size of the file, or 10 GiB, it is refused from
// then on. A response without the content, such as a redirect, is not counted.
func (h *Handlers) downloadQuickShare(c *wire.Call, q *world.QuickShare, n *world.Node) (wire.Object, error) {
	switch {
	case !n.HasContent():
		return nil, wire.Refuse(http.StatusNotAcceptable, storage.CodeNoContent, "A "+n.Kind+" has no content.")
	case q.LimitExceeded:
		return nil, wire.Refuse(statusBandwidth, codeBandwidth, "Bandwidth Limit: the link was used too much.")
	}
	payload, err := world.ServeVersion(c, n, n.Current())
	if err != nil || c.Reply.Status >= http.StatusMultipleChoices {
		return payload, err
	}
	_, length := c.Reply.Open()
	q.Transferred += length
	limit := min(downloadBytesMost, downloadSizesMost*n.Size) // 0 for an empty file, which is never refused
	q.LimitExceeded = q.Transferred > 0 && q.Transferred >= limit
	h.w.NodeEvent(n, world.Event{Name: "workspace_quickshare_file_downloaded"})
	return payload, nil
}

// readQuickNote returns the text of a note, and the note as a node, of which it shows the
// fields of the level standard at most: less detailed levels are greater numbers.
func (h *Handlers) readQuickNote(c *wire.Call, q *world.QuickShare, n *world.Node) (wire.Object, error) {
	if n.Kind != world.KindNote {
		return nil, wire.Refuse(http.StatusNotAcceptable, storage.CodeNotNote, "Node is not a note")
	}
	note := h.storage.NodeObject(world.Store{Profile: q.Workspace, Owner: q.Workspace}, n, max(c.Out.Level, wire.Standard))
	return wire.Object{{"content", storage.Sanitized(n.Content)}, {"note", note}}, nil
}

// previewQuickShare serves a preview of the file of a QuickShare, up to the limit for
// previews.
func (h *Handlers) previewQuickShare(c *wire.Call) (wire.Object, error) {
	return h.countPreview(c, func(q *world.QuickShare, n *world.Node) (wire.Object, error) {
		kind, pathStart := c.Segment("type"), "quickshare/"+q.ID
		return h.fileshares.Preview(c, n, kind, pathStart, q.ID)
	})
}

func (h *Handlers) previewQuickFile(c *wire.Call) (wire.Object, error) {
	return h.countPreview(c,
		func(q *world.QuickShare, _ *world.Node) (wire.Object, error) { return h.fileshares.FirstFile(c, q.ID) })
}

// countPreview calls show for the QuickShare in the path of a call, and counts the
// bytes of the preview. When the previews had 20 times the size of the file, the
// QuickShare shows no more of them. A redirect is not counted.
func (h *Handlers) countPreview(
	c *wire.Call, show func(*world.QuickShare, *world.Node) (wire.Object, error),
) (wire.Object, error) {
	q, n, err := h.quickShareToRead(c)
	switch {
	case err != nil:
		return nil, err
	case q.Previewed > 0 && q.Previewed >= previewSizesMost*n.Size: // the first one is always shown
		return nil, wire.Refuse(http.StatusUnauthorized, codePreviewLimit, "The previews of the link are used up.")
	}
	payload, err := show(q, n)
	if err == nil && c.Reply != nil && c.Reply.Status < http.StatusMultipleChoices {
		_, length := c.Reply.Open()
		q.Previewed += length
		h.w.NodeEvent(n, world.Event{Name: "workspace_quickshare_file_previewed"})
	}
	return payload, err
}

// quickShareToManage returns the QuickShare of the node in the path of a call. Only
// members of the workspace may have it.
func (h *Handlers) quickShareToManage(c *wire.Call) (*world.QuickShare, error) {
	store, n, err := h.storage.NodeOfPath(c)
	switch {
	case err != nil:
		return nil, err
	case !store.Insider(h.w):
		return nil, wire.Denied("QuickShares are for members of the workspace.")
	}
	for _, id := range h.quickShares.list {
		if q := h.quickShares.byID[id]; q.Node == n.ID {
			return q, nil
		}
	}
	return nil, wire.NoSuch(codeNoQuickShare, "QuickShare")
}

func (h *Handlers) quickShareOfNode(c *wire.Call, q *world.QuickShare) (wire.Object, error) {
	return wire.Object{{"quickshare", h.quickShareObject(q.ID, c.Key.User, c.Out.Level)}}, nil
}

// revokeQuickShare deletes a QuickShare, but not its file.
func (h *Handlers) revokeQuickShare(c *wire.Call, q *world.QuickShare) (wire.Object, error) {
	if h.w.AccessMode(c.Key, q.Workspace) < wire.Write {
		return nil, c.Key.ReadOnlyRefusal()
	}
	delete(h.quickShares.byID, q.ID)
	h.quickShares.list = slices.DeleteFunc(h.quickShares.list, func(id string) bool { return id == q.ID })
	if n := h.w.AnyNode(q.Node); n != nil { // nil after the trash with the file was purged
		h.w.NodeEvent(n, world.Event{
			Name: "workspace_quickshare_deleted", CallingUser: c.Key.User, Actor: h.w.ActorOf(c.Key),
		})
	}
	return nil, nil
}

// listQuickShares returns a page of the QuickShares of a workspace, to its members.
func (h *Handlers) listQuickShares(c *wire.Call, store world.Store) (wire.Object, error) {
	if !store.Insider(h.w) {
		return nil, wire.Denied("QuickShares are for members of the workspace.")
	}
	ids := wire.Filter(h.quickShares.list,
		func(id string) bool { return h.quickShares.byID[id].Workspace == store.Profile })
	return h.w.List(c, "quickshares", ids, h.quickShareObject)
}

const codeNoQuickShares = 10756

// Export adds the QuickShares to a seed file. The caller holds the lock.
func (h *Handlers) Export(f *world.SeedFile) {
	for _, id := range h.quickShares.list {
		f.QuickShares = append(f.QuickShares, *h.quickShares.byID[id])
	}
}
