package emulator_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func TestSignUpRules(t *testing.T) {
	t.Parallel()
	good := []string{"email_address", "new@example.test", "password", "difference engine", "tos_agree", "true"}
	for name, test := range map[string]struct {
		fields []string
		want   []string // failed parameters; none is a success
	}{
		"what it takes":             {good, nil},
		"an agent":                  {append([]string{"agent", "true"}, good...), nil},
		"nothing":                   {nil, []string{"email_address missing", "password missing", "tos_agree missing"}},
		"an address that is none":   {[]string{"email_address", "new at example", "password", "p", "tos_agree", "true"}, []string{"email_address invalid"}},
		"an empty password":         {[]string{"email_address", "new@example.test", "password", "", "tos_agree", "1"}, []string{"password missing"}},
		"terms not agreed to":       {[]string{"email_address", "new@example.test", "password", "p", "tos_agree", "false"}, []string{"tos_agree invalid"}},
		"terms with a word":         {[]string{"email_address", "new@example.test", "password", "p", "tos_agree", "gladly"}, []string{"tos_agree invalid"}},
		"an agent that may not be":  {append([]string{"agent", "maybe"}, good...), []string{"agent type_mismatch"}},
		"an address with a blank":   {[]string{"email_address", "n ew@example.test", "password", "p", "tos_agree", "true"}, []string{"email_address invalid"}},
		"an address without a host": {[]string{"email_address", "new@", "password", "p", "tos_agree", "true"}, []string{"email_address invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := unlimited()
			got := w.form(t, "", http.MethodPost, "/user/", test.fields...)
			if diff := cmp.Diff(test.want, got.failures()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", got.Body, diff)
			}
			if status := map[bool]int{true: 200, false: 406}[test.want == nil]; got.Status != status {
				t.Errorf("status %d: %s", got.Status, got.Body)
			}
		})
	}
	w := unlimited()
	if got := w.body(t, "", http.MethodPost, "/user/", "application/json", `{"email_address":"new@example.test"}`); got.Status != 406 || got.failures() != nil {
		t.Errorf("JSON is answered with %d %s", got.Status, got.Body)
	}
}

// An account comes with a token and waits to be confirmed; whoever asks for the address again learns nothing.
func TestSignUp(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddInvitation(emulator.Invitation{Profile: w.room.ID, Email: "New@example.test", Role: emulator.Guest})
	plan := w.AddNode(emulator.Node{Profile: w.room.ID, Name: "plan.pdf"})
	link := w.AddFileShare(emulator.FileShare{
		Node: plan.ID, Owner: w.ada.ID, Grants: []emulator.Grant{{Email: "new@example.test", Capability: "edit"}},
	})
	w.with(t, w.keys[w.eve.ID], http.MethodGet, "/fileshare/"+link.ID+"/details/").is(t, 401, 115069)
	sign := func(fields ...string) reply {
		return w.form(t, "", http.MethodPost, "/user/", append([]string{
			"email_address", "new@example.test", "password", "difference engine", "tos_agree", "true",
		}, fields...)...)
	}
	made := sign("first_name", "Nell", "agent", "true")
	token, _ := made.get("auth_token").(string)
	if made.Status != 200 || token == "" || made.get("expires_in") != 2592000.0 {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	me := w.with(t, token, http.MethodGet, "/user/me/details/")
	if me.get("user.account_type") != "agent" || me.get("user.first_name") != "Nell" || me.get("user.email_address") != "new@example.test" {
		t.Errorf("the new account is %s", me.Body)
	}
	if rooms := w.with(t, token, http.MethodGet, "/workspaces/all/").names("workspaces", "id"); len(rooms) != 1 || rooms[0] != w.room.ID {
		t.Errorf("the invitation leads to %v", rooms)
	}
	if got := w.with(t, token, http.MethodGet, "/fileshare/"+link.ID+"/details/"); got.get("fileshare.effective_capability") != "edit" {
		t.Errorf("the grant leads to %s", got.Body)
	}
	again := sign("first_name", "Eve")
	if again.Status != 200 || again.get("auth_token") != nil || again.get("result") != true {
		t.Errorf("a second time: %d %s", again.Status, again.Body)
	}
	if me := w.with(t, token, http.MethodGet, "/user/me/details/"); me.get("user.first_name") != "Nell" {
		t.Errorf("the second request changed the account: %s", me.Body)
	}
	if got := w.signIn(t, "new@example.test", "difference engine"); got.Status != 200 {
		t.Errorf("signing in: %d %s", got.Status, got.Body)
	}

	older := newWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}, Account: seed.AccountOptions{NoSignUpToken: true}})
	got := older.form(t, "", http.MethodPost, "/user/", "email_address", "new@example.test", "password", "p", "tos_agree", "true")
	if got.Status != 200 || got.get("auth_token") != nil {
		t.Errorf("an older server answers %s", got.Body)
	}
	if got := older.signIn(t, "new@example.test", "p"); got.Status != 200 {
		t.Errorf("an older server made no account: %s", got.Body)
	}
}

