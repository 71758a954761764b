// Package storage emulates nodes and notes.
package storage

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	NodeFacts func(*world.Node, wire.Level) wire.Object // the metadata of a node

	// Uploaded finds the content of an upload of the caller.
	Uploaded func(c *wire.Call, id string) (world.Version, error)

	locks   map[string]*lock    // by node
	details map[string]*details // by node

	contents  contents
	notes     notes
	versions  versions
	lockCalls lockCalls
}

// These handle the calls for contents, notes, versions and locks.
type (
	contents struct {
		w    *world.World
		tree *Handlers
	}
	notes struct {
		w    *world.World
		tree *Handlers
	}
	versions struct {
		w    *world.World
		tree *Handlers
	}
	lockCalls struct {
		w    *world.World
		tree *Handlers
	}
)

// New returns the handlers of storage, which share their state.
func New(w *world.World) *Handlers {
	h := &Handlers{w: w, locks: map[string]*lock{}, details: map[string]*details{}}
	h.contents, h.notes, h.versions, h.lockCalls = contents{w, h}, notes{w, h}, versions{w, h}, lockCalls{w, h}
	return h
}

// Codes of storage. Those from 199001 to 199999 are invented.
const (
	codeBulkMost  = 115519
	codeBadNode   = 191878
	CodeNoNode    = 133123
	CodeNotNote   = 153548
	CodeOrphaned  = 179101
	codeStale     = 199601
	CodeNoContent = 199602
)

// Routes returns the routes of storage.
func (h *Handlers) Routes() []*wire.Route {
	const workspace, share = "/current/workspace/{workspace_id}/storage/", "/current/share/{share_id}/storage/"
	return slices.Concat([]*wire.Route{
		wire.Get("storage.List", workspace+"{parent_id}/list/", h.listFolder, wire.Query(keysetQuery)),
		wire.Get("storage.List", share+"{parent_id}/list/", h.listFolder, wire.OptionalCredential, wire.Query(keysetQuery)),
		wire.Get("storage.Get", workspace+"{node_id}/details/", h.nodeDetails),
		wire.Get("storage.Get", share+"{node_id}/details/", h.nodeDetails, wire.OptionalCredential),
		wire.Get("storage.Recent", workspace+"recent/", h.recentNodes, wire.Query("type page_size cursor")),
		wire.Get("storage.Recent", share+"recent/", h.recentNodes, wire.OptionalCredential,
			wire.Query("type page_size cursor")),
	}, h.notes.noteRoutes(), h.contents.readRoutes(), h.versions.versionRoutes(), h.lockCalls.lockRoutes(), h.treeRoutes())
}

// listFolder returns a page of the nodes in a folder, the root or the trash, which is for
// insiders. The root of a share can also be named by the id of the folder that it shows.
func (h *Handlers) listFolder(c *wire.Call) (wire.Object, error) {
	q := readKeyset(c)
	parent := c.Segment("parent_id")
	c.Check.MistypedIf(parent != world.RootFolder && parent != world.TrashFolder && !wire.IsOpaque(wire.Plain(parent)),
		"parent_id", "opaque_id, root or trash")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	store, err := h.StorageOfPath(c)
	if err != nil {
		return nil, err
	}
	if share := h.w.Share(store.Profile); share != nil && wire.Plain(parent) == h.w.RootOf(&share.Value) {
		parent = world.RootFolder
	}
	var found []*world.Node
	switch parent {
	case world.TrashFolder:
		if !store.Insider(h.w) {
			return nil, wire.Denied("the trash is for members.")
		}
		found = h.trashOf(store)
	case world.RootFolder:
		found = h.ChildrenOf(store.Owner, store.Folder)
	default:
		folder := h.w.Node(store.Profile, wire.Plain(parent))
		if folder == nil {
			return nil, wire.NoSuch(CodeNoNode, world.KindFolder)
		}
		if folder.Kind != world.KindFolder {
			c.Check.Invalid("parent_id", "The id of a folder, root or trash.")
			return nil, c.Check.Err()
		}
		found = h.ChildrenOf(store.Owner, folder.ID)
	}
	about := "list " + store.Profile + " " + wire.Plain(parent) // cursors of other lists are refused
	return h.nodePage(c, store, q, found, about)
}

