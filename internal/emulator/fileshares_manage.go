package emulator

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	linkTextMost = 255           // characters of a title or a password
	linkLifeMost = 3_155_760_000 // seconds
	previewed    = 3             // grants in a row of a list
)

// fileShareRoutes is the part of the table that is about File Shares.
func (s *Server) fileShareRoutes() []*route {
	const get, post, patch, del = "GET", "POST", "PATCH", "DELETE"
	const workspace, one = "/current/workspace/{workspace_id}/", "/current/fileshare/{fileshare_id}/"
	const stored, upload = one + "storage/", "/current/upload/"
	return []*route{
		{op: "fileshares.Create", method: post, pattern: workspace + "create/fileshare/", fields: "node " + fileShareFields, handle: s.createFileShare},
		{op: "fileshares.List", method: get, pattern: workspace + "list/fileshares/", query: "limit offset", handle: s.listFileShares},
		{op: "fileshares.Get", method: get, pattern: one + "details/", visit: true, handle: s.fileShareDetails},
		{op: "fileshares.Update", method: post, pattern: one + "update/", fields: "node " + fileShareFields, handle: s.updateFileShare},
		{op: "fileshares.Update", method: patch, pattern: one + "update/", fields: "node " + fileShareFields, handle: s.updateFileShare},
		{op: "fileshares.Delete", method: del, pattern: one + "delete/", handle: s.deleteFileShare},
		{op: "fileshares.Grants.List", method: get, pattern: one + "grants/", handle: s.listGrants},
		{op: "fileshares.Grants.Set", method: post, pattern: one + "grants/", fields: "user email capability", handle: s.setGrant},
		{op: "fileshares.Grants.Revoke", method: del, pattern: one + "grants/", query: "user email", handle: s.revokeGrant},
		{op: "fileshares.Download", method: get, pattern: stored + "read/", visit: true, handle: s.downloadFileShare},
		{op: "fileshares.Preview", method: get, pattern: stored + "preview/{type}/read/", visit: true, handle: s.previewFileShare},
		{op: opPreviewHop, method: get, pattern: stored + "preview/{type}/file/", open: true, query: "download_token", handle: s.previewFile},
		{op: "fileshares.Versions.List", method: get, pattern: stored + "versions/", visit: true, handle: s.listVersions},
		{op: "fileshares.Versions.Read", method: get, pattern: stored + "versions/{version_id}/read/", visit: true, handle: s.readVersion},
		{op: "fileshares.Metadata", method: get, pattern: stored + "metadata/details/", visit: true, handle: s.fileShareMetadata},
		{op: "fileshares.Uploads.Create", method: post, pattern: upload, large: true, visit: true, fields: "instance_id if_version_id file_id name size action profile_type folder_id chunk", handle: s.createUpload},
		{op: "fileshares.Uploads.Chunk", method: post, pattern: upload + "{upload_id}/chunk/", large: true, fields: "chunk", query: "order size", handle: s.uploadChunk},
		{op: "fileshares.Uploads.Complete", method: post, pattern: upload + "{upload_id}/complete/", handle: s.completeUpload},
		{op: "fileshares.Uploads.Get", method: get, pattern: upload + "{upload_id}/details/", handle: s.uploadDetails},
	}
}

// createFileShare makes a link to a file of a workspace.
func (s *Server) createFileShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	id, refusal := s.workspaceToManage(c, write)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	c.check.status = s.o.FileShares.InvalidStatus
	form := s.readFileShare(c, true)
	node, _ := c.field("node")
	n := st.node(id, plain(node))
	switch {
	case node == "":
		c.check.missing("node", "The id of a file.")
	case !isOpaque(plain(node)):
		c.check.mistyped("node", "opaque_id")
	case n != nil && n.Kind != kindFile:
		c.check.invalid("node", "The node is not a file.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if n == nil {
		return *noSuch(codeNoNode, kindFile)
	}
	f := FileShare{Workspace: id, Node: n.ID, Owner: c.key.User}
	form.apply(&f)
	kept := s.keepFileShare(f)
	s.tellFileShare(kept, Event{Name: "file_share_created", CallingUser: c.key.User, Actor: st.actorOf(c.key)})
	st.touch(s.now(), kept.ID, fieldSettings)
	return ok(member{kindFileShare, s.fileShareObject(c, kept)})
}

