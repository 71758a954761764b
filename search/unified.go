package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// UnifiedQuery is the query of [Service.Unified]. Only Text is required.
type UnifiedQuery struct {
	Text          string    `wire:"search"` // not blank; at most 1,024 characters, and the limits of [Query]
	Target        Target    // default: TargetBoth; applies to the files bucket only, as the next three
	NameMatch     NameMatch // default: NameMatchAuto
	CaseSensitive bool      // of names, unless NameMatch is NameMatchAuto
	Facts         bool      // fills Hit.Facts of files and notes; workspaces only

	Files    Window
	Comments Window
	Metadata Window // workspaces only
}

// Window selects a part of a bucket.
type Window struct {
	Offset int `wire:"files_offset,comments_offset,metadata_offset"` // hits to skip
	Limit  int `wire:"files_limit,comments_limit,metadata_limit"`    // hits; default: 25
}

// Buckets is the result of [Service.Unified] by kind of hit. A bucket that is
// not in the response is nil: shares have no metadata and may have no comments.
type Buckets struct {
	Files    *Bucket[Hit]        `json:"files"`
	Metadata *Bucket[Hit]        `json:"metadata"` // files and notes by their facts
	Comments *Bucket[CommentHit] `json:"comments"` // of a workspace also those of its File Shares

	Extra map[string]json.RawMessage `json:",embed,unknown"` // unknown buckets
}

