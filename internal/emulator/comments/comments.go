// Package comments emulates comments on workspaces, shares, File Shares and files.
package comments

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Handlers handles the calls of the area.
type Handlers struct {
	w *world.World

	Comments commentState
}

// New returns the handlers of a world.
func New(w *world.World) *Handlers {
	return &Handlers{w: w, Comments: commentState{byID: map[string]*Comment{}}}
}

// Comment is a stored comment.
type Comment struct {
	world.Comment
	number    int  // in the order of arrival
	indexed   bool // lists of a whole profile know it
	version   int
	Updated   time.Time
	mentions  []string
	reactions map[string]string // emoji by user
}

type commentState struct {
	byID map[string]*Comment
	List []*Comment // by creation
}

func (cm *Comment) venue() world.Venue {
	return world.Venue{Profile: cm.Profile, FileShare: cm.FileShare, Node: cm.Node}
}

// IsDeleted reports whether a comment was deleted.
func (cm *Comment) IsDeleted() bool { return !cm.Deleted.IsZero() }

// threadsBegan is the date from which comments are in profile lists.
func threadsBegan() time.Time { return time.Date(2026, time.March, 15, 0, 0, 0, 0, time.UTC) }

// HasComment reports whether there is a comment with a plain id. The caller holds the lock.
func (h *Handlers) HasComment(id string) bool { return h.Comments.byID[id] != nil }

// AddComment adds a comment with its events, and returns it with its defaults and a
// hyphenated id. A comment on a File Share is also one on its file. A comment created
// before threadsBegan is not indexed: the list of a whole profile does not have it.
func (h *Handlers) AddComment(it world.Comment) world.Comment {
	h.w.Lock()
	defer h.w.Unlock()
	if f := h.w.FileShare(it.FileShare); f != nil {
		it.Profile, it.Node = f.Workspace, cmp.Or(it.Node, f.Node)
	}
	it.ID, it.Parent, it.Node = wire.Plain(it.ID), wire.Plain(it.Parent), wire.Plain(it.Node)
	// The maps and the list are copied, because the caller may change those that it passed.
	it.Reference, it.Properties, it.Targets = maps.Clone(it.Reference), maps.Clone(it.Properties), slices.Clone(it.Targets)
	for i, id := range it.Targets {
		if !wire.IsProfile(id) {
			it.Targets[i] = wire.Plain(id)
		}
	}
	switch {
	case it.Actor != nil:
		it.Actor = new(*it.Actor)
	case it.Unattributed:
		it.Actor = &world.Actor{User: it.User, Kind: "unknown"}
	default:
		it.Actor = h.w.Actor(it.User)
	}
	cm := h.keepComment(it)
	cm.indexed = it.Created.IsZero() || it.Created.After(threadsBegan())
	h.announceNew(cm)
	it = cm.Comment
	it.ID = wire.Hyphenated(it.ID)
	return it
}

// keepComment adds a comment, without an event, to the list, which is sorted by time of
// creation and then of arrival. An edited one has version 2.
func (h *Handlers) keepComment(it world.Comment) *Comment {
	list := &h.Comments
	// The IDs of comments begin with two letters, ca.
	it.ID = cmp.Or(it.ID, "c"+world.Opaque('a', h.w.Options.Seed, uint64(len(list.List))))
	it.Created = cmp.Or(it.Created, h.w.Now())
	it.Created = it.Created.UTC().Truncate(time.Second)
	cm := &Comment{
		Comment: it, number: len(list.List), indexed: true, version: 1, Updated: it.Created,
		reactions: map[string]string{},
	}
	if !it.Edited.IsZero() {
		cm.version, cm.Updated = 2, it.Edited
	}
	cm.mentions = h.usersMentioned(cm)
	at, _ := slices.BinarySearchFunc(list.List, cm, func(a, b *Comment) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.number, b.number))
	})
	list.List = slices.Insert(list.List, at, cm)
	list.byID[it.ID] = cm
	return cm
}

