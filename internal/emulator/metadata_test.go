package emulator_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// ledger is a board with things to sort: a bill and a letter with text, a scan without, all in the room.
type ledger struct {
	*board
	bill, letter, scan, folder emulator.Node
}

func newLedger(change ...func(*emulator.Options)) *ledger {
	h := &ledger{board: newBoard(change...)}
	h.folder = h.AddNode(emulator.Node{Profile: h.room.ID, Kind: "folder", Name: "bills"})
	h.bill = h.AddNode(emulator.Node{
		Profile: h.room.ID, Parent: h.folder.ID, Name: "march.txt",
		Content: "# Invoice\n- Invoice Total: 1250.50\n- Vendor: Brass & Sons\n- **Due date**: 2026-07-01\nPaid: false\n",
	})
	h.letter = h.AddNode(emulator.Node{Profile: h.room.ID, Kind: "note", Name: "letter", Content: "Dear Charles: the engine runs."})
	h.scan = h.AddNode(emulator.Node{Profile: h.room.ID, Name: "scan.png", Content: "\xff\xfe"})
	return h
}

func (h *ledger) in(path string) string { return "/workspace/" + h.room.ID + "/" + path }

func (h *ledger) fields() string { return h.in("metadata/fields/") }

func (h *ledger) facts(n emulator.Node) string { return h.in("storage/" + n.ID + "/metadata/facts/") }

func (h *ledger) declare(t *testing.T, u emulator.User, fields ...string) reply {
	t.Helper()
	return h.form(t, h.keys[u.ID], http.MethodPost, h.fields(), fields...)
}

func (h *ledger) merge(t *testing.T, body any) reply {
	t.Helper()
	return h.post(t, h.ada, h.fields()+"merge/", body)
}

func (h *ledger) write(t *testing.T, n emulator.Node, facts hash) reply {
	t.Helper()
	p := h.post(t, h.ben, h.facts(n), hash{"facts": facts})
	expect(t, p, 200, 0)
	return p
}

// must puts a fact there.
func (h *ledger) must(t *testing.T, f emulator.Fact) {
	t.Helper()
	if err := h.AddFact(f); err != nil {
		t.Fatal(err)
	}
}

// names lists a member of the rows of an answer.
func (p reply) rows(path, name string) []any {
	list, _ := p.get(path).([]any)
	values := []any{}
	for _, row := range list {
		values = append(values, row.(hash)[name])
	}
	return values
}

// row is the row of an answer whose member has a value.
func (p reply) row(path, name string, value any) hash {
	list, _ := p.get(path).([]any)
	for _, row := range list {
		if r := row.(hash); r[name] == value {
			return r
		}
	}
	return nil
}

func TestFieldList(t *testing.T) {
	t.Parallel()
	h := newLedger()
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "Total", Type: "float"})
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "Sum", Type: "float", MergedInto: "total"})
	h.must(t, emulator.Fact{Node: h.bill.ID, Field: "Total", Value: 3.5})
	h.must(t, emulator.Fact{Node: h.letter.ID, Field: "sum", Value: ""})

	p := h.list(t, h.ben, h.fields())
	if diff := cmp.Diff([]any{"category", "sub_category", "Total"}, p.rows("items", "name")); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	want := hash{
		"name": "Total", "declared_type": "float", "constraints": nil, "aliases": []any{"Sum"}, "provisional": false,
		"origin": "ai", "revision": 1.0, "file_count": 1.0, "created": "2026-06-01 12:00:00 UTC", "updated": "2026-06-01 12:00:00 UTC",
	}
	if diff := cmp.Diff(want, p.get("items.2")); diff != "" {
		t.Errorf("a field (-want +got):\n%s", diff)
	}
	if allowed := p.get("items.0.constraints.allowed").([]any); len(allowed) != 12 || allowed[11] != "Other" {
		t.Errorf("categories %v", allowed)
	}
	if p.get("count") != 3.0 || p.get("page_size") != 100.0 || p.get("cursor") != nil || p.get("has_more") != false {
		t.Errorf("the page: %s", p.Body)
	}
	terse := h.list(t, h.ben, h.fields(), "output", "terse").get("items.2").(hash)
	if _, found := terse["file_count"]; found || terse["aliases"] == nil {
		t.Errorf("terse: %v", terse)
	}
}

