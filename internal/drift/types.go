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
	typ      reflect.Type
	name     string
	places   []Place              // of the typed members
	types    []reflect.Type       // of their values
	optional []bool               // whether it may be absent: a function of [decode.Fix] takes or sets it
	forms    map[int]reflect.Type // what a function of [decode.Fix] takes under the name of a field
	members  map[string]int       // their names, and their other names, as indexes of places
	holder   string               // the type that has the Extra: this one, or one that is inlined in it
	methods  bool                 // a method, or a function registered by decode.Fix, may take members
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
	o := &object{typ: t, name: key.name, methods: decode.HasMethod(t)}
	o.members, o.forms = map[string]int{}, map[int]reflect.Type{}
	o.addFields(t, key.name)
	objects.Store(key, o)
	return o
}

// addFields adds the fields of the struct type t to o, as members of an object called name,
// and then those of inlined structs, which have lower precedence. Last, it adds the members
// that the function registered for t by [decode.Fix] takes from Extra: one with the name of a
// field is a second form of that.
func (o *object) addFields(t reflect.Type, name string) {
	takenFromExtra, hasFix := decode.FixOf(t)
	o.methods = o.methods || hasFix
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case strings.HasSuffix(options, "unknown"):
			o.holder = cmp.Or(o.holder, name) // the field is the Extra
		case f.IsExported() && tag != "-" && !decode.IsInlined(f):
			at := Place{name, cmp.Or(tag, f.Name)}
			o.addMember(at, f.Type, f.Tag.Get("also"))
			if hasFix && tag == "" { // the function sets the field; no response has its name
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
		if i, typed := o.members[m.Name]; typed {
			o.forms[i] = m.Type
			continue
		}
		o.addMember(Place{name, m.Name}, m.Type, "")
		o.optional[o.members[m.Name]] = true
	}
}

// addMember adds a member of the object, with a field of its type, under its
// name and its other names, which commas separate.
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
func (o *object) isRaw() bool { return len(o.places) == 0 && !o.methods }

// typeOf returns the type of a member for a value of a JSON kind. A member may have a
// second type, in forms: that of values which a function of decode.Fix converts. It is
// returned if the kind of the value fits the second type and not the first one.
func (o *object) typeOf(i int, kind jsontext.Kind) reflect.Type {
	form, found := o.forms[i]
	if found && kindOf(form) == kindName(kind) && kindOf(o.types[i]) != kindName(kind) {
		return form
	}
	return o.types[i]
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
