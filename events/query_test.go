package events_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/stub"
)

const roomID = "4012345678901234567"

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// attempts makes every call that takes a query and returns what it ended with.
// Calls that take no cursor are left out when there is one.
func attempts(ctx context.Context, q events.Query) map[string]error {
	s := unreachable()
	errs := map[string]error{
		"Search": stub.Err(s.Search(ctx, q)), "All": stub.Last(s.All(ctx, q)), "Pages": stub.Last(s.Pages(ctx, q)),
	}
	if q.Cursor == "" {
		errs["Summarize"] = stub.Err(s.Summarize(ctx, q, ""))
		errs["Walk"] = stub.Last(s.Walk(q, "").Events(ctx))
	}
	return errs
}

type query = events.Query

func with(q query, change func(q *query)) query {
	change(&q)
	return q
}

func TestQueryRefused(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	children, long := query{ParentEventID: "e1"}, strings.Repeat("é", 101)
	const audit = events.VisibilityAudit
	for _, tt := range []struct {
		name, field string
		query       events.Query
	}{
		{"no profile", "profile", events.Query{}},
		{"a profile without an ID", "profile", events.Query{Profile: api.Workspace(" ")}},
		{"an ID without a kind", "profile", events.Query{Profile: api.Profile{ID: roomID}}},
		{"a File Share", "profile", events.Query{Profile: api.FileShare(roomID)}},
		{"a limit below 0", "limit", with(room, func(q *query) { q.Limit = -1 })},
		{"a limit of 251", "limit", with(room, func(q *query) { q.Limit = 251 })},
		{"an offset below 0", "offset", with(room, func(q *query) { q.Offset = -1 })},
		{"an offset beside a cursor", "offset", with(room, func(q *query) { q.Offset, q.Cursor = 1, "c" })},
		{"a name of 101 letters", "event", with(room, func(q *query) { q.Event = events.Name(long) })},
		{"internal events", "visibility", with(room, func(q *query) { q.Visibility = events.VisibilityInternal })},
		{"a time that ends before it starts", "created-max", with(room, func(q *query) {
			q.CreatedMin, q.CreatedMax = noon, noon.Add(-time.Second)
		})},
		{"the audit log of a user", "profile", query{Profile: api.User(api.Me), Visibility: audit}},

		{"children and a profile", "profile", with(children, func(q *query) { q.Profile = api.Org(roomID) })},
		{"children and a name", "event", with(children, func(q *query) { q.Event = events.NameUserLogin })},
		{"children and a category", "category", with(children, func(q *query) { q.Category = events.CategoryAI })},
		{"children and a subcategory", "subcategory", with(children, func(q *query) { q.SubCategory = "ai" })},
		{"children and an actor", "calling_user_id", with(children, func(q *query) { q.CallingUserID = roomID })},
		{"children and an object", "object_id", with(children, func(q *query) { q.ObjectID = "f1" })},
		{"children and a cursor", "cursor", with(children, func(q *query) { q.Cursor = "c" })},
		{"children and a start", "created-min", with(children, func(q *query) { q.CreatedMin = noon })},
		{"children and an end", "created-max", with(children, func(q *query) { q.CreatedMax = noon })},
		{"children in the audit log", "visibility", with(children, func(q *query) { q.Visibility = audit })},
	} {
		for call, err := range attempts(t.Context(), tt.query) {
			if got := refusedField(err); got != tt.field {
				t.Errorf("%s: %s blames %q, want %q", tt.name, call, got, tt.field)
			}
		}
	}
}

