package contract_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

// places returns a pointer to every value inside v.
func places(v any, at string) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, at+"/"+name), places(v[name], at+"/"+name)...)
		}
	case []any:
		for i := range v {
			p := fmt.Sprint(at, "/", i)
			all = append(append(all, p), places(v[i], p)...)
		}
	}
	return all
}

// variations are what may stand at a place in an answer of a newer, older or
// sloppier platform.
func variations(body []byte, at string) map[string]any {
	vary := func(change func(root any) any) any { return change(decode(body)) }
	_, v := take(decode(body), pointer(at))
	all := map[string]any{
		"missing": vary(func(root any) any { left, _ := take(root, pointer(at)); return left }),
		"null":    vary(func(root any) any { return put(root, pointer(at), nil) }),
	}
	switch v := v.(type) {
	case string:
		if _, err := api.ParseTime(v); err != nil || v == "" {
			all["another word"] = vary(func(root any) any { return put(root, pointer(at), "zz_newer_word") })
		}
	case map[string]any:
		all["an empty list"] = vary(func(root any) any { return put(root, pointer(at), []any{}) })
		newer := map[string]any{"id": stdjson.Number("4012345678901234567"), "list": []any{nil, "a"}}
		if !strings.HasSuffix(at, "/capabilities") && !strings.HasSuffix(at, "/categories") { // maps of one type
			all["a newer member"] = vary(func(root any) any { return put(root, append(pointer(at), unknownMember), newer) })
		}
	case []any:
		all["an empty list"] = vary(func(root any) any { return put(root, pointer(at), []any{}) })
	}
	return all
}

// keepsNewer reports whether unknown members are kept of the object at a place.
// Pages and their frames have no place for them.
func keepsNewer(at string) bool {
	return !slices.ContainsFunc([]string{"/pagination", "/template", "/profiles", "/changes", "/summary"},
		func(frame string) bool { return strings.Contains(at, frame) })
}

// No single value of an answer can make it unreadable.
func TestAnswersMayVary(t *testing.T) {
	t.Parallel()
	calls := []string{
		"system.Ping", "system.Status", "account.Me", "account.Orgs.List", "account.Orgs.ListExternal",
		"account.Workspaces.List", "account.Workspaces.ListByOrg", "account.Workspaces.Get",
		"events.Search", "events.Get", "events.Summarize", "events.Changes",
	}
	found := 0
	for _, exchanges := range live(t) {
		for _, e := range exchanges {
			if !slices.Contains(calls, e.name) {
				continue
			}
			found++
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				e.vary(t, e.answer.body)
				e.vary(t, []byte(encode(wrapped(decode(e.answer.body).(map[string]any)))))
			})
		}
	}
	if found != len(calls) {
		t.Errorf("%d of %d calls", found, len(calls))
	}
}

// vary reads every variation of an answer.
func (e *exchange) vary(t *testing.T, body []byte) {
	t.Helper()
	for _, at := range places(decode(body), "") {
		if at == "/result" || at == "/response" || at == "/current_api_version" {
			continue
		}
		for kind, root := range variations(body, at) {
			got, _ := e.again(t, answer{e.answer.status, e.answer.header, []byte(encode(root))}, true)
			record := at[strings.LastIndex(at, "/")+1:]
			if got.err != nil && !strings.HasSuffix(got.err.Error(), "the answer holds no "+record) {
				t.Errorf("%s at %s: %v", kind, at, got.err)
			}
			if kind != "a newer member" || !keepsNewer(at) {
				continue
			}
			if left, err := json.Marshal(got.value); err != nil || !bytes.Contains(left, []byte(unknownMember)) {
				t.Errorf("%s at %s is lost, %v: %s", kind, at, err, left)
			}
		}
	}
}