// Bucket is a page of hits of one kind, the best first.
type Bucket[T any] struct {
	Items         []*T          `json:"items"`
	Offset        int           `json:"offset"`
	Limit         int           `json:"limit"`
	Total         int           `json:"total"`
	TotalRelation TotalRelation `json:"total_relation"`
	HasMore       bool          `json:"has_more"`
	Status        Status        `json:"status"`
	Metadata      *Metadata     `json:"search_metadata"` // of files only; nil if not in the response
	Gaps          []Gap         `json:"-"`               // of files only: parts that were not searched

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// TotalRelation is the precision of a Total.
type TotalRelation string

// Precisions of a total.
const (
	TotalRelationExact   TotalRelation = "eq"
	TotalRelationAtLeast TotalRelation = "gte"
)

// Status is the state of a bucket. Unknown values are kept.
type Status string

// States of a bucket.
const (
	StatusOK       Status = "ok"
	StatusDegraded Status = "degraded" // the search of this bucket failed, and it is empty
)

// ErrDegraded is returned by an iteration over a bucket that could not be
// searched.
var ErrDegraded = errors.New("the bucket could not be searched")

// CommentHit is a comment that a search found.
type CommentHit struct {
	ID      api.OpaqueID `json:"comment_id"`
	Snippet string       `json:"snippet"`
	Score   *float64     `json:"relevance_score"` // comparable within one response only
	Updated api.Time     `json:"updated"`

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// Unified searches files, comments and, in a workspace, metadata in one call.
// Each kind of hit has its own bucket and pages. A bucket that could not be
// searched is empty and has [StatusDegraded]; the others are not affected.
//
// Errors: [api.ErrNotFound] if the share is of a workspace folder: search the
// workspace.
//
// It calls GET /current/workspace/{workspace_id}/search/.
// It calls GET /current/share/{share_id}/search/.
func (s *Service) Unified(
	ctx context.Context, in api.Profile, q UnifiedQuery, opts ...api.CallOption,
) (*Buckets, error) {
	query, err := q.values("search.Unified", in)
	if err != nil {
		return nil, err
	}
	b, err := call.One[Buckets](ctx, s.c, endpoint.SearchUnified(in, query), "buckets", opts)
	if err != nil {
		return nil, err
	}
	if b.Files != nil {
		const within = false // this search has no such limit
		b.Files.Gaps = gaps(b.Files.Metadata, q.Target, within)
	}
	return b, nil
}

// values checks the query and returns it as query parameters.
func (q *UnifiedQuery) values(op string, in api.Profile) (url.Values, error) {
	if err := in.OneOf(op, "in", api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return nil, err
	}
	args := input.Fields[UnifiedQuery](op)
	if n := utf8.RuneCountInString(q.Text); n > maxText {
		return nil, args.Refuse("search", "must be at most 1024 characters", strconv.Itoa(n)+" characters")
	}
	v, err := textValues(args, q.Text, q.Target, q.NameMatch, q.CaseSensitive)
	if err != nil {
		return nil, err
	}
	if in.Kind == api.ProfileKindShare && q.Metadata != (Window{}) {
		return nil, args.Refuse("Metadata", "must be left out for a share", "")
	}
	for _, w := range []struct {
		field, name string
		Window
	}{{"Files", "files", q.Files}, {"Comments", "comments", q.Comments}, {"Metadata", "metadata", q.Metadata}} {
		offset, limit := w.name+"_offset", w.name+"_limit"
		if w.Offset < 0 {
			return nil, args.Refuse(w.field+"."+offset, "must be 0 or more", strconv.Itoa(w.Offset))
		}
		if w.Limit < 0 {
			return nil, args.Refuse(w.field+"."+limit, "must be 1 or more", strconv.Itoa(w.Limit))
		}
		setInt(v, offset, w.Offset)
		setInt(v, limit, w.Limit)
	}
	if q.Facts {
		v.Set("details", "true")
	}
	return v, nil
}

// AllFiles returns the hits of [Buckets.Files], from q.Files.Offset on.
//
// Errors: [ErrDegraded] if the bucket could not be searched.
func (s *Service) AllFiles(
	ctx context.Context, in api.Profile, q UnifiedQuery, opts ...api.CallOption,
) iter.Seq2[*Hit, error] {
	window := func(q *UnifiedQuery) *Window { return &q.Files }
	return allOfBucket(ctx, s, in, q, opts, window, func(b *Buckets) *Bucket[Hit] { return b.Files })
}

// AllMetadata returns the hits of [Buckets.Metadata], from q.Metadata.Offset on. Those
// of [Service.Metadata] are returned by [Service.AllValues].
//
// Errors: [ErrDegraded] if the bucket could not be searched.
func (s *Service) AllMetadata(
	ctx context.Context, in api.Profile, q UnifiedQuery, opts ...api.CallOption,
) iter.Seq2[*Hit, error] {
	window := func(q *UnifiedQuery) *Window { return &q.Metadata }
	return allOfBucket(ctx, s, in, q, opts, window, func(b *Buckets) *Bucket[Hit] { return b.Metadata })
}

// AllComments returns the hits of [Buckets.Comments], from q.Comments.Offset on.
//
// Errors: [ErrDegraded] if the bucket could not be searched.
func (s *Service) AllComments(
	ctx context.Context, in api.Profile, q UnifiedQuery, opts ...api.CallOption,
) iter.Seq2[*CommentHit, error] {
	window := func(q *UnifiedQuery) *Window { return &q.Comments }
	return allOfBucket(ctx, s, in, q, opts, window, func(b *Buckets) *Bucket[CommentHit] { return b.Comments })
}

// allOfBucket returns all hits of one of the buckets of a unified search: window
// selects the limits of that bucket in a query, and bucket its hits in the result. It
// requests a single hit of each other bucket, the least that a search can request.
func allOfBucket[T any](
	ctx context.Context, s *Service, in api.Profile, q UnifiedQuery, opts []api.CallOption,
	window func(q *UnifiedQuery) *Window, bucket func(b *Buckets) *Bucket[T],
) iter.Seq2[*T, error] {
	const op = "search.Unified"
	own, least := *window(&q), Window{Limit: 1}
	q.Files, q.Comments = least, least
	if in.Kind == api.ProfileKindWorkspace {
		q.Metadata = least
	}
	*window(&q) = own // this bucket keeps the window of the caller
	next := func(ctx context.Context, offset int, opts []api.CallOption) (*Bucket[T], error) {
		at := q
		window(&at).Offset = offset
		found, err := s.Unified(ctx, in, at, opts...)
		if err != nil {
			return nil, err
		}
		b := bucket(found)
		if b == nil {
			return new(Bucket[T]), nil
		}
		if b.Status == StatusDegraded {
			return nil, fmt.Errorf("fastio: %s: %w", op, ErrDegraded)
		}
		return b, nil
	}
	rows := func(b *Bucket[T]) ([]*T, *api.Pagination) {
		return b.Items, &api.Pagination{HasMore: b.HasMore, Limit: b.Limit}
	}
	return page.Offsets(op, own.Offset, next, rows).All(ctx, opts)
}
