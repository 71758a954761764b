package oauth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/oauth"
)

// answering is a network that gives one answer to everything.
type answering struct {
	status int // 0 is 200
	body   string

	requests []*http.Request
	bodies   []string
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := ""
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		sent = string(b)
	}
	a.requests, a.bodies = append(a.requests, r), append(a.bodies, sent)
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}, nil
}

// over returns the client of somebody who has signed in.
func over(t *testing.T, network http.RoundTripper, opts ...fastio.Option) *oauth.Service {
	t.Helper()
	c, err := fastio.New(append(opts, fastio.WithHTTPClient(&http.Client{Transport: network}), fastio.WithToken("own-token"))...)
	if err != nil {
		t.Fatal(err)
	}
	return c.OAuth
}

func answered(t *testing.T, body string) *oauth.Service {
	t.Helper()
	return over(t, &answering{body: body})
}

// forms are the ways in which a payload may arrive.
func inForms(payload string) map[string]string {
	return map[string]string{
		"bare":           "{" + payload + "}",
		"at the root":    `{"result":true,` + payload + `}`,
		"under response": `{"result":"yes","response":{` + payload + `}}`,
	}
}

func at(t *testing.T, s string) api.Time {
	t.Helper()
	v, err := api.ParseTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

var orgWrite = []oauth.GrantedScope{{EntityType: oauth.EntityTypeOrg, EntityID: "4012345678901234567", AccessMode: oauth.AccessModeWrite}}

// The forms of what was granted, and what they come to.
var scopeForms = map[string]struct {
	member string
	want   []oauth.GrantedScope
}{
	"a text":          {`"scopes":"[\"org:4012345678901234567:rw\"]"`, orgWrite},
	"a list":          {`"scopes":["org:4012345678901234567:rw"]`, orgWrite},
	"a padded text":   {`"scopes":" [ \"org:4012345678901234567:rw\" ] "`, orgWrite},
	"an empty list":   {`"scopes":[]`, []oauth.GrantedScope{}},
	"an empty text":   {`"scopes":"[]"`, []oauth.GrantedScope{}},
	"null":            {`"scopes":null`, nil},
	"a blank":         {`"scopes":" "`, nil},
	"nothing":         {`"x_unknown":1`, nil},
	"a text of null":  {`"scopes":"null"`, nil},
	"a scope of ours": {`"scopes":["user:*:rwa","planet:7:x"]`, []oauth.GrantedScope{{"user", "*", "rwa"}, {"planet", "7", "x"}}},

	// Unknown forms are kept as they are: they are neither an error nor full access.
	"a text of words":        {`"scopes":"org:4012345678901234567:rw esign"`, []oauth.GrantedScope{orgWrite[0], {EntityType: "esign"}}},
	"a list of another form": {`"scopes":["esign","org:1","",7,{"b":1,"b":2}]`, []oauth.GrantedScope{{EntityType: "esign"}, {EntityType: "org:1"}, {}, {EntityType: "7"}, {EntityType: `{"b":1,"b":2}`}}},
	"an object":              {`"scopes":{"org":"1"}`, []oauth.GrantedScope{{EntityType: `{"org":"1"}`}}},
	"a flag":                 {`"scopes":true`, []oauth.GrantedScope{{EntityType: "true"}}},
	"a text of a number":     {`"scopes":"7"`, []oauth.GrantedScope{{EntityType: "7"}}},
}

func TestGrantedScopeKeepsUnknownForms(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"esign", "org:1", "org:1:r:x", "", ":", `{"a":1}`} {
		var g oauth.GrantedScope
		if err := g.UnmarshalText([]byte(s)); err != nil || g.String() != s {
			t.Errorf("%q is read as %#v, %v", s, g, err)
		}
	}
}

