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
		Name: "Brass", Description: "What does not rust", Projection: []string{"material"},
		Filters: []api.Filter{api.Equals("material", "brass"), api.NotExists("sold")},
	}
	return []step{
		between((*world).shelve),
		between((*world).tell),
		{"Fields.List", func(c call) (any, error) { return c.Metadata.Fields.List(c, workspaceID, nil) }},
		{"Fields.List", func(c call) (any, error) {
			return c.Metadata.Fields.List(c, workspaceID, &metadata.ListOptions{PageSize: 2}, api.Terse)
		}},
		{"Fields.Values", func(c call) (any, error) {
			return c.Metadata.Fields.Values(c, workspaceID, "material", nil)
		}},
		{"Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, " Weight (kg) ", api.FactTypeFloat)
		}},
		{"Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, "Stuff", api.FactTypeString)
		}},
		{"Fields.Declare", func(c call) (any, error) {
			return c.Metadata.Fields.Declare(c, workspaceID, "<weight>", api.FactTypeFloat)
		}},
		{"Fields.MergeCandidates", func(c call) (any, error) {
			return c.Metadata.Fields.MergeCandidates(c, workspaceID, 0)
		}},
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Preflight(c, workspaceID, "MA-terial", "stuff")
		}},
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "material")
		}},
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "material")
		}},
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "ma-terial", "wheels")
		}},
		fault("metadata.Fields.Merge", fastiotest.Fault{
			Status: http.StatusServiceUnavailable, Text: "The vocabulary is in use.",
		}),
		{"Fields.Merge", func(c call) (any, error) {
			return c.Metadata.Fields.Merge(c, workspaceID, "material", "wheels")
		}},
		{"Facts.Get", func(c call) (any, error) { return c.Metadata.Facts.Get(c, workspaceID, drawingID) }},
		{"Facts.Get", func(c call) (any, error) { return c.Metadata.Facts.Get(c, workspaceID, folderID) }},
		{"Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{
				"sold": false, "price": int64(9007199254740993), "parts": []any{"wheel", 2}, "material": "",
				"built": "1837-12-01",
			})
		}},
		{"Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{"price": "dear", "sold": true})
		}},
		fault("metadata.Facts.Set", fastiotest.Fault{
			Status: http.StatusNotAcceptable, Code: 10022, Text: "Not accepted.",
		}),
		{"Facts.Set", func(c call) (any, error) {
			return c.Metadata.Facts.Set(c, workspaceID, oiledNote, map[string]any{"sold": true})
		}},
		{"Eligible", func(c call) (any, error) {
			return c.Metadata.Eligible(c, workspaceID, &metadata.EligibleOptions{Category: api.CategoryEngineering})
		}},
		{"Eligible", func(c call) (any, error) {
			return c.Metadata.Eligible(c, workspaceID, &metadata.EligibleOptions{Extension: "md"}, api.Terse)
		}},
		{"Details", func(c call) (any, error) {
			return c.Metadata.Details(c, workspaceID, []api.OpaqueID{drawingID, folderID, missingNode})
		}},
		{"Details", func(c call) (any, error) { // each of which fails
			return c.Metadata.Details(c, workspaceID, []api.OpaqueID{missingNode, "nonsense", api.Root, folderID})
		}},
		{"Details", func(c call) (any, error) { // sent twice, as one alone is answered in another form
			return c.Metadata.Details(c, workspaceID, []api.OpaqueID{drawingID})
		}},
		{"Versions", func(c call) (any, error) { return c.Metadata.Versions(c, workspaceID, oiledNote) }},
		{"Facts.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Facts.Delete(c, workspaceID, oiledNote, []string{"sold"})
		}},
		{"Facts.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Facts.DeleteAll(c, workspaceID, oiledNote)
		}},
		{"Extract", func(c call) (any, error) { return c.Metadata.Extract(c, workspaceID, oiledNote, nil) }},
		{"Extract", func(c call) (any, error) {
			return c.Metadata.Extract(c, workspaceID, drawingID, []string{"material"})
		}},
		{"ExtractAll", func(c call) (any, error) { return c.Metadata.ExtractAll(c, workspaceID, folderID) }},
		{"Jobs", func(c call) (any, error) { return c.Metadata.Jobs(c, workspaceID) }},
		learning("Filters.Create",
			func(c call) (*metadata.SavedFilter, error) { return c.Metadata.Filters.Create(c, workspaceID, brass) },
			func(w *world, f *metadata.SavedFilter) { w.filter = f.ID }),
		{"Filters.List", func(c call) (any, error) { return c.Metadata.Filters.List(c, workspaceID, nil) }},
		{"Filters.Nodes", func(c call) (any, error) { return c.Metadata.Filters.Nodes(c, workspaceID, c.filter, nil) }},
		{"Filters.Update", func(c call) (any, error) {
			return c.Metadata.Filters.Update(c, workspaceID, c.filter, metadata.FilterRequest{
				Name: "Wheels", Filters: []api.Filter{api.Exists("wheels")},
			})
		}},
		{"Filters.Get", func(c call) (any, error) { return c.Metadata.Filters.Get(c, workspaceID, c.filter) }},
		{"Filters.Delete", func(c call) (any, error) {
			return nil, c.Metadata.Filters.Delete(c, workspaceID, c.filter)
		}},
		{"Filters.Get", func(c call) (any, error) { return c.Metadata.Filters.Get(c, workspaceID, c.filter) }},
	}
}
