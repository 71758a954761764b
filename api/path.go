package api

import (
	"fmt"
	"strconv"
	"strings"
)

// A Route is the path of an endpoint with its placeholders filled, made by [Path].
// The zero Route is invalid.
type Route struct {
	template string
	path     string // not escaped
	escaped  string // "" if it equals path
	err      error
}

// Path fills the placeholders of an endpoint's path, in order:
//
//	api.Path("/current/event/{event_id}/details/", id)
//
// Every segment is escaped, so an argument cannot change the path. A segment that is
// blank or consists of dots would mean another endpoint, and so would a reserved word,
// such as create, for {org_id}: sending such a Route fails with an [*InputError]. Its
// Field is the name that methods give this argument, such as node for {node_id}.
//
// The last placeholder may be a list, such as {node_id...}, which takes all segments that
// are left, at least one. They are escaped one by one and joined by commas.
func Path(template string, segments ...string) Route {
	if len(segments) == 0 && !strings.Contains(template, "{") {
		return Route{template: template, path: template}
	}
	r := Route{template: template}
	var path strings.Builder
	path.Grow(len(template) + 32)
	rest, needsEscape := template, false
	for i, s := range segments {
		before, after, _ := strings.Cut(rest, "{")
		name, after, found := strings.Cut(after, "}")
		if !found {
			return badTemplate(template, "must have a placeholder for each segment")
		}
		if strings.HasSuffix(name, list) {
			return pathOfList(template, segments, i)
		}
		text := strings.TrimSpace(s)
		mayBeRefused := text == "" || text[0] == '.' || name == orgID // saves the call for all others
		if mayBeRefused {
			r.err = refusal(name, s)
			if r.err != nil {
				return r
			}
		}
		path.WriteString(before)
		path.WriteString(s)
		needsEscape = needsEscape || strings.TrimLeft(s, unreserved) != ""
		rest = after
	}
	if strings.Contains(rest, "{") {
		return badTemplate(template, "must have a segment for each placeholder")
	}
	path.WriteString(rest)
	r.path = path.String()
	if needsEscape {
		r.escaped = escape(template, segments)
	}
	return r
}

// badTemplate returns a Route that cannot be sent, because its template breaks a rule.
func badTemplate(template, rule string) Route {
	return Route{template: template, err: &InputError{Field: "template", Rule: rule, Got: template}}
}

// routeOf returns what [Path] does, for segments that are strings, identifiers
// or persons.
func routeOf(template string, segments []any) Route {
	rule := ""
	switch {
	case !strings.HasPrefix(template, "/"):
		rule = "must begin with a slash"
	case strings.ContainsAny(template, "?#"):
		rule = "must have no query: see WithQuery"
	}
	if rule != "" {
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
			err := &InputError{Field: element("segments", i), Rule: rule, Got: fmt.Sprintf("%T", s)}
			return Route{template: template, err: err}
		}
	}
	r := Path(template, plain...)
	if e, ok := r.err.(*InputError); ok && e.Wire != "" { //nolint:errorlint // it is not wrapped
		// The error of Path names the placeholder, this one the segment. If "/{org_id}/{node_id...}"
		// refuses node_id, the segment is one from index 1 on, because org_id has one segment.
		before, _, _ := strings.Cut(template, "{"+e.Wire)
		firstOfPlaceholder := strings.Count(before, "{")
		e.Field = element("segments", e.indexOfRefused(plain, firstOfPlaceholder))
	}
	return r
}

// orgID is the placeholder of an organization.
const orgID = "org_id"

// refusal returns the error of a segment in the place of a placeholder, nil if it is valid.
func refusal(placeholder, segment string) error {
	rule := ""
	switch strings.ToLower(strings.TrimSpace(segment)) {
	case "", ".", "..":
		rule = "must not be blank or consist of dots"
	case "create", "transfer", "billing", "assets": // these are paths of their own
		if placeholder == orgID {
			rule = "must not be a reserved word"
		}
	}
	if rule == "" {
		return nil
	}
	return &InputError{Field: argument(placeholder), Wire: placeholder, Rule: rule, Got: strconv.Quote(segment)}
}

// list ends the name of a placeholder that takes several segments.
const list = "..."

// pathOfList returns the route of a template whose last placeholder stands for a list of
// values: the segments from index at on, separated by commas. It fills a template with a
// placeholder for each value: "/{node_id...}" with two values becomes "/{node_id},{node_id}".
// The template of the route has the placeholder once, as "/{node_id}". An error names an
// element of the argument, such as nodes[1].
func pathOfList(template string, segments []string, at int) Route {
	before, after, _ := strings.Cut(template, list) // such as "/{node_id" and "}"
	name := before[strings.LastIndexByte(before, '{')+1:]
	otherPlaceholders := strings.Repeat(",{"+name+"}", len(segments)-at-1) // segments[at] exists: it is the first value
	expanded := before + "}" + otherPlaceholders + strings.TrimPrefix(after, "}")
	r := Path(expanded, segments...)
	r.template = before + after
	if e, ok := r.err.(*InputError); ok && e.Wire == name { //nolint:errorlint // it is not wrapped
		// Field names the argument, such as node: it becomes that of the refused value, such as nodes[1].
		plural := strings.TrimSuffix(e.Field, "s") + "s"
		e.Field = element(plural, e.indexOfRefused(segments[at:], 0))
	}
	return r
}

// indexOfRefused returns the index of the value that e refuses: the first one of
// list[from:] that is equal to Got, which must be there.
func (e *InputError) indexOfRefused(list []string, from int) int {
	for strconv.Quote(list[from]) != e.Got {
		from++
	}
	return from
}

// element returns the Go path of an element of a list.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// argument returns the name of the argument that fills a placeholder, the same in all
// methods: "node" for "node_id".
func argument(placeholder string) string {
	switch placeholder {
	case "asset_name":
		return "name"
	case "card_key", "invitation_key":
		return "key"
	case "chat_id":
		return "thread"
	case "email_or_user":
		return "person"
	case "intent_ids":
		return "intents"
	case "message_id":
		return "turn"
	case "type":
		return "kind"
	}
	words := strings.Split(strings.TrimSuffix(placeholder, "_id"), "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
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
		return &InputError{Field: "Request.Path", Rule: "must be made by Path of a template that is not empty"}
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