func TestFieldPages(t *testing.T) {
	t.Parallel()
	h := newLedger()
	for i := range 5 {
		h.AddField(emulator.Field{Workspace: h.room.ID, Name: "f" + strconv.Itoa(i)})
	}
	var names []any
	var cursor string
	for query := []string{"page_size", "3"}; ; query = []string{"page_size", "3", "cursor", cursor} {
		p := h.list(t, h.ben, h.fields(), query...)
		names = append(names, p.rows("items", "name")...)
		cursor, _ = p.get("cursor").(string)
		if p.get("has_more") != (cursor != "") {
			t.Fatalf("has_more and cursor differ: %s", p.Body)
		}
		if cursor == "" {
			break
		}
		expect(t, h.list(t, h.ben, h.fields(), "field", "f0", "cursor", cursor), 406, 10022, "cursor invalid")
		expect(t, h.list(t, h.ada, h.fields(), "page_size", "3", "cursor", cursor), 406, 10022, "cursor invalid")
	}
	if diff := cmp.Diff([]any{"category", "sub_category", "f0", "f1", "f2", "f3", "f4"}, names); diff != "" {
		t.Errorf("all pages (-want +got):\n%s", diff)
	}
	expect(t, h.list(t, h.ben, h.fields(), "cursor", ""), 406, 10022, "cursor invalid")
	expect(t, h.list(t, h.ben, h.fields(), "page_size", "0"), 406, 10022, "page_size invalid")
	expect(t, h.list(t, h.ben, h.fields(), "page_size", "251"), 406, 10022, "page_size invalid")
}

func TestFieldValues(t *testing.T) {
	t.Parallel()
	h := newLedger()
	h.write(t, h.bill, hash{"vendor": "Brass"})
	h.write(t, h.letter, hash{"vendor": "Steam"})
	h.write(t, h.scan, hash{"vendor": "Steam"})
	p := h.list(t, h.ben, h.fields(), "field", "VENDOR")
	want := []any{hash{"value": "Steam", "count": 2.0}, hash{"value": "Brass", "count": 1.0}}
	if diff := cmp.Diff(want, p.get("items")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	expect(t, h.list(t, h.ben, h.fields(), "field", "nothing"), 406, 10022, "field invalid")
}

func TestDeclare(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Metadata.FieldLimit = 5 })
	p := h.declare(t, h.ada, "name", " Invoice Total ", "declared_type", "float")
	if p.get("field.name") != "Invoice Total" || p.get("field_created") != true || p.get("field.origin") != "user" {
		t.Errorf("a new field: %s", p.Body)
	}
	p = h.declare(t, h.ada, "name", "invoice total", "declared_type", "int")
	if p.get("field.name") != "Invoice Total" || p.get("field.declared_type") != "float" || p.get("field_created") != false {
		t.Errorf("a name that is taken: %s", p.Body)
	}
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "sum", Type: "float", MergedInto: "Invoice Total"})
	p = h.declare(t, h.ada, "name", "SUM", "declared_type", "float")
	if p.get("field.name") != "Invoice Total" || p.get("field_created") != false {
		t.Errorf("a retired name: %s", p.Body)
	}
	expect(t, h.declare(t, h.ada, "name", strings.Repeat("ä", 64), "declared_type", "int"), 200, 0)
	expect(t, h.declare(t, h.ada, "name", "one more", "declared_type", "int"), 413, 0)
	expect(t, h.declare(t, h.ada, "name", "  ", "declared_type", "int"), 406, 10021, "name missing")
	expect(t, h.declare(t, h.ada, "name", strings.Repeat("n", 65), "declared_type", "int"), 406, 10022, "name invalid")
	expect(t, h.declare(t, h.ada, "name", "a\tb", "declared_type", "int"), 406, 10022, "name invalid")
	expect(t, h.declare(t, h.ada, "name", "a"), 406, 10021, "declared_type missing")
	expect(t, h.declare(t, h.ada, "name", "a", "declared_type", "money"), 406, 10022, "declared_type invalid")
	expect(t, h.declare(t, h.ada, "name", "a", "declared_type", "int", "constraints", "{}"), 406, 10022, "constraints invalid")
	expect(t, h.post(t, h.ada, h.fields(), hash{"name": "a", "declared_type": "int"}), 406, 0)
	if got := len(h.list(t, h.ada, h.fields()).rows("items", "name")); got != 4 {
		t.Errorf("%d fields after the refusals, want 4", got)
	}
}

