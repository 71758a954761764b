package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio"
	"github.com/fastio-go/fastio/internal/table"
)

// Every value of every response is replaced by values that the platform, or a
// later version, may send instead. None of them fails the decoding, unless the
// response requires the value, and no list holds a nil record. A response of
// the calls in readable can be decoded whatever its value is, wrapped or not,
// and its unknown members are kept.
func TestMutatedResponsesAreDecoded(t *testing.T) {
	t.Parallel()
	table.Large(t)
	left := slices.Clone(readable)
	for area, calls := range live(t) {
		left = slices.DeleteFunc(left, func(name string) bool {
			return slices.ContainsFunc(calls, func(e *exchange) bool { return e.name == name && e.decoded() })
		})
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { mutate(t, calls) })
		})
	}
	if len(left) > 0 {
		t.Errorf("no calls are named %v", left)
	}
}

func mutate(t *testing.T, calls []*exchange) {
	t.Helper()
	var body []byte
	client := overNetwork(t, func(r *http.Request) (*http.Response, error) {
		return answer{http.StatusOK, http.Header{"Content-Type": {"application/json"}}, body}.response(r), nil
	}, fastio.WithToken("token"))
	for _, e := range calls {
		if !e.decoded() {
			continue
		}
		all, strict := mutations(e.answer.body), slices.Contains(readable, e.name)
		if strict {
			all = append(all, mutations([]byte(encode(wrapped(decode(e.answer.body).(map[string]any)))))...)
		}
		for _, m := range all {
			body = m.body
			w := e.before
			value, err := e.do(call{t.Context(), client, &w})
			if _, failed := errors.AsType[*jsonv2.SemanticError](err); failed && !m.mayFail {
				t.Errorf("%s with %s: %v", e.name, m.what, err)
			} else if where := nilRecord(reflect.ValueOf(value)); where != "" && err == nil {
				t.Errorf("%s with %s: a nil record at %s", e.name, m.what, where)
			}
			if strict && !m.mayFail && !m.frame() {
				m.check(t, e.name, value, err)
			}
		}
	}
}

// readable are calls whose responses can be decoded whatever a single value is.
var readable = []string{
	"system.Ping", "system.Status", "account.Me", "orgs.List", "orgs.ListExternal",
	"workspaces.List", "workspaces.ListByOrg", "workspaces.Get",
	"events.Search", "events.Get", "events.Summarize", "events.Changes",
}

// frame reports whether a mutation changes the envelope.
func (m mutation) frame() bool {
	return len(m.at) == 1 && (m.at[0] == "response" || m.at[0] == "current_api_version")
}

// check requires that a response with m is decoded, unless m removes its record,
// and that an unknown member is kept. Pages and envelopes do not keep one.
func (m mutation) check(t *testing.T, name string, value any, err error) {
	t.Helper()
	if err != nil && !strings.HasSuffix(err.Error(), "the response holds no "+m.at[len(m.at)-1]) {
		t.Errorf("%s with %s: %v", name, m.what, err)
	}
	frames := []string{"pagination", "template", "profiles", "changes", "summary", "capabilities", "categories"}
	closed := func(name string) bool { return slices.Contains(frames, name) }
	if !m.newer || slices.ContainsFunc(m.at, closed) {
		return
	}
	if left, err := jsonv2.Marshal(value); err != nil || !bytes.Contains(left, []byte(unknownMember)) {
		t.Errorf("%s with %s: the member is lost, %v: %s", name, m.what, err, left)
	}
}

// decoded reports whether a call succeeded with a decoded response.
func (e *exchange) decoded() bool {
	object := bytes.HasPrefix(e.answer.body, []byte("{"))
	return e.answer.status == http.StatusOK && object && e.op != "system.Introspect"
}

// mutation is a response with another value in one place.
type mutation struct {
	at      []string
	what    string
	body    []byte
	mayFail bool // the response requires the value
	newer   bool // an object has an unknown member
}

// required are the members that a response may require.
var required = []string{"has_more", "next_cursor", "cursor", "next_offset", "lastactivity", "id", "fileshare"}

// mutations returns a response with each of its values replaced.
func mutations(body []byte) (all []mutation) {
	eachValue(body, func(at []string, v any, inRow bool) { all = append(all, mutationsAt(body, at, v, inRow)...) })
	return all
}

