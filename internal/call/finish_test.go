package call_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/lenient"
)

// A part is found by either name, may be a text, and learns its Size from Extra.
type part struct {
	ID   string `json:"id" also:"part_id,uid" scalar:"true"`
	Size int    `json:"size"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

var _ = lenient.Fix(func(p *part) {
	var size struct {
		Bytes int `json:"bytes"`
	}
	if lenient.Take(p.Extra, &size, "length") {
		p.Size = size.Bytes
	}
})

type whole struct {
	Part  *part           `json:"part" also:"piece"`
	Parts []*part         `json:"parts"`
	Named map[string]part `json:"named"`

	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

func TestValueReadsEveryForm(t *testing.T) {
	t.Parallel()
	rest := func(name, value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{name: json.RawMessage(value)}
	}
	for in, want := range map[string]whole{
		`{"part":{"id":"a"}}`:                              {Part: &part{ID: "a"}},
		`{"part":{"part_id":"a"}}`:                         {Part: &part{ID: "a"}},
		`{"part":{"uid":"b","part_id":"a"}}`:               {Part: &part{ID: "a"}},
		`{"part":{"uid":"b","id":"a"}}`:                    {Part: &part{ID: "a"}},
		`{"part":{"uid":7}}`:                               {Part: &part{ID: "7"}},
		`{"part":{"uid":{}}}`:                              {Part: &part{Extra: rest("uid", "{}")}},
		`{"part":"a"}`:                                     {Part: &part{ID: "a"}},
		`{"part":7}`:                                       {Extra: rest("part", "7")},
		`{"piece":"a"}`:                                    {Part: &part{ID: "a"}},
		`{"piece":{"uid":"a","length":{"bytes":5},"x":1}}`: {Part: &part{ID: "a", Size: 5, Extra: rest("x", "1")}},
		`{"part":{"id":"a"},"piece":"b","x":1}`:            {Part: &part{ID: "a"}, Extra: rest("x", "1")},
		`{"parts":[{"uid":"a"},null,"b"]}`:                 {Parts: []*part{{ID: "a"}, {ID: "b"}}},
		`{"named":{"x":{"uid":"a"},"y":"b"}}`:              {Named: map[string]part{"x": {ID: "a"}, "y": {ID: "b"}}},
		`{"part":{"id":"a","length":{"bytes":"five"}}}`: {
			Part: &part{ID: "a", Extra: rest("length", `{"bytes":"five"}`)},
		},
	} {
		got, err := call.Value[whole]([]byte(in))
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
}

// A type of the caller's keeps all elements of its lists, also zero ones.
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
	err := call.DecodePlain([]byte(in), &got, func() {})
	if len(got.Rows) != 2 || len(got.Parts) != 2 || len(got.Named) != 1 || got.Parts[1].ID != "a" || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}
