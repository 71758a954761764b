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

	NoCredential        bool        // no credential needed
	OptionalCredential  bool        // the credential may be left out
	WithoutSecondFactor bool        // open to a token without its second factor
	slashOptional       bool        // answers without its last slash too
	LargeBody           bool        // takes bodies of more than a megabyte
	KeepBody            bool        // its body is kept as Call.Content, however long it is
	TakesLock           bool        // takes the lock on the state by itself, if at all
	AllowArchived       bool        // allowed in an archived workspace, where other changes are not
	ChangesState        bool        // changes the state
	fields              string      // names of the fields its body may have, separated by spaces
	query               string      // names of its query parameters besides output and those of Params
	Params              []Parameter // described by OPTIONS; nil answers it with 405

	// ReadBody reads the body of a call; it runs before all other checks.
	ReadBody func(*Call) error

	// OnFileShare handles paths with a File Share as the entity, which the mux
	// cannot distinguish from paths like
	// /comments/{comment_id}/attachments/detach/.
	OnFileShare *Route
}

// With returns a handler for a call about an object: find returns it and checks the
// access to it, handle does the call. If find fails, handle is not called.
func With[T any](find func(*Call) (T, error), handle func(*Call, T) (Object, error)) func(*Call) (Object, error) {
	return func(c *Call) (Object, error) {
		found, err := find(c)
		if err != nil {
			return nil, err
		}
		return handle(c, found)
	}
}

// WithTwo returns a handler for a call about two related objects: find finds both and
// checks the access to them, handle does the call.
func WithTwo[T, U any](
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

// RefuseInvalid returns a handler that refuses calls with invalid parameters, such as a
// wrong level of detail, before handle runs.
func RefuseInvalid(handle func(*Call) (Object, error)) func(*Call) (Object, error) {
	return func(c *Call) (Object, error) {
		if err := c.Check.Err(); err != nil {
			return nil, err
		}
		return handle(c)
	}
}

// RequireWriteAccess returns a handler that refuses read-only credentials before handle
// runs.
func RequireWriteAccess(handle func(*Call) (Object, error)) func(*Call) (Object, error) {
	return func(c *Call) (Object, error) {
		if err := c.Key.RefuseReadOnly(); err != nil {
			return nil, err
		}
		return handle(c)
	}
}

// RouteOption configures a route.
type RouteOption func(*Route)

// Get returns a route that reads.
func Get(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodGet, op, pattern, handle, options)
}

// Post returns a route that writes, as do the functions below.
func Post(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodPost, op, pattern, handle, options)
}

// Put returns a route that writes.
func Put(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodPut, op, pattern, handle, options)
}

// Patch returns a route that writes.
func Patch(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodPatch, op, pattern, handle, options)
}

// Delete returns a route that writes.
func Delete(op, pattern string, handle func(*Call) (Object, error), options ...RouteOption) *Route {
	return newRoute(http.MethodDelete, op, pattern, handle, options)
}

// newRoute returns a route with the defaults of its method, which the options can change:
// every method but GET writes, and the body is not read.
func newRoute(method, op, pattern string, handle func(*Call) (Object, error), options []RouteOption) *Route {
	r := &Route{
		Op: op, Method: method, Pattern: pattern, Handle: handle, ChangesState: method != http.MethodGet,
		ReadBody: func(*Call) error { return nil },
	}
	for _, option := range options {
		option(r)
	}
	return r
}

// NoCredential admits callers without a credential.
func NoCredential(r *Route) { r.NoCredential = true }

// OptionalCredential makes the credential optional.
func OptionalCredential(r *Route) { r.OptionalCredential = true }

// WithoutSecondFactor admits tokens that lack their second factor.
func WithoutSecondFactor(r *Route) { r.WithoutSecondFactor = true }

// SlashOptional also matches the path without its last slash.
func SlashOptional(r *Route) { r.slashOptional = true }

// LargeBody accepts bodies of more than a megabyte.
func LargeBody(r *Route) { r.LargeBody = true }

// KeepBody keeps the body as the content of the call, however long it is.
func KeepBody(r *Route) { r.KeepBody = true }

// TakesLock makes the handler take the lock itself.
func TakesLock(r *Route) { r.TakesLock = true }

// AllowArchived allows a change in an archived workspace: what ends access to it, and
// what concerns the caller only.
func AllowArchived(r *Route) { r.AllowArchived = true }

// ChangesState marks a GET that changes the state.
func ChangesState(r *Route) { r.ChangesState = true }

// Fields declares the body fields that the handler reads.
func Fields(names string) RouteOption { return func(r *Route) { r.fields = names } }

// NoFields declares that a body has no fields.
const NoFields = ""

// Form requires a form with these fields, which may be empty.
func Form(fields string) RouteOption { return body((*Call).ReadForm, fields) }

// BlankForm requires a form, or the JSON {} of the vendor's client.
func BlankForm(fields string) RouteOption { return body((*Call).readBlankForm, fields) }

// OptionalForm is BlankForm with an optional body.
func OptionalForm(fields string) RouteOption { return body((*Call).readOptionalForm, fields) }

// JSON requires a JSON object with these members.
func JSON(members string) RouteOption { return body((*Call).readMembers, members) }

func body(read func(*Call) error, fields string) RouteOption {
	return func(r *Route) { r.ReadBody, r.fields = read, fields }
}

// Query declares query parameters, besides output and those of Params.
func Query(names string) RouteOption { return func(r *Route) { r.query = names } }

// Parameter describes one input of an endpoint.
type Parameter struct {
	Name, Source, Kind, Constraint string
	Required                       bool
}

// OutputParam describes the output parameter.
const OutputParam = "output:string:terse, standard or full; markdown"

// Params describes parameters, for OPTIONS, as name:kind:rule. Path parameters begin with
// a slash and are required; the others are in the query and optional.
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

// ProfileParams describes the parameters of an endpoint that shows one profile.
func ProfileParams(name string) RouteOption {
	return Params("/"+name+":string:id or name", OutputParam)
}

// ListParams describes the parameters of an endpoint that lists profiles: those of the
// path, then limit, offset and the level of detail.
func ListParams(path ...string) RouteOption {
	var described []string
	for _, name := range path {
		described = append(described, "/"+name+":string:id or name")
	}
	return Params(append(described,
		"limit:integer:1 to 500, default 100", "offset:integer:0 or more, default 0", OutputParam)...)
}

// OnFileShare handles paths with a File Share as the entity.
func OnFileShare(other *Route) RouteOption { return func(r *Route) { r.OnFileShare = other } }

// Patterns returns the mux patterns of a route. Without a slash at its end, its last
// path parameter may be omitted, so that the route handles that path as well. With the
// option SlashOptional, it handles its path with and without the slash.
func (r *Route) Patterns() []string {
	path, hasSlash := strings.CutSuffix(Muxed(r.Pattern), "/")
	withoutLast := path[:strings.LastIndexByte(path, '/')+1]
	switch {
	case !hasSlash:
		return []string{path, withoutLast + "{$}"}
	case r.slashOptional:
		return []string{path + "/{$}", path}
	}
	return []string{path + "/{$}"}
}

// Muxed returns a path as the mux gets it, which cannot distinguish the check of a
// phone number from the details of a user called phone.
func Muxed(path string) string {
	return strings.Replace(path, "/current/user/phone/", "/current/user.phone/", 1)
}

// Area returns the first part of the operation name.
func (r *Route) Area() string {
	area, _, _ := strings.Cut(r.Op, ".")
	return area
}
