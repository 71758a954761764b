package shares

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/fastio-go/fastio/account"
	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/endpoint"
	"github.com/fastio-go/fastio/internal/form"
)

// Invitations reads and changes invitations. [Members.Add] creates them. The
// calls for the invitations of a share require its admin role.
type Invitations struct{ c api.Client }

// Invitation is an invitation of a person to a share.
type Invitation struct {
	ID           string          `json:"id,omitzero"`
	Inviter      api.ID          `json:"inviter,omitzero"`
	InviterActor *api.Actor      `json:"inviter_actor,omitzero"`
	InviteeEmail string          `json:"invitee_email,omitzero"`
	InviteeID    api.ID          `json:"invitee_uid,omitzero"`  // "" if the address has no account
	AcceptedID   api.ID          `json:"accepted_uid,omitzero"` // who accepted it
	EntityType   api.ProfileKind `json:"entity_type,omitzero"`  // of the profile it invites to
	Share        json.RawMessage `json:"share,omitzero"`        // after creation only, in an undocumented form
	State        InvitationState `json:"state,omitzero"`
	Consumed     *bool           `json:"consumed,omitzero"` // it has been used
	Created      api.Time        `json:"created,omitzero"`
	Updated      api.Time        `json:"updated,omitzero"`
	Expires      api.Time        `json:"expires,omitzero"`        // when it can no longer be accepted; zero means never
	Key          api.Secret      `json:"invitation_key,omitzero"` // a credential that accepts it; "" if missing

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members without a field
}

// InvitationState is the state of an invitation. Unknown values pass through.
type InvitationState string

// The states of an invitation.
const (
	InvitationStatePending  InvitationState = "pending"
	InvitationStateAccepted InvitationState = "accepted"
	InvitationStateDeclined InvitationState = "declined"
)

// List returns the invitations of a share in the given state; "" means all.
//
// It calls GET /current/share/{share_id}/members/invitations/list/.
// It calls GET /current/share/{share_id}/members/invitations/list/{state}/.
func (i *Invitations) List(
	ctx context.Context, share api.ID, state InvitationState, opts ...api.CallOption,
) ([]*Invitation, error) {
	r := endpoint.SharesInvitationsList(share)
	if state != "" {
		r = endpoint.SharesInvitationsListByState(share, string(state))
	}
	return call.List[*Invitation](ctx, i.c, r, "invitations", opts) // or at the root (assumed name)
}

// UpdateInvitationRequest is a change of an invitation. A zero field leaves the
// value unchanged.
type UpdateInvitationRequest struct {
	State    InvitationState // accepted or declined, on behalf of the invited person
	Role     account.Role    // not above the caller's own, nor account.RoleOwner
	Notify   account.MemberNotify
	AcceptBy time.Time // when the invitation expires, to the second; must be in the future
}

// Update changes an invitation, named by its ID or by the invited address. It
// may send an e-mail, so it is retried only if it was not sent.
//
// The State accepted accepts exactly one invitation. The platform documents that
// an administrator may do so; the invited person uses [Service.JoinWithKey].
//
// Errors: [api.ErrInvalid] with [CodeInvitationRole] if the role is above the
// caller's own; [api.ErrForbidden] if the caller may not change the invitation,
// and with [ReasonExternalInvitesDenied] or [ReasonExternalInvitesObjectDenied]
// if the change gives more rights and a policy denies external members.
//
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Update(
	ctx context.Context, share api.ID, invitation string, r UpdateInvitationRequest, opts ...api.CallOption,
) error {
	f := newFields("shares.Invitations.Update")
	word(f, "state", r.State)
	f.role(r.Role)
	word(f, "notify_options", r.Notify)
	form.Given("expires", r.AcceptBy, f.future)
	if err := f.Changed(); err != nil {
		return err
	}
	return call.Do(ctx, i.c, endpoint.SharesInvitationsUpdate(share, invitation, f.Form), opts)
}

// Resend sends the e-mail of a pending invitation again, by an update to the state
// pending, whose effect is assumed. It has the errors of [Invitations.Update]. For
// a user with an account use [Members.Add] with Renotify.
//
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Resend(ctx context.Context, share api.ID, invitation string, opts ...api.CallOption) error {
	body := api.Form{"state": {string(InvitationStatePending)}}
	return call.Do(ctx, i.c, endpoint.SharesInvitationsResend(share, invitation, body), opts)
}

