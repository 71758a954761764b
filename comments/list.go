package comments

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/page"
)

// ListOptions selects comments. Nil means no options.
type ListOptions struct {
	NewestFirst    bool       // by the time of creation; else the oldest come first
	IncludeDeleted bool       // deleted comments too
	ReferenceType  AnchorType // only comments on such a place; "" for all

	Limit        int  // comments a page, 2 to 200; 0 leaves it to the server
	Offset       int  // comments to skip
	Page         int  // in place of Offset: the page, from 1
	IncludeTotal bool // has the page count all comments

	Password api.Secret // of a File Share's link; goes with no other list
}

const (
	minLimit = 2
	maxLimit = 200
)

func orFirst(o *ListOptions) ListOptions {
	if o == nil {
		return ListOptions{}
	}
	return *o
}

// query checks o and returns it as parameters. The order is always sent, because
// servers differ on the default.
func (o ListOptions) query(op string) (url.Values, error) {
	refuse := func(field, rule string, got int) (url.Values, error) {
		return nil, &api.InputError{Op: op, Field: field, Rule: rule, Got: strconv.Itoa(got)}
	}
	switch {
	case o.Limit != 0 && (o.Limit < minLimit || o.Limit > maxLimit):
		return refuse("limit", "must be 2 to 200", o.Limit)
	case o.Offset < 0:
		return refuse("offset", "must be 0 or more", o.Offset)
	case o.Page < 0:
		return refuse("page", "must be 1 or more", o.Page)
	case o.Page > 0 && o.Offset > 0:
		return refuse("page", "must be left out with an offset", o.Page)
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
	Allowed   bool       `json:"allowed"`   // whether the caller may post another comment under the limits of the plan
	Remaining *int       `json:"remaining"` // how many more the plan allows; nil if it has no limit

	// Total is how many comments the caller may see; nil unless it was asked for,
	// as the next two. In a workspace it includes those of File Share recipients,
	// which Allowed and Remaining do not count.
	Total  *int `json:"total"`
	Limit  int  `json:"limit"`
	Offset int  `json:"offset"`
}

// List returns one page of the comments of a workspace or share and of its nodes.
// Comments made before 2026-03-16 are found only at their nodes. It requires the ID
// of 19 digits of the workspace or share, not a custom name.
//
// Guests of a share see their own comments, and those of others as far as the
// share permits.
//
// Errors: [api.ErrNotFound], [api.ErrForbidden].
//
// It calls GET /current/comments/{entity_type}/{parent_id}/.
func (s *Service) List(
	ctx context.Context, entity api.Profile, list *ListOptions, opts ...api.CallOption,
) (*Page, error) {
	return s.list(ctx, onEntity(entity), orFirst(list), opts)
}

// ListOnNode returns one page of the comments on a file, folder, note or link of a
// workspace or share, like [Service.List]. In a workspace that includes the comments
// of File Share recipients: those have a ScopeID and are read-only.
//
// Errors: [api.ErrNotFound] for a node that is not there.
//
// It calls GET /current/comments/{entity_type}/{parent_id}/{node_id}/.
func (s *Service) ListOnNode(
	ctx context.Context, entity api.Profile, node api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) (*Page, error) {
	return s.list(ctx, onNode(entity, node), orFirst(list), opts)
}

// ListOnFileShare returns one page of the comments of a File Share's recipients on a
// file in it, without those of the workspace. The File Share may be named by its
// public ID.
//
// It calls GET /current/comments/fileshare/{fileshare_id}/{node_id}/.
func (s *Service) ListOnFileShare(
	ctx context.Context, fileShare api.ProfileID, node api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) (*Page, error) {
	return s.list(ctx, onFileShare(fileShare, node), orFirst(list), opts)
}

// target returns the request for the comments of one place, without its query.
type target func(o ListOptions) (*api.Request, error)

func onEntity(entity api.Profile) target {
	return func(o ListOptions) (*api.Request, error) {
		return endpoint.CommentsList(entity, nil), checkEntity("comments.List", entity, o.Password)
	}
}

func onNode(entity api.Profile, node api.OpaqueID) target {
	return func(o ListOptions) (*api.Request, error) {
		return endpoint.CommentsListOnNode(entity, node, nil), checkEntity("comments.ListOnNode", entity, o.Password)
	}
}

func onFileShare(fileShare api.ProfileID, node api.OpaqueID) target {
	return func(o ListOptions) (*api.Request, error) {
		return endpoint.CommentsListOnFileShare(fileShare, node, o.Password, nil), nil
	}
}

func (s *Service) list(ctx context.Context, of target, list ListOptions, opts []api.CallOption) (*Page, error) {
	r, err := of(list)
	if err != nil {
		return nil, err
	}
	if r.Query, err = list.query(r.Op); err != nil {
		return nil, err
	}
	return call.One[Page](ctx, s.c, r, "", opts)
}

// checkEntity refuses what has no comments of its own, a custom name and a password.
func checkEntity(op string, entity api.Profile, password api.Secret) error {
	if err := entity.OneOf(op, "entity_type", api.ProfileKindWorkspace, api.ProfileKindShare); err != nil {
		return err
	}
	if err := call.NumericID(op, "parent_id", entity.ID); err != nil {
		return err
	}
	if !password.IsZero() {
		return &api.InputError{Op: op, Field: "password", Rule: "must be left out: only the link of a File Share has one"}
	}
	return nil
}

// All returns the comments of [Service.List], each once. Default: 200 a page, the
// oldest first, so that new comments are found at the end. list.Page must be 0.
func (s *Service) All(
	ctx context.Context, entity api.Profile, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Comment, error] {
	return s.all(ctx, "comments.List", onEntity(entity), list, opts)
}

// AllOnNode does for [Service.ListOnNode] what [Service.All] does for List.
func (s *Service) AllOnNode(
	ctx context.Context, entity api.Profile, node api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Comment, error] {
	return s.all(ctx, "comments.ListOnNode", onNode(entity, node), list, opts)
}

// AllOnFileShare does for [Service.ListOnFileShare] what [Service.All] does for
// List.
func (s *Service) AllOnFileShare(
	ctx context.Context, fileShare api.ProfileID, node api.OpaqueID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Comment, error] {
	return s.all(ctx, "comments.ListOnFileShare", onFileShare(fileShare, node), list, opts)
}

func (s *Service) all(
	ctx context.Context, op string, of target, list *ListOptions, opts []api.CallOption,
) iter.Seq2[*Comment, error] {
	o := orFirst(list)
	o.IncludeTotal = true
	if o.Limit == 0 {
		o.Limit = maxLimit
	}
	return func(yield func(*Comment, error) bool) {
		if o.Page != 0 {
			const rule = "must be left out of an iteration: it may begin at an offset"
			yield(nil, &api.InputError{Op: op, Field: "page", Rule: rule, Got: strconv.Itoa(o.Page)})
			return
		}
		w := walk{service: s, op: op, of: of, options: o, start: o.Offset, met: map[string]bool{}}
		page.Rows(page.Calls(ctx, op, "", opts, w.next), func(p *Page) []*Comment { return p.Comments })(yield)
	}
}

const maxStalled = 100 // pages in a row without a new comment, because others were deleted

// walk is one range over a list that may change meanwhile.
type walk struct {
	service *Service
	op      string
	of      target
	options ListOptions // of the next page
	start   int         // the first offset

	met     map[string]bool // the comments that have come
	found   int             // how many
	total   int             // comments in the list, by the last page
	pages   int
	stalled int // pages in a row without a new comment
}

// next fetches a page and takes out what has come before. The cursors only tell
// pages apart: the walk counts offsets itself.
func (w *walk) next(ctx context.Context, _ string, opts []api.CallOption) (*Page, string, error) {
	p, err := w.service.list(ctx, w.of, w.options, opts)
	if err != nil {
		return nil, "", err
	}
	came := len(p.Comments)
	p.Comments = slices.DeleteFunc(p.Comments, w.known)
	more, err := w.advance(p, came)
	if err != nil || !more {
		return p, "", err
	}
	w.pages++
	return p, strconv.Itoa(w.pages), nil
}

func (w *walk) known(c *Comment) bool {
	id := c.ID.Plain()
	known := w.met[id] && id != ""
	w.met[id] = true
	return known
}

// advance moves behind a page of so many comments and reports whether there may be
// more.
func (w *walk) advance(p *Page, came int) (more bool, err error) {
	fresh := len(p.Comments)
	w.found += fresh
	end := w.options.Offset + came
	if p.Total == nil { // until nothing new comes
		w.options.Offset = end
		return fresh > 0, nil
	}
	slid := w.total - *p.Total
	w.total = *p.Total
	if w.stalled++; fresh > 0 {
		w.stalled = 0
	}
	switch {
	case w.stalled > maxStalled:
		return false, fmt.Errorf("fastio: %s: %w", w.op, page.ErrNoProgress)
	case slid > 0: // as many were deleted, and others took their places in pages gone by
		w.options.Offset = max(w.start, w.options.Offset-slid)
		return true, nil
	case came == 0, end >= w.total && w.start+w.found >= w.total:
		return false, nil
	case fresh == 0 && w.options.Offset >= w.total:
		return false, errors.New("fastio: " + w.op + ": the server sends the same comments at every offset")
	}
	w.options.Offset = end
	return true, nil
}
