package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/storage"
)

// Facts reads and writes the facts of one file or note.
type Facts struct{ c api.Client }

// FactSet holds all facts of a file or note.
type FactSet struct {
	NodeID api.OpaqueID    `json:"object_id"`
	Count  int             `json:"count"`
	Facts  []*storage.Fact `json:"items"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Fact returns the fact of a field, without regard to case; nil if there is none.
func (s *FactSet) Fact(field string) *storage.Fact {
	for _, f := range s.Facts {
		if f != nil && strings.EqualFold(f.Name, field) {
			return f
		}
	}
	return nil
}

// Get returns all facts of a file or note, at [api.Full] unless the call asks
// for another output level.
//
// Errors: [api.ErrNotFound] if the node does not exist; [api.ErrInvalid] if it
// is a folder or link.
//
// It calls GET /current/workspace/{workspace_id}/storage/{node_id}/metadata/facts/.
func (f *Facts) Get(
	ctx context.Context, workspace api.ID, node api.OpaqueID, opts ...api.CallOption,
) (*FactSet, error) {
	if len(api.Resolve(opts).Output) == 0 { // lower levels omit the values or their provenance
		opts = append(slices.Clip(opts), api.WithOutput(api.Full))
	}
	return call.Payload[FactSet](ctx, f.c, endpoint.MetadataFactsGet(workspace, node, nil), opts)
}

// ErrAmbiguous reports that a write of facts was rejected and may have been carried
// out nevertheless: read the facts before another write. The error is also an
// [*api.Error].
var ErrAmbiguous = errors.New("it is unknown whether anything was written")

const (
	maxFacts = 100
	maxValue = 4096 // characters of a string
)

// Set writes 1 to 100 values of a file or note, by the name of their field, and
// returns all facts after the write. It is atomic: all values are written or
// none. They have the source user, so no extraction overwrites them.
//
// A value is a string of at most 4,096 characters, a number, a bool, an object
// or an array. Dates are ISO 8601 strings, URLs absolute. Amounts of money are
// numbers, with the currency in a field of its own. "", 0 and false are values.
// Null is rejected, as the server would ignore it: "" empties a field, and
// [Facts.Delete] removes its value.
//
// A name without a field creates one, permanently, with a type inferred from
// the value. A value of category or sub_category that is not on its list is
// stored as Other: do not write a whole FactSet back. A write has no condition: of two
// writes of one fact the later one stays.
//
// It is retried only if it was not processed.
//
// Errors: [api.ErrInvalid] if values are not valid: if the [api.Error] has
// Params nothing was written, else it is [ErrAmbiguous]; [api.ErrUnavailable]
// with status 503 if nothing was written and the call may be repeated. After
// any other error read the facts before another write.
//
// It calls POST /current/workspace/{workspace_id}/storage/{node_id}/metadata/facts/.
func (f *Facts) Set(
	ctx context.Context, workspace api.ID, node api.OpaqueID, values map[string]any, opts ...api.CallOption,
) (*FactSet, error) {
	facts, err := encode(input.Parameters("metadata.Facts.Set", "facts", "values"), values)
	if err != nil {
		return nil, err
	}
	body := api.JSON(map[string]any{"facts": facts})
	set, err := call.Payload[FactSet](ctx, f.c, endpoint.MetadataFactsSet(workspace, node, body), opts)
	if e, refused := errors.AsType[*api.Error](err); refused && e.Status == http.StatusNotAcceptable &&
		len(e.Params) == 0 {
		return nil, fmt.Errorf("%w: %w", err, ErrAmbiguous)
	}
	return set, err
}

// encode checks the names and values of facts and returns the values as JSON.
func encode(args input.Args, values map[string]any) (map[string]json.RawMessage, error) {
	if len(values) == 0 || len(values) > maxFacts {
		return nil, args.Refuse("facts", "must be 1 to 100", strconv.Itoa(len(values)))
	}
	facts := make(map[string]json.RawMessage, len(values))
	for name, value := range values {
		if err := checkName(args, "facts", name); err != nil {
			return nil, err
		}
		rule, got := "", strconv.Quote(name)
		b, err := jsonv2.Marshal(value, jsonv2.Deterministic(true))
		switch n := characters(b); {
		case name != strings.TrimSpace(name):
			rule = "must have names without blanks around them"
		case err != nil:
			rule = "must have values that JSON can encode"
		case string(b) == "null":
			rule = `must not be null, which has no effect: "" empties a field, Delete removes its value`
		case n > maxValue:
			rule, got = "must have texts of at most 4096 characters", got+" of "+strconv.Itoa(n)+" characters"
		}
		if rule != "" {
			return nil, args.Refuse("facts", rule, got)
		}
		facts[name] = b
	}
	return facts, nil
}

// characters returns the number of characters of a JSON string, 0 for another
// value and for a string of at most maxValue bytes, which is short enough.
func characters(value jsontext.Value) int {
	if value.Kind() != '"' || len(value) <= maxValue {
		return 0
	}
	text, _ := jsontext.AppendUnquote(nil, value) // Marshal has quoted it
	return utf8.RuneCount(text)
}

// Delete removes the values of the given fields, at least one, from a file or
// note. The fields are kept, and no extraction follows.
//
// It calls DELETE /current/workspace/{workspace_id}/storage/{node_id}/metadata/.
func (f *Facts) Delete(
	ctx context.Context, workspace api.ID, node api.OpaqueID, fields []string, opts ...api.CallOption,
) error {
	args := input.Parameters("metadata.Facts.Delete", "keys", "fields")
	if len(fields) == 0 { // without keys the server deletes all values
		return args.Refuse("keys", "must name a field; DeleteAll removes all values", "0")
	}
	keys, err := namesText(args, "keys", fields)
	if err != nil {
		return err
	}
	return call.Do(ctx, f.c, endpoint.MetadataFactsDelete(workspace, node, url.Values{"keys": {keys}}), opts)
}

// DeleteAll removes all values from a file or note, including those written by
// users. It sends the request of [Facts.Delete] without field names.
func (f *Facts) DeleteAll(ctx context.Context, workspace api.ID, node api.OpaqueID, opts ...api.CallOption) error {
	return call.Do(ctx, f.c, endpoint.MetadataFactsDelete(workspace, node, nil), opts)
}
