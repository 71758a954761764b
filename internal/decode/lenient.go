package decode

import (
	"bytes"
	"encoding"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
)

// converter decodes values that do not have the documented type. It converts
// numbers to text, text to numbers, words to booleans, and empty lists to empty
// objects, where a pointer is left nil.
//
// A value that cannot be converted is an error, unless tolerant is set and the
// value is not required: then it is left zero and kept in the Extra map of the
// enclosing struct, if there is one. Required are the IDs of records, the members
// that control paging, and the records and lists of records that the call returns.
type converter struct {
	tolerant bool
	scalars  jsonv2.Options  // converts scalars only
	structs  []reflect.Value // the enclosing structs by depth; invalid for other containers
}

var errUnreadable = errors.New("a value does not have the documented type")

// convertValue decodes a JSON value whose kind does not fit the type that v points to,
// by conversion, such as "1" into a number. It returns errSkip to leave the value to
// the default decoding, if that fits or the value is null. A value that cannot be
// converted is left to [converter.keepUnreadable], which keeps it if c is tolerant and
// returns an error otherwise.
//
// The JSON method of a type (ownMethod) may fail. In the default decoding that ends the
// decoding of the response. So a tolerant c calls the method itself
// ([converter.convertOrCallMethod]), except for values that it never refuses (fitsDefault).
func (c *converter) convertValue(dec *jsontext.Decoder, v any) error {
	kind := dec.PeekKind()
	to := reflect.ValueOf(v).Elem()
	hasValuesInside := kind == '{' || kind == '['
	if c.tolerant && hasValuesInside { // to.Extra gets those that do not fit
		c.setStruct(dec.StackDepth()+1, to)
	}
	t := traitsOf(pointee(to.Type()))
	hasNoValue := kind == 'n' || kind == jsontext.KindInvalid // null, or invalid JSON
	isLeftToMethod := t.ownMethod && !c.tolerant
	if hasNoValue || isLeftToMethod || c.fitsDefault(to, t, kind) {
		return errSkip
	}
	isMapWithMethod := t.kind == reflect.Map && t.ownMethod
	if isMapWithMethod && kind == '{' { // the method would decode the elements without c
		return c.decodeMap(dec, to)
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	isPointerToStruct := to.Kind() == reflect.Pointer && t.kind == reflect.Struct
	if isPointerToStruct && isEmptyList(raw) { // the platform sends [] in place of an absent object
		to.SetZero()
		return nil
	}
	if c.convertOrCallMethod(to, t, raw) {
		return nil
	}
	return c.keepUnreadable(dec, to, raw)
}

// convertOrCallMethod stores a JSON value in the Go value to: with the JSON method of its type,
// if there is one, else by [convert]. For a pointer, it allocates the target. It returns false
// if the JSON value cannot be converted.
func (c *converter) convertOrCallMethod(to reflect.Value, t *traits, raw jsontext.Value) bool {
	for to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if t.ownMethod {
		return jsonv2.Unmarshal(raw, to.Addr().Interface(), options, c.scalars) == nil
	}
	return convert(to, raw)
}

// decodeMap decodes an object into a map without the JSON method of the map, which would
// decode the elements without c. A map of booleans has rules of its own: see decodeFlags.
func (c *converter) decodeMap(dec *jsontext.Decoder, to reflect.Value) error {
	if to.Type().Elem().Kind() == reflect.Bool {
		return c.decodeFlags(dec, to)
	}
	withoutMethod := reflect.PointerTo(reflect.MapOf(to.Type().Key(), to.Type().Elem()))
	return jsonv2.UnmarshalDecode(dec, to.Addr().Convert(withoutMethod).Interface())
}

// traits are what the decoder needs to know of a type.
type traits struct {
	kind      reflect.Kind
	ownMethod bool // has its own JSON method
	text      bool // is a string in JSON, such as a time
	wraps     bool // is a nested of any type
}

var cachedTraits sync.Map //nolint:gochecknoglobals // a cache of *traits by reflect.Type

// traitsOf returns what decoding needs to know of a type, from a cache if it can.
func traitsOf(t reflect.Type) *traits {
	if cached, ok := cachedTraits.Load(t); ok {
		if found, ok := cached.(*traits); ok {
			return found
		}
	}
	p := reflect.PointerTo(t)
	found := &traits{kind: t.Kind(), text: isText(t), wraps: p.Implements(reflect.TypeFor[wrapper]())}
	found.ownMethod = found.text || p.Implements(reflect.TypeFor[jsonv2.UnmarshalerFrom]()) ||
		p.Implements(reflect.TypeFor[jsonv2.Unmarshaler]())
	cachedTraits.Store(t, found)
	return found
}

// fitsDefault reports whether a value of this JSON kind is left to the default decoding,
// which also calls the JSON method of a type (ownMethod). If that refuses the value, the
// whole response cannot be decoded. So it gets only kinds that it does not refuse, except for
// a slice if c is not tolerant: a value that is not a list has to be refused then.
func (c *converter) fitsDefault(to reflect.Value, t *traits, kind jsontext.Kind) bool {
	switch t.kind {
	case reflect.Struct:
		isObject := kind == '{' && !t.text // t.text: a struct that is a string in JSON, such as a time
		return isObject || t.wraps         // a wrapper of the payload reads any kind
	case reflect.Map:
		// decodeMap reads a map with a method. A pointer to one is left to the default decoding, which makes a map
		// and calls convertValue again with that.
		isPointer := to.Kind() == reflect.Pointer
		return kind == '{' && (!t.ownMethod || isPointer)
	case reflect.Slice:
		methodReadsObject := kind == '{' && t.ownMethod
		return !c.tolerant || kind == '[' || methodReadsObject
	case reflect.String:
		return kind == '"' && !t.ownMethod
	case reflect.Bool:
		return (kind == 't' || kind == 'f') && !t.ownMethod
	case reflect.Interface:
		return true
	default: // a number, which may be too large or have a fraction
		return false
	}
}

// setStruct records, for keepInExtra and required, the struct into which the values at a
// depth of the response are decoded: none if they are those of a list or a map.
func (c *converter) setStruct(depth int, to reflect.Value) {
	for len(c.structs) <= depth {
		c.structs = append(c.structs, reflect.Value{})
	}
	c.structs[depth] = reflect.Value{}
	if to.Kind() == reflect.Struct {
		c.structs[depth] = to
	}
}

// keepUnreadable handles a value that cannot be converted to the documented type. It
// returns an error if the value is required. Otherwise the field stays zero, and the
// value is kept in Extra, unless it is an empty list, which says nothing, or a secret,
// which must not be printed.
func (c *converter) keepUnreadable(dec *jsontext.Decoder, to reflect.Value, raw jsontext.Value) error {
	if !c.tolerant || c.required(dec, pointee(to.Type())) {
		return errUnreadable
	}
	to.SetZero()
	if isEmptyList(raw) || pointee(to.Type()) == reflect.TypeFor[api.Secret]() {
		return nil
	}
	c.keepInExtra(dec, raw)
	return nil
}

// keepInExtra stores raw in the Extra of the enclosing struct, if it has one, under the
// name of the member that was read last.
func (c *converter) keepInExtra(dec *jsontext.Decoder, raw jsontext.Value) {
	enclosing := c.structs[dec.StackDepth()]
	if !enclosing.IsValid() {
		return
	}
	if extra := extraOf(enclosing); extra.IsValid() {
		if extra.IsNil() {
			extra.Set(reflect.MakeMap(extra.Type()))
		}
		name := dec.StackPointer().LastToken()
		extra.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(raw.Clone()).Convert(extra.Type().Elem()))
	}
}

