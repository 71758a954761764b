package contract_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fastio-go/fastio/internal/emulator/edit"
	"github.com/fastio-go/fastio/internal/table"
)

// An alteration is a form that any response may have.
type alteration struct {
	name   string
	change func(body map[string]any) any // nil if the response has no such form
}

func alterations() []alteration {
	return []alteration{
		{"wrapped", wrapped},
		{"list under response", listUnderResponse},
		{"numeric ids", each(func(_ string, v any) any {
			if text, ok := v.(string); ok && regexp.MustCompile(`^[1-9]\d{14,18}$`).MatchString(text) {
				return json.Number(text)
			}
			return v
		})},
		{"numbers as text", each(func(_ string, v any) any {
			if n, ok := v.(json.Number); ok {
				return n.String()
			}
			return v
		})},
		{"yes and no", booleans("yes", "no")},
		{"1 and 0", booleans(json.Number("1"), json.Number("0"))},
		{"true and false as text", booleans("true", "false")},
		{"no nulls", each(func(_ string, v any) any {
			if object, ok := v.(map[string]any); ok {
				maps.DeleteFunc(object, func(_ string, member any) bool { return member == nil })
			}
			return v
		})},
		{"empty lists and maps null", each(func(_ string, v any) any {
			if isEmpty(v) {
				return nil
			}
			return v
		})},
		{"empty maps as lists", each(func(_ string, v any) any {
			if object, ok := v.(map[string]any); ok && len(object) == 0 {
				return []any{}
			}
			return v
		})},
		{"unknown members", each(func(name string, v any) any {
			if object, ok := v.(map[string]any); ok && name != "files" { // keyed by ID
				object[unknownMember] = map[string]any{"a": []any{nil}}
			}
			return v
		})},
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// wrapped moves the payload into response.
func wrapped(body map[string]any) any {
	if body["result"] != true {
		return nil
	}
	outer := map[string]any{"result": "yes", "current_api_version": body["current_api_version"]}
	delete(body, "result")
	delete(body, "current_api_version")
	outer["response"] = body
	return outer
}

// listUnderResponse moves a payload that is one list into response.
func listUnderResponse(body map[string]any) any {
	if body["result"] != true {
		return nil
	}
	var lists []any
	for name, member := range body {
		if list, ok := member.([]any); ok {
			lists = append(lists, list)
		} else if !slices.Contains([]string{"result", "status", "current_api_version", "results", "count"}, name) {
			return nil
		}
	}
	if len(lists) != 1 {
		return nil
	}
	return map[string]any{"result": true, "response": lists[0]}
}

func booleans(yes, no any) func(body map[string]any) any {
	return each(func(name string, v any) any {
		if b, ok := v.(bool); ok {
			if b {
				return yes
			}
			return no
		}
		return v
	})
}

// kept are members whose values are the caller's, or are not decoded.
var kept = []string{"properties", "owner_defined"}

// each replaces every value inside a response, innermost first.
func each(replace func(name string, v any) any) func(body map[string]any) any {
	var visit func(name string, v any) any
	visit = func(name string, v any) any {
		if slices.Contains(kept, name) {
			return v
		}
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				v[name] = visit(name, member)
			}
		case []any:
			for i, member := range v {
				v[i] = visit(name, member)
			}
		}
		return replace(name, v)
	}
	return func(body map[string]any) any {
		for name, member := range body {
			body[name] = visit(name, member)
		}
		return body
	}
}

// exceptions are forms that a response cannot have, or that have another meaning.
var exceptions = map[string]string{
	"search.Files":                             "the order of the members of files is the rank",
	"system.Introspect":                        "it returns its answer as it is",
	"account.Profiles list under response":     "its one list is not its payload",
	"orgs.Industries list under response":      "its list is not one of records",
	"howto.Ask#2 list under response":          "its one list is not its payload",
	"oauth.TokenScopes yes and no":             "only true itself makes an admin",
	"oauth.TokenScopes 1 and 0":                "only true itself makes an admin",
	"oauth.TokenScopes true and false as text": "only true itself makes an admin",
	"shares.ListOwned no nulls":                "null inherits, and nothing is unknown",
	"uploads.Algorithms list under response":   "its list is not one of records",
	"metadata.Versions list under response":    "its list is not one of records",
}

// A response in any of the alterations decodes to the same result.
func TestShapesDecodeToTheSame(t *testing.T) {
	t.Parallel()
	table.Large(t)
	for area, calls := range live(t) {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			for _, e := range calls {
				if !bytes.HasPrefix(e.answer.body, []byte("{")) || exceptions[e.name] != "" {
					continue
				}
				want := e.result.flat(false)
				for _, alter := range alterations() {
					body := alter.change(decode(e.answer.body).(map[string]any))
					if body == nil || exceptions[e.name+" "+alter.name] != "" {
						continue
					}
					got, _ := e.again(t, answer{e.answer.status, e.answer.header, []byte(encode(body))}, true)
					if diff := cmp.Diff(want, got.flat(false)); diff != "" {
						t.Errorf("%s with %s (-want +got):\n%s", e.name, alter.name, diff)
					}
				}
			}
		})
	}
}

// The page that explains the notations quotes the golden files, and has every edit.
func TestGoldensAreExplained(t *testing.T) {
	t.Parallel()
	page := readFile(t, root+"/internal/emulator/testdata/README.md")
	for _, part := range strings.Split(page, "```golden\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		area, _, _ := strings.Cut(example, ".")
		if !strings.Contains(readFile(t, goldenFile(area)), example) {
			t.Errorf("%s does not have the example\n%s", goldenFile(area), example)
		}
	}
	for _, verb := range edit.Verbs() {
		if !strings.Contains(page, "`"+verb+" ") {
			t.Errorf("README.md does not explain %s", verb)
		}
	}
}
