package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	roomID  = api.ProfileID("4012345678901234567")
	shareID = api.ProfileID("5012345678901234567")
)

func TestWrongInput(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := search.New(stub.Answer(`{"buckets":{}}`))
	room, share := api.Workspace(roomID), api.Share(shareID)
	in := func(in api.Profile, q search.Query) error {
		if q.Text == "" {
			q.Text = "x"
		}
		return stub.Err(s.Storage(ctx, in, q))
	}
	within := func(scopes ...search.Scope) error { return in(room, search.Query{Within: scopes}) }
	unified := func(in api.Profile, q search.UnifiedQuery) error { return stub.Err(s.Unified(ctx, in, q)) }
	compound := func(q search.CompoundQuery) error { return stub.Err(s.Compound(ctx, roomID, q)) }
	values := func(text string, list search.ValuesOptions) error {
		return stub.Err(s.Metadata(ctx, roomID, text, &list))
	}
	many := slices.Repeat([]search.Scope{search.InFile("2", "3")}, 101)
	paid := []api.Filter{api.Exists("paid")}
	text := func(n int) string { return strings.Repeat("ü", n) }
	aMetadata := search.UnifiedQuery{Text: "x", Metadata: search.Window{Limit: 1}}
	stub.Refused(t, map[string][]error{
		"search": {
			in(room, search.Query{Text: " \n"}), stub.Last(s.All(ctx, room, search.Query{})),
			in(room, search.Query{Text: text(257), NameMatch: search.NameMatchExact}),
			in(room, search.Query{Text: "*?*", NameMatch: search.NameMatchGlob}),
			unified(room, search.UnifiedQuery{}), unified(room, search.UnifiedQuery{Text: text(1025)}),
			unified(room, search.UnifiedQuery{Text: text(257), NameMatch: search.NameMatchContains}),
		},
		"limit": {
			in(room, search.Query{Limit: 501}), in(room, search.Query{Limit: -1}),
			values("x", search.ValuesOptions{Limit: 101}), compound(search.CompoundQuery{Filters: paid, Limit: -1}),
		},
		"offset": {
			in(room, search.Query{Offset: -1}), values("x", search.ValuesOptions{Offset: -1}),
			values("x", search.ValuesOptions{Offset: 9901, Limit: 100}),
		},
		"files_scope": {
			within(many...), within(search.InFile("2", "-")), within(search.InFile("", "3")), within(search.Scope{}),
		},
		"folders_scope": {
			within(search.InFolder(api.Root, 1)), within(search.InFolder(api.Trash, 1)), within(search.InFolder("", 1)),
			within(search.InFolder("2", 0)), within(search.InFolder("2", 11)),
		},
		"filters": {
			in(room, search.Query{Filters: make([]api.Filter, 6)}), in(share, search.Query{Filters: paid}),
			in(room, search.Query{Filters: []api.Filter{api.Exists("")}}), compound(search.CompoundQuery{Text: "x"}),
		},
		"category":        {in(share, search.Query{Category: "Legal"})},
		"scope":           {in(api.Org("1"), search.Query{}), unified(api.Org("1"), search.UnifiedQuery{Text: "x"})},
		"comments_offset": {unified(room, search.UnifiedQuery{Text: "x", Comments: search.Window{Offset: -1}})},
		"files_limit":     {unified(room, search.UnifiedQuery{Text: "x", Files: search.Window{Limit: -1}})},
		"metadata_limit":  {unified(share, aMetadata), stub.Last(s.AllMetadata(ctx, share, aMetadata))},
		"q":               {values(" ", search.ValuesOptions{}), values(text(1025), search.ValuesOptions{})},
		"workspace_id":    {stub.Err(s.Metadata(ctx, "", "x", nil))},
		"content_query":   {compound(search.CompoundQuery{Filters: paid, Text: text(1025)})},
	})
	for name, err := range map[string]error{
		"a long pattern that has no use": in(room, search.Query{
			Text: text(257), NameMatch: search.NameMatchExact, Target: search.TargetContent,
		}),
		"a pattern as long as may be": in(room, search.Query{Text: text(256), NameMatch: search.NameMatchExact}),
		"a scope as wide as may be":   within(many[:100]...),
		"a search of all":             unified(room, search.UnifiedQuery{Text: text(1024)}),
		"values":                      values(text(1024), search.ValuesOptions{}),
		"a content":                   compound(search.CompoundQuery{Filters: paid, Text: text(1024)}),
	} {
		if err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

func ids[T any](seq iter.Seq2[*T, error], id func(*T) api.OpaqueID) ([]api.OpaqueID, error) {
	var ids []api.OpaqueID
	all, err := stub.All(seq)
	for _, v := range all {
		ids = append(ids, id(v))
	}
	return ids, err
}

func hitID(h *search.Hit) api.OpaqueID { return h.ID }

// Hits come in the order of the wire, whatever their IDs.
func TestRankIsKept(t *testing.T) {
	t.Parallel()
	var files strings.Builder
	var want, got []api.OpaqueID
	for i := range 300 {
		id := strconv.Itoa(i * 7919 % 1000)
		want = append(want, api.OpaqueID("2"+id))
		fmt.Fprintf(&files, `,"2%s":{"name":"a"}`, id)
	}
	s := search.New(stub.Answer(`{"result":true,"files":{` + files.String()[1:] + `}}`))
	found, err := s.Storage(t.Context(), api.Workspace(roomID), search.Query{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Hits {
		got = append(got, h.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGapsDependOnTheQuestion(t *testing.T) {
	t.Parallel()
	const told = `"search_metadata":{"semantic_available":false,"content_search_available":false,"scoped":false}`
	s := search.New(stub.Answer(`{"files":[],` + told + `,"buckets":{"files":{"items":[],` + told + `}}}`))
	scope := []search.Scope{search.InFile("2", "3")}
	for name, tc := range map[string]struct {
		q    search.Query
		want []search.Gap
	}{
		"names have no meaning": {search.Query{Target: search.TargetFilename}, nil},
		"a scope had no effect": {
			search.Query{Target: search.TargetFilename, Within: scope}, []search.Gap{search.GapUnscoped},
		},
		"everything that was lost": {
			search.Query{Within: scope}, []search.Gap{search.GapSemantic, search.GapContent, search.GapUnscoped},
		},
	} {
		tc.q.Text = "x"
		got, err := s.Storage(t.Context(), api.Workspace(roomID), tc.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got.Gaps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	names := search.UnifiedQuery{Text: "x", Target: search.TargetFilename}
	if got, err := s.Unified(t.Context(), api.Workspace(roomID), names); err != nil || len(got.Files.Gaps) > 0 {
		t.Errorf("the names of all have no meaning: %v, %v", got, err)
	}
}

// A result that was not filtered is an error.
func TestUnfiltered(t *testing.T) {
	t.Parallel()
	ctx, room := t.Context(), api.Workspace(roomID)
	for _, report := range []string{``, `,"metadata_filter":{"applied":false}`} {
		s := search.New(stub.Answer(`{"result":true,"files":{"2a":{}}` + report + `}`))
		for _, q := range []search.Query{
			{Text: "x", Filters: []api.Filter{api.Exists("paid")}}, {Text: "x", Category: api.CategoryLegal},
		} {
			got, err := s.Storage(ctx, room, q)
			if got != nil || !errors.Is(err, api.ErrUnfiltered) ||
				!strings.HasPrefix(err.Error(), "fastio: search.Storage: ") {
				t.Errorf("got %v, %v", got, err)
			}
			if err := stub.Last(s.All(ctx, room, q)); !errors.Is(err, api.ErrUnfiltered) {
				t.Errorf("All: %v", err)
			}
		}
	}
}

// index is a search of so many hits, of whatever kind is asked for.
type index struct {
	hits     int
	degraded bool
	asked    []url.Values
}

func (x *index) Call(_ context.Context, r *api.Request, out any) error {
	x.asked = append(x.asked, r.Query)
	window := func(limit, offset string) (rows []string, from, most int) {
		from, _ = strconv.Atoi(r.Query.Get(offset))
		most, _ = strconv.Atoi(r.Query.Get(limit))
		for i := from; i < min(from+most, x.hits); i++ {
			rows = append(rows, strconv.Itoa(i))
		}
		return rows, from, most
	}
	switch r.Op {
	case "search.Storage", "search.Metadata":
		rows, from, most := window("limit", "offset")
		answer := `"files":{"2` + strings.Join(rows, `":{},"2`) + `":{}}`
		if r.Op == "search.Metadata" {
			answer = `"results":[{"id":"2` + strings.Join(rows, `"},{"id":"2`) + `"}]`
		}
		if len(rows) == 0 {
			answer = `"files":[]`
		}
		return json.Unmarshal(fmt.Appendf(nil, `{"result":true,%s,"pagination":{"limit":%d,"offset":%d,"has_more":%t}}`,
			answer, most, from, from+most < x.hits), out)
	default:
		var buckets []string
		for name, id := range map[string]string{"files": "node_id", "metadata": "node_id", "comments": "comment_id"} {
			rows, from, most := window(name+"_limit", name+"_offset")
			items := "[]"
			if len(rows) > 0 {
				items = `[{"` + id + `":"2` + strings.Join(rows, `"},{"`+id+`":"2`) + `"}]`
			}
			status := "ok"
			if x.degraded {
				status, items = "degraded", "[]"
			}
			buckets = append(buckets, fmt.Sprintf(`%q:{"items":%s,"limit":%d,"offset":%d,"has_more":%t,"status":%q}`,
				name, items, most, from, from+most < x.hits, status))
		}
		return json.Unmarshal([]byte(`{"result":true,"buckets":{`+strings.Join(buckets, ",")+`}}`), out)
	}
}

func TestIterations(t *testing.T) {
	t.Parallel()
	ctx, room := t.Context(), api.Workspace(roomID)
	unified := func(q search.UnifiedQuery) search.UnifiedQuery {
		q.Text = "x"
		return q
	}
	files := func(q search.Query) func(s *search.Service) ([]api.OpaqueID, error) {
		q.Text = "x"
		return func(s *search.Service) ([]api.OpaqueID, error) { return ids(s.All(ctx, room, q), hitID) }
	}
	for name, tc := range map[string]struct {
		hits   int
		ids    func(s *search.Service) ([]api.OpaqueID, error)
		pages  int
		first  int
		checks url.Values // of the last request
	}{
		"files with details": {
			250, files(search.Query{Details: true}), 3, 0, url.Values{"limit": {"100"}, "offset": {"200"}},
		},
		"the bucket of metadata": {5, func(s *search.Service) ([]api.OpaqueID, error) {
			return ids(s.AllMetadata(ctx, room, unified(search.UnifiedQuery{Metadata: search.Window{Limit: 2}})), hitID)
		}, 3, 0, url.Values{"metadata_limit": {"2"}, "metadata_offset": {"4"}, "comments_limit": {"1"}}},
		"the bucket of comments in a share": {5, func(s *search.Service) ([]api.OpaqueID, error) {
			q := unified(search.UnifiedQuery{Comments: search.Window{Limit: 4}})
			return ids(s.AllComments(ctx, api.Share(shareID), q),
				func(h *search.CommentHit) api.OpaqueID { return h.ID })
		}, 2, 0, url.Values{
			"comments_limit": {"4"}, "comments_offset": {"4"}, "files_limit": {"1"},
			"metadata_limit": nil,
		}},
		"values to the very last": {10_000, func(s *search.Service) ([]api.OpaqueID, error) {
			return ids(s.AllValues(ctx, roomID, "x", &search.ValuesOptions{Limit: 60, Offset: 9_930}), hitID)
		}, 2, 9_930, url.Values{"limit": {"10"}, "offset": {"9990"}}},
	} {
		x := &index{hits: tc.hits}
		got, err := tc.ids(search.New(x))
		var want []api.OpaqueID
		for i := tc.first; i < tc.hits; i++ {
			want = append(want, api.OpaqueID("2"+strconv.Itoa(i)))
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if len(x.asked) != tc.pages {
			t.Fatalf("%s: asked for %d pages, want %d", name, len(x.asked), tc.pages)
		}
		for param, want := range tc.checks {
			if diff := cmp.Diff(want, x.asked[tc.pages-1][param]); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, param, diff)
			}
		}
	}
}

func TestIterationsFail(t *testing.T) {
	t.Parallel()
	ctx, room, q := t.Context(), api.Workspace(roomID), search.UnifiedQuery{Text: "x"}
	s := search.New(&index{hits: 5, degraded: true})
	for name, err := range map[string]error{
		"files": stub.Last(s.AllFiles(ctx, room, q)), "metadata": stub.Last(s.AllMetadata(ctx, room, q)),
		"comments": stub.Last(s.AllComments(ctx, room, q)),
	} {
		if !errors.Is(err, search.ErrDegraded) ||
			err.Error() != "fastio: search.Unified: the bucket could not be searched" {
			t.Errorf("%s: %v", name, err)
		}
	}
	s = search.New(stub.Answer(`{"result":true,"buckets":{}}`))
	if n, err := stub.All(s.AllComments(ctx, room, q)); len(n) > 0 || err != nil {
		t.Errorf("a bucket that is left out: %v, %v", n, err)
	}
	s = search.New(&index{hits: 10_500})
	if n, err := stub.All(s.AllValues(ctx, roomID, "x", nil)); len(n) != 10_000 || err == nil {
		t.Errorf("%d values and %v", len(n), err)
	}
	broken := errors.New("broken")
	s = search.New(stub.Fail(broken))
	for name, err := range map[string]error{
		"All": stub.Last(s.All(ctx, room, search.Query{Text: "x"})), "AllFiles": stub.Last(s.AllFiles(ctx, room, q)),
		"AllMetadata": stub.Last(s.AllMetadata(ctx, room, q)), "AllComments": stub.Last(s.AllComments(ctx, room, q)),
		"AllValues": stub.Last(s.AllValues(ctx, roomID, "x", nil)),
		"Compound":  stub.Err(s.Compound(ctx, roomID, search.CompoundQuery{Filters: []api.Filter{api.Exists("a")}})),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A total may promise more than there is.
func TestValuesEndAtAnEmptyPage(t *testing.T) {
	t.Parallel()
	c := stub.Answer(`{"results":[],"pagination":{"total":1,"limit":100,"offset":0,"has_more":true}}`)
	if n, err := stub.All(search.New(c).AllValues(t.Context(), roomID, "x", nil)); len(n) > 0 || err != nil ||
		len(c.Got) != 1 {
		t.Errorf("%v, %v after %d calls", n, err, len(c.Got))
	}
}
