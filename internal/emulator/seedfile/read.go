package seedfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// World is where the objects of a seed file are going to be.
type World interface {
	// NewID returns an unused id for an object of a kind.
	NewID(kind string) string
	// Exists reports whether there is an object of a kind. Ids are in lower case
	// and without hyphens.
	Exists(kind, id string) bool
}

// Read reads a seed file, checks it and replaces labels by ids. The error holds
// everything that is wrong, a line each, with the place in the file.
func Read(r io.Reader, w World) (*seed.File, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("seed file: %w", err)
	}
	if err := json.Unmarshal(text, new(any)); err != nil {
		at := len(text)
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			at = int(syntax.Offset)
		}
		return nil, fmt.Errorf("seed file: line %d: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("seed file: %w", err)
	}
	c := &checker{world: w, paths: map[string]string{}, kinds: map[string]string{}, ids: map[string]string{}}
	c.value(schemaOf(reflect.TypeFor[seed.File](), ""), "", tree)
	if c.errs != nil {
		return nil, errors.Join(c.errs...)
	}
	f := new(seed.File)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("seed file: %w", err)
	}
	walk(reflect.ValueOf(f), "", "", c.declare)
	walk(reflect.ValueOf(f), "", "", c.refer)
	c.rules(f)
	return f, errors.Join(c.errs...)
}

type checker struct {
	world World
	errs  []error

	paths map[string]string // where an id or label is declared
	kinds map[string]string // what it is declared for
	ids   map[string]string // of labels
}

func (c *checker) fail(path, format string, args ...any) {
	if path == "" {
		path = "the whole file"
	}
	c.errs = append(c.errs, fmt.Errorf("seed file: %s: %s", path, fmt.Sprintf(format, args...)))
}

func (c *checker) value(s *schema, path string, v any) {
	if s.AnyOf != nil {
		i := slices.IndexFunc(s.AnyOf, func(one *schema) bool { return one.Type == typeOf(v) })
		if i < 0 {
			c.wrong(s, path, v)
			return
		}
		s = s.AnyOf[i]
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Type == "object" && s.Properties != nil {
			c.object(s, path, v)
			return
		}
	case []any:
		if s.Type == "array" {
			for i, item := range v {
				c.value(s.Items, fmt.Sprintf("%s[%d]", path, i), item)
			}
			return
		}
	}
	if s.Type != "" && !s.admits(v) {
		c.wrong(s, path, v)
	}
}

func (c *checker) wrong(s *schema, path string, v any) {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 60 {
		text = []byte(typeOf(v))
	}
	c.fail(path, "got %s, want %s", text, s.want)
}

func (c *checker) object(s *schema, path string, members map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if member := s.Properties[name]; member != nil {
			c.value(member, at, members[name])
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

func (s *schema) admits(v any) bool {
	if typeOf(v) != s.Type {
		return false
	}
	switch v := v.(type) {
	case string:
		if s.Format == "date-time" {
			t, err := time.Parse(time.RFC3339, v)
			return err == nil && !t.IsZero()
		}
		return (s.Enum == nil || slices.Contains(s.Enum, v)) &&
			(s.Pattern == "" || regexp.MustCompile(s.Pattern).MatchString(v))
	case json.Number:
		n, err := v.Int64()
		return err == nil && n >= *s.Minimum && (s.Maximum == nil || n <= *s.Maximum)
	}
	return true
}

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

// walk calls visit for every non-empty text in v that has a tag.
func walk(v reflect.Value, tag reflect.StructTag, path string, visit func(reflect.Value, reflect.StructTag, string)) {
	switch v.Kind() { //nolint:exhaustive // the others hold no ids
	case reflect.String:
		if tag != "" && v.String() != "" {
			visit(v, tag, path)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), tag, path, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), tag, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				walk(value, field.Tag, strings.TrimPrefix(path+"."+name, "."), visit)
			}
		}
	}
}

// plain is the form of an id in which it is compared.
func plain(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// isID reports whether a text has the form of an id, as opposed to a label.
func isID(text string) bool {
	return len(plain(text)) == 19 && text[0] <= '9' || len(plain(text)) >= 29
}

// declare records an id, and replaces a label by a new id.
func (c *checker) declare(v reflect.Value, tag reflect.StructTag, path string) {
	kind, given := tag.Get("id"), v.String()
	name := given
	switch {
	case kind == "":
		return
	case isVerbatim(kind):
		name = kind + " " + name
	case isID(name):
		name = plain(name)
	default:
		c.ids[name] = c.world.NewID(kind)
		v.SetString(c.ids[name])
	}
	if earlier, taken := c.paths[name]; taken {
		c.fail(path, "%q is already that of %s", given, earlier)
	}
	c.paths[name], c.kinds[name] = path, kind
}

// refer checks a reference, and replaces a label by its id.
func (c *checker) refer(v reflect.Value, tag reflect.StructTag, path string) {
	kinds, name := tag.Get("ref"), v.String()
	before, after := "", ""
	if kinds == "scope" {
		parts := strings.Split(name, ":") // entity:id:mode
		kinds, name, before, after = parts[0], parts[1], parts[0]+":", ":"+parts[2]
	}
	if kinds == "" || name == "*" {
		return
	}
	key := name
	if isID(name) {
		key = plain(name)
	}
	kind, declared := c.kinds[key]
	exists := func(kind string) bool { return c.world.Exists(kind, key) }
	switch {
	case declared && kinds != "any" && !slices.Contains(strings.Fields(kinds), kind):
		c.fail(path, "%q is a %s (%s), want a %s", name, kind, c.paths[key], described(kinds))
	case !declared && (!isID(name) || kinds != "any" && !slices.ContainsFunc(strings.Fields(kinds), exists)):
		c.fail(path, "there is no %s %q", described(strings.Replace(kinds, "any", "object", 1)), name)
	case c.ids[name] != "":
		v.SetString(before + c.ids[name] + after)
	}
}

func (c *checker) rules(f *seed.File) {
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
