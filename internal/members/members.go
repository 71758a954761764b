// Package members has what the members and invitations of organizations, workspaces
// and shares have in common.
package members

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/form"
)

// Kind is a kind of profile.
type Kind int

// The kinds, which differ in the roles and the settings of their members.
const (
	Org       Kind = iota // members have a role only
	Workspace             // the preference is called notifications
	Share                 // the preference is called notify_options
)

// excluded returns the roles that no member has.
func (k Kind) excluded() []string {
	switch k {
	case Org:
		return []string{"guest", "view"}
	case Workspace:
		return []string{"view"}
	default:
		return nil
	}
}

// Names of fields, which are the same for all kinds, except for the preference.
const (
	fieldRole       = "permissions"
	fieldMessage    = "message"
	fieldExpires    = "expires"
	fieldAcceptBy   = "invitation_expires"
	fieldRenotify   = "notification"
	fieldNotify     = "notify_options"
	fieldPreference = "notifications"
)

// The limits of a message, in characters.
const minMessage, maxMessage = 10, 255

type fields struct {
	form.Fields

	of Kind
}

func newFields(op string, of Kind) *fields { return &fields{form.New(op), of} }

// role sets the role of a member. "" leaves it out.
func (f *fields) role(role string) {
	switch {
	case role == "owner":
		f.Refuse(fieldRole, "must not be owner: ownership is transferred", role)
	case slices.Contains(f.of.excluded(), role):
		f.Refuse(fieldRole, "must be a role of this kind of profile", role)
	}
	form.Word(&f.Fields, fieldRole, role)
}

// notify sets the preference of a member. "" leaves it out.
func (f *fields) notify(value string) {
	name := fieldNotify
	if f.of != Share {
		name = fieldPreference
	}
	f.none(name, value != "")
	form.Word(&f.Fields, name, value)
}

// none rejects a field for the members of an organization, if it is given: they
// have no such setting, and the server would ignore it.
func (f *fields) none(field string, given bool) {
	if given && f.of == Org {
		f.Refuse(field, "must be left out for an organization", "")
	}
}

// message sets a text of one or more lines.
func (f *fields) message(field, value string) {
	line := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(value)
	if strings.EqualFold(strings.TrimSpace(line), form.Null) {
		f.Refuse(field, "must not be the reserved word null", "")
	}
	f.Line(minMessage, maxMessage)(field, line)
	f.Set(field, value)
}

// AddRequest has the fields of account.AddMemberRequest.
type AddRequest[R, N ~string] struct {
	Role     R
	Message  string
	AcceptBy time.Time
	Notify   N
	Expires  time.Time
	Renotify bool
}

// Form returns the form that adds a person.
func (r AddRequest[R, N]) Form(op string, of Kind) (api.Form, error) {
	f := newFields(op, of)
	role := string(r.Role)
	if role == "" && of != Share { // only a share has a default of the server
		role = "member"
	}
	f.role(role)
	form.Given(fieldMessage, r.Message, f.message)
	f.none(fieldAcceptBy, !r.AcceptBy.IsZero())
	form.Given(fieldAcceptBy, r.AcceptBy, f.Time(form.Zone))
	f.notify(string(r.Notify))
	f.none(fieldExpires, !r.Expires.IsZero())
	form.Given(fieldExpires, r.Expires, f.Time(form.Zone))
	f.none(fieldRenotify, r.Renotify)
	if r.Renotify {
		f.Set(fieldRenotify, "force")
	}
	return f.Form, f.Err()
}

// UpdateRequest has the fields of account.UpdateMemberRequest.
type UpdateRequest[R, N ~string] struct {
	Role    R
	Notify  N
	Expires api.Opt[time.Time]
}

// Form returns the form that changes a member.
func (r UpdateRequest[R, N]) Form(op string, of Kind) (api.Form, error) {
	f := newFields(op, of)
	f.role(string(r.Role))
	f.notify(string(r.Notify))
	f.none(fieldExpires, !r.Expires.IsZero())
	form.Optional(&f.Fields, fieldExpires, form.Null, r.Expires, f.Time(form.Zone))
	return f.Form, f.Changed()
}

// InvitationRequest has the fields of account.UpdateInvitationRequest.
type InvitationRequest[S, R, N ~string] struct {
	State    S
	Role     R
	Notify   N
	AcceptBy time.Time
}

// Form returns the form that changes an invitation.
func (r InvitationRequest[S, R, N]) Form(op string, of Kind) (api.Form, error) {
	f := newFields(op, of)
	form.Word(&f.Fields, "state", r.State)
	f.role(string(r.Role))
	f.notify(string(r.Notify))
	form.Given(fieldExpires, r.AcceptBy, f.Future)
	return f.Form, f.Changed()
}

// Resend returns the form that sends an invitation again, which is assumed.
func Resend() api.Form { return api.Form{"state": {"pending"}} }

// CheckKey rejects a key that cannot be a path segment. The error does not
// contain it.
func CheckKey(op, field string, key api.Secret) error {
	if t := strings.TrimSpace(key.Reveal()); t == "" || t == "." || t == ".." {
		return &api.InputError{Op: op, Field: field, Rule: "must not be blank or consist of dots"}
	}
	return nil
}

// Answer sends r, which answers an invitation and has the key and the answer in its
// path.
func Answer(
	ctx context.Context, c api.Caller, r *api.Request, key api.Secret, answer string, opts []api.CallOption,
) error {
	if err := CheckKey(r.Op, "invitation_key", key); err != nil {
		return err
	}
	if answer != "accept" && answer != "decline" {
		return &api.InputError{Op: r.Op, Field: "answer", Rule: "must be accept or decline", Got: answer}
	}
	return call.Do(ctx, c, r, opts)
}

// Added has the fields of account.AddedMember.
type Added[S ~string, I any] struct {
	State      S
	Invitation *I
}

// Add sends a request that adds a person.
func Add[S ~string, I any](
	ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption,
) (*Added[S, I], error) {
	a, err := call.One[struct {
		Invitation *I `json:"invitation"`
	}](ctx, c, r, "", opts)
	switch {
	case err != nil:
		return nil, err
	case a.Invitation == nil:
		return &Added[S, I]{State: "accepted"}, nil
	}
	return &Added[S, I]{"invited", a.Invitation}, nil
}

// Get returns the member of a response, which is under one of two names or at the
// root. Known reports whether a record is not empty.
func Get[M any](
	ctx context.Context, c api.Caller, r *api.Request, known func(*M) bool, opts []api.CallOption,
) (*M, error) {
	a, err := call.One[struct {
		Member *M `json:"member"` // (assumed name)
		User   *M `json:"user"`   // (assumed name)
		Root   M  `json:",embed,inline"`
	}](ctx, c, r, "", opts)
	if err != nil {
		return nil, err
	}
	found := cmp.Or(a.Member, a.User)
	if found == nil && known(&a.Root) {
		return &a.Root, nil
	}
	return call.Found(r.Op, "member", found)
}

// Transfer sends a request that changes an owner. It returns the change, empty if the
// response does not hold it: the transfer has succeeded in any case.
func Transfer[O any](ctx context.Context, c api.Caller, r *api.Request, opts []api.CallOption) (*O, error) {
	a, err := call.One[struct {
		Ownership *O `json:"ownership"` // of a share; assumed for the others (assumed name)
	}](ctx, c, r, "", opts)
	if err != nil {
		return nil, err
	}
	return cmp.Or(a.Ownership, new(O)), nil
}
