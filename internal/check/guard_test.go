package check_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/fastio-go/fastio/internal/check"
	"github.com/fastio-go/fastio/internal/facts"
)

// sent is the network below a guard: it answers each request that reaches it.
type sent struct{ requests int }

func (s *sent) RoundTrip(*http.Request) (*http.Response, error) {
	s.requests++
	return httptest.NewRecorder().Result(), nil
}

// pass reports whether a guard sends a request.
func pass(t *testing.T, method, url string, body io.Reader) bool {
	t.Helper()
	network := &sent{}
	g, err := check.Guard(network, "https://api.fast.io", check.Allowed{Reads: check.Reads()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.RoundTrip(r)
	if resp != nil {
		_ = resp.Body.Close()
	}
	_, refused := errors.AsType[*check.RefusedError](err)
	if refused == (network.requests == 1) {
		t.Fatalf("%s %s: %v after %d requests", method, url, err, network.requests)
	}
	return !refused
}

// No endpoint passes that is not in the list, whatever its placeholders are.
func TestGuardSendsListedEndpointsOnly(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, r := range check.Reads() {
		listed[r.Key()] = true
	}
	placeholder := regexp.MustCompile(`\{[^}]+\}`)
	for _, e := range facts.Endpoints() {
		for _, value := range []string{"4210987654321098765", "2f11e0fdr4w1ngs0fth3m111b3ta1", "me", "a%2Fb"} {
			url := "https://api.fast.io" + placeholder.ReplaceAllString(e.Path, value)
			if got, want := pass(t, e.Method, url, nil), listed[e.Method+" "+e.Path]; got != want {
				t.Errorf("%s %s: sent is %t, want %t", e.Method, url, got, want)
			}
		}
	}
}

func TestGuardRefuses(t *testing.T) {
	t.Parallel()
	const me = "/current/user/me/details/"
	for name, r := range map[string]struct {
		method, url string
		body        io.Reader
	}{
		"another method":               {http.MethodPost, "https://api.fast.io" + me, nil},
		"another host":                 {http.MethodGet, "https://cdn.fast.io" + me, nil},
		"another scheme":               {http.MethodGet, "http://api.fast.io" + me, nil},
		"a GET with a body":            {http.MethodGet, "https://api.fast.io" + me, strings.NewReader("{}")},
		"a path without its slash":     {http.MethodGet, "https://api.fast.io/current/user/me/details", nil},
		"dots in place of an ID":       {http.MethodGet, "https://api.fast.io/current/user/../details/", nil},
		"dots, encoded":                {http.MethodGet, "https://api.fast.io/current/user/%2e%2E/details/", nil},
		"a body without a length":      {http.MethodGet, "https://api.fast.io" + me, io.MultiReader(strings.NewReader("{}"))},
		"another method, in the query": {http.MethodGet, "https://api.fast.io" + me + "?_method=DELETE", nil},
		"an empty ID":                  {http.MethodGet, "https://api.fast.io/current/user//details/", nil},
		"the path below another":       {http.MethodGet, "https://api.fast.io/current/x" + me, nil},
	} {
		if pass(t, r.method, r.url, r.body) {
			t.Errorf("%s is sent", name)
		}
	}
	if !pass(t, http.MethodGet, "https://api.fast.io"+me, nil) {
		t.Error("a listed endpoint is refused")
	}
}
