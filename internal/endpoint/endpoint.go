// Package endpoint has one constructor for each endpoint. It returns a request
// with the operation, the HTTP method, the escaped path, the credential, the
// replay class and the rate group. [Named] gives those to a request that was made
// without a constructor.
//
// The constructors are generated from internal/facts/endpoints.tsv.
package endpoint

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/fastio-go/fastio/api"
)

//go:generate go run ./gen

// An entry is a row of internal/facts/endpoints.tsv.
type entry struct {
	method, path string
	op, group    string
	replay       api.Replay
	auth         api.Auth
	link         api.Link
}

// Named completes a request that a caller made without an Op, the name of its operation.
// It returns a copy with what the table of endpoints has for the method and path: Op,
// Group, Auth and Link where they are zero, and Replay if it is zero and the endpoint is
// safe to repeat. If the table has no such endpoint, Op is the method and the template, and
// a request that reads is safe to repeat.
func Named(r *api.Request) *api.Request {
	n := *r
	path := r.Path.String()
	if path == "" { // it is invalid: the call fails later, with an error that has the Op of the template
		path = r.Path.Template()
	}
	if e := find(r.Method, path); e != nil {
		n.Op, n.Group = e.op, cmp.Or(r.Group, e.group)
		n.Auth, n.Link = cmp.Or(r.Auth, e.auth), cmp.Or(r.Link, e.link)
		if e.replay == api.ReplaySafe { // not ReplayKeyed: the body of the caller may lack the key
			n.Replay = cmp.Or(r.Replay, api.ReplaySafe)
		}
		return &n
	}
	n.Op = r.Method + " " + r.Path.Template()
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		n.Replay = cmp.Or(r.Replay, api.ReplaySafe)
	}
	return &n
}

// find returns the entry that matches a path, the most literal one if several do; nil if
// none does. Path may also be a template: its placeholders then match those of the entry,
// whatever their names.
func find(method, path string) *entry {
	var found *entry
	most := -1
	for i := range table {
		e := &table[i]
		if e.method != method {
			continue
		}
		if n := specificity(e.path, path); n > most {
			found, most = e, n
		}
	}
	return found
}

// specificity returns -1 if a path does not match a pattern. Otherwise it returns a number
// with one bit for each segment; the bit of the first segment is the highest. A bit is 1 if
// the pattern has the segment literally, and 0 if it has a placeholder: of two patterns that
// match, the one with the larger number is more specific. A slash at the end does not count.
func specificity(pattern, path string) int {
	pattern, path = strings.Trim(pattern, "/"), strings.Trim(path, "/")
	n := 0
	for more := true; more; {
		want, wantRest, wantMore := strings.Cut(pattern, "/")
		got, gotRest, gotMore := strings.Cut(path, "/")
		switch {
		case wantMore != gotMore:
			return -1
		case want == got:
			n = n<<1 | 1
		case got != "" && strings.HasPrefix(want, "{"):
			n <<= 1
		default:
			return -1
		}
		pattern, path, more = wantRest, gotRest, gotMore
	}
	return n
}

// pathByKind returns the path of an endpoint that has a different one for each kind of
// profile. The ID of the profile fills the first placeholder, segments those that
// follow; a template without placeholders requires only the kind. Sending a request for
// a profile of another kind fails with an [*api.InputError].
func pathByKind(in api.Profile, templates []string, segments ...string) api.Route {
	var kinds []api.ProfileKind
	for _, template := range templates {
		name, _, _ := strings.Cut(strings.TrimPrefix(template, "/current/"), "/")
		kind := api.ProfileKind(name)
		if kind == in.Kind && !strings.Contains(template, "{") {
			return api.Path(template)
		}
		if kind == in.Kind && strings.TrimSpace(string(in.ID)) != "" {
			r := api.Path(template, slices.Concat([]string{string(in.ID)}, segments)...)
			if e, ok := errors.AsType[*api.InputError](r.Err()); ok && e.Wire == name+"_id" {
				e.Field = "in" // the argument that the ID comes from
			}
			return r
		}
		kinds = append(kinds, kind)
	}
	const opFromCall = "" // the call that fails with the error puts its own operation there
	// The kind is none of these, or the ID is empty.
	err := in.OneOf(opFromCall, "in", kinds...)
	return refused(templates[0], err)
}

// refused returns an invalid Route with err, the error of a profile. Only [api.Path]
// makes an invalid Route, so its error is replaced in place.
func refused(template string, err error) api.Route {
	r := api.Path(template, "") // a blank segment is an error
	got, _ := errors.AsType[*api.InputError](r.Err())
	want, _ := errors.AsType[*api.InputError](err)
	*got = *want
	return r
}
