package comments_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fastio-go/fastio/comments"
)

func TestAnchors(t *testing.T) {
	t.Parallel()
	frame := comments.VideoAnchor(81250*time.Millisecond, &comments.Region{X: 0.5, Y: 0.5, Width: 0.2, Height: 0.2})
	text := comments.TextAnchor(comments.Quote{Exact: "a", Prefix: "p ", Suffix: " s", End: 1})
	odd := comments.Region{Extra: extra("unit", `"px"`)}
	part := comments.Region{X: 0.12, Y: 0.40, Width: 0.25, Height: 0.10}
	for want, a := range map[string]*comments.Anchor{
		`{}`:                                       {},
		`{"type":"general"}`:                       {Type: comments.AnchorTypeGeneral},
		`{"type":"document","page":7}`:             comments.PageAnchor(7, ""),
		`{"type":"document","exact":"b"}`:          comments.TextAnchor(comments.Quote{Exact: "b"}),
		`{"type":"video","timestamp":0}`:           comments.VideoAnchor(0, nil),
		`{"type":"audio","timestamp":3600}`:        comments.AudioAnchor(time.Hour),
		`{"type":"audio","timestamp":0.000000001}`: comments.AudioAnchor(1),
		`{"type":"hologram","depth":[1,2]}`:        {Type: "hologram", Extra: extra("depth", `[1,2]`)},

		`{"type":"image","region":{"x":0.12,"y":0.4,"width":0.25,"height":0.1}}`:                 comments.ImageAnchor(part),
		`{"type":"image","region":{"x":0,"y":0,"width":0,"height":0,"unit":"px"}}`:               comments.ImageAnchor(odd),
		`{"type":"video","region":{"x":0.5,"y":0.5,"width":0.2,"height":0.2},"timestamp":81.25}`: frame,
		`{"type":"document","page":7,"text_snippet":"a"}`:                                        comments.PageAnchor(7, "a"),

		`{"type":"document","exact":"a","prefix":"p ","suffix":" s","start_offset":0,"end_offset":1}`: text,
	} {
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parsed(t, want), parsed(t, string(b))); diff != "" {
			t.Errorf("written as %s, want %s", b, want)
		}
		var got comments.Anchor
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, &got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want, diff)
		}
	}
}

// extra returns a map of one member without a field.
func extra(name, value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(value)}
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(text, err)
	}
	return v
}

func TestAnchorDecoded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]comments.Anchor{
		`{"type":"text","exact":"a"}`:   {Type: "text", Exact: "a"},
		`{"page":"7"}`:                  {Page: 7},
		`{"page":"vii"}`:                {Extra: extra("page", `"vii"`)},
		`{"page":7.5}`:                  {Extra: extra("page", `7.5`)},
		`{"page":null,"region":null}`:   {},
		`{"region":[0,0,1,1]}`:          {Extra: extra("region", `[0,0,1,1]`)},
		`{"region":{"x":1,"y":"left"}}`: {Extra: extra("region", `{"x":1,"y":"left"}`)},
		`{"timestamp":"45.5"}`:          {Timestamp: new(45500 * time.Millisecond)},
		`{"timestamp":"0:45"}`:          {Extra: extra("timestamp", `"0:45"`)},
		`{"timestamp":1e300}`:           {Extra: extra("timestamp", `1e300`)},
		`{"timestamp":null}`:            {},
		`{"type":5}`:                    {Extra: extra("type", `5`)},
		`{"Page":1}`:                    {Extra: extra("Page", `1`)},
	} {
		var got comments.Anchor
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{`[]`, `"page"`, `7`, `true`} {
		if err := json.Unmarshal([]byte(text), new(comments.Anchor)); err == nil {
			t.Errorf("%s is decoded as an anchor", text)
		}
	}
}

func TestAnchorSize(t *testing.T) {
	t.Parallel()
	const around = len(`{"type":"document","exact":""}`)
	for exact, want := range map[string]int{
		"":                       around - len(`,"exact":""`), // omitted
		"abc":                    around + 3,
		"<&>":                    around + 3,
		"é":                      around + 6,
		"漢字":                     around + 12,
		"🦉":                      around + 12,
		"aé🦉":                    around + 19,
		strings.Repeat("é", 336): around + 2016,
		"\xff cannot be sent":    0,
	} {
		if got := comments.TextAnchor(comments.Quote{Exact: exact}).Size(); got != want {
			t.Errorf("the size of %q is %d, want %d", exact, got, want)
		}
	}
	if comments.TextAnchor(comments.Quote{Exact: strings.Repeat("é", 336)}).Size() > comments.MaxAnchorSize ||
		comments.TextAnchor(comments.Quote{Exact: strings.Repeat("é", 337)}).Size() <= comments.MaxAnchorSize {
		t.Error("336 two-byte characters must fit, and 337 must not")
	}
	if size := comments.ImageAnchor(comments.Region{X: math.Inf(1)}).Size(); size != 0 {
		t.Errorf("an infinite region has the size %d", size)
	}
}

// Timestamps of up to a day are exact to the nanosecond.
func TestTimestampRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		want := comments.AudioAnchor(time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(r, "ns")))
		b, err := json.Marshal(want)
		if err != nil {
			r.Fatal(err)
		}
		var got comments.Anchor
		if err := json.Unmarshal(b, &got); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(want, &got); diff != "" {
			r.Fatalf("%s (-want +got):\n%s", b, diff)
		}
	})
}

// Any object can be decoded as an anchor, and encoding it keeps its value.
func FuzzAnchor(f *testing.F) {
	for _, s := range []string{
		`{"type":"image","region":{"x":0.12,"y":0.40,"width":0.25,"height":0.10,"unit":"px"}}`,
		`{"type":"video","timestamp":81.25,"end":90}`, `{"type":"document","page":"7","text_snippet":"a"}`,
		`{"exact":"\ud83e\udd89","start_offset":-1,"end_offset":1e3}`, `[]`, `{"timestamp":-1e300,"page":null}`,
		`{"type":{"a":[]},"a":1}`, `7`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a comments.Anchor
		err := a.UnmarshalJSON([]byte(text))
		var value json.RawMessage
		valid := json.Unmarshal([]byte(text), &value) == nil
		if may := valid && (value[0] == '{' || value[0] == 'n'); (err == nil) != may {
			t.Fatalf("%q ends with %v", text, err)
		}
		if err != nil {
			return
		}
		b, err := a.MarshalJSON()
		if err != nil {
			if strict(text) {
				t.Fatalf("%q is decoded but not encoded: %v", text, err)
			}
			return
		}
		var again comments.Anchor
		if err := again.UnmarshalJSON(b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, again, cmpopts.EquateEmpty(), cmp.Comparer(sameJSON)); diff != "" {
			t.Fatalf("%q becomes %s (-want +got):\n%s", text, b, diff)
		}
		if a.Size() < len(b) && strict(text) {
			t.Fatalf("%s has the size %d", b, a.Size())
		}
	})
}

// sameJSON compares JSON values regardless of their encoding.
func sameJSON(a, b json.RawMessage) bool {
	var va, vb any
	return json.Unmarshal(a, &va) == nil && json.Unmarshal(b, &vb) == nil && cmp.Equal(va, vb) || string(a) == string(b)
}

// strict reports whether a text is JSON without duplicate names or invalid
// UTF-8, which are decoded but never sent.
func strict(text string) bool { return jsontext.Value(text).IsValid() }
