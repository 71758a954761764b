package call_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

type record struct {
	ID      api.OpaqueID      `json:"id"`
	Name    string            `json:"name"`
	Size    int8              `json:"size"`
	Ratio   float64           `json:"ratio"`
	Done    bool              `json:"done"`
	Flag    api.Bool          `json:"flag"`
	State   api.AIState       `json:"ai_state"`
	Created api.Time          `json:"created"`
	Seen    *api.Time         `json:"seen"`
	Count   *int              `json:"count"`
	Owner   *owner            `json:"owner"`
	Home    owner             `json:"home"`
	Tags    []string          `json:"tags"`
	Parts   []*record         `json:"parts"`
	Votes   api.Map[int]      `json:"votes"`
	Plain   map[string]bool   `json:"plain"`
	Failure *api.NodeError    `json:"failure"`
	Preview *api.Preview      `json:"preview"`
	Facts   []api.Fact        `json:"facts"`
	Any     any               `json:"any"`
	Raw     []json.RawMessage `json:"raw"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

type owner struct {
	Name string `json:"name"`
}

type recordPage struct {
	Records    []*record          `json:"records"`
	ByName     map[string]*record `json:"by_name"`
	Pagination struct {
		HasMore    bool   `json:"has_more"`
		NextCursor string `json:"next_cursor"`
		Total      int    `json:"total"`
	} `json:"pagination"`
}

func decoded(t *testing.T, answer string) (*recordPage, error) {
	t.Helper()
	return call.One[recordPage](t.Context(), &caller{answer: answer}, request(), "", nil)
}

func TestNullRecordsAreDropped(t *testing.T) {
	t.Parallel()
	got, err := decoded(t, `{"records":[null,{"id":"a","parts":[null,{"id":"b","parts":[null]},null],"tags":["x"],
		"facts":[null,{"name":"f"}]},null,{"id":"c"}],
		"by_name":{"x":null,"y":{"id":"d","parts":[null]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := &recordPage{
		Records: []*record{
			{
				ID: "a", Parts: []*record{{ID: "b", Parts: []*record{}}}, Tags: []string{"x"},
				Facts: []api.Fact{{Name: "f"}},
			}, {ID: "c"},
		},
		ByName: map[string]*record{"y": {ID: "d", Parts: []*record{}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The records are found without a name, too.
func TestListWithoutName(t *testing.T) {
	t.Parallel()
	want := []*record{{ID: "a", Size: 1}, {ID: "b"}}
	for _, answer := range []string{
		`{"result":true,"response":[{"id":"a","size":1},null,{"id":"b"}]}`,
		`{"result":"yes","response":[{"id":"a","size":"1"},{"id":"b"}],"pagination":{"has_more":false}}`,
		`{"records":[{"id":"a","size":1},{"id":"b"}],"response":[{"id":"c"}]}`,
		`{"response":[{"id":"c"}],"records":[{"id":"a","size":1},{"id":"b"}]}`,
	} {
		got, err := decoded(t, answer)
		if err != nil {
			t.Errorf("%s: %v", answer, err)
			continue
		}
		if diff := cmp.Diff(want, got.Records); diff != "" {
			t.Errorf("%s (-want +got)\n%s", answer, diff)
		}
	}
	for _, answer := range []string{
		`[{"id":"a","size":1},null,{"id":"b"}]`, ` [{"id":"a","size":"1"},{"id":"b"}]`,
		`{"response":[{"id":"a","size":1},{"id":"b"}]}`,
	} {
		got, err := call.One[struct {
			Records []*record `json:"records"`
		}](t.Context(), &caller{answer: answer}, request(), "", nil)
		if err != nil {
			t.Errorf("%s: %v", answer, err)
			continue
		}
		if diff := cmp.Diff(want, got.Records); diff != "" {
			t.Errorf("%s (-want +got)\n%s", answer, diff)
		}
	}
	if got, err := decoded(t, `[]`); err != nil || got.Records != nil {
		t.Errorf("an empty list, which may stand for an empty object, is %+v, %v", got, err)
	}
}

// A value of another type than the documented one, that nothing depends on, is
// left zero and kept in Extra.
func TestAdvisoryValuesOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, member := range []string{
		`"name":{"a":1}`, `"name":["a"]`, `"size":"many"`, `"size":1000`, `"size":1.5`, `"size":{}`, `"ratio":"half"`,
		`"ratio":[1]`,
		`"done":"maybe"`, `"done":{"a":1}`, `"done":2`, `"flag":"maybe"`, `"flag":[0]`, `"ai_state":{"a":1}`,
		`"created":"soon"`, `"created":{"date":"2026-01-01"}`, `"created":true`, `"seen":"soon"`, `"seen":[1]`,
		`"count":"many"`, `"count":{"n":1}`, `"owner":"ada"`, `"owner":[1]`, `"owner":5`, `"home":"here"`, `"home":[1]`,
		`"tags":"x"`, `"tags":{"a":"x"}`, `"parts":"x"`, `"parts":5`, `"votes":"x"`, `"votes":[1]`, `"plain":[1]`,
		`"plain":1`,
		`"failure":"broken"`, `"failure":[1]`, `"preview":5`, `"preview":[1]`, `"facts":"f"`, `"raw":"x"`,
	} {
		for form, answer := range map[string]string{
			"in a list":     `{"records":[{"id":"a",` + member + `,"unknown":1},{"id":"b","name":"c"}]}`,
			"wrapped":       `{"response":{"records":[{"id":"a",` + member + `,"unknown":1},{"id":"b","name":"c"}]}}`,
			"in other rows": `{"records":[{"id":"a","unknown":1,` + member + `},{"id":"b","name":"c"}]}`,
		} {
			got, err := decoded(t, answer)
			if err != nil {
				t.Errorf("%s, %s: %v", form, member, err)
				continue
			}
			name, value, _ := strings.Cut(member, ":")
			want := []*record{{ID: "a", Extra: map[string]json.RawMessage{
				strings.Trim(name, `"`): json.RawMessage(value), "unknown": json.RawMessage("1"),
			}}, {ID: "b", Name: "c"}}
			if diff := cmp.Diff(want, got.Records); diff != "" {
				t.Errorf("%s, %s (-want +got)\n%s", form, member, diff)
			}
		}
	}
	for answer, want := range map[string]*record{
		`{"id":"a","votes":{"x":1,"y":{"n":2},"z":"3"}}`: {ID: "a", Votes: api.Map[int]{"x": 1, "y": 0, "z": 3}},
		`{"id":"a","plain":{"x":true,"y":{}}}`:           {ID: "a", Plain: map[string]bool{"x": true, "y": false}},
		`{"id":"a","tags":["x",{"y":1},5]}`:              {ID: "a", Tags: []string{"x", "", "5"}},
		`{"id":"a","parts":[5,{"id":"b"},"x"]}`:          {ID: "a", Parts: []*record{{ID: "b"}}},
		`{"id":"a","owner":{"name":[]}}`:                 {ID: "a", Owner: &owner{}},
		`{"id":"a","failure":[],"owner":[]}`:             {ID: "a", Failure: &api.NodeError{}, Owner: &owner{}},
		`{"id":"a","any":{"x":[null]},"size":"2"}`:       {ID: "a", Any: map[string]any{"x": []any{nil}}, Size: 2},
		`{"id":"a","raw":[null,{"x":null}],"size":"2"}`: {
			ID:  "a",
			Raw: []json.RawMessage{json.RawMessage("null"), json.RawMessage(`{"x":null}`)}, Size: 2,
		},
		`{"id":5,"seen":1798761599,"count":"7"}`: {
			ID:   "5",
			Seen: &api.Time{Time: time.Unix(1798761599, 0).UTC()}, Count: new(7),
		},
	} {
		got, err := decoded(t, `{"records":[`+answer+`]}`)
		if err != nil {
			t.Errorf("%s: %v", answer, err)
			continue
		}
		if diff := cmp.Diff([]*record{want}, got.Records); diff != "" {
			t.Errorf("%s (-want +got)\n%s", answer, diff)
		}
	}
}

// An answer that makes no sense without a value is an error if the value cannot
// be read.
func TestRequiredValuesOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"records":"none"}`, `{"records":{"a":1}}`, `{"records":[5]}`, `{"records":[{"id":"a"},"b"]}`,
		`{"records":[[{"id":"a"}]]}`,
		`{"records":[{"id":{"a":1}}]}`, `{"records":[{"id":["a"]}]}`, `{"pagination":"last"}`,
		`{"pagination":{"has_more":"perhaps"}}`,
		`{"pagination":{"has_more":{}}}`, `{"pagination":{"has_more":true,"next_cursor":{"a":1}}}`,
		`{"response":{"records":"none"}}`,
		`{"response":["a"]}`, `["a"]`, `[{"id":"a"}]`, `"a"`, `5`, `{"by_name":5}`,
	} {
		if got, err := decoded(t, answer); err == nil {
			t.Errorf("%s is read as %+v", answer, got)
		}
	}
}

func TestPageOfFarTooManyRows(t *testing.T) {
	t.Parallel()
	page := func(n int) string { return `{"records":[` + strings.Repeat(`{},`, n-1) + `{}]}` }
	for name, tc := range map[string]struct {
		query url.Values
		rows  int
		fails bool
	}{
		"as many as asked for":                {url.Values{"limit": {"250"}}, 250, false},
		"a limit the server ignores":          {url.Values{"limit": {"1"}}, 1000, false},
		"beyond the limit":                    {url.Values{"limit": {"250"}}, 1251, true},
		"beyond the page size":                {url.Values{"page_size": {"500"}}, 1501, true},
		"within the page size":                {url.Values{"page_size": {"500"}}, 1500, false},
		"of an unlimited call":                {nil, 10_000, false},
		"beyond what any unlimited call gets": {nil, 10_001, true},
	} {
		r := request()
		r.Query = tc.query
		got, err := call.One[recordPage](t.Context(), &caller{answer: page(tc.rows)}, r, "", nil)
		if errors.Is(err, api.ErrTooLarge) != tc.fails || !tc.fails && (err != nil || len(got.Records) != tc.rows) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Answers that would take up a multiple of their size are refused before they
// do.
func TestAnswersThatMultiplyInMemory(t *testing.T) { //nolint:paralleltest // it measures all allocations
	for name, answer := range map[string]string{
		"objects":         `{"records":[` + strings.Repeat(`{},`, 2<<20) + `{}]}`,
		"in one another":  `{"records":[` + strings.Repeat(`{"parts":[{},{},{},{}]},`, 1<<18) + `{}]}`,
		"lists":           `{"records":[{"raw":[` + strings.Repeat(`[],`, 2<<20) + `[]]}]}`,
		"texts":           `{"records":[{"tags":[` + strings.Repeat(`"",`, 2<<20) + `""]}]}`,
		"numbers":         `{"records":[{"any":[` + strings.Repeat(`0,`, 3<<20) + `0]}]}`,
		"unknown members": `{"records":[{` + strings.Repeat(`"a":0,`, 1<<20) + `"a":0}]}`,
	} {
		var before, after runtime.MemStats
		body := []byte(answer)
		runtime.ReadMemStats(&before)
		_, err := call.Decode[recordPage](body)
		runtime.ReadMemStats(&after)
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, api.ErrTooLarge) || taken > 16 {
			t.Errorf("%s: %d MiB were taken, %v", name, taken, err)
		}
	}
	text := `{"records":[{"id":"a","name":"` + strings.Repeat(`{,[`, 1<<20) + `"}]}`
	if got, err := decoded(t, text); err != nil || len(got.Records[0].Name) != 3<<20 {
		t.Errorf("a long text: %v", err)
	}
}
