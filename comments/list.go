package comments

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// ListOptions selects comments. Nil means no options.
type ListOptions struct {
	NewestFirst    bool       // by time of creation; default: oldest first
	IncludeDeleted bool       // include deleted comments
	ReferenceType  AnchorType // only comments with such an anchor; "" means all

	Limit        int  // comments a page, 2 to 200; 0 means the default of the server
	Offset       int  // comments to skip
	Page         int  // instead of Offset: the page, from 1
	IncludeTotal bool // request the totals of [Page]
}

const (
	minLimit = 2
	maxLimit = 200
)

// orFirstPage returns the options, or for nil those of the first page.
func orFirstPage(o *ListOptions) ListOptions {
	if o == nil {
		return ListOptions{}
	}
	return *o
}

// query checks o and returns its parameters. The order is always sent, because
// the default depends on the server.
func (o ListOptions) query(op string) (url.Values, error) {
	refuse := func(field, rule string, got int) (url.Values, error) {
		return nil, input.Fields[ListOptions](op).Refuse(field, rule, strconv.Itoa(got))
	}
	switch {
	case o.Limit != 0 && (o.Limit < minLimit || o.Limit > maxLimit):
		return refuse("limit", "must be 2 to 200", o.Limit)
	case o.Offset < 0:
		return refuse("offset", "must be 0 or more", o.Offset)
	case o.Page < 0:
		return refuse("page", "must be 1 or more", o.Page)
	case o.Page > 0 && o.Offset > 0:
		return refuse("page", "must be left out with Offset", o.Page)
	}
	q := url.Values{"sort": {"asc"}}
	if o.NewestFirst {
		q.Set("sort", "desc")
	}
	for name, n := range map[string]int{"limit": o.Limit, "offset": o.Offset, "page": o.Page} {
		if n > 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	for name, set := range map[string]bool{"include_deleted": o.IncludeDeleted, "include_total": o.IncludeTotal} {
		if set {
			q.Set(name, "true")
		}
	}
	if o.ReferenceType != "" {
		q.Set("reference_type", string(o.ReferenceType))
	}
	return q, nil
}

// Page is one page of comments.
type Page struct {
	Comments  []*Comment `json:"comments"`
	Count     int        `json:"count"`     // comments on this page
	Allowed   bool       `json:"allowed"`   // whether the plan allows the caller another comment
	Remaining *int       `json:"remaining"` // comments the plan still allows; nil means no limit

	// Total is the number of comments the caller may see. Without IncludeTotal it is nil,
	// and Limit and Offset are 0. In a workspace it includes those of File Share
	// recipients, which do not count in Allowed and Remaining.
	Total  *int `json:"total"`
	Limit  int  `json:"limit"`
	Offset int  `json:"offset"`
}

// A Target is the object of comments. [On] and [OnNode] return one.
type Target struct {
	in     api.Profile
	node   api.OpaqueID
	onNode bool
}

// On returns the Target of a workspace or share itself. It requires the ID of
// 19 digits, not a custom name.
func On(in api.Profile) Target { return Target{in: in} }

// OnNode returns the Target of a file, folder, note or link of a workspace or
// share, by the ID of 19 digits; or of the file of a File Share, by any of its
// IDs. The comments on a File Share are those of its recipients. If it has a
// password, calls require [api.WithLinkPassword].
func OnNode(in api.Profile, node api.OpaqueID) Target { return Target{in, node, true} }

// check returns an error for a blank node, for a profile without an ID or of a kind that
// has no comments, and for a custom name in place of the ID of a workspace or share.
func (t Target) check(op string) error {
	args := input.Parameters(op, "parent_id", "on", "node_id", "on")
	if t.onNode && t.node.Plain() == "" {
		return args.Refuse("node_id", "must be on a node that is not blank", strconv.Quote(string(t.node)))
	}
	if t.in.Kind == api.ProfileKindFileShare && t.onNode {
		return t.in.OneOf(op, "on") // checks only that it has an ID
	}
	if err := t.in.OneOf(op, "on", api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return err
	}
	return args.NumericID("parent_id", t.in.ID)
}

// list returns the request for the comments of the Target.
func (t Target) list(query url.Values) *api.Request {
	switch {
	case t.in.Kind == api.ProfileKindFileShare:
		return endpoint.CommentsListOnFileShare(t.in.ID, t.node, query)
	case t.onNode:
		return endpoint.CommentsListOnNode(t.in, t.node, query)
	default:
		return endpoint.CommentsList(t.in, query)
	}
}

// List returns one page of the comments on a Target. Those on a workspace or
// share include those on its nodes, except for comments made before 2026-03-16.
// Those on a node of a workspace include those of File Share recipients, which
// have a ScopeID and are read-only. Deleted ones are left out, unless list.IncludeDeleted
// is set.
//
// Guests of a share see their own comments, and those of others if the share
// permits it.
//
// Errors: [api.ErrNotFound] if the Target does not exist; [api.ErrForbidden] without
// access to it.
//
// It calls GET /current/comments/{entity_type}/{parent_id}/.
// It calls GET /current/comments/{entity_type}/{parent_id}/{node_id}/.
// It calls GET /current/comments/fileshare/{fileshare_id}/{node_id}/.
func (s *Service) List(ctx context.Context, on Target, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	return s.list(ctx, on, orFirstPage(list), opts)
}

// list returns one page of the comments on a target.
func (s *Service) list(ctx context.Context, on Target, list ListOptions, opts []api.CallOption) (*Page, error) {
	r := on.list(nil) // the query is set below: its errors name r.Op
	if err := on.check(r.Op); err != nil {
		return nil, err
	}
	var err error
	r.Query, err = list.query(r.Op)
	if err != nil {
		return nil, err
	}
	return call.Payload[Page](ctx, s.c, r, opts)
}

// All returns the comments of [Service.List], each once. Default: 200 a page,
// oldest first, so that new comments come last. list.Page must be 0.
func (s *Service) All(
	ctx context.Context, on Target, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Comment, error] {
	op := on.list(nil).Op
	o := orFirstPage(list)
	o.IncludeTotal = true // by the total the walk finds the end, and notices that comments were deleted
	if o.Limit == 0 {
		o.Limit = maxLimit
	}
	return func(yield func(*Comment, error) bool) {
		if o.Page != 0 {
			const rule = "must be left out of an iteration: it may begin at an offset"
			yield(nil, input.Fields[ListOptions](op).Refuse("page", rule, strconv.Itoa(o.Page)))
			return
		}
		w := walk{service: s, op: op, on: on, options: o, start: o.Offset, met: map[string]bool{}}
		rows := func(p *Page) []*Comment { return p.Comments }
		page.List[*Page, *Comment]{Op: op, Fetch: w.next, Rows: rows, Empty: page.ManyEmpty}.All(ctx, opts)(yield)
	}
}

// Since returns the comments on a Target created at a time, to the second, or later,
// oldest first. To list the comments after a known one pass its Created and skip the
// known comments of that second. It has the errors of [Service.List], and sends its
// requests.
func (s *Service) Since(ctx context.Context, on Target, since time.Time, opts ...api.CallOption) ([]*Comment, error) {
	var found []*Comment
	opts = append(slices.Clip(opts), api.WithoutPrefetch()) // most callers need one page
	for c, err := range s.All(ctx, on, &ListOptions{NewestFirst: true, Limit: 50}, opts...) {
		if err != nil {
			return nil, err
		}
		if !c.Created.IsZero() && c.Created.Before(since.Truncate(time.Second)) {
			break
		}
		found = append(found, c)
	}
	slices.Reverse(found)
	return found, nil
}

// walk is one iteration over a list that may change meanwhile.
type walk struct {
	service *Service
	op      string
	on      Target
	options ListOptions // of the next page
	start   int         // the first offset

	met   map[string]bool // the IDs of the comments received
	found int             // their number
	total int             // comments in the list, according to the last page
	pages int
}

// next fetches a page and removes the comments that earlier pages had. The
// cursors that it returns only distinguish pages: the walk keeps the offset
// itself.
func (w *walk) next(ctx context.Context, _ string, opts []api.CallOption) (*Page, string, error) {
	p, err := w.service.list(ctx, w.on, w.options, opts)
	if err != nil {
		return nil, "", err
	}
	received := len(p.Comments)
	p.Comments = slices.DeleteFunc(p.Comments, w.known)
	more, err := w.advance(p, received)
	if err != nil || !more {
		return p, "", err
	}
	w.pages++
	return p, strconv.Itoa(w.pages), nil
}

// known reports whether the walk has met the comment before, and remembers it.
// A comment without an ID is never known.
func (w *walk) known(c *Comment) bool {
	id := c.ID.Plain()
	known := w.met[id] && id != ""
	w.met[id] = true
	return known
}

// advance moves the offset past a page, and reports whether there may be more pages.
// Received is the number of comments that the page had; p holds those that no earlier page
// had. If the total has become smaller, comments were deleted and others have moved to
// earlier pages: then the offset goes back by as many.
func (w *walk) advance(p *Page, received int) (more bool, err error) {
	fresh := len(p.Comments)
	w.found += fresh
	end := w.options.Offset + received
	if p.Total == nil { // then a page without a new comment is the end
		w.options.Offset = end
		return fresh > 0, nil
	}
	deleted := w.total - *p.Total
	w.total = *p.Total
	if deleted > 0 {
		w.options.Offset = max(w.start, w.options.Offset-deleted)
		return true, nil
	}
	// The page at the end of the list is the last one if all comments were found. Some may be
	// missing, because others came twice: they have moved to a later page, or the server ignores
	// the offset. Then the page behind the end is fetched too. If it has comments, and none of
	// them is new, the server ignores the offset.
	isAtEnd := end >= w.total
	hasAll := w.start+w.found >= w.total // the total includes those before the start
	if received == 0 || isAtEnd && hasAll {
		return false, nil
	}
	ignoresOffset := fresh == 0 && w.options.Offset >= w.total
	if ignoresOffset {
		return false, fmt.Errorf("fastio: %s: %w", w.op, api.ErrNoProgress)
	}
	w.options.Offset = end
	return true, nil
}
