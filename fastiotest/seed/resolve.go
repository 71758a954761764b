package seed

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Read reads a seed file and replaces its labels by ids from newID, which gets
// the kind of the object: user, org, workspace, share, file_share, node, and so
// on.
func Read(r io.Reader, newID func(kind string) string) (*File, error) {
	var f File
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("seed file: %w", err)
	}
	l := labels{ids: map[string]string{}}
	walk(reflect.ValueOf(&f).Elem(), "", func(v reflect.Value, tag reflect.StructTag, _ string) {
		if kind := tag.Get("id"); kind != "" && v.String() != "" && !isID(v.String()) {
			label := v.String()
			v.SetString(newID(kind))
			l.ids[label] = v.String()
		}
	})
	walk(reflect.ValueOf(&f).Elem(), "", l.replace)
	return &f, l.err
}

// walk calls visit for every text below v, with the tag of its field and its
// path.
func walk(v reflect.Value, path string, visit func(v reflect.Value, tag reflect.StructTag, path string)) {
	walkField(v, "", path, visit)
}

func walkField(v reflect.Value, tag reflect.StructTag, path string, visit func(reflect.Value, reflect.StructTag, string)) {
	switch v.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		visit(v, tag, path)
	case reflect.Pointer:
		if !v.IsNil() {
			walkField(v.Elem(), tag, path, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkField(v.Index(i), tag, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				walkField(value, field.Tag, strings.TrimPrefix(path+"."+field.Tag.Get("json"), "."), visit)
			}
		}
	}
}

type labels struct {
	ids map[string]string
	err error
}

// replace replaces the label in a reference.
func (l *labels) replace(v reflect.Value, tag reflect.StructTag, path string) {
	kinds, text := tag.Get("ref"), v.String()
	before, label, after := "", text, ""
	if kinds == "scope" {
		before, after, _ = strings.Cut(text, ":")
		label, after, _ = strings.Cut(after, ":")
		before, after = before+":", ":"+after
	}
	if kinds == "" || label == "" || label == "*" {
		return
	}
	if id := l.ids[label]; id != "" {
		v.SetString(before + id + after)
	} else if !isID(label) && l.err == nil {
		l.err = fmt.Errorf("seed file: %s: no object has the label %q", path, label)
	}
}

// isID reports whether text has the form of an id, as opposed to a label.
func isID(text string) bool {
	plain := strings.ToLower(strings.ReplaceAll(text, "-", ""))
	return len(plain) == 19 && strings.Trim(plain, "0123456789") == "" ||
		(len(plain) == 29 || len(plain) == 30) && strings.Trim(plain, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}
