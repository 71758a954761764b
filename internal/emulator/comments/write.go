package comments

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

type post struct {
	id, parent string
	body       string
	properties map[string]any
	reference  map[string]any
	unanchor   bool // a reference that is null
	targets    []string
}

const commentFields = "body comment_id parent_id properties reference target_id target_ids"

// postComment creates a comment or, if the body has the id of a comment in the same
// venue, changes that comment.
func (h *Handlers) postComment(c *wire.Call, at world.Venue) (wire.Object, error) {
	if err := h.refusePost(c.Key, at); err != nil {
		return nil, err
	}
	p, err := h.parsePost(c, forCreate)
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
		if err := h.refuseChange(c.Key, cm); err != nil {
			return nil, err
		}
		return h.editComment(c, cm, p)
	}
	return h.createComment(c, at, p)
}

// Which call sends the body that parsePost reads.
const (
	forCreate = true
	forUpdate = false
)

// parsePost reads the body of a call that creates a comment or, without create, changes
// one. The two calls refuse a text that is too long with different codes. A call that
// creates may have the ID of a comment, which it then changes instead. Targets, the files
// to attach, are read only for a new comment.
func (h *Handlers) parsePost(c *wire.Call, create bool) (*post, error) {
	f, tooLong := c.JSON, int64(codeBodyOnUpdate)
	if create {
		tooLong = codeBodyOnCreate
	}
	_, hasReference := f["reference"]
	referenceIsNull := hasReference && !f.Has("reference")
	p := &post{
		id:         f.Opaque(c, "comment_id"),
		parent:     f.Opaque(c, "parent_id"),
		properties: f.Object(c, "properties"),
		reference:  readReference(f, c),
		unanchor:   referenceIsNull,
	}
	if isNew := create && p.id == ""; isNew {
		p.targets = readTargets(f, c, optional)
	}
	var err error
	p.body, err = h.bodyOf(c, f, tooLong)
	return p, err
}

// createComment adds a comment to a venue. It refuses one whose parent is not there, whose
// attachments the caller may not see, or that the plan does not allow.
func (h *Handlers) createComment(c *wire.Call, at world.Venue, p *post) (wire.Object, error) {
	parent, err := h.threadOf(at, p.parent)
	if err != nil {
		return nil, err
	}
	if left, limited := h.commentsLeft(at); limited && left == 0 {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeCommentLimit, "The plan allows no more comments here.")
	}
	var has []string // nil: a new comment has no attachments yet
	targets, err := h.mergeAttachments(c.Key.User, has, p.targets)
	if err != nil {
		return nil, err
	}
	cm := h.keepComment(world.Comment{
		Profile: at.Profile, FileShare: at.FileShare, Node: at.Node, User: c.Key.User, Parent: parent,
		Body: p.body, Reference: p.reference, Properties: p.properties, Targets: targets, Actor: h.w.ActorOf(c.Key),
	})
	h.announceNew(cm)
	v := h.view(c)
	return wire.Object{
		{"comment", v.comment(cm, inVenue)},
		{"attachments", v.attachments(cm)},
		{"attachment_count", len(cm.Targets)},
	}, nil
}

// threadOf returns the id of the comment that begins the thread of a reply to the
// comment id, "" without an id. Threads have one level: a reply to a reply belongs to
// the comment that began it.
func (h *Handlers) threadOf(at world.Venue, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	isHere := func(cm *Comment) bool { return cm != nil && cm.venue() == at && !cm.IsDeleted() }
	parent := h.Comments.byID[id]
	if isHere(parent) && parent.Parent != "" {
		parent = h.Comments.byID[parent.Parent]
	}
	if !isHere(parent) {
		return "", wire.NoSuch(codeNoComment, "parent comment here")
	}
	return parent.ID, nil
}

// updateComment changes the text, reference and properties of a comment.
func (h *Handlers) updateComment(c *wire.Call, cm *Comment) (wire.Object, error) {
	p, err := h.parsePost(c, forUpdate)
	if err != nil {
		return nil, err
	}
	return h.editComment(c, cm, p)
}

// editComment changes the text, reference and properties of a comment, but not where it
// is. Properties are merged, a reference is replaced or, if it is sent as null
// (unanchor), removed. The caller is the author, who sees the comment in its own venue.
func (h *Handlers) editComment(c *wire.Call, cm *Comment, p *post) (wire.Object, error) {
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
	cm.Edited = h.w.Now().UTC().Truncate(time.Second)
	cm.Updated = cm.Edited
	cm.mentions = h.usersMentioned(cm)
	h.announceChange(cm, "comment_updated", cm.User)
	var created time.Time // zero means now
	h.announceMentions(cm, before, created)
	return wire.Object{{"comment", h.view(c).comment(cm, inVenue)}}, nil
}

