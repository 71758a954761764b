package transport_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

const home = "https://api.fast.io"

// world is every server there is. Each request that arrives anywhere is noted.
type world struct {
	answer func(r *http.Request, n int) *http.Response

	mu   sync.Mutex
	seen []*http.Request
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.seen = append(w.seen, r.Clone(r.Context()))
	n := len(w.seen)
	w.mu.Unlock()
	return stub(func(r *http.Request) *http.Response { return w.answer(r, n) }).RoundTrip(r)
}

// visited returns where requests arrived.
func (w *world) visited() []string {
	var all []string
	for _, r := range w.seen {
		all = append(all, r.Method+" "+r.URL.String())
	}
	return all
}

// redirecting is a world whose first answer is a redirect.
func redirecting(status int, location string) *world {
	return &world{answer: func(_ *http.Request, n int) *http.Response {
		if n == 1 {
			return newResponse(status, "", "Location", location)
		}
		return newResponse(200, `{"result":true}`)
	}}
}

func redirects() []int { return []int{301, 302, 303, 307, 308} }

// secretive are the calls that carry something, by what they carry.
func secretive() map[string]*api.Request {
	calls := map[string]*api.Request{}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
		for name, change := range map[string]func(*api.Request){
			"a token":             func(*api.Request) {},
			"a link password":     func(r *api.Request) { r.Password = api.NewSecret("password-" + canary) },
			"a credential":        func(r *api.Request) { r.Credential = api.NewSecret("Basic " + canary) },
			"a secret field":      func(r *api.Request) { r.Body, r.Replay = api.Form(url.Values{"code": {canary}}), api.ReplayOnce },
			"a secret in a query": func(r *api.Request) { r.Query = url.Values{"token": {canary}} },
			"a signed address":    func(r *api.Request) { r.Query = url.Values{"download_token": {canary}} },
			"a token, to stay":    func(r *api.Request) { r.NoRedirect = true },
			"all three, to stay": func(r *api.Request) {
				r.Password, r.Query, r.NoRedirect = api.NewSecret("password-"+canary), url.Values{"download_token": {canary}}, true
			},
		} {
			if name == "a secret field" && method == "GET" {
				continue
			}
			r := reading()
			r.Method = method
			change(r)
			calls[method+" with "+name] = r
		}
	}
	return calls
}

// roads are the ways to send a request, one for answers that are decoded and one for
// those that are read.
func roads() map[string]func(*transport.Client, context.Context, *api.Request) error {
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
	for where, location := range map[string]string{
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
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			for name, r := range secretive() {
				for _, status := range redirects() {
					for road, send := range roads() {
						w := redirecting(status, location)
						err := send(clientOf(t, w), t.Context(), r)
						e, ok := errors.AsType[*api.Error](err)
						if !ok || e.Status != status {
							t.Fatalf("%s, %s, %d: the call ends with %v", road, name, status, err)
						}
						if got := w.visited(); len(got) != 1 || !strings.HasPrefix(got[0], r.Method+" "+home+"/current/things/t1/details/") {
							t.Errorf("%s, %s, %d: requests went to %s", road, name, status, got)
						}
						if strings.Contains(err.Error(), "evil") || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "://") {
							t.Errorf("%s, %s, %d: the error tells too much: %v", road, name, status, err)
						}
					}
				}
			}
		})
	}
}

// Even at home, only a GET without a link password goes where it is sent.
func TestRedirectsAtHome(t *testing.T) {
	t.Parallel()
	for where, location := range map[string]string{
		"absolute": home + "/current/other/", "a path": "/current/other/", "without scheme": "//api.fast.io/current/other/",
		"relative": "../../../other/",
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			for name, r := range secretive() {
				follows := r.Method == http.MethodGet && r.Password.IsZero() && !r.NoRedirect
				for _, status := range redirects() {
					w := redirecting(status, location)
					err := clientOf(t, w).Call(t.Context(), r, nil)
					if !follows {
						if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != status || len(w.seen) != 1 {
							t.Errorf("%s, %d: the call ends with %v at %s", name, status, err, w.visited())
						}
						continue
					}
					if err != nil || len(w.seen) != 2 {
						t.Errorf("%s, %d: the call ends with %v at %s", name, status, err, w.visited())
						continue
					}
					if got := w.visited()[1]; got != "GET "+home+"/current/other/" {
						t.Errorf("%s, %d: the redirect leads to %s", name, status, got)
					}
					if diff := cmp.Diff(w.seen[0].Header["Authorization"], w.seen[1].Header["Authorization"]); diff != "" || w.seen[1].Header.Get("Authorization") == "" {
						t.Errorf("%s, %d: the redirect is signed otherwise (-want +got):\n%s", name, status, diff)
					}
				}
			}
		})
	}
}

