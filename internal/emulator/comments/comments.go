package comments

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// Comment is a comment as the platform keeps it.
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

// threads is the day from which on lists of a whole profile know comments. Older ones are found on their node only.
func threads() time.Time { return time.Date(2026, time.March, 15, 0, 0, 0, 0, time.UTC) }

// Has reports whether there is a comment with a plain id. The caller holds the lock.
func (h *Handlers) Has(id string) bool { return h.Comments.byID[id] != nil }

// AddComment puts a comment there, with its events, and returns it with what was filled in.
func (h *Handlers) AddComment(it world.Comment) world.Comment {
	h.Lock()
	defer h.Unlock()
	if f := h.FileShares[it.FileShare]; f != nil {
		it.Profile, it.Node = f.Workspace, cmp.Or(it.Node, f.Node)
	}
	it.ID, it.Parent, it.Node = wire.Plain(it.ID), wire.Plain(it.Parent), wire.Plain(it.Node)
	it.Reference, it.Properties, it.Targets = maps.Clone(it.Reference), maps.Clone(it.Properties), slices.Clone(it.Targets)
	for i, id := range it.Targets {
		if !wire.IsProfile(id) {
			it.Targets[i] = wire.Plain(id)
		}
	}
	given := it.Created
	switch {
	case it.Actor != nil:
		it.Actor = new(*it.Actor)
	case it.Unattributed:
		it.Actor = &world.Actor{User: it.User, Kind: "unknown"}
	default:
		it.Actor = h.Actor(it.User)
	}
	cm := h.keepComment(it)
	cm.indexed = given.IsZero() || given.After(threads())
	h.announceNew(cm)
	it = cm.Comment
	it.ID = wire.Hyphenated(it.ID)
	return it
}

// keepComment completes a comment and puts it into the order of creation.
func (h *Handlers) keepComment(it world.Comment) *Comment {
	list := &h.Comments
	if it.ID == "" {
		it.ID = "c" + world.Opaque('a', h.Options.Seed, uint64(len(list.List))) // two letters begin the ids of comments
	}
	if it.Created.IsZero() {
		it.Created = h.Now()
	}
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

// hash identifies the content of a comment, "" for those from before there were hashes.
func (cm *Comment) hash() string {
	if cm.Unattributed {
		return ""
	}
	sum := sha256.Sum256([]byte(cm.Body))
	return hex.EncodeToString(sum[:16])
}

// announceNew writes the events of a new comment, of its own date. It is news to those it mentions and to those it
// answers.
func (h *Handlers) announceNew(cm *Comment) {
	h.tell(cm, world.Event{Name: "comment_created", CallingUser: cm.User, Created: cm.Created, Actor: cm.Actor})
	h.announceMentions(cm, nil, cm.Created)
	if parent := h.Comments.byID[cm.Parent]; parent != nil {
		h.tell(cm, world.Event{Name: "comment_replied", CallingUser: cm.User, User: parent.User, Created: cm.Created})
	}
}

// announceMentions tells those a comment mentions and did not mention before. Nobody needs to be told of oneself.
func (h *Handlers) announceMentions(cm *Comment, before []string, created time.Time) {
	for _, user := range cm.mentions {
		if user != cm.User && !slices.Contains(before, user) {
			h.tell(cm, world.Event{Name: "comment_mentioned", CallingUser: cm.User, User: user, Created: created})
		}
	}
}

// announceChange writes an event about what somebody just did to a comment.
func (h *Handlers) announceChange(cm *Comment, event, caller string) {
	h.tell(cm, world.Event{Name: event, CallingUser: caller})
}

// tell writes an event about a comment. What happens on a File Share is told to its workspace and to itself.
func (h *Handlers) tell(cm *Comment, e world.Event) {
	e.Object = cm.Node
	if n := h.Nodes[cm.Node]; n != nil {
		e.ObjectName = n.Name
	}
	if h.KindOf(cm.Profile) == wire.KindShare {
		e.Share, e.Category = cm.Profile, wire.KindShare
	} else {
		e.Workspace = cm.Profile
	}
	h.WriteEvent(e)
	if cm.FileShare != "" {
		h.Touch(h.Now(), cm.FileShare, world.FieldsFor(world.FieldComments, cm.Node, world.FieldComments)...)
	}
}

// Routes is the part of the table that is about comments.
func (h *Handlers) Routes() []*wire.Route {
	const entity, one = "/current/comments/{entity_type}/{parent_id}/", "/current/comments/{comment_id}/"
	const fileShare = "/current/comments/fileshare/{fileshare_id}/{node_id}/"
	return []*wire.Route{
		wire.Get("comments.List", entity, h.listComments, wire.Query(listingQuery)),
		wire.Get("comments.ListOnNode", entity+"{node_id}/", h.listComments, wire.Query(listingQuery),
			wire.OnFileShare(wire.Get("comments.ListOnFileShare", fileShare, h.listComments, wire.Query(listingQuery)))),
		wire.Post("comments.Create", entity, h.postComment, wire.JSON(commentFields)),
		wire.Post("comments.CreateOnNode", entity+"{node_id}/", h.postComment, wire.JSON(commentFields),
			wire.OnFileShare(wire.Post("comments.CreateOnFileShare", fileShare, h.postComment, wire.JSON(commentFields)))),
		wire.Post("comments.Update", one+"update/", h.updateComment, wire.JSON("body properties reference")),
		wire.Get("comments.Get", one+"details/", h.commentDetails),
		wire.Delete("comments.Delete", one+"delete/", h.deleteComment),
		wire.Post("comments.DeleteMany", "/current/comments/bulk/delete/", h.deleteComments, wire.JSON("comment_ids")),
		wire.Post("comments.React", one+"reactions/", h.react, wire.JSON("emoji")),
		wire.Delete("comments.Unreact", one+"reactions/", h.unreact),
		wire.Get("comments.Attachments.List", one+"attachments/", h.listAttachments),
		wire.Post("comments.Attachments.Attach", one+"attachments/", h.attach, wire.JSON("target_id target_ids")),
		wire.Post("comments.Attachments.Detach", one+"attachments/detach/", h.detach, wire.JSON("target_id")),
		wire.Post("comments.Unlink", one+"unlink/", h.unlinkComment, wire.JSON("")),
	}
}
