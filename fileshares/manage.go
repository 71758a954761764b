package fileshares

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/page"
)

const (
	maxText    = 255           // characters of a title or password
	maxSeconds = 3_155_760_000 // of an expiry: a hundred years
)

// CreateRequest is a new File Share. What is zero is left to the server.
type CreateRequest struct {
	NodeID api.OpaqueID // a file of the workspace, for good; no folder, note or link
	Title  string       // at most 255 characters
	Access Access       // "" is AccessNamedPeople

	// Password asks for one: 1 to 255 characters, of which neither the first nor
	// the last is a blank. One that is set and empty is refused, for a setting that
	// somebody forgot must not leave the link open.
	Password api.Opt[api.Secret]

	ExpiresIn time.Duration // from now, in whole seconds, 1 to 3,155,760,000 of them; 0 is never
	ExpiresAt time.Time     // in place of ExpiresIn, by the second

	CommentsEnabled *bool // nil leaves it to the server; without effect for AccessAnyoneWithLink
}

// Create makes a File Share and returns it. Each call makes another, so it is only
// repeated when it was never sent.
//
// It takes a member of the workspace; others are [api.ErrForbidden]. A node that is
// not a file is [api.ErrInvalid], one that is not there [api.ErrNotFound].
//
// It calls POST /current/workspace/{workspace_id}/create/fileshare/.
func (s *Service) Create(ctx context.Context, workspace api.ProfileID, r CreateRequest, opts ...api.CallOption) (*FileShare, error) {
	const op = "fileshares.Create"
	f := fields{form.New(op)}
	if r.NodeID.Plain() == "" {
		f.Refuse("node", "must not be blank", strconv.Quote(string(r.NodeID)))
	}
	f.Set("node", r.NodeID.Plain())
	form.Given(fieldTitle, r.Title, f.Text(1, maxText))
	if r.Password.IsNull() {
		f.Refuse(fieldPassword, "must be left out or have a value: there is none to clear", "")
	}
	form.Optional(&f.Fields, fieldPassword, cleared, r.Password, f.password)
	f.common(r.Access, r.CommentsEnabled, r.ExpiresIn)
	if !r.ExpiresAt.IsZero() {
		f.Time(form.Zone)(fieldExpiresAt, r.ExpiresAt)
	}
	if err := f.checked(); err != nil {
		return nil, err
	}
	a, err := call.Do[answer](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/workspace/{workspace_id}/create/fileshare/", string(workspace)),
		Body: f.Form, Replay: api.ReplayOnce,
	}, opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "File Share", a.FileShare, opts)
}

// UpdateRequest is what becomes of a File Share. A field that is zero stays as it
// is, one that is [api.Null] is cleared. An empty value clears nothing: it is
// refused. The limits are those of a [CreateRequest].
type UpdateRequest struct {
	Title    api.Opt[string]
	Access   Access
	Password api.Opt[api.Secret]

	ExpiresIn time.Duration      // a repeat of the call counts from then on
	ExpiresAt api.Opt[time.Time] // in place of ExpiresIn; one that is cleared is never

	CommentsEnabled *bool
}