// decodeFlags decodes a map of booleans. A value of another kind is not in the map, because
// false would be a statement of the server. It is kept in Extra, unless it is null.
func (c *converter) decodeFlags(dec *jsontext.Decoder, to reflect.Value) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(raw, &members, options); err != nil {
		return err
	}
	to.Set(reflect.MakeMap(to.Type()))
	// What is decoded, or null, is deleted from members; the rest is kept.
	maps.DeleteFunc(members, func(name string, value jsontext.Value) bool {
		flag := reflect.New(to.Type().Elem())
		if value.Kind() == 'n' {
			return true
		}
		if jsonv2.Unmarshal(value, flag.Interface(), options, c.scalars) != nil {
			return false
		}
		to.SetMapIndex(reflect.ValueOf(name), flag.Elem())
		return true
	})
	if len(members) == 0 {
		return nil
	}
	rest, err := jsonv2.Marshal(members, jsonv2.Deterministic(true), options)
	if err == nil {
		c.keepInExtra(dec, rest)
	}
	return err
}

// required reports whether the value that was read last, of documented type t, is one
// without which the response cannot be used: an ID, a member that controls paging, the
// payload, a list of records in it, or an object or list in one of these lists.
func (c *converter) required(dec *jsontext.Decoder, t reflect.Type) bool {
	depth := dec.StackDepth()
	if depth == 0 {
		return true
	}
	enclosing := c.structs[depth]
	kind, _ := dec.StackIndex(depth)
	isElement := kind == '['
	switch {
	case isElement: // an object or list in a list: required if that list is
		list, depthOfObject := reflect.SliceOf(t), depth-1 // the object is the one that has the list as a member
		return isContainer(t) && c.isPayload(dec, depthOfObject, list)
	case isContainer(t):
		return c.isPayload(dec, depth, t)
	case !enclosing.IsValid(): // a member of a map
		return false
	}
	field := fieldOf(enclosing.Type(), dec.StackPointer().LastToken()) // its Go name says what the member is
	return slices.Contains([]string{"ID", "HasMore", "NextCursor", "Cursor", "NextOffset"}, field)
}

