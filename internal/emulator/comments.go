package emulator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// comment is a comment as the platform keeps it.
type comment struct {
	Comment
	number    int  // in the order of arrival
	indexed   bool // lists of a whole profile know it
	version   int
	updated   time.Time
	mentions  []string
	reactions map[string]string // emoji by user
}

type commentState struct {
	byID map[string]*comment
	list []*comment // by creation
}

// venue is where comments are exchanged: people in one cannot reply to those in another.
type venue struct {
	profile   string
	fileShare string
	node      string // "" for the profile as a whole
}

func (cm *comment) venue() venue { return venue{cm.Profile, cm.FileShare, cm.Node} }

// reached is the profile whose scopes decide about a venue.
func (at venue) reached() string { return cmp.Or(at.fileShare, at.profile) }

func (cm *comment) deleted() bool { return !cm.Deleted.IsZero() }

// threads is the day from which on lists of a whole profile know comments. Older ones are found on their node only.
func threads() time.Time { return time.Date(2026, time.March, 15, 0, 0, 0, 0, time.UTC) }

// AddComment puts a comment there, with its events, and returns it with what was filled in.
func (s *Server) AddComment(it Comment) Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	if f := st.fileShares[it.FileShare]; f != nil {
		it.Profile, it.Node = f.Workspace, cmp.Or(it.Node, f.Node)
	}
	it.ID, it.Parent, it.Node = plain(it.ID), plain(it.Parent), plain(it.Node)
	it.Reference, it.Properties, it.Targets = maps.Clone(it.Reference), maps.Clone(it.Properties), slices.Clone(it.Targets)
	for i, id := range it.Targets {
		if !isProfile(id) {
			it.Targets[i] = plain(id)
		}
	}
	given := it.Created
	switch {
	case it.Actor != nil:
		it.Actor = new(*it.Actor)
	case it.Unattributed:
		it.Actor = &Actor{User: it.User, Kind: "unknown"}
	default:
		it.Actor = st.actor(it.User)
	}
	cm := s.keepComment(it)
	cm.indexed = given.IsZero() || given.After(threads())
	s.announceNew(cm)
	it = cm.Comment
	it.ID = hyphenated(it.ID)
	return it
}

// keepComment completes a comment and puts it into the order of creation.
func (s *Server) keepComment(it Comment) *comment {
	list := &s.state.comments
	if it.ID == "" {
		it.ID = "c" + opaque('a', s.o.Seed, uint64(len(list.list))) // two letters begin the ids of comments
	}
	if it.Created.IsZero() {
		it.Created = s.now()
	}
	it.Created = it.Created.UTC().Truncate(time.Second)
	cm := &comment{Comment: it, number: len(list.list), indexed: true, version: 1, updated: it.Created, reactions: map[string]string{}}
	if !it.Edited.IsZero() {
		cm.version, cm.updated = 2, it.Edited
	}
	cm.mentions = s.state.usersMentioned(cm)
	at, _ := slices.BinarySearchFunc(list.list, cm, func(a, b *comment) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.number, b.number))
	})
	list.list = slices.Insert(list.list, at, cm)
	list.byID[it.ID] = cm
	return cm
}

// hash identifies the content of a comment, "" for those from before there were hashes.
func (cm *comment) hash() string {
	if cm.Unattributed {
		return ""
	}
	sum := sha256.Sum256([]byte(cm.Body))
	return hex.EncodeToString(sum[:16])
}

// announceNew writes the events of a new comment, of its own date. It is news to those it mentions and to those it
// answers.
func (s *Server) announceNew(cm *comment) {
	s.tell(cm, Event{Name: "comment_created", CallingUser: cm.User, Created: cm.Created, Actor: cm.Actor})
	s.announceMentions(cm, nil, cm.Created)
	if parent := s.state.comments.byID[cm.Parent]; parent != nil {
		s.tell(cm, Event{Name: "comment_replied", CallingUser: cm.User, User: parent.User, Created: cm.Created})
	}
}

// announceMentions tells those a comment mentions and did not mention before. Nobody needs to be told of oneself.
func (s *Server) announceMentions(cm *comment, before []string, created time.Time) {
	for _, user := range cm.mentions {
		if user != cm.User && !slices.Contains(before, user) {
			s.tell(cm, Event{Name: "comment_mentioned", CallingUser: cm.User, User: user, Created: created})
		}
	}
}

// announceChange writes an event about what somebody just did to a comment.
func (s *Server) announceChange(cm *comment, event, caller string) {
	s.tell(cm, Event{Name: event, CallingUser: caller})
}

// tell writes an event about a comment. What happens on a File Share is told to its workspace and to itself.
func (s *Server) tell(cm *comment, e Event) {
	st := &s.state
	e.Object = cm.Node
	if n := st.nodes[cm.Node]; n != nil {
		e.ObjectName = n.Name
	}
	if st.kind(cm.Profile) == kindShare {
		e.Share, e.Category = cm.Profile, kindShare
	} else {
		e.Workspace = cm.Profile
	}
	s.write(e)
	if cm.FileShare != "" {
		st.touch(s.now(), cm.FileShare, fieldsFor(fieldComments, cm.Node, fieldComments)...)
	}
}

// commentRoutes is the part of the table that is about comments.
func (s *Server) commentRoutes() []*route {
	const get, post, del = "GET", "POST", "DELETE"
	const entity, one = "/current/comments/{entity_type}/{parent_id}/", "/current/comments/{comment_id}/"
	const fileShare = "/current/comments/fileshare/{fileshare_id}/{node_id}/"
	return []*route{
		{op: "comments.List", method: get, pattern: entity, query: listingQuery, handle: s.listComments},
		{
			op: "comments.ListOnNode", method: get, pattern: entity + "{node_id}/", query: listingQuery, handle: s.listComments,
			onFileShare: &route{op: "comments.ListOnFileShare", method: get, pattern: fileShare, query: listingQuery, handle: s.listComments},
		},
		{op: "comments.Create", method: post, pattern: entity, fields: commentFields, handle: s.postComment},
		{
			op: "comments.CreateOnNode", method: post, pattern: entity + "{node_id}/", fields: commentFields, handle: s.postComment,
			onFileShare: &route{op: "comments.CreateOnFileShare", method: post, pattern: fileShare, fields: commentFields, handle: s.postComment},
		},
		{op: "comments.Update", method: post, pattern: one + "update/", fields: "body properties reference", handle: s.updateComment},
		{op: "comments.Get", method: get, pattern: one + "details/", handle: s.commentDetails},
		{op: "comments.Delete", method: del, pattern: one + "delete/", handle: s.deleteComment},
		{op: "comments.DeleteMany", method: post, pattern: "/current/comments/bulk/delete/", fields: "comment_ids", handle: s.deleteComments},
		{op: "comments.React", method: post, pattern: one + "reactions/", fields: "emoji", handle: s.react},
		{op: "comments.Unreact", method: del, pattern: one + "reactions/", handle: s.unreact},
		{op: "comments.Attachments.List", method: get, pattern: one + "attachments/", handle: s.listAttachments},
		{op: "comments.Attachments.Attach", method: post, pattern: one + "attachments/", fields: "target_id target_ids", handle: s.attach},
		{op: "comments.Attachments.Detach", method: post, pattern: one + "attachments/detach/", fields: "target_id", handle: s.detach},
		{op: "comments.Unlink", method: post, pattern: one + "unlink/", handle: s.unlinkComment},
	}
}
