package edit_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator/edit"
)

const rows = `{"result":true,"rows":[{"id":"a","by":{"x":1}},{"id":"b"}],"map":{"one":{"n":1},"two":{"n":2}},"end":1.50}`

func TestEditsChangeOnlyTheirPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ edit, before, want string }{
		{"mv /rows/*/id /rows/*/key", `{"rows":[{"id":"a","n":1},{"id":"b"}]}`, `{"rows":[{"key":"a","n":1},{"key":"b"}]}`},
		{"mv /a /b", `{"b":1,"a":2,"c":3}`, `{"b":2,"c":3}`},
		{"mv /a /in/b", `{"a":2}`, `{"in":{"b":2}}`},
		{"mv /a /a/items", `{"a":[1],"b":2}`, `{"a":{"items":[1]},"b":2}`},
		{"mv /rows/* /map/*", `{"rows":["a","b","c"],"map":{}}`, `{"rows":[],"map":{"0":"a","1":"b","2":"c"}}`},
		{"mv /rows/* /list/*", `{"rows":["a","b","c"],"list":[1]}`, `{"rows":[],"list":["a","b","c"]}`},
		{"mv /rows/* /rows/*/in", `{"rows":["a","b"]}`, `{"rows":[{"in":"a"},{"in":"b"}]}`},
		{"mv /*/0 /first/*", `{"a":[1,2],"b":[3]}`, `{"a":[2],"b":[],"first":{"a":1,"b":3}}`},
		{
			"mv /rows/* /map/*/in", `{"rows":["a","b","c"],"map":{"1":"text"}}`,
			`{"rows":["b"],"map":{"1":"text","0":{"in":"a"},"2":{"in":"c"}}}`,
		},
		{"mv /rows/*/by/x /rows/*/x", `{"rows":[{"by":{"x":1}},{"by":{"x":2}}]}`, `{"rows":[{"by":{},"x":1},{"by":{},"x":2}]}`},
		{
			"mv /rows/*/id /rows/*/by/id", `{"rows":[{"by":{},"id":1},{"id":2,"by":"b"}]}`,
			`{"rows":[{"by":{"id":1}},{"id":2,"by":"b"}]}`,
		},
		{"mv /a", `{"a":[1]}`, `[1]`},
		{"rm /map/*/n /end", rows, strings.NewReplacer(`"n":1`, "", `"n":2`, "", `,"end":1.50`, "").Replace(rows)},
		{"rm /rows/*", rows, strings.Replace(rows, `[{"id":"a","by":{"x":1}},{"id":"b"}]`, "[]", 1)},
		{"rm /*/*/*", `{"a":{"b":[1,2]},"c":{"d":[]}}`, `{"a":{"b":[]},"c":{"d":[]}}`},
		{"set /rows/*/by/x /end {\"y\": 2}", rows, strings.NewReplacer("1.50", `{"y":2}`, `"x":1`, `"x":{"y":2}`).Replace(rows)},
		{"set /rows/2 3", `{"rows":[1,2]}`, `{"rows":[1,2,3]}`},
		{"set /a~1b~0 1", `{"a/b~":0}`, `{"a/b~":1}`},
		{"set  [1, 2]", rows, `[1,2]`},
		{"lift /map/*", `{"map":{"one":{"n":1},"two":{"n":2}}}`, `{"map":{"n":1}}`},
		{"lift /in", `{"in":{"a":1,"b":2},"c":3}`, `{"c":3,"a":1,"b":2}`},
		{"nest data", `{"result":true,"status":"ok","a":1}`, `{"result":true,"data":{"status":"ok","a":1}}`},
		{`replace "true" "\"yes\""`, `{"result":true}`, `{"result":"yes"}`},
		{`text "<html>"`, `{}`, `<html>`},
	} {
		if got := edited(t, test.edit, test.before); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.edit, got, test.want)
		}
	}
}

