package decode

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
)

const (
	maxRows   = 10_000 // if the call requests no number
	spareRows = 1_000  // beyond those requested: no page of any list is larger
)

// Nulls says what becomes of null elements of lists and maps.
type Nulls bool

// The choices: records of responses are never nil, lists of the program keep their length.
const (
	DropNulls Nulls = true
	KeepNulls Nulls = false
)

// Finish completes the decoded value at a pointer: see [shape.finish]. It returns an
// error if the value is a page with too many rows: spareRows more than r requests, or
// maxRows if r requests no number. With a nil r it accepts any number, and always succeeds.
func Finish(r *api.Request, pointer any, nulls Nulls) error {
	v := reflect.ValueOf(pointer).Elem()
	t := v.Type()
	found, known := shapes.Load(t)
	if !known {
		found = newShape(t, map[reflect.Type]*shape{}) // none seen yet
		shapes.Store(t, found)
	}
	s, _ := found.(*shape)
	rows := s.finish(v, nulls)
	if r == nil || rows == 0 {
		return nil
	}
	bound := maxRows
	if n := requestedRows(r.Query); n > 0 {
		bound = n + spareRows
	}
	if rows > bound {
		return fmt.Errorf("fastio: %s: %w: a page of %d rows, at most %d are read", r.Op, api.ErrTooLarge, rows, bound)
	}
	return nil
}

// requestedRows returns the number of rows that a query requests, 0 if it requests none:
// the largest of its parameters whose names end with limit or page_size.
func requestedRows(q url.Values) int {
	most := 0
	for name := range q {
		if strings.HasSuffix(name, "limit") || strings.HasSuffix(name, "page_size") {
			if n, err := strconv.Atoi(q.Get(name)); err == nil {
				most = max(most, n)
			}
		}
	}
	return most
}

// recordsOf returns the list of records of a value, into which a response that is a bare
// list is decoded: v itself if it is such a list, else the first field of the struct v
// that is one, else the list of the first nested struct that has one. The result is
// invalid if v has no such list.
func recordsOf(v reflect.Value) reflect.Value {
	switch {
	case isRecords(v.Type()):
		return v
	case v.Kind() != reflect.Struct:
		return reflect.Value{}
	}
	for f := range v.Type().Fields() {
		if f.IsExported() && isRecords(f.Type) {
			return v.FieldByIndex(f.Index)
		}
	}
	for f := range v.Type().Fields() {
		if f.IsExported() || f.Anonymous {
			if list := recordsOf(v.FieldByIndex(f.Index)); list.IsValid() {
				return list
			}
		}
	}
	return reflect.Value{}
}

// onlyRecords reports whether a type is a list of records, or a struct whose fields are all
// such lists. A response that is a bare list may be decoded into such a type. A struct with
// another field, such as the cursor of the next page, would lack its value.
func onlyRecords(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return isRecords(t)
	}
	for f := range t.Fields() {
		if !isRecords(f.Type) {
			return false
		}
	}
	return t.NumField() > 0
}

// shape describes what [shape.finish] does to decoded values of a type. It is nil if
// that is nothing.
type shape struct {
	kind    reflect.Kind
	records bool     // of a list or map: the elements are records
	elem    *shape   // of a list, map or pointer
	fields  []int    // of a struct: the indexes of the fields whose values have a shape
	shapes  []*shape // of these fields, in the same order
	aliases []alias
	extra   int               // the index of the map for members without a field; 0 means none
	fixFunc func(pointer any) // registered by [Fix]; nil means none
}

// alias is a field that also takes its value from other members, listed in its
// tag also:"a,b".
type alias struct {
	field int
	names []string
}

var shapes sync.Map //nolint:gochecknoglobals // a cache of *shape by reflect.Type

// newShape returns what [shape.finish] does to decoded values of type t, nil for
// nothing. Seen has the shapes of the types that were met before. It ends the recursion if
// a type contains itself: if a struct T has a field []T, the call for the elements of that
// field gets the shape of T from seen, while its fields are still being added. That shape
// is not replaced by nil at the end, because it has this field.
func newShape(t reflect.Type, seen map[reflect.Type]*shape) *shape {
	if s, ok := seen[t]; ok {
		return s
	}
	s := &shape{kind: t.Kind()}
	seen[t] = s
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() || f.Anonymous {
				s.addField(f, seen)
			}
		}
		s.fixFunc = fixOf(t)
		if s.fixFunc != nil || s.fields != nil || s.aliases != nil {
			return s
		}
	case reflect.Slice, reflect.Map:
		s.records = t.Elem().Kind() == reflect.Pointer || isRecords(t) // a null among them may have to be removed
		s.elem = newShape(t.Elem(), seen)
		if s.records || s.elem != nil {
			return s
		}
	case reflect.Pointer:
		s.elem = newShape(t.Elem(), seen)
		if s.elem != nil {
			return s
		}
	default:
	}
	seen[t] = nil // nothing to do
	return nil
}

// addField adds to the shape of a struct what [shape.finish] does for one of its fields:
// it finishes the value of the field, sets it from its aliases, or takes it as the map
// for unknown members; for most fields it does none of these. Seen is as in [newShape].
func (s *shape) addField(f reflect.StructField, seen map[reflect.Type]*shape) {
	ofValue := newShape(f.Type, seen)
	if ofValue != nil { // such as a list of records, but not a number or a text
		s.fields, s.shapes = append(s.fields, f.Index[0]), append(s.shapes, ofValue)
	}
	if names := f.Tag.Get("also"); names != "" {
		s.aliases = append(s.aliases, alias{f.Index[0], strings.Split(names, ",")})
	}
	if strings.HasSuffix(f.Tag.Get("json"), ",unknown") {
		s.extra = f.Index[0]
	}
}

