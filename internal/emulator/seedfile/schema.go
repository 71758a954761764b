// Package seedfile reads and checks seed files, whose form is that of
// [seed.File].
package seedfile

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// schema is a JSON Schema of draft 2020-12, in the words of it that seed files
// need.
type schema struct {
	Dialect    string             `json:"$schema,omitzero"`
	Title      string             `json:"title,omitzero"`
	Type       string             `json:"type,omitzero"`
	Format     string             `json:"format,omitzero"`
	Pattern    string             `json:"pattern,omitzero"`
	Enum       []string           `json:"enum,omitzero"`
	Minimum    *int64             `json:"minimum,omitzero"`
	Maximum    *int64             `json:"maximum,omitzero"`
	Items      *schema            `json:"items,omitzero"`
	AnyOf      []*schema          `json:"anyOf,omitzero"`
	Properties map[string]*schema `json:"properties,omitzero"`
	Required   []string           `json:"required,omitzero"`
	Additional *bool              `json:"additionalProperties,omitzero"`

	want string // the values, in words
}

// Schema returns the JSON Schema of seed files.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[seed.File](), "")
	s.Dialect, s.Title = "https://json-schema.org/draft/2020-12/schema", "Seed file of fastio-emulator"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // it holds nothing but text and numbers
	}
	return append(text, '\n')
}

// schemaOf derives the schema of a field from its type and its tag.
func schemaOf(t reflect.Type, tag reflect.StructTag) *schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &schema{Type: "string", Format: "date-time", want: `a time such as "2026-01-31T12:00:00Z"`}
	case t == reflect.TypeFor[seed.JSON](), t.Kind() == reflect.Interface:
		return &schema{want: "any value"}
	}
	switch t.Kind() { //nolint:exhaustive // a seed file has no others
	case reflect.Pointer:
		return schemaOf(t.Elem(), tag)
	case reflect.Slice:
		return &schema{Type: "array", Items: schemaOf(t.Elem(), tag), want: "a list"}
	case reflect.Map:
		return &schema{Type: "object", want: "an object"}
	case reflect.Struct:
		s := object(t)
		if tag.Get("ref") == "" {
			return s
		}
		id := text(tag)
		return &schema{AnyOf: []*schema{id, s}, want: id.want + ", or an object"} // the object or its id alone
	case reflect.Bool:
		return &schema{Type: "boolean", want: "true or false"}
	case reflect.String:
		return text(tag)
	}
	return number(tag)
}

func object(t reflect.Type) *schema {
	name, _, _ := strings.Cut(t.Name(), "[")
	s := &schema{
		Type: "object", Title: name, Properties: map[string]*schema{}, Additional: new(false),
		want: "an object",
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		s.Properties[name] = schemaOf(field.Type, field.Tag)
		if field.Tag.Get("required") != "" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

func number(tag reflect.StructTag) *schema {
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

func text(tag reflect.StructTag) *schema {
	s := &schema{Type: "string", want: "a text"}
	kind := tag.Get("id") + tag.Get("ref")
	switch {
	case tag.Get("enum") != "":
		s.Enum = values(tag.Get("enum"))
		s.want = `one of "` + strings.Join(s.Enum, `", "`) + `"`
		return s
	case kind == "" || isVerbatim(kind):
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

func described(kinds string) string { return strings.ReplaceAll(kinds, " ", " or ") }

func isProfile(kinds string) bool {
	first, _, _ := strings.Cut(kinds, " ")
	switch first {
	case "user", "org", "workspace", "share", "fileshare":
		return true
	}
	return false
}

// isVerbatim reports whether a kind has no labels: its texts are unique and
// otherwise free.
func isVerbatim(kind string) bool { return kind == "token" || kind == "client" || kind == "email" }

// values are those of an enum tag: its own, or those of a long list.
func values(enum string) []string {
	switch enum {
	case "access_options":
		return []string{
			"Only members of the Share or Workspace", "Members of the Share, Workspace or Org",
			"Anyone with a registered account", "Anyone with the link",
		}
	case "perm_join":
		return []string{"Only Org Owners", "Admin or above", "Member or above"}
	case "perm_member_manage":
		return []string{"Admin or above", "Member or above"}
	case "notify_options":
		return []string{
			"Do not notify me", "Notify me in app", "Notify me in app and via email",
			"Notify me via app, email and text message",
		}
	case "notify":
		return []string{"never", "notify_on_file_received", "notify_on_file_sent_or_received"}
	case "ai_state":
		return []string{"disabled", "pending", "in_progress", "ready", "indexed", "failed"}
	case "declared_type":
		return []string{"string", "bool", "int", "float", "json", "url", "datetime"}
	case "file_share_access":
		return []string{"anyone_with_link", "any_registered", "named_people"}
	}
	return strings.Split(enum, "|")
}
