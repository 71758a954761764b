package emulator_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

const (
	keyPath  = "/user/auth/key/"
	keysPath = "/user/auth/keys/"
)

func (w *world) createKey(t *testing.T, token string, fields ...string) reply {
	t.Helper()
	return w.form(t, token, http.MethodPost, keyPath, fields...)
}

// fields is an answer without the envelope.
func (p reply) fields() map[string]any {
	rest := map[string]any{}
	for name, value := range p.JSON {
		if name != "result" && name != "status" && name != "current_api_version" {
			rest[name] = value
		}
	}
	return rest
}

func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
	u := w.AddUser(emulator.User{Email: "keys@example.test"})
	token := w.session(t, u)
	if diff := cmp.Diff(map[string]any{"results": 0.0, "api_keys": nil}, w.with(t, token, http.MethodGet, keysPath).fields()); diff != "" {
		t.Errorf("no keys (-want +got):\n%s", diff)
	}
	made := w.createKey(t, token, "memo", "CI", "scopes", `["org:`+w.org.ID+`:rw","share:*:rwa"]`, "agent_name", "ci-bot", "expires", "2026-04-01 08:30:00")
	made.is(t, 200, 0)
	secret, _ := made.get("api_key").(string)
	id, _ := made.get("id").(string)
	if !strings.HasPrefix(id, "k_") || !w.works(t, secret) {
		t.Errorf("created: %s", made.Body)
	}
	key := map[string]any{
		"id": id, "memo": "CI", "scopes": `["org:` + w.org.ID + `:rw","share:*:rwa"]`, "agent_name": "ci-bot",
		"created": "2026-03-02 10:00:00 UTC", "expires": "2026-04-01 08:30:00 UTC", "admin": true, "legacy": false,
	}
	rest := made.fields()
	delete(rest, "api_key")
	if diff := cmp.Diff(key, rest); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	whole := w.createKey(t, token).fields()
	delete(whole, "api_key")
	if diff := cmp.Diff(map[string]any{
		"id": whole["id"], "memo": "", "scopes": nil, "agent_name": nil,
		"created": "2026-03-02 10:00:00 UTC", "expires": nil, "admin": true, "legacy": true,
	}, whole); diff != "" {
		t.Errorf("the whole account (-want +got):\n%s", diff)
	}
	list := w.with(t, token, http.MethodGet, keysPath)
	if diff := cmp.Diff(map[string]any{"results": 2.0, "api_keys": []any{key, whole}}, list.fields()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(key, w.with(t, token, http.MethodGet, keyPath+id+"/").fields()); diff != "" {
		t.Errorf("get (-want +got):\n%s", diff)
	}
	key["memo"], key["expires"], key["agent_name"] = "Nightly", nil, nil
	if diff := cmp.Diff(key, w.form(t, token, http.MethodPost, keyPath+id+"/", "memo", "Nightly", "expires", "", "agent_name", "").fields()); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	key["scopes"], key["admin"] = `["workspace:`+w.room.ID+`:r"]`, false
	if diff := cmp.Diff(key, w.form(t, token, http.MethodPost, keyPath+id+"/", "scopes", key["scopes"].(string)).fields()); diff != "" {
		t.Errorf("other scopes (-want +got):\n%s", diff)
	}
	w.with(t, secret, http.MethodGet, "/events/search/", "org_id", w.org.ID).is(t, 403, 10545)
	w.with(t, token, http.MethodDelete, keyPath+id+"/").is(t, 200, 0)
	w.with(t, secret, http.MethodGet, "/user/auth/check/").is(t, 401, 10011)
	w.with(t, token, http.MethodGet, keyPath+id+"/").is(t, 404, 199002)
	w.with(t, token, http.MethodDelete, keyPath+id+"/").is(t, 404, 199002)
	if diff := cmp.Diff([]any{whole["id"]}, w.with(t, token, http.MethodGet, keysPath).names("api_keys", "id")); diff != "" {
		t.Errorf("list after the end of a key (-want +got):\n%s", diff)
	}
}