func TestValidateEmail(t *testing.T) {
	t.Parallel()
	w := unlimited()
	token, _ := w.form(t, "", http.MethodPost, "/user/", "email_address", "new@example.test", "password", "p", "tos_agree", "true").get("auth_token").(string)
	id, _ := w.with(t, token, http.MethodGet, "/user/me/details/").get("user.id").(string)
	post := func(fields ...string) reply {
		return w.form(t, token, http.MethodPost, "/user/email/validate/", fields...)
	}
	if got := w.with(t, token, http.MethodGet, "/user/auth/check/"); got.Status != 403 || got.code() != 10587 {
		t.Fatalf("before: %d %s", got.Status, got.Body)
	}
	post("email", "new@example.test").is(t, 200, 0)
	first := w.ValidationCode(id)
	post("email", "NEW@example.test").is(t, 200, 0)
	code := w.ValidationCode(id)
	if code == "" || code == first {
		t.Fatalf("the codes are %q and %q", first, code)
	}
	reader := w.AddKey(emulator.Key{User: id, Scopes: []string{"user:*:r"}}).Token
	for name, test := range map[string]struct {
		got     reply
		status  int
		code    int
		failure string
	}{
		"no address":           {post(), 406, 10021, "email missing"},
		"no form":              {w.body(t, token, http.MethodPost, "/user/email/validate/", "application/json", `{}`), 406, 199101, ""},
		"not one's own":        {post("email", w.ada.Email), 406, 10022, "email invalid"},
		"an empty code":        {post("email", "new@example.test", "email_token", ""), 406, 10021, "email_token missing"},
		"the code before":      {post("email", "new@example.test", "email_token", first), 406, 199102, ""},
		"a credential to read": {w.form(t, reader, http.MethodPost, "/user/email/validate/", "email", "new@example.test"), 403, 10770, ""},
		"a dead credential":    {w.form(t, "dead", http.MethodPost, "/user/email/validate/", "email", "new@example.test"), 401, 10011, ""},
		"an unknown address":   {w.form(t, "", http.MethodPost, "/user/email/validate/", "email", "no@example.test", "email_token", code), 406, 199102, ""},
	} {
		if failed := strings.Join(test.got.failures(), ", "); test.got.Status != test.status || test.got.code() != test.code || failed != test.failure {
			t.Errorf("%s: %d %s", name, test.got.Status, test.got.Body)
		}
	}
	anonymous := func(fields ...string) reply {
		return w.form(t, "", http.MethodPost, "/user/email/validate/", fields...)
	}
	anonymous("email", "no@example.test").is(t, 200, 0)
	anonymous("email", "new@example.test").is(t, 200, 0)
	code = w.ValidationCode(id)
	anonymous("email", "new@example.test", "email_token", code).is(t, 200, 0)
	w.with(t, token, http.MethodGet, "/user/auth/check/").is(t, 200, 0)
	post("email", "new@example.test", "email_token", code).is(t, 406, 199102)
}

func TestUserSearch(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.SetMember(w.other.ID, w.dora.ID, emulator.Member)
	find := func(u emulator.User, query string) any {
		return w.with(t, w.keys[u.ID], http.MethodGet, "/users/search/"+query).get("users")
	}
	type names = map[string]any
	for _, test := range []struct {
		who   emulator.User
		query string
		want  any
	}{
		{w.ada, "?search=ben", names{"ben@example.test": "Ben Stone"}},
		{w.ada, "?search=STONE", names{"ben@example.test": "Ben Stone", "cleo@example.test": "Cleo Stone"}},
		{w.ada, "?search=cleo%40", names{"cleo@example.test": "Cleo Stone"}},
		{w.ada, "", names{"ben@example.test": "Ben Stone", "cleo@example.test": "Cleo Stone"}},
		{w.ada, "?search=dora", []any{}},
		{w.dora, "?search=eve", names{"eve@example.test": "Eve Stone"}},
		{w.eve, "?search=ada", []any{}},
	} {
		if diff := cmp.Diff(test.want, find(test.who, test.query)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.who.FirstName, test.query, diff)
		}
	}
	attic := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"workspace:" + w.attic.ID + ":r"}}).Token
	if got := w.with(t, attic, http.MethodGet, "/users/search/?search=ben").get("users"); !cmp.Equal(got, []any{}) {
		t.Errorf("beyond its scope a credential finds %v", got)
	}
	flat := newWorld(emulator.Options{Account: seed.AccountOptions{FlatContacts: true}})
	if got := flat.as(t, flat.ada, http.MethodGet, "/users/search/", "search", "ben"); !strings.Contains(got.Body, `"ben@example.test":"Ben Stone"`) || got.get("users") != nil {
		t.Errorf("flat: %s", got.Body)
	}
}

