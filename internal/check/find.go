package check

import (
	"cmp"
	"strings"

	"github.com/fastio-go/fastio/ai"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/comments"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fileshares"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/orgs"
	"github.com/fastio-go/fastio/shares"
	"github.com/fastio-go/fastio/storage"
	"github.com/fastio-go/fastio/workspaces"
)

// This file has the calls whose results a walk goes on with. A call has a pointer to its
// walk: what is added to a list of the walk, such as c.orgs, stays after the call.

// listOrgs lists organizations and adds the first ones to the list orgs of the walk, for
// further calls.
func (c call) listOrgs(scope orgs.Scope) error {
	o := &orgs.ListOptions{Scope: scope, Limit: c.limit, Offset: c.offset}
	list, err := c.Orgs.List(c, o, c.opts...)
	if err != nil || scope == orgs.ScopeAvailable || scope == orgs.ScopeInvited {
		return err // only members may read the details of these organizations
	}
	for _, org := range list.Orgs {
		if c.addToSample("org", string(org.ID), len(c.orgs) < maxOrgs) {
			c.orgs = append(c.orgs, place{Profile: api.Org(org.ID), Name: org.Domain})
		}
	}
	return nil
}

// addWorkspaces keeps workspaces of a list for further calls, a few of each
// organization. It takes the results of a call and returns its error.
func (c call) addWorkspaces(list *workspaces.Page, err error) error {
	if err != nil {
		return err
	}
	for _, w := range list.Workspaces {
		sameOrg := 0
		for _, other := range c.workspaces {
			if other.Org == w.OrgID {
				sameOrg++
			}
		}
		hasRoom := len(c.workspaces) < maxOrgs*maxWorkspaces && sameOrg < maxWorkspaces
		if c.addToSample("workspace", string(w.ID), hasRoom) {
			c.workspaces = append(c.workspaces, place{
				Profile: api.Workspace(w.ID), Name: cmp.Or(w.FolderName, w.Name), Org: w.OrgID,
			})
		}
	}
	return nil
}

// listShares lists shares and keeps the first ones for further calls.
func (c call) listShares(scope shares.Scope) error {
	o := &shares.ListOptions{Scope: scope}
	if scope != shares.ScopeAvailable { // that list has no pages
		o.Limit, o.Offset = c.limit, c.offset
	}
	list, err := c.Shares.List(c, o, c.opts...)
	if err == nil && scope != shares.ScopeAvailable { // the caller may not read those
		c.addShares(list.Shares, maxShares)
	}
	return err
}

// listSharesOf lists the shares of a workspace and keeps the first ones for
// further calls.
func (c call) listSharesOf(workspace api.ID) error {
	list, err := c.Shares.ListByWorkspace(
		c, workspace, &shares.ByWorkspaceOptions{Limit: c.limit, Offset: c.offset}, c.opts...)
	if err == nil {
		c.addShares(list.Shares, len(c.shares)+maxShares)
	}
	return err
}

// addShares keeps shares for further calls, until c.shares has limit of them, or maxAllShares
// if that is less.
func (c call) addShares(list []*shares.Share, limit int) {
	for _, s := range list {
		hasRoom := len(c.shares) < min(limit, maxAllShares)
		if c.addToSample("share", string(s.ID), hasRoom) {
			c.shares = append(c.shares, place{Profile: api.Share(s.ID), Name: s.Title})
		}
	}
}

// getShare gets a share and keeps its custom name for a call by name.
func (c call) getShare(id api.ID) error {
	s, err := c.Shares.Get(c, id, c.opts...)
	if err == nil && s.CustomName != "" {
		c.names[s.ID] = s.CustomName
	}
	return err
}