// Update changes a File Share and returns what it became. One that has expired can be
// rescued, with another expiry or none, for as long as the server has not cleaned up,
// which it does every hour.
//
// It takes a member of the workspace; others are [api.ErrForbidden]. The file stays
// the same one: make another File Share.
//
// It calls POST /current/fileshare/{fileshare_id}/update/.
func (s *Service) Update(ctx context.Context, id api.ProfileID, r UpdateRequest, opts ...api.CallOption) (*FileShare, error) {
	const op = "fileshares.Update"
	f := fields{form.New(op)}
	form.Optional(&f.Fields, fieldTitle, cleared, r.Title, f.Text(1, maxText))
	form.Optional(&f.Fields, fieldPassword, cleared, r.Password, f.password)
	f.common(r.Access, r.CommentsEnabled, r.ExpiresIn)
	form.Optional(&f.Fields, fieldExpiresAt, cleared, r.ExpiresAt, f.Time(form.Zone))
	if err := cmp.Or(f.Changed(), f.checked()); err != nil {
		return nil, err
	}
	a, err := call.Do[answer](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodPost, Path: api.Path("/current/fileshare/{fileshare_id}/update/", string(id)),
		Body: f.Form, Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	return call.Found(op, "File Share", a.FileShare, opts)
}

// fields are those of a File Share.
type fields struct{ form.Fields }

// checked returns what is wrong with the form as a whole, or with the first field that
// is.
func (f *fields) checked() error {
	if f.Form[fieldExpires] != nil && f.Form[fieldExpiresAt] != nil {
		f.Refuse(fieldExpires, "must be left out with expires_at, also where that is cleared", "")
	}
	return f.Err()
}

const (
	fieldTitle     = "title"
	fieldPassword  = "password"
	fieldExpires   = "expires"
	fieldExpiresAt = "expires_at"

	cleared = "" // the word null, which other endpoints know, may get lost here
)

// password tells nothing of itself in an error.
func (f *fields) password(field string, password api.Secret) {
	f.Text(1, maxText)(field, string(password))
	switch {
	case strings.Trim(string(password), " ") != string(password):
		f.Refuse(field, "must neither begin nor end with a blank: no header keeps those", "")
	case strings.ContainsFunc(string(password), func(r rune) bool { return r < ' ' || r == 0x7f }):
		f.Refuse(field, "must not hold control characters: no header can", "")
	}
}

// common sends what has no text to clear.
func (f *fields) common(access Access, comments *bool, expires time.Duration) {
	switch access {
	case "":
	case AccessAnyoneWithLink, AccessAnyRegistered, AccessNamedPeople:
		f.Set("access_option", string(access))
	default:
		f.Refuse("access_option", "must be anyone_with_link, any_registered or named_people", strconv.Quote(string(access)))
	}
	f.Flag("comments_enabled", comments)
	if expires == 0 {
		return
	}
	if expires < time.Second || expires > maxSeconds*time.Second || expires%time.Second != 0 {
		f.Refuse(fieldExpires, "must be 1 to 3155760000 whole seconds", expires.String())
	}
	f.Set(fieldExpires, strconv.FormatInt(int64(expires/time.Second), 10))
}

// ListOptions asks for one page of a list. Nil asks for the first.
type ListOptions struct {
	Limit  int // File Shares a page, 1 to 500; 0 leaves it to the server
	Offset int // File Shares to skip
}

func (o *ListOptions) query(op string) (url.Values, error) {
	if o == nil {
		return url.Values{}, nil
	}
	return page.Window(op, o.Limit, o.Offset)
}

// Page is one page of File Shares.
type Page struct {
	FileShares []*FileShare    `json:"fileshares"`
	Pagination *api.Pagination `json:"pagination"` // nil from a server that does not tell
}

// List returns one page of the File Shares of a workspace, with how many grants each
// has. It takes a member of the workspace; others are [api.ErrForbidden].
//
// It calls GET /current/workspace/{workspace_id}/list/fileshares/.
func (s *Service) List(ctx context.Context, workspace api.ProfileID, list *ListOptions, opts ...api.CallOption) (*Page, error) {
	const op = "fileshares.List"
	q, err := list.query(op)
	if err != nil {
		return nil, err
	}
	return call.Do[Page](ctx, s.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/workspace/{workspace_id}/list/fileshares/", string(workspace)),
		Query: q, Replay: api.ReplaySafe,
	}, opts)
}

// All returns the File Shares of a workspace, fetching pages as they are needed.
func (s *Service) All(ctx context.Context, workspace api.ProfileID, opts ...api.CallOption) iter.Seq2[*FileShare, error] {
	return func(yield func(*FileShare, error) bool) {
		var first api.ProfileID // of the first page
		pages := page.Calls(ctx, "fileshares.List", "", opts, func(ctx context.Context, cursor string, opts []api.CallOption) (*Page, string, error) {
			offset := page.Offset(cursor, 0)
			p, err := s.List(ctx, workspace, &ListOptions{Offset: offset}, opts...)
			if err != nil {
				return nil, "", err
			}
			if p.Pagination == nil && len(p.FileShares) > 0 && p.FileShares[0] != nil {
				if offset == 0 {
					first = p.FileShares[0].ID
				} else if p.FileShares[0].ID == first { // a server without pages sends all, whatever the offset
					return &Page{}, "", nil
				}
			}
			return p, page.AfterOffset(p.Pagination, offset, len(p.FileShares)), nil
		})
		page.Rows(pages, func(p *Page) []*FileShare { return p.FileShares })(yield)
	}
}
