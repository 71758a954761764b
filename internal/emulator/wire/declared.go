package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
)

// Undeclared refuses a call that sends a query parameter or a body field its route does not declare. The platform
// ignores them, so a misspelled name changes nothing and still succeeds; see Options.DropUndeclared.
func (c *Call) Undeclared() error {
	known := append(strings.Fields(c.Route.query), "output")
	for _, p := range c.Route.Params {
		if p.Source == "query" {
			known = append(known, p.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Query)) {
		if !slices.Contains(known, name) {
			c.Check.Invalid(name, "Undeclared: "+c.Route.Op+" has no query parameter of this name.")
		}
	}
	known = strings.Fields(c.Route.fields)
	for _, name := range c.fieldNames() {
		if !slices.Contains(known, name) {
			c.Check.Invalid(name, "Undeclared: "+c.Route.Op+" has no body field of this name.")
		}
	}
	return c.Check.Refusal()
}

// fieldNames are the names of the fields in the body: of a form, of a multipart body or at the root of a JSON object. A
// body that cannot be read has none; its handler refuses it.
func (c *Call) fieldNames() []string {
	kind, params, _ := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	switch kind {
	case FormType:
		form, _ := url.ParseQuery(string(c.Body))
		return slices.Sorted(maps.Keys(form))
	case "multipart/form-data":
		var names []string
		for parts := multipart.NewReader(bytes.NewReader(c.Body), params["boundary"]); ; {
			p, err := parts.NextPart()
			if err != nil {
				return names
			}
			names = append(names, p.FormName())
		}
	case JSONType, "":
		var object map[string]json.RawMessage
		if json.Unmarshal(c.Body, &object) == nil {
			return slices.Sorted(maps.Keys(object))
		}
	}
	return nil
}
