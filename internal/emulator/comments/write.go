package comments

import (
	"maps"
	"net/http"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

// post is the body of a call that creates or changes a comment.
type post struct {
	id, parent string
	body       string
	properties map[string]any
	reference  map[string]any
	unanchor   bool // a reference that is null
	targets    []string
}

// commentFields are the fields of a new or changed comment.
const commentFields = "body comment_id parent_id properties reference target_id target_ids"

// postComment creates a comment, or changes the one that the body names.
func (h *Handlers) postComment(c *wire.Call) (wire.Object, error) {
	at, err := h.venueOfPath(c)
	if err != nil {
		return nil, err
	}
	if err := h.mayPost(c.Key, at); err != nil {
		return nil, err
	}
	p, err := h.parsePost(c, c.JSON, codeBodyOnCreate)
	if err != nil {
		return nil, err
	}
	if p.id != "" {
		cm, err := h.commentFor(c.Key, p.id)
		switch {
		case err != nil:
			return nil, err
		case cm.venue() != at:
			return nil, wire.NoSuch(codeNoComment, "comment here")
		}
		if err := h.mayChange(c.Key, cm); err != nil {
			return nil, err
		}
		return h.edit(c, cm, p)
	}
	return h.create(c, at, p)
}

func (h *Handlers) parsePost(c *wire.Call, f wire.Members, tooLong int64) (*post, error) {
	_, hasReference := f["reference"]
	p := &post{
		id:         f.Opaque(c, "comment_id"),
		parent:     f.Opaque(c, "parent_id"),
		properties: f.Object(c, "properties"),
		reference:  reference(f, c),
		unanchor:   hasReference && !f.Has("reference"),
	}
	if p.id == "" && tooLong == codeBodyOnCreate {
		p.targets = targets(f, c, false)
	}
	var err error
	p.body, err = h.bodyOf(c, f, tooLong)
	return p, err
}

func (h *Handlers) create(c *wire.Call, at world.Venue, p *post) (wire.Object, error) {
	parent, err := h.top(at, p.parent)
	if err != nil {
		return nil, err
	}
	if left, limited := h.room(at); limited && left == 0 {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeCommentLimit, "The plan allows no more comments here.")
	}
	targets, err := h.attachable(c.Key.User, nil, p.targets)
	if err != nil {
		return nil, err
	}
	cm := h.keepComment(world.Comment{
		Profile: at.Profile, FileShare: at.FileShare, Node: at.Node, User: c.Key.User, Parent: parent,
		Body: p.body, Reference: p.reference, Properties: p.properties, Targets: targets, Actor: h.ActorOf(c.Key),
	})
	h.announceNew(cm)
	v := h.view(c)
	return wire.Object{
		{"comment", v.comment(cm, true)},
		{"attachments", v.attachments(cm)},
		{"attachment_count", len(cm.Targets)},
	}, nil
}

// top finds the comment a reply goes under: threads have one level, so a reply to a reply is one to what that replies
// to.
func (h *Handlers) top(at world.Venue, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	parent := h.Comments.byID[id]
	if parent != nil && parent.Parent != "" && parent.venue() == at && !parent.IsDeleted() {
		parent = h.Comments.byID[parent.Parent]
	}
	if parent == nil || parent.venue() != at || parent.IsDeleted() {
		return "", wire.NoSuch(codeNoComment, "parent comment here")
	}
	return parent.ID, nil
}

// updateComment changes a comment by its id.
func (h *Handlers) updateComment(c *wire.Call) (wire.Object, error) {
	cm, err := h.ownComment(c)
	if err != nil {
		return nil, err
	}
	p, err := h.parsePost(c, c.JSON, codeBodyOnUpdate)
	if err != nil {
		return nil, err
	}
	return h.edit(c, cm, p)
}

// edit changes a comment where it is: entity, scope and thread stay.
func (h *Handlers) edit(c *wire.Call, cm *Comment, p *post) (wire.Object, error) {
	before := cm.mentions
	cm.Body = p.body
	if p.reference != nil || p.unanchor {
		cm.Reference = p.reference
	}
	if len(p.properties) > 0 {
		merged := map[string]any{}
		maps.Copy(merged, cm.Properties)
		maps.Copy(merged, p.properties)
		cm.Properties = merged
	}
	cm.version++
	cm.Edited = h.Now().UTC().Truncate(time.Second)
	cm.Updated = cm.Edited
	cm.mentions = h.usersMentioned(cm)
	h.announceChange(cm, "comment_updated", cm.User)
	h.announceMentions(cm, before, time.Time{})
	return wire.Object{{"comment", h.view(c).comment(cm, true)}}, nil
}