// ChildrenOf lists the direct children of a folder.
func (h *Handlers) ChildrenOf(profileID, folder string) []*world.Node {
	return slices.DeleteFunc(h.w.NodesOf(profileID), func(n *world.Node) bool { return n.Parent != folder })
}

// trashOf returns the deleted nodes of a storage, without those inside a deleted folder,
// which are not marked as deleted (Trashed) themselves.
func (h *Handlers) trashOf(store world.Store) []*world.Node {
	var found []*world.Node
	for _, id := range h.w.NodeIDs() {
		isInStorage := h.w.NodeOrTrash(store.Profile, id) != nil
		if n := h.w.AnyNode(id); n.Trashed && isInStorage {
			found = append(found, n)
		}
	}
	return found
}

// recentNodes returns a page of the nodes of one kind or all, the last updated first.
func (h *Handlers) recentNodes(c *wire.Call) (wire.Object, error) {
	q := keyset{by: "updated", descending: true, size: nodePageSize(c), cursor: c.Value("cursor")}
	kind := c.Value("type")
	c.Check.InvalidIf(kind != "" &&
		!slices.Contains([]string{world.KindFile, world.KindFolder, world.KindNote, world.KindLink}, kind),
		"type", "file, folder, link or note.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	store, err := h.StorageOfPath(c)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(h.w.NodesOf(store.Profile),
		func(n *world.Node) bool { return kind != "" && n.Kind != kind })
	return h.nodePage(c, store, q, found, "recent "+store.Profile+" "+kind)
}

// keyset is the order and the part of a list of nodes that a call requests.
type keyset struct {
	by         string
	descending bool
	size       int
	cursor     string
}

const keysetQuery = "sort_by sort_dir page_size cursor"

// readKeyset reads the order, size and cursor of a page of nodes. The default order is by name,
// ascending. A cursor is the position of the last node of a page, not an offset (keyset).
func readKeyset(c *wire.Call) keyset {
	q := keyset{by: cmp.Or(c.Value("sort_by"), "name"), size: nodePageSize(c), cursor: c.Value("cursor")}
	c.Check.InvalidIf(!slices.Contains([]string{"name", "updated", "created", "type"}, q.by),
		"sort_by", "name, updated, created or type.")
	switch c.Value("sort_dir") {
	case "", "asc":
	case "desc":
		q.descending = true
	default:
		c.Check.Invalid("sort_dir", "asc or desc.")
	}
	return q
}

// nodePageSize returns the parameter page_size, which must be 100, 250 or 500.
func nodePageSize(c *wire.Call) int {
	switch size := c.Integer("page_size", 100, 0, 500); size {
	case 100, 250, 500:
		return size
	default:
		c.Check.Invalid("page_size", "100, 250 or 500.")
		return 100
	}
}

// sortKey returns the text by which a node is sorted. Nodes with the same text are sorted
// by id.
func (q *keyset) sortKey(n *world.Node) string {
	moment := func(t time.Time) string { return fmt.Sprintf("%020d", t.UnixMicro()) } // sorts as numbers do
	switch q.by {
	case "updated":
		return moment(n.Updated)
	case "created":
		return moment(n.Created)
	case "type":
		return n.Kind + " " + strings.ToLower(n.Name)
	}
	return strings.ToLower(n.Name)
}

// position returns the position of a node in the order. A cursor holds that of the last
// node of a page.
func (q *keyset) position(n *world.Node) keysetPlace { return keysetPlace{q.sortKey(n), n.ID} }