func TestProfilesAndCountry(t *testing.T) {
	t.Parallel()
	w := newWorld(emulator.Options{Account: seed.AccountOptions{CountryBlocked: true, OrganizationKey: true}})
	for u, want := range map[emulator.User][]any{w.ada: {"org", "workspace", "share"}, w.cleo: {"workspace"}, w.dora: {}} {
		if diff := cmp.Diff(want, w.as(t, u, http.MethodGet, "/user/available_profiles/").get("profiles")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", u.FirstName, diff)
		}
	}
	if got := w.as(t, w.ada, http.MethodGet, "/user/me/allowed/"); got.get("allowed") != false {
		t.Errorf("a blocked country: %s", got.Body)
	}
	if got := unlimited(); got.as(t, got.ada, http.MethodGet, "/user/me/allowed/").get("allowed") != true {
		t.Error("any other country is blocked")
	}
	for _, path := range []string{"/org/acme/details/", "/org/acme/public/details/"} {
		if got := w.as(t, w.ada, http.MethodGet, path); got.get("organization.domain") != "acme" || got.get("org") != nil {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
}

func TestOrgLists(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddOrg(emulator.Org{Domain: "royal", Owner: w.eve.ID, Joinable: true})
	w.AddInvitation(emulator.Invitation{Profile: w.other.ID, Email: w.ada.Email, Inviter: w.eve.ID})
	w.AddInvitation(emulator.Invitation{Profile: w.other.ID, Email: w.ben.Email, Inviter: w.eve.ID, State: "declined"})
	for _, test := range []struct {
		who  emulator.User
		path string
		want []any
	}{
		{w.ada, "/orgs/all/", []any{"acme", "other"}},
		{w.ben, "/orgs/all/", []any{}},
		{w.eve, "/orgs/all/", []any{"other", "royal"}},
		{w.ada, "/orgs/available/", []any{"royal"}},
		{w.eve, "/orgs/available/", []any{}},
	} {
		if diff := cmp.Diff(test.want, w.as(t, test.who, http.MethodGet, test.path).names("orgs", "domain")); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.who.FirstName, test.path, diff)
		}
	}
	if got := w.as(t, w.ada, http.MethodGet, "/orgs/all/", "limit", "1", "offset", "1"); got.get("orgs.0.user_status") != "invited" || got.get("pagination.total") != 2.0 {
		t.Errorf("the page is %s", got.Body)
	}
	public := map[string]any{"id": w.org.ID, "domain": "acme", "name": "Acme", "logo": nil, "description": nil, "accent_color": nil}
	for name, got := range map[string]reply{
		"a stranger": w.as(t, w.eve, http.MethodGet, "/org/acme/public/details/"),
		"nobody":     w.with(t, "", http.MethodGet, "/org/"+w.org.ID+"/public/details/"),
	} {
		if diff := cmp.Diff(public, got.get("org")); diff != "" {
			t.Errorf("%s sees (-want +got):\n%s", name, diff)
		}
	}
	w.with(t, "", http.MethodGet, "/org/nowhere/public/details/").is(t, 404, 199002)
	w.with(t, "dead", http.MethodGet, "/org/acme/public/details/").is(t, 401, 10011)
}

