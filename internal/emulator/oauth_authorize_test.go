package emulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest/seed"
	"github.com/fastio-go/fastio/internal/emulator"
)

func TestStartAuthorization(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	long := strings.Repeat("é", 128)
	for name, test := range map[string]struct {
		change []string
		want   map[string]any
	}{
		"with the least":                   {nil, map[string]any{"scope": "user"}},
		"for an agent":                     {[]string{"agent_name", " Scout "}, map[string]any{"scope": "user", "agent_name": "Scout"}},
		"for an agent with a long name":    {[]string{"agent_name", long + "x"}, map[string]any{"scope": "user", "agent_name": long}},
		"with one scope":                   {[]string{"scope", "org"}, map[string]any{"scope": "org"}},
		"with the broadest of several":     {[]string{"scope", "all_shares workspace all_orgs"}, map[string]any{"scope": "all_orgs"}},
		"with a scope among unknown words": {[]string{"scope", "everything workspace"}, map[string]any{"scope": "workspace"}},
		"with OpenID words only":           {[]string{"scope", "openid profile email offline_access"}, map[string]any{"scope": "openid profile email offline_access"}},
		"with OpenID words aside":          {[]string{"scope", "openid all_sign_envelopes"}, map[string]any{"scope": "all_sign_envelopes"}},
		"with the retired scope":           {[]string{"scope", "all_workflows"}, map[string]any{"scope": "all_workflows"}},
		"with empty options":               {[]string{"scope", "", "access_mode", "", "account_settings", "", "display_code", "", "agent_name", ""}, map[string]any{"scope": "user"}},
		"with a response type of any kind": {[]string{"response_type", "token"}, map[string]any{"scope": "user"}},
		"with a resource":                  {[]string{"resource", "https://files.test/api"}, map[string]any{"scope": "user"}},
		"at another loopback port":         {[]string{"redirect_uri", "http://127.0.0.1:9/callback"}, map[string]any{"scope": "user"}},
		"at no loopback port":              {[]string{"redirect_uri", "http://127.0.0.1/callback"}, map[string]any{"scope": "user"}},
		"at an address to the letter":      {[]string{"redirect_uri", "https://app.test/back?a=1"}, map[string]any{"scope": "user"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := p.start(t, test.change...)
			id, _ := got.get("auth_request_id").(string)
			if !isHex(id, 64) {
				t.Errorf("auth_request_id %q", id)
			}
			delete(got.JSON, "auth_request_id")
			test.want["result"], test.want["status"], test.want["current_api_version"] = true, "ok", "1.0"
			test.want["client_name"], test.want["login_url"] = "App", host+"/connect?auth_request_id="+id
			if diff := cmp.Diff(test.want, got.JSON); diff != "" || got.Status != http.StatusOK {
				t.Errorf("%d (-want +got):\n%s", got.Status, diff)
			}
		})
	}
}

func TestStartAuthorizationRedirects(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	got := p.start(t, "response_format", "-", "display_code", "1")
	login := got.Header.Get("Location")
	if got.Status != http.StatusFound || !strings.HasPrefix(login, host+"/connect?auth_request_id=") || !strings.HasSuffix(login, "&display_code=true") {
		t.Errorf("%d %s", got.Status, login)
	}
	if outcome := p.decide(t, login, emulator.Decision{}); outcome.Code == "" || outcome.Redirect != "" {
		t.Errorf("%+v", outcome)
	}
}