// What was granted is read alike wherever it stands.
func TestScopesInEveryForm(t *testing.T) {
	t.Parallel()
	for name, tc := range scopeForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for form, body := range inForms(`"access_token":"at","session_id":"s1","id":"k_1","api_key":"key","sessions":[{` + tc.member + `}],"api_keys":[{` + tc.member + `}],` + tc.member) {
				s := answered(t, body)
				got := map[string][]oauth.GrantedScope{}
				note := func(what string, scopes []oauth.GrantedScope, err error) {
					if err != nil {
						t.Errorf("%s %s: %v", what, form, err)
					}
					got[what] = scopes
				}
				token, err := s.Refresh(t.Context(), oauth.RefreshRequest{ClientID: clientID, RefreshToken: api.NewSecret("rt")})
				note("a token", token.Scopes, err)
				of, err := s.TokenScopes(t.Context())
				note("of a token", of.Scopes, err)
				session, err := s.Sessions.Get(t.Context(), "s1")
				note("a session", session.Scopes, err)
				sessions, err := s.Sessions.List(t.Context())
				note("a listed session", sessions[0].Scopes, err)
				made, err := s.Keys.Create(t.Context(), oauth.KeyRequest{})
				note("a new key", made.Scopes, err)
				key, err := s.Keys.Get(t.Context(), "k_1")
				note("a key", key.Scopes, err)
				keys, err := s.Keys.List(t.Context())
				note("a listed key", keys[0].Scopes, err)
				for what, scopes := range got {
					if diff := cmp.Diff(tc.want, scopes); diff != "" {
						t.Errorf("%s %s (-want +got):\n%s", what, form, diff)
					}
				}
				if len(got) != 7 {
					t.Errorf("%d places were looked at", len(got))
				}
			}
		})
	}
}

func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		payload string
		want    oauth.Token
		life    time.Duration
	}{
		"all there is": {
			`"access_token":"at","token_type":"Bearer","expires_in":3600,"refresh_token":"new","scope":"org","scopes":"[\"org:4012345678901234567:rw\"]"`,
			oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("new"), Scope: "org", Scopes: orgWrite},
			time.Hour,
		},
		"numbers as text":        {`"access_token":"at","token_type":"bearer","expires_in":"60"`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, time.Minute},
		"no end":                 {`"access_token":"at"`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, 0},
		"nulls":                  {`"access_token":"at","token_type":null,"expires_in":null,"refresh_token":null,"scope":null`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, 0},
		"an end beyond all time": {`"access_token":"at","expires_in":9223372036854775807`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, 0},
		"an end before its time": {`"access_token":"at","expires_in":-1`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, 0},
		"a fraction":             {`"access_token":"at","expires_in":60.5`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, time.Minute},
		"a fraction as text":     {`"access_token":"at","expires_in":" 60.5 "`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, time.Minute},
		"an exponent":            {`"access_token":"at","expires_in":3.6e3`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, time.Hour},
		"an end in aeons":        {`"access_token":"at","expires_in":1e20`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, 0},
		"a flag for an end":      {`"access_token":"at","expires_in":true`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, 0},
		"an object for an end":   {`"access_token":"at","expires_in":{}`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, 0},
		"NaN for an end":         {`"access_token":"at","expires_in":"NaN"`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old")}, 0},
		"a list of words":        {`"access_token":"at","scope":["org","all_shares"]`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old"), Scope: "org all_shares"}, 0},
		"an object for a word":   {`"access_token":"at","scope":{"a":1}`, oauth.Token{AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old"), Scope: `{"a":1}`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for form, body := range inForms(tc.payload) {
				synctest.Test(t, func(t *testing.T) {
					want := tc.want
					if tc.life > 0 {
						want.Expiry = time.Now().Add(tc.life).Round(0)
					}
					got, err := answered(t, body).Refresh(t.Context(), oauth.RefreshRequest{ClientID: clientID, RefreshToken: api.NewSecret("old")})
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(&want, got); diff != "" {
						t.Errorf("%s (-want +got):\n%s", form, diff)
					}
				})
			}
		})
	}
}

