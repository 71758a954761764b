package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
)

// Facts reads and writes what is known about one file or note.
type Facts struct{ c api.Caller }

// FactSet is everything that is known about a file or note.
type FactSet struct {
	NodeID api.OpaqueID `json:"object_id"`
	Count  int          `json:"count"`
	Facts  []*api.Fact  `json:"items"`
}

// Fact returns the fact of a field, nil when there is none. Letter case makes no
// difference.
func (s *FactSet) Fact(field string) *api.Fact {
	for _, f := range s.Facts {
		if f != nil && strings.EqualFold(f.Name, field) {
			return f
		}
	}
	return nil
}

// Get returns everything that is known about a file or note, with its provenance
// unless the call asks for less.
//
// A node that is not there is [api.ErrNotFound]; a folder or link is
// [api.ErrInvalid].
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/metadata/facts/.
func (f *Facts) Get(ctx context.Context, workspace api.ProfileID, node api.OpaqueID, opts ...api.CallOption) (*FactSet, error) {
	o := api.Resolve(opts)
	if len(o.Output) == 0 {
		o.Output = []api.Output{api.Full} // less would leave out values and where they are from
	}
	return call.DoAs[FactSet](ctx, f.c, &api.Request{
		Op: "metadata.Facts.Get", Method: http.MethodGet, Replay: api.ReplaySafe, Options: o,
		Path: api.Path("/current/workspace/{workspace_id}/storage/{node_id}/metadata/facts/", string(workspace), node.Plain()),
	})
}

// ErrDoubtful says that a write of facts was refused in a way that does not tell
// whether it was carried out: read the facts before another one. The [api.Error]
// is there as well.
var ErrDoubtful = errors.New("whether anything was written is not known")

const (
	maxFacts = 100
	maxValue = 4096 // characters of a text
)

// Set writes 1 to 100 values about a file or note, by the name of their field, all
// of them or none, and returns everything that is known then. They count as
// written by the user: no extraction changes them.
//
// A value is a text of at most 4,096 characters, a number, a bool, or an object or
// list. Dates are ISO 8601, URLs absolute, and texts like any other; money is a
// number, with its currency under a name of its own. "", 0 and false are values.
// There is no null: [Facts.Delete] takes a value away.
//
// A name that no field has becomes one, for ever, and takes its type from the
// value. What is not on the list of category or sub_category is stored as Other:
// never write a whole FactSet back.
//
// When values are [api.ErrInvalid], the [api.Error] names them and nothing was
// written; if it names none, that is not known, which is [ErrDoubtful]. An
// [api.ErrUnavailable] with status 503 means that nothing was written, and the same
// call may be made again. After any other error read the facts first: the write is
// not repeated by itself.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/metadata/facts/.
func (f *Facts) Set(
	ctx context.Context, workspace api.ProfileID, node api.OpaqueID, values map[string]any, opts ...api.CallOption,
) (*FactSet, error) {
	const op = "metadata.Facts.Set"
	facts, err := encode(op, values)
	if err != nil {
		return nil, err
	}
	set, err := call.Do[FactSet](ctx, f.c, &api.Request{
		Op: op, Method: http.MethodPost, Replay: api.ReplayOnce, Body: api.JSON(map[string]any{"facts": facts}),
		Path: api.Path("/current/workspace/{workspace_id}/storage/{node_id}/metadata/facts/", string(workspace), node.Plain()),
	}, opts)
	if e, refused := errors.AsType[*api.Error](err); refused && e.Status == http.StatusNotAcceptable && len(e.Params) == 0 {
		return nil, fmt.Errorf("%w: %w", err, ErrDoubtful)
	}
	return set, err
}

// encode checks values and returns them as they are sent.
func encode(op string, values map[string]any) (map[string]json.RawMessage, error) {
	if len(values) == 0 || len(values) > maxFacts {
		return nil, &api.InputError{Op: op, Field: "facts", Rule: "must be 1 to 100", Got: strconv.Itoa(len(values))}
	}
	facts := make(map[string]json.RawMessage, len(values))
	for name, value := range values {
		if err := checkName(op, "facts", name); err != nil {
			return nil, err
		}
		if name != strings.TrimSpace(name) {
			return nil, &api.InputError{Op: op, Field: "facts", Rule: "must have names without blanks around them", Got: strconv.Quote(name)}
		}
		b, err := jsonv2.Marshal(value, jsonv2.Deterministic(true))
		if err != nil {
			return nil, &api.InputError{Op: op, Field: "facts", Rule: "must have values that JSON can write", Got: strconv.Quote(name)}
		}
		if string(b) == "null" {
			return nil, &api.InputError{Op: op, Field: "facts", Rule: `must not be null, which changes nothing: "" empties a field, and Delete takes its value away`, Got: strconv.Quote(name)}
		}
		if n := characters(b); n > maxValue {
			return nil, &api.InputError{
				Op: op, Field: "facts", Rule: "must have texts of at most 4096 characters", Got: strconv.Quote(name) + " of " + strconv.Itoa(n) + " characters",
			}
		}
		facts[name] = b
	}
	return facts, nil
}

// characters counts those of a value that is a text.
func characters(value jsontext.Value) int {
	if value.Kind() != '"' || len(value) <= maxValue {
		return 0
	}
	text, _ := jsontext.AppendUnquote(nil, value) // which Marshal has just quoted
	return utf8.RuneCount(text)
}

// Delete takes the values of some fields away from a file or note, at least one.
// The fields stay, and no extraction follows.
//
// It calls DELETE /current/workspace/{workspace_id}/storage/{node_id}/metadata/.
func (f *Facts) Delete(ctx context.Context, workspace api.ProfileID, node api.OpaqueID, fields []string, opts ...api.CallOption) error {
	const op = "metadata.Facts.Delete"
	if len(fields) == 0 { // which would be all of them
		return &api.InputError{Op: op, Field: "keys", Rule: "must name a field; DeleteAll takes all values away", Got: "0"}
	}
	for _, name := range fields {
		if err := checkName(op, "keys", name); err != nil {
			return err
		}
	}
	keys, err := jsonv2.Marshal(fields)
	if err != nil {
		return &api.InputError{Op: op, Field: "keys", Rule: "must be UTF-8", Got: err.Error()}
	}
	return f.remove(ctx, op, workspace, node, url.Values{"keys": {string(keys)}}, opts)
}

// DeleteAll takes all values away from a file or note, those included that people
// wrote. It sends the request of [Facts.Delete] without the names of fields.
func (f *Facts) DeleteAll(ctx context.Context, workspace api.ProfileID, node api.OpaqueID, opts ...api.CallOption) error {
	return f.remove(ctx, "metadata.Facts.Delete", workspace, node, nil, opts)
}

func (f *Facts) remove(ctx context.Context, op string, workspace api.ProfileID, node api.OpaqueID, q url.Values, opts []api.CallOption) error {
	return call.Send(ctx, f.c, &api.Request{
		Op: op, Method: http.MethodDelete, Query: q, Replay: api.ReplaySafe,
		Path: api.Path("/current/workspace/{workspace_id}/storage/{node_id}/metadata/", string(workspace), node.Plain()),
	}, opts)
}
