package decode

import (
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Variant is a type with its own JSON method that decodes JSON values of some kinds as
// another type does. JSONType returns that type, nil for a kind whose form only the method
// knows. It is called on a nil pointer.
type Variant interface {
	JSONType(kind jsontext.Kind) reflect.Type
}

// PayloadOf returns the type of the payload of an [Envelope], and the name of its member. It
// returns false if out is not an Envelope.
func PayloadOf(out any) (payload reflect.Type, member string, found bool) {
	e, found := out.(interface{ payload() (reflect.Type, string) })
	if found {
		payload, member = e.payload()
	}
	return payload, member, found
}

func (e *Envelope[T]) payload() (payload reflect.Type, member string) {
	return reflect.TypeFor[T](), e.Member
}

// IsRecords reports whether t is a list of records.
func IsRecords(t reflect.Type) bool { return isRecords(t) }

// IsInlined reports whether the members of f stand among those of its struct.
func IsInlined(f reflect.StructField) bool { return inlined(f) }

// HasMethod reports whether t has its own method to decode JSON, or is a text.
func HasMethod(t reflect.Type) bool { return traitsOf(t).ownMethod }

// FixOf reports whether a function is registered for t by [Fix], and returns what it takes.
func FixOf(t reflect.Type) (takes []Taken, found bool) {
	fix, found := fixes.Load(t)
	f, _ := fix.(fixed)
	return f.takes, found
}

// ScalarField returns the field of the struct t that takes a text in place of the object.
func ScalarField(t reflect.Type) (f reflect.StructField, found bool) { return scalarField(t) }

// Fits decodes a JSON value strictly as a t. It returns the result, and whether the value
// has the type.
func Fits(t reflect.Type, value jsontext.Value) (v reflect.Value, ok bool) {
	v = reflect.New(t)
	return v.Elem(), jsonv2.Unmarshal(value, v.Interface(), options) == nil
}

// Leftover decodes an object as a t and calls f with the names of the members that are
// put into its Extra, because no field takes them. It returns false, without calling f,
// if the object cannot be decoded as a t, or if t has no Extra.
func Leftover(t reflect.Type, object []byte, f func(name string)) bool {
	v := reflect.New(t)
	if decodeInto(object, v.Interface()) != nil {
		return false
	}
	extra := extraOf(v)
	if !extra.IsValid() {
		return false
	}
	for _, name := range extra.MapKeys() {
		f(name.String())
	}
	return true
}
