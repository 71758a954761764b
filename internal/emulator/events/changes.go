package events

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"sort"
	"strconv"

	"github.com/fastio-go/fastio/internal/emulator/wire"
	"github.com/fastio-go/fastio/internal/emulator/world"
)

const (
	feedLimit   = 1000
	feedDefault = 250
)

// changes returns a page of the change feed of an organization: the events that changed
// something, in the order in which they became visible. A call without a cursor gets no
// changes, but the cursor for those from now on.
func (h *Handlers) changes(c *wire.Call) (wire.Object, error) {
	if h.w.Options.Events.NoChanges { // as servers without the feed
		return nil, wire.UnknownRoute()
	}
	orgID, err := h.w.OrgOfPath(c)
	if err != nil {
		return nil, err
	}
	limit := c.Integer("limit", feedDefault, 1, feedLimit)
	if err := c.Check.Err(); err != nil {
		firstFailed, _ := c.Check.Failed[0].Get("name")
		if firstFailed == "limit" { // the only parameter with a code of its own
			wire.RefusalOf(err).Code = codeFeedLimit
		}
		return nil, err
	}
	readable := h.readable(c.Key, orgID)
	switch {
	case len(readable) == 0 && !h.w.CoversPartOf(c.Key, orgID):
		return nil, h.w.OutOfScopeRefusal(orgID)
	case len(readable) == 0:
		return nil, wire.Refuse(http.StatusForbidden, codeFeedEmpty, "Nothing in this organization is readable.")
	}
	binding := h.feedBinding(c, orgID, h.retention)
	text := c.Value("cursor")
	if text == "" {
		return h.bootstrap(c, orgID, binding, readable)
	}
	start, valid := h.w.OpenCursor(text, binding)
	if !valid {
		return nil, h.refuseFeedCursor(c, orgID, text)
	}
	page, more := feedPage(&h.w.Log, orgID, start, limit, c.Now.UnixNano(), readable)
	if len(page) > 0 {
		start = h.w.Log.ShownAt(page[len(page)-1])
	}
	var noItems []wire.Object // only bootstrap lists the profiles
	return feedAnswer(wire.Rows(page, h.change), h.w.Cursor(start, binding), more, readable, noItems)
}

// feedBinding returns what a cursor of the feed is bound to: the organization and the
// credential, and two numbers, which are raised to make the cursors of all lists (Cursors)
// or only those of the feed (retention) invalid.
func (h *Handlers) feedBinding(c *wire.Call, orgID string, retention uint64) string {
	return fmt.Sprint("feed ", h.w.Cursors, " ", retention, " ", orgID, " ", c.Key.Token, " ", c.Key.Scopes)
}

// refuseFeedCursor returns the refusal of a cursor of the feed. It says that the cursor has
// expired, if the cursor was valid before a call of ExpireChanges, and otherwise that the
// cursor is not valid.
func (h *Handlers) refuseFeedCursor(c *wire.Call, orgID, text string) error {
	for old := range h.retention { // which counts the calls of ExpireChanges
		if _, valid := h.w.OpenCursor(text, h.feedBinding(c, orgID, old)); valid {
			return wire.RefuseWithReason(http.StatusNotAcceptable, codeFeedExpired, "cursor_expired",
				"The cursor is older than what the feed keeps.")
		}
	}
	return wire.Refuse(http.StatusNotAcceptable, codeFeedCursor, "The cursor is not valid.")
}

// bootstrap returns the cursor for changes from now on, with the profiles that the caller
// can read.
func (h *Handlers) bootstrap(c *wire.Call, orgID, binding string, readable []string) (wire.Object, error) {
	l := &h.w.Log
	var head world.Position    // of the latest visible change; without one, the beginning of the feed
	feed := l.ChangesOf(orgID) // in the order in which changes become visible
	now := c.Now.UnixNano()
	countVisible := sort.Search(len(feed), func(i int) bool { return l.Entries[feed[i]].Shown > now })
	if countVisible > 0 {
		head = l.ShownAt(feed[countVisible-1])
	}
	items := wire.Rows(readable,
		func(id string) wire.Object { return wire.Object{{"id", wire.ProfileID(id)}, {"type", h.w.KindOf(id)}} })
	const more = false
	return feedAnswer([]wire.Object{}, h.w.Cursor(head, binding), more, readable, items)
}

// feedAnswer renders a page of the feed. The version of profiles is a hash of the ids of
// the readable ones, so that a client sees when they change. items renders these profiles; it
// is nil if the response has only their version.
func feedAnswer(
	rows []wire.Object, cursor string, more bool, readable []string, items []wire.Object,
) (wire.Object, error) {
	h := fnv.New32a()
	for _, id := range readable {
		h.Write([]byte(id))
	}
	return wire.Object{
		{"changes", rows},
		{"cursor", cursor},
		{"has_more", more},
		{"profiles", wire.Object{{"version", strconv.FormatUint(uint64(h.Sum32()), 16)}, {"items", items}}},
	}, nil
}

// feedPage returns the rows of the log with the readable changes behind a position, at most
// limit, and whether there are more. A change that becomes visible after now, a time in Unix
// nanoseconds, is left out.
func feedPage(
	l *world.Log, orgID string, start world.Position, limit int, now int64, readable []string,
) (page []uint32, more bool) {
	feed := l.ChangesOf(orgID)
	from, found := slices.BinarySearchFunc(feed, start,
		func(n uint32, p world.Position) int { return l.ShownAt(n).Compare(p) })
	if found {
		from++
	}
	for _, n := range feed[from:] {
		e := &l.Entries[n]
		if e.Shown > now {
			break
		}
		if l.Kinds.Values[e.Kind].Visibility == world.InternalOnly || !slices.Contains(readable, l.ProfileID(e)) {
			continue
		}
		if len(page) == limit {
			return page, true
		}
		page = append(page, n)
	}
	return page, false
}

// readable lists the workspaces and shares of an organization that a credential reads as
// a member.
func (h *Handlers) readable(k *wire.Credential, orgID string) []string {
	ids := wire.Filter(slices.Concat(h.w.WorkspaceIDs(), h.w.ShareIDs()), func(id string) bool {
		return h.w.OrgOf(id) == orgID && h.w.AtLeast(id, k.User, world.Member) && h.w.AccessMode(k, id) >= wire.Read
	})
	slices.Sort(ids)
	return ids
}

// change renders an event of the log as an element of the change feed.
func (h *Handlers) change(n uint32) wire.Object {
	l := &h.w.Log
	e := &l.Entries[n]
	id := l.ProfileID(e)
	return wire.Object{
		{"event_id", wire.Hyphenated(l.ID(n))},
		{"event", l.Kinds.Values[e.Kind].Event},
		{"profile_id", wire.ProfileID(id)},
		{"profile_type", h.w.KindOf(id)},
		{"object_id", wire.TextOrNull(l.ObjectID(e.Object))},
		{"created", wire.Stamp(e.Created)},
	}
}
