package api_test

import (
	"net/url"
	"testing"

	"github.com/fastio-go/fastio/api"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	const form, json = "application/x-www-form-urlencoded", "application/json"
	type update struct {
		Name  api.Opt[string] `json:"name,omitzero"`
		Title api.Opt[string] `json:"title,omitzero"`
	}
	for name, tc := range map[string]struct {
		body       api.Body
		kind, want string
	}{
		"a form":        {api.Form(url.Values{"b": {"2", "3"}, "a": {"x y&z"}}), form, "a=x+y%26z&b=2&b=3"},
		"an empty form": {api.Form{}, form, ""},
		"no form":       {api.Form(nil), form, ""},
		"JSON": {
			api.JSON(map[string]any{"b": 1, "a": []int{2}, "c": nil}), json, `{"a":[2],"b":1,"c":null}`,
		},
		"JSON that is not for HTML": {api.JSON("<a&b>"), json, `"<a&b>"`},
		"an update": {
			api.JSON(update{Name: api.Set(""), Title: api.Null[string]()}), json, `{"name":"","title":null}`,
		},
		"an update of nothing":        {api.JSON(update{}), json, `{}`},
		"a list of nothing":           {api.JSON([]string(nil)), json, `[]`},
		"a number beyond a float":     {api.JSON(int64(4012345678901234567)), json, `4012345678901234567`},
		"a name by hand, as a string": {api.JSON(api.ProfileID("4012345678901234567")), json, `"4012345678901234567"`},
	} {
		for range 2 { // a repeat sends the same bytes
			kind, content, err := api.Encode(tc.body)
			if err != nil || kind != tc.kind || string(content) != tc.want {
				t.Errorf("%s: it is sent as %s: %s, %v; want %s: %s", name, kind, content, err, tc.kind, tc.want)
			}
		}
	}
	if _, content, err := api.Encode(api.JSON(func() {})); err == nil {
		t.Errorf("a function is sent as %s", content)
	}
}
