package seedfile

import (
	"bufio"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Write writes a seed file, with an object in each line. It leaves out references to
// objects that are not in the file, and objects that require such a reference.
func Write(w io.Writer, f *seed.File) error {
	all := *f
	copyDeep(reflect.ValueOf(&all).Elem())
	prune(reflect.ValueOf(&all).Elem())
	out := bufio.NewWriter(w)
	objects := json.NewEncoder(out)
	objects.SetEscapeHTML(false)
	lists := 0
	_, _ = out.WriteString("{") // Flush returns the error of all writes
	for field, list := range reflect.ValueOf(all).Fields() {
		if list.Len() == 0 {
			continue
		}
		if lists > 0 {
			_, _ = out.WriteString(",")
		}
		lists++
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		_, _ = out.WriteString("\n\"" + name + "\": [\n")
		for i := range list.Len() {
			if i > 0 {
				_, _ = out.WriteString(",")
			}
			if err := objects.Encode(list.Index(i).Interface()); err != nil {
				return err
			}
		}
		_, _ = out.WriteString("]")
	}
	_, _ = out.WriteString("}\n")
	return out.Flush()
}

// copyDeep replaces the slices and pointers in a value by copies.
func copyDeep(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the others are not changed
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		v.Set(list)
		for i := range v.Len() {
			copyDeep(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			v.Set(p)
			copyDeep(p.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return // its fields are not exported, and never change
		}
		for _, field := range v.Fields() {
			copyDeep(field)
		}
	}
}

// prune removes the references in a file that lead to no object of it, and the objects
// that require such a reference, until there are none.
func prune(file reflect.Value) {
	for removed := true; removed; {
		removed = false
		kinds := map[string]string{}
		eachTaggedText(file, noTag, rootPath, func(v reflect.Value, tag reflect.StructTag, _ string) {
			if kind := tag.Get("id"); kind != "" {
				kinds[plain(v.String())] = kind
			}
		})
		for _, list := range file.Fields() {
			kept := reflect.MakeSlice(list.Type(), 0, list.Len())
			for i := range list.Len() {
				if pruneObject(list.Index(i), kinds) {
					kept = reflect.Append(kept, list.Index(i))
				}
			}
			removed = removed || kept.Len() < list.Len()
			list.Set(kept)
		}
	}
}

// pruneObject removes the references of an object to ids that kinds does not have, and
// returns false if the object requires one of them: a field that is tagged as required, or
// a scope. A reference to any kind of object stays: Read accepts unknown ids there. Empty
// references are not visited.
func pruneObject(object reflect.Value, kinds map[string]string) (isComplete bool) {
	isComplete = true
	eachTaggedText(object, noTag, rootPath, func(v reflect.Value, tag reflect.StructTag, _ string) {
		ref, name := tag.Get("ref"), v.String()
		isScope := ref == "scope"
		if isScope {
			ref, name, _ = splitScope(name)
		}
		isWholeKind := name == "*" // in a scope such as workspace:*:r
		leadsToObject := slices.Contains(strings.Fields(ref), kinds[plain(name)])
		stays := ref == "" || ref == "any" || isWholeKind || leadsToObject
		if stays {
			return
		}
		isRequired := isScope || tag.Get("required") != "" // without scopes, a key has access to everything
		isComplete = isComplete && !isRequired
		v.SetString("")
	})
	removeEmpty(object)
	return isComplete
}

// removeEmpty removes the empty texts from the lists of texts in a struct.
func removeEmpty(v reflect.Value) {
	for _, field := range v.Fields() {
		switch list := field.Addr().Interface().(type) {
		case *[]string:
			*list = slices.DeleteFunc(*list, func(text string) bool { return text == "" })
		case *seed.AIPolicy:
			removeEmpty(field)
		}
	}
}
