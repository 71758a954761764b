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
	filter := func(w *world) api.OpaqueID { return w.filter }
	brass := metadata.FilterRequest{
		Name: "Brass", Description: "What does not rust", Projection: []string{"material"},
		Filters: []api.Filter{api.Equals("material", "brass"), api.NotExists("sold")},
	}
	return []step{
		between((*world).shelve),
		between((*world).tell),
		makes("Fields.List", workspaceID, nil),
		makes("Fields.List", workspaceID, &metadata.ListOptions{PageSize: 2}, api.Terse),
		makes("Fields.Values", workspaceID, "material", nil),
		makes("Fields.Declare", workspaceID, " Weight (kg) ", api.FactTypeFloat),
		makes("Fields.Declare", workspaceID, "Stuff", api.FactTypeString),
		makes("Fields.Declare", workspaceID, "<weight>", api.FactTypeFloat),
		makes("Fields.MergeCandidates", workspaceID, 0),
		makes("Fields.Preflight", workspaceID, "MA-terial", "stuff").as("Fields.Merge"),
		makes("Fields.Merge", workspaceID, "ma-terial", "material"),
		makes("Fields.Merge", workspaceID, "ma-terial", "material"),
		makes("Fields.Merge", workspaceID, "ma-terial", "wheels"),
		fault("metadata.Fields.Merge", fastiotest.Fault{
			Status: http.StatusServiceUnavailable, Text: "The vocabulary is in use.",
		}),
		makes("Fields.Merge", workspaceID, "material", "wheels"),
		makes("Facts.Get", workspaceID, drawingID),
		makes("Facts.Get", workspaceID, folderID),
		makes("Facts.Set", workspaceID, oiledNote, map[string]any{
			"sold": false, "price": int64(9007199254740993), "parts": []any{"wheel", 2}, "material": "",
			"built": "1837-12-01",
		}),
		makes("Facts.Set", workspaceID, oiledNote, map[string]any{"price": "dear", "sold": true}),
		fault("metadata.Facts.Set", fastiotest.Fault{
			Status: http.StatusNotAcceptable, Code: 10022, Text: "Not accepted.",
		}),
		makes("Facts.Set", workspaceID, oiledNote, map[string]any{"sold": true}),
		makes("Eligible", workspaceID, &metadata.EligibleOptions{Category: api.CategoryEngineering}),
		makes("Eligible", workspaceID, &metadata.EligibleOptions{Extension: "md"}, api.Terse),
		makes("Details", workspaceID, []api.OpaqueID{drawingID, folderID, missingNode}),
		// each of which fails
		makes("Details", workspaceID, []api.OpaqueID{missingNode, "nonsense", api.Root, folderID}),
		// sent twice, as one alone is answered in another form
		makes("Details", workspaceID, []api.OpaqueID{drawingID}),
		makes("Versions", workspaceID, oiledNote),
		makes("Facts.Delete", workspaceID, oiledNote, []string{"sold"}),
		makes("Facts.DeleteAll", workspaceID, oiledNote).as("Facts.Delete"),
		makes("Extract", workspaceID, oiledNote, nil),
		makes("Extract", workspaceID, drawingID, []string{"material"}),
		makes("ExtractAll", workspaceID, folderID),
		makes("Jobs", workspaceID),
		learns(makes("Filters.Create", workspaceID, brass), func(w *world, f *metadata.SavedFilter) {
			w.filter = f.ID
		}),
		makes("Filters.List", workspaceID, nil),
		makes("Filters.Nodes", workspaceID, filter, nil),
		makes("Filters.Update", workspaceID, filter, metadata.FilterRequest{
			Name: "Wheels", Filters: []api.Filter{api.Exists("wheels")},
		}),
		makes("Filters.Get", workspaceID, filter),
		makes("Filters.Delete", workspaceID, filter),
		makes("Filters.Get", workspaceID, filter),
	}
}
