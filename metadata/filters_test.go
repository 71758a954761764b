package metadata_test

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/metadata"
	"github.com/fastio-go/fastio/storage"
)

func members(text string) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte("{"+text+"}"), &m); err != nil {
		panic(err)
	}
	return m
}

// A predicate is always sent, and a filter that was read can be saved again.
func TestSavedFilterRequests(t *testing.T) {
	t.Parallel()
	byName := &metadata.Projection{
		Sort:  &metadata.ProjectionSort{Field: "name", Dir: metadata.SortDirAscending},
		Extra: members(`"columns":2`),
	}
	for want, r := range map[string]metadata.FilterRequest{
		`{"name":"all","predicate":[]}`: {Name: "all"},
		`{"name":"a","description":"b","predicate":[{"field":"paid","operator":"exists"}],` +
			`"projection":{"sort":{"field":"name","dir":"asc"},"columns":2},"template_id":"m1"}`: {
			Name: "a", Description: "b", Predicate: []metadata.Filter{metadata.Exists("paid")}, Projection: byName,
			TemplateID: "m1",
		},
	} {
		c := stub.Answer(`{"filter":{"id":"c1"}}`)
		if _, err := metadata.New(c).Filters.Create(t.Context(), room, r); err != nil {
			t.Fatal(err)
		}
		body, _, err := c.Got[0].Body.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// The names of an older form are read.
func TestSavedFilterForms(t *testing.T) {
	t.Parallel()
	conditions := []*metadata.Filter{new(metadata.Exists("paid"))}
	for text, want := range map[string]metadata.SavedFilter{
		`{"filter":{"id":"c1","name":"a","description":null,"predicate":[{"field":"paid","operator":"exists"}],
			"projection":{"sort":{"field":"name","dir":"desc"}},"template_id":null}}`: {
			ID: "c1", Name: "a", Predicate: conditions,
			Projection: &metadata.Projection{Sort: &metadata.ProjectionSort{
				Field: "name", Dir: metadata.SortDirDescending,
			}},
		},
		`{"filter":{"id":"c1","predicate":[]}}`: {ID: "c1", Predicate: []*metadata.Filter{}},
		`{"filter":{"filter_id":"c1","filters":[{"field":"paid","operator":"exists"}],"projection":["total"]}}`: {
			ID: "c1", Predicate: conditions, Extra: members(`"projection":["total"]`),
		},
		`{"result":true,"filter_id":"c1","filters":[{"field":"paid","operator":"exists"}]}`: {
			ID: "c1", Predicate: conditions,
		},
	} {
		got, err := metadata.New(stub.Answer(text)).Filters.Get(t.Context(), room, "c1")
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestSavedFilterNameTaken(t *testing.T) {
	t.Parallel()
	conflict := &api.Error{Op: "metadata.Filters.Create", Status: 409, Text: "There is one."}
	s := metadata.New(stub.Fail(conflict)).Filters
	for name, err := range map[string]error{
		"Create": stub.Err(s.Create(t.Context(), room, metadata.FilterRequest{Name: "a"})),
		"Update": stub.Err(s.Update(t.Context(), room, "c1", metadata.FilterRequest{Name: "a"})),
	} {
		if !errors.Is(err, api.ErrNameTaken) || !errors.Is(err, api.ErrConflict) || !errors.Is(err, conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := stub.Err(s.Get(t.Context(), room, "c1")); errors.Is(err, api.ErrNameTaken) {
		t.Errorf("Get: %v", err)
	}
}

// An exact number of matches does not mean that there are no causes.
func TestNodesOfSavedFilter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]metadata.FilteredNodes{
		`{"items":[{"id":"2a"}],"scope":{"scope_truncated":true,"match_count":1000,"match_relation":"eq",
			"causes":["x"],"files_not_indexed":null,"more":1}}`: {
			Nodes: []*storage.Node{{ID: "2a"}},
			Scope: &metadata.FilterScope{
				IsTruncated: true, MatchCount: new(1000), MatchRelation: metadata.MatchRelationExact,
				Causes: []json.RawMessage{raw(`"x"`)}, Extra: members(`"more":1`),
			},
		},
		`{"nodes":[{"id":"2a"}],"scope":{"files_not_indexed":0}}`: {
			Nodes: []*storage.Node{{ID: "2a"}}, Scope: &metadata.FilterScope{FilesNotIndexed: new(0)},
		},
		`{"items":[]}`: {Nodes: []*storage.Node{}},
	} {
		got, err := metadata.New(stub.Answer(text)).Filters.Nodes(t.Context(), room, "c1", nil)
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}
