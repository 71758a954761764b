package decode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/storage"
)

type thing struct {
	Name  string   `json:"name"`
	Count int      `json:"count"`
	Tags  []string `json:"tags"`
	Inner *thing   `json:"inner"`
}

func request() *api.Request {
	return &api.Request{Op: "things.Get", Method: http.MethodGet, Path: api.Path("/current/things/")}
}

type record struct {
	ID      api.OpaqueID       `json:"id"`
	Name    string             `json:"name"`
	Size    int8               `json:"size"`
	Ratio   float64            `json:"ratio"`
	Done    bool               `json:"done"`
	Flag    api.Bool           `json:"flag"`
	State   storage.AIState    `json:"ai_state"`
	Created api.Time           `json:"created"`
	Seen    *api.Time          `json:"seen"`
	Count   *int               `json:"count"`
	Owner   *owner             `json:"owner"`
	Home    owner              `json:"home"`
	Tags    []string           `json:"tags"`
	Parts   []*record          `json:"parts"`
	Votes   api.Map[int]       `json:"votes"`
	Plain   map[string]bool    `json:"plain"`
	Failure *storage.NodeError `json:"failure"`
	Preview *storage.Preview   `json:"preview"`
	Facts   []storage.Fact     `json:"facts"`
	Any     any                `json:"any"`
	Raw     []json.RawMessage  `json:"raw"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

type owner struct {
	Name    string   `json:"name"`
	Friends []*owner `json:"friends"`
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

// recordList has no other members, so the list alone may be the whole response.
type recordList struct {
	Records []*record `json:"records"`
}

func decoded(t *testing.T, answer string) (*recordPage, error) {
	t.Helper()
	return call.Payload[recordPage](t.Context(), stub.Answer(answer), request(), nil)
}

// sameRecords checks that err is nil and that got holds the records want.
func sameRecords(t *testing.T, name string, want []*record, got *recordPage, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if diff := cmp.Diff(want, got.Records); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
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
				Facts: []storage.Fact{{Name: "f"}},
			}, {ID: "c"},
		},
		ByName: map[string]*record{"y": {ID: "d", Parts: []*record{}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRecordsWithoutNameAreFound(t *testing.T) {
	t.Parallel()
	want := []*record{{ID: "a", Size: 1}, {ID: "b"}}
	for _, answer := range []string{
		`{"result":true,"response":[{"id":"a","size":1},null,{"id":"b"}]}`,
		`{"result":"yes","response":[{"id":"a","size":"1"},{"id":"b"}],"pagination":{"has_more":false}}`,
		`{"records":[{"id":"a","size":1},{"id":"b"}],"response":[{"id":"c"}]}`,
		`{"response":[{"id":"c"}],"records":[{"id":"a","size":1},{"id":"b"}]}`,
	} {
		got, err := decoded(t, answer)
		sameRecords(t, answer, want, got, err)
	}
	for _, answer := range []string{
		`[{"id":"a","size":1},null,{"id":"b"}]`, ` [{"id":"a","size":"1"},{"id":"b"}]`,
		`{"response":[{"id":"a","size":1},{"id":"b"}]}`,
	} {
		got, err := call.Payload[recordList](t.Context(), stub.Answer(answer), request(), nil)
		if got == nil {
			got = new(recordList)
		}
		sameRecords(t, answer, want, &recordPage{Records: got.Records}, err)
	}
	if got, err := decoded(t, `[]`); err != nil || got.Records != nil {
		t.Errorf("an empty list, which may stand for an empty object, is %+v, %v", got, err)
	}
}

// A value of the wrong type that is not required is left zero and kept in Extra.
func TestAdvisoryValuesOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, member := range []string{
		`"name":{"a":1}`, `"name":["a"]`, `"size":"many"`, `"size":1000`, `"size":1.5`, `"size":{}`, `"ratio":"half"`,
		`"ratio":[1]`, `"done":"maybe"`, `"done":{"a":1}`, `"done":2`, `"flag":"maybe"`, `"flag":[0]`,
		`"ai_state":{"a":1}`, `"created":"soon"`, `"created":{"date":"2026-01-01"}`, `"created":true`, `"seen":"soon"`,
		`"seen":[1]`, `"count":"many"`, `"count":{"n":1}`, `"owner":"ada"`, `"owner":[1]`, `"owner":5`, `"home":"here"`,
		`"home":[1]`, `"tags":"x"`, `"tags":{"a":"x"}`, `"parts":"x"`, `"parts":5`, `"votes":"x"`, `"votes":[1]`,
		`"plain":[1]`, `"plain":1`, `"failure":"broken"`, `"failure":[1]`, `"preview":5`, `"preview":[1]`, `"facts":"f"`,
		`"raw":"x"`,
	} {
		for form, answer := range map[string]string{
			"in a list":     `{"records":[{"id":"a",` + member + `,"unknown":1},{"id":"b","name":"c"}]}`,
			"wrapped":       `{"response":{"records":[{"id":"a",` + member + `,"unknown":1},{"id":"b","name":"c"}]}}`,
			"in other rows": `{"records":[{"id":"a","unknown":1,` + member + `},{"id":"b","name":"c"}]}`,
		} {
			name, value, _ := strings.Cut(member, ":")
			want := []*record{{ID: "a", Extra: map[string]json.RawMessage{
				strings.Trim(name, `"`): json.RawMessage(value), "unknown": json.RawMessage("1"),
			}}, {ID: "b", Name: "c"}}
			got, err := decoded(t, answer)
			sameRecords(t, form+", "+member, want, got, err)
		}
	}
	for answer, want := range map[string]*record{
		`{"id":"a","votes":{"x":1,"y":{"n":2},"z":"3"}}`: {ID: "a", Votes: api.Map[int]{"x": 1, "y": 0, "z": 3}},
		`{"id":"a","plain":{"x":true,"y":{}}}`:           {ID: "a", Plain: map[string]bool{"x": true, "y": false}},
		`{"id":"a","tags":["x",{"y":1},5]}`:              {ID: "a", Tags: []string{"x", "", "5"}},
		`{"id":"a","parts":[5,{"id":"b"},"x"]}`:          {ID: "a", Parts: []*record{{ID: "b"}}},
		`{"id":"a","owner":{"name":[]}}`:                 {ID: "a", Owner: &owner{}},
		`{"id":"a","failure":[],"owner":[]}`:             {ID: "a"},
		`{"id":"a","any":{"x":[null]},"size":"2"}`:       {ID: "a", Any: map[string]any{"x": []any{nil}}, Size: 2},
		`{"id":"a","raw":[null,{"x":null}],"size":"2"}`: {
			ID: "a", Raw: []json.RawMessage{json.RawMessage("null"), json.RawMessage(`{"x":null}`)}, Size: 2,
		},
		`{"id":5,"seen":1798761599,"count":"7"}`: {
			ID: "5", Seen: &api.Time{Time: time.Unix(1798761599, 0).UTC()}, Count: new(7),
		},
	} {
		got, err := decoded(t, `{"records":[`+answer+`]}`)
		sameRecords(t, answer, []*record{want}, got, err)
	}
}

func TestRequiredValuesOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"records":"none"}`, `{"records":{"a":1}}`, `{"records":[5]}`, `{"records":[{"id":"a"},"b"]}`,
		`{"records":[[{"id":"a"}]]}`, `{"records":[{"id":{"a":1}}]}`, `{"records":[{"id":["a"]}]}`,
		`{"records":[{"id":[]}]}`, `{"pagination":"last"}`, `{"pagination":{"has_more":"perhaps"}}`,
		`{"pagination":{"has_more":{}}}`, `{"pagination":{"has_more":true,"next_cursor":{"a":1}}}`,
		`{"response":{"records":"none"}}`, `{"response":["a"]}`, `["a"]`, `[{"id":"a"}]`, `"a"`, `5`, `{"by_name":5}`,
	} {
		if got, err := decoded(t, answer); err == nil {
			t.Errorf("%s is read as %+v", answer, got)
		}
	}
}

func TestPageWithTooManyRowsIsRejected(t *testing.T) {
	t.Parallel()
	page := func(n int) string { return `{"records":[` + strings.Repeat(`{},`, n-1) + `{}]}` }
	for name, tc := range map[string]struct {
		query url.Values
		rows  int
		fails bool
	}{
		"as many as asked for":             {url.Values{"limit": {"250"}}, 250, false},
		"a limit the server ignores":       {url.Values{"limit": {"1"}}, 1000, false},
		"beyond the limit":                 {url.Values{"limit": {"250"}}, 1251, true},
		"beyond the page size":             {url.Values{"page_size": {"500"}}, 1501, true},
		"within the page size":             {url.Values{"page_size": {"500"}}, 1500, false},
		"of an unlimited call":             {nil, 10_000, false},
		"over the limit without a request": {nil, 10_001, true},
	} {
		r := request()
		r.Query = tc.query
		got, err := call.Payload[recordPage](t.Context(), stub.Answer(page(tc.rows)), r, nil)
		if errors.Is(err, api.ErrTooLarge) != tc.fails || !tc.fails && (err != nil || len(got.Records) != tc.rows) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Responses that would take many times their size in memory are rejected first.
func TestResponseExpandingInMemoryIsRejected(t *testing.T) { //nolint:paralleltest // it measures all allocations
	for name, answer := range map[string]string{
		"objects":         `{"records":[` + strings.Repeat(`{},`, 2<<20) + `{}]}`,
		"in one another":  `{"records":[` + strings.Repeat(`{"parts":[{},{},{},{}]},`, 1<<18) + `{}]}`,
		"lists":           `{"records":[{"raw":[` + strings.Repeat(`[],`, 2<<20) + `[]]}]}`,
		"texts":           `{"records":[{"tags":[` + strings.Repeat(`"",`, 2<<20) + `""]}]}`,
		"numbers":         `{"records":[{"any":[` + strings.Repeat(`0,`, 3<<20) + `0]}]}`,
		"unknown members": `{"records":[{` + strings.Repeat(`"a":0,`, 1<<20) + `"a":0}]}`,
		"a long name":     `{"records":[{"` + strings.Repeat(`a`, 9<<20) + `":0}]}`,
	} {
		var before, after runtime.MemStats
		body := []byte(answer)
		runtime.ReadMemStats(&before)
		_, err := decode.Response[recordPage](body)
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

func TestResponseLimitsAreExact(t *testing.T) {
	t.Parallel()
	for element, most := range map[string]int{`[],`: 50_000 - 2, `{},`: 50_000 - 2, `0,`: 1_000_000 - 4} {
		for n := most; n <= most+1; n++ {
			_, err := decode.Response[thing]([]byte(`{"x":[` + strings.Repeat(element, n) + `"{"]}`))
			if errors.Is(err, api.ErrTooLarge) != (n > most) {
				t.Errorf("%d times %s: %v", n, element, err)
			}
		}
	}
}

// The limits apply to more than 150,000 bytes, and to a part and a type of the program as
// well. Lists of lists are the most that fit.
func TestSmallResponseIsNotCounted(t *testing.T) {
	t.Parallel()
	const most, depth = 150_000, 9_000
	lists := strings.Repeat(strings.Repeat("[", depth)+strings.Repeat("]", depth)+",", 7)
	for n := most; n <= most+1; n++ {
		begin, end := `{"x":[`+lists+`"`, `"]}`
		body := []byte(begin + strings.Repeat("a", n-len(begin)-len(end)) + end)
		_, response := decode.Response[thing](body)
		_, value := decode.Value[thing](body)
		plain := decode.Plain(body, new(thing), func() {})
		for _, err := range []error{response, value, plain} {
			if errors.Is(err, api.ErrTooLarge) != (n > most) {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
	}
}

// A response of few values and at most 8 MiB may have a longer name.
func TestLongNameIsReadInSmallResponse(t *testing.T) {
	t.Parallel()
	begin := `{"` + strings.Repeat("a", 1<<20+1) + `":0,"x":[`
	for limit, tc := range map[string]struct {
		element string
		most    int
	}{
		"50,000 objects and lists": {`[],`, 50_000 - 2},
		"500,000 commas":           {`0,`, 500_000 - 1},
		"8 MiB":                    {` `, 8<<20 - len(begin) - len(`0]}`)},
	} {
		for n := tc.most; n <= tc.most+1; n++ {
			_, err := decode.Response[thing]([]byte(begin + strings.Repeat(tc.element, n) + `0]}`))
			if errors.Is(err, api.ErrTooLarge) != (n > tc.most) {
				t.Errorf("%s: %d times %q: %v", limit, n, tc.element, err)
			}
		}
	}
}

// The names of a large response have at most 1 MiB, for a type of the program as well.
func TestNamesAreLimited(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	for n := most; n <= most+1; n++ {
		body := []byte(`{"text":"` + strings.Repeat("b", 8<<20) + `", ` + "\n" + `"` + strings.Repeat("a", n) + `":0}`)
		var out struct{ Text string }
		_, err := decode.Response[thing](body)
		plain := decode.Plain(body, &out, func() {})
		for _, err := range []error{err, plain} {
			if errors.Is(err, api.ErrTooLarge) != (n > most) {
				t.Errorf("a name of %d bytes: %v", n, err)
			}
		}
	}
}

// words are a list, or the names of an object.
type words []string

func (w *words) UnmarshalJSON(b []byte) error {
	var object map[string]bool
	if json.Unmarshal(b, &object) == nil {
		*w = slices.Sorted(maps.Keys(object))
		return nil
	}
	var list []string
	err := json.Unmarshal(b, &list)
	*w = list
	return err
}

// A list that decodes itself gets objects also in a response with a mismatch. What it
// cannot decode is in Extra.
func TestListWithItsOwnMethod(t *testing.T) {
	t.Parallel()
	type text struct {
		Words words `json:"words"`
		Size  int   `json:"size"`

		Extra map[string]json.RawMessage `json:",embed,unknown"`
	}
	for in, want := range map[string]string{
		`{"words":{"a":true,"b":true},"size":"1"}`: "[a b] 1 map[]",
		`{"words":["a"],"size":"1"}`:               "[a] 1 map[]",
		`{"words":"a","size":"1"}`:                 `[] 1 map[words:"a"]`,
	} {
		got, err := decode.Value[text]([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		extra := map[string]string{}
		for name, raw := range got.Extra {
			extra[name] = string(raw)
		}
		if got := fmt.Sprint(got.Words, got.Size, extra); got != want {
			t.Errorf("%s is decoded as %s, want %s", in, got, want)
		}
	}
}

// A part is found by either name and may be a string; a box takes Size from Extra.
type part struct {
	ID   string `json:"id" also:"part_id,uid" scalar:"true"`
	Size int    `json:"size"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

