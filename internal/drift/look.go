package drift

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/jsonopt"
)

// A looker reads a response beside the type that it is decoded into. Its methods return the
// errors of the syntax.
type looker struct {
	body []byte
	dec  *jsontext.Decoder

	seen        map[*object][]bool
	hasMember   map[string]bool // of the envelope, or the one with the payload: whether the response has it
	known       map[Difference]bool
	differences []Difference
}

// newLooker returns a looker that has read nothing of the body yet.
func newLooker(body []byte) *looker {
	return &looker{
		body: body, dec: jsontext.NewDecoder(bytes.NewBuffer(body), jsonopt.Lenient()), // a bytes.Buffer is not copied
		seen: map[*object][]bool{}, hasMember: map[string]bool{}, known: map[Difference]bool{},
	}
}

// result returns the result: which members of the documented types the response had
// and which it lacked, in order, and the differences.
func (l *looker) result() Sight {
	all := map[Place]bool{}
	for name, seen := range l.hasMember {
		all[Place{Member: name}] = seen
	}
	for o, seen := range l.seen {
		for i, at := range o.places {
			isMissing := !seen[i] && !o.optional[i]
			if seen[i] || isMissing {
				all[at] = all[at] || seen[i] // several objects have the place if they inline its type
			}
		}
	}
	s := Sight{Differences: l.differences}
	for _, at := range slices.SortedFunc(maps.Keys(all), Place.Compare) {
		if all[at] {
			s.Seen = append(s.Seen, at)
		} else {
			s.Missing = append(s.Missing, at)
		}
	}
	return s
}

// addDifference records a difference, once, up to maxDifferences.
func (l *looker) addDifference(d Difference) {
	if len(l.differences) < maxDifferences && !l.known[d] {
		l.known[d] = true
		l.differences = append(l.differences, d)
	}
}

// payloadIn is the object that has the payload.
type payloadIn int

const (
	wholeResponse payloadIn = iota // which also has the members of the envelope
	nestedObject                   // the value of its member "response"
)

// response compares the response with out, which a call decodes its payload into. If its
// syntax is wrong, it compares what comes before the error.
func (l *looker) response(out any) {
	t, member, found := decode.PayloadOf(out)
	if !found {
		return
	}
	switch root := l.dec.PeekKind(); {
	case root == '[':
		_ = l.records(t, Place{Member: member})
	case root != '{': // a value without members: there is nothing to compare
	case member != "":
		l.hasMember[member] = false // missing until it is read
		_ = l.namedPayload(t, member, wholeResponse)
	default:
		_ = l.payload(t, wholeResponse)
	}
}

// inEnvelope reports whether a member belongs to the envelope that every response has.
// The payload is in "response", or beside the members.
func inEnvelope(name string) bool {
	return slices.Contains([]string{"result", "response", "status", "current_api_version"}, name)
}

// namedPayload reads an object that has the payload in the given member. The whole response has
// one of three forms, where "nodes" is the member:
//
//	{"result": true, "nodes": ...}
//	{"result": true, "response": {"nodes": ...}}
//	{"result": true, "response": [...]} if the payload is a list
func (l *looker) namedPayload(t reflect.Type, member string, in payloadIn) error {
	return l.members(func(name string) error {
		isOfEnvelope := in == wholeResponse && inEnvelope(name)
		if name == member || isOfEnvelope {
			l.hasMember[name] = true
		}
		switch {
		case name == member:
			return l.value(t, Place{Member: name})
		case !isOfEnvelope: // and not the payload: an unknown member
			l.addDifference(Difference{Place: Place{Member: name}, Kind: KindUnknown})
		case name == "response" && l.dec.PeekKind() == '{':
			return l.namedPayload(t, member, nestedObject)
		case name == "response" && decode.IsRecords(t):
			return l.value(t, Place{Member: member})
		}
		return l.dec.SkipValue()
	})
}

// payload reads an object that has the members of the payload, of type t: the whole response, or
// the value of its member "response" (nestedObject). The whole response has one of three forms,
// where "id" is a member of the payload:
//
//	{"result": true, "id": ...}
//	{"result": true, "response": {"id": ...}}
//	{"result": true, "response": [...]} if the payload is a list
func (l *looker) payload(t reflect.Type, in payloadIn) error {
	if t.Kind() != reflect.Struct {
		return l.value(t, Place{})
	}
	return l.object(objectOf(t, ""), func(name string, hasField bool) (done bool, err error) {
		isOfPayload := hasField && l.belongsToField(name) // t has the member, and the envelope may have it too
		isOfEnvelope := in == wholeResponse && inEnvelope(name) && !isOfPayload
		if !isOfEnvelope {
			return false, nil // object reads the value, as that of any other member
		}
		l.hasMember[name] = true
		switch kind := l.dec.PeekKind(); {
		case name == "response" && kind == '{':
			err = l.payload(t, nestedObject)
		case name == "response" && kind == '[':
			err = l.records(t, Place{Member: name})
		default:
			err = l.dec.SkipValue()
		}
		return true, err
	})
}