// Delete revokes an invitation, named by its ID or by the invited address, and
// removes the pending member.
//
// It calls DELETE /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Delete(ctx context.Context, share api.ID, invitation string, opts ...api.CallOption) error {
	return call.Remove(ctx, i.c, endpoint.SharesInvitationsDelete(share, invitation), opts)
}

// MineOptions selects a page of the caller's invitations. Nil means the first.
type MineOptions struct {
	Limit  int        // rows a page, 1 to 500; 0 means the default of the server
	Offset int        // rows to skip
	Key    api.Secret // the key in the link of an e-mail; "" means none
}

// InvitationPage is one page of invitations.
type InvitationPage struct {
	Invitations []*Invitation   `json:"invitations"`
	Pagination  *api.Pagination `json:"pagination"` // nil if not in the response
}

// ListMine returns one page of the invitations that the caller has received, to
// shares and to other profiles.
//
// It calls GET /current/user/invitations/list/.
func (i *Invitations) ListMine(
	ctx context.Context, list *MineOptions, opts ...api.CallOption,
) (*InvitationPage, error) {
	if list == nil {
		list = &MineOptions{}
	}
	q, err := (&ListOptions{Limit: list.Limit, Offset: list.Offset}).query("shares.Invitations.ListMine")
	if err != nil {
		return nil, err
	}
	if !list.Key.IsZero() {
		q.Set("invitation_key", list.Key.Reveal())
	}
	return call.One[InvitationPage](ctx, i.c, endpoint.SharesInvitationsListMine(q), "", opts)
}

// AllMine returns the invitations of all pages of [Invitations.ListMine], from
// list.Offset on. Default: pages of 500.
func (i *Invitations) AllMine(
	ctx context.Context, list *MineOptions, opts ...api.CallOption,
) iter.Seq2[*Invitation, error] {
	var o MineOptions
	if list != nil {
		o = *list
	}
	fetch := func(ctx context.Context, at *ListOptions, opts ...api.CallOption) (*InvitationPage, error) {
		return i.ListMine(ctx, &MineOptions{Limit: at.Limit, Offset: at.Offset, Key: o.Key}, opts...)
	}
	from := &ListOptions{Limit: o.Limit, Offset: o.Offset}
	of := func(p *InvitationPage) ([]*Invitation, *api.Pagination) { return p.Invitations, p.Pagination }
	return all(ctx, "shares.Invitations.ListMine", from, opts, fetch, of)
}

// GetMine returns one invitation that the caller has received.
//
// It calls GET /current/user/invitation/{invitation_id}/details/.
func (i *Invitations) GetMine(ctx context.Context, id string, opts ...api.CallOption) (*Invitation, error) {
	return i.getMine(ctx, id, endpoint.SharesInvitationsGetMine(id), opts)
}

// GetMineByKey returns the invitation with the key in the link of its e-mail.
//
// It calls GET /current/user/invitation/{invitation_id}/details/.
func (i *Invitations) GetMineByKey(ctx context.Context, key api.Secret, opts ...api.CallOption) (*Invitation, error) {
	return i.getMine(ctx, key.Reveal(), endpoint.SharesInvitationsGetMineByKey(key.Reveal()), opts)
}

func (i *Invitations) getMine(
	ctx context.Context, idOrKey string, r *api.Request, opts []api.CallOption,
) (*Invitation, error) {
	if err := checkKey(r.Op, "invitation_id", api.NewSecret(idOrKey)); err != nil {
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

// AcceptAll accepts all invitations that the caller has received, and the one
// of key, which is in the link of an e-mail; "" means none. To accept a single
// invitation use [Service.JoinWithKey], or [Invitations.Update] with its state.
//
// It calls POST /current/user/invitations/acceptall/.
func (i *Invitations) AcceptAll(ctx context.Context, key api.Secret, opts ...api.CallOption) error {
	form := api.Form{}
	if !key.IsZero() {
		form["invitation_key"] = []string{key.Reveal()}
	}
	return call.Do(ctx, i.c, endpoint.SharesInvitationsAcceptAll(form), opts)
}

// checkKey rejects a key that cannot be a path segment. The error does not
// contain it.
func checkKey(op, field string, key api.Secret) error {
	if t := strings.TrimSpace(key.Reveal()); t == "" || t == "." || t == ".." {
		return &api.InputError{Op: op, Field: field, Rule: "must not be blank or consist of dots"}
	}
	return nil
}
