package control

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/internal/emulator"
)

// route is an endpoint of the control API.
type route struct {
	method, path string // the path is that below Root
	summary      string
	in, out      reflect.Type
	takes        string // media type of a body that the handler reads itself; "" for JSON that In describes
	writes       string // media type of a response that the handler writes itself; "" for Out as JSON
	status       int    // of a success
	handle       func(c *call) (any, error)
}

// none is the input or the output of a route that has none.
type none struct{}

// define returns a route. The fields of In are parameters of the path (tag path), of the
// query (tag query) and members of the JSON body (tag json); Out is the body of the
// response, or none.
func define[In, Out any](method, path, summary string, handle func(c *call, in In) (Out, error)) *route {
	r := &route{
		method: method, path: path, summary: summary,
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), status: http.StatusOK,
	}
	if r.out == reflect.TypeFor[none]() {
		r.status = http.StatusNoContent
	}
	r.handle = func(c *call) (any, error) {
		var in In
		if err := c.readInput(&in); err != nil {
			return nil, err
		}
		return handle(c, in)
	}
	return r
}

// creating returns r with the status of a success that adds something.
func creating(r *route) *route {
	r.status = http.StatusCreated
	return r
}

// taking returns r with a body of a media type, which its handler reads itself.
func taking(mediaType string, r *route) *route {
	r.takes = mediaType
	return r
}

// writing returns r with a response of a media type, which its handler writes itself.
func writing(mediaType string, r *route) *route {
	r.writes, r.status = mediaType, http.StatusOK
	return r
}

// call is a request of the control API.
type call struct {
	*Handler

	route  *route
	w      http.ResponseWriter
	r      *http.Request
	server *emulator.Server // the world that the request names
}

// callRoute calls the handler of a route for the world that the request names, and writes
// its result as JSON, unless the handler has written the response itself.
func (h *Handler) callRoute(r *route, w http.ResponseWriter, q *http.Request) {
	s, err := h.World(q.Header.Get(WorldHeader))
	if err != nil {
		writeProblem(w, err)
		return
	}
	c := &call{Handler: h, route: r, w: w, r: q, server: s}
	out, err := r.handle(c)
	switch {
	case err != nil:
		writeProblem(w, err)
	case r.writes != "": // the handler has written the response
	case r.status == http.StatusNoContent:
		w.WriteHeader(r.status)
	default:
		writeJSON(w, r.status, out)
	}
}

// The greatest sizes of bodies, in bytes: of snapshots, of seed files, which are read into
// memory, and of others.
const (
	snapshotLimit = 8 << 30
	seedLimit     = 256 << 20
	bodyLimit     = 1 << 20
)

// readInput sets the fields of *in to the parameters of the path and the query, and to
// the members of the JSON body, if any field is of the body. It refuses parameters that the
// route does not have. It also limits how many bytes of the body can be read.
func (c *call) readInput(in any) error {
	limit := int64(bodyLimit)
	switch c.route.takes {
	case zipFile:
		limit = snapshotLimit
	case seedFile:
		limit = seedLimit
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, limit)
	v := reflect.ValueOf(in).Elem()
	if err := c.refuseUnknown(v.Type()); err != nil {
		return err
	}
	hasBody := false
	for field := range v.Type().Fields() {
		source, name := sourceOf(field)
		text := ""
		switch source {
		case inPath:
			text = c.r.PathValue(name)
		case inQuery:
			text = c.r.URL.Query().Get(name)
		case inBody:
			hasBody = true
		}
		if text == "" {
			continue
		}
		if err := setParameter(v.FieldByIndex(field.Index), text); err != nil {
			return problemf(http.StatusBadRequest, "%s: %v", name, err)
		}
	}
	isReadByHandler := c.route.takes != ""
	if !hasBody || isReadByHandler {
		return nil
	}
	return c.readBody(in)
}

// readBody sets the fields of *in to the members of the JSON body; an empty body has none.
func (c *call) readBody(in any) error {
	d := json.NewDecoder(c.r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(in)
	isEmpty := errors.Is(err, io.EOF)
	if isEmpty {
		return nil
	}
	if _, isLarge := errors.AsType[*http.MaxBytesError](err); isLarge {
		return problemf(http.StatusRequestEntityTooLarge, "the body: must be at most %d bytes long", bodyLimit)
	}
	if err != nil {
		return problemf(http.StatusBadRequest, "the body: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return problemf(http.StatusBadRequest, "the body: there is text after the JSON value")
	}
	return nil
}

// refuseUnknown returns an error for a parameter of the query that an input does not have: a
// filter with a misspelled name would otherwise select everything.
func (c *call) refuseUnknown(in reflect.Type) error {
	var names []string
	for field := range in.Fields() {
		if source, name := sourceOf(field); source == inQuery {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.r.URL.Query())) {
		switch {
		case slices.Contains(names, name):
		case len(names) == 0:
			return problemf(http.StatusBadRequest, "%s: there are no parameters", name)
		default:
			return problemf(http.StatusBadRequest, "%s: the parameters are %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// Where a field of the input of a route is in the request.
const (
	inPath  = "path"
	inQuery = "query"
	inBody  = "body"
)

// sourceOf returns where a field of the input of a route is, and its name there.
func sourceOf(field reflect.StructField) (source, name string) {
	for _, source := range []string{inPath, inQuery} {
		if name := field.Tag.Get(source); name != "" {
			return source, name
		}
	}
	return inBody, ""
}

// setParameter sets v, the field for a parameter, to the value in text.
func setParameter(v reflect.Value, text string) error {
	switch to := v.Addr().Interface().(type) {
	case *Duration:
		return to.UnmarshalText([]byte(text))
	case *string:
		*to = text
		return nil
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return problemf(http.StatusBadRequest, "want a whole number, got %q", text)
		}
		*to = n
		return nil
	case *uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return problemf(http.StatusBadRequest, "want a whole number of 0 or more, got %q", text)
		}
		*to = n
		return nil
	}
	panic("emulator: a parameter has the type " + v.Type().String())
}

// Duration is a duration in the notation of Go, such as 1m30s.
type Duration time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return problemf(http.StatusBadRequest, "want a duration such as 1m30s, got %q", text)
	}
	*d = Duration(parsed)
	return nil
}
