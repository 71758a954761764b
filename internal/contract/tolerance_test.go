package contract_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio"
)

// Every value of every answer is replaced by what the platform, or a newer one,
// may send in its place. Nothing of that fails a decode, except where the answer
// makes no sense without the value, and no list holds a nil record. An answer of
// the calls in readable can be read whatever its value is, wrapped or not, and
// newer members of it are kept.
func TestMutatedAnswersAreDecoded(t *testing.T) {
	t.Parallel()
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
			if _, failed := errors.AsType[*json.SemanticError](err); failed && !m.mayFail {
				t.Errorf("%s with %s: %v", e.name, m.what, err)
			} else if where := nilRecord(reflect.ValueOf(value), ""); where != "" && err == nil {
				t.Errorf("%s with %s: a nil record at %s", e.name, m.what, where)
			}
			if strict && !m.mayFail && !m.frame() {
				m.check(t, e.name, value, err)
			}
		}
	}
}

// readable are calls whose answers can be read whatever a single value is.
var readable = []string{
	"system.Ping", "system.Status", "account.Me", "account.Orgs.List", "account.Orgs.ListExternal",
	"account.Workspaces.List", "account.Workspaces.ListByOrg", "account.Workspaces.Get",
	"events.Search", "events.Get", "events.Summarize", "events.Changes",
}

// frame reports whether a mutation is of the envelope.
func (m mutation) frame() bool { return m.at == "/response" || m.at == "/current_api_version" }

// check requires that an answer is read in spite of m, unless m takes its record,
// and that a newer member is kept. Pages and their frames have no place for one.
func (m mutation) check(t *testing.T, name string, value any, err error) {
	t.Helper()
	if err != nil && !strings.HasSuffix(err.Error(), "the answer holds no "+m.at.LastToken()) {
		t.Errorf("%s with %s: %v", name, m.what, err)
	}
	closed := func(frame string) bool { return strings.Contains(string(m.at), frame) }
	frames := []string{"/pagination", "/template", "/profiles", "/changes", "/summary", "/capabilities", "/categories"}
	if !m.newer || slices.ContainsFunc(frames, closed) {
		return
	}
	if left, err := json.Marshal(value); err != nil || !bytes.Contains(left, []byte(unknownMember)) {
		t.Errorf("%s with %s: the member is lost, %v: %s", name, m.what, err, left)
	}
}

// decoded reports whether a call succeeded and returns its decoded answer.
func (e *exchange) decoded() bool {
	object := bytes.HasPrefix(e.answer.body, []byte("{"))
	return e.answer.status == http.StatusOK && object && e.op != "system.Introspect"
}

// mutation is an answer with another value in one place.
type mutation struct {
	at      jsontext.Pointer
	what    string
	body    []byte
	mayFail bool // the answer makes no sense without the value that was there
	newer   bool // an object has a member more
}

// span is where a value stands in a text.
type span struct {
	at         jsontext.Pointer
	kind       jsontext.Kind
	start, end int64
	name       int64 // where the name of the member ends; 0 for an element
	inRow      bool
}

// spans lists the values of a JSON text.
func spans(body []byte) []span {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	var all []span
	token := func() {
		if _, err := dec.ReadToken(); err != nil {
			panic(err)
		}
	}
	var read func(name int64, inRow bool)
	read = func(name int64, inRow bool) {
		s := span{kind: dec.PeekKind(), name: name, inRow: inRow}
		if s.kind != '{' && s.kind != '[' {
			v, err := dec.ReadValue()
			if err != nil {
				panic(err)
			}
			s.at, s.end = dec.StackPointer(), dec.InputOffset()
			s.start = s.end - int64(len(v))
			all = append(all, s)
			return
		}
		token()
		s.at, s.start = dec.StackPointer(), dec.InputOffset()-1
		i := len(all)
		all = append(all, s)
		for k := dec.PeekKind(); k != '}' && k != ']'; k = dec.PeekKind() {
			if s.kind == '[' {
				read(0, true)
				continue
			}
			token()
			read(dec.InputOffset(), inRow)
		}
		token()
		all[i].end = dec.InputOffset()
	}
	read(0, false)
	return all
}

