package events_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// ids ranges over everything q finds.
func ids(t *testing.T, s *events.Service, q events.Query, opts ...api.CallOption) []api.OpaqueID {
	t.Helper()
	var got []api.OpaqueID
	for e, err := range s.All(t.Context(), q, opts...) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID)
	}
	return got
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld()
	want := w.add(noon, 0)
	w.add(noon.Add(time.Hour), 0)
	q := w.query()
	q.CreatedMax = noon
	p, err := w.log.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&events.Pagination{PageSize: 100}, p.Pagination); diff != "" {
		t.Errorf("pagination (-want +got):\n%s", diff)
	}
	e := p.Events[0]
	if len(p.Events) != 1 || e.ID != want || e.WorkspaceID != w.room.ID || e.CallingUser != w.User().ID || !e.Created.Equal(noon) {
		t.Errorf("got %+v", e)
	}
	if e.Audit != nil || e.Description == "" || e.Permission != events.PermissionMember || e.Actor.Kind != api.ActorKindHuman {
		t.Errorf("got %+v", e)
	}
}

func TestSearchLevels(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add(noon, 0)
	for _, level := range []api.Output{api.Terse, api.Standard, api.Full} {
		p, err := w.log.Search(t.Context(), w.query(), level)
		if err != nil {
			t.Fatal(err)
		}
		e := p.Events[0]
		if got, want := e.CallingUser != "", level != api.Terse; got != want {
			t.Errorf("%s: calling user %q", level, e.CallingUser)
		}
		if got, want := e.Description != "", level == api.Full; got != want {
			t.Errorf("%s: description %q", level, e.Description)
		}
	}
	var text string
	p, err := w.log.Search(t.Context(), w.query(), api.Markdown(&text))
	if err != nil || len(p.Events) != 0 || !strings.Contains(text, "workspace_storage_file_added") {
		t.Errorf("%v, %d events, text %q", err, len(p.Events), text)
	}
	for e, err := range w.log.All(t.Context(), w.query(), api.Markdown(&text)) {
		if refusedField(err) != "output" {
			t.Errorf("All in Markdown: %v, %v", e, err)
		}
	}
	for e, err := range w.log.Walk(w.query(), "", api.Markdown(&text)).Events(t.Context()) {
		if refusedField(err) != "output" {
			t.Errorf("Walk in Markdown: %v, %v", e, err)
		}
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(o *fastiotest.Options)
	}{
		{"by cursor", func(*fastiotest.Options) {}},
		{"by offset on an older server", func(o *fastiotest.Options) { o.Events.NoCursor = true }},
		{"in the other envelope", func(o *fastiotest.Options) { o.Wrapped, o.NumericIDs = true, true }},
		{"newest first", ordered(fastiotest.NewestFirst)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(tt.change)
				want := w.fill(60)
				for _, limit := range []int{1, 7, 30, 59, 60, 61} {
					got := ids(t, w.log, w.paged(limit))
					sameSet(t, want, got)
					if diff := cmp.Diff(got, ids(t, w.log, w.paged(limit))); diff != "" {
						t.Errorf("pages of %d: a second range differs (-first +second):\n%s", limit, diff)
					}
				}
				calls := w.count(search)
				if sameSet(t, want, ids(t, w.log, w.query())); w.count(search) != calls+1 {
					t.Errorf("60 events took %d calls", w.count(search)-calls)
				}
			})
		})
	}
}

// The server cuts its page before it takes out what the caller may not see.
func TestAllGoesOnBehindEmptyPages(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(func(o *fastiotest.Options) { o.Events.NoCursor = older })
			ben := w.AddUser(fastiotest.User{FirstName: "Ben"})
			w.SetMember(w.room.ID, ben.ID, fastiotest.Member)
			bens := logOf(w.Server, fastio.WithToken(w.AddKey(fastiotest.Key{User: ben.ID}).Token))
			var want []api.OpaqueID
			for i := range 60 {
				e := fastiotest.Event{Name: fileAdded, Workspace: w.room.ID, Created: time.Now().Add(time.Duration(i-60) * time.Second), Permission: "admin"}
				if i%29 == 0 {
					e.Permission = "member"
				}
				if e = w.AddEvent(e); e.Permission == "member" {
					want = append(want, e.ID)
				}
			}
			empty, total := 0, 0
			for p, err := range bens.Pages(t.Context(), w.paged(5)) {
				if err != nil {
					t.Fatal(err)
				}
				if total++; len(p.Events) == 0 && p.Pagination.HasMore {
					empty++
				}
			}
			if empty == 0 || total != 12 {
				t.Errorf("%d of %d pages were empty with more to come", empty, total)
			}
			if diff := cmp.Diff(want, ids(t, bens, w.paged(5))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			sameSet(t, want, collect(t, bens.Walk(w.paged(5), "")))
		})
	}
}