// keysetPlace is a position in the order of a list.
type keysetPlace struct{ key, id string }

// compare compares two positions in a list: by key, then by id, in the order of the query.
// It is negative if a comes first.
func (q *keyset) compare(a, b keysetPlace) int {
	order := cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.id, b.id))
	if q.descending {
		return -order
	}
	return order
}

// nodePage returns the page of found nodes that a call requests. The cursor of the next
// page is the position of the last node, and is valid only for this list: about says
// which list it is.
func (h *Handlers) nodePage(
	c *wire.Call, store world.Store, q keyset, found []*world.Node, about string,
) (wire.Object, error) {
	// h.w.Cursors is raised to make all cursors invalid.
	binding := fmt.Sprint("keyset ", h.w.Cursors, " ", store.User, " ", q.by, " ", q.descending, " ", q.size, " ", about)
	slices.SortFunc(found, func(a, b *world.Node) int { return q.compare(q.position(a), q.position(b)) })
	if q.cursor != "" {
		after, valid := h.openKeyset(q.cursor, binding)
		if !valid {
			c.Check.Add("cursor", "invalid", "Not a cursor of this list.", codeStale)
			return nil, c.Check.Err()
		}
		found = slices.DeleteFunc(found, func(n *world.Node) bool { return q.compare(q.position(n), after) <= 0 })
	}
	page := found[:min(q.size, len(found))]
	more := len(page) < len(found)
	var next any
	rows := wire.Rows(page, func(n *world.Node) wire.Object { return h.NodeObject(store, n, c.Out.Level) })
	if more {
		last := q.position(page[len(page)-1])
		// The length says where the id ends and the key of the order begins.
		next = h.w.Seal([]byte(strconv.Itoa(len(last.id))+" "+last.id+last.key), binding)
	}
	return wire.Object{
		{"nodes", wire.Object{{"count", len(rows)}, {"items", rows}}},
		{"pagination", wire.Object{{"has_more", more}, {"next_cursor", next}, {"page_size", q.size}}},
	}, nil
}

// openKeyset returns the position that a cursor of nodePage holds: the length of an id, a
// blank, the id and the key. It returns false for a cursor of another list.
func (h *Handlers) openKeyset(text, binding string) (keysetPlace, bool) {
	b, sealed := h.w.Unseal(text, binding)
	length, rest, _ := strings.Cut(string(b), " ")
	n, err := strconv.Atoi(length)
	if err != nil || n > len(rest) {
		return keysetPlace{}, false
	}
	return keysetPlace{key: rest[n:], id: rest[:n]}, sealed
}

// StorageOfPath returns the storage of the workspace or share in the path, to which
// the caller must have access.
func (h *Handlers) StorageOfPath(c *wire.Call) (world.Store, error) {
	id, err := h.ScopeOfPath(c)
	if err != nil {
		return world.Store{}, err
	}
	store := h.w.StoreOf(id, c)
	if h.w.Orphaned(store) {
		return world.Store{}, wire.NoSuch(CodeOrphaned, "folder behind the share any more")
	}
	return store, nil
}

// ScopeOfPath returns the workspace or share in the path, to which the caller must
// have access.
func (h *Handlers) ScopeOfPath(c *wire.Call) (string, error) {
	if name := c.Segment("share_id"); name != "" {
		id := h.w.ShareNamed(name)
		if id == "" {
			return "", wire.NoSuch(wire.CodeNotFound, wire.KindShare)
		}
		return id, h.refuseVisit(c, id)
	}
	id := h.w.WorkspaceNamed(c.Segment("workspace_id"), c.UserID())
	if id == "" {
		return "", wire.NoSuch(wire.CodeNotFound, wire.KindWorkspace)
	}
	return id, h.w.RefuseUnreadable(c.Key, world.Venue{Profile: id})
}