// finish completes a decoded value: it fills fields from their aliases and
// calls the functions registered by [Fix], inner values first.
//
// It returns the number of rows if the value is a page, for the limit in [Finish]: the
// length of its longest list. The lists in the elements of a list are no rows.
func (s *shape) finish(v reflect.Value, nulls Nulls) (rows int) {
	if s == nil {
		return 0
	}
	switch s.kind {
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return s.elem.finish(v.Elem(), nulls)
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return 0
		}
		return s.finishElements(v, nulls)
	default: // a struct
	}
	var extra map[string]json.RawMessage // members without a field
	if s.extra != 0 {                    // 0 means that the struct has no map for them
		extra, _ = reflect.TypeAssert[map[string]json.RawMessage](v.Field(s.extra))
	}
	if len(extra) != 0 {
		for _, a := range s.aliases {
			takeAlias(extra, v.Field(a.field), a.names)
		}
	}
	for i, f := range s.fields {
		rows = max(rows, s.shapes[i].finish(v.Field(f), nulls))
	}
	if s.fixFunc != nil {
		s.fixFunc(v.Addr().Interface())
	}
	if extra != nil && len(extra) == 0 { // all were taken
		v.Field(s.extra).SetZero()
	}
	return rows
}

// finishElements completes the elements of a list or a map. With DropNulls it removes
// elements that were null. It returns the length of a list, 0 for a map. The elements
// that it removes count too, because the server has sent them as rows.
func (s *shape) finishElements(v reflect.Value, nulls Nulls) (rows int) {
	if s.kind == reflect.Slice {
		rows = v.Len()
		if s.records && nulls == DropNulls {
			dropZero(v)
		}
		for i := 0; s.elem != nil && i < v.Len(); i++ {
			s.elem.finish(v.Index(i), nulls)
		}
		return rows
	}
	for name, elem := range v.Seq2() {
		if nulls == DropNulls && elem.Kind() == reflect.Pointer && elem.IsNil() {
			v.SetMapIndex(name, reflect.Value{})
		} else if s.elem != nil {
			finished := reflect.New(elem.Type()).Elem() // a copy: a map's value cannot be set in place
			finished.Set(elem)
			s.elem.finish(finished, nulls)
			v.SetMapIndex(name, finished)
		}
	}
	return 0
}

// takeAlias sets a field that is zero to the first of the named members of extra that can
// be decoded. All named members that can be decoded are removed from extra, since they
// have the same value under other names.
func takeAlias(extra map[string]json.RawMessage, field reflect.Value, names []string) {
	for _, name := range names {
		raw, found := extra[name]
		if !found {
			continue
		}
		value := reflect.New(field.Type())
		err := jsonv2.Unmarshal(raw, value.Interface(), options)
		if err != nil && jsonv2.Unmarshal(raw, value.Interface(), options, converting()) != nil {
			continue
		}
		delete(extra, name)
		if field.IsZero() {
			field.Set(value.Elem())
		}
	}
}

// dropZero removes the zero elements of a list, which stand for null, and shortens it.
func dropZero(list reflect.Value) {
	n := 0
	for i := range list.Len() {
		if elem := list.Index(i); !elem.IsZero() {
			if n != i {
				list.Index(n).Set(elem)
			}
			n++
		}
	}
	list.Slice(n, list.Len()).Clear()
	list.SetLen(n)
}

var fixes sync.Map //nolint:gochecknoglobals // a registry of fixed by reflect.Type

// fixed is what is registered for a type.
type fixed struct {
	fix   func(pointer any)
	takes []Taken
}

// Taken is a member whose value a function takes from an Extra.
type Taken struct {
	Name string
	Type reflect.Type // that the value is decoded into
}

// Takes returns a member that a function takes as a V.
func Takes[V any](name string) Taken { return Taken{name, reflect.TypeFor[V]()} }

// Fix registers a function that completes each decoded T from its Extra, for what no
// tag can describe. It must be called in the declaration of a package variable, before
// any response is decoded. Takes names the objects that the function takes from Extra,
// and their types: the reports of differences compare each object with its type.
func Fix[T any](fix func(*T), takes ...Taken) struct{} {
	fixes.Store(reflect.TypeFor[T](), fixed{func(pointer any) {
		if v, ok := pointer.(*T); ok {
			fix(v)
		}
	}, takes})
	return struct{}{}
}

// fixOf returns the function registered for a type, nil if there is none.
func fixOf(t reflect.Type) func(pointer any) {
	found, _ := fixes.Load(t)
	f, _ := found.(fixed)
	return f.fix
}

// Members are the members of a JSON object.
type Members map[string]json.RawMessage

// Take decodes the first of the named members whose value fits the type of to, removes
// it from m, and reports whether there was one. A number may be quoted. Other members
// are kept.
func Take[T any](m Members, to *T, names ...string) bool {
	for _, name := range names {
		raw, ok := m[name]
		for _, quoted := range []bool{false, true} {
			var v T
			if ok && jsonv2.Unmarshal(raw, &v, options, jsonv2.StringifyNumbers(quoted)) == nil {
				*to = v
				delete(m, name)
				return true
			}
		}
	}
	return false
}

// Rest returns the members that are left, which no field has taken, nil if there are
// none.
func (m Members) Rest() map[string]json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return m
}