func TestStartAuthorizationRefuses(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	p.AddClient(emulator.Client{ID: "six", RedirectURIs: []string{"http://[::1]/callback"}})
	for name, test := range map[string]struct {
		change []string
		code   int
		failed []string
	}{
		"nothing":                       {[]string{"client_id", "-", "redirect_uri", "-", "state", "-", "code_challenge", "-", "code_challenge_method", "-"}, 1605, []string{"client_id missing", "redirect_uri missing", "state missing", "code_challenge missing", "code_challenge_method missing"}},
		"no client":                     {[]string{"client_id", "-"}, 1605, []string{"client_id missing"}},
		"an unknown client":             {[]string{"client_id", "nobody"}, 1605, []string{"client_id invalid"}},
		"no redirect URI":               {[]string{"redirect_uri", "-"}, 10021, []string{"redirect_uri missing"}},
		"another path":                  {[]string{"redirect_uri", "http://127.0.0.1:4711/callback2"}, 1605, []string{"redirect_uri invalid"}},
		"another path's slash":          {[]string{"redirect_uri", "http://127.0.0.1:4711/callback/"}, 1605, []string{"redirect_uri invalid"}},
		"another query":                 {[]string{"redirect_uri", "http://127.0.0.1:4711/callback?x"}, 1605, []string{"redirect_uri invalid"}},
		"another name of this machine":  {[]string{"redirect_uri", "http://localhost:4711/callback"}, 1605, []string{"redirect_uri invalid"}},
		"a user in the URI":             {[]string{"redirect_uri", "http://a@127.0.0.1:4711/callback"}, 1605, []string{"redirect_uri invalid"}},
		"another scheme":                {[]string{"redirect_uri", "https://127.0.0.1:4711/callback"}, 1605, []string{"redirect_uri invalid"}},
		"another port elsewhere":        {[]string{"redirect_uri", "https://app.test:8443/back?a=1"}, 1605, []string{"redirect_uri invalid"}},
		"capitals elsewhere":            {[]string{"redirect_uri", "https://APP.test/back?a=1"}, 1605, []string{"redirect_uri invalid"}},
		"IPv4 for IPv6":                 {[]string{"client_id", "six"}, 1605, []string{"redirect_uri invalid"}},
		"no state":                      {[]string{"state", "-"}, 10021, []string{"state missing"}},
		"an empty state":                {[]string{"state", ""}, 10021, []string{"state missing"}},
		"no challenge":                  {[]string{"code_challenge", "-"}, 10021, []string{"code_challenge missing"}},
		"a short challenge":             {[]string{"code_challenge", challenge[1:]}, 10022, []string{"code_challenge invalid"}},
		"a long challenge":              {[]string{"code_challenge", challenge + "A"}, 10022, []string{"code_challenge invalid"}},
		"a challenge in plain base64":   {[]string{"code_challenge", "+" + challenge[1:]}, 10022, []string{"code_challenge invalid"}},
		"a challenge with a full stop":  {[]string{"code_challenge", "." + challenge[1:]}, 10022, []string{"code_challenge invalid"}},
		"a padded challenge":            {[]string{"code_challenge", challenge[1:] + "="}, 10022, []string{"code_challenge invalid"}},
		"no method":                     {[]string{"code_challenge_method", "-"}, 10021, []string{"code_challenge_method missing"}},
		"the plain method":              {[]string{"code_challenge_method", "plain"}, 10022, []string{"code_challenge_method invalid"}},
		"the method in small letters":   {[]string{"code_challenge_method", "s256"}, 10022, []string{"code_challenge_method invalid"}},
		"an unknown scope":              {[]string{"scope", "everything"}, 199203, []string{"scope invalid"}},
		"a scope in capitals":           {[]string{"scope", "User"}, 199203, []string{"scope invalid"}},
		"an unknown scope with OpenID":  {[]string{"scope", "openid everything"}, 199203, []string{"scope invalid"}},
		"an unknown mode":               {[]string{"access_mode", "w"}, 180242, []string{"access_mode invalid"}},
		"a mode in capitals":            {[]string{"access_mode", "RW"}, 180242, []string{"access_mode invalid"}},
		"account settings in a word":    {[]string{"account_settings", "true"}, 117053, []string{"account_settings invalid"}},
		"no account settings in a word": {[]string{"account_settings", "false"}, 117053, []string{"account_settings invalid"}},
		"a display code in a word":      {[]string{"display_code", "yes"}, 199201, []string{"display_code invalid"}},
		"a reserved agent":              {[]string{"agent_name", " FastIO "}, 199202, []string{"agent_name invalid"}},
		"a relative resource":           {[]string{"resource", "/api"}, 199204, []string{"resource invalid"}},
		"a resource with a fragment":    {[]string{"resource", host + "#x"}, 199204, []string{"resource invalid"}},
		"several":                       {[]string{"access_mode", "x", "account_settings", "2", "scope", "x"}, 199203, []string{"scope invalid", "access_mode invalid", "account_settings invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := p.start(t, test.change...)
			if got.Status != http.StatusNotAcceptable || got.code() != test.code || got.get("result") != false {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			if diff := cmp.Diff(test.failed, got.failures()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := p.start(t, "client_id", "six", "redirect_uri", "http://[::1]:7/callback"); got.Status != http.StatusOK {
		t.Errorf("another port of [::1]: %d %s", got.Status, got.Body)
	}
}

func TestAuthorizationInfo(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	plain := parameter(t, p.login(t), "auth_request_id")
	rich := parameter(t, p.login(t, "scope", "org", "access_mode", "rwa", "account_settings", "1", "agent_name", "Scout",
		"display_code", "true", "resource", host), "auth_request_id")
	p.clock.forward(time.Minute)
	envelope := func(more map[string]any) map[string]any {
		more["result"], more["status"], more["current_api_version"] = true, "ok", "1.0"
		more["client_id"], more["client_name"], more["expires_in"] = "app", "App", 540.
		return more
	}
	for id, want := range map[string]map[string]any{
		plain: envelope(map[string]any{
			"auth_request_id": plain, "scope": "user", "access_mode": nil, "account_settings": false, "agent_name": nil, "resource": nil,
		}),
		rich: envelope(map[string]any{
			"auth_request_id": rich, "scope": "org", "access_mode": "rwa", "account_settings": true, "agent_name": "Scout",
			"resource": host, "redirect_mode": "display_code",
		}),
	} {
		if diff := cmp.Diff(want, p.with(t, "", http.MethodGet, "/oauth/authorize/info/", "auth_request_id", id).JSON); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	p.clock.forward(9*time.Minute - time.Second)
	if got := p.with(t, "", http.MethodGet, "/oauth/authorize/info/", "auth_request_id", plain); got.get("expires_in") != 1. {
		t.Errorf("just before the end: %s", got.Body)
	}
	p.clock.forward(time.Second)
	for _, id := range []string{plain, "none"} {
		if got := p.with(t, "", http.MethodGet, "/oauth/authorize/info/", "auth_request_id", id); got.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", id, got.Status, got.Body)
		}
	}
}

func TestCompleteAuthorization(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	session := p.AddSession(p.ada.ID)
	narrow, err := json.Marshal([]string{"workspace:" + p.room.ID + ":r"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		ask, fields []string
		scopes      string // granted
		failure     string // on the way back
	}{
		"approves":                  {nil, nil, `["user:*:rw"]`, ""},
		"approves in so many words": {nil, []string{"decision", "approve"}, `["user:*:rw"]`, ""},
		"narrows the mode":          {[]string{"access_mode", "rwa"}, []string{"access_mode", "r"}, `["user:*:r"]`, ""},
		"narrows the scopes":        {[]string{"scope", "all_orgs"}, []string{"scopes", string(narrow)}, string(narrow), ""},
		"grants account settings":   {[]string{"account_settings", "1"}, []string{"account_settings", "1"}, `["user:*:rw","userdetails:*:rw"]`, ""},
		"keeps account settings":    {[]string{"account_settings", "1"}, []string{"account_settings", "0"}, `["user:*:rw"]`, ""},
		"denies":                    {nil, []string{"decision", "deny"}, "", "access_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := parameter(t, p.login(t, test.ask...), "auth_request_id")
			got := p.complete(t, session, append([]string{"auth_request_id", id}, test.fields...)...)
			target, _ := got.get("redirect_uri").(string)
			if got.Status != http.StatusOK || !strings.HasPrefix(target, redirect+"?") || parameter(t, target, "state") != "st4te" || parameter(t, target, "error") != test.failure {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if test.scopes != "" {
				if granted := p.exchange(t, parameter(t, target, "code")); granted.get("scopes") != test.scopes {
					t.Errorf("granted %v", granted.get("scopes"))
				}
			}
			if again := p.complete(t, session, "auth_request_id", id); again.Status != http.StatusNotFound {
				t.Errorf("again: %d %s", again.Status, again.Body)
			}
		})
	}
	id := parameter(t, p.login(t, "display_code", "true"), "auth_request_id")
	got := p.complete(t, session, "auth_request_id", id)
	if code, _ := got.get("code").(string); got.get("redirect_uri") != nil || p.exchange(t, code).Status != http.StatusOK {
		t.Errorf("a displayed code: %s", got.Body)
	}
}

func (p *platform) complete(t *testing.T, token string, fields ...string) reply {
	t.Helper()
	return p.raw(t, http.MethodPost, "/api/current/oauth/authorize/", pairs(fields...).Encode(), "Content-Type", formType, "Authorization", "Bearer "+token)
}

func TestCompleteAuthorizationRefuses(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	session := p.AddSession(p.ada.ID)
	access, _ := p.grant(t)
	user := parameter(t, p.login(t), "auth_request_id")
	orgs := parameter(t, p.login(t, "scope", "org", "access_mode", "r"), "auth_request_id")
	retired := parameter(t, p.login(t, "scope", "all_workflows", "account_settings", "1"), "auth_request_id")
	for name, test := range map[string]struct {
		token        string
		fields       []string
		status, code int
		reason       string
	}{
		"an API key":                     {p.keys[p.ada.ID], []string{"auth_request_id", user}, 403, 10175, ""},
		"an access token":                {access, []string{"auth_request_id", user}, 403, 10175, ""},
		"no request":                     {session, []string{"decision", "approve"}, 406, 10021, ""},
		"an unknown request":             {session, []string{"auth_request_id", "none"}, 404, 199002, ""},
		"an unknown decision":            {session, []string{"auth_request_id", user, "decision", "perhaps"}, 406, 10022, ""},
		"an unknown mode":                {session, []string{"auth_request_id", user, "access_mode", "x"}, 406, 180242, ""},
		"more than the default mode":     {session, []string{"auth_request_id", user, "access_mode", "rwa"}, 403, 10768, "access_mode_exceeds_initiate"},
		"more than the mode asked for":   {session, []string{"auth_request_id", orgs, "access_mode", "rw"}, 403, 10768, "access_mode_exceeds_initiate"},
		"account settings not asked for": {session, []string{"auth_request_id", user, "account_settings", "1"}, 403, 10768, "access_mode_exceeds_initiate"},
		"a scope not asked for":          {session, []string{"auth_request_id", orgs, "scopes", `["user:*:r"]`}, 403, 10768, "scope_exceeds_issuer"},
		"another's organization":         {session, []string{"auth_request_id", orgs, "scopes", `["org:` + p.other.ID + `:r"]`}, 403, 10768, "scope_exceeds_issuer"},
		"a scope's mode":                 {session, []string{"auth_request_id", orgs, "scopes", `["org:` + p.org.ID + `:rw"]`}, 403, 10768, "scope_exceeds_issuer"},
		"account settings as a scope":    {session, []string{"auth_request_id", user, "scopes", `["userdetails:*:rw"]`}, 403, 10768, "scope_exceeds_issuer"},
		"scopes that are text":           {session, []string{"auth_request_id", user, "scopes", `user:*:r`}, 406, 10023, ""},
		"no scopes":                      {session, []string{"auth_request_id", user, "scopes", `[]`}, 406, 10022, ""},
		"the retired scope":              {session, []string{"auth_request_id", retired, "account_settings", "1"}, 406, 199205, ""},
		"the retired scope by scopes":    {session, []string{"auth_request_id", retired, "scopes", `["user:*:rw"]`}, 406, 199205, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := p.complete(t, test.token, test.fields...)
			if got.Status != test.status || got.code() != test.code || got.reason() != test.reason {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	if got := p.raw(t, http.MethodPost, "/api/current/oauth/authorize/", `{}`, "Content-Type", "application/json", "Authorization", "Bearer "+session); got.Status != 406 {
		t.Errorf("JSON: %d %s", got.Status, got.Body)
	}
}

// A refused consent does not use a request up.
func TestDecide(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	login := p.login(t)
	for name, test := range map[string]struct {
		login    string
		decision emulator.Decision
		want     string
	}{
		"no URL":             {"http://%zz", emulator.Decision{User: p.ada.ID}, "cannot be read"},
		"no request":         {host + "/connect", emulator.Decision{User: p.ada.ID}, "no such authorization request"},
		"an unknown request": {host + "/connect?auth_request_id=x", emulator.Decision{User: p.ada.ID}, "no such authorization request"},
		"an unknown user":    {login, emulator.Decision{User: "nobody"}, `no user "nobody"`},
		"too high a mode":    {login, emulator.Decision{User: p.ada.ID, Mode: "rwa"}, "did not ask for as much"},
		"no scopes":          {login, emulator.Decision{User: p.ada.ID, Scopes: []string{}}, "nothing to grant"},
	} {
		if _, err := p.Decide(test.login, test.decision); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	outcome := p.decide(t, login, emulator.Decision{})
	if parameter(t, outcome.Redirect, "code") == "" || parameter(t, outcome.Redirect, "state") != "st4te" {
		t.Errorf("%+v", outcome)
	}
	if _, err := p.Decide(login, emulator.Decision{User: p.ada.ID}); err == nil {
		t.Error("a request was decided twice")
	}
	late := p.login(t)
	p.clock.forward(10 * time.Minute)
	if _, err := p.Decide(late, emulator.Decision{User: p.ada.ID}); err == nil {
		t.Error("a request was decided after ten minutes")
	}
}

func TestTheWayBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o      emulator.Options
		change []string
		deny   bool
		want   string // with CODE for the code
	}{
		"approved":               {emulator.Options{}, nil, false, redirect + "?code=CODE&state=st4te"},
		"denied":                 {emulator.Options{}, nil, true, redirect + "?error=access_denied&state=st4te"},
		"denied without a state": {emulator.Options{OAuth: seed.OAuthOptions{DenialWithoutState: true}}, nil, true, redirect + "?error=access_denied"},
		"approved all the same":  {emulator.Options{OAuth: seed.OAuthOptions{DenialWithoutState: true}}, nil, false, redirect + "?code=CODE&state=st4te"},
		"approved with iss":      {emulator.Options{OAuth: seed.OAuthOptions{AnnounceIssuer: true}}, nil, false, redirect + "?code=CODE&iss=http%3A%2F%2Femulator.test&state=st4te"},
		"denied with iss":        {emulator.Options{OAuth: seed.OAuthOptions{AnnounceIssuer: true}}, nil, true, redirect + "?error=access_denied&iss=http%3A%2F%2Femulator.test&state=st4te"},
		"to a URI with a query":  {emulator.Options{}, []string{"redirect_uri", "https://app.test/back?a=1", "state", "a b&c"}, false, "https://app.test/back?a=1&code=CODE&state=a+b%26c"},
		"displayed":              {emulator.Options{OAuth: seed.OAuthOptions{AnnounceIssuer: true}}, []string{"display_code", "true"}, false, ""},
		"denied where displayed": {emulator.Options{}, []string{"display_code", "true"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(test.o)
			outcome := p.decide(t, p.login(t, test.change...), emulator.Decision{Deny: test.deny})
			want := strings.Replace(test.want, "CODE", parameter(t, outcome.Redirect, "code"), 1)
			if outcome.Redirect != want || (outcome.Code != "") != (test.want == "" && !test.deny) {
				t.Errorf("%+v, want %s", outcome, want)
			}
		})
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	p.SetMember(p.other.ID, p.ada.ID, emulator.Guest)
	org := func(id, mode string) string { return "org:" + id + ":" + mode }
	for name, test := range map[string]struct {
		ask      []string
		decision emulator.Decision
		want     []string
	}{
		"user":                                {nil, emulator.Decision{}, []string{"user:*:rw"}},
		"user, OpenID words":                  {[]string{"scope", "openid"}, emulator.Decision{}, []string{"user:*:rw"}},
		"user, read":                          {[]string{"access_mode", "r"}, emulator.Decision{}, []string{"user:*:r"}},
		"user, admin":                         {[]string{"access_mode", "rwa"}, emulator.Decision{}, []string{"user:*:rwa"}},
		"user, admin narrowed":                {[]string{"access_mode", "rwa"}, emulator.Decision{Mode: "rw"}, []string{"user:*:rw"}},
		"all_orgs":                            {[]string{"scope", "all_orgs"}, emulator.Decision{}, []string{"org:*:rw"}},
		"all_workspaces":                      {[]string{"scope", "all_workspaces"}, emulator.Decision{}, []string{"workspace:*:rw"}},
		"all_shares":                          {[]string{"scope", "all_shares"}, emulator.Decision{}, []string{"share:*:rw"}},
		"all_sign_envelopes":                  {[]string{"scope", "all_sign_envelopes"}, emulator.Decision{}, []string{"sign_envelope:*:rw"}},
		"org, all of them":                    {[]string{"scope", "org"}, emulator.Decision{}, []string{org(p.org.ID, "rw"), org(p.other.ID, "rw")}},
		"org, one of them":                    {[]string{"scope", "org"}, emulator.Decision{Scopes: []string{org(p.other.ID, "r")}}, []string{org(p.other.ID, "r")}},
		"org, a workspace in it":              {[]string{"scope", "org"}, emulator.Decision{Scopes: []string{"workspace:" + p.room.ID + ":rw"}}, []string{"workspace:" + p.room.ID + ":rw"}},
		"workspace, all of another user":      {[]string{"scope", "workspace"}, emulator.Decision{User: p.ben.ID}, []string{"workspace:" + p.room.ID + ":rw"}},
		"account settings asked, not granted": {[]string{"account_settings", "1"}, emulator.Decision{}, []string{"user:*:rw"}},
		"account settings granted":            {[]string{"account_settings", "1"}, emulator.Decision{AccountSettings: true}, []string{"user:*:rw", "userdetails:*:rw"}},
		"account settings among scopes":       {[]string{"account_settings", "1"}, emulator.Decision{AccountSettings: true, Scopes: []string{"org:*:r", "userdetails:*:rw"}}, []string{"org:*:r", "userdetails:*:rw"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := p.decide(t, p.login(t, test.ask...), test.decision)
			got := p.exchange(t, parameter(t, outcome.Redirect, "code"))
			var scopes []string
			text, _ := got.get("scopes").(string)
			if err := json.Unmarshal([]byte(text), &scopes); err != nil {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if diff := cmp.Diff(test.want, scopes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