// fileShareForm is what a call says of a File Share. What it does not name stays as it is.
type fileShareForm struct {
	title, access, password *string
	comments                *bool
	expires                 *time.Time // zero is never again
}

// apply changes a File Share and tells whether anything is different now.
func (form *fileShareForm) apply(f *FileShare) bool {
	changed := replace(&f.Title, form.title)
	changed = replace(&f.Access, form.access) || changed
	changed = replace(&f.Password, form.password) || changed
	changed = replace(&f.CommentsEnabled, form.comments) || changed
	return replace(&f.Expires, form.expires) || changed
}

func replace[T comparable](field, value *T) bool {
	if value == nil || *field == *value {
		return false
	}
	*field = *value
	return true
}

// fileShareFields are the fields that creating and updating have in common.
const fileShareFields = "title access_option password comments_enabled expires expires_at"

// readFileShare reads what may be said of a File Share when it is made or changed.
func (s *Server) readFileShare(c *call, isNew bool) fileShareForm {
	var form fileShareForm
	if title, given := c.field("title"); given {
		form.title = &title
		if utf8.RuneCountInString(title) > linkTextMost {
			c.check.invalid("title", "At most 255 characters.")
		}
	}
	if access, given := c.field("access_option"); given {
		form.access = &access
		if access != anyoneWithLink && access != anyRegistered && access != namedPeople {
			c.check.invalid("access_option", "anyone_with_link, any_registered or named_people.")
		}
	}
	if password, given := c.field("password"); given {
		form.password = &password
		switch n := utf8.RuneCountInString(password); {
		case n == 0 && isNew, n > linkTextMost, !utf8.ValidString(password):
			c.check.invalid("password", "1 to 255 characters.")
		}
	}
	if text, given := c.field("comments_enabled"); given {
		enabled := text == "true"
		form.comments = &enabled
		if !enabled && text != "false" {
			c.check.mistyped("comments_enabled", "boolean")
		}
	}
	form.expires = s.readExpiry(c)
	return form
}

// readExpiry reads an expiry in either of its forms, seconds from now or a moment. An empty moment, or the word null,
// takes it away.
func (s *Server) readExpiry(c *call) *time.Time {
	after, relative := c.field("expires")
	moment, absolute := c.field("expires_at")
	switch {
	case relative && absolute:
		c.check.invalid("expires", "Either expires or expires_at.")
	case relative:
		seconds, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			c.check.mistyped("expires", "integer")
		} else if seconds < 1 || seconds > linkLifeMost {
			c.check.invalid("expires", "1 to 3155760000 seconds.")
		}
		return new(s.now().Add(time.Duration(seconds) * time.Second).UTC().Truncate(time.Second))
	case absolute && (moment == "" || strings.EqualFold(moment, "null")):
		return &time.Time{}
	case absolute:
		ends := c.readDateTime("expires_at", moment)
		if !ends.IsZero() && !ends.After(s.now()) {
			c.check.invalid("expires_at", "In the future.")
		}
		return &ends
	}
	return nil
}

// updateFileShare changes a File Share. Nobody is told of a change that changes nothing.
func (s *Server) updateFileShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, refusal := s.fileShareToManage(c, write)
	if refusal != nil {
		return *refusal
	}
	if !c.readForm() {
		return noForm()
	}
	c.check.status = s.o.FileShares.InvalidStatus
	form := s.readFileShare(c, false)
	if _, given := c.field("node"); given {
		c.check.invalid("node", "A File Share keeps its file.")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	if form.apply(&f.FileShare) {
		f.Updated = s.now()
		s.watchExpiry(f)
		s.tellFileShare(f, Event{Name: "file_share_updated", CallingUser: c.key.User, Actor: s.state.actorOf(c.key)})
		s.state.touch(s.now(), f.ID, fieldSettings)
	}
	return ok(member{kindFileShare, s.fileShareObject(c, f)})
}

