package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Route is the path of an endpoint with its placeholders filled, made by [Path].
// The zero Route is invalid.
type Route struct {
	template string
	path     string
	escaped  string // "" if it equals path
	err      error
}

// Path fills the placeholders of an endpoint's path, in order:
//
//	api.Path("/current/event/{event_id}/details/", id)
//
// Every segment is escaped, so an argument cannot change the path. A segment that is
// blank or consists of dots would mean another endpoint, and so would a reserved word in
// the place of an organization: sending such a Route fails with an [*InputError] for the
// placeholder.
func Path(template string, segments ...string) Route {
	if len(segments) == 0 && !strings.Contains(template, "{") {
		return Route{template: template, path: template}
	}
	r := Route{template: template}
	var path strings.Builder
	path.Grow(len(template) + 32)
	rest, plain := template, true
	for _, s := range segments {
		before, after, _ := strings.Cut(rest, "{")
		name, after, found := strings.Cut(after, "}")
		if !found {
			r.err = &InputError{Field: "path", Rule: "must have a placeholder for each segment", Got: template}
			return r
		}
		if rule := refusal(name, strings.TrimSpace(s)); rule != "" {
			r.err = &InputError{Field: name, Rule: rule, Got: strconv.Quote(s)}
			return r
		}
		path.WriteString(before)
		path.WriteString(s)
		plain = plain && strings.TrimLeft(s, unreserved) == ""
		rest = after
	}
	if strings.Contains(rest, "{") {
		r.err = &InputError{Field: "path", Rule: "must have a segment for each placeholder", Got: template}
		return r
	}
	path.WriteString(rest)
	r.path = path.String()
	if !plain {
		r.escaped = escape(template, segments)
	}
	return r
}

// routeOf is [Path] for segments that are strings, identifiers or persons.
func routeOf(template string, segments []any) Route {
	if strings.ContainsAny(template, "?#") {
		const rule = "must have no query: see WithQuery"
		return Route{template: template, err: &InputError{Field: "template", Rule: rule, Got: strconv.Quote(template)}}
	}
	plain := make([]string, len(segments))
	for i, segment := range segments {
		switch s := segment.(type) {
		case string:
			plain[i] = s
		case ID:
			plain[i] = string(s)
		case OpaqueID:
			plain[i] = s.Plain()
		case Person:
			plain[i] = string(s)
		default:
			const rule = "must be a string, an api.ID, an api.OpaqueID or an api.Person"
			field := "segments[" + strconv.Itoa(i) + "]"
			return Route{template: template, err: &InputError{Field: field, Rule: rule, Got: fmt.Sprintf("%T", s)}}
		}
	}
	return Path(template, plain...)
}

// refusal returns the rule that a segment breaks in the place of a placeholder, "" if
// there is none.
func refusal(placeholder, segment string) string {
	switch {
	case segment == "", segment == ".", segment == "..":
		return "must not be blank or consist of dots"
	case placeholder != "org_id":
		return ""
	}
	switch strings.ToLower(segment) {
	case "create", "transfer", "billing", "assets": // these are paths of their own
		return "must not be a reserved word"
	}
	return ""
}

// PathList is [Path] for an endpoint whose last placeholder accepts several segments.
// They are escaped one by one and joined by unescaped commas.
//
//	api.PathList("/current/workspace/{workspace_id}/storage/{node_id}/details/", []string{id}, nodes...)
func PathList(template string, segments []string, list ...string) Route {
	at := strings.LastIndexByte(template, '{')
	end := at + strings.IndexByte(template[max(at, 0):], '}') + 1
	if at < 0 || end <= at || len(list) == 0 {
		return Path(template, append(slices.Clip(segments), list...)...)
	}
	placeholder := template[at:end]
	repeated := placeholder + strings.Repeat(","+placeholder, len(list)-1)
	r := Path(template[:at]+repeated+template[end:], append(slices.Clip(segments), list...)...)
	r.template = template
	return r
}

// ProfilePath is [Path] for an endpoint with a different path for each kind of
// profile:
//
//	api.ProfilePath(in, []string{
//		"/current/workspace/{workspace_id}/ai/agent/", "/current/share/{share_id}/ai/agent/",
//	}, nil)
//
// The profile fills the first placeholder, segments those that follow and list, as
// in [PathList], the last. Sending a Route for a profile of another kind fails with
// an [*InputError]. A template without placeholders requires only the kind.
func ProfilePath(in Profile, templates, segments []string, list ...string) Route {
	var kinds []ProfileKind
	for _, template := range templates {
		kind, _, _ := strings.Cut(strings.TrimPrefix(template, "/current/"), "/")
		if ProfileKind(kind) == in.Kind && !strings.Contains(template, "{") {
			return Path(template)
		}
		if ProfileKind(kind) == in.Kind && strings.TrimSpace(string(in.ID)) != "" {
			segments = append(append(make([]string, 0, 4), string(in.ID)), segments...)
			return PathList(template, segments, list...)
		}
		kinds = append(kinds, ProfileKind(kind))
	}
	return Route{template: templates[0], err: in.OneOf("", "scope", kinds...)}
}

// Template returns the path with its placeholders, a name of low cardinality for
// logs and metrics.
func (r Route) Template() string { return r.template }

// String returns the escaped path.
func (r Route) String() string {
	if r.escaped != "" {
		return r.escaped
	}
	return r.path
}

// Split returns the Path and RawPath of a [net/url.URL]; rawPath is "" unless they
// differ.
func (r Route) Split() (path, rawPath string) { return r.path, r.escaped }

// Err returns why the Route is invalid, or nil.
func (r Route) Err() error {
	if r.err == nil && r.template == "" {
		return &InputError{Field: "path", Rule: "must be made by Path of a template that is not empty"}
	}
	return r.err
}

// unreserved are the bytes that RFC 3986 never escapes. The platform requires all
// others to be escaped, unlike [net/url.PathEscape].
const unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"

// escape fills the placeholders of template with segments, escaped.
func escape(template string, segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		before, after, _ := strings.Cut(template, "{")
		b.WriteString(before)
		for _, c := range []byte(s) {
			if strings.IndexByte(unreserved, c) >= 0 {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		_, template, _ = strings.Cut(after, "}")
	}
	return b.String() + template
}