// required are the members that an answer may make no sense without.
var required = []string{"has_more", "next_cursor", "cursor", "next_offset", "lastactivity"}

// newer begins an object with a member that is unknown.
const newer = `{"` + unknownMember + `":{"id":4012345678901234567,"a":[null]}`

// mutations returns an answer with each of its values replaced.
func mutations(body []byte) []mutation {
	var all []mutation
	for _, s := range spans(body) {
		if s.at == "" || strings.HasPrefix(string(s.at), "/result") && strings.Count(string(s.at), "/") == 1 {
			continue
		}
		last := s.at.LastToken()
		replace := func(by string, mayFail bool) {
			text := slices.Concat(body[:s.start], []byte(by), body[s.end:])
			newer := strings.HasPrefix(by, newer)
			all = append(all, mutation{s.at, fmt.Sprintf("%.60s for %s", by, s.at), text, mayFail, newer})
		}
		id := slices.Contains(required, last) || last == "id" || last == "fileshare" || strings.HasSuffix(last, "_id")
		old := string(body[s.start:s.end])
		replace("null", false)
		if s.name > 0 { // another name: the member is missing, and there is an unknown one
			text := slices.Concat(body[:s.name-1], []byte(`_new"`), body[s.name:])
			all = append(all, mutation{s.at, "no " + string(s.at), text, false, false})
		}
		switch s.kind {
		case '{':
			replace("[]", false)
			if rest := strings.TrimSpace(old[1 : len(old)-1]); rest == "" {
				replace(newer+"}", true) // which may be a map of another type
			} else {
				replace(newer+","+rest+"}", false)
			}
			replace(`"text"`, true)
			replace(`[null]`, true)
		case '[':
			rest := strings.TrimSpace(old[1 : len(old)-1])
			replace("[]", false)
			replace("[null]", rest == "") // which may stand for an empty map
			if rest != "" {
				replace("[null,"+rest+",null]", false)
			}
			replace(`"text"`, !s.inRow)
			replace(`5`, !s.inRow)
		case '"':
			replace(`"never-heard-of"`, false)
			replace(`""`, false)
			replace(`4012345678901234567`, false)
			replace(`{"a":1}`, id)
			replace(`[1]`, id)
			replace(`true`, false)
		case '0':
			replace(`"`+old+`"`, false)
			replace(`"many"`, id)
			replace(`{"a":1}`, id)
			replace(`[]`, id)
			replace(`-1.5`, id)
		case 't', 'f':
			for _, word := range []string{`"yes"`, `"no"`, `1`, `0`, `"1"`, `"true"`, `""`} {
				replace(word, false)
			}
			replace(`"perhaps"`, id)
			replace(`{"a":1}`, id)
			replace(`[]`, id)
		default: // null, in place of which there may be anything
			for _, value := range []string{`"text"`, `1`, `true`, `{"a":1}`, `[1]`} {
				replace(value, true)
			}
		}
	}
	return all
}

// nilRecord returns where a value holds a nil pointer in a list or map.
func nilRecord(v reflect.Value, at string) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return nilRecord(v.Elem(), at)
		}
	case reflect.Struct:
		for f := range v.Type().Fields() {
			if f.IsExported() {
				if where := nilRecord(v.FieldByIndex(f.Index), at+"."+f.Name); where != "" {
					return where
				}
			}
		}
	case reflect.Slice, reflect.Map:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return ""
		}
		for i, elem := range v.Seq2() {
			where := at + "[" + fmt.Sprint(i.Interface()) + "]"
			if elem.Kind() == reflect.Pointer && elem.IsNil() {
				return where
			}
			if where := nilRecord(elem, where); where != "" {
				return where
			}
		}
	default:
	}
	return ""
}
