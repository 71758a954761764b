package graph

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fastio-go/fastio/internal/emulator/blob"
)

// TextMost is the most bytes of a text in the state; a longer one is a content, in a file.
const TextMost = 1 << 10

// Encode writes the structs behind pointers, and all that they lead to, as JSON. Numbers
// stand for texts, pointers and maps that occur again, and for the types of values in
// interfaces. Long texts and blobs are only named: Encode returns these contents by name,
// which is their SHA-256.
func (c *Codec) Encode(w io.Writer, pointers ...any) (map[string]Content, error) {
	e := &encoder{
		Codec: c, w: bufio.NewWriterSize(w, 1<<16), contents: map[string]Content{}, texts: map[string]int{},
		seen: map[identity]int{}, typeNumbers: map[reflect.Type]int{},
	}
	for i, t := range c.held {
		e.typeNumbers[t] = i
	}
	values := roots(pointers)
	for _, v := range values { // they have the first numbers of pointers
		e.seen[identity{v.Addr().Pointer(), v.Addr().Type()}] = len(e.seen)
	}
	for i, v := range values {
		if i == 0 {
			e.writeRaw("[\n")
		} else {
			e.writeRaw(",\n")
		}
		e.writeList(v.Type(), func() { e.writeFields(v) })
	}
	e.writeRaw("]")
	return e.contents, cmp.Or(e.err, e.w.Flush())
}

// identity is that of a pointer or map.
type identity struct {
	at   uintptr
	kind reflect.Type
}

type encoder struct {
	*Codec

	w           *bufio.Writer
	contents    map[string]Content
	texts       map[string]int
	seen        map[identity]int
	typeNumbers map[reflect.Type]int // of the types that interfaces hold
	buffer      []byte
	path        []string // for errors
	err         error
}

func (e *encoder) writeRaw(text string) { _, _ = e.w.WriteString(text) } // Flush returns the error

func (e *encoder) writeNumber(n int64) {
	e.buffer = strconv.AppendInt(e.buffer[:0], n, 10)
	_, _ = e.w.Write(e.buffer)
}

// fail records an error with the path of its value, if it is the first, and writes null
// in place of the value.
func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("%s: %s", strings.Join(e.path, "."), fmt.Sprintf(format, args...))
	}
	e.writeRaw("null")
}

// writeList writes brackets around what writeElements writes. An error of an element names
// the type t.
func (e *encoder) writeList(t reflect.Type, writeElements func()) {
	e.path = append(e.path, t.String())
	e.writeRaw("[")
	writeElements()
	e.writeRaw("]")
	e.path = e.path[:len(e.path)-1]
}

// writeFields writes the encoded fields of a struct, separated by commas, without their
// names.
func (e *encoder) writeFields(v reflect.Value) {
	for i, f := range e.fields[v.Type()] {
		if i > 0 {
			e.writeRaw(",")
		}
		e.path[len(e.path)-1] = f.name // for errors
		e.writeValue(f.of(v))
	}
}

// writeValue writes a value, which must be addressable, as its type requires.
func (e *encoder) writeValue(v reflect.Value) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Bool:
		e.writeRaw(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.writeNumber(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.buffer = strconv.AppendUint(e.buffer[:0], v.Uint(), 10)
		_, _ = e.w.Write(e.buffer)
	case reflect.Float32, reflect.Float64:
		text, err := json.Marshal(v.Float())
		if err != nil {
			e.fail("%v", err)
		}
		e.writeRaw(string(text))
	case reflect.String:
		e.writeText(v.String())
	case reflect.Struct:
		if t == timeType {
			e.writeTime(*v.Addr().Interface().(*time.Time)) //nolint:forcetypeassert // its type
			return
		}
		e.writeList(t, func() { e.writeFields(v) })
	case reflect.Slice, reflect.Array:
		e.writeItems(v)
	case reflect.Pointer:
		e.writePointer(v)
	case reflect.Map:
		e.writeMap(v)
	case reflect.Interface:
		e.writeInterface(v)
	default:
		e.fail("a value of type %s cannot be held", t)
	}
}

// writeTime writes a time as a text.
func (e *encoder) writeTime(t time.Time) {
	text, err := t.MarshalText()
	if err != nil {
		e.fail("%v", err)
		return
	}
	e.writeText(string(text))
}

// writeText writes a text: the number of an equal text if one was written before, else a
// string if the text is short, else a list with the name of its content.
func (e *encoder) writeText(s string) {
	if s == "" {
		e.writeRaw(`""`)
		return
	}
	if n, known := e.texts[s]; known {
		e.writeNumber(int64(n))
		return
	}
	e.texts[s] = len(e.texts)
	if !isShort(s) {
		e.writeRaw(`["` + e.addContent(strings.NewReader(s)) + `"]`)
		return
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		var b bytes.Buffer
		j := json.NewEncoder(&b)
		j.SetEscapeHTML(false)
		if err := j.Encode(s); err != nil {
			e.fail("%v", err)
		}
		e.writeRaw(strings.TrimSuffix(b.String(), "\n"))
		return
	}
	e.writeRaw(`"` + s + `"`)
}

