package contract_test

import (
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/fastiotest"
)

// addEvent adds to the log, so that a feed has a change.
func (w *world) addEvent() {
	w.server.AddEvent(fastiotest.Event{
		ID: "e1at3r0fth3up10adb3ta12345678", Name: "workspace_storage_file_updated", Workspace: workspaceID,
		CallingUser: w.server.User().ID, Object: "2f11e0fdr4w1ngs0fth3m111b3ta1", ObjectName: "Mühle №1.pdf",
	})
}

func eventSteps() []step {
	inWorkspace := events.Query{Profile: api.Workspace(workspaceID), Limit: 2}
	return []step{
		{"Search", func(c call) (any, error) {
			p, err := c.Events.Search(c, inWorkspace)
			if err == nil && p.Pagination != nil {
				c.cursor = p.Pagination.NextCursor
			}
			return p, err
		}},
		{"Search", func(c call) (any, error) {
			q := inWorkspace
			q.Cursor = c.cursor
			return c.Events.Search(c, q)
		}},
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Org(orgID), Visibility: events.VisibilityAudit})
		}},
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{ParentEventID: uploadEvent}, api.Terse)
		}},
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Workspace(orgID)})
		}},
		markdown("Search", func(c call, o api.CallOption) (any, error) {
			return c.Events.Search(c, inWorkspace, o, api.Terse)
		}),
		markdown("Search", func(c call, o api.CallOption) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Workspace(orgID)}, o)
		}),
		{"Search", func(c call) (any, error) {
			return c.Events.Search(c, events.Query{Profile: api.Org(orgID), Event: "org_updated"})
		}},
		{"Search", func(c call) (any, error) {
			var answer api.Answer
			_, err := c.Events.Search(c, inWorkspace, api.Raw(&answer))
			return map[string]int{
				"Limit": answer.Rate.Limit, "Remaining": answer.Rate.Remaining,
				"Seconds": int(time.Until(answer.Rate.Reset).Seconds()),
			}, err
		}},
		{"Summarize", func(c call) (any, error) { return c.Events.Summarize(c, inWorkspace, "drawings") }},
		{"Get", func(c call) (any, error) { return c.Events.Get(c, uploadEvent) }},
		{"Get", func(c call) (any, error) { return c.Events.Get(c, missingEvent) }},
		fault("events.Get", fastiotest.Fault{
			Status: http.StatusForbidden, Code: 155104, Text: "The organization blocks your location.",
			Params: map[string]any{"reason": "geo_restricted"},
		}),
		{"Get", func(c call) (any, error) { return c.Events.Get(c, childEvent) }},
		{"Ack", func(c call) (any, error) { return nil, c.Events.Ack(c, uploadEvent) }},
		learning("Changes",
			func(c call) (*events.ChangePage, error) { return c.Events.Changes(c, orgID, nil) },
			func(w *world, p *events.ChangePage) { w.feed = p.Cursor }),
		between((*world).addEvent),
		{"Changes", func(c call) (any, error) {
			return c.Events.Changes(c, orgID, &events.ChangeOptions{Cursor: c.feed, Limit: 10})
		}},
		markdown("Get", func(c call, o api.CallOption) (any, error) { return c.Events.Get(c, uploadEvent, o) }),
		markdown("Changes", func(c call, o api.CallOption) (any, error) { return c.Events.Changes(c, orgID, nil, o) }),
	}
}
