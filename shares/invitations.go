package shares

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fastio-go/fastio/api"
	"github.com/fastio-go/fastio/internal/call"
	"github.com/fastio-go/fastio/internal/form"
)

// Invitations are what people have who are asked into a share. [Members.Add] makes
// them. Those of a share take an administrator.
type Invitations struct{ c Client }

// Invitation asks somebody into a share.
type Invitation struct {
	ID           string          `json:"id,omitzero"`
	Inviter      api.ProfileID   `json:"inviter,omitzero"`
	InviterActor *api.Actor      `json:"inviter_actor,omitzero"`
	InviteeEmail string          `json:"invitee_email,omitzero"`
	InviteeID    api.ProfileID   `json:"invitee_uid,omitzero"`  // "" while the address has no account
	AcceptedID   api.ProfileID   `json:"accepted_uid,omitzero"` // who accepted it
	EntityType   api.ProfileKind `json:"entity_type,omitzero"`  // what it asks into
	Share        json.RawMessage `json:"share,omitzero"`        // of a new one; its form is not published
	State        InvitationState `json:"state,omitzero"`
	Consumed     *bool           `json:"consumed,omitzero"` // it cannot be used any more
	Created      api.Time        `json:"created,omitzero"`
	Updated      api.Time        `json:"updated,omitzero"`
	Expires      api.Time        `json:"expires,omitzero"`        // until when it can be accepted; zero for ever
	Key          api.Secret      `json:"invitation_key,omitzero"` // whoever has it can accept; "" if the answer left it out

	Extra map[string]json.RawMessage `json:",embed,unknown"` // members this version has no field for
}

// InvitationState is what became of an invitation.
type InvitationState string

// What can become of it.
const (
	InvitationStatePending  InvitationState = "pending"
	InvitationStateAccepted InvitationState = "accepted"
	InvitationStateDeclined InvitationState = "declined"
)

// List returns the invitations of a share in a state, "" for all of them.
//
// It calls GET /current/share/{share_id}/members/invitations/list/.
// It calls GET /current/share/{share_id}/members/invitations/list/{state}/.
func (i *Invitations) List(ctx context.Context, share api.ProfileID, state InvitationState, opts ...api.CallOption) ([]*Invitation, error) {
	r := &api.Request{
		Op: "shares.Invitations.List", Method: http.MethodGet, Path: api.Path("/current/share/{share_id}/members/invitations/list/", string(share)),
		Replay: api.ReplaySafe, Options: api.Resolve(opts),
	}
	if state != "" {
		r.Path = api.Path("/current/share/{share_id}/members/invitations/list/{state}/", string(share), string(state))
	}
	var a invitations
	if err := i.c.Call(ctx, r, &a); err != nil {
		return nil, err
	}
	return a, nil
}

// invitations are named so, which is assumed, or stand at the root.
type invitations []*Invitation

// UnmarshalJSON lets any [api.Caller] fill them with encoding/json.
func (i *invitations) UnmarshalJSON(b []byte) error {
	payload, _ := call.Unwrap(b)
	return jsonv2.Unmarshal(payload, i, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// UnmarshalJSONFrom decodes with the options of dec.
func (i *invitations) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*i = nil
	if dec.PeekKind() == '[' {
		return jsonv2.UnmarshalDecode(dec, (*[]*Invitation)(i))
	}
	w := struct {
		Result      jsontext.Value             `json:"result"` // of the envelope, which has been looked at
		Invitations *[]*Invitation             `json:"invitations"`
		Envelope    map[string]json.RawMessage `json:",embed,unknown"`
	}{Invitations: (*[]*Invitation)(i)}
	return jsonv2.UnmarshalDecode(dec, &w)
}

// UpdateInvitationRequest is what becomes of an invitation. A field that is zero stays
// as it is.
type UpdateInvitationRequest struct {
	State    InvitationState // accepted or declined, in the place of whoever is invited
	Role     api.Role        // up to the caller's own, and never api.RoleOwner
	Notify   api.MemberNotify
	AcceptBy time.Time // by the second, and to come: when the invitation expires
}

// Update changes an invitation, given by its ID or by the address that is invited. It
// may send an e-mail, so it is only repeated when it was never sent.
//
// A role above the caller's own is [api.ErrInvalid] with [CodeInvitationRole], and a
// time that has passed is that too. What gives more rights is [api.ErrForbidden] where
// a policy is against people from outside: [ReasonExternalInvitesDenied] or
// [ReasonExternalInvitesObjectDenied].
//
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Update(ctx context.Context, share api.ProfileID, invitation string, r UpdateInvitationRequest, opts ...api.CallOption) error {
	const op = "shares.Invitations.Update"
	f := newFields(op)
	word(f, "state", r.State)
	f.role(r.Role)
	word(f, "notify_options", r.Notify)
	form.Given("expires", r.AcceptBy, f.Time(form.Zone))
	if err := f.Changed(); err != nil {
		return err
	}
	return call.Send(ctx, i.c, &api.Request{
		Op: op, Method: http.MethodPost,
		Path: api.Path("/current/share/{share_id}/members/invitation/{invitation_id}/", string(share), invitation),
		Body: f.Form, Replay: api.ReplayOnce,
	}, opts)
}

// Resend sends the e-mail of a pending invitation once more. That an update to the
// state it has does so is assumed. It fails as [Invitations.Update] does. For somebody
// with an account use [Members.Add] and its Renotify.
//
// It calls POST /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Resend(ctx context.Context, share api.ProfileID, invitation string, opts ...api.CallOption) error {
	return call.Send(ctx, i.c, &api.Request{
		Op: "shares.Invitations.Resend", Method: http.MethodPost,
		Path: api.Path("/current/share/{share_id}/members/invitation/{invitation_id}/", string(share), invitation),
		Body: api.Form{"state": {string(InvitationStatePending)}}, Replay: api.ReplayOnce,
	}, opts)
}

