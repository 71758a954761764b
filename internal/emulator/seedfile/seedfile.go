// Package seedfile reads and checks seed files, in the form of [seed.File].
package seedfile

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// schema is a JSON Schema of draft 2020-12, as far as seed files need it.
type schema struct {
	Dialect    string             `json:"$schema,omitzero"`
	Title      string             `json:"title,omitzero"`
	Type       string             `json:"type,omitzero"`
	Format     string             `json:"format,omitzero"`
	Pattern    string             `json:"pattern,omitzero"`
	Encoding   string             `json:"contentEncoding,omitzero"`
	Enum       []string           `json:"enum,omitzero"`
	Minimum    *int64             `json:"minimum,omitzero"`
	Maximum    *int64             `json:"maximum,omitzero"`
	Items      *schema            `json:"items,omitzero"`
	AnyOf      []*schema          `json:"anyOf,omitzero"`
	Properties map[string]*schema `json:"properties,omitzero"`
	Required   []string           `json:"required,omitzero"`
	Additional *bool              `json:"additionalProperties,omitzero"`

	want string         // the values, in words
	form *regexp.Regexp // of Pattern, once it was used
}

// pattern returns the Pattern, which it compiles at the first call.
func (s *schema) pattern() *regexp.Regexp {
	if s.form == nil {
		s.form = regexp.MustCompile(s.Pattern)
	}
	return s.form
}

// Schema returns the JSON Schema of seed files.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[seed.File](), noTag)
	s.Dialect, s.Title = "https://json-schema.org/draft/2020-12/schema", "Seed file of fastio-emulator"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // it holds nothing but text and numbers
	}
	return append(text, '\n')
}

// schemaOf returns the schema of a Go type in a seed file. The tag of its field gives the
// kinds of ids and the limits.
func schemaOf(t reflect.Type, tag reflect.StructTag) *schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &schema{Type: "string", Format: "date-time", want: `a time such as "2026-01-31T12:00:00Z"`}
	case t == reflect.TypeFor[seed.JSON](), t.Kind() == reflect.Interface:
		return &schema{want: "any value"}
	case t == reflect.TypeFor[[]byte]():
		return &schema{Type: "string", Encoding: "base64", want: "base64 with its padding, as of RFC 4648"}
	}
	switch t.Kind() { //nolint:exhaustive // a seed file has no others
	case reflect.Pointer:
		return schemaOf(t.Elem(), tag)
	case reflect.Slice:
		return &schema{Type: "array", Items: schemaOf(t.Elem(), tag), want: "a list"}
	case reflect.Map:
		return &schema{Type: "object", want: "an object"}
	case reflect.Struct:
		s := structSchema(t)
		if tag.Get("ref") == "" {
			return s
		}
		id := textSchema(tag)
		return &schema{AnyOf: []*schema{id, s}, want: id.want + ", or an object"} // the object or its id alone
	case reflect.Bool:
		return &schema{Type: "boolean", want: "true or false"}
	case reflect.String:
		return textSchema(tag)
	}
	return integerSchema(tag)
}