// A server that sends no pagination at all is asked until a page is empty.
func TestAllWithoutPagination(t *testing.T) {
	t.Parallel()
	offsets := []string{}
	var c api.Caller = callerFunc(func(r *api.Request) string {
		offsets = append(offsets, r.Query.Get("offset"))
		return []string{`{"events":[{"event_id":"a"},{"event_id":"b"}]}`, `{"events":[{"event_id":"c"}]}`, `{"events":[]}`}[len(offsets)-1]
	})
	q := events.Query{Profile: api.Workspace(roomID), Limit: 2, Offset: 10}
	if diff := cmp.Diff([]api.OpaqueID{"a", "b", "c"}, ids(t, events.New(c), q)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10", "12", "14"}, offsets); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

func TestChildrenGoByOffset(t *testing.T) {
	t.Parallel()
	for _, in := range orders {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ordered(in.order))
				parent := w.add(time.Now(), 0)
				var want []api.OpaqueID
				for range 23 {
					want = append(want, w.AddEvent(fastiotest.Event{Name: fileAdded, Workspace: w.room.ID, Parent: parent}).ID)
				}
				q := events.Query{ParentEventID: parent, Limit: 5}
				sameSet(t, want, ids(t, w.log, q))
				sameSet(t, want, collect(t, w.log.Walk(q, "")))

				var before []api.OpaqueID
				walk := w.log.Walk(q, "")
				for e, err := range walk.Events(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if before = append(before, e.ID); len(before) == 12 {
						break
					}
				}
				sameSet(t, want, append(before, collect(t, logOf(w.Server).Walk(q, walk.Cursor()))...))
				pages := 0
				for _, err := range w.log.Pages(t.Context(), q) {
					if pages++; err != nil {
						t.Fatal(err)
					}
				}
				if pages != 5 {
					t.Errorf("23 children came on %d pages of 5", pages)
				}
			})
		})
	}
}

// A page ahead is under way when the loop is left; nothing may stay behind. The
// bubble waits for every goroutine of the test.
func TestLeavingALoopLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fill(30)
		w.Fail(fastiotest.Fault{Op: search, Skip: 1, Delay: time.Hour})
		start := time.Now()
		for range w.log.All(t.Context(), w.paged(5)) {
			break
		}
		for range w.log.Pages(t.Context(), w.paged(5)) {
			break
		}
		walk := w.log.Walk(w.paged(5), "")
		for range walk.Events(t.Context()) {
			break
		}
		if waited := time.Since(start); waited > 2*time.Hour {
			t.Errorf("three loops were left after %v: only the first page of two may be waited for", waited)
		}
	})
}

