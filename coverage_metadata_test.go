package fastio_test

import (
	"context"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/metadata"
)

func metadataDrivers() []driver {
	type (
		ctx   = context.Context
		cl    = *fastio.Client
		world = *coverWorld
	)
	in := []string{coverWorkspace}
	onNode := []string{coverWorkspace, coverNode}
	brass := metadata.FilterRequest{Name: "Brass", Filters: []api.Filter{api.Equals("material", "brass")}}
	return []driver{
		{"metadata.Fields.List", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Fields.List(ctx, coverWorkspace, &metadata.ListOptions{PageSize: 5})
		}, nil},
		{"metadata.Fields.Values", in, func(ctx ctx, c cl, _ world) (any, error) {
			p, err := c.Metadata.Fields.Values(ctx, coverWorkspace, "material", nil)
			if err != nil {
				return nil, err
			}
			return p.Values, nil
		}, told},
		{"metadata.Fields.Declare", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Fields.Declare(ctx, coverWorkspace, "wheels", api.FactTypeInt)
		}, nil},
		{"metadata.Fields.Merge", in, func(ctx ctx, c cl, _ world) (any, error) {
			m, err := c.Metadata.Fields.Merge(ctx, coverWorkspace, "Stuff", "material")
			if err != nil {
				return nil, err
			}
			return m.Outcome == metadata.OutcomeMerged, nil
		}, toldTwice},
		{"metadata.Fields.MergeCandidates", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Fields.MergeCandidates(ctx, coverWorkspace, 0)
		}, toldTwice},
		{"metadata.Facts.Get", onNode, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Facts.Get(ctx, coverWorkspace, coverNode)
		}, told},
		{"metadata.Facts.Set", onNode, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Facts.Set(ctx, coverWorkspace, coverNode, map[string]any{"wheels": 25000})
		}, nil},
		{"metadata.Facts.Delete", onNode, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Metadata.Facts.Delete(ctx, coverWorkspace, coverNode, []string{"material"}); err != nil {
				return nil, err
			}
			left, err := w.aside.Metadata.Facts.Get(ctx, coverWorkspace, coverNode)
			if err != nil {
				return nil, err
			}
			return len(left.Facts) == 0, nil
		}, told},
		{"metadata.Eligible", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Eligible(ctx, coverWorkspace, &metadata.EligibleOptions{Extension: "pdf"})
		}, nil},
		{"metadata.Details", []string{coverWorkspace, coverNode + "," + coverNode}, func(ctx ctx, c cl, _ world) (any, error) {
			b, err := c.Metadata.Details(ctx, coverWorkspace, []api.OpaqueID{coverNode})
			if err != nil {
				return nil, err
			}
			return b.Details, nil
		}, told},
		{"metadata.Versions", onNode, func(ctx ctx, c cl, _ world) (any, error) {
			v, err := c.Metadata.Versions(ctx, coverWorkspace, coverNode)
			if err != nil {
				return nil, err
			}
			return v.Versions, nil
		}, told},
		{"metadata.Extract", onNode, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Extract(ctx, coverWorkspace, coverNode, nil)
		}, nil},
		{"metadata.ExtractAll", []string{coverWorkspace, "root"}, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.ExtractAll(ctx, coverWorkspace, api.Root)
		}, nil},
		{"metadata.Jobs", in, func(ctx ctx, c cl, _ world) (any, error) { return c.Metadata.Jobs(ctx, coverWorkspace) }, func(ctx ctx, w world) error {
			_, err := w.aside.Metadata.Extract(ctx, coverWorkspace, coverNode, nil)
			return err
		}},
		{"metadata.Filters.List", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Filters.List(ctx, coverWorkspace, nil)
		}, saved(false)},
		{"metadata.Filters.Create", in, func(ctx ctx, c cl, _ world) (any, error) {
			return c.Metadata.Filters.Create(ctx, coverWorkspace, brass)
		}, nil},
		{"metadata.Filters.Get", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.Metadata.Filters.Get(ctx, coverWorkspace, api.OpaqueID(w.segments[1]))
		}, saved(true)},
		{"metadata.Filters.Update", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.Metadata.Filters.Update(ctx, coverWorkspace, api.OpaqueID(w.segments[1]), brass)
		}, saved(true)},
		{"metadata.Filters.Delete", nil, func(ctx ctx, c cl, w world) (any, error) {
			if err := c.Metadata.Filters.Delete(ctx, coverWorkspace, api.OpaqueID(w.segments[1])); err != nil {
				return nil, err
			}
			left, err := w.aside.Metadata.Filters.List(ctx, coverWorkspace, nil)
			if err != nil {
				return nil, err
			}
			return len(left.Filters) == 0, nil
		}, saved(true)},
		{"metadata.Filters.Nodes", nil, func(ctx ctx, c cl, w world) (any, error) {
			return c.Metadata.Filters.Nodes(ctx, coverWorkspace, api.OpaqueID(w.segments[1]), nil)
		}, saved(true)},
	}
}

// toldTwice writes the same down under two names.
func toldTwice(ctx context.Context, w *coverWorld) error {
	for _, name := range []string{"material", "ma-terial", "Stuff"} {
		if _, err := w.aside.Metadata.Fields.Declare(ctx, coverWorkspace, name, api.FactTypeString); err != nil {
			return err
		}
	}
	return nil
}

// saved keeps a filter that finds the mill, and has its ID follow in the path.
func saved(inPath bool) func(ctx context.Context, w *coverWorld) error {
	return func(ctx context.Context, w *coverWorld) error {
		if err := told(ctx, w); err != nil {
			return err
		}
		f, err := w.aside.Metadata.Filters.Create(ctx, coverWorkspace, metadata.FilterRequest{
			Name: "Material", Filters: []api.Filter{api.Exists("material")},
		})
		if err == nil && inPath {
			w.segments = []string{coverWorkspace, f.ID.Plain()}
		}
		return err
	}
}