type box struct {
	Size int `json:"size"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

var _ = decode.Fix(func(b *box) {
	var size struct {
		Bytes int `json:"bytes"`
	}
	if decode.Take(b.Extra, &size, "length") {
		b.Size = size.Bytes
	}
})

type whole struct {
	Part  *part           `json:"part" also:"piece"`
	Parts []*part         `json:"parts"`
	Named map[string]part `json:"named"`
	Box   *box            `json:"box"`
	Rows  []*owner        `json:"rows"`
	Grid  [][]*owner      `json:"grid"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

func TestValueDecodesEveryForm(t *testing.T) {
	t.Parallel()
	rest := func(name, value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{name: json.RawMessage(value)}
	}
	for in, want := range map[string]whole{
		`{"part":{"id":"a"}}`:                        {Part: &part{ID: "a"}},
		`{"part":{"part_id":"a"}}`:                   {Part: &part{ID: "a"}},
		`{"part":{"uid":"b","part_id":"a"}}`:         {Part: &part{ID: "a"}},
		`{"part":{"uid":"b","id":"a"}}`:              {Part: &part{ID: "a"}},
		`{"part":{"uid":7}}`:                         {Part: &part{ID: "7"}},
		`{"part":{"uid":{}}}`:                        {Part: &part{Extra: rest("uid", "{}")}},
		`{"part":"a"}`:                               {Part: &part{ID: "a"}},
		`{"part":7}`:                                 {Extra: rest("part", "7")},
		`{"piece":"a"}`:                              {Part: &part{ID: "a"}},
		`{"piece":{"uid":"a","x":1}}`:                {Part: &part{ID: "a", Extra: rest("x", "1")}},
		`{"part":{"id":"a"},"piece":"b","x":1}`:      {Part: &part{ID: "a"}, Extra: rest("x", "1")},
		`{"parts":[{"uid":"a"},null,"b"]}`:           {Parts: []*part{{ID: "a"}, {ID: "b"}}},
		`{"named":{"x":{"uid":"a"},"y":"b"}}`:        {Named: map[string]part{"x": {ID: "a"}, "y": {ID: "b"}}},
		`{"part":{"id":"a"},"parts":[7,{"id":"b"}]}`: {Part: &part{ID: "a"}, Parts: []*part{{ID: "b"}}},
		`{"box":{"length":{"bytes":5},"x":1}}`:       {Box: &box{Size: 5, Extra: rest("x", "1")}},
		`{"box":{"length":{"bytes":"five"}}}`:        {Box: &box{Extra: rest("length", `{"bytes":"five"}`)}},
		`{"rows":[{"name":"a","friends":"b"}]}`:      {Rows: []*owner{{Name: "a"}}},
		`{"grid":[[5,{"name":"a"}]]}`:                {Grid: [][]*owner{{{Name: "a"}}}},
	} {
		got, err := decode.Value[whole]([]byte(in))
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
	type embedding struct {
		part

		Note string `json:"note"`
	}
	got, err := decode.Value[embedding]([]byte(`{"uid":"a","size":{},"note":5}`))
	if err != nil || got.ID != "a" || got.Note != "5" || string(got.Extra["size"]) != "{}" {
		t.Errorf("an embedded part: %+v, %v", got, err)
	}
	if _, err := decode.Value[embedding]([]byte(`{"id":{}}`)); err == nil {
		t.Error("an embedded part needs no ID")
	}
}

func TestDecodePlainKeepsZeroElements(t *testing.T) {
	t.Parallel()
	type row struct {
		N int `json:"n"`
	}
	var got struct {
		Rows  []row            `json:"rows"`
		Parts []*part          `json:"parts"`
		Named map[string]*part `json:"named"`
	}
	const in = `{"rows":[{"n":0},{"n":1}],"parts":[null,{"uid":"a"}],"named":{"x":null}}`
	err := decode.Plain([]byte(in), &got, func() {})
	if len(got.Rows) != 2 || len(got.Parts) != 2 || len(got.Named) != 1 || got.Parts[1].ID != "a" || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The members of the envelope are no members of the payload that stands beside them, but
// a status with a meaning of its own is.
func TestExtraHasNoMembersOfTheEnvelope(t *testing.T) {
	t.Parallel()
	type payload struct {
		Name string `json:"name"`

		Extra map[string]json.RawMessage `json:",embed,unknown"`
	}
	for answer, want := range map[string]map[string]json.RawMessage{
		`{"result":true,"status":"ok","current_api_version":"1.0","name":"a"}`:       nil,
		`{"result":true,"status":"ok","current_api_version":"1.0","name":"a","b":1}`: {"b": json.RawMessage("1")},
		`{"result":true,"status":"open","name":"a"}`:                                 {"status": json.RawMessage(`"open"`)},
		`{"result":"yes","current_api_version":"1.0","status":"ok","name":["a"]}`:    {"name": json.RawMessage(`["a"]`)},
		`{"result":true,"current_api_version":"1.0","response":{"name":"a"}}`:        nil,
	} {
		got, err := call.Payload[payload](t.Context(), stub.Answer(answer), request(), nil)
		if err != nil {
			t.Errorf("%s: %v", answer, err)
		} else if diff := cmp.Diff(want, got.Extra); diff != "" {
			t.Errorf("%s (-want +got)\n%s", answer, diff)
		}
	}
}