func TestSearchErrors(t *testing.T) {
	t.Parallel()
	w := newWorld()
	member := w.AddUser(fastiotest.User{FirstName: "Ben"})
	w.SetMember(w.room.ID, member.ID, fastiotest.Member)
	w.SetMember(w.Org().ID, member.ID, fastiotest.Member)
	auditor := w.AddUser(fastiotest.User{FirstName: "Dora"})
	audited := w.AddOrg(fastiotest.Org{Domain: "audited", Owner: w.User().ID, Auditors: []api.ProfileID{auditor.ID}})
	as := func(user api.ProfileID, scopes ...string) *events.Service {
		return logOf(w.Server, fastio.WithToken(w.AddKey(fastiotest.Key{User: user, Scopes: scopes}).Token))
	}
	mayRead := as(w.User().ID, "workspace:"+string(w.room.ID)+":rw")
	elsewhere := w.AddWorkspace(fastiotest.Workspace{Name: "Elsewhere"})
	audit := events.Query{Profile: api.Workspace(w.room.ID), Visibility: events.VisibilityAudit}
	foreign := w.query()
	foreign.Cursor = "Zm9yZWlnbg=="

	tests := []struct {
		name   string
		log    *events.Service
		query  events.Query
		kind   error // nil: no error
		reason string
	}{
		{"an owner reads the audit log", w.log, audit, nil, ""},
		{"an auditor reads the audit log", as(auditor.ID), events.Query{Profile: api.Org(audited.ID), Visibility: events.VisibilityAudit}, nil, ""},
		{"a member does not", as(member.ID), audit, api.ErrForbidden, events.ReasonComplianceAccess},
		{"nor does a key that may not administer", mayRead, audit, api.ErrForbidden, events.ReasonScopeAdmin},
		{"nor does a key for another workspace", mayRead, events.Query{Profile: api.Workspace(elsewhere.ID)}, api.ErrForbidden, ""},
		{"a cursor of somebody else's", w.log, foreign, api.ErrInvalid, ""},
		{"a workspace that is none", w.log, events.Query{Profile: api.Workspace(w.Org().ID)}, api.ErrInvalid, ""},
		{"a word for a profile", w.log, events.Query{Profile: api.Workspace("design")}, api.ErrInvalid, ""},
		{"no credential", logOf(w.Server, fastio.WithToken("unknown")), w.query(), api.ErrUnauthenticated, ""},
	}
	for _, tt := range tests {
		_, err := tt.log.Search(t.Context(), tt.query)
		if !errors.Is(err, tt.kind) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.kind)
		}
		e, answered := errors.AsType[*api.Error](err)
		if answered != (tt.kind != nil) || answered && (e.Reason != tt.reason || e.Op != search) {
			t.Errorf("%s: got %#v, want reason %q", tt.name, err, tt.reason)
		}
	}
}

