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

func TestExchange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o      emulator.Options
		ask    []string
		word   string
		scopes any
	}{
		"for the whole account":    {emulator.Options{}, nil, "user", `["user:*:rw"]`},
		"for OpenID words":         {emulator.Options{}, []string{"scope", "openid"}, "user", `["user:*:rw"]`},
		"with an array":            {emulator.Options{OAuth: seed.OAuthOptions{ScopesAsArray: true}}, nil, "user", []any{"user:*:rw"}},
		"as legacy servers do":     {emulator.Options{OAuth: seed.OAuthOptions{LegacyScopes: true}}, []string{"access_mode", "rwa"}, "user", nil},
		"as legacy, read only":     {emulator.Options{OAuth: seed.OAuthOptions{LegacyScopes: true}}, []string{"access_mode", "r"}, "user", `["user:*:r"]`},
		"as legacy, organizations": {emulator.Options{OAuth: seed.OAuthOptions{LegacyScopes: true}}, []string{"scope", "all_orgs"}, "all_orgs", `["org:*:rw"]`},
		"in another envelope":      {emulator.Options{Wrapped: true, NumericIDs: true}, nil, "user", `["user:*:rw"]`},
		"when no token comes back": {emulator.Options{OAuth: seed.OAuthOptions{OmitRefreshToken: true}}, nil, "user", `["user:*:rw"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(test.o)
			outcome := p.decide(t, p.bareLogin(t, test.ask...), emulator.Decision{})
			got := p.exchange(t, parameter(t, outcome.Redirect, "code"))
			access, refresh := tokens(t, got)
			want := map[string]any{
				"access_token": access, "token_type": "Bearer", "expires_in": 3600., "refresh_token": refresh, "scope": test.word, "scopes": test.scopes,
			}
			if diff := cmp.Diff(want, got.JSON); diff != "" || !strings.HasPrefix(refresh, "rt_") {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("header %v", got.Header)
			}
			if !p.accepts(t, access) {
				t.Error("the access token does not work")
			}
		})
	}
}

// bareLogin is the login URL of a redirect, which no envelope wraps.
func (p *platform) bareLogin(t *testing.T, change ...string) string {
	t.Helper()
	return p.start(t, append(change, "response_format", "-")...).Header.Get("Location")
}

func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	bound := p.code(t, "resource", host)
	code := p.code(t)
	_, refresh := p.grant(t, "resource", host)
	long := strings.Repeat("é", 129)
	at := func(fields ...string) []string {
		return append([]string{
			"grant_type", "authorization_code", "code", code, "client_id", "app", "redirect_uri", redirect, "code_verifier", verifier,
		}, fields...)
	}
	again := func(fields ...string) []string {
		return append([]string{"grant_type", "refresh_token", "refresh_token", refresh, "client_id", "app"}, fields...)
	}
	for name, test := range map[string]struct {
		fields []string
		want   string
	}{
		"no grant type":                    {at("grant_type", "-"), "invalid_request"},
		"another grant type":               {at("grant_type", "password"), "unsupported_grant_type"},
		"no code":                          {at("code", "-"), "invalid_request"},
		"no client":                        {at("client_id", "-"), "invalid_request"},
		"no redirect URI":                  {at("redirect_uri", "-"), "invalid_request"},
		"no verifier":                      {at("code_verifier", "-"), "invalid_request"},
		"a client's secret":                {at("client_secret", "x"), "invalid_client"},
		"an unknown code":                  {at("code", "x"), "invalid_grant"},
		"another client":                   {at("client_id", "App"), "invalid_grant"},
		"another port":                     {at("redirect_uri", "http://127.0.0.1:4712/callback"), "invalid_grant"},
		"another spelling":                 {at("redirect_uri", redirect+"?"), "invalid_grant"},
		"another verifier":                 {at("code_verifier", strings.Repeat("x", 43)), "invalid_grant"},
		"the challenge as verifier":        {at("code_verifier", challenge), "invalid_grant"},
		"a short verifier":                 {at("code_verifier", verifier[1:]), "invalid_request"},
		"a long verifier":                  {at("code_verifier", strings.Repeat("x", 129)), "invalid_request"},
		"a verifier with a plus":           {at("code_verifier", "+"+verifier), "invalid_request"},
		"a long device name":               {at("device_name", long), "invalid_request"},
		"a long device type":               {at("device_type", long), "invalid_request"},
		"a resource not authorized":        {at("resource", host), "invalid_target"},
		"another resource":                 {at("code", bound, "resource", "https://files.test"), "invalid_target"},
		"no refresh token":                 {again("refresh_token", "-"), "invalid_request"},
		"no client to refresh":             {again("client_id", "-"), "invalid_request"},
		"an unknown refresh token":         {again("refresh_token", "rt_x"), "invalid_grant"},
		"another client to refresh":        {again("client_id", "other"), "invalid_grant"},
		"another resource to refresh":      {again("resource", "https://files.test"), "invalid_target"},
		"an access token as refresh token": {again("refresh_token", p.keys[p.ada.ID]), "invalid_grant"},
	} {
		got := p.post(t, "token", test.fields...)
		if got.Status != http.StatusBadRequest || got.get("error") != test.want || len(got.JSON) != 2 || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	// A refused attempt uses nothing up.
	tokens(t, p.exchange(t, code, "device_name", strings.Repeat("é", 128)))
	tokens(t, p.exchange(t, bound, "resource", host))
	tokens(t, p.refresh(t, refresh, "resource", host))
}

func TestTokenRequestForms(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	body := pairs("grant_type", "refresh_token", "client_id", "app", "refresh_token", "rt_x").Encode()
	for name, test := range map[string]struct {
		body   string
		header []string
		status int
		want   string
	}{
		"JSON":                 {`{"grant_type": "refresh_token"}`, []string{"Content-Type", "application/json"}, 400, "invalid_request"},
		"no type":              {body, nil, 400, "invalid_request"},
		"a broken form":        {"%zz", []string{"Content-Type", formType}, 400, "invalid_request"},
		"a repeated parameter": {body + "&client_id=app", []string{"Content-Type", formType}, 400, "invalid_request"},
		"Basic":                {body, []string{"Content-Type", formType, "Authorization", "Basic YXBwOg=="}, 401, "invalid_client"},
		"a bearer":             {body, []string{"Content-Type", formType, "Authorization", "Bearer x"}, 401, "invalid_client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := p.raw(t, http.MethodPost, "/api/current/oauth/token/", test.body, test.header...)
			if got.Status != test.status || got.get("error") != test.want || (got.Header.Get("WWW-Authenticate") != "") != (test.status == 401) {
				t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
			}
		})
	}
}

func TestEnvelopedTokenErrors(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{OAuth: seed.OAuthOptions{EnvelopedTokenErrors: true}})
	got := p.refresh(t, "rt_x")
	text, _ := got.get("error.text").(string)
	if got.Status != http.StatusBadRequest || got.get("result") != false || got.code() != 199207 || !strings.HasPrefix(text, "invalid_grant: ") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	access, _ := p.grant(t)
	if !p.accepts(t, access) {
		t.Error("a good exchange gives no token")
	}
}

func TestCodesAreForOneUse(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	code := p.code(t)
	access, refresh := tokens(t, p.exchange(t, code))
	p.exchange(t, code, "code_verifier", strings.Repeat("x", 43))
	if !p.accepts(t, access) {
		t.Error("a thief without the verifier ended the session")
	}
	p.clock.forward(time.Hour - time.Second)
	if got := p.exchange(t, code); got.Status != http.StatusBadRequest || got.get("error") != "invalid_grant" {
		t.Errorf("a second exchange: %d %s", got.Status, got.Body)
	}
	if p.accepts(t, access) {
		t.Error("the access token lives on")
	}
	if got := p.refresh(t, refresh); got.get("error") != "invalid_grant" {
		t.Errorf("the refresh token lives on: %s", got.Body)
	}
}

func TestLifetimes(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	early, late := p.code(t), p.code(t)
	p.clock.forward(5*time.Minute - time.Second)
	access, refresh := tokens(t, p.exchange(t, early))
	p.clock.forward(time.Second)
	if got := p.exchange(t, late); got.get("error") != "invalid_grant" {
		t.Errorf("a code after five minutes: %d %s", got.Status, got.Body)
	}
	p.clock.forward(time.Hour - 2*time.Second)
	if !p.accepts(t, access) {
		t.Error("an access token ended before its hour")
	}
	p.clock.forward(time.Second)
	if p.accepts(t, access) {
		t.Error("an access token outlived its hour")
	}
	p.clock.forward(5 * 365 * 24 * time.Hour)
	if access, _ := tokens(t, p.refresh(t, refresh)); !p.accepts(t, access) {
		t.Error("a refresh after years gives no token")
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o    emulator.Options
		next string // what the refresh token of the answer is
	}{
		"returns the same":       {emulator.Options{}, "same"},
		"returns none":           {emulator.Options{OAuth: seed.OAuthOptions{OmitRefreshToken: true}}, "none"},
		"returns another":        {emulator.Options{OAuth: seed.OAuthOptions{RotateRefreshTokens: true}}, "another"},
		"returns another anyway": {emulator.Options{OAuth: seed.OAuthOptions{RotateRefreshTokens: true, OmitRefreshToken: true}}, "another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatform(test.o)
			access, refresh := p.grant(t, "scope", "all_orgs", "access_mode", "r")
			got := p.refresh(t, refresh)
			access2, refresh2 := tokens(t, got)
			next := map[string]string{refresh: "same", "": "none"}[refresh2]
			if refresh2 != refresh && refresh2 != "" {
				next = "another"
			}
			if next != test.next || access2 == access || got.get("scopes") != `["org:*:r"]` || got.get("scope") != "all_orgs" {
				t.Errorf("%s: %s", next, got.Body)
			}
			if !p.accepts(t, access) || !p.accepts(t, access2) {
				t.Error("one of the access tokens does not work")
			}
		})
	}
}

func TestReuseEndsTheFamily(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{OAuth: seed.OAuthOptions{RotateRefreshTokens: true}})
	other, _ := p.grant(t)
	access, first := p.grant(t)
	_, second := tokens(t, p.refresh(t, first))
	access3, third := tokens(t, p.refresh(t, second))
	if got := p.refresh(t, first, "client_id", "other"); got.get("error") != "invalid_grant" || !p.accepts(t, access) {
		t.Errorf("another client: %s", got.Body)
	}
	if got := p.refresh(t, first); got.get("error") != "invalid_grant" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := p.refresh(t, third); got.get("error") != "invalid_grant" {
		t.Errorf("the newest refresh token lives on: %s", got.Body)
	}
	if p.accepts(t, access) || p.accepts(t, access3) {
		t.Error("an access token lives on")
	}
	if !p.accepts(t, other) {
		t.Error("another session ended")
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	want := map[string]any{"result": true, "status": "ok", "current_api_version": "1.0"}
	access, refresh := p.grant(t)
	access2, refresh2 := p.grant(t)
	for name, token := range map[string]string{"an unknown token": "x", "a refresh token": refresh, "an access token": access2, "an API key": p.keys[p.ada.ID]} {
		for range 2 {
			if diff := cmp.Diff(want, p.post(t, "revoke", "token", token).JSON); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	if p.accepts(t, access) || p.accepts(t, access2) || !p.accepts(t, p.keys[p.ada.ID]) {
		t.Error("the wrong tokens live on")
	}
	if got := p.refresh(t, refresh); got.get("error") != "invalid_grant" {
		t.Errorf("a revoked refresh token: %s", got.Body)
	}
	tokens(t, p.refresh(t, refresh2))
	for kind, body := range map[string]string{formType: "token=", "application/json": `{"token":"x"}`} {
		if got := p.raw(t, http.MethodPost, "/api/current/oauth/revoke/", body, "Content-Type", kind); got.Status != 400 || got.get("error") != "invalid_request" || len(got.JSON) != 2 {
			t.Errorf("no token: %d %s", got.Status, got.Body)
		}
	}
}

func TestAudience(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	for resource, want := range map[string]bool{
		host: true, host + "/": true, host + "/api": true, host + "/api/current/": true,
		"https://emulator.test": false, host + ":81": false, host + "/mcp": false, "https://files.test": false,
	} {
		access, refresh := p.grant(t, "resource", resource)
		if p.accepts(t, access) != want {
			t.Errorf("%s: works %v", resource, !want)
		}
		if access, _ = tokens(t, p.refresh(t, refresh)); p.accepts(t, access) != want {
			t.Errorf("%s: works %v after a refresh", resource, !want)
		}
	}
}

func TestAccessTokensReachWhatWasGranted(t *testing.T) {
	t.Parallel()
	p := newPlatform(emulator.Options{})
	event := p.AddEvent(emulator.Event{Name: fileAdded, Workspace: p.room.ID}).ID
	narrowed := p.decide(t, p.login(t), emulator.Decision{Scopes: []string{"workspace:" + p.room.ID + ":r"}})
	room, _ := tokens(t, p.exchange(t, parameter(t, narrowed.Redirect, "code")))
	whole, _ := p.grant(t)
	readOnly, _ := p.grant(t, "access_mode", "r")
	admin, _ := p.grant(t, "access_mode", "rwa")
	for name, test := range map[string]struct {
		token, method, path string
		query               []string
		status, code        int
	}{
		"a workspace granted":       {room, "GET", "/workspace/" + p.room.ID + "/details/", nil, 200, 0},
		"a workspace not granted":   {room, "GET", "/workspace/" + p.attic.ID + "/details/", nil, 403, 10754},
		"a search not granted":      {room, "GET", "/events/search/", []string{"workspace_id", p.attic.ID}, 403, 10754},
		"a search granted":          {room, "GET", "/events/search/", []string{"workspace_id", p.room.ID}, 200, 0},
		"a change by a reader":      {readOnly, "POST", "/event/" + event + "/ack/", nil, 403, 10770},
		"a change":                  {whole, "POST", "/event/" + event + "/ack/", nil, 200, 0},
		"an audit without admin":    {whole, "GET", "/events/search/", []string{"org_id", p.org.ID, "visibility", "external_audit_log"}, 403, 10767},
		"an audit with admin":       {admin, "GET", "/events/search/", []string{"org_id", p.org.ID, "visibility", "external_audit_log"}, 200, 0},
		"another's workspace's org": {admin, "GET", "/org/" + p.other.ID + "/details/", nil, 401, 10545},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := p.with(t, test.token, test.method, test.path, test.query...)
			if got.Status != test.status || got.code() != test.code {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			if test.code == 10767 || test.code == 10770 {
				if kind := got.get("error.params.credential_type"); kind != "oauth" {
					t.Errorf("credential_type %v", kind)
				}
			}
		})
	}
}
