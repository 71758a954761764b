package fastiotest_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/internal/table"
)

// The vector of RFC 7636, appendix B.
const (
	codeVerifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	codeChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	redirectURI   = "http://127.0.0.1:4711/callback"
)

// fields sends a request and returns the members of the answer.
func fields(t *testing.T, s *fastiotest.Server, method, path string, values url.Values) map[string]any {
	t.Helper()
	body := values.Encode()
	if method == http.MethodGet {
		path, body = path+"?"+body, ""
	}
	text := send(t, s, method, origin+path, formType, body)
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer
}

// ask starts a login for everything and returns where its user decides.
func ask(t *testing.T, s *fastiotest.Server, clientID string, more ...string) string {
	t.Helper()
	query := url.Values{
		"client_id": {clientID}, "redirect_uri": {redirectURI}, "state": {"st4te"}, "code_challenge": {codeChallenge},
		"code_challenge_method": {"S256"}, "access_mode": {"rwa"}, "account_settings": {"1"},
		"response_format": {"json"},
	}
	for i := 0; i < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	login, _ := fields(t, s, http.MethodGet, "oauth/authorize/", query)["login_url"].(string)
	if login == "" {
		t.Fatal("no login URL")
	}
	return login
}

func exchange(t *testing.T, s *fastiotest.Server, clientID, code string) map[string]any {
	t.Helper()
	return fields(t, s, http.MethodPost, "oauth/token/", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {clientID}, "redirect_uri": {redirectURI}, "code": {code},
		"code_verifier": {codeVerifier},
	})
}

func parameterOf(t *testing.T, target, name string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

func TestApprove(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	app := s.AddOAuthClient(fastiotest.OAuthClient{Name: "App", RedirectURIs: []string{"http://127.0.0.1/callback"}})
	guest := s.AddUser(fastiotest.User{FirstName: "Guest"})
	org := "org:" + string(s.Org().ID) + ":r"
	type row struct {
		decision fastiotest.Decision
		user     fastiotest.User
		scopes   string
	}
	table.Each(t, map[string]row{
		"all that was asked for": {fastiotest.Decision{}, s.User(), `["user:*:rwa"]`},
		"account settings too": {
			fastiotest.Decision{AccountSettings: true},
			s.User(),
			`["user:*:rwa","userdetails:*:rw"]`,
		},
		"less":             {fastiotest.Decision{Mode: "r"}, s.User(), `["user:*:r"]`},
		"one organization": {fastiotest.Decision{Scopes: []string{org}}, s.User(), `["` + org + `"]`},
		"for another user": {fastiotest.Decision{User: guest.ID}, guest, `["user:*:rwa"]`},
	}, func(t *testing.T, test row) {
		outcome, err := s.Approve(ask(t, s, app.ID), test.decision)
		if err != nil {
			t.Fatal(err)
		}
		if parameterOf(t, outcome.Redirect, "state") != "st4te" ||
			!strings.HasPrefix(outcome.Redirect, redirectURI+"?") {
			t.Errorf("leads to %s", outcome.Redirect)
		}
		granted := exchange(t, s, app.ID, parameterOf(t, outcome.Redirect, "code"))
		if granted["scopes"] != test.scopes {
			t.Errorf("granted %v", granted)
		}
		me, err := s.Client(t, fastioToken(granted["access_token"].(string))).Account.Me(t.Context())
		if err != nil || me.ID != test.user.ID {
			t.Errorf("signed in as %v, %v", me, err)
		}
	})
}

func TestApproveWhereTheCodeIsShown(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	app := s.AddOAuthClient(fastiotest.OAuthClient{RedirectURIs: []string{redirectURI}})
	outcome, err := s.Approve(ask(t, s, app.ID, "display_code", "true"), fastiotest.Decision{})
	if err != nil || outcome.Redirect != "" {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if granted := exchange(t, s, app.ID, outcome.Code); granted["access_token"] == nil {
		t.Errorf("%v", granted)
	}
}

func TestDeny(t *testing.T) {
	t.Parallel()
	s := fastiotest.New(func(o *fastiotest.Options) { o.OAuth.DenialWithoutState = true })
	app := s.AddOAuthClient(fastiotest.OAuthClient{RedirectURIs: []string{redirectURI}})
	login := ask(t, s, app.ID)
	outcome, err := s.Deny(login)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fastiotest.Outcome{Redirect: redirectURI + "?error=access_denied"}, outcome); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := s.Approve(login, fastiotest.Decision{}); err == nil {
		t.Error("what was denied can be approved")
	}
}
