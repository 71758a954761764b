package wire

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// bodyKind is what the body of a call must be, which is checked before anything else.
type bodyKind int

// Kinds of bodies.
const (
	anyBody      bodyKind = iota // what it may be, the handler says
	formBody                     // a form, empty or not
	blankBody                    // a form, or the JSON {} that the vendor's client sends where a call has no fields
	optionalBody                 // the same, or nothing
	jsonBody                     // a JSON object
)

// ReadBody reads the body of a call as its route says.
func (c *Call) ReadBody() (err error) {
	switch c.Route.body {
	case anyBody:
	case formBody:
		return c.ReadForm()
	case blankBody:
		return c.readBlankForm()
	case optionalBody:
		if err := c.readBlankForm(); len(c.Body) > 0 {
			return err
		}
	case jsonBody:
		c.JSON, err = c.ReadJSON()
	}
	return err
}

// ReadForm reads a body that must be a form, empty or not.
func (c *Call) ReadForm() error {
	var err error
	if MediaType(c.Request.Header) == FormType {
		if c.Form, err = url.ParseQuery(string(c.Body)); err == nil {
			return nil
		}
	}
	return Refuse(http.StatusNotAcceptable, codeNoForm, "The body must be a form, be it empty.")
}

// readBlankForm reads a form or {}.
func (c *Call) readBlankForm() error {
	if MediaType(c.Request.Header) == JSONType && string(bytes.TrimSpace(c.Body)) == "{}" {
		c.Form = url.Values{}
		return nil
	}
	return c.ReadForm()
}

// MayWrite refuses credentials that only read, and parameters that failed.
func (c *Call) MayWrite() error {
	if err := c.Key.ReadOnly(); err != nil {
		return err
	}
	return c.Check.Refusal()
}

// Field is the last value of a form field, as the platform reads repeated ones.
func (c *Call) Field(name string) (value string, given bool) {
	values := c.Form[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// Channel reads the channel a path names.
func (c *Call) Channel(known ...string) string {
	name := c.Segment("channel")
	if !slices.Contains(known, name) {
		c.Check.Invalid("channel", "One of "+strings.Join(known, ", ")+".")
	}
	return name
}

// OneTimeCode reads the code a path holds.
func (c *Call) OneTimeCode() string {
	code := c.Segment("token")
	if code == "" {
		c.Check.Missing("token", "Send the one-time code.")
	}
	return code
}

// RFCError is a refusal in the bare form of the OAuth standards.
func RFCError(status int, code, description string) *Refusal {
	return &Refusal{Status: status, Reply: PlainJSON(status, Object{{"error", code}, {"error_description", description}})}
}

// PageArea is the area of the pages a browser sees; they are no part of the API.
const PageArea = "connect"

// Issuer is the origin a request was sent to. What a proxy says about its own side is not asked.
func Issuer(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Media types of bodies.
const (
	FormType = "application/x-www-form-urlencoded"
	JSONType = "application/json"
)

// MediaType is the media type of a body without its parameters, "" for none.
func MediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// PlainJSON is an answer without the envelope.
func PlainJSON(status int, body Object) *Reply {
	header := http.Header{}
	header.Set("Content-Type", JSONType)
	return &Reply{Status: status, Header: header, Body: AppendValue(nil, body, false)}
}

// Past reports whether a moment has come.
func Past(moment, now time.Time) bool { return !now.Before(moment) }

// Seconds is the time left until a moment.
func Seconds(moment, now time.Time) int64 { return int64(moment.Sub(now) / time.Second) }
