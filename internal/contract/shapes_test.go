package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A shape is another form of a response; testdata/README.md of the emulator explains the notation.
type shape struct {
	name  string
	edits []string
}

// readShapes returns the shapes of a golden file by call.
func readShapes(t *testing.T, area string) map[string][]shape {
	t.Helper()
	all, call := map[string][]shape{}, ""
	for line := range strings.Lines(readFile(t, goldenFile(area))) {
		line = strings.TrimSuffix(line, "\n")
		if edit, ok := strings.CutPrefix(line, "\t"); ok {
			last := &all[call][len(all[call])-1]
			last.edits = append(last.edits, edit)
		} else if name, ok := strings.CutPrefix(line, "~ "); ok {
			all[call] = append(all[call], shape{name: name})
		} else if name, ok := entryName(line); ok {
			call = name
		}
	}
	return all
}

// render returns the lines of a shape.
func (s shape) render(changes []string) string {
	lines := []string{"~ " + s.name}
	for _, edit := range s.edits {
		lines = append(lines, "\t"+edit)
	}
	text := strings.Join(lines, "\n") + "\n"
	if len(changes) > 0 {
		text += fill("= ", changes)
	}
	return text
}

// changes lists the changes of a shape in the result of a call.
func (e *exchange) changes(t *testing.T, s shape) []string {
	t.Helper()
	a := answer{e.answer.status, e.answer.header.Clone(), e.answer.body}
	for _, edit := range s.edits {
		a = a.with(t, edit)
	}
	got, _ := e.again(t, a, true)
	was, is := e.result.flat(true), got.flat(true)
	var changes []string
	for _, at := range slices.Sorted(maps.Keys(was)) {
		if _, kept := is[at]; !kept {
			changes = append(changes, "-"+gone(at, is))
		}
	}
	changes = slices.Compact(changes)
	for _, at := range slices.Sorted(maps.Keys(is)) {
		if is[at] != was[at] {
			changes = append(changes, at+":"+is[at])
		}
	}
	return changes
}

// gone returns the outermost path at or around a missing one below which
// nothing is left, "" if the result is an error.
func gone(at string, left map[string]string) string {
	kept := slices.Collect(maps.Keys(left))
	result := func(at string) bool { return !strings.HasPrefix(at, "error") }
	if result(at) && !slices.ContainsFunc(kept, result) {
		return ""
	}
	for i := range len(at) {
		inside := func(other string) bool { return strings.HasPrefix(other, at[:i]) }
		if at[i] == '.' && !slices.ContainsFunc(kept, inside) {
			return at[:i]
		}
	}
	return at
}

// with returns an edited response.
func (a answer) with(t *testing.T, edit string) answer {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s: %v", edit, p)
		}
	}()
	verb, rest, _ := strings.Cut(edit, " ")
	first, second, _ := strings.Cut(rest, " ")
	switch verb {
	case "status":
		a.status, _ = strconv.Atoi(rest)
	case "header":
		a.header.Del(first)
		if second != "" {
			a.header.Set(first, second)
		}
	case "text":
		a.body = []byte(unquote(t, rest))
	case "replace":
		first, _ := strconv.QuotedPrefix(rest)
		before := string(a.body)
		a.body = []byte(strings.ReplaceAll(before, unquote(t, first), unquote(t, strings.TrimSpace(rest[len(first):]))))
		if string(a.body) == before {
			t.Fatalf("%s: the response does not contain it", edit)
		}
	default:
		root, pointers := decode(a.body), []string{first}
		for verb != "mv" && strings.HasPrefix(second, "/") {
			first, second, _ = strings.Cut(second, " ")
			pointers = append(pointers, first)
		}
		for _, at := range pointers {
			for i := range elements(root, at) {
				to := second
				if verb == "mv" {
					to = strings.Replace(second, "*", i, 1)
				}
				root = alter(root, verb, strings.Replace(at, "*", i, 1), to)
			}
		}
		a.body = []byte(encode(root))
	}
	return a
}

func unquote(t *testing.T, text string) string {
	t.Helper()
	s, err := strconv.Unquote(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// elements returns the indexes that the * of a pointer matches.
func elements(root any, p string) map[string]bool {
	before, _, wild := strings.Cut(p, "/*")
	if !wild {
		return map[string]bool{"": true}
	}
	all := map[string]bool{}
	for _, name := range pointer(before) {
		root = root.(map[string]any)[name]
	}
	for i := range root.([]any) {
		all[strconv.Itoa(i)] = true
	}
	return all
}

// alter applies one edit to a JSON value.
func alter(root any, verb, first, second string) any {
	switch verb {
	case "set":
		return put(root, pointer(first), decode([]byte(second)))
	case "rm":
		root, _ = cutMember(root, pointer(first))
		return root
	case "mv":
		root, moved := cutMember(root, pointer(first))
		return put(root, pointer(second), moved)
	case "lift":
		root, object := cutMember(root, pointer(first))
		for name, member := range object.(map[string]any) {
			root = put(root, append(pointer(first[:strings.LastIndex(first, "/")]), name), member)
		}
		return root
	case "nest":
		inner := root.(map[string]any)
		outer := map[string]any{"result": inner["result"], first: inner}
		delete(inner, "result")
		delete(inner, "current_api_version")
		return outer
	default:
		panic("unknown edit " + verb)
	}
}

func decode(text []byte) any {
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic(fmt.Sprintf("%.60s: %v", text, err))
	}
	return v
}

// pointer splits a JSON pointer.
func pointer(p string) []string {
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")[1:]
}

// put sets a member and creates the objects around it.
func put(v any, at []string, member any) any {
	if len(at) == 0 {
		return member
	}
	if list, ok := v.([]any); ok {
		i, err := strconv.Atoi(at[0])
		if err != nil || i > len(list) {
			panic(fmt.Sprint("no element ", at[0]))
		}
		if i == len(list) {
			list = append(list, nil)
		}
		list[i] = put(list[i], at[1:], member)
		return list
	}
	object, ok := v.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	object[at[0]] = put(object[at[0]], at[1:], member)
	return object
}

// cutMember removes a member, which must exist. It returns the rest and the member.
func cutMember(v any, at []string) (left, member any) {
	switch holder := v.(type) {
	case map[string]any:
		inner, ok := holder[at[0]]
		if !ok {
			break
		}
		if len(at) == 1 {
			delete(holder, at[0])
			return holder, inner
		}
		holder[at[0]], member = cutMember(inner, at[1:])
		return holder, member
	case []any:
		i, err := strconv.Atoi(at[0])
		if err != nil || i >= len(holder) {
			break
		}
		if len(at) == 1 {
			return slices.Delete(holder, i, i+1), holder[i]
		}
		holder[i], member = cutMember(holder[i], at[1:])
		return holder, member
	}
	panic("no member " + at[0])
}
