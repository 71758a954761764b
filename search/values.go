package search

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/metadata"
)

// Values is one page of files and notes by the values of their fields, the best
// first. A page may be short or empty although HasMore of its Pagination is set.
type Values struct {
	Hits       []*Hit          `json:"results"`
	Pagination *api.Pagination `json:"pagination"` // Total is an upper bound
}

// ValuesOptions selects a page of [Service.Metadata]. Nil means the first.
type ValuesOptions struct {
	Limit  int // hits a page, 1 to 100; default: 100
	Offset int // hits to skip; at most 10,000 together with Limit
}

const (
	maxValues  = 100
	maxReached = 10_000
)

var errReached = errors.New("fastio: search.Metadata: the server returns at most 10000 hits, and there are more")

// Metadata searches the metadata values of the files and notes of a workspace
// for words, all of which must match. New values are found a second or two
// after the write.
//
// It calls GET /current/workspace/{workspace_id}/metadata/search/.
func (s *Service) Metadata(
	ctx context.Context, workspace api.ID, text string, list *ValuesOptions, opts ...api.CallOption,
) (*Values, error) {
	var o ValuesOptions
	if list != nil {
		o = *list
	}
	q, err := o.query("search.Metadata", text)
	if err != nil {
		return nil, err
	}
	return call.Payload[Values](ctx, s.c, endpoint.SearchMetadata(workspace, q), opts)
}

// query checks the text and the options and returns them as query parameters.
func (o *ValuesOptions) query(op, text string) (url.Values, error) {
	args := input.Fields[ValuesOptions](op)
	text = strings.TrimSpace(text)
	n := utf8.RuneCountInString(text)
	switch {
	case n == 0 || n > maxText:
		return nil, input.Parameters(op, "q", "text").Refuse("q", "must be 1 to 1024 characters", strconv.Itoa(n)+" characters")
	case o.Limit < 0 || o.Limit > maxValues:
		return nil, args.Refuse("limit", "must be 1 to 100", strconv.Itoa(o.Limit))
	case o.Offset < 0:
		return nil, args.Refuse("offset", "must be 0 or more", strconv.Itoa(o.Offset))
	case o.Offset+o.Limit > maxReached:
		return nil, args.Refuse("offset", "must be at most 10000 with Limit", strconv.Itoa(o.Offset)+" and "+strconv.Itoa(o.Limit))
	}
	q := url.Values{"q": {text}}
	setInt(q, "limit", o.Limit)
	setInt(q, "offset", o.Offset)
	return q, nil
}

// AllValues returns the hits of all pages of [Service.Metadata]; a page may be
// empty before the end. It ends with an error if there are more than the 10,000
// hits that the server returns.
func (s *Service) AllValues(
	ctx context.Context, workspace api.ID, text string, list *ValuesOptions, opts ...api.CallOption,
) iter.Seq2[*Hit, error] {
	o := ValuesOptions{}
	if list != nil {
		o = *list
	}
	if o.Limit == 0 {
		o.Limit = maxValues
	}
	next := func(ctx context.Context, offset int, opts []api.CallOption) (*Values, error) {
		at := o
		isFirst := offset == o.Offset
		if !isFirst { // the first page has the options of the caller, which Metadata checks and may refuse
			at.Offset, at.Limit = offset, min(o.Limit, maxReached-offset)
			if at.Limit <= 0 {
				return nil, errReached
			}
		}
		v, err := s.Metadata(ctx, workspace, text, &at, opts...)
		if err == nil {
			v.endAtTotal(at)
		}
		return v, err
	}
	rows := func(v *Values) ([]*Hit, *api.Pagination) { return v.Hits, v.Pagination }
	hits := page.Offsets("search.Metadata", o.Offset, next, rows)
	hits.Empty = page.ManyEmpty // a hundred empty pages in a row end the iteration, fewer do not
	return hits.All(ctx, opts)
}

// endAtTotal sets HasMore to false on an empty page that reaches the Total, because the server
// may say of every page that more follow.
func (v *Values) endAtTotal(at ValuesOptions) {
	p := v.Pagination
	if p == nil || p.Total == 0 || len(v.Hits) > 0 { // a total of 0 means that the response has none
		return
	}
	if at.Offset+at.Limit >= p.Total { // there are at most Total hits
		p.HasMore = false
	}
}

// CompoundQuery is the query of [Service.Compound].
type CompoundQuery struct {
	Filters []metadata.Filter // 1 to 5, all must match
	Text    string            `wire:"content_query"` // a query for the content: at most 1,024 characters; "" means any
	Limit   int               // hits; 0 means the default of the server, which also lowers a limit that is too high
}

// Compound is the result of a compound search.
type Compound struct {
	Hits  []*Hit               `json:"items"`
	Scope metadata.FilterScope `json:"scope"`
}

// Compound finds files and notes of a workspace by their metadata and content
// together. It requires metadata in the plan and Intelligence in the workspace.
//
// Errors: [api.ErrInvalid] if a filter is not valid for its field.
//
// It calls POST /current/workspace/{workspace_id}/metadata/compound-search/.
func (s *Service) Compound(
	ctx context.Context, workspace api.ID, q CompoundQuery, opts ...api.CallOption,
) (*Compound, error) {
	args := input.Fields[CompoundQuery]("search.Compound")
	conditions, err := filtersText(args, q.Filters)
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(q.Text); n > maxText {
		return nil, args.Refuse("content_query", "must be at most 1024 characters", strconv.Itoa(n)+" characters")
	}
	if q.Limit < 0 {
		return nil, args.Refuse("limit", "must be 1 or more", strconv.Itoa(q.Limit))
	}
	form := url.Values{"filters": {conditions}}
	if q.Text != "" {
		form.Set("content_query", q.Text)
	}
	setInt(form, "limit", q.Limit)
	return call.Payload[Compound](ctx, s.c, endpoint.SearchCompound(workspace, api.Form(form)), opts)
}
