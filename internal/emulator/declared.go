package emulator

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

// undeclared refuses a call that sends a query parameter or a body field its route does not declare. The platform
// ignores them, so a misspelled name changes nothing and still succeeds; see Options.DropUndeclared.
func (c *call) undeclared() *answer {
	known := append(strings.Fields(c.route.query), "output")
	for _, p := range c.route.params {
		if p.source == "query" {
			known = append(known, p.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		if !slices.Contains(known, name) {
			c.check.invalid(name, "Undeclared: "+c.route.op+" has no query parameter of this name.")
		}
	}
	known = strings.Fields(c.route.fields)
	for _, name := range c.fieldNames() {
		if !slices.Contains(known, name) {
			c.check.invalid(name, "Undeclared: "+c.route.op+" has no body field of this name.")
		}
	}
	return c.check.refusal()
}

// fieldNames are the names of the fields in the body: of a form, of a multipart body or at the root of a JSON object. A
// body that cannot be read has none; its handler refuses it.
func (c *call) fieldNames() []string {
	kind, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	switch kind {
	case formType:
		form, _ := url.ParseQuery(string(c.body))
		return slices.Sorted(maps.Keys(form))
	case "multipart/form-data":
		var names []string
		for parts := multipart.NewReader(bytes.NewReader(c.body), params["boundary"]); ; {
			p, err := parts.NextPart()
			if err != nil {
				return names
			}
			names = append(names, p.FormName())
		}
	case jsonType, "":
		var object map[string]json.RawMessage
		if json.Unmarshal(c.body, &object) == nil {
			return slices.Sorted(maps.Keys(object))
		}
	}
	return nil
}
