package contract_test

import (
	"net/http"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/storage"
)

// Names of what the scene stores.
const (
	folderID     = api.OpaqueID("2f01d-3r0ft-h3m11-1b3ta-12345-6789")
	oiledNote    = api.OpaqueID("2n0te-0nth3-m111b-3ta12-34567-8901")
	oiledVersion = api.OpaqueID("3v3rs-10n0f-th3n0-teb3t-a1234-5678")
	linkNode     = api.OpaqueID("211nk-t0th3-m111b-3ta12-34567-8901")
	missingNode  = api.OpaqueID("2m155-1ngm1-11b3t-a1234-56789-0123")
	posterFile   = api.OpaqueID("2p0st-er0ft-h3p0r-ta1b3-ta123-4567")
)

// shelve adds files, folders and notes to the workspace, and a share.
func (w *world) shelve() {
	ada, at := w.server.User().ID, time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	w.server.AddNode(fastiotest.Node{
		ID: folderID, Profile: workspaceID, Kind: "folder", Name: "Drawings & notes", Creator: ada, Created: at,
		Updated: at,
	})
	w.server.AddNode(fastiotest.Node{
		ID: drawingID, Profile: workspaceID, Parent: folderID, Name: "Mühle №1.pdf", Creator: ada, Created: at,
		Updated: at.Add(time.Hour),
		Content: "The mill grinds numbers.\n\nIts wheels are of brass.\fThe store holds a thousand numbers.",
		Summary: "How the mill works.",
	})
	w.server.AddNode(fastiotest.Node{
		ID: oiledNote, Profile: workspaceID, Kind: "note", Name: "Mill.md", Creator: ada, Created: at,
		Updated: at.Add(2 * time.Hour),
		Versions: []fastiotest.Version{
			{ID: oiledVersion, Content: "# The mill\n\nWheels: 25000\n\nIt needs oil.", Creator: ada, Created: at},
		},
	})
	w.server.AddNode(fastiotest.Node{
		ID: linkNode, Profile: workspaceID, Kind: "link", Name: "Elsewhere", Creator: ada, Created: at, Updated: at,
	})
	w.server.AddNode(fastiotest.Node{
		Profile: workspaceID, Name: "Old mill.pdf", Creator: ada, Created: at, Updated: at, Trashed: true,
	})
	w.server.AddShare(fastiotest.Share{
		ID: shareID, Org: orgID, Title: "Portal", Access: "Anyone with the link", Password: "m111",
	})
	w.server.AddNode(fastiotest.Node{
		ID: posterFile, Profile: shareID, Name: "Poster.png", Content: "A mill.", Creator: ada, Created: at,
		Updated: at,
	})
	w.server.AddComment(fastiotest.Comment{
		ID: questionID, Profile: workspaceID, Node: drawingID, User: ada, Created: at, Body: "Does the mill rust?",
	})
}

func storageSteps() []step {
	workspace, share := api.Workspace(workspaceID), api.Share(shareID)
	token := &api.LinkToken{Secret: api.NewSecret("m111")}
	return []step{
		between((*world).shelve),
		makes("List", workspace, api.Root, nil),
		makes("List", workspace, folderID,
			&storage.ListOptions{SortBy: storage.SortByUpdated, Descending: true}, api.Standard),
		{"List", func(c call) (any, error) {
			return c.Storage.List(c, workspace, api.Trash, &storage.ListOptions{PageSize: 250}, api.Terse)
		}},
		{"List", func(c call) (any, error) {
			return c.Storage.List(c, share, api.Root, nil, token)
		}},
		{"List", func(c call) (any, error) {
			return c.Storage.List(c, workspace, api.Root, &storage.ListOptions{Cursor: "stale"})
		}},
		{"Get", func(c call) (any, error) { return c.Storage.Get(c, workspace, drawingID) }},
		{"Get", func(c call) (any, error) { return c.Storage.Get(c, share, posterFile, token) }},
		{"Get", func(c call) (any, error) { return c.Storage.Get(c, workspace, missingNode) }},
		{"GetMany", func(c call) (any, error) {
			return c.Storage.GetMany(c, workspace, []api.OpaqueID{oiledNote, missingNode, linkNode})
		}},
		{"GetMany", func(c call) (any, error) {
			return c.Storage.GetMany(c, workspace, []api.OpaqueID{missingNode})
		}},
		{"GetMany", func(c call) (any, error) {
			return c.Storage.GetMany(c, share, []api.OpaqueID{posterFile}, token)
		}},
		{"GetMany", func(c call) (any, error) { // each of which fails
			return c.Storage.GetMany(c, workspace, []api.OpaqueID{missingNode, "nonsense"})
		}},
		{"Recent", func(c call) (any, error) {
			return c.Storage.Recent(c, workspaceID, &storage.RecentOptions{Type: api.NodeTypeNote})
		}},
	}
}

func searchSteps() []step {
	workspace, share := api.Workspace(workspaceID), api.Share(shareID)
	return []step{
		between((*world).shelve),
		between((*world).tell),
		makes("Storage", workspace, search.Query{Text: "mill"}),
		makes("Storage", workspace, search.Query{
			Text: "brass", Details: true, Limit: 1,
			Within: []search.Scope{search.InFile(oiledNote, oiledVersion), search.InFolder(folderID, 1)},
		}),
		makes("Storage", workspace, search.Query{
			Text: "*.md", Target: search.TargetFilename, NameMatch: search.NameMatchGlob,
		}),
		makes("Storage", workspace, search.Query{
			Text: "mill", Filters: []api.Filter{api.Equals("wheels", 25000)}, Category: api.CategoryEngineering,
		}),
		makes("Storage", share, search.Query{Text: "poster", Target: search.TargetContent}),
		makes("Storage", workspace, search.Query{Text: "mill", Within: []search.Scope{search.InFolder(oiledNote, 1)}}),
		fault("search.Storage", fastiotest.Fault{
			Status: http.StatusServiceUnavailable, Text: "Temporarily Unavailable.",
		}),
		makes("Storage", workspace, search.Query{
			Text: "mill", Filters: []api.Filter{api.Exists("wheels")},
		}, api.Attempts(1)),
		makes("Unified", workspace, search.UnifiedQuery{Text: "mill", Facts: true, Files: search.Window{Limit: 1}}),
		makes("Unified", share, search.UnifiedQuery{Text: "poster"}),
		makes("Metadata", workspaceID, "brass", &search.ValuesOptions{Limit: 5}),
		makes("Compound", workspaceID, search.CompoundQuery{
			Filters: []api.Filter{api.Exists("wheels")}, Text: "wheels", Limit: 5000,
		}),
	}
}

func howToSteps() []step {
	return []step{
		makes("Ask", howto.Question{Text: "How do I list metadata fields?", Surface: howto.SurfaceCode}),
		makes("Ask", howto.Question{Text: "Help?"}),
		fault("howto.Ask", fastiotest.Fault{
			Status: http.StatusTooManyRequests, Code: 145858, Text: "Another question of yours is being answered.",
		}),
		makes("Ask", howto.Question{Text: "Help?"}),
	}
}
