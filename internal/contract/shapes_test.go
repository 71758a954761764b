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

	"github.com/fastio-go/fastio/internal/emulator/edit"
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
func (a answer) with(t *testing.T, text string) answer {
	t.Helper()
	e, err := edit.Parse(text)
	r := edit.Response{Status: a.status, Header: a.header, Body: a.body}
	if err == nil {
		err = e.Apply(&r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answer{r.Status, r.Header, r.Body}
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
