package drift

import (
	"cmp"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/internal/decode"
)

// object describes the objects that are decoded into a struct type.
type object struct {
	typ         reflect.Type
	name        string
	places      []Place              // of the typed members
	types       []reflect.Type       // of their values
	optional    []bool               // whether it may be absent: a function of [decode.Fix] takes or sets it
	secondTypes map[int]reflect.Type // second types of members, by their index: see typeOf
	members     map[string]int       // their names, and their other names, as indexes of places

	typeWithExtra string // the name of the type that has the Extra: this one, or one that is inlined in it
	takesMore     bool   // a method, or a function of decode.Fix, may take members that have no field
}

type objectKey struct {
	typ  reflect.Type
	name string
}

var objects sync.Map //nolint:gochecknoglobals // a cache of *object by objectKey

// objectOf returns the object of a struct type. An anonymous type has the given name.
func objectOf(t reflect.Type, name string) *object {
	key := objectKey{t, typeName(t, name)}
	if cached, found := objects.Load(key); found {
		if o, ok := cached.(*object); ok {
			return o
		}
	}
	o := &object{typ: t, name: key.name, takesMore: decode.HasMethod(t)}
	o.members, o.secondTypes = map[string]int{}, map[int]reflect.Type{}
	o.addFields(t, key.name)
	objects.Store(key, o)
	return o
}

// addFields adds the fields of the struct type t to o, as members of an object called name.
// Then it adds those of inlined structs: a member that o has already is not replaced.
//
// A function that is registered for t by [decode.Fix] completes a decoded t: it sets fields, some
// of which have no JSON name, and takes members from Extra. The members that it takes are added
// last. If such a member has a field as well, o has it already, and notes the type that the
// function reads as the second type of the member. takesMore records that there is a function.
func (o *object) addFields(t reflect.Type, name string) {
	takenFromExtra, hasFix := decode.FixOf(t)
	o.takesMore = o.takesMore || hasFix
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		isExtra := strings.HasSuffix(options, "unknown")
		switch {
		case isExtra: // unknown members are reported as those of this type
			o.typeWithExtra = cmp.Or(o.typeWithExtra, name)
		case f.IsExported() && tag != "-" && !decode.IsInlined(f):
			at := Place{name, cmp.Or(tag, f.Name)}
			o.addMember(at, f.Type, f.Tag.Get("also"))
			isSetByFix := hasFix && tag == "" // the function sets it: no response has a member of this Go name
			if isSetByFix {
				o.optional[o.members[at.Member]] = true
			}
		}
	}
	for f := range t.Fields() {
		if inner := element(f.Type); decode.IsInlined(f) && inner.Kind() == reflect.Struct {
			o.addFields(inner, typeName(inner, name))
		}
	}
	for _, m := range takenFromExtra {
		if i, hasField := o.members[m.Name]; hasField {
			o.secondTypes[i] = m.Type
			continue
		}
		o.addMember(Place{name, m.Name}, m.Type, "")
		o.optional[o.members[m.Name]] = true
	}
}

// addMember adds a member, whose field has the type t, under its name and the other names in
// also, which commas separate. If o has a member of that name already, it does nothing.
func (o *object) addMember(at Place, t reflect.Type, also string) {
	if _, shadowed := o.members[at.Member]; shadowed {
		return
	}
	i := len(o.places)
	o.members[at.Member] = i
	o.places, o.types, o.optional = append(o.places, at), append(o.types, t), append(o.optional, false)
	for name := range strings.SplitSeq(also, ",") {
		if _, taken := o.members[name]; !taken && name != "" {
			o.members[name] = i
		}
	}
}

// isRaw reports whether no member of the object is known: the call ignores its result, or the
// type has only an Extra, since the shape of the response is not documented.
func (o *object) isRaw() bool { return len(o.places) == 0 && !o.takesMore }

// typeOf returns the type of a member for a value of a JSON kind. A member may have a
// second type, whose values a function of [decode.Fix] converts: a summary, whose field is a
// bool, may be a text. The second type is returned if only that fits the kind of the value.
func (o *object) typeOf(member int, kind jsontext.Kind) reflect.Type {
	fits := func(t reflect.Type) bool { return kindOf(t) == kindName(kind) }
	first := o.types[member]
	second, hasSecond := o.secondTypes[member]
	if hasSecond && fits(second) && !fits(first) {
		return second
	}
	return first
}

// typeName returns the name of a type without type arguments, name for an anonymous one.
func typeName(t reflect.Type, name string) string {
	if t.Name() == "" {
		return name
	}
	short, _, _ := strings.Cut(t.String(), "[")
	return short
}

// within returns the name of an anonymous type in a place.
func (p Place) within() string {
	return strings.TrimLeft(p.Type+"."+strings.TrimRight(p.Member, "[]{}"), ".")
}

// element returns the type that a pointer type points to, and t for other types.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// NamesOfRows returns the names under which a response may have the rows of a page: the name
// of the payload or, if that has none, those of the first list of records in the payload. Out
// is the argument of a call, as for [Look]. The result is nil if the payload has no such list.
func NamesOfRows(out any) []string {
	page, member, found := decode.PayloadOf(out)
	switch {
	case member != "":
		return []string{member}
	case !found, page.Kind() != reflect.Struct:
		return nil
	}
	for f := range page.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && decode.IsRecords(f.Type) {
			return append([]string{name}, strings.Split(f.Tag.Get("also"), ",")...)
		}
	}
	return nil
}
