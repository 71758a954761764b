package members

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Invitations reads and changes the invitations to a profile. [Service.Add] creates them.
// An invitation is named by its ID or by the invited address. Those to a workspace or
// share require an administrator.
type Invitations struct{ c api.Client }

// Invitation is an invitation of a person to an organization, workspace or share.
type Invitation struct {
	ID           string          `json:"id,omitzero"`
	Inviter      api.ID          `json:"inviter,omitzero"`
	InviterActor *api.Actor      `json:"inviter_actor,omitzero"`
	InviteeEmail string          `json:"invitee_email,omitzero"`
	InviteeID    api.ID          `json:"invitee_uid,omitzero"`  // "" if the address has no account
	AcceptedID   api.ID          `json:"accepted_uid,omitzero"` // who accepted it
	State        InvitationState `json:"state,omitzero"`
	Consumed     *bool           `json:"consumed,omitzero"` // it has been used
	Created      api.Time        `json:"created,omitzero"`
	Updated      api.Time        `json:"updated,omitzero"`
	Expires      api.Time        `json:"expires,omitzero"`        // when it can no longer be accepted; zero means never
	Key          api.Secret      `json:"invitation_key,omitzero"` // a credential that accepts it; "" if missing
	EntityType   api.ProfileKind `json:"entity_type,omitzero"`    // the kind of the profile; "" means unknown
	Share        json.RawMessage `json:"share,omitzero"`          // of Add to a share only, in an undocumented form

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// String returns the invitation on one line: its ID, its state, and the ID of the invited
// person, or else the address. It does not contain the key.
func (v *Invitation) String() string {
	if v == nil {
		return "<nil>"
	}
	text := strings.TrimSpace("invitation " + v.ID + " " + string(v.State))
	switch {
	case v.InviteeID != "":
		text += " of " + string(v.InviteeID)
	case v.InviteeEmail != "":
		text += " of " + strconv.Quote(v.InviteeEmail)
	}
	return text
}

// InvitationState is the state of an invitation. Unknown values are kept.
type InvitationState string

// States of an invitation.
const (
	InvitationStatePending  InvitationState = "pending"
	InvitationStateAccepted InvitationState = "accepted"
	InvitationStateDeclined InvitationState = "declined"
)

// InvitationPage is one page of invitations.
type InvitationPage struct {
	Invitations []*Invitation   `json:"invitations"`
	Pagination  *api.Pagination `json:"pagination"` // nil if not in the response
}

// InvitationListOptions selects invitations, and a page of them. Nil means the first page
// of all.
type InvitationListOptions struct {
	State InvitationState // "" means all

	// Of an organization only: for a workspace or share, List returns all invitations.
	Limit  int // rows a page, 1 to 500; 0 means the default of the server
	Offset int // rows to skip
}

// List returns the invitations to a profile: one page of those to an organization, all of
// those to a workspace or share.
//
// Errors: [*api.InputError] for a Limit or Offset where there are no pages;
// [api.ErrForbidden] if the caller is not a member, or, of a workspace or share, not an
// administrator; [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/org/{org_id}/members/invitations/list/.
// It calls GET /current/workspace/{workspace_id}/members/invitations/list/.
// It calls GET /current/share/{share_id}/members/invitations/list/.
// It calls GET /current/org/{org_id}/members/invitations/list/{state}/.
// It calls GET /current/workspace/{workspace_id}/members/invitations/list/{state}/.
// It calls GET /current/share/{share_id}/members/invitations/list/{state}/.
func (i *Invitations) List(
	ctx context.Context, in api.Profile, list *InvitationListOptions, opts ...api.CallOption,
) (*InvitationPage, error) {
	o := *cmp.Or(list, &InvitationListOptions{})
	r := endpoint.MembersInvitationsList(in, nil)
	if o.State != "" {
		if strings.Trim(string(o.State), " .") == "" { // which cannot be an element of the path
			const rule = "must not be blank or consist of dots"
			return nil, input.Fields[InvitationListOptions](r.Op).Refuse("state", rule, strconv.Quote(string(o.State)))
		}
		r = endpoint.MembersInvitationsListByState(in, string(o.State), nil)
	}
	if in.Kind == api.ProfileKindOrg {
		window := func(op string) (url.Values, error) {
			return page.Window(input.Fields[InvitationListOptions](op), o.Limit, o.Offset)
		}
		return call.Page[InvitationPage](ctx, i.c, r, window, opts)
	}
	if err := o.refuseWindow(r.Op); err != nil {
		return nil, err
	}
	all, err := call.List[*Invitation](ctx, i.c, r, "invitations", opts) // (assumed name)
	if err != nil {
		return nil, err
	}
	return &InvitationPage{Invitations: all}, nil
}

// refuseWindow returns an error if Limit or Offset is set, for lists that have
// no pages.
func (o InvitationListOptions) refuseWindow(op string) error {
	const rule = "must be left out: only invitations to an organization have pages"
	args := input.Fields[InvitationListOptions](op)
	switch {
	case o.Limit != 0:
		return args.Refuse("limit", rule, strconv.Itoa(o.Limit))
	case o.Offset != 0:
		return args.Refuse("offset", rule, strconv.Itoa(o.Offset))
	}
	return nil
}

// All returns the invitations of all pages of [Invitations.List], from list.Offset on.
// Default: pages of 500, and one request where there are no pages.
func (i *Invitations) All(
	ctx context.Context, in api.Profile, list *InvitationListOptions, opts ...api.CallOption,
) iter.Seq2[*Invitation, error] {
	o, paged := *cmp.Or(list, &InvitationListOptions{}), in.Kind == api.ProfileKindOrg
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*InvitationPage, error) {
		if paged {
			return i.List(ctx, in, &InvitationListOptions{o.State, limit, offset}, opts...)
		}
		return i.List(ctx, in, &o, opts...)
	}
	rows := func(p *InvitationPage) ([]*Invitation, *api.Pagination) {
		if paged {
			return p.Invitations, p.Pagination
		}
		return p.Invitations, &api.Pagination{} // the only page
	}
	return page.Rows(ctx, "members.Invitations.List", o.Limit, o.Offset, opts, fetch, rows)
}

