package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Members are the members of a JSON body. Numbers are json.Number.
type Members map[string]any

// ReadJSON reads the body of a call, an object. Nothing but JSON is taken, which is what a form is refused for.
func (c *Call) ReadJSON() (Members, error) {
	if sent := c.Request.Header.Get("Content-Type"); sent != "" {
		if kind, _, err := mime.ParseMediaType(sent); err != nil || kind != "application/json" {
			return nil, notJSON("The body must be JSON.")
		}
	}
	var f Members
	if err := Decode(c.Body, &f); err != nil || f == nil {
		return nil, notJSON("The body is not a JSON object.")
	}
	return f, nil
}

// Decode reads a single JSON value, with numbers as they are.
func Decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func notJSON(text string) error {
	return Refuse(http.StatusNotAcceptable, codeNotJSON, text)
}

// Has reports whether a member is there and not null.
func (m Members) Has(name string) bool { return m[name] != nil }

// Text reads a string member, "" when it is absent or null.
func (m Members) Text(c *Call, name string) string {
	text, isText := m[name].(string)
	if m.Has(name) && !isText {
		c.Check.Mistyped(name, "string")
	}
	return text
}

// Opaque reads the id of an object in its plain form.
func (m Members) Opaque(c *Call, name string) string {
	id := Plain(m.Text(c, name))
	if id != "" && !IsOpaque(id) {
		c.Check.Mistyped(name, "opaque_id")
	}
	return id
}

// Texts reads a list of strings.
func (m Members) Texts(c *Call, name string, most int) []string {
	list, isList := m[name].([]any)
	if !isList {
		c.Check.Mistyped(name, "array")
		return nil
	}
	texts := make([]string, 0, len(list))
	for _, v := range list {
		text, isText := v.(string)
		if !isText {
			c.Check.Mistyped(name, "array of string")
			return nil
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 || len(texts) > most {
		c.Check.Invalid(name, "1 to "+strconv.Itoa(most)+".")
	}
	return texts
}

// Object reads a map; the platform's own encoder writes an empty one as a list.
func (m Members) Object(c *Call, name string) map[string]any {
	switch v := m[name].(type) {
	case nil:
		return nil
	case map[string]any:
		return v
	case []any:
		if len(v) == 0 {
			return map[string]any{}
		}
	}
	c.Check.Mistyped(name, "object")
	return nil
}

// Values of share fields, as they go over the wire.
const (
	Null = "null" // clears a field
)

// Cleared tells the values that stand for nothing.
func Cleared(value string) bool { return value == "" || value == Null }

// Parsed shows JSON text as what it says.
func Parsed(text seed.JSON) any {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
