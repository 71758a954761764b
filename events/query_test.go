package events_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
)

const roomID = "4012345678901234567"

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// attempts makes every call that takes a query and returns what it ended with.
// Calls that take no cursor are left out when there is one.
func attempts(ctx context.Context, c api.Caller, q events.Query) map[string]error {
	s := events.New(c)
	errs := map[string]error{}
	_, errs["Search"] = s.Search(ctx, q)
	for _, err := range s.All(ctx, q) {
		errs["All"] = err
	}
	for _, err := range s.Pages(ctx, q) {
		errs["Pages"] = err
	}
	if q.Cursor == "" {
		_, errs["Summarize"] = s.Summarize(ctx, q, "")
		for _, err := range s.Walk(q, "").Events(ctx) {
			errs["Walk"] = err
		}
	}
	return errs
}

func TestQueryRefused(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	children := events.Query{ParentEventID: "e1"}
	with := func(q events.Query, change func(q *events.Query)) events.Query {
		change(&q)
		return q
	}
	tests := []struct {
		name  string
		query events.Query
		field string
	}{
		{"no profile", events.Query{}, "profile"},
		{"a profile without an ID", events.Query{Profile: api.Workspace(" ")}, "profile"},
		{"an ID without a kind", events.Query{Profile: api.Profile{ID: roomID}}, "profile"},
		{"a File Share", events.Query{Profile: api.FileShare(roomID)}, "profile"},
		{"a limit below 0", with(room, func(q *events.Query) { q.Limit = -1 }), "limit"},
		{"a limit of 251", with(room, func(q *events.Query) { q.Limit = 251 }), "limit"},
		{"an offset below 0", with(room, func(q *events.Query) { q.Offset = -1 }), "offset"},
		{"an offset beside a cursor", with(room, func(q *events.Query) { q.Offset, q.Cursor = 1, "c" }), "offset"},
		{"a name of 101 letters", with(room, func(q *events.Query) { q.Event = events.Name(strings.Repeat("é", 101)) }), "event"},
		{"internal events", with(room, func(q *events.Query) { q.Visibility = events.VisibilityInternal }), "visibility"},
		{"a time that ends before it starts", with(room, func(q *events.Query) {
			q.CreatedMin, q.CreatedMax = noon, noon.Add(-time.Second)
		}), "created-max"},
		{"the audit log of a user", events.Query{Profile: api.User(api.Me), Visibility: events.VisibilityAudit}, "profile"},

		{"children and a profile", with(children, func(q *events.Query) { q.Profile = api.Org(roomID) }), "profile"},
		{"children and a name", with(children, func(q *events.Query) { q.Event = events.NameUserLogin }), "event"},
		{"children and a category", with(children, func(q *events.Query) { q.Category = events.CategoryAI }), "category"},
		{"children and a subcategory", with(children, func(q *events.Query) { q.SubCategory = events.SubCategoryAI }), "subcategory"},
		{"children and an actor", with(children, func(q *events.Query) { q.CallingUserID = roomID }), "calling_user_id"},
		{"children and an object", with(children, func(q *events.Query) { q.ObjectID = "f1" }), "object_id"},
		{"children and a cursor", with(children, func(q *events.Query) { q.Cursor = "c" }), "cursor"},
		{"children and a start", with(children, func(q *events.Query) { q.CreatedMin = noon }), "created-min"},
		{"children and an end", with(children, func(q *events.Query) { q.CreatedMax = noon }), "created-max"},
		{"children in the audit log", with(children, func(q *events.Query) { q.Visibility = events.VisibilityAudit }), "visibility"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for call, err := range attempts(t.Context(), unreachable{}, tt.query) {
				if got := refusedField(err); got != tt.field {
					t.Errorf("%s blames %q, want %q", call, got, tt.field)
				}
			}
		})
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
		"children":                   {ParentEventID: "e1", Limit: 250, Offset: 7, Visibility: events.VisibilityExternal, Acknowledged: new(false)},
		"the smallest page":          {Profile: room, Limit: 1},
		"the largest page":           {Profile: room, Limit: 250},
		"a name of 100 letters":      {Profile: room, Event: events.Name(strings.Repeat("é", 100))},
		"one moment":                 {Profile: room, CreatedMin: noon, CreatedMax: noon},
		"a name that is newer":       {Profile: room, Event: "teleported", Category: "physics", SubCategory: "teleport"},
		"a visibility that is newer": {Profile: room, Visibility: "external_secret"},
	} {
		for call, err := range attempts(t.Context(), unreachable{}, q) {
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
	tests := []struct {
		name  string
		query events.Query
		want  url.Values
	}{
		{"everything", full, url.Values{
			"workspace_id": {roomID}, "event": {"comment_created"}, "category": {"workspace"}, "subcategory": {"comments"},
			"calling_user_id": {"1012345678901234567"}, "object_id": {"2abcdefghi3"}, "acknowledged": {"false"},
			"visibility": {"external"}, "created-min": {"2026-03-01 23:02:03"}, "created-max": {"2026-03-01 23:02:04"},
			"limit": {"7"}, "cursor": {"o+p/a="},
		}},
		{"a user", events.Query{Profile: api.User("me")}, url.Values{"user_id": {"me"}}},
		{"an organization", events.Query{Profile: api.Org("acme"), Acknowledged: new(true)}, url.Values{"org_id": {"acme"}, "acknowledged": {"true"}}},
		{"a share", events.Query{Profile: api.Share(roomID), Offset: 3}, url.Values{"share_id": {roomID}, "offset": {"3"}}},
		{"children", events.Query{ParentEventID: "e1ab-CD", Limit: 5, Offset: 10}, url.Values{
			"parent_event_id": {"e1abcd"}, "limit": {"5"}, "offset": {"10"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &scripted{answer: `{"result":true}`}
			if _, err := events.New(c).Search(t.Context(), tt.query, api.Terse); err != nil {
				t.Fatal(err)
			}
			want := &api.Request{
				Op: search, Method: http.MethodGet, Path: api.Path("/current/events/search/"), Query: tt.want,
				Replay: api.ReplaySafe, Group: "events.search", Options: api.Resolve([]api.CallOption{api.Terse}),
			}
			diffRequest(t, want, c.got)
		})
	}
}

func diffRequest(t *testing.T, want, got *api.Request) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b api.Route) bool {
		return a.Template() == b.Template() && a.String() == b.String()
	}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestAckSent(t *testing.T) {
	t.Parallel()
	c := &scripted{answer: `{"result":true}`}
	if err := events.New(c).Ack(t.Context(), "E1AB-cdefg"); err != nil {
		t.Fatal(err)
	}
	diffRequest(t, &api.Request{
		Op: "events.Ack", Method: http.MethodPost, Path: api.Path("/current/event/{event_id}/ack/", "e1abcdefg"),
		Body: api.Form{"event_id": {"e1abcdefg"}}, Replay: api.ReplaySafe,
	}, c.got)
}

func TestEventsAreNamed(t *testing.T) {
	t.Parallel()
	c := answering(t, `{"result":true,"event":{}}`)
	for _, id := range []api.OpaqueID{"", "-", " ", "..", "."} {
		if _, err := c.Get(t.Context(), id); refusedField(err) != "event_id" {
			t.Errorf("Get(%q): %v", id, err)
		}
		if err := c.Ack(t.Context(), id); refusedField(err) != "event_id" {
			t.Errorf("Ack(%q): %v", id, err)
		}
	}
}

func TestSummarizeRefused(t *testing.T) {
	t.Parallel()
	room := events.Query{Profile: api.Workspace(roomID)}
	foreign := room
	foreign.Cursor = "c"
	tests := []struct {
		name, about string
		query       events.Query
		field       string
	}{
		{"a cursor", "", foreign, "cursor"},
		{"65 letters", strings.Repeat("é", 65), room, "user_context"},
		{"a bracket", "what <now>", room, "user_context"},
		{"a line break", "what\nnow", room, "user_context"},
		{"a broken letter", "what \xff", room, "user_context"},
	}
	for _, tt := range tests {
		_, err := events.New(unreachable{}).Summarize(t.Context(), tt.query, tt.about)
		if got := refusedField(err); got != tt.field {
			t.Errorf("%s blames %q, want %q", tt.name, got, tt.field)
		}
	}
}

func TestSummarizeSent(t *testing.T) {
	t.Parallel()
	for _, about := range []string{"", strings.Repeat("ж", 64), "What, then? It's 5-0! Über 100."} {
		c := &scripted{answer: `{"result":true,"summary":null,"events":[]}`}
		q := events.Query{Profile: api.Org(roomID), Limit: 20, Offset: 5}
		if _, err := events.New(c).Summarize(t.Context(), q, about); err != nil {
			t.Fatalf("%q: %v", about, err)
		}
		want := url.Values{"org_id": {roomID}, "limit": {"20"}, "offset": {"5"}}
		if about != "" {
			want.Set("user_context", about)
		}
		diffRequest(t, &api.Request{
			Op: "events.Summarize", Method: http.MethodGet, Path: api.Path("/current/events/search/summarize/"), Query: want,
			Replay: api.ReplayOnce, Group: "events.search", // it spends credits
		}, c.got)
	}
}

func TestChangesSent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options *events.ChangeOptions
		want    url.Values
		field   string // refused
	}{
		{name: "nothing", want: url.Values{}},
		{name: "no field", options: &events.ChangeOptions{}, want: url.Values{}},
		{name: "the smallest page", options: &events.ChangeOptions{Limit: 1}, want: url.Values{"limit": {"1"}}},
		{name: "the largest page", options: &events.ChangeOptions{Limit: 1000, Cursor: "o+p/a="}, want: url.Values{"limit": {"1000"}, "cursor": {"o+p/a="}}},
		{name: "a limit below 0", options: &events.ChangeOptions{Limit: -1}, field: "limit"},
		{name: "a limit of 1001", options: &events.ChangeOptions{Limit: 1001}, field: "limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.field != "" {
				if _, err := events.New(unreachable{}).Changes(t.Context(), "acme", tt.options); refusedField(err) != tt.field {
					t.Errorf("blames %q, want %q", refusedField(err), tt.field)
				}
				return
			}
			c := &scripted{answer: `{"result":true}`}
			if _, err := events.New(c).Changes(t.Context(), "acme", tt.options); err != nil {
				t.Fatal(err)
			}
			diffRequest(t, &api.Request{
				Op: "events.Changes", Method: http.MethodGet, Path: api.Path("/current/org/{org_id}/events/changes/", "acme"),
				Query: tt.want, Replay: api.ReplaySafe,
			}, c.got)
		})
	}
}
