// Package graph encodes a graph of Go values as JSON, with all unexported fields, and
// decodes it into values of the same types. Values are written in the order of their
// types and have no names:
//
//   - A struct, a slice and an array is a list, a map a list of keys and values in the
//     order of the keys, a nil slice or map is null.
//   - A text is a string or, after its first occurrence, the number of that. A text that
//     is long or no UTF-8 is the name of a content, in a list.
//   - A pointer is null, a list with the value or, after its first occurrence, the number
//     of that. The same goes for maps.
//   - An interface is null, or the number of its type and the value.
//
// Pointers and maps keep their identity. Slices with a common array do not, and a pointer
// into another value must not occur.
package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/fastio-go/fastio/internal/emulator/blob"
)

// Codec encodes graphs. It is safe for concurrent use.
type Codec struct {
	roots    []reflect.Type
	held     []reflect.Type // by interfaces
	excluded map[string]string
	fields   map[reflect.Type][]field
	version  string
}

// New returns a codec for graphs that begin at pointers to structs of these types. Held
// has a value of each type that an interface may hold, beside those of JSON. Excluded has
// the fields that are not encoded, such as "world.Core.OnChange", and the reason. A type
// instead of a field, such as "sync.Mutex", excludes each field that has this type.
func New(held []any, excluded map[string]string, roots ...any) *Codec {
	c := &Codec{excluded: excluded, fields: map[reflect.Type][]field{}}
	for _, p := range roots {
		c.roots = append(c.roots, reflect.TypeOf(p).Elem())
	}
	for _, v := range slices.Concat(basic(), held) {
		c.held = append(c.held, reflect.TypeOf(v))
	}
	hash := sha256.New() // of all types and fields: codecs with other ones have another version
	c.visitTypes(func(t reflect.Type, _ string) {
		_, _ = fmt.Fprintln(hash, t, t.Kind())
		if t.Kind() != reflect.Struct || t == timeType {
			return
		}
		for f := range t.Fields() {
			if f.Name != "_" && excluded[t.String()+"."+f.Name] == "" && excluded[f.Type.String()] == "" {
				c.fields[t] = append(c.fields[t], field{offset: f.Offset, valueType: f.Type, name: t.String() + "." + f.Name})
				_, _ = fmt.Fprintln(hash, f.Name, f.Type)
			}
		}
	})
	c.version = hex.EncodeToString(hash.Sum(nil)[:6]) // enough to distinguish versions
	return c
}

// Version returns a text that is the same for the same types: their names, and the names
// and types of their encoded fields.
func (c *Codec) Version() string { return c.version }

// field is an encoded field of a struct.
type field struct {
	offset    uintptr
	valueType reflect.Type
	name      string // with the type, such as world.Core.Options
}

// roots returns the structs behind pointers, at which a graph begins. Elsewhere in the
// graph, a pointer to such a struct is written as the number of the struct.
func roots(pointers []any) []reflect.Value {
	var list []reflect.Value
	for _, p := range pointers {
		list = append(list, reflect.ValueOf(p).Elem())
	}
	return list
}

// of returns the field of an addressable struct, also an unexported one.
func (f *field) of(v reflect.Value) reflect.Value {
	return reflect.NewAt(f.valueType, unsafe.Add(v.Addr().UnsafePointer(), f.offset)).Elem()
}

//nolint:gochecknoglobals // constants
var (
	timeType = reflect.TypeFor[time.Time]()
	blobType = reflect.TypeFor[*blob.Blob]()
)

// basic returns a value of each type that an interface value may hold in any graph: the types
// of JSON values, integers, lists of strings, times, and contents.
func basic() []any {
	return []any{
		false, 0, int64(0), uint64(0), 0.0, "", []any(nil), map[string]any(nil), []string(nil),
		time.Time{},
		json.Number(""), (*blob.Blob)(nil),
	}
}

// Check returns what cannot be encoded, the pointers that may lead to a part of another
// value (such as a field), and the exclusions that exclude nothing. A part to which a
// pointer leads would be encoded twice, and decoded as two values.
func (c *Codec) Check() (problems []string) {
	occurs := map[string]bool{}            // types and all fields, by name
	pointerTo := map[reflect.Type]string{} // the path of a pointer to a value of the type
	wholeOf := map[reflect.Type]string{}   // the path of a list, or the name of a field, of the type
	c.visitTypes(func(t reflect.Type, path string) {
		occurs[t.String()] = true
		if problem := problemOf(t); problem != "" {
			problems = append(problems, path+problem)
		}
		switch t.Kind() { //nolint:exhaustive // the others contain none
		case reflect.Pointer:
			if t != blobType {
				pointerTo[t.Elem()] = path
			}
		case reflect.Slice, reflect.Array:
			wholeOf[t.Elem()] = path
		case reflect.Struct:
			for f := range t.Fields() {
				occurs[t.String()+"."+f.Name], occurs[f.Type.String()] = true, true
			}
			for _, f := range c.fields[t] { // those that are encoded
				wholeOf[f.valueType] = f.name
			}
		}
	})
	for t, path := range pointerTo {
		if wholeOf[t] != "" {
			problems = append(problems, path+" leads to a "+t.String()+", which "+wholeOf[t]+" contains")
		}
	}
	for name := range c.excluded {
		if !occurs[name] {
			problems = append(problems, name+" is excluded and does not occur")
		}
	}
	slices.Sort(problems)
	return problems
}

// problemOf returns why values of a type cannot be encoded, "" if they can be. A struct
// of another module could change its fields, so that a snapshot could not be read any
// more. The random sources of math/rand/v2 are specified algorithms, whose state is stable.
func problemOf(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // the others can be encoded
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64, reflect.Complex128:
		return " is of type " + t.String()
	case reflect.Map:
		if !isOrdered(t.Key()) {
			return " has keys of type " + t.Key().String()
		}
	case reflect.Struct:
		isStable := strings.Contains(t.PkgPath(), "fastio") || t.PkgPath() == "math/rand/v2" || t == timeType
		if t.Name() != "" && !isStable {
			return " is of type " + t.String() + " of another module"
		}
	}
	return ""
}

// isOrdered reports whether a type can be that of the keys of a map, which are written
// in order.
func isOrdered(t reflect.Type) bool {
	switch t.Kind() { //nolint:exhaustive // no other keys
	case reflect.Array:
		return isOrdered(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if !isOrdered(f.Type) {
				return false
			}
		}
		return true
	}
	isBoolOrInteger := t.Kind() <= reflect.Uint64 // these kinds have the first numbers
	return isBoolOrInteger || t.Kind() == reflect.String
}

// visitTypes visits all types that the values and interfaces can lead to, each once. It
// visits a struct before its fields, because New finds these fields in the visit.
func (c *Codec) visitTypes(visit func(t reflect.Type, path string)) {
	done := map[reflect.Type]bool{}
	var step func(t reflect.Type, path string)
	step = func(t reflect.Type, path string) {
		if done[t] {
			return
		}
		done[t] = true
		visit(t, path)
		switch t.Kind() { //nolint:exhaustive // the others lead to no type
		case reflect.Pointer, reflect.Slice, reflect.Array:
			if t != blobType {
				step(t.Elem(), path)
			}
		case reflect.Map:
			step(t.Key(), path)
			step(t.Elem(), path)
		case reflect.Struct:
			if t == timeType {
				return
			}
			for _, f := range c.fields[t] {
				step(f.valueType, f.name)
			}
		}
	}
	for _, t := range slices.Concat(c.roots, c.held) {
		step(t, t.String())
	}
}

// Content is the content of a file or a long text.
type Content interface {
	io.ReaderAt
	Size() int64
}
