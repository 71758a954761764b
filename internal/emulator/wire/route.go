package wire

import (
	"net/http"
	"strings"
)

// Route is one endpoint.
type Route struct {
	Op      string
	Method  string
	Pattern string
	Handle  func(*Call) (Object, error)

	Open     bool        // no credential needed
	Visit    bool        // the credential may be left out
	Limited  bool        // open to a token without its second factor
	bare     bool        // answers without its last slash too
	Large    bool        // takes bodies of more than a megabyte
	Unlocked bool        // takes the lock on the state by itself, if at all
	Writes   bool        // changes the state
	fields   string      // names of the fields its body may have, separated by spaces
	query    string      // names of its query parameters besides output and those of Params
	Params   []Parameter // described by OPTIONS; nil answers it with 405

	// ReadBody reads the body of a call, which is checked before anything else.
	ReadBody func(*Call) error

	// OnFileShare takes the calls on paths that name a File Share as the entity. The mux could not tell them from
	// paths like /comments/{comment_id}/attachments/detach/.
	OnFileShare *Route
}

// With is the handler of calls that are about what find finds in them, or refuses.
func With[T any](find func(*Call) (T, error), handle func(*Call, T) (Object, error)) func(*Call) (Object, error) {
	return func(c *Call) (Object, error) {
		found, err := find(c)
		if err != nil {
			return nil, err
		}
		return handle(c, found)
	}
}

// With2 is [With] for two things that belong together.
func With2[T, U any](
	find func(*Call) (T, U, error), handle func(*Call, T, U) (Object, error),
) func(*Call) (Object, error) {
	return func(c *Call) (Object, error) {
		one, other, err := find(c)
		if err != nil {
			return nil, err
		}
		return handle(c, one, other)
	}
}

// Checked refuses calls with failed parameters before they are handled.
func Checked(handle func(*Call) (Object, error)) func(*Call) (Object, error) {
	return func(c *Call) (Object, error) {
		if err := c.Check.Refusal(); err != nil {
			return nil, err
		}
		return handle(c)
	}
}

// Writing refuses credentials that only read.
func Writing(handle func(*Call) (Object, error)) func(*Call) (Object, error) {
	return func(c *Call) (Object, error) {
		if err := c.Key.ReadOnly(); err != nil {
			return nil, err
		}
		return handle(c)
	}
}

// RouteOption is what a route has that others have not.
type RouteOption func(*Route)

// Get is a route that reads.
func Get(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodGet, op, pattern, handle, options)
}

// Post is a route that writes, as are those of the methods below.
func Post(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodPost, op, pattern, handle, options)
}

// Put is a route that writes.
func Put(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodPut, op, pattern, handle, options)
}

// Patch is a route that writes.
func Patch(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodPatch, op, pattern, handle, options)
}

// Delete is a route that writes.
func Delete(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodDelete, op, pattern, handle, options)
}

func newRoute(method, op, pattern string, handle func(*Call) (Object, error), options []RouteOption) *Route {
	r := &Route{
		Op: op, Method: method, Pattern: pattern, Handle: handle, Writes: method != http.MethodGet,
		ReadBody: func(*Call) error { return nil },
	}
	for _, option := range options {
		option(r)
	}
	return r
}

// Open lets callers without a credential in.
func Open(r *Route) { r.Open = true }

// Visit lets callers leave their credential out.
func Visit(r *Route) { r.Visit = true }

// Limited lets in tokens that lack their second factor.
func Limited(r *Route) { r.Limited = true }

// Bare answers without the last slash too.
func Bare(r *Route) { r.bare = true }

// Large takes bodies of more than a megabyte.
func Large(r *Route) { r.Large = true }

// Unlocked leaves the lock on the state to the handler.
func Unlocked(r *Route) { r.Unlocked = true }

// Writes is for a GET that changes the state.
func Writes(r *Route) { r.Writes = true }

// Fields names the fields of a body that the handler reads.
func Fields(names string) RouteOption { return func(r *Route) { r.fields = names } }

// Form wants a form with these fields, empty or not.
func Form(fields string) RouteOption { return body((*Call).ReadForm, fields) }

// BlankForm wants a form, or the JSON {} that the vendor's client sends where a call has no fields.
func BlankForm(fields string) RouteOption { return body((*Call).readBlankForm, fields) }

// OptionalForm takes what BlankForm takes, or nothing.
func OptionalForm(fields string) RouteOption { return body((*Call).readOptionalForm, fields) }

// JSON wants a JSON object with these members.
func JSON(members string) RouteOption { return body((*Call).readMembers, members) }

func body(read func(*Call) error, fields string) RouteOption {
	return func(r *Route) { r.ReadBody, r.fields = read, fields }
}

// Query names query parameters, besides output and those of Params.
func Query(names string) RouteOption { return func(r *Route) { r.query = names } }

// Parameter describes one input of an endpoint.
type Parameter struct {
	Name, Source, Kind, Constraint string
	Required                       bool
}

// ByLevel describes the parameter that chooses level and form of an answer.
const ByLevel = "output:string:terse, standard or full; markdown"

// Params describes parameters, which answers OPTIONS: their names, kinds and rules with colons in between. Those of the
// path begin with a slash and are required.
func Params(described ...string) RouteOption {
	return func(r *Route) {
		for _, text := range described {
			parts := strings.SplitN(text, ":", 3)
			p := Parameter{Name: parts[0], Source: "query", Kind: parts[1], Constraint: parts[2]}
			if name, required := strings.CutPrefix(p.Name, "/"); required {
				p.Name, p.Source, p.Required = name, "path", true
			}
			r.Params = append(r.Params, p)
		}
	}
}

// Detail describes the parameters of an endpoint that shows one profile.
func Detail(name string) RouteOption { return Params("/"+name+":string:id or name", ByLevel) }

// Paged describes the parameters of an endpoint that lists profiles.
func Paged(path ...string) RouteOption {
	var described []string
	for _, name := range path {
		described = append(described, "/"+name+":string:id or name")
	}
	return Params(append(described,
		"limit:integer:1 to 500, default 100", "offset:integer:0 or more, default 0", ByLevel)...)
}

// OnFileShare takes the calls on paths that name a File Share as the entity.
func OnFileShare(other *Route) RouteOption { return func(r *Route) { r.OnFileShare = other } }

// Patterns are what the mux knows a route by. Where the path ends in a parameter without a slash, it may be left out:
// the route answers for that, too.
func (r *Route) Patterns() []string {
	path, isOpen := strings.CutSuffix(r.Pattern, "/")
	switch {
	case !isOpen:
		return []string{path, path[:strings.LastIndexByte(path, '/')+1] + "{$}"}
	case r.bare:
		return []string{path + "/{$}", path}
	}
	return []string{path + "/{$}"}
}

// Area is the first part of the name of the operation.
func (r *Route) Area() string {
	area, _, _ := strings.Cut(r.Op, ".")
	return area
}
