package transport_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/events"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/stub"
	"github.com/fastio-go/fastio/internal/table"
	"github.com/fastio-go/fastio/workspaces"
)

type thing struct {
	Name  string                     `json:"name"`
	Size  int64                      `json:"size"`
	Extra map[string]json.RawMessage `json:",embed,unknown"`
}

func TestCallFillsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	type plain struct {
		Name string `json:"name"`
	}
	type turn struct { // whose members are named like those of the envelope
		Status string          `json:"status"`
		Error  json.RawMessage `json:"error"`
	}
	type row struct {
		status    int
		body      string
		out, want any
	}
	const long, holding = "4012345678901234567", `{"result":true,"response":[1]}`
	both, anything := map[string]any{"result": true, "name": "a"}, any(map[string]any{"name": "a"})
	raw, ofTurn := json.RawMessage(`{"name":"a"}`), json.RawMessage(`{"code":1,"text":"of the turn"}`)
	failedTurn := `{"result":true,"status":"failed","error":` + string(ofTurn) + `}`
	table.Each(t, map[string]row{
		"a struct":                         {200, `{"result":true,"name":"a"}`, new(plain), &plain{"a"}},
		"a struct from under response":     {200, `{"result":"yes","response":{"name":"a"}}`, new(plain), &plain{"a"}},
		"a struct beside a word response":  {200, `{"response":"event","name":"a"}`, new(plain), &plain{"a"}},
		"a struct beside an empty list":    {200, `{"response":[],"name":"a"}`, new(plain), &plain{"a"}},
		"a struct without a verdict":       {200, `{"name":"a"}`, new(plain), &plain{"a"}},
		"a struct with a number for text":  {200, `{"name":4012345678901234567}`, new(plain), &plain{long}},
		"a map":                            {200, `{"result":true,"name":"a"}`, &map[string]any{}, &both},
		"anything":                         {200, `{"response":{"name":"a"}}`, new(any), &anything},
		"raw JSON":                         {200, `{"response":{"name":"a"}}`, new(json.RawMessage), &raw},
		"raw JSON that is a list":          {200, `[1,2]`, new(json.RawMessage), new(json.RawMessage(`[1,2]`))},
		"raw JSON that holds a list":       {200, holding, new(json.RawMessage), new(json.RawMessage(holding))},
		"a verdict that is payload":        {200, `{"response":{"result":false,"name":"a"}}`, new(plain), &plain{"a"}},
		"nothing, of a verdict in payload": {200, `{"response":{"result":false}}`, nil, nil},
		"nothing, from an empty object":    {200, `{}`, nil, nil},
		"text":                             {200, "# Title\n", new(string), new("# Title\n")},
		"bytes":                            {200, "\x00\xff", new([]byte), new([]byte("\x00\xff"))},
		"nothing":                          {200, `{"result":true,"name":"a"}`, nil, nil},
		"nothing, from nothing":            {200, "", nil, nil},
		"a status and an error":            {200, failedTurn, new(turn), &turn{"failed", ofTurn}},
		"a struct, from no content":        {204, "", new(plain), new(plain)},
		"a struct, accepted without words": {202, "", new(plain), new(plain)},
		"a name written twice":             {200, `{"name":"a","name":"b"}`, new(plain), &plain{"b"}},
		"a name that is no UTF-8":          {200, "{\"name\":\"\xff\"}", new(plain), &plain{"\ufffd"}},
	}, func(t *testing.T, tc row) {
		if err := clientOf(t, answering(tc.status, tc.body)).Call(t.Context(), get(), tc.out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, tc.out); diff != "" {
			t.Errorf("the answer was read otherwise (-want +got):\n%s", diff)
		}
	})
}

// An answer that is not what was asked for is an error, never an empty value,
// and the error does not repeat it.
func TestCallFailsOnAnotherAnswer(t *testing.T) {
	t.Parallel()
	type page struct {
		Things []*thing `json:"things"`
	}
	type row struct {
		body string
		out  any
		want string
	}
	longest := strings.Repeat("az_09", 8)
	table.Each(t, map[string]row{
		"an empty page":          {"", new(page), "unexpected EOF"},
		"an empty envelope":      {"", new(decode.Envelope[page]), "unexpected EOF"},
		"blanks for a page":      {" \n", new(page), "unexpected EOF"},
		"half a page":            {`{"result":true,"things":[{"name":"` + canary, new(page), "unexpected EOF"},
		"a word for an object":   {`{"things":[{"name":"a","size":"` + canary + `"}]}`, new(page), "things"},
		"a word for a list":      {`{"things":"` + canary + `"}`, new(page), "things"},
		"a full list for a row":  {`{"things":[["` + canary + `"]]}`, new(page), "things"},
		"a number too long":      {`{"things":[{"size":40123456789012345678}]}`, new(page), "things"},
		"a web page":             {"<html>" + canary + "</html>", new(page), "is a web page, as of a wrong address"},
		"a web page for nothing": {"<html>" + canary + "</html>", nil, "is a web page, as of a wrong address"},
		"a name of content":      {`{"` + canary + `":{}}`, &map[string]string{}, `"/*"`},
		"a name in upper case":   {`{"A":{}}`, &map[string]string{}, `"/*"`},
		"a name at its longest":  {`{"` + longest + `":{}}`, &map[string]string{}, "/" + longest},
		"a name that is longer":  {`{"` + longest + `a":{}}`, &map[string]string{}, `"/*"`},
		"a struct by value":      {`{"name":"` + canary + `"}`, thing{}, "out must be a pointer"},
		"a nil pointer":          {`{"name":"` + canary + `"}`, (*thing)(nil), "out must be a pointer"},
	}, func(t *testing.T, tc row) {
		err := clientOf(t, answering(200, tc.body)).Call(t.Context(), get(), tc.out)
		if err == nil || !strings.HasPrefix(err.Error(), "fastio: things.Get: ") ||
			!strings.Contains(err.Error(), tc.want) {
			t.Fatalf("the call ends with %v, want an error of things.Get about %s", err, tc.want)
		}
		if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "40123456789") {
			t.Errorf("the error repeats the answer: %v", err)
		}
		if _, ok := errors.AsType[*api.Error](err); ok {
			t.Errorf("%v passes for a refusal", err)
		}
	})
}

