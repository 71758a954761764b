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

type listing struct {
	descending bool
	page       wire.Page
	deleted    bool
	reference  string
	total      bool
}

const listingQuery = "sort limit offset page include_deleted include_total reference_type"

// readListing reads the parameters of a list of comments: order, page and filters. A page
// can be given by its offset or its number, but not by both.
func readListing(c *wire.Call) listing {
	q := listing{
		page: wire.Page{
			Limit:  c.Integer("limit", commentsDefault, commentsLeast, commentsMost),
			Offset: c.Integer("offset", 0, 0, math.MaxInt32),
		},
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
		c.Check.InvalidIf(c.Value("offset") != "", "page", "Not with offset.")
		q.page.Offset = (c.Integer("page", 1, 1, math.MaxInt32/commentsMost) - 1) * q.page.Limit
	}
	c.Check.InvalidIf(q.reference != "" && !slices.Contains(referenceTypes(), q.reference),
		"reference_type", strings.Join(referenceTypes(), ", ")+".")
	return q
}

// matches reports whether the listing has comments of the type of a comment and, if the
// comment is deleted, has deleted comments.
func (q *listing) matches(cm *Comment) bool {
	kind, _ := cm.Reference["type"].(string)
	return (q.deleted || !cm.IsDeleted()) && (q.reference == "" || q.reference == kind)
}

// listComments returns a page of the comments on a profile, node or File Share that the
// caller sees, and how many more the plan allows there.
func (h *Handlers) listComments(c *wire.Call) (wire.Object, error) {
	q := readListing(c)
	at, err := h.venueOfPath(c)
	if err != nil {
		return nil, err
	}
	found := wire.Filter(h.Comments.List, func(cm *Comment) bool {
		return isListed(at, cm) && q.matches(cm) && h.Sees(c.Key.User, cm)
	})
	if q.descending {
		slices.Reverse(found)
	}
	v := h.view(c)
	v.withAttachmentCount = true // and without the attachments themselves
	rows := wire.Rows(wire.PageOf(found, q.page), func(cm *Comment) wire.Object {
		isInVenue := cm.FileShare == at.FileShare // the list of a node has those on its File Shares, too
		return v.comment(cm, isInVenue)
	})
	payload := wire.Object{{"comments", rows}, {"count", len(rows)}}
	left, limited := h.commentsLeft(at)
	payload = append(payload, wire.Member{"allowed", !limited || left > 0})
	payload = payload.With(limited, "remaining", left)
	if q.total {
		payload = append(payload, wire.Member{"total", len(found)}, wire.Member{"limit", q.page.Limit},
			wire.Member{"offset", q.page.Offset})
	}
	return payload, nil
}