// refuseVisit returns a refusal if the caller has no access to a share. Members need no
// password. Others have access if the share admits them without a role; for a share with a
// password, they must send a token for the password in a header.
func (h *Handlers) refuseVisit(c *wire.Call, id string) error {
	share := &h.w.Share(id).Value
	if c.Key != nil {
		refusal := h.w.RefuseUnreadable(c.Key, world.Venue{Profile: id})
		if refusal == nil { // a member
			return nil
		}
		if !h.AdmitsWithoutRole(share, c.Key.User) {
			return refusal
		}
	} else if share.Access != world.AccessAnyone {
		return wire.Refuse(http.StatusUnauthorized, wire.CodeCredential, "The share asks for a credential.")
	}
	if h.w.ClosedToGuests(id) {
		return world.NoShareAccess(world.CodeNoView)
	}
	sent := c.Request.Header.Get("X-Ve-Password")
	if share.Password != "" && !h.w.IsLinkToken(share, sent) {
		return world.WrongLinkPassword()
	}
	return nil
}

// AdmitsWithoutRole reports whether the access option of a share admits a user without
// a role in it; "" is a caller without an account.
func (h *Handlers) AdmitsWithoutRole(share *world.Share, userID string) bool {
	switch share.Access {
	case world.AccessAnyone:
		return true
	case world.AccessRegistered:
		return userID != ""
	case world.AccessOrg:
		return userID != "" && h.w.Role(share.Org, userID) != ""
	}
	return false
}

// NodeObject renders a node of the storage of a workspace or share, as the caller may see
// it, at a level of detail.
func (h *Handlers) NodeObject(store world.Store, n *world.Node, lv wire.Level) wire.Object {
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "id", wire.Hyphenated(n.ID))
	r.Put(wire.Terse, "name", n.Name)
	r.Put(wire.Terse, "type", n.Kind)
	r.Put(wire.Terse, "parent", Parent(store, n))
	if n.HasContent() {
		r.Put(wire.Terse, "size", n.Size)
		r.Put(wire.Terse, "mimetype", n.MimeType)
		r.Put(wire.Standard, "mimecategory", mimeCategory(n.MimeType))
		r.Put(wire.Standard, "version", wire.Hyphenated(n.Current().ID))
		if lv == wire.Full {
			sum := world.ContentHash(n.Current())
			r.PutIf(sum != "", wire.Full, "hash", sum)
			r.PutIf(sum != "", wire.Full, "hash_algo", "sha256")
		}
	}
	r.Put(wire.Standard, "created", wire.Stamp(n.Created.Unix()))
	r.Put(wire.Terse, "modified", wire.Stamp(n.Updated.Unix()))
	h.putDetails(&r, store, n)
	h.putState(&r, n)
	if !n.HasContent() {
		return r.Fields
	}
	r.Put(wire.Full, "lock_info", h.lockCalls.lockInfo(store, n))
	ai := wire.Row{Level: lv}
	ai.Put(wire.Standard, "state", n.AIState)
	ai.Put(wire.Full, "attach", n.ReadableByAgent())
	if h.w.ShowsSummaries(store) {
		ai.Put(wire.Full, "summary", n.SummaryText() != "")
		r.Put(wire.Terse, "summary", h.SummaryObject(n, lv))
	}
	r.Put(wire.Standard, "ai", ai.Fields)
	r.PutIf(h.w.KindOf(store.Profile) == wire.KindWorkspace, wire.Full, "metadata_facts", h.NodeFacts(n, lv))
	r.Put(wire.Terse, "previews", h.previewsObject(store, n, lv))
	return r.Fields
}

