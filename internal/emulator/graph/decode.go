package graph

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/internal/emulator/blob"
)

const (
	depthMost  = 10_000    // of lists in lists
	stringMost = 128 << 20 // bytes of a text
)

// Decode reads what Encode has written for pointers to the same types, into new structs
// (fresh). The structs behind targets stay unchanged until commit is called, which copies
// the encoded fields of fresh to them. In the decoded data, a pointer to one of these structs
// leads to the struct behind the target, and not to the one of fresh, which is not used after
// commit. Open returns the content with a name. Decode reads no byte behind the end of the JSON. The methods of
// decoder report an error by a panic, which ends the decoding.
func (c *Codec) Decode(
	r *bufio.Reader, open func(name string) (*blob.Blob, error), targets ...any,
) (fresh []any, commit func(), err error) {
	d := &decoder{Codec: c, r: r, open: open, blobs: map[string]*blob.Blob{}}
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case decodeError:
			err = failure.error
		default: // a mistake of this package
			panic(failure)
		}
	}()
	structs := roots(targets)
	for _, v := range structs {
		// The data has numbers for known pointers: 0 for that to the first struct, and so on.
		d.seen = append(d.seen, v.Addr())
		fresh = append(fresh, reflect.New(v.Type()).Interface())
	}
	freshStructs := roots(fresh)
	d.readExactly(len(freshStructs), func(i int) {
		d.expect('\n') // each struct begins a line
		d.readValue(freshStructs[i])
	})
	return fresh, func() {
		for i, v := range structs {
			c.assign(v, freshStructs[i])
		}
	}, nil
}

// assign copies the encoded fields of a struct, also of structs in it, and any other
// value as a whole. It does not write values that are equal, because other goroutines may
// be reading them.
func (c *Codec) assign(to, from reflect.Value) {
	if to.Kind() != reflect.Struct || to.Type() == timeType {
		if !same(to, from) {
			to.Set(from)
		}
		return
	}
	for _, f := range c.fields[to.Type()] {
		c.assign(f.of(to), f.of(from))
	}
}

// same reports whether two values of a type are known to be the same: maps, slices and
// pointers if they share their memory. Of structs, arrays and interfaces it returns false.
func same(a, b reflect.Value) bool {
	switch a.Kind() { //nolint:exhaustive // the others, such as numbers and texts, are compared below
	case reflect.Slice:
		return a.Pointer() == b.Pointer() && a.Len() == b.Len()
	case reflect.Map, reflect.Pointer:
		return a.Pointer() == b.Pointer()
	case reflect.Struct, reflect.Interface, reflect.Array:
		return false
	}
	return a.Equal(b)
}

// decodeError is what fail panics with.
type decodeError struct{ error }

type decoder struct {
	*Codec

	r      *bufio.Reader
	offset int64
	depth  int
	open   func(name string) (*blob.Blob, error)
	blobs  map[string]*blob.Blob
	texts  []string
	seen   []reflect.Value // pointers and maps
}

// fail ends the decoding with an error.
func (d *decoder) fail(format string, args ...any) {
	panic(decodeError{fmt.Errorf("at byte %d: "+format, append([]any{d.offset}, args...)...)})
}

// peek returns the next byte without reading it.
func (d *decoder) peek() byte {
	b, err := d.r.Peek(1)
	if err != nil {
		d.failRead(err)
	}
	return b[0]
}

// failRead ends the decoding with an error of the reader.
func (d *decoder) failRead(err error) {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // because the decoder reads only where something must follow
	}
	d.fail("%w", err)
}

// readByte reads a byte.
func (d *decoder) readByte() byte {
	b, err := d.r.ReadByte()
	if err != nil {
		d.failRead(err)
	}
	d.offset++
	return b
}

// expect reads a byte, and ends the decoding with an error if it is not want.
func (d *decoder) expect(want byte) {
	if got := d.readByte(); got != want {
		d.fail("got %q, want %q", got, want)
	}
}

// expectText reads the bytes of a text, and ends the decoding with an error if others
// come.
func (d *decoder) expectText(want string) {
	for i := range len(want) {
		d.expect(want[i])
	}
}

// readNull reads null if it comes next, and reports whether it did.
func (d *decoder) readNull() bool {
	if d.peek() != 'n' {
		return false
	}
	d.expectText("null")
	return true
}