// A token endpoint refuses in the words of OAuth or in the platform's own.
func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   *oauth.Error // nil is an api.Error
		kind   error
	}{
		"in the words of OAuth": {
			400, `{"error":"invalid_grant","error_description":"The code was used.","error_uri":"https://acme.test/e"}`,
			&oauth.Error{Op: "oauth.Exchange", Status: 400, Code: "invalid_grant", Description: "The code was used.", URI: "https://acme.test/e"}, api.ErrInvalid,
		},
		"in few words":                         {401, `{"error":"invalid_client"}`, &oauth.Error{Op: "oauth.Exchange", Status: 401, Code: "invalid_client"}, api.ErrUnauthenticated},
		"with a status of success":             {200, `{"error":"invalid_request"}`, &oauth.Error{Op: "oauth.Exchange", Status: 200, Code: "invalid_request"}, nil},
		"in the platform's words":              {400, `{"result":false,"error":{"code":10022,"text":"No."}}`, nil, api.ErrInvalid},
		"with a page":                          {502, `<html>`, nil, api.ErrUnavailable},
		"by leaving the token out":             {200, `{"result":true}`, &oauth.Error{Op: "oauth.Exchange", Status: 200, Code: "server_error", Description: "the answer holds no access token"}, nil},
		"with a token that holds a line break": {200, `{"access_token":"at\r\nX-Header: 1"}`, &oauth.Error{Op: "oauth.Exchange", Status: 200, Code: "server_error", Description: "the access token holds a character that no header can carry"}, nil},
		"with a token of another use":          {200, `{"access_token":"at","token_type":"DPoP"}`, &oauth.Error{Op: "oauth.Exchange", Status: 200, Code: "server_error", Description: "the token is of another type than Bearer"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := &answering{status: tc.status, body: tc.body}
			token, err := over(t, network).Exchange(t.Context(), oauth.ExchangeRequest{
				ClientID: clientID, RedirectURI: loopback, Code: api.NewSecret("canary-code"), CodeVerifier: api.NewSecret(verifier),
			})
			if err == nil || token != nil || len(network.requests) != 1 {
				t.Fatalf("got %+v, %v after %d requests", token, err, len(network.requests))
			}
			if tc.kind != nil && !errors.Is(err, tc.kind) {
				t.Errorf("got %v, want %v", err, tc.kind)
			}
			got, refused := errors.AsType[*oauth.Error](err)
			if refused != (tc.want != nil) {
				t.Fatalf("got %#v", err)
			}
			if refused {
				bare := oauth.Error{Op: got.Op, Status: got.Status, Code: got.Code, Description: got.Description, URI: got.URI}
				if diff := cmp.Diff(*tc.want, bare, cmp.AllowUnexported(oauth.Error{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// RFC 7009, section 2.2.
func TestRevokeSucceedsWithAnyBody(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "OK", "<html>", "true", "[]", "{}", `{"result":true}`, `{"result":`} {
		if err := answered(t, body).Revoke(t.Context(), api.NewSecret("rt")); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		var raw api.Answer
		if err := answered(t, body).Revoke(t.Context(), api.NewSecret("rt"), api.Raw(&raw)); err != nil || string(raw.Body) != body {
			t.Errorf("%q, wanted as raw: %q, %v", body, raw.Body, err)
		}
	}
	for _, body := range []string{`{"error":"invalid_request"}`, `{"result":false,"error":{"code":10022}}`} {
		if err := answered(t, body).Revoke(t.Context(), api.NewSecret("rt")); err == nil {
			t.Errorf("%q: no error", body)
		}
	}
}

func TestAuthorizationAnswers(t *testing.T) {
	t.Parallel()
	for form, body := range inForms(`"auth_request_id":"r1","client_id":"c1","client_name":"Acme","scope":"org","agent_name":null,"login_url":"https://go.fast.io/connect?a=b","access_mode":"rw","account_settings":"1","redirect_mode":"display_code","expires_in":"600"`) {
		s := answered(t, body)
		a, err := s.StartAuthorization(t.Context(), authorization())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&oauth.Authorization{ID: "r1", ClientName: "Acme", Scope: "org", LoginURL: "https://go.fast.io/connect?a=b"}, a); diff != "" {
			t.Errorf("started %s (-want +got):\n%s", form, diff)
		}
		info, err := s.AuthorizationInfo(t.Context(), "r1")
		if err != nil {
			t.Fatal(err)
		}
		if string(info.Extra["login_url"]) != `"https://go.fast.io/connect?a=b"` {
			t.Errorf("%s lost members: %v", form, info.Extra)
		}
		info.Extra = nil
		if diff := cmp.Diff(&oauth.AuthorizationInfo{
			ID: "r1", ClientID: "c1", ClientName: "Acme", Scope: "org", AccessMode: "rw", AccountSettings: true, RedirectMode: "display_code", ExpiresIn: 600,
		}, info); diff != "" {
			t.Errorf("shown %s (-want +got):\n%s", form, diff)
		}
	}
}

func TestCompletedAuthorizations(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		payload string
		deny    bool
		want    *oauth.CompletedAuthorization
	}{
		"a redirect":             {`"redirect_uri":"http://127.0.0.1/?code=c&state=s"`, false, &oauth.CompletedAuthorization{RedirectURI: api.NewSecret("http://127.0.0.1/?code=c&state=s")}},
		"a code":                 {`"code":123456`, false, &oauth.CompletedAuthorization{Code: api.NewSecret("123456")}},
		"neither":                {`"redirect_uri":null`, false, nil},
		"a denial that is shown": {`"code":null`, true, &oauth.CompletedAuthorization{}},
	} {
		for form, body := range inForms(tc.payload) {
			got, err := answered(t, body).CompleteAuthorization(t.Context(), oauth.CompleteAuthorizationRequest{ID: "r1", Deny: tc.deny})
			if (err == nil) != (tc.want != nil) {
				t.Errorf("%s %s ends with %v", name, form, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, form, diff)
			}
		}
	}
}

func TestTokenScopesAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		payload string
		want    oauth.TokenScopes
	}{
		"all there is": {
			`"auth_type":"oauth","scopes":["org:4012345678901234567:rw"],"admin":true,"is_agent":true,"full_access":false,"scopes_detail":[]`,
			oauth.TokenScopes{AuthType: "oauth", Scopes: orgWrite, Admin: true, Agent: true, Extra: map[string]json.RawMessage{"scopes_detail": raw("[]")}},
		},
		"flags in words":       {`"full_access":"yes","is_agent":"0","admin":true`, oauth.TokenScopes{FullAccess: true, Admin: true}},
		"admin in a word":      {`"admin":"true"`, oauth.TokenScopes{}},
		"admin by number":      {`"admin":1,"is_agent":1`, oauth.TokenScopes{Agent: true}},
		"admin in an object":   {`"admin":{"admin":true}`, oauth.TokenScopes{}},
		"admin of nothing":     {`"admin":null`, oauth.TokenScopes{}},
		"nothing but an X":     {`"x":1`, oauth.TokenScopes{Extra: map[string]json.RawMessage{"x": raw("1")}}},
		"no longer admin":      {`"admin":false`, oauth.TokenScopes{}},
		"a number for a type":  {`"auth_type":7`, oauth.TokenScopes{AuthType: "7"}},
		"nulls where possible": {`"auth_type":null,"scopes":null,"admin":null,"is_agent":null,"full_access":null`, oauth.TokenScopes{}},
	} {
		for form, body := range inForms(tc.payload) {
			got, err := answered(t, body).TokenScopes(t.Context())
			if err != nil {
				t.Errorf("%s %s: %v", name, form, err)
				continue
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, form, diff)
			}
		}
	}
}

func TestTokenScopesAsJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(oauth.TokenScopes{AuthType: "oauth", Scopes: orgWrite})
	if want := `"scopes":["org:4012345678901234567:rw"]`; err != nil || !strings.Contains(string(got), want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

const sessionMembers = `"session_id":"s1","device_name":"Mill","device_type":"cli","agent_name":null,"scopes":"[\"org:4012345678901234567:rw\"]",` +
	`"client_id":"c1","client_name":"Acme","created":"2026-03-02 10:00:00 UTC","last_used":1772445601,"expires":null,"current":true`

func wantSession(t *testing.T) *oauth.Session {
	t.Helper()
	return &oauth.Session{
		ID: "s1", DeviceName: "Mill", DeviceType: "cli", Scopes: orgWrite, ClientID: "c1", ClientName: "Acme",
		Created: at(t, "2026-03-02 10:00:00 UTC"), LastUsed: at(t, "1772445601"), Extra: map[string]json.RawMessage{"current": raw("true")},
	}
}

func TestSessionAnswers(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{"under its name": `"session":{` + sessionMembers + `}`, "by itself": sessionMembers} {
		for form, body := range inForms(payload) {
			s := answered(t, body)
			for how, read := range map[string]func() (*oauth.Session, error){
				"read": func() (*oauth.Session, error) { return s.Sessions.Get(t.Context(), "s1") },
				"changed": func() (*oauth.Session, error) {
					return s.Sessions.Update(t.Context(), "s1", oauth.UpdateSessionRequest{DeviceName: api.Set("Mill")})
				},
			} {
				got, err := read()
				if err != nil {
					t.Errorf("%s, %s, %s: %v", how, name, form, err)
				} else if diff := cmp.Diff(wantSession(t), got); diff != "" {
					t.Errorf("%s, %s, %s (-want +got):\n%s", how, name, form, diff)
				}
			}
		}
	}
	s := answered(t, `{"result":true,"session":{"session_id":7}}`)
	if got, err := s.Sessions.Get(t.Context(), "7"); err != nil || got.ID != "7" {
		t.Errorf("a session with a number is %+v, %v", got, err)
	}
}

func TestSessionLists(t *testing.T) {
	t.Parallel()
	list := `[{` + sessionMembers + `}]`
	for name, body := range map[string]string{
		"under sessions":                      `{"result":true,"sessions":` + list + `}`,
		"under sessions under response":       `{"result":true,"response":{"sessions":` + list + `}}`,
		"under sessions beside their count":   `{"result":true,"results":1,"sessions":` + list + `}`,
		"under results":                       `{"result":true,"results":` + list + `}`,
		"under results beside another's null": `{"result":true,"results":` + list + `,"total":null}`,
		"under response":                      `{"result":true,"response":` + list + `}`,
		"bare":                                list,
	} {
		got, err := answered(t, body).Sessions.List(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff([]*oauth.Session{wantSession(t)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, body := range map[string]string{
		"null": `{"result":true,"sessions":null}`, "none": `{"result":true,"sessions":[]}`, "none at all": `[]`, "none under response": `{"result":"yes","response":[]}`,
	} {
		if got, err := answered(t, body).Sessions.List(t.Context()); err != nil || got == nil || len(got) > 0 {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	for _, body := range []string{`{"result":true}`, `{"result":true,"results":3}`, `{}`} {
		if got, err := answered(t, body).Sessions.List(t.Context()); err == nil || err.Error() != "fastio: oauth.Sessions.List: the answer holds no sessions" {
			t.Errorf("%s is %v, %v", body, got, err)
		}
	}
	if _, err := answered(t, `{"result":false,"error":{"code":1,"text":"No."}}`).Sessions.List(t.Context()); err == nil || !strings.Contains(err.Error(), "No.") {
		t.Errorf("a refusal of status 200 is %v", err)
	}
	if got, err := answered(t, `{"result":true,"sessions":["s1"]}`).Sessions.List(t.Context()); err == nil {
		t.Errorf("words are sessions: %v", got)
	}
}

const keyMembers = `"id":"k_77","memo":"CI","scopes":"[\"org:4012345678901234567:rw\"]","agent_name":"ci-bot","created":"2026-09-01 10:00:00 UTC","expires":null,"admin":false,"legacy":"0"`

func wantKey(t *testing.T, secret api.Secret) *oauth.Key {
	t.Helper()
	return &oauth.Key{ID: "k_77", Secret: secret, Memo: "CI", Scopes: orgWrite, AgentName: "ci-bot", Created: at(t, "2026-09-01 10:00:00 UTC")}
}

// The secret of a key is told once. What later answers show in its place is none.
func TestKeyAnswers(t *testing.T) {
	t.Parallel()
	for form, body := range inForms(`"api_key":"the-key",` + keyMembers) {
		s := answered(t, body)
		made, err := s.Keys.Create(t.Context(), oauth.KeyRequest{})
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if diff := cmp.Diff(wantKey(t, api.NewSecret("the-key")), made); diff != "" || made.Secret.Reveal() != "the-key" {
			t.Errorf("made, %s (-want +got):\n%s", form, diff)
		}
		found, err := s.Keys.Get(t.Context(), "k_77")
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if diff := cmp.Diff(wantKey(t, api.Secret{}), found); diff != "" || !found.Secret.IsZero() {
			t.Errorf("found, %s (-want +got):\n%s", form, diff)
		}
	}
	for form, body := range inForms(`"api_key":{` + keyMembers + `}`) {
		found, err := answered(t, body).Keys.Get(t.Context(), "k_77")
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if diff := cmp.Diff(wantKey(t, api.Secret{}), found); diff != "" {
			t.Errorf("under its name, %s (-want +got):\n%s", form, diff)
		}
	}
	for form, body := range inForms(`"results":2,"api_keys":[{"api_key":"the-...",` + keyMembers + `},{"id":7,"admin":true,"expires":"2027-01-01 00:00:00 UTC"}]`) {
		keys, err := answered(t, body).Keys.List(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		want := []*oauth.Key{wantKey(t, api.Secret{}), {ID: "7", Admin: true, Expires: at(t, "2027-01-01 00:00:00 UTC")}}
		if diff := cmp.Diff(want, keys); diff != "" || !keys[0].Secret.IsZero() {
			t.Errorf("listed, %s (-want +got):\n%s", form, diff)
		}
	}
	for _, payload := range []string{`"results":0,"api_keys":null`, `"results":"0","api_keys":[]`, `"api_keys":[null]`} {
		for form, body := range inForms(payload) {
			if keys, err := answered(t, body).Keys.List(t.Context()); err != nil || len(keys) != 0 {
				t.Errorf("%s, %s: %v, %v", payload, form, keys, err)
			}
		}
	}
}

// An answer without what it should hold is no success.
func TestAnswersWithoutTheirRecord(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"result":true}`, `{"result":"yes","response":{}}`, `{"result":true,"session":null,"api_key":null,"auth_token":null,"id":null,"client_id":null}`} {
		s := answered(t, body)
		for want, err := range map[string]error{
			"oauth.Sessions.Get: the answer holds no session":         fail(s.Sessions.Get(t.Context(), "s1")),
			"oauth.Sessions.Update: the answer holds no session":      fail(s.Sessions.Update(t.Context(), "s1", oauth.UpdateSessionRequest{DeviceName: api.Set("")})),
			"oauth.Keys.Create: the answer holds no key":              fail(s.Keys.Create(t.Context(), oauth.KeyRequest{})),
			"oauth.Keys.Get: the answer holds no key":                 fail(s.Keys.Get(t.Context(), "k_77")),
			"oauth.SignIn: the answer holds no token":                 fail(s.SignIn(t.Context(), "ada@example.test", api.NewSecret("pw"))),
			"oauth.TwoFactor.Complete: the answer holds no token":     fail(s.TwoFactor.Complete(t.Context(), api.NewSecret("limited"), api.NewSecret("123456"))),
			"oauth.CheckToken: the answer holds no id":                fail(s.CheckToken(t.Context())),
			"oauth.Register: the answer holds no client id":           fail(s.Register(t.Context(), oauth.RegisterRequest{RedirectURIs: []string{loopback}})),
			"oauth.StartAuthorization: the answer holds no login URL": fail(s.StartAuthorization(t.Context(), authorization())),
		} {
			if err == nil || err.Error() != "fastio: "+want {
				t.Errorf("%s: %v, want %s", body, err, want)
			}
		}
	}
}

func TestSignInAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		payload string
		want    oauth.Token
		life    time.Duration
	}{
		"a full token":    {`"auth_token":"jwt","expires_in":2592000,"2factor":false`, oauth.Token{AccessToken: api.NewSecret("jwt"), TokenType: "Bearer"}, 30 * 24 * time.Hour},
		"a limited token": {`"auth_token":"jwt","expires_in":600,"2factor":true`, oauth.Token{AccessToken: api.NewSecret("jwt"), TokenType: "Bearer", TwoFactor: true}, 10 * time.Minute},
		"words":           {`"auth_token":"jwt","expires_in":"600","2factor":"yes"`, oauth.Token{AccessToken: api.NewSecret("jwt"), TokenType: "Bearer", TwoFactor: true}, 10 * time.Minute},
		"little":          {`"auth_token":"jwt"`, oauth.Token{AccessToken: api.NewSecret("jwt"), TokenType: "Bearer"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for form, body := range inForms(tc.payload) {
				synctest.Test(t, func(t *testing.T) {
					want := tc.want
					if tc.life > 0 {
						want.Expiry = time.Now().Add(tc.life).Round(0)
					}
					s := answered(t, body)
					got, err := s.SignIn(t.Context(), "ada@example.test", api.NewSecret("pw"))
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(&want, got); diff != "" || got.AccessToken.Reveal() != "jwt" {
						t.Errorf("signed in, %s (-want +got):\n%s", form, diff)
					}
					got, err = s.TwoFactor.Complete(t.Context(), api.NewSecret("limited"), api.NewSecret("123456"))
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(&want, got); diff != "" {
						t.Errorf("completed, %s (-want +got):\n%s", form, diff)
					}
				})
			}
		})
	}
}

func TestSmallAnswers(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"4012345678901234567"`, `4012345678901234567`} {
		for form, body := range inForms(`"id":` + id) {
			if got, err := answered(t, body).CheckToken(t.Context()); err != nil || got != "4012345678901234567" {
				t.Errorf("%s %s is %s, %v", id, form, got, err)
			}
		}
	}
	for form, body := range inForms(`"state":"enabled","totp":"yes","phone":"+44"`) {
		got, err := answered(t, body).TwoFactor.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := &oauth.TwoFactorStatus{State: oauth.TwoFactorStateEnabled, TOTP: true, Extra: map[string]json.RawMessage{"phone": raw(`"+44"`)}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
	for payload, want := range map[string]string{`"binding_uri":"otpauth://totp/a?secret=b"`: "otpauth://totp/a?secret=b", `"binding_uri":null`: "", `"sent":true`: ""} {
		for form, body := range inForms(payload) {
			if got, err := answered(t, body).TwoFactor.Enable(t.Context(), oauth.ChannelTOTP); err != nil || got.BindingURI.Reveal() != want {
				t.Errorf("%s %s is %+v, %v", payload, form, got, err)
			}
		}
	}
	for form, body := range inForms(`"client_id":"c1","client_name":"Acme","redirect_uris":["http://127.0.0.1/"],"registration_access_token":"rat","registration_client_uri":"https://acme.test/r","token_endpoint_auth_method":"none","grant_types":["authorization_code"],"response_types":["code"]`) {
		got, err := answered(t, body).Register(t.Context(), oauth.RegisterRequest{RedirectURIs: []string{loopback}})
		if err != nil {
			t.Fatal(err)
		}
		want := &oauth.Registration{
			ClientID: "c1", ClientName: "Acme", RedirectURIs: []string{"http://127.0.0.1/"}, AuthMethod: "none",
			GrantTypes: []string{"authorization_code"}, ResponseTypes: []string{"code"}, AccessToken: api.NewSecret("rat"), RegistrationURI: "https://acme.test/r",
		}
		if diff := cmp.Diff(want, got); diff != "" || got.AccessToken.Reveal() != "rat" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
}

// Whoever may not update himself is told why.
func TestUpdateRegistrationRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		code   string
		local  bool
	}{
		"not on this machine":    {400, `{"error":"invalid_request","error_description":"The client is not a localhost client."}`, oauth.CodeInvalidRequest, true},
		"without its token":      {401, `{"error":"invalid_request"}`, oauth.CodeInvalidRequest, false},
		"unknown":                {404, `{"error":"invalid_client"}`, oauth.CodeInvalidClient, false},
		"of a reserved name":     {400, `{"error":"invalid_client_metadata"}`, oauth.CodeInvalidClientMetadata, false},
		"by a server in tatters": {500, `{"error":"server_error"}`, oauth.CodeServerError, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := over(t, &answering{status: tc.status, body: tc.body}, fastio.WithRetry(fastio.Retry{Attempts: 1}))
			got, err := s.UpdateRegistration(t.Context(), api.NewSecret("rat"), oauth.UpdateRegistrationRequest{ClientID: clientID, ClientName: "a"})
			e, refused := errors.AsType[*oauth.Error](err)
			if got != nil || !refused || e.Status != tc.status || e.Code != tc.code {
				t.Fatalf("got %v, %v", got, err)
			}
			if _, ok := errors.AsType[*api.Error](err); !ok {
				t.Errorf("the answer is lost: %v", err)
			}
			if told := strings.HasSuffix(err.Error(), "only programs whose redirect URIs are all local may update themselves"); told != tc.local {
				t.Errorf("ends with %v", err)
			}
		})
	}
}

// Refusals of a credential that may only read say so in a word.
func TestReadOnlyCredentials(t *testing.T) {
	t.Parallel()
	s := over(t, &answering{status: 403, body: `{"result":false,"error":{"code":10770,"text":"Read-only.","params":{"reason":"scope_write_required","credential_type":"oauth"}}}`})
	for what, err := range map[string]error{
		"SignOut":            s.SignOut(t.Context()),
		"InvalidateAll":      s.InvalidateAll(t.Context()),
		"Sessions.Update":    fail(s.Sessions.Update(t.Context(), "s", oauth.UpdateSessionRequest{DeviceName: api.Set("a")})),
		"Sessions.Revoke":    s.Sessions.Revoke(t.Context(), "s"),
		"Sessions.RevokeAll": s.Sessions.RevokeAll(t.Context(), nil),
		"Keys.Create":        fail(s.Keys.Create(t.Context(), oauth.KeyRequest{})),
		"Keys.Update":        s.Keys.Update(t.Context(), "k", oauth.UpdateKeyRequest{Memo: api.Set("a")}),
		"Keys.Delete":        s.Keys.Delete(t.Context(), "k", nil),
	} {
		e, refused := errors.AsType[*api.Error](err)
		if !refused || !errors.Is(err, api.ErrForbidden) || e.Reason != oauth.ReasonScopeWrite {
			t.Errorf("%s ends with %v", what, err)
		}
	}
}

// Nobody can tell which scopes an overtaken update would have replaced.
func TestOvertakenUpdates(t *testing.T) {
	t.Parallel()
	network := &answering{status: 409, body: `{"result":false,"error":{"code":1660,"text":"Changed."}}`}
	s := over(t, network)
	for what, err := range map[string]error{
		"a session": fail(s.Sessions.Update(t.Context(), "s", oauth.UpdateSessionRequest{Scopes: orgWrite})),
		"a key":     s.Keys.Update(t.Context(), "k", oauth.UpdateKeyRequest{Scopes: orgWrite}),
	} {
		if !errors.Is(err, api.ErrConflict) {
			t.Errorf("%s ends with %v", what, err)
		}
	}
	if len(network.requests) != 2 {
		t.Errorf("%d requests were sent", len(network.requests))
	}
}

// A sign-in is sent once, whatever comes back: each one counts towards the lock.
func TestSignInIsNeverRepeated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answering

		want error
		wait time.Duration
	}{
		"a wrong password": {answering{status: 401, body: `{"result":false,"error":{"code":10008,"text":"No.","params":{"attempts_remaining":4}}}`}, api.ErrForbidden, 0},
		"a locked account": {answering{status: 429, body: `{"result":false,"error":{"code":10760,"text":"Locked.","params":{"retry_after_seconds":"1790"}}}`}, api.ErrRateLimited, 1790 * time.Second},
		"a short lock":     {answering{status: 429, body: `{"result":false,"error":{"code":10760,"text":"Locked.","params":{"retry_after_seconds":1}}}`}, api.ErrRateLimited, time.Second},
		"many calls":       {answering{status: 429, body: `{"result":false,"error":{"code":10368,"text":"Slow.","params":{"retry_after_seconds":1}}}`}, api.ErrRateLimited, time.Second},
		"a dead gateway":   {answering{status: 503, body: ``}, api.ErrUnavailable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := over(t, &tc.answering).SignIn(t.Context(), "ada@example.test", api.NewSecret("canary-password"), api.Attempts(9))
				e, refused := errors.AsType[*api.Error](err)
				if !refused || !errors.Is(err, tc.want) || e.Rate.RetryAfter != tc.wait || len(tc.requests) != 1 || time.Since(start) > 0 {
					t.Errorf("ends with %v after %d requests and %s", err, len(tc.requests), time.Since(start))
				}
			})
		})
	}
}

// A locked account does not keep the next person out.
func TestALockIsOneAccounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &answering{status: 429, body: `{"result":false,"error":{"code":10760,"text":"Locked.","params":{"retry_after_seconds":1790}}}`}
		s := over(t, network)
		if _, err := s.SignIn(t.Context(), "ada@example.test", api.NewSecret("pw")); !errors.Is(err, api.ErrRateLimited) {
			t.Fatal(err)
		}
		network.status, network.body = 200, `{"result":true,"auth_token":"jwt"}`
		start := time.Now()
		if _, err := s.SignIn(t.Context(), "ben@example.test", api.NewSecret("pw")); err != nil || time.Since(start) > 0 {
			t.Errorf("ends with %v after %s", err, time.Since(start))
		}
	})
}