// hash returns a hash of the content of a comment, 32 hexadecimal digits; "" for old
// comments, which have no author.
func (cm *Comment) hash() string {
	if cm.Unattributed {
		return ""
	}
	sum := sha256.Sum256([]byte(cm.Body))
	return hex.EncodeToString(sum[:16])
}

// announceNew writes the events of a new comment: one for all users, one for each mentioned
// user and, for a reply, one for the author of the comment that it answers.
func (h *Handlers) announceNew(cm *Comment) {
	h.announce(cm, world.Event{Name: "comment_created", CallingUser: cm.User, Created: cm.Created, Actor: cm.Actor})
	var before []string // nil: a new comment mentioned no user until now
	h.announceMentions(cm, before, cm.Created)
	if parent := h.Comments.byID[cm.Parent]; parent != nil {
		h.announce(cm, world.Event{Name: "comment_replied", CallingUser: cm.User, User: parent.User, Created: cm.Created})
	}
}

// announceMentions writes an event for each mentioned user, except for the author and the users
// in before, whom the comment has mentioned already.
func (h *Handlers) announceMentions(cm *Comment, before []string, created time.Time) {
	for _, user := range cm.mentions {
		if user != cm.User && !slices.Contains(before, user) {
			h.announce(cm, world.Event{Name: "comment_mentioned", CallingUser: cm.User, User: user, Created: created})
		}
	}
}

func (h *Handlers) announceChange(cm *Comment, event, caller string) {
	h.announce(cm, world.Event{Name: event, CallingUser: caller})
}

// announce writes an event about a comment to the profile. A comment on a File Share is
// also a change for those who poll the File Share.
func (h *Handlers) announce(cm *Comment, e world.Event) {
	e.Object = cm.Node
	if n := h.w.AnyNode(cm.Node); n != nil {
		e.ObjectName = n.Name
	}
	if h.w.KindOf(cm.Profile) == wire.KindShare {
		e.Category = wire.KindShare // not workspace, the default
	}
	h.w.EventIn(cm.Profile, e)
	if cm.FileShare != "" {
		h.w.MarkChanged(h.w.Now(), cm.FileShare, world.FieldsFor(world.FieldComments, cm.Node)...)
	}
}

// Routes returns the routes of comments. Those of a node also match the path of the file of
// a File Share, and hand such a call over to the route in OnFileShare.
func (h *Handlers) Routes() []*wire.Route {
	const entity, one = "/current/comments/{entity_type}/{parent_id}/", "/current/comments/{comment_id}/"
	const fileShare = "/current/comments/fileshare/{fileshare_id}/{node_id}/"
	list, post, fields := wire.Query(listingQuery), wire.With(h.venueOfPath, h.postComment), wire.JSON(commentFields)
	return []*wire.Route{
		wire.Get("comments.List", entity, h.listComments, list),
		wire.Get("comments.ListOnNode", entity+"{node_id}/", h.listComments, list,
			wire.OnFileShare(wire.Get("comments.ListOnFileShare", fileShare, h.listComments, list))),
		wire.Post("comments.Create", entity, post, fields),
		wire.Post("comments.CreateOnNode", entity+"{node_id}/", post, fields,
			wire.OnFileShare(wire.Post("comments.CreateOnFileShare", fileShare, post, fields))),
		wire.Post("comments.Update", one+"update/", wire.With(h.ownComment, h.updateComment),
			wire.JSON("body properties reference")),
		wire.Get("comments.Get", one+"details/", wire.With(h.commentOfPath, h.commentDetails)),
		wire.Delete("comments.Delete", one+"delete/", wire.With(h.commentOfPath, h.deleteComment)),
		wire.Post("comments.DeleteMany", "/current/comments/bulk/delete/", h.deleteComments, wire.JSON("comment_ids")),
		wire.Post("comments.React", one+"reactions/", wire.With(h.commentOfPath, h.react), wire.JSON("emoji")),
		wire.Delete("comments.Unreact", one+"reactions/", wire.With(h.commentOfPath, h.unreact)),
		wire.Get("comments.Attachments.List", one+"attachments/", wire.With(h.commentOfPath, h.attachments)),
		wire.Post("comments.Attachments.Attach", one+"attachments/", wire.With(h.ownComment, h.attach),
			wire.JSON("target_id target_ids")),
		wire.Post("comments.Attachments.Detach", one+"attachments/detach/", wire.With(h.ownComment, h.detach),
			wire.JSON("target_id")),
		wire.Post("comments.Unlink", one+"unlink/", wire.With(h.ownComment, h.unlinkComment), wire.JSON(wire.NoFields)),
	}
}

