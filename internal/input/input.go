// Package input makes the errors of arguments, which have the Go path of an argument and
// its name on the wire. The path is looked up when there is an error, so that a call
// without one costs nothing.
package input

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fastio-go/fastio/api"
)

// Args are arguments of an operation: the parameters of its method, or the fields of one
// of them.
type Args struct {
	Op string

	of      reflect.Type // the struct with the fields; nil for parameters
	head    string       // the Go path of the struct; "" means the name of its type
	renamed []string     // pairs of a name on the wire and of a parameter
}

// Fields returns the fields of T, which is the request or the options of a method. A field
// has the names on the wire that its tag "wire" or "json" lists, or its Go name without
// regard to case and underscores.
func Fields[T any](op string) Args { return Args{Op: op, of: reflect.TypeFor[T]()} }

// Element returns the fields of T, an element of the list that is a parameter.
func Element[T any](op, list string, i int) Args {
	return Args{Op: op, of: reflect.TypeFor[T](), head: At(list, i)}
}

// At returns the name of an element of a list.
func At(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// Parameters returns the parameters of a method. A parameter is called as on the wire, in
// camel case and without the suffix "_id", unless it is in the pairs of a name on the wire
// and a name in Go.
func Parameters(op string, renamed ...string) Args { return Args{Op: op, renamed: renamed} }

// Refuse returns an [*api.InputError] for the argument with a name on the wire. What is
// not sent under a name is given by its Go name.
// A field of a field follows a dot: "reference.page", "links[2].expires". No name stands
// for the whole struct.
func (a Args) Refuse(wire, rule, got string) error {
	field, sent := a.goPath(wire)
	return &api.InputError{Op: a.Op, Field: field, Wire: sent, Rule: rule, Got: got}
}

// goPath returns the Go path of an argument, and its names on the wire as far as they differ
// from the Go names. For "items[2].user_name" it returns "Request.Items[2].User" as field and
// "items.user_name" as sent. A part of wire may also be another spelling of a Go name: sent then
// has the name on the wire (wireName). If a part of wire is unknown, goPath returns the path of
// the parts before it as field, and wire as sent.
func (a Args) goPath(wire string) (field, sent string) {
	if a.of == nil {
		return a.parameter(wire)
	}
	field, of := a.head, a.of
	if field == "" {
		field = of.Name()
	}
	if wire == "" {
		return field, ""
	}
	var sentNames []string
	for part := range strings.SplitSeq(wire, ".") {
		name, index, isElement := strings.Cut(part, "[")
		f, found := fieldOf(of, name)
		if !found {
			return field + "." + part, wire
		}
		field, of = field+"."+f.Name, f.Type
		if isElement {
			field += "[" + index
		}
		if sentName := wireName(f, name); sentName != f.Name {
			sentNames = append(sentNames, sentName)
		}
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
	}
	return field, strings.Join(sentNames, ".")
}

// parameter returns the name of the parameter of a method for a name on the
// wire, and that name without an index.
func (a Args) parameter(wire string) (field, sent string) {
	name, index, isElement := strings.Cut(wire, "[")
	if isElement {
		index = "[" + index
	}
	for i := 0; i+1 < len(a.renamed); i += 2 { // pairs: the name on the wire, the parameter
		if a.renamed[i] == name {
			return a.renamed[i+1] + index, name
		}
	}
	return camel(name) + index, name
}

// fieldOf returns the field of a struct that has a name on the wire, or else a similar
// name in Go, and false if there is none.
func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	var similar reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		switch {
		case f.Name == name, named(f, name):
			return f, true
		case fold(f.Name) == fold(name) && similar.Name == "":
			similar = f
		}
	}
	return similar, similar.Name != ""
}

// wireName returns name, by which the field f was found. But if name is only another spelling of the
// Go name, such as user_id for UserID, it returns the first name in the tag of f.
func wireName(f reflect.StructField, name string) string {
	firstInTag, _, _ := strings.Cut(f.Tag.Get("wire"), ",")
	isOtherSpelling := f.Name != name && !named(f, name)
	if isOtherSpelling && firstInTag != "" {
		return firstInTag
	}
	return name
}

// named reports whether a field has a tag with a name on the wire.
func named(f reflect.StructField, wire string) bool {
	return slices.Contains(strings.Split(cmp.Or(f.Tag.Get("wire"), f.Tag.Get("json")), ","), wire)
}

func fold(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
}

// camel returns the name of a parameter: "emailAddress" for "email_address", "node" for
// "node_id", "nodes" for "node_ids".
func camel(wire string) string {
	if list, isList := strings.CutSuffix(wire, "_ids"); isList {
		wire = list + "s"
	}
	words := strings.Split(strings.TrimSuffix(wire, "_id"), "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = string(unicode.ToUpper(rune(w[0]))) + w[1:]
		}
	}
	return strings.Join(words, "")
}

const idDigits = 19

func isID(text string) bool { return len(text) == idDigits && strings.Trim(text, "0123456789") == "" }

// NumericID returns an [*api.InputError] if id is not a numeric ID, for an argument that
// accepts no custom name.
func (a Args) NumericID(wire string, id api.ID) error {
	if isID(string(id)) {
		return nil
	}
	return a.Refuse(wire, "must be an ID of 19 digits, not a custom name", strconv.Quote(string(id)))
}

// PlainIDs returns ids as strings, or an [*api.InputError] for a blank one.
func (a Args) PlainIDs(wire string, ids []api.OpaqueID) ([]string, error) {
	plain := make([]string, len(ids))
	for i, id := range ids {
		plain[i] = id.Plain()
		if plain[i] == "" {
			return nil, a.Refuse(At(wire, i), "must not be blank", strconv.Quote(string(id)))
		}
	}
	return plain, nil
}

// IsAddress reports whether text may be an e-mail address.
func IsAddress(text string) bool {
	name, host, found := strings.Cut(text, "@")
	return found && name != "" && host != "" &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// Person returns an [*api.InputError] unless who is a user ID, [api.Me] or an e-mail
// address. A request without a person would be one about the caller.
func (a Args) Person(wire string, who api.Person) error {
	if isID(string(who)) || string(who) == string(api.Me) || IsAddress(string(who)) {
		return nil
	}
	return a.Refuse(wire, "must be an ID of 19 digits, me or an e-mail address", strconv.Quote(string(who)))
}

// Key rejects a key that cannot be a path segment. The error does not contain it.
func (a Args) Key(wire string, key api.Secret) error {
	if strings.Trim(strings.TrimSpace(key.Reveal()), ".") == "" {
		return a.Refuse(wire, "must not be blank or consist of dots", "")
	}
	return nil
}

// OneOf requires that an argument of a call is a profile of one of the kinds. wire is
// the name of the argument in the API, from which the name of the Go field is derived.
func (a Args) OneOf(wire string, p api.Profile, kinds ...api.ProfileKind) error {
	const field = "" // set below
	err := p.OneOf(a.Op, field, kinds...)
	if e, ok := err.(*api.InputError); ok { //nolint:errorlint // OneOf does not wrap it
		e.Field, e.Wire = a.goPath(wire)
	}
	return err
}