func TestAddedKeysAreListed(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddKey(emulator.Key{User: w.ada.ID, Token: "secret-two", Memo: "second"})
	w.AddKey(emulator.Key{User: w.ada.ID, Memo: "revoked", Revoked: true})
	list := func() reply {
		t.Helper()
		return w.as(t, w.ada, http.MethodGet, keysPath)
	}
	before := list()
	if diff := cmp.Diff([]any{"", "second"}, before.names("api_keys", "memo")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(before.Body, "secret-two") || strings.Contains(before.Body, w.keys[w.ada.ID]) {
		t.Errorf("a secret in %s", before.Body)
	}
	w.AddKey(emulator.Key{User: w.ada.ID, Token: "secret-two", Memo: "again"})
	after := list()
	if diff := cmp.Diff(before.names("api_keys", "id"), after.names("api_keys", "id")); diff != "" {
		t.Errorf("ids after a key was replaced (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"", "again"}, after.names("api_keys", "memo")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	id := after.get("api_keys.1.id").(string)
	w.as(t, w.ada, http.MethodDelete, keyPath+id+"/").is(t, 200, 0)
	w.AddKey(emulator.Key{User: w.ada.ID, Token: "secret-two"})
	if again := list().get("api_keys.1.id"); again == id || again == nil {
		t.Errorf("a key added after its end has the id %v", again)
	}
}

func TestKeyRefusals(t *testing.T) {
	t.Parallel()
	w := unlimited()
	ada := w.keys[w.ada.ID]
	foreign := w.as(t, w.eve, http.MethodGet, keysPath).get("api_keys.0.id").(string)
	own := w.as(t, w.ada, http.MethodGet, keysPath).get("api_keys.0.id").(string)
	reader := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"user:*:r"}}).Token
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	tests := map[string]struct {
		token, method, path string
		fields              []string
		status, code        int
		failed              []string
	}{
		"scopes that are no JSON":    {ada, post, "", []string{"scopes", "org:*:r"}, 406, 10023, []string{"scopes type_mismatch"}},
		"scopes that are an object":  {ada, post, "", []string{"scopes", `{"org":"r"}`}, 406, 10023, []string{"scopes type_mismatch"}},
		"blank scopes":               {ada, post, "", []string{"scopes", ""}, 406, 10023, []string{"scopes type_mismatch"}},
		"no scopes in the array":     {ada, post, "", []string{"scopes", "[]"}, 406, 10022, []string{"scopes invalid"}},
		"scopes that are null":       {ada, post, "", []string{"scopes", "null"}, 406, 10022, []string{"scopes invalid"}},
		"no scopes in an update":     {ada, post, own + "/", []string{"scopes", "[]"}, 406, 10022, []string{"scopes invalid"}},
		"a long agent name":          {ada, post, "", []string{"agent_name", strings.Repeat("ü", 129)}, 406, 107184, []string{"agent_name invalid"}},
		"the longest agent name":     {ada, post, "", []string{"agent_name", strings.Repeat("ü", 128)}, 200, 0, nil},
		"an end that is no time":     {ada, post, "", []string{"expires", "soon"}, 406, 10022, []string{"expires invalid"}},
		"everything at once":         {ada, post, "", []string{"expires", "soon", "scopes", "x", "agent_name", strings.Repeat("a", 129)}, 406, 10023, []string{"scopes type_mismatch", "agent_name invalid", "expires invalid"}},
		"a foreign key":              {ada, get, foreign + "/", nil, 404, 199002, nil},
		"a foreign key to update":    {ada, post, foreign + "/", []string{"memo", "mine"}, 404, 199002, nil},
		"a foreign key to delete":    {ada, del, foreign + "/", nil, 404, 199002, nil},
		"no key":                     {ada, get, "k_0/", nil, 404, 199002, nil},
		"an empty id":                {ada, get, "/", nil, 404, 199002, nil},
		"creating by a reader":       {reader, post, "", nil, 403, 10770, nil},
		"updating by a reader":       {reader, post, own + "/", []string{"memo", "x"}, 403, 10770, nil},
		"deleting by a reader":       {reader, del, own + "/", nil, 403, 10770, nil},
		"reading by a reader":        {reader, get, own + "/", nil, 200, 0, nil},
		"an end that is a date":      {ada, post, "", []string{"expires", "2030-01-02"}, 200, 0, nil},
		"an end by RFC 3339":         {ada, post, "", []string{"expires", "2030-01-02T03:04:05+02:00"}, 200, 0, nil},
		"an end with its zone named": {ada, post, "", []string{"expires", "2030-01-02 03:04:05 UTC"}, 200, 0, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got reply
			if test.method == post {
				got = w.form(t, test.token, post, keyPath+test.path, test.fields...)
			} else {
				got = w.with(t, test.token, test.method, keyPath+test.path)
			}
			got.is(t, test.status, test.code)
			if diff := cmp.Diff(test.failed, got.failures()); diff != "" {
				t.Errorf("failed parameters (-want +got):\n%s", diff)
			}
		})
	}
	w.body(t, ada, post, keyPath, "application/json", `{"memo":"CI"}`).is(t, 406, 199101)
	w.body(t, ada, post, keyPath+own+"/", "application/json", `{"memo":"CI"}`).is(t, 406, 199101)
	w.body(t, ada, post, keyPath, "application/x-www-form-urlencoded", "memo=%zz").is(t, 406, 199101)
	w.with(t, ada, post, keyPath).is(t, 406, 199101)
}