// addContent records a content as one that is needed, and returns its name.
func (e *encoder) addContent(c Content) string {
	name, err := Name(c)
	if err != nil {
		e.fail("%v", err)
	}
	e.contents[name] = c
	return name
}

// Name returns the name of a content: its SHA-256 in hexadecimal.
func Name(c Content) (string, error) {
	if b, isBlob := c.(*blob.Blob); isBlob {
		return b.Sum(), nil
	}
	h := sha256.New()
	_, err := io.Copy(h, io.NewSectionReader(c, 0, c.Size()))
	return hex.EncodeToString(h.Sum(nil)), err
}

// isShort reports whether a text is written into the state, and not as a content.
func isShort(text string) bool { return len(text) <= TextMost && utf8.ValidString(text) }

// writeItems writes a slice or an array: null for nil, bytes as a text, otherwise a list.
func (e *encoder) writeItems(v reflect.Value) {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Slice && v.IsNil():
		e.writeRaw("null")
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		e.writeText(string(v.Bytes()))
		return
	}
	e.writeList(t, func() {
		for i := range v.Len() {
			if i > 0 {
				e.writeRaw(",")
			}
			e.writeValue(v.Index(i))
		}
	})
}

// writeReference writes null for nil, or the number of a pointer or map that occurred
// before, and reports whether it did. Any other pointer or map gets the next number,
// and must be written by the caller.
func (e *encoder) writeReference(v reflect.Value) bool {
	if v.IsNil() {
		e.writeRaw("null")
		return true
	}
	id := identity{v.Pointer(), v.Type()}
	n, known := e.seen[id]
	if known {
		e.writeNumber(int64(n))
		return true
	}
	e.seen[id] = len(e.seen)
	return false
}

// writePointer writes a pointer: null, the number of a pointer that occurred before, the
// name of a content, or a list of the value that it leads to.
func (e *encoder) writePointer(v reflect.Value) {
	isNullOrEarlier := e.writeReference(v)
	switch {
	case isNullOrEarlier: // it is written
	case v.Type() == blobType:
		e.writeRaw(`["` + e.addContent(v.Interface().(*blob.Blob)) + `"]`) //nolint:forcetypeassert // its type
	default:
		e.writeList(v.Type(), func() { e.writeValue(v.Elem()) })
	}
}

// writeMap writes a map: null, the number of a map that occurred before, or a list in
// which each key is followed by its value. The keys are sorted. Keys and values are copied
// to variables, because writeValue may need their address.
func (e *encoder) writeMap(v reflect.Value) {
	isNullOrEarlier := e.writeReference(v)
	if isNullOrEarlier {
		return
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, compareKeys)
	e.writeList(v.Type(), func() {
		for i, key := range keys {
			if i > 0 {
				e.writeRaw(",")
			}
			e.writeValue(addressable(key))
			e.writeRaw(",")
			e.writeValue(addressable(v.MapIndex(key)))
		}
	})
}

// writeInterface writes an interface: null, or a list of the number of its type and its
// value.
func (e *encoder) writeInterface(v reflect.Value) {
	if v.IsNil() {
		e.writeRaw("null")
		return
	}
	n, known := e.typeNumbers[v.Elem().Type()]
	if !known {
		e.fail("the interface holds the type %s, which is not registered", v.Elem().Type())
		return
	}
	e.writeList(v.Elem().Type(), func() { // the type is for errors only
		e.writeNumber(int64(n))
		e.writeRaw(",")
		e.writeValue(addressable(v.Elem()))
	})
}

// addressable returns a copy of v in a variable, because the fields of a struct can be
// reached only by its address, and an element of a map has none.
func addressable(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type()).Elem()
	p.Set(v)
	return p
}

// compareKeys orders the keys of a map.
func compareKeys(a, b reflect.Value) int {
	switch a.Kind() { //nolint:exhaustive // other keys do not occur, which Check tests
	case reflect.String:
		return strings.Compare(a.String(), b.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return cmp.Compare(a.Int(), b.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	case reflect.Bool:
		return cmp.Compare(strconv.FormatBool(a.Bool()), strconv.FormatBool(b.Bool()))
	case reflect.Struct:
		for i := range a.NumField() {
			if order := compareKeys(a.Field(i), b.Field(i)); order != 0 {
				return order
			}
		}
	case reflect.Array:
		for i := range a.Len() {
			if order := compareKeys(a.Index(i), b.Index(i)); order != 0 {
				return order
			}
		}
	}
	return 0
}