func TestAuditRows(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.AddEvent(fastiotest.Event{
		Name: "user_login", Org: w.Org().ID, CallingUser: w.User().ID, IP: "192.0.2.7", Country: "CH",
		Telemetry: map[string]any{"method": "oauth", "user_agent": "Go/1.26"}, Created: noon,
	})
	q := events.Query{Profile: api.Org(w.Org().ID), Visibility: events.VisibilityAudit, Event: events.NameUserLogin}
	p, err := w.log.Search(t.Context(), q)
	if err != nil || len(p.Events) != 1 {
		t.Fatal(p, err)
	}
	want := &events.Audit{IP: "192.0.2.7", Country: "CH", Method: "oauth", UserAgent: "Go/1.26"}
	if diff := cmp.Diff(want, p.Events[0].Audit); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestGetAndAck(t *testing.T) {
	t.Parallel()
	w := newWorld()
	e := w.AddEvent(fastiotest.Event{Name: "org_updated", Org: w.Org().ID, Created: noon, Extra: map[string]any{"policy_changes": "sso"}})
	hidden := w.AddEvent(fastiotest.Event{Name: "node_ai_state_set", Workspace: w.room.ID, Created: noon})
	got, err := w.log.Get(t.Context(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != e.ID || string(got.Extra["policy_changes"]) != `"sso"` || got.Acknowledged {
		t.Errorf("got %+v", got)
	}
	for range 2 {
		if err := w.log.Ack(t.Context(), e.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := w.log.Get(t.Context(), api.OpaqueID(e.ID.Plain())); err != nil || !got.Acknowledged {
		t.Errorf("%v, acknowledged %t", err, got.Acknowledged)
	}
	for id, want := range map[api.OpaqueID]error{
		"e0000000000000000000000000000": api.ErrNotFound, "x": api.ErrInvalid, hidden.ID: api.ErrInvalid,
	} {
		if _, err := w.log.Get(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("Get(%s): %v, want %v", id, err, want)
		}
		if err := w.log.Ack(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("Ack(%s): %v, want %v", id, err, want)
		}
	}
	w.Fail(fastiotest.Fault{Op: "events.Get", Status: http.StatusForbidden, Params: map[string]any{"reason": events.ReasonGeoRestricted}})
	_, err = w.log.Get(t.Context(), e.ID)
	if e, ok := errors.AsType[*api.Error](err); !ok || !errors.Is(err, api.ErrForbidden) || e.Reason != events.ReasonGeoRestricted {
		t.Errorf("from a blocked place: %v", err)
	}
}

func TestAckSurvivesALostAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		id := w.add(time.Now(), 0)
		w.Fail(fastiotest.Fault{Op: "events.Ack", Count: 1, Reset: fastiotest.BeforeHeader, Processed: true})
		if err := w.log.Ack(t.Context(), id); err != nil || w.count("events.Ack") != 2 {
			t.Errorf("%v after %d calls", err, w.count("events.Ack"))
		}
	})
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.add(noon, 0)
	w.add(noon.Add(time.Minute), 0)
	got, err := w.log.Summarize(t.Context(), w.query(), "What's new?")
	if err != nil {
		t.Fatal(err)
	}
	want := events.Metrics{
		TotalEvents: 2, UniqueActors: 1, Categories: api.Map[int]{"workspace": 2},
		DateRange: events.DateRange{Start: api.Time{Time: noon}, End: api.Time{Time: noon.Add(time.Minute)}},
	}
	if diff := cmp.Diff(want, got.Summary.Metrics); diff != "" || len(got.Events) != 2 {
		t.Errorf("%d events, metrics (-want +got):\n%s", len(got.Events), diff)
	}
	if len(api.Mentions(got.Summary.Text)) == 0 {
		t.Errorf("no mentions in %q", got.Summary.Text)
	}
	denied := newWorld(func(o *fastiotest.Options) { o.Events.DenySummaries = true })
	denied.add(noon, 0)
	got, err = denied.log.Summarize(t.Context(), denied.query(), "")
	if err != nil || got.Summary != nil || got.Reason != events.SummaryReasonPolicyDenied || len(got.Events) != 1 {
		t.Errorf("denied: %+v, %v", got, err)
	}
}

// A summary costs credits each time, so a lost answer is not asked for again.
func TestSummarizeIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, fault := range map[string]fastiotest.Fault{
			"a lost answer":   {Reset: fastiotest.AfterHeader, Processed: true},
			"a cut answer":    {Cut: 10},
			"a bad gateway":   {Status: http.StatusBadGateway, Processed: true},
			"a server's slip": {Status: http.StatusInternalServerError},
		} {
			w := newWorld()
			fault.Op = "events.Summarize"
			w.Fail(fault)
			if _, err := w.log.Summarize(t.Context(), w.query(), ""); err == nil || w.count("events.Summarize") != 1 {
				t.Errorf("%s: %v after %d calls", name, err, w.count("events.Summarize"))
			}
		}
		down := newWorld(func(o *fastiotest.Options) { o.Events.SummaryPolicyDown = true })
		_, err := down.log.Summarize(t.Context(), down.query(), "")
		e, ok := errors.AsType[*api.Error](err)
		if !ok || !errors.Is(err, api.ErrUnavailable) || e.Reason != events.ReasonPolicyUnavailable || down.count("events.Summarize") != 1 {
			t.Errorf("with the policy down: %v after %d calls", err, down.count("events.Summarize"))
		}
		stranger := down.AddUser(fastiotest.User{FirstName: "Eve"})
		eve := logOf(down.Server, fastio.WithToken(down.AddKey(fastiotest.Key{User: stranger.ID}).Token))
		if _, err := eve.Summarize(t.Context(), down.query(), ""); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("by a stranger: %v", err)
		}
		nowhere := events.Query{Profile: api.Workspace("4999999999999999999")}
		if _, err := down.log.Summarize(t.Context(), nowhere, ""); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("of nothing: %v", err)
		}
	})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fill(3) // before the feed was joined
		start, err := w.log.Changes(t.Context(), w.Org().ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantProfiles := []events.ReadableProfile{{ID: w.room.ID, Kind: api.ProfileKindWorkspace}}
		if diff := cmp.Diff(wantProfiles, start.Profiles.Items); diff != "" || len(start.Changes) != 0 || start.HasMore || start.Cursor == "" {
			t.Errorf("the start: %+v, profiles (-want +got):\n%s", start, diff)
		}
		var want []api.OpaqueID
		for range 1003 {
			want = append(want, w.add(time.Now(), 0))
		}
		var got []api.OpaqueID
		pages, cursor := 0, ""
		for p, err := range w.log.ChangePages(t.Context(), w.Org().ID, start.Cursor) {
			if err != nil {
				t.Fatal(err)
			}
			pages, cursor = pages+1, p.Cursor
			for _, c := range p.Changes {
				got = append(got, c.EventID)
				if c.Name != fileAdded || c.ProfileID != w.room.ID || c.ProfileType != api.ProfileKindWorkspace || c.Created.IsZero() {
					t.Fatalf("got %+v", c)
				}
			}
		}
		if sameSet(t, want, got); pages != 2 {
			t.Errorf("1003 changes came on %d pages", pages)
		}
		last, err := w.log.Changes(t.Context(), w.Org().ID, &events.ChangeOptions{Cursor: cursor})
		if err != nil || len(last.Changes) != 0 || last.HasMore {
			t.Errorf("read up: %+v, %v", last, err)
		}
	})
}

