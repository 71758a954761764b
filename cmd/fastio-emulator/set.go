package main

import (
	"cmp"
	_ "embed" // for explanations
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
)

//go:generate go run ./gen ../../fastiotest/seed/options.go options.txt

// explanations has a line for each name for -set: the name, a tab and what it does.
//
//go:embed options.txt
var explanations string

// setOption changes the field of *target that a setting names, as in
// OAuth.RotateRefreshTokens=true. Case, - and _ in names do not matter.
func setOption(target any, setting string) error {
	name, text, found := strings.Cut(setting, "=")
	if !found {
		return fmt.Errorf("%q is not name=value", setting)
	}
	v, tag, found := field(reflect.ValueOf(target).Elem(), strings.TrimSpace(name))
	if !found {
		return fmt.Errorf("unknown name, the nearest are %s", strings.Join(nearest(names(target), name), ", "))
	}
	return assignText(v, tag, text)
}

// field returns the field of a struct by its path, such as OAuth.RotateRefreshTokens, with
// its tag, and creates missing structs on the way. Case, - and _ do not matter. It returns
// false if there is none.
func field(v reflect.Value, path string) (value reflect.Value, tag reflect.StructTag, found bool) {
	for part := range strings.SplitSeq(path, ".") {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = reflect.Indirect(v)
		if v.Kind() != reflect.Struct {
			return v, tag, false
		}
		f, found := v.Type().FieldByNameFunc(func(name string) bool { return fold(name) == fold(part) })
		if !found {
			return v, tag, false
		}
		v, tag = v.FieldByIndex(f.Index), f.Tag
	}
	return v, tag, true
}

// fold returns a name without case, - and _, which do not matter.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// names lists the fields of *target, and those of structs in it.
func names(target any) []string {
	var list []string
	var visit func(t reflect.Type, path string)
	visit = func(t reflect.Type, path string) {
		for f := range t.Fields() {
			if f.Type.Kind() == reflect.Struct {
				visit(f.Type, path+f.Name+".")
			} else {
				list = append(list, path+f.Name)
			}
		}
	}
	visit(reflect.TypeOf(target).Elem(), "")
	return list
}

// nearest returns the three of names that are most similar to name, as whole paths or in their last parts.
func nearest(names []string, name string) []string {
	last := func(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
	far := func(other string) int { // how many letters differ, of the whole paths or the last parts
		return min(distance(fold(name), fold(other)), distance(fold(last(name)), fold(last(other))))
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(far(a), far(b)) })
	return names[:min(3, len(names))]
}

// distance returns the edit distance of two words: how many letters must be changed,
// added or removed to get from one to the other.
func distance(a, b string) int {
	before := make([]int, len(b)+1) // [j] is the distance of a[:i] and b[:j]
	for j := range before {
		before[j] = j
	}
	for i := range len(a) {
		with := make([]int, len(b)+1) // [j] is the distance of a[:i+1] and b[:j]
		with[0] = i + 1
		for j := range len(b) {
			changed, removed, added := before[j], before[j+1]+1, with[j]+1
			if a[i] != b[j] {
				changed++
			}
			with[j+1] = min(changed, removed, added)
		}
		before = with
	}
	return before[len(b)]
}

const noTag reflect.StructTag = "" // of a value that is not a field

// assignText parses text as the type of v, and sets v. Lists and structs are given as
// JSON, a list of texts also as words with commas between them. The tag of the field
// has the allowed texts (enum).
func assignText(v reflect.Value, tag reflect.StructTag, text string) error {
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		d, err := time.ParseDuration(text)
		*to = d
		return wantedError(err, text, "a duration such as 1m30s")
	case *func() time.Time: // the clock of the emulator
		first, err := time.Parse(time.RFC3339, text)
		ahead := time.Until(first)
		*to = func() time.Time { return time.Now().Add(ahead) }
		return wantedError(err, text, "a time such as 2026-01-31T12:00:00Z, from which the clock goes on")
	case *http.RoundTripper:
		*to = http.NewFileTransport(http.Dir(text)) // files of a directory answer instead of the network
		return nil
	case *map[string]string:
		return wantedError(json.Unmarshal([]byte(text), to), text, `a JSON object of texts such as {"a": "b"}`)
	}
	want := "true or false" // of a bool; other kinds replace it
	switch v.Kind() {       //nolint:exhaustive // options have only these kinds
	case reflect.String:
		allowed := strings.Split(tag.Get("enum"), "|")
		if allowed[0] != "" && !slices.Contains(allowed, text) {
			return fmt.Errorf("got %q, want one of %s", text, strings.Join(allowed, ", "))
		}
		v.SetString(text)
		return nil
	case reflect.Slice, reflect.Struct, reflect.Pointer:
		var tree any
		err := json.Unmarshal([]byte(text), &tree)
		if err != nil && v.Type() == reflect.TypeFor[[]string]() {
			tree, err = items(text), nil
		}
		if err != nil {
			return wantedError(err, text, "JSON")
		}
		return fill(v, tag, tree)
	case reflect.Int, reflect.Int64:
		want = "a whole number"
	case reflect.Uint64:
		want = "a whole number of 0 or more"
	case reflect.Float64:
		want = "a number"
	}
	return wantedError(json.Unmarshal([]byte(text), v.Addr().Interface()), text, want)
}

// wantedError replaces the error of a parser, if there is one, with the text that it
// got and what was wanted.
func wantedError(err error, text, want string) error {
	if err != nil {
		return fmt.Errorf("got %q, want %s", text, want)
	}
	return nil
}

// items splits a text at its commas and trims the parts.
func items(text string) []any {
	var list []any
	for item := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(item))
	}
	return list
}

// fill sets v to a decoded JSON value. A member of an object has the name of a field, in
// any case and with any - and _ in it. The tag is that of the field, for assignText. A
// value that does not fit the type of v is left to package json, whose error says so.
func fill(v reflect.Value, tag reflect.StructTag, tree any) error {
	list, isList := tree.([]any)
	members, isObject := tree.(map[string]any)
	text, isText := tree.(string)
	switch {
	case isList && v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, item := range list {
			if err := fill(v.Index(i), tag, item); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	case isObject && (v.Kind() == reflect.Struct || v.Kind() == reflect.Pointer):
		for name, member := range members {
			f, tag, found := field(v, name)
			if !found {
				return fmt.Errorf("unknown name %q", name)
			}
			if err := fill(f, tag, member); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case isText && v.Kind() != reflect.Slice: // a list as text is for the command line only
		return assignText(v, tag, text)
	}
	plain, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return wantedError(json.Unmarshal(plain, v.Addr().Interface()), string(plain), "a value for "+v.Type().String())
}
