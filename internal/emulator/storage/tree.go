package storage

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Codes of the tree. Those from 199001 to 199999 are invented.
const (
	codeVersionBlank = 207092
	codeCycle        = 199611
	codeNotTrashed   = 199722
	codeShareRoot    = 199723
	codeNoSource     = 199724
	codeNameTaken    = 199613
	codeHash         = 199614
)

// Limits of the texts of a node, in characters.
const (
	titleMost = 50
	shortMost = 2048
)

// details are what the tree keeps of a node besides the seed.
type details struct {
	deleted      time.Time
	title, short string
}

// treeRoutes returns the routes of files and folders.
func (h *Handlers) treeRoutes() []*wire.Route {
	type handler = func(*wire.Call) (wire.Object, error)
	const workspace, share = "/current/workspace/{workspace_id}/storage/", "/current/share/{share_id}/storage/"
	// onNode passes the node in the path to the handler, if the caller may change it.
	onNode := func(handle func(*wire.Call, world.Store, *world.Node) (wire.Object, error)) handler {
		return wire.WithTwo(h.nodeToChange, handle)
	}
	// inStore passes the storage in the path to the handler, if the caller may write there.
	inStore := func(handle func(*wire.Call, world.Store) (wire.Object, error)) handler {
		return wire.With(h.storeToWrite, handle)
	}
	var all []*wire.Route
	for _, base := range []string{workspace, share} {
		const one, parent = "{node_id}/", "{parent_id}/"
		all = append(all,
			wire.Post("storage.CreateFolder", base+parent+"createfolder/", inStore(h.createFolder), wire.Form("name force")),
			wire.Post("storage.AddFile", base+parent+"addfile/", inStore(h.addFile), wire.Form("name from")),
			wire.Post("storage.Move", base+one+"move/", onNode(h.moveNode), wire.Form("parent")),
			wire.Post("storage.Copy", base+one+"copy/", wire.WithTwo(h.nodeToWrite, h.copyNode), wire.Form("parent")),
			wire.Post("storage.Update", base+one+"update/", onNode(h.updateNode),
				wire.Form("name from metadata_title metadata_short if_version_id")),
			wire.Delete("storage.Delete", base+one+"delete/", onNode(h.deleteNode)),
			wire.Delete("storage.EmptyTrash", base+"trash/delete/", inStore(h.emptyTrash)),
			wire.Post("storage.Restore", base+one+"restore/", wire.WithTwo(h.trashedNode, h.restoreNode),
				wire.Form(wire.NoFields)),
			wire.Delete("storage.Purge", base+one+"purge/", wire.WithTwo(h.trashedNode, h.purgeNode)),
		)
	}
	return append(all,
		wire.Post("storage.AddLink", workspace+"{parent_id}/addlink/", inStore(h.addLink),
			wire.Form("type share")),
	)
}

// storeToWrite returns the storage in the path, which the caller must be allowed to
// change.
func (h *Handlers) storeToWrite(c *wire.Call) (world.Store, error) {
	store, err := h.StorageOfPath(c)
	if err == nil {
		err = h.RefuseUnlessWritable(c, store)
	}
	return store, err
}

// nodeToWrite returns the node in the path and its storage, in which the caller must
// be allowed to write. It refuses the folder that a share shows, which is not one of
// the nodes of the share.
func (h *Handlers) nodeToWrite(c *wire.Call) (world.Store, *world.Node, error) {
	store, n, err := h.NodeOfPath(c)
	if err == nil {
		err = h.RefuseUnlessWritable(c, store)
	}
	if err == nil && n.ID == store.Folder {
		err = wire.Refuse(http.StatusForbidden, codeShareRoot, "The folder of the share cannot be changed here.")
	}
	return store, n, err
}

// nodeToChange returns the node in the path, for a call that changes it, with its
// storage. It refuses a node that another user has locked.
func (h *Handlers) nodeToChange(c *wire.Call) (world.Store, *world.Node, error) {
	store, n, err := h.nodeToWrite(c)
	if err == nil {
		err = h.RefuseLocked(c, n)
	}
	return store, n, err
}