func TestMemberLists(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddInvitation(emulator.Invitation{Profile: w.room.ID, Email: "new@example.test", Role: emulator.Guest})
	for name, test := range map[string]struct {
		who    emulator.User
		path   string
		status int
		want   []any // roles
	}{
		"an organization":                     {w.ada, "/org/acme/members/list/", 200, []any{"owner"}},
		"an organization from outside":        {w.eve, "/org/acme/members/list/", 401, []any{}},
		"an organization reached by its room": {w.ben, "/org/acme/members/list/", 401, []any{}},
		"no organization":                     {w.ada, "/org/nowhere/members/list/", 404, []any{}},
		"a workspace by its folder":           {w.cleo, "/workspace/design-room/members/list/", 200, []any{"member", "guest", "guest"}},
		"a workspace, in part":                {w.cleo, "/workspace/" + w.room.ID + "/members/list/?offset=2", 200, []any{"guest"}},
		"a workspace from outside":            {w.eve, "/workspace/" + w.room.ID + "/members/list/", 401, []any{}},
		"no workspace":                        {w.ada, "/workspace/nowhere/members/list/", 404, []any{}},
		"a limit out of range":                {w.ada, "/workspace/design-room/members/list/?limit=501", 406, []any{}},
	} {
		got := w.with(t, w.keys[test.who.ID], http.MethodGet, test.path)
		if diff := cmp.Diff(test.want, got.names("users", "permissions")); diff != "" || got.Status != test.status {
			t.Errorf("%s: %d (-want +got):\n%s", name, got.Status, diff)
		}
	}
	attic := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"workspace:" + w.attic.ID + ":r"}}).Token
	w.with(t, attic, http.MethodGet, "/workspace/"+w.room.ID+"/members/list/").is(t, 403, 10754)
}

func TestBillingRules(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.SetMember(w.org.ID, w.ben.ID, emulator.Admin)
	w.SetMember(w.org.ID, w.cleo.ID, emulator.Member)
	writer := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:" + w.org.ID + ":rw"}}).Token
	other := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:" + w.other.ID + ":rwa"}}).Token
	change := func(token string, fields ...string) reply {
		return w.form(t, token, http.MethodPost, "/org/acme/billing/", fields...)
	}
	ada := w.keys[w.ada.ID]
	for name, test := range map[string]struct {
		got    reply
		status int
		code   int
		about  string
	}{
		"an admin changes the plan":   {change(w.keys[w.ben.ID], "billing_plan", "growth_monthly"), 401, 10545, ""},
		"a stranger":                  {change(w.keys[w.eve.ID], "billing_plan", "growth_monthly"), 401, 10545, ""},
		"without rwa":                 {change(writer, "billing_plan", "growth_monthly"), 403, 10767, ""},
		"another scope":               {change(other, "billing_plan", "growth_monthly"), 403, 10545, ""},
		"an unknown plan":             {change(ada, "billing_plan", "free_monthly"), 406, 1605, "billing_plan invalid"},
		"a plan without its period":   {change(ada, "billing_plan", "growth"), 406, 1605, "billing_plan invalid"},
		"JSON":                        {w.body(t, ada, http.MethodPost, "/org/acme/billing/", "application/json", `{"billing_plan":"growth_monthly"}`), 406, 199101, ""},
		"no organization":             {w.form(t, ada, http.MethodPost, "/org/nowhere/billing/", "billing_plan", "growth_monthly"), 404, 199002, ""},
		"a member reads credits":      {w.as(t, w.cleo, http.MethodGet, "/org/acme/billing/usage/limits/credits/"), 401, 10545, ""},
		"a member reads meters":       {w.as(t, w.cleo, http.MethodGet, "/org/acme/billing/usage/meters/list/"), 401, 10545, ""},
		"credits out of scope":        {w.with(t, other, http.MethodGet, "/org/acme/billing/usage/limits/credits/"), 403, 10545, ""},
		"meters of no organization":   {w.with(t, ada, http.MethodGet, "/org/nowhere/billing/usage/meters/list/"), 404, 199002, ""},
		"an admin reads the credits":  {w.as(t, w.ben, http.MethodGet, "/org/acme/billing/usage/limits/credits/"), 200, 0, ""},
		"a scope to write reads them": {w.with(t, writer, http.MethodGet, "/org/acme/billing/usage/limits/credits/"), 200, 0, ""},
	} {
		if failed := strings.Join(test.got.failures(), ", "); test.got.Status != test.status || test.got.code() != test.code || failed != test.about {
			t.Errorf("%s: %d %s", name, test.got.Status, test.got.Body)
		}
	}
	credits := func() (plan, limit, overage any) {
		got := w.as(t, w.ada, http.MethodGet, "/org/acme/billing/usage/limits/credits/")
		return got.get("credits.plan"), got.get("credits.limit"), got.get("credits.overage")
	}
	if plan, limit, overage := credits(); plan != "business" || limit != 1200000.0 || overage != "metered" {
		t.Errorf("at first: %v %v %v", plan, limit, overage)
	}
	change(ada).is(t, 200, 0) // the field may be left out
	if got := change(ada, "billing_plan", "solo_annual"); got.Status != 200 || got.get("is_active") != true || got.get("setup_intent") != nil {
		t.Errorf("a change: %d %s", got.Status, got.Body)
	}
	if plan, limit, overage := credits(); plan != "starter" || limit != 300000.0 || overage != "hard_stop" {
		t.Errorf("then: %v %v %v", plan, limit, overage)
	}
	if got := w.as(t, w.ada, http.MethodGet, "/org/acme/details/"); got.get("org.plan") != "starter" {
		t.Errorf("the organization is %s", got.Body)
	}
	w.AddOrg(emulator.Org{ID: w.org.ID, Domain: "acme", Owner: w.ada.ID, Unsubscribed: true})
	got := change(ada, "billing_plan", "business_v2_monthly")
	if secret, _ := got.get("setup_intent.client_secret").(string); got.Status != 201 || got.get("is_active") != false || secret == "" || got.get("public_key") == nil {
		t.Errorf("a new subscription: %d %s", got.Status, got.Body)
	}
}