// records reads a list that stands in the place of the payload. T is the type
// of a list of records, or a struct that has one.
func (l *looker) records(t reflect.Type, at Place) error {
	if t.Kind() == reflect.Struct {
		o := objectOf(t, "")
		i := slices.IndexFunc(o.types, decode.IsRecords)
		if i < 0 {
			return l.dec.SkipValue()
		}
		l.seenOf(o)[i] = true
		t, at = o.types[i], o.places[i]
	}
	return l.value(t, at)
}

// belongsToField reports whether a member, whose name was just read, belongs to the field of
// that name which the payload has, and not to the envelope, which may have such a member too.
// "result" and "response" belong to the envelope, and so does "status" if its value is "ok".
func (l *looker) belongsToField(name string) bool {
	switch name {
	case "result", "response":
		return false
	case "status":
		rest := l.body[l.dec.InputOffset():] // from behind the name on, with a colon before the value
		isOK := bytes.HasPrefix(bytes.TrimLeft(rest, ": \t\r\n"), []byte(`"ok"`))
		return !isOK
	}
	return true
}

// seenOf returns which members of an object have been seen, by the index of the field.
// The caller sets those that it sees.
func (l *looker) seenOf(o *object) []bool {
	seen := l.seen[o]
	if seen == nil {
		seen = make([]bool, len(o.places))
		l.seen[o] = seen
	}
	return seen
}

// members reads an object. It calls f with the name of each member, which must read
// or skip the value.
func (l *looker) members(f func(name string) error) error {
	if _, err := l.dec.ReadToken(); err != nil {
		return err
	}
	for l.dec.PeekKind() == '"' {
		name, err := l.dec.ReadToken()
		if err == nil {
			err = f(name.String())
		}
		if err != nil {
			return err
		}
	}
	_, err := l.dec.ReadToken()
	return err
}

// object reads an object that has the fields of o, and records each unknown member as a
// difference. Before each value it calls readValue, unless that is nil, with the name and
// whether a field has it (hasField); if readValue has read the value itself, it returns done.
//
// A method of the type, or a function of [decode.Fix], may take members that have no field. Then
// only those are unknown that the decoding leaves in the Extra.
//
// An unknown member is reported as one of the type of o. But if a type that is inlined in o has the
// Extra, and a field of the inlined type was read, it is reported as one of that type. Example: a
// response is {"upload": {...}} or the upload itself. So its type has the field "upload" and an
// inlined Upload.
func (l *looker) object(o *object, readValue func(name string, hasField bool) (done bool, err error)) error {
	begin, seen := l.dec.InputOffset(), l.seenOf(o) // seen: by field, whether the response has it in any such object
	typeOfUnknown := o.name
	var unknown []string
	err := l.members(func(name string) error {
		i, hasField := o.members[name]
		if readValue != nil {
			if done, err := readValue(name, hasField); done {
				return err
			}
		}
		if !hasField {
			unknown = append(unknown, name)
			return l.dec.SkipValue()
		}
		seen[i] = true
		if o.places[i].Type == o.typeWithExtra { // an inlined one, or o
			typeOfUnknown = o.typeWithExtra
		}
		return l.value(o.typeOf(i, l.dec.PeekKind()), o.places[i])
	})
	if err != nil || len(unknown) == 0 || o.isRaw() { // of a raw one, no member is known
		return err
	}
	if o.takesMore {
		text := bytes.TrimLeft(l.body[begin:l.dec.InputOffset()], " \t\r\n,:") // from the brace of the object on
		unknown = notDecoded(o.typ, text, unknown)
	}
	for _, name := range unknown {
		l.addDifference(Difference{Place: Place{typeOfUnknown, name}, Kind: KindUnknown})
	}
	return nil
}

// notDecoded returns those of the names that no part of t decodes. The names are members of an
// object that have no field in t. Some of them are decoded nevertheless, by a method of t or a
// function of [decode.Fix], which takes them from the Extra: so notDecoded decodes the object as
// a t, and returns the names that are left in the Extra. It returns all names if the object cannot
// be decoded or t has no Extra, because then nothing is known of them.
func notDecoded(t reflect.Type, object []byte, names []string) []string {
	extra := map[string]bool{}
	if known := decode.Leftover(t, object, func(name string) { extra[name] = true }); !known {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return !extra[name] })
}

// value reads the value at a place, which a call decodes as a t, and records its
// differences from t.
func (l *looker) value(t reflect.Type, at Place) error {
	kind := l.dec.PeekKind()
	t = asDecoded(element(t), kind)
	switch {
	case kind == 'n': // null fits any type
		return l.dec.SkipValue()
	case decode.HasMethod(t):
		return l.methodValue(t, at, kind)
	}
	switch t.Kind() {
	case reflect.Struct:
		return l.structure(t, at, kind)
	case reflect.Map:
		return l.mapping(t, at, kind)
	case reflect.Slice:
		return l.list(t, at, kind)
	case reflect.Interface:
		return l.dec.SkipValue()
	default:
		return l.scalar(t, at)
	}
}