func TestMetadataGates(t *testing.T) {
	t.Parallel()
	h := newLedger()
	key := func(mode string) string {
		return h.AddKey(emulator.Key{User: h.ada.ID, Scopes: []string{"workspace:" + h.room.ID + ":" + mode}}).Token
	}
	declare := func(token string) reply {
		return h.form(t, token, http.MethodPost, h.fields(), "name", "a", "declared_type", "int")
	}
	expect(t, declare(h.keys[h.ben.ID]), 401, 10545)
	expect(t, declare(h.keys[h.eve.ID]), 401, 10545)
	for _, token := range []string{key("r"), key("rw")} {
		p := declare(token)
		expect(t, p, 403, 10767)
		if p.reason() != "scope_admin_required" || p.get("error.params.credential_type") != "api_key" {
			t.Errorf("%s", p.Body)
		}
	}
	expect(t, declare(key("rwa")), 200, 0)
	expect(t, h.list(t, h.cleo, h.fields()), 401, 10545)
	expect(t, h.list(t, h.ben, h.fields()+"merge-candidates/"), 401, 10545)
	expect(t, h.list(t, h.cleo, h.facts(h.bill)), 200, 0)
	expect(t, h.post(t, h.cleo, h.facts(h.bill), hash{"facts": hash{"a": 1}}), 401, 10545)
	expect(t, h.body(t, key("r"), http.MethodPost, h.facts(h.bill), "application/json", `{"facts":{"a":1}}`), 403, 10770)
	expect(t, h.list(t, h.ben, "/workspace/4999999999999999999/metadata/fields/"), 404, 0)

	poor := newLedger(func(o *emulator.Options) { o.Lacks = []string{"metadata"} })
	expect(t, poor.list(t, poor.ben, poor.fields()), 402, 0)
	expect(t, poor.declare(t, poor.ada, "name", "a", "declared_type", "int"), 402, 0)
	expect(t, poor.merge(t, hash{"source": "a", "target": "b"}), 402, 0)
	expect(t, poor.list(t, poor.ben, poor.facts(poor.bill)), 402, 0)
}

func TestMerge(t *testing.T) {
	t.Parallel()
	h := newLedger()
	h.write(t, h.bill, hash{"invoice_total": 1250.5})
	h.write(t, h.letter, hash{"Invoice Total": 12.5})
	h.write(t, h.scan, hash{"Invoice Total": 1.5})

	preflight := h.merge(t, hash{"source": "INVOICE_TOTAL", "target": "invoice total"})
	want := hash{
		"result": true, "status": "ok", "current_api_version": "1.0", "source": "invoice_total", "target": "Invoice Total",
		"files_affected": 1.0, "target_files_before": 2.0, "would_refuse": nil, "merged": false, "already_merged": false,
		"snapshot": hash{"source_revision": 1.0, "target_revision": 1.0, "group_size": 2.0},
	}
	if diff := cmp.Diff(want, preflight.JSON); diff != "" {
		t.Errorf("pre-flight (-want +got):\n%s", diff)
	}
	if got := h.list(t, h.ben, h.fields()).rows("items", "name"); len(got) != 4 {
		t.Errorf("the pre-flight wrote: %v", got)
	}
	done := h.merge(t, hash{"source": "invoice_total", "target": "Invoice Total", "confirm": true})
	want["merged"] = true
	if diff := cmp.Diff(want, done.JSON); diff != "" {
		t.Errorf("merge (-want +got):\n%s", diff)
	}

	field := h.list(t, h.ben, h.fields()).row("items", "name", "Invoice Total")
	if diff := cmp.Diff([]any{"invoice_total"}, field["aliases"]); diff != "" || field["file_count"] != 3.0 || field["revision"] != 2.0 {
		t.Errorf("the target %v (-want +got):\n%s", field, diff)
	}
	if got := h.list(t, h.ben, h.facts(h.bill)).rows("items", "field"); !cmp.Equal(got, []any{"invoice_total"}) {
		t.Errorf("the value is filed under %v", got)
	}
	for confirm, body := range map[bool]hash{
		false: {"source": "invoice_total", "target": "Invoice Total"},
		true:  {"source": "invoice_total", "target": "Invoice Total", "confirm": true},
	} {
		p := h.merge(t, body)
		if p.get("already_merged") != true || p.get("merged") != false || p.get("would_refuse") != nil || p.get("snapshot") != nil {
			t.Errorf("again, confirm %t: %s", confirm, p.Body)
		}
	}
	h.write(t, h.bill, hash{"invoice_total": 7})
	if got := h.list(t, h.ben, h.facts(h.bill)).row("items", "field", "Invoice Total"); got == nil || got["value"] != 7.0 {
		t.Errorf("a retired name wrote %v", got)
	}
}

