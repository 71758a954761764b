package fastio_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/oauth"
)

// The labels of the platform that stand for a status, and what a program matches.
// Labels with a status in common cannot be told apart by it.
func TestLabels(t *testing.T) {
	t.Parallel()
	kinds := map[string]error{
		"invalid": api.ErrInvalid, "unauthenticated": api.ErrUnauthenticated, "forbidden": api.ErrForbidden,
		"payment": api.ErrPaymentRequired, "not found": api.ErrNotFound, "unsupported": api.ErrUnsupported,
		"conflict": api.ErrConflict, "limit": api.ErrLimit, "locked": api.ErrLocked, "rate": api.ErrRateLimited,
		"unavailable": api.ErrUnavailable, "server": api.ErrServer,
	}
	for _, row := range []struct {
		labels string
		status int
		code   int64
		want   string // of kinds
	}{
		{"Invalid Input, Duplicate Entry, Limit Exceeded", 400, 0, "invalid"},
		{"Invalid Input, Not Acceptable", 406, 0, "invalid"},
		{"Authentication Invalid", 401, 10011, "unauthenticated"},
		{"Access Denied where it is 401", 401, 10545, "forbidden"},
		{"Subscription Required, Upgrade Required, Credit Limit Exceeded", 402, 0, "payment"},
		{"Access Denied, Restricted, Forbidden", 403, 0, "forbidden"},
		{"Not Found, Resource Not Found, User Not Found", 404, 0, "not found"},
		{"Not Found, of an endpoint", 404, 9992, "not found, unsupported"},
		{"Invalid Request Type", 405, 0, "unsupported"},
		{"Conflict, Already Exists", 409, 0, "conflict"},
		{"Feature Limit", 412, 0, "limit"},
		{"field limit of a workspace", 413, 0, "limit"},
		{"corrupt source", 422, 0, "invalid"},
		{"Locked", 423, 0, "locked"},
		{"Rate Limited, Max Limit", 429, 0, "rate"},
		{"Bandwidth Limit", 450, 0, "limit"},
		{"Internal Error, Datastore Error", 500, 0, "server"},
		{"Not Implemented", 501, 0, "unsupported"},
		{"Temporarily Unavailable", 503, 0, "unavailable"},
	} {
		t.Run(row.labels, func(t *testing.T) {
			t.Parallel()
			w := newRefusing(t)
			broken("account.Me", row.status, row.code)(w)
			err := w.ask("ada GET /current/user/me/details/")
			for name, kind := range kinds {
				if want := strings.Contains(", "+row.want+",", ", "+name+","); errors.Is(err, kind) != want {
					t.Errorf("%v is %s: %v, want %v", err, name, !want, want)
				}
			}
		})
	}
}

func conventionRefusals() []refusal {
	const me, orgs = " GET /current/user/me/details/", " GET /current/orgs/list/"
	older := under(func(o *fastiotest.Options) { o.LevelsStatus = http.StatusBadRequest })
	return []refusal{
		{"account.Me", "no token", "nobody" + me, "401 code 10011", nil},
		{"account.Me", "dead token", "ghost" + me, "401 code 10011", nil},
		{"account.Me", "no bearer", "Digest x; ada" + me, "401 code 10001", nil},
		{"account.Orgs.List", "two detail levels by the platform's reference", "ada" + orgs + "?output=terse,full", "400 code 10022 output:invalid", older},
		{"events.Search", "two detail levels", "ada GET /current/events/search/?output=terse,full&org_id=" + coverOrg, "406 code 10022 output:invalid", nil},
		{"shares.Get", "two detail levels", "ada GET /current/share/" + coverShare + "/details/?output=terse,full", "406 code 10022 output:invalid", nil},
		{"account.Orgs.List", "constraint failed", "ada" + orgs + "?limit=501", "406 code 10022 limit:invalid", nil},
		{"account.Orgs.List", "value that cannot be decoded", "ada" + orgs + "?limit=many", "406 code 10023 limit:type_mismatch", nil},
		{"account.Orgs.List", "several parameters at once", "ada" + orgs + "?limit=0&offset=-1", "406 code 10022 limit:invalid offset:invalid", nil},
		{"account.Orgs.List", "rate limited", "ada" + orgs, "429 code 10368", spent("account.Orgs.List", orgs)},
		{"oauth.ServerMetadata", "wrong method", "nobody POST /.well-known/oauth-authorization-server/", "405 code 10003", nil},
		{"oauth.ProtectedResource", "wrong method", "nobody POST /.well-known/oauth-protected-resource/", "405 code 10003", nil},
		{"system.Introspect", "endpoint that does not describe itself", "nobody OPTIONS /current/oauth/token/", "405 code 10003", nil},
		{"system.Introspect", "unknown route", "nobody OPTIONS /current/no/such/endpoint/", "404 code 9992", nil},
	}
}

