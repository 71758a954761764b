package emulator_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator"
)

// find searches the room as Ben.
func (b *cabinet) find(t *testing.T, text string, query ...string) reply {
	t.Helper()
	return b.get(t, b.ben, b.inRoom("search"), append([]string{"search", text}, query...)...)
}

// ranked lists the names and sources of hits in the order of the wire, which a Go map loses.
func (p reply) ranked(t *testing.T) []string {
	t.Helper()
	var outer struct {
		Files json.RawMessage `json:"files"`
	}
	if err := json.Unmarshal([]byte(p.Body), &outer); err != nil || p.Status != 200 {
		t.Fatalf("%d %s: %v", p.Status, p.Body, err)
	}
	got := []string{}
	if string(outer.Files) == "[]" {
		return got
	}
	d := json.NewDecoder(strings.NewReader(string(outer.Files)))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		var hit map[string]any
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(&hit); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(hit["name"], " ", hit["match_source"]))
	}
	return got
}

func TestSearchStorage(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	for name, want := range map[string]struct {
		text  string
		query []string
		hits  []string
	}{
		"names and contents together":     {"engine", nil, []string{"Engine.pdf both", "engine draft.txt keyword"}},
		"contents by their words":         {"How do I turn handles?", nil, []string{"Guide.md semantic"}},
		"names alone":                     {"engine", []string{"search_in", "filename"}, []string{"Engine.pdf keyword", "engine draft.txt keyword"}},
		"contents alone":                  {"engine", []string{"search_in", "CONTENT"}, []string{"Engine.pdf both"}},
		"folders by name":                 {"drafts", []string{"search_in", "filename"}, []string{"Drafts keyword", "engine draft.txt keyword"}},
		"nothing":                         {"submarine", nil, []string{}},
		"an exact name":                   {"Engine.PDF", []string{"search_in", "filename", "name_match", "exact"}, []string{"Engine.pdf keyword"}},
		"an exact name without extension": {"guide", []string{"search_in", "filename", "name_match", "exact"}, []string{"Guide.md keyword"}},
		"how a name begins":               {"eng", []string{"search_in", "filename", "name_match", "prefix"}, []string{"Engine.pdf keyword", "engine draft.txt keyword"}},
		"how a name is written":           {"eng", []string{"search_in", "filename", "name_match", "prefix", "case_sensitive", "1"}, []string{"engine draft.txt keyword"}},
		"what a name contains":            {"e d", []string{"search_in", "filename", "name_match", "contains"}, []string{"engine draft.txt keyword"}},
		"a star that is none":             {"eng*", []string{"search_in", "filename", "name_match", "prefix"}, []string{}},
		"a pattern":                       {"e*.???", []string{"search_in", "filename", "name_match", "glob"}, []string{"Engine.pdf keyword", "engine draft.txt keyword"}},
		"a pattern that begins open":      {"*t.TXT", []string{"search_in", "filename", "name_match", "glob"}, []string{"engine draft.txt keyword"}},
		"a pattern of a whole name":       {"?uide", []string{"search_in", "filename", "name_match", "glob"}, []string{}},
		"contents whatever the pattern":   {"plates", []string{"search_in", "content", "name_match", "glob"}, []string{"Engine.pdf semantic"}},
	} {
		t.Run("finds "+name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want.hits, b.find(t, want.text, want.query...).ranked(t)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What a file means is found once it is indexed, and what is said of it before.
func TestSearchAwaitsTheIndex(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	b.AddNode(emulator.Node{Profile: b.room.ID, Name: "fresh.txt", Content: "Zeppelins rise.", AIState: "pending"})
	for i, want := range [][]string{{}, {}, {"fresh.txt keyword"}, {"fresh.txt both"}} {
		if diff := cmp.Diff(want, b.find(t, "zeppelins").ranked(t)); diff != "" {
			t.Errorf("after %d steps (-want +got)\n%s", i, diff)
		}
		b.now = b.now.Add(2 * time.Second)
	}
}

// Names are compared with a pattern one by one, and not all of them.
func TestSearchExaminesSoMany(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	for range 1001 {
		b.AddNode(emulator.Node{Profile: b.attic.ID, Name: "box"})
	}
	p := b.get(t, b.ada, "/workspace/"+b.attic.ID+"/storage/search/", "search", "box", "search_in", "filename", "name_match", "exact")
	if p.get("pagination.total") != 1000.0 {
		t.Errorf("%v", p.get("pagination"))
	}
}

func TestSearchUnderAPolicy(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	o := b.org
	o.AIPolicy.DenyIntelligence = true
	b.AddOrg(o)
	p := b.find(t, "engine", "search_in", "both")
	if p.get("search_metadata.semantic_available") != false || !cmp.Equal(p.ranked(t), []string{"Engine.pdf keyword", "engine draft.txt keyword"}) {
		t.Errorf("%s", p.Body)
	}
}

func TestSearchHit(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	hit := func(id string, query ...string) map[string]any {
		p := b.find(t, "engine plates", query...)
		h, _ := p.get("files." + id).(map[string]any)
		return h
	}
	got := hit(b.engine.ID)
	raw, _ := got["raw_score"].(float64)
	want := map[string]any{
		"name": "Engine.pdf", "parent_id": got["parent_id"], "type": "file", "relevance_score": 1.0, "raw_score": raw,
		"score_source": "semantic", "content_snippet": "Its printer stamps plates.", "match_source": "both",
		"mimetype": "application/pdf", "page": map[string]any{"start_page": 2.0, "end_page": 2.0},
	}
	if diff := cmp.Diff(want, got); diff != "" || raw <= 0 {
		t.Errorf("(-want +got)\n%s", diff)
	}
	byName := hit(b.old.ID)
	if byName["score_source"] != "filename" || byName["raw_score"] != nil || byName["content_snippet"] != nil {
		t.Errorf("%v", byName)
	}
	plain := hit(b.engine.ID, "search_in", "filename")
	if diff := cmp.Diff(set("name parent_id type content_snippet match_source"), keysOf(plain)); diff != "" {
		t.Errorf("a name alone (-want +got)\n%s", diff)
	}
	if detailed := hit(b.engine.ID, "details", "true"); detailed["node"] == nil || hit(b.engine.ID, "details", "1")["node"] != nil {
		t.Errorf("%v", detailed)
	}
}

func TestSearchSnippets(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	text := "zeppelin " + strings.Repeat("é", 500)
	n := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "long.txt", Content: text, Summary: "Long."})
	for level, most := range map[string]int{"terse": 200, "standard": 600, "full": len(text)} {
		snippet, _ := b.find(t, "zeppelin", "output", level).get("files." + n.ID + ".content_snippet").(string)
		cut, short := strings.CutSuffix(snippet, "…")
		if len(cut) > most || len(cut) < most-1 || short == (level == "full") || !strings.HasPrefix(text, cut) {
			t.Errorf("%s: %d bytes, shortened %v", level, len(cut), short)
		}
	}
	video := b.AddNode(emulator.Node{Profile: b.room.ID, Name: "talk.mp4", Content: "Welcome.\n\nThe zeppelin rises."})
	want := map[string]any{"start_seconds": 10.0, "end_seconds": 20.0}
	if diff := cmp.Diff(want, b.find(t, "rises").get("files."+video.ID+".media_segment")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSearchPages(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	for i := range 25 {
		b.AddNode(emulator.Node{Profile: b.room.ID, Name: fmt.Sprintf("gear %02d.txt", i), Content: strings.Repeat("gear ", i+1)})
	}
	all := b.find(t, "gear").ranked(t)
	var paged []string
	for offset := 0; ; {
		p := b.find(t, "gear", "limit", "10", "offset", strconv.Itoa(offset))
		page := p.ranked(t)
		paged = append(paged, page...)
		offset += len(page)
		if p.get("pagination.total") != 25.0 {
			t.Fatalf("%s", p.Body)
		}
		if p.get("pagination.has_more") == false {
			break
		}
	}
	if diff := cmp.Diff(all, paged); diff != "" || len(all) != 25 {
		t.Errorf("(-all +paged)\n%s", diff)
	}
	if got := b.find(t, "gear", "details", "true"); len(got.ranked(t)) != 10 || got.get("pagination.limit") != 10.0 {
		t.Errorf("with details a page has %v", got.get("pagination"))
	}
	if got := len(b.find(t, "gear", "offset", "30").ranked(t)); got != 0 {
		t.Errorf("%d hits behind the last", got)
	}
}

func TestSearchRules(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	for name, want := range map[string]struct {
		text    string
		query   []string
		failure string
	}{
		"no text":               {" ", nil, "search missing"},
		"too long a text":       {strings.Repeat("ä", 1001), nil, "search invalid"},
		"too long a pattern":    {strings.Repeat("ä", 257), []string{"name_match", "contains"}, "search invalid"},
		"only wildcards":        {"*?*", []string{"name_match", "glob"}, "search invalid"},
		"another place":         {"x", []string{"search_in", "comments"}, "search_in invalid"},
		"another comparison":    {"x", []string{"name_match", "regex"}, "name_match invalid"},
		"another flag":          {"x", []string{"case_sensitive", "maybe"}, "case_sensitive type_mismatch"},
		"a limit of 0":          {"x", []string{"limit", "0"}, "limit invalid"},
		"a limit above 500":     {"x", []string{"limit", "501"}, "limit invalid"},
		"a bare 0 as scope":     {"x", []string{"files_scope", "0"}, "files_scope invalid"},
		"a file without":        {"x", []string{"files_scope", b.engine.ID}, "files_scope invalid"},
		"another's version":     {"x", []string{"files_scope", b.engine.ID + ":" + b.guide.Versions[0].ID}, "files_scope invalid"},
		"a folder as file":      {"x", []string{"files_scope", b.folder.ID + ":" + b.guide.Versions[0].ID}, "files_scope invalid"},
		"more than 100 files":   {"x", []string{"files_scope", strings.Repeat("x:y,", 100) + "x:y"}, "files_scope invalid"},
		"a file as folder":      {"x", []string{"folders_scope", b.engine.ID + ":1"}, "folders_scope invalid"},
		"the root as folder":    {"x", []string{"folders_scope", "root:1"}, "folders_scope invalid"},
		"a depth of 0":          {"x", []string{"folders_scope", b.folder.ID + ":0"}, "folders_scope invalid"},
		"a depth above 10":      {"x", []string{"folders_scope", b.folder.ID + ":11"}, "folders_scope invalid"},
		"a folder, bare":        {"x", []string{"folders_scope", b.folder.ID}, "folders_scope invalid"},
		"what is wrong in half": {"x", []string{"folders_scope", b.folder.ID + ":1,0"}, "folders_scope invalid"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			if p := b.find(t, want.text, want.query...); p.Status != 406 || !slices.Contains(p.failures(), want.failure) {
				t.Errorf("%d %s", p.Status, p.Body)
			}
		})
	}
	expect(t, b.find(t, strings.Repeat("ä", 257), "name_match", "exact"), 406, 144711)
	expect(t, b.find(t, strings.Repeat("ä", 256), "name_match", "exact"), 200, 0)
	expect(t, b.find(t, strings.Repeat("ä", 1000), "search_in", "content", "name_match", "exact"), 200, 0)
	expect(t, b.find(t, strings.Repeat("ä", 1000)), 200, 0)
	whole := b.guide.ID + ":" + b.guide.Versions[0].ID
	expect(t, b.find(t, "x", "files_scope", whole+strings.Repeat(","+whole, 99), "folders_scope", b.folder.ID+":10"), 200, 0)
	expect(t, b.find(t, "x", "search_in", "filename", "files_scope", "0"), 200, 0)
	expect(t, b.get(t, b.eve, b.inRoom("search"), "search", "x"), 401, 10545)
	expect(t, b.with(t, "", "GET", b.inPortal("search"), "search", "x"), 401, 10011)
}

func TestSearchScope(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	b.AddNode(emulator.Node{Profile: b.room.ID, Name: "loose.txt", Content: "Brass handles."})
	file := func(n emulator.Node) string { return n.ID + ":" + n.Versions[0].ID }
	for name, want := range map[string]struct {
		query []string
		hits  []string
	}{
		"a file":                        {[]string{"files_scope", file(b.old)}, []string{"engine draft.txt"}},
		"two files":                     {[]string{"files_scope", file(b.old) + "," + file(b.guide)}, []string{"engine draft.txt", "Guide.md"}},
		"a folder and none below":       {[]string{"folders_scope", b.folder.ID + ":1"}, []string{}},
		"a folder and those below":      {[]string{"folders_scope", b.folder.ID + ":2"}, []string{"engine draft.txt"}},
		"a file that is gone":           {[]string{"files_scope", b.poster.ID + ":" + b.poster.Versions[0].ID}, []string{}},
		"a folder that is gone":         {[]string{"folders_scope", b.poster.ID[:28] + "0:1"}, []string{}},
		"files and folders":             {[]string{"files_scope", file(b.guide), "folders_scope", b.inner.ID + ":1"}, []string{"engine draft.txt", "Guide.md"}},
		"everything where none is sent": {nil, []string{"loose.txt", "engine draft.txt", "Guide.md"}},
	} {
		t.Run("is "+name, func(t *testing.T) {
			t.Parallel()
			p := b.find(t, "crank handle columns brass", append([]string{"search_in", "content"}, want.query...)...)
			got := []string{}
			for _, hit := range p.ranked(t) {
				if name, found := strings.CutSuffix(hit, " semantic"); found {
					got = append(got, name)
				} else if name, found := strings.CutSuffix(hit, " both"); found {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			slices.Sort(want.hits)
			if diff := cmp.Diff(want.hits, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if scoped := p.get("search_metadata.scoped"); scoped != (want.query != nil) {
				t.Errorf("scoped is %v", scoped)
			}
		})
	}
	p := b.find(t, "engine", "folders_scope", b.inner.ID+":1")
	if got := p.ranked(t); !slices.Contains(got, "Engine.pdf keyword") {
		t.Errorf("words are found outside of the scope as well: %v", got)
	}
	words := newCabinet(func(o *emulator.Options) { o.Search.NoSemantic = true })
	p = words.find(t, "engine", "search_in", "both", "folders_scope", words.inner.ID+":1")
	if p.get("search_metadata.scoped") != false || p.get("search_metadata.semantic_available") != false {
		t.Errorf("a leg that failed is scoped: %s", p.Body)
	}
}

func TestSearchScopeIsCut(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	for i := range 120 {
		b.AddNode(emulator.Node{Profile: b.room.ID, Parent: b.folder.ID, Kind: "folder", Name: fmt.Sprint("box ", i)})
	}
	query := []string{"search_in", "both", "folders_scope", b.folder.ID + ":2"}
	if p := b.find(t, "brass", query...); p.get("search_metadata.scope_incomplete") != true {
		t.Errorf("%s", p.Body)
	}
	query[3] = b.folder.ID + ":1"
	if p := b.find(t, "brass", query...); p.get("search_metadata.scope_incomplete") != nil {
		t.Errorf("%s", p.Body)
	}
	var named []string
	for i := range 60 {
		n := b.AddNode(emulator.Node{Profile: b.room.ID, Kind: "folder", Name: fmt.Sprint("shelf ", i)})
		named = append(named, n.ID+":1")
	}
	last := strings.Join(append(named, b.inner.ID+":1"), ",")
	for count, cut := range map[int]bool{39: false, 40: true} {
		files := strings.TrimSuffix(strings.Repeat(b.guide.ID+":"+b.guide.Versions[0].ID+",", count), ",")
		p := b.find(t, "crank", "search_in", "content", "files_scope", files, "folders_scope", last)
		found := slices.Contains(p.ranked(t), "engine draft.txt semantic") || slices.Contains(p.ranked(t), "engine draft.txt both")
		if (p.get("search_metadata.scope_incomplete") == true) != cut || found == cut {
			t.Errorf("with %d files: %s", count, p.Body)
		}
	}
	b = newCabinet(func(o *emulator.Options) { o.Search.ScopeIncomplete = true })
	p := b.find(t, "brass", "search_in", "content", "folders_scope", b.folder.ID+":2")
	if p.get("search_metadata.scope_incomplete") != true {
		t.Errorf("%s", p.Body)
	}
	if got := p.ranked(t); !cmp.Equal(got, []string{"engine draft.txt keyword"}) {
		t.Errorf("it found %v", got)
	}
}

func TestSearchTellsWhatItCouldDo(t *testing.T) {
	t.Parallel()
	type row = map[string]any
	portal := func(b *cabinet, change func(*emulator.Share)) {
		h := b.portal
		change(&h)
		b.AddShare(h)
	}
	for name, want := range map[string]struct {
		options func(*emulator.Options)
		world   func(*cabinet)
		in      string
		want    row
	}{
		"all is well": {nil, nil, "both", row{"intelligence_enabled": true, "semantic_available": true, "scoped": false, "content_search_available": true}},
		"names":       {nil, nil, "filename", row{"intelligence_enabled": true, "semantic_available": true, "scoped": false}},
		"a failed leg": {
			func(o *emulator.Options) { o.Search.NoSemantic = true }, nil, "both",
			row{"intelligence_enabled": true, "semantic_available": false, "scoped": false, "content_search_available": true},
		},
		"nothing is indexed": {
			nil, func(b *cabinet) { portal(b, func(h *emulator.Share) { h.NoIntelligence = true }) }, "content",
			row{"intelligence_enabled": false, "semantic_available": false, "scoped": false, "content_search_available": true},
		},
		"no channel, without intelligence": {
			nil, func(b *cabinet) { portal(b, func(h *emulator.Share) { h.NoIntelligence, h.NoSummaries = true, true }) }, "content",
			row{
				"intelligence_enabled": false, "semantic_available": false, "scoped": false,
				"content_search_available": false, "reason": "intelligence_disabled",
			},
		},
		"no channel, without summaries": {
			func(o *emulator.Options) { o.Search.NoSemantic = true },
			func(b *cabinet) { portal(b, func(h *emulator.Share) { h.NoSummaries = true }) }, "content",
			row{
				"intelligence_enabled": true, "semantic_available": false, "scoped": false,
				"content_search_available": false, "reason": "summary_permission_denied",
			},
		},
		"no channel, nothing indexed": {
			nil, func(b *cabinet) { portal(b, func(h *emulator.Share) { h.NoSummaries = true }) }, "content",
			row{
				"intelligence_enabled": true, "semantic_available": true, "scoped": false,
				"content_search_available": false, "reason": "content_not_indexed",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCabinet(func(o *emulator.Options) {
				if want.options != nil {
					want.options(o)
				}
			})
			if want.world != nil {
				want.world(b)
			}
			p := b.get(t, b.cleo, b.inPortal("search"), "search", "poster", "search_in", want.in)
			if diff := cmp.Diff(want.want, p.get("search_metadata")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if p := b.get(t, b.cleo, b.inPortal("search"), "search", "poster"); p.get("search_metadata") != nil {
				t.Errorf("it is told unasked: %s", p.Body)
			}
		})
	}
}

func TestSummariesOfShares(t *testing.T) {
	t.Parallel()
	b := newCabinet()
	h := b.portal
	h.NoSummaries, h.NoIntelligence = true, true
	b.AddShare(h)
	n := b.AddNode(emulator.Node{Profile: b.portal.ID, Name: "a.txt", Content: "x", Summary: "Of zeppelins."})
	for _, u := range []emulator.User{b.cleo, b.ben} {
		found := len(b.get(t, u, b.inPortal("search"), "search", "zeppelins").ranked(t)) == 1
		shown := b.get(t, u, b.inPortal(n.ID+"/details")).get("node.ai.summary") != nil
		if want := u.ID == b.ben.ID; found != want || shown != want {
			t.Errorf("%s: found %v, shown %v", u.FirstName, found, shown)
		}
	}
}

func TestUnifiedSearch(t *testing.T) {
	t.Parallel()
	b := newBoard()
	b.AddNode(emulator.Node{Profile: b.room.ID, Name: "brass.txt", Content: "Brass wheels."})
	b.AddNode(emulator.Node{Profile: b.room.ID, Name: "brass too.txt", Content: "Wheels."})
	inside := b.say(t, b.ben, b.onPlan(), "Is this brass?")
	outside := b.say(t, b.eve, b.onLink(), "brass, brass")
	p := b.as(t, b.ben, "GET", "/workspace/"+b.room.ID+"/search/", "search", "brass", "search_in", "both", "files_limit", "1")
	if p.get("buckets.files.items.0.name") != "brass.txt" || p.get("buckets.files.items.0.relevance_score") != 1.0 {
		t.Errorf("%s", p.Body)
	}
	paging := map[string]any{}
	for _, key := range []string{"offset", "limit", "total", "total_relation", "has_more", "status"} {
		paging[key] = p.get("buckets.files." + key)
	}
	want := map[string]any{"offset": 0.0, "limit": 1.0, "total": 2.0, "total_relation": "eq", "has_more": true, "status": "ok"}
	if diff := cmp.Diff(want, paging); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if p.get("buckets.files.search_metadata.semantic_available") != true || p.get("buckets.comments.search_metadata") != nil {
		t.Errorf("%s", p.Body)
	}
	first, second := p.get("buckets.comments.items.0.comment_id"), p.get("buckets.comments.items.1.comment_id")
	if first != outside || second != inside {
		t.Errorf("the comments are %v and %v", first, second)
	}
	next := b.as(t, b.ben, "GET", "/workspace/"+b.room.ID+"/search/", "search", "brass", "files_offset", "1", "comments_offset", "2")
	if next.get("buckets.files.items.0.name") != "brass too.txt" || next.get("buckets.comments.has_more") != false {
		t.Errorf("%s", next.Body)
	}
	if row, _ := next.get("buckets.files.items.0").(map[string]any); row["raw_score"] != nil || row["score_source"] != nil {
		t.Errorf("%v", row)
	}
	for name, query := range map[string][]string{
		"search missing":         {},
		"search invalid":         {"search", strings.Repeat("ä", 1025)},
		"files_limit invalid":    {"search", "x", "files_limit", "0"},
		"comments_limit invalid": {"search", "x", "comments_limit", "-1"},
	} {
		if p := b.as(t, b.ben, "GET", "/workspace/"+b.room.ID+"/search/", query...); p.Status != 406 || p.failures()[0] != name {
			t.Errorf("%s: %d %s", name, p.Status, p.Body)
		}
	}
}

func TestUnifiedSearchOfShares(t *testing.T) {
	t.Parallel()
	b := newBoard(func(o *emulator.Options) { o.Search.DegradedBuckets = []string{"comments"} })
	b.say(t, b.ben, b.onPhoto(), "photo")
	path := "/share/" + b.portal.ID + "/search/"
	p := b.as(t, b.cleo, "GET", path, "search", "photo")
	if p.get("buckets.files.items.0.name") != "photo.jpg" || p.get("buckets.metadata") != nil {
		t.Errorf("%s", p.Body)
	}
	if p.get("buckets.comments.status") != "degraded" || p.get("buckets.comments.total") != 0.0 {
		t.Errorf("%s", p.Body)
	}
	whole := newBoard()
	whole.say(t, whole.ben, whole.onPhoto(), "photo")
	own := whole.say(t, whole.cleo, whole.onPhoto(), "photo")
	hidden := whole.portal
	hidden.HideTeamComments = true
	whole.AddShare(hidden)
	p = whole.as(t, whole.cleo, "GET", "/share/"+hidden.ID+"/search/", "search", "photo")
	if p.get("buckets.comments.total") != 1.0 || p.get("buckets.comments.items.0.comment_id") != own {
		t.Errorf("what a guest does not see is found: %s", p.Body)
	}
	h := b.portal
	h.NoComments = true
	b.AddShare(h)
	if p := b.as(t, b.cleo, "GET", path, "search", "photo"); p.get("buckets.comments") != nil {
		t.Errorf("%s", p.Body)
	}
}
