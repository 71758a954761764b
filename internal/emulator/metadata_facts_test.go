package emulator_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	h := newLedger()
	before := h.poll(t, h.ben, h.room.ID).cursor()
	p := h.write(t, h.bill, hash{"vendor": "Brass", "invoice_number": "17", "total": 12.5, "Paid": true, "aside": hash{"a": []any{1}}})
	want := []any{"aside", "Paid", "total", "invoice_number", "vendor"} // typed, identifiers, the rest
	if diff := cmp.Diff(want, p.rows("items", "field")); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.JSON, h.list(t, h.ben, h.facts(h.bill)).JSON); diff != "" {
		t.Errorf("what was written and what is read (-written +read):\n%s", diff)
	}
	row := hash{
		"field": "total", "value": 12.5, "declared_type": "float", "stored_type": "float", "source": "user",
		"confidence": "certain", "rationale": nil, "updated": "2026-06-01 12:00:00 UTC",
	}
	if diff := cmp.Diff(row, p.get("items.2")); diff != "" {
		t.Errorf("a fact (-want +got):\n%s", diff)
	}
	if id := p.get("object_id"); strings.ReplaceAll(id.(string), "-", "") != h.bill.ID || p.get("count") != 5.0 {
		t.Errorf("%v, %v facts", id, p.get("count"))
	}
	for level, keys := range map[string]string{
		"standard": "field value declared_type stored_type", "terse": "field declared_type stored_type",
	} {
		got := h.list(t, h.ben, h.facts(h.bill), "output", level).get("items.2").(hash)
		if diff := cmp.Diff(set(keys), keysOf(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", level, diff)
		}
	}
	events := h.search(t, h.ada, "workspace_id", h.room.ID, "event", "metadata_kv_update")
	if events.get("events.0.calling_user") != h.ben.ID || events.get("events.0.actor.kind") != "api_key" {
		t.Errorf("the event: %s", events.Body)
	}
	if got := h.poll(t, h.ben, h.room.ID, "lastactivity", before, "updated", "1").activity(); !cmp.Equal(got, []string{"metadata"}) {
		t.Errorf("activity %v", got)
	}
}

func TestFactValues(t *testing.T) {
	t.Parallel()
	h := newLedger()
	for _, kind := range []string{"string", "bool", "int", "float", "json", "url", "datetime"} {
		h.AddField(emulator.Field{Workspace: h.room.ID, Name: kind, Type: kind})
	}
	for _, c := range []struct {
		field       string
		value, want any // nil is refused
	}{
		{"string", "x", "x"},
		{"string", strings.Repeat("ä", 4096), strings.Repeat("ä", 4096)},
		{"string", strings.Repeat("ä", 4097), nil},
		{"string", 1, nil},
		{"bool", false, false},
		{"bool", "true", true},
		{"bool", 1, nil},
		{"int", -7, -7.0},
		{"int", "12", 12.0},
		{"int", 1.5, nil},
		{"float", 1250.5, 1250.5},
		{"float", 3, 3.0},
		{"float", "1,250.5", nil},
		{"float", "$12", nil},
		{"float", json.Number("1e400"), nil},
		{"datetime", "2026-05-31", "2026-05-31T00:00:00Z"},
		{"datetime", "2026-05-31T10:00:00+02:00", "2026-05-31T08:00:00Z"},
		{"datetime", "soon", nil},
		{"url", "https://example.test/a", "https://example.test/a"},
		{"url", "/a", nil},
		{"url", "ftp://example.test/", nil},
		{"json", []any{"a"}, []any{"a"}},
		{"json", "a", nil},
		{"int", "", ""},
		{"category", "legal", "Legal"},
		{"category", "Gardening", "Other"},
		{"sub_category", "Invoice", "Invoice"},
	} {
		p := h.post(t, h.ben, h.facts(h.bill), hash{"facts": hash{c.field: c.value}})
		if c.want == nil {
			expect(t, p, 406, 10023, c.field+" type_mismatch")
			continue
		}
		row := p.row("items", "field", c.field)
		if p.Status != 200 || !cmp.Equal(row["value"], c.want) {
			t.Errorf("%s of %v: %d %v", c.field, c.value, p.Status, row)
		}
	}
}

