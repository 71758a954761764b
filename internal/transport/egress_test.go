package transport_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

const home = "https://api.fast.io"

// redirecting is every server there is. Its first answer is a redirect.
func redirecting(status int, location string) *script {
	return answers(reply(status, "", "Location", location), ok())
}

func redirects() []int { return []int{301, 302, 303, 307, 308} }

// secretive are the calls that carry something, by what they carry.
func secretive() map[string]*api.Request {
	calls := map[string]*api.Request{}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
		for name, change := range map[string]func(*api.Request){
			"a token":         func(*api.Request) {},
			"a link password": func(r *api.Request) { r.Password = api.NewSecret("password-" + canary) },
			"a credential":    func(r *api.Request) { r.Credential = api.NewSecret("Basic " + canary) },
			"a secret field": func(r *api.Request) {
				r.Body, r.Replay = api.Form{"code": {canary}}, api.ReplayOnce
			},
			"a secret in a query": func(r *api.Request) { r.Query = url.Values{"token": {canary}} },
			"a signed address":    func(r *api.Request) { r.Query = url.Values{"download_token": {canary}} },
			"a token, to stay":    func(r *api.Request) { r.NoRedirect = true },
			"all three, to stay": func(r *api.Request) {
				r.Password, r.NoRedirect = api.NewSecret("password-"+canary), true
				r.Query = url.Values{"download_token": {canary}}
			},
		} {
			if name == "a secret field" && method == "GET" {
				continue
			}
			r := get()
			r.Method = method
			change(r)
			calls[method+" with "+name] = r
		}
	}
	return calls
}

// ways are those to send a request, one for answers that are decoded and one for
// those that are read.
func ways() map[string]func(*transport.Client, context.Context, *api.Request) error {
	return map[string]func(*transport.Client, context.Context, *api.Request) error{
		"called": func(c *transport.Client, ctx context.Context, r *api.Request) error { return c.Call(ctx, r, nil) },
		"opened": func(c *transport.Client, ctx context.Context, r *api.Request) error {
			resp, err := c.Open(ctx, r)
			if err == nil {
				_ = resp.Body.Close()
			}
			return err
		},
	}
}

func TestNothingLeavesTheOrigin(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]string{
		"another host":            "https://evil.test/current/",
		"a subdomain":             "https://x.api.fast.io/current/",
		"the domain above":        "https://fast.io/current/",
		"another port":            "https://api.fast.io:8443/current/",
		"no encryption":           "http://api.fast.io/current/",
		"a user":                  "https://me@api.fast.io/current/",
		"a user that is a host":   "https://api.fast.io@evil.test/current/",
		"a host without scheme":   "//evil.test/current/",
		"backslashes":             `https://api.fast.io\@evil.test/`,
		"a look-alike host":       "https://аpi.fast.io/current/",
		"a full-width host":       "https://ａｐｉ.fast.io/current/",
		"a host with a dot":       "https://api.fast.io./current/",
		"another scheme":          "ftp://api.fast.io/current/",
		"a script":                "javascript:alert(1)",
		"a file":                  "file:///etc/passwd",
		"data":                    "data:text/plain,x",
		"an address of this host": "https://[::1]/current/",
	}, func(t *testing.T, location string) {
		for name, r := range secretive() {
			for _, status := range redirects() {
				for way, send := range ways() {
					w := redirecting(status, location)
					err := send(clientOf(t, w), t.Context(), r)
					if refused(err).Status != status {
						t.Fatalf("%s, %s, %d: the call ends with %v", way, name, status, err)
					}
					if got := w.visited(); len(got) != 1 ||
						!strings.HasPrefix(got[0], r.Method+" "+home+"/current/things/t1/") {
						t.Errorf("%s, %s, %d: requests went to %s", way, name, status, got)
					}
					if strings.Contains(err.Error(), "evil") || strings.Contains(err.Error(), canary) ||
						strings.Contains(err.Error(), "://") {
						t.Errorf("%s, %s, %d: the error tells too much: %v", way, name, status, err)
					}
				}
			}
		}
	})
}