// isPayload reports whether an object or list of type t is the payload or a list of
// records in it. Depth is the number of objects and lists around it. In
//
//	{"response": {"count": 1, "files": [{"id": "1", "parts": [{}]}]}}
//
// the response itself has depth 0, its member response depth 1, and files depth 2. The
// payload is one of the three, and a list of records (isRecords) may be deeper in objects.
// But parts is neither, because it is inside a list. Nor is a member of a record, which is
// an object whose type has an Extra.
func (c *converter) isPayload(dec *jsontext.Decoder, depth int, t reflect.Type) bool {
	for level := 1; level <= depth; level++ {
		if kind, _ := dec.StackIndex(level); kind == '[' {
			return false // inside a list
		}
	}
	if enclosing := c.structs[depth]; enclosing.IsValid() && extraOf(enclosing).IsValid() { // invalid: a map
		return false // a member of a record
	}
	isOfEnvelope := depth <= 1 // a member of it, or the response itself
	isOfResponse := depth == 2 && strings.HasPrefix(string(dec.StackPointer()), "/response/")
	return isOfEnvelope || isOfResponse || isRecords(t)
}

// pointee returns the type that t points to, through any number of pointers, and t
// itself for other types.
func pointee(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// isContainer reports whether t is decoded from an object or a list.
func isContainer(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		return !isText(t)
	case reflect.Map, reflect.Slice:
		return true
	default:
		return false
	}
}

// isRecords reports whether t is a list of records.
func isRecords(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && pointee(t.Elem()).Kind() == reflect.Struct && !isText(pointee(t.Elem()))
}

// inlined reports whether the members of f stand among those of its struct.
func inlined(f reflect.StructField) bool {
	tag := f.Tag.Get("json")
	return tag == "" && f.Anonymous || strings.HasPrefix(tag, ",embed,inline")
}

// fieldOf returns the Go name of the field of t with the given JSON name, also in
// inlined structs; "" if there is none.
func fieldOf(t reflect.Type, name string) string {
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Name
		}
	}
	for f := range t.Fields() {
		if inlined(f) {
			if field := fieldOf(pointee(f.Type), name); field != "" {
				return field
			}
		}
	}
	return ""
}

// extraOf returns the map of a struct that holds the members without a field (Extra),
// also one of an inlined struct. It returns an invalid value if there is none.
func extraOf(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	for f := range v.Type().Fields() {
		if strings.HasSuffix(f.Tag.Get("json"), ",unknown") && f.Type.Kind() == reflect.Map {
			return v.FieldByIndex(f.Index)
		}
		if inlined(f) {
			if extra := extraOf(v.FieldByIndex(f.Index)); extra.IsValid() {
				return extra
			}
		}
	}
	return reflect.Value{}
}

// isText reports whether values of t are strings in JSON, such as times.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// isEmptyList reports whether raw is [], which the platform also sends for an
// empty object.
func isEmptyList(raw jsontext.Value) bool {
	return raw.Kind() == '[' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}

// scalarField returns the field of a struct tagged scalar:"true", which takes the value
// if the response has a string in place of the object. It returns false if there is none.
func scalarField(t reflect.Type) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if f.Tag.Get("scalar") != "" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// convert stores a JSON value in a Go value of another type, such as a number in a
// string field, or an empty list in a struct. It reports whether that is possible
// without loss; if not, the Go value may have been changed, and the caller sets it to zero
// or fails. An empty text is zero, and 3.0 is an integer too. The caller has handled null, and a
// text for a string.
func convert(to reflect.Value, raw jsontext.Value) bool {
	kind := raw.Kind()
	if kind == '{' || kind == '[' {
		return (to.Kind() == reflect.Struct || to.Kind() == reflect.Map) && isEmptyList(raw)
	}
	if to.Kind() == reflect.String {
		to.SetString(string(raw)) // a number or boolean, as it is written
		return true
	}
	if kind != '"' && kind != '0' {
		return false
	}
	text := strings.TrimSpace(strings.Trim(string(raw), `"`))
	switch to.Kind() {
	case reflect.Struct:
		f, found := scalarField(to.Type())
		if !found || kind != '"' { // only texts, such as an ID, are sent in place of an object
			return false
		}
		return jsonv2.Unmarshal(raw, to.FieldByIndex(f.Index).Addr().Interface(), options) == nil
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			to.SetBool(true)
		case "false", "no", "off", "0", "":
			to.SetBool(false)
		default:
			return false
		}
		return true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(strings.TrimSuffix(text, ".0"), 10, to.Type().Bits())
		to.SetInt(n)
		return err == nil || text == ""
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(strings.TrimSuffix(text, ".0"), 10, to.Type().Bits())
		to.SetUint(n)
		return err == nil || text == ""
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(text, to.Type().Bits())
		to.SetFloat(n)
		return err == nil || text == ""
	default:
		return false
	}
}
