package account

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/lenient"
	"github.com/fastio-go/fastio/internal/members"
	"github.com/fastio-go/fastio/internal/page"
)

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

	// The profile that it leads to, which [Invitation.To] returns. A response has one of
	// the objects, or the ID, or neither; EntityID and EntityName are those of the object.
	EntityType api.ProfileKind   `json:"entity_type,omitzero"`
	EntityID   api.ID            `json:"entity_id,omitzero"`   // "" means unknown (assumed name)
	EntityName string            `json:"entity_name,omitzero"` // "" means unknown (assumed name)
	Org        *InvitationEntity `json:"org,omitzero"`         // nil if not in the response (assumed name)
	Workspace  *InvitationEntity `json:"workspace,omitzero"`   // nil if not in the response (assumed name)
	Share      *InvitationEntity `json:"share,omitzero"`       // nil if not in the response

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members without a field
}

// InvitationEntity is the profile that an invitation leads to.
type InvitationEntity struct {
	ID   api.ID `json:"id" scalar:"true"`
	Name string `json:"name" also:"title"` // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members without a field
}

func (e *InvitationEntity) known() bool { return e != nil && (e.ID != "" || e.Name != "") }

// The object of the kind of the invitation names the profile. Without a kind it is the
// object of the innermost profile.
var _ = lenient.Fix(func(v *Invitation) {
	for _, at := range []struct {
		kind   api.ProfileKind
		entity *InvitationEntity
	}{{api.ProfileKindShare, v.Share}, {api.ProfileKindWorkspace, v.Workspace}, {api.ProfileKindOrg, v.Org}} {
		if at.entity.known() && cmp.Or(v.EntityType, at.kind) == at.kind {
			v.EntityType = at.kind
			v.EntityID, v.EntityName = cmp.Or(v.EntityID, at.entity.ID), cmp.Or(v.EntityName, at.entity.Name)
		}
	}
})

// To returns the organization, workspace or share that the invitation leads to. Its ID
// is "" if the response does not hold it: responses to the invited person do.
func (v *Invitation) To() api.Profile { return api.Profile{Kind: v.EntityType, ID: v.EntityID} }

// InvitationState is the state of an invitation. Unknown values are kept.
type InvitationState string

// The states of an invitation.
const (
	InvitationStatePending  InvitationState = "pending"
	InvitationStateAccepted InvitationState = "accepted"
	InvitationStateDeclined InvitationState = "declined"
)

// InvitationDecision accepts or declines an invitation.
type InvitationDecision string

// The decisions.
const (
	InvitationDecisionAccept  InvitationDecision = "accept"
	InvitationDecisionDecline InvitationDecision = "decline"
)

// UpdateInvitationRequest is a change of an invitation. A zero field leaves the value
// unchanged; at least one is required.
type UpdateInvitationRequest struct {
	State    InvitationState // accepted or declined, on behalf of the invited person
	Role     Role            // as of [AddMemberRequest], without a default
	Notify   MemberNotify    // not of an invitation to an organization
	AcceptBy time.Time       // when the invitation expires, to the second; must be in the future
}

// InvitationPage is one page of invitations.
type InvitationPage struct {
	Invitations []*Invitation   `json:"invitations"`
	Pagination  *api.Pagination `json:"pagination"` // nil if not in the response
}

func (p *InvitationPage) rows() ([]*Invitation, *api.Pagination) { return p.Invitations, p.Pagination }

// OrgInvitations reads and changes the invitations to organizations, which may be
// named by their domain. [OrgMembers.Add] creates them.
type OrgInvitations struct{ c api.Client }

// List returns one page of the invitations to an organization in the given state; ""
// means all.
//
// Errors: [api.ErrForbidden] if the caller is not a member; [api.ErrInvalid] if a
// bound is out of range.
//
// It calls GET /current/org/{org_id}/members/invitations/list/.
// It calls GET /current/org/{org_id}/members/invitations/list/{state}/.
func (i *OrgInvitations) List(
	ctx context.Context, org api.ID, state InvitationState, list *ListOptions, opts ...api.CallOption,
) (*InvitationPage, error) {
	r := endpoint.AccountOrgsInvitationsList(org, nil)
	if state != "" {
		r = endpoint.AccountOrgsInvitationsListByState(org, string(state), nil)
	}
	return call.Page[InvitationPage](ctx, i.c, r, list.query, opts)
}

