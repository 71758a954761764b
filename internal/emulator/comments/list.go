package comments

import (
	"math"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
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

func readListing(c *wire.Call) listing {
	q := listing{
		limit:     c.Integer("limit", commentsDefault, commentsLeast, commentsMost),
		offset:    c.Integer("offset", 0, 0, math.MaxInt32),
		deleted:   c.Boolean("include_deleted"),
		total:     c.Boolean("include_total"),
		reference: c.Value("reference_type"),
	}
	switch c.Value("sort") {
	case "", "asc":
	case "desc":
		q.descending = true
	default:
		c.Check.Invalid("sort", "asc or desc.")
	}
	if c.Value("page") != "" {
		if c.Value("offset") != "" {
			c.Check.Invalid("page", "Not with offset.")
		}
		q.offset = (c.Integer("page", 1, 1, math.MaxInt32/commentsMost) - 1) * q.limit
	}
	if q.reference != "" && !slices.Contains(referenceTypes(), q.reference) {
		c.Check.Invalid("reference_type", strings.Join(referenceTypes(), ", ")+".")
	}
	return q
}

// matches reports whether a list shows a comment, as far as its parameters go.
func (q *listing) matches(cm *Comment) bool {
	kind, _ := cm.Reference["type"].(string)
	return (q.deleted || !cm.IsDeleted()) && (q.reference == "" || q.reference == kind)
}

// listComments answers with the comments of a venue.
func (h *Handlers) listComments(c *wire.Call) (wire.Object, error) {
	q := readListing(c)
	at, err := h.venueOfPath(c)
	if err != nil {
		return nil, err
	}
	var found []*Comment
	for _, cm := range h.Comments.List {
		if shows(at, cm) && q.matches(cm) && h.Sees(c.Key.User, cm) {
			found = append(found, cm)
		}
	}
	if q.descending {
		slices.Reverse(found)
	}
	v := h.view(c)
	v.count = true
	first := min(q.offset, len(found))
	rows := []wire.Object{}
	for _, cm := range found[first:min(first+q.limit, len(found))] {
		rows = append(rows, v.comment(cm, cm.FileShare == at.FileShare))
	}
	payload := wire.Object{{"comments", rows}, {"count", len(rows)}}
	left, limited := h.room(at)
	payload = append(payload, wire.Member{"allowed", !limited || left > 0})
	if limited {
		payload = append(payload, wire.Member{"remaining", left})
	}
	if q.total {
		payload = append(payload, wire.Member{"total", len(found)}, wire.Member{"limit", q.limit},
			wire.Member{"offset", q.offset})
	}
	return payload, nil
}

// shows reports whether a list of a venue holds a comment. A node of a workspace shows what File Share recipients wrote
// on it as well; recipients see nothing of the workspace's.
func shows(at world.Venue, cm *Comment) bool {
	switch {
	case cm.Profile != at.Profile:
		return false
	case at.Node == "":
		return cm.FileShare == "" && cm.indexed
	case at.FileShare != "":
		return cm.FileShare == at.FileShare && cm.Node == at.Node
	}
	return cm.Node == at.Node
}

// room is how many comments the plan still allows. Those of File Shares do not count for the workspace.
func (h *Handlers) room(at world.Venue) (left int, limited bool) {
	if h.Options.Comments.Limit <= 0 {
		return 0, false
	}
	left = h.Options.Comments.Limit
	for _, cm := range h.Comments.List {
		if cm.Profile == at.Profile && cm.FileShare == at.FileShare && !cm.IsDeleted() {
			left--
		}
	}
	return max(0, left), true
}

// commentDetails answers with one comment.
func (h *Handlers) commentDetails(c *wire.Call) (wire.Object, error) {
	cm, err := h.commentOfPath(c)
	if err != nil {
		return nil, err
	}
	v := h.view(c)
	v.nulls, v.count, v.whole = true, true, true
	return wire.Object{{"comment", v.comment(cm, v.inside(cm))}}, nil
}

func (v view) inside(cm *Comment) bool { return v.h.inside(v.user, cm) }