// listNodes lists a folder and keeps some of its nodes for further calls: one of each kind, at
// most maxNodes of a workspace or share, and maxAllNodes in all. The kind of a node is its type
// together with the category of its content.
func (c call) listNodes(in api.Profile, folder api.OpaqueID) error {
	list, err := c.Storage.List(c, in, folder, nil, c.opts...)
	if err != nil {
		return err
	}
	isFull := len(c.opts) == 0 // nodes at a lower level of output lack members that further calls need
	for _, n := range list.Nodes {
		kind := "node " + string(in.ID) + " " + string(n.Type) + " " + n.MIMECategory
		hasRoom := len(c.nodes) < maxAllNodes && c.kept[string(in.ID)] < maxNodes
		isWanted := isFull && !c.hasKind[kind]
		if isWanted && c.addToSample("node", string(n.ID), hasRoom) {
			c.hasKind[kind] = true
			c.kept[string(in.ID)]++
			found := nodeOf(in, n)
			c.nodes = append(c.nodes, found)
			c.previews[n.ID] = found.Preview
		}
	}
	return nil
}

// nodeOf returns what further calls need to know of a node.
func nodeOf(in api.Profile, n *storage.Node) node {
	return node{
		In: in, ID: n.ID, Folder: n.Type == storage.NodeTypeFolder, Note: n.Type == storage.NodeTypeNote,
		File: n.Type == storage.NodeTypeFile, Picture: strings.HasPrefix(n.MIMEType, "image/"), Preview: hasPreview(n),
	}
}

// hasPreview reports whether the preview that is read exists.
func hasPreview(n *storage.Node) bool {
	p, ok := n.Previews[string(storage.PreviewTypeThumbnail)]
	return ok && (p.Ready || p.State == storage.PreviewStateReady)
}

// listComments lists comments and keeps the IDs of the first ones in the walk, for further
// calls.
func (c call) listComments(on comments.Target) error {
	w := c.walk
	o := &comments.ListOptions{Limit: c.limit, Offset: c.offset, IncludeTotal: true}
	list, err := c.Comments.List(c, on, o)
	if err != nil {
		return err
	}
	for _, v := range list.Comments {
		hasRoom := len(w.comments) < maxComments
		if w.addToSample("comment", string(v.ID), hasRoom) {
			w.comments = append(w.comments, v.ID)
		}
	}
	return nil
}

// searchEvents searches one page of events, sets the cursor of the next one, and keeps an
// event of each name for further calls.
func (c call) searchEvents(in api.Profile) error {
	page, err := c.Events.Search(c, events.Query{Profile: in, Limit: c.limit, Cursor: c.cursor}, c.opts...)
	if err != nil {
		return err
	}
	if page.Pagination != nil {
		*c.next = page.Pagination.NextCursor
	}
	for _, e := range page.Events {
		kind := "event " + string(e.Name)
		hasRoom := len(c.events) < maxEvents
		if !c.hasKind[kind] && c.addToSample("event", string(e.ID), hasRoom) {
			c.hasKind[kind] = true
			c.events = append(c.events, e.ID)
		}
	}
	return nil
}

// listThreads lists AI threads and keeps a few of each kind of profile for
// further calls.
func (c call) listThreads(in api.Profile) error {
	list, err := c.AI.Threads.List(c, in, &ai.ThreadListOptions{Kind: ai.ThreadKindAll})
	if err != nil {
		return err
	}
	for _, t := range list.Threads {
		kept := "threads of " + string(in.Kind)
		if c.addToSample("thread", string(t.ID), c.kept[kept] < maxThreads) {
			c.kept[kept]++
			c.threads = append(c.threads, thread{in, t.ID})
		}
	}
	return nil
}

func (c call) listDeletedThreads(in api.Profile) error {
	return onlyError(c.AI.Threads.List(c, in, &ai.ThreadListOptions{Deleted: true}))
}

// listTurns lists the turns of an AI thread and keeps the first ones for
// further calls.
func (c call) listTurns(t thread) error {
	list, err := c.AI.Turns.List(c, t.In, t.ID, nil)
	if err != nil {
		return err
	}
	for i, v := range list.Turns {
		if i < maxTurns && v.ID != "" {
			c.turns = append(c.turns, turn{t, v.ID, v.Status.Ended()})
		}
	}
	return nil
}