// structSchema returns the schema of a struct, with a property for each field.
func structSchema(t reflect.Type) *schema {
	s := &schema{Type: "object", Title: t.Name(), Properties: map[string]*schema{}, Additional: new(false), want: "an object"}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		s.Properties[name] = schemaOf(field.Type, field.Tag)
		if field.Tag.Get("required") != "" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// integerSchema returns the schema of a whole number of 0 or more, with the maximum in the
// tag.
func integerSchema(tag reflect.StructTag) *schema {
	s := &schema{Type: "integer", Minimum: new(int64(0)), want: "a whole number of 0 or more"}
	if most, err := strconv.ParseInt(tag.Get("max"), 10, 64); err == nil {
		s.Maximum, s.want = &most, "a whole number of 0 to "+tag.Get("max")
	}
	return s
}

// The forms of ids and labels. A label is too short for an id.
const (
	profileForm = `[0-9]{19}`
	opaqueForm  = `[0-9A-Za-z]{29,30}|([0-9A-Za-z]{5}-){5}[0-9A-Za-z]{4,5}`
	labelForm   = `[A-Za-z][0-9A-Za-z_.-]{0,23}`

	profileWords = "19 digits"
	opaqueWords  = "29 or 30 letters and digits"
	labelWords   = "a label (a letter, then up to 23 letters, digits, _, . and -)"
)

// textSchema returns the schema of a field with a text. The tag of the field can limit the
// text to a list, or to the ids of a kind and the labels that stand for them. An id for which
// no label can stand, such as a token, may be any text.
func textSchema(tag reflect.StructTag) *schema {
	s := &schema{Type: "string", want: "a text"}
	kind := tag.Get("id") + tag.Get("ref") // a field has one of them at most
	switch {
	case tag.Get("enum") != "":
		s.Enum = enumValues(tag.Get("enum"))
		s.want = `one of "` + strings.Join(s.Enum, `", "`) + `"`
		return s
	case kind == "" || !hasLabels(kind):
		return s
	case kind == "scope":
		s.Pattern = `[a-z_]+:(\*|` + profileForm + `|` + labelForm + `):(r|rw|rwa)`
		s.want = "a scope such as workspace:4012345678901234567:rw, with an id, * or a label, and r, rw or rwa"
	case kind == "any":
		s.Pattern = profileForm + `|` + opaqueForm + `|` + labelForm
		s.want = "an id (" + profileWords + ", or " + opaqueWords + ") or " + labelWords
	case isProfile(kind):
		s.Pattern = profileForm + `|` + labelForm
		s.want = "the id of a " + described(kind) + " (" + profileWords + ") or " + labelWords
	default:
		s.Pattern = opaqueForm + `|` + labelForm
		s.want = "the id of a " + described(kind) + " (" + opaqueWords + ") or " + labelWords
	}
	s.Pattern = "^(" + s.Pattern + ")$"
	return s
}

// described returns a list of kinds in words.
func described(kinds string) string { return strings.ReplaceAll(kinds, " ", " or ") }

// isProfile reports whether kinds are those of profiles.
func isProfile(kinds string) bool {
	first, _, _ := strings.Cut(kinds, " ")
	return slices.Contains([]string{"user", "org", "workspace", "share", "fileshare"}, first)
}

// hasLabels reports whether a label can stand for an id of a kind. Tokens, clients and
// e-mail addresses have none: they are their own ids.
func hasLabels(kind string) bool { return kind != "token" && kind != "client" && kind != "email" }

// enumValues returns the values of the tag enum, which has a list or the name of a long list.
func enumValues(enum string) []string {
	long := map[string]string{
		"access_options": "Only members of the Share or Workspace|Members of the Share, Workspace or Org|" +
			"Anyone with a registered account|Anyone with the link",
		"perm_join":          "Only Org Owners|Admin or above|Member or above",
		"perm_member_manage": "Admin or above|Member or above",
		"org_managers":       "Owner only|Admin or above|Member or above",
		"notify_options": "Do not notify me|Notify me in app|Notify me in app and via email|" +
			"Notify me via app, email and text message",
		"notify":            "never|notify_on_file_received|notify_on_file_sent_or_received",
		"ai_state":          "disabled|pending|in_progress|ready|indexed|failed",
		"declared_type":     "string|bool|int|float|json|url|datetime",
		"file_share_access": "anyone_with_link|any_registered|named_people",
	}
	return strings.Split(cmp.Or(long[enum], enum), "|")
}

// World is where the objects of a seed file are going to be.
type World interface {
	// NewID returns an unused id for an object of a kind.
	NewID(kind string) string
	// Exists reports whether an object exists, by its lower-case id without hyphens.
	Exists(kind, id string) bool
}

// Read reads a seed file, checks it, replaces labels by ids, and replaces the names of other
// files by their bytes, which open returns. The error has a line for each mistake, with its
// place in the seed file.
func Read(r io.Reader, w World, open func(name string) ([]byte, error)) (*seed.File, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("seed file: %w", err)
	}
	tree, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("seed file: %w", err)
	}
	c := &checker{world: w, paths: map[string]string{}, kinds: map[string]string{}, ids: map[string]string{}}
	c.checkValue(schemaOf(reflect.TypeFor[seed.File](), noTag), rootPath, tree)
	if c.errs != nil {
		return nil, errors.Join(c.errs...)
	}
	f := new(seed.File)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("seed file: %w", err)
	}
	eachTaggedText(reflect.ValueOf(f), noTag, rootPath, c.declare)
	eachTaggedText(reflect.ValueOf(f), noTag, rootPath, c.resolveReference)
	c.checkDependencies(f)
	c.checkContents(f, open)
	return f, errors.Join(c.errs...)
}