const (
	referenceMost = 2048 // bytes, encoded
	exactMost     = 500
	contextMost   = 100
)

// referenceTypes returns the types of references: of what kind of file a comment marks
// a place.
func referenceTypes() []string { return []string{"video", "image", "document", "general", "audio"} }

// readReference reads the place in a file that a comment is about, such as a page, a
// region or a quoted text (exact), nil if the call names none. Unknown members are kept.
// The type text is another name of document, and requires the quoted text.
func readReference(f wire.Members, c *wire.Call) map[string]any {
	r := f.Object(c, "reference")
	if r == nil {
		return nil
	}
	kind, _ := r["type"].(string)
	if kind == "text" {
		kind = "document"
		c.Check.MissingIf(r["exact"] == nil, "reference.exact", "A text anchor quotes its text.")
	}
	c.Check.InvalidIf(!slices.Contains(referenceTypes(), kind), "reference.type", strings.Join(referenceTypes(), ", ")+".")
	c.Check.InvalidIf(encodedLength(r) > referenceMost, "reference", "At most 2048 bytes.")
	for name, rule := range anchorRules() {
		if v, found := r[name]; found && !rule(v) {
			c.Check.Invalid("reference."+name, "The value is not acceptable.")
		}
	}
	for _, name := range [...]string{"prefix", "suffix", "start_offset", "end_offset"} {
		c.Check.InvalidIf(r[name] != nil && r["exact"] == nil, "reference."+name, "Only beside exact.")
	}
	if kind != "" {
		r["type"] = kind
	}
	return r
}

// anchorRules returns, for each member of a reference (the place in a file that a comment is
// about), a function that reports whether its value is valid.
func anchorRules() map[string]func(any) bool {
	const secondsMost = 1 << 31
	upTo := func(most int) func(any) bool {
		return func(v any) bool {
			text, isText := v.(string)
			return isText && text != "" && utf8.RuneCountInString(text) <= most
		}
	}
	whole := func(least int64) func(any) bool {
		return func(v any) bool {
			n, isNumber := v.(json.Number)
			i, err := n.Int64()
			return isNumber && err == nil && i >= least
		}
	}
	return map[string]func(any) bool{
		"region":       isRegion,
		"timestamp":    func(v any) bool { return isNumber(v, 0, secondsMost) },
		"page":         whole(1),
		"text_snippet": upTo(referenceMost),
		"exact":        upTo(exactMost),
		"prefix":       func(v any) bool { return v == "" || upTo(contextMost)(v) },
		"suffix":       func(v any) bool { return v == "" || upTo(contextMost)(v) },
		"start_offset": whole(0),
		"end_offset":   whole(0),
	}
}

// isRegion reports whether v is a rectangle in fractions of width and height.
func isRegion(v any) bool {
	r, isMap := v.(map[string]any)
	if !isMap {
		return false
	}
	for _, name := range [...]string{"x", "y", "width", "height"} {
		if !isNumber(r[name], 0, 1) {
			return false
		}
	}
	return true
}

// isNumber reports whether a value is a JSON number from least to most.
func isNumber(v any, least, most float64) bool {
	n, isNumber := v.(json.Number)
	x, err := n.Float64()
	return isNumber && err == nil && x >= least && x <= most
}

// encodedLength returns the length of a JSON value as the platform encodes it: 6 bytes
// for a character beyond ASCII, 12 for a surrogate pair. A value that cannot be encoded
// counts as too long.
func encodedLength(v any) int {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return referenceMost + 1
	}
	n := 0
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case r >= 0x10000:
			n += 12
		case r >= utf8.RuneSelf:
			n += 6
		default:
			n++
		}
	}
	return n
}

// bodyOf returns the text of a comment without control characters. It refuses one that is
// empty, has the spam word of the options or more than 500 characters beside its mentions.
// More than 8192 characters, control characters included, are refused with the code tooLong.
func (h *Handlers) bodyOf(c *wire.Call, f wire.Members, tooLong int64) (string, error) {
	body := f.Text(c, "body")
	c.Check.MissingIf(!f.Has("body"), "body", "1 to 8192 characters.")
	if err := c.Check.Err(); err != nil {
		return "", err
	}
	sent := utf8.RuneCountInString(body)
	body = withoutControls(body)
	switch shown := visibleLength(body); {
	case sent > bodyMost:
		return "", wire.Refuse(http.StatusNotAcceptable, tooLong, "The comment has more than 8192 characters.")
	case strings.TrimSpace(body) == "":
		c.Check.Invalid("body", "1 to 8192 characters, not all of them blank.")
		return "", c.Check.Err()
	case shown > visibleTextMost:
		return "", wire.Refuse(http.StatusNotAcceptable, codeVisibleText,
			"The comment shows "+strconv.Itoa(shown)+" characters without its mentions, at most 500 are allowed.")
	case h.w.Options.Comments.SpamWord != "" &&
		strings.Contains(strings.ToLower(body), strings.ToLower(h.w.Options.Comments.SpamWord)):
		return "", wire.Refuse(http.StatusNotAcceptable, codeSpam, "Spam detected")
	default:
		return body, nil
	}
}