// All returns the invitations of all pages of [OrgInvitations.List], from list.Offset
// on. Default: pages of 500.
func (i *OrgInvitations) All(
	ctx context.Context, org api.ID, state InvitationState, list *ListOptions, opts ...api.CallOption,
) iter.Seq2[*Invitation, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*InvitationPage, error) {
		return i.List(ctx, org, state, list, opts...)
	}
	return rows(ctx, "account.Orgs.Invitations.List", list, opts, fetch, (*InvitationPage).rows)
}

// Update changes an invitation, named by its ID or by the invited address. It may send
// an e-mail, so it is retried only if it was not processed. The invited person answers
// with [Orgs.JoinWithKey] or [Invitations.AcceptAll]: the platform documents no State
// here for organizations.
//
// Errors: [*api.InputError] for an empty request; [api.ErrInvalid] with
// [CodeInvitationRole] if the role is above the caller's own; [api.ErrForbidden] if
// the caller may not change the invitation; [api.ErrNotFound] if there is none.
//
// It calls POST /current/org/{org_id}/members/invitation/{invitation_id}/.
func (i *OrgInvitations) Update(
	ctx context.Context, org api.ID, invitation string, r UpdateInvitationRequest, opts ...api.CallOption,
) error {
	body, err := r.form("account.Orgs.Invitations.Update", members.Org)
	if err != nil {
		return err
	}
	return call.Do(ctx, i.c, endpoint.AccountOrgsInvitationsUpdate(org, invitation, body), opts)
}

func (r UpdateInvitationRequest) form(op string, to members.Kind) (api.Form, error) {
	return members.InvitationRequest[InvitationState, Role, MemberNotify](r).Form(op, to)
}

// Resend sends the e-mail of a pending invitation again, by an update to the state
// pending, whose effect is assumed. It has the errors of [OrgInvitations.Update].
//
// It calls POST /current/org/{org_id}/members/invitation/{invitation_id}/.
func (i *OrgInvitations) Resend(ctx context.Context, org api.ID, invitation string, opts ...api.CallOption) error {
	return call.Do(ctx, i.c, endpoint.AccountOrgsInvitationsResend(org, invitation, members.Resend()), opts)
}

// Delete revokes an invitation, named by its ID or by the invited address, and removes
// the pending member.
//
// Errors: [api.ErrForbidden] if the caller may not revoke it; [api.ErrNotFound] if
// there is none.
//
// It calls DELETE /current/org/{org_id}/members/invitation/{invitation_id}/.
func (i *OrgInvitations) Delete(ctx context.Context, org api.ID, invitation string, opts ...api.CallOption) error {
	return call.Remove(ctx, i.c, endpoint.AccountOrgsInvitationsDelete(org, invitation), opts)
}

// WorkspaceInvitations reads and changes the invitations to workspaces, which may be
// named by their folder name. [WorkspaceMembers.Add] creates them.
type WorkspaceInvitations struct{ c api.Client }

// List returns the invitations to a workspace in the given state; "" means all. It
// requires an administrator.
//
// Errors: [api.ErrForbidden] if the caller is not one.
//
// It calls GET /current/workspace/{workspace_id}/members/invitations/list/.
// It calls GET /current/workspace/{workspace_id}/members/invitations/list/{state}/.
func (i *WorkspaceInvitations) List(
	ctx context.Context, workspace api.ID, state InvitationState, opts ...api.CallOption,
) ([]*Invitation, error) {
	r := endpoint.AccountWorkspacesInvitationsList(workspace)
	if state != "" {
		r = endpoint.AccountWorkspacesInvitationsListByState(workspace, string(state))
	}
	return call.List[*Invitation](ctx, i.c, r, "invitations", opts) // or at the root (assumed name)
}

// Update changes an invitation, named by its ID or by the invited address. It may send
// an e-mail, so it is retried only if it was not processed.
//
// The State accepted or declined is the answer to exactly one invitation: of an
// administrator on behalf of the invited person, who uses [Invitations.Accept] and
// [Invitations.Decline].
//
// Errors: as [OrgInvitations.Update], and [api.ErrForbidden] with
// [ReasonExternalInvitesDenied] if the change gives more rights and a policy denies
// external members.
//
// It calls POST /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
func (i *WorkspaceInvitations) Update(
	ctx context.Context, workspace api.ID, invitation string, r UpdateInvitationRequest, opts ...api.CallOption,
) error {
	body, err := r.form("account.Workspaces.Invitations.Update", members.Workspace)
	if err != nil {
		return err
	}
	return call.Do(ctx, i.c, endpoint.AccountWorkspacesInvitationsUpdate(workspace, invitation, body), opts)
}