// trashedNode returns the node of the trash in the path, which the caller must be
// allowed to change.
func (h *Handlers) trashedNode(c *wire.Call) (world.Store, *world.Node, error) {
	id := c.OpaqueSegment("node_id")
	if err := c.Check.Err(); err != nil {
		return world.Store{}, nil, err
	}
	store, err := h.storeToWrite(c)
	if err != nil {
		return store, nil, err
	}
	switch n := h.w.NodeOrTrash(store.Profile, id); {
	case n == nil:
		return store, nil, wire.NoSuch(CodeNoNode, "node")
	case !n.Trashed:
		return store, nil, wire.Refuse(http.StatusNotAcceptable, codeNotTrashed, "The node is not in the trash.")
	default:
		return store, n, nil
	}
}

// folderNamed returns the id of the folder that a parameter names: its value is an id, or
// "root" for the folder that the storage shows.
func (h *Handlers) folderNamed(c *wire.Call, store world.Store, name, value string) (string, error) {
	if value == world.RootFolder {
		return store.Folder, nil
	}
	id := wire.Plain(value)
	c.Check.MistypedIf(!wire.IsOpaque(id), name, "opaque_id or root")
	if len(c.Check.Failed) > 0 {
		return "", c.Check.Err()
	}
	n := h.w.Node(store.Profile, id)
	if n == nil {
		return "", wire.NoSuch(CodeNoNode, world.KindFolder)
	}
	c.Check.InvalidIf(n.Kind != world.KindFolder, name, "The id of a folder, or root.")
	return id, c.Check.Err()
}

// Whether a call must have a field.
const (
	required = true
	optional = false
)

// treeName returns the field with the name of a node, "" if it is missing and not required.
func treeName(c *wire.Call, isRequired bool) string {
	name, given := c.Field("name")
	if !given && !isRequired {
		return ""
	}
	last, _ := utf8.DecodeLastRuneInString(name)
	switch why := NameProblem(name); {
	case name == "":
		c.Check.Missing("name", "A name.")
	case why != "":
		c.Check.Invalid("name", why)
	case strings.ContainsFunc(name, unicode.IsControl), last == '.', unicode.IsSpace(last):
		c.Check.Invalid("name", "No control characters, and no blank or dot at the end.")
	}
	return name
}

// nodeResponse returns the response of a call that has changed a node: the node or, by an
// option, nothing.
func (h *Handlers) nodeResponse(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	if h.w.Options.Storage.BareWrites {
		return nil, nil
	}
	return wire.Object{{"node", h.NodeObject(store, n, c.Out.Level)}}, nil
}

// treeEvent writes an event about what has happened to a node, such as "moved". Some
// events have another name for folders.
func (h *Handlers) treeEvent(c *wire.Call, store world.Store, n *world.Node, what string) {
	kind := "file"
	if n.Kind == world.KindFolder && (what == "moved" || what == "deleted" || what == "created") {
		kind = "folder"
	}
	h.w.NodeEvent(n, world.Event{
		Name: eventName(store, h, kind+"_"+what), CallingUser: c.Key.User,
		Actor: h.w.ActorOf(c.Key),
	})
}