// Codes of comments. Those from 199001 to 199999 are invented.
const (
	codeBodyOnCreate  = 162417
	codeBodyOnUpdate  = 164797
	codeVisibleText   = 166910
	codeSpam          = 199314
	codeCommentLimit  = 199315
	codeIsDeleted     = 199316
	codeNoComment     = 199317
	codeNoTarget      = 199318
	codeAttachedLimit = 199319
)

// venueOfPath returns what the comments of a path are on (a profile, a node in it, or the
// file of a File Share), if the caller may read that.
func (h *Handlers) venueOfPath(c *wire.Call) (world.Venue, error) {
	kind, id, node := c.Segment("entity_type"), c.Segment("parent_id"), wire.Plain(c.Segment("node_id"))
	checkVenue(c, kind, id, node)
	if err := c.Check.Err(); err != nil {
		return world.Venue{}, err
	}
	if kind == wire.KindFileShare {
		return h.venueOfFileShare(c, id, node)
	}
	if h.w.KindOf(id) != kind {
		return world.Venue{}, wire.NoSuch(wire.CodeNotFound, kind)
	}
	at := world.Venue{Profile: id, Node: node}
	if err := h.w.RefuseUnreadable(c.Key, at); err != nil {
		return world.Venue{}, err
	}
	if node != "" && h.w.Node(id, node) == nil {
		return world.Venue{}, wire.NoSuch(wire.CodeNotFound, "node")
	}
	return at, nil
}

// checkVenue adds errors to c.Check for the segments of a path to comments: the kind and
// id of what they are on, and perhaps a node in it.
func checkVenue(c *wire.Call, kind, id, node string) {
	switch kind {
	case wire.KindWorkspace, wire.KindShare, wire.KindFileShare:
	case "":
		c.Check.Missing("entity_type", "workspace, share or fileshare.")
	default:
		c.Check.Invalid("entity_type", "workspace, share or fileshare.")
	}
	switch {
	case id == "":
		c.Check.Missing("parent_id", "Name what the comments are on.")
	case !wire.IsProfile(id) && (kind != wire.KindFileShare || !wire.IsOpaque(wire.Plain(id))):
		c.Check.Mistyped("parent_id", "profile_id")
	}
	switch {
	case node == "" && kind == wire.KindFileShare:
		c.Check.Missing("node_id", "A File Share has comments on its file only.")
	case node != "" && !wire.IsOpaque(node):
		c.Check.Mistyped("node_id", "opaque_id")
	}
}

// venueOfFileShare returns the venue of the comments on a File Share: its one file, which
// node must name. It refuses a caller who may not read the File Share or sends a
// wrong password for it, and every caller if its comments are off.
func (h *Handlers) venueOfFileShare(c *wire.Call, id, node string) (world.Venue, error) {
	f := h.w.FileShareNamed(id)
	if !f.IsUsable(h.w) {
		return world.Venue{}, wire.NoSuch(wire.CodeNotFound, "File Share")
	}
	at := world.Venue{Profile: f.Workspace, FileShare: f.ID, Node: node}
	if err := cmp.Or(h.w.RefuseUnreadable(c.Key, at), f.RefuseWrongPassword(c)); err != nil {
		return world.Venue{}, err
	}
	if node != f.Node {
		return world.Venue{}, wire.NoSuch(wire.CodeNotFound, "node")
	}
	if !f.TakesComments() {
		return world.Venue{}, wire.Denied("comments are off.")
	}
	return at, nil
}