func TestChangesErrors(t *testing.T) {
	t.Parallel()
	w := newWorld()
	start, err := w.log.Changes(t.Context(), w.Org().ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(cursor string) *events.ChangeOptions { return &events.ChangeOptions{Cursor: cursor} }
	w.InvalidateCursors()
	if _, err := w.log.Changes(t.Context(), w.Org().ID, at(start.Cursor)); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a cursor that is no longer good: %v", err)
	}
	w.Fail(fastiotest.Fault{Op: "events.Changes", Count: 1, Status: http.StatusNotAcceptable, Params: map[string]any{"reason": events.ReasonCursorExpired}})
	_, err = w.log.Changes(t.Context(), w.Org().ID, at("old"))
	if e, ok := errors.AsType[*api.Error](err); !ok || !errors.Is(err, api.ErrInvalid) || e.Reason != events.ReasonCursorExpired {
		t.Errorf("a cursor that outlived the feed: %v", err)
	}
	stranger := w.AddUser(fastiotest.User{FirstName: "Eve"})
	eve := logOf(w.Server, fastio.WithToken(w.AddKey(fastiotest.Key{User: stranger.ID}).Token))
	if _, err := eve.Changes(t.Context(), w.Org().ID, nil); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("nothing readable: %v", err)
	}
	older := newWorld(func(o *fastiotest.Options) { o.Events.NoChanges = true })
	if _, err := older.log.Changes(t.Context(), older.Org().ID, nil); !errors.Is(err, api.ErrUnsupported) {
		t.Errorf("no feed: %v", err)
	}
	var text string
	for p, err := range w.log.ChangePages(t.Context(), w.Org().ID, "", api.Markdown(&text)) {
		if refusedField(err) != "output" {
			t.Errorf("in Markdown: %v, %v", p, err)
		}
	}
}

// A member gets an empty log of imports, not an error.
func TestSearchHidesImportsFromMembers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	member := w.AddUser(fastiotest.User{FirstName: "Ben"})
	w.SetMember(w.room.ID, member.ID, fastiotest.Member)
	w.AddEvent(fastiotest.Event{
		Name: "import_source_sync_failed", Category: "import", Permission: "member", Workspace: w.room.ID,
	})
	for name, in := range map[string]struct {
		token string
		want  int
	}{
		"the owner": {w.Token(), 1},
		"a member":  {w.AddKey(fastiotest.Key{User: member.ID}).Token, 0},
	} {
		p, err := logOf(w.Server, fastio.WithToken(in.token)).Search(t.Context(), w.query())
		if err != nil || len(p.Events) != in.want {
			t.Errorf("%s: got %v, %v, want %d events", name, p, err, in.want)
		}
	}
}

// A null among the events of a page is skipped, wherever events are read.
func TestNullEventsAreSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c api.Caller = callerFunc(func(r *api.Request) string {
			if r.Op != "events.Search" {
				return `{"result":true}`
			}
			created := time.Now().UTC().Format("2006-01-02 15:04:05 UTC")
			return `{"result":true,"events":[null,{"event_id":"a","created":"` + created + `"},null],"pagination":{"has_more":false,"next_cursor":null}}`
		})
		q := events.Query{Profile: api.Workspace(roomID)}
		if diff := cmp.Diff([]api.OpaqueID{"a"}, ids(t, events.New(c), q)); diff != "" {
			t.Errorf("All (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]api.OpaqueID{"a"}, collect(t, events.New(c).Walk(q, ""))); diff != "" {
			t.Errorf("Walk (-want +got):\n%s", diff)
		}
		enough := errors.New("enough")
		err := events.New(c).Follow(t.Context(), q, func(_ context.Context, e *events.Event) error {
			if e.ID != "a" {
				t.Errorf("Follow: %+v", e)
			}
			return enough
		}, nil)
		if !errors.Is(err, enough) {
			t.Errorf("Follow: %v", err)
		}
	})
}