func TestMeters(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.AddNode(emulator.Node{Profile: w.room.ID, Name: "a", Size: 3, Created: time.Date(2026, 2, 27, 12, 0, 0, 0, time.UTC)})
	w.AddNode(emulator.Node{Profile: w.attic.ID, Name: "b", Size: 5, Created: time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC)})
	meters := func(query ...string) reply {
		return w.as(t, w.ada, http.MethodGet, "/org/acme/billing/usage/meters/list/", query...)
	}
	from := []string{"meter", "storage_bytes", "start_time", "2026-02-26 00:00:00", "end_time", "2026-03-01 00:00:00 UTC"}
	for name, test := range map[string]struct {
		query []string
		want  []any
	}{
		"an organization": {from, []any{0.0, 3.0, 8.0}},
		"a workspace":     {append(from, "workspace_id", w.attic.ID), []any{0.0, 0.0, 5.0}},
		"another meter":   {append(from[2:], "meter", "ai_tokens"), []any{0.0, 0.0, 0.0}},
	} {
		if diff := cmp.Diff(test.want, meters(test.query...).names("usage", "value")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := meters("meter", "storage_bytes").names("usage", "time"); len(got) != 31 {
		t.Errorf("by default there are %d days", len(got))
	}
	for name, test := range map[string]struct {
		query []string
		code  int
		about string
	}{
		"no meter":        {nil, 10021, "meter missing"},
		"unknown meter":   {[]string{"meter", "seats"}, 1605, "meter invalid"},
		"both":            {append(from, "workspace_id", w.attic.ID, "share_id", w.attic.ID), 1605, "share_id invalid"},
		"of another org":  {append(from, "workspace_id", w.other.ID), 1605, "workspace_id invalid"},
		"start in ISO":    {[]string{"meter", "ai_tokens", "start_time", "2026-02-26T00:00:00Z"}, 10022, "start_time invalid"},
		"end is not time": {[]string{"meter", "ai_tokens", "end_time", "now"}, 10022, "end_time invalid"},
	} {
		got := meters(test.query...)
		if failed := strings.Join(got.failures(), ", "); got.Status != 406 || got.code() != test.code || failed != test.about {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

func TestWorkspaceRules(t *testing.T) {
	t.Parallel()
	w := unlimited()
	ada := w.keys[w.ada.ID]
	reader := w.AddKey(emulator.Key{User: w.ada.ID, Scopes: []string{"org:" + w.org.ID + ":r"}}).Token
	create := func(token string, fields ...string) reply {
		return w.form(t, token, http.MethodPost, "/org/acme/create/workspace/", fields...)
	}
	named := func(fields ...string) reply {
		return create(ada, append([]string{"folder_name", "library", "name", "Library", "perm_join", "Member or above", "perm_member_manage", "Admin or above"}, fields...)...)
	}
	library := []string{"folder_name", "library", "name", "Library"}
	update := func(token string, fields ...string) reply {
		return w.form(t, token, http.MethodPost, "/workspace/design-room/update/", fields...)
	}
	for name, test := range map[string]struct {
		got    reply
		status int
		code   int
		about  string
	}{
		"nothing":                    {create(ada), 406, 10021, "folder_name missing, name missing, perm_join missing, perm_member_manage missing"},
		"no permissions":             {create(ada, library...), 406, 10021, "perm_join missing, perm_member_manage missing"},
		"a short folder name":        {named("folder_name", "lib", "name", "Library"), 406, 10022, "folder_name invalid"},
		"a long folder name":         {named("folder_name", strings.Repeat("ü", 81), "name", "Library"), 406, 10022, "folder_name invalid"},
		"a folder name with a blank": {named("folder_name", "the library", "name", "Library"), 406, 10022, "folder_name invalid"},
		"an underscore":              {named("folder_name", "the_library", "name", "Library"), 406, 10022, "folder_name invalid"},
		"a short name":               {named("folder_name", "library", "name", "L"), 406, 10022, "name invalid"},
		"a long name":                {named("folder_name", "library", "name", strings.Repeat("L", 101)), 406, 10022, "name invalid"},
		"a name with a bell":         {named("folder_name", "library", "name", "Lib\arary"), 406, 10022, "name invalid"},
		"a short description":        {named("description", "Books."), 406, 10022, "description invalid"},
		"a long description":         {named("description", strings.Repeat("b", 1001)), 406, 10022, "description invalid"},
		"an empty description":       {named("description", ""), 406, 10021, "description missing"},
		"intelligence as a word":     {named("intelligence", "bright"), 406, 10023, "intelligence type_mismatch"},
		"who may join":               {named("perm_join", "Everybody"), 406, 10022, "perm_join invalid"},
		"a color that is no JSON":    {named("accent_color", "red"), 406, 10022, "accent_color invalid"},
		"extraction as a word":       {named("metadata_extraction", "some"), 406, 10023, "metadata_extraction type_mismatch"},
		"who may manage":             {named("perm_member_manage", "Only Org Owners"), 406, 10022, "perm_member_manage invalid"},
		"a name in use":              {named("folder_name", "Design-Room", "name", "Library"), 406, 199951, ""},
		"JSON":                       {w.body(t, ada, http.MethodPost, "/org/acme/create/workspace/", "application/json", `{}`), 406, 199101, ""},
		"a guest of a room":          {create(w.keys[w.cleo.ID], library...), 401, 10545, ""},
		"a stranger":                 {create(w.keys[w.eve.ID], library...), 401, 10545, ""},
		"a credential to read":       {create(reader, library...), 403, 10770, ""},
		"no organization":            {w.form(t, ada, http.MethodPost, "/org/nowhere/create/workspace/"), 404, 199002, ""},

		"a member updates":            {update(w.keys[w.ben.ID], "name", "Drafts"), 401, 10545, ""},
		"a stranger updates":          {update(w.keys[w.eve.ID], "name", "Drafts"), 401, 10545, ""},
		"a credential to read writes": {update(reader, "name", "Drafts"), 403, 10770, ""},
		"another's folder name":       {update(ada, "folder_name", strings.ToUpper(w.attic.FolderName)), 406, 199951, ""},
		"an empty name":               {update(ada, "name", ""), 406, 10021, "name missing"},
		"a description too short":     {update(ada, "description", "Drafts"), 406, 10022, "description invalid"},
		"an update of JSON":           {w.body(t, ada, http.MethodPost, "/workspace/"+w.room.ID+"/update/", "application/json", `{}`), 406, 199101, ""},
		"no workspace":                {w.form(t, ada, http.MethodPost, "/workspace/nowhere/update/", "name", "Drafts"), 404, 199002, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if failed := strings.Join(test.got.failures(), ", "); test.got.Status != test.status || test.got.code() != test.code || failed != test.about {
				t.Errorf("%d %s", test.got.Status, test.got.Body)
			}
		})
	}
}

func TestCreateAndUpdateWorkspace(t *testing.T) {
	t.Parallel()
	w := unlimited()
	w.SetMember(w.org.ID, w.ben.ID, emulator.Member)
	ben := w.keys[w.ben.ID]
	made := w.form(t, ben, http.MethodPost, "/org/acme/create/workspace/",
		"folder_name", "Bücher-7", "name", "Library", "description", "Where the books are", "perm_join", "Admin or above",
		"perm_member_manage", "Admin or above", "metadata_extraction", "false", "accent_color", `{"r":1}`)
	if made.get("workspace.metadata_extraction") != false || made.get("workspace.accent_color.r") != 1.0 {
		t.Error(made.Body)
	}
	if made.get("workspace.user_status") != "owner" || made.get("workspace.intelligence") != true || made.get("workspace.perm_join") != "Admin or above" {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	path := "/workspace/" + made.get("workspace.id").(string)
	if got := w.with(t, ben, http.MethodGet, "/workspace/B%C3%BCcher-7/details/"); got.get("workspace.id") != made.get("workspace.id") {
		t.Errorf("by its folder name: %s", got.Body)
	}
	details := func(member string) any {
		return w.with(t, ben, http.MethodGet, path+"/details/").get("workspace." + member)
	}
	w.form(t, ben, http.MethodPost, path+"/update/").is(t, 200, 0)
	w.form(t, ben, http.MethodPost, path+"/update/", "folder_name", "BÜCHER-7", "name", "Books").is(t, 200, 0)
	if details("name") != "Books" || details("folder_name") != "BÜCHER-7" || details("description") != "Where the books are" {
		t.Errorf("it is %v", details("name"))
	}
	w.form(t, ben, http.MethodPost, path+"/update/", "description", "null", "perm_join", "Only Org Owners", "accent_color", "null").is(t, 200, 0)
	if details("description") != nil || details("accent_color") != nil || details("perm_join") != "Only Org Owners" {
		t.Errorf("the description is %v", details("description"))
	}
	w.form(t, ben, http.MethodPost, path+"/update/", "folder_name", "design-room").is(t, 406, 199951)
	found := w.as(t, w.ada, http.MethodGet, "/events/search/", "workspace_id", made.get("workspace.id").(string))
	if diff := cmp.Diff([]any{"workspace_created", "workspace_updated", "workspace_updated", "workspace_updated"}, found.column("event")); diff != "" {
		t.Errorf("the log has (-want +got):\n%s", diff)
	}
}

func TestWorkspaceQuota(t *testing.T) {
	t.Parallel()
	w := unlimited()
	org := w.AddOrg(emulator.Org{Domain: "small", Owner: w.ada.ID, Plan: "starter"})
	create := func(n int) reply {
		return w.form(t, w.keys[w.ada.ID], http.MethodPost, "/org/"+org.ID+"/create/workspace/", "folder_name", "room-"+strconv.Itoa(n), "name", "Room", "perm_join", "Member or above", "perm_member_manage", "Admin or above")
	}
	for n := range 10 {
		create(n).is(t, 200, 0)
	}
	create(10).is(t, 412, 199953)
	w.form(t, w.keys[w.ada.ID], http.MethodPost, "/org/small/billing/", "billing_plan", "growth_monthly").is(t, 200, 0)
	create(10).is(t, 200, 0)
}

func TestArchivedWorkspacesAreListedOnRequest(t *testing.T) {
	t.Parallel()
	w := unlimited()
	old := w.AddWorkspace(emulator.Workspace{Org: w.org.ID, Name: "Old", Archived: true})
	inOrg := func(query ...string) []any {
		return w.as(t, w.ada, http.MethodGet, "/org/acme/list/workspaces/", query...).names("workspaces", "id")
	}
	if active := inOrg(); slices.Contains(active, any(old.ID)) || !slices.Contains(active, any(w.room.ID)) {
		t.Errorf("by default: %v", active)
	}
	if diff := cmp.Diff(inOrg(), inOrg("archived", "false")); diff != "" {
		t.Errorf("false is not the default (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{old.ID}, inOrg("archived", "true")); diff != "" {
		t.Errorf("archived (-want +got):\n%s", diff)
	}
	w.as(t, w.ada, http.MethodGet, "/org/acme/list/workspaces/", "archived", "some").is(t, 406, 10023)
	everywhere := w.as(t, w.ada, http.MethodGet, "/workspaces/all/")
	for i, id := range everywhere.names("workspaces", "id") {
		if got := everywhere.names("workspaces", "archived")[i]; got != (id == old.ID) {
			t.Errorf("%v: archived is %v", id, got)
		}
	}
	if !slices.Contains(everywhere.names("workspaces", "id"), any(old.ID)) {
		t.Error("the list of all workspaces hides one that is archived")
	}
}

func TestWorkspacesAvailable(t *testing.T) {
	t.Parallel()
	w := unlimited()
	for folder, who := range map[string]string{"for-all": "", "for-admins": "Admin or above", "for-owners": "Only Org Owners"} {
		w.AddWorkspace(emulator.Workspace{Org: w.org.ID, Name: "Room", FolderName: folder, Join: who})
	}
	w.SetMember(w.org.ID, w.eve.ID, emulator.Member)
	got := map[string]bool{}
	for _, name := range w.as(t, w.eve, http.MethodGet, "/workspaces/available/").names("workspaces", "folder_name") {
		got[name.(string)] = true
	}
	if diff := cmp.Diff(map[string]bool{"design-room": true, w.attic.FolderName: true, "for-all": true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.as(t, w.cleo, http.MethodGet, "/workspaces/available/").names("workspaces", "folder_name"); len(got) != 0 {
		t.Errorf("who does not belong to the organization may join %v", got)
	}
}

func TestCheckWorkspaceName(t *testing.T) {
	t.Parallel()
	w := unlimited()
	long := strings.Repeat("x", 80)
	w.AddWorkspace(emulator.Workspace{Org: w.org.ID, Name: "Taken", FolderName: w.org.ID + "-library"})
	for _, test := range []struct {
		name, query string
		status      int
		suggestion  any
	}{
		{"library", "", 202, nil},
		{"library", "?check_org_id=" + w.org.ID, 202, w.org.ID + "-library-2"},
		{"archive", "?check_org_id=" + w.org.ID, 202, w.org.ID + "-archive"},
		{long, "?check_org_id=" + w.org.ID, 202, w.org.ID + "-" + long[:60]},
		{"Design-Room", "", 406, nil},
		{"Design-Room", "?check_org_id=" + w.org.ID, 406, w.org.ID + "-Design-Room"},
		{"lib", "", 406, nil},
		{"the library", "", 406, nil},
		{"library", "?check_org_id=nowhere", 406, nil},
	} {
		got := w.with(t, w.keys[w.ada.ID], http.MethodGet, "/workspaces/check/name/"+url.PathEscape(test.name)+"/"+test.query)
		suggestion := got.get("suggestion")
		if suggestion == nil {
			suggestion = got.get("error.params.suggestion")
		}
		if got.Status != test.status || suggestion != test.suggestion {
			t.Errorf("%s%s: %d %s", test.name, test.query, got.Status, got.Body)
		}
	}
}

// A plan without the features makes workspaces without intelligence, and none with it.
func TestIntelligenceNeedsItsFeatures(t *testing.T) {
	t.Parallel()
	for _, lacks := range []string{"content_ai", "ai_agent"} {
		w := newWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}, Lacks: []string{lacks}})
		create := func(folder string, fields ...string) reply {
			return w.form(t, w.keys[w.ada.ID], http.MethodPost, "/org/acme/create/workspace/", append([]string{"folder_name", folder, "name", "Room", "perm_join", "Member or above", "perm_member_manage", "Admin or above"}, fields...)...)
		}
		if got := create("room-1"); got.get("workspace.intelligence") != false {
			t.Errorf("without %s: %s", lacks, got.Body)
		}
		create("room-2", "intelligence", "false").is(t, 200, 0)
		create("room-3", "intelligence", "true").is(t, 406, 199952)
		w.form(t, w.keys[w.ada.ID], http.MethodPost, "/workspace/design-room/update/", "intelligence", "true").is(t, 406, 199952)
	}
}

// Without intelligence the embeddings are gone; with it they are made again, for credits.
func TestIntelligenceOffAndOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(emulator.Options{Limits: seed.LimitOptions{Rules: []emulator.Limit{}}, Clock: time.Now})
		plan := w.AddNode(emulator.Node{Profile: w.room.ID, Name: "plan.pdf"})
		w.AddNode(emulator.Node{Profile: w.attic.ID, Name: "other.pdf"})
		state := func() any {
			return w.as(t, w.ada, http.MethodGet, "/workspace/"+w.room.ID+"/storage/"+plan.ID+"/details/").get("node.ai.state")
		}
		set := func(on string) {
			w.form(t, w.keys[w.ada.ID], http.MethodPost, "/workspace/"+w.room.ID+"/update/", "intelligence", on).is(t, 200, 0)
		}
		if state() != "indexed" {
			t.Fatalf("at first: %v", state())
		}
		set("true")
		if spent := w.Credits(w.org.ID); state() != "indexed" || spent != 0 {
			t.Errorf("on although it was: %v for %d credits", state(), spent)
		}
		set("false")
		if state() != "ready" {
			t.Errorf("off: %v", state())
		}
		set("true")
		if spent := w.Credits(w.org.ID); state() != "ready" || spent != 10 {
			t.Errorf("on again: %v for %d credits", state(), spent)
		}
		set("false") // before the index is there
		time.Sleep(time.Minute)
		if state() != "ready" {
			t.Errorf("off meanwhile: %v", state())
		}
		set("true")
		time.Sleep(3 * time.Second)
		if state() != "indexed" {
			t.Errorf("after a while: %v", state())
		}
	})
}
