package emulator

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// Codes of QuickShares, the emulator's own.
const (
	codeNoQuickShare = 199851
	codeBandwidth    = 199852
	codePreviewLimit = 199853
	codeCorrupt      = 199854
)

const opQuickPreviewHop = "shares.QuickShares.PreviewFile" // is reached by redirects alone

// statusBandwidth is the platform's own.
const statusBandwidth = 450

// What a QuickShare may transfer.
const (
	quickBytesMost   = 10 << 30
	quickTimes       = 100 // the size of the file
	quickPreviewsFor = 20  // times the size of the file
)

// quickShares are the links there are, by arrival.
type quickShares struct {
	byID map[string]*QuickShare
	list []string
}

// AddQuickShare adds a QuickShare, or replaces the one with the same id.
func (s *Server) AddQuickShare(q QuickShare) QuickShare {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	if q.ID = plain(q.ID); q.ID == "" {
		q.ID = opaque('k', s.o.Seed, s.nextSerial())
	}
	q.Node = plain(q.Node)
	if n := st.nodes[q.Node]; n != nil {
		q.Workspace = cmp.Or(q.Workspace, n.Profile)
		q.Creator = cmp.Or(q.Creator, n.Creator)
	}
	if q.Created.IsZero() {
		q.Created = s.now()
	}
	if st.quickShares.byID[q.ID] == nil {
		st.quickShares.list = append(st.quickShares.list, q.ID)
	}
	st.quickShares.byID[q.ID] = new(q)
	return q
}

// quickShareRoutes is the part of the table that is about QuickShares. That reads are where those of File Shares are
// is assumed.
func (s *Server) quickShareRoutes() []*route {
	const get = http.MethodGet
	const open, node = "/current/quickshare/{quickshare_id}/", "/current/workspace/{workspace_id}/storage/{node_id}/quickshare/"
	return []*route{
		{op: "shares.QuickShares.Get", method: get, pattern: open + "details/", open: true, handle: s.quickShareDetails},
		{op: "shares.QuickShares.Download", method: get, pattern: open + "storage/read/", open: true, handle: s.downloadQuickShare},
		{op: "shares.QuickShares.ReadNote", method: get, pattern: open + "storage/readnote/", open: true, handle: s.readQuickNote},
		{op: "shares.QuickShares.Preview", method: get, pattern: open + "storage/preview/{type}/read/", open: true, handle: s.previewQuickShare},
		{op: opQuickPreviewHop, method: get, pattern: open + "storage/preview/{type}/file/", open: true, query: "download_token", handle: s.previewQuickFile},
		{op: "shares.QuickShares.GetByNode", method: get, pattern: node, handle: s.quickShareOfNode},
		{op: "shares.QuickShares.Revoke", method: http.MethodDelete, pattern: node, handle: s.revokeQuickShare},
		{op: "shares.QuickShares.List", method: get, pattern: "/current/workspace/{workspace_id}/quickshares/", params: listParams("workspace_id"), handle: s.listQuickShares},
		{op: "shares.QuickShares.Create", method: http.MethodPost, pattern: node, handle: s.createQuickShare},
	}
}

// createQuickShare refuses what is deprecated, extending a QuickShare included.
func (s *Server) createQuickShare(*call) answer {
	return refuse(http.StatusForbidden, codeNoQuickShares, "Quickshare Deprecated: make a File Share.")
}

// quickFile is what a QuickShare leads to, nil when its time is over or the file is gone.
func (st *state) quickFile(q *QuickShare) *node {
	if q == nil || !q.Expires.IsZero() && past(q.Expires, st.clock()) {
		return nil
	}
	return st.node(q.Workspace, q.Node)
}

// quickShareOfPath finds the QuickShare of a call, and its file.
func (s *Server) quickShareOfPath(c *call) (*QuickShare, *node, *answer) {
	id := plain(c.segment("quickshare_id"))
	if !isOpaque(id) {
		c.check.mistyped("quickshare_id", "opaque_id")
	}
	if refusal := c.check.refusal(); refusal != nil {
		return nil, nil, refusal
	}
	q := s.state.quickShares.byID[id]
	n := s.state.quickFile(q)
	if n == nil {
		return nil, nil, noSuch(codeNoQuickShare, "QuickShare")
	}
	return q, n, nil
}

// corrupt refuses the content of a file that cannot be read.
func (s *Server) corrupt(n *node) *answer {
	if s.o.Shares.CorruptSource == "" || !strings.Contains(n.Name, s.o.Shares.CorruptSource) {
		return nil
	}
	a := refuse(http.StatusUnprocessableEntity, codeCorrupt, "The source is corrupt.")
	return &a
}

// quickShareToRead finds the QuickShare of a call, and its file if that can be read.
func (s *Server) quickShareToRead(c *call) (*QuickShare, *node, *answer) {
	q, n, refusal := s.quickShareOfPath(c)
	if refusal == nil {
		refusal = cmp.Or(s.corrupt(n), n.withheld())
	}
	return q, n, refusal
}

// quickShareDetails answers anyone.
func (s *Server) quickShareDetails(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q, _, refusal := s.quickShareOfPath(c)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"quickshare", s.quickShareObject(q.ID, "", c.out.level)})
}

