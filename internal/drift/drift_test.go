package drift_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/drift"
	"github.com/fastio-go/fastio/storage"
)

type record struct {
	ID      api.OpaqueID       `json:"id" scalar:"true"`
	Size    int64              `json:"size"`
	Ratio   float64            `json:"ratio"`
	Name    string             `json:"name" also:"title,label"`
	On      bool               `json:"on"`
	Yes     api.Bool           `json:"yes"`
	At      api.Time           `json:"at"`
	Key     api.Secret         `json:"key"`
	Type    storage.NodeType   `json:"type"`
	AI      storage.AIState    `json:"ai"`
	Links   []string           `json:"links"`
	Grid    [][]int            `json:"grid"`
	Parts   []*part            `json:"parts"`
	Options api.Map[part]      `json:"options"`
	Flags   map[string]bool    `json:"flags"`
	Raw     json.RawMessage    `json:"raw"`
	Any     any                `json:"any"`
	Parent  *record            `json:"parent"`
	Inner   struct{ Deep int } `json:"inner"`
	Hidden  string             `json:"-"`

	part
	Audit *audit `json:",embed,inline"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

type part struct {
	Number int `json:"number"`
}

type audit struct {
	IP string `json:"ip"`
}

// fixed takes a member without a tag.
type fixed struct {
	State string `json:"state"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

type progress struct {
	Done int `json:"done"`
}

var _ = decode.Fix(func(f *fixed) {
	decode.Take(f.Extra, &f.State, "status_word")
	var p progress
	decode.Take(f.Extra, &p, "progress")
	var words []string
	decode.Take(f.Extra, &words, "state")
}, decode.Takes[progress]("progress"), decode.Takes[[]string]("state"))

type page struct {
	Rows []*part `json:"rows"`
	More bool    `json:"has_more"`
}

func TestLookFindsDifferencesInOneRecord(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`: "",
		`{"id":"a","size":1,"ratio":1,"name":"n","on":true,"at":null,"links":["x"],"grid":[[1],[2,3]],"number":4,"ip":"::1"}`: "",

		`{"new":1}`:                          "unknown record.new",
		`{"Size":1}`:                         "unknown record.Size",
		`{"hidden":"x"}`:                     "unknown record.hidden",
		`{"parts":[{"number":1},{"new":1}]}`: "unknown part.new",
		`{"options":{"a":{"new":1}}}`:        "unknown part.new",
		`{"parent":{"parent":{"new":1}}}`:    "unknown record.new",
		`{"inner":{"Deep":1,"new":1}}`:       "unknown record.inner.new",
		`{"raw":{"new":1},"any":{"new":1},"flags":{"new":true}}`: "",

		`{"title":"n"}`:         "",
		`{"label":5}`:           "shape record.name string number",
		`{"parent":"a"}`:        "",
		`{"parent":5}`:          "shape record.parent object number",
		`{"parent":[]}`:         "shape record.parent object list",
		`{"options":[]}`:        "",
		`{"options":[1]}`:       "shape record.options object list",
		`{"options":{"a":5}}`:   "shape record.options{} object number",
		`{"flags":[]}`:          "shape record.flags object list",
		`{"flags":{"a":"yes"}}`: "shape record.flags{} bool string",

		`{"id":5}`:                        "shape record.id string number",
		`{"size":"5"}`:                    "shape record.size number string",
		`{"size":1.5}`:                    "shape record.size integer number",
		`{"size":1e99}`:                   "shape record.size integer number",
		`{"ratio":"1"}`:                   "shape record.ratio number string",
		`{"on":"yes"}`:                    "shape record.on bool string",
		`{"on":1}`:                        "shape record.on bool number",
		`{"yes":"YES"}`:                   "",
		`{"yes":0}`:                       "",
		`{"yes":"maybe"}`:                 "shape record.yes bool string",
		`{"key":"s"}`:                     "",
		`{"key":5}`:                       "",
		`{"key":{}}`:                      "shape record.key string object",
		`{"links":"x"}`:                   "shape record.links list string",
		`{"links":{}}`:                    "shape record.links list object",
		`{"links":["x",5,null,6]}`:        "shape record.links[] string number",
		`{"grid":[[1],["2"]]}`:            "shape record.grid[][] number string",
		`{"grid":[1]}`:                    "shape record.grid[] list number",
		`{"parts":[null,{"number":"4"}]}`: "shape part.number number string",
		`{"parts":["a"]}`:                 "shape record.parts[] object string",
		`{"number":null,"parts":null,"options":null,"inner":null}`: "",

		`{"type":"file"}`:     "",
		`{"type":""}`:         "",
		`{"type":"shortcut"}`: "value record.type shortcut",
		`{"ai":"inprogress"}`: "",
		`{"ai":"later"}`:      "value record.ai later",
		`{"ai":5}`:            "shape record.ai string number",
	} {
		out := &decode.Envelope[record]{Member: "row"}
		checkDifferences(t, out, `{"result":true,"row":`+body+`}`, want)
		checkDifferences(t, out, `{"result":"yes","response":{"row":`+body+`}}`, want)
		list := &decode.Envelope[[]*record]{Member: "rows"}
		checkDifferences(t, list, `{"result":true,"rows":[{},`+body+`]}`, want)
		checkDifferences(t, list, `{"result":true,"response":[`+body+`]}`, want)
		checkDifferences(t, list, `[`+body+`]`, want)
		checkDifferences(t, new(decode.Envelope[record]), body, want)
		checkDifferences(t, new(decode.Envelope[record]), `{"status":"ok","response":`+body+`}`, want)
	}
}

func checkDifferences(t *testing.T, out any, body, want string) {
	t.Helper()
	var got []string
	for _, d := range drift.Differences(out, []byte(body)) {
		text := strings.TrimPrefix(d.Type+"."+d.Member, "drift_test.")
		got = append(got, strings.Join(strings.Fields(fmt.Sprintln(d.Kind, text, d.Want, d.Got)), " "))
	}
	if all := strings.Join(got, "; "); all != want {
		t.Errorf("%T, %s: got %q, want %q", out, body, all, want)
	}
}

func TestLookAcceptsEveryDocumentedTime(t *testing.T) {
	t.Parallel()
	out := &decode.Envelope[record]{Member: "row"}
	for _, text := range []string{
		`"2026-12-31 23:59:59 UTC"`, `"2026-12-31 23:59:59.123456 UTC"`, `"2026-12-31 23:59:59"`,
		`"2026-12-31T23:59:59+02:00"`, `"2026-12-31"`, `1798761599`, `"1798761599.5"`, `""`, `null`,
	} {
		checkDifferences(t, out, `{"row":{"at":`+text+`}}`, "")
	}
	checkDifferences(t, out, `{"row":{"at":"tomorrow"}}`, "shape record.at time string")
	checkDifferences(t, out, `{"row":{"at":true}}`, "shape record.at time bool")
	checkDifferences(t, out, `{"row":{"at":{"date":"2026-12-31"}}}`, "shape record.at time object")
}

// undescribed is what a response without any documented member is decoded into.
type undescribed struct {
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

func TestLookAcceptsAnyMemberOfATypeThatHasOnlyExtra(t *testing.T) {
	t.Parallel()
	checkDifferences(t, new(decode.Envelope[undescribed]), `{"result":true,"limits":{"new":1},"new":1}`, "")
	row := &decode.Envelope[undescribed]{Member: "row"}
	checkDifferences(t, row, `{"result":true,"row":{"new":1}}`, "")
	checkDifferences(t, row, `{"result":true,"row":5,"new":1}`, "shape .row object number; unknown .new")
}

func TestLookKnowsTheEnvelope(t *testing.T) {
	t.Parallel()
	row := &decode.Envelope[record]{Member: "row"}
	checkDifferences(t, row, `{"result":true,"status":"ok","current_api_version":"1","row":{}}`, "")
	checkDifferences(t, row, `{"result":true,"row":{},"new":1}`, "unknown .new")
	checkDifferences(t, row, `{"result":true,"response":{"row":{},"new":1}}`, "unknown .new")
	checkDifferences(t, decode.Nothing(), `{"result":true,"new":{"a":1}}`, "")
	checkDifferences(t, new(decode.Envelope[page]), `{"rows":[],"has_more":false,"new":1}`, "unknown page.new")
	checkDifferences(t, new(decode.Envelope[page]), `{"response":[{"number":"1"}]}`, "shape part.number number string")
	checkDifferences(t, new(decode.Envelope[page]), `[{"number":"1"}]`, "shape part.number number string")
}

func TestLookKnowsWhatAFixTakes(t *testing.T) {
	t.Parallel()
	out := &decode.Envelope[fixed]{Member: "row"}
	checkDifferences(t, out, `{"row":{"status_word":"on"}}`, "")
	checkDifferences(t, out, `{"row":{"status_word":"on","new":1}}`, "unknown fixed.new")
	checkDifferences(t, out, `{"row":{"state":["on"]}}`, "")
	checkDifferences(t, out, `{"row":{"state":[1]}}`, "shape fixed.state[] string number")
	checkDifferences(t, out, `{"row":{"state":5}}`, "shape fixed.state string number")
	checkDifferences(t, out, `{"row":{"progress":{"done":"1","new":1}}}`, "shape progress.done number string; unknown progress.new")
}

// A record may be under a name, or beside the members of the envelope.
func TestLookAttributesMembersToTheRecordOrTheEnvelope(t *testing.T) {
	t.Parallel()
	type node struct {
		Type  storage.NodeType           `json:"type"`
		Extra map[string]json.RawMessage `json:",embed,unknown"`
	}
	out := new(decode.Envelope[struct {
		Named *node `json:"node"`
		Bare  node  `json:",embed,inline"`
	}])
	checkDifferences(t, out, `{"node":{"new":1}}`, "unknown node.new")
	checkDifferences(t, out, `{"node":{},"new":1}`, "unknown .new")
	checkDifferences(t, out, `{"type":"file","new":1}`, "unknown node.new")
}

func TestLookSeesMembersUnderAnyName(t *testing.T) {
	t.Parallel()
	type row struct {
		Name  string  `json:"name" also:"title"`
		Size  int     `json:"size"`
		Parts []*part `json:"parts"`
	}
	out := &decode.Envelope[[]*row]{Member: "rows"}
	got := drift.Look(out, []byte(`{"result":true,"rows":[{"title":"a"},{"parts":[{}]}]}`))
	want := drift.Sight{
		Seen: []drift.Place{
			{"", "result"}, {"", "rows"}, {"drift_test.row", "name"}, {"drift_test.row", "parts"},
		},
		Missing: []drift.Place{{"drift_test.part", "number"}, {"drift_test.row", "size"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := drift.Look(out, []byte(`{"result":true}`)); !slices.Contains(got.Missing, drift.Place{"", "rows"}) {
		t.Errorf("a payload that is missing: got %v", got.Missing)
	}
}

// Neither has a text members, nor must a type of the program have all of them.
func TestLookIgnoresWhatIsNoEnvelope(t *testing.T) {
	t.Parallel()
	for _, out := range []any{nil, new(string), new([]byte), new(record), new(map[string]any), 5} {
		if got := drift.Look(out, []byte(`{"new":1}`)); !cmp.Equal(got, drift.Sight{}) {
			t.Errorf("%T: got %v", out, got)
		}
	}
}

func TestLookSurvivesInvalidJSON(t *testing.T) {
	t.Parallel()
	whole := `{"result":true,"response":{"row":{"parts":[{"number":1}],"options":{"a":{}},"parent":"x","new":[1]}}}`
	for i := range whole {
		_ = drift.Look(&decode.Envelope[record]{Member: "row"}, []byte(whole[:i]))
	}
	deep := strings.Repeat(`{"parent":`, 20_000)
	_ = drift.Look(new(decode.Envelope[record]), []byte(deep))
}

// A map that is believed to be an object has a bounded number of differences, and of
// a long list a part is read.
func TestLookIsBounded(t *testing.T) {
	t.Parallel()
	var names, rows strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&names, `,"n%d":1`, i)
		fmt.Fprintf(&rows, `,{"n%d":1}`, i)
	}
	out := &decode.Envelope[[]*record]{Member: "rows"}
	if got := len(drift.Differences(out, []byte(`{"rows":[{"id":"a"`+names.String()+`}]}`))); got != 1000 {
		t.Errorf("one object: %d differences", got)
	}
	if got := len(drift.Differences(out, []byte(`{"rows":[{}`+rows.String()+`]}`))); got != 99+50 {
		t.Errorf("a list: %d differences", got)
	}
}

// What a function takes is another form of a member, and is not missing.
func TestLookDoesNotMissOtherForms(t *testing.T) {
	t.Parallel()
	out := &decode.Envelope[fixed]{Member: "row"}
	got := drift.Look(out, []byte(`{"row":{}}`))
	want := []drift.Place{{"drift_test.fixed", "state"}}
	if diff := cmp.Diff(want, got.Missing); diff != "" {
		t.Error(diff)
	}
	got = drift.Look(out, []byte(`{"row":{"progress":{"done":1}}}`))
	if !slices.Contains(got.Seen, drift.Place{"drift_test.fixed", "progress"}) {
		t.Errorf("saw %v", got.Seen)
	}
}

// A member of the envelope is one of the response only, not of an object in it.
func TestLookKnowsTheEnvelopeOfTheResponseOnly(t *testing.T) {
	t.Parallel()
	row := &decode.Envelope[record]{Member: "row"}
	checkDifferences(t, row, `{"response":{"row":{},"current_api_version":"1"}}`, "unknown .current_api_version")
	bare := new(decode.Envelope[record])
	checkDifferences(t, bare, `{"response":{"id":"a","current_api_version":"1"}}`, "unknown record.current_api_version")
}

// A record beside the members of the envelope may have a status too.
func TestLookDistinguishesTheStatusOfARecord(t *testing.T) {
	t.Parallel()
	type upload struct {
		Status storage.NodeType `json:"status"`
	}
	out := new(decode.Envelope[upload])
	checkDifferences(t, out, `{"status":"ok"}`, "")
	checkDifferences(t, out, `{"status": "later"}`, "value upload.status later")
	checkDifferences(t, out, `{"response":{"status":"ok"}}`, "value upload.status ok")
}

// The field of a struct has precedence over one of the same name in an inlined struct.
func TestLookUsesTheOuterField(t *testing.T) {
	t.Parallel()
	type inner struct {
		Number string `json:"number"`
	}
	type outer struct {
		inner
		Number int `json:"number"`
	}
	out := &decode.Envelope[outer]{Member: "row"}
	checkDifferences(t, out, `{"row":{"number":1}}`, "")
	got := drift.Look(out, []byte(`{"row":{"number":1}}`))
	if want := []drift.Place{{"", "row"}, {"drift_test.outer", "number"}}; !cmp.Equal(got.Seen, want) ||
		got.Missing != nil {
		t.Errorf("saw %v, missed %v", got.Seen, got.Missing)
	}
}
