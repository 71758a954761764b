package emulator_test

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// names lists one member of the rows under key.
func (p reply) names(key, member string) []any {
	rows, _ := p.get(key).([]any)
	values := []any{}
	for _, row := range rows {
		values = append(values, row.(map[string]any)[member])
	}
	return values
}

func TestAccountRecords(t *testing.T) {
	t.Parallel()
	w := unlimited()
	created := map[string]any{"created": "2026-03-02 10:00:00 UTC", "updated": "2026-03-02 10:00:00 UTC"}
	type fields = map[string]any
	user := []fields{
		{"id": w.ben.ID, "account_type": "human", "first_name": "Ben", "last_name": "Stone", "profile_pic": nil},
		{"email_address": "ben@example.test", "status": "active"},
		{"phone_country": nil, "phone_number": nil, "two_factor": false},
	}
	org := []fields{
		{"id": w.org.ID, "domain": "acme", "name": "Acme", "logo": nil},
		{"description": nil, "owner": w.ada.ID, "member": false, "user_status": "none", "closed": false},
		{"plan": "business", "accent_color": nil, "capabilities": fields{"can_create_workspace": false}},
	}
	workspace := []fields{
		{"id": w.room.ID, "name": "Design Room", "folder_name": "design-room", "org_domain": "acme", "user_status": "member"},
		{"description": nil, "org_id": w.org.ID, "owner": w.ada.ID, "archived": false},
		{
			"logo": nil, "intelligence": true, "capabilities": fields{"can_create_share": true},
			"perm_join": "Member or above", "perm_member_manage": "Member or above", "metadata_extraction": true,
			"accent_color": nil, "background_color1": nil, "background_color2": nil, "owner_defined": nil,
		},
	}
	tests := map[string]struct {
		path, key string
		levels    []fields
	}{
		"me":                         {"/user/me/details/", "user", user},
		"user by id":                 {"/user/" + w.ben.ID + "/details/", "user", user},
		"user by e-mail":             {"/user/Ben%40example.test/details/", "user", user},
		"organization by id":         {"/org/" + w.org.ID + "/details/", "org", org},
		"organization by domain":     {"/org/acme/details/", "org", org},
		"organizations, external":    {"/orgs/list/external/", "orgs.0", org},
		"workspace by id":            {"/workspace/" + w.room.ID + "/details/", "workspace", workspace},
		"workspace by folder name":   {"/workspace/design-room/details/", "workspace", workspace},
		"workspaces":                 {"/workspaces/all/", "workspaces.0", workspace},
		"workspaces of organization": {"/org/acme/list/workspaces/", "workspaces.0", workspace},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := fields{}
			for i, level := range []string{"terse", "standard", "full"} {
				maps.Copy(want, test.levels[i])
				if level == "standard" {
					maps.Copy(want, created)
				}
				got := w.as(t, w.ben, http.MethodGet, test.path, "output", level)
				if diff := cmp.Diff(want, got.get(test.key)); diff != "" {
					t.Errorf("%s: %d (-want +got):\n%s", level, got.Status, diff)
				}
			}
			if diff := cmp.Diff(want, w.as(t, w.ben, http.MethodGet, test.path).get(test.key)); diff != "" {
				t.Errorf("without output (-want +got):\n%s", diff)
			}
		})
	}
	stranger := w.as(t, w.ada, http.MethodGet, "/user/"+w.ben.ID+"/details/").get("user").(map[string]any)
	if _, found := stranger["phone_number"]; found {
		t.Error("somebody else's telephone number")
	}
}