// isListed reports whether the list of comments of a venue has a comment. The list of a
// node also has the comments on its File Shares, while that of a File Share has only its
// own. The list of a whole profile lacks comments on File Shares, and those from before
// threadsBegan, which are not indexed.
func isListed(at world.Venue, cm *Comment) bool {
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

// commentsLeft returns how many more comments the plan (an option) allows in a venue, and
// false if there is no limit. A profile with its nodes has one limit, and each File Share
// its own. Deleted comments do not count.
func (h *Handlers) commentsLeft(at world.Venue) (left int, limited bool) {
	if h.w.Options.Comments.Limit <= 0 {
		return 0, false
	}
	left = h.w.Options.Comments.Limit
	for _, cm := range h.Comments.List {
		if cm.Profile == at.Profile && cm.FileShare == at.FileShare && !cm.IsDeleted() {
			left--
		}
	}
	return max(0, left), true
}

// commentDetails returns one comment with all its members. For a viewer who sees the comment outside
// the place to which it belongs (its venue), can_edit, can_delete and can_reply are false.
func (h *Handlers) commentDetails(c *wire.Call, cm *Comment) (wire.Object, error) {
	v := h.view(c)
	v.withNulls, v.withAttachmentCount, v.withDetails = true, true, true
	return wire.Object{{"comment", v.comment(cm, v.inVenueOf(cm))}}, nil
}

// inVenueOf reports whether the viewer sees a comment in its own venue, and not through
// another one.
func (v view) inVenueOf(cm *Comment) bool { return v.h.seenInVenue(v.user, cm) }

// view renders the comments of one kind of response for one user.
type view struct {
	h    *Handlers
	user string

	withNulls           bool // members without value are sent as null
	withAttachmentCount bool
	withDetails         bool // the attachments, and when it was deleted
	withProperties      bool
}

// view returns the view for the response to a call, without the members of details.
func (h *Handlers) view(c *wire.Call) view {
	return view{h: h, user: c.Key.User, withProperties: h.w.Options.Comments.Properties}
}

// omitted is the value of a member that is left out.
type omitted struct{}

// onlyIf returns a value if the condition is true, and otherwise the mark of a member that
// is left out of the response.
func onlyIf(condition bool, value any) any {
	if condition {
		return value
	}
	return omitted{}
}

const inVenue = true // in comment: it is shown in its own venue

// comment renders a comment for the user of the view, with the members that the view
// asks for. If isInVenue is false, the user sees the comment outside the place to which it
// belongs, and can change nothing. Recipients of a File Share do not see its workspace.
func (v view) comment(cm *Comment, isInVenue bool) wire.Object {
	var kind, profile any
	if cm.FileShare == "" || v.h.w.AtLeast(cm.Profile, v.user, world.Member) {
		kind, profile = wire.TextOrNull(v.h.w.KindOf(cm.Profile)), wire.ProfileOrNull(cm.Profile)
	}
	mentions := []any{}
	for _, user := range cm.mentions {
		mentions = append(mentions, wire.ProfileID(user))
	}
	changeable := isInVenue && !cm.IsDeleted()
	mayComment := v.h.mayComment(v.user, cm.venue())
	return slices.DeleteFunc(wire.Object{
		{"id", wire.Hyphenated(cm.ID)},
		{"entity", cm.entity()},
		{"user_id", wire.ProfileID(cm.User)},
		{"actor", world.ActorObject(*cm.Actor)},
		{"parent_id", wire.TextOrNull(wire.Hyphenated(cm.Parent))},
		{"body", cm.Body},
		{"profile_type", kind},
		{"profile_id", profile},
		{"scope_id", wire.ProfileOrNull(cm.FileShare)},
		{"linked_entity_type", wire.TextOrNull(cm.LinkedEntityType)},
		{"linked_entity_id", wire.TextOrNull(cm.LinkedEntity)},
		{"external_author_email", wire.TextOrNull(cm.ExternalAuthorEmail)},
		{"external_author_name", wire.TextOrNull(cm.ExternalAuthorName)},
		{"external_author_token_id", wire.TextOrNull(cm.ExternalAuthorTokenID)},
		{"reference", orNull(cm.Reference)},
		{"mentions", mentions},
		{"reactions", cm.countReactions()},
		{"user_reaction", wire.TextOrNull(cm.reactions[v.user])},
		{"version_hash", wire.TextOrNull(cm.hash())},
		{"version", cm.version},
		{"attachment_count", onlyIf(v.withAttachmentCount, len(cm.Targets))},
		{"attachments", onlyIf(v.withDetails, v.attachments(cm))},
		{"properties", onlyIf(v.withProperties, wire.FromMap(cm.Properties))},
		{"edited_at", wire.StampOrNull(cm.Edited)},
		{"can_edit", changeable && cm.User == v.user && mayComment},
		{"can_delete", changeable && v.h.mayDelete(v.user, cm)},
		{"can_reply", changeable && cm.Parent == "" && mayComment},
		{"created", wire.Stamp(cm.Created.Unix())},
		{"updated", wire.Stamp(cm.Updated.Unix())},
		{"deleted", onlyIf(v.withDetails, wire.StampOrNull(cm.Deleted))},
	}, func(m wire.Member) bool { return m.Value == omitted{} || m.Value == nil && !v.withNulls })
}

// entity returns the ID of the node or, without one, of the profile that a comment is
// on.
func (cm *Comment) entity() any {
	if cm.Node != "" {
		return wire.Hyphenated(cm.Node)
	}
	return wire.ProfileID(cm.Profile)
}

// countReactions returns how often each emoji was used in reactions.
func (cm *Comment) countReactions() wire.Object {
	counts := map[string]any{}
	for _, emoji := range cm.reactions {
		n, _ := counts[emoji].(int)
		counts[emoji] = n + 1
	}
	return wire.FromMap(counts)
}

// attachments renders the objects that are attached to a comment, without the names of
// those that the viewer may not see.
func (v view) attachments(cm *Comment) []wire.Object {
	return wire.Rows(cm.Targets, func(id string) wire.Object {
		t := v.h.target(id, v.user)
		row := wire.Object{{"target_id", t.id}, {"type", t.kind}, {"available", t.available}}
		row = row.With(t.available, "name", t.name)
		return row
	})
}

type target struct {
	id        any
	kind      string
	name      string
	available bool // to the user in question
}

// target describes an attachment of a comment: the node or profile that has the id. It is
// available if the user may open it. The form of the id shows whether it is a node or a
// profile, even if the object was deleted.
func (h *Handlers) target(id, userID string) target {
	if !wire.IsProfile(id) {
		t := target{id: wire.Hyphenated(id), kind: "node"}
		if n := h.w.AnyNode(id); n != nil {
			t.name = n.Name
			t.available = !n.Trashed && h.w.Role(n.Profile, userID) != ""
		}
		return t
	}
	t := target{id: wire.ProfileID(id), kind: h.w.KindOf(id), name: h.w.ProfileName(id)}
	t.available = h.w.Role(id, userID) != ""
	if f := h.w.FileShare(id); f != nil {
		t.available = h.w.AdmitsTo(f, userID)
	}
	return t
}

// orNull returns a map, or nil for a nil map: JSON then has null, while [wire.Encode]
// writes a nil map as an empty one, [].
func orNull(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}