// listFileShares lists File Shares. It keeps the first ones (maxOthers) in the walk, which c
// embeds as a pointer, for further calls.
func (c call) listFileShares(workspace api.ID) error {
	list, err := c.FileShares.List(c, workspace, &fileshares.ListOptions{Limit: c.limit, Offset: c.offset})
	if err != nil {
		return err
	}
	for _, f := range list.FileShares {
		if c.addToSample("fileshare", string(f.ID), len(c.fileShares) < maxOthers) {
			found := fileShare{ID: f.ID}
			if f.File != nil {
				found.Node, found.Preview = f.File.ID, hasPreview(f.File)
			}
			c.fileShares = append(c.fileShares, found)
		}
	}
	return nil
}

// listQuickShares lists QuickShares and keeps the first ones for further calls.
//
//nolint:staticcheck // deprecated endpoints are checked too
func (c call) listQuickShares(workspace api.ID) error {
	list, err := c.Shares.QuickShares.List(
		c, workspace, &shares.QuickShareListOptions{Limit: c.limit, Offset: c.offset})
	if err != nil {
		return err
	}
	for _, q := range list.QuickShares {
		if c.addToSample("quickshare", string(q.ID), len(c.quick) < maxOthers) {
			found := quickShare{ID: q.ID}
			if q.Node != nil {
				found.Node, found.Note, found.Preview = q.Node.ID, q.Node.Type == storage.NodeTypeNote, hasPreview(q.Node)
			}
			c.quick = append(c.quick, found)
		}
	}
	return nil
}

// listFields lists one page of the fields of metadata, keeps the fields for
// further calls, and sets the cursor of the next page.
func (c call) listFields(workspace api.ID) error {
	list, err := c.Metadata.Fields.List(c, workspace, c.pageOptions(), c.opts...)
	if err != nil {
		return err
	}
	*c.next = list.NextCursor
	for _, f := range list.Fields {
		c.addPart("field", workspace, f.Name)
	}
	return nil
}

// listFilters lists one page of the filters, sets the cursor of the next one,
// and keeps them for further calls.
func (c call) listFilters(workspace api.ID) error {
	list, err := c.Metadata.Filters.List(c, workspace, c.pageOptions())
	if err != nil {
		return err
	}
	*c.next = list.NextCursor
	for _, f := range list.Filters {
		c.addPart("filter", workspace, string(f.ID))
	}
	return nil
}

// pageOptions returns the options for the page that the call is to read.
func (c call) pageOptions() *metadata.ListOptions {
	return &metadata.ListOptions{PageSize: c.limit, Cursor: c.cursor}
}

// listIntents lists intents and keeps them for further calls.
func (c call) listIntents(workspace api.ID) error {
	list, err := c.Activity.Intents.List(c, workspace, nil)
	if err != nil {
		return err
	}
	for _, v := range list.Intents {
		c.addPart("intent", workspace, string(v.ID))
	}
	return nil
}

// addPart keeps an object of a workspace for further calls, at most maxOthers of a kind, and each once:
// addToSample returns false if it is kept already, or hasRoom is false.
func (c call) addPart(kind string, workspace api.ID, id string) {
	hasRoom := id != "" && len(c.parts[kind]) < maxOthers
	if c.addToSample(kind, string(workspace)+" "+id, hasRoom) {
		c.parts[kind] = append(c.parts[kind], part{workspace, id})
	}
}

// addOther keeps the ID of an object of the caller, such as a session, for further calls,
// which need nothing else of it.
func (c call) addOther(kind, id string) {
	if c.addToSample(kind, id, len(c.others[kind]) < maxOthers) {
		c.others[kind] = append(c.others[kind], id)
	}
}

// pictures lists the pictures of a profile and keeps them for further calls.
func (c call) pictures(in api.Profile) error {
	list, err := c.Assets.List(c, in)
	for _, a := range list {
		id := string(in.Kind) + " " + string(a.Name)
		if c.addToSample("picture", id, a.Name != "") {
			c.profilePictures = append(c.profilePictures, pictureOf{in, a.Name})
		}
	}
	return err
}
