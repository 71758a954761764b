package fastio_test

import (
	"context"
	"net/http"
	"time"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/storage"
)

// Names of what the scene stores.
const (
	sceneFolder  = api.OpaqueID("2f01d3r0fth3m111b3ta123456789")
	sceneOiled   = api.OpaqueID("2n0te0nth3m111b3ta12345678901")
	sceneOiledV  = api.OpaqueID("3v3rs10n0fth3n0teb3ta12345678")
	sceneLink    = api.OpaqueID("211nkt0th3m111b3ta12345678901")
	sceneMissing = api.OpaqueID("2m1551ngm111b3ta1234567890123")
	scenePoster  = api.OpaqueID("2p0ster0fth3p0rta1b3ta1234567")
)

// shelve adds files, folders and notes to the workspace, and a share.
func (s *scene) shelve() {
	if s.server == nil {
		return
	}
	ada, at := s.server.User().ID, time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	s.server.AddNode(fastiotest.Node{
		ID: sceneFolder, Profile: sceneWorkspace, Kind: "folder", Name: "Drawings & notes", Creator: ada, Created: at, Updated: at,
	})
	s.server.AddNode(fastiotest.Node{
		ID: sceneDrawing, Profile: sceneWorkspace, Parent: sceneFolder, Name: "Mühle №1.pdf", Creator: ada, Created: at, Updated: at.Add(time.Hour),
		Content: "The mill grinds numbers.\n\nIts wheels are of brass.\fThe store holds a thousand numbers.", Summary: "How the mill works.",
	})
	s.server.AddNode(fastiotest.Node{
		ID: sceneOiled, Profile: sceneWorkspace, Kind: "note", Name: "Mill.md", Creator: ada, Created: at, Updated: at.Add(2 * time.Hour),
		Versions: []fastiotest.Version{{ID: sceneOiledV, Content: "# The mill\n\nWheels: 25000\n\nIt needs oil.", Creator: ada, Created: at}},
	})
	s.server.AddNode(fastiotest.Node{
		ID: sceneLink, Profile: sceneWorkspace, Kind: "link", Name: "Elsewhere", Creator: ada, Created: at, Updated: at,
	})
	s.server.AddNode(fastiotest.Node{Profile: sceneWorkspace, Name: "Old mill.pdf", Creator: ada, Created: at, Updated: at, Trashed: true})
	s.server.AddShare(fastiotest.Share{ID: sceneShare, Org: sceneOrg, Title: "Portal", Access: "Anyone with the link", Password: "m111"})
	s.server.AddNode(fastiotest.Node{
		ID: scenePoster, Profile: sceneShare, Name: "Poster.png", Content: "A mill.", Creator: ada, Created: at, Updated: at,
	})
	s.server.AddComment(fastiotest.Comment{
		ID: sceneQuestion, Profile: sceneWorkspace, Node: sceneDrawing, User: ada, Created: at, Body: "Does the mill rust?",
	})
}

func storageRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	workspace, share := api.Workspace(sceneWorkspace), api.Share(sceneShare)
	link := &storage.GetOptions{Password: api.NewSecret("m111")}
	return []recording{
		{"storage.List", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.shelve()
			return c.Storage.List(ctx, workspace, api.Root, nil, raw)
		}},
		{"storage.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.List(ctx, workspace, sceneFolder, &storage.ListOptions{SortBy: storage.SortByUpdated, Descending: true}, raw, api.Standard)
		}},
		{"storage.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.List(ctx, workspace, api.Trash, &storage.ListOptions{PageSize: 250}, raw, api.Terse)
		}},
		{"storage.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.List(ctx, share, api.Root, &storage.ListOptions{Password: api.NewSecret("m111")}, raw)
		}},
		{"storage.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.List(ctx, workspace, api.Root, &storage.ListOptions{Cursor: "stale"}, raw)
		}},
		{"storage.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.Get(ctx, workspace, sceneDrawing, nil, raw)
		}},
		{"storage.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.Get(ctx, share, scenePoster, link, raw)
		}},
		{"storage.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.Get(ctx, workspace, sceneMissing, nil, raw)
		}},
		{"storage.GetMany", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.GetMany(ctx, workspace, []api.OpaqueID{sceneOiled, sceneMissing, sceneLink}, nil, raw)
		}},
		{"storage.GetMany", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.GetMany(ctx, workspace, []api.OpaqueID{sceneMissing}, nil, raw)
		}},
		{"storage.Recent", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Storage.Recent(ctx, sceneWorkspace, &storage.RecentOptions{Type: api.NodeTypeNote}, raw)
		}},
	}
}

func searchRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	workspace, share := api.Workspace(sceneWorkspace), api.Share(sceneShare)
	return []recording{
		{"search.Storage", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.shelve()
			s.tell()
			return c.Search.Storage(ctx, workspace, search.Query{Text: "mill"}, raw)
		}},
		{"search.Storage", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Storage(ctx, workspace, search.Query{
				Text: "brass", Within: []search.Scope{search.InFile(sceneOiled, sceneOiledV), search.InFolder(sceneFolder, 1)}, Details: true, Limit: 1,
			}, raw)
		}},
		{"search.Storage", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Storage(ctx, workspace, search.Query{Text: "*.md", Target: search.TargetFilename, NameMatch: search.NameMatchGlob}, raw)
		}},
		{"search.Storage", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Storage(ctx, workspace, search.Query{
				Text: "mill", Filters: []api.Filter{api.Equals("wheels", 25000)}, Category: api.CategoryEngineering,
			}, raw)
		}},
		{"search.Storage", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Storage(ctx, share, search.Query{Text: "poster", Target: search.TargetContent}, raw)
		}},
		{"search.Storage", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Storage(ctx, workspace, search.Query{Text: "mill", Within: []search.Scope{search.InFolder(sceneOiled, 1)}}, raw)
		}},
		{"search.Storage", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.fail(fastiotest.Fault{Op: "search.Storage", Status: http.StatusServiceUnavailable, Text: "Temporarily Unavailable."})
			return c.Search.Storage(ctx, workspace, search.Query{Text: "mill", Filters: []api.Filter{api.Exists("wheels")}}, raw, api.Attempts(1))
		}},
		{"search.Unified", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Unified(ctx, workspace, search.UnifiedQuery{Text: "mill", Facts: true, Files: search.Window{Limit: 1}}, raw)
		}},
		{"search.Unified", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Unified(ctx, share, search.UnifiedQuery{Text: "poster"}, raw)
		}},
		{"search.Metadata", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Metadata(ctx, sceneWorkspace, "brass", &search.ValuesOptions{Limit: 5}, raw)
		}},
		{"search.Compound", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Search.Compound(ctx, sceneWorkspace, search.CompoundQuery{
				Filters: []api.Filter{api.Exists("wheels")}, Text: "wheels", Limit: 5000,
			}, raw)
		}},
	}
}

func howToRecordings() []recording {
	ask := func(q howto.Question) func(context.Context, *fastio.Client, *scene, api.CallOption) (any, error) {
		return func(ctx context.Context, c *fastio.Client, _ *scene, raw api.CallOption) (any, error) {
			return c.HowTo.Ask(ctx, q, raw)
		}
	}
	return []recording{
		{"howto.Ask", ask(howto.Question{Text: "How do I list metadata fields?", Surface: howto.SurfaceCode})},
		{"howto.Ask", ask(howto.Question{Text: "Help?"})},
		{"howto.Ask", func(ctx context.Context, c *fastio.Client, s *scene, raw api.CallOption) (any, error) {
			s.fail(fastiotest.Fault{Op: "howto.Ask", Status: http.StatusTooManyRequests, Code: 145858, Text: "Another question of yours is being answered."})
			return c.HowTo.Ask(ctx, howto.Question{Text: "Help?"}, raw)
		}},
	}
}
