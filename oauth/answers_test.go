package oauth_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	bodyOf(r)
	a.requests = append(a.requests, r)
	return response(r, max(a.status, http.StatusOK), a.body), nil
}

// response is an answer in JSON, or a redirect.
func response(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {"application/json"}, "Location": {"https://elsewhere.test/"}},
		Body:       io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// bodyOf reads the body of a request.
func bodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// rewriting changes the bodies of what comes from a network.
func rewriting(next http.RoundTripper, change func(body string) string) http.RoundTripper {
	return transportFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(change(string(body)))), -1
		resp.Header.Del("Content-Length")
		return resp, err
	})
}

// served is the answer of a handler.
func served(h http.Handler, r *http.Request) *http.Response {
	r = r.Clone(r.Context())
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp
}

// over returns a client whose user is signed in.
func over(t *testing.T, network http.RoundTripper, opts ...fastio.Option) *oauth.Service {
	t.Helper()
	c, err := fastio.New(append(
		opts, fastio.WithHTTPClient(&http.Client{Transport: network}), fastio.WithToken("own-token"),
	)...)
	if err != nil {
		t.Fatal(err)
	}
	return c.OAuth
}

func answered(t *testing.T, body string) *oauth.Service {
	t.Helper()
	return over(t, &answering{body: body})
}

func refreshed(t *testing.T, body string) (*oauth.Token, error) {
	t.Helper()
	return answered(t, body).Refresh(t.Context(), oauth.RefreshRequest{
		ClientID: clientID, RefreshToken: api.NewSecret("old"),
	})
}

var orgWrite = []oauth.GrantedScope{
	{EntityType: oauth.EntityTypeOrg, EntityID: "4012345678901234567", AccessMode: oauth.AccessModeWrite},
}

// An unknown form is neither an error nor full access, which nil is.
func TestGrantedScopesInEveryForm(t *testing.T) {
	t.Parallel()
	for member, want := range map[string][]oauth.GrantedScope{
		`"scopes":"[\"org:4012345678901234567:rw\"]"`:     orgWrite,
		`"scopes":["org:4012345678901234567:rw"]`:         orgWrite,
		`"scopes":" [ \"org:4012345678901234567:rw\" ] "`: orgWrite,
		`"scopes":[]`:                          {},
		`"scopes":"[]"`:                        {},
		`"scopes":null`:                        nil,
		`"scopes":" "`:                         nil,
		`"x_unknown":1`:                        nil,
		`"scopes":"null"`:                      nil,
		`"scopes":["user:*:rwa","planet:7:x"]`: {{"user", "*", "rwa"}, {"planet", "7", "x"}},
		`"scopes":"org:4012345678901234567:rw esign"`:   {orgWrite[0], {EntityType: "esign"}},
		`"scopes":["esign","org:1","",7,{"b":1,"b":2}]`: unknownScopes("esign", "org:1", "", "7", `{"b":1,"b":2}`),
		`"scopes":{"org":"1"}`:                          unknownScopes(`{"org":"1"}`),
		`"scopes":true`:                                 unknownScopes("true"),
		`"scopes":"7"`:                                  unknownScopes("7"),
	} {
		token, err := refreshed(t, `{"access_token":"at",`+member+`}`)
		if err != nil {
			t.Errorf("%s: %v", member, err)
		} else if diff := cmp.Diff(want, token.Scopes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	for _, s := range []string{"esign", "org:1", "org:1:r:x", "", ":", `{"a":1}`} {
		var g oauth.GrantedScope
		if err := g.UnmarshalText([]byte(s)); err != nil || g.String() != s {
			t.Errorf("%q is read as %#v, %v", s, g, err)
		}
	}
}

func unknownScopes(texts ...oauth.EntityType) (all []oauth.GrantedScope) {
	for _, text := range texts {
		all = append(all, oauth.GrantedScope{EntityType: text})
	}
	return all
}

func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	old := oauth.Token{
		AccessToken: api.NewSecret("at"), TokenType: "Bearer", RefreshToken: api.NewSecret("old"), Scopes: orgWrite,
	}
	full, list, object := old, old, old
	full.RefreshToken, full.Scope = api.NewSecret("new"), "org"
	list.Scope, object.Scope = "org all_shares", `{"a":1}`
	for members, tc := range map[string]struct {
		want oauth.Token
		life time.Duration
	}{
		`"token_type":"bearer","expires_in":3600,"refresh_token":"new","scope":"org"`: {full, time.Hour},
		`"token_type":null,"expires_in":null,"refresh_token":null,"scope":null`:       {old, 0},
		`"scope":["org","all_shares"]`:                                                {list, 0},
		`"scope":{"a":1}`:                                                             {object, 0},
		`"expires_in":"60"`:                                                           {old, time.Minute},
		`"expires_in":60.5`:                                                           {old, time.Minute},
		`"expires_in":" 60.5 "`:                                                       {old, time.Minute},
		`"expires_in":3.6e3`:                                                          {old, time.Hour},
		`"expires_in":9223372036854775807`:                                            {old, 0},
		`"expires_in":-1`:                                                             {old, 0},
		`"expires_in":1e20`:                                                           {old, 0},
		`"expires_in":true`:                                                           {old, 0},
		`"expires_in":{}`:                                                             {old, 0},
		`"expires_in":"NaN"`:                                                          {old, 0},
	} {
		members = `"access_token":"at","scopes":["org:4012345678901234567:rw"],` + members
		for _, body := range []string{
			`{` + members + `}`, `{"result":true,` + members + `}`, `{"result":"yes","response":{` + members + `}}`,
		} {
			synctest.Test(t, func(t *testing.T) {
				want := tc.want
				if tc.life > 0 {
					want.Expiry = time.Now().Add(tc.life).Round(0)
				}
				got, err := refreshed(t, body)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", body, diff)
				}
			})
		}
	}
}