// A call that looks at a redirect by itself is told where it leads to, in full.
func TestRedirectsToLookAt(t *testing.T) {
	t.Parallel()
	const at = home + "/current/things/t1/details/"
	for location, want := range map[string]string{
		"https://evil.test/x?y#z": "https://evil.test/x?y#z", "//evil.test/": "https://evil.test/", "/x": home + "/x", "../x": home + "/current/things/t1/x",
		"?x": at + "?x", "": "", "https://evil.test:port/": "",
	} {
		for _, stays := range []bool{true, false} {
			w := redirecting(307, location)
			var raw api.Answer
			r := reading(api.Raw(&raw))
			r.Password, r.NoRedirect = api.NewSecret("p"), stays
			err := clientOf(t, w).Call(t.Context(), r, nil)
			if !stays && want != "" {
				want = location
			}
			if got := raw.Header.Get("Location"); got != want || err == nil || len(w.seen) != 1 {
				t.Errorf("%q, stays %t: %q, want %q; %v at %s", location, stays, got, want, err, w.visited())
			}
		}
	}
}

func TestRedirectsEnd(t *testing.T) {
	t.Parallel()
	t.Run("in an error after ten", func(t *testing.T) {
		t.Parallel()
		w := &world{answer: func(_ *http.Request, n int) *http.Response {
			return newResponse(302, "", "Location", "/current/"+strconv.Itoa(n)+"/")
		}}
		err := clientOf(t, w).Call(t.Context(), reading(), nil)
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 302 || len(w.seen) != 10 {
			t.Errorf("the call ends with %v after %d requests", err, len(w.seen))
		}
	})
	t.Run("where they leave the origin", func(t *testing.T) {
		t.Parallel()
		w := &world{answer: func(_ *http.Request, n int) *http.Response {
			return newResponse(302, "", "Location", []string{"/current/other/", "https://evil.test/"}[n-1])
		}}
		err := clientOf(t, w).Call(t.Context(), reading(), nil)
		if diff := cmp.Diff([]string{"GET " + home + "/current/things/t1/details/", "GET " + home + "/current/other/"}, w.visited()); diff != "" {
			t.Errorf("the call ends with %v (-want +got):\n%s", err, diff)
		}
	})
	t.Run("in an answer, after a failed attempt", func(t *testing.T) {
		t.Parallel()
		w := &world{answer: func(_ *http.Request, n int) *http.Response {
			return []*http.Response{
				newResponse(302, "", "Location", "/current/a/"), newResponse(503, ""),
				newResponse(302, "", "Location", "/current/b/"), newResponse(200, `{"result":true}`),
			}[n-1]
		}}
		c := clientOf(t, w, func(c *transport.Config) { c.Retry.Attempts = 2 })
		var raw api.Answer
		err := c.Call(t.Context(), reading(api.Raw(&raw)), nil)
		want := []string{"GET " + home + "/current/things/t1/details/", "GET " + home + "/current/a/", "GET " + home + "/current/things/t1/details/", "GET " + home + "/current/b/"}
		if diff := cmp.Diff(want, w.visited()); diff != "" || err != nil || raw.Attempts != 2 {
			t.Errorf("the call ends with %v after %d attempts (-want +got):\n%s", err, raw.Attempts, diff)
		}
	})
}

// A Location that is none makes no difference to the error, and does not show
// in it.
func TestBrokenLocations(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"", "://" + canary, "https://api.fast.io/%zz" + canary, "http://[" + canary, "https://api.fast.io:" + canary + "/"} {
		for _, status := range append(redirects(), 300, 304, 305, 306) {
			w := redirecting(status, location)
			err := clientOf(t, w).Call(t.Context(), reading(), nil)
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Status != status || len(w.seen) != 1 || strings.Contains(err.Error(), canary) {
				t.Errorf("%d to %q ends with %v at %s", status, location, err, w.visited())
			}
		}
	}
}