func TestMergeRefusals(t *testing.T) {
	t.Parallel()
	h := newLedger()
	for name, kind := range map[string]string{"total": "float", "sum": "float", "amount": "float", "paid": "bool"} {
		h.AddField(emulator.Field{Workspace: h.room.ID, Name: name, Type: kind})
	}
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "price", Type: "float", MergedInto: "total"})
	h.write(t, h.bill, hash{"total": 1.5, "sum": 2.5})
	h.write(t, h.letter, hash{"amount": 1.5, "total": 1.50})
	h.must(t, emulator.Fact{Node: h.scan.ID, Field: "amount", Value: 3.5}) // the agent may be overruled
	h.write(t, h.scan, hash{"total": 4.5})
	for name, c := range map[string]struct{ source, target, reason string }{
		"a type that differs":            {"paid", "total", "merge_refused_type_mismatch"},
		"values of people in both":       {"sum", "total", "merge_refused_user_authored"},
		"a name of the platform":         {"category", "total", "merge_refused_reserved_name"},
		"a target of the platform":       {"paid", "sub_category", "merge_refused_reserved_name"},
		"a source nobody has named":      {"nothing", "total", "merge_source_unknown"},
		"a source with a blank":          {" sum", "total", "merge_source_unknown"},
		"a target nobody has named":      {"total", "nothing", "merge_target_unknown"},
		"a source that is gone":          {"price", "sum", "merge_source_already_merged"},
		"the same values in both":        {"amount", "total", ""},
		"a target by its retired name":   {"amount", "PRICE", ""},
		"a target that holds less files": {"total", "amount", ""},
	} {
		for _, confirm := range []bool{false, true} {
			if confirm && c.reason == "" {
				continue
			}
			p := h.merge(t, hash{"source": c.source, "target": c.target, "confirm": confirm})
			expect(t, p, 200, 0)
			reason, _ := p.get("would_refuse.reason").(string)
			if reason != c.reason || p.get("merged") != false || (p.get("snapshot") == nil) != (c.reason != "") {
				t.Errorf("%s: %s", name, p.Body)
			}
			if resolved := p.get("would_refuse.source_resolves_to"); c.source == "price" && resolved != "total" {
				t.Errorf("%s: resolves to %v", name, resolved)
			}
		}
	}
	if got := h.merge(t, hash{"source": "amount", "target": "price"}).get("target"); got != "total" {
		t.Errorf("the canonical target is %v", got)
	}
	expect(t, h.merge(t, hash{"source": "total", "target": "TOTAL"}), 406, 0)
	expect(t, h.merge(t, hash{"source": "total", "target": "price"}), 406, 0)
}