func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	const uri = "https://acme.test/e"
	for body, tc := range map[string]struct {
		status int
		want   string
		kind   error
	}{
		`{"error":"invalid_grant","error_description":"Used.","error_uri":"` + uri + `"}`: {
			400, "invalid_grant: Used. (status 400)", api.ErrInvalid,
		},
		`{"error":"invalid_client"}`: {401, "invalid_client (status 401)", api.ErrUnauthenticated},
		`<html>`:                     {502, "Bad Gateway (status 502)", api.ErrUnavailable},
		`{"result":true}`:            {200, "server_error: the answer holds no access token (status 200)", nil},
		`{"access_token":"at\r\nX-Header: 1"}`: {
			200, "server_error: the access token holds a character that no header can carry (status 200)", nil,
		},
		`{"access_token":"at","token_type":"DPoP"}`: {
			200, "server_error: the token is of another type than Bearer (status 200)", nil,
		},
	} {
		network := &answering{status: tc.status, body: body}
		token, err := over(t, network).Refresh(t.Context(), oauth.RefreshRequest{
			ClientID: clientID, RefreshToken: api.NewSecret("rt"),
		})
		if token != nil || len(network.requests) != 1 || err == nil || err.Error() != "fastio: oauth.Refresh: "+tc.want ||
			tc.kind != nil && !errors.Is(err, tc.kind) {
			t.Errorf("%s: got %+v, %v after %d requests, want %s", body, token, err, len(network.requests), tc.want)
		}
		e, refusal := errors.AsType[*oauth.Error](err)
		if refusal != (tc.status != 502) || refusal && (e.URI == uri) != strings.Contains(body, uri) {
			t.Errorf("%s: got %#v", body, e)
		}
	}
}