// A success whose envelope says otherwise is a refusal, in whatever form it says
// so and whatever shape the rest has.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	type record struct {
		ID string `json:"id"`
	}
	for verdict, refuses := range map[string]bool{
		`true`: false, `"yes"`: false, `"YES"`: false, `"ok"`: false, `"success"`: false, `"true"`: false,
		`"True"`: false, `1`: false, `"1"`: false, `2.5`: false, `-0.5`: false,
		`false`: true, `"no"`: true, `"No"`: true, `"false"`: true, `0`: true, `"partial"`: true, `"duplicate"`: true,
		`null`: true, `""`: true, `[]`: true, `{}`: true, `"error"`: true, `0.0`: true, `"0"`: true,
	} {
		result := `"result":` + verdict
		for _, members := range []string{
			result + `,"name":"a"`, result + `,"name":["of","another","type"]`, result + `,"response":{"name":{}}`,
			`"id":{},` + result,
		} {
			if !refuses && members != result+`,"name":"a"` {
				continue
			}
			body := `{` + members + `,"error":{"code":"10022","text":"Bad limit."}}`
			for kind, out := range map[string]any{
				"plain": new(thing), "envelope": new(decode.Envelope[thing]), "nothing": nil,
				"record": new(decode.Envelope[record]),
			} {
				err := clientOf(t, answering(200, body)).Call(t.Context(), get(), out)
				e := refused(err)
				switch {
				case !refuses && err != nil:
					t.Errorf("%s, %s: %v, want success", kind, body, err)
				case refuses && (e.Status != 200 || e.Code != 10022 || e.Text != "Bad limit."):
					t.Errorf("%s, %s: %v, want a refusal", kind, body, err)
				}
			}
		}
	}
}

// Everything is read that can only mean one thing, and a byte order mark is ignored.
func TestAnotherTypeThanDocumented(t *testing.T) {
	t.Parallel()
	type deep struct {
		Int  int  `json:"int"`
		Flag bool `json:"flag"`
	}
	type values struct {
		Text  string         `json:"text"`
		Flag  bool           `json:"flag"`
		Int   int            `json:"int"`
		Small int8           `json:"small"`
		Uint  uint64         `json:"uint"`
		Float float64        `json:"float"`
		Map   map[string]int `json:"map"`
		Deep  deep           `json:"deep"`
		Far   *deep          `json:"far"`
	}
	for want, bodies := range map[*values][]string{
		{Text: "9223372036854775807123"}: {`{"text":9223372036854775807123}`},
		{Text: "1.50"}:                   {`{"text":1.50}`},
		{Text: "true"}:                   {`{"text":true}`},
		{Flag: true}: {
			`{"flag":"yes"}`, `{"flag":"TRUE"}`, `{"flag":1}`, `{"flag":"1"}`, `{"flag":"On"}`,
		},
		{Int: 1}:                      {`{"flag":"no","int":1}`, `{"flag":"","int":1}`, `{"flag":0,"int":"1"}`},
		{Int: 12}:                     {`{"int":" 12 "}`, `{"int":12.0}`},
		{Small: -128}:                 {`{"small":"-128"}`},
		{Uint: 18446744073709551615}:  {`{"uint":"18446744073709551615"}`},
		{Uint: 7}:                     {`{"uint":7.0}`},
		{Float: 1.5}:                  {`{"float":"1.5"}`},
		{Int: 2}:                      {`{"map":[],"int":"2"}`, `{"deep":[],"int":"2"}`},
		{Map: map[string]int{"a": 2}}: {`{"map":{"a":"2"}}`},
		{Deep: deep{Int: 3}}:          {`{"deep":{"int":"3"}}`},
		{Far: &deep{Flag: true}}:      {`{"far":{"flag":"yes"}}`},
		{}: {
			`{"int":""}`, `{"uint":""}`, `{"float":""}`,
			`{"text":null,"flag":null,"int":null,"map":null,"deep":null,"far":null}`,
		},
		nil: {
			`{"flag":"maybe"}`, `{"flag":2}`, `{"flag":{}}`, `{"int":"twelve"}`, `{"int":1.5}`, `{"int":[]}`,
			`{"small":"128"}`, `{"uint":"-1"}`, `{"float":"a"}`, `{"map":[1]}`, `{"deep":[{}]}`, `{"text":{}}`,
			`{"text":[]}`,
		},
	} {
		for _, body := range bodies {
			for _, answer := range []string{body, "\ufeff" + body, `{"result":"yes","response":` + body + `}`} {
				c, plain := clientOf(t, answering(200, answer)), new(values)
				if err := c.Call(t.Context(), get(), plain); want == nil && err == nil {
					t.Errorf("%s is read, want an error", answer)
				} else if want != nil {
					enveloped, e := call.Payload[values](t.Context(), c, get(), nil)
					if diff := cmp.Diff([]*values{want, want}, []*values{plain, enveloped}); diff != "" ||
						err != nil || e != nil {
						t.Errorf("%s: %v, %v (-want +got):\n%s", answer, err, e, diff)
					}
				}
			}
		}
	}
}

