package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/api"
)

func TestMapJSON(t *testing.T) {
	t.Parallel()
	for name, codec := range codecs() {
		for in, tc := range map[string]struct {
			want api.Map[int64]
			out  string
		}{
			`{"👍":2,"a":1}`: {api.Map[int64]{"👍": 2, "a": 1}, `{"a":1,"👍":2}`},
			`[]`:            {nil, `{}`},
			"[ \n ]":        {nil, `{}`},
			`null`:          {nil, `{}`},
			`{}`:            {api.Map[int64]{}, `{}`},
		} {
			got := api.Map[int64]{"left": 9}
			if err := codec.unmarshal([]byte(in), &got); err != nil {
				t.Errorf("%s: reading %s: %v", name, in, err)
				continue
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: reading %s (-want +got):\n%s", name, in, diff)
			}
			out, err := codec.marshal(got)
			if err != nil || string(out) != tc.out {
				t.Errorf("%s: %s is written as %s, %v; want %s", name, in, out, err, tc.out)
			}
		}
		for _, in := range []string{`[1]`, `[[]]`, `"a"`, `7`, `{"a":"b"}`} {
			var got struct{ M api.Map[int64] }
			if err := codec.unmarshal([]byte(`{"M":`+in+`}`), &got); err == nil {
				t.Errorf("%s: reading %s gives %v, want an error", name, in, got.M)
			}
		}
	}
}

func TestBoolJSON(t *testing.T) {
	t.Parallel()
	for name, codec := range codecs() {
		for in, want := range map[string]api.Bool{
			`true`: true, `"true"`: true, `"TRUE"`: true, `"yes"`: true, `"Yes"`: true, `1`: true, `"1"`: true,
			`"\u0079es"`: true, `false`: false, `"false"`: false, `"no"`: false, `"NO"`: false, `0`: false,
			`"0"`: false, `null`: false, `""`: false,
		} {
			got := !want
			if err := codec.unmarshal([]byte(in), &got); err != nil || got != want {
				t.Errorf("%s: reading %s gives %t, %v; want %t", name, in, got, err, want)
			}
			out, err := codec.marshal(got)
			if want := map[api.Bool]string{true: "true", false: "false"}[want]; err != nil || string(out) != want {
				t.Errorf("%s: %s is written as %s, %v", name, in, out, err)
			}
		}
		for _, in := range []string{`"maybe"`, `"null"`, `2`, `-1`, `1.0`, `"11"`, `{}`, `[]`} {
			var got struct{ B api.Bool }
			if err := codec.unmarshal([]byte(`{"B":`+in+`}`), &got); err == nil {
				t.Errorf("%s: reading %s gives %t, want an error", name, in, got.B)
			}
		}
	}
}

func TestLenientTypesRejectInvalidJSON(t *testing.T) {
	t.Parallel()
	for of, texts := range map[json.Unmarshaler][]string{
		new(api.Map[int]): {``, `"`, `[`, `[1`, `{`, `"\x"`},
		new(api.Bool):     {`"`, `[`, `"\x"`},
		new(api.Time):     {``, `"`, `"2026`, `"\x"`, `x`},
	} {
		for _, text := range texts {
			if err := of.UnmarshalJSON([]byte(text)); err == nil {
				t.Errorf("a %T is read from %q", of, text)
			}
		}
	}
}
