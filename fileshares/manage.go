package fileshares

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

const (
	maxText    = 255           // characters of a title or password
	maxSeconds = 3_155_760_000 // of an expiry: a hundred years
)

// CreateRequest is a new File Share. A zero field leaves the default to the
// server.
type CreateRequest struct {
	NodeID api.OpaqueID `wire:"node"` // a file of the workspace, not a folder, note or link; immutable
	Title  string       // at most 255 characters
	Access Access       `wire:"access_option"` // default: AccessNamedPeople

	// Password protects the link: 1 to 255 characters, without blanks at its ends. The
	// zero Secret means none, as does [api.NewSecret] of an empty text: a program that
	// reads the password from a variable must check that it is set, or the link is open.
	Password api.Secret

	ExpiresIn time.Duration `wire:"expires"` // from now: 1 to 3,155,760,000 whole seconds; default: never
	ExpiresAt time.Time     // in place of ExpiresIn; to the second

	CommentsEnabled *bool // nil means the default of the server; no effect with AccessAnyoneWithLink
}

// Create creates a File Share and returns it. It requires membership of the workspace.
// Each call creates another, so it is retried only if it was not processed. A File
// Share has no transfer limit of its own: its bandwidth is metered to the organization
// of the workspace.
//
// Errors: [api.ErrForbidden] if the caller is not a member; [api.ErrInvalid] if
// the node is not a file; [api.ErrNotFound] if it does not exist.
//
// It calls POST /current/workspace/{workspace_id}/create/fileshare/.
func (s *Service) Create(
	ctx context.Context, workspace api.ID, r CreateRequest, opts ...api.CallOption,
) (*FileShare, error) {
	f := fields{form.New(input.Fields[CreateRequest]("fileshares.Create"))}
	if r.NodeID.Plain() == "" {
		f.Refuse("node", "must not be blank", strconv.Quote(string(r.NodeID)))
	}
	f.Set("node", r.NodeID.Plain())
	form.Given(fieldTitle, r.Title, f.Text(1, maxText))
	form.Given(fieldPassword, r.Password, f.password)
	f.setCommon(r.Access, r.CommentsEnabled, r.ExpiresIn)
	if !r.ExpiresAt.IsZero() {
		f.Time(form.Zone)(fieldExpiresAt, r.ExpiresAt)
	}
	f.refuseTwoExpiries()
	if err := f.Err(); err != nil {
		return nil, err
	}
	return call.One[FileShare](ctx, s.c, endpoint.FileSharesCreate(workspace, f.Form), "fileshare", opts)
}

// UpdateRequest is a change of a File Share. A zero field leaves the value
// unchanged, [api.Null] clears it, and the limits of [CreateRequest] apply. An
// empty value is rejected, also an empty password.
type UpdateRequest struct {
	Title    api.Opt[string]
	Access   Access `wire:"access_option"`
	Password api.Opt[api.Secret]

	ExpiresIn time.Duration      `wire:"expires"` // from now; a retry counts from its own time
	ExpiresAt api.Opt[time.Time] // in place of ExpiresIn; [api.Null] means never

	CommentsEnabled *bool
}

// Update changes a File Share and returns it. The file is immutable. It requires
// membership of the workspace. An expired File Share can be given another expiry,
// or none, until the server deletes it, which happens within an hour.
//
// Errors: [api.ErrForbidden] if the caller is not a member.
//
// It calls POST /current/fileshare/{fileshare_id}/update/.
func (s *Service) Update(ctx context.Context, fileshare api.ID, r UpdateRequest, opts ...api.CallOption) (*FileShare, error) {
	f := fields{form.New(input.Fields[UpdateRequest]("fileshares.Update"))}
	form.Optional(&f.Fields, fieldTitle, sentForNull, r.Title, f.Text(1, maxText))
	form.Optional(&f.Fields, fieldPassword, sentForNull, r.Password, f.password)
	f.setCommon(r.Access, r.CommentsEnabled, r.ExpiresIn)
	form.Optional(&f.Fields, fieldExpiresAt, sentForNull, r.ExpiresAt, f.Time(form.Zone))
	f.refuseTwoExpiries()
	if err := f.UpdateErr(); err != nil {
		return nil, err
	}
	return call.One[FileShare](ctx, s.c, endpoint.FileSharesUpdate(fileshare, f.Form), "fileshare", opts)
}

type fields struct{ form.Fields }

// refuseTwoExpiries records that the request is invalid if it has ExpiresIn and ExpiresAt.
func (f *fields) refuseTwoExpiries() {
	if f.Form[fieldExpires] != nil && f.Form[fieldExpiresAt] != nil {
		f.Refuse(fieldExpires, "must be left out if ExpiresAt is given, also as null", "")
	}
}

const (
	fieldTitle     = "title"
	fieldPassword  = "password"
	fieldExpires   = "expires"
	fieldExpiresAt = "expires_at"

	// sentForNull clears a field of a File Share. The word null, which clears the fields of
	// other endpoints, has no effect here.
	sentForNull = ""
)

// password checks a password and sets the field. Errors do not contain it.
func (f *fields) password(field string, password api.Secret) {
	f.Text(1, maxText)(field, password.Reveal())
	switch {
	case strings.Trim(password.Reveal(), " ") != password.Reveal():
		f.Refuse(field, "must not begin or end with a blank: headers drop it", "")
	case strings.ContainsFunc(password.Reveal(), func(r rune) bool { return r < ' ' || r == 0x7f }):
		f.Refuse(field, "must not hold control characters: headers cannot", "")
	}
}

// setCommon sets the form fields that Create and Update have in common. Zero values are
// left out.
func (f *fields) setCommon(access Access, comments *bool, expires time.Duration) {
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

// ListOptions selects a page of a list. Nil means the first.
type ListOptions struct {
	Limit  int // File Shares a page, 1 to 500; 0 means the default of the server
	Offset int // File Shares to skip
}

// query returns the options as query parameters; nil has none.
func (o *ListOptions) query(op string) (url.Values, error) {
	if o == nil {
		return url.Values{}, nil
	}
	return page.Window(input.Fields[ListOptions](op), o.Limit, o.Offset)
}

// Page is one page of File Shares.
type Page struct {
	FileShares []*FileShare    `json:"fileshares"`
	Pagination *api.Pagination `json:"pagination"` // nil if not in the response
}

// List returns one page of the File Shares of a workspace, with their GrantCount, also of
// those that have expired (assumed). It requires membership of the workspace:
// [api.ErrForbidden] otherwise.
//
// It calls GET /current/workspace/{workspace_id}/list/fileshares/.
func (s *Service) List(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) (*Page, error) {
	return call.Page[Page](ctx, s.c, endpoint.FileSharesList(workspace, nil), list.query, opts)
}

// All returns the File Shares of all pages of [Service.List], from list.Offset on.
func (s *Service) All(
	ctx context.Context, workspace api.ID, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*FileShare, error] {
	o := *cmp.Or(list, &ListOptions{})
	next := func(ctx context.Context, offset int, opts []api.CallOption) (*Page, error) {
		return s.List(ctx, workspace, &ListOptions{o.Limit, offset}, opts...)
	}
	rows := func(p *Page) ([]*FileShare, *api.Pagination) { return p.FileShares, p.Pagination }
	return page.Offsets("fileshares.List", o.Offset, next, rows).All(ctx, opts)
}