// quickShareObject renders a QuickShare. Its node shows no more than a visitor may know.
func (s *Server) quickShareObject(id, _ string, lv level) object {
	q := s.state.quickShares.byID[id]
	var node any
	if n := s.state.node(q.Workspace, q.Node); n != nil {
		node = s.nodeObject(store{profile: q.Workspace, owner: q.Workspace}, n, max(lv, standard))
	}
	return object{
		{"id", hyphenated(q.ID)},
		{"node", node},
		{"creator_uid", optionalProfile(q.Creator)},
		{"limit_exceeded", q.LimitExceeded},
		{"expires", when(q.Expires)},
		{"created", stamp(q.Created.Unix())},
	}
}

// downloadQuickShare answers with the bytes of the file, as long as there were not too many.
func (s *Server) downloadQuickShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, n, refusal := s.quickShareToRead(c)
	switch {
	case refusal != nil:
		return *refusal
	case !n.hasContent():
		return refuse(http.StatusNotAcceptable, codeNoContent, "A "+n.Kind+" has no content.")
	case q.LimitExceeded:
		return refuse(statusBandwidth, codeBandwidth, "Bandwidth Limit: the link was used too much.")
	}
	a := s.serveVersion(c, n, n.current())
	_, length := a.raw.open()
	if a.raw.status >= http.StatusMultipleChoices {
		return a
	}
	q.Transferred += length
	q.LimitExceeded = q.Transferred >= min(quickBytesMost, quickTimes*n.Size) && q.Transferred > 0
	s.tellNode(n, Event{Name: "workspace_quickshare_file_downloaded"})
	return a
}

// readQuickNote answers with the text of a note and the note.
func (s *Server) readQuickNote(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q, n, refusal := s.quickShareToRead(c)
	switch {
	case refusal != nil:
		return *refusal
	case n.Kind != kindNote:
		return refuse(http.StatusNotAcceptable, codeNotNote, "Node is not a note")
	}
	note := s.nodeObject(store{profile: q.Workspace, owner: q.Workspace}, n, max(c.out.level, standard))
	return ok(member{"content", sanitized(n.Content)}, member{"note", note})
}

// previewQuickShare answers with a preview of the file, as long as there were not too many bytes of them.
func (s *Server) previewQuickShare(c *call) answer {
	return s.previewed(c, func(q *QuickShare, n *node) answer {
		return s.preview(c, n, c.segment("type"), "quickshare/"+q.ID, q.ID)
	})
}

// previewQuickFile is where redirects of previews lead.
func (s *Server) previewQuickFile(c *call) answer {
	return s.previewed(c, func(q *QuickShare, _ *node) answer { return s.firstFile(c, q.ID) })
}

// previewed counts the bytes of a preview.
func (s *Server) previewed(c *call, show func(*QuickShare, *node) answer) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, n, refusal := s.quickShareToRead(c)
	switch {
	case refusal != nil:
		return *refusal
	case q.Previewed > 0 && q.Previewed >= quickPreviewsFor*n.Size:
		return refuse(http.StatusUnauthorized, codePreviewLimit, "The previews of the link are used up.")
	}
	a := show(q, n)
	if a.raw != nil && a.raw.status < http.StatusMultipleChoices {
		_, length := a.raw.open()
		q.Previewed += length
		s.tellNode(n, Event{Name: "workspace_quickshare_file_previewed"})
	}
	return a
}

// quickShareToManage finds the QuickShare of the node of a call, for members of its workspace.
func (s *Server) quickShareToManage(c *call) (*QuickShare, *answer) {
	in, n, refusal := s.nodeOfPath(c)
	switch {
	case refusal != nil:
		return nil, refusal
	case !in.insider(&s.state):
		return nil, denied("QuickShares are for members of the workspace.")
	}
	for _, id := range s.state.quickShares.list {
		if q := s.state.quickShares.byID[id]; q.Node == n.ID {
			return q, nil
		}
	}
	return nil, noSuch(codeNoQuickShare, "QuickShare")
}

func (s *Server) quickShareOfNode(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	q, refusal := s.quickShareToManage(c)
	if refusal != nil {
		return *refusal
	}
	return ok(member{"quickshare", s.quickShareObject(q.ID, c.key.User, c.out.level)})
}

// revokeQuickShare ends a link. The file stays.
func (s *Server) revokeQuickShare(c *call) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	q, refusal := s.quickShareToManage(c)
	switch {
	case refusal != nil:
		return *refusal
	case st.covers(c.key, q.Workspace) < write:
		return *c.key.refuseWrite()
	}
	delete(st.quickShares.byID, q.ID)
	st.quickShares.list = slices.DeleteFunc(st.quickShares.list, func(id string) bool { return id == q.ID })
	s.tellNode(st.nodes[q.Node], Event{
		Name: "workspace_quickshare_deleted", CallingUser: c.key.User, Actor: st.actorOf(c.key),
	})
	return ok()
}

// listQuickShares answers members of a workspace.
func (s *Server) listQuickShares(c *call) answer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	in, refusal := s.storageOfPath(c)
	switch {
	case refusal != nil:
		return *refusal
	case !in.insider(st):
		return *denied("QuickShares are for members of the workspace.")
	}
	ids := slices.DeleteFunc(slices.Clone(st.quickShares.list), func(id string) bool {
		return st.quickShares.byID[id].Workspace != in.profile
	})
	return s.list(c, "quickshares", ids, s.quickShareObject)
}
