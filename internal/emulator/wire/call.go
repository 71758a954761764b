// Package wire is what goes over the wire: the calls that handlers get, the checks of what was sent, and the answers
// and refusals that they return.
package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/fastiotest/seed"
)

// Call is one request on its way through the platform.
type Call struct {
	Route   *Route
	Request *http.Request // below the prefix, with path values
	Query   url.Values
	Body    []byte
	Form    url.Values // the fields of a body that is a form
	JSON    Members    // of a body that is JSON
	Key     *Credential
	Stream  *seed.StreamStyle // of the stream of a turn, nil is that of the options
	Out     Output
	Check   Check
	Now     time.Time

	Status int    // of a success, 0 is 200
	Reply  *Reply // goes out instead of the envelope
}

// Value is the last value of a query parameter, as the platform reads repeated ones.
func (c *Call) Value(name string) string {
	values := c.Query[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// Segment is a path value, empty when the path left it out.
func (c *Call) Segment(name string) string {
	if v := c.Request.PathValue(name); v != leftOut {
		return v
	}
	return ""
}

// Segments are the path values that commas set apart. A comma that is escaped belongs to a value.
func (c *Call) Segments(name string) []string {
	at := slices.Index(strings.Split(c.Route.Pattern, "/"), "{"+name+"}")
	list := strings.Split(strings.Split(c.Request.URL.EscapedPath(), "/")[at], ",")
	for i, escaped := range list {
		value, err := url.PathUnescape(escaped)
		if err != nil || value == leftOut {
			value = ""
		}
		list[i] = value
	}
	return list
}

// leftOut stands for an empty path segment, which the mux would clean away.
const leftOut = "\x00"

// UserID is the caller, "" for one without a credential.
func (c *Call) UserID() string {
	if c.Key == nil {
		return ""
	}
	return c.Key.User
}

// ProfileSegment reads a profile id from the path.
func (c *Call) ProfileSegment(name string) string {
	id := c.Segment(name)
	switch {
	case id == "":
		c.Check.Missing(name, "Name a profile.")
	case !IsProfile(id):
		c.Check.Mistyped(name, "profile_id")
	}
	return id
}

// Bearer returns the token of an Authorization header, "" when there is none.
func Bearer(header string) string {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}