// A refusal counts, whatever the status beside it.
func TestRevokeIsRefusedWithSuccess(t *testing.T) {
	t.Parallel()
	s := over(t, &answering{body: `{"error":"server_error","error_description":"rt-that-nobody-may-read is stuck"}`})
	err := s.Revoke(t.Context(), api.NewSecret("rt-that-nobody-may-read"))
	refusal, ok := errors.AsType[*oauth.Error](err)
	if !ok || refusal.Code != oauth.CodeServerError || strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v", err)
	}
}

// Nobody but the endpoint that asks for it gets a credential.
func TestCredentialsGoWhereTheyBelong(t *testing.T) {
	t.Parallel()
	network := &answering{body: `{"result":true,"access_token":"a","auth_token":"a","client_id":"c","auth_request_id":"r","login_url":"https://go.fast.io/","id":"1"}`}
	s := over(t, network)
	for i, tc := range []struct {
		err  error
		want []string
	}{
		{fail(s.ServerMetadata(t.Context())), nil},
		{fail(s.Register(t.Context(), oauth.RegisterRequest{RedirectURIs: []string{loopback}})), nil},
		{fail(s.StartAuthorization(t.Context(), authorization())), nil},
		{fail(s.AuthorizationInfo(t.Context(), "r")), nil},
		{fail(s.Refresh(t.Context(), oauth.RefreshRequest{ClientID: clientID, RefreshToken: api.NewSecret("rt")})), nil},
		{s.Revoke(t.Context(), api.NewSecret("rt")), nil},
		{fail(s.UpdateRegistration(t.Context(), api.NewSecret("rat"), oauth.UpdateRegistrationRequest{ClientID: clientID, ClientName: "a"})), []string{"Bearer rat"}},
		{fail(s.SignIn(t.Context(), "a", api.NewSecret("b"))), []string{"Basic YTpi"}},
		{fail(s.TwoFactor.Complete(t.Context(), api.NewSecret("limited"), api.NewSecret("123456"))), []string{"Bearer limited"}},
		{s.TwoFactor.Send(t.Context(), api.NewSecret("limited"), oauth.ChannelSMS), []string{"Bearer limited"}},
		{s.TwoFactor.Send(t.Context(), api.Secret{}, oauth.ChannelSMS), []string{"Bearer own-token"}},
		{fail(s.TokenScopes(t.Context())), []string{"Bearer own-token"}},
	} {
		if tc.err != nil {
			t.Errorf("%d: %v", i, tc.err)
		}
		if diff := cmp.Diff(tc.want, network.requests[i].Header["Authorization"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fmt.Sprint(network.requests[i].Method, " ", network.requests[i].URL.Path), diff)
		}
	}
}