// deleteFileShare takes a link back.
func (s *Server) deleteFileShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, refusal := s.fileShareToManage(c, write)
	if refusal != nil {
		return *refusal
	}
	s.dropFileShare(f, c.key.User)
	return ok()
}

// listFileShares lists the links to files of a workspace, those that have expired included.
func (s *Server) listFileShares(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	id, refusal := s.workspaceToManage(c, read)
	if refusal != nil {
		return *refusal
	}
	c.check.status = s.o.FileShares.InvalidStatus
	limit := c.integer("limit", listDefault, 1, listLimit)
	offset := c.integer("offset", 0, 0, math.MaxInt32)
	if refusal := c.check.refusal(); refusal != nil {
		return *refusal
	}
	rows, total := []object{}, 0
	for _, link := range st.linkList {
		f := st.fileShares[link]
		if f.Workspace != id {
			continue
		}
		if total >= offset && len(rows) < limit {
			rows = append(rows, append(s.fileShareObject(c, f),
				member{"grant_count", len(f.Grants)},
				member{"grants_preview", s.grantRows(f, previewed)},
			))
		}
		total++
	}
	a := ok(member{"fileshares", rows})
	if !s.o.FileShares.Unpaged {
		a.payload = append(a.payload, member{"pagination", object{
			{"total", total}, {"limit", limit}, {"offset", offset}, {"has_more", offset+len(rows) < total},
		}})
	}
	return a
}

// fileShareObject is a File Share as the caller sees it. Only those who manage it see where it belongs, and only those
// with an account are told whether they do.
func (s *Server) fileShareObject(c *call, f *fileShare) object {
	st := &s.state
	have := s.capability(f, c.userID())
	o := object{
		{kindFileShare, profileID(f.ID)},
		{"id_alt", hyphenated(f.IDAlt)},
		{"title", optional(f.Title)},
		{"access_option", f.Access},
		{"has_password", f.Password != ""},
		{"comments_enabled", f.takesComments()},
		{"expires", optionalStamp(f.Expires)},
		{"created", stamp(f.Created.Unix())},
		{"updated", stamp(f.Updated.Unix())},
		{"file", s.sharedFile(st.shared(f), have)},
	}
	if !s.o.FileShares.NoCapabilities {
		o = append(o, member{"effective_capability", have.String()})
	}
	if c.key == nil {
		return o
	}
	manages := st.manages(f.Workspace, c.key.User)
	o = append(o, member{"can_manage", manages})
	if manages {
		o = append(o, member{"workspace_id", profileID(f.Workspace)}, member{"creator_uid", optionalProfile(f.Owner)})
	}
	return o
}

// sharedFile is the file behind a link. What was read out of its bytes is for those who may have them.
func (s *Server) sharedFile(n *node, have capability) any {
	if n == nil {
		return nil
	}
	o := object{
		{"id", hyphenated(n.ID)},
		{"name", n.Name},
		{"type", n.Kind},
		{"size", n.Size},
		{"mimetype", n.MimeType},
		{"version", hyphenated(n.current().ID)},
		{"created", stamp(n.Created.Unix())},
		{"modified", stamp(n.Updated.Unix())},
	}
	if have >= canDownload {
		o = append(o, member{"summary", s.state.summaryObject(n, full)})
	}
	return o
}

// fileShareDetails answers with a File Share.
func (s *Server) fileShareDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, _, refusal := s.recipient(c, c.segment("fileshare_id"), canView)
	if refusal != nil {
		return *refusal
	}
	return ok(member{kindFileShare, s.fileShareObject(c, f)})
}

// fileShareMetadata answers what the file is and whether metadata can be read out of it, and never with any.
func (s *Server) fileShareMetadata(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, n, refusal := s.recipient(c, c.segment("fileshare_id"), canView)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"node_id", s.sharedFile(n, s.capability(f, c.userID()))}, member{"autoextractable", s.state.extractable(n)})
}