const bulkMost = 100

// deleteComment deletes a comment and the replies to it. The response has the comment
// without its attachments.
func (h *Handlers) deleteComment(c *wire.Call, cm *Comment) (wire.Object, error) {
	if err := h.refuseDelete(c.Key, cm); err != nil {
		return nil, err
	}
	h.markDeleted(c, cm)
	for _, reply := range h.Comments.List {
		if reply.Parent == cm.ID && !reply.IsDeleted() {
			h.markDeleted(c, reply)
		}
	}
	v := h.view(c)
	v.withDetails = true
	o := v.comment(cm, v.inVenueOf(cm))
	o = slices.DeleteFunc(o, func(m wire.Member) bool { return m.Key == "attachments" })
	return wire.Object{{"message", "The comment was deleted."}, {"comment", o}}, nil
}

// refuseDelete returns a refusal if the caller may not delete a comment.
func (h *Handlers) refuseDelete(k *wire.Credential, cm *Comment) error {
	switch {
	case cm.IsDeleted():
		return wire.NoSuch(codeNoComment, "comment")
	case h.w.AccessMode(k, cm.venue().ScopeProfile()) < wire.Write:
		return k.ReadOnlyRefusal()
	case !h.mayDelete(k.User, cm):
		return wire.Denied("you may not delete this comment.")
	}
	return nil
}

// markDeleted marks a comment as deleted, and writes the event of that.
func (h *Handlers) markDeleted(c *wire.Call, cm *Comment) {
	cm.Deleted = h.w.Now().UTC().Truncate(time.Second)
	cm.Updated = cm.Deleted
	h.announceChange(cm, "comment_deleted", c.Key.User)
}

