// Package search finds files, folders, notes and comments in workspaces and
// shares: by their names, by what is written in them, by what they mean, and by
// their metadata.
//
//	for hit, err := range client.Search.All(ctx, api.Workspace(id), search.Query{Text: "lease of dock 4"}) {
//		...
//	}
//
// A search that could only do a part of its work succeeds all the same. What was
// missing stands in the Gaps of a [Result], and in those and the Status of a
// [Bucket].
package search

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/page"
)

// Service searches. Get one from the Search field of a fastio.Client. It is safe
// for concurrent use.
type Service struct{ c api.Caller }

// New returns a Service that sends its requests through c.
func New(c api.Caller) *Service { return &Service{c} }

// Result is one page of hits, the best first.
type Result struct {
	Hits       []*Hit
	Pagination *api.Pagination   // nil from a server that does not tell
	Metadata   *Metadata         // nil when the answer did not tell
	Filter     *api.FilterReport // of Query.Filters and Query.Category; nil without one
	Gaps       []Gap             // what the search could not do; empty when it did everything

	ResponseCode json.RawMessage // as it arrived; its values are not published
}

// Metadata is what an answer tells about the search itself. What it does not tell
// is nil.
type Metadata struct {
	IntelligenceEnabled    *bool  `json:"intelligence_enabled"`     // files are indexed for what they mean
	SemanticAvailable      *bool  `json:"semantic_available"`       // what they mean was searched
	Scoped                 *bool  `json:"scoped"`                   // a scope narrowed the hits
	ContentSearchAvailable *bool  `json:"content_search_available"` // what is written in them was searched
	Reason                 Reason `json:"reason"`                   // why not; "" when it was
	ScopeIncomplete        bool   `json:"scope_incomplete"`         // the folders of the scope hold too much

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Reason says why what is written in files was not searched.
type Reason string

// The reasons. Another one is newer than this package.
const (
	ReasonIntelligenceDisabled    Reason = "intelligence_disabled"
	ReasonSummaryPermissionDenied Reason = "summary_permission_denied"
	ReasonContentNotIndexed       Reason = "content_not_indexed"
)

// Gap is something a search was asked for and could not do.
type Gap string

// The gaps.
const (
	GapSemantic Gap = "semantic" // what files mean was not searched: hits match by words alone
	GapContent  Gap = "content"  // neither words in files nor what they mean was searched; Metadata.Reason tells why
	GapScope    Gap = "scope"    // the folders of Query.Within hold more than 100 files and folders, and the rest was left out
	GapUnscoped Gap = "unscoped" // Query.Within had no effect
	GapFilter   Gap = "filter"   // more than 1,000 files pass the filter, and the others were left out
)

// resultWire is a Result as it arrives.
type resultWire struct {
	Files        hits              `json:"files"`
	Results      hits              `json:"results"` // in place of Files, from older servers
	Pagination   *api.Pagination   `json:"pagination"`
	Metadata     *Metadata         `json:"search_metadata"`
	Filter       *api.FilterReport `json:"metadata_filter"`
	ResponseCode json.RawMessage   `json:"response_code"`
}

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

// gaps reads from m what could not be done of a search.
func gaps(m *Metadata, target Target, within bool) []Gap {
	if m == nil {
		return nil
	}
	var all []Gap
	if is(m.SemanticAvailable, false) && target != TargetFilename {
		all = append(all, GapSemantic)
	}
	if is(m.ContentSearchAvailable, false) && target != TargetFilename {
		all = append(all, GapContent)
	}
	if m.ScopeIncomplete {
		all = append(all, GapScope)
	}
	if within && is(m.Scoped, false) {
		all = append(all, GapUnscoped)
	}
	return all
}

func is(told *bool, value bool) bool { return told != nil && *told == value }

// Storage searches the files, folders and notes of a workspace or share.
//
// A scope narrows only what is found by meaning: hits by words come from
// everywhere. Leave out those whose MatchSource is [MatchSourceKeyword] for a hard
// boundary.
//
// A scope that does not fit its nodes is [api.ErrInvalid] and names the entry, and
// so is one with more than 100 files. A share that shows a folder of a workspace is
// [api.ErrNotFound]: search the workspace. A filter that could not be evaluated is
// [api.ErrUnavailable], one that the server passed over [api.ErrUnfiltered].
//
// It calls GET /current/workspace/{workspace_id}/storage/search/.
// It calls GET /current/share/{share_id}/storage/search/.
func (s *Service) Storage(ctx context.Context, in api.Profile, q Query, opts ...api.CallOption) (*Result, error) {
	const op = "search.Storage"
	query, err := q.values(op, in)
	if err != nil {
		return nil, err
	}
	path := pick(in, "/current/workspace/{workspace_id}/storage/search/", "/current/share/{share_id}/storage/search/")
	r := &api.Request{Op: op, Method: http.MethodGet, Path: path, Query: query, Replay: api.ReplaySafe}
	a, err := call.Do[resultWire](ctx, s.c, r, opts)
	if err != nil {
		return nil, err
	}
	if q.filtered() && !a.Filter.Ran() && r.Options.Markdown == nil {
		return nil, fmt.Errorf("fastio: %s: %w", op, api.ErrUnfiltered)
	}
	return a.result(&q), nil
}

// pick returns the path of the twin that serves in.
func pick(in api.Profile, workspace, share string) api.Route {
	if in.Kind == api.ProfileKindShare {
		return api.Path(share, string(in.ID))
	}
	return api.Path(workspace, string(in.ID))
}

// Pages returns the pages that [Service.Storage] has, from q.Offset to the last,
// of as many hits as servers allow unless q says otherwise.
//
// The server ranks anew for each page. What changes meanwhile can make a hit come
// twice, or not at all.
func (s *Service) Pages(ctx context.Context, in api.Profile, q Query, opts ...api.CallOption) iter.Seq2[*Result, error] {
	if q.Limit == 0 {
		q.Limit = page.MaxLimit
		if q.Details {
			q.Limit = detailedLimit
		}
	}
	return page.Calls(ctx, "search.Storage", "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) (*Result, string, error) {
		at := q
		at.Offset = page.Offset(cursor, q.Offset)
		r, err := s.Storage(ctx, in, at, opts...)
		if err != nil {
			return nil, "", err
		}
		return r, page.AfterOffset(r.Pagination, at.Offset, len(r.Hits)), nil
	})
}

// All returns the hits of the pages of [Service.Pages], but not their Gaps.
func (s *Service) All(ctx context.Context, in api.Profile, q Query, opts ...api.CallOption) iter.Seq2[*Hit, error] {
	return page.Rows(s.Pages(ctx, in, q, opts...), func(r *Result) []*Hit { return r.Hits })
}

// setInt sets a parameter that is not zero.
func setInt(q url.Values, name string, n int) {
	if n != 0 {
		q.Set(name, strconv.Itoa(n))
	}
}