// createFolder creates a folder. Without the field force, it returns a folder that has
// the name already.
func (h *Handlers) createFolder(c *wire.Call, store world.Store) (wire.Object, error) {
	name := treeName(c, required)
	force, forced := c.Field("force")
	c.Check.InvalidIf(forced && force != "true", "force", "true.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	parent, err := h.folderNamed(c, store, "parent_id", c.Segment("parent_id"))
	if err != nil {
		return nil, err
	}
	n := h.childNamed(store.Owner, parent, name)
	if n == nil || n.Kind != world.KindFolder || forced {
		n = h.w.KeepNode(world.Node{
			Profile: store.Owner, Parent: parent, Kind: world.KindFolder, Creator: c.Key.User,
			Name: h.freeName(store.Owner, parent, name),
		})
		h.treeEvent(c, store, n, "created")
	}
	return h.nodeResponse(c, store, n)
}

// targetFolder returns the folder to which a node is moved or copied. It refuses the node
// itself, and folders in it.
func (h *Handlers) targetFolder(c *wire.Call, store world.Store, n *world.Node) (string, error) {
	value, given := c.Field("parent")
	c.Check.MissingIf(!given, "parent", "The id of a folder, or root.")
	if !given {
		return "", c.Check.Err()
	}
	parent, err := h.folderNamed(c, store, "parent", value)
	folder := h.w.AnyNode(parent)
	isInside := folder != nil && (folder == n || h.w.InFolder(folder, n.ID))
	if err == nil && isInside {
		err = wire.Refuse(http.StatusNotAcceptable, codeCycle, "A folder cannot be below itself.")
	}
	return parent, err
}

// resolveConflict returns the name that a node gets in a folder. A file or note keeps its
// name: a file or note that has the name there goes to the trash; if another user has locked
// that one, the call is refused. For any other two nodes of one name, it returns a free name.
func (h *Handlers) resolveConflict(c *wire.Call, store world.Store, n *world.Node, parent string) (string, error) {
	taken := h.childNamed(store.Owner, parent, n.Name)
	switch {
	case taken == nil || taken == n:
		return n.Name, nil
	case !taken.HasContent() || !n.HasContent():
		return h.freeName(store.Owner, parent, n.Name), nil
	}
	if err := h.RefuseLocked(c, taken); err != nil {
		return "", err
	}
	h.moveToTrash(c, store, taken)
	return n.Name, nil
}

// moveToTrash moves a node to the trash.
func (h *Handlers) moveToTrash(c *wire.Call, store world.Store, n *world.Node) {
	n.Trashed = true
	h.detailsOf(n).deleted = h.w.Now()
	h.treeEvent(c, store, n, "deleted")
}

// detailsOf returns the details of a node, which it creates if necessary.
func (h *Handlers) detailsOf(n *world.Node) *details {
	if h.details[n.ID] == nil {
		h.details[n.ID] = &details{deleted: n.Updated} // for a node that a seed has put into the trash
	}
	return h.details[n.ID]
}

// moveNode moves a node to another folder. A file or note of its name there goes to the
// trash.
func (h *Handlers) moveNode(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	parent, err := h.targetFolder(c, store, n)
	if err != nil {
		return nil, err
	}
	name, err := h.resolveConflict(c, store, n, parent)
	if err != nil {
		return nil, err
	}
	n.Name, n.Parent = name, parent
	h.treeEvent(c, store, n, "moved")
	return h.nodeResponse(c, store, n)
}

// copyNode copies a node to a folder. A copy in the same folder gets another name.
func (h *Handlers) copyNode(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	parent, err := h.targetFolder(c, store, n)
	if err != nil {
		return nil, err
	}
	name := n.Name
	if h.childNamed(store.Owner, parent, name) == n { // beside the original
		name = h.freeName(store.Owner, parent, name)
	} else {
		name, err = h.resolveConflict(c, store, n, parent)
		if err != nil {
			return nil, err
		}
	}
	made := h.cloneNode(c, n, parent, name)
	h.treeEvent(c, store, made, "copied")
	return h.nodeResponse(c, store, made)
}

// cloneNode copies a node with its current version, and a folder with all that is in it.
func (h *Handlers) cloneNode(c *wire.Call, n *world.Node, parent, name string) *world.Node {
	made := world.Node{
		Profile: n.Profile, Parent: parent, Kind: n.Kind, Name: name, Creator: c.Key.User, MimeType: n.MimeType,
		Summary: n.Summary,
	}
	if n.HasContent() {
		made.Versions = []world.Version{world.VersionWithContentOf(n.Current())}
	} else {
		made.Content = n.Content // of a link, the id of its share
	}
	kept := h.w.KeepNode(made)
	h.w.Index(kept, n.AIState)
	if n.Kind == world.KindFolder {
		for _, child := range h.ChildrenOf(n.Profile, n.ID) {
			h.cloneNode(c, child, kept.ID, child.Name)
		}
	}
	return kept
}

// deleteNode moves a node to the trash.
func (h *Handlers) deleteNode(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	h.moveToTrash(c, store, n)
	return nil, nil
}

// restoreNode moves a node from the trash back to its folder, or to the root if that
// is gone.
func (h *Handlers) restoreNode(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	if n.Parent != store.Folder && h.w.Node(store.Profile, n.Parent) == nil {
		n.Parent = store.Folder
	}
	name, err := h.resolveConflict(c, store, n, n.Parent)
	if err != nil {
		return nil, err
	}
	n.Name, n.Trashed = name, false
	h.treeEvent(c, store, n, "restored")
	return h.nodeResponse(c, store, n)
}

// purgeNode deletes a node of the trash for good.
func (h *Handlers) purgeNode(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	h.deleteForGood(c, store, n)
	return nil, nil
}

// emptyTrash deletes all nodes of the trash for good.
func (h *Handlers) emptyTrash(c *wire.Call, store world.Store) (wire.Object, error) {
	for _, n := range h.trashOf(store) {
		h.deleteForGood(c, store, n)
	}
	return nil, nil
}

// deleteForGood deletes a node for good, and a folder with all that is in it. As on the
// platform, it writes events only for the File Shares of deleted files, which end.
func (h *Handlers) deleteForGood(c *wire.Call, store world.Store, n *world.Node) {
	for _, id := range slices.Clone(h.w.FileShareIDs()) { // EndFileShare changes the list
		f := h.w.FileShare(id)
		shared := h.w.NodeOrTrash(f.Workspace, f.Node)
		if shared == n || shared != nil && h.w.InFolder(shared, n.ID) {
			h.w.EndFileShare(f, c.UserID())
		}
	}
	for _, id := range h.w.RemoveNode(n) {
		delete(h.details, id)
	}
	h.w.MarkChanged(h.w.Now(), store.Owner, world.FieldsFor(world.FieldStorage, n.ID)...)
}

const byHash = true // in content: a call may name a hash

// sourceContent returns the content that the field from refers to: an upload or, if
// allowHash is true, that of any file with a hash.
func (h *Handlers) sourceContent(c *wire.Call, allowHash bool) (world.Version, error) {
	text, given := c.Field("from")
	var from struct {
		Type   string `json:"type"`
		Upload *struct {
			ID string `json:"id"`
		} `json:"upload"`
		Hash *struct {
			Hash string `json:"hash"`
			Type string `json:"hash_type"`
		} `json:"hash"`
	}
	notJSON := wire.Decode([]byte(text), &from)
	isUpload, isHash := from.Type == "upload" && from.Upload != nil, from.Type == "hash" && from.Hash != nil
	c.Check.MissingIf(!given, "from", "The source of the content.")
	isSource := notJSON == nil && (isUpload || isHash)
	c.Check.InvalidIf(given && !isSource, "from", "JSON with an upload or a hash.")
	if err := c.Check.Err(); err != nil {
		return world.Version{}, err
	}
	if isUpload {
		return h.Uploaded(c, wire.Plain(from.Upload.ID))
	}
	if !allowHash {
		return world.Version{}, wire.Refuse(http.StatusNotAcceptable, codeHash, "A workspace adds no file by its hash.")
	}
	c.Check.InvalidIf(!slices.Contains(Algorithms(), from.Hash.Type) || from.Hash.Type == "crc32c",
		"from", "md5, sha1, sha256 or sha384.")
	if err := c.Check.Err(); err != nil {
		return world.Version{}, err
	}
	for _, id := range h.w.NodeIDs() {
		n := h.w.AnyNode(id)
		if n.HasContent() && Digest(from.Hash.Type, n.Current().Open()) == from.Hash.Hash {
			found := world.VersionWithContentOf(n.Current())
			found.Origin, found.Upload = OriginOther, "" // the caller has not uploaded it
			return found, nil
		}
	}
	return world.Version{}, wire.NoSuch(codeNoSource, "content with this hash")
}

// addFile adds a file with uploaded content to a folder. In a share, the content may
// also be named by its hash.
func (h *Handlers) addFile(c *wire.Call, store world.Store) (wire.Object, error) {
	name := treeName(c, required) // sourceContent returns the error of a bad name
	allowsHash := h.w.KindOf(store.Profile) == wire.KindShare
	content, err := h.sourceContent(c, allowsHash)
	if err != nil {
		return nil, err
	}
	parent, err := h.folderNamed(c, store, "parent_id", c.Segment("parent_id"))
	if err != nil {
		return nil, err
	}
	if err := h.RefuseLocked(c, h.childNamed(store.Owner, parent, name)); err != nil {
		return nil, err
	}
	return h.nodeResponse(c, store, h.PutFile(Place{In: store, Folder: parent}, name, content, c.Key.User))
}

// updateNode changes the name, content or texts of a node. With the field
// if_version_id, it refuses a node that has another current version.
func (h *Handlers) updateNode(c *wire.Call, store world.Store, n *world.Node) (wire.Object, error) {
	version, compares := c.Field("if_version_id")
	if compares && wire.Plain(version) == "" {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeVersionBlank, "if_version_id must not be blank.")
	}
	c.Check.MistypedIf(compares && !wire.IsOpaque(wire.Plain(version)), "if_version_id", "opaque_id")
	replaces := checkUpdate(c)
	name := cmp.Or(treeName(c, optional), n.Name)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	if taken := h.childNamed(store.Owner, n.Parent, name); taken != nil && taken != n {
		return nil, wire.Refuse(http.StatusBadRequest, codeNameTaken, "The name is taken.") // 400, unlike invalid names
	}
	var content world.Version
	if replaces {
		var err error
		content, err = h.sourceContent(c, byHash)
		if err != nil {
			return nil, err
		}
		if n.Kind != world.KindFile {
			return nil, wire.Refuse(http.StatusNotAcceptable, CodeNoContent, "Only files get new content.")
		}
	}
	if current := n.Current().ID; compares && wire.Plain(version) != current {
		refusal := wire.Refuse(http.StatusConflict, codeNotCurrent, "The file has another version by now.")
		refusal.Params = []wire.Object{{
			{"name", "if_version_id"},
			{"reason", "conflict_version_mismatch"},
			{"current_version_id", wire.Hyphenated(current)},
		}}
		return nil, refusal
	}
	n.Name, n.Updated = name, h.w.Now()
	h.updateTexts(c, n)
	if replaces {
		h.NewVersion(n, content, c.Key.User, eventName(store, h, "file_updated"))
	} else {
		h.treeEvent(c, store, n, "updated")
	}
	return h.nodeResponse(c, store, n)
}

