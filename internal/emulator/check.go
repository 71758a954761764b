package emulator

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// check collects every failed parameter of a call, so that one answer names them all.
type check struct {
	failed []object
	code   int64
	levels int // status when two detail levels are the only failure
	status int // of the refusal, 0 is 406
}

func (k *check) add(name, kind, message string, code int64, more ...member) {
	if k.code == 0 {
		k.code = code
	}
	k.failed = append(k.failed, append(object{
		{"name", name},
		{"kind", kind},
		{"message", message},
		{"code", code},
	}, more...))
}

func (k *check) missing(name, message string) { k.add(name, "missing", message, codeMissing) }

func (k *check) invalid(name, message string) { k.add(name, "invalid", message, codeInvalid) }

func (k *check) mistyped(name, expected string) {
	k.add(name, "type_mismatch", "The value cannot be read.", codeType, member{"expected_type", expected})
}

// refusal is the answer to a call with failed parameters, nil when there are none.
func (k *check) refusal() *answer {
	if len(k.failed) == 0 {
		return nil
	}
	status := cmp.Or(k.status, http.StatusNotAcceptable)
	if name, _ := k.failed[0].get("name"); k.levels != 0 && len(k.failed) == 1 && name == "output" {
		status = k.levels
	}
	a := refuse(status, k.code, "One or more parameters are not acceptable.")
	a.failure.params = k.failed
	return &a
}

// integer reads a whole number within bounds.
func (c *call) integer(name string, fallback, least, most int) int {
	value := c.value(name)
	if value == "" {
		return fallback
	}
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		c.check.mistyped(name, "integer")
	case n < least || n > most:
		c.check.invalid(name, "Between "+strconv.Itoa(least)+" and "+strconv.Itoa(most)+".")
	default:
		return n
	}
	return fallback
}

// whole reads a whole number that has a lower bound alone.
func (c *call) whole(name, value string, least int) int {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		c.check.mistyped(name, "integer")
	case n < least:
		c.check.invalid(name, strconv.Itoa(least)+" or more.")
	}
	return n
}

// moment reads a time in any accepted layout, UTC when it names no zone.
func (c *call) moment(name string) time.Time { return c.readMoment(name, c.value(name)) }

func (c *call) readMoment(name, value string) time.Time {
	if value == "" {
		return time.Time{}
	}
	layouts := [...]string{
		time.DateTime, "2006-01-02 15:04:05 UTC", time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", time.DateOnly,
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UTC()
		}
	}
	c.check.invalid(name, "Not a date and time.")
	return time.Time{}
}

// dateTime reads a query parameter as [call.readDateTime] does.
func (c *call) dateTime(name string) time.Time { return c.readDateTime(name, c.value(name)) }

// readDateTime reads a time in UTC, whether its zone is named or not. ISO 8601 is refused.
func (c *call) readDateTime(name, value string) time.Time {
	if value == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.DateTime, strings.TrimSuffix(value, " UTC"))
	if err != nil {
		c.check.invalid(name, "YYYY-MM-DD HH:MM:SS UTC.")
	}
	return t
}

// parameter describes one input of an endpoint.
type parameter struct {
	name, source, kind, constraint string
	required                       bool
}

func outputParams() []parameter {
	return []parameter{{name: "output", source: "query", kind: "string", constraint: "terse, standard or full; markdown"}}
}

func detailParams(name string) []parameter {
	return append([]parameter{{name: name, source: "path", kind: "string", constraint: "id or name", required: true}}, outputParams()...)
}

func listParams(path ...string) []parameter {
	var p []parameter
	for _, name := range path {
		p = append(p, parameter{name: name, source: "path", kind: "string", constraint: "id or name", required: true})
	}
	p = append(p,
		parameter{name: "limit", source: "query", kind: "integer", constraint: "1 to 500, default 100"},
		parameter{name: "offset", source: "query", kind: "integer", constraint: "0 or more, default 0"},
	)
	return append(p, outputParams()...)
}

// introspect answers OPTIONS with what an endpoint accepts.
func (s *Server) introspect(c *call) answer {
	if c.route.params == nil {
		a := refuse(http.StatusMethodNotAllowed, codeMethod, "This endpoint does not describe itself.")
		a.failure.allow = c.route.method
		return a
	}
	rows := make([]object, 0, len(c.route.params))
	for _, p := range c.route.params {
		rows = append(rows, object{
			{"name", p.name},
			{"source", p.source},
			{"required", p.required},
			{"type", p.kind},
			{"constraint", p.constraint},
		})
	}
	return ok(
		member{"endpoint", object{{"method", c.route.method}, {"path", c.route.pattern}}},
		member{"parameters", rows},
	)
}
