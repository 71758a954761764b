package call

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/fastio-go/fastio/api"
)

const (
	maxRows   = 10_000 // of a call that asks for no number
	spareRows = 1_000  // beyond those asked for: no page of any list is larger
)

// clean drops the null elements of all lists of a payload, so that no caller meets
// a nil record, and returns an error for a page of far more rows than r asks for.
func clean(r *api.Request, payload any) error {
	v := reflect.ValueOf(payload).Elem()
	s, known := shapes.Load(v.Type())
	if !known {
		s = newShape(v.Type(), map[reflect.Type]*shape{})
		shapes.Store(v.Type(), s)
	}
	most := s.(*shape).clean(v) //nolint:forcetypeassert // as it was stored
	if most <= spareRows || r == nil {
		return nil
	}
	bound := maxRows
	if n := askedFor(r.Query); n > 0 {
		bound = n + spareRows
	}
	if most > bound {
		return fmt.Errorf("fastio: %s: %w: a page of %d rows, at most %d are read", r.Op, api.ErrTooLarge, most, bound)
	}
	return nil
}

// askedFor returns the number of rows that a query asks for, 0 if it asks for
// none.
func askedFor(q url.Values) int {
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

// recordsOf returns the list of records that v is or, if v is a struct, consists
// of; invalid if there is none. It is the first, or the first of the first struct
// that has one.
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

// onlyRecords reports whether a type is a list of records, or a struct that has
// nothing but such lists. An answer may then be the list itself, as no other member
// of the answer is missing.
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

// shape says where the records are in the values of a type. It is nil for a type
// that has no list of records.
type shape struct {
	kind    reflect.Kind
	records bool   // of a list or map: its elements are records
	elem    *shape // of a list, map or pointer
	fields  []int  // of a struct: those that hold records
	shapes  []*shape
}

var shapes sync.Map //nolint:gochecknoglobals // a cache of *shape by reflect.Type

func newShape(t reflect.Type, building map[reflect.Type]*shape) *shape {
	if s, ok := building[t]; ok {
		return s // the type holds itself, in a list
	}
	s := &shape{kind: t.Kind()}
	building[t] = s
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			if inner := newShape(f.Type, building); inner != nil {
				s.fields, s.shapes = append(s.fields, f.Index[0]), append(s.shapes, inner)
			}
		}
		if s.fields != nil {
			return s
		}
	case reflect.Slice, reflect.Map:
		s.records = t.Elem().Kind() == reflect.Pointer || isRecords(t)
		s.elem = newShape(t.Elem(), building)
		if s.records || s.elem != nil && t.Kind() == reflect.Slice {
			return s
		}
	case reflect.Pointer:
		if s.elem = newShape(t.Elem(), building); s.elem != nil {
			return s
		}
	default:
	}
	building[t] = nil
	return nil
}

// clean drops the null elements of the lists in v and returns the length of the
// longest that is not a part of a record of another.
func (s *shape) clean(v reflect.Value) (longest int) {
	if s == nil {
		return 0
	}
	switch s.kind {
	case reflect.Pointer:
		if !v.IsNil() {
			return s.elem.clean(v.Elem())
		}
	case reflect.Struct:
		for i, f := range s.fields {
			longest = max(longest, s.shapes[i].clean(v.Field(f)))
		}
	case reflect.Slice:
		longest = v.Len()
		if s.records && longest > 0 {
			dropZero(v)
		}
		for i := 0; s.elem != nil && i < v.Len(); i++ {
			s.elem.clean(v.Index(i))
		}
	case reflect.Map:
		for name, elem := range v.Seq2() {
			if elem.IsNil() {
				v.SetMapIndex(name, reflect.Value{})
			} else if s.elem != nil {
				s.elem.clean(elem)
			}
		}
	default:
	}
	return longest
}

// dropZero takes the zero elements out of a list, which stand for null.
func dropZero(list reflect.Value) {
	n := 0
	for i := range list.Len() {
		elem := list.Index(i)
		if elem.IsZero() {
			continue
		}
		if n < i {
			list.Index(n).Set(elem)
		}
		n++
	}
	if n < list.Len() {
		tail := list.Slice(n, list.Len())
		tail.Clear()
		list.SetLen(n)
	}
}