func oauthRefusals() []refusal {
	const (
		local     = `"redirect_uris":["http://127.0.0.1/callback"]`
		register  = "nobody POST /current/oauth/register/ "
		update    = "Bearer {token}; ada PUT /current/oauth/register/ "
		client    = `{"client_id":"{client}"`
		challenge = "0123456789abcdefghijklmnopqrstuvwxyz0123456"
		authorize = "nobody GET /current/oauth/authorize/?response_format=json&state=x&client_id=" + refusalsClient +
			"&redirect_uri=http%3A//127.0.0.1/callback&code_challenge_method=S256&code_challenge=" + challenge
		byURL = authorize + "&client_id=https://loom.test/app.json"
	)
	registered := registeredAt("http://127.0.0.1/callback")
	described := func(status int, text string) func(w *refusing) { return answered(document(status, text)) }
	app := `{"client_id":"https://loom.test/app.json","grant_types":["authorization_code"],"response_types":["code"],"token_endpoint_auth_method":"none",` + local + `}`
	without := func(member string) func(w *refusing) {
		return described(200, strings.Replace(app, `"`+member+`"`, `"x"`, 1))
	}
	return []refusal{
		{"oauth.Register", "name over 128 bytes", register + `{"client_name":"` + strings.Repeat("x", 129) + `",` + local + `}`, "400 invalid_client_metadata", nil},
		{"oauth.Register", "reserved name", register + `{"client_name":"Fastio",` + local + `}`, "400 invalid_client_metadata", nil},
		{"oauth.Register", "redirect URIs that are no array", register + `{"redirect_uris":"http://127.0.0.1/callback"}`, "400 invalid_client_metadata", nil},
		{"oauth.Register", "redirect URIs of a form that are no JSON", register + `redirect_uris=http%3A//127.0.0.1/callback`, "400 invalid_client_metadata", nil},
		{"oauth.Register", "authentication at the token endpoint", register + `{"token_endpoint_auth_method":"client_secret_basic",` + local + `}`, "400 invalid_client_metadata", nil},
		{"oauth.Register", "no redirect URI at all", register + `{"redirect_uris":[]}`, "400 invalid_redirect_uri", nil},
		{"oauth.Register", "eleven redirect URIs", register + `{"redirect_uris":[` + strings.Repeat(`"http://127.0.0.1/",`, 10) + `"http://127.0.0.1/"]}`, "400 invalid_redirect_uri", nil},
		{"oauth.Register", "empty redirect URI", register + `{"redirect_uris":[""]}`, "400 invalid_redirect_uri", nil},
		{"oauth.Register", "redirect URI that is no string", register + `{"redirect_uris":[1]}`, "400 invalid_redirect_uri", nil},
		{"oauth.Register", "redirect URI that is no URL", register + `{"redirect_uris":["callback"]}`, "400 invalid_redirect_uri", nil},
		{"oauth.Register", "redirect URI with a fragment", register + `{"redirect_uris":["https://loom.test/#x"]}`, "400 invalid_redirect_uri", nil},
		{"oauth.Register", "redirect URI without TLS", register + `{"redirect_uris":["http://loom.test/"]}`, "400 invalid_redirect_uri", nil},
		{"oauth.Register", "redirect URIs missing", register + `{"client_name":"Loom"}`, "400 invalid_request", nil},
		{"oauth.Register", "JSON that is no object", register + `[1]`, "400 invalid_request", nil},
		{"oauth.Register", "JSON over 64 KB", register + `{"client_name":"` + strings.Repeat("x", 64<<10) + `",` + local + `}`, "400 invalid_request", nil},
		{"oauth.Register", "registration failed", register + `{` + local + `}`, "500 server_error", brokenOAuth("oauth.Register")},

		{"oauth.UpdateRegistration", "client_id missing", update + `{"client_name":"Loom"}`, "400 invalid_request", registered},
		{"oauth.UpdateRegistration", "neither name nor redirect URIs", update + client + `}`, "400 invalid_request", registered},
		{"oauth.UpdateRegistration", "client that is not local", update + client + `,"client_name":"Loom"}`, "400 invalid_request", registeredAt("https://loom.test/")},
		{"oauth.UpdateRegistration", "no token", "nobody PUT /current/oauth/register/ " + client + `,"client_name":"Loom"}`, "401 invalid_request", registered},
		{"oauth.UpdateRegistration", "another token", "Bearer x; ada PUT /current/oauth/register/ " + client + `,"client_name":"Loom"}`, "401 invalid_request", registered},
		{"oauth.UpdateRegistration", "reserved name", update + client + `,"client_name":"Fastio"}`, "400 invalid_client_metadata", registered},
		{"oauth.UpdateRegistration", "name over 128 characters", update + client + `,"client_name":"` + strings.Repeat("ö", 129) + `"}`, "400 invalid_client_metadata", registered},
		{"oauth.UpdateRegistration", "redirect URIs that are no array", update + client + `,"redirect_uris":"x"}`, "400 invalid_client_metadata", registered},
		{"oauth.UpdateRegistration", "no redirect URI at all", update + client + `,"redirect_uris":[]}`, "400 invalid_redirect_uri", registered},
		{"oauth.UpdateRegistration", "redirect URI with a fragment", update + client + `,"redirect_uris":["https://loom.test/#x"]}`, "400 invalid_redirect_uri", registered},
		{"oauth.UpdateRegistration", "redirect URI without TLS", update + client + `,"redirect_uris":["http://loom.test/"]}`, "400 invalid_redirect_uri", registered},
		{"oauth.UpdateRegistration", "unknown client", update + `{"client_id":"x","client_name":"Loom"}`, "404 invalid_client", registered},
		{"oauth.UpdateRegistration", "disabled client", update + `{"client_id":"` + refusalsClient + `","client_name":"Loom"}`, "404 invalid_client", disabledClient},
		{"oauth.UpdateRegistration", "update failed", update + client + `,"client_name":"Loom"}`, "500 server_error", brokenOAuth("oauth.UpdateRegistration")},

		{"oauth.StartAuthorization", "document without HTTPS", byURL + "&client_id=http://loom.test/app.json", "406 code 1605 client_id:invalid", described(200, app)},
		{"oauth.StartAuthorization", "document that cannot be fetched", byURL, "406 code 1605 client_id:invalid", answered(unreachable)},
		{"oauth.StartAuthorization", "document that takes too long", byURL, "406 code 1605 client_id:invalid", answered(tooLate)},
		{"oauth.StartAuthorization", "document that is not found", byURL, "406 code 1605 client_id:invalid", described(404, app)},
		{"oauth.StartAuthorization", "document over 10 KB", byURL, "406 code 1605 client_id:invalid", described(200, app+strings.Repeat(" ", 10<<10))},
		{"oauth.StartAuthorization", "document on another domain", byURL, "406 code 1605 client_id:invalid", answered(elsewhere)},
		{"oauth.StartAuthorization", "document that is no JSON", byURL, "406 code 1605 client_id:invalid", described(200, "app")},
		{"oauth.StartAuthorization", "document of another client", byURL, "406 code 1605 client_id:invalid", described(200, strings.Replace(app, "app.json", "other.json", 1))},
		{"oauth.StartAuthorization", "document without client_id", byURL, "406 code 1605 client_id:invalid", without("client_id")},
		{"oauth.StartAuthorization", "document without redirect URIs", byURL, "406 code 1605 client_id:invalid", without("redirect_uris")},
		{"oauth.StartAuthorization", "document with redirect URIs that break the rules", byURL, "406 code 1605 client_id:invalid", described(200, strings.Replace(app, "127.0.0.1", "loom.test", 1))},
		{"oauth.StartAuthorization", "document without the code grant", byURL, "406 code 1605 client_id:invalid", without("grant_types")},
		{"oauth.StartAuthorization", "document without the code response", byURL, "406 code 1605 client_id:invalid", without("response_types")},
		{"oauth.StartAuthorization", "document without its authentication", byURL, "406 code 1605 client_id:invalid", without("token_endpoint_auth_method")},
		{"oauth.StartAuthorization", "redirect URI that the document lacks", byURL + "&redirect_uri=https://loom.test/", "406 code 1605 redirect_uri:invalid", described(200, app)},

		{"oauth.StartAuthorization", "client_id missing", authorize + "&client_id=", "406 code 1605 client_id:missing", theClient},
		{"oauth.StartAuthorization", "unknown client", authorize + "&client_id=x", "406 code 1605 client_id:invalid", theClient},
		{"oauth.StartAuthorization", "disabled client", authorize, "406 code 1605 client_id:invalid", disabledClient},
		{"oauth.StartAuthorization", "redirect_uri missing", authorize + "&redirect_uri=", "406 code 10021 redirect_uri:missing", theClient},
		{"oauth.StartAuthorization", "redirect_uri that is not registered", authorize + "&redirect_uri=https://loom.test/", "406 code 1605 redirect_uri:invalid", theClient},
		{"oauth.StartAuthorization", "code_challenge missing", authorize + "&code_challenge=", "406 code 10021 code_challenge:missing", theClient},
		{"oauth.StartAuthorization", "code_challenge not of 43 characters", authorize + "&code_challenge=x", "406 code 10022 code_challenge:invalid", theClient},
		{"oauth.StartAuthorization", "code_challenge_method missing", authorize + "&code_challenge_method=", "406 code 10021 code_challenge_method:missing", theClient},
		{"oauth.StartAuthorization", "code_challenge_method not S256", authorize + "&code_challenge_method=plain", "406 code 10022 code_challenge_method:invalid", theClient},
		{"oauth.StartAuthorization", "state missing", authorize + "&state=", "406 code 10021 state:missing", theClient},
		{"oauth.StartAuthorization", "access_mode invalid", authorize + "&access_mode=w", "406 code 180242 access_mode:invalid", theClient},
		{"oauth.StartAuthorization", "account_settings invalid", authorize + "&account_settings=true", "406 code 117053 account_settings:invalid", theClient},
		{"oauth.StartAuthorization", "display_code invalid", authorize + "&display_code=yes", "406 display_code:invalid", theClient},
		{"oauth.StartAuthorization", "reserved agent_name", authorize + "&agent_name=Fastio", "406 agent_name:invalid", theClient},
		{"oauth.StartAuthorization", "scope that names none", authorize + "&scope=files", "406 scope:invalid", theClient},
		{"oauth.StartAuthorization", "scope in another case", authorize + "&scope=User", "406 scope:invalid", theClient},

		{"oauth.CompleteAuthorization", "no token", "nobody POST /current/oauth/authorize/ auth_request_id=x", "401 code 10011", nil},
		{"oauth.CompleteAuthorization", "no session of a user", "ada POST /current/oauth/authorize/ auth_request_id=x", "403 code 10175", nil},
		{"oauth.CompleteAuthorization", "request that is unknown or over", "Bearer {session}; ada POST /current/oauth/authorize/ auth_request_id=x", "404", askedFor("user")},
		{"oauth.CompleteAuthorization", "more than the ceiling", "Bearer {session}; ada POST /current/oauth/authorize/ auth_request_id={request}&access_mode=rwa", "403 code 10768 access_mode_exceeds_initiate", askedFor("user")},
		{"oauth.CompleteAuthorization", "settings that were not asked for", "Bearer {session}; ada POST /current/oauth/authorize/ auth_request_id={request}&account_settings=1", "403 code 10768 access_mode_exceeds_initiate", askedFor("user")},
		{"oauth.CompleteAuthorization", "scope that is retired", "Bearer {session}; ada POST /current/oauth/authorize/ auth_request_id={request}", "406", askedFor("all_workflows")},
	}
}

