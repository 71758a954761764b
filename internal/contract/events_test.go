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
		learns(makes("Search", inWorkspace), func(w *world, p *events.Page) {
			if p.Pagination != nil {
				w.cursor = p.Pagination.NextCursor
			}
		}),
		makes("Search", func(w *world) events.Query {
			q := inWorkspace
			q.Cursor = w.cursor
			return q
		}),
		makes("Search", events.Query{Profile: api.Org(orgID), Visibility: events.VisibilityAudit}),
		makes("Search", events.Query{ParentEventID: uploadEvent}, api.Terse),
		makes("Search", events.Query{Profile: api.Workspace(orgID)}),
		makes("Search", events.Query{Profile: api.Org(orgID), Event: "org_updated"}),
		{"Search", func(c call) (any, error) {
			var answer api.Response
			_, err := c.Events.Search(c, inWorkspace, api.WithResponse(&answer))
			return map[string]int{
				"Limit": answer.Rate.Limit, "Remaining": answer.Rate.Remaining,
				"Seconds": int(time.Until(answer.Rate.Reset).Seconds()),
			}, err
		}},
		makes("Summarize", inWorkspace, "drawings"),
		makes("Get", uploadEvent),
		makes("Get", missingEvent),
		fault("events.Get", fastiotest.Fault{
			Status: http.StatusForbidden, Code: 155104, Text: "The organization blocks your location.",
			Params: map[string]any{"reason": "geo_restricted"},
		}),
		makes("Get", childEvent),
		makes("Ack", uploadEvent),
		learns(makes("Changes", orgID, nil), func(w *world, p *events.ChangePage) { w.feed = p.Cursor }),
		between((*world).addEvent),
		makes("Changes", orgID, func(w *world) *events.ChangeOptions {
			return &events.ChangeOptions{Cursor: w.feed, Limit: 10}
		}),
	}
}
