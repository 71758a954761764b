package emulator

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
)

const (
	feedLimit   = 1000
	feedDefault = 250
)

// changes answers the change feed of an organization: storage changes in the order they became visible.
func (s *Server) changes(c *call) answer {
	if s.o.Events.NoChanges {
		return *unknownRoute()
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := &s.state
	orgID, refusal := s.orgOfPath(c)
	if refusal != nil {
		return *refusal
	}
	limit := c.integer("limit", feedDefault, 1, feedLimit)
	if refusal := c.check.refusal(); refusal != nil {
		if name, _ := c.check.failed[0].get("name"); name == "limit" {
			refusal.failure.code = codeFeedLimit
		}
		return *refusal
	}
	readable := st.readable(c.key, orgID)
	switch {
	case len(readable) == 0 && !st.touches(c.key, orgID):
		return st.outOfScope(orgID)
	case len(readable) == 0:
		return refuse(http.StatusForbidden, codeFeedEmpty, "Nothing in this organization is readable.")
	}
	binding := s.feedBinding(c, orgID, st.retention)
	text := c.value("cursor")
	if text == "" {
		return s.bootstrap(c, orgID, binding, readable)
	}
	start, valid := s.openCursor(text, binding)
	if !valid {
		return s.refuseFeedCursor(c, orgID, text)
	}
	page, more := st.log.feedPage(orgID, start, limit, c.now.UnixNano(), readable)
	rows := make([]object, 0, len(page))
	for _, n := range page {
		rows = append(rows, st.change(n))
		start = st.log.shownAt(n)
	}
	return feedAnswer(rows, s.cursor(start, binding), more, readable, nil)
}

// feedBinding names what a cursor of the feed is bound to.
func (s *Server) feedBinding(c *call, orgID string, retention uint64) string {
	return fmt.Sprint("feed ", s.state.cursors, " ", retention, " ", orgID, " ", c.key.Token, " ", c.key.Scopes)
}

// refuseFeedCursor tells a cursor that outlived the retention from one that was never good.
func (s *Server) refuseFeedCursor(c *call, orgID, text string) answer {
	for old := range s.state.retention {
		if _, valid := s.openCursor(text, s.feedBinding(c, orgID, old)); valid {
			return because(http.StatusNotAcceptable, codeFeedExpired, "cursor_expired", "The cursor is older than what the feed keeps.")
		}
	}
	return refuse(http.StatusNotAcceptable, codeFeedCursor, "The cursor is not valid.")
}

// bootstrap hands out the head of the feed and the profiles it covers.
func (s *Server) bootstrap(c *call, orgID, binding string, readable []string) answer {
	l := &s.state.log
	var head position
	feed := l.feed[orgID]
	visible, _ := slices.BinarySearchFunc(feed, c.now.UnixNano()+1, func(n uint32, nanos int64) int {
		return l.shownAt(n).compare(position{timeKey(nanos), 0})
	})
	if visible > 0 {
		head = l.shownAt(feed[visible-1])
	}
	items := make([]object, 0, len(readable))
	for _, id := range readable {
		items = append(items, object{{"id", profileID(id)}, {"type", s.state.kind(id)}})
	}
	return feedAnswer([]object{}, s.cursor(head, binding), false, readable, items)
}

func feedAnswer(rows []object, cursor string, more bool, readable []string, items []object) answer {
	h := fnv.New32a()
	for _, id := range readable {
		h.Write([]byte(id))
	}
	return ok(
		member{"changes", rows},
		member{"cursor", cursor},
		member{"has_more", more},
		member{"profiles", object{
			{"version", strconv.FormatUint(uint64(h.Sum32()), 16)},
			{"items", items},
		}},
	)
}

// feedPage collects readable changes behind a position.
func (l *eventLog) feedPage(orgID string, start position, limit int, now int64, readable []string) (page []uint32, more bool) {
	feed := l.feed[orgID]
	from, found := slices.BinarySearchFunc(feed, start, func(n uint32, p position) int { return l.shownAt(n).compare(p) })
	if found {
		from++
	}
	for _, n := range feed[from:] {
		e := &l.entries[n]
		if e.shown > now {
			break
		}
		if l.kinds.values[e.kind].visibility == internalOnly || !slices.Contains(readable, l.profileID(e)) {
			continue
		}
		if len(page) == limit {
			return page, true
		}
		page = append(page, n)
	}
	return page, false
}

// readable lists the workspaces and shares of an organization that a credential reads as a member.
func (st *state) readable(k *credential, orgID string) []string {
	var ids []string
	for _, id := range slices.Concat(st.spaceList, st.shareList) {
		if st.orgOf(id) == orgID && rank(st.role(id, k.User)) >= rank(Member) && st.covers(k, id) >= read {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// touches tells whether a credential reaches an organization or anything in it.
func (st *state) touches(k *credential, orgID string) bool {
	return st.covers(k, orgID) != noAccess || slices.ContainsFunc(slices.Concat(st.spaceList, st.shareList), func(id string) bool {
		return st.orgOf(id) == orgID && st.covers(k, id) != noAccess
	})
}

func (st *state) change(n uint32) object {
	l := &st.log
	e := &l.entries[n]
	id := l.profileID(e)
	return object{
		{"event_id", hyphenated(l.id(n))},
		{"event", l.kinds.values[e.kind].event},
		{"profile_id", profileID(id)},
		{"profile_type", st.kind(id)},
		{"object_id", optional(l.objectID(e.object))},
		{"created", stamp(e.created)},
	}
}

func changesParams() []parameter {
	return []parameter{
		{name: "org_id", source: "path", kind: "string", constraint: "id or domain", required: true},
		{name: "cursor", source: "query", kind: "string", constraint: "omitted to begin"},
		{name: "limit", source: "query", kind: "integer", constraint: "1 to 1000, default 250"},
	}
}