func TestFactsMakeFields(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Metadata.FieldLimit = 9 })
	h.write(t, h.bill, hash{
		"a": true, "b": 7, "c": 7.5, "d": "2026-01-01", "e": "https://example.test", "f": "word", "g": []any{}, "nothing": nil,
	})
	list := h.list(t, h.ben, h.fields())
	want := []any{"string", "string", "bool", "int", "float", "datetime", "url", "string", "json"}
	if diff := cmp.Diff(want, list.rows("items", "declared_type")); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	if origin := list.get("items.2.origin"); origin != "user" {
		t.Errorf("origin %v", origin)
	}
	h.write(t, h.bill, hash{"A": false}) // no new field
	expect(t, h.post(t, h.ben, h.facts(h.letter), hash{"facts": hash{"b": 1, "new": 1}}), 413, 0)
	if got := h.list(t, h.ben, h.facts(h.letter)).get("count"); got != 0.0 {
		t.Errorf("%v facts after a refusal", got)
	}
	p := h.write(t, h.bill, hash{"b": nil})
	if row := p.row("items", "field", "b"); row["value"] != 7.0 {
		t.Errorf("null changed %v", row)
	}
	p = h.write(t, h.bill, hash{"b": ""})
	if row := p.row("items", "field", "b"); row["value"] != "" || row["stored_type"] != "string" || row["source"] != "user" {
		t.Errorf("an emptied field: %v", row)
	}
	if got := h.list(t, h.ben, h.fields()).row("items", "name", "b")["file_count"]; got != 0.0 {
		t.Errorf("%v files hold an emptied field", got)
	}
}

func TestFactRefusals(t *testing.T) {
	t.Parallel()
	h := newLedger()
	many := hash{}
	for i := range 101 {
		many["f"+strconv.Itoa(i)] = 1
	}
	for name, c := range map[string]struct {
		body     any
		failures []string
	}{
		"nothing":          {hash{}, []string{"facts missing"}},
		"a list":           {hash{"facts": []any{}}, []string{"facts type_mismatch"}},
		"an empty object":  {hash{"facts": hash{}}, []string{"facts invalid"}},
		"101 facts":        {hash{"facts": many}, []string{"facts invalid"}},
		"a padded name":    {hash{"facts": hash{" a": 1, "b": 1}}, []string{" a field_name_not_canonical"}},
		"a blank name":     {hash{"facts": hash{"": 1}}, []string{" field_name_not_canonical"}},
		"a long name":      {hash{"facts": hash{strings.Repeat("n", 65): 1}}, []string{strings.Repeat("n", 65) + " invalid"}},
		"a field twice":    {hash{"facts": hash{"a": 1, "A": 2}}, []string{"a invalid"}},
		"no JSON":          {"facts", nil},
		"a template":       {hash{"facts": hash{"a": 1}, "template_id": "m1"}, nil},
		"a value too long": {hash{"facts": hash{"a": strings.Repeat("x", 4097)}}, []string{"a type_mismatch"}},
	} {
		p := h.post(t, h.ben, h.facts(h.bill), c.body)
		if p.Status != 406 || !cmp.Equal(p.failures(), c.failures) {
			t.Errorf("%s: %d %q: %s", name, p.Status, p.failures(), p.Body)
		}
	}
	expect(t, h.post(t, h.ben, h.facts(h.bill), hash{"facts": hash{"a": 1}, "template_id": "m1"}), 406, 179390)
	if got := len(h.list(t, h.ben, h.fields()).rows("items", "name")); got != 2 {
		t.Errorf("%d fields after refusals, want 2", got)
	}
	expect(t, h.list(t, h.ben, h.facts(h.folder)), 406, 150183)
	expect(t, h.as(t, h.ben, http.MethodDelete, h.in("storage/"+h.folder.ID+"/metadata/")), 406, 150183)
	expect(t, h.list(t, h.ben, h.in("storage/"+h.folder.ID+"/metadata/details/")), 406, 150183)
	expect(t, h.list(t, h.ben, h.in("storage/"+h.folder.ID+"/metadata/versions/")), 406, 150183)
	expect(t, h.list(t, h.ben, h.facts(h.photo)), 404, 0)
	expect(t, h.list(t, h.ben, h.in("storage/x/metadata/facts/")), 406, 10023, "node_id type_mismatch")
	delete(many, "f0")
	expect(t, h.post(t, h.ben, h.facts(h.bill), hash{"facts": many}), 200, 0)
	if err := h.AddFact(emulator.Fact{Node: h.folder.ID, Field: "a", Value: 1}); err == nil {
		t.Error("a folder took a fact")
	}
}