func TestMergeBody(t *testing.T) {
	t.Parallel()
	h := newLedger()
	long := strings.Repeat(" ", 60) + "total"
	for name, c := range map[string]struct {
		body     any
		failures []string
	}{
		"no source":             {hash{"target": "b"}, []string{"source missing"}},
		"no target":             {hash{"source": "a"}, []string{"target missing"}},
		"a padding that counts": {hash{"source": long, "target": "b"}, []string{"source invalid"}},
		"a text as confirm":     {hash{"source": "a", "target": "b", "confirm": "true"}, []string{"confirm type_mismatch"}},
		"null as confirm":       {hash{"source": "a", "target": "b", "confirm": nil}, []string{"confirm type_mismatch"}},
		"a number as source":    {hash{"source": 1, "target": "b"}, []string{"source type_mismatch"}},
		"a list":                {"[]", nil},
	} {
		got := h.merge(t, c.body)
		if got.Status != 406 || !cmp.Equal(got.failures(), c.failures) {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	form := func(fields ...string) reply {
		return h.form(t, h.keys[h.ada.ID], http.MethodPost, h.fields()+"merge/", fields...)
	}
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "a"})
	for i, yes := range []string{"true", "1", "YES", "On"} {
		source := "b" + strconv.Itoa(i)
		h.AddField(emulator.Field{Workspace: h.room.ID, Name: source})
		for _, no := range []string{"false", "0", "No", "off"} {
			if p := form("source", source, "target", "a", "confirm", no); p.get("merged") != false {
				t.Errorf("%s: %s", no, p.Body)
			}
		}
		if p := form("source", source, "target", "a", "confirm", yes); p.get("merged") != true {
			t.Errorf("%s: %s", yes, p.Body)
		}
	}
	expect(t, form("source", "a", "target", "b", "confirm", ""), 406, 10023, "confirm type_mismatch")
	expect(t, form("source", "a", "target", "b", "confirm", "maybe"), 406, 10023, "confirm type_mismatch")
}

func TestVocabularyFailures(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Metadata.VocabularyBusy = 2 })
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "a"})
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "b"})
	expect(t, h.merge(t, hash{"source": "a", "target": "b", "confirm": true}), 503, 0)
	expect(t, h.post(t, h.ben, h.facts(h.bill), hash{"facts": hash{"c": 1}}), 503, 0)
	if got := len(h.list(t, h.ben, h.fields()).rows("items", "name")); got != 4 {
		t.Errorf("%d fields after two refusals, want 4", got)
	}
	expect(t, h.merge(t, hash{"source": "a", "target": "b", "confirm": true}), 200, 0)
	expect(t, h.post(t, h.ben, h.facts(h.bill), hash{"facts": hash{"c": 1}}), 200, 0)

	blind := newLedger(func(o *emulator.Options) { o.Metadata.CountsUnreadable = true })
	if _, found := blind.list(t, blind.ben, blind.fields()).get("items.0").(hash)["file_count"]; found {
		t.Error("an unreadable count is shown")
	}
	expect(t, blind.merge(t, hash{"source": "a", "target": "b"}), 503, 0)
}

func TestMergeLimit(t *testing.T) {
	t.Parallel()
	h := newLedger(func(o *emulator.Options) { o.Limits.Rules = nil })
	for range 30 {
		expect(t, h.merge(t, hash{"source": "a", "target": "b"}), 200, 0)
	}
	expect(t, h.merge(t, hash{"source": "a", "target": "b"}), 429, 10368)
}

