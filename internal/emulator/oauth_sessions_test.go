package emulator_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

// sessionIDs lists what a token's user sees.
func (w *world) sessionIDs(t *testing.T, token string) []string {
	t.Helper()
	got := w.with(t, token, http.MethodGet, "/oauth/sessions/")
	list, isList := got.get("sessions").([]any)
	if got.Status != http.StatusOK || !isList {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	ids := []string{}
	for _, s := range list {
		ids = append(ids, s.(map[string]any)["session_id"].(string))
	}
	return ids
}

func (w *world) patch(t *testing.T, token, id string, fields ...string) reply {
	t.Helper()
	return w.raw(t, http.MethodPatch, "/api/current/oauth/sessions/"+id+"/", pairs(fields...).Encode(),
		"Content-Type", formType, "Authorization", "Bearer "+token)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	key := p.keys[p.ada.ID]
	if ids := p.sessionIDs(t, key); len(ids) != 0 {
		t.Errorf("sessions %v before any", ids)
	}
	p.grant(t)
	p.clock.forward(time.Minute)
	access, refresh := tokens(t, p.exchange(t, p.code(t, "agent_name", "Scout", "scope", "org", "resource", host), "device_name", "Laptop", "device_type", "cli"))
	p.clock.forward(time.Minute)
	tokens(t, p.refresh(t, refresh))
	ids := p.sessionIDs(t, access)
	if len(ids) != 2 {
		t.Fatalf("sessions %v", ids)
	}
	want := map[string]any{
		"session_id": ids[1], "client_id": "app", "client_name": "App", "device_name": "Laptop", "device_type": "cli",
		"agent_name": "Scout", "scope": "org", "scopes": `["org:` + p.org.ID + `:rw"]`, "resource": host,
		"created": "2026-03-02 10:01:00 UTC", "last_used": "2026-03-02 10:02:00 UTC", "current": true,
	}
	if diff := cmp.Diff(want, p.with(t, access, http.MethodGet, "/oauth/sessions/"+ids[1]+"/").get("session")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want["current"] = false
	if diff := cmp.Diff(want, p.with(t, key, http.MethodGet, "/oauth/sessions/").get("sessions.1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if others := p.sessionIDs(t, p.keys[p.ben.ID]); len(others) != 0 {
		t.Errorf("Ben sees %v", others)
	}
}

func TestSessionsAreTheirUsers(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	access, _ := p.grant(t)
	id := p.sessionIDs(t, access)[0]
	ben := p.keys[p.ben.ID]
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		if got := p.with(t, ben, method, "/oauth/sessions/"+id+"/"); got.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", method, got.Status, got.Body)
		}
	}
	if got := p.with(t, ben, http.MethodDelete, "/oauth/sessions/"); got.Status != http.StatusOK || !p.accepts(t, access) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := p.with(t, ben, http.MethodDelete, "/oauth/sessions/", "exclude_current", "true", "current_session_id", id); got.Status != http.StatusNotAcceptable {
		t.Errorf("another's session to keep: %d %s", got.Status, got.Body)
	}
	if got := p.with(t, p.keys[p.ada.ID], http.MethodGet, "/oauth/sessions//"); got.Status != http.StatusNotFound {
		t.Errorf("no session: %d %s", got.Status, got.Body)
	}
}

func TestReadersDoNotChangeSessions(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	access, _ := p.grant(t, "access_mode", "r")
	id := p.sessionIDs(t, access)[0]
	for name, got := range map[string]reply{
		"a change":     p.patch(t, access, id, "device_name", "x"),
		"an end":       p.with(t, access, http.MethodDelete, "/oauth/sessions/"+id+"/"),
		"all endings":  p.with(t, access, http.MethodDelete, "/oauth/sessions/"),
		"by a key too": p.patch(t, p.AddKey(emulator.Key{User: p.ada.ID, Scopes: []string{"user:*:r"}}).Token, id, "device_name", "x"),
	} {
		if got.Status != http.StatusForbidden || got.code() != 10770 || got.reason() != "scope_write_required" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

func TestUpdateSession(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	access, refresh := tokens(t, p.exchange(t, p.code(t, "agent_name", "Scout"), "device_name", "Laptop"))
	id := p.sessionIDs(t, access)[0]
	room := `["workspace:` + p.room.ID + `:r"]`
	long := strings.Repeat("é", 128)
	for _, step := range []struct {
		fields []string
		want   [3]any // device_name, agent_name, scopes
	}{
		{[]string{"device_name", "Desk"}, [3]any{"Desk", "Scout", `["user:*:rw"]`}},
		{[]string{"agent_name", long}, [3]any{"Desk", long, `["user:*:rw"]`}},
		{[]string{"agent_name", ""}, [3]any{"Desk", nil, `["user:*:rw"]`}},
		{[]string{"device_name", ""}, [3]any{nil, nil, `["user:*:rw"]`}},
		{[]string{"scopes", `["user:*:rw"]`}, [3]any{nil, nil, `["user:*:rw"]`}},
		{[]string{"scopes", `["org:*:rw","share:*:r"]`, "device_name", "Both"}, [3]any{"Both", nil, `["org:*:rw","share:*:r"]`}},
		{[]string{"scopes", room}, [3]any{"Both", nil, room}},
	} {
		got := p.patch(t, p.keys[p.ada.ID], id, step.fields...)
		have := [3]any{got.get("session.device_name"), got.get("session.agent_name"), got.get("session.scopes")}
		if diff := cmp.Diff(step.want, have); diff != "" || got.Status != http.StatusOK {
			t.Errorf("%v: %d (-want +got):\n%s", step.fields, got.Status, diff)
		}
	}
	renewed := p.refresh(t, refresh)
	if renewed.get("scopes") != room {
		t.Errorf("a refresh gives %v", renewed.get("scopes"))
	}
	access2, _ := tokens(t, renewed)
	for _, token := range []string{access, access2} {
		if got := p.with(t, token, http.MethodGet, "/workspace/"+p.attic.ID+"/details/"); got.Status != http.StatusForbidden {
			t.Errorf("what was taken away: %d %s", got.Status, got.Body)
		}
		if got := p.with(t, token, http.MethodGet, "/workspace/"+p.room.ID+"/details/"); got.Status != http.StatusOK {
			t.Errorf("what was left: %d %s", got.Status, got.Body)
		}
	}
}

func TestUpdateSessionRefuses(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	access, _ := p.grant(t, "scope", "org")
	id := p.sessionIDs(t, access)[0]
	before := p.with(t, access, http.MethodGet, "/oauth/sessions/").Body
	in := func(scopes string) []string { return []string{"device_name", "New", "scopes", scopes} }
	for name, test := range map[string]struct {
		fields       []string
		status, code int
	}{
		"nothing":                   {nil, 406, 10021},
		"a long agent name":         {[]string{"agent_name", strings.Repeat("é", 129)}, 406, 107184},
		"a long device name":        {[]string{"device_name", strings.Repeat("é", 129)}, 406, 107184},
		"a reserved agent name":     {[]string{"agent_name", "Fast.io"}, 406, 107184},
		"scopes that are no JSON":   {in("org:*:r"), 406, 10023},
		"scopes that are an object": {in(`{"org": "r"}`), 406, 10023},
		"no scopes":                 {in(`[]`), 406, 10022},
		"an empty text of scopes":   {in(``), 406, 10023},
		"scopes that are null":      {in(`null`), 406, 10022},
		"an unknown type":           {in(`["planet:*:r"]`), 406, 10022},
		"an unknown mode":           {in(`["org:*:w"]`), 406, 10022},
		"an id that is a name":      {in(`["org:acme:r"]`), 406, 10022},
		"account settings to read":  {in(`["userdetails:*:r"]`), 406, 10022},
		"two words":                 {in(`["org:*"]`), 406, 10022},
		"four words":                {in(`["org:*:r:r"]`), 406, 10022},
		"a higher mode":             {in(`["org:` + p.org.ID + `:rwa"]`), 403, 10768},
		"every organization":        {in(`["org:*:r"]`), 403, 10768},
		"another organization":      {in(`["org:` + p.other.ID + `:r"]`), 403, 10768},
		"the whole account":         {in(`["user:*:r"]`), 403, 10768},
		"every workspace":           {in(`["workspace:*:r"]`), 403, 10768},
		"account settings":          {in(`["userdetails:*:rw"]`), 403, 10768},
		"one scope among others":    {in(`["org:` + p.org.ID + `:r","org:*:r"]`), 403, 10768},
	} {
		got := p.patch(t, p.keys[p.ada.ID], id, test.fields...)
		if got.Status != test.status || got.code() != test.code {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		if test.code == 10768 && (got.reason() != "scope_exceeds_issuer" || got.get("error.params.credential_type") != "api_key") {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	if diff := cmp.Diff(before, p.with(t, access, http.MethodGet, "/oauth/sessions/").Body); diff != "" {
		t.Errorf("a refused change has changed something (-want +got):\n%s", diff)
	}
}

func TestConflictingScopes(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{OAuth: seed.OAuthOptions{ScopeConflicts: 2}})
	access, _ := p.grant(t)
	id := p.sessionIDs(t, access)[0]
	if got := p.patch(t, access, id, "device_name", "x"); got.Status != http.StatusOK {
		t.Errorf("a label: %d %s", got.Status, got.Body)
	}
	for _, want := range []int{409, 409, 200} {
		if got := p.patch(t, access, id, "scopes", `["org:*:rw"]`, "device_name", "y"); got.Status != want {
			t.Errorf("%d, want %d: %s", got.Status, want, got.Body)
		}
	}
}

func TestRevokeSession(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	access, refresh := p.grant(t)
	other, _ := p.grant(t)
	id := p.sessionIDs(t, access)[0]
	for _, want := range []int{200, 404} {
		if got := p.with(t, other, http.MethodDelete, "/oauth/sessions/"+id+"/"); got.Status != want {
			t.Errorf("%d, want %d: %s", got.Status, want, got.Body)
		}
	}
	if p.accepts(t, access) || !p.accepts(t, other) || p.refresh(t, refresh).get("error") != "invalid_grant" || len(p.sessionIDs(t, other)) != 1 {
		t.Error("the wrong session ended")
	}
}

func TestRevokeAllSessions(t *testing.T) {
	t.Parallel()
	const own, first = "own", "first" // of the two sessions that there are, "first" is not the caller's
	for name, test := range map[string]struct {
		byKey  bool
		query  []string // "own" and "first" stand for the ids
		status int
		kept   []string
	}{
		"all":                             {false, nil, 200, nil},
		"all, one named":                  {false, []string{"current_session_id", own}, 200, nil},
		"all, in so many words":           {false, []string{"exclude_current", "false", "current_session_id", own}, 200, nil},
		"all but the own":                 {false, []string{"exclude_current", "true", "current_session_id", own}, 200, []string{own}},
		"all but another":                 {false, []string{"exclude_current", "1", "current_session_id", first}, 200, []string{first}},
		"all but the own, not named":      {false, []string{"exclude_current", "true"}, 200, []string{own}},
		"all but one, by a key":           {true, []string{"exclude_current", "true", "current_session_id", first}, 200, []string{first}},
		"all but none, by a key":          {true, []string{"exclude_current", "true"}, 406, []string{first, own}},
		"all but one that does not exist": {false, []string{"exclude_current", "true", "current_session_id", "x"}, 406, []string{first, own}},
		"all, perhaps":                    {false, []string{"exclude_current", "perhaps"}, 406, []string{first, own}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(emulator.Options{})
			other, _ := p.grant(t)
			access, _ := p.grant(t)
			ids := p.sessionIDs(t, access)
			names := map[string]string{first: ids[0], own: ids[1]}
			for i, v := range test.query {
				if id, found := names[v]; found {
					test.query[i] = id
				}
			}
			token := access
			if test.byKey {
				token = p.keys[p.ada.ID]
			}
			if got := p.with(t, token, http.MethodDelete, "/oauth/sessions/", test.query...); got.Status != test.status {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			want := []string{}
			for _, name := range test.kept {
				want = append(want, names[name])
			}
			if diff := cmp.Diff(want, p.sessionIDs(t, p.keys[p.ada.ID])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for name, token := range map[string]string{first: other, own: access} {
				if kept := strings.Contains(strings.Join(test.kept, " "), name); p.accepts(t, token) != kept {
					t.Errorf("the token of the session %s works %v", name, !kept)
				}
			}
		})
	}
}

func TestTokenScopes(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	scout := p.AddUser(emulator.User{ID: "4000000000000000001", AccountType: "agent"})
	detail := func(entity string, id any, mode string) map[string]any {
		return map[string]any{"entity_type": entity, "entity_id": id, "access_mode": mode}
	}
	whole := []any{detail("user", "*", "rwa")}
	admin, _ := p.grant(t, "access_mode", "rwa", "scope", "all_orgs")
	agent, _ := p.grant(t, "agent_name", "Scout")
	for name, test := range map[string]struct {
		token                string
		kind                 string
		scopes, detail       []any
		admin, agent, access bool
	}{
		"of a whole key":      {p.keys[p.ada.ID], "api_key", []any{"user:*:rwa"}, whole, true, false, true},
		"of an agent's key":   {p.AddKey(emulator.Key{User: scout.ID}).Token, "api_key", []any{"user:*:rwa"}, whole, true, true, true},
		"of a key of names":   {p.AddKey(emulator.Key{User: p.ada.ID, AgentName: "CI", Scopes: []string{"org:4012345678901234567:r"}}).Token, "api_key", []any{"org:4012345678901234567:r"}, []any{detail("org", 4012345678901234567., "r")}, false, true, false},
		"of a signed-in user": {p.AddSession(p.ada.ID), "session", []any{"user:*:rwa"}, whole, true, false, true},
		"of an application":   {admin, "oauth", []any{"org:*:rwa"}, []any{detail("org", "*", "rwa")}, true, false, false},
		"of an agent's":       {agent, "oauth", []any{"user:*:rw"}, []any{detail("user", "*", "rw")}, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[string]any{
				"result": true, "status": "ok", "current_api_version": "1.0", "auth_type": test.kind, "scopes": test.scopes,
				"scopes_detail": test.detail, "admin": test.admin, "is_agent": test.agent, "full_access": test.access,
			}
			if diff := cmp.Diff(want, p.with(t, test.token, http.MethodGet, "/auth/scopes/").JSON); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