// Resend sends the e-mail of a pending invitation again, by an update to the state
// pending, whose effect is assumed. It has the errors of
// [WorkspaceInvitations.Update]. For a user with an account use [WorkspaceMembers.Add]
// with Renotify.
//
// It calls POST /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
func (i *WorkspaceInvitations) Resend(
	ctx context.Context, workspace api.ID, invitation string, opts ...api.CallOption,
) error {
	r := endpoint.AccountWorkspacesInvitationsResend(workspace, invitation, members.Resend())
	return call.Do(ctx, i.c, r, opts)
}

// Delete revokes an invitation, named by its ID or by the invited address, and removes
// the pending member.
//
// Errors: [api.ErrForbidden] if the caller may not revoke it; [api.ErrNotFound] if
// there is none.
//
// It calls DELETE /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
func (i *WorkspaceInvitations) Delete(
	ctx context.Context, workspace api.ID, invitation string, opts ...api.CallOption,
) error {
	return call.Remove(ctx, i.c, endpoint.AccountWorkspacesInvitationsDelete(workspace, invitation), opts)
}

// Invitations reads and answers the invitations that the caller has received, to
// organizations, workspaces and shares.
type Invitations struct{ c api.Client }

// InvitationListOptions selects a page of the caller's invitations. Nil means the
// first.
type InvitationListOptions struct {
	Limit  int        // rows a page, 1 to 500; 0 means the default of the server
	Offset int        // rows to skip
	Key    api.Secret // the key in the link of an e-mail, to list its invitation as well; "" means none
}

// List returns one page of the invitations that the caller has received.
//
// Errors: [api.ErrInvalid] if a bound is out of range.
//
// It calls GET /current/user/invitations/list/.
func (i *Invitations) List(
	ctx context.Context, list *InvitationListOptions, opts ...api.CallOption,
) (*InvitationPage, error) {
	if list == nil {
		list = &InvitationListOptions{}
	}
	r := endpoint.AccountInvitationsList(nil)
	query, err := page.Window(r.Op, list.Limit, list.Offset)
	if err != nil {
		return nil, err
	}
	if !list.Key.IsZero() {
		query.Set("invitation_key", list.Key.Reveal())
		r.Hop = true // a redirect is not followed
	}
	r.Query = query
	return call.One[InvitationPage](ctx, i.c, r, "", opts)
}

// All returns the invitations of all pages of [Invitations.List], from list.Offset on.
// Default: pages of 500.
func (i *Invitations) All(
	ctx context.Context, list *InvitationListOptions, opts ...api.CallOption,
) iter.Seq2[*Invitation, error] {
	o := *cmp.Or(list, &InvitationListOptions{})
	fetch := func(ctx context.Context, at *ListOptions, opts ...api.CallOption) (*InvitationPage, error) {
		return i.List(ctx, &InvitationListOptions{at.Limit, at.Offset, o.Key}, opts...)
	}
	from := &ListOptions{Limit: o.Limit, Offset: o.Offset}
	return rows(ctx, "account.Invitations.List", from, opts, fetch, (*InvitationPage).rows)
}

// Get returns one invitation that the caller has received.
//
// Errors: [api.ErrNotFound] if there is none.
//
// It calls GET /current/user/invitation/{invitation_id}/details/.
func (i *Invitations) Get(ctx context.Context, id string, opts ...api.CallOption) (*Invitation, error) {
	return i.get(ctx, id, endpoint.AccountInvitationsGet(id), opts)
}

// GetByKey returns the invitation with the key in the link of its e-mail.
//
// Errors: [api.ErrNotFound] if there is none.
//
// It calls GET /current/user/invitation/{invitation_id}/details/.
func (i *Invitations) GetByKey(ctx context.Context, key api.Secret, opts ...api.CallOption) (*Invitation, error) {
	return i.get(ctx, key.Reveal(), endpoint.AccountInvitationsGetByKey(key.Reveal()), opts)
}