// asDecoded returns the type as which t decodes a JSON value of a kind. That is t itself, unless t
// is a [decode.Variant] with another type for the kind.
func asDecoded(t reflect.Type, kind jsontext.Kind) reflect.Type {
	nilPointer := reflect.Zero(reflect.PointerTo(t)) // enough for JSONType, which reads no value
	if v, ok := reflect.TypeAssert[decode.Variant](nilPointer); ok {
		if other := v.JSONType(kind); other != nil {
			return element(other)
		}
	}
	return t
}

// methodValue reads a value that a method of t decodes. Such a method accepts more forms of a
// value, but decodes an object as usual, so the members of an object are compared.
func (l *looker) methodValue(t reflect.Type, at Place, kind jsontext.Kind) error {
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8: // raw JSON
		return l.dec.SkipValue()
	case t.Kind() == reflect.Map && kind == '{':
		return l.mapping(t, at, kind)
	case t.Kind() == reflect.Struct && kind == '{':
		o := objectOf(t, at.within())
		hasMembers := len(o.places) > 0 // an [api.Time] has none, because it is a text or a number
		if hasMembers {
			return l.object(o, nil)
		}
	}
	return l.scalar(t, at)
}

// structure reads a value that is decoded as an object. It may be a text, if a field of
// the type takes that; any other value is a difference.
func (l *looker) structure(t reflect.Type, at Place, kind jsontext.Kind) error {
	if kind == '{' {
		return l.object(objectOf(t, at.within()), nil)
	}
	if f, found := decode.ScalarField(t); found && kind == '"' {
		return l.value(f.Type, at)
	}
	return l.wrongShape("object", at)
}

// mapping reads a value that is decoded as a map, and compares some of its elements. A
// value that is not an object is a difference.
func (l *looker) mapping(t reflect.Type, at Place, kind jsontext.Kind) error {
	if kind != '{' {
		return l.wrongShape("object", at)
	}
	at.Member += "{}"
	n := 0
	return l.members(func(string) error {
		n++
		return l.sampleElement(n-1, t.Elem(), at)
	})
}

// list reads a value that is decoded as a list, and compares some of its elements. A
// value that is not a list is a difference.
func (l *looker) list(t reflect.Type, at Place, kind jsontext.Kind) error {
	if kind != '[' {
		return l.wrongShape("list", at)
	}
	if _, err := l.dec.ReadToken(); err != nil {
		return err
	}
	at.Member += "[]"
	for n := 0; l.dec.PeekKind() != ']'; n++ {
		if err := l.sampleElement(n, t.Elem(), at); err != nil {
			return err
		}
	}
	_, err := l.dec.ReadToken()
	return err
}

// Of the elements of a list or a map the first are read, and of the others a part.
const (
	sampled = 100
	every   = 100
)

// sampleElement reads element n (from 0) of a list or map, or skips it: the first 100 are read,
// then one in 100.
func (l *looker) sampleElement(n int, t reflect.Type, at Place) error {
	if n >= sampled && n%every != 0 {
		return l.dec.SkipValue()
	}
	return l.value(t, at)
}

// wrongShape skips a value of another JSON kind than the documented one, want, and records
// the difference.
func (l *looker) wrongShape(want string, at Place) error {
	l.addDifference(Difference{Place: at, Kind: KindShape, Want: want, Got: kindName(l.dec.PeekKind())})
	return l.dec.SkipValue()
}

// scalar reads a value that is neither an object nor a list, and records a difference
// if it is not of the type t, or if t has constants and the value is none of them.
func (l *looker) scalar(t reflect.Type, at Place) error {
	kind := l.dec.PeekKind()
	raw, err := l.dec.ReadValue()
	if err != nil {
		return err
	}
	v, fits := decode.Fits(t, raw)
	if t == reflect.TypeFor[api.Secret]() {
		fits = kind == '"' || kind == '0' // a Secret decodes any other value as empty
	}
	switch {
	case !fits:
		got, want := kindName(kind), kindOf(t)
		if got == want { // it has a fraction, or is too large
			want = "integer"
		}
		l.addDifference(Difference{Place: at, Kind: KindShape, Want: want, Got: got})
	case t.Kind() == reflect.String && kind == '"':
		if value := v.String(); value != "" && !isDocumented(t.String(), value) {
			l.addDifference(Difference{Place: at, Kind: KindValue, Got: value})
		}
	}
	return nil
}

// isDocumented reports whether a value may occur in a string type: the type has a
// constant of this value, or has no constants, as a plain string.
func isDocumented(typ, value string) bool {
	all := constants(typ)
	return all == nil || slices.Contains(all, value)
}

// kindName returns the name of a JSON kind, as a Difference shows it.
func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "bool"
	case '[':
		return "list"
	case '{':
		return "object"
	default:
		return "null"
	}
}

// kindOf returns the JSON kind of a type.
func kindOf(t reflect.Type) string {
	t = element(t)
	switch t.Kind() {
	case reflect.Struct:
		switch t {
		case reflect.TypeFor[api.Time](), reflect.TypeFor[time.Time]():
			return "time"
		case reflect.TypeFor[api.Secret]():
			return "string"
		}
		return "object"
	case reflect.Map:
		return "object"
	case reflect.Slice:
		return "list"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	default:
		return "number"
	}
}