// The second, patient reading must not add to the first.
func TestLenientDecodeStartsFromZero(t *testing.T) {
	t.Parallel()
	type page struct {
		Things []*thing `json:"things"`
	}
	body := `{"result":true,"things":[{"name":"a","new":1},{"name":"b","size":"2"}]}`
	want := &page{[]*thing{
		{Name: "a", Extra: map[string]json.RawMessage{"new": json.RawMessage("1")}},
		{Name: "b", Size: 2},
	}}
	c := clientOf(t, answering(200, body))
	plain := new(page)
	if err := c.Call(t.Context(), get(), plain); err != nil {
		t.Fatal(err)
	}
	enveloped, err := call.Payload[page](t.Context(), c, get(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*page{want, want}, []*page{plain, enveloped}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDriftIsReported(t *testing.T) {
	t.Parallel()
	var got []api.DriftEvent
	client := clientOf(t, answering(200, `{"result":true,"name":"a","newer":1}`), func(c *config) {
		c.Drift = append(c.Drift, func(e api.DriftEvent) { got = append(got, e) })
	})
	for range 2 { // it is reported once
		if _, err := call.Payload[thing](t.Context(), client, get(), nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []api.DriftEvent{{Op: "things.Get", Type: "transport_test.thing", Member: "newer", Kind: api.DriftKindUnknown}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	const ping = "**Result:** success\n\n# status\nok\n\n# timestamp\n1776277035\n\n# service\nfast.io\n"
	network := answering(200, ping, "Content-Type", "text/markdown")
	text, err := clientOf(t, network).Markdown(t.Context(), get(), api.WithOutput(api.Terse))
	query := network.requests()[0].URL.RawQuery
	if err != nil || text != ping || query != "output=terse%2Cmarkdown" {
		t.Errorf("the text is %q for %s, %v", text, query, err)
	}
	for name, body := range map[string]string{
		"is refused by an error in text": "# Error\n\n- **code:** 10545\n- **text:** Not a member.\n",
		"is refused by a failure in text": "**Result:** failure\n\n# Error\n- **code:** 10545\n" +
			"- **text:** Not a member.\n",
		"is refused by a server that knows JSON": `{"result":"no","error":{"code":10545,"text":"Not a member."}}`,
	} {
		for _, status := range []int{200, 403} {
			text, err := clientOf(t, answering(status, body, "Content-Type", "text/markdown")).Markdown(t.Context(), get())
			if e := refused(err); e.Status != status || e.Code != 10545 || e.Text != "Not a member." || text != "" {
				t.Errorf("%s: the call ends with %v and the text %q", name, err, text)
			}
		}
	}
}

// Whatever a server sends, reading it ends with a value or an error.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"result":true,"user":{"id":4012345678901234567,"created":"2026-01-02 03:04:05 UTC"}}`,
		`{"result":"yes","response":{"events":[{"event_id":"2a","actor":[],"template":[]}],` +
			`"pagination":{"has_more":"yes"}}}`,
		`{"result":true,"workspaces":[null,{"capabilities":[]}]}`, `{"result":false}`,
		`{"response":{"response":{"result":false}}}`, `[]`, `"a"`, ``, `{"error":`,
	} {
		f.Add(s, uint16(200))
	}
	f.Fuzz(func(t *testing.T, body string, status uint16) {
		c := clientOf(t, answering(200+int(status)%400, body))
		ctx, mine := t.Context(), events.Query{Profile: api.User(api.Me)}
		for _, err := range []error{
			stub.Err(account.New(c).Me(ctx)), stub.Err(workspaces.New(c).List(ctx, nil)),
			stub.Err(events.New(c, nil).Search(ctx, mine)), stub.Err(events.New(c, nil).Summarize(ctx, mine, "")),
			c.Call(ctx, get(), new(any)), c.Call(ctx, get(), nil),
		} {
			if err != nil && !strings.HasPrefix(err.Error(), "fastio: ") {
				t.Errorf("%q ends in a nameless error: %v", body, err)
			}
		}
	})
}