func TestFactDelete(t *testing.T) {
	t.Parallel()
	h := newLedger()
	path := h.in("storage/" + h.bill.ID + "/metadata/")
	h.write(t, h.bill, hash{"a": 1, "b": 2, "c": 3})
	remove := func(query ...string) reply { return h.as(t, h.ben, http.MethodDelete, path, query...) }
	left := func() []any { return h.list(t, h.ben, h.facts(h.bill)).rows("items", "field") }
	expect(t, remove("keys", "a"), 406, 10023, "keys type_mismatch")
	expect(t, remove("keys", "null"), 406, 10023, "keys type_mismatch")
	if p := remove("keys", `["A","nothing"]`); p.get("deleted") != 1.0 || !cmp.Equal(left(), []any{"b", "c"}) {
		t.Errorf("one key: %s, left %v", p.Body, left())
	}
	if p := remove(); p.get("deleted") != 2.0 || len(left()) != 0 {
		t.Errorf("no keys: %s, left %v", p.Body, left())
	}
	expect(t, remove(), 200, 0)
	h.write(t, h.bill, hash{"a": 1})
	if remove("keys", "[]"); len(left()) != 0 {
		t.Errorf("an empty list left %v", left())
	}
	if got := len(h.list(t, h.ben, h.fields()).rows("items", "name")); got != 5 {
		t.Errorf("%d fields, want 5: fields outlive their values", got)
	}
	if got := len(h.search(t, h.ada, "workspace_id", h.room.ID, "event", "metadata_kv_delete").events()); got != 3 {
		t.Errorf("%d events, want 3", got)
	}
	versions := h.list(t, h.ben, path+"versions/")
	want := []any{"metadata_kv_delete", "metadata_kv_update", "metadata_kv_delete", "metadata_kv_delete", "metadata_kv_update"}
	if diff := cmp.Diff(want, versions.rows("versions", "event")); diff != "" || versions.get("versions.0.version") != 5.0 {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestEligible(t *testing.T) {
	t.Parallel()
	h := newLedger()
	lost := h.AddNode(emulator.Node{Profile: h.room.ID, Name: "lost.TXT", Trashed: true})
	h.must(t, emulator.Fact{Node: h.bill.ID, Field: "category", Value: "Finance"})
	path := h.in("metadata/eligible/")
	names := func(query ...string) []any { return h.list(t, h.cleo, path, query...).rows("items", "name") }
	for name, c := range map[string]struct{ query, want []string }{
		"all":          {nil, []string{"plan.pdf", "march.txt", "letter", "scan.png", "lost.TXT"}},
		"a type":       {[]string{"mimetype", "image/png"}, []string{"scan.png"}},
		"an extension": {[]string{"extension", "txt"}, []string{"march.txt", "lost.TXT"}},
		"a folder":     {[]string{"parent_id", h.folder.ID}, []string{"march.txt"}},
		"the root":     {[]string{"parent_id", "root"}, []string{"plan.pdf", "letter", "scan.png"}},
		"the trash":    {[]string{"parent_id", "trash"}, []string{"lost.TXT"}},
		"a category":   {[]string{"category", "finance"}, []string{"march.txt"}},
	} {
		want := []any{}
		for _, n := range c.want {
			want = append(want, n)
		}
		if diff := cmp.Diff(want, names(c.query...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	p := h.list(t, h.ben, path, "category", "Finance")
	if diff := cmp.Diff(hash{"applied": true, "matched": 1.0, "truncated": false}, p.get("metadata_filter")); diff != "" {
		t.Errorf("the filter (-want +got):\n%s", diff)
	}
	if _, found := h.list(t, h.ben, path).JSON["metadata_filter"]; found {
		t.Error("a filter that was not asked for is acknowledged")
	}
	block := hash{"count": 1.0, "total": 1.0, "is_truncated": false, "items": []any{hash{
		"name": "category", "value": "Finance", "declared_type": "string", "stored_type": "string", "source": "ai",
		"confidence": nil, "rationale": nil, "updated": "2026-06-01 12:00:00 UTC",
	}}}
	if diff := cmp.Diff(block, p.get("items.0.metadata_facts")); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	terse := h.list(t, h.ben, path, "category", "Finance", "output", "terse").get("items.0.metadata_facts").(hash)
	if terse["fields"] != "category" || terse["items"] != nil {
		t.Errorf("terse: %v", terse)
	}
	if row := h.list(t, h.ben, path).row("items", "name", "lost.TXT"); row["parent_id"] != "trash" || strings.ReplaceAll(row["id"].(string), "-", "") != lost.ID {
		t.Errorf("in the trash: %v", row)
	}
	for asked, want := range map[string]float64{"": 100, "1": 25, "0": 25, "62": 25, "63": 100, "175": 100, "176": 250, "9000": 250} {
		if got := h.list(t, h.ben, path, "page_size", asked).get("page_size"); got != want {
			t.Errorf("page_size %s is %v, want %v", asked, got, want)
		}
	}
	expect(t, h.list(t, h.ben, path, "category", "Gardening"), 406, 10022, "category invalid")
	expect(t, h.list(t, h.ben, path, "page_size", "few"), 406, 10023, "page_size type_mismatch")
	expect(t, h.list(t, h.ben, path, "parent_id", "x"), 406, 10023, "parent_id type_mismatch")
}

func TestEligiblePages(t *testing.T) {
	t.Parallel()
	h := newLedger()
	for i := range 40 {
		h.AddNode(emulator.Node{Profile: h.room.ID, Name: "n" + strconv.Itoa(i) + ".txt"})
	}
	path := h.in("metadata/eligible/")
	p := h.list(t, h.ben, path, "page_size", "25")
	h.AddNode(emulator.Node{Profile: h.room.ID, Name: "late.txt"})
	cursor, _ := p.get("cursor").(string)
	rest := h.list(t, h.ben, path, "page_size", "25", "cursor", cursor)
	all := append(p.rows("items", "name"), rest.rows("items", "name")...)
	if len(all) != 45 || all[44] != "late.txt" || rest.get("has_more") != false {
		t.Errorf("%d nodes, the last is %v", len(all), all[len(all)-1])
	}
	expect(t, h.list(t, h.ben, path, "page_size", "25", "cursor", cursor, "extension", "txt"), 406, 10022, "cursor invalid")
}

func TestFilterPool(t *testing.T) {
	t.Parallel()
	h := newLedger()
	for range 1001 {
		n := h.AddNode(emulator.Node{Profile: h.room.ID})
		h.must(t, emulator.Fact{Node: n.ID, Field: "category", Value: "Legal"})
	}
	p := h.list(t, h.ben, h.in("metadata/eligible/"), "category", "Legal", "output", "terse")
	if diff := cmp.Diff(hash{"applied": true, "matched": 1000.0, "truncated": true}, p.get("metadata_filter")); diff != "" {
		t.Errorf("1001 files (-want +got):\n%s", diff)
	}
}

func TestFactBlockIsCut(t *testing.T) {
	t.Parallel()
	h := newLedger()
	for half := range 2 {
		facts := hash{}
		for i := range 60 {
			facts["f"+strconv.Itoa(half*60+i)] = i
		}
		h.write(t, h.letter, facts)
	}
	block := h.list(t, h.ben, h.in("metadata/eligible/")).row("items", "name", "letter")["metadata_facts"].(hash)
	if block["count"] != 100.0 || block["total"] != 120.0 || block["is_truncated"] != true || len(block["items"].([]any)) != 100 {
		t.Errorf("count %v, total %v, cut %v", block["count"], block["total"], block["is_truncated"])
	}
	if got := h.list(t, h.ben, h.facts(h.letter)).get("count"); got != 120.0 {
		t.Errorf("reading the facts shows %v", got)
	}
}

func TestMetadataDetails(t *testing.T) {
	t.Parallel()
	h := newLedger()
	h.write(t, h.bill, hash{"a": 1})
	path := func(ids ...string) string { return h.in("storage/" + strings.Join(ids, ",") + "/metadata/details/") }
	p := h.list(t, h.ben, path(h.bill.ID))
	if p.get("autoextractable") != true || p.get("metadata_facts.total") != 1.0 {
		t.Errorf("one: %s", p.Body)
	}
	if diff := cmp.Diff(p.get("metadata_facts"), p.get("node_id.metadata_facts")); diff != "" {
		t.Errorf("the block at the root and in the node (-root +node):\n%s", diff)
	}
	if got := h.list(t, h.ben, path(h.scan.ID)).get("autoextractable"); got != false {
		t.Error("what has no text is extractable")
	}
	p = h.list(t, h.ben, path(h.bill.ID, strings.ToUpper(h.bill.ID), h.letter.ID, h.folder.ID, h.photo.ID, "root", "x"))
	if got := len(p.get("objects").([]any)); got != 2 || p.get("format") != "multi" {
		t.Errorf("%d objects: %s", got, p.Body)
	}
	if diff := cmp.Diff([]any{150183.0, 191049.0, 196136.0, 147196.0}, p.rows("errors", "code")); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	none := h.list(t, h.ben, path("x", h.photo.ID))
	if none.Status != 404 || none.get("result") != false || none.get("error") != nil || len(none.rows("errors", "code")) != 2 {
		t.Errorf("without any: %d %s", none.Status, none.Body)
	}
	expect(t, h.list(t, h.ben, path(strings.Split(strings.Repeat(h.bill.ID+",", 25)+h.bill.ID, ",")...)), 406, 109184)
}

func TestSavedFilters(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Metadata.FilterLimit = 2 })
	h.write(t, h.bill, hash{"total": 12.5, "vendor": "Brass"})
	h.write(t, h.letter, hash{"vendor": "Steam"})
	list := h.in("metadata/filters/")
	clause := func(field, operator string, value any) hash {
		return hash{"field": field, "operator": operator, "value": value}
	}
	body := hash{
		"name": "Bills", "description": "Open ones", "projection": []any{"total"},
		"filters": []any{hash{"field": "total", "operator": "exists"}, clause("vendor", "=", "Brass")},
	}
	p := h.post(t, h.ben, list, body)
	id, _ := p.get("filter.filter_id").(string)
	want := hash{
		"filter_id": id, "name": "Bills", "description": "Open ones", "filters": body["filters"], "projection": []any{"total"},
		"creator": h.ben.ID, "created": "2026-06-01 12:00:00 UTC", "updated": "2026-06-01 12:00:00 UTC",
	}
	if diff := cmp.Diff(want, p.get("filter")); diff != "" || id == "" {
		t.Fatalf("a filter (-want +got):\n%s", diff)
	}
	one := list + id + "/"
	nodes := h.list(t, h.cleo, one+"nodes/")
	if got := nodes.rows("items", "name"); !cmp.Equal(got, []any{"march.txt"}) || nodes.get("metadata_filter.matched") != 1.0 {
		t.Errorf("it finds %v: %s", got, nodes.Body)
	}
	h.now = h.now.Add(time.Minute)
	replaced := h.call(t, h.ben, http.MethodPut, one, hash{"name": "Others", "filters": []any{hash{"field": "total", "operator": "not_exists"}, clause("vendor", "=", "Steam")}})
	if replaced.get("filter.description") != nil || replaced.get("filter.projection") != nil || replaced.get("filter.updated") != "2026-06-01 12:01:00 UTC" {
		t.Errorf("replaced: %s", replaced.Body)
	}
	if got := h.list(t, h.ben, one+"nodes/").rows("items", "name"); !cmp.Equal(got, []any{"letter"}) {
		t.Errorf("the new one finds %v", got)
	}
	if got := h.list(t, h.ben, one).get("filter.name"); got != "Others" {
		t.Errorf("read back: %v", got)
	}
	body["name"] = "Second"
	expect(t, h.post(t, h.ben, list, body), 200, 0)
	expect(t, h.post(t, h.ben, list, body), 401, 0)
	page := h.list(t, h.ben, list, "page_size", "1")
	cursor, _ := page.get("cursor").(string)
	if got := h.list(t, h.ben, list, "page_size", "1", "cursor", cursor).rows("items", "name"); !cmp.Equal(got, []any{"Second"}) {
		t.Errorf("the second page %v", got)
	}
	if diff := cmp.Diff(set("result status current_api_version count items cursor has_more"), keysOf(page.JSON)); diff != "" {
		t.Errorf("members of the list (-want +got):\n%s", diff)
	}
	expect(t, h.as(t, h.ben, http.MethodDelete, one), 200, 0)
	expect(t, h.as(t, h.ben, http.MethodDelete, one), 200, 0)
	expect(t, h.list(t, h.ben, one), 404, 0)
	expect(t, h.list(t, h.ben, one+"nodes/"), 404, 0)
	expect(t, h.call(t, h.ben, http.MethodPut, one, body), 404, 0)
	expect(t, h.list(t, h.ben, list+"x/"), 406, 10023, "filter_id type_mismatch")
	expect(t, h.post(t, h.cleo, list, body), 401, 10545)

	six := []any{}
	for range 6 {
		six = append(six, clause("a", "=", 1))
	}
	for name, filters := range map[string]any{
		"none": nil, "six": six, "an unknown operator": []any{clause("a", "~", 1)}, "no value": []any{clause("a", "=", nil)},
		"a value too many": []any{clause("a", "exists", 1)}, "no field": []any{clause("", "=", 1)}, "a list": []any{clause("a", "=", []any{1})},
	} {
		p := h.post(t, h.ben, list, hash{"name": "n", "filters": filters})
		if p.Status != 406 || !cmp.Equal(p.failures(), []string{"filters invalid"}) {
			t.Errorf("%s: %s", name, p.Body)
		}
	}
	expect(t, h.post(t, h.ben, list, hash{"filters": body["filters"]}), 406, 10021, "name missing")
}
