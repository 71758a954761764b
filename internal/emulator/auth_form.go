package emulator

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// readForm reads a body that is a form, empty or not, and tells whether it is one.
func (c *call) readForm() bool {
	if mediaType(c.r.Header) != formType {
		return false
	}
	var err error
	c.form, err = url.ParseQuery(string(c.body))
	return err == nil
}

// readBlankForm reads a form, or the JSON {} that the vendor's client sends where a call has no fields. The platform takes
// both.
func (c *call) readBlankForm() bool {
	if mediaType(c.r.Header) == jsonType && string(bytes.TrimSpace(c.body)) == "{}" {
		c.form = url.Values{}
		return true
	}
	return c.readForm()
}

func noForm() answer {
	return refuse(http.StatusNotAcceptable, codeNoForm, "The body must be a form, be it empty.")
}

// mayWrite refuses credentials that only read, and parameters that failed.
func (c *call) mayWrite() *answer {
	if refusal := c.key.readOnly(); refusal != nil {
		return refusal
	}
	return c.check.refusal()
}

// field is the last value of a form field, as the platform reads repeated ones.
func (c *call) field(name string) (value string, given bool) {
	values := c.form[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// channel reads the channel a path names.
func (c *call) channel(known ...string) string {
	name := c.segment("channel")
	if !slices.Contains(known, name) {
		c.check.invalid("channel", "One of "+strings.Join(known, ", ")+".")
	}
	return name
}

// oneTimeCode reads the code a path holds.
func (c *call) oneTimeCode() string {
	code := c.segment("token")
	if code == "" {
		c.check.missing("token", "Send the one-time code.")
	}
	return code
}
