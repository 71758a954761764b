package fastio_test

import (
	"context"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/howto"
	"github.com/fastio-go/fastio/search"
	"github.com/fastio-go/fastio/storage"
)

// storageDrivers has two drivers for what workspaces and shares both have, in this
// order, as searchDrivers has.
func storageDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	workspace, share := api.Workspace(coverWorkspace), api.Share(coverShare)
	link := func(w world) *storage.GetOptions { return &storage.GetOptions{Password: api.NewSecret(w.link)} }
	return []driver{
		{"storage.List", []string{coverWorkspace, "root"}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Storage.List(ctx, workspace, api.Root, &storage.ListOptions{SortBy: storage.SortByCreated, PageSize: 100})
		}, nil},
		{"storage.List", []string{coverShare, "root"}, func(ctx ctx, c cl, w world) (any, error) {
			return c.Storage.List(ctx, share, api.Root, &storage.ListOptions{Password: api.NewSecret(w.link)})
		}, unlock},
		{"storage.Get", []string{coverWorkspace, coverNode}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Storage.Get(ctx, workspace, coverNode, nil)
		}, nil},
		{"storage.Get", []string{coverShare, coverPosted}, func(ctx ctx, c cl, w world) (any, error) {
			return c.Storage.Get(ctx, share, coverPosted, link(w))
		}, unlock},
		{"storage.GetMany", []string{coverWorkspace, coverNode + "," + coverMill}, func(ctx ctx, c cl, _ world) (any, error) {
			b, err := c.Storage.GetMany(ctx, workspace, []api.OpaqueID{coverNode, coverMill}, nil)
			if err != nil {
				return nil, err
			}
			return b.Nodes, nil
		}, nil},
		{"storage.GetMany", []string{coverShare, coverPosted + "," + coverPosted}, func(ctx ctx, c cl, w world) (any, error) {
			b, err := c.Storage.GetMany(ctx, share, []api.OpaqueID{coverPosted}, link(w))
			if err != nil {
				return nil, err
			}
			return b.Nodes, nil
		}, unlock},
		{"storage.Recent", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Storage.Recent(ctx, coverWorkspace, &storage.RecentOptions{Type: api.NodeTypeNote})
		}, nil},
	}
}

func searchDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	workspace, share := api.Workspace(coverWorkspace), api.Share(coverShare)
	files := func(b *search.Buckets, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return b.Files, nil
	}
	return []driver{
		{"search.Storage", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Search.Storage(ctx, workspace, search.Query{Text: "mill", Details: true})
		}, nil},
		{"search.Storage", []string{coverShare}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Search.Storage(ctx, share, search.Query{Text: "portal"})
		}, nil},
		{"search.Unified", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return files(c.Search.Unified(ctx, workspace, search.UnifiedQuery{Text: "mill"}))
		}, nil},
		{"search.Unified", []string{coverShare}, func(ctx ctx, c cl, _ world) (any, error) {
			return files(c.Search.Unified(ctx, share, search.UnifiedQuery{Text: "portal"}))
		}, nil},
		{"search.Metadata", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Search.Metadata(ctx, coverWorkspace, "brass", nil)
		}, told},
		{"search.Compound", []string{coverWorkspace}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Search.Compound(ctx, coverWorkspace, search.CompoundQuery{Filters: []api.Filter{api.Equals("material", "brass")}})
		}, told},
	}
}

func howToDrivers() []driver {
	return []driver{
		{"howto.Ask", nil, func(ctx context.Context, c *fastio.Client, _ *coverWorld) (any, error) {
			return c.HowTo.Ask(ctx, howto.Question{Text: "How do I list metadata fields?", Surface: howto.SurfaceMCP})
		}, nil},
	}
}

// told writes down aside what the mill is made of.
func told(ctx context.Context, w *coverWorld) error {
	_, err := w.aside.Metadata.Facts.Set(ctx, coverWorkspace, coverNode, map[string]any{"material": "brass"})
	return err
}