func TestScopesOfKeys(t *testing.T) {
	t.Parallel()
	w := unlimited()
	lobby := w.AddShare(emulator.Share{Org: w.org.ID, Title: "Lobby"})
	scope := strings.NewReplacer(
		"ACME", w.org.ID, "OTHER", w.other.ID, "ROOM", w.room.ID, "ATTIC", w.attic.ID, "PORTAL", w.portal.ID, "LOBBY", lobby.ID,
		"ADA", w.ada.ID, "BEN", w.ben.ID,
	)
	const allowed, exceeds, invalid = 200, 403, 406
	tests := map[string]struct {
		issuer, asked string
		want          int
	}{
		"an account gives anything":                          {"", "org:ACME:rwa share:* workspace:1:r", invalid},
		"an account gives administration":                    {"", "org:ACME:rwa workspace:1:r user:*:rwa", allowed},
		"an account gives its settings":                      {"", "userdetails:*:rw", allowed},
		"settings have one mode":                             {"", "userdetails:*:r", invalid},
		"settings have no id":                                {"", "userdetails:ADA:rw", invalid},
		"an entity nobody knows":                             {"", "team:*:r", invalid},
		"a mode nobody knows":                                {"", "org:*:w", invalid},
		"an id with letters":                                 {"", "org:acme:r", invalid},
		"no id":                                              {"", "org::r", invalid},
		"a fourth part":                                      {"", "org:*:r:x", invalid},
		"one bad scope of two":                               {"", "org:*:r x", invalid},
		"the same":                                           {"org:ACME:rw", "org:ACME:rw", allowed},
		"less":                                               {"org:ACME:rw", "org:ACME:r", allowed},
		"a higher mode":                                      {"org:ACME:rw", "org:ACME:rwa", exceeds},
		"another organization":                               {"org:ACME:rw", "org:OTHER:r", exceeds},
		"one that does not exist":                            {"org:ACME:rw", "org:1:r", exceeds},
		"every organization":                                 {"org:ACME:rw", "org:*:r", exceeds},
		"one of all organizations":                           {"org:*:rw", "org:ACME:rw", allowed},
		"a workspace of an organization":                     {"org:ACME:rw", "workspace:ROOM:rw", allowed},
		"a share of an organization":                         {"org:ACME:rw", "share:LOBBY:r", allowed},
		"a share of a workspace":                             {"workspace:ROOM:rw", "share:PORTAL:rw", allowed},
		"a share of another workspace":                       {"workspace:ATTIC:rw", "share:PORTAL:r", exceeds},
		"a share under a workspace's name":                   {"org:ACME:rw", "workspace:PORTAL:r", exceeds},
		"the organization of a workspace":                    {"workspace:ROOM:rw", "org:ACME:r", exceeds},
		"all workspaces of all organizations":                {"org:*:rw", "workspace:*:rw", allowed},
		"all shares of all organizations":                    {"org:*:rw", "share:*:r", allowed},
		"all workspaces of one organization":                 {"org:ACME:rw", "workspace:*:r", exceeds},
		"all shares of all workspaces":                       {"workspace:*:rw", "share:*:r", exceeds},
		"all organizations of all workspaces":                {"workspace:*:rw", "org:*:r", exceeds},
		"an account by name":                                 {"user:*:rw", "org:*:rw share:*:r user:ADA:rw", allowed},
		"the own account by name":                            {"user:ADA:rw", "user:*:rw", allowed},
		"another account by name":                            {"user:BEN:rw org:*:r", "user:*:r", exceeds},
		"a higher mode of an account by name":                {"user:*:rw", "org:ACME:rwa", exceeds},
		"settings of an account by name":                     {"user:*:rwa", "userdetails:*:rw", exceeds},
		"settings from settings":                             {"userdetails:*:rw", "userdetails:*:rw", allowed},
		"an organization from settings":                      {"userdetails:*:rw", "org:ACME:r", exceeds},
		"an account from organizations":                      {"org:*:rwa", "user:*:r", exceeds},
		"the union of two scopes":                            {"org:ACME:rw org:OTHER:r", "org:ACME:rw org:OTHER:r", allowed},
		"a mode of one scope for the profile of another":     {"org:ACME:rw org:OTHER:r", "org:OTHER:rw", exceeds},
		"the whole account, by leaving the scopes unnamed":   {"org:*:rwa", "", exceeds},
		"the whole account, from the account under its name": {"user:*:rwa", "", exceeds},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: strings.Fields(scope.Replace(test.issuer))}).Token
			target := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"user:*:r"}}).Token
			var fields []string
			if test.asked != "" {
				fields = []string{"scopes", `["` + strings.Join(strings.Fields(scope.Replace(test.asked)), `","`) + `"]`}
			}
			answers := []reply{w.createKey(t, issuer, fields...)}
			if test.asked != "" {
				id := w.idOf(t, target)
				answers = append(answers, w.form(t, issuer, http.MethodPost, keyPath+id+"/", fields...))
			}
			for _, got := range answers {
				code := map[int]int{allowed: 0, exceeds: 10768, invalid: 10022}[test.want]
				got.is(t, test.want, code)
				if test.want == exceeds && (got.reason() != "scope_exceeds_issuer" || got.get("error.params.credential_type") != "api_key") {
					t.Errorf("params: %s", got.Body)
				}
			}
		})
	}
}