// deleteComments deletes several comments, but not the replies to them. The response
// has a result for each or, by the option BulkErrors, only the number and the errors.
func (h *Handlers) deleteComments(c *wire.Call) (wire.Object, error) {
	f := c.JSON
	ids := f.Texts(c, "comment_ids", bulkMost)
	for _, id := range ids {
		if !wire.IsOpaque(wire.Plain(id)) {
			c.Check.Mistyped("comment_ids", "array of opaque_id")
			break
		}
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	var rows, failed []wire.Object
	for _, id := range ids {
		cm, err := h.commentFor(c.Key, wire.Plain(id))
		if err == nil {
			err = h.refuseDelete(c.Key, cm)
		}
		row := wire.Object{{"comment_id", id}, {"result", err == nil}}
		if err == nil {
			h.markDeleted(c, cm)
		} else {
			code, text := wire.RefusalOf(err).Code, wire.RefusalOf(err).Text
			failed = append(failed, wire.Object{{"comment_id", id}, {"code", code}, {"message", text}})
			row = append(row, wire.Member{"error", wire.Object{{"code", code}, {"text", text}}})
		}
		rows = append(rows, row)
	}
	deleted := len(rows) - len(failed)
	if h.w.Options.Comments.BulkErrors {
		return wire.Object{{"count", deleted}, {"errors", failed}}, nil
	}
	return wire.Object{{"deleted", deleted}, {"results", rows}}, nil
}

// react sets the emoji with which the caller reacts to a comment.
func (h *Handlers) react(c *wire.Call, cm *Comment) (wire.Object, error) {
	f := c.JSON
	emoji := f.Text(c, "emoji")
	switch {
	case !f.Has("emoji"):
		c.Check.Missing("emoji", "One emoji.")
	case !isEmoji(emoji):
		c.Check.Invalid("emoji", "One emoji.")
	}
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	return h.setReaction(c, cm, emoji)
}

// unreact removes the reaction of the caller to a comment.
func (h *Handlers) unreact(c *wire.Call, cm *Comment) (wire.Object, error) {
	return h.setReaction(c, cm, "")
}

// setReaction sets the emoji with which the caller reacts to a comment; "" removes it.
// It writes an event only if that changes something. The response is the comment or, by
// the option BareReactions, only its reactions.
func (h *Handlers) setReaction(c *wire.Call, cm *Comment, emoji string) (wire.Object, error) {
	user := c.Key.User
	switch err := h.refusePost(c.Key, cm.venue()); {
	case err != nil:
		return nil, err
	case !h.seenInVenue(user, cm):
		return nil, wire.Denied("comments on a File Share are read-only here.")
	case cm.IsDeleted():
		return nil, deletedRefusal()
	}
	before := cm.reactions[user]
	if emoji == "" {
		delete(cm.reactions, user)
	} else {
		cm.reactions[user] = emoji
	}
	if before != emoji {
		h.announceChange(cm, "comment_reaction", user)
	}
	if h.w.Options.Comments.BareReactions {
		return wire.Object{{"reactions", cm.countReactions()}, {"user_reaction", wire.TextOrNull(emoji)}}, nil
	}
	return wire.Object{{"comment", h.view(c).comment(cm, inVenue)}}, nil
}

const attachmentsMost = 25

// Whether a call must name objects to attach.
const (
	required = true
	optional = false
)

// readTargets returns the IDs of the objects to attach, in their plain form. If they are
// required, a call that names no object is refused.
func readTargets(f wire.Members, c *wire.Call, areRequired bool) []string {
	var ids []string
	one, many := f.Has("target_id"), f.Has("target_ids")
	switch {
	case one && many:
		c.Check.Invalid("target_ids", "Not with target_id.")
	case one:
		ids = []string{f.Text(c, "target_id")}
	case many:
		ids = f.Texts(c, "target_ids", attachmentsMost)
	case areRequired:
		c.Check.Missing("target_id", "Name what to attach.")
	}
	name := "target_ids"
	if one {
		name = "target_id"
	}
	for i, id := range ids {
		if !wire.IsProfile(id) {
			ids[i] = wire.Plain(id)
		}
		if !wire.IsProfile(id) && !wire.IsOpaque(ids[i]) {
			c.Check.Mistyped(name, "opaque_id")
			break
		}
	}
	return ids
}

// mergeAttachments returns the attachments of a comment: has, and then more. It returns a
// refusal if the user cannot see one of the attachments, or there are too many.
func (h *Handlers) mergeAttachments(userID string, has, more []string) ([]string, error) {
	all := slices.Clone(has)
	for _, id := range more {
		if f := h.w.FileShareNamed(id); f != nil {
			id = f.ID
		}
		if !h.target(id, userID).available {
			return nil, wire.NoSuch(codeNoTarget, "object to attach")
		}
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	if len(all) > attachmentsMost {
		return nil, wire.Refuse(http.StatusNotAcceptable, codeAttachedLimit, "A comment has at most 25 attachments.")
	}
	return all, nil
}

// attachments returns the objects that are attached to a comment.
func (h *Handlers) attachments(c *wire.Call, cm *Comment) (wire.Object, error) {
	return wire.Object{{"attachments", h.view(c).attachments(cm)}, {"attachment_count", len(cm.Targets)}}, nil
}

// attach attaches objects to a comment. Those that are attached already are no error.
func (h *Handlers) attach(c *wire.Call, cm *Comment) (wire.Object, error) {
	ids := readTargets(c.JSON, c, required)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	all, err := h.mergeAttachments(c.Key.User, cm.Targets, ids)
	if err != nil {
		return nil, err
	}
	if len(all) > len(cm.Targets) {
		cm.Targets = all
		h.announceChange(cm, "comment_updated", cm.User)
	}
	return h.attachments(c, cm)
}

// detach removes an attachment from a comment. It also succeeds if there is none.
func (h *Handlers) detach(c *wire.Call, cm *Comment) (wire.Object, error) {
	delete(c.JSON, "target_ids") // ignored: a call detaches one object
	ids := readTargets(c.JSON, c, required)
	if err := c.Check.Err(); err != nil {
		return nil, err
	}
	id := ids[0]
	if share := h.w.FileShareNamed(id); share != nil {
		id = share.ID
	}
	removed := slices.Contains(cm.Targets, id)
	if removed {
		cm.Targets = slices.DeleteFunc(slices.Clone(cm.Targets), func(t string) bool { return t == id })
		h.announceChange(cm, "comment_updated", cm.User)
	}
	list, err := h.attachments(c, cm)
	return append(list, wire.Member{"removed", removed}), err
}

// unlinkComment removes the link of a comment to an entity of an old workflow.
func (h *Handlers) unlinkComment(c *wire.Call, cm *Comment) (wire.Object, error) {
	if cm.LinkedEntityType != "" || cm.LinkedEntity != "" {
		cm.LinkedEntityType, cm.LinkedEntity = "", ""
		h.announceChange(cm, "comment_updated", cm.User)
	}
	v := h.view(c)
	v.withNulls = true // the platform sends linked_entity_type and linked_entity_id as null
	return wire.Object{{"comment", v.comment(cm, inVenue)}}, nil
}
