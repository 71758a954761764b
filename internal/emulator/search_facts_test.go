package emulator_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// told is a cabinet whose engine has facts.
func told(t *testing.T, change ...func(*emulator.Options)) *cabinet {
	t.Helper()
	b := newCabinet(change...)
	for field, value := range map[string]any{"category": "Engineering", "wheels": 25000} {
		if err := b.AddFact(emulator.Fact{Node: b.engine.ID, Field: field, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestSearchByMetadata(t *testing.T) {
	t.Parallel()
	b := told(t)
	const wheels = `[{"field":"wheels","operator":"=","value":25000}]`
	for name, want := range map[string]struct {
		query []string
		hits  []string
		block any
	}{
		"nothing asked":    {nil, []string{"Engine.pdf both", "engine draft.txt keyword"}, nil},
		"a value":          {[]string{"filters", wheels}, []string{"Engine.pdf both"}, hash{"applied": true, "matched": 1.0, "truncated": false}},
		"another value":    {[]string{"filters", `[{"field":"wheels","operator":"=","value":1}]`}, []string{}, hash{"applied": true, "matched": 0.0, "truncated": false}},
		"a category":       {[]string{"category", "Engineering"}, []string{"Engine.pdf both"}, hash{"applied": true, "matched": 1.0, "truncated": false}},
		"no value, a name": {[]string{"filters", `[{"field":"wheels","operator":"not_exists"}]`, "search_in", "filename"}, []string{"engine draft.txt keyword"}, hash{"applied": true, "matched": 2.0, "truncated": false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.find(t, "engine", want.query...)
			if diff := cmp.Diff(want.hits, p.ranked(t)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(want.block, p.get("metadata_filter")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if p := b.find(t, "engine", "filters", `[{"field":"wheels","operator":"not_exists"}]`); p.get("files."+b.old.ID+".relevance_score") != 1.0 {
		t.Errorf("the best of those that pass is not: %s", p.Body)
	}
	expect(t, b.find(t, "x", "filters", `{}`), 406, 10022, "filters invalid")
	expect(t, b.find(t, "x", "category", "Gossip"), 406, 10022, "category invalid")
	expect(t, b.find(t, "x", "filters", wheels, "folders_scope", b.folder.ID+":1"), 406, 10022, "filters invalid")
	ignored := b.get(t, b.ben, b.inPortal("search"), "search", "poster", "filters", wheels)
	if got := ignored.ranked(t); len(got) != 1 || ignored.get("metadata_filter") != nil {
		t.Errorf("a share does not ignore conditions: %s", ignored.Body)
	}
}

func TestUnifiedSearchByMetadata(t *testing.T) {
	t.Parallel()
	b := told(t)
	path := "/workspace/" + b.room.ID + "/search/"
	p := b.get(t, b.ben, path, "search", "25000")
	if p.get("buckets.metadata.items.0.name") != "Engine.pdf" || p.get("buckets.metadata.total_relation") != "eq" {
		t.Errorf("%s", p.Body)
	}
	thrown := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "thrown.txt", Trashed: true})
	if err := b.AddFact(emulator.Fact{Node: thrown.ID, Field: "wheels", Value: 25000}); err != nil {
		t.Fatal(err)
	}
	if p := b.get(t, b.ben, path, "search", "25000"); p.get("buckets.metadata.total") != 1.0 {
		t.Errorf("what is in the trash is found: %s", p.Body)
	}
	if p := b.get(t, b.ben, path, "search", "engine", "details", "true"); p.get("buckets.files.items.0.metadata_facts.count") != 2.0 {
		t.Errorf("%s", p.Body)
	}
	if p := b.get(t, b.ben, b.inRoom(b.engine.ID+"/details")); p.get("node.metadata_facts.count") != 2.0 {
		t.Errorf("%s", p.Body)
	}
	for i := range 60 {
		n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: fmt.Sprint("box ", i)})
		if err := b.AddFact(emulator.Fact{Node: n.ID, Field: "wheels", Value: 25000}); err != nil {
			t.Fatal(err)
		}
	}
	p = b.get(t, b.ben, path, "search", "25000", "metadata_offset", "50")
	items, _ := p.get("buckets.metadata.items").([]any)
	if p.get("buckets.metadata.total") != 50.0 || p.get("buckets.metadata.total_relation") != "gte" || len(items) != 11 {
		t.Errorf("%s", p.Body)
	}
	b = told(t, func(o *emulator.Options) { o.Lacks = []string{"metadata"} })
	if p := b.get(t, b.ben, "/workspace/"+b.room.ID+"/search/", "search", "25000"); p.Status != 200 || p.get("buckets.metadata") != nil {
		t.Errorf("%s", p.Body)
	}
}

func TestPlanGatesNotes(t *testing.T) {
	t.Parallel()
	b := newCabinet(func(o *emulator.Options) { o.Lacks = []string{"content_ai"} })
	if p := b.form(t, b.ben, b.inRoom("root/createnote"), "name", "a.md", "content", "x"); p.Status != 402 {
		t.Errorf("%d %s", p.Status, p.Body)
	}
	expect(t, b.get(t, b.ben, b.inRoom(b.guide.ID+"/readnote")), 200, 0)
}