// RFC 7009, section 2.2: any body of a status of success is a success. One that is
// an error counts as an error all the same.
func TestRevokeSucceedsWithAnyBody(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "OK", "<html>", "true", "[]", "{}", `{"result":true}`, `{"result":`} {
		if err := answered(t, body).Revoke(t.Context(), api.NewSecret("rt")); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		var raw api.Response
		err := answered(t, body).Revoke(t.Context(), api.NewSecret("rt"), api.WithResponse(&raw))
		if err != nil || string(raw.Body) != body {
			t.Errorf("%q, wanted as raw: %q, %v", body, raw.Body, err)
		}
	}
	for _, body := range []string{
		`{"result":false,"error":{"code":10022}}`, `{"error":"server_error","error_description":"canary-rt is stuck"}`,
	} {
		err := answered(t, body).Revoke(t.Context(), api.NewSecret("canary-rt"))
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestCompletedAuthorizations(t *testing.T) {
	t.Parallel()
	for payload, tc := range map[string]struct {
		deny bool
		want *oauth.CompletedAuthorization
	}{
		`"redirect_uri":"http://127.0.0.1/?code=c"`: {
			false, &oauth.CompletedAuthorization{RedirectURI: api.NewSecret("http://127.0.0.1/?code=c")},
		},
		`"code":123456`:       {false, &oauth.CompletedAuthorization{Code: api.NewSecret("123456")}},
		`"redirect_uri":null`: {false, nil},
		`"code":null`:         {true, &oauth.CompletedAuthorization{}}, // a denial that the page shows
	} {
		got, err := answered(t, `{"result":true,`+payload+`}`).CompleteAuthorization(
			t.Context(), oauth.CompleteAuthorizationRequest{ID: "r1", Deny: tc.deny},
		)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.want != nil) {
			t.Errorf("%s: error %v (-want +got):\n%s", payload, err, diff)
		}
	}
}

