package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fastio-go/fastio/internal/checktest"
)

// Errors that are printed have no text of a response: not its words, not an address.
func TestErrorsHoldNoValues(t *testing.T) {
	t.Parallel()
	const text = `{"result":false,"error":{"code":10760,"text":"Zqcanary is in use by zqcanary@zqcanary.test.",` +
		`"params":[{"name":"zqcanary","kind":"zqcanary","message":"Zqcanary"}],"reason":"zqcanary"}}`
	for name, c := range map[string]struct {
		spoils  func(r *http.Request) bool
		status  int
		answer  string
		args    []string
		becomes string // part of what is printed
	}{
		"deletions fail": {
			func(r *http.Request) bool { return r.Method == http.MethodDelete },
			http.StatusInternalServerError, text, writes, "-clean",
		},
		"deletions are refused": {
			func(r *http.Request) bool { return r.Method == http.MethodDelete },
			http.StatusForbidden, text, writes, "status 403, code 10760",
		},
		"a list cannot be read": {
			func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/workspaces/all/") },
			http.StatusOK, `{"result":true,"workspaces":{"zqcanary":"zqcanary"},"zqcanary`,
			[]string{"-clean"},
			"workspaces.List: ",
		},
		"the second key is refused": {
			func(r *http.Request) bool {
				return strings.HasSuffix(r.URL.Path, "/user/me/details/") && r.Header.Get("X-Second") != ""
			},
			http.StatusForbidden, text, writes, "the second key",
		},
		"a redirect": {
			func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/user/me/details/") },
			http.StatusFound, "", nil, "302",
		},
		"a redirect to a name": {
			func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/user/me/details/") },
			http.StatusPermanentRedirect, "", nil, "308",
		},
		"no JSON": {
			func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/user/me/details/") },
			http.StatusOK, "Zqcanary", nil, "account.Me: the response cannot be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := checktest.New(t)
				environment := env(s)
				platform := s.StartInMemory(t).Transport
				r := runOver(t.Context(), t, network(func(r *http.Request) (*http.Response, error) {
					if r.Header.Get("Authorization") == "Bearer "+environment[secondKey] {
						r.Header.Set("X-Second", "yes")
					}
					resp, err := platform.RoundTrip(r)
					if err != nil || !c.spoils(r) {
						return resp, err
					}
					_ = resp.Body.Close()
					resp.StatusCode, resp.Body, resp.ContentLength = c.status, io.NopCloser(strings.NewReader(c.answer)), -1
					resp.Header.Set("Location", "https://zqcanary.test/zqcanary")
					return resp, nil
				}), environment, "y\n", c.args...)
				printed := r.out + r.progress
				if r.status == succeeded || !strings.Contains(printed, c.becomes) {
					t.Errorf("status %d, want %q: %s", r.status, c.becomes, r.progress)
				}
				if at := strings.Index(strings.ToLower(printed), checktest.Canary); at >= 0 {
					t.Errorf("it prints a canary: ...%s", printed[max(0, at-200):min(len(printed), at+100)])
				}
			})
		})
	}
}