const refusalsClient = "10000000000000000000000000000000"

func theClient(w *refusing) {
	w.AddOAuthClient(fastiotest.OAuthClient{ID: refusalsClient, RedirectURIs: []string{"http://127.0.0.1/callback"}})
}

func disabledClient(w *refusing) {
	w.AddOAuthClient(fastiotest.OAuthClient{ID: refusalsClient, RedirectURIs: []string{"http://127.0.0.1/callback"}, Disabled: true})
	w.where("{token}", "x")
}

// registeredAt is a client that has registered itself.
func registeredAt(redirect string) func(w *refusing) {
	return func(w *refusing) {
		r, err := w.clients["ada"].OAuth.Register(w.Context(), oauth.RegisterRequest{RedirectURIs: []string{redirect}})
		if err != nil {
			w.Fatal(err)
		}
		w.where("{client}", r.ClientID, "{token}", r.AccessToken.Reveal())
	}
}

// brokenOAuth fails inside, in the words of OAuth.
func brokenOAuth(op string) func(w *refusing) {
	return func(w *refusing) {
		w.Fail(fastiotest.Fault{Op: op, Status: http.StatusInternalServerError, Body: `{"error":"server_error"}`})
	}
}

// askedFor is a user who has signed in, and what a client asks of that user.
func askedFor(scope oauth.Scope) func(w *refusing) {
	return func(w *refusing) {
		theClient(w)
		token, err := w.clients["ada"].OAuth.SignIn(w.Context(), w.User().Email, api.NewSecret(fastiotest.DefaultPassword))
		if err != nil {
			w.Fatal(err)
		}
		a, err := w.clients["ada"].OAuth.StartAuthorization(w.Context(), oauth.AuthorizationRequest{
			ClientID: refusalsClient, RedirectURI: "http://127.0.0.1/callback", PKCE: oauth.NewPKCE(), Scopes: []oauth.Scope{scope},
		})
		if err != nil {
			w.Fatal(err)
		}
		w.where("{session}", token.AccessToken.Reveal(), "{request}", a.ID)
	}
}

// web answers the platform's requests for metadata documents.
type web func(r *http.Request) (*http.Response, error)

func (f web) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func unreachable(*http.Request) (*http.Response, error) { return nil, errors.New("no such host") }

func tooLate(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded }

// elsewhere redirects to another domain.
func elsewhere(r *http.Request) (*http.Response, error) {
	header := http.Header{"Location": {"https://spindle.test/app.json"}}
	return &http.Response{StatusCode: http.StatusFound, Header: header, Body: http.NoBody, Request: r}, nil
}

func answered(by web) func(w *refusing) {
	return under(func(o *fastiotest.Options) { o.OAuth.Fetch = by })
}

func document(status int, text string) web {
	return func(r *http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {"application/json"}}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}
