package metadata

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// Fields is the vocabulary of a workspace.
type Fields struct{ c api.Caller }

// Field is a field of a vocabulary. Its name is all that identifies it; letter case
// makes no difference.
type Field struct {
	Name         string       `json:"name"`
	DeclaredType api.FactType `json:"declared_type"`
	Constraints  *Constraints `json:"constraints"` // nil without any; the platform alone sets them
	Aliases      []string     `json:"aliases"`     // retired names that stand for this field
	Provisional  bool         `json:"provisional"` // says nothing of where the field comes from
	Origin       Origin       `json:"origin"`
	Revision     int          `json:"revision"`   // goes up with every change of the definition
	FileCount    *int         `json:"file_count"` // files and notes with a value, those in the trash included; nil when it is not known
	Created      api.Time     `json:"created"`
	Updated      api.Time     `json:"updated"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Origin says who made a field.
type Origin string

// The origins.
const (
	OriginAI   Origin = "ai"
	OriginUser Origin = "user"
)

// Constraints bound the values of a field.
type Constraints struct {
	Allowed []string        `json:"allowed"` // the only values; nil for any
	Min     json.RawMessage `json:"min"`     // as they arrived, as the next
	Max     json.RawMessage `json:"max"`
	Regex   string          `json:"regex"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// FieldPage is one page of fields.
type FieldPage struct {
	Fields     []*Field
	PageSize   int
	NextCursor string // where the next page begins; "" after the last
}

// List returns one page of the fields of a workspace. At [api.Terse] they come
// without a FileCount.
//
// It calls GET /current/workspace/{workspace_id}/metadata/fields/.
func (f *Fields) List(ctx context.Context, workspace api.ProfileID, list *ListOptions, opts ...api.CallOption) (*FieldPage, error) {
	const op = "metadata.Fields.List"
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	a, err := call.Do[rows[*Field]](ctx, f.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/workspace/{workspace_id}/metadata/fields/", string(workspace)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	return &FieldPage{a.Items, a.PageSize, a.next()}, nil
}

// Pages returns the pages that [Fields.List] has, from list.Cursor to the last.
func (f *Fields) Pages(ctx context.Context, workspace api.ProfileID, list *ListOptions, opts ...api.CallOption) iter.Seq2[*FieldPage, error] {
	return walk(ctx, "metadata.Fields.List", list, opts, func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*FieldPage, error) {
		return f.List(ctx, workspace, list, opts...)
	}, func(p *FieldPage) string { return p.NextCursor })
}

// All returns the fields of a workspace.
func (f *Fields) All(ctx context.Context, workspace api.ProfileID, opts ...api.CallOption) iter.Seq2[*Field, error] {
	return page.Rows(f.Pages(ctx, workspace, nil, opts...), func(p *FieldPage) []*Field { return p.Fields })
}

// ValuePage is one page of the values of a field.
type ValuePage struct {
	Values     []json.RawMessage // each with how often it occurs, as they arrived: their form is not published
	PageSize   int
	NextCursor string // where the next page begins; "" after the last
}

// Values returns one page of the values that the files and notes of a workspace
// have for a field.
//
// It calls GET /current/workspace/{workspace_id}/metadata/fields/.
func (f *Fields) Values(
	ctx context.Context, workspace api.ProfileID, field string, list *ListOptions, opts ...api.CallOption,
) (*ValuePage, error) {
	const op = "metadata.Fields.Values"
	if err := checkName(op, "field", field); err != nil {
		return nil, err
	}
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	q.Set("field", field)
	a, err := call.Do[rows[json.RawMessage]](ctx, f.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/workspace/{workspace_id}/metadata/fields/", string(workspace)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	return &ValuePage{a.Items, a.PageSize, a.next()}, nil
}

// Declaration is what became of a declared field.
type Declaration struct {
	Field   *Field `json:"field"`         // that the name stands for now; its name and type need not be those declared
	Created bool   `json:"field_created"` // false when there was one already
}

// Declare adds a field to the vocabulary of a workspace, for ever: a misspelling
// can only be merged away. Blanks around the name, of 1 to 64 characters, are taken
// off. If there is such a field, or was one that was merged into another, nothing
// happens and that one is returned.
//
// It takes an administrator of the workspace. A name that the platform does not
// accept is [api.ErrInvalid]; a workspace that is full of fields is [api.ErrLimit],
// for good.
//
// It calls POST /current/workspace/{workspace_id}/metadata/fields/.
func (f *Fields) Declare(
	ctx context.Context, workspace api.ProfileID, name string, declared api.FactType, opts ...api.CallOption,
) (*Declaration, error) {
	const op = "metadata.Fields.Declare"
	if err := checkName(op, "name", strings.TrimSpace(name)); err != nil {
		return nil, err
	}
	switch declared {
	case api.FactTypeString, api.FactTypeBool, api.FactTypeInt, api.FactTypeFloat, api.FactTypeJSON, api.FactTypeURL, api.FactTypeDatetime:
	default:
		return nil, &api.InputError{
			Op: op, Field: "declared_type", Rule: "must be string, bool, int, float, json, url or datetime", Got: strconv.Quote(string(declared)),
		}
	}
	a, err := call.Do[Declaration](ctx, f.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/workspace/{workspace_id}/metadata/fields/", string(workspace)),
		Body: api.Form(url.Values{"name": {name}, "declared_type": {string(declared)}}), Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	if a.Field, err = call.Found(op, "field", a.Field, opts); err != nil {
		return nil, err
	}
	return a, nil
}