// idOf finds a key of Ada's by a memo that it writes on it.
func (w *world) idOf(t *testing.T, token string) string {
	t.Helper()
	w.AddKey(emulator.Key{User: w.ada.ID, Token: token, Memo: token, Scopes: []string{"user:*:r"}})
	rows, _ := w.as(t, w.ada, http.MethodGet, keysPath).get("api_keys").([]any)
	for _, row := range rows {
		if row := row.(map[string]any); row["memo"] == token {
			return row["id"].(string)
		}
	}
	t.Fatal("the key is not listed")
	return ""
}

func TestKeysAndTheSecondFactor(t *testing.T) {
	t.Parallel()
	w := unlimited()
	u := w.guarded("totp")
	code := w.OneTimeCode(u.ID)
	session := w.complete(t, w.session(t, u), code).get("auth_token").(string)
	key := w.AddKey(emulator.Key{User: u.ID}).Token

	missing := w.createKey(t, session, "expires", "soon")
	missing.is(t, 406, 10022)
	if diff := cmp.Diff([]string{"expires invalid", "token missing"}, missing.failures()); diff != "" {
		t.Errorf("failed parameters (-want +got):\n%s", diff)
	}
	w.createKey(t, session, "token", other(code)).is(t, 401, 199102)
	if !w.works(t, session) {
		t.Error("a wrong code ended the session")
	}
	var ids []string
	for range 3 {
		made := w.createKey(t, session, "token", code)
		made.is(t, 200, 0)
		ids = append(ids, made.get("id").(string))
	}
	byKey := w.createKey(t, key)
	byKey.is(t, 200, 0)

	w.form(t, session, http.MethodPost, keyPath+ids[0]+"/", "memo", "renamed").is(t, 200, 0)
	w.with(t, session, http.MethodDelete, keyPath+ids[0]+"/").is(t, 406, 10021)
	w.with(t, session, http.MethodDelete, keyPath+ids[0]+"/", "token", other(code)).is(t, 401, 199102)
	w.with(t, session, http.MethodDelete, keyPath+ids[0]+"/", "token", code).is(t, 200, 0)
	w.with(t, session, http.MethodDelete, keyPath+ids[1]+"/", "token", code).is(t, 200, 0)
	w.with(t, key, http.MethodDelete, keyPath+ids[2]+"/").is(t, 200, 0)
	if list := w.with(t, key, http.MethodGet, keysPath); list.get("results") != 2.0 {
		t.Errorf("keys left: %s", list.Body)
	}
}

