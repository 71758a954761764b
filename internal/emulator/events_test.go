package emulator_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

const (
	fileAdded = "workspace_storage_file_added"
	audit     = "external_audit_log"
)

func TestSearchRefusesBadParameters(t *testing.T) {
	t.Parallel()
	w := unlimited()
	event := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	tests := map[string]struct {
		query []string
		want  []string
	}{
		"no filter at all":         {nil, []string{"org_id missing"}},
		"an id of another kind":    {[]string{"org_id", w.room.ID}, []string{"org_id invalid"}},
		"no profile id":            {[]string{"workspace_id", "design-room"}, []string{"workspace_id type_mismatch"}},
		"all ids are type-checked": {[]string{"user_id", w.ada.ID, "org_id", w.room.ID, "share_id", w.org.ID}, []string{"org_id invalid", "share_id invalid"}},
		"limit zero":               {[]string{"org_id", w.org.ID, "limit", "0"}, []string{"limit invalid"}},
		"limit above the most":     {[]string{"org_id", w.org.ID, "limit", "251"}, []string{"limit invalid"}},
		"limit in words":           {[]string{"org_id", w.org.ID, "limit", "ten"}, []string{"limit type_mismatch"}},
		"negative offset":          {[]string{"org_id", w.org.ID, "offset", "-1"}, []string{"offset invalid"}},
		"long event name":          {[]string{"org_id", w.org.ID, "event", strings.Repeat("x", 101)}, []string{"event invalid"}},
		"actor without digits":     {[]string{"org_id", w.org.ID, "calling_user_id", "ada"}, []string{"calling_user_id type_mismatch"}},
		"acknowledged as a number": {[]string{"org_id", w.org.ID, "acknowledged", "1"}, []string{"acknowledged type_mismatch"}},
		"internal visibility":      {[]string{"org_id", w.org.ID, "visibility", "internal"}, []string{"visibility invalid"}},
		"no date":                  {[]string{"org_id", w.org.ID, "created-min", "yesterday"}, []string{"created-min invalid"}},
		"max before min":           {[]string{"org_id", w.org.ID, "created-min", "2026-01-02 00:00:00", "created-max", "2026-01-01 00:00:00"}, []string{"created-max invalid"}},
		"cursor and offset":        {[]string{"org_id", w.org.ID, "cursor", "abc", "offset", "1"}, []string{"offset invalid", "cursor invalid"}},
		"made-up cursor":           {[]string{"org_id", w.org.ID, "cursor", "abc"}, []string{"cursor invalid"}},
		"no event id":              {[]string{"parent_event_id", "x"}, []string{"parent_event_id invalid"}},
		"parent and a profile":     {[]string{"parent_event_id", event.ID, "org_id", w.org.ID}, []string{"org_id invalid"}},
		"parent and filters": {
			[]string{"parent_event_id", event.ID, "event", "x", "category", "x", "subcategory", "x", "object_id", "x", "created-min", "2026-01-01"},
			[]string{"event invalid", "category invalid", "subcategory invalid", "object_id invalid", "created-min invalid"},
		},
		"parent and cursor":              {[]string{"parent_event_id", event.ID, "cursor", "abc"}, []string{"cursor invalid"}},
		"two detail levels":              {[]string{"org_id", w.org.ID, "output", "terse,full"}, []string{"output invalid"}},
		"everything wrong at once":       {[]string{"limit", "0", "offset", "x", "visibility", "?"}, []string{"limit invalid", "offset type_mismatch", "visibility invalid", "org_id missing"}},
		"audit: no profile":              {[]string{"visibility", audit}, []string{"org_id missing"}},
		"audit: parent and an anchor":    {[]string{"visibility", audit, "parent_event_id", event.ID, "org_id", w.org.ID}, []string{"org_id invalid"}},
		"the last of repeated parameter": {[]string{"org_id", w.org.ID, "limit", "5", "limit", "0"}, []string{"limit invalid"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.search(t, w.ada, test.query...)
			if got.Status != http.StatusNotAcceptable {
				t.Errorf("status %d: %s", got.Status, got.Body)
			}
			if diff := cmp.Diff(test.want, got.failures()); diff != "" {
				t.Errorf("failed parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSearchErrorEnvelope(t *testing.T) {
	t.Parallel()
	w := unlimited()
	got := w.search(t, w.ada, "org_id", w.org.ID, "limit", "many")
	want := map[string]any{
		"result":              false,
		"current_api_version": "1.0",
		"error": map[string]any{
			"code":              10023.0,
			"text":              "One or more parameters are not acceptable.",
			"documentation_url": nil,
			"resource":          "GET /current/events/search/",
			"params": []any{map[string]any{
				"name": "limit", "kind": "type_mismatch", "message": "The value cannot be read.", "code": 10023.0, "expected_type": "integer",
			}},
		},
	}
	if diff := cmp.Diff(want, got.JSON); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSearchFilters(t *testing.T) {
	t.Parallel()
	w := unlimited()
	at := func(minutes int) time.Time { return epoch.Add(time.Duration(minutes-60) * time.Minute) }
	a := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ben.ID, Object: "2aaaa-bbbbb-ccccc-ddddd-eeeee-ffff", Created: at(0)})
	b := w.AddEvent(emulator.Event{Name: "comment_created", Workspace: w.room.ID, CallingUser: w.ada.ID, Created: at(1)})
	c := w.AddEvent(emulator.Event{Name: "workspace_created", Workspace: w.attic.ID, CallingUser: w.ada.ID, Created: at(2)})
	d := w.AddEvent(emulator.Event{Name: "share_created", Share: w.portal.ID, CallingUser: w.ada.ID, Created: at(3)})
	e := w.AddEvent(emulator.Event{Name: "org_security_alert", Org: w.org.ID, User: w.ben.ID, Created: at(4)})
	child := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Parent: a.ID, Created: at(5)})
	w.AddEvent(emulator.Event{Name: "node_ai_state_set", Workspace: w.room.ID, Created: at(6)}) // internal
	tests := map[string]struct {
		query []string
		want  []emulator.Event
	}{
		"an organization and all in it":       {[]string{"org_id", w.org.ID}, []emulator.Event{a, b, c, d, e, child}},
		"one workspace":                       {[]string{"workspace_id", w.room.ID}, []emulator.Event{a, b, child}},
		"one share":                           {[]string{"share_id", w.portal.ID}, []emulator.Event{d}},
		"a user":                              {[]string{"user_id", w.ben.ID}, []emulator.Event{e}},
		"the user before the organization":    {[]string{"org_id", w.org.ID, "user_id", w.ben.ID}, []emulator.Event{e}},
		"the organization before a workspace": {[]string{"workspace_id", w.attic.ID, "org_id", w.org.ID}, []emulator.Event{a, b, c, d, e, child}},
		"a workspace before a share":          {[]string{"share_id", w.portal.ID, "workspace_id", w.attic.ID}, []emulator.Event{c}},
		"by name":                             {[]string{"org_id", w.org.ID, "event", "share_created"}, []emulator.Event{d}},
		"by category":                         {[]string{"org_id", w.org.ID, "category", "share"}, []emulator.Event{d}},
		"by subcategory":                      {[]string{"org_id", w.org.ID, "subcategory", "comments"}, []emulator.Event{b}},
		"by actor":                            {[]string{"org_id", w.org.ID, "calling_user_id", w.ben.ID}, []emulator.Event{a}},
		"by an actor never seen":              {[]string{"org_id", w.org.ID, "calling_user_id", "1234567890123456789"}, nil},
		"by object, hyphens or not":           {[]string{"org_id", w.org.ID, "object_id", "2AAAAbbbbbcccccdddddeeeeeffff"}, []emulator.Event{a}},
		"by visibility":                       {[]string{"org_id", w.org.ID, "visibility", audit}, []emulator.Event{e}},
		"the other visibility":                {[]string{"org_id", w.org.ID, "visibility", "external"}, []emulator.Event{a, b, c, d, child}},
		"children of an event":                {[]string{"parent_event_id", a.ID}, []emulator.Event{child}},
		"from a moment on":                    {[]string{"org_id", w.org.ID, "created-min", "2026-03-02 09:03:00"}, []emulator.Event{d, e, child}},
		"bounds are inclusive":                {[]string{"org_id", w.org.ID, "created-min", "2026-03-02T09:01:00Z", "created-max", "2026-03-02 09:02:00 UTC"}, []emulator.Event{b, c}},
		"with an offset from UTC":             {[]string{"org_id", w.org.ID, "created-max", "2026-03-02T11:00:00+02:00"}, []emulator.Event{a}},
		"a fraction rounds inwards":           {[]string{"org_id", w.org.ID, "created-min", "2026-03-02T09:03:00.5Z", "created-max", "2026-03-02T09:04:00.5Z"}, []emulator.Event{e}},
		"an offset":                           {[]string{"org_id", w.org.ID, "offset", "4"}, []emulator.Event{e, child}},
		"an offset beyond the end":            {[]string{"org_id", w.org.ID, "offset", "40"}, nil},
		"an empty value is none":              {[]string{"org_id", w.org.ID, "limit", "", "event", "", "cursor", ""}, []emulator.Event{a, b, c, d, e, child}},
		"a profile nobody knows":              {[]string{"org_id", "1234567890123456789"}, nil},
		"me":                                  {[]string{"user_id", "me"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.search(t, w.ada, test.query...)
			want := []any{}
			for _, e := range test.want {
				want = append(want, e.ID)
			}
			if diff := cmp.Diff(want, got.column("event_id")); diff != "" {
				t.Errorf("status %d (-want +got):\n%s", got.Status, diff)
			}
		})
	}
}

// Ben is a member, Cleo a guest, Eve a stranger: what they may not see leaves holes in the pages.
func TestVisibilityComesAfterPaging(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for i := range 6 {
		name := "membership_updated" // for admins
		if i%3 == 0 {
			name = fileAdded
		}
		w.AddEvent(emulator.Event{Name: name, Workspace: w.room.ID, Created: epoch.Add(time.Duration(i) * time.Second)})
	}
	pages := func(u emulator.User) (sizes []int) {
		cursor := ""
		for {
			p := w.search(t, u, "workspace_id", w.room.ID, "limit", "2", "cursor", cursor)
			sizes = append(sizes, len(p.events()))
			if p.get("pagination.has_more") == false {
				if p.get("pagination.next_cursor") != nil {
					t.Errorf("a cursor behind the end: %s", p.Body)
				}
				return sizes
			}
			cursor = p.get("pagination.next_cursor").(string)
		}
	}
	if diff := cmp.Diff([]int{1, 1, 0}, pages(w.ben)); diff != "" {
		t.Errorf("a member (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 2, 2}, pages(w.ada)); diff != "" {
		t.Errorf("the owner (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 0, 0}, pages(w.eve)); diff != "" {
		t.Errorf("a stranger (-want +got):\n%s", diff)
	}
}

func TestWhoSeesAnEvent(t *testing.T) {
	t.Parallel()
	w := unlimited()
	add := func(e emulator.Event) string {
		e.Workspace = w.room.ID
		return w.AddEvent(e).ID
	}
	member := add(emulator.Event{Name: fileAdded})
	admins := add(emulator.Event{Name: "membership_updated"})
	aimed := add(emulator.Event{Name: "comment_mentioned", User: w.cleo.ID, CallingUser: w.ben.ID})
	caused := add(emulator.Event{Name: "membership_updated", CallingUser: w.cleo.ID})
	about := add(emulator.Event{Name: "membership_updated", User: w.cleo.ID})
	hold := add(emulator.Event{Name: "legal_hold_placed"})
	w.SetMember(w.room.ID, w.dora.ID, emulator.Admin)
	tests := map[string]struct {
		user  emulator.User
		query []string
		want  []any
	}{
		"owner":                      {w.ada, nil, []any{member, admins, caused, about, hold}},
		"member":                     {w.ben, nil, []any{member}},
		"guest":                      {w.cleo, nil, []any{aimed, caused, about}},
		"admin and auditor":          {w.dora, nil, []any{member, admins, caused, about, hold}},
		"stranger":                   {w.eve, nil, []any{}},
		"owner on the audit side":    {w.ada, []string{"visibility", audit}, []any{hold}},
		"auditor on the audit side":  {w.dora, []string{"visibility", audit}, []any{hold}},
		"what the audit side leaves": {w.ada, []string{"visibility", "external"}, []any{member, admins, caused, about}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.search(t, test.user, append([]string{"workspace_id", w.room.ID}, test.query...)...)
			if diff := cmp.Diff(test.want, got.column("event_id")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuditBypassesTargeting(t *testing.T) {
	t.Parallel()
	w := unlimited()
	e := w.AddEvent(emulator.Event{Name: "user_email_reset", Org: w.org.ID, User: w.ben.ID})
	if got := w.search(t, w.ada, "org_id", w.org.ID).column("event_id"); len(got) != 0 {
		t.Errorf("a plain search shows %v", got)
	}
	for _, u := range []emulator.User{w.ada, w.dora} {
		got := w.search(t, u, "org_id", w.org.ID, "visibility", audit).column("event_id")
		if diff := cmp.Diff([]any{e.ID}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", u.FirstName, diff)
		}
	}
}

func TestAuditGate(t *testing.T) {
	t.Parallel()
	w := unlimited()
	event := w.AddEvent(emulator.Event{Name: "user_login", Org: w.org.ID, CallingUser: w.ben.ID, IP: "198.51.100.7"})
	writer := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:" + w.org.ID + ":rw"}}).Token
	master := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:*:rwa"}}).Token
	w.SetMember(w.attic.ID, w.ben.ID, emulator.Admin)
	tests := map[string]struct {
		token  string
		query  []string
		status int
		code   int
		reason string
	}{
		"user_id in the query":         {w.keys[w.ada.ID], []string{"user_id", w.ada.ID}, 401, 199003, ""},
		"user_id next to an anchor":    {w.keys[w.ada.ID], []string{"user_id", w.ada.ID, "org_id", w.org.ID}, 401, 199003, ""},
		"parent alone":                 {w.keys[w.ada.ID], []string{"parent_event_id", event.ID}, 401, 199003, ""},
		"a member":                     {w.keys[w.ben.ID], []string{"workspace_id", w.room.ID}, 403, 199004, "compliance_access_required"},
		"a stranger":                   {w.keys[w.eve.ID], []string{"org_id", w.org.ID}, 403, 199004, "compliance_access_required"},
		"an auditor below the org":     {w.keys[w.dora.ID], []string{"workspace_id", w.room.ID}, 403, 199004, "compliance_access_required"},
		"an auditor on the org":        {w.keys[w.dora.ID], []string{"org_id", w.org.ID}, 200, 0, ""},
		"an admin of the workspace":    {w.keys[w.ben.ID], []string{"workspace_id", w.attic.ID}, 200, 0, ""},
		"the owner on a share":         {w.keys[w.ada.ID], []string{"share_id", w.portal.ID}, 200, 0, ""},
		"a credential without rwa":     {writer, []string{"org_id", w.org.ID}, 403, 10767, "scope_admin_required"},
		"a credential with rwa":        {master, []string{"org_id", w.org.ID}, 200, 0, ""},
		"a credential for another org": {writer, []string{"org_id", w.other.ID}, 403, 10545, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.with(t, test.token, http.MethodGet, "/events/search/", append([]string{"visibility", audit}, test.query...)...)
			if got.Status != test.status || got.code() != test.code || got.reason() != test.reason {
				t.Errorf("got %d %d %q: %s", got.Status, got.code(), got.reason(), got.Body)
			}
			if test.reason == "scope_admin_required" && got.get("error.params.credential_type") != "api_key" {
				t.Errorf("no credential type: %s", got.Body)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	w := unlimited()
	inRoom := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID}).ID
	inAttic := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.attic.ID}).ID
	inPortal := w.AddEvent(emulator.Event{Name: "share_storage_file_added", Share: w.portal.ID}).ID
	type search = struct{ name, id string }
	org, room, attic, portal := search{"org_id", w.org.ID}, search{"workspace_id", w.room.ID}, search{"workspace_id", w.attic.ID}, search{"share_id", w.portal.ID}
	tests := map[string]struct {
		scopes []string
		on     search
		code   int
		want   []any
	}{
		"whole account":                {[]string{"user:*:r"}, org, 0, []any{inRoom, inAttic, inPortal}},
		"the organization":             {[]string{"org:" + w.org.ID + ":r"}, org, 0, []any{inRoom, inAttic, inPortal}},
		"its workspaces too":           {[]string{"org:" + w.org.ID + ":r"}, attic, 0, []any{inAttic}},
		"another organization":         {[]string{"org:" + w.other.ID + ":rwa"}, org, 10545, []any{}},
		"another's workspace":          {[]string{"org:" + w.other.ID + ":rwa"}, room, 10754, []any{}},
		"one workspace":                {[]string{"workspace:" + w.room.ID + ":rw"}, room, 0, []any{inRoom}},
		"the other workspace":          {[]string{"workspace:" + w.room.ID + ":rw"}, attic, 10754, []any{}},
		"the organization above":       {[]string{"workspace:*:rw"}, org, 10545, []any{}},
		"a share of the workspace":     {[]string{"workspace:" + w.room.ID + ":r"}, portal, 0, []any{inPortal}},
		"a share":                      {[]string{"share:" + w.portal.ID + ":r"}, portal, 0, []any{inPortal}},
		"a share does not reach up":    {[]string{"share:*:r"}, room, 10754, []any{}},
		"account settings are no data": {[]string{"userdetails:*:rw"}, org, 10545, []any{}},
		"the user under an org scope":  {[]string{"org:*:rwa"}, search{"user_id", w.ada.ID}, 10545, []any{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: test.scopes}).Token
			got := w.with(t, token, http.MethodGet, "/events/search/", test.on.name, test.on.id)
			status := http.StatusOK
			if test.code != 0 {
				status = http.StatusForbidden
			}
			if got.Status != status || got.code() != test.code {
				t.Errorf("got %d %d: %s", got.Status, got.code(), got.Body)
			}
			if diff := cmp.Diff(test.want, got.column("event_id")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A family of events may reach beyond what a credential covers.
func TestChildrenOutsideTheCredentialAreLeftOut(t *testing.T) {
	t.Parallel()
	w := unlimited()
	parent := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	inside := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Parent: parent.ID})
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.attic.ID, Parent: parent.ID})
	narrow := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"workspace:" + w.room.ID + ":r"}}).Token
	got := w.with(t, narrow, http.MethodGet, "/events/search/", "parent_event_id", parent.ID)
	if diff := cmp.Diff([]any{inside.ID}, got.column("event_id")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Internal events are no part of the search at all: they leave no holes.
func TestInternalEventsTakeNoRoom(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for range 3 {
		w.AddEvent(emulator.Event{Name: "node_ai_state_set", Workspace: w.room.ID})
		w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	}
	got := w.search(t, w.ada, "workspace_id", w.room.ID, "limit", "3")
	if len(got.events()) != 3 || got.get("pagination.has_more") != false {
		t.Error(got.Body)
	}
}

func TestLegalHoldsAreForOwnersAndAuditors(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddEvent(emulator.Event{Name: "legal_hold_placed", Org: w.org.ID})
	w.SetMember(w.org.ID, w.eve.ID, emulator.Admin)
	for user, want := range map[emulator.User]int{w.ada: 1, w.dora: 1, w.eve: 0} {
		if got := w.search(t, user, "org_id", w.org.ID, "visibility", audit); got.Status != 200 || len(got.events()) != want {
			t.Errorf("%s: %s", user.FirstName, got.Body)
		}
	}
}

func TestBearer(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddKey(emulator.Key{Token: "old", User: w.ada.ID, Expires: epoch})
	w.AddKey(emulator.Key{Token: "fresh", User: w.ada.ID, Expires: epoch.Add(time.Second)})
	w.AddKey(emulator.Key{Token: "gone", User: w.ada.ID, Revoked: true})
	w.AddKey(emulator.Key{Token: "orphan", User: "1234567890123456789"})
	tests := map[string]struct {
		header string
		status int
		code   int
	}{
		"missing":            {"", 401, 10011},
		"unknown":            {"Bearer nobody", 401, 10011},
		"expired":            {"Bearer old", 401, 10011},
		"about to expire":    {"Bearer fresh", 200, 0},
		"revoked":            {"Bearer gone", 401, 10011},
		"of a deleted user":  {"Bearer orphan", 401, 10011},
		"another scheme":     {"Basic YTpi", 401, 10001},
		"no token":           {"Bearer ", 401, 10001},
		"two tokens":         {"Bearer a b", 401, 10001},
		"not a token":        {"Bearer \"x\"", 401, 10001},
		"scheme in any case": {"bearer fresh", 200, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/api/current/user/me/details/", nil)
			if test.header != "" {
				r.Header.Set("Authorization", test.header)
			}
			got := w.send(t, r)
			if got.Status != test.status || got.code() != test.code {
				t.Errorf("got %d %d: %s", got.Status, got.code(), got.Body)
			}
		})
	}
}

func TestCursorIsBound(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for range 5 {
		w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	}
	first := w.search(t, w.ada, "workspace_id", w.room.ID, "limit", "2")
	cursor := first.get("pagination.next_cursor").(string)
	flipped := "A" + cursor[1:]
	if cursor[0] == 'A' {
		flipped = "B" + cursor[1:]
	}
	tests := map[string]struct {
		user  emulator.User
		query []string
		want  int
	}{
		"the same search":     {w.ada, []string{"workspace_id", w.room.ID, "limit", "2", "cursor", cursor}, 200},
		"another page size":   {w.ada, []string{"workspace_id", w.room.ID, "limit", "3", "cursor", cursor}, 200},
		"another level":       {w.ada, []string{"workspace_id", w.room.ID, "output", "terse", "cursor", cursor}, 200},
		"offset zero":         {w.ada, []string{"workspace_id", w.room.ID, "offset", "0", "cursor", cursor}, 200},
		"another user":        {w.ben, []string{"workspace_id", w.room.ID, "cursor", cursor}, 406},
		"another profile":     {w.ada, []string{"workspace_id", w.attic.ID, "cursor", cursor}, 406},
		"one filter more":     {w.ada, []string{"workspace_id", w.room.ID, "event", fileAdded, "cursor", cursor}, 406},
		"a bound more":        {w.ada, []string{"workspace_id", w.room.ID, "created-min", "2020-01-01", "cursor", cursor}, 406},
		"a character changed": {w.ada, []string{"workspace_id", w.room.ID, "cursor", flipped}, 406},
		"cut short":           {w.ada, []string{"workspace_id", w.room.ID, "cursor", cursor[:len(cursor)-4]}, 406},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := w.search(t, test.user, test.query...); got.Status != test.want {
				t.Errorf("got %d: %s", got.Status, got.Body)
			}
		})
	}
}

func TestInvalidateCursors(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for range 3 {
		w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	}
	page := func(cursor string) reply {
		return w.search(t, w.ada, "workspace_id", w.room.ID, "limit", "1", "cursor", cursor)
	}
	old := page("").get("pagination.next_cursor").(string)
	w.InvalidateCursors()
	if got := page(old); got.Status != http.StatusNotAcceptable {
		t.Errorf("an invalidated cursor got %d", got.Status)
	}
	fresh := page("").get("pagination.next_cursor").(string)
	if got := page(fresh); got.Status != http.StatusOK {
		t.Errorf("a fresh cursor got %d: %s", got.Status, got.Body)
	}
}

// walk follows cursors to the end and returns the ids in order.
func (w *world) walk(t *testing.T, u emulator.User, between func(page int), query ...string) []string {
	t.Helper()
	var ids []string
	cursor := ""
	for page := range 10_000 {
		p := w.search(t, u, append([]string{"cursor", cursor}, query...)...)
		if p.Status != http.StatusOK {
			t.Fatalf("page %d: %s", page, p.Body)
		}
		for _, id := range p.column("event_id") {
			ids = append(ids, id.(string))
		}
		if p.get("pagination.has_more") == false {
			return ids
		}
		cursor = p.get("pagination.next_cursor").(string)
		if between != nil {
			between(page)
		}
	}
	t.Fatal("the walk does not end")
	return nil
}

func TestEveryOrderYieldsEachEventOnce(t *testing.T) {
	t.Parallel()
	for order, name := range map[seed.Order]string{
		seed.OldestFirst: "oldest first", seed.NewestFirst: "newest first", seed.Unordered: "unordered",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(emulator.Options{Events: seed.EventOptions{Order: order}, Seed: 3, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
			w.Generate(emulator.History{Workspace: w.room.ID, Events: 700, Seed: 1})
			w.Generate(emulator.History{Workspace: w.attic.ID, Events: 600, Seed: 2}) // interleaves
			all := w.walk(t, w.ada, nil, "org_id", w.org.ID, "limit", "250", "output", "terse")
			seen := map[string]bool{}
			for _, id := range all {
				if seen[id] {
					t.Fatalf("%s twice", id)
				}
				seen[id] = true
			}
			// The same rows whatever the page size, and none lost when the log grows under the walk.
			again := w.walk(t, w.ada, func(page int) {
				w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Created: epoch.Add(-time.Duration(page*7919) * time.Second)})
			}, "org_id", w.org.ID, "limit", "90", "output", "terse")
			found := map[string]int{}
			for _, id := range again {
				found[id]++
			}
			for id := range seen {
				if found[id] != 1 {
					t.Fatalf("%s came %d times", id, found[id])
				}
			}
		})
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for order, want := range map[seed.Order][]any{
		seed.OldestFirst: {"a", "b", "c", "d"},
		seed.NewestFirst: {"d", "c", "b", "a"},
	} {
		w := newWorld(emulator.Options{Events: seed.EventOptions{Order: order}})
		for i, name := range []string{"c", "a", "b", "d"} { // c, b and d share a second
			created := epoch
			switch {
			case name == "a":
				created = epoch.Add(-2 * time.Second)
			case name == "b":
				created = epoch.Add(-time.Second)
			case i == 0:
				created = epoch
			}
			w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Description: name, Created: created})
		}
		if diff := cmp.Diff(want, w.search(t, w.ada, "workspace_id", w.room.ID).column("description")); diff != "" {
			t.Errorf("order %s (-want +got):\n%s", order, diff)
		}
	}
}