// Even at home, only a GET without a link password goes where it is sent.
func TestRedirectsAtHome(t *testing.T) {
	t.Parallel()
	table.Each(t, map[string]string{
		"absolute": home +
			"/current/other/", "a path": "/current/other/", "without scheme": "//api.fast.io/current/other/",
		"relative": "../../other/",
	}, func(t *testing.T, location string) {
		for name, r := range secretive() {
			follows := r.Method == http.MethodGet && r.Password.IsZero() && !r.NoRedirect
			for _, status := range redirects() {
				w := redirecting(status, location)
				err := clientOf(t, w).Call(t.Context(), r, nil)
				if !follows {
					if refused(err).Status != status || w.sent() != 1 {
						t.Errorf("%s, %d: the call ends with %v at %s", name, status, err, w.visited())
					}
					continue
				}
				if err != nil || w.sent() != 2 {
					t.Errorf("%s, %d: the call ends with %v at %s", name, status, err, w.visited())
					continue
				}
				if got := w.visited()[1]; got != "GET "+home+"/current/other/" {
					t.Errorf("%s, %d: the redirect leads to %s", name, status, got)
				}
				first := w.requests()[0].Header.Get("Authorization")
				second := w.requests()[1].Header.Get("Authorization")
				if first != second || second == "" {
					t.Errorf("%s, %d: the redirect is signed with %q, not %q", name, status, second, first)
				}
			}
		}
	})
}

// A call that looks at a redirect by itself is told where it leads to, in full.
func TestRedirectsToLookAt(t *testing.T) {
	t.Parallel()
	const at = home + "/current/things/t1/"
	for location, want := range map[string]string{
		"https://evil.test/x?y#z": "https://evil.test/x?y#z", "//evil.test/": "https://evil.test/", "/x": home +
			"/x", "../x": home + "/current/things/x",
		"?x": at + "?x", "": "", "https://evil.test:port/": "",
	} {
		for _, stays := range []bool{true, false} {
			w := redirecting(307, location)
			var raw api.Answer
			r := get(api.Raw(&raw))
			r.Password, r.NoRedirect = api.NewSecret("p"), stays
			err := clientOf(t, w).Call(t.Context(), r, nil)
			if !stays && want != "" {
				want = location
			}
			if got := raw.Header.Get("Location"); got != want || err == nil || w.sent() != 1 {
				t.Errorf("%q, stays %t: %q, want %q; %v at %s", location, stays, got, want, err, w.visited())
			}
		}
	}
}

func TestRedirectsEnd(t *testing.T) {
	t.Parallel()
	t.Run("in an error after ten", func(t *testing.T) {
		t.Parallel()
		w := answers(status(302, "Location", "/current/other/"))
		err := clientOf(t, w).Call(t.Context(), get(), nil)
		if refused(err).Status != 302 || w.sent() != 10 {
			t.Errorf("the call ends with %v after %d requests", err, w.sent())
		}
	})
	t.Run("where they leave the origin", func(t *testing.T) {
		t.Parallel()
		w := answers(status(302, "Location", "/current/other/"), status(302, "Location", "https://evil.test/"))
		err := clientOf(t, w).Call(t.Context(), get(), nil)
		if diff := cmp.Diff([]string{"GET " + home + "/current/things/t1/", "GET " + home + "/current/other/"},
			w.visited()); diff != "" {
			t.Errorf("the call ends with %v (-want +got):\n%s", err, diff)
		}
	})
	t.Run("in an answer, after a failed attempt", func(t *testing.T) {
		t.Parallel()
		w := answers(status(302, "Location", "/current/a/"), status(503), status(302, "Location", "/current/b/"), ok())
		var raw api.Answer
		err := clientOf(t, w, hasty(2)).Call(t.Context(), get(api.Raw(&raw)), nil)
		want := []string{
			"GET " + home + "/current/things/t1/", "GET " + home + "/current/a/",
			"GET " + home + "/current/things/t1/", "GET " + home + "/current/b/",
		}
		if diff := cmp.Diff(want, w.visited()); diff != "" || err != nil || raw.Attempts != 2 {
			t.Errorf("the call ends with %v after %d attempts (-want +got):\n%s", err, raw.Attempts, diff)
		}
	})
}