// checkUpdate adds errors to c.Check if an update changes nothing, or has a text that is
// too long. It returns true if the update replaces the content.
func checkUpdate(c *wire.Call) (replaces bool) {
	_, renames := c.Field("name")
	_, replaces = c.Field("from")
	title, titles := c.Field("metadata_title")
	short, shortens := c.Field("metadata_short")
	c.Check.MissingIf(!renames && !replaces && !titles && !shortens, "name", "At least one field.")
	c.Check.InvalidIf(utf8.RuneCountInString(title) > titleMost, "metadata_title", "At most 50 characters.")
	c.Check.InvalidIf(utf8.RuneCountInString(short) > shortMost, "metadata_short", "At most 2048 characters.")
	return replaces
}

// updateTexts changes the title and the description of a node, if they are given. Null
// and "" clear them.
func (h *Handlers) updateTexts(c *wire.Call, n *world.Node) {
	d := h.detailsOf(n)
	for name, text := range map[string]*string{"metadata_title": &d.title, "metadata_short": &d.short} {
		if value, given := c.Field(name); given && wire.Cleared(value) {
			*text = ""
		} else if given {
			*text = value
		}
	}
}

// addLink adds a node that leads to a share, which the caller must be able to read.
func (h *Handlers) addLink(c *wire.Call, store world.Store) (wire.Object, error) {
	kind, _ := c.Field("type")
	id, given := c.Field("share")
	c.Check.InvalidIf(kind != "share", "type", "share.")
	c.Check.MissingIf(!given, "share", "The id of a share.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	share := h.w.Share(id)
	if share == nil || h.w.RefuseUnreadable(c.Key, world.Venue{Profile: id}) != nil {
		return nil, wire.NoSuch(wire.CodeNotFound, wire.KindShare)
	}
	parent, err := h.folderNamed(c, store, "parent_id", c.Segment("parent_id"))
	if err != nil {
		return nil, err
	}
	n := h.w.KeepNode(world.Node{
		Profile: store.Owner, Parent: parent, Kind: world.KindLink, Content: id, Creator: c.Key.User,
		Name: h.freeName(store.Owner, parent, share.Value.Title),
	})
	h.w.NodeEvent(n, world.Event{
		Name: eventName(store, h, "link_added"), CallingUser: c.Key.User,
		Actor: h.w.ActorOf(c.Key),
	})
	return h.nodeResponse(c, store, n)
}
