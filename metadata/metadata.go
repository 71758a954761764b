// Package metadata reads and writes what is known about the files and notes of a
// workspace.
//
// A workspace has a vocabulary of fields, each with a name and a type. What is
// known about a file or note are its facts: at most one value for each field, found
// by the platform's AI or written by people.
//
//	set, err := client.Metadata.Facts.Set(ctx, workspace, node, map[string]any{"invoice_total": 1250.5})
//
// Fields are for ever: nothing renames or deletes one. Two that turn out to be one
// can be merged, after [Fields.Preflight] has told what that would do.
package metadata

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/page"
)

// Service reads and writes metadata. Get one from the Metadata field of a
// fastio.Client. It is safe for concurrent use.
//
// A plan without metadata is [api.ErrPaymentRequired] in all its calls.
type Service struct {
	c api.Caller

	Fields  *Fields  // the vocabulary
	Facts   *Facts   // of one file or note
	Filters *Filters // that a workspace keeps
}

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service {
	return &Service{c: c, Fields: &Fields{c}, Facts: &Facts{c}, Filters: &Filters{c}}
}

// ListOptions asks for one page of a list. Nil asks for the first.
type ListOptions struct {
	PageSize int    // rows a page, 1 to 250; 0 leaves it to the server, which sends 100
	Cursor   string // NextCursor of the page before
}

const maxPageSize = 250

// query checks o and returns it as parameters.
func (o *ListOptions) query(op string) (url.Values, error) {
	q := url.Values{}
	if o == nil {
		return q, nil
	}
	if o.PageSize < 0 || o.PageSize > maxPageSize {
		return nil, &api.InputError{Op: op, Field: "page_size", Rule: "must be 1 to 250", Got: strconv.Itoa(o.PageSize)}
	}
	if o.PageSize > 0 {
		q.Set("page_size", strconv.Itoa(o.PageSize))
	}
	if o.Cursor != "" { // an empty one is not the first page
		q.Set("cursor", o.Cursor)
	}
	return q, nil
}

// rows are one page of a list as it arrives: its members stand at the root.
type rows[T any] struct {
	Count    int    `json:"count"`
	PageSize int    `json:"page_size"`
	Cursor   string `json:"cursor"`
	HasMore  *bool  `json:"has_more"`
	Items    []T    `json:"items"`
}

// next is where the next page begins, "" after the last.
func (r *rows[T]) next() string {
	if r.HasMore != nil && !*r.HasMore {
		return ""
	}
	return r.Cursor
}

// walk goes from page to page, of 250 rows unless list says otherwise.
func walk[P any](
	ctx context.Context, op string, list *ListOptions, opts []api.CallOption,
	fetch func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*P, error), next func(*P) string,
) iter.Seq2[*P, error] {
	var o ListOptions
	if list != nil {
		o = *list
	}
	if o.PageSize == 0 {
		o.PageSize = maxPageSize
	}
	return page.Calls(ctx, op, o.Cursor, opts, func(ctx context.Context, cursor string, opts []api.CallOption) (*P, string, error) {
		at := o
		at.Cursor = cursor
		p, err := fetch(ctx, &at, opts...)
		if err != nil {
			return nil, "", err
		}
		return p, next(p), nil
	})
}

// maxName is how many characters the name of a field may have.
const maxName = 64

// checkName refuses what cannot be the name of a field. Blanks around it count.
func checkName(op, field, name string) error {
	switch n := utf8.RuneCountInString(name); {
	case strings.TrimSpace(name) == "":
		return &api.InputError{Op: op, Field: field, Rule: "must not be blank", Got: strconv.Quote(name)}
	case n > maxName:
		return &api.InputError{Op: op, Field: field, Rule: "must be at most 64 characters", Got: strconv.Itoa(n) + " characters"}
	}
	return nil
}

// members are those of a JSON object whose form nobody has published.
type members map[string]json.RawMessage

// list takes the first of the named members that is a list.
func (m members) list(names ...string) []json.RawMessage {
	for _, name := range names {
		var list []json.RawMessage
		if jsontext.Value(m[name]).Kind() == '[' && jsonv2.Unmarshal(m[name], &list) == nil {
			delete(m, name)
			return list
		}
	}
	return nil
}