// UpdateInvitationRequest is a change of an invitation. A zero field leaves the value
// unchanged; at least one is required.
type UpdateInvitationRequest struct {
	State    InvitationState // accepted or declined, on behalf of the invited person
	Role     Role            `wire:"permissions"`                  // as of [AddRequest], without a default
	Notify   Notify          `wire:"notify_options,notifications"` // not of an invitation to an organization
	AcceptBy time.Time       `wire:"expires"`                      // when the invitation expires, to the second; must be in the future
}

// Update changes an invitation. It may send an e-mail, so it is retried only if it was not
// processed.
//
// With the State accepted or declined, an administrator answers exactly one invitation
// to a workspace or share on behalf of the invited person. That person uses Accept and
// Decline of account.Invitations. The platform documents no State for organizations:
// the invited person answers with [Service.JoinWithKey].
//
// Errors: [*api.InputError] for an empty request; [api.ErrInvalid] with
// codes.InvitationRole if the role is above the caller's own; [api.ErrForbidden] if the
// caller may not change the invitation, and with [ReasonExternalInvitesDenied] or
// [ReasonExternalInvitesObjectDenied] if the change gives more rights and a policy denies
// external members; [api.ErrNotFound] if there is none.
//
// It calls POST /current/org/{org_id}/members/invitation/{invitation_id}/.
// It calls POST /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Update(
	ctx context.Context, in api.Profile, invitation string, r UpdateInvitationRequest, opts ...api.CallOption,
) error {
	request := endpoint.MembersInvitationsUpdate(in, invitation, nil)
	body, err := r.form(request.Op, in)
	if err != nil {
		return err
	}
	request.Body = body
	return call.Do(ctx, i.c, request, opts)
}

// Resend sends the e-mail of a pending invitation again, by an update to the state
// pending, whose effect is assumed. It has the errors of [Invitations.Update]. For a user
// with an account use [Service.Add] with Renotify.
//
// It calls POST /current/org/{org_id}/members/invitation/{invitation_id}/.
// It calls POST /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Resend(ctx context.Context, in api.Profile, invitation string, opts ...api.CallOption) error {
	pending := api.Form{"state": {string(InvitationStatePending)}}
	return call.Do(ctx, i.c, endpoint.MembersInvitationsResend(in, invitation, pending), opts)
}

// Delete revokes an invitation and removes the pending member. It is idempotent over
// retries: an invitation that is gone after a lost response is a success.
//
// Errors: [api.ErrForbidden] if the caller may not revoke it; [api.ErrNotFound] if there
// is none.
//
// It calls DELETE /current/org/{org_id}/members/invitation/{invitation_id}/.
// It calls DELETE /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
// It calls DELETE /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Delete(ctx context.Context, in api.Profile, invitation string, opts ...api.CallOption) error {
	return call.Remove(ctx, i.c, endpoint.MembersInvitationsDelete(in, invitation), opts)
}