// A Location that is none makes no difference to the error, and does not show
// in it.
func TestBrokenLocations(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"", "://" + canary, "https://api.fast.io/%zz" + canary, "http://[" + canary, "https://api.fast.io:" + canary +
			"/",
	} {
		for _, status := range append(redirects(), 300, 304, 305, 306) {
			w := redirecting(status, location)
			err := clientOf(t, w).Call(t.Context(), get(), nil)
			if refused(err).Status != status || w.sent() != 1 || strings.Contains(err.Error(), canary) {
				t.Errorf("%d to %q ends with %v at %s", status, location, err, w.visited())
			}
		}
	}
}

// Each call carries the credential it should, and no other. The request of an opened
// answer does not show it.
func TestCredentials(t *testing.T) {
	t.Parallel()
	type row struct {
		change         func(r *api.Request)
		want, password string
	}
	const clients = "Bearer token-" + canary
	own := api.NewSecret("Basic abc")
	table.Each(t, map[string]row{
		"the client's token":         {func(*api.Request) {}, clients, ""},
		"the client's token, if any": {func(r *api.Request) { r.Auth = api.AuthOptional }, clients, ""},
		"none":                       {func(r *api.Request) { r.Auth = api.AuthNone }, "", ""},
		"the call's own":             {func(r *api.Request) { r.Credential = own }, "Basic abc", ""},
		"the call's own, without token": {
			func(r *api.Request) { r.Auth, r.Credential = api.AuthNone, own },
			"Basic abc", "",
		},
		"a link password beside": {
			func(r *api.Request) { r.Password = api.NewSecret("pässword ☃") }, clients,
			"pässword ☃",
		},
		"a link password alone": {func(r *api.Request) {
			r.Auth, r.Password = api.AuthNone,
				api.NewSecret("p")
		}, "", "p"},
	}, func(t *testing.T, test row) {
		network := answers(ok())
		r := get()
		test.change(r)
		succeed(t, clientOf(t, network), r)
		resp, err := clientOf(t, network).Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if h := resp.Request.Header; h.Get("Authorization")+h.Get("X-Ve-Password") != "" {
			t.Errorf("the request of an opened answer shows %v", h)
		}
		h := network.requests()[0].Header
		if h.Get("Authorization") != test.want || h.Get("X-Ve-Password") != test.password || r.Options.Header != nil {
			t.Errorf("the call carries %q and %q, its options %v", h["Authorization"], h["X-Ve-Password"],
				r.Options.Header)
		}
	})
}

func TestCredentialsAreNotSetByHand(t *testing.T) {
	t.Parallel()
	password := func(s string) *api.Request {
		r := get()
		r.Password = api.NewSecret(s)
		return r
	}
	const byHand, control = "must not be set by hand: it is a credential", "must not hold control characters"
	type row struct {
		r    *api.Request
		want *api.InputError // without a rule it is another one
	}
	rows := map[string]row{
		"a header of two lines": {
			get(api.Header("X-Note", "a\r\nAuthorization: "+canary)),
			&api.InputError{Field: "header X-Note", Rule: control, Got: "one at byte 1"},
		},
		"a password of two lines": {
			password("p\n" + canary),
			&api.InputError{Field: "header X-Ve-Password", Rule: control, Got: "one at byte 1"},
		},
		// A server would read these without their blanks.
		"a password after a blank":  {password(" " + canary), &api.InputError{Field: "header X-Ve-Password"}},
		"a password before a blank": {password(canary + " "), &api.InputError{Field: "header X-Ve-Password"}},
		"a password of a blank":     {password(" "), &api.InputError{Field: "header X-Ve-Password"}},
	}
	for _, key := range []string{
		"Authorization", "authorization", "X-VE-Password", "x-ve-password", "Cookie",
		"Proxy-Authorization",
	} {
		rows[key] = row{
			get(api.Header(key, canary)),
			&api.InputError{Field: "header " + http.CanonicalHeaderKey(key), Rule: byHand},
		}
	}
	table.Each(t, rows, func(t *testing.T, test row) {
		network := answers(ok())
		err := clientOf(t, network).Call(t.Context(), test.r, nil)
		got, found := errors.AsType[*api.InputError](err)
		if !found || network.sent() > 0 || strings.Contains(err.Error(), canary) {
			t.Fatalf("%v after %d requests", err, network.sent())
		}
		if test.want.Op = "things.Get"; test.want.Rule == "" {
			test.want.Rule, test.want.Got = got.Rule, got.Got
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