// newer returns a response with an unknown member in each of its objects.
func newer(body []byte) (all []mutation) {
	eachValue(body, func(at []string, v any, _ bool) {
		if v, ok := v.(map[string]any); ok {
			all = append(all, newerAt(body, at, v))
		}
	})
	return all
}

// eachValue calls f with each value of a response, except for its verdict.
func eachValue(body []byte, f func(at []string, v any, inRow bool)) {
	var visit func(at []string, v any, inRow bool)
	visit = func(at []string, v any, inRow bool) {
		if len(at) > 1 || len(at) == 1 && !strings.HasPrefix(at[0], "result") {
			f(at, v, inRow)
		}
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				visit(append(slices.Clip(at), name), member, inRow)
			}
		case []any:
			for i, elem := range v {
				visit(append(slices.Clip(at), strconv.Itoa(i)), elem, true)
			}
		}
	}
	visit(nil, decode(body), false)
}

// newerAt adds an unknown member to the object v of a response.
func newerAt(body []byte, at []string, v map[string]any) mutation {
	object := maps.Clone(v)
	object[unknownMember] = map[string]any{"id": json.Number("4012345678901234567"), "a": []any{nil}}
	return mutation{
		at: at, what: fmt.Sprintf("%.60s for %s", encode(object), strings.Join(at, "/")),
		body:    []byte(encode(put(decode(body), at, object))),
		mayFail: len(v) == 0, // an empty list may be a map of another type
		newer:   true,
	}
}

// mutationsAt replaces the value v of a response.
func mutationsAt(body []byte, at []string, v any, inRow bool) []mutation {
	var all []mutation
	last := at[len(at)-1]
	id := slices.Contains(required, last) || strings.HasSuffix(last, "_id")
	replace := func(mayFail bool, values ...any) {
		for _, value := range values {
			text := encode(put(decode(body), at, value))
			what := fmt.Sprintf("%.60s for %s", encode(value), strings.Join(at, "/"))
			all = append(all, mutation{at, what, []byte(text), mayFail, false})
		}
	}
	object, empty := map[string]any{"a": 1}, []any{}
	replace(false, nil)
	if _, err := strconv.Atoi(last); err != nil { // another name: a missing and an unknown member
		root, member := cutMember(decode(body), at)
		root = put(root, append(slices.Clip(at[:len(at)-1]), last+"_new"), member)
		all = append(all, mutation{at, "no " + last, []byte(encode(root)), false, false})
	}
	switch v := v.(type) {
	case map[string]any:
		replace(false, empty)
		all = append(all, newerAt(body, at, v))
		replace(true, "text", []any{nil})
	case []any:
		replace(false, empty)
		replace(len(v) == 0, []any{nil}) // it may stand for an empty map
		if len(v) > 0 {
			replace(false, slices.Concat([]any{nil}, v, []any{nil}))
		}
		replace(!inRow, "text", 5)
	case string:
		replace(false, "never-heard-of", "", json.Number("4012345678901234567"), true)
		replace(id, object, []any{1})
	case json.Number:
		replace(false, v.String())
		replace(id, "many", object, empty, -1.5)
	case bool:
		replace(false, "yes", "no", 1, 0, "1", "true", "")
		replace(id, "perhaps", object, empty)
	default: // null may stand for any type
		replace(true, "text", 1, true, object, []any{1})
	}
	return all
}

// nilRecord returns the path of a nil pointer in a list or map.
func nilRecord(v reflect.Value) (where string) {
	walk(v, "", func(at string, v reflect.Value) {
		if v.Kind() == reflect.Pointer && v.IsNil() && strings.HasSuffix(at, "]") {
			where = at
		}
	})
	return where
}

// walk calls f with all values inside a value and their paths.
func walk(v reflect.Value, at string, f func(at string, v reflect.Value)) {
	f(at, v)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), at, f)
		}
	case reflect.Struct:
		for field, inner := range v.Fields() {
			if field.IsExported() {
				walk(inner, at+"."+field.Name, f)
			}
		}
	case reflect.Slice, reflect.Map:
		for i, elem := range v.Seq2() {
			if elem.Kind() != reflect.Uint8 {
				walk(elem, fmt.Sprintf("%s[%v]", at, i), f)
			}
		}
	default:
	}
}