// readLiteral reads a number, up to a comma or the end of a list. It reads at most 32
// bytes, which is more than any number has. After a longer literal the caller fails,
// because it expects a comma or the end of the list.
func (d *decoder) readLiteral() string {
	var b []byte
	for {
		if next := d.peek(); next == ',' || next == ']' || len(b) == 32 {
			return string(b)
		}
		b = append(b, d.readByte())
	}
}

// readIndex reads the number of one of count values that were decoded before, and ends the decoding
// with an error (fail does not return) if there is none with that number.
func (d *decoder) readIndex(count int) int {
	n, err := strconv.ParseUint(d.readLiteral(), 10, 32)
	if err != nil || n >= uint64(count) { //nolint:gosec // a count
		d.fail("got a reference to what does not exist")
	}
	return int(n)
}

// readList reads a list, and calls part to read each element. Lists in lists are limited
// in depth, so that no input exhausts the stack.
func (d *decoder) readList(part func(i int)) {
	d.depth++
	if d.depth > depthMost {
		d.fail("more than %d levels", depthMost)
	}
	d.expect('[')
	for i := 0; d.peek() != ']'; i++ {
		if i > 0 {
			d.expect(',')
		}
		part(i)
	}
	d.readByte()
	d.depth--
}

// readExactly reads a list that must have count elements, and calls part for each. With
// more or fewer, it ends the decoding with an error.
func (d *decoder) readExactly(count int, part func(i int)) {
	n := 0
	d.readList(func(i int) {
		if i >= count {
			d.fail("more than %d parts", count)
		}
		n++
		part(i)
	})
	if n != count {
		d.fail("got %d parts, want %d", n, count)
	}
}

// readValue reads a value into v, which must be addressable, as its type requires.
func (d *decoder) readValue(v reflect.Value) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(d.peek() == 't')
		d.expectText(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(d.readLiteral(), 10, t.Bits())
		d.check(err)
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(d.readLiteral(), 10, t.Bits())
		d.check(err)
		v.SetUint(n)
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(d.readLiteral(), t.Bits())
		d.check(err)
		v.SetFloat(n)
	case reflect.String:
		v.SetString(d.readText())
	case reflect.Struct:
		if t == timeType {
			d.check(v.Addr().Interface().(*time.Time).UnmarshalText([]byte(d.readText()))) //nolint:forcetypeassert // its type
			return
		}
		fields := d.fields[t]
		d.readExactly(len(fields), func(i int) { d.readValue(fields[i].of(v)) })
	case reflect.Array:
		d.readExactly(v.Len(), func(i int) { d.readValue(v.Index(i)) })
	case reflect.Slice:
		d.readSlice(v)
	case reflect.Pointer:
		d.readPointer(v)
	case reflect.Map:
		d.readMap(v)
	case reflect.Interface:
		d.readInterface(v)
	default:
		d.fail("a value of type %s cannot be held", t)
	}
}

// check ends the decoding with err, unless that is nil.
func (d *decoder) check(err error) {
	if err != nil {
		d.fail("%w", err)
	}
}

// readText reads a text, which is written as a string, as the number of an equal earlier
// text (the index in d.texts), or as a list with the name of the content that holds it.
func (d *decoder) readText() string {
	switch d.peek() {
	case '"':
		s := d.readString()
		if s != "" { // the empty text has no number
			d.texts = append(d.texts, s)
		}
		return s
	case '[':
		b := d.readContent()
		if b.Size() > stringMost {
			d.fail("a text of %d bytes", b.Size())
		}
		text, whole := b.Text()
		if !whole {
			bytes, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
			d.check(err)
			text = string(bytes)
		}
		d.texts = append(d.texts, text)
		return text
	}
	return d.texts[d.readIndex(len(d.texts))]
}

// readString reads a JSON string. A string of printable ASCII without escapes (plain), as
// most are, is returned as it is; others are decoded by encoding/json.
func (d *decoder) readString() string {
	const encodedMost = 8 * TextMost // enough: JSON takes at most 6 bytes for a byte, such as \u0001
	raw := []byte{d.readByte()}
	plain := true
	for {
		b := d.readByte()
		raw = append(raw, b)
		switch {
		case b == '"' && plain:
			return string(raw[1 : len(raw)-1])
		case b == '"':
			var s string
			d.check(json.Unmarshal(raw, &s))
			return s
		case b == '\\':
			plain = false
			raw = append(raw, d.readByte())
		case b < ' ', b > '~':
			plain = false
		}
		if len(raw) > encodedMost {
			d.fail("a string is too long")
		}
	}
}

