// Package metadata reads and writes the metadata of the files and notes of a
// workspace.
//
//	set, err := client.Metadata.Facts.Set(ctx, books, invoice, map[string]any{
//		"total": 1250.5, "total_currency": "EUR",
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	for _, fact := range set.Facts {
//		fmt.Printf("%s: %s, by %s\n", fact.Name, fact.Value, fact.Source)
//	}
//
// A workspace has a vocabulary of fields, each with a name and a type. A file or note
// has at most one value for each field: a fact, extracted by the AI of the platform or
// written by a user.
//
// Fields are permanent: they cannot be renamed or deleted. Two fields that mean the
// same can be merged; [Fields.Preflight] reports the effect beforehand.
package metadata

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Service reads and writes metadata. It is the Metadata field of a
// fastio.Client, and safe for concurrent use.
//
// All calls return [api.ErrPaymentRequired] if the plan lacks metadata.
type Service struct {
	c api.Client

	Fields  *Fields  // the vocabulary of a workspace
	Facts   *Facts   // the values of a file or note
	Filters *Filters // saved filters of a workspace
}

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service {
	return &Service{c: c, Fields: &Fields{c}, Facts: &Facts{c}, Filters: &Filters{c}}
}

// ListOptions selects a page of a list. Nil means the first.
type ListOptions struct {
	PageSize int    // rows a page, 1 to 250; default: 100
	Cursor   string // the NextCursor of the previous page
}

const maxPageSize = 250

// query checks the options and returns them as query parameters; nil has none.
func (o *ListOptions) query(op string) (url.Values, error) {
	q := url.Values{}
	if o == nil {
		return q, nil
	}
	if o.PageSize < 0 || o.PageSize > maxPageSize {
		return nil, input.Fields[ListOptions](op).Refuse("page_size", "must be 1 to 250", strconv.Itoa(o.PageSize))
	}
	if o.PageSize > 0 {
		q.Set("page_size", strconv.Itoa(o.PageSize))
	}
	if o.Cursor != "" { // the first page has none
		q.Set("cursor", o.Cursor)
	}
	return q, nil
}

// rows are one page of a list, whose members are at the root of the response.
type rows[T any] struct {
	Count    int    `json:"count"`
	PageSize int    `json:"page_size"`
	Cursor   string `json:"cursor"`
	HasMore  *bool  `json:"has_more"`
	Items    []T    `json:"items"`
}

// more reports whether there is another page: as the response says, else by its
// cursor.
func (r *rows[T]) more() bool {
	if r.HasMore != nil {
		return *r.HasMore
	}
	return r.Cursor != ""
}

// next returns the cursor of the next page; "" after the last.
func (r *rows[T]) next() string {
	if !r.more() {
		return ""
	}
	return r.Cursor
}

// listByCursor returns the list of all rows, read by fetch in pages of 250 rows by
// default. Next returns whether there is another page, and its cursor.
func listByCursor[P, T any](
	op string, list *ListOptions,
	fetch func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*P, error),
	next func(*P) (more bool, cursor string), rows func(*P) []T,
) page.List[*P, T] {
	var o ListOptions
	if list != nil {
		o = *list
	}
	if o.PageSize == 0 {
		o.PageSize = maxPageSize
	}
	fetchAt := func(ctx context.Context, cursor string, opts []api.CallOption) (*P, string, error) {
		at := o
		at.Cursor = cursor
		p, err := fetch(ctx, &at, opts...)
		if err != nil {
			return nil, "", err
		}
		more, after := next(p)
		after, err = page.Next(op, more, after)
		return p, after, err
	}
	return page.List[*P, T]{Op: op, Start: o.Cursor, Fetch: fetchAt, Rows: rows}
}

// maxName is the limit of the name of a field, in characters.
const maxName = 64

// checkName returns an error for an invalid name of a field. Blanks around a
// name count as its characters.
func checkName(args input.Args, field, name string) error {
	switch n := utf8.RuneCountInString(name); {
	case strings.TrimSpace(name) == "":
		return args.Refuse(field, "must not be blank", strconv.Quote(name))
	case n > maxName:
		return args.Refuse(field, "must be at most 64 characters", strconv.Itoa(n)+" characters")
	}
	return nil
}

// namesText checks names of fields and returns them as a JSON list.
func namesText(args input.Args, field string, names []string) (string, error) {
	for i, name := range names {
		if err := checkName(args, input.At(field, i), name); err != nil {
			return "", err
		}
	}
	b, err := jsonv2.Marshal(names)
	if err != nil {
		return "", args.Refuse(field, "must be UTF-8", err.Error())
	}
	return string(b), nil
}
