// Package search finds files, folders, notes and comments of workspaces and
// shares by name, by keyword, by meaning (semantic search) and by metadata.
//
//	for hit, err := range client.Search.All(ctx, api.Workspace(docks), search.Query{Text: "broken crane"}) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(hit.Name, hit.MatchSource, hit.Snippet)
//	}
//
// A partial search is not an error. The Gaps of a [Result], or the Gaps and
// Status of a [Bucket], list what is missing.
package search

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
	"github.com/fastio-go/fastio/metadata"
)

// Service searches. It is the Search field of a fastio.Client, and safe for
// concurrent use.
type Service struct{ c api.Client }

// New returns a Service that sends its requests through c.
func New(c api.Client) *Service { return &Service{c} }

// Result is one page of hits, the best first.
type Result struct {
	Hits       []*Hit
	Pagination *api.Pagination        // nil if not in the response
	Metadata   *Metadata              // nil if not in the response
	Filter     *metadata.FilterReport // of Query.Filters and Query.Category; nil means none
	Gaps       []Gap                  // parts that were not searched; empty if complete

	ResponseCode json.RawMessage // undocumented
}

// Metadata describes the search itself. A nil field is not in the response.
type Metadata struct {
	IntelligenceEnabled    *bool  `json:"intelligence_enabled"`     // files are indexed for semantic search
	SemanticAvailable      *bool  `json:"semantic_available"`       // the semantic index was searched
	Scoped                 *bool  `json:"scoped"`                   // Query.Within narrowed the hits
	ContentSearchAvailable *bool  `json:"content_search_available"` // the content of files was searched
	Reason                 Reason `json:"reason"`                   // why content was not searched; "" if it was
	ScopeIncomplete        bool   `json:"scope_incomplete"`         // the folders of Query.Within were truncated

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Reason is why the content of files was not searched. Unknown values are
// kept.
type Reason string

// Reasons why the content of files was not searched.
const (
	ReasonIntelligenceDisabled    Reason = "intelligence_disabled"
	ReasonSummaryPermissionDenied Reason = "summary_permission_denied"
	ReasonContentNotIndexed       Reason = "content_not_indexed"
)

// Gap is a part of a search that was not done.
type Gap string

// Parts of a search that were not done.
const (
	GapSemantic Gap = "semantic" // no semantic search: hits match by keyword only
	GapContent  Gap = "content"  // the content of files was not searched: see Metadata.Reason
	GapScope    Gap = "scope"    // Query.Within holds more than 100 files and folders: the others were not searched
	GapUnscoped Gap = "unscoped" // Query.Within had no effect
	GapFilter   Gap = "filter"   // more than 1,000 files match the filter: the others were not searched
)

type resultWire struct {
	Files        hits                   `json:"files"`
	Results      hits                   `json:"results"` // older servers send it in place of Files
	Pagination   *api.Pagination        `json:"pagination"`
	Metadata     *Metadata              `json:"search_metadata"`
	Filter       *metadata.FilterReport `json:"metadata_filter"`
	ResponseCode json.RawMessage        `json:"response_code"`
}

// result returns the response as a Result. The hits are in one of two members.
func (w *resultWire) result(q *Query) *Result {
	r := &Result{
		Hits: w.Files, Pagination: w.Pagination, Metadata: w.Metadata, Filter: w.Filter, ResponseCode: w.ResponseCode,
	}
	if r.Hits == nil {
		r.Hits = w.Results
	}
	r.Gaps = gaps(w.Metadata, q.Target, len(q.Within) > 0)
	if w.Filter != nil && w.Filter.IsTruncated {
		r.Gaps = append(r.Gaps, GapFilter)
	}
	return r
}

// gaps returns the parts of a search that, according to the metadata of its
// response, were not done. Within reports whether the search was limited to
// folders.
func gaps(m *Metadata, target Target, within bool) []Gap {
	if m == nil {
		return nil
	}
	var all []Gap
	if isFalse(m.SemanticAvailable) && target != TargetFilename {
		all = append(all, GapSemantic)
	}
	if isFalse(m.ContentSearchAvailable) && target != TargetFilename {
		all = append(all, GapContent)
	}
	if m.ScopeIncomplete {
		all = append(all, GapScope)
	}
	if within && isFalse(m.Scoped) {
		all = append(all, GapUnscoped)
	}
	return all
}

func isFalse(flag *bool) bool { return flag != nil && !*flag }

// Files searches the files, folders and notes of a workspace or share.
//
// Query.Within narrows the semantic hits only. For a hard boundary skip the
// hits whose MatchSource is [MatchSourceKeyword].
//
// Errors: [api.ErrInvalid], which names the entry, if an entry of Query.Within
// is not a node of its type or not a version of the file, or if there are more
// than 100 files; [api.ErrNotFound] if the share is of a workspace folder:
// search the workspace; [api.ErrUnavailable] if a filter could not be
// evaluated; [metadata.ErrUnfiltered] if the server ignored a filter.
//
// It calls GET /current/workspace/{workspace_id}/storage/search/.
// It calls GET /current/share/{share_id}/storage/search/.
func (s *Service) Files(ctx context.Context, in api.Profile, q Query, opts ...api.CallOption) (*Result, error) {
	const op = "search.Files"
	query, err := q.values(op, in)
	if err != nil {
		return nil, err
	}
	r := endpoint.SearchFiles(in, query)
	a, err := call.Payload[resultWire](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	if q.filtered() && !a.Filter.Ran() {
		return nil, fmt.Errorf("fastio: %s: %w", op, metadata.ErrUnfiltered)
	}
	return a.result(&q), nil
}

// Pages returns the pages of [Service.Files], from q.Offset on, with as many
// hits a page as the server allows by default.
//
// The server ranks anew for each page, so a hit may be repeated or missed if
// files change meanwhile.
func (s *Service) Pages(
	ctx context.Context, in api.Profile, q Query, opts ...api.CallOption,
) iter.Seq2[*Result, error] {
	return s.pages(in, q).Pages(ctx, opts)
}

// pages returns the pages of a search, of the largest size by default.
func (s *Service) pages(in api.Profile, q Query) page.List[*Result, *Hit] {
	if q.Limit == 0 {
		q.Limit = page.MaxLimit
		if q.Details {
			q.Limit = detailedLimit
		}
	}
	next := func(ctx context.Context, offset int, opts []api.CallOption) (*Result, error) {
		at := q
		at.Offset = offset
		return s.Files(ctx, in, at, opts...)
	}
	return page.Offsets("search.Files", q.Offset, next, func(r *Result) ([]*Hit, *api.Pagination) {
		return r.Hits, r.Pagination
	})
}

// All returns the hits of the pages of [Service.Pages], without their Gaps.
func (s *Service) All(ctx context.Context, in api.Profile, q Query, opts ...api.CallOption) iter.Seq2[*Hit, error] {
	return s.pages(in, q).All(ctx, opts)
}

// setInt sets a query parameter unless n is 0.
func setInt(q url.Values, name string, n int) {
	if n != 0 {
		q.Set(name, strconv.Itoa(n))
	}
}
