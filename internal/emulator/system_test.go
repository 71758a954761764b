package emulator_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func TestSystemNeedsNoCredential(t *testing.T) {
	t.Parallel()
	w := unlimited()
	tests := map[string]struct {
		path, kind, has string
		status          int
	}{
		"ping":          {"/ping/", "application/json", `"service":"fast.io"`, 200},
		"status":        {"/system/status/", "application/json", `"state":"operational"`, 200},
		"index":         {"/llms/", "text/markdown; charset=UTF-8", "- [events](/current/llms/events/)", 200},
		"everything":    {"/llms/full/", "text/markdown; charset=UTF-8", "## GET /current/org/{org_id}/events/changes/", 200},
		"topic":         {"/llms/events/", "text/markdown; charset=UTF-8", "- `created-min` (query, datetime) inclusive", 200},
		"unknown topic": {"/llms/cooking/", "application/json", `"code":199002`, 404},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.with(t, "", http.MethodGet, test.path)
			if got.Status != test.status || got.Header.Get("Content-Type") != test.kind || !strings.Contains(got.Body, test.has) {
				t.Errorf("%d %s: %s", got.Status, got.Header.Get("Content-Type"), got.Body)
			}
		})
	}
	if got := w.with(t, "", http.MethodGet, "/agents/"); got.Status != 200 || !strings.HasPrefix(got.Body, "Version: ") {
		t.Errorf("agents: %d %s", got.Status, got.Body)
	}
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	w := unlimited()
	got := w.with(t, "", http.MethodOptions, "/event/any/details/")
	want := map[string]any{
		"result": true, "status": "ok", "current_api_version": "1.0",
		"endpoint": map[string]any{"method": "GET", "path": "/current/event/{event_id}/details/"},
		"parameters": []any{
			map[string]any{"name": "event_id", "source": "path", "required": true, "type": "opaque_id", "constraint": "with or without hyphens"},
			map[string]any{"name": "output", "source": "query", "required": false, "type": "string", "constraint": "terse, standard or full; markdown"},
		},
	}
	if diff := cmp.Diff(want, got.JSON); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{"/events/search/", "/events/search/summarize/", "/org/x/events/changes/", "/event/x/ack/", "/orgs/list/", "/org/x/list/workspaces/", "/workspace/x/details/"} {
		if got := w.with(t, "", http.MethodOptions, path); got.Status != 200 || got.get("parameters") == nil {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	if got := w.with(t, "", http.MethodOptions, "/ping/"); got.Status != 405 || got.Header.Get("Allow") != "GET" {
		t.Errorf("ping: %d %v", got.Status, got.Header)
	}
	if got := w.with(t, "", http.MethodOptions, "/nowhere/"); got.Status != 404 || got.code() != 9992 {
		t.Errorf("nowhere: %d %s", got.Status, got.Body)
	}
	if op := w.Requests()[0].Op; op != "system.Introspect" {
		t.Errorf("recorded as %q", op)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	w := unlimited()
	tests := map[string]struct {
		method, url string
		status      int
		code        int
		allow       string
	}{
		"unknown path":              {"GET", "/api/current/cooking/", 404, 9992, ""},
		"no trailing slash":         {"GET", "/api/current/ping", 404, 9992, ""},
		"outside the prefix":        {"GET", "/current/ping/", 404, 9992, ""},
		"a prefix that only begins": {"GET", "/apicurrent/ping/", 404, 9992, ""},
		"the root":                  {"GET", "/", 404, 9992, ""},
		"more behind a path":        {"GET", "/api/current/ping/x/", 404, 9992, ""},
		"two slashes":               {"GET", "/api/current//ping/", 404, 9992, ""},
		"two dots":                  {"GET", "/api/current/x/../ping/", 404, 9992, ""},
		"an escaped slash":          {"GET", "/api/current/llms/a%2Fb/", 404, 199002, ""},
		"a wrong method":            {"POST", "/api/current/ping/", 405, 10003, "GET"},
		"HEAD":                      {"HEAD", "/api/current/ping/", 405, 0, "GET"},
		"GET where POST belongs":    {"GET", "/api/current/event/x/ack/", 405, 10003, "POST"},
		"a method of no endpoint":   {"BREW", "/api/current/ping/", 405, 10003, "GET"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), test.method, "http://emulator.test"+test.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := w.send(t, r)
			if got.Status != test.status || test.method != "HEAD" && got.code() != test.code || got.Header.Get("Allow") != test.allow {
				t.Errorf("%d %q %s", got.Status, got.Header.Get("Allow"), got.Body)
			}
			if got.Header.Get("Location") != "" {
				t.Error("a redirect")
			}
		})
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	for prefix, path := range map[string]string{"": "/api", "/": "", "/v/x": "/v/x", "/y/": "/y"} {
		s := emulator.New(emulator.Options{Prefix: prefix})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x"+path+"/current/ping/", nil)
		p, err := s.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		p.Body.Close()
		if p.StatusCode != http.StatusOK {
			t.Errorf("prefix %q: %d", prefix, p.StatusCode)
		}
	}
}