func TestOffsetPagingAndOldServers(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{Events: seed.EventOptions{NoCursor: true}, Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
	for i := range 5 {
		w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Description: strconv.Itoa(i)})
	}
	got := w.search(t, w.ada, "workspace_id", w.room.ID, "limit", "2", "offset", "2", "cursor", "ignored")
	if diff := cmp.Diff(map[string]any{"has_more": true, "page_size": 2.0}, got.get("pagination")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"2", "3"}, got.column("description")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChildrenHaveNoCursor(t *testing.T) {
	t.Parallel()
	w := unlimited()
	parent := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	for range 3 {
		w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, Parent: parent.ID})
	}
	got := w.search(t, w.ada, "parent_event_id", parent.ID, "limit", "2", "acknowledged", "false", "visibility", "external")
	want := map[string]any{"has_more": true, "next_cursor": nil, "page_size": 2.0}
	if diff := cmp.Diff(want, got.get("pagination")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rest := w.search(t, w.ada, "parent_event_id", parent.ID, "limit", "2", "offset", "2")
	if len(rest.events()) != 1 || rest.get("pagination.has_more") != false {
		t.Errorf("the rest: %s", rest.Body)
	}
}

func TestLateEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Clock: time.Now})
		late := w.AddEvent(emulator.Event{
			Name: fileAdded, Workspace: w.room.ID, Created: time.Now().Add(-time.Minute), VisibleAt: time.Now().Add(time.Minute),
		})
		if got := w.search(t, w.ada, "workspace_id", w.room.ID); len(got.events()) != 0 {
			t.Errorf("visible too early: %s", got.Body)
		}
		w.Fail(emulator.Fault{Op: "events.Search", Skip: 1, Count: 1, Delay: 30 * time.Second})
		if got := w.as(t, w.ada, http.MethodGet, "/event/"+late.ID+"/details/"); got.Status != http.StatusNotFound {
			t.Errorf("details too early: %d", got.Status)
		}
		time.Sleep(time.Minute - time.Second)
		if got := w.search(t, w.ada, "workspace_id", w.room.ID); len(got.events()) != 0 {
			t.Errorf("visible a second too early: %s", got.Body)
		}
		got := w.search(t, w.ada, "workspace_id", w.room.ID) // held up: it becomes visible meanwhile
		if diff := cmp.Diff([]any{late.ID}, got.column("event_id")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

const (
	terseFields    = "event_id event category object_id created "
	standardFields = terseFields + "sub_category calling_user actor org_id workspace_id user_id share_id acknowledged template severity visibility notification "
	fullFields     = standardFields + "permission description required_params event_profile node_type operation_type requires_parent_node agent_delegation policy_changes "
	auditFields    = "ip country "
	telemetry      = "method mfa new_country client_id session_id token_id agent_name device_name user_agent"
)

func TestOutputLevels(t *testing.T) {
	t.Parallel()
	w := unlimited()
	signIn := map[string]any{}
	for name := range set(telemetry) {
		signIn[name] = "x"
	}
	w.AddEvent(emulator.Event{
		Name: fileAdded, Visibility: audit, Workspace: w.room.ID, User: w.ben.ID, CallingUser: w.ada.ID, Object: "2abc", AgentDelegation: "x",
		Extra: map[string]any{"policy_changes": map[string]any{}}, IP: "198.51.100.1", Country: "DE", Telemetry: signIn,
	})
	tests := map[string]struct{ output, visibility, want string }{
		"terse":          {"terse", "", terseFields},
		"standard":       {"standard", "", standardFields},
		"full":           {"full", "", fullFields},
		"absent":         {"", "", fullFields},
		"unknown words":  {"shiny,terse,verbose", "", terseFields},
		"one word twice": {"terse,terse", "", terseFields},
		"terse audit":    {"terse", audit, terseFields},
		"standard audit": {"standard", audit, standardFields + auditFields},
		"full audit":     {"full", audit, fullFields + auditFields + telemetry},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.search(t, w.ada, "workspace_id", w.room.ID, "output", test.output, "visibility", test.visibility)
			if len(got.events()) != 1 {
				t.Fatal(got.Body)
			}
			if diff := cmp.Diff(set(test.want), keysOf(got.events()[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventRow(t *testing.T) {
	t.Parallel()
	w := unlimited()
	e := w.AddEvent(emulator.Event{
		Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ben.ID, Object: "2aaaa-bbbbb-ccccc-ddddd-eeeee-ffff", ObjectName: "plan.pdf",
		Extra: map[string]any{"empty": map[string]any{}},
	})
	want := map[string]any{
		"event_id": e.ID, "event": fileAdded, "category": "workspace", "object_id": "2aaaabbbbbcccccdddddeeeeeffff", "created": "2026-03-02 10:00:00 UTC",
		"sub_category": "storage", "calling_user": w.ben.ID, "org_id": w.org.ID, "workspace_id": w.room.ID, "share_id": nil, "acknowledged": false,
		"actor": map[string]any{
			"user_id": w.ben.ID, "kind": "human", "agent_name": nil, "name_source": nil, "credential_type": "session", "verified": false,
		},
		"template": map[string]any{
			"description": "{{actor}} added {{object}} to {{place}}", "params": []any{"Ben Stone", "plan.pdf", "Design Room"},
		},
		"severity": "info", "visibility": "external", "notification": "none", "permission": "member",
		"description": "Ben Stone added plan.pdf to Design Room", "required_params": []any{"actor", "object", "place"},
		"event_profile": w.room.ID, "node_type": "file", "operation_type": "added", "requires_parent_node": true,
		"empty": []any{},
	}
	if diff := cmp.Diff(want, w.as(t, w.ada, http.MethodGet, "/event/"+e.ID+"/details/").get("event")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An event has the names of the moment it was written; a later rename changes later events alone.
func TestEventsKeepTheNamesOfTheirMoment(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.Generate(emulator.History{Workspace: w.attic.ID, Events: 20})
	texts := func(profile, id string) []any {
		return w.search(t, w.ada, profile, id, "output", "full").column("description")
	}
	generated := texts("workspace_id", w.attic.ID)
	add := func(name string) {
		w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ben.ID, Object: object29, ObjectName: name})
	}
	add("plan.pdf")
	w.ben.FirstName, w.room.Name, w.attic.Name = "Benjamin", "Drawing Room", "Loft"
	w.AddUser(w.ben)
	w.AddWorkspace(w.room)
	w.AddWorkspace(w.attic)
	before := texts("workspace_id", w.room.ID)
	add("final plan.pdf")
	want := []any{"Ben Stone added plan.pdf to Design Room", "Benjamin Stone added final plan.pdf to Drawing Room"}
	if diff := cmp.Diff(want, texts("workspace_id", w.room.ID)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], before); diff != "" {
		t.Errorf("before the next event (-want +got):\n%s", diff)
	}
	w.AddEvent(emulator.Event{Name: "workspace_updated", Workspace: w.attic.ID, CallingUser: w.ada.ID})
	if diff := cmp.Diff(generated, texts("workspace_id", w.attic.ID)[:len(generated)]); diff != "" {
		t.Errorf("a history (-want +got):\n%s", diff)
	}
}

func TestUnattributedEventsHaveNoActor(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ben.ID, Unattributed: true, AgentDelegation: "scout"})
	row := w.search(t, w.ada, "workspace_id", w.room.ID).events()[0]
	if _, found := row["actor"]; found || row["agent_delegation"] != "scout" {
		t.Errorf("%v", row)
	}
}

func TestTwoLevelsMayAnswer400(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{LevelsStatus: 400})
	for path, query := range map[string][]string{"/events/search/": {"org_id", w.org.ID}, "/user/me/details/": nil, "/orgs/list/": nil, "/workspace/" + w.room.ID + "/details/": nil} {
		got := w.as(t, w.ada, http.MethodGet, path, append(query, "output", "standard,terse")...)
		if got.Status != http.StatusBadRequest || len(got.failures()) != 1 {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
}

func TestEventDetails(t *testing.T) {
	t.Parallel()
	w := unlimited()
	shown := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID}).ID
	aimed := w.AddEvent(emulator.Event{Name: "comment_mentioned", Workspace: w.room.ID, User: w.cleo.ID, CallingUser: w.ben.ID}).ID
	own := w.AddEvent(emulator.Event{Name: "membership_updated", Workspace: w.room.ID, CallingUser: w.cleo.ID}).ID
	hidden := w.AddEvent(emulator.Event{Name: "node_ai_state_set", Workspace: w.room.ID}).ID
	abroad := w.AddEvent(emulator.Event{Name: "workspace_created", Org: w.other.ID, CallingUser: w.ada.ID}).ID
	given := w.AddEvent(emulator.Event{ID: "e0000-00000-00000-00000-00000-0000", Name: fileAdded, Workspace: w.room.ID}).ID
	w.BlockLocation(w.other.ID, true)
	narrow := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"workspace:" + w.attic.ID + ":rw"}}).Token
	tests := map[string]struct {
		token  string
		id     string
		status int
		reason string
	}{
		"a member's":              {w.keys[w.ben.ID], shown, 200, ""},
		"without hyphens":         {w.keys[w.ben.ID], strings.ReplaceAll(shown, "-", ""), 200, ""},
		"in capitals":             {w.keys[w.ben.ID], strings.ToUpper(shown), 200, ""},
		"one with its own id":     {w.keys[w.ben.ID], given, 200, ""},
		"a guest's":               {w.keys[w.cleo.ID], shown, 406, ""},
		"one's own deed":          {w.keys[w.cleo.ID], own, 200, ""},
		"aimed at the caller":     {w.keys[w.cleo.ID], aimed, 200, ""},
		"aimed at somebody else":  {w.keys[w.ben.ID], aimed, 406, ""},
		"internal":                {w.keys[w.ada.ID], hidden, 406, ""},
		"malformed":               {w.keys[w.ada.ID], "abc", 406, ""},
		"missing":                 {w.keys[w.ada.ID], "", 406, ""},
		"unknown":                 {w.keys[w.ada.ID], "e1111111111111111111111111111", 404, ""},
		"from a blocked location": {w.keys[w.ada.ID], abroad, 403, "geo_restricted"},
		"outside the credential":  {narrow, shown, 403, ""},
		"no credential":           {"", shown, 401, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.with(t, test.token, http.MethodGet, "/event/"+test.id+"/details/")
			if got.Status != test.status || got.reason() != test.reason {
				t.Errorf("got %d %q: %s", got.Status, got.reason(), got.Body)
			}
		})
	}
}