func TestMergeCandidates(t *testing.T) {
	t.Parallel()
	h := newLedger()
	for _, name := range []string{"invoice_total", "Invoice-Total", "Invoice Amount", "vendor"} {
		h.AddField(emulator.Field{Workspace: h.room.ID, Name: name, Type: "float"})
	}
	h.AddField(emulator.Field{Workspace: h.room.ID, Name: "supplier"})
	h.must(t, emulator.Fact{Node: h.bill.ID, Field: "Invoice-Total", Value: 1.5})
	p := h.list(t, h.ada, h.fields()+"merge-candidates/")
	want := []any{
		hash{"source": "Invoice Amount", "target": "invoice_total", "reason": "semantic_same_concept"},
		hash{"source": "invoice_total", "target": "Invoice-Total", "reason": "separator_or_case_variant"},
		hash{"source": "Invoice Amount", "target": "Invoice-Total", "reason": "semantic_same_concept"},
	}
	byName := cmp.Transformer("set", func(list []any) map[string]bool {
		set := map[string]bool{}
		for _, item := range list {
			o := item.(hash)
			set[o["source"].(string)+" "+o["target"].(string)+" "+o["reason"].(string)] = true
		}
		return set
	})
	if diff := cmp.Diff(want, p.get("items"), byName); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	// The fourth pair looks alike and has two types.
	if p.get("proposals_total") != 4.0 || p.get("proposals_examined") != 4.0 || p.get("next_offset") != nil || p.get("vocabulary_scanned") != true {
		t.Errorf("the ranking: %s", p.Body)
	}
	expect(t, h.list(t, h.ada, h.fields()+"merge-candidates/", "offset", "-1"), 406, 10022, "offset invalid")

	for i := range 6 {
		h.AddField(emulator.Field{Workspace: h.room.ID, Name: "x" + strings.Repeat("_", i) + "y"})
	}
	p = h.list(t, h.ada, h.fields()+"merge-candidates/")
	if p.get("next_offset") != 10.0 || p.get("proposals_examined") != 10.0 || p.get("proposals_total") != 19.0 {
		t.Errorf("the first of two pages: %s", p.Body)
	}
	p = h.list(t, h.ada, h.fields()+"merge-candidates/", "offset", "10")
	if p.get("next_offset") != nil || p.get("proposals_examined") != 19.0 {
		t.Errorf("the last page: %s", p.Body)
	}
	unscanned := newLedger(func(o *emulator.Options) { o.Metadata.VocabularyUnscanned = true })
	p = unscanned.list(t, unscanned.ada, unscanned.fields()+"merge-candidates/")
	if p.get("vocabulary_scanned") != false || len(p.get("items").([]any)) != 0 {
		t.Errorf("unscanned: %s", p.Body)
	}
}

func TestLoadMetadata(t *testing.T) {
	t.Parallel()
	const seed = `{
	  "users":      [{"id": "ada", "first_name": "Ada"}],
	  "orgs":       [{"id": "acme", "domain": "acme", "owner": "ada"}],
	  "workspaces": [{"id": "design", "org_id": "acme", "folder_name": "design"}],
	  "nodes":      [{"id": "plan", "profile_id": "design", "name": "plan.pdf"}, {"id": "plans", "profile_id": "design", "kind": "folder"}],
	  "keys":       [{"token": "all", "user_id": "ada"}],
	  "fields":     [{"workspace_id": "design", "name": "pages", "declared_type": "int", "origin": "user", "created": "2026-01-01T00:00:00Z"},
	                 {"workspace_id": "design", "name": "sheets", "declared_type": "int", "merged_into": "pages"}],
	  "facts":      [{"node_id": "plan", "field": "pages", "value": "twelve", "source": "exif", "confidence": "low",
	                  "rationale": "A guess.", "updated": "2026-01-02T00:00:00Z"}]
	}`
	w := &world{Server: emulator.New(emulator.Options{Clock: func() time.Time { return epoch }})}
	if err := w.Load(strings.NewReader(seed)); err != nil {
		t.Fatal(err)
	}
	want := hash{
		"name": "pages", "declared_type": "int", "constraints": nil, "aliases": []any{"sheets"}, "provisional": false,
		"origin": "user", "revision": 1.0, "file_count": 1.0, "created": "2026-01-01 00:00:00 UTC", "updated": "2026-01-01 00:00:00 UTC",
	}
	if diff := cmp.Diff(want, w.with(t, "all", http.MethodGet, "/workspace/design/metadata/fields/").get("items.2")); diff != "" {
		t.Errorf("a field (-want +got):\n%s", diff)
	}
	fact := hash{
		"name": "pages", "value": "twelve", "declared_type": "int", "stored_type": "string", "source": "exif",
		"confidence": "low", "rationale": "A guess.", "updated": "2026-01-02 00:00:00 UTC",
	}
	got := w.with(t, "all", http.MethodGet, "/workspace/design/metadata/eligible/").get("items.0.metadata_facts.items.0")
	if diff := cmp.Diff(fact, got); diff != "" {
		t.Errorf("a fact that does not fit its field (-want +got):\n%s", diff)
	}
	on := func(node string) string {
		return strings.Replace(seed, `"node_id": "plan"`, `"node_id": "`+node+`"`, 1)
	}
	for _, node := range []string{"plans", "unknown"} {
		if err := emulator.New(emulator.Options{}).Load(strings.NewReader(on(node))); err == nil {
			t.Errorf("a fact on %q was taken", node)
		}
	}
}
