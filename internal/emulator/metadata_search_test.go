package emulator_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func TestSearchByFacts(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Metadata.Lag = 2 * time.Second })
	lost := h.AddNode(emulator.Node{Profile: h.room.ID, Name: "lost.txt", Trashed: true})
	old := h.now.Add(-time.Hour)
	for _, f := range []emulator.Fact{
		{Node: h.bill.ID, Field: "vendor", Value: "Brass and Steam and Sons", Updated: old},
		{Node: h.letter.ID, Field: "vendor", Value: "Steam", Updated: old},
		{Node: h.scan.ID, Field: "vendor", Value: "Steam"},
		{Node: lost.ID, Field: "vendor", Value: "Looms", Updated: old},
	} {
		h.must(t, f)
	}
	path := h.in("metadata/search/")
	names := func(query ...string) []any {
		var names []any
		for _, node := range h.list(t, h.cleo, path, query...).rows("results", "node") {
			names = append(names, node.(hash)["name"])
		}
		return names
	}
	for q, want := range map[string][]any{
		"steam":         {"letter", "march.txt"},
		"STE":           {"letter", "march.txt"},
		"brass, steam!": {"march.txt"},
		"steam looms":   nil,
		"looms":         nil,
	} {
		if diff := cmp.Diff(want, names("q", q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q, diff)
		}
	}
	if p := h.list(t, h.ben, path, "q", "looms"); p.get("pagination.total") != 1.0 {
		t.Errorf("the total is no upper bound: %s", p.Body)
	}
	p := h.list(t, h.ben, path, "q", "steam", "limit", "1")
	if p.get("pagination.has_more") != true || p.get("results.0.score").(float64) <= 0 || p.get("results.0.node.metadata_facts.total") != 1.0 {
		t.Errorf("a page: %s", p.Body)
	}
	if got := names("q", "steam", "limit", "1", "offset", "1"); !cmp.Equal(got, []any{"march.txt"}) {
		t.Errorf("the second page %v", got)
	}
	word := strings.Repeat("w", 70)
	h.must(t, emulator.Fact{Node: h.AddNode(emulator.Node{Profile: h.room.ID, Name: "words.txt"}).ID, Field: "vendor", Value: word, Updated: old})
	for length, want := range map[int]int{64: 1, 65: 0, 70: 1} {
		if got := len(names("q", word[:length])); got != want {
			t.Errorf("%d letters of a word find %d, want %d", length, got, want)
		}
	}
	h.later(2 * time.Second)
	if got := len(names("q", "steam")); got != 3 {
		t.Errorf("%d hits after the lag, want 3", got)
	}
	expect(t, h.list(t, h.ben, path, "q", "  "), 406, 10021, "q missing")
	expect(t, h.list(t, h.ben, path, "q", strings.Repeat("q", 1025)), 406, 10022, "q invalid")
	expect(t, h.list(t, h.ben, path, "q", "a", "limit", "101"), 406, 10022, "limit invalid")
	expect(t, h.list(t, h.ben, path, "q", strings.Repeat("q", 1024), "limit", "100", "offset", "9900"), 200, 0)
	expect(t, h.list(t, h.ben, path, "q", "a", "limit", "100", "offset", "9901"), 406, 10022, "offset invalid")
	expect(t, h.list(t, h.eve, path, "q", "a"), 401, 10545)
}