func TestOnlyTrueIsAdmin(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`true`, `"true"`, `"yes"`, `1`, `{"admin":true}`, `[true]`, `false`, `null`} {
		got, err := answered(t, `{"admin":`+value+`,"is_agent":1}`).TokenScopes(t.Context())
		if err != nil || got.Admin != (value == "true") || !got.Agent {
			t.Errorf("%s is %+v, %v", value, got, err)
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

// Only the answer to Create holds the secret of a key. What later answers show in
// its place is none.
func TestKeySecretIsReturnedOnce(t *testing.T) {
	t.Parallel()
	s := answered(t, `{"id":"k_77","api_key":"the-key","api_keys":[{"id":"k_77","api_key":"the-..."},null]}`)
	if made, err := s.Keys.Create(t.Context(), oauth.KeyRequest{}); err != nil || made.Secret.Reveal() != "the-key" {
		t.Errorf("created: %+v, %v", made, err)
	}
	if found, err := s.Keys.Get(t.Context(), "k_77"); err != nil || !found.Secret.IsZero() || found.ID != "k_77" {
		t.Errorf("read: %+v, %v", found, err)
	}
	if keys, err := s.Keys.List(t.Context()); err != nil || len(keys) != 1 || !keys[0].Secret.IsZero() {
		t.Errorf("listed: %+v, %v", keys, err)
	}
}

// An answer without what it should hold is no success.
func TestAnswersWithoutTheirRecord(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"result":true}`,
		`{"result":true,"session":null,"results":3,"api_key":null,"auth_token":null,"id":null,"client_id":null}`,
	} {
		s := answered(t, body)
		device := oauth.UpdateSessionRequest{DeviceName: api.Set("")}
		limited, code := api.NewSecret("limited"), api.NewSecret("123456")
		register := oauth.RegisterRequest{RedirectURIs: []string{loopback}}
		for want, err := range map[string]error{
			"oauth.Sessions.List: the answer holds no sessions":       fail(s.Sessions.List(t.Context())),
			"oauth.Sessions.Get: the answer holds no session":         fail(s.Sessions.Get(t.Context(), "s1")),
			"oauth.Sessions.Update: the answer holds no session":      fail(s.Sessions.Update(t.Context(), "s1", device)),
			"oauth.Keys.Create: the answer holds no key":              fail(s.Keys.Create(t.Context(), oauth.KeyRequest{})),
			"oauth.Keys.Get: the answer holds no key":                 fail(s.Keys.Get(t.Context(), "k_77")),
			"oauth.SignIn: the answer holds no token":                 fail(s.SignIn(t.Context(), "ada@x.test", code)),
			"oauth.TwoFactor.Complete: the answer holds no token":     fail(s.TwoFactor.Complete(t.Context(), limited, code)),
			"oauth.CheckToken: the answer holds no id":                fail(s.CheckToken(t.Context())),
			"oauth.Register: the answer holds no client id":           fail(s.Register(t.Context(), register)),
			"oauth.StartAuthorization: the answer holds no login URL": fail(s.StartAuthorization(t.Context(), authorization())),
		} {
			if err == nil || err.Error() != "fastio: "+want {
				t.Errorf("%s: %v, want %s", body, err, want)
			}
		}
	}
	for body, want := range map[string]string{
		`{"result":false,"error":{"code":1,"text":"No."}}`: "No.", `{"result":true,"sessions":["s1"]}`: "",
	} {
		_, err := answered(t, body).Sessions.List(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{`{"result":true,"sessions":null}`, `[]`, `{"result":"yes","response":[]}`} {
		if got, err := answered(t, body).Sessions.List(t.Context()); err != nil || got == nil || len(got) > 0 {
			t.Errorf("%s is %v, %v", body, got, err)
		}
	}
}

func TestUpdateRegistrationIsForLocalPrograms(t *testing.T) {
	t.Parallel()
	const local = "only programs whose redirect URIs are all local may update themselves"
	for status, hint := range map[int]bool{http.StatusBadRequest: true, http.StatusUnauthorized: false} {
		s := over(t, &answering{status: status, body: `{"error":"invalid_request"}`})
		_, err := s.UpdateRegistration(t.Context(), api.NewSecret("rat"), oauth.UpdateRegistrationRequest{
			ClientID: clientID, ClientName: "a",
		})
		if codeOf(err) != oauth.CodeInvalidRequest || strings.HasSuffix(err.Error(), local) != hint {
			t.Errorf("status %d: %v", status, err)
		}
		if _, ok := errors.AsType[*api.Error](err); !ok {
			t.Errorf("status %d: the answer is lost: %v", status, err)
		}
	}
}

const (
	lockedAccount = `{"result":false,"error":{"code":10760,"text":"No.","params":{"retry_after_seconds":"1790"}}}`
	shortLock     = `{"result":false,"error":{"code":10760,"text":"No.","params":{"retry_after_seconds":1}}}`
	tooManyCalls  = `{"result":false,"error":{"code":10368,"text":"No.","params":{"retry_after_seconds":1}}}`
)

// A sign-in is sent once, whatever comes back: each one counts towards the lock.
func TestSignInIsNotRetried(t *testing.T) {
	t.Parallel()
	for body, tc := range map[string]struct {
		status int
		want   error
		wait   time.Duration
	}{
		`{"result":false,"error":{"code":10008,"text":"No."}}`: {401, api.ErrForbidden, 0},
		lockedAccount: {429, api.ErrRateLimited, 1790 * time.Second},
		shortLock:     {429, api.ErrRateLimited, time.Second},
		tooManyCalls:  {429, api.ErrRateLimited, time.Second},
		"":            {503, api.ErrUnavailable, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := &answering{status: tc.status, body: body}
			start := time.Now()
			_, err := over(t, network).SignIn(t.Context(), "ada@example.test", api.NewSecret("pw"), api.Attempts(9))
			e, refused := errors.AsType[*api.Error](err)
			n, took := len(network.requests), time.Since(start)
			if !refused || !errors.Is(err, tc.want) || e.Rate.RetryAfter != tc.wait || n != 1 || took > 0 {
				t.Errorf("%s: got %v after %d requests and %s", body, err, n, took)
			}
		})
	}
}

func TestLockOfOneAccountDoesNotDelayAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &answering{status: 429, body: lockedAccount}
		s := over(t, network)
		if _, err := s.SignIn(t.Context(), "ada@example.test", api.NewSecret("pw")); !errors.Is(err, api.ErrRateLimited) {
			t.Fatal(err)
		}
		network.status, network.body = 200, `{"result":true,"auth_token":"jwt","expires_in":"600"}`
		start := time.Now()
		token, err := s.SignIn(t.Context(), "ben@example.test", api.NewSecret("pw"))
		if err != nil || time.Since(start) > 0 || time.Until(token.Expiry) != 10*time.Minute {
			t.Errorf("got %+v, %v after %s", token, err, time.Since(start))
		}
	})
}
