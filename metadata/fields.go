package metadata

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/storage"
)

// Fields reads and changes the vocabulary of a workspace.
type Fields struct{ c api.Client }

// Field is a field of a vocabulary. It is identified by its name, without
// regard to case.
type Field struct {
	Name         string           `json:"name"`
	DeclaredType storage.FactType `json:"declared_type"`
	Constraints  *Constraints     `json:"constraints"` // nil means none; only the platform sets it
	Aliases      []string         `json:"aliases"`     // retired names that resolve to this field
	Provisional  bool             `json:"provisional"` // of the platform, in an undocumented meaning; not related to Origin
	Origin       Origin           `json:"origin"`
	Revision     int              `json:"revision"`   // incremented by each change of the definition
	FileCount    *int             `json:"file_count"` // files and notes with a value, also in the trash; nil means unknown
	Created      api.Time         `json:"created"`
	Updated      api.Time         `json:"updated"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the field on one line: its name in quotes and its type.
func (f *Field) String() string {
	if f == nil {
		return "<nil>"
	}
	return strings.TrimSpace(fmt.Sprintf("field %q %s", f.Name, f.DeclaredType))
}

// Origin is the creator of a field.
type Origin string

// Origins of a field.
const (
	OriginAI   Origin = "ai"
	OriginUser Origin = "user"
)

// Constraints limit the values of a field.
type Constraints struct {
	Allowed []string        `json:"allowed"`      // the allowed values; nil means any
	Min     json.RawMessage `json:"min,omitzero"` // as in the response, as the next
	Max     json.RawMessage `json:"max,omitzero"`
	Regex   string          `json:"regex"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// FieldPage is one page of fields.
type FieldPage struct {
	Fields     []*Field
	Count      int // fields on this page, as the server counts
	PageSize   int
	HasMore    bool   // whether there is another page
	NextCursor string // "" after the last page
}

// List returns one page of the fields of a workspace. Those that were merged into another
// are left out. It requires membership of the workspace. FileCount is nil at [api.Terse].
//
// It calls GET /current/workspace/{workspace_id}/metadata/fields/.
func (f *Fields) List(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) (*FieldPage, error) {
	a, err := call.Page[rows[*Field]](ctx, f.c, endpoint.MetadataFieldsList(workspace, nil), list.query, opts)
	if err != nil {
		return nil, err
	}
	return &FieldPage{a.Items, a.Count, a.PageSize, a.more(), a.next()}, nil
}

// Pages returns the pages of [Fields.List], from list.Cursor on.
func (f *Fields) Pages(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*FieldPage, error] {
	return f.pages(workspace, list).Pages(ctx, opts)
}

// pages returns the pages of the fields of a workspace.
func (f *Fields) pages(workspace api.ID, list *ListOptions) page.List[*FieldPage, *Field] {
	next := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*FieldPage, error) {
		return f.List(ctx, workspace, list, opts...)
	}
	more := func(p *FieldPage) (bool, string) { return p.HasMore, p.NextCursor }
	return listByCursor("metadata.Fields.List", list, next, more, func(p *FieldPage) []*Field { return p.Fields })
}

// All returns the fields of all pages of [Fields.List], from list.Cursor on.
func (f *Fields) All(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Field, error] {
	return f.pages(workspace, list).All(ctx, opts)
}

// ValuePage is one page of the values of a field.
type ValuePage struct {
	Values     []json.RawMessage // each with its number of occurrences, in an undocumented form
	PageSize   int
	HasMore    bool   // whether there is another page
	NextCursor string // "" after the last page
}

// Values returns one page of the values that the files and notes of a workspace
// have for a field.
//
// It calls GET /current/workspace/{workspace_id}/metadata/fields/.
func (f *Fields) Values(
	ctx context.Context, workspace api.ID, field string, list *ListOptions, opts ...api.CallOption,
) (*ValuePage, error) {
	const op = "metadata.Fields.Values"
	if err := checkName(input.Parameters(op), "field", field); err != nil {
		return nil, err
	}
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	q.Set("field", field)
	a, err := call.Payload[rows[json.RawMessage]](ctx, f.c, endpoint.MetadataFieldsValues(workspace, q), opts)
	if err != nil {
		return nil, err
	}
	return &ValuePage{a.Items, a.PageSize, a.more(), a.next()}, nil
}

// Declaration is the result of [Fields.Declare].
type Declaration struct {
	Field *Field `json:"field"` // the field of that name; its spelling and type may differ from those declared

	// Created reports whether the last attempt created the field. It is also false
	// if an earlier attempt created it and the response was lost.
	Created bool `json:"field_created"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the field of the declaration on one line, and whether it was created.
func (d *Declaration) String() string {
	switch {
	case d == nil:
		return "<nil>"
	case d.Created:
		return d.Field.String() + ", created"
	}
	return d.Field.String() + ", not created"
}

// Declare adds a field to the vocabulary of a workspace, permanently. The name has
// 1 to 64 characters, not counting leading and trailing blanks, which are removed.
// It is idempotent: if the field exists or was merged into another, it changes
// nothing and returns that field. It requires the admin role in the workspace.
//
// The type is one of the constants of [storage.FactType], which have the names of the
// platform. It is [storage.FactTypeDatetime] for a time and for a date, such as due_date;
// [storage.FactTypeInt] or [storage.FactTypeFloat] for a number.
//
// Errors: [api.ErrInvalid] if the server does not accept the name;
// [api.ErrLimit] if the workspace has no room for another field, permanently.
//
// It calls POST /current/workspace/{workspace_id}/metadata/fields/.
func (f *Fields) Declare(
	ctx context.Context, workspace api.ID, name string, declared storage.FactType, opts ...api.CallOption,
) (*Declaration, error) {
	const op = "metadata.Fields.Declare"
	args := input.Parameters(op, "declared_type", "declared")
	if err := checkName(args, "name", strings.TrimSpace(name)); err != nil {
		return nil, err
	}
	switch declared {
	case storage.FactTypeString, storage.FactTypeBool, storage.FactTypeInt, storage.FactTypeFloat,
		storage.FactTypeJSON, storage.FactTypeURL,
		storage.FactTypeDatetime:
	default:
		const rule = "must be string, bool, int, float, json, url or datetime"
		return nil, args.Refuse("declared_type", rule, strconv.Quote(string(declared)))
	}
	body := api.Form{"name": {name}, "declared_type": {string(declared)}}
	a, err := call.Payload[Declaration](ctx, f.c, endpoint.MetadataFieldsDeclare(workspace, body), opts)
	if err != nil {
		return nil, err
	}
	a.Field, err = call.Found(op, "field", a.Field)
	if err != nil {
		return nil, err
	}
	return a, nil
}