// parse returns the JSON value of a text, with numbers as json.Number, by which the schema
// distinguishes whole numbers. The error of a text that is not JSON begins with the line.
func parse(text []byte) (tree any, err error) {
	if err := json.Unmarshal(text, &tree); err != nil { // unlike a Decoder, it reads to the end of the text
		at := len(text)
		if syntax, found := errors.AsType[*json.SyntaxError](err); found {
			at = int(syntax.Offset)
		}
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

type checker struct {
	world World
	errs  []error

	paths map[string]string // where an id or label is declared
	kinds map[string]string // what it is declared for
	ids   map[string]string // of labels
}

func (c *checker) fail(path, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("seed file: %s: %s", cmp.Or(path, "the whole file"), fmt.Sprintf(format, args...)))
}

// checkValue checks a value at a path of the file, and all that is in it, by a schema.
// Errors are added to the checker.
func (c *checker) checkValue(s *schema, path string, v any) {
	if s.AnyOf != nil {
		i := slices.IndexFunc(s.AnyOf, func(one *schema) bool { return one.Type == typeOf(v) })
		if i < 0 {
			c.reportMismatch(s, path, v)
			return
		}
		s = s.AnyOf[i]
	}
	acceptsAny := s.Type == ""
	if acceptsAny {
		return
	}
	if !s.isValidValue(v) {
		c.reportMismatch(s, path, v)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Properties != nil {
			c.checkObject(s, path, v)
		}
	case []any:
		for i, item := range v {
			c.checkValue(s.Items, fmt.Sprintf("%s[%d]", path, i), item)
		}
	}
}

// reportMismatch adds the error of a value that does not fit a schema. A long value is
// not quoted: its type is named.
func (c *checker) reportMismatch(s *schema, path string, v any) {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 60 { // more than fits well into a line
		text = []byte(typeOf(v))
	}
	c.fail(path, "got %s, want %s", text, s.want)
}

// checkObject checks the names and values of members, and that none is missing.
func (c *checker) checkObject(s *schema, path string, members map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if member := s.Properties[name]; member != nil {
			c.checkValue(member, at, members[name])
		} else {
			c.fail(at, "unknown member, want one of %s", strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
		}
	}
	for _, name := range s.Required {
		if _, given := members[name]; !given {
			c.fail(path, "%s is missing: want %s", name, s.Properties[name].want)
		}
	}
}

// isValidValue reports whether a value has the type of the schema and, for a text or
// number, meets its other conditions. The schema of an integer always has a minimum.
func (s *schema) isValidValue(v any) bool {
	if typeOf(v) != s.Type {
		return false
	}
	switch v := v.(type) {
	case string:
		if s.Format == "date-time" {
			t, err := time.Parse(time.RFC3339, v)
			return err == nil && !t.IsZero()
		}
		if s.Encoding != "" {
			_, err := base64.StdEncoding.DecodeString(v)
			return err == nil
		}
		return (s.Enum == nil || slices.Contains(s.Enum, v)) &&
			(s.Pattern == "" || s.pattern().MatchString(v))
	case json.Number:
		n, err := v.Int64()
		return err == nil && n >= *s.Minimum && (s.Maximum == nil || n <= *s.Maximum)
	}
	return true
}

// typeOf returns the JSON Schema type of a decoded value.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// Arguments for the file itself, which is in no field.
const noTag, rootPath = "", ""

// eachTaggedText calls visit with every text in v that is not empty and whose field has
// a tag, and with its tag and path.
func eachTaggedText(v reflect.Value, tag reflect.StructTag, path string, visit func(reflect.Value, reflect.StructTag, string)) {
	switch v.Kind() { //nolint:exhaustive // the others hold no ids
	case reflect.String:
		if tag != "" && v.String() != "" {
			visit(v, tag, path)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			eachTaggedText(v.Elem(), tag, path, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachTaggedText(v.Index(i), tag, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				eachTaggedText(value, field.Tag, strings.TrimPrefix(path+"."+name, "."), visit)
			}
		}
	}
}

// plain returns an id in the form in which ids are compared.
func plain(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// isID reports whether a text has the form of an id, as opposed to a label: 19 digits for
// a profile, and 29 or 30 characters for any other object.
func isID(text string) bool {
	return len(plain(text)) == 19 && text[0] <= '9' || len(plain(text)) >= 29
}

// declare records the id of an object, and reports an error if another object has the same
// id. A label, which is a word in place of an id, is replaced by a new id. Ids and labels must
// be unique among all kinds. Kinds without labels, such as e-mail addresses, have texts for ids,
// which must be unique within the kind only.
func (c *checker) declare(v reflect.Value, tag reflect.StructTag, path string) {
	kind, name := tag.Get("id"), v.String()
	key := name // by which the checker records it
	switch {
	case kind == "":
		return
	case !hasLabels(kind):
		key = kind + " " + name
	case isID(name):
		key = plain(name)
	default: // a label
		c.ids[name] = c.world.NewID(kind)
		v.SetString(c.ids[name])
	}
	if earlier, taken := c.paths[key]; taken {
		c.fail(path, "%q is already that of %s", name, earlier)
	}
	c.paths[key], c.kinds[key] = path, kind
}

// resolveReference checks that a reference, the text v, names an object of one of the
// kinds in its tag: one that the file declares or that the world has. A reference to any
// kind of object may also be an id that neither the file nor the world has. A label is
// replaced by the id of its object. In a scope, the reference is the part between the kind
// and the mode.
func (c *checker) resolveReference(v reflect.Value, tag reflect.StructTag, path string) {
	kinds, name := tag.Get("ref"), v.String()
	before, after := "", "" // the other parts of a scope
	if kinds == "scope" {
		var mode string
		kinds, name, mode = splitScope(name)
		before, after = kinds+":", ":"+mode
	}
	isReference := kinds != ""
	isWholeKind := name == "*" // in a scope
	if !isReference || isWholeKind {
		return
	}
	key := name // as declare has recorded it
	if isID(name) {
		key = plain(name)
	}
	kind, declared := c.kinds[key]
	takesAny, wanted := kinds == "any", strings.Fields(kinds)
	hasWantedKind := takesAny || slices.Contains(wanted, kind)
	inWorld := func(kind string) bool { return c.world.Exists(kind, key) }
	mayBeUndeclared := isID(name) && (takesAny || slices.ContainsFunc(wanted, inWorld))
	idOfLabel := c.ids[name] // "" unless name is a label
	switch {
	case declared && !hasWantedKind:
		c.fail(path, "%q is a %s (%s), want a %s", name, kind, c.paths[key], described(kinds))
	case !declared && !mayBeUndeclared:
		c.fail(path, "there is no %s %q", described(strings.Replace(kinds, "any", "object", 1)), name)
	case idOfLabel != "":
		v.SetString(before + idOfLabel + after)
	}
}

// splitScope splits a scope, kind:id:mode. Parts that a scope lacks are "": the schema
// requires all three, but a key that a test has added may have any scopes.
func splitScope(scope string) (kind, id, mode string) {
	kind, rest, _ := strings.Cut(scope, ":")
	id, mode, _ = strings.Cut(rest, ":")
	return kind, id, mode
}

// checkContents checks the contents of all nodes and their versions, and reads those in
// files with open.
func (c *checker) checkContents(f *seed.File, open func(name string) ([]byte, error)) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		path := fmt.Sprintf("nodes[%d]", i)
		c.checkContent(path, open, n.Content, &n.Bytes, &n.File)
		for k := range n.Versions {
			v := &n.Versions[k]
			c.checkContent(fmt.Sprintf("%s.versions[%d]", path, k), open, v.Content, &v.Bytes, &v.File)
		}
	}
}

// checkContent checks that a node has its content in one form only: text, bytes or the
// name of a file. It replaces a name by the bytes that open returns for it.
func (c *checker) checkContent(path string, open func(name string) ([]byte, error), text string, b *[]byte, file *string) {
	name := *file
	switch {
	case text != "" && *b != nil, text != "" && name != "", *b != nil && name != "":
		c.fail(path, "want one of content, content_base64 and file")
	case name == "":
	case open == nil:
		c.fail(path+".file", "got %q, want content_base64: there is no folder beside this seed file", name)
	case !fs.ValidPath(name):
		c.fail(path+".file", "got %q, want a path below the folder of the seed file, with slashes", name)
	default:
		content, err := open(name)
		if err != nil {
			c.fail(path+".file", "got %q, want a file below the folder of the seed file: %v", name, err)
		}
		*b, *file = content, ""
	}
}

// checkDependencies checks what a schema cannot: members that depend on others.
func (c *checker) checkDependencies(f *seed.File) {
	for i, it := range f.Comments {
		if it.Profile == "" && it.FileShare == "" {
			c.fail(fmt.Sprintf("comments[%d]", i), "profile_id or file_share_id is missing")
		}
	}
	for i, it := range f.FileShares {
		for k, g := range it.Grants {
			if g.User == "" && g.Email == "" {
				c.fail(fmt.Sprintf("file_shares[%d].grants[%d]", i, k), "user_id or email is missing")
			}
		}
	}
	for i, it := range f.Histories {
		if !it.From.IsZero() && !it.To.IsZero() && !it.From.Before(it.To) {
			c.fail(fmt.Sprintf("histories[%d].to", i), "got %s, want a time after from", it.To.Format(time.RFC3339))
		}
	}
}
