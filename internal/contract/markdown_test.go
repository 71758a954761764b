package contract_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// Any list and any record can be had as text; the typed result is then empty.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	s := fastiotest.New()
	w := s.AddWorkspace(fastiotest.Workspace{Name: "Design"})
	e := s.AddEvent(fastiotest.Event{Name: "comment_created", Workspace: w.ID})
	query := events.Query{Profile: api.Workspace(w.ID)}
	for name, get := range map[string]func(ctx context.Context, c *fastio.Client, o ...api.CallOption) (any, error){
		"a user": func(ctx context.Context, c *fastio.Client, o ...api.CallOption) (any, error) {
			return c.Account.Me(ctx, o...)
		},
		"a workspace": func(ctx context.Context, c *fastio.Client, o ...api.CallOption) (any, error) {
			return c.Account.Workspaces.Get(ctx, w.ID, o...)
		},
		"workspaces": func(ctx context.Context, c *fastio.Client, o ...api.CallOption) (any, error) {
			return c.Account.Workspaces.List(ctx, nil, o...)
		},
		"organizations": func(ctx context.Context, c *fastio.Client, o ...api.CallOption) (any, error) {
			return c.Account.Orgs.List(ctx, nil, o...)
		},
		"an event": func(ctx context.Context, c *fastio.Client, o ...api.CallOption) (any, error) {
			return c.Events.Get(ctx, e.ID, o...)
		},
		"events": func(ctx context.Context, c *fastio.Client, o ...api.CallOption) (any, error) {
			return c.Events.Search(ctx, query, o...)
		},
		"what changed": func(ctx context.Context, c *fastio.Client, o ...api.CallOption) (any, error) {
			return c.Events.Changes(ctx, s.Org().ID, nil, o...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text string
			got, err := get(t.Context(), s.Client(t), api.Markdown(&text), nil)
			if err != nil || got == nil || !strings.HasPrefix(text, "**Result:**") {
				t.Errorf("got %v, %v and the text %q", got, err, text)
			}
		})
	}
}
