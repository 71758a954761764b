package search

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// Values is one page of files and notes by the values of their fields, the best
// first.
type Values struct {
	Hits       []*Hit          `json:"results"`
	Pagination *api.Pagination `json:"pagination"` // whose Total is no less than what there is, and may be more
}

// ValuesOptions asks for one page of [Service.Metadata]. Nil asks for the first.
type ValuesOptions struct {
	Limit  int // hits a page, 1 to 100; 0 leaves it to the server, which sends 100
	Offset int // hits to skip; with Limit at most 10,000
}

const (
	maxValues  = 100
	maxReached = 10_000
)

// errReached ends an iteration that could go on, if the server let it.
var errReached = errors.New("fastio: search.Metadata: the server has more than the 10000 hits it gives out")

// Metadata searches the metadata values of a workspace's files and notes for
// words, all of which must be found. A value is found a second or two after it was
// written.
//
// It calls GET /current/workspace/{workspace_id}/metadata/search/.
func (s *Service) Metadata(ctx context.Context, workspace api.ProfileID, text string, list *ValuesOptions, opts ...api.CallOption) (*Values, error) {
	const op = "search.Metadata"
	var o ValuesOptions
	if list != nil {
		o = *list
	}
	q, err := o.query(op, text)
	if err != nil {
		return nil, err
	}
	return call.Do[Values](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/workspace/{workspace_id}/metadata/search/", string(workspace)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
}

func (o *ValuesOptions) query(op, text string) (url.Values, error) {
	refuse := func(field, rule, got string) (url.Values, error) {
		return nil, &api.InputError{Op: op, Field: field, Rule: rule, Got: got}
	}
	text = strings.TrimSpace(text)
	n := utf8.RuneCountInString(text)
	switch {
	case n == 0 || n > maxText:
		return refuse("q", "must be 1 to 1024 characters", strconv.Itoa(n)+" characters")
	case o.Limit < 0 || o.Limit > maxValues:
		return refuse("limit", "must be 1 to 100", strconv.Itoa(o.Limit))
	case o.Offset < 0:
		return refuse("offset", "must be 0 or more", strconv.Itoa(o.Offset))
	case o.Offset+o.Limit > maxReached:
		return refuse("offset", "must be at most 10000 with the limit", strconv.Itoa(o.Offset)+" and "+strconv.Itoa(o.Limit))
	}
	q := url.Values{"q": {text}}
	setInt(q, "limit", o.Limit)
	setInt(q, "offset", o.Offset)
	return q, nil
}

// AllValues returns the hits that [Service.Metadata] has pages of. It ends with an
// error where there are more than the 10,000 that a server gives out.
func (s *Service) AllValues(
	ctx context.Context, workspace api.ProfileID, text string, list *ValuesOptions, opts ...api.CallOption,
) iter.Seq2[*Hit, error] {
	o := ValuesOptions{}
	if list != nil {
		o = *list
	}
	if o.Limit == 0 {
		o.Limit = maxValues
	}
	pages := page.Calls(ctx, "search.Metadata", "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) (*Values, string, error) {
		at := o
		at.Offset = page.Offset(cursor, o.Offset)
		if cursor != "" {
			if at.Limit = min(at.Limit, maxReached-at.Offset); at.Limit <= 0 {
				return nil, "", errReached
			}
		}
		v, err := s.Metadata(ctx, workspace, text, &at, opts...)
		if err != nil || len(v.Hits) == 0 { // the total promises more than there is
			return v, "", err
		}
		return v, page.AfterOffset(v.Pagination, at.Offset, len(v.Hits)), nil
	})
	return page.Rows(pages, func(v *Values) []*Hit { return v.Hits })
}

// CompoundQuery says what [Service.Compound] looks for.
type CompoundQuery struct {
	Filters []api.Filter // 1 to 5, all of which must hold
	Text    string       // what the content must be about; at most 1,024 characters, "" for anything
	Limit   int          // hits; 0 leaves it to the server, which also lowers what is too much
}

// Compound is what a compound search found.
type Compound struct {
	Hits  []*Hit        `json:"items"`
	Scope CompoundScope `json:"scope"`
}

// CompoundScope says how much of the workspace the hits speak for.
type CompoundScope struct {
	MatchRelation    TotalRelation     `json:"match_relation"`     // of MatchCount
	MatchCount       *int              `json:"match_count"`        // nil when it is not known, as the next
	FilesNotIndexed  *int              `json:"files_not_indexed"`  // files whose content could not be searched
	LimitClampedFrom *int              `json:"limit_clamped_from"` // the limit that was asked for; nil when it was kept
	Causes           []json.RawMessage `json:"causes"`             // why there may be more, as they arrived

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Compound finds files and notes of a workspace by their metadata and their
// content at once. It needs a workspace with metadata and intelligence.
//
// A filter that does not fit its field is [api.ErrInvalid].
//
// It calls POST /current/workspace/{workspace_id}/metadata/compound-search/.
func (s *Service) Compound(ctx context.Context, workspace api.ProfileID, q CompoundQuery, opts ...api.CallOption) (*Compound, error) {
	const op = "search.Compound"
	filters, err := filtersText(op, q.Filters)
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(q.Text); n > maxText {
		return nil, &api.InputError{Op: op, Field: "content_query", Rule: "must be at most 1024 characters", Got: strconv.Itoa(n) + " characters"}
	}
	if q.Limit < 0 {
		return nil, &api.InputError{Op: op, Field: "limit", Rule: "must be 1 or more", Got: strconv.Itoa(q.Limit)}
	}
	form := url.Values{"filters": {filters}}
	if q.Text != "" {
		form.Set("content_query", q.Text)
	}
	setInt(form, "limit", q.Limit)
	return call.Do[Compound](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/workspace/{workspace_id}/metadata/compound-search/", string(workspace)),
		Body: api.Form(form), Replay: api.ReplaySafe,
	}, opts)
}