// A code that a message brought is not spent on a call that is refused anyway.
func TestRefusedKeysSpareTheCode(t *testing.T) {
	t.Parallel()
	w := unlimited()
	u := w.guarded("sms")
	limited := w.session(t, u)
	w.with(t, limited, http.MethodGet, twoFactor+"send/sms/").is(t, 200, 0)
	session := w.complete(t, limited, w.OneTimeCode(u.ID)).get("auth_token").(string)
	w.with(t, session, http.MethodGet, twoFactor+"send/sms/").is(t, 200, 0)
	code := w.OneTimeCode(u.ID)
	w.createKey(t, session, "token", code, "scopes", "[]").is(t, 406, 10022)
	w.with(t, session, http.MethodDelete, keyPath+"k_0/", "token", code).is(t, 404, 199002)
	w.createKey(t, session, "token", code).is(t, 200, 0)
	w.createKey(t, session, "token", code).is(t, 401, 199102)
}

func TestKeyConflicts(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{OAuth: seed.OAuthOptions{KeyConflicts: 2}})
	id := w.as(t, w.ada, http.MethodGet, keysPath).get("api_keys.0.id").(string)
	update := func(fields ...string) reply {
		t.Helper()
		return w.form(t, w.keys[w.ada.ID], http.MethodPost, keyPath+id+"/", fields...)
	}
	update("memo", "labels do not compete").is(t, 200, 0)
	update("scopes", "[]").is(t, 406, 10022)
	for range 2 {
		update("scopes", `["org:*:rw"]`, "memo", "lost").is(t, 409, 199105)
	}
	if got := w.as(t, w.ada, http.MethodGet, keyPath+id+"/"); got.get("scopes") != nil || got.get("memo") != "labels do not compete" {
		t.Errorf("a refused update left %s", got.Body)
	}
	update("scopes", `["org:*:rw"]`, "memo", "won").is(t, 200, 0)
}

func TestKeysExpire(t *testing.T) {
	t.Parallel()
	w := newClockWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
	made := w.createKey(t, w.keys[w.ada.ID], "expires", "2026-03-02T11:00:00")
	secret := made.get("api_key").(string)
	w.now = epoch.Add(time.Hour - 1)
	if !w.works(t, secret) {
		t.Error("the key ends early")
	}
	w.now = epoch.Add(time.Hour)
	w.with(t, secret, http.MethodGet, "/user/auth/check/").is(t, 401, 10011)
	w.form(t, w.keys[w.ada.ID], http.MethodPost, keyPath+made.get("id").(string)+"/", "expires", "").is(t, 200, 0)
	if !w.works(t, secret) {
		t.Error("the key whose end was cleared does not work")
	}
}

func TestConcurrentAuth(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}})
	u := w.guarded("totp")
	ada := w.keys[w.ada.ID]
	id := w.as(t, w.ada, http.MethodGet, keysPath).get("api_keys.0.id").(string)
	var all sync.WaitGroup
	for _, work := range []func(){
		func() { w.signIn(t, w.ben.Email, w.ben.Password).is(t, 200, 0) },
		func() { w.signIn(t, w.eve.Email, "guess") },
		func() { w.complete(t, w.session(t, u), w.OneTimeCode(u.ID)) },
		func() { w.as(t, w.ben, http.MethodPost, "/user/auth/sign-out/").is(t, 200, 0) },
		func() { w.as(t, w.ben, http.MethodPost, "/user/auth/invalidate-all/").is(t, 200, 0) },
		func() { w.form(t, ada, http.MethodPost, keyPath+id+"/", "scopes", `["org:*:rwa"]`).is(t, 200, 0) },
		func() { w.search(t, w.ada, "org_id", w.org.ID).is(t, 200, 0) },
		func() { w.as(t, w.ada, http.MethodGet, keysPath).is(t, 200, 0) },
		func() {
			made := w.createKey(t, w.keys[w.cleo.ID])
			w.as(t, w.cleo, http.MethodDelete, keyPath+made.get("id").(string)+"/").is(t, 200, 0)
		},
		func() { w.AddKey(emulator.Key{User: w.dora.ID}) },
		func() { w.form(t, w.keys[w.dora.ID], http.MethodPost, twoFactor+"sms/").is(t, 200, 0) },
		func() { w.OneTimeCode(w.dora.ID) },
		func() { w.CheckPassword(w.cleo.Email, w.cleo.Password) },
	} {
		all.Go(func() {
			for range 20 {
				work()
			}
		})
	}
	all.Wait()
}
