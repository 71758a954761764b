package fastio_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/fastiotest"
	"github.com/fastio-go/fastio/metadata"
)

// noTest stands in for a test where there is none.
type noTest struct{ testing.TB }

func (noTest) Helper() {}

func (noTest) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// tell adds facts about what is stored, under more names than are needed.
func (s *scene) tell() {
	if s.server == nil {
		return
	}
	for _, f := range []fastiotest.Fact{
		{Node: sceneDrawing, Field: "wheels", Value: 25000, Confidence: "high", Rationale: "Page 1 says so."},
		{Node: sceneDrawing, Field: "material", Value: "brass", Source: "user", Confidence: "certain"},
		{Node: sceneDrawing, Field: "category", Value: "Engineering"},
		{Node: sceneOiled, Field: "Wheels ", Value: "many"},
		{Node: sceneOiled, Field: "ma-terial", Value: "brass"},
	} {
		s.server.AddFact(noTest{}, f)
	}
	s.server.AddField(fastiotest.Field{Workspace: sceneWorkspace, Name: "stuff", MergedInto: "material"})
}

func metadataRecordings() []recording {
	type (
		ctx = context.Context
		cl  = *fastio.Client
		sc  = *scene
		opt = api.CallOption
	)
	brass := metadata.FilterRequest{
		Name: "Brass", Description: "What does not rust", Filters: []api.Filter{api.Equals("material", "brass"), api.NotExists("sold")},
		Projection: []string{"material"},
	}
	return []recording{
		{"metadata.Fields.List", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.shelve()
			s.tell()
			return c.Metadata.Fields.List(ctx, sceneWorkspace, nil, raw)
		}},
		{"metadata.Fields.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.List(ctx, sceneWorkspace, &metadata.ListOptions{PageSize: 2}, raw, api.Terse)
		}},
		{"metadata.Fields.Values", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.Values(ctx, sceneWorkspace, "material", nil, raw)
		}},
		{"metadata.Fields.Declare", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.Declare(ctx, sceneWorkspace, " Weight (kg) ", api.FactTypeFloat, raw)
		}},
		{"metadata.Fields.Declare", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.Declare(ctx, sceneWorkspace, "Stuff", api.FactTypeString, raw)
		}},
		{"metadata.Fields.Declare", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.Declare(ctx, sceneWorkspace, "<weight>", api.FactTypeFloat, raw)
		}},
		{"metadata.Fields.MergeCandidates", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.MergeCandidates(ctx, sceneWorkspace, 0, raw)
		}},
		{"metadata.Fields.Merge", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.Preflight(ctx, sceneWorkspace, "MA-terial", "stuff", raw)
		}},
		{"metadata.Fields.Merge", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.Merge(ctx, sceneWorkspace, "ma-terial", "material", raw)
		}},
		{"metadata.Fields.Merge", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.Merge(ctx, sceneWorkspace, "ma-terial", "material", raw)
		}},
		{"metadata.Fields.Merge", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Fields.Merge(ctx, sceneWorkspace, "ma-terial", "wheels", raw)
		}},
		{"metadata.Fields.Merge", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.fail(fastiotest.Fault{Op: "metadata.Fields.Merge", Status: http.StatusServiceUnavailable, Text: "The vocabulary is in use."})
			return c.Metadata.Fields.Merge(ctx, sceneWorkspace, "material", "wheels", raw)
		}},
		{"metadata.Facts.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Facts.Get(ctx, sceneWorkspace, sceneDrawing, raw)
		}},
		{"metadata.Facts.Get", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Facts.Get(ctx, sceneWorkspace, sceneFolder, raw)
		}},
		{"metadata.Facts.Set", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Facts.Set(ctx, sceneWorkspace, sceneOiled, map[string]any{
				"sold": false, "price": int64(9007199254740993), "parts": []any{"wheel", 2}, "material": "", "built": "1837-12-01",
			}, raw)
		}},
		{"metadata.Facts.Set", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Facts.Set(ctx, sceneWorkspace, sceneOiled, map[string]any{"price": "dear", "sold": true}, raw)
		}},
		{"metadata.Facts.Set", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			s.fail(fastiotest.Fault{Op: "metadata.Facts.Set", Status: http.StatusNotAcceptable, Code: 10022, Text: "Not accepted."})
			return c.Metadata.Facts.Set(ctx, sceneWorkspace, sceneOiled, map[string]any{"sold": true}, raw)
		}},
		{"metadata.Eligible", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Eligible(ctx, sceneWorkspace, &metadata.EligibleOptions{Category: api.CategoryEngineering}, raw)
		}},
		{"metadata.Eligible", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Eligible(ctx, sceneWorkspace, &metadata.EligibleOptions{Extension: "md"}, raw, api.Terse)
		}},
		{"metadata.Details", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Details(ctx, sceneWorkspace, []api.OpaqueID{sceneDrawing, sceneFolder, sceneMissing}, raw)
		}},
		{"metadata.Versions", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Versions(ctx, sceneWorkspace, sceneOiled, raw)
		}},
		{"metadata.Facts.Delete", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Metadata.Facts.Delete(ctx, sceneWorkspace, sceneOiled, []string{"sold"}, raw)
		}},
		{"metadata.Facts.Delete", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return nil, c.Metadata.Facts.DeleteAll(ctx, sceneWorkspace, sceneOiled, raw)
		}},
		{"metadata.Extract", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Extract(ctx, sceneWorkspace, sceneOiled, nil, raw)
		}},
		{"metadata.Extract", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Extract(ctx, sceneWorkspace, sceneDrawing, []string{"material"}, raw)
		}},
		{"metadata.ExtractAll", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.ExtractAll(ctx, sceneWorkspace, sceneFolder, raw)
		}},
		{"metadata.Jobs", func(ctx ctx, c cl, _ sc, raw opt) (any, error) { return c.Metadata.Jobs(ctx, sceneWorkspace, raw) }},
		{"metadata.Filters.Create", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			f, err := c.Metadata.Filters.Create(ctx, sceneWorkspace, brass, raw)
			if err == nil {
				s.filter = f.ID
			}
			return f, err
		}},
		{"metadata.Filters.List", func(ctx ctx, c cl, _ sc, raw opt) (any, error) {
			return c.Metadata.Filters.List(ctx, sceneWorkspace, nil, raw)
		}},
		{"metadata.Filters.Nodes", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.Metadata.Filters.Nodes(ctx, sceneWorkspace, s.filter, nil, raw)
		}},
		{"metadata.Filters.Update", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.Metadata.Filters.Update(ctx, sceneWorkspace, s.filter, metadata.FilterRequest{Name: "Wheels", Filters: []api.Filter{api.Exists("wheels")}}, raw)
		}},
		{"metadata.Filters.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.Metadata.Filters.Get(ctx, sceneWorkspace, s.filter, raw)
		}},
		{"metadata.Filters.Delete", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return nil, c.Metadata.Filters.Delete(ctx, sceneWorkspace, s.filter, raw)
		}},
		{"metadata.Filters.Get", func(ctx ctx, c cl, s sc, raw opt) (any, error) {
			return c.Metadata.Filters.Get(ctx, sceneWorkspace, s.filter, raw)
		}},
	}
}
