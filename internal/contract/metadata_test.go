package contract_test

import (
	"net/http"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/metadata"
)

// tell adds facts about what is stored, under more names than are needed.
func (w *world) tell() {
	for _, f := range []fastiotest.Fact{
		{Node: drawingID, Field: "wheels", Value: 25000, Confidence: "high", Rationale: "Page 1 says so."},
		{Node: drawingID, Field: "material", Value: "brass", Source: "user", Confidence: "certain"},
		{Node: drawingID, Field: "category", Value: "Engineering"},
		{Node: oiledNote, Field: "Wheels ", Value: "many"},
		{Node: oiledNote, Field: "ma-terial", Value: "brass"},
	} {
		w.server.AddFact(w.t, f)
	}
	w.server.AddField(fastiotest.Field{Workspace: workspaceID, Name: "stuff", MergedInto: "material"})
}

func metadataSteps() []step {
	brass := metadata.FilterRequest{
		Name: "Brass", Description: "What does not rust", Filters: []api.Filter{
			api.Equals("material", "brass"), api.NotExists("sold"),
		},
		Projection: []string{"material"},
	}
	return []step{
		between((*world).shelve),
		between((*world).tell),
		{"metadata.Fields.List", func(c call) (any, error) { return c.Metadata.Fields.List(c, workspaceID, nil) }},
		{"metadata.Fields.List", func(c call) (any, error) {
			return c.Metadata.Fields.List(c, workspaceID, &metadata.ListOptions{PageSize: 2}, api.Terse)
		}},
		{"metadata.Fields.Values", func(c call) (any, error) {
			return c.Metadata.Fields.Values(c, workspaceID, "material", nil)
		}},
		{"metadata.Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, " Weight (kg) ", api.FactTypeFloat)
		}},
		{"metadata.Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, "Stuff", api.FactTypeString)
		}},
		{"metadata.Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, "<weight>", api.FactTypeFloat)
		}},
		{"metadata.Fields.MergeCandidates", func(c call) (any, error) {
			return c.Metadata.Fields.MergeCandidates(c, workspaceID, 0)
		}},
		{"metadata.Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Preflight(c, workspaceID, "MA-terial", "stuff")
		}},
		{"metadata.Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "material")
		}},
		{"metadata.Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "material")
		}},
		{"metadata.Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "wheels")
		}},
		fault("metadata.Fields.Merge", fastiotest.Fault{
			Status: http.StatusServiceUnavailable, Text: "The vocabulary is in use.",
		}),
		{"metadata.Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "material", "wheels")
		}},
		{"metadata.Facts.Get", func(c call) (any, error) { return c.Metadata.Facts.Get(c, workspaceID, drawingID) }},
		{"metadata.Facts.Get", func(c call) (any, error) { return c.Metadata.Facts.Get(c, workspaceID, folderID) }},
		{"metadata.Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{
				"sold": false, "price": int64(9007199254740993), "parts": []any{"wheel", 2}, "material": "", "built": "1837-12-01",
			})
		}},
		{"metadata.Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{"price": "dear", "sold": true})
		}},
		fault("metadata.Facts.Set", fastiotest.Fault{Status: http.StatusNotAcceptable, Code: 10022, Text: "Not accepted."}),
		{"metadata.Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{"sold": true})
		}},
		{"metadata.Eligible", func(c call) (any, error) {
			return c.Metadata.Eligible(c, workspaceID, &metadata.EligibleOptions{Category: api.CategoryEngineering})
		}},
		{"metadata.Eligible", func(c call) (any, error) {
			return c.Metadata.Eligible(c, workspaceID, &metadata.EligibleOptions{Extension: "md"}, api.Terse)
		}},
		{"metadata.Details", func(c call) (any, error) {
			return c.Metadata.Details(c, workspaceID, []api.OpaqueID{drawingID, folderID, missingNode})
		}},
		{"metadata.Details", func(c call) (any, error) { // each of which fails
			return c.Metadata.Details(c, workspaceID, []api.OpaqueID{missingNode, "nonsense", api.Root, folderID})
		}},
		{"metadata.Details", func(c call) (any, error) { // sent twice, as one alone is answered in another form
			return c.Metadata.Details(c, workspaceID, []api.OpaqueID{drawingID})
		}},
		{"metadata.Versions", func(c call) (any, error) { return c.Metadata.Versions(c, workspaceID, oiledNote) }},
		{"metadata.Facts.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Facts.Delete(c, workspaceID, oiledNote, []string{"sold"})
		}},
		{"metadata.Facts.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Facts.DeleteAll(c, workspaceID, oiledNote)
		}},
		{"metadata.Extract", func(c call) (any, error) { return c.Metadata.Extract(c, workspaceID, oiledNote, nil) }},
		{"metadata.Extract", func(c call) (any, error) {
			return c.Metadata.Extract(c, workspaceID, drawingID, []string{"material"})
		}},
		{"metadata.ExtractAll", func(c call) (any, error) { return c.Metadata.ExtractAll(c, workspaceID, folderID) }},
		{"metadata.Jobs", func(c call) (any, error) { return c.Metadata.Jobs(c, workspaceID) }},
		{"metadata.Filters.Create", func(c call) (any, error) {
			f, err := c.Metadata.Filters.Create(c, workspaceID, brass)
			if err == nil {
				c.filter = f.ID
			}
			return f, err
		}},
		{"metadata.Filters.List", func(c call) (any, error) { return c.Metadata.Filters.List(c, workspaceID, nil) }},
		{"metadata.Filters.Nodes", func(c call) (any, error) {
			return c.Metadata.Filters.Nodes(c, workspaceID, c.filter, nil)
		}},
		{"metadata.Filters.Update", func(c call) (any, error) {
			return c.Metadata.Filters.Update(c, workspaceID, c.filter, metadata.FilterRequest{
				Name: "Wheels", Filters: []api.Filter{api.Exists("wheels")},
			})
		}},
		{"metadata.Filters.Get", func(c call) (any, error) { return c.Metadata.Filters.Get(c, workspaceID, c.filter) }},
		{"metadata.Filters.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Filters.Delete(c, workspaceID, c.filter)
		}},
		{"metadata.Filters.Get", func(c call) (any, error) { return c.Metadata.Filters.Get(c, workspaceID, c.filter) }},
	}
}