func TestAccountRefusals(t *testing.T) {
	t.Parallel()
	w := unlimited()
	attic := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"workspace:" + w.attic.ID + ":r"}}).Token
	other := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:" + w.other.ID + ":r"}}).Token
	tests := map[string]struct {
		token, path string
		status      int
		code        int
	}{
		"no credential":                  {"", "/user/me/details/", 401, 10011},
		"unknown user":                   {w.keys[w.ada.ID], "/user/nobody%40example.test/details/", 404, 199002},
		"unknown organization":           {w.keys[w.ada.ID], "/org/nowhere/details/", 404, 199002},
		"unknown workspace":              {w.keys[w.ada.ID], "/workspace/nowhere/details/", 404, 199002},
		"a stranger's workspace":         {w.keys[w.eve.ID], "/workspace/" + w.room.ID + "/details/", 401, 10545},
		"a stranger's organization":      {w.keys[w.eve.ID], "/org/acme/details/", 401, 10545},
		"a stranger's list":              {w.keys[w.eve.ID], "/org/acme/list/workspaces/", 401, 10545},
		"outside the credential":         {attic, "/workspace/" + w.room.ID + "/details/", 403, 10754},
		"organization below its scope":   {attic, "/org/acme/details/", 200, 0},
		"organization outside its scope": {other, "/org/acme/details/", 403, 10545},
		"list outside its scope":         {other, "/org/acme/list/workspaces/", 403, 10545},
		"limit too high":                 {w.keys[w.ada.ID], "/orgs/list/?limit=501", 406, 10022},
		"limit zero":                     {w.keys[w.ada.ID], "/workspaces/all/?limit=0&offset=-1", 406, 10022},
		"a word for an offset":           {w.keys[w.ada.ID], "/org/acme/list/workspaces/?offset=two", 406, 10023},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.with(t, test.token, http.MethodGet, test.path)
			if got.Status != test.status || got.code() != test.code {
				t.Errorf("got %d %d: %s", got.Status, got.code(), got.Body)
			}
		})
	}
}

func TestListsKnowTheCaller(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.SetMember(w.other.ID, w.ben.ID, emulator.Member)
	orgs := func(u emulator.User, path string) []any {
		return w.as(t, u, http.MethodGet, path).names("orgs", "domain")
	}
	for _, test := range []struct {
		user emulator.User
		path string
		want []any
	}{
		{w.ada, "/orgs/list/", []any{"acme"}},
		{w.ada, "/orgs/list/external/", []any{}},
		{w.ben, "/orgs/list/", []any{"other"}},
		{w.ben, "/orgs/list/external/", []any{"acme"}},
		{w.cleo, "/orgs/list/external/", []any{"acme"}},
		{w.dora, "/orgs/list/external/", []any{}},
	} {
		if diff := cmp.Diff(test.want, orgs(test.user, test.path)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.user.FirstName, test.path, diff)
		}
	}
	spaces := func(token, path string) []any {
		return w.with(t, token, http.MethodGet, path).names("workspaces", "name")
	}
	attic := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"workspace:" + w.attic.ID + ":r"}}).Token
	other := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:" + w.other.ID + ":r"}}).Token
	for token, want := range map[string][]any{attic: {"acme"}, other: {}} {
		if diff := cmp.Diff(want, w.with(t, token, http.MethodGet, "/orgs/list/").names("orgs", "domain")); diff != "" {
			t.Errorf("organizations of a narrow credential (-want +got):\n%s", diff)
		}
	}
	for path, want := range map[string][]any{"/workspaces/all/": {"Design Room", "Attic"}, "/org/acme/list/workspaces/": {"Design Room", "Attic"}} {
		if diff := cmp.Diff(want, spaces(w.keys[w.ada.ID], path)); diff != "" {
			t.Errorf("the owner, %s (-want +got):\n%s", path, diff)
		}
		if diff := cmp.Diff([]any{"Design Room"}, spaces(w.keys[w.ben.ID], path)); diff != "" {
			t.Errorf("a member, %s (-want +got):\n%s", path, diff)
		}
		if diff := cmp.Diff([]any{"Attic"}, spaces(attic, path)); diff != "" {
			t.Errorf("a narrow credential, %s (-want +got):\n%s", path, diff)
		}
	}
}