func (i *Invitations) get(
	ctx context.Context, idOrKey string, r *api.Request, opts []api.CallOption,
) (*Invitation, error) {
	if err := members.CheckKey(r.Op, "invitation_id", api.NewSecret(idOrKey)); err != nil {
		return nil, err
	}
	a, err := call.One[struct {
		Invitation *Invitation `json:"invitation"` // (assumed name)
		Root       Invitation  `json:",embed,inline"`
	}](ctx, i.c, r, "", opts)
	if err != nil {
		return nil, err
	}
	if a.Invitation == nil && a.Root.ID != "" {
		return &a.Root, nil
	}
	return call.Found(r.Op, "invitation", a.Invitation)
}

// Accept accepts one invitation to a workspace or share, named by its ID:
//
//	err := client.Account.Invitations.Accept(ctx, invitation.To(), invitation.ID)
//
// One to an organization is accepted with [Invitations.AcceptByKey] or [Orgs.Join]. The
// call is retried only if it was not processed.
//
// Errors: [*api.InputError] for another kind of profile; [api.ErrInvalid] if the
// invitation has been answered or has expired; [api.ErrForbidden] if it is not the
// caller's, or with [ReasonExternalInvitesDenied] or [ReasonExternalInvitesObjectDenied]
// if a policy denies external members, which leaves it pending.
//
// It calls POST /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Accept(ctx context.Context, to api.Profile, id string, opts ...api.CallOption) error {
	return call.Do(ctx, i.c, endpoint.AccountInvitationsAccept(to, id, state(InvitationStateAccepted)), opts)
}

// Decline declines one invitation to a workspace or share, named by its ID. It has the
// requirements and errors of [Invitations.Accept]. One to an organization is declined
// with [Invitations.DeclineByKey].
//
// It calls POST /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Decline(ctx context.Context, to api.Profile, id string, opts ...api.CallOption) error {
	return call.Do(ctx, i.c, endpoint.AccountInvitationsDecline(to, id, state(InvitationStateDeclined)), opts)
}

func state(answer InvitationState) api.Form { return api.Form{"state": {string(answer)}} }

// AcceptByKey accepts one invitation by the key in the link of its e-mail, to the
// organization, workspace or share that the link names. It is [Orgs.JoinWithKey],
// [Workspaces.JoinWithKey] or JoinWithKey of package shares. It is retried only if it
// was not processed.
//
// Errors: [*api.InputError] for another kind of profile; [api.ErrNotFound] if there is
// no such invitation; [api.ErrInvalid] if it has been answered or has expired;
// [api.ErrForbidden] if a policy denies external members.
func (i *Invitations) AcceptByKey(ctx context.Context, to api.Profile, key api.Secret, opts ...api.CallOption) error {
	return i.answer(ctx, "account.Invitations.AcceptByKey", to, key, InvitationDecisionAccept, opts)
}

// DeclineByKey declines one invitation by the key in the link of its e-mail. It has the
// requirements and errors of [Invitations.AcceptByKey].
func (i *Invitations) DeclineByKey(ctx context.Context, to api.Profile, key api.Secret, opts ...api.CallOption) error {
	return i.answer(ctx, "account.Invitations.DeclineByKey", to, key, InvitationDecisionDecline, opts)
}

func (i *Invitations) answer(
	ctx context.Context, op string, to api.Profile, key api.Secret, answer InvitationDecision, opts []api.CallOption,
) error {
	join := map[api.ProfileKind]func(id api.ID, key, answer string) *api.Request{
		api.ProfileKindOrg:       endpoint.AccountOrgsJoinWithKey,
		api.ProfileKindWorkspace: endpoint.AccountWorkspacesJoinWithKey,
		api.ProfileKindShare:     endpoint.SharesJoinWithKey,
	}[to.Kind]
	if join == nil {
		const rule = "must be an organization, workspace or share"
		return &api.InputError{Op: op, Field: "to", Rule: rule, Got: string(to.Kind)}
	}
	return members.Answer(ctx, i.c, join(to.ID, key.Reveal(), string(answer)), key, string(answer), opts)
}

// AcceptAll accepts all invitations that the caller has received, and the one of key,
// which is in the link of an e-mail; "" means none. [Invitations.Accept] accepts a
// single one.
//
// It calls POST /current/user/invitations/acceptall/.
func (i *Invitations) AcceptAll(ctx context.Context, key api.Secret, opts ...api.CallOption) error {
	form := api.Form{}
	if !key.IsZero() {
		form["invitation_key"] = []string{key.Reveal()}
	}
	return call.Do(ctx, i.c, endpoint.AccountInvitationsAcceptAll(form), opts)
}
