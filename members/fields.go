package members

import (
	"slices"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/form"
	"github.com/fastio-go/fastio/internal/input"
)

// Names of fields, which are the same for all kinds of profiles, except for the preference.
const (
	fieldRole       = "permissions"
	fieldMessage    = "message"
	fieldExpires    = "expires"
	fieldAcceptBy   = "invitation_expires"
	fieldRenotify   = "notification"
	fieldNotify     = "notify_options" // of a share
	fieldPreference = "notifications"  // of a workspace
)

// The limits of a message, in characters.
const minMessage, maxMessage = 10, 255

type fields struct {
	form.Fields

	kind api.ProfileKind
}

func newFields(args input.Args, in api.Profile) *fields { return &fields{form.New(args), in.Kind} }

// excluded returns the roles that no member of a kind of profile has.
func excluded(kind api.ProfileKind) []Role {
	switch kind {
	case api.ProfileKindOrg:
		return []Role{RoleGuest, RoleView}
	case api.ProfileKindWorkspace:
		return []Role{RoleView}
	default:
		return nil
	}
}

// role sets the field for the role of a member; "" leaves it out. For a role that is not
// allowed, it also records the error that ends the call.
func (f *fields) role(role Role) {
	switch {
	case role == RoleOwner:
		f.Refuse(fieldRole, "must not be owner: ownership is transferred", string(role))
	case slices.Contains(excluded(f.kind), role):
		f.Refuse(fieldRole, "must be a role of this kind of profile", string(role))
	}
	form.Word(&f.Fields, fieldRole, role)
}

// notify sets the field for what a member is notified of, which has another name for a
// share; "" leaves it out.
func (f *fields) notify(value Notify) {
	name := fieldNotify
	if f.kind != api.ProfileKindShare {
		name = fieldPreference
	}
	f.refuseForOrg(name, value != "")
	form.Word(&f.Fields, name, value)
}

// refuseForOrg refuses a field for the members of an organization, if it is given: they
// have no such setting, and the server would ignore it.
func (f *fields) refuseForOrg(field string, given bool) {
	if given && f.kind == api.ProfileKindOrg {
		f.Refuse(field, "must be left out for an organization", "")
	}
}

// message checks a text of one or more lines and sets the field. Line refuses line ends
// and tabs, so it checks a copy that has blanks in place of them. The word null is refused,
// because the server would take it for no message.
func (f *fields) message(field, value string) {
	oneLine := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(value)
	if strings.EqualFold(strings.TrimSpace(oneLine), form.Null) {
		f.Refuse(field, "must not be the reserved word null", "")
	}
	f.Line(minMessage, maxMessage)(field, oneLine)
	f.Set(field, value)
}

// form returns the form that adds a person.
func (r AddRequest) form(op string, in api.Profile) (api.Form, error) {
	f := newFields(input.Fields[AddRequest](op), in)
	role := r.Role
	if role == "" && in.Kind != api.ProfileKindShare { // the server has a default for shares only
		role = RoleMember
	}
	f.role(role)
	form.Given(fieldMessage, r.Message, f.message)
	f.refuseForOrg(fieldAcceptBy, !r.AcceptBy.IsZero())
	form.Given(fieldAcceptBy, r.AcceptBy, f.Time(form.Zone))
	f.notify(r.Notify)
	f.refuseForOrg(fieldExpires, !r.Expires.IsZero())
	form.Given(fieldExpires, r.Expires, f.Time(form.Zone))
	f.refuseForOrg(fieldRenotify, r.Renotify)
	if r.Renotify {
		f.Set(fieldRenotify, "force")
	}
	return f.Form, f.Err()
}

// form returns the form that changes a member.
func (r UpdateRequest) form(op string, in api.Profile) (api.Form, error) {
	f := newFields(input.Fields[UpdateRequest](op), in)
	f.role(r.Role)
	f.notify(r.Notify)
	f.refuseForOrg(fieldExpires, !r.Expires.IsZero())
	form.Optional(&f.Fields, fieldExpires, form.Null, r.Expires, f.Time(form.Zone))
	return f.Form, f.UpdateErr()
}

// form returns the form that changes an invitation.
func (r UpdateInvitationRequest) form(op string, in api.Profile) (api.Form, error) {
	f := newFields(input.Fields[UpdateInvitationRequest](op), in)
	form.Word(&f.Fields, "state", r.State)
	f.role(r.Role)
	f.notify(r.Notify)
	form.Given(fieldExpires, r.AcceptBy, f.Future) // a new invitation has it in fieldAcceptBy
	return f.Form, f.UpdateErr()
}