func TestAck(t *testing.T) {
	t.Parallel()
	w := unlimited()
	e := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	other := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	for range 2 { // a repeat is a silent success
		got := w.as(t, w.ada, http.MethodPost, "/event/"+e.ID+"/ack/")
		want := map[string]any{"result": true, "status": "ok", "current_api_version": "1.0"}
		if diff := cmp.Diff(want, got.JSON); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, test := range []struct {
		user  emulator.User
		acked string
		want  []any
	}{
		{w.ada, "true", []any{e.ID}},
		{w.ada, "false", []any{other.ID}},
		{w.ben, "true", []any{}},
		{w.ben, "false", []any{e.ID, other.ID}},
	} {
		got := w.search(t, test.user, "workspace_id", w.room.ID, "acknowledged", test.acked)
		if diff := cmp.Diff(test.want, got.column("event_id")); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.user.FirstName, test.acked, diff)
		}
	}
	if got := w.search(t, w.ada, "workspace_id", w.room.ID).column("acknowledged"); !cmp.Equal(got, []any{true, false}) {
		t.Errorf("rows say %v", got)
	}
}

func TestAckRights(t *testing.T) {
	t.Parallel()
	w := unlimited()
	file := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID}).ID
	alert := w.AddEvent(emulator.Event{Name: "org_security_alert", Org: w.org.ID}).ID
	hidden := w.AddEvent(emulator.Event{Name: "node_ai_state_set", Workspace: w.room.ID}).ID
	reader := w.AddKey(emulator.Key{User: w.ben.ID, Scopes: []string{"workspace:*:r"}}).Token
	tests := map[string]struct {
		token  string
		id     string
		status int
		code   int
	}{
		"a member":                     {w.keys[w.ben.ID], file, 200, 0},
		"a stranger":                   {w.keys[w.eve.ID], file, 406, 199006},
		"internal":                     {w.keys[w.ada.ID], hidden, 406, 199006},
		"an auditor and an alert":      {w.keys[w.dora.ID], alert, 200, 0},
		"an auditor and a file":        {w.keys[w.dora.ID], file, 406, 199006},
		"a member and an alert":        {w.keys[w.ben.ID], alert, 406, 199006},
		"a credential that only reads": {reader, file, 403, 10770},
		"unknown":                      {w.keys[w.ada.ID], "e1111111111111111111111111111", 404, 199002},
		"malformed":                    {w.keys[w.ada.ID], "x", 406, 10022},
		"missing":                      {w.keys[w.ada.ID], "", 406, 10021},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.with(t, test.token, http.MethodPost, "/event/"+test.id+"/ack/")
			if got.Status != test.status || got.code() != test.code {
				t.Errorf("got %d %d: %s", got.Status, got.code(), got.Body)
			}
		})
	}
}