func TestQueryAccepted(t *testing.T) {
	t.Parallel()
	room := api.Workspace(roomID)
	for name, q := range map[string]events.Query{
		"a user":                     {Profile: api.User(api.Me)},
		"an organization":            {Profile: api.Org("acme")},
		"a workspace":                {Profile: room},
		"a share":                    {Profile: api.Share(roomID)},
		"the audit log of a share":   {Profile: api.Share(roomID), Visibility: events.VisibilityAudit},
		"children":                   {ParentEventID: "e1", Limit: 250, Offset: 7, Visibility: "external"},
		"the smallest page":          {Profile: room, Limit: 1},
		"the largest page":           {Profile: room, Limit: 250},
		"a name of 100 letters":      {Profile: room, Event: events.Name(strings.Repeat("é", 100))},
		"one moment":                 {Profile: room, CreatedMin: noon, CreatedMax: noon},
		"a name that is newer":       {Profile: room, Event: "moved", Category: "physics", SubCategory: "teleport"},
		"a visibility that is newer": {Profile: room, Visibility: "external_secret"},
	} {
		for call, err := range attempts(t.Context(), q) {
			if !errors.Is(err, errReached) {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
	}
}

func TestQuerySent(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*60*60)
	full := events.Query{
		Profile: api.Workspace(roomID), Event: events.NameCommentCreated,
		Category: events.CategoryWorkspace, SubCategory: events.SubCategoryComments,
		CallingUserID: "1012345678901234567", ObjectID: " 2ABCD-efghi-3 ", Acknowledged: new(false),
		Visibility: events.VisibilityExternal,
		CreatedMin: time.Date(2026, 3, 2, 1, 2, 3, 999, east), CreatedMax: time.Date(2026, 3, 2, 1, 2, 4, 0, east),
		Limit: 7, Cursor: "o+p/a=",
	}
	for want, query := range map[string]events.Query{
		"acknowledged=false&calling_user_id=1012345678901234567&category=workspace&" +
			"created-max=2026-03-01+23%3A02%3A04&created-min=2026-03-01+23%3A02%3A03&cursor=o%2Bp%2Fa%3D&" +
			"event=comment_created&limit=7&object_id=2abcdefghi3&subcategory=comments&visibility=external&" +
			"workspace_id=" + roomID: full,
		"user_id=me":                               {Profile: api.User("me")},
		"acknowledged=true&org_id=acme":            {Profile: api.Org("acme"), Acknowledged: new(true)},
		"offset=3&share_id=" + roomID:              {Profile: api.Share(roomID), Offset: 3},
		"limit=5&offset=10&parent_event_id=e1abcd": {ParentEventID: "e1ab-CD", Limit: 5, Offset: 10},
	} {
		var got string
		c := callerFunc(func(r *api.Request) string {
			got = r.Query.Encode()
			return `{"result":true}`
		})
		if _, err := events.New(c).Search(t.Context(), query); err != nil || got != want {
			t.Errorf("sent %s, %v, want %s", got, err, want)
		}
	}
}

func TestSummarizeRefused(t *testing.T) {
	t.Parallel()
	s, room := unreachable(), events.Query{Profile: api.Workspace(roomID)}
	_, err := s.Summarize(t.Context(), events.Query{Profile: room.Profile, Cursor: "c"}, "")
	if refusedField(err) != "cursor" {
		t.Errorf("with a cursor: %v", err)
	}
	for _, about := range []string{strings.Repeat("é", 65), "what <now>", "what\nnow", "what \xff"} {
		if _, err := s.Summarize(t.Context(), room, about); refusedField(err) != "user_context" {
			t.Errorf("%q: %v", about, err)
		}
	}
	for _, about := range []string{"", strings.Repeat("ж", 64), "What, then? It's 5-0! Über 100."} {
		if _, err := s.Summarize(t.Context(), room, about); !errors.Is(err, errReached) {
			t.Errorf("%q: %v", about, err)
		}
	}
}

func TestChangesLimit(t *testing.T) {
	t.Parallel()
	for limit, sent := range map[int]bool{-1: false, 0: true, 1: true, 1000: true, 1001: false} {
		_, err := unreachable().Changes(t.Context(), "acme", &events.ChangeOptions{Limit: limit})
		if sent != errors.Is(err, errReached) || !sent && refusedField(err) != "limit" {
			t.Errorf("a limit of %d: %v", limit, err)
		}
	}
}
