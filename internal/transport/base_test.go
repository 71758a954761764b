package transport_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/internal/transport"
)

func TestParseBase(t *testing.T) {
	t.Parallel()
	const events = "/current/events/search/"
	type row struct{ address, want string }
	table.Each(t, map[string]row{
		"the production address":      {"https://api.fast.io/current", "https://api.fast.io"},
		"nothing but the host":        {"api.fast.io", "https://api.fast.io"},
		"a slash at the end":          {"https://api.fast.io/", "https://api.fast.io"},
		"no scheme, with slashes":     {"//api.fast.io", "https://api.fast.io"},
		"more slashes than needed":    {"https://api.fast.io//current//", "https://api.fast.io"},
		"blanks around":               {" \thttps://api.fast.io\n", "https://api.fast.io"},
		"capitals in scheme and host": {"HTTPS://API.Fast.IO", "https://api.fast.io"},
		"a host for the API alone, behind a proxy": {
			"https://api.example.test/fastio/current",
			"https://api.example.test/fastio",
		},
		"another API host":                         {"api.fastdev1.com", "https://api.fastdev1.com"},
		"a host that only begins like one":         {"https://apis.example.test", "https://apis.example.test/api"},
		"a host with api further on":               {"https://eu.api.example.test", "https://eu.api.example.test/api"},
		"a host that shares, with api and a slash": {"https://go.fast.io/api/", "https://go.fast.io/api"},
		"a host that shares, with both":            {"https://go.fast.io/api/current/", "https://go.fast.io/api"},
		"a host that shares, with API in capitals": {"https://go.fast.io/API/Current", "https://go.fast.io/api"},
		"a host for the API alone, in capitals":    {"https://api.fast.io/API", "https://api.fast.io"},
		"slashes within":                           {"https://proxy.test//team///api", "https://proxy.test/team/api"},
		"a proxy's prefix": {
			"https://proxy.test/team/fastio",
			"https://proxy.test/team/fastio/api",
		},
		"a proxy's prefix with both": {
			"https://proxy.test/team/api/current",
			"https://proxy.test/team/api",
		},
		"a prefix that only ends like api": {"https://proxy.test/myapi", "https://proxy.test/myapi/api"},
		"a prefix beyond ASCII": {
			"https://proxy.test/gr%C3%B6%C3%9Fe/api",
			"https://proxy.test/gr%C3%B6%C3%9Fe/api",
		},
		"this machine, with a port":                {"localhost:8080", "http://localhost:8080/api"},
		"this machine in capitals":                 {"LocalHost:8080/api/current", "http://localhost:8080/api"},
		"this machine by address":                  {"127.0.0.1:4000/current/", "http://127.0.0.1:4000/api"},
		"this machine by another address":          {"127.8.9.1", "http://127.8.9.1/api"},
		"this machine by IPv6":                     {"[::1]:8080", "http://[::1]:8080/api"},
		"this machine by IPv6, no port":            {"[::1]/api", "http://[::1]/api"},
		"this machine, encrypted":                  {"https://localhost:8443", "https://localhost:8443/api"},
		"another machine by IPv6":                  {"[2001:db8::1]:443", "https://[2001:db8::1]:443/api"},
		"another machine by address":               {"192.0.2.7", "https://192.0.2.7/api"},
		"another machine, in the clear on request": {"http://example.test/", "http://example.test/api"},
	}, func(t *testing.T, tc row) {
		b, err := transport.ParseBase(tc.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != tc.want {
			t.Errorf("ParseBase(%q) is %s, want %s", tc.address, got, tc.want)
		}
		u := b.URL(events, "", "limit=1")
		if got := u.String(); got != tc.want+events+"?limit=1" {
			t.Errorf("events of %q are at %s, want %s", tc.address, got, tc.want+events+"?limit=1")
		}
		again, err := transport.ParseBase(b.String())
		if diff := cmp.Diff(b, again); err != nil || diff != "" {
			t.Errorf("%s is read as another base: %v (-want +got):\n%s", b, err, diff)
		}
	})
}

func TestParseBaseRefuses(t *testing.T) {
	t.Parallel()
	type row struct{ address, want string }
	table.Each(t, map[string]row{
		"nothing":                  {"", "the address is empty"},
		"blanks":                   {" \n", "the address is empty"},
		"another scheme":           {"ftp://api.fast.io", "the scheme must be https or http"},
		"a file":                   {"file:///etc/passwd", "the scheme must be https or http"},
		"a scheme alone":           {"https://", "the host is missing"},
		"a path alone":             {"/current", "the host is missing"},
		"a port alone":             {"https://:443", "the host is missing"},
		"a slash too few":          {"https:/api.fast.io", "the port is missing"},
		"a port that is no number": {"https://api.fast.io:canary-secret", "the address is not a URL"},
		"a user": {
			"https://canary-secret@api.fast.io",
			"the address must not hold a user or password",
		},
		"a user and password": {
			"https://me:canary-secret@api.fast.io/current",
			"the address must not hold a user or password",
		},
		"a password that is not valid": {"https://me:canary%zzsecret@api.fast.io", "the address is not a URL"},
		"a password without a scheme": {
			"me:canary-secret@localhost:80",
			"the address must not hold a user or password",
		},
		"a query": {
			"https://api.fast.io/current?token=canary-secret",
			"the address must not hold a query or fragment",
		},
		"an empty query": {"https://api.fast.io/?", "the address must not hold a query or fragment"},
		"a fragment": {
			"https://api.fast.io/#canary-secret",
			"the address must not hold a query or fragment",
		},
		"an escaped slash": {
			"https://proxy.test/a%2Fcanary-secret",
			"the path must not hold escaped slashes",
		},
		"a line break": {"https://api.fast.io/\ncanary-secret", "the address is not a URL"},
		"a way up":     {"http://proxy.test/../..", "the path must not hold dot segments"},
		"a dot":        {"https://api.fast.io/./api", "the path must not hold dot segments"},
	}, func(t *testing.T, tc row) {
		_, err := transport.ParseBase(tc.address)
		if err == nil || err.Error() != tc.want {
			t.Errorf("ParseBase(%q) fails with %v, want %s", tc.address, err, tc.want)
		}
	})
}

// What belongs to the host, and not to the API on it, has no prefix.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	const user, id = "/current/user/{user_id}/details/", "a/b c@d"
	for want, tc := range map[string]struct {
		prefix string
		path   api.Route
	}{
		"https://h/team/api/current/ping/": {"/team/api", api.Path("/current/ping/")},
		"https://h/.well-known/oauth-authorization-server/": {
			"/api",
			api.Path("/.well-known/oauth-authorization-server/"),
		},
		"https://h/currently/":                                       {"/api", api.Path("/currently/")},
		"https://h/api/current/user/a%2Fb%20c%40d/details/":          {"/api", api.Path(user, id)},
		"https://h/gr%C3%B6%C3%9Fe%20x/current/user/..%2Fb/details/": {"/größe x", api.Path(user, "../b")},
	} {
		path, raw := tc.path.Split()
		u := (transport.Base{Scheme: "https", Host: "h", Prefix: tc.prefix}).URL(path, raw, "")
		if got := u.String(); got != want {
			t.Errorf("the URL is %s, want %s", got, want)
		}
	}
}

// An address never comes back in an error: it may hold what its owner would not
// show.
func FuzzParseBase(f *testing.F) {
	for _, s := range []string{
		"https://api.fast.io/current", "localhost:80", "[::1]", "https://me:pw@h/", "//h//api//",
		"https://h/%2f",
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
		again, err := transport.ParseBase(b.String())
		if err != nil {
			t.Fatalf("%q becomes %s, which is refused: %v", address, b, err)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Errorf("%q becomes %s, which is another base (-want +got):\n%s", address, b, diff)
		}
	})
}
