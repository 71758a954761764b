package wire

import (
	"encoding/json"
	"slices"
	"strings"
)

// OneOf reads a field that has one of the known values into a variable, which keeps its
// value if the field is left out.
func OneOf(c *Call, name string, into *string, known ...string) {
	if value, given := c.Field(name); given {
		c.Check.InvalidIf(!slices.Contains(known, value), name, "One of "+strings.Join(known, ", ")+".")
		*into = value
	}
}

// JSONText reads a field of JSON text into a variable, which keeps its value if the
// field is left out. null and "" clear it.
func JSONText[T ~string](c *Call, name string, into *T) {
	value, given := c.Field(name)
	switch {
	case !given:
		return
	case Cleared(value):
		value = ""
	case !json.Valid([]byte(value)):
		c.Check.Invalid(name, "JSON.")
	}
	*into = T(value)
}

// Address reads a required e-mail address.
func Address(c *Call, name string) string {
	text, _ := c.Field(name)
	switch {
	case text == "":
		c.Check.Missing(name, "Name the e-mail address.")
	case !IsEmail(text):
		c.Check.Invalid(name, "Not an e-mail address.")
	}
	return text
}
