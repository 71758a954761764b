package emulator

import (
	"math"
	"slices"
	"strings"
)

const (
	commentsMost    = 200
	commentsLeast   = 2
	commentsDefault = 50
)

// listing is a list call with every parameter read.
type listing struct {
	descending    bool
	limit, offset int
	deleted       bool
	reference     string
	total         bool
}

const listingQuery = "sort limit offset page include_deleted include_total reference_type"

func (c *call) listing() listing {
	q := listing{
		limit:     c.integer("limit", commentsDefault, commentsLeast, commentsMost),
		offset:    c.integer("offset", 0, 0, math.MaxInt32),
		deleted:   c.boolean("include_deleted"),
		total:     c.boolean("include_total"),
		reference: c.value("reference_type"),
	}
	switch c.value("sort") {
	case "", "asc":
	case "desc":
		q.descending = true
	default:
		c.check.invalid("sort", "asc or desc.")
	}
	if c.value("page") != "" {
		if c.value("offset") != "" {
			c.check.invalid("page", "Not with offset.")
		}
		q.offset = (c.integer("page", 1, 1, math.MaxInt32/commentsMost) - 1) * q.limit
	}
	if q.reference != "" && !slices.Contains(referenceTypes(), q.reference) {
		c.check.invalid("reference_type", strings.Join(referenceTypes(), ", ")+".")
	}
	return q
}

// boolean reads a flag of the query.
func (c *call) boolean(name string) bool {
	switch c.value(name) {
	case "true", "1":
		return true
	case "", "false", "0":
	default:
		c.check.mistyped(name, "boolean")
	}
	return false
}

// matches tells whether a list shows a comment, as far as its parameters go.
func (q *listing) matches(cm *comment) bool {
	kind, _ := cm.Reference["type"].(string)
	return (q.deleted || !cm.deleted()) && (q.reference == "" || q.reference == kind)
}

// listComments answers with the comments of a venue.
func (s *Server) listComments(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q := c.listing()
	at, refusal := s.venueOfPath(c)
	if refusal != nil {
		return *refusal
	}
	var found []*comment
	for _, cm := range s.state.comments.list {
		if at.shows(cm) && q.matches(cm) && s.state.sees(c.key.User, cm) {
			found = append(found, cm)
		}
	}
	if q.descending {
		slices.Reverse(found)
	}
	v := s.view(c)
	v.count = true
	first := min(q.offset, len(found))
	rows := []object{}
	for _, cm := range found[first:min(first+q.limit, len(found))] {
		rows = append(rows, v.comment(cm, cm.FileShare == at.fileShare))
	}
	payload := object{{"comments", rows}, {"count", len(rows)}}
	left, limited := s.room(at)
	payload = append(payload, member{"allowed", !limited || left > 0})
	if limited {
		payload = append(payload, member{"remaining", left})
	}
	if q.total {
		payload = append(payload, member{"total", len(found)}, member{"limit", q.limit}, member{"offset", q.offset})
	}
	return ok(payload...)
}

// shows tells whether a list of a venue holds a comment. A node of a workspace shows what File Share recipients wrote
// on it as well; recipients see nothing of the workspace's.
func (at venue) shows(cm *comment) bool {
	switch {
	case cm.Profile != at.profile:
		return false
	case at.node == "":
		return cm.FileShare == "" && cm.indexed
	case at.fileShare != "":
		return cm.FileShare == at.fileShare && cm.Node == at.node
	}
	return cm.Node == at.node
}

// room is how many comments the plan still allows. Those of File Shares do not count for the workspace.
func (s *Server) room(at venue) (left int, limited bool) {
	if s.o.Comments.Limit <= 0 {
		return 0, false
	}
	left = s.o.Comments.Limit
	for _, cm := range s.state.comments.list {
		if cm.Profile == at.profile && cm.FileShare == at.fileShare && !cm.deleted() {
			left--
		}
	}
	return max(0, left), true
}

// commentDetails answers with one comment.
func (s *Server) commentDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	cm, refusal := s.commentOfPath(c)
	if refusal != nil {
		return *refusal
	}
	v := s.view(c)
	v.nulls, v.count, v.whole = true, true, true
	return ok(member{"comment", v.comment(cm, v.inside(cm))})
}

func (v view) inside(cm *comment) bool { return v.st.inside(v.user, cm) }
