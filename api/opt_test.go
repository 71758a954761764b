package api_test

import (
	"fmt"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

type update struct {
	Name  api.Opt[string]   `json:"name,omitzero"`
	Limit api.Opt[int64]    `json:"limit,omitzero"`
	Tags  api.Opt[[]string] `json:"tags,omitzero"`
	Until api.Opt[api.Time] `json:"until,omitzero"`
}

func TestOptJSON(t *testing.T) {
	t.Parallel()
	for name, codec := range codecs() {
		for want, u := range map[string]update{
			`{}`:             {},
			`{"name":null}`:  {Name: api.Null[string]()},
			`{"name":""}`:    {Name: api.Set("")},
			`{"limit":0}`:    {Limit: api.Set[int64](0)},
			`{"tags":["a"]}`: {Tags: api.Set([]string{"a"})},
			`{"name":"n","until":"2026-01-02 03:04:05 UTC"}`: {Name: api.Set("n"), Until: api.Set(utc(2026, 1, 2, 3, 4, 5, 0))},
		} {
			got, err := codec.marshal(u)
			if err != nil || string(got) != want {
				t.Errorf("%s: %+v is written as %s, %v; want %s", name, u, got, err, want)
			}
			var back update
			if err := codec.unmarshal(got, &back); err != nil {
				t.Errorf("%s: reading %s: %v", name, got, err)
			}
			again, err := codec.marshal(back)
			if err != nil || string(again) != want {
				t.Errorf("%s: %s is read and written as %s, %v", name, want, again, err)
			}
		}
		if got, err := codec.marshal(api.Opt[int]{}); err != nil || string(got) != "null" {
			t.Errorf("%s: unset outside of a struct is written as %s, %v", name, got, err)
		}
		used := api.Set(map[string]int{"old": 1})
		if err := codec.unmarshal([]byte(`{"new":2}`), &used); err != nil {
			t.Error(name, err)
		}
		if m, ok := used.Get(); !ok || len(m) != 1 || m["new"] != 2 {
			t.Errorf("%s: reading over a value gives %v, %t", name, m, ok)
		}
		if err := codec.unmarshal([]byte(`{"limit":"many"}`), new(update)); err == nil {
			t.Error(name, "a string is read as a number")
		}
	}
}

func TestOptStates(t *testing.T) {
	t.Parallel()
	type states struct {
		Value        int
		Ok, Null, No bool
	}
	for name, tc := range map[string]struct {
		opt  api.Opt[int]
		want states
	}{
		"unset":       {api.Opt[int]{}, states{No: true}},
		"cleared":     {api.Null[int](), states{Null: true}},
		"set":         {api.Set(7), states{Value: 7, Ok: true}},
		"set to zero": {api.Set(0), states{Ok: true}},
	} {
		v, ok := tc.opt.Get()
		if got := (states{v, ok, tc.opt.IsNull(), tc.opt.IsZero()}); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

func ExampleOpt() {
	type UpdateRequest struct {
		Title   api.Opt[string] `json:"title,omitzero"`
		Expires api.Opt[string] `json:"expires,omitzero"`
	}
	for _, r := range []UpdateRequest{
		{},
		{Title: api.Set("Plans")},
		{Title: api.Set(""), Expires: api.Null[string]()},
	} {
		body, err := jsonv2.Marshal(r)
		fmt.Println(string(body), err)
	}
	// Output:
	// {} <nil>
	// {"title":"Plans"} <nil>
	// {"title":"","expires":null} <nil>
}

func TestOptPrints(t *testing.T) {
	t.Parallel()
	type settings struct {
		Title    api.Opt[string]
		Password api.Opt[api.Secret]
		Limit    *api.Opt[int]
	}
	set := settings{Title: api.Set("Portal"), Password: api.Set[api.Secret](api.NewSecret("0p3n s3sam3"))}
	for verb, want := range map[string]string{
		"%v":  "{Portal [redacted] <nil>}",
		"%+v": "{Title:Portal Password:[redacted] Limit:<nil>}",
		"%s":  "{Portal [redacted] <nil>}",
		"%x":  fmt.Sprintf("{506f7274616c %x <nil>}", "[redacted]"),
		"%q":  `{"Portal" "[redacted]" <nil>}`,
	} {
		if got := fmt.Sprintf(verb, set); got != want {
			t.Errorf("%s prints %s, want %s", verb, got, want)
		}
	}
	if got, want := fmt.Sprintf("%v", settings{Title: api.Null[string]()}), "{null unset <nil>}"; got != want {
		t.Errorf("printed %s, want %s", got, want)
	}
}
