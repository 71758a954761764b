package fastio_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
)

// What belongs to no account is read without a token, even by a client that has
// one.
func TestSystem(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	c := s.Client(t)
	ctx := t.Context()
	if h, err := c.Ping(ctx); err != nil || h.Status != "ok" || h.Service != "fast.io" || h.Timestamp.IsZero() {
		t.Errorf("Ping is %+v, %v", h, err)
	}
	if h, err := c.Status(ctx); err != nil || h.Status != "ok" || h.Extra["system"] == nil {
		t.Errorf("Status is %+v, %v", h, err)
	}
	for name, read := range map[string]func() (string, error){
		"Docs":      func() (string, error) { return c.Docs(ctx) },
		"DocsFull":  func() (string, error) { return c.DocsFull(ctx) },
		"DocsTopic": func() (string, error) { return c.DocsTopic(ctx, "events") },
		"Agents":    func() (string, error) { return c.Agents(ctx) },
	} {
		if text, err := read(); err != nil || !strings.Contains(text, "# ") {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	var paths []string
	for _, r := range s.Requests() {
		paths = append(paths, r.Path)
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s carries a token", r.Op)
		}
	}
	if len(paths) != 6 {
		t.Errorf("the calls went to %s", paths)
	}
	if _, err := c.DocsTopic(ctx, "nothing"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an unknown topic is %v", err)
	}
	if _, err := c.DocsTopic(ctx, ""); !errors.Is(err, api.ErrInvalid) || err.Error() != `fastio: system.DocsTopic: topic must be neither blank nor made of dots, got ""` {
		t.Errorf("no topic is %v", err)
	}
}

func TestHealthOfAnotherForm(t *testing.T) {
	t.Parallel()
	w := &wire{body: `{"result":"yes","response":{"status":"degraded","since":1767607203}}`}
	h, err := w.client(t).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&fastio.Health{Status: "degraded", Extra: map[string]json.RawMessage{"since": json.RawMessage("1767607203")}}, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := w.seen[0]; r.Header.Get("Authorization") != "" {
		t.Error("Status carries a token")
	}
}

func TestIntrospect(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	c := s.Client(t)
	told, err := c.Introspect(t.Context(), api.Path("/current/events/search/"))
	if err != nil || !json.Valid(told) || !strings.Contains(string(told), "limit") {
		t.Errorf("the search tells %s, %v", told, err)
	}
	if r := s.Requests()[0]; r.Method != http.MethodOptions || r.Header.Get("Authorization") == "" {
		t.Errorf("it was asked by %s with %v", r.Method, r.Header)
	}
	if _, err := c.Introspect(t.Context(), api.Path("/current/ping/")); !errors.Is(err, api.ErrUnsupported) {
		t.Errorf("an endpoint that tells nothing is %v", err)
	}
	if _, err := c.Introspect(t.Context(), api.Path("/current/nothing/")); !errors.Is(err, api.ErrNotFound) || !errors.Is(err, api.ErrUnsupported) {
		t.Errorf("no endpoint is %v", err)
	}
	if _, err := c.Introspect(t.Context(), api.Path("/current/event/{event_id}/details/", "")); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("no path is %v", err)
	}
}