func TestListsPage(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for i := range 5 {
		w.AddWorkspace(emulator.Workspace{Org: w.org.ID, Name: "Room " + strconv.Itoa(i)})
	}
	got := w.as(t, w.ada, http.MethodGet, "/workspaces/all/", "limit", "3", "offset", "3", "output", "terse")
	if diff := cmp.Diff([]any{"Room 1", "Room 2", "Room 3"}, got.names("workspaces", "name")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := map[string]any{"total": 7.0, "limit": 3.0, "offset": 3.0, "has_more": true}
	if diff := cmp.Diff(want, got.get("pagination")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = w.as(t, w.ada, http.MethodGet, "/workspaces/all/", "offset", "100")
	if len(got.names("workspaces", "name")) != 0 || got.get("pagination.has_more") != false {
		t.Errorf("beyond the end: %s", got.Body)
	}
}

func TestOneOfTheCallersOwnWorkspacesGoesFirst(t *testing.T) {
	t.Parallel()
	w := unlimited()
	foreign := w.AddWorkspace(emulator.Workspace{Org: w.other.ID, Name: "Studio"})
	own := w.AddWorkspace(emulator.Workspace{Org: w.org.ID, Name: "Studio"})
	for u, want := range map[emulator.User]string{w.ada: own.ID, w.eve: foreign.ID} {
		if got := w.as(t, u, http.MethodGet, "/workspace/studio/details/").get("workspace.id"); got != want {
			t.Errorf("%s got %v", u.FirstName, got)
		}
	}
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{Wrapped: true, NumericIDs: true})
	got := w.as(t, w.ben, http.MethodGet, "/user/me/details/", "output", "terse")
	want := `{"result":"yes","response":{"user":{"id":` + w.ben.ID +
		`,"account_type":"human","first_name":"Ben","last_name":"Stone","profile_pic":null}},"current_api_version":"1.0"}`
	if diff := cmp.Diff(want, got.Body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = w.with(t, "nobody", http.MethodGet, "/user/me/details/")
	if got.get("result") != "no" || got.code() != 10011 || got.get("response") != nil {
		t.Errorf("a refusal: %s", got.Body)
	}
	e := w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID})
	got = w.as(t, w.ben, http.MethodPost, "/event/"+e.ID+"/ack/")
	if got.Body != `{"result":"yes","response":[],"current_api_version":"1.0"}` {
		t.Errorf("an empty payload: %s", got.Body)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddEvent(emulator.Event{ID: "e0000000000000000000000000000", Name: fileAdded, Workspace: w.room.ID, Object: "2abc"})
	w.AddEvent(emulator.Event{ID: "e1111111111111111111111111111", Name: "ai|chat", Workspace: w.room.ID})
	tests := map[string]struct{ path, want string }{
		"a list": {
			"/events/search/?output=terse,markdown&workspace_id=" + w.room.ID,
			`**Result:** success

## events

| event_id | event | category | object_id | created |
|---|---|---|---|---|
| e0000-00000-00000-00000-00000-0000 | workspace_storage_file_added | workspace | 2abc | 2026-03-02 10:00:00 UTC |
| e1111-11111-11111-11111-11111-1111 | ai\|chat | workspace |  | 2026-03-02 10:00:00 UTC |

## pagination

- **has_more:** false
- **next_cursor:** 
- **page_size:** 100
`,
		},
		"no rows": {
			"/orgs/list/external/?output=markdown",
			`**Result:** success

## orgs

(none)

## pagination

- **total:** 0
- **limit:** 100
- **offset:** 0
- **has_more:** false
`,
		},
		"a refusal": {
			"/events/search/?output=markdown&limit=x",
			`# Error

- **code:** 10023
- **text:** One or more parameters are not acceptable.
- **documentation_url:** 
- **resource:** GET /current/events/search/

## params

| name | kind | message | code | expected_type |
|---|---|---|---|---|
| limit | type_mismatch | The value cannot be read. | 10023 | integer |
| org_id | missing | Name a profile or a parent event. | 10021 |  |
`,
		},
		"a reason": {
			"/events/search/?output=markdown&visibility=external_audit_log&org_id=" + w.other.ID,
			`# Error

- **code:** 199004
- **text:** Audit searches are for administrators and compliance auditors.
- **documentation_url:** 
- **resource:** GET /current/events/search/

## params

- **reason:** compliance_access_required
`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.as(t, w.ada, http.MethodGet, test.path)
			if got.Header.Get("Content-Type") != "text/markdown; charset=UTF-8" {
				t.Errorf("content type %q", got.Header.Get("Content-Type"))
			}
			if diff := cmp.Diff(test.want, got.Body); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkdownOfNestedValues(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddEvent(emulator.Event{Name: fileAdded, Workspace: w.room.ID, CallingUser: w.ada.ID, Extra: map[string]any{"policy_changes": map[string]any{"a": "x\ny"}}})
	for _, path := range []string{"/events/search/summarize/", "/events/search/"} {
		got := w.as(t, w.ada, http.MethodGet, path, "workspace_id", w.room.ID, "output", "markdown")
		if got.Status != 200 || got.JSON != nil {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	got := w.as(t, w.ada, http.MethodGet, "/user/me/details/?"+url.Values{"output": {"terse,markdown"}}.Encode())
	if diff := cmp.Diff("**Result:** success\n\n## user\n\n- **id:** "+w.ada.ID+"\n- **account_type:** human\n- **first_name:** Ada\n- **last_name:** Stone\n- **profile_pic:** \n", got.Body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
