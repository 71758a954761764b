package emulator

import (
	"maps"
	"net/http"
	"time"
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
func (s *Server) postComment(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, refusal := s.venueOfPath(c)
	if refusal != nil {
		return *refusal
	}
	f, refusal := c.readJSON()
	if refusal != nil {
		return *refusal
	}
	if refusal := s.state.mayPost(c.key, at); refusal != nil {
		return *refusal
	}
	p, refusal := s.parsePost(c, f, codeBodyOnCreate)
	if refusal != nil {
		return *refusal
	}
	if p.id != "" {
		cm, refusal := s.commentFor(c.key, p.id)
		switch {
		case refusal != nil:
			return *refusal
		case cm.venue() != at:
			return *noSuch(codeNoComment, "comment here")
		}
		if refusal := s.mayChange(c.key, cm); refusal != nil {
			return *refusal
		}
		return s.edit(c, cm, p)
	}
	return s.create(c, at, p)
}

func (s *Server) parsePost(c *call, f fields, tooLong int64) (*post, *answer) {
	_, hasReference := f["reference"]
	p := &post{
		id:         f.opaque(c, "comment_id"),
		parent:     f.opaque(c, "parent_id"),
		properties: f.object(c, "properties"),
		reference:  f.reference(c),
		unanchor:   hasReference && !f.has("reference"),
	}
	if p.id == "" && tooLong == codeBodyOnCreate {
		p.targets = f.targets(c, false)
	}
	var refusal *answer
	p.body, refusal = s.bodyOf(c, f, tooLong)
	return p, refusal
}

func (s *Server) create(c *call, at venue, p *post) answer {
	st := &s.state
	parent, refusal := st.top(at, p.parent)
	if refusal != nil {
		return *refusal
	}
	if left, limited := s.room(at); limited && left == 0 {
		return refuse(http.StatusNotAcceptable, codeCommentLimit, "The plan allows no more comments here.")
	}
	targets, refusal := st.attachable(c.key.User, nil, p.targets)
	if refusal != nil {
		return *refusal
	}
	cm := s.keepComment(Comment{
		Profile: at.profile, FileShare: at.fileShare, Node: at.node, User: c.key.User, Parent: parent,
		Body: p.body, Reference: p.reference, Properties: p.properties, Targets: targets, Actor: st.actorOf(c.key),
	})
	s.announceNew(cm)
	v := s.view(c)
	return ok(
		member{"comment", v.comment(cm, true)},
		member{"attachments", v.attachments(cm)},
		member{"attachment_count", len(cm.Targets)},
	)
}

// top finds the comment a reply goes under: threads have one level, so a reply to a reply is one to what that replies
// to.
func (st *state) top(at venue, id string) (string, *answer) {
	if id == "" {
		return "", nil
	}
	parent := st.comments.byID[id]
	if parent != nil && parent.Parent != "" && parent.venue() == at && !parent.deleted() {
		parent = st.comments.byID[parent.Parent]
	}
	if parent == nil || parent.venue() != at || parent.deleted() {
		return "", noSuch(codeNoComment, "parent comment here")
	}
	return parent.ID, nil
}

// updateComment changes a comment by its id.
func (s *Server) updateComment(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	cm, f, refusal := s.ownWithBody(c)
	if refusal != nil {
		return *refusal
	}
	p, refusal := s.parsePost(c, f, codeBodyOnUpdate)
	if refusal != nil {
		return *refusal
	}
	return s.edit(c, cm, p)
}

// edit changes a comment where it is: entity, scope and thread stay.
func (s *Server) edit(c *call, cm *comment, p *post) answer {
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
	cm.Edited = s.now().UTC().Truncate(time.Second)
	cm.updated = cm.Edited
	cm.mentions = s.state.usersMentioned(cm)
	s.announceChange(cm, "comment_updated", cm.User)
	s.announceMentions(cm, before, time.Time{})
	return ok(member{"comment", s.view(c).comment(cm, true)})
}

// actorOf is the attribution of a credential.
func (st *state) actorOf(k *credential) *Actor {
	a := st.actor(k.User)
	if a.Kind == "agent" {
		return a
	}
	a.CredentialType = k.typeName()
	switch k.kind {
	case apiKey:
		a.Kind = "api_key"
	case accessToken:
		a.Kind = "app"
	case sessionToken, limitedToken:
	}
	if k.AgentName != "" {
		a.Kind, a.AgentName, a.NameSource = "agent", k.AgentName, "declared"
	}
	return a
}