// refusePost returns a refusal if a credential may not write to the profile or File Share
// of a venue, or its user may not comment there.
func (h *Handlers) refusePost(k *wire.Credential, at world.Venue) error {
	if h.w.AccessMode(k, at.ScopeProfile()) < wire.Write {
		return k.ReadOnlyRefusal()
	}
	if !h.mayComment(k.User, at) {
		return wire.Denied("you may not comment here.")
	}
	return nil
}

// mayComment reports whether a user may comment in a venue: on a File Share those whom it
// admits, if it takes comments; elsewhere members, and guests of a share with comments.
func (h *Handlers) mayComment(userID string, at world.Venue) bool {
	f := h.w.FileShare(at.FileShare)
	if at.FileShare != "" {
		return f != nil && f.TakesComments() && h.w.AdmitsTo(f, userID)
	}
	role := h.w.Role(at.Profile, userID)
	if share := h.w.Share(at.Profile); share != nil && role == world.Guest {
		return !share.Value.NoComments
	}
	return world.Rank(role) >= world.Rank(world.Member)
}

// Sees reports whether a user with access to the venue of a comment sees it: members see
// all, and guests of a share their own and those that its settings show them. Comments on
// a File Share are seen by all who have access to it.
func (h *Handlers) Sees(userID string, cm *Comment) bool {
	if cm.FileShare != "" || cm.User == userID || h.w.AtLeast(cm.Profile, userID, world.Member) {
		return true
	}
	share := h.w.Share(cm.Profile)
	if share == nil {
		return false
	}
	if h.w.AtLeast(cm.Profile, cm.User, world.Member) {
		return !share.Value.HideTeamComments
	}
	return !share.Value.HideGuestComments
}

// commentOfPath returns the comment in the path, if the caller may see it.
func (h *Handlers) commentOfPath(c *wire.Call) (*Comment, error) {
	id := c.RequiredSegment("comment_id", "Name a comment.")
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	return h.commentFor(c.Key, id)
}

// commentFor finds a comment that a credential may see.
func (h *Handlers) commentFor(k *wire.Credential, id string) (*Comment, error) {
	cm := h.Comments.byID[id]
	if cm == nil {
		return nil, wire.NoSuch(codeNoComment, "comment")
	}
	if err := h.w.RefuseUnreadable(k, cm.venue()); err != nil {
		return nil, err
	}
	if !h.Sees(k.User, cm) {
		return nil, wire.Denied("you may not see this comment.")
	}
	return cm, nil
}

// ownComment returns the comment in the path, if the caller may change it.
func (h *Handlers) ownComment(c *wire.Call) (*Comment, error) {
	cm, err := h.commentOfPath(c)
	if err == nil {
		err = h.refuseChange(c.Key, cm)
	}
	return cm, err
}

// refuseChange returns a refusal unless the user is the author of a comment that is not
// deleted, and may still comment there.
func (h *Handlers) refuseChange(k *wire.Credential, cm *Comment) error {
	switch {
	case cm.User != k.User:
		return wire.Denied("only the author may change a comment.")
	case cm.IsDeleted():
		return deletedRefusal()
	}
	return h.refusePost(k, cm.venue())
}

func deletedRefusal() error {
	return wire.Refuse(http.StatusNotAcceptable, codeIsDeleted, "Comment is deleted")
}

// seenInVenue reports whether a user sees a comment in its own venue. Members of a
// workspace may read the comments of File Share recipients.
func (h *Handlers) seenInVenue(userID string, cm *Comment) bool {
	return cm.FileShare == "" || cm.User == userID || !h.w.AtLeast(cm.Profile, userID, world.Member)
}

// mayDelete reports whether a user may delete a comment: the author, or an admin
// of the workspace or share unless it is on a File Share.
func (h *Handlers) mayDelete(userID string, cm *Comment) bool {
	return cm.User == userID || cm.FileShare == "" && h.w.AtLeast(cm.Profile, userID, world.Admin)
}

// Export adds the comments to a seed file. The caller holds the lock.
func (h *Handlers) Export(f *world.SeedFile) {
	for _, cm := range h.Comments.List {
		f.Comments = append(f.Comments, cm.Comment)
	}
}
