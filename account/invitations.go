package account

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/decode"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/input"
	"github.com/fastio-go/fastio/internal/page"
)

// Invitation is an invitation of the caller to an organization, workspace or share.
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

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// InvitationEntity is the profile that an invitation leads to.
type InvitationEntity struct {
	ID   api.ID `json:"id" scalar:"true"`
	Name string `json:"name" also:"title"` // (assumed name)

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

func (e *InvitationEntity) known() bool { return e != nil && (e.ID != "" || e.Name != "") }

// The object of the kind of the invitation names the profile. Without a kind it is the
// object of the innermost profile.
var _ = decode.Fix(func(v *Invitation) {
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

// String returns the invitation on one line: its ID, its state, and the kind, the ID and the
// name of the profile that it leads to. It does not contain the key.
func (v *Invitation) String() string {
	if v == nil {
		return "<nil>"
	}
	text := strings.TrimSpace("invitation " + v.ID + " " + string(v.State))
	if v.EntityType != "" {
		text += strings.TrimRight(" to "+string(v.EntityType)+" "+string(v.EntityID), " ")
	}
	if v.EntityName != "" {
		text += " " + strconv.Quote(v.EntityName)
	}
	return text
}

// To returns the organization, workspace or share that the invitation leads to. Its ID
// is "" if the response does not hold it: responses to the invited person do.
func (v *Invitation) To() api.Profile { return api.Profile{Kind: v.EntityType, ID: v.EntityID} }

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

func (p *InvitationPage) rows() ([]*Invitation, *api.Pagination) { return p.Invitations, p.Pagination }

// Invitations reads and answers the invitations that the caller has received, to
// organizations, workspaces and shares. Those that others have received are in package
// members, which also answers an invitation by the key in the link of its e-mail.
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
	query, err := page.Window(input.Fields[InvitationListOptions](r.Op), list.Limit, list.Offset)
	if err != nil {
		return nil, err
	}
	if !list.Key.IsZero() {
		query.Set("invitation_key", list.Key.Reveal())
		r.Hop = true // Call follows no redirect of a Hop: that could send the secret in the query elsewhere
	}
	r.Query = query
	return call.Payload[InvitationPage](ctx, i.c, r, opts)
}

// All returns the invitations of all pages of [Invitations.List], from list.Offset on.
// Default: pages of 500.
func (i *Invitations) All(
	ctx context.Context, list *InvitationListOptions, opts ...api.CallOption,
) iter.Seq2[*Invitation, error] {
	o := *cmp.Or(list, &InvitationListOptions{})
	fetch := func(ctx context.Context, limit, offset int, opts []api.CallOption) (*InvitationPage, error) {
		return i.List(ctx, &InvitationListOptions{limit, offset, o.Key}, opts...)
	}
	return page.Rows(ctx, "account.Invitations.List", o.Limit, o.Offset, opts, fetch, (*InvitationPage).rows)
}

// Get returns one invitation that the caller has received.
//
// Errors: [api.ErrNotFound] if there is none.
//
// It calls GET /current/user/invitation/{invitation_id}/details/.
func (i *Invitations) Get(ctx context.Context, invitation string, opts ...api.CallOption) (*Invitation, error) {
	return i.get(ctx, "invitation", invitation, endpoint.AccountInvitationsGet(invitation), opts)
}

// GetByKey returns the invitation with the key in the link of its e-mail.
//
// Errors: [api.ErrNotFound] if there is none.
//
// It calls GET /current/user/invitation/{invitation_id}/details/.
func (i *Invitations) GetByKey(ctx context.Context, key api.Secret, opts ...api.CallOption) (*Invitation, error) {
	return i.get(ctx, "key", key.Reveal(), endpoint.AccountInvitationsGetByKey(key.Reveal()), opts)
}

// get calls r and returns the invitation in its response. It rejects an idOrKey
// that cannot be part of a path; name is the name of that argument in the
// error.
func (i *Invitations) get(
	ctx context.Context, name, idOrKey string, r *api.Request, opts []api.CallOption,
) (*Invitation, error) {
	if err := input.Parameters(r.Op, "invitation_id", name).Key("invitation_id", api.NewSecret(idOrKey)); err != nil {
		return nil, err
	}
	a, err := call.Payload[struct {
		Invitation *Invitation `json:"invitation"` // (assumed name)
		Root       Invitation  `json:",embed,inline"`
	}](ctx, i.c, r, opts)
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
// One to an organization is accepted with Join or JoinWithKey of package members. The call
// is retried only if it was not processed.
//
// Errors: [*api.InputError] for another kind of profile; [api.ErrInvalid] if the
// invitation has been answered or has expired; [api.ErrForbidden] if it is not the
// caller's, or with ReasonExternalInvitesDenied or ReasonExternalInvitesObjectDenied of
// package members if a policy denies external members, which leaves it pending.
//
// It calls POST /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Accept(ctx context.Context, in api.Profile, invitation string, opts ...api.CallOption) error {
	return call.Do(ctx, i.c, endpoint.AccountInvitationsAccept(in, invitation, state(InvitationStateAccepted)), opts)
}

// Decline declines one invitation to a workspace or share, named by its ID. It has the
// requirements and errors of [Invitations.Accept]. One to an organization is declined
// with JoinWithKey of package members.
//
// It calls POST /current/workspace/{workspace_id}/members/invitation/{invitation_id}/.
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Decline(ctx context.Context, in api.Profile, invitation string, opts ...api.CallOption) error {
	return call.Do(ctx, i.c, endpoint.AccountInvitationsDecline(in, invitation, state(InvitationStateDeclined)), opts)
}

func state(answer InvitationState) api.Form { return api.Form{"state": {string(answer)}} }

// AcceptAll accepts all invitations that the caller has received, and the one of key,
// which is in the link of an e-mail; an empty key means none. [Invitations.Accept]
// accepts a single one.
//
// It calls POST /current/user/invitations/acceptall/.
func (i *Invitations) AcceptAll(ctx context.Context, key api.Secret, opts ...api.CallOption) error {
	body := api.Form{}
	if !key.IsZero() {
		body["invitation_key"] = []string{key.Reveal()}
	}
	return call.Do(ctx, i.c, endpoint.AccountInvitationsAcceptAll(body), opts)
}