// Delete takes an invitation back, given by its ID or by the address that is invited,
// and with it the pending member.
//
// It calls DELETE /current/share/{share_id}/members/invitation/{invitation_id}/.
func (i *Invitations) Delete(ctx context.Context, share api.ProfileID, invitation string, opts ...api.CallOption) error {
	return call.Remove(ctx, i.c, &api.Request{
		Op: "shares.Invitations.Delete", Method: http.MethodDelete,
		Path: api.Path("/current/share/{share_id}/members/invitation/{invitation_id}/", string(share), invitation), Replay: api.ReplaySafe,
	}, opts)
}

// MineOptions asks for one part of the caller's invitations. Nil asks for the first.
type MineOptions struct {
	Limit  int        // rows a page, 1 to 500; 0 leaves it to the server
	Offset int        // rows to skip
	Key    api.Secret // of the link in an e-mail; "" for none
}

// InvitationPage is one page of invitations.
type InvitationPage struct {
	Invitations []*Invitation   `json:"invitations"`
	Pagination  *api.Pagination `json:"pagination"` // nil from a server that does not tell
}

// Mine returns one page of the invitations that the caller has, to shares and to
// whatever else people are asked into.
//
// It calls GET /current/user/invitations/list/.
func (i *Invitations) Mine(ctx context.Context, list *MineOptions, opts ...api.CallOption) (*InvitationPage, error) {
	const op = "shares.Invitations.Mine"
	if list == nil {
		list = &MineOptions{}
	}
	q, err := (&ListOptions{Limit: list.Limit, Offset: list.Offset}).query(op)
	if err != nil {
		return nil, err
	}
	if list.Key != "" {
		q.Set("invitation_key", string(list.Key))
	}
	return call.Do[InvitationPage](ctx, i.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/user/invitations/list/"), Query: q, Replay: api.ReplaySafe,
	}, opts)
}

// AllMine returns the invitations that [Invitations.Mine] has pages of, fetching pages
// as they are needed.
func (i *Invitations) AllMine(ctx context.Context, opts ...api.CallOption) iter.Seq2[*Invitation, error] {
	fetch := func(ctx context.Context, list *ListOptions, opts ...api.CallOption) (*InvitationPage, error) {
		return i.Mine(ctx, &MineOptions{Limit: list.Limit, Offset: list.Offset}, opts...)
	}
	return all(ctx, "shares.Invitations.Mine", nil, opts, fetch, func(p *InvitationPage) ([]*Invitation, *api.Pagination) {
		return p.Invitations, p.Pagination
	})
}

// GetMine returns one invitation that the caller has, given by its ID or by the key of
// the link in its e-mail.
//
// It calls GET /current/user/invitation/{invitation_id}/details/.
func (i *Invitations) GetMine(ctx context.Context, idOrKey api.Secret, opts ...api.CallOption) (*Invitation, error) {
	const op = "shares.Invitations.GetMine"
	if err := checkKey(op, "invitation_id", idOrKey); err != nil {
		return nil, err
	}
	a, err := call.Do[struct { // whether it is named so is not published
		Invitation *Invitation `json:"invitation"`
		Root       Invitation  `json:",embed,inline"`
	}](ctx, i.c, &api.Request{
		Op: op, Method: http.MethodGet, Path: api.Path("/current/user/invitation/{invitation_id}/details/", string(idOrKey)),
		Replay: api.ReplaySafe,
	}, opts)
	if err != nil {
		return nil, err
	}
	if a.Invitation == nil && a.Root.ID != "" {
		return &a.Root, nil
	}
	return call.Found(op, "invitation", a.Invitation, opts)
}

// AcceptAll accepts every invitation that the caller has, and the one with the key of
// the link in an e-mail, "" for none. There is no call to accept one alone, but
// [Service.JoinWithKey].
//
// It calls POST /current/user/invitations/acceptall/.
func (i *Invitations) AcceptAll(ctx context.Context, key api.Secret, opts ...api.CallOption) error {
	form := api.Form{}
	if key != "" {
		form["invitation_key"] = []string{string(key)}
	}
	return call.Send(ctx, i.c, &api.Request{
		Op: "shares.Invitations.AcceptAll", Method: http.MethodPost, Path: api.Path("/current/user/invitations/acceptall/"),
		Body: form, Replay: api.ReplaySafe,
	}, opts)
}

// checkKey refuses what cannot be a segment of a path, without repeating it.
func checkKey(op, field string, key api.Secret) error {
	if t := strings.TrimSpace(string(key)); t == "" || t == "." || t == ".." {
		return &api.InputError{Op: op, Field: field, Rule: "must be neither blank nor made of dots"}
	}
	return nil
}