func TestSearchCompound(t *testing.T) {
	t.Parallel()
	h := newLedger()
	compound := func(fields ...string) reply {
		return h.form(t, h.keys[h.cleo.ID], http.MethodPost, h.in("metadata/compound-search/"), fields...)
	}
	const hasVendor = `[{"field":"vendor","operator":"exists"}]`
	for _, n := range []emulator.Node{h.bill, h.letter, h.scan} {
		h.must(t, emulator.Fact{Node: n.ID, Field: "supplier", Value: "Brass"})
	}
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "Vendor"})
	expect(t, h.merge(t, hash{"source": "supplier", "target": "vendor", "confirm": true}), 200, 0)
	h.must(t, emulator.Fact{Node: h.letter.ID, Field: "vendor", Value: "Steam"})

	for filters, want := range map[string][]any{
		hasVendor: {"march.txt", "letter", "scan.png"},
		`[{"field":"Supplier","operator":"=","value":"Steam"}]`:                                                   {"letter"},
		`[{"field":"vendor","operator":"not_exists"}]`:                                                            {"plan.pdf"},
		`[{"field":"supplier","operator":"=","value":"Brass"},{"field":"vendor","operator":"=","value":"Steam"}]`: {"letter"},
	} {
		p := compound("filters", filters)
		if got := p.rows("items", "name"); !cmp.Equal(got, want) {
			t.Errorf("%s finds %v, want %v: %s", filters, got, want, p.Body)
		}
	}
	want := hash{"match_relation": "eq", "causes": []any{}, "files_not_indexed": nil, "match_count": 3.0}
	if diff := cmp.Diff(want, compound("filters", hasVendor).get("scope")); diff != "" {
		t.Errorf("the scope (-want +got):\n%s", diff)
	}
	p := compound("filters", hasVendor, "content_query", "engine", "limit", "500")
	want = hash{"match_relation": "eq", "causes": []any{}, "files_not_indexed": 0.0, "match_count": 1.0, "limit_clamped_from": 500.0}
	if diff := cmp.Diff(want, p.get("scope")); diff != "" || !cmp.Equal(p.rows("items", "name"), []any{"letter"}) {
		t.Errorf("with a content query (-want +got):\n%s", diff)
	}
	p = compound("filters", hasVendor, "limit", "0")
	if len(p.get("items").([]any)) != 1 || p.get("scope.match_count") != 3.0 || p.get("scope.limit_clamped_from") != 0.0 {
		t.Errorf("a limit that was raised: %s", p.Body)
	}
	fresh := h.AddNode(emulator.Node{Profile: h.room.ID, Name: "engine.txt", AIState: "pending"})
	h.must(t, emulator.Fact{Node: fresh.ID, Field: "vendor", Value: "Brass"})
	p = compound("filters", hasVendor, "content_query", "engine")
	want = hash{"match_relation": "gte", "causes": []any{"files_not_indexed"}, "files_not_indexed": 1.0, "match_count": 1.0}
	if diff := cmp.Diff(want, p.get("scope")); diff != "" {
		t.Errorf("with a file that is not indexed (-want +got):\n%s", diff)
	}

	expect(t, h.post(t, h.ben, h.in("metadata/compound-search/"), hash{"filters": hasVendor}), 406, 119701)
	expect(t, compound("filters", ""), 406, 119701)
	expect(t, compound("filters", "[]"), 406, 179646)
	expect(t, compound("filters", `[{"field":"a","operator":"near","value":1}]`), 406, 179646)
	five := "[" + strings.Repeat(`{"field":"vendor","operator":"exists"},`, 4) + hasVendor[1:]
	expect(t, compound("filters", five, "content_query", strings.Repeat("q", 1024)), 200, 0)
	expect(t, compound("filters", "["+strings.Repeat(`{"field":"vendor","operator":"exists"},`, 5)+hasVendor[1:]), 406, 179646)
	expect(t, compound("filters", hasVendor, "content_query", strings.Repeat("q", 1025)), 406, 10022, "content_query invalid")
	expect(t, compound("filters", hasVendor, "limit", "few"), 406, 10023, "limit type_mismatch")

	poor := newLedger(func(o *emulator.Options) { o.Lacks = []string{"content_ai"} })
	send := func() reply {
		return poor.form(t, poor.keys[poor.ben.ID], http.MethodPost, poor.in("metadata/compound-search/"), "filters", hasVendor)
	}
	expect(t, send(), 402, 0)
	dull := newLedger()
	dull.room.NoIntelligence = true
	dull.AddWorkspace(dull.room)
	poor = dull
	expect(t, send(), 406, 0)
}