// What leads a request astray is our own side of the road as well.
func TestMiddlewareCannotLeadAstray(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(u *url.URL){
		"to another host":   func(u *url.URL) { u.Host = "evil.test" },
		"to another port":   func(u *url.URL) { u.Host += ":8443" },
		"to no encryption":  func(u *url.URL) { u.Scheme = "http" },
		"to another scheme": func(u *url.URL) { u.Scheme = "ftp" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := redirecting(200, "")
			c := clientOf(t, w, func(c *transport.Config) {
				c.Retry.Attempts = 3
				c.Middleware = append(c.Middleware, func(next http.RoundTripper) http.RoundTripper {
					return roundTripper(func(r *http.Request) (*http.Response, error) {
						r = r.Clone(r.Context())
						change(r.URL)
						return next.RoundTrip(r)
					})
				})
			})
			err := c.Call(t.Context(), reading(), nil)
			if err == nil || err.Error() != "fastio: things.Get: the request was sent to another origin" || len(w.seen) != 0 {
				t.Errorf("the call ends with %v at %s", err, w.visited())
			}
		})
	}
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Each call carries the credential it should, and no other.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change              func(r *api.Request)
		want, password, own string
	}{
		"the client's token":            {func(*api.Request) {}, "Bearer token-" + canary, "", ""},
		"the client's token, if any":    {func(r *api.Request) { r.Auth = api.AuthOptional }, "Bearer token-" + canary, "", ""},
		"none":                          {func(r *api.Request) { r.Auth = api.AuthNone }, "", "", ""},
		"the call's own":                {func(r *api.Request) { r.Credential = api.NewSecret("Basic abc") }, "Basic abc", "", ""},
		"the call's own, without token": {func(r *api.Request) { r.Auth, r.Credential = api.AuthNone, api.NewSecret("Basic abc") }, "Basic abc", "", ""},
		"a link password beside":        {func(r *api.Request) { r.Password = api.NewSecret("pässword ☃") }, "Bearer token-" + canary, "pässword ☃", ""},
		"a link password alone":         {func(r *api.Request) { r.Auth, r.Password = api.AuthNone, api.NewSecret("p") }, "", "p", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := redirecting(200, "")
			r := reading()
			tc.change(r)
			if err := clientOf(t, w).Call(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			h := w.seen[0].Header
			if h.Get("Authorization") != tc.want || h.Get("X-Ve-Password") != tc.password {
				t.Errorf("the call carries %q and %q", h["Authorization"], h["X-Ve-Password"])
			}
			if got := r.Options.Header; got != nil {
				t.Errorf("the request was changed: %v", got)
			}
		})
	}
}

func TestCredentialsAreNotSetByHand(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"Authorization", "authorization", "X-VE-Password", "x-ve-password", "Cookie", "Proxy-Authorization"} {
		w := redirecting(200, "")
		err := clientOf(t, w).Call(t.Context(), reading(api.Header(key, canary)), nil)
		want := &api.InputError{Op: "things.Get", Field: "header " + http.CanonicalHeaderKey(key), Rule: "must not be set by hand: it is a credential"}
		got, _ := errors.AsType[*api.InputError](err)
		if diff := cmp.Diff(want, got); diff != "" || len(w.seen) != 0 {
			t.Errorf("%s: %d requests (-want +got):\n%s", key, len(w.seen), diff)
		}
	}
	for name, r := range map[string]*api.Request{
		"header X-Note":        reading(api.Header("X-Note", "a\r\nAuthorization: "+canary)),
		"header X-Ve-Password": func() *api.Request { r := reading(); r.Password = api.NewSecret("p\n" + canary); return r }(),
	} {
		w := redirecting(200, "")
		err := clientOf(t, w).Call(t.Context(), r, nil)
		want := &api.InputError{Op: "things.Get", Field: name, Rule: "must not hold control characters", Got: "one at byte 1"}
		got, _ := errors.AsType[*api.InputError](err)
		if diff := cmp.Diff(want, got); diff != "" || len(w.seen) != 0 {
			t.Errorf("%d requests (-want +got):\n%s", len(w.seen), diff)
		}
	}
	for _, password := range []api.Secret{api.NewSecret(" " + canary), api.NewSecret(canary + " "), api.NewSecret(" ")} { // which a server would read without its blanks
		w := redirecting(200, "")
		r := reading()
		r.Password = password
		err := clientOf(t, w).Call(t.Context(), r, nil)
		if e, ok := errors.AsType[*api.InputError](err); !ok || e.Field != "header X-Ve-Password" || strings.Contains(err.Error(), canary) || len(w.seen) != 0 {
			t.Errorf("%q: %v after %d requests", password.Reveal(), err, len(w.seen))
		}
	}
}