func TestValuesBecomeOfAnotherKind(t *testing.T) {
	t.Parallel()
	const values = `{"v":["text","12","",-3.5,true,false,null,[1],{"a":1}]}`
	for kind, want := range map[string]string{
		"string": `["text","12","","-3.5","true","false","null","",""]`,
		"number": `[1,12,1,-3.5,1,0,0,1,1]`,
		"bool":   `[true,true,false,true,true,false,false,false,false]`,
		"null":   `[null,null,null,null,null,null,null,null,null]`,
		"list":   `[["text"],["12"],[""],[-3.5],[true],[false],[null],[[1]],[{"a":1}]]`,
		"object": `[{"value":"text"},{"value":"12"},{"value":""},{"value":-3.5},{"value":true},{"value":false},` +
			`{"value":null},{"value":[1]},{"value":{"a":1}}]`,
	} {
		if got := edited(t, "kind /v/* "+kind, values); got != `{"v":`+want+`}` {
			t.Errorf("%s\ngot  %s\nwant %s", kind, got, want)
		}
	}
}

func TestEditsOfTheHead(t *testing.T) {
	t.Parallel()
	r := edit.Response{Status: 404, Header: http.Header{"Date": {"now"}, "Etag": {"x"}}}
	all, err := edit.ParseAll("status 404 410", "header Date", "header ETag a b", "status 410 299")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if err := e.Apply(&r); err != nil {
			t.Fatal(err)
		}
	}
	want := edit.Response{Status: 299, Header: http.Header{"Etag": {"a b"}}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

func TestEditsWithoutAPlaceChangeNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"mv /none /other", "mv /rows/*/none /rows/*/other", "rm /none", "rm /rows/7", "rm /end /none", "set /none/a 1",
		"mv /end /rows/7/a", "mv /end /rows/7/a/b", "set /end/a 1", "set /rows/7 1", "set /rows/x 1", "lift /end", "lift /none", "lift /rows/*",
		"kind /none null",
		`replace "none" "some"`, "status 400 401",
	} {
		e, err := edit.Parse(text)
		if err != nil {
			t.Error(err)
			continue
		}
		r := edit.Response{Status: 200, Body: []byte(rows)}
		if err := e.Apply(&r); err == nil || r.Status != 200 || string(r.Body) != rows {
			t.Errorf("%s: no error, or %d %s", text, r.Status, r.Body)
		}
	}
	for _, body := range []string{"", "<html>", "{", `{"error":{"code":1}}`, "[]"} {
		e, _ := edit.Parse("nest data")
		r := edit.Response{Body: []byte(body)}
		if err := e.Apply(&r); err == nil || string(r.Body) != body {
			t.Errorf("%s became %s without an error", body, r.Body)
		}
	}
}

func TestParseRejectsMalformedEdits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "turn /a", "status", "status x", "status 99", "status 200 300 400", "header", "text x", "replace x y",
		`replace "x" y`, "set /a", "set /a {", "set a 1", "rm", "rm a", "rm /a b", "mv", "mv a /b", "mv /a b",
		"kind /a", "kind /a time", "kind null", "lift", "lift a", "nest",
	} {
		if e, err := edit.Parse(text); err == nil {
			t.Errorf("%q is %v", text, e)
		}
	}
}

func TestSwapExchangesNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, other, before, want string }{
		{"a", "b", `{"a":1,"b":2,"c":{"a":3}}`, `{"b":1,"a":2,"c":{"a":3}}`},
		{"c/a", "b", `{"a":1,"c":{"a":3}}`, `{"a":1,"c":{"b":3}}`},
		{"*/a", "b", `[{"a":1},{"b":2}]`, `[{"b":1},{"a":2}]`},
		{"a", "b", `no JSON`, `no JSON`},
	} {
		if got := string(edit.Swap([]byte(test.before), test.path, test.other)); got != test.want {
			t.Errorf("%s and %s: got %s, want %s", test.path, test.other, got, test.want)
		}
	}
}

func edited(t *testing.T, text, body string) string {
	t.Helper()
	e, err := edit.Parse(text)
	r := edit.Response{Status: 200, Header: http.Header{}, Body: []byte(body)}
	if err == nil {
		err = e.Apply(&r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Body)
}