// putDetails adds the members of a node that say when and where it was deleted, its title
// and description, and the share to which a link leads.
func (h *Handlers) putDetails(r *wire.Row, store world.Store, n *world.Node) {
	d := cmp.Or(h.details[n.ID], &details{deleted: n.Updated}) // the default of detailsOf
	r.PutIf(n.Trashed, wire.Standard, "deleted", wire.Stamp(d.deleted.Unix()))
	r.PutIf(n.Trashed, wire.Standard, "deleted_from", folderID(store, n))
	r.PutIf(d.title+d.short != "", wire.Standard, "metadata", wire.Object{{"title", d.title}, {"short", d.short}})
	linked := n.Kind == world.KindLink && n.Content != ""
	r.PutIf(linked, wire.Standard, "target_type", wire.KindShare)
	r.PutIf(linked, wire.Standard, "target_id", n.Content)
}

// SummaryObject renders the AI summary of a file, nil if it has none. The title of the
// platform is not documented: here it is the name of the file without its extension.
func (h *Handlers) SummaryObject(n *world.Node, lv wire.Level) any {
	text := n.SummaryText()
	if text == "" {
		return nil
	}
	r := wire.Row{Level: lv}
	r.Put(wire.Terse, "title", strings.TrimSuffix(n.Name, path.Ext(n.Name)))
	r.PutIf(n.Kind == world.KindNote, wire.Full, "category", "general") // the emulator's own
	r.Put(wire.Full, "short", text)
	r.Put(wire.Full, "long", text)
	return r.Fields
}

// Parent returns the id of the folder of a node, which may be "root" or "trash".
func Parent(store world.Store, n *world.Node) string {
	if n.Trashed {
		return world.TrashFolder
	}
	return folderID(store, n)
}

// folderID returns the id of the folder of a node, "root" if that is the folder which the
// storage shows. A deleted node keeps the folder that it was deleted from.
func folderID(store world.Store, n *world.Node) string {
	if n.Parent == store.Folder {
		return world.RootFolder
	}
	return wire.Hyphenated(n.Parent)
}

// nodeDetails returns the node in the path or, of several nodes, those that exist.
func (h *Handlers) nodeDetails(c *wire.Call) (wire.Object, error) {
	ids := c.Segments("node_id")
	if len(ids) > world.DetailsMost {
		return nil, wire.Refuse(http.StatusBadRequest, codeBulkMost, "At most 25 nodes at once.")
	}
	if id := wire.Plain(ids[0]); len(ids) == 1 && !wire.IsOpaque(id) {
		c.Check.Mistyped("node_id", "opaque_id")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	store, err := h.StorageOfPath(c)
	if err != nil {
		return nil, err
	}
	if len(ids) > 1 {
		return h.manyDetails(c, store, ids)
	}
	n := h.visibleNode(store, ids[0])
	if n == nil {
		return nil, wire.NoSuch(CodeNoNode, "node")
	}
	return wire.Object{{"format", "single"}, {"node", h.NodeObject(store, n, c.Out.Level)}}, nil
}

// visibleNode returns the node with an id, nil if there is none. Only members see
// nodes in the trash.
func (h *Handlers) visibleNode(store world.Store, id string) *world.Node {
	if store.Insider(h.w) {
		return h.w.NodeOrTrash(store.Profile, wire.Plain(id))
	}
	return h.w.Node(store.Profile, wire.Plain(id))
}

// manyDetails returns several nodes, each once, with an error for each that does not
// exist.
func (h *Handlers) manyDetails(c *wire.Call, store world.Store, ids []string) (wire.Object, error) {
	rows, failed := []wire.Object{}, []wire.Object{}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[wire.Plain(id)] {
			continue
		}
		seen[wire.Plain(id)] = true
		n := h.visibleNode(store, id)
		switch {
		case n != nil:
			rows = append(rows, h.NodeObject(store, n, c.Out.Level))
		case !wire.IsOpaque(wire.Plain(id)):
			failed = append(failed, world.NodeError(id, codeBadNode, "Not the id of a node."))
		default:
			failed = append(failed, world.NodeError(id, CodeNoNode, "There is no such node here."))
		}
	}
	return world.NodesResponse(c, "nodes", rows, failed)
}
