package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/transport"
)

// A host whose first label is api has no prefix. Any other has /api, behind what
// stands in front.
func TestParseBase(t *testing.T) {
	t.Parallel()
	const events = "/current/events/search/"
	for address, want := range map[string]string{
		"https://api.fast.io/current":   "https://api.fast.io",
		"api.fast.io":                   "https://api.fast.io",
		"https://api.fast.io/":          "https://api.fast.io",
		"//api.fast.io":                 "https://api.fast.io",
		"https://api.fast.io//current/": "https://api.fast.io",
		" \thttps://api.fast.io\n":      "https://api.fast.io",
		"HTTPS://API.Fast.IO":           "https://api.fast.io",
		"https://api.fast.io/API":       "https://api.fast.io",
		"api.fastdev1.com":              "https://api.fastdev1.com",

		"https://api.example.test/fastio/current": "https://api.example.test/fastio",

		"https://apis.example.test":              "https://apis.example.test/api",
		"https://eu.api.example.test":            "https://eu.api.example.test/api",
		"https://go.fast.io/api/":                "https://go.fast.io/api",
		"https://go.fast.io/api/current/":        "https://go.fast.io/api",
		"https://go.fast.io/API/Current":         "https://go.fast.io/api",
		"https://proxy.test//team///api":         "https://proxy.test/team/api",
		"https://proxy.test/team/fastio":         "https://proxy.test/team/fastio/api",
		"https://proxy.test/team/api/current":    "https://proxy.test/team/api",
		"https://proxy.test/myapi":               "https://proxy.test/myapi/api",
		"https://proxy.test/gr%C3%B6%C3%9Fe/api": "https://proxy.test/gr%C3%B6%C3%9Fe/api",
		"http://example.test/":                   "http://example.test/api",
		"[2001:db8::1]:443":                      "https://[2001:db8::1]:443/api",
		"192.0.2.7":                              "https://192.0.2.7/api",

		// This machine is reached without TLS, unless the address asks for it.
		"localhost:8080":             "http://localhost:8080/api",
		"LocalHost:8080/api/current": "http://localhost:8080/api",
		"127.0.0.1:4000/current/":    "http://127.0.0.1:4000/api",
		"127.8.9.1":                  "http://127.8.9.1/api",
		"[::1]:8080":                 "http://[::1]:8080/api",
		"[::1]/api":                  "http://[::1]/api",
		"https://localhost:8443":     "https://localhost:8443/api",
	} {
		b, err := transport.ParseBase(address)
		if err != nil || b.String() != want {
			t.Errorf("ParseBase(%q) is %s, %v, want %s", address, b, err, want)
		}
		if u := urlOf(t, b, api.Path(events)); u != want+events {
			t.Errorf("events of %q are at %s, want %s", address, u, want+events)
		}
		if again, err := transport.ParseBase(b.String()); err != nil || again != b {
			t.Errorf("%s is read as %s, %v", b, again, err)
		}
	}
}

func TestParseBaseRefuses(t *testing.T) {
	t.Parallel()
	for rule, addresses := range map[string][]string{
		"the address is empty":                   {"", " \n"},
		"the scheme must be https or http":       {"ftp://api.fast.io", "file:///etc/passwd"},
		"the host is missing":                    {"https://", "/current", "https://:443"},
		"the port is missing":                    {"https:/api.fast.io"},
		"the path must not hold dot segments":    {"http://proxy.test/../..", "https://api.fast.io/./api"},
		"the path must not hold escaped slashes": {"https://proxy.test/a%2Fcanary-secret"},
		"the address is not a URL": {
			"https://api.fast.io:canary-secret", "https://me:canary%zzsecret@api.fast.io",
			"https://api.fast.io/\ncanary-secret",
		},
		"the address must not hold a user or password": {
			"https://canary-secret@api.fast.io", "https://me:canary-secret@api.fast.io/current",
			"me:canary-secret@localhost:80",
		},
		"the address must not hold a query or fragment": {
			"https://api.fast.io/current?token=canary-secret", "https://api.fast.io/?", "https://api.fast.io/#canary-secret",
		},
	} {
		for _, address := range addresses {
			if _, err := transport.ParseBase(address); err == nil || err.Error() != rule {
				t.Errorf("ParseBase(%q) fails with %v, want %s", address, err, rule)
			}
		}
	}
}

// What belongs to the host, and not to the API on it, has no prefix.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	const user, id = "/current/user/{user_id}/details/", "a/b c@d"
	type row struct {
		prefix string
		path   api.Route
	}
	for want, tc := range map[string]row{
		"https://h/team/api/current/ping/":                           {"/team/api", api.Path("/current/ping/")},
		"https://h/.well-known/x/":                                   {"/api", api.Path("/.well-known/x/")},
		"https://h/currently/":                                       {"/api", api.Path("/currently/")},
		"https://h/api/current/user/a%2Fb%20c%40d/details/":          {"/api", api.Path(user, id)},
		"https://h/gr%C3%B6%C3%9Fe%20x/current/user/..%2Fb/details/": {"/größe x", api.Path(user, "../b")},
	} {
		if got := urlOf(t, transport.Base{Scheme: "https", Host: "h", Prefix: tc.prefix}, tc.path); got != want {
			t.Errorf("the URL is %s, want %s", got, want)
		}
	}
}

// urlOf returns the URL that a call of a route is sent to.
func urlOf(t *testing.T, base transport.Base, path api.Route) (sentTo string) {
	t.Helper()
	cfg := transport.Defaults()
	cfg.Base = base
	cfg.HTTPClient = &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		sentTo = req.URL.String()
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	})}
	r := &api.Request{Op: "test.Get", Method: http.MethodGet, Path: path, Replay: api.ReplaySafe}
	if err := transport.New(cfg).Call(t.Context(), r, nil); err != nil {
		t.Error(err)
	}
	return sentTo
}

// An address never comes back in an error: it may hold what its owner would not
// show.
func FuzzParseBase(f *testing.F) {
	for _, s := range []string{
		"https://api.fast.io/current", "localhost:80", "[::1]", "https://me:pw@h/", "//h//api//", "https://h/%2f",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		b, err := transport.ParseBase(address)
		if err != nil {
			if len(address) > 20 && strings.Contains(err.Error(), strings.TrimSpace(address)) {
				t.Errorf("the error repeats the address: %v", err)
			}
			return
		}
		if again, err := transport.ParseBase(b.String()); err != nil || again != b {
			t.Errorf("%q becomes %s, which is read as %s, %v", address, b, again, err)
		}
	})
}