// readContent reads a pointer to a content, and returns the content. As any new value behind
// a pointer, it is encoded as a list of one item, which is the name of the content. Each
// content is opened once.
func (d *decoder) readContent() (b *blob.Blob) {
	d.readExactly(1, func(int) {
		name := d.readString()
		b = d.blobs[name]
		if b == nil {
			var err error
			b, err = d.open(name)
			d.check(err)
			d.blobs[name] = b
		}
	})
	return b
}

// readSlice reads a slice: null, bytes as a text, or a list. If the unused capacity is more
// than an eighth of its length, the slice is copied to one of the exact size.
func (d *decoder) readSlice(v reflect.Value) {
	t := v.Type()
	switch {
	case d.readNull():
	case t.Elem().Kind() == reflect.Uint8:
		v.Set(reflect.ValueOf([]byte(d.readText())).Convert(t))
	default:
		v.Set(reflect.MakeSlice(t, 0, 0))
		d.readList(func(i int) {
			v.Grow(1)
			v.SetLen(i + 1)
			d.readValue(v.Index(i))
		})
		if v.Cap() > v.Len()+v.Len()/8 {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(t, 0, v.Len()), v))
		}
	}
}

// readReference reads null, or the number of a pointer or map that was read before,
// into v, and reports whether it was one of them.
func (d *decoder) readReference(v reflect.Value) bool {
	switch {
	case d.readNull():
		return true
	case d.peek() == '[':
		return false
	}
	earlier := d.seen[d.readIndex(len(d.seen))]
	if earlier.Type() != v.Type() {
		d.fail("got a reference to a %s, want a %s", earlier.Type(), v.Type())
	}
	v.Set(earlier)
	return true
}

// readPointer reads a pointer: null, the number of an earlier pointer, the name of a
// content, or a list of the value that the pointer leads to. A new pointer gets its number
// (the index in seen) before its value is read, because the value may contain the same
// pointer. A content contains no pointer, and gets its number afterwards.
func (d *decoder) readPointer(v reflect.Value) {
	isNullOrEarlier := d.readReference(v)
	if isNullOrEarlier {
		return
	}
	if v.Type() == blobType {
		v.Set(reflect.ValueOf(blob.Join(d.readContent())))
		d.seen = append(d.seen, addressable(v))
		return
	}
	v.Set(reflect.New(v.Type().Elem()))
	d.seen = append(d.seen, addressable(v))
	d.readExactly(1, func(int) { d.readValue(v.Elem()) })
}

// readMap reads a map: null, the number of an earlier map (its index in seen), or a list in
// which keys and values take turns.
func (d *decoder) readMap(v reflect.Value) {
	isNullOrEarlier := d.readReference(v)
	if isNullOrEarlier {
		return
	}
	t := v.Type()
	v.Set(reflect.MakeMap(t))
	d.seen = append(d.seen, addressable(v)) // a copy, because the variable of v may get another value
	var key reflect.Value
	complete := true // each key has its value
	d.readList(func(i int) {
		isKey := i%2 == 0
		complete = !isKey
		if isKey {
			key = reflect.New(t.Key()).Elem()
			d.readValue(key)
			return
		}
		value := reflect.New(t.Elem()).Elem()
		d.readValue(value)
		v.SetMapIndex(key, value)
	})
	if !complete {
		d.fail("a key without a value")
	}
}

// readInterface reads an interface: null, or a list of the number of a type and a value of
// it.
func (d *decoder) readInterface(v reflect.Value) {
	if d.readNull() {
		return
	}
	var held reflect.Value
	d.readExactly(2, func(i int) {
		if i == 0 {
			t := d.held[d.readIndex(len(d.held))]
			if !t.AssignableTo(v.Type()) {
				d.fail("a %s is no %s", t, v.Type())
			}
			held = reflect.New(t).Elem()
			return
		}
		d.readValue(held)
	})
	v.Set(held)
}
