package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	var raw api.Response
	for name, tc := range map[string]struct {
		opts []api.CallOption
		want api.CallOptions
	}{
		"nothing": {nil, api.CallOptions{}},
		"levels in their order": {[]api.CallOption{api.Terse, api.Output("new"), api.Full}, api.CallOptions{
			Output: []api.Output{"terse", "new", "full"},
		}},
		"headers one by one": {[]api.CallOption{
			api.Header("x-note", "a"), api.Header("X-Note", "b"), api.Header("Y", "c"),
		}, api.CallOptions{Header: http.Header{"X-Note": {"a", "b"}, "Y": {"c"}}}},
		"the answer": {[]api.CallOption{api.WithResponse(&raw)}, api.CallOptions{Response: &raw}},
		"bounds, the last one wins": {[]api.CallOption{
			api.Timeout(1), api.Timeout(time.Second), api.Attempts(2), api.MaxWait(api.NoLimit),
		}, api.CallOptions{Timeout: time.Second, Attempts: 2, MaxWait: -1}},
	} {
		got := api.Resolve(tc.opts)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if got.Response != tc.want.Response {
			t.Error(name, "another place would be filled")
		}
	}
}

// Options may be kept and used again: what one call made of them is its own.
func TestOptionsAreNotShared(t *testing.T) {
	t.Parallel()
	opts := []api.CallOption{api.Header("X-Note", "a"), api.Terse}
	first := api.Resolve(opts)
	first.Header.Set("X-Note", "b")
	first.Output[0] = "changed"
	if diff := cmp.Diff(
		api.CallOptions{Header: http.Header{"X-Note": {"a"}}, Output: []api.Output{api.Terse}}, api.Resolve(opts),
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
